//! Files that are either whole or absent.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::Error;

/// Writes `contents` under a temporary name beside `path`, flushes it to the disk, and renames it. Whoever opens `path`
/// sees the old file or the new one, never a part.
///
/// # Errors
///
/// [`Error::File`]; the temporary file is removed.
pub fn write_atomically(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let fail = |e: std::io::Error| Error::File {
        verb: "write",
        file: path.display().to_string(),
        why: e.to_string(),
    };
    let name =
        path.file_name().ok_or_else(|| fail(std::io::Error::other("it has no file name")))?;
    let temporary =
        path.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
    let written = File::create(&temporary)
        .and_then(|mut file| file.write_all(contents).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, path));
    written.map_err(|e| {
        _ = fs::remove_file(&temporary);
        fail(e)
    })
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|e| Error::File {
        verb: "read",
        file: path.display().to_string(),
        why: e.to_string(),
    })
}
