//! Encoded rows in one of three layouts, as they grow.
//!
//! The memory for rows is asked for and may be refused: a table that does not fit ends in an error
//! and not in an abort. The error names no number of rows, which may be private.

use reticent_problem::declaration::{Layout, Precision};

use super::clip;
use reticent_data::{Csr, Dense, Features};

/// Rows so far.
pub(super) enum Store {
    F32(Vec<f32>),
    F64(Vec<f64>),
    Sparse { offsets: Vec<usize>, indices: Vec<u32>, values: Vec<f64> },
}

/// Makes room for `more` elements, or says that there is none. Grows like a vector does, and where
/// that is too much, by less.
#[inline]
pub(super) fn grow<T>(values: &mut Vec<T>, more: usize) -> bool {
    values.capacity() - values.len() >= more || grow_slowly(values, more)
}

#[cold]
fn grow_slowly<T>(values: &mut Vec<T>, more: usize) -> bool {
    values.try_reserve(more).is_ok()
        || values.try_reserve_exact(more.max(values.len() / 16)).is_ok()
        || values.try_reserve_exact(more).is_ok()
}

/// Appends numbers, or says that there is no room for them.
pub(super) fn append<T: Copy>(values: &mut Vec<T>, more: &[T]) -> bool {
    let fits = grow(values, more.len());
    if fits {
        values.extend_from_slice(more);
    }
    fits
}

impl Store {
    /// Without a row, and without room for one.
    pub(super) fn empty(layout: &Layout) -> Self {
        match layout.precision() {
            Precision::F32 => Self::F32(Vec::new()),
            Precision::F64 => Self::F64(Vec::new()),
            Precision::Sparse => {
                Self::Sparse { offsets: vec![0], indices: Vec::new(), values: Vec::new() }
            }
        }
    }

    /// With room for so many rows, where that follows from their number; none if there is too
    /// little memory.
    pub(super) fn new(layout: &Layout, rows: usize) -> Option<Self> {
        let cells = rows.checked_mul(layout.dimension())?;
        let mut store = Self::empty(layout);
        match &mut store {
            Self::F32(values) => values.try_reserve_exact(cells).ok()?,
            Self::F64(values) => values.try_reserve_exact(cells).ok()?,
            Self::Sparse { .. } => {}
        }
        Some(store)
    }

    /// Appends a row given by its non-zero features, in order. False if there is no memory for it:
    /// the rows then are incomplete and must not be used.
    pub(super) fn push(&mut self, entries: &[(u32, f64)], layout: &Layout) -> bool {
        let dimension = layout.dimension();
        match self {
            Self::F64(values) => {
                if !grow(values, dimension) {
                    return false;
                }
                let start = values.len();
                values.resize(start + dimension, 0.0);
                for &(index, value) in entries {
                    values[start + index as usize] = value;
                }
            }
            Self::F32(values) => {
                if !grow(values, dimension) {
                    return false;
                }
                let start = values.len();
                values.resize(start + dimension, 0.0);
                let nearest = entries.iter().map(|entry| f64::from(entry.1 as f32));
                // Rounding to nearest may step over the bound; rounding toward zero cannot.
                let norm = clip::norm_upper(nearest);
                let fits = norm <= layout.norm_bound() && norm.is_finite();
                for &(index, value) in entries {
                    values[start + index as usize] =
                        if fits { value as f32 } else { clip::toward_zero(value) };
                }
            }
            Self::Sparse { offsets, indices, values } => {
                let more = entries.len();
                if !(grow(offsets, 1) && grow(indices, more) && grow(values, more)) {
                    return false;
                }
                for &(index, value) in entries.iter().filter(|entry| entry.1 != 0.0) {
                    indices.push(index);
                    values.push(value);
                }
                offsets.push(indices.len());
            }
        }
        true
    }

    /// The rows, of which there are so many, with so many features each.
    pub(super) fn features(self, rows: usize, columns: usize) -> Features {
        match self {
            Self::F32(values) => Features::F32(Dense::new(rows, columns, values)),
            Self::F64(values) => Features::F64(Dense::new(rows, columns, values)),
            Self::Sparse { offsets, indices, values } => {
                Features::Sparse(Csr::new(columns, offsets, indices, values))
            }
        }
    }
}
