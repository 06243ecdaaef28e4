//! How far gradient descent moves when a row is replaced: the theorem, the paper's lemmas, and rounding.

use reticent_data::summation_depth;
use reticent_problem::{Domain, Problem};

/// `Δ_T = (G/(nμ))(1 − (1 − ημ)^T)`, and `G η T/n` without ridge: the tight bound.
///
/// # Numerics
///
/// The power is taken as `expm1(T log1p(−ημ))`, without cancellation; below `ημT = 1e-12` the limit is used, which is
/// an upper bound for every `μ`.
pub fn tight(gradient_difference: f64, ridge: f64, eta: f64, steps: f64, rows: f64) -> f64 {
    let g = gradient_difference;
    if ridge == 0.0 || eta * ridge * steps < 1e-12 {
        g * eta * steps / rows
    } else {
        -g / (rows * ridge) * (steps * (-eta * ridge).ln_1p()).exp_m1()
    }
}

/// Lemma 2 of the paper: `3 L η T/n`, without ridge. Valid, and one and a half times the tight value.
pub fn paper_convex(lipschitz: f64, eta: f64, steps: f64, rows: f64) -> f64 {
    3.0 * lipschitz * eta * steps / rows
}

/// Lemma 3 of the paper: `5 L (μ+β)/(n μ β)`, where `L` includes the ridge and `β = β_ℓ + μ`.
pub fn paper_strongly_convex(lipschitz: f64, ridge: f64, smoothness: f64, rows: f64) -> f64 {
    5.0 * lipschitz * (ridge + smoothness) / (rows * ridge * smoothness)
}

/// The refinement for the logistic loss on `R^d` from `w₀ = 0`: a row's gradient is at most `B·sig(B‖w‖)`, and the
/// iterates cannot be far from zero in the first steps.
pub fn logistic_trajectory(norm_bound: f64, ridge: f64, eta: f64, steps: u64, rows: f64) -> f64 {
    let b = norm_bound;
    let sigmoid = |u: f64| 1.0 / (1.0 + (-u).exp());
    let cap =
        if ridge > 0.0 { (2.0 * std::f64::consts::LN_2 / ridge).sqrt() } else { f64::INFINITY };
    let (mut radius, mut moved) = (0.0_f64, 0.0);
    for _ in 0..steps {
        let slope = sigmoid(b * radius);
        moved = (1.0 - eta * ridge) * moved + 2.0 * eta * b / rows * slope;
        radius = ((1.0 - eta * ridge) * radius + eta * b * slope).min(cap);
    }
    // Every step rounds a few times, and the sum may have come out too small by that much.
    moved * (1.0 + 4.0 * steps as f64 * f64::EPSILON)
}

/// What rounding adds to `G`, so that the bound holds for the computed iterates and not only for exact ones.
///
/// Two runs on neighbouring tables agree on all rows but one, in exact arithmetic. Computed gradients of the common
/// rows differ from exact ones by at most `e` on average, and the computed update by at most `e'`, so the recursion is
/// `Δ_{t+1} ≤ ρ Δ_t + ηG/n + 2(ηe + e')`, that of a loss with `G + 2n(e + e'/η)` in place of `G`. With unit roundoff
/// `u`, `W` a bound on the iterates, `K` outputs and `d` features:
///
/// - a margin is a sum of at most `d + 12` rounded terms (sparse rows are summed in one chain), and moves a gradient by at most `β` times its error;
/// - slope and sum add `K + 16` and the depth of the summation, each relative to `L`;
/// - the update rounds each coordinate a few times, and the projection as [`Domain::projection_roundings`] says,
///   relative to `W + ηL`.
pub(crate) fn rounding(problem: &Problem, eta: f64, steps: u64) -> f64 {
    const UNIT: f64 = f64::EPSILON / 2.0;
    let k = problem.regularity();
    let beta = k.smoothness.unwrap_or(0.0);
    let (n, d) = (problem.rows as f64, problem.features as f64);
    let outputs = problem.loss.outputs() as f64;
    // From zero the steps cannot lead further than their lengths; a set without zero starts elsewhere.
    let reach = match problem.domain {
        Domain::Simplex { .. } => super::reach(problem, &k),
        _ => super::reach(problem, &k).min(eta * steps as f64 * k.lipschitz),
    };
    let depth = summation_depth(problem.rows, problem.dimension()) as f64;
    let margins = outputs.sqrt() * (d + 12.0) * beta * reach;
    let sums = (depth + outputs + 16.0) * k.lipschitz;
    let projection = problem.domain.projection_roundings(problem.dimension());
    let update = (16.0 + projection) * (reach / eta + k.lipschitz) + 4.0 * k.lipschitz;
    2.0 * n * 1.1 * UNIT * (margins + sums + update)
}
