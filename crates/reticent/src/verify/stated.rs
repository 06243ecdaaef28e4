//! What a model file says and nothing in it can confirm, and what no model file shows.

use serde::Serialize;

use crate::{Model, RandomnessUsed};

/// Something that the file states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stated {
    /// What it is about.
    pub name: &'static str,
    /// What is stated.
    pub value: String,
}

/// What the file states, one line each.
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
        ("rows", problem.rows.to_string()),
        ("weights", format!("{weights} numbers, released by the plan")),
        (
            "runs",
            match &certificate.selection {
                None => "one, published whatever it gave".to_owned(),
                Some(_) => "a secret number, the best of them published".to_owned(),
            },
        ),
        ("declaration", "bounds, categories and missing marks, not read off the rows".to_owned()),
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
    "whether the signer tells the truth: what is stated rests on the signer's word";

/// What is not shown; a ledger that has a record of the release shows more.
pub(super) fn not_covered(in_ledger: bool) -> Vec<String> {
    let mut list = vec![
        NOT_SIGNED,
        "that this plan was run on those rows, once, and gave these weights",
        "that bounds and categories were declared without looking at the rows, and that one person has one row",
    ];
    list.push(if in_ledger {
        "runs and releases on the same rows that were not charged to this ledger"
    } else {
        "other runs and releases on the same rows, also a choice among runs that the file does not mention; `reticent verify --ledger` compares with the record of what was charged"
    });
    list.into_iter().map(str::to_owned).collect()
}
