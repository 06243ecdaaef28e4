//! Re-checks a model's certificate without the data.
//!
//! Nothing in the file is believed that can be computed: the plan is made anew from what was asked for, the event is the
//! plan's, the loss is the accountant's, the bounds are the declaration's. What cannot be computed from the file is who
//! ran it; a signature would tell that, and there is none.

use std::path::Path;

use reticent_optim::{Plan, Selection};
use reticent_privacy::{delta_upper, epsilon_upper};
use serde::Serialize;
use serde_json::Value;

use crate::certificate::{assumptions, statement, why_void};
use crate::files::read_text;
use crate::{Error, Model, unique};

/// Numbers that were computed twice may differ by this much, relatively: another machine's mathematical library.
const TOLERANCE: f64 = 1e-9;

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// What was found.
    pub found: String,
}

/// All that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Whether everything holds.
    pub pass: bool,
    /// The guarantee that was checked.
    pub statement: String,
    /// Each check.
    pub checks: Vec<Check>,
}

impl Verification {
    /// The checks that fail.
    pub fn failures(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|c| !c.holds)
    }
}

/// Verifies the model in a file.
///
/// # Errors
///
/// If it is no model at all. A model whose certificate does not hold is no error: the verification says so.
pub fn verify(path: &Path) -> Result<Verification, Error> {
    verify_text(&read_text(path)?, &path.display().to_string())
}

/// Verifies the model in `text`; `file` is its name in messages.
///
/// # Errors
///
/// As [`verify`].
pub fn verify_text(text: &str, file: &str) -> Result<Verification, Error> {
    let (model, whole) = Model::from_json(text, file)?;
    let certificate = &model.certificate;
    let budget = certificate.budget;
    let mut checks = Vec::new();
    let mut check = |name, holds, found: String| checks.push(Check { name, holds, found });

    check(
        "file is unaltered",
        whole,
        if whole {
            "the digest is that of the contents"
        } else {
            "the digest is not that of the contents"
        }
        .to_owned(),
    );
    let [given, known] =
        [text, &model.to_json()].map(|text| unique::parse(text).unwrap_or_default());
    let unknown = unknown_field(&given, &known);
    check(
        "every field is a model's",
        unknown.is_none(),
        match unknown {
            None => "nothing else is stated".to_owned(),
            Some(key) => format!("{key:?} is none, and nothing vouches for it"),
        },
    );
    let expected = statement(budget, &certificate.event);
    check("statement is that of the budget", certificate.statement == expected, expected.clone());
    let void = why_void(budget, certificate.randomness);
    check(
        "noise was secure",
        void.is_none(),
        void.clone().unwrap_or_else(|| "drawn from the operating system".to_owned()),
    );
    check(
        "void is stated truthfully",
        certificate.void == void,
        format!("{:?} is stated", certificate.void),
    );

    let plan = &certificate.plan;
    let again = plan.again();
    let same = again.as_ref().is_ok_and(|again| agree(again, plan));
    check(
        "plan follows from what was asked for",
        same,
        match &again {
            Ok(_) if same => {
                "made anew from problem, budget and settings, it is the same".to_owned()
            }
            Ok(_) => "made anew from problem, budget and settings, it differs".to_owned(),
            Err(error) => error.to_string(),
        },
    );
    if let Some(selection) = &certificate.selection {
        checks.extend(of_the_choice(plan, selection));
    }
    let mut check = |name, holds, found: String| checks.push(Check { name, holds, found });
    let (asked, charged) = match &certificate.selection {
        Some(selection) => (selection.budget, &selection.event),
        None => (plan.outline().budget, &plan.outline().event),
    };
    check(
        "budget is the plan's",
        asked == budget,
        format!("epsilon = {}, delta = {:e}", budget.epsilon, budget.delta.get()),
    );
    check(
        "calibration is the plan's",
        plan.calibration() == certificate.calibration,
        format!("{:?}", certificate.calibration),
    );
    check("event is the plan's", *charged == certificate.event, "what was charged".to_owned());
    check(
        "assumptions are the plan's",
        assumptions(plan, certificate.selection.as_ref()) == certificate.assumptions,
        "what the guarantee rests on".to_owned(),
    );

    match (
        epsilon_upper(&certificate.event, budget.delta.get()),
        delta_upper(&certificate.event, budget.epsilon.get()),
    ) {
        (Ok(epsilon), Ok(delta)) => {
            // Both are upper bounds, found on grids of their own: either proves the promise.
            let within = epsilon <= budget.epsilon.get() * (1.0 + 1e-12)
                || delta <= budget.delta.get() * (1.0 + 1e-12);
            check(
                "event keeps the budget",
                within,
                format!("epsilon <= {epsilon} at the stated delta"),
            );
            let stated = certificate.epsilon_upper.unwrap_or(f64::INFINITY);
            let equal = stated == epsilon || close(stated, epsilon);
            check("stated epsilon is the event's", equal, format!("{stated} is stated"));
        }
        (Err(error), _) | (_, Err(error)) => {
            check("event keeps the budget", false, error.to_string());
        }
    }

    checks.extend(against_the_declaration(&model));
    let pass = checks.iter().all(|c| c.holds);
    Ok(Verification { pass, statement: expected, checks })
}

/// A field of `given` that is not among those `known`, wherever it stands.
fn unknown_field(given: &Value, known: &Value) -> Option<String> {
    match (given, known) {
        (Value::Object(given), _) => given.iter().find_map(|(key, value)| match known.get(key) {
            Some(known) => unknown_field(value, known),
            None => Some(key.clone()),
        }),
        (Value::Array(given), Value::Array(known)) => {
            given.iter().zip(known).find_map(|(given, known)| unknown_field(given, known))
        }
        _ => None,
    }
}

/// What must hold of a choice among several plans: it follows from them, they are of one table, and the plan is one of them.
fn of_the_choice(plan: &Plan, selection: &Selection) -> Vec<Check> {
    let again = selection.again();
    let same = again.as_ref().is_ok_and(|again| agree(again, selection));
    let (problem, shape) = (&plan.outline().problem, |p: &Plan| {
        let p = &p.outline().problem;
        (p.loss, p.bounds, p.rows, p.features)
    });
    let adjacency = selection.budget.adjacency;
    let alike = selection.candidates.iter().all(|candidate| {
        shape(candidate) == (problem.loss, problem.bounds, problem.rows, problem.features)
            && candidate.outline().budget.adjacency == adjacency
    });
    vec![
        Check {
            name: "choice follows from what was tried",
            holds: same,
            found: match again {
                Ok(_) if same => "made anew from its candidates, it is the same".to_owned(),
                Ok(_) => "made anew from its candidates, it differs".to_owned(),
                Err(error) => error.to_string(),
            },
        },
        Check {
            name: "what was tried is for one table",
            holds: alike,
            found: format!("{} candidates, {adjacency} adjacency", selection.candidates.len()),
        },
        Check {
            name: "plan is one of those tried",
            holds: selection.candidates.contains(plan),
            found: plan.algorithm().to_owned(),
        },
    ]
}

/// Whether a planned bound is the declared one. A larger one would be safe, but no honest plan has it.
fn covers(planned: f64, declared: f64) -> bool {
    planned == declared || planned > declared && close(planned, declared)
}

/// What must follow from the declaration: features, bounds, and labels of the kind that the loss is for.
fn against_the_declaration(model: &Model) -> Vec<Check> {
    let problem = &model.certificate.plan.outline().problem;
    let fits = model.task.check_loss();
    let labels = Check {
        name: "labels are of the kind that the loss is for",
        holds: fits.is_ok(),
        found: fits.map_or_else(|error| error.to_string(), |()| model.task.loss.name().to_owned()),
    };
    let name = "bounds are the declaration's";
    match model.layout() {
        Ok(layout) => {
            let features = Check {
                name: "features are the declaration's",
                holds: model.features == layout.feature_names(),
                found: format!("{} features", model.features.len()),
            };
            let (planned, bounds) = (problem.bounds, model.task.bounds());
            let holds = problem.loss == model.task.loss
                && problem.hidden == model.task.hidden
                && model.task.features().is_ok_and(|features| problem.features == features)
                && bounds.as_ref().is_ok_and(|declared| {
                    covers(planned.norm(), declared.norm())
                        && covers(planned.label(), declared.label())
                        && covers(planned.entry(), declared.entry())
                });
            let found = match bounds {
                Ok(bounds) => format!("row norm <= {}", bounds.norm()),
                Err(error) => error.to_string(),
            };
            vec![labels, features, Check { name, holds, found }]
        }
        Err(error) => vec![labels, Check { name, holds: false, found: error.to_string() }],
    }
}

/// Whether two plans are the same up to rounding.
fn agree<T: Serialize>(a: &T, b: &T) -> bool {
    match (serde_json::to_value(a), serde_json::to_value(b)) {
        (Ok(a), Ok(b)) => values_agree(&a, &b),
        _ => false,
    }
}

fn values_agree(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => match (x.as_f64(), y.as_f64()) {
            (Some(x), Some(y)) => close(x, y),
            _ => false,
        },
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| values_agree(x, y))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len()
                && x.iter().all(|(k, x)| y.get(k).is_some_and(|y| values_agree(x, y)))
        }
        (x, y) => x == y,
    }
}

fn close(x: f64, y: f64) -> bool {
    (x - y).abs() <= TOLERANCE * x.abs().max(y.abs())
}
