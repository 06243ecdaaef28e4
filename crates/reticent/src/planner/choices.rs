//! The default candidates of a private selection: settings around the planner's own.

use reticent_optim::setting::{DISTANCE, RIDGE};
use reticent_optim::{Choice, Selection, Settings};
use reticent_privacy::Budget;
use reticent_problem::Problem;

use super::rank;

/// Algorithms that are tried.
const ALGORITHMS: usize = 3;

/// Multiples of the planned ridge that are tried beside it.
const RIDGES: [f64; 2] = [0.1, 10.0];

/// Distances of the solution that are tried.
const DISTANCES: [f64; 3] = [1.0, 4.0, 16.0];

/// The planner's first algorithms that can be chosen among, of those that are `wanted`, each with
/// its own settings, other ridges and other distances where the request leaves them open. Reads no
/// row.
pub fn default_choices(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    wanted: &str,
) -> Vec<Choice> {
    let mut list = Vec::new();
    let mut algorithms = 0;
    for candidate in rank(problem, budget, request, wanted).unwrap_or_default() {
        let Ok(plan) = &candidate.plan else { continue };
        if algorithms == ALGORITHMS || !Selection::can_try(plan) {
            continue;
        }
        algorithms += 1;
        let ridge = plan.ridge();
        let mut requests = vec![request.clone()];
        if ridge > 0.0 && !request.has(&RIDGE) {
            requests.extend(RIDGES.map(|factor| request.clone().with(&RIDGE, factor * ridge)));
        }
        if !request.has(&DISTANCE) {
            requests.extend(DISTANCES.map(|distance| request.clone().with(&DISTANCE, distance)));
        }
        let choices = requests.into_iter().map(|request| Choice {
            problem: problem.clone(),
            algorithm: candidate.algorithm.to_owned(),
            request,
        });
        list.extend(choices.filter(|choice| choice.plan(budget).is_ok()));
    }
    list
}
