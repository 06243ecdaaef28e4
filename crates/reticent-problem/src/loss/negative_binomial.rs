//! The negative binomial loss.

use super::about::{About, Describe, LabelKind, Link, Predicts, check_dispersion, check_threshold};
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "negative-binomial",
    aliases: &["negative_binomial"],
    help: "Negative binomial deviance with a logarithmic link, for counts that vary more than Poisson counts; --dispersion (default 10)",
    convex: true,
    monotone: false,
    slope_limit: true,
    predicts: Predicts::Number,
    make: |given| Loss::NegativeBinomial {
        dispersion: given.dispersion.unwrap_or(10.0),
        threshold: given.threshold.unwrap_or(1.0),
    },
    samples: &[
        Loss::NegativeBinomial { dispersion: 10.0, threshold: 1.0 },
        Loss::NegativeBinomial { dispersion: 0.4, threshold: 1.7 },
    ],
};

/// The negative binomial loss with a fixed dispersion `a`, `(y + 1/a) ln(1 + a e^m) − y m` with
/// `m = ⟨w,x⟩` and labels `0 ≤ y ≤ Y`: half the deviance of a count from the mean `μ = e^m`, less a
/// term of the label alone.
///
/// Labels are counts over their declared maximum `N`. A count with the variance `μ + αμ²` has the
/// dispersion `a = αN` on that scale, and its deviance is `N` times this one.
///
/// # Bound
///
/// The slope `(μ − y)/(1 + aμ)` lies in `(−y, 1/a)`. Beyond a mean of `c` the loss goes on
/// linearly, as the Poisson loss does and for the same reason: with `c = 1`, the largest label,
/// nothing is lost, and a small dispersion has no long slopes. Labels are held to `[0, c]`. Rows
/// with large means pull less than in the Poisson loss, which is what a dispersion is for.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B`, labels held to `[0, y_c]`, `y_c = min(Y, c)`, and weights with `‖w‖ ≤ R`
/// (possibly infinite), `ρ = BR`:
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `B` times the larger of the slope at `ρ` of label 0 and minus that at `−ρ` of `y_c` | the slope rises with `m` and falls with `y` |
/// | difference `G` | `2 L` | two rows may pull opposite ways |
/// | smoothness `β`, trace `τ` | `B² (1 + a y_c) k`, `k = 1/(4a)` if `ac ≥ 1`, else `c/(1 + ac)²` | `φ'' = μ(1 + ay)/(1 + aμ)²`, largest at `μ = 1/a` |
/// | at zero | value and slope at label 0 or `y_c` | the value is convex in the label |
/// | a row | `max(c/(1 + ac), y_c)‖x‖` | the ends of the slope |
///
/// # Numerics
///
/// The margin is capped before the exponential, so nothing overflows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NegativeBinomial {
    /// `a > 0`.
    pub dispersion: f64,
    /// `c > 0`: the mean beyond which the loss is linear, on the scale of the labels.
    pub threshold: f64,
}

impl NegativeBinomial {
    #[inline(always)]
    fn held(self, label: f64) -> f64 {
        label.max(0.0).min(self.threshold)
    }
}

/// `(y + 1/a) ln((1 + aμ)/(1 + ay)) − y ln(μ/y)` at the mean `μ = e^m`.
fn half_deviance(a: f64, y: f64, m: f64) -> f64 {
    let logarithms = if y > 0.0 { y * (m - y.ln()) } else { 0.0 };
    (y + 1.0 / a) * ((a * m.exp()).ln_1p() - (a * y).ln_1p()) - logarithms
}

impl LinearLoss for NegativeBinomial {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        let (y, end) = (self.held(label), self.threshold.ln());
        let beyond = (margin - end).max(0.0) * self.slope(end, label);
        half_deviance(self.dispersion, y, margin.min(end)) + beyond
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        let mean = margin.exp().min(self.threshold);
        (mean - self.held(label)) / (1.0 + self.dispersion * mean)
    }
}

impl Describe for NegativeBinomial {
    fn labels(&self) -> LabelKind {
        LabelKind::NonNegative
    }

    fn check(&self) -> Result<(), ProblemError> {
        check_dispersion(self.dispersion)?;
        check_threshold(self.threshold)
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
        let (b, a, c) = (bounds.norm(), self.dispersion, self.threshold);
        let (top, reach) = (self.held(bounds.label()), b * domain.radius());
        let lipschitz = b * self.slope(reach, 0.0).max(-self.slope(-reach, top));
        let steepest = if a * c >= 1.0 { 0.25 / a } else { c / (1.0 + a * c).powi(2) };
        let beta = b * b * (1.0 + a * top) * steepest;
        Regularity {
            lipschitz,
            gradient_difference: 2.0 * lipschitz,
            smoothness: Some(beta),
            hessian_trace: Some(beta),
            hessian_rank: 1,
            holder_order: 1.0,
            holder_constant: beta,
            gradient_at_zero: b * self.slope(0.0, 0.0).max(-self.slope(0.0, top)),
            value_at_zero: self.value(0.0, 0.0).max(self.value(0.0, top)),
            strong_convexity: 0.0,
        }
    }

    fn row_slope(&self, _reach: f64, label: f64) -> f64 {
        let c = self.threshold;
        (c / (1.0 + self.dispersion * c)).max(self.held(label))
    }

    /// Where the mean zero is predicted the slope is the label.
    fn at_zero(&self) -> Option<(Loss, f64)> {
        Some((Loss::Squared, self.threshold))
    }

    fn link(&self) -> Link {
        Link::Log
    }

    fn deviance(&self, label: f64, predicted: f64) -> Option<f64> {
        Some(half_deviance(self.dispersion, label.max(0.0), predicted.ln()))
    }

    fn simulated(&self, signal: &Signal, bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        signal.count(bound, 0.5, truth, noise)
    }

    #[inline(always)]
    fn accept<V: LossVisitor>(self, _: f64, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_costs_least_at_its_label_and_a_small_dispersion_is_poisson() {
        let loss = NegativeBinomial { dispersion: 10.0, threshold: 1.0 };
        for label in [-3.0, 0.0, 0.2, 1.0, 7.0] {
            for margin in [-1e300, -800.0, -1.0, 0.0, 0.5, 800.0, 1e300] {
                let (value, slope) = (loss.value(margin, label), loss.slope(margin, label));
                assert!(!value.is_nan() && value >= -1e-12, "{margin} {label}: {value}");
                assert!(slope.abs() <= 1.0, "{margin} {label}: {slope}");
            }
        }
        let m = 0.2_f64.ln();
        assert!(loss.value(m, 0.2).abs() < 1e-15 && loss.slope(m, 0.2).abs() < 1e-15);
        let (poisson, near) =
            (Loss::Poisson { threshold: 1.0 }, NegativeBinomial { dispersion: 1e-7, ..loss });
        for margin in [-3.0, -0.5] {
            let want = poisson.value(&[margin], 0.3);
            assert!((near.value(margin, 0.3) - want).abs() < 1e-6);
            assert!((near.slope(margin, 0.3) - (margin.exp() - 0.3)).abs() < 1e-6);
        }
    }
}
