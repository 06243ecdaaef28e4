//! The questions: what does an event cost at this `δ`, or at this `ε`?
//!
//! | event | answered by |
//! | --- | --- |
//! | Gaussian, GDP, unsampled passes, the last of noisy iterates | the exact profile |
//! | anything with dominating pairs | their product, both directions ([`crate::pld`]) |
//! | one hit mixture, objective perturbation, shuffle, group, disjoint parts | its proven curve |
//! | one random stop | the mean of the products over the round at which it stops |
//! | zCDP, tuning, and lists of events with Rényi bounds | Rényi orders ([`crate::rdp`]) |
//! | one objective perturbation with Gaussian releases | its curve, the releases part of its output noise |
//! | lists that mix these | the smaller of the Rényi bound, if all have one, and the product with tables |
//!
//! Inexact samplers ([`Event::Approximated`]) add `(1 + e^ε)` times their total variation distance
//! to `δ`.

use crate::{
    Event, PrivacyError,
    account::{self, Curve, Parts, parts},
    pair::Pair,
    pld::Composition,
    rdp,
    scalar::{check_delta, check_epsilon},
};

/// An upper bound on the least `ε >= 0` for which `event` is `(ε, delta)`-differentially private.
///
/// Infinite if there is none.
///
/// # Errors
///
/// [`PrivacyError`] for an illegal number, mixed adjacencies, or an event that no accountant
/// covers.
pub fn epsilon_upper(event: &Event, delta: f64) -> Result<f64, PrivacyError> {
    event.check()?;
    check_delta(delta)?;
    let parts = parts(event)?;
    if parts.exposed {
        return Ok(f64::INFINITY);
    }
    let ideal = Ideal::new(event, &parts, if delta > 0.0 { delta } else { 1e-30 })?;
    if parts.variation == 0.0 {
        return Ok(ideal.epsilon_upper(delta));
    }
    // Any guess e with ideal(delta − (1 + e^e)·tv) <= e is proven; so is that smaller value.
    let first = ideal.epsilon_upper((delta - 2.0 * parts.variation).max(0.0));
    let mut margin = 1e-7;
    for _ in 0..60 {
        let guess = first * (1.0 + margin) + margin;
        let room = delta - (1.0 + guess.exp()) * parts.variation;
        if room <= 0.0 {
            break;
        }
        let epsilon = ideal.epsilon_upper(room);
        if epsilon <= guess {
            return Ok(epsilon);
        }
        margin *= 2.0;
    }
    Ok(f64::INFINITY)
}

/// The loss that stands in for an infinite one: a bound there holds beyond.
const FAR: f64 = 700.0;

/// An upper bound on the least `δ` for which `event` is `(epsilon, δ)`-differentially private.
///
/// # Errors
///
/// As [`epsilon_upper`].
pub fn delta_upper(event: &Event, epsilon: f64) -> Result<f64, PrivacyError> {
    event.check()?;
    check_epsilon(epsilon)?;
    let parts = parts(event)?;
    if parts.exposed {
        return Ok(1.0);
    }
    if epsilon == f64::INFINITY {
        // An event that may reveal everything does so with the same probability at any `epsilon`.
        let open =
            parts.pairs.iter().any(|(p, _)| matches!(p, Pair::Approx { .. } | Pair::Table(_)));
        let open = open || parts.variation > 0.0 || !parts.curves.is_empty();
        return if open { delta_upper(event, FAR) } else { Ok(0.0) };
    }
    let ideal = Ideal::new(event, &parts, 1e-30)?;
    if parts.variation == 0.0 {
        return Ok(ideal.delta_upper(epsilon).min(1.0));
    }
    // A bound at a smaller ε holds here too. The ideal part falls with ε and the samplers' part
    // grows, so their sum is within a factor 2 of its least where the two meet.
    let at = |e: f64| (ideal.delta_upper(e), (1.0 + e.exp()) * parts.variation);
    let (here, added) = at(epsilon);
    let mut least = here + added;
    let (mut low, mut high) = (0.0, epsilon);
    for _ in 0..if added > here { 40 } else { 0 } {
        let middle = 0.5 * (low + high);
        let (here, added) = at(middle);
        least = least.min(here + added);
        if added > here {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(least.min(1.0))
}

/// [`delta_upper`] at each of these `ε >= 0`, which ascend; several cost little more than one.
///
/// # Errors
///
/// As [`epsilon_upper`].
pub fn deltas_upper(event: &Event, epsilons: &[f64]) -> Result<Vec<f64>, PrivacyError> {
    event.check()?;
    epsilons.iter().try_for_each(|epsilon| check_epsilon(*epsilon))?;
    let parts = parts(event)?;
    if parts.exposed {
        return Ok(vec![1.0; epsilons.len()]);
    }
    let mut found = Ideal::new(event, &parts, 1e-30)?.deltas_upper(epsilons);
    // A bound at a smaller ε holds at all that follow.
    let mut least = 1.0_f64;
    for (delta, epsilon) in found.iter_mut().zip(epsilons) {
        let added =
            if parts.variation > 0.0 { (1.0 + epsilon.exp()) * parts.variation } else { 0.0 };
        least = least.min(*delta + added);
        *delta = least;
    }
    Ok(found)
}

/// A lower bound on the `ε` at `delta` of the pairs by which [`epsilon_upper`] bounds `event`.
///
/// The distance between the two is what the numerics lose. Parts that are known by a curve alone
/// count nothing here, so for those the bound is weak, but never wrong.
///
/// # Errors
///
/// As [`epsilon_upper`].
pub fn epsilon_lower(event: &Event, delta: f64) -> Result<f64, PrivacyError> {
    event.check()?;
    check_delta(delta)?;
    let parts = parts(event)?;
    if parts.exposed {
        return Ok(f64::INFINITY);
    }
    let forward = Composition::new(parts.pairs);
    Ok(both(&forward, |c| c.epsilon_lower(delta)))
}

/// A lower bound on the `δ` at `epsilon` of the pairs by which [`delta_upper`] bounds `event`.
///
/// # Errors
///
/// As [`epsilon_upper`].
pub fn delta_lower(event: &Event, epsilon: f64) -> Result<f64, PrivacyError> {
    event.check()?;
    check_epsilon(epsilon)?;
    let parts = parts(event)?;
    if parts.exposed {
        return Ok(1.0);
    }
    let forward = Composition::new(parts.pairs);
    Ok(both(&forward, |c| c.delta_lower(epsilon)))
}

/// A lower bound on the `ε` at `delta` that some pair of neighbouring data sets attains.
///
/// For most events this equals [`epsilon_lower`]. For fixed-size sampling with a row replaced it is
/// smaller: the envelope that [`epsilon_upper`] composes is exact for one step but may be attained
/// by no data over many.
///
/// # Errors
///
/// As [`epsilon_upper`].
pub fn epsilon_attained(event: &Event, delta: f64) -> Result<f64, PrivacyError> {
    event.check()?;
    check_delta(delta)?;
    let parts = parts(event)?;
    if parts.exposed {
        return Ok(f64::INFINITY);
    }
    let forward = Composition::new(parts.pairs);
    let best =
        forward.attained().iter().map(|c| both(c, |c| c.epsilon_lower(delta))).fold(0.0, f64::max);
    Ok(best)
}

/// The larger value of the two directions.
fn both(forward: &Composition, value: impl Fn(&Composition) -> f64) -> f64 {
    let there = value(forward);
    if forward.is_symmetric() { there } else { there.max(value(&forward.reversed())) }
}

/// The tolerance of a first look at the direction that is usually the cheaper one.
const ROUGH: f64 = 2e-3;

/// The event with exact samplers.
pub(crate) struct Ideal {
    /// All pairs, tables included.
    pairs: Option<Composition>,
    /// The one curve, if the event is nothing else.
    curve: Option<Curve>,
    /// The Rényi curve, where it is worth asking.
    renyi: Option<Box<dyn Fn(f64) -> f64>>,
}

impl Ideal {
    pub(crate) fn new(event: &Event, parts: &Parts<'_>, scale: f64) -> Result<Self, PrivacyError> {
        let mut ideal = Self { pairs: None, curve: None, renyi: None };
        let with_gaussians = match parts.curves[..] {
            [(only, 1)] => with_gaussians(only, &parts.pairs),
            _ => None,
        };
        if let Some(one) = with_gaussians {
            ideal.curve = Some(Curve::of(&one, scale)?);
            return Ok(ideal);
        }
        match (&parts.curves[..], parts.pairs.is_empty()) {
            ([], _) => ideal.pairs = Some(Composition::new(parts.pairs.iter().cloned())),
            ([(only, 1)], true) => ideal.curve = Some(Curve::of(only, scale)?),
            (curves, _) => {
                // Rényi bounds add over the whole list, if every part has one.
                ideal.renyi = rdp::event_curve(event).ok();
                let mut pairs: Vec<(Pair, u64)> = parts.pairs.clone();
                let count: f64 = curves.iter().map(|(_, times)| *times as f64).sum();
                for (event, times) in curves {
                    pairs.push((account::table(event, scale, count)?, *times));
                }
                ideal.pairs = Some(Composition::new(pairs));
            }
        }
        Ok(ideal)
    }

    pub(crate) fn epsilon_upper(&self, delta: f64) -> f64 {
        if let Some(curve) = &self.curve {
            return curve.epsilon_upper(delta);
        }
        let renyi = self.renyi.as_ref().map(|renyi| rdp::epsilon_of_curve(renyi, delta).0);
        let pairs = self.pairs.as_ref().map(|pairs| epsilon_upper_of(pairs, delta));
        least(renyi, pairs, f64::INFINITY)
    }

    pub(crate) fn delta_upper(&self, epsilon: f64) -> f64 {
        if let Some(curve) = &self.curve {
            return curve.delta_upper(epsilon);
        }
        let renyi = self.renyi.as_ref().map(|renyi| rdp::delta_of_curve(renyi, epsilon).0);
        let pairs = self.pairs.as_ref().map(|pairs| delta_upper_of(pairs, epsilon));
        least(renyi, pairs, 1.0)
    }

    /// At each of these, which ascend.
    fn deltas_upper(&self, epsilons: &[f64]) -> Vec<f64> {
        if let Some(curve) = &self.curve {
            return curve.deltas_upper(epsilons);
        }
        let pairs = self.pairs.as_ref().map(|pairs| deltas_upper_of(pairs, epsilons));
        let at = |(i, &epsilon): (usize, &f64)| {
            let renyi = self.renyi.as_ref().map(|renyi| rdp::delta_of_curve(renyi, epsilon).0);
            least(renyi, pairs.as_ref().map(|pairs| pairs[i]), 1.0)
        };
        epsilons.iter().enumerate().map(at).collect()
    }
}

/// Objective perturbation whose minimiser is followed by Gaussian releases alone, as one event.
///
/// Its curve holds for the minimiser and a Gaussian release that may depend on it. Gaussian
/// releases with parameters `mu_i`, each of which may depend on all before, are dominated by one
/// with the root of `Σ mu_i²`, whatever the minimiser was.
fn with_gaussians(event: &Event, pairs: &[(Pair, u64)]) -> Option<Event> {
    let &Event::ObjectivePerturbation { class, epsilon_det, slope, output_mu, adjacency } = event
    else {
        return None;
    };
    if pairs.is_empty() {
        return None;
    }
    let mut square = output_mu * output_mu;
    for (pair, times) in pairs {
        let Pair::Gaussian { mu } = pair else { return None };
        square += *times as f64 * mu * mu;
    }
    // A few roundings, to the safe side.
    let output_mu = square.sqrt() * (1.0 + 1e-14);
    Some(Event::ObjectivePerturbation { class, epsilon_det, slope, output_mu, adjacency })
}

/// The smallest of the bounds that there are, and of `most`.
fn least(renyi: Option<f64>, pairs: Option<f64>, most: f64) -> f64 {
    renyi.into_iter().chain(pairs).fold(most, f64::min)
}

/// The bound on `ε` at `delta`, in both directions.
pub(crate) fn epsilon_upper_of(pairs: &Composition, delta: f64) -> f64 {
    worse_direction(pairs, |c| c.epsilon_upper(delta), |c, e| c.is_within(e, delta))
}

/// The bound on `δ` at `epsilon`, in both directions.
pub(crate) fn delta_upper_of(pairs: &Composition, epsilon: f64) -> f64 {
    worse_direction(pairs, |c| c.delta_upper(epsilon), |c, d| c.is_within(epsilon, d))
}

/// The same at each of these, which ascend.
pub(crate) fn deltas_upper_of(pairs: &Composition, epsilons: &[f64]) -> Vec<f64> {
    let there = pairs.deltas_upper(epsilons);
    if pairs.is_symmetric() {
        return there;
    }
    let back = pairs.reversed().deltas_upper(epsilons);
    there.into_iter().zip(back).map(|(there, back)| there.max(back)).collect()
}

/// The larger bound of the two directions. The direction of addition, usually the cheaper one, is
/// looked at closely only if neither moments alone (`is_within`) nor a rough grid show that it is.
fn worse_direction(
    pairs: &Composition,
    bound: impl Fn(&Composition) -> f64,
    is_within: impl Fn(&Composition, f64) -> bool,
) -> f64 {
    let there = bound(pairs);
    if pairs.is_symmetric() {
        return there;
    }
    let back = pairs.reversed();
    if is_within(&back, there) || bound(&back.clone().with_tolerance(ROUGH)) <= there {
        return there;
    }
    there.max(bound(&back))
}
