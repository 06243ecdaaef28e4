//! No file that a command reads is one that it writes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::files::{folder, target};

/// The paths of one command. Ask [`Self::check`] before anything is read or paid.
///
/// # Example
///
/// ```
/// use reticent::Paths;
/// use std::path::Path;
///
/// let (table, ledger) = (Path::new("clinic.csv"), Path::new("clinic.ledger"));
/// let paths = Paths::default().reads("--data", Some(table)).ledger("--ledger", Some(ledger));
/// assert!(paths.writes("--out", Some(ledger)).check().is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Paths {
    read: Vec<Named>,
    written: Vec<Named>,
}

/// A file and the argument that names it.
#[derive(Clone, Debug)]
struct Named {
    argument: &'static str,
    path: PathBuf,
    place: Place,
}

impl Paths {
    /// Adds the files that are read, if any are given.
    #[must_use]
    pub fn reads(
        mut self,
        argument: &'static str,
        paths: impl IntoIterator<Item: AsRef<Path>>,
    ) -> Self {
        let named = |path: &Path| Named::new(argument, path.to_owned());
        self.read.extend(paths.into_iter().map(|path| named(path.as_ref())));
        self
    }

    /// Adds a file that is written, if it is given.
    #[must_use]
    pub fn writes(mut self, argument: &'static str, path: Option<&Path>) -> Self {
        self.written.extend(path.map(|path| Named::new(argument, path.to_owned())));
        self
    }

    /// Adds a ledger and the journals beside it.
    #[must_use]
    pub fn ledger(mut self, argument: &'static str, path: Option<&Path>) -> Self {
        for suffix in ["", "-journal", "-wal", "-shm"] {
            self = self.reads(argument, path.map(|path| beside(path, suffix)).as_deref());
        }
        self
    }

    /// Adds a checkpoint with its lock and its key.
    #[must_use]
    pub fn checkpoint(mut self, argument: &'static str, path: Option<&Path>) -> Self {
        for suffix in ["", LOCK, KEY] {
            self = self.writes(argument, path.map(|path| beside(path, suffix)).as_deref());
        }
        self
    }

    /// Whether every written file differs from every other one, with links and hard links followed,
    /// and lies in no folder that is read: it would be a part of the table there.
    ///
    /// # Errors
    ///
    /// [`Error::SamePath`], [`Error::WithinTable`].
    pub fn check(&self) -> Result<(), Error> {
        for (i, written) in self.written.iter().enumerate() {
            let others = self.read.iter().chain(&self.written[..i]);
            if let Some(other) = others.into_iter().find(|other| other.place.is(&written.place)) {
                return Err(Error::SamePath {
                    written: written.argument,
                    other: other.argument,
                    file: written.path.display().to_string(),
                });
            }
            if let Some(other) = self.read.iter().find(|other| other.place.holds(&written.place)) {
                return Err(Error::WithinTable {
                    written: written.argument,
                    other: other.argument,
                    file: written.path.display().to_string(),
                });
            }
        }
        Ok(())
    }
}

/// The suffix of a checkpoint's lock.
pub(crate) const LOCK: &str = ".lock";

/// The suffix of a checkpoint's key.
pub(crate) const KEY: &str = ".key";

/// A file beside another: its name with a suffix.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

impl Named {
    fn new(argument: &'static str, path: PathBuf) -> Self {
        let place = Place::of(&path);
        Self { argument, path, place }
    }
}

/// Where a path leads, whether a file is there or not.
#[derive(Clone, Debug)]
struct Place {
    path: PathBuf,
    /// The device and the number of the file on it.
    node: Option<(u64, u64)>,
}

impl Place {
    fn of(path: &Path) -> Self {
        let path = target(path).unwrap_or_else(|_| path.to_owned());
        let resolved = match (fs::canonicalize(folder(&path)), path.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            _ => std::path::absolute(&path).unwrap_or_else(|_| path.clone()),
        };
        Self { node: node(&path), path: resolved }
    }

    fn is(&self, other: &Self) -> bool {
        self.path == other.path || self.node.is_some() && self.node == other.node
    }

    /// Whether this is a folder, and the other one a file in it.
    fn holds(&self, other: &Self) -> bool {
        self.path.is_dir() && other.path.parent().is_some_and(|folder| Self::of(folder).is(self))
    }
}

#[cfg(unix)]
fn node(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn node(_path: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails
mod tests {
    use super::*;

    #[test]
    fn the_same_file_is_known_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("table"), "").unwrap();
        fs::create_dir(at("inner")).unwrap();
        std::os::unix::fs::symlink("table", at("link")).unwrap();
        std::os::unix::fs::symlink("later", at("ahead")).unwrap();
        fs::hard_link(at("table"), at("hard")).unwrap();
        let same = |a: &str, b: &str| {
            let paths = Paths::default().reads("a", Some(&at(a))).writes("b", Some(&at(b)));
            paths.check().is_err()
        };
        for name in ["table", "link", "hard", "inner/../table", "./table"] {
            assert!(same("table", name) && same(name, "table"), "{name}");
        }
        // Also where there is no file yet.
        assert!(same("later", "ahead") && same("later", "inner/../later"));
        assert!(!same("table", "other") && !same("later", "other"));
    }

    #[test]
    fn nothing_is_written_among_the_files_of_a_table() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("parts")).unwrap();
        std::os::unix::fs::symlink("parts", at("link")).unwrap();
        for (data, out, within) in [
            ("parts", "parts/m", true),
            ("parts/", "link/m", true),
            ("link", "parts/m", true),
            ("parts/.", "parts/m", true),
            ("parts", "m", false),
            ("parts/a", "parts/m", false),
        ] {
            let paths = Paths::default().reads("--data", Some(&at(data)));
            let checked = paths.writes("--out", Some(&at(out))).check();
            assert_eq!(matches!(checked, Err(Error::WithinTable { .. })), within, "{data} {out}");
            assert_eq!(checked.is_err(), within);
        }
    }

    #[test]
    fn what_lies_beside_a_ledger_and_a_checkpoint_is_theirs() {
        let out = |name: &'static str| {
            Paths::default()
                .ledger("--ledger", Some(Path::new("l")))
                .checkpoint("--checkpoint", Some(Path::new("c")))
                .writes("--out", Some(Path::new(name)))
                .check()
        };
        for name in ["l", "l-journal", "c", "c.lock", "c.key"] {
            assert!(out(name).is_err(), "{name}");
        }
        assert!(out("m").is_ok());
        let both = Paths::default()
            .ledger("--ledger", Some(Path::new("x")))
            .checkpoint("--checkpoint", Some(Path::new("x")));
        assert!(both.check().is_err());
    }
}
