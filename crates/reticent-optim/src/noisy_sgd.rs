//! Noisy SGD on a ball: noise in every step, the last iterate.
//!
//! Bassily, Smith and Thakurta, "Private empirical risk minimization: efficient algorithms and
//! tight error bounds" (FOCS 2014), Algorithm 1, for the average objective and with mini-batches,
//! as Zhang, Zheng, Mou and Wang (IJCAI 2017) compare with it.
//!
//! # Problem
//!
//! Minimise `F_S(w) = (1/n) Σ ℓ(w; xᵢ, yᵢ) + (μ/2)‖w‖²` over the ball `W` of radius `R`, for a
//! convex loss whose gradients are at most `L` there; it need not be smooth. With `L_f = L + μR`,
//! from `w₁ = 0`, for `t = 1, …, N`,
//!
//! ```text
//! w_{t+1} = Proj_W( w_t − η_t ( (1/m) Σ_{i in I_t} ∇ℓ(w_t; ξᵢ) + μ w_t + z_t ) ),   z_t ~ N(0, σ_z² I),
//! η_t = 2R/sqrt(t (L_f² + dσ_z²))   (μ = 0),        η_t = 1/(μt)   (μ > 0),
//! ```
//!
//! `N = ⌈(n/m)²⌉`, and `w_{N+1}` is released.
//!
//! # Guarantee
//!
//! As in [`crate::random_round`]: `N` Gaussian mechanisms on sums of clipped gradients of secret
//! random batches, composed by the accountant. The ridge is public and exact.
//!
//! *Tight* (default): Poisson batches, the least noise `s` that the accountant certifies,
//! `σ_z = 2Ls/m`. *Paper*: uniform subsets and `σ_z = L_f sqrt(32 ln(n/δ) ln(1/δ))/(εm)`, that is
//! `s = sqrt(8 ln(n/δ) ln(1/δ))/ε` in replace sensitivities `2L_f`. Its constant is not taken on
//! trust: a plan exists only where the accountant certifies it.
//!
//! # Risk
//!
//! Shamir and Zhang (ICML 2013), for the last iterate, with `G² ≥ E‖·‖²` of the noisy gradient,
//! here `G² = L_f² + L²/m + dσ_z²` (the middle term for Poisson batches only) and diameter `2R`:
//!
//! ```text
//! E F(w_N) − min_W F ≤ (4R²/c + cG²)(2 + ln N)/√N   for η_t = c/√t,      17G²(1 + ln N)/(μN)   for η_t = 1/(μt).
//! ```

use reticent_data::Oracle;
use reticent_noise::Source;
use reticent_privacy::Budget;
use reticent_problem::{Domain, Problem, ProblemError, Regularity};
use serde::{Deserialize, Serialize};

use crate::executor::{self, Iterative, Resumable};
use crate::random_round::{assumptions, check_budget, range, warn_of_delta};
use crate::setting::{BATCH, CALIBRATION, Checked, OWN_RIDGE, STEPS, Setting, up_to};
use crate::step::descend::Step;
pub use crate::step::noisy_gradient::{Batches, Sampling};
use crate::step::noisy_gradient::{Length, NoisyGradient, check_cost};
use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Release, RunError, UnitSupport, WeightSupport,
};

/// The name in flags, files and messages.
pub const NAME: &str = "noisy-sgd";

/// Rows in a batch if none is asked for: the paper's comparison uses 50.
const USUAL_BATCH: u64 = 50;

const SETTINGS: &[Setting] = &[
    CALIBRATION,
    OWN_RIDGE,
    STEPS
        .within(up_to(1, reticent_privacy::MAX_STEPS))
        .limited("at most 1e10 gradients")
        .by_default("(n/m)^2"),
    BATCH.by_default("min(n, 50)"),
];

/// Settings. Omitted ones are chosen without looking at data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NoisySgd {
    /// Paper or tight.
    pub calibration: Calibration,
    /// `N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// `m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// Add the noise for one row's gradient to the average of `m`, `m` times what is needed. It
    /// seems that a published comparison was made so; to reproduce that table is what this is for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undivided: bool,
}

/// Everything that will happen, before anything is read. The predicted excess is over the ball.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoisySgdPlan {
    /// The fields shared by all plans.
    #[serde(flatten)]
    pub outline: Outline,
    /// The requested settings.
    pub settings: NoisySgd,
    /// The constants on the ball.
    pub regularity: Regularity,
    /// `R`: the declared radius, or the one that a ridge implies for the minimiser.
    pub radius: f64,
    /// How batches are drawn, clipped and made noisy.
    pub batches: Batches,
    /// `c` in `η_t = c/√t` without ridge, or in `η_t = c/t` with one.
    pub step_scale: f64,
}

impl Algorithm for NoisySgd {
    const INFO: AlgorithmInfo = AlgorithmInfo {
        name: NAME,
        summary: "noisy mini-batch gradient steps on a ball, the last iterate",
        paper: "Bassily, Smith, Thakurta: Private empirical risk minimization, FOCS 2014, Algorithm 1",
        assumptions: "convex Lipschitz loss, smooth or not, on a ball (or a ridge, which implies one); delta > 0, replace-one adjacency",
        guarantee: "(epsilon, delta)-DP, whatever the loss does: gradients are clipped",
        settings: SETTINGS,
        units: UnitSupport::Carried,
        weights: WeightSupport::Carried,
    };

    type Plan = NoisySgdPlan;

    fn read(settings: Checked<'_>) -> Result<Self, PlanError> {
        let (steps, batch) = (settings.whole(&STEPS), settings.whole(&BATCH));
        Ok(Self { calibration: settings.calibration(), steps, batch, undivided: false })
    }

    fn plan(&self, problem: &Problem, budget: Budget) -> Result<NoisySgdPlan, PlanError> {
        Self::INFO.admit(problem, budget)?;
        problem.check()?;
        crate::step::walk::check_domain(NAME, problem)?;
        check_budget(NAME, budget)?;
        if problem.hidden.is_some() {
            return Err(PlanError::NotApplicable {
                algorithm: NAME,
                why: "needs a convex loss, and a network has none; leave `hidden` out".to_owned(),
            });
        }
        let paper = self.calibration == Calibration::Paper;
        range(paper || !self.undivided, "undivided", "off with the tight calibration", 1.0)?;
        let radius = radius(problem)?;
        let ball = Problem { domain: Domain::Ball { radius }, ..problem.clone() };
        let k = ball.regularity();
        let ridged = k.lipschitz + problem.ridge * radius;
        let n = problem.rows as u64;
        let batch = self.batch.unwrap_or(USUAL_BATCH.min(n));
        range((1..=n).contains(&batch), "batch", &format!("between 1 and n = {n}"), batch as f64)?;
        let steps = match self.steps {
            Some(steps) => steps as f64,
            None => paper_steps(n as f64, batch as f64),
        };
        range(steps >= 1.0, "steps", "a whole number >= 1", steps)?;
        check_cost(steps, batch)?;
        let steps = steps as u64;
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        let (batches, event) = if paper {
            // The paper's noise is for gradients with their ridge; clipping the data's part to less
            // loses nothing.
            let clipped = Batches::new(problem, Sampling::FixedSize { size: batch }, batch, ridged);
            let extra = if self.undivided { batch as f64 } else { 1.0 };
            let s = paper_multiplier(n as f64, epsilon, delta);
            clipped.certified(problem, budget, Length::Steps(steps), extra * 2.0 * s)?
        } else {
            let sampling = Sampling::Poisson { rate: batch as f64 / n as f64 };
            let clipped = Batches::new(problem, sampling, batch, k.lipschitz);
            clipped.calibrated(problem, budget, Length::Steps(steps))?
        };
        let dimension = problem.dimension();
        let deviation = batches.deviation(dimension)?;
        let step_scale = if problem.ridge > 0.0 {
            1.0 / problem.ridge
        } else {
            step_convex(radius, ridged, dimension as f64, deviation, 1.0)
        };
        let sampled = if paper { 0.0 } else { k.lipschitz * k.lipschitz / batch as f64 };
        let square = ridged * ridged + sampled + dimension as f64 * deviation * deviation;
        let excess = excess(problem.ridge, radius, square, step_scale, steps as f64);
        let mut warnings = warn_of_delta(problem, budget);
        if excess > k.value_at_zero {
            warnings.push("noise dominates: the trained model is not expected to beat w = 0; increase n, epsilon or ridge".to_owned());
        }
        let outline = Outline {
            problem: problem.clone(),
            budget,
            event,
            steps,
            noise_deviation: deviation,
            // without noise nobody should take batches
            predicted_excess: epsilon.is_finite().then_some(excess),
            warnings,
        };
        Ok(NoisySgdPlan { outline, settings: *self, regularity: k, radius, batches, step_scale })
    }

    fn run(
        plan: &NoisySgdPlan,
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
}

impl Iterative for NoisySgd {
    type State = State;
    type Tools<'a> = NoisyGradient<'a>;

    fn start(plan: &NoisySgdPlan, _: &dyn Oracle, _: &Source) -> Result<State, RunError> {
        Ok(State { step: 0, weights: vec![0.0; plan.outline.problem.dimension()] })
    }

    fn tools<'a>(
        plan: &'a NoisySgdPlan,
        _: &State,
        oracle: &'a dyn Oracle,
        source: &Source,
    ) -> Result<NoisyGradient<'a>, RunError> {
        Ok(NoisyGradient::new(oracle, &plan.outline.problem, plan.batches, source)?)
    }

    fn progress(plan: &NoisySgdPlan, state: &State) -> (u64, u64) {
        (state.step, plan.outline.steps)
    }

    fn step(
        plan: &NoisySgdPlan,
        gradient: &mut NoisyGradient<'_>,
        state: &mut State,
    ) -> Result<(), RunError> {
        let ridge = plan.outline.problem.ridge;
        state.step += 1;
        let t = state.step as f64;
        let eta = plan.step_scale / if ridge > 0.0 { t } else { t.sqrt() };
        let step = Step::new(eta, gradient.share(), ridge);
        gradient.descend(step, &mut state.weights, &mut [])?;
        Domain::Ball { radius: plan.radius }.project(&mut state.weights);
        Ok(())
    }

    fn release(plan: &NoisySgdPlan, state: State, _: &Source) -> Result<Release, RunError> {
        Ok(Release::new(state.weights, &plan.outline.event))
    }
}

impl Resumable for NoisySgd {
    fn belongs(plan: &NoisySgdPlan, state: &State) -> bool {
        state.step <= plan.outline.steps && state.weights.len() == plan.outline.problem.dimension()
    }
}

impl Planned for NoisySgdPlan {
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
        assumptions("composition of sampled Gaussians (docs/algorithms/noisy-sgd.md)")
    }
}

/// `R`: as declared, or `D_μ`, in which a ridge keeps the minimiser for every table.
fn radius(problem: &Problem) -> Result<f64, PlanError> {
    let radius = if let Domain::Ball { radius } = problem.domain {
        radius
    } else {
        problem.regularity().iterate_radius()
    };
    if radius.is_finite() {
        Ok(radius)
    } else {
        Err(ProblemError::NotDeclared { name: "radius", got: radius }.into())
    }
}

/// The paper's noise in replace sensitivities, `sqrt(8 ln(n/δ) ln(1/δ))/ε`: `σ_z = 2L_f/m` times
/// this.
pub fn paper_multiplier(rows: f64, epsilon: f64, delta: f64) -> f64 {
    (8.0 * (rows / delta).ln() * (1.0 / delta).ln()).sqrt() / epsilon
}

/// `⌈(n/m)²⌉`.
pub fn paper_steps(rows: f64, batch: f64) -> f64 {
    (rows / batch).powi(2).ceil()
}

/// `η_t = 2R/sqrt(t (L² + dσ²))`, without ridge.
pub fn step_convex(radius: f64, lipschitz: f64, dimension: f64, sigma: f64, t: f64) -> f64 {
    2.0 * radius / (t * (lipschitz * lipschitz + dimension * sigma * sigma)).sqrt()
}

/// Shamir and Zhang's bound for the last iterate, with gradients of mean square at most `square`.
fn excess(ridge: f64, radius: f64, square: f64, step_scale: f64, steps: f64) -> f64 {
    if ridge > 0.0 {
        17.0 * square * (1.0 + steps.ln()) / (ridge * steps)
    } else {
        let c = step_scale;
        (4.0 * radius * radius / c + c * square) * (2.0 + steps.ln()) / steps.sqrt()
    }
}
