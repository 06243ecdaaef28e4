//! How far gradient descent moves when a row is replaced: the theorem, the paper's lemmas, and
//! rounding.

use reticent_data::summation_depth;
use reticent_problem::{Domain, Problem};

/// `Δ_T = (G/(nμ))(1 − (1 − ημ)^T)`, and `G η T/n` without ridge: the tight bound.
///
/// # Numerics
///
/// The power is taken as `expm1(T log1p(−ημ))`, without cancellation; below `ημT = 1e-12` the limit
/// is used, which is an upper bound for every `μ`.
pub fn tight(gradient_difference: f64, ridge: f64, eta: f64, steps: f64, rows: f64) -> f64 {
    let g = gradient_difference;
    if ridge == 0.0 || eta * ridge * steps < 1e-12 {
        g * eta * steps / rows
    } else {
        -g / (rows * ridge) * (steps * (-eta * ridge).ln_1p()).exp_m1()
    }
}

/// Lemma 2 of the paper: `3 L η T/n`, without ridge. Valid, and one and a half times the tight
/// value.
pub fn paper_convex(lipschitz: f64, eta: f64, steps: f64, rows: f64) -> f64 {
    3.0 * lipschitz * eta * steps / rows
}

/// Lemma 3 of the paper: `5 L (μ+β)/(n μ β)`, where `L` includes the ridge and `β = β_ℓ + μ`.
pub fn paper_strongly_convex(lipschitz: f64, ridge: f64, smoothness: f64, rows: f64) -> f64 {
    5.0 * lipschitz * (ridge + smoothness) / (rows * ridge * smoothness)
}

/// By how much farther than the last point at which they were taken constants may be used: they
/// are taken again a few hundred times on the way, and not in every step.
const STRIDE: f64 = 1.005;

/// `Δ_T` by the recursion of [the theorem](super): the constants of the ball that the iterates
/// cannot have left.
///
/// A computed iterate is longer than an exact one by what each step rounds, which is in the radius.
/// On a simplex the first iterate is not zero, and the constants are those of the set.
pub fn along_trajectory(problem: &Problem, eta: f64, steps: u64) -> f64 {
    let (whole, n) = (problem.regularity(), problem.rows as f64);
    let whole_way = tight(whole.gradient_difference, problem.ridge, eta, steps as f64, n);
    if matches!(problem.domain, Domain::Simplex { .. }) {
        return whole_way;
    }
    let rounded = summation_depth(problem, problem.rows, problem.dimension())
        + problem.dimension()
        + problem.loss.outputs()
        + 64;
    let longer = 1.0
        + f64::EPSILON
            * (rounded as f64 + problem.domain.projection_roundings(problem.dimension()));
    let cap = super::reach(problem, &whole) * (1.0 + steps as f64 * (longer - 1.0));
    let on_ball = |radius: f64| {
        let k = Problem { domain: Domain::Ball { radius }, ..problem.clone() }.regularity();
        let lipschitz = k.lipschitz.min(whole.lipschitz);
        (k.gradient_difference.min(whole.gradient_difference), lipschitz)
    };
    let keep = 1.0 - eta * problem.ridge;
    let (mut radius, mut moved, mut known) = (0.0_f64, 0.0, 0.0);
    let (mut apart, mut length) = on_ball(known);
    for left in (0..steps).rev() {
        if radius > known {
            known = (radius * STRIDE).min(cap);
            (apart, length) = on_ball(known);
        }
        moved = keep * moved + eta * apart / n;
        radius = ((keep * radius + eta * length) * longer).min(cap);
        if radius == cap {
            // From here on the constants stay.
            let (apart, _) = on_ball(cap);
            let kept = (left as f64 * (-eta * problem.ridge).ln_1p()).exp();
            moved = kept * moved + tight(apart, problem.ridge, eta, left as f64, n);
            break;
        }
    }
    // Every step rounds a few times, and the sum may have come out too small by that much.
    (moved * (1.0 + 4.0 * steps as f64 * f64::EPSILON)).min(whole_way)
}

/// The refinement for the logistic loss on `R^d` from `w₀ = 0` by the slope alone: a row's gradient
/// is at most `B·sig(B‖w‖)`, and two rows are at most twice that apart. [`along_trajectory`] knows
/// more.
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

/// The rounding error added to `G`, so that the bound holds for the computed iterates and not only
/// for exact ones.
///
/// Two runs on neighbouring tables agree on all rows but one, in exact arithmetic. Computed
/// gradients of the common rows differ from exact ones by at most `e` on average, and the computed
/// update by at most `e'`, so the recursion is `Δ_{t+1} ≤ ρ Δ_t + ηG/n + 2(ηe + e')`, that of a
/// loss with `G + 2n(e + e'/η)` in place of `G`. With unit roundoff `u`, `W` a bound on the
/// iterates, `K` outputs and `d` features:
///
/// - a margin is a sum of at most `d + 12` rounded terms (sparse rows are summed in one chain), and
///   moves a gradient by at most `β` times its error;
/// - slope and sum add `K + 16` and the depth of the summation, each relative to `L`;
/// - the update rounds each coordinate a few times, and the projection as
///   [`Domain::projection_roundings`] says, relative to `W + ηL`.
pub(crate) fn rounding(problem: &Problem, eta: f64, steps: u64) -> f64 {
    let k = problem.regularity();
    // From zero the steps cannot lead further than their lengths; a set without zero starts
    // elsewhere.
    let reach = match problem.domain {
        Domain::Simplex { .. } => super::reach(problem, &k),
        _ => super::reach(problem, &k).min(eta * steps as f64 * k.lipschitz),
    };
    rounding_within(problem, eta, reach)
}

/// [`rounding`] where iterates are no longer than `reach`, whatever keeps them there.
pub(super) fn rounding_within(problem: &Problem, eta: f64, reach: f64) -> f64 {
    const UNIT: f64 = f64::EPSILON / 2.0;
    let k = problem.regularity();
    let beta = k.smoothness.unwrap_or(0.0);
    let (n, d) = (problem.rows as f64, problem.features as f64);
    let outputs = problem.loss.outputs() as f64;
    let depth = summation_depth(problem, problem.rows, problem.dimension()) as f64;
    let margins = outputs.sqrt() * (d + 12.0) * beta * reach;
    let sums = (depth + outputs + 16.0) * k.lipschitz;
    let projection = problem.domain.projection_roundings(problem.dimension());
    let update = (16.0 + projection) * (reach / eta + k.lipschitz) + 4.0 * k.lipschitz;
    2.0 * n * 1.1 * UNIT * (margins + sums + update)
}
