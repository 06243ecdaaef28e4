//! `reticent evaluate`.

use std::process::ExitCode;

use reticent::data::encode::CellCounts;
use reticent::data::table::inspect;
use reticent::problem::declaration::{Labels, Layout};
use reticent::{Error, Model, evaluate};
use serde_json::json;

use super::cells;
use crate::arguments::EvaluateArgs;
use crate::output;

/// Classes that a message lists at most.
const LISTED: usize = 8;

pub(super) fn run(args: &EvaluateArgs, json: bool) -> Result<ExitCode, Error> {
    let model = Model::load(&args.model)?;
    let layout = model.layout()?;
    let table = inspect(&args.data, args.labels.as_deref(), &layout, true)?;
    check_labels(&table.counts, &layout)?;
    let metrics = evaluate(&model, &table, &layout);
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
        output::json(&json!({
            "metrics": metrics, "cells": table.counts, "unknown_labels": unknown,
            "model_digest": model.digest(),
        }));
    } else {
        output::remark(
            "these metrics are not protected; share them only if this data may be public",
        );
        let value = serde_json::to_value(metrics).unwrap_or_default();
        for (name, value) in value.as_object().into_iter().flatten() {
            output::line(&format!("{name:<18} {value}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses a table of which more than half of the labels are unknown: it is not the one that was meant.
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
