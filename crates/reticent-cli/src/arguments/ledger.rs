//! The budget of a data set.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

#[derive(Subcommand, Debug)]
pub(crate) enum LedgerAction {
    /// Make a ledger: the total privacy budget of a data set
    #[command(
        after_help = "Example:\n  reticent ledger init clinic.ledger --epsilon 1 --delta 1e-6"
    )]
    Init {
        /// The file to make
        ledger: PathBuf,
        /// Allowed privacy loss of everything together
        #[arg(long, allow_negative_numbers = true)]
        epsilon: f64,
        /// delta: additive slack of the guarantee
        #[arg(long, default_value_t = 1e-6, allow_negative_numbers = true)]
        delta: f64,
        /// Which tables must be hard to tell apart: replace-one, add-remove-one or zero-out
        #[arg(long, default_value = "replace-one")]
        adjacency: String,
        /// The budget is that of each unit that this column tells apart, and pays for plans with
        /// the same `--unit` alone
        #[arg(long, value_name = "COLUMN")]
        unit: Option<String>,
        /// How plans made after a release are counted
        #[arg(long, value_enum, default_value = "auto")]
        filter: FilterName,
    },
    /// Show budget, spent and left, at one delta
    Show {
        /// The ledger
        ledger: PathBuf,
    },
    /// Pay for something done to the data elsewhere
    #[command(
        after_help = "Examples:\n  reticent ledger charge clinic.ledger --event event.json --delta 1e-7 --label \"a noisy count\"\n  reticent ledger charge clinic.ledger --epsilon 0.1 --label \"a survey\""
    )]
    Charge {
        /// The ledger
        ledger: PathBuf,
        /// A JSON file with what was done
        #[arg(long, conflicts_with = "epsilon")]
        event: Option<PathBuf>,
        /// Its privacy loss, where no more is known
        #[arg(long, allow_negative_numbers = true, required_unless_present = "event")]
        epsilon: Option<f64>,
        /// delta: additive slack of the guarantee
        #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
        delta: f64,
        /// Whose rows it protects together: the ledger's own column of units. Without it the charge
        /// is for single rows, which a ledger for units refuses
        #[arg(long, value_name = "COLUMN")]
        unit: Option<String>,
        /// The owner's word for it
        #[arg(long, default_value = "elsewhere")]
        label: String,
    },
    /// Take back a charge whose run never began
    Refund {
        /// The ledger
        ledger: PathBuf,
        /// The number of the charge
        #[arg(long)]
        charge: u64,
    },
    /// Say that tables with this schema's columns are the ledger's data set too
    Accept {
        /// The ledger
        ledger: PathBuf,
        /// The schema
        #[arg(long)]
        schema: PathBuf,
    },
    /// Write a model that is paid for and was not saved, because the disk was full or the process
    /// died
    #[command(after_help = "Example:\n  reticent ledger recover clinic.ledger --out model.json")]
    Recover {
        /// The ledger
        ledger: PathBuf,
        /// Where to write the model; the place that the interrupted command had, if the ledger does
        /// not keep it
        #[arg(long)]
        out: PathBuf,
        /// The charge that paid for it, if there are several
        #[arg(long)]
        charge: Option<u64>,
        /// Replace a model that is at `--out`
        #[arg(long)]
        force: bool,
    },
    /// Check the whole file: pages, triggers, the chain of records, and that each charge fits by
    /// the records before it
    Check {
        /// The ledger
        ledger: PathBuf,
    },
    /// Every record: charges, releases, refusals, refunds
    History {
        /// The ledger
        ledger: PathBuf,
    },
    /// Write everything but the key as JSON
    Export {
        /// The ledger
        ledger: PathBuf,
        /// Where to write; standard output if not given
        #[arg(long)]
        out: Option<PathBuf>,
    },
}

/// How plans made after a release are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FilterName {
    /// Whichever has room for more plans like the first
    Auto,
    /// In Gaussian units: many small releases cost less than their sum; for Gaussian noise and
    /// sampled steps
    Gaussian,
    /// Epsilons add; for pure noise and objective perturbation
    Basic,
}
