//! Long work on a thread of its own: the calling thread waits for it without the interpreter, hears
//! signals and shows progress.
//!
//! Python handles signals on its main thread alone, and the steps of a run may be counted on any
//! thread of a pool. So the run only counts and looks whether it should stop; the calling thread
//! does the rest.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;
use reticent::Error;
use reticent::optim::Progress;

use crate::error::to_python;

/// How often signals are heard and progress is shown.
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Default)]
struct Counter {
    done: AtomicU64,
    total: AtomicU64,
    planned: AtomicBool,
    stop: AtomicBool,
}

impl Progress for Counter {
    fn step(&self, done: u64, total: u64) -> ControlFlow<()> {
        self.planned.store(true, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        if self.stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Does `work`; `callback` is told how many steps of how many are done, and 0 of 0 where the run is
/// planned and its first step is still to come. A signal, or an error of
/// the callback, stops the work at its next step and is raised.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    callback: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Progress) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let counter = Counter::default();
    let mut interruption = None;
    let tell = || -> PyResult<()> {
        py.check_signals()?;
        let total = counter.total.load(Ordering::Relaxed);
        let planned = counter.planned.load(Ordering::Relaxed);
        if let Some(callback) = callback.filter(|_| planned) {
            callback.call1((counter.done.load(Ordering::Relaxed), total))?;
        }
        Ok(())
    };
    let result = std::thread::scope(|scope| {
        let (sender, mut receiver) = channel::<()>();
        let steps = &counter;
        let worker = scope.spawn(move || {
            let result = work(steps);
            drop(sender);
            result
        });
        // The channel ends with the work, whether it succeeds or panics.
        loop {
            let ended;
            (ended, receiver) = py.detach(move || (receiver.recv_timeout(PAUSE), receiver));
            if let Err(error) = tell() {
                counter.stop.store(true, Ordering::Relaxed);
                interruption = interruption.take().or(Some(error));
            }
            if ended == Err(RecvTimeoutError::Disconnected) {
                break worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        }
    });
    match interruption {
        Some(error) => Err(error),
        None => result.map_err(to_python),
    }
}
