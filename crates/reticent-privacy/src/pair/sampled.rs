//! A Gaussian step on a Poisson sample, a row added or removed.
//!
//! # Theorem
//!
//! Let `G(μ; ε)` be the Gaussian profile. For any pair `(P, Q)` and `0 < q <= 1` (Balle, Barthe,
//! Gaboardi 2018)
//!
//! ```text
//! H_{e^ε}((1−q)Q + qP ‖ Q) = q·H_{e^{ε'}}(P‖Q),   ε' = ln(1 + (e^ε − 1)/q),  if e^ε > 1−q, else 1 − e^ε;
//! H_{e^ε}(P ‖ (1−q)P + qQ) = w·H_{e^{ε''}}(P‖Q),  w = 1 − e^ε(1−q),  ε'' = ε + ln q − ln w,  if w > 0, else 0.
//! ```
//!
//! With `P = N(μ, 1)` and `Q = N(0, 1)` these are the tight profiles of one step when a row is
//! removed and when it is added. Under add/remove a fixed-size batch has the same profiles with
//! `q = b/n` and twice the shift, because another row takes the place of the absent one.

use super::{Knots, Tails};
use reticent_math::ndtr;

use crate::gaussian;

/// `ln(1 + (e^ε − 1)/q)`: the loss inside a sample that costs `ε` outside.
pub fn inner_epsilon(epsilon: f64, rate: f64) -> f64 {
    if epsilon > 700.0 { epsilon - rate.ln() } else { (epsilon.exp_m1() / rate).ln_1p() }
}

/// The profile when a row is removed from a Poisson sample with this `rate`; `mu` = 1/noise
/// multiplier.
pub fn poisson_remove_delta(epsilon: f64, rate: f64, mu: f64) -> f64 {
    if rate >= 1.0 {
        return gaussian::delta(epsilon, mu);
    }
    if rate <= 0.0 {
        return (-epsilon.exp_m1()).max(0.0);
    }
    if epsilon.exp_m1() <= -rate {
        return -epsilon.exp_m1();
    }
    rate * gaussian::delta(inner_epsilon(epsilon, rate), mu)
}

/// The profile when a row is added to a Poisson sample with this `rate`; `mu` = 1/noise multiplier.
pub fn poisson_add_delta(epsilon: f64, rate: f64, mu: f64) -> f64 {
    if rate >= 1.0 {
        return gaussian::delta(epsilon, mu);
    }
    if rate <= 0.0 {
        return (-epsilon.exp_m1()).max(0.0);
    }
    // w/q = 1 − ((1−q)/q)(e^ε − 1)
    let less = (1.0 - rate) / rate * epsilon.exp_m1();
    if less >= 1.0 {
        return 0.0;
    }
    rate * (1.0 - less) * gaussian::delta(epsilon - (-less).ln_1p(), mu)
}

/// Where `(1−q) + q e^{μx − μ²/2}` crosses `e^ε`, or `None` if it stays above.
fn crossing(epsilon: f64, rate: f64, mu: f64) -> Option<f64> {
    let inner = if rate >= 1.0 {
        epsilon
    } else if epsilon.exp_m1() <= -rate {
        return None;
    } else {
        inner_epsilon(epsilon, rate)
    };
    Some(inner / mu + 0.5 * mu)
}

/// The tails of the loss when a row is removed.
pub(super) fn remove_tails(epsilon: f64, rate: f64, mu: f64) -> Tails {
    let Some(x) = crossing(epsilon, rate, mu) else { return Tails::ALL_ABOVE };
    let (q_above, q_below) = (ndtr(-x), ndtr(x));
    Tails {
        p_above: (1.0 - rate) * q_above + rate * ndtr(mu - x),
        q_above,
        p_below: (1.0 - rate) * q_below + rate * ndtr(x - mu),
        q_below,
    }
}

/// The loss `ln(1 − q + q e^{μx − μ²/2})`.
pub(super) fn loss(x: f64, rate: f64, mu: f64) -> f64 {
    let inner = mu * (x - 0.5 * mu);
    if rate >= 1.0 {
        inner
    } else if inner > 600.0 {
        inner + rate.ln()
    } else {
        (rate * inner.exp_m1()).ln_1p()
    }
}

pub(super) fn knots(rate: f64, mu: f64, reach: f64) -> Knots {
    Knots::of_loss(|x| loss(x, rate, mu), -reach, mu + reach)
}
