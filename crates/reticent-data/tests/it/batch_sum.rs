//! The clipped sum over a batch: right, the same for every layout, and never moved by more than the
//! clip.

use crate::common::clear::in_the_clear;
use crate::common::layouts::{dense, sparse};
use proptest::prelude::*;
use reticent_data::{Features, LocalOracle, Oracle, Question, Rows, Sensitive, Speed, batch_depth};
use reticent_problem::loss::{LinearLoss, LinearVisitor, MultiLoss as _, Softmax};
use reticent_problem::{Loss, Problem, RowBounds};

struct Slope(f64, f64);

impl LinearVisitor for Slope {
    type Output = f64;
    fn visit<L: LinearLoss>(self, loss: L) -> f64 {
        loss.slope(self.0, self.1)
    }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Row by row, each gradient written out and clipped, in the plainest way.
fn by_hand(
    loss: Loss,
    x: &[Vec<f64>],
    y: &[f64],
    batch: &[usize],
    w: &[f64],
    clip: f64,
) -> Vec<f64> {
    let d = x[0].len();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut sum = vec![0.0; w.len()];
    for &i in batch {
        let mut c: Vec<f64> = w.chunks(d).map(|w| dot(w, &x[i])).collect();
        if let Loss::Softmax { classes } = loss {
            Softmax { classes }.residual(&mut c, y[i] as usize);
        } else {
            c[0] = loss.visit_linear(Slope(c[0], y[i])).unwrap();
        }
        let gradient: Vec<f64> = c.iter().flat_map(|c| x[i].iter().map(move |x| c * x)).collect();
        let scale = (clip / norm(&gradient)).min(1.0);
        for (s, g) in sum.iter_mut().zip(&gradient) {
            *s += if scale.is_nan() { 0.0 } else { scale * g };
        }
    }
    sum
}

fn layouts(x: &[Vec<f64>]) -> [Features; 2] {
    [dense(x, x[0].len()), sparse(x, x[0].len())]
}

fn sum(
    features: Features,
    y: &[f64],
    problem: &Problem,
    batch: &[usize],
    w: &[f64],
    clip: f64,
) -> Vec<f64> {
    let rows = Rows::new(features, y.to_vec(), problem.bounds);
    let oracle = LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap();
    let mut into = Sensitive::new(vec![7.0; w.len()]); // whatever was there is overwritten
    oracle.ask(problem, &Question::Batch { batch, at: w, clip }, &mut into).unwrap();
    in_the_clear(into)
}

fn losses() -> impl Strategy<Value = Loss> {
    prop_oneof![
        Just(Loss::Logistic),
        Just(Loss::Softmax { classes: 3 }),
        Just(Loss::Hinge { q: 1.0 }),
        Just(Loss::Squared),
        Just(Loss::Huber { threshold: 0.3 }),
        Just(Loss::Sigmoid),
        Just(Loss::Welsch { threshold: 0.8 }),
        Just(Loss::Cauchy { threshold: 0.8 }),
    ]
}

#[derive(Debug, Clone)]
struct Table {
    loss: Loss,
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    w: Vec<f64>,
}

fn tables() -> impl Strategy<Value = Table> {
    (losses(), prop_oneof![1..20_usize, Just(256), Just(257), Just(700)], 1..30_usize, any::<u64>())
        .prop_map(|(loss, n, d, seed)| {
            let mut state = seed;
            let mut uniform = move || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 11) as f64 / (1_u64 << 53) as f64
            };
            let entry = |u: f64, v: f64| if u < 0.4 { 0.0 } else { 2.0 * v - 1.0 };
            let x = (0..n).map(|_| (0..d).map(|_| entry(uniform(), uniform())).collect()).collect();
            let y = (0..n)
                .map(|_| match loss {
                    Loss::Softmax { classes } => (uniform() * classes as f64).floor(),
                    _ if uniform() < 0.5 => -1.0,
                    _ => 1.0,
                })
                .collect();
            let w = (0..d * loss.outputs()).map(|_| 4.0 * uniform() - 2.0).collect();
            Table { loss, x, y, w }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_layout_gives_the_clipped_sum_by_hand(
        table in tables(),
        clip in prop_oneof![Just(1e3), 0.01..2.0_f64],
        step in 1..4_usize,
    ) {
        let Table { loss, x, y, w } = table;
        let problem = Problem::new(loss, RowBounds::features(10.0).unwrap(), x.len(), x[0].len());
        let batch: Vec<usize> = (0..x.len()).step_by(step).collect();
        let want = by_hand(loss, &x, &y, &batch, &w, clip);
        for features in layouts(&x) {
            let got = sum(features, &y, &problem, &batch, &w, clip);
            for (g, h) in got.iter().zip(&want) {
                prop_assert!((g - h).abs() <= 1e-10 * (1.0 + h.abs()), "{loss:?}: {g} {h}");
            }
        }
    }

    #[test]
    fn no_row_moves_the_sum_by_more_than_the_clip_whatever_the_weights_are(
        table in tables(),
        clip in 0.01..2.0_f64,
        strange in prop_oneof![Just(1.0), Just(1e300), Just(f64::INFINITY), Just(f64::NAN), Just(-0.0)],
    ) {
        let Table { loss, x, y, mut w } = table;
        w[0] *= strange;
        let (n, d) = (x.len(), x[0].len());
        let problem = Problem::new(loss, RowBounds::features(10.0).unwrap(), n, d);
        let all: Vec<usize> = (0..n).collect();
        // The bound to which the noise is scaled; its derivation is in reticent-optim,
        // step/noisy_gradient.rs.
        let chain = 2.0 * batch_depth(n) as f64 * n as f64 + (d + loss.outputs() + 16) as f64;
        let bound = clip * (1.0 + 1.1 * f64::EPSILON / 2.0 * chain);
        for features in layouts(&x) {
            let with = sum(features.clone(), &y, &problem, &all, &w, clip);
            let without = sum(features, &y, &problem, &all[1..], &w, clip);
            prop_assert!(with.iter().all(|v| v.is_finite()));
            let moved: Vec<f64> = with.iter().zip(&without).map(|(a, b)| a - b).collect();
            prop_assert!(norm(&moved) <= bound, "{loss:?}: {} > {bound}", norm(&moved));
        }
    }
}

#[test]
fn a_long_row_adds_exactly_the_clip_and_an_empty_batch_nothing() {
    let x = vec![vec![3.0, 4.0], vec![0.0, 0.0], vec![0.1, 0.0]];
    let y = [1.0, 1.0, -1.0];
    let problem = Problem::new(Loss::Hinge { q: 1.0 }, RowBounds::features(5.0).unwrap(), 3, 2);
    for features in layouts(&x) {
        let one = sum(features.clone(), &y, &problem, &[0], &[0.0, 0.0], 0.5);
        assert!((norm(&one) - 0.5).abs() < 1e-15 && (one[0] + 0.3).abs() < 1e-15, "{one:?}");
        let short = sum(features.clone(), &y, &problem, &[1, 2], &[0.0, 0.0], 0.5);
        assert_eq!(short, [0.1, 0.0]);
        assert_eq!(sum(features, &y, &problem, &[], &[1.0, 1.0], 0.5), [0.0, 0.0]);
    }
}

#[test]
fn a_row_whose_squares_vanish_adds_no_more_than_the_clip() {
    // Each square but one is too small for a number; together they are the row's length.
    let mut row = vec![1.55e-162; 800];
    row[0] = 2.3e-162;
    let (label, clip) = (1e200, 1e-30);
    let problem = Problem::new(Loss::Squared, RowBounds::new(1.0, label).unwrap(), 5, 800);
    for features in layouts(&vec![row; 5]) {
        for batch in [&[0][..], &[0, 1, 2, 3, 4]] {
            let found = sum(features.clone(), &[label; 5], &problem, batch, &[0.0; 800], clip);
            let length = found.iter().fold(0.0_f64, |n, v| n.hypot(*v));
            assert!(length <= batch.len() as f64 * clip * (1.0 + 1e-9), "{length}");
        }
    }
}
