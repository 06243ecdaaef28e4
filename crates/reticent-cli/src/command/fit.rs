//! `reticent fit`.

use std::process::ExitCode;

use reticent::data::Speed;
use reticent::data::table::{TableError, count_rows};
use reticent::noise::Source;
use reticent::privacy::Adjacency;
use reticent::{Error, KeptRun, Task, fit, map_seed, no_rows, read_rows};
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
    let rows = match read_rows(&task, &args.data, args.labels.as_deref()) {
        // A table of one row and one of none are neighbours: neither is refused.
        Err(Error::Table(TableError::Empty { .. }))
            if budget.adjacency == Adjacency::AddRemoveOne =>
        {
            no_rows(&task)?
        }
        rows => rows?,
    };
    for warning in &plan.outline().warnings {
        output::remark(warning);
    }
    let speed = Speed { threads: args.threads };
    let model = match &args.checkpoint {
        None => {
            let model = fit(&task, plan, rows, &source, speed, &Bar::new(json))?;
            model.save(&args.out)?;
            model
        }
        Some(path) => {
            let run = KeptRun::open(path, args.checkpoint_every, args.resume, &plan)?;
            let model = run.fit(&task, rows, &source, speed, &Bar::new(json))?;
            model.save(&args.out)?;
            run.done()?;
            model
        }
    };
    let certificate = &model.certificate;
    if json {
        output::json(&json!({ "model": args.out, "certificate": certificate }));
        return Ok(ExitCode::SUCCESS);
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
        problem.rows,
        problem.features,
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
