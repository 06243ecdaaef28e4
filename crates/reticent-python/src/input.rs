//! Tables and targets as Python holds them, read where they lie.

use arrow_array::RecordBatch;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_pyarrow::FromPyArrow;
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use reticent::data::Rows;
use reticent::data::encode::{Cell, CsrView, Encoder, Targets};
use reticent::data::table::{TableError, from_batches};

/// The features of a table. A dense matrix is borrowed, and copied by nothing but the encoding.
pub(crate) enum GivenTable<'py> {
    /// A matrix in single precision.
    F32(PyReadonlyArray2<'py, f32>),
    /// A matrix in double precision.
    F64(PyReadonlyArray2<'py, f64>),
    /// Columns, offsets, indices and values of a sparse one.
    Sparse(usize, Vec<usize>, Vec<usize>, PyReadonlyArray1<'py, f64>),
    /// Columns and cells, row after row, of a matrix that holds texts.
    Cells(usize, Vec<Cell>),
    /// Columns by name.
    Batches(Vec<RecordBatch>),
}

/// The targets of a table.
pub(crate) enum Labels<'py> {
    /// None: the rows are for prediction.
    Absent,
    /// Class codes or numbers.
    Numbers(PyReadonlyArray1<'py, f64>),
    /// Classes by name.
    Texts(Vec<String>),
}

impl<'py> GivenTable<'py> {
    /// Reads a matrix, a tuple `(columns, offsets, indices, values)` or `(columns, cells)`, or
    /// whatever gives Arrow columns.
    pub(crate) fn read(given: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(matrix) = given.extract() {
            return Ok(Self::F64(matrix));
        }
        if let Ok(matrix) = given.extract() {
            return Ok(Self::F32(matrix));
        }
        if let Ok(parts) = given.cast::<PyTuple>() {
            if parts.len() == 2 {
                let (columns, cells): (usize, Vec<GivenCell>) = given.extract()?;
                return Ok(Self::Cells(columns, cells.into_iter().map(Cell::from).collect()));
            }
            let (columns, offsets, indices, values) = given.extract()?;
            return Ok(Self::Sparse(columns, places(&offsets)?, places(&indices)?, values));
        }
        // The error message of the other side may quote a cell, and a cell is private.
        let unreadable = |()| {
            PyValueError::new_err(
                "the table cannot be read as Arrow columns; give each column one type: numbers, booleans or texts",
            )
        };
        let reader = RecordBatchStreamReader::from_pyarrow_bound(given).map_err(drop);
        let batches = reader.and_then(|reader| reader.collect::<Result<_, _>>().map_err(drop));
        Ok(Self::Batches(batches.map_err(unreadable)?))
    }

    /// How many rows.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::F32(matrix) => matrix.shape()[0],
            Self::F64(matrix) => matrix.shape()[0],
            Self::Sparse(_, offsets, ..) => offsets.len().saturating_sub(1),
            Self::Cells(columns, cells) => cells.len().checked_div(*columns).unwrap_or(0),
            Self::Batches(batches) => batches.iter().map(RecordBatch::num_rows).sum(),
        }
    }

    /// A view that can be sent to another thread.
    pub(crate) fn borrow(&self) -> PyResult<BorrowedTable<'_>> {
        Ok(match self {
            Self::F32(matrix) => BorrowedTable::F32(matrix.shape()[1], matrix.as_slice()?),
            Self::F64(matrix) => BorrowedTable::F64(matrix.shape()[1], matrix.as_slice()?),
            Self::Sparse(columns, offsets, indices, values) => BorrowedTable::Sparse(CsrView {
                columns: *columns,
                offsets,
                indices,
                values: values.as_slice()?,
            }),
            Self::Cells(columns, cells) => BorrowedTable::Cells(*columns, cells),
            Self::Batches(batches) => BorrowedTable::Batches(batches),
        })
    }
}

/// A cell as Python holds it.
#[derive(FromPyObject)]
enum GivenCell {
    Number(f64),
    Text(String),
}

impl From<GivenCell> for Cell {
    fn from(cell: GivenCell) -> Self {
        match cell {
            GivenCell::Number(number) => Self::Number(number),
            GivenCell::Text(text) => Self::Text(text),
        }
    }
}

/// Places in a sparse matrix. A negative one belongs to no matrix and is refused with the rest of
/// its structure.
fn places(numbers: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
    let numbers = numbers.as_slice()?;
    Ok(numbers.iter().map(|n| usize::try_from(*n).unwrap_or(usize::MAX)).collect())
}

impl<'py> Labels<'py> {
    /// Reads nothing, numbers, or a list of texts.
    pub(crate) fn read(given: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        let Some(given) = given else { return Ok(Self::Absent) };
        if let Ok(numbers) = given.extract() {
            return Ok(Self::Numbers(numbers));
        }
        let unreadable =
            |_| PyValueError::new_err("`y` must hold numbers or texts, one for each row");
        Ok(Self::Texts(given.extract().map_err(unreadable)?))
    }

    /// A view that can be sent to another thread.
    pub(crate) fn borrow(&self) -> PyResult<BorrowedLabels<'_>> {
        Ok(match self {
            Self::Absent => BorrowedLabels::Absent,
            Self::Numbers(numbers) => BorrowedLabels::Numbers(numbers.as_slice()?),
            Self::Texts(texts) => BorrowedLabels::Texts(texts.iter().map(String::as_str).collect()),
        })
    }
}

/// A table without ties to the interpreter.
#[derive(Clone, Copy)]
pub(crate) enum BorrowedTable<'a> {
    F32(usize, &'a [f32]),
    F64(usize, &'a [f64]),
    Sparse(CsrView<'a>),
    Cells(usize, &'a [Cell]),
    Batches(&'a [RecordBatch]),
}

/// Targets without ties to the interpreter.
pub(crate) enum BorrowedLabels<'a> {
    Absent,
    Numbers(&'a [f64]),
    Texts(Vec<&'a str>),
}

impl BorrowedTable<'_> {
    /// How many rows.
    pub(crate) fn rows(&self) -> usize {
        match *self {
            Self::F32(columns, values) => values.len().checked_div(columns).unwrap_or(0),
            Self::F64(columns, values) => values.len().checked_div(columns).unwrap_or(0),
            Self::Sparse(matrix) => matrix.offsets.len().saturating_sub(1),
            Self::Cells(columns, cells) => cells.len().checked_div(columns).unwrap_or(0),
            Self::Batches(batches) => batches.iter().map(RecordBatch::num_rows).sum(),
        }
    }

    /// Encodes the rows.
    pub(crate) fn encode(
        self,
        encoder: &Encoder,
        labels: &BorrowedLabels<'_>,
    ) -> Result<Rows, TableError> {
        let targets = match labels {
            BorrowedLabels::Absent => Targets::Absent,
            BorrowedLabels::Numbers(numbers) => Targets::Numbers(numbers),
            BorrowedLabels::Texts(texts) => Targets::Texts(texts),
        };
        match self {
            Self::F32(columns, values) => encoder.matrix(columns, values, targets),
            Self::F64(columns, values) => encoder.matrix(columns, values, targets),
            Self::Sparse(matrix) => encoder.sparse(matrix, targets),
            Self::Cells(columns, cells) => encoder.cells(columns, cells, targets),
            Self::Batches(batches) => from_batches(encoder, batches, Some(targets)),
        }
    }
}
