//! How many random features a second: 784 inputs, 8192 features, single precision.
//!
//! Prints one JSON line a construction and number of threads; `bench/kernels/run.py` puts a product
//! and a cosine in NumPy beside it.

use std::hint::black_box;
use std::time::Instant;

use reticent_data::feature_map::FeatureMap;
use reticent_data::{Dense, Features};
use reticent_problem::feature_map::{Construction, Form, Kernel, MapLaw};

const INPUTS: usize = 784;
const FEATURES: usize = 8192;
const ROWS: usize = 512;

#[allow(clippy::print_stdout, reason = "a benchmark prints its result")]
fn main() {
    let values = (0..ROWS * INPUTS).map(|i| ((i * 7919) % 1000) as f32 / 1e3).collect();
    let x = Features::F32(Dense::new(ROWS, INPUTS, values));
    for construction in
        [Construction::Independent, Construction::Structured, Construction::Fastfood]
    {
        let law = MapLaw {
            kernel: Kernel::Gaussian,
            bandwidth: 8.0,
            construction,
            form: Form::Paired,
            features: FEATURES,
            seed: 1,
        };
        let map = FeatureMap::new(law, INPUTS).expect("a law");
        let mut out = vec![0.0_f32; ROWS * FEATURES];
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.expect("threads start");
            let mut best = f64::INFINITY;
            for _ in 0..7 {
                let start = Instant::now();
                pool.install(|| map.write_parallel(black_box(&x), 0..ROWS, &mut out));
                black_box(&out);
                best = best.min(start.elapsed().as_secs_f64());
            }
            let rate = (ROWS * FEATURES) as f64 / best / 1e9;
            println!(
                "{{\"bench\":\"feature_map\",\"construction\":\"{}\",\"threads\":{threads},\"gigafeatures_per_second\":{rate:.4}}}",
                format!("{construction:?}").to_lowercase()
            );
        }
    }
}
