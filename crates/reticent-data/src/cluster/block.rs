//! Encoded rows as bytes: one by one, to be sent to their bucket and put in order there, and then
//! together as blocks.
//!
//! A row is its features, then its weight where rows have such, and then its label. Two rows with
//! the same bytes are the same to everything that follows, so a table whose rows are sorted by
//! their bytes is the same table in whatever order they came.
//!
//! Where records are units, a unit's rows come together, told by its key, and stay together: a
//! block is cut between units, by their number alone.

use reticent_problem::declaration::{Layout, Precision};
use reticent_problem::{RowBounds, Unit};

use super::ClusterError;
use crate::wire::{Reader, Writer, f32s, f64s};
use crate::{Csr, Dense, Features, Rows};

/// How blocks of the rows of a layout are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Format {
    precision: Precision,
    columns: usize,
    bounds: RowBounds,
    unit: Option<Unit>,
    weighted: bool,
}

impl Format {
    /// Of rows, or of units where such are the records.
    pub fn new(layout: &Layout, unit: Option<&Unit>) -> Self {
        let (precision, columns) = (layout.precision(), layout.dimension());
        let (bounds, weighted) = (layout.bounds(), layout.encodes_weights());
        Self { precision, columns, bounds, unit: unit.cloned(), weighted }
    }

    /// Whether rows have weights.
    pub fn is_weighted(&self) -> bool {
        self.weighted
    }

    /// Bytes of a number, where rows are dense.
    fn size(&self) -> Option<usize> {
        match self.precision {
            Precision::F32 => Some(4),
            Precision::F64 => Some(8),
            Precision::Sparse => None,
        }
    }

    /// The rows of a block that [`Packer`] wrote; none of any other bytes.
    pub fn unpack(&self, bytes: &[u8]) -> Option<Rows> {
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
        let weights = self.weighted.then(|| reader.take(rows.checked_mul(8)?).map(f64s));
        let rows = Rows::new(features, labels, self.bounds);
        let rows = match weights {
            None => rows,
            Some(weights) => rows.weighted(weights?),
        };
        let rows = match &self.unit {
            None => rows,
            Some(unit) => rows.in_units(unit, &reader.wholes()?)?,
        };
        reader.is_at_end().then_some(rows)
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

/// Appends row `i`, its features, its weight if it has one, and then its label.
///
/// # Panics
///
/// For rows of a feature map: the encoder made the rows, and maps nothing.
pub fn write_row(rows: &Rows, i: usize, bytes: &mut Vec<u8>) {
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
    if let Some(weights) = rows.weights() {
        bytes.extend(weights[i].to_le_bytes());
    }
    bytes.extend(rows.labels()[i].to_le_bytes());
}

/// Puts rows that come bucket after bucket together to blocks.
///
/// A block has at most `limit` records of one bucket. A bucket with more has several parts, so no
/// number of rows that are alike needs more memory than a block. Of a unit the first rows are taken
/// and those beyond the cap left: anyone who sorts them decides which.
pub struct Packer {
    format: Format,
    limit: usize,
    bucket: Option<i64>,
    part: i64,
    rows: usize,
    /// The unit at hand; none for a row that is one by itself.
    key: Option<Vec<u8>>,
    /// How many rows of each unit are in the block.
    sizes: Vec<usize>,
    offsets: Vec<usize>,
    indices: Vec<u8>,
    values: Vec<u8>,
    labels: Vec<u8>,
    weights: Vec<u8>,
}

/// A block that is complete.
pub struct Packed {
    /// Its bucket.
    pub bucket: i64,
    /// Which block of its bucket, from 0.
    pub part: i64,
    /// How many records it has.
    pub records: usize,
    /// The rows.
    pub bytes: Vec<u8>,
}

impl Packer {
    /// For blocks of this format with at most `limit` records.
    pub fn new(format: Format, limit: usize) -> Self {
        Self {
            format,
            limit: limit.max(1),
            bucket: None,
            part: 0,
            rows: 0,
            key: None,
            sizes: Vec::new(),
            offsets: vec![0],
            indices: Vec::new(),
            values: Vec::new(),
            labels: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Takes a row of a bucket, as [`write_row`] wrote it, and gives the block before it if that is
    /// complete. Rows of one bucket with the same `key` are a unit; a row without one is a record
    /// by itself.
    ///
    /// # Errors
    ///
    /// [`ClusterError`], if rows do not come bucket after bucket and in each by increasing keys,
    /// those without one first, so that a unit whose rows lie apart is not taken for two; or if it
    /// is no row.
    pub fn push(
        &mut self,
        bucket: i64,
        key: Option<&[u8]>,
        row: &[u8],
    ) -> Result<Option<Packed>, ClusterError> {
        if self.bucket == Some(bucket) {
            if key.is_some() && key == self.key.as_deref() {
                self.add_to_unit(row).ok_or(ClusterError::Unreadable("a row"))?;
                return Ok(None);
            }
            if key < self.key.as_deref() {
                return Err(ClusterError::Order);
            }
        }
        let done = match self.bucket {
            Some(current) if bucket < current => return Err(ClusterError::Order),
            Some(current) if bucket == current => {
                let full = self.sizes.len() == self.limit;
                let done = if full { self.close() } else { None };
                self.part += i64::from(full);
                done
            }
            _ => {
                let done = self.close();
                (self.bucket, self.part) = (Some(bucket), 0);
                done
            }
        };
        self.key = key.map(<[u8]>::to_vec);
        self.add(row).ok_or(ClusterError::Unreadable("a row"))?;
        self.sizes.push(1);
        Ok(done)
    }

    /// Another row of the unit at hand, unless it has as many as are kept.
    fn add_to_unit(&mut self, row: &[u8]) -> Option<()> {
        let most = self.format.unit.as_ref().map_or(1, |unit| unit.max_rows);
        if *self.sizes.last()? < most {
            self.add(row)?;
            *self.sizes.last_mut()? += 1;
        }
        Some(())
    }

    /// The block that is left, if any.
    pub fn finish(&mut self) -> Option<Packed> {
        self.close()
    }

    fn add(&mut self, row: &[u8]) -> Option<()> {
        let (row, label) = row.split_at_checked(row.len().checked_sub(8)?)?;
        let behind = if self.format.weighted { 8 } else { 0 };
        let (features, weight) = row.split_at_checked(row.len().checked_sub(behind)?)?;
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
        self.weights.extend(weight);
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
        for part in [&mut self.indices, &mut self.values, &mut self.labels, &mut self.weights] {
            bytes.append(part);
        }
        if self.format.unit.is_some() {
            let mut writer = Writer::default();
            writer.wholes(&self.sizes);
            bytes.append(&mut writer.into_bytes());
        }
        self.offsets.truncate(1);
        let records = self.sizes.len();
        self.sizes.clear();
        Some(Packed { bucket, part: self.part, records, bytes })
    }
}
