//! Metrics of private rows: counts with noise, paid for before the noise is drawn.

use std::process::ExitCode;

use reticent::data::table::{TableError, column_texts, inspect};
use reticent::ledger::Ledger;
use reticent::noise::Source;
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::declaration::{Kind, Layout};
use reticent::problem::number::about;
use reticent::{
    Error, EvaluationQuery, EvaluationRelease, Model, NoisyMetrics, Scores, default_delta,
};
use serde_json::{Value, json};

use super::super::table::{allow_empty, public_rows};
use super::measure;
use crate::arguments::EvaluateArgs;
use crate::output;

pub(super) fn run(
    args: &EvaluateArgs,
    model: &Model,
    layout: &Layout,
    epsilon: f64,
    json: bool,
) -> Result<ExitCode, Error> {
    let (file, task) = (args.data.file()?, &model.task);
    let unit = task.declaration.unit();
    if unit.is_some() && args.labels.is_some() {
        return Err(Error::Arguments(
            "the model's schema declares a unit, which needs a table with named columns, and `--labels` goes with one that has none; leave it out",
        ));
    }
    let adjacency = task.adjacency(args.adjacency.parse::<Adjacency>()?)?;
    let records = public_rows(file, adjacency, args.rows, unit, false)?;
    let delta = args.delta.unwrap_or_else(|| default_delta(records));
    let budget = Budget { epsilon: Epsilon::new(epsilon)?, delta: Delta::new(delta)?, adjacency };
    let groups = args.by.as_deref().map(|column| categories(model, column)).transpose()?;
    let groups = groups.unwrap_or_default();
    let query = EvaluationQuery::plan(model, layout, &measure(args), groups, budget)?;
    let source = Source::from_os()?;
    let ledger = args.ledger.as_deref().map(Ledger::open).transpose()?;
    // A file that cannot be read costs nothing.
    let counts = file.unchanged(|| -> Result<_, Error> {
        let table = inspect(file, args.labels.as_deref(), layout, true).map(Some);
        Ok(match allow_empty(table.map_err(Error::from), adjacency, || Ok(None))? {
            None => query.no_rows(),
            Some(table) => {
                let scores = Scores::of(model, table.rows.features(), &table.labels, layout);
                // The file is read several times. Whose row, which group and how many there are
                // must be of one and the same file.
                let rows = table.rows.len();
                let stays = |found: usize| {
                    let same = (found == rows).then_some(());
                    same.ok_or_else(|| Error::from(TableError::Changed { file: file.name() }))
                };
                if unit.is_none() && adjacency.records_are_public() {
                    stays(records)?;
                }
                let groups = match &args.by {
                    None => Vec::new(),
                    Some(column) => {
                        let groups = column_texts(file, std::slice::from_ref(column))?.concat();
                        stays(groups.len())?;
                        groups
                    }
                };
                match unit {
                    None => query.count(&scores, &groups, 0..rows),
                    Some(unit) => {
                        let kept = reticent::kept_rows(file, unit, rows)?;
                        query.count(&scores, &groups, kept.into_iter())
                    }
                }
            }
        })
    })?;
    let charge = match &ledger {
        Some(ledger) => {
            Some(ledger.charge_answer("evaluate", query.event(), delta, &task.declaration)?)
        }
        None => None,
    };
    let release = query.release(counts, &source)?;
    if json {
        let mut object = serde_json::to_value(&release).unwrap_or_default();
        object["private"] = json!(true);
        object["charge"] = json!(charge);
        object["class_names"] = json!(layout.labels().classes());
        object["model_digest"] = json!(model.digest());
        if let (Some(column), false) = (&args.by, release.groups.is_empty()) {
            let groups = object["groups"].take();
            object["by"] = json!({ "column": column, "groups": groups });
        }
        if let Some(object) = object.as_object_mut() {
            object.remove("groups");
        }
        output::json(&object);
    } else {
        print(args, &release, charge);
    }
    Ok(ExitCode::SUCCESS)
}

/// The declared categories of a column: groups of private rows must be public.
fn categories(model: &Model, column: &str) -> Result<Vec<String>, Error> {
    let declared = model.task.declaration.columns().iter().find(|c| c.name == column);
    match declared.map(|c| &c.kind) {
        Some(Kind::Categorical { categories }) => Ok(categories.clone()),
        Some(Kind::Number { .. } | Kind::Vector { .. } | Kind::Hashed { .. } | Kind::Other(_))
        | None => Err(Error::Arguments(
            "`--by` needs a column with declared categories where rows are private: which values a table holds is private too; name such a column of the schema",
        )),
    }
}

fn print(args: &EvaluateArgs, release: &EvaluationRelease, charge: Option<u64>) {
    output::line(&release.statement);
    if let (Some(charge), Some(ledger)) = (charge, &args.ledger) {
        output::line(&format!("charge {charge} to {}", ledger.display()));
    }
    output::line(&format!(
        "Every number follows from counts with noise of standard deviation {}. After +/-: the standard deviation that this noise gives the metric; that the rows are a sample is not in it.\n",
        about(release.noise_deviation)
    ));
    output::line(&scalars(&release.measured));
    for group in &release.groups {
        let name = if group.group.is_empty() { "(none of these)" } else { &group.group };
        let column = args.by.as_deref().unwrap_or_default();
        output::line(&format!("\n{column} = {name}\n{}", scalars(&group.measured)));
    }
}

/// Metrics that are one number, each with its noise.
fn scalars(measured: &NoisyMetrics) -> String {
    let rows = measured.metrics.get("rows").and_then(Value::as_u64);
    let mut lines: Vec<Vec<String>> =
        rows.map(|rows| vec!["rows, about".to_owned(), rows.to_string()]).into_iter().collect();
    for (name, noise) in &measured.noise {
        let value = measured.metrics.get(name).and_then(Value::as_f64);
        if let (Some(value), Some(noise)) = (value, noise.as_f64()) {
            let shown = format!("{} +/- {}", about(value), about(noise));
            lines.push(vec![name.replace('_', " "), shown]);
        }
    }
    output::table(&["metric", "value"], &lines)
}
