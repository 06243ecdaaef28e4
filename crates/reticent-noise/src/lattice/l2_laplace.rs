//! l2-Laplace release on a grid: density `e^(-epsilon·‖z‖₂/sensitivity)`, rounded.

use rand_core::Rng as _;

use super::{power_of_two_below, release_cells, to_cells};
use crate::error::positive;
use crate::{NoiseError, Stream};

/// The l2-Laplace mechanism on a public grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct L2LaplaceLattice {
    grid: f64,
    scale: f64,
}

impl L2LaplaceLattice {
    /// Choose the grid and the noise for a query of l2 sensitivity `sensitivity` in `dimension` coordinates.
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
        let root = (dimension as f64).sqrt();
        let finest = (root / epsilon * 1024.0).max((1_u64 << 30) as f64);
        let grid = power_of_two_below(ideal / finest);
        let scale = (sensitivity + grid * root) / epsilon * (1.0 + 1e-15);
        Ok(Self { grid, scale })
    }

    /// The width of a cell, a power of two.
    pub fn grid(&self) -> f64 {
        self.grid
    }

    /// The scale `b` of the noise density `e^(-‖z‖₂/b)`.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Zero: the guarantee is pure.
    pub fn total_variation(&self) -> f64 {
        0.0
    }

    /// Round to the grid, add noise.
    pub fn release(&self, values: &[f64], stream: &mut Stream) -> Vec<f64> {
        let radius = (0..=values.len()).map(|_| normal(stream).powi(2)).sum::<f64>().sqrt();
        values
            .iter()
            .map(|&v| {
                let noise = to_cells(self.scale * radius * normal(stream), self.grid) as i64;
                release_cells(v, noise, self.grid)
            })
            .collect()
    }
}

fn normal(stream: &mut Stream) -> f64 {
    let u = (stream.next_u64() as f64 + 0.5) / 2_f64.powi(64);
    let v = (stream.next_u64() as f64 + 0.5) / 2_f64.powi(64);
    (-2.0 * u.ln()).sqrt() * (core::f64::consts::TAU * v).cos()
}
