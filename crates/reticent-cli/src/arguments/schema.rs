//! Making and checking a schema.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::input::DataArgs;
use super::{EncodingArgs, UnitArgs};

#[derive(Subcommand, Debug)]
pub(crate) enum SchemaAction {
    /// Write a schema to fill in, from a table's header or a data dictionary. Reads no cell
    ///
    /// The names of the columns come from the header, their types from the file where it states
    /// them (Parquet, Arrow, NumPy); the rest is left blank, and `reticent schema check` lists
    /// every blank. A data dictionary is a CSV file with a line for each column and the fields
    /// name, type, min, max, categories (separated by |) and role, in any order; all but name may
    /// be absent.
    #[command(
        after_help = "Examples:\n  reticent schema init --data clinic.csv --target readmitted --out clinic.schema.json\n  reticent schema init --dictionary columns.csv --target readmitted"
    )]
    Init(InitArgs),
    /// Fill a schema in from the private table itself: types, bounds and categories, with noise
    ///
    /// A release like any other: it costs epsilon, is charged to the ledger before noise is drawn,
    /// and carries a certificate that `reticent verify` checks. A fit with the schema states what
    /// both cost together. Without --epsilon nothing is spent: the command says from which epsilon
    /// on the answers are precise. A fifth of the total budget is a good share. Public facts, such
    /// as the type of a column, cost nothing: name them with --categorical, --numeric, --ignore or
    /// in a data dictionary, and the rest becomes more exact.
    #[command(
        after_help = "Examples:\n  reticent schema draft --data clinic.csv --target readmitted\n  reticent schema draft --data clinic.csv --target readmitted --epsilon 0.2 --ignore patient --categorical readmitted,ward --ledger clinic.ledger --out clinic.schema.json"
    )]
    Draft(DraftArgs),
    /// Say how each column is encoded and which bound follows, or what to add
    ///
    /// Every problem of the file is listed with its line and column.
    #[command(after_help = "Example:\n  reticent schema check patients.schema.json")]
    Check {
        /// The schema file
        schema: PathBuf,
        /// The column to predict; the schema's target if not given
        #[arg(long)]
        target: Option<String>,
        #[command(flatten)]
        unit: UnitArgs,
        #[command(flatten)]
        encoding: EncodingArgs,
    },
}

#[derive(Args, Debug)]
pub(crate) struct DraftArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// A data dictionary: its statements are not estimated from the table
    #[arg(long, value_name = "FILE")]
    pub(crate) dictionary: Option<PathBuf>,
    /// The column to predict
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// Columns that hold categories, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) categorical: Vec<String>,
    /// Columns that hold numbers, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) numeric: Vec<String>,
    /// Columns to leave out, such as identifiers, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) ignore: Vec<String>,
    /// Inner knots for the curve of each numeric column, at its quantiles; each costs as much as a
    /// bound
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    pub(crate) knots: usize,
    /// Allowed privacy loss of the draft, > 0; without it the command says which would be precise,
    /// and stops
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) epsilon: Option<f64>,
    /// delta: additive slack of the guarantee; min(1e-6, 1/(10 n)) if not given
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) delta: Option<f64>,
    /// Which tables must be hard to tell apart: replace-one, add-remove-one or zero-out
    #[arg(long, default_value = "replace-one")]
    pub(crate) adjacency: String,
    /// The declared number of rows under add-remove adjacency, where the true number is private
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) rows: Option<usize>,
    /// Charge the draft to this ledger before noise is drawn; refuse if its budget does not bear it
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// Say how exact the answers would be and which epsilon is enough, and stop: nothing is spent
    #[arg(long)]
    pub(crate) plan: bool,
    /// Where to write the schema
    #[arg(long, default_value = "schema.json")]
    pub(crate) out: PathBuf,
    /// Replace the file of --out
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("from").required(true).multiple(true).args(["data", "data_command", "dictionary"]))]
pub(crate) struct InitArgs {
    #[command(flatten)]
    pub(crate) data: Option<DataArgs>,
    /// A data dictionary: CSV with the fields name, type, min, max, categories and role
    #[arg(long, value_name = "FILE")]
    pub(crate) dictionary: Option<PathBuf>,
    /// The column to predict
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// Where to write the schema; standard output if not given
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file of --out
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}
