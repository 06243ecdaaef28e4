//! The weights, with what is known of the noise in them.

use std::fmt::Write;

use reticent_optim::Plan;
use reticent_problem::Domain;

use super::card::without_data;
use super::page::{begin_fold, end_fold, escape, heading, table};
use super::{figure, intervals};
use crate::Model;
use reticent_problem::number::about;

/// The chart shows the largest weights, the table the first ones.
const BARS: usize = 24;
const ROWS: usize = 200;

/// How to interpret a weight.
fn explanation(plan: &Plan) -> String {
    let outline = plan.outline();
    let deviation = outline.noise_deviation;
    if plan.noise_on_weights() {
        return format!(
            "Each coefficient carries noise of standard deviation {}. One below twice that may be noise alone.",
            about(deviation)
        );
    }
    // A feature that is zero in every row has the objective μw²/2 + bw to itself, and so the weight
    // −b/μ.
    if let (Plan::Objective(_), Domain::Unbounded) = (plan, &outline.problem.domain)
        && plan.ridge() > 0.0
    {
        return format!(
            "Noise was added to the objective and not to the coefficients, so the rows decide how much of it a coefficient carries. The coefficient of a feature that no row has is noise alone, of standard deviation {}; the more rows have a feature, the less noise is in its coefficient.",
            about(deviation / plan.ridge())
        );
    }
    "Noise was added during training and not to the coefficients, so no number says how much of it a single coefficient carries. A feature that few rows have, such as a rare category, gets the same noise in every step and little signal, so its coefficient may be noise alone. Do not explain a single prediction by such a coefficient.".to_owned()
}

/// The weights of a linear model. Those of a network or of random features have no meaning one by
/// one.
pub(super) fn weights(page: &mut String, model: &Model) {
    heading(page, "weights", "Coefficients and the noise in them");
    if model.task.hidden.is_some() || model.task.map.is_some() {
        page.push_str("<p>The weights of a network or of random features have no meaning one by one. <code>reticent evaluate</code> on public rows measures the model as a whole.</p>\n");
        return;
    }
    if intervals::intervals(page, model) {
        return;
    }
    let plan = &model.certificate.plan;
    let noise = plan.noise_on_weights().then_some(plan.outline().noise_deviation);
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
    page.push_str(&figure::weights(&bars, noise));
    _ = writeln!(page, "<p>{}</p>", explanation(plan));
    if let Some(sentence) = without_data(model) {
        _ = writeln!(page, "<p>{}.</p>", escape(&sentence));
    }
    begin_fold(page, "All coefficients as numbers");
    list(page, &each, many, noise);
    end_fold(page);
}

fn list(page: &mut String, each: &[(&str, &str, f64)], many: bool, noise: Option<f64>) {
    let noise = noise.filter(|noise| *noise > 0.0);
    let mut header = vec!["Feature"];
    if many {
        header.push("Output");
    }
    let first = header.len();
    header.push("Coefficient");
    header.extend(noise.map(|_| "Coefficient / noise"));
    let rows: Vec<Vec<String>> = each
        .iter()
        .take(ROWS)
        .map(|(feature, output, weight)| {
            let mut row = vec![(*feature).to_owned()];
            if many {
                row.push((*output).to_owned());
            }
            row.push(about(*weight));
            row.extend(noise.map(|noise| format!("{:.1}", weight.abs() / noise)));
            row
        })
        .collect();
    let caption = if noise.is_some() { "Signal against noise" } else { "The coefficients" };
    table(page, caption, &header, &rows, &[first, first + 1]);
    if each.len() > ROWS {
        _ = writeln!(
            page,
            "<p class=\"quiet\">{ROWS} of {} coefficients are shown.</p>",
            each.len()
        );
    }
}
