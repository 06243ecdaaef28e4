//! Tables larger than one machine: an oracle whose rows lie with workers that answer questions.
//!
//! The workers hold blocks of encoded rows ([`write_row`], [`Packer`]), compute each block's part
//! of a sum ([`Worker`]), and put partial sums together ([`merge`]). The optimiser runs where the
//! oracle is, asks for sums as of any table, and draws the noise there, once. A [`Workers`] carries
//! questions and sums: Spark from Python, threads in the tests.
//!
//! # How rows get their numbers
//!
//! Each row is sent to one of a public number of buckets by a hash, sorted there by its bytes, and
//! numbered bucket after bucket. So numbers follow from the rows as a set. Who read which part of
//! the table, how many machines there are, and how often a part was computed again, change no
//! number, and with it no batch and no bit of a sum (see `tree.rs`).
//!
//! # Guarantee
//!
//! A row that is replaced, joins or leaves may shift the numbers of all others. That is harmless
//! for an algorithm whose release has a law that depends on the rows as a set, and such algorithms
//! alone are let in (`reticent::check_cluster`):
//!
//! - *Sums over all rows* (objective, output-gd, mirror, coordinate-mean, full least-squares) do
//!   not know numbers.
//! - *Poisson batches.* Whether number `i` joins step `t` is a coin that depends on `(key, t, i)`
//!   and on nothing of the table. Numbers are a function of the table, so given the table, whatever
//!   it is, rows join independently with probability `q` each. Under another numbering the coins
//!   fall on other rows with the same law: the event "each row on its own with probability `q`" is
//!   the same.
//! - *Batches of one size, and random orders* are uniform over all choices of numbers, hence over
//!   all choices of rows.
//!
//! An algorithm that gives consecutive rows to consecutive steps (phased, truncated-mirror) relies
//! on a replaced row changing one step only; when numbers shift, every step may change, and its
//! guarantee would be void. It is refused.
//!
//! Rounding: a bound that is charged for a computed sum allows each of two neighbouring sums its
//! own error against the exact one, whatever the order of rows
//! ([`summation_depth`](crate::summation_depth), [`clip_rounding`](crate::clip_rounding)). A row
//! passes through the additions within its block and at most 64 more, as all oracles are charged
//! for.
//!
//! # Units
//!
//! Where a unit is the record, all its rows go to one bucket, by a hash of its key, and lie
//! together there, told apart by the key itself: a hash that two units share puts two units into
//! one bucket, never together. Of a unit's rows the first ones in the order of a hash of their
//! contents are kept, which reads that unit's rows alone. All of the above holds with units in the
//! place of rows.
//!
//! # When something is lost
//!
//! A machine that dies takes blocks with it. They are computed again, and held against the
//! catalogue of the first pass ([`Catalogue`]). Draws are repeated, not redrawn: the sampling key
//! is part of the question. If a block comes out different, is missing or comes twice, or if a
//! question is not answered, the oracle answers with an error and nothing is released.

mod block;
mod catalogue;
mod worker;

use reticent_problem::{Problem, ProblemError, RowBounds, Unit};

pub use self::block::{Format, Packed, Packer, write_row};
pub use self::catalogue::{Catalogue, Counted};
pub use self::worker::{Answer, SentBlock, Worker, merge};
use crate::kernel::robust::Chosen;
use crate::oracle::{Oracle, OracleError};
use crate::question::Question;
use crate::tree::Tree;
use crate::{Sensitive, sent};

/// Why workers cannot go on. Never because of what a row holds.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// About threads.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// About the features of a kernel model.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Bytes that nobody wrote.
    #[error("{0} did not arrive as it was sent; use the same version of the package everywhere")]
    Unreadable(&'static str),
    /// Rows that were not sorted.
    #[error("the rows of a bucket or of a unit did not arrive together")]
    Order,
    /// A block is not there.
    #[error("a block of rows is missing")]
    Missing,
    /// A block is there twice.
    #[error("a block of rows came twice")]
    Twice,
    /// A block differs from what was counted.
    #[error(
        "the table gave other rows when a part of it was computed again; write it to files first and read those"
    )]
    Changed,
}

/// Anyone who puts questions to all blocks.
pub trait Workers: Sync {
    /// Puts a question to every block of the catalogue, once, and gives their sums as [`merge`]
    /// puts them together.
    ///
    /// # Errors
    ///
    /// Why there is no answer, in words that tell nothing about a row. Nothing will be released.
    fn ask(&self, question: &[u8]) -> Result<Vec<u8>, String>;
}

/// Buckets for a table of a public number of records, in blocks of at most `limit`: on average
/// three quarters of a block, so that nearly every bucket is one block.
pub fn buckets(records: usize, limit: usize) -> usize {
    records.div_ceil((limit - limit / 4).max(1)).clamp(1, u32::MAX as usize)
}

/// Rows that lie with workers.
pub struct ClusterOracle<W> {
    workers: W,
    rows: usize,
    blocks: u64,
    columns: usize,
    bounds: RowBounds,
    unit: Option<Unit>,
    weighted: bool,
}

impl<W: Workers> ClusterOracle<W> {
    /// The records of a catalogue, with so many features within these bounds.
    pub fn new(
        workers: W,
        catalogue: &Catalogue,
        unit: Option<&Unit>,
        columns: usize,
        bounds: RowBounds,
    ) -> Self {
        let (rows, blocks) = (catalogue.records(), catalogue.blocks() as u64);
        Self { workers, rows, blocks, columns, bounds, unit: unit.cloned(), weighted: false }
    }

    /// The same where rows have weights, if `weighted`.
    #[must_use]
    pub fn with_weights(self, weighted: bool) -> Self {
        Self { weighted, ..self }
    }

    /// `into =` the sum of what the blocks answer.
    fn sum(
        &self,
        problem: &Problem,
        question: &Question<'_>,
        into: &mut [f64],
    ) -> Result<(), String> {
        let drawn = question.drawn(problem, self.rows);
        let bytes = sent::write(problem, question, drawn).ok_or("a question cannot be written")?;
        let sums = self.workers.ask(&bytes)?;
        let tree = Tree::from_bytes(&sums).ok_or("a sum did not arrive as it was sent")?;
        if tree.total(self.blocks, into) { Ok(()) } else { Err(ClusterError::Missing.to_string()) }
    }
}

impl<W: Workers> Oracle for ClusterOracle<W> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn unit(&self) -> Option<&Unit> {
        self.unit.as_ref()
    }

    fn weighted(&self) -> bool {
        self.weighted
    }

    fn features(&self) -> usize {
        self.columns
    }

    fn bounds(&self) -> RowBounds {
        self.bounds
    }

    /// Of all rows, or of a list of random ones; consecutive rows have no meaning here.
    fn ask(
        &self,
        problem: &Problem,
        question: &Question<'_>,
        into: &mut Sensitive<Vec<f64>>,
    ) -> Result<(), OracleError> {
        match question {
            Question::Robust { chosen: Chosen::Block(range), .. } if *range != (0..self.rows) => {
                Err(OracleError::NoOrder)
            }
            _ => into.compute(|into| {
                self.sum(problem, question, into).map_err(|why| {
                    into.fill(0.0);
                    OracleError::Unread { why }
                })
            }),
        }
    }
}
