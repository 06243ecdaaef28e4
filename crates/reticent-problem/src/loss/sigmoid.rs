//! The sigmoid loss.

use super::about::{About, Describe, LabelKind, Predicts};
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "sigmoid",
    aliases: &[],
    help: "The smoothed number of errors, two classes; not convex",
    convex: false,
    monotone: false,
    slope_limit: true,
    predicts: Predicts::Class,
    make: |_| Loss::Sigmoid,
    samples: &[Loss::Sigmoid],
};

/// The sigmoid loss `1/(1 + e^{y⟨w,x⟩})` with labels `y ∈ {−1, +1}`: the smoothed count of errors.
/// Not convex.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B`, for every `w`; with `s` the loss itself, the slope is `−y s(1 − s)`:
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L`, also at zero | `B/4` | `s(1 − s) ≤ 1/4`, attained at margin zero |
/// | difference `G` | `2 L` | two rows may pull opposite ways |
/// | smoothness `β`, trace `τ` | `B²/(6√3)` | `s(1 − s)\|1 − 2s\|` is largest at `s = (1 ± 1/√3)/2` |
/// | at zero | value `1/2` | |
/// | a row | `‖x‖/4` | |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sigmoid;

impl LinearLoss for Sigmoid {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        let z = label * margin;
        let e = (-z.abs()).exp();
        if z >= 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        let e = (-(label * margin).abs()).exp();
        -label * e / ((1.0 + e) * (1.0 + e))
    }
}

impl Describe for Sigmoid {
    fn labels(&self) -> LabelKind {
        LabelKind::TwoClasses
    }

    fn check(&self) -> Result<(), ProblemError> {
        Ok(())
    }

    fn regularity(&self, bounds: RowBounds, _domain: &Domain) -> Regularity {
        let b = bounds.norm();
        let beta = b * b / (6.0 * 3.0_f64.sqrt());
        Regularity {
            lipschitz: b / 4.0,
            gradient_difference: b / 2.0,
            smoothness: Some(beta),
            hessian_trace: Some(beta),
            hessian_rank: 1,
            holder_order: 1.0,
            holder_constant: beta,
            gradient_at_zero: b / 4.0,
            value_at_zero: 0.5,
            strong_convexity: 0.0,
        }
    }

    fn row_slope(&self, _reach: f64, _label: f64) -> f64 {
        0.25
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
