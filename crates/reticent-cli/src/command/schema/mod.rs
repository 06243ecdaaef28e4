//! `reticent schema`: making a schema and checking it.

mod draft;
mod init;

use std::path::Path;
use std::process::ExitCode;

use reticent::Error;
use reticent::problem::declaration::{DeclarationError, Located};
use reticent::problem::text::visible;
use serde_json::json;

use super::{declaration, read};
use crate::arguments::{EncodingArgs, SchemaAction, UnitArgs};
use crate::output;

pub(super) fn run(action: &SchemaAction, json: bool) -> Result<ExitCode, Error> {
    match action {
        SchemaAction::Init(args) => init::run(args, json),
        SchemaAction::Draft(args) => draft::run(args, json),
        SchemaAction::Check { schema, target, unit, encoding } => {
            check(schema, target.as_deref(), unit, encoding, json)
        }
    }
}

fn check(
    schema: &Path,
    target: Option<&str>,
    unit: &UnitArgs,
    encoding: &EncodingArgs,
    json: bool,
) -> Result<ExitCode, Error> {
    let declaration = match declaration(schema, target, unit) {
        Err(Error::Declaration(error)) if !matches!(error, DeclarationError::Json { .. }) => {
            print_problems(schema, &error.located(&read(schema)?), json);
            return Ok(ExitCode::from(2));
        }
        other => other?,
    };
    let explanation = declaration.explain(&encoding.encoding())?;
    if json {
        output::json(&serde_json::to_value(&explanation).unwrap_or_default());
    } else {
        output::line(explanation.to_string().trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// All that is wrong with a schema, a line each, with the place as editors understand it.
fn print_problems(schema: &Path, problems: &[Located], json: bool) {
    let file = schema.display();
    let line = |one: &Located| {
        visible(&match one.place {
            Some((line, column)) => format!("{file}:{line}:{column}: {}", one.problem),
            None => format!("{file}: {}", one.problem),
        })
    };
    for one in problems {
        output::complain(&line(one), 2, false);
    }
    if json {
        let list = problems.iter().map(|one| {
            let (line, column) = one.place.unzip();
            json!({ "line": line, "column": column, "message": one.problem.to_string() })
        });
        let message = problems.iter().map(line).collect::<Vec<_>>().join("; ");
        let problems: Vec<_> = list.collect();
        output::json(&json!({
            "error": { "message": message, "exit_code": 2, "problems": problems }
        }));
    }
}
