//! How the model was made: the declaration, the assumptions, the plan and its alternatives.

use std::fmt::Write;

use reticent_optim::setting::CALIBRATION;
use reticent_optim::{Candidate, Plan, Selection, Settings};

use super::page::{begin_part, end_part, escape, escape_lines, table};
use crate::planner;
use crate::{Error, Model};
use reticent_problem::number::{about, at_most, norm_at_most};

/// The owner's declaration.
pub(super) fn declaration(page: &mut String, model: &Model, pass: bool) -> Result<(), Error> {
    let explained = model.task.declaration.explain(&model.task.encoding)?;
    begin_part(page, "declaration", "What was declared about the data");
    page.push_str(if pass {
        "<p>The guarantee was planned from these public statements, before any row was read. Values outside them were clamped; nothing here was computed from rows.</p>\n"
    } else {
        "<p>The file claims that these were public statements, made before any row was read.</p>\n"
    });
    if let Some(description) = &explained.description {
        _ = writeln!(page, "<p>The owner's description: {}</p>", escape(description));
    }
    let rows: Vec<Vec<String>> = explained
        .columns
        .iter()
        .map(|c| vec![c.name.clone(), c.role.clone(), c.encoding.clone(), c.features.to_string()])
        .collect();
    let header = ["Column", "Role", "Encoding", "Features"];
    table(page, "Columns", &header, &rows, &[3]);
    _ = writeln!(
        page,
        "<p>Together {} encoded features; a row's norm is at most {}, a label at most {}.</p>",
        explained.dimension,
        norm_at_most(explained.norm_bound),
        at_most(explained.label_bound)
    );
    end_part(page);
    Ok(())
}

/// Who enforces an assumption, in the order of who has to act, and how a report says it.
const GROUPS: [(&str, &str); 4] = [
    ("owner", "The owner of the data must confirm"),
    ("encoder", "The program enforces while it encodes rows"),
    ("plan", "The plan states, and anyone can recompute"),
    ("run", "The program enforces while it trains"),
];

/// Every assumption with its theorem, by who enforces it. One that names nobody known is the
/// owner's.
pub(super) fn assumptions(page: &mut String, model: &Model) {
    begin_part(page, "assumptions", "What the guarantee assumes");
    let known = |who: &str| GROUPS.iter().any(|(group, _)| *group == who);
    for (group, title) in GROUPS {
        let owner = group == "owner";
        let rows: Vec<Vec<String>> = model
            .certificate
            .assumptions
            .iter()
            .filter(|a| a.enforced_by == group || (owner && !known(&a.enforced_by)))
            .map(|a| vec![a.statement.clone(), a.theorem.clone()])
            .collect();
        if !rows.is_empty() {
            table(page, title, &["Assumption", "Needed by"], &rows, &[]);
        }
    }
    end_part(page);
}

/// The noise of a plan and where it is added.
pub(super) fn noise(plan: &Plan) -> String {
    match plan {
        Plan::ClippedSgd(plan) if plan.clip.is_none() => format!(
            "standard deviation {} times the clipping norm, which was found privately, in each coordinate of a step's gradient",
            about(plan.noise_multiplier / plan.batch as f64)
        ),
        _ => format!(
            "standard deviation {} {}",
            about(plan.outline().noise_deviation),
            plan.noise_place()
        ),
    }
}

/// The plan, and what else was possible.
pub(super) fn plan(page: &mut String, model: &Model, pass: bool) {
    let certificate = &model.certificate;
    let (plan, outline) = (&certificate.plan, certificate.plan.outline());
    let info = plan.info();
    begin_part(page, "plan", "The plan and its alternatives");
    _ = writeln!(
        page,
        "<p><strong>{}</strong>: {} ({}).</p>",
        escape(info.name),
        escape(info.summary),
        escape(info.paper)
    );
    for warning in &outline.warnings {
        _ = writeln!(page, "<p class=\"quiet\">{}</p>", escape(warning));
    }
    match &certificate.selection {
        _ if !pass => page.push_str(
            "<p>The file does not verify, so no alternatives were computed for it.</p>\n",
        ),
        Some(selection) => tuned(page, plan, selection),
        None => planned(page, model),
    }
    let text = serde_json::to_string_pretty(plan).unwrap_or_default();
    _ = writeln!(
        page,
        "<details class=\"raw\"><summary>The whole plan</summary><pre>{}</pre></details>",
        escape_lines(&text)
    );
    end_part(page);
}

/// The plans that were tried on the private rows.
fn tuned(page: &mut String, plan: &Plan, selection: &Selection) {
    page.push_str("<p>It was chosen among the plans below by noisy scores on the private rows. The budget pays for the choice; only the best run is published.</p>\n");
    let row = |name: String, other: &Plan, why: &str| {
        let outline = other.outline();
        vec![name, outline.steps.to_string(), about(outline.noise_deviation), why.to_owned()]
    };
    let best = row(format!("{} (chosen)", plan.algorithm()), plan, "the best noisy score");
    let others = selection.candidates.iter().filter(|other| *other != plan).map(|other| {
        row(
            other.algorithm().to_owned(),
            other,
            "not drawn, or a lower noisy score: this is not published",
        )
    });
    let rows: Vec<Vec<String>> = std::iter::once(best).chain(others).collect();
    let header = ["Algorithm", "Steps", "Noise", "Why, or why not"];
    table(page, "The plans that could be tried", &header, &rows, &[1, 2]);
}

/// The planner's ranking, recomputed from the same public facts, with the plan that ran first.
fn planned(page: &mut String, model: &Model) {
    let certificate = &model.certificate;
    let plan = &certificate.plan;
    let known = &plan.outline().problem;
    // As `fit` states the problem: the ridge is each plan's own.
    let problem = model.task.problem(known.rows, known.domain.clone(), known.slope_limit);
    let request = Settings::default().with(&CALIBRATION, certificate.calibration);
    let ranking = problem
        .and_then(|problem| Ok(planner::rank(&problem, certificate.budget, &request, "auto")?));
    let Ok(ranking) = ranking else {
        page.push_str("<p>It was asked for by name. The planner has no plan for this problem by itself.</p>\n");
        return;
    };
    let (chosen, others): (Vec<&Candidate>, Vec<&Candidate>) =
        ranking.iter().partition(|c| c.plan.as_ref().is_ok_and(|p| p == plan));
    let own = chosen.first().and_then(|c| c.prediction.as_ref()).map(|p| p.gain);
    let first = ranking[0].plan.as_ref().is_ok_and(|first| first == plan);
    page.push_str(if first {
        "<p>It is the planner's choice, made without looking at data: every algorithm was run on simulated tables of the declared shape, and this one came first.</p>\n"
    } else {
        "<p>It is not the planner's first choice for this problem: its name or a setting was asked for, or the table was streamed. No data was looked at for it.</p>\n"
    });
    if own.is_none() && ranking.iter().all(|c| c.prediction.is_none()) {
        _ = writeln!(page, "<p class=\"quiet\">{}.</p>", escape(planner::no_outlook(known)));
    }
    let why = if first { "chosen: ranked first" } else { "chosen: asked for" };
    let mut rows = vec![row(&format!("{} (chosen)", plan.algorithm()), own, Some(plan), why)];
    rows.extend(others.into_iter().map(|c| {
        let gain = c.prediction.as_ref().map(|p| p.gain);
        row(c.algorithm, gain, c.plan.as_ref().ok(), &why_not(c, gain, own, first))
    }));
    let header = ["Algorithm", "Retained", "Why, or why not", "Steps", "Noise"];
    let caption = "The same problem and budget with every algorithm, in the planner's order. Retained: the simulated accuracy retained, as a share of the gain without privacy. Noise is where each algorithm adds it, so it does not compare across rows";
    table(page, caption, &header, &rows, &[1, 3, 4]);
}

fn row(name: &str, gain: Option<f64>, plan: Option<&Plan>, why: &str) -> Vec<String> {
    let none = || "-".to_owned();
    vec![
        name.to_owned(),
        gain.map_or_else(none, |gain| match 100.0 * gain {
            kept if kept < 0.5 => "none".to_owned(),
            kept => format!("{kept:.0} %"),
        }),
        why.to_owned(),
        plan.map_or_else(none, |plan| plan.outline().steps.to_string()),
        plan.map_or_else(none, |plan| about(plan.outline().noise_deviation)),
    ]
}

/// Why a candidate is not the one that ran.
fn why_not(candidate: &Candidate, gain: Option<f64>, own: Option<f64>, first: bool) -> String {
    match (&candidate.plan, gain, own) {
        (Err(error), ..) => error.to_string().replace("`radius`", "`--radius`"),
        (Ok(_), Some(gain), Some(own)) if gain < own => "retains less in simulation".to_owned(),
        (Ok(_), Some(_), Some(_)) if first => {
            "a near tie: those go to the method that depends less on the simulated labels, or takes much less time".to_owned()
        }
        (Ok(_), Some(_), _) => "the planner ranks it as shown; another was asked for".to_owned(),
        (Ok(plan), None, _) => match plan.outline().predicted_excess {
            Some(excess) => format!(
                "not simulated; its theorem bounds the excess risk by {}",
                at_most(excess)
            ),
            None => "not simulated, and no theorem bounds its excess risk".to_owned(),
        },
    }
}
