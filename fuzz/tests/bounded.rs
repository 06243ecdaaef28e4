//! A short run of every target; `RETICENT_FUZZ_SECONDS` makes it longer.

use std::time::Duration;

use reticent_fuzz::{TARGETS, fuzz};

#[test]
fn no_reader_chokes_on_bad_bytes() {
    let seconds = std::env::var("RETICENT_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    let time = Duration::from_secs_f64(seconds.unwrap_or(4.0));
    for target in TARGETS {
        match fuzz(target, time, 20_261_116) {
            Ok(runs) => assert!(runs > 50, "{}: only {runs} inputs", target.name),
            Err(crash) => panic!(
                "{}: {}; the first bytes are {:?}",
                target.name,
                crash.what,
                String::from_utf8_lossy(&crash.input[..crash.input.len().min(300)])
            ),
        }
    }
}
