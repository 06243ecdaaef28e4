//! The normal law: density, distribution function, its logarithm, its inverse.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI};

use crate::erfcx::{erfcx, exp_minus_half_square};

/// The standard normal density `φ(x)`.
pub fn normal_pdf(x: f64) -> f64 {
    exp_minus_half_square(x) / (2.0 * PI).sqrt()
}

/// The standard normal distribution function `Φ(x)`, relatively accurate in the left tail.
pub fn ndtr(x: f64) -> f64 {
    if x < -1.0 {
        0.5 * exp_minus_half_square(x) * erfcx(-x * FRAC_1_SQRT_2)
    } else {
        0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
    }
}

/// `ln Φ(x)`, accurate for every `x` (about −5e199 at −1e100).
pub fn log_ndtr(x: f64) -> f64 {
    if x < -1.0 {
        -0.5 * x * x - LN_2 + erfcx(-x * FRAC_1_SQRT_2).ln()
    } else if x < 5.0 {
        (0.5 * libm::erfc(-x * FRAC_1_SQRT_2)).ln()
    } else {
        (-ndtr(-x)).ln_1p()
    }
}

/// The `x` with `Φ(x) = p`; `±∞` at the ends, NaN outside `[0, 1]`.
///
/// # Numerics
///
/// Newton's method on `ln Φ`, which is concave, so that it converges from any start in either tail
/// and keeps relative accuracy down to `p = 1e-300`. Take `-normal_quantile(q)` for an upper tail
/// `q`.
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    if p == 0.5 {
        return 0.0;
    }
    let target = p.ln();
    let mut x = -(-2.0 * target - (-2.0 * target).max(1.0).ln() * 0.5).max(0.0).sqrt();
    for _ in 0..60 {
        // d ln Φ/dx = φ/Φ = √(2/π)/erfcx(−x/√2)
        let slope = (2.0 / PI).sqrt() / erfcx(-x * FRAC_1_SQRT_2);
        let step = (log_ndtr(x) - target) / slope;
        x -= step;
        if step.abs() <= 1e-15 * x.abs().max(1e-3) {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_inverts_the_distribution() {
        for exponent in 1..300 {
            let p = 10f64.powi(-exponent);
            let x = normal_quantile(p);
            assert!((log_ndtr(x) - p.ln()).abs() < 1e-13 * p.ln().abs(), "{p:e}");
        }
        for i in 1..200 {
            let p = f64::from(i) / 200.0;
            assert!((ndtr(normal_quantile(p)) - p).abs() < 1e-15, "{p}");
        }
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
        assert!(normal_quantile(1.5).is_nan());
    }

    #[test]
    fn known_values() {
        let cases = [
            (normal_quantile(0.975), 1.959_963_984_540_054),
            (normal_quantile(1e-10), -6.361_340_902_404_056),
            (log_ndtr(-40.0), -804.608_442_013_753_8),
            (log_ndtr(10.0), -7.619_853_024_160_526e-24),
            (ndtr(-10.0), 7.619_853_024_160_527e-24),
        ];
        for (got, want) in cases {
            assert!((got / want - 1.0).abs() < 3e-15, "{got} {want}");
        }
    }
}
