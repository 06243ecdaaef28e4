//! Sines and cosines of many angles.
//!
//! # Numerics
//!
//! An angle is reduced to `[−π/4, π/4]` by a multiple of `π/2` held in three parts (the first two have 33 bits, so their products with the
//! multiple are exact), and the Taylor polynomials of degree 15 and 16 finish. For `|angle| ≤ 2^19` the error is below
//! `4·10⁻¹⁶`; larger angles are first reduced by the nearest double to `2π`, which errs by at most `10⁻¹⁶·|angle|`, as much as
//! the rounding of the angle itself. An angle that is not finite counts as zero. Whatever the angle, `sin² + cos²` is
//! one up to `2·10⁻¹⁵`: the norm of a row of features never depends on it.

use std::f64::consts::{FRAC_2_PI, TAU};

/// Angles taken together.
pub(super) const LANES: usize = 8;

/// `π/2` in parts of 33, 33 and 53 bits.
const PARTS: [f64; 3] =
    [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_6e-21];

/// Beyond, an angle is reduced one by one.
const LARGE: f64 = 524_288.0;

/// The sines and cosines of `angles`.
#[inline(always)]
pub(super) fn sin_cos(angles: [f64; LANES]) -> ([f64; LANES], [f64; LANES]) {
    let mut a = angles;
    let mut large = false;
    for x in a {
        large |= x.abs().partial_cmp(&LARGE) != Some(std::cmp::Ordering::Less);
    }
    if large {
        for x in &mut a {
            *x = if x.is_finite() { *x % TAU } else { 0.0 };
        }
    }
    let (mut sines, mut cosines) = ([0.0; LANES], [0.0; LANES]);
    for i in 0..LANES {
        let k = (a[i] * FRAC_2_PI).round_ties_even();
        let r = k.mul_add(-PARTS[0], a[i]);
        let r = k.mul_add(-PARTS[1], r);
        let r = k.mul_add(-PARTS[2], r);
        let quarter = k - 4.0 * (0.25 * k).floor();
        let (s, c) = (sine(r), cosine(r));
        let odd = quarter == 1.0 || quarter == 3.0;
        let (first, second) = if odd { (c, s) } else { (s, c) };
        sines[i] = if quarter >= 2.0 { -first } else { first };
        cosines[i] = if quarter == 1.0 || quarter == 2.0 { -second } else { second };
    }
    (sines, cosines)
}

/// `Σ (−1)^k r^{2k+1}/(2k+1)!` up to degree 15.
#[inline(always)]
fn sine(r: f64) -> f64 {
    const C: [f64; 7] = [
        -1.0 / 1_307_674_368_000.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 39_916_800.0,
        1.0 / 362_880.0,
        -1.0 / 5_040.0,
        1.0 / 120.0,
        -1.0 / 6.0,
    ];
    let z = r * r;
    let mut p = C[0];
    for c in &C[1..] {
        p = p.mul_add(z, *c);
    }
    (p * z).mul_add(r, r)
}

/// `Σ (−1)^k r^{2k}/(2k)!` up to degree 16.
#[inline(always)]
fn cosine(r: f64) -> f64 {
    const C: [f64; 8] = [
        1.0 / 20_922_789_888_000.0,
        -1.0 / 87_178_291_200.0,
        1.0 / 479_001_600.0,
        -1.0 / 3_628_800.0,
        1.0 / 40_320.0,
        -1.0 / 720.0,
        1.0 / 24.0,
        -0.5,
    ];
    let z = r * r;
    let mut p = C[0];
    for c in &C[1..] {
        p = p.mul_add(z, *c);
    }
    p.mul_add(z, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_stated() {
        let mut worst = 0.0_f64;
        for i in 0..200_000_u32 {
            let x = (f64::from(i) - 100_000.0) * 5.242_1;
            let (s, c) = sin_cos([x; LANES]);
            worst = worst.max((s[3] - libm::sin(x)).abs()).max((c[3] - libm::cos(x)).abs());
        }
        assert!(worst < 4e-16, "{worst:e}");
    }

    #[test]
    fn every_angle_gives_a_point_of_the_circle() {
        let wild = [0.0, -0.0, 1e6, -1e12, 1e300, f64::NAN, f64::INFINITY, 5e-324];
        let (s, c) = sin_cos(wild);
        for i in 0..LANES {
            assert!((s[i].hypot(c[i]) - 1.0).abs() < 2e-15, "{} {}", s[i], c[i]);
        }
        assert_eq!((s[5], c[5]), (0.0, 1.0));
        assert!((s[2] - libm::sin(1e6)).abs() < 2e-10 && (c[2] - libm::cos(1e6)).abs() < 2e-10);
    }
}
