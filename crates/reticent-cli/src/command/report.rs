//! `reticent report`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use reticent::ledger::Ledger;
use reticent::report::{Beside, Owner, entry, html_of_file, model_card};
use reticent::{Error, Paths, write_atomically};
use serde_json::{Value, json};

use super::read;
use crate::arguments::{ReportArgs, ReportFormat};
use crate::output;
use crate::progress;

/// The curator's file where none is named.
const RELEASE: &str = "release.toml";

pub(super) fn run(args: &ReportArgs, json: bool) -> Result<ExitCode, Error> {
    let out = args.out.clone().unwrap_or_else(|| default_name(args.format).into());
    let release = release(args)?;
    let [allowed, signature] = args.signers.files();
    Paths::default()
        .reads(allowed.0, allowed.1)
        .reads(signature.0, signature.1)
        .reads("MODEL", Some(&args.model))
        .reads("--audit", args.audit.as_deref())
        .reads("--evaluation", args.evaluation.as_deref())
        .reads("--release", release.as_deref())
        .ledger("--ledger", args.ledger.as_deref())
        .writes("--out", Some(&out))
        .check()?;
    let text = write(args, release.as_deref(), json)?;
    write_atomically(&out, text.as_bytes())?;
    if json {
        output::json(&json!({ "report": out }));
    } else {
        output::line(&format!("wrote {}", out.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn default_name(format: ReportFormat) -> &'static str {
    match format {
        ReportFormat::Html => "report.html",
        ReportFormat::Registry => "registry.yaml",
        ReportFormat::Card => "card.md",
    }
}

/// The curator's file, if the format has a use for one.
fn release(args: &ReportArgs) -> Result<Option<PathBuf>, Error> {
    let standard = PathBuf::from(RELEASE);
    match (args.format, &args.release) {
        (ReportFormat::Html, Some(_)) => Err(Error::Arguments(
            "`release` goes with `--format registry` or `--format card`; leave it out, or add one of these",
        )),
        (ReportFormat::Html, None) => Ok(None),
        (_, Some(path)) => Ok(Some(path.clone())),
        (ReportFormat::Registry, None) => Ok(Some(standard)),
        (ReportFormat::Card, None) => Ok(standard.exists().then_some(standard)),
    }
}

/// The text of the report.
fn write(args: &ReportArgs, release: Option<&Path>, json: bool) -> Result<String, Error> {
    let owner = release.map(Owner::read).transpose()?;
    let signers = args.signers.of(&args.model)?;
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
    let beside = Beside { ledger, audit, evaluation, signers, owner };
    match args.format {
        ReportFormat::Html => {
            let _spinner = progress::spinner("ranking the alternatives on simulated tables", json);
            html_of_file(&args.model, &beside)
        }
        ReportFormat::Registry => entry(&args.model, &beside),
        ReportFormat::Card => model_card(&args.model, &beside),
    }
}

/// The JSON file to show beside the model, if one is named.
fn beside(file: Option<&Path>, expected: &'static str) -> Result<Option<Value>, Error> {
    file.map(|file| serde_json::from_str(&read(file)?).map_err(|_| Error::Arguments(expected)))
        .transpose()
}
