//! Weight vectors as a model has them, rounded and put in the order that products want.

use std::array::from_fn;
use std::ops::Range;

use super::real::{PANEL, Real};
use super::tiles::PanelLine;

/// Weight vectors as the model has them.
#[derive(Clone, Copy)]
pub(super) enum Vectors<'a> {
    /// One after the other, each this many numbers after the one before.
    Rows(&'a [f64], usize),
    /// Side by side: the columns lie this many numbers apart.
    Columns(&'a [f64], usize),
}

impl Vectors<'_> {
    /// Entry `c` of vector `k`.
    #[inline(always)]
    fn entry(self, k: usize, c: usize) -> f64 {
        match self {
            Self::Rows(w, apart) => w[k * apart + c],
            Self::Columns(w, apart) => w[c * apart + k],
        }
    }

    /// Writes vector `k` of some `columns`.
    pub(super) fn write_along<T: Real>(self, k: usize, columns: usize, into: &mut [PanelLine<T>]) {
        match self {
            Self::Rows(w, apart) => {
                let entries = w[k * apart..][..columns].chunks(PANEL);
                for (line, entries) in into.iter_mut().zip(entries) {
                    line.iter_mut().zip(entries).for_each(|(place, w)| *place = T::narrow(*w));
                }
            }
            Self::Columns(..) => {
                let places = into.iter_mut().flat_map(|line| &mut line.0).take(columns);
                for (c, place) in places.enumerate() {
                    *place = T::narrow(self.entry(k, c));
                }
            }
        }
    }

    /// Writes the columns of the vectors `k` one after the other, each `width` numbers after the
    /// one before.
    pub(super) fn write_across<T: Real>(
        self,
        k: Range<usize>,
        columns: Range<usize>,
        width: usize,
        into: &mut [T],
    ) {
        let mut done = (0, 0);
        if let Self::Rows(w, apart) = self {
            // Four by four: a column of four vectors is written in one go.
            done = (k.len() / 4 * 4, columns.len() / 4 * 4);
            for i in (0..done.0).step_by(4) {
                let row = |r: usize| &w[(k.start + i + r) * apart..][columns.clone()];
                let rows: [&[[f64; 4]]; 4] = from_fn(|r| row(r).as_chunks::<4>().0);
                for (j, four) in into.chunks_exact_mut(4 * width).take(done.1 / 4).enumerate() {
                    let four = four.as_chunks_mut::<4>().0;
                    let mut tile = [[T::ZERO; 4]; 4];
                    for r in 0..4 {
                        for c in 0..4 {
                            tile[c][r] = T::narrow(rows[r][j][c]);
                        }
                    }
                    for c in 0..4 {
                        four[(c * width + i) / 4] = tile[c];
                    }
                }
            }
        }
        // The remainder: a last vector or some in all columns, then a last column or some.
        let whole = if done.0 == k.len() { done.1 } else { 0 };
        let left = columns.zip(into.chunks_exact_mut(width)).enumerate().skip(whole);
        for (j, (c, into)) in left {
            let from = if j < done.1 { done.0 } else { 0 };
            for (k, into) in k.clone().zip(into).skip(from) {
                *into = T::narrow(self.entry(k, c));
            }
        }
    }
}
