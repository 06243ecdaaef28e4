//! The auditor against every algorithm: it stays below the claim, comes near it where one noise draw is all there is, and
//! catches copies that are broken on purpose.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use reticent::audit::{Attack, Finding, attack};
use reticent::optim::output_gd::NoiseChoice;
use reticent::optim::{Plan, Quiet, Request, candidates};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::{Loss, Problem, RowBounds};

/// The noise is seeded, so a check has the same outcome every time; over seeds it would err once in a hundred.
const CONFIDENCE: f64 = 0.99;

fn plan(algorithm: &str, problem: &Problem, adjacency: Adjacency, request: &Request) -> Plan {
    let budget =
        Budget { epsilon: Epsilon::new(1.0).unwrap(), delta: Delta::new(1e-3).unwrap(), adjacency };
    let list = candidates(problem, budget, request);
    list.into_iter().find(|c| c.algorithm == algorithm).unwrap().plan.unwrap()
}

/// A loss whose slope is at its bound on both sides, so that a canary and its opposite move a step as far as can be.
fn saturated(rows: usize) -> Problem {
    let loss = Loss::Huber { threshold: 0.1 };
    Problem::new(loss, RowBounds::new(1.0, 1.0).unwrap(), rows, 2)
}

fn run(plan: &Plan, claim: &Plan, runs: usize) -> Finding {
    let settings = Attack { runs, confidence: CONFIDENCE, seed: Some(11), map: None };
    attack(plan, claim, settings, &Quiet).unwrap()
}

/// The plan with the number at a JSON pointer multiplied.
fn altered(plan: &Plan, pointer: &str, factor: f64) -> Plan {
    let mut value = serde_json::to_value(plan).unwrap();
    let field = value.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}"));
    *field = (field.as_f64().unwrap() * factor).into();
    serde_json::from_value(value).unwrap()
}

/// The claim stands, and a broken copy is caught.
fn check(plan: &Plan, pointer: &str, factor: f64, runs: usize) -> Finding {
    let sound = run(plan, plan, runs);
    assert!(!sound.violated, "{sound:?}");
    let broken = run(&altered(plan, pointer, factor), plan, runs);
    assert!(broken.violated, "not caught: {broken:?}");
    sound
}

/// The attack gets within `share` of the claim, so that little noise is wasted. For Gaussian releases only.
fn close(finding: &Finding, share: f64) {
    let range = share * finding.epsilon_claimed..=finding.epsilon_claimed;
    assert!(range.contains(&finding.epsilon_lower_gdp), "{finding:?}");
}

#[test]
fn output_gd_with_gaussian_noise() {
    let noise = NoiseChoice::Gaussian;
    let request = Request { steps: Some(5), ridge: Some(0.0), noise, ..Request::default() };
    let plan = plan("output-gd", &saturated(20), Adjacency::ReplaceOne, &request);
    close(&check(&plan, "/noise/noise_multiplier", 0.33, 30_000), 0.6);
}

#[test]
fn output_gd_with_ball_noise() {
    let noise = NoiseChoice::Ball;
    let request = Request { steps: Some(5), ridge: Some(0.0), noise, ..Request::default() };
    let plan = plan("output-gd", &saturated(20), Adjacency::ReplaceOne, &request);
    check(&plan, "/sensitivity", 0.33, 30_000);
}
