//! Residuals times rows: the sum of a slab's clipped gradients.

use super::real::{BLOCK, PANEL, Real};
use super::tiles::{Line, ROWS, Tiles};
use super::wide::Wide;

/// Residuals that are multiplied together, at most.
const GROUP: usize = 6;

/// Rows that are added up one by one in single precision, where that is allowed: a block.
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

    /// Puts the residuals of row `i` where they lie in their block.
    #[inline(always)]
    pub(super) fn spread<T: Copy>(self, residual: &[T], i: usize, into: &mut [T]) {
        match self.size {
            6 => spread::<T, 6>(residual, i, into),
            5 => spread::<T, 5>(residual, i, into),
            4 => spread::<T, 4>(residual, i, into),
            3 => spread::<T, 3>(residual, i, into),
            2 => spread::<T, 2>(residual, i, into),
            _ => spread::<T, 1>(residual, i, into),
        }
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

    /// [`Groups::add`] with products and short sums in single precision, for the panel `p` or for two: the sums of [`CHAIN`] rows are
    /// added up by twos before they are added in double precision.
    #[inline(always)]
    pub(super) fn add_single<'a, T: Real + 'a, W: Wide>(
        self,
        wide: W,
        blocks: &(impl Iterator<Item = (&'a Tiles<T>, &'a [f32])> + Clone),
        p: usize,
        sums: &mut [Line<f64>],
    ) {
        let len = self.panel_len();
        match self.size {
            6 => add_groups_single::<T, W, 6>(wide, blocks, p, len, sums),
            5 => add_groups_single::<T, W, 5>(wide, blocks, p, len, sums),
            4 => add_groups_single::<T, W, 4>(wide, blocks, p, len, sums),
            3 => add_groups_single::<T, W, 3>(wide, blocks, p, len, sums),
            2 => add_groups_single::<T, W, 2>(wide, blocks, p, len, sums),
            _ => add_groups_single::<T, W, 1>(wide, blocks, p, len, sums),
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
fn spread<T: Copy, const G: usize>(residual: &[T], i: usize, into: &mut [T]) {
    let into = into.as_chunks_mut::<G>().0;
    let (groups, rest) = residual.as_chunks::<G>();
    for (into, group) in into[i..].iter_mut().step_by(BLOCK).zip(groups) {
        *into = *group;
    }
    if let Some(into) = into.get_mut(groups.len() * BLOCK + i) {
        into[..rest.len()].copy_from_slice(rest);
    }
}

#[inline(always)]
fn add_groups<'a, T: Real + 'a, W: Wide, const G: usize>(
    wide: W,
    blocks: &(impl Iterator<Item = (&'a Tiles<T>, &'a [f64])> + Clone),
    p: usize,
    sums: &mut [Line<f64>],
) {
    for (g, sums) in sums.as_chunks_mut::<G>().0.iter_mut().enumerate() {
        if W::ROOMY {
            add_group::<T, W, G, 2, 1>(wide, blocks, p, g, sums);
        } else {
            add_group::<T, W, G, 2, 2>(wide, blocks, p, g, sums);
        }
    }
}

/// Adds the sums of a group, the columns in `PARTS` parts of `V` vectors.
#[inline(always)]
fn add_group<'a, T: Real + 'a, W: Wide, const G: usize, const PARTS: usize, const V: usize>(
    wide: W,
    blocks: &(impl Iterator<Item = (&'a Tiles<T>, &'a [f64])> + Clone),
    p: usize,
    g: usize,
    sums: &mut [Line<f64>; G],
) {
    let lanes = W::SINGLES / 2;
    for part in 0..PARTS {
        let first = part * V * lanes;
        let mut tile = [[wide.double(0.0); V]; G];
        for (x, s) in blocks.clone() {
            let Some(s) = s.as_chunks::<G>().0.as_chunks::<BLOCK>().0.get(g) else { break };
            for (i, s) in s.iter().enumerate() {
                let x = x.line(i, p);
                let mut vectors = [wide.double(0.0); V];
                for v in 0..V {
                    vectors[v] = T::widen(wide, &x[first + v * lanes..]);
                }
                for k in 0..G {
                    let s = wide.double(s[k]);
                    for v in 0..V {
                        tile[k][v] = wide.fuse_double(vectors[v], s, tile[k][v]);
                    }
                }
            }
        }
        for k in 0..G {
            for v in 0..V {
                let sum = &mut sums[k][first + v * lanes..];
                let total = wide.add_double(wide.load_double(sum), tile[k][v]);
                wide.store_double(total, sum);
            }
        }
    }
}

#[inline(always)]
fn add_groups_single<'a, T: Real + 'a, W: Wide, const G: usize>(
    wide: W,
    blocks: &(impl Iterator<Item = (&'a Tiles<T>, &'a [f32])> + Clone),
    p: usize,
    panel_len: usize,
    sums: &mut [Line<f64>],
) {
    for first in (0..panel_len).step_by(G) {
        match sums.len() / panel_len {
            // One panel alone has too few sums to keep the multipliers busy.
            2 if W::ROOMY => {
                add_single::<T, W, G, 2, 1>(wide, blocks, p, panel_len, first, sums);
            }
            _ if W::ROOMY => {
                add_single::<T, W, G, 1, 1>(wide, blocks, p, panel_len, first, sums);
            }
            panels => {
                for q in 0..panels {
                    let sums = &mut sums[q * panel_len..(q + 1) * panel_len];
                    add_single::<T, W, G, 1, 2>(wide, blocks, p + q, panel_len, first, sums);
                }
            }
        }
    }
}

/// Adds the sums of a group, the `first` of which is given, for `P` panels of `V` vectors.
#[inline(always)]
fn add_single<'a, T: Real + 'a, W: Wide, const G: usize, const P: usize, const V: usize>(
    wide: W,
    blocks: &(impl Iterator<Item = (&'a Tiles<T>, &'a [f32])> + Clone),
    p: usize,
    panel_len: usize,
    first: usize,
    sums: &mut [Line<f64>],
) {
    let mut blocks = blocks.clone();
    while let Some((x, s)) = blocks.next() {
        let mut tile = tile::<T, W, G, P, V>(wide, x, s, p, first / G);
        if let Some((x, s)) = blocks.next() {
            let more = self::tile::<T, W, G, P, V>(wide, x, s, p, first / G);
            for k in 0..G {
                for q in 0..P {
                    for v in 0..V {
                        tile[k][q][v] = wide.add_single(tile[k][q][v], more[k][q][v]);
                    }
                }
            }
        }
        for q in 0..P {
            let Some(sums) = sums[q * panel_len + first..].first_chunk_mut::<G>() else { break };
            for k in 0..G {
                for v in 0..V {
                    let halves = wide.halves(tile[k][q][v]);
                    for h in 0..2 {
                        let sum = &mut sums[k][(2 * v + h) * (W::SINGLES / 2)..];
                        wide.store_double(wide.add_double(wide.load_double(sum), halves[h]), sum);
                    }
                }
            }
        }
    }
}

/// The sums of a block for group `g`.
#[inline(always)]
fn tile<T: Real, W: Wide, const G: usize, const P: usize, const V: usize>(
    wide: W,
    x: &Tiles<T>,
    s: &[f32],
    p: usize,
    g: usize,
) -> [[[W::Single; V]; P]; G] {
    let mut tile = [[[wide.single(0.0); V]; P]; G];
    let s = &s[g * G * BLOCK..(g + 1) * G * BLOCK];
    for (x, s) in x.rows().zip(s.as_chunks::<G>().0.as_chunks::<ROWS>().0) {
        let Some(x) = x[p..].first_chunk::<P>() else { break };
        for r in 0..ROWS {
            let mut vectors = [[wide.single(0.0); V]; P];
            for q in 0..P {
                for v in 0..V {
                    vectors[q][v] = T::singles(wide, &x[q][r][v * W::SINGLES..]);
                }
            }
            for k in 0..G {
                let s = wide.single(s[r][k]);
                for q in 0..P {
                    for v in 0..V {
                        tile[k][q][v] = wide.fuse_single(vectors[q][v], s, tile[k][q][v]);
                    }
                }
            }
        }
    }
    tile
}
