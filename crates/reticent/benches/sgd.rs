//! How fast single-row steps are, against the memory and the arithmetic that they cannot do
//! without.
//!
//! `bench/sgd/run.py` runs it and writes `bench/sgd/RESULTS.md`. Prints one JSON line for each
//! case; each figure is the best of many short runs, so that a busy machine disturbs it little.

use std::hint::black_box;
use std::time::{Duration, Instant};

use reticent::data::walk::{Walk, WalkOrder, WalkState, stretch};
use reticent::data::{
    Csr, Dense, Features, LocalOracle, RandomAccess as _, Rows, Sensitive, Speed,
};
use reticent::noise::{Purpose, Source, fast};
use reticent::optim::{Algorithm as _, GradientSgd, Quiet};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::{Domain, Loss, Problem, RowBounds};

/// Time given to each figure.
const PATIENCE: Duration = Duration::from_millis(300);

/// Nanoseconds for one unit of `run`, which does `units` of them: the best run.
fn nanoseconds(units: u64, mut run: impl FnMut()) -> f64 {
    run();
    let start = Instant::now();
    let mut best = f64::MAX;
    while start.elapsed() < PATIENCE {
        let t = Instant::now();
        run();
        best = best.min(t.elapsed().as_secs_f64());
    }
    1e9 * best / units as f64
}

/// Numbers of norm about one in each row.
fn numbers(rows: usize, columns: usize) -> Vec<f64> {
    let mut x = vec![0.0; rows * columns];
    fast::fill_standard_gaussian(
        &mut x,
        &mut Source::seeded_not_private(1).stream(Purpose::Initial),
    );
    let root = (columns as f64).sqrt();
    for x in &mut x {
        *x /= 1.5 * root;
    }
    x
}

/// A dot product, a scaled addition and a sum, on rows that are in the nearest cache: the least
/// work of a step.
fn arithmetic(columns: usize) -> f64 {
    const LANES: usize = 8;
    let width = columns.next_multiple_of(LANES);
    let rows = numbers(8, width);
    let (mut w, mut sum) = (vec![0.0; width], vec![0.0; width]);
    nanoseconds(80_000, || {
        let once = Vec::<f64>::new();
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                drop(once); // only a closure that runs once is inlined here
                for row in rows.chunks_exact(width).cycle().take(80_000) {
                    let mut lanes = [0.0; LANES];
                    let x = row.as_chunks::<LANES>().0;
                    let (w, sum) = (w.as_chunks_mut::<LANES>().0, sum.as_chunks_mut::<LANES>().0);
                    for j in 0..x.len().min(w.len()).min(sum.len()) {
                        let mut total = sum[j];
                        for l in 0..LANES {
                            lanes[l] = x[j][l].mul_add(w[j][l], lanes[l]);
                        }
                        for l in 0..LANES {
                            total[l] += w[j][l];
                        }
                        sum[j] = total;
                    }
                    let c = -1e-3 * black_box(lanes).iter().sum::<f64>();
                    for j in 0..x.len().min(w.len()) {
                        let mut moved = w[j];
                        for l in 0..LANES {
                            moved[l] = x[j][l].mul_add(c, moved[l]);
                        }
                        w[j] = moved;
                    }
                }
            },
        );
        black_box((&w, &sum));
    })
}

/// The least work of a step on a batch: for each row a dot product and a scaled addition, then a
/// scaled addition and a sum for the step; rows in the nearest cache that holds them. `N` rows are
/// taken together.
fn batch_arithmetic<const N: usize>(columns: usize, batch: usize) -> f64 {
    const LANES: usize = 8;
    let width = columns.next_multiple_of(LANES);
    let rows = numbers(batch, width);
    let (mut w, mut sum) = (vec![0.0; width], vec![0.0; width]);
    let mut gradient = vec![0.0; width];
    let steps = 200_000 / (columns * batch) as u64 + 1;
    nanoseconds(steps, || {
        let once = Vec::<f64>::new();
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                drop(once); // only a closure that runs once is inlined here
                let (w, sum) = (w.as_chunks_mut::<LANES>().0, sum.as_chunks_mut::<LANES>().0);
                let gradient = gradient.as_chunks_mut::<LANES>().0;
                let count = w.len().min(sum.len()).min(gradient.len());
                let (w, sum, gradient) =
                    (&mut w[..count], &mut sum[..count], &mut gradient[..count]);
                for _ in 0..steps {
                    for (k, rows) in rows.chunks_exact(N * width).enumerate() {
                        let x: [&[[f64; LANES]]; N] = std::array::from_fn(|r| {
                            &rows[r * width..(r + 1) * width].as_chunks::<LANES>().0[..count]
                        });
                        let mut lanes = [[0.0; LANES]; N];
                        for j in 0..count {
                            for r in 0..N {
                                for l in 0..LANES {
                                    lanes[r][l] = x[r][j][l].mul_add(w[j][l], lanes[r][l]);
                                }
                            }
                        }
                        let lanes = black_box(lanes);
                        let mut c = [0.0; N];
                        for r in 0..N {
                            let [a, b, d, e, f, g, h, i] = lanes[r];
                            c[r] = ((a + f) + (d + h)) + ((b + g) + (e + i));
                        }
                        for j in 0..count {
                            let mut s = if k == 0 { [0.0; LANES] } else { gradient[j] };
                            for r in 0..N {
                                for l in 0..LANES {
                                    s[l] = x[r][j][l].mul_add(c[r], s[l]);
                                }
                            }
                            gradient[j] = s;
                        }
                    }
                    for j in 0..count {
                        let (mut moved, mut total) = (w[j], sum[j]);
                        for l in 0..LANES {
                            moved[l] = gradient[j][l].mul_add(-1e-3, moved[l]);
                        }
                        for l in 0..LANES {
                            total[l] += moved[l];
                        }
                        (w[j], sum[j]) = (moved, total);
                    }
                }
            },
        );
        black_box((&w, &sum, &gradient));
    })
}

/// Bytes a second at which the table is read in order.
fn read(values: &[f64]) -> f64 {
    let each = nanoseconds(values.len() as u64, || {
        let once = Vec::<f64>::new();
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                drop(once); // only a closure that runs once is inlined here
                let mut lanes = [0.0; 32];
                for part in values.as_chunks::<32>().0 {
                    for l in 0..32 {
                        lanes[l] += part[l];
                    }
                }
                black_box(lanes);
            },
        );
    });
    8e9 / each
}

/// Noisy steps against the generator that feeds them, measured in turn.
#[allow(clippy::print_stdout, reason = "a benchmark prints its result")]
fn noisy_steps() {
    let rows = 2000;
    for columns in [50, 200, 784] {
        let x = numbers(rows, columns);
        let y: Vec<f64> = x.iter().step_by(columns).map(|x| x.signum()).collect();
        let bounds = RowBounds::new(2.0, 1.0).expect("positive");
        let table = Rows::new(Features::F64(Dense::new(rows, columns, x)), y, bounds);
        let oracle = LocalOracle::new(table, Speed { threads: Some(1) }).expect("a thread");
        let domain = Domain::Ball { radius: 1.0 };
        let problem =
            Problem { domain, ..Problem::new(Loss::Hinge { q: 1.0 }, bounds, rows, columns) };
        let budget = Budget {
            epsilon: Epsilon::new(1.0).expect("positive"),
            delta: Delta::new(1e-6).expect("a probability"),
            adjacency: Adjacency::ReplaceOne,
        };
        for batch in [1, 16] {
            // Runs of milliseconds, so that a busy machine leaves some alone; long enough for what
            // a run does once not to count; and just short of whole buffers of noise, so that as
            // little of it is left over as in a long run.
            let steps = (1 << 19) / columns as u64 + 1;
            let settings =
                GradientSgd { batch: Some(batch), steps: Some(steps), ..GradientSgd::default() };
            let plan = settings.plan(&problem, budget).expect("a plan");
            let source = Source::from_os().expect("randomness");
            let count = (steps - 1) * columns as u64;
            let ours = nanoseconds(count, || {
                black_box(GradientSgd::run(&plan, &oracle, &source, &Quiet).expect("a release"));
            });
            let mut stream = source.stream(Purpose::Noise);
            let mut out = vec![0.0; 1 << 15];
            let generator = nanoseconds(out.len() as u64, || {
                fast::fill_standard_gaussian(black_box(&mut out), &mut stream);
            });
            let arithmetic = if batch == 1 {
                batch_arithmetic::<1>(columns, 1)
            } else {
                batch_arithmetic::<4>(columns, batch as usize)
            };
            let (step, noise) = (ours * columns as f64, generator * columns as f64);
            println!(
                "{{\"bench\":\"noisy_steps\",\"columns\":{columns},\"batch\":{batch},\"ns_per_step\":{step:.0},\"noise_ns\":{noise:.0},\"arithmetic_ns\":{arithmetic:.0},\"ratio\":{:.2},\"both_ratio\":{:.2},\"ns_per_weight\":{ours:.2},\"generator_ns\":{generator:.2},\"steps_per_second\":{:.0}}}",
                generator / ours,
                (noise + arithmetic) / step,
                1e9 / step,
            );
        }
    }
}

#[allow(clippy::print_stdout, reason = "a benchmark prints its result")]
fn main() {
    noisy_steps();
    let (n, d) = (400_000, 50);
    let x = numbers(n, d);
    let bandwidth = read(&x);
    let floor = arithmetic(d);
    let y: Vec<f64> = x.iter().step_by(d).map(|x| x.signum()).collect();
    let bounds = RowBounds::new(2.0, 1.0).expect("positive");
    for (name, rows) in [("1,000 rows, in cache", 1000), ("400,000 rows, in memory", n)] {
        let part = &x[..rows * d];
        let mut layouts = vec![
            ("f64", Features::F64(Dense::new(rows, d, part.to_vec()))),
            ("f32", Features::F32(Dense::new(rows, d, part.iter().map(|x| *x as f32).collect()))),
        ];
        if rows == n {
            // One-hot like: 15 entries of 1,000 columns.
            let indices = (0..rows)
                .flat_map(|i| (0..15).map(move |k| (k * 66 + (i * (2 * k + 7) + k) % 66) as u32));
            let offsets = (0..=rows).map(|i| 15 * i).collect();
            let csr = Csr::new(1000, offsets, indices.collect(), vec![0.25; 15 * rows]);
            layouts.push(("sparse, 15 of 1,000", Features::Sparse(csr)));
        }
        for (layout, features) in layouts {
            let columns = features.columns();
            let table = Rows::new(features, y[..rows].to_vec(), bounds);
            let oracle = LocalOracle::new(table, Speed { threads: Some(1) }).expect("a thread");
            for loss in [Loss::Hinge { q: 1.0 }, Loss::Logistic] {
                for (set, radius) in [("R^d", None), ("ball", Some(0.5))] {
                    for order in [WalkOrder::WithReplacement, WalkOrder::Permuted] {
                        if order == WalkOrder::Permuted && radius.is_some() {
                            continue; // the two do not meet in the code
                        }
                        let domain =
                            radius.map_or(Domain::Unbounded, |radius| Domain::Ball { radius });
                        let problem =
                            Problem { domain, ..Problem::new(loss, bounds, rows, columns) };
                        let walk = Walk { order, steps: u64::MAX, eta: 1e-3 };
                        let source = Source::from_os().expect("randomness");
                        let mut state = Sensitive::new(WalkState::new(&problem, &source));
                        let calls = 32;
                        let each = nanoseconds(calls * stretch(problem.dimension()), || {
                            for _ in 0..calls {
                                oracle.walk(&problem, &walk, &mut state).expect("in memory");
                            }
                        });
                        println!(
                            "{{\"bench\":\"walk\",\"table\":\"{name}\",\"layout\":\"{layout}\",\"loss\":\"{}\",\"set\":\"{set}\",\"order\":\"{order:?}\",\"ns_per_step\":{each:.1},\"arithmetic_ns\":{floor:.1},\"memory_ns\":{:.1},\"steps_per_second\":{:.0}}}",
                            loss.name(),
                            8e9 * d as f64 / bandwidth,
                            1e9 / each,
                        );
                    }
                }
            }
        }
    }
}
