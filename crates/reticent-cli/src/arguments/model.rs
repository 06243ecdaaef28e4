//! Commands about models: plan, fit, tune, audit, predict, evaluate, report.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};

use super::encoding::{EncodingArgs, LossArgs};
use super::kernel::KernelArgs;
use super::method::MethodArgs;

#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// The folder to write to
    #[arg(long, default_value = "reticent-demo")]
    pub(crate) out: PathBuf,
    /// Allowed privacy loss
    #[arg(long, default_value_t = 1.0, allow_hyphen_values = true)]
    pub(crate) epsilon: f64,
}

#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// Number of rows; public
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) n: usize,
    /// Number of features, the intercept among them; from the schema if one is given
    #[arg(
        long,
        required_unless_present = "schema",
        conflicts_with = "schema",
        allow_hyphen_values = true
    )]
    pub(crate) d: Option<usize>,
    /// A schema to take features, bounds and classes from
    #[arg(long)]
    pub(crate) schema: Option<PathBuf>,
    /// Number of classes for softmax and one-hot; from the schema if one is given
    #[arg(long, default_value_t = 3, conflicts_with = "schema", allow_hyphen_values = true)]
    pub(crate) classes: usize,
    /// Bound on |label| for regression; from the schema if one is given
    #[arg(long, default_value_t = 1.0, conflicts_with = "schema", allow_hyphen_values = true)]
    pub(crate) label_bound: f64,
    /// Bound on the size of each feature, where it is smaller than the norm; from the schema if one is given
    #[arg(long, conflicts_with = "schema", allow_hyphen_values = true)]
    pub(crate) entry_bound: Option<f64>,
    #[command(flatten)]
    pub(crate) loss: LossArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
    #[command(flatten)]
    pub(crate) encoding: EncodingArgs,
}

#[derive(Args, Debug)]
pub(crate) struct AuditArgs {
    /// Runs on each of the two tables
    #[arg(long, default_value_t = 10_000)]
    pub(crate) runs: usize,
    /// Audit one run with many canaries, each in the table or not by a coin, in place of many runs with one
    #[arg(long, conflicts_with = "runs")]
    pub(crate) single_run: bool,
    /// Canaries of a single run; all rows if not given. Strongest with at least as many features
    #[arg(long, requires = "single_run", allow_hyphen_values = true)]
    pub(crate) canaries: Option<usize>,
    /// The chance that the bound holds
    #[arg(long, default_value_t = 0.95, allow_negative_numbers = true)]
    pub(crate) confidence: f64,
    /// Make the attack repeatable; its tables are made up
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
}

/// A table, what is public about it, and what is to be learned from it.
#[derive(Args, Debug)]
pub(crate) struct TableArgs {
    /// The table
    #[arg(long)]
    pub(crate) data: PathBuf,
    /// What is public about it
    #[arg(long)]
    pub(crate) schema: PathBuf,
    /// Labels in a file of their own: NumPy, IDX, or text with one in each line, perhaps after a header
    #[arg(long)]
    pub(crate) labels: Option<PathBuf>,
    /// The column to predict; the schema's target if not given
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// Threads; the model is the same for any number
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) threads: Option<usize>,
    /// Stream a table that is larger than memory, and keep below this: 512MB, 2GB. The file (Parquet, Arrow, CSV, libsvm) is
    /// read again for every pass
    #[arg(long, value_parser = bytes, conflicts_with = "labels")]
    pub(crate) memory: Option<usize>,
    /// The declared number of rows under add-remove adjacency, where the true number is private
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) rows: Option<usize>,
    /// Draw noise from this seed: for tests only, the certificate is void
    #[arg(long, value_name = "SEED", allow_hyphen_values = true)]
    pub(crate) insecure_seed: Option<u64>,
    #[command(flatten)]
    pub(crate) loss: LossArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    #[command(flatten)]
    pub(crate) encoding: EncodingArgs,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
}

#[derive(Args, Debug)]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// Where to write the model
    #[arg(long, default_value = "model.json")]
    pub(crate) out: PathBuf,
    /// Replace a model that is at `--out`
    #[arg(long)]
    pub(crate) force: bool,
    /// Keep where a long run stands in this file, so that it can go on after an interruption
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Go on from the checkpoint
    #[arg(long, requires = "checkpoint")]
    pub(crate) resume: bool,
    /// Steps between two checkpoints
    #[arg(long, default_value_t = 500, requires = "checkpoint", value_name = "STEPS")]
    pub(crate) checkpoint_every: u64,
    /// Charge the plan to this ledger before a row is read; refuse if its budget does not bear it
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// Charge the plan to the ledger and stop; the same command without this takes the charge up
    #[arg(long, requires = "ledger")]
    pub(crate) reserve: bool,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
}

#[derive(Args, Debug)]
pub(crate) struct TuneArgs {
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// What to try: an algorithm and its settings, such as "clipped-sgd clip=0.5 steps=200" (`reticent algorithms NAME` lists them); give it several times. Without it, the
    /// planner's first algorithms are tried with several ridges and distances
    #[arg(long = "try", value_name = "SETTINGS")]
    pub(crate) tries: Vec<String>,
    /// How many runs there are on average; the number itself is drawn, and stays secret
    #[arg(long, default_value_t = 16.0, value_name = "MEAN", allow_hyphen_values = true)]
    pub(crate) trials: f64,
    /// Where to write the model
    #[arg(long, default_value = "model.json")]
    pub(crate) out: PathBuf,
    /// Replace a model that is at `--out`
    #[arg(long)]
    pub(crate) force: bool,
    /// Charge the whole choice to this ledger before a row is read; refuse if its budget does not bear it
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// The model file
    pub(crate) model: PathBuf,
    /// Where to write
    #[arg(long, default_value = "report.html")]
    pub(crate) out: PathBuf,
    /// The ledger that paid for the model, to show where it stands
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// The output of `reticent audit --json` for the same algorithm and budget
    #[arg(long, value_name = "FILE")]
    pub(crate) audit: Option<PathBuf>,
    /// The output of `reticent evaluate --json` for this model
    #[arg(long, value_name = "FILE")]
    pub(crate) evaluation: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct PredictArgs {
    /// The model file
    #[arg(long)]
    pub(crate) model: PathBuf,
    /// The rows to predict for; no target column is needed
    #[arg(long)]
    pub(crate) data: PathBuf,
    /// Columns of the table to carry through to the CSV, declared or not, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) keep_columns: Vec<String>,
    /// Where to write a CSV of predictions; standard output if not given
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct EvaluateArgs {
    /// The model file
    #[arg(long)]
    pub(crate) model: PathBuf,
    /// Rows with their target
    #[arg(long)]
    pub(crate) data: PathBuf,
    /// Labels in a file of their own: NumPy, IDX, or text with one in each line, perhaps after a header
    #[arg(long)]
    pub(crate) labels: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum SchemaAction {
    /// Say how each column is encoded and which bound follows, or what to add
    #[command(after_help = "Example:\n  reticent schema check patients.schema.json")]
    Check {
        /// The schema file
        schema: PathBuf,
        /// The column to predict; the schema's target if not given
        #[arg(long)]
        target: Option<String>,
        #[command(flatten)]
        encoding: EncodingArgs,
    },
}

#[derive(Args, Debug)]
pub(crate) struct BudgetArgs {
    /// Allowed privacy loss, > 0; `inf` promises nothing and adds no noise
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) epsilon: f64,
    /// Additive slack of the guarantee, below 1/n; 0 for pure DP; min(1e-6, 1/(10 n)) if not given
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) delta: Option<f64>,
    /// Which tables must be hard to tell apart: replace-one, add-remove-one or zero-out
    #[arg(long, default_value = "replace-one")]
    pub(crate) adjacency: String,
}

impl BudgetArgs {
    /// The checked budget for a table of this many rows.
    pub(crate) fn check(&self, rows: usize) -> Result<Budget, reticent::Error> {
        let delta = self.delta.unwrap_or_else(|| reticent::default_delta(rows));
        Ok(Budget {
            epsilon: Epsilon::new(self.epsilon)?,
            delta: Delta::new(delta)?,
            adjacency: self.adjacency.parse::<Adjacency>()?,
        })
    }
}

/// A number of bytes: `512MB`, `2GB`.
fn bytes(text: &str) -> Result<usize, String> {
    let units = [("KB", 10), ("MB", 20), ("GB", 30), ("TB", 40)];
    let upper = text.trim().to_ascii_uppercase();
    let found = units.iter().find_map(|(unit, shift)| {
        let number: f64 = upper.strip_suffix(unit)?.trim().parse().ok()?;
        let bytes = number * f64::from(1_u32 << 10).powi(shift / 10);
        (1.0..1e15).contains(&bytes).then_some(bytes as usize)
    });
    found.ok_or_else(|| {
        "must be a size with its unit, such as 512MB or 2GB; give one of these".to_owned()
    })
}
