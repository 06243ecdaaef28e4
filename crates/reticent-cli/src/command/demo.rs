//! `reticent demo`: the whole way on a synthetic census.

use std::path::Path;
use std::process::ExitCode;

use reticent::data::Speed;
use reticent::data::table::{Inspected, inspect};
use reticent::noise::Source;
use reticent::optim::setting::RIDGE;
use reticent::optim::{Plan, Quiet, Settings};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::Domain;
use reticent::problem::declaration::{Encoding, Layout, Precision};
use reticent::problem::number::about;
use reticent::verify::verify;
use reticent::{
    Error, Measure, Model, Scores, Task, default_delta, fit, planner, read_rows, report,
    write_atomically,
};
use reticent_census::{Census, Clinic, census_declaration};
use serde_json::json;

use crate::arguments::{DemoArgs, DemoTable};
use crate::output;
use crate::progress::{self, Bar};

const ROWS: usize = 50_000;
const TEST_ROWS: usize = 20_000;

/// A budget at which privacy can be seen to cost accuracy.
const SMALL_EPSILON: f64 = 0.1;

/// The accuracy, and that of always predicting the majority.
fn measured(model: &Model, public: &Inspected, layout: &Layout) -> Result<(f64, f64), Error> {
    let metrics = Scores::of(model, public.rows.features(), &public.labels, layout)
        .metrics(&Measure::default())?;
    Ok((metrics.accuracy.unwrap_or_default(), metrics.baseline_accuracy.unwrap_or_default()))
}

pub(super) fn run(args: &DemoArgs, json: bool) -> Result<ExitCode, Error> {
    if let Some(table) = args.table {
        return write_table(table, &args.out, json);
    }
    let folder = &args.out;
    let say = |text: &str| {
        if !json {
            output::line(text);
        }
    };
    let budget = |epsilon: f64| -> Result<Budget, Error> {
        Ok(Budget {
            epsilon: Epsilon::new(epsilon)?,
            delta: Delta::new(default_delta(ROWS))?,
            adjacency: Adjacency::ReplaceOne,
        })
    };
    let private = budget(args.epsilon)?;
    make(folder)?;

    let (data, schema) = (folder.join("census.csv"), folder.join("census.schema.json"));
    let test = folder.join("census_test.csv");
    write_own(&data, &Census::csv(ROWS, 2026))?;
    write_own(&test, &Census::csv(TEST_ROWS, 2027))?;
    write_own(&schema, &Census::schema())?;
    say(&format!("1. A synthetic census of {ROWS} people that do not exist: {}", data.display()));

    let encoding = Encoding { precision: Precision::Sparse, ..Encoding::default() };
    let task = Task::new(census_declaration()?, encoding);
    let problem = task.problem(ROWS, Domain::Unbounded, None)?;
    let choose = |budget: Budget| {
        let _spinner = progress::spinner("planning on simulated tables", json);
        planner::choose(&problem, budget, &Settings::default(), "auto")
    };
    let plan = choose(private)?;
    say(&format!(
        "2. The plan for {} weights, made without opening the table: {}, {} steps, ridge {}, noise {} {}",
        problem.dimension(),
        plan.algorithm(),
        plan.outline().steps,
        about(plan.ridge()),
        about(plan.outline().noise_deviation),
        plan.noise_place()
    ));

    let rows = read_rows(&task, &data, None)?;
    let public = inspect(&test, None, &task.layout()?, true)?;
    let source = Source::from_os()?;
    let model = fit(&task, plan, rows.clone(), &source, Speed::default(), &Bar::new(json))?;
    let path = folder.join("model.json");
    save(&model, &path)?;
    say(&format!("3. {}", model.certificate.statement));

    let layout = task.layout()?;
    let measured = |model: &Model| measured(model, &public, &layout);
    let (ours, baseline) = measured(&model)?;
    // To compare with. The census is synthetic: nobody is exposed, and these models are not saved.
    let other = |plan: Plan| -> Result<f64, Error> {
        let source = Source::from_os()?;
        Ok(measured(&fit(&task, plan, rows.clone(), &source, Speed::default(), &Quiet)?)?.0)
    };
    let smaller = other(choose(budget(SMALL_EPSILON)?)?)?;
    let exact = Settings::default().with(&RIDGE, 1e-5);
    let exact = planner::choose(&problem, budget(f64::INFINITY)?, &exact, "objective")?;
    let theirs = other(exact)?;
    say(&format!("4. Accuracy on {TEST_ROWS} other synthetic people:"));
    let mut lines = vec![("always the majority".to_owned(), baseline)];
    if args.epsilon != SMALL_EPSILON {
        lines.push((format!("private, epsilon = {SMALL_EPSILON}"), smaller));
    }
    lines.push((format!("private, epsilon = {}", args.epsilon), ours));
    lines.push(("without privacy".to_owned(), theirs));
    for line in aligned(&lines) {
        say(&line);
    }

    let page = folder.join("report.html");
    let text = report::html_of_file(&path, &report::Beside::default())?;
    write_atomically(&page, text.as_bytes())?;
    let verification = verify(&path)?;
    let word = if verification.pass { "PASS" } else { "FAIL" };
    say(&format!(
        "5. Wrote {} and {}; reticent verify says {word}",
        path.display(),
        page.display()
    ));
    say(&format!(
        "6. For your own table, write a schema like {} and type:\n     reticent fit --data yours.csv --schema yours.schema.json --epsilon 1 --out yours.json",
        schema.display()
    ));
    if json {
        output::json(&json!({
            "model": path, "report": page, "data": data, "schema": schema, "test": test,
            "epsilon": args.epsilon, "delta": private.delta,
            "accuracy": {
                "majority": baseline, "private_at_0.1": smaller, "private": ours, "non_private": theirs,
            },
            "verify": word,
        }));
    }
    Ok(if verification.pass { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Writes a table of the guide and its schema.
fn write_table(table: DemoTable, folder: &Path, json: bool) -> Result<ExitCode, Error> {
    let (name, rows, csv, text) = match table {
        DemoTable::Clinic => ("clinic", Clinic::ROWS, Clinic::csv(Clinic::ROWS), Clinic::schema()),
    };
    make(folder)?;
    let data = folder.join(format!("{name}.csv"));
    let schema = folder.join(format!("{name}.schema.json"));
    write_own(&data, &csv)?;
    write_own(&schema, text)?;
    if json {
        output::json(&json!({ "data": data, "schema": schema, "rows": rows }));
    } else {
        let (data, schema) = (data.display(), schema.display());
        output::line(&format!("wrote {data}, {rows} rows that describe nobody, and {schema}"));
        output::line(&format!("next: `reticent plan --n {rows} --schema {schema} --epsilon 1`"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes the folder.
fn make(folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|e| Error::File {
        verb: "write",
        file: folder.display().to_string(),
        why: e.to_string(),
    })
}

/// Names and shares, the shares below each other.
fn aligned(lines: &[(String, f64)]) -> impl Iterator<Item = String> {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    lines.iter().map(move |(name, share)| format!("     {name:<width$}  {:>5.1} %", 100.0 * share))
}

/// Saves the model, over that of an earlier demo and over no other.
fn save(model: &Model, path: &Path) -> Result<(), Error> {
    let own = &model.task.declaration;
    if Model::load(path).is_ok_and(|old| old.task.declaration == *own) {
        model.save_over(path)
    } else {
        model.save(path)
    }
}

/// Writes a file that is the same in every demo. Another one of its name is somebody's own.
fn write_own(path: &Path, contents: &str) -> Result<(), Error> {
    match std::fs::read(path) {
        Ok(old) if old != contents.as_bytes() => Err(Error::NotReplaced {
            file: path.display().to_string(),
            why: "another file of that name is there; name another folder with `--out`".to_owned(),
        }),
        _ => write_atomically(path, contents.as_bytes()),
    }
}
