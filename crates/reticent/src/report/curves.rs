//! The contribution of each column: a picture of each curve, bars of categories, a map of each
//! pair. Axes carry declared bounds and no row.

use std::fmt::Write;

use reticent_problem::declaration::Scale;

use super::page::{escape, heading};
use crate::curves::share;
use crate::{AxisKind, Curves, Effect, Model, NOT_DETERMINED, Surface};
use reticent_problem::number::about;

const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 190.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 30.0;

/// The width of a digit of the labels, at most, and of the space beside them.
const DIGIT: f64 = 8.4;
const GAP: f64 = 6.0;

/// The most outputs that are drawn, and the most bars and cells of a figure.
const OUTPUTS: usize = 3;
const BARS: usize = 16;
const CELLS: usize = 2048;

/// Between knots on another scale a curve is bent: so many points show it.
const BETWEEN: usize = 8;

/// The section of curves. A model that is no sum over columns has none, which it says.
pub(super) fn curves(page: &mut String, model: &Model) {
    heading(page, "curves", "What each column adds");
    let Ok(curves) = Curves::of(model) else {
        page.push_str("<p>This model is not a sum over its columns, so no picture shows what a column adds.</p>\n");
        return;
    };
    _ = writeln!(
        page,
        "<p>The values of a row's columns and the constant add up to the {}. Only differences within a picture have a meaning of their own: a constant can move from one picture to another. {}</p>",
        escape(&curves.unit.replace('`', "")),
        said_of_bands(model, &curves)
    );
    for edit in model.edited.iter().flat_map(|edited| &edited.monotone) {
        _ = writeln!(
            page,
            "<p>The curve of {} was made {} after the release. That read no row: the guarantee of the release holds.</p>",
            escape(&edit.column),
            edit.direction.name()
        );
    }
    if !curves.pairs.is_empty() {
        page.push_str("<p>In the map of a pair blue is above zero and red below; the stronger the colour, the further.</p>\n");
    }
    if curves.clipped {
        page.push_str("<p>Rows longer than the norm bound are shortened before they are added up: for them the sum is not exact.</p>\n");
    }
    let many = curves.outputs.len() > 1;
    for (k, output) in curves.outputs.iter().enumerate().take(OUTPUTS) {
        if many {
            _ = writeln!(page, "<h3>{}</h3>", escape(output));
        }
        page.push_str("<div class=\"pictures\">\n");
        for (i, effect) in curves.columns.iter().enumerate() {
            let id = format!("curve-{k}-{i}");
            match effect.axis.kind {
                AxisKind::Categories => bars(page, &id, effect, k),
                AxisKind::Line | AxisKind::Tent | AxisKind::Bins => curve(page, &id, effect, k),
            }
        }
        for (i, pair) in curves.pairs.iter().enumerate() {
            surface(page, &format!("pair-{k}-{i}"), pair, k);
        }
        page.push_str("</div>\n");
    }
    if curves.outputs.len() > OUTPUTS {
        _ = writeln!(
            page,
            "<p class=\"quiet\">{OUTPUTS} of {} classes are drawn; <code>reticent curves</code> prints all.</p>",
            curves.outputs.len()
        );
    }
    if !curves.others.is_empty() {
        let names = escape(&curves.others.join(", "));
        _ = writeln!(page, "<p class=\"quiet\">Without a picture: {names}.</p>");
    }
}

/// An explanation of the bands, or of their absence.
fn said_of_bands(model: &Model, curves: &Curves) -> String {
    let Some(level) = curves.level else {
        return if model.certificate.plan.noise_on_weights() {
            "The band is twice the standard deviation of the noise to either side."
        } else {
            "Noise was added during training, so no band can be drawn: small waves may be noise alone."
        }
        .to_owned();
    };
    let mut points = curves.columns.iter().flat_map(|c| c.band.iter().flatten());
    if points.any(|point| point.interval.is_some()) {
        format!(
            "The band is the {} % interval at each place, relative to the mean of the curve: sampling and privacy noise together, with the pull of the ridge taken back.",
            about(level)
        )
    } else {
        format!("There is no band: the curves are {NOT_DETERMINED}.")
    }
}

/// A figure with its title around what is drawn.
fn figure(page: &mut String, id: &str, title: &str, data: &str, height: f64, inner: &str) {
    let title = escape(title);
    _ = writeln!(
        page,
        "<figure><svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-labelledby=\"{id}-title\" id=\"{id}\"{data}>\
         <title id=\"{id}-title\">{title}</title>{inner}</svg><figcaption>{title}</figcaption></figure>"
    );
}

/// Ends that differ, with zero left where it is.
fn widened((low, high): (f64, f64)) -> (f64, f64) {
    if high > low { (low, high) } else { (low - 0.5, high + 0.5) }
}

/// A point of the line: where it is, its value, the ends of the band.
struct Point {
    x: f64,
    value: f64,
    low: f64,
    high: f64,
}

/// The ends of the band at each place; none where no band is known.
fn ends_of_band(effect: &Effect, output: usize) -> Option<Vec<(f64, f64)>> {
    let values = &effect.values[output];
    if let Some(band) = &effect.band {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let ends = band
            .iter()
            .map(|point| Some((mean + point.interval?.low, mean + point.interval?.high)));
        return ends.collect();
    }
    let noise = effect.noise.as_ref()?;
    Some(values.iter().zip(noise).map(|(v, noise)| (v - 2.0 * noise, v + 2.0 * noise)).collect())
}

/// The points of the line.
fn points(effect: &Effect, output: usize) -> Vec<Point> {
    let (axis, values) = (&effect.axis, &effect.values[output]);
    let ends = ends_of_band(effect, output)
        .unwrap_or_else(|| values.iter().map(|value| (*value, *value)).collect());
    let at = |x: f64, i: usize| Point { x, value: values[i], low: ends[i].0, high: ends[i].1 };
    if axis.kind == AxisKind::Bins {
        let steps = axis.knots.windows(2).take(values.len()).enumerate();
        return steps.flat_map(|(i, sides)| [at(sides[0], i), at(sides[1], i)]).collect();
    }
    let straight = axis.scale == Scale::Linear;
    let mut points = Vec::new();
    for (i, sides) in axis.knots.windows(2).enumerate() {
        let count = if straight { 1 } else { BETWEEN };
        for step in 0..count {
            let x = sides[0] + (sides[1] - sides[0]) * step as f64 / count as f64;
            let share = share(axis.scale, [sides[0], sides[1]], x);
            let (here, next) = (at(x, i), at(x, i + 1));
            // Ends of the band lie on lines: between places it is no narrower than the law is.
            let between = |a: f64, b: f64| a + share * (b - a);
            let (low, high) = (between(here.low, next.low), between(here.high, next.high));
            points.push(Point { x, value: between(here.value, next.value), low, high });
        }
    }
    if let Some(x) = axis.knots.last() {
        points.push(at(*x, values.len() - 1));
    }
    points
}

fn curve(page: &mut String, id: &str, effect: &Effect, output: usize) {
    let points = points(effect, output);
    let knots = &effect.axis.knots;
    let x = widened((knots.first().copied().unwrap_or(0.0), knots.last().copied().unwrap_or(1.0)));
    let low = points.iter().map(|p| p.low.min(p.value)).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|p| p.high.max(p.value)).fold(f64::NEG_INFINITY, f64::max);
    let y = widened((low, high));
    // The labels of the vertical axis stand beside it, whatever their sign and length.
    let labels = [y.0, y.1].map(about);
    let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let margin = GAP + DIGIT * longest as f64;
    let left = |at: f64| margin + (at - x.0) / (x.1 - x.0) * (WIDTH - margin - RIGHT);
    let top = |at: f64| HEIGHT - BOTTOM - (at - y.0) / (y.1 - y.0) * (HEIGHT - BOTTOM - TOP);
    let mut inner = String::new();
    if ends_of_band(effect, output).is_some() {
        let upper = points.iter().map(|p| (p.x, p.high));
        let lower = points.iter().rev().map(|p| (p.x, p.low));
        let corners: Vec<String> =
            upper.chain(lower).map(|(x, y)| format!("{:.2},{:.2}", left(x), top(y))).collect();
        _ = write!(inner, "<polygon class=\"band\" points=\"{}\"/>", corners.join(" "));
    }
    if y.0 < 0.0 && y.1 > 0.0 {
        let zero = top(0.0);
        _ = write!(
            inner,
            "<line class=\"chance\" x1=\"{margin:.1}\" y1=\"{zero:.1}\" x2=\"{:.1}\" y2=\"{zero:.1}\"/>",
            WIDTH - RIGHT
        );
    }
    let line: Vec<String> =
        points.iter().map(|p| format!("{:.2},{:.2}", left(p.x), top(p.value))).collect();
    _ = write!(inner, "<polyline class=\"curve\" points=\"{}\"/>", line.join(" "));
    for (at, anchor) in [(x.0, "start"), (x.1, "end")] {
        let place = left(at);
        _ = write!(
            inner,
            "<text x=\"{place:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            HEIGHT - 10.0,
            about(at)
        );
    }
    for (at, label) in [y.0, y.1].into_iter().zip(labels) {
        _ = write!(
            inner,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            margin - GAP,
            top(at) + 6.0
        );
    }
    let data = format!(
        " data-x=\"{:.2} {:.2} {} {}\" data-y=\"{:.2} {:.2} {} {}\"",
        left(x.0),
        left(x.1),
        x.0,
        x.1,
        top(y.0),
        top(y.1),
        y.0,
        y.1
    );
    figure(page, id, &effect.axis.column, &data, HEIGHT, &inner);
}

/// A name that fits beside a picture.
fn short(name: &str, longest: usize) -> String {
    if name.chars().count() > longest {
        name.chars().take(longest - 1).chain(['…']).collect()
    } else {
        name.to_owned()
    }
}

/// A name, its value, and the ends of its band.
type Bar<'a> = (&'a str, f64, Option<(f64, f64)>);

fn bars(page: &mut String, id: &str, effect: &Effect, output: usize) {
    const BAR: f64 = 18.0;
    const NAMES: f64 = 130.0;
    // With intervals each category has its own band, and otherwise one serves all.
    let ends = effect.band.as_ref().and_then(|_| ends_of_band(effect, output));
    let mut all: Vec<Bar<'_>> = effect
        .axis
        .places
        .iter()
        .zip(&effect.values[output])
        .enumerate()
        .map(|(i, (name, value))| (name.as_str(), *value, ends.as_ref().map(|ends| ends[i])))
        .collect();
    let count = all.len();
    if count > BARS {
        all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        all.truncate(BARS);
    }
    let twice = effect.noise.as_ref().and_then(|noise| noise.first()).map(|noise| 2.0 * noise);
    let far = |b: &Bar<'_>| b.2.map_or(0.0, |(low, high)| low.abs().max(high.abs())).max(b.1.abs());
    let reach = all.iter().map(far).fold(twice.unwrap_or(0.0), f64::max).max(1e-300);
    let x = |w: f64| NAMES + 4.0 + (w / reach + 1.0) * 0.5 * (WIDTH - NAMES - 8.0);
    let height = BAR * all.len() as f64 + 24.0;
    let (zero, foot) = (x(0.0), height - 20.0);
    let mut inner = String::new();
    if let Some(twice) = twice {
        _ = write!(
            inner,
            "<rect class=\"band\" x=\"{:.2}\" y=\"0\" width=\"{:.2}\" height=\"{foot:.1}\"/>",
            x(-twice),
            x(twice) - x(-twice)
        );
    }
    _ = write!(
        inner,
        "<line class=\"axis\" x1=\"{zero:.2}\" y1=\"0\" x2=\"{zero:.2}\" y2=\"{foot:.1}\"/>"
    );
    for (i, (name, value, ends)) in all.iter().enumerate() {
        let y = BAR * i as f64 + 3.0;
        _ = write!(
            inner,
            "<text x=\"{NAMES}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><rect class=\"bar\" x=\"{:.2}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"12\"/>",
            y + 11.0,
            escape(&short(name, 15)),
            x(value.min(0.0)),
            (x(value.abs()) - zero).max(0.5)
        );
        if let Some((low, high)) = *ends {
            _ = write!(
                inner,
                "<line class=\"axis\" x1=\"{:.2}\" y1=\"{:.1}\" x2=\"{:.2}\" y2=\"{:.1}\"/>",
                x(low),
                y + 6.0,
                x(high),
                y + 6.0
            );
        }
    }
    for (w, anchor) in [(-reach, "start"), (reach, "end")] {
        _ = write!(
            inner,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            x(w),
            height - 4.0,
            about(w)
        );
    }
    let data = format!(" data-x=\"{:.2} {:.2} {:e} {:e}\"", x(-reach), x(reach), -reach, reach);
    let title = if count > BARS {
        format!("{}: the {BARS} largest of {count} categories", effect.axis.column)
    } else {
        effect.axis.column.clone()
    };
    figure(page, id, &title, &data, height, &inner);
}

/// A map of cells: the stronger the colour, the further from zero, in one colour above it and in
/// another below.
fn surface(page: &mut String, id: &str, surface: &Surface, output: usize) {
    const SIDE: f64 = 96.0;
    let [one, other] = &surface.axes;
    let title = format!("{} (down) by {} (across)", one.column, other.column);
    let (rows, columns) = (one.places.len(), other.places.len());
    if rows * columns > CELLS {
        _ = writeln!(
            page,
            "<p class=\"quiet\">{}: {rows} by {columns} values; <code>reticent curves --csv</code> prints them.</p>",
            escape(&title)
        );
        return;
    }
    let values = &surface.values[output];
    let reach = values.iter().fold(1e-300, |most: f64, v| most.max(v.abs()));
    let height = (rows as f64 * 14.0).clamp(60.0, 240.0);
    let (w, h) = ((WIDTH - SIDE - 4.0) / columns as f64, height / rows as f64);
    let mut inner = String::new();
    for (place, value) in values.iter().enumerate() {
        let (row, column) = (place / columns, place % columns);
        let class = if *value < 0.0 { "below" } else { "above" };
        _ = write!(
            inner,
            "<rect class=\"{class}\" x=\"{:.2}\" y=\"{:.2}\" width=\"{w:.2}\" height=\"{h:.2}\" fill-opacity=\"{:.3}\"/>",
            SIDE + w * column as f64,
            h * row as f64,
            value.abs() / reach
        );
    }
    for row in ends(rows, 10) {
        _ = write!(
            inner,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            SIDE - 4.0,
            h * (row as f64 + 0.5) + 5.0,
            escape(&short(&one.places[row], 11))
        );
    }
    for column in ends(columns, 3) {
        let anchor = match column {
            0 => "start",
            last if last + 1 == columns => "end",
            _ => "middle",
        };
        let at = match anchor {
            "start" => SIDE,
            "end" => SIDE + w * columns as f64,
            _ => SIDE + w * (column as f64 + 0.5),
        };
        _ = write!(
            inner,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            height + 16.0,
            escape(&short(&other.places[column], 9))
        );
    }
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let title = match surface.noise {
        Some(noise) => format!(
            "{title}, from {} to {}, noise {} in each",
            about(least),
            about(most),
            about(noise)
        ),
        None => format!("{title}, from {} to {}", about(least), about(most)),
    };
    figure(page, id, &title, &format!(" data-reach=\"{reach:e}\""), height + 22.0, &inner);
}

/// Places to name: all of a few, or the first and the last.
fn ends(count: usize, few: usize) -> Vec<usize> {
    if count <= few { (0..count).collect() } else { vec![0, count - 1] }
}
