//! Bad bytes for every reader and parser.
//!
//! A [`Target`] takes bytes and must come back: with a value or with an error, never with a panic, never without end.
//! [`fuzz`] feeds it mutations of good files for a while. The mutations are blind, which the stable compiler suffices for:
//! flipped bits, cut and copied stretches, numbers pushed to their ends, words of the format in wrong places.

mod corpus;
mod mutate;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

pub use targets::{TARGETS, Target};

/// What a target choked on.
#[derive(Clone, Debug)]
pub struct Crash {
    /// The bytes.
    pub input: Vec<u8>,
    /// What went wrong.
    pub what: String,
}

/// How long one input may take, whatever else the machine does.
const SLOW: Duration = Duration::from_secs(20);

/// Runs `target` on mutations of its good files for `time`; how many, or the first that it choked on.
///
/// # Errors
///
/// [`Crash`].
pub fn fuzz(target: &Target, time: Duration, seed: u64) -> Result<u64, Crash> {
    // Memory, where the system has a folder of it: most readers take files.
    let memory = std::path::Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.map_err(|e| Crash { input: vec![], what: e.to_string() })?;
    let seeds = corpus::of(target.name);
    let mut random = mutate::Random::new(seed);
    let start = Instant::now();
    let mut runs = 0;
    while runs < seeds.len() as u64 || start.elapsed() < time {
        // The good files first, as they are.
        let input = match seeds.get(runs as usize) {
            Some(good) => good.clone(),
            None => mutate::mutate(&seeds, &mut random),
        };
        let run = || {
            let begin = Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input, folder.path())));
            (outcome, begin.elapsed())
        };
        let (outcome, took) = run();
        let accepted = match outcome {
            Ok(accepted) => accepted,
            Err(panic) => return Err(Crash { input, what: words(panic.as_ref()) }),
        };
        if !accepted && runs < seeds.len() as u64 {
            return Err(Crash { input, what: "a good file was refused".to_owned() });
        }
        // A machine that was paused is slow once, a slow input always.
        if took > SLOW && run().1 > SLOW {
            return Err(Crash { input, what: format!("took {took:?}") });
        }
        runs += 1;
    }
    Ok(runs)
}

/// What a panic says.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
    text.unwrap_or_else(|| "a panic".to_owned())
}
