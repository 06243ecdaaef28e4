//! How good a model is on rows that the user calls public.
//!
//! [`Scores`] holds the model's predictions and the true labels of a table; metrics of all rows, of
//! groups, and at other thresholds are taken of them without predicting again. The definitions are
//! those of scikit-learn, and tests compare with its functions.

mod calibration;
mod groups;
mod many;
mod noisy;
mod number;
mod ranking;
mod threshold;
mod two;

use reticent_data::Features;
use reticent_problem::Loss;
use reticent_problem::declaration::{Labels, Layout};
use reticent_problem::loss::Predicts;
use serde::Serialize;

use crate::{Error, Model};

pub use calibration::CalibrationBin;
pub use groups::{Gap, GroupMetrics};
pub use many::ClassMetrics;
pub(crate) use noisy::statement as noisy_statement;
pub use noisy::{
    CountMoves, EvaluationQuery, EvaluationRelease, NoisyGroup, NoisyMetrics,
    evaluation_sensitivity,
};
pub use threshold::{BestThreshold, Costs};

/// How rows are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measure {
    /// The probability from which on the positive class is predicted; the model's own rule, one
    /// half, if not given.
    pub threshold: Option<f64>,
    /// The costs of the two kinds of errors, by which the best threshold is chosen.
    pub costs: Option<Costs>,
}

/// The metrics. Only those that apply to the task are present.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// How many rows with a known label were measured.
    pub rows: usize,
    /// Share of rows whose class is predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Share of the most frequent class: the accuracy of a constant prediction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_accuracy: Option<f64>,
    /// Mean negative log-likelihood, where the loss gives probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_loss: Option<f64>,
    /// Log loss of predicting the shares of the classes in every row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_log_loss: Option<f64>,
    /// Mean squared error of the positive class's probability; of more than two classes the sum
    /// over classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brier: Option<f64>,
    /// Area under the ROC curve: the chance that a positive row scores higher than a negative one;
    /// of more than two classes the mean over classes, each against the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auc: Option<f64>,
    /// Precision, averaged over the recall that each score adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_precision: Option<f64>,
    /// The class that the metrics of two classes are about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positive_class: Option<String>,
    /// The probability from which on the positive class is predicted here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Share of the positive rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positive_share: Option<f64>,
    /// Share of rows that are predicted to be positive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection_rate: Option<f64>,
    /// Share of the predicted positives that are positive; of more than two classes the mean over
    /// classes. None where no row is predicted positive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// Share of the positives that are predicted: the true-positive rate; of more than two classes
    /// the mean over classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<f64>,
    /// Share of the negatives that are predicted to be positive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub false_positive_rate: Option<f64>,
    /// Harmonic mean of precision and recall; of more than two classes the mean over classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub f1: Option<f64>,
    /// Slope of the true log-odds over the predicted ones: one if calibrated, below one if
    /// probabilities are too extreme.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration_slope: Option<f64>,
    /// True log-odds where the predicted ones are zero: zero if calibrated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration_offset: Option<f64>,
    /// Mean distance of predicted and observed shares over the bins of the calibration table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration_error: Option<f64>,
    /// Root mean squared error in the target's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rmse: Option<f64>,
    /// Mean absolute error in the target's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mae: Option<f64>,
    /// Share of the variance that is explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r2: Option<f64>,
    /// Mean deviance in the target's unit, where the loss has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviance: Option<f64>,
    /// Share of the deviance that is explained, where the loss has one: that of the best constant
    /// prediction (the mean, or a quantile) is explained by nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviance_explained: Option<f64>,
    /// Share of rows whose target is at most the predicted quantile, where the loss predicts one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantile_coverage: Option<f64>,
    /// The threshold of the least cost on these rows, where costs were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_threshold: Option<BestThreshold>,
    /// For each true class the number of rows of each predicted class, in declared order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confusion: Vec<Vec<usize>>,
    /// Of more than two classes, each class against the rest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassMetrics>,
    /// Predicted beside observed: of probabilities of the positive class, of the probability of the
    /// predicted class among more than two, or of regression predictions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calibration: Vec<CalibrationBin>,
    /// Points of the ROC curve: false-positive and true-positive rate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roc: Vec<[f64; 2]>,
}

/// A row with a known label: its margins, one for each output, and the label.
type Known<'a> = (&'a [f64], f64);

/// A model's margins for the rows of a table, and their true labels.
#[derive(Debug)]
pub struct Scores {
    loss: Loss,
    labels: Labels,
    /// Margins of all rows, one for each output.
    margins: Vec<f64>,
    truth: Vec<Option<f64>>,
}

impl Scores {
    /// Predicts for encoded rows. `truth` has a label for each row, on the scale of the labels, and
    /// none where it is unknown; such rows are left out. A row with a cell that cannot be read
    /// keeps its true label, and a target outside its bounds its true value.
    pub fn of(model: &Model, features: &Features, truth: &[Option<f64>], layout: &Layout) -> Self {
        let margins = model.margins(features);
        let truth = truth.to_vec();
        Self { loss: model.task.loss, labels: layout.labels().clone(), margins, truth }
    }

    /// The metrics of all rows.
    ///
    /// # Errors
    ///
    /// [`Error::Arguments`] for a threshold or costs that do not fit the model.
    pub fn metrics(&self, measure: &Measure) -> Result<Metrics, Error> {
        check(measure, self.loss, &self.labels)?;
        Ok(self.of_rows(0..self.truth.len(), measure))
    }

    /// A row with a known label.
    fn row(&self, row: usize) -> Option<Known<'_>> {
        let outputs = self.loss.outputs();
        let margins = self.margins.get(row * outputs..(row + 1) * outputs)?;
        Some((margins, (*self.truth.get(row)?)?))
    }

    /// The metrics of these rows, as far as their labels are known.
    fn of_rows(&self, rows: impl Iterator<Item = usize>, measure: &Measure) -> Metrics {
        let known: Vec<Known<'_>> = rows.filter_map(|row| self.row(row)).collect();
        match &self.labels {
            Labels::Binary { classes, positive } => {
                two::metrics(self.loss, classes, *positive, &known, measure)
            }
            Labels::Multiclass { classes } => many::metrics(self.loss, classes, &known),
            labels @ Labels::Regression { .. } => number::metrics(self.loss, labels, &known),
        }
    }
}

/// Refuses a threshold where there is no probability of a positive class, and values that are out
/// of range.
fn check(measure: &Measure, loss: Loss, labels: &Labels) -> Result<(), Error> {
    let wanted = measure.threshold.is_some() || measure.costs.is_some();
    let probability = match (labels, loss.about().predicts) {
        (Labels::Binary { .. }, Predicts::Probabilities { .. }) => true,
        (Labels::Binary { .. }, Predicts::Class | Predicts::Number)
        | (Labels::Multiclass { .. } | Labels::Regression { .. }, _) => false,
    };
    if wanted && !probability {
        return Err(Error::Arguments(
            "`threshold` and costs need the probability of a positive class, and this model predicts none; leave them out, or fit two classes with the loss `logistic`",
        ));
    }
    if measure.threshold.is_some_and(|threshold| !(0.0..=1.0).contains(&threshold)) {
        return Err(Error::Arguments(
            "`threshold` must be a probability from 0 to 1; write 0.5 for the model's own rule",
        ));
    }
    measure.costs.map_or(Ok(()), Costs::check)
}

/// The mean loss, where the loss is the negative logarithm of a probability.
fn log_loss(loss: Loss, known: &[Known<'_>]) -> Option<f64> {
    if !loss.is_log_loss() {
        return None;
    }
    let sum: f64 = known.iter().map(|(m, y)| loss.value(m, *y)).sum();
    share(sum, known.len())
}

/// The log loss of predicting these counts' shares.
fn entropy(counts: &[usize]) -> Option<f64> {
    let n: usize = counts.iter().sum();
    let terms = counts.iter().filter(|count| **count > 0).map(|count| {
        let share = *count as f64 / n as f64;
        -share * share.ln()
    });
    (n > 0).then(|| terms.sum())
}

/// A part of a whole; none of nothing.
fn share(part: f64, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part / whole as f64)
}
