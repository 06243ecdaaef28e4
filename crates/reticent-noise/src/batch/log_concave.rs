//! One exact rejection sampler for every log-concave law on the integers.
//!
//! Let `p` be log-concave with mode `m` and let `t >= 1/p(m)` be a whole number. Devroye (1986,
//! X.1.2): `p(m ± k)/p(m) <= min(1, e^(1 - k/t))`. Proof: let `a = p(m + k)/p(m) = e^(-L)`. By
//! log-concavity `p(m + i) >= p(m)·a^(i/k)` for `0 <= i <= k`, so
//! `1 >= p(m)·(1 - a)/(1 - a^(1/k)) >= p(m)·k·(1 - e^(-L))/L`, hence
//! `p(m)·k <= L/(1 - e^(-L)) <= 1 + L`.
//!
//! With `k = t + (j-1)·t + o`, `1 <= o <= t`, the right side is below `2^(-(j-1))`. So propose from
//! weights that are 1 for `|k| <= t` and `2^(-(j-1))` in the `j`-th block of `t` beyond: they sum
//! to `6t + 1`, and a uniform integer, a geometric `j` and a sign draw them without any real
//! number. A proposal is kept with probability `p(m + k)/p(m)·2^(j-1)`, a certified comparison. One
//! in six proposals is kept, whatever the law.

use rand_core::Rng as _;

use crate::Stream;
use crate::ball::Ball;
use crate::integer::uniform_below;
use crate::uniform::{minus_log, settle, uniform_ball, working_digits};

/// The facts about a law that the sampler needs.
pub(super) trait LogConcave {
    /// The least and the largest value that can occur.
    fn support(&self) -> (u64, u64);

    /// A value of largest probability.
    fn mode(&self) -> u64;

    /// `ln(p(value)/p(mode))` and a bound on its error.
    fn log_ratio(&self, value: u64) -> (f64, f64);

    /// `p(value + 1)/p(value)` as `numerators/denominator`, times the factor that all steps share.
    fn step(&self, value: u64) -> ([u64; 2], [u64; 2]);

    /// The factor that all steps share.
    fn step_factor(&self, digits: usize) -> Option<Ball>;
}

/// `⌈1/p⌉` from above, for a probability with `ln p` given to within `error`.
pub(super) fn inverse_upper(log_probability: f64, error: f64) -> u64 {
    (libm::exp(-log_probability + error) * (1.0 + 1e-9)).ceil().clamp(1.0, (1_u64 << 60) as f64)
        as u64
}

/// One draw from `law`; `t` is at least the inverse of its largest probability.
pub(super) fn sample<L: LogConcave>(law: &L, t: u64, stream: &mut Stream) -> u64 {
    let (least, largest) = law.support();
    let mode = law.mode();
    loop {
        let pick = uniform_below(6 * t + 1, stream);
        let (offset, block) = if pick <= 2 * t {
            (i128::from(pick) - i128::from(t), 0)
        } else {
            // 4t values left: two for each sign and place in a block.
            let place = (pick - 2 * t - 1) % (2 * t);
            let block = zeros(stream);
            let far = i128::from(t) + i128::from(block) * i128::from(t) + i128::from(place / 2) + 1;
            (if place.is_multiple_of(2) { far } else { -far }, block)
        };
        let value = i128::from(mode) + offset;
        if value < i128::from(least) || value > i128::from(largest) {
            continue;
        }
        let value = value as u64;
        let coin = stream.uniform();
        let (ratio, ratio_error) = law.log_ratio(value);
        let (log, relative) = minus_log(&coin);
        // Kept if ln coin < ratio + block·ln 2.
        let margin = log + ratio + f64::from(block) * core::f64::consts::LN_2;
        let reach = ratio_error + log * relative + (log + ratio.abs() + f64::from(block)) * 1e-15;
        let kept = if margin.abs() > 2.0 * reach {
            margin > 0.0
        } else {
            settle(|further| {
                let ratio = exact_ratio(law, value, working_digits(further))?;
                let coin = uniform_ball(stream.key(), &coin, further);
                coin.sub(&ratio.shift(i64::from(block))).is_negative()
            })
        };
        if kept {
            return value;
        }
    }
}

/// The number of zeros before the first one in a row of fair bits.
fn zeros(stream: &mut Stream) -> u32 {
    let mut count = 0;
    loop {
        let word = stream.next_u64();
        count += word.trailing_zeros();
        if word != 0 {
            return count;
        }
    }
}

/// `p(value)/p(mode)` as a product of steps.
fn exact_ratio<L: LogConcave>(law: &L, value: u64, digits: usize) -> Option<Ball> {
    let mode = law.mode();
    let factor = law.step_factor(digits)?;
    let inverse = Ball::integer(1, digits).div(&factor)?;
    let mut product = Ball::integer(1, digits);
    for i in mode.min(value)..mode.max(value) {
        let (up, down) = law.step(i);
        let ((up, down), factor) =
            if value > mode { ((up, down), &factor) } else { ((down, up), &inverse) };
        product = product.times(up[0] as i64).over(down[0]);
        product = product.times(up[1] as i64).over(down[1]).mul(factor);
    }
    Some(product)
}
