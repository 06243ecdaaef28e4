//! The Cauchy loss.

use super::about::{About, Describe, LabelKind, Predicts, check_threshold};
use super::residual::redescending;
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "cauchy",
    aliases: &[],
    help: "Squared near zero, logarithmic far beyond --threshold; not convex",
    convex: false,
    monotone: false,
    slope_limit: true,
    predicts: Predicts::Number,
    make: |given| Loss::Cauchy { threshold: given.threshold.unwrap_or(0.5) },
    samples: &[Loss::Cauchy { threshold: 3.0 }],
};

/// The Cauchy loss with threshold `k`: `(k²/2) ln(1 + r²/k²)`, `r = ⟨w,x⟩ − y`. A row far off pulls
/// less and less. Not convex.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B`, `|y| ≤ Y` and weights with `‖w‖ ≤ R` (possibly infinite), the slope is
/// `r/(1 + r²/k²)`:
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `B` times the slope at `min(Y + BR, k)`, at most `kB/2` | the slope is largest at `r = k` |
/// | difference `G` | `2 L` | two rows may pull opposite ways |
/// | smoothness `β`, trace `τ` | `B²` | `(1 − r²/k²)/(1 + r²/k²)²` lies in `[−1/8, 1]` |
/// | at zero | value at `Y`, `B` times the slope at `min(Y, k)` | |
/// | a row | `k‖x‖/2` | the steepest slope |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cauchy {
    /// `k > 0`.
    pub threshold: f64,
}

impl LinearLoss for Cauchy {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        let (r, k) = (margin - label, self.threshold);
        0.5 * k * k * ((r / k) * (r / k)).ln_1p()
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        let (r, k) = (margin - label, self.threshold);
        r / (1.0 + (r / k) * (r / k))
    }
}

impl Describe for Cauchy {
    fn labels(&self) -> LabelKind {
        LabelKind::Numbers
    }

    fn check(&self) -> Result<(), ProblemError> {
        check_threshold(self.threshold)
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
        redescending(*self, self.threshold, bounds, domain)
    }

    fn row_slope(&self, _reach: f64, _label: f64) -> f64 {
        0.5 * self.threshold
    }

    fn at_zero(&self) -> Option<(Loss, f64)> {
        None
    }

    fn simulated(&self, signal: &Signal, bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        signal.number(bound, truth, noise)
    }

    #[inline(always)]
    fn accept<V: LossVisitor>(self, _: f64, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}
