//! How much noise: from the budget to `σ₁`, `σ₂` and the event, tight and as in the paper.
//!
//! # Units of several rows
//!
//! Let a record be a unit of up to `m` rows, `ℓ_v = Σ_i c_i ℓ_i` with `c_i ≥ 0`, `Σ c_i ≤ 1`. Its
//! gradient has norm at most `L`. The parts that were due to one row change:
//!
//! - *Curvature.* A row's Hessian has rank at most `k` and trace at most `T` (`k` times what stands
//!   beside it in `ε_det`: `β` for one margin, `B²(1 − 1/K)` for softmax), so `∇²ℓ_v` has rank at
//!   most `mk`, at most `dk` besides, and trace at most `T`. With `A ⪰ ΛI` the Hessian of the rest,
//!   `ln det(I + A⁻¹∇²ℓ_v)` is at most `Σ ln(1 + e_j/Λ)` over the eigenvalues `e_j` of `∇²ℓ_v`,
//!   whose sum is at most `T`; the logarithm is concave, so with `r = k min(m, d)` of them that is
//!   at most `r ln(1 + T/(rΛ))`: rank `r` and curvature `T/r`.
//! - *Linear term.* At any weights `∇ℓ_v` is `Σ c_i u_i`, `u_i` a multiple of row `i` of norm at
//!   most `L` (for softmax a residual that sums to zero times the row): the bound for units
//!   ([`ObjectiveClass::Unit`]) holds, which does not grow with `m`. All of it lies in the span of
//!   the unit's rows, a fixed subspace of `min(m, d)` dimensions (times `K − 1`), of twice as many
//!   rows where a unit takes another's place: where that has few dimensions, the bound for a
//!   subspace, `⟨b, v⟩ ≤ ‖Π b‖‖v‖`, may be the lesser, and the lesser is charged.
//!
//! # Errata
//!
//! The supplement that brings the method to constraint sets prints, in its algorithm for the exact
//! minimiser, a ridge of `λ ≥ rβ/(2εn)` with `r = min(d, 2·rank)`. For `d < 2·rank` the curvature
//! term then takes nearly all of `ε`, and the noise of the linear term is not enough: `δ(0.1)` is
//! 2.8e-5 where 1e-8 was promised (the test `the_printed_ridge_leaks_and_ours_does_not`). Its
//! approximate algorithm spends `(ε, δ)` on the minimiser and then `(ε/2, δ/2)` more; here each
//! half gets its half. And the difference of two rows' gradients is a function of `b`, so
//! `⟨b, difference⟩` is no Gaussian: for a loss of one product the worst difference is a corner of
//! a box, for softmax its direction is free in a subspace of `2(K−1)` dimensions
//! ([`ObjectiveClass`]).

use reticent_noise::lattice::GaussianLattice;
use reticent_privacy::objective::{self, Objective};
use reticent_privacy::{
    Adjacency, Budget, Event, ObjectiveClass, PrivacyError, delta_upper, epsilon_upper,
};
use reticent_problem::{Loss, Problem, Regularity};

use super::NAME;
use super::certificate::CertificateInputs;
use super::curvature::{CurvaturePlan, Wanted};
use crate::step::perturb::Noise;
use crate::{Calibration, PlanError};

/// The share of the linear term's squared slope that the output noise takes, tight: `mu2² = f₂a²`.
const OUTPUT_SHARE: f64 = 0.01;

/// The problem's constants in the theorem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// The class of the loss.
    pub class: ObjectiveClass,
    /// `L`.
    pub lipschitz: f64,
    /// Rank of a row's Hessian.
    pub rank: f64,
    /// The curvature beside the rank in `ε_det`: `β`, and `B²/K` for softmax.
    pub curvature: f64,
    /// `n`.
    pub rows: f64,
    /// The adjacency under which the bound holds.
    pub adjacency: Adjacency,
    /// The curvature release beside the minimiser, if any.
    pub curvature_release: Option<Wanted>,
}

impl Case {
    /// The case of a problem with a smooth loss.
    pub fn of(problem: &Problem, k: &Regularity, adjacency: Adjacency) -> Self {
        let norm = problem.bounds.norm();
        let mut lipschitz = k.lipschitz;
        let (class, curvature) = match problem.loss {
            Loss::Softmax { classes } => {
                // A row's gradient is a residual, which sums to zero, times the row: the rows
                // before and after span the subspace. A single feature leaves them on one line.
                let one = classes as u32 - 1;
                let both = adjacency.replaces() && problem.features > 1;
                let dimension = if both { 2 * one } else { one };
                (ObjectiveClass::Subspace { dimension }, norm * norm / classes as f64)
            }
            // The sharper bound needs the whole range of slopes; a small set cuts it short and
            // gains more by that.
            Loss::Logistic if lipschitz >= 0.95 * norm => {
                lipschitz = norm;
                (ObjectiveClass::Logistic, 0.25 * norm * norm)
            }
            loss => {
                let class = if loss.is_monotone() {
                    ObjectiveClass::Monotone
                } else {
                    ObjectiveClass::TwoSided
                };
                (class, k.smoothness.unwrap_or(f64::INFINITY))
            }
        };
        let one = Self {
            class,
            lipschitz,
            rank: k.hessian_rank as f64,
            curvature,
            rows: problem.rows as f64,
            adjacency,
            curvature_release: None,
        };
        match problem.rows_of_a_record() {
            1 => one,
            rows => one.of_units(problem, k, rows),
        }
    }

    /// The same with a further release beside the minimiser.
    pub(super) fn releasing(self, curvature_release: Option<Wanted>) -> Self {
        Self { curvature_release, ..self }
    }

    /// The case of records that are units of up to `rows` rows: see the header.
    fn of_units(self, problem: &Problem, k: &Regularity, rows: usize) -> Self {
        let most = rows.min(problem.features) as f64;
        let directions = problem.loss.outputs().saturating_sub(1).max(1);
        let rows = if self.adjacency.replaces() { rows.saturating_mul(2) } else { rows };
        let dimension = directions.saturating_mul(rows.min(problem.features));
        let dimension = u32::try_from(dimension).unwrap_or(u32::MAX);
        let monotone = directions == 1 && problem.loss.is_monotone();
        let directions = u32::try_from(directions).unwrap_or(u32::MAX);
        Self {
            class: ObjectiveClass::Unit { dimension, directions, monotone },
            lipschitz: k.lipschitz,
            rank: self.rank * most,
            curvature: self.curvature / most,
            ..self
        }
    }

    /// `ε_det` of a ridge of this modulus on the average.
    pub fn epsilon_det(&self, modulus: f64) -> f64 {
        objective::epsilon_det(self.rank, self.curvature, self.rows * modulus)
    }

    /// Half the least `ν` with `ε_det ≤ budget` beside a ridge `mu`.
    pub(crate) fn least_extra(&self, mu: f64, budget: f64) -> f64 {
        least_lambda(self.rank, self.curvature + mu, self.rows, budget, mu)
    }

    fn objective(&self, modulus: f64) -> Objective {
        Objective {
            class: self.class,
            epsilon_det: self.epsilon_det(modulus),
            slope: 0.0,
            output_mu: 0.0,
            adjacency: self.adjacency,
        }
    }

    /// `mu2²/a²`. For a subspace and for units it is a share of `mu = Δ/σ₁` instead, which is `2a`
    /// when a row is replaced.
    fn output_share(&self) -> f64 {
        match self.class {
            ObjectiveClass::Subspace { .. } | ObjectiveClass::Unit { .. } => {
                OUTPUT_SHARE * self.adjacency.sum_sensitivity().powi(2)
            }
            _ => OUTPUT_SHARE,
        }
    }

    /// `σ₂` over the sensitivity, tight.
    fn output_multiplier(&self, sigma: f64) -> f64 {
        sigma / (self.lipschitz * self.output_share().sqrt())
    }

    /// The least `σ₁` for this ridge, output noise and further releases included.
    ///
    /// # Errors
    ///
    /// The accountant's, if the curvature term leaves nothing.
    pub fn sigma(&self, modulus: f64, epsilon: f64, delta: f64) -> Result<f64, PrivacyError> {
        let share = self.output_share() + self.curvature_release.map_or(0.0, |wanted| wanted.ratio);
        self.objective(modulus).sigma_upper(self.lipschitz, share, epsilon, delta)
    }
}

/// The least `λ ≥ 0` with `k·ln(1 + β/(n(2λ + μ))) ≤ budget`, where `smoothness = β + μ` includes
/// the quadratic.
pub fn least_lambda(rank: f64, smoothness: f64, rows: f64, budget: f64, mu: f64) -> f64 {
    (0.5 * ((smoothness - mu) / (rows * (budget / rank).exp_m1()) - mu)).max(0.0)
}

/// The paper's `σ₁ = L√(128 ln(2/δ))/ε`, with half of the budget for the minimiser.
pub fn paper_sigma(lipschitz: f64, epsilon: f64, delta: f64) -> f64 {
    lipschitz * (128.0 * (2.0 / delta).ln()).sqrt() / epsilon
}

/// The paper's `σ₂ = √(64 α ln(2.5/δ)/λ)/ε` for a minimiser with gap `α` and ridge `λ‖w‖²`.
pub fn paper_output_sigma(gap: f64, lambda: f64, epsilon: f64, delta: f64) -> f64 {
    (64.0 * gap * (2.5 / delta).ln() / lambda).sqrt() / epsilon
}

/// The paper's gap `α = min(LR/n^1.5, ε²LR³/(G² ln(1/δ) n^2.5))`, `R` the radius and `G` the width
/// of the set.
pub fn paper_gap(
    lipschitz: f64,
    radius: f64,
    width: f64,
    epsilon: f64,
    delta: f64,
    rows: f64,
) -> f64 {
    let first = lipschitz * radius / rows.powf(1.5);
    let second = epsilon * epsilon * lipschitz * radius.powi(3)
        / (width * width * (1.0 / delta).ln() * rows.powf(2.5));
    first.min(second)
}

/// The noise of a plan and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// `σ₁`; zero if nothing is promised.
    pub sigma: f64,
    /// `ρ`, raised to what rounding allows.
    pub tolerance: f64,
    /// `2(ρ + r/Λ)`.
    pub sensitivity: f64,
    /// The noise added to the minimiser.
    pub noise: Noise,
    /// The event charged to the budget.
    pub event: Event,
    /// The curvature release beside the minimiser, if any.
    pub curvature: Option<CurvaturePlan>,
}

impl Planned {
    /// `σ₂`; zero if nothing is promised.
    pub(super) fn output(&self) -> f64 {
        match self.noise {
            Noise::Gaussian { sigma, .. } => sigma,
            _ => 0.0,
        }
    }
}

/// How far the drawn linear term may lie from an ideal one: each number is rounded to a multiple of
/// `2^-28` standard deviations and then multiplied.
pub(crate) fn draw_error(sigma: f64, dimension: usize) -> f64 {
    let root = (dimension as f64).sqrt();
    sigma * (root / (1_u64 << 29) as f64 + f64::EPSILON * certificate_norm(dimension))
}

/// A bound on the norm of a standard normal vector that fails with probability below `e^-800`, less
/// than the slack of any total variation here.
pub(super) fn certificate_norm(dimension: usize) -> f64 {
    (dimension as f64).sqrt() + 40.0
}

/// The loss that the linear term is planned for, and the most by which the output noise may differ
/// from a Gaussian.
///
/// The lattice has at least `2^40` cells. Its term in delta grows like `e^ε`: where that matters,
/// at huge `ε`, less loss is promised than was allowed.
pub(super) fn promised(budget: Budget, dimension: usize) -> (f64, f64) {
    let variation = dimension as f64 / (16.0 * 2_f64.powi(80));
    let affordable = (1e-3 * budget.delta.get() / variation).ln_1p().max(1e-3);
    (budget.epsilon.get().min(affordable), variation)
}

/// `ρ`, raised to what rounding allows, and `2(ρ + r/Λ)`. `scale` is the length on which the
/// weights live.
fn lengths(
    shape: &CertificateInputs,
    wanted: f64,
    scale: f64,
    sigma: f64,
    multiplier: f64,
) -> (f64, f64) {
    // Below the last of these the noise would drown in the rounding of the weights.
    let tolerance = wanted.max(shape.floor(sigma)).max(1e-12 * scale / multiplier);
    let moved = draw_error(sigma, shape.dimension) / (shape.rows * shape.modulus);
    (tolerance, 2.0 * (tolerance + moved) * (1.0 + 1e-12))
}

/// About the `σ₂` that goes with this `σ₁`, tight: a ridge that is too small for the rounding of
/// the gradients makes it large.
pub(super) fn output_sigma(
    case: &Case,
    shape: &CertificateInputs,
    wanted: f64,
    scale: f64,
    sigma: f64,
) -> f64 {
    let multiplier = case.output_multiplier(sigma);
    multiplier * lengths(shape, wanted, scale, sigma, multiplier).1
}

/// Plans both draws. `scale` is the length on which the weights live.
pub(super) fn plan(
    case: &Case,
    shape: &CertificateInputs,
    modulus: f64,
    wanted: f64,
    scale: f64,
    budget: Budget,
    calibration: Calibration,
) -> Result<Planned, PlanError> {
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    if epsilon.is_infinite() {
        let tolerance = wanted.max(shape.floor(0.0));
        let (sigma, noise, event) = (0.0, Noise::None, Event::NotPrivate);
        let sensitivity = 2.0 * tolerance;
        let curvature = case.curvature_release.map(|wanted| wanted.plan(None, case.adjacency));
        let curvature = curvature.transpose()?.map(|(plan, _)| plan);
        return Ok(Planned { sigma, tolerance, sensitivity, noise, event, curvature });
    }
    let dimension = shape.dimension;
    let (promised, variation) = promised(budget, dimension);
    let mut reserve = (1.0 + promised.exp()) * variation;
    loop {
        let (sigma, multiplier) = match calibration {
            Calibration::Paper => {
                // The gap that goes with ρ is λρ², so the ratio of the output noise to 2ρ does not
                // depend on either.
                let output = paper_output_sigma(1.0, 1.0, epsilon, delta);
                (paper_sigma(case.lipschitz, epsilon, delta), 0.5 * output)
            }
            Calibration::Tight => {
                // A hair more than the least, so that the accountant's epsilon, rounded up, keeps
                // the budget too.
                let sigma = case.sigma(modulus, promised, delta - reserve)? * (1.0 + 1e-10);
                (sigma, case.output_multiplier(sigma))
            }
        };
        let (tolerance, sensitivity) = lengths(shape, wanted, scale, sigma, multiplier);
        let lattice = GaussianLattice::new(sensitivity, multiplier, dimension)?;
        let inner = Event::ObjectivePerturbation {
            class: case.class,
            epsilon_det: case.epsilon_det(modulus),
            slope: case.lipschitz / sigma,
            output_mu: 1.0 / multiplier,
            adjacency: case.adjacency,
        };
        let total_variation = lattice.total_variation();
        let event = Event::Approximated { inner: Box::new(inner), total_variation };
        let slope = Some(case.lipschitz / sigma);
        let curvature = case.curvature_release.map(|wanted| wanted.plan(slope, case.adjacency));
        let (curvature, event) = match curvature.transpose()? {
            Some((plan, second)) => (Some(plan), Event::Composed(vec![event, second])),
            None => (None, event),
        };
        let spent = delta_upper(&event, epsilon)?;
        if spent <= delta && epsilon_upper(&event, delta)? <= epsilon {
            let (deviation, grid) = (lattice.sigma(), lattice.grid());
            let noise = Noise::Gaussian { noise_multiplier: multiplier, sigma: deviation, grid };
            return Ok(Planned { sigma, tolerance, sensitivity, noise, event, curvature });
        }
        reserve = (2.0 * reserve).max(1e-12 * delta);
        if calibration == Calibration::Paper {
            return Err(PlanError::NotApplicable {
                algorithm: NAME,
                why: format!(
                    "has a paper calibration that does not hold at epsilon = {epsilon}, delta = {delta:e}: use `tight`"
                ),
            });
        }
        if reserve > 0.5 * delta {
            let expected = format!("at least {spent:e} for this epsilon and dimension");
            return Err(PlanError::OutOfRange { name: "delta", expected, got: delta });
        }
    }
}
