//! A sum over rows made noisy, again and again: the Gaussian mechanism inside iterative methods.
//!
//! A sum that moves by at most `clip` when a row joins or leaves is rounded to a public grid and gets Gaussian noise of
//! standard deviation `noise_multiplier · clip`, the grid's share included ([`reticent_noise::fast`]). Finite precision
//! adds nothing to delta, so `steps` such sums are the event that a sampled Gaussian in clip units describes.

use reticent_data::Sensitive;
use reticent_noise::fast::FastGaussian;
use reticent_noise::{NoiseError, Purpose, Source, Stream};

/// The noise of the sums of one run.
pub(crate) struct NoisySum {
    law: FastGaussian,
    stream: Stream,
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
        Ok(Self { law, stream: source.stream(Purpose::Noise) })
    }

    /// Adds noise. The caller's event has paid for what comes out.
    pub(crate) fn release(&mut self, sum: Sensitive<Vec<f64>>) -> Vec<f64> {
        let mut noisy = sum;
        noisy.update(|values| self.law.release_in_place(values, &mut self.stream));
        noisy.disclose()
    }
}
