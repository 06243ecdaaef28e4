//! The counts that a draft is drawn from. They are sealed where they leave this file.

use std::collections::BTreeMap;

use reticent_data::Sensitive;
use reticent_optim::draft::grid;
use reticent_problem::declaration::{number_spelled, spells_missing};

use super::fine::{FineCounts, place};

/// The most bytes of a text that can be a category.
const LONGEST: usize = 100;

/// Exact counts of a table, sealed.
#[derive(Clone)]
pub struct DraftCounts {
    /// For each column whose type is counted: whole numbers, other numbers, other texts.
    pub(super) types: Sensitive<Vec<f64>>,
    /// Of every column that is asked.
    pub(super) columns: Vec<ColumnCounts>,
}

/// The counts of one column. Counts that are not asked for are empty.
#[derive(Clone)]
pub(super) struct ColumnCounts {
    /// How many numbers lie below each point of the grid.
    pub(super) below: Sensitive<Vec<f64>>,
    /// The same of the negated numbers.
    pub(super) above: Sensitive<Vec<f64>>,
    /// How many numbers have the same first four digits.
    pub(super) fine: Sensitive<FineCounts>,
    /// How many rows hold each value, by the name that stands for it.
    pub(super) names: Sensitive<Vec<(String, f64)>>,
}

/// The counts while rows come in.
pub(super) struct Counting {
    grid: Vec<f64>,
    columns: Vec<Column>,
}

#[derive(Default)]
struct Column {
    asks_numbers: bool,
    asks_names: bool,
    types: [f64; 3],
    /// Numbers in each cell of the grid, those below it among the first; and negated.
    cells: Vec<f64>,
    negated: Vec<f64>,
    fine: FineCounts,
    names: BTreeMap<String, f64>,
}

/// The content of a cell.
pub(super) enum Said<'a> {
    Nothing,
    /// The number, and how it is written.
    Number(f64, &'a str),
    Text(&'a str),
}

impl Counting {
    /// For columns of which numbers, names or both are asked.
    pub(super) fn new(asked: impl Iterator<Item = (bool, bool)>) -> Self {
        let grid = grid();
        let columns = asked.map(|(asks_numbers, asks_names)| {
            let cells = if asks_numbers { vec![0.0; grid.len() + 1] } else { Vec::new() };
            Column { asks_numbers, asks_names, negated: cells.clone(), cells, ..Column::default() }
        });
        Self { columns: columns.collect(), grid }
    }

    /// Counts a row: at most once for each column in each of its counts.
    pub(super) fn row(&mut self, cells: &[&[u8]], comma: bool) {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.count(cell, comma, &self.grid);
        }
    }

    /// The counts, sealed.
    pub(super) fn sealed(self) -> DraftCounts {
        let typed = self.columns.iter().filter(|column| column.asks_numbers);
        let types = Sensitive::new(typed.flat_map(|column| column.types).collect());
        let columns = self.columns.into_iter().map(|column| ColumnCounts {
            below: Sensitive::new(sums(&column.cells)),
            above: Sensitive::new(sums(&column.negated)),
            fine: Sensitive::new(column.fine),
            names: Sensitive::new(column.names.into_iter().collect()),
        });
        DraftCounts { types, columns: columns.collect() }
    }
}

/// How many lie below each point: all cells before it.
fn sums(cells: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let below = cells.iter().map(|count| {
        sum += count;
        sum
    });
    // The last cell has no point above it.
    below.take(cells.len().saturating_sub(1)).collect()
}

impl Column {
    fn count(&mut self, cell: &[u8], comma: bool, grid: &[f64]) {
        let text = match said(cell, comma) {
            Said::Nothing => return,
            Said::Number(number, text) => {
                self.types[usize::from(number.fract() != 0.0)] += 1.0;
                if self.asks_numbers {
                    self.cells[grid.partition_point(|g| *g <= number)] += 1.0;
                    self.negated[grid.partition_point(|g| *g <= -number)] += 1.0;
                    *self.fine.entry(place(number)).or_default() += 1.0;
                }
                text
            }
            Said::Text(text) => {
                self.types[2] += 1.0;
                text
            }
        };
        if self.asks_names
            && let Some(name) = name(text)
        {
            *self.names.entry(name).or_default() += 1.0;
        }
    }
}

/// The category that a cell names, one for each value as a declaration tells them apart: a text
/// that spells a number, with a point and whatever the file's decimal sign, is that number, and
/// truth values are 1 and 0. None for what no declaration may list.
pub(super) fn name(text: &str) -> Option<String> {
    if let Some(number) = number_spelled(text) {
        return number.is_finite().then(|| (number + 0.0).to_string());
    }
    let plain = text.len() <= LONGEST && !text.chars().any(char::is_control);
    plain.then(|| text.to_owned())
}

/// A missing cell says nothing, and a truth value is a text among the types.
pub(super) fn said(cell: &[u8], comma: bool) -> Said<'_> {
    let cell = cell.trim_ascii();
    let Ok(text) = std::str::from_utf8(cell) else { return Said::Nothing };
    if text.is_empty() || spells_missing(cell) {
        return Said::Nothing;
    }
    let number = match text {
        _ if !text.bytes().any(|byte| byte.is_ascii_digit()) => None,
        _ if comma && text.contains('.') => None,
        _ if comma => number_spelled(&text.replace(',', ".")),
        _ => number_spelled(text),
    };
    match number.filter(|number| number.is_finite()) {
        Some(number) => Said::Number(number + 0.0, text),
        None => Said::Text(text),
    }
}
