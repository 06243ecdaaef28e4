//! A sum over rows made noisy, again and again: the Gaussian mechanism inside iterative methods.
//!
//! A sum that moves by at most `clip` when a row joins or leaves is rounded to a public grid and
//! gets Gaussian noise of standard deviation `noise_multiplier · clip`, the grid's share included
//! ([`reticent_noise::fast`]). Finite precision adds nothing to delta, so `steps` such sums are the
//! event that a sampled Gaussian in clip units describes.

use rayon::prelude::*;
use reticent_data::threads::shared;
use reticent_data::{Mechanism, Sensitive};
use reticent_noise::fast::{Ahead, FastGaussian, Reserved};
use reticent_noise::{NoiseError, Purpose, Source, Stream};

use super::descend::{CHUNK, Step};

/// The noise of the sums of one run.
pub(crate) enum NoisySum {
    /// Nothing is promised.
    Silent,
    /// Few coordinates: noise is drawn ahead for many sums at once.
    Short(FastGaussian, Box<Ahead>),
    /// Many coordinates: all threads draw.
    Long(FastGaussian, Box<Stream>),
}

impl NoisySum {
    /// Noise for sums of this many coordinates. `clip` bounds what one row adds, rounding of the
    /// sum included.
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
        let stream = source.stream(Purpose::Noise);
        Ok(if dimension <= CHUNK {
            Self::Short(law, Box::new(Ahead::new(law, stream)))
        } else {
            Self::Long(law, Box::new(stream))
        })
    }

    /// No noise: nothing is promised for an infinite epsilon, and the event is `NotPrivate`.
    pub(crate) fn without_noise() -> Self {
        Self::Silent
    }

    /// The standard deviation of the noise in each coordinate.
    pub(crate) fn sigma(&self) -> f64 {
        match self {
            Self::Silent => 0.0,
            Self::Short(law, _) | Self::Long(law, _) => law.sigma(),
        }
    }

    /// The grid on which the noise lies; zero without noise.
    pub(crate) fn grid(&self) -> f64 {
        match self {
            Self::Silent => 0.0,
            Self::Short(law, _) | Self::Long(law, _) => law.grid(),
        }
    }

    /// The noise alone, on its grid, for a sum that stays sealed.
    pub(crate) fn draw(&mut self, into: &mut [f64]) {
        into.fill(0.0);
        self.add_to(into);
    }

    /// Adds noise. The caller's event has paid for what comes out.
    pub(crate) fn release(&mut self, mut sum: Sensitive<Vec<f64>>) -> Vec<f64> {
        sum.release(self)
    }

    /// Adds noise, and takes a step against the noisy sum, for which the caller's event has paid:
    /// each number is moved while it is near. Gives the squared length of `w` too; the old `w` is
    /// added to `into` where that is not empty.
    ///
    /// The sum stays where it is: for few weights, waiting for what was handed over in memory costs
    /// as much as a row.
    #[inline]
    pub(crate) fn descend(
        &mut self,
        sum: &mut Sensitive<Vec<f64>>,
        step: Step,
        w: &mut [f64],
        into: &mut [f64],
    ) -> f64 {
        sum.release(Descent { noise: self, step, w, into })
    }

    fn add_to(&mut self, values: &mut [f64]) {
        match self {
            Self::Silent => {}
            Self::Short(_, ahead) => ahead.release_in_place(values),
            Self::Long(law, stream) => {
                let reserved = Reserved::new(values.len(), stream);
                let noisy = |(i, part): (usize, &mut [f64])| {
                    law.release_chunk(i * CHUNK, part, &reserved);
                };
                shared(|| values.par_chunks_mut(CHUNK).enumerate().for_each(noisy));
            }
        }
    }
}

impl Mechanism<Vec<f64>> for &mut NoisySum {
    type Output = Vec<f64>;

    fn release(self, values: &mut Vec<f64>) -> Vec<f64> {
        self.add_to(values);
        std::mem::take(values)
    }
}

/// A step against the noisy sum, taken while its numbers are near.
struct Descent<'a> {
    noise: &'a mut NoisySum,
    step: Step,
    w: &'a mut [f64],
    into: &'a mut [f64],
}

impl Mechanism<Vec<f64>> for Descent<'_> {
    /// The squared length of `w`.
    type Output = f64;

    #[inline(always)]
    fn release(self, values: &mut Vec<f64>) -> f64 {
        let Self { noise, step, w, into } = self;
        match noise {
            NoisySum::Short(_, ahead) if into.is_empty() => {
                ahead.release_to(values, step.mover::<false>(w, into))
            }
            NoisySum::Short(_, ahead) => ahead.release_to(values, step.mover::<true>(w, into)),
            NoisySum::Silent => step.take(w, values, into, |_, _| {}),
            NoisySum::Long(law, stream) => {
                let reserved = Reserved::new(values.len(), stream);
                step.take(w, values, into, |i, part| law.release_chunk(i, part, &reserved))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_against_the_noisy_sum_is_noise_and_then_a_step() {
        for len in [1, 17, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 1, 3 * CHUNK - 5] {
            let noise =
                || NoisySum::new(1.0, 2.0, len, &Source::seeded_not_private(5)).expect("positive");
            let values: Vec<f64> = (0..len).map(|i| (i as f64).sin()).collect();
            let (mut together, mut apart) = (noise(), noise());
            let step = Step::new(0.3, 0.5, 0.1);
            let (mut w, mut v) = (vec![0.25; len], vec![0.25; len]);
            let mut sum = Sensitive::new(values.clone());
            // Twice: the second sum gets noise of its own.
            for _ in 0..2 {
                together.descend(&mut sum, step, &mut w, &mut []);
                let mut noisy = apart.release(Sensitive::new(values.clone()));
                let far = noisy.iter().zip(&values).filter(|(a, b)| *a != *b).count();
                assert_eq!(far, len, "a number without noise");
                step.take(&mut v, &mut noisy, &mut [], |_, _| {});
                sum = Sensitive::new(values.clone());
            }
            assert_eq!(w, v, "{len}");
        }
    }
}
