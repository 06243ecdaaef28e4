//! Mirror maps for weights measured in `l_p`, `1 ≤ p ≤ 2`.
//!
//! Let `q` be dual to `p` and `2 ≤ r ≤ q`. On `R^d`, `½‖·‖_r²` is `(r−1)`-smooth for `‖·‖_r`, and
//! `‖·‖_q ≤ ‖·‖_r ≤ d^{1/r−1/q}‖·‖_q`, so it is `κ(r)`-smooth for `‖·‖_q` with
//!
//! ```text
//! κ(r) = (r − 1) d^{2/r − 2/q},        p̃ = r/(r − 1)
//! ```
//!
//! By duality `Φ(w) = (κ/2)‖w‖_{p̃}²` is 1-strongly convex for `‖·‖_p`. The exponent that makes `κ`
//! least is `ln d + sqrt(ln² d − 2 ln d)`, kept within `[2, q]`. The paper prints `κ/(κ−1)` for
//! `p̃`, which is the dual exponent of `κ` and not of `r`; with it `Φ` is not strongly convex
//! (`crates/reticent-problem/tests/it/mirror.rs`).
//!
//! # Numerics
//!
//! Vectors are divided by their largest entry, sums are compensated, and every search ends on a
//! point of the set.

use serde::{Deserialize, Serialize};

use super::Domain;
use super::norm::{Sum, lp_norm, power, scaled_power_sum};

/// `Φ(w) = (κ/2)‖w‖_{p̃}²`, its gradient and the inverse of that.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MirrorMap {
    /// `r ≥ 2`, dual to `p̃`.
    pub r: f64,
    /// `κ`.
    pub kappa: f64,
}

/// The exponent dual to `p`.
pub fn dual_exponent(p: f64) -> f64 {
    if p == 1.0 {
        f64::INFINITY
    } else if p == f64::INFINITY {
        1.0
    } else {
        p / (p - 1.0)
    }
}

/// `κ(r) = (r−1) d^{2/r−2/q}`: how smooth `½‖·‖_r²` is for `‖·‖_q`.
pub fn dual_smoothness(r: f64, q: f64, dimension: usize) -> f64 {
    (r - 1.0) * (dimension as f64).powf(2.0 / r - 2.0 / q)
}

impl MirrorMap {
    /// The map with the least `κ` for weights in `l_p`, `1 ≤ p ≤ 2`.
    pub fn new(p: f64, dimension: usize) -> Self {
        let (q, ln) = (dual_exponent(p), (dimension as f64).ln());
        let best = if ln > 2.0 { ln + (ln * ln - 2.0 * ln).sqrt() } else { 2.0 };
        let r = best.min(q).max(2.0);
        Self { r, kappa: dual_smoothness(r, q, dimension) }
    }

    /// `p̃ = r/(r−1)`.
    pub fn p_tilde(self) -> f64 {
        self.r / (self.r - 1.0)
    }

    /// Whether the map is a multiple of the Euclidean one.
    pub fn is_euclidean(self) -> bool {
        self.r == 2.0
    }

    /// `Φ(w)`.
    pub fn value(self, w: &[f64]) -> f64 {
        0.5 * self.kappa * lp_norm(w, self.p_tilde()).powi(2)
    }

    /// `∇Φ(w)_j = κ‖w‖^{2−p̃} |w_j|^{p̃−1} sign w_j`.
    pub fn gradient(self, w: &[f64], into: &mut [f64]) {
        scaled_powers(w, self.p_tilde(), self.kappa, into);
    }

    /// `∇Φ*(θ)_j = (1/κ)‖θ‖^{2−r} |θ_j|^{r−1} sign θ_j`, the inverse of the gradient.
    pub fn inverse_gradient(self, theta: &[f64], into: &mut [f64]) {
        scaled_powers(theta, self.r, 1.0 / self.kappa, into);
    }

    /// Whether [`Self::argmin`] knows this set.
    pub fn serves(self, domain: &Domain) -> bool {
        self.is_euclidean() || !matches!(domain, Domain::Group { .. } | Domain::Product { .. })
    }

    /// The point of the set at which `Φ(w) − ⟨θ, w⟩` is least. Only for sets that the map serves.
    pub fn argmin(self, domain: &Domain, theta: &[f64], w: &mut [f64]) {
        self.inverse_gradient(theta, w);
        if self.is_euclidean() {
            domain.project(w);
            return;
        }
        match domain {
            Domain::Unbounded | Domain::Group { .. } | Domain::Product { .. } => {}
            Domain::L1 { radius } => self.argmin_l1(*radius, theta, w),
            Domain::Simplex { total } => self.argmin_simplex(*total, theta, w),
            Domain::Box { low, high } => self.argmin_box(low, high, theta, w),
            Domain::Ball { radius } => self.argmin_lp(2.0, *radius, theta, w),
            Domain::Lp { p, radius, .. } => self.argmin_lp(*p, *radius, theta, w),
        }
    }

    /// The l1 ball: `w = ∇Φ*(soft(θ, ν))` with the least `ν ≥ 0` that fits.
    fn argmin_l1(self, radius: f64, theta: &[f64], w: &mut [f64]) {
        if lp_norm(w, 1.0) <= radius {
            return;
        }
        let mut soft = vec![0.0; theta.len()];
        let mut at = |nu: f64, w: &mut [f64]| {
            for (s, t) in soft.iter_mut().zip(theta) {
                *s = (t.abs() - nu).max(0.0).copysign(*t);
            }
            self.inverse_gradient(&soft, w);
        };
        let top = lp_norm(theta, f64::INFINITY);
        let nu = bisect(0.0, top, |nu| {
            at(nu, w);
            lp_norm(w, 1.0) > radius
        });
        at(nu, w);
        scale(w, (radius / lp_norm(w, 1.0)).min(1.0));
    }

    /// The simplex: `w = ∇Φ*((θ − ν)₊)` with the `ν` for which it adds up.
    fn argmin_simplex(self, total: f64, theta: &[f64], w: &mut [f64]) {
        let mut part = vec![0.0; theta.len()];
        let mut at = |nu: f64, w: &mut [f64]| {
            for (s, t) in part.iter_mut().zip(theta) {
                *s = (t - nu).max(0.0);
            }
            self.inverse_gradient(&part, w);
            sum(w)
        };
        let top = theta.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let bottom = theta.iter().copied().fold(f64::INFINITY, f64::min);
        let mut reach = self.kappa * total;
        while at(bottom - reach, w) < total && reach.is_finite() {
            reach *= 2.0;
        }
        let nu = bisect(bottom - reach, top, |nu| at(nu, w) > total);
        let got = at(nu, w);
        scale(w, total / got);
    }

    /// The box: `w_j = clip(sign θ_j (|θ_j|/c)^{r−1})` with `c = κ‖w‖^{2−p̃}`; the right side falls
    /// in `c`.
    fn argmin_box(self, low: &[f64], high: &[f64], theta: &[f64], w: &mut [f64]) {
        if w.iter().zip(low).zip(high).all(|((w, low), high)| low <= w && w <= high) {
            return;
        }
        let at = |log_c: f64, w: &mut [f64]| {
            for (j, (w, t)) in w.iter_mut().zip(theta).enumerate() {
                let size = ((self.r - 1.0) * (t.abs().ln() - log_c)).exp();
                *w = size.copysign(*t).max(low[j]).min(high[j]);
            }
        };
        let log_right =
            |w: &[f64]| self.kappa.ln() + (2.0 - self.p_tilde()) * lp_norm(w, self.p_tilde()).ln();
        at(f64::NEG_INFINITY, w); // as far as the box lets it
        let most = log_right(w);
        if most == f64::NEG_INFINITY {
            w.fill(0.0);
            return;
        }
        let mut step = 1.0;
        let mut less = most - step;
        loop {
            at(less, w);
            if log_right(w) >= less || step > 1e300 {
                break;
            }
            step *= 2.0;
            less = most - step;
        }
        let log_c = bisect(less, most, |log_c| {
            at(log_c, w);
            log_right(w) > log_c
        });
        at(log_c, w);
    }

    /// An l_s ball: radial if `s = p̃`; else `c |w_j|^{p̃−1} + ν |w_j|^{s−1} = |θ_j|` with
    /// `c = κ‖w‖_{p̃}^{2−p̃}` and `‖w‖_s` the radius.
    fn argmin_lp(self, s: f64, radius: f64, theta: &[f64], w: &mut [f64]) {
        let norm = lp_norm(w, s);
        if norm <= radius {
            return;
        }
        let p = self.p_tilde();
        if (s - p).abs() > 1e-12 {
            let largest = lp_norm(theta, f64::INFINITY);
            // The two equations on logarithms of c (inside) and ν (outside), with θ divided by its
            // largest entry.
            let inner = |log_c: f64, log_nu: f64, w: &mut [f64]| {
                for (w, t) in w.iter_mut().zip(theta) {
                    let u = t.abs() / largest;
                    *w = two_powers(u, log_c, p - 1.0, log_nu, s - 1.0).copysign(*t);
                }
            };
            let scale = self.kappa.ln() - largest.ln();
            let solve = |log_nu: f64, w: &mut [f64]| {
                let log_c = bisect(-1400.0, 1400.0, |log_c| {
                    inner(log_c, log_nu, w);
                    scale + (2.0 - p) * lp_norm(w, p).ln() > log_c
                });
                inner(log_c, log_nu, w);
            };
            let log_nu = bisect(-1400.0, 1400.0, |log_nu| {
                solve(log_nu, w);
                lp_norm(w, s) > radius
            });
            solve(log_nu, w);
        }
        let norm = lp_norm(w, s);
        scale(w, (radius / norm).min(1.0));
    }
}

/// Puts a point that a search left a hair off the border onto it, without moving small entries by
/// more than their share.
fn scale(w: &mut [f64], factor: f64) {
    if factor.is_finite() {
        for x in w {
            *x *= factor;
        }
    }
}

fn sum(w: &[f64]) -> f64 {
    let mut sum = Sum::default();
    for x in w {
        sum.add(*x);
    }
    sum.total()
}

/// `into_j = scale · ‖v‖_a^{2−a} |v_j|^{a−1} sign v_j`.
fn scaled_powers(v: &[f64], a: f64, scale: f64, into: &mut [f64]) {
    let parts = scaled_power_sum(v, a);
    if parts.largest == 0.0 || !parts.largest.is_finite() {
        into.fill(0.0);
        return;
    }
    let factor = scale * power(parts.sum, (2.0 - a) / a);
    for (x, v) in into.iter_mut().zip(v) {
        let size = power(v.abs() / parts.largest, a - 1.0);
        // The size first: it is at most one, so nothing overflows that need not.
        *x = (parts.largest * (factor * size)).copysign(*v);
    }
}

/// The root `x ≥ 0` of `c x^a + ν x^b = u`, given logarithms of the factors.
fn two_powers(u: f64, log_c: f64, a: f64, log_nu: f64, b: f64) -> f64 {
    if u == 0.0 {
        return 0.0;
    }
    // On t = ln x the left side's logarithm grows with slope between a and b: Newton from above.
    let target = u.ln();
    let mut t = ((target - log_c) / a).min((target - log_nu) / b);
    for _ in 0..100 {
        let (first, second) = (log_c + a * t, log_nu + b * t);
        let top = first.max(second);
        let (e1, e2) = ((first - top).exp(), (second - top).exp());
        let value = top + (e1 + e2).ln() - target;
        let step = value * (e1 + e2) / (a * e1 + b * e2);
        t -= step;
        if step.abs() <= 1e-15 * t.abs().max(1.0) {
            break;
        }
    }
    t.exp()
}

/// The lower end of the last interval: `above` holds there (as it does at `low`) and not one bit
/// further. The result at that end is a hair too long, never nothing, and is scaled onto the
/// border.
fn bisect(mut low: f64, mut high: f64, mut above: impl FnMut(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if above(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
