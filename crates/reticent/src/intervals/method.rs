//! Which way to intervals: that with the narrower expected ones.

use reticent_optim::objective::NAME;
use reticent_optim::objective::blocks::{INTERVAL_METHOD, IntervalMethod};
use reticent_optim::objective::curvature::CURVATURE_SHARE;
use reticent_optim::{Settings, plan_named};
use reticent_privacy::Budget;
use reticent_problem::Problem;

use super::{ExpectedIntervals, Outcome, asks_for_intervals, expected_intervals};
use crate::{Error, Task};

/// Both methods.
const METHODS: [IntervalMethod; 2] = [IntervalMethod::Curvature, IntervalMethod::Blocks];

/// What each method is expected to give, of those that have a plan and whose outcome can be told.
/// Reads no data.
///
/// # Errors
///
/// As [`Task::layout`].
pub fn expected_of_each_method(
    task: &Task,
    problem: &Problem,
    budget: Budget,
    settings: &Settings,
) -> Result<Vec<ExpectedIntervals>, Error> {
    let mut each = Vec::new();
    for method in METHODS {
        let settings = settings.clone().with(&INTERVAL_METHOD, method);
        // A method without a plan is not expected to give anything.
        if let Ok(plan) = plan_named(problem, budget, &settings, NAME) {
            each.extend(expected_intervals(task, &plan)?);
        }
    }
    Ok(each)
}

/// Settings that ask for intervals and not for a method, with that whose intervals are expected to
/// be the narrower; the same settings where a method or a share for the curvature is given, and
/// where only one has a plan or its outcome cannot be told. Reads no data.
///
/// # Errors
///
/// As [`Task::layout`].
pub fn with_interval_method(
    task: &Task,
    problem: &Problem,
    budget: Budget,
    settings: Settings,
) -> Result<Settings, Error> {
    if !asks_for_intervals(&settings)
        || settings.has(&INTERVAL_METHOD)
        || settings.has(&CURVATURE_SHARE)
    {
        return Ok(settings);
    }
    match &expected_of_each_method(task, problem, budget, &settings)?[..] {
        [first, second] if narrower(second, first) => {
            Ok(settings.with(&INTERVAL_METHOD, second.method))
        }
        _ => Ok(settings),
    }
}

/// Whether one is expected to have the narrower intervals: of a surer outcome, or by the mean
/// logarithm of the widths.
fn narrower(one: &ExpectedIntervals, other: &ExpectedIntervals) -> bool {
    let sure = |expected: &ExpectedIntervals| match expected.outcome {
        Outcome::All => 2,
        Outcome::Perhaps => 1,
        Outcome::None => 0,
    };
    if sure(one) != sure(other) {
        return sure(one) > sure(other);
    }
    let width = |expected: &ExpectedIntervals| -> f64 {
        let all = expected.half_widths.iter();
        all.map(|(_, half)| half.map_or(f64::INFINITY, f64::ln)).sum()
    };
    width(one) < width(other)
}
