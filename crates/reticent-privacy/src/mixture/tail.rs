//! How many hits, and how much hit weight, a run may have.

use reticent_math::binomial_quantile_upper;

use crate::{
    PrivacyError,
    error::{check, positive},
    gaussian::bisect,
};

/// Beyond this many draws the sums over a binomial tail would take too long.
const MAX_DRAWS: u64 = 1_000_000_000_000;

/// The chance that `steps` iterates, of which the last update is unused, see a given row of `rows`.
pub fn hit_probability(rows: u64, steps: u64) -> f64 {
    let updates = steps.saturating_sub(1) as f64;
    -(updates * (-1.0 / rows as f64).ln_1p()).exp_m1()
}

/// The smallest `k` with `P(Bin(draws, 1/rows) > k) <= tail`: more hits than that are as rare as
/// asked.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for no rows, more than 1e12 draws, or unless `0 < tail <= 1`.
pub fn hits_quantile(rows: u64, draws: u64, tail: f64) -> Result<f64, PrivacyError> {
    check(rows >= 1, "rows", "be at least 1", rows as f64)?;
    check(draws <= MAX_DRAWS, "steps", "be at most 1e12", draws as f64)?;
    check(tail > 0.0 && tail <= 1.0, "tail", "satisfy 0 < tail <= 1", tail)?;
    Ok(binomial_quantile_upper(draws as f64, 1.0 / rows as f64, tail))
}

/// `(e^θ − 1)/θ − 1`, without cancellation near zero.
fn growth(theta: f64) -> f64 {
    if theta < 1e-3 {
        theta * (0.5 + theta * (1.0 / 6.0 + theta / 24.0))
    } else {
        theta.exp_m1() / theta - 1.0
    }
}

/// Chernoff's bound on `P(A >= x)` for `ratio = steps/rows`: one up to the mean `ratio/2`.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless `ratio` is finite and positive and `x` is finite.
pub fn averaged_hits_tail(x: f64, ratio: f64) -> Result<f64, PrivacyError> {
    positive("ratio", ratio)?;
    check(x.is_finite(), "x", "be finite", x)?;
    Ok(tail(x, ratio))
}

/// The least `x` with [`averaged_hits_tail`] at or below `tail`: `min_θ (ψ(θ) + ln(1/tail))/θ`.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless `ratio` is finite and positive and `0 < tail <= 1`.
pub fn averaged_hits_quantile(ratio: f64, tail: f64) -> Result<f64, PrivacyError> {
    positive("ratio", ratio)?;
    check(tail > 0.0 && tail <= 1.0, "tail", "satisfy 0 < tail <= 1", tail)?;
    Ok(quantile(ratio, tail))
}

pub(super) fn tail(x: f64, ratio: f64) -> f64 {
    if x <= 0.5 * ratio {
        return 1.0;
    }
    // θ solves ratio·(e^θ(θ−1)+1)/θ² = x, whose left side increases from ratio/2.
    let slope = |t: f64| {
        if t < 1e-3 { 0.5 + t / 3.0 + t * t / 8.0 } else { (t.exp() * (t - 1.0) + 1.0) / (t * t) }
    };
    let mut high = 1.0;
    while ratio * slope(high) < x {
        high *= 2.0;
    }
    let theta = bisect(0.0, high, |t| ratio * slope(t) >= x).1;
    (ratio * growth(theta) - theta * x).exp().min(1.0)
}

pub(super) fn quantile(ratio: f64, probability: f64) -> f64 {
    let mut high = 0.5 * ratio + 1.0;
    while tail(high, ratio) > probability {
        high *= 2.0;
    }
    bisect(0.5 * ratio, high, |x| tail(x, ratio) <= probability).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_of_hits_is_the_first_rare_count() {
        // Bin(9, 1/10): P(X > 1) = 0.2252, P(X > 0) = 0.6126
        assert_eq!(hits_quantile(10, 9, 0.5).unwrap(), 1.0);
        assert_eq!(hits_quantile(10, 9, 0.62).unwrap(), 0.0);
        assert_eq!(hits_quantile(10, 9, 0.22).unwrap(), 2.0);
        assert_eq!(hits_quantile(1, 7, 0.1).unwrap(), 7.0);
        assert!(hits_quantile(0, 9, 0.5).is_err());
        assert!(hits_quantile(10, 9, 0.0).is_err());
        assert!(hits_quantile(2, u64::MAX, 0.5).is_err());
    }

    #[test]
    fn absurd_numbers_are_refused_and_extreme_ones_answered() {
        for (x, ratio) in [(1.0, 0.0), (1.0, -1.0), (1.0, f64::INFINITY), (f64::INFINITY, 1.0)] {
            assert!(averaged_hits_tail(x, ratio).is_err(), "{x} {ratio}");
        }
        for gamma in [0.0, -1.0, 2.0] {
            assert!(averaged_hits_quantile(1.0, gamma).is_err(), "{gamma}");
        }
        for ratio in [1e-300, 1e300] {
            for x in [1e-300, 1e300] {
                let p = averaged_hits_tail(x, ratio).unwrap();
                assert!((0.0..=1.0).contains(&p), "{x} {ratio} {p}");
            }
            assert!(averaged_hits_quantile(ratio, 1e-300).unwrap() > 0.5 * ratio);
        }
    }
}
