//! The cumulative logit loss of ordered levels.

use super::about::{About, Describe, LabelKind, Link, Predicts};
use super::thresholds::{Thresholds, sigmoid};
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "ordinal",
    aliases: &[],
    help: "Cumulative logit of ordered levels, three to sixteen whole numbers; --shares",
    convex: true,
    monotone: false,
    slope_limit: true,
    predicts: Predicts::Number,
    make: |given| Loss::Ordinal { thresholds: given.thresholds.unwrap_or(Thresholds::NONE) },
    samples: &[
        Loss::Ordinal { thresholds: Thresholds::SAMPLES[0] },
        Loss::Ordinal { thresholds: Thresholds::SAMPLES[1] },
        Loss::Ordinal { thresholds: Thresholds::SAMPLES[2] },
    ],
};

/// The cumulative logit, or proportional odds, of `K` ordered levels with public thresholds:
/// `−ln P(y)` with `P(y ≤ k) = σ(θ_k − m)`, `m = ⟨w,x⟩` and `θ_1 < … < θ_{K−1}`.
///
/// Labels are evenly spread from -1, the lowest level, to 1, the highest; any other number counts
/// as the nearest level, so that the constants hold for every row.
///
/// # Why thresholds are public
///
/// With `a < b` the thresholds below and above the label,
///
/// ```text
/// −ln(σ(b − m) − σ(a − m)) = ln(1 + e^{m−b}) + ln(1 + e^{a−m}) − ln(1 − e^{a−b}):
/// ```
///
/// two logistic losses and a term of the thresholds alone. It is convex in all of them together,
/// but the last term has no bound on its slope: two thresholds that meet. Learned thresholds would
/// need a bound on their distance, and a gradient that is no multiple of the row. Fixed ones make
/// this a loss of one margin like any other, and follow from the shares of the levels, of which
/// those who collect a table know something ([`Thresholds::of_shares`]). The intercept moves them
/// together. Their distances stay, and what an error in them costs is of second order.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B` and weights with `‖w‖ ≤ R` (possibly infinite), `ρ = BR`, where the slope
/// is `1 − σ(b − m) − σ(a − m)`:
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `B max(σ(ρ − θ_1), σ(ρ + θ_{K−1}))`, at most `B` | the slope rises with `m` and falls with the level; its ends are those of the lowest level at `ρ` and of the highest at `−ρ` |
/// | difference `G` | `2 L` | two rows may pull opposite ways |
/// | smoothness `β`, trace `τ` | `B² max(¼, max_y s(y))`, at most `B²/2` | see below; the Hessian has rank one |
/// | at zero | value `max_y −ln P(y)`, gradient `B max(σ(−θ_1), σ(θ_{K−1}))` | as above |
/// | a row | `‖x‖` | the slope lies in `(−1, 1)` |
///
/// The curvature is `σ'(b − m) + σ'(a − m)`. With `H = cosh((b − a)/2)` and `c = cosh(m − (a+b)/2)`
/// it is `(1 + cH)/(c + H)²`, as `σ'(u) = 1/(2 + 2 cosh u)`. Its derivative by `c` has the sign of
/// `H − 2/H − c`. So over `c ≥ 1` it is largest at `c = 1`, `s = 1/(1 + H)`, if `H ≤ 2`, and
/// otherwise at `c = H − 2/H`, `s = H²/(4(H² − 1))`. The lowest and the highest level have one
/// threshold and `¼`.
///
/// # Numerics
///
/// Every exponent is non-positive, so no finite margin overflows, and no difference of
/// probabilities is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordinal {
    /// `θ`.
    pub thresholds: Thresholds,
}

/// `ln(1 + e^u)`.
fn softplus(u: f64) -> f64 {
    u.max(0.0) + (-u.abs()).exp().ln_1p()
}

impl LinearLoss for Ordinal {
    fn value(self, margin: f64, label: f64) -> f64 {
        let (below, above) = self.thresholds.around(self.thresholds.level(label));
        softplus(margin - above) + softplus(below - margin) - (-(below - above).exp_m1()).ln()
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        let (below, above) = self.thresholds.around(self.thresholds.level(label));
        sigmoid(margin - above) - sigmoid(below - margin)
    }
}

impl Ordinal {
    /// The largest curvature.
    fn steepest(self) -> f64 {
        let level = |level: usize| {
            let (below, above) = self.thresholds.around(level);
            let h = (0.5 * (above - below)).cosh();
            if h <= 2.0 {
                1.0 / (1.0 + h)
            } else if h < 1e100 {
                0.25 / (1.0 - 1.0 / (h * h))
            } else {
                0.25
            }
        };
        // Rounded up a little: a hyperbolic cosine is not exact.
        (0..self.thresholds.levels()).map(level).fold(0.25, f64::max) * (1.0 + 1e-14)
    }

    /// The largest size of the slope for margins up to this one.
    fn slope_within(self, reach: f64) -> f64 {
        self.slope(reach, -1.0).max(-self.slope(-reach, 1.0))
    }
}

impl Describe for Ordinal {
    fn labels(&self) -> LabelKind {
        LabelKind::Levels { count: self.thresholds.levels() }
    }

    fn check(&self) -> Result<(), ProblemError> {
        if self.thresholds == Thresholds::NONE { Err(ProblemError::Shares) } else { Ok(()) }
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
        let b = bounds.norm();
        let lipschitz = b * self.slope_within(b * domain.radius());
        let beta = b * b * self.steepest();
        let values = self.thresholds.probabilities(0.0).into_iter().map(|p| -p.ln());
        Regularity {
            lipschitz,
            gradient_difference: 2.0 * lipschitz,
            smoothness: Some(beta),
            hessian_trace: Some(beta),
            hessian_rank: 1,
            holder_order: 1.0,
            holder_constant: beta,
            gradient_at_zero: b * self.slope_within(0.0),
            value_at_zero: values.fold(0.0, f64::max),
            strong_convexity: 0.0,
        }
    }

    fn row_slope(&self, _reach: f64, _label: f64) -> f64 {
        1.0
    }

    fn at_zero(&self) -> Option<(Loss, f64)> {
        None
    }

    fn link(&self) -> Link {
        Link::Levels(self.thresholds)
    }

    fn simulated(&self, signal: &Signal, bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        bound * signal.level(&self.thresholds, truth, noise)
    }

    #[inline(always)]
    fn accept<V: LossVisitor>(self, _: f64, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability of each level as it is defined, and the slope as a difference quotient.
    #[test]
    fn it_is_the_negative_logarithm_of_the_level_s_probability() {
        let thresholds = Thresholds::of_shares(&[0.1, 0.25, 0.05, 0.4, 0.2], 1.2).unwrap();
        let loss = Ordinal { thresholds };
        let below = |k: usize, m: f64| match thresholds.iter().nth(k) {
            Some(threshold) => 1.0 / (1.0 + (m - threshold).exp()),
            None => 1.0,
        };
        for m in [-4.0, -0.3, 0.0, 1.1, 5.0] {
            for k in 0..5 {
                let label = 0.5 * k as f64 - 1.0;
                let p = below(k, m) - if k == 0 { 0.0 } else { below(k - 1, m) };
                assert!((loss.value(m, label) + p.ln()).abs() < 1e-10, "{m} {k}");
                let slope = (loss.value(m + 1e-5, label) - loss.value(m - 1e-5, label)) / 2e-5;
                assert!((loss.slope(m, label) - slope).abs() < 1e-9, "{m} {k}");
            }
        }
        for far in [1e3, 1e300] {
            assert_eq!((loss.slope(far, -1.0), loss.slope(-far, 1.0)), (1.0, -1.0));
            assert!(loss.value(far, 0.0).is_finite());
        }
    }

    /// On a grid of margins, for levels from narrow to wide: never above, and nearly there.
    #[test]
    fn the_curvature_is_at_most_its_bound_and_nearly_attains_it() {
        for gap in [0.002_f64, 0.5, 1.5, 2.6, 3.0, 4.0, 8.0, 30.0] {
            let half = (512.0 * gap).round() / 1024.0;
            let thresholds = Thresholds::try_from(vec![-half, half]).unwrap();
            let bound = Ordinal { thresholds }.steepest();
            let bend = |u: f64| sigmoid(u) * sigmoid(-u);
            let places = (-40_000..=40_000).map(|i| f64::from(i) / 1000.0);
            let most = places.map(|m| bend(half - m) + bend(-half - m)).fold(0.0, f64::max);
            assert!(most <= bound && most > 0.9999 * bound, "{gap}: {most} of {bound}");
        }
    }
}
