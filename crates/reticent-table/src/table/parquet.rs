//! Parquet. Only the declared columns are read, one row group after another.
//!
//! Where memory is ample, columns are unpacked on threads of their own, ahead of the encoding. Each
//! reader has a share of the columns; their batches have the same rows and are put side by side, so
//! how many readers there are changes nothing but the time. Where it is not, one reader unpacks
//! when the encoding asks for rows.

use std::fs::File;
use std::num::NonZero;
use std::sync::mpsc::sync_channel;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};

use super::batch::Plan;
use super::source::{Source, read_error};
use super::texts;
use crate::encode::{Encoder, Observer, RowWriter};
use crate::error::TableError;

pub(super) fn damaged(file: &str) -> TableError {
    TableError::Corrupt {
        file: file.to_owned(),
        format: "Parquet",
        why: "it is truncated, damaged or uses an unknown codec; write it again",
    }
}

/// Bytes of a batch, roughly, unpacked ahead and not: enough that what is done once for each does
/// not count, and little enough for the caches.
const BATCH_BYTES: (usize, usize) = (1 << 20, 1 << 18);

/// Batches that wait, of each reader.
const AHEAD: usize = 2;

/// More readers than encoding keeps up with gain nothing.
const MOST_READERS: usize = 4;

fn open(source: &Source) -> Result<ArrowReaderMetadata, TableError> {
    if source.gzipped {
        return Err(TableError::Corrupt {
            file: source.file.clone(),
            format: "Parquet",
            why: "it is gzipped as a whole; unpack it, Parquet compresses by itself",
        });
    }
    let file = File::open(&source.path).map_err(|e| read_error(&source.file, &e))?;
    let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::default());
    metadata.map_err(|_| damaged(&source.file))
}

/// The names and types of the columns.
pub(super) fn schema(source: &Source) -> Result<SchemaRef, TableError> {
    Ok(open(source)?.schema().clone())
}

/// Read and encode a table.
pub(super) fn read<O: Observer>(
    source: &Source,
    encoder: &Encoder,
    ample: bool,
    writer: &mut RowWriter<'_, O>,
) -> Result<(), TableError> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let ahead = ample.then_some(cores.min(MOST_READERS));
    read_by(ahead, source, encoder, writer)
}

/// With so many readers ahead, or one that is not.
fn read_by<O: Observer>(
    ahead: Option<usize>,
    source: &Source,
    encoder: &Encoder,
    writer: &mut RowWriter<'_, O>,
) -> Result<(), TableError> {
    let file = &source.file;
    let metadata = open(source)?;
    let bytes = if ahead.is_some() { BATCH_BYTES.0 } else { BATCH_BYTES.1 };
    let rows = (bytes / (8 * encoder.layout().dimension())).clamp(64, 1 << 14);
    let with_target = writer.wants_labels();
    let fields = Plan::new(encoder, metadata.schema(), with_target, file)?.fields();
    // The columns left by the projection have places of their own.
    let left = metadata.schema().project(&fields).map_err(|_| damaged(file))?;
    let plan = Plan::new(encoder, &left, with_target, file)?;
    let mut readers = Vec::new();
    for fields in fields.chunks(fields.len().div_ceil(ahead.unwrap_or(1))) {
        // Opened again: a cloned file shares its place with the others.
        let own = File::open(&source.path).map_err(|e| read_error(file, &e))?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(own, metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), fields.iter().copied());
        let reader = builder.with_projection(mask).with_batch_size(rows).build();
        readers.push(reader.map_err(|_| damaged(file))?);
    }
    std::thread::scope(|scope| {
        let mut parts: Vec<Part> = readers
            .into_iter()
            .map(|reader| {
                // A reader that panics does not say that it has ended.
                let mut batches = reader.map(Some).chain([None]);
                if ahead.is_none() {
                    return Box::new(batches) as Part;
                }
                let (sender, receiver) = sync_channel(AHEAD);
                scope.spawn(move || batches.try_for_each(|batch| sender.send(batch)));
                Box::new(receiver.into_iter()) as Part
            })
            .collect();
        while let Some(columns) = next(&mut parts, file)? {
            plan.write(&columns, writer)?;
            if writer.stopped() {
                break;
            }
        }
        Ok(())
    })
}

/// The batches of some of the columns, and nothing once they have ended.
type Part = Box<dyn Iterator<Item = Option<Result<RecordBatch, ArrowError>>>>;

/// The columns of the next rows, or nothing once all readers have ended. An error if one cannot go
/// on or they disagree.
fn next(parts: &mut [Part], file: &str) -> Result<Option<Vec<ArrayRef>>, TableError> {
    let batches = parts.iter_mut().map(|part| part.next()?.transpose().ok());
    let batches = batches.collect::<Option<Vec<_>>>().ok_or_else(|| damaged(file))?;
    if batches.iter().all(Option::is_none) {
        return Ok(None);
    }
    let batches: Option<Vec<RecordBatch>> = batches.into_iter().collect();
    let alike = |pair: &[RecordBatch]| pair[0].num_rows() == pair[1].num_rows();
    let batches = batches.filter(|batches| batches.windows(2).all(alike));
    let batches = batches.ok_or_else(|| damaged(file))?;
    Ok(Some(batches.iter().flat_map(|batch| batch.columns().iter().cloned()).collect()))
}

/// How many rows a table has.
pub(super) fn count(source: &Source) -> Result<usize, TableError> {
    let rows = open(source)?.metadata().file_metadata().num_rows();
    usize::try_from(rows).map_err(|_| damaged(&source.file))
}

/// Hands over the cells of the named columns, row by row.
pub(super) fn visit(
    source: &Source,
    names: &[String],
    take: &mut dyn FnMut(&[&[u8]]),
) -> Result<(), TableError> {
    let file = &source.file;
    let metadata = open(source)?;
    // The columns left by the projection have places of their own.
    let mut left = texts::places(metadata.schema(), names, file)?;
    left.sort_unstable();
    let schema = metadata.schema().project(&left).map_err(|_| damaged(file))?;
    let opened = File::open(&source.path).map_err(|e| read_error(file, &e))?;
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(opened, metadata);
    let mask = ProjectionMask::roots(builder.parquet_schema(), left);
    let batches = builder.with_projection(mask).build().map_err(|_| damaged(file))?;
    let batches = batches.map(|batch| batch.map_err(|_| damaged(file)));
    texts::visit_batches(batches, &schema, names, file, take)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float32Array, Float64Array, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;
    use reticent_problem::declaration::{Declaration, Encoding};

    use super::*;
    use crate::encode::{LabelSource, Silent};

    #[test]
    fn how_many_readers_there_are_changes_nothing() {
        const ROWS: usize = 50_000;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let part = |i: usize, by: f64| (i as f64 * by).fract();
        let ward = |i: usize| ["a", "b", "?"][i % 3];
        let batch = RecordBatch::try_from_iter([
            (
                "not_declared",
                Arc::new(StringArray::from_iter_values((0..ROWS).map(ward))) as ArrayRef,
            ),
            (
                "b",
                Arc::new(
                    (0..ROWS).map(|i| (i % 5 > 0).then(|| part(i, 0.57))).collect::<Float64Array>(),
                ),
            ),
            ("ward", Arc::new(StringArray::from_iter_values((0..ROWS).map(ward)))),
            ("y", Arc::new(Float64Array::from_iter_values((0..ROWS).map(|i| (i % 2) as f64)))),
            (
                "a",
                Arc::new(Float32Array::from_iter_values((0..ROWS).map(|i| part(i, 0.75) as f32))),
            ),
        ])
        .unwrap();
        let few = WriterProperties::builder().set_max_row_group_row_count(Some(7001)).build();
        let file = File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(few)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let declaration = r#"{"target": "y", "columns": [
            {"name": "a", "type": "real", "bounds": {"min": 0, "max": 1}},
            {"name": "b", "type": "real", "bounds": {"min": 0, "max": 1}},
            {"name": "ward", "type": "categorical", "categories": ["a", "b"]},
            {"name": "y", "type": "categorical", "categories": ["0", "1"]}]}"#;
        let layout = Declaration::from_json(declaration).unwrap().layout(&Encoding::default());
        let encoder = Encoder::new(&layout.unwrap());
        let by = |ahead: Option<usize>| {
            let source = Source::open(&(&path).into()).unwrap();
            let mut writer = RowWriter::new(&encoder, LabelSource::Inline, 0, Silent);
            read_by(ahead, &source, &encoder, &mut writer).unwrap();
            writer.finish("t").unwrap().0
        };
        let one = by(None);
        assert_eq!(one.len(), ROWS);
        for readers in [1, 2, 3, 4, 9] {
            assert!(by(Some(readers)) == one, "{readers} readers");
        }
    }
}
