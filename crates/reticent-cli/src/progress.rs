//! A bar on a terminal, silence elsewhere. It shows steps and time, never a value.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use reticent::optim::Progress;

/// Work that takes longer than this is worth a spinner.
const PATIENCE: Duration = Duration::from_millis(500);

/// Shown while it lives, for work whose length nobody knows.
pub(crate) struct Spinner {
    bar: ProgressBar,
    /// Dropped to end the wait.
    alive: Option<Sender<()>>,
    waiting: Option<JoinHandle<()>>,
}

/// A spinner with a few words, shown after half a second, and only if standard error is a terminal
/// and the output is for a reader.
pub(crate) fn spinner(words: &'static str, json: bool) -> Spinner {
    let bar = ProgressBar::hidden().with_message(words);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
        bar.set_style(style);
    }
    let (alive, ended) = channel::<()>();
    let shown = bar.clone();
    let waiting = std::thread::spawn(move || {
        if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            shown.set_draw_target(target(json));
            shown.enable_steady_tick(Duration::from_millis(200));
        }
    });
    Spinner { bar, alive: Some(alive), waiting: Some(waiting) }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        drop(self.alive.take());
        // Once it has ended nothing is drawn again.
        _ = self.waiting.take().map(JoinHandle::join);
        self.bar.finish_and_clear();
    }
}

fn target(json: bool) -> ProgressDrawTarget {
    if json || !std::io::stderr().is_terminal() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr_with_hz(10)
    }
}

/// A progress bar for the steps of a run.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// A bar that shows itself only if standard error is a terminal and the output is for a reader.
    pub(crate) fn new(json: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, target(json));
        if let Ok(style) =
            ProgressStyle::with_template("training {bar:30} {pos}/{len} steps, {eta} left")
        {
            bar.set_style(style);
        }
        Self(bar)
    }
}

impl Progress for Bar {
    fn step(&self, done: u64, total: u64) -> ControlFlow<()> {
        self.0.set_length(total);
        self.0.set_position(done);
        if done == total {
            self.0.finish_and_clear();
        }
        ControlFlow::Continue(())
    }
}
