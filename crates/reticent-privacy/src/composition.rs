//! Composition theorems in closed form: for papers' calibrations, reports and checks.
//!
//! The product of dominating pairs ([`crate::pld`]) is never worse.

use reticent_math::ln_binomial_pmf;

use crate::{
    PrivacyError,
    error::{check, non_negative},
    scalar::check_delta,
};

/// Basic composition: losses and additive slacks add.
pub fn basic(events: &[(f64, f64)]) -> (f64, f64) {
    events.iter().fold((0.0, 0.0), |(e, d), event| (e + event.0, d + event.1))
}

/// Advanced composition of `times` releases, each `epsilon`-private, at the extra failure
/// `delta_prime`: `ε√(2k ln(1/δ')) + kε tanh(ε/2)` (Dwork, Rothblum, Vadhan 2010, with the exact
/// mean of the loss).
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal number.
pub fn advanced_epsilon(epsilon: f64, times: u64, delta_prime: f64) -> Result<f64, PrivacyError> {
    advanced_epsilon_of(&[(epsilon, times)], delta_prime)
}

/// Advanced composition of different releases, each with how often:
/// `√(2 ln(1/δ') Σε_i²) + Σ ε_i tanh(ε_i/2)`.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal number.
pub fn advanced_epsilon_of(events: &[(f64, u64)], delta_prime: f64) -> Result<f64, PrivacyError> {
    let expected = "satisfy 0 < delta_prime < 1";
    check(delta_prime > 0.0 && delta_prime < 1.0, "delta_prime", expected, delta_prime)?;
    let (mut square, mut mean) = (0.0, 0.0);
    for (epsilon, times) in events {
        non_negative("epsilon", *epsilon)?;
        square += *times as f64 * epsilon * epsilon;
        mean += *times as f64 * epsilon * (0.5 * epsilon).tanh();
    }
    Ok((-2.0 * delta_prime.ln() * square).sqrt() + mean)
}

/// The exact `δ` at `epsilon_total` of `times` adaptive `(epsilon, delta)`-private releases, at
/// worst (Kairouz, Oh, Viswanath 2015).
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal number.
pub fn optimal_delta(
    epsilon: f64,
    delta: f64,
    times: u64,
    epsilon_total: f64,
) -> Result<f64, PrivacyError> {
    non_negative("epsilon", epsilon)?;
    check_delta(delta)?;
    check(times <= 100_000_000, "times", "be at most 1e8", times as f64)?;
    let k = times as f64;
    let p = 1.0 / (1.0 + (-epsilon).exp());
    let mut excess = 0.0;
    // Only j with (2j − k)ε > ε_total count; small terms first.
    for j in (0..=times).rev() {
        // Rounded up: a loss that is the total but for its last digit counts.
        let loss = (2.0 * j as f64 - k) * epsilon * (1.0 + 4.0 * f64::EPSILON);
        if loss <= epsilon_total {
            break;
        }
        excess += ln_binomial_pmf(j as f64, k, p).exp() * -(epsilon_total - loss).exp_m1();
    }
    // 1 − (1−δ)^k (1 − x) = (1 − (1−δ)^k) + (1−δ)^k x
    let kept = k * (-delta).ln_1p();
    Ok((-kept.exp_m1() + kept.exp() * excess).clamp(0.0, 1.0))
}

/// From add/remove to replace-one: `(2ε, (1 + e^ε)δ)`. There is no way back.
pub fn add_remove_to_replace(epsilon: f64, delta: f64) -> (f64, f64) {
    (2.0 * epsilon, ((1.0 + epsilon.exp()) * delta).min(1.0))
}

/// From one row to a group of `size`: `(kε, δ(e^{kε} − 1)/(e^ε − 1))`.
pub fn group(epsilon: f64, delta: f64, size: u64) -> (f64, f64) {
    let k = size as f64;
    let factor = if epsilon * k < 1e-12 { k } else { (k * epsilon).exp_m1() / epsilon.exp_m1() };
    (k * epsilon, if delta == 0.0 { 0.0 } else { (delta * factor).min(1.0) })
}

/// The parameter of `passes` unsampled passes: `√E·Δ/σ`.
pub fn epoch_partition_mu(passes: u64, noise_multiplier: f64, sensitivity: f64) -> f64 {
    (passes as f64).sqrt() * sensitivity / noise_multiplier
}

/// The mean norm of l2-Laplace noise in `dimension` dimensions, `dΔ/ε`.
pub fn l2_laplace_mean_norm(dimension: f64, sensitivity: f64, epsilon: f64) -> f64 {
    dimension * sensitivity / epsilon
}

/// The median norm of l2-Laplace noise: the median of `Gamma(d)` times `Δ/ε`.
pub fn l2_laplace_median_norm(dimension: f64, sensitivity: f64, epsilon: f64) -> f64 {
    reticent_math::gamma_quantile(dimension, 0.5) * sensitivity / epsilon
}

#[cfg(test)]
mod tests {
    use reticent_testkit::vectors::load;

    use super::*;
    use crate::{pair::Pair, pld::Composition};

    #[test]
    fn the_published_vectors() {
        let mut seen = 0;
        for v in load("accounting") {
            let got = match v.formula.as_str() {
                "advanced_composition_eps" => {
                    let times = v.number("k") as u64;
                    advanced_epsilon(v.number("eps"), times, v.number("delta_prime")).unwrap()
                }
                "optimal_composition_delta" => {
                    let (epsilon, delta) = (v.number("eps"), v.number("delta"));
                    optimal_delta(epsilon, delta, v.number("k") as u64, v.number("eps_total"))
                        .unwrap()
                }
                "epoch_partition_mu" => {
                    let (sigma, sensitivity) = (v.number("sigma"), v.number("sensitivity"));
                    epoch_partition_mu(v.number("epochs") as u64, sigma, sensitivity)
                }
                "l2_laplace_mean_norm" => {
                    l2_laplace_mean_norm(v.number("d"), v.number("sensitivity"), v.number("eps"))
                }
                "l2_laplace_median_norm" => {
                    l2_laplace_median_norm(v.number("d"), v.number("sensitivity"), v.number("eps"))
                }
                "addremove_to_replace" => {
                    let (epsilon, delta) =
                        add_remove_to_replace(v.number("eps"), v.number("delta"));
                    assert_eq!(epsilon, v.expected["eps"].as_f64().unwrap());
                    let want = v.expected["delta"].as_f64().unwrap();
                    assert!((delta / want - 1.0).abs() <= v.rel_tol);
                    seen += 1;
                    continue;
                }
                _ => continue,
            };
            assert!(v.accepts(got), "{} {:?}: {got:e}, want {}", v.formula, v.inputs, v.expected);
            seen += 1;
        }
        assert_eq!(seen, 14);
    }

    #[test]
    fn the_loss_distribution_finds_the_optimum() {
        for (epsilon, delta, times, total) in
            [(0.1, 0.0, 100, 3.0), (0.1, 1e-8, 50, 1.5), (1.0, 1e-4, 7, 3.0)]
        {
            let exact = optimal_delta(epsilon, delta, times, total).unwrap();
            let composed = Composition::new([(Pair::Approx { epsilon, delta }, times)]);
            let upper = composed.delta_upper(total);
            assert!(upper >= exact && upper <= exact * (1.0 + 1e-6), "{upper:e} {exact:e}");
            let lower = composed.delta_lower(total);
            assert!(lower <= exact && lower >= exact * (1.0 - 1e-5), "{lower:e} {exact:e}");
        }
    }

    #[test]
    fn optimal_is_below_advanced_is_below_basic() {
        let (epsilon, times, delta) = (0.05, 2000, 1e-6);
        let advanced = advanced_epsilon(epsilon, times, delta).unwrap();
        assert!(advanced < epsilon * times as f64);
        assert!(optimal_delta(epsilon, 0.0, times, advanced).unwrap() < delta);
        assert_eq!(basic(&[(1.0, 1e-6), (2.0, 0.0)]), (3.0, 1e-6));
    }
}
