//! `reticent plan`.

use std::process::ExitCode;

use reticent::optim::{Candidate, LevelGain, Plan, level_names};
use reticent::planner::{self, Share};
use reticent::problem::{Loss, Problem, RowBounds};
use reticent::{Error, Task};
use serde_json::{Value, json};

use super::task;
use crate::arguments::{FeatureNorm, PlanArgs};
use crate::{output, progress};

pub(super) fn run(args: &PlanArgs, json: bool) -> Result<ExitCode, Error> {
    let (problem, task) = stated(args)?;
    let budget = args.budget.check(args.n)?;
    let request = args.method.settings();
    let wanted = &args.method.algorithm;
    let (list, outlook) = {
        let _spinner = progress::spinner("running every algorithm on simulated tables", json);
        let list = planner::rank(&problem, budget, &request, wanted)?;
        let outlook = planner::outlook(&problem, budget, &request, wanted, &list[0]);
        (list, outlook)
    };
    let no_outlook = outlook.is_none().then(|| planner::no_outlook(&problem));
    let advice = task.map(|task| planner::norm_advice(&task)).transpose()?;
    if let Some(remark) = planner::weak(budget) {
        output::remark(&remark);
    }
    let shares = match &list[0].plan {
        Ok(plan) => planner::split(plan)?,
        Err(_) => Vec::new(),
    };
    if json {
        let ranking: Vec<Value> = list.iter().map(describe).collect();
        output::json(&json!({
            "problem": problem,
            "budget": budget,
            "levels": level_names(),
            "ranking": ranking,
            "outlook": outlook,
            "no_outlook": no_outlook,
            "split": shares,
            "feature_norm": advice,
        }));
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
    let rows: Vec<Vec<String>> = list.iter().map(row).collect();
    let header = [
        "algorithm",
        "simulated accuracy retained",
        "excess risk at most",
        "noise",
        "steps",
        "ridge mu",
        "time",
        "memory",
        "remarks",
    ];
    output::line(&output::table(&header, &rows));
    output::line("");
    let kept = |c: &Candidate| c.prediction.as_ref().map(|p| p.gain);
    if list.iter().any(|c| kept(c) > kept(&list[0])) {
        output::line(
            "near ties do not follow the simulated accuracy: a method that depends more on the simulated labels or rows must be two percent ahead, one that takes much less time wins a tie, and without noise the exact minimum is first",
        );
    }
    if let Some(outlook) = outlook {
        output::line(&outlook.sentence(&problem, budget));
    }
    if let Some(reason) = no_outlook {
        output::line(reason);
    }
    if let Ok(plan) = &list[0].plan {
        print_first(plan, &shares);
    }
    if let Some(advice) = advice {
        output::line(&format!("feature norm: {advice}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn row(candidate: &Candidate) -> Vec<String> {
    let none = || "-".to_owned();
    match &candidate.plan {
        Ok(plan) => {
            let outline = plan.outline();
            vec![
                candidate.algorithm.to_owned(),
                candidate.prediction.as_ref().map_or_else(none, |p| {
                    let share = |x: &LevelGain| format!("{} {:.0}", x.level, 100.0 * x.gain);
                    let levels: Vec<_> = p.levels.iter().map(share).collect();
                    format!("{:.0} % ({})", 100.0 * p.gain, levels.join(", "))
                }),
                outline.predicted_excess.map_or_else(none, |x| format!("{x:.3e}")),
                format!("{:.3e} {}", outline.noise_deviation, plan.noise_place()),
                outline.steps.to_string(),
                format!("{:.3e}", plan.ridge()),
                seconds(plan.seconds()),
                bytes(plan.bytes()),
                outline.warnings.join("; "),
            ]
        }
        Err(error) => {
            let mut cells = vec![candidate.algorithm.to_owned()];
            cells.extend(std::iter::repeat_with(none).take(7));
            cells.push(error.to_string());
            cells
        }
    }
}

/// What the first of the list assumes and spends.
fn print_first(plan: &Plan, shares: &[Share]) {
    output::line(&format!("{} assumes:", plan.algorithm()));
    for assumption in plan.assumptions() {
        output::line(&format!("  - {} ({})", assumption.statement, assumption.held_by));
    }
    output::line("privacy cost by stage (each alone; together they compose to the total):");
    for share in shares {
        output::line(&format!("  - {share}"));
    }
    output::line("for the assumptions of another: name it with `--algorithm`, or see `--json`");
}

fn seconds(estimate: f64) -> String {
    match estimate {
        x if x < 0.1 => "< 0.1 s".to_owned(),
        x if x < 120.0 => format!("{x:.1} s"),
        x if x < 7200.0 => format!("{:.0} min", x / 60.0),
        x => format!("{:.0} h", x / 3600.0),
    }
}

fn bytes(estimate: f64) -> String {
    match estimate {
        x if x < 1e6 => "< 1 MB".to_owned(),
        x if x < 1e9 => format!("{:.0} MB", x / 1e6),
        x => format!("{:.1} GB", x / 1e9),
    }
}

/// The problem of the flags, or of the schema with them.
pub(super) fn problem(args: &PlanArgs) -> Result<Problem, Error> {
    stated(args).map(|(problem, _)| problem)
}

/// The problem, and the task where a schema gives one.
fn stated(args: &PlanArgs) -> Result<(Problem, Option<Task>), Error> {
    let slope_limit = args.method.slope_limit;
    if let Some(schema) = &args.schema {
        let task = task(schema, None, &args.encoding, &args.loss, None)?;
        let task = Task { hidden: args.method.hidden, ..task };
        // A plan does not depend on the frequencies.
        let task = match args.kernel.choice() {
            Some(choice) => task.with_kernel(&choice, args.n, 0)?,
            None => task,
        };
        let domain = args.method.domain(task.dimension()?)?;
        return Ok((task.problem(args.n, domain, slope_limit)?, Some(task)));
    }
    let loss = args.loss.chosen(Loss::Logistic.name(), args.classes)?;
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
        Problem { hidden: args.method.hidden, ..Problem::new(loss, bounds, args.n, features) };
    let domain = args.method.domain(plain.dimension())?;
    let problem = Problem { domain, slope_limit, ..plain };
    problem.check_parameters()?; // an algorithm that needs a convex loss or bounded rows says so when planning
    Ok((problem, None))
}

fn describe(candidate: &Candidate) -> Value {
    match &candidate.plan {
        Ok(plan) => json!({
            "algorithm": candidate.algorithm,
            "noise_deviation": plan.outline().noise_deviation,
            "noise_place": plan.noise_place(),
            "steps": plan.outline().steps,
            "predicted_excess": plan.outline().predicted_excess,
            "prediction": candidate.prediction,
            "seconds": plan.seconds(),
            "bytes": plan.bytes(),
            "assumptions": plan.assumptions(),
            "plan": plan,
        }),
        Err(error) => {
            json!({ "algorithm": candidate.algorithm, "not_applicable": error.to_string() })
        }
    }
}
