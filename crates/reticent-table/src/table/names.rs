//! The columns of a table as its file states them: the header's names, and types where the format
//! has them. No cell is read.

use arrow_schema::{DataType, Schema};

use super::batch::{is_entry, is_scalar};
use super::file::TableFile;
use super::records::Records;
use super::source::{Format, Source, guarded};
use super::{arrow_ipc, excel, numbers, parquet};
use crate::error::TableError;

/// A column as a file states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileColumn {
    /// Its name; empty in files that have none.
    pub name: String,
    /// The type that the file states; none for text files, which state none.
    pub kind: Option<FileType>,
}

/// The type that a binary file states for a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// Whole numbers.
    Integer,
    /// Floating-point or decimal numbers.
    Real,
    /// Truth values.
    Boolean,
    /// Texts or bytes.
    Text,
    /// Dates, times, or both.
    Date,
    /// Lists of numbers, of this length if it is fixed.
    Vector(Option<usize>),
    /// A type that no declaration has.
    Other,
}

/// The columns of a table, in its order. Files without names (`.npy`, IDX) have one vector.
///
/// # Errors
///
/// If the file cannot be read; [`TableError::NoNames`] for libsvm files, which state nothing.
pub fn columns(file: impl Into<TableFile>) -> Result<Vec<FileColumn>, TableError> {
    let file = file.into().checked()?;
    match file.parts().first() {
        Some(first) => of_source(Source::open(first)?),
        None => Err(TableError::Empty { file: file.name() }),
    }
}

/// The columns of one file.
pub(super) fn of_source(mut source: Source) -> Result<Vec<FileColumn>, TableError> {
    match source.format {
        Format::Text(separator) => {
            Ok(untyped(Records::new(&source.file, separator, source.reader).header()?))
        }
        Format::Workbook => {
            let file = source.file.clone();
            Ok(untyped(guarded(|| excel::damaged(&file), || excel::names(source))?))
        }
        Format::Parquet => {
            let schema = guarded(|| parquet::damaged(&source.file), || parquet::schema(&source))?;
            Ok(of_schema(&schema))
        }
        Format::ArrowFile | Format::ArrowStream => {
            let file = source.file.clone();
            let schema = guarded(|| arrow_ipc::damaged(&file), || arrow_ipc::schema(source))?;
            Ok(of_schema(&schema))
        }
        Format::Npy | Format::Idx => {
            let width = numbers(&mut source)?.columns();
            let kind = Some(FileType::Vector(Some(width)));
            Ok(vec![FileColumn { name: String::new(), kind }])
        }
        Format::Libsvm => Err(TableError::NoNames { file: source.file }),
    }
}

/// Columns of a file that states no types.
fn untyped(names: Vec<Vec<u8>>) -> Vec<FileColumn> {
    let text = |name: Vec<u8>| String::from_utf8_lossy(&name).into_owned();
    names.into_iter().map(|name| FileColumn { name: text(name), kind: None }).collect()
}

fn of_schema(schema: &Schema) -> Vec<FileColumn> {
    let column = |field: &arrow_schema::FieldRef| FileColumn {
        name: field.name().trim().to_owned(),
        // A column without any cell is written without a type.
        kind: (*field.data_type() != DataType::Null).then(|| of_type(field.data_type())),
    };
    schema.fields().iter().map(column).collect()
}

fn of_type(kind: &DataType) -> FileType {
    match kind {
        DataType::Dictionary(_, value) => of_type(value),
        DataType::Boolean => FileType::Boolean,
        kind if kind.is_integer() => FileType::Integer,
        kind if kind.is_numeric() => FileType::Real,
        kind if kind.is_temporal() => FileType::Date,
        DataType::FixedSizeList(item, length) if is_entry(item) => {
            FileType::Vector(usize::try_from(*length).ok())
        }
        DataType::List(item) | DataType::LargeList(item) if is_entry(item) => {
            FileType::Vector(None)
        }
        kind if is_scalar(kind) => FileType::Text,
        _ => FileType::Other,
    }
}
