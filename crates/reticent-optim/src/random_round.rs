//! Random-round private SGD: noise in every step, a random stop, for smooth losses that need not be
//! convex.
//!
//! Zhang, Zheng, Mou and Wang, "Efficient private ERM for smooth objectives" (IJCAI 2017),
//! Algorithm 2, with its errata corrected.
//!
//! # Problem
//!
//! A point where the gradient of `F_S(w) = (1/n) Σ ℓ(w; xᵢ, yᵢ) + (μ/2)‖w‖²` is small, over all of
//! `R^d`, for a loss that is nonnegative and, with the ridge, `β`-smooth. Fix `N` and
//! `0 < η < 2/β`. Draw `R` uniformly from `1..=N`, start at `w₀ = 0`, and for `t = 0, …, R−2` draw
//! a fresh secret batch `I_t` and set
//!
//! ```text
//! w_{t+1} = w_t − η ( (1/m) Σ_{i in I_t} clip_L(∇ℓ(w_t; ξᵢ)) + μ w_t + z_t ),    z_t ~ N(0, σ_z² I).
//! ```
//!
//! Release `w_{R−1}`. The paper prints `w_R`, one step further than its analysis
//! ([`round_probability`]).
//!
//! # Guarantee
//!
//! Every step is a Gaussian mechanism on a sum of clipped gradients of a random batch; replacing a
//! row moves the sum by at most `2L`. `R` is drawn without the rows and `R − 1` steps are taken, so
//! with `δ_k` the profile of `k` steps
//!
//! ```text
//! δ(ε) <= (1/N) Σ_{k=0}^{N−1} δ_k(ε).
//! ```
//!
//! *Proof.* Both data sets give the same law to `R`. For any set `S` of pairs of `R` and iterates,
//! `P(S) − e^ε Q(S)` is the mean over `R = k + 1` of the same difference given `R`, each at most
//! `δ_k(ε)`. ∎ So [`Event::RandomStop`](reticent_privacy::Event::RandomStop) of one step
//! ([`Sampling::event`]) pays, whatever the loss does: neither convexity nor smoothness enters. It
//! takes 3 to 15 % less noise than the `N` steps that could have happened. The batches must stay
//! secret; `R` and all noisy iterates may be published.
//!
//! *Tight* (default): Poisson batches and the least noise that the accountant certifies. *Paper*:
//! one uniform row a step, `N = n²` and `σ_z = 2L sqrt(ln(3n/δ) ln(2/δ))/ε`. The printed proof does
//! not give that constant (it needs four times as much), but the accountant does for `ε ≤ 1`, and a
//! plan exists only where it does.
//!
//! # Risk
//!
//! With `D_F = sqrt(2f₀/β)`, `f₀` a public bound on `F_S(0) − min F_S`, and `σ² = L²/m + dσ_z²`
//! (paper: `4L² + dσ_z²`),
//!
//! ```text
//! E‖∇F_S(w_{R−1})‖² ≤ β (D_F² + Nσ²η²)/(N(2η − βη²)),
//! ```
//!
//! and for a convex loss `E F_S(w_{R−1}) − min F_S ≤ (D² + Nσ²η²)/(N(2η − βη²))`, if `D` bounds the
//! minimiser's norm. *Proof.* The descent lemma, `E F(w_{k+1}) ≤ E F(w_k) − (η − βη²/2)
//! E‖∇F(w_k)‖² + (β/2)η²σ²`, summed over the steps `0, …,
//! N−1`; the point it bounds on average is `w_k` *before* step `k`, which is why `R` returns
//! `w_{R−1}`. ∎ Both hold while no gradient is clipped, that is for a clip of `L` or more.

use reticent_data::Oracle;
use reticent_noise::{Purpose, Source, integer};
use reticent_privacy::{Budget, gaussian};
use reticent_problem::{Domain, Problem, Regularity};
use serde::{Deserialize, Serialize};

use crate::algorithm::REPLACED;
use crate::executor::{self, Iterative, Resumable};
use crate::setting::{
    BATCH, CALIBRATION, CLIP, CLIP_LENGTHS, Checked, DISTANCE, Kind, OWN_RIDGE, STEP_SIZE, STEPS,
    Setting, up_to,
};
use crate::step::descend::Step;
pub use crate::step::noisy_gradient::{Batches, Sampling};
use crate::step::noisy_gradient::{Length, MAX_GRADIENTS, NoisyGradient, check_cost};
use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Release, RunError, UnitSupport, WeightSupport, output_gd,
};

/// The name in flags, files and messages.
pub const NAME: &str = "random-round";

/// The most steps that are chosen where none are given: more take the accountant minutes and the
/// run hours.
const MOST_CHOSEN: f64 = 1e6;

const SETTINGS: &[Setting] = &[
    CALIBRATION,
    OWN_RIDGE,
    STEPS
        .within(up_to(1, reticent_privacy::MAX_STEPS))
        .limited("at most 1e10 gradients")
        .by_default("by the noise, from 10 to (n/m)^2 and at most 1e6; paper: (n/m)^2"),
    BATCH.by_default("min(n, max(50, 4d)); paper: 1"),
    STEP_SIZE.by_default("min(1/beta, D/(sigma sqrt(N)))").limited("below 2/beta"),
    CLIP.within(Kind::Number(CLIP_LENGTHS)).by_default("the largest gradient of the loss"),
    DISTANCE.by_default("from the ridge, or 5/B, or 2Y/B").limited("for a convex loss"),
];

/// Settings. Omitted ones are chosen without looking at data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomRound {
    /// Paper or tight.
    pub calibration: Calibration,
    /// `N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// `m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// `η`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// The norm to which a row's gradient is clipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// `D`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<f64>,
}

/// Everything that will happen, before anything is read. `steps` is `N`, the most that `R − 1` can
/// be, plus one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RandomRoundPlan {
    /// The fields shared by all plans.
    #[serde(flatten)]
    pub outline: Outline,
    /// The requested settings.
    pub settings: RandomRound,
    /// The constants that follow.
    pub regularity: Regularity,
    /// How batches are drawn, clipped and made noisy.
    pub batches: Batches,
    /// `η`.
    pub eta: f64,
    /// Bounds `E‖∇F_S‖²` at the released weights; none if rows may be clipped below `L`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_gradient: Option<f64>,
}

impl RandomRound {
    /// `m` and how it is drawn.
    fn choose_batch(&self, problem: &Problem) -> Result<(u64, Sampling), PlanError> {
        let n = problem.rows as u64;
        let (default, tight) = match self.calibration {
            Calibration::Paper => (1, false),
            Calibration::Tight => (n.min((4 * problem.dimension() as u64).max(50)), true),
        };
        let batch = self.batch.unwrap_or(default);
        range((1..=n).contains(&batch), "batch", &format!("between 1 and n = {n}"), batch as f64)?;
        let sampling = if tight {
            Sampling::Poisson { rate: batch as f64 / n as f64 }
        } else {
            Sampling::FixedSize { size: batch }
        };
        Ok((batch, sampling))
    }

    /// `N`.
    fn choose_steps(
        &self,
        problem: &Problem,
        budget: Budget,
        batch: u64,
        warnings: &mut Vec<String>,
    ) -> Result<u64, PlanError> {
        let passes = problem.rows as f64 / batch as f64;
        if let Some(steps) = self.steps {
            range(steps >= 1, "steps", "a whole number >= 1", steps as f64)?;
            check_cost(steps as f64, batch)?;
            return Ok(steps);
        }
        let squared = (passes * passes).ceil();
        if self.calibration == Calibration::Paper {
            check_cost(squared, batch)?;
            return Ok(squared as u64);
        }
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        let useful = if epsilon.is_infinite() {
            squared
        } else {
            let s = gaussian::noise_multiplier_upper(epsilon, delta)?;
            let n = problem.rows as f64;
            (n * n / (batch as f64 * problem.dimension() as f64 * s * s)).ceil()
        };
        let steps = useful.clamp(10.0, squared.max(10.0));
        let most = (MAX_GRADIENTS / batch as f64).floor().min(MOST_CHOSEN);
        if steps > most {
            warnings.push(format!("steps are capped at {most}"));
        }
        Ok(steps.min(most) as u64)
    }
}

impl Algorithm for RandomRound {
    const INFO: AlgorithmInfo = AlgorithmInfo {
        name: NAME,
        summary: "noisy mini-batch gradient steps, stopped at a random round: a stationary point",
        paper: "Zhang, Zheng, Mou, Wang: Efficient private ERM for smooth objectives, IJCAI 2017, Algorithm 2",
        assumptions: "smooth loss, convex or not, on all of R^d; delta > 0, replace-one adjacency",
        guarantee: "(epsilon, delta)-DP, whatever the loss does: gradients are clipped",
        settings: SETTINGS,
        units: UnitSupport::Carried,
        weights: WeightSupport::Carried,
    };

    type Plan = RandomRoundPlan;

    fn read(settings: Checked<'_>) -> Result<Self, PlanError> {
        Ok(Self {
            calibration: settings.calibration(),
            steps: settings.whole(&STEPS),
            batch: settings.whole(&BATCH),
            eta: settings.number(&STEP_SIZE),
            clip: settings.number(&CLIP),
            distance: settings.number(&DISTANCE),
        })
    }

    fn plan(&self, problem: &Problem, budget: Budget) -> Result<RandomRoundPlan, PlanError> {
        Self::INFO.admit(problem, budget)?;
        problem.check_numbers()?;
        check_budget(NAME, budget)?;
        let (k, beta) = constants(problem)?;
        for (name, value) in
            [("step_size", self.eta), ("clip", self.clip), ("distance", self.distance)]
        {
            if let Some(value) = value {
                range(value.is_finite() && value > 0.0, name, "a finite number > 0", value)?;
            }
        }
        if let Some(clip) = self.clip {
            // Squares of what is clipped stay normal numbers.
            range((1e-100..=1e100).contains(&clip), "clip", "between 1e-100 and 1e100", clip)?;
        }
        let convex = problem.loss.is_convex();
        if self.distance.is_some() && !convex {
            return Err(PlanError::NotApplicable {
                algorithm: NAME,
                why: "uses `distance` for convex losses only; leave it out".to_owned(),
            });
        }
        let clip = self.clip.unwrap_or(k.lipschitz);
        if !clip.is_finite() {
            return Err(PlanError::Unbounded { loss: problem.loss.name() });
        }
        let mut warnings = warn_of_delta(problem, budget);
        let (batch, sampling) = self.choose_batch(problem)?;
        let steps = self.choose_steps(problem, budget, batch, &mut warnings)?;
        let batches = Batches::new(problem, sampling, batch, clip);
        let length = Length::RandomStop { rounds: steps };
        let (batches, event) = match self.calibration {
            Calibration::Tight => batches.calibrated(problem, budget, length)?,
            Calibration::Paper => {
                let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
                let s = paper_multiplier(problem.rows as f64, epsilon, delta);
                batches.certified(problem, budget, length, 2.0 * s)?
            }
        };
        let dimension = problem.dimension();
        let deviation = batches.deviation(dimension)?;
        let variance = match self.calibration {
            Calibration::Paper => paper_variance(clip, dimension as f64, deviation),
            Calibration::Tight => tight_variance(clip, batch as f64, dimension as f64, deviation),
        };
        let (sigma, rounds) = (variance.sqrt(), steps as f64);
        let value_distance = value_distance(k.value_at_zero, beta);
        let distance = self.distance.unwrap_or_else(|| output_gd::distance_of(problem, &k));
        let reach = if convex { distance } else { value_distance };
        let eta = self.eta.unwrap_or_else(|| step_length(beta, reach, sigma, rounds));
        let limit = 2.0 / beta;
        range(eta < limit, "step_size", &format!("< 2/beta = {limit}"), eta)?;
        let unclipped = clip >= k.lipschitz;
        if !unclipped {
            warnings.push(format!(
                "rows are clipped to {clip} and their gradients may be as long as {}: no risk is predicted",
                k.lipschitz
            ));
        }
        let bound = |reach| gradient_bound(beta, reach, sigma, rounds, eta);
        // Without noise a random stop only loses: the ranking should not see it.
        let silent = budget.epsilon.is_infinite();
        let predicted_excess = (convex && unclipped && !silent).then(|| bound(distance) / beta);
        if predicted_excess.is_some_and(|excess| excess > k.value_at_zero) {
            warnings.push("noise dominates: the trained model is not expected to beat w = 0; increase n, epsilon or ridge".to_owned());
        }
        let outline = Outline {
            problem: problem.clone(),
            budget,
            event,
            steps,
            noise_deviation: deviation,
            predicted_excess,
            warnings,
        };
        let predicted_gradient = unclipped.then(|| bound(value_distance));
        let settings = *self;
        Ok(RandomRoundPlan { outline, settings, regularity: k, batches, eta, predicted_gradient })
    }

    fn run(
        plan: &RandomRoundPlan,
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
    /// `R − 1`: the last step, drawn before the first without looking at rows. The event pays for
    /// its being told, so it need not stay secret.
    last: u64,
    weights: Vec<f64>,
}

impl Iterative for RandomRound {
    type State = State;
    type Tools<'a> = NoisyGradient<'a>;

    fn start(plan: &RandomRoundPlan, _: &dyn Oracle, source: &Source) -> Result<State, RunError> {
        let last = draw_round(plan.outline.steps, source) - 1;
        Ok(State { step: 0, last, weights: vec![0.0; plan.outline.problem.dimension()] })
    }

    fn tools<'a>(
        plan: &'a RandomRoundPlan,
        _: &State,
        oracle: &'a dyn Oracle,
        source: &Source,
    ) -> Result<NoisyGradient<'a>, RunError> {
        Ok(NoisyGradient::new(oracle, &plan.outline.problem, plan.batches, source)?)
    }

    fn progress(_: &RandomRoundPlan, state: &State) -> (u64, u64) {
        (state.step, state.last)
    }

    fn step(
        plan: &RandomRoundPlan,
        gradient: &mut NoisyGradient<'_>,
        state: &mut State,
    ) -> Result<(), RunError> {
        let step = Step::new(plan.eta, gradient.share(), plan.outline.problem.ridge);
        gradient.descend(step, &mut state.weights, &mut [])?;
        state.step += 1;
        Ok(())
    }

    fn release(plan: &RandomRoundPlan, state: State, _: &Source) -> Result<Release, RunError> {
        Ok(Release::new(state.weights, &plan.outline.event))
    }
}

impl Resumable for RandomRound {
    fn belongs(plan: &RandomRoundPlan, state: &State) -> bool {
        state.step <= state.last
            && state.last < plan.outline.steps
            && state.weights.len() == plan.outline.problem.dimension()
    }
}

impl Planned for RandomRoundPlan {
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
        assumptions(
            "composition of sampled Gaussians, averaged over the stop (docs/algorithms/random-round.md)",
        )
    }
}

/// The assumptions of noisy steps on random batches.
pub(crate) fn assumptions(theorem: &str) -> Vec<Assumption> {
    vec![
        Assumption::new(REPLACED, "owner", theorem),
        Assumption::new("which rows joined which step stays secret", "run", theorem),
        Assumption::new("every row's gradient is clipped to the plan's norm", "run", theorem),
        Assumption::new("the declared bounds were not read off the data", "owner", theorem),
        Assumption::new("steps, batches and noise are fixed in advance", "plan", theorem),
    ]
}

/// Checks this family's requirements on a budget.
pub(crate) fn check_budget(algorithm: &'static str, budget: Budget) -> Result<(), PlanError> {
    if !budget.adjacency.replaces() {
        return Err(PlanError::Adjacency { algorithm, got: budget.adjacency.to_string() });
    }
    if budget.delta.get() == 0.0 && budget.epsilon.get().is_finite() {
        return Err(PlanError::NeedsDelta { algorithm });
    }
    Ok(())
}

/// The warning that a large delta deserves.
pub(crate) fn warn_of_delta(problem: &Problem, budget: Budget) -> Vec<String> {
    if budget.delta.get() > 1.0 / problem.rows as f64 {
        vec!["delta above 1/n protects no single record".to_owned()]
    } else {
        Vec::new()
    }
}

/// A setting out of its range, unless it is in it.
pub(crate) fn range(
    ok: bool,
    name: &'static str,
    expected: &str,
    got: f64,
) -> Result<(), PlanError> {
    if ok {
        Ok(())
    } else {
        Err(PlanError::OutOfRange { name, expected: expected.to_owned(), got })
    }
}

/// The constants and `β`, ridge included, or why this problem cannot be served.
fn constants(problem: &Problem) -> Result<(Regularity, f64), PlanError> {
    let not_applicable =
        |why: &str| PlanError::NotApplicable { algorithm: NAME, why: why.to_owned() };
    if problem.hidden.is_some() {
        return Err(not_applicable("serves linear models only; leave `hidden` out"));
    }
    if problem.domain != Domain::Unbounded {
        return Err(not_applicable(
            "searches all of R^d; leave `radius` out, and bound the gradient by `slope_limit` or `clip`",
        ));
    }
    let k = problem.regularity();
    let Some(beta) = k.smoothness else {
        let loss = problem.loss.name().to_owned();
        let instead = "a smooth loss (logistic, huber, sigmoid, welsch, cauchy), or noisy-sgd";
        return Err(PlanError::NotSmooth { algorithm: NAME, loss, instead });
    };
    Ok((k, beta + problem.ridge))
}

/// `R`, uniform on `1..=rounds`: with one step length every round has the same odds.
fn draw_round(rounds: u64, source: &Source) -> u64 {
    1 + integer::uniform_below(rounds, &mut source.stream(Purpose::Initial))
}

/// `P(R = k) = (2η_{k−1} − βη²_{k−1})/Σ_j(2η_j − βη_j²)` for `k = 1, …, N`; not a number for
/// another `k`.
///
/// The descent lemma weighs `‖∇F(w_{k−1})‖²`, the gradient before step `k`, by this. The paper
/// draws `R` so and returns `w_R`; the point that it analyses is `w_{R−1}`.
pub fn round_probability(etas: &[f64], beta: f64, k: usize) -> f64 {
    let weight = |eta: &f64| 2.0 * eta - beta * eta * eta;
    match k.checked_sub(1).and_then(|i| etas.get(i)) {
        Some(eta) => weight(eta) / etas.iter().map(weight).sum::<f64>(),
        None => f64::NAN,
    }
}

/// The paper's noise in replace sensitivities, `sqrt(ln(3n/δ) ln(2/δ))/ε`: `σ_z = 2L` times this,
/// for one row a step.
pub fn paper_multiplier(rows: f64, epsilon: f64, delta: f64) -> f64 {
    ((3.0 * rows / delta).ln() * (2.0 / delta).ln()).sqrt() / epsilon
}

/// `σ² = 4L² + dσ_z²` of the paper. (Its proof prints the second term without `d`.)
pub fn paper_variance(lipschitz: f64, dimension: f64, deviation: f64) -> f64 {
    4.0 * lipschitz * lipschitz + dimension * deviation * deviation
}

/// `σ² = L²/m + dσ_z²`: the average over a batch of `m` has variance at most `L²/m` under either
/// sampling.
pub fn tight_variance(lipschitz: f64, batch: f64, dimension: f64, deviation: f64) -> f64 {
    lipschitz * lipschitz / batch + dimension * deviation * deviation
}

/// `D_F = sqrt(2f₀/β)`, with a public bound `f₀` on `F(w₀) − min F`; the paper's own uses
/// `F(w₀, S)`, which leaks.
pub fn value_distance(value_bound: f64, beta: f64) -> f64 {
    (2.0 * value_bound / beta).sqrt()
}

/// `η = min(1/β, D/(σ√N))`.
pub fn step_length(beta: f64, distance: f64, sigma: f64, rounds: f64) -> f64 {
    (1.0 / beta).min(distance / (sigma * rounds.sqrt()))
}

/// `β(D² + Nσ²η²)/(N(2η − βη²))`: bounds `E‖∇F‖²`. The paper's Lemma 12 lacks the factor `β`. For a
/// convex loss, without the factor and with the minimiser's norm for `D`, it bounds the excess.
pub fn gradient_bound(beta: f64, distance: f64, sigma: f64, rounds: f64, eta: f64) -> f64 {
    let top = distance * distance + rounds * (sigma * eta).powi(2);
    beta * top / (rounds * (2.0 * eta - beta * eta * eta))
}
