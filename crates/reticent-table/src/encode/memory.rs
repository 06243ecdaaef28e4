//! Encoding matrices that are already in memory: NumPy arrays, SciPy CSR, and the like.

use super::{Encoder, LabelSource, Observer, RowWriter, Silent, Wanted};
use crate::error::TableError;
use reticent_data::Rows;

/// The targets of rows in memory, not yet encoded.
#[derive(Clone, Copy)]
pub enum Targets<'a> {
    /// There are none; the rows are for prediction, and their labels are 0.
    Absent,
    /// Numbers: class codes or regression targets.
    Numbers(&'a [f64]),
    /// Texts: classes by name.
    Texts(&'a [&'a str]),
}

/// A cell of a matrix that holds texts beside numbers. It is private, so it has no `Debug`.
#[derive(Clone)]
pub enum Cell {
    /// A number; NaN where there is none.
    Number(f64),
    /// A text.
    Text(String),
}

/// A sparse matrix as the three arrays of CSR. Its contents are private, so it has no `Debug`.
#[derive(Clone, Copy)]
pub struct CsrView<'a> {
    /// How many columns.
    pub columns: usize,
    /// Where each row starts, and where the last one ends.
    pub offsets: &'a [usize],
    /// The column of each entry.
    pub indices: &'a [usize],
    /// The value of each entry.
    pub values: &'a [f64],
}

/// How messages call a table that has no file.
const MATRIX: &str = "the matrix";

impl Encoder {
    /// Encode targets by themselves.
    pub(crate) fn labels(&self, targets: Targets<'_>) -> LabelSource {
        match targets {
            Targets::Absent => LabelSource::Absent,
            Targets::Numbers(numbers) => {
                LabelSource::Given(numbers.iter().map(|&n| self.target.of_number(n)).collect())
            }
            Targets::Texts(texts) => LabelSource::Given(
                texts.iter().map(|t| self.target.of_text(t.as_bytes())).collect(),
            ),
        }
    }

    /// Encode a row-major matrix whose columns are the declared features in order (a vector takes
    /// as many columns as it has entries; dropped columns are present). NaN is a missing value in a
    /// column of its own, and cannot be read in a vector.
    ///
    /// # Errors
    ///
    /// If the width is not the declared one, there is no row, or the number of targets differs.
    pub fn matrix<T: Copy + Into<f64>>(
        &self,
        columns: usize,
        values: &[T],
        targets: Targets<'_>,
    ) -> Result<Rows, TableError> {
        let rows = values.len().checked_div(columns).unwrap_or(0);
        if rows * columns != values.len() {
            return Err(TableError::Ragged { file: MATRIX.to_owned() });
        }
        let wanted = self.labels(targets).into();
        let value = |row: usize, column: usize| values[row * columns + column].into();
        Ok(self.matrix_by(MATRIX, (rows, columns), wanted, Silent, value)?.0)
    }

    /// Encode a row-major matrix of numbers and texts, as [`Encoder::matrix`] does. A number is
    /// what it is there; a text is read as a cell of a file is.
    ///
    /// # Errors
    ///
    /// As [`Encoder::matrix`].
    pub fn cells(
        &self,
        columns: usize,
        cells: &[Cell],
        targets: Targets<'_>,
    ) -> Result<Rows, TableError> {
        let rows = cells.len().checked_div(columns).unwrap_or(0);
        if rows * columns != cells.len() {
            return Err(TableError::Ragged { file: MATRIX.to_owned() });
        }
        let (shape, wanted) = ((rows, columns), self.labels(targets).into());
        let (rows, Silent) =
            self.write_matrix(MATRIX, shape, wanted, Silent, |writer, row, place, (c, entry)| {
                match &cells[row * columns + place] {
                    Cell::Number(number) => writer.number(c, entry, *number),
                    Cell::Text(text) => writer.text(c, entry, text.as_bytes()),
                }
            })?;
        Ok(rows)
    }

    /// Encode a matrix given by a function of row and column.
    pub(crate) fn matrix_by<'a, O: Observer>(
        &'a self,
        file: &str,
        shape: (usize, usize),
        wanted: Wanted<'a>,
        observer: O,
        value: impl Fn(usize, usize) -> f64,
    ) -> Result<(Rows, O), TableError> {
        self.write_matrix(file, shape, wanted, observer, |writer, row, place, (column, entry)| {
            writer.number(column, entry, value(row, place));
        })
    }

    /// Encode a matrix whose cells `write` writes: given the row, the place in it, and the column
    /// and entry of the declaration.
    fn write_matrix<'a, O: Observer>(
        &'a self,
        file: &str,
        (rows, columns): (usize, usize),
        wanted: Wanted<'a>,
        observer: O,
        write: impl Fn(&mut RowWriter<'a, O>, usize, usize, (usize, usize)),
    ) -> Result<(Rows, O), TableError> {
        self.check_width(file, columns)?;
        let places: Vec<_> = self
            .places()
            .into_iter()
            .enumerate()
            .filter_map(|(place, cell)| cell.map(|cell| (place, cell)))
            .collect();
        let mut writer = RowWriter::new(self, wanted, rows, observer);
        for row in 0..rows {
            for &(place, cell) in &places {
                write(&mut writer, row, place, cell);
            }
            writer.end_row();
            if writer.stopped() {
                break;
            }
        }
        writer.finish(file)
    }

    /// Encode sparse rows. An absent entry is the number 0, and NaN is as in [`Encoder::matrix`].
    ///
    /// # Errors
    ///
    /// As [`Encoder::matrix`], and if the three arrays do not belong together.
    pub fn sparse(&self, matrix: CsrView<'_>, targets: Targets<'_>) -> Result<Rows, TableError> {
        self.check_width(MATRIX, matrix.columns)?;
        let CsrView { offsets, indices, values, .. } = matrix;
        let fits = offsets.first() == Some(&0)
            && offsets.windows(2).all(|w| w[0] <= w[1])
            && offsets.last() == Some(&indices.len())
            && indices.len() == values.len()
            && indices.iter().all(|&j| j < matrix.columns);
        if !fits {
            return Err(TableError::Corrupt {
                file: MATRIX.to_owned(),
                format: "CSR",
                why: "its offsets, indices and values do not belong together",
            });
        }
        let sparse = SparseCells::new(self);
        let rows = offsets.len() - 1;
        let mut writer = RowWriter::new(self, self.labels(targets), rows, Silent);
        let mut row = Vec::new();
        for bounds in offsets.windows(2) {
            row.clear();
            row.extend((bounds[0]..bounds[1]).map(|k| (indices[k], values[k])));
            sparse.write(&mut row, &mut writer);
            writer.end_row();
            if writer.stopped() {
                break;
            }
        }
        Ok(writer.finish(MATRIX)?.0)
    }

    pub(crate) fn check_width(&self, file: &str, got: usize) -> Result<(), TableError> {
        self.check_nameless(file)?;
        let expected = self.layout.width();
        if got == expected {
            return Ok(());
        }
        Err(TableError::Width { file: file.to_owned(), expected, got })
    }
}

/// Where the entries of a sparse row go, and which absent ones are not encoded as zero.
pub(crate) struct SparseCells {
    places: Vec<Option<(usize, usize)>>,
    /// Places at which the number 0 has a non-zero encoding.
    filled: Vec<usize>,
}

impl SparseCells {
    pub(crate) fn new(encoder: &Encoder) -> Self {
        let places = encoder.places();
        let mut probe = RowWriter::new(encoder, LabelSource::Absent, 0, Silent);
        let filled = (0..places.len())
            .filter(|&place| places[place].is_some_and(|(c, e)| probe.encodes_zero(c, e)))
            .collect();
        Self { places, filled }
    }

    /// How many cells are encoded although they are absent.
    pub(super) fn filled(&self) -> usize {
        self.filled.len()
    }

    /// How many numbers a row has at most.
    pub(crate) fn width(&self) -> usize {
        self.places.len()
    }

    /// The encoder's column that a place belongs to, unless it is dropped or beyond the declared
    /// ones.
    pub(crate) fn column(&self, place: usize) -> Option<usize> {
        self.places.get(place).copied().flatten().map(|(column, _)| column)
    }

    /// Write one row given by its entries, which are put in order. A column that occurs twice makes
    /// the row unreadable.
    pub(crate) fn write<O: Observer>(
        &self,
        row: &mut [(usize, f64)],
        writer: &mut RowWriter<'_, O>,
    ) {
        row.sort_unstable_by_key(|entry| entry.0);
        if row.windows(2).any(|w| w[0].0 == w[1].0) {
            writer.unreadable_row();
            return;
        }
        for &(place, value) in row.iter() {
            if let Some(&Some((column, entry))) = self.places.get(place) {
                writer.number(column, entry, value);
            }
        }
        for &place in &self.filled {
            if row.binary_search_by_key(&place, |entry| entry.0).is_err()
                && let Some((column, entry)) = self.places[place]
            {
                writer.number(column, entry, 0.0);
            }
        }
    }
}

impl<O: Observer> RowWriter<'_, O> {
    /// Whether the number 0 in this cell gives a feature that is not zero.
    fn encodes_zero(&mut self, column: usize, entry: usize) -> bool {
        self.number(column, entry, 0.0);
        self.take_entries() > 0
    }
}
