//! `auto`: which algorithm with which settings, from public facts alone.
//!
//! Two predictors look at every algorithm: the bound of its theorem, and its runs on simulated
//! tables ([`reticent_optim::simulate`]). The second ranks; the first is shown beside it and
//! decides where nothing can be simulated. Simulations are cached ([`cache`]). The chosen plan is
//! an ordinary one with ordinary settings, so a certificate is checked without any of this.

mod advice;
pub mod cache;
mod choices;
mod curves;
mod limits;
mod risk;
mod split;

pub use reticent_optim::tuning::USEFUL;
use reticent_optim::tuning::{FEWER_PASSES, GAIN_FOR_FEWER_PASSES};
use reticent_optim::{
    Candidate, Plan, PlanError, Settings, Simulated, clipped_sgd, plan_first, plan_named, ranked,
    simulate, simulate_named, simulate_only, why_none,
};
use reticent_privacy::Budget;
use reticent_problem::Problem;
use serde::Serialize;

pub use advice::norm_advice;
pub use choices::default_choices;
pub use curves::with_curves;
pub use limits::weak;
pub use risk::{epsilon_for_risk, keep_risk};
pub use split::{Share, split};

/// How often the number of rows is doubled in the search for one that suffices.
const DOUBLINGS: u32 = 14;

/// The plan of the named algorithm with its own settings where the request leaves them open, or
/// with `auto` the one that did best on simulated tables.
///
/// # Errors
///
/// Why there is no plan; [`PlanError::OutOfRange`] for numbers that no run can use, found before
/// any work.
pub fn choose(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    wanted: &str,
) -> Result<Plan, PlanError> {
    limits::check(problem, budget)?;
    if wanted == "auto" {
        return plan_first(problem, budget, request, &remembered(problem, budget, request));
    }
    plan_named(problem, budget, request, wanted)
}

/// [`choose`] for a table of which every step reads the whole, as a stream and a cluster do: with
/// `auto` the best that `fits`, or one that is nearly as good on simulated tables and reads the
/// table far less often.
///
/// # Errors
///
/// As [`choose`].
pub fn choose_for_passes(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    wanted: &str,
    fits: impl Fn(&Plan) -> bool,
) -> Result<Plan, PlanError> {
    let plan = choose(problem, budget, request, wanted)?;
    if wanted != "auto" || budget.epsilon.is_infinite() && fits(&plan) {
        return Ok(plan);
    }
    let fitting = rank(problem, budget, request, wanted)?.into_iter().filter_map(|candidate| {
        let gain = candidate.prediction.map(|prediction| prediction.gain);
        candidate.plan.ok().filter(&fits).map(|plan| (plan, gain))
    });
    let mut fitting: Vec<(Plan, Option<f64>)> = fitting.collect();
    let Some((best, Some(gain))) = fitting.first() else {
        return Ok(if fitting.is_empty() { plan } else { fitting.swap_remove(0).0 });
    };
    let (least, most) = (gain - GAIN_FOR_FEWER_PASSES, FEWER_PASSES * best.passes());
    let shorter = |(plan, gain): &(Plan, Option<f64>)| {
        plan.passes() <= most && gain.is_some_and(|gain| gain >= least)
    };
    let place = fitting.iter().position(shorter).unwrap_or(0);
    Ok(fitting.swap_remove(place).0)
}

/// Every algorithm's answer, the best first.
///
/// # Errors
///
/// [`PlanError::UnknownAlgorithm`]; why the named algorithm, or any, has no plan: a problem that
/// nothing serves is bad input.
pub fn rank(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    wanted: &str,
) -> Result<Vec<Candidate>, PlanError> {
    limits::check(problem, budget)?;
    if wanted != "auto" {
        let plan = plan_named(problem, budget, request, wanted)?;
        let found = simulate_named(problem, budget, request, wanted);
        let prediction = found.map(|s| s.prediction);
        return Ok(vec![Candidate { algorithm: plan.algorithm(), plan: Ok(plan), prediction }]);
    }
    let list = ranked(problem, budget, request, &remembered(problem, budget, request));
    if list.iter().all(|c| c.plan.is_err()) {
        return Err(why_none(&list));
    }
    Ok(list)
}

/// The expected accuracy of the best plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlook {
    /// The simulated accuracy retained: the share of the gain without privacy.
    pub gain: f64,
    /// Whether that is worth the budget.
    pub useful: bool,
    /// About how many rows would make it so, where it is not; none if not even a great many would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_needed: Option<usize>,
}

impl Outlook {
    /// The same in a sentence.
    pub fn sentence(&self, problem: &Problem, budget: Budget) -> String {
        let (n, d, epsilon) = (problem.rows, problem.dimension(), budget.epsilon);
        let share = 100.0 * self.gain;
        if self.useful {
            return format!(
                "on simulated tables the first retains about {share:.0} % of the accuracy gained without privacy"
            );
        }
        let needed = match self.rows_needed {
            Some(rows) => format!("about n = {rows} would be needed"),
            None => "no number of rows that was tried suffices".to_owned(),
        };
        let best = if share <= 0.0 {
            "the best is no better than a constant answer".to_owned()
        } else {
            format!("the best retains {share:.0} % of the accuracy gained without privacy")
        };
        format!(
            "no useful model is to be expected at n = {n}, {d} weights, epsilon = {epsilon}: on simulated tables {best}; {needed}, or a larger epsilon, or fewer features"
        )
    }
}

/// The expected accuracy of the first of a ranking of the `wanted` algorithms; none if it was not
/// simulated.
pub fn outlook(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    wanted: &str,
    first: &Candidate,
) -> Option<Outlook> {
    let gain = first.prediction.as_ref()?.gain;
    Some(look(problem, budget, request, wanted, gain))
}

/// The expected accuracy of a plan that `auto` chose; none if it was not simulated.
pub fn outlook_of_auto(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    plan: &Plan,
) -> Option<Outlook> {
    let found = remembered(problem, budget, request);
    let gain = found.iter().find(|s| s.algorithm == plan.algorithm())?.prediction.gain;
    Some(look(problem, budget, request, "auto", gain))
}

/// Why nothing is said of how much is kept.
pub fn no_outlook(problem: &Problem) -> &'static str {
    if problem.hidden.is_some() {
        "no prediction: networks are not simulated"
    } else if !(problem.bounds.norm().is_finite() && problem.bounds.label().is_finite()) {
        "no prediction: simulated tables need a bound on the rows' norm and labels"
    } else {
        "no prediction: on simulated tables of this shape nothing can be learned, or a run would take too long"
    }
}

fn look(problem: &Problem, budget: Budget, request: &Settings, wanted: &str, gain: f64) -> Outlook {
    if gain >= USEFUL {
        return Outlook { gain, useful: true, rows_needed: None };
    }
    let suffices = |doublings: u32| {
        let larger = Problem { rows: doubled(problem.rows, doublings), ..problem.clone() };
        let found = match wanted {
            // Clipped SGD serves nearly everywhere and stands in for all: trying each takes longer.
            "auto" => simulate_only(&larger, budget, request, clipped_sgd::NAME)
                .or_else(|| remembered(&larger, budget, request).into_iter().next()),
            name => simulate_named(&larger, budget, request, name),
        };
        found.is_some_and(|s| s.prediction.gain >= USEFUL)
    };
    let (mut low, mut high) = (0, DOUBLINGS);
    if !suffices(high) {
        return Outlook { gain, useful: false, rows_needed: None };
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if suffices(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Outlook { gain, useful: false, rows_needed: Some(doubled(problem.rows, high)) }
}

fn doubled(rows: usize, times: u32) -> usize {
    rows.saturating_mul(1 << times)
}

/// The settings with which a choice plans this algorithm for these facts, and the gain with them:
/// those that the simulation found, or the request's own, of which no gain is known.
fn settings_of(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    wanted: &str,
    algorithm: &str,
) -> (Settings, f64) {
    let simulated =
        if wanted == "auto" { remembered(problem, budget, request) } else { Vec::new() };
    let own = simulated.into_iter().find(|s| s.algorithm == algorithm);
    own.map_or_else(|| (request.clone(), f64::NAN), |s| (s.settings, s.prediction.gain))
}

fn remembered(problem: &Problem, budget: Budget, request: &Settings) -> Vec<Simulated> {
    cache::recall(problem, budget, request, || simulate(problem, budget, request))
}
