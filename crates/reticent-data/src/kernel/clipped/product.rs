//! Rows times weights: the margins of a block of rows.
//!
//! A few weight vectors are multiplied five at a time with four rows, or three with two where there
//! are fewer registers, product by product ([`Packed::dots`]): the sums stay in registers, and the
//! weight vectors in the nearest cache while all rows pass by. Many are taken across: one column of
//! sixteen weight vectors (eight in double precision) fills two registers of AVX2 and is multiplied
//! with a number of each of six rows (at last four), or a column of thirty-two fills two registers
//! of AVX-512 for eight rows ([`Packed::across`]), so that nothing is left to be added up at the
//! end.

use super::real::{BLOCK, PANEL, Real};
use super::tiles::{PanelLine, Tiles};
use super::vectors::Vectors;
use super::wide::Wide;
use crate::threads::in_parts;

/// Weight vectors that are multiplied together, row by row.
const GROUP: usize = 5;

/// As many where a sum fills two registers, of which there are fewer.
const GROUP_OF_HALVES: usize = 3;

/// Rows that are multiplied together across: with these the sums, a column and a number fill the
/// registers and no more.
const ROWS_ACROSS: usize = 6;

/// Rows that are multiplied together in the rest of a block: two rows that were left alone would
/// have too few sums to keep the multipliers busy.
const REST_ACROSS: usize = 4;

/// Panels of columns that are taken across before the next rows, for one group of weight vectors:
/// these stay near, and going from rows to rows costs more than reading them from the second cache.
const DEEP: usize = 32;

/// Weight vectors as the product wants them.
#[derive(Default)]
pub(super) struct Packed<T> {
    outputs: usize,
    columns: usize,
    panels: usize,
    /// How many vectors are taken across: all, none, or all but the few that no group is left for.
    split: usize,
    /// Groups of vectors, column by column.
    across: Aligned<T>,
    /// The other vectors, one after the other, in panels.
    along: Vec<PanelLine<T>>,
}

/// Numbers that begin where a line of the cache begins.
#[derive(Default)]
struct Aligned<T> {
    room: Vec<T>,
    first: usize,
    len: usize,
}

impl<T: Real> Aligned<T> {
    /// Room for this many numbers: those there are, or zeros.
    fn resize(&mut self, len: usize) -> &mut [T] {
        if self.len != len {
            let line = 64 / size_of::<T>();
            self.room = vec![T::ZERO; len + line];
            self.first = self.room.as_ptr().align_offset(64).min(line);
            self.len = len;
        }
        &mut self.room[self.first..][..self.len]
    }

    fn get(&self) -> &[T] {
        &self.room[self.first..][..self.len]
    }
}

/// Columns of weights that a thread takes over at a time.
const TOGETHER: usize = 256;

impl<T: Real> Packed<T> {
    /// Weight vectors of a group that is taken across: a line of the cache.
    const WIDTH: usize = T::LINE;

    /// Takes over `outputs` weight vectors of `columns` entries.
    pub(super) fn set(&mut self, outputs: usize, columns: usize, vectors: Vectors<'_>) {
        if (self.outputs, self.columns) != (outputs, columns) {
            *self = Self::default();
        }
        let groups = outputs.div_ceil(Self::WIDTH);
        let rest = outputs % Self::WIDTH;
        self.outputs = outputs;
        self.columns = columns;
        self.panels = columns.div_ceil(PANEL);
        self.split = if 4 * outputs < 3 * groups * Self::WIDTH {
            0
        } else if rest <= GROUP {
            outputs - rest
        } else {
            outputs
        };
        // Places that hold no weight are zero from the start and never written.
        let len = self.panels * PANEL * Self::WIDTH;
        let across = self.across.resize(self.split.div_ceil(Self::WIDTH) * len);
        in_parts(across, len.max(1), &|g, group| {
            let first = g * Self::WIDTH;
            let width = Self::WIDTH.min(outputs - first);
            in_parts(group, TOGETHER * Self::WIDTH, &|part, group| {
                let from = part * TOGETHER;
                let columns = from..columns.min(from + TOGETHER);
                vectors.write_across(first..first + width, columns, Self::WIDTH, group);
            });
        });
        let len = (outputs - self.split) * self.panels;
        if self.along.len() != len {
            self.along = vec![PanelLine::ZERO; len];
        }
        for (k, panels) in (self.split..).zip(self.along.chunks_exact_mut(self.panels.max(1))) {
            vectors.write_along(k, columns, panels);
        }
    }

    /// `out[i·outputs + k] = ⟨x_i, w_k⟩` for the rows of a block, in the precision of the features.
    #[inline(always)]
    pub(super) fn product<W: Wide>(&self, wide: W, x: &Tiles<T>, out: &mut [T]) {
        self.across(wide, x, out);
        self.dots(wide, x, out);
    }

    #[inline(always)]
    fn across<W: Wide>(&self, wide: W, x: &Tiles<T>, out: &mut [T]) {
        let groups = self.across.get().chunks_exact((self.panels * PANEL * Self::WIDTH).max(1));
        let mut groups = groups.enumerate();
        // Room for all groups: clearing it for each would cost as much as a row.
        let mut room = [PanelLine::<T>::ZERO; 2 * BLOCK];
        while let Some((g, weights)) = groups.next() {
            if !W::ROOMY {
                self.groups_across::<W, ROWS_ACROSS, REST_ACROSS, 1, 2>(
                    wide,
                    x,
                    g,
                    [weights],
                    &mut room,
                    out,
                );
            } else if let Some((_, more)) = groups.next() {
                self.groups_across::<W, 8, 8, 2, 1>(wide, x, g, [weights, more], &mut room, out);
            } else {
                self.groups_across::<W, 16, 16, 1, 1>(wide, x, g, [weights], &mut room, out);
            }
        }
    }

    /// Multiplies `N` groups of weight vectors from group `g` on, `R` rows at a time and at last
    /// `REST`; a column of a group fills `V` registers. Sums that are not complete lie in `room`.
    #[inline(always)]
    fn groups_across<W: Wide, const R: usize, const REST: usize, const N: usize, const V: usize>(
        &self,
        wide: W,
        x: &Tiles<T>,
        g: usize,
        weights: [&[T]; N],
        room: &mut [PanelLine<T>; 2 * BLOCK],
        out: &mut [T],
    ) {
        let width = Self::WIDTH;
        let room = &mut room.as_chunks_mut::<N>().0[..BLOCK];
        // As even as possible: a short part would load and store all sums for little.
        let parts = self.panels.saturating_sub(2).div_ceil(DEEP / N).max(1);
        let panels = self.panels.div_ceil(parts);
        let deep = (panels * PANEL * width).max(1);
        let parts = weights[0].len().div_ceil(deep);
        let whole = (g + N) * width <= self.outputs;
        let rows = x.height().next_multiple_of(REST);
        let room = &mut room[..rows];
        let taken = taken_by(rows, R, REST);
        for d in 0..parts {
            let mut part_of = weights;
            for n in 0..N {
                part_of[n] = &weights[n][d * deep..weights[n].len().min((d + 1) * deep)];
            }
            let part = Part { panel: d * panels, fresh: d == 0, columns: self.columns };
            // Sums of whole groups go where they belong once they are complete.
            let into = (whole && d + 1 == parts).then_some((g * width, self.outputs));
            let (most, rest) = room.split_at_mut(taken);
            for (r, room) in most.as_chunks_mut::<R>().0.iter_mut().enumerate() {
                let tile = add_across::<T, W, R, N, V>(wide, x, R * r, part, part_of, room);
                put::<T, W, R, N, V>(wide, tile, R * r, into, room, out);
            }
            for (r, room) in rest.as_chunks_mut::<REST>().0.iter_mut().enumerate() {
                let first = taken + REST * r;
                let tile = add_across::<T, W, REST, N, V>(wide, x, first, part, part_of, room);
                put::<T, W, REST, N, V>(wide, tile, first, into, room, out);
            }
        }
        if !whole {
            for (sums, out) in room.iter().zip(out.chunks_exact_mut(self.outputs)) {
                let out = out[g * width..].chunks_mut(width);
                out.zip(sums).for_each(|(out, sums)| out.copy_from_slice(&sums[..out.len()]));
            }
        }
    }

    #[inline(always)]
    fn dots<W: Wide>(&self, wide: W, x: &Tiles<T>, out: &mut [T]) {
        let Self { outputs, panels, split, along, .. } = self;
        let most = if W::ROOMY { GROUP } else { GROUP_OF_HALVES };
        let mut k = *split;
        while k < *outputs {
            // As even as possible: 10 is 5 + 5, 11 is 4 + 4 + 3.
            let groups_left = (outputs - k).div_ceil(most);
            let size = (outputs - k).div_ceil(groups_left);
            let w = &along[(k - split) * panels..(k + size - split) * panels];
            match (W::ROOMY, size) {
                (true, 5) => tiles::<T, _, 5, 4, 1>(wide, x, w, k, *outputs, out),
                (true, 4) => tiles::<T, _, 4, 4, 1>(wide, x, w, k, *outputs, out),
                (true, 3) => tiles::<T, _, 3, 4, 1>(wide, x, w, k, *outputs, out),
                (true, 2) => tiles::<T, _, 2, 4, 1>(wide, x, w, k, *outputs, out),
                (true, _) => tiles::<T, _, 1, 4, 1>(wide, x, w, k, *outputs, out),
                (_, 3) => tiles::<T, _, 3, 2, 2>(wide, x, w, k, *outputs, out),
                (_, 2) => tiles::<T, _, 2, 2, 2>(wide, x, w, k, *outputs, out),
                _ => tiles::<T, _, 1, 4, 2>(wide, x, w, k, *outputs, out),
            }
            k += size;
        }
    }
}

/// How many of some rows, a multiple of `few`, are taken `many` at a time, so that those that are
/// left can be taken `few` at a time.
fn taken_by(rows: usize, many: usize, few: usize) -> usize {
    let mut taken = rows / many * many;
    while !(rows - taken).is_multiple_of(few) {
        taken -= many;
    }
    taken
}

/// Columns whose products are added across in one go.
#[derive(Clone, Copy)]
struct Part {
    /// The first panel.
    panel: usize,
    /// Whether the sums begin here.
    fresh: bool,
    /// How many columns there are in all.
    columns: usize,
}

/// The products of `R` rows with `N` groups of weight vectors from the `first` row on, added to the
/// sums so far. `V` registers hold a column of a group.
#[inline(always)]
fn add_across<T: Real, W: Wide, const R: usize, const N: usize, const V: usize>(
    wide: W,
    x: &Tiles<T>,
    first: usize,
    part: Part,
    weights: [&[T]; N],
    sums: &[[PanelLine<T>; N]; R],
) -> [[[T::Vector<W>; V]; N]; R] {
    let (width, lanes) = (T::LINE, T::lanes::<W>());
    let mut tile = [[[T::zeros(wide); V]; N]; R];
    if !part.fresh {
        for r in 0..R {
            for n in 0..N {
                for v in 0..V {
                    tile[r][n][v] = T::load(wide, &sums[r][n][v * lanes..]);
                }
            }
        }
    }
    let panels = weights[0].len() / (PANEL * width);
    for p in 0..panels {
        let lines = x.lines::<R>(first, part.panel + p);
        let mut panel = weights;
        for n in 0..N {
            panel[n] = &weights[n][p * PANEL * width..(p + 1) * PANEL * width];
        }
        let used = part.columns - PANEL * (part.panel + p);
        if used >= PANEL {
            for c in 0..PANEL {
                add_column::<T, W, R, N, V>(wide, lines, panel, c, &mut tile);
            }
        } else {
            for c in 0..used {
                add_column::<T, W, R, N, V>(wide, lines, panel, c, &mut tile);
            }
        }
    }
    tile
}

/// Puts the sums of `R` rows from the `first` on into `out`, at a place in rows of a length, or
/// else into `room`.
#[inline(always)]
fn put<T: Real, W: Wide, const R: usize, const N: usize, const V: usize>(
    wide: W,
    tile: [[[T::Vector<W>; V]; N]; R],
    first: usize,
    into: Option<(usize, usize)>,
    room: &mut [[PanelLine<T>; N]; R],
    out: &mut [T],
) {
    let lanes = T::lanes::<W>();
    for r in 0..R {
        for n in 0..N {
            for v in 0..V {
                let sums = match into {
                    Some((place, len)) => {
                        &mut out[(first + r) * len + place + n * T::LINE + v * lanes..]
                    }
                    None => &mut room[r][n][v * lanes..],
                };
                T::store(wide, tile[r][n][v], sums);
            }
        }
    }
}

/// Adds the products of column `c` of a panel.
#[inline(always)]
fn add_column<T: Real, W: Wide, const R: usize, const N: usize, const V: usize>(
    wide: W,
    x: &[PanelLine<T>],
    weights: [&[T]; N],
    c: usize,
    tile: &mut [[[T::Vector<W>; V]; N]; R],
) {
    let mut vectors = [[T::zeros(wide); V]; N];
    for n in 0..N {
        for v in 0..V {
            vectors[n][v] = T::load(wide, &weights[n][c * T::LINE + v * T::lanes::<W>()..]);
        }
    }
    for r in 0..R {
        for n in 0..N {
            for v in 0..V {
                tile[r][n][v] = T::fuse_one(wide, x[r][c], vectors[n][v], tile[r][n][v]);
            }
        }
    }
}

/// Writes the products of all rows with the `C` weight vectors `w`, the first of which is vector
/// `k`, `R` rows at a time. `H` registers hold a line of the cache.
#[allow(clippy::needless_range_loop, reason = "the same panel of rows and weights")]
#[inline(always)]
fn tiles<T: Real, W: Wide, const C: usize, const R: usize, const H: usize>(
    wide: W,
    x: &Tiles<T>,
    w: &[PanelLine<T>],
    k: usize,
    outputs: usize,
    out: &mut [T],
) {
    let panels = w.len() / C;
    let mut vectors = [&w[..panels]; C];
    for c in 1..C {
        vectors[c] = &w[c * panels..(c + 1) * panels];
    }
    for first in (0..x.height()).step_by(R) {
        let mut sums = [[[T::zeros(wide); H]; R]; C];
        for p in 0..panels {
            let mut panel = [&vectors[0][p]; C];
            for c in 1..C {
                panel[c] = &vectors[c][p];
            }
            fuse_panel::<T, W, C, R, H>(wide, x.lines::<R>(first, p), panel, &mut sums);
        }
        store_totals(wide, &sums, first, k, outputs, out);
    }
}

/// Adds the products of a panel of `R` rows with `C` weight vectors.
#[allow(clippy::needless_range_loop, reason = "half by half, so that one half of each is live")]
#[inline(always)]
fn fuse_panel<T: Real, W: Wide, const C: usize, const R: usize, const H: usize>(
    wide: W,
    x: &[PanelLine<T>],
    w: [&PanelLine<T>; C],
    sums: &mut [[[T::Vector<W>; H]; R]; C],
) {
    let lanes = T::lanes::<W>();
    for line in (0..PANEL).step_by(H * lanes) {
        for h in 0..H {
            let first = line + h * lanes;
            // All of the fewer operands (rows or weight vectors) and one of the others are live
            // beside the sums: at most as many registers as there are.
            if R < C {
                for c in 0..C {
                    for r in 0..R {
                        sums[c][r][h] = T::fuse(wide, first, &x[r].0, &w[c].0, sums[c][r][h]);
                    }
                }
            } else {
                for r in 0..R {
                    for c in 0..C {
                        sums[c][r][h] = T::fuse(wide, first, &x[r].0, &w[c].0, sums[c][r][h]);
                    }
                }
            }
        }
    }
}

/// Writes the totals of a tile.
#[inline(always)]
fn store_totals<T: Real, W: Wide, const C: usize, const R: usize, const H: usize>(
    wide: W,
    sums: &[[[T::Vector<W>; H]; R]; C],
    row: usize,
    k: usize,
    outputs: usize,
    out: &mut [T],
) {
    for (first, four) in (0..).step_by(4).zip(sums.as_flattened().chunks(4)) {
        let mut vectors = [[T::zeros(wide); H]; 4];
        vectors[..four.len()].copy_from_slice(four);
        let totals = T::totals(wide, vectors);
        for (i, total) in (first..).zip(&totals[..four.len()]) {
            out[(row + i % R) * outputs + k + i / R] = *total;
        }
    }
}
