//! Tables larger than memory: an oracle that reads its file again for every question.
//!
//! One thread reads and encodes blocks of rows ahead, the others compute on the block before. A block is as long as
//! [`block_rows`] says, a function of the shape, so the released bits do not depend on how much memory there is.
//!
//! # What is the same as in memory, and what is not
//!
//! Which rows a keyed draw picks follows from their numbers alone, so batches are those of [`LocalOracle`](crate::LocalOracle).
//! Sums are taken block by block and added in an order that follows from the blocks' numbers (`tree.rs`), so a row passes through at most 64 additions
//! more than within its block; all oracles are charged for these. Sums over rows therefore agree with those in memory up to
//! rounding, and keep the same bounds. Rows cannot be fetched in any order: there is no [`Oracle::random_access`], and methods of
//! single-row steps refuse.
//!
//! # When the file cannot be read again
//!
//! The structure of the whole file is checked when the oracle is made. If it can no longer be read during a run, sums lack rows, which
//! no one sees: [`Oracle::whole`] then is an error, and nothing must be released.

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use reticent_noise::batch::Draw;
use reticent_problem::declaration::Layout;
use reticent_problem::feature_map::MapLaw;
use reticent_problem::{Loss, Problem, ProblemError, RowBounds};

use crate::encode::Encoder;
use crate::feature_map::FeatureMap;
use crate::kernel;
use crate::oracle::{Chosen, Oracle, OracleError, Rule, Speed, pool};
use crate::question::{Named, Question, Scratch, clamp};
use crate::table::{self, TableError};
use crate::tree::Tree;
use crate::{Common, Rows, Sensitive};

/// Bytes of a block, roughly.
const BLOCK_BYTES: usize = 8 << 20;

/// Blocks that exist at a time: one is written, one waits, one is computed on.
const BLOCKS: usize = 3;

/// What the program and a format's reader hold besides, roughly.
const OTHER_BYTES: usize = 56 << 20;

/// With so much memory readers may hold more to be faster.
const AMPLE_BYTES: usize = 256 << 20;

/// The largest piece that the allocator then keeps for later.
const KEPT_BYTES: usize = 31 << 20;

/// Rows of a block of a table with so many encoded columns.
pub fn block_rows(columns: usize) -> usize {
    let rows = BLOCK_BYTES / (8 * columns.max(1));
    (1 << rows.max(1).ilog2()).clamp(256, 1 << 16)
}

/// Why a table cannot be streamed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// About the file.
    #[error(transparent)]
    Table(#[from] TableError),
    /// About threads.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// About the features of a kernel model.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Too little memory was allowed.
    #[error(
        "`memory` must be at least {least} MB for a model of this size, got {got} MB; allow more, or use fewer features"
    )]
    Memory {
        /// What is needed, in megabytes.
        least: usize,
        /// What was allowed.
        got: usize,
    },
}

/// The rows of a file, read block by block.
pub struct StreamOracle {
    path: PathBuf,
    encoder: Encoder,
    map: Option<Arc<FeatureMap>>,
    /// Of the file when its rows were counted.
    stamp: Option<(u64, SystemTime)>,
    rows: usize,
    columns: usize,
    bounds: RowBounds,
    block: usize,
    /// Whether memory is.
    ample: bool,
    pool: Option<rayon::ThreadPool>,
    scratch: Mutex<Scratch>,
    trouble: Mutex<Option<TableError>>,
}

impl StreamOracle {
    /// Reads the file once, to count its rows and to see that all of it can be read. With 256 MB of
    /// `memory` (bytes) or more reading is faster; [`Self::check_memory`] says how little will do.
    ///
    /// # Errors
    ///
    /// [`StreamError`], never because of a cell.
    pub fn open(
        path: &Path,
        layout: &Layout,
        map: Option<&MapLaw>,
        memory: usize,
        speed: Speed,
    ) -> Result<Self, StreamError> {
        let ample = memory >= AMPLE_BYTES;
        if ample {
            keep_freed_memory();
        }
        let encoder = Encoder::new(layout);
        let block = block_rows(layout.dimension());
        let stamp = stamp(path);
        let mut rows = 0;
        let read = table::read_blocks(path, &encoder, block, ample, &mut |part| {
            rows += part.len();
            ControlFlow::Continue(())
        });
        allow_empty(read)?;
        let bounds = match map {
            Some(law) => law.bounds(layout.bounds().label())?,
            None => layout.bounds(),
        };
        let columns = map.map_or(layout.dimension(), |law| law.features);
        let map =
            map.map(|law| FeatureMap::new(*law, layout.dimension()).map(Arc::new)).transpose()?;
        Ok(Self {
            path: path.to_owned(),
            encoder,
            map,
            stamp,
            rows,
            columns,
            bounds,
            block,
            ample,
            pool: pool(speed)?,
            scratch: Mutex::default(),
            trouble: Mutex::default(),
        })
    }

    /// Whether a run that fits `problem` keeps within `bytes` of memory, roughly.
    ///
    /// # Errors
    ///
    /// [`StreamError::Memory`].
    pub fn check_memory(
        layout: &Layout,
        problem: &Problem,
        bytes: usize,
    ) -> Result<(), StreamError> {
        let columns = layout.dimension();
        let rows = block_rows(columns);
        let weights = problem.dimension();
        let sums = kernel::scratch_len(rows, weights) + 48 * weights;
        let needed = BLOCKS * rows * 8 * (columns + 2) + 8 * sums + OTHER_BYTES;
        if needed > bytes {
            return Err(StreamError::Memory { least: needed.div_ceil(1 << 20), got: bytes >> 20 });
        }
        Ok(())
    }

    /// Runs `work` on every block that meets `range`, in order: the number of its first row, and the block.
    fn blocks(&self, range: Range<usize>, mut work: impl FnMut(usize, &Rows) + Send) {
        let (sender, receiver) = sync_channel::<Rows>(BLOCKS - 2);
        let read = || {
            let (mut first, mut grown) = (0, false);
            let (path, block) = (&self.path, self.block);
            let read = table::read_blocks(path, &self.encoder, block, self.ample, &mut |rows| {
                let next = first + rows.len();
                grown |= next > self.rows;
                let wanted = next > range.start && first < range.end;
                first = next;
                let heard = next <= self.rows && (!wanted || sender.send(rows).is_ok());
                if heard && next < range.end {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            });
            drop(sender);
            allow_empty(read)?;
            if grown || stamp(&self.path) != self.stamp { Err(self.changed()) } else { Ok(()) }
        };
        let mut seen = range.start / self.block * self.block;
        let consume = || {
            for rows in receiver {
                let Ok(rows) = self.features_of(rows) else { break };
                work(seen, &rows);
                seen += rows.len();
            }
        };
        let outcome = std::thread::scope(|scope| {
            let reader = scope.spawn(read);
            match &self.pool {
                Some(pool) => pool.install(consume),
                None => consume(),
            }
            reader.join()
        });
        let trouble = match outcome {
            Ok(Ok(())) if seen >= range.end.min(self.rows) => return,
            Ok(Err(trouble)) => trouble,
            _ => self.changed(),
        };
        self.fail(trouble);
    }

    fn changed(&self) -> TableError {
        TableError::Changed { file: self.path.display().to_string() }
    }

    fn features_of(&self, rows: Rows) -> Result<Rows, ProblemError> {
        match &self.map {
            Some(map) => rows.mapped(Arc::clone(map)),
            None => Ok(rows),
        }
    }

    /// `into =` the sum of what the blocks that meet `range` answer, added as [`Tree`] adds.
    fn ask(&self, problem: &Problem, question: &Question, range: Range<usize>, into: &mut [f64]) {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch: &mut Scratch = &mut scratch;
        let (mut tree, mut blocks, mut added) = (Tree::default(), 0, true);
        self.blocks(range, |first, rows| {
            let mut sum = vec![0.0; question.width()];
            question.answer(problem, first, rows, scratch, &mut sum);
            added &= tree.add(blocks, sum);
            blocks += 1;
        });
        if !tree.total(blocks, into) || !added {
            into.fill(0.0);
            self.fail(self.changed());
        }
    }

    fn fail(&self, trouble: TableError) {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(trouble);
    }
}

/// Blocks and pages come and go by the megabyte. An allocator that adapts itself (glibc's) keeps pieces of this size once one
/// was given back, instead of asking the system for cleared pages each time.
fn keep_freed_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(KEPT_BYTES)));
}

/// Length and time of the last change.
fn stamp(path: &Path) -> Option<(u64, SystemTime)> {
    let facts = std::fs::metadata(path).ok()?;
    Some((facts.len(), facts.modified().ok()?))
}

/// A table without a row is a table: where rows may join or leave, to say so would tell their number.
fn allow_empty(read: Result<(), TableError>) -> Result<(), TableError> {
    match read {
        Err(TableError::Empty { .. }) => Ok(()),
        other => other,
    }
}

impl Oracle for StreamOracle {
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
            Some(trouble) => Err(OracleError::Unread { why: trouble.to_string() }),
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
            self.ask(problem, &Question::Gradient { at: at.clone() }, 0..self.rows, into);
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
        into.compute(|into| self.ask(problem, &question, 0..self.rows, into));
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
        into.compute(|into| self.ask(problem, &question, 0..self.rows, into));
    }

    fn robust_sum(
        &self,
        problem: &Problem,
        chosen: &Chosen<'_>,
        rule: Rule,
        at: &[f64],
        into: &mut Sensitive<Vec<f64>>,
    ) {
        let range = match chosen {
            Chosen::Block(range) => range.clone(),
            Chosen::Listed(_) => 0..self.rows,
        };
        let question = Question::Robust { chosen: Named::from(chosen), rule, at: at.to_vec() };
        into.compute(|into| self.ask(problem, &question, range, into));
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
        into.compute(|into| self.ask(problem, &question, 0..self.rows, into));
    }

    fn row_moments(&self, into: &mut Sensitive<Vec<f64>>) {
        // Of a problem sums of rows need nothing but that there is one.
        let problem = Problem::new(Loss::Squared, self.bounds, self.rows, self.columns);
        let question = Question::Moments { features: self.columns };
        into.compute(|into| self.ask(&problem, &question, 0..self.rows, into));
    }

    fn score(&self, problem: &Problem, at: &[f64], into: &mut Sensitive<Vec<f64>>) {
        let question = Question::Score { at: at.to_vec() };
        into.compute(|into| self.ask(problem, &question, 0..self.rows, into));
    }

    fn on_threads(&self, work: &mut (dyn FnMut() + Send)) {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    fn one_pass(
        &self,
        problem: &Problem,
        range: Range<usize>,
        eta: f64,
        w: &mut Sensitive<Vec<f64>>,
        sum: &mut Sensitive<Vec<f64>>,
    ) {
        w.compute(|w| {
            sum.compute(|sum| {
                self.blocks(range.clone(), |first, rows| {
                    kernel::robust::pass(rows, problem, clamp(&range, first, rows), eta, w, sum);
                });
            });
        });
    }
}
