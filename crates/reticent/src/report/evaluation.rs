//! How the model did on other rows: what `reticent evaluate --json` wrote, as pictures and tables.

use std::fmt::Write;

use reticent_privacy::{Budget, Event, delta_upper};
use reticent_problem::Unit;
use serde_json::Value;

use super::figure;
use super::page::{begin_fold, begin_part, end_fold, end_part, escape, table};
use crate::metrics::{CountMoves, noisy_statement};
use reticent_problem::number::{about, show};

/// The metrics of each group that are shown, where the groups have them.
const OF_GROUPS: [&str; 11] = [
    "rows",
    "positive_share",
    "selection_rate",
    "recall",
    "false_positive_rate",
    "accuracy",
    "auc",
    "log_loss",
    "mae",
    "rmse",
    "r2",
];

/// How the model did on rows that are not its own.
pub(super) fn evaluation(page: &mut String, evaluation: Option<&Value>) {
    begin_part(page, "evaluation", "How well it predicts");
    measured(page, evaluation);
    end_part(page);
}

fn measured(page: &mut String, evaluation: Option<&Value>) {
    let Some(evaluation) = evaluation else {
        page.push_str("<p>No evaluation was given to this report. <code>reticent evaluate --json</code> measures the model on rows that may be public, and <code>reticent report --evaluation</code> shows what it found.</p>\n");
        return;
    };
    guarantee(page, evaluation);
    let metrics = &evaluation["metrics"];
    pictures(page, metrics);
    scalars(page, metrics, &evaluation["noise"]);
    confusion(page, evaluation);
    groups(page, &evaluation["by"]);
}

/// The ROC curve and the calibration plot, where there are such.
fn pictures(page: &mut String, metrics: &Value) {
    let mut drawn = String::new();
    let roc: Vec<(f64, f64)> = list(&metrics["roc"])
        .filter_map(|point| Some((point[0].as_f64()?, point[1].as_f64()?)))
        .collect();
    if roc.len() > 1 {
        drawn.push_str(&figure::roc(&roc));
    }
    let bins: Vec<(f64, f64)> = list(&metrics["calibration"])
        .filter_map(|bin| Some((bin["predicted"].as_f64()?, bin["observed"].as_f64()?)))
        .collect();
    if !bins.is_empty() {
        // Regression has no probabilities: its axes end where the values do.
        let probabilities = metrics["rmse"].is_null();
        drawn.push_str(&figure::calibration(&bins, probabilities));
    }
    if !drawn.is_empty() {
        _ = writeln!(page, "<div class=\"pictures\">{drawn}</div>");
    }
}

/// The name and value of every metric that is one number or a word.
pub(super) fn metrics(metrics: &Value) -> Vec<[String; 2]> {
    let facts = metrics.as_object().into_iter().flatten();
    facts.filter_map(|(name, value)| Some([plain(name), cell(value)?])).collect()
}

/// The guarantee for the test rows, recomputed from the event; none if there is no guarantee, if
/// the cost of the event exceeds the file's claim, or if the noise is not the one that event and
/// sensitivity require.
pub(super) fn promise(evaluation: &Value) -> Option<String> {
    if evaluation["private"] != true || !evaluation["void"].is_null() {
        return None;
    }
    let event: Event = serde_json::from_value(evaluation["event"].clone()).ok()?;
    let budget: Budget = serde_json::from_value(evaluation["budget"].clone()).ok()?;
    let same = event.adjacency().ok()? == Some(budget.adjacency);
    let spent = delta_upper(&event, budget.epsilon.get()).ok()?;
    let unit: Option<Unit> = serde_json::from_value(evaluation["unit"].clone()).ok()?;
    let moves: CountMoves = serde_json::from_value(evaluation.clone()).ok()?;
    let deviation = evaluation["noise_deviation"].as_f64()?;
    let explained = moves.explains(budget, &event, deviation)
        && unit.as_ref().map_or(1, |unit| unit.max_rows) == moves.max_rows;
    (same && explained && spent <= budget.delta.get())
        .then(|| noisy_statement(budget, &event, unit.as_ref()))
}

/// Whether the test rows are protected, in words.
fn guarantee(page: &mut String, evaluation: &Value) {
    match promise(evaluation) {
        Some(statement) => {
            _ = writeln!(
                page,
                "<p>{} They follow from counts with noise; beside each stands the standard deviation that this noise gives it. The cost was recomputed from the event in the file. It is paid beside that of the model.</p>",
                escape(&statement)
            );
        }
        None if evaluation["private"] == true => page.push_str("<p class=\"void\">The file claims that these metrics are private, and that does not verify: treat them as exact numbers about the test rows.</p>\n"),
        None => page.push_str("<p>These metrics are exact numbers about the test rows and are not protected. Share this report only if those rows may be public.</p>\n"),
    }
}

/// [`metrics`] as a table, with the noise where there is some.
fn scalars(page: &mut String, values: &Value, noise: &Value) {
    let noise = metrics(noise);
    let with_noise = |[name, value]: [String; 2]| {
        let its = noise.iter().find(|[n, _]| *n == name).map(|[_, noise]| noise.clone());
        let its = (!noise.is_empty()).then(|| its.unwrap_or_default());
        [name, value].into_iter().chain(its).collect()
    };
    let rows: Vec<Vec<String>> = metrics(values).into_iter().map(with_noise).collect();
    let header: &[&str] =
        if noise.is_empty() { &["Metric", "Value"] } else { &["Metric", "Value", "Noise"] };
    table(page, "Measured by reticent evaluate", header, &rows, &[1, 2]);
}

/// True and predicted classes.
fn confusion(page: &mut String, evaluation: &Value) {
    let classes: Vec<&str> = list(&evaluation["class_names"]).filter_map(Value::as_str).collect();
    let matrix: Vec<&Value> = list(&evaluation["metrics"]["confusion"]).collect();
    if classes.is_empty() || matrix.len() != classes.len() {
        return;
    }
    let header: Vec<String> = classes.iter().map(|class| format!("Predicted {class}")).collect();
    let header: Vec<&str> =
        std::iter::once("True class").chain(header.iter().map(String::as_str)).collect();
    let line = |(class, counts): (&&str, &&Value)| {
        let counts = list(counts).map(|count| cell(count).unwrap_or_default());
        std::iter::once((*class).to_owned()).chain(counts).collect()
    };
    let rows: Vec<Vec<String>> = classes.iter().zip(&matrix).map(line).collect();
    let numbers: Vec<usize> = (1..header.len()).collect();
    table(
        page,
        "Confusion matrix: rows of each true and predicted class",
        &header,
        &rows,
        &numbers,
    );
}

/// The groups of a review of fairness.
fn groups(page: &mut String, by: &Value) {
    let (Some(column), groups) = (by["column"].as_str(), &by["groups"]) else { return };
    let shown: Vec<&str> = OF_GROUPS
        .into_iter()
        .filter(|name| list(groups).any(|group| group["metrics"][name].is_number()))
        .collect();
    let header: Vec<String> =
        std::iter::once(column.to_owned()).chain(shown.iter().map(|name| plain(name))).collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let row = |group: &Value| {
        let name = group["group"].as_str().unwrap_or_default().to_owned();
        let values = shown.iter().map(|name| cell(&group["metrics"][name]).unwrap_or_default());
        std::iter::once(name).chain(values).collect()
    };
    let rows: Vec<Vec<String>> = list(groups).map(row).collect();
    let numbers: Vec<usize> = (1..header.len()).collect();
    table(page, &format!("By {column}"), &header, &rows, &numbers);
    if by["gaps"].is_null() {
        return;
    }
    begin_fold(page, "Largest gaps between groups");
    page.push_str("<ul>\n");
    for gap in list(&by["gaps"]) {
        let end = |end: &Value| {
            let group = end[0].as_str().unwrap_or_default();
            format!("{} ({})", cell(&end[1]).unwrap_or_default(), escape(group))
        };
        let name = plain(gap["metric"].as_str().unwrap_or_default());
        _ = writeln!(
            page,
            "<li>{}: {} to {}</li>",
            escape(&name),
            end(&gap["least"]),
            end(&gap["largest"])
        );
    }
    page.push_str("</ul>\n");
    end_fold(page);
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A field's name in words.
fn plain(name: &str) -> String {
    match name {
        "auc" => "AUC".to_owned(),
        "f1" => "F1".to_owned(),
        "r2" => "R2".to_owned(),
        "mae" => "mean absolute error".to_owned(),
        "rmse" => "root mean squared error".to_owned(),
        "brier" => "Brier score".to_owned(),
        other => other.replace('_', " "),
    }
}

/// A number with four digits, or a text; none of what is neither.
fn cell(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => {
            let value = number.as_f64()?;
            Some(if number.is_f64() { about(value) } else { show(value) })
        }
        Value::String(text) => Some(text.clone()),
        _ => None, // a matrix or a list has a place of its own
    }
}
