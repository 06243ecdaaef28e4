//! Rényi differential privacy: curves, conversions and the search for the order.
//!
//! A mechanism has the curve `r` if the Rényi divergence of order `α > 1` between neighbouring
//! outputs, in both directions, is at most `r(α)`. Curves add under adaptive composition, also when
//! later parameters depend on earlier outputs as long as one order is fixed in advance (Feldman,
//! Zrnic 2021); that is why ledgers use them.
//!
//! # Conversion (Balle et al. 2020; Canonne, Kamath, Steinke 2020)
//!
//! ```text
//! ε = r(α) + ln(1 − 1/α) − (ln δ + ln α)/(α − 1),      δ = e^{(α−1)(r(α) − ε)} (1 − 1/α)^{α−1}/α.
//! ```
//!
//! Mironov's `r(α) + ln(1/δ)/(α − 1)` is never better and is kept as a check only
//! ([`rdp_to_epsilon_classic`]). At `ε = 0` also `δ <= √(1 − e^{−r(1)})` (Bretagnolle, Huber).
//!
//! # Order
//!
//! The order is continuous. A fixed list of orders costs up to a factor of five at small `ε`.

mod event;
mod remembered;
mod sampled;

pub(crate) use event::curve as event_curve;
pub use event::{rdp, rdp_delta_upper, rdp_epsilon_upper};
pub use sampled::{
    rdp_fixed_size_replace, rdp_fixed_size_replace_wbk, rdp_poisson, rdp_poisson_replace,
};

use crate::{
    PrivacyError,
    error::{check, non_negative},
    scalar::{check_delta, check_epsilon},
};

/// The smallest and largest `α − 1` searched.
const ORDERS: (f64, f64) = (1e-2, 1e7);

pub(crate) fn check_order(order: f64) -> Result<(), PrivacyError> {
    check(order > 1.0 && order.is_finite(), "order", "be finite and > 1", order)
}

/// `ε` at `delta` from the divergence `rdp` at one `order`; at least zero.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless `order > 1`, `rdp >= 0` and `0 <= delta < 1`.
pub fn rdp_to_epsilon(order: f64, rdp: f64, delta: f64) -> Result<f64, PrivacyError> {
    check_order(order)?;
    check(rdp >= 0.0, "rdp", "be >= 0", rdp)?;
    check_delta(delta)?;
    Ok(convert_epsilon(order, rdp, delta))
}

/// `ε` by the older conversion `r(α) + ln(1/δ)/(α − 1)` (Mironov 2017): valid, never below
/// [`rdp_to_epsilon`].
///
/// # Errors
///
/// As [`rdp_to_epsilon`].
pub fn rdp_to_epsilon_classic(order: f64, rdp: f64, delta: f64) -> Result<f64, PrivacyError> {
    check_order(order)?;
    check(rdp >= 0.0, "rdp", "be >= 0", rdp)?;
    check_delta(delta)?;
    Ok(rdp - delta.ln() / (order - 1.0))
}

/// `E[R^α] − 1` for the likelihood ratio `R`, from the divergence `rdp` at this `order`.
pub fn moment_excess(order: f64, rdp: f64) -> f64 {
    ((order - 1.0) * rdp).exp_m1()
}

fn convert_epsilon(order: f64, rdp: f64, delta: f64) -> f64 {
    let less = (-1.0 / order).ln_1p();
    at_least_zero(rdp + less - (delta.ln() + order.ln()) / (order - 1.0))
}

/// A bound that is at least zero. `max` alone would make zero, a bound that does not hold, of what
/// is not a number.
fn at_least_zero(bound: f64) -> f64 {
    if bound.is_nan() { f64::INFINITY } else { bound.max(0.0) }
}

/// `δ` at `epsilon` from the divergence `rdp` at one `order`; at most one.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless `order > 1`, `rdp >= 0` and `epsilon >= 0`.
pub fn rdp_to_delta(order: f64, rdp: f64, epsilon: f64) -> Result<f64, PrivacyError> {
    check_order(order)?;
    check(rdp >= 0.0, "rdp", "be >= 0", rdp)?;
    check_epsilon(epsilon)?;
    Ok(convert_log_delta(order, rdp, epsilon).exp().min(1.0))
}

fn convert_log_delta(order: f64, rdp: f64, epsilon: f64) -> f64 {
    let theta = order - 1.0;
    theta * (rdp - epsilon) + theta * (-1.0 / order).ln_1p() - order.ln()
}

/// The order at which `value(order)` is least, and that value: 40 orders spaced evenly in
/// `ln(α − 1)`, then golden section around the best.
pub(crate) fn best_order(mut value: impl FnMut(f64) -> f64, largest: f64) -> (f64, f64) {
    let (low, high) = (ORDERS.0.ln(), ORDERS.1.min(largest).ln());
    let at = |t: f64| 1.0 + t.exp();
    let mut best = (at(low), f64::INFINITY, low);
    let spacing = (high - low) / 39.0;
    for i in 0..40 {
        let t = low + spacing * f64::from(i);
        let v = value(at(t));
        if v < best.1 {
            best = (at(t), v, t);
        }
    }
    if !best.1.is_finite() {
        return (best.0, best.1);
    }
    let golden = 0.5 * (5.0f64.sqrt() - 1.0);
    let (mut a, mut b) = ((best.2 - spacing).max(low), (best.2 + spacing).min(high));
    let (mut c, mut d) = (b - golden * (b - a), a + golden * (b - a));
    let (mut fc, mut fd) = (value(at(c)), value(at(d)));
    for _ in 0..40 {
        for (t, v) in [(c, fc), (d, fd)] {
            if v < best.1 {
                best = (at(t), v, t);
            }
        }
        if b - a < 1e-7 {
            break;
        }
        if fc < fd {
            (b, d, fd) = (d, c, fc);
            c = b - golden * (b - a);
            fc = value(at(c));
        } else {
            (a, c, fc) = (c, d, fd);
            d = a + golden * (b - a);
            fd = value(at(d));
        }
    }
    (best.0, best.1)
}

/// The least `ε` over all orders for the curve `rdp`, with the order that gives it.
pub fn epsilon_of_curve(mut rdp: impl FnMut(f64) -> f64, delta: f64) -> (f64, f64) {
    let (order, epsilon) = best_order(|a| convert_epsilon(a, rdp(a), delta), f64::INFINITY);
    (epsilon, order)
}

/// The least `δ` over all orders for the curve `rdp`, with the order that gives it. No order shows
/// that it is zero.
pub fn delta_of_curve(mut rdp: impl FnMut(f64) -> f64, epsilon: f64) -> (f64, f64) {
    let (order, log) = best_order(|a| convert_log_delta(a, rdp(a), epsilon), f64::INFINITY);
    let mut delta = log.exp().clamp(f64::MIN_POSITIVE, 1.0);
    if epsilon == 0.0 {
        // Bretagnolle and Huber, with the divergence at an order just above one in place of order
        // one.
        delta = delta.min((-(-rdp(1.0 + ORDERS.0)).exp_m1()).sqrt());
    }
    (delta, order)
}

/// zCDP by the simple conversion, `rho + 2√(rho ln(1/δ))` (Bun, Steinke 2016).
///
/// This form bounds the loss itself with probability `1 − δ`, so it is the one odometers use.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless `rho >= 0` and `0 <= delta < 1`.
pub fn zcdp_epsilon_simple(rho: f64, delta: f64) -> Result<f64, PrivacyError> {
    non_negative("rho", rho)?;
    check_delta(delta)?;
    Ok(rho + 2.0 * (-rho * delta.ln()).sqrt())
}

/// zCDP by the conversion above, minimised over the order.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless `rho >= 0` and `0 <= delta < 1`.
pub fn zcdp_epsilon(rho: f64, delta: f64) -> Result<f64, PrivacyError> {
    non_negative("rho", rho)?;
    check_delta(delta)?;
    if rho == 0.0 {
        return Ok(0.0);
    }
    Ok(epsilon_of_curve(|a| rho * a, delta).0)
}

/// The largest `rho` whose simple conversion meets `(epsilon, delta)`:
/// `(√(ln(1/δ) + ε) − √ln(1/δ))²`.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless `epsilon >= 0` and `0 < delta < 1`.
pub fn zcdp_rho(epsilon: f64, delta: f64) -> Result<f64, PrivacyError> {
    check_epsilon(epsilon)?;
    check(delta > 0.0 && delta < 1.0, "delta", "satisfy 0 < delta < 1", delta)?;
    let log = -delta.ln();
    // √(L + ε) − √L without cancellation
    let root = epsilon / ((log + epsilon).sqrt() + log.sqrt());
    Ok(root * root)
}

/// The exact worst curve of `epsilon`-differential privacy, that of randomised response.
pub fn rdp_pure(order: f64, epsilon: f64) -> f64 {
    // ln(p^α(1−p)^{1−α} + (1−p)^α p^{1−α})/(α−1) with p = e^ε/(1+e^ε), less 1 + nothing:
    // M − 1 = −(e^{ε} expm1((α−1)ε) expm1(−αε))/(1+e^ε): the symmetric form without cancellation.
    // ε − ln(1 + e^ε) = −ln(1 + e^{−ε}), which no ε overflows.
    let log = log_expm1((order - 1.0) * epsilon) + (-(-order * epsilon).exp_m1()).ln()
        - (-epsilon).exp().ln_1p();
    log1p_exp(log) / (order - 1.0)
}

/// The Laplace mechanism's curve; `epsilon` = sensitivity over scale.
pub fn rdp_laplace(order: f64, epsilon: f64) -> f64 {
    let a = order;
    let first = (a / (2.0 * a - 1.0)).ln() + (a - 1.0) * epsilon;
    let second = ((a - 1.0) / (2.0 * a - 1.0)).ln() - a * epsilon;
    // The logarithms nearly cancel: the result may be off by a few units of their last place.
    at_least_zero((reticent_math::log_add(first, second) + 1e-15) / (a - 1.0))
}

/// `ln(e^x − 1)` for `x > 0`.
pub(crate) fn log_expm1(x: f64) -> f64 {
    if x > 30.0 { x + (-(-x).exp()).ln_1p() } else { x.exp_m1().ln() }
}

/// `ln(1 + e^x)`.
pub(crate) fn log1p_exp(x: f64) -> f64 {
    if x > 40.0 { x } else { x.exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_pure_loss_is_not_free() {
        for epsilon in [700.0, 709.0, 710.0, 800.0, 1e4] {
            let divergence = rdp_pure(2.0, epsilon);
            assert!((divergence / epsilon - 1.0).abs() < 0.01, "{epsilon}: {divergence}");
        }
    }

    #[test]
    fn the_classic_conversion_is_never_better() {
        for order in [1.01, 1.5, 2.0, 20.0, 1e4] {
            for delta in [1e-12, 1e-3, 0.9] {
                let classic = rdp_to_epsilon_classic(order, 0.1, delta).unwrap();
                assert!(rdp_to_epsilon(order, 0.1, delta).unwrap() <= classic, "{order} {delta}");
            }
        }
        assert_eq!(rdp_to_epsilon_classic(2.0, 0.1, 0.0).unwrap(), f64::INFINITY);
        assert!(rdp_to_epsilon_classic(1.0, 0.1, 0.1).is_err());
    }

    #[test]
    fn the_gaussian_moment() {
        // E[R^α] = e^{α(α−1)μ²/2}
        let (order, mu) = (3.0f64, 0.5f64);
        let want = (0.5 * order * (order - 1.0) * mu * mu).exp_m1();
        let got = moment_excess(order, 0.5 * order * mu * mu);
        assert!((got / want - 1.0).abs() < 1e-15);
    }
}
