//! The logistic loss.

use super::about::{About, Describe, LabelKind, Predicts};
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "logistic",
    aliases: &[],
    help: "Log loss, two classes",
    convex: true,
    monotone: true,
    slope_limit: true,
    predicts: Predicts::Probabilities { of: probabilities, onnx: "Sigmoid" },
    make: |_| Loss::Logistic,
    samples: &[Loss::Logistic],
};

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
/// | a row | `‖x‖` | one weight vector, so no `√2` as for softmax |
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

impl Describe for Logistic {
    fn labels(&self) -> LabelKind {
        LabelKind::TwoClasses
    }

    fn check(&self) -> Result<(), ProblemError> {
        Ok(())
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
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

    fn row_slope(&self, _reach: f64, _label: f64) -> f64 {
        1.0
    }

    fn at_zero(&self) -> Option<(Loss, f64)> {
        None
    }

    fn simulated(&self, signal: &Signal, _bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        signal.two_classes(truth, noise)
    }

    #[inline(always)]
    fn accept<V: LossVisitor>(self, _: f64, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}

/// The probability of the class +1.
fn probabilities(margins: &mut [f64]) {
    for m in margins {
        *m = 1.0 / (1.0 + (-*m).exp());
    }
}
