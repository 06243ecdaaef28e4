//! `reticent fit`.

use std::path::Path;
use std::process::ExitCode;

use reticent::ledger::{Begun, Charge, Ledger};
use reticent::optim::Plan;
use reticent::planner::Share;
use reticent::{Error, KeptRun, Model, Task, check_stream, check_writable, fit_on, planner};
use serde_json::json;

use super::table::{book, open, source, task_of};
use super::{choose, describe};
use crate::arguments::FitArgs;
use crate::output;
use crate::progress::Bar;

pub(super) fn run(args: &FitArgs, json: bool) -> Result<ExitCode, Error> {
    // Everything is decided before a cell is read.
    let source = source(&args.table)?;
    let kept_seed = match &args.checkpoint {
        Some(path) if args.resume => KeptRun::map_seed(path)?,
        _ => None,
    };
    let (task, n) = task_of(&args.table, &source, kept_seed)?;
    let task = Task { hidden: args.settings.hidden, ..task };
    let budget = args.table.budget.check(n)?;
    if let Some(remark) = planner::weak(budget) {
        output::remark(&remark);
    }
    let domain = args.settings.domain(task.dimension()?)?;
    let problem = task.problem(n, domain, args.settings.slope_limit)?;
    let (request, wanted) = (args.settings.request(), &args.settings.algorithm);
    let plan = if args.table.memory.is_some() {
        // A stream has one order.
        planner::choose_for_passes(&problem, budget, &request, wanted, |plan| !plan.any_order())?
    } else {
        choose(&problem, budget, &args.settings)?
    };
    let outlook = (wanted == "auto")
        .then(|| planner::outlook_of_auto(&problem, budget, &request, &plan))
        .flatten()
        .filter(|outlook| !outlook.useful)
        .map(|outlook| outlook.sentence(&problem, budget));
    let shares = planner::split(&plan)?;
    if args.reserve {
        announce(outlook.as_deref(), &shares, json);
        return reserve(args, &plan, &task, json);
    }
    if let Some(memory) = args.table.memory {
        check_stream(&task, &plan, memory)?;
    }
    let kept = match &args.checkpoint {
        Some(path) => Some(KeptRun::open(path, args.checkpoint_every, args.resume, &plan, &task)?),
        None => None,
    };
    check_writable(&args.out)?;
    announce(outlook.as_deref(), &shares, json);
    let paid = pay(args, &plan, &task, kept.as_ref())?;
    if let Some(run) = &kept {
        run.go_on()?;
    }
    let read = || open(&args.table, &task, &plan);
    let (begun, oracle) = match paid {
        Paid::Not => (None, read()?),
        Paid::Before(begun) => (Some(begun), read()?),
        Paid::Now(charge) => match read() {
            Ok(oracle) => (Some(charge.begin()?), oracle),
            // No noise was drawn yet.
            Err(error) => {
                charge.refund_unused()?;
                return Err(error);
            }
        },
    };
    for warning in &plan.outline().warnings {
        output::remark(warning);
    }
    let kept = match (kept, &begun) {
        (Some(run), Some(begun)) => Some(run.paid(begun.payment().clone())),
        (kept, _) => kept,
    };
    let mut model = match &kept {
        None => fit_on(&task, plan, oracle.as_ref(), &source, &Bar::new(json))?,
        Some(run) => run.fit(oracle.as_ref(), &source, &Bar::new(json))?,
    };
    if let Some(begun) = begun {
        begun.released(&mut model)?;
    }
    model.save(&args.out)?;
    if let Some(run) = kept {
        run.done()?;
    }
    tell(args, &model, &shares, json);
    Ok(ExitCode::SUCCESS)
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

/// What was released.
fn tell(args: &FitArgs, model: &Model, shares: &[Share], json: bool) {
    let certificate = &model.certificate;
    if json {
        output::json(&json!({ "model": args.out, "certificate": certificate, "split": shares }));
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
    output::line(&format!(
        "wrote {}; check it with `reticent verify {}`",
        args.out.display(),
        args.out.display()
    ));
}

/// How the run is paid for.
enum Paid {
    /// There is no ledger.
    Not,
    /// An interrupted run has paid for it.
    Before(Begun),
    /// It was charged just now.
    Now(Charge),
}

fn pay(args: &FitArgs, plan: &Plan, task: &Task, kept: Option<&KeptRun>) -> Result<Paid, Error> {
    let before = kept.and_then(KeptRun::payment);
    let Some(path) = &args.ledger else {
        return match before {
            Some(_) => Err(Error::Arguments(
                "the checkpoint was charged to a ledger; name it with `--ledger` to go on",
            )),
            None => Ok(Paid::Not),
        };
    };
    let ledger = book(path, &args.table)?;
    Ok(match before.zip(kept.and_then(KeptRun::goes_on)) {
        Some((payment, (runs, ended))) => Paid::Before(ledger.resume(payment, plan, runs, ended)?),
        None => Paid::Now(ledger.charge(plan, &task.declaration)?),
    })
}

fn reserve(args: &FitArgs, plan: &Plan, task: &Task, json: bool) -> Result<ExitCode, Error> {
    let path = args.ledger.as_deref().unwrap_or(Path::new(""));
    let charge = Ledger::open(path)?.reserve(plan, &task.declaration)?;
    if json {
        output::json(&json!({ "ledger": path, "charge": charge, "plan": plan }));
    } else {
        output::line(&format!(
            "reserved as charge {charge}: {} at epsilon = {}; run the same command without `--reserve`",
            plan.algorithm(),
            plan.outline().budget.epsilon
        ));
    }
    Ok(ExitCode::SUCCESS)
}
