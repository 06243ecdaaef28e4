//! Angles from a stored matrix of frequencies: a product of two matrices, tile by tile.
//!
//! Each angle is one chain of fused multiplications and additions in the order of the inputs, so it
//! does not depend on how many rows or frequencies are taken together.

use reticent_problem::feature_map::{Construction, MapLaw};

use super::draw::Draws;

/// Frequencies of a tile: two vectors.
pub(super) const TILE: usize = 16;
/// Rows of a tile: with its frequencies, twelve vectors of sums that stay in registers.
pub(super) const ROWS: usize = 6;
/// Inputs after which the next tile's turn comes: this much of a panel stays in the nearest cache.
const DEPTH: usize = 256;
/// Independent frequencies drawn from one stream.
const BLOCK: usize = 256;

/// The frequencies in panels of [`TILE`]: for each input, the tile's coordinates side by side.
pub(super) struct Matrix {
    /// Coordinates of a frequency.
    width: usize,
    panels: Vec<[f32; TILE]>,
}

impl Matrix {
    /// Draws the frequencies of a law. (Without inputs they have one coordinate, which is zero.)
    pub(super) fn draw(law: &MapLaw, inputs: usize) -> Self {
        let (count, width) = (law.frequencies(), inputs.max(1));
        let mut panels = vec![[0.0; TILE]; count.div_ceil(TILE) * width];
        let mut place = |j: usize, frequency: &[f64]| {
            let panel = &mut panels[j / TILE * width..];
            for (coordinates, w) in panel.iter_mut().zip(frequency) {
                coordinates[j % TILE] = (w / law.bandwidth) as f32;
            }
        };
        if law.construction == Construction::Orthogonal {
            for block in 0..count.div_ceil(width) {
                let mut draws = Draws::new(law.seed, block as u64);
                let directions = orthogonal(width, &mut draws);
                for (i, direction) in directions.chunks_exact(width).enumerate() {
                    let radius = draws.radius(law.kernel, width);
                    let frequency: Vec<f64> = direction.iter().map(|q| radius * q).collect();
                    if block * width + i < count {
                        place(block * width + i, &frequency);
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
        Self { width, panels }
    }

    /// A coordinate of a frequency.
    pub(super) fn coordinate(&self, frequency: usize, input: usize) -> f32 {
        self.panels[frequency / TILE * self.width + input][frequency % TILE]
    }

    /// Hands over the angles of as many tiles of rows as `sums` has room for, panel after panel;
    /// those beyond the last frequency are zero. For each tile, `x` holds the rows' values of each
    /// input side by side.
    #[inline(always)]
    pub(super) fn angles(
        &self,
        x: &[[f32; ROWS]],
        sums: &mut [[[f32; TILE]; ROWS]],
        mut to: impl FnMut(usize, &mut [[[f32; TILE]; ROWS]]),
    ) {
        let roomy = roomy();
        for (p, panel) in self.panels.chunks_exact(self.width).enumerate() {
            sums.fill([[0.0; TILE]; ROWS]);
            for first in (0..self.width).step_by(DEPTH) {
                let end = self.width.min(first + DEPTH);
                let panel = &panel[first..end];
                let mut tiles = x.chunks_exact(self.width).map(|x| &x[first..end]);
                let (pairs, rest) = sums.as_chunks_mut::<2>();
                // With thirty-two registers two tiles: one alone has too few sums to keep the
                // multipliers busy.
                for pair in pairs {
                    match (tiles.next(), tiles.next()) {
                        (Some(a), Some(b)) if roomy => *pair = two_tiles(*pair, a, b, panel),
                        (Some(a), Some(b)) => {
                            *pair = [tile(pair[0], a, panel), tile(pair[1], b, panel)];
                        }
                        _ => {}
                    }
                }
                for (sums, x) in rest.iter_mut().zip(tiles) {
                    *sums = tile(*sums, x, panel);
                }
            }
            to(p, sums);
        }
    }
}

#[inline(always)]
fn tile(
    mut sums: [[f32; TILE]; ROWS],
    x: &[[f32; ROWS]],
    panel: &[[f32; TILE]],
) -> [[f32; TILE]; ROWS] {
    for (x, w) in x.iter().zip(panel) {
        for r in 0..ROWS {
            for l in 0..TILE {
                sums[r][l] = x[r].mul_add(w[l], sums[r][l]);
            }
        }
    }
    sums
}

/// [`tile`] for two.
#[inline(always)]
fn two_tiles(
    mut sums: [[[f32; TILE]; ROWS]; 2],
    a: &[[f32; ROWS]],
    b: &[[f32; ROWS]],
    panel: &[[f32; TILE]],
) -> [[[f32; TILE]; ROWS]; 2] {
    for ((a, b), w) in a.iter().zip(b).zip(panel) {
        for r in 0..ROWS {
            for l in 0..TILE {
                sums[0][r][l] = a[r].mul_add(w[l], sums[0][r][l]);
            }
        }
        for r in 0..ROWS {
            for l in 0..TILE {
                sums[1][r][l] = b[r].mul_add(w[l], sums[1][r][l]);
            }
        }
    }
    sums
}

/// Whether the machine has thirty-two vector registers, of a tile's width.
#[inline(always)]
fn roomy() -> bool {
    #[cfg(target_arch = "x86_64")]
    return pulp::x86::V4::try_new().is_some();
    #[cfg(not(target_arch = "x86_64"))]
    false
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Machines with few registers, and those that are not x86, take one tile at a time.
    #[test]
    fn two_tiles_at_once_have_the_bits_of_one_at_a_time() {
        let number = |i: usize| ((i * 7919) % 1009) as f32 / 317.0 - 1.5;
        let rows = |shift: usize| -> Vec<[f32; ROWS]> {
            (0..33).map(|i| std::array::from_fn(|r| number(shift + i * ROWS + r))).collect()
        };
        let panel: Vec<[f32; TILE]> =
            (0..33).map(|i| std::array::from_fn(|l| number(i * TILE + l + 5))).collect();
        let (a, b) = (rows(1), rows(400));
        let start = [[[0.25; TILE]; ROWS]; 2];
        let at_once = two_tiles(start, &a, &b, &panel);
        let one_each = [tile(start[0], &a, &panel), tile(start[1], &b, &panel)];
        let bits = |sums: [[[f32; TILE]; ROWS]; 2]| sums.as_flattened().as_flattened().to_vec();
        let same =
            bits(at_once).iter().zip(bits(one_each)).all(|(x, y)| x.to_bits() == y.to_bits());
        assert!(same && bits(at_once).iter().all(|sum| sum.is_finite() && *sum != 0.25));
    }
}
