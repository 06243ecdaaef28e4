//! The Rényi curve of an event.

use super::remembered::Remembered;
use super::{delta_of_curve, epsilon_of_curve, rdp_laplace, rdp_pure, sampled};
use crate::{
    Adjacency, Event, PrivacyError, Relation, Trials,
    objective::Objective,
    scalar::{check_delta, check_epsilon},
    tuning::{tnb_extra, tnb_mean, tuning_rdp_poisson},
};

/// A curve: the divergence at every order above one.
pub(crate) type Curve = Box<dyn Fn(f64) -> f64>;

fn refuse<T>(event: &Event, reason: &'static str) -> Result<T, PrivacyError> {
    Err(PrivacyError::Unsupported { accountant: "RDP", event: event.name(), reason })
}

/// The Rényi divergence of `event` at `order`, in both directions.
///
/// # Errors
///
/// [`PrivacyError::Unsupported`] for events without a Rényi bound (an additive slack, hit
/// mixtures, shuffles); [`PrivacyError::OutOfRange`] for illegal numbers.
pub fn rdp(event: &Event, order: f64) -> Result<f64, PrivacyError> {
    event.check()?;
    super::check_order(order)?;
    Ok(curve(event)?(order))
}

/// `ε` at `delta` by the best order.
///
/// # Errors
///
/// As [`rdp`].
pub fn rdp_epsilon_upper(event: &Event, delta: f64) -> Result<f64, PrivacyError> {
    event.check()?;
    check_delta(delta)?;
    let curve = curve(event)?;
    Ok(epsilon_of_curve(curve, delta).0)
}

/// `δ` at `epsilon` by the best order.
///
/// # Errors
///
/// As [`rdp`].
pub fn rdp_delta_upper(event: &Event, epsilon: f64) -> Result<f64, PrivacyError> {
    event.check()?;
    check_epsilon(epsilon)?;
    let curve = curve(event)?;
    Ok(delta_of_curve(curve, epsilon).0)
}

/// The curve of a checked event.
pub(crate) fn curve(event: &Event) -> Result<Curve, PrivacyError> {
    let gaussian = |mu: f64| -> Curve { Box::new(move |a| 0.5 * a * mu * mu) };
    Ok(match event {
        Event::None => Box::new(|_| 0.0),
        Event::NotPrivate => Box::new(|_| f64::INFINITY),
        Event::Gaussian { noise_multiplier, .. } => gaussian(1.0 / noise_multiplier),
        Event::Gdp { mu, .. } => gaussian(*mu),
        Event::LastIterate { .. } => gaussian(crate::account::last_iterate_mu(event)?),
        Event::Laplace { noise_multiplier, .. } => {
            let epsilon = 1.0 / noise_multiplier;
            Box::new(move |a| rdp_laplace(a, epsilon))
        }
        Event::L2Laplace { epsilon, .. } | Event::PureDp { epsilon, .. } => pure(*epsilon),
        Event::BoundedRange { epsilon, .. } => {
            let (pure, square) = (pure(*epsilon), epsilon * epsilon / 8.0);
            Box::new(move |a| pure(a).min(a * square))
        }
        Event::ApproxDp { epsilon, delta, .. } => {
            if *delta > 0.0 {
                return refuse(
                    event,
                    "an additive slack has no Rényi bound; use the PLD accountant",
                );
            }
            pure(*epsilon)
        }
        Event::Zcdp { rho, .. } => {
            let rho = *rho;
            Box::new(move |a| rho * a)
        }
        Event::PoissonGaussian { sample_rate, noise_multiplier, steps, adjacency } => {
            let (rate, mu, times) = (*sample_rate, 1.0 / noise_multiplier, *steps as f64);
            match adjacency.relation() {
                Relation::Replace => {
                    Box::new(move |a| times * sampled::poisson_replace(a, rate, mu))
                }
                Relation::AddRemove | Relation::ZeroOut => {
                    Box::new(move |a| times * sampled::poisson(a, rate, mu))
                }
            }
        }
        Event::FixedSizeGaussian { batch, rows, noise_multiplier, steps, adjacency } => {
            fixed(*batch as f64 / *rows as f64, *noise_multiplier, *steps, *adjacency)
        }
        Event::SingleIndexGaussian { rows, noise_multiplier, steps, adjacency } => {
            fixed(1.0 / *rows as f64, *noise_multiplier, *steps, *adjacency)
        }
        Event::EpochPartitionGaussian { passes, noise_multiplier, adjacency } => {
            crate::account::refuse_add_remove(event, *adjacency)?;
            let mu = adjacency.sum_sensitivity() / noise_multiplier;
            gaussian((*passes as f64).sqrt() * mu)
        }
        Event::ObjectivePerturbation { class, epsilon_det, slope, output_mu, adjacency } => {
            let objective = Objective {
                class: *class,
                epsilon_det: *epsilon_det,
                slope: *slope,
                output_mu: *output_mu,
                adjacency: *adjacency,
            };
            objective.rdp(2.0)?;
            Box::new(move |a| objective.rdp(a).unwrap_or(f64::INFINITY))
        }
        Event::HitMixture { .. } => {
            return refuse(event, "it is known by its profile; use the exact accountant");
        }
        Event::Shuffled { .. } | Event::ShuffledGdp { .. } => {
            return refuse(event, "shuffling is known by its profile; use the exact accountant");
        }
        Event::Approximated { .. } => {
            return refuse(event, "a total variation distance has no Rényi bound");
        }
        Event::Repeated { event, times } => {
            let (one, times) = (curve(event)?, *times as f64);
            Box::new(move |a| if times == 0.0 { 0.0 } else { times * one(a) })
        }
        Event::RandomStop { event, rounds } => stopped(curve(event)?, *rounds as f64),
        Event::Composed(parts) => {
            let curves = parts.iter().map(curve).collect::<Result<Vec<_>, _>>()?;
            Box::new(move |a| curves.iter().map(|c| c(a)).sum())
        }
        Event::Disjoint { parts, .. } => {
            crate::account::refuse_moving_rows(event)?;
            worst(parts)?
        }
        // e^((α−1)D) is the mean over the draw of the parts' own.
        Event::OneOf(parts) => worst(parts)?,
        Event::Tuned { base, trials } => tuned(base, *trials)?,
        Event::Group { base, size } => {
            match (crate::account::scaled_for_group(base, *size), size) {
                (Some(scaled), _) => curve(&scaled)?,
                (None, 1) => curve(base)?,
                (None, _) => {
                    return refuse(
                        event,
                        "only Gaussian, zCDP and pure parts scale with the group's size",
                    );
                }
            }
        }
    })
}

/// The draw is told, so `e^((α−1)D)` is the mean of those of so many runs.
fn stopped(one: Curve, rounds: f64) -> Curve {
    Box::new(move |a| {
        let one = one(a);
        let mean = crate::pld::log_mean_power(rounds, (a - 1.0) * one) / (a - 1.0);
        // The logarithm is off by about 1e-15 where all but nothing is told, before the division.
        (mean * (1.0 + 1e-12) + 1e-15 / (a - 1.0)).min((rounds - 1.0) * one)
    })
}

/// The largest curve of several.
fn worst(parts: &[Event]) -> Result<Curve, PrivacyError> {
    let curves = parts.iter().map(curve).collect::<Result<Vec<_>, _>>()?;
    // NaN is no bound, and `max` would drop it.
    let larger = |most: f64, v: f64| if v.is_nan() { f64::INFINITY } else { most.max(v) };
    Ok(Box::new(move |a| curves.iter().map(|c| c(a)).fold(0.0, larger)))
}

fn pure(epsilon: f64) -> Curve {
    Box::new(move |a| if epsilon == 0.0 { 0.0 } else { rdp_pure(a, epsilon).min(epsilon) })
}

fn fixed(rate: f64, noise_multiplier: f64, steps: u64, adjacency: Adjacency) -> Curve {
    let (mu, times) = (2.0 / noise_multiplier, steps as f64);
    match adjacency.relation() {
        Relation::AddRemove => Box::new(move |a| times * sampled::poisson(a, rate, mu)),
        Relation::Replace | Relation::ZeroOut => {
            Box::new(move |a| times * sampled::fixed_replace(a, rate, mu))
        }
    }
}

fn tuned(base: &Event, trials: Trials) -> Result<Curve, PrivacyError> {
    let one = Remembered::of(base)?;
    Ok(match trials {
        Trials::TruncatedNegativeBinomial { eta, gamma } => {
            let extra = tnb_extra(gamma, eta, |b| one.at(b));
            let log_mean = tnb_mean(gamma, eta)?.ln().max(0.0);
            Box::new(move |a| one.at(a) + extra + log_mean / (a - 1.0))
        }
        Trials::Poisson { mean } => {
            let base = base.clone();
            Box::new(move |a| {
                let epsilon_hat = (1.0 / (a - 1.0)).ln_1p();
                let delta_hat = crate::delta_upper(&base, epsilon_hat).unwrap_or(1.0);
                tuning_rdp_poisson(a, one.at(a), mean, delta_hat).unwrap_or(f64::INFINITY)
            })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dear_event_is_not_free_among_others() {
        let adjacency = Adjacency::ReplaceOne;
        let cheap = Event::Gaussian { noise_multiplier: 10.0, adjacency };
        for noise_multiplier in [0.3, 0.03, 0.0257, 0.02, 0.016, 1e-3] {
            let expensive =
                Event::PoissonGaussian { sample_rate: 1e-6, noise_multiplier, steps: 1, adjacency };
            for order in [1.5, 20.0, 400.0] {
                let one = rdp(&expensive, order).unwrap();
                assert!(one > 0.0, "{noise_multiplier} at {order}: {one}");
                let either = Event::OneOf(vec![expensive.clone(), cheap.clone()]);
                assert!(rdp(&either, order).unwrap() >= one, "{noise_multiplier} at {order}");
            }
        }
    }
}
