//! Output: one JSON object with `--json`, text without; errors go to standard error.

use std::io::{self, Write};

use reticent::problem::text::visible;
use serde_json::{Value, json};

/// Prints a JSON value on one line.
pub(crate) fn json(value: &Value) {
    line(&value.to_string());
}

/// Prints text. A reader that hung up is no error.
pub(crate) fn line(text: &str) {
    let mut out = io::stdout().lock();
    _ = writeln!(out, "{text}");
}

/// Prints one sentence on standard error, on one line whatever it quotes: names come from files of
/// others. With `--json` standard output gets the same as an object.
pub(crate) fn complain(sentence: &str, code: u8, json: bool) {
    let sentence = visible(&sentence.replace(['\n', '\r'], " "));
    _ = writeln!(io::stderr().lock(), "error: {sentence}");
    if json {
        line(&json!({ "error": { "message": sentence, "exit_code": code } }).to_string());
    }
}

/// Prints a remark on standard error.
pub(crate) fn remark(sentence: &str) {
    _ = writeln!(io::stderr().lock(), "note: {}", visible(sentence));
}

/// A bar of up to thirty blocks for a share of one.
pub(crate) fn bar(share: f64) -> String {
    let eighths = (share.clamp(0.0, 1.0) * 240.0).round() as usize;
    let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + part
}

/// A table with its columns aligned.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = header.iter().map(|h| h.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let format = |cells: Vec<&str>| {
        let padded = cells.iter().zip(&widths).map(|(c, w)| format!("{c:<w$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![format(header.to_vec())];
    lines.extend(rows.iter().map(|row| format(row.iter().map(String::as_str).collect())));
    lines.join("\n")
}
