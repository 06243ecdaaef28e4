//! Groups of weights: the ball `Σ_g ω_g ‖w_g‖₂ ≤ R`, which switches whole groups off, and the
//! product of balls `‖w_g‖₂ ≤ R`, which bounds each group on its own.

use super::norm::lp_norm;
use super::project_onto_ball;
use super::threshold::level;

/// The groups of `w` in order.
pub(super) fn split<'a>(w: &'a [f64], sizes: &'a [usize]) -> impl Iterator<Item = &'a [f64]> + 'a {
    let mut rest = w;
    sizes.iter().map(move |&size| {
        let (group, tail) = rest.split_at(size.min(rest.len()));
        rest = tail;
        group
    })
}

fn for_each_mut(w: &mut [f64], sizes: &[usize], mut each: impl FnMut(usize, &mut [f64])) {
    let mut rest = w;
    for (g, &size) in sizes.iter().enumerate() {
        let (group, tail) = rest.split_at_mut(size.min(rest.len()));
        each(g, group);
        rest = tail;
    }
}

/// Moves `w` to the nearest point with `Σ_g weight_g ‖w_g‖₂ ≤ radius`; weights are one where none
/// are given.
///
/// A group keeps its direction; with `a_g = ‖w_g‖` its new norm is
/// `(a_g − τ ω_g)₊ = ω_g (a_g/ω_g − τ)₊`, and `τ` solves `Σ ω_g² (a_g/ω_g − τ)₊ = R`, the search of
/// the l1 ball with weights.
pub fn project_onto_group_ball(
    w: &mut [f64],
    radius: f64,
    sizes: &[usize],
    weights: Option<&[f64]>,
) {
    let weight = |g: usize| weights.map_or(1.0, |weights| weights[g]);
    let norms: Vec<f64> = split(w, sizes).map(|group| lp_norm(group, 2.0)).collect();
    if gauge_of_norms(&norms, weights) <= radius {
        return;
    }
    let mut entries: Vec<(f64, f64)> =
        norms.iter().enumerate().map(|(g, a)| (a / weight(g), weight(g) * weight(g))).collect();
    let level = level(&mut entries, radius);
    for_each_mut(w, sizes, |g, group| {
        let kept = weight(g) * level.excess(norms[g] / weight(g));
        if norms[g] > 0.0 {
            for x in group {
                *x = *x / norms[g] * kept;
            }
        }
    });
}

/// Moves `w` to the nearest point with `‖w_g‖₂ ≤ radius` for every group.
pub fn project_onto_product(w: &mut [f64], radius: f64, sizes: &[usize]) {
    for_each_mut(w, sizes, |_, group| project_onto_ball(group, radius));
}

fn gauge_of_norms(norms: &[f64], weights: Option<&[f64]>) -> f64 {
    match weights {
        None => norms.iter().sum(),
        Some(weights) => norms.iter().zip(weights).map(|(a, w)| a * w).sum(),
    }
}

/// `Σ ω_g ‖v_g‖/R`.
pub(super) fn ball_gauge(v: &[f64], radius: f64, sizes: &[usize], weights: Option<&[f64]>) -> f64 {
    let norms: Vec<f64> = split(v, sizes).map(|group| lp_norm(group, 2.0)).collect();
    gauge_of_norms(&norms, weights) / radius
}

/// `R max_g ‖v_g‖/ω_g`.
pub(super) fn ball_support(
    v: &[f64],
    radius: f64,
    sizes: &[usize],
    weights: Option<&[f64]>,
) -> f64 {
    let largest = split(v, sizes)
        .enumerate()
        .fold(0.0_f64, |m, (g, group)| m.max(lp_norm(group, 2.0) / weights.map_or(1.0, |w| w[g])));
    radius * largest
}

/// `max_g ‖v_g‖/R`.
pub(super) fn product_gauge(v: &[f64], radius: f64, sizes: &[usize]) -> f64 {
    split(v, sizes).fold(0.0_f64, |m, group| m.max(lp_norm(group, 2.0))) / radius
}

/// `R Σ_g ‖v_g‖`.
pub(super) fn product_support(v: &[f64], radius: f64, sizes: &[usize]) -> f64 {
    radius * split(v, sizes).map(|group| lp_norm(group, 2.0)).sum::<f64>()
}
