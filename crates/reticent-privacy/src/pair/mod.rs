//! Dominating pairs: the two output laws that are hardest to tell apart, for one step and one
//! direction.
//!
//! # Theorem (Zhu, Dong, Wang 2022)
//!
//! Write `H_g(P‖Q) = sup_S P(S) − g·Q(S)`. A pair `(P, Q)` *dominates* a mechanism in one direction
//! if `H_g(P‖Q)` is at least the mechanism's value for every neighbouring pair in that direction
//! and every `g > 0`. Adaptive composition is then dominated by the product of dominating pairs.
//! Every convex function of `g` that decreases from 1 and stays above `max(0, 1 − g)` is the
//! profile of some pair, so it suffices to know profiles.
//!
//! A [`Pair`] therefore offers its profile `d(ε) = H_{e^ε}(P‖Q)` for every real `ε`, and separately
//! `c(ε) = d(ε) − (1 − e^ε) = e^ε H_{e^{−ε}}(Q‖P)`, which is small where `d` is close to one.
//!
//! | pair | sampling | adjacency | status |
//! | --- | --- | --- | --- |
//! | `Gaussian` | none | any | tight |
//! | `PoissonRemove`, `PoissonAdd` | Poisson | add/remove, zero-out | tight in each direction |
//! | `PoissonReplace` | Poisson | replace-one | tight, symmetric |
//! | `PoissonRemove`, `PoissonAdd` at `2μ` | fixed size | add/remove | tight in each direction |
//! | `FixedReplace` | fixed size | replace-one | exact for one step, valid composed |
//! | `Laplace`, `Response`, `BoundedRange`, `Approx` | – | any | tight for their class |
//! | `Table` | – | any | convex hull of proven points |
//!
//! The two directions of add/remove are composed separately and the larger result counts: the worst
//! direction of one step need not stay the worst (Lebeda, Regehr, Kamath, Steinke 2024).

mod pure;
mod replace;
mod sampled;
mod table;

pub use pure::{bounded_range_delta, laplace_delta, randomized_response_delta};
pub use replace::{fixed_size_replace_atom, fixed_size_replace_delta, poisson_replace_delta};
pub use sampled::{inner_epsilon, poisson_add_delta, poisson_remove_delta};
pub use table::PairTable;

use crate::gaussian;

/// A dominating pair of one step in one direction.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Pair {
    /// `N(mu, 1)` against `N(0, 1)`.
    Gaussian {
        /// The shift.
        mu: f64,
    },
    /// `(1−q)N(0, 1) + qN(mu, 1)` against `N(0, 1)`: the row is removed.
    PoissonRemove {
        /// The sample rate `q`.
        rate: f64,
        /// The shift.
        mu: f64,
    },
    /// `N(0, 1)` against `(1−q)N(0, 1) + qN(mu, 1)`: the row is added.
    PoissonAdd {
        /// The sample rate `q`.
        rate: f64,
        /// The shift.
        mu: f64,
    },
    /// `(1−q)N(0, 1) + qN(mu, 1)` against `(1−q)N(0, 1) + qN(−mu, 1)`: the row is replaced.
    PoissonReplace {
        /// The sample rate `q`.
        rate: f64,
        /// The shift by one row, half the replace sensitivity.
        mu: f64,
    },
    /// The symmetric envelope of `PoissonRemove` and `PoissonAdd`: a fixed-size batch, the row
    /// replaced.
    FixedReplace {
        /// The sampled share `γ = b/n`.
        rate: f64,
        /// The shift by the replace sensitivity.
        mu: f64,
    },
    /// The Laplace mechanism with pure loss `epsilon`.
    Laplace {
        /// Sensitivity over scale.
        epsilon: f64,
    },
    /// Randomised response, which dominates every `epsilon`-private mechanism.
    Response {
        /// The pure loss.
        epsilon: f64,
    },
    /// The envelope over all mechanisms of bounded range `epsilon`.
    BoundedRange {
        /// The range.
        epsilon: f64,
    },
    /// Randomised response that fails openly with probability `delta`.
    Approx {
        /// The loss.
        epsilon: f64,
        /// The probability of failure.
        delta: f64,
    },
    /// The convex hull of proven points of a symmetric profile.
    Table(PairTable),
}

/// The masses of both laws above and at-or-below a loss, each from the side on which it is
/// accurate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tails {
    /// `P(L > ε)`.
    pub p_above: f64,
    /// `Q(L > ε)`.
    pub q_above: f64,
    /// `P(L <= ε)`.
    pub p_below: f64,
    /// `Q(L <= ε)`.
    pub q_below: f64,
}

impl Tails {
    const ALL_ABOVE: Self = Self { p_above: 1.0, q_above: 1.0, p_below: 0.0, q_below: 0.0 };
    const ALL_BELOW: Self = Self { p_above: 0.0, q_above: 0.0, p_below: 1.0, q_below: 1.0 };

    /// The tails of a symmetric pair, given those at `ε >= 0`.
    fn symmetric(epsilon: f64, above: impl Fn(f64) -> Self) -> Self {
        if epsilon >= 0.0 { above(epsilon) } else { above(-epsilon).reversed() }
    }

    /// Every mass times `share`.
    fn scaled(self, share: f64) -> Self {
        Self {
            p_above: share * self.p_above,
            q_above: share * self.q_above,
            p_below: share * self.p_below,
            q_below: share * self.q_below,
        }
    }

    /// The tails at `−ε` of the pair with its laws exchanged.
    fn reversed(self) -> Self {
        Self {
            p_above: self.q_below,
            q_above: self.p_below,
            p_below: self.q_above,
            q_below: self.p_above,
        }
    }
}

impl Pair {
    /// The profile `d(ε) = H_{e^ε}(P‖Q)`, for every real `ε`.
    pub fn delta(&self, epsilon: f64) -> f64 {
        match self {
            Self::Gaussian { mu } => gaussian::delta(epsilon, *mu),
            Self::PoissonRemove { rate, mu } => poisson_remove_delta(epsilon, *rate, *mu),
            Self::PoissonAdd { rate, mu } => poisson_add_delta(epsilon, *rate, *mu),
            Self::PoissonReplace { rate, mu } => poisson_replace_delta(epsilon, *rate, *mu),
            Self::FixedReplace { rate, mu } => fixed_size_replace_delta(epsilon, *rate, *mu),
            Self::Laplace { epsilon: limit } => laplace_delta(epsilon, *limit),
            Self::Response { epsilon: limit } => randomized_response_delta(epsilon, *limit, 0.0),
            Self::BoundedRange { epsilon: limit } => bounded_range_delta(epsilon, *limit),
            Self::Approx { epsilon: limit, delta } => {
                randomized_response_delta(epsilon, *limit, *delta)
            }
            Self::Table(table) => table.delta(epsilon),
        }
    }

    /// `c(ε) = d(ε) − (1 − e^ε)`, accurate where it is small.
    pub fn excess(&self, epsilon: f64) -> f64 {
        let reverse = match self.other_direction() {
            Some(other) => other.delta(-epsilon),
            None => self.delta(-epsilon),
        };
        epsilon.exp() * reverse
    }

    /// The pair with its laws exchanged: the other direction.
    #[must_use]
    pub fn reversed(&self) -> Self {
        self.other_direction().unwrap_or_else(|| self.clone())
    }

    /// Whether both directions have the same profile.
    pub fn is_symmetric(&self) -> bool {
        self.other_direction().is_none()
    }

    /// The other direction of a pair; none where it has the same profile, which each pair here is
    /// said to have by name.
    fn other_direction(&self) -> Option<Self> {
        match *self {
            Self::PoissonRemove { rate, mu } => Some(Self::PoissonAdd { rate, mu }),
            Self::PoissonAdd { rate, mu } => Some(Self::PoissonRemove { rate, mu }),
            Self::Gaussian { .. }
            | Self::PoissonReplace { .. }
            | Self::FixedReplace { .. }
            | Self::Laplace { .. }
            | Self::Response { .. }
            | Self::BoundedRange { .. }
            | Self::Approx { .. }
            | Self::Table(_) => None,
        }
    }

    /// The tails of the finite part of the loss.
    pub fn tails(&self, epsilon: f64) -> Tails {
        match self {
            Self::Gaussian { mu } => sampled::remove_tails(epsilon, 1.0, *mu),
            Self::PoissonRemove { rate, mu } => sampled::remove_tails(epsilon, *rate, *mu),
            Self::PoissonAdd { rate, mu } => sampled::remove_tails(-epsilon, *rate, *mu).reversed(),
            Self::PoissonReplace { rate, mu } => replace::tails(epsilon, *rate, *mu),
            Self::FixedReplace { rate, mu } => {
                Tails::symmetric(epsilon, |e| sampled::remove_tails(e, *rate, *mu))
            }
            Self::Laplace { epsilon: limit } => pure::laplace_tails(epsilon, *limit),
            Self::Response { epsilon: limit } => pure::response_tails(epsilon, *limit),
            Self::Approx { epsilon: limit, delta } => {
                pure::response_tails(epsilon, *limit).scaled(1.0 - delta)
            }
            Self::BoundedRange { epsilon: limit } => {
                Tails::symmetric(epsilon, |e| pure::bounded_range_tails(e, *limit))
            }
            Self::Table(table) => Tails::symmetric(epsilon, |e| table.tails(e)),
        }
    }

    /// By how much, relatively, [`Pair::delta`] and [`Pair::excess`] may be wrong in floating
    /// point. Assumed, and measured against values in higher precision; not proven.
    pub(crate) fn evaluation_error(&self) -> f64 {
        match self {
            // Losses are differences of numbers of the size of mu, in tails of up to forty
            // deviations.
            Self::Gaussian { mu }
            | Self::PoissonRemove { mu, .. }
            | Self::PoissonAdd { mu, .. }
            | Self::PoissonReplace { mu, .. }
            | Self::FixedReplace { mu, .. } => 1e-11 + 1e-14 * mu,
            Self::Laplace { .. }
            | Self::Response { .. }
            | Self::BoundedRange { .. }
            | Self::Approx { .. }
            | Self::Table(_) => 1e-13,
        }
    }

    /// The profile, raised by more than its rounding error, and above zero below the largest loss:
    /// there it may be less than any number here, but it is not nothing.
    pub(crate) fn delta_upper(&self, epsilon: f64) -> f64 {
        let least = if epsilon < self.largest_loss() { f64::MIN_POSITIVE } else { 0.0 };
        (self.delta(epsilon) * (1.0 + self.evaluation_error())).min(1.0).max(least)
    }

    /// The largest finite loss, rounded up; infinite for Gaussian noise.
    pub(crate) fn largest_loss(&self) -> f64 {
        match *self {
            Self::Laplace { epsilon }
            | Self::Response { epsilon }
            | Self::BoundedRange { epsilon }
            | Self::Approx { epsilon, .. } => epsilon,
            Self::Table(ref table) => table.largest_loss(),
            Self::PoissonAdd { rate, .. } if rate < 1.0 => -(-rate).ln_1p() * (1.0 + 1e-15),
            _ => f64::INFINITY,
        }
    }

    /// Losses between which the profile is smooth, dense where the law is, such that both tails
    /// beyond hold about `tail` or less.
    pub(crate) fn knots(&self, tail: f64) -> Knots {
        let reach = (-2.0 * tail.max(1e-300).ln()).sqrt().clamp(3.0, 38.0);
        match self {
            Self::Gaussian { mu } => sampled::knots(1.0, *mu, reach),
            Self::PoissonRemove { rate, mu } => sampled::knots(*rate, *mu, reach),
            Self::PoissonAdd { rate, mu } => sampled::knots(*rate, *mu, reach).mirrored(),
            Self::PoissonReplace { rate, mu } => replace::poisson_knots(*rate, *mu, reach),
            Self::FixedReplace { rate, mu } => replace::fixed_knots(*rate, *mu, reach),
            Self::Laplace { epsilon } | Self::BoundedRange { epsilon } => Knots::between(*epsilon),
            Self::Response { epsilon } | Self::Approx { epsilon, .. } => Knots::kinks(*epsilon),
            Self::Table(table) => table.knots(),
        }
    }
}

/// Losses at which a profile is worth knowing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Knots {
    /// Increasing; between two of them the profile is smooth.
    pub(crate) points: Vec<f64>,
    /// Those of them at which it bends.
    pub(crate) kinks: Vec<f64>,
    /// Whether the profile is linear in `e^ε` between the kinks, so that nothing lies between them.
    pub(crate) linear: bool,
}

impl Knots {
    /// The points of a loss that increases in `x`, thinned to those that differ.
    fn of_loss(loss: impl Fn(f64) -> f64, from: f64, to: f64) -> Self {
        let step = ((to - from) / 3000.0).max(0.1);
        let count = ((to - from) / step).ceil() as usize;
        let (low, high) = (loss(from), loss(to));
        let gap = 1e-8 * (high - low);
        let mut points = vec![low];
        for i in 1..count {
            let e = loss(from + step * i as f64);
            if e > points[points.len() - 1] + gap && e < high - gap {
                points.push(e);
            }
        }
        if high > low {
            points.push(high);
        }
        Self { points, kinks: Vec::new(), linear: false }
    }

    /// The distance from the first to the last.
    pub(crate) fn span(&self) -> f64 {
        self.points[self.points.len() - 1] - self.points[0]
    }

    /// Evenly between the kinks `±epsilon`.
    fn between(epsilon: f64) -> Self {
        let points = (-40..=40).map(|i| epsilon * f64::from(i) / 40.0).collect();
        Self { points, kinks: vec![-epsilon, epsilon], linear: false }
    }

    /// Only the kinks `±epsilon`.
    fn kinks(epsilon: f64) -> Self {
        let kinks = vec![-epsilon, epsilon];
        Self { points: vec![-epsilon, 0.0, epsilon], kinks, linear: true }
    }

    /// The points of the pair with its laws exchanged.
    fn mirrored(mut self) -> Self {
        self.points.reverse();
        self.points.iter_mut().chain(&mut self.kinks).for_each(|e| *e = -*e);
        self
    }
}
