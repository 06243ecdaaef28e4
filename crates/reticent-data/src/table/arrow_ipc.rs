//! Arrow IPC: the file format (also called Feather, version 2) and the stream format.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};

use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::reader::{FileReader, StreamReader};
use arrow::record_batch::RecordBatch;

use super::batch::Plan;
use super::error::TableError;
use super::source::{Format, Source, read_error};
use crate::encode::{Encoder, LabelSource, RowWriter};
use crate::rows::Rows;

/// The batches of a file, with their schema.
struct Batches {
    schema: SchemaRef,
    batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>,
}

pub(super) fn damaged(file: &str) -> TableError {
    TableError::Corrupt {
        file: file.to_owned(),
        format: "Arrow IPC",
        why: "it is truncated, damaged or of another version; write it again",
    }
}

fn open(mut source: Source) -> Result<Batches, TableError> {
    let file = source.file.clone();
    if source.format == Format::ArrowStream {
        let reader = StreamReader::try_new(source.reader, None).map_err(|_| damaged(&file))?;
        return Ok(Batches { schema: reader.schema(), batches: Box::new(reader) });
    }
    if source.gzipped {
        let bytes = source.bytes()?;
        return open_file(Cursor::new(bytes), &file);
    }
    let opened = File::open(&source.path).map_err(|e| read_error(&file, &e))?;
    open_file(BufReader::new(opened), &file)
}

fn open_file(reader: impl Read + Seek + 'static, file: &str) -> Result<Batches, TableError> {
    let reader = FileReader::try_new(reader, None).map_err(|_| damaged(file))?;
    Ok(Batches { schema: reader.schema(), batches: Box::new(reader) })
}

/// Read and encode a table.
pub(super) fn read(
    source: Source,
    encoder: &Encoder,
    labels: LabelSource,
) -> Result<Rows, TableError> {
    let file = source.file.clone();
    let Batches { schema, batches } = open(source)?;
    let mut writer = RowWriter::new(encoder, labels, 0);
    let plan = Plan::new(encoder, &schema, writer.wants_labels(), &file)?;
    for batch in batches {
        plan.write(&batch.map_err(|_| damaged(&file))?, &mut writer)?;
    }
    writer.finish(&file)
}

/// How many rows a table has.
pub(super) fn count(source: Source) -> Result<usize, TableError> {
    let file = source.file.clone();
    let mut rows = 0;
    for batch in open(source)?.batches {
        rows += batch.map_err(|_| damaged(&file))?.num_rows();
    }
    Ok(rows)
}
