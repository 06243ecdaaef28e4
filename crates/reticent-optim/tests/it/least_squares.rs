//! Least squares against its theorem: worst-case neighbours, the printed sensitivity that leaks,
//! limits and refusals.

use proptest::prelude::*;
use reticent_data::{Dense, Features, LocalOracle, Rows, Speed};
use reticent_math::{ln_binomial_pmf, normal_pdf};
use reticent_noise::Source;
use reticent_optim::least_squares::parameters::Schedule;
use reticent_optim::least_squares::sensitivity::{self, StepBounds};
use reticent_optim::least_squares::{LeastSquares, LeastSquaresPlan, Order};
use reticent_optim::{Algorithm, Calibration, Quiet};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon, delta_upper, epsilon_upper};
use reticent_problem::{Loss, Problem, RowBounds};

type Row = (Vec<f64>, f64);

fn budget(epsilon: f64, delta: f64) -> Budget {
    Budget {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(delta).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    }
}

fn problem(rows: usize, features: usize, norm: f64, label: f64) -> Problem {
    Problem::new(Loss::Squared, RowBounds::new(norm, label).unwrap(), rows, features)
}

fn run(plan: &LeastSquaresPlan, table: &[Row], seed: u64) -> Vec<f64> {
    let (x, y): (Vec<_>, Vec<_>) = table.iter().cloned().unzip();
    let features = Features::F64(Dense::new(x.len(), x[0].len(), x.concat()));
    let rows = Rows::new(features, y, plan.outline.problem.bounds);
    let oracle = LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap();
    LeastSquares::run(plan, &oracle, &Source::seeded_not_private(seed), &Quiet).unwrap().weights
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// A row at the bounds: signs over the root of the dimension, or a free direction.
fn row(d: usize) -> impl Strategy<Value = Row> {
    let signs = prop::collection::vec(prop_oneof![Just(-1.0), Just(1.0)], d);
    let free = prop::collection::vec(-1.0..1.0_f64, d);
    let label = prop_oneof![Just(-1.0), Just(1.0), -1.0..1.0_f64];
    (prop_oneof![signs, free], label).prop_map(|(x, y)| {
        let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-9);
        (x.iter().map(|v| v / norm).collect(), y)
    })
}

#[derive(Clone, Debug)]
struct Case {
    table: Vec<Row>,
    replacement: Row,
    norm: f64,
    label: f64,
    share: f64,
    steps: u64,
    exact: bool,
    order: Order,
    ridge: f64,
    /// More than two for classification in place of regression.
    classes: usize,
}

fn cases() -> impl Strategy<Value = Case> {
    let shape = (1_usize..8, 1_usize..7, prop_oneof![Just(1.0), Just(2_f64.sqrt())]);
    let course = (
        prop_oneof![Just(0.1), Just(1.0), Just(5.0)],
        prop_oneof![Just(0.02), Just(0.3), Just(0.999)],
        1_u64..60,
        any::<bool>(),
        prop_oneof![Just(Order::Passes), Just(Order::Full), Just(Order::WithReplacement)],
        prop_oneof![Just(0.0), Just(0.3)],
        prop_oneof![Just(1_usize), Just(2), 3_usize..6],
    );
    (shape, course).prop_flat_map(
        |((n, d, norm), (label, share, steps, exact, order, ridge, classes))| {
            (prop::collection::vec(row(d), n), row(d)).prop_map(move |(table, replacement)| Case {
                table,
                replacement,
                norm,
                label,
                share,
                steps,
                exact,
                order,
                ridge,
                classes,
            })
        },
    )
}

/// A label of this many classes from a number between -1 and 1.
fn class(y: f64, classes: usize) -> f64 {
    match classes {
        2 => 1.0_f64.copysign(y),
        _ => (f64::midpoint(y, 1.0) * classes as f64).floor().min(classes as f64 - 1.0),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Replacing a row moves the last iterate by at most what the noise is scaled to, on the same
    /// secret order.
    #[test]
    fn neighbours_stay_within_the_sensitivity(case in cases()) {
        let Case { table, replacement, norm, label, share, steps, exact, order, ridge, classes } =
            case;
        // A class is a vector of length one.
        let label = if classes > 1 { 1.0 } else { label };
        let n = table.len() as u64;
        let ridge = if order == Order::Full { ridge } else { 0.0 };
        let scale = |(x, y): Row| {
            let y = if classes > 1 { class(y, classes) } else { label * y };
            (x.iter().map(|v| norm * v * (1.0 - 1e-12)).collect::<Vec<_>>(), y)
        };
        let table: Vec<Row> = table.into_iter().map(scale).collect();
        let mut other = table.clone();
        other[0] = scale(replacement);
        let steps = if order == Order::Passes { steps.div_ceil(n) * n } else { steps };
        let settings = LeastSquares {
            order,
            exact,
            steps: Some(steps),
            eta: Some(share / (norm * norm + ridge)),
            ..LeastSquares::default()
        };
        let d = table[0].0.len();
        let loss = if classes > 1 { Loss::OneHot { classes } } else { Loss::Squared };
        // Labels of several classes are their numbers.
        let most = if classes > 2 { classes as f64 - 1.0 } else { label };
        let problem = Problem { ridge, loss, ..problem(table.len(), d, norm, most) };
        let plan = settings.plan(&problem, budget(f64::INFINITY, 0.0)).unwrap();
        // With replacement the bound is for each visit; there are at most as many as steps.
        let visits = if order == Order::WithReplacement { steps as f64 } else { 1.0 };
        let bound = plan.moves.drift + visits * plan.moves.shift;
        let (a, b) = (run(&plan, &table, 5), run(&plan, &other, 5));
        prop_assert!(distance(&a, &b) <= bound, "{} above {bound}", distance(&a, &b));
        let reach = StepBounds { norm, label, eta: plan.eta, residual_limit: None }
            .iterate_norm(steps as f64 + 1.0);
        prop_assert!(distance(&a, &vec![0.0; a.len()]) <= reach * (1.0 + 1e-9));
    }

    /// A plan keeps its budget, whatever the accountant is asked.
    #[test]
    fn plans_keep_their_budget(
        n in 2_usize..5000,
        d in 1_usize..40,
        epsilon in 0.05..8.0_f64,
        order in prop_oneof![Just(Order::Passes), Just(Order::Full), Just(Order::WithReplacement)],
        exact in any::<bool>(),
    ) {
        let settings = LeastSquares { order, exact, ..LeastSquares::default() };
        let plan = settings.plan(&problem(n, d, 1.0, 1.0), budget(epsilon, 1e-6)).unwrap();
        prop_assert!(delta_upper(&plan.outline.event, epsilon).unwrap() <= 1e-6);
        prop_assert!(epsilon_upper(&plan.outline.event, 1e-6).unwrap() <= epsilon);
        prop_assert_eq!(settings.plan(&plan.outline.problem, plan.outline.budget).unwrap(), plan);
    }
}

#[test]
fn the_bound_is_attained_by_opposite_labels() {
    // One row at the bounds, nothing else: full gradients with clamped residuals move in a straight
    // line.
    let settings = LeastSquares {
        order: Order::Full,
        steps: Some(4),
        eta: Some(0.01),
        ..LeastSquares::default()
    };
    let plan = settings.plan(&problem(1, 1, 1.0, 1.0), budget(f64::INFINITY, 0.0)).unwrap();
    let (a, b) = (run(&plan, &[(vec![1.0], 1.0)], 1), run(&plan, &[(vec![1.0], -1.0)], 1));
    let ratio = distance(&a, &b) / plan.moves.at(1.0);
    assert!(ratio > 0.95 && ratio <= 1.0, "{ratio}");
}

#[test]
fn classes_have_the_length_of_one_label_however_many_there_are() {
    // Two classes pull at right angles: √2 of the 2 that a row and its mirror image need, which the
    // bound is for.
    let settings = LeastSquares {
        order: Order::Full,
        steps: Some(4),
        eta: Some(0.01),
        ..LeastSquares::default()
    };
    let moves = |classes: usize| {
        let loss = Loss::OneHot { classes };
        let problem = Problem { loss, ..problem(1, 1, 1.0, classes as f64 - 1.0) };
        let plan = settings.plan(&problem, budget(f64::INFINITY, 0.0)).unwrap();
        let (a, b) = (run(&plan, &[(vec![1.0], 0.0)], 1), run(&plan, &[(vec![1.0], 2.0)], 1));
        assert_eq!(a.len(), classes);
        let ratio = distance(&a, &b) / plan.moves.at(1.0);
        assert!((0.68..=0.7072).contains(&ratio), "{classes}: {ratio}");
        plan.moves.at(1.0)
    };
    assert!(moves(1000) <= moves(3) * (1.0 + 1e-9));
}

/// `δ(1)` of the mechanism that adds `N(0, σ²)` to `±(1 − (1 − η)^k)`, `k ~ Bin(T, 1/n)`, by
/// integration.
fn exact_delta(rows: f64, steps: f64, eta: f64, sigma: f64) -> f64 {
    let terms: Vec<(f64, f64)> = (0..60)
        .map(|k| {
            let p = ln_binomial_pmf(f64::from(k), steps, 1.0 / rows).exp();
            (p, 1.0 - (1.0 - eta).powi(k))
        })
        .collect();
    let density = |x: f64, sign: f64| {
        terms.iter().map(|(p, a)| p * normal_pdf((x - sign * a) / sigma) / sigma).sum::<f64>()
    };
    let width = 12.0 * sigma + terms[59].1;
    let points = 400_000;
    let h = 2.0 * width / f64::from(points);
    (0..points)
        .map(|i| {
            let x = -width + (f64::from(i) + 0.5) * h;
            (density(x, 1.0) - 1_f64.exp() * density(x, -1.0)).max(0.0) * h
        })
        .sum()
}

#[test]
fn the_printed_sensitivity_leaks_and_ours_does_not() {
    let (n, steps, eta, delta) = (2000, 2000_u64, 1e-6, 1e-5);
    let shape = StepBounds { norm: 1.0, label: 1.0, eta, residual_limit: None };
    // As printed: the square of what is under the root, and one factor c less.
    let kbar = 1.0 + sensitivity::visit_excess(2000.0, 2000.0, 0.5 * delta);
    let one = 2.0 * eta * (1.0 + (eta * 2000.0).sqrt());
    let printed = one * one * std::f64::consts::E * kbar * (1.0 + kbar);
    assert!((printed / 4.404e-8 - 1.0).abs() < 1e-3, "{printed}");
    let sigma = |sensitivity: f64| sensitivity::paper_multiplier(1.0, delta) * sensitivity;
    assert!(exact_delta(2000.0, 2000.0, eta, sigma(printed)) > 0.5);
    let corrected = sensitivity::paper(&shape, 2000.0, 2000.0, 0.5 * delta);
    assert!(exact_delta(2000.0, 2000.0, eta, sigma(corrected)) <= delta);
    for calibration in [Calibration::Paper, Calibration::Tight] {
        let settings = LeastSquares {
            calibration,
            order: Order::WithReplacement,
            steps: Some(steps),
            eta: Some(eta),
            exact: true,
            ..LeastSquares::default()
        };
        let plan = settings.plan(&problem(n, 2, 1.0, 1.0), budget(1.0, delta)).unwrap();
        let spent = exact_delta(2000.0, 2000.0, eta, plan.outline.noise_deviation);
        assert!(spent <= delta, "{calibration:?} {spent:e}");
    }
}

#[test]
fn the_mixture_needs_less_noise_than_the_quantile_and_that_less_than_the_paper() {
    for (n, steps) in [(10_000, 63_096_u64), (2_000, 2_000), (1_000, 20_000)] {
        let eta = 1.0 / n as f64;
        let plan = |calibration| {
            let settings = LeastSquares {
                calibration,
                order: Order::WithReplacement,
                steps: Some(steps),
                eta: Some(eta),
                exact: true,
                ..LeastSquares::default()
            };
            settings.plan(&problem(n, 4, 1.0, 1.0), budget(1.0, 1e-6)).unwrap()
        };
        let (tight, paper) = (plan(Calibration::Tight), plan(Calibration::Paper));
        let shape = StepBounds { norm: 1.0, label: 1.0, eta, residual_limit: None };
        let chance = 1.0 / n as f64;
        let visits = reticent_math::binomial_quantile_upper(steps as f64, chance, 5e-7);
        let scale = reticent_privacy::gaussian::noise_multiplier_upper(1.0, 5e-7).unwrap();
        let quick = scale * shape.visits(visits, steps as f64);
        let (tight, paper) = (tight.outline.noise_deviation, paper.outline.noise_deviation);
        assert!(tight < quick && quick < paper, "{tight} {quick} {paper}");
    }
}

#[test]
fn what_cannot_be_served_is_refused_by_name() {
    let refuse = |problem: &Problem, budget, settings: LeastSquares| {
        settings.plan(problem, budget).unwrap_err().to_string()
    };
    let ok = problem(100, 3, 1.0, 1.0);
    let (pure, approximate) = (budget(1.0, 0.0), budget(1.0, 1e-6));
    let replacement = LeastSquares { order: Order::WithReplacement, ..LeastSquares::default() };
    assert!(refuse(&ok, pure, replacement).contains("visits are random"));
    assert!(LeastSquares::default().plan(&ok, pure).is_ok());
    let long = LeastSquares { eta: Some(2.0), ..LeastSquares::default() };
    assert!(refuse(&ok, approximate, long).contains("`step_size` must be below 2"));
    let paper = LeastSquares { calibration: Calibration::Paper, ..LeastSquares::default() };
    assert!(refuse(&ok, approximate, paper).contains("with-replacement"));
    let ragged = LeastSquares { steps: Some(150), ..LeastSquares::default() };
    assert!(refuse(&ok, approximate, ragged).contains("multiple of n"));
    let logistic = Problem { loss: Loss::Logistic, ..ok.clone() };
    assert!(refuse(&logistic, approximate, LeastSquares::default()).contains("squared"));
    let ridged = Problem { ridge: 0.1, ..ok.clone() };
    assert!(refuse(&ridged, approximate, LeastSquares::default()).contains("`order` full"));
    let removed = Budget { adjacency: Adjacency::AddRemoveOne, ..approximate };
    assert!(refuse(&ok, removed, LeastSquares::default()).contains("replace-one"));
}

#[test]
fn the_papers_two_schedules_are_there_to_choose() {
    let paper = |schedule| LeastSquares {
        calibration: Calibration::Paper,
        order: Order::WithReplacement,
        schedule,
        ..LeastSquares::default()
    };
    let (problem, budget) = (problem(10_000, 3, 1.0, 1.0), budget(1.0, 1e-6));
    let plan = |schedule| paper(schedule).plan(&problem, budget).unwrap();
    let (large, small) = (plan(Some(Schedule::LargeStep)), plan(Some(Schedule::SmallStep)));
    assert_eq!((large.outline.steps, plan(None).outline.steps), (63_096, 63_096));
    // n^{(2r+α+1)/(2r+α)} steps of length 1/n.
    assert_eq!((small.outline.steps, small.eta), (398_108, 1e-4));
    let tight = LeastSquares { schedule: Some(Schedule::SmallStep), ..LeastSquares::default() };
    let refused = tight.plan(&problem, budget).unwrap_err().to_string();
    assert!(refused.contains("`schedule`"), "{refused}");
}

#[test]
fn guesses_of_difficulty_tune_the_course_and_nothing_else() {
    let (table, budget) = (problem(20_000, 3, 1.0, 1.0), budget(1.0, 1e-6));
    let plan = |source_smoothness, capacity| {
        LeastSquares { source_smoothness, capacity, ..LeastSquares::default() }.plan(&table, budget)
    };
    let time = |plan: &LeastSquaresPlan| plan.eta * plan.outline.steps as f64;
    let default = plan(None, None).unwrap();
    let rough = plan(Some(0.6), Some(0.9)).unwrap();
    assert!(time(&rough) > time(&default), "a rough target takes longer");
    let named = plan(Some(1.0), Some(0.5)).unwrap();
    assert_eq!(
        LeastSquares { source_smoothness: None, capacity: None, ..named.settings },
        default.settings
    );
    assert_eq!(named.outline, default.outline);
    for plan in [&default, &rough] {
        assert!(delta_upper(&plan.outline.event, 1.0).unwrap() <= 1e-6);
        assert!(plan.outline.warnings.is_empty(), "{:?}", plan.outline.warnings);
    }
    let unproved = plan(Some(0.6), Some(0.5)).unwrap();
    assert!(unproved.outline.warnings.iter().any(|w| w.contains("no rate is proved")));
    // The paper's course follows its Theorem 1: T = n^((2r+1)/(2r+alpha)), eta =
    // n^(-2r/(2r+alpha)).
    let paper = LeastSquares {
        calibration: Calibration::Paper,
        order: Order::WithReplacement,
        source_smoothness: Some(0.75),
        capacity: Some(0.8),
        ..LeastSquares::default()
    };
    let paper = paper.plan(&problem(1000, 3, 1.0, 1.0), budget).unwrap();
    assert_eq!(paper.outline.steps, 1000_f64.powf(2.5 / 2.3).ceil() as u64);
    assert!((paper.eta - 1000_f64.powf(-1.5 / 2.3)).abs() < 1e-12);
    for (source_smoothness, capacity) in
        [(0.5, 0.5), (1.1, 0.5), (1.0, 0.0), (1.0, 1.0), (f64::NAN, 0.5)]
    {
        let refused = plan(Some(source_smoothness), Some(capacity)).unwrap_err().to_string();
        assert!(refused.contains("must be"), "{refused}");
    }
}
