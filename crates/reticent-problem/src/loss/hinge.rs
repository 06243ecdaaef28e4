//! The q-hinge loss.

use super::about::{About, Describe, LabelKind, Predicts, check_exponent};
use super::residual::slope_of_power;
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "hinge",
    aliases: &[],
    help: "The hinge to the power --q (1: a support vector machine), two classes",
    convex: true,
    monotone: true,
    slope_limit: true,
    predicts: Predicts::Class,
    make: |given| Loss::Hinge { q: given.q.unwrap_or(1.0) },
    samples: &[Loss::Hinge { q: 1.0 }, Loss::Hinge { q: 1.5 }, Loss::Hinge { q: 2.0 }],
};

/// The q-hinge loss, `max(0, 1 − y⟨w,x⟩)^q` with labels `y ∈ {−1, +1}` and `1 ≤ q ≤ 2`.
///
/// At a margin of exactly one the slope is zero.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B` and weights with `‖w‖ ≤ R`:
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `q B (1 + BR)^{q−1}` | the hinge is at most `1 + BR`; infinite on `R^d` unless `q = 1` |
/// | difference `G` | `2 L`; for `q = 2`: `4B + 2B²R` | two rank-one matrices of norm `B²` differ by at most `B²` |
/// | Hölder | order `q − 1`, constant `q B^q` | `|a^{q−1} − b^{q−1}| ≤ |a − b|^{q−1}` |
/// | smoothness `β`, trace `τ` | `2B²` for `q = 2`, else none | the curvature at the kink is unbounded |
/// | at zero | value `1`, gradient `qB` | |
/// | a row | `q(1 + R‖x‖)^{q−1}‖x‖` | |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hinge {
    /// `1 ≤ q ≤ 2`.
    pub q: f64,
}

impl LinearLoss for Hinge {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        power(1.0 - label * margin, self.q)
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        -label * self.q * power(1.0 - label * margin, self.q - 1.0)
    }
}

/// The [`Hinge`] loss with `q = 1`, the support vector machine's: the same numbers, without asking
/// for `q` at every row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlainHinge;

impl LinearLoss for PlainHinge {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        let h = 1.0 - label * margin;
        if h <= 0.0 { 0.0 } else { h }
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        let h = 1.0 - label * margin;
        -label * if h <= 0.0 { 0.0 } else { 1.0 }
    }
}

/// `max(0, h)^e`, zero at `h ≤ 0` for `e = 0` too: that is the choice of subgradient.
#[inline(always)]
fn power(h: f64, e: f64) -> f64 {
    if h <= 0.0 {
        0.0
    } else if e == 1.0 {
        h
    } else if e == 0.0 {
        1.0
    } else if e == 2.0 {
        h * h
    } else {
        h.powf(e)
    }
}

impl Describe for Hinge {
    fn labels(&self) -> LabelKind {
        LabelKind::TwoClasses
    }

    fn check(&self) -> Result<(), ProblemError> {
        check_exponent(self.q)
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
        let q = self.q;
        let (b, r) = (bounds.norm(), domain.radius());
        let lipschitz = if q == 1.0 { b } else { q * b * (1.0 + b * r).powf(q - 1.0) };
        let smoothness = (q == 2.0).then_some(2.0 * b * b);
        Regularity {
            lipschitz,
            gradient_difference: if q == 2.0 { 4.0 * b + 2.0 * b * b * r } else { 2.0 * lipschitz },
            smoothness,
            hessian_trace: smoothness,
            hessian_rank: 1,
            holder_order: q - 1.0,
            holder_constant: q * b.powf(q),
            gradient_at_zero: q * b,
            value_at_zero: 1.0,
            strong_convexity: 0.0,
        }
    }

    fn row_slope(&self, reach: f64, _label: f64) -> f64 {
        slope_of_power(1.0 + reach, self.q)
    }

    fn at_zero(&self) -> Option<(Loss, f64)> {
        None
    }

    fn simulated(&self, signal: &Signal, _bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        signal.two_classes(truth, noise)
    }

    fn detail(&self) -> Option<(&'static str, f64)> {
        Some(("q", self.q))
    }

    #[inline(always)]
    fn accept<V: LossVisitor>(self, _: f64, visitor: V) -> V::Output {
        if self.q == 1.0 { visitor.visit(PlainHinge) } else { visitor.visit(self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_hinge_is_the_hinge_of_power_one() {
        for margin in [-1e300, -2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 1.0 + 1e-15, 3.0, f64::NAN] {
            for label in [-1.0, 1.0] {
                let (a, b) = (Hinge { q: 1.0 }, PlainHinge);
                assert_eq!(a.slope(margin, label).to_bits(), b.slope(margin, label).to_bits());
                let (a, b) = (a.value(margin, label), b.value(margin, label));
                assert!(a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()));
            }
        }
    }
}
