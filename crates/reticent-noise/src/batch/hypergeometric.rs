//! The hypergeometric law, exactly and in constant time.

use super::countable;
use super::log_concave::{LogConcave, inverse_upper, ln_factorial, sample};
use crate::ball::Ball;
use crate::{NoiseError, Stream};

/// How many of `size` rows drawn without replacement from `n` fall among `marked` ones: how a fixed-size batch splits over
/// partitions.
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
        let (ways, error) = law.log_ways(law.mode);
        let ((a, x), (b, y), (c, z)) =
            (ln_factorial(n), ln_factorial(size), ln_factorial(n - size));
        let error = error + x + y + z + 1e-15 * a;
        law.t = inverse_upper(ways - (a - b - c), error);
        Ok(law)
    }

    /// One draw.
    pub fn sample(&self, stream: &mut Stream) -> u64 {
        let (least, largest) = self.support();
        if least == largest { least } else { sample(self, self.t, stream) }
    }

    /// `ln C(marked, k)·C(n - marked, size - k)`.
    fn log_ways(&self, k: u64) -> (f64, f64) {
        let rest = self.n - self.marked;
        let terms = [
            (1.0, self.marked),
            (-1.0, k),
            (-1.0, self.marked - k),
            (1.0, rest),
            (-1.0, self.size - k),
            (-1.0, rest - (self.size - k)),
        ];
        terms.iter().fold((0.0, 0.0), |(sum, error), &(sign, n)| {
            let (value, bound) = ln_factorial(n);
            (sum + sign * value, error + bound + 1e-15 * value)
        })
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
        let ((a, x), (b, y)) = (self.log_ways(value), self.log_ways(self.mode));
        (a - b, x + y)
    }

    fn step(&self, value: u64) -> ([u64; 2], [u64; 2]) {
        let left_out = self.n - self.marked + value + 1 - self.size;
        ([self.marked - value, self.size - value], [value + 1, left_out])
    }

    fn step_factor(&self, digits: usize) -> Option<Ball> {
        Some(Ball::integer(1, digits))
    }
}
