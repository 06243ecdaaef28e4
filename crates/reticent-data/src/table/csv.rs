//! Comma- and tab-separated text, with a header.
//!
//! Fields may be quoted, lines may end in `\n` or `\r\n`, and a UTF-8 byte order mark is skipped, as
//! are blank lines unless the table has one column ([`super::lines`]). The order of columns is free and
//! columns that are not declared are ignored. The entries of a vector column `image` are columns
//! `image[0]`, `image[1]`, and so on.

use std::io::Read;

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};

use super::error::TableError;
use super::header::Header;
use super::lines::Lines;
use super::source::{Source, read_error};
use crate::encode::{Encoder, RowWriter, Wanted};
use crate::rows::Rows;

/// The most bytes of a field.
pub(super) const LONGEST_FIELD: usize = 1 << 20;

/// Records of a text file, checked for structure.
struct Records<'a> {
    file: &'a str,
    reader: Reader<Lines>,
    record: ByteRecord,
    /// How many fields each record has.
    fields: Option<usize>,
}

impl<'a> Records<'a> {
    fn new(file: &'a str, separator: u8, reader: Box<dyn Read>) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(separator)
            .buffer_capacity(1 << 17)
            .from_reader(Lines::new(separator, reader));
        Self { file, reader, record: ByteRecord::new(), fields: None }
    }

    /// The next record, or `None` at the end.
    fn next(&mut self) -> Result<Option<&ByteRecord>, TableError> {
        let file = || self.file.to_owned();
        match self.reader.read_byte_record(&mut self.record) {
            Ok(true) => {}
            Ok(false) if self.reader.get_ref().lacks_newline() => {
                return Err(TableError::LacksNewline { file: file() });
            }
            Ok(false) => return Ok(None),
            Err(e) => {
                return Err(match e.kind() {
                    ErrorKind::Io(e) => read_error(self.file, e),
                    _ => TableError::Ragged { file: file() },
                });
            }
        }
        let text = self.record.as_slice();
        if text.len() > LONGEST_FIELD && self.record.iter().any(|f| f.len() > LONGEST_FIELD) {
            return Err(TableError::LongField { file: file(), most: LONGEST_FIELD });
        }
        if std::str::from_utf8(text).is_err() {
            return Err(TableError::NotUtf8 { file: file() });
        }
        if *self.fields.get_or_insert(self.record.len()) != self.record.len() {
            return Err(TableError::Ragged { file: file() });
        }
        Ok(Some(&self.record))
    }

    /// The header's names without the blanks around them.
    fn header(&mut self) -> Result<Vec<Vec<u8>>, TableError> {
        let file = self.file.to_owned();
        let Some(record) = self.next()? else { return Err(TableError::Empty { file }) };
        Ok(record
            .iter()
            .map(|name| name.strip_prefix(b"\xef\xbb\xbf").unwrap_or(name).trim_ascii().to_vec())
            .collect())
    }
}

/// Read and encode a table.
pub(super) fn read<'a>(
    source: Source,
    separator: u8,
    encoder: &'a Encoder,
    wanted: Wanted<'a>,
) -> Result<Rows, TableError> {
    let Source { file, reader, .. } = source;
    let mut records = Records::new(&file, separator, reader);
    let names = records.header()?;
    let header = Header::new(&file, names.iter().map(Vec::as_slice));
    let cells = encoder
        .named_cells()
        .into_iter()
        .map(|cell| Ok((header.find(&cell.name)?, cell.column, cell.entry)))
        .collect::<Result<Vec<_>, TableError>>()?;
    let mut writer = RowWriter::new(encoder, wanted, 0);
    let target =
        if writer.wants_labels() { Some(header.find(encoder.layout().target())?) } else { None };
    while let Some(record) = records.next()? {
        for &(field, column, entry) in &cells {
            writer.text(column, entry, &record[field]);
        }
        if let Some(field) = target {
            writer.label_text(&record[field]);
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
