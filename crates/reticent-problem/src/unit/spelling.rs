//! One spelling for an identifier that programs write in several ways.
//!
//! A column of identifiers holds whole numbers in one file and, because a cell of another file is
//! missing, floating-point numbers there: `7` and `7.0`. Decimals write `7.00`, Java `1.0E7`, a
//! column of moments `2024-02-29T00:00:00` where one of dates writes `2024-02-29`. Each of these is
//! one person, whose rows must not count as two units.
//!
//! # Why the safe side is to merge
//!
//! The spelling is a function of the cell alone, so all rows of one person have one key, and a
//! change of a person's rows changes one unit. If two persons share a key, a guarantee for their
//! unit is one for each of them. So a text that only looks like a number loses usefulness at most.
//! A cell of more than [`LONGEST`] bytes is no number that a program writes; it stays as it is.

use std::borrow::Cow;

/// Bytes of a text that may be spelled again.
const LONGEST: usize = 100;

/// The spelling of a text without blanks around it: a decimal number without a plus, a point that
/// nothing follows, zeros at its ends or the exponent of a whole number; a truth value in small
/// letters; a moment of ISO 8601 as `2024-02-29T12:30:00`, and as a date where it is midnight.
/// Every other text is its own.
pub(super) fn spelled(text: &str) -> Cow<'_, str> {
    let again = match text.as_bytes() {
        _ if text.len() > LONGEST => None,
        [b'0'..=b'9' | b'+' | b'-', ..] => number(text).or_else(|| moment(text)),
        [b't' | b'T' | b'f' | b'F', ..] => {
            ["true", "false"].into_iter().find(|w| text.eq_ignore_ascii_case(w)).map(str::to_owned)
        }
        _ => None,
    };
    again.map_or(Cow::Borrowed(text), Cow::Owned)
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A decimal number; none for another text, and for a number with an exponent that is not whole.
fn number(text: &str) -> Option<String> {
    let size = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match size.split_once(['e', 'E']) {
        None => (size, None),
        Some((mantissa, exponent)) => {
            let digits = exponent.strip_prefix('+').unwrap_or(exponent);
            let fits = (1..=3).contains(&digits.len()) && is_digits(digits);
            (mantissa, Some(fits.then(|| digits.parse::<usize>().ok())??))
        }
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let (whole, fraction) = match exponent {
        None => (Cow::Borrowed(whole), fraction),
        Some(places) => {
            let zeros = places.checked_sub(fraction.len())?;
            (Cow::Owned(format!("{whole}{fraction}{}", "0".repeat(zeros))), "")
        }
    };
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let sign = if text.starts_with('-') && (whole, fraction) != ("0", "") { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}"))
}

/// A date with a time that has no offset from UTC, or none but zero.
fn moment(text: &str) -> Option<String> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let unsigned = date.strip_prefix(['+', '-']).unwrap_or(date);
    let mut parts = unsigned.split('-');
    let mut next = |lengths: std::ops::RangeInclusive<usize>| {
        parts.next().is_some_and(|part| lengths.contains(&part.len()) && is_digits(part))
    };
    if !(next(4..=6) && next(2..=2) && next(2..=2) && parts.next().is_none()) {
        return None;
    }
    let time = ["Z", "z", "+00:00"].into_iter().find_map(|z| time.strip_suffix(z)).unwrap_or(time);
    let (clock, fraction) = match time.split_once('.') {
        Some((clock, fraction)) if clock.len() == 8 && !fraction.is_empty() => (clock, fraction),
        Some(_) => return None,
        None => (time, ""),
    };
    let two_each = clock.split(':').all(|part| part.len() == 2 && is_digits(part));
    if !matches!(clock.len(), 5 | 8) || !two_each || !is_digits(fraction) {
        return None;
    }
    let seconds = if clock.len() == 5 { ":00" } else { "" };
    let fraction = fraction.trim_end_matches('0');
    Some(match (clock, fraction) {
        ("00:00" | "00:00:00", "") => date.to_owned(),
        (_, "") => format!("{date}T{clock}{seconds}"),
        _ => format!("{date}T{clock}.{fraction}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Each line is one unit, and its first text is the key. The same list is in the tests of the
    /// Python package, for Spark.
    const LINES: [&[&str]; 12] = [
        &["7", "7.0", "7.00", "+7", "007", "7.", "7e0", "7.0E0", "07.0"],
        &["-7", "-7.0", "-07", "-7.0e+0"],
        &["0", "-0", "0.0", "-0.0", "000", "0e9"],
        &["7.5", "7.50", "+7.5", "07.500"],
        &["10000000", "1.0E7", "1e7", "10000000.0", "1e+7", "0.1e8"],
        &["12345678", "1.2345678E7", "12345678.00", "1.23456780E07"],
        &["10000000000000000", "1e16", "1.0E16", "1E+16"],
        &["true", "True", "TRUE"],
        &["false", "False", "FALSE"],
        &[
            "2024-02-29",
            "2024-02-29T00:00:00",
            "2024-02-29 00:00:00",
            "2024-02-29T00:00:00.000000Z",
            "2024-02-29 00:00:00+00:00",
            "2024-02-29t00:00z",
        ],
        &["2024-02-29T12:30:00", "2024-02-29 12:30", "2024-02-29 12:30:00.000Z"],
        &["2024-02-29T12:30:10.25", "2024-02-29 12:30:10.250000"],
    ];

    #[test]
    fn spellings_of_one_identifier_are_one() {
        for line in LINES {
            for text in line {
                assert_eq!(spelled(text), line[0], "{text}");
            }
        }
        let keys: std::collections::HashSet<_> = LINES.iter().map(|line| line[0]).collect();
        assert_eq!(keys.len(), LINES.len());
    }

    #[test]
    fn other_texts_are_their_own() {
        let long = format!("7.{}", "0".repeat(LONGEST));
        for text in [
            "p7",
            "7.0.0",
            "7,0",
            "1.5e-7",
            "1.25e1",
            "1e1000",
            "e7",
            ".",
            "-",
            "+",
            "--7",
            "1e",
            "7 0",
            "truee",
            "f",
            "2024-02-29",
            "2024-02-29T",
            "2024-02-29T0:00",
            "24-02-29 00:00",
            "2024-02-29T12:30.5",
            "2024-02-29T00:00:00+01:00",
            "2024-02-29T00:00:00.",
            "é7",
            "2024-02-29T00:00:00:00",
            "2024-02-29T:::::",
            "7e+",
            "\u{0667}",
            &long,
        ] {
            assert_eq!(spelled(text), text);
        }
    }

    proptest! {
        /// A spelling is one of its own, and no text panics.
        #[test]
        fn a_spelling_stays(text in "[0-9.eE+:TZ tr-]{0,40}|\\PC{0,20}") {
            let once = spelled(&text).into_owned();
            prop_assert_eq!(spelled(&once), once.as_str());
        }

        /// A number is one key in each way in which programs write it.
        #[test]
        fn numbers_of_every_type_have_one_key(whole in -1_i64 << 53..1_i64 << 53) {
            let key = whole.to_string();
            for text in [format!("{:?}", whole as f64), format!("{:e}", whole as f64), format!("{whole}.00")] {
                prop_assert_eq!(spelled(&text), key.as_str(), "{}", text);
            }
        }
    }
}
