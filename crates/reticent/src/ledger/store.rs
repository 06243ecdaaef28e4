//! The SQLite file: one table of records, and a key that never leaves it.
//!
//! A write takes the lock first (`BEGIN IMMEDIATE`), reads all records, decides, and adds its own, so two processes cannot
//! both spend the last of a budget. `synchronous = EXTRA` puts the records and the folder's entry on the disk before a
//! charge counts as made; a process killed in between leaves a journal that the next one rolls back.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, params};
use tempfile::NamedTempFile;

use super::record::{Entry, Record, TUNE, link};
use crate::Error;

/// Marks the file in its header.
const APPLICATION: i32 = 0x5245_5449;

/// The layout of the file.
const VERSION: i32 = 1;

/// How long a process waits for others.
const PATIENCE: Duration = Duration::from_secs(120);

const TABLES: &str = "
CREATE TABLE secret (key BLOB NOT NULL);
CREATE TABLE records (number INTEGER PRIMARY KEY, time TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TRIGGER keep_records BEFORE UPDATE ON records BEGIN SELECT RAISE(ABORT, 'records are only added'); END;
CREATE TRIGGER keep_all_records BEFORE DELETE ON records BEGIN SELECT RAISE(ABORT, 'records are only added'); END;";

/// What a file holds.
pub(super) struct Contents {
    pub(super) key: Vec<u8>,
    pub(super) records: Vec<Record>,
}

/// A refusal to use the file.
fn unusable(path: &Path, why: impl Into<String>) -> Error {
    Error::Ledger { file: path.display().to_string(), why: why.into() }
}

fn of_sqlite(path: &Path, error: &rusqlite::Error) -> Error {
    let why = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            "it is not a ledger, or it is damaged; make one with `reticent ledger init`".to_owned()
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process held it for two minutes; try again when that has ended".to_owned()
        }
        Some(ErrorCode::CannotOpen) => {
            "it cannot be opened; make it with `reticent ledger init`, or check the path".to_owned()
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            "it cannot be written, and what is not written down cannot be spent; check its permissions"
                .to_owned()
        }
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => {
            "the disk refused to write it; make room and try again".to_owned()
        }
        _ => "it does not have the tables of a ledger; make one with `reticent ledger init`".to_owned(),
    };
    unusable(path, why)
}

/// Writes a new file with a first entry.
pub(super) fn create(path: &Path, key: &[u8], first: &Entry) -> Result<(), Error> {
    if path.exists() {
        return Err(unusable(path, "it exists; a ledger is never written over, name another file"));
    }
    let cannot_write = |e: &std::io::Error| Error::File {
        verb: "write",
        file: path.display().to_string(),
        why: e.to_string(),
    };
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = NamedTempFile::new_in(folder).map_err(|e| cannot_write(&e))?;
    let written = (|| {
        let mut connection = Connection::open(file.path())?;
        connection.pragma_update(None, "synchronous", "EXTRA")?;
        connection.pragma_update(None, "application_id", APPLICATION)?;
        connection.pragma_update(None, "user_version", VERSION)?;
        let transaction = connection.transaction()?;
        transaction.execute_batch(TABLES)?;
        transaction.execute("INSERT INTO secret VALUES (?1)", [key])?;
        append(&transaction, &[], first)?;
        transaction.commit()
    })();
    written.map_err(|e| of_sqlite(path, &e))?;
    file.persist_noclobber(path).map_err(|e| cannot_write(&e.error))?;
    if let Ok(folder) = fs::File::open(folder) {
        _ = folder.sync_all(); // not every system can
    }
    Ok(())
}

fn connect(path: &Path) -> Result<Connection, Error> {
    let open = || {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "synchronous", "EXTRA")?;
        // A file from elsewhere may bring tables that are not what they seem.
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        let mark: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let version: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        Ok((connection, mark, version))
    };
    let (connection, mark, version) = open().map_err(|e| of_sqlite(path, &e))?;
    if mark != APPLICATION {
        return Err(unusable(path, "it is not a ledger; make one with `reticent ledger init`"));
    }
    if version != VERSION {
        return Err(unusable(path, "another version wrote it; go on with that one"));
    }
    Ok(connection)
}

/// The records of a file, in order and unaltered.
pub(super) fn read(path: &Path) -> Result<Contents, Error> {
    contents(path, &connect(path)?)
}

/// Decides on entries to add from what is there, with the file locked, and adds them; whatever `decide` returns comes back.
pub(super) fn update<T>(
    path: &Path,
    decide: impl FnOnce(&Contents) -> Result<(Vec<Entry>, T), Error>,
) -> Result<T, Error> {
    let mut connection = connect(path)?;
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|e| of_sqlite(path, &e))?;
    let mut contents = contents(path, &transaction)?;
    let (entries, result) = decide(&contents)?;
    for entry in entries {
        // Whoever leaves a record that cannot be read leaves a file that cannot be used.
        if !can_be_read(&entry) {
            return Err(unusable(
                path,
                "a number that was to be written is not finite, so nothing was; ask for less, or for another algorithm",
            ));
        }
        let record =
            append(&transaction, &contents.records, &entry).map_err(|e| of_sqlite(path, &e))?;
        contents.records.push(record);
    }
    transaction.commit().map_err(|e| of_sqlite(path, &e))?;
    Ok(result)
}

/// Whether an entry comes back from its own text: a number that is not finite does not.
fn can_be_read(entry: &Entry) -> bool {
    serde_json::to_string(entry).is_ok_and(|body| serde_json::from_str::<Entry>(&body).is_ok())
}

fn append(
    connection: &Connection,
    before: &[Record],
    entry: &Entry,
) -> Result<Record, rusqlite::Error> {
    let time: String = match began(before, entry) {
        Some(time) => time,
        None => connection
            .query_row("SELECT strftime('%Y-%m-%dT%H:%M:%SZ', 'now')", [], |r| r.get(0))?,
    };
    let body = serde_json::to_string(entry)
        .map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
    let number = before.len() as u64 + 1;
    let hash = link(before.last().map_or("", |r| &r.hash), number, &time, &body);
    connection.execute(
        "INSERT INTO records VALUES (?1, ?2, ?3, ?4)",
        params![number as i64, time, body, hash],
    )?;
    Ok(Record { number, time, entry: entry.clone(), hash })
}

/// When the choice among several plans began whose release this is: how long it took would tell how many runs there were.
fn began(before: &[Record], entry: &Entry) -> Option<String> {
    let Entry::Released { charge: released, .. } = entry else { return None };
    let tuned = |record: &&Record| matches!(&record.entry, Entry::Charged { charge, item, .. } if charge == released && item.label == TUNE);
    before.iter().find(tuned)?;
    let begun = |r: &&Record| matches!(&r.entry, Entry::Begun { charge } if charge == released);
    before.iter().rev().find(begun).map(|record| record.time.clone())
}

fn contents(path: &Path, connection: &Connection) -> Result<Contents, Error> {
    type Row = (i64, String, String, String);
    let rows = || -> Result<(Vec<u8>, Vec<Row>), rusqlite::Error> {
        let key = connection.query_row("SELECT key FROM secret", [], |row| row.get(0))?;
        let mut query =
            connection.prepare("SELECT number, time, body, hash FROM records ORDER BY number")?;
        let rows: Result<Vec<Row>, _> =
            query.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))?.collect();
        Ok((key, rows?))
    };
    let (key, rows) = rows().map_err(|e| of_sqlite(path, &e))?;
    let mut records: Vec<Record> = Vec::with_capacity(rows.len());
    for (number, time, body, hash) in rows {
        let place = records.len() as u64 + 1;
        let expected = link(records.last().map_or("", |r| &r.hash), place, &time, &body);
        if number != place as i64 || hash != expected {
            return Err(unusable(
                path,
                format!(
                    "record {place} is not as it was written; go back to a copy of the file, and charge again what came after it"
                ),
            ));
        }
        let entry = serde_json::from_str(&body).map_err(|_| {
            unusable(path, format!("record {place} is of another version; go on with that one"))
        })?;
        records.push(Record { number: place, time, entry, hash });
    }
    Ok(Contents { key, records })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails
mod tests {
    use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};

    use super::*;
    use crate::ledger::{Filter, Room};

    #[test]
    fn a_number_that_cannot_be_read_again_is_never_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.ledger");
        let budget = Budget {
            epsilon: Epsilon::new(1.0).unwrap(),
            delta: Delta::ZERO,
            adjacency: Adjacency::ReplaceOne,
        };
        let (ledger, software) = ("name".to_owned(), "this".to_owned());
        let filter = Filter::Basic;
        create(&path, &[0; 32], &Entry::Opened { ledger, budget, filter, software }).unwrap();
        let closed = |epsilon| Entry::Closed { room: Room::Basic { epsilon, leak: 0.0 } };
        for number in [f64::INFINITY, f64::NAN] {
            // What comes with it is not written either.
            let entries = vec![closed(0.5), closed(number)];
            assert!(update(&path, |_| Ok((entries, ()))).is_err());
            assert_eq!(read(&path).unwrap().records.len(), 1);
        }
        update(&path, |_| Ok((vec![closed(0.5)], ()))).unwrap();
        assert_eq!(read(&path).unwrap().records.len(), 2);
    }
}
