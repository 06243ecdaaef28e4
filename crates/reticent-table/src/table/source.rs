//! Opening a file: gzip or not, and which format it holds.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::file::TableFile;
use crate::error::TableError;

/// The formats of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Text with a separator between fields.
    Text(u8),
    Libsvm,
    Npy,
    Idx,
    Parquet,
    ArrowFile,
    ArrowStream,
    /// Of Excel or OpenDocument.
    Workbook,
}

impl Format {
    /// Whether a file may start with what a row says.
    fn is_text(self) -> bool {
        matches!(self, Self::Text(_) | Self::Libsvm)
    }
}

/// An opened file, unpacked as it is read.
pub(super) struct Source {
    /// The file as messages call it.
    pub(super) file: String,
    /// For readers that must open it themselves, to jump about in it.
    pub(super) path: PathBuf,
    pub(super) format: Format,
    pub(super) gzipped: bool,
    /// Whether numbers in text have a comma before their fraction.
    pub(super) decimal_comma: bool,
    /// The sheet of a workbook; the first if none is named.
    pub(super) sheet: Option<String>,
    pub(super) reader: Box<dyn Read>,
}

impl Source {
    /// Open a file and find out what it holds: as stated, by its name if that is a text file's,
    /// else by its first bytes.
    pub(super) fn open(table: &TableFile) -> Result<Self, TableError> {
        let (file, path) = (table.name(), table.path());
        let failed = |e: &io::Error| read_error(&file, e);
        let opened = File::open(path)
            .map_err(|e| TableError::Read { file: file.clone(), why: e.kind().to_string() })?;
        if opened.metadata().is_ok_and(|m| m.is_dir()) {
            return Err(TableError::Read { file, why: "it is a directory".to_owned() });
        }
        let mut raw = BufReader::with_capacity(1 << 16, opened);
        let packed = head(&mut raw, 2).map_err(|e| failed(&e))?;
        let gzipped = packed == [0x1f, 0x8b];
        let whole = Cursor::new(packed).chain(raw);
        let mut unpacked: Box<dyn Read> = if gzipped {
            Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole)))
        } else {
            Box::new(whole)
        };
        let first = head(&mut unpacked, 8).map_err(|e| failed(&e))?;
        let named = table.stated();
        let text = named.filter(|format| format.is_text() || table.is_given());
        let format = match text.or_else(|| by_content(&first)).or(named) {
            Some(format) => format,
            None if first.is_empty() => return Err(TableError::Empty { file }),
            None => return Err(TableError::UnknownFormat { file }),
        };
        let reader = Box::new(Cursor::new(first).chain(unpacked));
        Ok(Self {
            file,
            path: path.to_owned(),
            format,
            gzipped,
            decimal_comma: table.decimal_comma(),
            sheet: table.sheet().map(str::to_owned),
            reader,
        })
    }

    /// The whole content in memory.
    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, TableError> {
        let mut bytes = Vec::new();
        match self.reader.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(e) => Err(read_error(&self.file, &e)),
        }
    }
}

/// The first `n` bytes, or all there are.
fn head(reader: &mut impl Read, n: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(n);
    reader.take(n as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A failed read: unpacking fails with kinds of its own.
pub(super) fn read_error(file: &str, error: &io::Error) -> TableError {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    let file = file.to_owned();
    match error.kind() {
        InvalidData | InvalidInput | UnexpectedEof => TableError::Compressed { file },
        kind => TableError::Read { file, why: kind.to_string() },
    }
}

/// Run a reader of a binary format. Arrow and Parquet meet some damaged files with a panic; that is
/// a damaged file like any other.
pub(super) fn guarded<T>(
    damaged: impl FnOnce() -> TableError,
    reader: impl FnOnce() -> Result<T, TableError>,
) -> Result<T, TableError> {
    // All that the reader left half done is dropped with it.
    catch_unwind(AssertUnwindSafe(reader)).unwrap_or_else(|_| Err(damaged()))
}

fn by_content(first: &[u8]) -> Option<Format> {
    match first {
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(Format::Npy),
        [b'P', b'A', b'R', b'1', ..] => Some(Format::Parquet),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(Format::ArrowFile),
        [0xff, 0xff, 0xff, 0xff, ..] => Some(Format::ArrowStream),
        [b'P', b'K', 3, 4, ..] | [0xd0, 0xcf, 0x11, 0xe0, ..] => Some(Format::Workbook),
        [0, 0, 0x08 | 0x09 | 0x0b..=0x0e, 1..=8, ..] => Some(Format::Idx),
        _ => None,
    }
}

pub(super) fn by_name(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("csv" | "txt") => Some(Format::Text(b',')),
        Some("tsv") => Some(Format::Text(b'\t')),
        Some("libsvm" | "svm" | "svmlight") => Some(Format::Libsvm),
        Some("npy") => Some(Format::Npy),
        Some("parquet") => Some(Format::Parquet),
        Some("arrow" | "feather" | "ipc") => Some(Format::ArrowFile),
        Some("arrows") => Some(Format::ArrowStream),
        Some("xlsx" | "xlsm" | "xlsb" | "xls" | "ods") => Some(Format::Workbook),
        Some("idx") => Some(Format::Idx),
        _ => None,
    }
}
