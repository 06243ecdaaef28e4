//! One file for each subcommand.

mod account;
mod algorithms;
mod audit;
mod calc;
mod cells;
mod coefficients;
mod completions;
mod csv;
mod curves;
mod data;
mod demo;
mod evaluate;
mod fit;
mod ledger;
mod man;
mod plan;
mod plot;
mod predict;
mod report;
pub(crate) mod reproduce;
mod schema;
mod sign;
mod table;
mod tune;
mod verify;

use std::path::Path;
use std::process::ExitCode;

use reticent::data::encode::Encoder;
use reticent::data::table::{self as tables, TableFile};
use reticent::optim::Plan;
use reticent::privacy::Budget;
use reticent::problem::Problem;
use reticent::problem::declaration::{Declaration, DeclarationError, Layout, Precision};
use reticent::problem::feature_map::{Construction, Form, MapLaw};
use reticent::problem::number::about;
use reticent::{Error, Task, planner};

use crate::arguments::{Cli, Command, EncodingArgs, LossArgs, MethodArgs, UnitArgs};

/// Runs the subcommand.
pub(crate) fn run(cli: Cli) -> Result<ExitCode, Error> {
    let json = cli.json;
    match cli.command {
        Command::Demo(args) => demo::run(&args, json),
        Command::Plan(args) => plan::run(&args, json),
        Command::Audit(args) => audit::run(&args, json),
        Command::Fit(args) => fit::run(&args, json),
        Command::Tune(args) => tune::run(&args, json),
        Command::Predict(args) => predict::run(&args, json),
        Command::Evaluate(args) => evaluate::run(&args, json),
        Command::Verify(args) => verify::run(&args, json),
        Command::Sign(args) => sign::run(&args, json),
        Command::Report(args) => report::run(&args, json),
        Command::Coefficients(args) => coefficients::run(&args, json),
        Command::Curves(args) => curves::run(&args, json),
        Command::Ledger { action } => ledger::run(&action, json),
        Command::Reproduce { what } => reproduce::run(&what, json),
        Command::Account(args) => account::account(&args, json),
        Command::Calibrate(args) => account::calibrate(&args, json),
        Command::Explain(args) => account::explain_event(&args, json),
        Command::Calc(args) => calc::run(&args, json),
        Command::Algorithms { name } => {
            algorithms::run(name.as_deref(), json)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Schema { action } => schema::run(&action, json),
        Command::Data { action } => data::run(&action, json),
        Command::Man { out } => man::run(&out, json),
        Command::Completions { shell } => {
            completions::run(shell, json);
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The text of a file.
fn read(file: &Path) -> Result<String, Error> {
    std::fs::read_to_string(file).map_err(|e| Error::File {
        verb: "read",
        file: file.display().to_string(),
        why: e.to_string(),
    })
}

/// Reads and checks a schema file, with another target or unit if one is named.
fn declaration(schema: &Path, target: Option<&str>, unit: &UnitArgs) -> Result<Declaration, Error> {
    let text = read(schema)?;
    // Anyone who mixes up the table and the schema gets a sentence that does not quote the table's
    // first cell.
    if !starts_an_object(&text) {
        let message = format!(
            "`{}` does not hold an object: JSON has no comments and begins with {{",
            schema.display()
        );
        return Err(DeclarationError::Json { message }.into());
    }
    let declaration = Declaration::from_json_with_unit(&text, unit.unit.as_deref(), unit.max_rows);
    let declaration = declaration.map_err(|error| match error {
        DeclarationError::Json { message } => {
            let message = format!("`{}`: {}", schema.display(), plain(&message, &text));
            DeclarationError::Json { message }
        }
        other => other,
    })?;
    Ok(match target {
        Some(target) => declaration.with_target(target)?,
        None => declaration,
    })
}

/// A parser's message about a schema, with the form to write in place of the names of types.
fn plain(message: &str, text: &str) -> String {
    if matches!(character_at(message, text), Some('/' | '#')) {
        let place = message.rfind(" at line ").map_or("", |at| &message[at..]);
        return format!("JSON has no comments: remove the one{place}");
    }
    message
        .replace("invalid type: map, expected a sequence", "`columns` must be a list [...]")
        .replace("key must be a string", "names and texts need double quotes")
}

/// The character at the place that a parser names.
fn character_at(message: &str, text: &str) -> Option<char> {
    let (line, column) = message.rsplit_once(" at line ")?.1.split_once(" column ")?;
    let line = text.lines().nth(line.parse::<usize>().ok()?.checked_sub(1)?)?;
    line.get(column.parse::<usize>().ok()?.checked_sub(1)?..)?.chars().next()
}

/// Whether the text can be a JSON object: typed parsing would quote any other value.
fn starts_an_object(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// The task of a schema, an encoding and a loss, for a table in a file if there is one.
fn task(
    schema: &Path,
    target: Option<&str>,
    unit: &UnitArgs,
    encoding: &EncodingArgs,
    loss: &LossArgs,
    data: Option<&TableFile>,
) -> Result<Task, Error> {
    let declaration = declaration(schema, target, unit)?;
    let classes = declaration.classes().len();
    let task = held(Task::new(declaration, encoding.encoding()), encoding, data)?;
    let loss = loss.chosen(task.loss.name(), classes)?;
    task.with_loss(loss)
}

/// From this many features on, dense rows are held in single precision: a step then waits for
/// memory, and half the bytes are half the wait. Narrow tables fit in the cache either way.
const WIDE: usize = 256;

/// The task with rows held as they are smallest, unless that was asked for.
fn held(mut task: Task, encoding: &EncodingArgs, data: Option<&TableFile>) -> Result<Task, Error> {
    if encoding.precision_is_auto() {
        let layout = task.layout()?;
        task.encoding.precision = match layout.dimension() {
            _ if is_sparse(&layout, data) => Precision::Sparse,
            WIDE.. => Precision::F32,
            _ => Precision::F64,
        };
    }
    Ok(task)
}

/// The task with curves where the planner takes them: for `auto`, unless lines or a number of knots
/// was asked for.
fn curved(
    task: Task,
    encoding: &EncodingArgs,
    algorithm: &str,
    rows: usize,
    budget: Budget,
    data: Option<&TableFile>,
) -> Result<Task, Error> {
    if encoding.linear {
        return Ok(task);
    }
    let curved = planner::with_curves(task, rows, budget.epsilon, algorithm)?;
    held(curved, encoding, data)
}

/// Which model was chosen for the numeric columns, and how to choose another; none if the user
/// chose, or if there are no curves.
fn curves_remark(task: &Task, encoding: &EncodingArgs) -> Option<String> {
    if encoding.linear || encoding.knots.is_some() {
        return None;
    }
    let knots = task.encoding.knots?;
    Some(format!(
        "every numeric column gets a curve with up to {knots} knots, as many as the rows and epsilon can carry; `--linear` for lines, `--knots` for another number"
    ))
}

/// Whether sparse rows are the smaller: mostly one-hot, or from a file that names the entries that
/// are not zero. Follows from the declaration and the file's name, never from a row.
fn is_sparse(layout: &Layout, data: Option<&TableFile>) -> bool {
    let of_file = data.is_some_and(tables::is_sparse) && Encoder::new(layout).keeps_zeros();
    of_file || layout.is_mostly_zero()
}

/// A map in words.
fn describe(law: &MapLaw) -> String {
    let form = match law.form {
        Form::Paired => "cosines and sines",
        Form::Cosine => "cosines",
    };
    let construction = match law.construction {
        Construction::Independent => "independent",
        Construction::Orthogonal => "orthogonal",
        Construction::Structured => "structured",
        Construction::Fastfood => "fastfood",
    };
    format!(
        "{} kernel of bandwidth {}: {} {form} of {} {construction} frequencies, public seed {}",
        law.kernel.name(),
        about(law.bandwidth),
        law.features,
        law.frequencies(),
        law.seed
    )
}

/// The plan of the named algorithm, or of the best one.
fn choose(problem: &Problem, budget: Budget, method: &MethodArgs) -> Result<Plan, Error> {
    Ok(planner::choose(problem, budget, &method.settings(), &method.algorithm)?)
}
