//! The privacy loss distribution: composition by the fast Fourier transform, bounded from both sides.
//!
//! A [`Composition`] is a list of dominating pairs, each with the number of times it is composed. Its profile is
//! bounded from above by putting every pair on a grid pessimistically ([`law`]) and convolving exactly
//! ([`convolve`]); and from below by merging outcomes ([`lower`]). Only round-off and what is cut off at the ends
//! of the window come on top, and both are charged to the side that the bound errs on.
//!
//! # Choice of the grid
//!
//! A saddle point ([`saddle`]) estimates the answer `ε` and its tilt `θ` from cumulants. Splitting onto a grid of
//! spacing `h` raises `ε` by about `T(θ+1)h²/12`, so `h = √(12·tolerance·ε/(T(θ+1)))` costs the relative
//! `tolerance`. Nothing depends on the estimate being right but the looseness of the bound.
//!
//! # References
//!
//! Koskela, Jälkö, Honkela 2020; Gopi, Lee, Wutschitz 2021; Doroshenko et al. 2022; Zhu, Dong, Wang 2022.

mod compose;
mod convolve;
mod grid;
mod law;
mod lower;
mod saddle;
mod window;

use compose::{Aim, Tilt};
use convolve::MAX_LENGTH;
use grid::{Focus, GridLaw};
use law::Sum;
use saddle::Saddle;
use window::{Crossing, Window};

use crate::{
    gaussian::bisect,
    pair::{Knots, Pair},
};

/// The relative excess of `ε` that the default grid costs.
pub const TOLERANCE: f64 = 3e-5;

/// The excess accepted for windows longer than [`LONG`].
const LOOSEST: f64 = 1e-4;

/// A window, in steps, up to which the tolerance is kept.
const LONG: f64 = 24576.0;

/// Dominating pairs in one direction, each with how often it is composed.
#[derive(Clone, Debug, PartialEq)]
pub struct Composition {
    terms: Vec<(Pair, u64)>,
    tolerance: f64,
}

/// What is known of the pairs before a grid is chosen.
struct Sketch {
    knots: Vec<Knots>,
    rough: Sum,
}

impl Sketch {
    /// A step with at most 400,000 cells for each pair.
    fn finest_step(&self) -> f64 {
        let smooth = self.knots.iter().filter(|k| !k.linear);
        2.5e-6 * smooth.map(Knots::span).fold(0.0, f64::max)
    }

    /// Whether some loss is so large that a grid would lose it: nobody learns anything from the exact number.
    fn is_absurd(&self) -> bool {
        !self.knots.iter().all(|k| k.span() < 1e12)
    }

    /// The range of the widest pair.
    fn span(&self) -> f64 {
        self.knots.iter().map(Knots::span).fold(0.0, f64::max)
    }
}

impl Composition {
    /// The composition of `terms`; unsampled Gaussians are merged into one, exactly.
    pub fn new(terms: impl IntoIterator<Item = (Pair, u64)>) -> Self {
        let mut square = 0.0;
        let mut kept: Vec<(Pair, u64)> = Vec::new();
        for (pair, times) in terms {
            match pair {
                _ if times == 0 => {}
                Pair::Gaussian { mu }
                | Pair::PoissonRemove { rate: 1.0, mu }
                | Pair::PoissonAdd { rate: 1.0, mu }
                | Pair::FixedReplace { rate: 1.0, mu } => square += mu * mu * times as f64,
                Pair::PoissonReplace { rate: 1.0, mu } => square += 4.0 * mu * mu * times as f64,
                Pair::PoissonRemove { rate: 0.0, .. }
                | Pair::PoissonAdd { rate: 0.0, .. }
                | Pair::PoissonReplace { rate: 0.0, .. }
                | Pair::FixedReplace { rate: 0.0, .. }
                | Pair::Laplace { epsilon: 0.0 }
                | Pair::Response { epsilon: 0.0 }
                | Pair::BoundedRange { epsilon: 0.0 } => {}
                pair => match kept.iter_mut().find(|(known, _)| *known == pair) {
                    Some((_, count)) => *count += times,
                    None => kept.push((pair, times)),
                },
            }
        }
        if square > 0.0 {
            // A sum of squares and its root, rounded up.
            kept.push((Pair::Gaussian { mu: square.sqrt() * (1.0 + 1e-13) }, 1));
        }
        Self { terms: kept, tolerance: TOLERANCE }
    }

    /// The same with another relative excess, between 1e-7 and 0.1.
    #[must_use]
    pub fn with_tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance.clamp(1e-7, 0.1);
        self
    }

    /// The pairs with their counts.
    pub fn terms(&self) -> &[(Pair, u64)] {
        &self.terms
    }

    /// The other direction.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let terms = self.terms.iter().map(|(pair, times)| (pair.reversed(), *times)).collect();
        Self { terms, tolerance: self.tolerance }
    }

    /// Whether both directions have the same profile.
    pub fn is_symmetric(&self) -> bool {
        self.terms.iter().all(|(pair, _)| pair.is_symmetric())
    }

    /// An upper bound on the least `ε >= 0` with `δ(ε) <= delta`; infinite if there is none.
    pub fn epsilon_upper(&self, delta: f64) -> f64 {
        if self.terms.is_empty() {
            return 0.0;
        }
        if let [(pair, 1)] = &self.terms[..] {
            return single_epsilon(pair, delta);
        }
        if delta <= 0.0 {
            return self.largest_loss();
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
        for _ in 0..6 {
            let window = self.compose(&sketch, saddle, delta.ln());
            let off = match window.epsilon(delta) {
                Crossing::Never | Crossing::Lost => break,
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
            // Far from where the window was aimed the grid is wrong, and what reappears weighs too much.
            if bound == 0.0 || (window.theta * off.abs() <= 2.0 && bound >= 0.5 * saddle.epsilon) {
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

    /// An upper bound on `δ(epsilon)`, for `epsilon >= 0`.
    pub fn delta_upper(&self, epsilon: f64) -> f64 {
        if self.terms.is_empty() {
            return 0.0;
        }
        if let [(pair, 1)] = &self.terms[..] {
            return (pair.delta(epsilon) * (1.0 + pair.evaluation_error())).min(1.0);
        }
        if epsilon >= self.largest_finite_loss() {
            return (self.certain_failure() * (1.0 + 1e-12)).min(1.0);
        }
        // The cut-offs depend on the size of δ: start from an estimate, and repeat if it was far off.
        let mut guess = self.delta_guess(epsilon);
        let mut best = 1.0f64;
        for _ in 0..8 {
            let sketch = self.sketch(guess);
            let saddle = sketch.rough.saddle_at(epsilon);
            if sketch.is_absurd() || !(saddle.epsilon.is_finite() && saddle.theta.is_finite()) {
                return 1.0;
            }
            let found = self.compose(&sketch, saddle, guess.ln()).delta(epsilon).unwrap_or(1.0);
            best = best.min(found);
            if (0.2..50.0).contains(&(found / guess)) || (found < guess && guess <= 1e-250) {
                break;
            }
            guess = (0.5 * found).max(1e-250);
        }
        best
    }

    /// An estimate of `δ(epsilon)`, within what sketches can handle.
    fn delta_guess(&self, epsilon: f64) -> f64 {
        let estimate = self.sketch(1e-12).rough.saddle_at(epsilon).log_delta;
        estimate.exp().clamp(1e-250, 0.5)
    }

    /// Whether this bound already shows `δ(epsilon) <= delta`, by moments alone and without a transform.
    pub(crate) fn is_within(&self, epsilon: f64, delta: f64) -> bool {
        if self.terms.is_empty() {
            return true;
        }
        if delta <= 0.0 || !epsilon.is_finite() {
            return epsilon >= self.largest_loss();
        }
        let sketch = self.sketch(delta);
        let saddle = sketch.rough.saddle_at(epsilon);
        saddle.theta > 0.0
            && sketch.rough.log_delta_chernoff(saddle.theta, epsilon) + 1e-9 <= delta.ln()
    }

    /// The saddle-point estimate of `ε` at `delta`, negative where it would be: a start for searches, never an answer.
    pub(crate) fn epsilon_estimate(&self, delta: f64) -> f64 {
        match &self.terms[..] {
            [] => 0.0,
            [(pair, 1)] => single_epsilon(pair, delta),
            _ => self.sketch(delta).rough.saddle_for(delta).epsilon,
        }
    }

    /// The largest loss that can occur at all, rounded up; infinite for Gaussian noise.
    fn largest_loss(&self) -> f64 {
        if self.certain_failure() > 0.0 {
            return f64::INFINITY;
        }
        self.largest_finite_loss()
    }

    /// The largest finite loss, rounded up.
    fn largest_finite_loss(&self) -> f64 {
        let one = |pair: &Pair| match *pair {
            Pair::Laplace { epsilon }
            | Pair::Response { epsilon }
            | Pair::BoundedRange { epsilon }
            | Pair::Approx { epsilon, .. } => epsilon,
            Pair::Table(ref table) => table.largest_loss(),
            Pair::PoissonAdd { rate, .. } if rate < 1.0 => -(-rate).ln_1p(),
            _ => f64::INFINITY,
        };
        let sum: f64 = self.terms.iter().map(|(pair, times)| one(pair) * *times as f64).sum();
        sum * (1.0 + 1e-12)
    }

    /// A lower bound on the probability of an infinite loss.
    fn certain_failure(&self) -> f64 {
        let one = |pair: &Pair| match pair {
            Pair::Approx { delta, .. } => *delta,
            Pair::Table(table) => table.infinite(),
            _ => 0.0,
        };
        let log: f64 =
            self.terms.iter().map(|(pair, times)| *times as f64 * (-one(pair)).ln_1p()).sum();
        -log.exp_m1()
    }

    fn count(&self) -> f64 {
        self.terms.iter().map(|(_, times)| *times as f64).sum()
    }

    fn sketch(&self, delta: f64) -> Sketch {
        let tail = 1e-5 * delta / self.count();
        let one = |(pair, times): &(Pair, u64)| {
            let (law, knots) = grid::rough(pair, pair.knots(tail), tail);
            ((law, *times as f64), knots)
        };
        let (terms, knots) = self.terms.iter().map(one).unzip();
        Sketch { knots, rough: Sum { terms } }
    }

    /// The spacing on which all losses lie exactly, if there is one.
    fn lattice(&self) -> Option<f64> {
        let one = |pair: &Pair| match *pair {
            Pair::Response { epsilon } | Pair::Approx { epsilon, .. } => Some(epsilon),
            _ => None,
        };
        let first = one(&self.terms.first()?.0)?;
        let same = self.terms.iter().all(|(pair, _)| one(pair) == Some(first));
        (same && 2.5 * self.count() < MAX_LENGTH as f64).then_some(first)
    }

    /// Convolve around `saddle` with everything rounded up.
    fn compose(&self, sketch: &Sketch, saddle: Saddle, log_nominal: f64) -> Window {
        let count = self.count();
        let scale = saddle.epsilon.max(0.1 * saddle.deviation);
        let mut width = (12.0 * self.tolerance * scale / (count * (saddle.theta + 1.0))).sqrt();
        let mut step = self.lattice().unwrap_or(0.85 * width).max(sketch.finest_step());
        width = width.max(step);
        let aim = Aim { epsilon: saddle.epsilon, log_nominal, outside: 1e-8, count };
        let (tilt, length) = Tilt::choose(&sketch.rough, saddle, aim, step);
        if self.lattice().is_none() && self.tolerance < LOOSEST {
            // Long windows are made shorter, within reason: precision beyond 1e-4 is worth less than speed.
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
            let terms: Vec<(GridLaw, f64)> = (0..self.terms.len())
                .map(|j| {
                    let (pair, times) = &self.terms[j];
                    let (knots, rough) = (&sketch.knots[j], &sketch.rough.terms[j].0);
                    let grid = grid::refine(pair, knots, rough, focus(step, width));
                    (grid, *times as f64)
                })
                .collect();
            match compose::convolve(&terms, &sketch.rough, tilt, aim, step) {
                Ok((mut window, ends)) => {
                    let log: f64 = terms.iter().map(|(g, t)| t * (-g.law.infinite).ln_1p()).sum();
                    window.constant = -log.exp_m1() * (1.0 + 1e-12) + ends.lost;
                    window.slack = compose::round_off(count);
                    return window;
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
fn single_epsilon(pair: &Pair, delta: f64) -> f64 {
    if let Pair::Gaussian { mu } = pair {
        return crate::gaussian::epsilon_upper(*mu, delta).unwrap_or(f64::INFINITY);
    }
    let raise = 1.0 + pair.evaluation_error();
    let ok = |e: f64| raise * pair.delta(e) <= delta;
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
