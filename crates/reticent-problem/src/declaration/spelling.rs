//! What a cell spells, whatever holds it.
//!
//! The kind of a column (texts, numbers, truth values) may have been guessed by a program that looked at all of its cells, so one
//! row may change it. A cell must mean the same in each of them, or that row would change what all others say. So a text that
//! spells a number *is* that number, a truth value is 1 or 0, and two categories that are the same number are refused.

/// The number that a text spells, which may be infinite or NaN: truth values are 1 and 0.
pub fn number_spelled(text: &str) -> Option<f64> {
    match text {
        "true" | "True" | "TRUE" => Some(1.0),
        "false" | "False" | "FALSE" => Some(0.0),
        _ => text.parse().ok(),
    }
}

/// Whether two texts are the same value.
pub(super) fn same_value(a: &str, b: &str) -> bool {
    match (number_spelled(a), number_spelled(b)) {
        (Some(a), Some(b)) => a == b || (a.is_nan() && b.is_nan()),
        _ => a == b,
    }
}
