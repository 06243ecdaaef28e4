//! The SQLite file: one table of records, and a key that never leaves it.
//!
//! A write takes the lock (`BEGIN IMMEDIATE`), reads all records, and adds its own if what was
//! decided follows from these, so two processes cannot both spend the last of a budget.
//! `synchronous = EXTRA` puts the records and the folder's entry on the disk before a charge counts
//! as made; a process killed in between leaves a journal that the next one rolls back.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, params};

use super::record::{Entry, Record, TUNE, link};
use crate::Error;
use crate::files::{self, cannot_write};

/// Marks the file in its header.
const APPLICATION: i32 = 0x5245_5449;

/// The layout of the file.
const VERSION: i32 = 2;

/// How long a process waits for others.
const PATIENCE: Duration = Duration::from_secs(120);

const TABLES: &str = "
CREATE TABLE secret (key BLOB NOT NULL);
CREATE TABLE records (number INTEGER PRIMARY KEY, time TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE kept (charge INTEGER PRIMARY KEY, model TEXT NOT NULL);
CREATE TABLE steps (charge INTEGER PRIMARY KEY, step INTEGER NOT NULL);";

/// Records are only added.
const TRIGGERS: [(&str, &str); 2] = [
    (
        "keep_all_records",
        "CREATE TRIGGER keep_all_records BEFORE DELETE ON records BEGIN SELECT RAISE(ABORT, 'records are only added'); END",
    ),
    (
        "keep_records",
        "CREATE TRIGGER keep_records BEFORE UPDATE ON records BEGIN SELECT RAISE(ABORT, 'records are only added'); END",
    ),
];

/// The way back from a file that is not as it was written. A new ledger is no way: it would allow
/// again what is spent.
const RESTORE: &str = "restore a copy of the file, and charge again what came after that copy";

/// The contents of a ledger file.
pub(super) struct Contents {
    pub(super) key: Vec<u8>,
    pub(super) records: Vec<Record>,
}

impl Contents {
    /// The last record's hash: it is another after any change.
    pub(super) fn last(&self) -> &str {
        self.records.last().map_or("", |record| &record.hash)
    }
}

/// Whether a file that starts like this is a ledger.
pub(crate) fn is_header(start: &[u8]) -> bool {
    start.starts_with(b"SQLite format 3\0")
        && start.get(68..72) == Some(APPLICATION.to_be_bytes().as_slice())
}

/// A refusal to use the file.
fn unusable(path: &Path, why: impl Into<String>) -> Error {
    Error::Ledger { file: path.display().to_string(), why: why.into() }
}

fn not_a_ledger(path: &Path) -> Error {
    unusable(
        path,
        format!("it is not a ledger, or it is damaged; name the right file, or {RESTORE}"),
    )
}

fn of_sqlite(path: &Path, error: &rusqlite::Error) -> Error {
    use rusqlite::ffi;
    let extended = error.sqlite_error().map_or(0, |e| e.extended_code);
    let why = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => return not_a_ledger(path),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process held it for two minutes; try again when that has ended".to_owned()
        }
        Some(ErrorCode::CannotOpen) if !path.exists() => {
            "it is not there; check the path, or make it with `reticent ledger init`".to_owned()
        }
        Some(ErrorCode::CannotOpen) => "it cannot be opened; check its permissions".to_owned(),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            "it cannot be written, and what is not written down cannot be spent; check its permissions"
                .to_owned()
        }
        Some(ErrorCode::DiskFull) => "the disk is full; make room and try again".to_owned(),
        Some(ErrorCode::SystemIoFailure) => match extended {
            ffi::SQLITE_IOERR_WRITE
            | ffi::SQLITE_IOERR_FSYNC
            | ffi::SQLITE_IOERR_DIR_FSYNC
            | ffi::SQLITE_IOERR_TRUNCATE
            | ffi::SQLITE_IOERR_DELETE => {
                "the disk refused to write it; make room and try again".to_owned()
            }
            _ => format!("the disk refused to read it; try again, and if it stays so, {RESTORE}"),
        },
        _ => format!("it does not have the tables of a ledger; name the right file, or {RESTORE}"),
    };
    unusable(path, why)
}

/// Writes a new file with a first entry.
pub(super) fn create(path: &Path, key: &[u8], first: &Entry) -> Result<(), Error> {
    if path.symlink_metadata().is_ok() {
        return Err(unusable(path, "it exists; a ledger is never written over, name another file"));
    }
    let file = files::temporary(files::folder(path)).map_err(|e| cannot_write(path, &e))?;
    let written = (|| {
        let mut connection = Connection::open(file.path())?;
        connection.pragma_update(None, "synchronous", "EXTRA")?;
        connection.pragma_update(None, "application_id", APPLICATION)?;
        connection.pragma_update(None, "user_version", VERSION)?;
        let transaction = connection.transaction()?;
        transaction.execute_batch(TABLES)?;
        for (_, trigger) in TRIGGERS {
            transaction.execute_batch(trigger)?;
        }
        transaction.execute("INSERT INTO secret VALUES (?1)", [key])?;
        append(&transaction, &[], first)?;
        transaction.commit()
    })();
    written.map_err(|e| of_sqlite(path, &e))?;
    file.persist_noclobber(path).map_err(|e| cannot_write(path, &e.error))?;
    files::sync_folder(path);
    Ok(())
}

fn connect(path: &Path) -> Result<Connection, Error> {
    let open = || {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "synchronous", "EXTRA")?;
        // A model that is kept no longer is overwritten.
        connection.pragma_update(None, "secure_delete", true)?;
        // A file from elsewhere may bring tables that are not what they seem.
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        let mark: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let version: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        Ok((connection, mark, version))
    };
    let (connection, mark, version) = open().map_err(|e| of_sqlite(path, &e))?;
    if mark != APPLICATION {
        return Err(not_a_ledger(path));
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

/// Decides on entries to add from the current contents, with the file locked, and adds them;
/// returns the value of `decide`. Everybody else waits, so `decide` must be quick.
pub(super) fn update<T>(
    path: &Path,
    decide: impl FnOnce(&Contents) -> Result<(Vec<Entry>, T), Error>,
) -> Result<T, Error> {
    locked(path, |transaction, mut contents| {
        let (entries, result) = decide(&contents)?;
        add(path, transaction, &mut contents, entries)?;
        Ok(result)
    })
}

/// Adds entries if the last record's hash still is `last`; whether it was.
pub(super) fn add_after(path: &Path, last: &str, entries: Vec<Entry>) -> Result<bool, Error> {
    locked(path, |transaction, mut contents| {
        let unchanged = contents.last() == last;
        if unchanged {
            add(path, transaction, &mut contents, entries)?;
        }
        Ok(unchanged)
    })
}

/// [`update`] that also keeps the text of the model which `charge` has paid for.
pub(super) fn keep_model(
    path: &Path,
    charge: u64,
    text: &str,
    decide: impl FnOnce(&Contents) -> Result<Vec<Entry>, Error>,
) -> Result<(), Error> {
    locked(path, |transaction, mut contents| {
        let entries = decide(&contents)?;
        add(path, transaction, &mut contents, entries)?;
        let keep = "INSERT OR REPLACE INTO kept VALUES (?1, ?2)";
        let kept = transaction.execute(keep, params![charge as i64, text]);
        kept.map(drop).map_err(|e| of_sqlite(path, &e))
    })
}

/// Forgets the text of a model that is saved elsewhere.
pub(super) fn forget_model(path: &Path, charge: u64) -> Result<(), Error> {
    let connection = connect(path)?;
    let forgotten = connection.execute("DELETE FROM kept WHERE charge = ?1", [charge as i64]);
    forgotten.map(drop).map_err(|e| of_sqlite(path, &e))
}

/// Notes how far the run of a charge is kept.
pub(super) fn note_step(path: &Path, charge: u64, step: u64) -> Result<(), Error> {
    let noted = connect(path)?.execute(
        "INSERT INTO steps VALUES (?1, ?2) ON CONFLICT (charge) DO UPDATE SET step = max(step, ?2)",
        [charge as i64, step as i64],
    );
    noted.map(drop).map_err(|e| of_sqlite(path, &e))
}

/// How far the run of a charge is kept, as far as that was noted.
pub(super) fn noted_step(path: &Path, charge: u64) -> Result<u64, Error> {
    let find = "SELECT coalesce(max(step), 0) FROM steps WHERE charge = ?1";
    let step = connect(path)?.query_row(find, [charge as i64], |row| row.get::<_, i64>(0));
    Ok(step.map_err(|e| of_sqlite(path, &e))?.try_into().unwrap_or(u64::MAX))
}

/// The charges whose models are kept.
pub(super) fn kept_models(path: &Path) -> Result<Vec<u64>, Error> {
    let connection = connect(path)?;
    let charges = || -> Result<Vec<i64>, rusqlite::Error> {
        let mut query = connection.prepare("SELECT charge FROM kept ORDER BY charge")?;
        query.query_map([], |row| row.get(0))?.collect()
    };
    let charges = charges().map_err(|e| of_sqlite(path, &e))?;
    Ok(charges.into_iter().filter_map(|charge| charge.try_into().ok()).collect())
}

/// The text of the model that is kept for a charge.
pub(super) fn kept_model(path: &Path, charge: u64) -> Result<String, Error> {
    let text = connect(path)?.query_row(
        "SELECT model FROM kept WHERE charge = ?1",
        [charge as i64],
        |row| row.get(0),
    );
    text.map_err(|e| match e {
        rusqlite::Error::QueryReturnedNoRows => unusable(
            path,
            format!(
                "it keeps no model of charge {charge}; `reticent ledger show` says which it keeps"
            ),
        ),
        other => of_sqlite(path, &other),
    })
}

/// Whether the file's pages hold together, and whether the triggers are there that keep records
/// from being altered.
pub(super) fn check_structure(path: &Path) -> Result<(), Error> {
    let connection = connect(path)?;
    let found = || -> Result<(String, Vec<(String, String)>), rusqlite::Error> {
        let pages = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        let mut query = connection
            .prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name")?;
        let triggers =
            query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        Ok((pages, triggers))
    };
    let (pages, triggers) = found().map_err(|e| of_sqlite(path, &e))?;
    if pages != "ok" {
        return Err(unusable(path, format!("its pages do not hold together; {RESTORE}")));
    }
    let expected = TRIGGERS.map(|(name, sql)| (name.to_owned(), sql.to_owned()));
    if triggers != expected {
        return Err(unusable(
            path,
            format!(
                "the triggers that keep its records from being altered or removed are not there; {RESTORE}"
            ),
        ));
    }
    Ok(())
}

/// Works on the records with the file locked, and commits.
fn locked<T>(
    path: &Path,
    work: impl FnOnce(&Connection, Contents) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut connection = connect(path)?;
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|e| of_sqlite(path, &e))?;
    let contents = contents(path, &transaction)?;
    let result = work(&transaction, contents)?;
    transaction.commit().map_err(|e| of_sqlite(path, &e))?;
    Ok(result)
}

fn add(
    path: &Path,
    connection: &Connection,
    contents: &mut Contents,
    entries: Vec<Entry>,
) -> Result<(), Error> {
    for entry in entries {
        // Anyone who leaves a record that cannot be read leaves a file that cannot be used.
        if !can_be_read(&entry) {
            return Err(unusable(
                path,
                "a number that was to be written is not finite, so nothing was; ask for less, or for another algorithm",
            ));
        }
        let record =
            append(connection, &contents.records, &entry).map_err(|e| of_sqlite(path, &e))?;
        contents.records.push(record);
    }
    Ok(())
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

/// When the choice among several plans began whose release this is: how long it took would tell how
/// many runs there were.
fn began(before: &[Record], entry: &Entry) -> Option<String> {
    let Entry::Released { charge: released, .. } = entry else { return None };
    let tuned = |record: &&Record| matches!(&record.entry, Entry::Charged { charge, item, .. } if charge == released && item.label == TUNE);
    before.iter().find(tuned)?;
    let begun = |r: &&Record| matches!(&r.entry, Entry::Begun { charge } if charge == released);
    before.iter().rev().find(begun).map(|record| record.time.clone())
}

fn contents(path: &Path, connection: &Connection) -> Result<Contents, Error> {
    type RecordRow = (i64, String, String, String);
    let rows = || -> Result<(Vec<u8>, Vec<RecordRow>), rusqlite::Error> {
        let key = connection.query_row("SELECT key FROM secret", [], |row| row.get(0))?;
        let mut query =
            connection.prepare("SELECT number, time, body, hash FROM records ORDER BY number")?;
        let rows: Result<Vec<RecordRow>, _> =
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
                format!("record {place} is not as it was written; {RESTORE}"),
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
        create(&path, &[0; 32], &Entry::Opened { ledger, budget, filter, unit: None, software })
            .unwrap();
        let closed = |epsilon| Entry::Closed { room: Room::Basic { epsilon, leak: 0.0 } };
        for number in [f64::INFINITY, f64::NAN] {
            // The other entries of the same call are not written either.
            let entries = vec![closed(0.5), closed(number)];
            assert!(update(&path, |_| Ok((entries, ()))).is_err());
            assert_eq!(read(&path).unwrap().records.len(), 1);
        }
        update(&path, |_| Ok((vec![closed(0.5)], ()))).unwrap();
        assert_eq!(read(&path).unwrap().records.len(), 2);
    }
}
