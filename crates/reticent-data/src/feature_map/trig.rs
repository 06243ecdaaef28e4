//! Sines and cosines of many angles, in single precision.
//!
//! # Numerics
//!
//! An angle is reduced to about `[−π/4, π/4]` by a multiple of `π/2` held in three parts, each
//! subtracted with one rounding, and the Taylor polynomials of degree 9 and 8 finish. For
//! `|angle| < 2^15` the error is below `2·10⁻⁷`; larger angles are first reduced by `2π` in double
//! precision, which errs by less than the rounding of the angle itself. An angle that is not finite
//! counts as zero. Sine and cosine are those of one reduced angle: whatever it is, `√(sin² + cos²)`
//! is one up to `3·10⁻⁷`, so the norm of a row of features does not depend on how well its angles
//! are known.

use std::f32::consts::FRAC_2_PI;
use std::f64::consts::TAU;

/// `π/2` in parts of 24 bits each.
const PARTS: [f32; 3] = [1.570_796_4, -4.371_139e-8, -1.715_124_5e-15];

/// Beyond, angles are reduced one by one.
const LARGE: f32 = 32_768.0;

/// Added to a number below `2^22` in size it leaves the nearest whole number in the last bits.
const TO_WHOLE: f32 = 12_582_912.0;

/// Makes angles such as [`sin_cos`] takes: small enough, and finite.
#[inline(always)]
pub(super) fn reduce(angles: &mut [f32]) {
    let mut ordinary = true;
    for x in &*angles {
        ordinary &= x.abs() < LARGE;
    }
    if !ordinary {
        for x in angles {
            *x = if x.is_finite() { (f64::from(*x) % TAU) as f32 } else { 0.0 };
        }
    }
}

/// The sine and cosine of a reduced angle. No branches: a loop over this becomes a loop over
/// vectors.
#[inline(always)]
pub(super) fn sin_cos(angle: f32) -> (f32, f32) {
    let shifted = angle.mul_add(FRAC_2_PI, TO_WHOLE);
    let quarter = shifted.to_bits();
    let k = shifted - TO_WHOLE;
    let r = k.mul_add(-PARTS[0], angle);
    let r = k.mul_add(-PARTS[1], r);
    let r = k.mul_add(-PARTS[2], r);
    let z = r * r;
    let (s, c) = (sine(r, z), cosine(z));
    let (first, second) = if quarter & 1 == 0 { (s, c) } else { (c, s) };
    let signs = [(quarter & 2) << 30, (quarter.wrapping_add(1) & 2) << 30];
    (f32::from_bits(first.to_bits() ^ signs[0]), f32::from_bits(second.to_bits() ^ signs[1]))
}

/// `Σ (−1)^k r^{2k+1}/(2k+1)!` up to degree 9; `z = r²`.
#[inline(always)]
fn sine(r: f32, z: f32) -> f32 {
    const C: [f32; 4] = [1.0 / 362_880.0, -1.0 / 5_040.0, 1.0 / 120.0, -1.0 / 6.0];
    let p = C[0].mul_add(z, C[1]).mul_add(z, C[2]).mul_add(z, C[3]);
    (p * z).mul_add(r, r)
}

/// `Σ (−1)^k r^{2k}/(2k)!` up to degree 8; `z = r²`.
#[inline(always)]
fn cosine(z: f32) -> f32 {
    const C: [f32; 4] = [1.0 / 40_320.0, -1.0 / 720.0, 1.0 / 24.0, -0.5];
    let p = C[0].mul_add(z, C[1]).mul_add(z, C[2]).mul_add(z, C[3]);
    p.mul_add(z, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(x: f32, worst: &mut [f64; 2]) {
        let (s, c) = sin_cos(x);
        let (s, c, x) = (f64::from(s), f64::from(c), f64::from(x));
        worst[0] = worst[0].max((s - libm::sin(x)).abs()).max((c - libm::cos(x)).abs());
        worst[1] = worst[1].max((s.hypot(c) - 1.0).abs());
    }

    #[test]
    fn errors_are_those_stated() {
        let mut worst = [0.0; 2];
        for i in 0..2_000_000_u32 {
            let spread = i as f32 - 1_000_000.0;
            check(spread * 0.032_767, &mut worst);
            check(spread * 1e-5, &mut worst);
        }
        assert!(worst[0] < 2e-7 && worst[1] < 3e-7, "{worst:?}");
        // Every multiple of a quarter turn, where signs and swaps change.
        for i in -20_000..20_000 {
            let x = (f64::from(i) * TAU / 8.0) as f32;
            for x in [x.next_down(), x, x.next_up()] {
                check(x, &mut worst);
            }
        }
        assert!(worst[0] < 2e-7 && worst[1] < 3e-7, "{worst:?}");
    }

    #[test]
    fn every_angle_gives_a_point_of_the_circle() {
        let mut wild = [0.0, -0.0, 1e6, -1e12, 3e38, f32::NAN, f32::NEG_INFINITY, 1e-45];
        reduce(&mut wild);
        let points = wild.map(sin_cos);
        for (s, c) in points {
            assert!((f64::from(s).hypot(f64::from(c)) - 1.0).abs() < 3e-7, "{s} {c}");
        }
        assert_eq!(points[5], (0.0, 1.0));
        let (want, got) = (libm::sincos(1e6), points[2]);
        assert!((f64::from(got.0) - want.0).abs() < 3e-7);
        assert!((f64::from(got.1) - want.1).abs() < 3e-7);
    }
}
