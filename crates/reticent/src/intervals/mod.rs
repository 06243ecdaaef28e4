//! Coefficients with standard errors and intervals, from a model that was fitted with `intervals`.
//!
//! # Which numbers are stated
//!
//! Coefficients are those of the columns as they are declared: the change of the prediction's
//! margin per unit of a number, and the difference of a category (or of a curve's knot) from the
//! first one. The features of a category's column sum to 1, as the intercept does, so the weights
//! themselves are determined only together, and data determine only their differences. With the
//! first feature of each such column left out, the others are the coordinates of an ordinary
//! regression: the gradient equation of the fit in these coordinates is that of the regression,
//! with the same noise. The intercept is the margin of a row of zeros and of first categories.

mod blocks;
mod method;
mod prediction;
mod sandwich;

use std::collections::BTreeMap;

use reticent_optim::Plan;
use reticent_optim::objective::ObjectivePlan;
use reticent_optim::objective::blocks::{BlocksPlan, IntervalMethod};
use reticent_optim::objective::curvature::{CurvaturePlan, NoisyMatrix};
use reticent_optim::setting::Settings;
use reticent_problem::declaration::{Input, InputKind, Layout, NumericRange};
use serde::Serialize;

use crate::verify::Check;
use crate::{Error, Model, Task};

use blocks::{Blocks, Values};
pub use method::{expected_of_each_method, with_interval_method};
pub use prediction::{ExpectedIntervals, Outcome, expected_intervals};
pub use sandwich::Interval;
use sandwich::{Evidence, Found, Stated};

/// The coefficients of a model with their uncertainty.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coefficients {
    /// The confidence level, in percent.
    pub level: f64,
    /// How the standard errors were found.
    pub method: IntervalMethod,
    /// The quantity that the coefficients add up to.
    pub unit: String,
    /// Columns in declared order, the intercept last.
    pub rows: Vec<Coefficient>,
    /// The columns whose curvature is lost in the noise, the weakest first: while one is in the
    /// model no coefficient is determined.
    pub hidden_columns: Vec<String>,
    /// The assumptions of the intervals.
    pub note: &'static str,
}

/// One coefficient.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coefficient {
    /// The feature: a column, or a column and its category.
    pub name: String,
    /// The category or knot that it is compared with; none of a number.
    pub reference: Option<String>,
    /// The estimate: the released weight with the pull of the ridge taken back where that is known.
    pub estimate: f64,
    /// Its uncertainty; none where it is not determined at this budget.
    pub interval: Option<Interval>,
}

/// The value of a curve at one of its places, less the mean over all its places.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Relative {
    /// The estimate: the released one with the pull of the ridge taken back where that is known.
    pub estimate: f64,
    /// Its uncertainty; none where it is not determined at this budget.
    pub interval: Option<Interval>,
}

/// The text in place of an interval.
pub const NOT_DETERMINED: &str = "not determined at this budget";

/// A column is named where so much of a coefficient's square is in lost directions.
const HIDDEN: f64 = 0.25;

/// So many columns are named in a sentence.
const NAMED: usize = 6;

/// The assumptions of every interval here.
const NOTE: &str = "intervals are asymptotic and assume independent records; they cover the coefficients that an unlimited number of such records would give, under sampling and privacy noise together";

/// The task as intervals need it: numeric columns centred, unless the caller chose their range, and
/// one weight for each of them. Reads no data.
///
/// # Errors
///
/// [`Error::Arguments`] for a model whose coefficients are not those of its columns.
pub fn for_intervals(mut task: Task, keep_range: bool) -> Result<Task, Error> {
    let own = &task.encoding;
    if task.hidden.is_some() || task.map.is_some() {
        return Err(Error::Arguments(
            "`intervals` are for the coefficients of columns; leave `hidden` and `kernel` out",
        ));
    }
    if own.normalize_rows || own.unbounded_rows || own.feature_norm.is_some() {
        return Err(Error::Arguments(
            "`intervals` need rows as long as they are; leave `feature_norm` and `normalize` out",
        ));
    }
    if !keep_range {
        task.encoding.numeric_range = NumericRange::Symmetric;
    }
    if !task.layout()?.pairs().is_empty() {
        return Err(Error::Arguments(
            "`intervals` are for the coefficients of columns and not of pairs; leave `pairs` and the schema's `interactions` out",
        ));
    }
    Ok(task)
}

/// Whether settings ask for intervals.
pub fn asks_for_intervals(settings: &Settings) -> bool {
    settings.has(&reticent_optim::objective::curvature::INTERVALS)
}

impl Coefficients {
    /// The coefficients of a model, at another confidence level than it was fitted for if one is
    /// given, in percent: any level is post-processing.
    ///
    /// # Errors
    ///
    /// [`Error::Arguments`] for a model without a curvature release and a level outside 50 to 99.9;
    /// as [`Model::layout`].
    pub fn of(model: &Model, level: Option<f64>) -> Result<Self, Error> {
        let released = Released::of(model).ok_or(Error::Arguments(
            "`model` must be fitted with `--intervals 95`: this one has neither a curvature release nor blocks, from which standard errors follow",
        ))?;
        let level = level.or(released.plan.settings.intervals).unwrap_or(95.0);
        if !(50.0..=99.9).contains(&level) {
            return Err(Error::Arguments("`level` must be between 50 and 99.9, in percent"));
        }
        let layout = model.layout()?;
        let weights = &model.as_released().weights[0];
        let lines = Lines::of(&model.task, &layout, weights);
        let stated = |weights: &[f64]| Lines::of(&model.task, &layout, weights).stated;
        let found = released.intervals(weights, &lines, stated, level / 100.0);
        let hidden_columns = lines.hidden(&found);
        let rows = lines.names.into_iter().zip(found).map(|((name, reference), found)| {
            let Found { estimate, interval, .. } = found;
            Coefficient { name, reference, estimate, interval }
        });
        let unit = crate::curves::unit(model, layout.labels());
        let method = released.method();
        Ok(Self { level, method, unit, rows: rows.collect(), hidden_columns, note: NOTE })
    }

    /// The note beside a table with undetermined coefficients, with the remedy.
    pub fn not_determined(&self) -> Option<String> {
        let lost = self.rows.iter().filter(|row| row.interval.is_none()).count();
        if lost == 0 {
            return None;
        }
        let (all, named) = (self.rows.len(), self.hidden_columns.len());
        let names: Vec<String> =
            self.hidden_columns.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
        let more = match named.saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let advice = if names.is_empty() {
            "the curvature is barely told from noise; more rows, more epsilon or fewer columns determine them".to_owned()
        } else if self.method == IntervalMethod::Blocks {
            format!(
                "of a tenth of the rows, {}{more} is hardly told from noise, and what such a column would say may hide in the others; leave it out or declare tighter bounds and fit again, or give more rows or epsilon",
                names.join(", ")
            )
        } else {
            format!(
                "the curvature of {}{more} is lost in the noise, and what such a column would say may hide in the others; leave it out or declare tighter bounds and fit again, or give more rows or epsilon",
                names.join(", ")
            )
        };
        Some(format!("{lost} of {all} coefficients are {NOT_DETERMINED}: {advice}"))
    }
}

/// The confidence level of a model's intervals in percent, and for each column that has a curve, by
/// its first feature, the points of its band; none without a curvature release.
///
/// A constant can move from one curve to another and to the intercept, so values of a curve are
/// determined only relative to each other: the weights that are stated sum to zero over a column.
pub(crate) fn bands(
    model: &Model,
    layout: &Layout,
) -> Option<(f64, BTreeMap<usize, Vec<Relative>>)> {
    let released = Released::of(model)?;
    let weights = &model.as_released().weights[0];
    let lines = Lines::of(&model.task, layout, weights);
    let columns: Vec<(usize, usize)> = placed(layout)
        .map(|(input, start)| (start, places(&input.kind, layout.numeric_range()).len()))
        .filter(|(_, places)| *places >= 2)
        .collect();
    let stated = |weights: &[f64]| points(model, layout, &lines.kept, weights);
    let level = released.plan.settings.intervals.unwrap_or(95.0);
    let lines = Lines { stated: stated(weights), ..lines.clone() };
    let found = released.intervals(weights, &lines, stated, level / 100.0);
    let mut points =
        found.into_iter().map(|Found { estimate, interval, .. }| Relative { estimate, interval });
    let own =
        columns.into_iter().map(|(start, count)| (start, points.by_ref().take(count).collect()));
    Some((level, own.collect()))
}

/// The points of all curves: values relative to the mean over a column's places, by these weights.
fn points(model: &Model, layout: &Layout, kept: &[usize], weights: &[f64]) -> Vec<Stated> {
    let scale = model.task.margin_scale(layout.labels());
    let mut stated = Vec::new();
    for (input, start) in placed(layout) {
        let places = places(&input.kind, layout.numeric_range());
        if places.len() < 2 {
            continue;
        }
        let mean = |j: usize| places.iter().map(|p| p[j]).sum::<f64>() / places.len() as f64;
        let means: Vec<f64> = (0..places[0].len()).map(mean).collect();
        for place in &places {
            let (mut value, mut direction) = (0.0, vec![0.0; kept.len()]);
            for (j, (x, mean)) in place.iter().zip(&means).enumerate() {
                let change = scale * (x - mean);
                value += change * weights[start + j];
                if let Some(k) = kept.iter().position(|k| *k == start + j) {
                    direction[k] = change;
                }
            }
            stated.push(Stated { value, direction });
        }
    }
    stated
}

/// The column's features at each place of its curve; none for a column without a curve.
fn places(kind: &InputKind, range: NumericRange) -> Vec<Vec<f64>> {
    match kind {
        InputKind::Number { min, max } if min.is_finite() && max.is_finite() => match range {
            NumericRange::Unit => vec![vec![0.0], vec![1.0]],
            NumericRange::Symmetric => vec![vec![-1.0], vec![1.0]],
        },
        InputKind::Curve { .. } | InputKind::OneHot { .. } => {
            let one = |i: usize| (0..kind.features()).map(move |j| f64::from(u8::from(i == j)));
            (0..kind.features()).map(|i| one(i).collect()).collect()
        }
        InputKind::Number { .. }
        | InputKind::Entries { .. }
        | InputKind::Vector { .. }
        | InputKind::Periodic { .. }
        | InputKind::Hashed { .. } => Vec::new(),
    }
}

/// What a model released for its intervals.
struct Released<'a> {
    plan: &'a ObjectivePlan,
    evidence: Source<'a>,
}

/// The plan of a release for intervals, with the released numbers.
enum Source<'a> {
    Curvature(&'a CurvaturePlan, &'a [f64]),
    Blocks(BlocksPlan, &'a [f64]),
}

impl<'a> Released<'a> {
    fn of(model: &'a Model) -> Option<Self> {
        let Plan::Objective(plan) = &model.certificate.plan else { return None };
        let evidence = match (plan.blocks, &plan.curvature) {
            (Some(blocks), _) => Source::Blocks(blocks, model.blocks.as_deref()?),
            (None, Some(curvature)) => Source::Curvature(curvature, model.curvature.as_deref()?),
            (None, None) => return None,
        };
        Some(Self { plan, evidence })
    }

    fn method(&self) -> IntervalMethod {
        match self.evidence {
            Source::Curvature(..) => IntervalMethod::Curvature,
            Source::Blocks(..) => IntervalMethod::Blocks,
        }
    }

    /// Intervals at this level (a share) of the numbers that the lines state; `stated` gives the
    /// same numbers at any weights.
    fn intervals(
        &self,
        weights: &[f64],
        lines: &Lines,
        stated: impl Fn(&[f64]) -> Vec<Stated>,
        level: f64,
    ) -> Vec<Found> {
        match self.evidence {
            Source::Curvature(curvature, released) => {
                let evidence = evidence(self.plan, curvature, released, weights, &lines.kept);
                sandwich::intervals(&evidence, &lines.stated, level)
            }
            Source::Blocks(plan, released) => {
                let each: Vec<Vec<Stated>> =
                    released.chunks_exact(weights.len().max(1)).map(stated).collect();
                let values =
                    lines.stated.iter().enumerate().map(|(i, Stated { value, direction })| {
                        let each = each.iter().map(|stated| stated[i].value).collect();
                        Values { value: *value, each, direction: direction.clone() }
                    });
                let values: Vec<Values> = values.collect();
                let blocks = Blocks::of(self.plan, plan);
                blocks::intervals(blocks, released, &lines.null, &lines.kept, &values, level)
            }
        }
    }
}

/// Whether what the file holds for intervals is what its plan releases.
pub(crate) fn check(model: &Model) -> Vec<Check> {
    curvature_check(model).into_iter().chain(blocks_check(model)).collect()
}

/// Whether the file's blocks are those of its plan, and its weights their mean.
fn blocks_check(model: &Model) -> Option<Check> {
    let plan = match &model.certificate.plan {
        Plan::Objective(plan) if plan.blocks.is_some() => Some(plan),
        _ => None,
    };
    let weights = &model.as_released().weights;
    let (holds, found) = match (plan, model.blocks.as_deref()) {
        (None, None) => return None,
        (Some(plan), Some(released)) => (
            weights.len() == 1 && plan.holds_blocks(released, &weights[0]),
            format!("{} numbers on the grid of their noise, and their means", released.len()),
        ),
        (Some(_), None) => (false, "planned, and not in the file".to_owned()),
        (None, Some(_)) => (false, "in the file, and not planned".to_owned()),
    };
    Some(Check::new("weights are the mean of the plan's blocks", holds, found))
}

/// Whether the file's curvature is what its plan releases.
fn curvature_check(model: &Model) -> Option<Check> {
    let planned = match &model.certificate.plan {
        Plan::Objective(plan) => plan.curvature.as_ref(),
        _ => None,
    };
    let released = model.curvature.as_deref();
    let features = model.certificate.plan.outline().problem.features;
    let (holds, found) = match (planned, released) {
        (None, None) => return None,
        (Some(plan), Some(released)) => (
            plan.holds(released, features),
            format!("{} numbers on the grid of their noise", released.len()),
        ),
        (Some(_), None) => (false, "planned, and not in the file".to_owned()),
        (None, Some(_)) => (false, "in the file, and not planned".to_owned()),
    };
    Some(Check::new("curvature release is the plan's", holds, found))
}

/// The released values, in the coordinates that are kept.
fn evidence(
    plan: &ObjectivePlan,
    curvature: &CurvaturePlan,
    released: &[f64],
    weights: &[f64],
    kept: &[usize],
) -> Evidence {
    let (n, features) = (plan.outline.problem.rows as f64, weights.len());
    let [hessian, scores] = curvature.matrices(released, features, n).map(|matrix| {
        let entry = |(j, k): (usize, usize)| matrix.entries[j * features + k];
        let places = kept.iter().flat_map(|j| kept.iter().map(move |k| (*j, *k)));
        NoisyMatrix { entries: places.map(entry).collect(), deviation: matrix.deviation }
    });
    Evidence {
        records: n,
        hessian,
        scores,
        gradient_noise: plan.sigma / n,
        output_noise: plan.noise.deviation(features),
        ridge: plan.outline.problem.ridge + plan.extra_ridge,
        weights: kept.iter().map(|j| weights[*j]).collect(),
    }
}

/// The numbers to state, and the features that are coordinates.
#[derive(Clone)]
struct Lines {
    kept: Vec<usize>,
    /// Directions along which no number that is stated changes: the features of a column whose sum
    /// is 1, less the intercept.
    null: Vec<Vec<f64>>,
    names: Vec<(String, Option<String>)>,
    stated: Vec<Stated>,
    /// The column of each; none of the intercept.
    columns: Vec<Option<String>>,
}

impl Lines {
    fn of(task: &Task, layout: &Layout, weights: &[f64]) -> Self {
        let scale = task.margin_scale(layout.labels());
        let intercept = layout.intercept();
        // Without an intercept the first column of categories stands in for it.
        let mut whole = intercept.is_none();
        let mut references = vec![None; weights.len()];
        let (mut null, mut base) = (Vec::new(), vec![0.0; weights.len()]);
        if let Some(j) = intercept {
            base[j] = -1.0;
        }
        for (input, start) in placed(layout) {
            let features = start..start + input.features();
            if !is_partition(&input.kind) {
                continue;
            }
            if std::mem::take(&mut whole) {
                base[features].fill(-1.0);
            } else {
                references[features.clone()].fill(Some(start));
                let mut direction = base.clone();
                direction[features].fill(1.0);
                null.push(direction);
            }
        }
        let is_reference = |j: usize| references[j] == Some(j);
        let kept: Vec<usize> = (0..weights.len()).filter(|j| !is_reference(*j)).collect();
        let place = |j: usize| kept.iter().position(|k| *k == j).unwrap_or(0);
        let names = layout.feature_names();
        let (mut lines, mut zero) = (Vec::new(), vec![0.0; kept.len()]);
        let mut at_zero = 0.0;
        for (input, start) in placed(layout) {
            let (factor, at) = per_unit(&input.kind, layout.numeric_range());
            for j in start..start + input.features() {
                // A missing value's own feature is no number.
                let own = j < start + input.kind.features();
                let (factor, at) = if own { (factor, at) } else { (1.0, 0.0) };
                if is_reference(j) {
                    at_zero += weights[j];
                    continue;
                }
                let mut direction = vec![0.0; kept.len()];
                direction[place(j)] = factor * scale;
                zero[place(j)] += at * scale;
                at_zero += at * weights[j];
                let base = references[j].map_or(0.0, |r| weights[r]);
                let value = factor * scale * (weights[j] - base);
                let reference = references[j].map(|r| names[r].clone());
                let column = Some(input.name.clone());
                lines.push((((names[j].clone(), reference), column), Stated { value, direction }));
            }
        }
        if let Some(j) = intercept {
            zero[place(j)] = scale;
            let labels = layout.labels();
            let offset = task.loss.link().rescaled(labels.scale(), labels.offset()).1;
            let value = scale.mul_add(weights[j] + at_zero, offset);
            lines.push((((names[j].clone(), None), None), Stated { value, direction: zero }));
        }
        let (names, stated): (Vec<_>, _) = lines.into_iter().unzip();
        let (names, columns) = names.into_iter().unzip();
        Self { kept, null, names, stated, columns }
    }

    /// The columns with a coefficient in lost directions, those that are lost most first. Where
    /// directions are lost that lie between many columns, the one that has most of them.
    fn hidden(&self, found: &[Found]) -> Vec<String> {
        let mut loads: Vec<(f64, &String)> = Vec::new();
        for (found, column) in found.iter().zip(&self.columns) {
            let Some(column) = column else { continue };
            match loads.iter_mut().find(|(_, name)| *name == column) {
                Some((load, _)) => *load = load.max(found.lost),
                None => loads.push((found.lost, column)),
            }
        }
        loads.sort_by(|a, b| b.0.total_cmp(&a.0));
        let enough = loads.first().map_or(HIDDEN, |(most, _)| most.min(HIDDEN)).max(1e-6);
        let hidden = loads.into_iter().take_while(|(load, _)| *load >= enough);
        hidden.map(|(_, name)| name.clone()).collect()
    }
}

/// The columns that have features, with the first of them.
fn placed(layout: &Layout) -> impl Iterator<Item = (&Input, usize)> {
    layout.inputs().iter().filter_map(|input| Some((input, input.start?)))
}

/// Whether a column's features sum to 1.
fn is_partition(kind: &InputKind) -> bool {
    match kind {
        InputKind::OneHot { .. }
        | InputKind::Curve { .. }
        | InputKind::Hashed { words: false, .. } => true,
        InputKind::Number { .. }
        | InputKind::Entries { .. }
        | InputKind::Vector { .. }
        | InputKind::Periodic { .. }
        | InputKind::Hashed { words: true, .. } => false,
    }
}

/// The feature's change per unit of the column, and its value where the column is zero.
fn per_unit(kind: &InputKind, range: NumericRange) -> (f64, f64) {
    match kind {
        InputKind::Number { min, max } | InputKind::Entries { min, max, .. } if max.is_finite() => {
            let per = 1.0 / (max - min);
            match range {
                NumericRange::Unit => (per, -min * per),
                NumericRange::Symmetric => (2.0 * per, -2.0 * min * per - 1.0),
            }
        }
        InputKind::Number { .. }
        | InputKind::Entries { .. }
        | InputKind::Curve { .. }
        | InputKind::OneHot { .. }
        | InputKind::Periodic { .. }
        | InputKind::Hashed { .. }
        | InputKind::Vector { .. } => (1.0, 0.0),
    }
}
