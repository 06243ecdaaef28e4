//! The l_p ball for `1 < p < ∞`.
//!
//! The nearest point of `‖x‖_p ≤ R` to `v` outside has the signs of `v`, and for some `m > 0` each
//! `|x_j|` is the root in `[0, |v_j|]` of `x + m x^{p−1} = |v_j|`. The norm falls as `m` grows; `m`
//! is found by Newton's method on logarithms, kept inside a bracket.
//!
//! # Numerics
//!
//! `v` is divided by its largest entry. A last scaling puts the point inside the ball. `m` is
//! determined to about `d` roundings, and so is the point: `Σ x^p ≤ ‖x‖₂ ‖x^{p−1}‖₂`, so what
//! rounding leaves open in `m` moves the point by at most that many roundings of its own length.

use super::norm::{Sum, lp_norm, power};

/// Moves `w` to the nearest point with `‖w‖_p ≤ radius`, `1 < p < ∞`.
pub fn project_onto_lp_ball(w: &mut [f64], p: f64, radius: f64) {
    let norm = lp_norm(w, p);
    if norm <= radius {
        return;
    }
    let largest = lp_norm(w, f64::INFINITY);
    if !largest.is_finite() {
        w.fill(0.0);
        return;
    }
    let mut sizes: Vec<f64> = w.iter().map(|x| x.abs() / largest).collect();
    let target = radius / largest;
    let multiplier = multiplier(&sizes, p, target);
    for x in &mut sizes {
        *x = shrunk(*x, p, multiplier);
    }
    let norm = lp_norm(&sizes, p);
    let scale = if norm > 0.0 { radius / norm } else { 0.0 };
    for (x, size) in w.iter_mut().zip(&sizes) {
        *x = (size * scale).copysign(*x);
    }
}

/// `R ‖v‖_q` with the dual exponent.
pub(super) fn support(v: &[f64], p: f64, radius: f64) -> f64 {
    radius * lp_norm(v, p / (p - 1.0))
}

/// The root in `[0, u]` of `x + m x^{p−1} = u`.
///
/// With the larger power as the unknown's exponent the function is convex and grows, and Newton's
/// method descends to the root from the starting point, where each term alone is at most `u`.
pub(crate) fn shrunk(u: f64, p: f64, m: f64) -> f64 {
    if u == 0.0 || m == 0.0 {
        return u;
    }
    if p == 2.0 {
        return u / (1.0 + m);
    }
    // The unknown is y; x = y^e and x^{p−1} = y^f, one of e and f being one and the other at least
    // one.
    let (e, f) = if p < 2.0 { (1.0 / (p - 1.0), 1.0) } else { (1.0, p - 1.0) };
    let mut y = power(u, 1.0 / e).min(power(u / m, 1.0 / f));
    for _ in 0..100 {
        let (a, b) = (power(y, e), m * power(y, f));
        let value = a + b - u;
        let slope = (e * a + f * b) / y;
        let next = y - value / slope;
        if value <= 0.0 || next <= 0.0 || next >= y || !next.is_finite() {
            break;
        }
        let done = y - next <= 1e-16 * y;
        y = next;
        if done {
            break;
        }
    }
    power(y, e).min(u)
}

/// The `m` for which the shrunk vector has norm `target`.
fn multiplier(sizes: &[f64], p: f64, target: f64) -> f64 {
    // (ln of the norm over the target, and its slope in ln m)
    let at = |m: f64| {
        let x: Vec<f64> = sizes.iter().map(|&u| shrunk(u, p, m)).collect();
        let top = lp_norm(&x, f64::INFINITY);
        if top == 0.0 {
            return (f64::NEG_INFINITY, 0.0);
        }
        let (mut sum, mut slope) = (Sum::default(), Sum::default());
        for &x in x.iter().filter(|x| **x > 0.0) {
            let share = power(x / top, p);
            let b = m * power(x, p - 2.0); // m x^{p−1} over x
            sum.add(share);
            slope.add(
                share * if b.is_finite() { b / (1.0 + (p - 1.0) * b) } else { 1.0 / (p - 1.0) },
            );
        }
        let value = top.ln() + sum.total().ln() / p - target.ln();
        (value, -slope.total() / sum.total())
    };
    // Large multipliers leave x ≈ (u/m)^{1/(p−1)}: that is where to start.
    let dual = lp_norm(sizes, p / (p - 1.0));
    let mut log_m = (dual.ln() - (p - 1.0) * target.ln()).clamp(-600.0, 600.0);
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    for _ in 0..200 {
        let (value, slope) = at(log_m.exp());
        if value > 0.0 {
            low = log_m;
        } else {
            high = log_m;
        }
        let newton = log_m - value / slope;
        let small = |step: f64| step.abs() <= 4.0 * f64::EPSILON * log_m.abs().max(1.0);
        if small(newton - log_m) || small(high - low) {
            break;
        }
        let inside = newton.is_finite() && newton > low && newton < high && newton.abs() < 700.0;
        log_m = if inside {
            newton
        } else if low.is_finite() && high.is_finite() {
            0.5 * (low + high)
        } else if value > 0.0 {
            (log_m + 4.0).min(700.0)
        } else {
            (log_m - 4.0).max(-700.0)
        };
    }
    log_m.exp()
}
