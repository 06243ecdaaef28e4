//! Reads the low bits of a fitted weight to tell which of two neighbouring tables it was fitted to.
//!
//! The attacker knows everything but one row, so it knows the two weights that gradient descent can
//! end at, and asks of each whether the noise sampler could have moved it to exactly the released
//! float (Mironov 2012). The textbook sampler, a value plus `±b ln U`, reaches few of the floats
//! near zero, and others for another value: the attack succeeds on it, which shows that it works.
//! It must fail on the whole pipeline of output-perturbed gradient descent: a release at `ε = 1/4`
//! lets no rule be right more often than `e^ε/(1 + e^ε)`, whatever it looks at.

#![allow(clippy::unwrap_used, reason = "settings are constants; a panic is a failed test")]

use rand_core::Rng as _;
use reticent_data::{Dense, Features, LocalOracle, Rows, Speed};
use reticent_noise::{Purpose, Source, Stream};
use reticent_optim::output_gd::{Noise, NoiseChoice, OutputGd, OutputGdPlan};
use reticent_optim::{Algorithm, Quiet};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent_problem::{Loss, Problem, RowBounds};

const EPSILON: f64 = 0.25;
/// `e^ε/(1 + e^ε)`: how often the best rule of all may be right.
const LEGITIMATE: f64 = 0.5622;
/// Releases on which the attack is trained, and judged.
const ROUNDS: usize = 2000;
/// Five standard errors of a success rate over `ROUNDS`: a false alarm of 3e-7.
const SLACK: f64 = 5.0 * 0.5 / 44.7;

/// Nine rows that agree and one that does not, or agrees too.
fn table(last: f64) -> LocalOracle {
    let mut x = vec![0.3; 10];
    x[9] = last;
    let features = Features::F64(Dense::new(10, 1, x));
    let labels = vec![1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0];
    let rows = Rows::new(features, labels, RowBounds::features(1.0).unwrap());
    LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap()
}

fn plan(epsilon: f64) -> OutputGdPlan {
    let problem = Problem {
        ridge: 0.1,
        ..Problem::new(Loss::Logistic, RowBounds::features(1.0).unwrap(), 10, 1)
    };
    let budget = Budget {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::ZERO,
        adjacency: Adjacency::ReplaceOne,
    };
    let settings = OutputGd { steps: Some(3), noise: NoiseChoice::Ball, ..OutputGd::default() };
    settings.plan(&problem, budget).unwrap()
}

fn fit(plan: &OutputGdPlan, oracle: &LocalOracle, source: &Source) -> f64 {
    OutputGd::run(plan, oracle, source, &Quiet).unwrap().weights[0]
}

/// The textbook sampler's `k`-th output.
fn textbook(k: u64, negative: bool, scale: f64) -> f64 {
    let z = -scale * (k as f64 * 2_f64.powi(-53)).ln();
    if negative { -z } else { z }
}

/// Whether the textbook sampler can turn `value` into exactly `y`.
fn can_reach(y: f64, value: f64, scale: f64) -> bool {
    let x = y - value;
    let k = ((-x.abs() / scale).exp() * 2_f64.powi(53)) as u64;
    (k.saturating_sub(40)..k + 40).any(|k| value + textbook(k.max(1), x < 0.0, scale) == y)
}

/// How often the attack tells the two values apart, learned on one set of releases near zero and
/// judged on another.
fn success(values: [f64; 2], scale: f64, release: &mut dyn FnMut(usize) -> f64) -> f64 {
    let mut secret = Source::seeded_not_private(99).stream(Purpose::Initial);
    let mut play = || loop {
        let bit = (secret.next_u32() & 1) as usize;
        let y = release(bit);
        if y.abs() < scale / 32.0 {
            return (y, bit);
        }
    };
    let verdict = |y: f64| {
        usize::from(can_reach(y, values[0], scale))
            + 2 * usize::from(can_reach(y, values[1], scale))
    };
    let mut counts = [[0_usize; 2]; 4];
    for _ in 0..ROUNDS {
        let (y, bit) = play();
        counts[verdict(y)][bit] += 1;
    }
    let right = (0..ROUNDS).filter(|_| {
        let (y, bit) = play();
        let [zero, one] = counts[verdict(y)];
        usize::from(one > zero) == bit
    });
    right.count() as f64 / ROUNDS as f64
}

#[test]
fn low_bits_betray_textbook_noise_and_not_the_pipeline() {
    let tables = [table(1.0), table(-1.0)];
    let exact = plan(f64::INFINITY);
    let quiet = Source::seeded_not_private(0);
    let values = [fit(&exact, &tables[0], &quiet), fit(&exact, &tables[1], &quiet)];
    assert!(values[0] != values[1]);
    let ours = plan(EPSILON);
    let Noise::Ball { scale, .. } = ours.noise else { panic!("pure noise was asked for") };

    let mut stream: Stream = Source::seeded_not_private(1).stream(Purpose::Noise);
    let textbook = success(values, scale, &mut |bit| {
        let word = stream.next_u64();
        values[bit] + textbook((word >> 11).max(1), word & 1 == 1, scale)
    });
    assert!(textbook > 0.8, "the attack must work where it can: {textbook}");

    let source = Source::seeded_not_private(2);
    let pipeline = success(values, scale, &mut |bit| fit(&ours, &tables[bit], &source));
    assert!(pipeline < LEGITIMATE + SLACK, "{pipeline}");
}
