//! The declaration: a schema that has been checked.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::check::interval_of;
use super::curve::Shape;
use super::date::DateColumn;
use super::error::DeclarationError;
use super::form;
use super::published::{Published, Scalar};
use super::raw::RawDeclaration;
use crate::Unit;

/// The most entries a vector column may have, and the most features a layout may have.
pub(super) const MOST_FEATURES: usize = 1 << 28;

/// The prediction task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TaskKind {
    /// Two classes; labels are -1 and +1.
    #[serde(rename = "binary_classification")]
    Binary,
    /// Two or more classes; a label is the class's index.
    #[serde(rename = "multiclass_classification")]
    Multiclass,
    /// A bounded number; labels are scaled to [-1, 1].
    #[serde(rename = "regression")]
    Regression,
}

impl TaskKind {
    /// The task as the schema writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary_classification",
            Self::Multiclass => "multiclass_classification",
            Self::Regression => "regression",
        }
    }
}

/// The part a column plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Encoded into features.
    Feature,
    /// The column to predict.
    Target,
    /// Not a feature: the weight of the row.
    Weight,
    /// Not a feature: how long or how much the row was observed. The target is divided by it, and
    /// it is the weight of the row.
    Exposure,
    /// Left out, with the role as it was written (`id`, `leakage`, `raw`, ...).
    Ignored(String),
}

/// Where the bounds, categories or knots of a column come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundsBasis {
    /// They follow from the meaning of the quantity.
    Domain,
    /// The publisher of the data states them.
    DataDictionary,
    /// A round number that somebody picked.
    Convention,
    /// They were drawn from the table with noise, and the schema's draft pays for it.
    Released,
}

impl BoundsBasis {
    /// The basis with this name; none for any other text.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name.trim() {
            "domain" => Some(Self::Domain),
            "data-dictionary" => Some(Self::DataDictionary),
            "convention" => Some(Self::Convention),
            "released" => Some(Self::Released),
            _ => None,
        }
    }
}

/// How the entries of a vector column are bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VectorBounds {
    /// Each entry lies in `[min, max]` and is scaled like a number.
    Each {
        /// The lower end.
        min: f64,
        /// The upper end.
        max: f64,
    },
    /// The Euclidean norm of the vector is at most this; entries are not scaled.
    Norm(f64),
}

/// The type of a column, with all that its encoding needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A number in `[min, max]`; of a date, in days since 1970-01-01.
    Number {
        /// The lower end.
        min: f64,
        /// The upper end.
        max: f64,
    },
    /// One of a list of categories, as the text the table holds.
    Categorical {
        /// The categories, in declared order.
        categories: Vec<String>,
    },
    /// One of categories that nobody lists, or a text of words: by their hash.
    Hashed {
        /// How many buckets.
        buckets: usize,
        /// The seed of the hash.
        seed: u64,
        /// Whether the cell is a text whose words are counted.
        words: bool,
    },
    /// A vector (an image, an embedding) of `len` numbers.
    Vector {
        /// How many entries.
        len: usize,
        /// How they are bounded.
        bounds: VectorBounds,
    },
    /// Anything else: whatever an ignored column holds. The type as written.
    Other(String),
}

/// A declared column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name, as in the table's header.
    pub name: String,
    /// Its part.
    pub role: Role,
    /// Its type.
    pub kind: Kind,
    /// Texts that mark a missing value. An empty cell always does.
    pub missing: Vec<String>,
    /// Where the bounds come from, if that is stated.
    pub basis: Option<BoundsBasis>,
    /// Where the categories come from, if that is stated.
    pub categories_basis: Option<BoundsBasis>,
    /// Where the knots of its curve come from, if that is stated.
    pub knots_basis: Option<BoundsBasis>,
    /// Whether it holds whole numbers.
    pub integer: bool,
    /// How cells are read, if they are dates.
    pub date: Option<DateColumn>,
    /// The thousands separator of numbers as text, if one is declared.
    pub thousands: Option<char>,
    /// How it enters the model, if that is stated; for numbers.
    pub shape: Option<Shape>,
    /// Whether a missing value has a feature of its own.
    pub missing_indicator: bool,
    /// The number that a missing one counts as; none where it adds nothing.
    pub fill: Option<f64>,
    /// The index of the category that undeclared ones count as.
    pub other: Option<usize>,
    /// Whether the owner flags the column as telling too much about the target.
    pub leaks_target: bool,
    /// The categories in the kinds that they were declared in; none for other columns.
    pub(super) scalars: Vec<Scalar>,
}

/// The target of [`Declaration::bare`].
#[derive(Clone, Debug, PartialEq)]
pub enum BareTarget {
    /// Classes by the text or number that labels hold; the second is the positive one of two.
    Classes(Vec<String>),
    /// A number in `[min, max]`.
    Range {
        /// The lower end.
        min: f64,
        /// The upper end.
        max: f64,
    },
}

/// The public facts about a table: a checked schema.
///
/// Deserialising checks it too. Serialising writes what is [published](Self::published) and nothing
/// else of the file that it was read from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawDeclaration", into = "Published")]
pub struct Declaration {
    pub(super) raw: RawDeclaration,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) unpublished: Vec<String>,
    pub(super) columns: Vec<Column>,
    pub(super) target: usize,
    pub(super) task: TaskKind,
    pub(super) positive: usize,
    pub(super) interactions: Vec<[String; 2]>,
    pub(super) unit: Option<Unit>,
}

impl Declaration {
    /// Read and check the JSON of a schema file.
    ///
    /// # Errors
    ///
    /// Says which column lacks what, and what to add.
    pub fn from_json(text: &str) -> Result<Self, DeclarationError> {
        Self::from_json_with_unit(text, None, None)
    }

    /// [`Self::from_json`], with another column that tells units apart or another cap on their rows
    /// than the schema declares, or with such where it declares none; with the column `none` each
    /// row is a record, whatever it declares.
    ///
    /// # Errors
    ///
    /// As there; [`DeclarationError::NoUnitColumn`] and [`DeclarationError::NoMaxRows`] for one
    /// without the other.
    pub fn from_json_with_unit(
        text: &str,
        column: Option<&str>,
        max_rows: Option<usize>,
    ) -> Result<Self, DeclarationError> {
        let text = text.trim_start_matches('\u{feff}');
        let unreadable = |e: serde_json::Error| DeclarationError::Json { message: e.to_string() };
        let Value::Object(whole) = serde_json::from_str(text).map_err(unreadable)? else {
            let message = "it must be an object in braces, {...}".to_owned();
            return Err(DeclarationError::Json { message });
        };
        if let Some(problems) = DeclarationError::together(form::problems(&whole)) {
            return Err(problems);
        }
        let mut raw: RawDeclaration = serde_json::from_str(text).map_err(unreadable)?;
        if column == Some("none") && max_rows.is_none() {
            raw.unit = None;
        } else if column.is_some() || max_rows.is_some() {
            let unit = raw.unit.get_or_insert_default();
            if let Some(column) = column {
                unit.column = Some(column.to_owned());
            }
            if let Some(rows) = max_rows {
                unit.max_rows = Some(rows as u64);
            }
        }
        Self::try_from(raw)
    }

    /// A declaration for files without column names (`.npy`, IDX, libsvm): one vector column called
    /// `features` and a target called `label`.
    ///
    /// # Errors
    ///
    /// If a bound is not finite, the dimension is zero, or there are fewer than two classes.
    ///
    /// # Example
    ///
    /// ```
    /// use reticent_problem::declaration::{BareTarget, Declaration, VectorBounds};
    /// let classes = BareTarget::Classes(vec!["0".into(), "1".into()]);
    /// assert!(Declaration::bare(384, VectorBounds::Norm(1.0), &classes).is_ok());
    /// ```
    pub fn bare(
        dimension: usize,
        bounds: VectorBounds,
        target: &BareTarget,
    ) -> Result<Self, DeclarationError> {
        let column = "features".to_owned();
        let bounds = match bounds {
            VectorBounds::Each { min, max } => {
                let (min, max) = interval_of(&column, min, max)?;
                json!({"min": min, "max": max})
            }
            VectorBounds::Norm(got) => {
                if !got.is_finite() {
                    return Err(DeclarationError::BadNorm { column, got });
                }
                json!({"l2_norm_max": got})
            }
        };
        let label = match target {
            BareTarget::Classes(classes) => {
                json!({"name": "label", "role": "target", "type": "categorical", "categories": classes})
            }
            BareTarget::Range { min, max } => {
                let (min, max) = interval_of("label", *min, *max)?;
                json!({"name": "label", "role": "target", "type": "real", "bounds": {"min": min, "max": max}})
            }
        };
        let features = json!({
            "name": column, "role": "feature", "type": "real",
            "dimension": dimension, "bounds": bounds,
        });
        let whole = json!({"target": "label", "columns": [features, label]});
        let raw: RawDeclaration = serde_json::from_value(whole)
            .map_err(|e| DeclarationError::Json { message: e.to_string() })?;
        Self::try_from(raw)
    }

    /// The same table with another column as target. The task follows from that column's type, and
    /// the former target is left out, since it would often give the new one away.
    ///
    /// # Errors
    ///
    /// If there is no such column, or it cannot be a target.
    pub fn with_target(&self, target: &str) -> Result<Self, DeclarationError> {
        if target == self.target().name {
            return Ok(self.clone());
        }
        let mut raw = self.raw.clone();
        raw.columns[self.target].role = Some("ignore".to_owned());
        let Some(column) = raw.columns.iter_mut().find(|c| c.name.trim() == target) else {
            return Err(DeclarationError::UnknownTarget { target: target.to_owned() });
        };
        column.role = Some("target".to_owned());
        raw.target = Some(target.to_owned());
        raw.task = None;
        raw.positive_class = None;
        Self::try_from(raw)
    }

    /// The name of the table, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The owner's public description of the table, if there is one.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// All columns, in declared order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column to predict.
    pub fn target(&self) -> &Column {
        &self.columns[self.target]
    }

    /// The declared ends of a numeric target, infinite where it has none; `None` for classes.
    pub fn target_range(&self) -> Option<(f64, f64)> {
        match self.target().kind {
            Kind::Number { min, max } => Some((min, max)),
            _ => None,
        }
    }

    /// Pairs of features that have a surface besides their curves.
    pub fn interactions(&self) -> &[[String; 2]] {
        &self.interactions
    }

    /// The certificate of what was released from the table to write the schema, as it stands in the
    /// file. It is not a part of what is [published](Self::published) of the declaration: a model
    /// holds it beside it.
    pub fn draft(&self) -> Option<&serde_json::Value> {
        self.raw.draft.as_ref()
    }

    /// Whose rows count as one record; none where each row is one.
    pub fn unit(&self) -> Option<&Unit> {
        self.unit.as_ref()
    }

    /// The prediction task.
    pub fn task(&self) -> TaskKind {
        self.task
    }

    /// The classes in declared order; none for regression.
    pub fn classes(&self) -> &[String] {
        match &self.target().kind {
            Kind::Categorical { categories } => categories,
            _ => &[],
        }
    }

    /// The index of the class that is +1 when there are two.
    pub(super) fn positive(&self) -> usize {
        self.positive
    }

    /// The paths of fields of the file that have no effect and are not published, such as
    /// `class_counts` or `columns[3].bounds.note`.
    pub fn unpublished(&self) -> &[String] {
        &self.unpublished
    }
}
