//! Text that others wrote, shown so that it cannot change how the page or the terminal around it
//! looks.

use std::fmt::Write;

/// Whether a character is not shown as itself: control characters, line separators, marks that
/// change the direction of the text around them, and spaces of no width.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Whether a text is shown as it is written: one line, without escape codes or marks of direction.
pub fn is_plain(text: &str) -> bool {
    !text.chars().any(is_hidden)
}

/// The text with each hidden character written as its code: `\u{202e}` for a mark that turns the
/// line around.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_written_as_codes_and_others_stay() {
        assert_eq!(visible("age\u{202e}xof\u{1b}[31m\n"), "age\\u{202e}xof\\u{1b}[31m\\u{a}");
        assert_eq!(visible("\u{feff}a\u{200b}b\u{2066}"), "\\u{feff}a\\u{200b}b\\u{2066}");
        for own in ["größe in cm", "年齢", "گروه", "a b\\c"] {
            assert_eq!(visible(own), own);
            assert!(is_plain(own));
        }
        assert!(!is_plain("a\tb") && !is_plain("a\u{2028}b"));
    }
}
