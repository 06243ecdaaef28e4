//! The result of a run.

use reticent_privacy::Event;

/// What leaves a run: the weights, and the event that pays for them.
///
/// An oracle whose rows were missing from a sum answers with an error, so a run that reaches its
/// release has seen all rows that its event names. Algorithms alone can make one:
///
/// ```compile_fail
/// use reticent_optim::Release;
/// use reticent_privacy::Event;
/// let unpaid = Release { weights: vec![0.0], event: Event::NotPrivate };
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Release {
    /// One block of weights for each output.
    pub weights: Vec<f64>,
    /// What was done to the data.
    pub event: Event,
}

impl Release {
    /// Releases the weights of a run.
    pub(crate) fn new(weights: Vec<f64>, event: &Event) -> Self {
        Self { weights, event: event.clone() }
    }
}
