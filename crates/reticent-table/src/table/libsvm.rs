//! libsvm text: a label, then `index:value` pairs, one row in each line.
//!
//! Every line is a row, whatever it says: one that is blank, or a comment as a whole, has no label
//! and no pair. Indices count from 1, in the order of the declared features. An index that is
//! absent means the number 0. The index 0 and those beyond the declared ones are ignored, as an
//! undeclared category is. Comments (`# ...`), `qid:` fields and unsorted indices are allowed. A
//! pair that is not one, or an index that occurs twice, makes the row unreadable, as text in a
//! numeric column does; bytes that are no UTF-8 and fields beyond the longest cell are no pairs.
//!
//! A line is read field by field, and a row keeps no more pairs than there are declared features,
//! so memory does not grow with what a line holds.

use std::io::{BufRead, BufReader, ErrorKind, Read};

use reticent_problem::declaration::spells_missing;

use super::source::{Source, read_error};
use crate::encode::{Encoder, LONGEST_CELL, OVERLONG, Observer, RowWriter, SparseCells};
use crate::error::TableError;

/// A part of a line.
enum Part<'a> {
    /// A field, without blanks; comments are left out.
    Field(&'a [u8]),
    /// The line's end.
    End,
}

/// Calls `take` with the parts of every line, until it says that nothing more is wanted.
fn for_each_part(source: Source, mut take: impl FnMut(Part<'_>) -> bool) -> Result<(), TableError> {
    let Source { file, reader, .. } = source;
    let mut reader = BufReader::with_capacity(1 << 17, reader);
    // A field that the buffer's end has cut, whether this is within a comment, and whether the line
    // has begun.
    let (mut cut, mut comment, mut begun) = (Vec::new(), false, false);
    loop {
        let input = match reader.fill_buf() {
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(read_error(&file, &e)),
            Ok(input) => input,
        };
        if input.is_empty() {
            let wanted = cut.is_empty() || take(Part::Field(&cut));
            if wanted && begun {
                take(Part::End);
            }
            return Ok(());
        }
        let (mut rest, read) = (input, input.len());
        while !rest.is_empty() {
            begun = true;
            let stop = |byte: &u8| *byte == b'\n' || (!comment && ends_field(*byte));
            let end = rest.iter().position(stop).unwrap_or(rest.len());
            let field = if comment { &[][..] } else { &rest[..end] };
            if end == rest.len() {
                keep(&mut cut, field);
                break;
            }
            if !cut.is_empty() {
                keep(&mut cut, field);
            }
            let field = if cut.is_empty() { field } else { &cut };
            if !field.is_empty() && !take(Part::Field(field)) {
                return Ok(());
            }
            cut.clear();
            match rest[end] {
                b'\n' => {
                    (comment, begun) = (false, false);
                    if !take(Part::End) {
                        return Ok(());
                    }
                }
                b'#' => comment = true,
                _ => {}
            }
            rest = &rest[end + 1..];
        }
        reader.consume(read);
    }
}

fn ends_field(byte: u8) -> bool {
    byte == b'#' || byte.is_ascii_whitespace()
}

/// Appends to a field that was cut; one that is too long becomes a mark.
fn keep(cut: &mut Vec<u8>, part: &[u8]) {
    if cut.len() + part.len() > LONGEST_CELL {
        cut.clear();
        cut.extend(OVERLONG);
    } else {
        cut.extend(part);
    }
}

/// Read and encode a table.
pub(super) fn read<O: Observer>(
    source: Source,
    encoder: &Encoder,
    writer: &mut RowWriter<'_, O>,
) -> Result<(), TableError> {
    encoder.check_nameless(&source.file)?;
    let cells = SparseCells::new(encoder);
    let mut entries = Vec::new();
    let mut first = true;
    for_each_part(source, |part| {
        match part {
            Part::Field(field) => {
                let field = if first { without_mark(field) } else { field };
                if first && !field.contains(&b':') {
                    writer.label_text(field);
                } else {
                    take_pair(field, &cells, &mut entries, writer);
                }
                // A byte order mark alone is no field.
                first &= field.is_empty();
            }
            Part::End => {
                cells.write(&mut entries, writer);
                writer.end_row();
                entries.clear();
                first = true;
            }
        }
        !writer.stopped()
    })
}

/// Takes a pair to the row's entries. A row with more of them than there are declared features has
/// one of them twice.
fn take_pair<O: Observer>(
    field: &[u8],
    cells: &SparseCells,
    entries: &mut Vec<(usize, f64)>,
    writer: &mut RowWriter<'_, O>,
) {
    match pair(field) {
        Pair::Entry(index, _) if index > cells.width() => {}
        Pair::Entry(index, value) if entries.len() < cells.width() => {
            entries.push((index - 1, value));
        }
        Pair::Ignored => {}
        Pair::NoNumber(index) => match cells.column(index - 1) {
            Some(column) => writer.unreadable_cell(column),
            None => writer.unreadable_row(),
        },
        Pair::Entry(..) | Pair::Unreadable => writer.unreadable_row(),
    }
}

/// A line's first field without byte order marks.
fn without_mark(mut field: &[u8]) -> &[u8] {
    while let Some(rest) = field.strip_prefix(b"\xef\xbb\xbf") {
        field = rest;
    }
    field
}

/// How many rows a table has.
pub(super) fn count(source: Source) -> Result<usize, TableError> {
    let Source { file, reader, .. } = source;
    let mut reader = BufReader::with_capacity(1 << 17, reader);
    let (mut buffer, mut rows, mut last) = (vec![0; 1 << 16], 0, b'\n');
    loop {
        match reader.read(&mut buffer) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(read_error(&file, &e)),
            // Text after the last newline is a row too.
            Ok(0) => return Ok(rows + usize::from(last != b'\n')),
            Ok(read) => {
                rows += buffer[..read].split(|&byte| byte == b'\n').count() - 1;
                last = buffer[read - 1];
            }
        }
    }
}

enum Pair {
    /// An index from 1, and its value.
    Entry(usize, f64),
    /// An index from 1 whose value is no number.
    NoNumber(usize),
    Ignored,
    Unreadable,
}

fn pair(field: &[u8]) -> Pair {
    let Ok(field) = std::str::from_utf8(field) else { return Pair::Unreadable };
    match field.split_once(':') {
        Some(("qid", _)) => Pair::Ignored,
        Some((index, value)) => match (index.parse::<usize>(), value.parse::<f64>()) {
            (Ok(0), Ok(_)) => Pair::Ignored,
            (Ok(index), Ok(value)) => Pair::Entry(index, value),
            (Ok(index @ 1..), Err(_)) if spells_missing(value.as_bytes()) => {
                Pair::Entry(index, f64::NAN)
            }
            (Ok(index @ 1..), Err(_)) => Pair::NoNumber(index),
            _ => Pair::Unreadable,
        },
        None => Pair::Unreadable,
    }
}
