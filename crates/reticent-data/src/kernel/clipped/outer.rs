//! Residuals times rows: the sum of a slab's clipped gradients.

use std::ops::Range;

use super::block::{Block, Factors};
use super::real::{BLOCK, PANEL, Real, panels};
use super::tiles::{Panel, PanelLine, ROWS, Tiles};
use super::wide::Wide;

/// Residuals that are multiplied together, at most.
const GROUP: usize = 6;

/// Rows that are added up one by one in single precision, where that is allowed: a block.
pub(super) const CHAIN: usize = BLOCK;

/// Sums of such rows that are added up in single precision.
pub(super) const CHAINS: usize = 4;

/// How the residuals of a block lie: groups of [`Groups::size`], each with the block's rows
/// together.
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

    /// Puts the residuals of row `i`, as `scaled` makes them, where they lie in their block.
    #[inline(always)]
    pub(super) fn spread<T: Copy, S>(
        self,
        residual: &[T],
        i: usize,
        into: &mut [S],
        scaled: impl Fn(T) -> S,
    ) {
        match self.size {
            6 => spread::<T, S, 6>(residual, i, into, scaled),
            5 => spread::<T, S, 5>(residual, i, into, scaled),
            4 => spread::<T, S, 4>(residual, i, into, scaled),
            3 => spread::<T, S, 3>(residual, i, into, scaled),
            2 => spread::<T, S, 2>(residual, i, into, scaled),
            _ => spread::<T, S, 1>(residual, i, into, scaled),
        }
    }

    /// Lines that hold the sums of a group for two panels of columns: those of the first, then
    /// those of the second.
    pub(super) fn group_len(self) -> usize {
        2 * self.size
    }

    /// Lines that hold the sums of all groups for two panels.
    pub(super) fn pair_len(self) -> usize {
        self.count * self.group_len()
    }

    /// Lines that hold all sums.
    pub(super) fn len(self, columns: usize) -> usize {
        panels(columns).div_ceil(2) * self.pair_len()
    }

    /// Adds `Σ_i s_i ⊗ x_i` over all blocks to `sums`, which hold whole groups from the given place
    /// on: their rows of features or of hidden units with the residuals that belong to them.
    #[inline(always)]
    pub(super) fn add<T: Real, W: Wide>(
        self,
        wide: W,
        blocks: &[Block<T>],
        factors: Factors,
        place: Place,
        sums: &mut [PanelLine<f64>],
    ) {
        match self.size {
            6 => add_groups::<T, W, 6>(wide, blocks, factors, place, sums),
            5 => add_groups::<T, W, 5>(wide, blocks, factors, place, sums),
            4 => add_groups::<T, W, 4>(wide, blocks, factors, place, sums),
            3 => add_groups::<T, W, 3>(wide, blocks, factors, place, sums),
            2 => add_groups::<T, W, 2>(wide, blocks, factors, place, sums),
            _ => add_groups::<T, W, 1>(wide, blocks, factors, place, sums),
        }
    }

    /// [`Groups::add`] with products and short sums in single precision: the sums of [`CHAIN`] rows
    /// are added up before they are added in double precision. Sums that are `fresh` begin here.
    #[inline(always)]
    pub(super) fn add_single<W: Wide>(
        self,
        wide: W,
        blocks: &[Block<f32>],
        factors: Factors,
        place: Place,
        sums: &mut [PanelLine<f64>],
        fresh: bool,
    ) {
        match self.size {
            6 => add_groups_single::<W, 6>(wide, blocks, factors, place, sums, fresh),
            5 => add_groups_single::<W, 5>(wide, blocks, factors, place, sums, fresh),
            4 => add_groups_single::<W, 4>(wide, blocks, factors, place, sums, fresh),
            3 => add_groups_single::<W, 3>(wide, blocks, factors, place, sums, fresh),
            2 => add_groups_single::<W, 2>(wide, blocks, factors, place, sums, fresh),
            _ => add_groups_single::<W, 1>(wide, blocks, factors, place, sums, fresh),
        }
    }

    /// Residuals of a group.
    pub(super) fn size(self) -> usize {
        self.size
    }

    /// Writes the sums of group `g` as rows of so many columns, added up over the units. By groups:
    /// their sums lie together.
    pub(super) fn unpack<'a>(
        self,
        mut units: impl Iterator<Item = &'a [PanelLine<f64>]>,
        g: usize,
        columns: usize,
        into: &mut [f64],
    ) {
        let Some(first) = units.next() else { return into.fill(0.0) };
        let line = |k: usize, p: usize| {
            g * self.group_len() + p / 2 * self.pair_len() + p % 2 * self.size + k
        };
        let whole = columns / PANEL;
        for p in 0..whole {
            for (k, into) in into.chunks_exact_mut(columns).enumerate() {
                into.as_chunks_mut::<PANEL>().0[p] = first[line(k, p)].0;
            }
        }
        for (k, into) in into.chunks_exact_mut(columns).enumerate() {
            let rest = &mut into[whole * PANEL..];
            if !rest.is_empty() {
                rest.copy_from_slice(&first[line(k, whole)][..rest.len()]);
            }
        }
        for unit in units {
            for (k, into) in into.chunks_exact_mut(columns).enumerate() {
                for (p, into) in into.chunks_mut(PANEL).enumerate() {
                    into.iter_mut().zip(&*unit[line(k, p)]).for_each(|(into, more)| *into += more);
                }
            }
        }
    }
}

/// Which sums: some groups for a pair of panels.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The pair of panels.
    pub(super) pair: usize,
    /// The first of the groups.
    pub(super) group: usize,
    /// How many columns there are in all: the last pair may be but one panel, and that hardly
    /// filled.
    pub(super) columns: usize,
}

impl Place {
    /// The panels of the pair.
    #[inline(always)]
    fn panels(self) -> Range<usize> {
        2 * self.pair..panels(self.columns).min(2 * self.pair + 2)
    }
}

#[inline(always)]
fn spread<T: Copy, S, const G: usize>(
    residual: &[T],
    i: usize,
    into: &mut [S],
    scaled: impl Fn(T) -> S,
) {
    let into = into.as_chunks_mut::<G>().0;
    let (groups, rest) = residual.as_chunks::<G>();
    for (into, group) in into[i..].iter_mut().step_by(BLOCK).zip(groups) {
        for k in 0..G {
            into[k] = scaled(group[k]);
        }
    }
    if let Some(into) = into.get_mut(groups.len() * BLOCK + i) {
        for (into, r) in into.iter_mut().zip(rest) {
            *into = scaled(*r);
        }
    }
}

#[inline(always)]
fn add_groups<T: Real, W: Wide, const G: usize>(
    wide: W,
    blocks: &[Block<T>],
    factors: Factors,
    place: Place,
    sums: &mut [PanelLine<f64>],
) {
    for (i, sums) in sums.as_chunks_mut::<G>().0.iter_mut().enumerate() {
        let (g, p) = (place.group + i / 2, 2 * place.pair + i % 2);
        if p >= panels(place.columns) {
            continue;
        }
        if W::ROOMY {
            add_group::<T, W, G, 2, 1>(wide, blocks, factors, p, g, sums);
        } else {
            add_group::<T, W, G, 2, 2>(wide, blocks, factors, p, g, sums);
        }
    }
}

/// Adds the sums of a group, the columns in `PARTS` parts of `V` vectors.
#[inline(always)]
fn add_group<T: Real, W: Wide, const G: usize, const PARTS: usize, const V: usize>(
    wide: W,
    blocks: &[Block<T>],
    factors: Factors,
    p: usize,
    g: usize,
    sums: &mut [PanelLine<f64>; G],
) {
    let lanes = W::SINGLES / 2;
    for part in 0..PARTS {
        let first = part * V * lanes;
        let mut tile = [[wide.double(0.0); V]; G];
        for block in blocks {
            let (x, s) = factors.of(block);
            let Some(s) = s.double.as_chunks::<G>().0.as_chunks::<BLOCK>().0.get(g) else { break };
            for (i, s) in s.iter().take(x.height()).enumerate() {
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
fn add_groups_single<W: Wide, const G: usize>(
    wide: W,
    blocks: &[Block<f32>],
    factors: Factors,
    place: Place,
    sums: &mut [PanelLine<f64>],
    fresh: bool,
) {
    let panels = place.panels();
    for (g, sums) in (place.group..).zip(sums.chunks_exact_mut(2 * G)) {
        // One panel alone has too few sums to keep the multipliers busy.
        if W::ROOMY && panels.len() == 2 {
            add_single::<W, G, 2, 1>(wide, blocks, factors, panels.start, g, sums, fresh);
        } else if W::ROOMY {
            add_single::<W, G, 1, 1>(wide, blocks, factors, panels.start, g, sums, fresh);
        } else {
            for (p, sums) in panels.clone().zip(sums.chunks_exact_mut(G)) {
                if place.columns > p * PANEL + W::SINGLES {
                    add_single::<W, G, 1, 2>(wide, blocks, factors, p, g, sums, fresh);
                } else {
                    // Half a panel, as where a constant stands alone behind the features.
                    add_single::<W, G, 1, 1>(wide, blocks, factors, p, g, sums, fresh);
                }
            }
        }
    }
}

/// Adds the sums of group `g` for `P` panels of `V` vectors, from panel `p` on.
#[inline(always)]
fn add_single<W: Wide, const G: usize, const P: usize, const V: usize>(
    wide: W,
    blocks: &[Block<f32>],
    factors: Factors,
    p: usize,
    g: usize,
    sums: &mut [PanelLine<f64>],
    mut fresh: bool,
) {
    for chains in blocks.chunks(CHAINS) {
        let [first, others @ ..] = chains else { break };
        let (x, s) = factors.of(first);
        let mut tile = tile::<W, G, P, V>(wide, x, &s.single, p, g);
        for block in others {
            let (x, s) = factors.of(block);
            let more = self::tile::<W, G, P, V>(wide, x, &s.single, p, g);
            for k in 0..G {
                for q in 0..P {
                    for v in 0..V {
                        tile[k][q][v] = wide.add_single(tile[k][q][v], more[k][q][v]);
                    }
                }
            }
        }
        let Some(sums) = sums.as_chunks_mut::<G>().0.first_chunk_mut::<P>() else { break };
        for q in 0..P {
            for k in 0..G {
                for v in 0..V {
                    let halves = wide.halves(tile[k][q][v]);
                    for h in 0..2 {
                        let sum = &mut sums[q][k][(2 * v + h) * (W::SINGLES / 2)..];
                        let old = if fresh { wide.double(0.0) } else { wide.load_double(sum) };
                        wide.store_double(wide.add_double(old, halves[h]), sum);
                    }
                }
            }
        }
        fresh = false;
    }
}

/// The sums of a block for group `g`.
#[inline(always)]
fn tile<W: Wide, const G: usize, const P: usize, const V: usize>(
    wide: W,
    x: &Tiles<f32>,
    s: &[f32],
    p: usize,
    g: usize,
) -> [[[W::Single; V]; P]; G] {
    let mut tile = [[[wide.single(0.0); V]; P]; G];
    let s = &s[g * G * BLOCK..(g + 1) * G * BLOCK];
    let mut panels = [x.panel(p); P];
    for (q, panel) in panels.iter_mut().enumerate() {
        *panel = x.panel(p + q);
    }
    let mut rows = (0..panels[0].len()).zip(s.as_chunks::<G>().0.as_chunks::<ROWS>().0);
    // The first product begins a sum, rounded as it would be when added to zero: sums that begin
    // with zeros take longer. Only the sign of a zero may differ, which is lost when the sum is
    // added in double precision.
    if let Some((t, s)) = rows.next() {
        add_rows::<W, G, P, V>(wide, panels, t, s, true, &mut tile);
    }
    for (t, s) in rows {
        add_rows::<W, G, P, V>(wide, panels, t, s, false, &mut tile);
    }
    tile
}

/// Adds the products of four rows, at place `t` of the panels; those of the first row begin the
/// sums if these are `fresh`.
#[inline(always)]
fn add_rows<W: Wide, const G: usize, const P: usize, const V: usize>(
    wide: W,
    x: [&[Panel<f32>]; P],
    t: usize,
    s: &[[f32; G]; ROWS],
    fresh: bool,
    tile: &mut [[[W::Single; V]; P]; G],
) {
    for r in 0..ROWS {
        let mut vectors = [[wide.single(0.0); V]; P];
        for q in 0..P {
            for v in 0..V {
                vectors[q][v] = wide.load_single(&x[q][t][r][v * W::SINGLES..]);
            }
        }
        for k in 0..G {
            let s = wide.single(s[r][k]);
            for q in 0..P {
                for v in 0..V {
                    tile[k][q][v] = if fresh && r == 0 {
                        wide.multiply_single(vectors[q][v], s)
                    } else {
                        wide.fuse_single(vectors[q][v], s, tile[k][q][v])
                    };
                }
            }
        }
    }
}
