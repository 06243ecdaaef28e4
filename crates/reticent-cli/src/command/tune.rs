//! `reticent tune`.

use std::process::ExitCode;

use clap::Parser;
use reticent::optim::{Choice, Plan, Selection, Settings};
use reticent::privacy::Trials;
use reticent::problem::Domain;
use reticent::problem::number::at_most;
use reticent::release::{Planned, Purchase};
use reticent::{Error, Model, Task, Tuned, check_stream, check_writable, planner, select_on};
use serde_json::json;

use super::curves_remark;
use super::table::{
    book, draft_sentence, open, paths, receipt, replace, source, state_draft, task_of,
};
use crate::arguments::{MethodArgs, TuneArgs};
use crate::interruption;
use crate::output;
use crate::progress;

/// One thing to try, parsed as the command line's own settings are.
#[derive(Parser, Debug)]
#[command(no_binary_name = true)]
struct Try {
    #[command(flatten)]
    method: MethodArgs,
}

pub(super) fn run(args: &TuneArgs, json: bool) -> Result<ExitCode, Error> {
    let paths = paths(&args.table, args.ledger.as_deref());
    paths.writes("--out", Some(&args.out)).check()?;
    let tries = args.tries.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
    // Everything is decided before a cell is read.
    let source = source(&args.table)?;
    // Named candidates are tried on the columns as they are.
    let algorithm = if tries.is_empty() { "auto" } else { "named" };
    let (task, n) = task_of(&args.table, algorithm, None, &source, None)?;
    args.table.budget.without_risk()?;
    let budget = args.table.budget.check(n, task.declaration.unit())?;
    if let Some(remark) = planner::weak(budget) {
        output::remark(&remark);
    }
    if let Some(remark) = curves_remark(&task, &args.table.encoding) {
        output::remark(&remark);
    }
    let spinner = progress::spinner("planning on simulated tables", json);
    let choices = match tries.as_slice() {
        [] => {
            let problem = task.problem(n, Domain::Unbounded, None)?;
            planner::default_choices(&problem, budget, &Settings::default(), "auto")
        }
        tries => tries.iter().map(|t| choice(&task, n, &t.method)).collect::<Result<_, _>>()?,
    };
    let selection = Selection::plan(&choices, budget, args.trials)?;
    drop(spinner);
    for plan in &selection.candidates {
        if let Some(memory) = args.table.memory {
            check_stream(&task, plan, memory)?;
        }
    }
    let ledger = book(args.ledger.as_deref(), &args.table)?;
    let replace = replace(args.force);
    check_writable(&args.out, Model::bytes_at_most(&task, &selection.candidates), replace)?;
    let declaration = &task.declaration;
    let purchase = Purchase::Selection(&selection);
    let planned = Planned { ledger: ledger.clone(), purchase, declaration };
    let charged = interruption::while_paying(|| planned.charge(None))?;
    let (charged, oracle) = charged.read(|| open(&args.table, &task, &selection.candidates[0]))?;
    let begun = interruption::while_beginning(ledger.as_ref(), false, || {
        charged.begin(None, source.randomness())
    })?;
    output::remark("the number of runs is drawn and stays secret, so no progress is shown");
    let Tuned { model, candidate, score } = select_on(&task, selection, oracle.as_ref(), &source)?;
    let released = begun.release(model, Some((&args.out, replace)))?;
    interruption::over();
    let (certificate, receipt) = (&released.model.certificate, receipt(&released));
    if json {
        let mut value = json!({
            "model": args.out, "candidate": candidate, "score": score, "certificate": certificate
        });
        if let Some((charged, _)) = receipt {
            value["charged"] = charged;
        }
        state_draft(&released.model, &mut value);
        output::json(&value);
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&certificate.statement);
    if let Some(void) = &certificate.void {
        output::line(&format!("VOID: {void}"));
    }
    if let Some(sentence) = draft_sentence(&released.model) {
        output::line(&format!("schema: {sentence}"));
    }
    let records = if task.declaration.unit().is_some() { "units" } else { "rows" };
    output::line(&chosen_sentence(certificate.selection.as_ref(), &certificate.plan, candidate));
    output::line(&format!(
        "about {:.0} of {n} {records} are predicted right, with noise of {:.1} {records}",
        score.clamp(0.0, n as f64),
        certificate.selection.as_ref().map_or(0.0, |s| s.score_noise)
    ));
    if let Some((_, sentence)) = receipt {
        output::line(&sentence);
    }
    let out = args.out.display();
    output::line(&format!("wrote {out}; check it with `reticent verify {out}`"));
    Ok(ExitCode::SUCCESS)
}

/// The number of candidates and runs, and the budget of each run.
fn chosen_sentence(selection: Option<&Selection>, plan: &Plan, candidate: usize) -> String {
    let (tried, runs) = selection.map_or((0, 0.0), |selection| {
        let mean = match selection.trials {
            Trials::Poisson { mean } => mean,
            law => reticent::privacy::tuning::expected_trials(law).unwrap_or(0.0),
        };
        (selection.candidates.len(), mean)
    });
    format!(
        "{}, number {} of {tried} that could be drawn, is the best of about {runs:.0} runs, each with epsilon = {}",
        plan.algorithm(),
        candidate + 1,
        at_most(plan.outline().budget.epsilon.get()),
    )
}

/// Settings in one text: the algorithm, and `name=value` words.
fn parse(text: &str) -> Result<Try, Error> {
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        match word.split_once('=') {
            Some((name, value)) => {
                words.push(format!("--{}={value}", name.replace('_', "-")));
            }
            None => words.extend(["--algorithm".to_owned(), word.to_owned()]),
        }
    }
    let refuse = |why: String| Error::Try { text: text.to_owned(), why };
    let parsed = Try::try_parse_from(&words).map_err(|e| {
        let message = e.to_string();
        let line = message.lines().next().unwrap_or_default();
        refuse(line.trim_start_matches("error: ").to_owned())
    })?;
    if parsed.method.algorithm == "auto" {
        return Err(refuse("it names no algorithm".to_owned()));
    }
    Ok(parsed)
}

fn choice(task: &Task, rows: usize, method: &MethodArgs) -> Result<Choice, Error> {
    let task = Task { hidden: method.hidden, ..task.clone() };
    let domain = method.domain(task.dimension()?)?;
    Ok(Choice {
        problem: task.problem(rows, domain, method.slope_limit)?,
        algorithm: method.algorithm.clone(),
        request: method.settings(),
    })
}
