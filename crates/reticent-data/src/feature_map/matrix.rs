//! Angles from a stored matrix of frequencies: a product of two matrices, tile by tile.
//!
//! Each angle is one chain of fused multiplications and additions in the order of the inputs, so it does not depend on
//! how many rows or frequencies are taken together.

use reticent_problem::feature_map::{Construction, MapLaw};

use super::Real;
use super::draw::Draws;

/// Frequencies of a tile.
const TILE: usize = 16;
/// Rows of a tile.
const ROWS: usize = 4;
/// Independent frequencies drawn from one stream.
const BLOCK: usize = 256;

/// The frequencies in panels of [`TILE`]: for each input, the tile's coordinates side by side.
pub(super) struct Matrix<T> {
    inputs: usize,
    panels: Vec<T>,
}

impl<T: Real> Matrix<T> {
    /// Draws the frequencies of a law.
    pub(super) fn draw(law: &MapLaw, inputs: usize) -> Self {
        let count = law.frequencies();
        let mut panels = vec![T::narrow(0.0); count.div_ceil(TILE) * TILE * inputs];
        let mut place = |j: usize, frequency: &[f64]| {
            let panel = &mut panels[j / TILE * TILE * inputs..];
            for (k, w) in frequency.iter().enumerate() {
                panel[k * TILE + j % TILE] = T::narrow(w / law.bandwidth);
            }
        };
        if law.construction == Construction::Orthogonal {
            for block in 0..count.div_ceil(inputs) {
                let mut draws = Draws::new(law.seed, block as u64);
                let directions = orthogonal(inputs, &mut draws);
                for (i, direction) in directions.chunks_exact(inputs).enumerate() {
                    let radius = draws.radius(law.kernel, inputs);
                    let frequency: Vec<f64> = direction.iter().map(|q| radius * q).collect();
                    if block * inputs + i < count {
                        place(block * inputs + i, &frequency);
                    }
                }
            }
        } else {
            let mut frequency = vec![0.0; inputs];
            for block in 0..count.div_ceil(BLOCK) {
                let mut draws = Draws::new(law.seed, block as u64);
                for j in block * BLOCK..count.min((block + 1) * BLOCK) {
                    draws.frequency(law.kernel, &mut frequency);
                    place(j, &frequency);
                }
            }
        }
        Self { inputs, panels }
    }

    /// The angles of `rows` rows of inputs, `stride` for each row in `out`; those beyond the last frequency are zero.
    #[inline(always)]
    pub(super) fn angles(&self, x: &[T], rows: usize, out: &mut [T], stride: usize) {
        for (p, panel) in self.panels.chunks_exact(TILE * self.inputs.max(1)).enumerate() {
            let mut row = 0;
            while row + ROWS <= rows {
                let tile = self.tile::<ROWS>(&x[row * self.inputs..], panel);
                for (r, angles) in tile.iter().enumerate() {
                    out[(row + r) * stride + p * TILE..][..TILE].copy_from_slice(angles);
                }
                row += ROWS;
            }
            while row < rows {
                let [angles] = self.tile::<1>(&x[row * self.inputs..], panel);
                out[row * stride + p * TILE..][..TILE].copy_from_slice(&angles);
                row += 1;
            }
        }
    }

    #[inline(always)]
    fn tile<const R: usize>(&self, x: &[T], panel: &[T]) -> [[T; TILE]; R] {
        let mut sums = [[T::narrow(0.0); TILE]; R];
        let mut rows = [&x[..0]; R];
        for r in 0..R {
            rows[r] = &x[r * self.inputs..][..self.inputs];
        }
        for (k, w) in panel.chunks_exact(TILE).enumerate() {
            for r in 0..R {
                let x = rows[r][k];
                for l in 0..TILE {
                    sums[r][l] = x.fused(w[l], sums[r][l]);
                }
            }
        }
        sums
    }
}

/// The angles of a padded row: how many a row takes in the output of [`Matrix::angles`].
pub(super) fn padded(frequencies: usize) -> usize {
    frequencies.div_ceil(TILE) * TILE
}

/// A Haar-distributed orthogonal matrix, row after row: Gram and Schmidt, twice, on normal rows.
fn orthogonal(size: usize, draws: &mut Draws) -> Vec<f64> {
    let mut rows: Vec<f64> = (0..size * size).map(|_| draws.normal()).collect();
    for i in 0..size {
        let (done, rest) = rows.split_at_mut(i * size);
        let row = &mut rest[..size];
        for _ in 0..2 {
            for other in done.chunks_exact(size) {
                let dot: f64 = other.iter().zip(row.iter()).map(|(a, b)| a * b).sum();
                for (r, o) in row.iter_mut().zip(other) {
                    *r -= dot * o;
                }
            }
        }
        let norm = row.iter().map(|r| r * r).sum::<f64>().sqrt();
        for r in row {
            *r /= norm;
        }
    }
    rows
}
