//! Dates and times: a cell read as a moment, and the parts of a moment.
//!
//! A moment is a whole number of microseconds since 1970-01-01T00:00, without leap seconds. A text
//! without an offset from UTC is taken as it stands; one with an offset is moved to UTC, as the
//! binary formats hold it. A text that is no date is a missing value: no error depends on a cell.

use chrono::format::{Item, StrftimeItems};
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, Timelike};
use serde::Serialize;

/// Microseconds of a day.
const DAY: f64 = 86_400e6;

/// How a column's dates are read.
#[derive(Clone, Debug, PartialEq)]
pub struct DateColumn {
    /// The form of a cell, in the letters of `strftime`; ISO 8601 without.
    pub format: Option<String>,
    /// The parts of a date that have features of their own besides its place in time, each once.
    pub parts: Vec<(DatePart, PartForm)>,
}

/// The value that an input takes from a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DateValue {
    /// Its place in time, in days since 1970-01-01.
    Days,
    /// A part of it.
    Part(DatePart),
}

/// A part of a date that comes round again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DatePart {
    /// The month.
    Month,
    /// The day of the week.
    Weekday,
    /// The hour of the day.
    Hour,
}

/// How a part becomes features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartForm {
    /// A point on a circle: cosine and sine.
    Periodic,
    /// A feature for each value.
    Categorical,
}

impl DatePart {
    /// The part that a schema calls by this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name.trim() {
            "month" => Some(Self::Month),
            "weekday" => Some(Self::Weekday),
            "hour" => Some(Self::Hour),
            _ => None,
        }
    }

    /// The name in a schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::Month => "month",
            Self::Weekday => "weekday",
            Self::Hour => "hour",
        }
    }

    /// Its values in order, by name.
    pub fn values(self) -> Vec<String> {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        match self {
            Self::Month => names(&[
                "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
            ]),
            Self::Weekday => names(&["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]),
            Self::Hour => (0..24).map(|hour| hour.to_string()).collect(),
        }
    }

    /// Which of its values a moment has; none for a moment that no calendar has.
    pub fn of(self, micros: i64) -> Option<u32> {
        let date = DateTime::from_timestamp_micros(micros)?;
        Some(match self {
            Self::Month => date.month0(),
            Self::Weekday => date.weekday().num_days_from_monday(),
            Self::Hour => date.hour(),
        })
    }
}

impl PartForm {
    /// The form that a schema calls by this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name.trim() {
            "periodic" => Some(Self::Periodic),
            "categorical" => Some(Self::Categorical),
            _ => None,
        }
    }

    /// The name in a schema.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Periodic => "periodic",
            Self::Categorical => "categorical",
        }
    }
}

/// Days since 1970-01-01 of a moment.
pub fn days(micros: i64) -> f64 {
    micros as f64 / DAY
}

/// The moment that is nearest to so many days since 1970-01-01.
pub(super) fn moment_of_days(days: f64) -> i64 {
    (days * DAY).round() as i64
}

/// Days since 1970-01-01 as ISO 8601: a date, with a time where it is not midnight. A number that
/// no calendar has stays one.
pub fn iso_of_days(days: f64) -> String {
    match DateTime::from_timestamp_micros(moment_of_days(days)).map(|date| date.naive_utc()) {
        Some(date) if date.time() == NaiveTime::MIN => date.format("%Y-%m-%d").to_string(),
        Some(date) => date.format("%Y-%m-%dT%H:%M:%S%.f").to_string(),
        None => days.to_string(),
    }
}

/// The moment that a text without blanks around it names, in a declared form or in ISO 8601.
pub fn moment(text: &str, format: Option<&str>) -> Option<i64> {
    match format {
        None => iso(text),
        Some(format) => formatted(text, format),
    }
}

/// `2024-02-29`, or that with a time after `T` or a blank: `12:30`, `12:30:45`, `12:30:45.5`, and
/// perhaps an offset from UTC: `Z`, `+02:00`.
fn iso(text: &str) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let date = NaiveDate::parse_from_str(date, "%Y-%m-%d").ok()?;
    if rest.is_empty() {
        return Some(date.and_time(NaiveTime::MIN).and_utc().timestamp_micros());
    }
    let time = rest.strip_prefix(['T', 't', ' '])?;
    let (time, seconds_east) = match time.find(['Z', 'z', '+', '-']) {
        None => (time, 0),
        Some(at) => (&time[..at], offset(&time[at..])?),
    };
    let of = |format| NaiveTime::parse_from_str(time, format).ok();
    let time = of("%H:%M:%S%.f").or_else(|| of("%H:%M"))?;
    let micros = date.and_time(time).and_utc().timestamp_micros();
    micros.checked_sub(i64::from(seconds_east) * 1_000_000)
}

/// Seconds east of UTC: `Z`, `+02:00`, `-0330`, `+02`.
fn offset(text: &str) -> Option<i32> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits: String = text[1..].chars().filter(|c| *c != ':').collect();
    // At most four digits, before anything is computed of them.
    if digits.len() > 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { 0 } else { minutes.parse::<i32>().ok()? };
    let seconds = 60 * (60 * hours.parse::<i32>().ok()? + minutes);
    (minutes < 60 && seconds < 86_400).then_some(sign * seconds)
}

fn formatted(text: &str, format: &str) -> Option<i64> {
    if let Ok(date) = DateTime::parse_from_str(text, format) {
        return Some(date.timestamp_micros());
    }
    let date = NaiveDateTime::parse_from_str(text, format)
        .or_else(|_| NaiveDate::parse_from_str(text, format).map(|d| d.and_time(NaiveTime::MIN)));
    date.ok().map(|date| date.and_utc().timestamp_micros())
}

/// Whether dates can be read in a form: its letters are known, and they tell a day.
pub(super) fn is_format(format: &str) -> bool {
    if StrftimeItems::new(format).any(|item| item == Item::Error) {
        return false;
    }
    let sample = NaiveDate::from_ymd_opt(2024, 2, 29).and_then(|date| date.and_hms_opt(0, 0, 0));
    sample.is_some_and(|sample| {
        let written = sample.and_utc().fixed_offset().format(format).to_string();
        formatted(&written, format) == Some(sample.and_utc().timestamp_micros())
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn iso_texts_are_moments() {
        let day = 19_782 * 86_400_000_000_i64; // 2024-02-29
        for (text, expected) in [
            ("1970-01-01", 0),
            ("2024-02-29", day),
            ("2024-02-29T00:00", day),
            ("2024-02-29 01:02:03", day + 3_723_000_000),
            ("2024-02-29t01:02:03.25", day + 3_723_250_000),
            ("2024-02-29T01:02:03Z", day + 3_723_000_000),
            ("2024-02-29T01:00:00+01:00", day),
            ("2024-02-28T20:30:00-0330", day),
            ("1969-12-31T23:59:59.999999", -1),
        ] {
            assert_eq!(moment(text, None), Some(expected), "{text}");
        }
        for text in [
            "",
            "2024",
            "20240229",
            "2023-02-29",
            "2024-13-01",
            "2024-02-29T",
            "2024-02-29T25:00",
            "2024-02-29T01:00+",
            "2024-02-29T01:00+25:00",
            "2024-02-29x",
            "29.02.2024",
            "é024-02-29",
            "2024-02-29T01:00+0a:00",
            "2024-02-29T01:00+1",
            "2024-02-29T01:00+02999999999",
            "2024-02-29T01:00-99:99999999999999999999",
        ] {
            assert_eq!(moment(text, None), None, "{text}");
        }
    }

    proptest! {
        /// Whatever digits a cell holds, nothing overflows, and a moment has its parts or none.
        #[test]
        fn wild_digits_are_survived(
            text in "[+-]?[0-9]{0,12}-[0-9]{0,12}-[0-9]{0,12}[Tt ]?[0-9:.+-]{0,30}[Zz]?",
            tail in "[0-9:.+Z-]{0,30}",
            number in "[+-]?[0-9]{0,25}",
            micros in any::<i64>(),
        ) {
            for text in [text, format!("2024-02-29T01:00{tail}"), number] {
                for format in [None, Some("%s"), Some("%Y-%m-%d"), Some("%Y-%m-%dT%H:%M:%S%.f%z")] {
                    if let Some(known) = moment(&text, format) {
                        let _ = (days(known), DatePart::Hour.of(known), iso_of_days(days(known)));
                    }
                }
            }
            let _ = (DatePart::Weekday.of(micros), iso_of_days(days(micros)));
        }
    }

    #[test]
    fn declared_forms_are_read_and_bad_ones_refused() {
        for (format, text) in [
            ("%d.%m.%Y", "29.02.2024"),
            ("%Y%m%d", "20240229"),
            ("%d %b %Y %H:%M", "29 Feb 2024 00:00"),
            ("%m/%d/%y", "02/29/24"),
            ("%Y-%m-%dT%H:%M:%S%z", "2024-02-29T02:00:00+0200"),
        ] {
            assert!(is_format(format), "{format}");
            assert_eq!(moment(text, Some(format)), moment("2024-02-29", None), "{format}");
            assert_eq!(moment("nothing", Some(format)), None);
        }
        for format in ["", "%", "%Q", "%H:%M", "%Y", "%d.%m", "day"] {
            assert!(!is_format(format), "{format}");
        }
    }

    #[test]
    fn parts_and_days_are_the_calendars() {
        let moment = moment("2024-02-29T23:59:59.9", None).unwrap();
        let parts = [DatePart::Month, DatePart::Weekday, DatePart::Hour];
        let names = parts.map(|part| part.values()[part.of(moment).unwrap() as usize].clone());
        assert_eq!(names, ["Feb", "Thu", "23"]);
        assert_eq!(DatePart::Hour.of(-1), Some(23));
        assert_eq!(DatePart::Month.of(i64::MAX), None);
        for text in ["2024-02-29", "1969-12-31T23:59:59.999999", "0001-01-01", "9999-12-31"] {
            let known = super::moment(text, None).unwrap();
            assert_eq!(moment_of_days(days(known)), known, "{text}");
            let again = super::moment(&iso_of_days(days(known)), None);
            assert_eq!(again, Some(known), "{text}");
        }
    }
}
