//! Commands about events: account, calibrate, explain, calc.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use reticent::privacy::risk::Risk;

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
    /// The name in flags, files and messages.
    pub(crate) fn name(self) -> &'static str {
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
    /// delta: additive slack of the guarantee
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
    #[arg(
        long,
        required_unless_present_any = ["max_advantage", "max_tpr"],
        requires = "delta",
        allow_negative_numbers = true
    )]
    pub(crate) epsilon: Option<f64>,
    /// delta: additive slack of the guarantee; with a risk in place of epsilon, the delta at which
    /// epsilon is printed, 1e-6 if not given
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) delta: Option<f64>,
    #[command(flatten)]
    pub(crate) risk: RiskArgs,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}

/// Bounds on any attack, in place of epsilon.
#[derive(Args, Debug)]
pub(crate) struct RiskArgs {
    /// In place of epsilon: the most by which the true-positive rate of any attack may exceed its
    /// false-positive rate
    #[arg(long, value_name = "A", conflicts_with = "epsilon", allow_negative_numbers = true)]
    pub(crate) max_advantage: Option<f64>,
    /// In place of epsilon: the largest true-positive rate of any attack at --at-fpr
    #[arg(
        long,
        value_name = "T",
        requires = "at_fpr",
        conflicts_with_all = ["epsilon", "max_advantage"],
        allow_negative_numbers = true
    )]
    pub(crate) max_tpr: Option<f64>,
    /// The false-positive rate of --max-tpr
    #[arg(long, value_name = "F", requires = "max_tpr", allow_negative_numbers = true)]
    pub(crate) at_fpr: Option<f64>,
}

impl RiskArgs {
    /// The risk that was given, if one was.
    pub(crate) fn given(&self) -> Result<Option<Risk>, reticent::Error> {
        let risk = match (self.max_advantage, self.max_tpr, self.at_fpr) {
            (Some(most), _, _) => Risk::Advantage { most },
            (None, Some(most), Some(false_positive_rate)) => {
                Risk::TruePositiveRate { most, false_positive_rate }
            }
            (None, _, _) => return Ok(None),
        };
        risk.check()?;
        Ok(Some(risk))
    }
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
    /// delta: additive slack of the guarantee; the model's, or 1e-6, if not given
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) delta: Option<f64>,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}

#[derive(Args, Debug)]
pub(crate) struct CalcArgs {
    /// NAMESPACE.FORMULA and its arguments as key=value
    #[arg(value_name = "FORMULA key=value", required_unless_present_any = ["namespace", "list"])]
    pub(crate) formula: Vec<String>,
    /// The namespace of --batch or --list
    #[arg(long)]
    pub(crate) namespace: Option<String>,
    /// A JSON list of {"formula", "inputs"}; prints a JSON list of {"formula", "value"} or
    /// {"formula", "error"}
    #[arg(long, requires = "namespace")]
    pub(crate) batch: Option<PathBuf>,
    /// List the formulas of the namespace, or of all
    #[arg(long)]
    pub(crate) list: bool,
}
