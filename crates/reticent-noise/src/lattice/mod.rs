//! One-shot releases on a public grid: the default for output and objective perturbation, bounds
//! and quantiles.
//!
//! A value is rounded to the nearest multiple of a cell width `g`, a power of two chosen from
//! public numbers alone; noise that is a whole number of cells is added; the sum is exact. The
//! release is a multiple of `g` whose low bits carry nothing of the value.
//!
//! # The charge for rounding
//!
//! Rounding moves each coordinate by at most `g/2`. If two neighbouring values differ by `D` in a
//! norm, their roundings differ by at most `D + g·‖(1, …, 1)‖`:
//!
//! | norm | sensitivity after rounding |
//! | --- | --- |
//! | l1 | `D + g·d` |
//! | l2 | `D + g·√d` |
//! | l_r | `D + g·d^(1/r)` |
//!
//! The bound is attained in every dimension (values just either side of a rounding boundary), so it
//! cannot be dropped; the constructors add it before they choose the noise.
//!
//! # Which mechanism adds what to delta
//!
//! | mechanism | noise | `total_variation()` |
//! | --- | --- | --- |
//! | [`GaussianLattice`] | exact discrete Gaussian | `d/(16·s²)`, about `d·2^-64` |
//! | [`LaplaceLattice`] | exact discrete Laplace | 0 (pure) |
//! | [`L2LaplaceLattice`] | l2-Laplace, exactly rounded | 0 (pure) |
//! | [`GeneralizedGaussianLattice`] | generalised Gaussian, exactly rounded | 0 |
//!
//! A law within `τ` of a mechanism that is `(epsilon, delta)`-DP, for every input, is
//! `(epsilon, delta + (1 + e^epsilon)·τ)`-DP.

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
#[inline]
pub(crate) fn to_cells(value: f64, grid: f64) -> f64 {
    const TWO52: f64 = (1_u64 << 52) as f64;
    let cells = (value / grid).clamp(f64::MIN, f64::MAX);
    // Nearest, ties to even, without a call: below 2^52 the sum has units for digits, above all
    // numbers are whole.
    let size = cells.abs();
    let whole = if size < TWO52 { (size + TWO52) - TWO52 } else { size };
    if value.is_finite() { whole.copysign(cells) } else { 0.0 }
}

/// The largest power of two not above `value` (positive, normal).
pub(crate) fn power_of_two_below(value: f64) -> f64 {
    f64::from_bits(value.to_bits() & (0x7ff << 52))
}

/// `1/power`, exactly, of a power of two from `2^-1021` to `2^1022`.
pub(crate) fn power_of_two_inverse(power: f64) -> f64 {
    f64::from_bits((2046 << 52) - power.to_bits())
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
pub(crate) fn ordinary_range(name: &'static str, value: f64) -> Result<f64, NoiseError> {
    if (1e-200..=1e200).contains(&value) {
        Ok(value)
    } else {
        Err(NoiseError::out_of_range(name, "between 1e-200 and 1e200", value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_inverted_exactly() {
        for exponent in [-1021, -700, -27, -1, 0, 1, 300, 1022] {
            let power = 2_f64.powi(exponent);
            assert_eq!(power_of_two_inverse(power) * power, 1.0);
        }
    }

    #[test]
    fn cells_are_nearest_exact_and_never_panic() {
        assert_eq!(to_cells(0.7, 0.25), 3.0);
        assert_eq!(to_cells(-0.7, 0.25), -3.0);
        for value in
            [0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999999999994, 1e15 + 0.5, 3e15 + 0.5, 7e15, -9e18]
        {
            assert_eq!(to_cells(value, 1.0), value.round_ties_even(), "{value}");
        }
        assert_eq!(to_cells(f64::NAN, 0.25), 0.0);
        assert_eq!(to_cells(f64::INFINITY, 0.25), 0.0);
        assert_eq!(to_cells(f64::MAX, 2_f64.powi(-600)), f64::MAX);
        assert_eq!(to_cells(1e300, 2_f64.powi(600)), (1e300 / 2_f64.powi(600)).round());
        assert_eq!(power_of_two_below(0.3), 0.25);
        assert_eq!(power_of_two_below(4.0), 4.0);
        assert_eq!(release_cells(f64::MAX, -3, 1e-3), (1_u128 << 100) as f64 * 1e-3);
        assert!(release_cells(-0.0, 0, 1.0).is_sign_positive());
    }
}
