//! Objective perturbation against its theorem: certificates, neighbours, limits, risk, refusals.

use reticent_data::{Dense, Features, LocalOracle, Rows, Speed};
use reticent_noise::{Purpose, Source, fast};
use reticent_optim::objective::ObjectivePlan;
use reticent_optim::objective::blocks::IntervalMethod;
use reticent_optim::output_gd::Noise;
use reticent_optim::{
    Algorithm, Calibration, ObjectivePerturbation, Planned, Quiet, Settings, choose, simulate,
};
use reticent_privacy::{
    Adjacency, Budget, Delta, Epsilon, Event, ObjectiveClass, delta_upper, epsilon_upper,
};
use reticent_problem::loss::{LinearLoss, Logistic};
use reticent_problem::{Domain, Loss, Problem, RowBounds};

type Table = (Vec<Vec<f64>>, Vec<f64>);

fn budget(epsilon: f64, delta: f64) -> Budget {
    Budget {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(delta).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    }
}

fn zero_out(budget: Budget) -> Budget {
    Budget { adjacency: Adjacency::ZeroOut, ..budget }
}

fn oracle((x, y): &Table, bounds: RowBounds) -> LocalOracle {
    let features = Features::F64(Dense::new(x.len(), x[0].len(), x.concat()));
    LocalOracle::new(Rows::new(features, y.clone(), bounds), Speed { threads: Some(1) }).unwrap()
}

fn run(plan: &ObjectivePlan, table: &Table, seed: u64) -> Vec<f64> {
    let source = Source::seeded_not_private(seed);
    let oracle = oracle(table, plan.outline.problem.bounds);
    ObjectivePerturbation::run(plan, &oracle, &source, &Quiet).unwrap().weights
}

fn norm(a: &[f64]) -> f64 {
    a.iter().map(|a| a * a).sum::<f64>().sqrt()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

/// Unit rows with labels from a planted direction.
fn synthetic(n: usize, d: usize, classes: usize, seed: u64) -> Table {
    let mut stream = Source::seeded_not_private(seed).stream(Purpose::Initial);
    let mut numbers = vec![0.0; n * (d + 1)];
    fast::fill_standard_gaussian(&mut numbers, &mut stream);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for row in numbers.chunks(d + 1) {
        let length = norm(&row[..d]);
        let unit: Vec<f64> = row[..d].iter().map(|v| v / length).collect();
        let score = 4.0 * unit[0] + 2.0 * unit[d - 1] + row[d];
        y.push(match classes {
            2 => score.signum(),
            0 => (score / 8.0).clamp(-1.0, 1.0),
            k => ((score + 3.0).clamp(0.0, 5.9) / 6.0 * k as f64).floor(),
        });
        x.push(unit);
    }
    (x, y)
}

fn problem(loss: Loss, n: usize, d: usize) -> Problem {
    Problem::new(loss, RowBounds::new(1.0, 1.0).unwrap(), n, d)
}

fn sets(d: usize) -> Vec<Domain> {
    vec![
        Domain::Unbounded,
        Domain::Ball { radius: 1.0 },
        Domain::Ball { radius: 50.0 },
        Domain::L1 { radius: 1.0 },
        Domain::Lp { p: 1.5, radius: 1.0, dimension: d },
        Domain::Simplex { total: 1.0 },
        Domain::Box { low: vec![-0.2; d], high: vec![0.5; d] },
        Domain::Group { radius: 1.0, sizes: vec![2, d - 2], weights: None },
        Domain::Product { radius: 0.4, sizes: vec![2, d - 2] },
    ]
}

/// The gradient of the average with a ridge, by the definition.
fn gradient(problem: &Problem, ridge: f64, (x, y): &Table, w: &[f64]) -> Vec<f64> {
    let n = x.len() as f64;
    let mut g: Vec<f64> = w.iter().map(|w| ridge * w).collect();
    for (x, &y) in x.iter().zip(y) {
        let u: f64 = x.iter().zip(w).map(|(x, w)| x * w).sum();
        let slope = match problem.loss {
            Loss::Logistic => Logistic.slope(u, y),
            Loss::Huber { threshold } => (u - y).clamp(-threshold, threshold),
            _ => u - y,
        };
        for (g, x) in g.iter_mut().zip(x) {
            *g += slope * x / n;
        }
    }
    g
}

/// Section 13.6 of the specification: the certified distance is at least the true one, on every
/// set.
#[test]
fn the_released_point_is_within_the_certified_distance_on_every_set() {
    let (n, d) = (60, 6);
    let mut checked = 0;
    for (i, loss) in
        [Loss::Logistic, Loss::Huber { threshold: 0.5 }, Loss::Squared].into_iter().enumerate()
    {
        let table = synthetic(n, d, if i == 0 { 2 } else { 0 }, 40 + i as u64);
        for domain in sets(d) {
            for (ridge, tolerance) in [(0.02, 1e-3), (0.3, 1e-7)] {
                if loss == Loss::Squared && domain == Domain::Unbounded {
                    continue;
                }
                let problem = Problem { domain: domain.clone(), ridge, ..problem(loss, n, d) };
                let settings = ObjectivePerturbation {
                    tolerance: Some(tolerance),
                    extra_ridge: Some(0.0),
                    ..ObjectivePerturbation::default()
                };
                // Nothing is added for an infinite epsilon: what comes out is what the solver
                // found.
                let plan = settings.plan(&problem, budget(f64::INFINITY, 0.0)).unwrap();
                assert_eq!(plan.tolerance, tolerance);
                let found = run(&plan, &table, 1);
                // Brute force: 40,000 plain projected steps.
                let mut w = domain.start(d);
                let step = 1.0 / (1.0 + ridge);
                for _ in 0..40_000 {
                    let g = gradient(&problem, ridge, &table, &w);
                    let before = w.clone();
                    w.iter_mut().zip(&g).for_each(|(w, g)| *w -= step * g);
                    domain.project(&mut w);
                    if distance(&before, &w) < 1e-15 {
                        break;
                    }
                }
                let far = distance(&found, &w);
                assert!(far <= tolerance, "{loss:?} {domain:?} {ridge}: {far:e} > {tolerance:e}");
                checked += 1;
            }
        }
    }
    assert!(checked >= 50, "{checked}");
}

#[test]
fn softmax_and_ill_conditioned_problems_reach_their_minimiser() {
    let (n, d, classes) = (200, 5, 4);
    let table = synthetic(n, d, classes, 3);
    let base = Problem { ridge: 1e-6, ..problem(Loss::Softmax { classes }, n, d) };
    for domain in [Domain::Unbounded, Domain::Ball { radius: 3.0 }] {
        let problem = Problem { domain, ..base.clone() };
        let settings =
            ObjectivePerturbation { extra_ridge: Some(0.0), ..ObjectivePerturbation::default() };
        let plan = settings.plan(&problem, budget(f64::INFINITY, 0.0)).unwrap();
        let w = run(&plan, &table, 0);
        let value = |w: &[f64]| {
            let softmax = Loss::Softmax { classes };
            let mean = table.0.iter().zip(&table.1).map(|(x, &y)| {
                let m: Vec<f64> =
                    w.chunks(d).map(|w| w.iter().zip(x).map(|(w, x)| w * x).sum()).collect();
                softmax.value(&m, y)
            });
            mean.sum::<f64>() / n as f64 + 0.5e-6 * w.iter().map(|w| w * w).sum::<f64>()
        };
        // No feasible direction improves.
        let here = value(&w);
        let mut stream = Source::seeded_not_private(9).stream(Purpose::Initial);
        for _ in 0..200 {
            let mut v = vec![0.0; w.len()];
            fast::fill_standard_gaussian(&mut v, &mut stream);
            let mut there: Vec<f64> = w.iter().zip(&v).map(|(w, v)| w + 1e-3 * v).collect();
            problem.domain.project(&mut there);
            assert!(value(&there) >= here - 1e-12);
        }
    }
}

#[test]
fn every_plan_keeps_its_budget_and_wastes_little_of_it() {
    let losses = [
        Loss::Logistic,
        Loss::Softmax { classes: 5 },
        Loss::Huber { threshold: 0.3 },
        Loss::Squared,
        Loss::Power { q: 2.0 },
        Loss::Hinge { q: 2.0 },
    ];
    for loss in losses {
        for domain in [Domain::Unbounded, Domain::Ball { radius: 2.0 }] {
            if matches!(loss, Loss::Softmax { .. }) && domain.is_bounded() {
                continue; // its constants do not depend on the set
            }
            for (epsilon, delta) in [(0.05, 1e-9), (1.0, 1e-6), (60.0, 1e-6)] {
                for budget in [budget(epsilon, delta), zero_out(budget(epsilon, delta))] {
                    let slope_limit = (domain == Domain::Unbounded
                        && !matches!(loss, Loss::Softmax { .. }))
                    .then_some(1.5);
                    let problem =
                        Problem { domain: domain.clone(), slope_limit, ..problem(loss, 5_000, 12) };
                    let plan = ObjectivePerturbation::default().plan(&problem, budget).unwrap();
                    let event = &plan.outline.event;
                    let spent = epsilon_upper(event, delta).unwrap();
                    assert!(spent <= epsilon, "{loss:?} {spent} > {epsilon}");
                    assert!(delta_upper(event, epsilon).unwrap() <= delta);
                    assert!(
                        spent > 0.999_99 * epsilon.min(30.0),
                        "{loss:?} {domain:?} {epsilon}: only {spent} spent"
                    );
                    assert_eq!(plan.again().unwrap(), plan);
                }
            }
        }
    }
}

/// A run that finds no certificate would tell something about its rows; none may.
#[test]
fn every_run_is_certified_even_at_the_rounding_floor() {
    let finest = ObjectivePerturbation { tolerance: Some(1e-300), ..Default::default() };
    let mut runs = 0;
    for (n, d) in [(2, 2), (60, 4)] {
        for (loss, classes) in [
            (Loss::Logistic, 2),
            (Loss::Softmax { classes: 3 }, 3),
            (Loss::Huber { threshold: 0.1 }, 0),
        ] {
            let table = synthetic(n, d, classes, 5);
            let outliers: Table = (
                (0..n)
                    .map(|i| vec![if i == 0 { 1.0 / (d as f64).sqrt() } else { 0.0 }; d])
                    .collect(),
                table.1.clone(),
            );
            let weights = d * if classes == 3 { 3 } else { 1 };
            let mut domains = vec![Domain::Unbounded, Domain::Ball { radius: 0.3 }];
            domains.push(Domain::L1 { radius: 2.0 });
            domains.push(Domain::Simplex { total: 1.0 });
            domains.push(Domain::Lp { p: 1.3, radius: 1.0, dimension: weights });
            for domain in domains {
                for (epsilon, delta) in [(0.1, 1e-6), (8.0, 1e-3)] {
                    let problem = Problem { domain: domain.clone(), ..problem(loss, n, d) };
                    let plan = finest.plan(&problem, budget(epsilon, delta)).unwrap();
                    for table in [&table, &outliers] {
                        run(&plan, table, runs);
                        runs += 1;
                    }
                }
            }
        }
    }
}

#[test]
fn the_event_says_what_the_loss_is() {
    let of = |problem: &Problem, budget: Budget| {
        ObjectivePerturbation::default().plan(problem, budget).unwrap()
    };
    let ok = budget(1.0, 1e-6);
    let softmax = problem(Loss::Softmax { classes: 5 }, 5_000, 12);
    assert_eq!(of(&softmax, ok).class, ObjectiveClass::Subspace { dimension: 8 });
    assert_eq!(of(&softmax, zero_out(ok)).class, ObjectiveClass::Subspace { dimension: 4 });
    let narrow = Problem { features: 1, ..softmax };
    assert_eq!(of(&narrow, ok).class, ObjectiveClass::Subspace { dimension: 4 });
    let logistic = problem(Loss::Logistic, 5_000, 12);
    assert_eq!(of(&logistic, ok).class, ObjectiveClass::Logistic);
    // A limit on the slope, or a small ball, cuts the range short that the sharper bound needs.
    let limited = Problem { slope_limit: Some(0.5), ..logistic.clone() };
    assert_eq!(of(&limited, ok).class, ObjectiveClass::Monotone);
    let small = Problem { domain: Domain::Ball { radius: 0.5 }, ..logistic };
    assert_eq!(of(&small, ok).class, ObjectiveClass::Monotone);
    let huber = problem(Loss::Huber { threshold: 0.5 }, 5_000, 12);
    assert_eq!(of(&huber, ok).class, ObjectiveClass::TwoSided);
}

#[test]
fn replacing_a_row_moves_the_minimiser_by_at_most_the_stability_bound() {
    // The same linear term on both tables: the minimisers differ by at most G/(n(mu + nu)), and a
    // saturated pair of Huber rows comes close.
    let (n, d) = (40, 3);
    for loss in [Loss::Logistic, Loss::Huber { threshold: 0.2 }] {
        let table = synthetic(n, d, if loss == Loss::Logistic { 2 } else { 0 }, 8);
        let problem = problem(loss, n, d);
        let plan = ObjectivePerturbation::default().plan(&problem, budget(5.0, 1e-3)).unwrap();
        let bound = 2.0 * plan.regularity.lipschitz / (n as f64 * plan.ridge());
        let slack = 12.0 * plan.outline.problem.dimension() as f64 * deviation(&plan);
        let mut largest: f64 = 0.0;
        for seed in 0..20 {
            let mut other = table.clone();
            other.0[0] = table.0[0].iter().map(|x| -x).collect();
            other.1[0] = table.1[0];
            let moved = distance(&run(&plan, &table, seed), &run(&plan, &other, seed));
            assert!(moved <= bound + slack, "{moved} > {bound}");
            largest = largest.max(moved);
        }
        assert!(largest > 1e-3 * bound, "{largest} {bound}");
    }
}

fn deviation(plan: &ObjectivePlan) -> f64 {
    match plan.noise {
        Noise::Gaussian { sigma, .. } => sigma,
        _ => 0.0,
    }
}

/// With two equal rows that saturate, the release is normal with a known mean and deviation.
#[test]
fn the_release_has_the_promised_spread() {
    // Rows of length zero: the objective is the ridge and the linear term alone, so the minimiser
    // is −b/Λ.
    let (n, d) = (20, 4);
    let table: Table = (vec![vec![0.0; d]; n], vec![1.0; n]);
    let problem = problem(Loss::Logistic, n, d);
    let plan = ObjectivePerturbation::default().plan(&problem, budget(1.0, 1e-4)).unwrap();
    let lambda = n as f64 * plan.ridge();
    let expected = (plan.sigma / lambda).powi(2) + deviation(&plan).powi(2);
    // 4,000 numbers: one standard deviation of the mean square is 2.2 %; 11 % is a false alarm of
    // 1.1e-6 (chi-square).
    let total: f64 = (0..1000).map(|seed| norm(&run(&plan, &table, seed)).powi(2)).sum();
    let ratio = total / (1000.0 * d as f64) / expected;
    assert!((0.89..1.11).contains(&ratio), "{ratio}");
}

/// Section 13.12: the excess falls with n.
#[test]
fn the_error_falls_with_n() {
    let d = 10;
    let mut errors = Vec::new();
    for n in [500, 2_000, 8_000] {
        let table = synthetic(n, d, 2, 77);
        let problem =
            Problem { domain: Domain::Ball { radius: 5.0 }, ..problem(Loss::Logistic, n, d) };
        let risk = |w: &[f64]| {
            let total: f64 = table
                .0
                .iter()
                .zip(&table.1)
                .map(|(x, &y)| Logistic.value(x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>(), y))
                .sum();
            total / n as f64
        };
        let exact =
            ObjectivePerturbation::default().plan(&problem, budget(f64::INFINITY, 0.0)).unwrap();
        let least = risk(&run(&exact, &table, 0));
        let plan = ObjectivePerturbation::default().plan(&problem, budget(1.0, 1e-5)).unwrap();
        let mean = (0..5).map(|seed| risk(&run(&plan, &table, seed)) - least).sum::<f64>() / 5.0;
        assert!(mean <= plan.outline.predicted_excess.unwrap(), "{n}: {mean}");
        errors.push(mean);
    }
    assert!(errors[2] < 0.02, "{errors:?}");
    assert!(errors[1] <= errors[0] + 0.02 && errors[2] <= errors[1] + 0.02, "{errors:?}");
}

#[test]
fn a_ridge_of_the_caller_is_kept_and_raised_only_if_it_must_be() {
    let of = |ridge: f64, n: usize| {
        let problem = Problem { ridge, ..problem(Loss::Logistic, n, 5) };
        ObjectivePerturbation::default().plan(&problem, budget(1.0, 1e-6)).unwrap()
    };
    let large = of(0.01, 10_000);
    assert_eq!((large.extra_ridge, large.ridge()), (0.0, 0.01));
    assert!(large.outline.warnings.is_empty());
    let small = of(1e-6, 10_000);
    assert!(small.extra_ridge > 0.0 && small.epsilon_det < 0.5 + 1e-9);
    // Next to no ridge is as good as none.
    let none = of(0.0, 10_000);
    assert!(small.sigma < 1.03 * none.sigma, "{} {}", small.sigma, none.sigma);
    assert!(small.outline.warnings[0].contains("ridge is raised"));
    // More ridge asks for less noise.
    assert!(large.sigma < small.sigma);
}

#[test]
fn limits() {
    let base = problem(Loss::Logistic, 1_000, 5);
    let sigma = |epsilon: f64, delta: f64| {
        ObjectivePerturbation::default().plan(&base, budget(epsilon, delta)).unwrap().sigma
    };
    assert!(sigma(0.1, 1e-6) > sigma(1.0, 1e-6) && sigma(1.0, 1e-6) > sigma(10.0, 1e-6));
    assert!(sigma(1.0, 1e-12) > sigma(1.0, 1e-6));
    assert!(sigma(1e-3, 1e-12).is_finite());
    // Zero-out halves the sensitivity.
    let zero = ObjectivePerturbation::default().plan(&base, zero_out(budget(1.0, 1e-6))).unwrap();
    assert!(zero.sigma < 0.6 * sigma(1.0, 1e-6));
    // No privacy: no noise, and no event that claims any.
    let none = ObjectivePerturbation::default().plan(&base, budget(f64::INFINITY, 0.0)).unwrap();
    assert_eq!((none.sigma, none.noise), (0.0, Noise::None));
    assert_eq!(none.outline.event, Event::NotPrivate);
    // A tolerance below what rounding allows is raised.
    let fine = ObjectivePerturbation { tolerance: Some(1e-300), ..Default::default() };
    assert!(fine.plan(&base, budget(1.0, 1e-6)).unwrap().tolerance > 1e-12);
    // Two rows are enough, one is not.
    assert!(
        ObjectivePerturbation::default()
            .plan(&Problem { rows: 2, ..base.clone() }, budget(1.0, 1e-2))
            .is_ok()
    );
}

#[test]
fn paper_is_noisier_than_tight_and_keeps_the_budget() {
    let base = problem(Loss::Logistic, 2_000, 5);
    for (epsilon, delta) in [(0.1, 1e-8), (1.0, 1e-5), (9.0, 1e-3)] {
        let plan = |calibration| {
            let settings = ObjectivePerturbation { calibration, ..Default::default() };
            settings.plan(&base, budget(epsilon, delta)).unwrap()
        };
        let (paper, tight) = (plan(Calibration::Paper), plan(Calibration::Tight));
        assert!(paper.sigma > tight.sigma);
        assert!(epsilon_upper(&paper.outline.event, delta).unwrap() <= epsilon);
        assert!(paper.epsilon_det <= 0.25 * epsilon * (1.0 + 1e-12));
    }
}

#[test]
fn a_seed_repeats_and_another_differs() {
    let table = synthetic(100, 4, 2, 1);
    let plan = ObjectivePerturbation::default()
        .plan(&problem(Loss::Logistic, 100, 4), budget(1.0, 1e-5))
        .unwrap();
    assert_eq!(run(&plan, &table, 1), run(&plan, &table, 1));
    assert_ne!(run(&plan, &table, 1), run(&plan, &table, 2));
}

#[test]
fn with_enough_rows_the_planner_sees_little_that_is_better() {
    for loss in [Loss::Logistic, Loss::Huber { threshold: 0.5 }] {
        let problem = problem(loss, 100_000, 5);
        let found = simulate(&problem, budget(2.0, 1e-6), &Settings::default());
        let own = found.iter().find(|s| s.algorithm == "objective").unwrap();
        let (own, best) = (own.prediction.gain, found[0].prediction.gain);
        assert!(own > 0.95 && own >= best - 0.035, "{own} {best}");
        let pure = choose(&problem, budget(2.0, 0.0), &Settings::default(), "auto").unwrap();
        assert_ne!(pure.algorithm(), "objective");
    }
}

#[test]
fn what_cannot_be_served_is_refused_with_the_reason() {
    let refuse = |problem: &Problem, budget: Budget, settings: ObjectivePerturbation| {
        settings.plan(problem, budget).unwrap_err().to_string()
    };
    let plain = ObjectivePerturbation::default();
    let ok = budget(1.0, 1e-6);
    let logistic = problem(Loss::Logistic, 100, 3);
    let hidden = Problem { hidden: Some(4), ..logistic.clone() };
    assert!(refuse(&hidden, ok, plain).contains("generalised linear loss"));
    for loss in [Loss::Hinge { q: 1.0 }, Loss::Power { q: 1.5 }] {
        assert!(refuse(&problem(loss, 100, 3), ok, plain).contains("needs a smooth loss"));
    }
    assert!(refuse(&problem(Loss::Squared, 100, 3), ok, plain).contains("gradient unbounded"));
    let add_remove = Budget { adjacency: Adjacency::AddRemoveOne, ..ok };
    let message = refuse(&logistic, add_remove, plain);
    assert!(message.contains("zero-out or replace-one"), "{message}");
    assert!(refuse(&logistic, budget(1.0, 0.0), plain).contains("`delta` > 0"));
    assert!(refuse(&Problem { rows: 1, ..logistic.clone() }, ok, plain).contains("2 rows"));
    let little = ObjectivePerturbation { extra_ridge: Some(1e-9), ..plain };
    let message = refuse(&logistic, ok, little);
    assert!(message.contains("epsilon_det") && message.contains("at least 3.854e-3"), "{message}");
    for (name, settings) in [
        ("distance", ObjectivePerturbation { distance: Some(-1.0), ..plain }),
        ("tolerance", ObjectivePerturbation { tolerance: Some(0.0), ..plain }),
        ("extra_ridge", ObjectivePerturbation { extra_ridge: Some(f64::NAN), ..plain }),
    ] {
        assert!(refuse(&logistic, ok, settings).contains(&format!("`{name}` must be")));
    }
    let paper = ObjectivePerturbation { calibration: Calibration::Paper, ..plain };
    assert!(refuse(&logistic, budget(20.0, 1e-6), paper).contains("use `tight`"));
    let softmax = problem(Loss::Softmax { classes: 3 }, 100, 3);
    assert!(refuse(&softmax, ok, paper).contains("use `tight`"));
}

fn with_blocks() -> ObjectivePerturbation {
    ObjectivePerturbation {
        intervals: Some(95.0),
        interval_method: Some(IntervalMethod::Blocks),
        ..Default::default()
    }
}

#[test]
fn a_replaced_row_changes_one_block_and_each_block_has_the_whole_budget() {
    let problem = problem(Loss::Logistic, 305, 3);
    for budget in [budget(1.0, 1e-5), zero_out(budget(1.0, 1e-5))] {
        let plan = with_blocks().plan(&problem, budget).unwrap();
        let Event::Disjoint { parts, fixed_partition: true } = &plan.outline.event else {
            panic!("{:?}", plan.outline.event);
        };
        assert!(parts.len() == 10 && parts.iter().all(|part| *part == parts[0]));
        let delta = delta_upper(&parts[0], 1.0).unwrap();
        assert!(delta <= 1e-5 && delta > 0.99e-5, "{delta}");
        assert_eq!(delta_upper(&plan.outline.event, 1.0).unwrap(), delta);
        let table = synthetic(305, 3, 2, 4);
        let blocks = |table: &Table| {
            let oracle = oracle(table, problem.bounds);
            let source = Source::seeded_not_private(8);
            let release = ObjectivePerturbation::run(&plan, &oracle, &source, &Quiet).unwrap();
            let blocks = release.blocks.unwrap();
            assert_eq!(plan.blocks.unwrap().mean(&blocks), release.weights);
            assert!(plan.holds_blocks(&blocks, &release.weights));
            let mut other = blocks.clone();
            other.swap(0, 1);
            assert!(!plan.holds_blocks(&other, &release.weights));
            blocks
        };
        let before = blocks(&table);
        let mut left_over = 0;
        for record in 0..60 {
            let mut neighbour = table.clone();
            neighbour.0[record] = vec![-1.0, 0.0, 0.0];
            neighbour.1[record] *= -1.0;
            let after = blocks(&neighbour);
            let changed = before.chunks(3).zip(after.chunks(3)).filter(|(a, b)| a != b).count();
            assert!(changed <= 1, "row {record} is in {changed} blocks");
            left_over += 1 - changed;
        }
        // 5 of 305 rows are in no block: more than 8 of 60 have a chance below 1e-6.
        assert!(left_over <= 8, "{left_over}");
    }
}

#[test]
fn blocks_are_refused_where_they_prove_nothing() {
    let fine = problem(Loss::Logistic, 1000, 3);
    let usual = budget(1.0, 1e-5);
    let alone = ObjectivePerturbation { intervals: None, ..with_blocks() };
    let share = ObjectivePerturbation { curvature_share: Some(0.3), ..with_blocks() };
    let add = Budget { adjacency: Adjacency::AddRemoveOne, ..usual };
    let level = ObjectivePerturbation { intervals: Some(20.0), ..with_blocks() };
    let tweedie = Loss::Tweedie { q: 1.5, threshold: 3.0 };
    for (settings, problem, budget, why) in [
        (alone, fine.clone(), usual, "together with `intervals`"),
        (share, fine.clone(), usual, "left out with blocks"),
        (level, fine.clone(), usual, "between 50 and 99.9"),
        (with_blocks(), problem(Loss::Logistic, 199, 3), usual, "at least 200 records"),
        (with_blocks(), problem(tweedie, 1000, 3), usual, "logistic, huber, log-cosh and poisson"),
        (with_blocks(), fine.clone(), budget(f64::INFINITY, 1e-5), "a finite `epsilon`"),
        (with_blocks(), fine, add, "zero-out or replace-one"),
    ] {
        let refused = settings.plan(&problem, budget).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

/// The share that the output noise has of the variances of the linear term, on average over the
/// directions, is at most 4 %: errors grow by less than 2 % even without sampling error.
#[test]
fn the_output_noise_hardly_shows_in_intervals() {
    let settings = ObjectivePerturbation { intervals: Some(95.0), ..Default::default() };
    for loss in [Loss::Logistic, Loss::Huber { threshold: 0.5 }] {
        for (n, d) in [(5_000, 7), (100_000, 7), (100_000, 22), (1_000_000, 7), (1_000_000, 60)] {
            for epsilon in [0.5, 1.0, 4.0, 10.0] {
                let bounds = RowBounds::new((d as f64).sqrt(), 1.0).unwrap();
                let problem = Problem::new(loss, bounds, n, d);
                let plan = settings.plan(&problem, budget(epsilon, 1e-6)).unwrap();
                let mean = plan.regularity.smoothness.unwrap() / d as f64;
                let least = plan.noise.deviation(d) * n as f64 * (mean + plan.extra_ridge);
                assert!(least <= 0.2 * plan.sigma, "{loss:?} {n} {d} {epsilon}: {least}");
            }
        }
    }
}

/// What the width of intervals from blocks is planned by, in the terms of the plan: a larger budget
/// makes it smaller. From a million rows on there is next to no noise left to save, and the bound
/// on the bias, which is relative to the noise, may take 2 % back.
#[test]
fn more_budget_gives_blocks_narrower_intervals() {
    for n in [5_000, 100_000, 2_000_000] {
        let mut before = f64::INFINITY;
        for epsilon in [0.25, 0.5, 1.0, 2.0, 4.0, 8.0] {
            let bounds = RowBounds::new(7_f64.sqrt(), 1.0).unwrap();
            let problem = Problem::new(Loss::Logistic, bounds, n, 7);
            let plan = with_blocks().plan(&problem, budget(epsilon, 1e-6)).unwrap();
            let records = plan.blocks.unwrap().records as f64;
            let pull = 10_f64.sqrt() * records * plan.extra_ridge / plan.sigma;
            let solver = plan.noise.deviation(7) * records * 0.25;
            let noise = (plan.sigma.powi(2) + solver.powi(2) + 0.25 * records).sqrt();
            let width = noise * (2.3 + pull);
            let slack = if n < 1_000_000 { 1.0 } else { 1.02 };
            assert!(width <= slack * before, "{n} {epsilon}: {width} after {before}");
            before = width;
        }
    }
}
