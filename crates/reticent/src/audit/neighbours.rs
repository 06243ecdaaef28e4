//! Pairs of neighbouring tables on which a run is easiest to tell apart.
//!
//! The changed row, the canary, lies at the declared bounds, and the other rows say as little as possible or as much
//! as possible in its direction. Every row of every table keeps the bounds, so the plan's promise covers each pair.
//!
//! For a kernel model rows are inputs: the canary lies at the origin, and a silent row so far away that the kernel sees no
//! resemblance.

use reticent_data::feature_map::FeatureMap;
use reticent_data::{Dense, Features, Rows};
use reticent_privacy::Adjacency;
use reticent_problem::feature_map::MapLaw;
use reticent_problem::{Loss, Problem, ProblemError};

/// Two neighbouring tables.
pub(super) struct Pair {
    /// In words.
    pub(super) name: String,
    /// The table without the canary, or with its opposite.
    pub(super) without: Rows,
    /// The table with the canary.
    pub(super) with: Rows,
}

/// A row: how much of the direction, and the label.
type Row = (f64, f64);

/// The pairs for a problem. Under add/remove the first table has one row less.
pub(super) fn pairs(
    problem: &Problem,
    adjacency: Adjacency,
    map: Option<&MapLaw>,
) -> Result<Vec<Pair>, ProblemError> {
    let labels = match problem.loss {
        Loss::Softmax { .. } => (0.0, 1.0),
        _ => (problem.bounds.label(), -problem.bounds.label()),
    };
    let silent = (0.0, labels.0);
    let (yes, no) = ((1.0, labels.0), (1.0, labels.1));
    let removed = adjacency == Adjacency::AddRemoveOne;
    let mut list = Vec::new();
    let directions = match map {
        Some(_) => vec![(Vec::new(), "at the origin")],
        None => directions(problem),
    };
    for (direction, word) in directions {
        for (crowd, crowd_word) in [
            (silent, "silent rows"),
            (yes, "rows that agree with it"),
            (no, "rows that contradict it"),
        ] {
            let others = |canary: Option<Row>| match map {
                Some(law) => mapped(problem, law, crowd, canary),
                None => Ok(table(problem, &direction, crowd, canary)),
            };
            let name = |what: &str| format!("a canary {word} among {crowd_word}, {what}");
            if removed {
                list.push(Pair {
                    name: name("or absent"),
                    without: others(None)?,
                    with: others(Some(yes))?,
                });
                continue;
            }
            if adjacency == Adjacency::ReplaceOne {
                list.push(Pair {
                    name: name("or its opposite"),
                    without: others(Some(no))?,
                    with: others(Some(yes))?,
                });
            }
            // Through a map no row is a row of zeros: a silent one is a neighbour where any row may take a row's place.
            if map.is_none() || adjacency == Adjacency::ReplaceOne {
                list.push(Pair {
                    name: name(if map.is_some() { "or a silent row" } else { "or a row of zeros" }),
                    without: others(Some(silent))?,
                    with: others(Some(yes))?,
                });
            }
        }
    }
    Ok(list)
}

/// Unit vectors: along one feature, and spread over all.
fn directions(problem: &Problem) -> Vec<(Vec<f64>, &'static str)> {
    let d = problem.features;
    let mut along = vec![0.0; d];
    along[0] = 1.0;
    let mut list = vec![(along, "along one feature")];
    if d > 1 {
        // A hair short, so that rounding keeps the norm within its bound.
        list.push((vec![(1.0 - 1e-12) / (d as f64).sqrt(); d], "spread over all features"));
    }
    list
}

fn table(problem: &Problem, direction: &[f64], crowd: Row, canary: Option<Row>) -> Rows {
    let others = problem.rows - 1;
    let rows: Vec<Row> = std::iter::repeat_n(crowd, others).chain(canary).collect();
    let norm = problem.bounds.norm();
    let values = rows.iter().flat_map(|(size, _)| direction.iter().map(move |x| norm * size * x));
    let features = Dense::new(rows.len(), problem.features, values.collect());
    let labels = rows.iter().map(|(_, label)| *label).collect();
    Rows::new(Features::F64(features), labels, problem.bounds)
}

/// One input: zero for the canary's place, and twenty bandwidths away for a silent row.
fn mapped(
    problem: &Problem,
    law: &MapLaw,
    crowd: Row,
    canary: Option<Row>,
) -> Result<Rows, ProblemError> {
    let rows: Vec<Row> = std::iter::repeat_n(crowd, problem.rows - 1).chain(canary).collect();
    let inputs = rows.iter().map(|(size, _)| 20.0 * law.bandwidth * (1.0 - size)).collect();
    let labels = rows.iter().map(|(_, label)| *label).collect();
    let inputs = Features::F64(Dense::new(rows.len(), 1, inputs));
    Rows::new(inputs, labels, problem.bounds).mapped(FeatureMap::new(*law, 1)?)
}
