//! The errors that a user sees.

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
        /// The expected form of a label.
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
        /// The kind of target that the loss needs.
        needs: &'static str,
        /// The target.
        target: String,
        /// The kind of target that is declared.
        has: String,
        /// The losses that fit.
        instead: &'static str,
    },
    /// A file cannot be written or read.
    #[error("cannot {verb} `{file}`: {why}; check the path and its permissions")]
    File {
        /// Read or write.
        verb: &'static str,
        /// The file.
        file: String,
        /// The operating system's message.
        why: String,
    },
    /// A file that states what only the curator of a release knows, and lacks something.
    #[error("`{file}` {why}")]
    Owner {
        /// The file.
        file: String,
        /// The reason and the remedy.
        why: String,
    },
    /// A document that needs a model that verifies.
    #[error(
        "`{file}` does not verify ({check}): a registry's entry or a model card states a guarantee; see `reticent verify`, or write the HTML report"
    )]
    NotVerified {
        /// The model file.
        file: String,
        /// The first check that fails.
        check: &'static str,
    },
    /// A target that the table does not name.
    #[error("the table has no column `{target}`: name one of its header as `--target`")]
    UnknownTarget {
        /// The name given.
        target: String,
    },
    /// The draft of a schema cannot be counted in.
    #[error(
        "the schema was filled in from the table, and its cost cannot be added to the model's: {why}; write the schema again with `reticent schema draft`, under the model's adjacency"
    )]
    Draft {
        /// The reason.
        why: String,
    },
    /// A risk in place of epsilon, with a schema that a draft filled in.
    #[error(
        "a risk needs a schema that no draft filled in: its epsilon would follow from the draft's noise, and no cost of both together could be stated; give `epsilon` in its place"
    )]
    RiskAfterDraft,
    /// A draft that a ledger is to go without.
    #[error(
        "`{ledger}` was not charged for the draft of the schema (epsilon = {epsilon}), and its budget covers what the model's file tells: write the schema again with `reticent schema draft --ledger {ledger}`, or name the ledger that paid for it"
    )]
    UnpaidDraft {
        /// The epsilon of the draft.
        epsilon: f64,
        /// The ledger.
        ledger: String,
    },
    /// A curve that cannot be made monotone.
    #[error(
        "`{column}` cannot be made monotone: {why}; `reticent curves` lists the curves of a model"
    )]
    NotMonotone {
        /// The column.
        column: String,
        /// The reason.
        why: &'static str,
    },
    /// A file that is not replaced.
    #[error("cannot write `{file}`: {why}")]
    NotReplaced {
        /// The file.
        file: String,
        /// The kind of file and the remedy.
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
    /// A file would be written among those of a table.
    #[error(
        "`{written}` must not lie in the folder of `{other}`, whose files are one table, got `{file}`; name a file in another folder"
    )]
    WithinTable {
        /// The argument that names the file to write.
        written: &'static str,
        /// The argument that names the folder.
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
        /// The operating system's message.
        why: String,
        /// The ledger.
        ledger: String,
    },
    /// A release that the ledger could not record. The model waits under a hidden name.
    #[error(
        "{why}; the model is paid for and waits beside `{file}`: get it with `reticent ledger recover {ledger} --out {file}` once the ledger can be written"
    )]
    NotRecorded {
        /// The error of the ledger.
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
        /// The text given.
        text: String,
        /// The reason.
        why: String,
    },
    /// A key, or a list of keys, that cannot be used.
    #[error("cannot use `{file}`: {why}")]
    Signature {
        /// The file.
        file: String,
        /// The reason and the remedy.
        why: String,
    },
    /// A checkpoint that cannot be used.
    #[error("cannot use the checkpoint `{file}`: {why}")]
    Checkpoint {
        /// The file.
        file: String,
        /// The reason and the remedy.
        why: String,
    },
    /// A ledger that cannot be used.
    #[error("cannot use the ledger `{file}`: {why}")]
    Ledger {
        /// The file.
        file: String,
        /// The reason and the remedy.
        why: String,
    },
    /// The ledger's budget does not bear it. Nothing was drawn and no row was read.
    #[error("{why}")]
    OverBudget {
        /// The charge that does not fit, the remaining budget, and the remedy.
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
        /// The reason.
        why: String,
    },
    /// A plan that could not be read from the model file. Nothing was drawn and no row was read.
    #[error(
        "the plan holds a number that cannot be read from a model file ({why}): choose other settings, or another `algorithm`"
    )]
    Unreadable {
        /// The reason.
        why: String,
    },
    /// A model that another version wrote.
    #[error(
        "`{file}` was written by another version (`{format}`), and this one reads `{}`: use that version, or fit again",
        crate::model::FORMAT
    )]
    OtherVersion {
        /// The file.
        file: String,
        /// Its format.
        format: String,
    },
    /// Not a model.
    #[error("`{file}` is not a reticent model: {why}; make one with `reticent fit`")]
    NotAModel {
        /// The file.
        file: String,
        /// The reason.
        why: String,
    },
}
