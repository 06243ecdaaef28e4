//! Kernel models through the library: their accuracy, and that blocks and threads change nothing.
use reticent::data::feature_map::FeatureMap;
use reticent::data::{Dense, Features, LocalOracle, Rows, Speed, mapped_margins};
use reticent::noise::Source;
use reticent::optim::least_squares::ORDER;
use reticent::optim::least_squares::Order;
use reticent::optim::setting::RIDGE;
use reticent::optim::{Plan, Quiet, Settings, candidates};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::feature_map::{Construction, Form, Kernel, MapLaw};
use reticent::problem::{Loss, Problem, RowBounds};

fn law(bandwidth: f64, features: usize) -> MapLaw {
    MapLaw {
        kernel: Kernel::Gaussian,
        bandwidth,
        construction: Construction::Independent,
        form: Form::Paired,
        features,
        seed: 9,
    }
}

fn plan(algorithm: &str, problem: &Problem, delta: f64, request: &Settings) -> Plan {
    let budget = Budget {
        epsilon: Epsilon::new(1.0).unwrap(),
        delta: Delta::new(delta).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    };
    let list = candidates(problem, budget, request);
    list.into_iter().find(|c| c.algorithm == algorithm).unwrap().plan.unwrap()
}

/// Numbers that look uniform on (0, 1).
fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }
}

/// The sine of section 13 of the specification: inputs uniform on [-1, 1], noise of deviation 0.2,
/// labels within 1.5.
fn sine(rows: usize) -> Rows {
    let mut next = uniform(rows as u64);
    let x: Vec<f64> = (0..rows).map(|_| 2.0 * next() - 1.0).collect();
    let y = x.iter().map(|x| {
        let normal = (-2.0 * next().ln()).sqrt() * (std::f64::consts::TAU * next()).cos();
        ((3.0 * x).sin() + 0.2 * normal).clamp(-1.5, 1.5)
    });
    let y = y.collect();
    Rows::new(Features::F64(Dense::new(rows, 1, x)), y, RowBounds::new(1.0, 1.5).unwrap())
}

#[test]
fn least_squares_learns_a_sine_within_the_specified_error() {
    let law = law(0.5, 200);
    for (rows, most) in [(1_000, 0.06), (10_000, 0.012)] {
        for order in [Order::Passes, Order::Full] {
            let problem = Problem::new(Loss::Squared, law.bounds(1.5).unwrap(), rows, law.features);
            let request = Settings::default().with(&ORDER, order).with(&RIDGE, 0.0);
            let delta = (rows as f64).powi(-2);
            let plan = plan("least-squares", &problem, delta, &request);
            let table = sine(rows).mapped(FeatureMap::new(law, 1).unwrap()).unwrap();
            let oracle = LocalOracle::new(table, Speed::default()).unwrap();
            let w = plan.run(&oracle, &Source::seeded_not_private(3), &Quiet).unwrap().weights;
            let grid: Vec<f64> = (0..=400).map(|i| f64::from(i) / 200.0 - 1.0).collect();
            let map = FeatureMap::new(law, 1).unwrap();
            let inputs = Features::F64(Dense::new(grid.len(), 1, grid.clone()));
            let got = mapped_margins(&map, &inputs, &w, 1);
            let error = |(x, f): (&f64, &f64)| (f.clamp(-1.5, 1.5) - (3.0 * x).sin()).powi(2);
            let error = grid.iter().zip(&got).map(error).sum::<f64>() / grid.len() as f64;
            assert!(error < most, "{order:?}, n = {rows}: {error}");
        }
    }
}

/// Three clouds in the plane with deviation 0.45, as in section 13 of the specification.
fn blobs(rows: usize, seed: u64) -> Rows {
    let mut next = uniform(seed);
    let mut normal = || (-2.0 * next().ln()).sqrt() * (std::f64::consts::TAU * next()).cos();
    let centres = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]];
    let x = (0..rows).flat_map(|i| centres[i % 3].map(|c: f64| c + 0.45 * normal())).collect();
    let y = (0..rows).map(|i| (i % 3) as f64).collect();
    Rows::new(Features::F64(Dense::new(rows, 2, x)), y, RowBounds::new(4.0, 2.0).unwrap())
}

#[test]
fn least_squares_tells_three_clouds_apart() {
    let law = law(1.0, 200);
    let problem =
        Problem::new(Loss::OneHot { classes: 3 }, law.bounds(2.0).unwrap(), 10_000, law.features);
    for order in [Order::Passes, Order::Full] {
        let request = Settings::default().with(&ORDER, order).with(&RIDGE, 0.0);
        let plan = plan("least-squares", &problem, 1e-8, &request);
        let table = blobs(10_000, 1).mapped(FeatureMap::new(law, 2).unwrap()).unwrap();
        let oracle = LocalOracle::new(table, Speed::default()).unwrap();
        let w = plan.run(&oracle, &Source::seeded_not_private(3), &Quiet).unwrap().weights;
        let (map, fresh) = (FeatureMap::new(law, 2).unwrap(), blobs(3_000, 2));
        let margins = mapped_margins(&map, fresh.features(), &w, 3);
        let right = margins.chunks(3).zip(fresh.labels()).filter(|(m, y)| {
            let own = m[**y as usize];
            m.iter().enumerate().all(|(k, m)| k == **y as usize || *m < own)
        });
        let accuracy = right.count() as f64 / 3_000.0;
        assert!(accuracy > 0.95, "{order:?}: {accuracy}");
    }
}

#[test]
fn the_squared_loss_on_classes_is_for_least_squares_alone() {
    let budget = Budget {
        epsilon: Epsilon::new(1.0).unwrap(),
        delta: Delta::new(1e-6).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    };
    for classes in [2, 5] {
        let bounds = RowBounds::new(1.0, (classes - 1) as f64).unwrap();
        let problem = Problem::new(Loss::OneHot { classes }, bounds, 1_000, 7);
        for candidate in candidates(&problem, budget, &Settings::default()) {
            match candidate.plan {
                Ok(_) => assert_eq!(candidate.algorithm, "least-squares"),
                Err(e) => {
                    assert_ne!(candidate.algorithm, "least-squares", "{e}");
                    assert!(e.to_string().contains("one-hot"), "{}: {e}", candidate.algorithm);
                }
            }
        }
    }
}

/// Every optimiser that serves bounded rows of a linear model gives the same weights from computed
/// features as from stored ones.
#[test]
fn every_algorithm_gives_the_same_model_from_stored_and_from_computed_features() {
    let law = law(0.5, 20);
    let rows = 300;
    let map = FeatureMap::new(law, 1).unwrap();
    let mut values = vec![0.0; rows * law.features];
    map.write(sine(rows).features(), 0..rows, &mut values, &mut map.scratch());
    let bounds = law.bounds(1.5).unwrap();
    let stored = Features::F32(Dense::new(rows, law.features, values));
    let mut tried = Vec::new();
    for loss in [Loss::Huber { threshold: 0.5 }, Loss::Squared] {
        let problem = Problem::new(loss, bounds, rows, law.features);
        let budget = Budget {
            epsilon: Epsilon::new(1.0).unwrap(),
            delta: Delta::new(1e-4).unwrap(),
            adjacency: Adjacency::ReplaceOne,
        };
        for candidate in candidates(&problem, budget, &Settings::default()) {
            let Ok(plan) = candidate.plan else { continue };
            let fit = |rows: Rows, threads: usize| {
                let speed = Speed { threads: Some(threads) };
                let oracle = LocalOracle::new(rows, speed).unwrap();
                plan.run(&oracle, &Source::seeded_not_private(8), &Quiet).unwrap().weights
            };
            let labels = sine(rows).labels().to_vec();
            let want = fit(Rows::new(stored.clone(), labels, bounds), 1);
            let mapped = || sine(rows).mapped(FeatureMap::new(law, 1).unwrap()).unwrap();
            let got = fit(mapped(), 1);
            assert_eq!(got, fit(mapped(), 2), "{}: threads", candidate.algorithm);
            let size = want.iter().map(|x| x.abs()).fold(0.0, f64::max);
            // Noise sits on a grid: a sum that rounds to the other side of a half moves by a step
            // of it.
            for (a, b) in want.iter().zip(&got) {
                assert!((a - b).abs() <= 1e-6 * size, "{}: {a} and {b}", candidate.algorithm);
            }
            tried.push(candidate.algorithm);
        }
    }
    for name in [
        "objective",
        "output-gd",
        "output-sgd",
        "permuted-sgd",
        "gradient-sgd",
        "random-round",
        "clipped-sgd",
        "mirror",
        "phased",
        "least-squares",
    ] {
        assert!(tried.contains(&name), "{name} is not among {tried:?}");
    }
}
