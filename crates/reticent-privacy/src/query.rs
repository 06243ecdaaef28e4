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
        _ => Err(PrivacyError::Unsupported {
            accountant: "exact",
            event: event.name(),
            reason: "not yet",
        }),
    }
}
