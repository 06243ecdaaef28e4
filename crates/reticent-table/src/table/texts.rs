//! Columns of Arrow batches as text, for what is carried through to predictions and for units.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeBinaryArray, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Schema};

use super::batch::is_bytes;
use super::header::Header;
use crate::error::TableError;

/// Hands over the cells of the named columns of batches, row by row: numbers as they are written, a
/// null as nothing.
pub(super) fn visit_batches(
    batches: impl Iterator<Item = Result<RecordBatch, TableError>>,
    schema: &Schema,
    names: &[String],
    file: &str,
    take: &mut dyn FnMut(&[&[u8]]),
) -> Result<(), TableError> {
    let places = places(schema, names, file)?;
    for batch in batches {
        let batch = batch?;
        let mut columns = Vec::with_capacity(places.len());
        for (place, name) in places.iter().zip(names) {
            let array = batch.column(*place);
            columns.push(as_bytes(array).ok_or_else(|| TableError::ColumnType {
                file: file.to_owned(),
                column: name.clone(),
                found: array.data_type().to_string(),
                expected: "numbers, booleans, dates or texts",
            })?);
        }
        let cell = |column: &LargeBinaryArray, row: usize| column.is_valid(row).then_some(row);
        for row in 0..batch.num_rows() {
            let cells = columns.iter().map(|c| cell(c, row).map_or(&b""[..], |row| c.value(row)));
            take(&cells.collect::<Vec<_>>());
        }
    }
    Ok(())
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
