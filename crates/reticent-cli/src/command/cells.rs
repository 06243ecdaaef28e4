//! The counts of a table's missing, clamped, undeclared and unreadable cells, as text.

use reticent::data::encode::{CellCounts, ColumnCounts};

/// A sentence for each column of which a cell was not taken as it is, and for rows that became
/// zero.
pub(super) fn sentences(counts: &CellCounts) -> Vec<String> {
    let columns = counts.columns.iter().chain(&counts.target);
    let mut sentences: Vec<String> =
        columns.filter_map(|column| sentence(column, counts.rows)).collect();
    if counts.zero_rows > 0 {
        sentences.push(format!(
            "{} of {} rows have a cell that cannot be read: their features count as zero",
            counts.zero_rows, counts.rows
        ));
    }
    sentences
}

fn sentence(column: &ColumnCounts, rows: u64) -> Option<String> {
    let kinds = [
        (Some(column.missing), "missing"),
        (column.clamped, "outside the bounds"),
        (column.undeclared, "undeclared"),
        (column.unreadable, "unreadable"),
    ];
    let found: Vec<String> = kinds
        .into_iter()
        .filter_map(|(count, kind)| Some(format!("{} {kind}", count.filter(|n| *n > 0)?)))
        .collect();
    let list = found.join(", ");
    (!found.is_empty()).then(|| format!("`{}`: of {rows} cells {list}", column.name))
}

/// A table of shares, a line for each column; a kind that the column's type rules out is left
/// blank.
pub(super) fn shares(counts: &CellCounts) -> String {
    let share = |count: Option<u64>| count.map_or_else(String::new, |n| percent(n, counts.rows));
    let row = |column: &ColumnCounts, role: &str| {
        vec![
            column.name.clone(),
            role.to_owned(),
            share(Some(column.missing)),
            share(column.clamped),
            share(column.undeclared),
            share(column.unreadable),
        ]
    };
    let columns = counts.columns.iter().map(|column| row(column, "feature"));
    let target = counts.target.iter().map(|column| row(column, "target"));
    let rows: Vec<_> = columns.chain(target).collect();
    let header = ["column", "role", "missing", "clamped", "undeclared", "unreadable"];
    crate::output::table(&header, &rows)
}

/// A share in percent with one decimal; a nonzero share is never shown as zero.
pub(super) fn percent(count: u64, of: u64) -> String {
    match 100.0 * count as f64 / of.max(1) as f64 {
        share if count > 0 && share < 0.1 => "< 0.1 %".to_owned(),
        share => format!("{share:.1} %"),
    }
}
