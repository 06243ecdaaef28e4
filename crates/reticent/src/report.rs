//! The report for people: one HTML file that needs nothing else. No script, nothing from elsewhere, nothing about a row.
//!
//! What the page says of privacy follows from the file alone, recomputed. A file that does not verify gets a page that
//! says what the file claims, and shows no curve: nothing bounds what an attacker learns from it.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::files::read_text;
use crate::ledger::Standing;
use crate::model::sha256;
use crate::verify::{Verification, verify_text};
use crate::{Error, Model};

mod evidence;
mod figure;
mod guarantee;
mod method;
mod number;
mod page;
mod weights;

use page::{escape, heading, table};

/// The parts of a report, with the names that links use.
const PARTS: &[(&str, &str)] = &[
    ("released", "What was released"),
    ("attacker", "What an attacker can learn"),
    ("profile-part", "The privacy profile"),
    ("declaration", "What was declared"),
    ("assumptions", "What the guarantee assumes"),
    ("plan", "The plan and its alternatives"),
    ("weights", "Weights"),
    ("evaluation", "How well it predicts"),
    ("audit", "The audit"),
    ("ledger", "The ledger"),
    ("verify", "How to verify it"),
];

/// What a report can show beside the model.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// The state of the ledger that paid for the model.
    pub ledger: Option<Standing>,
    /// The output of `reticent audit --json` for the same algorithm and budget.
    pub audit: Option<Value>,
    /// The output of `reticent evaluate --json` for the same model.
    pub evaluation: Option<Value>,
}

impl Beside {
    /// Whether what is shown belongs to the model.
    fn check(&self, model: &Model) -> Result<(), Error> {
        let certificate = &model.certificate;
        let paid_by = certificate.payment.as_ref().map(|payment| &payment.ledger);
        if self.ledger.as_ref().is_some_and(|standing| Some(&standing.ledger) != paid_by) {
            return Err(Error::Arguments(
                "`ledger` must be the one that the model was charged to; name that one, or leave it out",
            ));
        }
        let same = |audit: &Value| {
            audit["audit"]["algorithm"] == certificate.plan.algorithm()
                && audit["plan"]["budget"] == json!(certificate.budget)
        };
        if self.audit.as_ref().is_some_and(|audit| !same(audit)) {
            return Err(Error::Arguments(
                "`audit` must hold the output of `reticent audit --json` for the model's algorithm, epsilon, delta and adjacency; audit those, or leave it out",
            ));
        }
        let digest = model.digest();
        let measured = |evaluation: &Value| {
            // An altered file has no digest of its own.
            let same = digest.starts_with("sha256:") && evaluation["model_digest"] == digest;
            same && evaluation["metrics"].is_object()
        };
        if self.evaluation.as_ref().is_some_and(|evaluation| !measured(evaluation)) {
            return Err(Error::Arguments(
                "`evaluation` must hold the output of `reticent evaluate --json` for this model; evaluate it, or leave it out",
            ));
        }
        Ok(())
    }
}

/// The file that a report is about.
struct Origin {
    name: String,
    sha256: String,
}

/// The report of a model that is in no file yet.
///
/// # Errors
///
/// If the accountant cannot analyse the model's event, or if what is to be shown beside the model is not the model's.
pub fn html(model: &Model, beside: &Beside) -> Result<String, Error> {
    let verification = verify_text(&model.to_json(), "the model")?;
    write_page(model, None, &verification, beside)
}

/// The report of the model in a file: it names the file, and verifies what the file holds, to the last field.
///
/// # Errors
///
/// As [`html`], and if the file holds no model.
pub fn html_of_file(path: &Path, beside: &Beside) -> Result<String, Error> {
    let (text, name) = (read_text(path)?, path.display().to_string());
    let (model, _) = Model::from_json(&text, &name)?;
    let verification = verify_text(&text, &name)?;
    // The folder is the owner's business.
    let name = path.file_name().map_or(name, |name| name.to_string_lossy().into_owned());
    let origin = Origin { name, sha256: sha256(text.as_bytes()) };
    write_page(&model, Some(&origin), &verification, beside)
}

fn write_page(
    model: &Model,
    origin: Option<&Origin>,
    verification: &Verification,
    beside: &Beside,
) -> Result<String, Error> {
    beside.check(model)?;
    let certificate = &model.certificate;
    let name = model.task.declaration.name().unwrap_or("a table");
    let title = format!("Privacy report: {name}");
    let mut page = page::head(&title);
    _ = writeln!(page, "<h1>{}</h1>", escape(&title));
    lead(&mut page, model, verification);
    page.push_str("<nav aria-label=\"Parts of the report\"><ol>\n");
    for (id, title) in PARTS {
        _ = writeln!(page, "<li><a href=\"#{id}\">{title}</a></li>");
    }
    page.push_str("</ol></nav>\n");
    released(&mut page, model, origin, verification);
    if verification.pass {
        guarantee::attacker(&mut page, model)?;
        guarantee::profile(&mut page, model)?;
    } else {
        guarantee::none(&mut page, certificate.budget.epsilon.is_infinite());
    }
    method::declaration(&mut page, model, verification.pass)?;
    method::assumptions(&mut page, model);
    method::plan(&mut page, model, verification.pass);
    weights::weights(&mut page, model);
    evidence::evaluation(&mut page, beside.evaluation.as_ref());
    evidence::audit(&mut page, beside.audit.as_ref().map(|audit| &audit["audit"]));
    evidence::ledger(&mut page, model, verification.pass, beside.ledger.as_ref());
    let file = origin.map_or("model.json", |origin| &origin.name);
    evidence::verification(&mut page, model, verification, file);
    page.push_str("</main></body></html>\n");
    Ok(page)
}

/// The statement, or what the file claims and why nobody should rely on it.
fn lead(page: &mut String, model: &Model, verification: &Verification) {
    let certificate = &model.certificate;
    let statement = escape(&verification.statement);
    _ = writeln!(page, "<p class=\"statement\">{statement}</p>");
    if verification.pass {
        return;
    }
    if let Some(void) = &certificate.void {
        let void = escape(void);
        _ = writeln!(
            page,
            "<p class=\"statement void\" role=\"alert\">The claim is void: {void}.</p>"
        );
    }
    page.push_str("<p class=\"statement void\" role=\"alert\">This file does not verify: do not rely on anything it says. The checks that fail are at the end.</p>\n");
}

/// The guarantee in numbers, and which file it is about.
fn released(
    page: &mut String,
    model: &Model,
    origin: Option<&Origin>,
    verification: &Verification,
) {
    let certificate = &model.certificate;
    let (budget, plan) = (certificate.budget, &certificate.plan);
    let (outline, problem) = (plan.outline(), &plan.outline().problem);
    let delta = number::show(budget.delta.get());
    heading(page, "released", "What was released");
    if !verification.pass {
        page.push_str("<p class=\"void\">The file claims the following.</p>\n");
    }
    let target = &model.task.declaration.target().name;
    let weights: usize = model.weights.iter().map(Vec::len).sum();
    let features = model.task.map.map_or_else(
        || "the encoded columns".to_owned(),
        |law| {
            format!(
                "random features of the {} kernel of bandwidth {}, from the public seed {}",
                law.kernel.name(),
                number::about(law.bandwidth),
                law.seed
            )
        },
    );
    let mut facts = vec![
        ("Model", format!("{weights} weights, {} loss, target {target}", problem.loss.name())),
        ("Learned from", format!("{} rows, {} features", problem.rows, problem.features)),
        ("Features", features),
        (
            "Algorithm",
            format!(
                "{}, {} steps, {} calibration",
                plan.algorithm(),
                outline.steps,
                json!(certificate.calibration).as_str().unwrap_or_default()
            ),
        ),
        ("Unit of protection", format!("one row ({} adjacency)", budget.adjacency)),
        (
            if verification.pass { "Promised" } else { "Claimed" },
            format!("epsilon = {}, delta = {delta}", budget.epsilon),
        ),
    ];
    if verification.pass
        && let Some(epsilon) = certificate.epsilon_upper
    {
        // Never above the promise by a rounding.
        let bound = number::round_up(epsilon, 4).min(budget.epsilon.get());
        let bound = format!("at most {} at delta = {delta}", number::show(bound));
        facts.push(("Epsilon of what was done", bound));
    }
    facts.push((
        if plan.noise_on_weights() { "Noise in each weight" } else { "Noise where it was added" },
        method::noise(plan),
    ));
    facts.push(("Made by", certificate.software.clone()));
    if let Some(origin) = origin {
        facts.push(("File", origin.name.clone()));
        facts.push(("SHA-256 of the file", origin.sha256.clone()));
    }
    facts.push(("Digest of the model", model.digest()));
    facts.push(("Date of this report", page::today()));
    let rows: Vec<Vec<String>> =
        facts.into_iter().map(|(what, value)| vec![what.to_owned(), value]).collect();
    table(page, "", &[], &rows, &[]);
}
