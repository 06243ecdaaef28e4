//! Which two data sets must be hard to tell apart.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::PrivacyError;

/// Which two data sets count as neighbours. Part of every event and of every reported number.
///
/// | adjacency | neighbours | is `n` public? |
/// | --- | --- | --- |
/// | `ReplaceOne` | the same number of rows, one of them changed | yes |
/// | `AddRemoveOne` | one row more or one row less | no |
/// | `ZeroOut` | one row replaced by a null row that contributes nothing: its features are zero, and its label if it is a number | yes |
///
/// There is no general way from one to another without loss: replacing is removing and adding, so
/// `AddRemoveOne` at `(ε, δ)` gives `ReplaceOne` at `(2ε, (1 + e^ε)δ)`; the way back does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Adjacency {
    /// The same number of rows, one of them changed.
    #[serde(rename = "replace-one")]
    ReplaceOne,
    /// One row more, or one row less.
    #[serde(rename = "add-remove-one")]
    AddRemoveOne,
    /// One row replaced by a null row that contributes nothing; the number of rows is public. Its features are zero, and so is its label if that is a number:
    /// the middle of the declared range.
    #[serde(rename = "zero-out")]
    ZeroOut,
}

impl Adjacency {
    /// How far a sum of vectors of norm at most one can move: 2 when a row is replaced, else 1.
    pub fn sum_sensitivity(self) -> f64 {
        match self {
            Self::ReplaceOne => 2.0,
            Self::AddRemoveOne | Self::ZeroOut => 1.0,
        }
    }

    /// Whether one row takes another's place, so that what it added goes and what the other adds comes.
    pub fn replaces(self) -> bool {
        match self {
            Self::ReplaceOne => true,
            Self::AddRemoveOne | Self::ZeroOut => false,
        }
    }

    /// Whether neighbours have the same number of rows, which is then public.
    pub fn rows_are_public(self) -> bool {
        match self {
            Self::ReplaceOne | Self::ZeroOut => true,
            Self::AddRemoveOne => false,
        }
    }

    /// The word used in files, on the command line and in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::ReplaceOne => "replace-one",
            Self::AddRemoveOne => "add-remove-one",
            Self::ZeroOut => "zero-out",
        }
    }
}

impl fmt::Display for Adjacency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Adjacency {
    type Err = PrivacyError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word.replace('_', "-").as_str() {
            "replace-one" | "replace" => Ok(Self::ReplaceOne),
            "add-remove-one" | "add-remove" => Ok(Self::AddRemoveOne),
            "zero-out" => Ok(Self::ZeroOut),
            _ => Err(PrivacyError::UnknownAdjacency { got: word.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_printed_is_the_word_read() {
        for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemoveOne, Adjacency::ZeroOut] {
            assert_eq!(adjacency.to_string().parse::<Adjacency>(), Ok(adjacency));
            let json = serde_json::to_string(&adjacency).unwrap();
            assert_eq!(json, format!("\"{adjacency}\""));
            assert_eq!(serde_json::from_str::<Adjacency>(&json).unwrap(), adjacency);
        }
        assert_eq!("replace".parse::<Adjacency>(), Ok(Adjacency::ReplaceOne));
        assert_eq!("add-remove".parse::<Adjacency>(), Ok(Adjacency::AddRemoveOne));
        assert!("swap".parse::<Adjacency>().is_err());
    }
}
