//! Batch size and number of steps from public facts.
//!
//! The theorems take `T = 1/(3φ²)` (convex) or `1/φ²` (heavy tails, nonconvex). Without an absolute
//! constant both say: the energy of a step's noise, `d σ²/b²`, is `κ = 1/3` or `κ = 1`. So
//! `σ = b sqrt(κ/d)`, and `T` is the largest number of steps that the budget allows with it. Time
//! limits it to [`EPOCHS`] passes over the table.

use std::sync::Mutex;

use super::preconditioner;
use crate::PlanError;
use crate::tuning::{EPOCHS, LEAST_BATCH, MOST_STEPS, MOST_STEPS_OF_EPOCHS};
use reticent_data::threads::lock_briefly;
use reticent_privacy::calibrate::{noise_multiplier_for, steps_for};
use reticent_privacy::{Adjacency, Budget, Event, PrivacyError, epsilon_upper};
use reticent_problem::Problem;

/// Noise that was found before: the planner asks for the same steps with many clip norms and step
/// lengths, which do not matter here.
static FOUND: Mutex<Vec<(Charge, u64, u64, f64)>> = Mutex::new(Vec::new());

/// How many are kept.
const KEPT: usize = 64;

/// The parameters of a run's event, except the batch, the noise and the number of steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charge {
    /// The privacy budget.
    pub budget: Budget,
    /// The epsilon of the private clip norm selection, which comes before the steps.
    pub selection: Option<f64>,
    /// The noise multiplier of the moments over that of all steps, if a preconditioner is estimated
    /// first.
    pub preconditioner: Option<f64>,
    /// `d`.
    pub dimension: f64,
    /// `n`.
    pub rows: u64,
}

impl Charge {
    /// The chance with which a row joins a batch of this expected size.
    pub fn rate(&self, batch: u64) -> f64 {
        batch as f64 / self.rows as f64
    }

    /// The event of a run: the preconditioner, the choice of the clip norm, then `steps` noisy
    /// sums.
    pub fn event(&self, batch: u64, noise_multiplier: f64, steps: u64) -> Event {
        let adjacency: Adjacency = self.budget.adjacency;
        let sample_rate = self.rate(batch);
        let sums = Event::PoissonGaussian { sample_rate, noise_multiplier, steps, adjacency };
        if self.selection.is_none() && self.preconditioner.is_none() {
            return sums;
        }
        let mut events = Vec::new();
        if let Some(ratio) = self.preconditioner {
            let noise_multiplier =
                preconditioner::noise_multiplier(ratio, noise_multiplier, sample_rate, steps);
            events.push(Event::PoissonGaussian {
                sample_rate: 1.0,
                noise_multiplier,
                steps: 1,
                adjacency,
            });
        }
        events.extend(self.selection.map(|epsilon| Event::BoundedRange { epsilon, adjacency }));
        events.push(sums);
        Event::Composed(events)
    }

    /// Whether features are standardized by the moments that are released before the steps.
    pub(super) fn standardizes(
        &self,
        problem: &Problem,
        batch: u64,
        noise_multiplier: f64,
        steps: u64,
    ) -> bool {
        let rate = self.rate(batch);
        self.preconditioner.is_some_and(|ratio| {
            let moments = preconditioner::noise_multiplier(ratio, noise_multiplier, rate, steps);
            preconditioner::standardizes(problem, self.budget.adjacency, moments)
        })
    }

    /// Refuses moments that noise would hide.
    pub(super) fn check_moments(
        &self,
        problem: &Problem,
        batch: u64,
        noise_multiplier: f64,
        steps: u64,
    ) -> Result<(), PlanError> {
        let (adjacency, rate) = (self.budget.adjacency, self.rate(batch));
        preconditioner::check_noise(problem, adjacency, noise_multiplier, rate, steps)
    }

    /// The least `σ` for which `steps` noisy sums keep the budget.
    ///
    /// # Errors
    ///
    /// [`PrivacyError`] from the accountant.
    pub fn noise_multiplier(&self, batch: u64, steps: u64) -> Result<f64, PrivacyError> {
        let same = |(charge, b, s, _): &&(Self, u64, u64, f64)| {
            *charge == Self { dimension: charge.dimension, ..*self } && (*b, *s) == (batch, steps)
        };
        if let Some(known) = lock_briefly(&FOUND)
            && let Some((.., noise)) = known.iter().find(same)
        {
            return Ok(*noise);
        }
        let (epsilon, delta) = (self.budget.epsilon.get(), self.budget.delta.get());
        let noise = noise_multiplier_for(epsilon, delta, |s| self.event(batch, s, steps))?;
        if let Some(mut list) = lock_briefly(&FOUND) {
            if list.len() == KEPT {
                list.remove(0);
            }
            list.push((*self, batch, steps, noise));
        }
        Ok(noise)
    }

    /// The noise of energy `κ`: `b sqrt(κ/d)`.
    fn noise(&self, batch: u64, kappa: f64) -> f64 {
        batch as f64 * (kappa / self.dimension).sqrt()
    }

    fn affords(&self, batch: u64, kappa: f64, steps: u64) -> Result<bool, PrivacyError> {
        let event = self.event(batch, self.noise(batch, kappa), steps);
        Ok(epsilon_upper(&event, self.budget.delta.get())? <= self.budget.epsilon.get())
    }

    /// The largest `T` for which noise of energy `κ` keeps the budget, at most ten million; 0 if
    /// not even one step does.
    ///
    /// # Errors
    ///
    /// [`PrivacyError`] from the accountant.
    pub fn steps(&self, batch: u64, kappa: f64) -> Result<u64, PrivacyError> {
        if self.affords(batch, kappa, MOST_STEPS)? {
            return Ok(MOST_STEPS);
        }
        let (epsilon, delta) = (self.budget.epsilon.get(), self.budget.delta.get());
        steps_for(epsilon, delta, |steps| self.event(batch, self.noise(batch, kappa), steps))
    }

    /// [`Self::steps`], at most what [`EPOCHS`] passes allow.
    ///
    /// # Errors
    ///
    /// [`PrivacyError`] from the accountant.
    pub fn steps_in_time(&self, batch: u64, kappa: f64) -> Result<u64, PrivacyError> {
        let most = self.most_steps(batch);
        if self.affords(batch, kappa, most)? { Ok(most) } else { self.steps(batch, kappa) }
    }

    /// `⌈E n/b⌉`.
    pub(crate) fn most_steps(&self, batch: u64) -> u64 {
        (EPOCHS * self.rows as f64 / batch as f64).ceil().max(1.0) as u64
    }

    /// The smallest power of two for which [`EPOCHS`] passes keep the noise energy at `κ` or below;
    /// the whole table if there is none. A smaller batch would drown in noise, a larger one would
    /// take fewer steps for the same reading. It is at least 32, and large enough for a hundred
    /// thousand steps to suffice.
    ///
    /// # Errors
    ///
    /// [`PrivacyError`] from the accountant.
    pub fn batch(&self, kappa: f64) -> Result<u64, PrivacyError> {
        let in_time = (EPOCHS * self.rows as f64 / MOST_STEPS_OF_EPOCHS).ceil() as u64;
        let mut batch = LEAST_BATCH.max(in_time.next_power_of_two());
        while batch < self.rows {
            if self.affords(batch, kappa, self.most_steps(batch))? {
                return Ok(batch);
            }
            batch *= 2;
        }
        Ok(self.rows)
    }
}
