//! A walk against the same walk written plainly, for every loss and layout.
use crate::common::clear::in_the_clear;
use reticent_data::walk::{Walk, WalkOrder, WalkState, rounding, stretch};
use reticent_data::{Csr, Dense, Features, LocalOracle, RandomAccess as _, Rows, Sensitive, Speed};
use reticent_noise::batch::shuffle;
use reticent_noise::integer::uniform_below;
use reticent_noise::{Purpose, Source};
use reticent_problem::loss::{LinearLoss, LinearVisitor, MultiLoss as _, Softmax};
use reticent_problem::{Domain, Loss, Problem, RowBounds};

const LOSSES: [Loss; 9] = [
    Loss::Logistic,
    Loss::Softmax { classes: 3 },
    Loss::Hinge { q: 1.0 },
    Loss::Hinge { q: 1.5 },
    Loss::Hinge { q: 2.0 },
    Loss::Power { q: 1.0 },
    Loss::Power { q: 1.3 },
    Loss::Squared,
    Loss::Huber { threshold: 0.3 },
];

struct At(f64, f64);

impl LinearVisitor for At {
    type Output = f64;
    fn visit<L: LinearLoss>(self, loss: L) -> f64 {
        loss.slope(self.0, self.1)
    }
}

/// Row-major features, about half of them zero, of norm at most one; labels of the kind that the
/// loss takes.
fn table(loss: Loss, rows: usize, features: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut stream = Source::seeded_not_private(seed).stream(Purpose::Initial);
    let mut uniform = || uniform_below(1 << 53, &mut stream) as f64 / (1_u64 << 53) as f64;
    let root = (features as f64).sqrt();
    let mut x: Vec<f64> = (0..rows * features)
        .map(|_| if uniform() < 0.5 { 0.0 } else { (2.0 * uniform() - 1.0) / root })
        .collect();
    // Exact in single precision, so that all layouts hold the same numbers.
    for x in &mut x {
        *x = f64::from(*x as f32);
    }
    let y = (0..rows)
        .map(|_| match loss {
            Loss::Softmax { classes } => (uniform() * classes as f64).floor(),
            loss if loss.is_classification() => (2.0 * uniform() - 1.0).signum(),
            _ => 2.0 * uniform() - 1.0,
        })
        .collect();
    (x, y)
}

fn layouts(x: &[f64], rows: usize) -> [Features; 3] {
    let d = x.len() / rows;
    let (mut offsets, mut indices, mut values) = (vec![0], vec![], vec![]);
    for row in x.chunks_exact(d) {
        for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(*v);
        }
        offsets.push(indices.len());
    }
    [
        Features::F32(Dense::new(rows, d, x.iter().map(|v| *v as f32).collect())),
        Features::F64(Dense::new(rows, d, x.to_vec())),
        Features::Sparse(Csr::new(d, offsets, indices, values)),
    ]
}

/// The rows that a walk draws, found as the documentation says.
fn picks(order: WalkOrder, n: usize, count: usize, source: &Source) -> Vec<usize> {
    let mut stream = source.stream(Purpose::Sampling);
    match order {
        WalkOrder::WithReplacement => {
            (0..count).map(|_| uniform_below(n as u64, &mut stream) as usize).collect()
        }
        WalkOrder::Permuted => {
            let mut order: Vec<usize> = (0..n).collect();
            let passes = count.div_ceil(n);
            let all = (0..passes).flat_map(|_| {
                shuffle(&mut order, &mut stream);
                order.clone()
            });
            all.take(count).collect()
        }
    }
}

/// The average of the iterates, as the definition says it.
fn plainly(problem: &Problem, walk: &Walk, x: &[f64], y: &[f64], picks: &[usize]) -> Vec<f64> {
    let d = problem.features;
    let mut w = vec![0.0; problem.dimension()];
    let mut average = vec![0.0; w.len()];
    for t in 1..=walk.steps {
        for (a, w) in average.iter_mut().zip(&w) {
            *a += (w - *a) / t as f64;
        }
        if t == walk.steps {
            break;
        }
        let i = picks[t as usize - 1];
        let row = &x[i * d..(i + 1) * d];
        let margins = |w: &[f64]| -> f64 { row.iter().zip(w).map(|(x, w)| x * w).sum() };
        let mut slopes: Vec<f64> = w.chunks_exact(d).map(margins).collect();
        if let Loss::Softmax { classes } = problem.loss {
            Softmax { classes }.residual(&mut slopes, y[i] as usize);
        } else {
            let limit = problem.slope_limit.unwrap_or(f64::INFINITY);
            let slope = problem.loss.visit_linear(At(slopes[0], y[i])).unwrap();
            slopes[0] = slope.clamp(-limit, limit);
        }
        for (w, slope) in w.chunks_exact_mut(d).zip(slopes) {
            for (w, x) in w.iter_mut().zip(row) {
                *w = (1.0 - walk.eta * problem.ridge) * *w - walk.eta * slope * x;
            }
        }
        problem.domain.project(&mut w);
    }
    average
}

fn average(problem: &Problem, walk: &Walk, rows: Rows, source: &Source) -> Vec<f64> {
    let oracle = LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap();
    let mut state = Sensitive::new(WalkState::new(problem, source));
    let mut done = 0;
    while done < walk.steps {
        oracle.walk(problem, walk, &mut state).unwrap();
        done += stretch(problem.dimension());
    }
    oracle.walk(problem, walk, &mut state).unwrap(); // a walk that has ended stays where it is
    in_the_clear(state.map_inside(WalkState::into_average))
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn every_loss_layout_order_and_set_walks_as_defined() {
    let bounds = RowBounds::new(1.0, 1.0).unwrap();
    let mut seed = 0;
    for loss in LOSSES {
        for (n, d) in [(17, 1), (40, 13), (9, 64)] {
            let (x, y) = table(loss, n, d, seed);
            for order in [WalkOrder::WithReplacement, WalkOrder::Permuted] {
                for (radius, ridge, limit) in [
                    (None, 0.0, None),
                    (Some(0.4), 0.0, None),
                    (None, 0.3, Some(0.6)),
                    (Some(0.2), 0.5, None),
                ] {
                    seed += 1;
                    // Softmax has no slope to limit.
                    let limit = limit.filter(|_| loss.outputs() == 1);
                    let problem = Problem {
                        ridge,
                        slope_limit: limit,
                        domain: radius.map_or(Domain::Unbounded, |radius| Domain::Ball { radius }),
                        ..Problem::new(loss, bounds, n, d)
                    };
                    let walk = Walk { order, steps: 100 + 7 * (seed % 3), eta: 0.21 };
                    let drawn =
                        picks(order, n, walk.steps as usize, &Source::seeded_not_private(seed));
                    let expected = plainly(&problem, &walk, &x, &y, &drawn);
                    assert!(distance(&expected, &vec![0.0; expected.len()]) > 1e-6);
                    for features in layouts(&x, n) {
                        let rows = Rows::new(features, y.clone(), bounds);
                        let source = Source::seeded_not_private(seed);
                        let got = average(&problem, &walk, rows, &source);
                        let off = distance(&got, &expected);
                        assert!(off < 1e-12, "{loss:?} {order:?} {radius:?} {ridge}: {off:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn stretches_join_without_a_seam_and_stay_within_the_charge_for_rounding() {
    // Smooth losses, so that rounding in a margin cannot change a slope by much.
    let bounds = RowBounds::new(1.0, 1.0).unwrap();
    for (loss, radius) in [
        (Loss::Logistic, None),
        (Loss::Logistic, Some(0.3)),
        (Loss::Huber { threshold: 0.3 }, Some(0.1)),
        (Loss::Softmax { classes: 3 }, Some(0.3)),
    ] {
        let (n, d) = (50, 21);
        let (x, y) = table(loss, n, d, 5);
        let domain = radius.map_or(Domain::Unbounded, |radius| Domain::Ball { radius });
        let problem = Problem { domain, ..Problem::new(loss, bounds, n, d) };
        let chunk = stretch(problem.dimension());
        for steps in [2, chunk - 1, chunk, chunk + 1, 3 * chunk + 5] {
            let walk = Walk { order: WalkOrder::WithReplacement, steps, eta: 0.5 };
            let drawn = picks(walk.order, n, steps as usize, &Source::seeded_not_private(steps));
            let expected = plainly(&problem, &walk, &x, &y, &drawn);
            let k = problem.regularity();
            let reach = radius.unwrap_or(walk.eta * k.lipschitz * steps as f64);
            let r = rounding(&problem, &walk, k.lipschitz, reach);
            let smooth = k.smoothness.unwrap() * walk.eta * r.margin;
            let bound = (smooth + r.step) * steps as f64 + r.average;
            for features in layouts(&x, n) {
                let rows = Rows::new(features, y.clone(), bounds);
                let got = average(&problem, &walk, rows, &Source::seeded_not_private(steps));
                let off = distance(&got, &expected);
                // The plain walk rounds too, about as much.
                assert!(off <= 2.0 * bound, "{loss:?}, {steps} steps: {off:e} against {bound:e}");
            }
        }
    }
}

#[test]
fn a_scale_that_runs_out_is_folded_back() {
    // The ridge leaves a tenth of the iterate in each step or nothing, and the projection a
    // hundredth or less.
    let bounds = RowBounds::new(1.0, 1.0).unwrap();
    let (n, d) = (20, 5);
    let (x, y) = table(Loss::Logistic, n, d, 3);
    for (ridge, radius, eta) in [(0.9, None, 1.0), (1.0, None, 1.0), (0.0, Some(1e-2), 100.0)] {
        let domain = radius.map_or(Domain::Unbounded, |radius| Domain::Ball { radius });
        let problem = Problem { ridge, domain, ..Problem::new(Loss::Logistic, bounds, n, d) };
        let walk = Walk { order: WalkOrder::Permuted, steps: 9000, eta };
        let drawn = picks(walk.order, n, 9000, &Source::seeded_not_private(1));
        let expected = plainly(&problem, &walk, &x, &y, &drawn);
        for features in layouts(&x, n) {
            let rows = Rows::new(features, y.clone(), bounds);
            let got = average(&problem, &walk, rows, &Source::seeded_not_private(1));
            assert!(distance(&got, &expected) < 1e-11, "{got:?} {expected:?}");
        }
    }
}
