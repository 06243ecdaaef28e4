//! Which two data sets must be hard to tell apart.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::PrivacyError;

/// Which two data sets count as neighbours. Part of every event and of every reported number.
///
/// A record is a row, or a unit: all rows of one person, say, told apart by an identifier.
///
/// | adjacency | neighbours | public |
/// | --- | --- | --- |
/// | `ReplaceOne` | the same number of rows, one of them changed | the number of rows |
/// | `AddRemoveOne` | one row more or one row less | |
/// | `ZeroOut` | one row replaced by a null row that contributes nothing: its features are zero, and its label if it is a number | the number of rows |
/// | `ReplaceOneUnit` | all rows of one unit, however many, replaced by any rows of one unit | the number of units |
/// | `AddRemoveOneUnit` | one unit more or one unit less, with all its rows | |
/// | `ZeroOutUnit` | all rows of one unit replaced by one null row of one unit | the number of units |
///
/// There is no general way from one to another without loss: replacing is removing and adding, so
/// `AddRemoveOne` at `(ε, δ)` gives `ReplaceOne` at `(2ε, (1 + e^ε)δ)`; the way back does not
/// exist. A guarantee for rows gives none for units unless a unit has one row: even the number of
/// rows, which `ReplaceOne` and `ZeroOut` publish, depends on a unit's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Adjacency {
    /// The same number of rows, one of them changed.
    #[serde(rename = "replace-one")]
    ReplaceOne,
    /// One row more, or one row less.
    #[serde(rename = "add-remove-one")]
    AddRemoveOne,
    /// One row replaced by a null row that contributes nothing; the number of rows is public. Its
    /// features are zero, and so is its label if that is a number: the middle of the declared
    /// range.
    #[serde(rename = "zero-out")]
    ZeroOut,
    /// The same number of units, all rows of one of them replaced. The number of rows is private.
    #[serde(rename = "replace-one-unit")]
    ReplaceOneUnit,
    /// One unit more, or one unit less. The numbers of units and of rows are private.
    #[serde(rename = "add-remove-one-unit")]
    AddRemoveOneUnit,
    /// One unit replaced by one that has a null row and no other. The number of rows is private.
    #[serde(rename = "zero-out-unit")]
    ZeroOutUnit,
}

/// How neighbours differ in one record, whether that is a row or a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// It is replaced by another.
    Replace,
    /// It is there or it is not.
    AddRemove,
    /// It is replaced by one that contributes nothing.
    ZeroOut,
}

impl Adjacency {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::ReplaceOne,
        Self::AddRemoveOne,
        Self::ZeroOut,
        Self::ReplaceOneUnit,
        Self::AddRemoveOneUnit,
        Self::ZeroOutUnit,
    ];

    /// How neighbours differ in one record. An accountant asks for nothing else: the theorems speak
    /// of records.
    pub fn relation(self) -> Relation {
        match self {
            Self::ReplaceOne | Self::ReplaceOneUnit => Relation::Replace,
            Self::AddRemoveOne | Self::AddRemoveOneUnit => Relation::AddRemove,
            Self::ZeroOut | Self::ZeroOutUnit => Relation::ZeroOut,
        }
    }

    /// Whether a record is a unit rather than a row.
    pub fn protects_units(self) -> bool {
        match self {
            Self::ReplaceOne | Self::AddRemoveOne | Self::ZeroOut => false,
            Self::ReplaceOneUnit | Self::AddRemoveOneUnit | Self::ZeroOutUnit => true,
        }
    }

    /// The same relation of units.
    #[must_use]
    pub fn of_units(self) -> Self {
        match self.relation() {
            Relation::Replace => Self::ReplaceOneUnit,
            Relation::AddRemove => Self::AddRemoveOneUnit,
            Relation::ZeroOut => Self::ZeroOutUnit,
        }
    }

    /// The same relation of rows.
    #[must_use]
    pub fn of_rows(self) -> Self {
        match self.relation() {
            Relation::Replace => Self::ReplaceOne,
            Relation::AddRemove => Self::AddRemoveOne,
            Relation::ZeroOut => Self::ZeroOut,
        }
    }

    /// How far a sum of vectors of norm at most one can move: 2 when a record is replaced, else 1.
    pub fn sum_sensitivity(self) -> f64 {
        match self.relation() {
            Relation::Replace => 2.0,
            Relation::AddRemove | Relation::ZeroOut => 1.0,
        }
    }

    /// Whether one record takes another's place, so that what it added goes and what the other adds
    /// comes.
    pub fn replaces(self) -> bool {
        self.relation() == Relation::Replace
    }

    /// Whether neighbours have the same number of records, which is then public.
    pub fn records_are_public(self) -> bool {
        self.relation() != Relation::AddRemove
    }

    /// The word used in files, on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReplaceOne => "replace-one",
            Self::AddRemoveOne => "add-remove-one",
            Self::ZeroOut => "zero-out",
            Self::ReplaceOneUnit => "replace-one-unit",
            Self::AddRemoveOneUnit => "add-remove-one-unit",
            Self::ZeroOutUnit => "zero-out-unit",
        }
    }
}

impl fmt::Display for Adjacency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Adjacency {
    type Err = PrivacyError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let plain = word.replace('_', "-");
        let found = Self::ALL.into_iter().find(|adjacency| adjacency.name() == plain);
        match plain.as_str() {
            "replace" => Ok(Self::ReplaceOne),
            "add-remove" => Ok(Self::AddRemoveOne),
            _ => found.ok_or_else(|| PrivacyError::UnknownAdjacency { got: word.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_printed_is_the_word_read() {
        for adjacency in Adjacency::ALL {
            assert_eq!(adjacency.to_string().parse::<Adjacency>(), Ok(adjacency));
            let json = serde_json::to_string(&adjacency).unwrap();
            assert_eq!(json, format!("\"{adjacency}\""));
            assert_eq!(serde_json::from_str::<Adjacency>(&json).unwrap(), adjacency);
        }
        assert_eq!("replace".parse::<Adjacency>(), Ok(Adjacency::ReplaceOne));
        assert_eq!("add-remove".parse::<Adjacency>(), Ok(Adjacency::AddRemoveOne));
        assert!("swap".parse::<Adjacency>().is_err());
    }

    #[test]
    fn a_unit_differs_as_a_row_does_and_neither_passes_for_the_other() {
        for adjacency in Adjacency::ALL {
            let units = adjacency.of_units();
            assert!(units.protects_units() && units.relation() == adjacency.relation());
            assert_eq!(units == adjacency, adjacency.protects_units());
            assert!(!units.of_rows().protects_units() && units.of_rows().of_units() == units);
            assert_eq!(units.sum_sensitivity(), adjacency.sum_sensitivity());
        }
    }
}
