//! A bar on a terminal, silence elsewhere. It shows steps and time, never a value.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use reticent::optim::Progress;

/// Shown while it lives, for work whose length nobody knows.
pub(crate) struct Spinner(ProgressBar);

/// A spinner with a few words, shown only if standard error is a terminal and the output is for a reader.
pub(crate) fn spinner(words: &'static str, json: bool) -> Spinner {
    let bar = ProgressBar::with_draw_target(None, target(json)).with_message(words);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    Spinner(bar)
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
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
