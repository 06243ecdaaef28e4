//! Encoding by the declaration alone: clamp, scale, one-hot, clip the row's norm.
//!
//! # The rules
//!
//! Each row is encoded by itself and by what was declared, so replacing one row changes one encoded
//! row. Nothing is dropped and nothing fails because of a value: the number of rows is public, and
//! an error is an output.
//!
//! | what a cell holds | what becomes of it |
//! | --- | --- |
//! | a finite number in a numeric column | clamped to the bounds, scaled to `[0, 1]` or `[-1, 1]` |
//! | a declared category | 1 in that category's feature, 0 in the group's others |
//! | an undeclared category | zeros in the whole group |
//! | a date in a column of dates | its days since 1970-01-01 as such a number; parts of it on a circle or one-hot |
//! | any other cell there | as nothing |
//! | a category or a text in a column with a hash | 1 in its bucket; counts of its words by bucket, held to norm 1 |
//! | a finite number in a column with a curve | clamped to the bounds, then at most two features by its place between knots |
//! | nothing (an empty cell, a null), a declared missing mark, NaN, or a spelling of it that is no declared category ([`MISSING_SPELLINGS`](reticent_problem::declaration::MISSING_SPELLINGS)) | 1 in its feature for missing values, if it has one; else what its `fill` becomes, the middle of the bounds by default where it is a line; zeros in any other column |
//! | in a numeric column: text that is no number, an infinity, a number too large for `f64` | **the whole row becomes zero**, intercept included, and its label the fallback |
//! | bytes that are no UTF-8, more than a mebibyte | as text that is no number and no declared category |
//! | a finite number in the column of weights, or of exposures | clamped to the bounds, its share of the larger; anything else there is 0 |
//! | a target that is missing, undeclared or not finite | the fallback label: the first declared class, or 0 for regression |
//!
//! Blanks around a cell do not count. Where the categories are numbers, `1`, `1.0` and the number 1
//! of a binary file are the same category, unless the text itself is declared.
//!
//! Features of interactions are products of those of their columns, and zero where one of them says
//! nothing. Vectors with a norm bound are then clipped to it, the intercept is appended, and the
//! row is clipped to the layout's norm bound (or scaled onto the sphere).
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

use reticent_problem::declaration::{
    DateInput, DatePart, DateValue, Factor, Input, InputKind, Labels, Layout, NumericRange,
    ReadyCurve, WeightColumn, spells_missing,
};

use crate::error::TableError;
pub use cell::CategoryFinder;
use cell::{Categories, Marks};
pub(crate) use cell::{LONGEST_CELL, OVERLONG, without_thousands};
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
    pairs: Vec<PairEncoder>,
    /// How many columns take part in interactions.
    sides: usize,
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
    /// Whether it is a vector. The spellings of a missing value elsewhere, NaN among them, cannot
    /// be read there: images and embeddings have no missing entries.
    is_vector: bool,
    /// The feature of missing values.
    indicator: Option<u32>,
    /// The number that a missing one counts as.
    fill: Option<f64>,
    /// The category that undeclared ones count as.
    other: Option<u32>,
    /// How dates are read, if it holds them.
    date: Option<DateInput>,
    /// The thousands separator of numbers as text.
    thousands: Option<char>,
    /// How it takes part in interactions.
    side: Option<Side>,
}

/// A column of an interaction.
#[derive(Clone, Debug)]
struct Side {
    /// Its place among all of them.
    place: usize,
    /// The curve of a number; none for categories.
    curve: Option<ReadyCurve>,
}

/// An interaction.
#[derive(Clone, Debug)]
struct PairEncoder {
    /// Its first feature.
    start: u32,
    /// Both columns among those of interactions.
    sides: [usize; 2],
    /// How many features the second has.
    width: u32,
}

#[derive(Clone, Debug)]
enum CellKind {
    /// A number, or an entry of a vector that is scaled entry by entry.
    Scaled {
        min: f64,
        max: f64,
        range: NumericRange,
    },
    Curve {
        min: f64,
        max: f64,
        curve: ReadyCurve,
    },
    OneHot(Categories),
    /// Cosine and sine of each place on a circle.
    Periodic(Vec<(f64, f64)>),
    /// Buckets of categories by their hash.
    Buckets {
        buckets: usize,
        seed: u64,
    },
    /// Counts of words by their hash, held to norm 1.
    Words {
        buckets: usize,
        seed: u64,
    },
    /// Entries of a vector that is clipped as a whole.
    Vector {
        len: u32,
        norm: f64,
    },
    /// The row's weight, which is no feature.
    Weight(WeightColumn),
}

#[derive(Clone, Debug)]
struct TargetEncoder {
    labels: Labels,
    classes: Categories,
    missing: Marks,
    thousands: Option<char>,
}

impl Encoder {
    /// Make a layout ready.
    pub fn new(layout: &Layout) -> Self {
        let range = layout.numeric_range();
        let mut sides: Vec<(usize, &Factor)> = Vec::new();
        for pair in layout.pairs() {
            for (input, factor) in pair.inputs.iter().zip(&pair.factors) {
                if sides.iter().all(|(known, _)| known != input) {
                    sides.push((*input, factor));
                }
            }
        }
        let columns = layout
            .inputs()
            .iter()
            .enumerate()
            .filter_map(|(i, input)| {
                let kind = match &input.kind {
                    InputKind::Number { min, max } | InputKind::Entries { min, max, .. } => {
                        CellKind::Scaled { min: *min, max: *max, range }
                    }
                    InputKind::Curve { min, max, curve } => {
                        CellKind::Curve { min: *min, max: *max, curve: curve.ready() }
                    }
                    InputKind::OneHot { categories } => {
                        CellKind::OneHot(Categories::new(categories))
                    }
                    InputKind::Periodic { period } => CellKind::Periodic(circle(*period)),
                    InputKind::Hashed { buckets, seed, words: false } => {
                        CellKind::Buckets { buckets: *buckets, seed: *seed }
                    }
                    InputKind::Hashed { buckets, seed, words: true } => {
                        CellKind::Words { buckets: *buckets, seed: *seed }
                    }
                    InputKind::Vector { len, norm } => {
                        CellKind::Vector { len: *len as u32, norm: *norm }
                    }
                };
                let is_vector =
                    matches!(input.kind, InputKind::Entries { .. } | InputKind::Vector { .. });
                let (start, missing) = (input.start? as u32, Marks::new(&input.missing));
                let indicator = input.indicator.then(|| start + input.kind.features() as u32);
                let side = sides.iter().position(|(input, _)| *input == i).map(|place| Side {
                    place,
                    curve: match sides[place].1 {
                        Factor::Curve(curve) => Some(curve.ready()),
                        Factor::Categories(_) => None,
                    },
                });
                let (fill, other) = (input.fill, input.other.map(|other| other as u32));
                Some(ColumnEncoder {
                    input: i,
                    start,
                    kind,
                    missing,
                    is_vector,
                    indicator,
                    fill,
                    other,
                    date: input.date.clone(),
                    thousands: input.thousands,
                    side,
                })
            })
            .chain(weight_encoder(layout))
            .collect();
        let target = TargetEncoder {
            labels: layout.labels().clone(),
            classes: Categories::new(layout.classes()),
            missing: Marks::new(layout.target_missing()),
            thousands: layout.target_thousands(),
        };
        let place = |input: usize| sides.iter().position(|(known, _)| *known == input);
        let pairs = layout.pairs().iter().map(|pair| PairEncoder {
            start: pair.start as u32,
            sides: pair.inputs.map(|input| place(input).unwrap_or_default()),
            width: pair.factors[1].features() as u32,
        });
        let pairs = pairs.collect();
        Self { layout: layout.clone(), columns, pairs, sides: sides.len(), target }
    }

    /// The name of a column in a header, and the length of a vector.
    fn named(&self, column: usize) -> (&str, Option<usize>) {
        let encoder = &self.columns[column];
        match (&encoder.kind, self.layout.inputs().get(encoder.input)) {
            (CellKind::Weight(weight), _) => (&weight.name, None),
            (_, Some(input)) => match input.kind {
                InputKind::Entries { len, .. } | InputKind::Vector { len, .. } => {
                    (input.column(), Some(len))
                }
                InputKind::Number { .. }
                | InputKind::Curve { .. }
                | InputKind::OneHot { .. }
                | InputKind::Periodic { .. }
                | InputKind::Hashed { .. } => (input.column(), None),
            },
            (_, None) => ("", None),
        }
    }

    /// Whether the target is divided by an exposure.
    fn is_rate(&self) -> bool {
        self.layout.exposure().is_some()
    }

    /// The weight of a row whose cells have said nothing of it.
    fn missing_weight(&self) -> f64 {
        let weights = self.layout.weights();
        if weights.is_some_and(|weights| weights.column.is_some()) { 0.0 } else { 1.0 }
    }

    /// Refuses a table without column names where weights come from a column.
    pub(crate) fn check_nameless(&self, file: &str) -> Result<(), TableError> {
        match self.layout.weights().and_then(|weights| weights.column.as_ref()) {
            None => Ok(()),
            Some(column) => Err(TableError::NamelessWeights {
                file: file.to_owned(),
                column: column.name.clone(),
            }),
        }
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
        for (column, name, len) in self.named_columns() {
            match len {
                None => cells.push(NamedCell { name: name.to_owned(), column, entry: 0 }),
                Some(len) => cells.extend((0..len).map(|entry| NamedCell {
                    name: format!("{name}[{entry}]"),
                    column,
                    entry,
                })),
            }
        }
        cells
    }

    /// The kept columns: position among the encoder's columns, the name in a header, and the
    /// vector's length if it is one. The parts of a date are written with it.
    pub(crate) fn named_columns(&self) -> Vec<(usize, &str, Option<usize>)> {
        (0..self.columns.len())
            .filter(|column| !self.is_part(*column))
            .map(|column| {
                let (name, len) = self.named(column);
                (column, name, len)
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
            places.extend((0..input.width()).map(|entry| kept.then_some((column, entry))));
            column += usize::from(kept);
        }
        places
    }
}

impl Encoder {
    /// Whether absent entries of a sparse row stay absent: at most a quarter of the features differ
    /// from zero where the table holds nothing. Then sparse rows are the smaller.
    pub fn keeps_zeros(&self) -> bool {
        4 * SparseCells::new(self).filled() <= self.layout.dimension()
    }
}

impl Encoder {
    /// Whether a column holds numbers.
    pub(crate) fn is_numeric(&self, column: usize) -> bool {
        let ColumnEncoder { kind, date, .. } = &self.columns[column];
        let number = matches!(
            kind,
            CellKind::Scaled { .. }
                | CellKind::Curve { .. }
                | CellKind::Vector { .. }
                | CellKind::Weight(_)
        );
        number && date.is_none()
    }

    /// Whether a column holds dates.
    pub(crate) fn is_date(&self, column: usize) -> bool {
        self.columns[column].date.is_some()
    }

    /// Whether a column is a part of a date: it is written with the column of the date.
    fn is_part(&self, column: usize) -> bool {
        let input = self.layout.inputs().get(self.columns[column].input);
        input.is_some_and(Input::is_part)
    }

    /// The columns of a date's parts, which follow that of the date.
    fn parts_of(&self, column: usize) -> impl Iterator<Item = (usize, DatePart)> {
        let rest = self.columns.iter().enumerate().skip(column + 1);
        rest.map_while(|(column, encoder)| match encoder.date.as_ref()?.value {
            DateValue::Part(part) => Some((column, part)),
            DateValue::Days => None,
        })
    }

    /// The thousands separator of a column's numbers as text.
    pub(crate) fn thousands(&self, column: usize) -> Option<char> {
        self.columns[column].thousands
    }

    /// Whether the target is numeric.
    pub(crate) fn target_is_numeric(&self) -> bool {
        matches!(self.target.labels, Labels::Regression { .. })
    }
}

/// The column of weights, behind those of features.
fn weight_encoder(layout: &Layout) -> Option<ColumnEncoder> {
    let weight = layout.weights()?.column.clone()?;
    Some(ColumnEncoder {
        input: layout.inputs().len(),
        start: layout.dimension() as u32,
        missing: Marks::new(&weight.missing),
        thousands: weight.thousands,
        kind: CellKind::Weight(weight),
        is_vector: false,
        indicator: None,
        fill: None,
        other: None,
        date: None,
        side: None,
    })
}

/// Cosine and sine of each of so many places on a circle.
fn circle(period: u32) -> Vec<(f64, f64)> {
    let angle = |place| std::f64::consts::TAU * f64::from(place) / f64::from(period);
    (0..period).map(|place| (angle(place).cos(), angle(place).sin())).collect()
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
        match self.thousands {
            Some(mark) if !self.missing.has_text(cell) => {
                self.of_plain_text(without_thousands(cell, mark, b'.', &mut Vec::new()))
            }
            _ => self.of_plain_text(cell),
        }
    }

    /// A text without marks between thousands.
    fn of_plain_text(&self, cell: &[u8]) -> Label {
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
        match self.labels {
            Labels::Regression { .. } => self.of_read(number),
            Labels::Binary { .. } | Labels::Multiclass { .. } => {
                self.of_index(self.classes.of_number(number))
            }
        }
    }

    /// The label of the target over the row's exposure; that of no target stays.
    fn rate(&self, label: Label, exposure: f64) -> Label {
        match label.known() {
            Some(exact) => self.of_read(self.labels.to_target(exact) / exposure),
            None => label,
        }
    }

    /// The label of a number that marks nothing.
    fn of_read(&self, number: f64) -> Label {
        if number.is_infinite() {
            return self.fallback(Outcome::Unreadable);
        }
        let value = self.labels.of_number(number);
        let (min, max) = match &self.labels {
            Labels::Regression { min, max, .. } => (*min, *max),
            Labels::Binary { .. } | Labels::Multiclass { .. } => (f64::NEG_INFINITY, f64::INFINITY),
        };
        if max.is_infinite() || (min..=max).contains(&number) {
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
