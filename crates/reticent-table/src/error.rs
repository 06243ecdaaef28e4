//! Why a table cannot be read.

/// A fault of a table file.
///
/// Every variant is about the file's structure: its presence, format, header, shape and size. No
/// message quotes a cell. A record with another number of fields than the header and a quote that
/// is never closed are faults of an export that a single row can carry: anyone who may not learn
/// even that must export again before training. Found header names are not quoted either: the first
/// line of a file without a header is a row. Nor are numbers of rows, which are private under
/// add-remove adjacency.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file cannot be opened or read.
    #[error("cannot read `{file}`: {why}; check the path and its permissions")]
    Read {
        /// The file.
        file: String,
        /// The operating system's message.
        why: String,
    },

    /// A compressed file ends early or is damaged.
    #[error(
        "`{file}` is not a whole gzip file: it is truncated or damaged; copy or compress it again"
    )]
    Compressed {
        /// The file.
        file: String,
    },

    /// Neither the content nor the name tells the format.
    #[error(
        "cannot tell the format of `{file}`: name it .csv, .tsv, .libsvm (each also .gz), .parquet, .arrow, .npy, .idx or .xlsx; export JSON tables as CSV in UTF-8"
    )]
    UnknownFormat {
        /// The file.
        file: String,
    },

    /// The header is one field, and has another separator in it.
    #[error(
        "the header of `{file}` is a single field with `{found}` in it: if that separates the fields, add `--separator '{found}'`"
    )]
    Separator {
        /// The file.
        file: String,
        /// The apparent separator of the fields.
        found: String,
    },

    /// A declared column is not in the header.
    #[error(
        "the header of `{file}` lacks column `{column}`: the first line must name every declared feature and, to train, the target, separated by commas (.csv) or tabs (.tsv)"
    )]
    MissingColumn {
        /// The file.
        file: String,
        /// The declared column.
        column: String,
    },

    /// A declared column is in the header twice.
    #[error("the header of `{file}` names column `{column}` twice: rename or remove one")]
    DuplicateColumn {
        /// The file.
        file: String,
        /// The declared column.
        column: String,
    },

    /// There is no row.
    #[error("`{file}` holds no rows: give a table with at least one")]
    Empty {
        /// The file.
        file: String,
    },

    /// Rows differ in their number of fields.
    #[error(
        "`{file}` has rows whose number of fields differs from the header's: check its separator and its quotes"
    )]
    Ragged {
        /// The file.
        file: String,
    },

    /// The last line of a table of one column is left open.
    #[error(
        "`{file}` has one column and no newline at its end, where an empty last cell would be no row: end every line in a newline"
    )]
    LacksNewline {
        /// The file.
        file: String,
    },

    /// A quote is opened and not closed.
    #[error(
        "`{file}` ends within quotes: a quote is opened that nothing closes; write the table with a library that escapes quotes"
    )]
    OpenQuote {
        /// The file.
        file: String,
    },

    /// The name says text, and the content is something else.
    #[error("`{file}` is not separated text but looks like {what}")]
    OtherFormat {
        /// The file.
        file: String,
        /// Its apparent format, and the remedy.
        what: &'static str,
    },

    /// The rows do not fit into memory. How many there are is not said: it may be private.
    #[error(
        "the encoded rows of `{file}` do not fit into memory: hold them sparse if most cells are zero (`--precision sparse`, in Python a SciPy matrix) or in single precision (`--precision f32`, a float32 array), or stream the file (`--memory 1GB`)"
    )]
    Memory {
        /// The file.
        file: String,
    },

    /// A column that was asked for by name is not there.
    #[error("`{file}` has no column `{column}`: name one of its header")]
    UnknownColumn {
        /// The file.
        file: String,
        /// The name asked for.
        column: String,
    },

    /// Columns were asked for by name and the format has no names.
    #[error(
        "`{file}` has no column names: columns can be kept from CSV, TSV, Parquet and Arrow files"
    )]
    NoNames {
        /// The file.
        file: String,
    },

    /// Weights from a column of a table whose columns have no names.
    #[error(
        "{file} has no column names, and the weights of its rows are declared in column `{column}`: give a table with names, such as CSV, Parquet or a DataFrame"
    )]
    NamelessWeights {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },

    /// A binary file is damaged.
    #[error("`{file}` is not a readable {format} file: {why}")]
    Corrupt {
        /// The file.
        file: String,
        /// The format it should have.
        format: &'static str,
        /// The mismatch.
        why: &'static str,
    },

    /// A column's type in the file does not fit its declaration.
    #[error(
        "column `{column}` of `{file}` has type {found}, which does not fit its declaration: store {expected}"
    )]
    ColumnType {
        /// The file.
        file: String,
        /// The declared column.
        column: String,
        /// The type in the file.
        found: String,
        /// The type needed.
        expected: &'static str,
    },

    /// A matrix has the wrong width.
    #[error(
        "rows of `{file}` have {got} numbers and the schema declares {expected}: declare the shape the file has"
    )]
    Width {
        /// The file.
        file: String,
        /// The declared width.
        expected: usize,
        /// The width found.
        got: usize,
    },

    /// A folder or a pattern without a file.
    #[error(
        "`{path}` has no file to read: name a folder that holds files, or a pattern such as 'part-*.parquet'"
    )]
    NoFiles {
        /// The folder or pattern.
        path: String,
    },

    /// A folder holds folders, whose names may hold a column.
    #[error(
        "`{folder}` holds folders besides files: name those that hold the files, or write the table without partitions"
    )]
    FolderWithin {
        /// The folder.
        folder: String,
    },

    /// A file is named twice.
    #[error("`{file}` is named twice: each of its rows would count as two; name it once")]
    NamedTwice {
        /// The file.
        file: String,
    },

    /// A file of several is not like the first.
    #[error(
        "`{file}` is not like `{first}`: the files of a table must have one format and the same columns, with the same types, in the same order; write them alike"
    )]
    Unlike {
        /// The file.
        file: String,
        /// The file that it is compared with.
        first: String,
    },

    /// A matrix cannot be one of several files.
    #[error(
        "`{file}` cannot be one of several files: NumPy and IDX tables are one file each; join them first"
    )]
    NotInParts {
        /// The file.
        file: String,
    },

    /// A workbook lacks a sheet.
    #[error("`{file}` has no sheet `{sheet}`: name one of its sheets, or none for the first")]
    UnknownSheet {
        /// The file.
        file: String,
        /// The name asked for.
        sheet: String,
    },

    /// A format that is read whole.
    #[error("`{file}` is read whole or not at all: write it as Parquet, Arrow or CSV to stream it")]
    NotInBlocks {
        /// The file.
        file: String,
    },

    /// It can no longer be read as before.
    #[error("`{file}` changed while it was read again: run on a file that stays as it is")]
    Changed {
        /// The file.
        file: String,
    },

    /// Labels are needed and this format holds none.
    #[error("`{file}` holds features only: give the file of labels too")]
    NeedsLabels {
        /// The file.
        file: String,
    },

    /// Features and labels differ in number.
    #[error(
        "the number of labels differs from the number of rows of `{file}`: give one label for each row, in text one in each line, and end every line in a newline"
    )]
    LabelCount {
        /// The file.
        file: String,
    },
}
