//! The binomial law, exactly and in constant time.

use super::log_concave::{LogConcave, inverse_upper, sample};
use super::probability::log_binomial;
use super::{chance, countable};
use crate::ball::Ball;
use crate::{NoiseError, Stream};

/// How many of `n` independent trials of probability `q` succeed: the size of a Poisson batch.
///
/// # Guarantee
///
/// The odds are exactly binomial for the `f64` number `q` (see `log_concave`); about six proposals
/// a draw, for every `n`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binomial {
    n: u64,
    q: f64,
    mode: u64,
    t: u64,
}

impl Binomial {
    /// `n` trials of probability `q`.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] unless `n <= 2^50` and `0 <= q <= 1`.
    pub fn new(n: u64, q: f64) -> Result<Self, NoiseError> {
        countable("n", n)?;
        chance("q", q)?;
        let mode = floor_product(n + 1, q).min(n);
        let mut law = Self { n, q, mode, t: 1 };
        if q > 0.0 && q < 1.0 {
            let (log, error) = log_binomial(mode, n, q);
            law.t = inverse_upper(log, error);
        }
        Ok(law)
    }

    /// One draw.
    pub fn sample(&self, stream: &mut Stream) -> u64 {
        if self.q <= 0.0 {
            0
        } else if self.q >= 1.0 {
            self.n
        } else {
            sample(self, self.t, stream)
        }
    }
}

impl LogConcave for Binomial {
    fn support(&self) -> (u64, u64) {
        (0, self.n)
    }

    fn mode(&self) -> u64 {
        self.mode
    }

    fn log_ratio(&self, value: u64) -> (f64, f64) {
        let (here, top) =
            (log_binomial(value, self.n, self.q), log_binomial(self.mode, self.n, self.q));
        (here.0 - top.0, here.1 + top.1)
    }

    fn step(&self, value: u64) -> ([u64; 2], [u64; 2]) {
        ([self.n - value, 1], [value + 1, 1])
    }

    fn step_factor(&self, digits: usize) -> Option<Ball> {
        let q = Ball::float(self.q, digits);
        q.div(&Ball::integer(1, digits).sub(&q))
    }
}

/// `⌊count·q⌋`, exactly; `q` in `[0, 1]`.
pub(super) fn floor_product(count: u64, q: f64) -> u64 {
    let bits = q.to_bits();
    let exponent = (bits >> 52) as i32 & 0x7ff;
    let significand = (bits & ((1 << 52) - 1)) | if exponent == 0 { 0 } else { 1 << 52 };
    let shift = 1075 - exponent.max(1); // q = significand/2^shift, shift >= 52
    let product = u128::from(count) * u128::from(significand);
    if shift >= 128 { 0 } else { (product >> shift) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_where_the_probability_is_largest() {
        for (n, q) in [(1, 0.5), (10, 0.3), (10, 0.999), (1000, 1e-9), (7, 0.125), (999, 0.25)] {
            let law = Binomial::new(n, q).unwrap();
            let best = (0..=n).map(|k| law.log_ratio(k).0).fold(f64::MIN, f64::max);
            assert!(best < 1e-10, "n = {n}, q = {q}");
        }
        assert_eq!(floor_product(3, 1.0), 3);
        assert_eq!(floor_product(u64::MAX, 0.5), u64::MAX / 2);
        assert_eq!(floor_product(10, 5e-324), 0);
    }
}
