//! The settings of the published vectors, answered and timed: one JSON object for each line.
//!
//! `bench/accountants/run.py` compares them with other packages.
#![allow(clippy::print_stdout, reason = "the output is the point")]

use std::time::Instant;

use reticent_privacy::{
    Adjacency, Event, PrivacyError,
    calibrate::{Sampling, noise_multiplier_for, sampled_gaussian},
    epsilon_lower, epsilon_upper,
};
use reticent_testkit::vectors::{Vector, load};
use serde_json::{Value, json};

/// Seconds of the first call, and of the fastest of seven.
fn timed<T>(mut call: impl FnMut() -> T) -> (T, f64, f64) {
    let start = Instant::now();
    let mut value = call();
    let first = start.elapsed().as_secs_f64();
    let mut best = first;
    for _ in 0..6 {
        let start = Instant::now();
        value = call();
        best = best.min(start.elapsed().as_secs_f64());
    }
    (value, first, best)
}

fn words(v: &Vector) -> Result<(Sampling, Adjacency), PrivacyError> {
    let word = |name: &str| v.inputs.get(name).and_then(Value::as_str).unwrap_or_default();
    let rate = v.number("rate");
    let sampling = match word("sampling") {
        "poisson" => Sampling::Poisson { rate },
        _ => Sampling::FixedSize { rate },
    };
    Ok((sampling, word("adjacency").parse()?))
}

fn main() -> Result<(), PrivacyError> {
    for v in load("accounting") {
        let row = match v.formula.as_str() {
            "pld_eps" => {
                let (sampling, adjacency) = words(&v)?;
                let delta = v.number("delta");
                let steps = v.number("steps") as u64;
                let event: Event = sampled_gaussian(sampling, v.number("sigma"), steps, adjacency);
                let (upper, first, seconds) = timed(|| epsilon_upper(&event, delta));
                let (lower, _, lower_seconds) = timed(|| epsilon_lower(&event, delta));
                json!({
                    "bench": "query", "inputs": v.inputs, "expected": v.expected,
                    "epsilon_upper": upper?, "epsilon_lower": lower?,
                    "seconds": seconds, "first_seconds": first, "lower_seconds": lower_seconds,
                })
            }
            "calibrate_sigma" => {
                let (sampling, adjacency) = words(&v)?;
                let (epsilon, delta) = (v.number("eps"), v.number("delta"));
                let steps = v.number("steps") as u64;
                let (noise, first, seconds) = timed(|| {
                    noise_multiplier_for(epsilon, delta, |s| {
                        sampled_gaussian(sampling, s, steps, adjacency)
                    })
                });
                json!({
                    "bench": "calibrate", "inputs": v.inputs, "expected": v.expected,
                    "noise_multiplier": noise?, "seconds": seconds, "first_seconds": first,
                })
            }
            _ => continue,
        };
        println!("{row}");
    }
    Ok(())
}
