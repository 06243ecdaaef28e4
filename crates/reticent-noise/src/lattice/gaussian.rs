//! Gaussian release on a grid: round, then add an exact discrete Gaussian.
//!
//! # Guarantee
//!
//! Let the query have l2 sensitivity `D` in `d` coordinates, `g` be the cell width and `s` the
//! (whole) noise parameter in cells. The release is `g·(round(v/g) + K)`, `K` independent discrete
//! Gaussians, `P(k) ∝ e^(-k²/(2s²))`.
//!
//! 1. *zCDP, exactly:* the rounded query has l2 sensitivity `D + g√d`, so the release is
//!    `(D + g√d)²/(2g²s²)`-zCDP (Canonne, Kamath, Steinke 2020), with nothing to add.
//! 2. *The Gaussian profile, up to total variation:* for every value the released law is within
//!    `τ = d/(16s²)` of a function of the continuous Gaussian mechanism with standard deviation
//!    `σ = g·s` on the rounded query. So if that one is `(epsilon, delta)`-DP, the release is
//!    `(epsilon, delta + (1 + e^epsilon)·τ)`-DP, and composition adds the `τ`s.
//!
//! *Proof of 2.* Rounding `round(v/g) + sN`, `N` continuous, gives `round(v/g) + round(sN)`, a
//! function of the continuous mechanism. It remains to compare, in one coordinate,
//! `Q(k) = ∫_{k-1/2}^{k+1/2} h` and `P(k) = h(k)/H`, where `h` is the density of `N(0, s²)` and
//! `H = Σ h(k)`. By Taylor's formula, `Q(k) - h(k) = ∫_{-1/2}^{1/2} κ(y)·h''(k + y) dy` with
//! `κ(y) = (1/2 - |y|)²/2 <= 1/8` (the first-order term is odd and vanishes), hence
//!
//! ```text
//! Σ|Q(k) - h(k)| <= (1/8)·∫|h''| = E|N² - 1|/(8s²) = 4φ(1)/(8s²) < 0.12099/s².
//! ```
//!
//! By Poisson summation `1 <= H <= 1 + 3e^(-2π²s²)`, so `Σ|h(k) - P(k)| = H - 1` is below
//! `10^-300/s²` for `s >= 2^30`. Half of the sum is the total variation: below
//! `0.0605/s² < 1/(16s²)`; over `d` independent coordinates it adds up. (To leading order it is
//! `0.0202/s²`.) ∎
//!
//! With `s >= 2^40` a coordinate adds less than `5.2·10^-26`.

use super::{ordinary_range, power_of_two_below, release_cells};
use crate::error::positive;
use crate::integer::DiscreteGaussian;
use crate::{NoiseError, Stream};

/// The Gaussian mechanism on a public grid.
///
/// # Example
///
/// ```
/// use reticent_noise::{Purpose, Source, lattice::GaussianLattice};
///
/// let weights = [0.25, -1.5, 3.0];
/// let mechanism = GaussianLattice::new(0.1, 4.0, weights.len())?;
/// assert!(mechanism.sigma() >= 4.0 * (0.1 + mechanism.grid() * 3_f64.sqrt()));
/// let source = Source::from_os()?;
/// let released = mechanism.release(&weights, &mut source.stream(Purpose::Noise));
/// assert!(released.iter().all(|v| (v / mechanism.grid()).fract() == 0.0));
/// # Ok::<(), reticent_noise::NoiseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianLattice {
    grid: f64,
    cells: u64,
    dimension: usize,
    noise: DiscreteGaussian,
}

impl GaussianLattice {
    /// Choose grid and noise from public numbers: l2 sensitivity, noise multiplier, dimension.
    ///
    /// The noise has at least `2^40` cells, and the grid adds at most a part in 1024 to the
    /// sensitivity.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] for a setting that is not positive and finite, for a sensitivity
    /// or noise outside `[1e-200, 1e200]`, and for `noise_multiplier·√dimension` beyond `2^39`.
    pub fn new(
        sensitivity: f64,
        noise_multiplier: f64,
        dimension: usize,
    ) -> Result<Self, NoiseError> {
        positive("sensitivity", sensitivity)?;
        positive("noise_multiplier", noise_multiplier)?;
        positive("dimension", dimension as f64)?;
        let ideal = sensitivity * noise_multiplier;
        ordinary_range("sensitivity", sensitivity)?;
        ordinary_range("sensitivity * noise_multiplier", ideal)?;
        let root = (dimension as f64).sqrt();
        let finest = (noise_multiplier * root * 1024.0).max((1_u64 << 40) as f64);
        let grid = power_of_two_below(ideal / finest);
        // The factor outweighs the rounding of this line; the ceiling makes the parameter whole.
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

    /// The standard deviation actually added to each coordinate, `grid` times a whole number.
    pub fn sigma(&self) -> f64 {
        self.cells as f64 * self.grid
    }

    /// How far the released law may be, in total variation, from a function of the ideal mechanism:
    /// `d/(16s²)`.
    pub fn total_variation(&self) -> f64 {
        let s = self.cells as f64;
        self.dimension as f64 / (16.0 * s * s)
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
