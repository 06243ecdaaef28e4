//! `reticent predict`.

use std::fmt::Write;
use std::process::ExitCode;

use reticent::{Error, Model, Paths, Prediction, write_atomically};
use serde_json::{Value, json};

use crate::arguments::PredictArgs;
use crate::output;

pub(super) fn run(args: &PredictArgs, json: bool) -> Result<ExitCode, Error> {
    Paths::default()
        .reads("--model", Some(&args.model))
        .reads("--data", Some(&args.data))
        .writes("--out", args.out.as_deref())
        .check()?;
    let model = Model::load(&args.model)?;
    if let Some(void) = &model.certificate.void {
        output::remark(&format!("the model's certificate is void: {void}"));
    }
    let predictions = model.predict_file(&args.data)?;
    let classes = model.task.declaration.classes();
    if let Some(out) = &args.out {
        write_atomically(out, csv(&predictions, classes).as_bytes())?;
        if json {
            output::json(&json!({ "out": out, "rows": predictions.len() }));
        } else {
            output::line(&format!("wrote {} predictions to {}", predictions.len(), out.display()));
        }
    } else if json {
        output::json(&json!({ "classes": classes, "predictions": predictions }));
    } else {
        output::line(csv(&predictions, classes).trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// A CSV with the prediction and, where there are any, the probability of each class.
fn csv(predictions: &[Prediction], classes: &[String]) -> String {
    let mut text = "prediction".to_owned();
    if predictions.first().is_some_and(|p| p.probabilities.is_some()) {
        for class in classes {
            text.push(',');
            text.push_str(&quoted(&format!("probability {class}")));
        }
    }
    text.push('\n');
    for p in predictions {
        match &p.value {
            Value::String(class) => text.push_str(&quoted(class)),
            other => text.push_str(&other.to_string()),
        }
        for probability in p.probabilities.iter().flatten() {
            _ = write!(text, ",{probability}");
        }
        text.push('\n');
    }
    text
}

/// A field as CSV wants it.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
