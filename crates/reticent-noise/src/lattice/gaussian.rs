//! Gaussian release on a grid: round, then add an exact discrete Gaussian.

use super::{power_of_two_below, release_cells};
use crate::error::positive;
use crate::integer::DiscreteGaussian;
use crate::{NoiseError, Stream};

/// The Gaussian mechanism on a public grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianLattice {
    grid: f64,
    cells: u64,
    dimension: usize,
    noise: DiscreteGaussian,
}

impl GaussianLattice {
    /// Choose the grid and the noise for a query of l2 sensitivity `sensitivity` in `dimension` coordinates.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] for settings no grid can honour.
    pub fn new(
        sensitivity: f64,
        noise_multiplier: f64,
        dimension: usize,
    ) -> Result<Self, NoiseError> {
        positive("sensitivity", sensitivity)?;
        positive("noise_multiplier", noise_multiplier)?;
        positive("dimension", dimension as f64)?;
        let ideal = sensitivity * noise_multiplier;
        if !(1e-200..=1e200).contains(&ideal) || !(1e-200..=1e200).contains(&sensitivity) {
            return Err(NoiseError::out_of_range(
                "sensitivity * noise_multiplier",
                "between 1e-200 and 1e200",
                ideal,
            ));
        }
        let root = (dimension as f64).sqrt();
        let finest = (noise_multiplier * root * 1024.0).max((1_u64 << 30) as f64);
        let grid = power_of_two_below(ideal / finest);
        let cells = (noise_multiplier * (sensitivity / grid + root) * (1.0 + 1e-15)).ceil();
        if cells > DiscreteGaussian::LARGEST as f64 {
            return Err(NoiseError::out_of_range(
                "noise_multiplier * sqrt(dimension)",
                "below 2^39",
                noise_multiplier * root,
            ));
        }
        let cells = cells as u64;
        Ok(Self { grid, cells, dimension, noise: DiscreteGaussian::new(cells)? })
    }

    /// The width of a cell, a power of two.
    pub fn grid(&self) -> f64 {
        self.grid
    }

    /// The standard deviation actually added to each coordinate.
    pub fn sigma(&self) -> f64 {
        self.cells as f64 * self.grid
    }

    /// How far the released law may be, in total variation, from a post-processing of the ideal mechanism.
    pub fn total_variation(&self) -> f64 {
        self.dimension as f64 / (24.0 * (self.cells as f64) * (self.cells as f64))
    }

    /// Round to the grid, add noise.
    pub fn release(&self, values: &[f64], stream: &mut Stream) -> Vec<f64> {
        values.iter().map(|&v| release_cells(v, self.noise.sample(stream), self.grid)).collect()
    }
}
