//! `reticent evaluate`.

mod private;
mod text;

use std::process::ExitCode;

use reticent::data::encode::CellCounts;
use reticent::data::table::{column_texts, inspect};
use reticent::problem::declaration::{Labels, Layout};
use reticent::{Costs, Error, Gap, Measure, Model, Scores};
use serde_json::json;

use super::cells;
use crate::arguments::EvaluateArgs;
use crate::output;

/// Classes that a message lists at most.
const LISTED: usize = 8;

pub(super) fn run(args: &EvaluateArgs, json: bool) -> Result<ExitCode, Error> {
    let model = Model::load(&args.model)?;
    let layout = model.layout()?;
    if let Some(epsilon) = args.epsilon {
        return private::run(args, &model, &layout, epsilon, json);
    }
    let table = inspect(args.data.file()?, args.labels.as_deref(), &layout, true)?;
    check_labels(&table.counts, &layout)?;
    let scores = Scores::of(&model, table.rows.features(), &table.labels, &layout);
    let measure = measure(args);
    let metrics = scores.metrics(&measure)?;
    let groups = match &args.by {
        None => Vec::new(),
        Some(column) => scores.by(&group_of_each_row(args, column)?, &measure)?,
    };
    let gaps = Gap::between(&groups);
    for sentence in cells::sentences(&table.counts) {
        output::remark(&sentence);
    }
    let unknown = table.counts.unknown_labels();
    if unknown > 0 {
        output::remark(&format!(
            "{unknown} of {} rows have an unknown label: the metrics leave them out",
            table.counts.rows
        ));
    }
    if json {
        let mut object = json!({
            "metrics": metrics, "cells": table.counts, "unknown_labels": unknown,
            "class_names": layout.labels().classes(), "model_digest": model.digest(),
        });
        if let Some(column) = &args.by {
            object["by"] = json!({ "column": column, "groups": groups, "gaps": gaps });
        }
        output::json(&object);
    } else {
        output::remark(
            "these metrics are not protected; share them only if this data may be public",
        );
        output::line(&text::of(&metrics, layout.labels().classes()));
        if let Some(column) = &args.by {
            output::line(&text::of_groups(column, &groups, &gaps));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(args: &EvaluateArgs) -> Measure {
    let costs = args.cost_fp.zip(args.cost_fn);
    let costs =
        costs.map(|(false_positive, false_negative)| Costs { false_positive, false_negative });
    Measure { threshold: args.threshold, costs }
}

/// The cell of each row in the column of groups.
fn group_of_each_row(args: &EvaluateArgs, column: &str) -> Result<Vec<String>, Error> {
    let mut columns = column_texts(args.data.file()?, &[column.to_owned()])?;
    Ok(columns.pop().unwrap_or_default())
}

/// Refuses a table of which more than half of the labels are unknown: it is not the one that was
/// meant.
fn check_labels(counts: &CellCounts, layout: &Layout) -> Result<(), Error> {
    let (unknown, rows) = (counts.unknown_labels(), counts.rows);
    if 2 * unknown <= rows {
        return Ok(());
    }
    let expected = match layout.labels() {
        Labels::Regression { max, .. } if max.is_infinite() => "a number".to_owned(),
        Labels::Regression { min, max, .. } => format!("a number from {min} to {max}"),
        labels => {
            let classes = labels.classes();
            let listed = classes.iter().take(LISTED).map(|class| format!("`{class}`"));
            let listed = listed.collect::<Vec<_>>().join(", ");
            let more = if classes.len() > LISTED { ", ..." } else { "" };
            format!("one of {listed}{more}")
        }
    };
    Err(Error::UnknownLabels { unknown, rows, target: layout.target().to_owned(), expected })
}
