//! Records that are units of several rows: who plans for them, with which noise, and how far a
//! minimiser moves.

use crate::geometry::clear::in_the_clear;
use reticent_data::{Dense, Features, LocalOracle, Oracle, Question, Rows, Sensitive, Speed};
use reticent_noise::Source;
use reticent_optim::{
    ALGORITHMS, Algorithm, Mirror, ObjectivePerturbation, OutputGd, PlanError, Planned, Quiet,
    Settings, Simulated, UnitSupport, plan_named, simulate,
};
use reticent_privacy::objective::epsilon_det;
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon, Event, ObjectiveClass};
use reticent_problem::{Domain, Loss, Problem, RowBounds, Unit, Weighting};

fn budget(adjacency: Adjacency) -> Budget {
    Budget { epsilon: Epsilon::new(1.0).unwrap(), delta: Delta::new(1e-6).unwrap(), adjacency }
}

fn rows() -> Problem {
    let bounds = RowBounds::features(1.0).unwrap();
    Problem {
        domain: Domain::Ball { radius: 2.0 },
        ..Problem::new(Loss::Logistic, bounds, 2000, 5)
    }
}

fn units(max_rows: usize) -> Problem {
    Problem { unit: Some(Unit::new("patient", max_rows).unwrap()), ..rows() }
}

fn plan(
    problem: &Problem,
    adjacency: Adjacency,
    name: &str,
) -> Result<reticent_optim::Plan, PlanError> {
    plan_named(problem, budget(adjacency), &Settings::default(), name)
}

#[test]
fn the_noise_is_that_of_as_many_records_and_the_event_is_of_units() {
    let carried = ALGORITHMS.iter().filter(|a| a.units == UnitSupport::Carried);
    for info in carried {
        let of_rows = plan(&rows(), Adjacency::ReplaceOne, info.name);
        for max_rows in [1, 8] {
            let of_units = plan(&units(max_rows), Adjacency::ReplaceOneUnit, info.name);
            let (Ok(of_rows), Ok(of_units)) = (&of_rows, &of_units) else {
                assert!(of_rows.is_err() && of_units.is_err(), "{}", info.name);
                continue;
            };
            let ratio = of_units.outline().noise_deviation / of_rows.outline().noise_deviation;
            match (info.name, max_rows) {
                (_, 1) => assert_eq!(ratio, 1.0, "{}", info.name),
                // The curvature and the linear term of several rows cost more.
                ("objective", _) => assert!((1.0..6.0).contains(&ratio), "{ratio}"),
                _ => assert!((1.0..1.0 + 1e-6).contains(&ratio), "{}: {ratio}", info.name),
            }
            let event = of_units.outline().event.adjacency().unwrap();
            assert_eq!(event, Some(Adjacency::ReplaceOneUnit), "{}", info.name);
            assert_eq!(of_units.again().unwrap(), *of_units, "{}", info.name);
            let told = of_units.assumptions();
            assert!(told.iter().any(|a| a.statement.contains("`patient`")), "{told:?}");
            assert!(told.iter().all(|a| !a.statement.contains("of one row")), "{told:?}");
        }
    }
}

#[test]
fn who_is_not_proven_refuses_with_the_names_of_those_who_are() {
    for info in ALGORITHMS {
        let message = |problem: &Problem, adjacency| {
            plan(problem, adjacency, info.name).unwrap_err().to_string()
        };
        // A problem and a budget of other records never make a plan.
        let mixed = message(&units(4), Adjacency::ReplaceOne);
        assert!(mixed.starts_with("`adjacency` must be one of units"), "{}: {mixed}", info.name);
        let mixed = message(&rows(), Adjacency::ReplaceOneUnit);
        assert!(mixed.starts_with("`adjacency` must be one of rows"), "{}: {mixed}", info.name);
        if info.units == UnitSupport::Carried {
            continue;
        }
        let refused = message(&units(4), Adjacency::ReplaceOneUnit);
        assert!(refused.contains("clipped-sgd") && refused.contains("`unit`"), "{refused}");
        assert!(refused.starts_with(info.name), "{refused}");
        // Uniform draws of records serve units of one row as they serve rows; an order does not.
        let one = |loss| {
            // Least squares is planned without a ball, the logistic loss in one.
            let domain = match loss {
                Loss::Squared => Domain::Unbounded,
                _ => units(1).domain,
            };
            let problem = Problem { loss, domain, ..units(1) };
            plan(&problem, Adjacency::ReplaceOneUnit, info.name)
        };
        if let UnitSupport::OneRow(_) = info.units {
            assert!(refused.contains("declare `max_rows` 1"), "{refused}");
            let planned = one(Loss::Logistic).or_else(|_| one(Loss::Squared)).unwrap();
            assert_eq!(planned.outline().event.adjacency(), Ok(Some(Adjacency::ReplaceOneUnit)));
        } else {
            let refused = one(Loss::Logistic).unwrap_err().to_string();
            assert!(refused.contains("by a place") && !refused.contains("`max_rows`"));
        }
    }
}

/// `ln det(I + H/Λ)`, by elimination.
fn log_det(mut a: Vec<Vec<f64>>) -> f64 {
    let n = a.len();
    let mut sum = 0.0;
    for k in 0..n {
        sum += a[k][k].ln();
        for i in k + 1..n {
            let f = a[i][k] / a[k][k];
            let (above, below) = a.split_at_mut(i);
            below[0][k..].iter_mut().zip(&above[k][k..]).for_each(|(x, y)| *x -= f * y);
        }
    }
    sum
}

/// Units of every number of rows in every direction, among them orthogonal rows, which attain the
/// bound.
#[test]
fn the_curvature_term_bounds_every_units_determinant_and_is_attained() {
    let (d, beta) = (5_usize, 0.25);
    let mut state = 1_u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for modulus in [0.01, 0.3, 20.0] {
        for m in [1_usize, 2, 3, 5, 8] {
            let most = m.min(d) as f64;
            let bound = epsilon_det(most, beta / most, modulus);
            let mut largest = 0.0_f64;
            for trial in 0..400 {
                let kept = 1 + trial % m;
                let mut h = vec![vec![0.0; d]; d];
                for r in 0..kept {
                    let mut x: Vec<f64> = (0..d).map(|_| uniform() - 0.5).collect();
                    if trial < 2 * m {
                        x = (0..d).map(|j| f64::from(u8::from(j == r % d))).collect();
                    }
                    let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
                    for i in 0..d {
                        for j in 0..d {
                            h[i][j] += beta / kept as f64 * x[i] * x[j] / (length * length);
                        }
                    }
                }
                let whole = (0..d).map(|i| {
                    (0..d).map(|j| h[i][j] / modulus + f64::from(u8::from(i == j))).collect()
                });
                largest = largest.max(log_det(whole.collect()));
            }
            assert!(largest <= bound * (1.0 + 1e-12), "{m} {modulus}: {largest} above {bound}");
            assert!(largest >= 0.9 * bound || m > d, "{m} {modulus}: {largest} far below {bound}");
        }
    }
}

#[test]
fn objective_perturbation_of_units_is_charged_for_units() {
    for (adjacency, dimension) in [(Adjacency::ReplaceOneUnit, 5), (Adjacency::ZeroOutUnit, 3)] {
        let plan = ObjectivePerturbation::default().plan(&units(3), budget(adjacency)).unwrap();
        let expected = ObjectiveClass::Unit { dimension, directions: 1, monotone: true };
        assert_eq!(plan.class, expected);
        assert_eq!(plan.outline().event.adjacency(), Ok(Some(adjacency)));
        let Event::Approximated { .. } = plan.outline().event else { panic!("another event") };
    }
    // Weighting changes no bound.
    let by_rows = Unit { weighting: Weighting::Rows, ..Unit::new("patient", 3).unwrap() };
    let by_rows = Problem { unit: Some(by_rows), ..rows() };
    let settings = ObjectivePerturbation::default();
    let adjacency = Adjacency::ReplaceOneUnit;
    let [a, b] = [units(3), by_rows].map(|p| settings.plan(&p, budget(adjacency)).unwrap());
    assert_eq!(a.sigma, b.sigma);
    // The noise of the linear term hardly grows with the cap, also where rows have many directions;
    // what does is the ridge that the curvature needs.
    let wide = |m| Problem { features: 200, domain: Domain::Unbounded, ..units(m) };
    let sigma = |m| settings.plan(&wide(m), budget(adjacency)).unwrap().sigma;
    let (few, many) = (sigma(2), sigma(60));
    assert!((few..1.2 * few).contains(&many), "{few} {many}");
    // Softmax: a row's gradient has two directions for three classes, and no sign.
    let classes = Problem { loss: Loss::Softmax { classes: 3 }, ..units(3) };
    let plan = settings.plan(&Problem { domain: Domain::Unbounded, ..classes }, budget(adjacency));
    let expected = ObjectiveClass::Unit { dimension: 10, directions: 2, monotone: false };
    assert_eq!(plan.unwrap().class, expected);
}

/// The planner simulates the plan for units, noise and ridge included.
#[test]
fn the_simulation_runs_the_plan_for_units() {
    let problem = |unit| Problem { unit, domain: Domain::Unbounded, ..rows() };
    let of = |max_rows: usize| {
        let unit = (max_rows > 0).then(|| Unit::new("patient", max_rows).unwrap());
        let adjacency = Adjacency::ReplaceOne;
        let adjacency = if unit.is_some() { adjacency.of_units() } else { adjacency };
        let budget = Budget { epsilon: Epsilon::new(0.4).unwrap(), ..budget(adjacency) };
        simulate(&problem(unit), budget, &Settings::default())
    };
    let gain = |found: &[Simulated], name: &str| {
        found.iter().find(|s| s.algorithm == name).map(|s| s.prediction.gain)
    };
    let (by_row, one, many) = (of(0), of(1), of(500));
    assert_eq!(gain(&one, "objective"), gain(&by_row, "objective"));
    let (few, most) = (gain(&one, "objective").unwrap(), gain(&many, "objective").unwrap());
    assert!(most < few - 0.02, "more noise must cost something: {few} {most}");
    // Where no noise depends on the cap, neither does what is expected.
    assert_eq!(gain(&one, "clipped-sgd"), gain(&many, "clipped-sgd"));
    // Algorithms that refuse units have no predicted gain.
    assert!(gain(&many, "phased").is_none() && gain(&many, "output-sgd").is_none());
}

/// Rows and a label each, unit after unit.
type Units = Vec<Vec<(Vec<f64>, f64)>>;

fn oracle(units: &Units, problem: &Problem) -> LocalOracle {
    let rows: Vec<_> = units.iter().flatten().collect();
    let values = rows.iter().flat_map(|(x, _)| x.iter().copied()).collect();
    let features = Features::F64(Dense::new(rows.len(), problem.features, values));
    let labels = rows.iter().map(|(_, y)| *y).collect();
    let keys: Vec<_> =
        units.iter().enumerate().flat_map(|(u, rows)| vec![Some(u); rows.len()]).collect();
    let rows = Rows::new(features, labels, problem.bounds);
    let rows = rows.grouped(keys.into_iter(), problem.unit.as_ref().unwrap()).unwrap();
    LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// Neighbouring tables of five units: what is replaced has one row or more than are used, equal and
/// extreme, at right angles, or without pattern.
fn neighbours(loss: Loss, d: usize, m: usize) -> Vec<(Units, Units)> {
    let mut state = 5_u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let most = |k: f64| if matches!(loss, Loss::Softmax { .. }) { k } else { 2.0 * k - 1.0 };
    let along = |j: usize| (0..d).map(|i| f64::from(u8::from(i == j % d))).collect::<Vec<_>>();
    let equal = |rows: usize, j: usize, k: f64| vec![(along(j), most(k)); rows];
    let turned = |rows: usize, k: f64| (0..rows).map(|j| (along(j), most(k))).collect::<Vec<_>>();
    let mut random = |rows: usize| {
        let mut row = |_| {
            let x: Vec<f64> = (0..d).map(|_| uniform() - 0.5).collect();
            let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            let label = most(f64::from(u8::from(uniform() < 0.5)));
            (x.iter().map(|x| x / length).collect::<Vec<_>>(), label)
        };
        (0..rows).map(&mut row).collect::<Vec<_>>()
    };
    let crowd: Units = (0..4).map(|u| random(1 + u % 3)).collect();
    let pairs = [
        (equal(1, 0, 1.0), equal(4 * m, 0, 0.0)),
        (equal(m, 0, 1.0), equal(m, 1, 1.0)),
        (turned(m, 1.0), turned(m, 0.0)),
        (turned(3 * m, 1.0), equal(1, 1, 0.0)),
        (random(m), random(2 * m)),
        (random(3), equal(m, 2, 1.0)),
    ];
    let with = |unit| [vec![unit], crowd.clone()].concat();
    pairs.into_iter().map(|(a, b)| (with(a), with(b))).collect()
}

/// Without noise, what is released moves by at most what the noise is scaled to, however all rows
/// of a unit are replaced; and by as much in the worst case.
#[test]
fn replacing_a_unit_moves_no_release_by_more_than_its_sensitivity() {
    let (adjacency, d) = (Adjacency::ReplaceOneUnit, 4);
    let source = Source::seeded_not_private(1);
    let mut closest = [0.0_f64; 3];
    for loss in [Loss::Logistic, Loss::Huber { threshold: 0.4 }, Loss::Softmax { classes: 2 }] {
        for (m, weighting) in [(1, Weighting::Equal), (3, Weighting::Equal), (6, Weighting::Rows)] {
            let bounds = RowBounds::new(1.0, 1.0).unwrap();
            let unit = Unit { weighting, ..Unit::new("patient", m).unwrap() };
            let problem = Problem {
                unit: Some(unit),
                domain: Domain::Ball { radius: 3.0 },
                ridge: 0.05,
                ..Problem::new(loss, bounds, 5, d)
            };
            let silent =
                Budget { epsilon: Epsilon::new(f64::INFINITY).unwrap(), ..budget(adjacency) };
            for (before, after) in neighbours(loss, d, m) {
                let both = [&before, &after].map(|units| oracle(units, &problem));
                let settings = OutputGd { steps: Some(25), eta: Some(1.0), ..OutputGd::default() };
                let plan = settings.plan(&problem, silent).unwrap();
                let [a, b] = both
                    .each_ref()
                    .map(|o| OutputGd::run(&plan, o, &source, &Quiet).unwrap().weights);
                let most = settings.plan(&problem, budget(adjacency)).unwrap().sensitivity;
                let share = distance(&a, &b) / most;
                assert!(share <= 1.0 + 1e-9, "output-gd, {loss:?}, {m}: {share}");
                closest[0] = closest[0].max(share);

                let free = Problem { ridge: 0.0, ..problem.clone() };
                let plan = Mirror { p: Some(2.0), ..Mirror::default() };
                let plan = plan.plan(&free, budget(adjacency)).unwrap();
                for at in [vec![0.0; free.dimension()], a.clone()] {
                    let at = Sensitive::new(at);
                    let [a, b] = both.each_ref().map(|oracle| {
                        let mut into = Sensitive::new(vec![0.0; free.dimension()]);
                        oracle.ask(&free, &Question::Gradient { at: &at }, &mut into).unwrap();
                        in_the_clear(into)
                    });
                    let share = distance(&a, &b) / plan.noise.sensitivity;
                    assert!(share <= 1.0, "mirror, {loss:?}, {m}: {share}");
                    closest[1] = closest[1].max(share);
                }

                // The same linear term: minimisers are apart by the records' gradients over the
                // modulus of the sum.
                let settings =
                    ObjectivePerturbation { extra_ridge: Some(0.3), ..Default::default() };
                let plan = settings.plan(&problem, silent).unwrap();
                let [a, b] = both.each_ref().map(|oracle| {
                    ObjectivePerturbation::run(&plan, oracle, &source, &Quiet).unwrap().weights
                });
                let modulus = 5.0 * (problem.ridge + plan.extra_ridge);
                let most = 2.0 * plan.regularity.lipschitz / modulus + plan.sensitivity;
                let share = distance(&a, &b) / most;
                assert!(share <= 1.0, "objective, {loss:?}, {m}: {share}");
                closest[2] = closest[2].max(share);
            }
        }
    }
    assert!(closest.iter().all(|share| *share > 0.4), "far below the bounds: {closest:?}");
}
