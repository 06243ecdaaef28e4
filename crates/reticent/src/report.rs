//! The report for people: one HTML file that needs nothing else. No script, nothing from elsewhere, nothing about a row.

use std::fmt::Write;

use reticent_optim::Plan;
use serde_json::Value;

use crate::ledger::Standing;
use crate::verify::verify_text;
use crate::{Error, Model};

mod figure;
mod sections;

const STYLE: &str = include_str!("report/style.css");

/// The parts of a report, with the names that links use.
const PARTS: &[(&str, &str)] = &[
    ("released", "What was released"),
    ("attacker", "What an attacker can learn"),
    ("profile-part", "The privacy profile"),
    ("declaration", "What was declared"),
    ("assumptions", "What it rests on"),
    ("plan", "The plan and its alternatives"),
    ("weights", "Weights and noise"),
    ("audit", "The audit"),
    ("ledger", "The ledger"),
    ("verify", "How to verify it"),
];

/// What a report can show beside the model.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Where the ledger that paid for the model stands.
    pub ledger: Option<Standing>,
    /// What `reticent audit --json` printed for the same algorithm and budget.
    pub audit: Option<Value>,
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
                && audit["plan"]["budget"] == serde_json::json!(certificate.budget)
        };
        if self.audit.as_ref().is_some_and(|audit| !same(audit)) {
            return Err(Error::Arguments(
                "`audit` must hold what `reticent audit --json` printed for the model's algorithm, epsilon, delta and adjacency; audit those, or leave it out",
            ));
        }
        Ok(())
    }
}

/// The report of a model.
///
/// # Errors
///
/// If the accountant cannot analyse the model's event, or if what is to be shown beside the model is not the model's.
pub fn html(model: &Model, beside: &Beside) -> Result<String, Error> {
    beside.check(model)?;
    let verification = verify_text(&model.to_json(), "the model")?;
    let certificate = &model.certificate;
    let name = model.task.declaration.name().unwrap_or("a table");
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Privacy report: {0}</title><link rel=\"icon\" href=\"data:,\"><style>{STYLE}</style></head><body><main>\n<h1>Privacy report: {0}</h1>\n",
        escape(name)
    );
    _ = writeln!(page, "<p class=\"statement\">{}</p>", escape(&verification.statement));
    if let Some(void) = &certificate.void {
        _ = writeln!(
            page,
            "<p class=\"statement void\" role=\"alert\">This statement is void: {}.</p>",
            escape(void)
        );
    }
    if !verification.pass {
        page.push_str("<p class=\"statement void\" role=\"alert\">This file does not verify: do not rely on anything it says. The checks that fail are at the end.</p>\n");
    }
    page.push_str("<nav aria-label=\"Parts of the report\"><ol>\n");
    for (id, title) in PARTS {
        _ = writeln!(page, "<li><a href=\"#{id}\">{title}</a></li>");
    }
    page.push_str("</ol></nav>\n");
    released(&mut page, model);
    if certificate.epsilon_upper.is_some() {
        sections::attacker(&mut page, model)?;
        sections::profile(&mut page, model)?;
    } else {
        page.push_str("<h2 id=\"attacker\">What an attacker can learn about one person</h2>\n<p class=\"void\">Everything: no noise was added.</p>\n<h2 id=\"profile-part\">The privacy profile</h2>\n<p>There is none.</p>\n");
    }
    sections::declaration(&mut page, model)?;
    sections::assumptions(&mut page, model);
    sections::plan(&mut page, model);
    sections::coefficients(&mut page, model);
    sections::audit(&mut page, beside.audit.as_ref().map(|audit| &audit["audit"]));
    sections::ledger(&mut page, model, beside.ledger.as_ref());
    sections::verification(&mut page, model, &verification);
    page.push_str("</main></body></html>\n");
    Ok(page)
}

/// The guarantee in numbers.
fn released(page: &mut String, model: &Model) {
    let certificate = &model.certificate;
    let (budget, plan) = (certificate.budget, &certificate.plan);
    let (outline, problem) = (plan.outline(), &plan.outline().problem);
    page.push_str("<h2 id=\"released\">What was released</h2>\n");
    let target = &model.task.declaration.target().name;
    let weights: usize = model.weights.iter().map(Vec::len).sum();
    let facts = [
        ("Model", format!("{weights} weights, {} loss, target {target}", problem.loss.name())),
        ("Learned from", format!("{} rows, {} features", problem.rows, problem.features)),
        (
            "Features",
            model.task.map.map_or_else(
                || "the encoded columns".to_owned(),
                |law| {
                    format!(
                        "random features of the {} kernel of bandwidth {}, from the public seed {}",
                        law.kernel.name(),
                        law.bandwidth,
                        law.seed
                    )
                },
            ),
        ),
        (
            "Algorithm",
            format!(
                "{}, {} steps, {:?} calibration",
                plan.algorithm(),
                outline.steps,
                certificate.calibration
            ),
        ),
        ("Unit of protection", format!("one row ({} adjacency)", budget.adjacency)),
        ("Promised", format!("epsilon = {}, delta = {:e}", budget.epsilon, budget.delta.get())),
        (
            "Epsilon of what was done",
            certificate.epsilon_upper.map_or("unbounded".to_owned(), |e| {
                let e = sections::up(e, 6);
                format!("at most {e:.6} at delta = {:e}", budget.delta.get())
            }),
        ),
        (
            if plan.noise_on_weights() {
                "Noise in each weight"
            } else {
                "Noise in each coordinate where it was added"
            },
            match plan {
                Plan::ClippedSgd(plan) if plan.clip.is_none() => format!(
                    "standard deviation {:.4e} times the clip norm, which was found privately",
                    plan.noise_multiplier / plan.batch as f64
                ),
                _ => format!("standard deviation {:.4e}", outline.noise_deviation),
            },
        ),
        ("Made by", certificate.software.clone()),
    ];
    let rows: Vec<Vec<String>> =
        facts.into_iter().map(|(what, value)| vec![what.to_owned(), value]).collect();
    table(page, "", &[], &rows, &[]);
}

/// A table; columns in `numbers` are aligned as such, and without a header the first cell of a row heads it.
fn table(
    page: &mut String,
    caption: &str,
    header: &[&str],
    rows: &[Vec<String>],
    numbers: &[usize],
) {
    let class = |i: usize| if numbers.contains(&i) { " class=\"number\"" } else { "" };
    let label = if caption.is_empty() { "Facts" } else { caption };
    _ = write!(
        page,
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\"><table>",
        escape(label)
    );
    if !caption.is_empty() {
        _ = write!(page, "<caption>{}</caption>", escape(caption));
    }
    if !header.is_empty() {
        page.push_str("<thead><tr>");
        for (i, cell) in header.iter().enumerate() {
            _ = write!(page, "<th scope=\"col\"{}>{}</th>", class(i), escape(cell));
        }
        page.push_str("</tr></thead>");
    }
    page.push_str("<tbody>\n");
    for row in rows {
        page.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            let cell = escape(cell);
            _ = if header.is_empty() && i == 0 {
                write!(page, "<th scope=\"row\">{cell}</th>")
            } else {
                write!(page, "<td{}>{cell}</td>", class(i))
            };
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

/// Text as HTML wants it.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
