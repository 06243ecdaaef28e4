//! Which ridge, without looking at data, and what it is expected to cost.
//!
//! # Rule
//!
//! The released minimiser errs because of `b` and because of the ridge. Where the sum's curvature
//! is `h` in every direction and the best weights have mean square `τ²` in every coordinate, it
//! errs by `(h + Λ)^-1 (b + Λθ)`, and by the noise of the output. The expected excess is
//!
//! ```text
//! (d/2) h {(σ₁² + Λ²τ²)/(h + Λ)² + σ₂²}.
//! ```
//!
//! `Λ` is where this is least, with the `σ₁` and `σ₂` that each `Λ` needs, among those with
//! `ε_det ≤ 0.9ε`. A ridge `μ` of the caller is part of the objective: `Λ ≥ nμ`, the bias is only
//! `(Λ − nμ)θ`, and `ε_det ≤ ε/2`. `σ₂` matters where rows are many: there a ridge on the average
//! would do with next to nothing, but the distance that rounding lets a solver certify grows like
//! the ridge's inverse square. Two public guesses enter, and neither the guarantee nor its price
//! depends on them:
//!
//! - `h = nτ_H/(4d)`: a quarter of the largest trace `τ_H` of a row's Hessian, spread evenly;
//! - `τ = 4/B` for classes, so that a row of full length has margins of standard deviation four,
//!   and `Y/(2B)` for regression; or `W/√d` if the caller guesses `W`, and never more than the set
//!   allows.
//!
//! A bound on the risk would be the safer thing to minimise, but it knows only that the curvature
//! is at least `Λ`, and prefers ridges that are ten times too large where the data do have
//! curvature (`docs/decisions/0012-ridge-of-objective-perturbation.md`).

use reticent_problem::{Domain, Loss, Problem};

use super::noise::{Case, Planned};
use crate::{Calibration, PlanError};

/// Ridges looked at in the first pass, and between two neighbours in each further one.
const GRID: [usize; 3] = [24, 8, 8];

/// Public guesses of how large things are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// `d`.
    pub dimension: f64,
    /// `W`: the set's radius, or the guess.
    pub distance: f64,
    /// Gaussian width of the set, or of the ball with that radius.
    pub width: f64,
    /// `τ`.
    pub coordinate: f64,
    /// `h`.
    pub curvature: f64,
}

impl Size {
    /// The guesses for a problem.
    pub fn of(problem: &Problem, guess: Option<f64>) -> Self {
        let (b, y) = (problem.bounds.norm(), problem.bounds.label());
        let dimension = problem.dimension() as f64;
        let radius = problem.domain.radius();
        let default = if problem.loss.is_on_label_scale() { 0.5 * y / b } else { 4.0 / b };
        let coordinate =
            guess.map_or(default, |w| w / dimension.sqrt()).min(radius / dimension.sqrt());
        let distance = guess.unwrap_or(default * dimension.sqrt()).min(radius);
        let width = match &problem.domain {
            Domain::Unbounded => Domain::Ball { radius: distance }.width(problem.dimension()),
            set => set.width(problem.dimension()),
        };
        let trace = match problem.loss {
            Loss::Softmax { classes } => b * b * (1.0 - 1.0 / classes as f64),
            _ => problem.regularity().hessian_trace.unwrap_or(b * b),
        };
        let curvature = problem.rows as f64 * trace / (4.0 * dimension);
        Self { dimension, distance, width, coordinate, curvature }
    }

    /// The expected excess of the sum, by these guesses, with noise of deviation `output` on the
    /// minimiser, where the ridge `lambda` has the caller's `floor` in it.
    pub fn excess(&self, sigma: f64, lambda: f64, floor: f64, output: f64) -> f64 {
        let (bias, h) = ((lambda - floor) * self.coordinate, self.curvature);
        let minimiser = (sigma * sigma + bias * bias) / (h + lambda).powi(2);
        0.5 * self.dimension * h * (minimiser + output * output)
    }
}

/// `ν`, by the rule. `output` is about the `σ₂` that goes with a modulus and a `σ₁`.
pub(super) fn choose(
    case: &Case,
    size: &Size,
    mu: f64,
    epsilon: f64,
    delta: f64,
    calibration: Calibration,
    output: impl Fn(f64, f64) -> f64,
) -> Result<f64, PlanError> {
    let n = case.rows;
    if epsilon.is_infinite() {
        // Nothing to hide: as little as a solver needs.
        return Ok((1e-6 * case.curvature - mu).max(0.0));
    }
    if calibration == Calibration::Paper {
        // ε/4 for the curvature term, and the theory's value without a ridge of the caller.
        let least = 2.0 * case.rank * case.curvature / (epsilon * n);
        let theory = case.lipschitz / (n.sqrt() * size.distance);
        return Ok(if mu > 0.0 { (2.0 * least - mu).max(0.0) } else { 2.0 * least.max(theory) });
    }
    let floor = n * mu;
    let share = if mu > 0.0 { 0.5 } else { 0.9 };
    let least = floor + 2.0 * n * case.least_extra(mu, share * epsilon);
    let most = (1e3 * least).max(10.0 * n * case.curvature);
    let (mut low, mut high) = (least.ln(), most.ln());
    let mut best = low;
    for points in GRID {
        let step = (high - low) / points as f64;
        let mut least_excess = f64::INFINITY;
        for i in 0..=points {
            let log = low + i as f64 * step;
            let modulus = log.exp() / n;
            let sigma = case.sigma(modulus, epsilon, delta)?;
            let excess = size.excess(sigma, log.exp(), floor, output(modulus, sigma));
            if excess < least_excess {
                (best, least_excess) = (log, excess);
            }
        }
        (low, high) = ((best - step).max(least.ln()), best + step);
    }
    let extra = best.exp() / n - mu;
    // Less than the logarithms round is nothing.
    Ok(if extra > 1e-12 * mu { extra } else { 0.0 })
}

/// The bound on the excess of the population risk (see the header of the algorithm).
pub(super) fn bound(
    case: &Case,
    size: &Size,
    problem: &Problem,
    extra: f64,
    planned: &Planned,
) -> f64 {
    let (l, n, d) = (case.lipschitz, case.rows, size.dimension);
    let (modulus, sigma) = (problem.ridge + extra, planned.sigma);
    let output = planned.output();
    let mut linear = (sigma * size.width / n).min(d * sigma * sigma / (2.0 * modulus * n * n));
    let has_gauge = || problem.domain.gauge(&vec![0.0; problem.dimension()]).is_some();
    if extra == 0.0 && problem.domain.is_bounded() && has_gauge() {
        // The ridge of the caller is strongly convex in the gauge of a symmetric set, too.
        let gauge = problem.ridge * problem.domain.inner_radius(problem.dimension()).powi(2);
        let both = size.width.powi(2) + size.distance.powi(2);
        linear = linear.min(sigma * sigma * both / (2.0 * gauge * n * n));
    }
    linear
        + 0.5 * extra * size.distance.powi(2)
        + 2.0 * l * l / (modulus * n)
        + l * planned.tolerance
        + l * (2.0 * output * size.width).sqrt().min(output * d.sqrt())
}
