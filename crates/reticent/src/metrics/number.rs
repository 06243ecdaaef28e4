//! Regression metrics.

use reticent_problem::Loss;
use reticent_problem::declaration::Labels;
use reticent_problem::loss::{Link, Thresholds};

use super::{Known, Metrics, calibration, entropy, log_loss, share};

/// Margins of one output, and labels.
pub(super) fn metrics(loss: Loss, labels: &Labels, known: &[Known<'_>]) -> Metrics {
    // Predictions are held to the target's bounds where it has some.
    let ((low, high), link) = (labels.range(), loss.link());
    let prediction = |m: &[f64]| link.prediction(m[0]).clamp(low, high);
    let on_labels: Vec<(f64, f64)> = known.iter().map(|(m, y)| (prediction(m), *y)).collect();
    let to_targets = |(m, y): &(f64, f64)| (labels.to_target(*m), labels.to_target(*y));
    let rows: Vec<(f64, f64)> = on_labels.iter().map(to_targets).collect();
    let n = rows.len();
    let mean = rows.iter().map(|(_, y)| y).sum::<f64>() / n.max(1) as f64;
    let (mut squares, mut absolute, mut spread) = (0.0, 0.0, 0.0);
    for (predicted, y) in &rows {
        let error = predicted - y;
        squares += error * error;
        absolute += error.abs();
        spread += (y - mean) * (y - mean);
    }
    let deviance = deviance(loss, labels.scale(), &on_labels);
    Metrics {
        rows: n,
        rmse: share(squares, n).map(f64::sqrt),
        mae: share(absolute, n),
        r2: (spread > 0.0).then(|| 1.0 - squares / spread),
        deviance: deviance.and_then(|(of_model, _)| share(2.0 * of_model, n)),
        deviance_explained: deviance
            .filter(|(_, of_constant)| *of_constant > 0.0)
            .map(|(of_model, of_constant)| 1.0 - of_model / of_constant),
        quantile_coverage: loss
            .quantile()
            .and_then(|_| share(rows.iter().filter(|(m, y)| y <= m).count() as f64, n)),
        calibration: calibration::of_numbers(&rows),
        ..match link {
            Link::Levels(thresholds) => of_levels(loss, &thresholds, known),
            Link::Identity | Link::Log => Metrics::default(),
        }
    }
}

/// What ordered levels have beside the metrics of numbers: those of classes.
fn of_levels(loss: Loss, thresholds: &Thresholds, known: &[Known<'_>]) -> Metrics {
    let mut counts = vec![0; thresholds.levels()];
    let mut right = 0;
    for (margins, label) in known {
        let p = thresholds.probabilities(margins[0]);
        let best = (1..p.len()).fold(0, |best, k| if p[k] > p[best] { k } else { best });
        let level = thresholds.level(*label);
        right += usize::from(best == level);
        counts[level] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    Metrics {
        accuracy: share(right as f64, known.len()),
        baseline_accuracy: share(most as f64, known.len()),
        log_loss: log_loss(loss, known),
        baseline_log_loss: entropy(&counts),
        ..Metrics::default()
    }
}

/// The sums of half deviances from predictions and from the best constant, in the target's unit.
fn deviance(loss: Loss, scale: f64, rows: &[(f64, f64)]) -> Option<(f64, f64)> {
    let constant = loss.constant(rows.iter().map(|(_, y)| *y));
    let factor = loss.deviance_factor(scale);
    let sum = |at: &dyn Fn(f64) -> f64| -> Option<f64> {
        let each = rows.iter().map(|(m, y)| loss.deviance(*y, at(*m)));
        each.sum::<Option<f64>>().map(|sum| factor * sum)
    };
    Some((sum(&|predicted| predicted)?, sum(&|_| constant)?))
}
