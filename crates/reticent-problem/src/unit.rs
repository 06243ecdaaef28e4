//! The protected unit: whose rows count as one record.
//!
//! # Facts
//!
//! Of each unit at most `m` rows are kept, by a rule that reads that unit's rows alone. With `R_v`
//! the kept rows of unit `v` and `k_v = |R_v| ≤ m`, its loss is
//!
//! ```text
//! equal:  ℓ_v(w) = (1/k_v) Σ_{i in R_v} ℓ_i(w)        rows:  ℓ_v(w) = (1/m) Σ_{i in R_v} ℓ_i(w)
//! ```
//!
//! and the objective is the average over units. The factors are at least 0 and sum to at most 1, so
//! `ℓ_v` is convex, `L`-Lipschitz, `β`-smooth and Hölder with the same constants wherever every
//! `ℓ_i` is: each of these says that a convex function of `ℓ_i` is at most a number. The mean of a
//! unit's rows has at most the norm of the longest, and so have their labels and the squares of
//! their entries. Hence whatever is proven for records with these constants holds with a unit in
//! the place of a record and the number of units in the place of `n`.

mod spelling;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::ProblemError;
use crate::declaration::spells_missing;

/// Rows of a unit that may be kept, at most.
pub const MOST_ROWS: usize = 1_000_000;

/// The most bytes of a cell. A longer one holds no number, no category, no missing mark and no key.
pub const LONGEST_CELL: usize = 1 << 20;

/// How the rows of a unit count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// Every unit counts the same: its rows share the weight 1.
    #[default]
    Equal,
    /// Every kept row counts the same: 1 over the cap.
    Rows,
}

impl Weighting {
    /// The words for it.
    pub const WORDS: &'static str = "`equal` or `rows`";

    /// The weighting with this name; none for any other text.
    pub fn named(name: &str) -> Option<Self> {
        match name.trim() {
            "equal" => Some(Self::Equal),
            "rows" => Some(Self::Rows),
            _ => None,
        }
    }

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Rows => "rows",
        }
    }

    /// The weight of each of a unit's `kept` rows, under a cap of `most` rows.
    pub fn share(self, kept: usize, most: usize) -> f64 {
        match self {
            Self::Equal => 1.0 / kept.max(1) as f64,
            Self::Rows => 1.0 / most.max(1) as f64,
        }
    }
}

/// A declared unit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Unit {
    /// The column whose cells tell units apart.
    pub column: String,
    /// Rows of a unit that are used, at most: public, and not taken from the table.
    pub max_rows: usize,
    /// How they count.
    #[serde(default)]
    pub weighting: Weighting,
}

impl Unit {
    /// Units told apart by `column`, of which at most `max_rows` rows each are used and count
    /// equally.
    ///
    /// # Errors
    ///
    /// As [`Self::check`].
    pub fn new(column: &str, max_rows: usize) -> Result<Self, ProblemError> {
        let unit =
            Self { column: column.trim().to_owned(), max_rows, weighting: Weighting::default() };
        unit.check()?;
        Ok(unit)
    }

    /// Whether the cap is one.
    ///
    /// # Errors
    ///
    /// [`ProblemError::OutOfRange`].
    pub fn check(&self) -> Result<(), ProblemError> {
        if (1..=MOST_ROWS).contains(&self.max_rows) {
            return Ok(());
        }
        Err(ProblemError::OutOfRange {
            name: "max_rows",
            expected: "a whole number from 1 to 1000000",
            got: self.max_rows as f64,
        })
    }

    /// The key of a cell's unit: the cell's text without the ASCII blanks around it, and in one
    /// spelling where it is a number, a truth value or a moment. None for a cell that is empty,
    /// [spells a missing value](spells_missing) or has more than [`LONGEST_CELL`] bytes, whose row
    /// is a unit of its own. Equal texts are one unit, whatever they are, in every source of rows.
    pub fn key(cell: &str) -> Option<Cow<'_, str>> {
        let text = cell.trim_ascii();
        let is_key =
            cell.len() <= LONGEST_CELL && !text.is_empty() && !spells_missing(text.as_bytes());
        is_key.then(|| spelling::spelled(text))
    }

    /// Whether a unit may have more than one row: one that has not is a row, and is treated as one.
    pub fn has_several_rows(&self) -> bool {
        self.max_rows > 1
    }

    /// Whom a guarantee for these units protects, as the rest of a phrase.
    pub fn protected(&self) -> String {
        let Self { column, max_rows, .. } = self;
        let column = crate::text::visible(column);
        match max_rows {
            1 => format!("all rows of one `{column}` (1 is used)"),
            _ => format!("all rows of one `{column}` (at most {max_rows} are used)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_a_units_rows_sum_to_at_most_one() {
        for weighting in [Weighting::Equal, Weighting::Rows] {
            for most in 1..40 {
                for kept in 1..=most {
                    let all = kept as f64 * weighting.share(kept, most);
                    assert!(all <= 1.0 + 1e-15, "{weighting:?}: {kept} of {most}");
                    assert!(weighting == Weighting::Rows || all >= 1.0 - 1e-15);
                }
            }
        }
    }

    #[test]
    fn a_key_is_the_text_of_a_cell_and_a_missing_one_is_none() {
        for (cell, key) in [(" p1\t", "p1"), ("J\u{fffd}rg", "J\u{fffd}rg"), ("\u{a0}", "\u{a0}")] {
            assert_eq!(Unit::key(cell).as_deref(), Some(key));
        }
        assert_eq!(Unit::key(" 7.0 ").as_deref(), Some("7"));
        let long = "p".repeat(LONGEST_CELL);
        assert!(Unit::key(&long).is_some() && Unit::key(&format!("{long}p")).is_none());
        for missing in crate::declaration::MISSING_SPELLINGS {
            assert_eq!(Unit::key(missing), None);
            assert_eq!(Unit::key(&format!(" {} ", missing.to_lowercase())), None);
            assert!(Unit::key(&format!("{missing}1")).is_some());
        }
        assert!(Unit::key(" \n").is_none() && Unit::key("").is_none());
    }

    #[test]
    fn caps_outside_the_range_are_refused_by_name() {
        for max_rows in [0, MOST_ROWS + 1] {
            let message = Unit::new("patient", max_rows).unwrap_err().to_string();
            assert!(message.starts_with("`max_rows` must be"), "{message}");
        }
        let unit = Unit::new(" patient ", 8).unwrap();
        assert_eq!(unit.protected(), "all rows of one `patient` (at most 8 are used)");
        let json = serde_json::to_string(&unit).unwrap();
        assert_eq!(serde_json::from_str::<Unit>(&json).unwrap(), unit);
    }
}
