//! Gradient-perturbed SGD: noise in every step, on batches of any size; the average of all
//! iterates.
//!
//! Wang, Lei, Ying and Zhang, "Differentially private SGD with non-smooth losses" (Applied and
//! Computational Harmonic Analysis, 2022), Algorithm 2, with its errata corrected
//! (`docs/algorithms/gradient-sgd.md`). The source has `b = 1`.
//!
//! # Problem
//!
//! Minimise the average of losses whose gradients are at most `G` on `W`. From `w₁` nearest to
//! zero, for `t = 1, …, T − 1`,
//!
//! ```text
//! w_{t+1} = Proj_W( w_t − η( (1/b) Σ_{i in S_t} ∇ℓ(w_t; z_i) + μ w_t + N(0, σ²I) ) ),      release  (w₁ + … + w_T)/T
//! ```
//!
//! `S_t` a uniform subset of `b` of the `n` rows, secret, independent across steps.
//!
//! # Theorem (privacy)
//!
//! Replace-one, and `‖∇ℓ‖ ≤ G` on `W`: neither convexity nor any condition on `η` is needed. A
//! step's sum over a batch moves by at most `2G`. For all `t ≥ 0`, with `p = b/n` and `s` the
//! sensitivity over the noise,
//!
//! ```text
//! H_{e^t}(step(S) ‖ step(S')) ≤ p·G(s; log(1 + (e^t − 1)/p)),
//! ```
//!
//! attained, and the profile for `t < 0` is attained by the reversed pair. The mixture pair alone
//! does not bound adaptive steps; what composes is the symmetric pair of the upper envelope,
//! [`reticent_privacy::pair::fixed_size_replace_delta`], `T − 1` times. The event is
//! `FixedSizeGaussian`, and the same value draws the batches. All iterates, hence their average,
//! are functions of the noisy sums.
//!
//! *Tight* calibration takes the least noise for which that composition meets the budget. *Paper*
//! calibration takes Theorem 11's, with both of its conditions checked ([`paper`]), for the
//! source's `G = M + L R^α` on a ball.
//!
//! # Risk
//!
//! For a convex loss `U = ‖w*‖²/(2ηT) + η(G² + dσ²)/2 + G(ω a_T + ηG(T−1)/n)` bounds the expected
//! excess risk, on the training rows and on new ones ([`crate::holder::Run`]). Tight `η` makes it
//! least.

pub mod paper;

use reticent_data::Oracle;
use reticent_noise::Source;
use reticent_privacy::Budget;
use reticent_problem::{Domain, Problem, Regularity};
use serde::{Deserialize, Serialize};

use crate::executor::{self, Iterative, Resumable};
use crate::holder::{self, LossForm, Run, average_root};
use crate::output_sgd::distance;
use crate::output_sgd::paper::GAMMA;
use crate::random_round::assumptions;
use crate::setting::{
    BATCH, CALIBRATION, Checked, DISTANCE, OWN_RIDGE, STEP_CAP, STEP_SIZE, STEPS, Setting, up_to,
};
use crate::step::descend::{Step, border, hold};
use crate::step::noisy_gradient::{Batches, Length, NoisyGradient, Sampling, check_cost};
use crate::step::room::Room;
use crate::step::walk;
use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Release, RunError, UnitSupport, WeightSupport,
};
use paper::Rate;

/// The name in flags, files and messages.
pub const NAME: &str = "gradient-sgd";

/// The automatic `T` stops here: about a minute of noise for a hundred weights.
const MAX_STEPS: u64 = 10_000_000;

const SETTINGS: &[Setting] = &[
    CALIBRATION,
    OWN_RIDGE,
    BATCH.by_default("1"),
    STEPS
        .within(up_to(2, reticent_privacy::MAX_STEPS))
        .limited("at most 1e10 gradients")
        .by_default("n, or the paper's power of n"),
    STEP_CAP.by_default("10000000"),
    STEP_SIZE.by_default("where the bound on the risk is least, or the paper's"),
    DISTANCE.by_default("the set's radius, or 5/B, or 2Y/B"),
];

/// Settings. Omitted ones are chosen without looking at data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GradientSgd {
    /// Paper or tight.
    pub calibration: Calibration,
    /// `b`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// `T`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Caps the automatic `T`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u64>,
    /// `η`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// `‖w*‖`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<f64>,
}

/// Everything that will happen, before anything is read. The predicted excess holds if `distance`
/// bounds the norm of the best weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GradientSgdPlan {
    /// The fields shared by all plans.
    #[serde(flatten)]
    pub outline: Outline,
    /// The requested settings.
    pub settings: GradientSgd,
    /// The constants that follow.
    pub regularity: Regularity,
    /// How batches are drawn and made noisy.
    pub batches: Batches,
    /// `η`.
    pub eta: f64,
}

impl GradientSgd {
    /// Batches with their noise, and what they cost.
    fn batches(
        &self,
        problem: &Problem,
        budget: Budget,
        size: u64,
        steps: u64,
    ) -> Result<(Batches, reticent_privacy::Event), PlanError> {
        let k = problem.regularity();
        let sampling = Sampling::FixedSize { size };
        let batches = Batches::new(problem, sampling, size, k.lipschitz);
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        if self.calibration == Calibration::Tight || epsilon.is_infinite() {
            return batches.calibrated(problem, budget, Length::Steps(steps - 1));
        }
        let (rows, batch) = (problem.rows as f64, size as f64);
        let setting = paper::PaperGradient { rows, batch, steps: steps as f64, epsilon, delta };
        let Some(multiplier) = setting.best_noise_multiplier() else {
            let least = setting.least_epsilon().map_or("none below 10000 does".to_owned(), |e| {
                format!("epsilon = {e:.3} is the least that does")
            });
            let why = format!(
                "cannot meet the paper's conditions C1 and C2 at n = {rows}, T = {steps}, epsilon = {epsilon}, delta = {delta:e} for any beta ({least}); use calibration tight"
            );
            return Err(PlanError::NotApplicable { algorithm: NAME, why });
        };
        let radius = problem.domain.radius();
        let source = if radius.is_finite() {
            k.gradient_at_zero + k.holder_constant * radius.powf(k.holder_order)
        } else {
            k.lipschitz
        };
        // Noise over one sensitivity, as noise over one clip; the source's G is never below ours.
        let in_clips = 2.0 * multiplier * (source / k.lipschitz).max(1.0);
        batches.certified(problem, budget, Length::Steps(steps - 1), in_clips)
    }

    fn choose_eta(
        &self,
        problem: &Problem,
        budget: Budget,
        run: Run,
        root: f64,
        sigma: f64,
    ) -> f64 {
        let k = problem.regularity();
        if let Some(eta) = self.eta {
            return eta;
        }
        // For the risk's sake only: no step that expands, none that forgets more than half.
        let limit = if k.holder_order >= 1.0 {
            2.0 / (k.holder_constant + 2.0 * problem.ridge)
        } else if problem.ridge > 0.0 {
            0.5 / problem.ridge
        } else {
            f64::INFINITY
        };
        let (t, d) = (run.steps as f64, problem.dimension() as f64);
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        if self.calibration == Calibration::Paper && epsilon.is_finite() {
            let rate = Rate { rows: run.rows, dimension: d, epsilon, delta, gamma: GAMMA };
            return rate.eta_of_noisy_steps(t).min(limit);
        }
        if k.holder_order >= 1.0 {
            let g2 = run.lipschitz * run.lipschitz;
            let slope = g2 + d * sigma * sigma + 2.0 * g2 * (t - 1.0) / run.rows;
            return (run.distance / (t * slope).sqrt()).min(limit);
        }
        let scale = run.distance / (run.lipschitz * t.sqrt());
        let high = (10.0 * scale).min(limit);
        holder::least((1e-6 * scale).min(high), high, |eta| {
            let omega = omega(&k, problem, eta);
            Run { omega, eta, ..run }.excess_with_noisy_steps(root, sigma, d)
        })
    }
}

/// `ω` of a step, for the risk.
fn omega(k: &Regularity, problem: &Problem, eta: f64) -> f64 {
    let kind = if problem.loss.outputs() == 1 { LossForm::Glm } else { LossForm::General };
    let keep = 1.0 - eta * problem.ridge;
    keep * holder::omega(k.holder_order, k.holder_constant, eta / keep, kind)
}

impl Algorithm for GradientSgd {
    const INFO: AlgorithmInfo = AlgorithmInfo {
        name: NAME,
        summary: "SGD with noise in every step on secret batches of fixed size, all iterates averaged",
        paper: "Wang, Lei, Ying, Zhang: Differentially private SGD with non-smooth losses, ACHA 2022, Algorithm 2",
        assumptions: "bounded gradients (any convex loss on a ball, or a Lipschitz one), bounded rows, replace-one adjacency, delta > 0",
        guarantee: "(epsilon, delta)-DP, for every iterate together",
        settings: SETTINGS,
        units: UnitSupport::Carried,
        weights: WeightSupport::Carried,
    };

    type Plan = GradientSgdPlan;

    fn read(settings: Checked<'_>) -> Result<Self, PlanError> {
        Ok(Self {
            calibration: settings.calibration(),
            batch: settings.whole(&BATCH),
            steps: settings.whole(&STEPS),
            max_steps: settings.whole(&STEP_CAP),
            eta: settings.number(&STEP_SIZE),
            distance: settings.number(&DISTANCE),
        })
    }

    fn plan(&self, problem: &Problem, budget: Budget) -> Result<GradientSgdPlan, PlanError> {
        Self::INFO.admit(problem, budget)?;
        let mut warnings = Vec::new();
        problem.check()?;
        walk::check(NAME, problem, budget, &mut warnings)?;
        for (name, value) in [("step_size", self.eta), ("distance", self.distance)] {
            if let Some(x) = value {
                walk::range(x.is_finite() && x > 0.0, name, "a finite number > 0", x)?;
            }
        }
        let k = problem.regularity();
        if !k.lipschitz.is_finite() {
            let why = format!(
                "needs bounded gradients, and those of the {} loss are unbounded on R^d: give `radius` or `slope_limit`, or use output-sgd",
                problem.loss.name()
            );
            return Err(PlanError::NotApplicable { algorithm: NAME, why });
        }
        let n = problem.rows as f64;
        let batch = self.batch.unwrap_or(1);
        let expected = format!("a whole number from 1 to n = {n}");
        walk::range((1..=problem.rows as u64).contains(&batch), "batch", &expected, batch as f64)?;
        let automatic = holder::steps_bounded(n, k.holder_order);
        let steps = walk::steps(self.steps, self.max_steps, MAX_STEPS, automatic, &mut warnings)?;
        check_cost(steps as f64, batch)?;
        let (batches, event) = self.batches(problem, budget, batch, steps)?;
        let dimension = problem.dimension();
        let sigma = batches.deviation(dimension)?;
        let radius = problem.domain.radius();
        let ridged = problem.ridge > 0.0;
        let run = Run {
            lipschitz: k.lipschitz
                + if ridged { problem.ridge * radius.min(f64::MAX) } else { 0.0 },
            omega: 0.0,
            distance: distance(self.distance, problem),
            rows: n,
            steps,
            eta: 0.0,
        };
        let root = average_root(steps);
        // Without a ball nothing bounds the ridge's part of a noisy step.
        let known = !ridged || radius.is_finite();
        let tuned = if known { run } else { Run { lipschitz: k.lipschitz, ..run } };
        let eta = self.choose_eta(problem, budget, tuned, root, sigma);
        let run = Run { omega: omega(&k, problem, eta), eta, ..run };
        let excess = run.excess_with_noisy_steps(root, sigma, dimension as f64);
        let predicted_excess = (known && excess.is_finite()).then_some(excess);
        if let Some(excess) = predicted_excess {
            walk::warn_of_noise(excess, &k, &mut warnings);
        }
        let outline = Outline {
            problem: problem.clone(),
            budget,
            event,
            steps,
            noise_deviation: sigma,
            predicted_excess,
            warnings,
        };
        Ok(GradientSgdPlan { outline, settings: *self, regularity: k, batches, eta })
    }

    fn run(
        plan: &GradientSgdPlan,
        oracle: &dyn Oracle,
        source: &Source,
        progress: &dyn Progress,
    ) -> Result<Release, RunError> {
        executor::run::<Self>(plan, oracle, source, progress)
    }
}

/// Where a run stands.
#[derive(Serialize, Deserialize)]
pub(crate) struct State {
    step: u64,
    weights: Room,
    /// Of the iterates before.
    sum: Room,
}

/// The resources of a run's steps; not part of its state.
pub(crate) struct Tools<'a> {
    noisy: NoisyGradient<'a>,
    /// Of the ball that is projected onto; none for another set.
    radius: Option<f64>,
    step: Step,
}

impl Iterative for GradientSgd {
    type State = State;
    type Tools<'a> = Tools<'a>;

    const AT_A_TIME: u64 = 256;

    fn start(plan: &GradientSgdPlan, _: &dyn Oracle, _: &Source) -> Result<State, RunError> {
        let problem = &plan.outline.problem;
        let (mut weights, sum) = (Room::new(problem.dimension()), Room::new(problem.dimension()));
        problem.domain.project(weights.numbers());
        Ok(State { step: 0, weights, sum })
    }

    fn tools<'a>(
        plan: &'a GradientSgdPlan,
        _: &State,
        oracle: &'a dyn Oracle,
        source: &Source,
    ) -> Result<Tools<'a>, RunError> {
        let problem = &plan.outline.problem;
        let noisy = NoisyGradient::new(oracle, problem, plan.batches, source)?;
        let radius = match problem.domain {
            Domain::Unbounded => Some(f64::INFINITY),
            Domain::Ball { radius } => Some(radius),
            _ => None,
        };
        let step = Step {
            border: border(radius.unwrap_or(f64::INFINITY)),
            ..Step::new(plan.eta, noisy.share(), problem.ridge)
        };
        Ok(Tools { noisy, radius, step })
    }

    fn progress(plan: &GradientSgdPlan, state: &State) -> (u64, u64) {
        (state.step, plan.outline.steps - 1)
    }

    #[inline(always)]
    fn step(
        plan: &GradientSgdPlan,
        tools: &mut Tools<'_>,
        state: &mut State,
    ) -> Result<(), RunError> {
        let w = state.weights.numbers();
        let square = tools.noisy.descend(tools.step, w, state.sum.numbers())?;
        match tools.radius {
            // The length is known already.
            Some(radius) if square.is_normal() => hold(w, square, radius),
            _ => plan.outline.problem.domain.project(w),
        }
        state.step += 1;
        Ok(())
    }

    fn release(plan: &GradientSgdPlan, mut state: State, _: &Source) -> Result<Release, RunError> {
        let (w, sum) = (state.weights.numbers(), state.sum.numbers());
        let total = plan.outline.steps as f64;
        let weights = sum.iter().zip(&*w).map(|(sum, w)| (sum + w) / total).collect();
        Ok(Release::new(weights, &plan.outline.event))
    }
}

impl Resumable for GradientSgd {
    fn belongs(plan: &GradientSgdPlan, state: &State) -> bool {
        let dimension = plan.outline.problem.dimension();
        state.step < plan.outline.steps
            && [state.weights.len(), state.sum.len()] == [dimension, dimension]
    }
}

impl Planned for GradientSgdPlan {
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
        assumptions("envelope of sampled Gaussians (docs/algorithms/gradient-sgd.md)")
    }
}
