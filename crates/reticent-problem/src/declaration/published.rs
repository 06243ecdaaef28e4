//! The published part of a declaration: the model file, the checkpoint's digest and a cluster's
//! set-up hold this and nothing else of the schema file.
//!
//! The list is closed. A field is here because the program needs it to encode rows and to read
//! predictions, or because the report shows it, and its value is a number, a word of a fixed list,
//! or a name that the table's cells or header hold. Columns whose role leaves them out are not
//! named. The one free text is the description under `publish`, which the owner wrote to be read by
//! everybody.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::curve::{Basis, Knots, Scale, Shape};
use super::date::iso_of_days;
use super::raw::RawDeclaration;
use super::schema::{BoundsBasis, Declaration, Kind, Role, TaskKind, VectorBounds};
use crate::Unit;

/// The published form. It is a schema file itself, and reads back as the same declaration.
#[derive(Serialize)]
pub(super) struct Published {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    task: TaskKind,
    target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    positive_class: Option<Scalar>,
    columns: Vec<PublishedColumn>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    interactions: Vec<[String; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    publish: Option<Publish>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<Unit>,
}

#[derive(Serialize)]
struct Publish {
    description: String,
}

#[derive(Serialize)]
struct PublishedColumn {
    name: String,
    role: PublishedRole,
    #[serde(rename = "type")]
    kind: PublishedKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    categories: Option<Vec<Scalar>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    categories_basis: Option<BoundsBasis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<Scalar>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimension: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<PublishedBounds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    basis: Option<PublishedBasis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    knots_basis: Option<BoundsBasis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parts: BTreeMap<&'static str, &'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<PublishedHash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thousands: Option<char>,
    #[serde(skip_serializing_if = "PublishedMissing::is_empty")]
    missing: PublishedMissing,
}

#[derive(Serialize)]
#[serde(untagged)]
enum PublishedBasis {
    Word(&'static str),
    Curve(PublishedCurve),
}

#[derive(Serialize)]
struct PublishedCurve {
    kind: Basis,
    #[serde(skip_serializing_if = "Option::is_none")]
    knots: Option<Knots>,
    scale: Scale,
}

impl From<Shape> for PublishedBasis {
    fn from(shape: Shape) -> Self {
        match shape {
            Shape::Linear => Self::Word("linear"),
            Shape::Curve { basis, scale, knots } => {
                Self::Curve(PublishedCurve { kind: basis, knots, scale })
            }
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum PublishedMissing {
    Marks(Vec<String>),
    WithIndicator { marks: Vec<String>, indicator: bool },
    Filled { marks: Vec<String>, fill: End },
}

impl PublishedMissing {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Marks(marks) if marks.is_empty())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum PublishedRole {
    Feature,
    Target,
    Weight,
    Exposure,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum PublishedKind {
    Number,
    Integer,
    Categorical,
    Vector,
    Date,
    Text,
}

/// The end of a range: a number, or a date.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum End {
    Number(f64),
    Date(String),
}

#[derive(Serialize)]
struct PublishedHash {
    buckets: usize,
    seed: u64,
}

#[derive(Default, Serialize)]
struct PublishedBounds {
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<End>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<End>,
    #[serde(skip_serializing_if = "Option::is_none")]
    l2_norm_max: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unbounded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    basis: Option<BoundsBasis>,
}

impl PublishedBounds {
    fn interval(min: f64, max: f64) -> Self {
        if max.is_infinite() {
            return Self { unbounded: true, ..Self::default() };
        }
        Self { min: Some(End::Number(min)), max: Some(End::Number(max)), ..Self::default() }
    }

    fn dates(min: f64, max: f64) -> Self {
        let date = |days| Some(End::Date(iso_of_days(days)));
        Self { min: date(min), max: date(max), ..Self::default() }
    }
}

/// A category in the kind that it was declared in: programs that predict give classes back as such.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Scalar {
    Text(String),
    Number(serde_json::Number),
    Truth(bool),
}

impl Scalar {
    /// The value in `declared`, whose text without blanks around it is `text`.
    pub(super) fn new(declared: &Value, text: &str) -> Self {
        match declared {
            Value::Number(number) => Self::Number(number.clone()),
            Value::Bool(truth) => Self::Truth(*truth),
            _ => Self::Text(text.to_owned()),
        }
    }
}

impl From<Declaration> for Published {
    fn from(declaration: Declaration) -> Self {
        let target = declaration.target().name.clone();
        let positive_class = (declaration.task == TaskKind::Binary)
            .then(|| declaration.target().scalars.get(declaration.positive).cloned())
            .flatten();
        let used = declaration.columns.into_iter().filter_map(|column| {
            let role = match column.role {
                Role::Feature => PublishedRole::Feature,
                Role::Target => PublishedRole::Target,
                Role::Weight => PublishedRole::Weight,
                Role::Exposure => PublishedRole::Exposure,
                Role::Ignored(_) => return None,
            };
            let (kind, bounds, dimension) = match &column.kind {
                Kind::Number { min, max } if column.date.is_some() => {
                    (PublishedKind::Date, Some(PublishedBounds::dates(*min, *max)), None)
                }
                Kind::Hashed { words, .. } => {
                    let kind =
                        if *words { PublishedKind::Text } else { PublishedKind::Categorical };
                    (kind, None, None)
                }
                Kind::Number { min, max } => {
                    let kind = if column.integer && column.role == Role::Feature {
                        PublishedKind::Integer
                    } else {
                        PublishedKind::Number
                    };
                    (kind, Some(PublishedBounds::interval(*min, *max)), None)
                }
                Kind::Categorical { .. } => (PublishedKind::Categorical, None, None),
                Kind::Vector { len, bounds } => {
                    let bounds = match bounds {
                        VectorBounds::Each { min, max } => PublishedBounds::interval(*min, *max),
                        VectorBounds::Norm(norm) => {
                            PublishedBounds { l2_norm_max: Some(*norm), ..Default::default() }
                        }
                    };
                    (PublishedKind::Vector, Some(bounds), Some(*len))
                }
                Kind::Other(_) => return None,
            };
            let hash = match column.kind {
                Kind::Hashed { buckets, seed, .. } => Some(PublishedHash { buckets, seed }),
                _ => None,
            };
            let is_date = column.date.is_some();
            let end = |fill| if is_date { End::Date(iso_of_days(fill)) } else { End::Number(fill) };
            let date = column.date.as_ref();
            let parts = date.into_iter().flat_map(|date| &date.parts);
            Some(PublishedColumn {
                format: date.and_then(|date| date.format.clone()),
                parts: parts.map(|(part, form)| (part.name(), form.name())).collect(),
                hash,
                thousands: column.thousands,
                name: column.name,
                role,
                kind,
                other: column.other.and_then(|index| column.scalars.get(index).cloned()),
                categories_basis: column.categories_basis,
                knots_basis: column.knots_basis,
                categories: (!column.scalars.is_empty()).then_some(column.scalars),
                dimension,
                bounds: bounds.map(|bounds| PublishedBounds { basis: column.basis, ..bounds }),
                basis: column.shape.map(PublishedBasis::from),
                missing: match column.fill {
                    _ if column.missing_indicator => {
                        PublishedMissing::WithIndicator { marks: column.missing, indicator: true }
                    }
                    Some(fill) => {
                        PublishedMissing::Filled { marks: column.missing, fill: end(fill) }
                    }
                    None => PublishedMissing::Marks(column.missing),
                },
            })
        });
        Self {
            name: declaration.name,
            task: declaration.task,
            target,
            positive_class,
            columns: used.collect(),
            interactions: declaration.interactions,
            publish: declaration.description.map(|description| Publish { description }),
            unit: declaration.unit,
        }
    }
}

impl Declaration {
    /// The published part of this declaration, as a declaration: the columns in use, with their
    /// names, types, bounds, categories and missing marks, the target, the task, the table's name,
    /// the unit and the description under `publish`. It lays out the same rows.
    #[must_use]
    pub fn published(&self) -> Self {
        let written = serde_json::to_value(Published::from(self.clone()));
        let read = written.and_then(serde_json::from_value::<RawDeclaration>);
        // A checked declaration is written in the form that is read.
        read.ok().and_then(|raw| Self::try_from(raw).ok()).unwrap_or_else(|| self.clone())
    }
}
