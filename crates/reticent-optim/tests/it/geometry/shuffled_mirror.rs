//! Shuffled mirror descent.

use crate::geometry::clear::in_the_clear;
use reticent_data::{Chosen, Oracle, Question, RobustRule, Sensitive};
use reticent_noise::Source;
use reticent_optim::shuffled_mirror::{Local, ShuffledMirror, ShuffledMirrorPlan};
use reticent_optim::{Algorithm, Calibration, Planned, Quiet, TruncatedMirror};
use reticent_privacy::{delta_upper, epsilon_upper, gaussian};
use reticent_problem::geometry::lp_norm;
use reticent_problem::{Domain, Loss, Problem, RowBounds};

use crate::geometry::support::{Table, Uniform, budget, oracle};

fn unbounded(loss: Loss, domain: Domain, n: usize, d: usize) -> Problem {
    let label = if loss.is_classification() { 1.0 } else { f64::INFINITY };
    Problem { domain, ..Problem::new(loss, RowBounds::unbounded(label).unwrap(), n, d) }
}

fn run(plan: &ShuffledMirrorPlan, table: &Table, seed: u64) -> Vec<f64> {
    let source = Source::seeded_not_private(seed);
    let oracle = oracle(table, plan.outline.problem.bounds);
    ShuffledMirror::run(plan, &oracle, &source, &Quiet).unwrap().weights
}

#[test]
fn it_is_offered_where_it_helps_and_says_where_not() {
    let problem = unbounded(Loss::Logistic, Domain::Ball { radius: 1.0 }, 10_000, 5);
    let ok = budget(1.0, 1e-6);
    let fixed =
        |batch| ShuffledMirror { batch: Some(batch), clip: Some(4.0), ..ShuffledMirror::default() };
    let small = fixed(4).plan(&problem, ok).unwrap();
    // The same batches with the noise that truncated mirror descent needs.
    let plain =
        TruncatedMirror { steps: Some(2500), clip: Some(4.0), ..TruncatedMirror::default() };
    let plain = plain.plan(&problem, ok).unwrap();
    assert_eq!(plain.batch, 4);
    assert!(small.outline.noise_deviation < 0.7 * plain.outline.noise_deviation);
    let message = fixed(40).plan(&problem, ok).unwrap_err().to_string();
    assert!(
        message.contains("helps only for batches below 10.")
            && message.contains("truncated-mirror"),
        "{message}"
    );
    // Break-even of the specification: 3.8, 11 and 22 rows for a thousand, ten thousand and a
    // hundred thousand.
    for (n, expected) in [(1_000, 3.8), (10_000, 11.0), (100_000, 22.0)] {
        let mu = gaussian::mu_lower(1.0, 1e-6).unwrap();
        let even = (Local::largest(Calibration::Tight, 1.0, 1e-6, n).unwrap().mu / mu).powi(2);
        assert!((even / expected - 1.0).abs() < 0.05, "{n}: {even}");
    }
    // The closed form of the paper's analysis is never better.
    let mu = |calibration| Local::largest(calibration, 1.0, 1e-6, 100_000).unwrap().mu;
    assert!(mu(Calibration::Paper) <= mu(Calibration::Tight));
}

#[test]
fn every_plan_keeps_its_budget() {
    for (epsilon, delta) in [(0.1, 1e-6), (1.0, 1e-6)] {
        let problem = unbounded(Loss::Logistic, Domain::L1 { radius: 2.0 }, 10_000, 20);
        let plan = ShuffledMirror::default().plan(&problem, budget(epsilon, delta)).unwrap();
        let event = &plan.outline.event;
        assert!(delta_upper(event, epsilon).unwrap() <= delta);
        assert!(delta_upper(event, epsilon).unwrap() >= 0.9 * delta);
        assert!(epsilon_upper(event, delta).unwrap() <= epsilon);
        assert_eq!(plan.again().unwrap(), plan);
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<ShuffledMirrorPlan>(&json).unwrap(), plan);
    }
}

/// A row's contribution is a function of that row alone: sums are exact, so that removing the other
/// rows' contributions leaves it, bit by bit, in any order; and two reports of a row lie within
/// what its noise is scaled to.
#[test]
fn a_report_is_local_and_bounded() {
    let mut uniform = Uniform(4);
    let d = 3;
    let problem = unbounded(Loss::Squared, Domain::Ball { radius: 2.0 }, 1000, d);
    let settings = ShuffledMirror { batch: Some(3), clip: Some(2.0), ..ShuffledMirror::default() };
    let plan = settings.plan(&problem, budget(1.0, 1e-6)).unwrap();
    let rule = RobustRule::Truncate { q: 2.0, threshold: plan.truncation, grid: Some(plan.grid) };
    let table: Table = (0..1000)
        .map(|_| ((0..d).map(|_| 3.0 * uniform.normal()).collect(), uniform.normal()))
        .unzip();
    let oracle = oracle(&table, problem.bounds);
    let w = [0.3, -0.2, 0.1];
    let sum = |rows: &[usize]| {
        let mut into = Sensitive::new(vec![0.0; d]);
        oracle
            .ask(
                &problem,
                &Question::Robust { chosen: Chosen::Listed(rows), rule, at: &w },
                &mut into,
            )
            .unwrap();
        in_the_clear(into)
    };
    let mut counted = 0;
    let (mut low, mut high) = (vec![f64::INFINITY; d], vec![f64::NEG_INFINITY; d]);
    for i in 0..300 {
        let (all, others) = (sum(&[3 * i, 3 * i + 1, 3 * i + 2]), sum(&[3 * i + 2, 3 * i]));
        let own = sum(&[3 * i + 1]);
        for j in 0..d {
            assert_eq!(
                (all[j] - others[j]).to_bits(),
                own[j].to_bits() & if own[j] == 0.0 { 0 } else { u64::MAX }
            );
            assert_eq!((own[j] / plan.grid).fract(), 0.0);
            low[j] = low[j].min(own[j]);
            high[j] = high[j].max(own[j]);
        }
        counted += usize::from(lp_norm(&own, 2.0) > 0.0);
        assert!(2.0 * lp_norm(&own, 2.0) <= plan.sensitivity + plan.grid * (d as f64).sqrt());
    }
    assert!((50..250).contains(&counted), "some rows count and some do not: {counted}");
}

#[test]
fn the_order_is_secret_and_uses_every_row_once() {
    // Two runs with different seeds read other rows in other batches; with the noise nearly gone
    // the first step shows it.
    let n = 400;
    let problem = unbounded(Loss::Squared, Domain::Ball { radius: 1e3 }, n, 1);
    let settings = ShuffledMirror { batch: Some(1), clip: Some(1e3), ..ShuffledMirror::default() };
    let mut plan = settings.plan(&problem, budget(1.0, 1e-3)).unwrap();
    plan.noise_multiplier *= 1e-6;
    let table: Table = (vec![vec![1.0]; n], (0..n).map(|i| i as f64).collect());
    let distinct: std::collections::BTreeSet<i64> =
        (0..20).map(|seed| (run(&plan, &table, seed)[0] * 1e3) as i64).collect();
    assert!(distinct.len() > 10, "{distinct:?}");
}
