//! `reticent coefficients`.

use std::fmt::Write;
use std::process::ExitCode;

use reticent::problem::number::about;
use reticent::{Coefficient, Coefficients, Error, Model, NOT_DETERMINED};
use serde_json::to_value;

use super::csv::field;
use crate::arguments::CoefficientsArgs;
use crate::output;

pub(super) fn run(args: &CoefficientsArgs, json: bool) -> Result<ExitCode, Error> {
    if json && args.csv {
        return Err(Error::Arguments("`--csv` and `--json` exclude each other: type one of them"));
    }
    let model = Model::load(&args.model)?;
    if let Some(void) = &model.certificate.void {
        output::remark(&format!("the model's certificate is void: {void}"));
    }
    let table = Coefficients::of(&model, args.level)?;
    if json {
        output::json(&to_value(&table).unwrap_or_default());
    } else if args.csv {
        output::line(csv(&table).trim_end_matches('\n'));
    } else {
        output::line(&text(&table));
    }
    Ok(ExitCode::SUCCESS)
}

/// For people: a line for each coefficient.
fn text(table: &Coefficients) -> String {
    let level = about(table.level);
    let (low, high) = (format!("{level} % from"), "to".to_owned());
    let header = ["coefficient", "estimate", "error", "sampling", "privacy", &low, &high, "z", "p"];
    let rows: Vec<Vec<String>> = table.rows.iter().map(cells).collect();
    let mut lines = vec![
        format!("coefficients of the {}", table.unit),
        output::table(&header, &rows),
        table.note.to_owned(),
    ];
    lines.extend(table.not_determined());
    lines.join("\n")
}

/// `ward=b` compared with the first of its column, where it is.
fn name(row: &Coefficient) -> String {
    match &row.reference {
        Some(reference) => format!("{} (against {reference})", row.name),
        None => row.name.clone(),
    }
}

fn cells(row: &Coefficient) -> Vec<String> {
    let mut cells = vec![name(row), about(row.estimate)];
    match &row.interval {
        None => cells.push(NOT_DETERMINED.to_owned()),
        Some(i) => {
            let or_dash = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), about);
            let parts = [i.sampling_error, i.privacy_error].map(or_dash);
            cells.push(about(i.standard_error));
            cells.extend(parts);
            cells.extend([i.low, i.high, i.z, i.p].map(about));
        }
    }
    cells
}

/// In full precision; empty fields where a coefficient is not determined, and where the parts of an
/// error cannot be told apart.
fn csv(table: &Coefficients) -> String {
    let mut text =
        "name,reference,estimate,standard_error,sampling_error,privacy_error,low,high,z,p\n"
            .to_owned();
    for row in &table.rows {
        let reference = row.reference.as_deref().map_or(String::new(), field);
        _ = write!(text, "{},{reference},{}", field(&row.name), row.estimate);
        let numbers = row.interval.as_ref().map_or([None; 7], |i| {
            let (error, rest) = (Some(i.standard_error), [i.low, i.high, i.z, i.p].map(Some));
            [error, i.sampling_error, i.privacy_error, rest[0], rest[1], rest[2], rest[3]]
        });
        for number in numbers {
            _ = write!(text, ",{}", number.map_or(String::new(), |n| n.to_string()));
        }
        text.push('\n');
    }
    text
}
