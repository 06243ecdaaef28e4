//! The source's formulas for output-perturbed SGD, misprints corrected, hidden constants one.

use reticent_privacy::{PrivacyError, gaussian};

use crate::holder::{self, LossForm, c_alpha_paper};

/// The probability with which the source's risk bounds may fail; our choice, it tunes `η` and
/// nothing else.
pub(crate) const GAMMA: f64 = 0.1;

/// `c_{γ,T} = max(√(3n log(n/γ)/T), 3n log(n/γ)/T)`: the deviation of Chernoff's bound on the hits
/// of any row.
pub fn hits_deviation(rows: f64, steps: f64, tail: f64) -> f64 {
    let x = 3.0 * rows * (rows / tail).ln() / steps;
    x.sqrt().max(x)
}

/// `K = (T/n)(1 + c)`: no row is hit more often, up to probability `tail`.
pub fn hits(rows: f64, steps: f64, tail: f64) -> f64 {
    steps / rows * (1.0 + hits_deviation(rows, steps, tail))
}

/// The parameters of the sensitivity of Theorem 7.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperOutput {
    /// `α`.
    pub order: f64,
    /// `L`.
    pub constant: f64,
    /// `M`.
    pub gradient_at_zero: f64,
    /// `M₀`.
    pub value_at_zero: f64,
    /// `n`.
    pub rows: f64,
    /// `T`.
    pub steps: f64,
    /// `η`.
    pub eta: f64,
}

/// `Δ` on a ball of this radius, where `G = M + L R^α`.
pub fn sensitivity_bounded(s: &PaperOutput, radius: f64, tail: f64) -> f64 {
    sensitivity(s, s.gradient_at_zero + s.constant * radius.powf(s.order), tail)
}

/// `Δ` on `R^d`, where `G = M + L (C_α T η)^{α/2}`.
pub fn sensitivity_unbounded(s: &PaperOutput, tail: f64) -> f64 {
    let c = c_alpha_paper(s.order, s.constant, s.gradient_at_zero, s.value_at_zero);
    let reach = (c * s.steps * s.eta).powf(0.5 * s.order);
    sensitivity(s, s.gradient_at_zero + s.constant * reach, tail)
}

/// `√(e(ω²T + 4G²η²K(1 + K)))`.
fn sensitivity(s: &PaperOutput, lipschitz: f64, tail: f64) -> f64 {
    let k = hits(s.rows, s.steps, tail);
    let omega = holder::omega(s.order, s.constant, s.eta, LossForm::General);
    let hits = 4.0 * lipschitz * lipschitz * s.eta * s.eta * k * (1.0 + k);
    (std::f64::consts::E * (omega * omega * s.steps + hits)).sqrt()
}

/// `σ = Δ√(2 log(2.5/δ))/ε`, which is proven for `ε ≤ 1`; beyond, the exact Gaussian profile at
/// `δ/2`.
///
/// # Errors
///
/// The accountant's, for an illegal budget.
pub fn sigma(sensitivity: f64, epsilon: f64, delta: f64) -> Result<f64, PrivacyError> {
    if epsilon <= 1.0 {
        return Ok(sensitivity * (2.0 * (2.5 / delta).ln()).sqrt() / epsilon);
    }
    Ok(sensitivity * gaussian::noise_multiplier_upper(epsilon, 0.5 * delta)?)
}

/// `η` of Theorem 9 (on `R^d`): `(n/log(1/γ))^{1/(3+α)}/T`.
pub fn eta_unbounded(rows: f64, steps: f64, order: f64, gamma: f64) -> f64 {
    (rows / (1.0 / gamma).ln()).powf(1.0 / (3.0 + order)) / steps
}

/// The parameters of the rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// `n`.
    pub rows: f64,
    /// `d`.
    pub dimension: f64,
    /// `ε`.
    pub epsilon: f64,
    /// `δ`.
    pub delta: f64,
    /// `γ`.
    pub gamma: f64,
}

impl Rate {
    /// The two terms of Theorem 10: what the noise costs, and what sampling costs.
    fn bounded_terms(&self) -> (f64, f64) {
        let Self { rows: n, dimension, epsilon, delta, gamma } = *self;
        let (fail, rare) = ((1.0 / gamma).ln(), (n / delta).ln());
        let noise = (dimension * (1.0 / delta).ln()).powf(0.25) * rare.sqrt() * fail.powf(0.125)
            / (n * epsilon).sqrt();
        (noise, (rare * n.ln() * fail).sqrt() / n.sqrt())
    }

    /// `η` of Theorem 10 (on a ball): `1/(T max{…})`.
    pub fn eta_bounded(&self, steps: f64) -> f64 {
        let (noise, sampling) = self.bounded_terms();
        1.0 / (steps * noise.max(sampling))
    }

    /// The rate of Theorem 10.
    pub fn bounded(&self, distance: f64) -> f64 {
        let (noise, sampling) = self.bounded_terms();
        distance * distance * (noise + sampling)
    }

    /// The rate of Theorem 9.
    pub fn unbounded(&self, order: f64, distance: f64) -> f64 {
        let Self { rows: n, dimension, epsilon, delta, gamma } = *self;
        let (fail, rare) = ((1.0 / gamma).ln(), (n / delta).ln());
        let noise = (dimension * (1.0 / delta).ln()).sqrt() * rare
            / (fail.powf((1.0 + order) / (4.0 * (3.0 + order)))
                * n.powf(2.0 / (3.0 + order))
                * epsilon);
        let sampling = n.ln() * fail.powf(2.0 / (3.0 + order)) * rare / n.powf(1.0 / (3.0 + order));
        distance * distance * (noise + sampling)
    }
}
