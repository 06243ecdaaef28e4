//! One-shot releases on a public grid.

mod gaussian;
mod generalized_gaussian;
mod l2_laplace;
mod laplace;

pub use gaussian::GaussianLattice;
pub use generalized_gaussian::GeneralizedGaussianLattice;
pub use l2_laplace::L2LaplaceLattice;
pub use laplace::LaplaceLattice;

use crate::NoiseError;

/// `value` rounded to whole cells of `grid` (a power of two). Not finite counts as 0.
///
/// Exact: dividing by a power of two only shifts the exponent (a quotient too small for that rounds
/// to 0 all the same), and a quotient that overflows is held at the largest `f64`.
pub(crate) fn to_cells(value: f64, grid: f64) -> f64 {
    if value.is_finite() { (value / grid).clamp(f64::MIN, f64::MAX).round_ties_even() } else { 0.0 }
}

/// The largest power of two not above `value` (positive, normal).
pub(crate) fn power_of_two_below(value: f64) -> f64 {
    f64::from_bits(value.to_bits() & (0x7ff << 52))
}

/// `(value rounded to cells + noise)·grid`, summed exactly and rounded once.
///
/// Values are held within `2^100` cells, a public range; holding is 1-Lipschitz, so it does not add
/// to the sensitivity. The final rounding to `f64` is a function of the exact sum.
fn release_cells(value: f64, noise: i64, grid: f64) -> f64 {
    const RANGE: f64 = (1_u128 << 100) as f64;
    let cells = to_cells(value, grid).clamp(-RANGE, RANGE) as i128;
    (cells + i128::from(noise)) as f64 * grid
}

/// `value`, provided that grids built on it stay far from the ends of the `f64` range.
pub(crate) fn usual_range(name: &'static str, value: f64) -> Result<f64, NoiseError> {
    if (1e-200..=1e200).contains(&value) {
        Ok(value)
    } else {
        Err(NoiseError::out_of_range(name, "between 1e-200 and 1e200", value))
    }
}
