//! The squared loss.

use super::about::{About, Describe, LabelKind, Predicts};
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "squared",
    aliases: &[],
    help: "Half the squared residual",
    convex: true,
    monotone: false,
    slope_limit: true,
    predicts: Predicts::Number,
    make: |_| Loss::Squared,
    samples: &[Loss::Squared],
};

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
/// | a row | `(R‖x‖ + \|y\|)‖x‖` | |
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

impl Describe for Squared {
    fn labels(&self) -> LabelKind {
        LabelKind::Numbers
    }

    fn check(&self) -> Result<(), ProblemError> {
        Ok(())
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
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

    fn row_slope(&self, reach: f64, label: f64) -> f64 {
        reach + label
    }

    fn at_zero(&self) -> Option<(Loss, f64)> {
        Some((Loss::Squared, f64::INFINITY))
    }

    fn simulated(&self, signal: &Signal, bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        signal.number(bound, truth, noise)
    }

    #[inline(always)]
    fn accept<V: LossVisitor>(self, _: f64, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}
