//! The trade-off curve: a lower bound on an attacker's error rates.
//!
//! # Theorem (Wasserman, Zhou 2010; Dong, Roth, Su 2022)
//!
//! Anyone who decides from the output which of two neighbouring data sets was used, and is wrong
//! about the first with probability at most `α` (a false positive), misses the second with
//! probability at least
//!
//! ```text
//! f(α) = sup_ε max(0, 1 − δ(ε) − e^ε α, e^{−ε}(1 − δ(ε) − α)).
//! ```
//!
//! So the true-positive rate at false-positive rate `α` is at most `1 − f(α)`. Each `ε` gives a
//! valid bound; the best is searched for. For a Gaussian it is `Φ(Φ⁻¹(α) + μ)`.
//!
//! A grid of `ε`, however coarse, errs to the safe side: what is reported is the least of the
//! bounds at its points, a supremum over fewer `ε`, and nothing is read off between them. The same
//! holds for a choice among runs, whose grid is not refined. Where the crate does read between
//! points ([`crate::tuning`], tables of proven points in [`crate::pair`]) it takes chords of upper
//! bounds in `e^ε`, in which every profile is convex: they lie above it.

use std::collections::BTreeSet;

use crate::{Event, PrivacyError, error::probability, query::deltas_upper};

/// A point of the trade-off curve.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TradeOff {
    /// The attacker's false-positive rate.
    pub false_positive_rate: f64,
    /// The most the attacker's true-positive rate can be.
    pub true_positive_rate: f64,
}

/// An upper bound on the true-positive rate of any attack on `event` at `false_positive_rate`.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless the rate is a probability; whatever [`crate::delta_upper`]
/// refuses.
pub fn true_positive_rate_upper(
    event: &Event,
    false_positive_rate: f64,
) -> Result<f64, PrivacyError> {
    Ok(curve(event, &[false_positive_rate])?[0].true_positive_rate)
}

/// The trade-off curve at the given false-positive rates.
///
/// # Errors
///
/// As [`true_positive_rate_upper`].
pub fn curve(event: &Event, false_positive_rates: &[f64]) -> Result<Vec<TradeOff>, PrivacyError> {
    for rate in false_positive_rates {
        probability("false_positive_rate", *rate)?;
    }
    // δ(ε) on a grid, shared by all rates. Many at once cost less than each alone.
    let mut known: Vec<(f64, f64)> = Vec::new();
    // Each question about a choice among runs takes long: a finer grid, asked for at once, is the
    // last.
    let (mut next, at_once, ratio, halvings) =
        if is_choice(event) { (1e-2, 40, 1.2, 0) } else { (1e-4, AT_ONCE, 1.35, HALVINGS) };
    let mut epsilons = vec![0.0];
    while next < 2e4 && known.last().is_none_or(|(_, delta)| *delta >= 1e-13) {
        while epsilons.len() < at_once {
            epsilons.push(next);
            next *= ratio;
        }
        let deltas = deltas_upper(event, &epsilons)?;
        known.extend(epsilons.drain(..).zip(deltas));
    }
    let end = known.iter().position(|(_, delta)| *delta < 1e-13);
    known.truncate(end.map_or(known.len(), |end| end + 1));
    // Halved again and again on both sides of each rate's best, until the grid is fine there and
    // that brings next to nothing.
    let bound = |rate: f64, (epsilon, delta): (f64, f64)| rate_bound(rate, epsilon, delta);
    let mut open = false_positive_rates.to_vec();
    for _ in 0..halvings {
        let before: Vec<usize> = open.iter().map(|rate| best(*rate, &known)).collect();
        let old: Vec<f64> =
            open.iter().zip(&before).map(|(rate, &at)| bound(*rate, known[at])).collect();
        let sides = before.iter().flat_map(|&at| [at.checked_sub(1), Some(at)]).flatten();
        let halved: BTreeSet<usize> = sides.filter(|at| at + 1 < known.len()).collect();
        let middle = |i: usize| 0.5 * (known[i].0 + known[i + 1].0);
        let middles: Vec<f64> = halved.into_iter().map(middle).collect();
        let deltas = deltas_upper(event, &middles)?;
        known.extend(middles.into_iter().zip(deltas));
        known.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut old = old.into_iter();
        open.retain(|&rate| {
            let (at, old) = (best(rate, &known), old.next().unwrap_or(1.0));
            let last = known.len() - 1;
            let width = known[last.min(at + 1)].0 - known[at.saturating_sub(1)].0;
            width > FINE || old - bound(rate, known[at]) > WORTH * old
        });
    }
    let point = |&rate: &f64| {
        let (epsilon, delta) = known[best(rate, &known)];
        let true_positive_rate = rate_bound(rate, epsilon, delta);
        TradeOff { false_positive_rate: rate, true_positive_rate }
    };
    Ok(false_positive_rates.iter().map(point).collect())
}

/// Whether an event is a private choice among runs.
fn is_choice(event: &Event) -> bool {
    match event {
        Event::Tuned { .. } => true,
        Event::Approximated { inner, .. } => is_choice(inner),
        _ => false,
    }
}

/// How many points of the profile are asked for at once.
const AT_ONCE: usize = 16;

/// How often the grid is made finer, at most.
const HALVINGS: usize = 16;

/// How far apart the neighbours of the best may be: within, a smooth profile is found to a
/// thousandth.
const FINE: f64 = 0.1;

/// The least relative gain for which the grid is refined again.
const WORTH: f64 = 1e-4;

/// Which point of the profile bounds this rate best.
fn best(rate: f64, known: &[(f64, f64)]) -> usize {
    let bound = |i: usize| rate_bound(rate, known[i].0, known[i].1);
    (0..known.len()).min_by(|&a, &b| bound(a).total_cmp(&bound(b))).unwrap_or(0)
}

/// `min(1, δ + e^ε α, 1 − e^{−ε}(1 − δ − α))`, raised by more than its rounding: of an exponential
/// by as many roundings as its exponent is large, and a few more.
pub(crate) fn rate_bound(rate: f64, epsilon: f64, delta: f64) -> f64 {
    let times = |exponents: f64| 1.0 + (exponents + 8.0) * f64::EPSILON;
    let low = if rate == 0.0 {
        delta
    } else {
        let (epsilon, log) = (epsilon.min(1e3), rate.ln());
        (delta + (epsilon + log).exp()) * times(epsilon - log)
    };
    let high = 1.0 - (-epsilon).exp() * (1.0 - delta - rate).max(0.0) + 8.0 * f64::EPSILON;
    low.min(high).clamp(rate, 1.0)
}

#[cfg(test)]
mod tests {
    use reticent_math::{ndtr, normal_quantile};

    use super::*;
    use crate::Adjacency;

    #[test]
    fn the_gaussian_curve_is_found() {
        for mu in [0.3, 1.0, 3.0] {
            let event = Event::Gdp { mu, adjacency: Adjacency::ReplaceOne };
            let rates = [1e-6, 1e-3, 0.01, 0.1, 0.5, 0.9];
            for point in curve(&event, &rates).unwrap() {
                let exact = ndtr(normal_quantile(point.false_positive_rate) + mu);
                let got = point.true_positive_rate;
                assert!(got >= exact, "{mu} {point:?} {exact}");
                assert!(got <= exact * 1.002 + 1e-9, "{mu} {point:?} {exact}");
            }
        }
    }

    /// At `δ = 0` both lines are exponentials, whose neighbours in higher precision are these.
    #[test]
    fn a_rate_is_no_less_than_the_exact_one() {
        for (rate, epsilon, exact) in [
            // e^0.7 · 1e-3 and 1 − e^−2 · 0.7, from 50 digits.
            (1e-3, 0.7, 2.013_752_707_470_476_5e-3),
            (0.3, 2.0, 1.0 - 0.7 * 0.135_335_283_236_612_7),
        ] {
            let found = rate_bound(rate, epsilon, 0.0);
            assert!(found >= exact && found < exact * (1.0 + 1e-13), "{found} {exact}");
        }
        // Where exponent and logarithm nearly cancel nothing is lost that is not added again.
        let rate = f64::exp(-600.0);
        assert!(rate_bound(rate, 600.0, 0.0) >= 1.0 - 1e-15);
        assert_eq!(rate_bound(0.5, f64::INFINITY, 1.0), 1.0);
    }

    #[test]
    fn ends_of_the_curve() {
        let adjacency = Adjacency::ZeroOut;
        let pure = Event::PureDp { epsilon: 1.0, adjacency };
        assert!(true_positive_rate_upper(&pure, 0.0).unwrap() < 1e-12);
        assert_eq!(true_positive_rate_upper(&pure, 1.0).unwrap(), 1.0);
        let at = true_positive_rate_upper(&pure, 0.1).unwrap();
        assert!((at / (0.1 * 1f64.exp()) - 1.0).abs() < 1e-3, "{at}");
        assert!(true_positive_rate_upper(&Event::None, 0.2).unwrap() <= 0.2 + 1e-12);
        assert_eq!(true_positive_rate_upper(&Event::NotPrivate, 0.2).unwrap(), 1.0);
        assert!(true_positive_rate_upper(&pure, 1.5).is_err());
    }
}
