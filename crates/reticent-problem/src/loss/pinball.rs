//! The pinball loss.

use super::about::{About, Describe, LabelKind, Predicts, check_quantile, range};
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "pinball",
    aliases: &["quantile"],
    help: "Quantile regression at --quantile (default 0.5), smoothed within --threshold (default 0.02; 0 smooths nothing)",
    convex: true,
    monotone: false,
    slope_limit: true,
    predicts: Predicts::Number,
    make: |given| Loss::Pinball {
        quantile: given.quantile.unwrap_or(0.5),
        threshold: given.threshold.unwrap_or(0.02),
    },
    samples: &[
        Loss::Pinball { quantile: 0.9, threshold: 0.7 },
        Loss::Pinball { quantile: 0.5, threshold: 0.2 },
        Loss::Pinball { quantile: 0.1, threshold: 0.0 },
    ],
};

/// The pinball loss of the quantile `τ`, `τ(y − m)` below the label and `(1 − τ)(m − y)` above it,
/// `m = ⟨w,x⟩`: its expectation is least where a share `τ` of the labels lies below `m`.
///
/// Its slope jumps at the label. Within `h` of it the slope rises linearly instead, with
/// `r = m − y`:
///
/// ```text
/// φ'(r) = min(max((r + h)/2h, 0), 1) − τ,      φ(r) = (r + h)²/4h − τr for |r| ≤ h.
/// ```
///
/// That is the loss averaged over labels that are moved by a uniform number in `[−h, h]`: its
/// minimiser is a `τ` quantile of the moved labels, off by at most `h`, and by a multiple of `h²`
/// where the labels have a smooth density. `h = 0.02` is a hundredth of the declared range, chosen
/// without data; `h = 0` is the plain loss, which algorithms for smooth losses refuse.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B`, `|y| ≤ Y` and weights with `‖w‖ ≤ R` (possibly infinite), `u = BR + Y`:
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `B max(φ'(u), −φ'(−u))`, at most `B max(τ, 1 − τ)` | the slope increases |
/// | difference `G` | `2 L` | two rows may pull opposite ways |
/// | Hölder | order 1 and `β` if `h > 0`; else order 0 and `B` | the jump of the slope is 1 |
/// | smoothness `β`, trace `τ` | `B²/2h`; none if `h = 0` | |
/// | at zero | value and slope at `±Y` | the value is convex in the label |
/// | a row | `max(τ, 1 − τ)‖x‖` | |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pinball {
    /// `τ` in `(0, 1)`.
    pub quantile: f64,
    /// `h ≥ 0`, on the scale of the labels.
    pub threshold: f64,
}

impl LinearLoss for Pinball {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        let (r, h) = (margin - label, self.threshold);
        // A residual within `h` of zero: then `h` is not zero.
        let over = if r.abs() < h { (r + h).powi(2) / (4.0 * h) } else { r.max(0.0) };
        over - self.quantile * r
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        let (r, h) = (margin - label, self.threshold);
        let share = match r {
            r if r.abs() < h => ((r + h) / (2.0 * h)).min(1.0),
            // The middle of the jump, at which nothing is wrong.
            0.0 => self.quantile,
            r => f64::from(u8::from(r > 0.0)),
        };
        share - self.quantile
    }
}

impl Describe for Pinball {
    fn labels(&self) -> LabelKind {
        LabelKind::Numbers
    }

    fn check(&self) -> Result<(), ProblemError> {
        let h = self.threshold;
        range(h.is_finite() && h >= 0.0, "threshold", "a finite number, 0 or more", h)?;
        check_quantile(self.quantile)
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
        let (b, y, h) = (bounds.norm(), bounds.label(), self.threshold);
        let steepest = |u: f64| self.slope(u, 0.0).max(-self.slope(-u, 0.0));
        let lipschitz = b * steepest(y + b * domain.radius());
        let smoothness = (h > 0.0).then(|| b * b / (2.0 * h));
        Regularity {
            lipschitz,
            gradient_difference: 2.0 * lipschitz,
            smoothness,
            hessian_trace: smoothness,
            hessian_rank: 1,
            holder_order: if h > 0.0 { 1.0 } else { 0.0 },
            holder_constant: smoothness.unwrap_or(b),
            gradient_at_zero: b * steepest(y),
            value_at_zero: self.value(0.0, y).max(self.value(0.0, -y)),
            strong_convexity: 0.0,
        }
    }

    fn row_slope(&self, _reach: f64, _label: f64) -> f64 {
        self.quantile.max(1.0 - self.quantile)
    }

    fn at_zero(&self) -> Option<(Loss, f64)> {
        None
    }

    fn quantile(&self) -> Option<f64> {
        Some(self.quantile)
    }

    fn deviance(&self, label: f64, predicted: f64) -> Option<f64> {
        Some(Self { threshold: 0.0, ..*self }.value(predicted, label))
    }

    fn simulated(&self, signal: &Signal, bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        signal.number(bound, truth, noise)
    }

    fn detail(&self) -> Option<(&'static str, f64)> {
        Some(("threshold", self.threshold))
    }

    #[inline(always)]
    fn accept<V: LossVisitor>(self, _: f64, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}
