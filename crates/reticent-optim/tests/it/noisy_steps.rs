//! Random-round SGD and noisy SGD against their theorems: sampler, noise, risk, limits, refusals
//! and errata.

use std::sync::Mutex;

use proptest::prelude::*;
use reticent_data::{
    Dense, Features, LocalOracle, Oracle, OracleError, Question, Rows, Sensitive, Speed,
};
use reticent_noise::Source;
use reticent_optim::noisy_sgd::{self, NoisySgd};
use reticent_optim::random_round::{self, RandomRound, Sampling};
use reticent_optim::{Algorithm, Calibration, PlanError, Planned, Quiet};
use reticent_privacy::{
    Adjacency, Budget, Delta, Epsilon, Event, delta_upper, epsilon_upper, gaussian,
};
use reticent_problem::{Domain, Loss, Problem, RowBounds};

fn budget(epsilon: f64, delta: f64) -> Budget {
    Budget {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(delta).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    }
}

fn problem(loss: Loss, n: usize, d: usize) -> Problem {
    Problem::new(loss, RowBounds::features(1.0).unwrap(), n, d)
}

#[allow(clippy::needless_pass_by_value, reason = "it is called with a fresh one")]
fn on_ball(radius: f64, problem: Problem) -> Problem {
    Problem { domain: Domain::Ball { radius }, ..problem }
}

/// Rows whose gradients are zero, and a list of the batches that were asked for.
struct Witness {
    rows: usize,
    features: usize,
    batches: Mutex<Vec<Vec<usize>>>,
}

impl Witness {
    fn new(problem: &Problem) -> Self {
        Self { rows: problem.rows, features: problem.features, batches: Mutex::default() }
    }

    fn batches(&self) -> Vec<Vec<usize>> {
        std::mem::take(&mut self.batches.lock().unwrap())
    }
}

impl Oracle for Witness {
    fn rows(&self) -> usize {
        self.rows
    }
    fn weighted(&self) -> bool {
        false
    }
    fn features(&self) -> usize {
        self.features
    }
    fn bounds(&self) -> RowBounds {
        RowBounds::features(1.0).unwrap()
    }
    fn ask(
        &self,
        _: &Problem,
        question: &Question<'_>,
        into: &mut Sensitive<Vec<f64>>,
    ) -> Result<(), OracleError> {
        let Question::Batch { batch, .. } = question else {
            unreachable!("these algorithms take batches");
        };
        into.update_inside(|into| into.fill(0.0));
        self.batches.lock().unwrap().push(batch.to_vec());
        Ok(())
    }
}

fn seeded(seed: u64) -> Source {
    Source::seeded_not_private(seed)
}

#[test]
fn the_batches_of_a_run_follow_the_law_that_its_event_charges() {
    let n = 40;
    let problem = on_ball(1.0, problem(Loss::Logistic, n, 2));
    for calibration in [Calibration::Tight, Calibration::Paper] {
        let settings =
            NoisySgd { calibration, steps: Some(5000), batch: Some(4), ..NoisySgd::default() };
        let plan = settings.plan(&problem, budget(1.0, 1e-3)).unwrap();
        let witness = Witness::new(&problem);
        NoisySgd::run(&plan, &witness, &seeded(1), &Quiet).unwrap();
        let batches = witness.batches();
        assert_eq!(batches.len(), 5000);
        let mut counts = vec![0.0_f64; n];
        let mut sizes = vec![0_u32; n + 1];
        for batch in &batches {
            let mut sorted = batch.clone();
            sorted.sort_unstable();
            assert!(sorted.windows(2).all(|w| w[0] < w[1]), "no row twice: {batch:?}");
            sizes[batch.len()] += 1;
            for &i in batch {
                counts[i] += 1.0;
            }
        }
        // Each count is binomial(5000, 1/10), mean 500, deviation 21.2; chi-square over 40 rows,
        // below 110 with odds 1 - 3e-8.
        let unevenness: f64 = counts.iter().map(|c| (c - 500.0).powi(2) / 450.0).sum();
        assert!(unevenness < 110.0, "{unevenness}");
        match plan.outline.event {
            Event::PoissonGaussian { sample_rate, steps, .. } => {
                assert_eq!((sample_rate, steps), (0.1, 5000));
                // The size is binomial(40, 1/10): empty with odds 0.0148, 74 of 5000 in the mean;
                // false alarm 5e-8. Eight or more: 210 in the mean; false alarm 4e-41.
                assert!((f64::from(sizes[0]) - 73.9).abs() < 50.0, "{sizes:?}");
                assert!(sizes[8..].iter().sum::<u32>() > 50, "{sizes:?}");
            }
            Event::FixedSizeGaussian { batch, rows, steps, .. } => {
                assert_eq!((batch, rows, steps), (4, 40, 5000));
                assert_eq!(sizes[4], 5000);
            }
            other => panic!("{other:?}"),
        }
        // Two rows come together as often as the law says: 1/100 against 12/1560.
        let pairs = batches.iter().filter(|b| b.contains(&3) && b.contains(&17)).count() as f64;
        let (mean, slack) =
            if calibration == Calibration::Tight { (50.0, 39.0) } else { (38.5, 34.0) };
        // binomial: false alarm 4e-7
        assert!((pairs - mean).abs() < slack, "{calibration:?}: {pairs} pairs");
    }
}

#[test]
fn the_noise_that_is_drawn_is_the_noise_that_is_planned() {
    // Gradients are zero, so one step from zero is minus eta times the noise.
    let d = 4000;
    let logistic = problem(Loss::Logistic, 100, d);
    let witness = Witness::new(&logistic);
    let ridged = Problem { ridge: 1.0, ..on_ball(1e9, logistic.clone()) };
    let plan = NoisySgd { steps: Some(1), ..NoisySgd::default() }
        .plan(&ridged, budget(1.0, 1e-3))
        .unwrap();
    let w = NoisySgd::run(&plan, &witness, &seeded(2), &Quiet).unwrap().weights;
    let scale = plan.step_scale * plan.outline.noise_deviation;
    let square = w.iter().map(|w| (w / scale).powi(2)).sum::<f64>() / d as f64;
    assert!((square - 1.0).abs() < 0.13, "{square}"); // chi-square of 4000: false alarm 1.2e-8
    witness.batches();
    for calibration in [Calibration::Tight, Calibration::Paper] {
        let settings =
            RandomRound { calibration, steps: Some(50), batch: Some(5), ..RandomRound::default() };
        let plan = settings.plan(&logistic, budget(1.0, 1e-3)).unwrap();
        let w = RandomRound::run(&plan, &witness, &seeded(5), &Quiet).unwrap().weights;
        let taken = witness.batches().len() as f64;
        let scale = plan.eta * plan.outline.noise_deviation * taken.sqrt();
        let square = w.iter().map(|w| (w / scale).powi(2)).sum::<f64>() / d as f64;
        assert!(taken > 5.0 && (square - 1.0).abs() < 0.13, "{taken} {square}");
        // Sigma in units of what a row can move: never below the multiplier that the event names.
        let s = plan.outline.noise_deviation * 5.0 / plan.batches.clip;
        assert!(s >= plan.batches.noise_multiplier && s < plan.batches.noise_multiplier * 1.0001);
    }
}

#[test]
fn the_round_is_uniform_and_the_first_returns_the_start() {
    // The paper prints w_R; what it analyses is w_{R-1}, so R = 1 must return w_0, one run in N.
    let sigmoid = problem(Loss::Sigmoid, 10, 2);
    for calibration in [Calibration::Tight, Calibration::Paper] {
        let settings = RandomRound { calibration, steps: Some(20), ..RandomRound::default() };
        let plan = settings.plan(&sigmoid, budget(1.0, 1e-2)).unwrap();
        let witness = Witness::new(&sigmoid);
        let mut bins = [0.0_f64; 20];
        for seed in 0..4000 {
            let w = RandomRound::run(&plan, &witness, &seeded(seed), &Quiet).unwrap().weights;
            let taken = witness.batches().len();
            bins[taken] += 1.0;
            assert_eq!(taken == 0, w == [0.0, 0.0], "no step, no noise");
        }
        // 19 degrees of freedom: 85 has odds 2e-10.
        let unevenness: f64 = bins.iter().map(|c| (c - 200.0).powi(2) / 200.0).sum();
        assert!(unevenness < 85.0, "{bins:?}");
    }
    let uniform = random_round::round_probability(&[0.3; 20], 1.0, 7);
    assert!((uniform - 0.05).abs() < 1e-15);
}

type Table = (Vec<Vec<f64>>, Vec<f64>);

fn oracle((x, y): &Table) -> LocalOracle {
    let features = Features::F64(Dense::new(x.len(), x[0].len(), x.concat()));
    let rows = Rows::new(features, y.clone(), RowBounds::features(1.0).unwrap());
    LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap()
}

fn synthetic(n: usize, d: usize) -> Table {
    let mut state = 11_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..n)
        .map(|_| {
            let x: Vec<f64> = (0..d).map(|_| 2.0 * uniform() - 1.0).collect();
            let length = x.iter().map(|v| v * v).sum::<f64>().sqrt();
            let x: Vec<f64> = x.iter().map(|v| v / length).collect();
            let y = if uniform() < 1.0 / (1.0 + (-6.0 * x[0]).exp()) { 1.0 } else { -1.0 };
            (x, y)
        })
        .unzip()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn sigmoid_gradient_square((x, y): &Table, w: &[f64]) -> f64 {
    let mut g = vec![0.0; w.len()];
    for (x, y) in x.iter().zip(y) {
        let s = 1.0 / (1.0 + (y * dot(x, w)).exp());
        for (g, x) in g.iter_mut().zip(x) {
            *g -= y * s * (1.0 - s) * x / 5000.0;
        }
    }
    dot(&g, &g)
}

#[test]
fn the_stationary_point_is_better_than_the_start_and_within_its_bound() {
    let (n, d) = (5000, 5);
    let table = synthetic(n, d);
    let oracle = oracle(&table);
    let at_start = sigmoid_gradient_square(&table, &vec![0.0; d]);
    for settings in [
        RandomRound::default(),
        // Subsets of fixed size, with the paper's scale, which the accountant certifies here too.
        RandomRound { calibration: Calibration::Paper, batch: Some(50), ..RandomRound::default() },
    ] {
        let plan = settings.plan(&problem(Loss::Sigmoid, n, d), budget(1.0, 1e-6)).unwrap();
        assert_eq!(plan.outline.predicted_excess, None, "no theorem bounds the excess");
        let runs = 20;
        let mean: f64 = (0..runs)
            .map(|seed| {
                let w = RandomRound::run(&plan, &oracle, &seeded(seed), &Quiet).unwrap().weights;
                sigmoid_gradient_square(&table, &w)
            })
            .sum::<f64>()
            / runs as f64;
        let bound = plan.predicted_gradient.unwrap();
        assert!(mean <= bound, "{mean} > {bound}");
        assert!(mean < at_start, "{mean} against {at_start} at the start");
    }
}

fn logistic_objective(problem: &Problem, (x, y): &Table, w: &[f64]) -> f64 {
    let loss = |m: f64| (-m).max(0.0) + (-m.abs()).exp().ln_1p();
    let mean = x.iter().zip(y).map(|(x, y)| loss(y * dot(x, w))).sum::<f64>() / x.len() as f64;
    mean + 0.5 * problem.ridge * dot(w, w)
}

/// `F*` to rounding, by gradient descent without noise.
fn least(problem: &Problem, table: &Table) -> f64 {
    let settings = reticent_optim::OutputGd { steps: Some(3000), ..Default::default() };
    let plan = settings.plan(problem, budget(f64::INFINITY, 0.0)).unwrap();
    let run = reticent_optim::OutputGd::run(&plan, &oracle(table), &seeded(0), &Quiet);
    logistic_objective(problem, table, &run.unwrap().weights)
}

#[test]
fn noisy_sgd_finds_the_minimum_without_noise_and_errs_less_with_less() {
    let (n, d) = (2000, 10);
    let table = synthetic(n, d);
    let oracle = oracle(&table);
    let problem = Problem { ridge: 0.1, ..problem(Loss::Logistic, n, d) };
    let floor = least(&problem, &table);
    let mean = |plan: &noisy_sgd::NoisySgdPlan, runs: u64| {
        let total: f64 = (0..runs)
            .map(|seed| NoisySgd::run(plan, &oracle, &seeded(seed), &Quiet).unwrap().weights)
            .map(|w| logistic_objective(&problem, &table, &w) - floor)
            .sum();
        total / runs as f64
    };
    let silent = NoisySgd::default().plan(&problem, budget(f64::INFINITY, 1e-5)).unwrap();
    assert_eq!((silent.outline.noise_deviation, &silent.outline.event), (0.0, &Event::NotPrivate));
    assert!(mean(&silent, 1) < 1e-3, "{}", mean(&silent, 1));
    let tight = NoisySgd::default().plan(&problem, budget(1.0, 1e-5)).unwrap();
    let settings = NoisySgd { calibration: Calibration::Paper, ..NoisySgd::default() };
    let paper = settings.plan(&problem, budget(1.0, 1e-5)).unwrap();
    let mut halved = paper.clone();
    halved.batches.noise_multiplier /= 2.0;
    let undivided =
        NoisySgd { undivided: true, ..settings }.plan(&problem, budget(1.0, 1e-5)).unwrap();
    let ratio = undivided.outline.noise_deviation / paper.outline.noise_deviation;
    assert!((ratio / 50.0 - 1.0).abs() < 1e-3, "{ratio}"); // the grid has its share of the noise
    let errors = [mean(&tight, 10), mean(&halved, 10), mean(&paper, 10), mean(&undivided, 10)];
    assert!(errors.windows(2).all(|w| w[0] < w[1]), "{errors:?}");
    assert!(errors[0] <= tight.outline.predicted_excess.unwrap());
    assert!(errors[2] <= paper.outline.predicted_excess.unwrap());
}

#[test]
fn a_convex_loss_has_a_predicted_excess_that_holds() {
    let (n, d) = (2000, 10);
    let table = synthetic(n, d);
    let problem = Problem { ridge: 0.1, ..problem(Loss::Logistic, n, d) };
    let floor = least(&problem, &table);
    let oracle = oracle(&table);
    let plan = RandomRound::default().plan(&problem, budget(2.0, 1e-5)).unwrap();
    let mean: f64 = (0..20)
        .map(|seed| RandomRound::run(&plan, &oracle, &seeded(seed), &Quiet).unwrap().weights)
        .map(|w| logistic_objective(&problem, &table, &w) - floor)
        .sum::<f64>()
        / 20.0;
    let bound = plan.outline.predicted_excess.unwrap();
    assert!(mean <= bound && bound < 0.7, "{mean} {bound}");
}

#[test]
fn the_printed_gradient_bound_is_too_small() {
    // One row, a quadratic with beta = B², N = 1: w_0 is returned and the bound is attained. Lemma
    // 12 of the paper has beta·D² for our beta²·D², which is less than the truth as soon as
    // beta > 1.
    let (b, y) = (3.0_f64, 2.0_f64);
    let beta = b * b;
    let reach = random_round::value_distance(0.5 * y * y, beta);
    let bound = random_round::gradient_bound(beta, reach, 0.0, 1.0, 1.0 / beta);
    let truth = (b * y) * (b * y); // ‖∇F(0)‖² of (Bw − y)²/2
    assert!((bound / truth - 1.0).abs() < 1e-12, "{bound} {truth}");
    assert!(beta * reach * reach < truth, "the printed bound");
}

#[test]
fn the_printed_variance_without_the_dimension_is_too_small() {
    // The noise has d coordinates: E‖z‖² = d sigma². The paper's proof prints sigma² once.
    let (d, sigma) = (400.0, 0.7);
    assert!(
        (random_round::paper_variance(0.0, d, sigma) / (d * sigma * sigma) - 1.0).abs() < 1e-12
    );
    assert!((random_round::tight_variance(2.0, 50.0, d, sigma) - (0.08 + d * 0.49)).abs() < 1e-9);
}

#[test]
fn the_statement_of_theorem_four_holds_although_its_proof_does_not_give_it() {
    for n in [10, 100, 1000] {
        for delta in [1e-2, 1e-5] {
            for epsilon in [0.1, 1.0] {
                let settings =
                    RandomRound { calibration: Calibration::Paper, ..RandomRound::default() };
                let plan =
                    settings.plan(&problem(Loss::Sigmoid, n, 3), budget(epsilon, delta)).unwrap();
                assert_eq!(plan.outline.steps, (n * n) as u64);
                assert_eq!(plan.batches.sampling, Sampling::FixedSize { size: 1 });
                assert!(delta_upper(&plan.outline.event, epsilon).unwrap() <= delta);
                // The noise that the printed proof would need, sigma = 8L sqrt(ln(2.5n/delta)
                // ln(2/delta))/epsilon.
                let proof =
                    4.0 * ((2.5 * n as f64 / delta).ln() * (2.0 / delta).ln()).sqrt() / epsilon;
                assert!(plan.batches.noise_multiplier / 2.0 < 0.27 * proof);
            }
        }
    }
    let settings = RandomRound { calibration: Calibration::Paper, ..RandomRound::default() };
    let refused = settings.plan(&problem(Loss::Sigmoid, 10, 3), budget(12.0, 1e-2)).unwrap_err();
    assert!(matches!(refused, PlanError::NotCertified { .. }));
    let message = refused.to_string();
    assert!(
        message.starts_with("calibration gives delta=") && message.contains("calibration=tight")
    );
}

#[test]
fn tight_needs_far_less_noise_than_the_baselines_paper() {
    // The figures of the accountant for n = 45211, m = 50, epsilon = 1, delta = 1e-3, in replace
    // sensitivities.
    let problem = on_ball(5.0, problem(Loss::Logistic, 45211, 42));
    let s = |calibration| {
        let settings = NoisySgd { calibration, ..NoisySgd::default() };
        let plan = settings.plan(&problem, budget(1.0, 1e-3)).unwrap();
        assert_eq!(plan.outline.steps, 817_614);
        plan.batches.noise_multiplier / 2.0
    };
    let (tight, paper) = (s(Calibration::Tight), s(Calibration::Paper));
    assert!((tight / 2.577 - 1.0).abs() < 1e-3, "{tight}");
    assert!((paper / 31.2 - 1.0).abs() < 2e-3, "{paper}");
    // Poisson batches at replace-one; the one-sided pair of add-remove would say less, and leak.
    let settings = RandomRound { batch: Some(10), steps: Some(10_000), ..RandomRound::default() };
    let plan = settings.plan(&self::problem(Loss::Sigmoid, 1000, 2), budget(1.0, 1e-6)).unwrap();
    assert!((0.5 * plan.batches.noise_multiplier / 3.73 - 1.0).abs() < 0.02, "{:?}", plan.batches);
}

#[test]
fn one_step_on_all_rows_half_of_the_time_is_the_gaussian_mechanism_at_twice_delta() {
    let s1 = gaussian::noise_multiplier_upper(1.0, 2e-6).unwrap();
    let settings = RandomRound { batch: Some(30), steps: Some(2), ..RandomRound::default() };
    let plan = settings.plan(&problem(Loss::Sigmoid, 30, 3), budget(1.0, 1e-6)).unwrap();
    assert!((0.5 * plan.batches.noise_multiplier / s1 - 1.0).abs() < 1e-4, "{:?}", plan.batches);
    // Of one round nothing is told but where all runs begin.
    let settings = RandomRound { steps: Some(1), ..settings };
    let plan = settings.plan(&problem(Loss::Sigmoid, 30, 3), budget(1.0, 1e-6)).unwrap();
    assert_eq!(delta_upper(&plan.outline.event, 0.0).unwrap(), 0.0);
}

#[test]
fn tiny_tables_and_single_steps_have_plans_and_runs() {
    for n in [1, 2, 7] {
        let (sigmoid, hinge) =
            (problem(Loss::Sigmoid, n, 1), problem(Loss::Hinge { q: 1.0 }, n, 1));
        for steps in [None, Some(1)] {
            let plan = RandomRound { steps, ..RandomRound::default() }
                .plan(&sigmoid, budget(1.0, 1e-6))
                .unwrap();
            RandomRound::run(&plan, &Witness::new(&sigmoid), &seeded(3), &Quiet).unwrap();
            let plan = NoisySgd { steps, ..NoisySgd::default() }
                .plan(&on_ball(1.0, hinge.clone()), budget(1.0, 1e-6))
                .unwrap();
            let w =
                NoisySgd::run(&plan, &Witness::new(&hinge), &seeded(3), &Quiet).unwrap().weights;
            assert!(w[0].abs() <= 1.0);
        }
    }
}

/// The inputs that a random-round plan refuses, with a piece of the message.
#[test]
fn random_round_refuses_by_name() {
    let usual = problem(Loss::Sigmoid, 100, 3);
    let ok = budget(1.0, 1e-6);
    let refuse = |settings: RandomRound, problem: &Problem, budget: Budget, words: &str| {
        let message = settings.plan(problem, budget).unwrap_err().to_string();
        assert!(message.contains(words), "`{words}` is not in `{message}`");
    };
    let plain = RandomRound::default();
    refuse(plain, &usual, budget(1.0, 0.0), "needs delta > 0; use output-gd for pure DP");
    refuse(plain, &usual, Budget { adjacency: Adjacency::AddRemoveOne, ..ok }, "replace-one");
    let beta = 1.0 / (6.0 * 3.0_f64.sqrt());
    refuse(
        RandomRound { eta: Some(2.0 / beta), ..plain },
        &usual,
        ok,
        "`step_size` must be < 2/beta",
    );
    refuse(
        RandomRound { eta: Some(0.0), ..plain },
        &usual,
        ok,
        "`step_size` must be a finite number > 0",
    );
    refuse(
        RandomRound { batch: Some(101), ..plain },
        &usual,
        ok,
        "`batch` must be between 1 and n = 100, got 101",
    );
    refuse(RandomRound { batch: Some(0), ..plain }, &usual, ok, "`batch`");
    refuse(RandomRound { steps: Some(0), ..plain }, &usual, ok, "`steps`");
    refuse(
        RandomRound { steps: Some(2_000_000_000), ..plain },
        &usual,
        ok,
        "`steps` must be at most",
    );
    refuse(RandomRound { clip: Some(-1.0), ..plain }, &usual, ok, "`clip`");
    refuse(RandomRound { distance: Some(1.0), ..plain }, &usual, ok, "`distance`");
    refuse(plain, &on_ball(1.0, usual.clone()), ok, "leave `radius` out");
    refuse(plain, &problem(Loss::Squared, 100, 3), ok, "gradient unbounded on R^d");
    refuse(plain, &problem(Loss::Hinge { q: 1.0 }, 100, 3), ok, "needs a smooth loss");
    refuse(plain, &Problem { hidden: Some(4), ..usual.clone() }, ok, "leave `hidden` out");
    let paper = RandomRound { calibration: Calibration::Paper, ..plain };
    refuse(paper, &problem(Loss::Sigmoid, 100_000, 3), ok, "`steps` must be at most");
    let clipped =
        RandomRound { clip: Some(0.1), ..plain }.plan(&problem(Loss::Squared, 100, 3), ok).unwrap();
    assert!(clipped.predicted_gradient.is_none() && clipped.outline.predicted_excess.is_none());
    let wide = plain.plan(&usual, budget(1.0, 0.02)).unwrap();
    assert!(
        wide.outline.warnings.contains(&"delta above 1/n protects no single record".to_owned())
    );
}

#[test]
fn noisy_sgd_refuses_by_name() {
    let usual = on_ball(1.0, problem(Loss::Logistic, 100, 3));
    let ok = budget(1.0, 1e-6);
    let refuse = |settings: NoisySgd, problem: &Problem, budget: Budget, words: &str| {
        let message = settings.plan(problem, budget).unwrap_err().to_string();
        assert!(message.contains(words), "`{words}` is not in `{message}`");
    };
    let plain = NoisySgd::default();
    refuse(plain, &usual, budget(1.0, 0.0), "needs delta > 0; use output-gd for pure DP");
    refuse(plain, &usual, Budget { adjacency: Adjacency::ZeroOut, ..ok }, "replace-one");
    let unbounded = problem(Loss::Logistic, 100, 3);
    refuse(plain, &unbounded, ok, "declare `radius`");
    refuse(plain, &unbounded, ok, "it cannot be taken from the data without spending privacy");
    refuse(plain, &on_ball(1.0, problem(Loss::Sigmoid, 100, 3)), ok, "not convex");
    refuse(plain, &on_ball(f64::NAN, unbounded.clone()), ok, "`radius`");
    refuse(plain, &Problem { ridge: -1.0, ..usual.clone() }, ok, "`ridge`");
    refuse(plain, &Problem { hidden: Some(4), ..usual.clone() }, ok, "leave `hidden` out");
    refuse(
        NoisySgd { batch: Some(101), ..plain },
        &usual,
        ok,
        "`batch` must be between 1 and n = 100",
    );
    refuse(NoisySgd { steps: Some(0), ..plain }, &usual, ok, "`steps`");
    refuse(NoisySgd { undivided: true, ..plain }, &usual, ok, "`undivided`");
    refuse(
        plain,
        &on_ball(1.0, problem(Loss::Logistic, 10_000_000, 3)),
        ok,
        "`steps` must be at most",
    );
    // A ridge implies a ball.
    let ridged = plain.plan(&Problem { ridge: 0.1, ..unbounded }, ok).unwrap();
    assert!((ridged.radius - 3.723297411059034).abs() < 1e-12);
}

#[test]
fn a_loss_that_is_not_convex_is_refused_where_a_proof_needs_convexity() {
    for loss in [Loss::Sigmoid, Loss::Welsch { threshold: 0.5 }, Loss::Cauchy { threshold: 0.5 }] {
        let problem = problem(loss, 100, 3);
        let message =
            reticent_optim::OutputGd::default().plan(&problem, budget(1.0, 1e-6)).unwrap_err();
        assert!(message.to_string().contains("not convex"), "{message}");
        RandomRound::default().plan(&problem, budget(1.0, 1e-6)).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_plan_keeps_its_budget_and_is_made_again(
        n in 1..3_000_usize, d in 1..200_usize, ridge in prop_oneof![Just(0.0), 1e-4..1.0_f64],
        log_epsilon in -1.5..1.5_f64, log_delta in -9.0..-2.0_f64, paper in any::<bool>(),
    ) {
        let (epsilon, delta) = (10_f64.powf(log_epsilon), 10_f64.powf(log_delta));
        let calibration = if paper { Calibration::Paper } else { Calibration::Tight };
        let problem = Problem { ridge, ..problem(Loss::Logistic, n, d) };
        let steps = paper.then_some((n as u64 * n as u64).min(100_000));
        let within = |event: &Event| {
            delta_upper(event, epsilon).unwrap() <= delta && epsilon_upper(event, delta).unwrap() <= epsilon
        };
        match (RandomRound { calibration, steps, ..RandomRound::default() }).plan(&problem, budget(epsilon, delta)) {
            Ok(plan) => {
                prop_assert!(within(&plan.outline.event));
                prop_assert!(plan.batches.bound >= plan.batches.clip && plan.batches.bound < 1.001 * plan.batches.clip);
                prop_assert_eq!(plan.again().unwrap(), plan);
            }
            Err(error) => prop_assert!(paper && matches!(error, PlanError::NotCertified { .. }), "{error}"),
        }
        let ball = on_ball(2.0, problem);
        match (NoisySgd { calibration, ..NoisySgd::default() }).plan(&ball, budget(epsilon, delta)) {
            Ok(plan) => {
                prop_assert!(within(&plan.outline.event));
                prop_assert_eq!(plan.again().unwrap(), plan);
            }
            Err(error) => prop_assert!(paper && matches!(error, PlanError::NotCertified { .. }), "{error}"),
        }
    }
}
