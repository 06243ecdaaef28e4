//! Where a plan's budget goes, before any of it is spent.

use std::fmt;

use reticent_optim::Plan;
use reticent_privacy::{Event, PrivacyError, epsilon_upper};
use reticent_problem::number::at_most;
use serde::Serialize;

/// A stage of a plan and its privacy cost alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The name of the stage.
    pub part: String,
    /// Its epsilon at the budget's delta, were it alone; the stages together cost less than their
    /// sum. None if it is unbounded.
    pub epsilon: Option<f64>,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.epsilon {
            Some(epsilon) => write!(f, "{}: epsilon = {}", self.part, at_most(epsilon)),
            None => write!(f, "{}: no limit", self.part),
        }
    }
}

/// The stages of a plan's event, in order, and last the total.
///
/// # Errors
///
/// Any error of the accountant.
pub fn split(plan: &Plan) -> Result<Vec<Share>, PrivacyError> {
    let outline = plan.outline();
    let delta = outline.budget.delta.get();
    let cost = |event: &Event| -> Result<Option<f64>, PrivacyError> {
        let epsilon = epsilon_upper(event, delta)?;
        Ok(epsilon.is_finite().then_some(epsilon))
    };
    let mut list = Vec::new();
    match (&outline.event, plan) {
        (_, Plan::Objective(plan)) => {
            list.push(Share {
                part: "curvature of one row in the objective".to_owned(),
                epsilon: plan.epsilon_det.is_finite().then_some(plan.epsilon_det),
            });
            let (first, second) = match &outline.event {
                Event::Composed(parts) => (parts.first().unwrap_or(&Event::None), parts.get(1)),
                // A record is in one block.
                Event::Disjoint { parts, .. } => (parts.first().unwrap_or(&Event::None), None),
                whole => (whole, None),
            };
            let noise = without_curvature(first);
            let part = match plan.blocks {
                Some(_) => "noise in the objective of the record's block",
                None => "noise in the objective",
            };
            list.push(Share { part: part.to_owned(), epsilon: cost(&noise)? });
            if let Some(second) = second {
                let part = "curvature release for standard errors".to_owned();
                list.push(Share { part, epsilon: cost(second)? });
            }
        }
        (Event::Composed(parts), _) => {
            let shortened =
                matches!(plan, Plan::ClippedSgd(plan) if plan.settings.precondition.is_some());
            for (i, event) in parts.iter().enumerate() {
                let part = if shortened && i == 0 {
                    let numbers = !outline.problem.loss.is_classification();
                    let labels = if numbers { ", and label mean" } else { "" };
                    format!("private mean direction and feature scales{labels}")
                } else {
                    words(event)
                };
                list.push(Share { part, epsilon: cost(event)? });
            }
        }
        _ => {}
    }
    list.push(Share { part: "total".to_owned(), epsilon: cost(&outline.event)? });
    Ok(list)
}

/// The event of objective perturbation with the change of variables left out.
fn without_curvature(event: &Event) -> Event {
    let mut event = event.clone();
    let mut at = &mut event;
    loop {
        match at {
            Event::Approximated { inner, .. } => at = inner.as_mut(),
            Event::ObjectivePerturbation { epsilon_det, .. } => {
                *epsilon_det = 0.0;
                break;
            }
            _ => break,
        }
    }
    event
}

fn words(event: &Event) -> String {
    match event {
        Event::BoundedRange { .. } => "private choice of the clip norm".to_owned(),
        Event::PoissonGaussian { steps, .. } => format!("{steps} noisy steps on sampled rows"),
        Event::Gaussian { .. } => "one noisy release".to_owned(),
        _ => "a further release".to_owned(),
    }
}
