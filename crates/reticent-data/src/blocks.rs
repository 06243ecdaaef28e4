//! Rows that come in blocks, one after another, each time they are asked for.
//!
//! # Comparison with a table in memory
//!
//! Which rows a keyed draw picks follows from their numbers alone, so batches are those of
//! [`LocalOracle`](crate::LocalOracle). Sums are taken block by block and added in an order that
//! follows from the blocks' numbers (`tree.rs`), so a row passes through at most 64 additions more
//! than within its block; all oracles are charged for these. Sums over rows therefore agree with
//! those in memory up to rounding, and keep the same bounds. Rows cannot be fetched in any order:
//! there is no [`Oracle::random_access`], and methods of single-row steps refuse. Where records are
//! units, blocks are cut between units by their number, and all of this holds with units for rows.

use std::ops::Range;
use std::sync::Mutex;

use reticent_problem::{Problem, RowBounds, Unit};

use crate::oracle::{InOrder, Oracle, OracleError};
use crate::question::{Block, Question, Scratch};
use crate::tree::Tree;
use crate::{Rows, Sensitive, kernel};

/// Bytes of a block, roughly.
const BLOCK_BYTES: usize = 8 << 20;

/// Rows of a block of a table with so many encoded columns.
pub fn block_rows(columns: usize) -> usize {
    let rows = BLOCK_BYTES / (8 * columns.max(1));
    (1 << rows.max(1).ilog2()).clamp(256, 1 << 16)
}

/// Records of a block: as many units as never have more rows than [`block_rows`], or one. How many
/// rows units have decides nothing.
pub fn block_records(columns: usize, unit: Option<&Unit>) -> usize {
    (block_rows(columns) / unit.map_or(1, |unit| unit.max_rows)).max(1)
}

/// A source of rows in blocks. Where records are units, a unit is whole in one block, and numbers
/// are those of units.
pub trait Blocks: Sync {
    /// How many records there are.
    fn rows(&self) -> usize;

    /// As [`Oracle::unit`].
    fn unit(&self) -> Option<&Unit> {
        None
    }

    /// As [`Oracle::weighted`].
    fn weighted(&self) -> bool;

    /// Features of a row, the intercept among them.
    fn features(&self) -> usize;

    /// The bounds that every row keeps.
    fn bounds(&self) -> RowBounds;

    /// Runs `work` on every block that meets `range`, in order: the number of its first record, and
    /// the block. The cut of the table into blocks is always the same.
    ///
    /// # Errors
    ///
    /// [`OracleError::Unread`] if not every record of `range` was in a block, or the rows are no
    /// longer those that were counted.
    fn each(
        &self,
        range: Range<usize>,
        work: &mut (dyn FnMut(usize, &Rows) + Send),
    ) -> Result<(), OracleError>;

    /// As [`Oracle::on_threads`].
    fn on_threads(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }
}

/// Asks the blocks of a table one after another.
pub struct BlockOracle<B> {
    blocks: B,
    scratch: Mutex<Scratch>,
}

impl<B: Blocks> BlockOracle<B> {
    /// Serves the rows of `blocks`.
    pub fn new(blocks: B) -> Self {
        Self { blocks, scratch: Mutex::default() }
    }

    /// `into =` the sum of what the blocks answer, added as [`Tree`] adds.
    fn sum(
        &self,
        problem: &Problem,
        question: &Question<'_>,
        into: &mut [f64],
    ) -> Result<(), OracleError> {
        let (mut kept, mut fresh) = (self.scratch.try_lock().ok(), Scratch::default());
        let scratch: &mut Scratch = kept.as_deref_mut().unwrap_or(&mut fresh);
        let (rows, width) = (self.blocks.rows(), question.width(problem));
        let drawn = Some(question.drawn(problem, rows));
        let (mut tree, mut count, mut added) = (Tree::default(), 0, true);
        self.all(question.range(rows), |first, rows| {
            let mut sum = vec![0.0; width];
            let block = Block { rows, first, drawn, sizes: None };
            question.answer(problem, block, scratch, &mut sum);
            added &= tree.add(count, sum);
            count += 1;
        })?;
        if added && tree.total(count, into) {
            return Ok(());
        }
        into.fill(0.0);
        Err(missing())
    }

    /// Runs `work` on the blocks that meet `range`, and sees that every record of it was in one.
    fn all(
        &self,
        range: Range<usize>,
        mut work: impl FnMut(usize, &Rows) + Send,
    ) -> Result<(), OracleError> {
        let (mut next, mut in_order) = (None, true);
        self.blocks.each(range.clone(), &mut |first, rows| {
            in_order &= next.map_or(first <= range.start, |next| first == next);
            next = Some(first + rows.records());
            if in_order {
                work(first, rows);
            }
        })?;
        let whole = range.is_empty() || next.is_some_and(|next| next >= range.end);
        if in_order && whole { Ok(()) } else { Err(missing()) }
    }
}

fn missing() -> OracleError {
    OracleError::Unread { why: "a block of rows is missing or came twice".to_owned() }
}

impl<B: Blocks> Oracle for BlockOracle<B> {
    fn rows(&self) -> usize {
        self.blocks.rows()
    }

    fn unit(&self) -> Option<&Unit> {
        self.blocks.unit()
    }

    fn weighted(&self) -> bool {
        self.blocks.weighted()
    }

    fn features(&self) -> usize {
        self.blocks.features()
    }

    fn bounds(&self) -> RowBounds {
        self.blocks.bounds()
    }

    fn ask(
        &self,
        problem: &Problem,
        question: &Question<'_>,
        into: &mut Sensitive<Vec<f64>>,
    ) -> Result<(), OracleError> {
        into.compute(|into| {
            into.fill(0.0);
            self.sum(problem, question, into)
        })
    }

    /// A unit has no place in an order.
    fn in_order(&self) -> Option<&dyn InOrder> {
        self.unit().is_none().then_some(self)
    }

    fn on_threads(&self, work: &mut (dyn FnMut() + Send)) {
        self.blocks.on_threads(work);
    }
}

impl<B: Blocks> InOrder for BlockOracle<B> {
    fn one_pass(
        &self,
        problem: &Problem,
        range: Range<usize>,
        eta: f64,
        w: &mut Sensitive<Vec<f64>>,
        sum: &mut Sensitive<Vec<f64>>,
    ) -> Result<(), OracleError> {
        w.compute(|w| {
            sum.compute(|sum| {
                self.all(range.clone(), |first, rows| {
                    let block = Block { rows, first, drawn: Some(usize::MAX), sizes: None };
                    kernel::robust::pass(rows, problem, block.clamp(&range), eta, w, sum);
                })
            })
        })
    }
}
