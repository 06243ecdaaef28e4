//! One row at a time, whatever its numbers: for rows whose gradient lies outside the range of the
//! fast way.

use reticent_problem::Problem;

use super::{LossHead, MARGIN};
use crate::{Features, Rows};

/// Rows added up before their sum is added to the total.
pub(super) const BLOCK: usize = 256;

/// Adds the clipped gradients of `batch` to `into`.
///
/// # Numerics
///
/// The norm is taken of the gradient divided by its largest entry, so that neither overflows; the
/// scaled gradient is formed as `(g / peak / shape) · limit`, never by way of a factor that might
/// be subnormal and round up.
#[cold]
pub(super) fn add(
    rows: &Rows,
    problem: &Problem,
    batch: impl Iterator<Item = usize>,
    clip: f64,
    w: &[f64],
    into: &mut [f64],
) {
    let limit = clip * (1.0 - MARGIN);
    let mut gradient = vec![0.0; into.len()];
    let mut block = vec![0.0; into.len()];
    let mut x = vec![0.0; problem.features];
    let mut close = |block: &mut [f64]| {
        into.iter_mut().zip(block).for_each(|(s, b)| {
            *s += *b;
            *b = 0.0;
        });
    };
    for (done, i) in batch.enumerate() {
        if done % BLOCK == BLOCK - 1 {
            close(&mut block);
        }
        write(rows, i, &mut x);
        of_row(problem, &x, rows.labels()[i], w, &mut gradient);
        let peak = gradient
            .iter()
            .fold(0.0, |peak: f64, g| if g.is_nan() { f64::INFINITY } else { peak.max(g.abs()) });
        if !peak.is_finite() || peak == 0.0 {
            continue;
        }
        let shape = gradient.iter().map(|g| (g / peak) * (g / peak)).sum::<f64>().sqrt();
        if peak <= limit / shape {
            block.iter_mut().zip(&gradient).for_each(|(s, g)| *s += g);
        } else {
            block.iter_mut().zip(&gradient).for_each(|(s, g)| *s += g / peak / shape * limit);
        }
    }
    close(&mut block);
}

/// The features of a row, written out.
pub(in crate::kernel) fn write(rows: &Rows, i: usize, x: &mut [f64]) {
    match rows.features() {
        Features::F32(table) => {
            x.iter_mut().zip(table.row(i)).for_each(|(x, v)| *x = f64::from(*v));
        }
        Features::F64(table) => x.copy_from_slice(table.row(i)),
        Features::Sparse(table) => {
            x.fill(0.0);
            let (indices, values) = table.row(i);
            indices.iter().zip(values).for_each(|(&j, &v)| x[j as usize] = v);
        }
        Features::Mapped(table) => x.copy_from_slice(&table.row(i)),
    }
}

/// The gradient of a row, written out.
fn of_row(problem: &Problem, x: &[f64], label: f64, w: &[f64], gradient: &mut [f64]) {
    let dot = |w: &[f64], x: &[f64]| w.iter().zip(x).fold(0.0, |s, (w, x)| x.mul_add(*w, s));
    let outer = |residual: &[f64], x: &[f64], into: &mut [f64]| {
        for (r, into) in residual.iter().zip(into.chunks_exact_mut(x.len())) {
            into.iter_mut().zip(x).for_each(|(g, x)| *g = r * x);
        }
    };
    let head = LossHead::new(problem);
    let d = problem.features;
    let Some(width) = problem.hidden else {
        let mut residual: Vec<f64> = w.chunks_exact(d).map(|w| dot(w, x)).collect();
        head.residuals(&mut residual, &[label]);
        return outer(&residual, x, gradient);
    };
    let (first, second) = w.split_at(width * d);
    let mut units: Vec<f64> = first.chunks_exact(d).map(|w| dot(w, x).tanh()).collect();
    units.push(1.0);
    let mut residual: Vec<f64> = second.chunks_exact(width + 1).map(|w| dot(w, &units)).collect();
    head.residuals(&mut residual, &[label]);
    let back = |u: usize| -> f64 {
        let sum = |s: f64, (w, r): (&[f64], &f64)| r.mul_add(w[u], s);
        second.chunks_exact(width + 1).zip(&residual).fold(0.0, sum)
    };
    let deltas: Vec<f64> = (0..width).map(|u| back(u) * (1.0 - units[u] * units[u])).collect();
    let (into_first, into_second) = gradient.split_at_mut(width * d);
    outer(&deltas, x, into_first);
    outer(&residual, &units, into_second);
}
