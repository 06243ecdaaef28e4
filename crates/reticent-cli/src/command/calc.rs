//! `reticent calc`.

use std::process::ExitCode;

use reticent::Error;
use reticent_calc as calc;
use serde_json::{Map, Value, json};

use super::read;
use crate::arguments::CalcArgs;
use crate::output;

pub(super) fn run(args: &CalcArgs, json: bool) -> Result<ExitCode, Error> {
    let refused = |sentence: String| {
        output::complain(&sentence, 2, json);
        Ok(ExitCode::from(2))
    };
    if args.list && args.namespace.is_none() {
        let names: Vec<String> = calc::namespaces()
            .flat_map(|space| {
                calc::formulas(space)
                    .into_iter()
                    .flatten()
                    .map(move |name| format!("{space}.{name}"))
            })
            .collect();
        if json {
            output::json(&json!({ "formulas": names }));
        } else {
            output::line(&names.join("\n"));
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(namespace) = &args.namespace {
        if args.list {
            return match calc::formulas(namespace) {
                Ok(names) => {
                    let names: Vec<_> = names.collect();
                    if json {
                        output::json(&json!({ "namespace": namespace, "formulas": names }));
                    } else {
                        output::line(&names.join("\n"));
                    }
                    Ok(ExitCode::SUCCESS)
                }
                Err(error) => refused(error.to_string()),
            };
        }
        let Some(file) = &args.batch else {
            return refused("`--namespace` needs `--batch FILE.json` or `--list`".to_owned());
        };
        let text = read(file)?;
        if let Err(error) = calc::formulas(namespace) {
            return refused(error.to_string());
        }
        return match batch(namespace, &text) {
            Ok(list) => {
                output::json(&list);
                Ok(ExitCode::SUCCESS)
            }
            Err(why) => refused(format!(
                "`--batch` must be a JSON list of {{\"formula\", \"inputs\"}}, and `{}` is not: {why}",
                file.display()
            )),
        };
    }
    match single(&args.formula) {
        Ok((formula, value)) if json => {
            output::json(&json!({ "formula": formula, "value": value }));
            Ok(ExitCode::SUCCESS)
        }
        Ok((_, value)) => {
            output::line(&value.to_string());
            Ok(ExitCode::SUCCESS)
        }
        Err(sentence) => refused(sentence),
    }
}

/// The value of `NAMESPACE.FORMULA key=value ...`.
fn single(words: &[String]) -> Result<(&str, Value), String> {
    let name = words.first().map_or("", String::as_str);
    let (namespace, formula) = name
        .split_once('.')
        .ok_or_else(|| format!("a formula is named NAMESPACE.FORMULA, got `{name}`; `reticent calc --list` names them all"))?;
    let mut inputs = Map::new();
    for word in &words[1..] {
        let (key, text) = word
            .split_once('=')
            .ok_or_else(|| format!("an argument is given as key=value, got `{word}`"))?;
        let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
        inputs.insert(key.to_owned(), value);
    }
    let value = calc::evaluate(namespace, formula, &inputs).map_err(|e| e.to_string())?;
    Ok((name, value))
}

/// Each entry's value or its error, in order.
fn batch(namespace: &str, text: &str) -> Result<Value, String> {
    // By way of an untyped value: a typed parser quotes what it finds, and it may find a table.
    let list: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let list = list.as_array().ok_or("it holds no list")?;
    let one = |entry: &Value| {
        let formula = entry.get("formula").and_then(Value::as_str).unwrap_or("");
        let empty = Map::new();
        let inputs = entry.get("inputs").and_then(Value::as_object).unwrap_or(&empty);
        match calc::evaluate(namespace, formula, inputs) {
            Ok(value) => json!({ "formula": formula, "value": value }),
            Err(error) => json!({ "formula": formula, "error": error.to_string() }),
        }
    };
    Ok(Value::Array(list.iter().map(one).collect()))
}
