//! The Welsch loss.

use std::f64::consts::FRAC_1_SQRT_2;

use super::about::{About, Describe, LabelKind, Predicts, check_threshold};
use super::residual::redescending;
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "welsch",
    aliases: &[],
    help: "Squared near zero, flat far beyond --threshold; not convex",
    convex: false,
    monotone: false,
    slope_limit: true,
    predicts: Predicts::Number,
    make: |given| Loss::Welsch { threshold: given.threshold.unwrap_or(0.5) },
    samples: &[Loss::Welsch { threshold: 5.0 }],
};

/// The Welsch loss with threshold `k`: `(k²/2)(1 − e^{−r²/k²})`, `r = ⟨w,x⟩ − y`. A row far off
/// costs `k²/2` and pulls no more. Not convex.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B`, `|y| ≤ Y` and weights with `‖w‖ ≤ R` (possibly infinite), the slope is
/// `r e^{−r²/k²}`:
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `B` times the slope at `min(Y + BR, k/√2)`, at most `kB e^{−1/2}/√2` | the slope is largest at `r = k/√2` |
/// | difference `G` | `2 L` | two rows may pull opposite ways |
/// | smoothness `β`, trace `τ` | `B²` | `(1 − 2r²/k²)e^{−r²/k²}` lies in `[−2e^{−3/2}, 1]` |
/// | at zero | value at `Y`, `B` times the slope at `min(Y, k/√2)` | |
/// | a row | `k e^{−1/2}‖x‖/√2` | the steepest slope |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welsch {
    /// `k > 0`.
    pub threshold: f64,
}

impl LinearLoss for Welsch {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        let (r, k) = (margin - label, self.threshold);
        -0.5 * k * k * (-(r / k) * (r / k)).exp_m1()
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        let (r, k) = (margin - label, self.threshold);
        r * (-(r / k) * (r / k)).exp()
    }
}

impl Describe for Welsch {
    fn labels(&self) -> LabelKind {
        LabelKind::Numbers
    }

    fn check(&self) -> Result<(), ProblemError> {
        check_threshold(self.threshold)
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
        let steepest = self.threshold * FRAC_1_SQRT_2;
        redescending(*self, steepest, bounds, domain)
    }

    fn row_slope(&self, _reach: f64, _label: f64) -> f64 {
        self.threshold * (-0.5_f64).exp() * FRAC_1_SQRT_2
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
