//! Labels in a text file of their own: one in each line, whatever the line says.
//!
//! No label decides how another is read, or whether there is an error. So a line is neither split into fields nor joined with
//! the next by a quote, an empty line is a missing label, and bytes that are no UTF-8 are a class that nobody declared. Quotes
//! around a whole line are taken off. A header is told by the number of lines alone: there is one more than the table has rows,
//! and every line ends in a newline. Without the last newline an empty last label would be no line, and then a header would
//! be taken for the first label.

use super::error::TableError;
use super::source::Source;
use crate::encode::Encoder;

/// Read and encode the labels of a table with so many rows.
pub(super) fn read(
    source: &mut Source,
    rows: usize,
    encoder: &Encoder,
) -> Result<Vec<f64>, TableError> {
    let bytes = source.bytes()?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let ended = text.strip_suffix(b"\n");
    let lines: Vec<&[u8]> = ended.unwrap_or(text).split(|&byte| byte == b'\n').collect();
    let header = ended.is_some() && lines.len() == rows + 1;
    Ok(lines.iter().skip(usize::from(header)).map(|line| label(line, encoder)).collect())
}

/// The label that a line spells; blanks around it, and so a carriage return, do not count.
fn label(line: &[u8], encoder: &Encoder) -> f64 {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_ascii();
    match line.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => encoder.label_of_text(quoted.replace("\"\"", "\"").as_bytes()),
        None => encoder.label_of_text(line.as_bytes()),
    }
}
