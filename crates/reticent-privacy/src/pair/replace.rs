//! A Gaussian step on a sample, a row replaced.
//!
//! # Theorem
//!
//! *Poisson.* The pair `(1−q)N(0,1) + qN(μ,1)` against `(1−q)N(0,1) + qN(−μ,1)` dominates one step,
//! `μ` the shift by one row, and is attained.
//!
//! *Fixed size.* With `γ = b/n` and `μ` the shift by the replace sensitivity, the supremum over all
//! data is the profile of [`super::poisson_remove_delta`] for `ε >= 0` and of
//! [`super::poisson_add_delta`] for `ε < 0`. No pair of data sets attains both, but the envelope is
//! convex in `e^ε`, so it is the profile of some pair, with an atom of mass `(1−γ)(2Φ(μ/2) − 1)` at
//! loss 0.
//!
//! *Proof.* Condition on the rest of the batch (joint convexity). For `e^ε >= 1` the quantity is
//! the supremum over sets `S` of `q·N(x₁)(S) − a·N(x₂)(S) − c·N(x₃)(S)` with `a, c >= 0` and
//! centres for the row present, replaced, absent. Given `N(x₁)(S) = p`, Neyman and Pearson bound
//! the others below by `Φ(Φ⁻¹(p) − distance)`, and a half space attains both bounds when `x₂` and
//! `x₃` lie on one ray from `x₁`. The distances are at most 2 and 1 rows (Poisson) or 2 and 2
//! (fixed size: another row takes the place). `e^ε < 1` follows by reversal, replacing being
//! symmetric.
//!
//! # Numerics
//!
//! For `ε >= 0` the densities cross at `u` with `2μu = ε + 2 asinh(α sinh(ε/2))`,
//! `α = ((1−q)/q)e^{μ²/2}`. With `a = e^{ε − 2μu}` the crossing equation turns the three terms into
//! `φ(u−μ)·q·[(1−a)(R(u−μ) − R(u)) + a(R(u−μ) − R(u+μ))]`, `R` Mills' ratio: positive terms only.

use std::f64::consts::FRAC_1_SQRT_2;

use reticent_math::{erf, ndtr, normal_pdf};

use super::{Knots, Tails, sampled};
use crate::gaussian::{self, mills_difference};

/// The profile of one Poisson-sampled step with a row replaced; `mu` = 1/noise multiplier in clip
/// units.
pub fn poisson_replace_delta(epsilon: f64, rate: f64, mu: f64) -> f64 {
    if rate >= 1.0 {
        return gaussian::delta(epsilon, 2.0 * mu);
    }
    if epsilon < 0.0 {
        let reverse = epsilon.exp() * poisson_replace_delta(-epsilon, rate, mu);
        return (reverse - epsilon.exp_m1()).min(1.0);
    }
    if rate <= 0.0 || mu == 0.0 {
        return 0.0;
    }
    let stretch = stretch(epsilon, rate, mu);
    let u = (0.5 * epsilon + stretch) / mu;
    let share = (-2.0 * stretch).exp();
    let d = if u - mu > -5.0 {
        let density = normal_pdf(u - mu);
        if density == 0.0 {
            return 0.0;
        }
        let near = mills_difference(u - 0.5 * mu, mu);
        let far = mills_difference(u, 2.0 * mu);
        density * rate * ((1.0 - share) * near + share * far)
    } else {
        // (1−q)(e^ε−1)Φ(−u) = q(1−a)e^{...}: the plain form is exact here, where Φ(μ−u) is close to
        // one.
        let tails = tails(epsilon, rate, mu);
        tails.p_above - scaled(epsilon, tails.q_above)
    };
    d.clamp(0.0, 1.0)
}

/// `e^ε·x` without overflow in the factor.
fn scaled(epsilon: f64, x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { (epsilon + x.ln()).exp() }
}

/// `asinh(α sinh(ε/2))`, in logarithms once `α` or `sinh` is large.
fn stretch(epsilon: f64, rate: f64, mu: f64) -> f64 {
    if epsilon == 0.0 {
        return 0.0;
    }
    let log_alpha = (1.0 - rate).ln() - rate.ln() + 0.5 * mu * mu;
    // ln(2 sinh(ε/2)) = ε/2 + ln(1 − e^{−ε})
    let log_twice = log_alpha + 0.5 * epsilon + (-(-epsilon).exp_m1()).ln();
    if log_twice > 40.0 { log_twice } else { (0.5 * log_twice.exp()).asinh() }
}

/// The tails of the loss of the Poisson pair.
pub(super) fn tails(epsilon: f64, rate: f64, mu: f64) -> Tails {
    if epsilon < 0.0 {
        return tails(-epsilon, rate, mu).reversed();
    }
    if mu == 0.0 {
        return Tails::ALL_BELOW;
    }
    let u = if rate >= 1.0 {
        0.5 * epsilon / mu
    } else {
        (0.5 * epsilon + stretch(epsilon, rate, mu)) / mu
    };
    let (above, below) = ((1.0 - rate) * ndtr(-u), (1.0 - rate) * ndtr(u));
    Tails {
        p_above: above + rate * ndtr(mu - u),
        q_above: above + rate * ndtr(-mu - u),
        p_below: below + rate * ndtr(u - mu),
        q_below: below + rate * ndtr(u + mu),
    }
}

/// The profile of one fixed-size step with a row replaced; `mu` = 2/noise multiplier in clip units.
pub fn fixed_size_replace_delta(epsilon: f64, rate: f64, mu: f64) -> f64 {
    if epsilon < 0.0 {
        super::poisson_add_delta(epsilon, rate, mu)
    } else {
        super::poisson_remove_delta(epsilon, rate, mu)
    }
}

/// The mass at loss zero of the envelope that dominates a fixed-size step: `(1−γ)(2Φ(μ/2) − 1)`.
pub fn fixed_size_replace_atom(rate: f64, mu: f64) -> f64 {
    (1.0 - rate) * erf(0.5 * FRAC_1_SQRT_2 * mu)
}

pub(super) fn poisson_knots(rate: f64, mu: f64, reach: f64) -> Knots {
    let to = mu + reach;
    Knots::of_loss(|x| sampled::loss(x, rate, mu) - sampled::loss(-x, rate, mu), -to, to)
}

pub(super) fn fixed_knots(rate: f64, mu: f64, reach: f64) -> Knots {
    let half = Knots::of_loss(|x| sampled::loss(x, rate, mu), 0.5 * mu, mu + reach);
    let mut points: Vec<f64> = half.points.iter().rev().map(|e| -e).collect();
    points.pop();
    points.extend(half.points);
    Knots { points, kinks: vec![0.0], linear: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_atom_is_what_the_two_tails_leave() {
        for (rate, mu) in [(0.001, 1.4), (0.3, 0.2), (1.0, 1.0), (0.5, 6.0)] {
            // x > mu/2 is a gain with P = (1−γ)N(0) + γN(mu); by symmetry the loss below zero has
            // Q's mass.
            let (p, q) = ((1.0 - rate) * ndtr(-0.5 * mu) + rate * ndtr(0.5 * mu), ndtr(-0.5 * mu));
            let (got, want) = (fixed_size_replace_atom(rate, mu), 1.0 - p - q);
            assert!((got - want).abs() < 1e-15, "{rate} {mu}: {got} {want}");
        }
    }
}
