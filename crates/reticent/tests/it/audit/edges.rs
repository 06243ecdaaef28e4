//! Tables with no row, one row and two.

use reticent::audit::{Attack, Claim};
use reticent::optim::clipped_sgd::{Clip, Output};
use reticent::optim::{ClippedSgd, LeastSquares, OutputGd, Plan, Settings, candidates};
use reticent::privacy::Adjacency;
use reticent::problem::{Domain, Loss, Problem, RowBounds};

use crate::audit::support::{CONFIDENCE, altered, audit, budget, planned, saturated, usual};

const SHORT: Attack = Attack { runs: 2_000, confidence: CONFIDENCE, seed: Some(5), map: None };

/// Every plan for one or two rows keeps its claim, on every loss, for any bounds of the labels or
/// class.
#[test]
fn tiny_tables_keep_the_claim() {
    let class = RowBounds::features(1.0).unwrap();
    let number = RowBounds::new(1.0, 3.0).unwrap();
    let mut audited = 0;
    for rows in [1, 2] {
        for loss in Loss::ALL.iter().map(|about| about.samples[0]) {
            let bounds = if loss.is_classification() { class } else { number };
            let problem = Problem {
                domain: Domain::Ball { radius: 2.0 },
                ..Problem::new(loss, bounds, rows, 2)
            };
            for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemoveOne] {
                let list = candidates(&problem, budget(1.0, 1e-2, adjacency), &Settings::default());
                for plan in list.into_iter().filter_map(|c| c.plan.ok()) {
                    // Long runs on one row are for those with patience.
                    if plan.outline().steps > 200 {
                        continue;
                    }
                    let runs = 600;
                    let finding =
                        audit(&plan, &Claim::of(&plan).unwrap(), Attack { runs, ..SHORT });
                    assert!(!finding.violated, "{loss:?}, {rows} rows: {finding:?}");
                    audited += 1;
                }
            }
        }
    }
    assert!(audited > 30, "{audited}");
}

/// Under add/remove a table of one row is a neighbour of the empty one, and that pair is as telling
/// as any.
#[test]
fn the_empty_table_is_among_the_neighbours() {
    let settings = ClippedSgd {
        clip: Clip::Public { norm: 1.0 },
        batch: Some(1),
        steps: Some(1),
        eta: Some(1e-9),
        output: Some(Output::Last),
        ..ClippedSgd::default()
    };
    let problem = Problem::new(Loss::Logistic, RowBounds::features(100.0).unwrap(), 1, 1);
    let added = budget(4.0, 1e-2, Adjacency::AddRemoveOne);
    let plan = planned(&settings, &problem, added, Plan::ClippedSgd);
    let finding = audit(&plan, &Claim::of(&plan).unwrap(), Attack { runs: 6_000, ..SHORT });
    assert!(finding.neighbours.contains("row 1 alone, or absent"), "{finding:?}");
    assert!(
        !finding.violated && finding.epsilon_lower_gdp > Some(0.6 * finding.epsilon_claimed),
        "{finding:?}"
    );
    let half = altered(&plan, "/noise_multiplier", |s| (0.5 * s.as_f64().unwrap()).into());
    let finding = audit(&half, &Claim::of(&plan).unwrap(), Attack { runs: 6_000, ..SHORT });
    assert!(finding.violated, "{finding:?}");
}

/// One row, replaced by another: all that is released is that row's.
#[test]
fn one_row_shows_the_whole_claim() {
    let gd = OutputGd { steps: Some(3), ..OutputGd::default() };
    let squares = LeastSquares { steps: Some(1), eta: Some(0.01), ..LeastSquares::default() };
    let bounded = Problem::new(Loss::Squared, RowBounds::new(1.0, 1.0).unwrap(), 1, 1);
    for plan in [
        planned(&gd, &saturated(1, 2), usual(), Plan::OutputGd),
        planned(&squares, &bounded, usual(), Plan::LeastSquares),
    ] {
        let finding = audit(&plan, &Claim::of(&plan).unwrap(), Attack { runs: 20_000, ..SHORT });
        assert!(!finding.violated, "{finding:?}");
        let shown = finding.epsilon_lower.max(finding.epsilon_lower_gdp.unwrap_or(0.0));
        assert!(shown > 0.6 * finding.epsilon_claimed, "{finding:?}");
    }
}
