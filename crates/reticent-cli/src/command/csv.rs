//! Fields of CSV files that a spreadsheet may open.

/// A text as a field of CSV. A spreadsheet takes a cell that starts with one of these characters
/// for a formula, so an apostrophe goes before it, unless the whole cell is a number.
pub(super) fn field(text: &str) -> String {
    let starts_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let is_number = || text.parse::<f64>().is_ok_and(f64::is_finite);
    if starts_formula && !is_number() {
        return quoted(&format!("'{text}"));
    }
    quoted(text)
}

/// A field as CSV wants it.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn a_cell_that_starts_a_formula_is_text_and_a_number_stays_one() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("-cmd|' /C calc'!A0", "'-cmd|' /C calc'!A0"),
            ("+A1,B1", "\"'+A1,B1\""),
            ("\tx", "'\tx"),
            ("\r=1", "\"'\r=1\""),
            ("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""),
            ("-1", "-1"),
            ("+1", "+1"),
            ("-2.5e3", "-2.5e3"),
            ("-inf", "'-inf"),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(field(text), cell);
        }
    }
}
