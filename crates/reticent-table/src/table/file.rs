//! A table's file, and how it is written where its name does not say.

use std::path::{Path, PathBuf};

use super::parts;
use super::source::{Format, by_name};
use crate::error::TableError;
use crate::stream::stamps;

/// The names of formats, as a user gives one.
pub const FORMATS: [&str; 9] =
    ["csv", "tsv", "libsvm", "parquet", "arrow", "arrows", "npy", "idx", "xlsx"];

/// A file that holds a table, or several that hold one. Any path is a file; the rest is for files
/// whose name does not say what they hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFile {
    path: PathBuf,
    /// The files of a table of several, in the order in which they are read.
    parts: Option<Vec<PathBuf>>,
    /// Whether the parts were looked at and are alike.
    alike: bool,
    name: Option<String>,
    format: Option<Format>,
    separator: Option<u8>,
    decimal_comma: bool,
    sheet: Option<String>,
}

impl TableFile {
    /// The file at a path, told by its name and its first bytes.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            parts: None,
            alike: false,
            name: None,
            format: None,
            separator: None,
            decimal_comma: false,
            sheet: None,
        }
    }

    /// The table in these files, in the files of these folders and in those that these patterns
    /// (`part-*.parquet`) match, read in the order of their paths. Files of folders whose names
    /// begin with `.` or `_` are left out.
    ///
    /// # Errors
    ///
    /// If a folder or a pattern has no file, a folder holds folders, or a file is named twice.
    pub fn gathered(typed: &[PathBuf]) -> Result<Self, TableError> {
        let first = Self::new(typed.first().cloned().unwrap_or_default());
        let Some(parts) = parts::gathered(typed)? else { return Ok(first) };
        let name = match typed.len() - 1 {
            0 => first.name(),
            1 => format!("{} and {}", first.name(), typed[1].display()),
            more => format!("{} and {more} more", first.name()),
        };
        Ok(Self { parts: Some(parts), ..first.called(&name) })
    }

    /// Calls the file by this name in messages.
    #[must_use]
    pub fn called(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// The file in one of [`FORMATS`]; any other name changes nothing.
    #[must_use]
    pub fn in_format(mut self, format: &str) -> Self {
        if FORMATS.contains(&format) {
            self.format = by_name(Path::new(&format!("table.{format}")));
        }
        self
    }

    /// Text whose fields are separated by this byte.
    #[must_use]
    pub fn separated_by(mut self, separator: u8) -> Self {
        self.separator = Some(separator);
        self
    }

    /// Text whose numbers have a comma before their fraction. A number with a point is then
    /// unreadable: it may stand for thousands.
    #[must_use]
    pub fn with_decimal_comma(mut self) -> Self {
        self.decimal_comma = true;
        self
    }

    /// Whether the file is stated to hold separated text, or nothing is stated.
    pub fn may_be_text(&self) -> bool {
        let text = |format| matches!(format, Format::Text(_));
        self.parts().iter().all(|part| part.stated().is_none_or(text))
    }

    /// Where the file is, if it is one.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the files are, in the order in which they are read.
    pub fn paths(&self) -> Vec<&Path> {
        match &self.parts {
            None => vec![&self.path],
            Some(parts) => parts.iter().map(PathBuf::as_path).collect(),
        }
    }

    /// Each file as a table of its own.
    pub(super) fn parts(&self) -> Vec<Self> {
        let Some(parts) = &self.parts else { return vec![self.clone()] };
        let one =
            |path: &PathBuf| Self { path: path.clone(), parts: None, name: None, ..self.clone() };
        parts.iter().map(one).collect()
    }

    /// The table after a look at the header of each of its files, if they are several.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or is not like the first.
    pub(crate) fn checked(self) -> Result<Self, TableError> {
        if self.alike || self.parts.is_none() {
            return Ok(self);
        }
        let kept = parts::alike(self.parts())?.into_iter().map(|part| part.path).collect();
        Ok(Self { parts: Some(kept), alike: true, ..self })
    }

    /// What `work` finds by reading the table several times: all of it in the same rows.
    ///
    /// # Errors
    ///
    /// Those of `work`, and [`TableError::Changed`] if a file changed meanwhile.
    pub fn unchanged<T, E: From<TableError>>(
        &self,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let before = stamps(self);
        let found = work()?;
        if stamps(self) == before {
            Ok(found)
        } else {
            Err(TableError::Changed { file: self.name() }.into())
        }
    }

    /// Of a workbook, the sheet with this name.
    #[must_use]
    pub fn on_sheet(mut self, name: &str) -> Self {
        self.sheet = Some(name.to_owned());
        self
    }

    /// The sheet that was named.
    pub(super) fn sheet(&self) -> Option<&str> {
        self.sheet.as_deref()
    }

    /// Whether the file is stated to be a workbook, or nothing is stated.
    pub fn may_be_workbook(&self) -> bool {
        let paths = self.paths();
        let stated = |path: &&Path| self.format.or_else(|| by_name(path));
        paths.iter().all(|path| stated(path).is_none_or(|format| format == Format::Workbook))
    }

    /// The file as messages call it.
    pub fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.path.display().to_string())
    }

    /// The format that the user or the file's name states, with the separator that was given.
    pub(super) fn stated(&self) -> Option<Format> {
        let stated = self.format.or_else(|| by_name(&self.path));
        match (stated, self.separator) {
            (None | Some(Format::Text(_)), Some(separator)) => Some(Format::Text(separator)),
            _ => stated,
        }
    }

    /// Whether the format was given, and is not to be guessed.
    pub(super) fn is_given(&self) -> bool {
        self.format.is_some()
    }

    /// Whether numbers in text have a comma before their fraction.
    pub fn decimal_comma(&self) -> bool {
        self.decimal_comma
    }
}

impl From<&Path> for TableFile {
    fn from(path: &Path) -> Self {
        Self::new(path)
    }
}

impl From<&PathBuf> for TableFile {
    fn from(path: &PathBuf) -> Self {
        Self::new(path)
    }
}

impl From<&Self> for TableFile {
    fn from(file: &Self) -> Self {
        file.clone()
    }
}
