//! The report for people: one HTML file that needs nothing else.

use std::fmt::Write;

use reticent_privacy::{Event, tradeoff};

use crate::{Error, Model};

mod figure;

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1d2330; --paper: #ffffff; --quiet: #5b6475; --line: #d5d9e2; --mark: #1f5fbf; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebf2; --paper: #14171e; --quiet: #a4adbf; --line: #39404f; --mark: #7fb0ff; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.statement { border-left: 4px solid var(--mark); padding: .5rem 1rem; font-size: 1.1rem; }
.void { border-color: #c0392b; font-weight: 600; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; } figure { margin: 1rem 0; } figcaption, .quiet { color: var(--quiet); font-size: .9rem; }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg .axis { stroke: var(--quiet); } svg .curve { stroke: var(--mark); fill: none; stroke-width: 2; } svg .chance { stroke: var(--quiet); stroke-dasharray: 4 4; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); padding: .75rem; }
@media print { body { margin: 0; max-width: none; } }";

/// The report of a model.
///
/// # Errors
///
/// If the accountant cannot analyse the model's event.
pub fn html(model: &Model) -> Result<String, Error> {
    let certificate = &model.certificate;
    let (budget, plan) = (certificate.budget, &certificate.plan);
    let problem = &plan.outline().problem;
    let name = model.task.declaration.name().unwrap_or("a table");
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Privacy report: {0}</title><style>{STYLE}</style></head><body><main>\n<h1>Privacy report: {0}</h1>\n",
        escape(name)
    );
    _ = writeln!(page, "<p class=\"statement\">{}</p>", escape(&certificate.statement));
    if let Some(void) = &certificate.void {
        _ = writeln!(
            page,
            "<p class=\"statement void\" role=\"alert\">This statement is void: {}.</p>",
            escape(void)
        );
    }
    page.push_str("<h2>What was released</h2>\n<table>\n");
    let facts = [
        (
            "Model",
            format!(
                "{} loss, target {}",
                problem.loss.name(),
                model.task.declaration.target().name
            ),
        ),
        ("Learned from", format!("{} rows, {} features", problem.rows, problem.features)),
        (
            "Features",
            model.task.map.map_or_else(
                || "the encoded columns".to_owned(),
                |law| {
                    format!(
                        "random features of the {} kernel of bandwidth {}, from the public seed {}",
                        law.kernel.name(),
                        law.bandwidth,
                        law.seed
                    )
                },
            ),
        ),
        (
            "Algorithm",
            format!(
                "{}, {} steps, {:?} calibration",
                plan.algorithm(),
                plan.outline().steps,
                certificate.calibration
            ),
        ),
        ("Unit of protection", format!("one row ({} adjacency)", budget.adjacency)),
        (
            if noisy_steps(&certificate.event) {
                "Noise in each coordinate of a step's averaged gradient"
            } else {
                "Noise in each weight"
            },
            format!("standard deviation {:.4e}", plan.outline().noise_deviation),
        ),
        (
            "Epsilon of what was done",
            certificate.epsilon_upper.map_or("unbounded".to_owned(), |e| {
                format!("at most {e:.6} at delta = {}", budget.delta)
            }),
        ),
        ("Made by", certificate.software.clone()),
    ];
    for (what, value) in facts {
        _ = writeln!(page, "<tr><th scope=\"row\">{what}</th><td>{}</td></tr>", escape(&value));
    }
    page.push_str("</table>\n");
    if certificate.epsilon_upper.is_some() {
        attacker(&mut page, &certificate.event)?;
    }
    page.push_str("<h2>What it rests on</h2>\n<div class=\"scroll\"><table><tr><th>Assumption</th><th>Seen to by</th><th>Needed by</th></tr>\n");
    for a in &certificate.assumptions {
        _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&a.statement),
            escape(&a.held_by),
            escape(&a.theorem)
        );
    }
    page.push_str("</table></div>\n");
    coefficients(&mut page, model);
    page.push_str("<h2>How to check it</h2>\n<p>The certificate is inside the model file. Anyone can recompute it without the data:</p>\n<pre>reticent verify model.json</pre>\n");
    let event = serde_json::to_string_pretty(&certificate.event).unwrap_or_default();
    _ = writeln!(
        page,
        "<p>What was done to the data, as the accountant sees it:</p>\n<pre>{}</pre>\n</main></body></html>",
        escape(&event)
    );
    Ok(page)
}

/// What the best attacker can achieve: the trade-off curve and a few points of it.
fn attacker(page: &mut String, event: &Event) -> Result<(), Error> {
    const SHOWN: [f64; 4] = [0.001, 0.01, 0.05, 0.1];
    page.push_str("<h2>What an attacker can learn about one person</h2>\n<p>Suppose an attacker knows everything but one row, sees the model, and must tell whether that row is one person's or another's. \
        The curve bounds how often any attacker is right, against how often it accuses wrongly.</p>\n");
    let rates: Vec<f64> = (0..=100).map(|i| f64::from(i) / 100.0).collect();
    page.push_str(&figure::trade_off(&tradeoff::curve(event, &rates)?));
    page.push_str("<table><tr><th>Accuses wrongly</th><th>Detects, at most</th></tr>\n");
    for point in tradeoff::curve(event, &SHOWN)? {
        _ = writeln!(
            page,
            "<tr><td class=\"number\">{} %</td><td class=\"number\">{:.2} %</td></tr>",
            100.0 * point.false_positive_rate,
            100.0 * point.true_positive_rate
        );
    }
    page.push_str("</table>\n");
    Ok(())
}

/// Whether noise went into steps rather than into the weights.
fn noisy_steps(event: &Event) -> bool {
    match event {
        Event::PoissonGaussian { .. }
        | Event::FixedSizeGaussian { .. }
        | Event::SingleIndexGaussian { .. }
        | Event::EpochPartitionGaussian { .. } => true,
        Event::Composed(events) => events.iter().any(noisy_steps),
        Event::Repeated { event: inner, .. } | Event::Approximated { inner, .. } => {
            noisy_steps(inner)
        }
        _ => false,
    }
}

/// The weights with the noise in them: what is signal and what may be noise. Not where the noise is in the steps, and no
/// column of it says what a weight carries; nor of a network or of random features, whose weights mean nothing one by one.
fn coefficients(page: &mut String, model: &Model) {
    const MOST: usize = 200;
    if model.task.hidden.is_some()
        || model.task.map.is_some()
        || noisy_steps(&model.certificate.event)
    {
        return;
    }
    let noise = model.certificate.plan.outline().noise_deviation;
    page.push_str("<h2>Weights and the noise in them</h2>\n");
    _ = writeln!(
        page,
        "<p>Each weight carries noise of standard deviation {noise:.4e}. A weight below twice that may be noise alone.</p>\n<div class=\"scroll\"><table><tr><th>Feature</th><th>Output</th><th>Weight</th><th>Weight / noise</th></tr>"
    );
    let classes = model.task.declaration.classes();
    let mut shown = 0;
    for (k, weights) in model.weights.iter().enumerate() {
        let output = if model.weights.len() > 1 {
            classes.get(k).map_or("", String::as_str)
        } else {
            &model.task.declaration.target().name
        };
        for (feature, weight) in model.features.iter().zip(weights).take(MOST.saturating_sub(shown))
        {
            let ratio =
                if noise > 0.0 { format!("{:.1}", weight.abs() / noise) } else { "-".to_owned() };
            _ = writeln!(
                page,
                "<tr><td>{}</td><td>{}</td><td class=\"number\">{weight:.4}</td><td class=\"number\">{ratio}</td></tr>",
                escape(feature),
                escape(output)
            );
            shown += 1;
        }
    }
    page.push_str("</table></div>\n");
    let total: usize = model.weights.iter().map(Vec::len).sum();
    if total > shown {
        _ = writeln!(page, "<p class=\"quiet\">{shown} of {total} weights are shown.</p>");
    }
}

/// Text as HTML wants it.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
