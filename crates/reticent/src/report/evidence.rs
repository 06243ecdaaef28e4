//! The evidence for the guarantee: the audit, the ledger, and the verification of the file.

use std::fmt::Write;

use reticent_privacy::Event;
use serde_json::Value;

use super::page::{begin_part, end_part, escape, escape_lines, table};
use crate::Model;
use crate::ledger::Standing;
use crate::verify::Verification;
use reticent_problem::number::{at_least, at_most, show};

/// How a sentence about a file that does not verify begins.
const CLAIMS: &str = "The file claims to be";

/// The result of an attack on the algorithm.
pub(super) fn audit(page: &mut String, audit: Option<&Value>) {
    begin_part(page, "audit", "The audit");
    attacked(page, audit);
    end_part(page);
}

fn attacked(page: &mut String, audit: Option<&Value>) {
    let Some(audit) = audit else {
        page.push_str("<p>No audit was given to this report. <code>reticent audit</code> attacks the algorithm as implemented on simulated tables, and <code>reticent report --audit</code> shows what it found.</p>\n");
        return;
    };
    let number = |name: &str| audit[name].as_f64().unwrap_or(f64::NAN);
    let how = if audit["canaries"].is_null() {
        let tables = audit["neighbours"].as_str().unwrap_or_default();
        format!("{} runs on each of {tables}", audit["runs"])
    } else {
        format!(
            "one run with {} canaries, {} of {} guesses right",
            audit["canaries"], audit["correct"], audit["guesses"]
        )
    };
    let verdict = if audit["violated"] == true {
        "the attack contradicts the claim"
    } else {
        "the claim stands; an audit can refute a claim and never prove one"
    };
    let rows = [
        ("Claimed", format!("epsilon = {}", at_most(number("epsilon_claimed")))),
        (
            "Shown by attack",
            format!(
                "epsilon is at least {}, with confidence {} ({how})",
                at_least(number("epsilon_lower")),
                show(number("confidence")),
            ),
        ),
        ("Verdict", verdict.to_owned()),
    ];
    let caption = "An attack on the same algorithm and budget, on simulated tables";
    table(page, caption, &[], &rows.map(|(what, found)| vec![what.to_owned(), found]), &[]);
}

/// The state of the data set's budget.
pub(super) fn ledger(page: &mut String, model: &Model, pass: bool, standing: Option<&Standing>) {
    begin_part(page, "ledger", "The ledger");
    match &model.certificate.payment {
        Some(payment) => {
            _ = writeln!(
                page,
                "<p>{} charge {} of the ledger <code>{}</code>.</p>",
                if pass { "This model is" } else { CLAIMS },
                payment.charge,
                escape(&payment.ledger)
            );
        }
        None => page.push_str("<p>No ledger was charged: the cost of other models of the same data is not in this report.</p>\n"),
    }
    if let Some(standing) = standing {
        charges(page, standing);
    }
    end_part(page);
}

fn charges(page: &mut String, standing: &Standing) {
    let budget = standing.budget;
    let delta = show(budget.delta.get());
    let tight = standing.tight.map_or("unbounded".to_owned(), |epsilon| {
        format!(
            "epsilon at most {} at delta = {delta}, if no plan was chosen after looking at an earlier release",
            at_most(epsilon)
        )
    });
    let facts = [
        (
            "Allowed in all",
            format!(
                "epsilon = {} at delta = {delta}, {} adjacency, however plans are chosen",
                budget.epsilon, budget.adjacency
            ),
        ),
        ("Charged, together", tight),
        (
            "Charged, as a sum",
            format!(
                "epsilon = {}, delta = {} (basic composition)",
                at_most(standing.basic_epsilon),
                at_most(standing.basic_delta)
            ),
        ),
        (
            "Left",
            format!(
                "epsilon = {} at delta = {delta}, for one more Gaussian release",
                at_least(standing.left)
            ),
        ),
        ("Refused so far", standing.refusals.to_string()),
    ];
    let facts = facts.map(|(what, value)| vec![what.to_owned(), value]);
    table(page, "The budget of the data set", &[], &facts, &[]);
    if standing.basic_epsilon > budget.epsilon.get() {
        page.push_str("<p>The sum exceeds the budget, and the budget is kept: Gaussian noise adds up by squares, and an epsilon at a smaller delta is worth less at the budget's.</p>\n");
    }
    let rows: Vec<Vec<String>> = standing
        .charges
        .iter()
        .map(|line| {
            vec![
                line.charge.to_string(),
                line.time.clone(),
                line.item.label.clone(),
                at_most(line.item.budget.epsilon.get()),
                at_most(line.item.budget.delta.get()),
                serde_json::to_value(line.state)
                    .map_or(String::new(), |s| s.as_str().unwrap_or("").to_owned()),
            ]
        })
        .collect();
    let header = ["Charge", "Time", "What", "epsilon", "delta", "State"];
    table(page, "Charges when this report was made", &header, &rows, &[0, 3, 4]);
}

/// The checks of the verification, and how to repeat them.
pub(super) fn verification(
    page: &mut String,
    model: &Model,
    verification: &Verification,
    file: &str,
) {
    begin_part(page, "verify", "How to verify it");
    _ = writeln!(
        page,
        "<p>The certificate is inside the model file. Anyone can recompute it without the data, with this program and the file:</p>\n<pre>reticent verify {}</pre>",
        escape(file)
    );
    let rows: Vec<Vec<String>> = verification
        .recomputed
        .iter()
        .chain(&verification.compared)
        .map(|c| {
            let word = if c.holds { "holds" } else { "FAILS" };
            // A file that fails states nothing: it claims.
            let found = if verification.pass {
                c.found.clone()
            } else {
                c.found.replace("This model is", CLAIMS)
            };
            vec![c.name.to_owned(), word.to_owned(), found]
        })
        .collect();
    let header = ["Check", "Verdict", "Found"];
    table(page, "Recomputed when this report was made", &header, &rows, &[]);
    let rows: Vec<Vec<String>> =
        verification.stated.iter().map(|s| vec![s.name.to_owned(), s.value.clone()]).collect();
    table(page, "Stated in the file, not checkable", &["What", "Stated"], &rows, &[]);
    page.push_str("<p>Not covered:</p>\n<ul>\n");
    for line in &verification.not_covered {
        _ = writeln!(page, "<li>{}</li>", escape(line));
    }
    page.push_str("</ul>\n");
    let event = serde_json::to_string_pretty::<Event>(&model.certificate.event).unwrap_or_default();
    _ = writeln!(
        page,
        "<details class=\"raw\"><summary>The mechanism as the accountant sees it</summary><pre>{}</pre></details>",
        escape_lines(&event)
    );
    end_part(page);
}
