//! Coordinate-wise clipped gradient descent: each entry of each gradient is clipped, so rows need
//! no bound; a declared one lowers the noise.
//!
//! Theorem 15 of Su, Zhao and Wang, "Differentially private stochastic convex optimization in
//! (non)-Euclidean space revisited" (supplement), names an outside full-batch method for heavy
//! tails and `p ≥ 2`; this is a self-contained method of the same shape, with its own proof.
//!
//! # Problem
//!
//! Minimise the expected loss over a closed convex set `C` of Euclidean diameter `M`. Rows may have
//! any size unless bounds are declared. From `w₁ = Proj_C(0)`,
//!
//! ```text
//! m_j     = (1/n) Σ_i clip(∂_j ℓ(w_t; x_i), ±τ) + N(0, σ²)
//! w_{t+1} = Proj_C(w_t − m/β),            release  (1/T) Σ_{t=2}^{T+1} w_t
//! ```
//!
//! # Theorem (privacy)
//!
//! Each entry of the sum moves by at most `2τ` when a row is replaced (by `τ` for a null row), so
//! the sum moves by at most `2τ√d`. Clipping entries is a projection and does not expand, so where
//! rows are bounded it moves by at most `G` as well, the largest distance of two rows' gradients on
//! `C` (by `L` for a null row); the smaller of the two counts. `T` adaptive uses with
//! `σ_sum = min(2τ√d, G)√T/μ` are `μ`-GDP. An entry that is no number counts as zero. Without
//! declared bounds `G` is infinite and nothing is assumed of rows or of the loss. With them the
//! guarantee relies on the bounds and on the constants of the loss, and the certificate says so
//! whether or not `G` is the smaller one.
//!
//! # Theorem (risk)
//!
//! Suppose `E(∂_j ℓ)² ≤ v` for every coordinate and every `w` in `C`, and the expected loss is
//! `β`-smooth. Then
//!
//! ```text
//! E risk − min risk ≤ βM²/(2T) + M√d(√(v a₁ √T) + √(v/n)),      a₁ = 2√d/(nμ),   τ = √(v n μ/(8√(dT)))
//! ```
//!
//! *Proof.* Clipping biases an entry by at most `E|g|[|g|>τ] ≤ v/(4τ)` (a number's excess over `τ`
//! is at most its square over `4τ`), and its mean deviates by `√(v/n)`; the noise deviates by `σ`.
//! The step `1/β` on an inexact gradient with error `e` costs `M E‖e‖` on average. `τ` balances
//! `v/(4τ)` against `σ = 2τ√(dT)/(nμ)`; both are then `√(v a₁√T)/2`. ∎
//!
//! A loss without `β` gets the step `M/(τ√(dT))`: private all the same, and no risk is predicted.

use reticent_data::{Chosen, Oracle, Question, RobustRule, Sensitive};
use reticent_noise::Source;
use reticent_privacy::Budget;
use reticent_problem::Problem;
use serde::{Deserialize, Serialize};

use crate::algorithm::REPLACED_OR_NULL;
use crate::executor::{self, Iterative, Resumable};
use crate::mirror;
use crate::output_gd::NoiseChoice;
use crate::setting::{
    CALIBRATION, CLIP, Checked, DEVIATION, NO_RIDGE, SMOOTHNESS, STEP_SIZE, STEPS, Setting, up_to,
};
use crate::step::lr_noise::{self, LrDrawer, LrNoise, Uses};
use crate::step::public;
use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Release, RunError, UnitSupport, WeightSupport,
};

/// The name in flags, files and messages.
pub const NAME: &str = "coordinate-mean";

/// More steps than this are never chosen.
const MOST_STEPS: u64 = 100_000;

const SETTINGS: &[Setting] = &[
    CALIBRATION,
    NO_RIDGE,
    STEPS.within(up_to(1, 1_000_000)).by_default("where the bound on the risk is least"),
    CLIP.by_default("where bias and noise are equal"),
    STEP_SIZE.by_default("1/beta, or M/(tau sqrt(d T))"),
    SMOOTHNESS,
    DEVIATION,
];

/// Settings. Omitted ones are chosen without looking at data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CoordinateMean {
    /// Paper or tight.
    pub calibration: Calibration,
    /// `T`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// `τ`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// The step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// `β`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothness: Option<f64>,
    /// `√v`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
}

/// Everything that will happen, before anything is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoordinateMeanPlan {
    /// The fields shared by all plans.
    #[serde(flatten)]
    pub outline: Outline,
    /// The requested settings.
    pub settings: CoordinateMean,
    /// `τ`.
    pub clip: f64,
    /// The step.
    pub eta: f64,
    /// The noise of each sum.
    pub noise: LrNoise,
}

/// `τ = √(v n μ/(8√(dT)))`: the clip at which bias and noise are equal. `change` rows' worth of an
/// entry move when a row does: two, or one for a null row.
pub fn clip_for(v: f64, rows: f64, mu: f64, dimension: f64, steps: f64, change: f64) -> f64 {
    (v * rows * mu / (4.0 * change * (dimension * steps).sqrt())).sqrt()
}

/// `T = (2βM/(√d √(v a₁)))^{4/5}`, where the bound is about least, at least one.
fn steps_for(beta: f64, diameter: f64, v: f64, a: f64, dimension: f64) -> f64 {
    (2.0 * beta * diameter / (dimension * v * a).sqrt()).powf(0.8).round().max(1.0)
}

/// Whether rows are declared to be bounded, so that the noise may rely on it.
fn has_bounds(problem: &Problem) -> bool {
    problem.check_numbers().is_ok()
}

impl Algorithm for CoordinateMean {
    const INFO: AlgorithmInfo = AlgorithmInfo {
        name: NAME,
        summary: "projected gradient descent on means of clipped entries; rows need no bound",
        paper: "Su, Zhao, Wang: DP stochastic convex optimization in (non)-Euclidean space revisited, after Theorem 15; own proof",
        assumptions: "a bounded set of weights; rows within their bounds where bounds are declared, or any; a smooth expected loss for the risk bound",
        guarantee: "(epsilon, delta), delta > 0, replace-one or zero-out",
        settings: SETTINGS,
        units: UnitSupport::Carried,
        weights: WeightSupport::Carried,
    };

    type Plan = CoordinateMeanPlan;

    fn read(settings: Checked<'_>) -> Result<Self, PlanError> {
        Ok(Self {
            calibration: settings.calibration(),
            steps: settings.whole(&STEPS),
            clip: settings.number(&CLIP),
            eta: settings.number(&STEP_SIZE),
            smoothness: settings.number(&SMOOTHNESS),
            deviation: settings.number(&DEVIATION),
        })
    }

    fn plan(&self, problem: &Problem, budget: Budget) -> Result<CoordinateMeanPlan, PlanError> {
        Self::INFO.admit(problem, budget)?;
        problem.check_without_bounds()?;
        public::check(NAME, problem, budget)?;
        for (name, value) in [
            ("clip", self.clip),
            ("step_size", self.eta),
            ("smoothness", self.smoothness),
            ("deviation", self.deviation),
        ] {
            public::positive(name, value)?;
        }
        public::steps(self.steps, 1_000_000)?;
        if !problem.domain.is_bounded() {
            let why = "needs a bounded set of weights; give `radius`, and `set` for a shape";
            return Err(PlanError::NotApplicable { algorithm: NAME, why: why.to_owned() });
        }
        let dimension = problem.dimension();
        let (n, d) = (problem.rows as f64, dimension as f64);
        let diameter = problem.domain.norm_diameter(2.0, dimension);
        let k = problem.regularity();
        let finite = |x: f64| x.is_finite().then_some(x);
        let smooth = k.smoothness.is_some() || self.smoothness.is_some();
        let beta = self.smoothness.or_else(|| k.smoothness.and_then(finite));
        // An entry of a gradient is a slope times an entry of the row; softmax has residuals of
        // size at most one.
        let entry = problem.bounds.entry() * k.lipschitz / problem.bounds.norm();
        let deviation = self.deviation.or_else(|| finite(entry));
        let mut warnings = Vec::new();
        let declared = beta.is_some() && deviation.is_some();
        if smooth && !declared {
            warnings.push("nothing bounds the curvature or the spread of gradients: 1 is assumed, no risk is predicted; declare `smoothness` and `deviation` (privacy does not depend on them)".to_owned());
        }
        let v = deviation.unwrap_or(1.0).powi(2);
        let change = budget.adjacency.sum_sensitivity();
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        let mu = lr_noise::total_mu(self.calibration, epsilon, delta)?;
        let a = change * d.sqrt() / (n * mu);
        let steps = self.steps.unwrap_or_else(|| {
            let wanted = steps_for(beta.unwrap_or(1.0), diameter, v, a, d);
            (wanted as u64).clamp(1, (problem.rows as u64).min(MOST_STEPS))
        });
        let t = steps as f64;
        let clip = self.clip.unwrap_or_else(|| clip_for(v, n, mu, d, t, change));
        let eta = self.eta.unwrap_or_else(|| match beta {
            Some(beta) => 1.0 / beta,
            None if smooth => 1.0,
            None => diameter / (clip * (d * t).sqrt()),
        });
        let clipped = change * clip * d.sqrt() * (1.0 + 1e-15);
        // Declared bounds that are no bounds bound nothing.
        let apart = if has_bounds(problem) {
            mirror::direct_sensitivity(problem, budget.adjacency)
        } else {
            clipped
        };
        let moves = clipped.min(apart);
        // The rounding of sums is relative to their terms, which may be as long as the clip allows.
        let rounding = lr_noise::rounded(clipped, problem, problem.rows) - clipped;
        let moves = (moves + rounding) * (1.0 + f64::EPSILON);
        let (noise, event) = LrNoise::plan(
            NoiseChoice::Gaussian,
            2.0,
            dimension,
            (moves, None),
            Uses::Each(steps),
            self.calibration,
            budget,
        )?;
        let predicted_excess = match (beta, self.clip.is_none() && self.eta.is_none()) {
            (Some(beta), true) if declared => Some(
                0.5 * beta * diameter * diameter / t
                    + diameter * d.sqrt() * ((v * a * t.sqrt()).sqrt() + (v / n).sqrt()),
            ),
            _ => None,
        };
        let outline = Outline {
            problem: problem.clone(),
            budget,
            event,
            steps,
            noise_deviation: noise.sigma / n,
            predicted_excess,
            warnings,
        };
        Ok(CoordinateMeanPlan { outline, settings: *self, clip, eta, noise })
    }

    fn run(
        plan: &CoordinateMeanPlan,
        oracle: &dyn Oracle,
        source: &Source,
        progress: &dyn Progress,
    ) -> Result<Release, RunError> {
        executor::run::<Self>(plan, oracle, source, progress)
    }
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    step: u64,
    weights: Vec<f64>,
    /// Of the iterates so far.
    sum: Vec<f64>,
}

impl Iterative for CoordinateMean {
    type State = State;
    type Tools<'a> = (&'a dyn Oracle, LrDrawer);

    fn start(plan: &CoordinateMeanPlan, _: &dyn Oracle, _: &Source) -> Result<State, RunError> {
        let problem = &plan.outline.problem;
        let weights = problem.domain.start(problem.dimension());
        Ok(State { step: 0, weights, sum: vec![0.0; problem.dimension()] })
    }

    fn tools<'a>(
        plan: &'a CoordinateMeanPlan,
        _: &State,
        oracle: &'a dyn Oracle,
        source: &Source,
    ) -> Result<Self::Tools<'a>, RunError> {
        Ok((oracle, plan.noise.drawer(plan.outline.problem.dimension(), source)?))
    }

    fn progress(plan: &CoordinateMeanPlan, state: &State) -> (u64, u64) {
        (state.step, plan.outline.steps)
    }

    fn step(
        plan: &CoordinateMeanPlan,
        (oracle, noise): &mut Self::Tools<'_>,
        state: &mut State,
    ) -> Result<(), RunError> {
        let problem = &plan.outline.problem;
        let (chosen, rule) =
            (Chosen::Block(0..problem.rows), RobustRule::ClipEntries { bound: plan.clip });
        let mut gradient = Sensitive::new(vec![0.0; problem.dimension()]);
        let question = Question::Robust { chosen, rule, at: &state.weights };
        oracle.ask(problem, &question, &mut gradient)?;
        for (w, g) in state.weights.iter_mut().zip(noise.release(gradient)) {
            *w -= plan.eta * (g / problem.rows as f64);
        }
        problem.domain.project(&mut state.weights);
        for (s, w) in state.sum.iter_mut().zip(&state.weights) {
            *s += w;
        }
        state.step += 1;
        Ok(())
    }

    fn release(plan: &CoordinateMeanPlan, state: State, _: &Source) -> Result<Release, RunError> {
        let total = plan.outline.steps as f64;
        let weights = state.sum.iter().map(|s| s / total).collect();
        Ok(Release::new(weights, &plan.outline.event))
    }
}

impl Resumable for CoordinateMean {
    fn belongs(plan: &CoordinateMeanPlan, state: &State) -> bool {
        let dimension = plan.outline.problem.dimension();
        state.step <= plan.outline.steps
            && [state.weights.len(), state.sum.len()] == [dimension, dimension]
            // The bound on what a row moves holds on the set alone.
            && plan.outline.problem.domain.holds(&state.weights)
    }
}

impl Planned for CoordinateMeanPlan {
    fn outline(&self) -> &Outline {
        &self.outline
    }

    fn calibration(&self) -> Calibration {
        self.settings.calibration
    }

    fn again(&self) -> Result<Self, PlanError> {
        self.settings.plan(&self.outline.problem, self.outline.budget)
    }

    fn assumptions(&self) -> Vec<Assumption> {
        let theorem = "coordinate-wise clipped descent (docs/algorithms/coordinate-mean.md)";
        let mut all = vec![
            Assumption::new(REPLACED_OR_NULL, "owner", theorem),
            Assumption::new("each entry of each gradient is clipped", "run", theorem),
            Assumption::new("steps and clip are fixed in advance", "plan", theorem),
        ];
        if has_bounds(&self.outline.problem) {
            all.extend(mirror::bounded_gradients(theorem));
        }
        all.push(Assumption::new(
            "for the risk only: the expected loss is smooth, and entries of gradients have the declared mean square",
            "owner",
            theorem,
        ));
        all
    }
}
