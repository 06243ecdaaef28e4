//! One-shot releases on a public grid.

mod gaussian;
mod l2_laplace;
mod laplace;

pub use gaussian::GaussianLattice;
pub use l2_laplace::L2LaplaceLattice;
pub use laplace::LaplaceLattice;

/// The furthest a value may lie from 0, in cells.
const RANGE: f64 = (1_u64 << 61) as f64;

/// `value` in whole cells of `grid` (a power of two), nearest first, clamped to [`RANGE`].
fn to_cells(value: f64, grid: f64) -> i64 {
    if value.is_finite() { (value / grid).clamp(-RANGE, RANGE).round_ties_even() as i64 } else { 0 }
}

/// Whole cells back to a number.
fn from_cells(cells: i64, grid: f64) -> f64 {
    cells as f64 * grid
}

/// The largest power of two not above `value` (positive, normal).
fn power_of_two_below(value: f64) -> f64 {
    f64::from_bits(value.to_bits() & (0x7ff << 52))
}
