//! `reticent plan`.

use std::process::ExitCode;

use reticent::optim::{Candidate, Plan, PlanError, candidates};
use reticent::problem::{Loss, Problem, RowBounds};
use reticent::{Error, Task};
use serde_json::{Value, json};

use super::task;
use crate::arguments::{FeatureNorm, PlanArgs};
use crate::output;

pub(super) fn run(args: &PlanArgs, json: bool) -> Result<ExitCode, Error> {
    let problem = problem(args)?;
    let budget = args.budget.check(args.n)?;
    let mut list = candidates(&problem, budget, &args.settings.request());
    let wanted = args.settings.algorithm.as_str();
    if wanted != "auto" {
        let known: Vec<_> = list.iter().map(|c| c.algorithm).collect();
        if !known.contains(&wanted) {
            let known = format!("auto, {}", known.join(", "));
            return Err(PlanError::UnknownAlgorithm { got: wanted.to_owned(), known }.into());
        }
        list.retain(|c| c.algorithm == wanted);
    }
    // A problem that nothing can serve is bad input; one that something serves is not.
    if list.iter().all(|c| c.plan.is_err())
        && let Some(Candidate { plan: Err(error), .. }) = list.first()
    {
        return Err(error.clone().into());
    }
    if json {
        let ranking: Vec<Value> = list.iter().map(describe).collect();
        output::json(&json!({ "problem": problem, "budget": budget, "ranking": ranking }));
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&format!(
        "n = {}, {} weights, {} loss, epsilon = {}, delta = {:e}, {}; no data was read",
        problem.rows,
        problem.dimension(),
        problem.loss.name(),
        budget.epsilon,
        budget.delta.get(),
        budget.adjacency
    ));
    let rows: Vec<Vec<String>> = list
        .iter()
        .map(|c| match &c.plan {
            Ok(plan) => vec![
                c.algorithm.to_owned(),
                format!("{:.3e}", plan.outline().noise_deviation),
                plan.outline().steps.to_string(),
                format!("{:.3e}", plan.ridge()),
                plan.outline().predicted_excess.map_or("-".to_owned(), |x| format!("{x:.3e}")),
                remarks(c, plan),
            ],
            Err(error) => {
                vec![
                    c.algorithm.to_owned(),
                    "-".into(),
                    "-".into(),
                    "-".into(),
                    "-".into(),
                    error.to_string(),
                ]
            }
        })
        .collect();
    let header =
        ["algorithm", "noise in a weight", "steps", "ridge mu", "excess risk at most", "remarks"];
    output::line(&output::table(&header, &rows));
    Ok(ExitCode::SUCCESS)
}

/// The problem of the flags, or of the schema with them.
pub(super) fn problem(args: &PlanArgs) -> Result<Problem, Error> {
    let slope_limit = args.settings.slope_limit;
    if let Some(schema) = &args.schema {
        let task = task(schema, None, &args.encoding, &args.loss)?;
        let task = Task { hidden: args.settings.hidden, ..task };
        // A plan does not depend on the frequencies.
        let task = match args.kernel.choice() {
            Some(choice) => task.with_kernel(&choice, args.n, 0)?,
            None => task,
        };
        let domain = args.settings.domain(task.dimension()?)?;
        return task.problem(args.n, domain, slope_limit);
    }
    let loss = args.loss.chosen(args.classes).unwrap_or(Loss::Logistic);
    let bounds = match args.encoding.feature_norm {
        Some(FeatureNorm::None) => RowBounds::unbounded(args.label_bound)?,
        norm => {
            let norm = norm.and_then(FeatureNorm::number).unwrap_or(1.0);
            let bounds = RowBounds::new(norm, args.label_bound)?;
            args.entry_bound.map_or(Ok(bounds), |entry| bounds.with_entries(entry))?
        }
    };
    let (bounds, features) = match args.kernel.choice() {
        Some(choice) => {
            let law = choice.law(args.n, args.d.unwrap_or_default(), bounds.norm(), 0)?;
            (law.bounds(args.label_bound)?, law.features)
        }
        None => (bounds, args.d.unwrap_or_default()),
    };
    let plain =
        Problem { hidden: args.settings.hidden, ..Problem::new(loss, bounds, args.n, features) };
    let domain = args.settings.domain(plain.dimension())?;
    let problem = Problem { domain, slope_limit, ..plain };
    problem.check_without_bounds()?; // whoever needs a convex loss or bounded rows says so when planning
    Ok(problem)
}

fn remarks(candidate: &Candidate, plan: &Plan) -> String {
    let warnings = plan.outline().warnings.iter().map(String::as_str);
    candidate.preferred.into_iter().chain(warnings).collect::<Vec<_>>().join("; ")
}

fn describe(candidate: &Candidate) -> Value {
    match &candidate.plan {
        Ok(plan) => json!({
            "algorithm": candidate.algorithm,
            "noise_deviation": plan.outline().noise_deviation,
            "steps": plan.outline().steps,
            "predicted_excess": plan.outline().predicted_excess,
            "preferred": candidate.preferred,
            "plan": plan,
        }),
        Err(error) => {
            json!({ "algorithm": candidate.algorithm, "not_applicable": error.to_string() })
        }
    }
}
