//! Runs that are interrupted and go on, for every algorithm whose states may be kept.

use std::collections::BTreeSet;

use rand_core::Rng as _;
use reticent_data::{Dense, Features, LocalOracle, Rows, Speed};
use reticent_noise::{Purpose, Source};
use reticent_optim::{ALGORITHMS, Plan, Quiet, RunError, Settings, plan_named};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent_problem::{Domain, Loss, Problem, RowBounds};
use serde_json::{Value, json};

const ROWS: usize = 400;

/// The algorithms with noise in each step, and those that keep nothing.
const KEPT: [&str; 6] =
    ["clipped-sgd", "coordinate-mean", "gradient-sgd", "mirror", "noisy-sgd", "random-round"];

/// A problem that the algorithm supports.
fn problem_for(name: &str) -> Problem {
    let loss = if name == "least-squares" { Loss::Squared } else { Loss::Logistic };
    let problem = Problem::new(loss, RowBounds::features(1.0).unwrap(), ROWS, 3);
    let domain = match name {
        "random-round" | "least-squares" => Domain::Unbounded,
        _ => Domain::Ball { radius: 2.0 },
    };
    Problem { domain, ..problem }
}

fn oracle() -> LocalOracle {
    let numbers = (0..3 * ROWS).map(|i| (i as f64 * 0.37).sin() / 3_f64.sqrt()).collect();
    let labels = (0..ROWS).map(|i| if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
    let features = Features::F64(Dense::new(ROWS, 3, numbers));
    let rows = Rows::new(features, labels, RowBounds::features(1.0).unwrap());
    LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap()
}

fn plan(name: &str, epsilon: f64) -> Plan {
    let budget = Budget {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(1e-5).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    };
    let plan = plan_named(&problem_for(name), budget, &Settings::default(), name);
    plan.unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn seeded(seed: u64) -> Source {
    Source::seeded_not_private(seed)
}

/// The states of a whole run, and its weights.
fn states(plan: &Plan, from: Option<&Value>, source: &Source) -> (Vec<(u64, Value)>, Vec<f64>) {
    let mut seen = Vec::new();
    let release = plan.go_on(from, &oracle(), source, &Quiet, &mut |at| {
        let state = at.state()?;
        assert_eq!(plan.standing(&state), Some((at.step, at.ended)));
        seen.push((at.step, state));
        Ok(())
    });
    (seen, release.unwrap().weights)
}

#[test]
fn every_algorithm_keeps_its_states_or_says_why_not() {
    for info in ALGORITHMS {
        let kept = plan(info.name, 1.0);
        match kept.noise_streams() {
            Ok(streams) => assert!(KEPT.contains(&info.name) && streams > 0, "{}", info.name),
            Err(why) => {
                assert!(!KEPT.contains(&info.name), "{}", info.name);
                assert!(why.ends_with("leave `checkpoint` out"), "{why}");
                let refused = kept.go_on(None, &oracle(), &seeded(1), &Quiet, &mut |_| Ok(()));
                assert!(matches!(refused, Err(RunError::NotKept { .. })), "{}", info.name);
                assert_eq!(kept.standing(&json!({"step": 1})), None);
            }
        }
    }
}

#[test]
fn a_run_that_shows_its_states_is_the_same_run() {
    for name in KEPT {
        let plan = plan(name, 1.0);
        let (seen, weights) = states(&plan, None, &seeded(3));
        let straight = plan.run(&oracle(), &seeded(3), &Quiet).unwrap();
        assert_eq!(weights, straight.weights, "{name}");
        let steps: Vec<u64> = seen.iter().map(|(step, _)| *step).collect();
        assert!(steps.is_sorted_by(|a, b| a < b), "{name}");
        assert!(plan.standing(&seen.last().unwrap().1).unwrap().1, "{name}");
    }
}

/// Given the state, the steps that are left depend on nothing that came before: with the randomness
/// of the straight run from there on, a run that goes on takes the same steps.
#[test]
fn what_goes_on_takes_the_steps_that_are_left_and_no_other() {
    for name in KEPT {
        let plan = plan(name, 1.0);
        let (seen, _) = states(&plan, None, &seeded(4));
        for (step, state) in [&seen[0], &seen[seen.len() / 2], &seen[seen.len() - 1]] {
            let (left, weights) = states(&plan, Some(state), &seeded(5));
            let after: Vec<u64> = seen.iter().map(|s| s.0).filter(|s| s > step).collect();
            assert_eq!(left.iter().map(|s| s.0).collect::<Vec<_>>(), after, "{name}");
            // It draws noise of its own.
            let (other, _) = states(&plan, Some(state), &seeded(6));
            let own = left.iter().zip(&other).filter(|(a, b)| a.1 == b.1).count();
            assert_eq!(own, 0, "{name} after step {step}");
            assert!(weights.iter().all(|w| w.is_finite()), "{name}");
        }
    }
}

/// With hardly any noise and all rows in each step, an interrupted run ends where a straight one
/// does: nothing that a step needs is missing from the state.
#[test]
fn nothing_is_missing_from_a_state() {
    let plan = plan("mirror", 1e9);
    let (seen, straight) = states(&plan, None, &seeded(7));
    let (_, state) = &seen[seen.len() / 2];
    let (_, weights) = states(&plan, Some(state), &seeded(8));
    let scale = straight.iter().map(|w| w.abs()).fold(1e-3, f64::max);
    for (a, b) in weights.iter().zip(&straight) {
        assert!((a - b).abs() < 0.02 * scale, "{weights:?} {straight:?}");
    }
}

/// An average goes on where it stood: it counts the iterates before the interruption and after.
#[test]
fn an_average_counts_all_iterates() {
    for (name, own) in [("coordinate-mean", 1), ("gradient-sgd", 0)] {
        let plan = plan(name, 1.0);
        let (seen, _) = states(&plan, None, &seeded(7));
        let (_, kept) = &seen[seen.len() / 2];
        let (left, weights) = states(&plan, Some(kept), &seeded(8));
        let numbers = |state: &Value, field: &str| -> Vec<f64> {
            serde_json::from_value(state[field].clone()).unwrap()
        };
        let mut sum = numbers(kept, "sum");
        // The sum of gradient-sgd lacks the iterate at which it stands.
        let before = std::iter::once(kept).chain(left.iter().map(|(_, state)| state));
        for state in before.skip(own) {
            for (s, w) in sum.iter_mut().zip(numbers(state, "weights")) {
                *s += w;
            }
        }
        let steps = plan.outline().steps as f64;
        for (s, w) in sum.iter().zip(&weights) {
            assert!((s / steps - w).abs() < 1e-9 * (1.0 + w.abs()), "{name}");
        }
    }
}

#[test]
fn a_state_of_another_plan_or_an_altered_one_is_refused() {
    for name in KEPT {
        let plan = plan(name, 1.0);
        let (seen, _) = states(&plan, None, &seeded(9));
        let (_, state) = &seen[0];
        let fields: BTreeSet<&String> = state.as_object().unwrap().keys().collect();
        let mut tried = 0;
        for field in fields {
            let mut altered = state.clone();
            altered[field] = match &state[field] {
                Value::Array(numbers) => Value::Array(numbers[1..].to_vec()),
                Value::Number(_) if ["step", "last"].contains(&field.as_str()) => {
                    json!(1_u64 << 60)
                }
                _ => continue,
            };
            tried += 1;
            assert_eq!(plan.standing(&altered), None, "{name}: {field}");
            let refused =
                plan.go_on(Some(&altered), &oracle(), &seeded(1), &Quiet, &mut |_| Ok(()));
            assert!(matches!(refused, Err(RunError::NotKept { .. })), "{name}: {field}");
        }
        assert!(tried >= 2, "{name}");
        if name == "mirror" {
            // Its bound on gradients holds on the set alone.
            let mut outside = state.clone();
            outside["weights"][0] = json!(1e3);
            assert_eq!(plan.standing(&outside), None);
        }
        let others = KEPT.iter().filter(|other| **other != name);
        let known = others.filter(|o| self::plan(o, 1.0).standing(state).is_some());
        // States with the same parts are told apart by the plan's digest, not by the state.
        assert!(known.count() <= 2, "{name}");
    }
}

/// A seeded run that goes on skips the streams of those before it, so that no noise is drawn twice.
#[test]
fn no_run_draws_more_streams_of_noise_than_are_skipped() {
    for name in KEPT {
        let plan = plan(name, 1.0);
        let first = |source: &Source| source.stream(Purpose::Noise).next_u64();
        let fresh = seeded(8);
        let streams: Vec<u64> = (0..40).map(|_| first(&fresh)).collect();
        let used = seeded(8);
        plan.run(&oracle(), &used, &Quiet).unwrap();
        let next = first(&used);
        let drawn = streams.iter().position(|s| *s == next).unwrap();
        assert!((1..=plan.noise_streams().unwrap()).contains(&drawn), "{name}: {drawn}");
    }
}
