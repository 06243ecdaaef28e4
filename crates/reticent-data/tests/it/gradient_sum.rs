//! The gradient sum: right, the same for every layout, and the same bits for any number of threads.

use crate::common::clear::in_the_clear;
use crate::common::layouts::{dense, sparse};
use proptest::prelude::*;
use reticent_data::{Dense, Features, LocalOracle, Oracle, Question, Rows, Sensitive, Speed};
use reticent_problem::loss::{LinearLoss, LinearVisitor, MultiLoss as _, Softmax};
use reticent_problem::{Loss, Problem, RowBounds};

struct Slope(f64, f64);

impl LinearVisitor for Slope {
    type Output = f64;
    fn visit<L: LinearLoss>(self, loss: L) -> f64 {
        loss.slope(self.0, self.1)
    }
}

/// Row by row, in the plainest way.
fn by_hand(loss: Loss, x: &[Vec<f64>], y: &[f64], w: &[f64], limit: f64) -> Vec<f64> {
    let d = x[0].len();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut sum = vec![0.0; w.len()];
    for (x, y) in x.iter().zip(y) {
        let mut c: Vec<f64> = w.chunks(d).map(|w| dot(w, x)).collect();
        if let Loss::Softmax { classes } = loss {
            Softmax { classes }.residual(&mut c, *y as usize);
        } else {
            c[0] = loss.visit_linear(Slope(c[0], *y)).unwrap().clamp(-limit, limit);
        }
        for (k, c) in c.iter().enumerate() {
            for (j, x) in x.iter().enumerate() {
                sum[k * d + j] += c * x;
            }
        }
    }
    sum
}

fn layouts(x: &[Vec<f64>]) -> [Features; 2] {
    [dense(x, x[0].len()), sparse(x, x[0].len())]
}

fn sum(features: Features, y: &[f64], problem: &Problem, w: &[f64], threads: usize) -> Vec<f64> {
    let oracle = LocalOracle::new(
        Rows::new(features, y.to_vec(), problem.bounds),
        Speed { threads: Some(threads) },
    )
    .unwrap();
    let mut into = Sensitive::new(vec![0.0; w.len()]);
    oracle
        .ask(problem, &Question::Gradient { at: &Sensitive::new(w.to_vec()) }, &mut into)
        .unwrap();
    in_the_clear(into)
}

fn losses() -> impl Strategy<Value = Loss> {
    prop_oneof![
        Just(Loss::Logistic),
        Just(Loss::Softmax { classes: 3 }),
        Just(Loss::Hinge { q: 1.0 }),
        Just(Loss::Hinge { q: 2.0 }),
        Just(Loss::Power { q: 1.5 }),
        Just(Loss::Squared),
        Just(Loss::Huber { threshold: 0.3 }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_layout_gives_the_sum_by_hand_and_threads_change_no_bit(
        loss in losses(),
        n in prop_oneof![1..20_usize, Just(255), Just(256), Just(257), Just(1021), Just(5000)],
        d in 1..40_usize,
        seed in any::<u64>(),
        limit in prop_oneof![Just(f64::INFINITY), Just(0.2)],
    ) {
        let mut state = seed;
        let mut uniform = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let x: Vec<Vec<f64>> = (0..n)
            .map(|_| (0..d).map(|_| if uniform() < 0.5 { 0.0 } else { 2.0 * uniform() - 1.0 }).collect())
            .collect();
        let y: Vec<f64> = (0..n)
            .map(|_| match loss {
                Loss::Softmax { classes } => (uniform() * classes as f64).floor(),
                _ if uniform() < 0.5 => -1.0,
                _ => 1.0,
            })
            .collect();
        let w: Vec<f64> = (0..d * loss.outputs()).map(|_| 4.0 * uniform() - 2.0).collect();
        let mut problem = Problem::new(loss, RowBounds::features(10.0).unwrap(), n, d);
        if limit.is_finite() && loss.outputs() == 1 {
            problem.slope_limit = Some(limit);
        }
        let limit = problem.slope_limit.unwrap_or(f64::INFINITY);
        let want = by_hand(loss, &x, &y, &w, limit);
        for features in layouts(&x) {
            let got = sum(features.clone(), &y, &problem, &w, 1);
            for (got, want) in got.iter().zip(&want) {
                prop_assert!((got - want).abs() <= 1e-11 * n as f64, "{got} {want}");
            }
            prop_assert_eq!(&got, &sum(features.clone(), &y, &problem, &w, 2));
            prop_assert_eq!(&got, &sum(features, &y, &problem, &w, 5));
        }
    }
}

#[test]
fn single_precision_storage_changes_only_the_storage() {
    let x: Vec<f32> = (0..300).map(|i| (i as f32 * 0.37).sin()).collect();
    let y: Vec<f64> = (0..100).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let problem = Problem::new(Loss::Logistic, RowBounds::features(2.0).unwrap(), 100, 3);
    let w = [0.3, -1.2, 0.7];
    let single = sum(Features::F32(Dense::new(100, 3, x.clone())), &y, &problem, &w, 1);
    let double = x.iter().map(|v| f64::from(*v)).collect();
    assert_eq!(single, sum(Features::F64(Dense::new(100, 3, double)), &y, &problem, &w, 1));
}

#[test]
fn a_label_that_is_no_class_stops_nothing() {
    let problem =
        Problem::new(Loss::Softmax { classes: 3 }, RowBounds::features(2.0).unwrap(), 4, 1);
    for label in [f64::NAN, -5.0, 3.0, 1e300] {
        let features = Features::F64(Dense::new(4, 1, vec![1.0; 4]));
        assert!(
            sum(features, &[label; 4], &problem, &[0.1, 0.2, 0.3], 1).iter().all(|g| g.is_finite())
        );
    }
}

#[test]
fn another_shape_is_refused_before_a_run() {
    let features = Features::F64(Dense::new(2, 1, vec![1.0, 2.0]));
    let bounds = RowBounds::features(2.0).unwrap();
    let rows = Rows::new(features, vec![1.0, -1.0], bounds);
    let oracle = LocalOracle::new(rows, Speed::default()).unwrap();
    let narrow = RowBounds::features(1.9).unwrap();
    assert!(oracle.check(&Problem::new(Loss::Logistic, narrow, 2, 1)).is_err());
    assert!(oracle.check(&Problem::new(Loss::Logistic, bounds, 2, 1)).is_ok());
    let message =
        oracle.check(&Problem::new(Loss::Logistic, bounds, 3, 1)).unwrap_err().to_string();
    assert!(message.contains("3 rows") && message.contains("has 2"), "{message}");
}
