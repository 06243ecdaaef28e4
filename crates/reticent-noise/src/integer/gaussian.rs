//! The discrete Gaussian `P(k) ∝ e^(-k²/(2s²))` on the integers, for a whole number `s`.
//!
//! # Sampler
//!
//! Karney's decomposition (*Sampling Exactly from the Normal Distribution*, 2016, Algorithm D),
//! which for a whole `s` needs whole numbers only. Write `|k| = a·s + j` with `0 <= j < s` and
//! `x = j/s`. Then
//!
//! ```text
//! e^(-k²/(2s²)) = e^(-(a + x)²/2) = e^(-a²/2) · (e^(-x))^a · e^(-x²/2).
//! ```
//!
//! Draw `a` with weight `e^(-a²/2)` (a geometric number with ratio `e^(-1/2)`, kept with
//! probability `e^(-a(a-1)/2)`), `j` uniformly, and a sign; keep the result with the remaining
//! probability, made of coins `e^(-j/s)` and `e^(-j²/(2s²))`; refuse "minus zero". Every coin is
//! exact (see `bernoulli`), no floating-point number occurs, and the number of proposals does not
//! depend on `s`.
//!
//! # Facts used elsewhere
//!
//! - The variance is at most `s²`, and differs from it by less than `100·s⁴·e^(-2π²s²)`.
//! - With l2 sensitivity `D` (in the same units) and independent coordinates it satisfies
//!   `D²/(2s²)`-zCDP exactly, like the continuous Gaussian (Canonne, Kamath, Steinke 2020, Theorem
//!   4).

use rand_core::Rng;

use super::bernoulli::{bernoulli, bernoulli_exp_unit, uniform_below};
use crate::NoiseError;

/// The discrete Gaussian with whole-number parameter `s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscreteGaussian {
    s: u64,
}

impl DiscreteGaussian {
    /// The largest parameter: far tails still fit an `i64`.
    pub const LARGEST: u64 = 1 << 50;

    /// `P(k) ∝ e^(-k²/(2s²))`.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] unless `1 <= s <= 2^50`.
    pub fn new(s: u64) -> Result<Self, NoiseError> {
        if (1..=Self::LARGEST).contains(&s) {
            Ok(Self { s })
        } else {
            Err(NoiseError::out_of_range("s", "between 1 and 2^50", s as f64))
        }
    }

    /// One draw.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        loop {
            let Some(k) = whole_part(rng) else { continue };
            let j = uniform_below(self.s, rng);
            let negative = rng.next_u64() >> 63 == 1;
            if negative && k == 0 && j == 0 {
                continue; // zero must not be counted once per sign
            }
            // e^(-(k + x)²/2) / e^(-k²/2) = (e^(-x))^k · e^(-x²/2) at x = j/s.
            if (0..k).all(|_| bernoulli_exp_unit(j, self.s, rng)) && half_square(j, self.s, rng) {
                let magnitude = k.saturating_mul(self.s).saturating_add(j).min(i64::MAX as u64);
                return if negative { -(magnitude as i64) } else { magnitude as i64 };
            }
        }
    }
}

/// `k >= 0` with probability proportional to `e^(-k²/2)`, or a refused attempt.
fn whole_part<R: Rng + ?Sized>(rng: &mut R) -> Option<u64> {
    let mut k = 0_u64;
    while bernoulli_exp_unit(1, 2, rng) {
        k += 1;
    }
    // e^(-k/2) so far; e^(-k(k-1)/2) is still due.
    (0..k.saturating_mul(k.saturating_sub(1))).all(|_| bernoulli_exp_unit(1, 2, rng)).then_some(k)
}

/// `true` with probability `e^(-x²/2)` at `x = j/s <= 1`.
fn half_square<R: Rng + ?Sized>(j: u64, s: u64, rng: &mut R) -> bool {
    let mut place = 1_u64;
    while bernoulli(1, 2 * place, rng) && bernoulli(j, s, rng) && bernoulli(j, s, rng) {
        place += 1;
    }
    place % 2 == 1
}
