//! The log-cosh loss.

use super::about::{About, Describe, LabelKind, Predicts, check_threshold};
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "log-cosh",
    aliases: &["log_cosh"],
    help: "Squared near zero, linear far beyond --threshold (default 0.5), smooth in between",
    convex: true,
    monotone: false,
    slope_limit: true,
    predicts: Predicts::Number,
    make: |given| Loss::LogCosh { threshold: given.threshold.unwrap_or(0.5) },
    samples: &[Loss::LogCosh { threshold: 0.7 }, Loss::LogCosh { threshold: 5.0 }],
};

/// The log-cosh loss with threshold `h`: `h² ln cosh(r/h)`, `r = ⟨w,x⟩ − y`. About `r²/2` near zero
/// and `h|r|` far off, as the Huber loss, and infinitely often differentiable.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B`, `|y| ≤ Y` and weights with `‖w‖ ≤ R` (possibly infinite), the slope is
/// `h tanh(r/h)`:
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `B h tanh((Y + BR)/h)`, at most `hB` | the slope increases |
/// | difference `G` | `2 L` | two rows may pull opposite ways |
/// | smoothness `β`, trace `τ` | `B²` | `1/cosh²(r/h) ≤ 1`, attained at `r = 0` |
/// | at zero | value at `Y`, gradient `B h tanh(Y/h)` | |
/// | a row | `h‖x‖` | |
///
/// # Numerics
///
/// `ln cosh t = |t| + ln(1 + e^{−2|t|}) − ln 2`: no exponent is positive, so nothing overflows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogCosh {
    /// `h > 0`.
    pub threshold: f64,
}

impl LinearLoss for LogCosh {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        let h = self.threshold;
        let t = ((margin - label) / h).abs();
        h * h * (t + (-2.0 * t).exp().ln_1p() - std::f64::consts::LN_2)
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        let h = self.threshold;
        // The product may round to a little more than `h`, which the constants do not.
        (h * ((margin - label) / h).tanh()).min(h).max(-h)
    }
}

impl Describe for LogCosh {
    fn labels(&self) -> LabelKind {
        LabelKind::Numbers
    }

    fn check(&self) -> Result<(), ProblemError> {
        check_threshold(self.threshold)
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
        let (b, y) = (bounds.norm(), bounds.label());
        let steepest = |residual: f64| self.slope(residual, 0.0);
        let lipschitz = b * steepest(y + b * domain.radius());
        Regularity {
            lipschitz,
            gradient_difference: 2.0 * lipschitz,
            smoothness: Some(b * b),
            hessian_trace: Some(b * b),
            hessian_rank: 1,
            holder_order: 1.0,
            holder_constant: b * b,
            gradient_at_zero: b * steepest(y),
            value_at_zero: self.value(0.0, y),
            strong_convexity: 0.0,
        }
    }

    fn row_slope(&self, _reach: f64, _label: f64) -> f64 {
        self.threshold
    }

    /// The slope is at most the residual and at most the threshold.
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
