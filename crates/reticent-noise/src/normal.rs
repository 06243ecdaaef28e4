//! The standard normal number that two uniform numbers stand for, and its digits.
//!
//! Two uniform numbers `u` (64 digits known, more on request) and `w` make a pair of independent
//! standard normal numbers by the polar transformation of Box and Muller (1958):
//!
//! ```text
//! R = √(-2 ln u),   θ = (π/2)·y,   (±R·cos θ, R·sin θ), or these two swapped
//! ```
//!
//! Bit 63 of `w` is the sign, bit 62 the swap, and `y + 1/2` has the binary digits 51, 50, …, 0 of
//! the first word, then 61 to 52, then the further words. `θ` covers the quarter of the circle
//! around the first axis; sign and swap carry it to the other three with equal odds, so the pair is
//! exactly normal and independent. This map is the *definition*: [`crate::fast`] and the lattice
//! samplers evaluate it in `f64` with an error bound, and [`exact`] gives as many digits as a
//! decision needs.

use dashu_int::UBig;

use crate::Stream;
use crate::ball::Ball;
use crate::source::{Uniform, digits};
use crate::uniform::{GUARD, minus_log, minus_log_exact, uniform_ball, working_digits};

/// The bit of an angle word that negates the cosine.
pub(crate) const SIGN: u64 = 1 << 63;
/// The bit of an angle word that swaps the pair.
pub(crate) const SWAP: u64 = 1 << 62;
/// The bits of an angle word that are the first digits of the angle.
pub(crate) const ANGLE: u64 = (1 << 52) - 1;

/// The pair of normal numbers, from `further` words beyond the first of each uniform number.
pub(crate) fn exact(
    key: &[u8; 32],
    u: &Uniform,
    w: &Uniform,
    further: usize,
) -> Option<(Ball, Ball)> {
    let radius = minus_log_exact(key, u, further)?.shift(1).sqrt()?;
    let bits = 64 * (further + 1);
    let (cos, sin) = {
        let all = digits(key, w, further);
        let low = 64 * further;
        let rest = &all & ((UBig::ONE << low) - UBig::ONE);
        let angle = UBig::from((w.first & ANGLE) << 10 | (w.first >> 52 & 0x3ff));
        let y = Ball::interval((angle << low) | rest, bits - 2, bits + GUARD)
            .sub(&Ball::float(0.5, bits + GUARD));
        y.mul(&Ball::pi(bits + GUARD)).shift(-1).cos_sin()
    };
    let cos = if w.first & SIGN == 0 { cos } else { cos.neg() };
    let (first, second) = if w.first & SWAP == 0 { (cos, sin) } else { (sin, cos) };
    Some((radius.mul(&first), radius.mul(&second)))
}

/// The pair in `f64`, and a bound on the error of each.
///
/// # Numerics
///
/// `e = 2^-53`. The square radius has the relative error `ρ` that [`minus_log`] states, the radius
/// half of it. The angle errs by `(π/2)·2^-52 = 3.2e` absolutely for its unknown digits, and by
/// `2e` with its sine and cosine; three more roundings follow. Altogether below `R·(ρ + 16e)`.
pub(crate) fn approximate(u: &Uniform, w: &Uniform) -> ((f64, f64), f64) {
    let (half_square, relative) = minus_log(u);
    let radius = (2.0 * half_square).sqrt();
    let w = w.first;
    let y = (w & ANGLE) as f64 * (1.0 / (1_u64 << 52) as f64) - 0.5;
    let (sin, cos) = libm::sincos(core::f64::consts::FRAC_PI_2 * y);
    let cos = if w & SIGN == 0 { cos } else { -cos };
    let (first, second) = if w & SWAP == 0 { (cos, sin) } else { (sin, cos) };
    let error = radius * (relative + 1.0 / (1_u64 << 49) as f64);
    ((radius * first, radius * second), error)
}

/// `‖M‖₂` for a standard normal vector `M`: the square root of a chi-square number.
///
/// Two coordinates of `M` have the square length `-2 ln u`, so a vector of even dimension needs
/// only the product of its radius numbers; an odd one adds the first number of one more pair.
pub(crate) struct Norm {
    /// One radius number for every two coordinates.
    pub(crate) radii: Vec<Uniform>,
    /// The pair of the last coordinate, if the dimension is odd.
    pub(crate) last: Option<(Uniform, Uniform)>,
}

impl Norm {
    /// The norm of a fresh vector of `dimension` coordinates.
    pub(crate) fn draw(dimension: usize, stream: &mut Stream) -> Self {
        Self {
            radii: stream.uniforms(dimension / 2),
            last: (dimension % 2 == 1).then(|| (stream.uniform(), stream.uniform())),
        }
    }

    /// The norm in `f64` and a bound on its error.
    ///
    /// # Numerics
    ///
    /// A product needs one multiplication per number and one logarithm in all. Each factor errs by
    /// `e + 1/(2·first)` relatively (`e = 2^-53`; rounding, unknown digits) and its product by `e`.
    /// The sum of the bounds, and some `e` of the result for the last steps, is returned with a
    /// factor 2 to spare.
    pub(crate) fn approximate(&self) -> (f64, f64) {
        const UNIT: f64 = 1.0 / (1_u128 << 64) as f64;
        const EPSILON: f64 = 1.0 / (1_u64 << 53) as f64;
        const LARGE: f64 = (1_u128 << 100) as f64;
        let (mut product, mut doublings, mut error) = (1.0_f64, 0.0, 0.0);
        for u in &self.radii {
            product *= (u.first as f64 + 0.5) * UNIT;
            error += 2.0 * EPSILON + 0.5 / u.first as f64; // infinite for 64 zeros: asks for digits
            if product < 1.0 / LARGE {
                product *= LARGE;
                doublings += 100.0;
            }
        }
        let mut square = 2.0 * (doublings * core::f64::consts::LN_2 - libm::log(product));
        error = 4.0 * error + 16.0 * EPSILON * square.abs();
        if let Some((u, w)) = &self.last {
            let ((n, _), off) = approximate(u, w);
            square += n * n;
            error += off * (2.0 * n.abs() + off) + 8.0 * EPSILON * square;
        }
        let root = square.sqrt();
        (root, error / root + root * 8.0 * EPSILON)
    }

    /// The norm from `further` words beyond the first of each number.
    pub(crate) fn exact(&self, key: &[u8; 32], further: usize) -> Option<Ball> {
        let digits = working_digits(further);
        let mut product = Ball::integer(1, digits);
        let mut doublings = 0;
        for u in &self.radii {
            let (scaled, power) = product.mul(&uniform_ball(key, u, further)).normalise()?;
            product = scaled;
            doublings += power;
        }
        let mut square = Ball::ln2(digits).times(doublings).sub(&product.ln()?).shift(1);
        if let Some((u, w)) = &self.last {
            let (n, _) = exact(key, u, w, further)?;
            square = square.add(&n.mul(&n));
        }
        square.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uniform::settle;
    use crate::{Purpose, Source};

    #[test]
    fn the_exact_pair_lies_within_the_bound_of_the_approximate_one() {
        let mut stream = Source::seeded_not_private(11).stream(Purpose::Noise);
        let mut worst: f64 = 0.0;
        for i in 0..3000_u32 {
            let (mut u, w) = (stream.uniform(), stream.uniform());
            // Also visit both ends of the range, where the formulas change.
            u.first = match i % 4 {
                0 | 1 => u.first,
                2 => u.first >> (i % 60),
                _ => !(u.first >> (i % 60)),
            };
            let ((a, b), error) = approximate(&u, &w);
            let (x, y) = settle(|f| exact(stream.key(), &u, &w, f));
            let gap = (a - x.to_f64().0).abs().max((b - y.to_f64().0).abs());
            assert!(gap <= error, "u = {:#x}: {gap:e} > {error:e}", u.first);
            worst = worst.max(gap / error);
        }
        assert!(worst > 0.02, "the bound is far from what happens: {worst}");
    }

    #[test]
    fn digits_of_a_uniform_number_do_not_change_when_more_are_asked_for() {
        let mut stream = Source::seeded_not_private(12).stream(Purpose::Noise);
        let u = stream.uniform();
        let short = digits(stream.key(), &u, 1);
        let long = digits(stream.key(), &u, 4);
        assert_eq!(long >> 192, short);
        let v = stream.uniform();
        let second = |all: UBig| all & UBig::from(u64::MAX);
        assert_ne!(second(digits(stream.key(), &v, 1)), second(short));
    }

    #[test]
    fn a_norm_is_the_same_either_way() {
        let mut stream = Source::seeded_not_private(13).stream(Purpose::Noise);
        for dimension in [1, 2, 3, 15, 200, 2001] {
            let norm = Norm::draw(dimension, &mut stream);
            let (value, error) = norm.approximate();
            let (exact, radius) = settle(|f| norm.exact(stream.key(), f)).to_f64();
            assert!(radius < 1e-12);
            assert!((value - exact).abs() <= error, "{value} {exact} {error:e}");
            assert!(error < 1e-11, "{error:e}");
            // Chi-square has mean d and variance 2d: the limits are false alarms of 8e-6 together.
            let d = dimension as f64;
            assert!((exact * exact - d).abs() < 6.0 * (2.0 * d).sqrt() + 12.0);
        }
    }
}
