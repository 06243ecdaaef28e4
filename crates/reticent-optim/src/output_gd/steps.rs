//! How many steps: the paper's formulas, and the number that makes the proven bound least.

use reticent_privacy::gaussian;

use crate::PlanError;
use crate::step::perturb::ball_second_moment;

/// More steps than this are never planned.
pub const MAX_STEPS: u64 = 1_000_000;

/// The problem's constants in the risk bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RiskInputs {
    /// `μ`.
    pub ridge: f64,
    /// `β`, the ridge included.
    pub smoothness: f64,
    /// `τ`, without ridge.
    pub hessian_trace: f64,
    /// `D`: a bound on, or a guess of, the norm of the minimiser.
    pub distance: f64,
    /// `G`.
    pub gradient_difference: f64,
    /// `n`.
    pub rows: f64,
    /// `d`.
    pub dimension: f64,
}

impl RiskInputs {
    /// `V`: what noise of sensitivity one costs, twice. `(τ + μd) E z_j²`.
    pub(crate) fn noise_cost(&self, second_moment: f64) -> f64 {
        (self.hessian_trace + self.ridge * self.dimension) * second_moment
    }
}

/// `E z_j²` for sensitivity one: Gaussian for delta > 0, ball noise for delta = 0.
///
/// # Errors
///
/// The accountant's, for an illegal budget.
pub fn unit_second_moment(dimension: usize, epsilon: f64, delta: f64) -> Result<f64, PlanError> {
    if delta == 0.0 {
        Ok(ball_second_moment(dimension, epsilon))
    } else {
        Ok(gaussian::noise_multiplier_upper(epsilon, delta)?.powi(2))
    }
}

/// The paper's `T` without ridge: `[β²n²ε²D²/(L²d²)]^{1/3}`, with `d log(1/δ)` for `d²` when
/// delta > 0.
pub fn paper_convex(shape: &RiskInputs, lipschitz: f64, epsilon: f64, delta: f64) -> u64 {
    let top = shape.smoothness * shape.rows * epsilon * shape.distance / lipschitz;
    clamp((top * top / dimension_factor(shape.dimension, delta)).cbrt().round())
}

/// The paper's `T` with ridge: `((μ²+β²)/(μβ)) ln a`, `a = μ²n²ε²D²/(L²d²)`, and 1 where `a ≤ 1`.
pub fn paper_strongly_convex(shape: &RiskInputs, lipschitz: f64, epsilon: f64, delta: f64) -> u64 {
    let (mu, beta) = (shape.ridge, shape.smoothness);
    let top = mu * shape.rows * epsilon * shape.distance / lipschitz;
    let a = top * top / dimension_factor(shape.dimension, delta);
    if a <= 1.0 {
        return 1;
    }
    clamp(((mu * mu + beta * beta) / (mu * beta) * a.ln()).ceil())
}

fn dimension_factor(dimension: f64, delta: f64) -> f64 {
    if delta == 0.0 { dimension * dimension } else { dimension * (1.0 / delta).ln() }
}

fn clamp(steps: f64) -> u64 {
    steps.clamp(1.0, MAX_STEPS as f64) as u64
}

/// The optimisation part of the bound after `steps` steps of length `eta`.
///
/// With ridge, `‖w_T − ŵ‖ ≤ (1 − ημ)^T D`, and the objective lies at most `(β/2)‖w − ŵ‖²` above its
/// minimum. Without, the worst case of gradient descent with `h = ηβ` is
/// `(βD²/2)·max(1/(2Th + 1), (1 − h)^{2T})` (Drori and Teboulle 2014).
pub(crate) fn optimisation_error(shape: &RiskInputs, eta: f64, steps: f64) -> f64 {
    let (mu, beta, d2) = (shape.ridge, shape.smoothness, shape.distance * shape.distance);
    let rate = if mu == 0.0 {
        let h = eta * beta;
        (1.0 / (2.0 * steps * h + 1.0)).max((1.0 - h).abs().powf(2.0 * steps))
    } else {
        (1.0 - eta * mu).abs().max((1.0 - eta * beta).abs()).powf(2.0 * steps)
    };
    0.5 * beta * rate * d2
}

/// The same when each iterate is projected onto a ball: the gradient need not vanish at the
/// minimiser, where it has norm at most `lipschitz` (ridge included). Without ridge `D²/(2ηT)`, for
/// `η ≤ 1/β`; longer steps get no better a bound.
pub(crate) fn projected_error(shape: &RiskInputs, lipschitz: f64, eta: f64, steps: f64) -> f64 {
    let (mu, beta, d) = (shape.ridge, shape.smoothness, shape.distance);
    if mu == 0.0 {
        return d * d / (2.0 * eta.min(1.0 / beta) * steps);
    }
    let left = (1.0 - eta * mu).abs().max((1.0 - eta * beta).abs()).powf(steps) * d;
    lipschitz * left + 0.5 * beta * left * left
}

/// The step of the tight calibration: `1/β`, or `2/(β+μ)` with ridge.
fn tight_eta(shape: &RiskInputs) -> f64 {
    if shape.ridge == 0.0 { 1.0 / shape.smoothness } else { 2.0 / (shape.smoothness + shape.ridge) }
}

/// `ρ = (β−μ)/(β+μ)`, the contraction of a step of length `2/(β+μ)`.
fn contraction(shape: &RiskInputs) -> f64 {
    (shape.smoothness - shape.ridge) / (shape.smoothness + shape.ridge)
}

/// `U(T)` of the tight calibration: optimisation error plus what the noise costs.
pub fn excess_tight(shape: &RiskInputs, second_moment: f64, steps: f64) -> f64 {
    let v = shape.noise_cost(second_moment);
    let (g, n) = (shape.gradient_difference, shape.rows);
    let sensitivity = if shape.ridge == 0.0 {
        g * steps / (shape.smoothness * n)
    } else {
        g / (n * shape.ridge) * (1.0 - contraction(shape).powf(steps))
    };
    optimisation_error(shape, tight_eta(shape), steps) + 0.5 * v * sensitivity * sensitivity
}

/// The integer `T` of least `U` without ridge: from the real minimiser, walk downhill. `U` is
/// convex.
pub fn tight_convex(shape: &RiskInputs, second_moment: f64) -> u64 {
    let v = shape.noise_cost(second_moment);
    let ratio = shape.distance * shape.rows / shape.gradient_difference;
    let start = (shape.smoothness.powi(3) * ratio * ratio / (4.0 * v)).cbrt().floor();
    let mut t = clamp(start);
    let u = |t: u64| excess_tight(shape, second_moment, t as f64);
    while t < MAX_STEPS && u(t + 1) < u(t) {
        t += 1;
    }
    while t > 1 && u(t - 1) <= u(t) {
        t -= 1;
    }
    t
}

/// The integer `T` of least `U` with ridge: `q* = A/(A + D²)` is the best `ρ^T`.
pub fn tight_strongly_convex(shape: &RiskInputs, second_moment: f64) -> u64 {
    let rho = contraction(shape);
    if rho <= 0.0 {
        return 1;
    }
    let v = shape.noise_cost(second_moment);
    let a = v / shape.smoothness * (shape.gradient_difference / (shape.rows * shape.ridge)).powi(2);
    // ln(A/(A + D²) ) without cancellation when D² is the larger by far.
    let t = -(shape.distance * shape.distance / a).ln_1p() / rho.ln();
    let (low, high) = (clamp(t.floor()), clamp(t.floor() + 1.0));
    let u = |t: u64| excess_tight(shape, second_moment, t as f64);
    if u(high) <= u(low) { high } else { low }
}
