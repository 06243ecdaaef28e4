//! Seconds that output-perturbed gradient descent takes on an encoded table, best of several.
//!
//! usage: adult_fit TABLE SCHEMA STEPS; prints one JSON line for each way of holding the rows.

use std::path::Path;
use std::time::Instant;

use reticent::data::{LocalOracle, Speed};
use reticent::noise::Source;
use reticent::optim::{Algorithm, OutputGd, Quiet};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::declaration::{Declaration, Encoding, Precision};
use reticent::problem::{Domain, Problem};
use reticent::{Task, read_rows};

#[allow(clippy::print_stdout, reason = "a benchmark prints its result")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let [table, schema, steps] = arguments.as_slice() else {
        println!("usage: adult_fit TABLE SCHEMA STEPS");
        return;
    };
    let declaration =
        Declaration::from_json(&std::fs::read_to_string(schema).expect("a schema")).expect("valid");
    let steps = steps.parse().expect("a number of steps");
    for (name, precision) in
        [("f32", Precision::F32), ("f64", Precision::F64), ("sparse", Precision::Sparse)]
    {
        let encoding = Encoding { precision, ..Encoding::default() };
        let task = Task::new(declaration.clone(), encoding);
        let start = Instant::now();
        let rows = read_rows(&task, Path::new(table), None).expect("a table");
        let load = start.elapsed().as_secs_f64();
        let problem = task.problem(rows.len(), Domain::Unbounded, None).expect("declared");
        let budget = Budget {
            epsilon: Epsilon::new(1.0).expect("positive"),
            delta: Delta::new(1e-6).expect("a probability"),
            adjacency: Adjacency::ReplaceOne,
        };
        let settings = OutputGd { steps: Some(steps), ..OutputGd::default() };
        for threads in [1, 2] {
            let speed = Speed { threads: Some(threads) };
            let oracle = LocalOracle::new(rows.clone(), speed).expect("threads");
            let mut best = f64::INFINITY;
            for _ in 0..7 {
                let start = Instant::now();
                let plan = settings
                    .plan(&Problem { ridge: 1e-3, ..problem.clone() }, budget)
                    .expect("a plan");
                let source = Source::from_os().expect("randomness");
                let release = OutputGd::run(&plan, &oracle, &source, &Quiet).expect("a release");
                assert_eq!(release.weights.len(), problem.dimension());
                best = best.min(start.elapsed().as_secs_f64());
            }
            println!(
                "{{\"bench\":\"adult_fit\",\"rows\":\"{name}\",\"threads\":{threads},\"steps\":{steps},\"seconds\":{best:.4},\"load_seconds\":{load:.4}}}"
            );
        }
    }
}
