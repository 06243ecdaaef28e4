//! Which rows join a batch, and in which order: exact samplers, fast for large tables.
//!
//! Privacy amplification by sampling is proved for exact inclusion odds, so these samplers are as
//! exact as the noise: every decision is either made in integers or certified (in `f64` with an
//! error bound, with more digits of the same random numbers where the bound leaves it open).

mod binomial;
mod geometric;
mod hypergeometric;
mod keyed;
mod log_concave;
mod poisson;
mod probability;
mod subset;
mod subsets;

pub use binomial::Binomial;
pub use geometric::{Geometric, poisson_batch};
pub use hypergeometric::Hypergeometric;
pub use keyed::{Draw, SampleKey, SampleRate};
pub use poisson::Poisson;
pub use subset::{permutation, shuffle, uniform_subset};
pub use subsets::Subsets;

use crate::NoiseError;

/// Counts up to here are exact in every formula of this module.
const LARGEST_COUNT: u64 = 1 << 50;

/// `count`, provided that it is at most `2^50`.
fn countable(name: &'static str, count: u64) -> Result<u64, NoiseError> {
    if count <= LARGEST_COUNT {
        Ok(count)
    } else {
        Err(NoiseError::out_of_range(name, "at most 2^50", count as f64))
    }
}

/// `rate`, provided that it is a probability.
fn chance(name: &'static str, rate: f64) -> Result<f64, NoiseError> {
    if (0.0..=1.0).contains(&rate) {
        Ok(rate)
    } else {
        Err(NoiseError::out_of_range(name, "between 0 and 1", rate))
    }
}
