//! Clipped sums: right for every loss, layout and the network; never more sensitive than claimed;
//! the same bits for any number of threads.

use crate::common::clear::in_the_clear;
use crate::common::layouts::{dense, single, sparse};
use proptest::prelude::*;
use reticent_data::{
    Features, LocalOracle, Oracle, Preconditioner, Question, Rows, Sensitive, Speed, clip_rounding,
    shortened_rounding,
};
use reticent_noise::Source;
use reticent_noise::batch::{Draw, SampleKey, SampleRate};
use reticent_problem::loss::{LinearLoss, LinearVisitor, MultiLoss as _, Softmax};
use reticent_problem::{Loss, Problem, RowBounds};

struct Slope(f64, f64);

impl LinearVisitor for Slope {
    type Output = f64;
    fn visit<L: LinearLoss>(self, loss: L) -> f64 {
        loss.slope(self.0, self.1)
    }
}

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }
}

fn residual(problem: &Problem, margins: &mut [f64], label: f64) {
    if let Loss::Softmax { classes } = problem.loss {
        Softmax { classes }.residual(margins, label as usize);
    } else {
        let limit = problem.slope_limit.unwrap_or(f64::INFINITY);
        let slope = problem.loss.visit_linear(Slope(margins[0], label)).unwrap();
        margins[0] = slope.clamp(-limit, limit);
    }
}

/// The flattened gradient of a row, written out.
fn gradient(problem: &Problem, x: &[f64], label: f64, w: &[f64]) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let d = problem.features;
    let Some(width) = problem.hidden else {
        let mut r: Vec<f64> = w.chunks(d).map(|w| dot(w, x)).collect();
        residual(problem, &mut r, label);
        return r.iter().flat_map(|r| x.iter().map(move |x| r * x)).collect();
    };
    let (first, second) = w.split_at(width * d);
    let mut h: Vec<f64> = first.chunks(d).map(|w| dot(w, x).tanh()).collect();
    h.push(1.0);
    let mut r: Vec<f64> = second.chunks(width + 1).map(|w| dot(w, &h)).collect();
    residual(problem, &mut r, label);
    let mut flat = Vec::new();
    for u in 0..width {
        let back: f64 = r.iter().zip(second.chunks(width + 1)).map(|(r, w)| r * w[u]).sum();
        flat.extend(x.iter().map(|x| back * (1.0 - h[u] * h[u]) * x));
    }
    for r in &r {
        flat.extend(h.iter().map(|h| r * h));
    }
    flat
}

fn norm(v: &[f64]) -> f64 {
    let peak = v.iter().fold(0.0, |p: f64, v| p.max(v.abs()));
    if peak == 0.0 { 0.0 } else { peak * v.iter().map(|v| (v / peak).powi(2)).sum::<f64>().sqrt() }
}

/// The clipped sum, row by row.
fn by_hand(problem: &Problem, x: &[Vec<f64>], y: &[f64], w: &[f64], clip: f64) -> Vec<f64> {
    let mut sum = vec![0.0; w.len()];
    for (x, y) in x.iter().zip(y) {
        let g = gradient(problem, x, *y, w);
        if g.iter().any(|g| !g.is_finite()) {
            continue;
        }
        let factor = (clip / norm(&g)).min(1.0);
        sum.iter_mut().zip(&g).for_each(|(s, g)| *s += factor * g);
    }
    sum
}

/// The clipped sums of some steps.
#[allow(clippy::too_many_arguments, reason = "each is another thing")]
fn sums(
    features: Features,
    y: &[f64],
    problem: &Problem,
    clip: f64,
    w: &[f64],
    threads: usize,
    rate: f64,
    steps: u64,
) -> Vec<Vec<f64>> {
    let rows = Rows::new(features, y.to_vec(), problem.bounds);
    let oracle = LocalOracle::new(rows, Speed { threads: Some(threads) }).unwrap();
    let key = SampleKey::new(&Source::seeded_not_private(77));
    let rate = SampleRate::new(rate).unwrap();
    (0..steps)
        .map(|step| {
            let mut into = Sensitive::new(vec![f64::NAN; w.len()]);
            oracle
                .ask(
                    problem,
                    &Question::Clipped {
                        draw: Draw { key: &key, step, rate },
                        clip,
                        preconditioner: None,
                        at: w,
                    },
                    &mut into,
                )
                .unwrap();
            in_the_clear(into)
        })
        .collect()
}

fn whole(
    features: Features,
    y: &[f64],
    problem: &Problem,
    clip: f64,
    w: &[f64],
    threads: usize,
) -> Vec<f64> {
    sums(features, y, problem, clip, w, threads, 1.0, 1).remove(0)
}

/// The clipped sum of all rows with a direction shortened.
fn shortened(
    features: Features,
    y: &[f64],
    problem: &Problem,
    clip: f64,
    preconditioner: &Preconditioner,
    w: &[f64],
) -> Vec<f64> {
    let rows = Rows::new(features, y.to_vec(), problem.bounds);
    let oracle = LocalOracle::new(rows, Speed { threads: Some(2) }).unwrap();
    let key = SampleKey::new(&Source::seeded_not_private(77));
    let draw = Draw { key: &key, step: 0, rate: SampleRate::new(1.0).unwrap() };
    let mut into = Sensitive::new(vec![f64::NAN; w.len()]);
    // Another direction first: what is kept of it must not be used.
    let other = Preconditioner::new(vec![1.0; problem.features], 0.5);
    oracle
        .ask(
            problem,
            &Question::Clipped { draw, clip, preconditioner: Some(&other), at: w },
            &mut into,
        )
        .unwrap();
    oracle
        .ask(
            problem,
            &Question::Clipped { draw, clip, preconditioner: Some(preconditioner), at: w },
            &mut into,
        )
        .unwrap();
    let mut sum = in_the_clear(into);
    preconditioner.apply(&mut sum);
    sum
}

fn problems() -> impl Strategy<Value = (Loss, Option<usize>)> {
    let loss = prop_oneof![
        Just(Loss::Logistic),
        (2..30_usize).prop_map(|classes| Loss::Softmax { classes }),
        Just(Loss::Hinge { q: 1.0 }),
        Just(Loss::Hinge { q: 2.0 }),
        Just(Loss::Power { q: 1.5 }),
        Just(Loss::Squared),
        Just(Loss::Huber { threshold: 0.3 }),
    ];
    (loss, prop_oneof![3 => Just(None), 2 => (1..40_usize).prop_map(Some)])
}

struct Case {
    problem: Problem,
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    w: Vec<f64>,
}

fn case(loss: Loss, hidden: Option<usize>, n: usize, d: usize, seed: u64) -> Case {
    let mut numbers = Numbers(seed);
    // Numbers of single precision, so that every layout holds the same rows.
    let mut entry = |_: usize| {
        let v = numbers.uniform();
        if v < 0.4 { 0.0 } else { f64::from((4.0 * v - 2.8) as f32) }
    };
    let x: Vec<Vec<f64>> = (0..n).map(|_| (0..d).map(&mut entry).collect()).collect();
    let mut problem = Problem::new(loss, RowBounds::features(100.0).unwrap(), n, d);
    problem.hidden = hidden;
    let y = (0..n)
        .map(|_| match loss {
            Loss::Softmax { classes } => numbers.below(classes) as f64,
            _ if numbers.uniform() < 0.5 => -1.0,
            _ => 1.0,
        })
        .collect();
    let w = (0..problem.dimension()).map(|_| 2.0 * numbers.uniform() - 1.0).collect();
    Case { problem, x, y, w }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_layout_gives_the_sum_by_hand_and_threads_change_no_bit(
        (loss, hidden) in problems(),
        n in prop_oneof![1..70_usize, Just(1100), Just(2100)],
        d in 1..50_usize,
        clip in prop_oneof![Just(1e-3), Just(0.7), Just(3.0), Just(1e6), Just(1e-60)],
        seed in any::<u64>(),
    ) {
        let Case { problem, x, y, w } = case(loss, hidden, n, d, seed);
        let want = by_hand(&problem, &x, &y, &w, clip);
        // Single precision rounds the margins, and so the residuals of rows that are not clipped.
        let steep = 1.0 + norm(&w) * norm(&x.concat()) / (n as f64).sqrt();
        for (features, off) in [
            (dense(&x, d), 1e-9),
            (sparse(&x, d), 1e-9),
            (single(&x, d), 1e-5 * steep),
        ] {
            let got = whole(features.clone(), &y, &problem, clip, &w, 1);
            let gap: Vec<f64> = got.iter().zip(&want).map(|(g, w)| g - w).collect();
            let room = off * clip.min(steep * steep) * n as f64;
            prop_assert!(norm(&gap) <= room, "{} > {room}", norm(&gap));
            prop_assert_eq!(&got, &whole(features.clone(), &y, &problem, clip, &w, 2));
            prop_assert_eq!(&got, &whole(features, &y, &problem, clip, &w, 3));
        }
    }

    #[test]
    fn a_clipped_row_has_exactly_the_clip_norm_so_norms_are_those_of_the_flat_gradient(
        (loss, hidden) in problems(),
        d in 1..60_usize,
        seed in any::<u64>(),
    ) {
        let Case { problem, x, y, w } = case(loss, hidden, 1, d, seed);
        let flat = norm(&gradient(&problem, &x[0], y[0], &w));
        for features in [dense(&x, d), sparse(&x, d)] {
            let clip = flat / 2.0;
            if flat > 1e-40 {
                let got = norm(&whole(features.clone(), &y, &problem, clip, &w, 1));
                prop_assert!((got / clip - 1.0).abs() < 1e-10, "{got} {clip}");
                prop_assert!(got <= clip);
            }
            let got = norm(&whole(features, &y, &problem, 2.0 * flat + 1.0, &w, 1));
            prop_assert!((got - flat).abs() <= 1e-10 * flat);
        }
    }

    #[test]
    fn a_row_more_moves_the_sum_by_at_most_the_clip_norm(
        (loss, hidden) in problems(),
        n in 2..90_usize,
        d in 1..30_usize,
        clip in prop_oneof![Just(1e-3), Just(0.5), Just(2.0)],
        seed in any::<u64>(),
    ) {
        let Case { problem, x, y, w } = case(loss, hidden, n, d, seed);
        let out = seed as usize % n;
        let (mut fewer, mut labels) = (x.clone(), y.clone());
        fewer.remove(out);
        labels.remove(out);
        let bound = clip * clip_rounding(&problem, 1.0);
        for layout in [dense, sparse, single] {
            let all = whole(layout(&x, d), &y, &problem, clip, &w, 1);
            let without = whole(layout(&fewer, d), &labels, &problem, clip, &w, 1);
            let gap: Vec<f64> = all.iter().zip(&without).map(|(a, b)| a - b).collect();
            prop_assert!(norm(&gap) <= bound, "{} > {bound}", norm(&gap));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_shortened_sum_is_that_of_shortened_gradients_and_no_row_moves_it_by_more_than_the_clip_norm(
        (loss, _) in problems(),
        n in 2..90_usize,
        d in 1..40_usize,
        clip in prop_oneof![Just(1e-3), Just(0.5), Just(2.0), Just(1e6)],
        keep in prop_oneof![Just(Preconditioner::LEAST), Just(0.3), Just(1.0)],
        even in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let Case { problem, mut x, y, w } = case(loss, None, n, d, seed);
        let mean: Vec<f64> = (0..d).map(|j| x.iter().map(|x| x[j]).sum()).collect();
        let scales = (0..d).map(|j| [1.0, 0.1, 30.0, 300.0][(seed as usize / 7 + j * j) % if even { 1 } else { 4 }]).collect();
        let preconditioner = Preconditioner::new(mean, keep).with_scales(scales);
        // A row along the direction: its own gradient is the longest beside its shortened one.
        let out = seed as usize % n;
        let along = preconditioner.direction().iter().zip(preconditioner.scales());
        x[out] = along.map(|(u, s)| f64::from((3.0 * u / s) as f32)).collect();
        let mut want = vec![0.0; w.len()];
        for (x, y) in x.iter().zip(&y) {
            let mut g = gradient(&problem, x, *y, &w);
            preconditioner.apply(&mut g);
            let factor = (clip / norm(&g)).min(1.0);
            want.iter_mut().zip(&g).for_each(|(s, g)| *s += factor * g);
        }
        let (mut fewer, mut labels) = (x.clone(), y.clone());
        fewer.remove(out);
        labels.remove(out);
        let bound = clip * shortened_rounding(&problem, 1.0, keep);
        let steep = 1.0 + norm(&w) * norm(&x.concat()) / (n as f64).sqrt();
        for (layout, off) in [
            (dense as fn(&[Vec<f64>], usize) -> Features, 1e-9),
            (sparse, 1e-9),
            (single, 1e-5 * steep),
        ] {
            let all = shortened(layout(&x, d), &y, &problem, clip, &preconditioner, &w);
            let gap: Vec<f64> = all.iter().zip(&want).map(|(a, b)| a - b).collect();
            let room = off * clip.min(300.0 * steep * steep) * n as f64 / keep;
            prop_assert!(norm(&gap) <= room, "{} > {room}", norm(&gap));
            let without = shortened(layout(&fewer, d), &labels, &problem, clip, &preconditioner, &w);
            let gap: Vec<f64> = all.iter().zip(&without).map(|(a, b)| a - b).collect();
            prop_assert!(norm(&gap) <= bound, "{} > {bound}", norm(&gap));
        }
    }
}

#[test]
fn what_rounding_adds_is_charged_as_much_more_as_rows_are_shortened() {
    for (loss, d) in [(Loss::Logistic, 20), (Loss::Softmax { classes: 10 }, 300)] {
        let problem = Problem::new(loss, RowBounds::features(1.0).unwrap(), 5000, d);
        for keep in [Preconditioner::LEAST, 0.3, 1.0] {
            let (own, short) =
                (clip_rounding(&problem, 0.1), shortened_rounding(&problem, 0.1, keep));
            assert!((short - 1.0) * keep >= own - 1.0 - 1e-15, "{keep}: {short} and {own}");
        }
    }
}

#[test]
fn a_long_gradient_is_cut_to_the_clip_norm_once_its_direction_is_shortened() {
    // Ten classes: summed in single precision where features are. A row along the direction, one
    // across, one between.
    for (loss, w) in [(Loss::Hinge { q: 1.0 }, 3), (Loss::Softmax { classes: 10 }, 30)] {
        for (x, keep) in [([3.0, 4.0, 0.0], 0.05), ([-4.0, 3.0, 0.0], 0.3), ([1.0, 0.5, 2.0], 0.3)]
        {
            let problem = Problem::new(loss, RowBounds::features(10.0).unwrap(), 500, 3);
            let plain = Preconditioner::new(vec![3.0, 4.0, 0.0], keep);
            for preconditioner in [plain.clone(), plain.with_scales(vec![5.0, 0.5, 1.0])] {
                for layout in [dense, single] {
                    let features = layout(&[x.to_vec()], 3);
                    let sum =
                        shortened(features, &[1.0], &problem, 1e-3, &preconditioner, &vec![0.0; w]);
                    let length = norm(&sum) / 1e-3;
                    assert!(length <= shortened_rounding(&problem, 1.0, keep), "{length}");
                    assert!(length > 0.999_999, "not cut by more: {length}");
                }
            }
        }
    }
}

#[test]
fn a_row_whose_size_is_out_of_range_is_short_enough_for_every_scale() {
    // Scales lengthen the entry by a hundred, and no size is computed of such a row: its own norm
    // is cut by as much more.
    let problem = Problem::new(Loss::Hinge { q: 1.0 }, RowBounds::features(1e30).unwrap(), 5, 2);
    let preconditioner = Preconditioner::new(vec![0.0, 1.0], 0.3).with_scales(vec![100.0, 10.0]);
    for (x, clip) in [([1e20, 0.0], 0.5), ([0.5, 0.25], 1e-60)] {
        let sum =
            shortened(dense(&[x.to_vec()], 2), &[1.0], &problem, clip, &preconditioner, &[0.0; 2]);
        let length = norm(&sum) / clip;
        assert!(length <= 1.0 && length > 0.5, "{length}");
    }
}

#[test]
fn large_sums_over_many_blocks_are_those_by_hand_and_threads_change_no_bit() {
    // More than a cache's worth of sums: all threads share them. Up to 400 rows are summed in
    // single precision, 1500 are not.
    for (n, d, hidden) in [(400, 500, None), (1500, 500, None), (400, 600, Some(40))] {
        let Case { problem, x, y, w } = case(Loss::Softmax { classes: 40 }, hidden, n, d, 9);
        let want = by_hand(&problem, &x, &y, &w, 0.7);
        for (features, off) in [(dense(&x, d), 1e-9), (single(&x, d), 1e-3)] {
            let got = whole(features.clone(), &y, &problem, 0.7, &w, 1);
            let gap: Vec<f64> = got.iter().zip(&want).map(|(g, w)| g - w).collect();
            assert!(norm(&gap) <= off * norm(&want), "{} {}", norm(&gap), norm(&want));
            for threads in [2, 3] {
                assert!(got == whole(features.clone(), &y, &problem, 0.7, &w, threads));
            }
        }
    }
}

#[test]
fn what_earlier_batches_left_behind_changes_no_bit() {
    let rates = [0.02, 1.0, 0.3, 0.0, 0.6, 0.01, 1.0];
    for (classes, d, hidden) in [(3, 20, None), (40, 500, None), (5, 30, Some(17))] {
        let n = 700;
        let Case { problem, x, y, w } = case(Loss::Softmax { classes }, hidden, n, d, 4);
        let oracle = |features| {
            let rows = Rows::new(features, y.clone(), problem.bounds);
            LocalOracle::new(rows, Speed { threads: Some(2) }).unwrap()
        };
        let key = SampleKey::new(&Source::seeded_not_private(7));
        for layout in [dense, sparse, single] {
            let used = oracle(layout(&x, d));
            for (step, rate) in rates.into_iter().enumerate() {
                let rate = SampleRate::new(rate).unwrap();
                let draw = Draw { key: &key, step: step as u64, rate };
                let sum = |oracle: &LocalOracle| {
                    let mut into = Sensitive::new(vec![f64::NAN; w.len()]);
                    oracle
                        .ask(
                            &problem,
                            &Question::Clipped { draw, clip: 0.5, preconditioner: None, at: &w },
                            &mut into,
                        )
                        .unwrap();
                    in_the_clear(into)
                };
                assert!(sum(&used) == sum(&oracle(layout(&x, d))), "step {step}");
            }
        }
    }
}

#[test]
fn two_runs_share_an_oracle_without_waiting_for_each_other() {
    let (n, d) = (600, 30);
    let Case { problem, x, y, w } = case(Loss::Softmax { classes: 4 }, None, n, d, 3);
    for threads in [None, Some(2)] {
        let rows = Rows::new(dense(&x, d), y.clone(), problem.bounds);
        let oracle = LocalOracle::new(rows, Speed { threads }).unwrap();
        let key = SampleKey::new(&Source::seeded_not_private(7));
        let draw = Draw { key: &key, step: 0, rate: SampleRate::new(0.5).unwrap() };
        let sum = || {
            let mut into = Sensitive::new(vec![f64::NAN; w.len()]);
            oracle
                .ask(
                    &problem,
                    &Question::Clipped { draw, clip: 0.5, preconditioner: None, at: &w },
                    &mut into,
                )
                .unwrap();
            in_the_clear(into)
        };
        let want = sum();
        let run = || oracle.on_threads(&mut || (0..200).for_each(|_| assert!(sum() == want)));
        std::thread::scope(|scope| {
            scope.spawn(run);
            scope.spawn(run);
        });
    }
}

/// A problem whose row's gradient is the row itself: the absolute loss at zero weights, with labels
/// -1.
fn free_gradients(n: usize, d: usize) -> (Problem, Vec<f64>, Vec<f64>) {
    let bounds = RowBounds::new(1.0, 1.0).unwrap();
    (Problem::new(Loss::Power { q: 1.0 }, bounds, n, d), vec![-1.0; n], vec![0.0; d])
}

#[test]
fn adversarial_gradients_move_the_sum_by_at_most_the_clip_norm() {
    let mut numbers = Numbers(5);
    let d = 3;
    let mut worst: f64 = 0.0;
    for _ in 0..4000 {
        let n = 1 + numbers.below(12);
        let mut x: Vec<Vec<f64>> = Vec::new();
        for _ in 0..n {
            let size = 10_f64.powf(600.0 * numbers.uniform() - 300.0);
            let mut row: Vec<f64> =
                (0..d).map(|_| (2.0 * numbers.uniform() - 1.0) * size).collect();
            match numbers.below(12) {
                0 => row[numbers.below(d)] = f64::NAN,
                1 => row[numbers.below(d)] = f64::INFINITY,
                2 => row[numbers.below(d)] = f64::NEG_INFINITY,
                3 => row = vec![f64::MAX; d],
                4 => row = vec![f64::from_bits(1); d],
                5 => row = vec![1.0, 0.0, 0.0],
                _ => {}
            }
            x.push(row);
        }
        let clip = [1.0, 1e-8, 1e8, 1e-200][numbers.below(4)];
        let (problem, y, w) = free_gradients(n, d);
        let layout = [dense, sparse][numbers.below(2)];
        let all = whole(layout(&x, d), &y, &problem, clip, &w, 1);
        assert!(all.iter().all(|v| v.is_finite()));
        let out = numbers.below(n);
        let mut fewer = x.clone();
        fewer.remove(out);
        let without = whole(layout(&fewer, d), &y[1..], &problem, clip, &w, 1);
        let gap: Vec<f64> = all.iter().zip(&without).map(|(a, b)| a - b).collect();
        let ratio = norm(&gap) / clip;
        assert!(ratio <= clip_rounding(&problem, 1.0), "{ratio}");
        worst = worst.max(ratio);
        // In place of the row another one.
        let mut other = x.clone();
        other[out] = vec![-3.0 * clip, clip, 0.0];
        let other = whole(layout(&other, d), &y, &problem, clip, &w, 1);
        let gap: Vec<f64> = all.iter().zip(&other).map(|(a, b)| a - b).collect();
        assert!(norm(&gap) <= 2.0 * clip * clip_rounding(&problem, 1.0));
    }
    assert!(worst > 0.999_999, "the bound is nearly attained: {worst}");
}

#[test]
fn power_of_two_crossings_stay_within_the_rounding_that_is_charged() {
    for k in [8_u32, 15] {
        let ulp = 2_f64.powi(k as i32 - 52);
        let mut column = vec![1.0; (1 << k) - 1];
        column.push(0.5);
        column.extend(std::iter::repeat_n(1.01 * ulp, 1 << (k - 1)));
        let more: Vec<f64> = std::iter::once(1.0).chain(column.clone()).collect();
        let clip = 1.0 + 1e-11; // ones pass as they are
        let sum = |column: &[f64]| {
            let x: Vec<Vec<f64>> = column.iter().map(|v| vec![*v]).collect();
            let (problem, y, w) = free_gradients(x.len(), 1);
            let factor = clip_rounding(&problem, 1.0);
            assert!(factor <= 1.0 + 2e-7, "{factor}");
            [dense, sparse].map(|layout| whole(layout(&x, 1), &y, &problem, clip, &w, 1)[0])
        };
        for (with, without) in sum(&more).into_iter().zip(sum(&column)) {
            let moved = (with - without) / clip;
            assert!((1.0 - 1e-7..=1.0 + 1e-7).contains(&moved), "{moved}");
        }
    }
}

#[test]
fn rows_that_are_not_finite_count_as_zero_in_every_layout() {
    let mut x = vec![vec![1.0, 2.0], vec![f64::NAN, 1.0], vec![0.5, f64::INFINITY], vec![0.0, 0.0]];
    let y = [0.0, 1.0, 2.0, f64::NAN];
    for hidden in [None, Some(5)] {
        let mut problem =
            Problem::new(Loss::Softmax { classes: 3 }, RowBounds::features(9.0).unwrap(), 4, 2);
        problem.hidden = hidden;
        let w: Vec<f64> = (0..problem.dimension()).map(|i| 0.1 * i as f64 - 0.4).collect();
        let want = by_hand(&problem, &x, &y, &w, 0.8);
        for (layout, off) in
            [(dense as fn(&[Vec<f64>], usize) -> _, 1e-12), (sparse, 1e-12), (single, 1e-6)]
        {
            let got = whole(layout(&x, 2), &y, &problem, 0.8, &w, 1);
            assert!(got.iter().zip(&want).all(|(g, w)| (g - w).abs() < off), "{got:?} {want:?}");
        }
    }
    // A margin beyond single precision is computed in double precision.
    x.truncate(1);
    x[0] = vec![3e38, 1.0];
    let problem =
        Problem::new(Loss::Softmax { classes: 2 }, RowBounds::features(9.0).unwrap(), 1, 2);
    let w = [10.0, 0.0, -10.0, 1.0];
    let got = whole(single(&x, 2), &[1.0], &problem, 0.8, &w, 1);
    assert!((norm(&got) / 0.8 - 1.0).abs() < 1e-6, "{got:?}");
}

#[test]
fn the_batch_is_the_draw_its_size_binomial_and_an_empty_one_gives_zero() {
    // Each row that joins adds exactly one.
    let (n, q, steps) = (1000, 0.01, 20_000);
    let (problem, y, w) = free_gradients(n, 1);
    let x = vec![vec![1.0]; n];
    let sizes = sums(dense(&x, 1), &y, &problem, 2.0, &w, 1, q, steps);
    let key = SampleKey::new(&Source::seeded_not_private(77));
    let (mut sum, mut squares) = (0.0, 0.0);
    for (step, size) in sizes.iter().enumerate() {
        let mut rows = Vec::new();
        let rate = SampleRate::new(q).unwrap();
        Draw { key: &key, step: step as u64, rate }.rows(0..n, &mut rows);
        assert_eq!(size[0], rows.len() as f64);
        (sum, squares) = (sum + size[0], squares + size[0] * size[0]);
    }
    // False alarms: the mean 2e-9 (6 deviations), the variance 5e-9 (5.9 of its deviations, 1.02 %
    // each).
    let mean = sum / steps as f64;
    let variance = squares / steps as f64 - mean * mean;
    assert!((mean - 10.0).abs() < 6.0 * (9.9 / steps as f64).sqrt(), "{mean}");
    assert!((variance / 9.9 - 1.0).abs() < 0.06, "{variance}");

    let Case { problem, x, y, w } = case(Loss::Softmax { classes: 4 }, Some(3), 50, 6, 1);
    for layout in [dense, sparse, single] {
        let empty = sums(layout(&x, 6), &y, &problem, 1.0, &w, 2, 0.0, 1);
        assert!(empty[0].iter().all(|v| v.to_bits() == 0), "exactly zero");
    }
}

#[test]
fn under_add_or_remove_the_number_of_rows_may_differ_from_the_declared_one() {
    let Case { problem, x, y, .. } = case(Loss::Logistic, None, 5, 2, 1);
    let rows = Rows::new(dense(&x, 2), y, problem.bounds);
    let oracle = LocalOracle::new(rows, Speed::default()).unwrap();
    let declared = Problem::new(problem.loss, problem.bounds, 7, 2);
    assert!(oracle.check(&declared).is_err());
    assert!(oracle.check_columns(&declared).is_ok());
    assert!(oracle.check_columns(&Problem::new(problem.loss, problem.bounds, 5, 3)).is_err());
}

/// How far the sum moves, in clip norms, when the last row leaves.
fn moved_by_the_last(
    problem: &Problem,
    x: &[Vec<f64>],
    y: &[f64],
    w: &[f64],
    layout: fn(&[Vec<f64>], usize) -> Features,
) -> f64 {
    let (d, fewer) = (problem.features, x.len() - 1);
    let all = whole(layout(x, d), y, problem, 1.0, w, 1);
    let without = whole(layout(&x[..fewer], d), &y[..fewer], problem, 1.0, w, 1);
    let gap: Vec<f64> = all.iter().zip(&without).map(|(a, b)| a - b).collect();
    norm(&gap)
}

#[test]
fn how_a_row_is_computed_never_depends_on_how_many_there_are() {
    // Around the length at which sums are no longer begun in single precision, with rows so long
    // that single precision would change their residuals.
    let mut numbers = Numbers(9);
    let (d, declared) = (3, 500);
    let bounds = RowBounds::new(1e30, 1.0).unwrap();
    let problem = Problem::new(Loss::Softmax { classes: 40 }, bounds, declared, d);
    let rows = 700;
    let x: Vec<Vec<f64>> =
        (0..rows).map(|_| (0..d).map(|_| 1e16 * (numbers.uniform() - 0.5)).collect()).collect();
    let y: Vec<f64> = (0..rows).map(|i| f64::from(i % 40)).collect();
    let w: Vec<f64> = (0..40 * d).map(|_| numbers.uniform() - 0.5).collect();
    let limit = clip_rounding(&problem, 1.0);
    for length in 640..660 {
        let moved = moved_by_the_last(&problem, &x[..length], &y[..length], &w, single);
        assert!(moved <= limit, "{length} rows: {moved} above {limit}");
    }
}

#[test]
fn weights_beyond_single_precision_leave_no_trace_in_the_padding() {
    let (d, hidden) = (2, 4);
    let bounds = RowBounds::new(10.0, 1.0).unwrap();
    let plain = Problem::new(Loss::Softmax { classes: 3 }, bounds, 64, d);
    let problem = Problem { hidden: Some(hidden), ..plain };
    let x = vec![vec![1.0, 2.0]; 40];
    let y: Vec<f64> = (0..40).map(|i| f64::from(i % 3)).collect();
    let mut w = vec![0.1; problem.dimension()];
    w[..hidden * d].fill(1e39);
    let limit = clip_rounding(&problem, 1.0);
    for length in 30..=36 {
        let moved = moved_by_the_last(&problem, &x[..length], &y[..length], &w, single);
        assert!(moved <= limit, "{length} rows: {moved} above {limit}");
    }
}
