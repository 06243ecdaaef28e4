//! Parquet. Only the declared columns are read, one row group after another.

use std::fs::File;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Builder;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};

use super::batch::Plan;
use super::error::TableError;
use super::source::{Source, read_error};
use crate::encode::{Encoder, RowWriter, Wanted};
use crate::rows::Rows;

pub(super) fn damaged(file: &str) -> TableError {
    TableError::Corrupt {
        file: file.to_owned(),
        format: "Parquet",
        why: "it is truncated, damaged or uses an unknown codec; write it again",
    }
}

/// Bytes of a batch, roughly.
const BATCH_BYTES: usize = 1 << 18;

/// More readers than this cost memory and gain nothing.
const MOST_READERS: usize = 1;

/// Bytes of a reader's stack: it calls nothing deep, and memory may be scarce.
const STACK: usize = 1 << 19;

fn open(source: &Source) -> Result<(File, ArrowReaderMetadata), TableError> {
    if source.gzipped {
        return Err(TableError::Corrupt {
            file: source.file.clone(),
            format: "Parquet",
            why: "it is gzipped as a whole; unpack it, Parquet compresses by itself",
        });
    }
    let file = File::open(&source.path).map_err(|e| read_error(&source.file, &e))?;
    let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::default());
    Ok((file, metadata.map_err(|_| damaged(&source.file))?))
}

/// Read and encode a table. Several readers share the columns, each on a thread of its own, so that unpacking keeps up with
/// encoding; their batches have the same rows and are put side by side.
pub(super) fn read<'a>(
    source: &Source,
    encoder: &'a Encoder,
    wanted: Wanted<'a>,
) -> Result<Rows, TableError> {
    let file = &source.file;
    let (_, metadata) = open(source)?;
    let mut writer = RowWriter::new(encoder, wanted, 0);
    let whole = Plan::new(encoder, metadata.schema(), writer.wants_labels(), file)?;
    let fields = whole.fields();
    let rows = (BATCH_BYTES / (8 * encoder.layout().dimension())).clamp(64, 8192);
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(fields.len());
    let share = fields.len().div_ceil(threads.clamp(1, MOST_READERS));
    let mut readers = Vec::new();
    for fields in fields.chunks(share.max(1)) {
        let own = File::open(&source.path).map_err(|e| read_error(file, &e))?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(own, metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), fields.iter().copied());
        let reader = builder.with_projection(mask).with_batch_size(rows).build();
        readers.push(reader.map_err(|_| damaged(file))?);
    }
    std::thread::scope(|scope| {
        let mut parts = Vec::new();
        for reader in readers {
            // A batch waits in the hands of its reader, and no more than one.
            let (sender, receiver) = sync_channel(0);
            let work = move || {
                let _ = reader.into_iter().try_for_each(|batch| sender.send(Some(batch)));
                // A reader that panics says no such thing.
                let _ = sender.send(None);
            };
            let started = Builder::new().stack_size(STACK).spawn_scoped(scope, work);
            started.map_err(|e| read_error(file, &e))?;
            parts.push(receiver);
        }
        // The columns left by the projection have places of their own.
        let mut plan = None;
        while let Some(batch) = next(&parts, file)? {
            let plan = match &mut plan {
                Some(plan) => plan,
                none => {
                    none.insert(Plan::new(encoder, &batch.schema(), writer.wants_labels(), file)?)
                }
            };
            plan.write(&batch, &mut writer)?;
            if writer.stopped() {
                break;
            }
        }
        writer.finish(file)
    })
}

type Part = Receiver<Option<Result<RecordBatch, ArrowError>>>;

/// The next rows of all readers side by side, or nothing once all have ended.
fn next(parts: &[Part], file: &str) -> Result<Option<RecordBatch>, TableError> {
    let part = |part: &Part| part.recv().ok()?.transpose().ok();
    let together = |batches: Vec<RecordBatch>| {
        let fields = batches.iter().flat_map(|batch| batch.schema().fields().to_vec());
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let columns = batches.iter().flat_map(|batch| batch.columns().to_vec()).collect();
        RecordBatch::try_new(Arc::new(schema), columns).ok()
    };
    let batches: Option<Vec<_>> = parts.iter().map(part).collect();
    let batches = batches.ok_or_else(|| damaged(file))?;
    if batches.iter().all(Option::is_none) {
        return Ok(None);
    }
    let batches: Option<Vec<_>> = batches.into_iter().collect();
    Ok(Some(batches.and_then(together).ok_or_else(|| damaged(file))?))
}

/// How many rows a table has.
pub(super) fn count(source: &Source) -> Result<usize, TableError> {
    let rows = open(source)?.1.metadata().file_metadata().num_rows();
    usize::try_from(rows).map_err(|_| damaged(&source.file))
}
