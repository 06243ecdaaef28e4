//! Two classes.

use reticent_problem::Loss;
use reticent_problem::loss::Predicts;

use super::{Known, Measure, Metrics, calibration, entropy, log_loss, ranking, share, threshold};

/// Rows of each true and predicted class.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    true_positives: usize,
    false_positives: usize,
    false_negatives: usize,
    true_negatives: usize,
}

impl Counts {
    fn of(rows: impl Iterator<Item = (bool, bool)>) -> Self {
        let mut counts = Self::default();
        for (predicted, positive) in rows {
            *match (predicted, positive) {
                (true, true) => &mut counts.true_positives,
                (true, false) => &mut counts.false_positives,
                (false, true) => &mut counts.false_negatives,
                (false, false) => &mut counts.true_negatives,
            } += 1;
        }
        counts
    }

    /// A line for each true class, in declared order.
    fn matrix(self, positive: usize) -> Vec<Vec<usize>> {
        let of_positive = [self.false_negatives, self.true_positives];
        let of_negative = [self.true_negatives, self.false_positives];
        let lines =
            if positive == 1 { [of_negative, of_positive] } else { [of_positive, of_negative] };
        lines
            .map(
                |[negative, predicted]| {
                    if positive == 1 {
                        vec![negative, predicted]
                    } else {
                        vec![predicted, negative]
                    }
                },
            )
            .to_vec()
    }
}

/// Margins of one output, and labels, which are -1 and 1.
pub(super) fn metrics(
    loss: Loss,
    classes: &[String],
    positive: usize,
    known: &[Known<'_>],
    measure: &Measure,
) -> Metrics {
    let n = known.len();
    let probability: Option<fn(&mut [f64])> = match loss.about().predicts {
        Predicts::Probabilities { of, .. } => Some(of),
        Predicts::Class | Predicts::Number => None,
    };
    let probabilities: Option<Vec<f64>> = probability.map(|of| {
        let one = |(m, _): &Known<'_>| {
            let mut p = [m[0]];
            of(&mut p);
            p[0]
        };
        known.iter().map(one).collect()
    });
    let threshold = measure.threshold;
    let predicted = |row: usize| match (&probabilities, threshold) {
        (Some(p), Some(threshold)) => p[row] >= threshold,
        _ => known[row].0[0] > 0.0,
    };
    let counts = Counts::of((0..n).map(|row| (predicted(row), known[row].1 > 0.0)));
    let positives = counts.true_positives + counts.false_negatives;
    let selected = counts.true_positives + counts.false_positives;
    let scored: Vec<(f64, bool)> = known
        .iter()
        .enumerate()
        .map(|(row, (m, y))| (probabilities.as_ref().map_or(m[0], |p| p[row]), *y > 0.0))
        .collect();
    let steps = ranking::steps(&scored);
    let hits = counts.true_positives as f64;
    let metrics = Metrics {
        rows: n,
        accuracy: share((counts.true_positives + counts.true_negatives) as f64, n),
        baseline_accuracy: share(positives.max(n - positives) as f64, n),
        auc: ranking::auc(&steps),
        average_precision: ranking::average_precision(&steps),
        positive_class: classes.get(positive).cloned(),
        threshold: probabilities.as_ref().map(|_| threshold.unwrap_or(0.5)),
        positive_share: share(positives as f64, n),
        selection_rate: share(selected as f64, n),
        precision: share(hits, selected),
        recall: share(hits, positives),
        false_positive_rate: share(counts.false_positives as f64, n - positives),
        f1: share(2.0 * hits, selected + positives),
        confusion: counts.matrix(positive),
        roc: ranking::roc(&steps),
        ..Metrics::default()
    };
    let Some(probabilities) = probabilities else { return metrics };
    let observed = |y: f64| f64::from(u8::from(y > 0.0));
    let pairs: Vec<(f64, f64)> =
        probabilities.iter().zip(known).map(|(p, (_, y))| (*p, observed(*y))).collect();
    let bins = calibration::of_probabilities(&pairs);
    let odds: Vec<(f64, f64, f64)> =
        pairs.iter().map(|(p, y)| (calibration::log_odds(*p), *y, 1.0 - y)).collect();
    let line = calibration::slope(&odds);
    let errors = (counts.false_positives, counts.false_negatives);
    Metrics {
        log_loss: log_loss(loss, known),
        baseline_log_loss: entropy(&[positives, n - positives]),
        brier: share(pairs.iter().map(|(p, y)| (p - y) * (p - y)).sum(), n),
        calibration_slope: line.map(|(_, slope)| slope),
        calibration_offset: line.map(|(offset, _)| offset),
        calibration_error: calibration::error(&bins),
        best_threshold: measure.costs.and_then(|costs| threshold::best(costs, &steps, errors)),
        calibration: bins,
        ..metrics
    }
}
