//! The outcomes of cells, and who may count them.
//!
//! A count of bad cells is an output. So who counts is part of a writer's type: rows that are
//! trained on come from a `RowWriter<Silent>`, which holds nothing that could count, and the
//! functions that give such rows hand over nothing else. A `RowWriter<Counter>` is made by
//! [`crate::table::inspect`] and [`crate::table::count_cells`] alone, for tables that are public
//! and for the owner of a private one.

use reticent_problem::declaration::Layout;
use serde::Serialize;

use super::{CellKind, Encoder};

/// The outcome of a cell, from the least to the most severe. A vector is one cell: its outcome is
/// the most severe of its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Read,
    Missing,
    /// A number outside its bounds, or a vector beyond its norm.
    Clamped,
    /// A category or class that is not declared.
    Undeclared,
    /// Not a finite number where one was due.
    Unreadable,
}

/// An encoded target: the fallback where it could not be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Label {
    /// Within the declared bounds; the fallback where the target names none.
    pub(crate) value: f64,
    /// On the same scale, but not clamped.
    pub(crate) exact: f64,
    pub(crate) outcome: Outcome,
}

impl Label {
    /// The true label, if the target names one.
    pub(crate) fn known(self) -> Option<f64> {
        matches!(self.outcome, Outcome::Read | Outcome::Clamped).then_some(self.exact)
    }
}

/// Hears what becomes of each cell.
pub(crate) trait Observer {
    /// Whether it takes note of anything. Where it does not, nothing is computed for it.
    const TAKES_NOTE: bool;

    /// A cell of the row at hand, by the encoder's column. A column of which nothing is heard was
    /// read.
    fn cell(&mut self, column: usize, outcome: Outcome);

    /// The row at hand is complete: whether it became zero because of a cell, and its target.
    fn end_row(&mut self, zero: bool, label: Label);
}

/// Takes note of nothing. Rows that are trained on are written under this one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Silent;

impl Observer for Silent {
    const TAKES_NOTE: bool = false;

    #[inline(always)]
    fn cell(&mut self, _: usize, _: Outcome) {}

    #[inline(always)]
    fn end_row(&mut self, _: bool, _: Label) {}
}

/// How many cells of a column could not be taken as they are. A count that the column's type rules
/// out is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ColumnCounts {
    /// The column.
    pub name: String,
    /// Empty cells, nulls and missing marks.
    pub missing: u64,
    /// Numbers outside the declared bounds, or vectors beyond their declared norm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clamped: Option<u64>,
    /// Categories or classes that are not declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undeclared: Option<u64>,
    /// Cells that are no finite number where one was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<u64>,
}

impl ColumnCounts {
    /// The counts that the column has, in the order of the fields, to be read or changed.
    fn values_mut(&mut self) -> impl Iterator<Item = &mut u64> {
        let rest = [&mut self.clamped, &mut self.undeclared, &mut self.unreadable];
        [&mut self.missing].into_iter().chain(rest.into_iter().flatten())
    }

    /// Cells that are neither read nor missing.
    pub fn bad(&self) -> u64 {
        let counts = [self.clamped, self.undeclared, self.unreadable];
        counts.into_iter().flatten().sum()
    }
}

/// The outcomes of a table's cells: exact counts, as private as the table is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CellCounts {
    /// How many rows.
    pub rows: u64,
    /// Rows that became zero because a cell could not be read.
    pub zero_rows: u64,
    /// Of each feature column that is kept, in declared order.
    pub columns: Vec<ColumnCounts>,
    /// Of the target, if it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<ColumnCounts>,
}

impl CellCounts {
    /// The counts that tables of this layout have, with nothing counted.
    pub fn none(layout: &Layout) -> Self {
        Counter::new(&Encoder::new(&layout.for_scoring()), true, false).finish().0
    }

    /// How many targets name no label: they are missing, undeclared or no finite number.
    pub fn unknown_labels(&self) -> u64 {
        self.target.as_ref().map_or(0, |target| {
            target.missing + target.undeclared.unwrap_or(0) + target.unreadable.unwrap_or(0)
        })
    }

    /// All counts but the number of rows, one after another: rows that became zero, then each
    /// column's.
    pub fn to_vector(&self) -> Vec<f64> {
        let mut copy = self.clone();
        copy.values_mut().map(|count| *count as f64).collect()
    }

    /// The same columns with these counts, rounded to whole numbers from 0 to `rows`. They are in
    /// the order of [`Self::to_vector`]; where there are fewer, the rest is zero.
    #[must_use]
    pub fn with_vector(&self, rows: u64, counts: &[f64]) -> Self {
        let mut copy = Self { rows, ..self.clone() };
        let given = counts.iter().copied().chain(std::iter::repeat(0.0));
        for (count, value) in copy.values_mut().zip(given) {
            *count = value.round().clamp(0.0, rows as f64) as u64;
        }
        copy
    }

    fn values_mut(&mut self) -> impl Iterator<Item = &mut u64> {
        let columns = self.columns.iter_mut().chain(&mut self.target);
        [&mut self.zero_rows].into_iter().chain(columns.flat_map(ColumnCounts::values_mut))
    }
}

/// Counts.
pub(crate) struct Counter {
    /// Of the row at hand.
    row: Vec<Outcome>,
    /// The encoder's column of each that is counted.
    counted: Vec<usize>,
    counts: CellCounts,
    /// The label of each row that names one, if they are kept.
    labels: Option<Vec<Option<f64>>>,
}

impl Counter {
    /// For the columns of an encoder, and for the target if labels are read. Labels are kept only
    /// on request.
    pub(crate) fn new(encoder: &Encoder, with_target: bool, keep_labels: bool) -> Self {
        let named = encoder.named_columns();
        let counted: Vec<usize> = named.iter().map(|(column, ..)| *column).collect();
        let columns = named.iter().map(|(column, name, _)| {
            let kind = &encoder.columns[*column].kind;
            let bounded = match kind {
                CellKind::Scaled { max, .. } => max.is_finite(),
                CellKind::Curve { .. } | CellKind::Vector { .. } | CellKind::Weight(_) => true,
                CellKind::OneHot(_)
                | CellKind::Periodic(_)
                | CellKind::Buckets { .. }
                | CellKind::Words { .. } => false,
            };
            ColumnCounts {
                clamped: bounded.then_some(0),
                undeclared: matches!(kind, CellKind::OneHot(_)).then_some(0),
                unreadable: encoder.is_numeric(*column).then_some(0),
                ..empty(name, false, false)
            }
        });
        let columns: Vec<_> = columns.collect();
        let layout = encoder.layout();
        let is_number = layout.classes().is_empty();
        let bounded = layout.label_bound().is_finite();
        let target = with_target.then(|| empty(layout.target(), is_number, is_number && bounded));
        Self {
            row: vec![Outcome::Read; encoder.columns.len()],
            counted,
            counts: CellCounts { columns, target, ..CellCounts::default() },
            labels: keep_labels.then(Vec::new),
        }
    }

    /// The counts, and the labels if they were kept.
    pub(crate) fn finish(self) -> (CellCounts, Vec<Option<f64>>) {
        (self.counts, self.labels.unwrap_or_default())
    }
}

/// A column of which nothing was counted yet.
fn empty(name: &str, is_number: bool, bounded: bool) -> ColumnCounts {
    ColumnCounts {
        name: name.to_owned(),
        missing: 0,
        clamped: (is_number && bounded).then_some(0),
        undeclared: (!is_number).then_some(0),
        unreadable: is_number.then_some(0),
    }
}

/// Adds a cell to its column's counts. Outcomes that the column's type rules out do not occur.
fn count(column: &mut ColumnCounts, outcome: Outcome) {
    let place = match outcome {
        Outcome::Read => None,
        Outcome::Missing => Some(&mut column.missing),
        Outcome::Clamped => column.clamped.as_mut(),
        Outcome::Undeclared => column.undeclared.as_mut(),
        Outcome::Unreadable => column.unreadable.as_mut(),
    };
    if let Some(place) = place {
        *place += 1;
    }
}

impl Observer for Counter {
    const TAKES_NOTE: bool = true;

    fn cell(&mut self, column: usize, outcome: Outcome) {
        if let Some(known) = self.row.get_mut(column) {
            *known = outcome.max(*known);
        }
    }

    fn end_row(&mut self, zero: bool, label: Label) {
        self.counts.rows += 1;
        self.counts.zero_rows += u64::from(zero);
        for (column, place) in self.counts.columns.iter_mut().zip(&self.counted) {
            count(column, self.row[*place]);
        }
        self.row.fill(Outcome::Read);
        if let Some(target) = &mut self.counts.target {
            count(target, label.outcome);
        }
        if let Some(labels) = &mut self.labels {
            labels.push(label.known());
        }
    }
}
