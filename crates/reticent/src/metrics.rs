//! How good a model is on rows that the user calls public.

use reticent_data::Rows;
use reticent_problem::Loss;
use reticent_problem::declaration::{Labels, Layout};
use reticent_problem::loss::Softmax;
use serde::Serialize;

use crate::Model;

/// What was measured. Only what applies to the task is there.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// How many rows.
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
}

/// Measures `model` on `rows`, which were encoded by `layout`.
pub fn evaluate(model: &Model, rows: &Rows, layout: &Layout) -> Metrics {
    let outputs = model.task.loss.outputs();
    let margins = model.margins(rows.features());
    let labels = rows.labels();
    let n = labels.len().max(1) as f64;
    let mut metrics = Metrics { rows: labels.len(), ..Metrics::default() };
    match layout.labels() {
        Labels::Binary { .. } => {
            let right = margins.iter().zip(labels).filter(|(m, y)| (**m > 0.0) == (**y > 0.0));
            metrics.accuracy = Some(right.count() as f64 / n);
            let positive = labels.iter().filter(|y| **y > 0.0).count() as f64 / n;
            metrics.baseline_accuracy = Some(positive.max(1.0 - positive));
            if model.task.loss == Loss::Logistic {
                let sum: f64 = margins
                    .iter()
                    .zip(labels)
                    .map(|(m, y)| (-y * m).max(0.0) + (-m.abs()).exp().ln_1p())
                    .sum();
                metrics.log_loss = Some(sum / n);
            }
        }
        Labels::Multiclass { classes } => {
            let mut counts = vec![0_usize; classes.len()];
            let (mut right, mut log_loss) = (0, 0.0);
            for (m, y) in margins.chunks(outputs).zip(labels) {
                let top = m.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let class = *y as usize;
                counts[class] += 1;
                right += usize::from(m.iter().position(|v| *v == top) == Some(class));
                log_loss += Softmax { classes: outputs }.value(m, class);
            }
            metrics.accuracy = Some(right as f64 / n);
            metrics.baseline_accuracy = counts.iter().max().map(|c| *c as f64 / n);
            let gives = matches!(model.task.loss, Loss::Softmax { .. });
            metrics.log_loss = gives.then_some(log_loss / n);
        }
        scaled @ Labels::Regression { .. } => {
            let mean = labels.iter().sum::<f64>() / n;
            let (mut squares, mut absolute, mut spread) = (0.0, 0.0, 0.0);
            for (m, y) in margins.iter().zip(labels) {
                let error = m.clamp(-1.0, 1.0) - y;
                squares += error * error;
                absolute += error.abs();
                spread += (y - mean) * (y - mean);
            }
            metrics.rmse = Some((squares / n).sqrt() * scaled.scale());
            metrics.mae = Some(absolute / n * scaled.scale());
            metrics.r2 = (spread > 0.0).then(|| 1.0 - squares / spread);
        }
    }
    metrics
}
