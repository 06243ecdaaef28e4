//! The command line, defined once: help, completions and parsing all come from here.

mod accounting;
mod data;
mod declared;
mod encoding;
mod help;
mod input;
mod kernel;
mod ledger;
mod method;
mod model;
mod schema;
mod set;
mod verify;

use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::command::reproduce::Reproduce;

pub(crate) use accounting::{
    AccountArgs, AccountantName, CalcArgs, CalibrateArgs, ExplainArgs, SamplingArgs, SamplingName,
};
pub(crate) use data::{CheckArgs, DataAction};
pub(crate) use declared::as_typed;
pub(crate) use encoding::{EncodingArgs, FeatureNorm, LossArgs};
pub(crate) use input::DataArgs;
pub(crate) use ledger::{FilterName, LedgerAction};
pub(crate) use method::MethodArgs;
pub(crate) use model::{
    AuditArgs, CoefficientsArgs, CurvesArgs, DemoArgs, DemoTable, EvaluateArgs, FitArgs, PlanArgs,
    PredictArgs, RankArgs, ReportArgs, ReportFormat, TableArgs, TuneArgs, UnitArgs,
};
pub(crate) use schema::{DraftArgs, InitArgs, SchemaAction};
pub(crate) use verify::{SignArgs, VerifyArgs};

/// Train models that keep quiet about the people they learned from.
///
/// State what is public about a table (a schema), say how much privacy loss is allowed (epsilon),
/// and get a model with a certificate that anyone can re-check without the data.
#[derive(Parser, Debug)]
#[command(
    name = "reticent",
    version,
    arg_required_else_help = true,
    after_help = "Start here:\n  reticent demo\n  reticent schema check patients.schema.json\n  reticent plan --n 30000 --d 106 --loss logistic --epsilon 1\n  reticent fit --data patients.csv --schema patients.schema.json --epsilon 1 --out model.json\n  reticent verify model.json"
)]
pub(crate) struct Cli {
    /// Print one JSON object on standard output; remarks go to standard error
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// The definition of the command line.
    pub(crate) fn definition() -> clap::Command {
        // A schema may be made from a data dictionary alone.
        let optional = |init: clap::Command| {
            init.mut_arg("data", |data| data.required_unless_present("dictionary"))
        };
        help::with_short_help(Self::command())
            .mut_subcommand("schema", |schema| schema.mut_subcommand("init", optional))
    }

    /// The parsed command line.
    pub(crate) fn typed() -> Result<Self, clap::Error> {
        Self::from_arg_matches(&Self::definition().try_get_matches()?)
    }
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Plan, fit and verify on a built-in synthetic census of 50,000 rows
    ///
    /// Writes census.csv, census_test.csv, census.schema.json, model.json and report.html, and
    /// compares the private model with a non-private one, with a smaller epsilon and with the
    /// majority.
    #[command(after_help = "Example:\n  reticent demo --out my-demo --epsilon 0.5")]
    Demo(DemoArgs),
    /// Rank the algorithms for a problem by the accuracy they are expected to retain. Reads no data
    ///
    /// With several epsilons it shows the expected accuracy over epsilon, so that one can be chosen
    /// before anything is spent.
    #[command(
        after_help = "Examples:\n  reticent plan --n 30000 --d 106 --loss logistic --epsilon 1 --delta 1e-6\n  reticent plan --n 30000 --schema adult.schema.json --epsilon 0.1,0.3,1,3"
    )]
    Plan(RankArgs),
    /// Attack an algorithm as implemented: an empirical lower bound on epsilon
    ///
    /// Runs the plan many times on two neighbouring tables that differ in a row at the declared
    /// bounds, and says how well an attacker can tell them apart. With --single-run it runs once,
    /// with many such rows. Exit code 1 if what it finds contradicts the claim.
    #[command(
        after_help = "Examples:\n  reticent audit --algorithm output-gd --n 100 --d 5 --loss logistic --epsilon 1 --delta 1e-5 --runs 20000\n  reticent audit --algorithm clipped-sgd --n 1000 --d 1000 --loss logistic --epsilon 4 --delta 1e-5 --single-run --canaries 1000"
    )]
    Audit(AuditArgs),
    /// Fit a private model to a table
    ///
    /// The table may be CSV, Parquet, Arrow, NumPy, IDX or libsvm. Bounds and categories come from
    /// the schema alone; rows outside are clamped, silently; `reticent data check` counts them for
    /// the owner.
    #[command(
        after_help = "Examples:\n  reticent fit --data adult.csv.gz --schema adult.schema.json --epsilon 1 --out model.json\n  reticent fit --data x.npy --labels y.npy --schema digits.schema.json --epsilon 2 --normalize rows"
    )]
    Fit(FitArgs),
    /// Try several settings on the private table itself, and publish the best run
    ///
    /// A random number of runs, each with settings drawn from a list and scored with noise; the
    /// best one is published and nothing else. The choice costs half to two thirds of epsilon,
    /// however many runs there are. Where `fit` with its own choice does, use that.
    #[command(
        after_help = "Examples:\n  reticent tune --data adult.csv.gz --schema adult.schema.json --epsilon 2 --out model.json\n  reticent tune --data adult.csv.gz --schema adult.schema.json --epsilon 2 --try \"objective\" --try \"objective ridge=0.001\" --try \"clipped-sgd clip=0.5\""
    )]
    Tune(TuneArgs),
    /// Predict with a model
    ///
    /// Says how many cells are missing, outside the bounds, undeclared or unreadable: predictions
    /// tell of the rows in any case.
    #[command(
        after_help = "Example:\n  reticent predict --model model.json --data new.csv --keep-columns id --out predictions.csv"
    )]
    Predict(PredictArgs),
    /// Measure a model on other rows: accuracy, AUC, log loss, calibration, errors; by group
    ///
    /// Without --epsilon the metrics are exact, for rows that may be public. It says how many cells
    /// are missing, outside the bounds, undeclared or unreadable, and leaves rows with an unknown
    /// label out of the metrics. Exit code 2 if more than half of the labels are unknown. With
    /// --epsilon the rows may be private: metrics are computed from counts with noise.
    #[command(
        after_help = "Examples:\n  reticent evaluate --model model.json --data test.csv\n  reticent evaluate --model model.json --data test.csv --by sex --threshold 0.3\n  reticent evaluate --model model.json --data test.csv --cost-fp 1 --cost-fn 20\n  reticent evaluate --model model.json --data private.csv --epsilon 0.5 --ledger clinic.ledger"
    )]
    Evaluate(EvaluateArgs),
    /// Recompute a model's certificate and say PASS or FAIL (exit code 0 or 1)
    ///
    /// Says what was recomputed, what the file only states, and what is not covered. With --ledger
    /// it compares the model with the record of its release; with --allowed-signers it checks who
    /// signed the file. Of a file that is not a model it checks the signature alone.
    #[command(
        after_help = "Examples:\n  reticent verify model.json\n  reticent verify model.json --ledger clinic.ledger\n  reticent verify model.json --allowed-signers signers --signer ann@clinic.org\n  reticent verify report.html --allowed-signers signers"
    )]
    Verify(VerifyArgs),
    /// Sign a file with an OpenSSH key: writes FILE.sig
    ///
    /// The signature is OpenSSH's own, in the namespace `reticent`:
    /// `ssh-keygen -Y verify -n reticent` reads it, and `reticent verify` reads what
    /// `ssh-keygen -Y sign -n reticent` writes.
    #[command(after_help = "Example:\n  reticent sign model.json --key ~/.ssh/id_ed25519")]
    Sign(SignArgs),
    /// Write a model's report for people, its entry for the public registry of deployments, or its
    /// model card
    ///
    /// The report is one HTML file in the order of NIST SP 800-226. The entry and the card are
    /// written only for a model that verifies; facts of a release that no program can know come
    /// from a file of the curator's, release.toml.
    #[command(
        after_help = "Examples:\n  reticent report model.json --out report.html\n  reticent report model.json --ledger clinic.ledger --audit audit.json\n  reticent report model.json --format registry --release release.toml\n  reticent report model.json --format card --evaluation evaluation.json"
    )]
    Report(ReportArgs),
    /// Print a model's coefficients with standard errors and confidence intervals
    ///
    /// For a model that was fitted with --intervals. The errors are of sampling and of privacy
    /// noise together; a coefficient that the noise hides is "not determined at this budget". All
    /// of it follows from what was released, so printing it costs no privacy.
    #[command(
        after_help = "Examples:\n  reticent fit --data adult.csv.gz --schema adult.schema.json --epsilon 2 --intervals 95 --out model.json\n  reticent coefficients model.json\n  reticent coefficients model.json --level 90 --csv > coefficients.csv"
    )]
    Coefficients(CoefficientsArgs),
    /// Print what each column adds to a model's prediction: curves, weights of categories, surfaces
    /// of pairs
    ///
    /// The values of a row's columns and pairs and the constant add up to its prediction: the
    /// target of a regression, the log-odds of a class. They follow from the released weights, so
    /// printing them costs no privacy.
    #[command(
        after_help = "Examples:\n  reticent curves model.json\n  reticent curves model.json --csv > curves.csv\n  reticent curves model.json --json\n  reticent curves model.json --monotone age:increasing --out edited.json"
    )]
    Curves(CurvesArgs),
    /// Keep a data set's budget across releases
    #[command(
        after_help = "Examples:\n  reticent ledger init clinic.ledger --epsilon 1 --delta 1e-6\n  reticent fit --data clinic.csv --schema clinic.schema.json --epsilon 0.3 --ledger clinic.ledger\n  reticent ledger show clinic.ledger"
    )]
    Ledger {
        #[command(subcommand)]
        action: LedgerAction,
    },
    /// Reproduce a published table: ours beside the paper's
    #[command(
        after_help = "Example:\n  reticent reproduce fashion-mnist --data datasets --seeds 3 --out reproduction"
    )]
    Reproduce {
        /// Which table
        #[command(subcommand)]
        what: Reproduce,
    },
    /// The privacy cost of repeated noisy sums: epsilon, with lower and upper bound
    ///
    /// Sigma is the standard deviation of the noise on the sum of clipped rows, divided by the clip
    /// norm.
    #[command(
        after_help = "Examples:\n  reticent account --sigma 1.2 --q 0.0083 --steps 3600 --sampling poisson --delta 1e-5 --adjacency add-remove\n  reticent account --sigma 5 --steps 10 --delta 1e-6"
    )]
    Account(AccountArgs),
    /// The smallest sigma for a budget, or for what an attacker may do at most
    #[command(
        after_help = "Examples:\n  reticent calibrate --epsilon 1 --delta 1e-6 --q 0.01 --steps 1000 --sampling poisson\n  reticent calibrate --max-advantage 0.1 --q 0.01 --steps 1000\n  reticent calibrate --max-tpr 0.05 --at-fpr 0.01 --q 0.01 --steps 1000"
    )]
    Calibrate(CalibrateArgs),
    /// Why the number is what it is: every accountant's bound, which is used and why, and the
    /// theorems
    #[command(
        after_help = "Examples:\n  reticent explain --model model.json\n  reticent explain --sigma 1.2 --q 0.01 --steps 1000 --sampling poisson --delta 1e-6\n  reticent explain --event event.json --delta 1e-6"
    )]
    Explain(ExplainArgs),
    /// Evaluate any formula by its name, through the functions that the library itself uses
    #[command(
        after_help = "Examples:\n  reticent calc output-gd.gd_sensitivity_tight G=2 mu=0 eta=4 T=10 n=1000\n  reticent calc --namespace output-gd --batch vectors.json\n  reticent calc --namespace output-gd --list"
    )]
    Calc(CalcArgs),
    /// List the algorithms: paper, assumptions, guarantee; of one of them also its settings
    #[command(after_help = "Examples:\n  reticent algorithms\n  reticent algorithms clipped-sgd")]
    Algorithms {
        /// The algorithm to list the settings of
        name: Option<String>,
    },
    /// Make a schema, check it and explain it
    Schema {
        #[command(subcommand)]
        action: SchemaAction,
    },
    /// Look at a private table before a budget is spent on it; for its owner
    Data {
        #[command(subcommand)]
        action: DataAction,
    },
    /// Write the manual pages: one for each command
    #[command(after_help = "Example:\n  reticent man --out ~/.local/share/man/man1")]
    Man {
        /// The folder to write to
        #[arg(long, default_value = "man")]
        out: PathBuf,
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
