//! Reads the low bits of a release to tell which of two values was released.
//!
//! The Laplace and Gaussian mechanisms are private over the reals. Computed naively in `f64`, value
//! plus noise is a number whose last bits depend on the value: the floats that `0 + noise` can
//! reach are not those that `1 + noise` can reach (Mironov, *On Significance of the Least
//! Significant Bits for Differential Privacy*, 2012; Jin et al., *Are We There Yet? Timing and
//! Floating-Point Attacks on Differential Privacy Systems*, 2022). Two attacks:
//!
//! - **learned**: learns from releases of known values which patterns of low bits go with which
//!   value;
//! - **reachable**: asks for each value whether the generator could have produced exactly this
//!   float.
//!
//! The game is played only on releases in a narrow window, where the ideal mechanism gives both
//! values almost the same odds: there no rule can be right more often than `LEGITIMATE`, unless it
//! reads more than the mechanism should show. Each attack must break the naive copies, which shows
//! that it works, and must fail on every mechanism of `reticent-noise`.
//!
//! Run with `cargo test --release -p reticent-noise --test attack_low_bits -- --nocapture`.

#![allow(clippy::unwrap_used, reason = "settings are constants; a panic is a failed test")]

use rand_core::Rng as _;
use rand_distr::{Distribution as _, StandardNormal};
use reticent_noise::fast::FastGaussian;
use reticent_noise::lattice::{
    GaussianLattice, GeneralizedGaussianLattice, L2LaplaceLattice, LaplaceLattice,
};
use reticent_noise::{Purpose, Source, Stream};

/// Scale of the noise; the two values are 1 apart.
const SCALE: f64 = 4.0;
/// Releases kept, as a distance above the lower value.
const WINDOW: (f64, f64) = (0.0, 0.1);
/// Releases in the window that each attack is trained on, and judged on.
const ROUNDS: usize = 6000;
/// In the window the two densities differ by a factor of at most `e^(1/4)` (Laplace: the value is 1
/// apart at scale 4), so an ideal guesser is right at most this often.
const LEGITIMATE: f64 = 0.5622;
/// Five standard errors of a success rate over `ROUNDS`: false alarm 3e-7 for each attack.
const SLACK: f64 = 5.0 * 0.5 / 77.45;

/// A mechanism under attack: a value in, a release out.
type Mechanism<'a> = &'a mut dyn FnMut(f64, &mut Stream) -> f64;

/// Mechanisms with their names.
type Gallery = Vec<(&'static str, Box<dyn FnMut(f64, &mut Stream) -> f64>)>;

/// A rule that guesses which value was released.
type Rule<'a> = &'a dyn Fn(f64) -> usize;

/// Releases of the two values, in the window, in random order with their labels.
fn play(values: [f64; 2], mechanism: Mechanism, seed: u64) -> Vec<(f64, usize)> {
    let source = Source::seeded_not_private(seed);
    let (mut noise, mut secret) = (source.stream(Purpose::Noise), source.stream(Purpose::Initial));
    let mut games = Vec::with_capacity(ROUNDS);
    while games.len() < ROUNDS {
        let bit = (secret.next_u32() & 1) as usize;
        let y = mechanism(values[bit], &mut noise);
        if (WINDOW.0..WINDOW.1).contains(&(y - values[0])) {
            games.push((y, bit));
        }
    }
    games
}

/// How often a rule is right.
fn success(games: &[(f64, usize)], rule: Rule) -> f64 {
    games.iter().filter(|&&(y, bit)| rule(y) == bit).count() as f64 / games.len() as f64
}

/// The features of the learned attack: zeros at the end of the float, zeros at the end of the
/// fixed-point number, and the last bits of each.
fn features(y: f64) -> [usize; 4] {
    let float = y.to_bits();
    let fixed = (y * 2_f64.powi(70)) as i128;
    [
        float.trailing_zeros() as usize,
        64 + fixed.trailing_zeros().min(127) as usize,
        192 + (float & 0xff) as usize,
        448 + ((fixed >> (70 - 60)) & 0xff) as usize,
    ]
}

/// The success of naive Bayes over [`features`], learned on one set of games and judged on another.
fn learned(values: [f64; 2], mechanism: Mechanism, seed: u64) -> f64 {
    let mut counts = vec![[1.0_f64; 2]; 704];
    for (y, bit) in play(values, mechanism, seed) {
        for f in features(y) {
            counts[f][bit] += 1.0;
        }
    }
    let rule = |y: f64| {
        let evidence: f64 = features(y).iter().map(|&f| (counts[f][1] / counts[f][0]).ln()).sum();
        usize::from(evidence > 0.0)
    };
    success(&play(values, mechanism, seed + 1), &rule)
}

/// The textbook Laplace sampler: `±b·ln(k/2^53)`.
fn naive_laplace(k: u64, negative: bool) -> f64 {
    let z = -SCALE * (k as f64 * 2_f64.powi(-53)).ln();
    if negative { -z } else { z }
}

/// Whether the textbook sampler can turn `value` into exactly `y`.
fn can_reach(y: f64, value: f64) -> bool {
    let x = y - value;
    let k = ((-x.abs() / SCALE).exp() * 2_f64.powi(53)) as u64;
    (k.saturating_sub(40)..k + 40).any(|k| value + naive_laplace(k.max(1), x < 0.0) == y)
}

/// The success of guessing by which of the two values can reach the release, learned and judged as
/// above.
fn reachable(values: [f64; 2], mechanism: Mechanism, seed: u64) -> f64 {
    let verdict =
        |y: f64| usize::from(can_reach(y, values[0])) + 2 * usize::from(can_reach(y, values[1]));
    let mut counts = [[0_usize; 2]; 4];
    for (y, bit) in play(values, mechanism, seed) {
        counts[verdict(y)][bit] += 1;
    }
    let rule = |y: f64| usize::from(counts[verdict(y)][1] > counts[verdict(y)][0]);
    success(&play(values, mechanism, seed + 1), &rule)
}

/// Pairs of neighbouring values with unlike low bits.
const PAIRS: [[f64; 2]; 3] = [[0.0, 1.0], [1.0 / 3.0, 4.0 / 3.0], [-0.7, 0.3]];

fn naive_copies() -> Gallery {
    vec![
        ("naive Gaussian, ziggurat", {
            Box::new(|v, s| {
                let z: f64 = StandardNormal.sample(s);
                v + SCALE * z
            })
        }),
        ("naive Gaussian, Box-Muller", {
            Box::new(|v, s| {
                let mut uniform = || ((s.next_u64() >> 11) as f64 + 0.5) * 2_f64.powi(-53);
                let (u, w) = (uniform(), uniform());
                v + SCALE * (-2.0 * u.ln()).sqrt() * (core::f64::consts::TAU * w).cos()
            })
        }),
        ("naive Laplace, inverse", {
            Box::new(|v, s| {
                let k = (s.next_u64() >> 11).max(1);
                v + naive_laplace(k, s.next_u32() & 1 == 1)
            })
        }),
    ]
}

fn ours() -> Gallery {
    let gaussian = GaussianLattice::new(1.0, SCALE, 1).unwrap();
    let fast = FastGaussian::new(1.0, SCALE, 1).unwrap();
    let laplace = LaplaceLattice::new(1.0, 1.0 / SCALE, 1).unwrap();
    let ball = L2LaplaceLattice::new(1.0, 1.0 / SCALE, 1).unwrap();
    let general = GeneralizedGaussianLattice::new(1.0, SCALE, 3.0, 1).unwrap();
    // The fast mechanism draws whole groups: hand its numbers out one by one.
    let mut buffer: Vec<f64> = Vec::new();
    vec![
        ("GaussianLattice", Box::new(move |v, s| gaussian.release(&[v], s)[0])),
        (
            "FastGaussian",
            Box::new(move |v, s| {
                if buffer.is_empty() {
                    buffer = vec![0.0; 1 << 12];
                    fast.release_in_place(&mut buffer, s);
                }
                // Noise on the grid plus the value on the grid, as one release would be.
                let z = buffer.pop().unwrap_or(0.0);
                z + (v / fast.grid()).round_ties_even() * fast.grid()
            }),
        ),
        ("LaplaceLattice", Box::new(move |v, s| laplace.release(&[v], s)[0])),
        ("L2LaplaceLattice", Box::new(move |v, s| ball.release(&[v], s)[0])),
        ("GeneralizedGaussianLattice", Box::new(move |v, s| general.release(&[v], s)[0])),
    ]
}

#[test]
fn the_learned_attack_breaks_the_naive_copies() {
    for (name, mut mechanism) in naive_copies() {
        let rate = learned(PAIRS[0], &mut mechanism, 1);
        println!("{name}: right {:.1}% of the time", 100.0 * rate);
        assert!(rate > 0.9, "{name}: the attack should work here, {rate}");
    }
}

#[test]
fn the_learned_attack_fails_on_every_mechanism_of_ours() {
    for (name, mut mechanism) in ours() {
        for (i, pair) in PAIRS.into_iter().enumerate() {
            let rate = learned(pair, &mut mechanism, 10 + 2 * i as u64);
            println!("{name}, {pair:?}: right {:.1}% of the time", 100.0 * rate);
            assert!(rate < LEGITIMATE + SLACK, "{name} leaks on {pair:?}: {rate}");
        }
    }
}

#[test]
fn the_reachability_attack_breaks_the_naive_laplace() {
    let (name, mut mechanism) = naive_copies().pop().unwrap();
    let rate = reachable(PAIRS[0], &mut mechanism, 3);
    println!("{name}: right {:.1}% of the time", 100.0 * rate);
    assert!(rate > 0.9, "{name}: the attack should work here, {rate}");
}

#[test]
fn the_reachability_attack_fails_on_ours() {
    for (name, mut mechanism) in ours() {
        let rate = reachable(PAIRS[1], &mut mechanism, 20);
        println!("{name}: right {:.1}% of the time", 100.0 * rate);
        assert!(rate < LEGITIMATE + SLACK, "{name} leaks: {rate}");
    }
}

#[test]
fn low_bits_left_on_by_a_careless_caller_are_caught() {
    // Noise on the grid, added to a value off the grid: the value's own low bits survive.
    let mechanism = GaussianLattice::new(1.0, SCALE, 1).unwrap();
    let mut careless = move |v: f64, s: &mut Stream| v + mechanism.release(&[0.0], s)[0];
    let rate = learned([0.0, 1.0 + 1e-13], &mut careless, 30);
    println!("noise on the grid, value off it: right {:.1}% of the time", 100.0 * rate);
    assert!(rate > 0.9, "{rate}");
}
