//! The gamma loss.

use super::about::{About, Describe, LabelKind, Link, Predicts};
use super::tweedie::{THRESHOLD, Tweedie};
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "gamma",
    aliases: &[],
    help: "Gamma deviance with a logarithmic link, for amounts above zero such as costs; rows pull up to --threshold means (default 5)",
    convex: true,
    monotone: false,
    slope_limit: true,
    predicts: Predicts::Number,
    make: |given| Loss::Gamma { threshold: given.threshold.unwrap_or(THRESHOLD) },
    samples: &[Loss::Gamma { threshold: 5.0 }, Loss::Gamma { threshold: 1.5 }],
};

/// The gamma loss, `m + y e^{−m}` up to a term of `y` alone, with `m = ⟨w,x⟩`: half the deviance of
/// an amount from the mean `e^m` whose standard deviation is proportional to it.
///
/// The slope is `1 − min(y e^{−m}, c)`: relative errors count, and an amount of more than `c` times
/// its mean pulls as one of `c` times does. It is [`Tweedie`] with the variance power `q = 2`,
/// whose file has the constants and their reasons: `L = B max(1, c − 1)` and `β = cB²` without a
/// radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gamma {
    /// `c ≥ 1`: where the pull of an amount above its mean ends, as a multiple of the mean.
    pub threshold: f64,
}

impl Gamma {
    #[inline(always)]
    fn whole(self) -> Tweedie {
        Tweedie { q: 2.0, threshold: self.threshold }
    }
}

impl LinearLoss for Gamma {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        self.whole().value(margin, label)
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        self.whole().slope(margin, label)
    }
}

impl Describe for Gamma {
    fn labels(&self) -> LabelKind {
        self.whole().labels()
    }

    fn check(&self) -> Result<(), ProblemError> {
        self.whole().check()
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
        self.whole().regularity(bounds, domain)
    }

    fn row_slope(&self, reach: f64, label: f64) -> f64 {
        self.whole().row_slope(reach, label)
    }

    fn at_zero(&self) -> Option<(Loss, f64)> {
        self.whole().at_zero()
    }

    fn link(&self) -> Link {
        Link::Log
    }

    fn deviance(&self, label: f64, predicted: f64) -> Option<f64> {
        self.whole().deviance(label, predicted)
    }

    fn deviance_factor(&self, scale: f64) -> f64 {
        self.whole().deviance_factor(scale)
    }

    fn simulated(&self, signal: &Signal, bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        self.whole().simulated(signal, bound, truth, noise)
    }

    #[inline(always)]
    fn accept<V: LossVisitor>(self, _: f64, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}
