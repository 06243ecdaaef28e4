//! The parts of the report, one function each.

use std::fmt::Write;

use reticent_optim::{Request, candidates};
use reticent_privacy::{Adjacency, Event, delta_upper, tradeoff};
use serde_json::Value;

use super::{escape, figure, table};
use crate::ledger::Standing;
use crate::verify::Verification;
use crate::{Error, Model};

/// What an attacker can learn about one person, and what not.
pub(super) fn attacker(page: &mut String, model: &Model) -> Result<(), Error> {
    const SHOWN: [f64; 4] = [0.001, 0.01, 0.05, 0.1];
    const BELIEFS: [f64; 4] = [0.001, 0.01, 0.1, 0.5];
    let (event, budget) = (&model.certificate.event, model.certificate.budget);
    let question = match budget.adjacency {
        Adjacency::ReplaceOne => "whether that row is one person's or another's",
        Adjacency::AddRemoveOne => "whether that row was in the table at all",
        Adjacency::ZeroOut => {
            "whether that row was in the table or left out as a row of zeros, with the middle of the range for a number"
        }
    };
    _ = write!(
        page,
        "<h2 id=\"attacker\">What an attacker can learn about one person</h2>\n<p>Suppose an attacker knows everything but one row, sees the model, and must tell {question}. The curve bounds how often any attacker is right, against how often it accuses wrongly, whatever it computes and whatever else it knows.</p>\n"
    );
    let rates: Vec<f64> = (0..=100).map(|i| f64::from(i) / 100.0).collect();
    page.push_str(&figure::trade_off(&tradeoff::curve(event, &rates)?));
    let rows: Vec<Vec<String>> = tradeoff::curve(event, &SHOWN)?
        .iter()
        .map(|p| {
            vec![
                format!("{} %", 100.0 * p.false_positive_rate),
                format!("{:.2} %", up(100.0 * p.true_positive_rate, 2)),
            ]
        })
        .collect();
    let caption = "True-positive rates: of a hundred people, how many it finds";
    table(page, caption, &["Accuses wrongly", "Detects, at most"], &rows, &[0, 1]);
    let factor = budget.epsilon.get().exp();
    let rows: Vec<Vec<String>> = BELIEFS
        .iter()
        .map(|p| {
            let after = (p * factor / (1.0 - p + p * factor)).min(1.0);
            vec![format!("{} %", 100.0 * p), format!("{:.3} %", up(100.0 * after, 3))]
        })
        .collect();
    let caption = match budget.adjacency {
        Adjacency::ReplaceOne => {
            "Beliefs: how sure it was of one of two things about that row before it saw the model, and after, where the loss keeps to epsilon (delta is for outcomes where it does not)"
        }
        _ => {
            "Beliefs: how sure it was that the row was in the table before it saw the model, and after, where the loss keeps to epsilon (delta is for outcomes where it does not). What it believes about the row's values may move twice as far, by epsilon twice"
        }
    };
    table(page, caption, &["Before", "After, at most"], &rows, &[0, 1]);
    page.push_str("<p>What this does not say: the model may well teach something about people in general, which then also applies to this person, whether or not the row was used. And it speaks of one row: a person with k rows is protected k times less (epsilon times k, at a larger delta).</p>\n");
    Ok(())
}

/// With five digits, rounded up: what holds at an epsilon holds at a larger one.
fn up_to_digits(x: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    let unit = 10f64.powf(x.log10().floor() - 4.0);
    format!("{:.4e}", (x / unit).ceil() * unit)
}

/// Rounded up to so many places.
pub(super) fn up(x: f64, places: i32) -> f64 {
    let unit = 10f64.powi(places);
    (x * unit).ceil() / unit
}

/// Delta as a function of epsilon.
pub(super) fn profile(page: &mut String, model: &Model) -> Result<(), Error> {
    const POINTS: u32 = 48;
    let (event, budget) = (&model.certificate.event, model.certificate.budget);
    page.push_str("<h2 id=\"profile-part\">The privacy profile</h2>\n<p>The promise is one point of a curve. The same model keeps a smaller epsilon with a larger delta, and the other way round.</p>\n");
    let most = 2.0 * budget.epsilon.get();
    let points = (0..=POINTS)
        .map(|i| {
            let epsilon = most * f64::from(i) / f64::from(POINTS);
            Ok((epsilon, delta_upper(event, epsilon)?))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    page.push_str(&figure::profile(&points, (budget.epsilon.get(), budget.delta.get())));
    // Three digits, rounded up.
    let rows: Vec<Vec<String>> = points
        .iter()
        .step_by(6)
        .map(|(epsilon, delta)| vec![up_to_digits(*epsilon), format!("{:.3e}", 1.0006 * delta)])
        .collect();
    table(page, "Points of the curve", &["epsilon", "delta, at most"], &rows, &[0, 1]);
    Ok(())
}

/// What the owner declared.
pub(super) fn declaration(page: &mut String, model: &Model) -> Result<(), Error> {
    let explained = model.task.declaration.explain(&model.task.encoding)?;
    page.push_str("<h2 id=\"declaration\">What was declared about the data</h2>\n<p>The guarantee was planned from these public statements, before any row was read. Values outside them were clamped; nothing here was computed from rows.</p>\n");
    if let Some(description) = &explained.description {
        _ = writeln!(page, "<p>The owner's description: {}</p>", escape(description));
    }
    let rows: Vec<Vec<String>> = explained
        .columns
        .iter()
        .map(|c| vec![c.name.clone(), c.role.clone(), c.encoding.clone(), c.features.to_string()])
        .collect();
    let header = ["Column", "Part", "How it is encoded", "Features"];
    table(page, "Columns", &header, &rows, &[3]);
    _ = writeln!(
        page,
        "<p>Together {} encoded features; a row's norm is at most {:.6}, a label at most {:.6}.</p>",
        explained.dimension,
        up(explained.norm_bound, 6),
        up(explained.label_bound, 6)
    );
    Ok(())
}

/// Every assumption with its theorem.
pub(super) fn assumptions(page: &mut String, model: &Model) {
    page.push_str("<h2 id=\"assumptions\">What it rests on</h2>\n");
    let rows: Vec<Vec<String>> = model
        .certificate
        .assumptions
        .iter()
        .map(|a| vec![a.statement.clone(), a.held_by.clone(), a.theorem.clone()])
        .collect();
    let header = ["Assumption", "Seen to by", "Needed by"];
    table(
        page,
        "Every assumption, who sees to it, and the theorem that needs it",
        &header,
        &rows,
        &[],
    );
}

/// The plan, and what else was possible.
pub(super) fn plan(page: &mut String, model: &Model) {
    let certificate = &model.certificate;
    let (plan, outline) = (&certificate.plan, certificate.plan.outline());
    let info = plan.info();
    page.push_str("<h2 id=\"plan\">The plan and its alternatives</h2>\n");
    _ = writeln!(
        page,
        "<p><strong>{}</strong>: {} ({}). It was chosen without looking at data.</p>",
        escape(info.name),
        escape(info.summary),
        escape(info.paper)
    );
    for warning in &outline.warnings {
        _ = writeln!(page, "<p class=\"quiet\">{}</p>", escape(warning));
    }
    let request = Request { calibration: certificate.calibration, ..Request::default() };
    let rows: Vec<Vec<String>> = candidates(&outline.problem, certificate.budget, &request)
        .into_iter()
        .map(|c| match c.plan {
            Ok(other) => {
                let outline = other.outline();
                let excess = outline.predicted_excess;
                vec![
                    c.algorithm.to_owned(),
                    format!("{:.3e}", outline.noise_deviation),
                    outline.steps.to_string(),
                    excess.map_or("no theorem".to_owned(), |x| format!("{x:.3e}")),
                    String::new(),
                ]
            }
            Err(why) => {
                let none = || "-".to_owned();
                vec![c.algorithm.to_owned(), none(), none(), none(), why.to_string()]
            }
        })
        .collect();
    let header = ["Algorithm", "Noise", "Steps", "Excess risk, at most", "Why not"];
    let caption = "The same problem and budget with every algorithm's own settings, by the bound of its theorem";
    table(page, caption, &header, &rows, &[1, 2, 3]);
    let text = serde_json::to_string_pretty(plan).unwrap_or_default();
    _ = writeln!(
        page,
        "<details><summary>The whole plan</summary><pre>{}</pre></details>",
        escape(&text)
    );
}

/// The weights with the noise in them: what is signal and what may be noise. Not where the noise is in the steps, and no
/// column of it says what a weight carries; nor of a network or of random features, whose weights mean nothing one by one.
pub(super) fn coefficients(page: &mut String, model: &Model) {
    const MOST: usize = 200;
    const BARS: usize = 24;
    page.push_str("<h2 id=\"weights\">Weights and the noise in them</h2>\n");
    if model.task.hidden.is_some() || model.task.map.is_some() {
        page.push_str("<p>The weights of a network or of random features mean nothing one by one. <code>reticent evaluate</code> on public rows measures the model as a whole.</p>\n");
        return;
    }
    if !model.certificate.plan.noise_on_weights() {
        page.push_str("<p>Noise was added during the training and not to the weights themselves, so no single number says how much of it a weight carries. <code>reticent evaluate</code> on public rows measures the model as a whole.</p>\n");
        return;
    }
    let noise = model.certificate.plan.outline().noise_deviation;
    _ = writeln!(
        page,
        "<p>Each weight carries noise of standard deviation {noise:.4e}. A weight below twice that may be noise alone.</p>"
    );
    let classes = model.task.declaration.classes();
    let mut each: Vec<(String, String, f64)> = Vec::new();
    for (k, weights) in model.weights.iter().enumerate() {
        let output = if model.weights.len() > 1 {
            classes.get(k).map_or("", String::as_str)
        } else {
            &model.task.declaration.target().name
        };
        for (feature, weight) in model.features.iter().zip(weights) {
            each.push((feature.clone(), output.to_owned(), *weight));
        }
    }
    let many = model.weights.len() > 1;
    let mut largest: Vec<&(String, String, f64)> = each.iter().collect();
    largest.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    let bars: Vec<(String, f64)> = largest
        .iter()
        .take(BARS)
        .map(|(f, o, w)| (if many { format!("{f}, {o}") } else { f.clone() }, *w))
        .collect();
    page.push_str(&figure::weights(&bars, noise));
    let total = each.len();
    let rows: Vec<Vec<String>> = each
        .into_iter()
        .take(MOST)
        .map(|(feature, output, weight)| {
            let ratio =
                if noise > 0.0 { format!("{:.1}", weight.abs() / noise) } else { "-".to_owned() };
            vec![feature, output, format!("{weight:.4}"), ratio]
        })
        .collect();
    let header = ["Feature", "Output", "Weight", "Weight / noise"];
    table(page, "Signal against noise", &header, &rows, &[2, 3]);
    if total > MOST {
        _ = writeln!(page, "<p class=\"quiet\">{MOST} of {total} weights are shown.</p>");
    }
}

/// What an attack on the algorithm found.
pub(super) fn audit(page: &mut String, audit: Option<&Value>) {
    page.push_str("<h2 id=\"audit\">The audit</h2>\n");
    let number = |audit: &Value, name: &str| audit[name].as_f64().unwrap_or(f64::NAN);
    match audit {
        None => page.push_str("<p>No audit was given to this report. <code>reticent audit</code> attacks the algorithm as implemented on made-up tables, and <code>reticent report --audit</code> shows what it found.</p>\n"),
        Some(audit) => {
            let how = if audit["canaries"].is_null() {
                let tables = audit["neighbours"].as_str().unwrap_or_default();
                format!("{} runs on each of {tables}", audit["runs"])
            } else {
                format!(
                    "one run with {} canaries, {} of {} guesses right",
                    audit["canaries"], audit["correct"], audit["guesses"]
                )
            };
            let rows = vec![
                vec!["Claimed".to_owned(), format!("epsilon = {:.4}", number(audit, "epsilon_claimed"))],
                vec![
                    "Shown by attack".to_owned(),
                    format!(
                        "epsilon is at least {:.4}, with confidence {} ({how})",
                        number(audit, "epsilon_lower"),
                        number(audit, "confidence"),
                    ),
                ],
                vec![
                    "Verdict".to_owned(),
                    if audit["violated"] == true {
                        "the attack contradicts the claim".to_owned()
                    } else {
                        "the claim stands; an audit can refute a claim and never prove one".to_owned()
                    },
                ],
            ];
            table(page, "An attack on the same algorithm and budget, on made-up tables", &[], &rows, &[]);
        }
    }
}

/// Where the data set's budget stands.
pub(super) fn ledger(page: &mut String, model: &Model, standing: Option<&Standing>) {
    page.push_str("<h2 id=\"ledger\">The ledger</h2>\n");
    match &model.certificate.payment {
        Some(payment) => {
            _ = writeln!(
                page,
                "<p>This model is charge {} of the ledger <code>{}</code>.</p>",
                payment.charge,
                escape(&payment.ledger)
            );
        }
        None => page.push_str("<p>This model was charged to no ledger: what other models of the same data cost is not in this report.</p>\n"),
    }
    let Some(standing) = standing else { return };
    let budget = standing.budget;
    let tight = standing.tight.map_or("unbounded".to_owned(), |e| {
        let e = up(e, 6);
        format!("epsilon at most {e:.6} at delta = {:e}, if no plan was chosen after looking at an earlier release", budget.delta.get())
    });
    let facts = vec![
        vec![
            "Allowed in all".to_owned(),
            format!(
                "epsilon = {} at delta = {:e}, {} adjacency, however plans are chosen",
                budget.epsilon,
                budget.delta.get(),
                budget.adjacency
            ),
        ],
        vec!["Charged, together".to_owned(), tight],
        vec![
            "Charged, as a sum".to_owned(),
            format!(
                "epsilon = {:.6}, delta = {:e} (basic composition)",
                up(standing.basic_epsilon, 6),
                standing.basic_delta
            ),
        ],
        vec![
            "Left".to_owned(),
            format!(
                "one release of epsilon = {:.4} at delta = {:e}",
                (1e4 * standing.left_epsilon).floor() / 1e4,
                standing.left_delta
            ),
        ],
        vec!["Refused so far".to_owned(), standing.refusals.to_string()],
    ];
    table(page, "The budget of the data set", &[], &facts, &[]);
    let rows: Vec<Vec<String>> = standing
        .charges
        .iter()
        .map(|line| {
            vec![
                line.charge.to_string(),
                line.time.clone(),
                line.item.label.clone(),
                format!("{:.4}", line.item.budget.epsilon.get()),
                format!("{:e}", line.item.budget.delta.get()),
                serde_json::to_value(line.state)
                    .map_or(String::new(), |s| s.as_str().unwrap_or("").to_owned()),
            ]
        })
        .collect();
    let header = ["Charge", "Time", "What", "epsilon", "delta", "State"];
    table(page, "Charges when this report was made", &header, &rows, &[0, 3, 4]);
}

/// What was re-checked, and how to check it again.
pub(super) fn verification(page: &mut String, model: &Model, verification: &Verification) {
    page.push_str("<h2 id=\"verify\">How to verify it</h2>\n<p>The certificate is inside the model file. Anyone can recompute it without the data, with this program and the file:</p>\n<pre>reticent verify model.json</pre>\n");
    let rows: Vec<Vec<String>> = verification
        .recomputed
        .iter()
        .map(|c| {
            let word = if c.holds { "holds" } else { "FAILS" };
            vec![c.name.to_owned(), word.to_owned(), c.found.clone()]
        })
        .collect();
    table(page, "Recomputed when this report was made", &["What", "Verdict", "Found"], &rows, &[]);
    let rows: Vec<Vec<String>> =
        verification.stated.iter().map(|s| vec![s.name.to_owned(), s.value.clone()]).collect();
    table(page, "Stated in the file, not checkable", &["What", "Stated"], &rows, &[]);
    page.push_str("<p>Not covered:</p>\n<ul>\n");
    for line in &verification.not_covered {
        _ = writeln!(page, "<li>{}</li>", escape(line));
    }
    page.push_str("</ul>\n");
    let event = serde_json::to_string_pretty::<Event>(&model.certificate.event).unwrap_or_default();
    _ = writeln!(
        page,
        "<details><summary>What was done to the data, as the accountant sees it</summary><pre>{}</pre></details>",
        escape(&event)
    );
}
