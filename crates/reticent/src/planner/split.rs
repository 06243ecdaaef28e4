//! Where a plan's budget goes, before any of it is spent.

use std::fmt;

use reticent_optim::Plan;
use reticent_privacy::{Event, PrivacyError, epsilon_upper};
use serde::Serialize;

/// One part of a plan and what it would cost alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// What is done.
    pub part: String,
    /// What it costs at the budget's delta, were it alone; the parts together cost less than their sum. None if nothing is
    /// promised.
    pub epsilon: Option<f64>,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.epsilon {
            Some(epsilon) => write!(f, "{}: epsilon = {epsilon:.4}", self.part),
            None => write!(f, "{}: no limit", self.part),
        }
    }
}

/// The parts of a plan's event, in order, and last all of them together.
///
/// # Errors
///
/// Whatever the accountant refuses.
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
        }
        (Event::Composed(parts), _) => {
            let shortened =
                matches!(plan, Plan::ClippedSgd(plan) if plan.settings.keep_common.is_some());
            for (i, event) in parts.iter().enumerate() {
                let part = if shortened && i == 0 {
                    let numbers = !outline.problem.loss.is_classification();
                    let labels = if numbers { ", and the mean of their labels" } else { "" };
                    format!(
                        "what rows have in common: a direction, and their features' sizes{labels}"
                    )
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

fn words(event: &Event) -> String {
    match event {
        Event::BoundedRange { .. } => "private choice of the clip norm".to_owned(),
        Event::PoissonGaussian { steps, .. } => format!("{steps} noisy steps on sampled rows"),
        Event::Gaussian { .. } => "one noisy release".to_owned(),
        _ => "a further release".to_owned(),
    }
}
