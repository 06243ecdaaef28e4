//! The logistic loss.

use super::LinearLoss;
use crate::{Domain, Regularity, RowBounds};

/// The logistic loss, `ln(1 + e^{−y⟨w,x⟩})` with labels `y ∈ {−1, +1}`.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B` and weights with `‖w‖ ≤ R` (possibly infinite):
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `B/(1 + e^{−BR})` | the slope is a sigmoid of a margin that stays within `BR` |
/// | difference `G` | `2 L` | two rows may pull opposite ways |
/// | smoothness `β`, trace `τ` | `B²/4` | `s(1 − s) ≤ 1/4` for the sigmoid `s`; the Hessian has rank one |
/// | at zero | value `ln 2`, gradient `B/2` | the sigmoid is one half there |
///
/// # Numerics
///
/// Every exponent is non-positive, so no finite margin overflows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Logistic;

impl LinearLoss for Logistic {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        let z = label * margin;
        (-z).max(0.0) + (-z.abs()).exp().ln_1p()
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        let z = label * margin;
        let e = (-z.abs()).exp();
        let sigmoid_of_minus_z = if z >= 0.0 { e } else { 1.0 } / (1.0 + e);
        -label * sigmoid_of_minus_z
    }
}

pub(super) fn regularity(bounds: RowBounds, domain: &Domain) -> Regularity {
    let b = bounds.norm();
    let lipschitz = b / (1.0 + (-b * domain.radius()).exp());
    Regularity {
        lipschitz,
        gradient_difference: 2.0 * lipschitz,
        smoothness: Some(b * b / 4.0),
        hessian_trace: Some(b * b / 4.0),
        hessian_rank: 1,
        holder_order: 1.0,
        holder_constant: b * b / 4.0,
        gradient_at_zero: b / 2.0,
        value_at_zero: std::f64::consts::LN_2,
        strong_convexity: 0.0,
    }
}
