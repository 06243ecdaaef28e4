//! Statements of a model file that nothing in it can confirm, and facts that no model file shows.

use serde::Serialize;

use crate::{Model, RandomnessUsed};

/// Something that the file states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stated {
    /// The subject of the statement.
    pub name: &'static str,
    /// The statement.
    pub value: String,
}

/// The statements of the file, one line each.
pub(super) fn of(model: &Model) -> Vec<Stated> {
    let certificate = &model.certificate;
    let problem = &certificate.plan.outline().problem;
    let weights: usize = model.weights.iter().map(Vec::len).sum();
    let entries = [
        (
            "noise",
            match certificate.randomness {
                RandomnessUsed::Secure => "drawn from the operating system",
                RandomnessUsed::Seeded => "drawn from a given seed",
            }
            .to_owned(),
        ),
        (if problem.unit.is_some() { "units" } else { "rows" }, problem.rows.to_string()),
        (
            "weights",
            match &model.edited {
                None => format!("{weights} numbers, released by the plan"),
                Some(_) => format!(
                    "{weights} numbers, edited after the plan released others, which the file holds too"
                ),
            },
        ),
        (
            "runs",
            match &certificate.selection {
                None => "one, published whatever it gave".to_owned(),
                Some(_) => "a secret number, the best of them published".to_owned(),
            },
        ),
        (
            "declaration",
            match &model.draft {
                None => "bounds, categories and missing marks, not read off the rows".to_owned(),
                Some(_) => "bounds and categories released by the draft, or not read off the rows"
                    .to_owned(),
            },
        ),
        (
            "payment",
            certificate.payment.as_ref().map_or_else(
                || "charged to no ledger".to_owned(),
                |payment| format!("charge {} of ledger {}", payment.charge, payment.ledger),
            ),
        ),
        ("software", certificate.software.clone()),
    ];
    entries.into_iter().map(|(name, value)| Stated { name, value }).collect()
}

/// Without a signature.
pub(super) const NOT_SIGNED: &str = "who made the file: anyone can write one with a matching digest; `reticent sign` and `reticent verify --allowed-signers` show who did";

/// With one.
pub(super) const SIGNED: &str =
    "whether the signer tells the truth: what is stated relies on the signer's word";

/// Facts that the file does not show; a ledger that has a record of the release shows more.
pub(super) fn not_covered(model: &Model, in_ledger: bool) -> Vec<String> {
    let persons = match &model.certificate.plan.outline().problem.unit {
        None => "that one person has one row".to_owned(),
        Some(unit) => format!(
            "that all rows of one person have the same `{}`",
            reticent_problem::text::visible(&unit.column)
        ),
    };
    let others = if in_ledger {
        "runs and releases on the same rows that were not charged to this ledger"
    } else {
        "other runs and releases on the same rows, also a choice among runs that the file does not mention; `reticent verify --ledger` compares with the record of what was charged"
    };
    vec![
        NOT_SIGNED.to_owned(),
        "that this plan was run on those rows, once, and gave these weights".to_owned(),
        format!(
            "that bounds and categories that no draft released were declared without looking at the rows, and {persons}"
        ),
        others.to_owned(),
    ]
}
