//! The cost of choosing settings: run a random number of times, publish the best.
//!
//! Two theorems bound it, and the smaller bound counts: one by the base's profile
//! (`tuning/profile.rs`), for the truncated negative binomial law and any base that an accountant
//! knows, and one by its Rényi curve.
//!
//! # Theorem by Rényi orders (Papernot, Steinke 2022)
//!
//! Draw `K` from a fixed law, run the base release `K` times, each with a setting drawn from a
//! fixed law, and publish the best run by a score that is itself part of the release (or public).
//! With base curve `r`:
//!
//! - *Truncated negative binomial*, shape `η > −1`, `0 < γ < 1`: for every order `b >= 1`
//!   `r'(α) = r(α) + (1+η)(1 − 1/b)r(b) + (1+η)ln(1/γ)/b + ln(E K)/(α − 1)`.
//! - *Poisson*, mean `m >= 1`: `r'(α) = r(α) + m·δ̂ + ln(m)/(α − 1)`, where the base is
//!   `(ε̂, δ̂)`-private for some `ε̂ <= ln(1 + 1/(α − 1))`. `K = 0` publishes a fixed default.
//!
//! A pure base `ε` costs `(2 + η)ε` under the first law, whatever the mean.
//!
//! # A setting from a list
//!
//! Where settings are drawn from a list, a run is one of the events of the list, drawn without the
//! data ([`Event::OneOf`]), and its curve is at most the largest of theirs at each order or `ε`.
//!
//! # Inexact samplers
//!
//! A base whose output law is within `t` of what it should be, in total variation, has no Rényi
//! bound. But the laws of the whole choice are then within `t·E K` of each other: couple every run
//! with its ideal copy; given `K`, some run differs with chance at most `K·t`. So [`Event::tuned`]
//! moves the distances outside, where they add to `δ`.

mod profile;

pub(crate) use profile::Shift;
pub use profile::tuning_delta_gdp;

use crate::{Event, PrivacyError, Trials, error::check};

impl Event {
    /// The event of private tuning: a base drawn from `bases`, run a random number of times, the
    /// best run published. Distances of inexact samplers in the bases, and `law`, that of the draw
    /// of the number of runs, are moved outside.
    ///
    /// # Errors
    ///
    /// [`PrivacyError`], if no accountant knows a base, or for an illegal law.
    pub fn tuned(bases: Vec<Self>, trials: Trials, law: f64) -> Result<Self, PrivacyError> {
        let mean = expected_trials(trials)?;
        let mut distance = 0.0_f64;
        let mut ideal = Vec::with_capacity(bases.len());
        for base in bases {
            let (base, own) = base.without_distance();
            distance = distance.max(own);
            if !ideal.contains(&base) {
                ideal.push(base);
            }
        }
        let base = match ideal.len() {
            1 => ideal.swap_remove(0),
            _ => Self::OneOf(ideal),
        };
        let event = Self::Tuned { base: Box::new(base), trials };
        event.check()?;
        crate::delta_upper(&event, 1.0)?;
        let total_variation = (mean * distance + law) * (1.0 + 1e-12);
        Ok(Self::Approximated { inner: Box::new(event), total_variation })
    }

    /// The event with exact samplers, and how far, in total variation, its law is from that.
    fn without_distance(self) -> (Self, f64) {
        let each = |events: Vec<Self>| -> (Vec<Self>, Vec<f64>) {
            events.into_iter().map(Self::without_distance).unzip()
        };
        match self {
            Self::Approximated { inner, total_variation } => {
                let (inner, own) = inner.without_distance();
                (inner, own + total_variation)
            }
            Self::Composed(parts) => {
                let (ideal, distances) = each(parts);
                (Self::Composed(ideal), distances.iter().sum())
            }
            // One of the laws was drawn, by the same draw for both.
            Self::OneOf(parts) => {
                let (ideal, distances) = each(parts);
                (Self::OneOf(ideal), distances.into_iter().fold(0.0, f64::max))
            }
            // As often as the longest run.
            Self::RandomStop { event, rounds } => {
                let (event, own) = event.without_distance();
                let distance = rounds.saturating_sub(1) as f64 * own;
                (Self::RandomStop { event: Box::new(event), rounds }, distance)
            }
            // The same law, for more distant neighbours.
            Self::Group { base, size } => {
                let (base, own) = base.without_distance();
                (Self::Group { base: Box::new(base), size }, own)
            }
            Self::Repeated { event, times } => {
                let (event, own) = event.without_distance();
                (Self::Repeated { event: Box::new(event), times }, times as f64 * own)
            }
            // Others keep what is inside, and their profiles count it there.
            other => (other, 0.0),
        }
    }
}

/// A few roundings, to the safe side.
fn up(x: f64) -> f64 {
    x * (1.0 + 1e-14)
}

fn check_tnb(gamma: f64, eta: f64) -> Result<(), PrivacyError> {
    check(gamma > 0.0 && gamma < 1.0, "gamma", "satisfy 0 < gamma < 1", gamma)?;
    check(eta > -1.0 && eta.is_finite(), "eta", "be finite and > -1", eta)
}

/// The mean of the truncated negative binomial law: `η(1−γ)/(γ(1−γ^η))`, `(1/γ − 1)/ln(1/γ)` at
/// `η = 0`.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless `0 < gamma < 1` and `eta > −1`.
pub fn tnb_mean(gamma: f64, eta: f64) -> Result<f64, PrivacyError> {
    check_tnb(gamma, eta)?;
    let log = gamma.ln();
    // η/(1 − γ^η) → 1/ln(1/γ) as η → 0
    let ratio = if (eta * log).abs() < 1e-9 {
        -1.0 / log * (1.0 - 0.5 * eta * log)
    } else {
        eta / -(eta * log).exp_m1()
    };
    Ok((1.0 - gamma) / gamma * ratio)
}

/// `P(K = k)` of the truncated negative binomial law, `k >= 1`.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless `0 < gamma < 1`, `eta > −1` and `k >= 1`.
pub fn tnb_pmf(gamma: f64, eta: f64, k: u64) -> Result<f64, PrivacyError> {
    check_tnb(gamma, eta)?;
    check(k >= 1, "k", "be at least 1", k as f64)?;
    let log = gamma.ln();
    // (1−γ)^k/(γ^−η − 1) Π_{l<k} (l+η)/(l+1); the factor l = 0 is η, which cancels against γ^−η
    // − 1.
    let ratio = if (eta * log).abs() < 1e-9 {
        -1.0 / log * (1.0 + 0.5 * eta * log)
    } else {
        eta / (-eta * log).exp_m1()
    };
    let mut log_product = k as f64 * (-gamma).ln_1p();
    for l in 1..k {
        log_product += ((l as f64 + eta) / (l as f64 + 1.0)).ln();
    }
    Ok(ratio * log_product.exp())
}

/// The curve at `order` under the truncated negative binomial law, given the base curve there and
/// at `order_hat`.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal number.
pub fn tuning_rdp_tnb(
    order: f64,
    rdp: f64,
    order_hat: f64,
    rdp_hat: f64,
    gamma: f64,
    eta: f64,
) -> Result<f64, PrivacyError> {
    check(order > 1.0, "order", "be > 1", order)?;
    check(order_hat >= 1.0, "order_hat", "be >= 1", order_hat)?;
    let mean = tnb_mean(gamma, eta)?;
    let extra = (1.0 + eta) * ((1.0 - 1.0 / order_hat) * rdp_hat - gamma.ln() / order_hat);
    Ok(rdp + extra + mean.ln().max(0.0) / (order - 1.0))
}

/// The curve at `order` under the Poisson law with `mean >= 1`; the base is
/// `(ε̂, delta_hat)`-private for an `ε̂ <= ln(1 + 1/(order − 1))`.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal number; `mean < 1` is refused, because the formula
/// is false there.
pub fn tuning_rdp_poisson(
    order: f64,
    rdp: f64,
    mean: f64,
    delta_hat: f64,
) -> Result<f64, PrivacyError> {
    check(order > 1.0, "order", "be > 1", order)?;
    check(mean >= 1.0 && mean.is_finite(), "mean", "be finite and >= 1", mean)?;
    Ok(rdp + mean * delta_hat + mean.ln() / (order - 1.0))
}

/// The part of the truncated-negative-binomial curve that does not depend on `α`, minimised over
/// the order `b`.
pub(crate) fn tnb_extra(gamma: f64, eta: f64, mut rdp: impl FnMut(f64) -> f64) -> f64 {
    let value = |b: f64, r: f64| (1.0 + eta) * ((1.0 - 1.0 / b) * r - gamma.ln() / b);
    crate::rdp::best_order(|b| value(b, rdp(b)), 1e5).1
}

/// The expected number of runs.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal law.
pub fn expected_trials(trials: Trials) -> Result<f64, PrivacyError> {
    match trials {
        Trials::TruncatedNegativeBinomial { eta, gamma } => tnb_mean(gamma, eta),
        Trials::Poisson { mean } => Ok(mean),
    }
}

#[cfg(test)]
mod tests {
    use reticent_testkit::vectors::load;

    use super::*;

    #[test]
    fn the_published_vectors() {
        let mut seen = 0;
        for v in load("accounting") {
            let got = match v.formula.as_str() {
                "tnb_mean" => tnb_mean(v.number("gamma"), v.number("eta")),
                "tnb_pmf" => tnb_pmf(v.number("gamma"), v.number("eta"), v.number("k") as u64),
                "tuning_rdp_tnb" => tuning_rdp_tnb(
                    v.number("order"),
                    v.number("rdp"),
                    v.number("order_hat"),
                    v.number("rdp_hat"),
                    v.number("gamma"),
                    v.number("eta"),
                ),
                "tuning_rdp_poisson" => {
                    let (order, rdp) = (v.number("order"), v.number("rdp"));
                    tuning_rdp_poisson(order, rdp, v.number("mean"), v.number("delta_hat"))
                }
                "tuning_delta_gdp" => {
                    let (epsilon, mu) = (v.number("eps"), v.number("mu"));
                    tuning_delta_gdp(epsilon, mu, v.number("gamma"), v.number("eta"))
                }
                _ => continue,
            };
            let got = got.unwrap();
            assert!(v.accepts(got), "{} {:?}: {got:e}, want {}", v.formula, v.inputs, v.expected);
            seen += 1;
        }
        assert_eq!(seen, 20);
    }

    #[test]
    fn masses_sum_to_one_with_the_stated_mean() {
        for (gamma, eta) in [(0.3, 0.0), (0.2, 1.0), (0.4, -0.5), (0.3, 2.5), (0.3, 1e-12)] {
            let (mut total, mut mean) = (0.0, 0.0);
            for k in 1..400 {
                let p = tnb_pmf(gamma, eta, k).unwrap();
                total += p;
                mean += p * k as f64;
            }
            assert!((total - 1.0).abs() < 1e-9, "{gamma} {eta} {total}");
            assert!(
                (mean / tnb_mean(gamma, eta).unwrap() - 1.0).abs() < 1e-8,
                "{gamma} {eta} {mean}"
            );
        }
    }

    #[test]
    fn a_choice_costs_as_its_dearest_base_and_distances_count_for_every_run() {
        let adjacency = crate::Adjacency::ReplaceOne;
        let gaussian = |noise_multiplier| Event::Gaussian { noise_multiplier, adjacency };
        let inexact = |event, total_variation| Event::Approximated {
            inner: Box::new(event),
            total_variation,
        };
        let trials = Trials::TruncatedNegativeBinomial { eta: 0.0, gamma: 0.02 };
        let mean = tnb_mean(0.02, 0.0).unwrap();
        let alone = Event::Tuned { base: Box::new(gaussian(3.0)), trials };
        let bases = vec![gaussian(5.0), inexact(gaussian(3.0), 1e-12), gaussian(4.0)];
        let choice = Event::tuned(bases, trials, 1e-13).unwrap();
        let (expensive, all) = (
            crate::epsilon_upper(&alone, 1e-6).unwrap(),
            crate::epsilon_upper(&choice, 1e-6).unwrap(),
        );
        assert!(all >= expensive && all < expensive * (1.0 + 1e-3), "{all} {expensive}");
        let Event::Approximated { total_variation, .. } = choice else { panic!() };
        assert!(total_variation >= mean * 1e-12 + 1e-13);
        // Twice the largest base costs more than once.
        let twice = Event::Repeated { event: Box::new(inexact(gaussian(3.0), 1e-12)), times: 2 };
        let dearer = Event::tuned(vec![twice], trials, 0.0).unwrap();
        assert!(crate::epsilon_upper(&dearer, 1e-6).unwrap() > 1.2 * all);
    }

    #[test]
    fn what_no_accountant_knows_cannot_be_tuned() {
        let trials = Trials::TruncatedNegativeBinomial { eta: 0.0, gamma: 0.02 };
        let hits = |adjacency| Event::HitMixture {
            hits: crate::Hits::AveragePermuted { rows: 10, passes: 1 },
            shift: 0.1,
            drift: 0.0,
            cap: None,
            adjacency,
        };
        let zero_out = hits(crate::Adjacency::ZeroOut);
        assert!(Event::tuned(vec![zero_out], trials, 0.0).is_err());
        assert!(Event::tuned(vec![], trials, 0.0).is_err());
        // By its profile alone, and under that law alone.
        let known = hits(crate::Adjacency::ReplaceOne);
        assert!(Event::tuned(vec![known.clone()], trials, 0.0).is_ok());
        assert!(Event::tuned(vec![known], Trials::Poisson { mean: 4.0 }, 0.0).is_err());
    }

    #[test]
    fn distances_are_found_wherever_they_sit() {
        let adjacency = crate::Adjacency::ReplaceOne;
        let ideal = Event::Gaussian { noise_multiplier: 3.0, adjacency };
        let inexact =
            Event::Approximated { inner: Box::new(ideal.clone()), total_variation: 1e-12 };
        let stop = |event| Event::RandomStop { event: Box::new(event), rounds: 5 };
        let group = |event| Event::Group { base: Box::new(event), size: 3 };
        let either = |event| Event::OneOf(vec![Event::None, event]);
        let (found, distance) = either(group(stop(inexact))).without_distance();
        assert_eq!(found, either(group(stop(ideal))));
        assert!((distance / 4e-12 - 1.0).abs() < 1e-9, "{distance:e}");
    }

    #[test]
    fn fewer_than_one_expected_run_is_refused() {
        assert!(tuning_rdp_poisson(4.0, 0.1, 0.5, 1e-6).is_err());
        assert!(tnb_mean(0.1, -1.0).is_err());
    }
}
