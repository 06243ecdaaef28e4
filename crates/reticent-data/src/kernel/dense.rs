//! Dense rows: four at a time, so that weights and sums are read from the cache once for four rows.
//!
//! Lanes are written out as arrays. The compiler turns them into vector registers of whatever width the machine
//! has, and the order of additions stays the one written here.

use std::ops::Range;

use reticent_problem::loss::{LinearLoss, Softmax};

use super::{BLOCK, Slope, Sums};
use crate::Dense;

/// Rows taken together.
const ROWS: usize = 4;
/// Partial sums of a dot product.
const LANES: usize = 8;

/// A stored feature.
pub(crate) trait Element: Copy + Send + Sync {
    /// The same number in double precision.
    fn wide(self) -> f64;
}

impl Element for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Element for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

/// Adds the gradients of the rows in `range` to `sums`.
#[inline(always)]
pub(crate) fn linear<T: Element>(
    x: &Dense<T>,
    labels: &[f64],
    w: &[f64],
    range: Range<usize>,
    slope: Slope<impl LinearLoss>,
    sums: &mut Sums<'_>,
) {
    let mut start = range.start;
    while start < range.end {
        let end = (start + BLOCK).min(range.end);
        let mut i = start;
        while i + ROWS <= end {
            let rows = [x.row(i), x.row(i + 1), x.row(i + 2), x.row(i + 3)];
            let m = dots(rows, w);
            let mut c = [0.0; ROWS];
            for r in 0..ROWS {
                c[r] = slope.at(m[r], labels[i + r]);
            }
            add_scaled(rows, c, sums.block());
            i += ROWS;
        }
        while i < end {
            let row = [x.row(i)];
            let [m] = dots(row, w);
            add_scaled(row, [slope.at(m, labels[i])], sums.block());
            i += 1;
        }
        sums.close_block();
        start = end;
    }
}

/// Adds the softmax gradients of the rows in `range` to `sums`, one block of weights for each class.
#[inline(always)]
pub(crate) fn softmax<T: Element>(
    x: &Dense<T>,
    labels: &[f64],
    w: &[f64],
    range: Range<usize>,
    loss: Softmax,
    sums: &mut Sums<'_>,
) {
    let d = x.columns();
    let mut residual = vec![0.0; ROWS * loss.classes];
    let mut start = range.start;
    while start < range.end {
        let end = (start + BLOCK).min(range.end);
        let mut i = start;
        while i + ROWS <= end {
            let rows = [x.row(i), x.row(i + 1), x.row(i + 2), x.row(i + 3)];
            for (k, w) in w.chunks_exact(d).enumerate() {
                let m = dots(rows, w);
                for r in 0..ROWS {
                    residual[r * loss.classes + k] = m[r];
                }
            }
            for (r, residual) in residual.chunks_exact_mut(loss.classes).enumerate() {
                loss.residual(residual, labels[i + r] as usize);
            }
            for (k, sum) in sums.block().chunks_exact_mut(d).enumerate() {
                let mut c = [0.0; ROWS];
                for r in 0..ROWS {
                    c[r] = residual[r * loss.classes + k];
                }
                add_scaled(rows, c, sum);
            }
            i += ROWS;
        }
        while i < end {
            let row = [x.row(i)];
            let residual = &mut residual[..loss.classes];
            for (k, w) in w.chunks_exact(d).enumerate() {
                [residual[k]] = dots(row, w);
            }
            loss.residual(residual, labels[i] as usize);
            for (k, sum) in sums.block().chunks_exact_mut(d).enumerate() {
                add_scaled(row, [residual[k]], sum);
            }
            i += 1;
        }
        sums.close_block();
        start = end;
    }
}

/// Margins of the rows from `first` on, as many as `out` has room for.
#[inline(always)]
pub(crate) fn margins<T: Element>(
    x: &Dense<T>,
    w: &[f64],
    first: usize,
    outputs: usize,
    out: &mut [f64],
) {
    for (i, out) in out.chunks_exact_mut(outputs).enumerate() {
        for (w, out) in w.chunks_exact(x.columns()).zip(out) {
            [*out] = dots([x.row(first + i)], w);
        }
    }
}

/// Dot products of `N` rows with `w`. A row's product does not depend on the rows beside it.
#[inline(always)]
fn dots<T: Element, const N: usize>(rows: [&[T]; N], w: &[f64]) -> [f64; N] {
    let mut lanes = [[0.0; LANES]; N];
    let (w_chunks, w_rest) = w.as_chunks::<LANES>();
    let split = rows.map(|row| row[..w.len()].as_chunks::<LANES>());
    for (j, w) in w_chunks.iter().enumerate() {
        for r in 0..N {
            let x = &split[r].0[j];
            for l in 0..LANES {
                lanes[r][l] = x[l].wide().mul_add(w[l], lanes[r][l]);
            }
        }
    }
    let mut out = [0.0; N];
    for r in 0..N {
        let mut rest = 0.0;
        for (x, w) in split[r].1.iter().zip(w_rest) {
            rest = x.wide().mul_add(*w, rest);
        }
        let [a, b, c, d, e, f, g, h] = lanes[r];
        out[r] = (((a + e) + (c + g)) + ((b + f) + (d + h))) + rest;
    }
    out
}

/// `sum += Σ_r c_r row_r`.
#[inline(always)]
fn add_scaled<T: Element, const N: usize>(rows: [&[T]; N], c: [f64; N], sum: &mut [f64]) {
    let d = sum.len();
    let rows = rows.map(|row| &row[..d]);
    for (j, s) in sum.iter_mut().enumerate() {
        for r in 0..N {
            *s = rows[r][j].wide().mul_add(c[r], *s);
        }
    }
}
