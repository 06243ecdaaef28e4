//! A lower bound on epsilon from what an attacker achieved.
//!
//! An attacker sees one output and guesses which of two neighbouring tables it came from. If it says "the second" with
//! probability `TPR` when that is true and `FPR` when it is not, an `(ε, δ)`-private mechanism has
//!
//! ```text
//! TPR ≤ e^ε·FPR + δ,     so     ε ≥ ln((TPR − δ)/FPR).
//! ```
//!
//! Rates are estimated from runs, so each is replaced by the end of its Clopper–Pearson interval that makes the bound smaller. The
//! guess is a threshold on a score; score and threshold are fixed on one half of the runs and judged on the other,
//! so the stated confidence holds whatever was tried on the first half.
//!
//! A mechanism whose trade-off curve is that of two normal laws at distance `μ` has `μ = Φ⁻¹(TPR) − Φ⁻¹(FPR)` at every threshold.
//! For such mechanisms (one Gaussian release, or a composition near one) the middle of the curve tells `μ` from few runs,
//! and the normal profile tells epsilon at any delta: [`Audit::epsilon_lower_gdp`]. It is a statement under that assumption; [`Audit::epsilon_lower`] needs
//! none.

use crate::error::check;
use crate::special::{binomial_tail, normal_quantile};
use crate::{PrivacyError, gaussian};

/// What an attack showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Audit {
    /// With the stated confidence no `(ε, δ)` with a smaller `ε` holds.
    pub epsilon_lower: f64,
    /// The same, if the trade-off curve is that of two normal laws.
    pub epsilon_lower_gdp: f64,
    /// Runs that were judged, on each side.
    pub runs: u64,
    /// The chance that both bounds hold is at least this.
    pub confidence: f64,
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
    fn of(threshold: f64, with: &[f64], without: &[f64]) -> Self {
        let above = |scores: &[f64]| scores.iter().filter(|s| **s > threshold).count() as u64;
        Self { hits: above(with), false_alarms: above(without), runs: with.len() as u64 }
    }

    /// The other guess: below the threshold means the first table.
    fn turned(self) -> Self {
        Self { hits: self.runs - self.false_alarms, false_alarms: self.runs - self.hits, ..self }
    }

    fn epsilon(self, delta: f64, alarm: f64) -> f64 {
        let hits = chance_lower(self.hits, self.runs, alarm) - delta;
        let alarms = chance_upper(self.false_alarms, self.runs, alarm);
        if hits <= 0.0 { 0.0 } else { (hits / alarms).ln().max(0.0) }
    }

    fn mu(self, alarm: f64) -> f64 {
        let hits = chance_lower(self.hits, self.runs, alarm);
        let alarms = chance_upper(self.false_alarms, self.runs, alarm);
        if hits <= 0.0 || alarms >= 1.0 {
            return 0.0;
        }
        (normal_quantile(hits) - normal_quantile(alarms)).max(0.0)
    }
}

/// Which guess to judge.
#[derive(Clone, Copy)]
struct Rule {
    threshold: f64,
    turned: bool,
}

impl Rule {
    fn counts(self, with: &[f64], without: &[f64]) -> Counts {
        let counts = Counts::of(self.threshold, with, without);
        if self.turned { counts.turned() } else { counts }
    }

    /// The rule with the largest value on these scores, among thresholds at a few hundred quantiles.
    fn best(with: &[f64], without: &[f64], value: impl Fn(Counts) -> f64) -> Self {
        let mut all: Vec<f64> = with.iter().chain(without).copied().collect();
        all.sort_by(f64::total_cmp);
        let mut best = (f64::NEG_INFINITY, Self { threshold: 0.0, turned: false });
        for i in 0..400 {
            for turned in [false, true] {
                let rule = Self { threshold: all[i * (all.len() - 1) / 399], turned };
                let v = value(rule.counts(with, without));
                if v > best.0 {
                    best = (v, rule);
                }
            }
        }
        best.1
    }
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
/// The first half of each list fixes the threshold, the second half is judged. Half of `1 − confidence` goes to each of the two
/// bounds.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for lists of different length or fewer than 20 runs, a confidence outside `(0, 1)` or an illegal delta.
pub fn judge(
    with: &[f64],
    without: &[f64],
    delta: f64,
    confidence: f64,
) -> Result<Audit, PrivacyError> {
    check(with.len() == without.len(), "runs", "be the same on both sides", with.len() as f64)?;
    check_settings(with.len(), delta, confidence)?;
    let half = with.len() / 2;
    let (first, second) = (&with[..half], &with[half..2 * half]);
    let (base, other) = (&without[..half], &without[half..2 * half]);
    // Two bounds, two rates each.
    let alarm = 0.25 * (1.0 - confidence);
    let direct = Rule::best(first, base, |c| c.epsilon(delta, alarm));
    let normal = Rule::best(first, base, |c| c.mu(alarm));
    let mu = normal.counts(second, other).mu(alarm);
    // The profile's epsilon rounds up; a lower bound must not.
    let gdp =
        if mu > 0.0 { gaussian::epsilon_upper(mu, delta.max(1e-300))? * (1.0 - 1e-9) } else { 0.0 };
    Ok(Audit {
        epsilon_lower: direct.counts(second, other).epsilon(delta, alarm),
        epsilon_lower_gdp: gdp,
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
