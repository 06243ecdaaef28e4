//! `reticent report`.

use std::path::Path;
use std::process::ExitCode;

use reticent::ledger::Ledger;
use reticent::report::{Beside, html_of_file};
use reticent::{Error, Paths, write_atomically};
use serde_json::{Value, json};

use super::read;
use crate::arguments::ReportArgs;
use crate::output;
use crate::progress;

pub(super) fn run(args: &ReportArgs, json: bool) -> Result<ExitCode, Error> {
    Paths::default()
        .reads("MODEL", Some(&args.model))
        .reads("--audit", args.audit.as_deref())
        .reads("--evaluation", args.evaluation.as_deref())
        .ledger("--ledger", args.ledger.as_deref())
        .writes("--out", Some(&args.out))
        .check()?;
    let audit = beside(
        args.audit.as_deref(),
        "`audit` must name a JSON file; write one with `reticent audit ... --json > audit.json`",
    )?;
    let evaluation = beside(
        args.evaluation.as_deref(),
        "`evaluation` must name a JSON file; write one with `reticent evaluate ... --json > evaluation.json`",
    )?;
    let ledger = match &args.ledger {
        None => None,
        Some(path) => Some(Ledger::open(path)?.standing()?),
    };
    let page = {
        let _spinner = progress::spinner("ranking the alternatives on simulated tables", json);
        html_of_file(&args.model, &Beside { ledger, audit, evaluation })?
    };
    write_atomically(&args.out, page.as_bytes())?;
    if json {
        output::json(&json!({ "report": args.out }));
    } else {
        output::line(&format!("wrote {}", args.out.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The JSON file to show beside the model, if one is named.
fn beside(file: Option<&Path>, expected: &'static str) -> Result<Option<Value>, Error> {
    file.map(|file| serde_json::from_str(&read(file)?).map_err(|_| Error::Arguments(expected)))
        .transpose()
}
