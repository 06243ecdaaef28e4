//! What a single cell says: numbers, categories and missing marks.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The number that a trimmed cell spells, which may be infinite or NaN; `None` if it spells none.
pub(crate) fn parse_number(cell: &[u8]) -> Option<f64> {
    parse_short_integer(cell)
        .or_else(|| std::str::from_utf8(cell).ok().and_then(|text| text.parse().ok()))
}

/// Integers of up to 15 digits, exact in `f64`: the usual cell, without the general parser.
fn parse_short_integer(cell: &[u8]) -> Option<f64> {
    let (negative, digits) = match cell {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, cell),
    };
    if digits.is_empty() || digits.len() > 15 {
        return None;
    }
    let mut value = 0_u64;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u64::from(digit - b'0');
    }
    let value = value as f64;
    Some(if negative { -value } else { value })
}

/// One key for each number: both zeros share theirs.
fn key(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

/// Declared categories, found by text or by number.
#[derive(Clone, Debug)]
pub(super) struct Categories {
    by_text: HashMap<Box<[u8]>, u32>,
    by_number: HashMap<u64, u32>,
}

impl Categories {
    pub(super) fn new(categories: &[String]) -> Self {
        let mut by_text = HashMap::with_capacity(categories.len());
        let mut by_number = HashMap::new();
        for (index, category) in (0_u32..).zip(categories) {
            by_text.insert(category.as_bytes().into(), index);
            let Some(number) = parse_number(category.as_bytes()).filter(|v| v.is_finite()) else {
                continue;
            };
            // `1` and `01` may both be declared: the number then means the plain spelling.
            match by_number.entry(key(number)) {
                Entry::Vacant(entry) => {
                    entry.insert(index);
                }
                Entry::Occupied(mut entry) if *category == number.to_string() => {
                    entry.insert(index);
                }
                Entry::Occupied(_) => {}
            }
        }
        Self { by_text, by_number }
    }

    /// The index of the category that a trimmed cell names.
    pub(super) fn of_text(&self, cell: &[u8]) -> Option<u32> {
        self.by_text.get(cell).copied().or_else(|| {
            if self.by_number.is_empty() {
                return None;
            }
            parse_number(cell).and_then(|number| self.of_number(number))
        })
    }

    /// The index of the category that a number names.
    pub(super) fn of_number(&self, number: f64) -> Option<u32> {
        self.by_number.get(&key(number)).copied()
    }

    /// The index of the category that a truth value names: as text, or as 1 and 0.
    pub(super) fn of_flag(&self, flag: bool) -> Option<u32> {
        let spellings: [&[u8]; 3] =
            if flag { [b"true", b"True", b"TRUE"] } else { [b"false", b"False", b"FALSE"] };
        spellings
            .iter()
            .find_map(|&text| self.by_text.get(text).copied())
            .or_else(|| self.of_number(f64::from(u8::from(flag))))
    }
}

/// Declared missing marks of a column. The empty cell is always one.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    texts: Vec<Box<[u8]>>,
    numbers: Vec<f64>,
    nan: bool,
}

impl Marks {
    pub(super) fn new(marks: &[String]) -> Self {
        let numbers: Vec<f64> =
            marks.iter().filter_map(|mark| parse_number(mark.as_bytes())).collect();
        Self {
            texts: marks.iter().map(|mark| mark.as_bytes().into()).collect(),
            nan: numbers.iter().any(|number| number.is_nan()),
            numbers,
        }
    }

    /// Whether no mark is declared.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Whether a trimmed cell is missing.
    pub(super) fn has_text(&self, cell: &[u8]) -> bool {
        cell.is_empty() || self.texts.iter().any(|mark| **mark == *cell)
    }

    /// Whether a number stands for a missing value: it equals a declared mark, or it is NaN and a
    /// mark spells NaN.
    pub(super) fn has_number(&self, number: f64) -> bool {
        (self.nan && number.is_nan()) || self.numbers.contains(&number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_integers_agree_with_the_general_parser() {
        for text in ["0", "-0", "7", "-12", "123456789012345", "1234567890123456", "-", "", "1x"] {
            let general = text.parse::<f64>().ok();
            assert_eq!(
                parse_number(text.as_bytes()).map(f64::to_bits),
                general.map(f64::to_bits),
                "{text}"
            );
        }
    }

    #[test]
    fn a_category_is_found_by_its_text_first_and_by_its_number_next() {
        let categories = Categories::new(&["01".to_owned(), "1".to_owned(), "2.0".to_owned()]);
        assert_eq!(categories.of_text(b"01"), Some(0));
        assert_eq!(categories.of_text(b"1"), Some(1));
        assert_eq!(categories.of_text(b"1.0"), Some(1));
        assert_eq!(categories.of_number(1.0), Some(1));
        assert_eq!(categories.of_text(b"2"), Some(2));
        assert_eq!(categories.of_text(b"3"), None);
        assert_eq!(categories.of_number(f64::NAN), None);
    }

    #[test]
    fn marks_match_as_text_and_as_numbers() {
        let marks = Marks::new(&["?".to_owned(), "-999".to_owned()]);
        assert!(marks.has_text(b"") && marks.has_text(b"?") && !marks.has_text(b"??"));
        assert!(marks.has_number(-999.0) && !marks.has_number(f64::NAN));
        assert!(Marks::new(&["NaN".to_owned()]).has_number(f64::NAN));
    }
}
