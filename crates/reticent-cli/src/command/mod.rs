//! One file for each subcommand.

mod account;
mod algorithms;
mod audit;
mod calc;
mod cells;
mod completions;
mod data;
mod demo;
mod evaluate;
mod fit;
mod ledger;
mod plan;
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
use reticent::data::table as tables;
use reticent::optim::Plan;
use reticent::privacy::Budget;
use reticent::problem::Problem;
use reticent::problem::declaration::{Declaration, DeclarationError, Layout, Precision};
use reticent::problem::feature_map::{Construction, Form, MapLaw};
use reticent::{Error, Task, planner};

use crate::arguments::{Cli, Command, EncodingArgs, LossArgs, MethodArgs, SchemaAction};

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
        Command::Schema { action: SchemaAction::Check { schema, target, encoding } } => {
            schema::run(&schema, target.as_deref(), &encoding, json)
        }
        Command::Data { action } => data::run(&action, json),
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

/// Reads and checks a schema file, with another target if one is named.
fn declaration(schema: &Path, target: Option<&str>) -> Result<Declaration, Error> {
    let text = read(schema)?;
    // Whoever mixes up the table and the schema gets a sentence that does not quote the table's first cell.
    if !starts_an_object(&text) {
        let message = format!("`{}` does not hold an object", schema.display());
        return Err(DeclarationError::Json { message }.into());
    }
    let declaration = Declaration::from_json(&text)?;
    Ok(match target {
        Some(target) => declaration.with_target(target)?,
        None => declaration,
    })
}

/// Whether the text can be a JSON object: typed parsing would quote any other value.
fn starts_an_object(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// The task of a schema, an encoding and a loss, for a table in a file if there is one.
fn task(
    schema: &Path,
    target: Option<&str>,
    encoding: &EncodingArgs,
    loss: &LossArgs,
    data: Option<&Path>,
) -> Result<Task, Error> {
    let declaration = declaration(schema, target)?;
    let classes = declaration.classes().len();
    let mut task = Task::new(declaration, encoding.encoding());
    if encoding.precision_is_auto() && is_sparse(&task.layout()?, data) {
        task.encoding.precision = Precision::Sparse;
    }
    let loss = loss.chosen(task.loss.name(), classes)?;
    task.with_loss(loss)
}

/// Whether sparse rows are the smaller: mostly one-hot, or from a file that names the entries that are not zero. Follows from the
/// declaration and the file's name, never from a row.
fn is_sparse(layout: &Layout, data: Option<&Path>) -> bool {
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
        "{} kernel of bandwidth {:.4}: {} {form} of {} {construction} frequencies, public seed {}",
        law.kernel.name(),
        law.bandwidth,
        law.features,
        law.frequencies(),
        law.seed
    )
}

/// The plan of the named algorithm, or of the best one.
fn choose(problem: &Problem, budget: Budget, method: &MethodArgs) -> Result<Plan, Error> {
    Ok(planner::choose(problem, budget, &method.settings(), &method.algorithm)?)
}
