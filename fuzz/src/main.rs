//! `cargo run --release -p reticent-fuzz -- TARGET LIMIT SEED`; see README.md.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use reticent_fuzz::{Crash, Limit, TARGETS, fuzz, guard, seeds};

#[allow(clippy::print_stdout, reason = "a program that tells how far it came")]
fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next().unwrap_or_else(|| "all".to_owned());
    let limit = arguments.next().unwrap_or_else(|| "600".to_owned());
    if wanted == "seeds" {
        return write_seeds(&limit);
    }
    let seed = arguments.next().and_then(|s| s.parse().ok()).unwrap_or(1);
    guard(|target, input| {
        println!("| {target} | does not end (input {}) |", keep(target, input));
        std::process::exit(1);
    });
    println!("seed {seed}\n");
    println!("| target | inputs | parsed | slowest, CPU s | wall s | result |");
    println!("| --- | ---: | ---: | ---: | ---: | --- |");
    let (mut inputs, mut parsed, mut code) = (0, 0, ExitCode::SUCCESS);
    for target in TARGETS.iter().filter(|t| wanted == "all" || t.name == wanted) {
        let limit = match (limit.as_str(), limit.strip_suffix("inputs")) {
            ("million", _) => Limit::Inputs(target.share),
            (_, Some(number)) => Limit::Inputs(number.parse().unwrap_or(10_000)),
            (seconds, None) => Limit::Time(Duration::from_secs(seconds.parse().unwrap_or(600))),
        };
        let start = Instant::now();
        match fuzz(target, limit, seed) {
            Ok(count) => {
                inputs += count.inputs;
                parsed += count.parsed;
                println!(
                    "| {} | {} | {:.1} % | {:.2} | {:.0} | no crash |",
                    target.name,
                    count.inputs,
                    100.0 * count.parsed as f64 / count.inputs as f64,
                    count.slowest.as_secs_f64(),
                    start.elapsed().as_secs_f64(),
                );
            }
            Err(Crash { input, what }) => {
                println!(
                    "| {} | | | | | {what} (input {}) |",
                    target.name,
                    keep(target.name, &input)
                );
                code = ExitCode::FAILURE;
            }
        }
    }
    println!(
        "| all | {inputs} | {:.1} % | | | |",
        100.0 * parsed as f64 / f64::max(1.0, inputs as f64)
    );
    code
}

/// Writes the good files into a folder for each target: where a guided fuzzer begins.
fn write_seeds(folder: &str) -> ExitCode {
    let written = TARGETS.iter().try_for_each(|target| {
        let folder = std::path::Path::new(folder).join(target.name);
        std::fs::create_dir_all(&folder)?;
        let mut seeds = seeds(target).into_iter().enumerate();
        seeds.try_for_each(|(i, seed)| std::fs::write(folder.join(i.to_string()), seed))
    });
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes an input that broke a target, and says where.
fn keep(target: &str, input: &[u8]) -> String {
    let file = format!("crash-{target}.bin");
    match std::fs::write(&file, input) {
        Ok(()) => format!("kept in {file}"),
        Err(_) => "not kept".to_owned(),
    }
}
