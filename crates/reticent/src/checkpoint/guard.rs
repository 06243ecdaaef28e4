//! The protection of a checkpoint: a lock, so that only one process at a time holds it, and a key,
//! so that an alteration is detected.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::refusal;
use crate::Error;
use crate::files::{cannot_write, create_private, read_text, sync_folder};
use crate::paths::{KEY, LOCK, beside};

/// How the file with a key begins.
const HEADER: &str = "reticent-checkpoint-key/1 ";

/// Takes the lock beside a checkpoint. A file there that is no lock is left as it is.
pub(super) fn lock(path: &Path) -> Result<File, Error> {
    let file = beside(path, LOCK);
    let held = || refusal(path, "another process holds it; wait for that to end");
    if fs::symlink_metadata(&file).is_ok_and(|found| !found.is_file() || found.len() > 0) {
        return Err(foreign(path, &file, "lock"));
    }
    let lock = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&file)
        .map_err(|e| cannot_write(&file, &e))?;
    lock.try_lock().map_err(|_| held())?;
    // Anyone who held it before may have removed it just now: then another process may hold a new
    // one.
    if is_at(&lock, &file) { Ok(lock) } else { Err(held()) }
}

fn foreign(path: &Path, file: &Path, what: &str) -> Error {
    let file = file.display();
    refusal(
        path,
        &format!("`{file}` is there and is no {what} of a checkpoint; name another checkpoint"),
    )
}

#[cfg(unix)]
fn is_at(lock: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let node = |found: fs::Metadata| (found.dev(), found.ino());
    lock.metadata().map(node).ok() == fs::symlink_metadata(path).map(node).ok()
}

#[cfg(not(unix))]
fn is_at(_lock: &File, path: &Path) -> bool {
    path.exists()
}

/// The key beside a checkpoint that no ledger paid for, if there is one.
pub(super) fn read_key(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let file = beside(path, KEY);
    match fs::symlink_metadata(&file) {
        Err(_) => return Ok(None),
        Ok(found) if !found.is_file() || found.len() > 200 => {
            return Err(foreign(path, &file, "key"));
        }
        Ok(_) => {}
    }
    let text = read_text(&file)?;
    let key = text.strip_prefix(HEADER).map(str::trim_end).filter(|key| key.len() == 64);
    key.map(|key| Some(key.as_bytes().to_vec())).ok_or_else(|| foreign(path, &file, "key"))
}

/// The key beside a checkpoint, made if there is none.
pub(super) fn make_key(path: &Path) -> Result<Vec<u8>, Error> {
    if let Some(key) = read_key(path)? {
        return Ok(key);
    }
    let key = format!("{}{}", crate::ledger::random_name()?, crate::ledger::random_name()?);
    let file = beside(path, KEY);
    let written = create_private(&file).and_then(|mut out| {
        out.write_all(format!("{HEADER}{key}\n").as_bytes())?;
        out.sync_all()
    });
    written.map_err(|e| cannot_write(&file, &e))?;
    sync_folder(&file);
    Ok(key.into_bytes())
}

fn mac(key: &[u8], text: &str) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(text.as_bytes());
    Some(mac)
}

/// The seal of a text under a key.
pub(super) fn seal(key: &[u8], text: &str) -> String {
    mac(key, text).map_or_else(String::new, |mac| crate::ledger::hex(&mac.finalize().into_bytes()))
}

/// Whether a seal is that of a text, in time that does not depend on where they differ.
pub(super) fn is_sealed(key: &[u8], text: &str, seal: &str) -> bool {
    let digits = |i: usize| seal.get(i..i + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
    let bytes: Option<Vec<u8>> = (0..seal.len()).step_by(2).map(digits).collect();
    bytes.zip(mac(key, text)).is_some_and(|(bytes, mac)| mac.verify_slice(&bytes).is_ok())
}
