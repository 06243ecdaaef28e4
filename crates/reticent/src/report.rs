//! The report for people: one HTML file that needs nothing else. No script, nothing from elsewhere,
//! nothing about a row.
//!
//! It begins with a card for the reader who has half a minute. Then come the questions of NIST SP
//! 800-226 in its order, answered in pictures and, folded, in tables. Its statements on privacy
//! follow from the file alone, recomputed. A file that does not verify gets a page that says what
//! the file claims, and shows no curve: nothing bounds what an attacker learns from it.
//!
//! Two more forms are made from the same model: an entry of the registry of deployments ([`entry`])
//! and a model card ([`model_card`]). A file that does not verify has neither.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::files::read_text;
use crate::ledger::Standing;
use crate::model::sha256;
use crate::planner;
use crate::signature::Signers;
use crate::verify::{Verification, verify_text};
use crate::{Error, Model};
use reticent_problem::number;

mod card;
mod curves;
mod evaluation;
mod evidence;
mod facts;
mod figure;
mod guarantee;
mod intervals;
mod markdown;
mod method;
mod owner;
mod page;
mod registry;
mod trust;
mod weights;

pub use owner::Owner;
use page::{begin_part, end_part, escape, heading, table};

/// The parts of a report by the questions of NIST SP 800-226, in its order, with the names that
/// links use.
const QUESTIONS: [(&str, &[(&str, &str)]); 6] = [
    (
        "Unit and parameters",
        &[
            ("attacker", "What an attacker can learn"),
            ("cost", "Privacy cost by stage"),
            ("profile-part", "The privacy profile"),
            ("released", "What was released"),
            ("ledger", "The ledger"),
        ],
    ),
    (
        "Algorithm and correctness",
        &[
            ("plan", "The plan and its alternatives"),
            ("assumptions", "What the guarantee assumes"),
            ("audit", "The audit"),
            ("verify", "How to verify it"),
        ],
    ),
    (
        "Utility and bias",
        &[
            ("curves", "What each column adds"),
            ("weights", "Coefficients"),
            ("evaluation", "How well it predicts"),
        ],
    ),
    ("Trust model", &[("trust", "Who is trusted")]),
    ("Side channels", &[("channels", "What else could leak")]),
    (
        "Data exposure",
        &[("exposure", "What is not protected"), ("declaration", "What was declared")],
    ),
];

/// Optional inputs of a report beside the model.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// The state of the ledger that paid for the model.
    pub ledger: Option<Standing>,
    /// The output of `reticent audit --json` for the same algorithm and budget.
    pub audit: Option<Value>,
    /// The output of `reticent evaluate --json` for the same model.
    pub evaluation: Option<Value>,
    /// Who must have signed the file; nobody checks a signature if not given.
    pub signers: Option<Signers>,
    /// The curator's statements about the release: for a registry's entry or a model card.
    pub owner: Option<Owner>,
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
/// If the accountant cannot analyse the model's event, or if what is to be shown beside the model
/// is not the model's.
pub fn html(model: &Model, beside: &Beside) -> Result<String, Error> {
    let verification = verify_text(&model.to_json(), "the model")?;
    write_page(model, None, &verification, beside)
}

/// The report of the model in a file: it names the file, and verifies what the file holds, to the
/// last field.
///
/// # Errors
///
/// As [`html`], and if the file holds no model.
pub fn html_of_file(path: &Path, beside: &Beside) -> Result<String, Error> {
    let (model, origin, verification) = open(path, beside)?;
    write_page(&model, Some(&origin), &verification, beside)
}

/// The entry of the model in a file in the registry of deployments of differential privacy, as
/// YAML.
///
/// # Errors
///
/// As [`html_of_file`]; [`Error::NotVerified`] if the model does not verify; [`Error::Arguments`]
/// without an [`Owner`].
pub fn entry(path: &Path, beside: &Beside) -> Result<String, Error> {
    let (model, _, _) = verified(path, beside)?;
    beside.check(&model)?;
    let Some(owner) = &beside.owner else {
        return Err(Error::Arguments(
            "`release` must hold what only the curator knows, for a registry's entry; give it",
        ));
    };
    registry::entry(&model, owner)
}

/// The model card of the model in a file, as Markdown.
///
/// # Errors
///
/// As [`html_of_file`]; [`Error::NotVerified`] if the model does not verify.
pub fn model_card(path: &Path, beside: &Beside) -> Result<String, Error> {
    let (model, origin, verification) = verified(path, beside)?;
    beside.check(&model)?;
    markdown::model_card(&model, &verification, &origin.name, beside)
}

/// The model of a file that verifies.
fn verified(path: &Path, beside: &Beside) -> Result<(Model, Origin, Verification), Error> {
    let opened = open(path, beside)?;
    let failure = opened.2.failures().next().map(|check| check.name);
    match failure {
        None => Ok(opened),
        Some(check) => Err(Error::NotVerified { file: path.display().to_string(), check }),
    }
}

/// The model of a file, and what its verification shows.
fn open(path: &Path, beside: &Beside) -> Result<(Model, Origin, Verification), Error> {
    let (text, name) = (read_text(path)?, path.display().to_string());
    let (model, _) = Model::from_json(&text, &name)?;
    let mut verification = verify_text(&text, &name)?;
    if let Some(signers) = &beside.signers {
        verification = verification.with_signature(signers.check(text.as_bytes()));
    }
    // The folder is the owner's business.
    let name = path.file_name().map_or(name, |name| name.to_string_lossy().into_owned());
    Ok((model, Origin { name, sha256: sha256(text.as_bytes()) }, verification))
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
    if verification.pass {
        card::card(&mut page, model, verification)?;
    }
    page.push_str("<nav aria-label=\"Parts of the report\"><ol>\n");
    for (question, parts) in QUESTIONS {
        _ = writeln!(page, "<li>{question}<ul>");
        for (id, title) in parts {
            _ = writeln!(page, "<li><a href=\"#{id}\">{title}</a></li>");
        }
        page.push_str("</ul></li>\n");
    }
    page.push_str("</ol></nav>\n");
    let file = origin.map_or("model.json", |origin| &origin.name);
    let pass = verification.pass;
    for (question, parts) in QUESTIONS {
        _ = writeln!(page, "<h2 class=\"question\">{question}</h2>");
        for (id, _) in parts {
            match *id {
                "attacker" if pass => guarantee::attacker(&mut page, model)?,
                "attacker" => guarantee::no_attacker(&mut page, certificate.budget.epsilon),
                "cost" => cost(&mut page, model, pass)?,
                "profile-part" if pass => guarantee::profile(&mut page, model)?,
                "profile-part" => guarantee::no_profile(&mut page),
                "released" => released(&mut page, model, origin, verification),
                "ledger" => evidence::ledger(&mut page, model, pass, beside.ledger.as_ref()),
                "plan" => method::plan(&mut page, model, pass),
                "assumptions" => method::assumptions(&mut page, model),
                "audit" => evidence::audit(&mut page, beside.audit.as_ref().map(|a| &a["audit"])),
                "verify" => evidence::verification(&mut page, model, verification, file),
                "curves" => curves::curves(&mut page, model),
                "weights" => weights::weights(&mut page, model),
                "evaluation" => evaluation::evaluation(&mut page, beside.evaluation.as_ref()),
                "declaration" => method::declaration(&mut page, model, pass)?,
                _ => trust::part(&mut page, id, model, pass),
            }
        }
    }
    page.push_str("</main></body></html>\n");
    Ok(page)
}

/// The statement, or what the file claims and why nobody should rely on it.
fn lead(page: &mut String, model: &Model, verification: &Verification) {
    let certificate = &model.certificate;
    let statement = escape(&facts::statement(model, verification));
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

/// The privacy cost of each stage of the plan. A choice among plans has one stage: the choice.
fn cost(page: &mut String, model: &Model, pass: bool) -> Result<(), Error> {
    let certificate = &model.certificate;
    heading(page, "cost", "Privacy cost by stage");
    if !pass {
        page.push_str("<p class=\"void\">Unknown: the file does not verify.</p>\n");
        return Ok(());
    }
    let shares = match &certificate.selection {
        None => planner::split(&certificate.plan)?,
        Some(selection) => {
            let part = format!("total, for the choice among {} plans", selection.candidates.len());
            vec![planner::Share { part, epsilon: certificate.epsilon_upper }]
        }
    };
    let bars: Vec<(String, f64)> = shares
        .into_iter()
        .filter_map(|share| share.epsilon.map(|epsilon| (share.part, epsilon)))
        .collect();
    page.push_str(&figure::stages(&bars));
    Ok(())
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
    begin_part(page, "released", "What was released");
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
    let (records, protected) = match &problem.unit {
        None => ("rows", "one row".to_owned()),
        Some(unit) => ("units", unit.protected()),
    };
    let mut facts = vec![
        ("Model", format!("{weights} weights, {} loss, target {target}", problem.loss.name())),
        ("Learned from", format!("{} {records}, {} features", problem.rows, problem.features)),
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
        ("Unit of protection", format!("{protected} ({} adjacency)", budget.adjacency)),
        (
            match (verification.pass, &model.draft) {
                (false, _) => "Claimed",
                (true, None) => "Promised",
                (true, Some(_)) => "Promised of the weights",
            },
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
    end_part(page);
}
