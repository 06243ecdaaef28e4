//! The parts that every section is made of: the head of the page, tables, escaped text.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use reticent_problem::text::visible;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("style.css");

/// The head of the page. Its policy lets the browser load nothing and run nothing: the one style
/// sheet is named by its digest, the icon is empty.
pub(super) fn head(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{}'; \
         img-src data:; base-uri 'none'; form-action 'none'\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><link rel=\"icon\" href=\"data:,\"><style>{STYLE}</style></head><body><main>\n",
        base64(&Sha256::digest(STYLE.as_bytes())),
        title = escape(title)
    )
}

/// A heading that links can name.
pub(super) fn heading(page: &mut String, id: &str, title: &str) {
    _ = writeln!(page, "<h2 id=\"{id}\">{title}</h2>");
}

/// A part that is folded until its title or a link to it is followed: a browser opens what holds
/// the target of a link.
pub(super) fn begin_part(page: &mut String, id: &str, title: &str) {
    _ = writeln!(
        page,
        "<details class=\"part\"><summary><h2>{title}</h2></summary><div id=\"{id}\">"
    );
}

/// The end of [`begin_part`].
pub(super) fn end_part(page: &mut String) {
    page.push_str("</div></details>\n");
}

/// Numbers behind a picture, folded.
pub(super) fn begin_fold(page: &mut String, title: &str) {
    _ = writeln!(page, "<details><summary>{title}</summary>");
}

/// The end of [`begin_fold`].
pub(super) fn end_fold(page: &mut String) {
    page.push_str("</details>\n");
}

/// A table; columns in `numbers` are aligned as such, and without a header the first cell of a row
/// heads it.
pub(super) fn table(
    page: &mut String,
    caption: &str,
    header: &[&str],
    rows: &[Vec<String>],
    numbers: &[usize],
) {
    let class = |i: usize| if numbers.contains(&i) { " class=\"number\"" } else { "" };
    let label = if caption.is_empty() { "Facts" } else { caption };
    _ = write!(
        page,
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\"><table{}>",
        escape(label),
        if header.is_empty() { " class=\"facts\"" } else { "" }
    );
    if !caption.is_empty() {
        _ = write!(page, "<caption><span>{}</span></caption>", escape(caption));
    }
    if !header.is_empty() {
        page.push_str("<thead><tr>");
        for (i, cell) in header.iter().enumerate() {
            _ = write!(page, "<th scope=\"col\"{}>{}</th>", class(i), escape(cell));
        }
        page.push_str("</tr></thead>");
    }
    page.push_str("<tbody>\n");
    for row in rows {
        page.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            let cell = escape(cell);
            _ = if header.is_empty() && i == 0 {
                write!(page, "<th scope=\"row\">{cell}</th>")
            } else {
                write!(page, "<td{}>{cell}</td>", class(i))
            };
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

/// Text as HTML wants it, with hidden characters shown as codes.
pub(super) fn escape(text: &str) -> String {
    visible(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Text of several lines, for a `pre` element.
pub(super) fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

/// The bytes in base64, as a policy names a digest.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = (0..3)
            .fold(0_usize, |word, i| (word << 8) | usize::from(chunk.get(i).copied().unwrap_or(0)));
        for place in 0..4 {
            text.push(if place <= chunk.len() {
                char::from(LETTERS[(word >> (18 - 6 * place)) & 63])
            } else {
                '='
            });
        }
    }
    text
}

/// Today's date in coordinated universal time; that of `SOURCE_DATE_EPOCH` where it is set, so that
/// a report can be reproduced to the byte.
pub(super) fn today() -> String {
    let fixed = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    date(fixed.unwrap_or_else(now))
}

/// The date of a second since 1970, in the Gregorian calendar.
fn date(seconds: u64) -> String {
    // Years that begin in March put the leap day last; an era of 400 years has 146,097 days.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..=9 => (400 * era + year, month + 3),
        _ => (400 * era + year + 1, month - 9),
    };
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (1_709_251_200, "2024-03-01"),
            (1_795_000_000, "2026-11-18"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(escape("<b>&\"\u{202e}"), "&lt;b&gt;&amp;&quot;\\u{202e}");
        assert_eq!(escape_lines("{\n  \"a\": 1\n}"), "{\n  &quot;a&quot;: 1\n}");
    }
}
