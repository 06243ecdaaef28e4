//! Laplace release on a grid: round, then add an exact discrete Laplace. For bounds, counts and
//! quantiles.
//!
//! # Guarantee
//!
//! A query of l1 sensitivity `D` in `d` coordinates, rounded to multiples of `g`, moves by at most
//! `D/g + d` cells in l1. Adding independent discrete Laplace numbers of scale
//! `t >= (D/g + d)/epsilon` cells is `epsilon`-DP, purely: see [`crate::integer::DiscreteLaplace`].

use super::{ordinary_range, power_of_two_below, release_cells};
use crate::error::positive;
use crate::integer::DiscreteLaplace;
use crate::{NoiseError, Stream};

/// The Laplace mechanism on a public grid, for a query of known l1 sensitivity.
///
/// # Example
///
/// ```
/// use reticent_noise::{Purpose, Source, lattice::LaplaceLattice};
///
/// let mechanism = LaplaceLattice::new(1.0, 0.5, 1)?;
/// let source = Source::from_os()?;
/// let count = mechanism.release(&[812.0], &mut source.stream(Purpose::Noise));
/// assert_eq!((count[0] / mechanism.grid()).fract(), 0.0);
/// # Ok::<(), reticent_noise::NoiseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaplaceLattice {
    grid: f64,
    cells: u64,
    dimension: usize,
    noise: DiscreteLaplace,
}

impl LaplaceLattice {
    /// Choose grid and noise from public numbers: l1 sensitivity, epsilon, dimension.
    ///
    /// The grid adds at most a part in 1024 to the sensitivity.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] for a setting that is not positive and finite, for a sensitivity
    /// or noise outside `[1e-200, 1e200]`, and for `dimension/epsilon` beyond `2^39`.
    pub fn new(sensitivity: f64, epsilon: f64, dimension: usize) -> Result<Self, NoiseError> {
        positive("sensitivity", sensitivity)?;
        positive("epsilon", epsilon)?;
        positive("dimension", dimension as f64)?;
        ordinary_range("sensitivity", sensitivity)?;
        let ideal = ordinary_range("sensitivity / epsilon", sensitivity / epsilon)?;
        let finest = (dimension as f64 / epsilon * 1024.0).max((1_u64 << 30) as f64);
        let grid = power_of_two_below(ideal / finest);
        let cells = ((sensitivity / grid + dimension as f64) / epsilon * (1.0 + 1e-15)).ceil();
        if cells > DiscreteLaplace::LARGEST as f64 {
            return Err(NoiseError::out_of_range(
                "dimension / epsilon",
                "below 2^39",
                dimension as f64 / epsilon,
            ));
        }
        let cells = cells as u64;
        Ok(Self { grid, cells, dimension, noise: DiscreteLaplace::new(cells)? })
    }

    /// The width of a cell, a power of two.
    pub fn grid(&self) -> f64 {
        self.grid
    }

    /// The scale of the noise added to each coordinate.
    pub fn scale(&self) -> f64 {
        self.cells as f64 * self.grid
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
        let noisy = |(i, &v)| {
            if i < self.dimension {
                release_cells(v, self.noise.sample(stream), self.grid)
            } else {
                0.0
            }
        };
        values.iter().enumerate().map(noisy).collect()
    }
}
