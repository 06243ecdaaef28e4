//! Numbers at the ends of their ranges: a bound must stay one there.

use reticent_privacy::rdp::{rdp_laplace, rdp_poisson, rdp_poisson_replace};
use reticent_privacy::{
    Adjacency, Event, Hits, ObjectiveClass, Trials, calibrate, delta_upper, epsilon_attained,
    epsilon_lower, epsilon_upper, filter::gaussian_cost, gaussian, objective::Objective,
};

const ADJACENCY: Adjacency = Adjacency::ReplaceOne;

fn poisson(sample_rate: f64, noise_multiplier: f64, steps: u64) -> Event {
    Event::PoissonGaussian { sample_rate, noise_multiplier, steps, adjacency: ADJACENCY }
}

#[test]
fn more_steps_than_a_counter_holds_are_not_free() {
    let many =
        |times| Event::Repeated { event: Box::new(poisson(1e-10, 1.0, 1_000_000_000)), times };
    let mut events = vec![many(1_000_000_000); 18];
    let before = epsilon_upper(&Event::Composed(events.clone()), 1e-5).unwrap();
    // Together 2^64 and a little.
    events.push(many(446_744_074));
    let after = epsilon_upper(&Event::Composed(events), 1e-5).unwrap();
    assert!(after >= 4.0, "{after}, and {before} before");
}

#[test]
fn a_rate_near_one_is_no_cheaper_than_all_rows() {
    // With all rows the curve is 2·order/sigma²; leaving out a row in a billion changes nothing
    // that shows.
    for (sigma, order) in [(3.0, 20.0), (3.0, 60.0), (10.0, 200.0), (100.0, 2500.5)] {
        let whole = 2.0 * order / (sigma * sigma);
        let got = rdp_poisson_replace(order, 1.0 - 1e-9, sigma).unwrap();
        assert!((got / whole - 1.0).abs() < 1e-2, "sigma {sigma}, order {order}: {got} {whole}");
    }
}

#[test]
fn what_is_added_to_a_list_does_not_make_it_cheaper() {
    let one = poisson(0.999_999_999, 3.0, 1);
    let alone = epsilon_lower(&one, 1e-300).unwrap();
    assert!((alone - 24.8473).abs() < 1e-3, "{alone}"); // by quadrature with forty digits
    let two = vec![one, Event::Zcdp { rho: 1e-9, adjacency: ADJACENCY }];
    let both = epsilon_upper(&Event::Composed(two), 1e-300).unwrap();
    assert!(both >= alone, "{both} {alone}");
}

#[test]
fn almost_no_noise_costs_almost_everything() {
    // ε with δ = 1e-5 is mu²/2 + 4.2648…·mu for so large a mu; computed with sixty digits.
    let epsilon = gaussian::epsilon_upper(1e10, 1e-5).unwrap();
    assert!((5.000_000_004_264_89e19..5.000_001e19).contains(&epsilon), "{epsilon}");
    assert!(gaussian::delta_upper(4.999_999_978_182_919e19, 1e10) > 0.999);
    let noise = 1.0 / gaussian::mu_lower(1e18, 1e-12).unwrap();
    assert!((7.071_067_847_0e-10..7.072e-10).contains(&noise), "{noise}");
}

#[test]
fn an_infinite_epsilon_does_not_close_an_open_failure() {
    let open = Event::ApproxDp { epsilon: 1.0, delta: 1e-6, adjacency: ADJACENCY };
    let got = delta_upper(&open, f64::INFINITY).unwrap();
    assert!((1e-6..1.001e-6).contains(&got), "{got:e}");
    let closed = Event::Gaussian { noise_multiplier: 1.0, adjacency: ADJACENCY };
    assert_eq!(delta_upper(&closed, f64::INFINITY).unwrap(), 0.0);
}

#[test]
fn a_tiny_loss_is_a_loss() {
    let faint = Event::Gaussian { noise_multiplier: 1e200, adjacency: Adjacency::AddRemoveOne };
    let epsilon = epsilon_upper(&faint, 1e-300).unwrap();
    assert!((2e-199..1e-198).contains(&epsilon), "{epsilon:e}");
    for loss in [1e-8, 1e-7] {
        let curve = rdp_laplace(2.0, loss);
        assert!(curve >= loss * loss * (1.0 - 1e-6), "{curve:e}");
    }
}

#[test]
fn orders_next_to_one_keep_their_digits() {
    let near = rdp_poisson(1.0 + 1e-13, 0.01, 1.0).unwrap();
    let further = rdp_poisson(1.001, 0.01, 1.0).unwrap();
    assert!((8.381_2e-5..=further).contains(&near), "{near:e} {further:e}");
}

const CLASSES: [ObjectiveClass; 6] = [
    ObjectiveClass::Monotone,
    ObjectiveClass::TwoSided,
    ObjectiveClass::Logistic,
    ObjectiveClass::Subspace { dimension: 4 },
    ObjectiveClass::Unit { dimension: 30, directions: 1, monotone: true },
    ObjectiveClass::Unit { dimension: 12, directions: 3, monotone: false },
];

fn objective(class: ObjectiveClass, slope: f64, output_mu: f64, adjacency: Adjacency) -> Event {
    Event::ObjectivePerturbation { class, epsilon_det: 0.01, slope, output_mu, adjacency }
}

/// Events whose loss has no bound, for one row of `adjacency`.
fn unbounded(adjacency: Adjacency) -> Vec<Event> {
    let poisson = |sample_rate, steps| Event::PoissonGaussian {
        sample_rate,
        noise_multiplier: 1.0,
        steps,
        adjacency,
    };
    let fixed = |batch| Event::FixedSizeGaussian {
        batch,
        rows: 10,
        noise_multiplier: 1.0,
        steps: 1,
        adjacency,
    };
    let mut events = vec![
        Event::Gaussian { noise_multiplier: 1.0, adjacency },
        Event::Gaussian { noise_multiplier: 1e200, adjacency },
        Event::Gdp { mu: 0.3, adjacency },
        Event::ApproxDp { epsilon: 1.0, delta: 1e-9, adjacency },
        Event::Zcdp { rho: 0.1, adjacency },
        Event::Tuned {
            base: Box::new(Event::Gdp { mu: 0.3, adjacency }),
            trials: Trials::Poisson { mean: 3.0 },
        },
        poisson(0.5, 1),
        poisson(0.5, 2),
        poisson(1.0, 1),
        poisson(1e-9, 1),
        poisson(1e-300, 1),
        fixed(5),
        fixed(10),
        Event::SingleIndexGaussian { rows: 10, noise_multiplier: 30.0, steps: 1, adjacency },
    ];
    if adjacency == Adjacency::AddRemoveOne {
        return events;
    }
    events.push(Event::EpochPartitionGaussian { passes: 1, noise_multiplier: 2.0, adjacency });
    for class in CLASSES {
        events.push(objective(class, 0.02, 0.0, adjacency));
        events.push(objective(class, 0.0, 0.3, adjacency));
        events.push(objective(class, 0.02, 0.3, adjacency));
    }
    events.push(Event::ShuffledGdp { local_mu: 0.5, rows: 20, adjacency });
    events.push(Event::Shuffled { epsilon0: 1.0, delta0: 1e-12, rows: 20, adjacency });
    if adjacency == Adjacency::ReplaceOne {
        for hits in [
            Hits::LastWithReplacement { rows: 5, steps: 3 },
            Hits::AverageWithReplacement { rows: 5, steps: 3 },
            Hits::AveragePermuted { rows: 5, passes: 2 },
        ] {
            for cap in [None, Some(0.2)] {
                events.push(Event::HitMixture { hits, shift: 0.3, drift: 0.0, cap, adjacency });
            }
        }
    }
    events
}

/// Events whose loss has a bound, with the least one.
fn bounded(adjacency: Adjacency) -> Vec<(Event, f64)> {
    let gaussian = Event::Gaussian { noise_multiplier: 1.0, adjacency };
    let mut events = vec![
        (Event::None, 0.0),
        (Event::Gdp { mu: 0.0, adjacency }, 0.0),
        (Event::Zcdp { rho: 0.0, adjacency }, 0.0),
        (Event::Laplace { noise_multiplier: 2.0, adjacency }, 0.5),
        (Event::Laplace { noise_multiplier: 1e-3, adjacency }, 1e3),
        (Event::L2Laplace { epsilon: 0.7, adjacency }, 0.7),
        (Event::PureDp { epsilon: 0.3, adjacency }, 0.3),
        (Event::PureDp { epsilon: 1e-200, adjacency }, 1e-200),
        (Event::BoundedRange { epsilon: 0.9, adjacency }, 0.9),
        (Event::BoundedRange { epsilon: 1e-12, adjacency }, 1e-12),
        (Event::ApproxDp { epsilon: 1.2, delta: 0.0, adjacency }, 1.2),
        (Event::Repeated { event: Box::new(gaussian), times: 0 }, 0.0),
        (
            Event::PoissonGaussian { sample_rate: 0.0, noise_multiplier: 1.0, steps: 5, adjacency },
            0.0,
        ),
    ];
    if adjacency != Adjacency::AddRemoveOne {
        for class in CLASSES {
            events.push((objective(class, 0.0, 0.0, adjacency), 0.01));
        }
        // Among so many it is next to certain that others hide the report, and no more than that.
        for rows in [1, 3000] {
            let shuffled = Event::Shuffled { epsilon0: 1.0, delta0: 0.0, rows, adjacency };
            events.push((shuffled, 1.0));
        }
        events.push((Event::ShuffledGdp { local_mu: 0.0, rows: 1000, adjacency }, 0.0));
    }
    if adjacency == Adjacency::ReplaceOne {
        let hits = Hits::LastWithReplacement { rows: 5, steps: 3 };
        let still = Event::HitMixture { hits, shift: 0.0, drift: 0.0, cap: None, adjacency };
        events.push((still, 0.0));
    }
    events
}

/// The event alone and as a part of larger ones, each with how often its loss counts.
fn wrapped(event: &Event, adjacency: Adjacency) -> Vec<(Event, f64)> {
    let own = || Box::new(event.clone());
    let nothing = Event::PureDp { epsilon: 0.0, adjacency };
    let list = || vec![event.clone(), nothing.clone()];
    vec![
        (event.clone(), 1.0),
        (Event::Repeated { event: own(), times: 1 }, 1.0),
        (Event::Repeated { event: own(), times: 2 }, 2.0),
        (Event::RandomStop { event: own(), rounds: 3 }, 2.0),
        (Event::Composed(list()), 1.0),
        (Event::Disjoint { parts: list(), fixed_partition: true }, 1.0),
        (Event::OneOf(list()), 1.0),
        (Event::Group { base: own(), size: 1 }, 1.0),
        (Event::Group { base: own(), size: 3 }, 3.0),
        (Event::Approximated { inner: own(), total_variation: 0.0 }, 1.0),
    ]
}

const ADJACENCIES: [Adjacency; 3] =
    [Adjacency::AddRemoveOne, Adjacency::ZeroOut, Adjacency::ReplaceOne];

#[test]
fn no_delta_is_no_promise_for_a_loss_without_bound() {
    let mut seen = std::collections::BTreeSet::from(["not-private"]);
    assert_eq!(epsilon_upper(&Event::NotPrivate, 0.0).unwrap(), f64::INFINITY);
    for adjacency in ADJACENCIES {
        for event in unbounded(adjacency) {
            for (event, _) in wrapped(&event, adjacency) {
                seen.insert(event.name());
                let epsilon = epsilon_upper(&event, 0.0).unwrap();
                assert_eq!(epsilon, f64::INFINITY, "{event:?}");
                for epsilon in [40.0, 1e5] {
                    let delta = delta_upper(&event, epsilon).unwrap();
                    assert!(delta > 0.0, "{event:?} at {epsilon}");
                }
                for bound in [epsilon_lower, epsilon_attained] {
                    let lower = bound(&event, 0.0).unwrap();
                    assert!(lower >= 0.0 && !lower.is_nan(), "{event:?}: {lower}");
                }
            }
        }
        for (event, least) in bounded(adjacency) {
            for (event, times) in wrapped(&event, adjacency) {
                seen.insert(event.name());
                let (least, epsilon) = (times * least, epsilon_upper(&event, 0.0).unwrap());
                // A curve in a list is a hull of some of its points, which ends a little later.
                let range = least * (1.0 - 1e-9)..=least * 1.01;
                assert!(range.contains(&epsilon), "{event:?}: {epsilon} {least}");
                assert!(epsilon_lower(&event, 0.0).unwrap() <= epsilon, "{event:?}");
                assert!(epsilon_attained(&event, 0.0).unwrap() <= epsilon, "{event:?}");
                assert_eq!(delta_upper(&event, 1.001 * epsilon).unwrap(), 0.0, "{event:?}");
            }
        }
    }
    assert_eq!(seen.len(), 26, "every kind of event: {seen:?}");
}

#[test]
fn without_delta_the_pairs_of_gaussian_noise_have_no_bound_from_below_either() {
    for event in [poisson(0.5, 1.0, 1), poisson(0.5, 1.0, 2), poisson(1.0, 1.0, 1)] {
        assert_eq!(epsilon_lower(&event, 0.0).unwrap(), f64::INFINITY, "{event:?}");
        assert_eq!(epsilon_attained(&event, 0.0).unwrap(), f64::INFINITY, "{event:?}");
    }
    // The loss that real data attain is bounded: randomised response at half the range.
    let range = Event::BoundedRange { epsilon: 0.8, adjacency: ADJACENCY };
    let attained = epsilon_attained(&range, 0.0).unwrap();
    assert!((0.4 * (1.0 - 1e-9)..=0.4).contains(&attained), "{attained}");
}

#[test]
fn without_delta_no_noise_and_no_cost_is_found() {
    for steps in [1, 2] {
        let refused = calibrate::noise_multiplier_for(1.0, 0.0, |noise| poisson(0.5, noise, steps));
        assert!(refused.unwrap_err().to_string().contains("cannot give delta = 0"), "{steps}");
    }
    assert!(gaussian_cost(&poisson(0.5, 50.0, 1), 0.0).is_err());
    for class in CLASSES {
        let objective = Objective {
            class,
            epsilon_det: 0.01,
            slope: 0.02,
            output_mu: 0.0,
            adjacency: ADJACENCY,
        };
        assert_eq!(objective.epsilon_upper(0.0).unwrap(), f64::INFINITY, "{class:?}");
    }
}
