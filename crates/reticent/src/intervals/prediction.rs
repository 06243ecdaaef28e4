//! Which intervals a plan will give, before anything is read or spent.
//!
//! The noise is the plan's. The Hessian is not known, so it is that of a table whose columns are
//! independent and even within their declared bounds, with one missing cell in twenty where cells
//! may be missing; of a logistic loss the average curvature is taken as 0.2 (margins spread by one)
//! and the model as true, of a Huber loss residuals as half its threshold. Real columns fill a part
//! of their bounds and hang together, so the outcome is seldom better than this. With blocks the
//! bias is that of weights whose margins have a deviation of one, or of a quarter of the largest
//! label.

use reticent_optim::Plan;
use reticent_optim::objective::blocks::{IntervalMethod, weights_norm};
use reticent_optim::objective::curvature::{CurvaturePlan, NoisyMatrix};
use reticent_problem::Loss;
use reticent_problem::declaration::{Basis, InputKind, Layout, NumericRange};
use serde::Serialize;

use super::blocks::{Blocks, HELD_BACK, MOST_BIAS};
use super::sandwich::{Evidence, Found, Stated, intervals, threshold};
use super::{Lines, evidence};
use crate::{Error, Task};
use reticent_math::symmetric::Square;

/// The share of cells that are missing where they may be.
const MISSING: f64 = 0.05;

/// The expected outcome of a plan's intervals, if columns are independent and uniform within their
/// bounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectedIntervals {
    /// How the standard errors will be found.
    pub method: IntervalMethod,
    /// Whether coefficients will be determined: all are, or none.
    pub outcome: Outcome,
    /// Each coefficient, with half the width of its interval where it would be determined.
    pub half_widths: Vec<(String, Option<f64>)>,
}

/// Whether coefficients will be determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The curvature is well above its noise.
    All,
    /// It is so close to the threshold that the noise decides.
    Perhaps,
    /// It is below.
    None,
}

impl ExpectedIntervals {
    /// The expectation in a sentence.
    pub fn sentence(&self) -> String {
        let count = self.half_widths.len();
        let outcome = match self.outcome {
            Outcome::All => format!("all {count} coefficients determined"),
            Outcome::Perhaps => {
                format!("{count} coefficients determined or none, as the noise falls")
            }
            Outcome::None if self.method == IntervalMethod::Blocks => format!(
                "none of {count} coefficients determined: give more rows or epsilon, or fewer columns"
            ),
            Outcome::None => format!(
                "none of {count} coefficients determined: give more rows or epsilon, a larger `curvature_share`, or fewer columns"
            ),
        };
        let method = match self.method {
            IntervalMethod::Curvature => "from the curvature",
            IntervalMethod::Blocks => "from blocks",
        };
        format!("{method}, {outcome}, were columns independent and even within their bounds")
    }
}

/// The expected outcome of a plan's intervals; none for a plan without intervals, for other losses
/// than logistic and Huber, and for vectors and numeric columns without bounds.
///
/// # Errors
///
/// As [`Task::layout`].
pub fn expected_intervals(task: &Task, plan: &Plan) -> Result<Option<ExpectedIntervals>, Error> {
    let Plan::Objective(plan) = plan else { return Ok(None) };
    let (bend, square) = match task.loss {
        Loss::Logistic => (0.2, 0.2),
        Loss::Huber { threshold } => (1.0, 0.25 * threshold * threshold),
        _ => return Ok(None),
    };
    let layout = task.layout()?;
    let Some(moments) = moments(&layout) else { return Ok(None) };
    let lines = Lines::of(task, &layout, &vec![0.0; moments.size]);
    let entry = |j: &usize, k: &usize| moments.entries[j * moments.size + k];
    let kept: Vec<f64> =
        lines.kept.iter().flat_map(|j| lines.kept.iter().map(move |k| entry(j, k))).collect();
    let hessian: Vec<f64> = kept.iter().map(|x| bend * x).collect();
    let scores = kept.iter().map(|x| square * x).collect();
    let level = plan.settings.intervals.unwrap_or(95.0) / 100.0;
    let (method, outcome, half) = match (&plan.curvature, plan.blocks) {
        (Some(curvature), _) => {
            let released = vec![0.0; CurvaturePlan::numbers(moments.size)];
            let zero = vec![0.0; moments.size];
            let mut evidence = evidence(plan, curvature, &released, &zero, &lines.kept);
            (evidence.hessian.entries, evidence.scores.entries) = (hessian, scores);
            let outcome = outcome_of_curvature(&evidence);
            (IntervalMethod::Curvature, outcome, half_widths(&evidence, &lines.stated, level))
        }
        (None, Some(blocks)) => {
            let exact = |entries| NoisyMatrix { entries, deviation: 0.0 };
            let evidence = Evidence {
                records: blocks.records as f64,
                hessian: exact(hessian),
                scores: exact(scores),
                gradient_noise: plan.sigma / blocks.records as f64,
                output_noise: plan.noise.deviation(moments.size),
                ridge: plan.outline.problem.ridge + plan.extra_ridge,
                weights: vec![0.0; lines.kept.len()],
            };
            let norm = weights_norm(&plan.outline.problem);
            let (outcome, half) =
                of_blocks(Blocks::of(plan, blocks), &evidence, &lines.stated, norm, level);
            (IntervalMethod::Blocks, outcome, half)
        }
        (None, None) => return Ok(None),
    };
    let half_widths = lines.names.into_iter().map(|(name, _)| name).zip(half).collect();
    Ok(Some(ExpectedIntervals { method, outcome, half_widths }))
}

/// Whether the least eigenvalue is above the threshold.
fn outcome_of_curvature(evidence: &Evidence) -> Outcome {
    let size = evidence.weights.len();
    let (values, _) = Square::new(size, evidence.hessian.entries.clone()).eigen();
    let least = values.into_iter().fold(f64::INFINITY, f64::min);
    let above = least - threshold(&evidence.hessian, size);
    match above / evidence.hessian.deviation.max(f64::MIN_POSITIVE) {
        x if x <= 0.0 => Outcome::None,
        x if x < 2.0 => Outcome::Perhaps,
        _ => Outcome::All,
    }
}

fn half_widths(evidence: &Evidence, stated: &[Stated], level: f64) -> Vec<Option<f64>> {
    let found = intervals(evidence, stated, level);
    found.into_iter().map(|f| f.interval.map(|i| 0.5 * (i.high - i.low))).collect()
}

/// The outcome with blocks: `evidence` is that of one block, its matrices without noise, and `norm`
/// that of the weights.
fn of_blocks(
    blocks: Blocks,
    evidence: &Evidence,
    stated: &[Stated],
    norm: f64,
    level: f64,
) -> (Outcome, Vec<Option<f64>>) {
    let size = evidence.weights.len();
    let one = |j: usize| {
        let direction = (0..size).map(|k| f64::from(u8::from(j == k))).collect();
        Stated { value: 0.0, direction }
    };
    let each: Vec<Stated> = (0..size).map(one).collect();
    let variances: Option<Vec<f64>> = intervals(evidence, &each, level)
        .into_iter()
        .map(|found| found.interval.map(|i| i.standard_error.powi(2)))
        .collect();
    let none = (Outcome::None, vec![None; stated.len()]);
    let Some(variances) = variances else { return none };
    let held = blocks.held_back(variances.iter().copied().fold(0.0, f64::max));
    let mean = variances.iter().sum::<f64>() / size as f64;
    let bias = blocks.bias(norm / (1.0 - held), mean);
    if held > HELD_BACK || bias > MOST_BIAS {
        return none;
    }
    let sure = held < 0.5 * HELD_BACK && bias < 0.5 * MOST_BIAS;
    let outcome = if sure { Outcome::All } else { Outcome::Perhaps };
    let reach = blocks.quantile(level, bias) / (blocks.count as f64).sqrt();
    let half = |found: Found| found.interval.map(|i| reach * i.standard_error);
    (outcome, intervals(evidence, stated, level).into_iter().map(half).collect())
}

/// The mean of `xxᵀ`: of columns that are independent and even within their bounds.
fn moments(layout: &Layout) -> Option<Square> {
    let size = layout.feature_names().len();
    let (mut mean, mut covariance) = (vec![0.0; size], vec![0.0; size * size]);
    for (input, start) in super::placed(layout) {
        let count = input.kind.features();
        let (own, second) = of_column(&input.kind, layout.numeric_range())?;
        for j in 0..count {
            mean[start + j] = own[j];
            for k in 0..count {
                covariance[(start + j) * size + start + k] =
                    second[j * count + k] - own[j] * own[k];
            }
        }
        for j in start + count..start + input.features() {
            mean[j] = MISSING;
            covariance[j * size + j] = MISSING * (1.0 - MISSING);
        }
    }
    if let Some(j) = layout.intercept() {
        mean[j] = 1.0;
    }
    let entry = |i: usize| mean[i / size].mul_add(mean[i % size], covariance[i]);
    Some(Square::new(size, (0..size * size).map(entry).collect()))
}

/// The mean of a column's features and of their products.
fn of_column(kind: &InputKind, range: NumericRange) -> Option<(Vec<f64>, Vec<f64>)> {
    let count = kind.features();
    let even = |count: usize| {
        let share = 1.0 / count as f64;
        let entry = |i: usize| if i / count == i % count { share } else { 0.0 };
        (vec![share; count], (0..count * count).map(entry).collect())
    };
    match kind {
        InputKind::Number { min, max } if min.is_finite() && max.is_finite() => Some(match range {
            NumericRange::Unit => (vec![0.5], vec![1.0 / 3.0]),
            NumericRange::Symmetric => (vec![0.0], vec![1.0 / 3.0]),
        }),
        InputKind::Curve { curve, .. } if curve.basis == Basis::Tent && count > 1 => {
            // Tents of height 1 over even knots: half of one at either end.
            let step = 1.0 / (count - 1) as f64;
            let sides = |i: usize| if i == 0 || i + 1 == count { 1.0 } else { 2.0 };
            let mean = (0..count).map(|i| 0.5 * step * sides(i)).collect();
            let entry = |i: usize| match (i / count).abs_diff(i % count) {
                0 => step * sides(i / count) / 3.0,
                1 => step / 6.0,
                _ => 0.0,
            };
            Some((mean, (0..count * count).map(entry).collect()))
        }
        InputKind::OneHot { .. }
        | InputKind::Curve { .. }
        | InputKind::Hashed { words: false, .. } => Some(even(count)),
        InputKind::Periodic { .. } => Some((vec![0.0; 2], vec![0.5, 0.0, 0.0, 0.5])),
        InputKind::Number { .. }
        | InputKind::Entries { .. }
        | InputKind::Vector { .. }
        | InputKind::Hashed { words: true, .. } => None,
    }
}
