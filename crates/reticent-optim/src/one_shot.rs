//! One noisy vector that is no model: a few counts, say.
//!
//! The noise is that of output perturbation (`step/perturb.rs`), exact on a public grid: Gaussian where there is a delta,
//! because it composes best with other releases of the same data, and ball noise where there is none.

use reticent_data::Sensitive;
use reticent_noise::{NoiseError, Source};
use reticent_privacy::{Budget, Event};

use crate::PlanError;
use crate::step::perturb::{self, Noise, NoiseChoice};

/// The noise for one vector of known length and l2 sensitivity, decided before any row is read.
#[derive(Clone, Debug, PartialEq)]
pub struct OneShot {
    budget: Budget,
    sensitivity: f64,
    dimension: usize,
    noise: Noise,
    event: Event,
}

impl OneShot {
    /// Plans the noise for a vector of `dimension` numbers that a change of one row, under the budget's adjacency, moves by at most
    /// `sensitivity` in the l2 norm. The caller has proved that.
    ///
    /// # Errors
    ///
    /// [`PlanError`], for a budget that no noise keeps.
    pub fn plan(budget: Budget, sensitivity: f64, dimension: usize) -> Result<Self, PlanError> {
        let pure = budget.delta.get() == 0.0;
        let choice = if pure { NoiseChoice::Ball } else { NoiseChoice::Gaussian };
        let (noise, event) = perturb::plan(budget, sensitivity, dimension, choice, None)?;
        Ok(Self { budget, sensitivity, dimension, noise, event })
    }

    /// What is paid for.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// The standard deviation of the noise on each number.
    pub fn deviation(&self) -> f64 {
        self.noise.deviation(self.dimension)
    }

    /// Adds the noise. Whoever calls this has paid for the event. A vector of another length than was planned is cut or filled with
    /// zeros.
    ///
    /// # Errors
    ///
    /// [`NoiseError`], for settings that the plan has checked.
    pub fn release(
        self,
        values: Sensitive<Vec<f64>>,
        source: &Source,
    ) -> Result<Vec<f64>, NoiseError> {
        let Self { budget, sensitivity, dimension, noise, .. } = self;
        let values = values.map(|mut values| {
            values.resize(dimension, 0.0);
            values
        });
        perturb::release(values, noise, sensitivity, budget.epsilon.get(), source)
    }
}
