//! The privacy loss distribution: composition by the fast Fourier transform, bounded from both
//! sides.
//!
//! A [`Composition`] is a list of dominating pairs, each with the number of times it is composed.
//! Its profile is bounded from above by putting every pair on a grid pessimistically (`law`) and
//! convolving exactly (`convolve`, `upper`); and from below by merging outcomes (`lower`). Only
//! round-off and what is cut off at the ends of the window come on top, and both are charged to the
//! side that the bound errs on.
//!
//! # References
//!
//! Koskela, Jälkö, Honkela 2020; Gopi, Lee, Wutschitz 2021; Doroshenko et al. 2022; Zhu, Dong,
//! Wang 2022.

mod compose;
mod convolve;
mod grid;
mod law;
mod leap;
mod lower;
mod saddle;
mod times;
mod upper;
mod window;

use convolve::MAX_LENGTH;
use law::Sum;
use leap::Horizon;
use times::Times;
pub(crate) use times::log_mean_power;

use crate::pair::{Knots, Pair};

/// The relative excess of `ε` that the default grid costs.
pub const TOLERANCE: f64 = 3e-5;

/// Dominating pairs in one direction, each with how often it is composed.
#[derive(Clone, Debug, PartialEq)]
pub struct Composition {
    terms: Vec<(Pair, u64)>,
    tolerance: f64,
    /// Whether the counts are the largest of a uniform one that is drawn without the data.
    stops: bool,
}

/// The facts about the pairs that are known before a grid is chosen.
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

    /// Whether some loss is so large that a grid would lose it: nobody learns anything from the
    /// exact number.
    fn is_absurd(&self) -> bool {
        !self.knots.iter().all(|k| k.span() < 1e12)
    }

    /// The same with all laws cut.
    fn cut(&self, horizon: &Horizon) -> Self {
        let knots = self.knots.iter().map(|knots| horizon.clip(knots)).collect();
        Self { knots, rough: horizon.apply_to(&self.rough) }
    }

    /// The range of the widest pair.
    fn span(&self) -> f64 {
        self.knots.iter().map(Knots::span).fold(0.0, f64::max)
    }
}

impl Composition {
    /// The composition of `terms`; unsampled Gaussians are merged into one, exactly.
    pub fn new(terms: impl IntoIterator<Item = (Pair, u64)>) -> Self {
        let mut gaussians: Vec<(f64, u64)> = Vec::new();
        let mut kept: Vec<(Pair, u64)> = Vec::new();
        for (pair, times) in terms {
            match pair {
                _ if times == 0 => {}
                Pair::Gaussian { mu }
                | Pair::PoissonRemove { rate: 1.0, mu }
                | Pair::PoissonAdd { rate: 1.0, mu }
                | Pair::FixedReplace { rate: 1.0, mu } => gaussians.push((mu, times)),
                Pair::PoissonReplace { rate: 1.0, mu } => gaussians.push((2.0 * mu, times)),
                Pair::PoissonRemove { rate: 0.0, .. }
                | Pair::PoissonAdd { rate: 0.0, .. }
                | Pair::PoissonReplace { rate: 0.0, .. }
                | Pair::FixedReplace { rate: 0.0, .. }
                | Pair::Laplace { epsilon: 0.0 }
                | Pair::Response { epsilon: 0.0 }
                | Pair::BoundedRange { epsilon: 0.0 } => {}
                pair => {
                    // Counts that together leave the range stay apart.
                    let room = |count: u64, known: &Pair| {
                        *known == pair && count.checked_add(times).is_some()
                    };
                    match kept.iter_mut().find(|(known, count)| room(*count, known)) {
                        Some((_, count)) => *count += times,
                        None => kept.push((pair, times)),
                    }
                }
            }
        }
        // In units of the largest: the squares of tiny ones would vanish.
        let unit = gaussians.iter().map(|(mu, _)| *mu).fold(0.0, f64::max);
        if unit > 0.0 {
            let square = |&(mu, times): &(f64, u64)| (mu / unit).powi(2) * times as f64;
            let length = gaussians.iter().map(square).sum::<f64>().sqrt();
            let total = if unit.is_finite() { unit * length } else { unit };
            // Rounded up: each that was merged in rounds a few times.
            let room = 1e-13_f64.max(1e-15 * gaussians.len() as f64);
            kept.push((Pair::Gaussian { mu: total * (1.0 + room) }, 1));
        }
        Self { terms: kept, tolerance: TOLERANCE, stops: false }
    }

    /// `pair` composed `K` times, `K` uniform on `0..rounds`, drawn without the data and told
    /// (the header of `times`).
    pub(crate) fn stopped(pair: Pair, rounds: u64) -> Self {
        let terms = if rounds > 1 { vec![(pair, rounds - 1)] } else { Vec::new() };
        Self { terms, tolerance: TOLERANCE, stops: true }
    }

    /// The only pair, if it is composed once.
    fn single(&self) -> Option<&Pair> {
        match &self.terms[..] {
            [(pair, 1)] if !self.stops => Some(pair),
            _ => None,
        }
    }

    /// How often a pair of this count is composed.
    fn times(&self, count: u64) -> Times {
        if self.stops { Times::Below(count as f64 + 1.0) } else { Times::Exactly(count as f64) }
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
        Self { terms, tolerance: self.tolerance, stops: self.stops }
    }

    /// Whether both directions have the same profile.
    pub fn is_symmetric(&self) -> bool {
        self.terms.iter().all(|(pair, _)| pair.is_symmetric())
    }

    /// An estimate of `δ(epsilon)`, within what sketches can handle.
    fn delta_guess(&self, epsilon: f64) -> f64 {
        let estimate = self.sketch(1e-12).rough.saddle_at(epsilon).log_delta;
        estimate.exp().clamp(1e-250, 0.5)
    }

    /// Whether this bound already shows `δ(epsilon) <= delta`, by moments alone and without a
    /// transform.
    pub(crate) fn is_within(&self, epsilon: f64, delta: f64) -> bool {
        if self.terms.is_empty() {
            return true;
        }
        if delta <= 0.0 || !epsilon.is_finite() {
            return epsilon >= self.largest_loss();
        }
        let sketch = self.sketch(delta);
        let saddle = sketch.rough.saddle_at(epsilon);
        saddle.theta > 0.0 && sketch.rough.log_delta_chernoff(saddle.theta, epsilon) <= delta.ln()
    }

    /// The saddle-point estimate of `ε` at `delta`, negative where it would be: a start for
    /// searches, never an answer.
    pub(crate) fn epsilon_estimate(&self, delta: f64) -> f64 {
        match self.single() {
            _ if self.terms.is_empty() => 0.0,
            Some(pair) => upper::single_epsilon(pair, delta),
            None => self.sketch(delta).rough.saddle_for(delta).epsilon,
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
        // One alone is not rounded: a plan for a pure budget costs just that.
        if let [(pair, 1)] = &self.terms[..] {
            return pair.largest_loss();
        }
        let one = |(pair, times): &(Pair, u64)| pair.largest_loss() * *times as f64;
        self.terms.iter().map(one).sum::<f64>() * (1.0 + 1e-12)
    }

    /// A lower bound on the probability of an infinite loss.
    fn certain_failure(&self) -> f64 {
        let one = |pair: &Pair| match pair {
            Pair::Approx { delta, .. } => *delta,
            Pair::Table(table) => table.infinite(),
            Pair::Gaussian { .. }
            | Pair::PoissonRemove { .. }
            | Pair::PoissonAdd { .. }
            | Pair::PoissonReplace { .. }
            | Pair::FixedReplace { .. }
            | Pair::Laplace { .. }
            | Pair::Response { .. }
            | Pair::BoundedRange { .. } => 0.0,
        };
        let log: f64 =
            self.terms.iter().map(|(pair, times)| *times as f64 * (-one(pair)).ln_1p()).sum();
        -log.exp_m1()
    }

    /// An upper bound on `δ(0)`, the total variation distance: coupled step by step, the two
    /// products agree with probability at least `Π(1 − d_j(0))^{T_j}`.
    fn variation(&self) -> f64 {
        let one = |(pair, times): &(Pair, u64)| *times as f64 * (-pair.delta_upper(0.0)).ln_1p();
        let log: f64 = self.terms.iter().map(one).sum();
        -log.exp_m1() * (1.0 + 1e-12)
    }

    fn count(&self) -> f64 {
        self.terms.iter().map(|(_, times)| *times as f64).sum()
    }

    fn sketch(&self, delta: f64) -> Sketch {
        let tail = 1e-5 * delta / self.count();
        let one = |(pair, times): &(Pair, u64)| {
            let (law, knots) = grid::rough(pair, pair.knots(tail), tail);
            ((law, self.times(*times)), knots)
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
}
