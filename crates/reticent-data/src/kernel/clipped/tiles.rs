//! How the rows of a block lie in memory.
//!
//! A panel of columns lies together for all rows, four by four: where residuals are multiplied with
//! rows, panel after panel is read in one stream, again and again. Every vector lies within a line
//! of the cache.

use std::ops::{Deref, DerefMut};

use super::real::{BLOCK, PANEL, Real, panels};

/// Rows that lie together.
pub(super) const ROWS: usize = 4;

/// The columns of a panel for one row, or one vector of weights, or one sum. It begins where a line
/// of the cache begins, so that no vector lies across two.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct PanelLine<T>(pub(super) [T; PANEL]);

impl<T> Deref for PanelLine<T> {
    type Target = [T; PANEL];

    #[inline(always)]
    fn deref(&self) -> &[T; PANEL] {
        &self.0
    }
}

impl<T> DerefMut for PanelLine<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T; PANEL] {
        &mut self.0
    }
}

impl<T: Real> PanelLine<T> {
    /// All zeros.
    pub(super) const ZERO: Self = Self([T::ZERO; PANEL]);
}

/// The columns of a panel for four rows.
pub(super) type Panel<T> = [PanelLine<T>; ROWS];

/// The columns of a panel for all rows, and room that is never used: without it the panels of a row
/// would lie a power of two apart, and the nearest cache has place for few of such.
type Stack<T> = [Panel<T>; BLOCK / ROWS + 1];

/// The rows of a block.
pub(super) struct Tiles<T> {
    /// Rows that are computed with: the last block of a batch is seldom full.
    height: usize,
    /// Panel by panel.
    all: Vec<Stack<T>>,
}

impl<T: Real> Tiles<T> {
    /// Room for rows of this many columns, all zero.
    pub(super) fn new(columns: usize) -> Self {
        let empty = [[PanelLine::ZERO; ROWS]; BLOCK / ROWS + 1];
        Self { height: BLOCK, all: vec![empty; panels(columns)] }
    }

    /// Says how many rows there will be. Those that are missing to four are computed with too, and
    /// must be cleared.
    pub(super) fn hold(&mut self, rows: usize) {
        self.height = rows.next_multiple_of(ROWS).min(BLOCK);
    }

    /// Rows that are computed with: a multiple of four.
    #[inline(always)]
    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// Panel `p` of the rows that are computed with, four by four.
    #[inline(always)]
    pub(super) fn panel(&self, p: usize) -> &[Panel<T>] {
        &self.all[p][..self.height / ROWS]
    }

    /// Panel `p` of row `i`.
    #[inline(always)]
    pub(super) fn line(&self, i: usize, p: usize) -> &PanelLine<T> {
        &self.all[p][i / ROWS][i % ROWS]
    }

    /// Panel `p` of `R` rows from row `i` on.
    #[inline(always)]
    pub(super) fn lines<const R: usize>(&self, i: usize, p: usize) -> &[PanelLine<T>] {
        &self.all[p].as_flattened()[i..i + R]
    }

    /// Column `j` of row `i`.
    #[inline(always)]
    pub(super) fn at(&mut self, i: usize, j: usize) -> &mut T {
        &mut self.all[j / PANEL][i / ROWS][i % ROWS][j % PANEL]
    }

    /// Copies a row into its place, and zeros into the columns beyond it.
    #[inline(always)]
    pub(super) fn pack(&mut self, row: &[T], i: usize) {
        let (whole, rest) = row.as_chunks::<PANEL>();
        for (panel, values) in self.all.iter_mut().zip(whole) {
            panel[i / ROWS][i % ROWS] = PanelLine(*values);
        }
        if let Some(panel) = self.all.get_mut(whole.len()) {
            let line = &mut panel[i / ROWS][i % ROWS];
            *line = PanelLine::ZERO;
            line[..rest.len()].copy_from_slice(rest);
        }
    }

    /// [`Tiles::pack`] for four rows, the first of which is row `i`: four streams from memory do
    /// not wait for each other.
    #[inline(always)]
    pub(super) fn pack_four(&mut self, rows: [&[T]; ROWS], i: usize) {
        let chunks = rows.map(|row| row.as_chunks::<PANEL>().0);
        let whole = chunks[0].len();
        let chunks = chunks.map(|chunks| &chunks[..whole]);
        let (panels, last) = self.all.split_at_mut(whole);
        for (p, panel) in panels.iter_mut().enumerate() {
            let panel = &mut panel[i / ROWS];
            // One by one: an array of all four would go by way of the stack.
            panel[0] = PanelLine(chunks[0][p]);
            panel[1] = PanelLine(chunks[1][p]);
            panel[2] = PanelLine(chunks[2][p]);
            panel[3] = PanelLine(chunks[3][p]);
        }
        if let [last, ..] = last {
            for (line, row) in last[i / ROWS].iter_mut().zip(rows) {
                let rest = &row[whole * PANEL..];
                *line = PanelLine::ZERO;
                line[..rest.len()].copy_from_slice(rest);
            }
        }
    }

    /// Puts zeros in a row's place.
    #[inline(always)]
    pub(super) fn clear(&mut self, i: usize) {
        for panel in &mut self.all {
            panel[i / ROWS][i % ROWS] = PanelLine::ZERO;
        }
    }
}
