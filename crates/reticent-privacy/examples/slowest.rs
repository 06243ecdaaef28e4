//! The slowest queries among random events: `cargo run --release --example slowest -- COUNT SEED`
//!
//! Events of all kinds within the limits that the crate states, and lists of up to four of them up
//! to three deep, are asked for epsilon at 1e-6 and for delta at 1. Prints the slowest of each kind
//! in seconds of processor time, slowest first, and fails if one took more than `LIMIT`.

use std::collections::BTreeMap;

use reticent_privacy::{
    Adjacency, Event, Hits, ObjectiveClass, Trials, delta_upper, epsilon_upper,
};

/// Seconds of one core that the crate states for the slowest events, optimised. With debug
/// assertions nothing fails.
const LIMIT: f64 = 2.0;

/// A small generator, so that a seed names a list of events.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn share(&mut self) -> f64 {
        (self.word() >> 11) as f64 * 2_f64.powi(-53)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.word() % n
    }

    /// Between two positive numbers, as likely in each decade.
    fn decades(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + self.share() * (high / low).ln()).exp()
    }

    fn count(&mut self, most: f64) -> u64 {
        self.decades(1.0, most) as u64
    }
}

fn leaf(r: &mut Random, adjacency: Adjacency) -> Event {
    let noise_multiplier = r.decades(0.05, 1e4);
    let (steps, rows) = (r.count(1e7), r.count(1e6));
    let epsilon = r.decades(1e-3, 30.0);
    match r.below(14) {
        0 => Event::Gaussian { noise_multiplier, adjacency },
        1 => Event::Laplace { noise_multiplier, adjacency },
        2 => Event::PureDp { epsilon, adjacency },
        3 => Event::BoundedRange { epsilon, adjacency },
        4 => Event::ApproxDp { epsilon, delta: r.decades(1e-12, 1e-7), adjacency },
        5 => Event::Zcdp { rho: r.decades(1e-5, 10.0), adjacency },
        6 | 7 => {
            let sample_rate = r.decades(1e-7, 1.0);
            Event::PoissonGaussian { sample_rate, noise_multiplier, steps, adjacency }
        }
        8 => {
            let batch = 1 + r.below(rows);
            Event::FixedSizeGaussian { batch, rows, noise_multiplier, steps, adjacency }
        }
        9 => {
            let hits = Hits::AverageWithReplacement { rows, steps: steps.max(2) };
            let (shift, drift) = (r.decades(1e-4, 3.0), r.decades(1e-6, 0.1));
            Event::HitMixture { hits, shift, drift, cap: None, adjacency }
        }
        10 => {
            let class = match r.below(4) {
                0 => ObjectiveClass::Monotone,
                1 => ObjectiveClass::TwoSided,
                2 => ObjectiveClass::Logistic,
                _ => ObjectiveClass::Subspace { dimension: 1 + r.below(40) as u32 },
            };
            let (slope, output_mu) = (r.decades(1e-3, 3.0), r.decades(1e-6, 0.1));
            let epsilon_det = r.decades(1e-6, 0.5);
            Event::ObjectivePerturbation { class, epsilon_det, slope, output_mu, adjacency }
        }
        11 => {
            let epsilon0 = r.decades(0.05, 4.0);
            Event::Shuffled { epsilon0, delta0: 0.0, rows: rows.max(100), adjacency }
        }
        12 => Event::ShuffledGdp { local_mu: r.decades(0.05, 1.0), rows: rows.max(100), adjacency },
        _ => {
            let contraction = 1.0 - r.decades(1e-6, 1.0);
            Event::LastIterate { steps, contraction, noise_multiplier, diameter: None, adjacency }
        }
    }
}

fn event(r: &mut Random, depth: u32, adjacency: Adjacency) -> Event {
    if depth == 0 || r.below(3) == 0 {
        return leaf(r, adjacency);
    }
    let one = |r: &mut Random| Box::new(event(r, depth - 1, adjacency));
    let several = |r: &mut Random| {
        let count = 1 + r.below(4);
        (0..count).map(|_| event(r, depth - 1, adjacency)).collect()
    };
    match r.below(8) {
        0 => Event::Repeated { event: one(r), times: r.count(1e3) },
        1 => Event::RandomStop { event: one(r), rounds: r.count(1e6) },
        2 | 3 => Event::Composed(several(r)),
        4 => Event::Disjoint { parts: several(r), fixed_partition: true },
        5 => Event::OneOf(several(r)),
        6 => {
            let (eta, gamma) = ([-0.5, 0.0, 1.0][r.below(3) as usize], r.decades(1e-3, 0.9));
            let trials = if r.below(2) == 0 {
                Trials::TruncatedNegativeBinomial { eta, gamma }
            } else {
                Trials::Poisson { mean: r.decades(1.0, 100.0) }
            };
            Event::Tuned { base: one(r), trials }
        }
        _ => Event::Approximated { inner: one(r), total_variation: r.decades(1e-30, 1e-12) },
    }
}

/// Seconds that this thread has run.
fn busy() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next().and_then(|t| t.parse::<f64>().ok());
    first.unwrap_or(0.0) * 1e-9
}

#[expect(clippy::print_stdout, reason = "an example")]
fn main() {
    let number = |i: usize, default: u64| {
        std::env::args().nth(i).and_then(|word| word.parse().ok()).unwrap_or(default)
    };
    let (count, seed) = (number(1, 2000), number(2, 1));
    let mut slowest: BTreeMap<&'static str, (f64, &'static str, String)> = BTreeMap::new();
    for index in 0..count {
        let mut r = Random(seed.wrapping_mul(0x1_0000_0001).wrapping_add(index));
        let adjacency = [Adjacency::ReplaceOne, Adjacency::AddRemoveOne][r.below(2) as usize];
        let event = event(&mut r, 3, adjacency);
        for (what, query) in [("epsilon", 0), ("delta", 1)] {
            let before = busy();
            // Kinds that an accountant refuses are answered, too.
            let _ = if query == 0 { epsilon_upper(&event, 1e-6) } else { delta_upper(&event, 1.0) };
            let seconds = busy() - before;
            if seconds > LIMIT {
                println!("{index}: {what} of {} took {seconds:.2} s", event.name());
            }
            let known = slowest.entry(event.name()).or_default();
            if seconds > known.0 {
                let text = serde_json::to_string(&event).unwrap_or_default();
                *known = (seconds, what, text);
            }
        }
    }
    let mut list: Vec<_> = slowest.into_iter().collect();
    list.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    for (kind, (seconds, what, text)) in &list {
        println!("{seconds:7.3} s  {what:7}  {kind:24} {text}");
    }
    let worst = list.first().map_or(0.0, |(_, (seconds, ..))| *seconds);
    assert!(cfg!(debug_assertions) || worst <= LIMIT, "{worst} s for one query");
}
