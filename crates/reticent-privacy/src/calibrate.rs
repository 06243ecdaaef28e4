//! The least noise, the most steps, the largest sample for a budget: always the end that keeps the
//! promise.
//!
//! Each search takes a function from the searched number to an event, in which
//! [`crate::epsilon_upper`] must be monotone, and returns a number at which that bound itself meets
//! the budget. So what is returned can be verified with one query, and `calibrate` then `account`
//! never lands above the target.
//!
//! The search runs on saddle-point estimates first, which cost microseconds, and then on bounds.
//! Two or three bounds are usually enough.

use crate::{
    Adjacency, Event, PrivacyError,
    account::{parts, stopped},
    epsilon_upper,
    error::check,
    gaussian,
    pld::Composition,
    scalar::check_delta,
};

/// The largest noise multiplier searched.
const MAX_NOISE: f64 = 1e12;

/// The smallest one, less than any budget up to [`MAX_EPSILON`] asks for: the answer where no noise
/// is needed at all.
const MIN_NOISE: f64 = 1e-4;

/// The largest budget that noise is sought for; more gets the noise of this one.
const MAX_EPSILON: f64 = 1e6;

fn check_budget(epsilon: f64, delta: f64) -> Result<(), PrivacyError> {
    check(epsilon >= 0.0 && epsilon.is_finite(), "epsilon", "be finite and >= 0", epsilon)?;
    check_delta(delta)
}

/// A guess at `ε`, if the event has dominating pairs.
fn estimate(event: &Event, delta: f64) -> Option<f64> {
    let parts = parts(event).ok()?;
    if parts.exposed || delta <= 0.0 {
        return None;
    }
    let composition = match &parts.curves[..] {
        [] => Composition::new(parts.pairs),
        [(event, 1)] if parts.pairs.is_empty() => stopped(event)?,
        _ => return None,
    };
    Some(composition.epsilon_estimate(delta))
}

/// The smallest noise multiplier, from 1e-4 on, for which `event(noise_multiplier)` meets
/// `(epsilon, delta)`.
///
/// # Errors
///
/// [`PrivacyError::Unreachable`] if no noise is enough, for instance because other fixed parts of
/// the event already exceed the budget; and whatever [`crate::epsilon_upper`] refuses.
///
/// # Example
///
/// ```
/// use reticent_privacy::{Adjacency, Event, calibrate::noise_multiplier_for, epsilon_upper};
///
/// let event = |noise_multiplier| Event::PoissonGaussian {
///     sample_rate: 0.01,
///     noise_multiplier,
///     steps: 1000,
///     adjacency: Adjacency::AddRemoveOne,
/// };
/// let noise_multiplier = noise_multiplier_for(1.0, 1e-6, event)?;
/// assert!((noise_multiplier / 1.56267 - 1.0).abs() < 5e-4);
/// assert!(epsilon_upper(&event(noise_multiplier), 1e-6)? <= 1.0);
/// # Ok::<(), reticent_privacy::PrivacyError>(())
/// ```
pub fn noise_multiplier_for(
    epsilon: f64,
    delta: f64,
    event: impl Fn(f64) -> Event,
) -> Result<f64, PrivacyError> {
    check_budget(epsilon, delta)?;
    // Noise that meets a smaller budget meets a larger one; beyond this the noise is too small to
    // be worth a search.
    let epsilon = epsilon.min(MAX_EPSILON);
    let start = if delta > 0.0 { gaussian::noise_multiplier_upper(epsilon, delta)? } else { 1.0 };
    let found = search(start.ln(), epsilon, MAX_NOISE.ln(), &|x| event(x.exp()), delta)?;
    found.map(f64::exp).ok_or_else(|| {
        let alone = epsilon_upper(&event(MAX_NOISE), delta).unwrap_or(f64::INFINITY);
        let reason = if delta == 0.0 {
            "Gaussian noise cannot give delta = 0".to_owned()
        } else {
            format!("the other parts alone use epsilon = {alone:.4}, the budget is {epsilon}")
        };
        PrivacyError::Unreachable { name: "noise_multiplier", reason }
    })
}

/// The least `x <= limit` with `ε(x) <= epsilon`, where `ε` falls in `x`; `None` if even the limit
/// is not enough.
fn search(
    start: f64,
    epsilon: f64,
    limit: f64,
    event: &dyn Fn(f64) -> Event,
    delta: f64,
) -> Result<Option<f64>, PrivacyError> {
    let bound = |x: f64| epsilon_upper(&event(x), delta);
    let guess = estimated_root(start, epsilon, limit, event, delta).unwrap_or(start);
    let guess = guess.clamp(MIN_NOISE.ln(), limit);
    // Bracket with true bounds: `bad` fails, `good` holds.
    let mut good = guess;
    let mut at_good = bound(good)?;
    let mut step = 1e-4;
    let (mut bad, mut at_bad);
    if at_good <= epsilon {
        loop {
            let next = (good - step).max(MIN_NOISE.ln());
            let value = bound(next)?;
            if value > epsilon {
                (bad, at_bad) = (next, value);
                break;
            }
            (good, at_good) = (next, value);
            step *= 4.0;
            if next <= MIN_NOISE.ln() {
                return Ok(Some(good));
            }
        }
    } else {
        (bad, at_bad) = (good, at_good);
        loop {
            let next = (bad + step).min(limit);
            let value = bound(next)?;
            if value <= epsilon {
                (good, at_good) = (next, value);
                break;
            }
            if next >= limit {
                return Ok(None);
            }
            (bad, at_bad) = (next, value);
            step *= 4.0;
        }
    }
    // Regula falsi on ε, aimed a little inside, with a bisection when it stalls.
    for round in 0..60 {
        let width = good - bad;
        if width <= 1e-6 && (epsilon - at_good <= 2e-6 * epsilon || width <= 1e-9) {
            break;
        }
        let share = if at_bad.is_finite() { (at_bad - epsilon) / (at_bad - at_good) } else { 0.5 };
        let share = if round % 4 == 3 || !share.is_finite() { 0.5 } else { share };
        let x = bad + width * (share + 3e-7 / width).clamp(0.02, 0.98);
        let value = bound(x)?;
        if value <= epsilon {
            (good, at_good) = (x, value);
        } else {
            (bad, at_bad) = (x, value);
        }
        if epsilon - at_good <= 1e-6 * epsilon {
            break;
        }
    }
    Ok(Some(good))
}

/// Where the estimate meets the budget.
fn estimated_root(
    start: f64,
    epsilon: f64,
    limit: f64,
    event: &dyn Fn(f64) -> Event,
    delta: f64,
) -> Option<f64> {
    let value = |x: f64| Some(estimate(&event(x), delta)? - epsilon);
    let mut high = start.clamp(-20.0, limit);
    let mut at_high = value(high)?;
    let (mut low, mut at_low) = (high, at_high);
    for _ in 0..60 {
        if at_high <= 0.0 || high >= limit {
            break;
        }
        (low, at_low) = (high, at_high);
        high = (high + 0.7).min(limit);
        at_high = value(high)?;
    }
    for _ in 0..60 {
        if at_low > 0.0 {
            break;
        }
        (high, at_high) = (low, at_low);
        low -= 0.7;
        at_low = value(low)?;
    }
    if at_high > 0.0 || at_low <= 0.0 {
        return None;
    }
    for round in 0..50 {
        if high - low < 1e-6 {
            break;
        }
        let share = (at_low / (at_low - at_high)).clamp(0.02, 0.98);
        let x = low + (high - low) * if round % 3 == 2 { 0.5 } else { share };
        let at = value(x)?;
        if at > 0.0 {
            (low, at_low) = (x, at);
        } else {
            (high, at_high) = (x, at);
        }
        if at.abs() < 1e-6 * epsilon {
            return Some(x);
        }
    }
    Some(high)
}

/// The largest number of steps for which `event(steps)` meets `(epsilon, delta)`; zero if not even
/// one does.
///
/// # Errors
///
/// As [`crate::epsilon_upper`].
pub fn steps_for(
    epsilon: f64,
    delta: f64,
    event: impl Fn(u64) -> Event,
) -> Result<u64, PrivacyError> {
    check_budget(epsilon, delta)?;
    let ok = |steps: u64| Ok::<bool, PrivacyError>(epsilon_upper(&event(steps), delta)? <= epsilon);
    if !ok(1)? {
        return Ok(0);
    }
    let (mut good, mut bad) = (1, 2);
    while ok(bad)? {
        good = bad;
        if bad >= crate::MAX_STEPS {
            return Ok(good);
        }
        bad = (bad * 4).min(crate::MAX_STEPS);
    }
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if ok(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(good)
}

/// The largest sample rate in `(0, 1]` for which `event(sample_rate)` meets `(epsilon, delta)`, to
/// 1e-6.
///
/// # Errors
///
/// [`PrivacyError::Unreachable`] if not even the rate 1e-12 does; whatever [`crate::epsilon_upper`]
/// refuses.
pub fn sample_rate_for(
    epsilon: f64,
    delta: f64,
    event: impl Fn(f64) -> Event,
) -> Result<f64, PrivacyError> {
    check_budget(epsilon, delta)?;
    let ok = |rate: f64| Ok::<bool, PrivacyError>(epsilon_upper(&event(rate), delta)? <= epsilon);
    if ok(1.0)? {
        return Ok(1.0);
    }
    let (mut good, mut bad) = (1e-12, 1.0);
    if !ok(good)? {
        return Err(PrivacyError::Unreachable {
            name: "sample_rate",
            reason: "even a rate of 1e-12 exceeds the budget; add noise or take fewer steps"
                .to_owned(),
        });
    }
    while bad / good > 1.0 + 1e-6 {
        let middle = if bad / good > 4.0 { (good * bad).sqrt() } else { 0.5 * (good + bad) };
        if ok(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(good)
}

/// How batches are drawn, for [`sampled_gaussian`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Sampling {
    /// Every row in every step.
    None,
    /// Each row independently with this probability.
    Poisson {
        /// The probability.
        rate: f64,
    },
    /// Exactly this share of the rows, without replacement.
    FixedSize {
        /// The share.
        rate: f64,
    },
}

/// The event of `steps` noisy sums in clip units under this sampling.
///
/// A share of rows is written as a batch out of 2⁵² rows, rounded up.
pub fn sampled_gaussian(
    sampling: Sampling,
    noise_multiplier: f64,
    steps: u64,
    adjacency: Adjacency,
) -> Event {
    match sampling {
        Sampling::None => {
            Event::PoissonGaussian { sample_rate: 1.0, noise_multiplier, steps, adjacency }
        }
        Sampling::Poisson { rate } => {
            Event::PoissonGaussian { sample_rate: rate, noise_multiplier, steps, adjacency }
        }
        Sampling::FixedSize { rate } => {
            let rows = 1u64 << 52;
            let batch = (rate * rows as f64).ceil() as u64;
            Event::FixedSizeGaussian { batch, rows, noise_multiplier, steps, adjacency }
        }
    }
}
