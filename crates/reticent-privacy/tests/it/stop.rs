//! A random stop costs the mean over the rounds at which it stops, and no more.

use reticent_privacy::rdp::{rdp, rdp_epsilon_upper};
use reticent_privacy::{
    Adjacency, Event, calibrate::noise_multiplier_for, delta_lower, delta_upper, epsilon_upper,
    gaussian,
};

const REPLACE: Adjacency = Adjacency::ReplaceOne;

fn steps(sample_rate: f64, noise_multiplier: f64, steps: u64, adjacency: Adjacency) -> Event {
    Event::PoissonGaussian { sample_rate, noise_multiplier, steps, adjacency }
}

fn stopped(event: Event, rounds: u64) -> Event {
    Event::RandomStop { event: Box::new(event), rounds }
}

/// All rows in every step: the product of Gaussians is one, so the mean is known without a grid.
#[test]
fn of_gaussian_steps_it_is_the_mean_of_their_profiles() {
    for (rounds, noise) in [(2, 1.0), (3, 4.0), (10, 12.0), (100, 30.0), (100, 3.0), (5000, 200.0)]
    {
        for epsilon in [0.0, 0.3, 1.0, 8.0] {
            let mu = |k: u64| 2.0 * (k as f64).sqrt() / noise;
            let mean = (1..rounds).map(|k| gaussian::delta(epsilon, mu(k))).sum::<f64>();
            let mean = mean / rounds as f64;
            if mean < 1e-25 {
                continue;
            }
            let got = delta_upper(&stopped(steps(1.0, noise, 1, REPLACE), rounds), epsilon);
            let ratio = got.unwrap() / mean;
            assert!((1.0..1.02).contains(&ratio), "{rounds} {noise} {epsilon}: {ratio}");
        }
    }
}

/// The bound lies between the means of the certified bounds for each number of steps.
#[test]
fn of_sampled_steps_it_is_the_mean_of_their_bounds() {
    for adjacency in [REPLACE, Adjacency::AddRemoveOne] {
        for (rate, noise, rounds) in [(0.2, 0.8, 6), (0.01, 0.6, 5), (0.5, 3.0, 12)] {
            for epsilon in [0.2, 1.0, 3.0] {
                let each = |bound: &dyn Fn(&Event, f64) -> f64| {
                    (1..rounds).map(|k| bound(&steps(rate, noise, k, adjacency), epsilon)).sum()
                };
                let high: f64 = each(&|e, x| delta_upper(e, x).unwrap());
                let low: f64 = each(&|e, x| delta_lower(e, x).unwrap());
                let (low, high) = (low / rounds as f64, high / rounds as f64);
                let event = stopped(steps(rate, noise, 1, adjacency), rounds);
                let got = delta_upper(&event, epsilon).unwrap();
                // Of each number the worse direction counts in `low` and `high`, of the mean one.
                let slack = if adjacency == REPLACE { 1.0 } else { 0.9 };
                assert!(got >= slack * low, "{rate} {noise} {rounds} {epsilon}: {got:e} {low:e}");
                assert!(got <= 1.01 * high, "{rate} {noise} {rounds} {epsilon}: {got:e} {high:e}");
            }
        }
    }
}

#[test]
fn calibrated_noise_meets_the_budget_and_is_a_tenth_less() {
    for (epsilon, delta, rate, rounds) in [
        (1.0, 1e-6, 1.0, 100),
        (1.0, 1e-6, 0.05, 1000),
        (8.0, 1e-6, 0.05, 1000),
        (0.1, 1e-5, 0.01, 40),
    ] {
        let stop = |s| stopped(steps(rate, s, 1, REPLACE), rounds);
        let noise = noise_multiplier_for(epsilon, delta, stop).unwrap();
        assert!(epsilon_upper(&stop(noise), delta).unwrap() <= epsilon);
        assert!(delta_upper(&stop(noise), epsilon).unwrap() <= delta * (1.0 + 1e-4));
        let before = noise_multiplier_for(epsilon, delta, |s| steps(rate, s, rounds, REPLACE));
        let saved = before.unwrap() / noise;
        assert!((1.05..1.4).contains(&saved), "{epsilon} {rate} {rounds}: {saved}");
    }
}

#[test]
fn renyi_orders_and_lists_stay_above_the_mean() {
    let event = stopped(steps(0.1, 1.5, 1, REPLACE), 200);
    let exact = epsilon_upper(&event, 1e-6).unwrap();
    let orders = rdp_epsilon_upper(&event, 1e-6).unwrap();
    assert!((exact..1.5 * exact).contains(&orders), "{exact} {orders}");
    assert!(rdp(&event, 3.0).unwrap() < rdp(&steps(0.1, 1.5, 199, REPLACE), 3.0).unwrap());
    let nearly_nothing = Event::PureDp { epsilon: 1e-9, adjacency: REPLACE };
    let listed = epsilon_upper(&Event::Composed(vec![event, nearly_nothing]), 1e-6).unwrap();
    assert!((exact * 0.9999..1.02 * exact).contains(&listed), "{exact} {listed}");
}

/// A round that is not a single pair is charged for the longest run.
#[test]
fn other_rounds_cost_their_longest_run() {
    let several = Event::Composed(vec![
        steps(0.1, 2.0, 1, REPLACE),
        Event::PureDp { epsilon: 0.1, adjacency: REPLACE },
    ]);
    let longest = Event::Repeated { event: Box::new(several.clone()), times: 4 };
    let bound = |event: &Event| epsilon_upper(event, 1e-6).unwrap();
    assert_eq!(bound(&stopped(several, 5)), bound(&longest));
    assert_eq!(bound(&stopped(steps(0.1, 2.0, 1, REPLACE), 1)), 0.0);
    assert!(stopped(Event::None, 0).check().is_err());
}
