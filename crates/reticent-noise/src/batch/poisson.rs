//! The Poisson law, exactly and in constant time.

use super::LARGEST_COUNT;
use super::log_concave::{LogConcave, inverse_upper, sample};
use super::probability::log_poisson;
use crate::ball::Ball;
use crate::error::positive;
use crate::{NoiseError, Stream};

/// The number of events of mean `mean`: how often a tuned run is repeated.
///
/// # Guarantee
///
/// The odds are exactly Poisson for the `f64` number `mean` (see `log_concave`); about six
/// proposals a draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poisson {
    mean: f64,
    t: u64,
}

impl Poisson {
    /// Mean `mean`.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] unless `0 < mean <= 10^12`.
    pub fn new(mean: f64) -> Result<Self, NoiseError> {
        positive("mean", mean)?;
        if mean > 1e12 {
            return Err(NoiseError::out_of_range("mean", "at most 10^12", mean));
        }
        let mut law = Self { mean, t: 1 };
        let (log, error) = log_poisson(law.mode(), mean);
        law.t = inverse_upper(log, error);
        Ok(law)
    }

    /// One draw.
    pub fn sample(&self, stream: &mut Stream) -> u64 {
        sample(self, self.t, stream)
    }
}

impl LogConcave for Poisson {
    fn support(&self) -> (u64, u64) {
        (0, LARGEST_COUNT) // beyond lies less than e^(-10^15) for any mean allowed
    }

    fn mode(&self) -> u64 {
        self.mean as u64
    }

    fn log_ratio(&self, value: u64) -> (f64, f64) {
        let (here, top) = (log_poisson(value, self.mean), log_poisson(self.mode(), self.mean));
        (here.0 - top.0, here.1 + top.1)
    }

    fn step(&self, value: u64) -> ([u64; 2], [u64; 2]) {
        ([1, 1], [value + 1, 1])
    }

    fn step_factor(&self, digits: usize) -> Option<Ball> {
        Some(Ball::float(self.mean, digits))
    }
}
