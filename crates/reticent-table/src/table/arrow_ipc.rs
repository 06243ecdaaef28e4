//! Arrow IPC: the file format (also called Feather, version 2) and the stream format.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader, read_footer_length};
use arrow_ipc::{Block, root_as_footer};
use arrow_schema::ArrowError;
use arrow_schema::SchemaRef;

use super::batch::Plan;
use super::source::{Format, Source, read_error};
use super::texts;
use crate::encode::{Encoder, Observer, RowWriter};
use crate::error::TableError;

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

fn open_file(mut reader: impl Read + Seek + 'static, file: &str) -> Result<Batches, TableError> {
    if !fits(&mut reader).map_err(|e| read_error(file, &e))? {
        return Err(damaged(file));
    }
    let reader = FileReader::try_new(reader, None).map_err(|_| damaged(file))?;
    Ok(Batches { schema: reader.schema(), batches: Box::new(reader) })
}

/// Whether the blocks that a file's footer lists lie within the file. The reader sets aside memory
/// for a block before it reads it, so a damaged length must not get that far.
fn fits(reader: &mut (impl Read + Seek)) -> io::Result<bool> {
    /// Length of the footer, then the magic.
    const TAIL: u64 = 10;
    let size = reader.seek(SeekFrom::End(0))?;
    let Some(before_tail) = size.checked_sub(TAIL) else { return Ok(false) };
    let mut tail = [0; TAIL as usize];
    reader.seek(SeekFrom::Start(before_tail))?;
    reader.read_exact(&mut tail)?;
    let Ok(length) = read_footer_length(tail) else { return Ok(false) };
    let Some(start) = before_tail.checked_sub(length as u64) else { return Ok(false) };
    let mut footer = vec![0; length];
    reader.seek(SeekFrom::Start(start))?;
    reader.read_exact(&mut footer)?;
    reader.rewind()?;
    let Ok(footer) = root_as_footer(&footer) else { return Ok(false) };
    let within = |block: &Block| {
        let lengths = [block.offset(), i64::from(block.metaDataLength()), block.bodyLength()];
        let end = lengths.iter().try_fold(0_u64, |end, &n| end.checked_add(u64::try_from(n).ok()?));
        end.is_some_and(|end| end <= size)
    };
    Ok(footer.recordBatches().is_none_or(|blocks| blocks.iter().all(within))
        && footer.dictionaries().is_none_or(|blocks| blocks.iter().all(within)))
}

/// The names and types of the columns.
pub(super) fn schema(source: Source) -> Result<SchemaRef, TableError> {
    Ok(open(source)?.schema)
}

/// Read and encode a table.
pub(super) fn read<O: Observer>(
    source: Source,
    encoder: &Encoder,
    writer: &mut RowWriter<'_, O>,
) -> Result<(), TableError> {
    let file = source.file.clone();
    let Batches { schema, batches } = open(source)?;
    let plan = Plan::new(encoder, &schema, writer.wants_labels(), &file)?;
    for batch in batches {
        plan.write(batch.map_err(|_| damaged(&file))?.columns(), writer)?;
        if writer.stopped() {
            break;
        }
    }
    Ok(())
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

/// Hands over the cells of the named columns, row by row.
pub(super) fn visit(
    source: Source,
    names: &[String],
    take: &mut dyn FnMut(&[&[u8]]),
) -> Result<(), TableError> {
    let file = source.file.clone();
    let Batches { schema, batches } = open(source)?;
    let batches = batches.map(|batch| batch.map_err(|_| damaged(&file)));
    texts::visit_batches(batches, &schema, names, &file, take)
}
