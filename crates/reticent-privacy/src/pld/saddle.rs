//! A good guess at the answer, from the cumulants alone.
//!
//! At the tilt `θ` with `K'(θ) = ε` the tilted sum is centred at `ε`; taking it to be normal there
//! gives the saddle-point estimate
//!
//! ```text
//! δ(ε) ≈ e^{K(θ) − θε} · ½[erfcx(θs/√2) − erfcx((θ+1)s/√2)],   s² = K''(θ).
//! ```
//!
//! It is usually within a percent of the truth. It decides where to look, how fine the grid must be
//! and how to tilt; no bound relies on it.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use super::law::{Cumulant, Sum};
use reticent_math::erfcx;

/// A tilt with what is expected there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saddle {
    /// The tilt, at least zero.
    pub(super) theta: f64,
    /// The `ε` aimed at.
    pub(super) epsilon: f64,
    /// The estimate of `ln δ(ε)`.
    pub(super) log_delta: f64,
    /// The standard deviation of the tilted sum.
    pub(super) deviation: f64,
}

impl Saddle {
    /// The density of the sum at `ε` over `e^ε` times the mass of `Q` above: by how much `ε` rises
    /// for each unit of half the variance that is added to the sum. It is
    /// `√(2/π)/(s·erfcx((θ+1)s/√2))`: about `θ + 1` in a tail, and `0.8/s` in the middle.
    pub(super) fn steepness(&self) -> f64 {
        let x = (self.theta + 1.0) * self.deviation * FRAC_1_SQRT_2;
        if x > 1e3 {
            self.theta + 1.0
        } else {
            FRAC_2_SQRT_PI * FRAC_1_SQRT_2 / (self.deviation * erfcx(x))
        }
    }
}

fn log_delta(theta: f64, epsilon: f64, at: Cumulant) -> f64 {
    let s = at.variance.max(0.0).sqrt();
    let bracket = if theta * s > 1e3 {
        // erfcx(x) ≈ 1/(x√π): the difference is 1/(√π·s/√2·θ(θ+1)).
        (2.0 / std::f64::consts::PI).sqrt() / (s * theta * (theta + 1.0))
    } else {
        let (a, b) = (theta * s * FRAC_1_SQRT_2, (theta + 1.0) * s * FRAC_1_SQRT_2);
        erfcx(a) - erfcx(b)
    };
    at.value - theta * epsilon + (0.5 * bracket).max(1e-300).ln()
}

impl Sum {
    /// The tilt that centres the sum at `epsilon`.
    pub(super) fn saddle_at(&self, epsilon: f64) -> Saddle {
        let zero = self.cumulant(0.0);
        if epsilon <= zero.mean {
            let theta = 0.0;
            // At θ = 0 the law is N(mean, s²): E(1 − e^{ε−S})_+ with the mean above ε.
            let s = zero.variance.max(1e-300).sqrt();
            let log_delta = reticent_math::log_ndtr((zero.mean - epsilon) / s).min(0.0);
            return Saddle { theta, epsilon, log_delta, deviation: s };
        }
        let scale = ((epsilon - zero.mean) / zero.variance.max(1e-300)).clamp(1e-9, 1e15);
        let (mut low, mut high) = (0.0, scale);
        while self.cumulant(high).mean < epsilon && high < 1e15 {
            low = high;
            high *= 2.0;
        }
        let mut theta = 0.5 * (low + high);
        let mut at = self.cumulant(theta);
        for _ in 0..60 {
            if at.mean > epsilon {
                high = theta;
            } else {
                low = theta;
            }
            let newton = theta - (at.mean - epsilon) / at.variance;
            let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            let done = (next - theta).abs() <= 1e-7 * theta;
            theta = next;
            at = self.cumulant(theta);
            if done {
                break;
            }
        }
        let deviation = at.variance.max(0.0).sqrt();
        Saddle { theta, epsilon, log_delta: log_delta(theta, epsilon, at), deviation }
    }

    /// The saddle whose estimate is `delta`, at `ε >= 0`.
    pub(super) fn saddle_for(&self, delta: f64) -> Saddle {
        let target = delta.ln();
        let value = |theta: f64| {
            let at = self.cumulant(theta);
            (log_delta(theta, at.mean, at) - target, at)
        };
        let zero = self.cumulant(0.0);
        let start = (-2.0 * target).sqrt() / zero.variance.max(1e-300).sqrt();
        let mut high = start.clamp(1e-9, 1e15);
        let mut at_high = value(high);
        let mut low = high;
        let mut at_low = at_high;
        while at_high.0 > 0.0 && high < 1e15 {
            (low, at_low) = (high, at_high);
            high *= 2.0;
            at_high = value(high);
        }
        while at_low.0 < 0.0 && low > 1e-12 {
            (high, at_high) = (low, at_low);
            low *= 0.5;
            at_low = value(low);
        }
        if at_low.0 < 0.0 {
            return self.saddle_at(0.0);
        }
        for step in 0..40 {
            // Regula falsi in ln θ, with a bisection now and then.
            let (a, b) = (low.ln(), high.ln());
            let share = at_low.0 / (at_low.0 - at_high.0);
            let share = if step % 3 == 2 || !share.is_finite() { 0.5 } else { share };
            let theta = (a + (b - a) * share.clamp(0.01, 0.99)).exp();
            let at = value(theta);
            if at.0 > 0.0 {
                (low, at_low) = (theta, at);
            } else {
                (high, at_high) = (theta, at);
            }
            if at.0.abs() < 1e-4 || b - a < 1e-9 {
                break;
            }
        }
        let (theta, (_, at)) =
            if at_low.0.abs() < at_high.0.abs() { (low, at_low) } else { (high, at_high) };
        if at.mean <= 0.0 {
            return self.saddle_at(0.0);
        }
        let deviation = at.variance.max(0.0).sqrt();
        Saddle { theta, epsilon: at.mean, log_delta: log_delta(theta, at.mean, at), deviation }
    }
}
