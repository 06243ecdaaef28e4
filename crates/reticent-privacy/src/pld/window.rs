//! The composed loss inside a window, and what can be read off it.
//!
//! Let `G_s` be the tilted mass at the sum `s` and `K` the cumulant at the tilt `θ`. The mass
//! itself is `G_s e^{K − θs}` and
//!
//! ```text
//! δ(ε) = p_∞ + Σ_{s > ε} G_s e^{K − θs}(1 − e^{ε − s}).
//! ```
//!
//! Going down the grid, `δ(s − h) = e^{−h}δ(s) + (1 − e^{−h})·P(S >= s)`: only positive terms, so
//! the sum loses nothing. Between grid points `δ` is linear in `e^ε` and is inverted exactly.
//!
//! Which side the result errs on is decided by two allowances: `constant`, a mass added to `δ`, and
//! `slack`, a tilted mass that may sit anywhere above `ε` and so counts as `slack·e^{K − θε}`; for
//! a lower bound both are negative.

use super::leap::Leaps;

/// A composed, tilted loss on a grid.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// The spacing of the grid.
    pub(super) step: f64,
    /// The index of the first sum in the window; the entry for index `i` is `i` modulo the length.
    pub(super) first: i64,
    /// Tilted masses.
    pub(super) masses: Vec<f64>,
    /// The tilt.
    pub(super) theta: f64,
    /// The cumulant at the tilt.
    pub(super) log_moment: f64,
    /// A sum near the answer; masses are scaled to it.
    pub(super) reference: f64,
    /// Mass added to `δ`.
    pub(super) constant: f64,
    /// Tilted mass that may sit anywhere above `ε`.
    pub(super) slack: f64,
    /// The mass outside the window, as one loss.
    pub(super) leaps: Leaps,
}

/// Where the profile crosses a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Crossing {
    /// At this `ε`.
    At(f64),
    /// At or below the lower end of the window, which is this.
    Below(f64),
    /// Above the largest `ε` at which the window may be read, or above its upper end; this is
    /// where.
    Above(f64),
    /// Nowhere: the constant part alone is above the target.
    Never,
    /// Unknown: the tilt was beyond floating point.
    Lost,
}

/// The bounded profile at one `ε`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// The bound.
    pub(super) delta: f64,
    /// The part of it that allows for round-off, which is measured and not proven.
    pub(super) round_off: f64,
    /// The part of it that allows for cut-off mass.
    pub(super) cut_off: f64,
}

impl Window {
    /// The lower end.
    pub(super) fn low(&self) -> f64 {
        self.first as f64 * self.step
    }

    /// `ln` of the factor by which scaled masses must be multiplied.
    fn log_scale(&self) -> f64 {
        self.log_moment - self.theta * self.reference
    }

    /// Walk down from the top; `visit(s, above, delta, weight)` sees, for each grid point `s` with
    /// the cell below it, the scaled mass at or above `s`, the scaled `δ(s)`, and
    /// `e^{−θ(s − h − reference)}`. Stops on `true`.
    fn descend(&self, mut visit: impl FnMut(f64, f64, f64, f64) -> bool) {
        let length = self.masses.len() as i64;
        let keep = (-self.step).exp();
        let leave = -(-self.step).exp_m1();
        let ratio = (self.theta * self.step).exp();
        let steep = self.theta * self.step > 1.0;
        let (mut above, mut delta, mut weight) = (0.0, 0.0, 0.0);
        for (count, i) in (1..length).rev().enumerate() {
            let index = self.first + i;
            let s = index as f64 * self.step;
            if steep || count % 128 == 0 {
                weight = (-self.theta * (s - self.reference)).exp();
            }
            above += self.masses[index.rem_euclid(length) as usize] * weight;
            weight = if steep {
                (-self.theta * (s - self.step - self.reference)).min(700.0).exp()
            } else {
                weight * ratio
            };
            if visit(s, above, delta, weight) {
                return;
            }
            delta = keep * delta + leave * above;
        }
    }

    /// `x >= 0` on the scale of the masses.
    fn scaled(&self, x: f64) -> f64 {
        if x == 0.0 { 0.0 } else { (x.ln() - self.log_scale()).exp() }
    }

    /// The `ε` at which the bounded profile crosses `delta`.
    pub(super) fn epsilon(&self, delta: f64) -> Crossing {
        let Leaps { mass, loss, limit, .. } = self.leaps;
        if self.constant + if loss.is_finite() { 0.0 } else { mass } >= delta {
            return Crossing::Never;
        }
        let room = self.scaled(delta) - self.constant.signum() * self.scaled(self.constant.abs());
        let leap = self.scaled(mass);
        let beyond = |e: f64| if loss.is_finite() { -leap * (e - loss).exp_m1() } else { leap };
        let (keep, leave) = ((-self.step).exp(), -(-self.step).exp_m1());
        let mut answer = Crossing::Below(self.low());
        let mut is_first = true;
        self.descend(|s, above, here, weight| {
            if s > limit {
                return false;
            }
            let outside = beyond(s);
            if is_first && here + outside + self.slack * weight > room {
                answer = Crossing::Above(if limit.is_finite() { limit } else { s });
                return true;
            }
            is_first = false;
            let below = keep * here + leave * above;
            if below + beyond(s - self.step) + self.slack * weight <= room {
                return false;
            }
            // Within the cell, with the allowance of its lower end: δ(ε) = above − e^{ε−s}(above −
            // here).
            let left = room - self.slack * weight - here - outside;
            let through = above - here + leap - outside;
            let shift = if left <= 0.0 || through <= 0.0 { 0.0 } else { (-left / through).ln_1p() };
            answer = Crossing::At(s + shift.clamp(-self.step, 0.0));
            true
        });
        // A tilt beyond floating point leaves NaN, which is no bound.
        match answer {
            Crossing::At(epsilon) if !epsilon.is_finite() => Crossing::Lost,
            Crossing::Below(_) if room.is_nan() => Crossing::Lost,
            found => found,
        }
    }

    /// The bounded profile at `epsilon`; none below the window or above its limit, and none if the
    /// tilt was beyond floating point.
    pub(super) fn delta(&self, epsilon: f64) -> Option<f64> {
        self.read(&[epsilon])[0].map(|reading| reading.delta)
    }

    /// The same at each of these, which ascend, in one walk.
    ///
    /// Every entry is a bound: the allowances hold at each `ε` of the window. Far from where it was
    /// aimed they may be most of the bound, which [`Reading::allowance`] tells.
    pub(super) fn read(&self, epsilons: &[f64]) -> Vec<Option<Reading>> {
        // An entry that no cell reaches stays NaN, which is no bound.
        let mut scaled = vec![(f64::NAN, f64::NAN); epsilons.len()];
        let outside = |e: f64| e < self.low() || e > self.leaps.limit;
        let mut left = epsilons.len();
        self.descend(|s, above, here, weight| {
            while left > 0 && s - self.step <= epsilons[left - 1] {
                left -= 1;
                let x = (epsilons[left] - s).min(0.0);
                let slack = self.slack * weight;
                scaled[left] = (-x.exp_m1() * above + x.exp() * here + slack, slack);
            }
            left == 0
        });
        let log_scale = self.log_scale();
        let read = |(&epsilon, (scaled, slack)): (&f64, (f64, f64))| {
            if outside(epsilon) || scaled.is_nan() || log_scale.is_nan() {
                return None;
            }
            let log = if scaled > 0.0 { scaled.ln() + log_scale } else { f64::NEG_INFINITY };
            let leap = -self.leaps.mass * (epsilon - self.leaps.loss).exp_m1();
            let delta = (self.constant + leap + log.min(1.0).exp()).clamp(0.0, 1.0);
            let round_off = slack * log_scale.min(700.0).exp();
            Some(Reading { delta, round_off, cut_off: self.constant })
        };
        epsilons.iter().zip(scaled).map(read).collect()
    }
}
