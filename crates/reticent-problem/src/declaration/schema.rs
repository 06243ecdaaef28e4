//! The declaration: a schema that has been checked.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::check::interval_of;
use super::error::DeclarationError;
use super::published::{Published, Scalar};
use super::raw::RawDeclaration;

/// The most entries a vector column may have, and the most features a layout may have.
pub(super) const MOST_FEATURES: usize = 1 << 28;

/// What is to be predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Task {
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

impl Task {
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
    /// What is to be predicted.
    Target,
    /// Left out, with the role as it was written (`id`, `leakage`, `raw`, ...).
    Ignored(String),
}

/// Where the bounds of a column come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// They follow from the meaning of the quantity.
    Domain,
    /// The publisher of the data states them.
    DataDictionary,
    /// A round number that somebody picked.
    Convention,
}

impl Basis {
    /// The basis with this name; none for any other text.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name.trim() {
            "domain" => Some(Self::Domain),
            "data-dictionary" => Some(Self::DataDictionary),
            "convention" => Some(Self::Convention),
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

/// What a column holds, with all that its encoding needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A number in `[min, max]`.
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
    /// A vector (an image, an embedding) of `len` numbers.
    Vector {
        /// How many entries.
        len: usize,
        /// How they are bounded.
        bounds: VectorBounds,
    },
    /// Anything else: dates, texts, and whatever an ignored column holds. The type as written.
    Other(String),
}

/// A declared column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name, as in the table's header.
    pub name: String,
    /// Its part.
    pub role: Role,
    /// What it holds.
    pub kind: Kind,
    /// Texts that mark a missing value. An empty cell always does.
    pub missing: Vec<String>,
    /// Where the bounds come from, if that is stated.
    pub basis: Option<Basis>,
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

/// What is public about a table: a checked schema.
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
    pub(super) task: Task,
    pub(super) positive: usize,
}

impl Declaration {
    /// Read and check the JSON of a schema file.
    ///
    /// # Errors
    ///
    /// Says which column lacks what, and what to add.
    pub fn from_json(text: &str) -> Result<Self, DeclarationError> {
        let raw: RawDeclaration = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|e| DeclarationError::Json { message: e.to_string() })?;
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

    /// What the owner wants everybody to read of the table, if there is something.
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

    /// What is to be predicted.
    pub fn task(&self) -> Task {
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
