//! Many rows of plain numbers at once.
//!
//! Where every column holds numbers that are scaled to bounds and nothing else can become of a
//! cell, rows are encoded column by column, a tile of rows at a time. Each row gets the bits that
//! [`RowWriter`] gives it cell by cell: the same scaling, and squares summed in the same order. A
//! row that is not surely plain (a cell that is no finite number, a norm near the bound, beyond it
//! or out of range) is left to the way of single cells.

use std::ops::Range;

use reticent_problem::declaration::{NumericRange, Precision};

use super::store::{Store, append};
use super::writer::{LabelSource, RowWriter, unit};
use super::{CellKind, Observer, clip};

/// Most rows of a tile: with twenty columns it fits into the first cache.
const ROWS: usize = 128;

/// Numbers of a tile, roughly, where rows are long.
const NUMBERS: usize = 1 << 16;

/// How much larger a sum of squares may be in single precision, at most: each number by `2^-24`, or
/// by less than the least normal number. Pays twice.
const ROUNDED: (f64, f64) = (1.0 + 1.0 / (1 << 22) as f64, f32::MIN_POSITIVE as f64);

/// A column whose cells are scaled.
#[derive(Clone, Copy)]
pub(crate) struct PlainColumn {
    min: f64,
    max: f64,
    range: NumericRange,
}

/// The cells of a column as they lie in memory.
#[derive(Clone, Copy)]
pub(crate) enum PlainCells<'a> {
    Single(&'a [f32]),
    Double(&'a [f64]),
}

/// The rows at hand.
#[derive(Default)]
pub(super) struct Tile {
    /// Row after row, as they are stored: one of the two is used.
    singles: Vec<f32>,
    doubles: Vec<f64>,
    plain: Vec<bool>,
}

/// A stored number.
trait Stored: Copy + Default {
    /// The nearest.
    fn of(number: f64) -> Self;
}

impl Stored for f32 {
    #[inline(always)]
    fn of(number: f64) -> Self {
        number as Self
    }
}

impl Stored for f64 {
    #[inline(always)]
    fn of(number: f64) -> Self {
        number
    }
}

impl<O: Observer> RowWriter<'_, O> {
    /// Whether rows may come in tiles at all. Who takes note of cells gets them one by one.
    pub(crate) fn takes_tiles(&self) -> bool {
        let layout = self.encoder.layout();
        !O::TAKES_NOTE
            && matches!(self.source, LabelSource::Inline)
            && layout.precision() != Precision::Sparse
            && !layout.encoding().normalize_rows
    }

    /// How the cells of a column are scaled, if nothing else can become of them.
    pub(crate) fn plain_column(&self, column: usize) -> Option<PlainColumn> {
        let encoder = &self.encoder.columns[column];
        match encoder.kind {
            CellKind::Scaled { min, max, range }
                if encoder.missing.is_empty() && encoder.date.is_none() =>
            {
                (max - min).is_finite().then_some(PlainColumn { min, max, range })
            }
            _ => None,
        }
    }

    /// Encodes rows from `rows.start` on, as many as fit into a tile and the block, and says how
    /// many. Columns are all of the encoder's, in order, with their cells: a cell for each feature
    /// but the intercept, which is the last.
    pub(crate) fn fill_tile(
        &mut self,
        columns: &[(PlainColumn, PlainCells<'_>)],
        rows: Range<usize>,
    ) -> usize {
        let layout = self.encoder.layout();
        let features = layout.dimension();
        let room = self.blocks.as_ref().map_or(ROWS, |blocks| blocks.rows - self.labels.len());
        let most = (NUMBERS / features).clamp(8, ROWS).min(room);
        let rows = rows.start..rows.end.min(rows.start + most);
        let count = rows.len();
        let single = layout.precision() == Precision::F32;
        let mut squares = [0.0; ROWS];
        let squares = &mut squares[..count];
        if single {
            let values = &mut self.tile.singles;
            pulp::Arch::new().dispatch(Fill { columns, rows, features, squares, values });
        } else {
            let values = &mut self.tile.doubles;
            pulp::Arch::new().dispatch(Fill { columns, rows, features, squares, values });
        }
        let (factor, more) = if single { ROUNDED } else { (1.0, 0.0) };
        let intercept = if layout.intercept().is_some() { 1.0 } else { 0.0 };
        let within = |square: &f64| {
            let square = (square + intercept) * factor + more;
            clip::within(square, features as f64, layout.norm_bound())
        };
        self.tile.plain.clear();
        self.tile.plain.extend(squares.iter().map(within));
        count
    }

    /// Stores the tile's rows from `first` on, up to one that is not plain, and says how many.
    /// Their labels must follow. Where there is no memory for them, the writer is full.
    pub(crate) fn store_plain_rows(&mut self, first: usize) -> usize {
        let count = self.tile.plain[first..].iter().take_while(|plain| **plain).count();
        let features = self.encoder.layout().dimension();
        let range = first * features..(first + count) * features;
        let stored = match &mut self.store {
            Store::F64(store) => append(store, &self.tile.doubles[range]),
            Store::F32(store) => append(store, &self.tile.singles[range]),
            Store::Sparse { .. } => return 0,
        };
        self.expect_stored(stored);
        count
    }
}

/// Scales cells and puts them into rows. Compiled for wide registers.
struct Fill<'a, T> {
    columns: &'a [(PlainColumn, PlainCells<'a>)],
    rows: Range<usize>,
    features: usize,
    /// Of each row: the sum of squares, without the intercept's; not a number where a cell is not
    /// finite.
    squares: &'a mut [f64],
    values: &'a mut Vec<T>,
}

impl<T: Stored> pulp::NullaryFnOnce for Fill<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { columns, rows, features, squares, values } = self;
        if values.len() < squares.len() * features {
            // Cells overwrite all but the intercept.
            values.resize(squares.len() * features, T::of(1.0));
        }
        let mut line = [T::default(); ROWS];
        let line = &mut line[..squares.len()];
        for (feature, (column, cells)) in columns.iter().enumerate() {
            match cells {
                PlainCells::Single(cells) => scale(*column, &cells[rows.clone()], squares, line),
                PlainCells::Double(cells) => scale(*column, &cells[rows.clone()], squares, line),
            }
            for (row, value) in values.chunks_exact_mut(features).zip(&*line) {
                row[feature] = *value;
            }
        }
    }
}

/// The cells of a column, scaled, and their squares.
#[inline(always)]
fn scale<C: Copy + Into<f64>, T: Stored>(
    column: PlainColumn,
    cells: &[C],
    squares: &mut [f64],
    line: &mut [T],
) {
    let PlainColumn { min, max, range } = column;
    match range {
        NumericRange::Unit => each(cells, squares, line, |cell| unit(cell, min, max)),
        NumericRange::Symmetric => {
            each(cells, squares, line, |cell| 2.0 * unit(cell, min, max) - 1.0);
        }
    }
}

#[inline(always)]
fn each<C: Copy + Into<f64>, T: Stored>(
    cells: &[C],
    squares: &mut [f64],
    line: &mut [T],
    scaled: impl Fn(f64) -> f64,
) {
    for ((cell, square), place) in cells.iter().zip(squares).zip(line) {
        let cell: f64 = (*cell).into();
        // A negative zero is stored as zero.
        let value = scaled(cell) + 0.0;
        *place = T::of(value);
        // Nothing times a finite number is nothing, and times any other no number.
        *square += value * value + 0.0 * cell;
    }
}
