//! Many rows of plain numbers at once.
//!
//! Where every column holds numbers that are scaled to bounds and nothing else can become of a cell, rows are encoded column
//! by column, a tile of rows at a time. Each row gets the bits that [`RowWriter`] gives it cell by cell: the same scaling, and
//! squares summed in the same order. A row that is not plain (a cell that is no finite number, a norm beyond the bound or
//! out of range) is left to the way of single cells.

use std::ops::Range;

use reticent_problem::declaration::{NumericRange, Precision};

use super::writer::{LabelSource, RowWriter, Store};
use super::{CellKind, clip};

/// Rows of a tile: with twenty columns it fits into the first cache.
const ROWS: usize = 128;

/// A column whose cells are scaled, and where they go.
#[derive(Clone, Copy)]
pub(crate) struct PlainColumn {
    feature: usize,
    min: f64,
    max: f64,
    range: NumericRange,
}

/// The rows at hand.
#[derive(Default)]
pub(super) struct Tile {
    values: Vec<f64>,
    column: Vec<f64>,
    /// Of each row: the sum of squares and how many features are not zero; the same for features in single precision.
    squares: Vec<f64>,
    singles: Vec<f64>,
    counts: Vec<f64>,
    plain: Vec<bool>,
}

impl RowWriter<'_> {
    /// Whether rows may come in tiles at all.
    pub(crate) fn takes_tiles(&self) -> bool {
        let layout = self.encoder.layout();
        matches!(self.source, LabelSource::Inline)
            && layout.precision() != Precision::Sparse
            && !layout.encoding().normalize_rows
    }

    /// How the cells of a column are scaled, if nothing else can become of them.
    pub(crate) fn plain_column(&self, column: usize, entry: usize) -> Option<PlainColumn> {
        let encoder = &self.encoder.columns[column];
        match encoder.kind {
            CellKind::Scaled { min, max, range } if encoder.missing.is_empty() => {
                let feature = encoder.start as usize + entry;
                (max - min).is_finite().then_some(PlainColumn { feature, min, max, range })
            }
            _ => None,
        }
    }

    /// Encodes rows from `rows.start` on, as many as fit into a tile and the block, and says how many. Columns are all of the
    /// encoder's, in order, with their cells.
    pub(crate) fn fill_tile(
        &mut self,
        columns: &[(PlainColumn, &[f64])],
        rows: Range<usize>,
    ) -> usize {
        let room = self.blocks.as_ref().map_or(ROWS, |blocks| blocks.rows - self.labels.len());
        let count = rows.len().min(ROWS).min(room);
        let layout = self.encoder.layout();
        let (features, bound) = (layout.dimension(), layout.norm_bound());
        let (intercept, single) = (layout.intercept(), layout.precision() == Precision::F32);
        let tile = &mut self.tile;
        tile.values.clear();
        tile.values.resize(count * features, 0.0);
        for sums in [&mut tile.squares, &mut tile.singles, &mut tile.counts, &mut tile.column] {
            sums.clear();
            sums.resize(count, 0.0);
        }
        tile.plain.clear();
        tile.plain.resize(count, true);
        for (column, cells) in columns {
            let cells = &cells[rows.start..rows.start + count];
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || tile.column(*column, cells, features),
            );
        }
        if let Some(intercept) = intercept {
            for (row, values) in tile.values.chunks_exact_mut(features).enumerate() {
                values[intercept] = 1.0;
                tile.squares[row] += 1.0;
                tile.singles[row] += 1.0;
                tile.counts[row] += 1.0;
            }
        }
        for row in 0..count {
            let within = |sum: f64| clip::within(sum, tile.counts[row], bound);
            tile.plain[row] &= within(tile.squares[row]) && (!single || within(tile.singles[row]));
        }
        count
    }

    /// Ends the tile's row `row`, if it is plain. If not, its cells must be written one by one.
    pub(crate) fn end_plain_row(&mut self, row: usize) -> bool {
        if !self.tile.plain[row] {
            return false;
        }
        let features = self.encoder.layout().dimension();
        let values = &self.tile.values[row * features..(row + 1) * features];
        match &mut self.store {
            Store::F64(store) => store.extend_from_slice(values),
            Store::F32(store) => store.extend(values.iter().map(|v| *v as f32)),
            Store::Sparse { .. } => return false,
        }
        self.count_row(self.label);
        true
    }
}

impl Tile {
    /// Scales the cells of a column and puts them into their rows.
    #[inline(always)]
    fn column(&mut self, column: PlainColumn, cells: &[f64], features: usize) {
        let PlainColumn { feature, min, max, range } = column;
        let sums = self.squares.iter_mut().zip(&mut self.singles).zip(&mut self.counts);
        let rows = self.column.iter_mut().zip(sums).zip(&mut self.plain);
        for (cell, ((value, ((square, single), count)), plain)) in cells.iter().zip(rows) {
            // A negative zero is stored as zero.
            let v = super::writer::scale(*cell, min, max, range) + 0.0;
            let s = f64::from(v as f32);
            *value = v;
            *square += v * v;
            *single += s * s;
            *count += f64::from(u8::from(v != 0.0));
            *plain &= cell.is_finite();
        }
        let places = self.values.iter_mut().skip(feature).step_by(features);
        for (place, value) in places.zip(&self.column) {
            *place = *value;
        }
    }
}
