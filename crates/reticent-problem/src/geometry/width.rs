//! Gaussian widths `E max_{w ∈ C} ⟨g, w⟩`, `g ~ N(0, I)`: how much room a set gives to noise.
//!
//! A width sets parameters and shows up in risk bounds; it never enters a privacy statement and
//! depends on no data. Where there is no closed form it is the integral of a tail, by composite
//! Gauss–Legendre quadrature, right to about ten digits; for extreme exponents of the l_p ball it
//! is an upper bound.

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

use reticent_math::quadrature::integral;
use reticent_math::{erfc, gamma_p, gamma_q, ln_gamma};

/// `E|g|` of a standard normal number.
fn mean_size() -> f64 {
    (2.0 / PI).sqrt()
}

/// The Euclidean ball: `R E‖g‖₂ = R √2 Γ((d+1)/2)/Γ(d/2)`.
pub fn width_of_ball(dimension: usize, radius: f64) -> f64 {
    let d = dimension as f64;
    if dimension > 1000 {
        // The quotient of gamma functions, in powers of 1/d; the next term is below 1e-14.
        let i = 1.0 / d;
        return radius * d.sqrt() * (1.0 + i * (-0.25 + i * (1.0 / 32.0 + i * 5.0 / 128.0)));
    }
    radius * SQRT_2 * (ln_gamma(0.5 * (d + 1.0)) - ln_gamma(0.5 * d)).exp()
}

/// The l1 ball: `R E max|g_j|`.
pub fn width_of_l1_ball(dimension: usize, radius: f64) -> f64 {
    let d = dimension as f64;
    radius * integral(0.0, 40.0, 80, |t| -(d * (-erfc(t * FRAC_1_SQRT_2)).ln_1p()).exp_m1())
}

/// The simplex: `s E max g_j`.
pub fn width_of_simplex(dimension: usize, total: f64) -> f64 {
    let d = dimension as f64;
    let tail = |t: f64| 0.5 * erfc(t * FRAC_1_SQRT_2);
    let integrand = |t: f64| -(d * (-tail(t)).ln_1p()).exp_m1() - (d * tail(t).ln()).exp();
    total * integral(0.0, 40.0, 80, integrand).max(0.0)
}

/// The box: `Σ (high − low)/2 · E|g|`.
pub fn width_of_box(low: &[f64], high: &[f64]) -> f64 {
    mean_size() * low.iter().zip(high).map(|(low, high)| 0.5 * (high - low)).sum::<f64>()
}

/// The group ball: `R E max_g ‖g_g‖₂/ω_g`.
pub fn width_of_group_ball(radius: f64, sizes: &[usize], weights: Option<&[f64]>) -> f64 {
    // Equal groups are evaluated once.
    let mut kinds: Vec<(f64, f64, f64)> = Vec::new();
    for (g, &size) in sizes.iter().enumerate() {
        let (size, weight) = (size as f64, weights.map_or(1.0, |w| w[g]));
        match kinds.iter_mut().find(|kind| kind.0 == size && kind.1 == weight) {
            Some(kind) => kind.2 += 1.0,
            None => kinds.push((size, weight, 1.0)),
        }
    }
    let least = kinds.iter().fold(f64::INFINITY, |m, kind| m.min(kind.1));
    let most = kinds.iter().fold(0.0_f64, |m, kind| m.max(kind.1));
    let longest = kinds.iter().fold(0.0_f64, |m, kind| m.max(kind.0)).sqrt();
    let end = (longest + 12.0) / least;
    let panels = (2.0 * end * most).clamp(64.0, 4000.0) as usize;
    let log_below = |t: f64| {
        kinds.iter().fold(0.0, |sum, &(size, weight, count)| {
            let (a, x) = (0.5 * size, 0.5 * (weight * t).powi(2));
            let p = gamma_p(a, x);
            sum + count * if p > 0.5 { (-gamma_q(a, x)).ln_1p() } else { p.ln() }
        })
    };
    radius * integral(0.0, end, panels, |t| -log_below(t).exp_m1())
}

/// The product of balls: the sum of their widths.
pub fn width_of_product(radius: f64, sizes: &[usize]) -> f64 {
    sizes.iter().map(|&size| width_of_ball(size, radius)).sum()
}

/// The l_p ball, `1 < p < ∞`: `R E‖g‖_q` with `1/p + 1/q = 1`.
///
/// With `s = 1/q` and `f(u) = E e^{−u|g|^q}`, `E‖g‖_q = (s/Γ(1−s)) ∫ (1 − f(u)^d) u^{−s−1} du`. For
/// `q` below 1.02 or above 40 an upper bound: the width for the neighbouring limit, `E‖g‖₁` or
/// `d^{1/q} E‖g‖_∞`.
pub fn width_of_lp_ball(dimension: usize, p: f64, radius: f64) -> f64 {
    let (d, q) = (dimension as f64, p / (p - 1.0));
    let s = 1.0 / q;
    if q < 1.02 {
        return radius * d * mean_size();
    }
    if q > 40.0 {
        return radius * d.powf(s) * width_of_l1_ball(dimension, 1.0);
    }
    let moment = SQRT_2.powf(q) * (ln_gamma(0.5 * (q + 1.0)) - 0.5 * PI.ln()).exp(); // E|g|^q
    let (from, to) = (-160.0, 200.0);
    let middle = integral(from, to, 90, |v| {
        let log_f = log_laplace(v, q);
        -(d * log_f).exp_m1() * (-s * v).exp()
    });
    let start = d * moment * ((1.0 - s) * from).exp() / (1.0 - s);
    let rest = (-s * to).exp() / s;
    radius * s * (-ln_gamma(1.0 - s)).exp() * (start + middle + rest)
}

/// `ln E exp(−u|g|^q)` with `u = e^v`; from the side on which no digits cancel.
fn log_laplace(v: f64, q: f64) -> f64 {
    let density = |s: f64| 2.0 * (s - 0.5 * (2.0 * s).exp()).exp() / (2.0 * PI).sqrt();
    let far = 40.0_f64.ln();
    if v < 0.0 {
        let missing =
            integral(far - 45.0, far, 45, |s| density(s) * -(-(v + q * s).exp()).exp_m1());
        (-missing).ln_1p()
    } else {
        let to = far.min((750.0_f64.ln() - v) / q);
        integral(to - 42.0, to, 42, |s| density(s) * (-(v + q * s).exp()).exp()).ln()
    }
}
