//! A walk of single-row steps, kept sealed until it ends.
//!
//! From `w₁ = 0`, step `s` of a [`Walk`] draws a row `i` in secret and goes to
//!
//! ```text
//! w_{s+1} = Proj((1 − ημ)·w_s − η ∇ℓ(w_s; x_i, y_i));      at the end:  (w₁ + … + w_T)/T.
//! ```
//!
//! The last of the `T` iterates is averaged and not moved, so `T − 1` rows are used. Which rows,
//! every iterate and the average depend on the data or hide it: all of it lives in a [`WalkState`]
//! inside a [`Sensitive`](crate::Sensitive).
//!
//! # Numerics
//!
//! An oracle computes the walk so that, with unit roundoff `u = 2⁻⁵³`, `d` features and `W` a bound
//! on the iterates' norms ([`rounding`]),
//!
//! - a margin is off by at most `(d + 16)·u·‖x‖·W`;
//! - a step from the computed iterate, given the slope at the computed margin, is off by at most
//!   [`Rounding::step`];
//! - the average of the computed iterates is off by at most [`Rounding::average`].
//!
//! An iterate is held as a number times a vector, so that the ridge and the projection cost
//! nothing, and iterates are added up in stretches of [`stretch`] steps. Between two stretches the
//! norm of a sparse iterate is followed through the entries that change, in twice the precision; at
//! the end of a stretch it is recomputed.

use reticent_noise::batch::shuffle;
use reticent_noise::integer::uniform_below;
use reticent_noise::{Purpose, Source, Stream};
use reticent_problem::Problem;

/// How a walk picks its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkOrder {
    /// Each step a uniform row, independent of all others.
    WithReplacement,
    /// Each pass a fresh uniform order of all rows.
    Permuted,
}

/// The public settings of a walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walk {
    /// How rows are picked.
    pub order: WalkOrder,
    /// `T`: iterates averaged.
    pub steps: u64,
    /// `η`.
    pub eta: f64,
}

/// Steps that one call of [`RandomAccess::walk`](crate::RandomAccess::walk) makes, or as many as
/// are left: a function of the shape.
pub fn stretch(dimension: usize) -> u64 {
    dimension.clamp(1 << 12, 1 << 16) as u64
}

/// How far a computed walk may be from what exact steps would give; see the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// Of a margin, over the norm of the row.
    pub margin: f64,
    /// Of the iterate after a step.
    pub step: f64,
    /// Of the average of the computed iterates.
    pub average: f64,
}

/// The bounds of the [module](self) for iterates of norm at most `reach` and gradients of norm at
/// most `lipschitz`.
///
/// With `P` the length of a stretch:
///
/// - *step*: the update rounds each coordinate once (`u·W`), its factor a few times (`ηL`); a
///   projection scales by a number that is off by what the norm is off: `d + 16` roundings when
///   recomputed, and on sparse rows `P` changes of size `2ηL(R + ηL)` with `d + 8` roundings
///   each;
/// - *average*: `P` additions in a stretch, of terms up to `16P·(W + ηL)` where the sum of a
///   stretch is found from its changes, and one addition for each stretch.
pub fn rounding(problem: &Problem, walk: &Walk, lipschitz: f64, reach: f64) -> Rounding {
    const UNIT: f64 = 1.1 * f64::EPSILON / 2.0;
    let (d, k) = (problem.features as f64, problem.loss.outputs() as f64);
    let p = stretch(problem.dimension()) as f64;
    let push = walk.eta * lipschitz;
    let radius = problem.domain.radius();
    let followed = if radius.is_finite() { 2.0 * p * push * (1.0 + push / radius) } else { 0.0 };
    let stretches = walk.steps as f64 / p + 1.0;
    Rounding {
        margin: UNIT * (d + 16.0) * reach,
        step: UNIT * ((k * d + 32.0) * reach + (k + 32.0) * push + (k * d + 8.0) * followed),
        average: UNIT * (64.0 * p + stretches + 16.0) * (reach + push),
    }
}

/// Where a walk stands: its secrets.
pub struct WalkState {
    features: usize,
    /// Iterates averaged so far.
    pub(crate) done: u64,
    /// The iterate is `scale · direction`, each output's block padded with zeros to whole lanes.
    pub(crate) direction: Vec<f64>,
    pub(crate) scale: f64,
    /// The sum of the iterates of finished stretches.
    pub(crate) total: Vec<f64>,
    /// The current stretch's contribution to it, in the kernel's own terms; zero between stretches.
    pub(crate) stretch: Vec<f64>,
    /// Rows fetched ahead.
    pub(crate) fetched: Vec<f64>,
    /// One number for each output.
    pub(crate) margins: Vec<f64>,
    pub(crate) picks: Picks,
}

/// Weights of one output and fetched rows are padded to a multiple of this many numbers.
pub(crate) const LANES: usize = 8;

/// Rows drawn at once.
pub(crate) const AHEAD: usize = 32;

impl WalkState {
    /// The start of a walk for this problem. Its rows are drawn from a fresh stream of `source`.
    pub fn new(problem: &Problem, source: &Source) -> Self {
        let (outputs, features) = (problem.loss.outputs(), problem.features);
        let width = features.next_multiple_of(LANES);
        Self {
            features,
            done: 0,
            direction: vec![0.0; outputs * width],
            scale: 1.0,
            total: vec![0.0; outputs * width],
            stretch: vec![0.0; outputs * width],
            fetched: Vec::new(),
            margins: vec![0.0; outputs],
            picks: Picks {
                rows: [0; AHEAD],
                order: Vec::new(),
                position: 0,
                stream: source.stream(Purpose::Sampling),
            },
        }
    }

    /// The length of one output's block.
    pub(crate) fn width(&self) -> usize {
        self.features.next_multiple_of(LANES)
    }

    /// The iterate where the walk ended, one block for each output.
    pub fn into_last(self) -> Vec<f64> {
        let blocks = self.direction.chunks_exact(self.width()).map(|block| &block[..self.features]);
        blocks.flatten().map(|x| self.scale * x).collect()
    }

    /// The average of the iterates, one block for each output.
    pub fn into_average(self) -> Vec<f64> {
        let (width, share) = (self.width(), self.done.max(1) as f64);
        let blocks = self.total.chunks_exact(width).map(|block| &block[..self.features]);
        blocks.flatten().map(|sum| sum / share).collect()
    }
}

/// The secret sequence of rows.
pub(crate) struct Picks {
    /// The next ones.
    pub(crate) rows: [u32; AHEAD],
    order: Vec<u32>,
    position: usize,
    stream: Stream,
}

impl Picks {
    /// Draws the next `count` rows of a table of `n`.
    pub(crate) fn draw(&mut self, order: WalkOrder, n: usize, count: usize) {
        for row in &mut self.rows[..count] {
            *row = match order {
                WalkOrder::WithReplacement => uniform_below(n as u64, &mut self.stream) as u32,
                WalkOrder::Permuted => {
                    if self.position == self.order.len() {
                        if self.order.is_empty() {
                            self.order = (0..n as u32).collect();
                        }
                        shuffle(&mut self.order, &mut self.stream);
                        self.position = 0;
                    }
                    self.position += 1;
                    self.order[self.position - 1]
                }
            };
        }
    }
}
