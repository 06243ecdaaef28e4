//! The constants of a problem that theorems ask for.

use serde::{Deserialize, Serialize};

use crate::problem::or_none;

/// Constants of the loss, the domain and the declared bounds, valid for every table those bounds
/// allow.
///
/// Each is a supremum over all admissible rows and all weights in the domain (or, where said, in
/// `R^d`). The ridge is in `strong_convexity` and nowhere else: the other constants are those of
/// the data loss. One that is infinite is written as null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regularity {
    /// `L`: largest norm of a row's gradient on the domain; infinite where it is unbounded.
    #[serde(with = "or_none")]
    pub lipschitz: f64,
    /// `G`: largest distance between two rows' gradients at the same weights; at most `2 L`.
    #[serde(with = "or_none")]
    pub gradient_difference: f64,
    /// `β`: the gradient is `β`-Lipschitz on `R^d`; none if the loss is not smooth.
    pub smoothness: Option<f64>,
    /// `τ`: trace of a matrix that bounds a row's Hessian at every `w`; none if the loss is not
    /// smooth.
    pub hessian_trace: Option<f64>,
    /// Largest rank of a row's Hessian.
    pub hessian_rank: usize,
    /// `α` in `[0, 1]`: order of Hölder continuity of the gradient on `R^d`.
    pub holder_order: f64,
    /// The constant that goes with `holder_order`: `‖∇ℓ(w) − ∇ℓ(w')‖ ≤ H ‖w − w'‖^α`.
    #[serde(with = "or_none")]
    pub holder_constant: f64,
    /// `M`: largest norm of a row's gradient at zero.
    #[serde(with = "or_none")]
    pub gradient_at_zero: f64,
    /// `l0`: largest loss of a row at zero.
    #[serde(with = "or_none")]
    pub value_at_zero: f64,
    /// `μ`: the objective is `μ`-strongly convex; this is the ridge.
    pub strong_convexity: f64,
}

impl Regularity {
    /// `D_μ = min(L/μ, sqrt(2 l0/μ))`: bounds the minimiser and every iterate of gradient descent
    /// from zero on a ridge objective, whatever the rows. Infinite without a ridge.
    pub fn iterate_radius(&self) -> f64 {
        iterate_radius(self.lipschitz, self.strong_convexity, self.value_at_zero)
    }
}

/// `D_μ` from its three constants; see [`Regularity::iterate_radius`].
pub fn iterate_radius(lipschitz: f64, ridge: f64, value_at_zero: f64) -> f64 {
    if ridge == 0.0 {
        return f64::INFINITY;
    }
    (lipschitz / ridge).min((2.0 * value_at_zero / ridge).sqrt())
}
