//! Coefficients with error bars, for a model with a curvature release or blocks.

use std::fmt::Write;

use super::page::{begin_fold, end_fold, escape, table};
use crate::{Coefficient, Coefficients, Model, NOT_DETERMINED};
use reticent_problem::number::about;

/// The picture shows the coefficients that stand out most, the table the first ones.
const BARS: usize = 24;
const ROWS: usize = 200;

/// The table and the picture, if the model has intervals; whether it has.
pub(super) fn intervals(page: &mut String, model: &Model) -> bool {
    let Ok(found) = Coefficients::of(model, None) else { return false };
    page.push_str(&figure(&found));
    if let Some(sentence) = found.not_determined() {
        _ = writeln!(page, "<p>{}.</p>", escape(&sentence.replace('`', "")));
    }
    _ = writeln!(
        page,
        "<p>Coefficients of the {}: per unit of a number, and against the first category of a column. The {}.</p>",
        escape(&found.unit),
        escape(found.note)
    );
    begin_fold(page, "Coefficients with standard errors");
    let level = about(found.level);
    let (low, high) = (format!("{level} % from"), "to".to_owned());
    let header = ["Coefficient", "Estimate", "Error", "Sampling", "Privacy", &low, &high, "z", "p"];
    let rows: Vec<Vec<String>> = found.rows.iter().take(ROWS).map(cells).collect();
    table(page, "Standard errors and intervals", &header, &rows, &[1, 2, 3, 4, 5, 6, 7, 8]);
    end_fold(page);
    true
}

fn name(row: &Coefficient) -> String {
    match &row.reference {
        Some(reference) => format!("{} (against {reference})", row.name),
        None => row.name.clone(),
    }
}

fn cells(row: &Coefficient) -> Vec<String> {
    let mut cells = vec![name(row), about(row.estimate)];
    if let Some(i) = row.interval {
        let or_dash = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), about);
        cells.extend([
            about(i.standard_error),
            or_dash(i.sampling_error),
            or_dash(i.privacy_error),
        ]);
        cells.extend([i.low, i.high, i.z, i.p].map(about));
    } else {
        cells.push(NOT_DETERMINED.to_owned());
        cells.extend(vec![String::new(); 6]);
    }
    cells
}

/// Estimates with their intervals, each in units of its own standard error: coefficients have units
/// of their own, and the distance from zero in errors is what can be compared.
fn figure(found: &Coefficients) -> String {
    const BAR: f64 = 20.0;
    const WIDTH: f64 = 520.0;
    const NAMES: f64 = 240.0;
    const LONGEST: usize = 22;
    let mut rows: Vec<_> =
        found.rows.iter().filter_map(|row| row.interval.map(|i| (row, i))).collect();
    rows.sort_by(|a, b| b.1.z.abs().total_cmp(&a.1.z.abs()));
    rows.truncate(BARS);
    let ends = |low: f64, high: f64, error: f64| (low / error, high / error);
    let reach = rows
        .iter()
        .map(|(_, i)| ends(i.low, i.high, i.standard_error))
        .fold(1.0, |most: f64, (low, high)| most.max(low.abs()).max(high.abs()));
    let height = BAR * rows.len() as f64 + 26.0;
    let foot = height - 22.0;
    let x = |z: f64| NAMES + 8.0 + (z / reach + 1.0) * 0.5 * (WIDTH - NAMES - 16.0);
    let zero = x(0.0);
    let mut inner = format!(
        "<line class=\"axis\" x1=\"{zero:.2}\" y1=\"0\" x2=\"{zero:.2}\" y2=\"{foot:.1}\"/>"
    );
    for (place, (row, i)) in rows.iter().enumerate() {
        let y = BAR * place as f64 + 10.0;
        let (low, high) = ends(i.low, i.high, i.standard_error);
        let name = if row.name.chars().count() > LONGEST {
            row.name.chars().take(LONGEST - 1).chain(['…']).collect()
        } else {
            row.name.clone()
        };
        _ = write!(
            inner,
            "<text x=\"{NAMES}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><line class=\"axis\" x1=\"{:.2}\" y1=\"{y:.1}\" x2=\"{:.2}\" y2=\"{y:.1}\"/><circle class=\"point\" cx=\"{:.2}\" cy=\"{y:.1}\" r=\"4\"/>",
            y + 5.0,
            escape(&name),
            x(low),
            x(high),
            x(i.z),
        );
    }
    for (z, anchor) in [(-reach, "start"), (0.0, "middle"), (reach, "end")] {
        _ = write!(
            inner,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            x(z),
            height - 4.0,
            about(z)
        );
    }
    format!(
        "<figure><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"intervals-title\" id=\"intervals-figure\">\
         <title id=\"intervals-title\">Coefficients with {} % intervals; the table below has the numbers</title>{inner}</svg>\
         <figcaption>Coefficients with {} % intervals, each in units of its own standard error. An interval that holds zero shows no effect that can be told from none.</figcaption></figure>\n",
        about(found.level),
        about(found.level),
    )
}
