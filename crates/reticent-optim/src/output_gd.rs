//! Output-perturbed gradient descent: one deterministic run, one noise draw.
//!
//! Zhang, Zheng, Mou and Wang, "Efficient private ERM for smooth objectives" (IJCAI 2017),
//! Algorithm 1, with its errata corrected.
//!
//! # Problem
//!
//! Minimise `F_S(w) = (1/n) Σ ℓ(w; xᵢ, yᵢ) + (μ/2)‖w‖²` over a closed convex set `W`, for a convex
//! and `β_ℓ`-smooth loss. From `w₀ = Proj_W(0)`, with a step `η` and a number of steps `T` fixed in
//! advance,
//!
//! ```text
//! w_{t+1} = Proj_W(w_t − η ∇F_S(w_t)),      release  w_T + z
//! ```
//!
//! # Theorem (sensitivity)
//!
//! Let `G` bound `‖∇ℓ(w; ξ) − ∇ℓ(w; ξ')‖` over `w` in `W` and any two rows, and
//! `0 < η ≤ 2/(β_ℓ + 2μ)`. For tables of `n` rows that differ in one row,
//!
//! ```text
//! ‖w_T − w'_T‖ ≤ G η T/n                              (μ = 0)
//! ‖w_T − w'_T‖ ≤ (G/(nμ))(1 − (1 − ημ)^T) ≤ G/(nμ)    (μ > 0)
//! ```
//!
//! *Proof.* `A_S(w) = w − η∇F_S(w)` contracts by `ρ = 1 − ημ`, because the Hessian lies between `μ`
//! and `β_ℓ + μ` and `η ≤ 2/(β_ℓ + 2μ)`. At one point,
//! `A_S(w) − A_{S'}(w) = −(η/n)(∇ℓ(w; ξ) − ∇ℓ(w; ξ'))` has norm at most `ηG/n`: the ridge cancels.
//! So `Δ_{t+1} ≤ ρΔ_t + ηG/n`, and the projection does not expand. Equality for a linear loss. ∎
//!
//! The first iterates are near zero, where rows pull apart less. If `0 ∈ W` and `R_t` bounds both
//! `‖w_t‖` and `‖w'_t‖`, then with `G(R)` and `L(R)` the same constants on the ball of radius `R`
//!
//! ```text
//! Δ_{t+1} ≤ ρΔ_t + ηG(R_t)/n,      R_{t+1} = ρR_t + ηL(R_t),      R_0 = 0,
//! ```
//!
//! each capped by what holds on all of `W`: the noise is scaled to `Δ_T` of this recursion
//! ([`sensitivity::along_trajectory`]). *Proof.* Only the gradients at `w'_t` enter the second term
//! above. A step from `w` leads to `(1 − ημ)w − η∇` of the data loss, and `1 − ημ ≥ 0`; projecting
//! does not lead away from a point of `W`, and zero is one. ∎
//!
//! It holds for plain gradient descent only: momentum, line search, and a step or a stop that looks
//! at the data void it. Rounding is charged too (`sensitivity::rounding`).
//!
//! # Noise
//!
//! For `δ = 0`, density `∝ exp(−ε‖z‖₂/Δ)`; this is not independent Laplace noise, whose Euclidean
//! sensitivity would cost `√d` more. For `δ > 0`, a Gaussian whose scale is the least that the
//! exact profile allows, or ball noise where `(d+1)/ε²` is the smaller variance: a public
//! comparison, so it is free.
//!
//! # Risk
//!
//! `E F_S(w_T + z) − min F_S ≤ U(T)`: the worst case of gradient descent plus `½(τ + μd)·E z_j²`,
//! where `τ` is the trace of a matrix that bounds a row's Hessian. `T` is where `U` is least
//! ([`steps`]).

pub mod each_step;
pub mod sensitivity;
pub mod steps;

use reticent_data::{Oracle, Question, Sensitive};
use reticent_noise::Source;
use reticent_privacy::{Budget, gaussian};
use reticent_problem::{Domain, Problem, Regularity};
use serde::{Deserialize, Serialize};

use crate::algorithm::REPLACED;
use crate::executor;
use crate::setting::{
    ANY_PLACE, CALIBRATION, Checked, DISTANCE, NOISE, RIDGE, STEP_SIZE, STEPS, Setting, up_to,
};
use crate::step::perturb;
pub use crate::step::perturb::{Noise, NoiseChoice, ball_is_smaller};
use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Release, RunError, UnitSupport, WeightSupport,
};
use each_step::EachStep;
use steps::RiskInputs;

/// The name in flags, files and messages.
pub const NAME: &str = "output-gd";

const SETTINGS: &[Setting] = &[
    CALIBRATION,
    RIDGE.by_default("where the bound on the risk is least"),
    ANY_PLACE.limited("each-step with a ridge and without a set"),
    STEPS.within(up_to(1, steps::MAX_STEPS)).by_default("where the bound on the risk is least"),
    STEP_SIZE
        .by_default("1/beta, or 2/(beta + ridge) with a ridge")
        .limited("at most 2/(beta + 2 ridge)"),
    DISTANCE.by_default("the set's radius, or 5/B, or 2Y/B"),
];

/// Settings. Omitted ones are chosen without looking at data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OutputGd {
    /// Paper or tight.
    pub calibration: Calibration,
    /// Which noise.
    pub noise: NoiseChoice,
    /// `T`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// `η`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// `D`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<f64>,
}

/// Everything that will happen, before anything is read. The predicted excess holds if `distance`
/// bounds the minimiser's norm; on a ball it is for the weights before the last projection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputGdPlan {
    /// The fields shared by all plans.
    #[serde(flatten)]
    pub outline: Outline,
    /// The requested settings.
    pub settings: OutputGd,
    /// The constants that follow.
    pub regularity: Regularity,
    /// `η`.
    pub eta: f64,
    /// `Δ`, rounding included.
    pub sensitivity: f64,
    /// The noise, added once, or in each step.
    pub noise: Noise,
    /// Noise in each step: what it needs besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each_step: Option<EachStep>,
}

impl OutputGd {
    /// `T`: as asked for, or where the bound on the risk is least.
    fn choose_steps(
        &self,
        shape: &RiskInputs,
        k: &Regularity,
        eta: f64,
        budget: Budget,
    ) -> Result<u64, PlanError> {
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        let ridged = shape.ridge > 0.0;
        if let Some(steps) = self.steps {
            return Ok(steps);
        }
        if epsilon.is_infinite() {
            return Ok(steps_without_noise(shape, eta, k.value_at_zero));
        }
        Ok(match self.calibration {
            Calibration::Paper if ridged => {
                let lipschitz = lipschitz_paper(k.lipschitz, shape.ridge, k.value_at_zero);
                steps::paper_strongly_convex(shape, lipschitz, epsilon, delta)
            }
            Calibration::Paper => steps::paper_convex(shape, k.lipschitz, epsilon, delta),
            Calibration::Tight => {
                let moment = unit_moment(self.noise, shape.dimension as usize, epsilon, delta)?;
                if ridged {
                    steps::tight_strongly_convex(shape, moment)
                } else {
                    steps::tight_convex(shape, moment)
                }
            }
        })
    }
}

impl Algorithm for OutputGd {
    const INFO: AlgorithmInfo = AlgorithmInfo {
        name: NAME,
        summary: "gradient descent on the full table, one noise draw on the result",
        paper: "Zhang, Zheng, Mou, Wang: Efficient private ERM for smooth objectives, IJCAI 2017, Algorithm 1",
        assumptions: "convex and smooth loss, bounded rows, replace-one adjacency; a ridge helps",
        guarantee: "epsilon-DP for delta = 0, (epsilon, delta)-DP otherwise",
        settings: SETTINGS,
        units: UnitSupport::Carried,
        weights: WeightSupport::Carried,
    };

    type Plan = OutputGdPlan;

    fn read(settings: Checked<'_>) -> Result<Self, PlanError> {
        Ok(Self {
            calibration: settings.calibration(),
            noise: settings.choice(&NOISE).unwrap_or_default(),
            steps: settings.whole(&STEPS),
            eta: settings.number(&STEP_SIZE),
            distance: settings.number(&DISTANCE),
        })
    }

    /// The plan with the ridge that makes a bound on the excess of the *unridged* objective least,
    /// `U(T; μ) + (μ/2)D²`, where `D` is the guess of the best weights' norm. A ridge only shortens
    /// the minimiser, so the same `D` serves for every `μ`. Public facts only.
    fn plan_with_ridge(
        &self,
        problem: &Problem,
        budget: Budget,
    ) -> Result<OutputGdPlan, PlanError> {
        const CANDIDATES: i32 = 36;
        problem.check()?;
        let (_, beta) = constants(problem)?;
        let guess = self.distance.unwrap_or_else(|| default_distance(problem));
        let mut best: Option<(f64, OutputGdPlan)> = None;
        let first = i32::from(self.noise == NoiseChoice::EachStep);
        for i in first..=CANDIDATES {
            let ridge = if i == 0 { 0.0 } else { beta * 10_f64.powf(-f64::from(i - 1) / 6.0) };
            let problem = Problem { ridge, ..problem.clone() };
            let distance = guess.min(problem.regularity().iterate_radius());
            let plan = Self { distance: Some(distance), ..*self }.plan(&problem, budget)?;
            let bound = plan.outline.predicted_excess.unwrap_or(f64::INFINITY)
                + 0.5 * ridge * guess * guess;
            if best.as_ref().is_none_or(|(least, _)| bound < *least) {
                best = Some((bound, plan));
            }
        }
        match best {
            Some((_, plan)) => Ok(plan),
            None => self.plan(problem, budget),
        }
    }

    fn plan(&self, problem: &Problem, budget: Budget) -> Result<OutputGdPlan, PlanError> {
        Self::INFO.admit(problem, budget)?;
        problem.check()?;
        let (k, beta_l) = constants(problem)?;
        check_settings(self, budget)?;
        let mut warnings = Vec::new();
        let delta = budget.delta.get();
        let n = problem.rows as f64;
        if delta > 1.0 / n {
            warnings.push("delta above 1/n protects no single record".to_owned());
        }
        if self.noise == NoiseChoice::EachStep && budget.epsilon.get().is_finite() {
            return each_step::plan(self, problem, budget, k, beta_l, warnings);
        }
        let mu = problem.ridge;
        let beta = beta_l + mu;
        let dimension = problem.dimension();
        let distance = self.distance.unwrap_or_else(|| distance_of(problem, &k));
        let shape = RiskInputs {
            ridge: mu,
            smoothness: beta,
            hessian_trace: k.hessian_trace.unwrap_or(dimension as f64 * beta_l),
            distance,
            gradient_difference: k.gradient_difference,
            rows: n,
            dimension: dimension as f64,
        };
        let limit = 2.0 / (beta_l + 2.0 * mu);
        let eta = self.eta.unwrap_or(match self.calibration {
            Calibration::Paper => 1.0 / if mu > 0.0 { mu + beta } else { beta },
            Calibration::Tight if mu > 0.0 => limit,
            Calibration::Tight => 1.0 / beta,
        });
        if eta > limit {
            return Err(PlanError::StepTooLong { eta, limit });
        }
        let paper_lipschitz =
            if mu > 0.0 { lipschitz_paper(k.lipschitz, mu, k.value_at_zero) } else { k.lipschitz };
        let steps = self.choose_steps(&shape, &k, eta, budget)?;
        if steps == steps::MAX_STEPS {
            warnings.push(format!("steps are capped at {}", steps::MAX_STEPS));
        }
        let sensitivity = match self.calibration {
            Calibration::Paper if mu > 0.0 => {
                sensitivity::paper_strongly_convex(paper_lipschitz, mu, beta, n)
            }
            Calibration::Paper => sensitivity::paper_convex(k.lipschitz, eta, steps as f64, n),
            Calibration::Tight => sensitivity::along_trajectory(problem, eta, steps),
        } + sensitivity::tight(
            sensitivity::rounding(problem, eta, steps),
            mu,
            eta,
            steps as f64,
            n,
        );
        let paper_scale = paper_multiplier(self.calibration, budget, &mut warnings);
        let (noise, event) =
            perturb::plan(budget, sensitivity, dimension, self.noise, paper_scale)?;
        let cost =
            0.5 * (shape.hessian_trace + mu * shape.dimension) * noise.second_moment(dimension);
        let left = if problem.domain.is_bounded() {
            let lipschitz = k.lipschitz + mu * problem.domain.radius();
            steps::projected_error(&shape, lipschitz, eta, steps as f64)
        } else {
            steps::optimisation_error(&shape, eta, steps as f64)
        };
        let predicted_excess = left + cost;
        if predicted_excess > k.value_at_zero {
            warnings.push("noise dominates: the trained model is not expected to beat w = 0; increase n, epsilon or ridge".to_owned());
        }
        let outline = Outline {
            problem: problem.clone(),
            budget,
            event,
            steps,
            noise_deviation: noise.deviation(dimension),
            predicted_excess: Some(predicted_excess),
            warnings,
        };
        let (settings, regularity, each_step) = (*self, k, None);
        Ok(OutputGdPlan { outline, settings, regularity, eta, sensitivity, noise, each_step })
    }

    fn run(
        plan: &OutputGdPlan,
        oracle: &dyn Oracle,
        source: &Source,
        progress: &dyn Progress,
    ) -> Result<Release, RunError> {
        let Outline { problem, budget, steps, event, .. } = &plan.outline;
        oracle.check(problem)?;
        if let (Some(each), Noise::Gaussian { noise_multiplier, .. }) = (plan.each_step, plan.noise)
        {
            let last = each_step::run(plan, each, noise_multiplier, oracle, source, progress)?;
            return Ok(Release::new(last, event));
        }
        let w = descend(problem, plan.eta, *steps, oracle, progress)?;
        let epsilon = budget.epsilon.get();
        let mut weights = perturb::release(w, plan.noise, plan.sensitivity, epsilon, source)?;
        problem.domain.project(&mut weights); // post-processing
        Ok(Release::new(weights, event))
    }
}

/// `steps` steps of length `eta` on the full gradient, from the point of the set nearest to zero.
pub(crate) fn descend(
    problem: &Problem,
    eta: f64,
    steps: u64,
    oracle: &dyn Oracle,
    progress: &dyn Progress,
) -> Result<Sensitive<Vec<f64>>, RunError> {
    let mut w = Sensitive::new(problem.domain.start(problem.dimension()));
    let mut gradient = Sensitive::new(vec![0.0; problem.dimension()]);
    let n = problem.rows as f64;
    let mut done = 0;
    executor::repeat(oracle, progress, 1, 0, steps, || {
        oracle.ask(problem, &Question::Gradient { at: &w }, &mut gradient)?;
        w.update_inside_with(&gradient, |w, gradient| {
            for (w, g) in w.iter_mut().zip(gradient) {
                *w -= eta * (problem.ridge * *w + g / n);
            }
            problem.domain.project(w);
        });
        done += 1;
        Ok(done)
    })?;
    Ok(w)
}

impl Planned for OutputGdPlan {
    fn outline(&self) -> &Outline {
        &self.outline
    }

    fn calibration(&self) -> Calibration {
        self.settings.calibration
    }

    fn noise_on_weights(&self) -> bool {
        self.each_step.is_none()
    }

    fn again(&self) -> Result<Self, PlanError> {
        self.settings.plan(&self.outline.problem, self.outline.budget)
    }

    fn assumptions(&self) -> Vec<Assumption> {
        let theorem = "sensitivity of gradient descent (docs/algorithms/output-gd.md)";
        let mut list = Assumption::of_bounded_rows(REPLACED, theorem);
        list.extend([
            Assumption::new(
                "the loss is convex and smooth, with the constants of the plan",
                "plan",
                theorem,
            ),
            Assumption::new(
                "eta <= 2/(beta + 2 mu), and eta and T are fixed in advance",
                "plan",
                theorem,
            ),
        ]);
        if self.each_step.is_some() {
            let theorem = "shifted interpolation (docs/algorithms/output-gd.md)";
            list.extend([
                Assumption::new(
                    "a step contracts for every table: a ridge, and eta <= 1/(beta + mu)",
                    "plan",
                    theorem,
                ),
                Assumption::new("no iterate but the last leaves", "run", theorem),
            ]);
        }
        if self.outline.problem.domain.is_bounded() {
            list.push(Assumption::new("each iterate is projected onto the set", "plan", theorem));
        }
        list
    }
}

/// `L_reg = L + 2μD_μ`: the Lipschitz constant of the ridged loss where the paper's lemma needs it.
pub fn lipschitz_paper(lipschitz: f64, ridge: f64, value_at_zero: f64) -> f64 {
    lipschitz + 2.0 * ridge * reticent_problem::iterate_radius(lipschitz, ridge, value_at_zero)
}

/// The paper's Gaussian scale `sqrt(2 ln(2/δ))/ε` for sensitivity one.
pub fn paper_gaussian_multiplier(epsilon: f64, delta: f64) -> f64 {
    (2.0 * (2.0 / delta).ln()).sqrt() / epsilon
}

/// The paper's scale where its exact profile keeps the budget; beyond, the tight one, with a
/// warning.
fn paper_multiplier(
    calibration: Calibration,
    budget: Budget,
    warnings: &mut Vec<String>,
) -> Option<f64> {
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    if calibration == Calibration::Tight || delta == 0.0 || epsilon.is_infinite() {
        return None;
    }
    let s = paper_gaussian_multiplier(epsilon, delta);
    // A thousandth of delta stays free for what the grid costs; at small epsilon the paper's scale
    // leaves far more.
    if gaussian::delta_upper(epsilon, 1.0 / s) <= 0.999 * delta {
        return Some(s);
    }
    warnings.push(format!(
        "the paper's Gaussian scale does not hold at epsilon = {epsilon}; the tight one is used"
    ));
    None
}

/// `L`, `β_ℓ` and the rest, or why this loss cannot be served.
fn constants(problem: &Problem) -> Result<(Regularity, f64), PlanError> {
    if problem.hidden.is_some() {
        return Err(PlanError::NotApplicable {
            algorithm: NAME,
            why: "needs a convex loss, and a network has none; leave `hidden` out".to_owned(),
        });
    }
    let k = problem.regularity();
    let Some(beta) = k.smoothness else {
        let loss = problem.loss.full_name();
        let instead = "a smooth loss (logistic, huber, hinge or power with q = 2)";
        return Err(PlanError::NotSmooth { algorithm: NAME, loss, instead });
    };
    if !k.lipschitz.is_finite() {
        return Err(PlanError::Unbounded { loss: problem.loss.name() });
    }
    Ok((k, beta))
}

fn check_settings(settings: &OutputGd, budget: Budget) -> Result<(), PlanError> {
    if !budget.adjacency.replaces() {
        return Err(PlanError::Adjacency { algorithm: NAME, got: budget.adjacency.to_string() });
    }
    let range = |ok: bool, name, expected: &str, got| {
        if ok {
            Ok(())
        } else {
            Err(PlanError::OutOfRange { name, expected: expected.to_owned(), got })
        }
    };
    if let Some(steps) = settings.steps {
        range(
            (1..=steps::MAX_STEPS).contains(&steps),
            "steps",
            "a whole number from 1 to 1000000",
            steps as f64,
        )?;
    }
    for (name, value) in [("step_size", settings.eta), ("distance", settings.distance)] {
        if let Some(value) = value {
            range(value.is_finite() && value > 0.0, name, "a finite number > 0", value)?;
        }
    }
    let delta = budget.delta.get();
    range(
        !matches!(settings.noise, NoiseChoice::Gaussian | NoiseChoice::EachStep)
            || delta > 0.0
            || budget.epsilon.is_infinite(),
        "delta",
        "> 0 for Gaussian noise (choose ball noise for pure DP)",
        delta,
    )
}

/// `D`: what a ridge implies, or a guess without one.
pub(crate) fn distance_of(problem: &Problem, k: &Regularity) -> f64 {
    if problem.ridge > 0.0 { reach(problem, k) } else { default_distance(problem) }
}

/// `D` without ridge: the set's radius, or a guess on the scale that bounded rows suggest.
pub(crate) fn default_distance(problem: &Problem) -> f64 {
    let (b, y) = (problem.bounds.norm(), problem.bounds.label());
    match problem.domain {
        Domain::Unbounded if problem.loss.is_on_label_scale() => 2.0 * y / b,
        Domain::Unbounded => 5.0 / b,
        _ => problem.domain.radius(),
    }
}

/// Bounds the norm of every iterate. Where the set holds zero a ridge keeps them near it.
pub(crate) fn reach(problem: &Problem, k: &Regularity) -> f64 {
    match problem.domain {
        Domain::Simplex { .. } => problem.domain.radius(),
        _ => k.iterate_radius().min(problem.domain.radius()),
    }
}

/// `E z_j²` for sensitivity one under the noise that will be chosen.
fn unit_moment(
    choice: NoiseChoice,
    dimension: usize,
    epsilon: f64,
    delta: f64,
) -> Result<f64, PlanError> {
    let ball = match choice {
        NoiseChoice::Auto => ball_is_smaller(dimension, epsilon, delta)?,
        NoiseChoice::Ball => true,
        NoiseChoice::Gaussian => false,
        NoiseChoice::GeneralizedGaussian | NoiseChoice::EachStep => {
            return Err(perturb::not_one_shot(choice));
        }
    };
    steps::unit_second_moment(dimension, epsilon, if ball { 0.0 } else { delta })
}

/// Without noise only time limits `T`: enough steps to reach rounding error with a ridge, ten
/// thousand without.
fn steps_without_noise(shape: &RiskInputs, eta: f64, scale: f64) -> u64 {
    let mut steps = 1;
    let target = 1e-15 * scale;
    while steps < 10_000 && steps::optimisation_error(shape, eta, steps as f64) > target {
        steps *= 2;
    }
    steps.min(10_000)
}
