//! Phased SGD: one pass over the rows, one noisy average for each phase.
//!
//! Su, Zhao and Wang, "Differentially private stochastic convex optimization in (non)-Euclidean
//! space revisited", Algorithm 6 (supplement, Theorems 8 and 13; after Feldman, Koren and Talwar
//! 2020), with its errata corrected.
//!
//! # Problem
//!
//! Minimise the expected loss, convex, `L`-Lipschitz and `β`-smooth in the Euclidean norm, over
//! `R^d` or a closed convex set. With `k = ⌊log₂ n⌋` phases over consecutive blocks of
//! `n_i = ⌊n/2^i⌋` rows (the rest is unused) and `η_i = η/4^i`, phase `i` starts at the last
//! release and takes one step for each row, `w ← Proj(w − η_i ∇ℓ(w; x))`; the average of its
//! `n_i + 1` points, plus `N(0, σ_i² I)`, is released. Rows are read once and in order, and the
//! state is two vectors.
//!
//! # Theorem (sensitivity)
//!
//! If `η ≤ 8/β`, so that every `η_i ≤ 2/β`, replacing a row of phase `i` moves its average by at
//! most `Gη_i n_i/(n_i+1)`, `G ≤ 2L` the largest distance of two rows' gradients at a point of the
//! set; `L` takes the place of `G` for a null row. *Proof.* Steps of length at most `2/β` do not
//! expand, projections neither. A row is used once, and up to its step both runs are at the same
//! point, which lies in the set: a phase starts at a projected release, and every step projects. So
//! the changed row moves the point by at most `Gη_i` at its step, and each of the at most `n_i`
//! points after it is off by at most that. Equality for linear losses and the first row. ∎ Rounding
//! is charged too ([`rounding`]), and the paper's calibration keeps `2L`.
//!
//! # Privacy
//!
//! Each phase is a Gaussian release on its own rows, and later phases see earlier releases only:
//! the run is `μ`-GDP with the `μ` of one phase. Released points are projected onto the set, or
//! onto a public ball that holds them but for odds of about `e^{−72}`: both are post-processing,
//! and bound the points that rounding is charged for.
//!
//! # Parameters
//!
//! `η = min((D/L)·min(4/√n, μ/√d), 8/β)` for a guess `D` of the minimiser's distance.
//! [`PhasedPlan::rate`] is the paper's rate `L·2D(1/√n + √d/(μn))` with constants set to one: it
//! compares plans and promises nothing.

use reticent_data::{InOrder, Oracle, OracleError, Sensitive};
use reticent_noise::Source;
use reticent_privacy::{Budget, Event, delta_upper, epsilon_upper};
use reticent_problem::Problem;
use reticent_problem::geometry::project_onto_ball;
use serde::{Deserialize, Serialize};

use crate::algorithm::REPLACED_OR_NULL;
use crate::executor::{self, Iterative};
use crate::mirror::direct_sensitivity;
use crate::output_gd::default_distance;
use crate::setting::{CALIBRATION, Checked, DISTANCE, NO_RIDGE, STEP_SIZE, Setting};
use crate::step::lr_noise::total_mu;
use crate::step::noisy_sum::NoisySum;
use crate::step::public;
use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Release, RunError, UnitSupport, WeightSupport,
};

/// The name in flags, files and messages.
pub const NAME: &str = "phased";

const SETTINGS: &[Setting] = &[
    CALIBRATION.limited("paper: epsilon at most 2 ln(1/delta)"),
    NO_RIDGE,
    STEP_SIZE
        .by_default("(D/L) min(4/sqrt(n), m/sqrt(d)), m the noise's")
        .limited("at most 8/beta"),
    DISTANCE.by_default("the set's radius, or 5/B, or 2Y/B"),
];

/// Settings. Omitted ones are chosen without looking at data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Phased {
    /// Paper or tight.
    pub calibration: Calibration,
    /// `η`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// `D`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<f64>,
}

/// One phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// `n_i`.
    pub rows: u64,
    /// `η_i`.
    pub eta: f64,
    /// How far the average moves, rounding included.
    pub sensitivity: f64,
    /// `σ_i`, the share of the grid not included.
    pub sigma: f64,
    /// Released points are kept within this norm where no set does it.
    pub reach: f64,
}

/// Everything that will happen, before anything is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhasedPlan {
    /// The fields shared by all plans.
    #[serde(flatten)]
    pub outline: Outline,
    /// The requested settings.
    pub settings: Phased,
    /// `η`.
    pub eta: f64,
    /// `σ_i` over the sensitivity, the same in every phase.
    pub noise_multiplier: f64,
    /// The phases.
    pub phases: Vec<Phase>,
    /// The paper's rate with constants set to one.
    pub rate: f64,
}

/// `n_i = ⌊n/2^i⌋` for `i = 1..⌊log₂ n⌋`.
pub fn phase_rows(rows: u64) -> Vec<u64> {
    (1..=rows.max(1).ilog2()).map(|i| rows >> i).collect()
}

/// `(D/L)·min(4/√n, m/√d)`, at most `8/β`: `m` is `μ`, or `ε/(2√ln(1/δ))` in the paper.
pub fn step_length(
    lipschitz: f64,
    smoothness: Option<f64>,
    distance: f64,
    rows: f64,
    dimension: f64,
    m: f64,
) -> f64 {
    let eta = distance / lipschitz * (4.0 / rows.sqrt()).min(m / dimension.sqrt());
    smoothness.map_or(eta, |beta| eta.min(8.0 / beta))
}

/// `cLη_i n_i/(n_i+1)`: how far the average of a phase moves, where a changed row's gradient moves
/// by `cL`.
pub fn sensitivity(change: f64, lipschitz: f64, eta: f64, rows: f64) -> f64 {
    change * lipschitz * eta * rows / (rows + 1.0)
}

/// `η_i = η/4^i`, phases counted from zero.
pub fn phase_length(eta: f64, phase: usize) -> f64 {
    eta * 0.25_f64.powi(phase as i32 + 1)
}

/// The scale of a phase's noise: its sensitivity, or in the paper `cLη_i`, without the factor
/// `n_i/(n_i+1)`.
pub fn move_of(paper: bool, change: f64, lipschitz: f64, eta: f64, rows: f64) -> f64 {
    if paper { change * lipschitz * eta } else { sensitivity(change, lipschitz, eta, rows) }
}

/// `σ_i` over what it is scaled to: `1/μ`, or the paper's `2√ln(1/δ)/ε` (it prints
/// `σ_i = 4Lη_i√ln(1/δ)/ε`).
///
/// # Errors
///
/// The accountant's, for an illegal budget.
pub fn multiplier(calibration: Calibration, epsilon: f64, delta: f64) -> Result<f64, PlanError> {
    Ok(match calibration {
        Calibration::Paper => 2.0 * (1.0 / delta).ln().sqrt() / epsilon,
        Calibration::Tight => 1.0 / total_mu(calibration, epsilon, delta)?,
    })
}

/// The rounding error added to the sensitivity of a phase whose points have norm at most `reach`.
///
/// Two runs on neighbouring blocks take the same steps up to the changed row, bit by bit. After it
/// each computed step is within `e` of the exact one, so the distance grows by at most `2e`: with
/// unit roundoff `u`, a margin is a sum of `d + 12` rounded terms and moves the step by `ηβ` times
/// its error, the slope and the update round a few times relative to `ηL` and the points, the
/// projection as [`reticent_problem::Domain::projection_roundings`] says. The sum of the points
/// rounds once for each.
pub fn rounding(problem: &Problem, eta: f64, rows: f64, reach: f64) -> f64 {
    const UNIT: f64 = f64::EPSILON / 2.0;
    let k = problem.regularity();
    let (d, outputs) = (problem.features as f64, problem.loss.outputs() as f64);
    let beta = k.smoothness.unwrap_or(0.0);
    let margins = outputs.sqrt() * (d + 12.0) * eta * beta * reach;
    let slopes = (outputs + 24.0) * eta * k.lipschitz;
    let update = (4.0 + problem.domain.projection_roundings(problem.dimension()))
        * (reach + eta * k.lipschitz);
    let sums = (rows + 4.0) * reach;
    2.0 * 1.1 * UNIT * (rows * (margins + slopes + update) + sums)
}

impl Algorithm for Phased {
    const INFO: AlgorithmInfo = AlgorithmInfo {
        name: NAME,
        summary: "one pass of SGD in phases of halving length, each released once with noise",
        paper: "Su, Zhao, Wang: DP stochastic convex optimization in (non)-Euclidean space revisited, Algorithm 6",
        assumptions: "convex, smooth and Lipschitz loss; bounded rows; rows in an order that is not secret",
        guarantee: "(epsilon, delta), delta > 0, replace-one or zero-out",
        settings: SETTINGS,
        units: UnitSupport::Refused(
            "uses each record once in the order of the table, in which a unit that is replaced may move all others by a place",
        ),
        weights: WeightSupport::Carried,
    };

    type Plan = PhasedPlan;

    fn read(settings: Checked<'_>) -> Result<Self, PlanError> {
        Ok(Self {
            calibration: settings.calibration(),
            eta: settings.number(&STEP_SIZE),
            distance: settings.number(&DISTANCE),
        })
    }

    fn plan(&self, problem: &Problem, budget: Budget) -> Result<PhasedPlan, PlanError> {
        Self::INFO.admit(problem, budget)?;
        problem.check()?;
        public::check(NAME, problem, budget)?;
        public::positive("step_size", self.eta)?;
        public::positive("distance", self.distance)?;
        if problem.rows < 2 {
            let why = "needs at least 2 rows, got 1".to_owned();
            return Err(PlanError::NotApplicable { algorithm: NAME, why });
        }
        let k = problem.regularity();
        let Some(beta) = k.smoothness else {
            return Err(PlanError::NotSmooth {
                algorithm: NAME,
                loss: problem.loss.full_name(),
                instead: "a smooth loss: without it no step is known not to expand",
            });
        };
        if !k.lipschitz.is_finite() {
            return Err(PlanError::Unbounded { loss: problem.loss.name() });
        }
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        let dimension = problem.dimension();
        let (n, d) = (problem.rows as f64, dimension as f64);
        let paper = self.calibration == Calibration::Paper;
        let log = (1.0 / delta).ln();
        if paper && epsilon > 2.0 * log {
            return Err(PlanError::OutOfRange {
                name: "epsilon",
                expected: format!(
                    "at most 2 ln(1/delta) = {} with the paper's calibration",
                    2.0 * log
                ),
                got: epsilon,
            });
        }
        // A hair more than the least, so that the accountant's epsilon, rounded up, keeps the
        // budget too.
        let noise_multiplier = multiplier(self.calibration, epsilon, delta)? * (1.0 + 1e-11);
        let distance = self.distance.unwrap_or_else(|| default_distance(problem));
        let most = 8.0 / beta;
        let eta = self.eta.unwrap_or_else(|| {
            step_length(k.lipschitz, Some(beta), distance, n, d, 1.0 / noise_multiplier)
        });
        if eta > most {
            return Err(PlanError::OutOfRange {
                name: "step_size",
                expected: format!("at most 8/beta = {most}, beyond which steps may expand"),
                got: eta,
            });
        }
        let twice = budget.adjacency.sum_sensitivity() * k.lipschitz;
        let apart =
            if paper { twice } else { twice.min(direct_sensitivity(problem, budget.adjacency)) };
        let (mut phases, mut reach) = (Vec::new(), 0.0);
        for (phase, rows) in phase_rows(problem.rows as u64).into_iter().enumerate() {
            let (n_i, length) = (rows as f64, phase_length(eta, phase));
            let inside = if problem.domain.is_bounded() {
                problem.domain.radius()
            } else {
                reach + length * k.lipschitz * n_i
            };
            let sensitivity =
                move_of(paper, 1.0, apart, length, n_i) + rounding(problem, length, n_i, inside);
            let sigma = noise_multiplier * sensitivity;
            reach = inside + sigma * (d.sqrt() + 12.0);
            phases.push(Phase { rows, eta: length, sensitivity, sigma, reach });
        }
        let one = Event::Gaussian { noise_multiplier, adjacency: budget.adjacency };
        let event = Event::Disjoint { parts: vec![one; phases.len()], fixed_partition: true };
        if delta_upper(&event, epsilon)? > delta || epsilon_upper(&event, delta)? > epsilon {
            return Err(PlanError::OutOfRange {
                name: "epsilon",
                expected: "smaller for the paper's calibration with this delta; use tight"
                    .to_owned(),
                got: epsilon,
            });
        }
        let rate =
            2.0 * k.lipschitz * distance * (1.0 / n.sqrt() + d.sqrt() * noise_multiplier / n);
        let outline = Outline {
            problem: problem.clone(),
            budget,
            event,
            steps: phases.iter().map(|phase| phase.rows).sum(),
            noise_deviation: phases.last().map_or(0.0, |phase| phase.sigma),
            predicted_excess: None,
            warnings: Vec::new(),
        };
        Ok(PhasedPlan { outline, settings: *self, eta, noise_multiplier, phases, rate })
    }

    fn run(
        plan: &PhasedPlan,
        oracle: &dyn Oracle,
        source: &Source,
        progress: &dyn Progress,
    ) -> Result<Release, RunError> {
        executor::run::<Self>(plan, oracle, source, progress)
    }
}

/// Where a run stands.
pub(crate) struct State {
    /// Phases that are done.
    phase: usize,
    weights: Vec<f64>,
}

/// The resources of the phases: the rows, and the noise of each phase.
type Tools<'a> = (&'a dyn InOrder, Vec<NoisySum>);

impl Iterative for Phased {
    type State = State;
    type Tools<'a> = Tools<'a>;

    fn check(plan: &PhasedPlan, oracle: &dyn Oracle) -> Result<(), OracleError> {
        oracle.check_order(&plan.outline.problem).map(|_| ())
    }

    fn start(plan: &PhasedPlan, _: &dyn Oracle, _: &Source) -> Result<State, RunError> {
        let problem = &plan.outline.problem;
        Ok(State { phase: 0, weights: problem.domain.start(problem.dimension()) })
    }

    fn tools<'a>(
        plan: &'a PhasedPlan,
        state: &State,
        oracle: &'a dyn Oracle,
        source: &Source,
    ) -> Result<Tools<'a>, RunError> {
        let problem = &plan.outline.problem;
        let noise = plan.phases.iter().skip(state.phase).map(|phase| {
            let (multiplier, dimension) = (plan.noise_multiplier, problem.dimension());
            NoisySum::new(phase.sensitivity, multiplier, dimension, source)
        });
        // The next one is last.
        let mut noise = noise.collect::<Result<Vec<_>, _>>()?;
        noise.reverse();
        Ok((oracle.check_order(problem)?, noise))
    }

    fn progress(plan: &PhasedPlan, state: &State) -> (u64, u64) {
        (plan.phases.iter().take(state.phase).map(|p| p.rows).sum(), plan.outline.steps)
    }

    fn step(
        plan: &PhasedPlan,
        (rows, noise): &mut Tools<'_>,
        state: &mut State,
    ) -> Result<(), RunError> {
        let problem = &plan.outline.problem;
        let first = Self::progress(plan, state).0;
        let (Some(phase), Some(mut noise)) = (plan.phases.get(state.phase), noise.pop()) else {
            return Ok(());
        };
        let range = first as usize..(first + phase.rows) as usize;
        let average = phase_average(problem, *rows, range, phase.eta, &state.weights)?;
        state.weights = noise.release(average);
        // Post-processing.
        if problem.domain.is_bounded() {
            problem.domain.project(&mut state.weights);
        } else {
            project_onto_ball(&mut state.weights, phase.reach);
        }
        state.phase += 1;
        Ok(())
    }

    fn release(plan: &PhasedPlan, state: State, _: &Source) -> Result<Release, RunError> {
        Ok(Release::new(state.weights, &plan.outline.event))
    }
}

/// The average of the points of a phase that starts at `start`: what gets noise.
///
/// # Errors
///
/// [`OracleError::Unread`] if rows were missing.
pub fn phase_average(
    problem: &Problem,
    rows: &dyn InOrder,
    range: std::ops::Range<usize>,
    eta: f64,
    start: &[f64],
) -> Result<Sensitive<Vec<f64>>, OracleError> {
    let points = range.len() as f64 + 1.0;
    let mut w = Sensitive::new(start.to_vec());
    let mut sum = Sensitive::new(start.to_vec());
    rows.one_pass(problem, range, eta, &mut w, &mut sum)?;
    sum.update_inside(|sum| {
        for s in sum.iter_mut() {
            *s /= points;
        }
    });
    Ok(sum)
}

impl Planned for PhasedPlan {
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
        let theorem = "phased SGD (docs/algorithms/phased.md)";
        let mut list = Assumption::of_bounded_rows(REPLACED_OR_NULL, theorem);
        list.extend([
            Assumption::new("the order of rows does not depend on their values", "owner", theorem),
            Assumption::new("eta <= 8/beta, and all lengths are fixed in advance", "plan", theorem),
        ]);
        list
    }
}
