//! `reticent data check`.

use std::process::ExitCode;

use reticent::data::encode::CellCounts;
use reticent::data::table::count_cells;
use reticent::ledger::Ledger;
use reticent::noise::Source;
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::declaration::{Encoding, Precision};
use reticent::{CellQuery, CellRelease, Error, Task, default_delta};
use serde_json::{Value, json};

use super::table::{allow_empty, public_rows};
use super::{cells, declaration};
use crate::arguments::{CheckArgs, DataAction, UnitArgs};
use crate::output;

/// How exact counts are marked.
const PRIVATE: &str = "PRIVATE: exact counts of a private table, for its owner alone; repair the export by them, and neither share them nor choose bounds by them";

pub(super) fn run(action: &DataAction, json: bool) -> Result<ExitCode, Error> {
    let DataAction::Check(args) = action;
    let task = task(args)?;
    if let Some(epsilon) = args.epsilon {
        return share(args, &task, epsilon, json);
    }
    let counts = count_cells(args.data.file()?, args.labels.as_deref(), &task.layout()?)?;
    if json {
        let mut object = json!({ "private": true, "notice": PRIVATE });
        extend(&mut object, &json!(counts));
        output::json(&object);
    } else {
        output::line(PRIVATE);
        print_counts(&counts);
    }
    Ok(ExitCode::SUCCESS)
}

/// Counts do not depend on how rows are clipped or held: columns without bounds are let in, and
/// rows take little room.
fn task(args: &CheckArgs) -> Result<Task, Error> {
    let encoding = Encoding {
        drop: args.drop.clone(),
        unbounded_rows: true,
        precision: Precision::Sparse,
        ..Encoding::default()
    };
    Ok(Task::new(
        declaration(&args.schema, args.target.as_deref(), &UnitArgs::default())?,
        encoding,
    ))
}

/// Counts with noise. They are paid for before the noise is drawn.
fn share(args: &CheckArgs, task: &Task, epsilon: f64, json: bool) -> Result<ExitCode, Error> {
    let adjacency = task.adjacency(args.adjacency.parse::<Adjacency>()?)?;
    let rows =
        public_rows(args.data.file()?, adjacency, args.rows, task.declaration.unit(), false)?;
    let delta = args.delta.unwrap_or_else(|| default_delta(rows));
    let budget = Budget { epsilon: Epsilon::new(epsilon)?, delta: Delta::new(delta)?, adjacency };
    let layout = task.layout()?;
    let query = CellQuery::plan(&layout, budget)?;
    let source = Source::from_os()?;
    let ledger = args.ledger.as_deref().map(Ledger::open).transpose()?;
    // A file that cannot be read costs nothing.
    let counts =
        count_cells(args.data.file()?, args.labels.as_deref(), &layout).map_err(Error::from);
    let counts = allow_empty(counts, adjacency, || Ok(CellCounts::none(&layout)))?;
    let charge = match &ledger {
        Some(ledger) => {
            Some(ledger.charge_answer("data check", query.event(), delta, &task.declaration)?)
        }
        None => None,
    };
    let release = query.release(&counts, rows as u64, &source)?;
    if json {
        let mut object = json!({ "private": false, "charge": charge });
        extend(&mut object, &json!(release));
        output::json(&object);
    } else {
        print_release(&release, charge, args);
    }
    Ok(ExitCode::SUCCESS)
}

/// Adds the fields of one object to another.
fn extend(object: &mut Value, more: &Value) {
    if let (Some(object), Some(more)) = (object.as_object_mut(), more.as_object()) {
        object.extend(more.clone());
    }
}

fn print_release(release: &CellRelease, charge: Option<u64>, args: &CheckArgs) {
    output::line(&release.statement);
    if let (Some(charge), Some(ledger)) = (charge, &args.ledger) {
        output::line(&format!("charge {charge} to {}", ledger.display()));
    }
    let rows = release.counts.rows.max(1) as f64;
    output::line(&format!(
        "noise: standard deviation {:.1} on each count, {:.2} % of the rows",
        release.noise_deviation,
        100.0 * release.noise_deviation / rows
    ));
    print_counts(&release.counts);
}

fn print_counts(counts: &CellCounts) {
    output::line(&format!(
        "{} rows; {} ({}) become zero because a cell cannot be read",
        counts.rows,
        counts.zero_rows,
        cells::percent(counts.zero_rows, counts.rows)
    ));
    if let Some(target) = &counts.target {
        let unknown = counts.unknown_labels().min(counts.rows);
        output::line(&format!(
            "{unknown} ({}) labels in `{}` are unknown",
            cells::percent(unknown, counts.rows),
            target.name
        ));
    }
    output::line(&cells::shares(counts));
}
