//! From a pair to masses on a grid: fine where the law is, coarse where it is not.
//!
//! Splitting the mass of a cell of width `w` onto its ends adds variance of at most `w²/4`, about
//! `w²/6` on average, and raises `ε` by about `T(θ+1)/2` times that. So only cells that carry
//! (tilted) mass need to be narrow. With `ρ` the tilted density, widths proportional to `ρ^{−1/3}`
//! reach a given variance with the fewest evaluations of the profile. Points still lie on the grid
//! `i·h`, as the Fourier transform wants, and any choice of them is an upper bound: the theorem of
//! [`super::law`] asks nothing of the points.

use super::law::Law;
use crate::pair::{Knots, Pair};

/// Where a law must be fine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Focus {
    /// The tilt that centres the sum at the answer.
    pub(super) theta: f64,
    /// How many losses are added.
    pub(super) count: f64,
    /// The `δ` of the answer.
    pub(super) delta: f64,
    /// The spacing of the grid.
    pub(super) step: f64,
    /// The mean squared width to aim at.
    pub(super) budget: f64,
}

/// A law whose losses are multiples of `step`.
#[derive(Clone, Debug)]
pub(super) struct GridLaw {
    pub(super) indices: Vec<i64>,
    pub(super) law: Law,
    /// A mass at the last of these losses that is not among the masses ([`super::leap`]).
    pub(super) leap: f64,
}

/// The law through the knots themselves, a rough one for guesses; and the knots without the ends
/// beyond which the profile says that less than `tail` is left.
pub(super) fn rough(pair: &Pair, knots: Knots, tail: f64) -> (Law, Knots) {
    let Knots { mut points, kinks, linear } = knots;
    if !points.contains(&0.0) {
        points.push(0.0);
    }
    points.sort_by(f64::total_cmp);
    let span = points[points.len() - 1] - points[0];
    // Zero stays, once: twice would leave a cell of no width, whose mass is not a number.
    points.dedup_by(|b, a| *b == *a || *b != 0.0 && *a != 0.0 && *b - *a < 1e-9 * span);
    if points.len() < 2 {
        points.push(1.0);
    }
    let values = Law::values(pair, &points);
    let (mut first, mut last) = (0, points.len() - 1);
    while first + 2 < last && points[first + 1] < 0.0 && values[first + 1] <= tail {
        first += 1;
    }
    while last > first + 2 && points[last - 1] > 0.0 && values[last - 1] <= tail {
        last -= 1;
    }
    let points = points[first..=last].to_vec();
    let law = Law::through(pair, points.clone(), &values[first..=last]);
    let kinks =
        kinks.into_iter().filter(|k| (points[0]..=points[points.len() - 1]).contains(k)).collect();
    (law, Knots { points, kinks, linear })
}

/// The law of `pair` on multiples of the step, with the mean squared width that `focus` asks for.
pub(super) fn refine(pair: &Pair, knots: &Knots, rough: &Law, focus: Focus) -> GridLaw {
    let step = focus.step;
    // Far below the largest integer, so that the sums below stay exact; any grid gives an upper
    // bound.
    let index = |e: f64| ((e / step).floor() as i64).clamp(-(1 << 60), 1 << 60);
    let mut indices = vec![0];
    for kink in &knots.kinks {
        indices.extend([index(*kink), index(*kink) + 1]);
    }
    let (first, last) = (knots.points[0], knots.points[knots.points.len() - 1]);
    indices.extend([index(first), index(last) + 1]);
    if !knots.linear {
        let widths = widths(rough, focus);
        let mut here = index(first);
        for (cell, width) in rough.losses.windows(2).zip(&widths) {
            let gap = ((width / step) as i64).max(1);
            let end = index(cell[1]) + 1;
            while here + gap <= end {
                here += gap;
                indices.push(here);
            }
        }
    }
    indices.sort_unstable();
    indices.dedup();
    if indices.len() < 2 {
        indices.push(1);
    }
    let law = Law::connect(pair, indices.iter().map(|&i| i as f64 * step).collect());
    GridLaw { indices, law, leap: 0.0 }
}

/// The width allowed in each cell of `rough`.
///
/// The width follows from the tilted law and, where losses are heavy-tailed and the answer is due
/// to one rare step rather than to the drift of many, the chance of a step of that size relative to
/// `δ`.
fn widths(rough: &Law, focus: Focus) -> Vec<f64> {
    let Focus { theta, step, budget, .. } = focus;
    let normaliser = rough.log_moment(theta);
    let tilted: Vec<f64> = rough
        .losses
        .iter()
        .zip(&rough.masses)
        .map(|(e, m)| (theta * e - normaliser + m.max(1e-300).ln()).exp())
        .collect();
    let mut above = rough.infinite;
    let mut rare = vec![0.0; tilted.len()];
    for i in (0..tilted.len()).rev() {
        above += rough.masses[i];
        if rough.losses[i] > 0.0 {
            rare[i] = rough.masses[i] / (focus.count * above).max(focus.delta);
        }
    }
    let weights: Vec<f64> = tilted.iter().zip(&rare).map(|(t, r)| t + r).collect();
    let cells: Vec<(f64, f64, f64)> = rough
        .losses
        .windows(2)
        .zip(weights.windows(2))
        .map(|(e, m)| {
            let width = e[1] - e[0];
            let mass = 0.5 * (m[0] + m[1]);
            (mass, width, (mass / width).max(1e-60).powf(-1.0 / 3.0))
        })
        .collect();
    let width =
        |scale: f64, cell: &(f64, f64, f64)| (scale * cell.2).clamp(step, step.max(2.0 * cell.1));
    let spent = |scale: f64| cells.iter().map(|c| c.0 * width(scale, c).powi(2)).sum::<f64>();
    let (mut low, mut high) = (0.0, step);
    for _ in 0..200 {
        if spent(high) > budget
            || !high.is_finite()
            || cells.iter().all(|c| width(high, c) >= 2.0 * c.1)
        {
            break;
        }
        low = high;
        high *= 2.0;
    }
    for _ in 0..12 {
        let middle = 0.5 * (low + high);
        if spent(middle) > budget { high = middle } else { low = middle }
    }
    cells.iter().map(|c| width(low, c)).collect()
}
