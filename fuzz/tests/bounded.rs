//! A short run of every target; `RETICENT_FUZZ_SECONDS` makes it longer.

use std::time::Duration;

use reticent_fuzz::{Limit, TARGETS, fuzz};

#[test]
fn no_reader_chokes_on_bad_bytes() {
    let seconds = std::env::var("RETICENT_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    let time = Duration::from_secs_f64(seconds.unwrap_or(2.0));
    for target in TARGETS {
        let few = |count: &reticent_fuzz::Count| count.inputs <= 10;
        let mut found = fuzz(target, Limit::Time(time), 20_261_116);
        if found.as_ref().is_ok_and(few) {
            found = fuzz(target, Limit::Inputs(20), 20_261_116); // on a busy machine
        }
        match found {
            // A target whose inputs all end in the parser tests nothing that follows it.
            Ok(count) => assert!(
                count.inputs > 10 && 20 * count.parsed >= count.inputs,
                "{}: {count:?}",
                target.name
            ),
            Err(crash) => panic!(
                "{}: {}; the first bytes are {:?}",
                target.name,
                crash.what,
                String::from_utf8_lossy(&crash.input[..crash.input.len().min(300)])
            ),
        }
    }
}

#[test]
fn the_shares_are_a_million() {
    assert_eq!(TARGETS.iter().map(|target| target.share).sum::<u64>(), 1_000_000);
}
