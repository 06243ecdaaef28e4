//! Monotone, ordered, closed under limits, and sane at every corner of the allowed ranges.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use proptest::prelude::*;
use reticent_privacy::{
    Adjacency, Event, Hits, ObjectiveClass, Trials, calibrate, delta_lower, delta_upper,
    epsilon_attained, epsilon_lower, epsilon_upper, gaussian, pair, pair::Pair, pld::Composition,
    rdp,
};

/// A number spread evenly over the orders of magnitude between `low` and `high`.
fn log_range(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low.ln()..=high.ln()).prop_map(f64::exp)
}

fn adjacencies() -> impl Strategy<Value = Adjacency> {
    prop_oneof![
        Just(Adjacency::ReplaceOne),
        Just(Adjacency::AddRemoveOne),
        Just(Adjacency::ZeroOut)
    ]
}

fn pairs() -> impl Strategy<Value = Pair> {
    (log_range(1e-4, 1.0), log_range(0.01, 8.0), 0..7u8).prop_map(|(rate, mu, kind)| match kind {
        0 => Pair::PoissonRemove { rate, mu },
        1 => Pair::PoissonAdd { rate, mu },
        2 => Pair::PoissonReplace { rate, mu },
        3 => Pair::FixedReplace { rate, mu },
        4 => Pair::Laplace { epsilon: mu },
        5 => Pair::BoundedRange { epsilon: mu },
        _ => Pair::Approx { epsilon: mu, delta: 0.1 * rate },
    })
}

fn poisson(rate: f64, noise: f64, steps: u64, adjacency: Adjacency) -> Event {
    Event::PoissonGaussian { sample_rate: rate, noise_multiplier: noise, steps, adjacency }
}

fn fixed(rate: f64, noise: f64, steps: u64, adjacency: Adjacency) -> Event {
    let sampling = calibrate::Sampling::FixedSize { rate };
    calibrate::sampled_gaussian(sampling, noise, steps, adjacency)
}

/// An allowance for the relative excess that the grid adds.
const GRID: f64 = 3e-4;

/// By how much a bound may move the wrong way, relatively: the excess that the engine accepts on
/// long windows.
const STEADY: f64 = 1e-4;

/// Steps of sampled noisy sums.
#[derive(Clone, Copy, Debug)]
struct Setting {
    rate: f64,
    noise: f64,
    steps: u64,
    adjacency: Adjacency,
    is_fixed: bool,
}

impl Setting {
    fn event(&self) -> Event {
        let event = if self.is_fixed { fixed } else { poisson };
        event(self.rate, self.noise, self.steps, self.adjacency)
    }

    /// Less often, noisier, and fewer, each by the share `change`.
    fn better(self, change: f64) -> [Self; 3] {
        let fewer = (self.steps as f64 / (1.0 + change)).ceil() as u64 - 1;
        [
            Self { rate: self.rate / (1.0 + change), ..self },
            Self { noise: self.noise * (1.0 + change), ..self },
            Self { steps: fewer.max(1), ..self },
        ]
    }
}

fn settings(
    rate: (f64, f64),
    noise: (f64, f64),
    steps: (f64, f64),
) -> impl Strategy<Value = Setting> {
    let numbers =
        (log_range(rate.0, rate.1), log_range(noise.0, noise.1), log_range(steps.0, steps.1));
    (numbers, adjacencies(), any::<bool>()).prop_map(
        |((rate, noise, steps), adjacency, is_fixed)| {
            let steps = steps as u64;
            Setting { rate, noise, steps, adjacency, is_fixed }
        },
    )
}

/// `better` at `larger` costs no more than `worse` at `delta`, but for the engine's excess where
/// `ε` is in its range.
fn never_costs_more(
    better: &Setting,
    worse: &Setting,
    larger: f64,
    delta: f64,
) -> Result<(), TestCaseError> {
    let low = epsilon_upper(&better.event(), larger).unwrap();
    let high = epsilon_upper(&worse.event(), delta).unwrap();
    let allowed = high.max(LEAST) * (1.0 + STEADY);
    prop_assert!(
        high > MOST || low <= allowed,
        "{better:?} at {larger:e}: {low} above {high} at {delta:e}"
    );
    Ok(())
}

/// The range of `ε` in which bounds are steady.
const LEAST: f64 = 1e-4;
const MOST: f64 = 1e4;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn profiles_are_convex_and_between_their_limits(pair in pairs(), e in -3.0..3.0f64, w in 0.01..1.0f64) {
        let d = |x: f64| pair.delta(x);
        let (low, middle, high) = (d(e - w), d(e), d(e + w));
        prop_assert!((0.0..=1.0).contains(&middle));
        prop_assert!(middle >= -e.exp_m1() - 1e-12);
        prop_assert!(high <= middle + 1e-13 && middle <= low + 1e-13);
        // Convex in g = e^ε.
        let (g0, g1, g2) = ((e - w).exp(), e.exp(), (e + w).exp());
        let chord = low + (high - low) * (g1 - g0) / (g2 - g0);
        prop_assert!(middle <= chord + 1e-12, "{middle} {chord}");
        // The excess is what it says.
        let excess = pair.excess(e);
        prop_assert!((excess - (middle + e.exp_m1())).abs() <= 1e-11 * e.exp().max(1.0));
        prop_assert!(excess >= 0.0);
    }

    #[test]
    fn tails_give_the_profile_back(pair in pairs(), e in -3.0..3.0f64) {
        let tails = pair.tails(e);
        let infinite = match pair { Pair::Approx { delta, .. } => delta, _ => 0.0 };
        let from_tails = tails.p_above - e.exp() * tails.q_above + infinite;
        prop_assert!((from_tails - pair.delta(e)).abs() < 1e-12 * (1.0 + e.exp()), "{from_tails} {}", pair.delta(e));
        prop_assert!((tails.p_above + tails.p_below + infinite - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_step_of_the_engine_is_the_profile(pair in pairs(), e in 0.0..2.0f64) {
        // Two terms keep the engine from taking the closed form; the second costs nothing.
        let nothing = Pair::Laplace { epsilon: 1e-13 };
        let composed = Composition::new([(pair.clone(), 1), (nothing, 1)]);
        let (low, exact, high) = (composed.delta_lower(e), pair.delta(e), composed.delta_upper(e));
        prop_assert!(high >= exact * (1.0 - 1e-12), "{high:e} below {exact:e}");
        prop_assert!(low <= exact * (1.0 + 1e-9) + 1e-12, "{low:e} above {exact:e}");
    }

    #[test]
    fn lower_bounds_stay_below_upper_bounds(pair in pairs(), steps in 2..3000u64, delta in log_range(1e-12, 1e-2)) {
        let composed = Composition::new([(pair, steps)]);
        let (low, high) = (composed.epsilon_lower(delta), composed.epsilon_upper(delta));
        prop_assert!(low <= high * (1.0 + 1e-9) || (low == high), "{low} {high}");
        prop_assert!(high >= 0.0);
        if high.is_finite() && high > 0.01 {
            let back = composed.delta_upper(high * 1.001);
            prop_assert!(back <= delta * 1.01, "{back:e} {delta:e}");
        }
    }

    #[test]
    fn more_noise_or_fewer_chances_never_cost_more(
        setting in settings((1e-5, 0.9), (0.3, 30.0), (2.0, 5000.0)), delta in log_range(1e-10, 1e-2),
        change in log_range(1e-6, 0.05),
    ) {
        for better in setting.better(change) {
            never_costs_more(&better, &setting, delta, delta)?;
        }
        never_costs_more(&setting, &setting, delta * (1.0 + change), delta)?;
    }

    #[test]
    fn a_tiny_epsilon_is_steady_too(
        setting in settings((1e-5, 0.9), (0.3, 30.0), (2.0, 5000.0)), epsilon in log_range(1e-4, 0.1),
        change in log_range(1e-6, 0.05),
    ) {
        let delta = delta_upper(&setting.event(), epsilon).unwrap();
        prop_assume!((1e-30..0.1).contains(&delta));
        for better in setting.better(change) {
            never_costs_more(&better, &setting, delta, delta)?;
            let found = delta_upper(&better.event(), epsilon).unwrap();
            prop_assert!(found <= delta * (1.0 + STEADY), "{better:?} at {epsilon:e}: {found:e} above {delta:e}");
        }
        let found = delta_upper(&setting.event(), epsilon * (1.0 + change)).unwrap();
        prop_assert!(found <= delta * (1.0 + STEADY), "{setting:?} at {epsilon:e}: {found:e} above {delta:e}");
    }

    #[test]
    fn the_loss_distribution_is_never_above_renyi(
        rate in log_range(1e-4, 0.5), noise in log_range(0.5, 10.0), steps in 2..2000u64,
        delta in log_range(1e-9, 1e-3), adjacency in adjacencies(),
    ) {
        let event = poisson(rate, noise, steps, adjacency);
        let (pld, renyi) = (epsilon_upper(&event, delta).unwrap(), rdp::rdp_epsilon_upper(&event, delta).unwrap());
        prop_assert!(pld <= renyi * (1.0 + GRID) + 1e-9, "{pld} {renyi}");
    }

    #[test]
    fn replacing_costs_at_least_as_much_as_removing(
        rate in log_range(1e-4, 1.0), noise in log_range(0.5, 10.0), steps in 1..500u64,
    ) {
        let at = |a| epsilon_upper(&poisson(rate, noise, steps, a), 1e-6).unwrap();
        let remove = at(Adjacency::AddRemoveOne);
        prop_assert!(at(Adjacency::ReplaceOne) >= remove * (1.0 - GRID));
        prop_assert_eq!(at(Adjacency::ZeroOut), remove);
        let event = fixed(rate, noise, steps, Adjacency::ReplaceOne);
        let (attained, upper) = (epsilon_attained(&event, 1e-6).unwrap(), epsilon_upper(&event, 1e-6).unwrap());
        prop_assert!(attained <= upper * (1.0 + 1e-9), "{attained} {upper}");
    }

    #[test]
    fn every_sample_is_no_sample(noise in log_range(0.05, 1e4), steps in 1..100_000u64, adjacency in adjacencies()) {
        let mu = adjacency.sum_sensitivity() * (steps as f64).sqrt() / noise;
        let exact = gaussian::epsilon_upper(mu, 1e-6).unwrap();
        let got = epsilon_upper(&poisson(1.0, noise, steps, adjacency), 1e-6).unwrap();
        prop_assert!(got >= exact * (1.0 - 1e-9) && got <= exact * (1.0 + 1e-9) + 1e-9, "{got} {exact}");
        prop_assert_eq!(epsilon_upper(&poisson(0.0, noise, steps, adjacency), 1e-6).unwrap(), 0.0);
    }

    #[test]
    fn orders_of_composition_do_not_matter(a in 2..200u64, b in 2..200u64, delta in log_range(1e-9, 1e-3)) {
        let adjacency = Adjacency::AddRemoveOne;
        let (x, y) = (poisson(0.02, 1.1, a, adjacency), poisson(0.1, 3.0, b, adjacency));
        let z = Event::PureDp { epsilon: 0.2, adjacency };
        let one = epsilon_upper(&Event::Composed(vec![x.clone(), y.clone(), z.clone()]), delta).unwrap();
        let two = epsilon_upper(&Event::Composed(vec![z, Event::Composed(vec![y, x])]), delta).unwrap();
        prop_assert!((one / two - 1.0).abs() < 1e-6, "{one} {two}");
    }

    #[test]
    fn renyi_curves_grow_with_the_order(
        rate in log_range(1e-5, 1.0), noise in log_range(0.3, 20.0), order in 1.05..60.0f64, adjacency in adjacencies(),
    ) {
        for event in [poisson(rate, noise, 1, adjacency), fixed(rate, noise, 1, adjacency)] {
            let (low, high) = (rdp::rdp(&event, order).unwrap(), rdp::rdp(&event, order * 1.1).unwrap());
            prop_assert!(low >= 0.0 && high >= low * (1.0 - 1e-9), "{low:e} {high:e}");
        }
    }

    #[test]
    fn whole_orders_agree_with_the_integral(rate in log_range(1e-4, 0.9), noise in log_range(0.5, 10.0), order in 2..64u32) {
        // The order next to a whole number goes through the integral.
        let order = f64::from(order);
        let (sum, integral) = (rdp::rdp_poisson(order, rate, noise).unwrap(), rdp::rdp_poisson(order * (1.0 + 1e-11), rate, noise).unwrap());
        prop_assert!((sum / integral - 1.0).abs() < 1e-8, "{sum:e} {integral:e}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn corners_have_sane_answers(
        rate in log_range(1e-7, 1.0), noise in log_range(0.05, 1e4), steps in log_range(1.0, 1e7),
        delta in log_range(1e-30, 0.1), adjacency in adjacencies(), size in any::<bool>(),
    ) {
        let event = if size { fixed } else { poisson };
        let event = event(rate, noise, steps as u64, adjacency);
        let epsilon = epsilon_upper(&event, delta).unwrap();
        prop_assert!(epsilon >= 0.0 && epsilon.is_finite(), "{epsilon}");
        let low = epsilon_lower(&event, delta).unwrap();
        prop_assert!(low <= epsilon * (1.0 + 1e-9), "{low} {epsilon}");
        let d = delta_upper(&event, epsilon.min(1e4)).unwrap();
        prop_assert!((0.0..=1.0).contains(&d));
        prop_assert!(epsilon > 1e4 || d <= delta * 1.2, "{d:e} {delta:e} at {epsilon}");
        prop_assert!(delta_lower(&event, epsilon.min(1e4)).unwrap() <= d * (1.0 + 1e-9));
    }

    #[test]
    fn every_corner_is_steady(
        setting in settings((1e-7, 1.0), (0.05, 1e4), (1.0, 1e7)), delta in log_range(1e-30, 0.1),
        change in log_range(1e-6, 0.05),
    ) {
        for better in setting.better(change) {
            never_costs_more(&better, &setting, delta, delta)?;
        }
        never_costs_more(&setting, &setting, delta * (1.0 + change), delta)?;
    }

}

proptest! {
    // Five searches of many bounds each.
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn a_larger_budget_needs_no_more_noise(
        setting in settings((1e-6, 1.0), (1.0, 1.1), (1.0, 1e5)), epsilon in log_range(1e-4, 100.0),
        delta in log_range(1e-20, 0.1), change in log_range(1e-6, 0.05),
    ) {
        let noise = |setting: Setting, epsilon: f64, delta: f64| {
            let event = |noise: f64| Setting { noise, ..setting }.event();
            calibrate::noise_multiplier_for(epsilon, delta, event).unwrap()
        };
        let here = noise(setting, epsilon, delta) * (1.0 + STEADY);
        let [seldom, _, fewer] = setting.better(change);
        prop_assert!(noise(seldom, epsilon, delta) <= here);
        prop_assert!(noise(fewer, epsilon, delta) <= here);
        prop_assert!(noise(setting, epsilon * (1.0 + change), delta) <= here);
        prop_assert!(noise(setting, epsilon, delta * (1.0 + change)) <= here);
    }

    #[test]
    fn noise_found_is_noise_enough(
        rate in log_range(1e-4, 1.0), steps in log_range(1.0, 1e5), epsilon in log_range(0.05, 30.0),
        delta in log_range(1e-10, 1e-2), adjacency in adjacencies(),
    ) {
        let event = |s| poisson(rate, s, steps as u64, adjacency);
        let noise = calibrate::noise_multiplier_for(epsilon, delta, event).unwrap();
        let back = epsilon_upper(&event(noise), delta).unwrap();
        prop_assert!(back <= epsilon, "{back} {epsilon}");
        let less = epsilon_upper(&event(noise * 0.998), delta).unwrap();
        prop_assert!(less > epsilon * (1.0 - 1e-3) || noise < 0.05, "{less} {epsilon} {noise}");
    }
}

#[test]
fn the_extremes_of_epsilon_and_delta() {
    let adjacency = Adjacency::ReplaceOne;
    for epsilon in [1e-4, 1e-2, 1.0, 100.0, 1e4] {
        for delta in [1e-30, 1e-10, 0.1] {
            let event = |s| Event::Gaussian { noise_multiplier: s, adjacency };
            let noise = calibrate::noise_multiplier_for(epsilon, delta, event).unwrap();
            let exact = gaussian::noise_multiplier_upper(epsilon, delta).unwrap();
            assert!(
                noise >= exact * (1.0 - 1e-9) && noise <= exact * (1.0 + 1e-5),
                "{noise} {exact}"
            );
            let sampled = |s| poisson(0.01, s, 1000, adjacency);
            let noise = calibrate::noise_multiplier_for(epsilon, delta, sampled).unwrap();
            assert!(epsilon_upper(&sampled(noise), delta).unwrap() <= epsilon);
        }
    }
    let pure =
        Event::Repeated { event: Box::new(Event::PureDp { epsilon: 0.5, adjacency }), times: 10 };
    assert!((epsilon_upper(&pure, 0.0).unwrap() - 5.0).abs() < 1e-9);
    let gaussian = Event::Gaussian { noise_multiplier: 1.0, adjacency };
    assert_eq!(epsilon_upper(&gaussian, 0.0).unwrap(), f64::INFINITY);
    let refused = calibrate::noise_multiplier_for(1.0, 0.0, |noise_multiplier| Event::Gaussian {
        noise_multiplier,
        adjacency,
    });
    assert!(refused.unwrap_err().to_string().contains("Gaussian noise cannot give delta = 0"));
}

#[test]
fn searches_return_the_safe_end() {
    let adjacency = Adjacency::AddRemoveOne;
    let steps = calibrate::steps_for(2.0, 1e-5, |t| poisson(0.01, 1.0, t, adjacency)).unwrap();
    assert!(epsilon_upper(&poisson(0.01, 1.0, steps, adjacency), 1e-5).unwrap() <= 2.0);
    assert!(
        epsilon_upper(&poisson(0.01, 1.0, steps + steps / 100, adjacency), 1e-5).unwrap() > 2.0
    );
    let rate = calibrate::sample_rate_for(2.0, 1e-5, |q| poisson(q, 1.0, 1000, adjacency)).unwrap();
    assert!(epsilon_upper(&poisson(rate, 1.0, 1000, adjacency), 1e-5).unwrap() <= 2.0);
    assert!(epsilon_upper(&poisson(rate * 1.01, 1.0, 1000, adjacency), 1e-5).unwrap() > 2.0);
    assert_eq!(calibrate::steps_for(0.1, 1e-5, |t| poisson(1.0, 1.0, t, adjacency)).unwrap(), 0);
    // A fixed part that is already too expensive is named with what it costs.
    let heavy = |noise_multiplier| {
        Event::Composed(vec![
            Event::PureDp { epsilon: 3.0, adjacency },
            Event::Gaussian { noise_multiplier, adjacency },
        ])
    };
    let refused = calibrate::noise_multiplier_for(1.0, 1e-6, heavy).unwrap_err().to_string();
    assert!(refused.contains("the other parts alone use epsilon = "), "{refused}");
}

#[test]
fn disjoint_parts_cost_the_worst_and_moving_rows_cost_both() {
    let replace = Adjacency::ReplaceOne;
    let part = |s| poisson(1.0, s, 1, replace);
    let stay = Event::Disjoint { parts: vec![part(1.0), part(1.0)], fixed_partition: true };
    let free = Event::Disjoint { parts: vec![part(1.0), part(1.0)], fixed_partition: false };
    let two = gaussian::epsilon_upper(2.0, 1e-5).unwrap();
    assert!((epsilon_upper(&stay, 1e-5).unwrap() / two - 1.0).abs() < 1e-8);
    // A replaced row that stays costs mu = 2, one that moves mu = √2: the truth is the larger.
    assert!((epsilon_upper(&free, 1e-5).unwrap() / two - 1.0).abs() < 1e-8);
    assert!((two - 10.0).abs() < 0.1, "{two}");
    let opaque = Event::Disjoint {
        parts: vec![Event::PureDp { epsilon: 1.0, adjacency: replace }, part(1.0)],
        fixed_partition: false,
    };
    assert!(epsilon_upper(&opaque, 1e-5).is_err());
}

#[test]
fn what_cannot_be_analysed_is_refused_by_name() {
    let adjacency = Adjacency::AddRemoveOne;
    let partition = Event::EpochPartitionGaussian { passes: 3, noise_multiplier: 1.0, adjacency };
    let message = epsilon_upper(&partition, 1e-6).unwrap_err().to_string();
    assert!(
        message.contains("epoch-partition-gaussian") && message.contains("add-remove-one"),
        "{message}"
    );
    let shuffled = Event::Shuffled { epsilon0: 1.0, delta0: 0.0, rows: 100, adjacency };
    assert!(epsilon_upper(&shuffled, 1e-6).is_err());
    let approx = Event::ApproxDp { epsilon: 1.0, delta: 1e-6, adjacency };
    let message = rdp::rdp(&approx, 2.0).unwrap_err().to_string();
    assert!(message.contains("RDP") && message.contains("approx-dp"), "{message}");
    let hits = Event::HitMixture {
        hits: Hits::LastWithReplacement { rows: 10, steps: 10 },
        shift: 0.1,
        drift: 0.0,
        cap: None,
        adjacency,
    };
    assert!(epsilon_upper(&hits, 1e-6).is_err());
}

#[test]
fn curves_compose_as_tables() {
    let adjacency = Adjacency::ReplaceOne;
    let objective = Event::ObjectivePerturbation {
        class: ObjectiveClass::Monotone,
        epsilon_det: 0.1,
        slope: 0.1,
        output_mu: 0.01,
        adjacency,
    };
    let alone = epsilon_upper(&objective, 1e-6).unwrap();
    // Beside something that costs nothing the table alone is at work.
    let free = Event::Laplace { noise_multiplier: 1e9, adjacency };
    let beside =
        epsilon_upper(&Event::Composed(vec![objective.clone(), free.clone()]), 1e-6).unwrap();
    assert!(beside >= alone * (1.0 - 1e-9) && beside <= alone * 1.02, "{alone} {beside}");
    let noise = Event::Gaussian { noise_multiplier: 5.0, adjacency };
    let with = |events: &[&Event]| {
        let events = events.iter().map(|event| (*event).clone()).collect();
        epsilon_upper(&Event::Composed(events), 1e-6).unwrap()
    };
    let both = with(&[&objective, &noise, &free]);
    // A Gaussian release alone joins the output noise, which needs no table.
    let joined = with(&[&objective, &noise]);
    assert!(joined > alone && joined <= both && joined > 0.9 * both, "{alone} {joined} {both}");
    let mu = 0.01_f64.hypot(0.2);
    let Event::ObjectivePerturbation { class, epsilon_det, slope, .. } = objective else {
        panic!()
    };
    let one = Event::ObjectivePerturbation { class, epsilon_det, slope, output_mu: mu, adjacency };
    let one = epsilon_upper(&one, 1e-6).unwrap();
    assert!(joined >= one && joined <= one * (1.0 + 1e-9), "{one} {joined}");
    let objective =
        Event::ObjectivePerturbation { class, epsilon_det, slope, output_mu: 0.01, adjacency };
    let basic = epsilon_upper(&objective, 5e-7).unwrap() + epsilon_upper(&noise, 5e-7).unwrap();
    assert!(both > alone && both < basic, "{alone} {both} {basic}");
    // zCDP composed with itself: orders add, tables may not beat that by more than their points.
    let zcdp = Event::Zcdp { rho: 0.05, adjacency };
    let twice = Event::Repeated { event: Box::new(zcdp), times: 2 };
    let joined = epsilon_upper(&Event::Zcdp { rho: 0.1, adjacency }, 1e-5).unwrap();
    assert!(epsilon_upper(&twice, 1e-5).unwrap() <= joined * (1.0 + 1e-6));
}

#[test]
fn tuning_examples_of_the_specification() {
    let base = poisson(1.0 / 120.0, 1.477053, 6000, Adjacency::AddRemoveOne);
    assert!((epsilon_upper(&base, 1e-5).unwrap() - 2.0).abs() < 1e-3);
    // The logarithmic law with mean 16 has γ = 0.0143..: solve (1/γ − 1)/ln(1/γ) = 16.
    let (mut low, mut high) = (1e-6, 0.5);
    while high - low > 1e-12 {
        let gamma: f64 = 0.5 * (low + high);
        if (1.0 / gamma - 1.0) / (1.0 / gamma).ln() > 16.0 { low = gamma } else { high = gamma }
    }
    let trials = Trials::TruncatedNegativeBinomial { eta: 0.0, gamma: low };
    let tuned = Event::Tuned { base: Box::new(base.clone()), trials };
    let cost = epsilon_upper(&tuned, 1e-5).unwrap();
    let orders = reticent_privacy::rdp::rdp_epsilon_upper(&tuned, 1e-5).unwrap();
    assert!((orders - 3.82).abs() < 0.02, "{orders}");
    // By profiles: 0.645 of the whole is left to a run (a Gaussian release of the same cost).
    assert!((cost - 3.10).abs() < 0.05, "{cost}");
    let sixteen = Event::Repeated { event: Box::new(base.clone()), times: 16 };
    let plain = epsilon_upper(&sixteen, 1e-5).unwrap();
    assert!((plain - 9.84).abs() < 0.02, "{plain}");
    let poisson = Event::Tuned { base: Box::new(base), trials: Trials::Poisson { mean: 16.0 } };
    let cost = epsilon_upper(&poisson, 1e-5).unwrap();
    assert!(cost > 2.0 && cost < plain, "{cost}");
}

#[test]
fn bounded_range_examples_of_the_specification() {
    let adjacency = Adjacency::AddRemoveOne;
    let base = poisson(1.0 / 120.0, 1.2, 3600, adjacency);
    let range = Event::BoundedRange { epsilon: 0.3, adjacency };
    let with = epsilon_upper(&Event::Composed(vec![base.clone(), range]), 1e-5).unwrap();
    assert!((with / 2.1846 - 1.0).abs() < 1e-3, "{with}");
    let two = Event::Repeated {
        event: Box::new(Event::BoundedRange { epsilon: 1.0, adjacency }),
        times: 2,
    };
    // An adaptive analyst reaches 0.2365 at 0.2.
    assert!(delta_upper(&two, 0.2).unwrap() >= 0.2365);
}

#[test]
fn inexact_samplers_are_charged() {
    let adjacency = Adjacency::ReplaceOne;
    let inner = Event::Gaussian { noise_multiplier: 4.0, adjacency };
    let exact = delta_upper(&inner, 1.0).unwrap();
    let event = Event::Approximated { inner: Box::new(inner.clone()), total_variation: 1e-9 };
    let want = exact + (1.0 + 1f64.exp()) * 1e-9;
    assert!((delta_upper(&event, 1.0).unwrap() / want - 1.0).abs() < 1e-12);
    let (plain, charged) =
        (epsilon_upper(&inner, 1e-6).unwrap(), epsilon_upper(&event, 1e-6).unwrap());
    assert!(charged > plain && charged < plain * 1.01, "{plain} {charged}");
    assert!(delta_upper(&event, charged).unwrap() <= 1e-6);
    let tiny = Event::Approximated { inner: Box::new(inner), total_variation: 1e-30 };
    assert!((epsilon_upper(&tiny, 1e-6).unwrap() / plain - 1.0).abs() < 1e-9);
    let hopeless = Event::Approximated { inner: Box::new(Event::None), total_variation: 1e-3 };
    assert_eq!(epsilon_upper(&hopeless, 1e-6).unwrap(), f64::INFINITY);
}

#[test]
fn groups_scale() {
    let adjacency = Adjacency::ZeroOut;
    let group = |base: Event, size| Event::Group { base: Box::new(base), size };
    let gaussian = Event::Gaussian { noise_multiplier: 6.0, adjacency };
    let three = epsilon_upper(&group(gaussian, 3), 1e-6).unwrap();
    assert!((three / gaussian::epsilon_upper(0.5, 1e-6).unwrap() - 1.0).abs() < 1e-9);
    let pure = Event::PureDp { epsilon: 0.2, adjacency };
    assert!((epsilon_upper(&group(pure, 5), 0.0).unwrap() - 1.0).abs() < 1e-12);
    let sampled = poisson(0.01, 1.0, 100, adjacency);
    let (one, two) =
        (epsilon_upper(&sampled, 1e-6).unwrap(), epsilon_upper(&group(sampled, 2), 1e-6).unwrap());
    assert!(two >= 2.0 * one && two < 6.0 * one, "{one} {two}");
}

#[test]
fn fixed_size_is_not_poisson() {
    let at = |event: Event| epsilon_upper(&event, 1e-5).unwrap();
    let numbers = [
        (at(poisson(0.01, 1.0, 1000, Adjacency::AddRemoveOne)), 1.83),
        (at(poisson(0.01, 1.0, 1000, Adjacency::ReplaceOne)), 2.84),
        (at(fixed(0.01, 1.0, 1000, Adjacency::ReplaceOne)), 14.8),
    ];
    for (got, want) in numbers {
        assert!((got / want - 1.0).abs() < 5e-3, "{got} {want}");
    }
}

#[test]
fn the_envelope_is_not_the_one_sided_pair() {
    // q = 0.01, s = 5 (noise over replace sensitivity), N = 10^4, ε = 1.
    let one_sided = Composition::new([(Pair::PoissonRemove { rate: 0.01, mu: 0.2 }, 10_000)]);
    let envelope = Composition::new([(Pair::FixedReplace { rate: 0.01, mu: 0.2 }, 10_000)]);
    let (low, high) = (one_sided.delta_upper(1.0), envelope.delta_upper(1.0));
    assert!((low / 2.6e-8 - 1.0).abs() < 0.05, "{low:e}");
    assert!((high / 1.49e-7 - 1.0).abs() < 0.01, "{high:e}");
    assert!(pair::inner_epsilon(0.0, 0.5) == 0.0);
}

#[test]
fn epsilon_runs_over_eight_orders_of_magnitude() {
    let adjacency = Adjacency::AddRemoveOne;
    for epsilon in [1e-4, 1e-2, 1.0, 1e2, 1e4] {
        for (rate, steps) in [(1e-3, 10_000), (0.5, 100)] {
            let event = |noise_multiplier| Event::PoissonGaussian {
                sample_rate: rate,
                noise_multiplier,
                steps,
                adjacency,
            };
            let noise = calibrate::noise_multiplier_for(epsilon, 1e-7, event).unwrap();
            let back = epsilon_upper(&event(noise), 1e-7).unwrap();
            assert!(back <= epsilon && back >= epsilon * 0.999, "{epsilon} {noise} {back}");
            let delta = delta_upper(&event(noise), epsilon).unwrap();
            assert!(delta <= 1e-7 * 1.01, "{epsilon} {noise} {delta:e}");
        }
    }
}

#[test]
fn a_loss_that_is_nearly_always_its_largest_is_not_free() {
    // Almost every step loses −ln(1 − q), the most that adding a row can lose: ε is 49 times that,
    // but for a hair. The first grid overshoots it, and from there no tilt leads back.
    let pair = Pair::PoissonAdd { rate: 0.00010802514439468844, mu: 5.572720894148008 };
    let composed = Composition::new([(pair, 49)]);
    let most = -49.0 * (-0.00010802514439468844_f64).ln_1p();
    for delta in [1e-9, 2.1181582507831632e-5, 1e-4] {
        let epsilon = composed.epsilon_upper(delta);
        // δ(ε) >= E(1 − e^{ε−L}) with all 49 losses at their largest but for probability 49·5e-6.
        let floor = most + (1.0 - (delta + 49.0 * 5e-6)).ln();
        assert!(epsilon >= floor && epsilon <= most * 1.001, "{delta}: {epsilon} of {most}");
        assert!(composed.delta_upper(0.5 * most) >= 0.4 * most);
    }
}

#[test]
fn one_rare_step_is_resolved() {
    // A loss of many times ε once in a while, and common ones that are far smaller than ε: on a
    // grid that reached from one to the other these cost 0.003 and 0.000273, and more the fewer the
    // steps.
    let at = |rate, noise, steps, delta, adjacency| {
        epsilon_upper(&poisson(rate, noise, steps, adjacency), delta).unwrap()
    };
    for steps in [3600, 4000, 4400] {
        // δ(0) is 0.003177, 0.003366 and 0.003545, by a transform of 2²⁴ points.
        assert_eq!(at(2.138e-5, 0.5034, steps, 3.6e-3, Adjacency::AddRemoveOne), 0.0);
    }
    let remove = at(
        7.856585870191886e-5,
        0.5321701215734451,
        99,
        1.1871546391272376e-3,
        Adjacency::AddRemoveOne,
    );
    // The same transform gives δ(0.0002636067) = 0.00118713819.
    assert!((2.6355e-4..2.638e-4).contains(&remove), "{remove:e}");
    let mut last = 0.0;
    for steps in (1190..=1400).step_by(7) {
        let replace = at(1.68e-5, 25.1, steps, 1.9e-5, Adjacency::ReplaceOne);
        assert!(replace >= last && replace < 3e-6, "{steps}: {replace:e} after {last:e}");
        last = replace;
    }
    assert!(last > 1e-6);
}

#[test]
fn a_delta_too_small_for_any_window_is_not_large() {
    // The standard deviation of the loss is 1e-6 and ε a hundred thousand times that.
    let event = poisson(7e-7, 2215.0, 1_000_000, Adjacency::ReplaceOne);
    assert!(delta_upper(&event, 0.14).unwrap() < 1e-200);
}

#[test]
fn an_epsilon_far_above_every_loss_has_an_answer() {
    let adjacency = Adjacency::ReplaceOne;
    let zcdp = Event::Zcdp { rho: 0.1, adjacency };
    let curve = Event::Approximated { inner: Box::new(zcdp), total_variation: 1e-25 };
    let beside =
        |further| delta_upper(&Event::Composed(vec![curve.clone(), further]), 1e4).unwrap();
    for mu in [1e-6, 1.0] {
        let delta = beside(Event::Gdp { mu, adjacency });
        assert!((0.0..1e-6).contains(&delta), "{mu}: {delta:e}");
    }
    // The sampler's error grows with e^ε, so these have no good answer, but they have one.
    for further in [
        Event::Gdp { mu: 68.5, adjacency },
        Event::PureDp { epsilon: 1e-6, adjacency },
        Event::PureDp { epsilon: 5000.0, adjacency },
    ] {
        let delta = beside(further.clone());
        assert!((0.0..=1.0).contains(&delta), "{further:?}: {delta:e}");
    }
}

#[test]
fn an_open_failure_costs_its_probability_and_no_more() {
    let adjacency = Adjacency::ReplaceOne;
    let noise = Event::Gaussian { noise_multiplier: 4.0, adjacency };
    let failure = Event::ApproxDp { epsilon: 0.0, delta: 1e-9, adjacency };
    let both = Event::Composed(vec![failure, noise.clone()]);
    // δ = p + (1 − p)·δ of the noise, exactly.
    let epsilon = epsilon_upper(&both, 1e-6).unwrap();
    let want = gaussian::epsilon_upper(0.25, (1e-6 - 1e-9) / (1.0 - 1e-9)).unwrap();
    assert!(epsilon >= want * (1.0 - 1e-9) && epsilon <= want * (1.0 + GRID), "{epsilon} {want}");
    let delta = delta_upper(&both, 1.0).unwrap();
    let want = 1e-9 + (1.0 - 1e-9) * gaussian::delta(1.0, 0.25);
    assert!(delta >= want * (1.0 - 1e-9) && delta <= want * 1.01, "{delta:e} {want:e}");
    // Nothing beside the noise costs nothing.
    let nothing = Event::ApproxDp { epsilon: 0.0, delta: 0.0, adjacency };
    let beside = epsilon_upper(&Event::Composed(vec![nothing, noise.clone()]), 1e-6).unwrap();
    let alone = epsilon_upper(&noise, 1e-6).unwrap();
    assert!(beside >= alone * (1.0 - 1e-9) && beside <= alone * (1.0 + GRID), "{beside} {alone}");
}
