//! Units of a table in a file: whose rows belong together.

use reticent_data::Rows;
use reticent_privacy::{Adjacency, Relation};
use reticent_problem::Unit;
use reticent_table::table::{TableError, TableFile};
use reticent_table::units::{self, unit_keys};

use crate::{Error, Task};

/// How many units a table has: public where neighbours have as many. With `bounded` memory it keeps
/// no list of them.
///
/// # Errors
///
/// About the structure of the file, never about a cell.
pub fn count_units(data: &TableFile, unit: &Unit, bounded: bool) -> Result<usize, Error> {
    Ok(units::count_units(data, unit, bounded)?)
}

/// The indices of the rows of a table that are used: of each unit as many as declared. The table
/// was read before and had `rows` rows.
///
/// # Errors
///
/// About the structure of the file, never about a cell, and if it has another number of rows now.
pub fn kept_rows(data: &TableFile, unit: &Unit, rows: usize) -> Result<Vec<usize>, Error> {
    let keys = unit_keys(data, unit)?;
    if keys.len() != rows {
        return Err(TableError::Changed { file: data.name() }.into());
    }
    Ok(reticent_data::kept_rows(keys.into_iter(), unit))
}

impl Task {
    /// The adjacency that was asked for, of the task's records: of units where the declaration
    /// names one.
    ///
    /// # Errors
    ///
    /// [`Error::Arguments`] if units are asked for and none is declared.
    pub fn adjacency(&self, asked: Adjacency) -> Result<Adjacency, Error> {
        adjacency_of(self.declaration.unit(), asked)
    }

    /// Encoded rows of the table at `data`, grouped by its unit if one is declared.
    ///
    /// # Errors
    ///
    /// About the structure of the file, and if it changed since the rows were read.
    pub fn grouped(&self, rows: Rows, data: &TableFile) -> Result<Rows, Error> {
        match self.declaration.unit() {
            None => Ok(rows),
            Some(unit) => Ok(rows.grouped(unit_keys(data, unit)?.into_iter(), unit)?),
        }
    }
}

/// The adjacency that was asked for, of units where one is declared.
///
/// # Errors
///
/// [`Error::Arguments`] if units are asked for and none is declared.
pub fn adjacency_of(unit: Option<&Unit>, asked: Adjacency) -> Result<Adjacency, Error> {
    match unit {
        Some(_) => Ok(asked.of_units()),
        None if asked.protects_units() => Err(Error::Arguments(
            "`adjacency` of units needs a `unit`: declare the column that tells units apart and `max_rows`, in the schema or with `--unit` and `--max-rows`",
        )),
        None => Ok(asked),
    }
}

/// Under what change of the table a guarantee holds, as the rest of a sentence.
pub(crate) fn change(adjacency: Adjacency, unit: Option<&Unit>) -> String {
    let Some(unit) = unit else { return format!("{adjacency} adjacency of rows") };
    let whose = unit.protected();
    match adjacency.relation() {
        Relation::Replace => format!("replacement of {whose}"),
        Relation::AddRemove => format!("addition or removal of {whose}"),
        Relation::ZeroOut => format!("replacement of {whose} by one null row"),
    }
}
