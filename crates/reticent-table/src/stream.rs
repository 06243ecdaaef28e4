//! Tables larger than memory: blocks of rows that are read from their file again for every question.
//!
//! One thread reads and encodes blocks of rows ahead, the others compute on the block before. A block
//! is as long as [`block_rows`] says, a function of the shape, so the released bits do not depend on
//! how much memory there is. What is asked of the blocks is [`BlockOracle`]'s.
//!
//! # When the file cannot be read again
//!
//! The structure of the whole file is checked when the oracle is made. If it can no longer be read
//! during a run, the question that finds it is answered with an error, and nothing is released.

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::SystemTime;

use reticent_data::feature_map::FeatureMap;
use reticent_data::{BlockOracle, Blocks, OracleError, Rows, Speed, block_rows, memory};
use reticent_problem::declaration::Layout;
use reticent_problem::feature_map::MapLaw;
use reticent_problem::{Problem, ProblemError, RowBounds};

use crate::encode::Encoder;
use crate::table::{self, TableError};

/// Blocks that exist at a time: one is written, one waits, one is computed on.
const BLOCKS: usize = 3;

/// What the program and a format's reader hold besides, roughly.
const OTHER_BYTES: usize = 56 << 20;

/// With so much memory readers may hold more to be faster.
const AMPLE_BYTES: usize = 256 << 20;

/// The largest piece that the allocator then keeps for later.
const KEPT_BYTES: usize = 31 << 20;

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

/// Asks the rows of a file.
pub type StreamOracle = BlockOracle<FileBlocks>;

/// The rows of a file, read block by block.
pub struct FileBlocks {
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
}

impl FileBlocks {
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
            pool: speed.pool()?,
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
        let sums = memory::numbers_of_sums(rows, problem.dimension());
        let needed = BLOCKS * rows * 8 * (columns + 2) + 8 * sums + OTHER_BYTES;
        if needed > bytes {
            return Err(StreamError::Memory { least: needed.div_ceil(1 << 20), got: bytes >> 20 });
        }
        Ok(())
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

impl Blocks for FileBlocks {
    fn rows(&self) -> usize {
        self.rows
    }

    fn features(&self) -> usize {
        self.columns
    }

    fn bounds(&self) -> RowBounds {
        self.bounds
    }

    fn each(
        &self,
        range: Range<usize>,
        work: &mut (dyn FnMut(usize, &Rows) + Send),
    ) -> Result<(), OracleError> {
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
            Ok(Ok(())) if seen >= range.end.min(self.rows) => return Ok(()),
            Ok(Err(trouble)) => trouble,
            _ => self.changed(),
        };
        Err(OracleError::Unread { why: trouble.to_string() })
    }

    fn on_threads(&self, work: &mut (dyn FnMut() + Send)) {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}
