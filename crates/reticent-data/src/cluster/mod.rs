//! Tables larger than one machine: an oracle whose rows lie with workers that answer questions.
//!
//! The workers hold blocks of encoded rows ([`RowBytes`], [`Packer`]), compute each block's part of a sum ([`Worker`]), and put
//! partial sums together ([`merge`]). The optimiser runs where the oracle is, asks for sums as of any table, and draws the noise
//! there, once. What carries questions and sums is a [`Workers`]: Spark from Python, threads in the tests.
//!
//! # How rows get their numbers
//!
//! Each row is sent to one of a public number of buckets by a hash, sorted there by its bytes, and numbered bucket after
//! bucket. So numbers follow from the rows as a set. Who read which part of the table, how many machines there are, and how often a
//! part was computed again, change no number, and with it no batch and no bit of a sum (see `tree.rs`).
//!
//! # Guarantee
//!
//! A row that is replaced, joins or leaves may shift the numbers of all others. That is harmless for an algorithm whose release has a
//! law that depends on the rows as a set, and such algorithms alone are let in (`reticent::check_cluster`):
//!
//! - *Sums over all rows* (objective, output-gd, mirror, coordinate-mean, full least-squares) do not know numbers.
//! - *Poisson batches.* Whether number `i` joins step `t` is a coin that depends on `(key, t, i)` and on nothing of the table.
//!   Numbers are a function of the table, so given the table, whatever it is, rows join independently with probability `q`
//!   each. Under another numbering the coins fall on other rows with the same law: the event "each row on its own with probability `q`" is the same.
//! - *Batches of one size, and random orders* are uniform over all choices of numbers, hence over all choices of rows.
//!
//! An algorithm that gives consecutive rows to consecutive steps (phased, truncated-mirror) relies on a replaced row changing
//! one step only; when numbers shift, every step may change, and its guarantee would be void. It is refused.
//!
//! Rounding: a bound that is charged for a computed sum allows each of two neighbouring sums its own error against the exact one,
//! whatever the order of rows ([`summation_depth`](crate::summation_depth), [`clip_rounding`](crate::clip_rounding)). A row passes through the additions within its block
//! and at most 64 more, as all oracles are charged for.
//!
//! # When something is lost
//!
//! A machine that dies takes blocks with it. They are computed again, and held against the catalogue of the first pass
//! ([`Catalogue`]). Draws are repeated, not redrawn: the coins are in the question. If a block comes out different, is missing or
//! comes twice, or if a question is not answered, [`Oracle::whole`] is an error and nothing is released.

mod block;
mod catalogue;
mod worker;

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use reticent_noise::batch::Draw;
use reticent_problem::{Loss, Problem, ProblemError, RowBounds};

pub use self::block::{Packer, RowBytes};
pub use self::catalogue::Catalogue;
pub use self::worker::{Answer, Worker, merge};
use crate::oracle::{Chosen, Oracle, OracleError, Rule};
use crate::question::{Named, Question};
use crate::stream::block_rows;
use crate::table::TableError;
use crate::tree::Tree;
use crate::{Common, Sensitive};

/// Why workers cannot go on. Never because of what a row holds.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// About the columns.
    #[error(transparent)]
    Table(#[from] TableError),
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
    #[error("the rows of a bucket did not arrive together")]
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

/// Whoever puts questions to all blocks.
pub trait Workers: Sync {
    /// Puts a question to every block of the catalogue, once, and gives their sums as [`merge`] puts them together.
    ///
    /// # Errors
    ///
    /// Why there is no answer, in words that tell nothing about a row. Nothing will be released.
    fn ask(&self, question: &[u8]) -> Result<Vec<u8>, String>;
}

/// Buckets for a table of a public number of rows, in blocks of at most `limit` rows: on average three quarters of a block, so
/// that nearly every bucket is one block.
pub fn buckets(rows: usize, limit: usize) -> usize {
    rows.div_ceil((limit - limit / 4).max(1)).clamp(1, u32::MAX as usize)
}

/// Rows of a block, where nothing else is asked for.
pub fn default_block_rows(columns: usize) -> usize {
    block_rows(columns)
}

/// Rows that lie with workers.
pub struct ClusterOracle<W> {
    workers: W,
    rows: usize,
    blocks: u64,
    columns: usize,
    bounds: RowBounds,
    trouble: Mutex<Option<String>>,
}

impl<W: Workers> ClusterOracle<W> {
    /// The rows of a catalogue, with so many features within these bounds.
    pub fn new(workers: W, catalogue: &Catalogue, columns: usize, bounds: RowBounds) -> Self {
        let (rows, blocks) = (catalogue.rows(), catalogue.blocks() as u64);
        Self { workers, rows, blocks, columns, bounds, trouble: Mutex::default() }
    }

    /// `into =` the answer; zeros once something went wrong, which [`Oracle::whole`] tells.
    fn ask(&self, problem: &Problem, question: &Question, into: &mut [f64]) {
        into.fill(0.0);
        if self.whole().is_err() {
            return;
        }
        if let Err(why) = self.try_ask(problem, question, into) {
            into.fill(0.0);
            self.fail(why);
        }
    }

    fn try_ask(
        &self,
        problem: &Problem,
        question: &Question,
        into: &mut [f64],
    ) -> Result<(), String> {
        let bytes = worker::write(problem, question).ok_or("a question cannot be written")?;
        let sums = self.workers.ask(&bytes)?;
        let tree = Tree::from_bytes(&sums).ok_or("a sum did not arrive as it was sent")?;
        if tree.total(self.blocks, into) { Ok(()) } else { Err(ClusterError::Missing.to_string()) }
    }

    fn fail(&self, why: String) {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }
}

impl<W: Workers> Oracle for ClusterOracle<W> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn features(&self) -> usize {
        self.columns
    }

    fn bounds(&self) -> RowBounds {
        self.bounds
    }

    fn whole(&self) -> Result<(), OracleError> {
        match &*self.trouble.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(why) => Err(OracleError::Unread { why: why.clone() }),
            None => Ok(()),
        }
    }

    fn gradient_sum(
        &self,
        problem: &Problem,
        at: &Sensitive<Vec<f64>>,
        into: &mut Sensitive<Vec<f64>>,
    ) {
        into.compute_at(at, |into, at| {
            self.ask(problem, &Question::Gradient { at: at.clone() }, into);
        });
    }

    fn batch_sum(
        &self,
        problem: &Problem,
        batch: &[usize],
        at: &[f64],
        clip: f64,
        into: &mut Sensitive<Vec<f64>>,
    ) {
        let question = Question::Batch { batch: batch.to_vec(), clip, at: at.to_vec() };
        into.compute(|into| self.ask(problem, &question, into));
    }

    fn clipped_sum(
        &self,
        problem: &Problem,
        draw: &Draw<'_>,
        clip: f64,
        common: Option<&Common>,
        at: &[f64],
        into: &mut Sensitive<Vec<f64>>,
    ) {
        let question = Question::clipped(problem, draw, self.rows, clip, common, at);
        into.compute(|into| self.ask(problem, &question, into));
    }

    /// All rows, or a list of random ones; consecutive rows have no meaning here, and asking for some releases nothing.
    fn robust_sum(
        &self,
        problem: &Problem,
        chosen: &Chosen<'_>,
        rule: Rule,
        at: &[f64],
        into: &mut Sensitive<Vec<f64>>,
    ) {
        let chosen = Named::from(chosen);
        if matches!(&chosen, Named::Block(range) if *range != (0..self.rows)) {
            self.fail(NO_ORDER.to_owned());
        }
        let question = Question::Robust { chosen, rule, at: at.to_vec() };
        into.compute(|into| self.ask(problem, &question, into));
    }

    fn count_below(
        &self,
        problem: &Problem,
        common: Option<&Common>,
        from: &[f64],
        grid: &[f64],
        into: &mut Sensitive<Vec<f64>>,
    ) {
        let (common, from, grid) = (common.cloned(), from.to_vec(), grid.to_vec());
        let question = Question::Below { common, from, grid };
        into.compute(|into| self.ask(problem, &question, into));
    }

    fn row_moments(&self, into: &mut Sensitive<Vec<f64>>) {
        // Of a problem sums of rows need nothing but that there is one.
        let problem = Problem::new(Loss::Squared, self.bounds, self.rows, self.columns);
        let question = Question::Moments { features: self.columns };
        into.compute(|into| self.ask(&problem, &question, into));
    }

    fn score(&self, problem: &Problem, at: &[f64], into: &mut Sensitive<Vec<f64>>) {
        let question = Question::Score { at: at.to_vec() };
        into.compute(|into| self.ask(problem, &question, into));
    }

    /// Refused when it is planned; if asked all the same, nothing is released.
    fn one_pass(
        &self,
        _: &Problem,
        _: Range<usize>,
        _: f64,
        _: &mut Sensitive<Vec<f64>>,
        _: &mut Sensitive<Vec<f64>>,
    ) {
        self.fail(NO_ORDER.to_owned());
    }
}

const NO_ORDER: &str = "rows on a cluster have no order of their own";
