//! Epochs of clipped DP-SGD, timed.

use std::time::Instant;

use reticent_data::{Dense, Features, LocalOracle, Oracle, Rows, Sensitive, Speed};
use reticent_noise::Source;
use reticent_noise::batch::{Draw, SampleKey, SampleRate};
use reticent_problem::{Loss, Problem, RowBounds};

fn main() {
    for (n, d, k, hidden) in
        [(60_000, 785, 10, None), (24_000, 513, 257, None), (60_000, 785, 10, Some(128))]
    {
        let mut state = 1_u64;
        let values: Vec<f32> = (0..n * d)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 40) as f32 / (1 << 24) as f32
            })
            .collect();
        let labels: Vec<f64> = (0..n).map(|i| (i % k) as f64).collect();
        let bounds = RowBounds::features((d as f64).sqrt()).expect("positive");
        for threads in [1, 2] {
            let features = Features::F32(Dense::new(n, d, values.clone()));
            let oracle = LocalOracle::new(
                Rows::new(features, labels.clone(), bounds),
                Speed { threads: Some(threads) },
            )
            .expect("threads start");
            let mut problem = Problem::new(Loss::Softmax { classes: k }, bounds, n, d);
            problem.hidden = hidden;
            let key = SampleKey::new(&Source::from_os().expect("randomness"));
            let rate = SampleRate::new(500.0 / n as f64).expect("a rate");
            let w: Vec<f64> = (0..problem.dimension()).map(|j| 1e-3 * (j % 7) as f64).collect();
            let mut best = [f64::INFINITY; 2];
            oracle.on_threads(&mut || {
                let mut sum = Sensitive::new(vec![0.0; w.len()]);
                let mut rows = Vec::new();
                for step in 0..200 {
                    let draw = Draw { key: &key, step, rate };
                    let start = Instant::now();
                    rows.clear();
                    draw.rows(0..n, &mut rows);
                    best[1] = best[1].min(start.elapsed().as_secs_f64());
                    let start = Instant::now();
                    oracle.clipped_sum(&problem, &draw, 1.0, &w, &mut sum);
                    best[0] = best[0].min(start.elapsed().as_secs_f64());
                }
            });
            println!(
                "{n} {d} {k} {hidden:?} threads {threads}: clipped_sum {:.3} ms, draw {:.3} ms",
                best[0] * 1e3,
                best[1] * 1e3
            );
        }
    }
}
