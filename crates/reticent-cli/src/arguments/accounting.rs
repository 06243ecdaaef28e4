//! Commands about events: account, calibrate, explain, calc.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

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
