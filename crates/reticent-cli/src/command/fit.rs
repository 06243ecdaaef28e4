//! `reticent fit`.

use std::process::ExitCode;

use reticent::data::Speed;
use reticent::data::table::{TableError, count_rows};
use reticent::noise::Source;
use reticent::{Error, fit, read_rows};
use serde_json::json;

use super::{choose, task};
use crate::arguments::FitArgs;
use crate::output;
use crate::progress::Bar;

pub(super) fn run(args: &FitArgs, json: bool) -> Result<ExitCode, Error> {
    let task = task(&args.schema, args.target.as_deref(), &args.encoding, &args.loss)?;
    // Everything is decided before a cell is read. The number of rows is public.
    let n = count_rows(&args.data)?;
    if n == 0 {
        return Err(TableError::Empty { file: args.data.display().to_string() }.into());
    }
    let budget = args.budget.check(n)?;
    let domain = args.settings.domain(task.dimension()?)?;
    let problem = task.problem(n, domain, args.settings.slope_limit)?;
    let plan = choose(&problem, budget, &args.settings)?;
    let rows = read_rows(&task, &args.data, args.labels.as_deref())?;
    for warning in &plan.outline().warnings {
        output::remark(warning);
    }
    let source = match args.insecure_seed {
        Some(seed) => Source::seeded_not_private(seed),
        None => Source::from_os()?,
    };
    let speed = Speed { threads: args.threads };
    let model = fit(&task, plan, rows, &source, speed, &Bar::new(json))?;
    model.save(&args.out)?;
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
    output::line(&format!(
        "wrote {}; check it with `reticent verify {}`",
        args.out.display(),
        args.out.display()
    ));
    Ok(ExitCode::SUCCESS)
}
