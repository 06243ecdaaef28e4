//! What an attacker can do: the trade-off curve.
//!
//! # Theorem (Wasserman, Zhou 2010; Dong, Roth, Su 2022)
//!
//! Whoever decides from the output which of two neighbouring data sets was used, and is wrong about the first with
//! probability at most `α` (a false positive), misses the second with probability at least
//!
//! ```text
//! f(α) = sup_ε max(0, 1 − δ(ε) − e^ε α, e^{−ε}(1 − δ(ε) − α)).
//! ```
//!
//! So the true-positive rate at false-positive rate `α` is at most `1 − f(α)`. Each `ε` gives a valid bound; the best
//! is searched for. For a Gaussian it is `Φ(Φ⁻¹(α) + μ)`.

use std::collections::BTreeSet;

use crate::{Event, PrivacyError, delta_upper, error::probability};

/// A point of the trade-off curve.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
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
/// [`PrivacyError::OutOfRange`] unless the rate is a probability; whatever [`crate::delta_upper`] refuses.
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
    // δ(ε) on a grid, shared by all rates.
    let mut known: Vec<(f64, f64)> = vec![(0.0, delta_upper(event, 0.0)?)];
    let mut epsilon = 1e-4;
    while epsilon < 2e4 {
        let delta = delta_upper(event, epsilon)?;
        known.push((epsilon, delta));
        if delta < 1e-13 {
            break;
        }
        epsilon *= 1.35;
    }
    // Halved again and again on both sides of each rate's best, until the grid is fine there and that brings next to nothing.
    let bound = |rate: f64, (epsilon, delta): (f64, f64)| rate_bound(rate, epsilon, delta);
    let mut open = false_positive_rates.to_vec();
    for _ in 0..HALVINGS {
        let before: Vec<usize> = open.iter().map(|rate| best(*rate, &known)).collect();
        let old: Vec<f64> =
            open.iter().zip(&before).map(|(rate, &at)| bound(*rate, known[at])).collect();
        let sides = before.iter().flat_map(|&at| [at.checked_sub(1), Some(at)]).flatten();
        let halved: BTreeSet<usize> = sides.filter(|at| at + 1 < known.len()).collect();
        for i in halved {
            let middle = 0.5 * (known[i].0 + known[i + 1].0);
            known.push((middle, delta_upper(event, middle)?));
        }
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

/// How often the grid is made finer, at most.
const HALVINGS: usize = 16;

/// How far apart the neighbours of the best may be: within, a smooth profile is found to a thousandth.
const FINE: f64 = 0.1;

/// What a finer grid must gain, relatively, to be worth another.
const WORTH: f64 = 1e-4;

/// Which point of the profile bounds this rate best.
fn best(rate: f64, known: &[(f64, f64)]) -> usize {
    let bound = |i: usize| rate_bound(rate, known[i].0, known[i].1);
    (0..known.len()).min_by(|&a, &b| bound(a).total_cmp(&bound(b))).unwrap_or(0)
}

/// `min(1, δ + e^ε α, 1 − e^{−ε}(1 − δ − α))`.
fn rate_bound(rate: f64, epsilon: f64, delta: f64) -> f64 {
    let low = delta + if rate == 0.0 { 0.0 } else { (epsilon + rate.ln()).exp() };
    let high = 1.0 - (-epsilon).exp() * (1.0 - delta - rate).max(0.0);
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
                assert!(got >= exact * (1.0 - 1e-9), "{mu} {point:?} {exact}");
                assert!(got <= exact * 1.002 + 1e-9, "{mu} {point:?} {exact}");
            }
        }
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
