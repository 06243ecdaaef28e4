//! Parquet. Only the declared columns are read, one row group after another.

use std::fs::File;

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

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

/// Bytes of a batch, roughly: enough that what is done once for each does not count.
const BATCH_BYTES: usize = 1 << 18;

fn open(source: &Source) -> Result<ParquetRecordBatchReaderBuilder<File>, TableError> {
    if source.gzipped {
        return Err(TableError::Corrupt {
            file: source.file.clone(),
            format: "Parquet",
            why: "it is gzipped as a whole; unpack it, Parquet compresses by itself",
        });
    }
    let file = File::open(&source.path).map_err(|e| read_error(&source.file, &e))?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(|_| damaged(&source.file))
}

/// Read and encode a table.
pub(super) fn read<'a>(
    source: &Source,
    encoder: &'a Encoder,
    wanted: Wanted<'a>,
) -> Result<Rows, TableError> {
    let file = &source.file;
    let builder = open(source)?;
    let mut writer = RowWriter::new(encoder, wanted, 0);
    let whole = Plan::new(encoder, builder.schema(), writer.wants_labels(), file)?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), whole.fields());
    let rows = (BATCH_BYTES / (8 * encoder.layout().dimension())).clamp(64, 8192);
    let reader = builder.with_projection(mask).with_batch_size(rows).build();
    let reader = reader.map_err(|_| damaged(file))?;
    // The columns left by the projection have places of their own.
    let mut plan = None;
    for batch in reader {
        let batch = batch.map_err(|_| damaged(file))?;
        let plan = match &mut plan {
            Some(plan) => plan,
            none => none.insert(Plan::new(encoder, &batch.schema(), writer.wants_labels(), file)?),
        };
        plan.write(&batch, &mut writer)?;
        if writer.stopped() {
            break;
        }
    }
    writer.finish(file)
}

/// How many rows a table has.
pub(super) fn count(source: &Source) -> Result<usize, TableError> {
    let rows = open(source)?.metadata().file_metadata().num_rows();
    usize::try_from(rows).map_err(|_| damaged(&source.file))
}
