//! Weights of rows: what is declared of them, and the number between 0 and 1 that a row brings.
//!
//! # Exposures
//!
//! For a log link `e^m` and an exposure `e` the Poisson loss of a count `y` with mean `e·e^m` is
//!
//! ```text
//! e·e^m − y (m + ln e) = e (e^m − (y/e) m) − y ln e :
//! ```
//!
//! but for a term without `m` it is `e` times the loss of the rate `y/e`. So the offset `ln e` in
//! the margin and the weight `e` on the rate have the same minimiser, and the second needs no
//! theorem of its own. With Tweedie and gamma losses an offset is another model; rates weighted by
//! their exposure are what insurers fit.
//!
//! # Facts
//!
//! A row counts the product of up to three factors, each between 0 and 1 by what is declared, for
//! every row whatsoever:
//!
//! - of a column with the role `weight` and bounds `[a, W]`, `a ≥ 0`: the cell, clamped to the
//!   bounds, over `W`; 0 for a cell that is missing or no finite number;
//! - of an array beside the table, with a declared largest weight `W`: its number, clamped to
//!   `[0, W]`, over `W`; 0 for what is no number;
//! - of its class, with public weights `c_k ≥ 0`: that of its label's class over the largest.
//!
//! - of a column with the role `exposure` and bounds `[a, E]`, `a > 0`: as of weights; and the
//!   label of the row is then that of the target over the clamped exposure, its rate, held to the
//!   declared bounds of the target like any other.
//!
//! Each is a function of the row alone. The loss of a row is multiplied by the product: as no
//! factor is larger than 1, the declared `W` alone decides what one row can do, and a table whose
//! rows all weigh `W` has the loss of one without weights.

use serde::Serialize;

use super::encoding::Encoding;
use super::error::DeclarationError;
use super::layout::{Labels, Layout};
use super::schema::{Column, Declaration, Kind, Role};
use super::spelling::same_value;

/// Why weights that balance classes are refused, and what can be given in their place, as the rest
/// of a sentence.
pub const BALANCED: &str = "takes the weights from the counts of the classes, which are private: give weights that follow from publicly known shares, such as 9 for a class of one row in ten, or buy noisy counts first with `reticent evaluate --epsilon` on these rows, whose confusion matrix has them, and give their ratio";

/// What is declared of the weights of rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Weights {
    /// The column that holds them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<WeightColumn>,
    /// The largest of an array beside the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array_max: Option<f64>,
    /// The factor of each class in declared order, the largest 1; none where classes count the
    /// same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<f64>,
}

/// A column of non-negative numbers with bounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeightColumn {
    /// Its name.
    pub name: String,
    /// The lower end.
    pub min: f64,
    /// The upper end.
    pub max: f64,
    /// Texts that mark a missing value, besides the empty cell.
    pub missing: Vec<String>,
    /// The thousands separator of numbers as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thousands: Option<char>,
    /// Whether the target is divided by it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exposure: bool,
}

impl WeightColumn {
    /// The share of the upper end that a finite number is, clamped to the bounds.
    pub fn share(&self, number: f64) -> f64 {
        (number.clamp(self.min, self.max) / self.max).clamp(0.0, 1.0)
    }

    fn of(column: &Column) -> Option<Self> {
        let Kind::Number { min, max } = column.kind else { return None };
        let Column { name, missing, thousands, role, .. } = column.clone();
        Some(Self { name, min, max, missing, thousands, exposure: role == Role::Exposure })
    }
}

impl Role {
    /// Whether the column weighs rows.
    pub(super) fn weighs(&self) -> bool {
        matches!(self, Self::Weight | Self::Exposure)
    }
}

/// Whether a column of this kind can hold weights.
pub(super) fn can_weigh(kind: &Kind) -> bool {
    matches!(kind, Kind::Number { min, max } if *min >= 0.0 && max.is_finite())
}

impl Weights {
    /// The weights of this declaration under an encoding; none where every row counts the same.
    pub(super) fn of(
        declaration: &Declaration,
        encoding: &Encoding,
    ) -> Result<Option<Self>, DeclarationError> {
        let column = declaration.columns().iter().find(|c| c.role.weighs());
        if let (Some(column), Some(_)) = (column, encoding.max_weight) {
            return Err(DeclarationError::TwoWeights { column: column.name.clone() });
        }
        if let Some(got) = encoding.max_weight
            && !(got.is_finite() && got >= f64::MIN_POSITIVE)
        {
            return Err(DeclarationError::MaxWeight { got });
        }
        let classes = Self::of_classes(declaration, encoding)?;
        let weights = Self {
            column: column.and_then(WeightColumn::of),
            array_max: encoding.max_weight,
            classes,
        };
        Ok((weights != Self::default()).then_some(weights))
    }

    /// The factors of the classes: those that are not named weigh 1.
    fn of_classes(
        declaration: &Declaration,
        encoding: &Encoding,
    ) -> Result<Vec<f64>, DeclarationError> {
        let Some(named) = &encoding.class_weights else { return Ok(Vec::new()) };
        let classes = declaration.classes();
        if classes.is_empty() {
            return Err(DeclarationError::ClassWeightOfNumbers);
        }
        let mut weights = vec![1.0; classes.len()];
        for (class, &got) in named {
            let place = classes
                .iter()
                .position(|known| same_value(known, class.trim()))
                .ok_or_else(|| DeclarationError::UnknownClass {
                    class: class.clone(),
                    known: classes.join("`, `"),
                })?;
            if !(got.is_finite() && got >= 0.0) {
                return Err(DeclarationError::ClassWeight { class: class.clone(), got });
            }
            weights[place] = got;
        }
        let largest = weights.iter().copied().fold(0.0, f64::max);
        if largest < f64::MIN_POSITIVE {
            return Err(DeclarationError::NoClassWeight);
        }
        Ok(weights.into_iter().map(|weight| (weight / largest).clamp(0.0, 1.0)).collect())
    }
}

impl Layout {
    /// What is declared of the weights of rows; none where every row counts the same.
    pub fn weights(&self) -> Option<&Weights> {
        self.weights.as_ref()
    }

    /// Whether rows have weights: of a column, of their class, or of an array beside the table.
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// Whether encoded rows bring weights: those of a column or of their class.
    pub fn encodes_weights(&self) -> bool {
        self.weights.as_ref().is_some_and(|w| w.column.is_some() || !w.classes.is_empty())
    }

    /// The factor of the class that a label stands for.
    pub fn class_factor(&self, label: f64) -> f64 {
        let classes = self.weights.as_ref().map_or(&[][..], |weights| &weights.classes);
        if classes.is_empty() {
            return 1.0;
        }
        let class = match self.labels() {
            Labels::Binary { positive, .. } if label > 0.0 => *positive,
            Labels::Binary { positive, .. } => 1 - (*positive).min(1),
            Labels::Multiclass { .. } | Labels::Regression { .. } => label as usize,
        };
        classes.get(class).copied().unwrap_or(0.0)
    }

    /// The column of exposures, by which the target is divided, if one is declared.
    pub fn exposure(&self) -> Option<&WeightColumn> {
        self.weights.as_ref()?.column.as_ref().filter(|column| column.exposure)
    }

    /// The same for rows that are scored: the target is divided by the exposure, and no other
    /// weight is read.
    #[must_use]
    pub fn for_scoring(&self) -> Self {
        let mut layout = self.clone();
        let column = self.exposure().cloned();
        layout.weights =
            column.map(|column| Weights { column: Some(column), ..Weights::default() });
        layout
    }

    /// The same for rows whose target is not read: nor is a weight.
    #[must_use]
    pub fn without_weights(&self) -> Self {
        let mut layout = self.clone();
        layout.weights = None;
        layout
    }
}
