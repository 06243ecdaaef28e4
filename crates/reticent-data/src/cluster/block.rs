//! Encoded rows as bytes: one by one, to be sent to their bucket and put in order there, and then together as blocks.
//!
//! A row is its features and then its label. Two rows with the same bytes are the same to everything that follows, so a table
//! whose rows are sorted by their bytes is the same table in whatever order they came.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, LargeBinaryArray, RecordBatch};
use arrow_schema::DataType;
use reticent_problem::RowBounds;
use reticent_problem::declaration::{Layout, Precision};

use super::ClusterError;
use crate::encode::Encoder;
use crate::table::{TableError, from_batches};
use crate::wire::{Reader, Writer, f32s, f64s};
use crate::{Csr, Dense, Features, Rows};

/// How the rows of a layout are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Format {
    precision: Precision,
    columns: usize,
    bounds: RowBounds,
}

impl Format {
    pub(super) fn new(layout: &Layout) -> Self {
        let (precision, columns) = (layout.precision(), layout.dimension());
        Self { precision, columns, bounds: layout.bounds() }
    }

    /// Bytes of a number, where rows are dense.
    fn size(self) -> Option<usize> {
        match self.precision {
            Precision::F32 => Some(4),
            Precision::F64 => Some(8),
            Precision::Sparse => None,
        }
    }

    /// The rows of a block that [`Packer`] wrote.
    pub(super) fn unpack(self, bytes: &[u8]) -> Option<Rows> {
        let mut reader = Reader::new(bytes);
        let (rows, columns) = (reader.count()?, self.columns);
        let features = if let Some(size) = self.size() {
            let values = reader.take(rows.checked_mul(columns)?.checked_mul(size)?)?;
            match self.precision {
                Precision::F32 => Features::F32(Dense::new(rows, columns, f32s(values))),
                _ => Features::F64(Dense::new(rows, columns, f64s(values))),
            }
        } else {
            let offsets = reader.wholes()?;
            let entries = *offsets.last()?;
            let indices = reader.take(entries.checked_mul(4)?)?;
            let indices = indices.as_chunks().0.iter().map(|i| u32::from_le_bytes(*i)).collect();
            let values = f64s(reader.take(entries.checked_mul(8)?)?);
            if offsets.len().checked_sub(1) != Some(rows) {
                return None;
            }
            Features::Sparse(checked(columns, offsets, indices, values)?)
        };
        let labels = f64s(reader.take(rows.checked_mul(8)?)?);
        reader.is_at_end().then(|| Rows::new(features, labels, self.bounds))
    }
}

/// Sparse rows, if the arrays belong together.
fn checked(
    columns: usize,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
) -> Option<Csr> {
    let rising = |w: &[usize]| {
        let row = indices.get(w[0]..w[1])?;
        row.windows(2).all(|pair| pair[0] < pair[1]).then_some(())
    };
    let fits = offsets.first() == Some(&0)
        && indices.iter().all(|&j| (j as usize) < columns)
        && offsets.windows(2).all(|w| w[0] <= w[1] && rising(w).is_some());
    fits.then(|| Csr::new(columns, offsets, indices, values))
}

/// Encodes rows and writes each as bytes.
#[derive(Debug)]
pub struct RowBytes(Encoder);

impl RowBytes {
    /// For tables of this layout.
    pub fn new(layout: &Layout) -> Self {
        Self(Encoder::new(layout))
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
        for (i, label) in rows.labels().iter().enumerate() {
            bytes.clear();
            match rows.features() {
                Features::F32(x) => bytes.extend(x.row(i).iter().flat_map(|v| v.to_le_bytes())),
                Features::F64(x) => bytes.extend(x.row(i).iter().flat_map(|v| v.to_le_bytes())),
                Features::Sparse(x) => {
                    let (indices, values) = x.row(i);
                    bytes.extend(indices.iter().flat_map(|j| j.to_le_bytes()));
                    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
                }
                Features::Mapped(_) => unreachable!("an encoder maps nothing"),
            }
            bytes.extend(label.to_le_bytes());
            builder.append_value(&bytes);
        }
        Ok(builder.finish())
    }
}

/// Puts rows that come bucket after bucket together to blocks.
///
/// A block has at most `limit` rows of one bucket. A bucket with more has several parts, so no number of rows that are alike
/// needs more memory than a block.
pub struct Packer {
    format: Format,
    limit: usize,
    bucket: Option<i64>,
    part: i64,
    rows: usize,
    offsets: Vec<usize>,
    indices: Vec<u8>,
    values: Vec<u8>,
    labels: Vec<u8>,
}

/// A block that is complete.
struct Packed {
    bucket: i64,
    part: i64,
    rows: usize,
    bytes: Vec<u8>,
}

impl Packer {
    /// For rows of this layout, in blocks of at most `limit` rows.
    pub fn new(layout: &Layout, limit: usize) -> Self {
        Self {
            format: Format::new(layout),
            limit: limit.max(1),
            bucket: None,
            part: 0,
            rows: 0,
            offsets: vec![0],
            indices: Vec::new(),
            values: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// Takes rows, in columns `bucket` and `row`, and gives the blocks that are complete: `bucket`, `part`, `rows`, `block`.
    ///
    /// # Errors
    ///
    /// [`ClusterError`], if they do not come bucket after bucket or are no rows.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ClusterError> {
        let (buckets, rows) = (numbers(batch, "bucket")?, bytes(batch, "row")?);
        let mut done = Vec::new();
        for i in 0..batch.num_rows() {
            let bucket = buckets.value(i);
            match self.bucket {
                Some(current) if bucket < current => return Err(ClusterError::Order),
                Some(current) if bucket == current => {
                    if self.rows == self.limit {
                        done.extend(self.close());
                        self.part += 1;
                    }
                }
                _ => {
                    done.extend(self.close());
                    (self.bucket, self.part) = (Some(bucket), 0);
                }
            }
            self.add(rows.value(i)).ok_or(ClusterError::Unreadable("a row"))?;
        }
        blocks(&done)
    }

    /// The block that is left, if any.
    ///
    /// # Errors
    ///
    /// None that can be met.
    pub fn finish(&mut self) -> Result<RecordBatch, ClusterError> {
        let last = self.close();
        blocks(last.as_slice())
    }

    fn add(&mut self, row: &[u8]) -> Option<()> {
        let (features, label) = row.split_at_checked(row.len().checked_sub(8)?)?;
        match self.format.size() {
            Some(size) if features.len() == size * self.format.columns => {
                self.values.extend(features);
            }
            None if features.len().is_multiple_of(12) => {
                let entries = features.len() / 12;
                let (indices, values) = features.split_at(4 * entries);
                self.indices.extend(indices);
                self.values.extend(values);
                self.offsets.push(self.offsets.last()? + entries);
            }
            _ => return None,
        }
        self.labels.extend(label);
        self.rows += 1;
        Some(())
    }

    fn close(&mut self) -> Option<Packed> {
        let (bucket, rows) = (self.bucket?, std::mem::take(&mut self.rows));
        if rows == 0 {
            return None;
        }
        let mut writer = Writer::default();
        writer.whole(rows as u64);
        if self.format.size().is_none() {
            writer.wholes(&self.offsets);
        }
        let mut bytes = writer.into_bytes();
        for part in [&mut self.indices, &mut self.values, &mut self.labels] {
            bytes.append(part);
        }
        self.offsets.truncate(1);
        Some(Packed { bucket, part: self.part, rows, bytes })
    }
}

fn blocks(done: &[Packed]) -> Result<RecordBatch, ClusterError> {
    let whole = |of: &dyn Fn(&Packed) -> i64| -> ArrayRef {
        Arc::new(done.iter().map(of).collect::<Vec<_>>().into_iter().collect::<Int64Array>())
    };
    let bytes: BinaryArray = done.iter().map(|block| Some(block.bytes.as_slice())).collect();
    RecordBatch::try_from_iter_with_nullable([
        ("bucket", whole(&|block| block.bucket), false),
        ("part", whole(&|block| block.part), false),
        ("rows", whole(&|block| block.rows as i64), false),
        ("block", Arc::new(bytes), false),
    ])
    .map_err(|_| ClusterError::Unreadable("a block"))
}

/// A column of whole numbers without gaps.
pub(super) fn numbers<'a>(
    batch: &'a RecordBatch,
    name: &'static str,
) -> Result<&'a Int64Array, ClusterError> {
    let column = batch.column_by_name(name).and_then(|c| c.as_primitive_opt::<Int64Type>());
    column.filter(|c| c.null_count() == 0).ok_or(ClusterError::Unreadable(name))
}

/// A column of bytes, of either width.
pub(super) enum Bytes<'a> {
    Short(&'a BinaryArray),
    Long(&'a LargeBinaryArray),
}

impl<'a> Bytes<'a> {
    pub(super) fn value(&self, i: usize) -> &'a [u8] {
        match self {
            Self::Short(column) => column.value(i),
            Self::Long(column) => column.value(i),
        }
    }
}

/// A column of bytes without gaps.
pub(super) fn bytes<'a>(
    batch: &'a RecordBatch,
    name: &'static str,
) -> Result<Bytes<'a>, ClusterError> {
    let column = batch.column_by_name(name).filter(|c| c.null_count() == 0);
    let column = column.ok_or(ClusterError::Unreadable(name))?;
    match column.data_type() {
        DataType::Binary => Ok(Bytes::Short(column.as_binary())),
        DataType::LargeBinary => Ok(Bytes::Long(column.as_binary())),
        _ => Err(ClusterError::Unreadable(name)),
    }
}
