//! Seconds of gradient passes over a streamed file: `pass FILE SCHEMA PASSES`. Prints a JSON line
//! for each pass.

use std::path::Path;
use std::time::Instant;

use reticent_data::{Oracle, Question, Sensitive, Speed};
use reticent_problem::declaration::{Declaration, Encoding, Precision};
use reticent_problem::{Loss, Problem};
use reticent_table::stream::{FileBlocks, StreamOracle};

#[allow(clippy::print_stdout, reason = "it prints what it measured")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).filter(|w| !w.starts_with("--")).collect();
    let [file, schema, passes] = &words[..] else { return Err("FILE SCHEMA PASSES".into()) };
    let encoding = Encoding { precision: Precision::F32, ..Encoding::default() };
    let layout = Declaration::from_json(&std::fs::read_to_string(schema)?)?.layout(&encoding)?;
    let start = Instant::now();
    let oracle = StreamOracle::new(FileBlocks::open(
        Path::new(file),
        &layout,
        None,
        512 << 20,
        Speed::default(),
    )?);
    let opened = start.elapsed().as_secs_f64();
    let rows = oracle.rows();
    let problem = Problem::new(Loss::Logistic, layout.bounds(), rows, layout.dimension());
    let at = Sensitive::new(vec![0.01; problem.dimension()]);
    for _ in 0..passes.parse()? {
        let start = Instant::now();
        let mut into = Sensitive::new(vec![0.0; problem.dimension()]);
        oracle.ask(&problem, &Question::Gradient { at: &at }, &mut into)?;
        let seconds = start.elapsed().as_secs_f64();
        println!("{{\"rows\": {rows}, \"seconds\": {seconds}, \"opened\": {opened}}}");
    }
    Ok(())
}
