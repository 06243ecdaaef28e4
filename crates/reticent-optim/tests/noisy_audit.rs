//! An audit of random-round SGD and noisy SGD: many releases on worst neighbours, the best threshold turned into a lower
//! bound on epsilon. It stays below the promise, and exceeds it for deliberately broken copies.
//!
//! The worst row is saturated: its gradient is `+L` or `−L` wherever the weights are, so the released weight is the sum of
//! what every step lets through. The threshold is fixed on other draws than those it is judged on, and the two rates are
//! bounded by Chernoff's inequality at 1e-7 each: a false alarm has odds below 1e-6 for each audit.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use reticent_data::{Dense, Features, LocalOracle, Rows, Speed};
use reticent_noise::Source;
use reticent_optim::noisy_sgd::{NoisySgd, NoisySgdPlan};
use reticent_optim::random_round::{RandomRound, RandomRoundPlan, Sampling};
use reticent_optim::{Algorithm, Calibration, Quiet};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent_problem::{Domain, Loss, Problem, RowBounds};

const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-2;
const RELEASES: usize = 20_000;
const ROWS: usize = 8;

fn budget() -> Budget {
    Budget {
        epsilon: Epsilon::new(EPSILON).unwrap(),
        delta: Delta::new(DELTA).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    }
}

/// Rows of zeros and one whose residual is far beyond the threshold, on the one side or the other.
fn table(sign: f64) -> LocalOracle {
    let mut x = vec![0.0; ROWS];
    x[0] = 1.0;
    let mut labels = vec![0.0; ROWS];
    labels[0] = sign * 1e6;
    let features = Features::F64(Dense::new(ROWS, 1, x));
    let rows = Rows::new(features, labels, RowBounds::new(1.0, 1e6).unwrap());
    LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap()
}

fn problem() -> Problem {
    let bounds = RowBounds::new(1.0, 1e6).unwrap();
    Problem::new(Loss::Huber { threshold: 1.0 }, bounds, ROWS, 1)
}

/// A bound on the chance of an event seen `hits` times in `n` draws, wrong with odds of at most 1e-7: Chernoff's
/// inequality, `n·KL(hits/n, p) ≤ ln 1e7`, solved for `p` on the side asked for.
fn rate(hits: usize, n: usize, upper: bool) -> f64 {
    let (seen, allowed) = (hits as f64 / n as f64, 1e7_f64.ln() / n as f64);
    let part = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * (a / b).ln() };
    let far = |p: f64| part(seen, p) + part(1.0 - seen, 1.0 - p) > allowed;
    let (mut inside, mut outside) = (seen, if upper { 1.0 } else { 0.0 });
    for _ in 0..60 {
        let middle = 0.5 * (inside + outside);
        if far(middle) { outside = middle } else { inside = middle }
    }
    outside
}

/// A lower bound on epsilon at `DELTA` from releases on the two tables: `ln((P − δ)/Q)` for the events `w > t`.
fn audit(release: impl Fn(&LocalOracle, u64) -> f64) -> f64 {
    let (plus, minus) = (table(1.0), table(-1.0));
    let draw = |oracle: &LocalOracle, from: usize| -> Vec<f64> {
        let mut list: Vec<f64> =
            (0..RELEASES).map(|i| release(oracle, (from + i) as u64)).collect();
        list.sort_by(f64::total_cmp);
        list
    };
    let above = |list: &[f64], t: f64| list.len() - list.partition_point(|w| *w <= t);
    let bound = |p: usize, q: usize| {
        ((rate(p, RELEASES, false) - DELTA) / rate(q, RELEASES, true)).max(1e-9).ln()
    };
    // Choose on one half ...
    let (p, q) = (draw(&plus, 0), draw(&minus, RELEASES));
    let best = (1..100)
        .map(|i| q[i * RELEASES / 100])
        .max_by(|a, b| {
            let value = |t: f64| bound(above(&p, t), above(&q, t));
            value(*a).total_cmp(&value(*b))
        })
        .unwrap();
    // ... and judge on the other.
    let (p, q) = (draw(&plus, 2 * RELEASES), draw(&minus, 3 * RELEASES));
    bound(above(&p, best), above(&q, best))
}

fn noisy(plan: &NoisySgdPlan) -> f64 {
    audit(|oracle, seed| {
        let source = Source::seeded_not_private(seed);
        NoisySgd::run(plan, oracle, &source, &Quiet).unwrap().weights[0]
    })
}

fn random(plan: &RandomRoundPlan) -> f64 {
    audit(|oracle, seed| {
        let source = Source::seeded_not_private(seed);
        RandomRound::run(plan, oracle, &source, &Quiet).unwrap().weights[0]
    })
}

#[test]
fn noisy_sgd_keeps_its_promise_and_half_the_noise_does_not() {
    let problem = Problem { domain: Domain::Ball { radius: 1e3 }, ..problem() };
    let settings = NoisySgd { batch: Some(ROWS as u64), steps: Some(4), ..NoisySgd::default() };
    let mut plan = settings.plan(&problem, budget()).unwrap();
    let honest = noisy(&plan);
    // The last iterate weighs four steps unevenly, so the audit cannot reach the promise; it comes near enough to have teeth.
    assert!(honest < EPSILON && honest > 0.4 * EPSILON, "{honest}");
    plan.batches.noise_multiplier /= 2.0;
    let broken = noisy(&plan);
    assert!(broken > EPSILON, "{broken}");
}

#[test]
fn noisy_sgd_on_batches_keeps_its_promise_and_wrong_batches_do_not() {
    let problem = Problem { domain: Domain::Ball { radius: 1e3 }, ..problem() };
    for calibration in [Calibration::Tight, Calibration::Paper] {
        let steps = Some(if calibration == Calibration::Tight { 2 } else { 400 });
        let settings = NoisySgd { calibration, batch: Some(1), steps, ..NoisySgd::default() };
        let plan = settings.plan(&problem, budget()).unwrap();
        if calibration == Calibration::Paper {
            // The paper's scale is far from tight: only a shorter run can be audited in time, and it must hold.
            let plan = NoisySgd { steps: Some(2), ..settings }.plan(&problem, budget()).unwrap();
            assert!(noisy(&plan) < EPSILON);
            continue;
        }
        assert!(noisy(&plan) < EPSILON);
        let mut broken = plan.clone();
        broken.batches.sampling = Sampling::Poisson { rate: 1.0 };
        assert!(noisy(&broken) > EPSILON);
        let mut broken = plan;
        broken.batches.sampling = Sampling::FixedSize { size: ROWS as u64 };
        assert!(noisy(&broken) > EPSILON);
    }
}

#[test]
fn random_round_keeps_its_promise_and_broken_copies_do_not() {
    let settings = RandomRound {
        batch: Some(ROWS as u64),
        steps: Some(2),
        eta: Some(1.0),
        ..RandomRound::default()
    };
    let plan = settings.plan(&problem(), budget()).unwrap();
    let honest = random(&plan);
    assert!(honest < EPSILON && honest > 0.0, "{honest}");
    let mut halved = plan;
    halved.batches.noise_multiplier /= 3.0; // at most one of the two steps paid for is taken, half of the time
    assert!(random(&halved) > EPSILON, "{}", random(&halved));
    let settings = RandomRound { batch: Some(1), ..settings };
    let plan = settings.plan(&problem(), budget()).unwrap();
    assert!(random(&plan) < EPSILON);
    let mut broken = plan;
    broken.batches.sampling = Sampling::FixedSize { size: ROWS as u64 };
    assert!(random(&broken) > EPSILON);
}
