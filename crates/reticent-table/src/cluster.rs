//! Rows and blocks of a table on a cluster, in Arrow batches: what Spark carries.
//!
//! The batches are doors. How a row and a block are written, and what is asked of them, is
//! [`reticent_data::cluster`]'s.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, LargeBinaryArray, RecordBatch};
use arrow_schema::DataType;
use reticent_data::cluster::{
    Answer, Catalogue, ClusterError, Counted, Packed, Packer, SentBlock, Worker, write_row,
};
use reticent_problem::declaration::Layout;

use crate::encode::Encoder;
use crate::table::{TableError, from_batches};

/// Encodes rows and writes each as bytes.
#[derive(Debug)]
pub struct RowBytes(Encoder);

impl RowBytes {
    /// For tables of this layout.
    pub fn new(layout: &Layout) -> Self {
        Self(Encoder::new(layout))
    }

    /// Rows that are encoded at a time: an array of bytes holds less than 2^31, and a quarter of a
    /// gigabyte is enough.
    pub fn rows_at_a_time(&self) -> usize {
        // An entry of a sparse row is a number and its place.
        ((1 << 28) / (12 * self.0.layout().dimension() + 8)).max(1)
    }

    /// Whether a table with these columns can be encoded.
    ///
    /// # Errors
    ///
    /// [`TableError`], about names and types.
    pub fn check(&self, empty: &RecordBatch) -> Result<(), TableError> {
        self.encode(&empty.slice(0, 0)).map(drop)
    }

    /// The rows of a batch, which holds the declared columns and the target.
    ///
    /// # Errors
    ///
    /// [`TableError`], about names and types, never about a cell.
    pub fn encode(&self, batch: &RecordBatch) -> Result<BinaryArray, TableError> {
        let rows = match from_batches(&self.0, std::slice::from_ref(batch), None) {
            Err(TableError::Empty { .. }) => return Ok(BinaryBuilder::new().finish()),
            rows => rows?,
        };
        let mut builder = BinaryBuilder::with_capacity(rows.len(), 0);
        let mut bytes = Vec::new();
        for i in 0..rows.len() {
            bytes.clear();
            write_row(&rows, i, &mut bytes);
            builder.append_value(&bytes);
        }
        Ok(builder.finish())
    }
}

/// Packs the rows of a batch, in columns `bucket`, `row` and, where records are units, `unit`, and
/// gives the blocks that are complete: `bucket`, `part`, `records`, `block`.
///
/// # Errors
///
/// [`ClusterError`], if rows do not come bucket after bucket or are no rows.
pub fn pack(packer: &mut Packer, batch: &RecordBatch) -> Result<RecordBatch, ClusterError> {
    let (buckets, rows) = (numbers(batch, "bucket")?, bytes(batch, "row")?);
    let keys = batch.column_by_name("unit").map(|_| optional_bytes(batch, "unit")).transpose()?;
    let mut done = Vec::new();
    for i in 0..batch.num_rows() {
        let key = keys.as_ref().and_then(|keys| keys.get(i));
        done.extend(packer.push(buckets.value(i), key, rows.value(i))?);
    }
    blocks(&done)
}

/// The block that is left, if any, as [`pack`] gives it.
///
/// # Errors
///
/// None that can be met.
pub fn pack_rest(packer: &mut Packer) -> Result<RecordBatch, ClusterError> {
    blocks(packer.finish().as_slice())
}

/// The catalogue of the blocks that were counted: columns `bucket`, `part`, `records` and `digest`,
/// in any order.
///
/// # Errors
///
/// [`ClusterError`], if a part of a bucket is missing or comes twice.
pub fn catalogue(counted: &[RecordBatch]) -> Result<Catalogue, ClusterError> {
    let mut all = Vec::new();
    for batch in counted {
        let (buckets, parts) = (numbers(batch, "bucket")?, numbers(batch, "part")?);
        let (records, digests) = (numbers(batch, "records")?, bytes(batch, "digest")?);
        all.extend((0..batch.num_rows()).map(|i| Counted {
            bucket: buckets.value(i),
            part: parts.value(i),
            records: records.value(i),
            digest: digests.value(i),
        }));
    }
    Catalogue::new(all)
}

/// Adds the answers of blocks: columns `bucket`, `part`, `digest` and `block`.
///
/// # Errors
///
/// [`ClusterError`], if a block is not the one in the catalogue.
pub fn add_blocks(
    worker: &Worker,
    batch: &RecordBatch,
    to: &mut Answer,
) -> Result<(), ClusterError> {
    let (buckets, parts) = (numbers(batch, "bucket")?, numbers(batch, "part")?);
    let (digests, blocks) = (bytes(batch, "digest")?, bytes(batch, "block")?);
    for i in 0..batch.num_rows() {
        let block = SentBlock {
            bucket: buckets.value(i),
            part: parts.value(i),
            digest: digests.value(i),
            bytes: blocks.value(i),
        };
        worker.add(block, to)?;
    }
    Ok(())
}

fn blocks(done: &[Packed]) -> Result<RecordBatch, ClusterError> {
    let whole = |of: &dyn Fn(&Packed) -> i64| -> ArrayRef {
        Arc::new(done.iter().map(of).collect::<Vec<_>>().into_iter().collect::<Int64Array>())
    };
    let bytes: BinaryArray = done.iter().map(|block| Some(block.bytes.as_slice())).collect();
    RecordBatch::try_from_iter_with_nullable([
        ("bucket", whole(&|block| block.bucket), false),
        ("part", whole(&|block| block.part), false),
        ("records", whole(&|block| block.records as i64), false),
        ("block", Arc::new(bytes), false),
    ])
    .map_err(|_| ClusterError::Unreadable("a block"))
}

/// A column of whole numbers without gaps.
fn numbers<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a Int64Array, ClusterError> {
    let column = batch.column_by_name(name).and_then(|c| c.as_primitive_opt::<Int64Type>());
    column.filter(|c| c.null_count() == 0).ok_or(ClusterError::Unreadable(name))
}

/// A column of bytes, of either width.
enum Bytes<'a> {
    Short(&'a BinaryArray),
    Long(&'a LargeBinaryArray),
}

impl<'a> Bytes<'a> {
    fn value(&self, i: usize) -> &'a [u8] {
        match self {
            Self::Short(column) => column.value(i),
            Self::Long(column) => column.value(i),
        }
    }

    fn get(&self, i: usize) -> Option<&'a [u8]> {
        let array: &dyn Array = match self {
            Self::Short(column) => *column,
            Self::Long(column) => *column,
        };
        array.is_valid(i).then(|| self.value(i))
    }
}

/// A column of bytes without gaps.
fn bytes<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<Bytes<'a>, ClusterError> {
    let whole = batch.column_by_name(name).is_some_and(|c| c.null_count() == 0);
    if whole { optional_bytes(batch, name) } else { Err(ClusterError::Unreadable(name)) }
}

/// A column of bytes.
fn optional_bytes<'a>(
    batch: &'a RecordBatch,
    name: &'static str,
) -> Result<Bytes<'a>, ClusterError> {
    let column = batch.column_by_name(name).ok_or(ClusterError::Unreadable(name))?;
    match column.data_type() {
        DataType::Binary => Ok(Bytes::Short(column.as_binary())),
        DataType::LargeBinary => Ok(Bytes::Long(column.as_binary())),
        _ => Err(ClusterError::Unreadable(name)),
    }
}
