//! `reticent curves`.

use std::fmt::Write;
use std::process::ExitCode;

use reticent::problem::number::about;
use reticent::{AxisKind, Curves, Effect, Error, Model, NOT_DETERMINED, Paths, Relative, Surface};
use serde_json::to_value;

use super::csv::field;
use crate::arguments::CurvesArgs;
use crate::output;

/// The most lines that a surface takes up in text.
const SURFACE_LINES: usize = 12;

pub(super) fn run(args: &CurvesArgs, json: bool) -> Result<ExitCode, Error> {
    if json && args.csv {
        return Err(Error::Arguments("`--csv` and `--json` exclude each other: type one of them"));
    }
    Paths::default()
        .reads("MODEL", Some(&args.model))
        .writes("--out", args.out.as_deref())
        .check()?;
    let mut model = Model::load(&args.model)?;
    if let Some(void) = &model.certificate.void {
        output::remark(&format!("the model's certificate is void: {void}"));
    }
    if let Some(out) = &args.out {
        model = edited(&model, args)?;
        model.save(out)?;
        output::remark(&format!(
            "wrote {}: edited after the release, which the file records; `reticent verify` checks both",
            out.display()
        ));
    }
    let curves = Curves::of(&model)?;
    if json {
        output::json(&to_value(&curves).unwrap_or_default());
    } else if args.csv {
        output::line(csv(&curves).trim_end_matches('\n'));
    } else {
        output::line(&text(&curves));
    }
    Ok(ExitCode::SUCCESS)
}

/// The model with the curves that were asked for.
fn edited(model: &Model, args: &CurvesArgs) -> Result<Model, Error> {
    let edits: Vec<_> = args.monotone.iter().map(|edit| edit.0.clone()).collect();
    let layout = model.layout()?;
    for edit in &edits {
        let side = |place: &usize| layout.inputs()[*place].name == edit.column;
        if layout.pairs().iter().any(|pair| pair.inputs.iter().any(side)) {
            output::remark(&format!(
                "`{}` is also in a pair, whose surface stays as it was: its curve is {}, and the whole prediction need not be",
                edit.column,
                edit.direction.name()
            ));
        }
    }
    model.with_monotone(&edits)
}

/// For people: a line for each curve and each category.
fn text(curves: &Curves) -> String {
    let mut lines = vec![format!("values add up to the {}", curves.unit)];
    if curves.clipped {
        lines.push(
            "rows longer than the norm bound are shortened first: for them the sum is not exact"
                .to_owned(),
        );
    }
    for (k, output) in curves.outputs.iter().enumerate() {
        lines.push(String::new());
        let of = if curves.outputs.len() > 1 { format!(" of `{output}`") } else { String::new() };
        lines.push(format!("constant{of}: {}", about(curves.constants[k])));
        let mut rows = Vec::new();
        for effect in &curves.columns {
            rows.extend(effect_rows(effect, k));
        }
        lines.push(output::table(
            &["column", "from", "to", "least", "most", "noise", "shape"],
            &rows,
        ));
        lines.extend(curves.level.map(|level| bands(curves, level)));
        for surface in &curves.pairs {
            lines.push(String::new());
            lines.extend(surface_lines(surface, k));
        }
    }
    if !curves.others.is_empty() {
        lines.push(format!("without a curve: {}", curves.others.join(", ")));
    }
    lines.join("\n")
}

/// The intervals of every place, relative to the mean of its column.
fn bands(curves: &Curves, level: f64) -> String {
    let row = |effect: &Effect| -> Vec<Vec<String>> {
        let points = places(effect).into_iter().zip(effect.band.iter().flatten());
        points
            .map(|(place, point)| {
                let mut cells = vec![format!("{}={place}", effect.axis.column)];
                cells.push(about(point.estimate));
                cells.extend(point.interval.map_or(vec![NOT_DETERMINED.to_owned()], |i| {
                    [i.standard_error, i.low, i.high].map(about).to_vec()
                }));
                cells
            })
            .collect()
    };
    let rows: Vec<Vec<String>> = curves.columns.iter().flat_map(row).collect();
    let header = ["relative to the column's mean", "estimate", "error", "from", "to"];
    format!("\n{} % intervals at each place\n{}", about(level), output::table(&header, &rows))
}

/// A row for a curve, or one for each category.
fn effect_rows(effect: &Effect, output: usize) -> Vec<Vec<String>> {
    let (axis, values) = (&effect.axis, &effect.values[output]);
    let noise = effect
        .noise
        .as_ref()
        .map_or(String::new(), |noise| about(noise.iter().copied().fold(0.0, f64::max)));
    let missing = effect.missing[output];
    let mut rows = if axis.kind == AxisKind::Categories {
        let most = values.iter().fold(1e-300, |most: f64, value| most.max(value.abs()));
        let row = |(place, value): (&String, &f64)| {
            let shown = about(*value);
            let sign = if *value < 0.0 { "-" } else { "+" };
            let bar = format!("{sign}{}", output::bar(0.5 * value.abs() / most));
            let name = format!("{}={place}", axis.column);
            vec![name, String::new(), String::new(), shown.clone(), shown, noise.clone(), bar]
        };
        axis.places.iter().zip(values).map(row).collect()
    } else {
        let (least, most) = ends(values);
        let bound = |at: Option<&f64>| at.map_or(String::new(), |x| about(*x));
        vec![vec![
            axis.column.clone(),
            bound(axis.knots.first()),
            bound(axis.knots.last()),
            about(least),
            about(most),
            noise,
            sparkline(values, (least, most)),
        ]]
    };
    if missing != 0.0 {
        let shown = about(missing);
        let name = format!("{} is missing", axis.column);
        rows.push(vec![name, String::new(), String::new(), shown.clone(), shown]);
    }
    rows
}

/// A line for each place of the first column, or for each of the second if it has fewer.
fn surface_lines(surface: &Surface, output: usize) -> Vec<String> {
    let [one, other] = &surface.axes;
    let (rows, width) = (one.places.len(), other.places.len());
    let values = &surface.values[output];
    let all = ends(values);
    let mut lines = vec![format!(
        "{} x {}: {rows} x {width} values from {} to {}{}",
        one.column,
        other.column,
        about(all.0),
        about(all.1),
        surface.noise.map_or(String::new(), |noise| format!(", noise {}", about(noise))),
    )];
    let by_first = rows <= width;
    let (axis, count, length) = if by_first { (one, rows, width) } else { (other, width, rows) };
    let shown: Vec<Vec<String>> = (0..count.min(SURFACE_LINES))
        .map(|line| {
            let at = |k: usize| {
                if by_first { values[line * width + k] } else { values[k * width + line] }
            };
            let part: Vec<f64> = (0..length).map(at).collect();
            vec![format!("{}={}", axis.column, axis.places[line]), sparkline(&part, all)]
        })
        .collect();
    let running = if by_first { other } else { one };
    lines.push(output::table(&["", &format!("by {}", running.column)], &shown));
    if count > SURFACE_LINES {
        lines.push(format!("{SURFACE_LINES} of {count} lines; `--csv` and `--json` print all"));
    }
    lines
}

/// The least and the largest value.
fn ends(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least, most)
}

/// Eight heights between the ends; a flat curve is all low.
fn sparkline(values: &[f64], (least, most): (f64, f64)) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let width = most - least;
    let height = |value: &f64| {
        let share = if width > 0.0 { (value - least) / width } else { 0.0 };
        HEIGHTS[((share * 8.0) as usize).min(7)]
    };
    values.iter().map(height).collect()
}

/// Every value in a line of its own.
fn csv(curves: &Curves) -> String {
    let banded = curves.level.is_some();
    let more = if banded { ",relative,low,high" } else { "" };
    let mut text = format!("column,at,second_column,second_at,output,value,noise{more}\n");
    let mut line = |places: [&str; 4],
                    output: usize,
                    value: f64,
                    noise: Option<f64>,
                    point: Option<&Relative>| {
        let fields = places.map(field).join(",");
        let shown = |number: Option<f64>| number.map_or(String::new(), |x| x.to_string());
        _ = write!(text, "{fields},{},{value},{}", field(&curves.outputs[output]), shown(noise));
        if banded {
            let interval = point.and_then(|point| point.interval);
            let ends =
                [point.map(|p| p.estimate), interval.map(|i| i.low), interval.map(|i| i.high)];
            ends.map(shown).iter().for_each(|end| _ = write!(text, ",{end}"));
        }
        text.push('\n');
    };
    for (k, constant) in curves.constants.iter().enumerate() {
        line(["(intercept)", "", "", ""], k, *constant, None, None);
        for effect in &curves.columns {
            let axis = &effect.axis;
            for (i, place) in places(effect).iter().enumerate() {
                let noise = effect.noise.as_ref().map(|noise| noise[i]);
                let point = effect.band.as_ref().map(|band| &band[i]);
                line([&axis.column, place, "", ""], k, effect.values[k][i], noise, point);
            }
            if effect.missing[k] != 0.0 {
                line([&axis.column, "missing", "", ""], k, effect.missing[k], None, None);
            }
        }
        for surface in &curves.pairs {
            let [one, other] = &surface.axes;
            let width = other.places.len();
            for (i, first) in one.places.iter().enumerate() {
                for (j, second) in other.places.iter().enumerate() {
                    let value = surface.values[k][i * width + j];
                    let at = [&*one.column, first, &other.column, second];
                    line(at, k, value, surface.noise, None);
                }
            }
        }
    }
    text
}

/// Where the values of a curve are: knots in full precision, bins and categories by name.
fn places(effect: &Effect) -> Vec<String> {
    match effect.axis.kind {
        AxisKind::Line | AxisKind::Tent => effect.axis.knots.iter().map(f64::to_string).collect(),
        AxisKind::Bins | AxisKind::Categories => effect.axis.places.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_reaches_from_its_lowest_to_its_highest_value() {
        assert_eq!(sparkline(&[0.0, 1.0, 2.0, 8.0], (0.0, 8.0)), "▁▂▃█");
        assert_eq!(sparkline(&[3.0, 3.0], (3.0, 3.0)), "▁▁");
    }
}
