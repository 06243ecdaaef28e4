//! One run with many canaries.

use reticent::audit::one_run::{OneRun, OneRunFinding, attack};
use reticent::audit::{Audited, Claim};
use reticent::optim::clipped_sgd::{Clip, Output};
use reticent::optim::{ClippedSgd, ObjectivePerturbation, OutputGd, Plan, Quiet};
use reticent::privacy::{Adjacency, Budget};
use reticent::problem::{Loss, Problem, RowBounds};

use crate::audit::support::{altered, budget, planned, saturated};

const CANARIES: usize = 400;

fn run(audited: &dyn Audited, claim: &Claim, seed: u64) -> OneRunFinding {
    let settings = OneRun { canaries: CANARIES, confidence: 0.999, seed: Some(seed) };
    attack(audited, claim, settings, &Quiet).unwrap()
}

fn output_gd(features: usize) -> Plan {
    let settings = OutputGd { steps: Some(3), ..OutputGd::default() };
    let budget = budget(2.0, 1e-7, Adjacency::ReplaceOne);
    planned(&settings, &saturated(CANARIES, features), budget, Plan::OutputGd)
}

fn objective() -> Plan {
    let settings = ObjectivePerturbation { extra_ridge: Some(50.0), ..Default::default() };
    let budget = budget(2.0, 1e-7, Adjacency::ReplaceOne);
    planned(&settings, &saturated(CANARIES, CANARIES), budget, Plan::Objective)
}

fn clipped_sgd(loss: Loss, budget: Budget) -> Plan {
    let settings = ClippedSgd {
        clip: Clip::Public { norm: 1.0 },
        batch: Some(CANARIES as u64),
        steps: Some(2),
        eta: Some(1e-9),
        output: Some(Output::Last),
        ..ClippedSgd::default()
    };
    let bounds = RowBounds::features(100.0).unwrap();
    let problem = Problem::new(loss, bounds, CANARIES, CANARIES);
    planned(&settings, &problem, budget, Plan::ClippedSgd)
}

/// The odds of a false alarm are 1e-3 for each of some thirty runs, over seeds.
#[test]
fn sound_runs_are_below_the_claim_and_a_tenth_of_the_noise_is_caught() {
    let sigma = "/noise_multiplier";
    let softmax = Loss::Softmax { classes: 3 };
    for (plan, noise) in [
        (output_gd(CANARIES), "/noise/noise_multiplier"),
        (objective(), "/sigma"),
        (clipped_sgd(Loss::Logistic, budget(2.0, 1e-7, Adjacency::AddRemoveOne)), sigma),
        (clipped_sgd(Loss::Logistic, budget(2.0, 1e-7, Adjacency::ReplaceOne)), sigma),
        (clipped_sgd(Loss::Logistic, budget(2.0, 1e-7, Adjacency::ZeroOut)), sigma),
        (clipped_sgd(softmax, budget(2.0, 1e-7, Adjacency::ReplaceOne)), sigma),
    ] {
        let claim = Claim::of(&plan).unwrap();
        for seed in 0..5 {
            let sound = run(&plan, &claim, seed);
            assert!(!sound.violated && sound.guesses <= CANARIES as u64, "{sound:?}");
        }
        let broken = altered(&plan, noise, |s| (0.1 * s.as_f64().unwrap()).into());
        let caught = run(&broken, &claim, 7);
        assert!(caught.violated, "{caught:?}");
    }
}

/// With more canaries than features they hide one another; the bound holds all the same.
#[test]
fn more_canaries_than_features_are_below_the_claim() {
    let plan = output_gd(CANARIES / 2);
    let claim = Claim::of(&plan).unwrap();
    for seed in 0..5 {
        let sound = run(&plan, &claim, seed);
        assert!(!sound.violated, "{sound:?}");
    }
    let silent = altered(&plan, "/noise", |_| crate::audit::support::no_noise());
    let shown = run(&silent, &claim, 7);
    assert!(shown.epsilon_lower > 0.5, "{shown:?}");
}

#[test]
fn what_cannot_be_audited_in_one_run_is_refused() {
    let plan = output_gd(4);
    let claim = Claim::of(&plan).unwrap();
    let refused = |claim: &Claim, canaries, confidence| {
        let settings = OneRun { canaries, confidence, seed: Some(1) };
        attack(&plan, claim, settings, &Quiet).unwrap_err().to_string()
    };
    assert!(refused(&claim, 1, 0.9).contains("`canaries` must be between 2 and n = 400"));
    assert!(refused(&claim, 401, 0.9).contains("`canaries`"));
    assert!(refused(&claim, 10, 1.0).contains("`confidence`"));
    let network = Problem { hidden: Some(3), ..claim.problem.clone() };
    assert!(refused(&Claim { problem: network, ..claim }, 10, 0.9).contains("`hidden`"));
}
