//! How far to tilt, how long the window must be, and what is lost at its ends.
//!
//! Chernoff's bound with the law's own cumulants decides both ends: at most `e^{−14}` of the
//! nominal `δ` lies above the upper end, and at most `outside` of the tilted mass below the lower
//! one. Mass outside reappears inside (the transform is circular). From the left it lands at the
//! top, where it hardly weighs; from the right it lands at the bottom, and must not reach the
//! answer, so the window is also at least as long as the tilted tail above it.
//!
//! A full tilt is usually best for round-off; less tilt gives a shorter window when the loss is
//! heavy-tailed, so the tilt is the fraction of the saddle's that makes the window shortest while
//! round-off stays harmless.

use super::{
    convolve::{self, MAX_LENGTH, fast_length},
    grid::GridLaw,
    law::Sum,
    leap::Leaps,
    saddle::Saddle,
    times::Times,
    window::Window,
};

/// The target of a convolution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    /// Where the answer is expected.
    pub(super) epsilon: f64,
    /// The logarithm of the `δ` there.
    pub(super) log_nominal: f64,
    /// The tilted mass that may lie outside the window on either side.
    pub(super) outside: f64,
    /// How many losses are added.
    pub(super) count: f64,
}

/// A tilt, with the spread of the law it makes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tilt {
    pub(super) theta: f64,
    deviation: f64,
}

/// The two ends of the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    low: f64,
    high: f64,
    /// An upper bound on the (untilted) mass above `high`.
    pub(super) lost: f64,
}

/// The error of the transform in any tail, as a tilted mass.
///
/// # Assumption
///
/// This is a rule that is measured, not a theorem: a transform is off by a few units in the last
/// place of the total mass in any tail, and its power by `count` times that.
///
/// The provable bound is weaker. A transform of length `N` is off by at most `η log₂ N` in the l2
/// norm, relatively, with `η` about seven units of roundoff (Higham, *Accuracy and Stability of
/// Numerical Algorithms*, Theorem 24.2). Of a tail that leaves `count·η log₂ N·√N‖p‖₂`, a hundred
/// to ten thousand times as much, which would take errors that all have the same sign there. The
/// tests of [`convolve`](super::convolve) measure tails against exact ones. Where a tilt makes
/// round-off [`HARMLESS`], rounding a hundred times larger than this would raise `δ` by 0.2 %.
pub(super) fn round_off(count: f64) -> f64 {
    2e-15 * (count + 50.0)
}

/// The logarithm of the share of `δ` that round-off may take.
pub(super) const HARMLESS: f64 = -11.0;

impl Tilt {
    /// The fraction of the saddle's tilt with the shortest window on a grid of this `step`, and
    /// that length in steps.
    pub(super) fn choose(rough: &Sum, saddle: Saddle, aim: Aim, step: f64) -> (Self, f64) {
        let moment = |theta: f64| rough.log_moment(theta);
        // How much round-off may weigh, and how long the window is.
        let judge = |theta: f64| {
            let at = rough.cumulant(theta);
            let harm = round_off(aim.count).ln() + at.value - theta * aim.epsilon - aim.log_nominal;
            let tilt = Self { theta, deviation: at.variance.max(0.0).sqrt() };
            let ends = ends(&moment, rough, tilt, aim, at.value);
            (harm, (ends.high - ends.low) / step, tilt)
        };
        // Steeper than the grid resolves is of no use.
        let full = saddle.theta.min(30.0 / step);
        let mut best = judge(full);
        // A window of a few deviations cannot be made much shorter, unless the tilt itself made the
        // law wide.
        let compact = best.1 < 16384.0
            || (best.1 * step < 16.0 * best.2.deviation
                && best.2.deviation.powi(2) < 2.0 * rough.cumulant(0.0).variance);
        if best.0 < HARMLESS && compact {
            return (best.2, best.1);
        }
        for share in [0.75, 0.5, 0.25, 0.1, 0.0] {
            let other = judge(share * full);
            let better = match (best.0 < HARMLESS, other.0 < HARMLESS) {
                (true, true) => other.1 < best.1,
                (same, also) if same == also => other.0 < best.0,
                (_, harmless) => harmless,
            };
            if better {
                best = other;
            }
        }
        (best.2, best.1)
    }
}

/// The ends of the window for the law with cumulant `moment`; `rough` only guides the choice of
/// orders.
fn ends(moment: &dyn Fn(f64) -> f64, rough: &Sum, tilt: Tilt, aim: Aim, log_moment: f64) -> Ends {
    let Tilt { theta, deviation } = tilt;
    let log_outside = aim.outside.ln();
    let base = (-2.0 * log_outside).sqrt() / deviation.max(1e-300);
    let log_lost = aim.log_nominal - 14.0;
    let best = |value: &dyn Fn(f64) -> f64| {
        let choices = [0.0625, 0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0].map(|c| c * base);
        let values = choices.map(value);
        let found = (0..choices.len()).min_by(|&a, &b| values[a].total_cmp(&values[b]));
        found.map_or(base, |i| choices[i])
    };
    let up = best(&|d| (rough.log_moment(theta + d) - log_lost) / (theta + d));
    let mut high = (moment(theta + up) - log_lost) / (theta + up);
    let mut lost = log_lost.exp();
    // Mass above the tilted upper end may land at the answer, with the weight `e^{K − θε}`.
    let log_above = log_outside.min(log_lost - log_moment + theta * aim.epsilon);
    let far = best(&|d| (rough.log_moment(theta + d) - log_moment - log_above) / d);
    let tilted_high = (moment(theta + far) - log_moment - log_above) / far;
    if tilted_high < high {
        high = tilted_high;
        lost = (log_moment - theta * high + log_above).exp();
    }
    // Mass below `low` lands at the top: it must not weigh there either.
    let log_below = log_outside.min(log_lost - log_moment + theta * high);
    let down = best(&|d| (rough.log_moment(theta - d) - log_moment - log_below) / d);
    let low = (log_below - moment(theta - down) + log_moment) / down;
    let low = low.min(aim.epsilon);
    let reach = tilted_high - aim.epsilon + deviation;
    Ends { low, high: high.max(aim.epsilon).max(low + reach), lost }
}

/// The largest index of a grid: sums of places are exact far beyond.
const FARTHEST: f64 = (1_u64 << 52) as f64;

/// The window of the composed law on a grid of this `step`, with no allowance yet; or, if it would
/// be too long or too far from zero, the factor by which the step must grow.
pub(super) fn convolve(
    terms: &[(GridLaw, Times)],
    rough: &Sum,
    tilt: Tilt,
    aim: Aim,
    step: f64,
) -> Result<(Window, Ends), f64> {
    let theta = tilt.theta;
    let log_moments: Vec<f64> = terms.iter().map(|(g, _)| g.law.log_moment(theta)).collect();
    let log_moment =
        terms.iter().zip(&log_moments).map(|((_, times), k)| times.log_moment(*k)).sum();
    let moment = |at: f64| terms.iter().map(|(g, t)| t.log_moment(g.law.log_moment(at))).sum();
    let mut ends = ends(&moment, rough, tilt, aim, log_moment);
    // A bounded loss needs no more than its range.
    let largest: f64 = terms.iter().map(|(g, t)| t.largest(g.law.largest())).sum();
    let smallest: f64 = terms.iter().map(|(g, t)| t.smallest(g.law.smallest())).sum();
    ends.low = ends.low.max(smallest).min(aim.epsilon);
    if largest <= ends.high {
        ends.high = largest.max(aim.epsilon);
        ends.lost = 0.0;
    }
    let first = (ends.low / step).floor() - 2.0;
    let needed = (ends.high / step).ceil() + 3.0 - first;
    if needed > MAX_LENGTH as f64 {
        return Err(1.02 * needed / MAX_LENGTH as f64);
    }
    // Where the grid is so fine that places on it are no whole numbers any more, it need not be.
    if first.abs() > FARTHEST {
        return Err(1.02 * first.abs() / FARTHEST);
    }
    let masses = convolve::power(terms, theta, &log_moments, fast_length(needed as usize));
    let window = Window {
        step,
        first: first as i64,
        masses,
        theta,
        log_moment,
        reference: aim.epsilon,
        constant: 0.0,
        slack: 0.0,
        leaps: Leaps::NONE,
    };
    Ok((window, ends))
}
