//! Risk in place of epsilon: the largest epsilon whose plan keeps it.

use reticent_optim::{Plan, Settings};
use reticent_privacy::risk::Risk;
use reticent_privacy::{Budget, Delta, Epsilon, PrivacyError, gaussian};
use reticent_problem::Problem;

use super::{choose, settings_of};
use crate::Error;

/// The epsilon, at this delta, of Gaussian noise that just keeps the risk: where a search begins,
/// and what choices that need a rough epsilon are made by.
///
/// # Errors
///
/// A risk that says nothing, and a delta of zero, at which Gaussian noise has no epsilon.
pub fn epsilon_for_risk(risk: Risk, delta: Delta) -> Result<Epsilon, Error> {
    if delta == Delta::ZERO {
        return Err(Error::Arguments(
            "`delta` must be > 0 where a risk is given in place of epsilon; leave it out for the default",
        ));
    }
    let epsilon = gaussian::epsilon_upper(risk.gaussian_mu()?, delta.get())?;
    Ok(Epsilon::new(four_digits(epsilon))?)
}

/// The plan that keeps the risk: its event's own trade-off curve is bounded, from above. `choose`
/// is the choice that a budget makes, as [`super::choose`] for `wanted`, and `start` a budget at
/// about the epsilon that is sought ([`epsilon_for_risk`]).
///
/// Epsilon has four digits. At the same epsilon, algorithms keep different risks. So for the one
/// that is chosen at the start the largest epsilon that keeps the risk is searched for, with the
/// settings that the simulation finds for it there. Where at that epsilon another is chosen, that
/// one is asked too, and so on; of those asked, the one with the largest simulated gain at its own
/// epsilon is returned. Where the choice agrees with the search, it is the plan that its epsilon
/// alone would have made.
///
/// # Errors
///
/// Why there is no plan; [`PrivacyError::Unreachable`] if no epsilon that was tried keeps the risk.
pub fn keep_risk<E: Into<Error>>(
    problem: &Problem,
    risk: Risk,
    start: Budget,
    (request, wanted): (&Settings, &str),
    choose: impl Fn(Budget) -> Result<Plan, E>,
) -> Result<Plan, Error> {
    let mut asked: Vec<&str> = Vec::new();
    let mut best: Option<(Plan, f64)> = None;
    let mut plan = choose(start).map_err(Into::into)?;
    while !asked.contains(&plan.algorithm()) {
        asked.push(plan.algorithm());
        let at = plan.outline().budget;
        let (kept, gain) = match settled(problem, risk, at, (request, wanted), plan.algorithm()) {
            Ok(found) => found,
            Err(_) if best.is_some() => break,
            Err(error) => return Err(error),
        };
        plan = choose(kept.outline().budget).map_err(Into::into)?;
        if best.as_ref().is_none_or(|(_, most)| gain > *most) {
            best = Some((kept, gain));
        }
    }
    Ok(best.ok_or_else(|| unreachable(plan.algorithm()))?.0)
}

/// The plan of one algorithm at the largest epsilon that keeps the risk, with the settings of that
/// epsilon, and its simulated gain; not a number where it was not simulated.
fn settled(
    problem: &Problem,
    risk: Risk,
    start: Budget,
    (request, wanted): (&Settings, &str),
    algorithm: &'static str,
) -> Result<(Plan, f64), Error> {
    const TURNS: usize = 4;
    let at = |budget| settings_of(problem, budget, request, wanted, algorithm);
    let (mut settings, _) = at(start);
    let (mut good, mut last) = (None, None);
    let mut budget = start;
    for _ in 0..TURNS {
        let found = search(problem, risk, budget, &settings, algorithm)?;
        budget = found.outline().budget;
        let (again, gain) = at(budget);
        if again == settings {
            return Ok((found, gain));
        }
        let plan = choose(problem, budget, &again, algorithm)?;
        if risk.upper(&plan.outline().event)? <= risk.most() {
            good = Some((plan, gain));
        }
        (last, settings) = (Some((found, gain)), again);
    }
    Ok(good.or(last).ok_or_else(|| unreachable(algorithm))?)
}

/// The plan of the algorithm, with these settings, at the largest epsilon that keeps the risk.
fn search(
    problem: &Problem,
    risk: Risk,
    start: Budget,
    settings: &Settings,
    algorithm: &'static str,
) -> Result<Plan, Error> {
    const ROUNDS: usize = 40;
    /// How near the risk must come to what is allowed, relatively.
    const NEAR: f64 = 2e-3;
    let excess = |epsilon: f64| -> Result<(Plan, f64), Error> {
        let budget = Budget { epsilon: Epsilon::new(epsilon)?, ..start };
        let plan = choose(problem, budget, settings, algorithm)?;
        let excess = (risk.upper(&plan.outline().event)? / risk.most()).ln();
        Ok((plan, excess))
    };
    let mut epsilon = start.epsilon.get();
    let (mut good, mut bad): (Option<(Plan, f64)>, Option<f64>) = (None, None);
    for _ in 0..ROUNDS {
        epsilon = four_digits(epsilon);
        let (plan, at) = excess(epsilon)?;
        if at <= 0.0 {
            good = Some((plan, epsilon));
            if at >= -NEAR {
                break;
            }
        } else {
            bad = Some(epsilon);
        }
        let next = match (&good, bad) {
            (Some((_, low)), Some(high)) => (low * high).sqrt(),
            // About proportional to epsilon.
            (Some((_, low)), None) => low * (-1.2 * at).exp().max(1.01),
            (None, _) => epsilon * (-1.2 * at).exp().min(0.99),
        };
        let tried = |e: Option<f64>| e.is_some_and(|e| four_digits(next) == e);
        if tried(bad) || tried(good.as_ref().map(|(_, e)| *e)) {
            break;
        }
        epsilon = next;
    }
    Ok(good.ok_or_else(|| unreachable(algorithm))?.0)
}

fn unreachable(algorithm: &str) -> PrivacyError {
    PrivacyError::Unreachable {
        name: "epsilon",
        reason: format!("no epsilon that was tried keeps the risk with {algorithm}"),
    }
}

/// The number with four significant digits, rounded down.
fn four_digits(x: f64) -> f64 {
    let near: f64 = format!("{x:.3e}").parse().unwrap_or(x);
    if near <= x {
        return near;
    }
    // Of x itself: the rounded number may begin another decade.
    let unit = 10_f64.powi(x.log10().floor() as i32 - 3);
    format!("{:.3e}", near - unit).parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use reticent_optim::PlanError;
    use reticent_privacy::{Adjacency, Budget};
    use reticent_problem::{Loss, RowBounds};

    use super::*;
    use crate::planner::rank;

    #[test]
    fn the_plan_keeps_the_risk_and_a_larger_epsilon_does_not() {
        let problem = Problem::new(Loss::Logistic, RowBounds::new(1.0, 1.0).unwrap(), 5000, 8);
        let request = Settings::default();
        for risk in [
            Risk::Advantage { most: 0.1 },
            Risk::TruePositiveRate { most: 0.1, false_positive_rate: 0.01 },
        ] {
            let delta = Delta::new(1e-6).unwrap();
            let epsilon = epsilon_for_risk(risk, delta).unwrap();
            let budget = Budget { epsilon, delta, adjacency: Adjacency::ReplaceOne };
            for name in ["output-gd", "objective"] {
                let choose = |budget| choose(&problem, budget, &request, name);
                let plan = keep_risk(&problem, risk, budget, (&request, name), choose).unwrap();
                let found = risk.upper(&plan.outline().event).unwrap();
                // The grid of the trade-off curve moves its bound by up to two percent.
                assert!(found <= risk.most() && found > 0.98 * risk.most(), "{name}: {found}");
                let epsilon = plan.outline().budget.epsilon.get();
                assert!((four_digits(epsilon) - epsilon).abs() < 1e-12 * epsilon, "{epsilon}");
            }
        }
    }

    /// The settings that the simulation found, not the algorithm's own, and at the epsilon that was
    /// found, not where the search began.
    #[test]
    fn the_plan_is_the_one_that_the_epsilon_alone_would_choose() {
        let problem = Problem::new(Loss::Logistic, RowBounds::new(2.0, 1.0).unwrap(), 5000, 12);
        let (risk, request) = (Risk::Advantage { most: 0.2 }, Settings::default());
        let delta = Delta::new(1e-6).unwrap();
        let start = epsilon_for_risk(risk, delta).unwrap();
        let start = Budget { epsilon: start, delta, adjacency: Adjacency::ReplaceOne };
        let auto = |budget| choose(&problem, budget, &request, "auto");
        let plan = keep_risk(&problem, risk, start, (&request, "auto"), auto).unwrap();
        let budget = plan.outline().budget;
        assert!(risk.upper(&plan.outline().event).unwrap() <= risk.most());
        let (settings, _) = settings_of(&problem, budget, &request, "auto", plan.algorithm());
        assert_eq!(plan, choose(&problem, budget, &settings, plan.algorithm()).unwrap());
        let again = auto(budget).unwrap();
        assert!(again == plan || again.algorithm() != plan.algorithm(), "{again:?}");
        let untuned = choose(&problem, budget, &request, plan.algorithm()).unwrap();
        assert_ne!(plan, untuned, "the simulation found no settings: the test shows nothing");
        // A choice that leaves algorithms out leaves them out.
        let without = |budget: Budget| -> Result<Plan, PlanError> {
            let list = rank(&problem, budget, &request, "auto")?.into_iter();
            let mut plans = list.filter_map(|candidate| candidate.plan.ok());
            let other = plans.find(|other| other.algorithm() != plan.algorithm());
            Ok(other.expect("several algorithms have a plan"))
        };
        let other = keep_risk(&problem, risk, start, (&request, "auto"), without).unwrap();
        assert!(risk.upper(&other.outline().event).unwrap() <= risk.most());
        assert_ne!(other.algorithm(), plan.algorithm());
    }

    /// Objective perturbation keeps a risk at a smaller epsilon than noisy steps: where the choice
    /// turns with epsilon, the better one at its own epsilon is taken.
    #[test]
    fn what_is_allowed_is_used_though_the_choice_turns() {
        let problem = Problem::new(Loss::Logistic, RowBounds::new(2.0, 1.0).unwrap(), 5000, 21);
        let request = Settings::default();
        let delta = Delta::new(1e-6).unwrap();
        for most in [0.05, 0.15, 0.4] {
            let risk = Risk::Advantage { most };
            let start = epsilon_for_risk(risk, delta).unwrap();
            let start = Budget { epsilon: start, delta, adjacency: Adjacency::ReplaceOne };
            let auto = |budget| choose(&problem, budget, &request, "auto");
            let plan = keep_risk(&problem, risk, start, (&request, "auto"), auto).unwrap();
            let found = risk.upper(&plan.outline().event).unwrap();
            assert!(found <= most && found > 0.95 * most, "{found} of {most}");
        }
    }

    #[test]
    fn four_digits_never_round_up() {
        for (x, expected) in
            [(1.0, 1.0), (0.123_49, 0.1234), (0.123_46, 0.1234), (9.999_99, 9.999), (1e-3, 1e-3)]
        {
            assert!((four_digits(x) / expected - 1.0).abs() < 1e-12, "{x}: {}", four_digits(x));
        }
    }
}
