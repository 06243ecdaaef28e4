//! The value of a single cell: numbers, categories and missing marks.

use std::collections::HashMap;

pub(crate) use reticent_problem::LONGEST_CELL;
use reticent_problem::declaration::number_spelled;

/// The stand-in for a cell that is too long to be kept. No UTF-8 text starts with it, so it is no
/// number, no declared category and no missing mark.
pub(crate) const OVERLONG: &[u8] = b"\xff";

/// A cell without the blanks around it, or [`OVERLONG`] in place of one that is too long.
pub(super) fn trimmed(cell: &[u8]) -> &[u8] {
    let cell = cell.trim_ascii();
    if cell.len() > LONGEST_CELL { OVERLONG } else { cell }
}

/// The number that a trimmed cell spells, which may be infinite or NaN; `None` if it spells none,
/// as bytes that are no UTF-8 do not. Truth values are 1 and 0.
pub(crate) fn parse_number(cell: &[u8]) -> Option<f64> {
    parse_short_integer(cell).or_else(|| std::str::from_utf8(cell).ok().and_then(number_spelled))
}

/// Integers of up to 15 digits, exact in `f64`: the most frequent cell, without the general parser.
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

/// A trimmed cell without the marks between its thousands, which stand between groups of three
/// digits before the decimal mark. A cell that has the mark elsewhere becomes bytes that spell no
/// number.
pub(crate) fn without_thousands<'a>(
    cell: &'a [u8],
    mark: char,
    decimal: u8,
    into: &'a mut Vec<u8>,
) -> &'a [u8] {
    let mark = mark as u8;
    if !cell.contains(&mark) {
        return cell;
    }
    let is_end = |byte: &u8| *byte == decimal && decimal != mark;
    let (whole, rest) = cell.split_at(cell.iter().position(is_end).unwrap_or(cell.len()));
    let digits = whole.strip_prefix(b"-").or(whole.strip_prefix(b"+")).unwrap_or(whole);
    let mut groups = digits.split(|byte| *byte == mark);
    let first = groups.next().is_some_and(|group| (1..=3).contains(&group.len()));
    if !first || !groups.all(|group| group.len() == 3) || rest.contains(&mark) {
        return OVERLONG;
    }
    into.clear();
    into.extend(whole.iter().filter(|byte| **byte != mark));
    into.extend(rest);
    into
}

/// One key for each number: both zeros share theirs.
fn key(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

/// Declared categories: those that spell numbers are found by number, the others by text. Which
/// program guessed what a column holds must not matter, so a text that spells a number is that
/// number.
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
            match parse_number(category.as_bytes()) {
                // The first of two that are the same number, which a declaration does not have.
                Some(number) => {
                    by_number.entry(key(number)).or_insert(index);
                }
                None => {
                    by_text.insert(category.as_bytes().into(), index);
                }
            }
        }
        Self { by_text, by_number }
    }

    /// The index of the category that a trimmed cell names.
    pub(super) fn of_text(&self, cell: &[u8]) -> Option<u32> {
        match parse_number(cell) {
            Some(number) => self.of_number(number),
            None => self.by_text.get(cell).copied(),
        }
    }

    /// The index of the category that a number names.
    pub(super) fn of_number(&self, number: f64) -> Option<u32> {
        if number.is_finite() { self.by_number.get(&key(number)).copied() } else { None }
    }
}

/// Finds which declared category the text of a cell names, as the encoder reads it: blanks around
/// it do not count, and a text that spells a number or a truth value is that number.
#[derive(Clone, Debug)]
pub struct CategoryFinder(Categories);

impl CategoryFinder {
    /// Makes a list of declared categories ready.
    pub fn new(categories: &[String]) -> Self {
        Self(Categories::new(categories))
    }

    /// The place of the category in the list; none for a text that names none of them.
    pub fn place(&self, cell: &str) -> Option<usize> {
        self.0.of_text(trimmed(cell.as_bytes())).map(|place| place as usize)
    }
}

/// Declared missing marks of a column. The empty cell is always one; spellings that need no
/// declaration are not among them, because a declared category comes before those.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    texts: Vec<Box<[u8]>>,
    numbers: Vec<f64>,
    nan: bool,
}

impl Marks {
    pub(super) fn new(marks: &[String]) -> Self {
        let (mut texts, mut numbers): (Vec<Box<[u8]>>, Vec<f64>) = (Vec::new(), Vec::new());
        for mark in marks {
            match parse_number(mark.as_bytes()) {
                Some(number) => numbers.push(number),
                None => texts.push(mark.as_bytes().into()),
            }
        }
        Self { texts, nan: numbers.iter().any(|number| number.is_nan()), numbers }
    }

    /// Whether no mark is declared.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.numbers.is_empty()
    }

    /// Whether a trimmed cell is missing.
    pub(super) fn has_text(&self, cell: &[u8]) -> bool {
        if cell.is_empty() || self.is_empty() {
            return cell.is_empty();
        }
        match parse_number(cell) {
            Some(number) => self.has_number(number),
            None => self.texts.iter().any(|mark| **mark == *cell),
        }
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
    fn thousands_are_groups_of_three_digits() {
        let mut into = Vec::new();
        let mut read = |cell: &str, mark, decimal| {
            parse_number(without_thousands(cell.as_bytes(), mark, decimal, &mut into))
        };
        for (cell, number) in [
            ("1,234", 1234.0),
            ("12", 12.0),
            ("1234567", 1234567.0),
            ("-1,234,567.5", -1234567.5),
            ("+123,456", 123456.0),
        ] {
            assert_eq!(read(cell, ',', b'.'), Some(number), "{cell}");
        }
        for cell in
            ["1,23", "1,2345", ",123", "1234,567", "1,234.5,6", "1,,234", "1,23a", ",", "1,234e1"]
        {
            assert_eq!(read(cell, ',', b'.'), None, "{cell}");
        }
        assert_eq!(read("1 234", ' ', b'.'), Some(1234.0));
        assert_eq!(read("1.234", '.', b'.'), Some(1234.0));
        assert_eq!(read("1.5", '.', b'.'), None, "it may mean one and a half");
    }

    #[test]
    fn a_category_is_the_same_as_text_number_and_truth_value() {
        let categories = Categories::new(&["1".to_owned(), "2.0".to_owned(), "no".to_owned()]);
        for spelled in ["1", "01", "1.0", "+1", "1e0", "true", "True", "TRUE"] {
            assert_eq!(categories.of_text(spelled.as_bytes()), Some(0), "{spelled}");
        }
        assert_eq!(categories.of_number(1.0), Some(0));
        assert_eq!(categories.of_text(b"2"), Some(1));
        assert_eq!(categories.of_text(b"no"), Some(2));
        for spelled in ["3", "nan", "inf", "1e400", "tRUE", "yes"] {
            assert_eq!(categories.of_text(spelled.as_bytes()), None, "{spelled}");
        }
        assert_eq!(categories.of_number(f64::NAN), None);
        let flags = Categories::new(&["False".to_owned(), "true".to_owned()]);
        assert_eq!((flags.of_number(0.0), flags.of_number(1.0)), (Some(0), Some(1)));
        assert_eq!((flags.of_text(b"FALSE"), flags.of_text(b"1")), (Some(0), Some(1)));
    }

    #[test]
    fn a_cell_of_text_names_the_category_that_the_encoder_takes() {
        let finder = CategoryFinder::new(&["false".to_owned(), "true".to_owned(), "?".to_owned()]);
        let places = ["True", " 1.0 ", "FALSE", "0", "?", "yes", ""].map(|cell| finder.place(cell));
        assert_eq!(places, [Some(1), Some(1), Some(0), Some(0), Some(2), None, None]);
    }

    #[test]
    fn marks_match_as_text_and_as_numbers() {
        let marks = Marks::new(&["?".to_owned(), "-999".to_owned()]);
        assert!(marks.has_text(b"") && marks.has_text(b"?") && !marks.has_text(b"??"));
        assert!(marks.has_number(-999.0) && !marks.has_number(f64::NAN));
        assert!(marks.has_text(b"-999.0") && !marks.has_text(b"True"));
        let flag = Marks::new(&["True".to_owned()]);
        assert!(flag.has_text(b"true") && flag.has_number(1.0) && !flag.has_text(b"False"));
        assert!(Marks::new(&["NaN".to_owned()]).has_number(f64::NAN));
    }
}
