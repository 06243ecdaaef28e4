//! Gradient descent with noise in each step, of which the last iterate alone is released: what one
//! row moves, what the plan pays for it, and what is refused.

use reticent_data::{Dense, Features, LocalOracle, Rows, Speed};
use reticent_noise::Source;
use reticent_optim::output_gd::{Noise, NoiseChoice, OutputGd, OutputGdPlan};
use reticent_optim::{Algorithm, Calibration, Planned, Quiet};
use reticent_privacy::{
    Adjacency, Budget, Delta, Epsilon, Event, delta_upper, epsilon_upper, last_iterate,
};
use reticent_problem::{Domain, Loss, Problem, RowBounds};

const EACH: OutputGd = OutputGd {
    calibration: Calibration::Tight,
    noise: NoiseChoice::EachStep,
    steps: None,
    eta: None,
    distance: None,
};

fn budget(epsilon: f64, delta: f64) -> Budget {
    let adjacency = Adjacency::ReplaceOne;
    let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
    Budget { epsilon, delta, adjacency }
}

fn logistic(rows: usize, features: usize, ridge: f64) -> Problem {
    let bounds = RowBounds::features(1.0).unwrap();
    Problem { ridge, ..Problem::new(Loss::Logistic, bounds, rows, features) }
}

/// A loss that is linear as far as any weights get: a row pulls with full force wherever they are.
fn linear(rows: usize, ridge: f64) -> Problem {
    let bounds = RowBounds::new(1.0, 1e6).unwrap();
    Problem { ridge, ..Problem::new(Loss::Huber { threshold: 1.0 }, bounds, rows, 1) }
}

/// The last iterate, with noise from this seed, for rows `1` with these labels.
fn run(plan: &OutputGdPlan, labels: &[f64], seed: u64) -> f64 {
    let features = Features::F64(Dense::new(labels.len(), 1, vec![1.0; labels.len()]));
    let rows = Rows::new(features, labels.to_vec(), plan.outline.problem.bounds);
    let oracle = LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap();
    let source = Source::seeded_not_private(seed);
    OutputGd::run(plan, &oracle, &source, &Quiet).unwrap().weights[0]
}

fn noise_of(plan: &OutputGdPlan) -> (f64, f64) {
    match plan.noise {
        Noise::Gaussian { sigma, grid, .. } => (sigma, grid),
        ref other => panic!("{other:?}"),
    }
}

fn mu(event: &Event) -> f64 {
    match *event {
        Event::LastIterate { steps, contraction, noise_multiplier, diameter, .. } => {
            last_iterate::mu_upper(steps, contraction, noise_multiplier, diameter).unwrap()
        }
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn the_event_keeps_the_budget_and_hardly_less_noise_would() {
    for (rows, features, ridge) in [(1, 1, 1.0), (500, 8, 1e-2), (40_000, 100, 1e-4)] {
        for (epsilon, delta) in [(0.1, 1e-9), (1.0, 1e-6), (8.0, 1e-3)] {
            for steps in [None, Some(1), Some(3000)] {
                let asked = budget(epsilon, delta);
                let problem = logistic(rows, features, ridge);
                let plan = OutputGd { steps, ..EACH }.plan(&problem, asked).unwrap();
                let event = &plan.outline.event;
                assert!(epsilon_upper(event, delta).unwrap() <= epsilon);
                let spent = delta_upper(event, epsilon).unwrap();
                // At most a part in a thousand of the noise is the grid's.
                assert!(spent <= delta && spent > 0.99 * delta, "{spent:e} of {delta:e}");
                assert_eq!(plan.again().unwrap(), plan);
            }
        }
    }
}

/// The worst two tables on the line: exact arithmetic of their normal laws, and the run itself.
#[test]
fn the_law_of_the_last_iterate_is_as_far_as_the_event_says() {
    for (steps, ridge) in [(1, 0.5), (7, 0.5), (60, 0.05)] {
        let settings = OutputGd { steps: Some(steps), eta: Some(0.3), ..EACH };
        let plan = settings.plan(&linear(4, ridge), budget(1.0, 1e-5)).unwrap();
        let (sigma, grid) = noise_of(&plan);
        let (mut apart, mut variance) = (0.0, 0.0);
        let keep = 1.0 - 0.3 * ridge;
        for _ in 0..steps {
            // One row of four pulls up or down, by one: so far are two iterates led apart.
            apart = keep * apart + 0.3 * 2.0 / 4.0;
            variance = keep * keep * variance + sigma * sigma;
        }
        let (exact, paid) = (apart / f64::sqrt(variance), mu(&plan.outline.event));
        assert!(exact <= paid && exact > 0.999_99 * paid, "{exact} {paid}");
        // With the same noise the runs part by just that, whatever the noise is.
        let (up, down) = ([1e6, 1e6, 1e6, 1e6], [1e6, 1e6, 1e6, -1e6]);
        for seed in 0..40 {
            let (a, b) = (run(&plan, &up, seed), run(&plan, &down, seed));
            let least = 4.0 * grid * f64::from(u32::try_from(steps).unwrap());
            assert!(((a - b) - apart).abs() <= least + 1e-12, "{a} {b} {apart}");
            assert!((a / grid).fract() == 0.0 && a.abs() <= plan.each_step.unwrap().hold);
        }
    }
}

#[test]
fn the_spread_of_many_runs_is_that_of_the_theorem() {
    let settings = OutputGd { steps: Some(25), eta: Some(0.3), ..EACH };
    let plan = settings.plan(&linear(4, 0.1), budget(1.0, 1e-5)).unwrap();
    let (sigma, _) = noise_of(&plan);
    let keep: f64 = 1.0 - 0.3 * 0.1;
    let variance = sigma * sigma * (1.0 - keep.powi(50)) / (1.0 - keep * keep);
    let mean = 0.3 * (1.0 - keep.powi(25)) / (1.0 - keep);
    let spread = |plan: &OutputGdPlan| {
        let all = (0..4000).map(|seed| run(plan, &[1e6; 4], seed) - mean);
        let (first, second) = all.fold((0.0, 0.0), |(a, b), x| (a + x, b + x * x));
        (first / 4000.0, second / 4000.0)
    };
    // Five deviations of each estimate.
    let (first, second) = spread(&plan);
    assert!(first.abs() < 5.0 * (variance / 4000.0).sqrt(), "{first}");
    let is_near = |second: f64| (second / variance - 1.0).abs() < 5.0 * f64::sqrt(2.0 / 4000.0);
    assert!(is_near(second), "{second} {variance}");
    // With that spread the two tables of the last test are as far apart as is paid for, and a run
    // whose noise is halved, or that adds noise to its result alone, shows more.
    let apart = 0.5 * mean;
    assert!(apart / variance.sqrt() <= mu(&plan.outline.event));
    let mut value = serde_json::to_value(&plan).unwrap();
    let noise = value.pointer_mut("/noise/noise_multiplier").unwrap();
    *noise = (0.5 * noise.as_f64().unwrap()).into();
    let halved: OutputGdPlan = serde_json::from_value(value).unwrap();
    let once = OutputGdPlan { each_step: None, ..plan };
    for broken in [halved, once] {
        let (_, second) = spread(&broken);
        assert!(!is_near(second) && apart / second.sqrt() > mu(&broken.outline.event), "{second}");
    }
}

#[test]
fn more_steps_cost_no_more_at_last_and_noise_dies_out_where_the_loss_is_steep() {
    let (problem, asked) = (logistic(10_000, 20, 1e-3), budget(1.0, 1e-6));
    let sigma = |steps| {
        let settings = OutputGd { steps: Some(steps), ..EACH };
        noise_of(&settings.plan(&problem, asked).unwrap()).0
    };
    let one = sigma(1);
    for steps in [10, 100] {
        // Early on it is composition.
        let composed = one * f64::sqrt(steps as f64);
        assert!(sigma(steps) <= composed * (1.0 + 1e-9) && sigma(steps) > 0.98 * composed);
    }
    assert!((sigma(1_000_000) / sigma(100_000) - 1.0).abs() < 1e-6);
    assert!(sigma(1_000_000) < 0.05 * one * 1e3);
    // Along the flattest direction it is the noise of one draw on the result.
    let once = OutputGd { noise: NoiseChoice::Gaussian, steps: Some(100_000), ..EACH };
    let plan = OutputGd { steps: Some(100_000), ..EACH }.plan(&problem, asked).unwrap();
    let keep = plan.each_step.unwrap().contraction;
    let flattest = plan.outline.noise_deviation / ((1.0 - keep) * (1.0 + keep)).sqrt();
    let whole = once.plan(&problem, asked).unwrap().outline.noise_deviation;
    assert!((flattest / whole - 1.0).abs() < 0.02, "{flattest} {whole}");
}

#[test]
fn the_bound_on_the_risk_is_better_with_many_rows_and_falls_with_budget_and_rows() {
    let excess = |noise, rows, epsilon| {
        let problem = logistic(rows, 10, 0.0);
        let plan = OutputGd { noise, ..EACH }.plan_with_ridge(&problem, budget(epsilon, 1e-6));
        let plan = plan.unwrap();
        let guess = 5.0;
        plan.outline.predicted_excess.unwrap() + 0.5 * plan.outline.problem.ridge * guess * guess
    };
    let (each, once) = (NoiseChoice::EachStep, NoiseChoice::Gaussian);
    assert!(excess(each, 30_000, 1.0) < 0.8 * excess(once, 30_000, 1.0));
    let mut last = f64::INFINITY;
    for (rows, epsilon) in [(1000, 0.3), (1000, 1.0), (10_000, 1.0), (100_000, 1.0), (100_000, 8.0)]
    {
        let next = excess(each, rows, epsilon);
        assert!(next < last, "{rows} {epsilon}: {next} {last}");
        last = next;
    }
}

#[test]
fn what_the_theorem_does_not_cover_is_refused() {
    let (ridged, asked) = (logistic(100, 2, 0.1), budget(1.0, 1e-5));
    let refuse = |settings: OutputGd, problem: &Problem, budget| {
        settings.plan(problem, budget).unwrap_err().to_string()
    };
    let without = refuse(EACH, &logistic(100, 2, 0.0), asked);
    assert!(without.contains("`ridge` must be above 0 with noise each-step"), "{without}");
    let ball = Problem { domain: Domain::Ball { radius: 1.0 }, ..ridged.clone() };
    let set = refuse(EACH, &ball, asked);
    assert!(set.contains("leave out the set"), "{set}");
    let paper = refuse(OutputGd { calibration: Calibration::Paper, ..EACH }, &ridged, asked);
    assert!(paper.contains("`calibration` must be tight"), "{paper}");
    let long = refuse(OutputGd { eta: Some(3.0), ..EACH }, &ridged, asked);
    assert!(long.contains("`step_size` must be at most 1/(beta + ridge)"), "{long}");
    let pure = refuse(EACH, &ridged, budget(1.0, 0.0));
    assert!(pure.contains("`delta`"), "{pure}");
    let removed = Budget { adjacency: Adjacency::AddRemoveOne, ..asked };
    assert!(refuse(EACH, &ridged, removed).contains("replace-one"));
    let hinge = Problem { loss: Loss::Hinge { q: 1.0 }, ..ridged };
    assert!(refuse(EACH, &hinge, asked).contains("smooth"));
}
