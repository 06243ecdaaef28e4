//! More than two classes: true × predicted class, and bins of the true class's probability.

use reticent_problem::Loss;
use reticent_problem::loss::Predicts;
use serde_json::{Map, Value, json};

use super::super::Known;
use super::{BINS, bin, ends, entropy, middle, ratio, whole};

/// The confusion matrix, true classes in lines, and behind it the bins of the true class's
/// probability where the loss gives one.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    classes: usize,
    probabilities: Option<fn(&mut [f64])>,
    ends: Vec<f64>,
}

impl Cells {
    pub(super) fn new(loss: Loss, classes: usize) -> Self {
        let probabilities: Option<fn(&mut [f64])> = match loss.about().predicts {
            Predicts::Probabilities { of, .. } => Some(of),
            Predicts::Class | Predicts::Number => None,
        };
        Self { classes, probabilities, ends: ends() }
    }

    pub(super) fn blocks(&self) -> usize {
        if self.probabilities.is_some() { 2 } else { 1 }
    }

    pub(super) fn len(&self) -> usize {
        let matrix = self.classes * self.classes;
        if self.probabilities.is_some() { matrix + BINS } else { matrix }
    }

    pub(super) fn of(&self, (margins, label): Known<'_>) -> [Option<usize>; 2] {
        let class = label as usize;
        let top = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let predicted = margins.iter().position(|v| *v == top).unwrap_or(0);
        let probability = self.probabilities.map(|of| {
            let mut p = margins.to_vec();
            of(&mut p);
            self.classes * self.classes + bin(&self.ends, p[class])
        });
        [Some(class * self.classes + predicted), probability]
    }

    pub(super) fn scalars(&self, counts: &[f64]) -> Vec<(&'static str, Option<f64>)> {
        let (matrix, bins) = counts.split_at(self.classes * self.classes);
        let at = |class: usize, predicted: usize| matrix[class * self.classes + predicted];
        let classes = 0..self.classes;
        let of_class: Vec<f64> =
            classes.clone().map(|class| classes.clone().map(|p| at(class, p)).sum()).collect();
        let of_predicted: Vec<f64> =
            classes.clone().map(|p| classes.clone().map(|class| at(class, p)).sum()).collect();
        let n: f64 = of_class.iter().sum();
        let right: f64 = classes.clone().map(|class| at(class, class)).sum();
        let most = of_class.iter().copied().fold(0.0, f64::max);
        let mean = |of: &dyn Fn(usize) -> Option<f64>| {
            let sum: f64 = classes.clone().map(|class| of(class).unwrap_or(0.0)).sum();
            Some(sum / self.classes as f64)
        };
        let mut found = vec![
            ("accuracy", ratio(right, n)),
            ("baseline_accuracy", ratio(most, n)),
            ("precision", mean(&|class| ratio(at(class, class), of_predicted[class]))),
            ("recall", mean(&|class| ratio(at(class, class), of_class[class]))),
            (
                "f1",
                mean(&|class| ratio(2.0 * at(class, class), of_class[class] + of_predicted[class])),
            ),
        ];
        if self.probabilities.is_some() {
            let rows: f64 = bins.iter().sum();
            let losses = bins.iter().zip(self.ends.windows(2));
            let sum: f64 = losses.map(|(c, end)| -c * middle(end[0], end[1]).ln()).sum();
            found.push(("log_loss", (rows > 0.0).then(|| (sum / rows).max(0.0))));
            found.push(("baseline_log_loss", entropy(&of_class)));
        }
        found
    }

    /// The confusion matrix.
    pub(super) fn tables(&self, counts: &[f64]) -> Map<String, Value> {
        let (matrix, _) = counts.split_at(self.classes * self.classes);
        let lines: Vec<Vec<u64>> = matrix
            .chunks(self.classes)
            .map(|line| line.iter().map(|count| whole(*count)).collect())
            .collect();
        let mut tables = Map::new();
        tables.insert("rows".to_owned(), json!(whole(matrix.iter().sum())));
        tables.insert("confusion".to_owned(), json!(lines));
        tables
    }
}
