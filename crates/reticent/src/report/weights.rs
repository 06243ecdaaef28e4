//! The weights, with what is known of the noise in them.

use std::fmt::Write;

use reticent_optim::Plan;
use reticent_problem::Domain;

use super::figure::{self, Noise};
use super::number::about;
use super::page::{heading, table};
use crate::Model;

/// The chart shows the largest weights, the table the first ones.
const BARS: usize = 24;
const ROWS: usize = 200;

/// The noise in a weight, where a number is known.
fn noise(plan: &Plan) -> Option<Noise> {
    let outline = plan.outline();
    let deviation = outline.noise_deviation;
    if plan.noise_on_weights() {
        let caption = "The largest weights. The band is twice the noise: a bar that ends inside it may be noise alone.";
        return Some(Noise { deviation, caption });
    }
    // A feature that is zero in every row has the objective μw²/2 + bw to itself, and so the weight −b/μ.
    if let (Plan::Objective(_), Domain::Unbounded) = (plan, &outline.problem.domain)
        && plan.ridge() > 0.0
    {
        let caption = "The largest weights. The band is twice the noise in the weight of a feature that no row has: a bar that ends inside it may be noise alone if few rows have its feature.";
        return Some(Noise { deviation: deviation / plan.ridge(), caption });
    }
    None
}

/// What the reader may conclude from a weight.
fn explanation(plan: &Plan, noise: Option<&Noise>) -> String {
    match noise {
        Some(noise) if plan.noise_on_weights() => format!(
            "Each weight carries noise of standard deviation {}. A weight below twice that may be noise alone.",
            about(noise.deviation)
        ),
        Some(noise) => format!(
            "Noise was added to the objective and not to the weights, so it depends on the rows how much of it a weight carries. The weight of a feature that no row has is noise alone, of standard deviation {}; a feature that many rows have carries less.",
            about(noise.deviation)
        ),
        None => "Noise was added during training and not to the weights, so no number says how much of it a single weight carries. Known is this: features that few rows have, such as rare categories, get the same noise in every step and little signal, so that their weights may be noise alone. Do not explain a single prediction by such a weight.".to_owned(),
    }
}

/// The weights of a linear model. Those of a network or of random features have no meaning one by one.
pub(super) fn weights(page: &mut String, model: &Model) {
    heading(page, "weights", "Weights and the noise in them");
    if model.task.hidden.is_some() || model.task.map.is_some() {
        page.push_str("<p>The weights of a network or of random features have no meaning one by one. <code>reticent evaluate</code> on public rows measures the model as a whole.</p>\n");
        return;
    }
    let plan = &model.certificate.plan;
    let noise = noise(plan);
    _ = writeln!(page, "<p>{}</p>", explanation(plan, noise.as_ref()));
    let classes = model.task.declaration.classes();
    let many = model.weights.len() > 1;
    let target = &model.task.declaration.target().name;
    let output = |k: usize| if many { classes.get(k).map_or("", String::as_str) } else { target };
    let each: Vec<(&str, &str, f64)> = model
        .weights
        .iter()
        .enumerate()
        .flat_map(|(k, weights)| {
            let named = model.features.iter().zip(weights);
            named.map(move |(feature, weight)| (feature.as_str(), output(k), *weight))
        })
        .collect();
    let mut largest: Vec<&(&str, &str, f64)> = each.iter().collect();
    largest.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    let bars: Vec<(String, f64)> = largest
        .iter()
        .take(BARS)
        .map(|(f, o, w)| (if many { format!("{f}, {o}") } else { (*f).to_owned() }, *w))
        .collect();
    page.push_str(&figure::weights(&bars, noise.as_ref()));
    list(page, &each, plan, noise.as_ref());
}

fn list(page: &mut String, each: &[(&str, &str, f64)], plan: &Plan, noise: Option<&Noise>) {
    let ratio = noise.filter(|noise| plan.noise_on_weights() && noise.deviation > 0.0);
    let rows: Vec<Vec<String>> = each
        .iter()
        .take(ROWS)
        .map(|(feature, output, weight)| {
            let mut row = vec![(*feature).to_owned(), (*output).to_owned(), about(*weight)];
            row.extend(ratio.map(|noise| format!("{:.1}", weight.abs() / noise.deviation)));
            row
        })
        .collect();
    let header = ["Feature", "Output", "Weight", "Weight / noise"];
    let (caption, header) = match ratio {
        Some(_) => ("Signal against noise", &header[..]),
        None => ("The weights", &header[..3]),
    };
    table(page, caption, header, &rows, &[2, 3]);
    if each.len() > ROWS {
        _ = writeln!(page, "<p class=\"quiet\">{ROWS} of {} weights are shown.</p>", each.len());
    }
}
