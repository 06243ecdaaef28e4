//! The schema file as it is written, before anything is checked. It is read and never written: what
//! leaves is [`super::published`].

use std::collections::{BTreeMap, BTreeSet};

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::curve::Knots;

/// Fields that mean nothing here: their names, so that the owner can be told, and not their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Unknown(pub(super) BTreeSet<String>);

impl<'de> Deserialize<'de> for Unknown {
    #[allow(
        clippy::zero_sized_map_values,
        reason = "the file has a map, and its values are ignored"
    )]
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let fields = BTreeMap::<String, IgnoredAny>::deserialize(from)?;
        Ok(Self(fields.into_keys().collect()))
    }
}

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct RawDeclaration {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) task: Option<String>,
    #[serde(default)]
    pub(super) target: Option<String>,
    #[serde(default)]
    pub(super) positive_class: Option<Value>,
    #[serde(default)]
    pub(super) columns: Vec<RawColumn>,
    #[serde(default)]
    pub(super) interactions: Option<Vec<Vec<String>>>,
    #[serde(default)]
    pub(super) publish: Option<RawPublish>,
    #[serde(default)]
    pub(super) unit: Option<RawUnit>,
    /// The certificate of what was released to write the schema; not read here.
    #[serde(default)]
    pub(super) draft: Option<Value>,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

/// Whose rows count as one record: the column alone, or with the cap.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "NamedUnit")]
pub(super) struct RawUnit {
    pub(super) column: Option<String>,
    pub(super) max_rows: Option<u64>,
    pub(super) weighting: Option<String>,
    pub(super) unknown: Unknown,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum NamedUnit {
    Column(String),
    Whole(WholeUnit),
}

impl From<NamedUnit> for RawUnit {
    fn from(unit: NamedUnit) -> Self {
        match unit {
            NamedUnit::Column(column) => Self { column: Some(column), ..Self::default() },
            NamedUnit::Whole(WholeUnit { column, max_rows, weighting, unknown }) => {
                Self { column, max_rows, weighting, unknown }
            }
        }
    }
}

#[derive(Deserialize)]
struct WholeUnit {
    #[serde(default)]
    column: Option<String>,
    #[serde(default)]
    max_rows: Option<u64>,
    #[serde(default)]
    weighting: Option<String>,
    #[serde(flatten)]
    unknown: Unknown,
}

/// Further fields that the owner publishes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct RawPublish {
    #[serde(default)]
    pub(super) description: Option<String>,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

/// One column of the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct RawColumn {
    pub(super) name: String,
    #[serde(default)]
    pub(super) role: Option<String>,
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) categories: Option<Vec<Value>>,
    /// Where the categories come from.
    #[serde(default)]
    pub(super) categories_basis: Option<String>,
    /// The category that every undeclared one counts as.
    #[serde(default)]
    pub(super) other: Option<Value>,
    #[serde(default)]
    pub(super) missing: Option<Value>,
    #[serde(default)]
    pub(super) bounds: Option<RawRange>,
    #[serde(default)]
    pub(super) basis: Option<RawBasis>,
    /// Where the knots of the curve come from.
    #[serde(default)]
    pub(super) knots_basis: Option<String>,
    #[serde(default)]
    pub(super) shape: Option<Vec<u64>>,
    #[serde(default)]
    pub(super) dimension: Option<u64>,
    /// The form of a date.
    #[serde(default)]
    pub(super) format: Option<String>,
    #[serde(default)]
    pub(super) parts: Option<RawParts>,
    #[serde(default)]
    pub(super) hash: Option<RawHash>,
    /// The thousands separator.
    #[serde(default)]
    pub(super) thousands: Option<String>,
    #[serde(default)]
    pub(super) leaks_target: bool,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

/// Parts of a date: their names, or the form of each by its name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum RawParts {
    Names(Vec<String>),
    Forms(BTreeMap<String, String>),
}

/// Buckets for categories or words.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct RawHash {
    #[serde(default)]
    pub(super) buckets: Option<u64>,
    #[serde(default)]
    pub(super) seed: Option<u64>,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

/// The value under `bounds`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum RawRange {
    Object(RawBounds),
    /// Something else: refused with the column's name.
    Other(Other),
}

/// A value that is not looked at.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Other;

impl<'de> Deserialize<'de> for Other {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(from).map(|_| Self)
    }
}

impl RawColumn {
    /// The bounds, if they are an object.
    pub(super) fn range(&self) -> Option<&RawBounds> {
        match &self.bounds {
            Some(RawRange::Object(bounds)) => Some(bounds),
            _ => None,
        }
    }

    /// The column with a truth value's categories and type spelled out.
    pub(super) fn with_truth_values(mut self) -> Self {
        let kind = self.kind.as_deref().map(|kind| kind.trim().to_ascii_lowercase());
        if matches!(kind.as_deref(), Some("boolean" | "bool")) {
            self.kind = Some("categorical".to_owned());
            self.categories.get_or_insert_with(|| vec![Value::Bool(false), Value::Bool(true)]);
        }
        self
    }
}

/// The bounds of a column. Dates are bounded by text, so `min` and `max` stay open here.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct RawBounds {
    #[serde(default)]
    pub(super) min: Option<Value>,
    #[serde(default)]
    pub(super) max: Option<Value>,
    #[serde(default, alias = "norm_bound")]
    pub(super) l2_norm_max: Option<f64>,
    #[serde(default)]
    pub(super) unbounded: bool,
    #[serde(default)]
    pub(super) basis: Option<String>,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

impl RawBounds {
    /// Whether nothing is filled in, as in a skeleton.
    pub(super) fn is_blank(&self) -> bool {
        *self == Self::default()
    }
}

/// How a number enters the model: the word for it, or an object.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum RawBasis {
    Word(String),
    Object(RawCurve),
}

/// A curve as it is written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct RawCurve {
    #[serde(default)]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) knots: Option<Knots>,
    #[serde(default)]
    pub(super) scale: Option<String>,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

/// Marks of missing values with the wish for a feature of their own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct RawMissing {
    #[serde(default)]
    pub(super) marks: Option<Value>,
    #[serde(default)]
    pub(super) indicator: bool,
    /// The number that stands for a missing one, or `middle`.
    #[serde(default)]
    pub(super) fill: Option<Value>,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

/// Text, a number or true/false as the text a table would hold, without blanks around it.
pub(super) fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            Some(text.trim_matches(|c: char| c.is_ascii_whitespace()).to_owned())
        }
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}
