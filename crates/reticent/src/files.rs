//! Files that are either whole or absent.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::Error;

/// Writes `contents` under a temporary name beside `path`, flushes it to the disk, and renames it. Whoever opens `path`
/// sees the old file or the new one, never a part. A link stays: what it leads to is written.
///
/// # Errors
///
/// [`Error::File`], also if `path` is there and is no regular file: a device, a pipe or a folder is not replaced. The
/// temporary file is removed.
pub fn write_atomically(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let written = target(path).and_then(|target| {
        let mut file = NamedTempFile::new_in(folder(&target))?;
        file.write_all(contents)?;
        file.as_file().sync_all()?;
        file.persist(&target).map_err(|e| e.error)
    });
    written.map(drop).map_err(|e| cannot_write(path, &e))
}

/// Whether a file can be written at `path`: asked before something is spent that would be lost with it.
///
/// # Errors
///
/// [`Error::File`].
pub fn check_writable(path: &Path) -> Result<(), Error> {
    let tried = target(path).and_then(|target| NamedTempFile::new_in(folder(&target)));
    tried.map(drop).map_err(|e| cannot_write(path, &e))
}

/// The folder that a file lies in.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The regular file that `path` names, there or not yet, with links followed.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    // As many links as systems follow.
    for _ in 0..40 {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => path = folder(&path).join(fs::read_link(&path)?),
            Ok(found) if !found.is_file() => {
                return Err(io::Error::other(
                    "it is there and is not a regular file, so it is not replaced; name another",
                ));
            }
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => return Ok(path),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    Error::File { verb: "write", file: path.display().to_string(), why: error.to_string() }
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|e| Error::File {
        verb: "read",
        file: path.display().to_string(),
        why: e.to_string(),
    })
}
