//! Truncated batched mirror descent: no bound on the rows, gradients that are too long are left
//! out.
//!
//! Su, Zhao and Wang, "Differentially private stochastic convex optimization in (non)-Euclidean
//! space revisited", Algorithm 7 (supplement), with its errata corrected.
//!
//! # Problem
//!
//! Minimise the expected loss over a bounded convex set `C` of `l_p` diameter `M`, `1 ≤ p ≤ 2`.
//! Nothing is assumed of a row: features may have any size. The `n` rows are cut into `T` blocks of
//! `b = ⌊n/T⌋` consecutive rows; the rest is unused. From the point of `C` at which the mirror map
//! `Φ` is least,
//!
//! ```text
//! y_t     = (1/b) Σ_{x in block t} ∇ℓ(w_t; x)·[‖∇ℓ(w_t; x)‖_q ≤ S]  +  Z_t
//! w_{t+1} = argmin_{w in C} ⟨y_t, w⟩ + γ D_Φ(w, w_t),            release  (1/T) Σ w_t
//! ```
//!
//! # Theorem (privacy)
//!
//! Replacing a row moves the sum of its block by at most `2S` in `‖·‖_q` (by `S` if it is set to a
//! null row), and no other block: `w_t` is a function of what was released before. So each release
//! is `μ`-GDP with the noise of `step::lr_noise`, and because the blocks are disjoint so is the
//! run. Nothing else is used: no bound on rows, no property of the loss. A gradient that is not
//! finite is left out, like one that is too long.
//!
//! # Theorem (risk)
//!
//! Suppose the expected loss is `β`-smooth with its unconstrained minimiser in `C`, and
//! `E‖∇ℓ − E∇ℓ‖_q² ≤ ς²`. With `S = βM + λ`, `λ ≥ βM` and `γ ≥ 2β` (the printed listing omits the
//! last),
//!
//! ```text
//! E risk − min risk ≤ κM²γ/(2T) + 2Mς²/λ + (8ς² + 2g²)/γ,       g² = E‖Z‖_q²
//! ```
//!
//! *Proof.* A gradient within `C` has expectation at most `βM`, so truncation at `βM + λ` biases it
//! by at most `ς²/λ` (Markov), which costs `M` times that, twice; the rest is mirror descent with
//! `Φ` 1-strongly convex (supplement, Lemma 19 ff.). ∎ `λ`, `T` and `γ` are where this bound is
//! least.

pub mod descent;

use reticent_data::{Chosen, Oracle, Question, RobustRule, Sensitive};
use reticent_noise::Source;
use reticent_privacy::Budget;
use reticent_problem::Problem;
use reticent_problem::geometry::dual_exponent;
use serde::{Deserialize, Serialize};

use crate::algorithm::REPLACED_OR_NULL;
use crate::executor::{self, Iterative};
use crate::output_gd::NoiseChoice;
use crate::setting::{
    CALIBRATION, CLIP, Checked, DEVIATION, NO_RIDGE, NOISE, P, SMOOTHNESS, STEP_NOISE, STEPS,
    Setting,
};
use crate::step::lr_noise::{self, LrDrawer, LrNoise, Uses};
use crate::step::public;
use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Release, RunError, UnitSupport, WeightSupport,
};
use descent::{Descent, DescentInputs};

/// The name in flags, files and messages.
pub const NAME: &str = "truncated-mirror";

const SETTINGS: &[Setting] = &[
    CALIBRATION,
    NO_RIDGE,
    STEP_NOISE,
    STEPS.by_default("where the bound on the risk is least").limited("at most n"),
    CLIP.by_default("where the bound on the risk is least"),
    P.limited("above 2 use phased or coordinate-mean"),
    SMOOTHNESS,
    DEVIATION,
];

/// Settings. Omitted ones are chosen without looking at data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TruncatedMirror {
    /// Paper or tight.
    pub calibration: Calibration,
    /// Which noise.
    pub noise: NoiseChoice,
    /// `T`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// `S`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// The norm of weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// `β`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothness: Option<f64>,
    /// `ς`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
}

/// Everything that will happen, before anything is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TruncatedMirrorPlan {
    /// The fields shared by all plans.
    #[serde(flatten)]
    pub outline: Outline,
    /// The requested settings.
    pub settings: TruncatedMirror,
    /// The constants that follow.
    pub shape: DescentInputs,
    /// `S`.
    pub truncation: f64,
    /// `b`.
    pub batch: u64,
    /// `γ`.
    pub gamma: f64,
    /// The noise of each block's sum.
    pub noise: LrNoise,
}

/// `S`, `T` and `γ`.
struct TruncatedChoice {
    truncation: f64,
    steps: u64,
}

impl TruncatedMirror {
    fn choose(
        &self,
        problem: &Problem,
        budget: Budget,
        shape: &DescentInputs,
    ) -> Result<TruncatedChoice, PlanError> {
        let n = problem.rows as u64;
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        if self.calibration == Calibration::Paper {
            let d = problem.dimension() as f64;
            let (lambda, steps) = shape.theory(n as f64, epsilon, delta, d);
            return Ok(TruncatedChoice {
                truncation: self.clip.unwrap_or(shape.smoothness * shape.diameter + lambda),
                steps: self.steps.unwrap_or(steps as u64),
            });
        }
        let square = self.unit_square(problem, budget, shape)?;
        let truncations: Vec<f64> =
            self.clip.map_or_else(|| shape.truncations().collect(), |s| vec![s]);
        let grid = self.steps.map_or_else(|| public::step_grid(n, 30), |t| vec![t]);
        let mut best =
            (f64::INFINITY, TruncatedChoice { truncation: truncations[0], steps: grid[0] });
        for &truncation in &truncations {
            // A truncation below what the proof needs is the caller's wish; the bound is then for
            // the least that it does.
            let least = shape.smoothness * shape.diameter;
            let lambda = shape.lambda(truncation).max(least);
            for &steps in &grid {
                let batch = (n / steps) as f64;
                let noise_square = square * (truncation / batch).powi(2);
                let gamma = shape.gamma(steps as f64, noise_square);
                let bound = shape.bound(lambda, steps as f64, gamma, noise_square);
                if bound < best.0 {
                    best = (bound, TruncatedChoice { truncation, steps });
                }
            }
        }
        Ok(best.1)
    }

    /// `E‖Z‖_q²` for a truncation of one and a batch of one.
    fn unit_square(
        &self,
        problem: &Problem,
        budget: Budget,
        shape: &DescentInputs,
    ) -> Result<f64, PlanError> {
        let (dimension, q) = (problem.dimension(), dual_exponent(shape.p));
        let mu = lr_noise::total_mu(self.calibration, budget.epsilon.get(), budget.delta.get())?;
        let r = lr_noise::exponent(self.noise, shape.p, dimension)?;
        let kappa = reticent_problem::geometry::dual_smoothness(r, q, dimension);
        let sigma = noise_sigma(kappa, 1.0, 1.0, budget.adjacency.sum_sensitivity(), mu);
        Ok(sigma * sigma * lr_noise::unit_square_bound(r, q, dimension))
    }
}

/// `√κ(r)·(cS/b)/μ`: the noise of a block's mean, where a changed row moves its sum by `c S`.
pub fn noise_sigma(kappa: f64, truncation: f64, batch: f64, change: f64, mu: f64) -> f64 {
    lr_noise::noise_sigma(kappa, change * truncation / batch, 1.0, mu)
}

impl Algorithm for TruncatedMirror {
    const INFO: AlgorithmInfo = AlgorithmInfo {
        name: NAME,
        summary: "mirror descent over disjoint blocks, gradients that are too long left out; no bound on rows",
        paper: "Su, Zhao, Wang: DP stochastic convex optimization in (non)-Euclidean space revisited, Algorithm 7",
        assumptions: "a bounded set of weights; any rows; a smooth expected loss for the risk bound",
        guarantee: "(epsilon, delta), delta > 0, replace-one or zero-out",
        settings: SETTINGS,
        units: UnitSupport::Refused(
            "uses each record once in the order of the table, in which a unit that is replaced may move all others by a place",
        ),
        weights: WeightSupport::Carried,
    };

    type Plan = TruncatedMirrorPlan;

    fn read(settings: Checked<'_>) -> Result<Self, PlanError> {
        Ok(Self {
            calibration: settings.calibration(),
            noise: settings.choice(&NOISE).unwrap_or_default(),
            steps: settings.whole(&STEPS),
            clip: settings.number(&CLIP),
            p: settings.number(&P),
            smoothness: settings.number(&SMOOTHNESS),
            deviation: settings.number(&DEVIATION),
        })
    }

    fn plan(&self, problem: &Problem, budget: Budget) -> Result<TruncatedMirrorPlan, PlanError> {
        Self::INFO.admit(problem, budget)?;
        problem.check_without_bounds()?;
        public::check(NAME, problem, budget)?;
        public::positive("clip", self.clip)?;
        public::steps(self.steps, problem.rows as u64)?;
        let shape = DescentInputs::new(NAME, problem, self.p, self.smoothness, self.deviation)?;
        let TruncatedChoice { truncation, steps } = self.choose(problem, budget, &shape)?;
        let (dimension, q) = (problem.dimension(), dual_exponent(shape.p));
        let batch = problem.rows as u64 / steps;
        let one_row = lr_noise::rounded(truncation, problem, batch as usize);
        let change = budget.adjacency.sum_sensitivity() * one_row;
        // A vector of l_q norm S has Euclidean norm at most d^{1/2-1/q} S, as the noise assumes.
        let (noise, event) = LrNoise::plan(
            self.noise,
            shape.p,
            dimension,
            (change, None),
            Uses::Once,
            self.calibration,
            budget,
        )?;
        let b = batch as f64;
        let noise_square = noise.square_bound(q, dimension) / (b * b);
        let gamma = match self.calibration {
            Calibration::Tight => shape.gamma(steps as f64, noise_square),
            Calibration::Paper => (steps as f64).sqrt().max(2.0 * shape.smoothness),
        };
        let lambda = shape.lambda(truncation);
        let proven = lambda >= shape.smoothness * shape.diameter * (1.0 - 1e-12);
        let mut warnings: Vec<String> = shape.guess().into_iter().collect();
        if shape.declared && !proven {
            warnings.push(format!(
                "clip = {truncation} is below 2 beta M = {}: private all the same, but no risk is predicted",
                2.0 * shape.smoothness * shape.diameter
            ));
        }
        let predicted_excess = (shape.declared && proven)
            .then(|| shape.bound(lambda, steps as f64, gamma, noise_square));
        let outline = Outline {
            problem: problem.clone(),
            budget,
            event,
            steps,
            noise_deviation: noise.deviation(dimension) / b,
            predicted_excess,
            warnings,
        };
        Ok(TruncatedMirrorPlan { outline, settings: *self, shape, truncation, batch, gamma, noise })
    }

    fn run(
        plan: &TruncatedMirrorPlan,
        oracle: &dyn Oracle,
        source: &Source,
        progress: &dyn Progress,
    ) -> Result<Release, RunError> {
        executor::run::<Self>(plan, oracle, source, progress)
    }
}

impl Iterative for TruncatedMirror {
    type State = Descent;
    type Tools<'a> = (&'a dyn Oracle, LrDrawer);

    fn start(plan: &TruncatedMirrorPlan, _: &dyn Oracle, _: &Source) -> Result<Descent, RunError> {
        Ok(Descent::new(&plan.outline.problem, plan.shape.map))
    }

    fn tools<'a>(
        plan: &'a TruncatedMirrorPlan,
        _: &Descent,
        oracle: &'a dyn Oracle,
        source: &Source,
    ) -> Result<Self::Tools<'a>, RunError> {
        Ok((oracle, plan.noise.drawer(plan.outline.problem.dimension(), source)?))
    }

    fn progress(plan: &TruncatedMirrorPlan, state: &Descent) -> (u64, u64) {
        (state.steps(), plan.outline.steps)
    }

    fn step(
        plan: &TruncatedMirrorPlan,
        (oracle, noise): &mut Self::Tools<'_>,
        state: &mut Descent,
    ) -> Result<(), RunError> {
        let problem = &plan.outline.problem;
        let first = (state.steps() * plan.batch) as usize;
        let chosen = Chosen::Block(first..first + plan.batch as usize);
        let q = dual_exponent(plan.shape.p);
        let rule = RobustRule::Truncate { q, threshold: plan.truncation, grid: None };
        let mut sum = Sensitive::new(vec![0.0; problem.dimension()]);
        oracle.ask(problem, &Question::Robust { chosen, rule, at: state.at() }, &mut sum)?;
        let noisy = noise.release(sum);
        state.step(problem, plan.shape.map, plan.gamma, &noisy, plan.batch as f64);
        Ok(())
    }

    fn release(
        plan: &TruncatedMirrorPlan,
        state: Descent,
        _: &Source,
    ) -> Result<Release, RunError> {
        Ok(Release::new(state.average(), &plan.outline.event))
    }
}

impl Planned for TruncatedMirrorPlan {
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
        assumptions("truncated mirror descent (docs/algorithms/truncated-mirror.md)")
    }
}

/// The assumptions of truncated mirror descent and of its shuffled form.
pub(crate) fn assumptions(theorem: &str) -> Vec<Assumption> {
    vec![
        Assumption::new(REPLACED_OR_NULL, "owner", theorem),
        Assumption::new(
            "a gradient longer than the truncation, or not finite, is left out",
            "run",
            theorem,
        ),
        Assumption::new("steps, truncation and blocks are fixed in advance", "plan", theorem),
        Assumption::new(
            "for the risk only: the expected loss is smooth with its minimiser in the set, and its gradients have the declared deviation",
            "owner",
            theorem,
        ),
    ]
}
