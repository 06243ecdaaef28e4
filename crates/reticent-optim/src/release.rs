//! The result of a run.

use reticent_privacy::Event;

/// The output of a run: the weights, and the event that pays for them.
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
    /// The event charged to the budget.
    pub event: Event,
    /// The features that no row was seen to have, by the noisy moments of the rows, in order. Empty
    /// where no moments were released.
    pub unseen: Vec<usize>,
    /// The noisy curvature at the weights, where the plan has one.
    pub curvature: Option<Vec<f64>>,
    /// The weights of each block of records, one after another, where the plan has blocks.
    pub blocks: Option<Vec<f64>>,
}

impl Release {
    /// Releases the weights of a run, and nothing else.
    pub(crate) fn new(weights: Vec<f64>, event: &Event) -> Self {
        Self { weights, event: event.clone(), unseen: Vec::new(), curvature: None, blocks: None }
    }
}
