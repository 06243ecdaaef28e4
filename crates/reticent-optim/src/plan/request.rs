//! What a user may fix, for any algorithm: one word per idea, the same in every algorithm.

use serde::{Deserialize, Serialize};

use crate::clipped_sgd::Output;
use crate::least_squares::Order;
use crate::least_squares::parameters::Schedule;
use crate::step::perturb::NoiseChoice;
use crate::{Calibration, PlanError};

/// What a user may fix; the rest is chosen without looking at data.
///
/// An algorithm takes the settings that it has and refuses the others ([`Request::only`]), so none is dropped silently.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// Paper or tight.
    pub calibration: Calibration,
    /// `μ`; none lets each algorithm choose.
    pub ridge: Option<f64>,
    /// Which noise a one-shot release gets.
    pub noise: NoiseChoice,
    /// `T`.
    pub steps: Option<u64>,
    /// `η`.
    pub eta: Option<f64>,
    /// Let the step length follow the noisy gradients.
    pub adapt_eta: Option<bool>,
    /// What clipped-sgd keeps of the rows' common direction.
    pub keep_common: Option<f64>,
    /// A guess of the best weights' norm: it tunes, it never pays.
    pub distance: Option<f64>,
    /// Use the trajectory bound.
    pub trajectory: bool,
    /// Caps the number of steps that is chosen where none is given.
    pub max_steps: Option<u64>,
    /// Passes over the rows.
    pub passes: Option<u64>,
    /// Which rows a step of least squares uses.
    pub order: Option<Order>,
    /// Leave the residuals of least squares unclamped.
    pub exact: bool,
    /// The paper's steps of least squares: few and long, or many and short.
    pub schedule: Option<Schedule>,
    /// How smooth the target of least squares is in its kernel's space: it tunes, it never pays.
    pub regularity: Option<f64>,
    /// How large that space is: it tunes, it never pays.
    pub capacity: Option<f64>,
    /// Rows that a step uses; the expected number where they are sampled.
    pub batch: Option<u64>,
    /// The norm to which a row's gradient is clipped.
    pub clip: Option<f64>,
    /// The clip norm over the usual gradient, which is found privately.
    pub clip_part: Option<f64>,
    /// What a private choice of the clip norm may spend.
    pub clip_selection: Option<f64>,
    /// Where the grid of that choice begins.
    pub clip_low: Option<f64>,
    /// Where it ends.
    pub clip_high: Option<f64>,
    /// A declared bound on a moment of the gradients' lengths.
    pub gradient_moment: Option<f64>,
    /// The order of that moment.
    pub moment_order: Option<f64>,
    /// How often the bound may fail over the draw of the table.
    pub moment_failure: Option<f64>,
    /// Beyond this distance from the best weights the loss is declared to grow.
    pub growth_radius: Option<f64>,
    /// Bounds the curvature of the averaged loss, where the rows do not.
    pub smoothness: Option<f64>,
    /// Which iterate is released.
    pub output: Option<Output>,
    /// The exponent of the norm in which weights are measured.
    pub p: Option<f64>,
    /// Bounds the standard deviation of a row's gradient, where the rows do not.
    pub deviation: Option<f64>,
}

impl Request {
    /// Refuses a setting that was given and is not among `known`. Calibration and ridge are everyone's.
    ///
    /// # Errors
    ///
    /// [`PlanError::NotASetting`].
    pub fn only(&self, algorithm: &'static str, known: &[&str]) -> Result<(), PlanError> {
        let given = [
            ("noise", self.noise != NoiseChoice::Auto),
            ("steps", self.steps.is_some()),
            ("eta", self.eta.is_some()),
            ("adapt_eta", self.adapt_eta.is_some()),
            ("keep_common", self.keep_common.is_some()),
            ("distance", self.distance.is_some()),
            ("trajectory", self.trajectory),
            ("max_steps", self.max_steps.is_some()),
            ("passes", self.passes.is_some()),
            ("order", self.order.is_some()),
            ("exact", self.exact),
            ("schedule", self.schedule.is_some()),
            ("regularity", self.regularity.is_some()),
            ("capacity", self.capacity.is_some()),
            ("batch", self.batch.is_some()),
            ("clip", self.clip.is_some()),
            ("clip_part", self.clip_part.is_some()),
            ("clip_selection", self.clip_selection.is_some()),
            ("clip_low", self.clip_low.is_some()),
            ("clip_high", self.clip_high.is_some()),
            ("gradient_moment", self.gradient_moment.is_some()),
            ("moment_order", self.moment_order.is_some()),
            ("moment_failure", self.moment_failure.is_some()),
            ("growth_radius", self.growth_radius.is_some()),
            ("smoothness", self.smoothness.is_some()),
            ("output", self.output.is_some()),
            ("p", self.p.is_some()),
            ("deviation", self.deviation.is_some()),
        ];
        match given.into_iter().find(|(name, given)| *given && !known.contains(name)) {
            Some((name, _)) => Err(PlanError::NotASetting { algorithm, name }),
            None => Ok(()),
        }
    }
}
