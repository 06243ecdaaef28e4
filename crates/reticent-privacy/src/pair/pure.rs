//! Mechanisms with a bounded loss.
//!
//! | class | worst pair | profile for `|e| <= ε` |
//! | --- | --- | --- |
//! | Laplace, `ε` = sensitivity / scale | itself; in more dimensions it still dominates | `1 − e^{(e−ε)/2}` |
//! | any `ε`-private mechanism | randomised response (Kairouz, Oh, Viswanath 2015) | `p − e^e(1−p)`, `p = e^ε/(1+e^ε)` |
//! | bounded range `ε` | envelope over the top loss `t ∈ [0, ε]` (Dong, Durfee, Rogers 2020) | `(e^{ε/2} − e^{e/2})²/(e^ε − 1)` |
//! | any `(ε, δ)`-private mechanism | randomised response failing openly with probability `δ` | `δ + (1−δ)(...)` |
//!
//! Above `ε` the profile is 0 (or `δ`), below `−ε` it is `1 − e^e`.

use super::Tails;

/// The Laplace mechanism's profile; `limit` = l1 sensitivity over scale.
pub fn laplace_delta(epsilon: f64, limit: f64) -> f64 {
    if epsilon >= limit {
        0.0
    } else if epsilon <= -limit {
        -epsilon.exp_m1()
    } else {
        -(0.5 * (epsilon - limit)).exp_m1()
    }
}

/// The profile that dominates every `(limit, delta)`-private mechanism.
pub fn randomized_response_delta(epsilon: f64, limit: f64, delta: f64) -> f64 {
    let inner = if epsilon >= limit {
        0.0
    } else if epsilon <= -limit {
        -epsilon.exp_m1()
    } else {
        // (e^ε − e^e)/(1 + e^ε)
        -(epsilon - limit).exp_m1() / (1.0 + (-limit).exp())
    };
    delta + (1.0 - delta) * inner
}

/// The profile that dominates every mechanism of bounded range `limit`.
pub fn bounded_range_delta(epsilon: f64, limit: f64) -> f64 {
    if epsilon >= limit {
        return 0.0;
    }
    if epsilon <= -limit {
        return -epsilon.exp_m1();
    }
    let root = -(0.5 * (epsilon - limit)).exp_m1();
    root * root / -(-limit).exp_m1()
}

/// The tails of the Laplace loss, which has atoms at `±limit`.
pub(super) fn laplace_tails(epsilon: f64, limit: f64) -> Tails {
    if epsilon < -limit {
        return Tails::ALL_ABOVE;
    }
    if epsilon >= limit {
        return Tails::ALL_BELOW;
    }
    // Scale one, P centred at 0 and Q at `limit`: the loss limit − 2x exceeds ε where x < (limit −
    // ε)/2 =: x0.
    let x0 = 0.5 * (limit - epsilon);
    let p_below = 0.5 * (-x0).exp();
    let q_above = 0.5 * (x0 - limit).exp();
    Tails { p_above: 1.0 - p_below, q_above, p_below, q_below: 1.0 - q_above }
}

/// The tails of randomised response.
pub(super) fn response_tails(epsilon: f64, limit: f64) -> Tails {
    if epsilon < -limit {
        return Tails::ALL_ABOVE;
    }
    if epsilon >= limit {
        return Tails::ALL_BELOW;
    }
    let high = 1.0 / (1.0 + (-limit).exp());
    let low = (-limit).exp() * high;
    Tails { p_above: high, q_above: low, p_below: low, q_below: high }
}

/// The tails of the bounded-range envelope for `epsilon >= 0`: `Q(L > ε)` is minus the slope in
/// `e^ε`.
pub(super) fn bounded_range_tails(epsilon: f64, limit: f64) -> Tails {
    if epsilon >= limit {
        return Tails::ALL_BELOW;
    }
    let q_above = ((0.5 * (limit - epsilon)).exp_m1() / limit.exp_m1()).min(1.0);
    let p_above = (bounded_range_delta(epsilon, limit) + epsilon.exp() * q_above).min(1.0);
    Tails { p_above, q_above, p_below: 1.0 - p_above, q_below: 1.0 - q_above }
}
