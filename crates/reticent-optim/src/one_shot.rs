//! One noisy vector that is no model: a few counts, say.
//!
//! The noise is exact on a public grid, and one of three:
//!
//! | delta | what is known | noise | standard deviation of a number |
//! | --- | --- | --- | --- |
//! | above 0 | l2 sensitivity `Δ₂` | Gaussian (`step/perturb.rs`), which composes best | about `Δ₂ √(2 ln(1/δ))/ε` |
//! | 0 | `Δ₂` | ball noise (`step/perturb.rs`) | `Δ₂ √(d + 1)/ε` |
//! | 0 | l1 sensitivity `Δ₁` too | the smaller of ball and Laplace noise ([`LaplaceLattice`]) | `Δ₁ √2/ε` |
//!
//! Which of the two is smaller follows from public numbers. Laplace noise of scale `Δ₁/ε` is
//! `ε`-differentially private, so its event is that of any such release.

use reticent_data::Sensitive;
use reticent_noise::lattice::LaplaceLattice;
use reticent_noise::{NoiseError, Source};
use reticent_privacy::{Budget, Event};

use crate::PlanError;
use crate::step::perturb::{self, Noise, NoiseChoice};

/// The noise for one vector of known length and sensitivity, decided before any row is read.
#[derive(Clone, Debug, PartialEq)]
pub struct OneShot {
    budget: Budget,
    sensitivity: f64,
    dimension: usize,
    law: Law,
    event: Event,
}

/// The distribution of the noise.
#[derive(Clone, Debug, PartialEq)]
enum Law {
    /// By the l2 sensitivity.
    Euclidean(Noise),
    /// By the l1 sensitivity.
    Laplace(LaplaceLattice),
}

impl OneShot {
    /// Plans the noise for a vector of `dimension` numbers that a change of one row, under the
    /// budget's adjacency, moves by at most `sensitivity` in the l2 norm. The caller has proved
    /// that.
    ///
    /// # Errors
    ///
    /// [`PlanError`], for a budget that no noise keeps.
    pub fn plan(budget: Budget, sensitivity: f64, dimension: usize) -> Result<Self, PlanError> {
        let pure = budget.delta.get() == 0.0;
        let choice = if pure { NoiseChoice::Ball } else { NoiseChoice::Gaussian };
        let (noise, event) = perturb::plan(budget, sensitivity, dimension, choice, None)?;
        Ok(Self { budget, sensitivity, dimension, law: Law::Euclidean(noise), event })
    }

    /// [`Self::plan`] for a vector that such a change moves by at most `in_l1` in the l1 norm
    /// besides. The caller has proved both.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn plan_counts(
        budget: Budget,
        sensitivity: f64,
        in_l1: f64,
        dimension: usize,
    ) -> Result<Self, PlanError> {
        let planned = Self::plan(budget, sensitivity, dimension)?;
        let epsilon = budget.epsilon.get();
        if budget.delta.get() > 0.0 || epsilon.is_infinite() {
            return Ok(planned);
        }
        let law = Law::Laplace(LaplaceLattice::new(in_l1, epsilon, dimension)?);
        let event = Event::PureDp { epsilon, adjacency: budget.adjacency };
        let other = Self { law, event, ..planned.clone() };
        Ok(if other.deviation() < planned.deviation() { other } else { planned })
    }

    /// The event charged to the budget.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// The standard deviation of the noise on each number; of Laplace noise a hair more.
    pub fn deviation(&self) -> f64 {
        match &self.law {
            Law::Euclidean(noise) => noise.deviation(self.dimension),
            Law::Laplace(lattice) => std::f64::consts::SQRT_2 * lattice.scale(),
        }
    }

    /// Adds the noise. The caller has paid for the event. A vector of another length than
    /// was planned is cut or filled with zeros.
    ///
    /// # Errors
    ///
    /// [`NoiseError`], for settings that the plan has checked.
    pub fn release(
        self,
        values: Sensitive<Vec<f64>>,
        source: &Source,
    ) -> Result<Vec<f64>, NoiseError> {
        let Self { budget, sensitivity, dimension, law, .. } = self;
        let values = values.map_inside(|mut values| {
            values.resize(dimension, 0.0);
            values
        });
        match law {
            Law::Euclidean(noise) => {
                perturb::release(values, noise, sensitivity, budget.epsilon.get(), source)
            }
            Law::Laplace(lattice) => Ok(perturb::release_laplace(values, &lattice, source)),
        }
    }
}
