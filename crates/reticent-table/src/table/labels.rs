//! Labels in a text file of their own: one in each line, whatever the line says.
//!
//! No label decides how another is read, or whether there is an error. So a line is neither split
//! into fields nor joined with the next by a quote, an empty line is a missing label, and bytes
//! that are no UTF-8 or a line beyond the longest cell are a class that nobody declared. Quotes
//! around a whole line are taken off. A header is told by the number of lines alone: there is one
//! more than the table has rows, and every line ends in a newline. Without the last newline an
//! empty last label would be no line, and then a header would be taken for the first label.

use std::io::BufReader;

use super::lines::read_line;
use super::source::{Source, read_error};
use crate::encode::{Encoder, Label};
use crate::error::TableError;

/// Read and encode the labels of a table with so many rows. Reading ends where there are too many.
pub(super) fn read(
    source: Source,
    rows: usize,
    encoder: &Encoder,
) -> Result<Vec<Label>, TableError> {
    let mut reader = BufReader::with_capacity(1 << 17, source.reader);
    let (mut labels, mut line) = (Vec::new(), Vec::new());
    let mut ended = true;
    while labels.len() < rows.saturating_add(2) {
        let newline =
            read_line(&mut reader, &mut line).map_err(|e| read_error(&source.file, &e))?;
        let Some(newline) = newline else { break };
        ended = newline;
        let text = line.strip_prefix(b"\xef\xbb\xbf").filter(|_| labels.is_empty());
        labels.push(label(text.unwrap_or(&line), encoder));
    }
    if ended && labels.len() == rows.saturating_add(1) {
        labels.remove(0);
    }
    Ok(labels)
}

/// The label that a line spells; blanks around it, and so a carriage return, do not count.
fn label(line: &[u8], encoder: &Encoder) -> Label {
    let line = line.trim_ascii();
    match line.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) {
        Some(quoted) => {
            let mut text = Vec::with_capacity(quoted.len());
            let mut bytes = quoted.iter().peekable();
            while let Some(&byte) = bytes.next() {
                text.push(byte);
                if byte == b'"' {
                    bytes.next_if(|next| **next == b'"');
                }
            }
            encoder.label_of_text(&text)
        }
        None => encoder.label_of_text(line),
    }
}
