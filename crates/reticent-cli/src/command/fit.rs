//! `reticent fit`.

use std::path::Path;
use std::process::ExitCode;

use reticent::ledger::Ledger;
use reticent::optim::Plan;
use reticent::planner::Share;
use reticent::release::{Planned, Purchase, Released};
use reticent::{Error, KeptRun, Model, Task, check_stream, check_writable, fit_on, planner};
use serde_json::json;

use super::table::{book, open, paths, receipt, replace, source, task_of};
use super::{choose, describe};
use crate::arguments::FitArgs;
use crate::interruption;
use crate::output;
use crate::progress::Bar;

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
    let (task, n) = task_of(&args.table, &source, kept_seed)?;
    let task = Task { hidden: args.method.hidden, ..task };
    let budget = args.table.budget.check(n)?;
    if let Some(remark) = planner::weak(budget) {
        output::remark(&remark);
    }
    let domain = args.method.domain(task.dimension()?)?;
    let problem = task.problem(n, domain, args.method.slope_limit)?;
    let (request, wanted) = (args.method.settings(), &args.method.algorithm);
    let plan = if args.table.memory.is_some() {
        // A stream has one order.
        planner::choose_for_passes(&problem, budget, &request, wanted, |plan| !plan.any_order())?
    } else {
        choose(&problem, budget, &args.method)?
    };
    let outlook = (wanted == "auto")
        .then(|| planner::outlook_of_auto(&problem, budget, &request, &plan))
        .flatten()
        .filter(|outlook| !outlook.useful)
        .map(|outlook| outlook.sentence(&problem, budget));
    let shares = planner::split(&plan)?;
    let ledger = book(args.ledger.as_deref(), &args.table)?;
    if let Some(ledger) = ledger.as_ref().filter(|_| args.reserve) {
        announce(outlook.as_deref(), &shares, json);
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
    announce(outlook.as_deref(), &shares, json);
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
    let released = begun.release(model, Some((&args.out, replace)))?;
    if let Some(run) = kept {
        run.done()?;
    }
    interruption::over();
    print_summary(args, &released, &shares, json);
    Ok(ExitCode::SUCCESS)
}

/// Whether the model at `out` is the one that an interrupted run has saved: it makes the same again.
fn is_its_own(out: &Path, kept: Option<&KeptRun>) -> bool {
    let payment = kept.and_then(KeptRun::payment);
    payment.is_some()
        && Model::load(out).is_ok_and(|old| old.certificate.payment.as_ref() == payment)
}

/// What is to be known before anything is spent: that no useful model is to be expected, and where the budget goes.
fn announce(outlook: Option<&str>, shares: &[Share], json: bool) {
    if let Some(sentence) = outlook {
        output::remark(sentence);
    }
    if !json {
        let shares: Vec<String> = shares.iter().map(Share::to_string).collect();
        output::remark(&format!("the budget, each part as if alone: {}", shares.join("; ")));
    }
}

/// What was released, and what it cost.
fn print_summary(args: &FitArgs, released: &Released, shares: &[Share], json: bool) {
    let model = &released.model;
    let (certificate, receipt) = (&model.certificate, receipt(released));
    if json {
        let mut value = json!({ "model": args.out, "certificate": certificate, "split": shares });
        if let Some((charged, _)) = receipt {
            value["charged"] = charged;
        }
        output::json(&value);
        return;
    }
    let plan = &certificate.plan;
    output::line(&certificate.statement);
    if let Some(void) = &certificate.void {
        output::line(&format!("VOID: {void}"));
    }
    output::line(&format!(
        "{}: {} steps on {} rows of {} features, noise {:.3e} {}{}",
        plan.algorithm(),
        plan.outline().steps,
        plan.outline().problem.rows,
        plan.outline().problem.features,
        plan.outline().noise_deviation,
        plan.noise_place(),
        plan.outline()
            .predicted_excess
            .map(|excess| format!(", predicted excess risk at most {excess:.3e}"))
            .unwrap_or_default(),
    ));
    if let Some(law) = &model.task.map {
        output::line(&describe(law));
    }
    if let Some((_, sentence)) = receipt {
        output::line(&sentence);
    }
    output::line(&format!(
        "wrote {}; check it with `reticent verify {}`",
        args.out.display(),
        args.out.display()
    ));
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
