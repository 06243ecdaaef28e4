//! The Tweedie loss.

use super::about::{About, Describe, LabelKind, Link, Predicts, check_exponent, range};
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "tweedie",
    aliases: &[],
    help: "Tweedie deviance with a logarithmic link, for amounts of which many are zero; variance power --q (default 1.5)",
    convex: true,
    monotone: false,
    slope_limit: true,
    predicts: Predicts::Number,
    make: |given| Loss::Tweedie {
        q: given.q.unwrap_or(1.5),
        threshold: given.threshold.unwrap_or(THRESHOLD),
    },
    samples: &[
        Loss::Tweedie { q: 1.5, threshold: 5.0 },
        Loss::Tweedie { q: 1.2, threshold: 1.5 },
        Loss::Tweedie { q: 2.0, threshold: 3.0 },
    ],
};

/// The default of `c`.
pub(super) const THRESHOLD: f64 = 5.0;

/// The least label of a variance power of 2, where the label 0 has no best mean.
const LEAST: f64 = 1e-6;

/// Half the Tweedie deviance of an amount `y` from the predicted mean `μ = e^m`, `m = ⟨w,x⟩`, for a
/// variance that grows as `μ^q`, `1 ≤ q ≤ 2`: Poisson at 1, gamma at 2, sums of gamma amounts of a
/// Poisson number of events (zero for many rows) in between.
///
/// # Bound
///
/// The slope `e^{(2−q)m} − y e^{−(q−1)m}` is unbounded in both directions. Labels are scaled to
/// `[0, 1]` by the declared maximum and held to that range here (from `10⁻⁶` on for `q = 2`), and
///
/// ```text
/// φ'(m, y) = min(e^{(2−q)m}, 1) − min(y e^{−(q−1)m}, c).
/// ```
///
/// Both parts increase in `m`, so `φ` is convex, and it goes on linearly where one of them ends.
/// The first ends at the mean 1, beyond every label: nothing is lost. The second ends where a label
/// is far above its mean: for `q = 2` at `c` times the mean, else at `c μ^{q−1}`. `c = 5` is chosen
/// without data: a label with the exponential law exceeds five times its mean in 0.7 % of the rows.
/// `φ` is normalized to be zero at the best mean of each row, which bounds on iterates rely on.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B`, labels held to `[l, t]`, `t = min(Y, 1)`, with `l = 0` or `10⁻⁶`, and
/// weights with `‖w‖ ≤ R` (possibly infinite), `ρ = BR`:
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `B max(1 − l e^{−(q−1)ρ}, min(t e^{(q−1)ρ}, c) − e^{−(2−q)ρ})`, at most `cB` | the slope rises with `m` and falls with `y`: its ends |
/// | difference `G` | `2 L` | two rows may pull opposite ways |
/// | smoothness `β`, trace `τ` | `B² max((2−q) + (q−1)t, (2−q)(t/c)^{(2−q)/(q−1)} + (q−1)c)` | between the ends of both parts `φ''` is convex in `m` |
/// | at zero | value at label `l` or `t`, gradient `B max(1 − l, …)` | convex in the label |
/// | a row | `c‖x‖` | the slope lies in `[−c, 1]` |
///
/// # Numerics
///
/// Margins are capped before an exponential, and `(e^{km} − 1)/k` is computed without cancellation,
/// so that the limits `q = 1` and `q = 2` need no case of their own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tweedie {
    /// `q`: the variance grows as this power of the mean.
    pub q: f64,
    /// `c ≥ 1`: where the pull of a label above its mean ends.
    pub threshold: f64,
}

/// `(e^{km} − 1)/k`, and its limit `m` at `k = 0`.
fn power(k: f64, m: f64) -> f64 {
    if k == 0.0 { m } else { (k * m).exp_m1() / k }
}

impl Tweedie {
    #[inline(always)]
    fn held(self, label: f64) -> f64 {
        label.max(self.least()).min(1.0)
    }

    fn least(self) -> f64 {
        if self.q == 2.0 { LEAST } else { 0.0 }
    }

    /// The integral of the slope from the mean 1.
    fn integral(self, m: f64, y: f64) -> f64 {
        let (up, down) = (2.0 - self.q, self.q - 1.0);
        let rising = power(up, m.min(0.0)) + m.max(0.0);
        if y == 0.0 {
            return rising;
        }
        // Below this margin the label's pull has ended.
        let end = if down > 0.0 { (y / self.threshold).ln() / down } else { -f64::MAX };
        let beyond = if m < end { self.threshold * (end - m) } else { 0.0 };
        rising + y * power(down, -m.max(end)) + beyond
    }
}

impl LinearLoss for Tweedie {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        let y = self.held(label);
        let best = if y > 0.0 { self.integral(y.ln(), y) } else { -1.0 / (2.0 - self.q) };
        self.integral(margin, y) - best
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        let rising = ((2.0 - self.q) * margin.min(0.0)).exp();
        let falling = self.held(label) * (-(self.q - 1.0) * margin).exp();
        // The product of zero and infinity is no number: a label of zero pulls nothing.
        rising - if falling.is_nan() { 0.0 } else { falling.min(self.threshold) }
    }
}

impl Describe for Tweedie {
    fn labels(&self) -> LabelKind {
        LabelKind::NonNegative
    }

    fn check(&self) -> Result<(), ProblemError> {
        let c = self.threshold;
        range(c.is_finite() && c >= 1.0, "threshold", "a finite number, 1 or more", c)?;
        check_exponent(self.q)
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
        let (b, c, least) = (bounds.norm(), self.threshold, self.least());
        let (up, down) = (2.0 - self.q, self.q - 1.0);
        let top = self.held(bounds.label());
        let reach = b * domain.radius();
        // The ends of the slope; a reach may be infinite, and has no product with zero then.
        let times = |power: f64| if power == 0.0 { 0.0 } else { power * reach };
        let rises = 1.0 - least * (-times(down)).exp();
        let falls = (top * times(down).exp()).min(c) - (-times(up)).exp();
        let lipschitz = b * rises.max(falls);
        let ended = if down == 0.0 { 0.0 } else { up * (top.min(c) / c).powf(up / down) };
        let curved = (up + down * top.min(c)).max(ended + down * c);
        let beta = b * b * if down == 0.0 { up } else { curved };
        let at = |label: f64| self.value(0.0, label);
        Regularity {
            lipschitz,
            gradient_difference: 2.0 * lipschitz,
            smoothness: Some(beta),
            hessian_trace: Some(beta),
            hessian_rank: 1,
            holder_order: 1.0,
            holder_constant: beta,
            gradient_at_zero: b * self.slope(0.0, least).max(-self.slope(0.0, top)),
            value_at_zero: at(least).max(at(top)),
            strong_convexity: 0.0,
        }
    }

    fn row_slope(&self, _reach: f64, _label: f64) -> f64 {
        self.threshold
    }

    /// Where nothing is known of the mean, a row counts by its label.
    fn at_zero(&self) -> Option<(Loss, f64)> {
        Some((Loss::Squared, self.threshold))
    }

    fn link(&self) -> Link {
        Link::Log
    }

    /// `y^{2−q}/((1−q)(2−q)) − yμ^{1−q}/(1−q) + μ^{2−q}/(2−q)`: the loss without its bounds.
    fn deviance(&self, label: f64, predicted: f64) -> Option<f64> {
        let (up, down) = (2.0 - self.q, self.q - 1.0);
        let y = label.max(self.least());
        let whole = |m: f64| power(up, m) + y * power(down, -m);
        let best = if y > 0.0 { whole(y.ln()) } else { -1.0 / up };
        Some(whole(predicted.ln()) - best)
    }

    fn deviance_factor(&self, scale: f64) -> f64 {
        scale.powf(2.0 - self.q)
    }

    fn simulated(&self, signal: &Signal, bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        signal.amount(bound, if self.q < 2.0 { 0.5 } else { 0.0 }, truth, noise)
    }

    fn detail(&self) -> Option<(&'static str, f64)> {
        Some(("q", self.q))
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
    fn a_slowly_rising_pull_counts_in_full_without_a_radius() {
        for q in [1.0, 1.0001, 1.5, 2.0] {
            let loss = Tweedie { q, threshold: 5.0 };
            let bounds = RowBounds::new(2.0, 1.0).unwrap();
            let lipschitz = loss.regularity(bounds, &Domain::Unbounded).lipschitz;
            let steepest = -2.0 * loss.slope(-1e6, 1.0);
            assert!(lipschitz >= steepest, "{q}: {lipschitz} < {steepest}");
            assert_eq!(
                lipschitz,
                if q == 1.0 {
                    2.0
                } else if q == 2.0 {
                    8.0
                } else {
                    10.0
                }
            );
        }
    }

    #[test]
    fn a_row_costs_least_at_its_label_and_nothing_overflows() {
        for q in [1.0, 1.01, 1.5, 1.99, 2.0] {
            let loss = Tweedie { q, threshold: 5.0 };
            for label in [-1.0, 0.0, 1e-3, 0.3, 1.0, 4.0] {
                for margin in [-1e300, -800.0, -30.0, -1.0, 0.0, 0.5, 800.0, 1e300] {
                    let (value, slope) = (loss.value(margin, label), loss.slope(margin, label));
                    assert!(!value.is_nan() && value >= -1e-12, "{q} {margin} {label}: {value}");
                    assert!((-5.0..=1.0).contains(&slope), "{q} {margin} {label}: {slope}");
                }
            }
            let m = 0.3_f64.ln();
            assert!(loss.value(m, 0.3).abs() < 1e-12 && loss.slope(m, 0.3).abs() < 1e-12);
            // Where neither bound is met it is half the deviance.
            for margin in [-2.0, -1.0, -0.1] {
                let deviance = loss.deviance(0.3, f64::exp(margin)).unwrap();
                assert!((loss.value(margin, 0.3) - deviance).abs() < 1e-12, "{q} {margin}");
            }
        }
        // The limits are those of the Poisson and the gamma deviance, written out.
        let [poisson, gamma] = [1.0, 2.0].map(|q| Tweedie { q, threshold: 5.0 });
        let (y, mean) = (0.4_f64, 0.25);
        let [p, g] = [poisson, gamma].map(|loss| loss.deviance(y, mean).unwrap());
        assert!((p - (y * (y / mean).ln() - (y - mean))).abs() < 1e-14);
        assert!((g - (y / mean - 1.0 - (y / mean).ln())).abs() < 1e-14);
    }
}
