//! Shrinkage: preconditioned weights are pulled towards zero by as much as their noise makes them
//! too large.
//!
//! # Rule
//!
//! With the preconditioner `P = (I − (1 − k)uuᵀ)D` of [`preconditioner`](super::preconditioner) a
//! model is `⟨ω, Dx⟩` with `ω = D⁻¹w`. To the loss is added `(μ/2)‖(I − uuᵀ)ω‖²`: all weights are
//! pulled but for their share in the mean direction `u` of the rows, which makes the mean
//! prediction. A step then goes against
//!
//! ```text
//! G_t + bμ(I − uuᵀ)D⁻¹w_t,      μ = h · x/(1 + x/c),      x = κ(ν² + h/n)d/(pSh),
//! ```
//!
//! for the noisy sum `G_t` of a batch of `b` rows, the noise `ν = τσ/(qn√T)` of all steps together
//! in the mean gradient of `n` rows, `d` features, a curvature `h = pR²/d` with `p = 0.12`, and
//! margins of the variance `S = 2`; `R` is the norm that preconditioned rows have, `κ` the setting
//! and `c` a limit.
//!
//! # Why
//!
//! Near the best weights `ω*` of a loss of curvature `h` the average of the iterates is
//! `(hω* + νz)/(h + μ)`, with standard normal `z`. Its mean squared distance from `ω*` is least at
//! `μ = ν²/(hτ²)`, where `τ²` is the variance of an entry of `ω*`: with margins of variance
//! `S = τ²R²` and `h = pR²/d` that is `ν²d/(pS)`, and the weights shrink by `h/(h + μ)`. The rows
//! are a sample too: the mean of their gradients at `ω*` varies by about `h/n` in each direction,
//! the Fisher information of one row over their number, which adds to the variance of the noise and
//! is what is left of it at large epsilon. Without it log-odds are too large, since
//! noise is added to them: their calibration slope was 0.5 at epsilon 0.1 and 0.7 to 0.87 at
//! epsilon 1. `x/(1 + x/c)` keeps signal where directions of large curvature stand out though the
//! mean one drowns. `ν² + h/n` falls as rows are added, and `μ` with it, so that the limit is the
//! minimiser itself. Without privacy nothing is pulled: the minimiser itself is released.
//!
//! # Privacy
//!
//! The weights, `P` and all numbers of the rule are public or have been paid for when it is
//! applied: post-processing.

use reticent_problem::Problem;

use super::{ClippedSgd, ClippedSgdPlan, NAME, preconditioner};
use crate::PlanError;
use crate::tuning::{CLASS_CURVATURE, CLASS_MARGIN_VARIANCE, SHRINKAGE_LIMIT};

impl ClippedSgd {
    /// Whether `shrinkage`, if it is given, is served.
    pub(super) fn check_shrinkage(&self, problem: &Problem) -> Result<(), PlanError> {
        let Some(shrinkage) = self.shrinkage else { return Ok(()) };
        if !(shrinkage.is_finite() && shrinkage >= 0.0) {
            return Err(PlanError::OutOfRange {
                name: "shrinkage",
                expected: "a finite number, 0 or more".to_owned(),
                got: shrinkage,
            });
        }
        if problem.loss.is_classification() && self.precondition.is_some() {
            return Ok(());
        }
        Err(PlanError::NotApplicable {
            algorithm: NAME,
            why: "shrinks preconditioned weights of classification; give `precondition` or leave `shrinkage` out".to_owned(),
        })
    }
}

impl ClippedSgdPlan {
    /// `bμ` for this clip norm; 0 where nothing is pulled.
    pub(super) fn pull(&self, clip: f64) -> f64 {
        let Some(shrinkage) = self.settings.shrinkage else { return 0.0 };
        let problem = &self.outline.problem;
        let features = problem.features.max(1) as f64;
        let norm = preconditioner::typical_norm(problem, self.settings.precondition);
        let rows = problem.rows.max(1) as f64;
        let noise = clip * self.noise_of_all_steps() / rows;
        if noise == 0.0 {
            return 0.0;
        }
        let curvature = CLASS_CURVATURE * norm * norm / features;
        let variance = noise * noise + curvature / rows;
        let suits = variance * features / (CLASS_CURVATURE * CLASS_MARGIN_VARIANCE);
        let x = shrinkage * suits / curvature;
        let mu = curvature * x / (1.0 + x / SHRINKAGE_LIMIT);
        if mu.is_finite() { self.batch as f64 * mu } else { 0.0 }
    }
}
