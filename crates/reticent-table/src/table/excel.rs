//! Workbooks of Excel and OpenDocument: one sheet, whose first row that is not empty is the header.
//!
//! A number is a number, a truth value 1 or 0, a text the same as in a CSV, and a date or time the
//! ISO text of it. A cell that shows `#N/A` is missing; one with another error holds the text that
//! it shows. A cell of an `.xlsx` whose content is not of its type (a truth value 2, an error that
//! Excel does not have) is missing; the readers of the other formats refuse such a file.
//!
//! The columns are those from the first to the last name of the header: a cell that strays beside
//! the table is none of it. The rows are those below the header up to the last one that has a cell;
//! a row without a cell that is above that one is a row. What lies below it, a sheet does not say.

use std::borrow::Cow;
use std::io::{Cursor, Read, Seek};
use std::ops::Range;

use calamine::{
    Cell, CellErrorType, Data, Range as Cells, Reader, Sheets, Xlsx, XlsxError,
    open_workbook_auto_from_rs,
};

use super::header::Header;
use super::source::Source;
use crate::encode::{Encoder, Observer, RowWriter};
use crate::error::TableError;

pub(super) fn damaged(file: &str) -> TableError {
    TableError::Corrupt {
        file: file.to_owned(),
        format: "workbook",
        why: "it is truncated, damaged or protected by a password; save it again, or export the sheet as CSV",
    }
}

/// A sheet with its header.
struct Sheet {
    file: String,
    names: Vec<Vec<u8>>,
    cells: Cells<Data>,
    /// The columns that are under names, and the rows of the table.
    columns: Range<usize>,
    rows: Range<usize>,
}

impl Sheet {
    fn open(source: &mut Source) -> Result<Self, TableError> {
        let file = source.file.clone();
        let bytes = source.bytes()?;
        let mut book =
            open_workbook_auto_from_rs(Cursor::new(&bytes[..])).map_err(|_| damaged(&file))?;
        let sheets = book.sheet_names();
        let sheet = match &source.sheet {
            None => sheets.first().ok_or_else(|| damaged(&file))?,
            Some(sheet) if !sheets.contains(sheet) => {
                return Err(TableError::UnknownSheet { file, sheet: sheet.clone() });
            }
            Some(sheet) => sheet,
        };
        let cells = match &mut book {
            Sheets::Xlsx(book) => cells_of(book, sheet).ok(),
            book => book.worksheet_range(sheet).ok(),
        };
        let cells = cells.ok_or_else(|| damaged(&file))?;
        let Some((top, header)) = cells.rows().enumerate().find(|(_, row)| !is_blank(row)) else {
            return Err(TableError::Empty { file });
        };
        let columns = named(header);
        let names = header[columns.clone()].iter().map(|cell| text(cell).trim_ascii().to_vec());
        let names = names.collect();
        let last = cells.rows().rposition(|row| !is_blank(&row[columns.clone()])).unwrap_or(top);
        Ok(Self { file, names, columns, rows: top + 1..last.max(top) + 1, cells })
    }

    fn header(&self) -> Header<'_> {
        Header::new(&self.file, self.names.iter().map(Vec::as_slice))
    }

    /// The rows of the table.
    fn rows(&self) -> impl Iterator<Item = &[Data]> {
        let rows = self.cells.rows().skip(self.rows.start).take(self.rows.len());
        rows.map(|row| &row[self.columns.clone()])
    }
}

/// The cells of a sheet that are under its names. One that cannot be read is none: the reader goes
/// on behind it.
fn cells_of<R: Read + Seek>(book: &mut Xlsx<R>, sheet: &str) -> Result<Cells<Data>, XlsxError> {
    let mut reader = match book.worksheet_cells_reader(sheet) {
        Err(XlsxError::NotAWorksheet(_)) => return Ok(Cells::empty()),
        reader => reader?,
    };
    let mut cells = Vec::new();
    loop {
        match reader.next_cell() {
            Ok(None) => break,
            Ok(Some(cell)) => {
                let content = Data::from(cell.get_value().clone());
                if content != Data::Empty {
                    cells.push(Cell::new(cell.get_position(), content));
                }
            }
            Err(
                XlsxError::CellError(_)
                | XlsxError::CellTAttribute(_)
                | XlsxError::ParseFloat(_)
                | XlsxError::Unexpected(_)
                | XlsxError::Unrecognized { .. },
            ) => {}
            Err(error) => return Err(error),
        }
    }
    // A cell that strays far would need memory for all places between.
    let place = |cell: &Cell<Data>| cell.get_position();
    let top = cells.iter().map(|cell| place(cell).0).min();
    let is_header = |cell: &&Cell<Data>| Some(place(cell).0) == top && is_name(cell.get_value());
    let names = cells.iter().filter(is_header).map(|cell| place(cell).1);
    if let (Some(first), Some(last)) = (names.clone().min(), names.max()) {
        cells.retain(|cell| (first..=last).contains(&place(cell).1));
    }
    Ok(Cells::from_sparse(cells))
}

fn is_name(cell: &Data) -> bool {
    !text(cell).trim_ascii().is_empty()
}

/// The cells from the first to the last that have a name.
fn named(header: &[Data]) -> Range<usize> {
    match (header.iter().position(is_name), header.iter().rposition(is_name)) {
        (Some(first), Some(last)) => first..last + 1,
        _ => 0..0,
    }
}

fn is_blank(row: &[Data]) -> bool {
    row.iter().all(|cell| matches!(cell, Data::Empty))
}

/// The header's names without the blanks around them.
pub(super) fn names(mut source: Source) -> Result<Vec<Vec<u8>>, TableError> {
    Ok(Sheet::open(&mut source)?.names)
}

/// Read and encode a table.
pub(super) fn read<O: Observer>(
    mut source: Source,
    encoder: &Encoder,
    writer: &mut RowWriter<'_, O>,
) -> Result<(), TableError> {
    let sheet = Sheet::open(&mut source)?;
    let header = sheet.header();
    let cells = encoder
        .named_cells()
        .into_iter()
        .map(|cell| Ok((header.find(&cell.name)?, cell.column, cell.entry)))
        .collect::<Result<Vec<_>, TableError>>()?;
    let target =
        if writer.wants_labels() { Some(header.find(encoder.layout().target())?) } else { None };
    for row in sheet.rows() {
        for &(field, column, entry) in &cells {
            match &row[field] {
                Data::Int(number) => writer.number(column, entry, *number as f64),
                Data::Float(number) => writer.number(column, entry, *number),
                Data::Bool(flag) => writer.flag(column, entry, *flag),
                other => writer.text(column, entry, &text(other)),
            }
        }
        if let Some(field) = target {
            match &row[field] {
                Data::Int(number) => writer.label_number(*number as f64),
                Data::Float(number) => writer.label_number(*number),
                Data::Bool(flag) => writer.label_flag(*flag),
                other => writer.label_text(&text(other)),
            }
        }
        writer.end_row();
        if writer.stopped() {
            break;
        }
    }
    Ok(())
}

/// A cell as text: a date as ISO 8601, a number as it is written in a program.
fn text(cell: &Data) -> Cow<'_, [u8]> {
    let owned = match cell {
        Data::Empty | Data::Error(CellErrorType::NA) => String::new(),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => {
            return Cow::Borrowed(text.as_bytes());
        }
        Data::Int(number) => number.to_string(),
        Data::Float(number) => number.to_string(),
        Data::Bool(flag) => flag.to_string(),
        Data::Error(error) => error.to_string(),
        Data::DateTime(moment) if moment.is_datetime() => {
            let (year, month, day, hour, minute, second, milli) = moment.to_ymd_hms_milli();
            let date = format!("{year:04}-{month:02}-{day:02}");
            match (hour, minute, second, milli) {
                (0, 0, 0, 0) => date,
                (.., 0) => format!("{date}T{hour:02}:{minute:02}:{second:02}"),
                _ => format!("{date}T{hour:02}:{minute:02}:{second:02}.{milli:03}"),
            }
        }
        // A duration is so many days.
        Data::DateTime(span) => span.as_f64().to_string(),
    };
    Cow::Owned(owned.into_bytes())
}

/// How many rows a table has.
pub(super) fn count(mut source: Source) -> Result<usize, TableError> {
    Ok(Sheet::open(&mut source)?.rows().count())
}

/// Hands over the cells of the named columns, row by row.
pub(super) fn visit(
    mut source: Source,
    names: &[String],
    take: &mut dyn FnMut(&[&[u8]]),
) -> Result<(), TableError> {
    let sheet = Sheet::open(&mut source)?;
    let header = sheet.header();
    let places =
        names.iter().map(|name| header.find_any(name)).collect::<Result<Vec<_>, TableError>>()?;
    for row in sheet.rows() {
        let cells: Vec<_> = places.iter().map(|place| text(&row[*place])).collect();
        take(&cells.iter().map(|cell| &**cell).collect::<Vec<_>>());
    }
    Ok(())
}
