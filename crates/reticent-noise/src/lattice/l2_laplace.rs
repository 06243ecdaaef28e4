//! l2-Laplace release on a grid: noise of density `∝ e^(-‖z‖₂/b)` in `R^d`, exactly rounded.
//!
//! # The ideal noise
//!
//! If `M ∈ R^(d+1)` and `N ∈ R^d` are independent standard normal vectors, then `z = b·‖M‖₂·N` has
//! density proportional to `e^(-‖z‖₂/b)`: given `V = ‖M‖²`, a chi-square number with `d + 1`
//! degrees of freedom, `z` is `N(0, b²V·I)`, and
//!
//! ```text
//! ∫ v^(-d/2)·e^(-‖z‖²/(2b²v)) · v^((d-1)/2)·e^(-v/2) dv = ∫ v^(-1/2)·e^(-‖z‖²/(2b²v) - v/2) dv ∝ e^(-‖z‖/b).
//! ```
//!
//! So a radius with a Gamma law and a division by a norm are not needed, and `V` is `-2 ln` of a
//! product of uniform numbers (plus one squared normal number when `d` is even).
//!
//! # Guarantee
//!
//! A query of l2 sensitivity `D` is rounded to multiples of the cell width `g`, which raises its
//! sensitivity to at most `D + g√d` (each of two neighbouring values moves by at most `g√d/2`). The
//! ideal mechanism on the rounded query is `epsilon`-DP for `b = (D + g√d)/epsilon`, by the
//! triangle inequality. Released is `round(v/g) + round(z/g)`, which equals
//! `round(round(v/g) + z/g)`: a function of the ideal mechanism's output. The rounding of `z/g` is
//! certified: evaluated in `f64` with an error bound, and with as many digits of the same random
//! numbers as it takes when the bound leaves it open. No event of small probability is cut off, so
//! **the release is purely `epsilon`-DP**, delta 0.

use super::{ordinary_range, power_of_two_below, release_cells};
use crate::ball::Ball;
use crate::error::positive;
use crate::normal::{Norm, approximate, exact};
use crate::uniform::{settle, working_digits};
use crate::{NoiseError, Stream};

/// The l2-Laplace mechanism on a public grid, purely differentially private.
///
/// # Example
///
/// ```
/// use reticent_noise::{Purpose, Source, lattice::L2LaplaceLattice};
///
/// let weights = [0.25, -1.5, 3.0];
/// let mechanism = L2LaplaceLattice::new(0.1, 1.0, weights.len())?;
/// let source = Source::from_os()?;
/// let released = mechanism.release(&weights, &mut source.stream(Purpose::Noise));
/// assert!(released.iter().all(|v| (v / mechanism.grid()).fract() == 0.0));
/// assert_eq!(mechanism.total_variation(), 0.0);
/// # Ok::<(), reticent_noise::NoiseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct L2LaplaceLattice {
    grid: f64,
    scale: f64,
    dimension: usize,
}

impl L2LaplaceLattice {
    /// Choose grid and noise from public numbers: l2 sensitivity, epsilon, dimension.
    ///
    /// The grid adds a part in `2^14` to the sensitivity at most, unless `dimension/epsilon`
    /// exceeds `2^34`.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] for a setting that is not positive and finite, or a scale outside
    /// `[1e-200, 1e200]`.
    pub fn new(sensitivity: f64, epsilon: f64, dimension: usize) -> Result<Self, NoiseError> {
        positive("sensitivity", sensitivity)?;
        positive("epsilon", epsilon)?;
        positive("dimension", dimension as f64)?;
        let ideal = ordinary_range("sensitivity / epsilon", sensitivity / epsilon)?;
        ordinary_range("sensitivity", sensitivity)?;
        let root = (dimension as f64).sqrt();
        // A coordinate of the noise is of size √d·b. Fine against it (2^-32), cheap in sensitivity
        // (2^-14), but never so fine (2^-48) that cells could not be counted.
        let size = root * ideal;
        let cheap = (sensitivity / root / 16384.0).max(size / (1_u64 << 48) as f64);
        let grid = power_of_two_below(cheap.min(size / (1_u64 << 32) as f64));
        let scale = (sensitivity + grid * root) / epsilon * (1.0 + 1e-15);
        Ok(Self { grid, scale, dimension })
    }

    /// The width of a cell, a power of two.
    pub fn grid(&self) -> f64 {
        self.grid
    }

    /// The scale `b` of the noise density `e^(-‖z‖₂/b)`; at least
    /// `(sensitivity + grid·√dimension)/epsilon`.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The contribution of finite precision to delta: zero, the guarantee is pure.
    pub fn total_variation(&self) -> f64 {
        0.0
    }

    /// Round `values` to the grid and add noise.
    ///
    /// A value that is not finite counts as 0. Coordinates beyond the declared dimension were not
    /// paid for and come back as 0.
    pub fn release(&self, values: &[f64], stream: &mut Stream) -> Vec<f64> {
        let noise = self.cells(stream, true);
        let paid = values.iter().zip(noise).map(|(&v, n)| release_cells(v, n, self.grid));
        paid.chain(core::iter::repeat(0.0)).take(values.len()).collect()
    }

    /// `round(z/g)` for each coordinate; with `f64` where it suffices, if `quickly`.
    fn cells(&self, stream: &mut Stream, quickly: bool) -> Vec<i64> {
        let d = self.dimension;
        let radius = Norm::draw(d + 1, stream);
        let c = self.scale / self.grid;
        let (root, root_error) = radius.approximate();
        let mut digits: Option<(usize, Ball)> = None; // the last root asked for, kept
        let mut cells = Vec::with_capacity(d + 1);
        while cells.len() < d {
            let (u, w) = (stream.uniform(), stream.uniform());
            let (pair, error) = approximate(&u, &w);
            let quick = |n: f64| {
                let z = c * root * n;
                // Twice the bound, which leaves room for the rounding of this line and the next
                // two.
                let reach = 2.0 * c * (root * error + (n.abs() + error) * root_error);
                let (low, high) = ((z - reach).round_ties_even(), (z + reach).round_ties_even());
                (quickly && low == high && high.abs() < 2_f64.powi(62)).then_some(low as i64)
            };
            let both = quick(pair.0).zip(quick(pair.1)).unwrap_or_else(|| {
                settle(|further| {
                    if digits.as_ref().is_none_or(|(known, _)| *known != further) {
                        digits = Some((further, radius.exact(stream.key(), further)?));
                    }
                    let (_, root) = digits.as_ref()?;
                    let (a, b) = exact(stream.key(), &u, &w, further)?;
                    let scaled = root.mul(&Ball::float(c, working_digits(further)));
                    Some((scaled.mul(&a).round()?, scaled.mul(&b).round()?))
                })
            });
            cells.extend([both.0, both.1]);
        }
        cells.truncate(d);
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Source};

    #[test]
    fn every_cell_is_the_ideal_one_rounded() {
        // Quick and exact evaluation of the same random numbers; the last settings leave many
        // roundings open in `f64`.
        for (epsilon, d) in [(1.0, 1), (1.0, 2), (0.3, 3), (2.0, 500), (1e-5, 40), (1e-7, 41)] {
            let mechanism = L2LaplaceLattice::new(1.0, epsilon, d).unwrap();
            for seed in 0..10 {
                let stream = || Source::seeded_not_private(seed).stream(Purpose::Noise);
                let quick = mechanism.cells(&mut stream(), true);
                assert_eq!(quick, mechanism.cells(&mut stream(), false), "{epsilon} {d}");
            }
        }
    }
}
