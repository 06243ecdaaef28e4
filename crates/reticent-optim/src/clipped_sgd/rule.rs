//! Clip norm and step length by the rule that was asked for, and what the theorem behind it
//! promises.

use reticent_problem::Problem;

use super::rates::{self, Gap, RunSize};
use super::tails::eta_nonconvex;
use super::{Clip, ClippedSgd, NAME};
use crate::{Calibration, PlanError};

/// Clip norm, step length and bounds that a rule derives from a run's size.
pub(super) struct ClipRule {
    /// `τ`; none if it is chosen privately.
    pub(super) clip: Option<f64>,
    /// `ητ`.
    pub(super) stride: f64,
    /// Where they come from.
    pub(super) theorem: String,
    /// Bounds the expected excess, where the theorem does.
    pub(super) excess: Option<f64>,
    /// Bounds the expected squared gradient of a network.
    pub(super) squared_gradient: Option<f64>,
}

impl ClippedSgd {
    /// Clip norm, step length and what the theorem behind them promises: nothing, if the length or
    /// the rows do not stay the theorem's.
    pub(super) fn apply_rule(
        &self,
        problem: &Problem,
        shape: &RunSize,
        warnings: &mut Vec<String>,
    ) -> Result<ClipRule, PlanError> {
        let rule = self.fixed_rule(problem, shape, warnings)?;
        let but = match (self.adaptive_step, self.precondition.is_some()) {
            (false, false) => return Ok(rule),
            (true, false) => "the adaptive step size",
            (false, true) => "the preconditioned rows",
            (true, true) => "the adaptive step size and the preconditioned rows",
        };
        let theorem = format!("{}, but for {but}", rule.theorem);
        Ok(ClipRule { theorem, excess: None, squared_gradient: None, ..rule })
    }

    fn fixed_rule(
        &self,
        problem: &Problem,
        shape: &RunSize,
        warnings: &mut Vec<String>,
    ) -> Result<ClipRule, PlanError> {
        let radius = problem.domain.radius();
        let distance = self.distance_in(problem);
        let (total, second) = (shape.total(), shape.second_moment());
        let largest = problem.regularity().lipschitz;
        let c = distance / std::f64::consts::SQRT_2;
        let tight = self.calibration == Calibration::Tight;
        let stride = if tight { shape.eta_tight(distance, 1.0) } else { shape.eta_general(c, 1.0) };
        let plain = |clip, theorem: &str| ClipRule {
            clip,
            stride,
            theorem: theorem.to_owned(),
            excess: None,
            squared_gradient: None,
        };
        let (moment, growth_radius, smoothness) = match self.clip {
            Clip::Public { norm } if problem.hidden.is_some() => {
                return Ok(plain(Some(norm), "a public clip norm; no theorem for the network"));
            }
            Clip::Public { norm } => {
                // Nothing is cut at or above the largest gradient, and then no bias is left.
                let gap = Gap { largest, clip: norm, alpha: 1.0, interpolation: 0.0 };
                let excess = (norm >= largest).then(|| {
                    if tight {
                        shape.bound_tight(distance, &gap)
                    } else {
                        rates::thm_h1_bound(distance, c, total, &gap)
                    }
                });
                return Ok(ClipRule {
                    excess,
                    ..plain(Some(norm), "a public clip norm; Theorem H.1")
                });
            }
            Clip::Selected { .. } | Clip::Quantile { .. } => {
                return Ok(plain(None, "a private order statistic; Theorem H.1"));
            }
            Clip::Moments { moment, growth_radius, smoothness } => {
                (moment, growth_radius, smoothness)
            }
        };
        if problem.hidden.is_some() {
            let Some(smoothness) = smoothness else {
                return Err(PlanError::NotApplicable {
                    algorithm: NAME,
                    why: "needs `smoothness` for the moments of a network (Theorem N.1): declare it, or give `clip`".to_owned(),
                });
            };
            // At zero weights of the output layer every row has the loss of zero margins.
            let gap = problem.regularity().value_at_zero;
            let c = (2.0 * gap / 3.0).sqrt();
            let clip = moment.clip_nonconvex(total, c, smoothness);
            return Ok(ClipRule {
                clip: Some(clip),
                stride: clip * eta_nonconvex(c, shape.steps, clip, smoothness, total),
                theorem: "declared moments; Theorem N.1".to_owned(),
                excess: None,
                squared_gradient: Some(moment.bound_nonconvex(total, c, smoothness, gap)),
            });
        }
        let rule = |clip, stride, theorem: &str, excess| ClipRule {
            clip: Some(clip),
            stride,
            theorem: theorem.to_owned(),
            excess: Some(excess),
            squared_gradient: None,
        };
        if radius.is_finite() {
            let diameter = 2.0 * radius;
            return Ok(if tight {
                let clip = moment.clip_constrained_tight(shape.steps, second);
                let excess = moment.bound_constrained_tight(shape.steps, second, diameter);
                let stride = shape.eta_tight(diameter, 1.0);
                rule(clip, stride, "declared moments; Theorem I.1, sharp", excess)
            } else {
                let excess = moment.bound_constrained(total, diameter);
                let (clip, stride) =
                    (moment.clip_constrained(total), shape.eta_general(diameter, 1.0));
                rule(clip, stride, "declared moments; Theorem I.1", excess)
            });
        }
        let stride = shape.eta_general(c, 1.0);
        if let Some(growth) = growth_radius {
            if shape.noise_energy() >= 1.0 {
                let excess = moment.bound_sharp(total, shape.phi(), c, distance, growth);
                return Ok(rule(
                    moment.clip_sharp(total),
                    stride,
                    "declared moments; Theorem K.1",
                    excess,
                ));
            }
            warnings.push("the noise is too small for Theorem K.1, whose condition is T >= 1/phi^2; Theorem J.1 is used".to_owned());
        }
        let excess = moment.bound_unconstrained(total, c, distance);
        Ok(rule(moment.clip_unconstrained(total), stride, "declared moments; Theorem J.1", excess))
    }
}
