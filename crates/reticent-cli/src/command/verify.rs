//! `reticent verify`.

use std::process::ExitCode;

use reticent::ledger::Ledger;
use reticent::signature::{self, AllowedSigners};
use reticent::verify::{Check, Verification, verify_with};
use reticent::{Error, is_model};
use serde_json::json;

use crate::arguments::VerifyArgs;
use crate::output;

pub(super) fn run(args: &VerifyArgs, json: bool) -> Result<ExitCode, Error> {
    let file = args.file.display().to_string();
    // Read once: what is verified is what was signed.
    let contents = std::fs::read(&args.file).map_err(|e| Error::File {
        verb: "read",
        file: file.clone(),
        why: e.to_string(),
    })?;
    let signed = signature_of(args, &contents)?;
    let pass = match signed {
        Some(check) if args.ledger.is_none() && !is_model(&contents) => {
            print_signature(&file, &check, json);
            check.holds
        }
        signed => {
            let ledger = args.ledger.as_deref().map(Ledger::open).transpose()?;
            let text = String::from_utf8(contents).map_err(|_| Error::NotAModel {
                file: file.clone(),
                why: "it is not text".to_owned(),
            })?;
            let verification = verify_with(&text, &file, ledger.as_ref())?;
            let verification = match signed {
                Some(check) => verification.with_signature(check),
                None => verification,
            };
            if json {
                output::json(&serde_json::to_value(&verification).unwrap_or_default());
            } else {
                print(&verification);
            }
            verification.pass
        }
    };
    Ok(if pass { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The outcome of checking the signature, if that was asked for.
fn signature_of(args: &VerifyArgs, contents: &[u8]) -> Result<Option<Check>, Error> {
    let Some(list) = &args.allowed_signers else { return Ok(None) };
    let allowed = AllowedSigners::load(list)?;
    let beside = || signature::beside(&args.file);
    let signature = args.signature.clone().unwrap_or_else(beside);
    Ok(Some(signature::check(contents, &signature, &allowed, args.signer.as_deref())))
}

/// A file that is not a model: nothing but its signature can be checked.
fn print_signature(file: &str, check: &Check, json: bool) {
    if json {
        output::json(&json!({ "pass": check.holds, "model": false, "compared": [check] }));
        return;
    }
    output::line(&line(check));
    output::line(&format!("`{file}` is not a model: its signature was checked, and nothing else"));
}

fn print(verification: &Verification) {
    output::line(if verification.pass { "PASS" } else { "FAIL" });
    output::line(&verification.statement);
    for (title, checks) in [
        ("recomputed from the file:", &verification.recomputed),
        ("compared with other files:", &verification.compared),
    ] {
        if !checks.is_empty() {
            output::line(title);
        }
        for check in checks {
            output::line(&line(check));
        }
    }
    output::line("stated in the file, not checkable:");
    for stated in &verification.stated {
        output::line(&format!("  {}: {}", stated.name, stated.value));
    }
    output::line("not covered:");
    for text in &verification.not_covered {
        output::line(&format!("  {text}"));
    }
}

fn line(check: &Check) -> String {
    let mark = if check.holds { "holds" } else { "FAILS" };
    format!("  {mark}  {}: {}", check.name, check.found)
}
