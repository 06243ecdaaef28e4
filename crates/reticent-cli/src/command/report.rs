//! `reticent report`.

use std::path::Path;
use std::process::ExitCode;

use reticent::{Error, Model, report, write_atomically};
use serde_json::json;

use crate::output;

pub(super) fn run(model: &Path, out: &Path, json: bool) -> Result<ExitCode, Error> {
    let html = report::html(&Model::load(model)?)?;
    write_atomically(out, html.as_bytes())?;
    if json {
        output::json(&json!({ "report": out }));
    } else {
        output::line(&format!("wrote {}", out.display()));
    }
    Ok(ExitCode::SUCCESS)
}
