//! The q-norm regression loss.

use super::about::{About, Describe, LabelKind, Predicts, check_exponent};
use super::residual::slope_of_power;
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "power",
    aliases: &[],
    help: "The residual to the power --q (1: absolute, 2: squared)",
    convex: true,
    monotone: false,
    slope_limit: true,
    predicts: Predicts::Number,
    make: |given| Loss::Power { q: given.q.unwrap_or(2.0) },
    samples: &[Loss::Power { q: 1.0 }, Loss::Power { q: 1.5 }, Loss::Power { q: 2.0 }],
};

/// The q-norm regression loss, `|⟨w,x⟩ − y|^q` with `1 ≤ q ≤ 2`.
///
/// At a residual of exactly zero the slope is zero.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B`, `|y| ≤ Y` and weights with `‖w‖ ≤ R`:
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `q B (Y + BR)^{q−1}` | the residual is at most `Y + BR`; infinite on `R^d` unless `q = 1` |
/// | difference `G` | `2 L`; for `q = 2`: `2B²R + 4BY` | two rank-one matrices of norm `B²` differ by at most `B²` |
/// | Hölder | order `q − 1`, constant `q 2^{2−q} B^q` | reached by residuals of opposite sign and equal size |
/// | smoothness `β`, trace `τ` | `2B²` for `q = 2`, else none | the curvature at the kink is unbounded |
/// | at zero | value `Y^q`, gradient `q B Y^{q−1}` | with `Y^0 = 1` |
/// | a row | `q(R‖x‖ + \|y\|)^{q−1}‖x‖` | |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// `1 ≤ q ≤ 2`.
    pub q: f64,
}

impl LinearLoss for Power {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        let r = (margin - label).abs();
        if self.q == 1.0 { r } else { r.powf(self.q) }
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        let r = margin - label;
        if r == 0.0 {
            0.0
        } else if self.q == 1.0 {
            r.signum()
        } else if self.q == 2.0 {
            2.0 * r
        } else {
            self.q * r.abs().powf(self.q - 1.0) * r.signum()
        }
    }
}

impl Describe for Power {
    fn labels(&self) -> LabelKind {
        LabelKind::Numbers
    }

    fn check(&self) -> Result<(), ProblemError> {
        check_exponent(self.q)
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
        let q = self.q;
        let (b, y, r) = (bounds.norm(), bounds.label(), domain.radius());
        let lipschitz = if q == 1.0 { b } else { q * b * (y + b * r).powf(q - 1.0) };
        let smoothness = (q == 2.0).then_some(2.0 * b * b);
        Regularity {
            lipschitz,
            gradient_difference: if q == 2.0 {
                2.0 * b * b * r + 4.0 * b * y
            } else {
                2.0 * lipschitz
            },
            smoothness,
            hessian_trace: smoothness,
            hessian_rank: 1,
            holder_order: q - 1.0,
            holder_constant: q * 2.0_f64.powf(2.0 - q) * b.powf(q),
            gradient_at_zero: if q == 1.0 { b } else { q * b * y.powf(q - 1.0) },
            value_at_zero: y.powf(q),
            strong_convexity: 0.0,
        }
    }

    fn row_slope(&self, reach: f64, label: f64) -> f64 {
        slope_of_power(reach + label, self.q)
    }

    fn at_zero(&self) -> Option<(Loss, f64)> {
        Some((Loss::Power { q: self.q }, f64::INFINITY))
    }

    fn simulated(&self, signal: &Signal, bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        signal.number(bound, truth, noise)
    }

    fn detail(&self) -> Option<(&'static str, f64)> {
        Some(("q", self.q))
    }

    #[inline(always)]
    fn accept<V: LossVisitor>(self, _: f64, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}
