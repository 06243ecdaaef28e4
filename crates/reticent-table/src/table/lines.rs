//! Lines: those of bounded length, and the blank ones of a table of one column, which are rows.
//!
//! # Blank lines
//!
//! The reader of records skips blank lines. Between rows of several fields they mean nothing, but
//! in a table of one column a blank line is a row whose cell is empty: were it skipped, what one
//! row says would decide how many rows there are, and which label belongs to which. So [`Lines`]
//! hands on `""` for each of them. Which table has one column is told by its header.
//!
//! Every line but the header is a row, and what follows the last newline must be nothing. A file of
//! one column whose last line lacks its newline is refused: with an empty last cell it would end in
//! the newline of the line before, and have a row less.

use std::io::{self, BufRead, ErrorKind, Read};

use crate::encode::{LONGEST_CELL, OVERLONG};

/// Reads a line without its newline, or a mark in the place of one that is longer than a cell. Says
/// whether a newline ended it; none at the end of the file.
pub(super) fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    line.clear();
    let mut any = false;
    loop {
        let input = match reader.fill_buf() {
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            input => input?,
        };
        if input.is_empty() {
            return Ok(any.then_some(false));
        }
        any = true;
        let end = input.iter().position(|&byte| byte == b'\n');
        let part = &input[..end.unwrap_or(input.len())];
        if line.len() + part.len() > LONGEST_CELL {
            line.clear();
            line.extend(OVERLONG);
        } else {
            line.extend(part);
        }
        let read = part.len() + usize::from(end.is_some());
        reader.consume(read);
        if end.is_some() {
            return Ok(Some(true));
        }
    }
}

/// Where in a line a byte stands, as the reader of records sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the start, or after a byte order mark.
    Start,
    /// After a carriage return: a newline belongs to it.
    Returned,
    Field,
    /// Between quotes, where a line has no end.
    Quoted,
    /// After a quote between quotes: the closing one, or half of a pair.
    Closing,
}

/// A text file in which the blank lines below a header of one field are spelled `""`.
pub(super) struct Lines {
    inner: Box<dyn Read>,
    separator: u8,
    place: Place,
    /// How many bytes were read, up to the length of a byte order mark.
    first: usize,
    in_header: bool,
    /// The header has several fields: nothing is to be done.
    several: bool,
    chunk: Vec<u8>,
    spelled: Vec<u8>,
    taken: usize,
}

const MARK: &[u8] = b"\xef\xbb\xbf";

impl Lines {
    pub(super) fn new(separator: u8, inner: Box<dyn Read>) -> Self {
        Self {
            inner,
            separator,
            place: Place::Start,
            first: 0,
            in_header: true,
            several: false,
            chunk: vec![0; 1 << 16],
            spelled: Vec::new(),
            taken: 0,
        }
    }

    /// Whether this is a table of one column, read to its end, whose last line has no newline.
    pub(super) fn lacks_newline(&self) -> bool {
        !self.several && !self.in_header && !matches!(self.place, Place::Start | Place::Returned)
    }

    /// Take in one byte of the file.
    fn push(&mut self, byte: u8) {
        let ends = matches!(byte, b'\n' | b'\r');
        let marks = MARK.get(self.first) == Some(&byte);
        self.first = if marks { self.first + 1 } else { MARK.len() };
        self.place = match self.place {
            Place::Returned if byte == b'\n' => Place::Start,
            Place::Quoted if byte == b'"' => Place::Closing,
            Place::Quoted => Place::Quoted,
            Place::Closing if byte == b'"' => Place::Quoted,
            place if ends => {
                let blank = matches!(place, Place::Start | Place::Returned);
                if blank && !self.in_header && !self.several {
                    self.spelled.extend(b"\"\"");
                }
                self.in_header &= blank;
                if byte == b'\r' { Place::Returned } else { Place::Start }
            }
            Place::Start | Place::Returned if marks => Place::Start,
            Place::Start | Place::Returned if byte == b'"' => Place::Quoted,
            _ => Place::Field,
        };
        self.several |= self.in_header && self.place == Place::Field && byte == self.separator;
        self.spelled.push(byte);
    }
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.spelled.len() {
            if self.several {
                return self.inner.read(buffer);
            }
            self.taken = 0;
            self.spelled.clear();
            let read = self.inner.read(&mut self.chunk)?;
            for at in 0..read {
                self.push(self.chunk[at]);
            }
        }
        let count = (&self.spelled[self.taken..]).read(buffer)?;
        self.taken += count;
        Ok(count)
    }
}
