//! The hypergeometric law, exactly and in constant time.

use super::countable;
use super::log_concave::{LogConcave, inverse_upper, sample};
use super::probability::log_binomial;
use crate::ball::Ball;
use crate::{NoiseError, Stream};

/// How many of `size` rows drawn without replacement from `n` fall among `marked` ones: how a
/// fixed-size batch splits over partitions.
///
/// # Guarantee
///
/// The odds are exactly hypergeometric (see `log_concave`); about six proposals a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hypergeometric {
    n: u64,
    marked: u64,
    size: u64,
    mode: u64,
    t: u64,
}

impl Hypergeometric {
    /// `size` of `n` rows, `marked` of which count.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] unless `n <= 2^50`, `marked <= n` and `size <= n`.
    pub fn new(n: u64, marked: u64, size: u64) -> Result<Self, NoiseError> {
        countable("n", n)?;
        if marked > n {
            return Err(NoiseError::out_of_range("marked", "at most n", marked as f64));
        }
        if size > n {
            return Err(NoiseError::out_of_range("size", "at most n", size as f64));
        }
        let mode = u128::from(size + 1) * u128::from(marked + 1) / u128::from(n + 2);
        let mut law = Self { n, marked, size, mode: 0, t: 1 };
        let (least, largest) = law.support();
        law.mode = (mode as u64).clamp(least, largest);
        if size > 0 && size < n {
            let (part, all) = (law.log_parts(law.mode), log_binomial(size, n, law.rate()));
            law.t = inverse_upper(part.0 - all.0, part.1 + all.1);
        }
        Ok(law)
    }

    /// One draw.
    pub fn sample(&self, stream: &mut Stream) -> u64 {
        let (least, largest) = self.support();
        if least == largest { least } else { sample(self, self.t, stream) }
    }

    /// Any rate serves: it cancels. This one puts both parts near their modes.
    fn rate(&self) -> f64 {
        self.size as f64 / self.n as f64
    }

    /// `ln` of `C(marked, k)·C(n - marked, size - k)`, times the same power of rates for every `k`.
    ///
    /// With binomial probabilities `b`, `P(k) = b(k; marked)·b(size - k; n - marked)/b(size; n)`
    /// for any common rate.
    fn log_parts(&self, k: u64) -> (f64, f64) {
        let marked = log_binomial(k, self.marked, self.rate());
        let rest = log_binomial(self.size - k, self.n - self.marked, self.rate());
        (marked.0 + rest.0, marked.1 + rest.1)
    }
}

impl LogConcave for Hypergeometric {
    fn support(&self) -> (u64, u64) {
        ((self.size + self.marked).saturating_sub(self.n), self.size.min(self.marked))
    }

    fn mode(&self) -> u64 {
        self.mode
    }

    fn log_ratio(&self, value: u64) -> (f64, f64) {
        let (here, top) = (self.log_parts(value), self.log_parts(self.mode));
        (here.0 - top.0, here.1 + top.1)
    }

    fn step(&self, value: u64) -> ([u64; 2], [u64; 2]) {
        let left_out = self.n - self.marked + value + 1 - self.size;
        ([self.marked - value, self.size - value], [value + 1, left_out])
    }

    fn step_factor(&self, digits: usize) -> Option<Ball> {
        Some(Ball::integer(1, digits))
    }
}
