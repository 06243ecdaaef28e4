//! The vectorised evaluation of [`crate::normal`], with its error bound.
//!
//! A *group* is 128 words: 64 for the radii, 64 for the angles; it makes 128 numbers, the first
//! members of the 64 pairs and then the second ones. The loops below run over plain arrays in four
//! short stages, so that the compiler turns each into vector code and no stage waits for a long
//! chain of the one before.
//!
//! # Error bound
//!
//! Let `e = 2^-53` and let `Z` be the ideal number of a pair with radius `R`. For radius words `x`
//! with `2^48 <= x <= 2^64 - 2^39`, the value computed for `c·Z` (`c` the scale) errs by at most
//!
//! ```text
//! c·(16e·R + 2^-52)
//! ```
//!
//! whether or not the machine fuses multiplication and addition, and whether it divides and takes
//! roots by instructions or by Newton's iteration (`newton.rs`; in brackets where that errs by
//! more). Step by step (relative errors unless said otherwise, terms in `e²` fit in the slack of
//! the last line):
//!
//! | step | error |
//! | --- | --- |
//! | `f = x` rounded; `r = x - f` | `r` is exact (Dekker: the high half has the larger exponent) |
//! | `m = f/2^k` in `[√½, √2)`, `m - 1` | exact (Sterbenz) |
//! | `z = (m - 1)/(m + 1)` | `2e` (`2.2e`) |
//! | `ln m = 2z + z·q·P(q)`, `q = z² < 0.0295` | `4e`: `2e` (`2.2e`) from `z`, `e` from the sum, `0.3e` from the small second term, and `2^-58.6` from the polynomial |
//! | `t = -2 ln m - 2k·ln 2 - 2r/2^64`, `k = 0` | `6e` |
//! | the same, `k < 0` (then `t >= ln 2`) | `3e·t + 6.2e` absolutely, including `r/f` against `r/2^64` |
//! | `R = √t` | half of that, and `e` (`1.5e`): `4e` (`4.5e`) for `k = 0`, `7e` (`7.5e`) else |
//! | unknown digits of `u` | `1.5e·R` for `x >= 2^48`; `2^-52` absolutely up to `x = 2^64 - 2^39` |
//! | unknown digits of `w` | `3.2e` absolutely: `y` within `2^-52`, slope `π/2` |
//! | sine, cosine on `[-π/4, π/4]` | `2.5e` absolutely, polynomials within `2^-58` |
//! | the products by `c` and `R` | `2e` |
//!
//! Sum: `(7.5 + 1.5 + 3.2 + 2.5 + 2)e·R < 16.8e·R` at most, for radii near 0.83, where the radius
//! errs most; there the absolute term, unused, covers what exceeds `16e·R`. The tests compare the
//! bound with exact digits.

#![allow(
    clippy::inline_always,
    reason = "only inlined code is compiled for the vector unit at hand"
)]

#[cfg(target_arch = "x86_64")]
mod newton;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::normal::{ANGLE, SIGN, SWAP};

/// Pairs in a group.
pub(super) const PAIRS: usize = 64;
/// Words in a group, and numbers made from it.
pub(super) const GROUP: usize = 2 * PAIRS;

/// Radius words outside this range are left to exact evaluation.
pub(super) const LEAST: u64 = 1 << 48;
/// See [`LEAST`].
pub(super) const LARGEST: u64 = u64::MAX - (1 << 39);

/// The bound's part that grows with the radius: `16·2^-53`.
pub(super) const ERROR_PER_RADIUS: f64 = 1.0 / (1_u64 << 49) as f64;
/// The bound's fixed part, for a scale of 1.
pub(super) const ERROR_FIXED: f64 = 1.0 / (1_u64 << 52) as f64;

/// `sin(πy/2)/y` in powers of `y²`, for `|y| <= 1/2`, minimax to a relative `2^-58.0`.
const SIN: [f64; 7] = [
    core::f64::consts::FRAC_PI_2,
    -0.6459640975062443,
    0.07969262624603957,
    -0.004681754132282412,
    0.00016044115029161283,
    -3.5986417543252964e-06,
    5.633720997352178e-08,
];
/// `(cos(πy/2) - 1)/y²` in powers of `y²`, for `|y| <= 1/2`, minimax to `2^-63.8` of the cosine.
const COS: [f64; 7] = [
    -1.2337005501361697,
    0.25366950790104714,
    -0.020863480763318173,
    0.0009192602742369084,
    -2.5202036961891888e-05,
    4.7106122918853047e-07,
    -6.321259572232734e-09,
];
/// `(2·atanh(z) - 2z)/z³` in powers of `z²`, for `|z| <= 0.1716`, minimax to `2^-58.6` of the
/// logarithm.
const LN: [f64; 7] = [
    0.666666666666671,
    0.3999999999952012,
    0.28571428729203313,
    0.22222199100474474,
    0.18183570993400294,
    0.15313179407279603,
    0.14810361337345776,
];

const TWO52: f64 = (1_u64 << 52) as f64;
const TWO84: f64 = (1_u128 << 84) as f64;
const UNIT64: f64 = 1.0 / (1_u128 << 64) as f64;
/// Adding and subtracting it rounds a number below `2^51` to the nearest whole one.
pub(super) const ROUND: f64 = 1.5 * TWO52;

/// `a·b + c`, fused where the machine has an instruction for it.
#[inline(always)]
fn mul_add<A: Arithmetic>(a: f64, b: f64, c: f64) -> f64 {
    if A::FUSED { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn horner<A: Arithmetic>(coefficients: &[f64; 7], x: f64) -> f64 {
    let mut sum = coefficients[6];
    let mut i = 6;
    while i > 0 {
        i -= 1;
        sum = mul_add::<A>(sum, x, coefficients[i]);
    }
    sum
}

/// How a machine divides and takes roots.
pub(super) trait Arithmetic: Copy {
    /// Whether it fuses multiplication and addition.
    const FUSED: bool;
    /// From radius words: `z = (m - 1)/(m + 1)`, and what `t` holds besides the logarithm of `m`.
    fn reduce(self, words: &[u64; PAIRS], z: &mut [f64; PAIRS], rest: &mut [f64; PAIRS]);
    /// The radii, from what [`Arithmetic::reduce`] gives.
    fn radii(self, z: &[f64; PAIRS], rest: &[f64; PAIRS], radii: &mut [f64; PAIRS]);
}

/// By the instructions for it.
#[derive(Clone, Copy)]
pub(super) struct Plain<const FUSED: bool>;

impl<const FUSED: bool> Arithmetic for Plain<FUSED> {
    const FUSED: bool = FUSED;

    #[inline(always)]
    fn reduce(self, words: &[u64; PAIRS], z: &mut [f64; PAIRS], rest: &mut [f64; PAIRS]) {
        for i in 0..PAIRS {
            (z[i], rest[i]) = reduce::<Self>(words[i]);
        }
    }

    #[inline(always)]
    fn radii(self, z: &[f64; PAIRS], rest: &[f64; PAIRS], radii: &mut [f64; PAIRS]) {
        for i in 0..PAIRS {
            radii[i] = square::<Self>(z[i], rest[i]).sqrt();
        }
    }
}

/// [`Arithmetic::reduce`] for one word.
#[inline(always)]
fn reduce<A: Arithmetic>(x: u64) -> (f64, f64) {
    let high = f64::from_bits((x >> 32) | TWO84.to_bits()) - TWO84;
    let low = f64::from_bits((x & 0xffff_ffff) | TWO52.to_bits()) - TWO52;
    let f = high + low;
    let r = low - (f - high);
    // Exponent and mantissa around √½: subtracting its bits carries exactly when m < √½.
    let bits = f.to_bits();
    let offset = bits.wrapping_sub(core::f64::consts::FRAC_1_SQRT_2.to_bits());
    let k = f64::from_bits((offset >> 52) | TWO52.to_bits()) - (TWO52 + 64.0);
    let m = f64::from_bits(bits.wrapping_sub(offset & (0xfff << 52)));
    let rest = mul_add::<A>(-2.0 * core::f64::consts::LN_2, k, (-2.0 * UNIT64) * r);
    ((m - 1.0) / (m + 1.0), rest)
}

/// The square of the radius, from what [`reduce`] gives.
#[inline(always)]
fn square<A: Arithmetic>(z: f64, rest: f64) -> f64 {
    let q = z * z;
    let ln = mul_add::<A>(z, horner::<A>(&LN, q) * q, z + z);
    mul_add::<A>(-2.0, ln, rest)
}

/// Sine and cosine, from an angle word.
#[inline(always)]
fn sine_cosine<A: Arithmetic>(w: u64) -> (f64, f64) {
    let y = f64::from_bits((w & ANGLE) | 1_f64.to_bits()) - 1.5;
    let q = y * y;
    (horner::<A>(&SIN, q) * y, mul_add::<A>(horner::<A>(&COS, q), q, 1.0))
}

/// The words of a group, from the beginning of a line of the cache on.
#[derive(Zeroize, ZeroizeOnDrop)]
#[repr(align(64))]
pub(super) struct Group(pub(super) [u64; GROUP]);

/// The buffers that the stages hand to each other. Kept by the caller, so that it is not cleared
/// for every group.
#[derive(Zeroize, ZeroizeOnDrop)]
#[repr(align(64))]
pub(super) struct Between {
    z: [f64; PAIRS],
    rest: [f64; PAIRS],
    sin: [f64; PAIRS],
    cos: [f64; PAIRS],
    radius: [f64; PAIRS],
}

impl Between {
    pub(super) const fn new() -> Self {
        let zero = [0.0; PAIRS];
        Self { z: zero, rest: zero, sin: zero, cos: zero, radius: zero }
    }
}

/// Fill `out` with the 128 numbers `scale·Z` of a group, rounded to multiples of `step` (a power of
/// two), and tell whether every rounding is beyond doubt. (Without `ROUNDED`, the numbers before
/// rounding, for tests of the bound.)
///
/// `scale/step` must be below `2^40`.
#[inline(always)]
pub(super) fn group<A: Arithmetic, const ROUNDED: bool>(
    arithmetic: A,
    words: &[u64; GROUP],
    scale: f64,
    step: f64,
    between: &mut Between,
    out: &mut [f64; GROUP],
) -> bool {
    let [radius_words, angle_words] = words.as_chunks::<PAIRS>().0 else { return false };
    let Between { z, rest, sin, cos, radius: radii } = between;
    arithmetic.reduce(radius_words, z, rest);
    for i in 0..PAIRS {
        (sin[i], cos[i]) = sine_cosine::<A>(angle_words[i]);
    }
    arithmetic.radii(z, rest, radii);

    let (first, second) = out.split_at_mut(PAIRS);
    let (limit, round) = (0.5 * step - ERROR_FIXED * scale, ROUND * step);
    let mut doubt = 0_u64;
    for i in 0..PAIRS {
        let w = angle_words[i];
        let c = f64::from_bits(cos[i].to_bits() ^ (w & SIGN));
        let (a, b) = if w & SWAP == 0 { (c, sin[i]) } else { (sin[i], c) };
        let radius = radii[i] * scale;
        let (a, b) = (a * radius, b * radius);
        let (near_a, near_b) =
            if ROUNDED { ((a + round) - round, (b + round) - round) } else { (a, b) };
        let (off_a, off_b) = ((a - near_a).abs(), (b - near_b).abs());
        let off = if off_a > off_b { off_a } else { off_b };
        // A number whose distance to its multiple, plus the error bound, stays below half a step
        // cannot round elsewhere.
        let spare = mul_add::<A>(radius, -ERROR_PER_RADIUS, limit - off);
        doubt |= spare.to_bits(); // the sign
        doubt |= u64::from(radius_words[i].wrapping_sub(LEAST) > LARGEST - LEAST) << 63;
        first[i] = near_a;
        second[i] = near_b;
    }
    doubt >> 63 == 0
}
