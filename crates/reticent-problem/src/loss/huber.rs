//! The Huber loss.

use super::about::{About, Describe, LabelKind, Predicts, check_threshold};
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "huber",
    aliases: &[],
    help: "Squared near zero, linear beyond --threshold",
    convex: true,
    monotone: false,
    slope_limit: true,
    predicts: Predicts::Number,
    make: |given| Loss::Huber { threshold: given.threshold.unwrap_or(0.5) },
    samples: &[Loss::Huber { threshold: 0.7 }, Loss::Huber { threshold: 50.0 }],
};

/// The Huber loss with threshold `h`: `r²/2` where `|r| ≤ h`, else `h|r| − h²/2`, with
/// `r = ⟨w,x⟩ − y`.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B`, `|y| ≤ Y` and weights with `‖w‖ ≤ R` (possibly infinite):
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `B min(h, Y + BR)` | the slope is the residual clamped to `±h` |
/// | difference `G` | `2 L` | two rows may pull opposite ways |
/// | smoothness `β`, trace `τ` | `B²` | the slope has slope one or zero |
/// | at zero | value of `Y`, gradient `B min(Y, h)` | |
/// | a row | `h‖x‖` | |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Huber {
    /// `h > 0`.
    pub threshold: f64,
}

impl LinearLoss for Huber {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        let (r, h) = ((margin - label).abs(), self.threshold);
        if r <= h { 0.5 * r * r } else { h * (r - 0.5 * h) }
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        (margin - label).clamp(-self.threshold, self.threshold)
    }
}

impl Describe for Huber {
    fn labels(&self) -> LabelKind {
        LabelKind::Numbers
    }

    fn check(&self) -> Result<(), ProblemError> {
        check_threshold(self.threshold)
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
        let threshold = self.threshold;
        let (b, y, r) = (bounds.norm(), bounds.label(), domain.radius());
        let lipschitz = b * threshold.min(y + b * r);
        Regularity {
            lipschitz,
            gradient_difference: 2.0 * lipschitz,
            smoothness: Some(b * b),
            hessian_trace: Some(b * b),
            hessian_rank: 1,
            holder_order: 1.0,
            holder_constant: b * b,
            gradient_at_zero: b * y.min(threshold),
            value_at_zero: self.value(0.0, y),
            strong_convexity: 0.0,
        }
    }

    fn row_slope(&self, _reach: f64, _label: f64) -> f64 {
        self.threshold
    }

    fn at_zero(&self) -> Option<(Loss, f64)> {
        Some((Loss::Squared, self.threshold))
    }

    fn simulated(&self, signal: &Signal, bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        signal.number(bound, truth, noise)
    }

    #[inline(always)]
    fn accept<V: LossVisitor>(self, _: f64, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}
