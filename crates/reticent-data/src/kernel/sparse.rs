//! Sparse rows: work proportional to the stored entries.

use std::ops::Range;

use super::{BLOCK, Derivative, Sums};
use crate::Csr;

/// Adds the gradients of the rows in `range` to `sums`.
#[inline(always)]
pub(crate) fn linear(
    x: &Csr,
    labels: &[f64],
    w: &[f64],
    range: Range<usize>,
    derivative: Derivative,
    sums: &mut Sums<'_>,
) {
    let mut start = range.start;
    while start < range.end {
        let end = (start + BLOCK).min(range.end);
        for (i, &label) in (start..end).zip(&labels[start..end]) {
            let (indices, values) = x.row(i);
            let c = derivative.slope(dot(indices, values, w), label);
            add_scaled(indices, values, c, sums.block());
        }
        sums.hold(end - start);
        start = end;
    }
}

/// Adds the rows in `range`, behind them their squares, and last their labels, to `sums`.
#[inline(always)]
pub(crate) fn moments(x: &Csr, labels: &[f64], range: Range<usize>, sums: &mut Sums<'_>) {
    for i in range {
        let (indices, values) = x.row(i);
        let (first, rest) = sums.block().split_at_mut(x.columns());
        let (second, label) = rest.split_at_mut(x.columns());
        label[0] += labels[i];
        for (&j, &v) in indices.iter().zip(values) {
            first[j as usize] += v;
            second[j as usize] = v.mul_add(v, second[j as usize]);
        }
        sums.hold(1);
    }
}

/// Adds the gradients of the rows in `range` to `sums`, one block of weights for each class.
#[inline(always)]
pub(crate) fn multi(
    x: &Csr,
    labels: &[f64],
    w: &[f64],
    range: Range<usize>,
    derivative: Derivative,
    sums: &mut Sums<'_>,
) {
    let d = x.columns();
    let mut residual = vec![0.0; derivative.outputs()];
    let mut start = range.start;
    while start < range.end {
        let end = (start + BLOCK).min(range.end);
        for (i, &label) in (start..end).zip(&labels[start..end]) {
            let (indices, values) = x.row(i);
            for (m, w) in residual.iter_mut().zip(w.chunks_exact(d)) {
                *m = dot(indices, values, w);
            }
            derivative.of_block(&mut residual, &[label]);
            for (&c, sum) in residual.iter().zip(sums.block().chunks_exact_mut(d)) {
                add_scaled(indices, values, c, sum);
            }
        }
        sums.hold(end - start);
        start = end;
    }
}

/// Margins of the rows from `first` on, as many as `out` has room for.
#[inline(always)]
pub(crate) fn margins(x: &Csr, w: &[f64], first: usize, outputs: usize, out: &mut [f64]) {
    for (i, out) in out.chunks_exact_mut(outputs).enumerate() {
        let (indices, values) = x.row(first + i);
        for (w, out) in w.chunks_exact(x.columns()).zip(out) {
            *out = dot(indices, values, w);
        }
    }
}

#[inline(always)]
pub(crate) fn dot(indices: &[u32], values: &[f64], w: &[f64]) -> f64 {
    indices.iter().zip(values).fold(0.0, |sum, (&j, &v)| v.mul_add(w[j as usize], sum))
}

#[inline(always)]
pub(crate) fn add_scaled(indices: &[u32], values: &[f64], c: f64, sum: &mut [f64]) {
    for (&j, &v) in indices.iter().zip(values) {
        let s = &mut sum[j as usize];
        *s = v.mul_add(c, *s);
    }
}
