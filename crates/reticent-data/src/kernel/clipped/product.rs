//! Rows times weights: the margins of a block of rows.
//!
//! A few weight vectors are multiplied with four rows at a time, product by product ([`Packed::dots`]): twelve sums in registers for
//! seven loads. Many are taken across: one column of many weight vectors fills two registers, and is multiplied with a number of
//! each of six rows ([`Packed::across`]), so that nothing is left to be added up at the end.

use super::real::{BLOCK, PANEL, Panel, Real};
use super::wide::Wide;

/// Weight vectors that are multiplied together, row by row.
const GROUP: usize = 3;

/// Vectors of weights that are multiplied together across.
const VECTORS: usize = 2;

/// Rows that are multiplied together along.
const ROWS: usize = 4;

/// Rows that are multiplied together across: with these the sums, a column and a number fill the registers and no more.
const ROWS_ACROSS: usize = 6;

/// Rows that are left of a block then.
const REST: usize = BLOCK % ROWS_ACROSS;

/// Panels of columns that are taken across before the next group of rows: their weights stay in the nearest cache.
const DEEP: usize = 16;

/// Weight vectors as the product wants them.
#[derive(Default)]
pub(super) struct Packed<T> {
    outputs: usize,
    panels: usize,
    /// Vector after vector, in panels; empty if they are taken across.
    along: Vec<[T; PANEL]>,
    /// Groups of vectors, column by column; empty if they are taken along.
    across: Vec<T>,
}

impl<T: Real> Packed<T> {
    /// Weight vectors of a group that is taken across.
    const WIDTH: usize = VECTORS * T::LANES;

    /// Takes over `outputs` weight vectors of `columns` entries: `at(k, j)` is entry `j` of vector `k`.
    pub(super) fn set(&mut self, outputs: usize, columns: usize, at: impl Fn(usize, usize) -> f64) {
        self.outputs = outputs;
        self.panels = columns.div_ceil(PANEL);
        let len = self.panels * PANEL;
        let groups = outputs.div_ceil(Self::WIDTH);
        // Places that hold no weight are zero from the start and never written.
        if 4 * outputs >= 3 * groups * Self::WIDTH {
            self.along.clear();
            if self.across.len() != groups * len * Self::WIDTH {
                self.across = vec![T::ZERO; groups * len * Self::WIDTH];
            }
            for (g, group) in self.across.chunks_exact_mut(len * Self::WIDTH).enumerate() {
                let first = g * Self::WIDTH;
                let vectors = Self::WIDTH.min(outputs - first);
                for start in (0..columns).step_by(PANEL) {
                    for k in 0..vectors {
                        for j in start..columns.min(start + PANEL) {
                            group[j * Self::WIDTH + k] = T::narrow(at(first + k, j));
                        }
                    }
                }
            }
        } else {
            self.across.clear();
            if self.along.len() != outputs * self.panels {
                self.along = vec![[T::ZERO; PANEL]; outputs * self.panels];
            }
            for (k, panels) in self.along.chunks_exact_mut(self.panels).enumerate() {
                for (j, value) in panels.as_flattened_mut()[..columns].iter_mut().enumerate() {
                    *value = T::narrow(at(k, j));
                }
            }
        }
    }

    /// `out[i·outputs + k] = ⟨x_i, w_k⟩` for the rows of a block, in the precision of the features.
    #[inline(always)]
    pub(super) fn product<W: Wide>(&self, wide: W, x: &[Panel<T>], out: &mut [T]) {
        if self.across.is_empty() {
            self.dots(wide, x, out);
        } else {
            self.across(wide, x, out);
        }
    }

    #[inline(always)]
    fn across<W: Wide>(&self, wide: W, x: &[Panel<T>], out: &mut [T]) {
        let width = Self::WIDTH;
        let mut sums = [T::ZERO; BLOCK * VECTORS * 8];
        let sums = &mut sums[..BLOCK * width];
        for (g, weights) in self.across.chunks_exact(self.panels * PANEL * width).enumerate() {
            sums.fill(T::ZERO);
            for (x, weights) in x.chunks(DEEP).zip(weights.chunks(DEEP * PANEL * width)) {
                for (r, sums) in sums.chunks_mut(ROWS_ACROSS * width).enumerate() {
                    let row = ROWS_ACROSS * r;
                    if sums.len() == ROWS_ACROSS * width {
                        add_across::<T, W, ROWS_ACROSS>(wide, x, row, weights, sums);
                    } else {
                        add_across::<T, W, REST>(wide, x, row, weights, sums);
                    }
                }
            }
            let first = g * width;
            let len = width.min(self.outputs - first);
            for (sums, out) in sums.chunks_exact(width).zip(out.chunks_exact_mut(self.outputs)) {
                out[first..first + len].copy_from_slice(&sums[..len]);
            }
        }
    }

    #[inline(always)]
    fn dots<W: Wide>(&self, wide: W, x: &[Panel<T>], out: &mut [T]) {
        let Self { outputs, panels, along, .. } = self;
        for row in (0..BLOCK).step_by(ROWS) {
            let mut k = 0;
            while k < *outputs {
                // As even as possible: 10 is 3 + 3 + 2 + 2, so that no group is left with one vector.
                let groups_left = (outputs - k).div_ceil(GROUP);
                let size = (outputs - k).div_ceil(groups_left);
                let w = |c: usize| &along[(k + c) * panels..(k + c + 1) * panels];
                match size {
                    3 => tile(wide, x, row, [w(0), w(1), w(2)], k, *outputs, out),
                    2 => tile(wide, x, row, [w(0), w(1)], k, *outputs, out),
                    _ => tile(wide, x, row, [w(0)], k, *outputs, out),
                }
                k += size;
            }
        }
    }
}

/// Adds the products of `R` rows from `row` on with a group of weight vectors to `sums`.
#[inline(always)]
fn add_across<T: Real, W: Wide, const R: usize>(
    wide: W,
    x: &[Panel<T>],
    row: usize,
    weights: &[T],
    sums: &mut [T],
) {
    let width = VECTORS * T::LANES;
    let mut tile = [[T::zeros(wide); VECTORS]; R];
    for r in 0..R {
        for v in 0..VECTORS {
            tile[r][v] = T::load(wide, &sums[r * width + v * T::LANES..]);
        }
    }
    for (x, weights) in x.iter().zip(weights.chunks_exact(PANEL * width)) {
        let Some(x) = x[row..].first_chunk::<R>() else { break };
        for (c, weights) in weights.chunks_exact(width).enumerate() {
            let mut vectors = [T::zeros(wide); VECTORS];
            for v in 0..VECTORS {
                vectors[v] = T::load(wide, &weights[v * T::LANES..]);
            }
            for r in 0..R {
                for v in 0..VECTORS {
                    tile[r][v] = T::fuse_one(wide, x[r][c % PANEL], vectors[v], tile[r][v]);
                }
            }
        }
    }
    for r in 0..R {
        for v in 0..VECTORS {
            T::store(wide, tile[r][v], &mut sums[r * width + v * T::LANES..]);
        }
    }
}

/// Writes the products of rows `row..row + 4` with `C` weight vectors, the first of which is vector `k`.
#[inline(always)]
fn tile<T: Real, W: Wide, const C: usize>(
    wide: W,
    x: &[Panel<T>],
    row: usize,
    w: [&[[T; PANEL]]; C],
    k: usize,
    outputs: usize,
    out: &mut [T],
) {
    let mut sums = [[T::zeros(wide); ROWS]; C];
    for (p, x) in x.iter().enumerate() {
        let Some(x) = x[row..].first_chunk::<ROWS>() else { break };
        let mut first = 0;
        while first < PANEL {
            // In this order three weight vectors and one row are live beside the sums: sixteen registers.
            for r in 0..ROWS {
                for c in 0..C {
                    sums[c][r] = T::fuse(wide, first, &x[r], &w[c][p], sums[c][r]);
                }
            }
            first += T::LANES;
        }
    }
    for c in 0..C {
        let totals = T::totals(wide, sums[c]);
        for r in 0..ROWS {
            out[(row + r) * outputs + k + c] = totals[r];
        }
    }
}
