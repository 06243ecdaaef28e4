//! Truncated mirror descent.

use crate::geometry::clear::in_the_clear;
use proptest::prelude::*;
use reticent_data::{Chosen, Oracle, Question, RobustRule, Sensitive};
use reticent_noise::Source;
use reticent_optim::output_gd::NoiseChoice;
use reticent_optim::truncated_mirror::TruncatedMirrorPlan;
use reticent_optim::{Algorithm, Calibration, Planned, Quiet, TruncatedMirror};
use reticent_privacy::{Adjacency, Budget, delta_upper, epsilon_upper};
use reticent_problem::geometry::{dual_exponent, lp_norm};
use reticent_problem::{Domain, Loss, Problem, RowBounds};

use crate::geometry::support::{Table, Uniform, budget, dot, minus, oracle};

fn unbounded(loss: Loss, domain: Domain, n: usize, d: usize) -> Problem {
    let label = if loss.is_classification() { 1.0 } else { f64::INFINITY };
    let bounds = RowBounds::unbounded(label).unwrap();
    Problem { domain, ..Problem::new(loss, bounds, n, d) }
}

fn run(plan: &TruncatedMirrorPlan, table: &Table, seed: u64) -> Vec<f64> {
    let source = Source::seeded_not_private(seed);
    let oracle = oracle(table, plan.outline.problem.bounds);
    TruncatedMirror::run(plan, &oracle, &source, &Quiet).unwrap().weights
}

/// A number of any size.
fn any_size() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -2.0..2.0_f64,
        2 => (-6.0..6.0_f64, any::<bool>()).prop_map(|(e, s)| 10_f64.powf(e) * if s { 1.0 } else { -1.0 }),
        1 => (-150.0..300.0_f64).prop_map(|e| 10_f64.powf(e)),
        1 => Just(0.0),
    ]
}

fn losses() -> impl Strategy<Value = Loss> {
    prop_oneof![
        Just(Loss::Logistic),
        Just(Loss::Softmax { classes: 3 }),
        Just(Loss::Huber { threshold: 1.0 }),
        Just(Loss::Squared),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any values, replacing a row moves its block's sum by at most the sensitivity of the
    /// noise, in both norms, and no other block.
    #[test]
    fn replacing_a_row_moves_one_sum_by_at_most_the_sensitivity(
        loss in losses(),
        rows in prop::collection::vec((prop::collection::vec(any_size(), 3), any_size()), 8),
        other in (prop::collection::vec(any_size(), 3), any_size()),
        w in prop::collection::vec(-2.0..2.0_f64, 9),
        p in prop_oneof![Just(1.0), Just(1.5), Just(2.0)],
        truncation in prop_oneof![Just(1.0), 0.01..100.0_f64],
        sparse in any::<bool>(),
    ) {
        let domain = Domain::Ball { radius: 3.0 };
        let problem = unbounded(loss, domain, 8, 3);
        let settings = TruncatedMirror {
            p: Some(p),
            clip: Some(truncation),
            steps: Some(2),
            ..TruncatedMirror::default()
        };
        let plan = settings.plan(&problem, budget(1.0, 1e-6)).unwrap();
        let q = dual_exponent(p);
        let rule = RobustRule::Truncate { q, threshold: plan.truncation, grid: None };
        let labelled = |(x, y): &(Vec<f64>, f64)| {
            let y = match loss {
                Loss::Logistic => y.signum(),
                Loss::Softmax { .. } => y.abs().min(2.0).floor(),
                _ => *y,
            };
            (x.clone(), y)
        };
        let before: Table = rows.iter().map(labelled).unzip();
        let mut after = before.clone();
        (after.0[1], after.1[1]) = labelled(&other);
        let sum = |table: &Table, block| {
            let at = &w[..problem.dimension()];
            let mut into = Sensitive::new(vec![0.0; problem.dimension()]);
            let oracle = if sparse { crate::geometry::support::oracle(table, problem.bounds) } else { sparse_oracle(table, problem.bounds) };
            oracle.ask(&problem, &Question::Robust { chosen: Chosen::Block(block), rule, at }, &mut into).unwrap();
            in_the_clear(into)
        };
        let moved = minus(&sum(&before, 0..4), &sum(&after, 0..4));
        prop_assert!(moved.iter().all(|m| m.is_finite()));
        prop_assert!(lp_norm(&moved, q) <= 2.0 * truncation * (1.0 + 1e-12), "{moved:?}");
        prop_assert!(lp_norm(&moved, 2.0) <= plan.noise.sensitivity, "{moved:?}");
        prop_assert_eq!(sum(&before, 4..8), sum(&after, 4..8), "another block");
    }
}

fn sparse_oracle((x, y): &Table, bounds: RowBounds) -> reticent_data::LocalOracle {
    use reticent_data::{Csr, Features, LocalOracle, Rows, Speed};
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in x {
        for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(*v);
        }
        offsets.push(indices.len());
    }
    let features = Features::Sparse(Csr::new(x[0].len(), offsets, indices, values));
    LocalOracle::new(Rows::new(features, y.clone(), bounds), Speed { threads: Some(1) }).unwrap()
}

#[test]
fn opposite_rows_nearly_attain_the_sensitivity() {
    // At w = 0 a residual of -y: gradients of norm just below the truncation, in opposite
    // directions along the diagonal, where the Euclidean norm is d^{1/2-1/q} times the dual one.
    let d = 4;
    for p in [1.0, 1.5, 2.0] {
        let problem = unbounded(Loss::Squared, Domain::L1 { radius: 1.0 }, 4, d);
        let settings = TruncatedMirror {
            p: Some(p),
            clip: Some(3.0),
            steps: Some(1),
            ..TruncatedMirror::default()
        };
        let plan = settings.plan(&problem, budget(1.0, 1e-6)).unwrap();
        let q = dual_exponent(p);
        let ones = vec![1.0; d];
        let length = 0.999_999 * 3.0 / lp_norm(&ones, q);
        let table = |y: f64| -> Table {
            (vec![ones.clone(), vec![0.0; d], vec![0.0; d], vec![0.0; d]], vec![y, 0.0, 0.0, 0.0])
        };
        let rule = RobustRule::Truncate { q, threshold: plan.truncation, grid: None };
        let sum = |y: f64| {
            let mut into = Sensitive::new(vec![0.0; d]);
            oracle(&table(y), problem.bounds)
                .ask(
                    &problem,
                    &Question::Robust { chosen: Chosen::Block(0..4), rule, at: &vec![0.0; d] },
                    &mut into,
                )
                .unwrap();
            in_the_clear(into)
        };
        let moved = lp_norm(&minus(&sum(length), &sum(-length)), 2.0);
        let share = moved / plan.noise.sensitivity;
        assert!((0.999..=1.0).contains(&share), "p = {p}: {share}");
        // A little longer, and the row does not count at all.
        assert_eq!(sum(length * 1.01), vec![0.0; d]);
    }
}

#[test]
fn every_plan_keeps_its_budget() {
    for (epsilon, delta) in [(0.1, 1e-6), (1.0, 1e-6), (8.0, 1e-3)] {
        for calibration in [Calibration::Tight, Calibration::Paper] {
            for noise in [NoiseChoice::Auto, NoiseChoice::GeneralizedGaussian] {
                for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
                    for domain in [Domain::L1 { radius: 2.0 }, Domain::Ball { radius: 2.0 }] {
                        let problem = unbounded(Loss::Logistic, domain, 10_000, 50);
                        let settings =
                            TruncatedMirror { calibration, noise, ..TruncatedMirror::default() };
                        let budget = Budget { adjacency, ..budget(epsilon, delta) };
                        let plan = settings.plan(&problem, budget).unwrap();
                        let event = &plan.outline.event;
                        assert!(delta_upper(event, epsilon).unwrap() <= delta);
                        assert!(epsilon_upper(event, delta).unwrap() <= epsilon);
                        // Not far too much noise either, unless the paper's.
                        if calibration == Calibration::Tight {
                            assert!(
                                delta_upper(event, epsilon).unwrap() >= 0.99 * delta,
                                "{plan:?}"
                            );
                        }
                        assert_eq!(plan.again().unwrap(), plan);
                        let json = serde_json::to_string(&plan).unwrap();
                        assert_eq!(
                            serde_json::from_str::<TruncatedMirrorPlan>(&json).unwrap(),
                            plan
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn tight_is_never_noisier_than_paper_and_zero_out_halves() {
    let problem = unbounded(Loss::Logistic, Domain::L1 { radius: 2.0 }, 10_000, 50);
    let fixed = TruncatedMirror { clip: Some(5.0), steps: Some(10), ..TruncatedMirror::default() };
    for (epsilon, delta) in [(0.1, 1e-6), (1.0, 1e-6), (20.0, 1e-3)] {
        let sigma = |calibration, adjacency| {
            let budget = Budget { adjacency, ..budget(epsilon, delta) };
            TruncatedMirror { calibration, ..fixed }.plan(&problem, budget).unwrap().noise.sigma
        };
        let tight = sigma(Calibration::Tight, Adjacency::ReplaceOne);
        assert!(tight <= sigma(Calibration::Paper, Adjacency::ReplaceOne));
        assert!((sigma(Calibration::Tight, Adjacency::ZeroOut) / tight - 0.5).abs() < 1e-9);
    }
}

/// Heavy tails: features with infinite variance on one coordinate. The best weights are found
/// without any bound on rows.
#[test]
fn heavy_tails_are_learned_without_a_norm_bound() {
    let (n, d) = (60_000, 5);
    let mut uniform = Uniform(3);
    let truth = [0.5, -0.3, 0.0, 0.2, 0.0];
    let table: Table = (0..n)
        .map(|_| {
            let x: Vec<f64> = (0..d).map(|_| uniform.normal()).collect();
            // Noise with a tail like |t|^-3.5 and now and then a broken row of size 1e9.
            let tail =
                (uniform.next().powf(-0.4) - 1.0) * if uniform.next() < 0.5 { 1.0 } else { -1.0 };
            let y = dot(&x, &truth) + 0.3 * tail;
            if uniform.next() < 1e-3 { (vec![1e9; d], -1e9) } else { (x, y) }
        })
        .unzip();
    let problem = unbounded(Loss::Squared, Domain::Ball { radius: 1.0 }, n, d);
    let settings = TruncatedMirror {
        smoothness: Some(1.0),
        deviation: Some(3.0),
        ..TruncatedMirror::default()
    };
    let plan = settings.plan(&problem, budget(1.0, 1e-6)).unwrap();
    let bound = plan.outline.predicted_excess.unwrap();
    let excess: Vec<f64> = (0..5)
        .map(|seed| {
            let gap = minus(&run(&plan, &table, seed), &truth);
            0.5 * dot(&gap, &gap) // the expected squared loss has the identity for its Hessian
        })
        .collect();
    let mean = excess.iter().sum::<f64>() / 5.0;
    assert!(mean <= bound, "{mean} {bound}");
    let zero = 0.5 * dot(&truth, &truth);
    assert!(mean < 0.5 * zero, "{mean} against {zero} at zero");
}

#[test]
fn what_cannot_be_served_is_refused_with_the_reason() {
    let good = unbounded(Loss::Logistic, Domain::Ball { radius: 1.0 }, 100, 3);
    let refuse = |problem: &Problem, budget: Budget, settings: TruncatedMirror| {
        settings.plan(problem, budget).unwrap_err().to_string()
    };
    let (ok, plain) = (budget(1.0, 1e-6), TruncatedMirror::default());
    let with = |domain| Problem { domain, ..good.clone() };
    assert!(refuse(&with(Domain::Unbounded), ok, plain).contains("bounded set"));
    let group = Domain::Group { radius: 1.0, sizes: vec![1, 2], weights: None };
    let p = TruncatedMirror { p: Some(1.0), ..plain };
    // In three dimensions every map is Euclidean; in a hundred it is not.
    assert!(p.plan(&with(group), ok).is_ok());
    let wide =
        unbounded(Loss::Logistic, Domain::Product { radius: 1.0, sizes: vec![50; 2] }, 100, 100);
    assert!(refuse(&wide, ok, p).contains("give p = 2"));
    assert!(
        refuse(&good, ok, TruncatedMirror { p: Some(3.0), ..plain })
            .contains("`p` must be between 1 and 2")
    );
    assert!(refuse(&good, budget(1.0, 0.0), plain).contains("`delta` must be > 0"));
    assert!(refuse(&good, budget(f64::INFINITY, 1e-6), plain).contains("finite `epsilon`"));
    let add_remove = Budget { adjacency: Adjacency::AddRemoveOne, ..ok };
    assert!(refuse(&good, add_remove, plain).contains("replace-one and zero-out"));
    assert!(
        refuse(&good, ok, TruncatedMirror { steps: Some(101), ..plain })
            .contains("`steps` must be")
    );
    assert!(
        refuse(&good, ok, TruncatedMirror { clip: Some(0.0), ..plain }).contains("`clip` must be")
    );
    assert!(
        refuse(&Problem { ridge: 0.1, ..good.clone() }, ok, plain).contains("leave `ridge` out")
    );
    assert!(
        refuse(&Problem { hidden: Some(3), ..good.clone() }, ok, plain)
            .contains("leave `hidden` out")
    );
    let hinge = unbounded(Loss::Hinge { q: 1.0 }, Domain::Ball { radius: 1.0 }, 100, 3);
    assert!(refuse(&hinge, ok, plain).contains("smoothness"));
    let ball = TruncatedMirror { noise: NoiseChoice::Ball, ..plain };
    assert!(refuse(&good, ok, ball).contains("`noise` must be"));
}
