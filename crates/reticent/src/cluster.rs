//! Which plans can run on a cluster.
//!
//! Rows there are numbered by a hash of what they hold, so a row that is replaced may shift the numbers of all others
//! ([`reticent_data::cluster`]). A plan is let in if the law of its release depends on the rows as a set: sums over all rows,
//! Poisson batches, uniform batches of one size, uniform orders. The list names who is in, so that a new algorithm stays out until
//! somebody has thought about it.

use reticent_data::OracleError;
use reticent_optim::{Plan, Request, candidates, choose};
use reticent_privacy::Budget;
use reticent_problem::Problem;

use crate::Error;

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

/// The plan of the named algorithm, or with `auto` of the first that has one and can run on a cluster. Reads no data.
///
/// # Errors
///
/// As [`choose`] and [`check_cluster`].
pub fn choose_for_cluster(
    problem: &Problem,
    budget: Budget,
    request: &Request,
    wanted: &str,
) -> Result<Plan, Error> {
    let plan = choose(problem, budget, request, wanted)?;
    if wanted == "auto" && check_cluster(&plan).is_err() {
        let plans = candidates(problem, budget, request).into_iter().filter_map(|c| c.plan.ok());
        if let Some(other) = plans.into_iter().find(|plan| check_cluster(plan).is_ok()) {
            return Ok(other);
        }
    }
    check_cluster(&plan)?;
    Ok(plan)
}
