//! An epoch of clipped DP-SGD as `fit` runs it, and where its time goes.
//!
//! `dpsgd FEATURES CLASSES ROWS HIDDEN THREADS`: one JSON line. Expected batch 500, clip norm 1,
//! rows in single precision with an intercept. Wall time and processor time are the least of
//! several epochs; the parts are timed alone, in the same process.

use std::fs;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rayon::prelude::*;
use reticent_data::{
    Dense, Features, LocalOracle, Oracle, Question, Rows, Sensitive, Speed, Stages, clip_rounding,
};
use reticent_noise::batch::{Draw, SampleKey, SampleRate};
use reticent_noise::fast::{FastGaussian, Reserved};
use reticent_noise::{Purpose, Source};
use reticent_optim::clipped_sgd::{ClippedSgd, Output};
use reticent_optim::{Algorithm, Progress};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent_problem::{Loss, Problem, RowBounds};

const BATCH: u64 = 500;
const EPOCHS: u64 = 24;

/// Nanoseconds that the process's threads have run.
fn processor() -> f64 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks
        .filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok())
        .filter_map(|line| line.split(' ').next()?.parse::<f64>().ok())
        .sum()
}

/// Processor seconds of a call, the least of several rounds of about 40 milliseconds: the system
/// counts in ticks.
fn seconds(mut work: impl FnMut()) -> f64 {
    // The least of some: a call that had to wait for the processor is no measure of how many make a
    // round.
    let mut once = f64::INFINITY;
    for _ in 0..8 {
        let start = Instant::now();
        work();
        once = once.min(start.elapsed().as_secs_f64());
    }
    let calls = (0.04 / once).clamp(1.0, 1e6) as usize;
    (0..8)
        .map(|_| {
            let ran = processor();
            for _ in 0..calls {
                work();
            }
            (processor() - ran) * 1e-9 / calls as f64
        })
        .fold(f64::INFINITY, f64::min)
}

/// Hears the steps go by and keeps the times at which epochs end.
struct Clock {
    epoch: u64,
    times: Mutex<Vec<(Instant, f64)>>,
}

impl Progress for Clock {
    fn step(&self, done: u64, _: u64) -> ControlFlow<()> {
        if done.is_multiple_of(self.epoch) {
            let mut times = self.times.lock().expect("one thread");
            times.push((Instant::now(), processor()));
        }
        ControlFlow::Continue(())
    }
}

/// Wall seconds in which all threads do the work at the same time, each the whole of it: they may
/// share the units of a core.
fn together(pool: &rayon::ThreadPool, work: impl Fn() + Sync) -> f64 {
    (0..20)
        .map(|_| {
            let start = Instant::now();
            pool.broadcast(|_| work());
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// The rate of fused multiplication in the widest registers by all threads together, operations a
/// second.
fn peak(pool: &rayon::ThreadPool) -> f64 {
    peak_in_lanes::<8>(pool).max(peak_in_lanes::<16>(pool))
}

/// Ten independent sums of products in vectors of so many numbers.
fn peak_in_lanes<const LANES: usize>(pool: &rayon::ThreadPool) -> f64 {
    struct Fused<const LANES: usize>;
    impl<const LANES: usize> pulp::NullaryFnOnce for Fused<LANES> {
        type Output = ();
        #[inline(always)]
        fn call(self) {
            let (x, y) = (black_box([0.999_f32; LANES]), black_box([1e-3_f32; LANES]));
            let mut sums = [[0.0_f32; LANES]; 10];
            for _ in 0..2_000_000 {
                for sum in &mut sums {
                    for l in 0..LANES {
                        sum[l] = sum[l].mul_add(x[l], y[l]);
                    }
                }
            }
            black_box(sums);
        }
    }
    let operations = 2e6 * 10.0 * LANES as f64 * 2.0 * pool.current_num_threads() as f64;
    operations / together(pool, || pulp::Arch::new().dispatch(Fused::<LANES>))
}

/// Bytes a second of reading the rows in order, by all threads together.
fn bandwidth(values: &[f32], pool: &rayon::ThreadPool) -> f64 {
    let threads = pool.current_num_threads();
    let read = seconds(|| {
        let read = |values: &[f32]| -> f32 {
            let parts = values.chunks(1 << 16).map(|part| {
                let mut lanes = [0.0_f32; 64];
                for chunk in part.as_chunks::<64>().0 {
                    for l in 0..64 {
                        lanes[l] += chunk[l];
                    }
                }
                lanes.iter().sum::<f32>()
            });
            parts.sum()
        };
        let share = values.len().div_ceil(threads);
        pool.install(|| black_box(values.par_chunks(share).map(read).sum::<f32>()));
    });
    4.0 * values.len() as f64 / (read / threads as f64)
}

/// Milliseconds of all threads in gathering, multiplying and clipping a sum: the round with the
/// least of several.
fn stages(stages: &Stages, mut sum: impl FnMut()) -> [f64; 3] {
    let take = |stage: &AtomicU64| stage.swap(0, Ordering::Relaxed) as f64 * 1e-6;
    let all = || [take(&stages.gather), take(&stages.products), take(&stages.clip)];
    all();
    let mut best = [f64::INFINITY; 3];
    for _ in 0..40 {
        let calls = 10;
        (0..calls).for_each(|_| sum());
        let round = all().map(|time| time / f64::from(calls));
        if round.iter().sum::<f64>() < best.iter().sum() {
            best = round;
        }
    }
    best
}

#[allow(clippy::print_stdout, reason = "a benchmark prints its result")]
#[allow(clippy::too_many_lines, reason = "one measurement after the other")]
fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let [features, classes, n, hidden, threads] = numbers[..] else {
        println!("dpsgd FEATURES CLASSES ROWS HIDDEN THREADS");
        return;
    };
    let d = features + 1;
    let mut state = 1_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 24) as f32
    };
    let values: Vec<f32> =
        (0..n * d).map(|i| if i % d == features { 1.0 } else { uniform() }).collect();
    let labels: Vec<f64> = (0..n).map(|i| (i * 7 % classes) as f64).collect();
    let bounds = RowBounds::features((d as f64).sqrt()).expect("positive");
    let mut problem = Problem::new(Loss::Softmax { classes }, bounds, n, d);
    problem.hidden = (hidden > 0).then_some(hidden);
    // Kept to the end: the time of a thread that ends is lost to the process.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
    let read = bandwidth(&values, &pool);
    let rows = Rows::new(Features::F32(Dense::new(n, d, values)), labels, bounds);
    let oracle = LocalOracle::new(rows, Speed { threads: Some(threads) }).expect("threads start");
    let source = Source::from_os().expect("randomness");

    let epoch = (n as u64).div_ceil(BATCH);
    let budget = Budget {
        epsilon: Epsilon::new(2.0).expect("positive"),
        delta: Delta::new(1e-5).expect("a probability"),
        adjacency: Adjacency::AddRemoveOne,
    };
    let settings = ClippedSgd {
        batch: Some(BATCH),
        steps: Some(EPOCHS * epoch),
        eta: Some(0.5),
        output: Some(Output::Last),
        ..ClippedSgd::default()
    };
    let plan = settings.plan(&problem, budget).expect("a plan");
    let clock = Clock { epoch, times: Mutex::default() };
    let release = ClippedSgd::run(&plan, &oracle, &source, &clock).expect("a run");
    black_box(&release);
    let times = clock.times.into_inner().expect("one thread");
    let (mut wall, mut ran) = (f64::INFINITY, f64::INFINITY);
    for pair in times.windows(2) {
        wall = wall.min((pair[1].0 - pair[0].0).as_secs_f64());
        ran = ran.min((pair[1].1 - pair[0].1) * 1e-9);
    }

    // The parts of a step, alone.
    let key = SampleKey::new(&source);
    let rate = SampleRate::new(plan.sample_rate).expect("a rate");
    let mut drawn = Vec::new();
    let mut step = 0;
    let mut next = || {
        step += 1;
        Draw { key: &key, step, rate }
    };
    let draw = seconds(|| {
        drawn.clear();
        next().rows(0..n, &mut drawn);
    });
    let mut parts = [0.0; 2];
    let [mut gather, mut products_ms, mut clip] = [0.0; 3];
    let law = FastGaussian::new(
        clip_rounding(&problem, plan.sample_rate),
        plan.noise_multiplier,
        problem.dimension(),
    )
    .expect("a law");
    let mut stream = source.stream(Purpose::Noise);
    oracle.on_threads(&mut || {
        let mut sum = Sensitive::new(vec![0.0; problem.dimension()]);
        parts[0] = seconds(|| {
            let (draw, at) = (next(), &release.weights);
            let question = Question::Clipped { draw, clip: 1.0, preconditioner: None, at };
            oracle.ask(&problem, &question, &mut sum).expect("rows in memory");
        });
        let watched = oracle.watch_clipped();
        [gather, products_ms, clip] = stages(&watched, || {
            let (draw, at) = (next(), &release.weights);
            let question = Question::Clipped { draw, clip: 1.0, preconditioner: None, at };
            oracle.ask(&problem, &question, &mut sum).expect("rows in memory");
        });
        let mut noisy = vec![0.0; problem.dimension()];
        parts[1] = seconds(|| {
            let reserved = Reserved::new(noisy.len(), &mut stream);
            law.release_chunk(0, &mut noisy, &reserved);
        });
    });
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = status
        .lines()
        .find_map(|l| {
            l.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok()
        })
        .unwrap_or(0.0)
        / 1024.0;

    // Costs that no program can avoid: the batch is read once, every row is multiplied twice, every
    // weight gets noise.
    let batch = BATCH as f64;
    let layers = problem.dimension() as f64 + hidden as f64 * classes as f64 / 2.0;
    let bytes = batch * d as f64 * 4.0 / read;
    let peak = peak(&pool);
    let products = 4.0 * batch * layers / peak;
    // Each thread makes as many numbers as there are weights, ten times.
    let reserved = Reserved::new(problem.dimension(), &mut stream);
    let generator = together(&pool, || {
        let mut numbers = vec![0.0; problem.dimension()];
        for _ in 0..10 {
            reserved.fill(0, &mut numbers).expect("as many as were set aside");
        }
        black_box(&numbers);
    }) / (10 * threads) as f64;
    let limit = epoch as f64 * (bytes.max(products) + generator);
    println!(
        "{{\"who\":\"reticent\",\"features\":{features},\"classes\":{classes},\"rows\":{n},\"hidden\":{hidden},\"threads\":{threads},\
         \"wall\":{wall:.5},\"cpu\":{ran:.5},\"limit\":{limit:.5},\"draw_ms\":{:.4},\"sum_cpu_ms\":{:.4},\"noise_cpu_ms\":{:.4},\
         \"gather_ms\":{gather:.4},\"products_ms\":{products_ms:.4},\"clip_ms\":{clip:.4},\"limit_parts_ms\":[{:.4},{:.4},{:.4}],\
         \"memory_mb\":{memory:.1},\"read_gbps\":{:.1},\"peak_gflops\":{:.1},\"rounding\":{:.2e}}}",
        draw * 1e3,
        (parts[0] - draw) * 1e3,
        parts[1] * 1e3,
        bytes * 1e3,
        products * 1e3,
        generator * 1e3,
        read * 1e-9,
        peak * 1e-9 / threads as f64,
        clip_rounding(&problem, plan.sample_rate) - 1.0,
    );
}
