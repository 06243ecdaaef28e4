//! The learning task: from a declaration to a problem, from rows to a model.

use std::ops::Range;
use std::path::Path;

use reticent_data::feature_map::FeatureMap;
use reticent_data::{BlockOracle, Dense, Features, LocalOracle, Oracle, OracleError, Rows, Speed};
use reticent_noise::Source;
use reticent_optim::{Plan, Progress, RowCost, Selection};
use reticent_problem::declaration::{
    Basis, Declaration, Encoding, Input, InputKind, Labels, Layout, Precision, TaskKind as Kind,
};
use reticent_problem::feature_map::MapLaw;
use reticent_problem::loss::LabelKind;
use reticent_problem::{Domain, EvenCurve, Loss, Problem, RowBounds};
use reticent_table::stream::{FileBlocks, StreamError};
use reticent_table::table::{self, TableFile};
use reticent_table::units::UnitBlocks;
use serde::{Deserialize, Serialize};

use crate::certificate::Certificate;
use crate::draft::check_draft;
use crate::model::check_readable;
use crate::{Error, Model};

/// A declared table, how its rows are encoded, and the loss. All of it is public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The owner's statements about the table.
    pub declaration: Declaration,
    /// How columns become features.
    pub encoding: Encoding,
    /// The loss of a row.
    pub loss: Loss,
    /// Width of a layer of tanh units before the outputs; none for a linear model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<usize>,
    /// The random features that take the place of the columns; none for a model of the columns
    /// themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<MapLaw>,
}

impl Task {
    /// A task with the default loss for the target: logistic for binary classification, softmax for
    /// more classes, Huber for regression.
    pub fn new(declaration: Declaration, encoding: Encoding) -> Self {
        let loss = match declaration.task() {
            Kind::Binary => Loss::Logistic,
            Kind::Multiclass => Loss::Softmax { classes: declaration.classes().len() },
            // Labels lie in [-1, 1]: a threshold of a half bounds the gradient and leaves most
            // residuals squared.
            Kind::Regression => Loss::Huber { threshold: 0.5 },
        };
        Self { declaration, encoding, loss, hidden: None, map: None }
    }

    /// The same task with another loss.
    ///
    /// # Errors
    ///
    /// [`Error::LossMismatch`] if the target has labels of another kind.
    pub fn with_loss(self, loss: Loss) -> Result<Self, Error> {
        let task = Self { loss, ..self };
        task.check_loss()?;
        Ok(task)
    }

    /// Whether the target has labels of the kind that the loss and its constants are for.
    ///
    /// # Errors
    ///
    /// [`Error::LossMismatch`].
    pub fn check_loss(&self) -> Result<(), Error> {
        let loss = self.loss;
        let classes = self.declaration.classes().len();
        let (needs, fits, instead) = match loss.labels() {
            LabelKind::TwoClasses => {
                ("two classes", classes == 2, "softmax for more classes, huber for regression")
            }
            LabelKind::Classes { count, least: least @ 3.. } => (
                "three or more classes",
                classes >= least && count == classes,
                "logistic for two classes, huber for regression",
            ),
            LabelKind::Classes { count, .. } => {
                ("two or more classes", classes > 1 && count == classes, "huber for regression")
            }
            LabelKind::Numbers => (
                "a numeric target with bounds",
                classes == 0,
                "logistic for two classes, softmax for more, one-hot for least squares",
            ),
            LabelKind::NonNegative => (
                "a numeric target with a declared minimum of 0 or more and a maximum",
                classes == 0
                    && self
                        .declaration
                        .target_range()
                        .is_some_and(|(min, max)| min >= 0.0 && max.is_finite()),
                "huber for regression, logistic for two classes",
            ),
            LabelKind::Levels { count } => {
                // Shares that were not given are asked for.
                loss.check()?;
                (
                    "a target of whole numbers with a declared minimum and maximum, and one of `shares` for each of them",
                    classes == 0
                        && self.declaration.target_range().is_some_and(|(min, max)| {
                            min.fract() == 0.0 && max - min == (count - 1) as f64
                        }),
                    "softmax for classes without an order, huber for regression",
                )
            }
        };
        if !fits {
            return Err(Error::LossMismatch {
                loss: loss.name(),
                needs,
                target: self.declaration.target().name.clone(),
                has: match self.declaration.target_range() {
                    _ if classes > 0 => format!("{classes} classes"),
                    Some((min, max))
                        if max.is_finite()
                            && (min < 0.0 || matches!(loss.labels(), LabelKind::Levels { .. })) =>
                    {
                        format!("numbers from {min} to {max}")
                    }
                    _ => "numbers".to_owned(),
                },
                instead,
            });
        }
        Ok(())
    }

    /// Encoded columns, their bounds, and labels.
    ///
    /// # Errors
    ///
    /// If the declaration and the encoding do not go together.
    pub fn layout(&self) -> Result<Layout, Error> {
        Ok(self.declaration.layout(&self.encoding)?.for_labels(self.loss.labels()))
    }

    /// The cost of a row in time and memory: features of a map are recomputed and never kept.
    ///
    /// # Errors
    ///
    /// As [`Self::layout`].
    pub fn row_cost(&self) -> Result<RowCost, Error> {
        let layout = self.layout()?;
        let kept = match self.encoding.precision {
            Precision::Sparse => RowCost::sparse(layout.filled()),
            Precision::F64 => RowCost::dense(layout.dimension()),
            Precision::F32 => {
                let dense = RowCost::dense(layout.dimension());
                RowCost { bytes: 0.5 * dense.bytes, ..dense }
            }
        };
        Ok(match &self.map {
            Some(law) => RowCost { touched: law.features as f64, ..kept },
            None => kept,
        })
    }

    /// The factor of a weight in [`Model::coefficients`].
    pub(crate) fn margin_scale(&self, labels: &Labels) -> f64 {
        let sign = if matches!(labels, Labels::Binary { positive: 0, .. }) { -1.0 } else { 1.0 };
        sign * self.loss.link().rescaled(labels.scale(), labels.offset()).0
    }

    /// The features of each column of declared categories; none where weights are not those of
    /// columns.
    pub(crate) fn category_features(&self) -> Vec<Range<usize>> {
        let Ok(layout) = self.layout() else { return Vec::new() };
        if self.map.is_some() || self.hidden.is_some() {
            return Vec::new();
        }
        let of_categories = |input: &Input| match (&input.kind, input.start) {
            (InputKind::OneHot { categories }, Some(start)) => {
                Some(start..start + categories.len())
            }
            _ => None,
        };
        layout.inputs().iter().filter_map(of_categories).collect()
    }

    /// How many weights a linear model of this task has.
    ///
    /// # Errors
    ///
    /// As [`Self::layout`].
    pub fn dimension(&self) -> Result<usize, Error> {
        Ok(self.features()? * self.loss.outputs())
    }

    /// How many features a row has: those of the map, or the encoded columns.
    ///
    /// # Errors
    ///
    /// As [`Self::layout`].
    pub fn features(&self) -> Result<usize, Error> {
        self.map.map_or_else(|| Ok(self.layout()?.dimension()), |law| Ok(law.features))
    }

    /// The bounds that every row keeps: those of the map, which hold whatever the columns hold, or
    /// the declaration's.
    ///
    /// # Errors
    ///
    /// As [`Self::layout`].
    pub fn bounds(&self) -> Result<RowBounds, Error> {
        let bounds = self.layout()?.bounds();
        self.map.map_or(Ok(bounds), |law| Ok(law.bounds(bounds.label())?))
    }

    /// Encoded rows as the oracle wants them: with the map's features, if there is a map.
    ///
    /// # Errors
    ///
    /// If the map's law is out of range.
    pub fn table(&self, rows: Rows) -> Result<Rows, Error> {
        let Some(law) = self.map else { return Ok(rows) };
        let map = FeatureMap::new(law, rows.features().columns())?;
        Ok(rows.mapped(map)?)
    }

    /// The features that are tents at three or more even knots, which an algorithm may straighten
    /// after a run; none where rows may be shortened, so that tents add up to less than 1.
    ///
    /// # Errors
    ///
    /// As [`Self::layout`].
    pub fn curves(&self) -> Result<Vec<EvenCurve>, Error> {
        let layout = self.layout()?;
        let shortened = layout.norm_bound() < layout.structural_bound()
            || self.encoding.normalize_rows
            || self.encoding.unbounded_rows;
        if self.map.is_some() || self.hidden.is_some() || shortened {
            return Ok(Vec::new());
        }
        let even = |input: &Input| match (&input.kind, input.start) {
            (InputKind::Curve { curve, .. }, Some(start))
                if curve.basis == Basis::Tent && curve.even && curve.features() >= 3 =>
            {
                Some(EvenCurve { start, knots: curve.features() })
            }
            _ => None,
        };
        Ok(layout.inputs().iter().filter_map(even).collect())
    }

    /// The problem of this task for a table of `rows` rows, or units where one is declared.
    ///
    /// # Errors
    ///
    /// As [`Self::layout`], and if a number is out of range.
    pub fn problem(
        &self,
        rows: usize,
        domain: Domain,
        slope_limit: Option<f64>,
    ) -> Result<Problem, Error> {
        self.check_loss()?;
        if let Some(law) = self.map {
            law.check()?;
        }
        let problem = Problem {
            domain,
            slope_limit,
            hidden: self.hidden,
            unit: self.declaration.unit().cloned(),
            weighted: self.layout()?.is_weighted(),
            curves: self.curves()?,
            ..Problem::new(self.loss, self.bounds()?, rows, self.features()?)
        };
        // anyone who needs a convex loss or bounded rows says so when planning
        problem.check_parameters()?;
        Ok(problem)
    }
}

/// Delta when none is given: a tenth of one row's share, and at most a millionth.
pub fn default_delta(rows: usize) -> f64 {
    (1.0 / (10.0 * rows.max(1) as f64)).min(1e-6)
}

/// Reads and encodes a table with its labels, grouped by its unit if one is declared.
///
/// # Errors
///
/// About the structure of the file, never about a cell.
pub fn read_rows(
    task: &Task,
    data: impl Into<TableFile>,
    labels: Option<&Path>,
) -> Result<Rows, Error> {
    let data = data.into();
    let layout = task.layout()?;
    // Whose row it is, is read after what the row holds.
    data.unchanged(|| task.grouped(table::read(data.clone(), labels, &layout, true)?, &data))
}

/// A table of this task without a row.
///
/// # Errors
///
/// As [`Task::layout`].
pub fn no_rows(task: &Task) -> Result<Rows, Error> {
    let layout = task.layout()?;
    let features = Features::F64(Dense::new(0, layout.dimension(), Vec::new()));
    let rows = Rows::new(features, Vec::new(), layout.bounds());
    let rows = if layout.is_weighted() { rows.weighted([]) } else { rows };
    match task.declaration.unit() {
        None => Ok(rows),
        Some(unit) => Ok(rows.grouped(std::iter::empty::<Option<()>>(), unit)?),
    }
}

/// An oracle for a table larger than memory, which is read again for every pass. The file is read
/// once before this returns, or twice where rows are brought together by their unit.
///
/// # Errors
///
/// [`Error::Stream`], if `memory` (bytes) is too little, the plan fetches rows in any order, or
/// about the structure of the file.
pub fn stream(
    task: &Task,
    plan: &Plan,
    data: impl Into<TableFile>,
    memory: usize,
    speed: Speed,
) -> Result<Box<dyn Oracle>, Error> {
    check_stream(task, plan, memory)?;
    let (layout, map) = (task.layout()?, task.map.as_ref());
    Ok(match task.declaration.unit() {
        None => {
            let blocks = FileBlocks::open(data, &layout, map, memory, speed)?;
            Box::new(BlockOracle::new(blocks))
        }
        Some(unit) => {
            let blocks = UnitBlocks::open(data, &layout, unit, map, memory, speed)?;
            Box::new(BlockOracle::new(blocks))
        }
    })
}

/// Makes the checks of [`stream`] that come before it opens a file.
///
/// # Errors
///
/// As there.
pub fn check_stream(task: &Task, plan: &Plan, memory: usize) -> Result<(), Error> {
    if plan.any_order() {
        return Err(StreamError::from(OracleError::InOrder).into());
    }
    Ok(FileBlocks::check_memory(&task.layout()?, &plan.outline().problem, memory)?)
}

/// Runs `plan` on `rows` and hands over a model with its certificate. If a ledger pays, charge it
/// before this call.
///
/// # Errors
///
/// None depends on a row's value.
pub fn fit(
    task: &Task,
    plan: Plan,
    rows: Rows,
    source: &Source,
    speed: Speed,
    progress: &dyn Progress,
) -> Result<Model, Error> {
    fit_on(task, plan, &LocalOracle::new(task.table(rows)?, speed)?, source, progress)
}

/// [`fit`] on the rows that `oracle` serves.
///
/// # Errors
///
/// As there, and if a table could not be read again.
pub fn fit_on(
    task: &Task,
    plan: Plan,
    oracle: &dyn Oracle,
    source: &Source,
    progress: &dyn Progress,
) -> Result<Model, Error> {
    check_alone(&plan)?;
    check_draft(&task.declaration, plan.outline().budget.adjacency, None)?;
    let release = plan.run(oracle, source, progress)?;
    let certificate = Certificate::new(plan, &release, source.randomness())?;
    Ok(Model::of_release(task.clone(), &release, certificate))
}

/// Whether a plan can be read back from its certificate, and is charged by itself.
pub(crate) fn check_alone(plan: &Plan) -> Result<(), Error> {
    check_readable(plan)?;
    if plan.outline().problem.candidates.is_some() {
        return Err(Error::Arguments(
            "the plan is a candidate of a selection and is not charged by itself; run the selection, or plan it alone",
        ));
    }
    Ok(())
}

/// The best run of a selection.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The published model.
    pub model: Model,
    /// Which candidate it came from.
    pub candidate: usize,
    /// How many rows it predicts right, with noise: published with it.
    pub score: f64,
}

/// Runs a selection on the rows that `oracle` serves, and hands over its best model with the
/// certificate of the whole choice.
///
/// # Errors
///
/// As [`fit_on`].
pub fn select_on(
    task: &Task,
    selection: Selection,
    oracle: &dyn Oracle,
    source: &Source,
) -> Result<Tuned, Error> {
    if !selection.is_whole() {
        return Err(Error::Arguments("`selection` must be as it was planned; plan it again"));
    }
    check_readable(&selection)?;
    check_draft(&task.declaration, selection.budget.adjacency, None)?;
    let best = selection.run(oracle, source)?;
    let plan = selection.candidates[best.candidate].clone();
    let task = Task { hidden: plan.outline().problem.hidden, ..task.clone() };
    let randomness = source.randomness();
    let certificate = Certificate::of_selected(plan, selection, &best.release, randomness)?;
    let model = Model::of_release(task, &best.release, certificate);
    Ok(Tuned { model, candidate: best.candidate, score: best.score })
}
