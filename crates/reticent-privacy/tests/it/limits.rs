//! The corners of the allowed ranges: answers in bounded time and memory. One test, so that nothing else takes memory.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::time::Instant;

use reticent_privacy::{Adjacency, Event, epsilon_upper};

/// The peak of resident memory in megabytes, where the system tells.
fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

#[test]
fn every_corner_answers_within_a_hundred_megabytes() {
    let mut slowest = (0.0, String::new());
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
                        let start = Instant::now();
                        let epsilon = epsilon_upper(&event, delta).unwrap();
                        let name = format!("{event:?} {delta:e}");
                        assert!(epsilon.is_finite() && epsilon >= 0.0, "{name}: {epsilon}");
                        let seconds = start.elapsed().as_secs_f64();
                        if seconds > slowest.0 {
                            slowest = (seconds, name);
                        }
                    }
                }
            }
        }
    }
    assert!(slowest.0 < 20.0, "{slowest:?}");
    let peak = peak_megabytes().unwrap_or(0.0);
    println!("slowest {slowest:?}, peak {peak:.0} MB");
    assert!(peak < 100.0, "{peak} MB");
}
