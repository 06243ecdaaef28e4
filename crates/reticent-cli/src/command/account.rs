//! `reticent account`, `calibrate` and `explain`: the accountant on its own.

use std::process::ExitCode;

use reticent::privacy::calibrate::{Sampling, noise_multiplier_for, sampled_gaussian};
use reticent::privacy::explain::{Explanation, explain};
use reticent::privacy::{
    Adjacency, Delta, Epsilon, Event, epsilon_attained, epsilon_lower, epsilon_upper, rdp,
};
use reticent::{Error, Model};
use serde_json::{Value, json};

use super::read;
use crate::arguments::{
    AccountArgs, AccountantName, CalibrateArgs, ExplainArgs, SamplingArgs, SamplingName,
};
use crate::output;

/// `reticent account`.
pub(super) fn account(args: &AccountArgs, json: bool) -> Result<ExitCode, Error> {
    let event = event(&args.sampling, args.sigma)?;
    let delta = Delta::new(args.delta)?.get();
    let (upper, lower) = match args.accountant {
        AccountantName::Pld => (epsilon_upper(&event, delta)?, epsilon_lower(&event, delta)?),
        AccountantName::Rdp => {
            (rdp::rdp_epsilon_upper(&event, delta)?, epsilon_lower(&event, delta)?)
        }
    };
    if json {
        output::json(&json!({
            "epsilon_upper": number(upper),
            "epsilon_lower": number(lower.min(upper)),
            "epsilon_attained": number(epsilon_attained(&event, delta)?.min(upper)),
            "delta": delta,
            "accountant": args.accountant.word(),
            "adjacency": event.adjacency()?,
            "event": event,
        }));
    } else {
        output::line(&format!("epsilon <= {upper} at delta = {delta:e}"));
        output::line(&format!("epsilon >= {} for some tables", lower.min(upper)));
    }
    Ok(ExitCode::SUCCESS)
}

/// `reticent calibrate`.
pub(super) fn calibrate(args: &CalibrateArgs, json: bool) -> Result<ExitCode, Error> {
    let epsilon = Epsilon::new(args.epsilon)?.get();
    let delta = Delta::new(args.delta)?.get();
    let scheme = &args.sampling;
    event(scheme, 1.0)?.check()?;
    let (sampling, adjacency) = (scheme.sampling(), adjacency(scheme)?);
    let at = |sigma: f64| sampled_gaussian(sampling, sigma, scheme.steps, adjacency);
    let sigma = noise_multiplier_for(epsilon, delta, at)?;
    let spent = epsilon_upper(&at(sigma), delta)?;
    if json {
        output::json(&json!({
            "sigma": sigma,
            "epsilon_upper": number(spent),
            "epsilon_lower": number(epsilon_lower(&at(sigma), delta)?.min(spent)),
            "delta": delta,
            "adjacency": adjacency,
            "event": at(sigma),
        }));
    } else {
        output::line(&format!("sigma = {sigma}"));
        output::line(&format!("epsilon <= {spent} at delta = {delta:e}, {adjacency}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// `reticent explain`.
pub(super) fn explain_event(args: &ExplainArgs, json: bool) -> Result<ExitCode, Error> {
    let (event, delta, rows) = if let Some(model) = &args.model {
        let certificate = Model::load(model)?.certificate;
        let rows = certificate.plan.outline().problem.rows as u64;
        let delta = args.delta.unwrap_or(certificate.budget.delta.get());
        (certificate.event, delta, Some(rows))
    } else {
        let event = match (&args.event, args.sigma) {
            (Some(file), _) => parse(&read(file)?, &file.display().to_string())?,
            (None, Some(sigma)) => event(&args.sampling, sigma)?,
            (None, None) => Event::None,
        };
        (event, args.delta.unwrap_or(1e-6), None)
    };
    let explanation = explain(&event, Delta::new(delta)?.get(), rows)?;
    if json {
        output::json(&serde_json::to_value(&explanation).unwrap_or_default());
    } else {
        output::line(&text(&explanation));
    }
    Ok(ExitCode::SUCCESS)
}

fn text(e: &Explanation) -> String {
    // Upper bounds are rounded up, lower ones down.
    let up = |x: f64| (1e6 * x).ceil() / 1e6;
    let down = |x: f64| (1e6 * x).floor() / 1e6;
    let show = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{x:.6}"));
    let adjacency = e.adjacency.map_or("any".to_owned(), |a| a.to_string());
    let rows: Vec<Vec<String>> = e
        .bounds
        .iter()
        .map(|b| {
            vec![
                b.accountant.to_owned(),
                show(b.epsilon_upper.map(up)),
                show(b.epsilon_lower.map(down)),
                b.note.clone(),
            ]
        })
        .collect();
    let event = serde_json::to_string(&e.event).unwrap_or_default();
    let mut lines = vec![
        format!("event       {event}"),
        format!("adjacency   {adjacency}"),
        format!("delta       {:e}", e.delta),
        format!(
            "epsilon     at most {}, by {}: {}",
            show(e.epsilon_upper.map(up)),
            e.accountant,
            e.reason
        ),
        format!("attained    at least {} by some tables", show(e.epsilon_attained.map(down))),
        String::new(),
        output::table(&["accountant", "epsilon <=", "epsilon >=", "note"], &rows),
    ];
    lines.extend(e.warnings.iter().map(|w| format!("note: {w}")));
    lines.push(format!("rests on    {}", e.citations.join("; ")));
    lines.join("\n")
}

fn parse(text: &str, file: &str) -> Result<Event, Error> {
    let event: Result<Event, _> = serde_json::from_str(text);
    event.map_err(|e| Error::NotAnEvent { file: file.to_owned(), why: e.to_string() })
}

fn event(scheme: &SamplingArgs, sigma: f64) -> Result<Event, Error> {
    Ok(sampled_gaussian(scheme.sampling(), sigma, scheme.steps, adjacency(scheme)?))
}

fn adjacency(scheme: &SamplingArgs) -> Result<Adjacency, Error> {
    Ok(scheme.adjacency.parse()?)
}

impl SamplingArgs {
    fn sampling(&self) -> Sampling {
        match self.sampling {
            SamplingName::None => Sampling::None,
            SamplingName::Poisson => Sampling::Poisson { rate: self.q },
            SamplingName::WithoutReplacement => Sampling::FixedSize { rate: self.q },
        }
    }
}

/// JSON has no infinity.
fn number(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { json!("infinity") }
}
