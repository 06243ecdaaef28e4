//! Where the time of a clipped sum goes, for those who want to know.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Nanoseconds of all threads in the stages of clipped sums. Timing tells of rows: for benchmarks
/// on simulated ones.
#[derive(Debug, Default)]
pub struct Stages {
    /// Rows copied together.
    pub gather: AtomicU64,
    /// Rows times weights, residuals times rows.
    pub products: AtomicU64,
    /// From margins to clipped residuals.
    pub clip: AtomicU64,
}

/// A stop watch, if there is anyone to look at it.
pub(super) struct Watch<'a>(Option<(&'a Stages, Instant)>);

impl<'a> Watch<'a> {
    /// Starts.
    #[inline(always)]
    pub(super) fn new(stages: Option<&'a Stages>) -> Self {
        Self(stages.map(|stages| (stages, Instant::now())))
    }

    /// Counts the time since the last call for a stage.
    #[inline(always)]
    pub(super) fn lap(&mut self, stage: fn(&Stages) -> &AtomicU64) {
        if let Some((stages, since)) = &mut self.0 {
            let now = Instant::now();
            let passed = now.duration_since(*since).as_nanos() as u64;
            stage(stages).fetch_add(passed, Ordering::Relaxed);
            *since = now;
        }
    }
}
