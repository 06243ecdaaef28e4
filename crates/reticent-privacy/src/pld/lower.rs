//! A certified lower bound: merge outcomes.
//!
//! # Theorem
//!
//! Merging outcomes lowers every hockey stick, also of products. Cells centred on the grid `i·h`
//! collect masses `P_i` and `Q_i`; the merged loss is `ln(P_i/Q_i) = i·h + r_i` with
//! `|r_i| <= h/2`, in fact `O(h²)`. Let `m` and `v` be mean and variance of `r` under `P`, summed
//! over all steps, and `M` the largest `m_j − min r`. By Bernstein's inequality `Σ r >= m − t`
//! except with probability `η`, where
//!
//! ```text
//! t = M·λ/3 + √((M·λ/3)² + 2vλ),   λ = ln(1/η).
//! ```
//!
//! So `δ(ε) >= δ_grid(ε − m + t) − η`, where `δ_grid` counts the loss `i·h`. Mass may be dropped
//! (given the loss `−∞`) anywhere. Round-off, and the tilted mass that may have wrapped into the
//! window, are subtracted.
//!
//! This bounds the composition of the pairs themselves: how far it lies below the upper bound is
//! what the numerics lose. Whether real data come that close is another question. Some pairs are
//! envelopes that no data attain, and [`Composition::attained`] replaces them by pairs that are.

use super::{
    Composition, Sketch,
    compose::{self, Aim, Tilt},
    grid::GridLaw,
    law::Law,
    saddle::Saddle,
    times::Times,
    window::{Crossing, Window},
};
use crate::pair::Pair;

/// How much finer the grid is than for upper bounds.
const FINER: f64 = 0.3;

/// The share of `δ` given to Bernstein's inequality.
const SHARE: f64 = 1e-6;

/// The composed grid and what the residuals may add to the loss.
struct Merged {
    window: Window,
    shift: f64,
}

impl Composition {
    /// A lower bound on the least `ε >= 0` with `δ(ε) <= delta` for this composition of pairs.
    pub fn epsilon_lower(&self, delta: f64) -> f64 {
        if delta >= 1.0 { 0.0 } else { self.merged_epsilon(delta) }
    }

    /// A lower bound on `δ(epsilon)` of this composition of pairs, for `epsilon >= 0`.
    pub fn delta_lower(&self, epsilon: f64) -> f64 {
        self.merged_delta(epsilon)
    }

    /// Compositions of pairs that real data attain, each of them below this one.
    ///
    /// For a fixed-size batch with a row replaced three pairs of data sets are tried; bounded range
    /// becomes randomised response at half its range, which has that range; a table proves nothing
    /// from below and is left out, which can only lower the result.
    pub fn attained(&self) -> Vec<Self> {
        if self.stops {
            return Vec::new();
        }
        let with = |fixed: &dyn Fn(f64, f64) -> Pair| {
            let terms = self.terms.iter().filter_map(|(pair, times)| {
                let real = match *pair {
                    Pair::Table(_) => return None,
                    Pair::FixedReplace { rate, mu } => fixed(rate, mu),
                    Pair::BoundedRange { epsilon } => Pair::Response { epsilon: 0.5 * epsilon },
                    ref other => other.clone(),
                };
                Some((real, *times))
            });
            Self::new(terms).with_tolerance(self.tolerance)
        };
        let mut found = vec![with(&|rate, mu| Pair::PoissonRemove { rate, mu })];
        if self.terms.iter().any(|(pair, _)| matches!(pair, Pair::FixedReplace { .. })) {
            found.push(with(&|rate, mu| Pair::PoissonAdd { rate, mu }));
            found.push(with(&|rate, mu| Pair::PoissonReplace { rate, mu: 0.5 * mu }));
        }
        found
    }

    fn merged_epsilon(&self, delta: f64) -> f64 {
        if self.terms.is_empty() || self.stops {
            return 0.0;
        }
        // Every loss up to the largest has some mass, however little, so without δ the largest
        // counts.
        if delta <= 0.0 {
            return self.largest_loss() * (1.0 - 1e-11);
        }
        if let [(pair, 1)] = &self.terms[..] {
            return single_epsilon(pair, delta);
        }
        if self.certain_failure() * (1.0 - 1e-12) > delta {
            return f64::INFINITY;
        }
        let sketch = self.sketch(delta);
        let mut saddle = sketch.rough.saddle_for(delta);
        let mut best = 0.0f64;
        for _ in 0..4 {
            let Some(merged) = self.merge(&sketch, saddle, delta.ln()) else { return best };
            match merged.window.epsilon(delta * (1.0 + SHARE)) {
                Crossing::Never => return f64::INFINITY,
                Crossing::Lost => break,
                Crossing::At(epsilon) => {
                    best = best.max(epsilon + merged.shift);
                    if merged.window.theta * (epsilon - saddle.epsilon).abs() <= 2.0 {
                        break;
                    }
                    saddle = sketch.rough.saddle_at(epsilon.max(0.0));
                }
                Crossing::Above(low) => return best.max(low + merged.shift),
                Crossing::Below(low) if low <= 0.0 => break,
                Crossing::Below(low) => {
                    saddle = sketch.rough.saddle_at((low - 4.0 * saddle.deviation).max(0.0));
                }
            }
        }
        best.min(self.largest_loss())
    }

    fn merged_delta(&self, epsilon: f64) -> f64 {
        if self.terms.is_empty() || self.stops {
            return 0.0;
        }
        if let [(pair, 1)] = &self.terms[..] {
            return pair.delta(epsilon) * (1.0 - pair.evaluation_error());
        }
        if epsilon >= self.largest_finite_loss() {
            return self.certain_failure() * (1.0 - 1e-12);
        }
        let mut guess = self.delta_guess(epsilon);
        let mut best = 0.0f64;
        for _ in 0..6 {
            let sketch = self.sketch(guess);
            let saddle = sketch.rough.saddle_at(epsilon);
            let Some(merged) = self.merge(&sketch, saddle, guess.ln()) else { return best };
            let at = epsilon - merged.shift;
            let found = merged.window.delta(at).unwrap_or(0.0);
            best = best.max(found - SHARE * guess);
            if (0.2..50.0).contains(&(found / guess)) || guess <= 1e-250 {
                break;
            }
            guess = (if found > 0.0 { 0.5 * found } else { 1e-3 * guess }).max(1e-250);
        }
        best
    }

    /// The merged law, composed, with everything rounded down.
    fn merge(&self, sketch: &Sketch, saddle: Saddle, log_nominal: f64) -> Option<Merged> {
        let count = self.count();
        let scale = saddle.epsilon.max(0.1 * saddle.deviation);
        let tolerance = FINER * self.tolerance;
        let mut step = self
            .lattice()
            .unwrap_or((12.0 * tolerance * scale / (count * (saddle.theta + 1.0))).sqrt())
            .max(sketch.span() * 4e-6);
        let aim = Aim { epsilon: saddle.epsilon, log_nominal, outside: 1e-11, count };
        let (tilt, _) = Tilt::choose(&sketch.rough, saddle, aim, step);
        let lambda = -(SHARE.ln() + log_nominal);
        for _ in 0..8 {
            let mut terms = Vec::new();
            let (mut mean, mut variance, mut largest) = (0.0, 0.0, 0.0f64);
            for ((pair, times), knots) in self.terms.iter().zip(&sketch.knots) {
                let (first, last) = (knots.points[0], knots.points[knots.points.len() - 1]);
                let cells = merge_cells(pair, first, last, step)?;
                let times = *times as f64;
                mean += times * cells.mean;
                variance += times * cells.variance;
                largest = largest.max(cells.mean - cells.least);
                terms.push((cells.grid, Times::Exactly(times)));
            }
            match compose::convolve(&terms, &sketch.rough, tilt, aim, step) {
                Ok((mut window, _)) => {
                    window.constant = self.certain_failure() * (1.0 - 1e-12);
                    window.slack = -(compose::round_off(count) + 2.0 * aim.outside);
                    let linear = largest * lambda / 3.0;
                    let spread = linear + (linear * linear + 2.0 * variance * lambda).sqrt();
                    return Some(Merged { window, shift: mean - spread });
                }
                Err(factor) => step *= factor,
            }
        }
        None
    }
}

/// The merged cells of one pair.
struct Cells {
    grid: GridLaw,
    mean: f64,
    variance: f64,
    least: f64,
}

/// `None` if there would be too many cells, or fewer than two.
fn merge_cells(pair: &Pair, first: f64, last: f64, step: f64) -> Option<Cells> {
    let (low, high) = ((first / step).floor() as i64, (last / step).ceil() as i64);
    if high - low > 2_000_000 {
        return None;
    }
    let mut grid = GridLaw {
        indices: Vec::new(),
        law: Law { losses: Vec::new(), masses: Vec::new(), infinite: 0.0 },
        leap: 0.0,
    };
    let (mut total, mut sum, mut square, mut least) = (0.0, 0.0, 0.0, f64::INFINITY);
    let mut left = pair.tails((low as f64 - 0.5) * step);
    for i in low..=high {
        let right = pair.tails((i as f64 + 0.5) * step);
        // Each difference on the side where the tails are small.
        let cell = |above: [f64; 2], below: [f64; 2]| {
            if below[1] < above[0] {
                (below[1] - below[0], below[1])
            } else {
                (above[0] - above[1], above[0])
            }
        };
        let (p, p_tail) = cell([left.p_above, right.p_above], [left.p_below, right.p_below]);
        let (q, q_tail) = cell([left.q_above, right.q_above], [left.q_below, right.q_below]);
        left = right;
        // A cell whose masses are rounding noise is dropped.
        let noise = 1e-15 * (p_tail / p + q_tail / q);
        if p.is_nan() || p <= 0.0 || q <= 0.0 || noise.is_nan() || noise > 1e-3 * step {
            continue;
        }
        let centre = i as f64 * step;
        let residual = (p / q).ln() - centre - noise;
        total += p;
        sum += p * residual;
        square += p * residual * residual;
        least = least.min(residual);
        grid.indices.push(i);
        grid.law.losses.push(centre);
        grid.law.masses.push(p * (1.0 - noise - 1e-13));
    }
    if grid.indices.len() < 2 {
        return None;
    }
    let mean = sum / total;
    Some(Cells { grid, mean, variance: (square / total - mean * mean).max(0.0), least })
}

/// Invert the profile of one pair, from below.
fn single_epsilon(pair: &Pair, delta: f64) -> f64 {
    let lowered = 1.0 - pair.evaluation_error();
    let exceeds = |e: f64| lowered * pair.delta(e) > delta;
    if !exceeds(0.0) {
        return 0.0;
    }
    let mut high = 1e-3;
    while exceeds(high) {
        high *= 2.0;
        if high > 1e18 {
            return f64::INFINITY;
        }
    }
    crate::gaussian::bisect(high, 0.0, exceeds).1
}
