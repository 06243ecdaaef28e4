//! Noisy regularised mirror descent: all rows in every step, weights measured in `l_p`,
//! `1 ≤ p ≤ 2`.
//!
//! Su, Zhao and Wang, "Differentially private stochastic convex optimization in (non)-Euclidean
//! space revisited", Algorithm 3 (supplement, Theorems 6 and 7), with its errata corrected.
//!
//! # Problem
//!
//! Minimise the expected loss, `L`-Lipschitz and `β`-smooth when weights are measured in `‖·‖_p`
//! and gradients in the dual `‖·‖_q`. That suits many features of bounded size: with `|x_j| ≤ E`
//! and `p = 1` the constants do not grow with their number. With the mirror map `Φ` of
//! [`MirrorMap`], from `θ = 0`, `w = 0`,
//!
//! ```text
//! g = (1/n) Σ ∇ℓ(w; x_i) + Z_t
//! θ ← (βθ − g)/(α + β),       w ← ∇Φ*(θ)  (or the point of the set nearest in Φ),
//! ```
//!
//! and the average of the `w` with weights `(1 + α/(2β))^t` is released.
//!
//! # Theorem (privacy)
//!
//! Each `g` comes from a sum that moves by at most `2L` in `‖·‖_q` when a row is replaced (by `L`
//! for a null row), and by at most the Euclidean constants' worth in `‖·‖₂`. `T` adaptive uses of
//! the noise of `step::lr_noise` are `μ`-GDP for every epsilon and delta. The printed proof
//! composes by advanced composition, which would cost a logarithm more; it is not used. `α` and the
//! average are post-processing.
//!
//! # Parameters
//!
//! `C² = κW²/2` for a guess `W` of the minimiser's `l_p` norm. Of sixty `T` from 1 to `n/2` the one
//! with the least `min(β/T, 1)C² + 2C√(L²/n + g²)`, where `g² = E‖Z‖_q²`, and `α = √(L²/n + g²)/C`
//! within `[10⁻⁶β, β]`. The paper's `T` and `α` come with its calibration. [`MirrorPlan::rate`] is
//! the paper's rate with constants set to one: it compares plans and promises nothing, so no risk
//! is predicted.

use reticent_data::{Oracle, Question, Sensitive};
use reticent_noise::Source;
use reticent_privacy::{Adjacency, Budget, Relation};
use reticent_problem::geometry::{MirrorMap, dual_exponent, dual_smoothness};
use reticent_problem::{Domain, Problem};
use serde::{Deserialize, Serialize};

use crate::algorithm::REPLACED_OR_NULL;
use crate::executor::{self, Iterative, Resumable};
use crate::output_gd::NoiseChoice;
use crate::setting::{
    CALIBRATION, Checked, DISTANCE, NO_RIDGE, NOISE, P, STEP_NOISE, STEPS, Setting,
};
use crate::step::lr_noise::{self, LrDrawer, LrNoise, Uses};
use crate::step::public;
use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Release, RunError, UnitSupport, WeightSupport,
};

/// The name in flags, files and messages.
pub const NAME: &str = "mirror";

const SETTINGS: &[Setting] = &[
    CALIBRATION,
    NO_RIDGE,
    STEP_NOISE,
    STEPS.by_default("where the bound on the risk is least").limited("at most n/2"),
    P.by_default("that of the set; 1 where entries are bounded more tightly than rows; or 2")
        .limited("above 2 use phased or coordinate-mean"),
    DISTANCE.by_default("the set's radius, or 5/B or 2Y/B in the dual norm"),
];

/// Settings. Omitted ones are chosen without looking at data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mirror {
    /// Paper or tight.
    pub calibration: Calibration,
    /// Which noise.
    pub noise: NoiseChoice,
    /// `T`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// The norm of weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// `W`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<f64>,
}

/// Everything that will happen, before anything is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MirrorPlan {
    /// The fields shared by all plans.
    #[serde(flatten)]
    pub outline: Outline,
    /// The requested settings.
    pub settings: Mirror,
    /// The norm of weights.
    pub p: f64,
    /// The mirror map.
    pub map: MirrorMap,
    /// `L`, in the dual norm.
    pub lipschitz: f64,
    /// `β`, from the norm to its dual.
    pub smoothness: f64,
    /// `α`.
    pub alpha: f64,
    /// The noise of each sum.
    pub noise: LrNoise,
    /// The paper's rate with constants set to one.
    pub rate: f64,
}

/// `α = min(β, 4β/(T+1)·log₂(n/T))` of the paper.
pub fn paper_alpha(smoothness: f64, steps: f64, rows: f64) -> f64 {
    smoothness.min(4.0 * smoothness / (steps + 1.0) * (rows / steps).log2())
}

/// `(nε√κ/√(d ln(1/δ)))^{2/5}`: the paper's `T` before rounding.
pub fn paper_steps(rows: f64, epsilon: f64, delta: f64, dimension: f64, kappa: f64) -> f64 {
    (rows * epsilon * kappa.sqrt() / (dimension * (1.0 / delta).ln()).sqrt()).powf(0.4)
}

/// `θ ← (βθ − g)/(α + β)` and `w ← argmin Φ(w) − ⟨θ, w⟩` over the set; `θ` is then the gradient
/// there.
pub fn step(
    map: MirrorMap,
    domain: &Domain,
    (alpha, beta): (f64, f64),
    gradient: &[f64],
    theta: &mut [f64],
    w: &mut [f64],
) {
    for (theta, g) in theta.iter_mut().zip(gradient) {
        *theta = (beta * *theta - g) / (alpha + beta);
    }
    map.argmin(domain, theta, w);
    if domain.is_bounded() {
        map.gradient(w, theta);
    }
}

/// The parameters of the choice of steps.
struct StepInputs {
    rows: f64,
    lipschitz: f64,
    beta: f64,
    /// `C`.
    reach: f64,
    /// `E‖Z‖_q²` if there were one step.
    unit_square: f64,
}

impl StepInputs {
    /// `√(L²/n + g²)`.
    fn spread(&self, steps: f64) -> f64 {
        (self.lipschitz.powi(2) / self.rows + steps * self.unit_square).sqrt()
    }

    fn score(&self, steps: f64) -> f64 {
        (self.beta / steps).min(1.0) * self.reach.powi(2) + 2.0 * self.reach * self.spread(steps)
    }

    fn alpha(&self, steps: f64) -> f64 {
        (self.spread(steps) / self.reach).clamp(1e-6 * self.beta, self.beta)
    }

    /// `αC² + g²/α + L(C·2^{−α(T+1)/(4β)} + L/(nα) + g/α)`.
    fn rate(&self, steps: f64, alpha: f64) -> f64 {
        let (l, c, g) = (self.lipschitz, self.reach, (steps * self.unit_square).sqrt());
        let forgotten = (-alpha * (steps + 1.0) / (4.0 * self.beta)).exp2();
        alpha * c * c + g * g / alpha + l * (c * forgotten + l / (self.rows * alpha) + g / alpha)
    }
}

/// The Lipschitz and smoothness constants, or why this loss cannot be served.
fn constants(problem: &Problem, p: f64) -> Result<(f64, f64), PlanError> {
    let dimension = problem.dimension();
    let (lipschitz, beta) =
        problem.loss.dual_constants(problem.bounds, &problem.domain, p, dimension);
    let Some(beta) = beta else {
        return Err(PlanError::NotSmooth {
            algorithm: NAME,
            loss: problem.loss.full_name(),
            instead: "a smooth loss (logistic, huber, hinge or power with q = 2)",
        });
    };
    let limited = problem
        .slope_limit
        .map_or(lipschitz, |c| lipschitz.min(c * problem.bounds.norm_in(dual_exponent(p))));
    if !limited.is_finite() {
        return Err(PlanError::Unbounded { loss: problem.loss.name() });
    }
    // A computed slope may exceed the exact one by the roundings of a margin.
    Ok((limited * (1.0 + (4 * dimension + 256) as f64 * f64::EPSILON), beta))
}

impl Algorithm for Mirror {
    const INFO: AlgorithmInfo = AlgorithmInfo {
        name: NAME,
        summary: "mirror descent with noisy gradients over all rows, for weights measured in l_p, 1 <= p <= 2",
        paper: "Su, Zhao, Wang: DP stochastic convex optimization in (non)-Euclidean space revisited, Algorithm 3",
        assumptions: "convex, smooth and Lipschitz loss; bounded rows",
        guarantee: "(epsilon, delta), delta > 0, replace-one or zero-out",
        settings: SETTINGS,
        units: UnitSupport::Carried,
        weights: WeightSupport::Carried,
    };

    type Plan = MirrorPlan;

    fn read(settings: Checked<'_>) -> Result<Self, PlanError> {
        Ok(Self {
            calibration: settings.calibration(),
            noise: settings.choice(&NOISE).unwrap_or_default(),
            steps: settings.whole(&STEPS),
            p: settings.number(&P),
            distance: settings.number(&DISTANCE),
        })
    }

    fn plan(&self, problem: &Problem, budget: Budget) -> Result<MirrorPlan, PlanError> {
        Self::INFO.admit(problem, budget)?;
        problem.check()?;
        public::check(NAME, problem, budget)?;
        public::positive("distance", self.distance)?;
        let refuse = |why: String| PlanError::NotApplicable { algorithm: NAME, why };
        if problem.rows < 4 {
            return Err(refuse(format!("needs at least 4 rows, got {}", problem.rows)));
        }
        let most = problem.rows as u64 / 2;
        public::steps(self.steps, most)?;
        let bounds = problem.bounds;
        let natural = match problem.domain {
            Domain::Unbounded if bounds.entry() < bounds.norm() => 1.0,
            _ => public::natural_exponent(&problem.domain),
        };
        let p = public::exponent(self.p, natural)?;
        let (dimension, q) = (problem.dimension(), dual_exponent(p));
        let map = MirrorMap::new(p, dimension);
        if !map.serves(&problem.domain) {
            let set = problem.domain.name();
            return Err(refuse(format!(
                "has no mirror step for the {set} set and p = {p}; give p = 2"
            )));
        }
        let (lipschitz, beta) = constants(problem, p)?;
        let distance = self.distance.unwrap_or_else(|| match problem.domain {
            Domain::Unbounded if problem.loss.is_on_label_scale() => {
                2.0 * bounds.label() / bounds.norm_in(q)
            }
            Domain::Unbounded => 5.0 / bounds.norm_in(q),
            _ => problem.domain.norm_radius(p, dimension),
        });
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        let change = budget.adjacency.sum_sensitivity();
        let mu = lr_noise::total_mu(self.calibration, epsilon, delta)?;
        let r = lr_noise::exponent(self.noise, p, dimension)?;
        let n = problem.rows as f64;
        let direct = direct_sensitivity(problem, budget.adjacency);
        let kappa = dual_smoothness(r, q, dimension);
        let mut unit_sigma = lr_noise::noise_sigma(kappa, change * lipschitz / n, 1.0, mu);
        if r == 2.0 {
            unit_sigma = unit_sigma.min(direct / n / mu);
        }
        let shape = StepInputs {
            rows: n,
            lipschitz,
            beta,
            reach: (0.5 * map.kappa).sqrt() * distance,
            unit_square: unit_sigma.powi(2) * lr_noise::unit_square_bound(r, q, dimension),
        };
        let paper = self.calibration == Calibration::Paper;
        let steps = self.steps.unwrap_or_else(|| {
            if paper {
                let wanted = paper_steps(n, epsilon, delta, dimension as f64, map.kappa);
                return (wanted.round() as u64).clamp(1, most);
            }
            let score = |t: &u64| shape.score(*t as f64);
            let grid = public::step_grid(most, 60);
            grid.into_iter().min_by(|a, b| score(a).total_cmp(&score(b))).unwrap_or(1)
        });
        let t = steps as f64;
        let alpha = if paper { paper_alpha(beta, t, n) } else { shape.alpha(t) };
        let rounded = |clip: f64| lr_noise::rounded(clip, problem, problem.rows);
        let (noise, event) = LrNoise::plan(
            self.noise,
            p,
            dimension,
            (rounded(change * lipschitz), Some(rounded(direct))),
            Uses::Each(steps),
            self.calibration,
            budget,
        )?;
        let mut warnings = Vec::new();
        if problem.loss.is_classification() && !problem.domain.is_bounded() {
            warnings.push(
                "no prediction: separable classes have no minimiser without a set; give `radius`"
                    .to_owned(),
            );
        }
        let rate = shape.rate(t, alpha);
        let outline = Outline {
            problem: problem.clone(),
            budget,
            event,
            steps,
            noise_deviation: noise.deviation(dimension) / n,
            predicted_excess: None,
            warnings,
        };
        Ok(MirrorPlan {
            outline,
            settings: *self,
            p,
            map,
            lipschitz,
            smoothness: beta,
            alpha,
            noise,
            rate,
        })
    }

    fn run(
        plan: &MirrorPlan,
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
    /// The weights as the mirror map sees them, and as they are.
    theta: Vec<f64>,
    weights: Vec<f64>,
    /// Later points count more; this is their average without large powers.
    average: Vec<f64>,
    /// The total weight of all points, in units of the last one's.
    weight: f64,
}

impl Iterative for Mirror {
    type State = State;
    type Tools<'a> = (&'a dyn Oracle, LrDrawer);

    fn start(plan: &MirrorPlan, _: &dyn Oracle, _: &Source) -> Result<State, RunError> {
        let problem = &plan.outline.problem;
        let zero = vec![0.0; problem.dimension()];
        let (mut theta, mut weights) = (zero.clone(), zero.clone());
        plan.map.argmin(&problem.domain, &theta, &mut weights);
        plan.map.gradient(&weights, &mut theta);
        Ok(State { step: 0, theta, weights, average: zero, weight: 0.0 })
    }

    fn tools<'a>(
        plan: &'a MirrorPlan,
        _: &State,
        oracle: &'a dyn Oracle,
        source: &Source,
    ) -> Result<Self::Tools<'a>, RunError> {
        Ok((oracle, plan.noise.drawer(plan.outline.problem.dimension(), source)?))
    }

    fn progress(plan: &MirrorPlan, state: &State) -> (u64, u64) {
        (state.step, plan.outline.steps)
    }

    fn step(
        plan: &MirrorPlan,
        (oracle, noise): &mut Self::Tools<'_>,
        state: &mut State,
    ) -> Result<(), RunError> {
        let problem = &plan.outline.problem;
        let mut sum = Sensitive::new(vec![0.0; problem.dimension()]);
        let at = Sensitive::new(state.weights.clone());
        oracle.ask(problem, &Question::Gradient { at: &at }, &mut sum)?;
        let mut gradient = noise.release(sum);
        for g in &mut gradient {
            *g /= problem.rows as f64;
        }
        let (lengths, State { theta, weights, .. }) = ((plan.alpha, plan.smoothness), &mut *state);
        step(plan.map, &problem.domain, lengths, &gradient, theta, weights);
        state.weight = 1.0 + state.weight / (1.0 + 0.5 * plan.alpha / plan.smoothness);
        for (a, w) in state.average.iter_mut().zip(&state.weights) {
            *a += (w - *a) / state.weight;
        }
        state.step += 1;
        Ok(())
    }

    fn release(plan: &MirrorPlan, state: State, _: &Source) -> Result<Release, RunError> {
        Ok(Release::new(state.average, &plan.outline.event))
    }
}

impl Resumable for Mirror {
    fn belongs(plan: &MirrorPlan, state: &State) -> bool {
        let problem = &plan.outline.problem;
        let vectors = [&state.theta, &state.weights, &state.average];
        state.step <= plan.outline.steps
            && vectors.iter().all(|v| v.len() == problem.dimension())
            && (if state.step == 0 { state.weight == 0.0 } else { state.weight >= 1.0 })
            // Gradients are not clipped: their bound holds on the set alone.
            && problem.domain.holds(&state.weights)
    }
}

/// The assumptions of a bound on how far a row's gradient moves the sum.
pub(crate) fn bounded_gradients(theorem: &str) -> [Assumption; 3] {
    [
        Assumption::new(
            "every row's norm, entries and label lie within the declared bounds",
            "encoder",
            theorem,
        ),
        Assumption::new("the declared bounds were not read off the data", "owner", theorem),
        Assumption::new("the loss has the Lipschitz constants of the plan", "plan", theorem),
    ]
}

/// How far the sum of gradients moves in the Euclidean norm.
pub(crate) fn direct_sensitivity(problem: &Problem, adjacency: Adjacency) -> f64 {
    let k = problem.regularity();
    let slack = 1.0 + (4 * problem.dimension() + 256) as f64 * f64::EPSILON;
    slack
        * match adjacency.relation() {
            Relation::Replace => k.gradient_difference,
            Relation::AddRemove | Relation::ZeroOut => k.lipschitz,
        }
}

impl Planned for MirrorPlan {
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
        let theorem = "noisy mirror descent (docs/algorithms/mirror.md)";
        let mut all = vec![Assumption::new(REPLACED_OR_NULL, "owner", theorem)];
        all.extend(bounded_gradients(theorem));
        all.push(Assumption::new("steps and lengths are fixed in advance", "plan", theorem));
        all
    }
}
