//! What of a declaration is published: the model file, the checkpoint's digest and a cluster's set-up
//! hold this and nothing else of the schema file.
//!
//! The list is closed. A field is here because the program needs it to encode rows and to read
//! predictions, or because the report shows it, and its value is a number, a word of a fixed list, or a
//! name that the table's cells or header hold. Columns whose role leaves them out are not named. The one
//! free text is the description under `publish`, which the owner wrote to be read by everybody.

use serde::Serialize;
use serde_json::Value;

use super::raw::RawDeclaration;
use super::schema::{Basis, Declaration, Kind, Role, Task, VectorBounds};

/// The published form. It is a schema file itself, and reads back as the same declaration.
#[derive(Serialize)]
pub(super) struct Published {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    task: Task,
    target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    positive_class: Option<Scalar>,
    columns: Vec<PublishedColumn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    publish: Option<Publish>,
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
    dimension: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<PublishedBounds>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum PublishedRole {
    Feature,
    Target,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum PublishedKind {
    Number,
    Categorical,
    Vector,
}

#[derive(Default, Serialize)]
struct PublishedBounds {
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    l2_norm_max: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unbounded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    basis: Option<Basis>,
}

impl PublishedBounds {
    fn interval(min: f64, max: f64) -> Self {
        if max.is_infinite() {
            return Self { unbounded: true, ..Self::default() };
        }
        Self { min: Some(min), max: Some(max), ..Self::default() }
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
        let positive_class = (declaration.task == Task::Binary)
            .then(|| declaration.target().scalars.get(declaration.positive).cloned())
            .flatten();
        let used = declaration.columns.into_iter().filter_map(|column| {
            let role = match column.role {
                Role::Feature => PublishedRole::Feature,
                Role::Target => PublishedRole::Target,
                Role::Ignored(_) => return None,
            };
            let (kind, bounds, dimension) = match &column.kind {
                Kind::Number { min, max } => {
                    (PublishedKind::Number, Some(PublishedBounds::interval(*min, *max)), None)
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
            Some(PublishedColumn {
                name: column.name,
                role,
                kind,
                categories: (!column.scalars.is_empty()).then_some(column.scalars),
                dimension,
                bounds: bounds.map(|bounds| PublishedBounds { basis: column.basis, ..bounds }),
                missing: column.missing,
            })
        });
        Self {
            name: declaration.name,
            task: declaration.task,
            target,
            positive_class,
            columns: used.collect(),
            publish: declaration.description.map(|description| Publish { description }),
        }
    }
}

impl Declaration {
    /// What of this declaration is published, as a declaration: the columns in use, with their names,
    /// types, bounds, categories and missing marks, the target, the task, the table's name and the
    /// description under `publish`. It lays out the same rows.
    #[must_use]
    pub fn published(&self) -> Self {
        let written = serde_json::to_value(Published::from(self.clone()));
        let read = written.and_then(serde_json::from_value::<RawDeclaration>);
        // What was checked once is written in the form that is read.
        read.ok().and_then(|raw| Self::try_from(raw).ok()).unwrap_or_else(|| self.clone())
    }
}
