//! Sums of clipped gradients over a drawn batch.

mod head;

use reticent_problem::Problem;

pub(crate) use head::Head;

use crate::{Features, Rows};

/// How far the clip norm is undercut, so that rounding of a row's scale cannot exceed it.
const MARGIN: f64 = 1e-12;

/// How much more than the clip norm the computed clipped sum of a batch may move when a row joins or leaves, as a
/// factor: at least `1 + 1e-7`. Public: a function of the problem and the sampling rate.
pub fn clip_rounding(problem: &Problem, rate: f64) -> f64 {
    let batch = 10.0 * rate * problem.rows as f64 + 1000.0;
    let unit = 0.5 * f64::EPSILON;
    let sizes = (problem.features + problem.dimension() / problem.features) as f64;
    1.0 + 1e-7_f64.max(2.0 * batch * batch * unit + 2.0 * sizes * unit)
}

/// `into = Σ clip(∇ℓ(w; xᵢ, yᵢ))` over the rows of `batch`.
pub(crate) fn sum(
    rows: &Rows,
    problem: &Problem,
    batch: &[usize],
    clip: f64,
    w: &[f64],
    into: &mut [f64],
) {
    into.fill(0.0);
    let head = Head::new(problem);
    let d = problem.features;
    let outputs = problem.loss.outputs();
    let limit = clip * (1.0 - MARGIN);
    let mut gradient = vec![0.0; into.len()];
    for &i in batch {
        let x: Vec<f64> = match rows.features() {
            Features::F32(x) => x.row(i).iter().map(|&x| f64::from(x)).collect(),
            Features::F64(x) => x.row(i).to_vec(),
            Features::Sparse(x) => {
                let mut row = vec![0.0; d];
                let (indices, values) = x.row(i);
                indices.iter().zip(values).for_each(|(&j, &v)| row[j as usize] = v);
                row
            }
        };
        let dot = |w: &[f64], x: &[f64]| w.iter().zip(x).fold(0.0, |s, (w, x)| x.mul_add(*w, s));
        if let Some(width) = problem.hidden {
            let (first, second) = w.split_at(width * d);
            let mut h: Vec<f64> = first.chunks_exact(d).map(|w| dot(w, &x).tanh()).collect();
            h.push(1.0);
            let mut residual: Vec<f64> =
                second.chunks_exact(width + 1).map(|w| dot(w, &h)).collect();
            head.residual(&mut residual, rows.labels()[i]);
            for u in 0..width {
                let back: f64 =
                    (0..outputs).map(|k| second[k * (width + 1) + u] * residual[k]).sum();
                let back = back * (1.0 - h[u] * h[u]);
                for (g, x) in gradient[u * d..(u + 1) * d].iter_mut().zip(&x) {
                    *g = back * x;
                }
            }
            for (r, g) in residual.iter().zip(gradient[width * d..].chunks_exact_mut(width + 1)) {
                g.iter_mut().zip(&h).for_each(|(g, h)| *g = r * h);
            }
        } else {
            let mut residual: Vec<f64> = w.chunks_exact(d).map(|w| dot(w, &x)).collect();
            head.residual(&mut residual, rows.labels()[i]);
            for (r, g) in residual.iter().zip(gradient.chunks_exact_mut(d)) {
                g.iter_mut().zip(&x).for_each(|(g, x)| *g = r * x);
            }
        }
        let peak = gradient
            .iter()
            .fold(0.0, |p: f64, g| if g.is_nan() { f64::INFINITY } else { p.max(g.abs()) });
        if !peak.is_finite() || peak == 0.0 {
            continue;
        }
        let shape = gradient.iter().map(|g| (g / peak) * (g / peak)).sum::<f64>().sqrt();
        if peak <= limit / shape {
            into.iter_mut().zip(&gradient).for_each(|(s, g)| *s += g);
        } else {
            into.iter_mut().zip(&gradient).for_each(|(s, g)| *s += g / peak / shape * limit);
        }
    }
}
