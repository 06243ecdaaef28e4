//! The noisy gradient of a random batch, again and again, and what it costs.
//!
//! A plan holds a [`Batches`]: how rows are drawn, how far each is clipped, how much noise the sum
//! gets. The event that is charged and the sampler that runs are both made from that one value, so
//! they cannot disagree.
//!
//! # Sensitivity of the computed sum
//!
//! In exact arithmetic a row adds a vector of norm at most `clip` to the sum. Computed, with unit
//! roundoff `u`:
//!
//! - the factor that clips a row carries a relative error of at most `(d + K + 16)u` for `d`
//!   features and `K` outputs;
//! - a term that passes through `depth` additions is multiplied by some `1 + θ` with
//!   `|θ| ≤ 1.1·depth·u`, so the computed sum of at most `b` rows is within `1.1·depth·u·b·clip` of
//!   the exact sum of the computed terms.
//!
//! Two computed sums, one with a row and one without it, therefore differ by at most
//! `clip·(1 + 1.1u(d + K + 16 + 2·depth·b))`: the `bound` to which the noise is scaled. The weights
//! are the same public numbers in both, so errors in margins and slopes are the same for every
//! common row, and cancel.

use reticent_data::{Oracle, Question, Sensitive, batch_depth};
use reticent_noise::fast::FastGaussian;
use reticent_noise::{NoiseError, Purpose, Source, Stream, batch};
use reticent_privacy::{
    Adjacency, Budget, Event, calibrate::noise_multiplier_for, delta_upper, epsilon_upper,
};
use reticent_problem::Problem;
use serde::{Deserialize, Serialize};

use super::descend::Step;
use super::noisy_sum::NoisySum;
use crate::{PlanError, RunError};

/// More gradients of single rows than this are never planned.
pub(crate) const MAX_GRADIENTS: f64 = 1e10;

/// Which rows join a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "scheme", rename_all = "kebab-case")]
pub enum Sampling {
    /// Each row with this probability, independently.
    Poisson {
        /// The probability.
        rate: f64,
    },
    /// A uniform subset of this many rows.
    FixedSize {
        /// How many.
        size: u64,
    },
}

impl Sampling {
    /// The event of `steps` noisy sums over such batches, for replacing one of `rows` records.
    pub fn event(
        self,
        rows: usize,
        noise_multiplier: f64,
        steps: u64,
        adjacency: Adjacency,
    ) -> Event {
        match self {
            Self::Poisson { rate } => {
                Event::PoissonGaussian { sample_rate: rate, noise_multiplier, steps, adjacency }
            }
            Self::FixedSize { size } => Event::FixedSizeGaussian {
                batch: size,
                rows: rows as u64,
                noise_multiplier,
                steps,
                adjacency,
            },
        }
    }

    /// The rows of one step.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] for a rate or a size that cannot be.
    pub fn draw(self, rows: usize, stream: &mut Stream) -> Result<Vec<usize>, NoiseError> {
        match self {
            Self::Poisson { rate } => batch::poisson_batch(rows, rate, stream),
            Self::FixedSize { size } => batch::uniform_subset(rows, size as usize, stream),
        }
    }

    /// The most rows that a step may have.
    fn largest(self, rows: usize) -> usize {
        match self {
            Self::Poisson { .. } => rows,
            Self::FixedSize { size } => size as usize,
        }
    }
}

/// How many noisy sums a run makes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    /// So many.
    Steps(u64),
    /// `R − 1`, with `R` uniform on `1..=rounds` and drawn without looking at rows.
    RandomStop {
        /// The largest `R`.
        rounds: u64,
    },
}

/// How the averaged gradients of one run are made: a part of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batches {
    /// Which rows join a step.
    pub sampling: Sampling,
    /// The divisor of sums: the size of a batch, or its expectation.
    pub batch: u64,
    /// The norm to which a row's gradient is clipped.
    pub clip: f64,
    /// The most that a row can add to the computed sum: `clip` and rounding.
    pub bound: f64,
    /// Standard deviation of the noise on the sum over `bound`; zero where nothing is promised.
    pub noise_multiplier: f64,
}

impl Batches {
    /// Batches of (on average) `batch` rows, clipped to `clip`, with no noise yet.
    pub(crate) fn new(problem: &Problem, sampling: Sampling, batch: u64, clip: f64) -> Self {
        const UNIT: f64 = f64::EPSILON / 2.0;
        let largest = sampling.largest(problem.rows);
        let chain = 2.0 * batch_depth(largest) as f64 * largest as f64;
        let one = (problem.features + problem.loss.outputs() + 16) as f64;
        let bound = clip * (1.0 + 1.1 * UNIT * (one + chain));
        Self { sampling, batch, clip, bound, noise_multiplier: 0.0 }
    }

    /// The event of so many of these steps with this noise.
    fn event(&self, problem: &Problem, budget: Budget, length: Length, noise: f64) -> Event {
        let steps = |count| self.sampling.event(problem.rows, noise, count, budget.adjacency);
        match length {
            Length::Steps(count) => steps(count),
            Length::RandomStop { rounds } => {
                Event::RandomStop { event: Box::new(steps(1)), rounds }
            }
        }
    }

    /// The least noise with which the steps keep the budget, and their event.
    pub(crate) fn calibrated(
        self,
        problem: &Problem,
        budget: Budget,
        length: Length,
    ) -> Result<(Self, Event), PlanError> {
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        if epsilon.is_infinite() {
            return Ok((self, Event::NotPrivate));
        }
        let event = |s| self.event(problem, budget, length, s);
        let mut noise_multiplier = noise_multiplier_for(epsilon, delta, event)?;
        // Both of the accountant's answers keep the budget, epsilon at delta and delta at epsilon.
        let mut more = 1e-6;
        loop {
            if delta_upper(&event(noise_multiplier), epsilon)? <= delta {
                break;
            }
            if more > 1.0 {
                let expected = "large enough for the accountant to tell it from zero".to_owned();
                return Err(PlanError::OutOfRange { name: "delta", expected, got: delta });
            }
            noise_multiplier *= 1.0 + more;
            more *= 2.0;
        }
        Ok((Self { noise_multiplier, ..self }, event(noise_multiplier)))
    }

    /// A given noise, certified by the accountant, and its event.
    pub(crate) fn certified(
        self,
        problem: &Problem,
        budget: Budget,
        length: Length,
        noise_multiplier: f64,
    ) -> Result<(Self, Event), PlanError> {
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        if epsilon.is_infinite() {
            return Ok((self, Event::NotPrivate));
        }
        let event = self.event(problem, budget, length, noise_multiplier);
        let got = delta_upper(&event, epsilon)?;
        if got > delta || epsilon_upper(&event, delta)? > epsilon {
            return Err(PlanError::NotCertified { got, allowed: delta });
        }
        Ok((Self { noise_multiplier, ..self }, event))
    }

    /// The standard deviation of the noise in a coordinate of the averaged gradient.
    pub(crate) fn deviation(&self, dimension: usize) -> Result<f64, NoiseError> {
        if self.noise_multiplier == 0.0 {
            return Ok(0.0);
        }
        let law = FastGaussian::new(self.bound, self.noise_multiplier, dimension)?;
        Ok(law.sigma() / self.batch as f64)
    }
}

/// Refuses more steps than the accountant composes or anyone would wait for.
pub(crate) fn check_cost(steps: f64, batch: u64) -> Result<(), PlanError> {
    let most = (MAX_GRADIENTS / batch as f64).min(reticent_privacy::MAX_STEPS as f64).floor();
    if steps > most {
        return Err(PlanError::OutOfRange {
            name: "steps",
            expected: format!(
                "at most {most} with batches of {batch} (1e10 gradients of a row, 1e9 steps); give fewer"
            ),
            got: steps,
        });
    }
    Ok(())
}

/// Draws batches and gives out noisy sums.
pub(crate) struct NoisyGradient<'a> {
    oracle: &'a dyn Oracle,
    problem: &'a Problem,
    batches: Batches,
    noise: NoisySum,
    rows: Stream,
    /// For batches of one size: drawn without allocation.
    subsets: Option<batch::Subsets>,
    sum: Sensitive<Vec<f64>>,
}

impl<'a> NoisyGradient<'a> {
    pub(crate) fn new(
        oracle: &'a dyn Oracle,
        problem: &'a Problem,
        batches: Batches,
        source: &Source,
    ) -> Result<Self, NoiseError> {
        let dimension = problem.dimension();
        let noise = if batches.noise_multiplier == 0.0 {
            NoisySum::without_noise()
        } else {
            NoisySum::new(batches.bound, batches.noise_multiplier, dimension, source)?
        };
        let rows = source.stream(Purpose::Sampling);
        let subsets = match batches.sampling {
            Sampling::Poisson { .. } => None,
            Sampling::FixedSize { size } => Some(batch::Subsets::new(problem.rows, size as usize)?),
        };
        let sum = Sensitive::new(vec![0.0; dimension]);
        Ok(Self { oracle, problem, batches, noise, rows, subsets, sum })
    }

    /// The factor from a sum to an average: one over the public size, because the number of sampled
    /// rows is secret.
    pub(crate) fn share(&self) -> f64 {
        1.0 / self.batches.batch as f64
    }

    /// A step against the sum of a fresh batch's gradients at `w`, with noise, for which the plan's
    /// event pays. Gives the squared length of `w`; the old `w` is added to `into` where that is
    /// not empty.
    ///
    /// Inlined into the loop of the steps, which for few weights are no longer than a call.
    #[allow(
        clippy::inline_always,
        reason = "the vectors handed over in memory would be waited for"
    )]
    #[inline(always)]
    pub(crate) fn descend(
        &mut self,
        step: Step,
        w: &mut [f64],
        into: &mut [f64],
    ) -> Result<f64, RunError> {
        let drawn;
        let batch = if let Some(subsets) = &mut self.subsets {
            subsets.draw(&mut self.rows)
        } else {
            drawn = self.batches.sampling.draw(self.problem.rows, &mut self.rows)?;
            &drawn
        };
        let question = Question::Batch { batch, clip: self.batches.clip, at: w };
        self.oracle.ask(self.problem, &question, &mut self.sum)?;
        Ok(self.noise.descend(&mut self.sum, step, w, into))
    }
}
