//! `reticent schema check`.

use std::path::Path;
use std::process::ExitCode;

use reticent::Error;

use super::declaration;
use crate::arguments::EncodingArgs;
use crate::output;

pub(super) fn run(
    schema: &Path,
    target: Option<&str>,
    encoding: &EncodingArgs,
    json: bool,
) -> Result<ExitCode, Error> {
    let explanation = declaration(schema, target)?.explain(&encoding.encoding())?;
    if json {
        output::json(&serde_json::to_value(&explanation).unwrap_or_default());
    } else {
        output::line(explanation.to_string().trim_end());
    }
    Ok(ExitCode::SUCCESS)
}
