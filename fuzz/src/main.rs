//! `cargo run --release -p reticent-fuzz -- [TARGET] [SECONDS] [SEED]`

use std::process::ExitCode;
use std::time::Duration;

use reticent_fuzz::{TARGETS, fuzz};

#[allow(clippy::print_stdout, reason = "a program that tells how far it came")]
fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next().unwrap_or_else(|| "all".to_owned());
    let seconds = arguments.next().and_then(|s| s.parse().ok()).unwrap_or(600);
    let seed = arguments.next().and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut code = ExitCode::SUCCESS;
    for target in TARGETS.iter().filter(|t| wanted == "all" || t.name == wanted) {
        match fuzz(target, Duration::from_secs(seconds), seed) {
            Ok(runs) => println!("{}: {runs} inputs in {seconds} s, no crash", target.name),
            Err(crash) => {
                let file = format!("crash-{}.bin", target.name);
                let kept = std::fs::write(&file, &crash.input).is_ok();
                println!(
                    "{}: {} (input {}kept in {file})",
                    target.name,
                    crash.what,
                    if kept { "" } else { "not " }
                );
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
