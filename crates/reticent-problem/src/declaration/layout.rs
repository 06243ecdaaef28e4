//! The layout that a declaration and an encoding give before any row is read: features, norm bound,
//! labels.

use serde::Serialize;

use super::check::{check_pairs, middle};
use super::curve::{Curve, MOST_KNOTS};
use super::date::{DatePart, DateValue, PartForm};
use super::encoding::{Encoding, NumericRange, Precision};
use super::error::DeclarationError;
use super::replaced;
use super::weights::Weights;
use crate::RowBounds;
use crate::loss::LabelKind;

use super::schema::{Column, Declaration, Kind, MOST_FEATURES, Role, TaskKind, VectorBounds};

/// Factor by which a structural bound is rounded up.
///
/// Sums of ones are exact in double precision. A sum that also holds squares of declared norms, and
/// its root, err by a relative 2^-53 per operation: far less than 1e-12 for any number of vector
/// columns a table has. So the rounded bound is never below the exact one.
pub const ROUND_UP: f64 = 1.0 + 1e-12;

/// Factor by which rounding to single precision may enlarge an entry; one stays one.
const F32_ROUND_UP: f64 = 1.0 + f32::EPSILON as f64;

/// Norms that can be asked for: all that `f32` rows can hold with room to spare.
pub(super) const NORMS: std::ops::RangeInclusive<f64> = 1e-30..=1e30;

/// How one declared feature column enters a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Input {
    /// The column's name.
    pub name: String,
    /// The index of its first feature, or `None` if the encoding drops it.
    pub start: Option<usize>,
    /// Its type and encoding.
    pub kind: InputKind,
    /// Texts that mark a missing value, besides the empty cell.
    pub missing: Vec<String>,
    /// Whether a missing value has a feature of its own, after the others of the column.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub indicator: bool,
    /// The number that a missing one counts as; none where its features are zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fill: Option<f64>,
    /// The index of the category that undeclared ones count as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<usize>,
    /// How its cells are read, if they are dates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<DateInput>,
    /// The thousands separator of numbers as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thousands: Option<char>,
}

/// How an input reads dates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DateInput {
    /// The column whose cells it reads: several inputs may read one.
    pub column: String,
    /// The form of a cell, in the letters of `strftime`; ISO 8601 without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The value it takes from a date.
    pub value: DateValue,
}

impl Input {
    /// How many features it gives.
    pub fn features(&self) -> usize {
        self.kind.features() + usize::from(self.indicator)
    }

    /// The column whose cells it reads.
    pub fn column(&self) -> &str {
        self.date.as_ref().map_or(&self.name, |date| &date.column)
    }

    /// Whether it is a part of a date, which takes up no place of its own in a file.
    pub fn is_part(&self) -> bool {
        self.date.as_ref().is_some_and(|date| date.value != DateValue::Days)
    }

    /// How many numbers it takes up in a file without column names.
    pub fn width(&self) -> usize {
        if self.is_part() { 0 } else { self.kind.width() }
    }

    /// The curve by which it takes part in an interaction, or its categories.
    fn factor(&self) -> Option<Factor> {
        match &self.kind {
            InputKind::Number { min, max } => Some(Factor::Curve(Curve::line(*min, *max))),
            InputKind::Curve { curve, .. } => Some(Factor::Curve(curve.clone())),
            InputKind::OneHot { categories } => Some(Factor::Categories(categories.len())),
            InputKind::Entries { .. }
            | InputKind::Vector { .. }
            | InputKind::Periodic { .. }
            | InputKind::Hashed { .. } => None,
        }
    }
}

/// One side of an interaction.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Factor {
    /// A number's curve; that of two tents where the column itself enters as one number.
    Curve(Curve),
    /// So many categories.
    Categories(usize),
}

impl Factor {
    /// How many features it would give by itself.
    pub fn features(&self) -> usize {
        match self {
            Self::Curve(curve) => curve.features(),
            Self::Categories(count) => *count,
        }
    }

    fn filled(&self) -> usize {
        match self {
            Self::Curve(curve) => curve.filled(),
            Self::Categories(_) => 1,
        }
    }
}

/// Two columns with a surface: a feature for each product of a feature of the one and a feature of
/// the other.
///
/// The squared norm of the products is the product of both squared norms, and so at most 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The places of both among the layout's inputs.
    pub inputs: [usize; 2],
    /// How each enters.
    pub factors: [Factor; 2],
    /// The index of the first feature. That of features `k` and `l` is `start + k m + l`, with `m`
    /// the number of features of the second factor.
    pub start: usize,
}

impl Pair {
    /// How many features it gives.
    pub fn features(&self) -> usize {
        self.factors.iter().map(Factor::features).product()
    }
}

/// The encoding of one column.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// A number, clamped to `[min, max]` and scaled to the numeric range; taken as it is where both
    /// are infinite.
    Number {
        /// The lower end.
        min: f64,
        /// The upper end.
        max: f64,
    },
    /// A number, clamped to `[min, max]`, by its place between knots.
    Curve {
        /// The lower end.
        min: f64,
        /// The upper end.
        max: f64,
        /// The knots.
        curve: Curve,
    },
    /// One feature per category, of which at most one is 1.
    OneHot {
        /// The categories.
        categories: Vec<String>,
    },
    /// A vector whose entries are each clamped and scaled like a number.
    Entries {
        /// How many.
        len: usize,
        /// The lower end of each.
        min: f64,
        /// The upper end of each.
        max: f64,
    },
    /// A vector taken as it is and clipped to a norm.
    Vector {
        /// How many entries.
        len: usize,
        /// The norm it is clipped to.
        norm: f64,
    },
    /// Cosine and sine of a place on a circle.
    Periodic {
        /// How many places there are.
        period: u32,
    },
    /// One feature per bucket: of a category at most one is 1, of a text they hold the counts of
    /// its words, scaled to norm 1.
    Hashed {
        /// How many buckets.
        buckets: usize,
        /// The seed of the hash.
        seed: u64,
        /// Whether words are counted.
        words: bool,
    },
}

impl InputKind {
    /// How many features it gives.
    pub fn features(&self) -> usize {
        match self {
            Self::Number { .. } => 1,
            Self::Curve { curve, .. } => curve.features(),
            Self::OneHot { categories } => categories.len(),
            Self::Periodic { .. } => 2,
            Self::Hashed { buckets, .. } => *buckets,
            Self::Entries { len, .. } | Self::Vector { len, .. } => *len,
        }
    }

    /// How many numbers it takes up in a file without column names.
    pub fn width(&self) -> usize {
        match self {
            Self::Number { .. }
            | Self::Curve { .. }
            | Self::OneHot { .. }
            | Self::Periodic { .. }
            | Self::Hashed { .. } => 1,
            Self::Entries { len, .. } | Self::Vector { len, .. } => *len,
        }
    }

    /// Features that differ from zero in one row, at most.
    fn filled(&self) -> usize {
        match self {
            Self::Curve { curve, .. } => curve.filled(),
            Self::Periodic { .. } => 2,
            // A guess: a text may have any number of words.
            Self::Hashed { buckets, words: true, .. } => 64.min(*buckets),
            _ => self.width(),
        }
    }

    /// Whether nothing bounds it.
    pub fn is_unbounded(&self) -> bool {
        matches!(self, Self::Number { max, .. } | Self::Entries { max, .. } if max.is_infinite())
    }

    /// The largest size of one of its features, in single precision too.
    pub fn entry_bound(&self) -> f64 {
        match self {
            _ if self.is_unbounded() => f64::INFINITY,
            Self::Vector { norm, .. } => norm * F32_ROUND_UP,
            Self::Hashed { words: true, .. } => F32_ROUND_UP,
            Self::Number { .. }
            | Self::Curve { .. }
            | Self::Entries { .. }
            | Self::Periodic { .. }
            | Self::Hashed { .. }
            | Self::OneHot { .. } => 1.0,
        }
    }

    /// The largest squared norm of its features; infinite where nothing bounds it.
    pub fn squared_bound(&self) -> f64 {
        match self {
            _ if self.is_unbounded() => f64::INFINITY,
            Self::Number { .. }
            | Self::Curve { .. }
            | Self::OneHot { .. }
            | Self::Periodic { .. }
            | Self::Hashed { .. } => 1.0,
            Self::Entries { len, .. } => *len as f64,
            Self::Vector { norm, .. } => norm * norm,
        }
    }
}

/// How targets become labels, and predictions become targets again.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Labels {
    /// Two classes: the positive one is +1, the other -1.
    Binary {
        /// Both classes in declared order.
        classes: Vec<String>,
        /// Index of the positive one.
        positive: usize,
    },
    /// A class is its index in declared order.
    Multiclass {
        /// The classes in declared order.
        classes: Vec<String>,
    },
    /// A number, clamped to `[min, max]` and sent affinely to `[-1, 1]`, or divided by `max`; taken
    /// as it is where both are infinite.
    Regression {
        /// The lower end.
        min: f64,
        /// The upper end.
        max: f64,
        /// Whether the label 0 is the target 0 and not the middle of the interval: for losses of
        /// non-negative numbers.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        from_zero: bool,
    },
}

impl Labels {
    /// The classes in declared order; none for regression.
    pub fn classes(&self) -> &[String] {
        match self {
            Self::Binary { classes, .. } | Self::Multiclass { classes } => classes,
            Self::Regression { .. } => &[],
        }
    }

    /// The label of the class with this index in declared order.
    pub fn of_class(&self, index: usize) -> f64 {
        match self {
            Self::Binary { positive, .. } => {
                if index == *positive {
                    1.0
                } else {
                    -1.0
                }
            }
            Self::Multiclass { .. } => index as f64,
            Self::Regression { .. } => 0.0,
        }
    }

    /// The label of a row whose target is missing, undeclared or not a finite number: the first
    /// declared class, or 0 for regression.
    pub fn fallback(&self) -> f64 {
        self.of_class(0)
    }

    /// The label of a numeric target: clamped and scaled to `[-1, 1]`, 0 if it is not finite.
    /// For classes this is the fallback.
    pub fn of_number(&self, target: f64) -> f64 {
        match self {
            Self::Regression { max, .. } if target.is_finite() && max.is_infinite() => target,
            Self::Regression { min, max, .. } if target.is_finite() => {
                self.unclamped(target.clamp(*min, *max)).clamp(-1.0, 1.0)
            }
            _ => self.fallback(),
        }
    }

    /// The label of a finite target that may lie outside its bounds.
    pub fn unclamped(&self, target: f64) -> f64 {
        match self {
            Self::Regression { max, .. } if max.is_infinite() => target,
            Self::Regression { max, from_zero: true, .. } => target / max,
            Self::Regression { min, max, .. } => 2.0 * ((target - min) / (max - min)) - 1.0,
            _ => self.fallback(),
        }
    }

    /// The labels of the target's bounds; both infinite where it has none, and for classes.
    pub fn range(&self) -> (f64, f64) {
        match self {
            Self::Regression { min, max, from_zero: true } => (min / max, 1.0),
            Self::Regression { max, .. } if max.is_finite() => (-1.0, 1.0),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// A prediction on the label's scale, back on the target's: the inverse of [`Self::of_number`].
    /// Without regression the prediction is returned as it is.
    pub fn to_target(&self, label: f64) -> f64 {
        match self {
            Self::Regression { .. } => self.offset() + self.scale() * label,
            _ => label,
        }
    }

    /// Half the width of the target's interval, or its upper end (1 for classes): target = offset +
    /// scale * label.
    pub fn scale(&self) -> f64 {
        match self {
            Self::Regression { max, from_zero: true, .. } => *max,
            Self::Regression { min, max, .. } if max.is_finite() => 0.5 * (max - min),
            _ => 1.0,
        }
    }

    /// The middle of the target's interval, or 0 (0 for classes).
    pub fn offset(&self) -> f64 {
        match self {
            Self::Regression { min, max, from_zero: false } if max.is_finite() => {
                min + 0.5 * (max - min)
            }
            _ => 0.0,
        }
    }
}

/// The features, the norm bound and the labels that a declaration and an encoding give.
///
/// # Guarantee
///
/// Every row encoded by this layout has Euclidean norm at most [`Layout::norm_bound`] in exact
/// arithmetic, the intercept included, and every label of a regression with declared bounds lies in
/// `[-1, 1]`. Both hold for every row whatsoever, since the encoder clamps and clips to them. With
/// `unbounded_rows` the norm bound is infinite: nothing is promised, and nothing is clipped.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layout {
    feature_names: Vec<String>,
    inputs: Vec<Input>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pairs: Vec<Pair>,
    target: String,
    target_missing: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_thousands: Option<char>,
    labels: Labels,
    task: TaskKind,
    structural_bound: f64,
    norm_bound: f64,
    entry_bound: f64,
    encoding: Encoding,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) weights: Option<Weights>,
}

impl Layout {
    /// The features by name: `age`, `workclass=Private`, `image[17]`, `hour@6` for the knot of a
    /// curve, `hour@6*day=Monday` for an interaction, and `(intercept)` last.
    pub fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    /// How many of a row's features can differ from zero, at most; the intercept among them.
    pub fn filled(&self) -> usize {
        let kept = self.inputs.iter().filter(|input| input.start.is_some());
        let filled: usize = kept.map(|input| input.kind.filled()).sum();
        let of_pair = |pair: &Pair| pair.factors.iter().map(Factor::filled).product::<usize>();
        let pairs: usize = self.pairs.iter().map(of_pair).sum();
        filled + pairs + usize::from(self.encoding.intercept)
    }

    /// Whether at most a quarter of a row's features can differ from zero: then sparse rows are the
    /// smaller.
    pub fn is_mostly_zero(&self) -> bool {
        4 * self.filled() <= self.dimension()
    }

    /// How many features a row has, the intercept among them.
    pub fn dimension(&self) -> usize {
        self.feature_names.len()
    }

    /// The bound `B` on the norm of a whole encoded row, intercept included.
    ///
    /// Without `feature_norm` and `normalize_rows` it is [`Self::structural_bound`]. With a
    /// `feature_norm` it is the smaller of the two. With `normalize_rows` it is the radius of the
    /// sphere: `feature_norm`, or 1.
    pub fn norm_bound(&self) -> f64 {
        self.norm_bound
    }

    /// The bound that the columns alone give: the root of the sum, over columns, of the largest
    /// squared norm of a column's features. That is 1 for a number, a curve, a one-hot group, a
    /// part of a date, a hashed column and an interaction, the number of entries for a vector with
    /// bounds per entry, the squared declared norm for a vector with a norm bound, and 1 for the
    /// intercept. Rounded up by [`ROUND_UP`].
    pub fn structural_bound(&self) -> f64 {
        self.structural_bound
    }

    /// The prediction task.
    pub fn task(&self) -> TaskKind {
        self.task
    }

    /// The name of the target column.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Texts that mark a missing target, besides the empty cell.
    pub fn target_missing(&self) -> &[String] {
        &self.target_missing
    }

    /// The thousands separator of a numeric target as text.
    pub fn target_thousands(&self) -> Option<char> {
        self.target_thousands
    }

    /// How targets become labels.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The same with regression labels on the scale of a loss for this kind of labels.
    #[must_use]
    pub fn for_labels(mut self, kind: LabelKind) -> Self {
        if let Labels::Regression { min, max, from_zero } = &mut self.labels {
            *from_zero = kind == LabelKind::NonNegative && *min >= 0.0 && max.is_finite();
        }
        self
    }

    /// The bounds that every encoded row keeps.
    pub fn bounds(&self) -> RowBounds {
        RowBounds::of_layout(self.norm_bound(), self.label_bound(), self.entry_bound)
            .with_replaced(replaced::distance(self))
    }

    /// The classes in declared order; none for regression.
    pub fn classes(&self) -> &[String] {
        self.labels.classes()
    }

    /// The bound on the absolute value of a label: 1 for two classes and for regression (infinite
    /// for a target without bounds), and the last class's index for more.
    pub fn label_bound(&self) -> f64 {
        match &self.labels {
            Labels::Multiclass { classes } => classes.len().saturating_sub(1) as f64,
            Labels::Regression { max, .. } if max.is_infinite() => f64::INFINITY,
            _ => 1.0,
        }
    }

    /// The declared features in order, dropped ones included.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The interactions in order: their features follow those of the columns.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// How many numbers a row has in a file without column names: one for each number and each
    /// categorical column, all entries of a vector, dropped columns included.
    pub fn width(&self) -> usize {
        self.inputs.iter().map(Input::width).sum()
    }

    /// The encoding this layout was made with.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// Where numbers are sent.
    pub fn numeric_range(&self) -> NumericRange {
        self.encoding.numeric_range
    }

    /// How rows are held.
    pub fn precision(&self) -> Precision {
        self.encoding.precision
    }

    /// The index of the intercept, if there is one.
    pub fn intercept(&self) -> Option<usize> {
        self.encoding.intercept.then(|| self.dimension() - 1)
    }
}

impl Declaration {
    /// The layout of this declaration under an encoding.
    ///
    /// # Errors
    ///
    /// If the encoding drops an unknown column or every feature, its `feature_norm` is not a usable
    /// norm, its `knots` are too few or too many, rounding does not tell a column's knots apart, an
    /// interaction names no two features, or weights are no weights of such rows.
    pub fn layout(&self, encoding: &Encoding) -> Result<Layout, DeclarationError> {
        if let Some(got) = encoding.feature_norm
            && !NORMS.contains(&got)
        {
            return Err(DeclarationError::FeatureNorm { got });
        }
        if let Some(got) = encoding.knots
            && !(2..=MOST_KNOTS).contains(&got)
        {
            return Err(DeclarationError::KnotCount { got, most: MOST_KNOTS });
        }
        let features = || self.columns().iter().filter(|c| c.role == Role::Feature);
        for name in &encoding.drop {
            if !features().any(|c| c.name == *name) {
                return Err(DeclarationError::UnknownDrop { column: name.clone() });
            }
        }
        let mut dimension = 0;
        let mut squared = f64::from(u8::from(encoding.intercept));
        let mut entry = squared;
        let clipped = encoding.feature_norm.is_some() || encoding.normalize_rows;
        if encoding.unbounded_rows && clipped {
            return Err(DeclarationError::UnboundedAndNormalized);
        }
        let mut inputs = Vec::new();
        for column in features() {
            let Some(kind) = input_kind(column, encoding.knots) else { continue };
            if matches!(&kind, InputKind::Curve { curve, .. } if !curve.rises()) {
                return Err(DeclarationError::KnotsCoincide { column: column.name.clone() });
            }
            let indicator = column.missing_indicator;
            let fill = column.fill.or_else(|| default_fill(column, &kind));
            let kept = !encoding.drop.contains(&column.name);
            let start = kept.then_some(dimension);
            if kept {
                dimension += kind.features() + usize::from(indicator);
                squared += kind.squared_bound();
                entry = entry.max(kind.entry_bound());
                if kind.is_unbounded() && !clipped && !encoding.unbounded_rows {
                    return Err(DeclarationError::UnboundedColumn { column: column.name.clone() });
                }
            }
            inputs.push(Input {
                name: column.name.clone(),
                start,
                kind,
                missing: column.missing.clone(),
                indicator,
                fill,
                other: column.other,
                date: column.date.as_ref().map(|date| DateInput {
                    column: column.name.clone(),
                    format: date.format.clone(),
                    value: DateValue::Days,
                }),
                thousands: column.thousands,
            });
            for part in parts_of(column) {
                let start = kept.then_some(dimension);
                if kept {
                    dimension += part.kind.features();
                    squared += part.kind.squared_bound();
                    entry = entry.max(part.kind.entry_bound());
                }
                inputs.push(Input { start, ..part });
            }
        }
        let pairs = self.pairs(encoding, &inputs, &mut dimension)?;
        squared += pairs.len() as f64;
        if dimension == 0 {
            return Err(DeclarationError::NoFeatures);
        }
        if dimension >= MOST_FEATURES {
            return Err(DeclarationError::TooManyFeatures { got: dimension, most: MOST_FEATURES });
        }
        let structural_bound = squared.sqrt() * ROUND_UP;
        let norm_bound = match (encoding.normalize_rows, encoding.feature_norm) {
            _ if encoding.unbounded_rows => f64::INFINITY,
            (true, radius) => radius.unwrap_or(1.0),
            (false, Some(norm)) => norm.min(structural_bound),
            (false, None) => structural_bound,
        };
        // A normalised row may have grown.
        let entry_bound = if encoding.normalize_rows { norm_bound } else { entry.min(norm_bound) };
        Ok(Layout {
            feature_names: names(&inputs, &pairs, dimension, encoding.intercept),
            inputs,
            pairs,
            target: self.target().name.clone(),
            target_missing: self.target().missing.clone(),
            target_thousands: self.target().thousands,
            labels: self.label_rule(),
            task: self.task(),
            structural_bound,
            norm_bound,
            entry_bound,
            encoding: encoding.clone(),
            weights: Weights::of(self, encoding)?,
        })
    }

    /// The interactions of kept columns: those of the encoding, or the declaration's.
    fn pairs(
        &self,
        encoding: &Encoding,
        inputs: &[Input],
        dimension: &mut usize,
    ) -> Result<Vec<Pair>, DeclarationError> {
        let own = match &encoding.interactions {
            Some(named) => check_pairs(named, self.columns())?,
            None => self.interactions().to_vec(),
        };
        let side = |name: &String| {
            let place = inputs.iter().position(|input| input.name == *name)?;
            let input = inputs.get(place).filter(|input| input.start.is_some())?;
            Some((place, input.factor()?))
        };
        let mut pairs = Vec::with_capacity(own.len());
        for [first, second] in &own {
            // An interaction goes with a column that is dropped.
            let (Some((i, one)), Some((j, other))) = (side(first), side(second)) else { continue };
            let pair = Pair { inputs: [i, j], factors: [one, other], start: *dimension };
            *dimension = dimension.saturating_add(pair.features());
            if *dimension >= MOST_FEATURES {
                return Err(DeclarationError::TooManyFeatures {
                    got: *dimension,
                    most: MOST_FEATURES,
                });
            }
            pairs.push(pair);
        }
        Ok(pairs)
    }

    fn label_rule(&self) -> Labels {
        let classes = self.classes().to_vec();
        match (self.task(), &self.target().kind) {
            (TaskKind::Binary, _) => Labels::Binary { classes, positive: self.positive() },
            (TaskKind::Multiclass, _) => Labels::Multiclass { classes },
            (TaskKind::Regression, Kind::Number { min, max }) => {
                Labels::Regression { min: *min, max: *max, from_zero: false }
            }
            // Checked when the declaration was made: a regression target is a number.
            (TaskKind::Regression, _) => {
                Labels::Regression { min: -1.0, max: 1.0, from_zero: false }
            }
        }
    }
}

/// The number that a missing one counts as where none is declared: the middle of the bounds of a
/// number that enters as a line, which would count as the minimum where its feature is zero. Zeros
/// in a curve's block are no number: they add nothing.
pub(super) fn default_fill(column: &Column, kind: &InputKind) -> Option<f64> {
    match kind {
        _ if column.missing_indicator || kind.is_unbounded() => None,
        InputKind::Number { min, max } => Some(middle(*min, *max, column.date.is_some())),
        InputKind::Curve { .. }
        | InputKind::OneHot { .. }
        | InputKind::Entries { .. }
        | InputKind::Vector { .. }
        | InputKind::Periodic { .. }
        | InputKind::Hashed { .. } => None,
    }
}

/// The parts of a date as inputs, without their places.
pub(super) fn parts_of(column: &Column) -> impl Iterator<Item = Input> {
    let date = column.date.as_ref();
    let parts = date.into_iter().flat_map(|date| date.parts.iter().map(move |part| (date, part)));
    parts.map(|(date, (part, form))| Input {
        name: format!("{}.{}", column.name, part.name()),
        start: None,
        kind: part_kind(*part, *form),
        missing: column.missing.clone(),
        indicator: false,
        fill: None,
        other: None,
        date: Some(DateInput {
            column: column.name.clone(),
            format: date.format.clone(),
            value: DateValue::Part(*part),
        }),
        thousands: None,
    })
}

fn part_kind(part: DatePart, form: PartForm) -> InputKind {
    let categories = part.values();
    match form {
        PartForm::Periodic => InputKind::Periodic { period: categories.len() as u32 },
        PartForm::Categorical => InputKind::OneHot { categories },
    }
}

/// The encoding of a column, or `None` for what has none (never a feature: those are checked).
pub(super) fn input_kind(column: &Column, knots: Option<usize>) -> Option<InputKind> {
    Some(match &column.kind {
        Kind::Number { min, max } => {
            let (min, max) = (*min, *max);
            match Curve::of(column.shape.as_ref(), (min, max), column.integer, knots) {
                Some(curve) => InputKind::Curve { min, max, curve },
                None => InputKind::Number { min, max },
            }
        }
        Kind::Categorical { categories } => InputKind::OneHot { categories: categories.clone() },
        Kind::Vector { len, bounds: VectorBounds::Each { min, max } } => {
            InputKind::Entries { len: *len, min: *min, max: *max }
        }
        Kind::Vector { len, bounds: VectorBounds::Norm(norm) } => {
            InputKind::Vector { len: *len, norm: *norm }
        }
        Kind::Hashed { buckets, seed, words } => {
            InputKind::Hashed { buckets: *buckets, seed: *seed, words: *words }
        }
        Kind::Other(_) => return None,
    })
}

/// The names of a column's features, without those of missing values.
fn column_names(Input { name, kind, .. }: &Input) -> Vec<String> {
    match kind {
        InputKind::Number { .. } => vec![name.clone()],
        InputKind::Curve { curve, .. } => knot_names(name, curve),
        InputKind::OneHot { categories } => {
            categories.iter().map(|c| format!("{name}={c}")).collect()
        }
        InputKind::Periodic { .. } => vec![format!("{name}:cos"), format!("{name}:sin")],
        InputKind::Hashed { buckets, .. } => (0..*buckets).map(|i| format!("{name}#{i}")).collect(),
        InputKind::Entries { len, .. } | InputKind::Vector { len, .. } => {
            (0..*len).map(|i| format!("{name}[{i}]")).collect()
        }
    }
}

fn knot_names(name: &str, curve: &Curve) -> Vec<String> {
    curve.names().iter().map(|knot| format!("{name}@{knot}")).collect()
}

fn names(inputs: &[Input], pairs: &[Pair], dimension: usize, intercept: bool) -> Vec<String> {
    let mut names = Vec::with_capacity(dimension + 1);
    for input in inputs.iter().filter(|input| input.start.is_some()) {
        names.extend(column_names(input));
        if input.indicator {
            names.push(format!("{} is missing", input.name));
        }
    }
    for pair in pairs {
        let sides = [0, 1].map(|side| match &pair.factors[side] {
            Factor::Curve(curve) => knot_names(&inputs[pair.inputs[side]].name, curve),
            Factor::Categories(_) => column_names(&inputs[pair.inputs[side]]),
        });
        for one in &sides[0] {
            names.extend(sides[1].iter().map(|other| format!("{one}*{other}")));
        }
    }
    if intercept {
        names.push("(intercept)".to_owned());
    }
    names
}
