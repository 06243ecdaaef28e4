//! How columns become features, and what a row costs.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};
use reticent::problem::declaration::{BALANCED, Encoding, NumericRange, Precision};
use reticent::problem::loss::{About, Parameters, Thresholds};
use reticent::problem::{Loss, ProblemError};

#[derive(Args, Debug)]
pub(crate) struct LossArgs {
    /// The loss; logistic for two classes, softmax for more, huber for regression if not given
    #[arg(long, value_parser = loss_names())]
    pub(crate) loss: Option<String>,
    /// The exponent of a loss that has one: hinge (default 1), power (default 2), tweedie (default
    /// 1.5)
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) q: Option<f64>,
    /// The threshold of a loss that has one, on the scale of encoded labels: where huber turns
    /// linear and where welsch and cauchy flatten (default 0.5)
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) threshold: Option<f64>,
    /// Which quantile the pinball loss estimates (default 0.5, the median)
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) quantile: Option<f64>,
    /// The dispersion of negative-binomial, times the declared maximum of the target (default 10)
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) dispersion: Option<f64>,
    /// About which part of the rows has each level, for the ordinal loss: one number for each, from
    /// the lowest to the highest, as 0.1,0.3,0.4,0.2; known without the data
    #[arg(long, value_delimiter = ',', value_name = "P,P,...")]
    pub(crate) shares: Option<Vec<f64>>,
    /// How much farther apart the thresholds of the ordinal loss lie than the log-odds of the
    /// shares: 1 where features tell little, 2 where they explain two thirds (default 1.2)
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) stretch: Option<f64>,
}

impl LossArgs {
    /// The loss asked for, or the one called `default` with the parameters that were given.
    pub(crate) fn chosen(&self, default: &str, classes: usize) -> Result<Loss, ProblemError> {
        let Self { q, threshold, quantile, dispersion, .. } = *self;
        let stretch = self.stretch.unwrap_or(Thresholds::STRETCH);
        let of_shares = |shares| Thresholds::of_shares(shares, stretch);
        let thresholds = self.shares.as_deref().map(of_shares).transpose()?;
        let parameters = Parameters { classes, q, threshold, quantile, dispersion, thresholds };
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
    /// Sparse for libsvm files and mostly one-hot rows; of dense ones f32 from 256 features on, f64
    /// below
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

/// Two columns of an interaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair(String, String);

impl std::str::FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some((one, other)) if !one.trim().is_empty() && !other.trim().is_empty() => {
                Ok(Self(one.trim().to_owned(), other.trim().to_owned()))
            }
            _ => Err("it must be two columns with a colon between them, as `hour:weekday`; name columns with a colon in the schema's `interactions`".to_owned()),
        }
    }
}

/// How much the rows of a class count.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClassWeight(String, f64);

impl std::str::FromStr for ClassWeight {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "balanced" {
            return Err(format!("`balanced` {BALANCED}"));
        }
        // A class may hold an equals sign itself.
        let parts = text.rsplit_once('=').map(|(class, weight)| (class.trim(), weight.trim()));
        match parts.map(|(class, weight)| (class, weight.parse())) {
            Some((class, Ok(weight))) if !class.is_empty() => Ok(Self(class.to_owned(), weight)),
            _ => Err("it must be a class, an equals sign and its weight, as `yes=9`".to_owned()),
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct EncodingArgs {
    /// Clip rows to this norm, intercept included; the schema's exact bound if not given; `none`
    /// clips nothing and declares no bound, for algorithms that need none
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) feature_norm: Option<FeatureNorm>,
    /// Whether to put every row on the sphere
    #[arg(long, value_enum, default_value = "none")]
    pub(crate) normalize: Normalize,
    /// Where numeric columns are scaled to; unit if not given, symmetric with --intervals
    #[arg(long, value_enum)]
    pub(crate) numeric_range: Option<RangeName>,
    /// Append no constant feature
    #[arg(long)]
    pub(crate) no_intercept: bool,
    /// Declared features to leave out, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) drop: Vec<String>,
    /// Enter every number as it is: one weight for each numeric column, a line; for columns that
    /// declare no basis
    #[arg(long, conflicts_with = "knots")]
    pub(crate) linear: bool,
    /// A curve with this many knots for every numeric column that declares no basis; by default the
    /// planner chooses a number, or lines, from the number of rows, columns and epsilon
    #[arg(long, value_name = "K")]
    pub(crate) knots: Option<usize>,
    /// Pairs of columns that get a surface, as `hour:weekday,age:sex`, in place of the schema's
    /// `interactions`
    #[arg(long, value_delimiter = ',', value_name = "A:B")]
    pub(crate) pairs: Option<Vec<Pair>>,
    /// How much rows of a class count, as `yes=9`, from what is publicly known; once for each class
    /// that does not weigh 1
    #[arg(long, value_name = "CLASS=W", allow_hyphen_values = true)]
    pub(crate) class_weight: Vec<ClassWeight>,
    /// How rows are held in memory
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) precision: PrecisionName,
}

impl EncodingArgs {
    /// The encoding asked for.
    pub(crate) fn encoding(&self) -> Encoding {
        Encoding {
            numeric_range: match self.numeric_range {
                None | Some(RangeName::Unit) => NumericRange::Unit,
                Some(RangeName::Symmetric) => NumericRange::Symmetric,
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
            knots: self.knots,
            interactions: self.pairs.as_ref().map(|pairs| {
                pairs.iter().map(|Pair(one, other)| vec![one.clone(), other.clone()]).collect()
            }),
            class_weights: (!self.class_weight.is_empty()).then(|| {
                let each = self.class_weight.iter();
                each.map(|ClassWeight(class, weight)| (class.clone(), *weight)).collect()
            }),
            max_weight: None,
        }
    }

    /// Whether the layout decides how rows are held.
    pub(crate) fn precision_is_auto(&self) -> bool {
        self.precision == PrecisionName::Auto
    }
}
