//! Least squares by gradient steps from zero, one noise draw on the last iterate.
//!
//! Wang, Shi and others study this for random features ("differentially private kernel regression
//! by SGD"): the algorithm is theirs with `order = with-replacement` and paper calibration, its
//! sensitivity corrected; the other orders and calibrations are what is recommended. It serves
//! every table whose rows keep `‖φ‖ ≤ κ` and `|y| ≤ c`; random features have `κ = 1` for every
//! input whatsoever.
//!
//! # Algorithm
//!
//! ```text
//! w₁ = 0,    w_{t+1} = w_t − η r_t φ,    r_t = ⟨w_t, φ⟩ − y    (or clamped to ±h),    release w_{T+1} + noise
//! ```
//!
//! on rows drawn with replacement, in secret passes over all rows, or on the average gradient of
//! all rows (with a ridge, if asked for).
//!
//! With more than two classes `w` is a matrix, `y` the unit vector of the class and `r` a vector,
//! clamped to the norm `h`; all norms below are Frobenius norms and the proofs are the same, word
//! for word, with `c = 1`.
//!
//! # Theorem (sensitivity)
//!
//! Let `ηκ² < 2`. Replacing a row moves `w_{T+1}` by at most `k·ηg_T` if the row is visited `k`
//! times, by `η Σ_j g_{jn}` in passes and by `(η/n) Σ_t g_t` with full gradients, where
//! `g_t = 2cκ + κ²W_t`, or `2hκ` with clamped residuals; with a ridge as
//! [`sensitivity::StepBounds::full_with_ridge`] says. Proofs in [`sensitivity`].
//!
//! # Noise
//!
//! The visits of a row in `T` draws with replacement are binomial and secret: the profile is at
//! most the mixture `Σ_k Bin(T, 1/n)(k)·G(kηg_T/σ; ε)`, since the index stream does not depend on
//! the data and the profile is jointly convex. In passes and with full gradients the number of
//! visits is fixed and the Gaussian, or ball noise for `δ = 0`, is calibrated as for
//! output-perturbed gradient descent.
//!
//! *Paper*: with probability `1 − δ/2` no row is visited more than `k̄` times, and the classical
//! Gaussian scale at `δ/2`. Printed without its square root and without a factor `c`, the
//! sensitivity leaks: `δ(1) = 0.62` where `10⁻⁵` was promised.
//!
//! # Rounding
//!
//! A computed step is off by at most `e` ([`reticent_data::walk`]); common steps do not expand, so
//! two walks are driven apart by at most `2eT` more. For full gradients as in [`crate::output_gd`].

pub mod parameters;
pub mod sensitivity;

use reticent_data::walk::{self, Walk, WalkState, stretch};
use reticent_data::{Oracle, Sensitive};
use reticent_noise::Source;
use reticent_privacy::mixture::HitLaw;
use reticent_privacy::{Budget, Hits, gaussian};
use reticent_problem::{Domain, Loss, Problem};
use serde::{Deserialize, Serialize};

use crate::algorithm::REPLACED;
use crate::executor;
use crate::setting::{
    CALIBRATION, Checked, End, NOISE, OWN_RIDGE, Range, STEP_SIZE, STEPS, Setting, Words as _,
    up_to, words,
};
use crate::step::perturb::{self, Moves, Noise, NoiseChoice};
use crate::step::walk::{MAX_STEPS, check_eta, range, swell};
use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Release, RunError, UnitSupport, WeightSupport, output_gd,
};
use parameters::{Difficulty, Schedule, longest_step};
use sensitivity::StepBounds;

/// The name in flags, files and messages.
pub const NAME: &str = "least-squares";

/// Which rows a step uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One uniform row, independent of all others.
    WithReplacement,
    /// One row, in passes over all of them.
    #[default]
    Passes,
    /// All rows.
    Full,
}

words! { Order:
    Passes = "passes", "One row, in passes over all of them";
    WithReplacement = "with-replacement", "One uniform row, independent of all others";
    Full = "full", "All rows";
}

/// Which rows a step uses.
pub const ORDER: Setting = Setting::choice(
    "order",
    Order::WORDS,
    "passes; with-replacement in paper calibration",
    "The rows that a step of least squares uses",
);

/// Leaves residuals unclamped.
pub const EXACT: Setting = Setting::flag(
    "exact",
    "Leave the residuals of least squares unclamped; paper calibration does",
);

/// The paper's steps.
pub const SCHEDULE: Setting = Setting::choice(
    "schedule",
    Schedule::WORDS,
    "large-step, in paper calibration",
    "The steps of least squares in paper calibration",
);

/// `r`, see [`parameters`].
pub const SOURCE_SMOOTHNESS: Setting = Setting::number(
    "source_smoothness",
    Range::new(End::Open(0.5), End::Closed(1.0)),
    "A guess of how smooth the target of least squares is for its kernel; affects accuracy only, not privacy",
)
.or_named("regularity")
.by_default("1");

/// `α`, see [`parameters`].
pub const CAPACITY: Setting = Setting::number(
    "capacity",
    Range::new(End::Open(0.0), End::Open(1.0)),
    "A guess of how large the kernel's space is; affects accuracy only, not privacy",
)
.by_default("0.5");

const SETTINGS: &[Setting] = &[
    CALIBRATION.limited("paper: with replacement"),
    OWN_RIDGE.limited("0 unless `order` is full"),
    ORDER,
    NOISE.limited("not ball with replacement"),
    STEPS.within(up_to(1, reticent_privacy::MAX_STEPS)).limited("in passes a multiple of n"),
    STEP_SIZE.limited("below 2/B^2, with a ridge at most 1/(B^2 + ridge)"),
    EXACT,
    SCHEDULE,
    SOURCE_SMOOTHNESS,
    CAPACITY,
];

/// Settings. Omitted ones are chosen without looking at data.
///
/// Residuals are clamped to the problem's slope limit, and to the label bound if there is none: at
/// zero weights nothing is clamped (but for rounding, where they are vectors).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LeastSquares {
    /// Paper or tight.
    pub calibration: Calibration,
    /// Which rows a step uses.
    pub order: Order,
    /// Which noise.
    pub noise: NoiseChoice,
    /// `T`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// `η`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// Leave residuals unclamped.
    pub exact: bool,
    /// The paper's steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// `r`.
    #[serde(alias = "regularity", skip_serializing_if = "Option::is_none")]
    pub source_smoothness: Option<f64>,
    /// `α`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<f64>,
}

/// Everything that will happen, before anything is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeastSquaresPlan {
    /// The fields shared by all plans.
    #[serde(flatten)]
    pub outline: Outline,
    /// The requested settings.
    pub settings: LeastSquares,
    /// `η`.
    pub eta: f64,
    /// `h`, if residuals are clamped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residual_limit: Option<f64>,
    /// How far the last iterate moves for each visit of the changed row, or in all where visits are
    /// not random.
    pub moves: Moves,
    /// The noise, added once.
    pub noise: Noise,
    /// `κσ`: the standard deviation that the noise adds to a prediction, at most.
    pub prediction_deviation: f64,
    /// `κ²σ² + c²(τ^{−2r} + τ^α/n)`: the order of the excess, with unknown constants set to one.
    pub order_of_excess: f64,
}

/// Steps and their length.
#[derive(Clone, Copy)]
struct StepPlan {
    steps: u64,
    eta: f64,
}

impl LeastSquares {
    fn difficulty(&self) -> Difficulty {
        let default = Difficulty::default();
        Difficulty {
            source_smoothness: self.source_smoothness.unwrap_or(default.source_smoothness),
            capacity: self.capacity.unwrap_or(default.capacity),
        }
    }

    fn residual_limit(&self, problem: &Problem) -> Option<f64> {
        let clamp = !self.exact && self.calibration == Calibration::Tight;
        problem.slope_limit.or(clamp.then(|| label_bound(problem)))
    }

    fn shape(&self, problem: &Problem, eta: f64) -> StepBounds {
        StepBounds {
            norm: problem.bounds.norm(),
            label: label_bound(problem),
            eta,
            residual_limit: self.residual_limit(problem),
        }
    }

    /// The step_plan of optimisation time `τ = ηT`.
    fn step_plan(&self, problem: &Problem, time: f64) -> StepPlan {
        let (n, k) = (problem.rows as f64, problem.bounds.norm());
        if self.order == Order::Full {
            let eta = self.eta.unwrap_or(0.5 / (k * k + problem.ridge));
            let steps = (time / eta).ceil().clamp(1.0, output_gd::steps::MAX_STEPS as f64);
            return StepPlan { steps: self.steps.unwrap_or(steps as u64), eta };
        }
        let most = (MAX_STEPS as f64 / n).floor().max(1.0);
        let mut passes = 1.0;
        while passes < most && time / (passes * n) > longest_step(k, passes * n) {
            passes = (passes * 1.25_f64).ceil();
        }
        let steps = self.steps.unwrap_or((passes.min(most) * n) as u64);
        let eta = (time / steps as f64).min(longest_step(k, steps as f64));
        StepPlan { steps, eta: self.eta.unwrap_or(eta) }
    }

    /// The rounding error in the distance of two walks.
    fn rounding(&self, problem: &Problem, step_plan: StepPlan) -> f64 {
        let shape = self.shape(problem, step_plan.eta);
        let t = step_plan.steps as f64;
        if self.order == Order::Full {
            let limited = Problem { slope_limit: self.residual_limit(problem), ..problem.clone() };
            let reach = shape.iterate_norm(t + 1.0);
            let bounded = Problem { domain: Domain::Ball { radius: reach.max(1e-300) }, ..limited };
            let g = output_gd::sensitivity::rounding(&bounded, step_plan.eta, step_plan.steps);
            return output_gd::sensitivity::tight(
                g,
                problem.ridge,
                step_plan.eta,
                t,
                problem.rows as f64,
            );
        }
        let walk = walk_of(self.order, step_plan);
        let (reach, k) = (shape.iterate_norm(t + 1.0), shape.norm);
        let lipschitz = match shape.residual_limit {
            Some(h) => h * k,
            None => (shape.label + k * reach) * k,
        };
        let r = walk::rounding(problem, &walk, lipschitz, reach);
        // With several outputs the margins err together, and so do the roundings of a residual
        // vector.
        let outputs = problem.loss.outputs() as f64;
        let residual = f64::EPSILON * (outputs + 16.0) * (shape.label + k * reach);
        let several = if outputs > 1.0 { k * residual } else { 0.0 };
        let margin = k * k * outputs.sqrt() * r.margin;
        2.0 * t * (step_plan.eta * (margin + several) + r.step)
    }

    /// How far the last iterate moves.
    fn moves(&self, problem: &Problem, step_plan: StepPlan) -> Moves {
        let shape = self.shape(problem, step_plan.eta);
        let n = problem.rows as f64;
        let drift = self.rounding(problem, step_plan);
        let shift = match self.order {
            Order::WithReplacement => shape.visits(1.0, step_plan.steps as f64),
            Order::Passes => shape.passes(step_plan.steps / problem.rows as u64, n),
            Order::Full if problem.ridge > 0.0 => {
                shape.full_with_ridge(problem.ridge, step_plan.steps, n)
            }
            Order::Full => shape.full(step_plan.steps, n),
        };
        // Where gradients grow with the iterates, so does what rounding adds to those.
        Moves { shift: shift * swell(problem, step_plan.steps), drift, cap: None }
    }

    /// The deviation of Gaussian noise for this step_plan: what the search for the best time
    /// compares.
    fn searched_sigma(
        &self,
        problem: &Problem,
        budget: Budget,
        step_plan: StepPlan,
    ) -> Result<f64, PlanError> {
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        let moves = self.moves(problem, step_plan);
        if delta == 0.0 {
            let d = problem.dimension();
            return Ok(perturb::ball_second_moment(d, epsilon).sqrt() * moves.nominal());
        }
        if self.order == Order::WithReplacement {
            let law = HitLaw::last(problem.rows as u64, step_plan.steps, 1e-3 * delta)?;
            return Ok(law.sigma_upper(epsilon, delta, moves.shift, moves.drift, None)?);
        }
        Ok(gaussian::noise_multiplier_upper(epsilon, delta)? * moves.nominal())
    }

    /// The step_plan: as asked for, the paper's, or the time of least order of excess.
    fn choose(&self, problem: &Problem, budget: Budget) -> Result<StepPlan, PlanError> {
        let (n, k, c) = (problem.rows as f64, problem.bounds.norm(), label_bound(problem));
        let difficulty = self.difficulty();
        if self.calibration == Calibration::Paper {
            let schedule = self.schedule.unwrap_or_default();
            let automatic = difficulty.steps(n, schedule).min(MAX_STEPS as f64) as u64;
            let steps = self.steps.unwrap_or(automatic);
            let eta = difficulty.eta(n, schedule, k, steps as f64);
            return Ok(StepPlan { steps, eta: self.eta.unwrap_or(eta) });
        }
        if self.steps.is_some() && self.eta.is_some() || budget.epsilon.get().is_infinite() {
            return Ok(self.step_plan(problem, n.sqrt()));
        }
        let mut best: Option<(f64, StepPlan)> = None;
        for j in 0..=(2.0 * n.log2()).floor() as i32 {
            let time = 2_f64.powf(0.5 * f64::from(j)) / (k * k);
            let step_plan = self.step_plan(problem, time);
            let sigma = self.searched_sigma(problem, budget, step_plan)?;
            let reached = step_plan.eta * step_plan.steps as f64 * k * k;
            let excess = difficulty.excess(n, reached, sigma, c, k);
            if best.as_ref().is_none_or(|(least, _)| excess < *least) {
                best = Some((excess, step_plan));
            }
        }
        Ok(best.map_or_else(|| self.step_plan(problem, 1.0), |(_, step_plan)| step_plan))
    }

    fn check(&self, problem: &Problem, budget: Budget) -> Result<(), PlanError> {
        let refuse =
            |why: &str| Err(PlanError::NotApplicable { algorithm: NAME, why: why.to_owned() });
        if !matches!(problem.loss, Loss::Squared | Loss::OneHot { .. }) || problem.hidden.is_some()
        {
            return refuse(
                "minimises the squared loss of a linear model; give `loss` squared, or one-hot for classes",
            );
        }
        if problem.domain != Domain::Unbounded {
            return refuse("needs no ball and has none; leave `radius` out, or use output-gd");
        }
        if problem.ridge > 0.0 && self.order != Order::Full {
            return refuse(
                "takes a ridge with full gradients only; give `order` full, or `ridge` 0",
            );
        }
        if !budget.adjacency.replaces() {
            return Err(PlanError::Adjacency {
                algorithm: NAME,
                got: budget.adjacency.to_string(),
            });
        }
        if self.calibration == Calibration::Paper && self.order != Order::WithReplacement {
            return refuse(
                "has a paper calibration with replacement only; give `order` with-replacement",
            );
        }
        let chosen = self.steps.is_some() && self.eta.is_some();
        if self.schedule.is_some() && (self.calibration == Calibration::Tight || chosen) {
            return refuse(
                "has a `schedule` in paper calibration and where `steps` or `step_size` is left to it; leave `schedule` out",
            );
        }
        let delta = budget.delta.get();
        range(
            delta > 0.0 || self.order != Order::WithReplacement || budget.epsilon.is_infinite(),
            "delta",
            "above 0 with replacement, where visits are random; use `order` passes or full for pure DP",
            delta,
        )?;
        range(
            self.noise != NoiseChoice::Gaussian || delta > 0.0 || budget.epsilon.is_infinite(),
            "delta",
            "> 0 for Gaussian noise (choose ball noise for pure DP)",
            delta,
        )?;
        range(
            self.noise != NoiseChoice::Ball || self.order != Order::WithReplacement,
            "noise",
            "Gaussian with replacement",
            delta,
        )?;
        let Difficulty { source_smoothness, capacity } = self.difficulty();
        range(
            source_smoothness > 0.5 && source_smoothness <= 1.0,
            "source_smoothness",
            "above 1/2 and at most 1; leave it out for 1",
            source_smoothness,
        )?;
        range(
            capacity > 0.0 && capacity < 1.0,
            "capacity",
            "between 0 and 1; leave it out for 1/2",
            capacity,
        )?;
        range(problem.rows < 1 << 32, "n", "below 2^32", problem.rows as f64)?;
        if let Some(steps) = self.steps {
            let n = problem.rows as u64;
            let whole = self.order != Order::Passes || steps.is_multiple_of(n);
            let most = reticent_privacy::MAX_STEPS;
            range(
                (1..=most).contains(&steps) && whole,
                "steps",
                "at least 1 and at most 1e9, and in passes a multiple of n",
                steps as f64,
            )?;
        }
        Ok(())
    }
}

/// `c`: what no label's norm exceeds; a class of several is a unit vector.
fn label_bound(problem: &Problem) -> f64 {
    match problem.loss {
        Loss::OneHot { .. } => 1.0,
        _ => problem.bounds.label(),
    }
}

fn walk_of(order: Order, step_plan: StepPlan) -> Walk {
    let order = match order {
        Order::WithReplacement => walk::WalkOrder::WithReplacement,
        Order::Passes | Order::Full => walk::WalkOrder::Permuted,
    };
    // A walk does not move its last iterate: one more, and that is the one released.
    Walk { order, steps: step_plan.steps + 1, eta: step_plan.eta }
}

impl Algorithm for LeastSquares {
    const INFO: AlgorithmInfo = AlgorithmInfo {
        name: NAME,
        summary: "gradient steps on the squared loss from zero, one noise draw on the last iterate",
        paper: "the SGD on random features of the kernel paper, Algorithm 1, and its recommended variants",
        assumptions: "squared loss, of numbers or classes, rows and labels with declared bounds, replace-one adjacency",
        guarantee: "epsilon-DP for delta = 0 (passes, full), (epsilon, delta)-DP otherwise",
        settings: SETTINGS,
        units: UnitSupport::OneRow(
            "takes a step for each row, and a unit of several rows would take several",
        ),
        weights: WeightSupport::Refused(
            "is proven for rows whose squared losses all count the same",
        ),
    };

    type Plan = LeastSquaresPlan;

    fn read(settings: Checked<'_>) -> Result<Self, PlanError> {
        let calibration = settings.calibration();
        Ok(Self {
            calibration,
            order: settings.choice(&ORDER).unwrap_or(match calibration {
                Calibration::Paper => Order::WithReplacement,
                Calibration::Tight => Order::Passes,
            }),
            noise: settings.choice(&NOISE).unwrap_or_default(),
            steps: settings.whole(&STEPS),
            eta: settings.number(&STEP_SIZE),
            exact: settings.flag(&EXACT).unwrap_or(false),
            schedule: settings.choice(&SCHEDULE),
            source_smoothness: settings.number(&SOURCE_SMOOTHNESS),
            capacity: settings.number(&CAPACITY),
        })
    }

    fn plan(&self, problem: &Problem, budget: Budget) -> Result<LeastSquaresPlan, PlanError> {
        Self::INFO.admit(problem, budget)?;
        problem.check_least_squares()?;
        self.check(problem, budget)?;
        let (n, k, c) = (problem.rows as f64, problem.bounds.norm(), label_bound(problem));
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        let step_plan = self.choose(problem, budget)?;
        let limit = match self.calibration {
            Calibration::Paper => 1.0 / (k * k),
            Calibration::Tight if problem.ridge > 0.0 => 1.0 / (k * k + problem.ridge),
            Calibration::Tight => 2.0 / (k * k),
        };
        check_eta(
            step_plan.eta,
            limit,
            self.calibration == Calibration::Tight && problem.ridge == 0.0,
        )?;
        let mut warnings = Vec::new();
        let mut moves = self.moves(problem, step_plan);
        let dimension = problem.dimension();
        let steps = step_plan.steps;
        let (noise, event) = if self.order == Order::WithReplacement {
            let rows = problem.rows as u64;
            let hits = Hits::LastWithReplacement { rows, steps };
            let paper = self.calibration == Calibration::Paper && epsilon.is_finite();
            let least = if paper {
                let shape = self.shape(problem, step_plan.eta);
                let moved = sensitivity::paper(&shape, n, steps as f64, 0.5 * delta);
                moved * paper_scale(epsilon, delta)?
            } else {
                0.0
            };
            perturb::plan_mixture(budget, hits, moves, dimension, least)?
        } else {
            // Visits are fixed, so shift and drift are one number.
            moves = Moves { shift: moves.nominal(), drift: 0.0, cap: None };
            perturb::plan(budget, moves.shift, dimension, self.noise, None)?
        };
        let sigma = noise.deviation(dimension);
        if sigma * k > c {
            warnings.push("noise exceeds the label range; increase n or epsilon, or take fewer or shorter steps".to_owned());
        }
        if delta > 1.0 / n {
            warnings.push("delta above 1/n protects no single record".to_owned());
        }
        let difficulty = self.difficulty();
        if difficulty.capacity <= difficulty.least_capacity() {
            warnings.push(format!(
                "no rate is proved for source_smoothness {} and capacity {}: the capacity would have to be above {:.3}",
                difficulty.source_smoothness,
                difficulty.capacity,
                difficulty.least_capacity()
            ));
        }
        let time = step_plan.eta * steps as f64 * k * k;
        let outline = Outline {
            problem: problem.clone(),
            budget,
            event,
            steps,
            noise_deviation: sigma,
            predicted_excess: None,
            warnings,
        };
        Ok(LeastSquaresPlan {
            outline,
            settings: *self,
            eta: step_plan.eta,
            residual_limit: self.residual_limit(problem),
            moves,
            noise,
            prediction_deviation: k * sigma,
            order_of_excess: difficulty.excess(n, time, sigma, c, k),
        })
    }

    fn run(
        plan: &LeastSquaresPlan,
        oracle: &dyn Oracle,
        source: &Source,
        progress: &dyn Progress,
    ) -> Result<Release, RunError> {
        let Outline { problem, budget, steps, event, .. } = &plan.outline;
        oracle.check(problem)?;
        let problem = Problem { slope_limit: plan.residual_limit, ..problem.clone() };
        let step_plan = StepPlan { steps: *steps, eta: plan.eta };
        let last = match plan.settings.order {
            Order::Full => {
                let (eta, steps) = (step_plan.eta, step_plan.steps);
                crate::output_gd::descend(&problem, eta, steps, oracle, progress)?
            }
            order => walk(&problem, &walk_of(order, step_plan), oracle, source, progress)?,
        };
        let epsilon = budget.epsilon.get();
        let weights = perturb::release(last, plan.noise, plan.moves.nominal(), epsilon, source)?;
        Ok(Release::new(weights, event))
    }
}

/// The iterate at which a walk ends.
fn walk(
    problem: &Problem,
    walk: &Walk,
    oracle: &dyn Oracle,
    source: &Source,
    progress: &dyn Progress,
) -> Result<Sensitive<Vec<f64>>, RunError> {
    let rows = oracle.check_walk(problem)?;
    let mut state = Sensitive::new(WalkState::new(problem, source));
    let mut done = 0;
    executor::repeat(oracle, progress, 1, 0, walk.steps, || {
        rows.walk(problem, walk, &mut state)?;
        done += stretch(problem.dimension()).min(walk.steps - done);
        Ok(done)
    })?;
    Ok(state.map_inside(WalkState::into_last))
}

/// The paper's Gaussian scale where it is proven, the exact one at `δ/2` beyond.
fn paper_scale(epsilon: f64, delta: f64) -> Result<f64, PlanError> {
    Ok(if epsilon <= 1.0 {
        sensitivity::paper_multiplier(epsilon, delta)
    } else {
        gaussian::noise_multiplier_upper(epsilon, 0.5 * delta)?
    })
}

impl Planned for LeastSquaresPlan {
    fn outline(&self) -> &Outline {
        &self.outline
    }

    fn calibration(&self) -> Calibration {
        self.settings.calibration
    }

    fn any_order(&self) -> bool {
        self.settings.order != Order::Full
    }

    fn noise_on_weights(&self) -> bool {
        true
    }

    fn again(&self) -> Result<Self, PlanError> {
        self.settings.plan(&self.outline.problem, self.outline.budget)
    }

    fn assumptions(&self) -> Vec<Assumption> {
        let theorem = "sensitivity of least squares (docs/algorithms/least-squares.md)";
        let mut list = Assumption::of_bounded_rows(REPLACED, theorem);
        list.extend([Assumption::new(
            "the step times the squared norm bound stays below 2; steps are fixed in advance",
            "plan",
            theorem,
        )]);
        if self.settings.order == Order::WithReplacement {
            list.push(Assumption::new(
                "rows are drawn uniformly and independently, and nobody learns which",
                "run",
                theorem,
            ));
        }
        list
    }
}
