//! A discrete privacy loss that dominates a pair: connect the dots.
//!
//! # Theorem (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022)
//!
//! As a function of `g = e^ε` a profile `d` is convex, so the broken line through `(g_k, d(g_k))`
//! lies above it. The broken line is itself the profile of a discrete loss with mass
//!
//! ```text
//! p_k = (D_{k+1} − D_k)/(e^{w_k} − 1) − (D_k − D_{k−1})/(1 − e^{−w_{k−1}}),   w_k = ε_{k+1} − ε_k,
//! p_∞ = D_last,   p_last = (D_{last−1} − D_last)/(1 − e^{−w}),   p_first = (C_1 − C_0)/(e^w − 1) − C_0
//! ```
//!
//! at `ε_k`, where `C = d − (1 − e^ε)`. Hence this loss dominates the pair, for any points, and so
//! do products.
//!
//! # Numerics
//!
//! `1 − e^ε` is linear in `g`, so `C` may replace `D` in the difference. It does for `ε < 0`, where
//! `C` is small and relatively accurate while `D` is close to one and its second difference would
//! be noise. Every value is raised by the evaluator's relative error first, and negative masses are
//! clamped: both only raise the profile.

use reticent_math::log_add;

use super::times::Times;
use crate::pair::Pair;

/// A discrete loss: increasing values with their masses, and the mass at infinity.
#[derive(Clone, Debug)]
pub(super) struct Law {
    pub(super) losses: Vec<f64>,
    pub(super) masses: Vec<f64>,
    pub(super) infinite: f64,
}

/// The logarithm of the moment generating function at one point, and its derivatives there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cumulant {
    pub(super) value: f64,
    pub(super) mean: f64,
    pub(super) variance: f64,
}

impl Law {
    /// The loss through the profile of `pair` at the increasing `points`, at least two, one of them
    /// zero.
    pub(super) fn connect(pair: &Pair, points: Vec<f64>) -> Self {
        let values = Self::values(pair, &points);
        Self::through(pair, points, &values)
    }

    /// `D` at and above zero, `C` below: the one that is accurate; raised by the evaluator's error.
    pub(super) fn values(pair: &Pair, points: &[f64]) -> Vec<f64> {
        let raise = 1.0 + pair.evaluation_error();
        let value = |&e: &f64| raise * if e < 0.0 { pair.excess(e) } else { pair.delta(e) };
        points.iter().map(value).collect()
    }

    /// The loss through known `values` at `points`.
    pub(super) fn through(pair: &Pair, points: Vec<f64>, values: &[f64]) -> Self {
        let raise = 1.0 + pair.evaluation_error();
        let count = points.len();
        let mut masses = Vec::with_capacity(count);
        let mut lost = false;
        for k in 0..count {
            let here = points[k];
            let above_zero = here >= 0.0;
            // The value at a neighbour in the same form (D or C) as the value here.
            let value = |i: usize| {
                let e = points[i];
                match (above_zero, e >= 0.0) {
                    (true, false) => values[i] - raise * e.exp_m1(),
                    (false, true) => values[i] + raise * e.exp_m1(),
                    _ => values[i],
                }
            };
            let mass = if k == 0 {
                let c = if above_zero { values[0] + raise * here.exp_m1() } else { values[0] };
                let c1 = value(1) + if above_zero { raise * points[1].exp_m1() } else { 0.0 };
                (c1 - c) / (points[1] - here).exp_m1() - c
            } else {
                let left = (values[k] - value(k - 1)) / (points[k - 1] - here).exp_m1();
                if k + 1 == count {
                    left
                } else {
                    (value(k + 1) - values[k]) / (points[k + 1] - here).exp_m1() + left
                }
            };
            lost |= mass.is_nan();
            masses.push(mass.max(0.0));
        }
        let infinite = {
            let last = points[count - 1];
            let value = values[count - 1];
            if last < 0.0 { value - raise * last.exp_m1() } else { value }
        };
        // Mass that cannot be computed counts as one that is lost for sure.
        let infinite = if lost || infinite.is_nan() { 1.0 } else { infinite.clamp(0.0, 1.0) };
        Self { losses: points, masses, infinite }
    }

    /// `ln Σ p e^{θL}` over finite losses.
    pub(super) fn log_moment(&self, theta: f64) -> f64 {
        self.cumulant(theta).value
    }

    /// The cumulant of the finite part at `theta`.
    pub(super) fn cumulant(&self, theta: f64) -> Cumulant {
        // The exponent is largest at an end or where the mass is; bounding it by the largest θL can
        // underflow everything, so take logarithms only if the cheap reference fails.
        let reference = self.reference(theta);
        let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
        for (&loss, &mass) in self.losses.iter().zip(&self.masses) {
            if mass > 0.0 {
                let exponent = theta * loss - reference;
                let weight = if exponent < 600.0 {
                    mass * exponent.exp()
                } else {
                    (exponent + mass.ln()).exp()
                };
                sum += weight;
                first += weight * loss;
                second += weight * loss * loss;
            }
        }
        let mean = first / sum;
        let mut variance = second / sum - mean * mean;
        if variance < 1e-9 * mean * mean {
            variance = 0.0;
            for (&loss, &mass) in self.losses.iter().zip(&self.masses) {
                if mass > 0.0 {
                    variance +=
                        ((theta * loss - reference) + mass.ln()).exp() * (loss - mean).powi(2);
                }
            }
            variance /= sum;
        }
        Cumulant { value: sum.ln() + reference, mean, variance }
    }

    /// A number within a few units of the largest `θL + ln p`.
    fn reference(&self, theta: f64) -> f64 {
        let ends = [self.losses[0], self.losses[self.losses.len() - 1]];
        if ends.iter().all(|e| (theta * e).abs() < 300.0) {
            return 0.0;
        }
        self.losses
            .iter()
            .zip(&self.masses)
            .filter(|(_, mass)| **mass > 0.0)
            .map(|(loss, mass)| theta * loss + mass.ln())
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// The largest finite loss with mass.
    pub(super) fn largest(&self) -> f64 {
        let found = self.losses.iter().zip(&self.masses).rev().find(|(_, mass)| **mass > 0.0);
        found.map_or(0.0, |(loss, _)| *loss)
    }

    /// The smallest loss with mass.
    pub(super) fn smallest(&self) -> f64 {
        let found = self.losses.iter().zip(&self.masses).find(|(_, mass)| **mass > 0.0);
        found.map_or(0.0, |(loss, _)| *loss)
    }
}

/// Laws with how often each is composed.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub(super) terms: Vec<(Law, Times)>,
}

impl Sum {
    /// The cumulant of the sum of all losses.
    pub(super) fn cumulant(&self, theta: f64) -> Cumulant {
        let mut total = Cumulant::default();
        for (law, times) in &self.terms {
            let one = law.cumulant(theta);
            let (mean, variance) = times.weighted(one.value);
            total.value += times.log_moment(one.value);
            total.mean += mean * one.mean;
            total.variance += mean * one.variance + variance * one.mean * one.mean;
        }
        total
    }

    /// `ln` of the moment generating function of the sum.
    pub(super) fn log_moment(&self, theta: f64) -> f64 {
        self.terms.iter().map(|(law, times)| times.log_moment(law.log_moment(theta))).sum()
    }

    /// The probability that any loss is infinite, rounded up.
    pub(super) fn infinite(&self) -> f64 {
        let one = |(law, times): &(Law, Times)| times.most() * (-law.infinite).ln_1p();
        let log: f64 = self.terms.iter().map(one).sum();
        (-log.exp_m1() * (1.0 + 1e-12)).clamp(0.0, 1.0)
    }

    /// Chernoff's bound on `δ(ε)` at tilt `theta > 0` with the best constant (Canonne, Kamath,
    /// Steinke 2020), in logarithms, the infinite part included, rounded up.
    pub(super) fn log_delta_chernoff(&self, theta: f64, epsilon: f64) -> f64 {
        let order = theta + 1.0;
        let tail =
            self.log_moment(theta) - theta * epsilon + theta * (theta / order).ln() - order.ln();
        let count: f64 = self.terms.iter().map(|(_, times)| times.most()).sum();
        let slip = 1e-9 + 1e-13 * (count + theta * epsilon);
        log_add(tail + slip, self.infinite().ln() + 1e-9)
    }

    /// Chernoff's bound on the `ε` at `delta`, least over many tilts: loose, and there when no
    /// window is. `P(S > ε) <= e^{K(θ) − θε}`, and the infinite part comes on top.
    pub(super) fn epsilon_chernoff(&self, delta: f64) -> f64 {
        let room = delta - self.infinite();
        if room <= 0.0 {
            return f64::INFINITY;
        }
        let at = |theta: f64| (self.log_moment(theta) - room.ln()) / theta;
        let tilts = (-80..=80).map(|i| 10_f64.powf(f64::from(i) / 10.0));
        let least = tilts.map(at).filter(|e| e.is_finite()).fold(f64::INFINITY, f64::min);
        // Rounded up: cumulants are sums of up to a few thousand rounded terms.
        least.max(0.0) * (1.0 + 1e-9)
    }
}
