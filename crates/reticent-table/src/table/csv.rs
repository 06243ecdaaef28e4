//! Comma- and tab-separated text, with a header.
//!
//! Fields may be quoted, lines may end in `\n` or `\r\n`, and a UTF-8 byte order mark is skipped,
//! as are blank lines unless the table has one column ([`super::lines`]). The order of columns is
//! free and columns that are not declared are ignored. The entries of a vector column `image` are
//! columns `image[0]`, `image[1]`, and so on.

use super::header::Header;
use super::records::Records;
use super::source::Source;
use crate::encode::{Encoder, Observer, RowWriter, without_thousands};
use crate::error::TableError;

/// Read and encode a table.
pub(super) fn read<O: Observer>(
    source: Source,
    separator: u8,
    encoder: &Encoder,
    writer: &mut RowWriter<'_, O>,
) -> Result<(), TableError> {
    let Source { file, reader, decimal_comma, .. } = source;
    let mut records = Records::new(&file, separator, reader);
    let names = records.header()?;
    let header = Header::new(&file, names.iter().map(Vec::as_slice));
    let cells = encoder
        .named_cells()
        .into_iter()
        .map(|cell| Ok((header.find(&cell.name)?, cell.column, cell.entry)))
        .collect::<Result<Vec<_>, TableError>>()
        .map_err(|error| wrong_separator(error, &file, separator, &names))?;
    let target =
        if writer.wants_labels() { Some(header.find(encoder.layout().target())?) } else { None };
    let (mut pointed, mut grouping) = (Vec::new(), Vec::new());
    while let Some(record) = records.next()? {
        for &(field, column, entry) in &cells {
            let cell = record.field(field);
            if decimal_comma && encoder.is_numeric(column) {
                let cell = grouped(cell, encoder.thousands(column), &mut grouping);
                writer.plain_text(column, entry, point(cell, &mut pointed));
            } else {
                writer.text(column, entry, cell);
            }
        }
        if let Some(field) = target {
            let cell = record.field(field);
            if decimal_comma && encoder.target_is_numeric() {
                let cell = grouped(cell, encoder.layout().target_thousands(), &mut grouping);
                writer.plain_label(point(cell, &mut pointed));
            } else {
                writer.label_text(cell);
            }
        }
        writer.end_row();
        if writer.stopped() {
            break;
        }
    }
    Ok(())
}

/// A header of one field that holds another separator: that is what is wrong, and not the column
/// that it lacks.
fn wrong_separator(error: TableError, file: &str, separator: u8, names: &[Vec<u8>]) -> TableError {
    let found = match (&error, names) {
        (TableError::MissingColumn { .. }, [only]) => {
            b";\t|,".iter().find(|&&byte| byte != separator && only.contains(&byte))
        }
        _ => None,
    };
    match found {
        Some(&found) => {
            let found = if found == b'\t' { "tab".to_owned() } else { char::from(found).into() };
            TableError::Separator { file: file.to_owned(), found }
        }
        None => error,
    }
}

/// A cell without the marks between its thousands, if it may have them.
fn grouped<'a>(cell: &'a [u8], mark: Option<char>, into: &'a mut Vec<u8>) -> &'a [u8] {
    match mark {
        Some(mark) => without_thousands(cell.trim_ascii(), mark, b',', into),
        None => cell,
    }
}

/// A cell with a point for its decimal comma. One that has a point already may mean thousands: it
/// becomes bytes that spell no number. A lone point is a missing value.
fn point<'a>(cell: &'a [u8], into: &'a mut Vec<u8>) -> &'a [u8] {
    if cell.trim_ascii() == b"." || !cell.iter().any(|byte| b",.".contains(byte)) {
        return cell;
    }
    into.clear();
    into.extend(cell.iter().map(|&byte| match byte {
        b',' => b'.',
        b'.' => 0xff,
        other => other,
    }));
    into
}

/// How many rows a table has, its header not counted.
pub(super) fn count(source: Source, separator: u8) -> Result<usize, TableError> {
    let mut records = Records::new(&source.file, separator, source.reader);
    records.header()?;
    let mut rows = 0;
    while records.next()?.is_some() {
        rows += 1;
    }
    Ok(rows)
}

/// Hands over the cells of the named columns, row by row.
pub(super) fn visit(
    source: Source,
    separator: u8,
    names: &[String],
    take: &mut dyn FnMut(&[&[u8]]),
) -> Result<(), TableError> {
    let mut records = Records::new(&source.file, separator, source.reader);
    let found = records.header()?;
    let header = Header::new(&source.file, found.iter().map(Vec::as_slice));
    let places =
        names.iter().map(|name| header.find_any(name)).collect::<Result<Vec<_>, TableError>>()?;
    while let Some(record) = records.next()? {
        take(&places.iter().map(|place| record.field(*place)).collect::<Vec<_>>());
    }
    Ok(())
}
