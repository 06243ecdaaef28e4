//! How good a model is on rows that the user calls public.

use reticent_problem::Loss;
use reticent_problem::declaration::{Labels, Layout};
use reticent_problem::loss::Predicts;
use reticent_table::table::Inspected;
use serde::Serialize;

use crate::Model;

/// What was measured. Only what applies to the task is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// How many rows with a known label were measured.
    pub rows: usize,
    /// Share of rows whose class is predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Share of the most frequent class: what a constant prediction would reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_accuracy: Option<f64>,
    /// Mean negative log-likelihood, where the loss gives probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_loss: Option<f64>,
    /// Root mean squared error in the target's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rmse: Option<f64>,
    /// Mean absolute error in the target's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mae: Option<f64>,
    /// Share of the variance that is explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r2: Option<f64>,
    /// Share of the deviance that is explained, where the loss has one: that of predicting the mean
    /// is explained by nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviance_explained: Option<f64>,
}

/// Measures `model` on a public table that was encoded by `layout`. Rows whose target names no label are left out; a row with a
/// cell that cannot be read keeps its true label, and a target outside its bounds its true value.
pub fn evaluate(model: &Model, table: &Inspected, layout: &Layout) -> Metrics {
    let outputs = model.task.loss.outputs();
    let margins = model.margins(table.rows.features());
    let known = margins.chunks(outputs).zip(&table.labels);
    let known: Vec<(&[f64], f64)> = known.filter_map(|(m, y)| Some((m, (*y)?))).collect();
    let metrics = Metrics { rows: known.len(), ..Metrics::default() };
    match layout.labels() {
        Labels::Binary { .. } => two_classes(metrics, model.task.loss, &known),
        Labels::Multiclass { classes } => {
            many_classes(metrics, model.task.loss, classes.len(), &known)
        }
        labels @ Labels::Regression { .. } => {
            // Predictions are held to the target's bounds where it has some.
            let ((low, high), link) = (labels.range(), model.task.loss.link());
            let prediction = |m: &[f64]| link.prediction(m[0]).clamp(low, high);
            let known: Vec<_> = known.iter().map(|(m, y)| (prediction(m), *y)).collect();
            regression(metrics, model.task.loss, labels.scale(), &known)
        }
    }
}

/// Margins and labels, which are -1 and 1.
fn two_classes(metrics: Metrics, loss: Loss, known: &[(&[f64], f64)]) -> Metrics {
    let n = known.len().max(1) as f64;
    let right = known.iter().filter(|(m, y)| (m[0] > 0.0) == (*y > 0.0)).count();
    let positive = known.iter().filter(|(_, y)| *y > 0.0).count() as f64 / n;
    Metrics {
        accuracy: Some(right as f64 / n),
        baseline_accuracy: Some(positive.max(1.0 - positive)),
        log_loss: log_loss(loss, known),
        ..metrics
    }
}

/// Margins of each class, and labels that are indices.
fn many_classes(metrics: Metrics, loss: Loss, classes: usize, known: &[(&[f64], f64)]) -> Metrics {
    let n = known.len().max(1) as f64;
    let mut counts = vec![0_usize; classes];
    let mut right = 0;
    for (m, y) in known {
        let top = m.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let class = *y as usize;
        counts[class] += 1;
        right += usize::from(m.iter().position(|v| *v == top) == Some(class));
    }
    Metrics {
        accuracy: Some(right as f64 / n),
        baseline_accuracy: counts.iter().max().map(|c| *c as f64 / n),
        log_loss: log_loss(loss, known),
        ..metrics
    }
}

/// The mean loss, where the loss is the negative logarithm of a probability.
fn log_loss(loss: Loss, known: &[(&[f64], f64)]) -> Option<f64> {
    let Predicts::Probabilities { .. } = loss.about().predicts else { return None };
    let sum: f64 = known.iter().map(|(m, y)| loss.value(m, *y)).sum();
    Some(sum / known.len().max(1) as f64)
}

/// Predictions and targets, both in units of `scale`.
fn regression(metrics: Metrics, loss: Loss, scale: f64, known: &[(f64, f64)]) -> Metrics {
    let n = known.len().max(1) as f64;
    let mean = known.iter().map(|(_, y)| y).sum::<f64>() / n;
    let (mut squares, mut absolute, mut spread) = (0.0, 0.0, 0.0);
    for (m, y) in known {
        let error = m - y;
        squares += error * error;
        absolute += error.abs();
        spread += (y - mean) * (y - mean);
    }
    Metrics {
        rmse: Some((squares / n).sqrt() * scale),
        mae: Some(absolute / n * scale),
        r2: (spread > 0.0).then(|| 1.0 - squares / spread),
        deviance_explained: deviance_explained(loss, mean, known),
        ..metrics
    }
}

/// One minus the deviance over that of predicting the mean.
fn deviance_explained(loss: Loss, mean: f64, known: &[(f64, f64)]) -> Option<f64> {
    let Predicts::Number { deviance: Some(deviance), .. } = loss.about().predicts else {
        return None;
    };
    let whole: f64 = known.iter().map(|(_, y)| deviance(*y, mean)).sum();
    let rest: f64 = known.iter().map(|(m, y)| deviance(*y, *m)).sum();
    (whole > 0.0).then(|| 1.0 - rest / whole)
}
