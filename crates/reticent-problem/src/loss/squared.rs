//! The squared loss.

use super::LinearLoss;
use crate::{Domain, Regularity, RowBounds};

/// The squared loss, `(⟨w,x⟩ − y)²/2`.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B`, `|y| ≤ Y` and weights with `‖w‖ ≤ R`:
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `B(BR + Y)` | the residual is at most `BR + Y`; infinite on `R^d` |
/// | difference `G` | `B²R + 2BY` | `‖(xxᵀ − x'x'ᵀ)w‖ ≤ B²‖w‖`: two positive matrices of norm `B²` |
/// | smoothness `β`, trace `τ` | `B²` | the Hessian is `x xᵀ` |
/// | at zero | value `Y²/2`, gradient `BY` | |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Squared;

impl LinearLoss for Squared {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        0.5 * (margin - label).powi(2)
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        margin - label
    }
}

pub(super) fn regularity(bounds: RowBounds, domain: &Domain) -> Regularity {
    let (b, y, r) = (bounds.norm(), bounds.label(), domain.radius());
    Regularity {
        lipschitz: b * (b * r + y),
        gradient_difference: b * b * r + 2.0 * b * y,
        smoothness: Some(b * b),
        hessian_trace: Some(b * b),
        hessian_rank: 1,
        holder_order: 1.0,
        holder_constant: b * b,
        gradient_at_zero: b * y,
        value_at_zero: 0.5 * y * y,
        strong_convexity: 0.0,
    }
}
