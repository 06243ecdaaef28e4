//! Several files that are one table: those that are named, that a pattern matches, or that a folder
//! holds.
//!
//! Rows are read file by file, in the order of the paths, which is public. The files must be of one
//! format and have the same columns; which file is not like the first is said, and nothing of what
//! it holds. A text file of no bytes has no rows: programs that write tables in parts write such
//! files too.
//!
//! # Privacy
//!
//! A file that is read twice would give each of its rows twice, and a neighbouring table would
//! differ in two rows. So a file that is named twice, links followed, is refused.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, glob_with};

use super::file::TableFile;
use super::names::{FileColumn, FileType, of_source};
use super::source::{Format, Source};
use crate::error::TableError;

/// The files that are meant by what was typed, in the order in which they are read; nothing if that
/// is one file by its own name.
pub(super) fn gathered(typed: &[PathBuf]) -> Result<Option<Vec<PathBuf>>, TableError> {
    if typed.is_empty() {
        return Ok(None);
    }
    let mut files = Vec::new();
    for path in typed {
        if path.is_dir() {
            files.extend(of_folder(path)?);
        } else if is_pattern(path) && !path.exists() {
            files.extend(of_pattern(path)?);
        } else if typed.len() == 1 {
            return Ok(None);
        } else {
            files.push(path.clone());
        }
    }
    files.sort();
    let mut seen = HashSet::new();
    for file in &files {
        if !seen.insert(identity(file)) {
            return Err(TableError::NamedTwice { file: file.display().to_string() });
        }
    }
    Ok(Some(files))
}

/// Whether a path has a sign of a pattern.
fn is_pattern(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.contains(['*', '?', '[']))
}

/// Whether programs use this name for a file that is no part of a table: `.part.crc`, `_SUCCESS`.
fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_none_or(|name| name.starts_with(['.', '_']))
}

/// The files of a folder. Folders below it are refused: their names may hold a column.
fn of_folder(folder: &Path) -> Result<Vec<PathBuf>, TableError> {
    let name = || folder.display().to_string();
    let failed = |e: std::io::Error| TableError::Read { file: name(), why: e.kind().to_string() };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if is_hidden(&path) {
            continue;
        }
        if path.is_dir() {
            return Err(TableError::FolderWithin { folder: name() });
        }
        files.push(path);
    }
    if files.is_empty() {
        return Err(TableError::NoFiles { path: name() });
    }
    Ok(files)
}

/// The files and the files of folders that a pattern matches.
fn of_pattern(pattern: &Path) -> Result<Vec<PathBuf>, TableError> {
    let none = || TableError::NoFiles { path: pattern.display().to_string() };
    let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::new() };
    let found = glob_with(pattern.to_str().ok_or_else(none)?, options).map_err(|_| none())?;
    let mut files = Vec::new();
    for path in found {
        let path = path.map_err(|e| TableError::Read {
            file: e.path().display().to_string(),
            why: e.error().kind().to_string(),
        })?;
        if path.is_dir() {
            files.extend(of_folder(&path)?);
        } else if !is_hidden(&path) || is_hidden(pattern) {
            files.push(path);
        }
    }
    if files.is_empty() { Err(none()) } else { Ok(files) }
}

/// The identity of a file: the same for two paths that lead to it.
#[cfg(unix)]
fn identity(path: &Path) -> Result<(u64, u64), PathBuf> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).map(|found| (found.dev(), found.ino())).map_err(|_| path.to_owned())
}

#[cfg(not(unix))]
fn identity(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The files of a table that have rows, after a look at the header of each: all must be alike.
pub(super) fn alike(parts: Vec<TableFile>) -> Result<Vec<TableFile>, TableError> {
    let mut first: Option<(String, Format, Vec<FileColumn>)> = None;
    let mut kept = Vec::with_capacity(parts.len());
    for part in parts {
        let source = match Source::open(&part) {
            Err(TableError::Empty { .. }) => continue,
            other => other?,
        };
        let format = source.format;
        if matches!(format, Format::Npy | Format::Idx) {
            return Err(TableError::NotInParts { file: part.name() });
        }
        let columns = match format {
            Format::Libsvm => Vec::new(),
            _ => match of_source(source) {
                Err(TableError::Empty { .. }) => continue,
                columns => columns?,
            },
        };
        match &first {
            None => first = Some((part.name(), format, columns)),
            Some((name, known, expected)) => {
                if *known != format || !same_columns(expected, &columns) {
                    return Err(TableError::Unlike { file: part.name(), first: name.clone() });
                }
            }
        }
        kept.push(part);
    }
    Ok(kept)
}

/// Whether two files state the same columns in the same order.
fn same_columns(some: &[FileColumn], others: &[FileColumn]) -> bool {
    let same = |(one, other): (&FileColumn, &FileColumn)| {
        one.name == other.name && one.kind.zip(other.kind).is_none_or(may_stand_for)
    };
    some.len() == others.len() && some.iter().zip(others).all(same)
}

/// Whether columns of two types may be one. A cell means the same in each, and which of them a
/// program writes may depend on a row: numbers, truth values and texts, dates and texts, lists of a
/// fixed length and others.
fn may_stand_for((one, other): (FileType, FileType)) -> bool {
    use FileType::{Boolean, Date, Integer, Real, Text, Vector};
    let plain = |kind| matches!(kind, Integer | Real | Boolean | Text);
    one == other
        || (plain(one) && plain(other))
        || matches!((one, other), (Date, Text) | (Text, Date))
        || matches!((one, other), (Vector(None), Vector(_)) | (Vector(_), Vector(None)))
}
