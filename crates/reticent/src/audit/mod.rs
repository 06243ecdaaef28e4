//! The auditor: it attacks a plan as implemented and says what it found.
//!
//! Nothing of the plan's proof is used. The plan is run many times on two neighbouring tables that differ in a canary row at the
//! declared bounds; a linear score of the released weights is learned on one half of the runs, and the other half gives
//! a lower bound on epsilon with stated confidence ([`reticent_privacy::audit`]). A bound above what is claimed is a
//! fault. A bound close to it says that no noise is wasted.

mod neighbours;

use std::sync::atomic::{AtomicUsize, Ordering};

use reticent_data::{LocalOracle, Rows, Speed};
use reticent_noise::Source;
use reticent_optim::{Plan, Progress, Quiet, RunError};
use reticent_privacy::audit::{Audit, check_settings, judge};
use reticent_privacy::epsilon_upper;
use reticent_problem::feature_map::MapLaw;
use serde::Serialize;

use crate::Error;
use neighbours::{Pair, pairs};

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attack {
    /// Runs on each of the two tables; half fix the test, half are judged.
    pub runs: usize,
    /// The chance that the bounds hold.
    pub confidence: f64,
    /// Repeatable noise. The tables are made up, so nobody is exposed.
    pub seed: Option<u64>,
    /// The map of a kernel model: rows are then inputs, and runs read their features through the map.
    pub map: Option<MapLaw>,
}

impl Default for Attack {
    fn default() -> Self {
        Self { runs: 10_000, confidence: 0.95, seed: None, map: None }
    }
}

/// What an attack on a plan found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The algorithm.
    pub algorithm: &'static str,
    /// What the plan's event costs at its delta.
    pub epsilon_claimed: f64,
    /// The delta.
    pub delta: f64,
    /// No smaller epsilon holds, with the stated confidence.
    pub epsilon_lower: f64,
    /// The same, if the trade-off curve is that of two normal laws.
    pub epsilon_lower_gdp: f64,
    /// The chance that the bounds hold.
    pub confidence: f64,
    /// Runs that were judged, on each table.
    pub runs: u64,
    /// The tables.
    pub neighbours: String,
    /// Whether the direct bound exceeds the claim: the algorithm, or its accounting, is broken.
    pub violated: bool,
}

/// Attacks `plan`; `claim` is the plan whose event is claimed (the same one, unless a broken copy is attacked).
///
/// # Errors
///
/// If a run fails or a setting is out of range.
pub fn attack(
    plan: &Plan,
    claim: &Plan,
    settings: Attack,
    progress: &dyn Progress,
) -> Result<Finding, Error> {
    let outline = claim.outline();
    let delta = outline.budget.delta.get();
    check_settings(settings.runs, delta, settings.confidence)?;
    let claimed = epsilon_upper(&outline.event, delta)?;
    let candidates =
        pairs(&plan.outline().problem, outline.budget.adjacency, settings.map.as_ref())?;
    // A short look at every pair, then the whole attack on the most telling one: its runs are fresh.
    let scouts = (settings.runs / 5).clamp(20, 2_000);
    let total = (2 * scouts * candidates.len() + 2 * settings.runs) as u64;
    let campaign =
        Campaign { plan, seed: settings.seed, progress, total, done: AtomicUsize::new(0) };
    let mut best = (0, f64::NEG_INFINITY);
    for (i, pair) in candidates.iter().enumerate() {
        let (with, without) = campaign.scores(pair, scouts)?;
        // The direction was learned on the first half.
        let separation = separation(&with[scouts / 2..], &without[scouts / 2..]);
        if separation > best.1 {
            best = (i, separation);
        }
    }
    let pair = &candidates[best.0];
    let (with, without) = campaign.scores(pair, settings.runs)?;
    let Audit { epsilon_lower, epsilon_lower_gdp, runs, confidence } =
        judge(&with, &without, delta, settings.confidence)?;
    Ok(Finding {
        algorithm: claim.algorithm(),
        epsilon_claimed: claimed,
        delta,
        epsilon_lower,
        epsilon_lower_gdp,
        confidence,
        runs,
        neighbours: pair.name.clone(),
        violated: epsilon_lower > claimed,
    })
}

/// The distance of two samples' means in standard deviations.
fn separation(with: &[f64], without: &[f64]) -> f64 {
    let mean = |s: &[f64]| s.iter().sum::<f64>() / s.len() as f64;
    let (a, b) = (mean(with), mean(without));
    let spread = |s: &[f64], m: f64| s.iter().map(|x| (x - m).powi(2)).sum::<f64>();
    let variance = (spread(with, a) + spread(without, b)) / (with.len() + without.len()) as f64;
    if a == b { 0.0 } else { (a - b) / variance.sqrt() }
}

/// Many runs of one plan.
struct Campaign<'a> {
    plan: &'a Plan,
    seed: Option<u64>,
    progress: &'a dyn Progress,
    total: u64,
    done: AtomicUsize,
}

impl Campaign<'_> {
    /// The scores of `runs` runs on each table, along the direction in which the first half's means differ.
    fn scores(&self, pair: &Pair, runs: usize) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let without = self.outputs(&pair.without, runs)?;
        let with = self.outputs(&pair.with, runs)?;
        let half = (runs / 2).max(1);
        let mut direction = vec![0.0; with[0].len()];
        for (outputs, sign) in [(&with, 1.0), (&without, -1.0)] {
            for weights in &outputs[..half] {
                for (d, w) in direction.iter_mut().zip(weights) {
                    *d += sign * w / half as f64;
                }
            }
        }
        let score = |weights: &Vec<f64>| weights.iter().zip(&direction).map(|(w, d)| w * d).sum();
        Ok((with.iter().map(score).collect(), without.iter().map(score).collect()))
    }

    /// The weights that `runs` runs release.
    fn outputs(&self, rows: &Rows, runs: usize) -> Result<Vec<Vec<f64>>, Error> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let share = runs.div_ceil(threads);
        let first = self.done.load(Ordering::Relaxed);
        let worker = |from: usize, to: usize| -> Result<Vec<Vec<f64>>, Error> {
            let oracle = LocalOracle::new(rows.clone(), Speed::default())?;
            let mut list = Vec::with_capacity(to - from);
            for run in from..to {
                let source = match self.seed {
                    Some(seed) => Source::seeded_not_private(seed ^ ((first + run) as u64) << 20),
                    None => Source::from_os()?,
                };
                list.push(self.plan.run(&oracle, &source, &Quiet)?.weights);
                let done = self.done.fetch_add(1, Ordering::Relaxed) as u64 + 1;
                if self.progress.step(done, self.total).is_break() {
                    return Err(RunError::Stopped { done, total: self.total }.into());
                }
            }
            Ok(list)
        };
        let parts = std::thread::scope(|scope| {
            let starts = (0..threads).map(|t| (t * share).min(runs));
            let workers: Vec<_> = starts
                .map(|from| {
                    let worker = &worker;
                    scope.spawn(move || worker(from, (from + share).min(runs)))
                })
                .collect();
            workers
                .into_iter()
                .map(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Result<Vec<_>, Error>>()
        })?;
        Ok(parts.into_iter().flatten().collect())
    }
}
