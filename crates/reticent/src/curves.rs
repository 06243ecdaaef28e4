//! The parts of an additive model: a curve for each number, a weight for each category, a surface
//! for each pair.
//!
//! # Fact
//!
//! The features of a row are those of its columns and of its pairs, side by side. So a linear model
//! of them is a sum: the margin of a row that is not clipped is the constant, plus for each column
//! the value of its curve at the row's number (or of its category), plus for each pair the value of
//! its surface. A missing cell adds the value of the column's indicator, that of its curve at the
//! number that it counts as, or 0. Everything here is a function of the released weights:
//! post-processing.

use reticent_problem::declaration::{
    Basis, Curve, Factor, Input, InputKind, Labels, Layout, NumericRange, Pair, Place, Scale,
};
use reticent_problem::loss::{Link, Predicts};
use serde::Serialize;

use crate::intervals::{self, Relative};
use crate::{Error, Model};

/// The parts whose sum is a model's margin, on the scale of its predictions where the link is the
/// identity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curves {
    /// The quantity that the values add up to.
    pub unit: String,
    /// The class that each output speaks for, or the target.
    pub outputs: Vec<String>,
    /// The constant of each output.
    pub constants: Vec<f64>,
    /// The columns in declared order.
    pub columns: Vec<Effect>,
    /// The pairs in order.
    pub pairs: Vec<Surface>,
    /// Columns that have no curve: vectors, and numeric columns without bounds.
    pub others: Vec<String>,
    /// Whether long rows are shortened before they are added up, so that the sum is exact for the
    /// others alone.
    pub clipped: bool,
    /// The confidence level of bands, in percent, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
}

/// One column or one side of a pair: the places that have a value each.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// The column.
    pub column: String,
    /// The shape of the curve between places.
    pub kind: AxisKind,
    /// The scale on which tents are straight and knots are even.
    pub scale: Scale,
    /// The knots of a line or of tents, the ends of bins; none of categories.
    pub knots: Vec<f64>,
    /// The places by name: knots, bins or categories.
    pub places: Vec<String>,
}

/// How far a number is on the way from one end to the other, on a scale.
pub(crate) fn share(scale: Scale, ends: [f64; 2], number: f64) -> f64 {
    let curve = Curve { basis: Basis::Tent, scale, knots: ends.to_vec(), even: true };
    curve.ready().place(number).share
}

/// The shape of a curve between the places of its axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AxisKind {
    /// A straight line from bound to bound.
    Line,
    /// Straight lines from knot to knot.
    Tent,
    /// A constant in each bin.
    Bins,
    /// Nothing: each category has a value of its own.
    Categories,
}

/// The contribution of a column to the margin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// Its places.
    #[serde(flatten)]
    pub axis: Axis,
    /// For each output the value at each place.
    pub values: Vec<Vec<f64>>,
    /// For each output the value of a missing cell.
    pub missing: Vec<f64>,
    /// The standard deviation of the noise in the value at each place, where the release knows it.
    pub noise: Option<Vec<f64>>,
    /// The value at each place relative to the mean over them, with its interval, of a model that
    /// was fitted with intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<Vec<Relative>>,
}

/// The contribution of a pair of columns to the margin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Surface {
    /// The places of both columns.
    pub axes: [Axis; 2],
    /// For each output the value at each place of the first and of the second column, the second
    /// running faster.
    pub values: Vec<Vec<f64>>,
    /// The standard deviation of the noise in each value, where the release knows it.
    pub noise: Option<f64>,
}

impl Curves {
    /// The parts of a model.
    ///
    /// # Errors
    ///
    /// [`Error::Arguments`] for a network or random features, which are no sum over columns; as
    /// [`Model::layout`].
    pub fn of(model: &Model) -> Result<Self, Error> {
        if model.task.hidden.is_some() || model.task.map.is_some() {
            return Err(Error::Arguments(
                "`model` must be a sum over its columns: a network or a model of random features has no curves; fit without --hidden and --kernel",
            ));
        }
        let layout = model.layout()?;
        let (weights, constants) = model.coefficients(&layout);
        let plan = &model.certificate.plan;
        let noise = plan.noise_on_weights().then(|| {
            plan.outline().noise_deviation * model.task.margin_scale(layout.labels()).abs()
        });
        let mut curves = Self {
            unit: unit(model, layout.labels()),
            outputs: outputs(model, layout.labels()),
            constants,
            columns: Vec::new(),
            pairs: Vec::new(),
            others: Vec::new(),
            clipped: layout.norm_bound() < layout.structural_bound()
                || layout.encoding().normalize_rows,
            level: None,
        };
        let mut bands = None;
        if let Some((level, found)) = intervals::bands(model, &layout) {
            (curves.level, bands) = (Some(level), Some(found));
        }
        let edits = model.edited.as_ref().map_or(&[][..], |edited| &edited.monotone);
        for input in layout.inputs() {
            let Some(start) = input.start else { continue };
            // How much noise is left in a value that was pooled with others depends on all of them.
            let edited = edits.iter().any(|edit| edit.column == input.name);
            let noise = noise.filter(|_| !edited);
            match effect(input, start, layout.numeric_range(), &weights, noise) {
                Some(mut effect) => {
                    let found = bands.as_mut().and_then(|bands| bands.remove(&start));
                    effect.band = found.filter(|_| !edited);
                    curves.columns.push(effect);
                }
                None => curves.others.push(input.name.clone()),
            }
        }
        curves.pairs =
            layout.pairs().iter().map(|p| surface(p, &layout, &weights, noise)).collect();
        Ok(curves)
    }
}

/// The quantity that values add up to.
pub(crate) fn unit(model: &Model, labels: &Labels) -> String {
    let target = &model.task.declaration.target().name;
    match (model.task.loss.about().predicts, labels) {
        (Predicts::Number, _) => match model.task.loss.link() {
            Link::Log => format!("logarithm of the predicted `{target}`"),
            Link::Levels(_) => format!("log-odds of a higher `{target}`"),
            Link::Identity => format!("predicted `{target}`"),
        },
        (Predicts::Probabilities { .. }, Labels::Binary { classes, .. }) => {
            format!("log-odds of `{target}` = `{}`", classes[1])
        }
        (_, Labels::Binary { classes, .. }) => format!("score of `{target}` = `{}`", classes[1]),
        _ => format!("score of each class of `{target}`"),
    }
}

/// The name of each output.
fn outputs(model: &Model, labels: &Labels) -> Vec<String> {
    let (classes, count) = (labels.classes(), model.weights.len());
    match classes {
        _ if classes.len() == count => classes.to_vec(),
        [_, second] => vec![second.clone()],
        _ => vec![model.task.declaration.target().name.clone(); count],
    }
}

/// The effect of a column whose features start there; none for a column without a curve.
fn effect(
    input: &Input,
    start: usize,
    range: NumericRange,
    weights: &[Vec<f64>],
    noise: Option<f64>,
) -> Option<Effect> {
    let part = |w: &Vec<f64>| w[start..start + input.kind.features()].to_vec();
    let (axis, values, noise) = match &input.kind {
        InputKind::Number { min, max } if min.is_finite() && max.is_finite() => {
            let least = if range == NumericRange::Symmetric { -1.0 } else { 0.0 };
            let line = weights.iter().map(|w| vec![least * w[start], w[start]]).collect();
            let axis = curve_axis(&input.name, AxisKind::Line, &Curve::line(*min, *max));
            (axis, line, noise.map(|noise| vec![noise * f64::abs(least), noise]))
        }
        InputKind::Curve { curve, .. } => {
            let axis = curve_axis(&input.name, kind_of(curve), curve);
            let noise = noise.map(|noise| vec![noise; curve.features()]);
            (axis, weights.iter().map(part).collect(), noise)
        }
        InputKind::OneHot { categories } => {
            let noise = noise.map(|noise| vec![noise; categories.len()]);
            (category_axis(&input.name, categories), weights.iter().map(part).collect(), noise)
        }
        InputKind::Number { .. }
        | InputKind::Entries { .. }
        | InputKind::Vector { .. }
        | InputKind::Periodic { .. }
        | InputKind::Hashed { .. } => return None,
    };
    let last = start + input.kind.features();
    let filled = input.fill.and_then(|fill| place(&input.kind, fill));
    let missing = weights.iter().zip(&values).map(|(w, values): (_, &Vec<f64>)| match filled {
        _ if input.indicator => w[last],
        Some(place) => {
            let (first, share) = (place.first as usize, place.share);
            let next = values.get(first + 1).map_or(0.0, |next| share * next);
            (1.0 - share) * values[first] + next
        }
        None => 0.0,
    });
    let missing = missing.collect();
    Some(Effect { axis, values, missing, noise, band: None })
}

/// The place of a number between the places of its column.
fn place(kind: &InputKind, number: f64) -> Option<Place> {
    match kind {
        InputKind::Number { min, max } => Some(Curve::line(*min, *max).ready().place(number)),
        InputKind::Curve { curve, .. } => Some(curve.ready().place(number)),
        InputKind::OneHot { .. }
        | InputKind::Entries { .. }
        | InputKind::Vector { .. }
        | InputKind::Periodic { .. }
        | InputKind::Hashed { .. } => None,
    }
}

fn surface(pair: &Pair, layout: &Layout, weights: &[Vec<f64>], noise: Option<f64>) -> Surface {
    let axes = [0, 1].map(|side| {
        let input = &layout.inputs()[pair.inputs[side]];
        match (&pair.factors[side], &input.kind) {
            (Factor::Curve(curve), _) => curve_axis(&input.name, kind_of(curve), curve),
            (Factor::Categories(_), InputKind::OneHot { categories }) => {
                category_axis(&input.name, categories)
            }
            // A factor of categories belongs to a column of categories.
            (Factor::Categories(_), _) => category_axis(&input.name, &[]),
        }
    });
    let part = |w: &Vec<f64>| w[pair.start..pair.start + pair.features()].to_vec();
    Surface { axes, values: weights.iter().map(part).collect(), noise }
}

fn kind_of(curve: &Curve) -> AxisKind {
    match curve.basis {
        Basis::Tent => AxisKind::Tent,
        Basis::Bins => AxisKind::Bins,
    }
}

fn curve_axis(column: &str, kind: AxisKind, curve: &Curve) -> Axis {
    Axis {
        column: column.to_owned(),
        kind,
        scale: curve.scale,
        knots: curve.knots.clone(),
        places: curve.names(),
    }
}

fn category_axis(column: &str, categories: &[String]) -> Axis {
    Axis {
        column: column.to_owned(),
        kind: AxisKind::Categories,
        scale: Scale::Linear,
        knots: Vec::new(),
        places: categories.to_vec(),
    }
}
