//! `reticent evaluate`.

use std::process::ExitCode;

use reticent::{Error, Model, evaluate, read_rows};
use serde_json::json;

use crate::arguments::EvaluateArgs;
use crate::output;

pub(super) fn run(args: &EvaluateArgs, json: bool) -> Result<ExitCode, Error> {
    let model = Model::load(&args.model)?;
    let rows = read_rows(&model.task, &args.data, args.labels.as_deref())?;
    let metrics = evaluate(&model, &rows, &model.layout()?);
    if json {
        output::json(&json!({ "metrics": metrics, "model_digest": model.digest() }));
    } else {
        output::remark("these numbers are exact: they are private only if the data is public");
        let value = serde_json::to_value(&metrics).unwrap_or_default();
        for (name, value) in value.as_object().into_iter().flatten() {
            output::line(&format!("{name:<18} {value}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
