//! `reticent predict`.

use std::fmt::Write;
use std::process::ExitCode;

use reticent::data::table::column_texts;
use reticent::{Error, Model, Paths, Prediction, write_atomically};
use serde_json::{Map, Value, json};

use super::cells;
use super::csv::field;
use crate::arguments::PredictArgs;
use crate::output;

pub(super) fn run(args: &PredictArgs, json: bool) -> Result<ExitCode, Error> {
    Paths::default()
        .reads("--model", Some(&args.model))
        .reads("--data", args.data.paths())
        .writes("--out", args.out.as_deref())
        .check()?;
    let model = Model::load(&args.model)?;
    if let Some(void) = &model.certificate.void {
        output::remark(&format!("the model's certificate is void: {void}"));
    }
    let kept = Kept::read(args)?;
    let (predictions, counts) = model.predict_file(args.data.file()?)?;
    for sentence in cells::sentences(&counts) {
        output::remark(&sentence);
    }
    let levels = model.levels(model.layout()?.labels());
    let levels: Vec<String> = levels.iter().map(f64::to_string).collect();
    let classes = match model.task.declaration.classes() {
        [] => levels.as_slice(),
        classes => classes,
    };
    if let Some(out) = &args.out {
        write_atomically(out, csv(&kept, &predictions, classes).as_bytes())?;
        if json {
            output::json(&json!({ "out": out, "rows": predictions.len(), "cells": counts }));
        } else {
            output::line(&format!("wrote {} predictions to {}", predictions.len(), out.display()));
        }
    } else if json {
        let mut object = json!({ "classes": classes, "predictions": predictions, "cells": counts });
        if !kept.names.is_empty() {
            object["kept"] = kept.to_json();
        }
        output::json(&object);
    } else {
        output::line(csv(&kept, &predictions, classes).trim_end_matches('\n'));
    }
    Ok(ExitCode::SUCCESS)
}

/// Columns of the input that are carried through.
struct Kept {
    names: Vec<String>,
    columns: Vec<Vec<String>>,
}

impl Kept {
    fn read(args: &PredictArgs) -> Result<Self, Error> {
        let names: Vec<String> =
            args.keep_columns.iter().map(|name| name.trim().to_owned()).collect();
        if names.iter().enumerate().any(|(place, name)| names[..place].contains(name)) {
            return Err(Error::Arguments(
                "`--keep-columns` must name each column once; leave the second out",
            ));
        }
        let columns =
            if names.is_empty() { Vec::new() } else { column_texts(args.data.file()?, &names)? };
        Ok(Self { names, columns })
    }

    fn to_json(&self) -> Value {
        let columns = self.names.iter().cloned().zip(self.columns.iter().map(|c| json!(c)));
        Value::Object(columns.collect::<Map<_, _>>())
    }
}

/// A CSV with the kept columns, the prediction and, where there are any, the probability of each
/// class.
fn csv(kept: &Kept, predictions: &[Prediction], classes: &[String]) -> String {
    let mut text = String::new();
    for name in &kept.names {
        text.push_str(&field(name));
        text.push(',');
    }
    text.push_str("prediction");
    if predictions.first().is_some_and(|p| p.probabilities.is_some()) {
        for class in classes {
            text.push(',');
            text.push_str(&field(&format!("probability {class}")));
        }
    }
    text.push('\n');
    for (row, p) in predictions.iter().enumerate() {
        for column in &kept.columns {
            text.push_str(&field(column.get(row).map_or("", String::as_str)));
            text.push(',');
        }
        match &p.value {
            Value::String(class) => text.push_str(&field(class)),
            other => text.push_str(&other.to_string()),
        }
        for probability in p.probabilities.iter().flatten() {
            _ = write!(text, ",{probability}");
        }
        text.push('\n');
    }
    text
}
