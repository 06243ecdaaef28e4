//! Finding declared columns by name.

use std::collections::HashMap;

use crate::error::TableError;

/// The names of a table's columns, each with its place, or with none if it occurs twice.
pub(super) struct Header<'a> {
    file: &'a str,
    places: HashMap<&'a [u8], Option<usize>>,
}

impl<'a> Header<'a> {
    pub(super) fn new(file: &'a str, names: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut places = HashMap::new();
        for (place, name) in names.enumerate() {
            places.entry(name).and_modify(|place| *place = None).or_insert(Some(place));
        }
        Self { file, places }
    }

    pub(super) fn has(&self, column: &str) -> bool {
        self.places.contains_key(column.as_bytes())
    }

    /// The place of a declared column.
    pub(super) fn find(&self, column: &str) -> Result<usize, TableError> {
        let (file, name) = (|| self.file.to_owned(), || column.to_owned());
        match self.places.get(column.as_bytes()) {
            Some(Some(place)) => Ok(*place),
            Some(None) => Err(TableError::DuplicateColumn { file: file(), column: name() }),
            None => Err(TableError::MissingColumn { file: file(), column: name() }),
        }
    }

    /// The place of a column that need not be declared.
    pub(super) fn find_any(&self, column: &str) -> Result<usize, TableError> {
        self.find(column).map_err(|error| match error {
            TableError::MissingColumn { file, column } => {
                TableError::UnknownColumn { file, column }
            }
            other => other,
        })
    }
}
