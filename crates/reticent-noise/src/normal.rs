//! The standard normal number that two uniform numbers stand for, and its digits.
//!
//! Two uniform numbers `u` (64 digits known, more on request) and `w` make a pair of independent
//! standard normal numbers by the polar transformation of Box and Muller (1958):
//!
//! ```text
//! R = √(-2 ln u),   θ = (π/2)·y,   (R·cos θ, R·sin θ), swapped if bit 0 of w is set,
//!                                  the first negated by bit 1, the second by bit 2
//! ```
//!
//! where `y + 1/2` has the binary digits 63, 62, …, 12 of the first word of `w`, then its digits
//! 11 to 3, then the further words. `θ` covers a quarter of the circle, the swap and the signs
//! carry it to the other places with equal odds, so the pair is exactly normal and independent.
//! This map is the *definition*: [`crate::fast`] and the lattice samplers evaluate it in `f64` with an error
//! bound, and [`exact`] gives as many digits as a decision needs.

use crate::ball::Ball;
use crate::source::{Uniform, digits};

/// Digits a ball carries beyond those its uniform numbers know.
const GUARD: usize = 64;

/// Ask `question` with more and more words of each uniform number until it has an answer.
///
/// Every question here is settled by finitely many digits with probability 1 (an undecided one
/// hits a rounding boundary exactly), and after `k` further words it is open with probability
/// below `2^(-64k + 60)`.
pub(crate) fn settle<T>(mut question: impl FnMut(usize) -> Option<T>) -> T {
    let mut further = 0;
    loop {
        if let Some(answer) = question(further) {
            return answer;
        }
        further = (2 * further).max(1);
    }
}

/// The digits a ball should carry when `further` words are known.
pub(crate) fn working_digits(further: usize) -> usize {
    64 * (further + 1) + GUARD
}

/// The uniform number itself.
pub(crate) fn uniform_ball(key: &[u8; 32], uniform: &Uniform, further: usize) -> Ball {
    let bits = 64 * (further + 1);
    Ball::interval(digits(key, uniform, further), bits, bits + GUARD)
}

/// `-2 ln u`.
pub(crate) fn square_radius(key: &[u8; 32], u: &Uniform, further: usize) -> Option<Ball> {
    Some(uniform_ball(key, u, further).ln()?.neg().shift(1))
}

/// The pair of normal numbers, from `further` words beyond the first of each uniform number.
pub(crate) fn exact(
    key: &[u8; 32],
    u: &Uniform,
    w: &Uniform,
    further: usize,
) -> Option<(Ball, Ball)> {
    let radius = square_radius(key, u, further)?.sqrt()?;
    let bits = 64 * (further + 1);
    let (cos, sin) = {
        let all = digits(key, w, further);
        // Drop the three lowest digits of the first word: they choose the place, not the angle.
        let low = 64 * further;
        let top = (&all >> (low + 3)) << low;
        let rest = &all & ((dashu_int::UBig::ONE << low) - dashu_int::UBig::ONE);
        let y =
            Ball::interval(top | rest, bits - 3, bits + GUARD).sub(&Ball::float(0.5, bits + GUARD));
        y.mul(&Ball::pi(bits + GUARD)).shift(-1).cos_sin()
    };
    let (first, second) = if w.first & 1 == 1 { (sin, cos) } else { (cos, sin) };
    let sign = |negate: bool, x: Ball| if negate { x.neg() } else { x };
    Some((radius.mul(&sign(w.first & 2 != 0, first)), radius.mul(&sign(w.first & 4 != 0, second))))
}

/// The pair in `f64`, and a bound on the error of each.
///
/// # Numerics
///
/// With `e = 2^-53` and functions good to 2 units in the last place: the relative error of `u` is
/// `e + 1/(2·first)` (rounding, unknown digits), that of `-2 ln u` adds `|δ|/ln(1/u)`, and near
/// `u = 1` the distance to 1 is taken exactly. The angle errs by `(π/2)·2^-52` absolutely. Altogether
/// less than `R·2^-49 + 2/(R·first')`, with `first'` the distance of the word to the nearer end of
/// its range; a word at either end gets an infinite bound and goes to [`exact`].
pub(crate) fn approximate(u: u64, w: u64) -> ((f64, f64), f64) {
    const UNIT: f64 = 1.0 / (1_u128 << 64) as f64;
    let near_end = u.min(!u);
    let square = if u >> 63 == 0 {
        -2.0 * libm::log((u as f64 + 0.5) * UNIT)
    } else {
        -2.0 * libm::log1p(-((!u) as f64 + 0.5) * UNIT)
    };
    let radius = square.sqrt();
    let y = (w >> 12) as f64 * (1.0 / (1_u64 << 52) as f64) - 0.5;
    let (sin, cos) = libm::sincos(core::f64::consts::FRAC_PI_2 * y);
    let (first, second) = if w & 1 == 1 { (sin, cos) } else { (cos, sin) };
    let first = if w & 2 != 0 { -first } else { first };
    let second = if w & 4 != 0 { -second } else { second };
    let error = radius * (1.0 / (1_u64 << 49) as f64) + 2.0 / (radius * near_end as f64);
    let error = if near_end == 0 { f64::INFINITY } else { error };
    ((radius * first, radius * second), error)
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let ((a, b), error) = approximate(u.first, w.first);
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
        let short = stream.digits(&u, 1);
        let long = stream.digits(&u, 4);
        assert_eq!(long >> 192, short);
        let v = stream.uniform();
        assert_ne!(
            stream.digits(&v, 1) & dashu_int::UBig::from(u64::MAX),
            short & dashu_int::UBig::from(u64::MAX)
        );
    }
}
