//! Dense rows: four at a time, so that weights and sums are read from the cache once for four rows.
//!
//! Lanes are written out as arrays. The compiler turns them into vector registers of whatever width
//! the machine has, and the order of additions stays the one written here.

use std::ops::Range;

use super::{Derivative, Sums};
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
///
/// The range is cut into four quarters and a row of each is taken together, so that the memory is
/// read as four long streams. Four rows are added to the sum while the margins of the next four are
/// computed: the former are in the cache, the latter come from memory, and neither waits for the
/// other.
#[inline(always)]
pub(crate) fn linear<T: Element>(
    x: &Dense<T>,
    labels: &[f64],
    w: &[f64],
    range: Range<usize>,
    derivative: Derivative,
    sums: &mut Sums<'_>,
) {
    let quarter = range.len() / ROWS;
    let index = |group: usize, r: usize| range.start + r * quarter + group;
    let mut m = if quarter > 0 { dots(four(x, range.start, quarter), w) } else { [0.0; ROWS] };
    for group in 0..quarter {
        let mut y = [0.0; ROWS];
        for r in 0..ROWS {
            y[r] = labels[index(group, r)];
        }
        let c = derivative.slopes(m, y);
        let rows = four(x, index(group, 0), quarter);
        if group + 1 < quarter {
            let next = four(x, index(group + 1, 0), quarter);
            m = add_scaled_and_dots(rows, c, sums.block(), next, w);
        } else {
            add_scaled(rows, c, sums.block());
        }
        sums.hold(ROWS);
    }
    let rest = range.start + ROWS * quarter..range.end;
    for (i, &label) in rest.clone().zip(&labels[rest]) {
        let row = [x.row(i)];
        let [m] = dots(row, w);
        add_scaled(row, [derivative.slope(m, label)], sums.block());
        sums.hold(1);
    }
}

/// Adds the rows in `range`, behind them their squares, and last their labels, to `sums`.
#[inline(always)]
pub(crate) fn moments<T: Element>(
    x: &Dense<T>,
    labels: &[f64],
    range: Range<usize>,
    sums: &mut Sums<'_>,
) {
    for i in range {
        let (first, rest) = sums.block().split_at_mut(x.columns());
        let (second, label) = rest.split_at_mut(x.columns());
        label[0] += labels[i];
        for ((x, a), b) in x.row(i).iter().zip(first).zip(second) {
            let x = x.wide();
            *a += x;
            *b = x.mul_add(x, *b);
        }
        sums.hold(1);
    }
}

#[inline(always)]
fn four<T>(x: &Dense<T>, i: usize, apart: usize) -> [&[T]; ROWS] {
    [x.row(i), x.row(i + apart), x.row(i + 2 * apart), x.row(i + 3 * apart)]
}

/// Adds the gradients of the rows in `range` to `sums`, one block of weights for each class.
#[inline(always)]
pub(crate) fn multi<T: Element>(
    x: &Dense<T>,
    labels: &[f64],
    w: &[f64],
    range: Range<usize>,
    derivative: Derivative,
    sums: &mut Sums<'_>,
) {
    let (d, outputs) = (x.columns(), derivative.outputs());
    let mut residual = vec![0.0; ROWS * outputs];
    let mut i = range.start;
    while i + ROWS <= range.end {
        let rows = [x.row(i), x.row(i + 1), x.row(i + 2), x.row(i + 3)];
        for (k, w) in w.chunks_exact(d).enumerate() {
            let m = dots(rows, w);
            for r in 0..ROWS {
                residual[r * outputs + k] = m[r];
            }
        }
        derivative.of_block(&mut residual, &labels[i..i + ROWS]);
        for (k, sum) in sums.block().chunks_exact_mut(d).enumerate() {
            let mut c = [0.0; ROWS];
            for r in 0..ROWS {
                c[r] = residual[r * outputs + k];
            }
            add_scaled(rows, c, sum);
        }
        sums.hold(ROWS);
        i += ROWS;
    }
    while i < range.end {
        let row = [x.row(i)];
        let residual = &mut residual[..outputs];
        for (k, w) in w.chunks_exact(d).enumerate() {
            [residual[k]] = dots(row, w);
        }
        derivative.of_block(residual, &labels[i..=i]);
        for (k, sum) in sums.block().chunks_exact_mut(d).enumerate() {
            add_scaled(row, [residual[k]], sum);
        }
        sums.hold(1);
        i += 1;
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
pub(super) fn dots<T: Element, const N: usize>(rows: [&[T]; N], w: &[f64]) -> [f64; N] {
    // Not `rows.map(..)`: that is a call of its own, compiled without the wide registers.
    let mut out = [0.0; N];
    for r in 0..N {
        let mut lanes = [0.0; LANES];
        let (x_chunks, x_rest) = rows[r].as_chunks::<LANES>();
        let (w_chunks, w_rest) = w.as_chunks::<LANES>();
        for (x, w) in x_chunks.iter().zip(w_chunks) {
            for l in 0..LANES {
                lanes[l] = x[l].wide().mul_add(w[l], lanes[l]);
            }
        }
        out[r] = total(lanes, x_rest, w_rest);
    }
    out
}

/// `‖x‖²`.
#[inline(always)]
pub(super) fn square<T: Element>(x: &[T]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for x in chunks {
        for l in 0..LANES {
            lanes[l] = x[l].wide().mul_add(x[l].wide(), lanes[l]);
        }
    }
    square_total(lanes, rest)
}

/// `⟨w, x⟩` and `‖x‖²`, as [`dots`] and [`square`] give them, reading the row once.
#[inline(always)]
pub(super) fn dot_and_square<T: Element>(x: &[T], w: &[f64]) -> (f64, f64) {
    let (mut dot, mut square) = ([0.0; LANES], [0.0; LANES]);
    let (x_chunks, x_rest) = x.as_chunks::<LANES>();
    let (w_chunks, w_rest) = w.as_chunks::<LANES>();
    for (x, w) in x_chunks.iter().zip(w_chunks) {
        for l in 0..LANES {
            dot[l] = x[l].wide().mul_add(w[l], dot[l]);
            square[l] = x[l].wide().mul_add(x[l].wide(), square[l]);
        }
    }
    (total(dot, x_rest, w_rest), square_total(square, x_rest))
}

/// The margins `⟨w, x⟩` and the squares `‖x‖²` of four rows, each as [`dot_and_square`] gives it.
///
/// Two rows at a time are read, as many as the registers hold the lanes of; then all eight sums are
/// added up together.
#[inline(always)]
pub(super) fn dots_and_squares<T: Element>(
    rows: [&[T]; ROWS],
    w: &[f64],
) -> ([f64; ROWS], [f64; ROWS]) {
    let (w_chunks, w_rest) = w.as_chunks::<LANES>();
    let (count, done) = (w_chunks.len(), w_chunks.len() * LANES);
    let (mut dots, mut squares) = ([[0.0; LANES]; ROWS], [[0.0; LANES]; ROWS]);
    for r in [0, 2] {
        let (x0, x1) = (lanes_of(rows[r], count), lanes_of(rows[r + 1], count));
        let (mut d0, mut d1, mut s0, mut s1) =
            ([0.0; LANES], [0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for j in 0..count {
            for l in 0..LANES {
                d0[l] = x0[j][l].wide().mul_add(w_chunks[j][l], d0[l]);
                s0[l] = x0[j][l].wide().mul_add(x0[j][l].wide(), s0[l]);
            }
            for l in 0..LANES {
                d1[l] = x1[j][l].wide().mul_add(w_chunks[j][l], d1[l]);
                s1[l] = x1[j][l].wide().mul_add(x1[j][l].wide(), s1[l]);
            }
        }
        (dots[r], dots[r + 1], squares[r], squares[r + 1]) = (d0, d1, s0, s1);
    }
    let (mut dot_rest, mut square_rest) = ([0.0; ROWS], [0.0; ROWS]);
    let ends = [&rows[0][done..], &rows[1][done..], &rows[2][done..], &rows[3][done..]];
    for (j, w) in w_rest.iter().enumerate() {
        for r in 0..ROWS {
            let x = ends[r][j].wide();
            dot_rest[r] = x.mul_add(*w, dot_rest[r]);
            square_rest[r] = x.mul_add(x, square_rest[r]);
        }
    }
    (add_up_four(dots, dot_rest), add_up_four(squares, square_rest))
}

/// [`add_up`] for each of four rows.
#[inline(always)]
fn add_up_four(lanes: [[f64; LANES]; ROWS], rest: [f64; ROWS]) -> [f64; ROWS] {
    const HALF: usize = LANES / 2;
    let lanes = std::hint::black_box(lanes); // as there
    let mut halves = [[0.0; HALF]; ROWS];
    for r in 0..ROWS {
        for l in 0..HALF {
            halves[r][l] = lanes[r][l] + lanes[r][l + HALF];
        }
    }
    let mut out = [0.0; ROWS];
    for r in 0..ROWS {
        let [a, b, c, d] = halves[r];
        out[r] = ((a + c) + (b + d)) + rest[r];
    }
    out
}

/// The lanes of a square added up, and the entries that filled no lane.
#[inline(always)]
fn square_total<T: Element>(lanes: [f64; LANES], rest: &[T]) -> f64 {
    let mut last = 0.0;
    for x in rest {
        last = x.wide().mul_add(x.wide(), last);
    }
    add_up(lanes, last)
}

/// The lanes of a dot product added up, and the entries that filled no lane.
#[inline(always)]
fn total<T: Element>(lanes: [f64; LANES], x_rest: &[T], w_rest: &[f64]) -> f64 {
    let mut rest = 0.0;
    for (x, w) in x_rest.iter().zip(w_rest) {
        rest = x.wide().mul_add(*w, rest);
    }
    add_up(lanes, rest)
}

/// The sum of all lanes and `rest`.
#[inline(always)]
fn add_up(lanes: [f64; LANES], rest: f64) -> f64 {
    // The additions are kept out of the compiler's sight: seeing them, it halves the width of the
    // loop before.
    let [a, b, c, d, e, f, g, h] = std::hint::black_box(lanes);
    (((a + e) + (c + g)) + ((b + f) + (d + h))) + rest
}

/// [`add_scaled`] of `rows` and [`dots`] of `next`, chunk by chunk.
#[inline(always)]
fn add_scaled_and_dots<T: Element>(
    rows: [&[T]; ROWS],
    c: [f64; ROWS],
    sum: &mut [f64],
    next: [&[T]; ROWS],
    w: &[f64],
) -> [f64; ROWS] {
    let (w_chunks, w_rest) = w.as_chunks::<LANES>();
    let chunks = w_chunks.len();
    let (sum_chunks, sum_rest) = sum.as_chunks_mut::<LANES>();
    let sum_chunks = &mut sum_chunks[..chunks];
    let [r0, r1, r2, r3] = rows;
    let (r0, r1, r2, r3) =
        (lanes_of(r0, chunks), lanes_of(r1, chunks), lanes_of(r2, chunks), lanes_of(r3, chunks));
    let [n0, n1, n2, n3] = next;
    let (n0, n1, n2, n3) =
        (lanes_of(n0, chunks), lanes_of(n1, chunks), lanes_of(n2, chunks), lanes_of(n3, chunks));
    let (mut m0, mut m1, mut m2, mut m3) = ([0.0; LANES], [0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for j in 0..chunks {
        let w = &w_chunks[j];
        multiply_add(&mut m0, &n0[j], w);
        multiply_add(&mut m1, &n1[j], w);
        multiply_add(&mut m2, &n2[j], w);
        multiply_add(&mut m3, &n3[j], w);
        let mut s = sum_chunks[j];
        multiply_add(&mut s, &r0[j], &[c[0]; LANES]);
        multiply_add(&mut s, &r1[j], &[c[1]; LANES]);
        multiply_add(&mut s, &r2[j], &[c[2]; LANES]);
        multiply_add(&mut s, &r3[j], &[c[3]; LANES]);
        sum_chunks[j] = s;
    }
    let done = chunks * LANES;
    add_scaled(
        [&rows[0][done..], &rows[1][done..], &rows[2][done..], &rows[3][done..]],
        c,
        sum_rest,
    );
    [
        total(m0, &next[0][done..], w_rest),
        total(m1, &next[1][done..], w_rest),
        total(m2, &next[2][done..], w_rest),
        total(m3, &next[3][done..], w_rest),
    ]
}

#[inline(always)]
fn lanes_of<T>(row: &[T], chunks: usize) -> &[[T; LANES]] {
    &row.as_chunks::<LANES>().0[..chunks]
}

#[inline(always)]
fn multiply_add<T: Element>(lanes: &mut [f64; LANES], x: &[T; LANES], w: &[f64; LANES]) {
    for l in 0..LANES {
        lanes[l] = x[l].wide().mul_add(w[l], lanes[l]);
    }
}

/// `sum += Σ_r c_r row_r`.
#[inline(always)]
pub(super) fn add_scaled<T: Element, const N: usize>(
    rows: [&[T]; N],
    c: [f64; N],
    sum: &mut [f64],
) {
    scaled::<T, N, false>(rows, c, sum);
}

/// `sum = Σ_r c_r row_r`, as [`add_scaled`] gives it on a sum of zeros.
#[inline(always)]
pub(super) fn set_scaled<T: Element, const N: usize>(
    rows: [&[T]; N],
    c: [f64; N],
    sum: &mut [f64],
) {
    scaled::<T, N, true>(rows, c, sum);
}

#[inline(always)]
fn scaled<T: Element, const N: usize, const FRESH: bool>(
    rows: [&[T]; N],
    c: [f64; N],
    sum: &mut [f64],
) {
    let (chunks, rest) = sum.as_chunks_mut::<LANES>();
    let (count, done) = (chunks.len(), chunks.len() * LANES);
    let mut lanes: [&[[T; LANES]]; N] = [&[]; N];
    let mut ends: [&[T]; N] = [&[]; N];
    for r in 0..N {
        lanes[r] = lanes_of(rows[r], count);
        ends[r] = &rows[r][done..done + rest.len()];
    }
    for (j, sum) in chunks.iter_mut().enumerate() {
        let mut s = if FRESH { [0.0; LANES] } else { *sum };
        for r in 0..N {
            multiply_add(&mut s, &lanes[r][j], &[c[r]; LANES]);
        }
        *sum = s;
    }
    for (j, sum) in rest.iter_mut().enumerate() {
        let mut s = if FRESH { 0.0 } else { *sum };
        for r in 0..N {
            s = ends[r][j].wide().mul_add(c[r], s);
        }
        *sum = s;
    }
}
