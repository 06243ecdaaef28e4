//! `reticent verify`.

use std::process::ExitCode;

use reticent::draft::{DraftCertificate, Spent};
use reticent::ledger::Ledger;
use reticent::privacy::risk::RiskBounds;
use reticent::problem::declaration::Declaration;
use reticent::verify::{Check, Verification, verify_with};
use reticent::{Error, Model, is_model};
use serde_json::{Value, json};

use crate::arguments::VerifyArgs;
use crate::output;

pub(super) fn run(args: &VerifyArgs, json: bool) -> Result<ExitCode, Error> {
    let file = args.file.display().to_string();
    // Read once: the verified bytes are the signed bytes.
    let contents = std::fs::read(&args.file).map_err(|e| Error::File {
        verb: "read",
        file: file.clone(),
        why: e.to_string(),
    })?;
    let signed = args.signers.of(&args.file)?.map(|signers| signers.check(&contents));
    let pass = match signed {
        Some(check) if args.ledger.is_none() && !is_model(&contents) && !is_draft(&contents) => {
            print_signature(&file, &check, json);
            check.holds
        }
        signed => {
            let ledger = args.ledger.as_deref().map(Ledger::open).transpose()?;
            let text = String::from_utf8(contents).map_err(|_| Error::NotAModel {
                file: file.clone(),
                why: "it is not text".to_owned(),
            })?;
            if let Some(draft) = DraftCertificate::in_text(&text)? {
                return of_draft(&text, &draft, ledger.as_ref(), signed, json);
            }
            let verification = verify_with(&text, &file, ledger.as_ref())?;
            let verification = match signed {
                Some(check) => verification.with_signature(check),
                None => verification,
            };
            if json {
                let mut value = serde_json::to_value(&verification).unwrap_or_default();
                if verification.pass {
                    value["risk_bounds"] = risk_bounds(&text, &file)?;
                }
                output::json(&value);
            } else {
                print(&verification);
            }
            verification.pass
        }
    };
    Ok(if pass { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Whether it is a schema with a draft's certificate.
fn is_draft(contents: &[u8]) -> bool {
    std::str::from_utf8(contents)
        .is_ok_and(|text| !matches!(DraftCertificate::in_text(text), Ok(None)))
}

/// A schema that was filled in from a table: the certificate in it.
fn of_draft(
    text: &str,
    draft: &DraftCertificate,
    ledger: Option<&Ledger>,
    signed: Option<Check>,
    json: bool,
) -> Result<ExitCode, Error> {
    let mut checks = draft.checks();
    // A schema with blanks has no declaration yet.
    checks.extend(Declaration::from_json(text).ok().map(|schema| draft.compare_bounds(&schema)));
    checks.extend(ledger.map(|ledger| draft.compare(ledger)).transpose()?);
    checks.extend(signed);
    let pass = checks.iter().all(|check| check.holds);
    if json {
        output::json(&json!({
            "pass": pass, "model": false, "statement": draft.statement, "recomputed": checks
        }));
    } else {
        output::line(if pass { "PASS" } else { "FAIL" });
        output::line(&draft.statement);
        for check in &checks {
            output::line(&line(check));
        }
        output::line("not covered:");
        output::line(
            "  that this plan was run on that table, once, and gave these bounds and categories; what was filled in or changed by hand",
        );
    }
    Ok(if pass { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Bounds on any attack on the file, computed from the events in it.
fn risk_bounds(text: &str, file: &str) -> Result<Value, Error> {
    let Spent { event, budget } = Model::from_json(text, file)?.0.spent()?;
    Ok(json!(RiskBounds::of(&event, budget.epsilon, budget.delta)?))
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
