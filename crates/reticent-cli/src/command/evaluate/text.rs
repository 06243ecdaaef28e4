//! Metrics as text.

use reticent::problem::number::about;
use reticent::{CalibrationBin, Gap, GroupMetrics, Metrics};

use crate::output::{bar, table};

/// A metric's name, its value, and the value to compare with.
type MetricLine = (&'static str, Option<f64>, Option<(&'static str, f64)>);

/// Everything that was measured of all rows.
pub(super) fn of(metrics: &Metrics, classes: &[String]) -> String {
    let mut parts = vec![scalars(metrics)];
    if let Some(best) = &metrics.best_threshold {
        let at = if best.threshold > 1.0 {
            "predicting the positive class never".to_owned()
        } else {
            format!("threshold {}", about(best.threshold))
        };
        parts.push(format!(
            "least cost: {at}, {} for each row on average; {} at the threshold in use; with calibrated probabilities the best threshold is {}",
            about(best.cost),
            about(best.cost_at_threshold),
            about(best.if_calibrated),
        ));
    }
    if !metrics.confusion.is_empty() {
        parts.push(confusion(&metrics.confusion, classes));
    }
    if !metrics.classes.is_empty() {
        let rows: Vec<Vec<String>> = metrics
            .classes
            .iter()
            .map(|c| {
                let shown = [c.precision, c.recall, c.f1, c.auc].map(optional);
                [vec![c.class.clone(), c.rows.to_string()], shown.to_vec()].concat()
            })
            .collect();
        parts.push(table(&["class", "rows", "precision", "recall", "F1", "AUC"], &rows));
    }
    if !metrics.calibration.is_empty() {
        parts.push(calibration(&metrics.calibration, classes.is_empty()));
    }
    parts.join("\n\n")
}

fn optional(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), about)
}

fn scalars(m: &Metrics) -> String {
    let constant = |baseline: Option<f64>| Some(("constant prediction", baseline?));
    let perfect = |value| Some(("calibrated", value));
    let lines: [MetricLine; 19] = [
        ("accuracy", m.accuracy, constant(m.baseline_accuracy)),
        ("log loss", m.log_loss, constant(m.baseline_log_loss)),
        ("Brier score", m.brier, None),
        ("AUC", m.auc, Some(("guessing", 0.5))),
        ("average precision", m.average_precision, m.positive_share.map(|p| ("guessing", p))),
        ("calibration slope", m.calibration_slope, perfect(1.0)),
        ("calibration offset", m.calibration_offset, perfect(0.0)),
        ("calibration error", m.calibration_error, perfect(0.0)),
        ("threshold", m.threshold, None),
        ("precision", m.precision, None),
        ("recall", m.recall, None),
        ("false-positive rate", m.false_positive_rate, None),
        ("F1", m.f1, None),
        ("mean absolute error", m.mae, None),
        ("root mean squared error", m.rmse, None),
        ("R2", m.r2, Some(("constant prediction", 0.0))),
        ("mean deviance", m.deviance, None),
        ("deviance explained", m.deviance_explained, Some(("constant prediction", 0.0))),
        ("quantile coverage", m.quantile_coverage, None),
    ];
    let mut rows = vec![vec!["rows".to_owned(), m.rows.to_string(), String::new()]];
    if let Some(class) = &m.positive_class {
        rows.push(vec!["positive class".to_owned(), class.clone(), String::new()]);
    }
    for (name, value, beside) in lines {
        let Some(value) = value else { continue };
        let beside = beside.map_or(String::new(), |(what, of)| format!("{what}: {}", about(of)));
        rows.push(vec![name.to_owned(), about(value), beside]);
    }
    table(&["metric", "value", "to compare"], &rows)
}

fn confusion(matrix: &[Vec<usize>], classes: &[String]) -> String {
    let header: Vec<String> = classes.iter().map(|class| format!("predicted {class}")).collect();
    let header: Vec<&str> =
        std::iter::once("true").chain(header.iter().map(String::as_str)).collect();
    let line = |(class, counts): (&String, &Vec<usize>)| {
        let counts = counts.iter().map(usize::to_string);
        std::iter::once(class.clone()).chain(counts).collect()
    };
    table(&header, &classes.iter().zip(matrix).map(line).collect::<Vec<_>>())
}

fn calibration(bins: &[CalibrationBin], numbers: bool) -> String {
    let row = |bin: &CalibrationBin| {
        let mut row = vec![
            format!("{} to {}", about(bin.from), about(bin.to)),
            bin.rows.to_string(),
            about(bin.predicted),
            about(bin.observed),
        ];
        if !numbers {
            row.push(bar(bin.observed));
        }
        row
    };
    let header: &[&str] = if numbers {
        &["prediction", "rows", "mean", "observed"]
    } else {
        &["probability", "rows", "mean", "observed", ""]
    };
    table(header, &bins.iter().map(row).collect::<Vec<_>>())
}

/// A column of the table of groups.
type Column = (&'static str, fn(&Metrics) -> Option<f64>);

/// The metrics of each group, and how far groups are apart.
pub(super) fn of_groups(column: &str, groups: &[GroupMetrics], gaps: &[Gap]) -> String {
    const COLUMNS: [Column; 11] = [
        ("positives", |m| m.positive_share),
        ("predicted", |m| m.selection_rate),
        ("recall", |m| m.recall),
        ("false-positive rate", |m| m.false_positive_rate),
        ("accuracy", |m| m.accuracy),
        ("AUC", |m| m.auc),
        ("log loss", |m| m.log_loss),
        ("mean absolute error", |m| m.mae),
        ("root mean squared error", |m| m.rmse),
        ("R2", |m| m.r2),
        ("deviance explained", |m| m.deviance_explained),
    ];
    let shown: Vec<&Column> =
        COLUMNS.iter().filter(|(_, of)| groups.iter().any(|g| of(&g.metrics).is_some())).collect();
    let header: Vec<&str> =
        [column, "rows"].into_iter().chain(shown.iter().map(|(name, _)| *name)).collect();
    let rows: Vec<Vec<String>> = groups
        .iter()
        .map(|g| {
            let group = if g.group.is_empty() { "(missing)".to_owned() } else { g.group.clone() };
            let values = shown.iter().map(|(_, of)| optional(of(&g.metrics)));
            [group, g.metrics.rows.to_string()].into_iter().chain(values).collect()
        })
        .collect();
    let mut lines = vec![String::new(), table(&header, &rows), String::new()];
    lines.extend(gaps.iter().map(|gap| {
        format!(
            "largest gap in {}: {} ({}, `{}` to {}, `{}`)",
            gap.metric.replace('_', " "),
            about(gap.largest.1 - gap.least.1),
            about(gap.least.1),
            gap.least.0,
            about(gap.largest.1),
            gap.largest.0
        )
    }));
    lines.join("\n")
}
