//! Times in lists of allowed signers: `20270101Z`, `202701011230Z`, `20270101123059Z`.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    // A clock before 1970 tells nothing: every key is then not yet valid.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The seconds since 1970 of a time in coordinated universal time, from 1970 on; none for any other
/// text.
pub(super) fn parse(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('Z')?;
    if !matches!(digits.len(), 8 | 12 | 14) || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let part =
        |from: usize, to: usize| digits.get(from..to).map_or(Some(0), |d| d.parse::<u64>().ok());
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
    let leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let days_of = |month: u64| match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u64::from(leap(year)),
        _ => 31,
    };
    let is_time = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_of(month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let years: u64 = (1970..year).map(|year| 365 + u64::from(leap(year))).sum();
    let months: u64 = (1..month).map(days_of).sum();
    is_time.then_some(((years + months + day - 1) * 24 + hour) * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_since_1970_and_nothing_else_is_a_time() {
        for (text, seconds) in [
            ("19700101Z", 0),
            ("20000229Z", 951_782_400),
            ("20240301Z", 1_709_251_200),
            ("202607311645Z", 1_785_516_300),
            ("20991231235959Z", 4_102_444_799),
        ] {
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
        for text in
            ["20270101", "2027Z", "20270229Z", "20271301Z", "202701012460Z", "+2027010Z", ""]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
