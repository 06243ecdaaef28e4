//! Encoding by the declaration alone: clamp, scale, one-hot, clip the row's norm.
//!
//! # The rules
//!
//! Each row is encoded by itself and by what was declared, so replacing one row changes one encoded
//! row. Nothing is dropped and nothing fails because of a value: the number of rows is public, and an
//! error is an output.
//!
//! | what a cell holds | what becomes of it |
//! | --- | --- |
//! | a finite number in a numeric column | clamped to the bounds, scaled to `[0, 1]` or `[-1, 1]` |
//! | a declared category | 1 in that category's feature, 0 in the group's others |
//! | an undeclared category | zeros in the whole group |
//! | nothing (an empty cell, a null), a declared missing mark, NaN, or a spelling of it that is no declared category ([`MISSING_SPELLINGS`](reticent_problem::declaration::MISSING_SPELLINGS)) | zeros in that column |
//! | in a numeric column: text that is no number, an infinity, a number too large for `f64` | **the whole row becomes zero**, intercept included, and its label the fallback |
//! | bytes that are no UTF-8, more than a mebibyte | as text that is no number and no declared category |
//! | a target that is missing, undeclared or not finite | the fallback label: the first declared class, or 0 for regression |
//!
//! Blanks around a cell do not count. Where the categories are numbers, `1`, `1.0` and the number 1
//! of a binary file are the same category, unless the text itself is declared.
//!
//! Vectors with a norm bound are then clipped to it, the intercept is appended, and the row is clipped
//! to the layout's norm bound (or scaled onto the sphere).
//!
//! # Guarantee
//!
//! Every encoded row has Euclidean norm at most `Layout::norm_bound`, in exact arithmetic and as
//! computed in double precision in any order of summation, for `f32` rows as well.

mod cell;
mod clip;
mod memory;
mod observe;
mod store;
mod tile;
mod writer;

use reticent_problem::declaration::{InputKind, Labels, Layout, NumericRange, spells_missing};

use cell::{Categories, Marks};
pub(crate) use cell::{LONGEST_CELL, OVERLONG};
pub(crate) use memory::SparseCells;
pub use memory::{Cell, CsrView, Targets};
pub use observe::{CellCounts, ColumnCounts};
pub(crate) use observe::{Counter, Label, Observer, Outcome, Silent};
pub(crate) use tile::{PlainCells, PlainColumn};
pub(crate) use writer::{Blocks, LabelSource, RowWriter, Wanted};

/// A layout made ready for cells.
///
/// Holds what was declared and nothing of any row.
#[derive(Clone, Debug)]
pub struct Encoder {
    layout: Layout,
    columns: Vec<ColumnEncoder>,
    target: TargetEncoder,
}

/// One kept column.
#[derive(Clone, Debug)]
struct ColumnEncoder {
    /// Its place among the layout's inputs.
    input: usize,
    /// Its first feature.
    start: u32,
    kind: CellKind,
    missing: Marks,
    /// Whether it is a vector. What spells a missing value elsewhere, NaN among it, cannot be read
    /// there: images and embeddings have no missing entries.
    is_vector: bool,
}

#[derive(Clone, Debug)]
enum CellKind {
    /// A number, or an entry of a vector that is scaled entry by entry.
    Scaled {
        min: f64,
        max: f64,
        range: NumericRange,
    },
    OneHot(Categories),
    /// Entries of a vector that is clipped as a whole.
    Vector {
        len: u32,
        norm: f64,
    },
}

#[derive(Clone, Debug)]
struct TargetEncoder {
    labels: Labels,
    classes: Categories,
    missing: Marks,
}

impl Encoder {
    /// Make a layout ready.
    pub fn new(layout: &Layout) -> Self {
        let range = layout.numeric_range();
        let columns = layout
            .inputs()
            .iter()
            .enumerate()
            .filter_map(|(i, input)| {
                let kind = match &input.kind {
                    InputKind::Number { min, max } | InputKind::Entries { min, max, .. } => {
                        CellKind::Scaled { min: *min, max: *max, range }
                    }
                    InputKind::OneHot { categories } => {
                        CellKind::OneHot(Categories::new(categories))
                    }
                    InputKind::Vector { len, norm } => {
                        CellKind::Vector { len: *len as u32, norm: *norm }
                    }
                };
                let is_vector =
                    matches!(input.kind, InputKind::Entries { .. } | InputKind::Vector { .. });
                let (start, missing) = (input.start? as u32, Marks::new(&input.missing));
                Some(ColumnEncoder { input: i, start, kind, missing, is_vector })
            })
            .collect();
        let target = TargetEncoder {
            labels: layout.labels().clone(),
            classes: Categories::new(layout.classes()),
            missing: Marks::new(layout.target_missing()),
        };
        Self { layout: layout.clone(), columns, target }
    }

    /// The layout it encodes by.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The label of a target given as text.
    pub(crate) fn label_of_text(&self, text: &[u8]) -> Label {
        self.target.of_text(text)
    }

    /// The label of a target given as a number.
    pub(crate) fn label_of_number(&self, number: f64) -> Label {
        self.target.of_number(number)
    }

    /// The cells to fill from a table with column names: header name, column and entry of each.
    pub(crate) fn named_cells(&self) -> Vec<NamedCell> {
        let mut cells = Vec::new();
        for (column, encoder) in self.columns.iter().enumerate() {
            let input = &self.layout.inputs()[encoder.input];
            match input.kind {
                InputKind::Number { .. } | InputKind::OneHot { .. } => {
                    cells.push(NamedCell { name: input.name.clone(), column, entry: 0 });
                }
                InputKind::Entries { len, .. } | InputKind::Vector { len, .. } => {
                    cells.extend((0..len).map(|entry| NamedCell {
                        name: format!("{}[{entry}]", input.name),
                        column,
                        entry,
                    }));
                }
            }
        }
        cells
    }

    /// The kept columns: position among the encoder's columns, name, and the vector's length if it
    /// is one.
    pub(crate) fn named_columns(&self) -> Vec<(usize, &str, Option<usize>)> {
        self.columns
            .iter()
            .enumerate()
            .map(|(column, encoder)| {
                let input = &self.layout.inputs()[encoder.input];
                let len = match input.kind {
                    InputKind::Entries { len, .. } | InputKind::Vector { len, .. } => Some(len),
                    _ => None,
                };
                (column, input.name.as_str(), len)
            })
            .collect()
    }

    /// For each place in a file without column names: the column and entry it fills, or `None`
    /// where the column is dropped.
    pub(crate) fn places(&self) -> Vec<Option<(usize, usize)>> {
        let mut places = Vec::with_capacity(self.layout.width());
        let mut column = 0;
        for input in self.layout.inputs() {
            let kept = input.start.is_some();
            places.extend((0..input.kind.width()).map(|entry| kept.then_some((column, entry))));
            column += usize::from(kept);
        }
        places
    }
}

impl Encoder {
    /// Whether absent entries of a sparse row stay absent: at most a quarter of the features differ from zero where
    /// the table holds nothing. Then sparse rows are the smaller.
    pub fn keeps_zeros(&self) -> bool {
        4 * SparseCells::new(self).filled() <= self.layout.dimension()
    }
}

/// A cell to be found by its name.
pub(crate) struct NamedCell {
    pub(crate) name: String,
    pub(crate) column: usize,
    pub(crate) entry: usize,
}

impl TargetEncoder {
    fn of_text(&self, cell: &[u8]) -> Label {
        let cell = cell::trimmed(cell);
        if self.missing.has_text(cell) {
            return self.fallback(Outcome::Missing);
        }
        let label = match &self.labels {
            Labels::Regression { .. } => match cell::parse_number(cell) {
                Some(number) => self.of_number(number),
                None => self.fallback(Outcome::Unreadable),
            },
            _ => self.of_index(self.classes.of_text(cell)),
        };
        match label.outcome {
            Outcome::Undeclared | Outcome::Unreadable if spells_missing(cell) => {
                self.fallback(Outcome::Missing)
            }
            _ => label,
        }
    }

    fn of_number(&self, number: f64) -> Label {
        if number.is_nan() || self.missing.has_number(number) {
            return self.fallback(Outcome::Missing);
        }
        let Labels::Regression { min, max, .. } = &self.labels else {
            return self.of_index(self.classes.of_number(number));
        };
        if number.is_infinite() {
            return self.fallback(Outcome::Unreadable);
        }
        let value = self.labels.of_number(number);
        if max.is_infinite() || (*min..=*max).contains(&number) {
            return Label { value, exact: value, outcome: Outcome::Read };
        }
        let exact = self.labels.unclamped(number);
        Label { value, exact, outcome: Outcome::Clamped }
    }

    fn of_index(&self, index: Option<u32>) -> Label {
        index.map_or_else(
            || self.fallback(Outcome::Undeclared),
            |index| {
                let value = self.labels.of_class(index as usize);
                Label { value, exact: value, outcome: Outcome::Read }
            },
        )
    }

    /// The label of a target that names none.
    fn fallback(&self, outcome: Outcome) -> Label {
        let value = self.labels.fallback();
        Label { value, exact: value, outcome }
    }
}
