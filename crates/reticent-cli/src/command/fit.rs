//! `reticent fit`.

use std::path::Path;
use std::process::ExitCode;

use reticent::data::table::{TableError, count_rows};
use reticent::data::{LocalOracle, Oracle, Speed};
use reticent::ledger::{Begun, Charge, Ledger};
use reticent::noise::Source;
use reticent::optim::Plan;
use reticent::privacy::Adjacency;
use reticent::{
    Error, KeptRun, Model, Task, check_stream, check_writable, fit_on, map_seed, no_rows,
    read_rows, stream,
};
use serde_json::json;

use super::{choose, describe, task};
use crate::arguments::FitArgs;
use crate::output;
use crate::progress::Bar;

pub(super) fn run(args: &FitArgs, json: bool) -> Result<ExitCode, Error> {
    let task = task(&args.schema, args.target.as_deref(), &args.encoding, &args.loss)?;
    let task = Task { hidden: args.settings.hidden, ..task };
    let source = match args.insecure_seed {
        Some(seed) => Source::seeded_not_private(seed),
        None => Source::from_os()?,
    };
    // Everything is decided before a cell is read.
    let n = rows(args)?;
    let task = match args.kernel.choice() {
        Some(choice) => {
            let seed = args.kernel.map_seed.unwrap_or_else(|| map_seed(&source));
            task.with_kernel(&choice, n, seed)?
        }
        None => task,
    };
    let budget = args.budget.check(n)?;
    let domain = args.settings.domain(task.dimension()?)?;
    let problem = task.problem(n, domain, args.settings.slope_limit)?;
    let plan = choose(&problem, budget, &args.settings)?;
    if args.reserve {
        return reserve(args, &plan, &task, json);
    }
    if let Some(memory) = args.memory {
        check_stream(&task, &plan, memory)?;
    }
    let kept = match &args.checkpoint {
        Some(path) => Some(KeptRun::open(path, args.checkpoint_every, args.resume, &plan)?),
        None => None,
    };
    let paid = pay(args, &plan, &task, kept.as_ref())?;
    if let Some(run) = &kept {
        run.go_on()?;
    }
    let read = || open(args, &task, &plan);
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
        Some(run) => run.fit(&task, oracle.as_ref(), &source, &Bar::new(json))?,
    };
    if let Some(begun) = begun {
        begun.released(&mut model)?;
    }
    model.save(&args.out)?;
    if let Some(run) = kept {
        run.done()?;
    }
    tell(args, &model, json);
    Ok(ExitCode::SUCCESS)
}

/// The rows, in memory or streamed.
fn open(args: &FitArgs, task: &Task, plan: &Plan) -> Result<Box<dyn Oracle>, Error> {
    let speed = Speed { threads: args.threads };
    if let Some(memory) = args.memory {
        return Ok(Box::new(stream(task, plan, &args.data, memory, speed)?));
    }
    let rows = match read_rows(task, &args.data, args.labels.as_deref()) {
        // A table of one row and one of none are neighbours: neither is refused.
        Err(Error::Table(TableError::Empty { .. }))
            if plan.outline().budget.adjacency == Adjacency::AddRemoveOne =>
        {
            no_rows(task)?
        }
        rows => rows?,
    };
    Ok(Box::new(LocalOracle::new(task.table(rows)?, speed)?))
}

/// What was released.
fn tell(args: &FitArgs, model: &Model, json: bool) {
    let certificate = &model.certificate;
    if json {
        output::json(&json!({ "model": args.out, "certificate": certificate }));
        return;
    }
    let plan = &certificate.plan;
    output::line(&certificate.statement);
    if let Some(void) = &certificate.void {
        output::line(&format!("VOID: {void}"));
    }
    output::line(&format!(
        "{}: {} steps on {} rows of {} features, noise {:.3e} in each coordinate{}",
        plan.algorithm(),
        plan.outline().steps,
        plan.outline().problem.rows,
        plan.outline().problem.features,
        plan.outline().noise_deviation,
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
    if args.insecure_seed.is_some() {
        return Err(Error::Arguments(
            "`insecure_seed` must not be given with `--ledger`: a run whose noise is known keeps no budget; leave one of them out",
        ));
    }
    check_writable(&args.out)?;
    let ledger = Ledger::open(path)?;
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

/// The number of rows that the plan may use: the table's own where it is public, a declared one where it is not.
fn rows(args: &FitArgs) -> Result<usize, Error> {
    let private = args.budget.adjacency.parse::<Adjacency>()? == Adjacency::AddRemoveOne;
    match (private, args.rows) {
        (true, Some(rows)) => Ok(rows),
        (true, None) => Err(Error::Arguments(
            "declare `rows`: under add-remove adjacency the table's own number of rows is private, so give `--rows` with a number known without it",
        )),
        (false, Some(_)) => Err(Error::Arguments(
            "`rows` is for add-remove adjacency: under any other the table's own number of rows is public and is used; leave `--rows` out",
        )),
        (false, None) => match count_rows(&args.data)? {
            0 => Err(TableError::Empty { file: args.data.display().to_string() }.into()),
            rows => Ok(rows),
        },
    }
}
