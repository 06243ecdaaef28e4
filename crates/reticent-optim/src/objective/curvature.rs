//! The curvature release of objective perturbation: one noisy look at the loss's Hessian and at the
//! covariance of its gradients, from which standard errors follow by post-processing.
//!
//! # Release
//!
//! At the released, hence public, weights `w`, with `β` the smoothness and `L` the Lipschitz
//! constant of a record's loss,
//!
//! ```text
//! (Σ_u H_u/β, Σ_u V_u/L²) + sσ_c z,      H_u = ∇²ℓ_u(w),   V_u = ∇ℓ_u(w) ∇ℓ_u(w)ᵀ,
//! ```
//!
//! the upper triangles, entries off the diagonal times `√2`: the l2 norm of the numbers is the
//! Frobenius norm of the matrices, and the symmetric noise has variance `s²σ_c²` on the diagonal
//! and half of that off it, in every orthonormal basis.
//!
//! # Theorem (sensitivity)
//!
//! Let `r² ≥ sup ‖H_u/β‖² + ‖V_u/L²‖²` (Frobenius norms). When a record joins or leaves (zero-out)
//! the numbers move by at most `r`, when it is replaced by at most `√2 r`.
//!
//! *Proof.* The first is the definition. For two records, `‖H_u − H_v‖² = ‖H_u‖² + ‖H_v‖² −
//! 2⟨H_u, H_v⟩`, and the inner product of two positive semi-definite matrices is at least 0; the
//! same for `V`. Added up, the square is at most `2r²`. ∎
//!
//! `r² ≤ 2` always: `‖H_u‖ ≤ β`, `‖V_u‖ = ‖∇ℓ_u‖² ≤ L²`. For the logistic loss on `R^d`, with
//! `p` the size of the slope, `‖H_u‖/β ≤ 4p(1 − p)` and `‖V_u‖/L² ≤ p²`, whose squares sum to
//! `p²(17p² − 32p + 16)`; that is largest at `p = (24 − √32)/34 = 0.5395`, where it is 1.0723. A
//! unit's rows count `c_i ≥ 0` with `Σ c_i ≤ 1`: `Σ c_i 4p_i(1 − p_i) ≤ 4q(1 − q)` and
//! `‖Σ c_i ∇ℓ_i‖ ≤ qB` with `q = Σ c_i p_i`, because `4p(1 − p)` is concave and zero at zero; the
//! bound is the same. The second derivative is a difference over `2·10⁻⁴`, which is off by at most
//! `10⁻⁴ sup |φ'''|/2 < 10⁻⁵` for a loss whose largest `φ''` is a quarter, so 1.0726 holds for
//! what is summed. The oracle holds slopes and second derivatives to their bounds, whatever the
//! weights are.
//!
//! # Output noise
//!
//! The output noise `s_z` covers the distance `ρ` to the minimiser that can be certified, and what
//! rounding allows grows as the ridge falls, `ρ ~ (μ + ν)^{-3/2}`. It reaches `ŵ` as
//! `s_z(1 + (μ+ν)H⁻¹)z` beside `(σ₁/n)H⁻¹z` of the linear term ([`mod@super`]). Over an orthonormal
//! basis the variances of the one sum to at most `(s_z n (h + μ + ν)/σ₁)²` times those of the
//! other, `h = T/d` with `T` the largest trace of a record's Hessian.
//!
//! *Proof.* With `x_i` the inverses of the eigenvalues of `H` and `m = μ + ν`, the quotient of the
//! sums is `Σ(1 + mx_i)²/Σx_i² = d/Σx_i² + 2mΣx_i/Σx_i² + m²`. The harmonic mean of the eigenvalues
//! is at most their mean, which is at most `h`, so `Σx_i ≥ d/h`; and `Σx_i² ≥ (Σx_i)²/d`. The first
//! term is then at most `h²` and the second at most `2mh`. ∎
//!
//! So the ridge is raised until that is at most `QUIET` squared: errors grow by less than 2 %,
//! were there no sampling error at all. It is never raised above a small part of `h`
//! (`MOST_PULL`), because its pull is taken back to first order only.
//!
//! # Cost
//!
//! It is one Gaussian event after that of the minimiser, and may depend on it. Its parameter is
//! tied to the noise of the objective, so that both together are calibrated at once: with a share
//! `f` for the curvature, `1/σ_c² = (f/(1 − f))·κ²(L/σ₁)²`, `κ = 2` where a record is replaced.

use reticent_data::{Oracle, Question, Sensitive, curvature_rounding};
use reticent_noise::lattice::GaussianLattice;
use reticent_noise::{NoiseError, Source};
use reticent_privacy::{Adjacency, Event};
use reticent_problem::{Domain, Loss, Problem, Regularity};
use serde::{Deserialize, Serialize};

use super::noise::Case;
use super::{NAME, ObjectivePerturbation};
use crate::setting::{End, Range, Setting};
use crate::step::perturb::{self, Noise};
use crate::{Calibration, PlanError, RunError};

/// The confidence level of intervals for the coefficients, in percent.
pub const INTERVALS: Setting = Setting::number(
    "intervals",
    Range::closed(50.0, 99.9),
    "Release what standard errors need, for intervals of this confidence level in percent",
)
.by_default("none: no standard errors");

/// The share of the budget that the curvature release takes.
pub const CURVATURE_SHARE: Setting = Setting::number(
    "curvature_share",
    Range::new(End::Open(0.0), End::Open(1.0)),
    "The share of the budget that standard errors take",
)
.by_default("0.2")
.limited("with intervals");

/// The share where none is given.
const SHARE: f64 = 0.2;

/// Features for which a run holds and a model file stores two matrices.
const MOST_FEATURES: usize = 200;

/// `r²`, of any loss and of the logistic one.
const BOTH: [f64; 2] = [2.0, 1.0726];

/// The part of `ε` that the change of variables may take: the noise is then within a tenth of the
/// least, and the ridge, whose pull on the coefficients is corrected, is small.
pub(super) const CHANGE_SHARE: f64 = 0.125;

/// The most of the linear term's deviation that the output noise may have: `√1.04 < 1.02`.
const QUIET: f64 = 0.2;

/// The largest ridge for the sake of the output noise, over the mean eigenvalue of a Hessian.
const MOST_PULL: f64 = 0.01;

/// By how much the ridge is raised at a time.
const RAISED: f64 = 1.25;

/// `ν`, at least `extra`, with which the output noise hardly shows in the errors. `output` is `s_z`
/// for a ridge and a `σ₁`.
pub(super) fn quiet_ridge(
    case: &Case,
    problem: &Problem,
    extra: f64,
    (epsilon, delta): (f64, f64),
    output: impl Fn(f64, f64) -> f64,
) -> Result<f64, PlanError> {
    let n = problem.rows as f64;
    let mean = case.rank * case.curvature / problem.dimension() as f64;
    let mut modulus = problem.ridge + extra;
    loop {
        let sigma = case.sigma(modulus, epsilon, delta)?;
        let share = output(modulus, sigma) * (mean + modulus) * n / sigma;
        if share <= QUIET || modulus * RAISED > MOST_PULL * mean {
            return Ok(modulus - problem.ridge);
        }
        modulus *= RAISED;
    }
}

/// The plan of the curvature release, before anything is read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvaturePlan {
    /// `s`, rounding included.
    pub sensitivity: f64,
    /// `β`: what entries of `H` are divided by.
    pub hessian_unit: f64,
    /// `L²`: what entries of `V` are divided by.
    pub score_unit: f64,
    /// The noise.
    pub noise: Noise,
}

/// A noisy symmetric matrix, an average over records, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct NoisyMatrix {
    /// All entries.
    pub entries: Vec<f64>,
    /// The standard deviation of the noise on the diagonal; off it that is less by the root of 2.
    pub deviation: f64,
}

/// The curvature release before its noise is calibrated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// `1/σ_c²` over `(L/σ₁)²`.
    pub(super) ratio: f64,
    sensitivity: f64,
    hessian_unit: f64,
    score_unit: f64,
    /// Numbers released.
    numbers: usize,
}

/// Whether intervals can have this confidence level.
pub(super) fn check_level(got: f64) -> Result<(), PlanError> {
    if (50.0..=99.9).contains(&got) {
        return Ok(());
    }
    let (name, expected) = (INTERVALS.name, "between 50 and 99.9".to_owned());
    Err(PlanError::OutOfRange { name, expected, got })
}

impl ObjectivePerturbation {
    /// The curvature release beside the minimiser, if intervals are requested.
    pub(super) fn wanted(
        &self,
        problem: &Problem,
        k: &Regularity,
        adjacency: Adjacency,
    ) -> Result<Option<Wanted>, PlanError> {
        let Some(level) = self.intervals else {
            if self.interval_method.is_some() {
                let why = "takes `interval_method` together with `intervals` only; give `intervals` too, such as 95, or leave it out";
                return Err(PlanError::NotApplicable { algorithm: NAME, why: why.to_owned() });
            }
            let name = CURVATURE_SHARE.name;
            return match self.curvature_share {
                Some(got) => {
                    let expected = "given together with `intervals`".to_owned();
                    Err(PlanError::OutOfRange { name, expected, got })
                }
                None => Ok(None),
            };
        };
        let share = self.curvature_share.unwrap_or(SHARE);
        check_level(level)?;
        if !(1e-6..=1.0 - 1e-6).contains(&share) {
            let (name, expected) = (CURVATURE_SHARE.name, "between 0 and 1".to_owned());
            return Err(PlanError::OutOfRange { name, expected, got: share });
        }
        self.check_intervals(problem)?;
        let logistic = problem.loss == Loss::Logistic && k.lipschitz >= problem.bounds.norm();
        let most: f64 = BOTH[usize::from(logistic)].sqrt();
        let moved = if adjacency.replaces() { most * 2_f64.sqrt() } else { most };
        // Each sum is off by a part of what a record may add.
        let rounded = 2_f64.sqrt() * (curvature_rounding(problem) - 1.0);
        let smoothness = k.smoothness.unwrap_or(f64::INFINITY);
        Ok(Some(Wanted {
            ratio: share / (1.0 - share) * adjacency.sum_sensitivity().powi(2),
            sensitivity: (moved + rounded) * (1.0 + 8.0 * f64::EPSILON),
            hessian_unit: smoothness,
            score_unit: k.lipschitz * k.lipschitz,
            numbers: problem.features * (problem.features + 1),
        }))
    }

    pub(super) fn check_intervals(&self, problem: &Problem) -> Result<(), PlanError> {
        let why = if problem.loss.outputs() > 1 {
            "gives intervals for losses with one weight vector; leave `intervals` out, or use logistic, huber or poisson".to_owned()
        } else if !matches!(problem.domain, Domain::Unbounded) {
            "gives intervals for weights without a set; leave `radius` and `set` out, or `intervals`"
                .to_owned()
        } else if self.calibration == Calibration::Paper {
            "gives intervals with the tight calibration only; leave `calibration` out".to_owned()
        } else if problem.candidates.is_some() {
            "gives no intervals for the best of several runs, whose choice they would not cover; leave `intervals` out".to_owned()
        } else if problem.features > MOST_FEATURES {
            format!(
                "gives intervals for up to {MOST_FEATURES} features, got {}; drop columns or leave `intervals` out",
                problem.features
            )
        } else {
            return Ok(());
        };
        Err(PlanError::NotApplicable { algorithm: NAME, why })
    }
}

impl Wanted {
    /// The release and its event where a record's slope is `a = L/σ₁`; without noise for none.
    pub(super) fn plan(
        &self,
        slope: Option<f64>,
        adjacency: Adjacency,
    ) -> Result<(CurvaturePlan, Event), NoiseError> {
        let &Self { ratio, sensitivity, hessian_unit, score_unit, numbers } = self;
        let of = |noise| CurvaturePlan { sensitivity, hessian_unit, score_unit, noise };
        let Some(slope) = slope else { return Ok((of(Noise::None), Event::NotPrivate)) };
        let noise_multiplier = 1.0 / (ratio.sqrt() * slope);
        let lattice = GaussianLattice::new(sensitivity, noise_multiplier, numbers)?;
        let event = Event::Approximated {
            inner: Box::new(Event::Gaussian { noise_multiplier, adjacency }),
            total_variation: lattice.total_variation(),
        };
        let (sigma, grid) = (lattice.sigma(), lattice.grid());
        Ok((of(Noise::Gaussian { noise_multiplier, sigma, grid }), event))
    }
}

impl CurvaturePlan {
    /// Releases the curvature at these public weights. The plan's event has paid for it.
    pub(super) fn release(
        &self,
        problem: &Problem,
        at: &[f64],
        oracle: &dyn Oracle,
        source: &Source,
    ) -> Result<Vec<f64>, RunError> {
        let question = Question::Curvature { at };
        let mut sums = Sensitive::new(vec![0.0; question.width(problem)]);
        oracle.ask(problem, &question, &mut sums)?;
        let sums = sums.map_inside(|mut sums| {
            for (sum, factor) in sums.iter_mut().zip(self.factors(at.len())) {
                *sum *= factor;
            }
            sums
        });
        Ok(perturb::release(sums, self.noise, self.sensitivity, f64::INFINITY, source)?)
    }

    /// The scale factor of each sum before the noise.
    fn factors(&self, features: usize) -> impl Iterator<Item = f64> + use<> {
        let units = [self.hessian_unit, self.score_unit];
        units.into_iter().flat_map(move |unit| {
            let entries = (0..features).flat_map(move |j| (j..features).map(move |k| j == k));
            entries.map(move |diagonal| if diagonal { 1.0 } else { 2_f64.sqrt() } / unit)
        })
    }

    /// Numbers of a release for so many features.
    pub fn numbers(features: usize) -> usize {
        features * (features + 1)
    }

    /// Whether a release for so many features could have come out.
    pub fn holds(&self, released: &[f64], features: usize) -> bool {
        let on_grid = |x: &f64| self.noise.could_give(*x);
        released.len() == Self::numbers(features) && released.iter().all(on_grid)
    }

    /// The Hessian and the covariance of the gradients, averages over so many records, from what
    /// was released: post-processing.
    pub fn matrices(&self, released: &[f64], features: usize, records: f64) -> [NoisyMatrix; 2] {
        let deviation = match self.noise {
            Noise::Gaussian { sigma, .. } => sigma,
            Noise::Ball { .. } | Noise::None => 0.0,
        };
        let half = released.len() / 2;
        let parts = [(0, self.hessian_unit), (half, self.score_unit)];
        parts.map(|(first, unit)| {
            let mut entries = vec![0.0; features * features];
            let numbers = released[first..].iter().zip(self.factors(features).skip(first));
            let places = (0..features).flat_map(|j| (j..features).map(move |k| (j, k)));
            for ((j, k), (number, factor)) in places.zip(numbers) {
                let entry = number / (factor * records);
                (entries[j * features + k], entries[k * features + j]) = (entry, entry);
            }
            NoisyMatrix { entries, deviation: deviation * unit / records }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_size_of_a_slope_gives_a_logistic_row_more_than_its_bound() {
        let both = |p: f64| (4.0 * p * (1.0 - p)).powi(2) + p.powi(4);
        let most = (0..=100_000).map(|i| both(f64::from(i) / 1e5)).fold(0.0, f64::max);
        assert!(most <= BOTH[1] && most > BOTH[1] - 5e-4, "{most}");
    }

    #[test]
    fn what_is_released_gives_the_matrices_back() {
        let plan = CurvaturePlan {
            sensitivity: 1.0,
            hessian_unit: 0.25,
            score_unit: 4.0,
            noise: Noise::Gaussian { noise_multiplier: 3.0, sigma: 3.0, grid: 0.125 },
        };
        let sums = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let released: Vec<f64> = sums.iter().zip(plan.factors(2)).map(|(x, f)| x * f).collect();
        let [h, v] = plan.matrices(&released, 2, 10.0);
        let close =
            |got: &[f64], want: [f64; 4]| got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-12);
        assert!(close(&h.entries, [0.1, 0.2, 0.2, 0.3]) && close(&v.entries, [0.4, 0.5, 0.5, 0.6]));
        assert!((h.deviation - 0.075).abs() < 1e-12 && (v.deviation - 1.2).abs() < 1e-12);
        assert!(plan.holds(&[0.25; 6], 2) && !plan.holds(&[0.25; 5], 2));
        assert!(!plan.holds(&[0.3; 6], 2));
    }
}
