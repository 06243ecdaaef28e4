//! The questions: what does an event cost at this `δ`, or at this `ε`?

use crate::{
    Event, PrivacyError, gaussian,
    scalar::{check_delta, check_epsilon},
};

/// An upper bound on the least `ε >= 0` for which `event` is `(ε, delta)`-differentially private.
///
/// Infinite if there is none.
///
/// # Errors
///
/// [`PrivacyError`] for an illegal number, mixed adjacencies, or an event that no accountant covers.
pub fn epsilon_upper(event: &Event, delta: f64) -> Result<f64, PrivacyError> {
    event.check()?;
    check_delta(delta)?;
    match event {
        Event::None => Ok(0.0),
        Event::NotPrivate => Ok(f64::INFINITY),
        Event::Gaussian { noise_multiplier, .. } => {
            gaussian::epsilon_upper(1.0 / noise_multiplier, delta)
        }
        Event::Gdp { mu, .. } => gaussian::epsilon_upper(*mu, delta),
        Event::PureDp { epsilon, .. } | Event::L2Laplace { epsilon, .. } => Ok(*epsilon),
        Event::Approximated { .. } => {
            let (mut low, mut high) = (0.0, 1e6);
            if delta_upper(event, high)? > delta {
                return Ok(f64::INFINITY);
            }
            for _ in 0..200 {
                let mid = 0.5 * (low + high);
                if delta_upper(event, mid)? <= delta { high = mid } else { low = mid }
            }
            Ok(high)
        }
        _ => Err(PrivacyError::Unsupported {
            accountant: "exact",
            event: event.name(),
            reason: "not yet",
        }),
    }
}

/// An upper bound on the least `δ` for which `event` is `(epsilon, δ)`-differentially private.
///
/// # Errors
///
/// As [`epsilon_upper`].
pub fn delta_upper(event: &Event, epsilon: f64) -> Result<f64, PrivacyError> {
    event.check()?;
    check_epsilon(epsilon)?;
    match event {
        Event::None => Ok(0.0),
        Event::NotPrivate => Ok(1.0),
        Event::Gaussian { noise_multiplier, .. } => {
            Ok(gaussian::delta_upper(epsilon, 1.0 / noise_multiplier))
        }
        Event::Gdp { mu, .. } => Ok(gaussian::delta_upper(epsilon, *mu)),
        Event::PureDp { epsilon: limit, .. } | Event::L2Laplace { epsilon: limit, .. } => {
            if epsilon >= *limit {
                return Ok(0.0);
            }
            let e = limit.exp();
            Ok((e - epsilon.exp()) / (1.0 + e))
        }
        Event::Approximated { inner, total_variation } => {
            let at = |e: f64| -> Result<f64, PrivacyError> {
                Ok(delta_upper(inner, e)? + (1.0 + e.exp()) * total_variation)
            };
            let mut least: f64 = at(epsilon)?;
            for i in 0..200 {
                least = least.min(at(epsilon * f64::from(i) / 200.0)?);
            }
            Ok(least)
        }
        _ => Err(PrivacyError::Unsupported {
            accountant: "exact",
            event: event.name(),
            reason: "not yet",
        }),
    }
}
