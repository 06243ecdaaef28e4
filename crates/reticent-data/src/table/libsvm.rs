//! libsvm text: a label, then `index:value` pairs, one row in each line.
//!
//! Every line is a row, whatever it says: one that is blank, or a comment as a whole, has no label and
//! no pair. Indices count from 1, in the order of the declared features. An index that is absent means
//! the number 0. The index 0 and those beyond the declared ones are ignored, as an undeclared category
//! is. Comments (`# ...`), `qid:` fields and unsorted indices are allowed. A pair that is not one, or an
//! index that occurs twice, makes the row unreadable, as text in a numeric column does.

use std::io::{BufRead, BufReader};

use super::csv::LONGEST_FIELD;
use super::error::TableError;
use super::source::{Source, read_error};
use crate::encode::{Encoder, RowWriter, SparseCells, Wanted};
use crate::rows::Rows;

/// Call `row` with the text of each row, its comment taken off.
fn for_each_row(
    source: Source,
    mut row: impl FnMut(&str) -> Result<(), TableError>,
) -> Result<(), TableError> {
    let Source { file, reader, .. } = source;
    let mut reader = BufReader::with_capacity(1 << 17, reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line).map_err(|e| read_error(&file, &e))?;
        if read == 0 {
            return Ok(());
        }
        let text =
            std::str::from_utf8(&line).map_err(|_| TableError::NotUtf8 { file: file.clone() })?;
        let text = text.trim_start_matches('\u{feff}');
        row(text.split_once('#').map_or(text, |(before, _)| before))?;
    }
}

/// Read and encode a table.
pub(super) fn read<'a>(
    source: Source,
    encoder: &'a Encoder,
    wanted: Wanted<'a>,
) -> Result<Rows, TableError> {
    let file = source.file.clone();
    let cells = SparseCells::new(encoder);
    let mut writer = RowWriter::new(encoder, wanted, 0);
    let mut entries = Vec::new();
    for_each_row(source, |text| {
        entries.clear();
        let mut fields = text.split_ascii_whitespace().peekable();
        if let Some(label) = fields.next_if(|first| !first.contains(':')) {
            writer.label_text(label.as_bytes());
        }
        for field in fields {
            if field.len() > LONGEST_FIELD {
                return Err(TableError::LongField { file: file.clone(), most: LONGEST_FIELD });
            }
            match pair(field) {
                Pair::Entry(index, value) => entries.push((index - 1, value)),
                Pair::Ignored => {}
                Pair::Unreadable => writer.unreadable(),
            }
        }
        cells.write(&mut entries, &mut writer);
        writer.end_row();
        Ok(())
    })?;
    writer.finish(&file)
}

/// How many rows a table has.
pub(super) fn count(source: Source) -> Result<usize, TableError> {
    let mut rows = 0;
    for_each_row(source, |_| {
        rows += 1;
        Ok(())
    })?;
    Ok(rows)
}

enum Pair {
    /// An index from 1, and its value.
    Entry(usize, f64),
    Ignored,
    Unreadable,
}

fn pair(field: &str) -> Pair {
    match field.split_once(':') {
        Some(("qid", _)) => Pair::Ignored,
        Some((index, value)) => match (index.parse::<usize>(), value.parse::<f64>()) {
            (Ok(0), Ok(_)) => Pair::Ignored,
            (Ok(index), Ok(value)) => Pair::Entry(index, value),
            _ => Pair::Unreadable,
        },
        None => Pair::Unreadable,
    }
}
