//! Records of separated text, read through a buffer of bounded size.
//!
//! The content of a cell must decide neither whether a table can be read nor how much memory that
//! takes. So a field of more than [`LONGEST_CELL`] bytes, and what a row holds beyond
//! [`LONGEST_RECORD`], is replaced by a mark that is no number and no category while it is read.
//! Bytes need not be UTF-8. The remaining faults are of structure: a record with more or fewer
//! fields than the header, and a quote that the file does not close.

use std::io::{BufRead, BufReader, ErrorKind, Read};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::lines::Lines;
use super::source::read_error;
use crate::encode::{LONGEST_CELL, OVERLONG};
use crate::error::TableError;

/// The most bytes of a record that are kept, but for one for each field.
const LONGEST_RECORD: usize = 1 << 25;

/// By how much the buffer grows at least.
const CHUNK: usize = 1 << 16;

/// The most fields of a header.
const MOST_FIELDS: usize = 1 << 20;

/// Records of a text file, checked for structure.
pub(super) struct Records<'a> {
    file: &'a str,
    input: BufReader<Lines>,
    parser: Reader,
    /// The fields of the record at hand one after another, and room for more.
    text: Vec<u8>,
    /// How much of it is filled.
    filled: usize,
    /// Where each field ends, and room for more.
    ends: Vec<usize>,
    /// How many fields have ended.
    ended: usize,
    /// How many bytes of this record were replaced by marks: the parser counts them.
    dropped: usize,
    /// Whether the end of the file was met, and closed with a newline.
    closed: bool,
    /// How many fields each record has.
    fields: Option<usize>,
}

/// The fields of a record.
#[derive(Clone, Copy)]
pub(super) struct Record<'r> {
    text: &'r [u8],
    ends: &'r [usize],
}

impl<'r> Record<'r> {
    /// The field in this place, which must be below the number of the header's.
    pub(super) fn field(self, place: usize) -> &'r [u8] {
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.text[start..self.ends[place]]
    }

    pub(super) fn fields(self) -> impl Iterator<Item = &'r [u8]> {
        (0..self.ends.len()).map(move |place| self.field(place))
    }
}

impl<'a> Records<'a> {
    pub(super) fn new(file: &'a str, separator: u8, reader: Box<dyn Read>) -> Self {
        Self {
            file,
            input: BufReader::with_capacity(1 << 17, Lines::new(separator, reader)),
            parser: ReaderBuilder::new().delimiter(separator).build(),
            text: vec![0; CHUNK],
            filled: 0,
            ends: vec![0; 64],
            ended: 0,
            dropped: 0,
            closed: false,
            fields: None,
        }
    }

    /// The next record, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Record<'_>>, TableError> {
        (self.filled, self.ended, self.dropped) = (0, 0, 0);
        loop {
            let first = self.ended;
            match self.parse()? {
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok(None),
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.make_room(first),
                ReadRecordResult::OutputEndsFull => self.expect_fields()?,
            }
        }
        if *self.fields.get_or_insert(self.ended) != self.ended {
            return Err(self.ragged());
        }
        Ok(Some(Record { text: &self.text[..self.filled], ends: &self.ends[..self.ended] }))
    }

    /// Hands the parser what there is of the file. At its end a newline closes the last record;
    /// within quotes it would be a part of a field, and the quote is never closed.
    fn parse(&mut self) -> Result<ReadRecordResult, TableError> {
        while let Err(e) = self.input.fill_buf() {
            if e.kind() != ErrorKind::Interrupted {
                return Err(read_error(self.file, &e));
            }
        }
        let input = self.input.buffer();
        let at_end = input.is_empty();
        if at_end && self.input.get_ref().lacks_newline() {
            return Err(TableError::LacksNewline { file: self.file.to_owned() });
        }
        let input = if at_end && !self.closed { b"\n" } else { input };
        let (text, ends) = (&mut self.text[self.filled..], &mut self.ends[self.ended..]);
        let (result, read, filled, ended) = self.parser.read_record(input, text, ends);
        for end in &mut ends[..ended] {
            *end -= self.dropped;
        }
        self.filled += filled;
        self.ended += ended;
        if !at_end {
            self.input.consume(read);
        } else if read > 0 {
            self.closed = true;
            if filled > 0 {
                return Err(TableError::OpenQuote { file: self.file.to_owned() });
            }
        }
        Ok(result)
    }

    /// The buffer is full, with fields from number `first` on that have not been looked at.
    fn make_room(&mut self, first: usize) {
        let start = if self.ended == 0 { 0 } else { self.ends[self.ended - 1] };
        if self.filled > LONGEST_RECORD || self.filled - start > LONGEST_CELL {
            self.shorten(first);
        }
        if self.filled == self.text.len() {
            let more = self.filled.min(LONGEST_RECORD.saturating_sub(self.filled)).max(CHUNK);
            self.text.resize(self.filled + more, 0);
        }
    }

    /// Puts a mark in the place of what is too long, from field number `first` on.
    fn shorten(&mut self, first: usize) {
        let mut from = if first == 0 { 0 } else { self.ends[first - 1] };
        let mut to = from;
        for place in first..=self.ended {
            // The last one has not ended yet.
            let end = if place < self.ended { self.ends[place] } else { self.filled };
            let length = end - from;
            if length > LONGEST_CELL || (length > 0 && to + length > LONGEST_RECORD) {
                self.text[to] = OVERLONG[0];
                to += 1;
            } else {
                self.text.copy_within(from..end, to);
                to += length;
            }
            if place < self.ended {
                self.ends[place] = to;
            }
            from = end;
        }
        self.dropped += self.filled - to;
        self.filled = to;
    }

    /// There is no room for the end of another field.
    fn expect_fields(&mut self) -> Result<(), TableError> {
        if self.fields.is_some() {
            return Err(self.ragged());
        }
        if self.ends.len() > MOST_FIELDS {
            return Err(TableError::Corrupt {
                file: self.file.to_owned(),
                format: "CSV",
                why: "its header names more than 1048576 columns; store it as Parquet, NumPy or libsvm",
            });
        }
        self.ends.resize(2 * self.ends.len(), 0);
        Ok(())
    }

    /// The header's names without the blanks around them.
    pub(super) fn header(&mut self) -> Result<Vec<Vec<u8>>, TableError> {
        let file = self.file.to_owned();
        let Some(record) = self.next()? else { return Err(TableError::Empty { file }) };
        let first = record.field(0);
        if let Some(what) = looks_like(first) {
            return Err(TableError::OtherFormat { file, what });
        }
        let names: Vec<_> = record
            .fields()
            .map(|name| name.strip_prefix(b"\xef\xbb\xbf").unwrap_or(name).trim_ascii().to_vec())
            .collect();
        // Room for one field too many, which is a fault of structure.
        self.ends.resize(names.len() + 1, 0);
        Ok(names)
    }

    fn ragged(&self) -> TableError {
        TableError::Ragged { file: self.file.to_owned() }
    }
}

/// The kind of a file whose first bytes are not those of a header.
fn looks_like(first: &[u8]) -> Option<&'static str> {
    match first {
        [b'P', b'A', b'R', b'1', ..] => Some("a Parquet file: name it .parquet"),
        [b'A', b'R', b'R', b'O', b'W', b'1', 0, ..] => Some("an Arrow file: name it .arrow"),
        [b'P', b'K', 3, 4, ..] => Some("a workbook or a zip archive: name a workbook .xlsx"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16 text: save it as UTF-8"),
        _ => None,
    }
}
