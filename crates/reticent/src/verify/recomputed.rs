//! Facts that follow from other parts of the file: computed, and compared with the file's
//! statements.

use reticent_optim::{Plan, Selection, WeightsForm};
use reticent_privacy::{Budget, delta_upper, epsilon_upper};
use reticent_problem::Unit;
use reticent_problem::number::{norm_at_most, round_up, show};
use serde::Serialize;

use super::Check;
use super::compare::{agree, close, difference};
use crate::certificate::{Certificate, assumptions, is_well_formed, why_void};
use crate::draft::DraftCertificate;
use crate::{Model, intervals, unique};

/// All checks of the model that was read from `text`.
pub(super) fn checks(text: &str, model: &Model, digest_matches: bool) -> Vec<Check> {
    let certificate = &model.certificate;
    let mut checks = of_the_file(text, model, digest_matches);
    checks.extend(of_the_plan(certificate));
    checks
        .extend(certificate.selection.iter().flat_map(|s| of_the_selection(&certificate.plan, s)));
    checks.extend(of_the_loss(certificate));
    checks.extend(of_the_risk(certificate));
    checks.extend(of_the_declaration(model));
    checks.extend(of_the_weights(&model.as_released()));
    checks.extend(of_the_unseen(&model.as_released()));
    checks.extend(intervals::check(model));
    checks.extend(of_the_edits(model));
    checks.extend(of_the_draft(model));
    checks
}

/// The draft of the schema is whole, and its cost adds up with the model's.
fn of_the_draft(model: &Model) -> Vec<Check> {
    let declaration = &model.task.declaration;
    let Some(draft) = &model.draft else {
        let none = DraftCertificate::of(declaration).map(|_| ());
        return none.err().map_or_else(Vec::new, |error| {
            vec![Check::new("what is marked as released is a draft's", false, error.to_string())]
        });
    };
    let mut checks = draft.checks();
    checks.push(draft.compare_bounds(declaration));
    let together = draft.together(&model.certificate);
    checks.push(Check::new(
        "cost of schema and model together",
        together.is_ok(),
        match &together {
            Ok(together) => together.to_string(),
            Err(error) => error.to_string(),
        },
    ));
    checks
}

fn of_the_file(text: &str, model: &Model, digest_matches: bool) -> Vec<Check> {
    let certificate = &model.certificate;
    let [given, written] =
        [text, &model.to_json()].map(|text| unique::parse(text).unwrap_or_default());
    // The digest has a check of its own, and says nothing of a model that was altered.
    let [given, written] = [given, written].map(|mut value| {
        value.as_object_mut().map(|object| object.remove("digest"));
        value
    });
    let follows = certificate.statement == certificate.statement_that_follows();
    let void = why_void(certificate.budget, certificate.randomness);
    vec![
        Check::new(
            "digest matches the contents",
            digest_matches,
            if digest_matches { "unaltered since it was written" } else { "altered afterwards" },
        ),
        match difference(&given, &written) {
            None => {
                Check::new("no unknown fields", true, "every field is one that Reticent writes")
            }
            Some(path) => Check::new(
                "no unknown fields",
                false,
                format!("`{path}` is not what Reticent writes there"),
            ),
        },
        Check::new(
            "statement follows from budget and event",
            follows,
            if follows { "the sentence that follows" } else { "another sentence" },
        ),
        Check::new(
            "not marked void",
            certificate.void.is_none() && void.is_none(),
            match (void, &certificate.void) {
                (Some(void), _) => void,
                (None, Some(_)) => "marked void, and nothing in the file says why".to_owned(),
                (None, None) => "no reason is stated".to_owned(),
            },
        ),
        Check::new(
            "software and payment are well-formed",
            is_well_formed(&certificate.software, certificate.payment.as_ref()),
            "a name, a version, a ledger's name: no other text",
        ),
    ]
}

fn of_the_plan(certificate: &Certificate) -> Vec<Check> {
    let (plan, budget) = (&certificate.plan, certificate.budget);
    let selection = certificate.selection.as_ref();
    let again = plan.again();
    let same = again.as_ref().is_ok_and(|again| same_value(again, plan));
    let (asked, charged) = match selection {
        Some(selection) => (selection.budget, &selection.event),
        None => (plan.outline().budget, &plan.outline().event),
    };
    let among = plan.outline().problem.candidates;
    vec![
        Check::new(
            "plan reproduces from problem, budget and settings",
            same,
            match &again {
                Ok(_) if same => "the same plan".to_owned(),
                Ok(_) => "another plan".to_owned(),
                Err(error) => error.to_string(),
            },
        ),
        Check::new(
            "a candidate of a selection comes with the selection",
            among == selection.map(|selection| selection.candidates.len()),
            match among {
                None => "the plan is charged by itself".to_owned(),
                Some(candidates) => format!("the plan is one of {candidates} candidates"),
            },
        ),
        Check::new(
            "budget is the plan's",
            asked == budget,
            format!("epsilon = {}, delta = {:e}", budget.epsilon, budget.delta.get()),
        ),
        Check::new(
            "calibration is the plan's",
            plan.calibration() == certificate.calibration,
            format!("{:?}", certificate.calibration).to_lowercase(),
        ),
        Check::new("event is the plan's", *charged == certificate.event, "what is charged"),
        Check::new(
            "assumptions are the plan's",
            assumptions(plan, selection) == certificate.assumptions,
            format!("{} assumptions", certificate.assumptions.len()),
        ),
    ]
}

/// A selection follows from its candidates, they are of one table, and the plan is one of them.
fn of_the_selection(plan: &Plan, selection: &Selection) -> Vec<Check> {
    let again = selection.again();
    let same = again.as_ref().is_ok_and(|again| same_value(again, selection));
    let table = |p: &Plan| {
        let p = &p.outline().problem;
        (p.loss, p.bounds, p.rows, p.features, p.unit.clone())
    };
    let adjacency = selection.budget.adjacency;
    let alike = selection.candidates.iter().all(|candidate| {
        table(candidate) == table(plan) && candidate.outline().budget.adjacency == adjacency
    });
    vec![
        Check::new(
            "selection reproduces from its candidates",
            same && selection.marks_candidates(),
            match again {
                Ok(_) if same => "the same selection".to_owned(),
                Ok(_) => "another selection".to_owned(),
                Err(error) => error.to_string(),
            },
        ),
        Check::new(
            "candidates are for one table",
            alike,
            format!("{} candidates, {adjacency} adjacency", selection.candidates.len()),
        ),
        Check::new(
            "plan is one of the candidates",
            selection.candidates.contains(plan),
            plan.algorithm(),
        ),
    ]
}

/// The accountant's own numbers.
fn of_the_loss(certificate: &Certificate) -> Vec<Check> {
    let budget = certificate.budget;
    match (
        epsilon_upper(&certificate.event, budget.delta.get()),
        delta_upper(&certificate.event, budget.epsilon.get()),
    ) {
        (Ok(epsilon), Ok(delta)) => {
            // Both are upper bounds, found on grids of their own: either proves the promise.
            let within = epsilon <= budget.epsilon.get() * (1.0 + 1e-12)
                || delta <= budget.delta.get() * (1.0 + 1e-12);
            let stated = certificate.epsilon_upper.unwrap_or(f64::INFINITY);
            vec![
                Check::new(
                    "event keeps the budget",
                    within,
                    format!("epsilon <= {} at the stated delta", shown(epsilon, budget)),
                ),
                Check::new(
                    "stated epsilon is the event's",
                    stated == epsilon || close(stated, epsilon),
                    format!("{} is stated", shown(stated, budget)),
                ),
            ]
        }
        (Err(error), _) | (_, Err(error)) => {
            vec![Check::new("event keeps the budget", false, error.to_string())]
        }
    }
}

/// The event keeps the risk that was given in place of epsilon.
fn of_the_risk(certificate: &Certificate) -> Option<Check> {
    let risk = certificate.risk?;
    let name = "event keeps the risk";
    Some(match risk.check().and_then(|()| risk.upper(&certificate.event)) {
        // The curve is bounded on a grid that ends where rounding says.
        Ok(found) => Check::new(
            name,
            found <= risk.most() * (1.0 + 1e-9),
            format!("{found} of {} that is allowed", risk.most()),
        ),
        Err(error) => Check::new(name, false, error.to_string()),
    })
}

/// An upper bound with four digits; not above the budget for its rounding.
fn shown(epsilon: f64, budget: Budget) -> String {
    let (bound, most) = (round_up(epsilon, 4), budget.epsilon.get());
    show(if epsilon <= most { bound.min(most) } else { bound })
}

/// Whether a planned bound is the declared one. A larger one would be safe, but no honest plan has
/// it.
fn covers(planned: f64, declared: f64) -> bool {
    planned == declared || planned > declared && close(planned, declared)
}

/// Features, bounds and the kind of labels follow from the declaration.
fn of_the_declaration(model: &Model) -> Vec<Check> {
    let problem = &model.certificate.plan.outline().problem;
    let fits = model.task.check_loss();
    let labels = Check::new(
        "loss fits the target",
        fits.is_ok(),
        fits.map_or_else(|error| error.to_string(), |()| model.task.loss.name().to_owned()),
    );
    let name = "bounds follow from the declaration";
    let layout = match model.layout() {
        Ok(layout) => layout,
        Err(error) => return vec![labels, Check::new(name, false, error.to_string())],
    };
    let features = Check::new(
        "features follow from the declaration",
        model.features == layout.feature_names(),
        format!("{} features", model.features.len()),
    );
    let (planned, bounds) = (problem.bounds, model.task.bounds());
    let holds = problem.loss == model.task.loss
        && problem.hidden == model.task.hidden
        && (problem.curves.is_empty()
            || model.task.curves().is_ok_and(|curves| problem.curves == curves))
        && model.task.features().is_ok_and(|features| problem.features == features)
        && bounds.as_ref().is_ok_and(|declared| {
            covers(planned.norm(), declared.norm())
                && covers(planned.label(), declared.label())
                && covers(planned.entry(), declared.entry())
                && covers(planned.replaced(), declared.replaced())
        });
    let found = match bounds {
        Ok(bounds) => format!("rows are held to norm {}", norm_at_most(bounds.norm())),
        Err(error) => error.to_string(),
    };
    let unit = model.task.declaration.unit();
    let units = Check::new(
        "unit follows from the declaration",
        problem.unit.as_ref() == unit
            && model.certificate.budget.adjacency.protects_units() == unit.is_some(),
        unit.map_or_else(|| "each row is a record".to_owned(), Unit::protected),
    );
    let weighted = model.task.layout().is_ok_and(|layout| layout.is_weighted());
    let weights = Check::new(
        "weights of rows follow from the declaration",
        problem.weighted == weighted,
        if weighted {
            "each row counts its share of the largest"
        } else {
            "every row counts the same"
        },
    );
    let mut checks = vec![labels, features, Check::new(name, holds, found), units];
    if weighted || problem.weighted {
        checks.push(weights);
    }
    checks
}

/// The form of the weights of every run of the plan.
fn of_the_weights(model: &Model) -> Option<Check> {
    let form = model.certificate.plan.weights_form();
    let weights = model.weights.concat();
    let (name, found) = match &form {
        WeightsForm::Free => return None,
        WeightsForm::Set(set) => ("weights lie in the declared set", set.name().to_owned()),
        WeightsForm::Grid(grid) => {
            ("weights lie on the noise grid", format!("multiples of {grid:e}"))
        }
    };
    Some(Check::new(name, form.holds(&weights), found))
}

/// The weights of features without data are zero, they are those of categories, and the plan is one
/// that finds such features.
fn of_the_unseen(model: &Model) -> Option<Check> {
    let unseen = &model.unseen;
    if unseen.is_empty() {
        return None;
    }
    let finds = matches!(
        &model.certificate.plan,
        Plan::ClippedSgd(plan) if plan.settings.precondition.is_some()
    );
    let in_order = unseen.windows(2).all(|pair| pair[0] < pair[1]);
    let categories = model.task.category_features();
    let of_categories = unseen.iter().all(|j| categories.iter().any(|of| of.contains(j)));
    let zero = |weights: &Vec<f64>| unseen.iter().all(|j| weights.get(*j) == Some(&0.0));
    Some(Check::new(
        "features without data have no weight",
        finds && in_order && of_categories && model.weights.iter().all(zero),
        format!("{} of {} features, by the noisy moments", unseen.len(), model.features.len()),
    ))
}

/// The edits give the weights, if there are any.
fn of_the_edits(model: &Model) -> Option<Check> {
    let edited = model.edited.as_ref()?;
    let columns: Vec<String> = edited
        .monotone
        .iter()
        .map(|edit| format!("`{}` {}", edit.column, edit.direction.name()))
        .collect();
    let found = format!("{}: post-processing of the released weights", columns.join(", "));
    let name = "weights follow from the released ones and the recorded edits";
    Some(Check::new(name, model.edits_hold(), found))
}

/// Whether two values are the same up to rounding.
pub(crate) fn same_value<T: Serialize>(a: &T, b: &T) -> bool {
    match (serde_json::to_value(a), serde_json::to_value(b)) {
        (Ok(a), Ok(b)) => agree(&a, &b),
        _ => false,
    }
}
