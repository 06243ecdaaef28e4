//! What can go wrong, for a user.

use reticent_data::OracleError;
use reticent_data::cluster::ClusterError;
use reticent_data::memory::TooLarge;
use reticent_noise::NoiseError;
use reticent_optim::{PlanError, RunError};
use reticent_privacy::PrivacyError;
use reticent_problem::ProblemError;
use reticent_problem::declaration::DeclarationError;
use reticent_table::stream::StreamError;
use reticent_table::table::TableError;

/// Any error of the library. Each says what to change; none quotes a row.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The declaration does not hold together.
    #[error(transparent)]
    Declaration(#[from] DeclarationError),
    /// The problem is not well stated.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The budget is not one.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// No plan exists.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The table cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// About a table that is larger than memory.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The rows do not fit into memory. Nothing was drawn and no row was read.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// Most labels of a public table are unknown.
    #[error(
        "{unknown} of {rows} cells of the target `{target}` name no label: expected {expected}; correct the table, or name the right column or `--labels`"
    )]
    UnknownLabels {
        /// How many are unknown.
        unknown: u64,
        /// Of how many.
        rows: u64,
        /// The target.
        target: String,
        /// What a label looks like.
        expected: String,
    },
    /// About a table on a cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The run ended without a release.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The rows cannot be served.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// The operating system gave no randomness.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// The loss and the target do not go together.
    #[error("`loss` = {loss} needs {needs}, and the target `{target}` has {has}; choose {instead}")]
    LossMismatch {
        /// The loss.
        loss: &'static str,
        /// What it needs.
        needs: &'static str,
        /// The target.
        target: String,
        /// What it has.
        has: String,
        /// What to do.
        instead: &'static str,
    },
    /// A file cannot be written or read.
    #[error("cannot {verb} `{file}`: {why}; check the path and its permissions")]
    File {
        /// Read or write.
        verb: &'static str,
        /// The file.
        file: String,
        /// What the operating system says.
        why: String,
    },
    /// A file that is not replaced.
    #[error("cannot write `{file}`: {why}")]
    NotReplaced {
        /// The file.
        file: String,
        /// What it is, and what to do.
        why: String,
    },
    /// A file that is written is also another one of the command.
    #[error(
        "`{written}` would replace the file of `{other}`: both name `{file}`; name another file for `{written}`"
    )]
    SamePath {
        /// The argument that names the file to write.
        written: &'static str,
        /// The argument whose file would be lost.
        other: &'static str,
        /// The file.
        file: String,
    },
    /// A model that is paid for and could not be saved. The ledger keeps it.
    #[error(
        "cannot write `{file}`: {why}; the model is paid for and the ledger keeps it: make room or name another file, and get it with `reticent ledger recover {ledger} --out FILE`"
    )]
    NotSaved {
        /// The file.
        file: String,
        /// What the operating system says.
        why: String,
        /// The ledger.
        ledger: String,
    },
    /// A release that the ledger could not record. The model waits under a hidden name.
    #[error(
        "{why}; the model is paid for and waits beside `{file}`: get it with `reticent ledger recover {ledger} --out {file}` once the ledger can be written"
    )]
    NotRecorded {
        /// What is wrong with the ledger.
        why: String,
        /// The file that was to be written.
        file: String,
        /// The ledger.
        ledger: String,
    },
    /// Something to try that cannot be read.
    #[error(
        "`try` must be an algorithm with its settings, such as \"clipped-sgd clip=0.5\", got \"{text}\": {why}; name them as `reticent fit --help` does"
    )]
    Try {
        /// What was given.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A key, or a list of keys, that cannot be used.
    #[error("cannot use `{file}`: {why}")]
    Signature {
        /// The file.
        file: String,
        /// Why, and what to do.
        why: String,
    },
    /// A checkpoint that cannot be used.
    #[error("cannot use the checkpoint `{file}`: {why}")]
    Checkpoint {
        /// The file.
        file: String,
        /// Why, and what to do.
        why: String,
    },
    /// A ledger that cannot be used.
    #[error("cannot use the ledger `{file}`: {why}")]
    Ledger {
        /// The file.
        file: String,
        /// Why, and what to do.
        why: String,
    },
    /// The ledger's budget does not bear it. Nothing was drawn and no row was read.
    #[error("{why}")]
    OverBudget {
        /// What does not fit, what is left, and what to do.
        why: String,
    },
    /// Arguments that do not go together.
    #[error("{0}")]
    Arguments(&'static str),
    /// Not an event.
    #[error(
        "`{file}` is not an event: {why}; write one like {{\"kind\": \"gaussian\", \"noise_multiplier\": 4, \"adjacency\": \"replace-one\"}}"
    )]
    NotAnEvent {
        /// The file.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// A plan that could not be read from the model file. Nothing was drawn and no row was read.
    #[error(
        "the plan holds a number that cannot be read from a model file ({why}): choose other settings, or another `algorithm`"
    )]
    Unreadable {
        /// What is wrong with it.
        why: String,
    },
    /// Not a model.
    #[error("`{file}` is not a reticent model: {why}; make one with `reticent fit`")]
    NotAModel {
        /// The file.
        file: String,
        /// What is wrong.
        why: String,
    },
}
