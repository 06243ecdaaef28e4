//! What may be asked of the rows: the closed list of sums, and the part of a sum that a block has.
//!
//! A table in memory is one block; a table that comes in blocks, from a file or on a cluster, answers
//! each question block by block. Everything an answer depends on is in the question, the rows and
//! the number of the first of them, so a block may be asked twice, anywhere, and says the same.

use std::borrow::Cow;
use std::ops::Range;

use reticent_noise::batch::Draw;
use reticent_problem::Problem;

use crate::kernel::clipped::{Clip, Sizes};
use crate::kernel::robust::{Chosen, Rule};
use crate::{Common, Rows, Sensitive, kernel};

/// A sum over rows. `∇ℓ` is the gradient of the problem's data loss, without ridge. Sums are taken
/// in a fixed order.
#[derive(Clone)]
pub enum Question<'a> {
    /// `Σ_i ∇ℓ(at; xᵢ, yᵢ)`.
    Gradient {
        /// The weights, which may depend on the rows.
        at: &'a Sensitive<Vec<f64>>,
    },
    /// `Σ_{i in batch} g_i·min(1, clip/‖g_i‖)` with `g_i = ∇ℓ(at; xᵢ, yᵢ)`. No row adds more than
    /// `clip`, up to rounding ([`batch_depth`](crate::batch_depth)), whatever the weights are.
    Batch {
        /// The rows, by their numbers.
        batch: &'a [usize],
        /// The clipping norm.
        clip: f64,
        /// The weights.
        at: &'a [f64],
    },
    /// `Σ_i clip(∇ℓ(at; xᵢ, yᵢ))` over the rows of `draw`: each row's gradient is scaled to l2 norm at
    /// most `clip`. A gradient with an entry that is not finite counts as zero.
    ///
    /// When a row joins or leaves the batch the sum moves by at most `clip ·`
    /// [`clip_rounding`](crate::clip_rounding).
    ///
    /// With a `P` in `common`, a row is scaled such that `P` times its gradient has norm at most
    /// `clip`. It is then `P` times the sum ([`Common::shorten`]) that moves by at most `clip ·`
    /// [`shortened_rounding`](crate::shortened_rounding). For linear models.
    Clipped {
        /// Which rows join.
        draw: Draw<'a>,
        /// The clipping norm.
        clip: f64,
        /// `P`.
        common: Option<&'a Common>,
        /// The weights.
        at: &'a [f64],
    },
    /// The sum of the chosen rows' gradients, each left out or clipped by the rule: for rows that
    /// nothing bounds.
    Robust {
        /// Which rows.
        chosen: Chosen<'a>,
        /// What becomes of a long gradient.
        rule: Rule,
        /// The weights.
        at: &'a [f64],
    },
    /// Entry `j` is the number of rows whose largest possible gradient is shorter than `grid[j]`, for
    /// an increasing grid. One row moves each count by at most 1. With a `P` in `common`, gradients
    /// count as long as `P` times them are. Labels that are numbers count from what the weights `from`
    /// predict; with none, from zero.
    Below {
        /// `P`.
        common: Option<&'a Common>,
        /// Weights, or none.
        from: &'a [f64],
        /// Lengths.
        grid: &'a [f64],
    },
    /// `(Σ_i xᵢ, Σ_i xᵢ∘xᵢ, Σ_i yᵢ)`: the rows, their entries' squares and their labels. For rows of norm
    /// at most `B` with entries up to `E` and labels up to `Y`, when a row joins or leaves the parts
    /// move by at most `B`, `BE` and `Y`, each times [`moments_rounding`](crate::moments_rounding).
    Moments,
    /// One number: how well weights predict the rows. Each counts between 0 and 1, a class that is
    /// right 1, a number the more the nearer. Whatever the weights are, one row moves it by at most 1.
    Score {
        /// The weights.
        at: &'a [f64],
    },
}

/// Rows that lie together in a table.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    pub(crate) rows: &'a Rows,
    /// The number of the first of them.
    pub(crate) first: usize,
    /// How many rows of the whole table a draw picks, where they are known; a block that is the whole
    /// table counts for itself.
    pub(crate) drawn: Option<usize>,
    /// The rows' lengths, where somebody keeps them from question to question.
    pub(crate) sizes: Option<&'a Sizes>,
}

/// Room that is kept from question to question.
#[derive(Default)]
pub(crate) struct Scratch {
    numbers: Vec<f64>,
    pub(crate) clipped: kernel::clipped::Scratch,
}

impl Question<'_> {
    /// How many numbers an answer has.
    pub fn width(&self, problem: &Problem) -> usize {
        match self {
            Self::Gradient { at } => at.point().len(),
            Self::Batch { at, .. } | Self::Clipped { at, .. } | Self::Robust { at, .. } => at.len(),
            Self::Below { grid, .. } => grid.len(),
            Self::Score { .. } => 1,
            Self::Moments => 2 * problem.features + 1,
        }
    }

    /// The rows that an answer reads, of a table of `rows` rows.
    pub(crate) fn range(&self, rows: usize) -> Range<usize> {
        match self {
            Self::Robust { chosen: Chosen::Block(range), .. } => range.clone(),
            _ => 0..rows,
        }
    }

    /// How many rows a draw picks in all, where the way of summation depends on it; where it does not,
    /// more than any: whoever asks all the same then sums in double precision, which needs no charge.
    pub(crate) fn drawn(&self, problem: &Problem, rows: usize) -> usize {
        const AT_A_TIME: usize = 1 << 16;
        let Self::Clipped { draw, .. } = self else { return usize::MAX };
        if !kernel::clipped::asks_for_total(problem, draw.rate.value()) {
            return usize::MAX;
        }
        let (mut total, mut drawn) = (0, Vec::new());
        for first in (0..rows).step_by(AT_A_TIME) {
            drawn.clear();
            draw.rows(first..rows.min(first + AT_A_TIME), &mut drawn);
            total += drawn.len();
        }
        total
    }

    /// `into =` the part of the sum that a block has in it.
    pub(crate) fn answer(
        &self,
        problem: &Problem,
        block: Block<'_>,
        scratch: &mut Scratch,
        into: &mut [f64],
    ) {
        let Block { rows, .. } = block;
        let Scratch { numbers, clipped } = scratch;
        let limit = problem.slope_limit.unwrap_or(f64::INFINITY);
        match *self {
            Self::Gradient { at } => {
                let room = room(numbers, kernel::scratch_len(rows.len(), into.len()));
                kernel::gradient_sum(rows, problem.loss, limit, at.point(), into, room);
            }
            Self::Clipped { ref draw, clip, common, at } => {
                let (rate, batch) = (draw.rate.value(), &mut clipped.batch);
                let total = match block.drawn {
                    None => {
                        clipped.draw(draw, rows.len());
                        clipped.batch.len()
                    }
                    Some(total) => {
                        batch.clear();
                        draw.rows(block.first..block.first + rows.len(), batch);
                        for row in batch.iter_mut() {
                            *row -= block.first;
                        }
                        if batch.is_empty() {
                            return into.fill(0.0);
                        }
                        total
                    }
                };
                clipped_batch(problem, block, rate, total, clip, common, at, into, clipped);
            }
            Self::Batch { batch, clip, at } => {
                let batch = block.listed(batch);
                let bounds = kernel::batch::Bounds { limit, clip };
                let needed = kernel::batch::scratch_len(rows, problem.loss, batch.len(), at.len());
                let room = room(numbers, needed);
                kernel::batch::sum_called(rows, problem.loss, bounds, &batch, at, into, room);
            }
            Self::Robust { ref chosen, rule, at } => {
                let listed;
                let here = match chosen {
                    Chosen::Block(range) => Chosen::Block(block.clamp(range)),
                    Chosen::Listed(list) => {
                        listed = block.listed(list);
                        Chosen::Listed(&listed)
                    }
                };
                let room = room(numbers, kernel::scratch_len(here.len(), at.len()));
                kernel::robust::sum(rows, problem, &here, rule, at, into, room);
            }
            Self::Below { common, from, grid } => {
                let sizes = block.sizes(common);
                kernel::below::count_below(rows, problem, &sizes, from, grid, into);
            }
            Self::Score { at } => into[0] = kernel::score::score(rows, problem, at),
            Self::Moments => {
                let room = room(numbers, kernel::scratch_len(rows.len(), into.len()));
                kernel::row_moments(rows, into, room);
            }
        }
    }
}

/// `into =` the clipped sum of the batch in `scratch`, which was drawn at `rate` and has `total` rows in
/// all blocks.
#[allow(clippy::too_many_arguments, reason = "the parts of one question, and where it goes")]
pub(crate) fn clipped_batch(
    problem: &Problem,
    block: Block<'_>,
    rate: f64,
    total: usize,
    clip: f64,
    common: Option<&Common>,
    at: &[f64],
    into: &mut [f64],
    scratch: &mut kernel::clipped::Scratch,
) {
    let (rows, sizes) = (block.rows, block.sizes(common));
    let clip = Clip::new(clip, common);
    kernel::clipped::sum(rows, &sizes, problem, rate, total, clip, at, into, scratch);
}

impl<'a> Block<'a> {
    /// A whole table.
    pub(crate) fn whole(rows: &'a Rows, sizes: &'a Sizes) -> Self {
        Self { rows, first: 0, drawn: None, sizes: Some(sizes) }
    }

    /// The rows' lengths.
    fn sizes(&self, common: Option<&Common>) -> std::sync::Arc<[f64]> {
        match self.sizes {
            Some(kept) => kept.of(self.rows.features(), common),
            None => kernel::clipped::norms(self.rows.features(), common).into(),
        }
    }

    /// The numbers of `list` that lie here, counted from the first row.
    fn listed<'b>(&self, list: &'b [usize]) -> Cow<'b, [usize]> {
        if self.drawn.is_none() {
            return list.into();
        }
        let here = self.first..self.first + self.rows.len();
        list.iter().filter(|row| here.contains(row)).map(|row| row - self.first).collect()
    }

    /// The part of `range` that lies here, counted from the first row.
    pub(crate) fn clamp(&self, range: &Range<usize>) -> Range<usize> {
        let start = range.start.max(self.first);
        let end = range.end.min(self.first + self.rows.len());
        start - self.first..end.max(start) - self.first
    }
}

fn room(numbers: &mut Vec<f64>, needed: usize) -> &mut [f64] {
    if numbers.len() < needed {
        numbers.resize(needed, 0.0);
    }
    &mut numbers[..needed]
}
