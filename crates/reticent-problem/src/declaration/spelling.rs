//! The value that a cell spells, in any format.
//!
//! The kind of a column (texts, numbers, truth values) may have been guessed by a program that
//! looked at all of its cells, so one row may change it. A cell must mean the same in each of them,
//! or that row would change what all others say. So a text that spells a number *is* that number, a
//! truth value is 1 or 0, and two categories that are the same number are refused.

/// The number that a text spells, which may be infinite or NaN: truth values are 1 and 0.
pub fn number_spelled(text: &str) -> Option<f64> {
    match text {
        "true" | "True" | "TRUE" => Some(1.0),
        "false" | "False" | "FALSE" => Some(0.0),
        _ => text.parse().ok(),
    }
}

/// Spellings of a missing value that need no declaration, besides the empty cell. The list is fixed
/// and public, so it tells nothing of any table. Letters may be in either case.
pub const MISSING_SPELLINGS: [&str; 8] = ["NA", "N/A", "NaN", "NaT", "<NA>", "null", "None", "."];

/// Whether a text without blanks around it spells a missing value ([`MISSING_SPELLINGS`]). In a
/// column of categories a declared category comes first.
pub fn spells_missing(text: &[u8]) -> bool {
    MISSING_SPELLINGS.iter().any(|spelling| spelling.as_bytes().eq_ignore_ascii_case(text))
}

/// Whether two texts are the same value.
pub(super) fn same_value(a: &str, b: &str) -> bool {
    match (number_spelled(a), number_spelled(b)) {
        (Some(a), Some(b)) => a == b || (a.is_nan() && b.is_nan()),
        _ => a == b,
    }
}
