//! Tables larger than memory: blocks of rows that are read from their file again for every
//! question.
//!
//! One thread reads and encodes blocks of rows ahead, the others compute on the block before. A
//! block is as long as [`block_rows`] says, a function of the shape, so the released bits do not
//! depend on how much memory there is. [`BlockOracle`] asks the questions of the blocks.
//!
//! # When the file cannot be read again
//!
//! The structure of the whole file is checked when the oracle is made. If it can no longer be read
//! during a run, the question that finds it is answered with an error, and nothing is released.

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::SystemTime;

use reticent_data::feature_map::FeatureMap;
use reticent_data::{BlockOracle, Blocks, OracleError, Rows, Speed, block_rows, memory};
use reticent_problem::declaration::Layout;
use reticent_problem::feature_map::MapLaw;
use reticent_problem::{Problem, ProblemError, RowBounds};

use crate::encode::Encoder;
use crate::table::{self, TableError, TableFile};

/// Blocks that exist at a time: one is written, one waits, one is computed on.
const BLOCKS: usize = 3;

/// The other memory of the program and of a format's reader, roughly.
const OTHER_BYTES: usize = 56 << 20;

/// With so much memory readers may hold more to be faster.
pub(crate) const AMPLE_BYTES: usize = 256 << 20;

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
        /// The memory needed, in megabytes.
        least: usize,
        /// The memory allowed, in megabytes.
        got: usize,
    },
    /// A temporary file cannot be used.
    #[error(
        "the rows of units are brought together in temporary files, and that failed: {why}; name a folder with as much room as the encoded table takes twice, in the variable TMPDIR"
    )]
    Temporary {
        /// The operating system's message.
        why: String,
    },
}

impl From<std::io::Error> for StreamError {
    fn from(error: std::io::Error) -> Self {
        Self::Temporary { why: error.kind().to_string() }
    }
}

/// Asks the rows of a file.
pub type StreamOracle = BlockOracle<FileBlocks>;

/// The rows of a file, read block by block.
pub struct FileBlocks {
    file: TableFile,
    encoder: Encoder,
    /// Of the file when its rows were counted.
    stamp: Vec<Option<(u64, SystemTime)>>,
    rows: usize,
    block: usize,
    /// Whether memory is.
    ample: bool,
    ahead: Ahead,
}

/// Reads blocks on a thread of its own, while the others compute on the block before.
pub(crate) struct Ahead {
    map: Option<Arc<FeatureMap>>,
    /// Features of a row, and the bounds it keeps.
    pub(crate) columns: usize,
    pub(crate) bounds: RowBounds,
    pool: Option<rayon::ThreadPool>,
}

impl Ahead {
    /// For encoded rows of this layout, and the features that a map makes of them.
    pub(crate) fn new(
        layout: &Layout,
        map: Option<&MapLaw>,
        speed: Speed,
    ) -> Result<Self, StreamError> {
        let bounds = match map {
            Some(law) => law.bounds(layout.bounds().label())?,
            None => layout.bounds(),
        };
        let columns = map.map_or(layout.dimension(), |law| law.features);
        let map =
            map.map(|law| FeatureMap::new(*law, layout.dimension()).map(Arc::new)).transpose()?;
        Ok(Self { map, columns, bounds, pool: speed.pool()? })
    }

    fn features_of(&self, rows: Rows) -> Result<Rows, ProblemError> {
        match &self.map {
            Some(map) => rows.mapped(Arc::clone(map)),
            None => Ok(rows),
        }
    }

    /// Runs `work` on every block that `read` sends; what `read` says, or nothing if it panicked.
    pub(crate) fn run<E: Send>(
        &self,
        read: impl FnOnce(SyncSender<Rows>) -> Result<(), E> + Send,
        mut work: impl FnMut(&Rows) + Send,
    ) -> Option<Result<(), E>> {
        let (sender, receiver) = sync_channel::<Rows>(BLOCKS - 2);
        let consume = || {
            for rows in receiver {
                let Ok(rows) = self.features_of(rows) else { break };
                work(&rows);
            }
        };
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| read(sender));
            match &self.pool {
                Some(pool) => pool.install(consume),
                None => consume(),
            }
            reader.join().ok()
        })
    }

    pub(crate) fn on_threads(&self, work: &mut (dyn FnMut() + Send)) {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

impl FileBlocks {
    /// Reads the file once, to count its rows and to see that all of it can be read. With 256 MB of
    /// `memory` (bytes) or more reading is faster; [`Self::check_memory`] says how little will do.
    ///
    /// # Errors
    ///
    /// [`StreamError`], never because of a cell.
    pub fn open(
        file: impl Into<TableFile>,
        layout: &Layout,
        map: Option<&MapLaw>,
        memory: usize,
        speed: Speed,
    ) -> Result<Self, StreamError> {
        let file = file.into().checked()?;
        let ample = memory >= AMPLE_BYTES;
        if ample {
            keep_freed_memory();
        }
        let encoder = Encoder::new(layout);
        let block = block_rows(layout.dimension());
        let stamp = stamps(&file);
        let mut rows = 0;
        let read = table::read_blocks(&file, &encoder, block, ample, &mut |part| {
            rows += part.len();
            ControlFlow::Continue(())
        });
        allow_empty(read)?;
        let ahead = Ahead::new(layout, map, speed)?;
        Ok(Self { file, encoder, stamp, rows, block, ample, ahead })
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
        // A block of units is there as bytes too, and has a unit at least.
        let (rows, blocks) = match &problem.unit {
            None => (block_rows(columns), BLOCKS),
            Some(unit) => (block_rows(columns).max(unit.max_rows), BLOCKS + 1),
        };
        let sums = memory::numbers_of_sums(rows, problem.dimension());
        let row = 8 * (columns + 2);
        let needed = (blocks * row)
            .saturating_mul(rows)
            .saturating_add(8 * sums)
            .saturating_add(OTHER_BYTES);
        if needed > bytes {
            return Err(StreamError::Memory { least: needed.div_ceil(1 << 20), got: bytes >> 20 });
        }
        Ok(())
    }

    fn changed(&self) -> TableError {
        TableError::Changed { file: self.file.name() }
    }
}

/// Blocks and pages come and go by the megabyte. An allocator that adapts itself (glibc's) keeps
/// pieces of this size once one was given back, instead of asking the system for cleared pages each
/// time.
fn keep_freed_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(KEPT_BYTES)));
}

/// Of each file, length and time of the last change.
pub(crate) fn stamps(file: &TableFile) -> Vec<Option<(u64, SystemTime)>> {
    let stamp = |path: &Path| {
        let facts = std::fs::metadata(path).ok()?;
        Some((facts.len(), facts.modified().ok()?))
    };
    file.paths().into_iter().map(stamp).collect()
}

/// A table without a row is a table: where rows may join or leave, to say so would tell their
/// number.
pub(crate) fn allow_empty(read: Result<(), TableError>) -> Result<(), TableError> {
    match read {
        Err(TableError::Empty { .. }) => Ok(()),
        other => other,
    }
}

impl Blocks for FileBlocks {
    fn rows(&self) -> usize {
        self.rows
    }

    fn weighted(&self) -> bool {
        self.encoder.layout().encodes_weights()
    }

    fn features(&self) -> usize {
        self.ahead.columns
    }

    fn bounds(&self) -> RowBounds {
        self.ahead.bounds
    }

    fn each(
        &self,
        range: Range<usize>,
        work: &mut (dyn FnMut(usize, &Rows) + Send),
    ) -> Result<(), OracleError> {
        let read = |sender: SyncSender<Rows>| {
            let (mut first, mut grown) = (0, false);
            let (file, block) = (&self.file, self.block);
            let read = table::read_blocks(file, &self.encoder, block, self.ample, &mut |rows| {
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
            allow_empty(read)?;
            if grown || stamps(&self.file) != self.stamp { Err(self.changed()) } else { Ok(()) }
        };
        let mut seen = range.start / self.block * self.block;
        let outcome = self.ahead.run(read, |rows| {
            work(seen, rows);
            seen += rows.len();
        });
        let trouble = match outcome {
            Some(Ok(())) if seen >= range.end.min(self.rows) => return Ok(()),
            Some(Err(trouble)) => trouble,
            _ => self.changed(),
        };
        Err(OracleError::Unread { why: trouble.to_string() })
    }

    fn on_threads(&self, work: &mut (dyn FnMut() + Send)) {
        self.ahead.on_threads(work);
    }
}
