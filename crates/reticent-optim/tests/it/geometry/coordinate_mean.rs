//! Coordinate-wise clipped gradient descent.

use crate::geometry::clear::in_the_clear;
use proptest::prelude::*;
use reticent_data::{Chosen, Oracle, Question, RobustRule, Sensitive};
use reticent_noise::Source;
use reticent_optim::coordinate_mean::CoordinateMeanPlan;
use reticent_optim::{Algorithm, Calibration, CoordinateMean, Planned, Quiet};
use reticent_privacy::{Adjacency, Budget, delta_upper, epsilon_upper};
use reticent_problem::geometry::lp_norm;
use reticent_problem::{Domain, Loss, Problem, RowBounds};

use crate::geometry::support::{Table, Uniform, budget, dot, minus, oracle};

fn unbounded(loss: Loss, domain: Domain, n: usize, d: usize) -> Problem {
    let label = if loss.is_classification() { 1.0 } else { f64::INFINITY };
    Problem { domain, ..Problem::new(loss, RowBounds::unbounded(label).unwrap(), n, d) }
}

fn run(plan: &CoordinateMeanPlan, table: &Table, seed: u64) -> Vec<f64> {
    let source = Source::seeded_not_private(seed);
    let oracle = oracle(table, plan.outline.problem.bounds);
    CoordinateMean::run(plan, &oracle, &source, &Quiet).unwrap().weights
}

fn sum(problem: &Problem, table: &Table, clip: f64, w: &[f64]) -> Vec<f64> {
    let mut into = Sensitive::new(vec![0.0; problem.dimension()]);
    let all = Chosen::Block(0..problem.rows);
    oracle(table, problem.bounds)
        .ask(
            problem,
            &Question::Robust {
                chosen: all.clone(),
                rule: RobustRule::ClipEntries { bound: clip },
                at: w,
            },
            &mut into,
        )
        .unwrap();
    in_the_clear(into)
}

fn any_size() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -2.0..2.0_f64,
        2 => (-6.0..6.0_f64, any::<bool>()).prop_map(|(e, s)| 10_f64.powf(e) * if s { 1.0 } else { -1.0 }),
        1 => (-150.0..300.0_f64).prop_map(|e| 10_f64.powf(e)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn replacing_a_row_moves_the_sum_by_at_most_the_sensitivity(
        softmax in any::<bool>(),
        rows in prop::collection::vec((prop::collection::vec(any_size(), 3), any_size()), 6),
        other in (prop::collection::vec(any_size(), 3), any_size()),
        w in prop::collection::vec(-2.0..2.0_f64, 9),
        clip in prop_oneof![Just(1.0), 0.01..100.0_f64],
    ) {
        let loss = if softmax { Loss::Softmax { classes: 3 } } else { Loss::Power { q: 1.5 } };
        let problem = unbounded(loss, Domain::Ball { radius: 1.0 }, 6, 3);
        let settings = CoordinateMean { clip: Some(clip), steps: Some(3), ..CoordinateMean::default() };
        let plan = settings.plan(&problem, budget(1.0, 1e-6)).unwrap();
        let labelled = |(x, y): &(Vec<f64>, f64)| {
            (x.clone(), if softmax { y.abs().min(2.0).floor() } else { *y })
        };
        let before: Table = rows.iter().map(labelled).unzip();
        let mut after = before.clone();
        (after.0[2], after.1[2]) = labelled(&other);
        let at = &w[..problem.dimension()];
        let moved = minus(&sum(&problem, &before, clip, at), &sum(&problem, &after, clip, at));
        prop_assert!(lp_norm(&moved, f64::INFINITY) <= 2.0 * clip * (1.0 + 1e-12), "{moved:?}");
        prop_assert!(lp_norm(&moved, 2.0) <= plan.noise.sensitivity, "{moved:?}");
    }
}

#[test]
fn opposite_rows_attain_the_sensitivity() {
    let d = 5;
    let problem = unbounded(Loss::Squared, Domain::Ball { radius: 1.0 }, 3, d);
    let settings = CoordinateMean { clip: Some(0.7), steps: Some(2), ..CoordinateMean::default() };
    let plan = settings.plan(&problem, budget(1.0, 1e-6)).unwrap();
    let table =
        |y: f64| -> Table { (vec![vec![1.0; d], vec![0.0; d], vec![2.0; d]], vec![y, 0.0, 0.0]) };
    let at = vec![0.0; d];
    let moved =
        minus(&sum(&problem, &table(1e6), 0.7, &at), &sum(&problem, &table(-1e6), 0.7, &at));
    let share = lp_norm(&moved, 2.0) / plan.noise.sensitivity;
    assert!((1.0 - 1e-9..=1.0).contains(&share), "{share}");
}

#[test]
fn every_plan_keeps_its_budget() {
    for (epsilon, delta) in [(0.1, 1e-6), (1.0, 1e-6), (8.0, 1e-3)] {
        for calibration in [Calibration::Tight, Calibration::Paper] {
            for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
                for loss in [Loss::Logistic, Loss::Hinge { q: 1.0 }, Loss::Softmax { classes: 4 }] {
                    let problem = unbounded(loss, Domain::L1 { radius: 2.0 }, 10_000, 20);
                    let settings = CoordinateMean { calibration, ..CoordinateMean::default() };
                    let budget = Budget { adjacency, ..budget(epsilon, delta) };
                    let plan = settings.plan(&problem, budget).unwrap();
                    let event = &plan.outline.event;
                    assert!(delta_upper(event, epsilon).unwrap() <= delta);
                    assert!(epsilon_upper(event, delta).unwrap() <= epsilon);
                    if calibration == Calibration::Tight {
                        assert!(delta_upper(event, epsilon).unwrap() >= 0.99 * delta);
                    }
                    assert_eq!(plan.again().unwrap(), plan);
                    let json = serde_json::to_string(&plan).unwrap();
                    assert_eq!(serde_json::from_str::<CoordinateMeanPlan>(&json).unwrap(), plan);
                }
            }
        }
    }
}

#[test]
fn heavy_tails_are_learned_and_the_error_falls_with_n() {
    let d = 4;
    let truth = [0.4, -0.3, 0.0, 0.2];
    let mut means = Vec::new();
    for n in [2_000, 32_000] {
        let mut uniform = Uniform(9);
        let table: Table = (0..n)
            .map(|_| {
                let x: Vec<f64> = (0..d).map(|_| uniform.normal()).collect();
                let tail = (uniform.next().powf(-0.4) - 1.0)
                    * if uniform.next() < 0.5 { 1.0 } else { -1.0 };
                let y = dot(&x, &truth) + 0.3 * tail;
                if uniform.next() < 1e-3 { (vec![1e9; d], -1e9) } else { (x, y) }
            })
            .unzip();
        let problem = unbounded(Loss::Squared, Domain::Ball { radius: 1.0 }, n, d);
        let settings = CoordinateMean {
            smoothness: Some(1.0),
            deviation: Some(1.5),
            ..CoordinateMean::default()
        };
        let plan = settings.plan(&problem, budget(1.0, 1e-6)).unwrap();
        let mean = (0..5)
            .map(|seed| {
                let gap = minus(&run(&plan, &table, seed), &truth);
                0.5 * dot(&gap, &gap)
            })
            .sum::<f64>()
            / 5.0;
        assert!(mean <= plan.outline.predicted_excess.unwrap(), "{n}: {mean}");
        means.push(mean);
    }
    assert!(means[1] < 0.5 * means[0] && means[1] < 0.02, "{means:?}");
}

#[test]
fn what_cannot_be_served_is_refused_with_the_reason() {
    let good = unbounded(Loss::Logistic, Domain::Ball { radius: 1.0 }, 100, 3);
    let plain = CoordinateMean::default();
    let refuse = |problem: &Problem, budget: Budget, settings: CoordinateMean| {
        settings.plan(problem, budget).unwrap_err().to_string()
    };
    let ok = budget(1.0, 1e-6);
    let open = Problem { domain: Domain::Unbounded, ..good.clone() };
    assert!(refuse(&open, ok, plain).contains("bounded set"));
    assert!(refuse(&good, budget(1.0, 0.0), plain).contains("`delta` must be > 0"));
    assert!(
        refuse(&good, ok, CoordinateMean { eta: Some(-1.0), ..plain })
            .contains("`step_size` must be")
    );
    assert!(
        refuse(&good, ok, CoordinateMean { steps: Some(0), ..plain }).contains("`steps` must be")
    );
    // No bound on the rows is no obstacle, and without declared constants no risk is promised.
    let plan = plain.plan(&good, ok).unwrap();
    assert!(plan.outline.predicted_excess.is_none() && !plan.outline.warnings.is_empty());
}

/// Where bounds are declared the noise may rely on them, and the certificate says so.
#[test]
fn declared_bounds_are_assumed_where_they_are_used() {
    let ball = Domain::Ball { radius: 1.0 };
    let settings = CoordinateMean { clip: Some(10.0), steps: Some(5), ..CoordinateMean::default() };
    let plan = |bounds| {
        let problem =
            Problem { domain: ball.clone(), ..Problem::new(Loss::Logistic, bounds, 500, 4) };
        settings.plan(&problem, budget(1.0, 1e-6)).unwrap()
    };
    let (bounded, free) =
        (plan(RowBounds::features(1.0).unwrap()), plan(RowBounds::unbounded(1.0).unwrap()));
    // The bound on rows, not the clip, decides the noise.
    assert!(bounded.noise.sensitivity < 0.1 * free.noise.sensitivity);
    let says = |plan: &CoordinateMeanPlan, words: &str, who: &str| {
        plan.assumptions().iter().any(|a| a.statement.contains(words) && a.enforced_by == who)
    };
    for (words, who) in [
        ("within the declared bounds", "encoder"),
        ("bounds were not read off the data", "owner"),
        ("Lipschitz constants of the plan", "plan"),
    ] {
        assert!(says(&bounded, words, who), "{words}");
        assert!(!says(&free, words, who), "{words}");
    }
}
