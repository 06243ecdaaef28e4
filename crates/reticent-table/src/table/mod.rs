//! Tables from files: CSV and TSV, Parquet, Arrow IPC, NumPy, IDX, libsvm and workbooks, most also
//! gzipped.
//!
//! [`read`] takes a path and a layout and gives encoded rows, whatever the format. The format is
//! told by the name of a text file, whose first bytes may be a row's, and by the first bytes of any
//! other.
//!
//! | format | names | columns found by | labels |
//! | --- | --- | --- | --- |
//! | CSV, TSV | `.csv`, `.tsv`, `.txt` (`.gz`) | header | the target's column |
//! | Parquet | `.parquet` | name | the target's column |
//! | Arrow IPC, file or stream | `.arrow`, `.feather`, `.arrows` (`.gz`) | name | the target's column |
//! | NumPy | `.npy` (`.gz`) | declared order | a second file |
//! | IDX | by content (`.gz`) | declared order | a second file |
//! | workbook | `.xlsx`, `.xlsm`, `.xlsb`, `.xls`, `.ods` | header of the first sheet, or of the one that is named | the target's column |
//! | libsvm | `.libsvm`, `.svm`, `.svmlight` (`.gz`) | index, from 1, in declared order | each line's first field |
//!
//! Several files, the files of a folder and those that a pattern matches are one table
//! ([`TableFile::gathered`]).
//!
//! # Information in an error
//!
//! On the structure of the file only: that it exists, its format, header, shape and encoding. These
//! are facts of the export, not of a person, and they are raised before training starts. The
//! content of a cell never raises an error: see [`crate::encode`] for its encoding. No message
//! tells a number of rows, which is private under add-remove adjacency.

mod arrow_ipc;
mod batch;
mod csv;
mod excel;
mod file;
mod header;
mod idx;
mod labels;
mod libsvm;
mod lines;
mod names;
mod npy;
mod numbers;
mod parquet;
mod parts;
mod records;
mod source;
mod texts;

use std::ops::ControlFlow;
use std::path::Path;

use reticent_problem::declaration::Layout;

pub use batch::from_batches;
pub use file::{FORMATS, TableFile};
pub use names::{FileColumn, FileType, columns};
use numbers::Numbers;
use source::{Format, Source, guarded};

pub use crate::error::TableError;

use crate::encode::{
    Blocks, CellCounts, Counter, Encoder, Label, LabelSource, Observer, RowWriter, Silent, Wanted,
};
use reticent_data::Rows;

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
/// use reticent_table::table;
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
    file: impl Into<TableFile>,
    labels: Option<&Path>,
    layout: &Layout,
    with_labels: bool,
) -> Result<Rows, TableError> {
    let file = file.into();
    let encoder =
        if with_labels { Encoder::new(layout) } else { Encoder::new(&layout.without_weights()) };
    let labels = label_source(&file, labels, &encoder, with_labels)?;
    Ok(read_from(&file, &encoder, labels.into(), Silent)?.0)
}

/// A table that is public, with what became of its cells.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// The encoded rows, as [`read`] gives them.
    pub rows: Rows,
    /// The outcomes of the cells.
    pub counts: CellCounts,
    /// Of each row, the true label on the scale of the labels: not clamped, whatever the row's
    /// other cells hold, and none where the target names none. Empty if no labels were read.
    pub labels: Vec<Option<f64>>,
}

/// [`read`] for a table that is public, such as test data: counts the outcomes of its cells.
///
/// The counts are exact. Never use it on rows that are trained on: that is what [`read`] is for,
/// and a count of bad cells is an output like any other.
///
/// # Errors
///
/// As [`read`].
pub fn inspect(
    file: impl Into<TableFile>,
    labels: Option<&Path>,
    layout: &Layout,
    with_labels: bool,
) -> Result<Inspected, TableError> {
    let file = file.into();
    let encoder =
        Encoder::new(&if with_labels { layout.for_scoring() } else { layout.without_weights() });
    let labels = label_source(&file, labels, &encoder, with_labels)?;
    let counter = Counter::new(&encoder, with_labels, with_labels);
    let (rows, counter) = read_from(&file, &encoder, labels.into(), counter)?;
    let (counts, labels) = counter.finish();
    Ok(Inspected { rows, counts, labels })
}

/// The outcomes of a private table's cells, for its owner. Keeps no row in memory but those of a
/// block.
///
/// The counts are exact and as private as the table: anyone who may see them may see the table.
///
/// # Errors
///
/// As [`read`].
pub fn count_cells(
    file: impl Into<TableFile>,
    labels: Option<&Path>,
    layout: &Layout,
) -> Result<CellCounts, TableError> {
    let file = file.into();
    let encoder = Encoder::new(&layout.for_scoring());
    let labels = label_source(&file, labels, &encoder, true)?;
    let mut take = |_: Rows| ControlFlow::Continue(());
    let blocks = Some(Blocks { rows: 256, take: &mut take });
    let wanted = Wanted { labels, blocks, ample: true };
    let counter = Counter::new(&encoder, true, false);
    Ok(read_from(&file, &encoder, wanted, counter)?.1.finish().0)
}

/// The texts of the named columns, declared or not, one list for each. For what is carried through
/// to predictions. Bytes that are no UTF-8 are replaced.
///
/// # Errors
///
/// As [`visit_cells`].
pub fn column_texts(
    file: impl Into<TableFile>,
    names: &[String],
) -> Result<Vec<Vec<String>>, TableError> {
    let mut columns = vec![Vec::new(); names.len()];
    visit_cells(file, names, &mut |cells| {
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.push(String::from_utf8_lossy(cell).into_owned());
        }
    })?;
    Ok(columns)
}

/// Hands over the cells of the named columns, declared or not, row by row and as text: numbers as
/// they are written, a null as nothing.
///
/// # Errors
///
/// If a column is absent or occurs twice, the format has no names, or the file cannot be read.
pub fn visit_cells(
    file: impl Into<TableFile>,
    names: &[String],
    take: &mut dyn FnMut(&[&[u8]]),
) -> Result<(), TableError> {
    for part in file.into().checked()?.parts() {
        visit_part(Source::open(&part)?, names, take)?;
    }
    Ok(())
}

fn visit_part(
    source: Source,
    names: &[String],
    take: &mut dyn FnMut(&[&[u8]]),
) -> Result<(), TableError> {
    match source.format {
        Format::Text(separator) => csv::visit(source, separator, names, take),
        Format::Parquet => {
            guarded(|| parquet::damaged(&source.file), || parquet::visit(&source, names, take))
        }
        Format::ArrowFile | Format::ArrowStream => {
            let file = source.file.clone();
            guarded(|| arrow_ipc::damaged(&file), || arrow_ipc::visit(source, names, take))
        }
        Format::Workbook => {
            let file = source.file.clone();
            guarded(|| excel::damaged(&file), || excel::visit(source, names, take))
        }
        Format::Libsvm | Format::Npy | Format::Idx => {
            Err(TableError::NoNames { file: source.file })
        }
    }
}

/// Whether a file is stated to be in a format whose rows name their non-zero entries alone.
pub fn is_sparse(file: impl Into<TableFile>) -> bool {
    let sparse = |part: &TableFile| part.stated() == Some(Format::Libsvm);
    file.into().parts().iter().all(sparse)
}

fn label_source(
    file: &TableFile,
    labels: Option<&Path>,
    encoder: &Encoder,
    with_labels: bool,
) -> Result<LabelSource, TableError> {
    Ok(match labels {
        _ if !with_labels => LabelSource::Absent,
        Some(labels) => LabelSource::Given(read_labels(labels, file, encoder)?),
        None => LabelSource::Inline,
    })
}

/// Read and encode a table with its labels block by block, in order. A block has `rows` rows, the
/// last perhaps fewer; `take` says whether more are wanted. Only a block at a time is in memory,
/// and what the format's reader holds; where memory is `ample`, it may hold some megabytes more and
/// be faster.
///
/// # Errors
///
/// As [`read`]; [`TableError::NotInBlocks`] for NumPy files, IDX files and workbooks.
pub fn read_blocks(
    file: impl Into<TableFile>,
    encoder: &Encoder,
    rows: usize,
    ample: bool,
    take: &mut dyn FnMut(Rows) -> ControlFlow<()>,
) -> Result<(), TableError> {
    let file = file.into().checked()?;
    if let Some(first) = file.parts().first() {
        let source = Source::open(first)?;
        if matches!(source.format, Format::Npy | Format::Idx | Format::Workbook) {
            return Err(TableError::NotInBlocks { file: source.file });
        }
    }
    let blocks = Some(Blocks { rows, take });
    let wanted = Wanted { labels: LabelSource::Inline, blocks, ample };
    read_from(&file, encoder, wanted, Silent).map(drop)
}

/// Reads file after file; a matrix is a file of its own.
fn read_from<'a, O: Observer>(
    file: &TableFile,
    encoder: &'a Encoder,
    wanted: Wanted<'a>,
    observer: O,
) -> Result<(Rows, O), TableError> {
    let file = file.clone().checked()?;
    let parts = file.parts();
    if let [only] = &parts[..] {
        let mut source = Source::open(only)?;
        if matches!(source.format, Format::Npy | Format::Idx) {
            if matches!(wanted.labels, LabelSource::Inline) {
                return Err(TableError::NeedsLabels { file: source.file });
            }
            let numbers = numbers(&mut source)?;
            let shape = (numbers.rows(), numbers.columns());
            return encoder.matrix_by(&source.file, shape, wanted, observer, numbers.getter());
        }
    }
    let ample = wanted.ample;
    let mut writer = RowWriter::new(encoder, wanted, 0, observer);
    for part in &parts {
        read_part(Source::open(part)?, encoder, ample, &mut writer)?;
        if writer.stopped() {
            break;
        }
    }
    writer.finish(&file.name())
}

fn read_part<O: Observer>(
    source: Source,
    encoder: &Encoder,
    ample: bool,
    writer: &mut RowWriter<'_, O>,
) -> Result<(), TableError> {
    let file = source.file.clone();
    match source.format {
        Format::Text(separator) => csv::read(source, separator, encoder, writer),
        Format::Libsvm => libsvm::read(source, encoder, writer),
        Format::Parquet => {
            guarded(|| parquet::damaged(&file), || parquet::read(&source, encoder, ample, writer))
        }
        Format::ArrowFile | Format::ArrowStream => {
            guarded(|| arrow_ipc::damaged(&file), || arrow_ipc::read(source, encoder, writer))
        }
        Format::Workbook => {
            guarded(|| excel::damaged(&file), || excel::read(source, encoder, writer))
        }
        Format::Npy | Format::Idx => Err(TableError::NotInParts { file }),
    }
}

fn numbers(source: &mut Source) -> Result<Numbers, TableError> {
    let bytes = source.bytes()?;
    match source.format {
        Format::Idx => idx::parse(&source.file, bytes),
        _ => npy::parse(&source.file, bytes),
    }
}

/// Read and encode the labels of a table from a second file: NumPy, IDX, or text with one label in
/// each line.
fn read_labels(
    path: &Path,
    table: &TableFile,
    encoder: &Encoder,
) -> Result<Vec<Label>, TableError> {
    let mut source = Source::open(&path.into())?;
    match source.format {
        Format::Text(_) => labels::read(source, count_rows(table)?, encoder),
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
pub fn count_rows(file: impl Into<TableFile>) -> Result<usize, TableError> {
    let parts = file.into().checked()?.parts();
    parts.iter().map(|part| count_part(Source::open(part)?)).sum()
}

fn count_part(mut source: Source) -> Result<usize, TableError> {
    let file = source.file.clone();
    match source.format {
        Format::Text(separator) => csv::count(source, separator),
        Format::Libsvm => libsvm::count(source),
        Format::Parquet => guarded(|| parquet::damaged(&file), || parquet::count(&source)),
        Format::ArrowFile | Format::ArrowStream => {
            guarded(|| arrow_ipc::damaged(&file), || arrow_ipc::count(source))
        }
        Format::Workbook => guarded(|| excel::damaged(&file), || excel::count(source)),
        Format::Npy | Format::Idx => Ok(numbers(&mut source)?.rows()),
    }
}
