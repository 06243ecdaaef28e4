//! Looking at a private table, for its owner.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::input::DataArgs;

#[derive(Subcommand, Debug)]
pub(crate) enum DataAction {
    /// Count the cells that a fit could not take as they are: missing, clamped, undeclared,
    /// unreadable
    ///
    /// Without --epsilon the counts are exact and PRIVATE: they are for the owner of the table, to
    /// repair an export before a budget is spent on it. With --epsilon they get noise and may be
    /// shared.
    #[command(
        after_help = "Examples:\n  reticent data check --data clinic.csv --schema clinic.schema.json\n  reticent data check --data clinic.csv --schema clinic.schema.json --epsilon 0.1 --ledger clinic.ledger"
    )]
    Check(CheckArgs),
}

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// The schema: all that is public about the table
    #[arg(long)]
    pub(crate) schema: PathBuf,
    /// Labels in a file of their own: NumPy, IDX, or text with one in each line, perhaps after a
    /// header
    #[arg(long)]
    pub(crate) labels: Option<PathBuf>,
    /// The column to predict; the schema's target if not given
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// Declared features to leave out, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) drop: Vec<String>,
    /// Allowed privacy loss of counts that may be shared; without it the counts are exact and
    /// private
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) epsilon: Option<f64>,
    /// delta: additive slack of the guarantee; 0 for pure DP; min(1e-6, 1/(10 n)) if not given
    #[arg(long, allow_hyphen_values = true, requires = "epsilon")]
    pub(crate) delta: Option<f64>,
    /// Which tables must be hard to tell apart: replace-one, add-remove-one or zero-out
    #[arg(long, default_value = "replace-one")]
    pub(crate) adjacency: String,
    /// The declared number of rows under add-remove adjacency, where the true number is private
    #[arg(long, allow_hyphen_values = true, requires = "epsilon")]
    pub(crate) rows: Option<usize>,
    /// Charge the counts to this ledger before noise is drawn; refuse if its budget does not bear
    /// it
    #[arg(long, value_name = "FILE", requires = "epsilon")]
    pub(crate) ledger: Option<PathBuf>,
}
