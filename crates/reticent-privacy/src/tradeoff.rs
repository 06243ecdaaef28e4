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
    // δ(ε) on a grid, shared by all rates; refined around each rate's best.
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
    false_positive_rates
        .iter()
        .map(|&rate| {
            let bound = |(e, d): (f64, f64)| rate_bound(rate, e, d);
            let best = (0..known.len())
                .min_by(|&a, &b| bound(known[a]).total_cmp(&bound(known[b])))
                .unwrap_or(0);
            let mut least = bound(known[best]);
            let mut low = known[best.saturating_sub(1)].0;
            let mut high = known[(best + 1).min(known.len() - 1)].0;
            for _ in 0..18 {
                let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
                let at = [a, b].map(|e| delta_upper(event, e).map(|d| bound((e, d))));
                let [fa, fb] = at;
                let (fa, fb) = (fa?, fb?);
                least = least.min(fa).min(fb);
                if fa < fb {
                    high = b;
                } else {
                    low = a;
                }
            }
            Ok(TradeOff { false_positive_rate: rate, true_positive_rate: least })
        })
        .collect()
}

/// `min(1, δ + e^ε α, 1 − e^{−ε}(1 − δ − α))`.
fn rate_bound(rate: f64, epsilon: f64, delta: f64) -> f64 {
    let low = delta + if rate == 0.0 { 0.0 } else { (epsilon + rate.ln()).exp() };
    let high = 1.0 - (-epsilon).exp() * (1.0 - delta - rate).max(0.0);
    low.min(high).clamp(rate, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Adjacency,
        special::{ndtr, normal_quantile},
    };

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
