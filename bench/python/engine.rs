//! The fit that the Python package's overhead is measured against: the same rows, plan and threads,
//! without Python.
//!
//! Prints `ready`, then for every line of standard input the processor and wall seconds of one fit.

use reticent::optim::setting::{BATCH, STEPS};
use std::io::{BufRead, Write};
use std::time::Instant;

use reticent::data::Speed;
use reticent::data::encode::{Encoder, Targets};
use reticent::noise::Source;
use reticent::optim::{Quiet, Settings, choose};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::Domain;
use reticent::problem::declaration::{Declaration, Encoding, Precision};
use reticent::{Task, default_delta, fit};

const ROWS: usize = 60_000;
const COLUMNS: usize = 784;

/// The work of the script's estimator in one `fit`.
fn one(x: &[f32], y: &[f64]) {
    let declaration = r#"{"target": "label", "columns": [
        {"name": "features", "role": "feature", "type": "real", "dimension": 784, "bounds": {"l2_norm_max": 28.0}},
        {"name": "label", "role": "target", "type": "categorical", "categories": [0, 1]}]}"#;
    let declaration = Declaration::from_json(declaration).expect("a declaration");
    let encoding = Encoding { precision: Precision::F32, ..Encoding::default() };
    let task = Task::new(declaration, encoding);
    let source = Source::from_os().expect("randomness");
    let budget = Budget {
        epsilon: Epsilon::new(1.0).expect("positive"),
        delta: Delta::new(default_delta(ROWS)).expect("a probability"),
        adjacency: Adjacency::ReplaceOne,
    };
    let problem = task.problem(ROWS, Domain::Unbounded, None).expect("declared");
    let request = Settings::default().with(&STEPS, 240_u64).with(&BATCH, 500_u64);
    let plan = choose(&problem, budget, &request, "clipped-sgd").expect("a plan");
    let encoder = Encoder::new(&task.layout().expect("a layout"));
    let rows = encoder.matrix(COLUMNS, x, Targets::Numbers(y)).expect("rows");
    let model = fit(&task, plan, rows, &source, Speed::default(), &Quiet).expect("a model");
    assert_eq!(model.weights[0].len(), COLUMNS + 1);
}

/// Processor seconds of this process.
fn processor() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

#[allow(clippy::print_stdout, reason = "a benchmark prints its result")]
fn main() {
    let mut state = 1_u64;
    let mut x = vec![0.0_f32; ROWS * COLUMNS];
    for x in &mut x {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *x = (state >> 40) as f32 / (1 << 24) as f32;
    }
    let y: Vec<f64> = x.iter().step_by(COLUMNS).map(|x| f64::from(u8::from(*x > 0.5))).collect();
    println!("ready");
    for _ in std::io::stdin().lock().lines() {
        let (start, spent) = (Instant::now(), processor());
        one(&x, &y);
        println!("{} {}", processor() - spent, start.elapsed().as_secs_f64());
        std::io::stdout().flush().expect("a reader");
    }
}
