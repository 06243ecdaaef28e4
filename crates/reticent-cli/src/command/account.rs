//! `reticent account`, `calibrate` and `explain`: the accountant on its own.

use std::process::ExitCode;

use reticent::privacy::calibrate::{Sampling, noise_multiplier_for, sampled_gaussian};
use reticent::privacy::explain::{Explanation, explain};
use reticent::privacy::risk::{RiskBounds, noise_multiplier_for_risk};
use reticent::privacy::{
    Adjacency, Delta, Epsilon, Event, epsilon_attained, epsilon_lower, epsilon_upper, rdp,
};
use reticent::problem::number::{at_least, at_most};
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
            "accountant": args.accountant.name(),
            "adjacency": event.adjacency()?,
            "event": event,
        }));
    } else {
        output::line(&format!("epsilon <= {} at delta = {delta:e}", at_most(upper)));
        output::line(&format!("epsilon >= {} for some tables", at_least(lower.min(upper))));
    }
    Ok(ExitCode::SUCCESS)
}

/// Where epsilon is printed for a risk, unless another delta is given.
const DELTA: f64 = 1e-6;

/// `reticent calibrate`.
pub(super) fn calibrate(args: &CalibrateArgs, json: bool) -> Result<ExitCode, Error> {
    let scheme = &args.sampling;
    let risk = args.risk.given()?;
    let delta = Delta::new(args.delta.unwrap_or(DELTA))?;
    event(scheme, 1.0)?.check()?;
    let (sampling, adjacency) = (scheme.sampling(), adjacency(scheme)?);
    let at = |sigma: f64| sampled_gaussian(sampling, sigma, scheme.steps, adjacency);
    let sigma = match (risk, args.epsilon) {
        (Some(risk), _) => noise_multiplier_for_risk(risk, at)?,
        (None, Some(epsilon)) => {
            noise_multiplier_for(Epsilon::new(epsilon)?.get(), delta.get(), at)?
        }
        (None, None) => return Err(Error::Arguments("`epsilon` must be given, or a risk")),
    };
    let spent = epsilon_upper(&at(sigma), delta.get())?;
    let bounds = RiskBounds::of(&at(sigma), Epsilon::new(spent.max(f64::MIN_POSITIVE))?, delta)?;
    if json {
        output::json(&json!({
            "sigma": sigma,
            "risk": risk,
            "risk_upper": risk.map(|risk| risk.upper(&at(sigma))).transpose()?,
            "epsilon_upper": number(spent),
            "epsilon_lower": number(epsilon_lower(&at(sigma), delta.get())?.min(spent)),
            "delta": delta,
            "risk_bounds": bounds,
            "adjacency": adjacency,
            "event": at(sigma),
        }));
    } else {
        let delta = delta.get();
        output::line(&format!("sigma = {}", at_most(sigma)));
        if let Some(risk) = risk {
            output::line(&format!("{risk}"));
        }
        output::line(&format!("epsilon <= {} at delta = {delta:e}, {adjacency}", at_most(spent)));
        if let Some(mu) = bounds.mu_upper {
            output::line(&format!("GDP with mu <= {}, up to delta = {delta:e}", at_most(mu)));
        }
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
    let up = |x: Option<f64>| x.map_or("-".to_owned(), at_most);
    let down = |x: Option<f64>| x.map_or("-".to_owned(), at_least);
    let adjacency = e.adjacency.map_or("any".to_owned(), |a| a.to_string());
    let rows: Vec<Vec<String>> = e
        .bounds
        .iter()
        .map(|b| {
            vec![
                b.accountant.to_owned(),
                up(b.epsilon_upper),
                down(b.epsilon_lower),
                b.note.clone(),
            ]
        })
        .collect();
    let event = serde_json::to_string(&e.event).unwrap_or_default();
    let mut lines = vec![
        format!("event       {event}"),
        format!("adjacency   {adjacency}"),
        format!("delta       {:e}", e.delta),
        format!("epsilon     at most {}, by {}: {}", up(e.epsilon_upper), e.accountant, e.reason),
        format!("attained    at least {} by some tables", down(e.epsilon_attained)),
        String::new(),
        output::table(&["accountant", "epsilon <=", "epsilon >=", "note"], &rows),
    ];
    lines.extend(e.warnings.iter().map(|w| format!("note: {w}")));
    lines.push(format!("source      {}", e.citations.join("; ")));
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
