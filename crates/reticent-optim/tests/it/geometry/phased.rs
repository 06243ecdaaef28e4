//! Phased SGD.

use crate::geometry::clear::in_the_clear;
use proptest::prelude::*;
use reticent_noise::Source;
use reticent_optim::phased::{Phased, PhasedPlan, phase_average, sensitivity};
use reticent_optim::{Algorithm, Calibration, Planned, Quiet};
use reticent_privacy::{Adjacency, Budget, delta_upper, epsilon_upper};
use reticent_problem::geometry::lp_norm;
use reticent_problem::{Domain, Loss, Problem, RowBounds};

use crate::geometry::support::{Table, budget, logistic, logistic_loss, minus, oracle};

fn run(plan: &PhasedPlan, table: &Table, seed: u64) -> Vec<f64> {
    let source = Source::seeded_not_private(seed);
    let oracle = oracle(table, plan.outline.problem.bounds);
    Phased::run(plan, &oracle, &source, &Quiet).unwrap().weights
}

#[test]
fn linear_losses_attain_the_sensitivity_of_a_phase() {
    // Residuals beyond the threshold make the loss linear; the first row of the phase is changed.
    let bounds = RowBounds::new(1.0, 1e6).unwrap();
    let problem = Problem::new(Loss::Huber { threshold: 2.0 }, bounds, 64, 2);
    let plan = Phased::default().plan(&problem, budget(1.0, 1e-6)).unwrap();
    let phase = plan.phases[0];
    let average = |y: f64| {
        let mut labels = vec![1e6; 64];
        labels[0] = y;
        let table: Table = (vec![vec![1.0, 0.0]; 64], labels);
        in_the_clear(
            phase_average(&problem, &oracle(&table, bounds), 0..32, phase.eta, &[0.1, 0.2])
                .unwrap(),
        )
    };
    let moved = minus(&average(1e6), &average(-1e6));
    let exact = sensitivity(2.0, 2.0, phase.eta, 32.0);
    assert!((lp_norm(&moved, 2.0) / exact - 1.0).abs() < 1e-9);
    assert!(lp_norm(&moved, 2.0) <= phase.sensitivity);
    assert!(phase.sensitivity <= exact * (1.0 + 1e-9), "rounding is charged, and small");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn replacing_a_row_moves_a_phase_by_at_most_its_sensitivity(
        softmax in any::<bool>(),
        rows in prop::collection::vec((prop::collection::vec(-1.0..1.0_f64, 3), any::<bool>()), 8),
        other in (prop::collection::vec(-1.0..1.0_f64, 3), any::<bool>()),
        place in 0..8_usize,
        longest in any::<bool>(),
        start in prop::collection::vec(-1.0..1.0_f64, 9),
        set in 0..3_usize,
    ) {
        let loss = if softmax { Loss::Softmax { classes: 3 } } else { Loss::Logistic };
        let bounds = RowBounds::features(1.0).unwrap();
        let plain = Problem::new(loss, bounds, 16, 3);
        let d = plain.dimension();
        let domain = match set {
            0 => Domain::Unbounded,
            1 => Domain::L1 { radius: 0.7 },
            _ => Domain::Lp { p: 1.5, radius: 0.7, dimension: d },
        };
        let problem = Problem { domain, ..plain };
        let beta = problem.regularity().smoothness.unwrap();
        let settings = Phased { eta: longest.then_some(8.0 / beta), ..Phased::default() };
        let plan = settings.plan(&problem, budget(1.0, 1e-6)).unwrap();
        let phase = plan.phases[0];
        let labelled = |(x, y): &(Vec<f64>, bool)| {
            let length = lp_norm(x, 2.0).max(1e-9);
            let x: Vec<f64> = x.iter().map(|v| v / length).collect();
            (x, if softmax { 2.0 * f64::from(u8::from(*y)) } else if *y { 1.0 } else { -1.0 })
        };
        let before: Table = rows.iter().map(labelled).unzip();
        let mut after = before.clone();
        (after.0[place], after.1[place]) = labelled(&other);
        let mut start = start[..d].to_vec();
        problem.domain.project(&mut start);
        let average = |table: &Table| {
            in_the_clear(phase_average(&problem, &oracle(table, bounds), 0..8, phase.eta, &start).unwrap())
        };
        let moved = lp_norm(&minus(&average(&before), &average(&after)), 2.0);
        prop_assert!(moved <= phase.sensitivity, "{moved} {phase:?}");
    }
}

/// Both runs are at one point of the set when they differ, and no two gradients there are opposite
/// and longest at once.
#[test]
fn on_a_set_a_row_moves_a_phase_by_less_than_twice_a_gradient() {
    let bounds = RowBounds::features(1.0).unwrap();
    let plain = Problem::new(Loss::Logistic, bounds, 1024, 2);
    let problem = Problem { domain: Domain::Ball { radius: 0.5 }, ..plain };
    let constants = problem.regularity();
    for (calibration, share) in [(Calibration::Tight, 0.84), (Calibration::Paper, 1.01)] {
        let settings = Phased { calibration, ..Phased::default() };
        let phase = settings.plan(&problem, budget(1.0, 1e-6)).unwrap().phases[0];
        let twice = sensitivity(2.0, constants.lipschitz, phase.eta, 512.0);
        let apart = sensitivity(1.0, constants.gradient_difference, phase.eta, 512.0);
        assert!(phase.sensitivity <= share * twice, "{calibration:?}");
        assert!(phase.sensitivity >= apart.min(share / 1.01 * twice), "{calibration:?}");
    }
}

#[test]
fn a_step_that_expands_is_refused_and_would_leak() {
    let bounds = RowBounds::features(1.0).unwrap();
    let problem = Problem::new(Loss::Logistic, bounds, 100, 3);
    let settings = Phased { eta: Some(33.0), ..Phased::default() };
    let message = settings.plan(&problem, budget(1.0, 1e-6)).unwrap_err().to_string();
    assert!(message.contains("`step_size` must be at most 8/beta = 32"), "{message}");
}

#[test]
fn every_plan_keeps_its_budget() {
    let bounds = RowBounds::features(1.0).unwrap();
    for (epsilon, delta) in [(0.1, 1e-6), (1.0, 1e-6), (8.0, 1e-3)] {
        for calibration in [Calibration::Tight, Calibration::Paper] {
            for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
                for n in [2, 7, 1000, 100_000] {
                    let problem = Problem::new(Loss::Logistic, bounds, n, 5);
                    let settings = Phased { calibration, ..Phased::default() };
                    let budget = Budget { adjacency, ..budget(epsilon, delta) };
                    let plan = settings.plan(&problem, budget).unwrap();
                    let event = &plan.outline.event;
                    assert!(delta_upper(event, epsilon).unwrap() <= delta);
                    assert!(epsilon_upper(event, delta).unwrap() <= epsilon);
                    if calibration == Calibration::Tight {
                        assert!(delta_upper(event, epsilon).unwrap() >= 0.99 * delta);
                    }
                    assert!(plan.phases.iter().map(|p| p.rows).sum::<u64>() < n as u64 || n == 2);
                    assert_eq!(plan.again().unwrap(), plan);
                    let json = serde_json::to_string(&plan).unwrap();
                    assert_eq!(serde_json::from_str::<PhasedPlan>(&json).unwrap(), plan);
                }
            }
        }
    }
    let problem = Problem::new(Loss::Logistic, bounds, 100, 5);
    let paper = Phased { calibration: Calibration::Paper, ..Phased::default() };
    assert!(
        paper.plan(&problem, budget(20.0, 1e-3)).unwrap_err().to_string().contains("2 ln(1/delta)")
    );
}

#[test]
fn the_error_falls_with_n_in_one_pass() {
    let d = 5;
    let mut means = Vec::new();
    for n in [1000, 64_000] {
        let table = logistic(n, d, 5);
        let bounds = RowBounds::features(1.0).unwrap();
        let problem = Problem {
            domain: Domain::Ball { radius: 6.0 },
            ..Problem::new(Loss::Logistic, bounds, n, d)
        };
        let mut truth = vec![0.0; d];
        truth[0] = 6.0;
        let plan = Phased::default().plan(&problem, budget(1.0, 1e-5)).unwrap();
        let mean =
            (0..5).map(|seed| logistic_loss(&table, &run(&plan, &table, seed))).sum::<f64>() / 5.0;
        means.push(mean - logistic_loss(&table, &truth));
    }
    assert!(means[1] < 0.5 * means[0] && means[1] < 0.12, "{means:?}");
}

#[test]
fn what_cannot_be_served_is_refused_with_the_reason() {
    let bounds = RowBounds::new(1.0, 1.0).unwrap();
    let ok = budget(1.0, 1e-6);
    let refuse = |problem: Problem| Phased::default().plan(&problem, ok).unwrap_err().to_string();
    let logistic = Problem::new(Loss::Logistic, bounds, 100, 3);
    assert!(refuse(Problem::new(Loss::Hinge { q: 1.0 }, bounds, 100, 3)).contains("smooth loss"));
    assert!(refuse(Problem::new(Loss::Squared, bounds, 100, 3)).contains("gradient unbounded"));
    assert!(refuse(Problem { rows: 1, ..logistic.clone() }).contains("at least 2 rows"));
    assert!(refuse(Problem { ridge: 1.0, ..logistic.clone() }).contains("leave `ridge` out"));
    let open = Problem { bounds: RowBounds::unbounded(1.0).unwrap(), ..logistic };
    assert!(refuse(open).contains("needs bounded rows"));
}
