//! A sum over rows made noisy, again and again: the Gaussian mechanism inside iterative methods.
//!
//! A sum that moves by at most `clip` when a row joins or leaves is rounded to a public grid and gets Gaussian noise of
//! standard deviation `noise_multiplier · clip`, the grid's share included ([`reticent_noise::fast`]). Finite precision
//! adds nothing to delta, so `steps` such sums are the event that a sampled Gaussian in clip units describes.

use rayon::prelude::*;
use reticent_data::Sensitive;
use reticent_noise::fast::{FastGaussian, Reserved};
use reticent_noise::{NoiseError, Purpose, Source, Stream};

/// Coordinates that a thread makes noisy at a time. The noise is the same for any cutting.
const CHUNK: usize = 4096;

/// The noise of the sums of one run.
pub(crate) struct NoisySum {
    /// None if nothing is promised.
    law: Option<FastGaussian>,
    stream: Stream,
}

impl NoisySum {
    /// Noise for sums of this many coordinates. `clip` bounds what one row adds, rounding of the sum included. A
    /// multiplier of zero adds nothing: the caller's event then promises nothing.
    ///
    /// # Errors
    ///
    /// [`NoiseError`] for any other setting that is not positive and finite.
    pub(crate) fn new(
        clip: f64,
        noise_multiplier: f64,
        dimension: usize,
        source: &Source,
    ) -> Result<Self, NoiseError> {
        let silent = noise_multiplier == 0.0;
        let law = (!silent).then(|| FastGaussian::new(clip, noise_multiplier, dimension));
        let law = law.transpose()?;
        Ok(Self { law, stream: source.stream(Purpose::Noise) })
    }

    /// The standard deviation that is added.
    pub(crate) fn sigma(&self) -> f64 {
        self.law.map_or(0.0, |law| law.sigma())
    }

    /// Adds noise. The caller's event has paid for what comes out.
    pub(crate) fn release(&mut self, sum: Sensitive<Vec<f64>>) -> Vec<f64> {
        let mut noisy = sum;
        if let Some(law) = &self.law {
            noisy.update(|values| {
                let reserved = Reserved::new(values.len(), &mut self.stream);
                values.par_chunks_mut(CHUNK).enumerate().for_each(|(i, part)| {
                    law.release_chunk(i * CHUNK, part, &reserved);
                });
            });
        }
        noisy.disclose()
    }
}
