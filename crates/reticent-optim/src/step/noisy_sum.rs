//! A sum over rows made noisy, again and again: the Gaussian mechanism inside iterative methods.
//!
//! A sum that moves by at most `clip` when a row joins or leaves is rounded to a public grid and gets Gaussian noise of
//! standard deviation `noise_multiplier · clip`, the grid's share included ([`reticent_noise::fast`]). Finite precision
//! adds nothing to delta, so `steps` such sums are the event that a sampled Gaussian in clip units describes.

use reticent_data::Sensitive;
use reticent_noise::fast::{Ahead, FastGaussian};
use reticent_noise::{NoiseError, Purpose, Source};

/// The noise of the sums of one run.
pub(crate) struct NoisySum {
    law: Option<Ahead>,
}

impl NoisySum {
    /// Noise for sums of this many coordinates. `clip` bounds what one row adds, rounding of the sum included.
    ///
    /// # Errors
    ///
    /// [`NoiseError`] for a setting that is not positive and finite.
    pub(crate) fn new(
        clip: f64,
        noise_multiplier: f64,
        dimension: usize,
        source: &Source,
    ) -> Result<Self, NoiseError> {
        let law = FastGaussian::new(clip, noise_multiplier, dimension)?;
        Ok(Self { law: Some(Ahead::new(law, source.stream(Purpose::Noise))) })
    }

    /// No noise: nothing is promised for an infinite epsilon, and the event is `NotPrivate`.
    pub(crate) fn without_noise() -> Self {
        Self { law: None }
    }

    /// Adds noise. The caller's event has paid for what comes out.
    pub(crate) fn release(&mut self, sum: Sensitive<Vec<f64>>) -> Vec<f64> {
        let mut noisy = sum;
        if let Some(law) = &mut self.law {
            noisy.update(|values| law.release_in_place(values));
        }
        noisy.disclose()
    }
}
