//! A lower bound on epsilon from one run with many canaries.
//!
//! Steinke, Nasr and Jagielski, "Privacy auditing with one (1) training run" (NeurIPS 2023).
//!
//! # The game
//!
//! Each of `m` canaries is put into the table or left out (or replaced) by a fair coin of its own,
//! `Sᵢ = ±1`. The mechanism runs once. From its output alone an attacker guesses `r` of the coins
//! and abstains from the others.
//!
//! # Theorem
//!
//! If the mechanism is `(ε, δ)`-private for a change of one coin, the number of correct guesses
//! exceeds `v` with at most
//!
//! ```text
//! P(correct ≥ v) ≤ f(v) + 2mδ·max_{1≤i≤m} (f(v − i) − f(v))/i,     f(v) = P(Bin(r, e^ε/(1 + e^ε)) ≥ v).
//! ```
//!
//! *Proof, in outline.* Let `δ = 0` and fix the output and with it the guesses. One coin after the
//! other: given the output and the coins before it, a coin's odds are at most `e^ε`, because the
//! mechanism's laws under its two sides are within that factor whatever the other coins are. So
//! each guess is right with chance at most `e^ε/(1 + e^ε)`, given which earlier ones were, and the
//! count is stochastically below the binomial. For `δ > 0` the two laws of a coin agree with laws
//! within `e^ε` up to mass `δ` each; where they do not, count the guess as right. The count is then
//! below `W + F` with `W` binomial, and `F ≤ m` independent of it with `E F ≤ 2mδ`, and `P(W + F ≥
//! v) = f(v) + Σᵢ P(F = i)(f(v − i) − f(v)) ≤ f(v) + E F·maxᵢ (f(v − i) − f(v))/i`. ∎
//!
//! The coins are the only randomness that the theorem averages over, so one run suffices, and many
//! canaries do what many runs do. The price: the canaries share the run's noise, and the bound
//! cannot reach epsilon even where one of them would.

use crate::PrivacyError;
use crate::error::check;
use reticent_math::{binomial_tail, ln_binomial_pmf};

/// The theorem's bound on the chance of `correct` or more right guesses among `guesses`, for
/// `canaries` coins.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless `correct ≤ guesses ≤ canaries`, `0 ≤ epsilon` and
/// `0 ≤ delta < 1`.
pub fn chance_upper(
    canaries: u64,
    guesses: u64,
    correct: u64,
    epsilon: f64,
    delta: f64,
) -> Result<f64, PrivacyError> {
    check(guesses <= canaries, "guesses", "be at most the canaries", guesses as f64)?;
    check(correct <= guesses, "correct", "be at most the guesses", correct as f64)?;
    check(epsilon >= 0.0, "epsilon", "be at least 0", epsilon)?;
    check((0.0..1.0).contains(&delta), "delta", "lie in [0, 1)", delta)?;
    let (r, v, q) = (guesses as f64, correct as f64, 1.0 / (1.0 + (-epsilon).exp()));
    let mut steepest: f64 = 0.0;
    if delta > 0.0 {
        let mut below = 0.0;
        for i in 1..=correct {
            below += ln_binomial_pmf(v - i as f64, r, q).exp();
            steepest = steepest.max(below / i as f64);
        }
    }
    Ok((binomial_tail(v, r, q) + 2.0 * canaries as f64 * delta * steepest).min(1.0))
}

/// No `(ε, delta)` with a smaller `ε` holds, but for a chance of `alarm`: the least `ε` at which so
/// many right guesses have that chance.
///
/// # Errors
///
/// As [`chance_upper`]; and unless `0 < alarm < 1`.
pub fn epsilon_lower(
    canaries: u64,
    guesses: u64,
    correct: u64,
    delta: f64,
    alarm: f64,
) -> Result<f64, PrivacyError> {
    check(alarm > 0.0 && alarm < 1.0, "confidence", "lie between 0 and 1", 1.0 - alarm)?;
    let surprising = |epsilon: f64| -> Result<bool, PrivacyError> {
        Ok(chance_upper(canaries, guesses, correct, epsilon, delta)? <= alarm)
    };
    // The share of delta need not grow with epsilon: go up from zero, and stop at the first epsilon
    // that explains the count.
    let (mut low, mut high) = (0.0, 0.0);
    while surprising(high)? {
        if high > 50.0 {
            return Ok(high);
        }
        low = high;
        high += 0.05;
    }
    if high == 0.0 {
        return Ok(0.0);
    }
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if surprising(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_delta_it_is_the_binomial_tail() {
        // Ten of ten at ε = 0: 2^-10.
        assert!((chance_upper(10, 10, 10, 0.0, 0.0).unwrap() - 0.5_f64.powi(10)).abs() < 1e-15);
        // All of r right: q^r = alarm, so ε = ln(q/(1 − q)).
        let q = 0.05_f64.powf(1.0 / 100.0);
        let epsilon = epsilon_lower(100, 100, 100, 0.0, 0.05).unwrap();
        assert!((epsilon - (q / (1.0 - q)).ln()).abs() < 1e-9, "{epsilon}");
    }

    /// Two guesses, written out: `f(2) = q²`, `f(1) = 1 − (1 − q)²`, `f(0) = 1`.
    #[test]
    fn delta_costs_what_the_theorem_says() {
        let (epsilon, delta, q) = (1.0_f64, 1e-3, 1.0 / (1.0 + (-1.0_f64).exp()));
        let f = [1.0, 1.0 - (1.0 - q) * (1.0 - q), q * q];
        let steepest = (f[1] - f[2]).max(0.5 * (f[0] - f[2]));
        let expected = f[2] + 2.0 * 7.0 * delta * steepest;
        assert!((chance_upper(7, 2, 2, epsilon, delta).unwrap() - expected).abs() < 1e-14);
    }

    #[test]
    fn half_of_the_guesses_show_nothing_and_more_show_more() {
        assert_eq!(epsilon_lower(1000, 1000, 500, 1e-5, 0.05).unwrap(), 0.0);
        let shown: Vec<f64> = [600, 700, 800, 900, 1000]
            .map(|v| epsilon_lower(1000, 1000, v, 1e-5, 0.05).unwrap())
            .to_vec();
        assert!(shown.windows(2).all(|w| w[0] < w[1]), "{shown:?}");
        assert!(epsilon_lower(1000, 1000, 1000, 1e-2, 0.05).unwrap() < shown[4]);
    }

    /// The chance that the bound exceeds the true epsilon, summed over all counts.
    fn false_alarm(m: u64, chances: &[f64], epsilon: f64, delta: f64, alarm: f64) -> f64 {
        let wrong = |v: u64| epsilon_lower(m, m, v, delta, alarm).unwrap() > epsilon;
        (0..=m).filter(|v| wrong(*v)).map(|v| chances[v as usize]).sum()
    }

    /// Randomised response is exactly epsilon-private, and right with chance `e^ε/(1 + e^ε)`: the
    /// bound may exceed epsilon with the stated chance and no more. With `delta`, it tells every
    /// coin in the open with that chance: for each by itself, or for all at once.
    #[test]
    fn for_randomised_response_the_bound_holds_with_the_stated_confidence() {
        for (m, epsilon, alarm) in [
            (1, 0.5_f64, 0.05),
            (10, 1.0, 0.05),
            (100, 0.3, 0.01),
            (100, 2.0, 0.1),
            (400, 4.0, 0.05),
        ] {
            let q = 1.0 / (1.0 + (-epsilon).exp());
            let law = |q: f64| -> Vec<f64> {
                (0..=m).map(|v| ln_binomial_pmf(v as f64, m as f64, q).exp()).collect()
            };
            let odds = false_alarm(m, &law(q), epsilon, 0.0, alarm);
            assert!(odds <= alarm * (1.0 + 1e-9), "{m} {epsilon}: {odds}");
            for delta in [1e-6, 1e-3, 0.02] {
                let each = law(q + delta * (1.0 - q));
                let odds = false_alarm(m, &each, epsilon, delta, alarm);
                assert!(odds <= alarm * (1.0 + 1e-9), "{m} {epsilon} {delta}, each: {odds}");
                let mut all: Vec<f64> = law(q).iter().map(|p| p * (1.0 - delta)).collect();
                all[m as usize] += delta;
                let odds = false_alarm(m, &all, epsilon, delta, alarm);
                assert!(odds <= alarm * (1.0 + 1e-9), "{m} {epsilon} {delta}, all: {odds}");
            }
            // And it is not idle: where the truth is higher, many canaries show it.
            let shown = false_alarm(m, &law(q), 0.25 * epsilon, 0.0, alarm);
            assert!((m as f64) * epsilon < 200.0 || shown > 0.9, "{m} {epsilon}: {shown}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(chance_upper(10, 11, 5, 1.0, 0.0).is_err());
        assert!(chance_upper(10, 5, 6, 1.0, 0.0).is_err());
        assert!(chance_upper(10, 5, 5, -1.0, 0.0).is_err());
        assert!(epsilon_lower(10, 5, 5, 0.0, 0.0).is_err());
    }
}
