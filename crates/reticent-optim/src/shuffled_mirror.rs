//! Shuffled mirror descent: a secret random order, and noise that each row could have added itself.
//!
//! Su, Zhao and Wang, "Differentially private stochastic convex optimization in (non)-Euclidean
//! space revisited", Algorithm 4 (supplement, Theorems 9 and 14), with its errata corrected.
//!
//! # What it does
//!
//! [Truncated mirror descent](crate::truncated_mirror) on rows in a secret uniform order. Each
//! gradient that is not left out gets noise `N(0, σ²I)` of its own before batches of `b` are
//! averaged.
//!
//! # Theorem (privacy)
//!
//! Given what was released before, a row's report is a function of that row and of fresh noise: the
//! run is a sequence of `n` adaptive local randomisers in random order, each `μ₀`-GDP with
//! `μ₀ = 2S_2/σ`, where `S_2 = d^{1/2−1/q}S` bounds the Euclidean norm of what counts, and so
//! `(ε₀, δ₀)`-DP for every `ε₀` with the Gaussian profile's `δ₀`. So the amplification of
//! [`reticent_privacy::shuffle`] applies, a numerical bound in the manner of Feldman, McMillan and
//! Talwar (2021) that covers adaptive randomisers. The constants of their later "stronger" analysis
//! are limited by its erratum and are not used. The paper's `ε₀ = cκ(..)/σ` needs `√κ`, and its
//! `δ₀` a factor `n e^ε`.
//!
//! # What is computed
//!
//! Only the sum of a batch leaves, and `b` independent Gaussians add up to one of variance `bσ²`,
//! so one is drawn. For the reports to be local each gradient is rounded to the grid of that noise
//! *before* it is summed. Sums of grid points are exact as long as they stay below `2^53` cells,
//! which the plan sees to; the rounding is part of `S_2`.
//!
//! # When it helps
//!
//! The same noise without the shuffle is truncated mirror descent with `σ√b` on the sum of a batch.
//! Shuffling is better only if `μ₀ > √b·μ`, which holds for small batches; a plan is made for those
//! only, and the refusal names the break-even.

use reticent_data::{Chosen, Oracle, Question, RobustRule, Sensitive};
use reticent_noise::fast::FastGaussian;
use reticent_noise::{Purpose, Source, batch::permutation};
use reticent_privacy::{Budget, Event, delta_upper, epsilon_upper, gaussian, shuffle};
use reticent_problem::Problem;
use reticent_problem::geometry::dual_exponent;
use serde::{Deserialize, Serialize};

use crate::executor;
use crate::setting::{
    BATCH, CALIBRATION, CLIP, Checked, DEVIATION, NO_RIDGE, P, SMOOTHNESS, Setting,
};
use crate::step::lr_noise::gaussian_square_bound;
use crate::step::noisy_sum::NoisySum;
use crate::step::public;
use crate::truncated_mirror::assumptions;
use crate::truncated_mirror::descent::{Descent, DescentInputs};
use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Release, RunError, UnitSupport, WeightSupport,
};

/// The name in flags, files and messages.
pub const NAME: &str = "shuffled-mirror";

const SETTINGS: &[Setting] = &[
    CALIBRATION,
    NO_RIDGE,
    BATCH
        .by_default("where the bound on the risk is least")
        .limited("below the size from which shuffling does not help"),
    CLIP.by_default("where the bound on the risk is least"),
    P.limited("above 2 use phased or coordinate-mean"),
    SMOOTHNESS,
    DEVIATION,
];

/// Settings. Omitted ones are chosen without looking at data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShuffledMirror {
    /// Paper or tight.
    pub calibration: Calibration,
    /// `b`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
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
pub struct ShuffledMirrorPlan {
    /// The fields shared by all plans.
    #[serde(flatten)]
    pub outline: Outline,
    /// The requested settings.
    pub settings: ShuffledMirror,
    /// The constants that follow.
    pub shape: DescentInputs,
    /// `S`.
    pub truncation: f64,
    /// `b`.
    pub batch: u64,
    /// `γ`.
    pub gamma: f64,
    /// The local guarantee of a row by its own noise.
    pub local: Local,
    /// Bounds how far two reports of one row lie apart, in the Euclidean norm, before rounding to
    /// the grid.
    pub sensitivity: f64,
    /// Standard deviation of the noise on a batch's sum, over `sensitivity`: `√b/μ₀`.
    pub noise_multiplier: f64,
    /// The grid of that noise, to which each gradient is rounded.
    pub grid: f64,
}

/// The local guarantee of a row by its own noise: `μ₀`, and the `(ε₀, δ₀)` into which the shuffle
/// bound splits it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Local {
    /// A report is `μ₀`-GDP for its row.
    pub mu: f64,
    /// `ε₀`.
    pub epsilon: f64,
    /// `δ₀`, the Gaussian profile at `ε₀`.
    pub delta: f64,
}

impl Local {
    /// The largest `μ₀` with which `rows` reports in secret order keep the budget, over splits
    /// `ε₀`.
    ///
    /// The cost of the shuffle at a split does not depend on `μ₀`, so it is computed once for each;
    /// the rest of delta is for local failures, `(1 + e^ε)(1 + 2(n−1)e^{−ε₀})δ₀`.
    ///
    /// # Errors
    ///
    /// The accountant's, for an illegal budget.
    pub fn largest(
        calibration: Calibration,
        epsilon: f64,
        delta: f64,
        rows: u64,
    ) -> Result<Self, PlanError> {
        // Without the shuffle a report is private enough by itself.
        let mut best = Self { mu: gaussian::mu_lower(epsilon, delta)?, epsilon, delta };
        let mut attempt = |split: f64| -> Result<bool, PlanError> {
            let room = match calibration {
                Calibration::Tight => delta - shuffle::shuffle_delta(epsilon, split, rows)?,
                // Half of delta for the closed form, half for failures.
                Calibration::Paper => {
                    let holds = shuffle::shuffle_epsilon_closed(0.5 * delta, split, rows);
                    if holds.is_ok_and(|e| e <= epsilon) { 0.5 * delta } else { 0.0 }
                }
            };
            let factor = (1.0 + epsilon.exp()) * shuffle::shuffle_failure_factor(split, rows);
            let failure = room * (1.0 - 1e-9) / factor;
            if failure <= 0.0 {
                return Ok(false);
            }
            let mu = gaussian::mu_lower(split, failure)?;
            let better = mu > best.mu;
            if better {
                best = Self { mu, epsilon: split, delta: failure };
            }
            Ok(better)
        };
        let mut at = 0.0;
        for split in public::log_grid(0.05, 12.0, 40) {
            if attempt(split)? {
                at = split;
            }
        }
        if at > 0.0 {
            let ratio = 240_f64.powf(1.0 / 39.0);
            for split in public::log_grid(at / ratio, at * ratio, 21) {
                attempt(split)?;
            }
        }
        Ok(best)
    }
}

/// `S`, `b` and `γ`, and the risk bound that they give.
struct ShuffledChoice {
    bound: f64,
    truncation: f64,
    batch: u64,
    gamma: f64,
}

impl ShuffledMirror {
    /// Where the risk bound is least, for batches of at most `most` rows; `unit` is the squared
    /// noise of a batch's mean for a truncation of one.
    fn choose(
        &self,
        shape: &DescentInputs,
        rows: u64,
        most: u64,
        unit: impl Fn(u64) -> f64,
    ) -> ShuffledChoice {
        let batches = self.batch.map_or_else(|| public::step_grid(most, 30), |b| vec![b]);
        let truncations: Vec<f64> =
            self.clip.map_or_else(|| shape.truncations().collect(), |s| vec![s]);
        let least = shape.smoothness * shape.diameter;
        let first = (truncations[0], batches[0]);
        let mut best = ShuffledChoice {
            bound: f64::INFINITY,
            truncation: first.0,
            batch: first.1,
            gamma: 0.0,
        };
        for &truncation in &truncations {
            for &batch in &batches {
                let steps = (rows / batch) as f64;
                let noise_square = unit(batch) * truncation * truncation;
                let gamma = shape.gamma(steps, noise_square);
                let lambda = shape.lambda(truncation).max(least);
                let bound = shape.bound(lambda, steps, gamma, noise_square);
                if bound < best.bound || best.gamma == 0.0 {
                    best = ShuffledChoice { bound, truncation, batch, gamma };
                }
            }
        }
        best
    }
}

impl Algorithm for ShuffledMirror {
    const INFO: AlgorithmInfo = AlgorithmInfo {
        name: NAME,
        summary: "truncated mirror descent in a secret order with noise on every row; helps for small batches only",
        paper: "Su, Zhao, Wang: DP stochastic convex optimization in (non)-Euclidean space revisited, Algorithm 4",
        assumptions: "a bounded set of weights; any rows; a smooth expected loss for the risk bound",
        guarantee: "(epsilon, delta), delta > 0, replace-one",
        settings: SETTINGS,
        units: UnitSupport::Carried,
        weights: WeightSupport::Carried,
    };

    type Plan = ShuffledMirrorPlan;

    fn read(settings: Checked<'_>) -> Result<Self, PlanError> {
        Ok(Self {
            calibration: settings.calibration(),
            batch: settings.whole(&BATCH),
            clip: settings.number(&CLIP),
            p: settings.number(&P),
            smoothness: settings.number(&SMOOTHNESS),
            deviation: settings.number(&DEVIATION),
        })
    }

    fn plan(&self, problem: &Problem, budget: Budget) -> Result<ShuffledMirrorPlan, PlanError> {
        Self::INFO.admit(problem, budget)?;
        problem.check_without_bounds()?;
        public::check(NAME, problem, budget)?;
        if !budget.adjacency.replaces() {
            let got = budget.adjacency.to_string();
            return Err(PlanError::Adjacency { algorithm: NAME, got });
        }
        public::positive("clip", self.clip)?;
        let n = problem.rows as u64;
        let range = |ok: bool, name, expected: String, got: f64| {
            if ok { Ok(()) } else { Err(PlanError::OutOfRange { name, expected, got }) }
        };
        if let Some(batch) = self.batch {
            let expected = format!("a whole number from 1 to {n}");
            range((1..=n).contains(&batch), "batch", expected, batch as f64)?;
        }
        let shape = DescentInputs::new(NAME, problem, self.p, self.smoothness, self.deviation)?;
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        let mu = gaussian::mu_lower(epsilon, delta)?;
        let local = Local::largest(self.calibration, epsilon, delta, n)?;
        let local_mu = local.mu;
        let break_even = (local_mu / mu).powi(2);
        let helps = |batch: u64| (batch as f64) < break_even;
        if !helps(self.batch.unwrap_or(1)) {
            return Err(PlanError::NotApplicable {
                algorithm: NAME,
                why: format!(
                    "helps only for batches below {break_even:.1} rows here: from there on truncated-mirror adds less noise; use that, or a smaller `batch`"
                ),
            });
        }
        let (dimension, q) = (problem.dimension(), dual_exponent(shape.p));
        let d = dimension as f64;
        let stretch = d.powf(0.5 - 1.0 / q) * (1.0 + 1e-14);
        let unit = |batch: u64| {
            let sigma = 2.0 * stretch / local_mu / (batch as f64).sqrt();
            sigma * sigma * gaussian_square_bound(dimension, q)
        };
        let most = (break_even.ceil() as u64 - 1).clamp(1, n);
        let least = shape.smoothness * shape.diameter;
        let ShuffledChoice { bound, truncation, batch, gamma } = self.choose(&shape, n, most, unit);
        let steps = n / batch;
        let sensitivity = 2.0 * stretch * truncation;
        let noise_multiplier = (batch as f64).sqrt() / local_mu;
        let law = FastGaussian::new(sensitivity, noise_multiplier, dimension)?;
        // Sums of grid points are exact below 2^53 cells.
        let largest = batch as f64 * (truncation / law.grid() + 1.0);
        let room = "small enough that a batch's sum is exact on the grid of the noise".to_owned();
        range(largest < (1_u64 << 53) as f64, "batch", room, batch as f64)?;
        let event = Event::Shuffled {
            epsilon0: local.epsilon,
            delta0: local.delta,
            rows: n,
            adjacency: budget.adjacency,
        };
        if delta_upper(&event, epsilon)? > delta || epsilon_upper(&event, delta)? > epsilon {
            let expected = "one that the shuffle bound can reach with this delta".to_owned();
            return Err(PlanError::OutOfRange { name: "epsilon", expected, got: epsilon });
        }
        let mut warnings: Vec<String> = shape.guess().into_iter().collect();
        let proven = shape.lambda(truncation) >= least * (1.0 - 1e-12);
        if shape.declared && !proven {
            warnings.push(format!(
                "clip = {truncation} is below 2 beta M = {}: private all the same, but no risk is predicted",
                2.0 * least
            ));
        }
        let outline = Outline {
            problem: problem.clone(),
            budget,
            event,
            steps,
            noise_deviation: law.sigma() / batch as f64,
            predicted_excess: (shape.declared && proven).then_some(bound),
            warnings,
        };
        Ok(ShuffledMirrorPlan {
            outline,
            settings: *self,
            shape,
            truncation,
            batch,
            gamma,
            local,
            sensitivity,
            noise_multiplier,
            grid: law.grid(),
        })
    }

    fn run(
        plan: &ShuffledMirrorPlan,
        oracle: &dyn Oracle,
        source: &Source,
        progress: &dyn Progress,
    ) -> Result<Release, RunError> {
        let Outline { problem, steps, event, .. } = &plan.outline;
        oracle.check(problem)?;
        let dimension = problem.dimension();
        let mut noise = NoisySum::new(plan.sensitivity, plan.noise_multiplier, dimension, source)?;
        let order = permutation(problem.rows, &mut source.stream(Purpose::Shuffling));
        let q = dual_exponent(plan.shape.p);
        let rule = RobustRule::Truncate { q, threshold: plan.truncation, grid: Some(plan.grid) };
        let batch = plan.batch as usize;
        let (map, gamma) = (plan.shape.map, plan.gamma);
        let mut descent = Descent::new(problem, map);
        executor::repeat(oracle, progress, 1, 0, *steps, || {
            let first = descent.steps() as usize * batch;
            let chosen = Chosen::Listed(&order[first..first + batch]);
            let mut sum = Sensitive::new(vec![0.0; dimension]);
            oracle.ask(problem, &Question::Robust { chosen, rule, at: descent.at() }, &mut sum)?;
            descent.step(problem, map, gamma, &noise.release(sum), batch as f64);
            Ok(descent.steps())
        })?;
        Ok(Release::new(descent.average(), event))
    }
}

impl Planned for ShuffledMirrorPlan {
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
        let theorem = "shuffled mirror descent (docs/algorithms/shuffled-mirror.md)";
        let mut list = assumptions(theorem);
        list.push(Assumption::new("the order of rows is uniform and stays secret", "run", theorem));
        list
    }
}
