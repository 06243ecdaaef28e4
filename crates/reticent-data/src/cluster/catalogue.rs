//! Which blocks there are: written down once, and held against every block that is computed on
//! later.
//!
//! A block that was lost with its machine is computed again from the table. If the table then gives
//! other rows (a random sample that is drawn again, a file that was written over), its digest
//! differs, and the run ends without a release.

use std::collections::BTreeMap;

use super::ClusterError;
use crate::wire::{Reader, Writer};

/// Bytes of a block's digest.
const DIGEST: usize = 16;

/// All blocks, by bucket and part.
pub struct Catalogue {
    entries: BTreeMap<(i64, i64), Entry>,
    records: usize,
}

/// A block as it was counted.
#[derive(Clone, Copy)]
pub struct Counted<'a> {
    /// Its bucket.
    pub bucket: i64,
    /// Which block of its bucket, from 0.
    pub part: i64,
    /// How many records it has.
    pub records: i64,
    /// 16 bytes that tell its contents.
    pub digest: &'a [u8],
}

/// The facts about a block.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// Its number.
    pub(super) block: u64,
    /// The number of its first record.
    pub(super) first: usize,
    /// How many records it has.
    pub(super) records: usize,
    pub(super) digest: [u8; DIGEST],
}

impl Catalogue {
    /// From the blocks that were counted, in any order.
    ///
    /// # Errors
    ///
    /// [`ClusterError`], if a part of a bucket is missing or comes twice.
    pub fn new<'a>(counted: impl IntoIterator<Item = Counted<'a>>) -> Result<Self, ClusterError> {
        let mut entries = BTreeMap::new();
        for Counted { bucket, part, records, digest } in counted {
            let unreadable = ClusterError::Unreadable("a block's digest");
            let digest = digest.try_into().map_err(|_| unreadable)?;
            let records =
                usize::try_from(records).map_err(|_| ClusterError::Unreadable("records"))?;
            let entry = Entry { block: 0, first: 0, records, digest };
            if entries.insert((bucket, part), entry).is_some() {
                return Err(ClusterError::Twice);
            }
        }
        Self::numbered(entries)
    }

    /// Numbers blocks and records in the order of buckets and parts.
    fn numbered(mut entries: BTreeMap<(i64, i64), Entry>) -> Result<Self, ClusterError> {
        let (mut records, mut before) = (0, None);
        for ((number, (&(bucket, part), entry)), block) in entries.iter_mut().enumerate().zip(0..) {
            let expected = match before {
                Some((same, part)) if same == bucket => part + 1,
                _ => 0,
            };
            if part != expected || number > u32::MAX as usize {
                return Err(ClusterError::Missing);
            }
            before = Some((bucket, part));
            (entry.block, entry.first) = (block, records);
            records += entry.records;
        }
        Ok(Self { entries, records })
    }

    /// How many records all blocks have.
    pub fn records(&self) -> usize {
        self.records
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn find(&self, bucket: i64, part: i64) -> Option<Entry> {
        self.entries.get(&(bucket, part)).copied()
    }

    /// The catalogue as bytes, for those who compute on blocks.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        for ((bucket, part), entry) in &self.entries {
            writer.whole(*bucket as u64);
            writer.whole(*part as u64);
            writer.whole(entry.records as u64);
            writer.bytes(&entry.digest);
        }
        writer.into_bytes()
    }

    /// The catalogue that [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    ///
    /// [`ClusterError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ClusterError> {
        let mut reader = Reader::new(bytes);
        let mut entries = BTreeMap::new();
        while !reader.is_at_end() {
            let mut one = || {
                let place = (reader.whole()? as i64, reader.whole()? as i64);
                let records = reader.count()?;
                let digest = reader.bytes()?.try_into().ok()?;
                Some((place, Entry { block: 0, first: 0, records, digest }))
            };
            let (place, entry) = one().ok_or(ClusterError::Unreadable("the catalogue"))?;
            if entries.insert(place, entry).is_some() {
                return Err(ClusterError::Twice);
            }
        }
        Self::numbered(entries)
    }
}
