//! Curves of sampled Gaussian steps, at every real order.
//!
//! # Poisson, a row added or removed (Mironov, Talwar, Zhang 2019)
//!
//! With `R = 1 − q + q e^{μx − μ²/2}` and `x ~ N(0, 1)` the worst direction is removal and
//!
//! ```text
//! r(α) = ln E[R^α]/(α − 1);   for whole α:  E[R^α] − 1 = Σ_{k=2..α} C(α,k)(1−q)^{α−k}q^k (e^{k(k−1)μ²/2} − 1).
//! ```
//!
//! The sum starts at 2: `k = 0, 1` cancel exactly, and leaving them in costs all digits at small
//! `q`. For other orders the same cancellation is made inside the integral,
//! `E[R^α − 1 − α(R − 1)]`, whose integrand is positive.
//!
//! # A row replaced
//!
//! For a symmetric pair, folding `x` onto `−x` gives
//!
//! ```text
//! M(α) − 1 = ∫ q(x)·(−R)·(e^{(α−1)l} − 1)(e^{−αl} − 1) dx,   l = ln R,
//! ```
//!
//! over the half line where `l > 0`: positive without any cancellation. For Poisson sampling `R` is
//! the ratio of the two mixtures; for fixed-size sampling it is `1 − γ + γ e^{μx − μ²/2}` for
//! `x > μ/2` (the envelope of `pair`).

use std::f64::consts::PI;

use reticent_math::quadrature::{edges, log_integral};
use reticent_math::{ln_binomial, log_add, log_sum_exp};

use super::{check_order, log_expm1, log1p_exp};
use crate::{
    PrivacyError,
    error::{check, positive, probability},
};

fn checked(order: f64, rate: f64, noise_multiplier: f64) -> Result<(), PrivacyError> {
    check_order(order)?;
    probability("sample_rate", rate)?;
    positive("noise_multiplier", noise_multiplier)
}

/// The curve of one Poisson-sampled step under add/remove or zero-out; `noise_multiplier` in clip
/// units.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal order, rate or multiplier.
pub fn rdp_poisson(order: f64, rate: f64, noise_multiplier: f64) -> Result<f64, PrivacyError> {
    checked(order, rate, noise_multiplier)?;
    Ok(poisson(order, rate, 1.0 / noise_multiplier))
}

/// The curve of one Poisson-sampled step with a row replaced; `noise_multiplier` in clip units.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal order, rate or multiplier.
pub fn rdp_poisson_replace(
    order: f64,
    rate: f64,
    noise_multiplier: f64,
) -> Result<f64, PrivacyError> {
    checked(order, rate, noise_multiplier)?;
    Ok(poisson_replace(order, rate, 1.0 / noise_multiplier))
}

/// The curve of one fixed-size step with a row replaced; `noise_multiplier` in clip units.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal order, rate or multiplier.
pub fn rdp_fixed_size_replace(
    order: f64,
    rate: f64,
    noise_multiplier: f64,
) -> Result<f64, PrivacyError> {
    checked(order, rate, noise_multiplier)?;
    Ok(fixed_replace(order, rate, 2.0 / noise_multiplier))
}

/// The curve does not fall with the order, so nearer to 1 than this a larger one bounds it; nearer,
/// digits cancel.
const LEAST_ORDER: f64 = 1.0 + 1e-5;

pub(super) fn poisson(order: f64, rate: f64, mu: f64) -> f64 {
    let order = order.max(LEAST_ORDER);
    if rate == 0.0 {
        return 0.0;
    }
    if rate == 1.0 {
        return 0.5 * order * mu * mu;
    }
    let log_excess = if order.fract() == 0.0 && order <= 4096.0 {
        poisson_whole(order, rate, mu)
    } else {
        poisson_real(order, rate, mu)
    };
    log1p_exp(log_excess) / (order - 1.0)
}

/// `ln(E[R^α] − 1)` for whole `α`.
fn poisson_whole(order: f64, rate: f64, mu: f64) -> f64 {
    let (log_q, log_rest) = (rate.ln(), (-rate).ln_1p());
    let terms: Vec<f64> = (2..=order as u32)
        .map(|k| {
            let k = f64::from(k);
            let moment = log_expm1(0.5 * k * (k - 1.0) * mu * mu);
            ln_binomial(order, k) + k * log_q + (order - k) * log_rest + moment
        })
        .collect();
    log_sum_exp(&terms)
}

/// Panels for an integrand with modes near 0 and up to `last`, bending where the mixture's parts
/// are equal.
fn panels(from: f64, last: f64, rate: f64, mu: f64) -> Vec<f64> {
    let bend = 0.5 * mu + ((1.0 - rate) / rate).ln() / mu;
    let to = 13.0f64.max(last + 13.0);
    edges(from, to, 0.5, Some(bend))
}

/// Beyond this `order·mu` the panels would be too coarse; the divergence is astronomic there, so
/// infinity is no loss.
const REACH: f64 = 1900.0;

fn log_density(x: f64) -> f64 {
    -0.5 * x * x - 0.5 * (2.0 * PI).ln()
}

/// `ln(E[R^α] − 1)` for any `α > 1`.
fn poisson_real(order: f64, rate: f64, mu: f64) -> f64 {
    if order * mu > REACH {
        return f64::INFINITY;
    }
    log_integral(&panels(-13.0, order * mu, rate, mu), |x| {
        let inner = mu * (x - 0.5 * mu);
        let log_ratio = if inner > 600.0 {
            log1p_exp(inner + rate.ln())
        } else {
            (rate * inner.exp_m1()).ln_1p()
        };
        let y = if inner > 600.0 { f64::INFINITY } else { rate * inner.exp_m1() };
        log_density(x) + log_power_excess(order, y, log_ratio)
    })
}

/// `ln((1+y)^α − 1 − αy)`, with `log_ratio = ln(1 + y)`.
fn log_power_excess(a: f64, y: f64, log_ratio: f64) -> f64 {
    if a * y.abs() < 1e-3 {
        let series = 1.0 + (a - 2.0) / 3.0 * y * (1.0 + (a - 3.0) / 4.0 * y);
        return (0.5 * a * (a - 1.0) * y * y * series).ln();
    }
    let exponent = a * log_ratio;
    if exponent > 60.0 {
        // (1 + αy)e^{−exponent} is below 1e-20 of it unless y is astronomic, where it is smaller
        // still.
        return exponent;
    }
    (exponent.exp_m1() - a * y).ln()
}

/// `ln(−R(e^{(α−1)l} − 1)(e^{−αl} − 1))` for `l = ln R > 0`.
fn log_symmetric_excess(order: f64, l: f64) -> f64 {
    if l <= 0.0 {
        return f64::NEG_INFINITY;
    }
    l + log_expm1((order - 1.0) * l) + (-(-order * l).exp_m1()).ln()
}

pub(super) fn poisson_replace(order: f64, rate: f64, mu: f64) -> f64 {
    let order = order.max(LEAST_ORDER);
    if rate == 0.0 {
        return 0.0;
    }
    if rate == 1.0 {
        return 2.0 * order * mu * mu;
    }
    if order * mu > REACH {
        return f64::INFINITY;
    }
    let (log_q, log_rest) = (rate.ln(), (-rate).ln_1p());
    let mixture = |x: f64| log_add(log_rest, log_q + mu * (x - 0.5 * mu));
    // For a rate near 1 the ratio grows like e^{2μx} against the density e^{−μx}: the mode is near
    // (2·order − 1)·mu.
    let log_excess = log_integral(&panels(0.0, 2.0 * order * mu, rate, mu), |x| {
        let (up, down) = (mixture(x), mixture(-x));
        // ln R without cancellation: R − 1 = q e^{−μ²/2}·2 sinh(μx)/(1 − q + q e^{−μx − μ²/2}).
        let l = if up - down > 0.1 {
            up - down
        } else if mu * x > 20.0 {
            // e^{−μx} is left out, which makes it a hair larger; apart, the factors leave the range
            // of numbers.
            (rate * (mu * (x - 0.5 * mu)).exp() / down.exp()).ln_1p()
        } else {
            (rate * (-0.5 * mu * mu).exp() * 2.0 * (mu * x).sinh() / down.exp()).ln_1p()
        };
        log_density(x) + down + log_symmetric_excess(order, l)
    });
    log1p_exp(log_excess) / (order - 1.0)
}

pub(super) fn fixed_replace(order: f64, rate: f64, mu: f64) -> f64 {
    let order = order.max(LEAST_ORDER);
    if rate == 0.0 {
        return 0.0;
    }
    if rate == 1.0 {
        return 0.5 * order * mu * mu;
    }
    if order * mu > REACH {
        return f64::INFINITY;
    }
    let log_excess = log_integral(&panels(0.5 * mu, order * mu, rate, mu), |x| {
        let inner = mu * (x - 0.5 * mu);
        let l = if inner > 600.0 {
            log1p_exp(inner + rate.ln())
        } else {
            (rate * inner.exp_m1()).ln_1p()
        };
        log_density(x) + log_symmetric_excess(order, l)
    });
    log1p_exp(log_excess) / (order - 1.0)
}

/// The bound of Wang, Balle, Kasiviswanathan 2019 for fixed-size sampling with a row replaced, at
/// whole orders.
///
/// Two to three times larger than [`rdp_fixed_size_replace`]; kept as a check.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless the order is a whole number from 2 to 4096, and as
/// [`rdp_poisson`].
pub fn rdp_fixed_size_replace_wbk(
    order: f64,
    rate: f64,
    noise_multiplier: f64,
) -> Result<f64, PrivacyError> {
    checked(order, rate, noise_multiplier)?;
    let whole = order.fract() == 0.0 && (2.0..=4096.0).contains(&order);
    check(whole, "order", "be a whole number from 2 to 4096", order)?;
    let mu = 2.0 / noise_multiplier;
    let log_m = |k: f64| 0.5 * k * (k - 1.0) * mu * mu;
    // ln B_l for even l: the alternating sum of moments is E_{x~N(0,1)}[(e^{μx − μ²/2} − 1)^l], an
    // integral of a positive function for even l, so that nothing cancels.
    let even = |l: f64| {
        let edges = edges(-13.0, l * mu + 13.0, 0.5, Some(0.5 * mu));
        log_integral(&edges, |x| {
            let inner = mu * (x - 0.5 * mu);
            let log_abs = if inner > 0.0 { log_expm1(inner) } else { (-inner.exp_m1()).ln() };
            log_density(x) + l * log_abs
        })
    };
    let terms: Vec<f64> = (2..=order as u32)
        .map(|j| {
            let odd = j % 2 == 1;
            let j = f64::from(j);
            let log_b = if odd { 0.5 * (even(j - 1.0) + even(j + 1.0)) } else { even(j) };
            let least = (4.0f64.ln() + log_b).min(2.0f64.ln() + log_m(j));
            j * rate.ln() + ln_binomial(order, j) + least
        })
        .collect();
    Ok(log1p_exp(log_sum_exp(&terms)) / (order - 1.0))
}
