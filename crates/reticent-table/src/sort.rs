//! Sorting records that memory does not hold.
//!
//! A record is a string of bytes, and records are put in the order of their bytes. As many as there
//! is room for are sorted in memory; each such run goes to a temporary file, and runs are merged
//! when they are read.
//!
//! # Temporary files
//!
//! They hold what the table holds. None has a name: it is removed as it is made, so that nothing
//! is left when the process ends, in whatever way, and nobody else can open it. Its mode is 0600.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;

/// Runs that are merged at a time: more are merged to longer ones first.
const MOST_RUNS: usize = 64;

/// Bytes that are read of a run at a time.
const READ_BYTES: usize = 1 << 15;

/// A new temporary file without a name, for the owner alone.
pub(crate) fn temporary_file() -> io::Result<File> {
    let file = tempfile::tempfile()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Records as they come.
pub(crate) struct Sorter {
    /// Bytes that may be held.
    room: usize,
    buffer: Buffer,
    runs: Vec<Region>,
    /// The file of the runs, and where the next one begins.
    file: Option<(Arc<File>, u64)>,
}

/// Records in memory.
#[derive(Default)]
struct Buffer {
    /// Each behind its length.
    bytes: Vec<u8>,
    /// Where they begin.
    places: Vec<usize>,
}

/// A part of a temporary file.
#[derive(Clone)]
struct Region {
    file: Arc<File>,
    range: Range<u64>,
}

/// Records in order, which may be read several times.
pub(crate) struct Sorted {
    buffer: Buffer,
    runs: Vec<Region>,
}

/// One reading of all records.
pub(crate) enum Records<'a> {
    Memory(std::slice::Iter<'a, usize>, &'a [u8]),
    Merged { heads: BinaryHeap<Reverse<RunHead>>, current: Option<RunHead> },
}

/// The next record of a run.
pub(crate) struct RunHead {
    record: Vec<u8>,
    rest: BufReader<Region>,
}

impl Buffer {
    fn record(bytes: &[u8], place: usize) -> &[u8] {
        let (length, rest) = bytes[place..].split_at(4);
        &rest[..u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize]
    }

    fn push(&mut self, parts: &[&[u8]]) {
        self.places.push(self.bytes.len());
        let length: usize = parts.iter().map(|part| part.len()).sum();
        self.bytes.extend((length as u32).to_le_bytes());
        for part in parts {
            self.bytes.extend(*part);
        }
    }

    fn sort(&mut self) {
        let Self { bytes, places } = self;
        places.sort_unstable_by_key(|&place| Self::record(bytes, place));
    }

    fn held(&self) -> usize {
        self.bytes.len() + size_of::<usize>() * self.places.len()
    }
}

impl Sorter {
    /// With room for so many bytes in memory.
    pub(crate) fn new(room: usize) -> Self {
        Self { room, buffer: Buffer::default(), runs: Vec::new(), file: None }
    }

    /// Takes a record, given by its parts.
    pub(crate) fn push(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        self.buffer.push(parts);
        if self.buffer.held() > self.room { self.write_run() } else { Ok(()) }
    }

    /// The records in order.
    pub(crate) fn finish(mut self) -> io::Result<Sorted> {
        if self.runs.is_empty() {
            self.buffer.sort();
            return Ok(Sorted { buffer: self.buffer, runs: Vec::new() });
        }
        self.write_run()?;
        let mut runs = self.runs;
        while runs.len() > MOST_RUNS {
            let (file, mut start) = (Arc::new(temporary_file()?), 0);
            let mut longer = Vec::new();
            for some in runs.chunks(MOST_RUNS) {
                let mut out = BufWriter::new(&*file);
                let mut records = merged(some)?;
                let mut end = start;
                while let Some(record) = records.next()? {
                    end += write_record(&mut out, record)?;
                }
                out.flush()?;
                drop(out);
                longer.push(Region { file: Arc::clone(&file), range: start..end });
                start = end;
            }
            runs = longer;
        }
        Ok(Sorted { buffer: Buffer::default(), runs })
    }

    /// Sorts what is in memory and writes it away.
    fn write_run(&mut self) -> io::Result<()> {
        self.buffer.sort();
        let (file, start) = match self.file.take() {
            Some(known) => known,
            None => (Arc::new(temporary_file()?), 0),
        };
        let mut end = start;
        let mut out = BufWriter::new(&*file);
        for &place in &self.buffer.places {
            end += write_record(&mut out, Buffer::record(&self.buffer.bytes, place))?;
        }
        out.flush()?;
        drop(out);
        self.buffer.bytes.clear();
        self.buffer.places.clear();
        self.runs.push(Region { file: Arc::clone(&file), range: start..end });
        self.file = Some((file, end));
        Ok(())
    }
}

/// Writes a record behind its length; how many bytes that is.
fn write_record(out: &mut impl Write, record: &[u8]) -> io::Result<u64> {
    out.write_all(&(record.len() as u32).to_le_bytes())?;
    out.write_all(record)?;
    Ok(4 + record.len() as u64)
}

impl Sorted {
    /// Reads the records from the first on.
    pub(crate) fn read(&self) -> io::Result<Records<'_>> {
        if self.runs.is_empty() {
            return Ok(Records::Memory(self.buffer.places.iter(), &self.buffer.bytes));
        }
        merged(&self.runs)
    }
}

/// The records of some runs in order.
fn merged<'a>(runs: &[Region]) -> io::Result<Records<'a>> {
    let mut heads = BinaryHeap::with_capacity(runs.len());
    for run in runs {
        let rest = BufReader::with_capacity(READ_BYTES, run.clone());
        let mut head = RunHead { record: Vec::new(), rest };
        if head.advance()? {
            heads.push(Reverse(head));
        }
    }
    Ok(Records::Merged { heads, current: None })
}

impl Records<'_> {
    /// The next record, or none at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        match self {
            Self::Memory(places, bytes) => {
                Ok(places.next().map(|&place| Buffer::record(bytes, place)))
            }
            Self::Merged { heads, current } => {
                if let Some(mut head) = current.take()
                    && head.advance()?
                {
                    heads.push(Reverse(head));
                }
                *current = heads.pop().map(|head| head.0);
                Ok(current.as_ref().map(|head| &head.record[..]))
            }
        }
    }
}

impl RunHead {
    /// Reads the next record of the run; false at its end.
    fn advance(&mut self) -> io::Result<bool> {
        let mut length = [0; 4];
        if self.rest.buffer().is_empty() && self.rest.get_ref().range.is_empty() {
            return Ok(false);
        }
        self.rest.read_exact(&mut length)?;
        self.record.resize(u32::from_le_bytes(length) as usize, 0);
        self.rest.read_exact(&mut self.record)?;
        Ok(true)
    }
}

impl Read for Region {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.range.end - self.range.start).unwrap_or(usize::MAX);
        let wanted = into.len().min(left);
        if wanted == 0 {
            return Ok(0);
        }
        // All regions of a file share its place.
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(self.range.start))?;
        let got = file.read(&mut into[..wanted])?;
        self.range.start += got as u64;
        Ok(got)
    }
}

impl PartialEq for RunHead {
    fn eq(&self, other: &Self) -> bool {
        self.record == other.record
    }
}

impl Eq for RunHead {}

impl PartialOrd for RunHead {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RunHead {
    fn cmp(&self, other: &Self) -> Ordering {
        self.record.cmp(&other.record)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn sorted(records: &[Vec<u8>], room: usize) -> (usize, Sorted) {
        let mut sorter = Sorter::new(room);
        for record in records {
            let (first, second) = record.split_at(record.len() / 2);
            sorter.push(&[first, second]).unwrap();
        }
        let runs = sorter.runs.len();
        (runs, sorter.finish().unwrap())
    }

    fn all(sorted: &Sorted) -> Vec<Vec<u8>> {
        let (mut records, mut list) = (sorted.read().unwrap(), Vec::new());
        while let Some(record) = records.next().unwrap() {
            list.push(record.to_vec());
        }
        list
    }

    #[test]
    fn records_come_in_order_whatever_the_room() {
        let number = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
        let records: Vec<Vec<u8>> = (0..5000)
            .map(|i| number(i).to_be_bytes().repeat(3)[..(i % 23) as usize].to_vec())
            .collect();
        let mut expected = records.clone();
        expected.sort();
        for (room, least, most) in [(usize::MAX, 0, 0), (20_000, 3, 20), (600, 65, 5000)] {
            let (runs, sorted) = sorted(&records, room);
            assert!((least..=most).contains(&runs), "{room}: {runs} runs");
            assert!(sorted.runs.len() <= MOST_RUNS);
            assert!(all(&sorted) == expected, "{room}");
            assert!(all(&sorted) == expected, "a second reading, {room}");
        }
        assert!(all(&self::sorted(&[], 10).1).is_empty());
    }
}
