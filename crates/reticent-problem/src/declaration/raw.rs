//! The schema file as it is written, before anything is checked. It is read and never written: what
//! leaves is [`super::published`].

use std::collections::{BTreeMap, BTreeSet};

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

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
    pub(super) publish: Option<RawPublish>,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

/// What the owner wants to see published besides.
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
    #[serde(default)]
    pub(super) missing: Option<Value>,
    #[serde(default)]
    pub(super) bounds: Option<RawBounds>,
    #[serde(default)]
    pub(super) shape: Option<Vec<u64>>,
    #[serde(default)]
    pub(super) dimension: Option<u64>,
    #[serde(default)]
    pub(super) leaks_target: bool,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
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
