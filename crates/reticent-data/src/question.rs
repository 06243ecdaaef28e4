//! The questions that may be asked of the rows: the closed list of sums, and the part of a sum that
//! a block has.
//!
//! A table in memory is one block; a table that comes in blocks, from a file or on a cluster,
//! answers each question block by block. Everything an answer depends on is in the question, the
//! rows and the number of the first of them, so a block may be asked twice, anywhere, and says the
//! same.

use std::borrow::Cow;
use std::ops::Range;

use reticent_noise::batch::Draw;
use reticent_problem::Problem;

use crate::kernel::clipped::{Clip, Sizes};
use crate::kernel::robust::{Chosen, RobustRule};
use crate::kernel::units::Finish;
use crate::shares::Shares;
use crate::{Preconditioner, Rows, Sensitive, kernel};

/// A sum over rows. `∇ℓ` is the gradient of the problem's data loss, without ridge; where rows have
/// weights, times the row's weight. Sums are taken in a fixed order.
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
    /// `Σ_i clip(∇ℓ(at; xᵢ, yᵢ))` over the rows of `draw`: each row's gradient is scaled to l2 norm
    /// at most `clip`. A gradient with an entry that is not finite counts as zero.
    ///
    /// When a row joins or leaves the batch the sum moves by at most `clip ·`
    /// [`clip_rounding`](crate::clip_rounding).
    ///
    /// With a `P` in `common`, a row is scaled such that `P` times its gradient has norm at most
    /// `clip`. It is then `P` times the sum ([`Preconditioner::apply`]) that moves by at most
    /// `clip ·` [`shortened_rounding`](crate::shortened_rounding). For linear models.
    Clipped {
        /// Which rows join.
        draw: Draw<'a>,
        /// The clipping norm.
        clip: f64,
        /// `P`.
        preconditioner: Option<&'a Preconditioner>,
        /// The weights.
        at: &'a [f64],
    },
    /// The sum of the chosen rows' gradients, each left out or clipped by the rule: for rows that
    /// nothing bounds.
    Robust {
        /// Which rows.
        chosen: Chosen<'a>,
        /// The rule for long gradients.
        rule: RobustRule,
        /// The weights.
        at: &'a [f64],
    },
    /// Entry `j` is the number of rows whose largest possible gradient is shorter than `grid[j]`,
    /// for an increasing grid. One row moves each count by at most 1. With a `P`, the length of `P`
    /// times the gradient counts. Regression targets count from the prediction of the weights
    /// `from`; without weights, from zero. With a logarithmic link and weights `from` the gradient
    /// at them counts.
    Below {
        /// `P`.
        preconditioner: Option<&'a Preconditioner>,
        /// Weights, or none.
        from: &'a [f64],
        /// Lengths.
        grid: &'a [f64],
    },
    /// `(Σ_i xᵢ, Σ_i xᵢ∘xᵢ, Σ_i yᵢ)`: the rows, their entries' squares and their labels, whatever
    /// the rows' weights are. For rows
    /// of norm at most `B` with entries up to `E` and labels up to `Y`, when a row joins or leaves
    /// the parts move by at most `B`, `BE` and `Y`, each times
    /// [`moments_rounding`](crate::moments_rounding).
    Moments,
    /// `(Σ_i φ''_i xᵢxᵢᵀ, Σ_i (φ'_i)² xᵢxᵢᵀ)` of a loss with one output, upper triangles row after
    /// row: the curvature of the loss at these weights, and the squares of its gradients. When a
    /// row joins or leaves, each moves by a positive semi-definite matrix, the first of Frobenius
    /// norm at most the loss's smoothness, the second at most its squared Lipschitz constant, each
    /// up to [`curvature_rounding`](crate::curvature_rounding).
    Curvature {
        /// The weights.
        at: &'a [f64],
    },
    /// One number: how well weights predict the rows. Each counts between 0 and 1: a correct class
    /// 1, a regression prediction the more the nearer it is. For any weights, one row moves it by
    /// at most 1.
    Score {
        /// The weights.
        at: &'a [f64],
    },
}

/// Rows that lie together in a table. Numbers, here and in lists and draws, are those of records:
/// of rows, or of units.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    pub(crate) rows: &'a Rows,
    /// The number of the first record.
    pub(crate) first: usize,
    /// How many records of the whole table a draw picks, where they are known; a block that is the
    /// whole table counts for itself.
    pub(crate) drawn: Option<usize>,
    /// The rows' lengths, where somebody keeps them from question to question.
    pub(crate) sizes: Option<&'a Sizes>,
}

/// Room that is kept from question to question.
#[derive(Default)]
pub(crate) struct Scratch {
    numbers: Vec<f64>,
    pub(crate) clipped: kernel::clipped::ClippedScratch,
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
            Self::Curvature { at } => at.len() * (at.len() + 1),
        }
    }

    /// The records that an answer reads, of a table of `rows` records.
    pub(crate) fn range(&self, rows: usize) -> Range<usize> {
        match self {
            Self::Robust { chosen: Chosen::Block(range), .. } => range.clone(),
            _ => 0..rows,
        }
    }

    /// How many rows a draw picks in all, where the way of summation depends on it; where it does
    /// not, more than any: anyone who asks all the same then sums in double precision, which needs
    /// no charge.
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
        if let Some(shares) = rows.shares() {
            return self.answer_shares(problem, block, shares, scratch, into);
        }
        let limit = problem.slope_limit.unwrap_or(f64::INFINITY);
        match *self {
            Self::Gradient { at } => {
                let room = room(numbers, kernel::scratch_len(rows.len(), into.len()));
                kernel::gradient_sum(rows, problem.loss, limit, at.point(), into, room);
            }
            Self::Clipped { ref draw, clip, preconditioner, at } => {
                block.draw(draw, clipped);
                if block.drawn.is_some() && clipped.batch.is_empty() {
                    return into.fill(0.0);
                }
                let total = block.drawn.unwrap_or(clipped.batch.len());
                let rate = draw.rate.value();
                clipped_batch(problem, block, rate, total, clip, preconditioner, at, into, clipped);
            }
            Self::Batch { batch, clip, at } => {
                let batch = block.listed(batch);
                let bounds = kernel::batch::Bounds { limit, clip };
                let needed = kernel::batch::scratch_len(rows, problem.loss, batch.len(), at.len());
                let room = room(numbers, needed);
                kernel::batch::sum_called(rows, problem.loss, bounds, &batch, at, into, room);
            }
            Self::Robust { ref chosen, rule, at } => {
                block.with_chosen(chosen, |here| {
                    let room = room(numbers, kernel::scratch_len(here.len(), at.len()));
                    kernel::robust::sum(rows, problem, here, rule, at, into, room);
                });
            }
            Self::Below { preconditioner, from, grid } => {
                let sizes = block.sizes(preconditioner);
                kernel::below::count_below(rows, problem, &sizes, from, grid, into);
            }
            Self::Score { at } => into[0] = kernel::score::score(rows, problem, at),
            Self::Moments => {
                let room = room(numbers, kernel::scratch_len(rows.len(), into.len()));
                kernel::row_moments(rows, into, room);
            }
            Self::Curvature { at } => {
                let room = room(numbers, kernel::scratch_len(rows.len(), into.len()));
                kernel::curvature::sum(rows, problem, at, into, room);
            }
        }
    }
}

impl Question<'_> {
    /// The same where a record is a unit of several rows or rows have weights: sums over records,
    /// whose numbers draws and lists hold. Moments and scores do not know weights: they tell how
    /// large features are, and how many rows are predicted.
    fn answer_shares(
        &self,
        problem: &Problem,
        block: Block<'_>,
        shares: Shares<'_>,
        scratch: &mut Scratch,
        into: &mut [f64],
    ) {
        let rows = block.rows;
        let Scratch { numbers, clipped } = scratch;
        let mut sum = |chosen: &Chosen<'_>, finish: &Finish<'_>, at: &[f64]| {
            let room = room(numbers, kernel::scratch_len(chosen.len(), into.len()));
            kernel::units::sum(rows, shares, problem, chosen, finish, at, into, room);
        };
        match *self {
            Self::Gradient { at } => sum(&Chosen::Block(0..shares.len()), &Finish::Add, at.point()),
            Self::Batch { batch, clip, at } => {
                let here = block.listed(batch);
                sum(&Chosen::Listed(&here), &Finish::Clip { clip, preconditioner: None }, at);
            }
            Self::Clipped { ref draw, clip, preconditioner, at } => {
                block.draw(draw, clipped);
                sum(&Chosen::Listed(&clipped.batch), &Finish::Clip { clip, preconditioner }, at);
            }
            Self::Robust { ref chosen, rule, at } => {
                block.with_chosen(chosen, |here| sum(here, &Finish::Rule(rule), at));
            }
            Self::Moments => {
                let room = room(numbers, kernel::scratch_len(shares.len(), into.len()));
                match rows.several() {
                    Some(_) => kernel::units::moments(rows, shares.without_weights(), into, room),
                    None => kernel::row_moments(rows, into, room),
                }
            }
            Self::Curvature { at } => {
                let room = room(numbers, kernel::scratch_len(shares.len(), into.len()));
                kernel::curvature::sum(rows, problem, at, into, room);
            }
            // A count or a score of units is taken where that of rows is.
            Self::Below { preconditioner, from, grid } => {
                let sizes = block.sizes(preconditioner);
                kernel::below::count_below(rows, problem, &sizes, from, grid, into);
            }
            Self::Score { at } => into[0] = kernel::score::score(rows, problem, at),
        }
    }
}

/// `into =` the clipped sum of the batch in `scratch`, which was drawn at `rate` and has `total`
/// rows in all blocks.
#[allow(clippy::too_many_arguments, reason = "the parts of one question, and where it goes")]
pub(crate) fn clipped_batch(
    problem: &Problem,
    block: Block<'_>,
    rate: f64,
    total: usize,
    clip: f64,
    preconditioner: Option<&Preconditioner>,
    at: &[f64],
    into: &mut [f64],
    scratch: &mut kernel::clipped::ClippedScratch,
) {
    let (rows, sizes) = (block.rows, block.sizes(preconditioner));
    let clip = Clip::new(clip, preconditioner);
    kernel::clipped::sum(rows, &sizes, problem, rate, total, clip, at, into, scratch);
}

impl<'a> Block<'a> {
    /// A whole table.
    pub(crate) fn whole(rows: &'a Rows, sizes: &'a Sizes) -> Self {
        Self { rows, first: 0, drawn: None, sizes: Some(sizes) }
    }

    /// The rows' lengths.
    fn sizes(&self, preconditioner: Option<&Preconditioner>) -> std::sync::Arc<[f64]> {
        match self.sizes {
            Some(kept) => kept.of(self.rows.features(), preconditioner),
            None => kernel::clipped::norms(self.rows.features(), preconditioner).into(),
        }
    }

    /// Writes the records here that a draw picks to the batch, counted from the first.
    fn draw(&self, draw: &Draw<'_>, to: &mut kernel::clipped::ClippedScratch) {
        let records = self.rows.records();
        if self.drawn.is_none() {
            return to.draw(draw, records);
        }
        to.batch.clear();
        draw.rows(self.first..self.first + records, &mut to.batch);
        to.batch.iter_mut().for_each(|record| *record -= self.first);
    }

    /// Runs `work` on those of the chosen records that lie here, counted from the first.
    fn with_chosen(&self, chosen: &Chosen<'_>, work: impl FnOnce(&Chosen<'_>)) {
        match chosen {
            Chosen::Block(range) => work(&Chosen::Block(self.clamp(range))),
            Chosen::Listed(list) => work(&Chosen::Listed(&self.listed(list))),
        }
    }

    /// The numbers of `list` that lie here, counted from the first record.
    fn listed<'b>(&self, list: &'b [usize]) -> Cow<'b, [usize]> {
        if self.drawn.is_none() {
            return list.into();
        }
        let here = self.first..self.first + self.rows.records();
        list.iter().filter(|row| here.contains(row)).map(|row| row - self.first).collect()
    }

    /// The part of `range` that lies here, counted from the first record.
    pub(crate) fn clamp(&self, range: &Range<usize>) -> Range<usize> {
        let start = range.start.max(self.first);
        let end = range.end.min(self.first + self.rows.records());
        start - self.first..end.max(start) - self.first
    }
}

fn room(numbers: &mut Vec<f64>, needed: usize) -> &mut [f64] {
    if numbers.len() < needed {
        numbers.resize(needed, 0.0);
    }
    &mut numbers[..needed]
}
