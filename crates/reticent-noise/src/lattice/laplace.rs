//! Laplace release on a grid: round, then add an exact discrete Laplace.

use super::{power_of_two_below, release_cells};
use crate::error::positive;
use crate::integer::DiscreteLaplace;
use crate::{NoiseError, Stream};

/// The Laplace mechanism on a public grid, for a query of known l1 sensitivity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaplaceLattice {
    grid: f64,
    cells: u64,
    noise: DiscreteLaplace,
}

impl LaplaceLattice {
    /// Choose the grid and the noise for a query of l1 sensitivity `sensitivity` in `dimension` coordinates.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] for settings no grid can honour.
    pub fn new(sensitivity: f64, epsilon: f64, dimension: usize) -> Result<Self, NoiseError> {
        positive("sensitivity", sensitivity)?;
        positive("epsilon", epsilon)?;
        positive("dimension", dimension as f64)?;
        let ideal = sensitivity / epsilon;
        if !(1e-200..=1e200).contains(&ideal) || !(1e-200..=1e200).contains(&sensitivity) {
            return Err(NoiseError::out_of_range(
                "sensitivity / epsilon",
                "between 1e-200 and 1e200",
                ideal,
            ));
        }
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
        Ok(Self { grid, cells, noise: DiscreteLaplace::new(cells)? })
    }

    /// The width of a cell, a power of two.
    pub fn grid(&self) -> f64 {
        self.grid
    }

    /// The scale of the noise added to each coordinate.
    pub fn scale(&self) -> f64 {
        self.cells as f64 * self.grid
    }

    /// Zero: the guarantee is pure.
    pub fn total_variation(&self) -> f64 {
        0.0
    }

    /// Round to the grid, add noise.
    pub fn release(&self, values: &[f64], stream: &mut Stream) -> Vec<f64> {
        values.iter().map(|&v| release_cells(v, self.noise.sample(stream), self.grid)).collect()
    }
}
