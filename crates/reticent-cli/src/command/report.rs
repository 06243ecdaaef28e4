//! `reticent report`.

use std::process::ExitCode;

use reticent::ledger::Ledger;
use reticent::report::{Beside, html};
use reticent::{Error, Model, Paths, write_atomically};
use serde_json::json;

use super::read;
use crate::arguments::ReportArgs;
use crate::output;

pub(super) fn run(args: &ReportArgs, json: bool) -> Result<ExitCode, Error> {
    Paths::default()
        .reads("MODEL", Some(&args.model))
        .reads("--audit", args.audit.as_deref())
        .ledger("--ledger", args.ledger.as_deref())
        .writes("--out", Some(&args.out))
        .check()?;
    let audit = match &args.audit {
        None => None,
        Some(file) => Some(serde_json::from_str(&read(file)?).map_err(|_| {
            Error::Arguments(
                "`audit` must name a JSON file; write one with `reticent audit ... --json > audit.json`",
            )
        })?),
    };
    let ledger = match &args.ledger {
        None => None,
        Some(path) => Some(Ledger::open(path)?.standing()?),
    };
    let page = html(&Model::load(&args.model)?, &Beside { ledger, audit })?;
    write_atomically(&args.out, page.as_bytes())?;
    if json {
        output::json(&json!({ "report": args.out }));
    } else {
        output::line(&format!("wrote {}", args.out.display()));
    }
    Ok(ExitCode::SUCCESS)
}
