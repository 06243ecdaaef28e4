//! The parts shared by truncated mirror descent and its shuffled form: the constants, the risk
//! bound, the parameters that make it least, and the steps.

use reticent_problem::Problem;
use reticent_problem::geometry::{MirrorMap, dual_exponent, lp_norm};
use serde::{Deserialize, Serialize};

use crate::PlanError;
use crate::step::public;

/// The public numbers that the parameters follow from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DescentInputs {
    /// The exponent of the norm of weights.
    pub p: f64,
    /// The mirror map.
    pub map: MirrorMap,
    /// `M`: the largest distance between two points of the set, in `l_p`.
    pub diameter: f64,
    /// `β`: the expected loss is that smooth.
    pub smoothness: f64,
    /// `ς`: root mean square of the dual norm of a row's gradient minus its expectation.
    pub deviation: f64,
    /// Whether `β` and `ς` were declared or follow from bounds on the rows; otherwise they are
    /// guesses and the risk bound is not shown.
    pub declared: bool,
}

impl DescentInputs {
    /// From the problem and what was declared, or why there is none.
    pub(crate) fn new(
        algorithm: &'static str,
        problem: &Problem,
        p: Option<f64>,
        smoothness: Option<f64>,
        deviation: Option<f64>,
    ) -> Result<Self, PlanError> {
        let refuse = |why: String| PlanError::NotApplicable { algorithm, why };
        if !problem.domain.is_bounded() {
            return Err(refuse(
                "needs a bounded set of weights; give `radius`, and `set` for a shape".to_owned(),
            ));
        }
        public::positive("smoothness", smoothness)?;
        public::positive("deviation", deviation)?;
        let p = public::exponent(p, public::natural_exponent(&problem.domain))?;
        let dimension = problem.dimension();
        let map = MirrorMap::new(p, dimension);
        if !map.serves(&problem.domain) {
            return Err(refuse(format!(
                "has no mirror step for the {} set and p = {p}; give p = 2",
                problem.domain.name()
            )));
        }
        let diameter = problem.domain.norm_diameter(p, dimension);
        if !(diameter.is_finite() && diameter > 0.0) {
            return Err(refuse("needs a set with more than one point".to_owned()));
        }
        let (lipschitz, beta) =
            problem.loss.dual_constants(problem.bounds, &problem.domain, p, dimension);
        if beta.is_none() && smoothness.is_none() {
            return Err(PlanError::NotSmooth {
                algorithm,
                loss: problem.loss.full_name(),
                instead: "a smooth loss, coordinate-mean, or declare the `smoothness` of its expectation",
            });
        }
        let lipschitz = problem
            .slope_limit
            .map_or(lipschitz, |c| lipschitz.min(c * problem.bounds.norm_in(dual_exponent(p))));
        // In the Euclidean norm a variance is at most the mean square; in others twice the norm
        // bounds the distance.
        let spread = if p == 2.0 { lipschitz } else { 2.0 * lipschitz };
        let known = |declared: Option<f64>, derived: f64| {
            declared.or_else(|| derived.is_finite().then_some(derived))
        };
        let beta = known(smoothness, beta.unwrap_or(f64::INFINITY));
        let spread = known(deviation, spread);
        Ok(Self {
            p,
            map,
            diameter,
            smoothness: beta.unwrap_or(1.0),
            deviation: spread.unwrap_or(1.0),
            declared: beta.is_some() && spread.is_some(),
        })
    }

    /// The warning for constants that were guessed.
    pub(crate) fn guess(&self) -> Option<String> {
        (!self.declared).then(|| {
            format!(
                "nothing bounds the curvature or the spread of gradients: {} and {} are assumed, no risk is predicted; declare `smoothness` and `deviation` (privacy does not depend on them)",
                self.smoothness, self.deviation
            )
        })
    }

    /// `γ = max(2β, √(2T(8ς²+2g²)/(κM²)))`, the least that the proof allows or the best for the
    /// bound.
    pub fn gamma(&self, steps: f64, noise_square: f64) -> f64 {
        let spread = 8.0 * self.deviation.powi(2) + 2.0 * noise_square;
        let best = (2.0 * steps * spread / self.map.kappa).sqrt() / self.diameter;
        best.max(2.0 * self.smoothness)
    }

    /// `κM²γ/(2T) + 2Mς²/λ + (8ς²+2g²)/γ`: bounds the expected excess risk, `g² = E‖Z‖_q²`.
    pub fn bound(&self, lambda: f64, steps: f64, gamma: f64, noise_square: f64) -> f64 {
        let (m, spread) = (self.diameter, self.deviation.powi(2));
        0.5 * self.map.kappa * m * m * gamma / steps
            + 2.0 * m * spread / lambda
            + (8.0 * spread + 2.0 * noise_square) / gamma
    }

    /// `λ` and `T` as the paper has them, clamped to what its proof needs.
    pub(crate) fn theory(&self, rows: f64, epsilon: f64, delta: f64, dimension: f64) -> (f64, f64) {
        let (m, width) = (self.diameter, dimension * (1.0 / delta).ln());
        let lambda = ((rows * epsilon).sqrt() * m / (self.map.kappa * width.powf(0.25)))
            .powf(2.0 / 3.0)
            .max(self.smoothness * m);
        (lambda, (rows * epsilon / (m * lambda * width.sqrt())).round().clamp(1.0, rows))
    }

    /// Truncations to try: those with `λ` from `βM` to ten thousand times the larger of `βM` and
    /// `ς`.
    pub(crate) fn truncations(&self) -> impl Iterator<Item = f64> {
        let least = self.smoothness * self.diameter;
        let most = 1e4 * least.max(self.deviation);
        public::log_grid(least, most, 30).map(move |lambda| least + lambda)
    }

    /// `λ = S − βM` of a truncation; the proof needs at least `βM`.
    pub(crate) fn lambda(&self, truncation: f64) -> f64 {
        truncation - self.smoothness * self.diameter
    }
}

/// Where a descent stands. Everything in it is public: it follows from what was released.
pub(crate) struct Descent {
    step: u64,
    dual: Vec<f64>,
    weights: Vec<f64>,
    /// Of the points at which gradients were taken.
    sum: Vec<f64>,
}

impl Descent {
    /// At the point where the mirror map is least.
    pub(crate) fn new(problem: &Problem, map: MirrorMap) -> Self {
        let zero = vec![0.0; problem.dimension()];
        let (mut weights, mut dual) = (zero.clone(), zero.clone());
        map.argmin(&problem.domain, &zero, &mut weights);
        map.gradient(&weights, &mut dual);
        Self { step: 0, dual, weights, sum: zero }
    }

    /// Steps that are done.
    pub(crate) fn steps(&self) -> u64 {
        self.step
    }

    /// Where the next gradient is taken.
    pub(crate) fn at(&self) -> &[f64] {
        &self.weights
    }

    /// `w ← argmin ⟨y, w⟩ + γ D_Φ(w, w_old)` for the noisy sum of `batch` gradients.
    pub(crate) fn step(
        &mut self,
        problem: &Problem,
        map: MirrorMap,
        gamma: f64,
        noisy: &[f64],
        batch: f64,
    ) {
        for (sum, w) in self.sum.iter_mut().zip(&self.weights) {
            *sum += w;
        }
        self.step += 1;
        for (dual, y) in self.dual.iter_mut().zip(noisy) {
            *dual -= y / batch / gamma;
        }
        // Steps so long that the dual point is no number any more start again where the map is
        // least.
        if !lp_norm(&self.dual, f64::INFINITY).is_finite() {
            self.dual.fill(0.0);
        }
        map.argmin(&problem.domain, &self.dual, &mut self.weights);
        map.gradient(&self.weights, &mut self.dual);
    }

    /// The mean of the points at which gradients were taken.
    pub(crate) fn average(self) -> Vec<f64> {
        self.sum.iter().map(|s| s / self.step as f64).collect()
    }
}
