//! Tables from files: CSV and TSV, Parquet, Arrow IPC, NumPy, IDX and libsvm, most also gzipped.
//!
//! [`read`] takes a path and a layout and gives encoded rows, whatever the format. The format is told
//! by the name of a text file, whose first bytes may be a row's, and by the first bytes of any other.
//!
//! | format | names | columns found by | labels |
//! | --- | --- | --- | --- |
//! | CSV, TSV | `.csv`, `.tsv`, `.txt` (`.gz`) | header | the target's column |
//! | Parquet | `.parquet` | name | the target's column |
//! | Arrow IPC, file or stream | `.arrow`, `.feather`, `.arrows` (`.gz`) | name | the target's column |
//! | NumPy | `.npy` (`.gz`) | declared order | a second file |
//! | IDX | by content (`.gz`) | declared order | a second file |
//! | libsvm | `.libsvm`, `.svm`, `.svmlight` (`.gz`) | index, from 1, in declared order | each line's first field |
//!
//! # What an error may depend on
//!
//! On the structure of the file only: that it exists, its format, header, shape and encoding. These are
//! facts of the export, not of a person, and they are raised before training starts. What a cell says
//! never raises an error: see [`crate::encode`] for what becomes of it. No message tells a number of rows,
//! which is private under add-remove adjacency.

mod arrow_ipc;
mod batch;
mod csv;
mod error;
mod header;
mod idx;
mod labels;
mod libsvm;
mod lines;
mod npy;
mod numbers;
mod parquet;
mod source;

use std::ops::ControlFlow;
use std::path::Path;

use reticent_problem::declaration::Layout;

pub use batch::from_batches;
pub use error::TableError;
use numbers::Numbers;
use source::{Format, Source, guarded};

use crate::encode::{Blocks, Encoder, LabelSource, Wanted};
use crate::rows::Rows;

/// Read and encode a table.
///
/// With `with_labels` the rows carry labels, from `labels` if it is given and from the table itself
/// if not. Without, no target is needed and all labels are 0: that is for prediction.
///
/// # Errors
///
/// If a file cannot be read, or its structure does not fit the layout.
///
/// # Example
///
/// ```
/// use reticent_data::table;
/// use reticent_problem::declaration::{Declaration, Encoding};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("people.csv");
/// std::fs::write(&path, "income,age\n>50K,35\n<=50K,\n")?;
/// let declaration = Declaration::from_json(r#"{"target": "income", "columns": [
///     {"name": "age", "type": "integer", "bounds": {"min": 20, "max": 80}},
///     {"name": "income", "type": "categorical", "categories": ["<=50K", ">50K"]}]}"#)?;
/// let layout = declaration.layout(&Encoding::default())?;
/// let rows = table::read(&path, None, &layout, true)?;
/// assert_eq!(rows.labels(), [1.0, -1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(
    path: &Path,
    labels: Option<&Path>,
    layout: &Layout,
    with_labels: bool,
) -> Result<Rows, TableError> {
    let encoder = Encoder::new(layout);
    let labels = match labels {
        _ if !with_labels => LabelSource::Absent,
        Some(labels) => LabelSource::Given(read_labels(labels, path, &encoder)?),
        None => LabelSource::Inline,
    };
    read_from(Source::open(path)?, &encoder, labels.into())
}

/// Read and encode a table with its labels block by block, in order. A block has `rows` rows, the last perhaps fewer;
/// `take` says whether more are wanted. Only a block at a time is in memory, and what the format's reader holds; where memory is
/// `ample`, it may hold some megabytes more and be faster.
///
/// # Errors
///
/// As [`read`]; [`TableError::NotInBlocks`] for NumPy and IDX files.
pub fn read_blocks(
    path: &Path,
    encoder: &Encoder,
    rows: usize,
    ample: bool,
    take: &mut dyn FnMut(Rows) -> ControlFlow<()>,
) -> Result<(), TableError> {
    let source = Source::open(path)?;
    if matches!(source.format, Format::Npy | Format::Idx) {
        return Err(TableError::NotInBlocks { file: source.file });
    }
    let blocks = Some(Blocks { rows, take });
    read_from(source, encoder, Wanted { labels: LabelSource::Inline, blocks, ample }).map(drop)
}

fn read_from<'a>(
    mut source: Source,
    encoder: &'a Encoder,
    wanted: Wanted<'a>,
) -> Result<Rows, TableError> {
    match source.format {
        Format::Text(separator) => csv::read(source, separator, encoder, wanted),
        Format::Libsvm => libsvm::read(source, encoder, wanted),
        Format::Parquet => {
            guarded(|| parquet::damaged(&source.file), || parquet::read(&source, encoder, wanted))
        }
        Format::ArrowFile | Format::ArrowStream => {
            let file = source.file.clone();
            guarded(|| arrow_ipc::damaged(&file), || arrow_ipc::read(source, encoder, wanted))
        }
        Format::Npy | Format::Idx => {
            let labels = wanted.labels;
            if matches!(labels, LabelSource::Inline) {
                return Err(TableError::NeedsLabels { file: source.file });
            }
            let numbers = numbers(&mut source)?;
            let shape = (numbers.rows(), numbers.columns());
            encoder.matrix_by(&source.file, shape, labels, numbers.getter())
        }
    }
}

fn numbers(source: &mut Source) -> Result<Numbers, TableError> {
    let bytes = source.bytes()?;
    match source.format {
        Format::Idx => idx::parse(&source.file, bytes),
        _ => npy::parse(&source.file, bytes),
    }
}

/// Read and encode the labels of a table from a second file: NumPy, IDX, or text with one label in each line.
fn read_labels(path: &Path, table: &Path, encoder: &Encoder) -> Result<Vec<f64>, TableError> {
    let mut source = Source::open(path)?;
    match source.format {
        Format::Text(_) => labels::read(&mut source, count_rows(table)?, encoder),
        Format::Npy | Format::Idx => {
            let numbers = numbers(&mut source)?;
            if numbers.columns() != 1 {
                return Err(TableError::Corrupt {
                    file: source.file,
                    format: "label",
                    why: "it must hold one number for each row",
                });
            }
            let number = numbers.getter();
            Ok((0..numbers.rows()).map(|row| encoder.label_of_number(number(row, 0))).collect())
        }
        _ => Err(TableError::Corrupt {
            file: source.file,
            format: "label",
            why: "labels of their own come as .npy, IDX, or text with one in each line",
        }),
    }
}

/// How many rows a table has. Needs no layout, and looks at no cell.
///
/// # Errors
///
/// If the file cannot be read.
pub fn count_rows(path: &Path) -> Result<usize, TableError> {
    let mut source = Source::open(path)?;
    match source.format {
        Format::Text(separator) => csv::count(source, separator),
        Format::Libsvm => libsvm::count(source),
        Format::Parquet => guarded(|| parquet::damaged(&source.file), || parquet::count(&source)),
        Format::ArrowFile | Format::ArrowStream => {
            let file = source.file.clone();
            guarded(|| arrow_ipc::damaged(&file), || arrow_ipc::count(source))
        }
        Format::Npy | Format::Idx => Ok(numbers(&mut source)?.rows()),
    }
}
