//! Files that are either whole or absent, and files that are not replaced.
//!
//! A file is written under a temporary name beside its place, flushed, renamed, and the folder is
//! flushed: after a power cut the old file is there or the new one, never a part. A ledger is never
//! replaced; a model and a checkpoint only by a caller who says so.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::{Builder, NamedTempFile, TempPath};

use crate::Error;

/// How the names of temporary files begin.
const TEMPORARY: &str = ".reticent-tmp-";

/// A temporary file that nobody holds is removed after this time, which is longer than the moment
/// between its creation and its lock.
const STALE: Duration = Duration::from_secs(60);

/// The kinds of files that a write may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// A document: anything but a ledger, a model or a checkpoint.
    Document,
    /// Also a model.
    Model,
    /// Also a checkpoint, by the run that keeps it.
    Checkpoint,
}

/// Writes `contents` under a temporary name beside `path`, flushes it to the disk, and renames it.
/// Anyone who opens `path` sees the old file or the new one, never a part. A link stays: what it
/// leads to is written.
///
/// # Errors
///
/// [`Error::File`], also if `path` is there and is no regular file: a device, a pipe or a folder is
/// not replaced; [`Error::NotReplaced`] if it is a ledger, a model or a checkpoint. The temporary
/// file is removed.
pub fn write_atomically(path: &Path, contents: &[u8]) -> Result<(), Error> {
    remove_stale(path);
    write_over(path, contents, Replace::Document)
}

/// [`write_atomically`] for a file that may replace more.
pub(crate) fn write_over(path: &Path, contents: &[u8], replace: Replace) -> Result<(), Error> {
    let written = target(path).and_then(|target| {
        check_replaceable(&target, replace, Some(contents))?;
        let mut file = temporary(folder(&target))?;
        _ = file.as_file().try_lock(); // says that somebody still writes it
        file.write_all(contents)?;
        file.as_file().sync_all()?;
        file.persist(&target).map_err(|e| e.error)?;
        sync_folder(&target);
        Ok(())
    });
    written.map_err(|e| cannot_write(path, &e))
}

/// Whether a file of so many bytes can be written at `path`: asked before something is spent that
/// would be lost with it. Temporary files that dead processes left there are removed.
///
/// # Errors
///
/// [`Error::File`]; [`Error::NotReplaced`].
pub fn check_writable(path: &Path, bytes: u64, replace: Replace) -> Result<(), Error> {
    remove_stale(path);
    let tried = target(path).and_then(|target| {
        check_replaceable(&target, replace, None)?;
        let mut file = temporary(folder(&target))?;
        _ = file.as_file().try_lock();
        io::copy(&mut io::repeat(0).take(bytes), &mut file)?;
        file.as_file().sync_all()
    });
    tried.map_err(|e| cannot_write(path, &e))
}

/// A new file under a temporary name in a folder.
pub(crate) fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    Builder::new().prefix(&format!("{TEMPORARY}{}-", std::process::id())).tempfile_in(folder)
}

/// Removes temporary files of dead processes beside `path`. A file that somebody writes is locked.
fn remove_stale(path: &Path) {
    let Ok(entries) = fs::read_dir(folder(path)) else { return };
    let is_stale = |file: &Path| {
        let modified = fs::symlink_metadata(file).ok().filter(fs::Metadata::is_file)?.modified();
        let age = SystemTime::now().duration_since(modified.ok()?).ok()?;
        (age > STALE && File::open(file).ok()?.try_lock().is_ok()).then_some(())
    };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(TEMPORARY));
        if ours && is_stale(&entry.path()).is_some() {
            _ = fs::remove_file(entry.path());
        }
    }
}

/// Puts a folder's entry of `path` on the disk.
pub(crate) fn sync_folder(path: &Path) {
    if let Ok(folder) = File::open(folder(path)) {
        _ = folder.sync_all(); // not every system can
    }
}

/// A file that is complete and on the disk, under a hidden name beside its place.
#[derive(Debug)]
pub(crate) struct Staged {
    file: PathBuf,
    target: PathBuf,
}

impl Staged {
    /// Writes the file. A process that dies leaves it there under `name`.
    pub(crate) fn write(path: &Path, name: &str, contents: &[u8]) -> io::Result<Self> {
        let target = target(path)?;
        let file = folder(&target).join(name);
        match fs::remove_file(&file) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let staged = Self { file, target };
        let written = create_private(&staged.file).and_then(|mut file| {
            file.write_all(contents)?;
            file.sync_all()
        });
        if let Err(error) = written {
            staged.discard();
            return Err(error);
        }
        sync_folder(&staged.target);
        Ok(staged)
    }

    /// The staged file of this name beside `path`, if there is one.
    pub(crate) fn find(path: &Path, name: &str) -> Option<Self> {
        let target = target(path).ok()?;
        let file = folder(&target).join(name);
        file.is_file().then_some(Self { file, target })
    }

    /// Its contents.
    pub(crate) fn read(&self) -> Result<String, Error> {
        read_text(&self.file)
    }

    /// Gives it its name. A file created there in the meantime is replaced only if `replace` allows
    /// it.
    pub(crate) fn place(self, replace: Replace) -> io::Result<()> {
        check_replaceable(&self.target, replace, None)?;
        if self.target.exists() {
            fs::rename(&self.file, &self.target)?;
        } else {
            let file = TempPath::try_from_path(&self.file)?;
            if let Err(failed) = file.persist_noclobber(&self.target) {
                _ = failed.path.keep();
                return Err(failed.error);
            }
        }
        sync_folder(&self.target);
        Ok(())
    }

    /// Removes it.
    pub(crate) fn discard(&self) {
        _ = fs::remove_file(&self.file);
    }
}

/// A new file that only its owner reads.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The folder that a file lies in.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The regular file that `path` names, there or not yet, with links followed.
pub(crate) fn target(path: &Path) -> io::Result<PathBuf> {
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

/// Refuses to replace a file that may not be. The same contents again replace nothing.
fn check_replaceable(target: &Path, replace: Replace, new: Option<&[u8]>) -> io::Result<()> {
    let refuse = |why: &str| Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    let kind = match Kind::of(target) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        kind => kind?,
    };
    match kind {
        Kind::Ledger => refuse("it is a ledger, which is never replaced; name another file"),
        Kind::Model if replace != Replace::Model => {
            if new.is_some_and(|new| fs::read(target).is_ok_and(|old| old == new)) {
                return Ok(());
            }
            refuse(
                "a model is there, and it may have been paid for; name another file, or replace it with `--force` (`overwrite=True` in Python)",
            )
        }
        Kind::Checkpoint if replace != Replace::Checkpoint => {
            refuse("a checkpoint is there, and what is in it is paid for; name another file")
        }
        _ => Ok(()),
    }
}

/// The kind of a file: a ledger, a model and a checkpoint must not be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ledger,
    Model,
    Checkpoint,
    Other,
}

impl Kind {
    fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut start = Vec::new();
        (&mut file).take(1 << 16).read_to_end(&mut start)?;
        if crate::ledger::is_header(&start) {
            return Ok(Self::Ledger);
        }
        let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&start);
        if text.trim_ascii_start().first() != Some(&b'{') {
            return Ok(Self::Other);
        }
        // A model's format stands after its certificate, which may be long.
        let mut window = start;
        loop {
            for (mark, kind) in
                [("\"reticent-model/", Self::Model), ("\"reticent-checkpoint/", Self::Checkpoint)]
            {
                if window.windows(mark.len()).any(|bytes| bytes == mark.as_bytes()) {
                    return Ok(kind);
                }
            }
            window.drain(..window.len().saturating_sub(32));
            if (&mut file).take(1 << 16).read_to_end(&mut window)? == 0 {
                return Ok(Self::Other);
            }
        }
    }
}

pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Error {
    let (file, why) = (path.display().to_string(), error.to_string());
    let folder = folder(path);
    match error.kind() {
        io::ErrorKind::AlreadyExists => Error::NotReplaced { file, why },
        io::ErrorKind::NotFound if !folder.exists() => {
            let why = format!("the folder `{}` does not exist", folder.display());
            Error::File { verb: "write", file, why }
        }
        _ => Error::File { verb: "write", file, why },
    }
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|e| Error::File {
        verb: "read",
        file: path.display().to_string(),
        why: e.to_string(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails
mod tests {
    use super::*;

    #[test]
    fn temporary_files_of_the_dead_are_removed_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, age: u64| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
            file
        };
        make(".reticent-tmp-1-dead", 3600);
        make(".reticent-tmp-1-new", 1);
        let held = make(".reticent-tmp-1-held", 3600);
        held.try_lock().unwrap();
        make(".tmp-of-another", 3600);
        make(".reticent-paid-0-1.json", 3600);
        write_atomically(&folder.path().join("out"), b"x").unwrap();
        let mut names: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                ".reticent-paid-0-1.json",
                ".reticent-tmp-1-held",
                ".reticent-tmp-1-new",
                ".tmp-of-another",
                "out"
            ]
        );
    }

    #[test]
    fn a_model_is_known_wherever_its_format_stands() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for pad in [0, 65_500, 65_520, 65_536, 200_000] {
            let text =
                format!("{{\"a\": \"{}\", \"format\": \"reticent-model/1\"}}", "x".repeat(pad));
            fs::write(&path, &text).unwrap();
            assert_eq!(Kind::of(&path).unwrap(), Kind::Model, "{pad}");
            assert!(write_atomically(&path, b"other").is_err(), "{pad}");
            write_atomically(&path, text.as_bytes()).unwrap();
            write_over(&path, b"other", Replace::Model).unwrap();
        }
        fs::write(&path, "a page about \"reticent-model/1\"").unwrap();
        write_atomically(&path, b"other").unwrap();
    }

    #[test]
    fn a_file_that_came_in_the_meantime_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.json");
        let staged = Staged::write(&path, ".staged", b"new").unwrap();
        fs::write(&path, "{\"format\": \"reticent-model/1\"}").unwrap();
        assert!(staged.place(Replace::Document).is_err());
        assert_eq!(fs::read(folder.path().join(".staged")).unwrap(), b"new", "it is kept");
        Staged::find(&path, ".staged").unwrap().place(Replace::Model).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(Staged::find(&path, ".staged").is_none());
    }
}
