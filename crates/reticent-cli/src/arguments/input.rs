//! The table that a command reads: a file, or standard input.

use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use clap::builder::PossibleValuesParser;
use reticent::Error;
use reticent::data::table::{FORMATS, TableFile};
use tempfile::{NamedTempFile, TempPath};

/// The path that stands for standard input.
const STDIN: &str = "-";

#[derive(Args, Debug)]
pub(crate) struct DataArgs {
    /// The table: CSV, TSV, Parquet, Arrow, Excel, NumPy, IDX or libsvm; several files, a folder of
    /// files or a pattern such as 'part-*.parquet' are one table; - reads standard input and needs
    /// --format
    #[arg(long, required_unless_present = "data_command", value_name = "DATA")]
    data: Vec<PathBuf>,
    /// A command whose standard output is the table, such as a query of a database; needs --format
    #[arg(long, value_name = "COMMAND", conflicts_with = "data")]
    data_command: Option<String>,
    /// The table's format, if its name does not tell it
    #[arg(long, value_parser = PossibleValuesParser::new(FORMATS))]
    format: Option<String>,
    /// The character between the fields of a CSV: ; or | or tab
    #[arg(long, value_name = "CHARACTER", value_parser = separator)]
    separator: Option<u8>,
    /// The decimal mark of the numbers in a CSV: . or ,
    #[arg(long, value_name = "MARK", value_parser = [".", ","], default_value = ".", hide_default_value = true)]
    decimal: String,
    /// The sheet of an Excel workbook; the first if not given
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,
    #[arg(skip)]
    opened: OnceCell<Opened>,
}

/// A table to read, and what must stay until it was read.
#[derive(Debug)]
struct Opened {
    file: TableFile,
    _copy: Option<Copied>,
}

impl DataArgs {
    /// The files that are read, and the folders that hold them; none for standard input.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let typed: Vec<PathBuf> = self.typed().map(Path::to_owned).collect();
        match TableFile::gathered(&typed) {
            Ok(file) if !typed.is_empty() => {
                let folders = typed.iter().map(PathBuf::as_path).filter(|path| path.is_dir());
                file.paths().into_iter().chain(folders).map(Path::to_owned).collect()
            }
            // Their errors are reported when the table is read.
            _ => typed,
        }
    }

    /// The paths that were typed; none for standard input.
    pub(crate) fn typed(&self) -> impl Iterator<Item = &Path> {
        self.data.iter().map(PathBuf::as_path).filter(|path| path.as_os_str() != STDIN)
    }

    /// The table. Standard input, and what a command prints, is copied on the first call, because a
    /// table is read more than once.
    pub(crate) fn file(&self) -> Result<&TableFile, Error> {
        if let Some(opened) = self.opened.get() {
            return Ok(&opened.file);
        }
        let paths: Vec<PathBuf> = self.typed().map(Path::to_owned).collect();
        if !paths.is_empty() && paths.len() < self.data.len() {
            return Err(Error::Arguments(
                "`--data -` stands alone: give files, or standard input, not both",
            ));
        }
        let (mut file, copy) = match &paths[..] {
            [_, ..] => (TableFile::gathered(&paths)?, None),
            [] if self.format.is_none() => {
                return Err(Error::Arguments(
                    "`--data -` and `--data-command` need `--format`: what they read has no name that tells it; write `--format csv`",
                ));
            }
            [] => {
                let (name, copy) = match &self.data_command {
                    None => ("standard input", Copied::of(&mut io::stdin().lock())),
                    Some(command) => ("the output of --data-command", of_command(command)),
                };
                let copy = copy.map_err(|e| Error::File {
                    verb: "read",
                    file: name.to_owned(),
                    why: e.to_string(),
                })?;
                (TableFile::new(copy.path()).called(name), Some(copy))
            }
        };
        if let Some(format) = &self.format {
            file = file.in_format(format);
        }
        if (self.separator.is_some() || self.decimal == ",") && !file.may_be_text() {
            return Err(Error::Arguments(
                "`--separator` and `--decimal` are for CSV files; leave them out for any other format",
            ));
        }
        if let Some(separator) = self.separator {
            file = file.separated_by(separator);
        }
        if self.decimal == "," {
            file = file.with_decimal_comma();
        }
        if let Some(sheet) = &self.sheet {
            if !file.may_be_workbook() {
                return Err(Error::Arguments(
                    "`--sheet` is for Excel workbooks; leave it out for any other format",
                ));
            }
            file = file.on_sheet(sheet);
        }
        Ok(&self.opened.get_or_init(|| Opened { file, _copy: copy }).file)
    }
}

/// The output of a shell command. One that fails may have printed a part of the table, so its
/// output is not used.
fn of_command(command: &str) -> io::Result<Copied> {
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut child = Command::new(shell)
        .args([flag, command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let copied = match child.stdout.take() {
        Some(mut output) => Copied::of(&mut output),
        None => Err(io::Error::other("it has no standard output")),
    };
    let status = child.wait()?;
    if status.success() { copied } else { Err(io::Error::other(format!("it failed: {status}"))) }
}

/// One byte that separates fields.
fn separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        _ if text == "tab" || text == "\\t" => Ok(b'\t'),
        [b'"' | b'\n' | b'\r'] => Err("it must not be a quote or the end of a line".to_owned()),
        [byte @ (b'\t' | b' '..=b'~')] => Ok(*byte),
        _ => Err("expected one character, such as ';', or the word tab".to_owned()),
    }
}

/// A copy of a stream on the disk that only this user can read, gone when the command ends.
#[derive(Debug)]
enum Copied {
    /// Without a name from the start: it is gone even if the process is killed.
    Nameless(PathBuf, #[expect(dead_code, reason = "held open")] File),
    Named(TempPath),
}

impl Copied {
    fn of(input: &mut impl Read) -> io::Result<Self> {
        let mut file = NamedTempFile::new()?;
        io::copy(input, &mut file)?;
        let (file, path) = file.into_parts();
        if let Some(other) = nameless(&file) {
            path.close()?;
            return Ok(Self::Nameless(other, file));
        }
        Ok(Self::Named(path))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Nameless(path, _) => path,
            Self::Named(path) => path,
        }
    }
}

/// A path that leads to an open file although its name is removed, on systems that have one.
#[cfg(target_os = "linux")]
fn nameless(file: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    File::open(&path).is_ok().then_some(path)
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &File) -> Option<PathBuf> {
    None
}
