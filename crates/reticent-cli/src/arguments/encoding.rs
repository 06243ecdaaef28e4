//! How columns become features, and what a row costs.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};
use reticent::problem::declaration::{Encoding, NumericRange, Precision};
use reticent::problem::loss::{About, Parameters};
use reticent::problem::{Loss, ProblemError};

#[derive(Args, Debug)]
pub(crate) struct LossArgs {
    /// What a row costs; logistic for two classes, softmax for more, huber for numbers if not given
    #[arg(long, value_parser = loss_names())]
    pub(crate) loss: Option<String>,
    /// The exponent of a loss that has one: hinge (default 1), power (default 2)
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) q: Option<f64>,
    /// The threshold of a loss that has one, on the scale of encoded labels: where huber turns
    /// linear and where welsch and cauchy flatten (default 0.5)
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) threshold: Option<f64>,
}

impl LossArgs {
    /// The loss asked for, or the one called `default` with the parameters that were given.
    pub(crate) fn chosen(&self, default: &str, classes: usize) -> Result<Loss, ProblemError> {
        let parameters = Parameters { classes, q: self.q, threshold: self.threshold };
        Loss::named(self.loss.as_deref().unwrap_or(default), &parameters)
    }
}

/// The losses by name, each with its help.
fn loss_names() -> PossibleValuesParser {
    let value = |about: &&'static About| {
        PossibleValue::new(about.name).aliases(about.aliases).help(about.help)
    };
    Loss::ALL.iter().map(value).into()
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
    /// Sparse for libsvm files and mostly one-hot rows, f64 otherwise
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
