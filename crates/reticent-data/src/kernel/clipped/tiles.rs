//! How the rows of a block lie in memory.
//!
//! Four rows lie together, panel of columns by panel of columns: they are written as one stream, and a few of them stay in the
//! nearest cache while they are multiplied with the weights. Every vector lies within a line of the cache.

use std::ops::{Deref, DerefMut};

use super::real::{BLOCK, PANEL, Real, panels};

/// Rows that lie together.
pub(super) const ROWS: usize = 4;

/// The columns of a panel for one row, or one vector of weights, or one sum. It begins where a line of the cache begins, so that no
/// vector lies across two.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Line<T>(pub(super) [T; PANEL]);

impl<T> Deref for Line<T> {
    type Target = [T; PANEL];

    #[inline(always)]
    fn deref(&self) -> &[T; PANEL] {
        &self.0
    }
}

impl<T> DerefMut for Line<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T; PANEL] {
        &mut self.0
    }
}

impl<T: Real> Line<T> {
    /// All zeros.
    pub(super) const ZERO: Self = Self([T::ZERO; PANEL]);
}

/// The columns of a panel for rows that lie together.
pub(super) type Panel<T> = [Line<T>; ROWS];

/// The rows of a block.
pub(super) struct Tiles<T> {
    panels: usize,
    /// The panels of the first four rows, of the next four, and so on.
    all: Vec<Panel<T>>,
}

impl<T: Real> Tiles<T> {
    /// Room for rows of this many columns, all zero.
    pub(super) fn new(columns: usize) -> Self {
        let panels = panels(columns);
        Self { panels, all: vec![[Line::ZERO; ROWS]; BLOCK / ROWS * panels] }
    }

    /// The panels of four rows and again of four.
    #[inline(always)]
    pub(super) fn rows(&self) -> impl Iterator<Item = &[Panel<T>]> {
        self.all.chunks_exact(self.panels.max(1))
    }

    /// Panel `p` of row `i`.
    #[inline(always)]
    pub(super) fn line(&self, i: usize, p: usize) -> &Line<T> {
        &self.all[i / ROWS * self.panels + p][i % ROWS]
    }

    /// Panel `p` of `R` rows from row `i` on.
    #[inline(always)]
    pub(super) fn lines<const R: usize>(&self, i: usize, p: usize) -> [&Line<T>; R] {
        const { assert!(R <= 4 * ROWS) };
        if !R.is_multiple_of(ROWS) {
            return std::array::from_fn(|r| self.line(i + r, p));
        }
        // An address for four rows, not for each.
        let tile = |t: usize| &self.all[(i / ROWS + t.min(R / ROWS - 1)) * self.panels + p];
        let tiles: [&Panel<T>; 4] = std::array::from_fn(tile);
        std::array::from_fn(|r| &tiles[r / ROWS % 4][r % ROWS])
    }

    /// Column `j` of row `i`.
    #[inline(always)]
    pub(super) fn at(&mut self, i: usize, j: usize) -> &mut T {
        &mut self.all[i / ROWS * self.panels + j / PANEL][i % ROWS][j % PANEL]
    }

    /// Copies a row into its place, and zeros into the columns that are none.
    #[inline(always)]
    pub(super) fn pack(&mut self, row: &[T], i: usize) {
        let (whole, rest) = row.as_chunks::<PANEL>();
        let panels = &mut self.all[i / ROWS * self.panels..][..self.panels];
        for (panel, values) in panels.iter_mut().zip(whole) {
            panel[i % ROWS] = Line(*values);
        }
        if let Some(panel) = panels.get_mut(whole.len()) {
            panel[i % ROWS] = Line::ZERO;
            panel[i % ROWS][..rest.len()].copy_from_slice(rest);
        }
    }

    /// [`Tiles::pack`] for four rows, the first of which is row `i`: four streams from memory do not wait for each other.
    #[inline(always)]
    pub(super) fn pack_four(&mut self, rows: [&[T]; ROWS], i: usize) {
        let chunks = rows.map(|row| row.as_chunks::<PANEL>().0);
        let whole = chunks[0].len();
        let chunks = chunks.map(|chunks| &chunks[..whole]);
        let panels = &mut self.all[i / ROWS * self.panels..][..self.panels];
        let (panels, last) = panels.split_at_mut(whole);
        for (p, panel) in panels.iter_mut().enumerate() {
            // One by one: an array of all four would go by way of the stack.
            panel[0] = Line(chunks[0][p]);
            panel[1] = Line(chunks[1][p]);
            panel[2] = Line(chunks[2][p]);
            panel[3] = Line(chunks[3][p]);
        }
        if let [last, ..] = last {
            for (line, row) in last.iter_mut().zip(rows) {
                let rest = &row[whole * PANEL..];
                *line = Line::ZERO;
                line[..rest.len()].copy_from_slice(rest);
            }
        }
    }

    /// Puts zeros in a row's place.
    #[inline(always)]
    pub(super) fn clear(&mut self, i: usize) {
        for panel in &mut self.all[i / ROWS * self.panels..][..self.panels] {
            panel[i % ROWS] = Line::ZERO;
        }
    }
}
