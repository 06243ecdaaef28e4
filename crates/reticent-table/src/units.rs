//! Units of a table in a file: which rows belong together, and a table of units that is larger than
//! memory.
//!
//! # Exact grouping
//!
//! A unit's rows may lie anywhere in the file. They are brought together by sorting (`Sorter`),
//! with little memory, however many rows or units there are:
//!
//! 1. the rows' numbers, by a digest of their unit (HMAC-SHA256 under a key that nobody keeps, so
//!    that no two units share one, and a temporary file names nobody). Each unit's rows then follow
//!    one another in the order of the table. They are read twice: once to count them, once to keep
//!    those at [`Units::kept`];
//! 2. the numbers of the kept rows with the first row of their unit, by the rows' order, so that
//!    they meet the encoded rows as the file is read;
//! 3. the encoded rows, by the first row of their unit and their own number.
//!
//! So units come in the order of their first rows, with the rows and in the order that
//! [`Rows::grouped`](reticent_data::Rows::grouped) gives them: a draw picks the same units as in
//! memory. They are written to one more temporary file, block by block, which each question reads.
//!
//! # Permitted disclosure
//!
//! The number of units, and whether the table can be read and the temporary files written, as of
//! any table. The number of rows is in no message.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use hmac::{Hmac, KeyInit, Mac};
use reticent_data::cluster::{Format, Packed, Packer, write_row};
use reticent_data::{Blocks, OracleError, Rows, Speed, Units, block_records, block_rows};
use reticent_problem::declaration::Layout;
use reticent_problem::feature_map::MapLaw;
use reticent_problem::{RowBounds, Unit};
use sha2::Sha256;

use crate::encode::Encoder;
use crate::sort::{Sorted, Sorter, temporary_file};
use crate::stream::{AMPLE_BYTES, Ahead, StreamError, allow_empty};
use crate::table::{self, TableError, TableFile, visit_cells};

/// Bytes that a sorter may hold where memory is scarce: while rows are sorted no block is computed
/// on, and there is room for two sorters in the place of the blocks.
const ROOM: usize = 4 << 20;

/// Bytes that a sorter may hold where memory is not.
const AMPLE_ROOM: usize = 256 << 20;

/// Bytes of a unit's digest.
const DIGEST: usize = 32;

/// The [key](Unit::key) of a cell. None also for one that is no text: such a row is a unit of its
/// own. A reader puts a byte that is no text in the place of long cells where its buffer is full,
/// which rows before decide; a long cell has no key in any case, so all of them are alike.
fn key(cell: &[u8]) -> Option<Cow<'_, str>> {
    Unit::key(std::str::from_utf8(cell).ok()?)
}

/// The key of each row; none for a row whose cell is empty, spells a missing value or cannot be
/// read, which is a unit of its own.
///
/// # Errors
///
/// About the structure of the file, never about a cell; and if memory does not hold the keys.
pub fn unit_keys(file: &TableFile, unit: &Unit) -> Result<Vec<Option<String>>, TableError> {
    let (mut keys, mut full) = (Vec::new(), false);
    visit_cells(file, std::slice::from_ref(&unit.column), &mut |cells| {
        let held = match cells.first().and_then(|cell| key(cell)) {
            None => Some(None),
            Some(text) => copied(&text).map(Some),
        };
        match held {
            Some(key) if keys.try_reserve(1).is_ok() => keys.push(key),
            _ => full = true,
        }
    })?;
    if full { Err(TableError::Memory { file: file.name() }) } else { Ok(keys) }
}

/// A text of its own; none if memory does not hold it.
fn copied(text: &str) -> Option<String> {
    let mut own = String::new();
    own.try_reserve_exact(text.len()).ok()?;
    own.push_str(text);
    Some(own)
}

/// How many units a table has: public where neighbours have as many. Keys that memory does not hold
/// are sorted in temporary files, and of a few megabytes on if memory is `bounded`.
///
/// # Errors
///
/// As [`unit_keys`], and if a temporary file cannot be written.
pub fn count_units(file: &TableFile, unit: &Unit, bounded: bool) -> Result<usize, StreamError> {
    let sorted = by_unit(file, unit, if bounded { ROOM } else { AMPLE_ROOM })?;
    let mut groups = Groups::new(&sorted.0)?;
    let mut units = 0;
    while groups.next()?.is_some() {
        units += 1;
    }
    Ok(units)
}

/// The rows' numbers, each behind its unit's digest, in this order; and how many rows there are.
fn by_unit(file: &TableFile, unit: &Unit, room: usize) -> Result<(Sorted, u64), StreamError> {
    let mut secret = [0_u8; 64];
    getrandom::fill(&mut secret)
        .map_err(|_| StreamError::Temporary { why: "there is no randomness".to_owned() })?;
    let keyed = Hmac::<Sha256>::new(&secret.into());
    let (mut sorter, mut rows, mut failed) = (Sorter::new(room), 0_u64, None);
    visit_cells(file, std::slice::from_ref(&unit.column), &mut |cells| {
        let mut mac = keyed.clone();
        if let Some(key) = cells.first().and_then(|cell| key(cell)) {
            mac.update(key.as_bytes());
        } else {
            // A text has no such byte.
            mac.update(&[0xff]);
            mac.update(&rows.to_be_bytes());
        }
        let digest = mac.finalize().into_bytes();
        if failed.is_none() {
            failed = sorter.push(&[&digest, &rows.to_be_bytes()]).err();
        }
        rows += 1;
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    Ok((sorter.finish()?, rows))
}

/// The number at the end of a record.
fn number(record: &[u8]) -> u64 {
    let (_, number) = record.split_at(record.len() - 8);
    u64::from_be_bytes(std::array::from_fn(|i| number[i]))
}

/// A unit: its first row, and how many it has.
struct Group {
    first: u64,
    rows: u64,
}

/// Counts the rows of unit after unit.
struct Groups<'a> {
    records: crate::sort::Records<'a>,
    next: Option<([u8; DIGEST], u64)>,
}

impl<'a> Groups<'a> {
    fn new(sorted: &'a Sorted) -> io::Result<Self> {
        let mut groups = Self { records: sorted.read()?, next: None };
        groups.next = groups.record()?;
        Ok(groups)
    }

    fn record(&mut self) -> io::Result<Option<([u8; DIGEST], u64)>> {
        let record = self.records.next()?;
        Ok(record.map(|record| (std::array::from_fn(|i| record[i]), number(record))))
    }

    fn next(&mut self) -> io::Result<Option<Group>> {
        let Some((digest, first)) = self.next else { return Ok(None) };
        let mut rows = 0;
        while let Some((same, _)) = self.next
            && same == digest
        {
            rows += 1;
            self.next = self.record()?;
        }
        Ok(Some(Group { first, rows }))
    }
}

/// The numbers of the rows that are kept, in order, each with its unit's first row.
fn kept(by_unit: &Sorted, unit: &Unit) -> Result<Sorted, StreamError> {
    let mut groups = Groups::new(by_unit)?;
    let mut rows = by_unit.read()?;
    let mut kept = Sorter::new(ROOM);
    while let Some(group) = groups.next()? {
        let count = usize::try_from(group.rows).unwrap_or(usize::MAX);
        let mut places = Units::kept(unit, count).peekable();
        for place in 0..count {
            let Some(record) = rows.next()? else { break };
            if places.next_if_eq(&place).is_some() {
                kept.push(&[&number(record).to_be_bytes(), &group.first.to_be_bytes()])?;
            }
        }
    }
    Ok(kept.finish()?)
}

/// The units of a file, in a temporary file of their own.
pub struct UnitBlocks {
    unit: Unit,
    format: Format,
    units: usize,
    file: Arc<File>,
    ahead: Ahead,
}

impl UnitBlocks {
    /// Reads the file twice and brings the rows of each unit together, with temporary files in the
    /// system's folder for such. `memory` is as for
    /// [`FileBlocks::open`](crate::stream::FileBlocks::open).
    ///
    /// # Errors
    ///
    /// [`StreamError`], never because of a cell.
    pub fn open(
        file: impl Into<TableFile>,
        layout: &Layout,
        unit: &Unit,
        map: Option<&MapLaw>,
        memory: usize,
        speed: Speed,
    ) -> Result<Self, StreamError> {
        let file = file.into().checked()?;
        let encoded = file.unchanged(|| {
            let (by_unit, rows) = by_unit(&file, unit, ROOM)?;
            let kept = kept(&by_unit, unit)?;
            drop(by_unit);
            encoded(&file, layout, &kept, rows, memory >= AMPLE_BYTES)
        })?;
        let format = Format::new(layout, Some(unit));
        let (units, file) = write_blocks(&encoded, layout, unit)?;
        let ahead = Ahead::new(layout, map, speed)?;
        Ok(Self { unit: unit.clone(), format, units, file: Arc::new(file), ahead })
    }
}

/// The kept rows with their features, by unit: the unit's first row, the row's number, the row.
fn encoded(
    file: &TableFile,
    layout: &Layout,
    kept: &Sorted,
    rows: u64,
    ample: bool,
) -> Result<Sorted, StreamError> {
    let encoder = Encoder::new(layout);
    let mut kept = kept.read()?;
    let mut wanted = kept.next()?.map(<[u8]>::to_vec);
    let (mut sorter, mut bytes, mut seen) = (Sorter::new(ROOM), Vec::new(), 0_u64);
    let mut write = |block: &Rows| -> io::Result<()> {
        for i in 0..block.len() {
            if let Some(record) = &wanted
                && record[..8] == seen.to_be_bytes()
            {
                bytes.clear();
                write_row(block, i, &mut bytes);
                sorter.push(&[&record[8..], &record[..8], &bytes])?;
                wanted = kept.next()?.map(<[u8]>::to_vec);
            }
            seen += 1;
        }
        Ok(())
    };
    let mut failed = None;
    let block = block_rows(layout.dimension());
    allow_empty(table::read_blocks(
        file,
        &encoder,
        block,
        ample,
        &mut |block| match write(&block) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        },
    ))?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    if seen != rows {
        return Err(TableError::Changed { file: file.name() }.into());
    }
    Ok(sorter.finish()?)
}

/// Writes the rows to a temporary file in blocks of whole units; how many units there are.
fn write_blocks(
    encoded: &Sorted,
    layout: &Layout,
    unit: &Unit,
) -> Result<(usize, File), StreamError> {
    let mut out = BufWriter::new(temporary_file()?);
    let format = Format::new(layout, Some(unit));
    let mut packer = Packer::new(format, block_records(layout.dimension(), Some(unit)));
    let mut units = 0;
    let mut write = |block: Option<Packed>| -> io::Result<()> {
        let Some(block) = block else { return Ok(()) };
        units += block.records;
        out.write_all(&(block.bytes.len() as u64).to_le_bytes())?;
        out.write_all(&block.bytes)
    };
    let mut records = encoded.read()?;
    while let Some(record) = records.next()? {
        let (unit, row) = (&record[..8], &record[16..]);
        let done = packer.push(0, Some(unit), row);
        write(done.map_err(|_| StreamError::Temporary { why: LOST.to_owned() })?)?;
    }
    write(packer.finish())?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok((units, file))
}

/// The message for bytes that differ from those written.
const LOST: &str = "what was written there cannot be read";

impl UnitBlocks {
    /// Sends the blocks from the first on, as long as they are wanted.
    fn send(&self, end: usize, to: &SyncSender<Rows>) -> Result<(), OracleError> {
        let lost = |_: io::Error| OracleError::Unread { why: LOST.to_owned() };
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(0)).map_err(lost)?;
        let (mut file, mut bytes, mut seen) = (BufReader::new(file), Vec::new(), 0);
        while seen < end.min(self.units) {
            let mut length = [0; 8];
            file.read_exact(&mut length).map_err(lost)?;
            bytes.resize(u64::from_le_bytes(length) as usize, 0);
            file.read_exact(&mut bytes).map_err(lost)?;
            let rows = self.format.unpack(&bytes);
            let rows = rows.ok_or_else(|| OracleError::Unread { why: LOST.to_owned() })?;
            seen += rows.records();
            if to.send(rows).is_err() {
                break;
            }
        }
        Ok(())
    }
}

impl Blocks for UnitBlocks {
    fn rows(&self) -> usize {
        self.units
    }

    fn unit(&self) -> Option<&Unit> {
        Some(&self.unit)
    }

    fn weighted(&self) -> bool {
        self.format.is_weighted()
    }

    fn features(&self) -> usize {
        self.ahead.columns
    }

    fn bounds(&self) -> RowBounds {
        self.ahead.bounds
    }

    fn each(
        &self,
        range: Range<usize>,
        work: &mut (dyn FnMut(usize, &Rows) + Send),
    ) -> Result<(), OracleError> {
        let mut seen = 0;
        let sent = self.ahead.run(
            |to| self.send(range.end, &to),
            |rows| {
                work(seen, rows);
                seen += rows.records();
            },
        );
        sent.unwrap_or_else(|| Err(OracleError::Unread { why: LOST.to_owned() }))
    }

    fn on_threads(&self, work: &mut (dyn FnMut() + Send)) {
        self.ahead.on_threads(work);
    }
}
