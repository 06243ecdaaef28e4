//! What a user may fix, for any algorithm: one word per idea, the same in every algorithm.

use crate::step::perturb::NoiseChoice;
use crate::{Calibration, PlanError};

/// What a user may fix; the rest is chosen without looking at data.
///
/// An algorithm takes the settings that it has and refuses the others ([`Request::only`]), so none is dropped silently.
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// A guess of the best weights' norm: it tunes, it never pays.
    pub distance: Option<f64>,
    /// Use the trajectory bound.
    pub trajectory: bool,
    /// Rows that a step uses; the expected number where they are sampled.
    pub batch: Option<u64>,
    /// The norm to which a row's gradient is clipped.
    pub clip: Option<f64>,
    /// The exponent of the norm in which weights are measured.
    pub p: Option<f64>,
    /// Bounds the curvature of the expected loss, where the rows do not.
    pub smoothness: Option<f64>,
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
            ("distance", self.distance.is_some()),
            ("trajectory", self.trajectory),
            ("batch", self.batch.is_some()),
            ("clip", self.clip.is_some()),
            ("p", self.p.is_some()),
            ("smoothness", self.smoothness.is_some()),
            ("deviation", self.deviation.is_some()),
        ];
        match given.into_iter().find(|(name, given)| *given && !known.contains(name)) {
            Some((name, _)) => Err(PlanError::NotASetting { algorithm, name }),
            None => Ok(()),
        }
    }
}
