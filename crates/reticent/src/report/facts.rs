//! Sentences that the page, the registry's entry and the model card share: plain text, from the
//! model alone. All speak of a file that verifies.

use std::fmt::Write;

use reticent_privacy::{Event, Relation, delta_upper, last_iterate};
use reticent_problem::Unit;

use super::{card, method};
use crate::certificate::unit_of;
use crate::draft::Spent;
use crate::units::change;
use crate::verify::Verification;
use crate::{Error, Model};
use reticent_problem::number::{at_most, show};

/// The record that the guarantee hides.
pub(super) fn protected(model: &Model) -> String {
    unit_of(&model.certificate.plan).map_or_else(|| "one row".to_owned(), Unit::protected)
}

/// The statement of the weights, and with it that of the schema's draft.
pub(super) fn statement(model: &Model, verification: &Verification) -> String {
    let both = model.draft.as_ref().and_then(|d| d.together(&model.certificate).ok());
    let with = both.map_or_else(String::new, |both| {
        format!(" With the draft of its schema, which this file holds too: {both}.")
    });
    verification.statement.clone() + &with
}

/// Which tables are adjacent.
pub(super) fn adjacent(model: &Model) -> String {
    let adjacency = model.certificate.budget.adjacency;
    let change = match (unit_of(&model.certificate.plan), adjacency.relation()) {
        (Some(unit), _) => change(adjacency, Some(unit)),
        (None, Relation::Replace) => "replacement of one row".to_owned(),
        (None, Relation::AddRemove) => "addition or removal of one row".to_owned(),
        (None, Relation::ZeroOut) => "replacement of one row by a null row".to_owned(),
    };
    let number = match (adjacency.relation(), adjacency.protects_units()) {
        (Relation::AddRemove, _) => "one table has one record more than the other",
        (_, false) => "both tables have the same number of rows",
        (_, true) => "both tables have the same number of units",
    };
    format!("Two tables are adjacent if they differ by {change}: {number}.")
}

/// How large the table is, and whether that number is the table's or a declared one.
pub(super) fn size(model: &Model) -> String {
    let rows = model.certificate.plan.outline().problem.rows;
    let adjacency = model.certificate.budget.adjacency;
    let records = if adjacency.protects_units() { "units" } else { "rows" };
    match adjacency.relation() {
        Relation::AddRemove => {
            format!("{rows} {records} (declared; the number in the table is private)")
        }
        Relation::Replace | Relation::ZeroOut => format!("{rows} {records}"),
    }
}

/// The facts that the guarantee does not hide.
pub(super) fn unprotected(model: &Model) -> String {
    let adjacency = model.certificate.budget.adjacency;
    let number = match (adjacency.relation(), adjacency.protects_units()) {
        (Relation::AddRemove, _) => "The".to_owned(),
        (_, false) => format!("The number of rows ({}), which is published; the", rows(model)),
        (_, true) => format!("The number of units ({}), which is published; the", rows(model)),
    };
    let declared = match &model.draft {
        None => "names of columns, bounds, categories",
        Some(_) => "names of columns, and what the draft of the schema did not release",
    };
    format!(
        "{number} declaration ({declared}), the plan and its settings, which were public before a \
         row was read; that training took place, its running time and memory; whether the file of \
         the table could be read."
    )
}

fn rows(model: &Model) -> usize {
    model.certificate.plan.outline().problem.rows
}

/// Whether what was done to the table needs no delta.
pub(super) fn is_pure(model: &Model) -> Result<bool, Error> {
    let Spent { event, budget } = model.spent()?;
    Ok(delta_upper(&event, budget.epsilon.get())? == 0.0)
}

/// `mu` of a release that is one Gaussian, up to a total variation; none of any other.
fn gaussian(event: &Event) -> Option<(f64, f64)> {
    match event {
        Event::Gaussian { noise_multiplier, .. } => Some((1.0 / noise_multiplier, 0.0)),
        Event::Gdp { mu, .. } => Some((*mu, 0.0)),
        &Event::LastIterate { steps, contraction, noise_multiplier, diameter, .. } => {
            let mu = last_iterate::mu_upper(steps, contraction, noise_multiplier, diameter);
            mu.ok().map(|mu| (mu, 0.0))
        }
        Event::Approximated { inner, total_variation } => {
            gaussian(inner).map(|(mu, already)| (mu, already + total_variation))
        }
        // A number is left out: nothing is claimed.
        _ => None,
    }
}

/// The guarantee beyond its one pair: Gaussian differential privacy where it is one, points of the
/// profile, what it means for an attacker.
pub(super) fn parameters(model: &Model) -> Result<String, Error> {
    let Spent { event, budget } = &model.spent()?;
    let mut text = String::new();
    if let Some((mu, variation)) = gaussian(event) {
        text = format!("Gaussian differential privacy with mu = {}", at_most(mu));
        if variation > 0.0 {
            _ = write!(text, ", up to a total variation of {}", at_most(variation));
        }
        text.push_str(". ");
    }
    let promised = budget.epsilon.get();
    let points = [0.5, 2.0].map(|factor| factor * promised);
    let points: Result<Vec<String>, Error> = points
        .iter()
        .map(|epsilon| {
            let delta = at_most(delta_upper(event, *epsilon)?.min(1.0));
            Ok(format!("delta at most {delta} at epsilon = {}", at_most(*epsilon)))
        })
        .collect();
    _ = write!(text, "Further points of the privacy profile: {}. ", points?.join(", "));
    Ok(text + &card::meaning(model)?)
}

/// Who is trusted with what, one after the other.
pub(super) fn trust(model: &Model) -> [(&'static str, String); 4] {
    let ledger = match &model.certificate.payment {
        None => "No ledger was charged: that other releases about the same people are counted is \
                 trusted to the curator"
            .to_owned(),
        Some(payment) => format!(
            "The owner of the ledger `{}`, and everybody else who can write it, is trusted to keep it: it was charged for this model",
            plain(&payment.ledger)
        ),
    };
    [
        (
            "Central curator",
            "Holds the table and runs the training; trusted with the rows, the machine, its \
             memory and its random numbers"
                .to_owned(),
        ),
        (
            "Author of the declaration",
            match &model.draft {
                None => "Trusted to write bounds and categories without looking at the rows",
                Some(_) => {
                    "Trusted to write bounds and categories without looking at the rows, \
                            but for those that the draft of the schema released"
                }
            }
            .to_owned(),
        ),
        ("The ledger", ledger),
        (
            "Everybody else",
            "Not trusted: may read the model file, the report and the source code, know all other \
             records and combine it with anything"
                .to_owned(),
        ),
    ]
}

/// Side channels, and what was done about each.
pub(super) fn channels() -> [(&'static str, String); 4] {
    [
        (
            "Floating point",
            "Values are rounded to a public grid and get noise that is exact on it; what rounding \
             can add to a record's influence is charged"
                .to_owned(),
        ),
        (
            "Random numbers",
            "ChaCha20 under keys of the operating system; a seeded run has no guarantee".to_owned(),
        ),
        (
            "Time and memory",
            "Not hidden: nobody but the curator may measure a run. Nothing in the release states \
             them"
                .to_owned(),
        ),
        (
            "Messages and files",
            "No error, warning or progress line depends on the value of a cell; whether the table's \
             file could be read is visible"
                .to_owned(),
        ),
    ]
}

/// The preprocessing of the rows, and how settings were chosen.
pub(super) fn preparation(model: &Model) -> String {
    let chosen = match &model.certificate.selection {
        None => {
            "Algorithm and settings were chosen by a planner that reads no rows, or by the curator"
                .to_owned()
        }
        Some(selection) => format!(
            "Settings were chosen among {} candidates on the private rows, and the privacy loss of \
             the choice is part of the stated budget",
            selection.candidates.len()
        ),
    };
    let drafted = match &model.draft {
        None => String::new(),
        Some(draft) => format!(
            "Bounds, categories or types of {} columns were released from the table with noise, \
             and the stated privacy loss includes their cost. ",
            draft.columns.len()
        ),
    };
    format!(
        "{drafted}Rows were encoded one by one from the declaration alone; values outside the \
         declared bounds were clamped. No statistic of the rows was used that the stated privacy \
         loss does not include. {chosen}."
    )
}

/// How losses add up within the release and across releases.
pub(super) fn composition(model: &Model) -> String {
    let certificate = &model.certificate;
    let bound = match &model.draft {
        None => certificate.epsilon_upper.map_or_else(String::new, |epsilon| {
            // Never above the promise by a rounding.
            let epsilon = epsilon.min(certificate.budget.epsilon.get());
            let delta = show(certificate.budget.delta.get());
            format!(": epsilon is at most {epsilon} at delta = {delta}")
        }),
        Some(draft) => draft.together(certificate).map_or_else(
            |_| String::new(),
            |both| format!(", and with those of the schema's draft: {both}"),
        ),
    };
    let others = match &certificate.payment {
        None => "No ledger was charged: the loss of other releases about the same records is to \
                 be added"
            .to_owned(),
        Some(payment) => format!(
            "It is charge {} of the ledger `{}`, which bounds the composed loss of all releases \
             charged to it",
            payment.charge,
            plain(&payment.ledger)
        ),
    };
    format!(
        "All steps of the training are composed by the accountant of the library from the stated \
         mechanism{bound}. {others}."
    )
}

/// The post-processing of the release.
pub(super) fn post_processing(model: &Model) -> String {
    match &model.edited {
        None => "None: the weights are as the mechanism released them. Predictions and pictures \
                 are functions of them."
            .to_owned(),
        Some(edited) => {
            let curves: Vec<String> = edited
                .monotone
                .iter()
                .map(|m| format!("`{}` {}", plain(&m.column), m.direction.name()))
                .collect();
            format!(
                "Curves were made monotone after the release ({}): a function of the released \
                 weights, which the file keeps.",
                curves.join(", ")
            )
        }
    }
}

/// The mechanism and its noise.
pub(super) fn mechanism(model: &Model) -> String {
    let certificate = &model.certificate;
    let info = certificate.plan.info();
    format!(
        "{}: {} ({}). Noise: {}. {} steps, {} adjacency. Software: {}",
        info.name,
        info.summary,
        info.paper,
        method::noise(&certificate.plan),
        certificate.plan.outline().steps,
        certificate.budget.adjacency,
        plain(&certificate.software)
    )
}

/// Text of a file, in one line, that cannot leave a span of code.
pub(super) fn plain(text: &str) -> String {
    reticent_problem::text::visible(text).replace('`', "'")
}
