//! Noise for queries whose sensitivity is measured in `l_q`, `q ≥ 2`: Gaussian, or generalised
//! Gaussian.
//!
//! # The law
//!
//! `GG_r(σ)`, `r ≥ 2`, has density `∝ exp(−‖z‖_r²/(2σ²))` on `R^d`; `E‖z‖_r² = dσ²`, and `r = 2` is
//! `N(0, σ²I)`.
//!
//! # Theorem
//!
//! A query of `l_r` sensitivity `s_r` plus `GG_r(σ)` is `μ`-GDP with `μ = √(r−1)·s_r/σ`. *Proof.*
//! Condition on the part of `z` off the line along the shift. On the line the density is
//! log-concave, and minus the second derivative of its logarithm is at most `(r−1)s_r²/σ²` for a
//! unit shift, because `½‖·‖_r²` is `(r−1)`-smooth. So its isoperimetric profile `I` has
//! `I I'' ≥ −μ²` and lies below the Gaussian one; hence the trade-off curve of the shift lies above
//! that of `N(0,1)` against `N(μ,1)`. ∎
//!
//! With sensitivity `s_q` in `‖·‖_q`, `s_r ≤ d^{1/r−1/q} s_q`, so `μ = √κ(r)·s_q/σ` with
//! `κ(r) = (r−1)d^{2/r−2/q}` ([`dual_smoothness`]). `T` adaptive uses compose to `√T·μ`; uses on
//! disjoint rows to the largest `μ`.
//!
//! Gaussian noise is the default: at equal `μ` its `E‖z‖_q²` was the smaller one in all cases
//! tried.
//!
//! The paper's calibration is by zCDP, `σ² = Tκ(r)s_q²/(2ρ)`; it prints `κ = min(1/(p−1), 2 ln d)`,
//! which is too small in the logarithmic regime: the constant is `κ(r)` as above
//! (`tests/it/geometry/lr_noise.rs`).

use reticent_data::{Sensitive, summation_depth};
use reticent_math::ln_gamma;
use reticent_noise::lattice::GeneralizedGaussianLattice;
use reticent_noise::{NoiseError, Purpose, Source, Stream};
use reticent_privacy::{Budget, Event, delta_upper, epsilon_upper, gaussian, rdp};
use reticent_problem::Problem;
use reticent_problem::geometry::{MirrorMap, dual_exponent, dual_smoothness, lp_norm};
use serde::{Deserialize, Serialize};

use super::noisy_sum::NoisySum;
use super::perturb::{self, NoiseChoice};
use crate::setting::Words as _;
use crate::{Calibration, PlanError};

/// The noise of each release of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LrNoise {
    /// `r`; two is Gaussian.
    pub r: f64,
    /// Bounds how far the released sum moves, in `l_r`, rounding of the sum included.
    pub sensitivity: f64,
    /// `σ` over the sensitivity.
    pub noise_multiplier: f64,
    /// `σ`, the share of the grid not included.
    pub sigma: f64,
}

/// How often rows are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uses {
    /// Every row in each of this many releases.
    Each(u64),
    /// Every row in at most one release.
    Once,
}

/// The `μ` that a budget allows the whole run: exactly, or by the paper's zCDP.
///
/// # Errors
///
/// The accountant's, for an illegal budget.
pub fn total_mu(calibration: Calibration, epsilon: f64, delta: f64) -> Result<f64, PlanError> {
    Ok(match calibration {
        Calibration::Tight => gaussian::mu_lower(epsilon, delta)?,
        Calibration::Paper => (2.0 * rdp::zcdp_rho(epsilon, delta)?).sqrt(),
    })
}

/// `σ = √(Tκ(r))·s_q/μ`: for `uses` releases of `l_q` sensitivity `s_q` that together are `μ`-GDP.
pub fn noise_sigma(kappa: f64, sensitivity: f64, uses: f64, mu: f64) -> f64 {
    (uses * kappa).sqrt() * sensitivity / mu
}

/// Bounds `E‖z‖_q²` for `z ~ N(0, I)`: `d^{2/q}·min(2(Γ((q+1)/2)/√π)^{2/q}, 2 ln d + 2)`.
pub fn gaussian_square_bound(dimension: usize, q: f64) -> f64 {
    let ln = (dimension as f64).ln();
    if q == f64::INFINITY {
        return 2.0 * ln + 2.0;
    }
    let moment = (ln_gamma(0.5 * (q + 1.0)) - 0.5 * std::f64::consts::PI.ln()) * 2.0 / q;
    (2.0 / q * ln).exp() * (2.0 * moment.exp()).min(2.0 * ln + 2.0)
}

/// The logarithm of the density of `GG_r(σ)`.
pub fn log_density(z: &[f64], r: f64, sigma: f64) -> f64 {
    let d = z.len() as f64;
    let constant = d * (std::f64::consts::LN_2 + ln_gamma(1.0 + 1.0 / r)) - ln_gamma(1.0 + d / r)
        + 0.5 * d * (2.0 * sigma * sigma).ln()
        + ln_gamma(1.0 + 0.5 * d);
    -0.5 * (lp_norm(z, r) / sigma).powi(2) - constant
}

/// Bounds what one record adds to a computed sum of `rows` vectors of norm at most `clip`.
///
/// Each term passes through at most `depth` additions, and its product rounds too, so with unit
/// roundoff `u` a computed sum is within `1.1u(depth + 3)·rows·clip` of the exact one, in any of
/// the norms: the error of an entry is that share of the sum of sizes. Two sums err twice.
pub(crate) fn rounded(clip: f64, problem: &Problem, rows: usize) -> f64 {
    let depth = summation_depth(problem, rows, problem.dimension()) as f64 + 3.0;
    clip * (1.0 + 1.1 * f64::EPSILON * depth * rows as f64)
}

impl LrNoise {
    /// The noise for sums whose `l_q` sensitivity is `dual` and, where known, whose Euclidean one
    /// is `direct`, with the event of the whole run. Weights are measured in `l_p`.
    pub(crate) fn plan(
        choice: NoiseChoice,
        p: f64,
        dimension: usize,
        (dual, direct): (f64, Option<f64>),
        uses: Uses,
        calibration: Calibration,
        budget: Budget,
    ) -> Result<(Self, Event), PlanError> {
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        let total = total_mu(calibration, epsilon, delta)?;
        let q = dual_exponent(p);
        let r = exponent(choice, p, dimension)?;
        let stretched = (dual_smoothness(r, q, dimension) / (r - 1.0)).sqrt() * (1.0 + 1e-14);
        let sensitivity = match direct {
            Some(direct) if r == 2.0 => direct.min(stretched * dual),
            _ => stretched * dual,
        };
        let count = match uses {
            Uses::Each(times) => times as f64,
            Uses::Once => 1.0,
        };
        // A hair more than the least, so that the accountant's epsilon, rounded up, keeps the
        // budget too.
        for slack in [1e-11, 1e-9, 1e-7, 1e-5] {
            let mu = total * (1.0 - slack) / count.sqrt();
            let noise_multiplier = (r - 1.0).sqrt() / mu;
            let sigma = noise_multiplier * sensitivity;
            let noise = Self { r, sensitivity, noise_multiplier, sigma };
            let event = noise.event(uses, budget);
            if delta_upper(&event, epsilon)? <= delta && epsilon_upper(&event, delta)? <= epsilon {
                return Ok((noise, event));
            }
        }
        Err(PlanError::OutOfRange {
            name: "epsilon",
            expected: "one that the accountant can reach with this delta".to_owned(),
            got: epsilon,
        })
    }

    /// The event charged to the budget.
    fn event(&self, uses: Uses, budget: Budget) -> Event {
        let adjacency = budget.adjacency;
        let mu = (self.r - 1.0).sqrt() / self.noise_multiplier * (1.0 + 1e-15);
        match (self.r == 2.0, uses) {
            (true, Uses::Each(times)) => {
                let one = Event::Gaussian { noise_multiplier: self.noise_multiplier, adjacency };
                Event::Repeated { event: Box::new(one), times }
            }
            (true, Uses::Once) => Event::EpochPartitionGaussian {
                passes: 1,
                // In units of what one row adds.
                noise_multiplier: self.noise_multiplier * adjacency.sum_sensitivity(),
                adjacency,
            },
            (false, Uses::Each(times)) => {
                Event::Gdp { mu: mu * (times as f64).sqrt() * (1.0 + 1e-15), adjacency }
            }
            (false, Uses::Once) => Event::Gdp { mu, adjacency },
        }
    }

    /// Bounds `E‖z‖_q²`.
    pub(crate) fn square_bound(&self, q: f64, dimension: usize) -> f64 {
        self.sigma * self.sigma * unit_square_bound(self.r, q, dimension)
    }

    /// The standard deviation of a coordinate: `E z_j² = dσ² E(v_j²/‖v‖_r²)` for independent `v_j`
    /// of density `∝ e^{−|v|^r}`, whose direction and norm are independent.
    pub fn deviation(&self, dimension: usize) -> f64 {
        let (d, r) = (dimension as f64, self.r);
        let ratio = |a: f64| ln_gamma(a + 2.0 / r) - ln_gamma(a);
        self.sigma * (d * (ratio(1.0 / r) - ratio(d / r)).exp()).sqrt()
    }

    /// Ready to draw for vectors of this dimension.
    pub(crate) fn drawer(&self, dimension: usize, source: &Source) -> Result<LrDrawer, NoiseError> {
        let Self { r, sensitivity, noise_multiplier, .. } = *self;
        if r == 2.0 {
            return NoisySum::new(sensitivity, noise_multiplier, dimension, source)
                .map(LrDrawer::Gaussian);
        }
        let law = GeneralizedGaussianLattice::new(sensitivity, noise_multiplier, r, dimension)?;
        Ok(LrDrawer::General(Box::new((law, source.stream(Purpose::Noise)))))
    }
}

/// `E‖z‖_q²` over `σ²`, bounded.
pub(crate) fn unit_square_bound(r: f64, q: f64, dimension: usize) -> f64 {
    if r == 2.0 { gaussian_square_bound(dimension, q) } else { dimension as f64 }
}

/// The `r` of the noise that was chosen.
pub(crate) fn exponent(choice: NoiseChoice, p: f64, dimension: usize) -> Result<f64, PlanError> {
    match choice {
        NoiseChoice::Auto | NoiseChoice::Gaussian => Ok(2.0),
        NoiseChoice::GeneralizedGaussian => Ok(MirrorMap::new(p, dimension).r),
        NoiseChoice::Ball | NoiseChoice::EachStep => Err(PlanError::BadChoice {
            name: "noise",
            expected: "auto, gaussian or generalized-gaussian for noise in every step".to_owned(),
            got: choice.name().to_owned(),
        }),
    }
}

/// Draws the noise of one run.
pub(crate) enum LrDrawer {
    Gaussian(NoisySum),
    General(Box<(GeneralizedGaussianLattice, Stream)>),
}

impl LrDrawer {
    /// Adds noise. The event of the plan has paid for what comes out.
    pub(crate) fn release(&mut self, sum: Sensitive<Vec<f64>>) -> Vec<f64> {
        match self {
            Self::Gaussian(noise) => noise.release(sum),
            Self::General(general) => {
                let (law, stream) = general.as_mut();
                perturb::release_general(sum, law, stream)
            }
        }
    }
}
