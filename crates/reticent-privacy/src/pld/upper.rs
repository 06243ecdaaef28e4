//! The upper bound: aim, cut, compose, read off, and aim again where that was off.
//!
//! # Choice of the grid
//!
//! A saddle point ([`super::saddle`]) estimates the answer `ε` from cumulants. Splitting the cells
//! of a grid of spacing `h` onto their ends adds the variance `h²/6` to each of `T` losses and half
//! of that to the mean, which raises `ε` by `ρTh²/12`, where `ρ` is the density of the sum at `ε`
//! over `e^ε` times the mass of `Q` above it ([`Saddle::steepness`]). So
//! `h = √(12·tolerance·ε/(Tρ))` costs the relative `tolerance`. Where `ε` is less than a fiftieth
//! of the standard deviation that fiftieth takes its place: `ε` then moves by more than
//! `tolerance·ε` when `δ` moves by a millionth, which is what is cut off at the ends. No spacing
//! below `tolerance·ε/T` is needed, because splitting raises a loss by at most `h`. Nothing depends
//! on the estimate being right but the looseness of the bound.
//!
//! Where the answer is due to one rare step the normal estimate is far off, and the grid must be as
//! fine as the common steps over a range as wide as the rare one. There laws are cut
//! ([`super::leap`]), and the aim is mended on rough grids until the answer is where it was
//! expected.

use super::{
    Composition, Sketch,
    compose::{self, Aim, HARMLESS, Tilt},
    grid::{self, Focus, GridLaw},
    leap::Horizon,
    saddle::Saddle,
    times::Times,
    window::{Crossing, Reading, Window},
};
use crate::{gaussian::bisect, pair::Pair};

/// The excess accepted for windows longer than [`LONG`].
const LOOSEST: f64 = 1e-4;

/// The share of a bound that may allow for cut-off mass where a window is read away from its aim.
const ALLOWED: f64 = 1e-3;

/// A reading agrees with the bound of a window of its own if it is at most this times as large.
const AGREES: f64 = 1.02;

/// How much coarser a grid is on which to come near.
const ROUGH: f64 = 8.0;

/// A window, in steps, up to which the tolerance is kept.
const LONG: f64 = 24576.0;

impl Composition {
    /// An upper bound on the least `ε >= 0` with `δ(ε) <= delta`; infinite if there is none.
    pub fn epsilon_upper(&self, delta: f64) -> f64 {
        if self.terms.is_empty() {
            return 0.0;
        }
        // First of all: a profile underflows where it is small, and then looks like one that ends.
        if delta <= 0.0 {
            return self.largest_loss();
        }
        if let Some(pair) = self.single() {
            return single_epsilon(pair, delta);
        }
        if self.variation() <= delta {
            return 0.0;
        }
        let sketch = self.sketch(delta);
        if sketch.rough.infinite() > delta && self.certain_failure() >= delta {
            return f64::INFINITY;
        }
        let mut saddle = sketch.rough.saddle_for(delta);
        if sketch.is_absurd() || !(saddle.epsilon.is_finite() && saddle.theta.is_finite()) {
            return self.largest_loss();
        }
        let mut bound = f64::INFINITY;
        // With leaps the saddle is a poor guess: come near on rough grids before a fine one.
        let mut is_near = false;
        for round in 0..12 {
            is_near |= round == 8;
            let window = self.compose(&sketch, saddle, delta.ln(), is_near);
            let off = match window.epsilon(delta) {
                Crossing::Never | Crossing::Lost => break,
                // No bound: NaN must not become zero.
                Crossing::At(epsilon) if epsilon.is_nan() => break,
                Crossing::Above(least) => {
                    saddle = sketch.rough.saddle_at(2.0 * least);
                    continue;
                }
                Crossing::Below(low) if low <= 0.0 => return 0.0,
                Crossing::Below(low) => {
                    bound = bound.min(low);
                    saddle = sketch.rough.saddle_at((low - 4.0 * saddle.deviation).max(0.0));
                    continue;
                }
                Crossing::At(epsilon) => {
                    bound = bound.min(epsilon.max(0.0));
                    // Beyond the largest loss there is nothing to aim at.
                    if bound >= self.largest_finite_loss() {
                        break;
                    }
                    epsilon - saddle.epsilon
                }
            };
            if window.leaps.limit.is_finite() && bound > 0.0 && !is_near {
                is_near = off.abs() <= 0.1 * saddle.epsilon;
                saddle = sketch.rough.saddle_at(bound);
                continue;
            }
            // Far from where the window was aimed the grid is wrong, and what reappears weighs too
            // much.
            if is_near
                || bound == 0.0
                || (window.theta * off.abs() <= 2.0 && bound >= 0.5 * saddle.epsilon)
            {
                break;
            }
            let next = sketch.rough.saddle_at(bound);
            if next.theta == saddle.theta {
                break;
            }
            saddle = next;
        }
        if bound.is_infinite() {
            bound = sketch.rough.epsilon_chernoff(delta);
        }
        bound.min(self.largest_loss())
    }

    /// An upper bound on `δ(epsilon)`, for `epsilon >= 0`; never zero below the largest loss.
    pub fn delta_upper(&self, epsilon: f64) -> f64 {
        self.delta_with_window(epsilon).0
    }

    /// Upper bounds on `δ` at each of these `ε >= 0`, which ascend, from few windows: each is read
    /// downwards from its aim while what it allows for errors is at most [`HARMLESS`] and
    /// [`ALLOWED`] of the bound, and no further than a window aimed there agrees. (Mass that wraps
    /// around only adds. A reading is always a bound, and far below the aim a loose one.)
    pub(crate) fn deltas_upper(&self, epsilons: &[f64]) -> Vec<f64> {
        let mut found = vec![1.0; epsilons.len()];
        // Those from `left` on are found, and the window of that one may be known.
        let (mut left, mut known) = (epsilons.len(), None);
        while left > 0 {
            let window = known.take().unwrap_or_else(|| {
                left -= 1;
                let (bound, window) = self.delta_with_window(epsilons[left]);
                found[left] = bound;
                window
            });
            let Some(window) = window else { continue };
            let mut readings = self.readings(&window, &epsilons[..left]);
            while let Some(&last) = readings.last() {
                let lowest = left - readings.len();
                let (alone, next) = self.delta_with_window(epsilons[lowest]);
                if last <= AGREES * alone {
                    let places = found[lowest..left].iter_mut().rev();
                    places.zip(&readings).for_each(|(place, reading)| *place = *reading);
                    found[lowest] = alone.min(last);
                    (left, known) = (lowest, Some(next));
                    break;
                }
                readings.truncate(readings.len() / 2);
            }
        }
        found
    }

    /// The bounds that a window has below its aim, downwards, as far as its errors are small.
    fn readings(&self, window: &Window, epsilons: &[f64]) -> Vec<f64> {
        let most = self.variation().min(1.0);
        let small = |reading: Reading| {
            let Reading { delta, round_off, cut_off } = reading;
            let large = round_off > HARMLESS.exp() * delta || cut_off > ALLOWED * delta;
            (!large).then(|| delta.min(most).max(f64::MIN_POSITIVE))
        };
        window
            .read(epsilons)
            .into_iter()
            .rev()
            .map_while(|reading| reading.and_then(small))
            .collect()
    }

    /// The bound, and the window that it was read off, if it was.
    fn delta_with_window(&self, epsilon: f64) -> (f64, Option<Window>) {
        if self.terms.is_empty() {
            return (0.0, None);
        }
        if let Some(pair) = self.single() {
            return (pair.delta_upper(epsilon), None);
        }
        if epsilon >= self.largest_finite_loss() {
            return ((self.certain_failure() * (1.0 + 1e-12)).min(1.0), None);
        }
        // The cut-offs depend on the size of δ: start from an estimate, and repeat if it was far
        // off.
        let mut guess = self.delta_guess(epsilon);
        let mut best = self.variation().min(1.0);
        let mut read = None;
        for _ in 0..8 {
            let sketch = self.sketch(guess);
            let saddle = sketch.rough.saddle_at(epsilon);
            if sketch.is_absurd() || !(saddle.epsilon.is_finite() && saddle.theta.is_finite()) {
                return (best, None);
            }
            if saddle.theta > 0.0 {
                best = best.min(sketch.rough.log_delta_chernoff(saddle.theta, epsilon).exp());
                // Too little for a window.
                if best < 1e-200 {
                    break;
                }
            }
            let window = self.compose(&sketch, saddle, guess.ln(), true);
            let found = window.delta(epsilon).unwrap_or(1.0);
            read = Some(window);
            best = best.min(found);
            if (0.2..50.0).contains(&(found / guess)) || (found < guess && guess <= 1e-250) {
                break;
            }
            guess = (0.5 * found).max(1e-250);
        }
        (best.max(f64::MIN_POSITIVE), read)
    }

    /// Convolve around `saddle` with everything rounded up; on a rough grid if there are leaps and
    /// the answer is not known to be near.
    fn compose(&self, sketch: &Sketch, saddle: Saddle, log_nominal: f64, is_near: bool) -> Window {
        let mut horizon = if self.stops {
            Horizon::NONE
        } else {
            Horizon::choose(&sketch.rough, saddle, log_nominal)
        };
        loop {
            match self.compose_within(&horizon, sketch, saddle, log_nominal, is_near) {
                Some(window) => return window,
                // The grid is wider than the common steps, so leaps must be longer.
                None => horizon.widen(),
            }
        }
    }

    /// The same for given cuts; `None` if leaps would cost more than a hundred-thousandth of `δ`.
    fn compose_within(
        &self,
        horizon: &Horizon,
        whole: &Sketch,
        saddle: Saddle,
        log_nominal: f64,
        is_near: bool,
    ) -> Option<Window> {
        let count = self.count();
        let (cut, saddle) = if horizon.is_idle() {
            (None, saddle)
        } else {
            let cut = whole.cut(horizon);
            let saddle = cut.rough.saddle_at(saddle.epsilon);
            (Some(cut), saddle)
        };
        let sketch = cut.as_ref().unwrap_or(whole);
        let scale = saddle.epsilon.max(0.02 * saddle.deviation);
        let rough = if is_near || !horizon.has_leaps() { 1.0 } else { ROUGH };
        let mut width =
            rough * (12.0 * self.tolerance * scale / (count * saddle.steepness())).sqrt();
        // A loss is raised by a cell at most, so all of them by `count` cells.
        width = width.max(self.tolerance * scale / count);
        let mut step = self.lattice().unwrap_or(0.85 * width).max(sketch.finest_step());
        width = width.max(step);
        let aim = Aim { epsilon: saddle.epsilon, log_nominal, outside: 1e-8, count };
        let (tilt, length) = Tilt::choose(&sketch.rough, saddle, aim, step);
        if self.lattice().is_none() && self.tolerance < LOOSEST {
            // Long windows are made shorter, within reason: precision beyond 1e-4 is worth less
            // than speed.
            let factor = (length / LONG).clamp(1.0, (LOOSEST / self.tolerance).sqrt());
            step *= factor;
            width *= factor;
        }
        let delta = log_nominal.exp();
        let focus = |step: f64, width: f64| Focus {
            theta: saddle.theta,
            count,
            delta,
            step,
            budget: width * width,
        };
        loop {
            let terms: Vec<(GridLaw, Times)> = (0..self.terms.len())
                .map(|j| {
                    let (pair, times) = &self.terms[j];
                    let (knots, rough) = (&sketch.knots[j], &sketch.rough.terms[j].0);
                    let grid = grid::refine(pair, knots, rough, focus(step, width));
                    (horizon.take(&whole.knots[j], grid), self.times(*times))
                })
                .collect();
            let leaps = horizon.leaps(&terms, compose::round_off(count));
            if leaps.missed > 1e-5 * delta {
                return None;
            }
            match compose::convolve(&terms, &sketch.rough, tilt, aim, step) {
                Ok((mut window, ends)) => {
                    window.slack = compose::round_off(count);
                    window.constant = ends.lost + leaps.missed;
                    window.leaps = leaps;
                    return Some(window);
                }
                Err(factor) => {
                    step *= factor;
                    width *= factor;
                }
            }
        }
    }
}

/// Invert the profile of one pair.
pub(super) fn single_epsilon(pair: &Pair, delta: f64) -> f64 {
    if let Pair::Gaussian { mu } = pair {
        return crate::gaussian::epsilon_upper(*mu, delta).unwrap_or(f64::INFINITY);
    }
    let ok = |e: f64| pair.delta_upper(e) <= delta;
    if ok(0.0) {
        return 0.0;
    }
    let mut high = 1e-3;
    while !ok(high) {
        high *= 2.0;
        if high > 1e18 {
            return f64::INFINITY;
        }
    }
    bisect(0.0, high, ok).1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each point is a bound whatever its window was aimed at; here it is also as tight as from a
    /// window of its own, but for what moves `ε` by less than a percent.
    #[test]
    fn points_read_off_one_window_are_what_each_alone_would_be() {
        let sampled = |rate, mu| Pair::PoissonReplace { rate, mu };
        let removed = Pair::PoissonRemove { rate: 0.01, mu: 1.2 };
        for composition in [
            Composition::stopped(sampled(0.1, 0.7), 200),
            Composition::stopped(sampled(0.01, 1.6), 40),
            Composition::stopped(sampled(1e-3, 0.3), 100_000),
            Composition::stopped(Pair::Gaussian { mu: 0.1 }, 50),
            Composition::new([(removed.clone(), 1000), (Pair::Response { epsilon: 0.3 }, 2)]),
            Composition::new([(removed, 3), (Pair::Approx { epsilon: 0.1, delta: 1e-9 }, 4)]),
        ] {
            let epsilons: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
            let many = composition.deltas_upper(&epsilons);
            for (epsilon, many) in epsilons.into_iter().zip(many) {
                let alone = composition.delta_upper(epsilon);
                assert!(
                    many >= alone * 0.9 && many <= alone * 1.1 + 1e-200,
                    "{composition:?} {epsilon}: {many:e} {alone:e}"
                );
            }
        }
    }
}
