//! Rows with weights: who plans for them, and with which noise.

use reticent_optim::{ALGORITHMS, PlanError, Settings, WeightSupport, plan_named};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent_problem::{Domain, Loss, Problem, RowBounds};

fn plan(problem: &Problem, name: &str) -> Result<reticent_optim::Plan, PlanError> {
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
    let budget = Budget { epsilon, delta, adjacency: Adjacency::ReplaceOne };
    plan_named(problem, budget, &Settings::default(), name)
}

#[test]
fn the_noise_is_that_of_rows_without_weights_or_the_plan_is_refused() {
    let bounds = RowBounds::features(1.0).unwrap();
    let domain = Domain::Ball { radius: 2.0 };
    let plain = Problem { domain, ..Problem::new(Loss::Logistic, bounds, 2000, 5) };
    let weighted = Problem { weighted: true, ..plain.clone() };
    for info in ALGORITHMS {
        let (with, without) = (plan(&weighted, info.name), plan(&plain, info.name));
        if let WeightSupport::Refused(why) = info.weights {
            let message = with.unwrap_err().to_string();
            assert!(message.starts_with(info.name), "{message}");
            assert!(message.contains(why) && message.contains("clipped-sgd"), "{message}");
            continue;
        }
        let (Ok(with), Ok(without)) = (&with, &without) else {
            assert!(with.is_err() && without.is_err(), "{}", info.name);
            continue;
        };
        // More rounding is charged for, and nothing else.
        let ratio = with.outline().noise_deviation / without.outline().noise_deviation;
        assert!((1.0..1.0 + 1e-6).contains(&ratio), "{}: {ratio}", info.name);
        assert_eq!(with.outline().event.adjacency(), without.outline().event.adjacency());
        assert_eq!(with.again().unwrap(), *with);
        let said = |plan: &reticent_optim::Plan| {
            plan.assumptions().iter().any(|a| a.statement.contains("largest weight"))
        };
        assert!(said(with) && !said(without), "{}", info.name);
    }
}
