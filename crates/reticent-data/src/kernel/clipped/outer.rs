//! Residuals times rows: the sum of a slab's clipped gradients.

use super::real::{BLOCK, PANEL, Real};
use super::tiles::{Line, ROWS, Tiles};
use super::wide::Wide;

/// Residuals that are multiplied together, at most.
const GROUP: usize = 6;

/// Rows that are added up in single precision, where that is allowed: a block.
pub(super) const CHAIN: usize = BLOCK;

/// How the residuals of a block lie: groups of [`Groups::size`], each with the block's rows together.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Groups {
    /// Residuals of a group.
    size: usize,
    /// How many groups.
    count: usize,
}

impl Groups {
    /// For this many residuals: as even as possible.
    pub(super) fn new(outputs: usize) -> Self {
        let size = outputs.div_ceil(outputs.div_ceil(GROUP));
        Self { size, count: outputs.div_ceil(size) }
    }

    /// Numbers that hold the residuals of a block.
    pub(super) fn block_len(self) -> usize {
        self.count * self.size * BLOCK
    }

    /// Where residual `k` of row `i` lies in its block.
    #[inline(always)]
    pub(super) fn place(self, i: usize, k: usize) -> usize {
        ((k / self.size) * BLOCK + i) * self.size + k % self.size
    }

    /// The residuals of row `i`, group by group, each with the place of its first.
    #[inline(always)]
    pub(super) fn parts<T>(self, residual: &[T], i: usize) -> impl Iterator<Item = (usize, &[T])> {
        residual
            .chunks(self.size)
            .enumerate()
            .map(move |(g, part)| ((g * BLOCK + i) * self.size, part))
    }

    /// Lines that hold the sums of a panel of columns.
    pub(super) fn panel_len(self) -> usize {
        self.count * self.size
    }

    /// Adds `Σ_i s_i ⊗ x_i` over all blocks to the sums of panel `p`. A block gives its rows and their residuals.
    #[inline(always)]
    pub(super) fn add<'a, T: Real + 'a, W: Wide>(
        self,
        wide: W,
        blocks: &(impl Iterator<Item = (&'a Tiles<T>, &'a [f64])> + Clone),
        p: usize,
        sums: &mut [Line<f64>],
    ) {
        match self.size {
            6 => add_groups::<T, W, 6>(wide, blocks, p, sums),
            5 => add_groups::<T, W, 5>(wide, blocks, p, sums),
            4 => add_groups::<T, W, 4>(wide, blocks, p, sums),
            3 => add_groups::<T, W, 3>(wide, blocks, p, sums),
            2 => add_groups::<T, W, 2>(wide, blocks, p, sums),
            _ => add_groups::<T, W, 1>(wide, blocks, p, sums),
        }
    }

    /// [`Groups::add`] with products and short sums in single precision: [`CHAIN`] rows are added up before their sum is added
    /// in double precision.
    #[inline(always)]
    pub(super) fn add_single<'a, T: Real + 'a, W: Wide>(
        self,
        wide: W,
        blocks: &(impl Iterator<Item = (&'a Tiles<T>, &'a [f32])> + Clone),
        p: usize,
        sums: &mut [Line<f64>],
    ) {
        match self.size {
            6 => add_groups_single::<T, W, 6>(wide, blocks, p, sums),
            5 => add_groups_single::<T, W, 5>(wide, blocks, p, sums),
            4 => add_groups_single::<T, W, 4>(wide, blocks, p, sums),
            3 => add_groups_single::<T, W, 3>(wide, blocks, p, sums),
            2 => add_groups_single::<T, W, 2>(wide, blocks, p, sums),
            _ => add_groups_single::<T, W, 1>(wide, blocks, p, sums),
        }
    }

    /// Writes sum `k` of all panels as one row.
    pub(super) fn unpack(self, sums: &[Line<f64>], k: usize, into: &mut [f64]) {
        for (p, into) in into.chunks_mut(PANEL).enumerate() {
            into.copy_from_slice(&sums[p * self.panel_len() + k][..into.len()]);
        }
    }
}

#[inline(always)]
fn add_groups<'a, T: Real + 'a, W: Wide, const G: usize>(
    wide: W,
    blocks: &(impl Iterator<Item = (&'a Tiles<T>, &'a [f64])> + Clone),
    p: usize,
    sums: &mut [Line<f64>],
) {
    let sums = sums.as_chunks_mut::<G>().0;
    for (g, sums) in sums.iter_mut().enumerate() {
        for half in 0..2 {
            let mut tile = [[wide.double(0.0); 2]; G];
            for (x, s) in blocks.clone() {
                let Some(s) = s.as_chunks::<G>().0.as_chunks::<BLOCK>().0.get(g) else { break };
                for (i, s) in s.iter().enumerate() {
                    let x = x.line(i, p).as_chunks::<4>().0;
                    let x = [T::widen(wide, &x[2 * half]), T::widen(wide, &x[2 * half + 1])];
                    for k in 0..G {
                        let s = wide.double(s[k]);
                        tile[k][0] = wide.fuse_double(x[0], s, tile[k][0]);
                        tile[k][1] = wide.fuse_double(x[1], s, tile[k][1]);
                    }
                }
            }
            for k in 0..G {
                for l in 0..2 {
                    let tile = wide.store_double(tile[k][l]);
                    for (sum, t) in
                        sums[k].as_chunks_mut::<4>().0[2 * half + l].iter_mut().zip(tile)
                    {
                        *sum += t;
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn add_groups_single<'a, T: Real + 'a, W: Wide, const G: usize>(
    wide: W,
    blocks: &(impl Iterator<Item = (&'a Tiles<T>, &'a [f32])> + Clone),
    p: usize,
    sums: &mut [Line<f64>],
) {
    let sums = sums.as_chunks_mut::<G>().0;
    for (g, sums) in sums.iter_mut().enumerate() {
        for (x, s) in blocks.clone() {
            let Some(s) = s.as_chunks::<G>().0.as_chunks::<BLOCK>().0.get(g) else { break };
            let mut tile = [[wide.single(0.0); 2]; G];
            for (x, s) in x.columns(p).zip(s.as_chunks::<ROWS>().0) {
                for r in 0..ROWS {
                    let x = T::singles(wide, &x[r]);
                    for k in 0..G {
                        let s = wide.single(s[r][k]);
                        tile[k][0] = wide.fuse_single(x[0], s, tile[k][0]);
                        tile[k][1] = wide.fuse_single(x[1], s, tile[k][1]);
                    }
                }
            }
            for k in 0..G {
                let ([a, b], [c, d]) = (wide.halves(tile[k][0]), wide.halves(tile[k][1]));
                for (sum, more) in sums[k].as_chunks_mut::<4>().0.iter_mut().zip([a, b, c, d]) {
                    *sum = wide.store_double(wide.add_double(wide.load_double(sum), more));
                }
            }
        }
    }
}
