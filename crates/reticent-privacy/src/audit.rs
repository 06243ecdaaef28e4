//! A lower bound on epsilon from what an attacker achieved.
//!
//! An attacker sees one output and guesses which of two neighbouring tables it came from. If it
//! says "the second" with probability `TPR` when that is true and `FPR` when it is not, an
//! `(ε, δ)`-private mechanism has
//!
//! ```text
//! TPR ≤ e^ε·FPR + δ,     so     ε ≥ ln((TPR − δ)/FPR).
//! ```
//!
//! Rates are estimated from runs, so each is replaced by the end of its Clopper–Pearson interval
//! that makes the bound smaller. The guess is a threshold on a score; score and threshold are fixed
//! on one half of the runs and judged on the other, so the stated confidence holds whatever was
//! tried on the first half.
//!
//! A mechanism whose trade-off curve is that of two normal laws at distance `μ` has
//! `μ = Φ⁻¹(TPR) − Φ⁻¹(FPR)` at every threshold. For such mechanisms (one Gaussian release, or a
//! composition near one) the middle of the curve tells `μ` from few runs, and the normal profile
//! tells epsilon at any delta: [`Audit::epsilon_lower_gdp`]. It is a statement under that
//! assumption; [`Audit::epsilon_lower`] needs none.
//!
//! A claim is more than one epsilon: the whole profile `δ(ε)` is claimed. The same two rates bound
//! it from below at every `ε`, `δ(ε) ≥ TPR − e^ε·FPR` ([`Audit::delta_lower`]), again without any
//! assumption, and in the middle of the curve few runs suffice to refute it.
//!
//! [`one_run`] judges a single run with many canaries.

pub mod one_run;

use crate::error::check;
use crate::{PrivacyError, gaussian};
use reticent_math::{binomial_tail, normal_quantile};

/// The result of an audit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Audit {
    /// With the stated confidence no `(ε, δ)` with a smaller `ε` holds.
    pub epsilon_lower: f64,
    /// The same, if the trade-off curve is that of two normal laws.
    pub epsilon_lower_gdp: f64,
    /// The rates behind the first bound.
    pub direct: Rates,
    /// The rates behind the second, from the middle of the curve.
    pub middle: Rates,
    /// Runs that were judged, on each side.
    pub runs: u64,
    /// The chance that all bounds hold is at least this.
    pub confidence: f64,
}

impl Audit {
    /// No smaller `δ` holds at `ε`, with the stated confidence.
    pub fn delta_lower(&self, epsilon: f64) -> f64 {
        let shown = |rates: Rates| rates.hits_lower - epsilon.exp() * rates.alarms_upper;
        shown(self.direct).max(shown(self.middle)).max(0.0)
    }
}

/// The error rates of one guess in the judged runs: both bounds hold with the stated confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// The true-positive rate is at least this.
    pub hits_lower: f64,
    /// The false-positive rate is at most this.
    pub alarms_upper: f64,
}

impl Rates {
    fn epsilon(self, delta: f64) -> f64 {
        let hits = self.hits_lower - delta;
        if hits <= 0.0 { 0.0 } else { (hits / self.alarms_upper).ln().max(0.0) }
    }

    fn mu(self) -> f64 {
        if self.hits_lower <= 0.0 || self.alarms_upper >= 1.0 {
            return 0.0;
        }
        (normal_quantile(self.hits_lower) - normal_quantile(self.alarms_upper)).max(0.0)
    }
}

/// The least chance for which `successes` or more in `trials` has probability `alarm`.
pub fn chance_lower(successes: u64, trials: u64, alarm: f64) -> f64 {
    if successes == 0 {
        return 0.0;
    }
    let tail = |p: f64| binomial_tail(successes as f64, trials as f64, p);
    let (mut low, mut high) = (0.0, successes as f64 / trials as f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if tail(middle) <= alarm {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The largest chance for which `successes` or fewer in `trials` has probability `alarm`.
pub fn chance_upper(successes: u64, trials: u64, alarm: f64) -> f64 {
    1.0 - chance_lower(trials - successes, trials, alarm)
}

/// Counts of one threshold: how many scores lie above it under each table.
#[derive(Clone, Copy)]
struct Counts {
    hits: u64,
    false_alarms: u64,
    runs: u64,
}

impl Counts {
    /// Of scores in increasing order.
    fn of(threshold: f64, with: &[f64], without: &[f64]) -> Self {
        let above = |scores: &[f64]| {
            (scores.len() - scores.partition_point(|s| s.total_cmp(&threshold).is_le())) as u64
        };
        Self { hits: above(with), false_alarms: above(without), runs: with.len() as u64 }
    }

    /// The other guess: below the threshold means the first table.
    fn turned(self) -> Self {
        Self { hits: self.runs - self.false_alarms, false_alarms: self.runs - self.hits, ..self }
    }

    fn rates(self, alarm: f64) -> Rates {
        Rates {
            hits_lower: chance_lower(self.hits, self.runs, alarm),
            alarms_upper: chance_upper(self.false_alarms, self.runs, alarm),
        }
    }
}

/// Which guess to judge.
#[derive(Clone, Copy)]
struct ThresholdRule {
    threshold: f64,
    turned: bool,
}

impl ThresholdRule {
    fn counts(self, with: &[f64], without: &[f64]) -> Counts {
        let counts = Counts::of(self.threshold, with, without);
        if self.turned { counts.turned() } else { counts }
    }

    /// Rules with thresholds at two hundred quantiles of these scores, and what each shows on them.
    fn all(with: &[f64], without: &[f64], alarm: f64) -> Vec<(Self, Rates)> {
        let all = sorted(&[with, without].concat());
        let (with, without) = (sorted(with), sorted(without));
        (0..400)
            .map(|i| {
                let threshold = all[(i / 2) * (all.len() - 1) / 199];
                let rule = Self { threshold, turned: i % 2 == 1 };
                (rule, rule.counts(&with, &without).rates(alarm))
            })
            .collect()
    }
}

fn sorted(scores: &[f64]) -> Vec<f64> {
    let mut scores = scores.to_vec();
    scores.sort_by(f64::total_cmp);
    scores
}

/// Checks what [`judge`] asks for, before any run is made.
///
/// # Errors
///
/// As [`judge`].
pub fn check_settings(runs: usize, delta: f64, confidence: f64) -> Result<(), PrivacyError> {
    check(runs >= 20, "runs", "be at least 20", runs as f64)?;
    check(confidence > 0.0 && confidence < 1.0, "confidence", "lie between 0 and 1", confidence)?;
    check((0.0..1.0).contains(&delta), "delta", "lie in [0, 1)", delta)
}

/// Judges scores of runs under two neighbouring tables; larger scores speak for the second, `with`.
///
/// The first half of each list fixes the threshold, the second half is judged. Half of
/// `1 − confidence` goes to each of the two bounds.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for lists of different length or fewer than 20 runs, a confidence
/// outside `(0, 1)` or an illegal delta.
pub fn judge(
    with: &[f64],
    without: &[f64],
    delta: f64,
    confidence: f64,
) -> Result<Audit, PrivacyError> {
    check(with.len() == without.len(), "runs", "be the same on both sides", with.len() as f64)?;
    check_settings(with.len(), delta, confidence)?;
    let half = with.len() / 2;
    // Two bounds, two rates each.
    let alarm = 0.25 * (1.0 - confidence);
    let rules = ThresholdRule::all(&with[..half], &without[..half], alarm);
    let (second, other) = (sorted(&with[half..2 * half]), sorted(&without[half..2 * half]));
    let judged = |value: &dyn Fn(Rates) -> f64| {
        let best = rules.iter().max_by(|(_, a), (_, b)| value(*a).total_cmp(&value(*b)));
        let rule = best.map_or(ThresholdRule { threshold: 0.0, turned: false }, |(rule, _)| *rule);
        rule.counts(&second, &other).rates(alarm)
    };
    let (direct, middle) = (judged(&|rates| rates.epsilon(delta)), judged(&Rates::mu));
    let mu = middle.mu();
    // The profile's epsilon rounds up; a lower bound must not.
    let gdp =
        if mu > 0.0 { gaussian::epsilon_upper(mu, delta.max(1e-300))? * (1.0 - 1e-9) } else { 0.0 };
    Ok(Audit {
        epsilon_lower: direct.epsilon(delta),
        epsilon_lower_gdp: gdp,
        direct,
        middle,
        runs: half as u64,
        confidence,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_clopper_and_pearson() {
        // 10 of 100 at 95 %: the textbook interval is 0.04900 to 0.17622.
        assert!((chance_lower(10, 100, 0.025) - 0.049_005).abs() < 1e-5);
        assert!((chance_upper(10, 100, 0.025) - 0.176_223).abs() < 1e-5);
        assert_eq!(chance_lower(0, 50, 0.01), 0.0);
        assert_eq!(chance_upper(50, 50, 0.01), 1.0);
        // No success in n: 1 − alarm^(1/n).
        assert!((chance_upper(0, 50, 0.01) - (1.0 - 0.01_f64.powf(0.02))).abs() < 1e-9);
    }

    /// Quantiles of a normal law in a scrambled order: an ideal sample.
    fn normals(mean: f64, runs: usize) -> Vec<f64> {
        (0..runs)
            .map(|i| (i * 7919) % runs)
            .map(|i| mean + normal_quantile((i as f64 + 0.5) / runs as f64))
            .collect()
    }

    #[test]
    fn two_normal_laws_give_nearly_their_own_epsilon() {
        let (mu, delta) = (1.0, 1e-5);
        let audit = judge(&normals(mu, 40_001), &normals(0.0, 40_001), delta, 0.95).unwrap();
        let truth = gaussian::epsilon_upper(mu, delta).unwrap();
        assert!(audit.epsilon_lower_gdp < truth && audit.epsilon_lower_gdp > 0.9 * truth);
        assert!(audit.epsilon_lower < truth && audit.epsilon_lower > 0.5 * truth);
        // One threshold serves the middle of the curve.
        assert!(audit.delta_lower(0.0) > 0.9 * gaussian::delta_upper(0.0, mu));
        for epsilon in [0.0, 0.3, 1.0] {
            let truth = gaussian::delta_upper(epsilon, mu);
            let shown = audit.delta_lower(epsilon);
            assert!(shown <= truth, "{epsilon}: {shown} of {truth}");
        }
    }

    #[test]
    fn equal_laws_show_nothing() {
        let audit = judge(&normals(0.0, 4_001), &normals(0.0, 4_001), 1e-5, 0.95).unwrap();
        assert_eq!((audit.epsilon_lower, audit.epsilon_lower_gdp), (0.0, 0.0));
    }

    #[test]
    fn nonsense_is_refused() {
        let ok = normals(0.0, 100);
        assert!(judge(&ok, &ok[..50], 0.0, 0.95).is_err());
        assert!(judge(&ok[..10], &ok[..10], 0.0, 0.95).is_err());
        assert!(judge(&ok, &ok, 0.0, 1.0).is_err());
        assert!(judge(&ok, &ok, 1.5, 0.9).is_err());
    }
}
