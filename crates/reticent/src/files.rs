//! Files that are either whole or absent.

use std::fs;
use std::io::Write;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::Error;

/// Writes `contents` under a temporary name beside `path`, flushes it to the disk, and renames it. Whoever opens `path`
/// sees the old file or the new one, never a part.
///
/// # Errors
///
/// [`Error::File`]; the temporary file is removed.
pub fn write_atomically(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = NamedTempFile::new_in(folder).and_then(|mut file| {
        file.write_all(contents)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|e| e.error)
    });
    written.map(drop).map_err(|e| Error::File {
        verb: "write",
        file: path.display().to_string(),
        why: e.to_string(),
    })
}

/// Whether a file can be written at `path`: asked before something is spent that would be lost with it.
///
/// # Errors
///
/// [`Error::File`].
pub fn check_writable(path: &Path) -> Result<(), Error> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let tried = if path.is_dir() {
        Err(std::io::Error::from(std::io::ErrorKind::IsADirectory))
    } else {
        NamedTempFile::new_in(folder).map(drop)
    };
    tried.map_err(|e| Error::File {
        verb: "write",
        file: path.display().to_string(),
        why: e.to_string(),
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
