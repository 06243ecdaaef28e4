//! The rows' mean direction, found privately and shortened: what it is charged for, its noise,
//! what it does to a run.

use crate::common::kept::run_from;
use rand_core::Rng as _;
use reticent_data::{Dense, Features, LocalOracle, Rows, Speed, moments_rounding};
use reticent_noise::{Purpose, Source, fast};
use reticent_optim::clipped_sgd::{Clip, ClippedSgd, ClippedSgdPlan, Output, State};
use reticent_optim::{Algorithm, Calibration, Plan, Planned as _, Quiet, RunError};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon, Event, epsilon_upper};
use reticent_problem::{Domain, Loss, Problem, REPLACED, RowBounds};

fn budget(epsilon: f64, delta: f64, adjacency: Adjacency) -> Budget {
    Budget { epsilon: Epsilon::new(epsilon).unwrap(), delta: Delta::new(delta).unwrap(), adjacency }
}

fn usual() -> Budget {
    budget(0.5, 1e-6, Adjacency::ReplaceOne)
}

fn settings(precondition: Option<f64>) -> ClippedSgd {
    ClippedSgd {
        clip: Clip::Public { norm: 0.2 },
        batch: Some(100),
        steps: Some(200),
        eta: Some(2.0),
        output: Some(Output::TailAverage),
        precondition,
        ..ClippedSgd::default()
    }
}

/// Rows of norm 1 at most with nine tenths of their energy in a mean direction, and what tells
/// their classes apart in the rest.
fn table(n: usize, d: usize) -> (Problem, LocalOracle, Vec<Vec<f64>>, Vec<f64>) {
    let mut stream = Source::seeded_not_private(4).stream(Purpose::Initial);
    let mut z = vec![0.0; n * d];
    fast::fill_standard_gaussian(&mut z, &mut stream);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for z in z.chunks(d) {
        let rest: f64 = z.iter().map(|z| z * z).sum::<f64>().sqrt();
        let row: Vec<f64> =
            z.iter().enumerate().map(|(j, z)| if j == 0 { 0.94 } else { 0.3 * z / rest }).collect();
        y.push(if z[1] + 0.5 * z[2] > 0.3 { 1.0 } else { -1.0 });
        x.push(row);
    }
    let bounds = RowBounds::features(1.0).unwrap();
    let rows = Rows::new(Features::F64(Dense::new(n, d, x.concat())), y.clone(), bounds);
    let oracle = LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap();
    (Problem::new(Loss::Logistic, bounds, n, d), oracle, x, y)
}

fn states(plan: &ClippedSgdPlan, oracle: &LocalOracle, seed: u64) -> Vec<State> {
    let mut states = Vec::new();
    let source = Source::seeded_not_private(seed);
    run_from(plan, None, oracle, &source, |state| {
        assert!(state.belongs_to(plan));
        states.push(state.clone());
        Ok(())
    })
    .unwrap();
    states
}

#[test]
fn the_direction_is_charged_before_the_steps_and_takes_a_tenth() {
    for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemoveOne, Adjacency::ZeroOut] {
        let problem = Problem::new(Loss::Logistic, RowBounds::features(1.0).unwrap(), 2000, 5);
        let asked = budget(0.5, 1e-6, adjacency);
        let plain = settings(None).plan(&problem, asked).unwrap();
        let plan = settings(Some(0.3)).plan(&problem, asked).unwrap();
        let sigma = plan.noise_multiplier;
        // Two sums move by √2 of the bound when a row joins, and by `REPLACED` in squares when it
        // is replaced, which counts as twice the unit.
        let replaced = REPLACED.sqrt() / 2.0 * (1.0 + 1e-6);
        let unit = if adjacency.replaces() { replaced } else { 2_f64.sqrt() };
        let ratio = 3.0 * 2_f64.sqrt() / unit;
        let direction = Event::PoissonGaussian {
            sample_rate: 1.0,
            noise_multiplier: ratio * (sigma / (0.05 * 199_f64.sqrt())),
            steps: 1,
            adjacency,
        };
        let sums = Event::PoissonGaussian {
            sample_rate: 0.05,
            noise_multiplier: sigma,
            steps: 199,
            adjacency,
        };
        assert_eq!(plan.outline.event, Event::Composed(vec![direction, sums]));
        assert!(epsilon_upper(&plan.outline.event, 1e-6).unwrap() <= 0.5);
        let more = sigma / plain.noise_multiplier;
        assert!((1.02..1.08).contains(&more), "{more}");
        assert_eq!(plan.again().unwrap(), plan);
    }
}

#[test]
fn the_noise_of_the_direction_is_what_was_charged() {
    // A sum along one feature: how far the direction strays from it is the noise across. The scales
    // show the noise of the squares.
    let (n, bound) = (2000, 2.0);
    for bounds in [
        RowBounds::features(bound).unwrap(),
        RowBounds::features(bound).unwrap().with_entries(1.25).unwrap(),
    ] {
        let rows = [1.2, 0.9, 1.2, -0.9].repeat(n / 2);
        let (problem, oracle, plan, noise_multiplier) =
            directed(Loss::Logistic, rows, 1.0, n, bounds);
        // Two sums are released, which a replaced row moves by this together.
        let half = REPLACED.sqrt() / 2.0;
        let deviation = noise_multiplier * half * bound * moments_rounding(&problem);
        let (sum, mean) = (1.2 * n as f64, deviation * bounds.entry() / n as f64);
        assert!(deviation < 0.03 * sum, "{deviation}: small, so that angles are lengths");
        let level = mean.max(1e-3 * bound * bound);
        let wants = [1.44 + level, 0.81 + level];
        let spread = mean * (wants[0].powi(-2) + wants[1].powi(-2)).sqrt();
        let (mut strays, mut uneven) = (Vec::new(), Vec::new());
        for seed in 0..4000 {
            let preconditioner =
                states(&plan, &oracle, seed).swap_remove(0).preconditioner.unwrap();
            assert_eq!(preconditioner.keep(), 0.5);
            let (u, s) = (preconditioner.direction(), preconditioner.scales());
            strays.push(u[1] / u[0] * s[0] / s[1] * sum / deviation);
            let ratio = (s[1] / s[0]).powi(2) * wants[1] / wants[0];
            uneven.push(ratio.ln() / spread);
        }
        is_standard_normal(&strays, "direction");
        is_standard_normal(&uneven, "scales");
    }
}

#[test]
fn the_noise_of_a_direction_without_scales_is_what_was_charged() {
    // Too many features to tell their sizes: the rows' sum alone is released, and no feature is
    // scaled.
    let (n, d, bound) = (2000, 80, 2.0);
    let mut row = vec![0.0; d];
    row[0] = 1.2;
    let bounds = RowBounds::features(bound).unwrap();
    let (problem, oracle, plan, noise_multiplier) =
        directed(Loss::Logistic, row.repeat(n), 1.0, n, bounds);
    let deviation = noise_multiplier * bound * moments_rounding(&problem);
    let sum = 1.2 * n as f64;
    assert!(deviation < 0.03 * sum, "{deviation}: small, so that angles are lengths");
    let mut strays = Vec::new();
    for seed in 0..60 {
        let preconditioner = states(&plan, &oracle, seed).swap_remove(0).preconditioner.unwrap();
        assert_eq!(preconditioner.scales(), vec![1.0; d]);
        let u = preconditioner.direction();
        strays.extend(u[1..].iter().map(|x| x / u[0] * sum / deviation));
    }
    is_standard_normal(&strays, "direction");
}

#[test]
fn the_noise_of_the_labels_mean_is_what_was_charged() {
    // Equal rows: what is predicted at the first weights is the noisy mean of the labels, but for
    // the little noise in the rows' mean.
    let (n, bound, most) = (2000, 2.0, 3.0);
    let bounds = RowBounds::new(bound, most).unwrap();
    for (features, parts) in [(2, (REPLACED + 1.0) / 4.0), (80, 1.25)] {
        let mut row = vec![0.0; features];
        row[0] = 1.6;
        let (problem, oracle, plan, noise_multiplier) =
            directed(Loss::Squared, row.repeat(n), 0.6, n, bounds);
        let sigma = noise_multiplier * parts.sqrt() * bound * moments_rounding(&problem);
        let deviation = 2.0 * most * sigma / (bound * n as f64);
        assert!(
            (0.05..0.12).contains(&deviation),
            "{deviation}: the mean is told, and noise is seen"
        );
        let (mut strays, mut scaled) = (Vec::new(), false);
        for seed in 0..4000 {
            let state = states(&plan, &oracle, seed).swap_remove(0);
            scaled |= state.preconditioner.unwrap().scales().iter().any(|s| *s != 1.0);
            let predicted = 1.6 * state.weights[0];
            // The correction for noise is undone: y = told + 2s²/y.
            let back =
                0.5 * (predicted + (predicted * predicted + 8.0 * deviation * deviation).sqrt());
            strays.push(back / deviation);
        }
        assert_eq!(scaled, features == 2);
        // The first weights are the noisy mean of the labels times what the rows tell: a little
        // less is predicted, by what features might vary.
        let mean = strays.iter().sum::<f64>() / strays.len() as f64;
        let part = mean * deviation / 0.6;
        assert!((0.93..1.01).contains(&part), "{part}");
        for s in &mut strays {
            *s = (*s - mean) / part;
        }
        is_standard_normal(&strays, "labels");
    }
}

#[test]
fn numbers_far_from_the_middle_of_their_range_are_told_apart_with_less_noise() {
    // Labels between 0.75 and 0.85 of the bound, and rows with an intercept.
    let (problem, _, x, y) = table(4000, 8);
    let y: Vec<f64> = x.iter().zip(y).map(|(x, y)| 0.8 + 0.01 * y + 0.1 * x[1]).collect();
    let problem = Problem { loss: Loss::Huber { threshold: 0.5 }, ..problem };
    let rows = Rows::new(Features::F64(Dense::new(4000, 8, x.concat())), y.clone(), problem.bounds);
    let oracle = LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap();
    let plan = ClippedSgd {
        clip: Clip::Quantile { multiple: 1.0, epsilon: None },
        eta: None,
        adaptive_step: true,
        steps: Some(500),
        batch: Some(200),
        ..settings(Some(0.3))
    };
    let plan = plan.plan(&problem, budget(1.0, 1e-6, Adjacency::ReplaceOne)).unwrap();
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let spread: f64 = y.iter().map(|y| (y - mean).powi(2)).sum();
    let told = (0..10).map(|seed| {
        let source = Source::seeded_not_private(seed);
        let w = ClippedSgd::run(&plan, &oracle, &source, &Quiet).unwrap().weights;
        let predict = |x: &Vec<f64>| x.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>();
        1.0 - x.iter().zip(&y).map(|(x, y)| (predict(x) - y).powi(2)).sum::<f64>() / spread
    });
    let told = told.sum::<f64>() / 10.0;
    assert!(told > 0.5, "{told}");
}

/// A short run on these rows, and what its direction was charged with.
fn directed(
    loss: Loss,
    rows: Vec<f64>,
    label: f64,
    n: usize,
    bounds: RowBounds,
) -> (Problem, LocalOracle, ClippedSgdPlan, f64) {
    let d = rows.len() / n;
    let rows = Rows::new(Features::F64(Dense::new(n, d, rows)), vec![label; n], bounds);
    let oracle = LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap();
    let problem = Problem::new(loss, bounds, n, d);
    let short = ClippedSgd { steps: Some(2), eta: Some(1e-12), ..settings(Some(0.5)) };
    let plan = short.plan(&problem, budget(10.0, 1e-6, Adjacency::ReplaceOne)).unwrap();
    let Event::Composed(events) = &plan.outline.event else { panic!("{:?}", plan.outline.event) };
    let Event::PoissonGaussian { noise_multiplier, .. } = events[0] else { panic!("{events:?}") };
    (problem, oracle, plan, noise_multiplier)
}

/// For about 4000 numbers, where the standard errors of the moments are 0.022 and 0.155: false
/// alarms 9e-6 and, by the normal approximation, 6e-6. Twice or half the noise is far off.
fn is_standard_normal(of: &[f64], what: &str) {
    let moment = |power: i32| of.iter().map(|s| s.powi(power)).sum::<f64>() / of.len() as f64;
    assert!((moment(2) - 1.0).abs() < 0.1, "{what}: {}", moment(2));
    assert!((moment(4) - 3.0).abs() < 0.7, "{what}, a normal law: {}", moment(4));
}

#[test]
fn rows_whose_squares_are_no_numbers_are_not_shortened() {
    let asked = |bounds: RowBounds| {
        let problem = Problem::new(Loss::Logistic, bounds, 2000, 2);
        settings(Some(0.5)).plan(&problem, usual())
    };
    for (norm, entry) in [(1e153, 1e153), (1.6e-162, 1.6e-162), (1.0, 1e-162)] {
        let bounds = RowBounds::features(norm).unwrap().with_entries(entry).unwrap();
        assert!(asked(bounds).is_err(), "{norm}, {entry}");
    }
    assert!(asked(RowBounds::features(1e30).unwrap()).is_ok());
}

#[test]
fn without_noise_and_clipping_the_minimiser_is_the_same() {
    let (problem, oracle, ..) = table(300, 4);
    let free = budget(f64::INFINITY, 0.0, Adjacency::ReplaceOne);
    let reached = |precondition| {
        let plan = ClippedSgd {
            clip: Clip::Public { norm: 1e3 },
            batch: Some(300),
            steps: Some(60_000),
            eta: Some(6.0),
            output: Some(Output::Last),
            precondition,
            ..ClippedSgd::default()
        }
        .plan(&problem, free)
        .unwrap();
        ClippedSgd::run(&plan, &oracle, &Source::seeded_not_private(1), &Quiet).unwrap().weights
    };
    let (plain, short) = (reached(None), reached(Some(0.3)));
    let gap: f64 = plain.iter().zip(&short).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let length: f64 = plain.iter().map(|a| a * a).sum::<f64>().sqrt();
    assert!(gap < 0.02 * length, "{plain:?} {short:?}");
}

#[test]
fn rows_with_much_in_common_are_told_apart_with_less_noise() {
    let (problem, oracle, x, y) = table(4000, 12);
    let mean = |plan: &ClippedSgdPlan| {
        let right = |seed: u64| {
            let source = Source::seeded_not_private(seed);
            let w = ClippedSgd::run(plan, &oracle, &source, &Quiet).unwrap().weights;
            let margin = |x: &Vec<f64>| x.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>();
            x.iter().zip(&y).filter(|(x, y)| margin(x) * **y > 0.0).count() as f64 / 4000.0
        };
        (0..20).map(right).sum::<f64>() / 20.0
    };
    let paced = |precondition, norm| ClippedSgd {
        clip: Clip::Public { norm },
        eta: None,
        adaptive_step: true,
        steps: Some(500),
        batch: Some(200),
        ..settings(precondition)
    };
    let asked = budget(0.2, 1e-6, Adjacency::ReplaceOne);
    // The best of several clip norms without, against one with.
    let plain = [0.1, 0.2, 0.4].map(|clip| mean(&paced(None, clip).plan(&problem, asked).unwrap()));
    let plain = plain.into_iter().fold(0.0, f64::max);
    let short = mean(&paced(Some(0.3), 0.15).plan(&problem, asked).unwrap());
    assert!(short > plain + 0.03, "{short} and {plain}");
}

#[test]
fn an_interrupted_run_keeps_the_direction_that_was_paid_for() {
    let (problem, oracle, ..) = table(2000, 4);
    let plan = settings(Some(0.3)).plan(&problem, usual()).unwrap();
    let mut kept = None;
    let stopped =
        run_from(&plan, None, &oracle, &Source::seeded_not_private(5), |state: &State| {
            kept = Some(state.clone());
            if state.step < 7 { Ok(()) } else { Err(RunError::NotKept { why: "x".to_owned() }) }
        });
    assert!(stopped.is_err());
    let state = kept.unwrap();
    let json = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<State>(&json).unwrap(), state);
    let mut last = None;
    let source = Source::seeded_not_private(6);
    run_from(&plan, Some(&state), &oracle, &source, |state: &State| {
        last = Some(state.clone());
        Ok(())
    })
    .unwrap();
    assert_eq!(
        last.unwrap().preconditioner,
        state.preconditioner,
        "not found and not paid for again"
    );
    // A state of another plan, or one that was altered, is not gone on from.
    assert!(!state.belongs_to(&settings(None).plan(&problem, usual()).unwrap()));
    assert!(!state.belongs_to(&settings(Some(0.4)).plan(&problem, usual()).unwrap()));
    let altered = |from: &str, to: &str| {
        assert!(json.contains(from), "{json}");
        serde_json::from_str::<State>(&json.replace(from, to)).is_ok_and(|s| s.belongs_to(&plan))
    };
    assert!(altered("\"keep\":0.3", "\"keep\":0.3"));
    assert!(!altered("\"direction\":[", "\"direction\":[3.0,"));
    assert!(!altered("\"keep\":0.3", "\"keep\":0.31"));
    assert!(!altered("\"scales\":[", "\"scales\":[3.0,"));
    let mut longer = serde_json::to_value(&state).unwrap();
    longer["preconditioner"]["direction"] = vec![0.9, 0.9, 0.0, 0.0].into();
    assert!(
        !serde_json::from_value::<State>(longer).unwrap().belongs_to(&plan),
        "not a unit vector"
    );
    let mut none = state;
    none.preconditioner = None;
    assert!(!none.belongs_to(&plan));
}

#[test]
fn a_run_draws_no_more_streams_of_noise_than_a_resumed_one_skips() {
    let (mut problem, _, x, _) = table(400, 4);
    problem.loss = Loss::Huber { threshold: 0.5 };
    let features = Features::F64(Dense::new(400, 4, x.concat()));
    let labels = x.iter().map(|x| x[1]).collect();
    let rows = Rows::new(features, labels, problem.bounds);
    let oracle = LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap();
    let all = ClippedSgd {
        clip: Clip::Quantile { multiple: 1.0, epsilon: Some(0.2) },
        ..settings(Some(0.3))
    };
    let plan = all.plan(&problem, usual()).unwrap();
    let first = |source: &Source| source.stream(Purpose::Noise).next_u64();
    let [fresh, used] = [8, 8].map(Source::seeded_not_private);
    let streams: Vec<u64> = (0..6).map(|_| first(&fresh)).collect();
    ClippedSgd::run(&plan, &oracle, &used, &Quiet).unwrap();
    assert_eq!(first(&used), streams[Plan::ClippedSgd(plan.clone()).noise_streams().unwrap()]);
}

#[test]
fn what_cannot_be_shortened_is_refused_in_one_sentence() {
    let bounds = RowBounds::features(1.0).unwrap();
    let problem = Problem::new(Loss::Logistic, bounds, 2000, 5);
    let refused = |settings: ClippedSgd, problem: &Problem| {
        let sentence = settings.plan(problem, usual()).unwrap_err().to_string();
        assert!(sentence.contains("`precondition`"), "{sentence}");
    };
    for keep in [0.0, 0.049, 1.01, -1.0, f64::NAN, f64::INFINITY] {
        refused(settings(Some(keep)), &problem);
    }
    let short = settings(Some(0.3));
    refused(short, &Problem { hidden: Some(4), ..problem.clone() });
    refused(short, &Problem { ridge: 0.1, ..problem.clone() });
    refused(short, &Problem { domain: Domain::Ball { radius: 1.0 }, ..problem.clone() });
    refused(ClippedSgd { calibration: Calibration::Paper, batch: None, ..short }, &problem);
    // So little is allowed that noise would hide it.
    let little = budget(0.01, 1e-6, Adjacency::ReplaceOne);
    let sentence = short.plan(&problem, little).unwrap_err().to_string();
    assert!(sentence.contains("`precondition`") && sentence.contains("rows at this"), "{sentence}");
    for keep in [0.05, 1.0] {
        settings(Some(keep)).plan(&problem, usual()).unwrap();
    }
}

/// The plan for this table with a shrinkage, at a budget at which noise is large.
fn shrunk(shrinkage: Option<f64>, problem: &Problem, epsilon: f64) -> ClippedSgdPlan {
    let asked = ClippedSgd { shrinkage, adaptive_step: true, eta: None, ..settings(Some(0.3)) };
    asked.plan(problem, budget(epsilon, 1e-6, Adjacency::ReplaceOne)).unwrap()
}

#[test]
fn shrinkage_costs_nothing_and_takes_noise_out_of_weights() {
    let (problem, oracle, x, _) = table(2000, 12);
    let [free, pulled] = [None, Some(2.5)].map(|s| shrunk(s, &problem, 0.2));
    assert_eq!(free.outline.event, pulled.outline.event);
    assert_eq!(free.noise_multiplier, pulled.noise_multiplier);
    let spread = |plan: &ClippedSgdPlan| -> f64 {
        let variance = |seed: u64| {
            let w = ClippedSgd::run(plan, &oracle, &Source::seeded_not_private(seed), &Quiet)
                .unwrap()
                .weights;
            let margins: Vec<f64> =
                x.iter().map(|x| x.iter().zip(&w).map(|(x, w)| x * w).sum()).collect();
            let mean = margins.iter().sum::<f64>() / margins.len() as f64;
            margins.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / margins.len() as f64
        };
        (0..6).map(variance).sum::<f64>() / 6.0
    };
    let (free, pulled) = (spread(&free), spread(&pulled));
    assert!(pulled < 0.7 * free && pulled > 0.05 * free, "{free} {pulled}");
}

#[test]
fn shrinkage_falls_with_the_noise_and_vanishes_with_more_rows() {
    let apart = |rows, epsilon| {
        // Labels that no line separates: else the best weights have no end.
        let (problem, _, x, mut y) = table(rows, 12);
        y.iter_mut().step_by(4).for_each(|y| *y = -*y);
        let features = Features::F64(Dense::new(rows, 12, x.concat()));
        let held = Rows::new(features, y, problem.bounds);
        let oracle = LocalOracle::new(held, Speed { threads: Some(1) }).unwrap();
        let [free, pulled] = [None, Some(2.5)].map(|shrinkage| {
            let plan = shrunk(shrinkage, &problem, epsilon);
            ClippedSgd::run(&plan, &oracle, &Source::seeded_not_private(1), &Quiet).unwrap().weights
        });
        let off: f64 = free.iter().zip(&pulled).map(|(a, b)| (a - b).powi(2)).sum();
        (off / free.iter().map(|w| w * w).sum::<f64>()).sqrt()
    };
    // The shrinkage left at large epsilon is for the spread of the rows: 2.5 d/(0.24 n) is 6 %
    // here.
    let (noisy, rows_alone, many) = (apart(2000, 0.2), apart(2000, 200.0), apart(40_000, 200.0));
    assert!(noisy > 0.1 && rows_alone < noisy / 3.0, "{noisy} {rows_alone}");
    assert!(rows_alone > 5.0 * many && many < 0.01, "{rows_alone} {many}");
    assert_eq!(apart(2000, f64::INFINITY), 0.0);
}

#[test]
fn shrinkage_is_for_preconditioned_classes() {
    let (problem, ..) = table(2000, 5);
    let refused = |asked: ClippedSgd, problem: &Problem| {
        asked.plan(problem, usual()).unwrap_err().to_string()
    };
    let alone = ClippedSgd { shrinkage: Some(1.0), ..settings(None) };
    assert!(refused(alone, &problem).contains("leave `shrinkage` out"));
    let negative = ClippedSgd { shrinkage: Some(-1.0), ..settings(Some(0.3)) };
    assert!(refused(negative, &problem).contains("shrinkage"));
    let numbers = Problem::new(Loss::Squared, RowBounds::new(1.0, 1.0).unwrap(), 2000, 5);
    let asked = ClippedSgd { shrinkage: Some(1.0), ..settings(Some(0.3)) };
    assert!(refused(asked, &numbers).contains("classification"));
}
