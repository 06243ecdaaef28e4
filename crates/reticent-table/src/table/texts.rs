//! Columns of Arrow batches as text, for what is carried through to predictions.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeBinaryArray, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Schema};

use super::batch::is_bytes;
use super::header::Header;
use crate::error::TableError;

/// The texts of the named columns of batches, one list for each: numbers as they are written, a null as nothing.
pub(super) fn of_batches(
    batches: impl Iterator<Item = Result<RecordBatch, TableError>>,
    schema: &Schema,
    names: &[String],
    file: &str,
) -> Result<Vec<Vec<String>>, TableError> {
    let places = places(schema, names, file)?;
    let mut columns = vec![Vec::new(); places.len()];
    for batch in batches {
        let batch = batch?;
        for ((column, place), name) in columns.iter_mut().zip(&places).zip(names) {
            let array = batch.column(*place);
            let bytes = as_bytes(array).ok_or_else(|| TableError::ColumnType {
                file: file.to_owned(),
                column: name.clone(),
                found: array.data_type().to_string(),
                expected: "numbers, booleans, dates or texts",
            })?;
            column.extend(bytes.iter().map(|cell| {
                cell.map_or_else(String::new, |cell| String::from_utf8_lossy(cell).into_owned())
            }));
        }
    }
    Ok(columns)
}

/// Where the named columns are.
pub(super) fn places(
    schema: &Schema,
    names: &[String],
    file: &str,
) -> Result<Vec<usize>, TableError> {
    let found = schema.fields().iter().map(|f| f.name().trim_ascii().as_bytes());
    let header = Header::new(file, found);
    names.iter().map(|name| header.find_any(name)).collect()
}

/// The cells of a column as text.
fn as_bytes(array: &ArrayRef) -> Option<LargeBinaryArray> {
    let texts = match array.data_type() {
        kind if is_bytes(kind) => cast(array, &DataType::LargeBinary),
        _ => cast(array, &DataType::LargeUtf8).and_then(|t| cast(&t, &DataType::LargeBinary)),
    };
    Some(texts.ok()?.as_binary().clone())
}
