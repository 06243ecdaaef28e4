//! Straightening: each curve of the released model is drawn towards a line, by as much as the noise
//! in it explains its bends.
//!
//! # Rule
//!
//! A curve with `K` even knots has the weights `c`. Let `S` be the mean of `φφᵀ` over the rows,
//! tridiagonal for tents: its diagonal are the noisy mean squares `v` (and `λ`, what noise could
//! hide of them), and the rest follows from the noisy means, since `m_k = S_k,k−1 + v_k + S_k,k+1`.
//! With the line `ℓ` that is nearest to `c` in the norm of `S`,
//!
//! ```text
//! c = ℓ + Σ_j a_j f_j,      f_j = (cosine with j half waves, less its own line)/j,      2 ≤ j < K.
//! ```
//!
//! The noise in `a` has a known covariance `N`, below. In the basis where `N` is diagonal, with
//! entries `n_i`, the coefficients `a_i` are taken for draws from `N(0, θ² + n_i)`, where
//! `θ² = t · min n` and `t` is one of the values of a grid, 0 among them. How frequent each value
//! is among the curves of the model is estimated from them (a few steps of expectation and
//! maximisation), each curve weighs the grid by its own likelihood, and keeps of `a_i` the mean of
//! `θ²/(θ² + n_i)`. A curve whose bends are clear of the noise stays; one whose bends the noise
//! explains becomes a line. Lines and means of curves over the rows stay as they were released.
//!
//! # The noise in a curve
//!
//! In the coordinates of the [preconditioner](super::preconditioner), `c = Dω`, a step is
//! `ω ← ω − η_t(H(ω − ω*) + μω + noise)`, with the curvature `H = p D S D` of the curve alone. In
//! an eigenvector of `H` with the value `h` the variance of the average follows from all `η_t` by
//! recursion. A step's noise has the variance `κ(τσ/b)²`, and `g h/p` over `b` for rows drawn into
//! the batch, where `g` is the mean square of a row's residual. The rows are a sample too, which
//! adds `1/(n i v)` at each knot for an information `i` of a row: `p` of classes and `1/g` of
//! numbers. `κ`, the setting, is below 1 since the other columns and the clip norm hold weights
//! back too.
//!
//! # Why
//!
//! Fine shape is what curves pay for: of `K` weights one is the line's. Drawn in so that the sum of
//! squares is least in expectation (an empirical-Bayes rule, as James and Stein's), the others cost
//! little where effects are lines, and stay where they are not. Only sums over the rows decide, so
//! the part of a curve that few rows reach is noisy, and is known to be.
//!
//! # Privacy
//!
//! The weights, the released moments and the step sizes have been paid for, all else is public:
//! post-processing. Nothing else of the run depends on it.

use reticent_math::symmetric::{Square, dot};
use reticent_problem::loss::Link;
use reticent_problem::{EvenCurve, Problem};
use serde::{Deserialize, Serialize};

use super::{Clip, ClippedSgd, ClippedSgdPlan, NAME, Output, preconditioner};
use crate::PlanError;
use crate::tuning::{
    CLASS_CURVATURE, LEAST_KNOT_SHARE, NUMBER_CURVATURE, STRAIGHTENING_GRID, STRAIGHTENING_ROUNDS,
};

/// Walks with more steps than this are not straightened: their step sizes are all kept.
const MOST_STEPS: u64 = 100_000;

/// What a run keeps for it: released moments and step sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The noisy means of the features.
    pub means: Vec<f64>,
    /// Their noisy mean squares; empty if these were not released.
    pub squares: Vec<f64>,
    /// What noise could hide of a mean square.
    pub level: f64,
    /// The step sizes so far.
    pub etas: Vec<f64>,
}

impl Trace {
    /// Whether a run of so many features can have it after so many steps.
    pub(super) fn belongs_to(&self, features: usize, step: u64) -> bool {
        let finite = |list: &[f64]| list.iter().all(|x| x.is_finite());
        self.means.len() == features
            && (self.squares.is_empty() || self.squares.len() == features)
            && self.etas.len() as u64 == step
            && self.level.is_finite()
            && self.level > 0.0
            && [&self.means, &self.squares, &self.etas].into_iter().all(|list| finite(list))
    }
}

/// Whether there are curves to straighten, for a loss whose curvature is known well enough.
pub(crate) fn is_served(problem: &Problem) -> bool {
    !problem.curves.is_empty()
        && problem.loss.outputs() == 1
        && problem.loss.link() == Link::Identity
        && problem.regularity().smoothness.is_some()
}

impl ClippedSgd {
    /// Whether `straightening`, if it is given, is served.
    pub(super) fn check_straightening(
        &self,
        problem: &Problem,
        output: Output,
        steps: u64,
    ) -> Result<(), PlanError> {
        let Some(strength) = self.straightening else { return Ok(()) };
        if !(strength.is_finite() && strength >= 0.0) {
            return Err(PlanError::OutOfRange {
                name: "straightening",
                expected: "a finite number, 0 or more".to_owned(),
                got: strength,
            });
        }
        let averages = matches!(output, Output::Average | Output::TailAverage);
        let why = if !is_served(problem) {
            "straightens curves with three or more even knots, for smooth losses with one output and no logarithmic link; leave `straightening` out"
        } else if self.precondition.is_none() || !averages || steps > MOST_STEPS {
            "straightens averages of at most 100000 preconditioned steps; give `precondition`, an average as `output` and fewer `steps`, or leave `straightening` out"
        } else {
            return Ok(());
        };
        Err(PlanError::NotApplicable { algorithm: NAME, why: why.to_owned() })
    }
}

impl ClippedSgdPlan {
    /// Draws the curves among the averaged weights towards lines. `scales` are those of the
    /// preconditioner.
    pub(super) fn straighten(&self, clip: f64, scales: &[f64], trace: &Trace, weights: &mut [f64]) {
        let strength = self.settings.straightening.unwrap_or(0.0);
        let step = clip * self.noise_multiplier / self.batch as f64;
        if strength == 0.0 || step == 0.0 || trace.squares.is_empty() {
            return;
        }
        let walk = StepNoise::of(self, clip, strength * step * step, &trace.etas);
        let curves = self.outline.problem.curves.iter();
        let bent: Vec<Bent> =
            curves.filter_map(|curve| Bent::of(*curve, &walk, scales, trace, weights)).collect();
        let usual = frequencies(&bent);
        for curve in &bent {
            curve.straighten(&usual, weights);
        }
    }
}

/// The numbers of a run that decide how much noise is left in an average.
struct StepNoise<'a> {
    etas: &'a [f64],
    /// The first step whose weights count.
    first: usize,
    /// `μ`.
    pull: f64,
    /// `κ(τσ/b)²`.
    noise: f64,
    /// `p`.
    curvature: f64,
    /// `g`.
    residual: f64,
    /// `b`.
    batch: f64,
    /// `n · i`.
    information: f64,
}

impl<'a> StepNoise<'a> {
    fn of(plan: &ClippedSgdPlan, clip: f64, noise: f64, etas: &'a [f64]) -> Self {
        let problem = &plan.outline.problem;
        let (batch, rows) = (plan.batch as f64, problem.rows.max(1) as f64);
        let (curvature, residual, information) = if problem.loss.is_classification() {
            (CLASS_CURVATURE, CLASS_CURVATURE, CLASS_CURVATURE)
        } else {
            let size = preconditioner::typical_norm(problem, plan.settings.precondition);
            let residual = match plan.settings.clip {
                Clip::Quantile { multiple, .. } => clip / (multiple * size),
                Clip::Public { .. } | Clip::Selected { .. } | Clip::Moments { .. } => {
                    problem.bounds.label() / 4.0
                }
            };
            let square = residual * residual;
            (NUMBER_CURVATURE, square, 1.0 / square)
        };
        let first = if plan.output == Output::TailAverage { etas.len() / 2 } else { 0 };
        let (pull, information) = (plan.pull(clip) / batch, rows * information);
        Self { etas, first, pull, noise, curvature, residual, batch, information }
    }

    /// The variance of the averaged weight along a direction in which rows have this mean square.
    fn variance(&self, square: f64) -> f64 {
        let noise = self.noise + self.residual * square / self.batch;
        let steepness = self.curvature * square + self.pull;
        // Of the weight, of its product with the sum of weights, of that sum.
        let (mut own, mut shared, mut sum) = (0.0, 0.0, 0.0);
        for (t, eta) in self.etas.iter().enumerate() {
            if t >= self.first {
                sum += 2.0 * shared + own;
                shared += own;
            }
            // A step beyond the valley's other side is held back by the clip norm.
            let kept = (1.0 - eta * steepness).max(-1.0);
            own = kept * kept * own + eta * eta * noise;
            shared *= kept;
        }
        // The weights after the last step count in an average too, as in the run.
        sum += 2.0 * shared + own;
        let count = (self.etas.len() + 1 - self.first) as f64;
        sum / (count * count)
    }
}

/// A curve as its line and its bends.
struct Bent {
    start: usize,
    line: Vec<f64>,
    /// The directions in which the noise is independent, of one deviation each.
    directions: Vec<Vec<f64>>,
    /// How far the curve is from the line in each.
    bends: Vec<f64>,
    /// The least noise over that in each.
    shares: Vec<f64>,
    /// The likelihood of each value of the grid, over the largest.
    likelihood: Vec<f64>,
}

impl Bent {
    /// None where numbers are too far apart to say.
    fn of(
        curve: EvenCurve,
        walk: &StepNoise<'_>,
        scales: &[f64],
        trace: &Trace,
        weights: &[f64],
    ) -> Option<Self> {
        let EvenCurve { start, knots } = curve;
        let of = |list: &'_ [f64]| list[start..start + knots].to_vec();
        let (scales, values) = (of(scales), of(weights));
        let second = second_moments(&of(&trace.means), &of(&trace.squares), trace.level);
        let (lines, basis) = (Lines::new(&second), cosines(&second));
        let shapes = basis?;
        let bends = |values: &[f64]| shapes.coefficients(&lines.rest(values));
        let mut noise = vec![0.0; shapes.list.len() * shapes.list.len()];
        let scaled =
            (0..knots * knots).map(|k| scales[k / knots] * second.entries[k] * scales[k % knots]);
        let (squares, vectors) = Square::new(knots, scaled.collect()).eigen();
        for (i, square) in squares.iter().enumerate() {
            let moved: Vec<f64> = vectors.row(i).iter().zip(&scales).map(|(e, s)| e * s).collect();
            add_outer(&mut noise, &bends(&moved), walk.variance(square.max(0.0)));
        }
        for (k, square) in second.diagonal().iter().enumerate() {
            let unit: Vec<f64> = (0..knots).map(|j| f64::from(u8::from(j == k))).collect();
            let seen = square + LEAST_KNOT_SHARE;
            add_outer(&mut noise, &bends(&unit), 1.0 / (walk.information * seen));
        }
        let (noise, vectors) = Square::new(shapes.list.len(), noise).eigen();
        let least = noise.iter().copied().fold(f64::INFINITY, f64::min);
        if !(least > 0.0 && noise.iter().all(|n| n.is_finite())) {
            return None;
        }
        let found = bends(&values);
        let deviations: Vec<f64> = noise.iter().map(|n| n.sqrt()).collect();
        let own = |i: usize| dot(vectors.row(i), &found) / deviations[i];
        let direction = |i: usize| -> Vec<f64> {
            let mix = |k: usize| {
                vectors.row(i).iter().zip(&shapes.list).map(|(v, f)| v * f[k]).sum::<f64>()
            };
            (0..knots).map(|k| deviations[i] * mix(k)).collect()
        };
        let line: Vec<f64> = values.iter().zip(lines.rest(&values)).map(|(v, r)| v - r).collect();
        let shares: Vec<f64> = noise.iter().map(|n| least / n).collect();
        let bends: Vec<f64> = (0..noise.len()).map(own).collect();
        let likelihood = likelihood(&bends, &shares);
        let usable = line.iter().chain(&bends).chain(&likelihood).all(|x| x.is_finite());
        usable.then(|| Self {
            start,
            line,
            directions: (0..noise.len()).map(direction).collect(),
            bends,
            shares,
            likelihood,
        })
    }

    /// How probable each value of the grid is for this curve.
    fn posterior(&self, usual: &[f64]) -> Vec<f64> {
        let product: Vec<f64> = self.likelihood.iter().zip(usual).map(|(l, u)| l * u).collect();
        let total: f64 = product.iter().sum();
        product.iter().map(|p| p / total).collect()
    }

    fn straighten(&self, usual: &[f64], weights: &mut [f64]) {
        let posterior = self.posterior(usual);
        let into = &mut weights[self.start..self.start + self.line.len()];
        into.copy_from_slice(&self.line);
        for ((direction, bend), share) in self.directions.iter().zip(&self.bends).zip(&self.shares)
        {
            let kept = |t: &f64| t * share / (1.0 + t * share);
            let part: f64 =
                posterior.iter().zip(&STRAIGHTENING_GRID).map(|(p, t)| p * kept(t)).sum();
            into.iter_mut().zip(direction).for_each(|(w, d)| *w += part * bend * d);
        }
    }
}

/// The likelihood of each value of the grid, over the largest.
fn likelihood(bends: &[f64], shares: &[f64]) -> Vec<f64> {
    let logarithm = |t: &f64| -> f64 {
        let each = bends.iter().zip(shares);
        each.map(|(z, g)| -0.5 * (z * z / (1.0 + t * g) + (t * g).ln_1p())).sum()
    };
    let list: Vec<f64> = STRAIGHTENING_GRID.iter().map(logarithm).collect();
    let most = list.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    list.iter().map(|x| (x - most).exp()).collect()
}

/// How frequent each value of the grid is among curves, one curve of no opinion added.
fn frequencies(curves: &[Bent]) -> Vec<f64> {
    let even = 1.0 / STRAIGHTENING_GRID.len() as f64;
    let mut usual = vec![even; STRAIGHTENING_GRID.len()];
    for _ in 0..STRAIGHTENING_ROUNDS {
        let mut sums = vec![even; usual.len()];
        for curve in curves {
            sums.iter_mut().zip(curve.posterior(&usual)).for_each(|(sum, p)| *sum += p);
        }
        usual = sums.iter().map(|sum| sum / (curves.len() + 1) as f64).collect();
    }
    usual
}

/// `S`, from the means and mean squares of tents; positive definite whatever noise did to them.
fn second_moments(means: &[f64], squares: &[f64], level: f64) -> Square {
    let knots = means.len();
    let own: Vec<f64> = squares.iter().map(|v| v.max(0.0) + level).collect();
    let mut entries = vec![0.0; knots * knots];
    let mut before = 0.0;
    for k in 0..knots {
        entries[k * knots + k] = own[k];
        if k + 1 < knots {
            let rest = means[k].max(0.0) - own[k] - before;
            // Two neighbours of less than half of what their squares allow: diagonally dominant.
            before = rest.clamp(0.0, 0.49 * (own[k] * own[k + 1]).sqrt());
            entries[k * knots + k + 1] = before;
            entries[(k + 1) * knots + k] = before;
        }
    }
    Square::new(knots, entries)
}

/// The lines among the curves with some knots, and the way to the nearest.
struct Lines {
    /// `1` and the places of the knots, each with `S` times it.
    ones: [Vec<f64>; 2],
    places: [Vec<f64>; 2],
    /// Their products in the norm of `S`.
    products: [f64; 3],
}

impl Lines {
    fn new(second: &Square) -> Self {
        let knots = second.size;
        let times = |v: &[f64]| (0..knots).map(|i| dot(second.row(i), v)).collect::<Vec<f64>>();
        let ones = vec![1.0; knots];
        let places: Vec<f64> = (0..knots).map(|k| k as f64 / (knots - 1) as f64 - 0.5).collect();
        let (by_one, by_place) = (times(&ones), times(&places));
        let products = [dot(&ones, &by_one), dot(&places, &by_one), dot(&places, &by_place)];
        Self { ones: [ones, by_one], places: [places, by_place], products }
    }

    /// What is left of a curve without the nearest line.
    fn rest(&self, values: &[f64]) -> Vec<f64> {
        let [a, b, c] = self.products;
        let (x, y) = (dot(&self.ones[1], values), dot(&self.places[1], values));
        let under = a * c - b * b;
        let (constant, slope) = ((c * x - b * y) / under, (a * y - b * x) / under);
        let line = self.places[0].iter().map(|t| constant + slope * t);
        values.iter().zip(line).map(|(v, l)| v - l).collect()
    }
}

/// The shapes `f_j`, and the way from a curve to its coefficients.
struct Shapes {
    list: Vec<Vec<f64>>,
    /// The factor of their products.
    factor: Square,
}

impl Shapes {
    fn coefficients(&self, rest: &[f64]) -> Vec<f64> {
        let mut found: Vec<f64> = self.list.iter().map(|f| dot(f, rest)).collect();
        self.factor.solve(&mut found);
        found
    }
}

/// The shapes of curves with so many knots; none where rounding does not tell them apart.
fn cosines(second: &Square) -> Option<Shapes> {
    let (lines, knots) = (Lines::new(second), second.size);
    let wave = |j: usize| -> Vec<f64> {
        let at =
            |k: usize| (std::f64::consts::PI * j as f64 * (k as f64 + 0.5) / knots as f64).cos();
        let whole: Vec<f64> = (0..knots).map(|k| at(k) / j as f64).collect();
        lines.rest(&whole)
    };
    let list: Vec<Vec<f64>> = (2..knots).map(wave).collect();
    let products = list.iter().flat_map(|f| list.iter().map(move |g| dot(f, g))).collect();
    let factor = Square::new(list.len(), products).cholesky()?;
    Some(Shapes { list, factor })
}

/// `into += factor · v vᵀ`.
fn add_outer(into: &mut [f64], v: &[f64], factor: f64) {
    for (row, x) in into.chunks_exact_mut(v.len()).zip(v) {
        row.iter_mut().zip(v).for_each(|(entry, y)| *entry += factor * x * y);
    }
}
