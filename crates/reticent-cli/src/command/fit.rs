//! `reticent fit`.

use std::path::Path;
use std::process::ExitCode;

use reticent::draft::{Spent, check_risk};
use reticent::ledger::Ledger;
use reticent::optim::Plan;
use reticent::planner::{Outlook, Share};
use reticent::privacy::Budget;
use reticent::privacy::risk::RiskBounds;
use reticent::problem::Problem;
use reticent::problem::number::{about, at_most};
use reticent::release::{Planned, Purchase, Released};
use reticent::{
    Error, KeptRun, Model, ModelKind, Task, check_stream, check_writable, expected_intervals,
    fit_on, planner, with_interval_method,
};
use serde_json::json;

use super::describe;
use super::table::{
    book, draft_sentence, open, paths, receipt, replace, source, state_draft, task_of,
};
use crate::arguments::{FitArgs, as_typed};
use crate::flags_as_typed;
use crate::interruption;
use crate::output;
use crate::progress::{self, Bar};

pub(super) fn run(args: &FitArgs, json: bool) -> Result<ExitCode, Error> {
    paths(&args.table, args.ledger.as_deref())
        .checkpoint("--checkpoint", args.checkpoint.as_deref())
        .writes("--out", Some(&args.out))
        .check()?;
    // Everything is decided before a cell is read.
    let source = source(&args.table)?;
    let kept_seed = match &args.checkpoint {
        Some(path) if args.resume => KeptRun::map_seed(path)?,
        _ => None,
    };
    let (task, n) =
        task_of(&args.table, args.method.curves_for(), args.method.hidden, &source, kept_seed)?;
    let task = args.method.for_intervals(task, &args.table.encoding)?;
    let budget = args.table.budget.check(n, task.declaration.unit())?;
    if let Some(remark) = planner::weak(budget) {
        output::remark(&remark);
    }
    let domain = args.method.domain(task.dimension()?)?;
    let problem = task.problem(n, domain, args.method.slope_limit)?;
    let request = with_interval_method(&task, &problem, budget, args.method.settings())?;
    let wanted = &args.method.algorithm;
    let spinner = progress::spinner("planning on simulated tables", json);
    let choose = |budget: Budget| match args.table.memory {
        // A stream has one order.
        Some(_) => {
            let fits = |plan: &Plan| !plan.any_order();
            planner::choose_for_passes(&problem, budget, &request, wanted, fits)
        }
        None => planner::choose(&problem, budget, &request, wanted),
    };
    let risk = args.table.budget.risk.given()?;
    check_risk(&task.declaration, risk)?;
    let plan = match risk {
        None => choose(budget)?,
        Some(risk) => planner::keep_risk(&problem, risk, budget, (&request, wanted), choose)?,
    };
    let budget = plan.outline().budget;
    let outlook = (wanted == "auto")
        .then(|| planner::outlook_of_auto(&problem, budget, &request, &plan))
        .flatten();
    drop(spinner);
    let mut expected = expected(outlook.as_ref(), wanted, &problem, budget);
    if let Some(intervals) = expected_intervals(&task, &plan)? {
        expected = format!("{expected}; {}", flags_as_typed(&as_typed(&intervals.sentence())));
    }
    let outlook =
        outlook.filter(|outlook| !outlook.useful).map(|outlook| outlook.sentence(&problem, budget));
    let shares = planner::split(&plan)?;
    let ledger = book(args.ledger.as_deref(), &args.table)?;
    if let Some(ledger) = ledger.as_ref().filter(|_| args.reserve) {
        announce(outlook.as_deref());
        return reserve(ledger, &plan, &task, json);
    }
    if let Some(memory) = args.table.memory {
        check_stream(&task, &plan, memory)?;
    }
    let mut kept = match &args.checkpoint {
        Some(path) => {
            let (every, resume) = (args.checkpoint_every, args.resume);
            Some(KeptRun::open(path, every, resume, &plan, &task, ledger.as_ref())?)
        }
        None => None,
    };
    let replace = replace(args.force || is_its_own(&args.out, kept.as_ref()));
    check_writable(&args.out, Model::bytes_at_most(&task, [&plan]), replace)?;
    announce(outlook.as_deref());
    let declaration = &task.declaration;
    let purchase = Purchase::Plan(&plan);
    let planned = Planned { ledger: ledger.clone(), purchase, declaration };
    let charged = interruption::while_paying(|| planned.charge(kept.as_ref()))?;
    let (charged, oracle) = charged.read(|| open(&args.table, &task, &plan))?;
    let begun = interruption::while_beginning(ledger.as_ref(), kept.is_some(), || {
        charged.begin(kept.as_mut(), source.randomness())
    })?;
    for warning in &plan.outline().warnings {
        output::remark(warning);
    }
    let model = match &kept {
        None => fit_on(&task, plan, oracle.as_ref(), &source, &Bar::new(json))?,
        Some(run) => run.fit(oracle.as_ref(), &source, &Bar::new(json))?,
    };
    let model = match risk {
        None => model,
        Some(risk) => model.keeping(risk),
    };
    let released = begun.release(model, Some((&args.out, replace)))?;
    if let Some(run) = kept {
        run.done()?;
    }
    interruption::over();
    print_summary(args, &released, &shares, &expected, json);
    Ok(ExitCode::SUCCESS)
}

/// Whether the model at `out` is the one that an interrupted run has saved: it makes the same
/// again.
fn is_its_own(out: &Path, kept: Option<&KeptRun>) -> bool {
    let payment = kept.and_then(KeptRun::payment);
    payment.is_some()
        && Model::load(out).is_ok_and(|old| old.certificate.payment.as_ref() == payment)
}

/// Says before anything is spent that no useful model is to be expected.
fn announce(outlook: Option<&str>) {
    if let Some(sentence) = outlook {
        output::remark(sentence);
    }
}

/// The accuracy to expect, from simulated tables alone.
fn expected(outlook: Option<&Outlook>, wanted: &str, problem: &Problem, budget: Budget) -> String {
    match outlook {
        Some(outlook) if outlook.gain <= 0.0 => {
            "on simulated tables no better than a constant answer".to_owned()
        }
        Some(outlook) => format!(
            "about {:.0} % simulated accuracy retained (0 %: a constant answer, 100 %: no privacy)",
            100.0 * outlook.gain
        ),
        None if budget.epsilon.is_infinite() => "the minimum without noise".to_owned(),
        None if wanted != "auto" => {
            "not simulated for a named algorithm; `reticent plan` does".to_owned()
        }
        None => planner::no_outlook(problem).to_owned(),
    }
}

/// The guarantee, the model, the accuracy to expect and the next commands; with `--verbose` more.
fn print_summary(
    args: &FitArgs,
    released: &Released,
    shares: &[Share],
    expected: &str,
    json: bool,
) {
    let model = &released.model;
    let (certificate, receipt) = (&model.certificate, receipt(released));
    if json {
        let mut value = json!({
            "model": args.out, "certificate": certificate, "split": shares, "expected": expected
        });
        if let Ok(Some(risk)) = args.table.budget.risk.given() {
            value["risk"] = json!(risk);
            value["risk_bounds"] = json!(risk_bounds(model));
        }
        if let Some((charged, _)) = receipt {
            value["charged"] = charged;
        }
        state_draft(model, &mut value);
        output::json(&value);
        return;
    }
    let (plan, out) = (&certificate.plan, args.out.display());
    let (outline, problem) = (plan.outline(), &plan.outline().problem);
    output::line(&certificate.statement);
    if let Some(void) = &certificate.void {
        output::line(&format!("VOID: {void}"));
    }
    if let Some(sentence) = draft_sentence(model) {
        output::line(&format!("schema:   {sentence}"));
    }
    output::line(&format!(
        "learned:  {} with {} loss, by {} from {} {} of {} features; wrote {out}",
        kind(model, !args.table.encoding.linear && args.table.encoding.knots.is_none()),
        problem.loss.name(),
        plan.algorithm(),
        problem.rows,
        if problem.unit.is_some() { "units" } else { "rows" },
        problem.features,
    ));
    for line in risk_lines(args, model) {
        output::line(&line);
    }
    output::line(&format!("expected: {expected}"));
    if let Some((_, sentence)) = receipt {
        output::line(&format!("ledger:   {sentence}"));
    }
    let table = if model.curvature.is_some() || model.blocks.is_some() {
        format!(", `reticent coefficients {out}` prints coefficients with intervals")
    } else {
        String::new()
    };
    output::line(&format!(
        "next:     `reticent verify {out}` checks the guarantee, `reticent report {out}` explains it{table}"
    ));
    if !args.verbose {
        return;
    }
    let excess = outline.predicted_excess;
    output::line(&format!(
        "steps:    {}, noise {} {}{}",
        outline.steps,
        about(outline.noise_deviation),
        plan.noise_place(),
        excess
            .map(|excess| format!(", excess risk at most {}", at_most(excess)))
            .unwrap_or_default(),
    ));
    if let Some(law) = &model.task.map {
        output::line(&format!("features: {}", describe(law)));
    }
    output::line("privacy cost by stage (each alone; together they compose to the total):");
    for share in shares {
        output::line(&format!("  - {share}"));
    }
}

/// Bounds on any attack on the file; none if there is no guarantee.
fn risk_bounds(model: &Model) -> Option<RiskBounds> {
    if model.certificate.void.is_some() {
        return None;
    }
    let Spent { event, budget } = model.spent().ok()?;
    RiskBounds::of(&event, budget.epsilon, budget.delta).ok()
}

/// The risk that was asked for in place of epsilon, and the mu beside it; nothing without one, or
/// where nothing is promised.
fn risk_lines(args: &FitArgs, model: &Model) -> Vec<String> {
    let Ok(Some(risk)) = args.table.budget.risk.given() else { return Vec::new() };
    let Some(bounds) = risk_bounds(model) else { return Vec::new() };
    let of_whom = if model.draft.is_some() { ", for the weights alone" } else { "" };
    let mut lines = vec![format!("risk:     {risk}; epsilon was chosen to keep it{of_whom}")];
    if model.draft.is_some() {
        let advantage = at_most(bounds.advantage_upper);
        lines.push(format!(
            "          schema and model together: an advantage of at most {advantage}"
        ));
    }
    if let Some(mu) = bounds.mu_upper {
        let mu = at_most(mu);
        lines.push(format!("mu:       GDP with mu <= {mu}, up to delta = {:e}", bounds.slack));
    }
    lines
}

/// The kind of model; `chosen` if its curves were not asked for.
fn kind(model: &Model, chosen: bool) -> String {
    match (model.kind(), &model.task.map, model.task.hidden) {
        (ModelKind::Kernel, Some(law), _) => format!("a {} kernel model", law.kernel.name()),
        (_, _, Some(width)) => format!("a network of {width} hidden units"),
        (ModelKind::Additive, ..) => match model.task.encoding.knots {
            Some(knots) if chosen => {
                format!("an additive model (curves of up to {knots} knots; `--linear` for lines)")
            }
            _ => "an additive model".to_owned(),
        },
        _ => "a linear model".to_owned(),
    }
}

fn reserve(ledger: &Ledger, plan: &Plan, task: &Task, json: bool) -> Result<ExitCode, Error> {
    let charge = ledger.reserve(plan, &task.declaration)?;
    if json {
        output::json(&json!({ "ledger": ledger.path(), "charge": charge, "plan": plan }));
    } else {
        output::line(&format!(
            "reserved as charge {charge}: {} at epsilon = {}; run the same command without `--reserve`",
            plan.algorithm(),
            plan.outline().budget.epsilon
        ));
    }
    Ok(ExitCode::SUCCESS)
}
