//! The rows' common direction, found privately and shortened.
//!
//! # Algorithm
//!
//! Before the first step the sum of all rows is released with noise, `m = Σ x_i + Bσ_m z` for rows of norm at most `B`. With `u = m/‖m‖` and
//! `P = I − (1 − k)uuᵀ` the steps are those of DP-SGD on the rows `P x_i`, for weights `v`. The model `⟨v, Px⟩ = ⟨Pv, x⟩` is kept as
//! `w = Pv`:
//!
//! ```text
//! g_t = (Σ clip_τ(P ∇ℓ_i(w_t)) + τσ z_t)/b,      w_{t+1} = w_t − ηP g_t.
//! ```
//!
//! # Theorem (privacy)
//!
//! The release is the event `PoissonGaussian(1, σ_m, 1)`, then `PoissonGaussian(q, σ, T')`.
//!
//! *Proof.* A row that joins moves `Σ x_i` by at most `B`, a replaced one by at most `2B`: the Gaussian mechanism in clip units, with every row
//! in the batch. `u` is a function of what it released, so for the steps `P` is public, and `P∇ℓ_i` is one more vector per row that is cut to
//! `τ`. The step is a function of the noisy sum and of `P`. ∎
//!
//! Rounding is paid for by [`row_sum_rounding`] and [`shortened_rounding`](reticent_data::shortened_rounding).
//!
//! # Why it helps
//!
//! The noise of a step is `τσ`, and `τ` has to be about as long as gradients are. Where half or nearly all of the rows' energy is in one
//! direction, which one or two numbers describe, `‖P∇ℓ‖` is a half or a third of `‖∇ℓ‖`, and so is the noise in all other directions. Finding `u`
//! takes about a tenth of the budget where steps are many ([`RATIO`]): its error, `Bσ_m√d` of `‖Σ x_i‖`, need only be small beside `k`.
//!
//! Where more than half of `‖m‖²` is likely noise, `‖m‖² < 2dB²σ_m²`, `u` would be a random direction: nothing is shortened then. That is
//! decided by what was released.
//!
//! Without constraint and ridge the minimiser is the same for every `k`: where the gradient is zero, so is `P` times it. With them the steps in
//! `v` would stand for another set and another ridge, so they are refused.

use reticent_data::{Common, Oracle, Sensitive, row_sum_rounding};
use reticent_noise::Source;
use reticent_noise::fast::FastGaussian;
use reticent_privacy::Event;
use reticent_problem::{Domain, Problem};

use super::{ClippedSgd, ClippedSgdPlan, NAME};
use crate::step::noisy_sum::NoisySum;
use crate::{Calibration, PlanError, RunError};

/// `σ_m` over the noise of all steps together, `σ/(q√T')`: a tenth of the whole in squares, where many sampled steps are as good as one step on
/// all rows.
const RATIO: f64 = 3.0;

/// What rows keep of their norm, about, where little is kept of their common direction.
const USUAL_SIZE: f64 = 0.6;

/// The usual size of a row, over whose inverse guesses of weights and steps are made.
pub(crate) fn usual_size(problem: &Problem, keep: Option<f64>) -> f64 {
    let norm = problem.bounds.norm();
    keep.map_or(norm, |keep| norm * USUAL_SIZE.max(keep))
}

/// `σ_m`.
pub(super) fn noise_multiplier(steps_multiplier: f64, rate: f64, steps: u64) -> f64 {
    RATIO * steps_multiplier / (rate * (steps as f64).sqrt())
}

/// Length and noise of what is released: what a row adds to the sum at most, rounding included, and `σ_m`.
fn lengths(problem: &Problem, steps_multiplier: f64, rate: f64, steps: u64) -> (f64, f64) {
    let longest = problem.bounds.norm() * row_sum_rounding(problem);
    (longest, noise_multiplier(steps_multiplier, rate, steps))
}

/// Refuses what noise would hide: a sum that is not at least twice as long as its noise, though all rows were equal and as long as they may be.
/// That its noise can be drawn is seen to as well, so that a run cannot fail for want of it.
pub(super) fn check_noise(
    problem: &Problem,
    steps_multiplier: f64,
    rate: f64,
    steps: u64,
) -> Result<(), PlanError> {
    let (longest, multiplier) = lengths(problem, steps_multiplier, rate, steps);
    FastGaussian::new(longest, multiplier, problem.features)?;
    let least = 2.0 * multiplier * (problem.features as f64).sqrt();
    if problem.rows as f64 >= least {
        return Ok(());
    }
    Err(PlanError::NotApplicable {
        algorithm: NAME,
        why: format!(
            "cannot tell the rows' common direction from noise with fewer than {least:.0} rows at this epsilon; leave `keep_common` out"
        ),
    })
}

/// Whether the common direction of such rows can be shortened at all.
pub(crate) fn is_applicable(problem: &Problem) -> bool {
    problem.hidden.is_none()
        && problem.ridge == 0.0
        && matches!(problem.domain, Domain::Unbounded)
        && problem.bounds.norm().is_finite()
}

impl ClippedSgd {
    /// Whether `keep_common`, if it is given, can be kept.
    pub(super) fn check_common(&self, problem: &Problem) -> Result<(), PlanError> {
        let Some(keep) = self.keep_common else { return Ok(()) };
        if !(Common::LEAST..=1.0).contains(&keep) {
            return Err(PlanError::OutOfRange {
                name: "keep_common",
                expected: format!("between {} and 1", Common::LEAST),
                got: keep,
            });
        }
        let why = if !is_applicable(problem) {
            "shortens the common direction of rows with a bound on their norm, for linear models without ridge and constraint; leave `keep_common` out"
        } else if self.calibration == Calibration::Paper {
            "shortens the common direction with the tight calibration only; leave `keep_common` out, or take that"
        } else {
            return Ok(());
        };
        Err(PlanError::NotApplicable { algorithm: NAME, why: why.to_owned() })
    }
}

/// What was released; zeros, for which nothing is shortened, if more than half of its square is likely noise.
fn told(mut noisy: Vec<f64>, sigma: f64) -> Vec<f64> {
    let square: f64 = noisy.iter().map(|x| x * x).sum();
    if square < 2.0 * sigma * sigma * noisy.len() as f64 {
        noisy.fill(0.0);
    }
    noisy
}

/// Releases the sum of the rows with noise, and takes its direction; none where it is not shortened.
pub(super) fn find(
    plan: &ClippedSgdPlan,
    oracle: &dyn Oracle,
    source: &Source,
) -> Result<Option<Common>, RunError> {
    let Some(keep) = plan.settings.keep_common else { return Ok(None) };
    let problem = &plan.outline.problem;
    let steps = plan.output.noisy_steps(plan.outline.steps).max(1);
    let mut noise = if plan.outline.event == Event::NotPrivate {
        NoisySum::without_noise()
    } else {
        let (longest, multiplier) =
            lengths(problem, plan.noise_multiplier, plan.sample_rate, steps);
        NoisySum::new(longest, multiplier, problem.features, source)?
    };
    let mut sum = Sensitive::new(vec![0.0; problem.features]);
    oracle.row_sum(&mut sum);
    oracle.whole()?;
    Ok(Some(Common::new(told(noise.release(sum), noise.sigma()), keep)))
}

#[cfg(test)]
mod tests {
    use super::told;

    #[test]
    fn a_direction_that_noise_hides_is_none() {
        assert_eq!(told(vec![3.0, 4.0], 2.0), [3.0, 4.0]);
        assert_eq!(told(vec![3.0, 4.0], 3.0), [0.0, 0.0]);
        assert_eq!(told(vec![1e-3, 0.0], 0.0), [1e-3, 0.0], "without noise nothing is hidden");
    }
}
