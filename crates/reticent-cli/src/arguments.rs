//! The command line, defined once: help, completions and parsing all come from here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use reticent::KernelChoice;
use reticent::optim::clipped_sgd::Output;
use reticent::optim::least_squares::Order;
use reticent::optim::output_gd::NoiseChoice;
use reticent::optim::{Calibration, Request};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::declaration::{Encoding, NumericRange, Precision};
use reticent::problem::feature_map::{Construction, Form, Kernel};
use reticent::problem::{Domain, Loss, ProblemError};

use crate::command::reproduce::Reproduce;

/// Train models that keep quiet about the people they learned from.
///
/// State what is public about a table (a schema), say how much privacy loss is allowed (epsilon), and get a model with
/// a certificate that anyone can re-check without the data.
#[derive(Parser, Debug)]
#[command(
    version,
    arg_required_else_help = true,
    after_help = "Start here:\n  reticent demo\n  reticent schema check patients.schema.json\n  reticent plan --n 30000 --d 106 --loss logistic --epsilon 1\n  reticent fit --data patients.csv --schema patients.schema.json --epsilon 1 --out model.json\n  reticent verify model.json"
)]
pub(crate) struct Cli {
    /// Print one JSON object on standard output; remarks go to standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Plan, fit and verify on a built-in synthetic census of 50,000 rows
    ///
    /// Writes census.csv, census_test.csv, census.schema.json, model.json and report.html, and compares the private model with a
    /// non-private one and with the best that is possible.
    #[command(after_help = "Example:\n  reticent demo --out my-demo --epsilon 0.5")]
    Demo(DemoArgs),
    /// Rank the algorithms for a problem: noise, steps, predicted risk. Touches no data
    #[command(
        after_help = "Examples:\n  reticent plan --n 30000 --d 106 --loss logistic --epsilon 1 --delta 1e-6\n  reticent plan --n 30000 --schema adult.schema.json --epsilon 1"
    )]
    Plan(PlanArgs),
    /// Attack an algorithm as implemented: an empirical lower bound on epsilon
    ///
    /// Runs the plan many times on two neighbouring tables that differ in a row at the declared bounds, and says how well
    /// an attacker can tell them apart. Exit code 1 if that contradicts the claim.
    #[command(
        after_help = "Example:\n  reticent audit --algorithm output-gd --n 100 --d 5 --loss logistic --epsilon 1 --delta 1e-5 --runs 20000"
    )]
    Audit(AuditArgs),
    /// Fit a private model to a table
    ///
    /// The table may be CSV, Parquet, Arrow, NumPy, IDX or libsvm. Bounds and categories come from the schema alone; rows
    /// outside are clamped, silently.
    #[command(
        after_help = "Examples:\n  reticent fit --data adult.csv.gz --schema adult.schema.json --epsilon 1 --out model.json\n  reticent fit --data x.npy --labels y.npy --schema digits.schema.json --epsilon 2 --normalize rows"
    )]
    Fit(FitArgs),
    /// Predict with a model
    #[command(
        after_help = "Example:\n  reticent predict --model model.json --data new.csv --out predictions.csv"
    )]
    Predict(PredictArgs),
    /// Measure a model on data that you call public
    #[command(after_help = "Example:\n  reticent evaluate --model model.json --data test.csv")]
    Evaluate(EvaluateArgs),
    /// Recompute a model's certificate and say PASS or FAIL (exit code 0 or 1)
    #[command(after_help = "Example:\n  reticent verify model.json")]
    Verify {
        /// The model file
        model: PathBuf,
    },
    /// Write a model's report for people: one HTML file
    #[command(
        after_help = "Examples:\n  reticent report model.json --out report.html\n  reticent report model.json --ledger clinic.ledger --audit audit.json"
    )]
    Report(ReportArgs),
    /// Keep a data set's budget across releases
    #[command(
        after_help = "Examples:\n  reticent ledger init clinic.ledger --epsilon 1 --delta 1e-6\n  reticent fit --data clinic.csv --schema clinic.schema.json --epsilon 0.3 --ledger clinic.ledger\n  reticent ledger show clinic.ledger"
    )]
    Ledger {
        #[command(subcommand)]
        action: LedgerAction,
    },
    /// Make a published table anew: ours beside the paper's
    #[command(
        after_help = "Example:\n  reticent reproduce fashion-mnist --data datasets --seeds 3 --out reproduction"
    )]
    Reproduce {
        /// Which table
        #[command(subcommand)]
        what: Reproduce,
    },
    /// What repeated noisy sums cost: epsilon, with lower and upper bound
    ///
    /// Sigma is the standard deviation of the noise on the sum of clipped rows, divided by the clip norm.
    #[command(
        after_help = "Examples:\n  reticent account --sigma 1.2 --q 0.0083 --steps 3600 --sampling poisson --delta 1e-5 --adjacency add-remove\n  reticent account --sigma 5 --steps 10 --delta 1e-6"
    )]
    Account(AccountArgs),
    /// The smallest sigma for a budget
    #[command(
        after_help = "Example:\n  reticent calibrate --epsilon 1 --delta 1e-6 --q 0.01 --steps 1000 --sampling poisson"
    )]
    Calibrate(CalibrateArgs),
    /// Why the number is what it is: every accountant's bound, which is used and why, and the theorems
    #[command(
        after_help = "Examples:\n  reticent explain --model model.json\n  reticent explain --sigma 1.2 --q 0.01 --steps 1000 --sampling poisson --delta 1e-6\n  reticent explain --event event.json --delta 1e-6"
    )]
    Explain(ExplainArgs),
    /// Evaluate any formula by its name, through the functions that the library itself uses
    #[command(
        after_help = "Examples:\n  reticent calc output-gd.gd_sensitivity_tight G=2 mu=0 eta=4 T=10 n=1000\n  reticent calc --namespace output-gd --batch vectors.json\n  reticent calc --namespace output-gd --list"
    )]
    Calc(CalcArgs),
    /// List the algorithms: paper, assumptions, guarantee
    Algorithms,
    /// Check and explain a schema
    Schema {
        #[command(subcommand)]
        action: SchemaAction,
    },
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  reticent completions bash > ~/.local/share/bash-completion/completions/reticent"
    )]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

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
    #[arg(long, required_unless_present = "schema", allow_hyphen_values = true)]
    pub(crate) d: Option<usize>,
    /// A schema to take features, bounds and classes from
    #[arg(long)]
    pub(crate) schema: Option<PathBuf>,
    /// Number of classes for softmax
    #[arg(long, default_value_t = 3, allow_hyphen_values = true)]
    pub(crate) classes: usize,
    /// Bound on |label| for regression
    #[arg(long, default_value_t = 1.0, allow_hyphen_values = true)]
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
    pub(crate) settings: SettingsArgs,
    #[command(flatten)]
    pub(crate) encoding: EncodingArgs,
}

#[derive(Args, Debug)]
pub(crate) struct AuditArgs {
    /// Runs on each of the two tables
    #[arg(long, default_value_t = 10_000)]
    pub(crate) runs: usize,
    /// The chance that the bound holds
    #[arg(long, default_value_t = 0.95, allow_negative_numbers = true)]
    pub(crate) confidence: f64,
    /// Make the attack repeatable; its tables are made up
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
}

#[derive(Args, Debug)]
pub(crate) struct FitArgs {
    /// The table
    #[arg(long)]
    pub(crate) data: PathBuf,
    /// What is public about it
    #[arg(long)]
    pub(crate) schema: PathBuf,
    /// Labels in a file of their own (NumPy, IDX)
    #[arg(long)]
    pub(crate) labels: Option<PathBuf>,
    /// The column to predict; the schema's target if not given
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// Where to write the model
    #[arg(long, default_value = "model.json")]
    pub(crate) out: PathBuf,
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
    /// Draw noise from this seed: for tests only, the certificate is void
    #[arg(long, value_name = "SEED", allow_hyphen_values = true)]
    pub(crate) insecure_seed: Option<u64>,
    #[command(flatten)]
    pub(crate) loss: LossArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    #[command(flatten)]
    pub(crate) encoding: EncodingArgs,
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
    /// What `reticent audit --json` printed for the same algorithm and budget
    #[arg(long, value_name = "FILE")]
    pub(crate) audit: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct PredictArgs {
    /// The model file
    #[arg(long)]
    pub(crate) model: PathBuf,
    /// The rows to predict for; no target column is needed
    #[arg(long)]
    pub(crate) data: PathBuf,
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
    /// Labels in a file of their own (NumPy, IDX)
    #[arg(long)]
    pub(crate) labels: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SamplingName {
    /// Every row in every step
    None,
    /// Each row joins a step independently with probability q
    Poisson,
    /// Exactly a share q of the rows in each step
    WithoutReplacement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AccountantName {
    /// Privacy loss distributions: the sharpest
    Pld,
    /// Rényi divergences
    Rdp,
}

impl AccountantName {
    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Pld => "pld",
            Self::Rdp => "rdp",
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct SamplingArgs {
    /// The chance, or the share, with which a row joins a step
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) q: f64,
    /// Number of noisy steps
    #[arg(long, default_value_t = 1)]
    pub(crate) steps: u64,
    /// How batches are drawn
    #[arg(
        long,
        value_enum,
        default_value = "none",
        default_value_if("q", clap::builder::ArgPredicate::IsPresent, "poisson")
    )]
    pub(crate) sampling: SamplingName,
    /// Which tables must be hard to tell apart: replace-one, add-remove-one or zero-out
    #[arg(long, default_value = "replace-one")]
    pub(crate) adjacency: String,
}

#[derive(Args, Debug)]
pub(crate) struct AccountArgs {
    /// Noise over clip norm
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) sigma: f64,
    /// Probability of exceeding epsilon
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) delta: f64,
    /// Whose upper bound
    #[arg(long, value_enum, default_value = "pld")]
    pub(crate) accountant: AccountantName,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}

#[derive(Args, Debug)]
pub(crate) struct CalibrateArgs {
    /// Allowed privacy loss
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) epsilon: f64,
    /// Probability of exceeding it
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) delta: f64,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// A model whose event to explain
    #[arg(long, conflicts_with_all = ["event", "sigma"])]
    pub(crate) model: Option<PathBuf>,
    /// A JSON file with an event
    #[arg(long, conflicts_with = "sigma")]
    pub(crate) event: Option<PathBuf>,
    /// Noise over clip norm
    #[arg(long, allow_negative_numbers = true, required_unless_present_any = ["model", "event"])]
    pub(crate) sigma: Option<f64>,
    /// Probability of exceeding epsilon; the model's, or 1e-6, if not given
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) delta: Option<f64>,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}

#[derive(Args, Debug)]
pub(crate) struct CalcArgs {
    /// NAMESPACE.FORMULA and its arguments as key=value
    #[arg(value_name = "FORMULA key=value", required_unless_present = "namespace")]
    pub(crate) formula: Vec<String>,
    /// The namespace of --batch or --list
    #[arg(long)]
    pub(crate) namespace: Option<String>,
    /// A JSON list of {"formula", "inputs"}; prints a JSON list of {"formula", "value"} or {"formula", "error"}
    #[arg(long, requires = "namespace")]
    pub(crate) batch: Option<PathBuf>,
    /// List the formulas of the namespace
    #[arg(long, requires = "namespace")]
    pub(crate) list: bool,
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

#[derive(Subcommand, Debug)]
pub(crate) enum LedgerAction {
    /// Make a ledger: what may be lost in all
    #[command(
        after_help = "Example:\n  reticent ledger init clinic.ledger --epsilon 1 --delta 1e-6"
    )]
    Init {
        /// The file to make
        ledger: PathBuf,
        /// Allowed privacy loss of everything together
        #[arg(long, allow_negative_numbers = true)]
        epsilon: f64,
        /// Probability of exceeding it
        #[arg(long, default_value_t = 1e-6, allow_negative_numbers = true)]
        delta: f64,
        /// Which tables must be hard to tell apart: replace-one, add-remove-one or zero-out
        #[arg(long, default_value = "replace-one")]
        adjacency: String,
        /// How plans made after a release are counted
        #[arg(long, value_enum, default_value = "auto")]
        filter: FilterName,
    },
    /// What has been spent and what is left
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
        /// Probability of exceeding it
        #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
        delta: f64,
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
    /// In Gaussian units: many small releases cost less than their sum; for Gaussian noise and sampled steps
    Gaussian,
    /// Epsilons add; for pure noise and objective perturbation
    Basic,
}

/// The losses by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LossName {
    Logistic,
    Softmax,
    Hinge,
    Power,
    Squared,
    Huber,
    /// Not convex
    Sigmoid,
    /// Not convex
    Welsch,
    /// Not convex
    Cauchy,
}

#[derive(Args, Debug)]
pub(crate) struct LossArgs {
    /// What a row costs; logistic for two classes, softmax for more, huber for numbers if not given
    #[arg(long, value_enum)]
    pub(crate) loss: Option<LossName>,
    /// The exponent of hinge (default 1) and power (default 2)
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) q: Option<f64>,
    /// Where huber turns linear and where welsch and cauchy flatten, on the scale of labels in [-1, 1]
    #[arg(long, default_value_t = 0.5, allow_hyphen_values = true)]
    pub(crate) threshold: f64,
}

impl LossArgs {
    /// The loss asked for, if any.
    pub(crate) fn chosen(&self, classes: usize) -> Option<Loss> {
        Some(match self.loss? {
            LossName::Logistic => Loss::Logistic,
            LossName::Softmax => Loss::Softmax { classes },
            LossName::Hinge => Loss::Hinge { q: self.q.unwrap_or(1.0) },
            LossName::Power => Loss::Power { q: self.q.unwrap_or(2.0) },
            LossName::Squared => Loss::Squared,
            LossName::Huber => Loss::Huber { threshold: self.threshold },
            LossName::Sigmoid => Loss::Sigmoid,
            LossName::Welsch => Loss::Welsch { threshold: self.threshold },
            LossName::Cauchy => Loss::Cauchy { threshold: self.threshold },
        })
    }
}

/// The kernels by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KernelName {
    /// exp(-|v|^2/2)
    Gaussian,
    /// exp(-|v|_1)
    Laplace,
    /// The product of 1/(1 + v_j^2)
    Cauchy,
    /// Between laplacian (nu 1/2) and gaussian (nu infinite)
    Matern,
    /// (1 + |v|^2/(2 shape))^-shape
    RationalQuadratic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MapName {
    /// Each on its own
    #[value(alias = "plain")]
    Independent,
    /// Orthogonal within blocks: less variance
    Orthogonal,
    /// By Walsh-Hadamard transforms: nearly orthogonal, and fast for many columns
    Structured,
    /// By two Walsh-Hadamard transforms: unbiased, and fast for many columns
    Fastfood,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormName {
    /// A cosine and a sine of each frequency: the shorter rows, so the less noise
    Paired,
    /// A cosine with a random phase of each frequency
    Cosine,
}

#[derive(Args, Debug)]
pub(crate) struct KernelArgs {
    /// Fit a kernel model: random features of this kernel take the place of the columns
    #[arg(long, value_enum)]
    pub(crate) kernel: Option<KernelName>,
    /// How far apart rows are that resemble each other, on the scale of encoded columns; half the bound on a row's norm if not given
    #[arg(long, requires = "kernel", allow_hyphen_values = true)]
    pub(crate) bandwidth: Option<f64>,
    /// Number of random features; n^0.6 ln(20 n), at most 16384, if not given
    #[arg(long, requires = "kernel", allow_hyphen_values = true)]
    pub(crate) features: Option<usize>,
    /// How the frequencies belong together; structured from 64 encoded columns on, orthogonal below, independent for laplace and cauchy, if not given
    #[arg(long, value_enum, requires = "kernel")]
    pub(crate) map: Option<MapName>,
    /// How a frequency becomes features
    #[arg(long, value_enum, requires = "kernel", default_value = "paired")]
    pub(crate) form: FormName,
    /// The smoothness of the matern kernel
    #[arg(long, requires = "kernel", default_value_t = 1.5, allow_hyphen_values = true)]
    pub(crate) nu: f64,
    /// The shape of the rational-quadratic kernel
    #[arg(long, requires = "kernel", default_value_t = 1.0, allow_hyphen_values = true)]
    pub(crate) shape: f64,
    /// Draw the frequencies from this seed; it is public, and the noise never comes from it
    #[arg(long, requires = "kernel", value_name = "SEED")]
    pub(crate) map_seed: Option<u64>,
}

impl KernelArgs {
    /// The kernel model asked for, if any.
    pub(crate) fn choice(&self) -> Option<KernelChoice> {
        let kernel = match self.kernel? {
            KernelName::Gaussian => Kernel::Gaussian,
            KernelName::Laplace => Kernel::Laplace,
            KernelName::Cauchy => Kernel::Cauchy,
            KernelName::Matern => Kernel::Matern { nu: self.nu },
            KernelName::RationalQuadratic => Kernel::RationalQuadratic { shape: self.shape },
        };
        Some(KernelChoice {
            kernel,
            bandwidth: self.bandwidth,
            features: self.features,
            construction: self.map.map(|map| match map {
                MapName::Independent => Construction::Independent,
                MapName::Orthogonal => Construction::Orthogonal,
                MapName::Structured => Construction::Structured,
                MapName::Fastfood => Construction::Fastfood,
            }),
            form: match self.form {
                FormName::Paired => Form::Paired,
                FormName::Cosine => Form::Cosine,
            },
        })
    }
}

#[derive(Args, Debug)]
pub(crate) struct BudgetArgs {
    /// Allowed privacy loss, > 0; `inf` promises nothing and adds no noise
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) epsilon: f64,
    /// Probability of exceeding it; 0 for pure DP; min(1e-6, 1/(10 n)) if not given
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CalibrationName {
    /// The least noise that we can prove
    Tight,
    /// As proven in the paper, errata corrected
    Paper,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NoiseName {
    Auto,
    Gaussian,
    Ball,
    GeneralizedGaussian,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputName {
    /// The mean of all iterates
    Average,
    /// The mean of the later half
    TailAverage,
    /// The last one
    Last,
    /// A random one
    Random,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderName {
    /// One row, in passes over all of them
    Passes,
    /// One uniform row, independent of all others
    WithReplacement,
    /// All rows
    Full,
}

impl OrderName {
    fn order(self) -> Order {
        match self {
            Self::Passes => Order::Passes,
            Self::WithReplacement => Order::WithReplacement,
            Self::Full => Order::Full,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct SettingsArgs {
    /// The algorithm; auto takes the preferred one, else the best predicted risk
    #[arg(long, default_value = "auto")]
    pub(crate) algorithm: String,
    /// How the noise is calibrated
    #[arg(long, value_enum, default_value = "tight")]
    pub(crate) calibration: CalibrationName,
    /// The noise; generalized-gaussian is for mirror descent
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) noise: NoiseName,
    /// Ridge (mu/2)|w|^2 on every weight; chosen without looking at data if not given
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) mu: Option<f64>,
    /// Keep the weights in a set of this radius: a Euclidean ball unless `set` names another
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) radius: Option<f64>,
    #[command(flatten)]
    pub(crate) set: SetArgs,
    /// Clamp the slope of the loss, so that its gradient is bounded
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) slope_limit: Option<f64>,
    /// Number of steps
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) steps: Option<u64>,
    /// Length of a step
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) eta: Option<f64>,
    /// A guess of the best weights' norm: tunes the run, never the guarantee
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) distance: Option<f64>,
    /// Cap the number of steps that is chosen where none is given
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) max_steps: Option<u64>,
    /// Passes over the rows
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) passes: Option<u64>,
    /// Which rows a step of least squares uses
    #[arg(long, value_enum)]
    pub(crate) order: Option<OrderName>,
    /// Leave the residuals of least squares unclamped
    #[arg(long)]
    pub(crate) exact: bool,
    /// Rows that a step uses; the expected number where they are sampled
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) batch: Option<u64>,
    /// The norm to which a row's gradient is clipped
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) clip: Option<f64>,
    /// Choose the clip norm privately, near the smallest per-row Lipschitz constant, spending this much of epsilon
    #[arg(long, value_name = "EPSILON", allow_hyphen_values = true)]
    pub(crate) clip_selection: Option<f64>,
    /// Where the grid of that choice begins
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) clip_low: Option<f64>,
    /// Where it ends
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) clip_high: Option<f64>,
    /// Clip for heavy tails: a bound on E[G^k]^(1/k) of the gradients' lengths G, known without the data
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) gradient_moment: Option<f64>,
    /// The order k of that moment, above 1; `inf` for a bound on all of them; 2 if not given
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) moment_order: Option<f64>,
    /// How often the risk bound may fail over the draw of the table; 0.1 if not given
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) moment_failure: Option<f64>,
    /// Beyond this distance from the best weights the loss grows
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) growth_radius: Option<f64>,
    /// A bound on the curvature of the averaged loss, where rows give none: tunes the run, never the guarantee
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) smoothness: Option<f64>,
    /// Which iterate of noisy steps is released; all cost the same
    #[arg(long, value_enum)]
    pub(crate) output: Option<OutputName>,
    /// Put a layer of this many tanh units before the outputs; 256 if no number is given
    #[arg(long, num_args = 0..=1, default_missing_value = "256", value_name = "WIDTH")]
    pub(crate) hidden: Option<usize>,
    /// A bound on the standard deviation of a row's gradient, where the rows have none: tunes the run, never the guarantee
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) deviation: Option<f64>,
    /// Use the sharper sensitivity of the logistic loss along the trajectory
    #[arg(long)]
    pub(crate) trajectory: bool,
}

impl SettingsArgs {
    /// What was fixed.
    pub(crate) fn request(&self) -> Request {
        let calibration = match self.calibration {
            CalibrationName::Tight => Calibration::Tight,
            CalibrationName::Paper => Calibration::Paper,
        };
        let noise = match self.noise {
            NoiseName::Auto => NoiseChoice::Auto,
            NoiseName::Gaussian => NoiseChoice::Gaussian,
            NoiseName::Ball => NoiseChoice::Ball,
            NoiseName::GeneralizedGaussian => NoiseChoice::GeneralizedGaussian,
        };
        Request {
            calibration,
            noise,
            ridge: self.mu,
            steps: self.steps,
            eta: self.eta,
            distance: self.distance,
            trajectory: self.trajectory,
            max_steps: self.max_steps,
            passes: self.passes,
            order: self.order.map(OrderName::order),
            exact: self.exact,
            batch: self.batch,
            clip: self.clip,
            clip_selection: self.clip_selection,
            clip_low: self.clip_low,
            clip_high: self.clip_high,
            gradient_moment: self.gradient_moment,
            moment_order: self.moment_order,
            moment_failure: self.moment_failure,
            growth_radius: self.growth_radius,
            smoothness: self.smoothness,
            output: self.output.map(|output| match output {
                OutputName::Average => Output::Average,
                OutputName::TailAverage => Output::TailAverage,
                OutputName::Last => Output::Last,
                OutputName::Random => Output::Random,
            }),
            // Of `--set lp` it is a part of the set, and mirror descent takes it from there.
            p: self.set.p.filter(|_| self.set.set != Some(SetName::Lp)),
            deviation: self.deviation,
        }
    }

    /// Where weights of this dimension may lie.
    pub(crate) fn domain(&self, dimension: usize) -> Result<Domain, reticent::Error> {
        self.set.domain(self.radius, dimension)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SetName {
    /// |w|_2 <= radius
    Ball,
    /// |w|_1 <= radius: few weights differ from zero
    L1,
    /// |w|_p <= radius
    Lp,
    /// w >= 0, adding up to radius
    Simplex,
    /// low <= w <= high
    Box,
    /// The norms of the groups add up to at most radius
    Group,
    /// The norm of each group is at most radius
    Product,
}

#[derive(Args, Debug)]
pub(crate) struct SetArgs {
    /// The shape of the set that the weights are kept in
    #[arg(long, value_enum)]
    pub(crate) set: Option<SetName>,
    /// The exponent of the norm in which weights are measured: of `--set lp`, and of mirror descent
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) p: Option<f64>,
    /// Lower ends of the box: one for all weights or one for each, separated by commas
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) low: Vec<f64>,
    /// Upper ends of the box: one for all weights or one for each, separated by commas
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) high: Vec<f64>,
    /// Sizes of consecutive groups of weights, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) groups: Vec<usize>,
    /// What the norm of each group counts; 1 if not given
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) group_weights: Vec<f64>,
}

impl SetArgs {
    fn domain(&self, radius: Option<f64>, dimension: usize) -> Result<Domain, reticent::Error> {
        let set = match (self.set, radius) {
            (None, None) => None,
            (None, Some(_)) => Some(SetName::Ball),
            (named, _) => named,
        };
        // A radius that was not given is no number, and is asked for when the problem is checked.
        let size = radius.unwrap_or(f64::NAN);
        let each = |values: &[f64]| match values {
            [one] => vec![*one; dimension],
            many => many.to_vec(),
        };
        let sizes = || self.groups.clone();
        let domain = match set {
            None => Domain::Unbounded,
            Some(SetName::Ball) => Domain::Ball { radius: size },
            Some(SetName::L1) => Domain::L1 { radius: size },
            Some(SetName::Lp) => match self.p.unwrap_or(f64::NAN) {
                1.0 => Domain::L1 { radius: size },
                2.0 => Domain::Ball { radius: size },
                f64::INFINITY => {
                    Domain::Box { low: vec![-size; dimension], high: vec![size; dimension] }
                }
                p => Domain::Lp { p, radius: size, dimension },
            },
            Some(SetName::Simplex) => Domain::Simplex { total: size },
            Some(SetName::Box) => Domain::Box { low: each(&self.low), high: each(&self.high) },
            Some(SetName::Group) => {
                let weights = (!self.group_weights.is_empty()).then(|| self.group_weights.clone());
                Domain::Group { radius: size, sizes: sizes(), weights }
            }
            Some(SetName::Product) => Domain::Product { radius: size, sizes: sizes() },
        };
        let is_box = set == Some(SetName::Box);
        let grouped = matches!(set, Some(SetName::Group | SetName::Product));
        for (name, wrong) in [
            ("low", !is_box && !self.low.is_empty()),
            ("high", !is_box && !self.high.is_empty()),
            ("radius", is_box && radius.is_some()),
            ("groups", !grouped && !self.groups.is_empty()),
            ("group_weights", set != Some(SetName::Group) && !self.group_weights.is_empty()),
        ] {
            if wrong {
                let set = domain.name();
                return Err(ProblemError::NotOfSet { name, set }.into());
            }
        }
        Ok(domain)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Normalize {
    /// Clip rows that are longer than the bound
    None,
    /// Put every row on the sphere
    Rows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RangeName {
    /// To [0, 1]
    Unit,
    /// To [-1, 1]
    Symmetric,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrecisionName {
    /// Sparse for mostly one-hot rows, f64 otherwise
    Auto,
    F32,
    F64,
    Sparse,
}

/// A norm that rows are clipped to, or none at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FeatureNorm {
    /// This one.
    Number(f64),
    /// Rows stay as they are.
    None,
}

impl FeatureNorm {
    /// The norm, if there is one.
    pub(crate) fn number(self) -> Option<f64> {
        match self {
            Self::Number(norm) => Some(norm),
            Self::None => None,
        }
    }
}

impl std::str::FromStr for FeatureNorm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            number => number
                .parse()
                .map(Self::Number)
                .map_err(|_| "it must be a finite number > 0 or `none`".to_owned()),
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct EncodingArgs {
    /// Clip rows to this norm, intercept included; the schema's exact bound if not given; `none` clips nothing and
    /// declares no bound, for algorithms that need none
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) feature_norm: Option<FeatureNorm>,
    /// Whether to put every row on the sphere
    #[arg(long, value_enum, default_value = "none")]
    pub(crate) normalize: Normalize,
    /// Where numeric columns are scaled to
    #[arg(long, value_enum, default_value = "unit")]
    pub(crate) numeric_range: RangeName,
    /// Append no constant feature
    #[arg(long)]
    pub(crate) no_intercept: bool,
    /// Declared features to leave out, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) drop: Vec<String>,
    /// How rows are held in memory
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) precision: PrecisionName,
}

impl EncodingArgs {
    /// The encoding asked for.
    pub(crate) fn encoding(&self) -> Encoding {
        Encoding {
            numeric_range: match self.numeric_range {
                RangeName::Unit => NumericRange::Unit,
                RangeName::Symmetric => NumericRange::Symmetric,
            },
            intercept: !self.no_intercept,
            feature_norm: self.feature_norm.and_then(FeatureNorm::number),
            unbounded_rows: self.feature_norm == Some(FeatureNorm::None),
            normalize_rows: self.normalize == Normalize::Rows,
            drop: self.drop.clone(),
            precision: match self.precision {
                PrecisionName::F32 => Precision::F32,
                PrecisionName::Sparse => Precision::Sparse,
                PrecisionName::F64 | PrecisionName::Auto => Precision::F64,
            },
        }
    }

    /// Whether the layout decides how rows are held.
    pub(crate) fn precision_is_auto(&self) -> bool {
        self.precision == PrecisionName::Auto
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
