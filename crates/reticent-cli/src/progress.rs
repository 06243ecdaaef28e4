//! A bar on a terminal, silence elsewhere. It shows steps and time, never a value.

use std::io::IsTerminal;
use std::ops::ControlFlow;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use reticent::optim::Progress;

/// A progress bar for the steps of a run.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// A bar that shows itself only if standard error is a terminal and the output is for a reader.
    pub(crate) fn new(json: bool) -> Self {
        let target = if json || !std::io::stderr().is_terminal() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(10)
        };
        let bar = ProgressBar::with_draw_target(None, target);
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
