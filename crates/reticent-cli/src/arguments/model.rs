//! Commands about models: plan, fit, tune, audit, predict, evaluate, report.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use reticent::Monotone;
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::Unit;

use super::accounting::RiskArgs;
use super::encoding::{EncodingArgs, LossArgs};
use super::input::DataArgs;
use super::kernel::KernelArgs;
use super::method::MethodArgs;
use super::verify::SignersArgs;

#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// The folder to write to
    #[arg(long, default_value = "reticent-demo")]
    pub(crate) out: PathBuf,
    /// Write this table of the guide and its schema, and fit nothing
    #[arg(long, value_enum, conflicts_with = "epsilon")]
    pub(crate) table: Option<DemoTable>,
    /// Allowed privacy loss
    #[arg(long, default_value_t = 1.0, allow_hyphen_values = true)]
    pub(crate) epsilon: f64,
}

/// Tables of the guide.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DemoTable {
    /// 4,000 patients of a clinic that do not exist, on which every command of the guide runs
    Clinic,
}

#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// Number of rows, or of units where a unit is declared; public
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
    /// Bound on the size of each feature, where it is smaller than the norm; from the schema if one
    /// is given
    #[arg(long, conflicts_with = "schema", allow_hyphen_values = true)]
    pub(crate) entry_bound: Option<f64>,
    #[command(flatten)]
    pub(crate) loss: LossArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    #[command(flatten)]
    pub(crate) unit: UnitArgs,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
    #[command(flatten)]
    pub(crate) encoding: EncodingArgs,
}

/// Whose rows count as one record.
#[derive(Args, Debug, Default)]
pub(crate) struct UnitArgs {
    /// Protect all rows that have the same value in this column together: the rows of one person,
    /// say; `none` for single rows
    #[arg(long, value_name = "COLUMN")]
    pub(crate) unit: Option<String>,
    /// The most rows of one unit that are used: a number known without the table
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    pub(crate) max_rows: Option<usize>,
}

impl UnitArgs {
    /// The unit of the flags alone; none where none is given.
    pub(crate) fn alone(&self) -> Result<Option<Unit>, reticent::Error> {
        match (&self.unit, self.max_rows) {
            (None, None) => Ok(None),
            (Some(column), None) if column == "none" => Ok(None),
            (Some(column), Some(rows)) => Ok(Some(Unit::new(column, rows)?)),
            _ => Err(reticent::Error::Arguments(
                "`--unit` and `--max-rows` go together: name the column that tells units apart and the most rows of one that are used",
            )),
        }
    }
}

/// A problem to rank the algorithms for.
#[derive(Args, Debug)]
pub(crate) struct RankArgs {
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    /// Also print risk bounds, noise, steps, assumptions and the privacy cost by stage
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// With several epsilons: write a picture of the expected accuracy over epsilon, as SVG
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct AuditArgs {
    /// Runs on each of the two tables
    #[arg(long, default_value_t = 10_000)]
    pub(crate) runs: usize,
    /// Audit one run with many canaries, each in the table or not by a coin, in place of many runs
    /// with one
    #[arg(long, conflicts_with = "runs")]
    pub(crate) single_run: bool,
    /// Canaries of a single run; all rows if not given. Strongest with at least as many features
    #[arg(long, requires = "single_run", allow_hyphen_values = true)]
    pub(crate) canaries: Option<usize>,
    /// The chance that the bound holds
    #[arg(long, default_value_t = 0.95, allow_negative_numbers = true)]
    pub(crate) confidence: f64,
    /// Make the attack repeatable; its tables are simulated
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
}

/// A table, its public declaration, and the learning task.
#[derive(Args, Debug)]
pub(crate) struct TableArgs {
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
    /// Threads; the model is the same for any number
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) threads: Option<usize>,
    /// Stream a table that is larger than memory, and keep below this: 512MB, 2GB. The file
    /// (Parquet, Arrow, CSV, libsvm) is read again for every pass
    #[arg(long, value_parser = bytes, conflicts_with = "labels")]
    pub(crate) memory: Option<usize>,
    /// The declared number of rows, or of units, under add-remove adjacency, where the true number
    /// is private
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) rows: Option<usize>,
    #[command(flatten)]
    pub(crate) unit: UnitArgs,
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
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
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
    /// Also print steps, noise and the privacy cost by stage
    #[arg(long, short)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
}

#[derive(Args, Debug)]
pub(crate) struct TuneArgs {
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// An algorithm and its settings to try, such as "clipped-sgd clip=0.5 steps=200"
    /// (`reticent algorithms NAME` lists them); give it several times. Without it, the planner's
    /// first algorithms are tried with several ridges and distances
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
    /// Charge the whole choice to this ledger before a row is read; refuse if its budget does not
    /// bear it
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// The model file
    pub(crate) model: PathBuf,
    /// Where to write; if not given, report.html, registry.yaml or card.md in this folder
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// The document to write: a page for people, an entry of the registry of deployments, or a
    /// model card
    #[arg(long, value_enum, default_value_t = ReportFormat::Html)]
    pub(crate) format: ReportFormat,
    /// Facts that only the curator knows, in TOML: needed for the registry, shown on a model card;
    /// release.toml in this folder if it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) release: Option<PathBuf>,
    /// The ledger that paid for the model, to show where it stands
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// The output of `reticent audit --json` for the same algorithm and budget
    #[arg(long, value_name = "FILE")]
    pub(crate) audit: Option<PathBuf>,
    /// The output of `reticent evaluate --json` for this model
    #[arg(long, value_name = "FILE")]
    pub(crate) evaluation: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) signers: SignersArgs,
}

/// A form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// One page of HTML
    Html,
    /// An entry of the registry of deployments of differential privacy, in YAML
    Registry,
    /// A model card, in Markdown
    Card,
}

/// A column and the direction of its curve.
#[derive(Clone, Debug)]
pub(crate) struct MonotoneArg(pub(crate) Monotone);

impl std::str::FromStr for MonotoneArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "it must be a column and a direction, as `age:increasing` or `age:decreasing`"
                .to_owned()
        };
        let (column, direction) = text.rsplit_once(':').ok_or_else(wrong)?;
        let direction = direction.trim().parse().map_err(|_| wrong())?;
        Ok(Self(Monotone { column: column.trim().to_owned(), direction }))
    }
}

#[derive(Args, Debug)]
pub(crate) struct CoefficientsArgs {
    /// The model file
    pub(crate) model: PathBuf,
    /// The confidence level in percent; the one that the model was fitted for if not given
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) level: Option<f64>,
    /// Print the table as CSV in full precision
    #[arg(long)]
    pub(crate) csv: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CurvesArgs {
    /// The model file
    pub(crate) model: PathBuf,
    /// Print every value as CSV, one in each line
    #[arg(long)]
    pub(crate) csv: bool,
    /// Make curves monotone, as `age:increasing,income:decreasing`, and write the edited model to
    /// `--out`; the file records it, and the guarantee of the release holds
    #[arg(long, value_delimiter = ',', value_name = "COLUMN:DIRECTION", requires = "out")]
    pub(crate) monotone: Vec<MonotoneArg>,
    /// Where to write the edited model
    #[arg(long, requires = "monotone")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct PredictArgs {
    /// The model file
    #[arg(long)]
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
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
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Labels in a file of their own: NumPy, IDX, or text with one in each line, perhaps after a
    /// header
    #[arg(long)]
    pub(crate) labels: Option<PathBuf>,
    /// Predict the positive class from this probability on; 0.5 if not given
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub(crate) threshold: Option<f64>,
    /// The cost of a false positive, to find the threshold of the least cost
    #[arg(long, value_name = "COST", requires = "cost_fn", allow_hyphen_values = true)]
    pub(crate) cost_fp: Option<f64>,
    /// The cost of a false negative
    #[arg(long, value_name = "COST", requires = "cost_fp", allow_hyphen_values = true)]
    pub(crate) cost_fn: Option<f64>,
    /// Also measure each group: rows with one value in this column of the table, declared or not
    #[arg(long, value_name = "COLUMN")]
    pub(crate) by: Option<String>,
    /// Allowed privacy loss of metrics of private rows, which get noise and may be shared; without
    /// it the metrics are exact and not protected
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) epsilon: Option<f64>,
    /// delta: additive slack of the guarantee; 0 for pure DP; min(1e-6, 1/(10 n)) if not given
    #[arg(long, allow_hyphen_values = true, requires = "epsilon")]
    pub(crate) delta: Option<f64>,
    /// Which tables must be hard to tell apart: replace-one, add-remove-one or zero-out; of units
    /// where the model's schema declares a unit
    #[arg(long, default_value = "replace-one")]
    pub(crate) adjacency: String,
    /// The declared number of rows, or of units, under add-remove adjacency, where the true number
    /// is private
    #[arg(long, allow_hyphen_values = true, requires = "epsilon")]
    pub(crate) rows: Option<usize>,
    /// Charge the metrics to this ledger before noise is drawn; refuse if its budget does not bear
    /// it
    #[arg(long, value_name = "FILE", requires = "epsilon")]
    pub(crate) ledger: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct BudgetArgs {
    /// Allowed privacy loss, > 0; `inf` promises nothing and adds no noise. `plan` takes several,
    /// separated by commas
    #[arg(
        long,
        required_unless_present_any = ["max_advantage", "max_tpr"],
        value_delimiter = ',',
        num_args = 1,
        allow_hyphen_values = true
    )]
    pub(crate) epsilon: Vec<f64>,
    #[command(flatten)]
    pub(crate) risk: RiskArgs,
    /// delta: additive slack of the guarantee, below 1/n; 0 for pure DP; min(1e-6, 1/(10 n)) if not
    /// given
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) delta: Option<f64>,
    /// Which tables must be hard to tell apart: replace-one, add-remove-one or zero-out; of units
    /// where a unit is declared
    #[arg(long, default_value = "replace-one")]
    pub(crate) adjacency: String,
}

impl BudgetArgs {
    /// Refuses a risk in place of epsilon.
    pub(crate) fn without_risk(&self) -> Result<(), reticent::Error> {
        match self.risk.given()? {
            None => Ok(()),
            Some(_) => Err(reticent::Error::Arguments(
                "`--max-advantage` and `--max-tpr` are for `fit`, `plan` and `calibrate`; give `--epsilon` here: `reticent plan` says which one keeps the risk",
            )),
        }
    }

    /// The checked budget for a table of this many rows, or of this many units; with a risk in
    /// place of epsilon one that Gaussian noise would have, to begin with.
    pub(crate) fn check(
        &self,
        rows: usize,
        unit: Option<&Unit>,
    ) -> Result<Budget, reticent::Error> {
        if let Some(risk) = self.risk.given()? {
            let (delta, adjacency) = self.beside(rows, unit)?;
            let epsilon = reticent::planner::epsilon_for_risk(risk, delta)?;
            return Ok(Budget { epsilon, delta, adjacency });
        }
        match self.epsilon.as_slice() {
            [_] => Ok(self.each(rows, unit)?[0]),
            _ => Err(reticent::Error::Arguments(
                "`--epsilon` takes one number here, with a point and not a comma: write 0.5; only `reticent plan` takes several",
            )),
        }
    }

    /// The checked budget of each epsilon.
    pub(crate) fn each(
        &self,
        rows: usize,
        unit: Option<&Unit>,
    ) -> Result<Vec<Budget>, reticent::Error> {
        let (delta, adjacency) = self.beside(rows, unit)?;
        let budget = |&epsilon| Ok(Budget { epsilon: Epsilon::new(epsilon)?, delta, adjacency });
        self.epsilon.iter().map(budget).collect()
    }

    /// Delta and adjacency.
    fn beside(
        &self,
        rows: usize,
        unit: Option<&Unit>,
    ) -> Result<(Delta, Adjacency), reticent::Error> {
        let delta = Delta::new(self.delta.unwrap_or_else(|| reticent::default_delta(rows)))?;
        Ok((delta, reticent::adjacency_of(unit, self.adjacency.parse::<Adjacency>()?)?))
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
