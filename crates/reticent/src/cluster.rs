//! Which plans can run on a cluster.
//!
//! Rows there are numbered by a hash of what they hold, so a row that is replaced may shift the
//! numbers of all others ([`reticent_data::cluster`]). A plan is let in if the law of its release
//! depends on the rows as a set: sums over all rows, Poisson batches, uniform batches of one size,
//! uniform orders. The list names who is in, so that a new algorithm stays out until somebody has
//! thought about it.

use reticent_data::OracleError;
use reticent_optim::{Plan, Settings};
use reticent_privacy::Budget;
use reticent_problem::Problem;

use crate::Error;
use crate::planner::choose_for_passes;

/// Steps of a plan that `auto` takes: each is a job of a good part of a second.
const MOST_JOBS: u64 = 20_000;

/// Whether a plan can run on a cluster.
///
/// # Errors
///
/// [`OracleError::Scattered`], with algorithms that can. Nothing has been read or spent.
pub fn check_cluster(plan: &Plan) -> Result<(), Error> {
    let fits = match plan {
        Plan::Objective(_)
        | Plan::OutputGd(_)
        | Plan::GradientSgd(_)
        | Plan::RandomRound(_)
        | Plan::NoisySgd(_)
        | Plan::ClippedSgd(_)
        | Plan::Mirror(_)
        | Plan::CoordinateMean(_)
        | Plan::ShuffledMirror(_) => true,
        Plan::LeastSquares(_) => !plan.any_order(),
        _ => false,
    };
    if fits { Ok(()) } else { Err(OracleError::Scattered { got: plan.algorithm() }.into()) }
}

/// The plan of the named algorithm, or with `auto` one that can run on a cluster. Reads no data.
///
/// # Errors
///
/// As [`choose_for_passes`] and [`check_cluster`].
pub fn choose_for_cluster(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    wanted: &str,
) -> Result<Plan, Error> {
    let fits = |plan: &Plan| check_cluster(plan).is_ok() && plan.outline().steps <= MOST_JOBS;
    let plan = choose_for_passes(problem, budget, request, wanted, fits)?;
    check_cluster(&plan)?;
    Ok(plan)
}
