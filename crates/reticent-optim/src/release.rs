//! The result of a run, which exists only where every sum behind it was whole.

use reticent_data::Oracle;
use reticent_privacy::Event;

use crate::RunError;

/// What leaves a run: the weights, and the event that pays for them.
///
/// It can be made by [`Release::new`] alone, which asks the oracle whether all rows were in every
/// sum:
///
/// ```compile_fail
/// use reticent_optim::Release;
/// use reticent_privacy::Event;
/// let unchecked = Release { weights: vec![0.0], event: Event::NotPrivate };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// One block of weights for each output.
    pub weights: Vec<f64>,
    /// What was done to the data.
    pub event: Event,
    checked: Checked,
}

/// Every sum of the run was whole.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Checked;

impl Release {
    /// Releases the weights of a run on the rows of `oracle`.
    ///
    /// # Errors
    ///
    /// [`OracleError::Unread`](reticent_data::OracleError::Unread), if rows were missing from a sum.
    pub fn new(oracle: &dyn Oracle, weights: Vec<f64>, event: &Event) -> Result<Self, RunError> {
        oracle.whole()?;
        Ok(Self { weights, event: event.clone(), checked: Checked })
    }
}
