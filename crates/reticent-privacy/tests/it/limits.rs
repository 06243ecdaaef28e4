//! The corners of the allowed ranges, and lists of unlike events: answers in bounded time and
//! memory. One test for each, so that nothing else takes memory.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::time::Instant;

use reticent_privacy::{
    Adjacency, Budget, Delta, Epsilon, Event, delta_upper, epsilon_upper, explain::explain,
    filter::gaussian_cost, filter::gaussian_room,
};

/// Seconds of one processor for one query. The documentation of the crate says two; three raise no
/// alarm where a core is shared and assertions are checked, and find what was slow: these lists
/// took 3 to 28 seconds when each point of a profile had a grid of its own.
const MOST_SECONDS: f64 = 3.0;

/// The peak of resident memory in megabytes, where the system tells.
fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

/// Seconds that this thread has run, where the system tells: waiting for a core does not count.
fn busy_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
}

/// The slowest of what was timed.
struct Slowest(f64, String);

impl Slowest {
    fn time<T>(&mut self, name: String, query: impl FnOnce() -> T) -> T {
        let (start, busy) = (Instant::now(), busy_seconds());
        let answer = query();
        let seconds = match (busy, busy_seconds()) {
            (Some(before), Some(after)) if after > before => after - before,
            _ => start.elapsed().as_secs_f64(),
        };
        if seconds > self.0 {
            *self = Self(seconds, name);
        }
        answer
    }
}

#[test]
fn every_corner_answers_within_a_hundred_megabytes() {
    let mut slowest = Slowest(0.0, String::new());
    for rate in [1e-7, 1e-3, 0.5, 0.999] {
        for noise_multiplier in [0.05, 0.5, 10.0, 1e4] {
            for steps in [1, 1000, 10_000_000] {
                for delta in [1e-30, 1e-6, 0.1] {
                    for adjacency in [Adjacency::AddRemoveOne, Adjacency::ReplaceOne] {
                        let event = Event::PoissonGaussian {
                            sample_rate: rate,
                            noise_multiplier,
                            steps,
                            adjacency,
                        };
                        let name = format!("{event:?} {delta:e}");
                        let query = || epsilon_upper(&event, delta).unwrap();
                        let epsilon = slowest.time(name.clone(), query);
                        assert!(epsilon.is_finite() && epsilon >= 0.0, "{name}: {epsilon}");
                    }
                }
            }
        }
    }
    let Slowest(seconds, name) = slowest;
    assert!(seconds < MOST_SECONDS, "{seconds} s: {name}");
    let peak = peak_megabytes().unwrap_or(0.0);
    println!("slowest {seconds:.2} s: {name}, peak {peak:.0} MB");
    assert!(peak < 100.0, "{peak} MB");
}

/// Random stops, failures beside tiny noise, and what a ledger asks of either.
#[test]
fn lists_and_ledgers_answer_in_seconds() {
    let adjacency = Adjacency::ReplaceOne;
    let sampled = |sample_rate, noise_multiplier, steps| Event::PoissonGaussian {
        sample_rate,
        noise_multiplier,
        steps,
        adjacency,
    };
    let stop = |rate, noise, rounds| Event::RandomStop {
        event: Box::new(sampled(rate, noise, 1)),
        rounds,
    };
    let failing = Event::ApproxDp { epsilon: 0.01, delta: 1e-8, adjacency };
    let lists = [
        stop(0.013_021_713, 3.532_026, 1322),
        Event::Repeated { event: Box::new(stop(0.013_021_713, 3.532_026, 1322)), times: 2 },
        Event::Composed(vec![
            stop(1e-3, 3.5, 1_000_000),
            Event::PureDp { epsilon: 0.1, adjacency },
            sampled(0.01, 2.0, 100),
        ]),
        Event::Composed(vec![
            Event::Gaussian { noise_multiplier: 1e9, adjacency },
            Event::Repeated { event: Box::new(failing), times: 10 },
        ]),
    ];
    let budget =
        Budget { epsilon: Epsilon::new(4.0).unwrap(), delta: Delta::new(1e-5).unwrap(), adjacency };
    let mut slowest = Slowest(0.0, String::new());
    for event in &lists {
        let name = |what: &str| format!("{what} of {event:?}");
        let epsilon = slowest.time(name("epsilon"), || epsilon_upper(event, 1e-6).unwrap());
        let delta = slowest.time(name("delta"), || delta_upper(event, epsilon).unwrap());
        // Tables are made for another size of delta.
        assert!(delta <= 1e-6 * 1.05, "{}: {delta:e}", name("delta"));
        let told = slowest.time(name("explanation"), || explain(event, 1e-6, None).unwrap());
        assert_eq!(told.epsilon_upper, Some(epsilon));
        // The queries of a ledger's first charge.
        let fixed = std::slice::from_ref(event);
        let cost = slowest.time(name("cost"), || gaussian_cost(event, 1e-6).unwrap());
        let room = slowest.time(name("room"), || gaussian_room(fixed, budget, 5e-7).unwrap());
        assert!(cost > 0.0 && room > 0.0, "{cost} {room}");
    }
    let Slowest(seconds, name) = slowest;
    println!("slowest {seconds:.2} s: {name}");
    assert!(seconds < MOST_SECONDS, "{seconds} s: {name}");
}
