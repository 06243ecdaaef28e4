//! Noisy regularised mirror descent.

use crate::geometry::clear::in_the_clear;
use proptest::prelude::*;
use reticent_data::{Oracle, Question, Sensitive};
use reticent_noise::Source;
use reticent_optim::mirror::{Mirror, MirrorPlan};
use reticent_optim::output_gd::NoiseChoice;
use reticent_optim::{Algorithm, Calibration, Planned, Quiet};
use reticent_privacy::{Adjacency, Budget, delta_upper, epsilon_upper};
use reticent_problem::geometry::{dual_exponent, lp_norm};
use reticent_problem::{Domain, Loss, Problem, RowBounds};

use crate::geometry::support::{Table, budget, logistic, logistic_loss, minus, oracle};

fn run(plan: &MirrorPlan, table: &Table, seed: u64) -> Vec<f64> {
    let source = Source::seeded_not_private(seed);
    let oracle = oracle(table, plan.outline.problem.bounds);
    Mirror::run(plan, &oracle, &source, &Quiet).unwrap().weights
}

fn losses() -> impl Strategy<Value = Loss> {
    prop_oneof![
        Just(Loss::Logistic),
        Just(Loss::Softmax { classes: 3 }),
        Just(Loss::Huber { threshold: 0.4 }),
        Just(Loss::Squared),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Rows at the corners of the declared entries; the sum moves by no more than the noise is
    /// scaled to, in both norms.
    #[test]
    fn replacing_a_row_moves_the_sum_by_at_most_the_sensitivity(
        loss in losses(),
        corners in prop::collection::vec((prop::collection::vec(prop_oneof![Just(-1.0), Just(1.0), -1.0..1.0_f64], 4), any::<bool>()), 6),
        other in (prop::collection::vec(prop_oneof![Just(-1.0), Just(1.0)], 4), any::<bool>()),
        w in prop::collection::vec(-2.0..2.0_f64, 12),
        p in prop_oneof![Just(1.0), Just(1.3), Just(2.0)],
    ) {
        let bounds = RowBounds::new(2.0, 1.0).unwrap().with_entries(1.0).unwrap();
        let domain = Domain::L1 { radius: 1.5 };
        let problem = Problem { domain, ..Problem::new(loss, bounds, 6, 4) };
        let plan = Mirror { p: Some(p), ..Mirror::default() }.plan(&problem, budget(1.0, 1e-6)).unwrap();
        let labelled = |(x, y): &(Vec<f64>, bool)| {
            let classes = matches!(loss, Loss::Softmax { .. });
            (x.clone(), if classes { f64::from(u8::from(*y)) } else if *y { 1.0 } else { -1.0 })
        };
        let before: Table = corners.iter().map(labelled).unzip();
        let mut after = before.clone();
        (after.0[0], after.1[0]) = labelled(&other);
        let mut w = w[..problem.dimension()].to_vec();
        problem.domain.project(&mut w);
        let sum = |table: &Table| {
            let mut into = Sensitive::new(vec![0.0; problem.dimension()]);
            oracle(table, bounds).ask(&problem, &Question::Gradient { at: &Sensitive::new(w.clone()) }, &mut into).unwrap();
            in_the_clear(into)
        };
        let moved = minus(&sum(&before), &sum(&after));
        prop_assert!(lp_norm(&moved, dual_exponent(p)) <= 2.0 * plan.lipschitz * (1.0 + 1e-12));
        prop_assert!(lp_norm(&moved, 2.0) <= plan.noise.sensitivity, "{moved:?}");
    }
}

#[test]
fn opposite_rows_nearly_attain_the_sensitivity() {
    // Saturated Huber rows along the diagonal.
    let d = 9;
    let bounds = RowBounds::new(3.0, 1e4).unwrap().with_entries(1.0).unwrap();
    for p in [1.0, 1.5, 2.0] {
        let problem = Problem::new(Loss::Huber { threshold: 0.5 }, bounds, 4, d);
        let plan =
            Mirror { p: Some(p), ..Mirror::default() }.plan(&problem, budget(1.0, 1e-6)).unwrap();
        let sum = |y: f64| {
            let table: Table = (vec![vec![1.0; d]; 4], vec![y, 0.0, 0.0, 0.0]);
            let mut into = Sensitive::new(vec![0.0; d]);
            oracle(&table, bounds)
                .ask(&problem, &Question::Gradient { at: &Sensitive::new(vec![0.0; d]) }, &mut into)
                .unwrap();
            in_the_clear(into)
        };
        let moved = minus(&sum(1e4), &sum(-1e4));
        let share = lp_norm(&moved, 2.0) / plan.noise.sensitivity;
        assert!((1.0 - 1e-9..=1.0).contains(&share), "p = {p}: {share}");
        let dual = lp_norm(&moved, dual_exponent(p)) / (2.0 * plan.lipschitz);
        assert!((1.0 - 1e-9..=1.0).contains(&dual), "p = {p}: {dual}");
    }
}

#[test]
fn every_plan_keeps_its_budget() {
    let bounds = RowBounds::features(1.0).unwrap();
    for (epsilon, delta) in [(0.1, 1e-6), (1.0, 1e-6), (8.0, 1e-3)] {
        for calibration in [Calibration::Tight, Calibration::Paper] {
            for noise in [NoiseChoice::Auto, NoiseChoice::GeneralizedGaussian] {
                for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
                    let problem = Problem::new(Loss::Logistic, bounds, 10_000, 50);
                    let settings = Mirror { calibration, noise, p: Some(1.2), ..Mirror::default() };
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
                    assert_eq!(serde_json::from_str::<MirrorPlan>(&json).unwrap(), plan);
                }
            }
        }
    }
}

/// Unit rows in ten dimensions: the loss over the best one falls as rows are added. Means of five
/// runs.
#[test]
fn the_error_falls_with_n() {
    let d = 10;
    let mut means = Vec::new();
    for n in [500, 8000] {
        let table = logistic(n, d, 7);
        let bounds = RowBounds::features(1.0).unwrap();
        let problem = Problem::new(Loss::Logistic, bounds, n, d);
        let mut truth = vec![0.0; d];
        truth[0] = 6.0;
        let plan =
            Mirror { p: Some(1.5), ..Mirror::default() }.plan(&problem, budget(1.0, 1e-5)).unwrap();
        let mean =
            (0..5).map(|seed| logistic_loss(&table, &run(&plan, &table, seed))).sum::<f64>() / 5.0;
        means.push(mean - logistic_loss(&table, &truth));
    }
    assert!(means[1] < 0.13 && means[1] < means[0], "{means:?}");
}

#[test]
fn weights_stay_in_the_set() {
    let table = logistic(200, 6, 3);
    let bounds = RowBounds::features(1.0).unwrap();
    for domain in [
        Domain::L1 { radius: 0.3 },
        Domain::Simplex { total: 0.3 },
        Domain::Lp { p: 1.4, radius: 0.3, dimension: 6 },
        Domain::Box { low: vec![-0.1; 6], high: vec![0.2; 6] },
    ] {
        let problem =
            Problem { domain: domain.clone(), ..Problem::new(Loss::Logistic, bounds, 200, 6) };
        let plan = Mirror::default().plan(&problem, budget(1.0, 1e-5)).unwrap();
        let w = run(&plan, &table, 1);
        let mut inside = w.clone();
        domain.project(&mut inside);
        assert!(lp_norm(&minus(&w, &inside), 2.0) < 1e-9, "{domain:?} {w:?}");
        // A seed repeats itself, another one does not.
        assert_eq!(w, run(&plan, &table, 1));
        assert_ne!(w, run(&plan, &table, 2));
    }
}

#[test]
fn what_cannot_be_served_is_refused_with_the_reason() {
    let bounds = RowBounds::new(1.0, 1.0).unwrap();
    let ok = budget(1.0, 1e-6);
    let refuse =
        |problem: Problem, settings: Mirror| settings.plan(&problem, ok).unwrap_err().to_string();
    let plain = Mirror::default();
    let logistic = Problem::new(Loss::Logistic, bounds, 100, 3);
    assert!(
        refuse(Problem::new(Loss::Hinge { q: 1.0 }, bounds, 100, 3), plain).contains("smooth loss")
    );
    assert!(
        refuse(Problem::new(Loss::Squared, bounds, 100, 3), plain).contains("gradient unbounded")
    );
    assert!(refuse(Problem { rows: 3, ..logistic.clone() }, plain).contains("at least 4 rows"));
    assert!(refuse(logistic.clone(), Mirror { p: Some(2.5), ..plain }).contains("use phased"));
    assert!(
        refuse(logistic.clone(), Mirror { distance: Some(0.0), ..plain }).contains("`distance`")
    );
    let open = Problem { bounds: RowBounds::unbounded(1.0).unwrap(), ..logistic };
    assert!(refuse(open, plain).contains("needs bounded rows"));
}
