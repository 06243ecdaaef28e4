//! Checks that algorithms for linear models with a public number of rows share.

use reticent_privacy::Budget;
use reticent_problem::Problem;
use reticent_problem::geometry::Domain;

use crate::PlanError;

/// Refuses what none of them can serve: networks, a ridge, a budget without noise or without delta,
/// an adjacency that changes the number of rows.
pub(crate) fn check(
    algorithm: &'static str,
    problem: &Problem,
    budget: Budget,
) -> Result<(), PlanError> {
    let refuse = |why: &str| Err(PlanError::NotApplicable { algorithm, why: why.to_owned() });
    if problem.hidden.is_some() {
        return refuse("needs a linear model; leave `hidden` out");
    }
    if problem.ridge > 0.0 {
        return refuse(
            "keeps weights small by a set or a distance, not by a ridge; leave `ridge` out",
        );
    }
    if !budget.adjacency.records_are_public() {
        return refuse(
            "is proven for replace-one and zero-out adjacency: the number of rows is public and fixes the batches",
        );
    }
    if budget.epsilon.is_infinite() {
        return refuse("adds noise in every step and needs a finite `epsilon`; try output-gd");
    }
    if budget.delta.get() == 0.0 {
        return refuse(
            "has Gaussian noise, for which `delta` must be > 0; pure DP is not available",
        );
    }
    Ok(())
}

/// A setting that must be a finite number above zero.
pub(crate) fn positive(name: &'static str, value: Option<f64>) -> Result<(), PlanError> {
    match value {
        Some(got) if !(got.is_finite() && got > 0.0) => {
            Err(PlanError::OutOfRange { name, expected: "a finite number > 0".to_owned(), got })
        }
        _ => Ok(()),
    }
}

/// A number of steps within `most`.
pub(crate) fn steps(steps: Option<u64>, most: u64) -> Result<(), PlanError> {
    match steps {
        Some(got) if !(1..=most).contains(&got) => Err(PlanError::OutOfRange {
            name: "steps",
            expected: format!("a whole number from 1 to {most}"),
            got: got as f64,
        }),
        _ => Ok(()),
    }
}

/// The exponent of the norm that suits a set: its own, where mirror descent has one, else two.
pub(crate) fn natural_exponent(domain: &Domain) -> f64 {
    match domain {
        Domain::L1 { .. } | Domain::Simplex { .. } => 1.0,
        Domain::Lp { p, .. } => p.min(2.0),
        _ => 2.0,
    }
}

/// The exponent that was asked for, or the natural one; between one and two.
pub(crate) fn exponent(p: Option<f64>, natural: f64) -> Result<f64, PlanError> {
    let p = p.unwrap_or(natural);
    if (1.0..=2.0).contains(&p) {
        return Ok(p);
    }
    Err(PlanError::OutOfRange {
        name: "p",
        expected: "between 1 and 2 (above 2 use phased or coordinate-mean)".to_owned(),
        got: p,
    })
}

/// `points` numbers from `low` to `high` in equal ratios.
pub(crate) fn log_grid(low: f64, high: f64, points: u32) -> impl Iterator<Item = f64> {
    let ratio = (high / low).ln() / f64::from(points - 1);
    (0..points).map(move |i| low * (ratio * f64::from(i)).exp())
}

/// Whole numbers from one to `most` in about equal ratios.
pub(crate) fn step_grid(most: u64, points: u32) -> Vec<u64> {
    let mut grid: Vec<u64> = log_grid(1.0, most.max(2) as f64, points)
        .map(|t| (t.round() as u64).clamp(1, most.max(1)))
        .collect();
    grid.dedup();
    grid
}
