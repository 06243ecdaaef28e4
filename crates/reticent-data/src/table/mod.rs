//! Tables from files: CSV and TSV, Parquet, Arrow IPC, NumPy, IDX and libsvm, most also gzipped.
//!
//! [`read`] takes a path and a layout and gives encoded rows, whatever the format. The format is told
//! by a file's first bytes and, for text, by its name.
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
//! never raises an error: see [`crate::encode`] for what becomes of it. The number of rows is public.

mod csv;
mod error;
mod source;

use std::path::Path;

use reticent_problem::declaration::Layout;

pub use error::TableError;
use source::{Format, Source};

use crate::encode::{Encoder, LabelSource};
use crate::rows::Rows;

/// Read and encode a table.
///
/// With `with_labels` the rows carry labels, from `labels` if it is given and from the table itself
/// if not. Without, no target is needed and all labels are 0: that is for prediction.
///
/// # Errors
///
/// If a file cannot be read, or its structure does not fit the layout.
pub fn read(
    path: &Path,
    labels: Option<&Path>,
    layout: &Layout,
    with_labels: bool,
) -> Result<Rows, TableError> {
    let encoder = Encoder::new(layout);
    let labels = match labels {
        _ if !with_labels => LabelSource::Absent,
        Some(path) => LabelSource::Given(read_labels(path, &encoder)?),
        None => LabelSource::Inline,
    };
    read_from(Source::open(path)?, &encoder, labels)
}

fn read_from(source: Source, encoder: &Encoder, labels: LabelSource) -> Result<Rows, TableError> {
    match source.format {
        Format::Text(separator) => csv::read(source, separator, encoder, labels),
        _ => Err(TableError::UnknownFormat { file: source.file }),
    }
}

/// Read and encode the labels of a second file: NumPy, IDX, or text with one label in each line.
fn read_labels(path: &Path, encoder: &Encoder) -> Result<Vec<f64>, TableError> {
    let source = Source::open(path)?;
    match source.format {
        Format::Text(separator) => csv::labels(source, separator, encoder),
        _ => Err(TableError::UnknownFormat { file: source.file }),
    }
}

/// How many rows a table has. Needs no layout, and looks at no cell.
///
/// # Errors
///
/// If the file cannot be read.
pub fn count_rows(path: &Path) -> Result<usize, TableError> {
    let source = Source::open(path)?;
    match source.format {
        Format::Text(separator) => csv::count(source, separator),
        _ => Err(TableError::UnknownFormat { file: source.file }),
    }
}
