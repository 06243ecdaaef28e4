//! An audit of clipped DP-SGD: what an attacker shows of epsilon stays below the promise, and broken copies are caught.
//!
//! The attacker knows both tables and releases from each many times. A threshold on the released weight is chosen on
//! one half of the releases and judged on the other: with `P(A) ≥ p` on one table and `P(A) ≤ q` on the other,
//! `ε ≥ ln((p − δ)/q)`. The bounds on `p` and `q` are Chernoff's, each wrong with probability at most `1e-6`, so a false alarm on an
//! honest run has probability at most `2e-6`. Delta is 0.05, where the best threshold of all shows nearly all of epsilon.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::Range;

use reticent_data::walk::{Walk, WalkState};
use reticent_data::{
    Chosen, Dense, Features, LocalOracle, Oracle, OracleError, Rows, Rule, Sensitive, Speed,
};
use reticent_noise::Source;
use reticent_noise::batch::Draw;
use reticent_optim::clipped_sgd::{Clip, ClippedSgd, ClippedSgdPlan, Output};
use reticent_optim::{Algorithm, Quiet};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent_problem::{Loss, Problem, RowBounds};

const EPSILON: f64 = 1.0;
const DELTA: f64 = 0.05;
/// Releases of each table on which the threshold is chosen, and as many on which it is judged.
const ROUNDS: usize = 8000;
const ALARM: f64 = 1e-6;

/// `KL(a‖b)` of two coins.
fn divergence(a: f64, b: f64) -> f64 {
    let part = |x: f64, y: f64| if x == 0.0 { 0.0 } else { x * (x / y).ln() };
    part(a, b) + part(1.0 - a, 1.0 - b)
}

/// The farthest chance, towards `end`, under which `share` of the rounds is not too surprising.
fn chernoff(share: f64, end: f64) -> f64 {
    let limit = (1.0 / ALARM).ln() / ROUNDS as f64;
    let (mut inside, mut outside) = (share, end);
    for _ in 0..60 {
        let middle = f64::midpoint(inside, outside);
        if divergence(share, middle) <= limit {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    outside
}

fn share(values: &[f64], threshold: f64) -> f64 {
    values.iter().filter(|v| **v >= threshold).count() as f64 / values.len() as f64
}

/// A lower bound on epsilon from releases of two tables.
fn shown(one: &[f64], other: &[f64]) -> f64 {
    let (choose_one, judge_one) = one.split_at(ROUNDS);
    let (choose_other, judge_other) = other.split_at(ROUNDS);
    let bound = |a: &[f64], b: &[f64], threshold: f64| {
        let (p, q) = (chernoff(share(a, threshold), 0.0), chernoff(share(b, threshold), 1.0));
        ((p - DELTA).max(1e-300) / q).ln()
    };
    let mut sorted = choose_one.to_vec();
    sorted.sort_by(f64::total_cmp);
    let best = (1..200)
        .map(|i| sorted[i * ROUNDS / 200])
        .max_by(|a, b| {
            let score = |t: f64| bound(choose_one, choose_other, t);
            score(*a).total_cmp(&score(*b))
        })
        .unwrap();
    bound(judge_one, judge_other, best)
}

/// Rows without a gradient, and on demand one whose gradient is far longer than the clip norm, pulling up or down.
fn table(pulls: &[f64]) -> LocalOracle {
    let mut x = vec![0.0; 4];
    x.extend(pulls.iter().map(|pull| -50.0 * pull));
    let rows = x.len();
    let features = Features::F64(Dense::new(rows, 1, x));
    let rows = Rows::new(features, vec![-1.0; rows], RowBounds::features(100.0).unwrap());
    LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap()
}

/// Three steps so short that the gradients stay what they are, then scaled back.
fn plan(adjacency: Adjacency, rows: usize, batch: u64) -> ClippedSgdPlan {
    let problem = Problem::new(Loss::Logistic, RowBounds::features(100.0).unwrap(), rows, 1);
    let settings = ClippedSgd {
        clip: Clip::Public { norm: 1.0 },
        batch: Some(batch),
        steps: Some(3),
        eta: Some(1e-9),
        output: Some(Output::Last),
        ..ClippedSgd::default()
    };
    let budget = Budget {
        epsilon: Epsilon::new(EPSILON).unwrap(),
        delta: Delta::new(DELTA).unwrap(),
        adjacency,
    };
    settings.plan(&problem, budget).unwrap()
}

fn releases(plan: &ClippedSgdPlan, oracle: &dyn Oracle, seed: u64) -> Vec<f64> {
    (0..2 * ROUNDS as u64)
        .map(|i| {
            let source = Source::seeded_not_private((seed << 32) + i);
            ClippedSgd::run(plan, oracle, &source, &Quiet).unwrap().weights[0]
        })
        .collect()
}

fn audit(plan: &ClippedSgdPlan, one: &dyn Oracle, other: &dyn Oracle) -> f64 {
    shown(&releases(plan, one, 1), &releases(plan, other, 2))
}

#[test]
fn honest_runs_keep_their_promise_and_come_near_it() {
    for (batch, near) in [(5, 0.6), (2, 0.4)] {
        // A row joins.
        let added = plan(Adjacency::AddRemoveOne, 5, batch);
        let got = audit(&added, &table(&[1.0]), &table(&[]));
        assert!(got <= EPSILON, "batch {batch}: an attacker shows {got}");
        assert!(got > near, "batch {batch}: the audit is too weak: {got}");
        let got = audit(&added, &table(&[]), &table(&[-1.0]));
        assert!(got <= EPSILON, "batch {batch}: an attacker shows {got}");
        // A row is replaced by one that pulls the other way.
        let replaced = plan(Adjacency::ReplaceOne, 5, batch);
        let got = audit(&replaced, &table(&[1.0]), &table(&[-1.0]));
        assert!(got <= EPSILON, "batch {batch}: an attacker shows {got}");
        assert!(got > near, "batch {batch}: the audit is too weak: {got}");
    }
}

/// An oracle that divides by the batch's own size.
struct DividesByItsSize<'a> {
    inner: &'a LocalOracle,
    expected: f64,
}

impl Oracle for DividesByItsSize<'_> {
    fn rows(&self) -> usize {
        self.inner.rows()
    }
    fn features(&self) -> usize {
        self.inner.features()
    }
    fn bounds(&self) -> RowBounds {
        self.inner.bounds()
    }
    fn gradient_sum(
        &self,
        problem: &Problem,
        at: &Sensitive<Vec<f64>>,
        into: &mut Sensitive<Vec<f64>>,
    ) {
        self.inner.gradient_sum(problem, at, into);
    }
    fn clipped_sum(
        &self,
        problem: &Problem,
        draw: &Draw<'_>,
        clip: f64,
        at: &[f64],
        into: &mut Sensitive<Vec<f64>>,
    ) {
        self.inner.clipped_sum(problem, draw, clip, at, into);
        let mut rows = Vec::new();
        draw.rows(0..self.rows(), &mut rows);
        let factor = self.expected / rows.len().max(1) as f64;
        into.update(|sum| sum.iter_mut().for_each(|s| *s *= factor));
    }
    fn count_below(&self, problem: &Problem, grid: &[f64], into: &mut Sensitive<Vec<f64>>) {
        self.inner.count_below(problem, grid, into);
    }
    fn score(&self, problem: &Problem, at: &[f64], into: &mut Sensitive<Vec<f64>>) {
        self.inner.score(problem, at, into);
    }
    fn walk(&self, problem: &Problem, walk: &Walk, state: &mut Sensitive<WalkState>) {
        self.inner.walk(problem, walk, state);
    }
    fn batch_sum(
        &self,
        problem: &Problem,
        batch: &[usize],
        at: &[f64],
        clip: f64,
        into: &mut Sensitive<Vec<f64>>,
    ) {
        self.inner.batch_sum(problem, batch, at, clip, into);
    }
    fn robust_sum(
        &self,
        problem: &Problem,
        chosen: &Chosen<'_>,
        rule: Rule,
        at: &[f64],
        into: &mut Sensitive<Vec<f64>>,
    ) {
        self.inner.robust_sum(problem, chosen, rule, at, into);
    }
    fn one_pass(
        &self,
        problem: &Problem,
        range: Range<usize>,
        eta: f64,
        w: &mut Sensitive<Vec<f64>>,
        sum: &mut Sensitive<Vec<f64>>,
    ) {
        self.inner.one_pass(problem, range, eta, w, sum);
    }
    fn check(&self, _: &Problem) -> Result<(), OracleError> {
        Ok(())
    }
}

#[test]
fn broken_copies_are_caught() {
    let (with, without) = (table(&[1.0]), table(&[]));
    let honest = plan(Adjacency::AddRemoveOne, 5, 5);
    // Half the noise.
    let half = ClippedSgdPlan { noise_multiplier: 0.5 * honest.noise_multiplier, ..honest.clone() };
    let got = audit(&half, &with, &without);
    assert!(got > EPSILON, "half the noise: {got}");
    // No clip: the same noise for a row that is fifty times as long.
    let unclipped = ClippedSgdPlan {
        clip: Some(50.0),
        noise_multiplier: honest.noise_multiplier / 50.0,
        ..honest.clone()
    };
    let got = audit(&unclipped, &with, &without);
    assert!(got > EPSILON, "no clip: {got}");
    // The noise of a sampled run, but every row joins.
    let sampled = plan(Adjacency::AddRemoveOne, 5, 1);
    let everyone = ClippedSgdPlan { sample_rate: 1.0, ..sampled };
    let got = audit(&everyone, &with, &without);
    assert!(got > EPSILON, "every row joins: {got}");
    // Noise for adding a row, and a row that is replaced.
    let got = audit(&honest, &with, &table(&[-1.0]));
    assert!(got > EPSILON, "another adjacency: {got}");
    // Divided by the batch's own size: alone in its batch, a row counts for all that were expected.
    let sampled = plan(Adjacency::AddRemoveOne, 50, 10);
    let one = DividesByItsSize { inner: &with, expected: 10.0 };
    let other = DividesByItsSize { inner: &without, expected: 10.0 };
    let got = audit(&sampled, &one, &other);
    assert!(got > EPSILON, "divided by the batch's own size: {got}");
}
