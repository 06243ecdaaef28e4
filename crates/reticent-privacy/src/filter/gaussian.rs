//! Spending in Gaussian units: a filter for events chosen after looking at earlier results.
//!
//! # Theorem
//!
//! Fix `mu` and `leak`. Let an analyst choose events one after another, each as it likes from all
//! earlier outputs, and let event `i` be dominated, in both directions, by the pair that leaks
//! everything with probability `l_i` and otherwise shows `N(0, 1)` against `N(m_i, 1)`. If on every
//! path `Σ m_i² <= mu²` and `Σ l_i <= leak`, then the whole is dominated by `mu` and `leak`: its
//! profile is at most `leak + δ_mu(ε)`.
//!
//! *Why.* By Blackwell's theorem each event can be simulated from its pair. Let `w` be the chance,
//! given a path, that nothing leaked on it; it is the same under both data sets. So for every set
//! `S` of paths `P(S) − e^ε Q(S)` is at most the chance of any leak, at most `leak`, and
//! `∫_S w (p − e^ε q) <= ∫ (p − e^ε q)₊` for the laws without leaks, which Gaussian filters bound
//! by `δ_mu(ε)` (Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2022). ∎
//!
//! Events that were fixed before the first output need no filter: they compose with the whole by
//! products of pairs. So [`gaussian_room`] asks how large `mu` may be beside them, once, before
//! anything is seen.
//!
//! # The pair of an event
//!
//! [`gaussian_cost`] finds the least `m` with `d(ε) <= l + (1 − l) δ_m(ε)` for all `ε >= 0`, where
//! `d` is the event's profile. Both sides are convex in `x = e^ε`: between two points `d` is below
//! its chord and `δ_m` above its tangent, so finitely many comparisons prove it for all `ε`; from
//! the point where `d <= l` on, nothing is left to prove.

use reticent_math::log_ndtr;

use crate::{
    Budget, Event, PrivacyError,
    account::parts,
    delta_upper, epsilon_upper,
    error::check,
    gaussian::{self, PROFILE_ERROR, bisect},
    pair::Pair,
    pld::Composition,
    query::deltas_upper,
};

/// Chords by which a profile is bounded.
const CHORDS: u32 = 48;

/// The least room worth having.
const SMALLEST: f64 = 1e-6;

/// The largest parameter considered; such a release hides nothing.
const LARGEST: f64 = 1e3;

/// The least `mu` for which `event`, up to the probability `leak`, is no easier to read than one
/// Gaussian release. Zero leak is enough for Gaussian events alone, and for those it is exact.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless `0 <= leak < 1`; [`PrivacyError::Unreachable`] if there is
/// none, as for an event without a bound; whatever [`crate::epsilon_upper`] refuses.
pub fn gaussian_cost(event: &Event, leak: f64) -> Result<f64, PrivacyError> {
    event.check()?;
    check((0.0..1.0).contains(&leak), "leak", "satisfy 0 <= leak < 1", leak)?;
    let parts = parts(event)?;
    if parts.curves.is_empty() && parts.variation == 0.0 && !parts.exposed {
        match Composition::new(parts.pairs).terms() {
            [] => return Ok(0.0),
            [(Pair::Gaussian { mu }, 1)] => return Ok(mu * (1.0 + 1e-14)),
            _ => {}
        }
    }
    let unreachable = |reason: &str| PrivacyError::Unreachable {
        name: "event",
        reason: format!("{reason}, so it has no cost in Gaussian units"),
    };
    let top = epsilon_upper(event, leak)?;
    if top > 500.0 {
        return Err(unreachable("its loss has no bound at this leak"));
    }
    if top == 0.0 {
        return Ok(0.0);
    }
    let epsilons: Vec<f64> = (0..CHORDS).map(|k| top * f64::from(k) / f64::from(CHORDS)).collect();
    let deltas = deltas_upper(event, &epsilons)?;
    let mut profile: Vec<(f64, f64)> = epsilons.into_iter().zip(deltas).collect();
    profile.push((top, leak));
    let holds = |mu: f64| profile.windows(2).all(|w| covers(w[0], w[1], mu, leak));
    let mut high = top.min(1.0) * 0.1;
    while !holds(high) {
        high *= 2.0;
        if high > LARGEST {
            return Err(unreachable("no Gaussian release covers it"));
        }
    }
    Ok(bisect(0.0, high, holds).1)
}

/// Whether `leak + (1 − leak)δ_mu` is above the profile between two of its points, by the chord and
/// a tangent.
fn covers(from: (f64, f64), to: (f64, f64), mu: f64, leak: f64) -> bool {
    let middle = 0.5 * (from.0 + to.0);
    let value = gaussian::delta(middle, mu) * (1.0 - 2.0 * PROFILE_ERROR);
    // x·dδ/dx = −e^ε Φ(−mu/2 − ε/mu) at the point of contact
    let slope = (middle + log_ndtr(-0.5 * mu - middle / mu)).exp();
    let tangent = |epsilon: f64| {
        let rise = -slope * (epsilon - middle).exp_m1();
        value + rise - 1e-9 * rise.abs()
    };
    [from, to].iter().all(|&(epsilon, d)| d <= leak + (1.0 - leak) * tangent(epsilon))
}

/// The largest `mu` that adaptively chosen events may spend, with `leak` beside it, if all of
/// `fixed` is fixed before anything is seen and everything together is to keep `budget`. Zero if
/// there is no room.
///
/// # Errors
///
/// As [`crate::delta_upper`].
pub fn gaussian_room(fixed: &[Event], budget: Budget, leak: f64) -> Result<f64, PrivacyError> {
    let (epsilon, delta, adjacency) = (budget.epsilon.get(), budget.delta.get(), budget.adjacency);
    if delta == 0.0 {
        return Ok(0.0);
    }
    let most = gaussian::mu_lower(epsilon, delta)? * (1.0 + 1e-6);
    room(fixed, budget, leak, most, |mu| Event::Gdp { mu, adjacency })
}

/// The largest sum of epsilons that adaptively chosen events may spend, with `leak` beside it, if
/// all of `fixed` is fixed before anything is seen and everything together is to keep `budget`
/// (Rogers, Roth, Ullman, Vadhan 2016: with sums fixed in advance, basic composition holds for
/// adaptive choices too). Zero if there is no room.
///
/// # Errors
///
/// As [`crate::delta_upper`].
pub fn basic_room(fixed: &[Event], budget: Budget, leak: f64) -> Result<f64, PrivacyError> {
    let (epsilon, adjacency) = (budget.epsilon.get(), budget.adjacency);
    if fixed.is_empty() {
        return Ok(epsilon);
    }
    let spent = epsilon_upper(&Event::Composed(fixed.to_vec()), budget.delta.get() - leak)?;
    let found = room(fixed, budget, leak, epsilon, |epsilon| Event::PureDp { epsilon, adjacency })?;
    Ok(found.max(epsilon - spent))
}

/// The largest parameter up to `most` of a further event that keeps the budget.
fn room(
    fixed: &[Event],
    budget: Budget,
    leak: f64,
    most: f64,
    further: impl Fn(f64) -> Event,
) -> Result<f64, PrivacyError> {
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    let keeps = |x: f64| -> Result<bool, PrivacyError> {
        let all = Event::Composed([fixed, &[further(x)]].concat());
        Ok(delta_upper(&all, epsilon)? <= delta - leak)
    };
    if !keeps(SMALLEST)? {
        return Ok(0.0);
    }
    let (mut low, mut high) = (SMALLEST, most);
    for _ in 0..24 {
        let middle = 0.5 * (low + high);
        if keeps(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Adjacency, Delta, Epsilon};

    const ADJACENCY: Adjacency = Adjacency::ReplaceOne;

    fn events() -> impl Strategy<Value = Event> {
        prop_oneof![
            (0.05..2.0f64).prop_map(|epsilon| Event::PureDp { epsilon, adjacency: ADJACENCY }),
            (0.05..2.0f64)
                .prop_map(|epsilon| Event::BoundedRange { epsilon, adjacency: ADJACENCY }),
            (0.5..50.0f64).prop_map(|m| Event::Approximated {
                inner: Box::new(Event::Gaussian { noise_multiplier: m, adjacency: ADJACENCY }),
                total_variation: 1e-14,
            }),
            (1e-3..0.1f64, 0.8..4.0f64, 1..400u64).prop_map(|(rate, noise, steps)| {
                Event::PoissonGaussian {
                    sample_rate: rate,
                    noise_multiplier: noise,
                    steps,
                    adjacency: ADJACENCY,
                }
            }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_profile_is_below_that_of_the_pair_everywhere(
            event in events(), at in prop::collection::vec(0.0..8.0f64, 8),
        ) {
            let leak = 1e-8;
            let mu = gaussian_cost(&event, leak).unwrap();
            for epsilon in at {
                let lower = crate::delta_lower(&event, epsilon).unwrap();
                let pair = leak + (1.0 - leak) * gaussian::delta(epsilon, mu);
                prop_assert!(lower <= pair * (1.0 + 1e-9), "{event:?} {epsilon}: {lower:e} > {pair:e}");
            }
        }
    }

    #[test]
    fn gaussians_cost_what_they_are() {
        let one = Event::Gaussian { noise_multiplier: 4.0, adjacency: ADJACENCY };
        assert!((gaussian_cost(&one, 0.0).unwrap() - 0.25).abs() < 1e-12);
        let four = Event::Repeated { event: Box::new(one.clone()), times: 4 };
        assert!((gaussian_cost(&four, 0.0).unwrap() - 0.5).abs() < 1e-12);
        // Found by chords and tangents, it is hardly more.
        let inexact = Event::Approximated { inner: Box::new(one), total_variation: 1e-20 };
        let mu = gaussian_cost(&inexact, 1e-9).unwrap();
        assert!((0.25..0.2525).contains(&mu), "{mu}");
        assert_eq!(gaussian_cost(&Event::None, 0.0), Ok(0.0));
    }

    #[test]
    fn a_pure_event_costs_its_total_variation() {
        // tanh(ε/2) = 2Φ(mu/2) − 1
        let event = Event::PureDp { epsilon: 1.0, adjacency: ADJACENCY };
        let mu = gaussian_cost(&event, 0.0).unwrap();
        assert!((gaussian::delta(0.0, mu) - 0.5f64.tanh()).abs() < 1e-3, "{mu}");
    }

    #[test]
    fn room_and_cost_undo_each_other() {
        let budget = Budget {
            epsilon: Epsilon::new(1.0).unwrap(),
            delta: Delta::new(1e-6).unwrap(),
            adjacency: ADJACENCY,
        };
        let whole = gaussian_room(&[], budget, 5e-8).unwrap();
        let best = gaussian::mu_lower(1.0, 1e-6).unwrap();
        assert!(whole <= best && whole > 0.98 * best, "{whole} {best}");
        let first = Event::Gdp { mu: 0.6 * best, adjacency: ADJACENCY };
        let left = gaussian_room(&[first], budget, 5e-8).unwrap();
        assert!(left <= 0.8 * best && left > 0.77 * best, "{left} {best}");
        let all = Event::PureDp { epsilon: 1.0, adjacency: ADJACENCY };
        assert_eq!(gaussian_room(std::slice::from_ref(&all), budget, 5e-8), Ok(0.0));
        assert!(basic_room(&[all], budget, 5e-8).unwrap() < 1e-5);
        let half = Event::PureDp { epsilon: 0.5, adjacency: ADJACENCY };
        let left = basic_room(&[half], budget, 5e-8).unwrap();
        assert!((0.5..0.5001).contains(&left), "{left}");
    }

    #[test]
    fn what_has_no_bound_has_no_cost() {
        assert!(gaussian_cost(&Event::NotPrivate, 1e-6).is_err());
        let event = Event::ApproxDp { epsilon: 1.0, delta: 1e-5, adjacency: ADJACENCY };
        assert!(gaussian_cost(&event, 1e-6).is_err());
        assert!(gaussian_cost(&event, 2e-5).is_ok());
    }
}
