//! Bad bytes for every reader and parser, and for what follows them: verification, report, resumed
//! runs.
//!
//! A [`Target`] takes bytes and must come back: with a value or with an error, never with a panic,
//! never without end, never with a gigabyte of memory, and never with a message that quotes a cell.
//! [`fuzz`] feeds it mutations of good files. The mutations are blind, which the stable compiler
//! suffices for: flipped bits, cut and copied stretches, numbers pushed to their ends, fields
//! dropped, doubled and swapped, digests repaired.

mod corpus;
mod json;
mod mutate;
mod targets;
mod watch;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

pub use mutate::{Kind, repaired};
pub use targets::{Outcome, TARGETS, Target};
pub use watch::guard;

/// The good files of a target.
pub fn seeds(target: &Target) -> Vec<Vec<u8>> {
    corpus::of(target.name)
}

/// An input on which a target failed.
#[derive(Clone, Debug)]
pub struct Crash {
    /// The bytes.
    pub input: Vec<u8>,
    /// The failure.
    pub what: String,
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// After so many inputs.
    Inputs(u64),
    /// After so long.
    Time(Duration),
}

/// The counts of a run of a target.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Inputs.
    pub inputs: u64,
    /// Those that were parsed.
    pub parsed: u64,
    /// The most processor time that one took.
    pub slowest: Duration,
}

/// Processor time that one input may take, in all threads.
pub const SLOW: Duration = Duration::from_secs(8);

/// Bytes of memory that the process may hold at any time.
pub const LARGE: u64 = 1 << 30;

/// Runs `target` on mutations of its good files; what it came to, or the first input that it choked
/// on.
///
/// # Errors
///
/// [`Crash`].
pub fn fuzz(target: &Target, limit: Limit, seed: u64) -> Result<Count, Crash> {
    // Memory, where the system has a folder of it: most readers take files.
    let memory = std::path::Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.map_err(|e| Crash { input: vec![], what: e.to_string() })?;
    let seeds = corpus::of(target.name);
    let mut random = mutate::Random::new(seed);
    let start = Instant::now();
    let mut count = Count::default();
    let goes_on = |count: &Count| match limit {
        Limit::Inputs(most) => count.inputs < most,
        Limit::Time(time) => start.elapsed() < time,
    };
    watch::forget_peak();
    while count.inputs < seeds.len() as u64 || goes_on(&count) {
        // The good files first, as they are.
        let good = seeds.get(count.inputs as usize);
        let input = match good {
            Some(good) => good.clone(),
            None => mutate::mutate(&seeds, target.kind, &mut random),
        };
        let crash = |what: String| Err(Crash { input: input.clone(), what });
        watch::begin(target.name, &input);
        let begin = watch::processor_time();
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input, folder.path())));
        let took = watch::processor_time().saturating_sub(begin);
        watch::end();
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(panic) => return crash(words(panic.as_ref())),
        };
        let parsed = matches!(outcome, Outcome::Parsed { .. });
        if good.is_some() && !parsed {
            return crash(format!("a good file was refused: {}", outcome.said()));
        }
        if outcome.said().contains(corpus::SECRET) || outcome.said().contains("SCRIPT") {
            return crash(format!("a message quotes a cell: {}", outcome.said()));
        }
        if took > SLOW {
            return crash(format!("took {took:?} of processor time"));
        }
        if watch::peak() > LARGE {
            return crash(format!("took {} MB", watch::peak() >> 20));
        }
        count.slowest = count.slowest.max(took);
        count.inputs += 1;
        count.parsed += u64::from(parsed);
    }
    Ok(count)
}

/// The message of a panic.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
    format!("panic: {}", text.unwrap_or_else(|| "without words".to_owned()))
}
