//! Uniform real numbers of which ever more digits can be asked.
//!
//! A sampler draws a uniform number as one 64-bit word and an address. In most cases the word
//! settles what the sampler must decide; if not, [`settle`] asks again with more words from that
//! address, so that the outcome is the one that infinitely many digits would give.

use crate::ball::Ball;
use crate::source::{Uniform, digits};

/// Digits a ball carries beyond those its uniform numbers know.
pub(crate) const GUARD: usize = 64;

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

/// `-ln u` in `f64`, and a bound on its relative error.
///
/// # Numerics
///
/// The logarithm (good to 2 units in the last place) is taken on the side of the range where its
/// argument is known best: `ln` of the word below 1/2, `ln(1 - ·)` of its complement above.
/// Rounding costs less than `8·2^-53`, and the unknown digits less than the inverse of the distance
/// of the word to the nearer end of its range (at 0 there is no bound).
pub(crate) fn minus_log(u: &Uniform) -> (f64, f64) {
    const UNIT: f64 = 1.0 / (1_u128 << 64) as f64;
    let word = u.first;
    let value = if word >> 63 == 0 {
        -libm::log((word as f64 + 0.5) * UNIT)
    } else {
        -libm::log1p(-((!word) as f64 + 0.5) * UNIT)
    };
    let unknown = 1.0 / word.min(!word) as f64;
    (value, unknown + 1.0 / (1_u64 << 50) as f64)
}

/// `-ln u` from `further` words beyond the first.
pub(crate) fn minus_log_exact(key: &[u8; 32], u: &Uniform, further: usize) -> Option<Ball> {
    Some(uniform_ball(key, u, further).ln()?.neg())
}
