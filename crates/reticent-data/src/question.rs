//! What an oracle may ask of a block of rows, and the block's answer: its part of a sum.
//!
//! A table that comes in blocks, from a file or on a cluster, answers each question block by block. Everything an answer depends on
//! is in the question, the rows and the number of the first of them, so a block may be asked twice, anywhere, and says the same.

use std::ops::Range;

use reticent_noise::Randomness;
use reticent_noise::batch::{Draw, SampleKey, SampleRate};
use reticent_problem::Problem;

use crate::kernel::robust::{Chosen, Rule};
use crate::wire::{Reader, Writer};
use crate::{Common, Rows, kernel};

/// Rows of the whole table, by their numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Named {
    /// Consecutive ones.
    Block(Range<usize>),
    /// Those of a list, in its order.
    Listed(Vec<usize>),
}

impl From<&Chosen<'_>> for Named {
    fn from(chosen: &Chosen<'_>) -> Self {
        match chosen {
            Chosen::Block(range) => Self::Block(range.clone()),
            Chosen::Listed(list) => Self::Listed(list.to_vec()),
        }
    }
}

/// A question to every block. See [`Oracle`](crate::Oracle) for what each sum is.
pub(crate) enum Question {
    /// All gradients.
    Gradient { at: Vec<f64> },
    /// Clipped gradients of a drawn batch of `total` rows.
    Clipped {
        key: SampleKey,
        step: u64,
        rate: SampleRate,
        total: usize,
        clip: f64,
        common: Option<Common>,
        at: Vec<f64>,
    },
    /// Clipped gradients of a listed batch.
    Batch { batch: Vec<usize>, clip: f64, at: Vec<f64> },
    /// Gradients that nothing bounds, by a rule.
    Robust { chosen: Named, rule: Rule, at: Vec<f64> },
    /// How many rows lie below each length, their labels counted from what weights predict.
    Below { common: Option<Common>, from: Vec<f64>, grid: Vec<f64> },
    /// How well weights predict.
    Score { at: Vec<f64> },
    /// The sums of all rows of so many features, of their squares and of their labels.
    Moments { features: usize },
}

/// Room that is kept from block to block.
#[derive(Default)]
pub(crate) struct Scratch {
    numbers: Vec<f64>,
    clipped: kernel::clipped::Scratch,
}

impl Question {
    /// The question for the batch of a draw from a table of `rows` rows.
    pub(crate) fn clipped(
        problem: &Problem,
        draw: &Draw<'_>,
        rows: usize,
        clip: f64,
        common: Option<&Common>,
        at: &[f64],
    ) -> Self {
        let key =
            SampleKey::from_checkpoint(draw.key.secret_for_checkpoint(), draw.key.randomness());
        let total = total(problem, draw, rows);
        let (step, rate, common) = (draw.step, draw.rate, common.cloned());
        Self::Clipped { key, step, rate, total, clip, common, at: at.to_vec() }
    }

    /// `into =` the part of the sum that `rows` have in it; the first of them has the number `first`.
    pub(crate) fn answer(
        &self,
        problem: &Problem,
        first: usize,
        rows: &Rows,
        scratch: &mut Scratch,
        into: &mut [f64],
    ) {
        let Scratch { numbers, clipped } = scratch;
        let limit = problem.slope_limit.unwrap_or(f64::INFINITY);
        match self {
            Self::Gradient { at } => {
                let room = room(numbers, kernel::scratch_len(rows.len(), into.len()));
                kernel::gradient_sum(rows, problem.loss, limit, at, into, room);
            }
            Self::Clipped { key, step, rate, total, clip, common, at } => {
                clipped.batch.clear();
                let draw = Draw { key, step: *step, rate: *rate };
                draw.rows(first..first + rows.len(), &mut clipped.batch);
                for row in &mut clipped.batch {
                    *row -= first;
                }
                into.fill(0.0);
                if clipped.batch.is_empty() {
                    return;
                }
                let norms = kernel::clipped::norms(rows.features(), common.as_ref());
                let rate = rate.value();
                let clip = kernel::clipped::Clip::new(*clip, common.as_ref());
                kernel::clipped::sum(rows, &norms, problem, rate, *total, clip, at, into, clipped);
            }
            Self::Batch { batch, clip, at } => {
                let batch = within(batch, first, rows);
                let bounds = kernel::batch::Bounds { limit, clip: *clip };
                let needed = kernel::batch::scratch_len(rows, problem.loss, batch.len(), at.len());
                let room = room(numbers, needed);
                kernel::batch::sum_called(rows, problem.loss, bounds, &batch, at, into, room);
            }
            Self::Robust { chosen, rule, at } => {
                let listed;
                let here = match chosen {
                    Named::Block(range) => Chosen::Block(clamp(range, first, rows)),
                    Named::Listed(list) => {
                        listed = within(list, first, rows);
                        Chosen::Listed(&listed)
                    }
                };
                let room = room(numbers, kernel::scratch_len(here.len(), at.len()));
                kernel::robust::sum(rows, problem, &here, *rule, at, into, room);
            }
            Self::Below { common, from, grid } => {
                let sizes = kernel::clipped::norms(rows.features(), common.as_ref());
                kernel::below::count_below(rows, problem, &sizes, from, grid, into);
            }
            Self::Score { at } => into[0] = kernel::score::score(rows, problem, at),
            Self::Moments { .. } => {
                let room = room(numbers, kernel::scratch_len(rows.len(), into.len()));
                kernel::row_moments(rows, into, room);
            }
        }
    }

    /// Whether rows are shortened, and labels predicted, if they are, as those of this problem may be.
    pub(crate) fn is_about(&self, problem: &Problem) -> bool {
        match self {
            Self::Below { from, .. } if ![0, problem.features].contains(&from.len()) => false,
            Self::Clipped { common: Some(common), .. }
            | Self::Below { common: Some(common), .. } => {
                common.belongs_to(problem.features, common.keep())
            }
            _ => true,
        }
    }

    /// How many numbers an answer has.
    pub(crate) fn width(&self) -> usize {
        match self {
            Self::Gradient { at }
            | Self::Clipped { at, .. }
            | Self::Batch { at, .. }
            | Self::Robust { at, .. } => at.len(),
            Self::Below { grid, .. } => grid.len(),
            Self::Score { .. } => 1,
            Self::Moments { features } => 2 * features + 1,
        }
    }

    /// The question as bytes, for whoever holds the rows. **As secret as the rows**: with a draw comes its key.
    pub(crate) fn write(&self, to: &mut Writer) {
        match self {
            Self::Gradient { at } => {
                to.whole(0);
                to.numbers(at);
            }
            Self::Clipped { key, step, rate, total, clip, common, at } => {
                to.whole(1);
                to.bytes(key.secret_for_checkpoint().as_slice());
                to.whole(u64::from(key.randomness() == Randomness::Seeded));
                to.whole(*step);
                to.number(rate.value());
                to.whole(*total as u64);
                to.number(*clip);
                write_common(common.as_ref(), to);
                to.numbers(at);
            }
            Self::Batch { batch, clip, at } => {
                to.whole(2);
                to.wholes(batch);
                to.number(*clip);
                to.numbers(at);
            }
            Self::Robust { chosen, rule, at } => {
                to.whole(3);
                match chosen {
                    Named::Block(range) => {
                        to.whole(0);
                        to.wholes(&[range.start, range.end]);
                    }
                    Named::Listed(list) => {
                        to.whole(1);
                        to.wholes(list);
                    }
                }
                match rule {
                    Rule::Truncate { q, threshold, grid } => {
                        to.whole(0);
                        to.numbers(&[*q, *threshold, grid.unwrap_or(f64::NAN)]);
                    }
                    Rule::ClipEntries { bound } => {
                        to.whole(1);
                        to.numbers(&[*bound]);
                    }
                }
                to.numbers(at);
            }
            Self::Below { common, from, grid } => {
                to.whole(4);
                write_common(common.as_ref(), to);
                to.numbers(from);
                to.numbers(grid);
            }
            Self::Score { at } => {
                to.whole(5);
                to.numbers(at);
            }
            Self::Moments { features } => {
                to.whole(6);
                to.whole(*features as u64);
            }
        }
    }

    /// The question that [`Self::write`] wrote.
    pub(crate) fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(match from.whole()? {
            0 => Self::Gradient { at: from.numbers()? },
            1 => {
                let secret: [u8; 32] = from.bytes()?.try_into().ok()?;
                let seeded = from.whole()? == 1;
                let randomness = if seeded { Randomness::Seeded } else { Randomness::Secure };
                Self::Clipped {
                    key: SampleKey::from_checkpoint(secret.into(), randomness),
                    step: from.whole()?,
                    rate: SampleRate::new(from.number()?).ok()?,
                    total: from.count()?,
                    clip: from.number()?,
                    common: Some(read_common(from)?).filter(|common| common.keep() > 0.0),
                    at: from.numbers()?,
                }
            }
            2 => Self::Batch { batch: from.wholes()?, clip: from.number()?, at: from.numbers()? },
            3 => {
                let chosen = match (from.whole()?, from.wholes()?) {
                    (0, ends) => match ends[..] {
                        [start, end] if start <= end => Named::Block(start..end),
                        _ => return None,
                    },
                    (_, list) => Named::Listed(list),
                };
                let rule = match (from.whole()?, from.numbers()?.as_slice()) {
                    (0, &[q, threshold, grid]) => {
                        Rule::Truncate { q, threshold, grid: (!grid.is_nan()).then_some(grid) }
                    }
                    (1, &[bound]) => Rule::ClipEntries { bound },
                    _ => return None,
                };
                Self::Robust { chosen, rule, at: from.numbers()? }
            }
            4 => Self::Below {
                common: Some(read_common(from)?).filter(|common| common.keep() > 0.0),
                from: from.numbers()?,
                grid: from.numbers()?,
            },
            5 => Self::Score { at: from.numbers()? },
            6 => Self::Moments { features: from.count()? },
            _ => return None,
        })
    }
}

fn write_common(common: Option<&Common>, to: &mut Writer) {
    to.number(common.map_or(0.0, Common::keep));
    to.numbers(common.map_or(&[], Common::scales));
    to.numbers(common.map_or(&[], Common::direction));
}

/// What [`write_common`] wrote, to the bit: on every machine the same rows must have the same sizes. Nothing is kept of no direction.
fn read_common(from: &mut Reader<'_>) -> Option<Common> {
    let (keep, scales, direction) = (from.number()?, from.numbers()?, from.numbers()?);
    Some(Common::of_parts(scales, direction, keep))
}

/// How many rows a draw picks in all, where the way of summation depends on it; where it does not, more than any: whoever asks
/// all the same then sums in double precision, which needs no charge.
fn total(problem: &Problem, draw: &Draw<'_>, rows: usize) -> usize {
    const AT_A_TIME: usize = 1 << 16;
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

/// The numbers of `batch` that lie in a block, counted from its first row.
fn within(batch: &[usize], first: usize, rows: &Rows) -> Vec<usize> {
    let block = first..first + rows.len();
    batch.iter().filter(|row| block.contains(row)).map(|row| row - first).collect()
}

/// The part of `range` that lies in a block, counted from its first row.
pub(crate) fn clamp(range: &Range<usize>, first: usize, rows: &Rows) -> Range<usize> {
    let start = range.start.max(first);
    let end = range.end.min(first + rows.len());
    start - first..end.max(start) - first
}

fn room(numbers: &mut Vec<f64>, needed: usize) -> &mut [f64] {
    if numbers.len() < needed {
        numbers.resize(needed, 0.0);
    }
    &mut numbers[..needed]
}
