//! Output-perturbed SGD: plain steps on single rows, one noise draw on the average.
//!
//! Wang, Lei, Ying and Zhang, "Differentially private SGD with non-smooth losses" (Applied and
//! Computational Harmonic Analysis, 2022), Algorithm 1, on a ball and on `R^d`, with its errata
//! corrected (`docs/algorithms/output-sgd.md`).
//!
//! # Problem
//!
//! Minimise the average of convex losses `ℓ ≥ 0` whose gradients have Hölder order `α ∈ [0, 1]` and
//! constant `L` on all of `R^d`, over `W`, a ball around zero or `R^d`. From `w₁ = 0`, for
//! `t = 1, …, T − 1`,
//!
//! ```text
//! w_{t+1} = Proj_W(w_t − η ∇ℓ(w_t; z_i)),  i uniform, secret, independent;      release  (w₁ + … + w_T)/T + N(0, σ²I)
//! ```
//!
//! # Theorem (privacy)
//!
//! Replace-one. Let `η > 0` for `α < 1`; for `α = 1`, `η ≤ 2/L` on a ball and `η ≤ 1/L` on `R^d`.
//! With `A`, `D(A)` of `step::walk`, `q = 1 − (1 − 1/n)^{T−1}` and `ε' = log(1 + (e^ε − 1)/q)`, for
//! every `ε > 0`
//!
//! ```text
//! δ(ε) ≤ Σ_{A>0} Pr[A]·G(D(A)/σ; ε'),      G the exact Gaussian profile.
//! ```
//!
//! *Proof.* [`reticent_privacy::mixture`]: given the indices among the other rows, both output laws
//! share the component without a hit, and all centres are pairwise within `D(A)`; advanced joint
//! convexity does the rest. ∎
//!
//! The limit on `η` is a condition of privacy: beyond `2/L` a step on a common row expands, and a
//! single hit can grow without bound (`the_printed_theorem_leaks_beyond_two_over_l` in
//! `tests/it/output_sgd.rs`).
//!
//! *Tight* calibration takes the least `σ` for which the sum is at most `δ`. *Paper* calibration
//! takes Theorem 8's `σ = Δ√(2 log(2.5/δ))/ε` where it is proven (`ε ≤ 1`), the analytic Gaussian
//! at `δ/2` beyond, and in any case no less than tight; the event that is charged is the same.
//!
//! # Risk
//!
//! `U = ‖w*‖²/(2ηT) + ηG²/2 + G(ω a_T + ηG(T−1)/n) + N(σ)` ([`crate::holder::Run::excess`]) bounds
//! the expected excess risk on the training rows and on new ones; `N(σ)` is what isotropic noise
//! costs and does not grow with `d` for a loss of one margin. Tight `η` makes `U` least.

pub mod paper;

use reticent_data::Oracle;
use reticent_data::walk::WalkOrder;
use reticent_noise::Source;
use reticent_privacy::mixture::{CUT, HitLaw, LAYERED_CUT};
use reticent_privacy::{Budget, Hits};
use reticent_problem::{Problem, Regularity};
use serde::{Deserialize, Serialize};

use crate::algorithm::REPLACED;
use crate::holder::{self, average_root};
use crate::output_gd::default_distance;
use crate::setting::{
    CALIBRATION, Checked, DISTANCE, OWN_RIDGE, STEP_CAP, STEP_SIZE, STEPS, Setting, up_to,
};
pub use crate::step::perturb::Moves;
use crate::step::perturb::{self, Noise};
pub use crate::step::walk::Conduct;
use crate::step::walk::{self, MAX_STEPS};
use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Release, RunError, UnitSupport, WeightSupport,
};
use paper::{GAMMA, Rate};

/// The name in flags, files and messages.
pub const NAME: &str = "output-sgd";

const SETTINGS: &[Setting] = &[
    CALIBRATION,
    OWN_RIDGE,
    STEPS.within(up_to(2, reticent_privacy::MAX_STEPS)).by_default("n, or the paper's power of n"),
    STEP_CAP.by_default("100000000"),
    STEP_SIZE
        .by_default("where the bound on the risk is least, or the paper's")
        .limited("at most the theorem's"),
    DISTANCE.by_default("the set's radius, or 5/B, or 2Y/B"),
];

/// Settings. Omitted ones are chosen without looking at data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OutputSgd {
    /// Paper or tight.
    pub calibration: Calibration,
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
pub struct OutputSgdPlan {
    /// The fields shared by all plans.
    #[serde(flatten)]
    pub outline: Outline,
    /// The requested settings.
    pub settings: OutputSgd,
    /// The constants where iterates can be.
    pub regularity: Regularity,
    /// `η`.
    pub eta: f64,
    /// The effect of a single step.
    pub conduct: Conduct,
    /// How far the average moves, rounding included.
    pub moves: Moves,
    /// The noise, added once.
    pub noise: Noise,
}

impl OutputSgd {
    fn choose_eta(&self, problem: &Problem, budget: Budget, steps: u64) -> Result<f64, PlanError> {
        let limit = walk::eta_limit(problem);
        let below = paper_limit(problem).min(limit);
        let (t, n) = (steps as f64, problem.rows as f64);
        let k = problem.regularity();
        if let Some(eta) = self.eta {
            match self.calibration {
                Calibration::Paper => walk::check_eta(eta, below, true)?,
                Calibration::Tight => walk::check_eta(eta, limit, false)?,
            }
            return Ok(eta);
        }
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        if self.calibration == Calibration::Paper && epsilon.is_finite() {
            let rate = Rate {
                rows: n,
                dimension: problem.dimension() as f64,
                epsilon,
                delta,
                gamma: GAMMA,
            };
            let eta = if is_bounded(problem) {
                rate.eta_bounded(t)
            } else {
                paper::eta_unbounded(n, t, k.holder_order, GAMMA)
            };
            return Ok(eta.min((1.0 - 1e-9) * below));
        }
        let distance = distance(self.distance, problem);
        let root = average_root(steps);
        let noise = SearchedNoise::new(hits(problem, steps), budget)?;
        let (low, high) = walk::eta_bracket(problem, distance, steps);
        Ok(holder::least(low, high, |eta| {
            let conduct = walk::conduct(problem, eta, steps);
            let bound = walk::risk(problem, &conduct, distance, steps, eta).excess(root);
            bound + walk::noise_cost(problem, noise.sigma(problem, &conduct, root))
        }))
    }
}

/// `‖w*‖`: as asked for, or the guess of all algorithms, so that their predictions can be compared.
pub(crate) fn distance(asked: Option<f64>, problem: &Problem) -> f64 {
    asked.unwrap_or_else(|| default_distance(problem))
}

/// The source's limit on `η`: below `min(1, 1/L)`.
pub(crate) fn paper_limit(problem: &Problem) -> f64 {
    (1.0 / problem.regularity().holder_constant).min(1.0)
}

fn is_bounded(problem: &Problem) -> bool {
    problem.domain.radius().is_finite()
}

fn hits(problem: &Problem, steps: u64) -> Hits {
    Hits::AverageWithReplacement { rows: problem.rows as u64, steps }
}

/// The noise that a search for `η` reckons with: from a coarser law, so that many rounds cost
/// little. Only the choice of `η` depends on it.
pub(crate) struct SearchedNoise {
    law: Option<HitLaw>,
    budget: Budget,
    /// For a hit of length one and no drift, no cap.
    unit: f64,
}

impl SearchedNoise {
    pub(crate) fn new(hits: Hits, budget: Budget) -> Result<Self, PlanError> {
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        if epsilon.is_infinite() {
            return Ok(Self { law: None, budget, unit: 0.0 });
        }
        let law = match hits {
            Hits::AverageWithReplacement { rows, steps } if steps / rows > 16 => {
                HitLaw::layered(rows, steps, 256, LAYERED_CUT * delta)?
            }
            Hits::AverageWithReplacement { rows, steps } => {
                HitLaw::averaged(rows, steps, 16, CUT * delta)?
            }
            Hits::AveragePermuted { rows, passes } => {
                HitLaw::permuted(rows, passes, 16, CUT * delta)?
            }
            other => HitLaw::new(other, CUT * delta)?,
        };
        let unit = law.sigma_upper(epsilon, delta, 1.0, 0.0, None)?;
        Ok(Self { law: Some(law), budget, unit })
    }

    /// `σ` for steps of this conduct; infinite where there is none.
    pub(crate) fn sigma(&self, problem: &Problem, conduct: &Conduct, root: f64) -> f64 {
        let radius = problem.domain.radius();
        let Some(law) = &self.law else { return 0.0 };
        if conduct.omega == 0.0 && radius.is_infinite() {
            return self.unit * conduct.hit;
        }
        let (epsilon, delta) = (self.budget.epsilon.get(), self.budget.delta.get());
        let cap = radius.is_finite().then_some(2.0 * radius);
        let drift = conduct.omega * root;
        law.sigma_within(epsilon, delta, conduct.hit, drift, cap, 1e-4).unwrap_or(f64::INFINITY)
    }
}

impl Algorithm for OutputSgd {
    const INFO: AlgorithmInfo = AlgorithmInfo {
        name: NAME,
        summary: "SGD on single rows in secret order, one noise draw on the averaged iterate",
        paper: "Wang, Lei, Ying, Zhang: Differentially private SGD with non-smooth losses, ACHA 2022, Algorithm 1",
        assumptions: "convex loss with a Hoelder-continuous gradient of any order in [0, 1], bounded rows, replace-one adjacency, delta > 0",
        guarantee: "(epsilon, delta)-DP for every epsilon > 0",
        settings: SETTINGS,
        units: UnitSupport::OneRow(
            "takes a step for each row, and a unit of several rows would take several",
        ),
        weights: WeightSupport::Carried,
    };

    type Plan = OutputSgdPlan;

    fn read(settings: Checked<'_>) -> Result<Self, PlanError> {
        Ok(Self {
            calibration: settings.calibration(),
            steps: settings.whole(&STEPS),
            max_steps: settings.whole(&STEP_CAP),
            eta: settings.number(&STEP_SIZE),
            distance: settings.number(&DISTANCE),
        })
    }

    fn plan(&self, problem: &Problem, budget: Budget) -> Result<OutputSgdPlan, PlanError> {
        Self::INFO.admit(problem, budget)?;
        let mut warnings = Vec::new();
        walk::check(NAME, problem, budget, &mut warnings)?;
        walk::check_domain(NAME, problem)?;
        if let Some(d) = self.distance {
            walk::range(d.is_finite() && d > 0.0, "distance", "a finite number > 0", d)?;
        }
        if self.calibration == Calibration::Paper {
            let mu = problem.ridge;
            walk::range(
                mu == 0.0,
                "ridge",
                "0 with the paper's calibration, which has no ridge",
                mu,
            )?;
        }
        let k = problem.regularity();
        let n = problem.rows as f64;
        let automatic = if is_bounded(problem) {
            holder::steps_bounded(n, k.holder_order)
        } else {
            holder::steps_unbounded(n, k.holder_order)
        };
        let steps = walk::steps(self.steps, self.max_steps, MAX_STEPS, automatic, &mut warnings)?;
        let eta = self.choose_eta(problem, budget, steps)?;
        if self.calibration == Calibration::Paper && eta <= 1.0 / steps as f64 {
            warnings.push("eta is at most 1/T, which the paper's risk bound excludes".to_owned());
        }
        let root = average_root(steps);
        let conduct = walk::conduct(problem, eta, steps);
        let walk = walk::of(WalkOrder::WithReplacement, steps, eta);
        let moves = walk::moves(problem, &walk, &conduct, root);
        if !(moves.shift.is_finite() && moves.drift.is_finite()) {
            return Err(walk::unbounded(problem));
        }
        let at_least = self.paper_sigma(problem, budget, steps, eta, &mut warnings)?;
        let dimension = problem.dimension();
        let hits = hits(problem, steps);
        let (noise, event) = perturb::plan_mixture(budget, hits, moves, dimension, at_least)?;
        let sigma = noise.deviation(dimension);
        let distance = distance(self.distance, problem);
        let excess = walk::risk(problem, &conduct, distance, steps, eta).excess(root)
            + walk::noise_cost(problem, sigma);
        walk::warn_of_noise(excess, &k, &mut warnings);
        let outline = Outline {
            problem: problem.clone(),
            budget,
            event,
            steps,
            noise_deviation: sigma,
            predicted_excess: Some(excess),
            warnings,
        };
        let (settings, regularity) = (*self, walk::within_reach(problem, &conduct));
        Ok(OutputSgdPlan { outline, settings, regularity, eta, conduct, moves, noise })
    }

    fn run(
        plan: &OutputSgdPlan,
        oracle: &dyn Oracle,
        source: &Source,
        progress: &dyn Progress,
    ) -> Result<Release, RunError> {
        let Outline { problem, steps, event, .. } = &plan.outline;
        let walk = walk::of(WalkOrder::WithReplacement, *steps, plan.eta);
        let weights = walk::run(problem, &walk, &plan.moves, plan.noise, oracle, source, progress)?;
        Ok(Release::new(weights, event))
    }
}

impl OutputSgd {
    /// Theorem 8's `σ`; zero for tight calibration.
    fn paper_sigma(
        &self,
        problem: &Problem,
        budget: Budget,
        steps: u64,
        eta: f64,
        warnings: &mut Vec<String>,
    ) -> Result<f64, PlanError> {
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        if self.calibration == Calibration::Tight || epsilon.is_infinite() {
            return Ok(0.0);
        }
        if epsilon > 1.0 {
            warnings.push(format!(
                "the paper's classical Gaussian is unproven at epsilon = {epsilon} > 1; the analytic Gaussian is used instead"
            ));
        }
        let k = problem.regularity();
        let setting = paper::PaperOutput {
            order: k.holder_order,
            constant: k.holder_constant,
            gradient_at_zero: k.gradient_at_zero,
            value_at_zero: k.value_at_zero,
            rows: problem.rows as f64,
            steps: steps as f64,
            eta,
        };
        let tail = 0.5 * delta;
        let sensitivity = if is_bounded(problem) {
            paper::sensitivity_bounded(&setting, problem.domain.radius(), tail)
        } else {
            paper::sensitivity_unbounded(&setting, tail)
        };
        if !sensitivity.is_finite() {
            return Err(walk::unbounded(problem));
        }
        Ok(paper::sigma(sensitivity, epsilon, delta)?)
    }
}

impl Planned for OutputSgdPlan {
    fn outline(&self) -> &Outline {
        &self.outline
    }

    fn calibration(&self) -> Calibration {
        self.settings.calibration
    }

    fn any_order(&self) -> bool {
        true
    }

    fn noise_on_weights(&self) -> bool {
        true
    }

    fn again(&self) -> Result<Self, PlanError> {
        self.settings.plan(&self.outline.problem, self.outline.budget)
    }

    fn assumptions(&self) -> Vec<Assumption> {
        let theorem = "hits of a secret index stream (docs/algorithms/output-sgd.md)";
        let mut list = assumptions(&self.outline.problem, theorem);
        list.push(Assumption::new(
            "each step draws its row uniformly and independently, and nobody learns which",
            "run",
            theorem,
        ));
        list
    }
}

/// The assumptions of all algorithms that add noise after the last step.
pub(crate) fn assumptions(problem: &Problem, theorem: &str) -> Vec<Assumption> {
    let mut list = Assumption::of_bounded_rows(REPLACED, theorem);
    list.extend([
        Assumption::new(
            "the loss is convex and nowhere negative, its gradient Hoelder-continuous on R^d with the constants of the plan",
            "plan",
            theorem,
        ),
        Assumption::new("eta and T are fixed in advance", "plan", theorem),
    ]);
    if problem.regularity().holder_order >= 1.0 {
        list.push(Assumption::new(
            "eta is at most 2/L on a ball and 1/L on R^d, so that a step on a common row does not expand",
            "plan",
            theorem,
        ));
    }
    if problem.domain.radius().is_finite() {
        list.push(Assumption::new("each iterate is projected onto the ball", "run", theorem));
    }
    list
}
