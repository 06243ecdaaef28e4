//! `reticent verify`.

use std::path::Path;
use std::process::ExitCode;

use reticent::Error;
use reticent::verify::verify;

use crate::output;

pub(super) fn run(model: &Path, json: bool) -> Result<ExitCode, Error> {
    let verification = verify(model)?;
    if json {
        output::json(&serde_json::to_value(&verification).unwrap_or_default());
    } else {
        output::line(if verification.pass { "PASS" } else { "FAIL" });
        output::line(&verification.statement);
        for check in &verification.checks {
            let mark = if check.holds { "holds" } else { "FAILS" };
            output::line(&format!("  {mark}  {}: {}", check.name, check.found));
        }
    }
    Ok(if verification.pass { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
