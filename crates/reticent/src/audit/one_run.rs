//! An audit in one run: many canaries, each in the table or not by a coin of its own.
//!
//! The bound is that of [`reticent_privacy::audit::one_run`], for neighbours that differ in one
//! coin. It needs a coin for each canary and one run in place of thousands, so it can be afforded
//! for runs that take hours. It is weaker: the canaries share the noise, and `m` right guesses show
//! at most about `ln(m/3)`.
//!
//! # Canaries
//!
//! Canary `i` lies at the declared bounds along feature `i`; if there are more canaries than
//! features, along signs that look random. Tails puts its opposite in its place (replace-one), a
//! row of zeros (zero-out) or nothing (add/remove). The other rows are zeros, so that canaries are
//! told apart by the noise alone.
//!
//! # Guesses
//!
//! A row pulls the weights along minus its gradient at zero weights, that is along its features,
//! and for several classes towards its class and away from the others (from its opposite's). That
//! is the score; the highest are guessed present, as many of the lowest absent. How many are
//! guessed is tried in four fixed ways, from all to an eighth, each with a quarter of the chance of
//! error: their best is the bound.

use reticent_data::{Dense, Features, Rows};
use reticent_noise::integer::uniform_below;
use reticent_noise::{Purpose, Source};
use reticent_optim::{PlanError, Progress, RunError};
use reticent_privacy::audit::one_run::epsilon_lower;
use reticent_privacy::{Adjacency, Relation};
use reticent_problem::{Loss, Problem};
use serde::Serialize;

use super::neighbours::sign;
use super::{Audited, Claim};
use crate::Error;

/// The settings of the audit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneRun {
    /// How many canaries.
    pub canaries: usize,
    /// The chance that the bound holds.
    pub confidence: f64,
    /// Repeatable coins and noise. The table is simulated, so nobody is exposed.
    pub seed: Option<u64>,
}

/// The result of an audit in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OneRunFinding {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The claimed event's epsilon at its delta.
    pub epsilon_claimed: f64,
    /// The delta.
    pub delta: f64,
    /// No smaller epsilon holds, with the stated confidence.
    pub epsilon_lower: f64,
    /// The chance that the bound holds.
    pub confidence: f64,
    /// Canaries.
    pub canaries: u64,
    /// Coins that were guessed.
    pub guesses: u64,
    /// Guesses that were right.
    pub correct: u64,
    /// Whether the bound exceeds the claim: the algorithm, or its accounting, is broken.
    pub violated: bool,
}

/// All, a half, a quarter and an eighth of the canaries are guessed.
const WAYS: [usize; 4] = [1, 2, 4, 8];

/// Runs `audited` once and guesses which canaries were there.
///
/// # Errors
///
/// If the run fails or a setting is out of range: at least 2 canaries and no more than rows, a
/// linear model.
pub fn attack(
    audited: &dyn Audited,
    claim: &Claim,
    settings: OneRun,
    progress: &dyn Progress,
) -> Result<OneRunFinding, Error> {
    let OneRun { canaries: m, confidence, seed } = settings;
    let problem = &claim.problem;
    check(problem, claim.algorithm, m, confidence)?;
    let source = |n: u64| match seed {
        Some(seed) => Ok(Source::seeded_not_private(seed.wrapping_mul(2).wrapping_add(n))),
        None => Source::from_os(),
    };
    let mut stream = source(0)?.stream(Purpose::Sampling);
    let coins: Vec<bool> = (0..m).map(|_| uniform_below(2, &mut stream) == 1).collect();
    let scene = Scene::new(problem, claim.adjacency, m);
    let oracle = audited.oracle(scene.table(&coins))?;
    if progress.step(0, 1).is_break() {
        return Err(RunError::Stopped { done: 0, total: 1 }.into());
    }
    let weights = audited.release(&*oracle, &source(1)?)?;
    let _ = progress.step(1, 1);
    let mut scores: Vec<(f64, bool)> =
        coins.iter().enumerate().map(|(i, coin)| (scene.score(i, &weights), *coin)).collect();
    scores.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut best = (f64::NEG_INFINITY, 0, 0);
    for part in WAYS {
        let each = (m / 2 / part).max(1);
        let right = scores[..each].iter().filter(|(_, coin)| *coin).count()
            + scores[m - each..].iter().filter(|(_, coin)| !*coin).count();
        let (guesses, correct) = (2 * each as u64, right as u64);
        let alarm = (1.0 - confidence) / WAYS.len() as f64;
        let shown = epsilon_lower(m as u64, guesses, correct, claim.delta, alarm)?;
        if shown > best.0 {
            best = (shown, guesses, correct);
        }
    }
    Ok(OneRunFinding {
        algorithm: claim.algorithm,
        epsilon_claimed: claim.epsilon,
        delta: claim.delta,
        epsilon_lower: best.0,
        confidence,
        canaries: m as u64,
        guesses: best.1,
        correct: best.2,
        violated: best.0 > claim.epsilon,
    })
}

fn check(
    problem: &Problem,
    algorithm: &'static str,
    m: usize,
    confidence: f64,
) -> Result<(), Error> {
    let range = |ok: bool, name, expected: String, got: f64| {
        if ok { Ok(()) } else { Err(Error::from(PlanError::OutOfRange { name, expected, got })) }
    };
    let n = problem.rows;
    range((2..=n).contains(&m), "canaries", format!("between 2 and n = {n}"), m as f64)?;
    let between = "between 0 and 1".to_owned();
    range(confidence > 0.0 && confidence < 1.0, "confidence", between, confidence)?;
    let norm = problem.bounds.norm();
    range(
        norm.is_finite(),
        "feature_norm",
        "a finite number for an audit in one run".into(),
        norm,
    )?;
    if problem.unit.is_some() {
        let why =
            "is audited in one run for rows only; audit units in many runs, without `single_run`";
        return Err(PlanError::NotApplicable { algorithm, why: why.to_owned() }.into());
    }
    if problem.hidden.is_some() {
        let why = "is audited in one run for linear models only; leave `hidden` out, or audit it in many runs";
        return Err(PlanError::NotApplicable { algorithm, why: why.to_owned() }.into());
    }
    Ok(())
}

struct Scene<'a> {
    problem: &'a Problem,
    adjacency: Adjacency,
    /// The canary's label, and that of its opposite.
    labels: (f64, f64),
    /// Whether there is a feature for each canary.
    orthogonal: bool,
    /// How much a canary pulls at each output.
    pulls: Vec<f64>,
}

impl<'a> Scene<'a> {
    fn new(problem: &'a Problem, adjacency: Adjacency, canaries: usize) -> Self {
        let (labels, pulls) = if let Loss::Softmax { classes }
        | Loss::OneHot { classes: classes @ 3.. } = problem.loss
        {
            let mut pulls = vec![0.0; classes];
            pulls[0] = 1.0;
            if adjacency.replaces() {
                pulls[1] = -1.0;
            } else {
                for pull in &mut pulls {
                    *pull -= 1.0 / classes as f64;
                }
            }
            ((0.0, 1.0), pulls)
        } else {
            let bound = problem.bounds.label();
            let most = if bound.is_finite() { bound } else { 1e6 };
            ((most, -most), vec![1.0])
        };
        Self { problem, adjacency, labels, orthogonal: canaries <= problem.features, pulls }
    }

    /// The features of canary `i`.
    fn canary(&self, i: usize) -> Vec<f64> {
        let (d, bounds) = (self.problem.features, self.problem.bounds);
        if self.orthogonal {
            let mut row = vec![0.0; d];
            row[i] = bounds.entry();
            return row;
        }
        // A hair short, so that rounding keeps the norm.
        let size = (bounds.norm() / (d as f64).sqrt()).min(bounds.entry()) * (1.0 - 1e-12);
        (0..d).map(|j| size * sign(i * d + j)).collect()
    }

    fn table(&self, coins: &[bool]) -> Rows {
        let silent = || vec![0.0; self.problem.features];
        let (yes, no) = self.labels;
        let mut rows: Vec<(Vec<f64>, f64)> = Vec::with_capacity(self.problem.rows);
        for (i, coin) in coins.iter().enumerate() {
            match (coin, self.adjacency.relation()) {
                (true, _) => rows.push((self.canary(i), yes)),
                (false, Relation::Replace) => rows.push((self.canary(i), no)),
                (false, Relation::AddRemove) => {}
                (false, _) if self.problem.loss.is_classification() => rows.push((silent(), yes)),
                (false, _) => rows.push((silent(), 0.0)),
            }
        }
        rows.extend((coins.len()..self.problem.rows).map(|_| (silent(), yes)));
        let (features, labels): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let features = Dense::new(labels.len(), self.problem.features, features.concat());
        let rows = Rows::new(Features::F64(features), labels, self.problem.bounds);
        let count = rows.len();
        if self.problem.weighted { rows.weighted(vec![1.0; count]) } else { rows }
    }

    /// How much the weights speak for canary `i`.
    fn score(&self, i: usize, weights: &[f64]) -> f64 {
        let row = self.canary(i);
        let blocks = weights.chunks_exact(self.problem.features).zip(&self.pulls);
        let along = |block: &[f64]| block.iter().zip(&row).map(|(w, x)| w * x).sum::<f64>();
        blocks.map(|(block, pull)| pull * along(block)).sum()
    }
}
