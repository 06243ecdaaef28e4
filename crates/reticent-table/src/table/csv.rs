//! Comma- and tab-separated text, with a header.
//!
//! Fields may be quoted, lines may end in `\n` or `\r\n`, and a UTF-8 byte order mark is skipped, as
//! are blank lines unless the table has one column ([`super::lines`]). The order of columns is free and
//! columns that are not declared are ignored. The entries of a vector column `image` are columns
//! `image[0]`, `image[1]`, and so on.

use super::header::Header;
use super::records::Records;
use super::source::Source;
use crate::encode::{Encoder, Observer, RowWriter, Wanted};
use crate::error::TableError;
use reticent_data::Rows;

/// Read and encode a table.
pub(super) fn read<'a, O: Observer>(
    source: Source,
    separator: u8,
    encoder: &'a Encoder,
    wanted: Wanted<'a>,
    observer: O,
) -> Result<(Rows, O), TableError> {
    let Source { file, reader, .. } = source;
    let mut records = Records::new(&file, separator, reader);
    let names = records.header()?;
    let header = Header::new(&file, names.iter().map(Vec::as_slice));
    let cells = encoder
        .named_cells()
        .into_iter()
        .map(|cell| Ok((header.find(&cell.name)?, cell.column, cell.entry)))
        .collect::<Result<Vec<_>, TableError>>()?;
    let mut writer = RowWriter::new(encoder, wanted, 0, observer);
    let target =
        if writer.wants_labels() { Some(header.find(encoder.layout().target())?) } else { None };
    while let Some(record) = records.next()? {
        for &(field, column, entry) in &cells {
            writer.text(column, entry, record.field(field));
        }
        if let Some(field) = target {
            writer.label_text(record.field(field));
        }
        writer.end_row();
        if writer.stopped() {
            break;
        }
    }
    writer.finish(&file)
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

/// The texts of the named columns, one list for each. Bytes that are no UTF-8 are replaced.
pub(super) fn texts(
    source: Source,
    separator: u8,
    names: &[String],
) -> Result<Vec<Vec<String>>, TableError> {
    let mut records = Records::new(&source.file, separator, source.reader);
    let found = records.header()?;
    let header = Header::new(&source.file, found.iter().map(Vec::as_slice));
    let places =
        names.iter().map(|name| header.find_any(name)).collect::<Result<Vec<_>, TableError>>()?;
    let mut columns = vec![Vec::new(); places.len()];
    while let Some(record) = records.next()? {
        for (column, place) in columns.iter_mut().zip(&places) {
            column.push(String::from_utf8_lossy(record.field(*place)).into_owned());
        }
    }
    Ok(columns)
}
