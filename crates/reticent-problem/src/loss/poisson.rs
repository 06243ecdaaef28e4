//! The Poisson loss.

use super::about::{About, Describe, LabelKind, Link, Predicts, check_threshold};
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "poisson",
    aliases: &[],
    help: "Poisson deviance with a logarithmic link, for counts; means up to --threshold (default 1)",
    convex: true,
    monotone: false,
    slope_limit: true,
    predicts: Predicts::Number,
    make: |given| Loss::Poisson { threshold: given.threshold.unwrap_or(1.0) },
    samples: &[Loss::Poisson { threshold: 1.0 }, Loss::Poisson { threshold: 2.3 }],
};

/// The Poisson loss, `e^m − y m` with `m = ⟨w,x⟩` and labels `0 ≤ y ≤ Y`: half the deviance of a
/// count from the predicted mean `e^m`, less a term that depends on the label alone.
///
/// # Bound
///
/// The slope `e^m − y` is unbounded on `R^d`, so the loss goes on linearly where the mean exceeds a
/// threshold `c`:
///
/// ```text
/// φ(m, y) = e^m − y m − (y − y ln y)                for m ≤ ln c,
///           c (1 + m − ln c) − y m − (y − y ln y)   beyond.
/// ```
///
/// The slope is `min(e^m, c) − y`: continuous and increasing, so `φ` is convex with a Lipschitz
/// gradient. Labels are scaled to `[0, 1]` by the largest declared count, and a mean beyond every
/// label predicts nobody: `c = 1` is chosen without data and changes nothing for a mean that can be
/// right. Multiplying counts and means by one factor multiplies the loss by it and adds a constant
/// to the intercept: the scale does not matter. A label is held to `[0, c]` here, so that the
/// constants hold for every number that a table can hold. The last term makes the least loss of
/// each row zero, which bounds on iterates rely on.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B`, labels held to `[0, y_c]` with `y_c = min(Y, c)`, and weights with
/// `‖w‖ ≤ R` (possibly infinite):
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `B max(min(e^{BR}, c), y_c − min(e^{−BR}, c))`, at most `cB` | the ends of the slope, at labels 0 and `y_c` |
/// | difference `G` | `2 L` | two rows may pull opposite ways |
/// | smoothness `β`, trace `τ` | `c B²` | `φ'' = e^m ≤ c` up to the threshold, zero beyond |
/// | at zero | value at label 0 or `y_c`, gradient `B max(s, y_c − s)`, `s = min(1, c)` | the value is convex in the label |
/// | a row | `c‖x‖` | the slope lies in `[−c, c]` |
///
/// # Numerics
///
/// The margin is capped before the exponential, so nothing overflows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poisson {
    /// `c > 0`: the mean beyond which the loss is linear, on the scale of the labels.
    pub threshold: f64,
}

impl LinearLoss for Poisson {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        let c = self.threshold;
        let y = label.max(0.0).min(c);
        let (below, beyond) = (margin.min(c.ln()), (margin - c.ln()).max(0.0));
        below.exp() - y * below + (c - y) * beyond - (y - y_ln_y(y))
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        let c = self.threshold;
        margin.exp().min(c) - label.max(0.0).min(c)
    }
}

/// `y ln y`, zero at zero.
fn y_ln_y(y: f64) -> f64 {
    if y > 0.0 { y * y.ln() } else { 0.0 }
}

/// `y ln(y/μ) − (y − μ)`.
fn half_deviance(label: f64, mean: f64) -> f64 {
    let ratio = if label > 0.0 { label * (label / mean).ln() } else { 0.0 };
    ratio - (label - mean)
}

impl Describe for Poisson {
    fn labels(&self) -> LabelKind {
        LabelKind::NonNegative
    }

    fn check(&self) -> Result<(), ProblemError> {
        check_threshold(self.threshold)
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
        let (b, c) = (bounds.norm(), self.threshold);
        let (top, reach) = (bounds.label().min(c), b * domain.radius());
        let lipschitz = b * reach.exp().min(c).max(top - (-reach).exp().min(c));
        let (beta, start) = (c * b * b, c.min(1.0));
        Regularity {
            lipschitz,
            gradient_difference: 2.0 * lipschitz,
            smoothness: Some(beta),
            hessian_trace: Some(beta),
            hessian_rank: 1,
            holder_order: 1.0,
            holder_constant: beta,
            gradient_at_zero: b * start.max(top - start),
            value_at_zero: self.value(0.0, 0.0).max(self.value(0.0, top)),
            strong_convexity: 0.0,
        }
    }

    fn row_slope(&self, _reach: f64, _label: f64) -> f64 {
        self.threshold
    }

    /// Where the mean zero is predicted the slope is the label.
    fn at_zero(&self) -> Option<(Loss, f64)> {
        Some((Loss::Squared, self.threshold))
    }

    fn link(&self) -> Link {
        Link::Log
    }

    fn deviance(&self, label: f64, predicted: f64) -> Option<f64> {
        Some(half_deviance(label, predicted))
    }

    fn simulated(&self, signal: &Signal, bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        signal.count(bound, 0.0, truth, noise)
    }

    #[inline(always)]
    fn accept<V: LossVisitor>(self, _: f64, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::simulated::LARGEST;
    use super::*;

    #[test]
    fn nothing_overflows_and_a_row_costs_least_at_its_label() {
        let loss = Poisson { threshold: 1.0 };
        for label in [-3.0, 0.0, 0.2, 1.0, 7.0] {
            for margin in [-1e300, -800.0, -1.0, 0.0, 0.5, 800.0, 1e300] {
                let (value, slope) = (loss.value(margin, label), loss.slope(margin, label));
                assert!(value.is_finite() && value >= -1e-12, "{margin} {label}: {value}");
                assert!(slope.abs() <= 1.0, "{margin} {label}: {slope}");
            }
        }
        let at_label = loss.value(0.2_f64.ln(), 0.2);
        assert!(at_label.abs() < 1e-15 && loss.slope(0.2_f64.ln(), 0.2).abs() < 1e-15);
        // Below the threshold it is half the deviance.
        for margin in [-4.0, -1.0, -0.1] {
            let deviance = half_deviance(0.3, f64::exp(margin));
            assert!((loss.value(margin, 0.3) - deviance).abs() < 1e-14);
        }
    }

    #[test]
    fn simulated_counts_are_whole_and_follow_their_mean() {
        let signal = Signal {
            margin: 2.0,
            offset: 1.0,
            spread: 0.25,
            away: 1.0,
            explained: 0.5,
            skewed: true,
        };
        let loss = Loss::Poisson { threshold: 1.0 };
        let normal = [-1.6, -0.8, -0.3, 0.0, 0.3, 0.8, 1.6];
        let mean = |truth: f64| {
            let label = |z: &f64| loss.simulated_label(&signal, 1.0, &[truth], &[*z]);
            let labels: Vec<f64> = normal.iter().map(label).collect();
            for y in &labels {
                assert!((0.0..=1.0).contains(y) && (y * LARGEST).fract() < 1e-9, "{y}");
            }
            labels.iter().sum::<f64>() / 7.0
        };
        assert!(mean(-2.0) < mean(0.0) && mean(0.0) < mean(2.0));
    }
}
