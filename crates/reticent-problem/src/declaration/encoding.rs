//! How declared columns become features: choices that change the model, made without looking at
//! rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where a number's declared `[min, max]` is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumericRange {
    /// To `[0, 1]`. A missing number is encoded like the minimum.
    #[default]
    Unit,
    /// To `[-1, 1]`. A missing number is encoded like the middle.
    Symmetric,
}

/// How encoded rows are held in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Dense single precision: half the memory; the norm bound holds for the rounded values.
    F32,
    /// Dense double precision.
    #[default]
    F64,
    /// Compressed sparse rows in double precision: for one-hot columns with many categories.
    Sparse,
}

/// The choices of an encoding. All of them are public.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `numeric_range` | `Unit` | where a number's bounds are sent |
/// | `intercept` | `true` | append a constant feature 1; it is part of the row and inside its norm bound |
/// | `feature_norm` | none | clip each row, intercept included, to this norm instead of the structural bound |
/// | `unbounded_rows` | `false` | clip nothing and declare no norm bound, for algorithms that need none |
/// | `normalize_rows` | `false` | put each row on the sphere of radius `feature_norm` (1 if none is given) |
/// | `drop` | none | declared features to leave out |
/// | `precision` | `F64` | how rows are held |
/// | `knots` | none | knots of each numeric column's curve; without them numbers enter as they are, but for columns that declare a basis |
/// | `interactions` | the declaration's | pairs of columns with a surface |
/// | `class_weights` | none | how much rows of each class count |
/// | `max_weight` | none | rows come with an array of weights up to this one |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Encoding {
    /// Where a number's bounds are sent.
    pub numeric_range: NumericRange,
    /// Whether a constant feature 1 is appended as the last feature.
    pub intercept: bool,
    /// A norm to clip each row to, intercept included; without it the structural bound holds.
    pub feature_norm: Option<f64>,
    /// Whether rows are left as long as they are: no norm bound is declared, and only algorithms
    /// that need none can run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unbounded_rows: bool,
    /// Whether each row is scaled onto the sphere. A row of zeros stays where it is.
    pub normalize_rows: bool,
    /// Names of declared features to leave out.
    pub drop: Vec<String>,
    /// How encoded rows are held in memory.
    pub precision: Precision,
    /// Knots of the curve of every numeric column that declares no basis of its own; none for
    /// lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knots: Option<usize>,
    /// Pairs of columns that have a surface, in place of those that the declaration names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interactions: Option<Vec<Vec<String>>>,
    /// The weights of classes by name; those that are not named weigh 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_weights: Option<BTreeMap<String, f64>>,
    /// The largest weight of an array beside the table: rows come with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_weight: Option<f64>,
}

impl Default for Encoding {
    fn default() -> Self {
        Self {
            numeric_range: NumericRange::Unit,
            intercept: true,
            feature_norm: None,
            unbounded_rows: false,
            normalize_rows: false,
            drop: Vec::new(),
            precision: Precision::F64,
            knots: None,
            interactions: None,
            class_weights: None,
            max_weight: None,
        }
    }
}
