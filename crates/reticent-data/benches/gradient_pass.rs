//! One full-gradient pass against the machine's memory-read bandwidth, measured in the same run.
//!
//! Prints one JSON line a shape: gigabytes read per second by the pass and by a plain sum of the
//! same matrix, and their ratio. Each is the best of several, because other programs share the
//! machine.

use std::hint::black_box;
use std::time::Instant;

use rayon::prelude::*;
use reticent_data::{Dense, Features, LocalOracle, Oracle, Question, Rows, Sensitive, Speed};
use reticent_problem::{Loss, Problem, RowBounds};

fn best(mut f: impl FnMut(), repeats: usize) -> f64 {
    (0..repeats)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// Sums the matrix, in the machine's widest registers: little more than reading it.
fn read(values: &[f32]) -> f32 {
    let chunk = |chunk: &[f32]| {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                let mut lanes = [0.0_f32; 64];
                for c in chunk.as_chunks::<64>().0 {
                    for l in 0..64 {
                        lanes[l] += c[l];
                    }
                }
                black_box(lanes)[0]
            },
        )
    };
    values.par_chunks(1 << 18).map(chunk).sum()
}

#[allow(clippy::print_stdout, reason = "a benchmark prints its result")]
fn main() {
    let threads: usize =
        std::env::var("THREADS").ok().and_then(|t| t.parse().ok()).unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
        });
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("threads start");
    for (n, d) in [(1_000_000, 106), (200_000, 784), (50_000, 4096)] {
        let mut state = 1_u64;
        let values: Vec<f32> = (0..n * d)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 40) as f32 / (1 << 24) as f32 - 0.5
            })
            .collect();
        let labels: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let bytes = (4 * n * d) as f64;
        let plain = best(|| _ = black_box(read(black_box(&values))), 12);
        let features = Features::F32(Dense::new(n, d, values));
        let bounds = RowBounds::features((d as f64).sqrt()).expect("positive");
        let oracle = LocalOracle::new(Rows::new(features, labels, bounds), Speed::default())
            .expect("no threads of its own");
        let problem = Problem::new(Loss::Logistic, bounds, n, d);
        let w = Sensitive::new((0..d).map(|j| 1e-3 * (j % 7) as f64).collect::<Vec<f64>>());
        let mut sum = Sensitive::new(vec![0.0; d]);
        let pass =
            best(|| drop(oracle.ask(&problem, &Question::Gradient { at: &w }, &mut sum)), 12);
        black_box(&sum);
        println!(
            "{{\"bench\":\"gradient_pass\",\"n\":{n},\"d\":{d},\"threads\":{threads},\"read_GBps\":{:.2},\"pass_GBps\":{:.2},\"ratio\":{:.3}}}",
            bytes / plain / 1e9,
            bytes / pass / 1e9,
            plain / pass
        );
    }
}
