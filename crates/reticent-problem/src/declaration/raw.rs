//! The schema file as it is written, before anything is checked.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The whole file. Fields that Reticent does not use are kept, so that a declaration writes back as
/// it was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RawDeclaration {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) task: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) positive_class: Option<Value>,
    #[serde(default)]
    pub(super) columns: Vec<RawColumn>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

/// One column of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RawColumn {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<String>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) categories: Option<Vec<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) missing: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bounds: Option<RawBounds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shape: Option<Vec<u64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dimension: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) leaks_target: bool,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

/// The bounds of a column. Dates are bounded by text, so `min` and `max` stay open here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RawBounds {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) min: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max: Option<Value>,
    #[serde(default, alias = "norm_bound", skip_serializing_if = "Option::is_none")]
    pub(super) l2_norm_max: Option<f64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) unbounded: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) basis: Option<String>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
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
