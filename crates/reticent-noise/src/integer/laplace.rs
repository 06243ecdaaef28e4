//! The discrete Laplace `P(k) ∝ e^(-|k|/t)` on the integers, for a whole number `t`.
//!
//! # Sampler
//!
//! `|k| = a·t + j` with `0 <= j < t` has weight `e^(-a)·e^(-j/t)`: draw `j` uniformly and keep it
//! with probability `e^(-j/t)`, draw `a` as a geometric number with ratio `e^(-1)`, add a sign,
//! refuse "minus zero" (Canonne, Kamath, Steinke 2020, Algorithm 2). Every coin is exact.
//!
//! # Guarantee
//!
//! For a whole-number query of l1 sensitivity `D`, adding an independent draw to each coordinate is
//! `D/t`-DP: the ratio of two probabilities is `e^(Σ(|k_j'| - |k_j|)/t)`.

use rand_core::Rng;

use super::bernoulli::{bernoulli_exp_unit, uniform_below};
use crate::NoiseError;

/// The discrete Laplace with whole-number scale `t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscreteLaplace {
    t: u64,
}

impl DiscreteLaplace {
    /// The largest scale: far tails still fit an `i64`.
    pub const LARGEST: u64 = 1 << 50;

    /// `P(k) ∝ e^(-|k|/t)`.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] unless `1 <= t <= 2^50`.
    pub fn new(t: u64) -> Result<Self, NoiseError> {
        if (1..=Self::LARGEST).contains(&t) {
            Ok(Self { t })
        } else {
            Err(NoiseError::out_of_range("t", "between 1 and 2^50", t as f64))
        }
    }

    /// One draw.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        loop {
            let j = uniform_below(self.t, rng);
            if !bernoulli_exp_unit(j, self.t, rng) {
                continue;
            }
            let mut k = 0_u64;
            while bernoulli_exp_unit(1, 1, rng) {
                k += 1;
            }
            let negative = rng.next_u64() >> 63 == 1;
            if negative && k == 0 && j == 0 {
                continue; // zero must not be counted once per sign
            }
            let magnitude = k.saturating_mul(self.t).saturating_add(j).min(i64::MAX as u64);
            return if negative { -(magnitude as i64) } else { magnitude as i64 };
        }
    }
}
