//! The whole file checked: every value that can be computed is recomputed.

use serde::Serialize;

use super::book::{Book, Costs};
use super::record::{Cost, Entry, Record, Room};
use super::standing::Standing;
use super::{Ledger, store};
use crate::Error;

/// The result of a [`Ledger::check`] that passed.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// Records whose hash binds them to the one before.
    pub records: usize,
    /// Charges that were admitted again, each by the records before it.
    pub charges: usize,
    /// The last record's hash. Anyone who notes it elsewhere sees later whether records were
    /// removed.
    pub last_hash: String,
    /// The standing that follows from the records.
    pub standing: Standing,
}

/// How far an accountant of another version may differ.
const SLACK: f64 = 1e-6;

impl Ledger {
    /// Checks everything in the file that can be checked: the database's pages, the triggers that
    /// keep records from being altered, the chain of hashes, the order of what became of each
    /// charge, and that each charge fits by the records before it at the cost that is recorded. It
    /// cannot see that the file was put back to an older copy.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`] with the first thing that is wrong.
    pub fn check(&self) -> Result<Checked, Error> {
        store::check_structure(self.path())?;
        let contents = store::read(self.path())?;
        let book = self.book(&contents)?;
        for (i, record) in contents.records.iter().enumerate().skip(1) {
            let before = self.book_of(&contents.records[..i])?;
            follows(&before, record).map_err(|why| {
                self.refuse(&format!(
                    "record {} does not follow from those before it: {why}; restore a copy of the file, and charge again what came after that copy",
                    record.number
                ))
            })?;
        }
        Ok(Checked {
            records: contents.records.len(),
            charges: book.lines.len(),
            last_hash: contents.last().to_owned(),
            standing: Standing::of(&book)?,
        })
    }
}

/// Whether a record says what the accountant says.
fn follows(before: &Book, record: &Record) -> Result<(), String> {
    let at_least = |stated: f64, found: f64| stated >= found * (1.0 - SLACK);
    match &record.entry {
        Entry::Charged { item, cost, .. } => {
            let enough = match (cost, before.admit(item, &Costs::default())?) {
                (Cost::Planned, Cost::Planned) => true,
                (Cost::Gaussian { mu: stated, .. }, Cost::Gaussian { mu: found, .. })
                | (Cost::Basic { epsilon: stated, .. }, Cost::Basic { epsilon: found, .. }) => {
                    at_least(*stated, found)
                }
                _ => false,
            };
            if enough { Ok(()) } else { Err("it costs more than it says".to_owned()) }
        }
        Entry::Closed { room } => {
            let found = before.room_left_by_the_plan().map_err(|e| e.to_string())?;
            let small = match (room, found) {
                (Room::Gaussian { mu: stated, .. }, Room::Gaussian { mu: found, .. })
                | (Room::Basic { epsilon: stated, .. }, Room::Basic { epsilon: found, .. }) => {
                    at_least(found, *stated)
                }
                _ => false,
            };
            if small { Ok(()) } else { Err("less is left for later plans than it says".to_owned()) }
        }
        _ => Ok(()),
    }
}
