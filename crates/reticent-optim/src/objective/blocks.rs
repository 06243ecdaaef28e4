//! Intervals from disjoint blocks: the same private fit on each of several parts of the records,
//! whose spread says how far their mean is from the truth.
//!
//! # Release
//!
//! A uniformly random and secret choice cuts the `n` records into `K` blocks of `m = ⌊n/K⌋`; the
//! fewer than `K` that are left over are in none. Objective perturbation for `m` records runs on
//! each block with noise of its own, calibrated to the whole budget. All `K` answers are released,
//! and the weights are their mean.
//!
//! # Theorem (privacy)
//!
//! The release has the profile of one of its runs.
//!
//! *Proof.* Let two tables be neighbours. Number the records of the second such that it differs
//! from the first in one record and at one number; under replace-one and zero-out `n` is the same,
//! so this can be done. The law of the partition is the same for every numbering, because it is
//! uniform, and it is independent of the rows. So both releases may be compared given one
//! partition. All blocks but the one that holds the changed record are then equal and their runs
//! independent of it; that block's run has the profile of its event. The profile of a mixture over
//! partitions is at most the largest ([`Event::Disjoint`] with parts that stay). ∎
//!
//! Nothing is used of the order of the table: records may be units, whose numbers shift when one is
//! replaced, or rows on a cluster. Under add/remove `n` itself, and with it `m`, would be private;
//! objective perturbation refuses it.
//!
//! # Bias
//!
//! A block's minimiser is `w_k − θ* = −(H + μ)⁻¹(ḡ_k + b_k/m + μθ*) + z_k` to first order, as in
//! the sandwich formula. Along a direction `a`, its mean is off by at most `μ‖(H + μ)⁻¹a‖‖θ*‖`, and
//! its deviation is at least `(σ₁/m)‖(H + μ)⁻¹a‖`. So with `Λ = mμ` the bias is at most `Λ‖θ*‖/σ₁`
//! deviations of one block, whatever `H` is: `√K Λ‖θ*‖/σ₁` standard errors of the mean. Intervals
//! are widened by the bound (docs/intervals.md). The ridge is the one that makes
//!
//! ```text
//! √(σ₁² + (m s_z (h + μ))² + m min(h, L²/d)) · (c + √K Λ‖θ‖/σ₁)
//! ```
//!
//! least, for a public guess of `‖θ‖`: the linear term, the output noise `s_z` and the sampling
//! error in the gradient of a block, with `h` the mean eigenvalue that its Hessian can have, times
//! the quantile and the bias.

use reticent_data::{Oracle, PartOracle};
use reticent_noise::batch::permutation;
use reticent_noise::{Purpose, Source};
use reticent_privacy::{Budget, Event};
use reticent_problem::{Loss, Problem};
use serde::{Deserialize, Serialize};

use super::curvature::check_level;
use super::noise::Case;
use super::{CURVATURE_SHARE, NAME, ObjectivePerturbation, ObjectivePlan};
use crate::setting::{Setting, Words as _, words};
use crate::{PlanError, RunError};

/// How standard errors are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalMethod {
    /// A noisy look at the curvature of the loss, and the sandwich formula.
    Curvature,
    /// The spread of fits on disjoint blocks.
    Blocks,
}

words! { IntervalMethod:
    Curvature = "curvature", "From a noisy curvature of the loss, which takes a part of the budget";
    Blocks = "blocks", "From the spread of ten fits on disjoint blocks";
}

/// How standard errors are found.
pub const INTERVAL_METHOD: Setting = Setting::choice(
    "interval_method",
    IntervalMethod::WORDS,
    "the one with the narrower expected intervals, where both can be told; otherwise curvature",
    "How standard errors are found",
)
.limited("with intervals");

/// `K`.
pub const BLOCKS: usize = 10;

/// The least number of records of a block.
const LEAST: usize = 20;

/// `c`: the quantile of Student's law with `K − 1` degrees of freedom, about.
const QUANTILE: f64 = 2.3;

/// The most of `ε` that the change of variables may take.
const MOST_CHANGE: f64 = 0.625;

/// Ridges that are tried, each larger than the one before by this factor.
const TRIED: (usize, f64) = (30, 1.3);

/// The partition of a plan with blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlocksPlan {
    /// `K`.
    pub count: usize,
    /// `m`.
    pub records: usize,
}

/// How fast the second derivative of a loss changes, over itself: `sup |φ'''|/φ''`, and of the
/// Huber loss one over its threshold, where it jumps. None for a loss without intervals from
/// blocks.
pub fn bend_change(loss: Loss) -> Option<f64> {
    match loss {
        Loss::Logistic | Loss::Poisson { .. } => Some(1.0),
        Loss::Huber { threshold } => Some(1.0 / threshold),
        Loss::LogCosh { threshold } => Some(2.0 / threshold),
        _ => None,
    }
}

impl BlocksPlan {
    /// The problem of one block.
    pub(super) fn problem(self, whole: &Problem) -> Problem {
        Problem { rows: self.records, ..whole.clone() }
    }

    /// The event of all blocks, of which each has this one.
    fn event(self, one: &Event) -> Event {
        Event::Disjoint { parts: vec![one.clone(); self.count], fixed_partition: true }
    }

    /// The numbers of the records in each block, increasing.
    pub(super) fn partition(self, records: usize, source: &Source) -> Vec<Vec<usize>> {
        let order = permutation(records, &mut source.stream(Purpose::Sampling));
        let mut blocks: Vec<Vec<usize>> =
            order.chunks_exact(self.records).take(self.count).map(<[usize]>::to_vec).collect();
        for block in &mut blocks {
            block.sort_unstable();
        }
        blocks
    }

    /// The mean of the blocks' weights.
    pub fn mean(self, blocks: &[f64]) -> Vec<f64> {
        let width = blocks.len() / self.count;
        let column = |j: usize| blocks[j..].iter().step_by(width.max(1)).sum::<f64>();
        (0..width).map(|j| column(j) / self.count as f64).collect()
    }
}

impl ObjectivePlan {
    /// Whether such weights of its blocks could have come out, and their mean is these weights.
    pub fn holds_blocks(&self, released: &[f64], weights: &[f64]) -> bool {
        let Some(blocks) = self.blocks else { return false };
        let on_grid = |x: &f64| self.noise.could_give(*x);
        released.len() == blocks.count * weights.len()
            && released.iter().all(on_grid)
            && blocks.mean(released) == weights
    }
}

impl ObjectivePerturbation {
    /// The plan with blocks, if that is the method.
    pub(super) fn plan_blocks(
        &self,
        problem: &Problem,
        budget: Budget,
    ) -> Result<Option<ObjectivePlan>, PlanError> {
        let Some(level) = self.intervals else { return Ok(None) };
        if self.interval_method != Some(IntervalMethod::Blocks) {
            return Ok(None);
        }
        check_level(level)?;
        let refuse = |why: String| Err(PlanError::NotApplicable { algorithm: NAME, why });
        self.check_intervals(problem)?;
        if bend_change(problem.loss).is_none() {
            return refuse(format!(
                "gives intervals from blocks for logistic, huber, log-cosh and poisson, got {}; use the interval method `curvature`",
                problem.loss.full_name()
            ));
        }
        if let Some(got) = self.curvature_share {
            let (name, expected) = (CURVATURE_SHARE.name, "left out with blocks".to_owned());
            return Err(PlanError::OutOfRange { name, expected, got });
        }
        if budget.epsilon.get().is_infinite() {
            return refuse(
                "needs a finite `epsilon` for intervals from blocks; use the interval method `curvature`".to_owned(),
            );
        }
        let blocks = BlocksPlan { count: BLOCKS, records: problem.rows / BLOCKS };
        if blocks.records < LEAST {
            return refuse(format!(
                "needs at least {} records for intervals from blocks, got {}; use the interval method `curvature`",
                LEAST * BLOCKS,
                problem.rows
            ));
        }
        let mut plan = self.plan_one(&blocks.problem(problem), budget, true)?;
        plan.outline.event = blocks.event(&plan.outline.event);
        plan.outline.problem = problem.clone();
        plan.outline.steps = blocks.count as u64;
        plan.blocks = Some(blocks);
        Ok(Some(plan))
    }

    /// `ν` for a block. `output` is `s_z` for a ridge and a `σ₁`.
    pub(super) fn ridge_of_blocks(
        &self,
        case: &Case,
        problem: &Problem,
        (epsilon, delta): (f64, f64),
        output: impl Fn(f64, f64) -> f64,
    ) -> Result<f64, PlanError> {
        let guess = self.distance.unwrap_or(weights_norm(problem));
        let (n, d) = (problem.rows as f64, problem.dimension() as f64);
        let mean = case.rank * case.curvature / d;
        let sampling = n * mean.min(case.lipschitz.powi(2) / d);
        let mut modulus =
            problem.ridge + 2.0 * case.least_extra(problem.ridge, MOST_CHANGE * epsilon);
        let mut best = (f64::INFINITY, modulus);
        for _ in 0..TRIED.0 {
            let sigma = case.sigma(modulus, epsilon, delta)?;
            let solver = n * output(modulus, sigma) * (mean + modulus);
            let noise = (sigma * sigma + solver * solver + sampling).sqrt();
            let pull = (BLOCKS as f64).sqrt() * n * modulus * guess / sigma;
            let cost = noise * (QUANTILE + pull);
            if cost < best.0 {
                best = (cost, modulus);
            }
            modulus *= TRIED.1;
        }
        Ok(best.1 - problem.ridge)
    }
}

/// A public guess of the norm of the best weights: a row of full length has margins of deviation
/// one, or of a quarter of the largest label.
pub fn weights_norm(problem: &Problem) -> f64 {
    let margin = if problem.loss.is_on_label_scale() { 0.25 * problem.bounds.label() } else { 1.0 };
    margin * (problem.dimension() as f64).sqrt() / problem.bounds.norm()
}

/// The weights of each block, one after another.
pub(super) fn run(
    plan: &ObjectivePlan,
    blocks: BlocksPlan,
    oracle: &dyn Oracle,
    source: &Source,
) -> Result<Vec<f64>, RunError> {
    let problem = blocks.problem(&plan.outline.problem);
    let mut all = Vec::with_capacity(blocks.count * problem.dimension());
    for block in blocks.partition(plan.outline.problem.rows, source) {
        let part = PartOracle::new(oracle, &block);
        all.extend(plan.minimiser(&problem, &part, source)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_in_at_most_one_block_and_in_each_as_often() {
        const RUNS: u32 = 4000;
        let blocks = BlocksPlan { count: 10, records: 3 };
        let mut seen = vec![[0_u32; 11]; 34];
        for seed in 0..RUNS {
            let parts = blocks.partition(34, &Source::seeded_not_private(u64::from(seed)));
            assert!(parts.len() == 10 && parts.iter().all(|part| part.len() == 3));
            assert!(parts.iter().all(|part| part.windows(2).all(|w| w[0] < w[1])));
            for (record, seen) in seen.iter_mut().enumerate() {
                let mut mine = (0..10).filter(|k| parts[*k].contains(&record));
                seen[mine.next().unwrap_or(10)] += 1;
                assert_eq!(mine.next(), None);
            }
        }
        // 340 counts of mean 4000·3/34; each is off by five deviations with a chance of 6e-7.
        let mean = f64::from(RUNS) * 3.0 / 34.0;
        let off = |count: u32| (f64::from(count) - mean).abs() / mean.sqrt();
        assert!(seen.iter().all(|seen| seen[..10].iter().all(|count| off(*count) < 5.0)));
    }

    #[test]
    fn the_mean_is_over_blocks() {
        let blocks = BlocksPlan { count: 2, records: 1 };
        assert_eq!(blocks.mean(&[1.0, 2.0, 3.0, 6.0]), [2.0, 4.0]);
    }
}
