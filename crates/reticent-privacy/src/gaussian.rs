//! The Gaussian mechanism, exactly.
//!
//! # Theorem (Balle and Wang 2018)
//!
//! Let `f` have l2 sensitivity `Δ` under the declared adjacency and release `f(D) + N(0, s² I)`.
//! With `μ = Δ/s` the least `δ` for which the release is `(ε, δ)`-differentially private is, for
//! every real `ε`,
//!
//! ```text
//! δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ).
//! ```
//!
//! `T` adaptive releases with `μ_1..μ_T` cost exactly what one release with `μ = √(Σ μ_t²)` costs.
//! The same profile bounds every `μ`-GDP mechanism (Dong, Roth, Su 2022), for instance generalised
//! Gaussian noise.
//!
//! # Numerics
//!
//! With `a = ε/μ − μ/2` and `b = ε/μ + μ/2`, `b² − a² = 2ε`, so both terms share the factor
//! `e^{−a²/2}` and the difference is taken between values of `erfcx` instead of between tails.
//! Below `μ = 1e-3` the difference is expanded in `μ`. Functions whose name ends in `_upper` or
//! `_lower` err on that side.

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

use reticent_math::{erf, erfcx, ndtr, normal_pdf, normal_quantile};

use crate::{
    PrivacyError,
    error::{check, positive},
    scalar::{check_delta, check_epsilon},
};

/// A bound on the relative error of an evaluation; [`delta_upper`] adds it.
pub(crate) const PROFILE_ERROR: f64 = 5e-11;

/// The exact profile `δ(ε)` of a Gaussian release with `mu` = sensitivity / standard deviation.
///
/// Any real `ε` is legal. `mu = 0` gives `max(0, 1 − e^ε)`.
pub fn delta(epsilon: f64, mu: f64) -> f64 {
    if epsilon.is_nan() || mu.is_nan() || mu < 0.0 {
        return f64::NAN;
    }
    if epsilon == f64::INFINITY {
        return 0.0;
    }
    if mu == f64::INFINITY || epsilon == f64::NEG_INFINITY {
        return 1.0;
    }
    if epsilon < 0.0 {
        // d(ε) = 1 − e^ε + e^ε d(−ε): symmetric, and exact where d is near 1.
        return epsilon.exp().mul_add(delta(-epsilon, mu), -epsilon.exp_m1()).min(1.0);
    }
    if mu == 0.0 {
        return 0.0;
    }
    let t = epsilon / mu;
    let a = t - 0.5 * mu;
    let b = t + 0.5 * mu;
    if a > -5.0 {
        let density = normal_pdf(a);
        if density == 0.0 { 0.0 } else { density * mills_difference(t, mu) }
    } else {
        // e^ε Φ(−b) = φ(a)·R(b) with Mills' ratio: ε and the logarithm of a tail may both be
        // astronomic.
        let tail = normal_pdf(a) * (0.5 * PI).sqrt() * erfcx(b * FRAC_1_SQRT_2);
        (ndtr(-a) - tail).clamp(0.0, 1.0)
    }
}

/// `R(t − mu/2) − R(t + mu/2)` for Mills' ratio `R(x) = Φ(−x)/φ(x)`, without cancellation for small
/// `mu`.
///
/// Below `mu = 1e-3` it is expanded about `t`: `R' = tR − 1` and `R⁽ⁿ⁺¹⁾ = tR⁽ⁿ⁾ + nR⁽ⁿ⁻¹⁾`. Only
/// `−R'` is needed to full accuracy; the next terms are smaller by `mu²` and `mu⁴`.
pub(crate) fn mills_difference(t: f64, mu: f64) -> f64 {
    let root = (0.5 * PI).sqrt();
    if mu >= 1e-3 {
        let (a, b) = (t - 0.5 * mu, t + 0.5 * mu);
        return root * (erfcx(a * FRAC_1_SQRT_2) - erfcx(b * FRAC_1_SQRT_2)).max(0.0);
    }
    let ratio = root * erfcx(t * FRAC_1_SQRT_2);
    let first = if t < 3.0 {
        t.mul_add(ratio, -1.0)
    } else {
        // tR = 1/(1 + w/(1 + 2w/(1 + 3w/...))) with w = 1/t², so that nothing cancels.
        let w = 1.0 / (t * t);
        let tail = (2..60).rev().fold(1.0, |tail, k| 1.0 + f64::from(k) * w / tail);
        let x = w / tail;
        -x / (1.0 + x)
    };
    let second = t.mul_add(first, ratio);
    let third = t.mul_add(second, 2.0 * first);
    let fourth = t.mul_add(third, 3.0 * second);
    let fifth = t.mul_add(fourth, 4.0 * third);
    let square = mu * mu;
    -mu * (first + square / 24.0 * (third + square / 80.0 * fifth))
}

/// [`delta`], raised by more than its rounding error. The rounding error of `ε/μ − μ/2` counts as a
/// larger `mu`.
///
/// Never zero unless `mu` is or `epsilon` is infinite: about 38 deviations out the profile is less
/// than any number here.
pub fn delta_upper(epsilon: f64, mu: f64) -> f64 {
    let d = delta(epsilon, mu * (1.0 + 1e-15));
    let least = if mu == 0.0 || epsilon == f64::INFINITY { 0.0 } else { f64::MIN_POSITIVE };
    (d * (1.0 + PROFILE_ERROR)).min(1.0).max(least)
}

/// The least `ε >= 0` with `δ(ε) <= delta`, from above. Zero if `δ(0) <= delta`; infinite for
/// `delta = 0`.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless `mu >= 0` and `0 <= delta < 1`.
pub fn epsilon_upper(mu: f64, delta: f64) -> Result<f64, PrivacyError> {
    check(mu >= 0.0, "mu", "be >= 0", mu)?;
    check_delta(delta)?;
    if delta_upper(0.0, mu) <= delta {
        return Ok(0.0);
    }
    if delta == 0.0 || mu == f64::INFINITY {
        return Ok(f64::INFINITY);
    }
    // P(L > ε) <= δ at mu²/2 + mu·√(2 ln(1/δ)), and the profile is below that probability.
    let top = 0.5 * mu * mu + mu * (-2.0 * delta.ln()).sqrt();
    Ok(bisect(0.0, top * (1.0 + 1e-12), |e| delta_upper(e, mu) <= delta).1)
}

/// The largest `mu` whose profile at `epsilon` stays at or below `delta`, from below.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal budget, [`PrivacyError::Unreachable`] for
/// `delta = 0`.
pub fn mu_lower(epsilon: f64, delta: f64) -> Result<f64, PrivacyError> {
    check_epsilon(epsilon)?;
    check_delta(delta)?;
    if delta == 0.0 {
        return Err(PrivacyError::Unreachable {
            name: "noise_multiplier",
            reason: "Gaussian noise cannot give delta = 0".to_owned(),
        });
    }
    if epsilon == f64::INFINITY {
        return Ok(f64::INFINITY);
    }
    if epsilon == 0.0 {
        return Ok(2.0 * normal_quantile_half_up(delta) * (1.0 - 1.1 * PROFILE_ERROR));
    }
    // Feasible: mu²/2 + mu·√(2 ln(1/δ)) = ε. Infeasible: where μ/2 − ε/μ makes the profile large.
    let root = (-2.0 * delta.ln()).sqrt();
    let mut low = 2.0 * epsilon / (root + 2.0f64.mul_add(epsilon, root * root).sqrt());
    low *= 1.0 - 1e-9;
    let mut high = low.max(1e-300);
    loop {
        let next = high * 1.5;
        if delta_upper(epsilon, next) > delta || !next.is_finite() {
            high = next;
            break;
        }
        low = next;
        high = next;
    }
    Ok(bisect(high, low, |mu| delta_upper(epsilon, mu) <= delta).1)
}

/// `Φ⁻¹((1 + δ)/2)`, also for tiny `δ`, where `(1 + δ)/2` would round to a half.
fn normal_quantile_half_up(delta: f64) -> f64 {
    if delta > 0.1 {
        return -normal_quantile(0.5 * (1.0 - delta));
    }
    // erf(x/√2) = δ
    let mut x = delta / normal_pdf(0.0) / 2.0;
    for _ in 0..20 {
        x -= (erf(x / SQRT_2) - delta) / (2.0 * normal_pdf(x));
    }
    x
}

/// The smallest ratio of standard deviation to sensitivity that meets `(epsilon, delta)`, rounded
/// up.
///
/// # Errors
///
/// As [`mu_lower`].
pub fn noise_multiplier_upper(epsilon: f64, delta: f64) -> Result<f64, PrivacyError> {
    let mu = mu_lower(epsilon, delta)?;
    Ok(1.0 / mu * (1.0 + 1e-15))
}

/// The classical calibration `√(2 ln(1.25/δ))/ε`, proven for `0 < ε < 1` only and refused beyond.
///
/// # Errors
///
/// [`PrivacyError::Unreachable`] for `ε >= 1`; [`PrivacyError::OutOfRange`] for an illegal budget.
pub fn noise_multiplier_classical(epsilon: f64, delta: f64) -> Result<f64, PrivacyError> {
    positive("epsilon", epsilon)?;
    check(delta > 0.0 && delta < 1.0, "delta", "satisfy 0 < delta < 1", delta)?;
    if epsilon >= 1.0 {
        return Err(PrivacyError::Unreachable {
            name: "noise_multiplier",
            reason: "classical Gaussian calibration is proven for eps < 1 only; use tight"
                .to_owned(),
        });
    }
    Ok((2.0 * (1.25 / delta).ln()).sqrt() / epsilon)
}

/// Bisect between an end where `ok` fails and one where it holds; return `(fails, holds)`.
pub(crate) fn bisect(fails: f64, holds: f64, ok: impl Fn(f64) -> bool) -> (f64, f64) {
    let (mut bad, mut good) = (fails, holds);
    for _ in 0..200 {
        let middle = 0.5 * (bad + good);
        if middle == bad || middle == good || (good - bad).abs() <= 2e-16 * good.abs() {
            break;
        }
        if ok(middle) { good = middle } else { bad = middle }
    }
    (bad, good)
}

#[cfg(test)]
mod tests {
    use reticent_testkit::vectors::load;

    use super::*;

    #[test]
    fn the_published_vectors() {
        let mut seen = 0;
        for vector in load("accounting") {
            let got = match vector.formula.as_str() {
                "gaussian_delta" => delta(vector.number("eps"), vector.number("mu")),
                "gaussian_sigma" => {
                    vector.number("sensitivity")
                        * noise_multiplier_upper(vector.number("eps"), vector.number("delta"))
                            .unwrap()
                }
                "gaussian_eps" => {
                    epsilon_upper(vector.number("mu"), vector.number("delta")).unwrap()
                }
                _ => continue,
            };
            assert!(vector.accepts(got), "{} {:?}: got {got:e}", vector.formula, vector.inputs);
            seen += 1;
        }
        assert_eq!(seen, 21);
    }

    #[test]
    fn the_answer_is_on_the_safe_side_of_the_root() {
        for delta_target in [1e-300, 1e-30, 1e-10, 1e-5, 1e-2, 0.3] {
            for epsilon in [0.0, 1e-4, 0.1, 1.0, 8.0, 100.0, 1e4] {
                let s = noise_multiplier_upper(epsilon, delta_target).unwrap();
                assert!(delta(epsilon, 1.0 / s) <= delta_target, "{epsilon} {delta_target}");
                assert!(delta(epsilon, 1.0 / (s * (1.0 - 1e-9))) > delta_target * (1.0 - 1e-9));
                let back = epsilon_upper(1.0 / s, delta_target).unwrap();
                assert!((back - epsilon).abs() <= 1e-8 * epsilon.max(1e-3), "{epsilon} {back}");
            }
        }
    }

    #[test]
    fn the_two_forms_meet_at_small_mu() {
        for t in [0.0, 0.3, 1.0, 2.9, 3.1, 6.0, 12.0] {
            let above = mills_difference(t, 1e-3);
            let below = mills_difference(t, 1e-3 * (1.0 - 1e-15));
            assert!((above / below - 1.0).abs() < 8e-12, "{t} {above:e} {below:e}");
        }
    }

    #[test]
    fn the_classical_calibration_is_refused_where_it_is_false() {
        let refused = noise_multiplier_classical(1.0, 1e-5).unwrap_err().to_string();
        assert!(refused.contains("proven for eps < 1 only; use tight"), "{refused}");
        let s = noise_multiplier_classical(0.9, 1e-5).unwrap();
        assert!(s > noise_multiplier_upper(0.9, 1e-5).unwrap());
        assert!(noise_multiplier_upper(1.0, 0.0).is_err());
    }
}
