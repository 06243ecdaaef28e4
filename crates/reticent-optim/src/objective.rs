//! Objective perturbation: one random linear term, one exact answer.
//!
//! Kifer, Smith and Thakurta, "Private convex empirical risk minimization" (COLT 2012), with the
//! approximate minimiser of Iyengar and others (2019) over a constraint set; constants corrected
//! and sharpened ([`mod@noise`]).
//!
//! # Problem
//!
//! Minimise `(1/n) Σ ℓ(w; xᵢ, yᵢ) + (μ/2)‖w‖²` over a closed convex set `C`, for a convex loss with
//! Lipschitz gradient that sees `w` only through `⟨w, x⟩` (softmax: through one product for each
//! class). With `Λ = n(μ + ν)`,
//!
//! ```text
//! b ~ N(0, σ₁² I),    θ₁ = argmin_C  Σ ℓ(w; xᵢ, yᵢ) + (Λ/2)‖w‖² + ⟨b, w⟩
//! θ₂ with a proof that ‖θ₂ − θ₁‖ ≤ ρ,    release  Proj_C(θ₂ + H),   H ~ N(0, σ₂² I)
//! ```
//!
//! # Theorem (privacy)
//!
//! `θ₁` has the profile of [`reticent_privacy::objective`], where it is derived: the curvature term
//! `ε_det` and the linear term `a = L/σ₁`. Given `θ₁`, tables that are neighbours put `θ₂` into one
//! ball of radius `ρ`, so that adding `H` is a Gaussian release of sensitivity `2ρ`; the release is
//! a function of the pair. ∎
//!
//! # What is not exact, and who pays
//!
//! - *The draw.* Each coordinate of `b` is `σ₁` times the nearest multiple of `2^-28` to an ideal
//!   normal number, so the drawn `b̂` is within `r = σ₁(√d 2^-29 + …)` of an ideal `b`, always. The
//!   minimiser moves by at most `r/Λ` with it: the minimiser of a `Λ`-strongly convex function is
//!   `1/Λ`-Lipschitz in its linear term. The released point is therefore within `ρ + r/Λ` of the
//!   *ideal* minimiser, and it is that distance which the output noise covers. No bit pattern of
//!   `b̂` matters, and `b̂` needs no lattice: its error is treated like the solver's.
//! - *The solver.* Whatever it does, the certificate decides ([`certificate`]), rounding of the
//!   gradient included. It is deterministic, `b` is drawn once, and nothing is tried again.
//! - *The output noise* is exact on a grid (`step/perturb.rs`), as for every release.
//!
//! A run that could not certify would release nothing, and that would itself depend on the rows. It
//! cannot happen: the fallback of the [`solver`] has a proven rate and a public number of steps,
//! and `ρ` stays above what rounding allows.
//!
//! # Intervals
//!
//! On request a second release follows, of the curvature at the released weights ([`curvature`]):
//! what standard errors of the coefficients are made of. Its event is composed with the first. Or
//! the whole runs once on each of several disjoint [`blocks`], whose spread is what they are made
//! of.
//!
//! # Ridge
//!
//! `ν` is chosen without data ([`ridge`]). A ridge that the caller asks for is a floor, and little
//! or nothing is added to a large one: the variant for strongly convex objectives.
//!
//! # Risk
//!
//! With `W` the radius of `C` (or the guess of `‖w*‖`) and `G` its Gaussian width, the expected
//! excess of the population risk is at most `min(σ₁G/n, dσ₁²/(2(μ+ν)n²)) + (ν/2)W² + 2L²/((μ+ν)n) +
//! Lρ + min(L√(2σ₂G), Lσ₂√d)`.

pub mod blocks;
pub mod certificate;
pub mod curvature;
pub mod noise;
pub mod ridge;
pub mod solver;

use reticent_data::Oracle;
use reticent_noise::fast::fill_standard_gaussian;
use reticent_noise::{Purpose, Source};
use reticent_privacy::{Budget, ObjectiveClass, Relation};
use reticent_problem::{Problem, Regularity};
use serde::{Deserialize, Serialize};

use crate::algorithm::REPLACED;
use crate::setting::{CALIBRATION, Checked, DISTANCE, RIDGE, Setting};
use crate::step::perturb::{self, Noise};
use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Release, RunError, UnitSupport, WeightSupport,
};
use blocks::{BlocksPlan, INTERVAL_METHOD, IntervalMethod};
use certificate::CertificateInputs;
use curvature::{CURVATURE_SHARE, CurvaturePlan, INTERVALS};

/// The name in flags, files and messages.
pub const NAME: &str = "objective";

const SETTINGS: &[Setting] = &[
    CALIBRATION.limited("paper: one output, epsilon at most 10, delta at most 0.5"),
    RIDGE.by_default("0; what the noise needs is added"),
    DISTANCE.by_default("the set's radius, or 4 sqrt(d)/B, or Y sqrt(d)/(2B)"),
    INTERVALS,
    CURVATURE_SHARE,
    INTERVAL_METHOD,
];

/// Settings. Omitted ones are chosen without looking at data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ObjectivePerturbation {
    /// Paper or tight.
    pub calibration: Calibration,
    /// `W`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<f64>,
    /// `ν`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_ridge: Option<f64>,
    /// `ρ`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// The confidence level of intervals in percent; none for no standard errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intervals: Option<f64>,
    /// The share of the budget that standard errors take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curvature_share: Option<f64>,
    /// How standard errors are found; none for the curvature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_method: Option<IntervalMethod>,
}

/// Everything that will happen, before anything is read. The predicted excess is that of the
/// population risk, and holds if `distance` bounds the best weights' norm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectivePlan {
    /// The fields shared by all plans.
    #[serde(flatten)]
    pub outline: Outline,
    /// The requested settings.
    pub settings: ObjectivePerturbation,
    /// The constants that follow.
    pub regularity: Regularity,
    /// The class of the loss in the theorem.
    pub class: ObjectiveClass,
    /// `ν`.
    pub extra_ridge: f64,
    /// `ε_det`.
    pub epsilon_det: f64,
    /// `σ₁`, of the linear term of the sum.
    pub sigma: f64,
    /// `ρ`.
    pub tolerance: f64,
    /// `2(ρ + r/Λ)`.
    pub sensitivity: f64,
    /// The noise added to the minimiser.
    pub noise: Noise,
    /// The curvature release for standard errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curvature: Option<CurvaturePlan>,
    /// The blocks that are fitted one by one for standard errors. The constants above are then
    /// those of a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlocksPlan>,
}

impl ObjectivePlan {
    /// `μ + ν`.
    fn modulus(&self) -> f64 {
        self.outline.problem.ridge + self.extra_ridge
    }

    /// The perturbed minimiser on the records of an oracle, with its output noise. The problem is
    /// that of the whole table or of a block.
    fn minimiser(
        &self,
        problem: &Problem,
        oracle: &dyn Oracle,
        source: &Source,
    ) -> Result<Vec<f64>, RunError> {
        let mut linear = vec![0.0; problem.dimension()];
        if self.sigma > 0.0 {
            fill_standard_gaussian(&mut linear, &mut source.stream(Purpose::Noise));
            for b in &mut linear {
                *b *= self.sigma;
            }
        }
        let shape = CertificateInputs::of(problem, &self.regularity, self.modulus());
        let shape = match self.blocks {
            Some(_) => shape.of_a_list(problem, &self.regularity),
            None => shape,
        };
        let minimiser = solver::minimise(problem, oracle, &shape, &linear, self.tolerance)?;
        let epsilon = self.outline.budget.epsilon.get();
        let mut weights =
            perturb::release(minimiser, self.noise, self.sensitivity, epsilon, source)?;
        problem.domain.project(&mut weights); // post-processing
        Ok(weights)
    }
}

impl Algorithm for ObjectivePerturbation {
    const INFO: AlgorithmInfo = AlgorithmInfo {
        name: NAME,
        summary: "one random linear term in the objective, minimised to a certified distance",
        paper: "Kifer, Smith, Thakurta: Private convex empirical risk minimization, COLT 2012; Iyengar and others: Towards practical differentially private convex optimization, S&P 2019",
        assumptions: "generalised linear model with a smooth convex loss, bounded rows, replace-one or zero-out adjacency, delta > 0",
        guarantee: "(epsilon, delta)-DP",
        settings: SETTINGS,
        units: UnitSupport::Carried,
        weights: WeightSupport::Carried,
    };

    type Plan = ObjectivePlan;

    fn read(settings: Checked<'_>) -> Result<Self, PlanError> {
        let (calibration, distance) = (settings.calibration(), settings.number(&DISTANCE));
        let intervals = settings.number(&INTERVALS);
        let curvature_share = settings.number(&CURVATURE_SHARE);
        let interval_method = settings.choice(&INTERVAL_METHOD);
        Ok(Self {
            calibration,
            distance,
            intervals,
            curvature_share,
            interval_method,
            ..Self::default()
        })
    }

    fn plan(&self, problem: &Problem, budget: Budget) -> Result<ObjectivePlan, PlanError> {
        match self.plan_blocks(problem, budget)? {
            Some(plan) => Ok(plan),
            None => self.plan_one(problem, budget, false),
        }
    }

    fn run(
        plan: &ObjectivePlan,
        oracle: &dyn Oracle,
        source: &Source,
        progress: &dyn Progress,
    ) -> Result<Release, RunError> {
        let Outline { problem, event, .. } = &plan.outline;
        oracle.check(problem)?;
        // How many steps the solver takes depends on the rows: progress hears that it began, and
        // that it ended.
        if progress.step(0, 1).is_break() {
            return Err(RunError::Stopped { done: 0, total: 1 });
        }
        let (weights, blocks) = if let Some(blocks) = plan.blocks {
            let all = blocks::run(plan, blocks, oracle, source)?;
            (blocks.mean(&all), Some(all))
        } else {
            (plan.minimiser(problem, oracle, source)?, None)
        };
        let _ = progress.step(1, 1);
        let mut release = Release { blocks, ..Release::new(weights, event) };
        if let Some(curvature) = &plan.curvature {
            let at = &release.weights;
            release.curvature = Some(curvature.release(problem, at, oracle, source)?);
        }
        Ok(release)
    }
}

impl ObjectivePerturbation {
    /// What a caller should know of the budget and the ridge of a plan.
    fn warnings(
        &self,
        problem: &Problem,
        budget: Budget,
        in_block: bool,
        modulus: f64,
    ) -> Vec<String> {
        let mut warnings = Vec::new();
        let records = problem.rows * if in_block { blocks::BLOCKS } else { 1 };
        if budget.delta.get() > 1.0 / records as f64 {
            warnings.push("delta above 1/n protects no single record".to_owned());
        }
        if problem.ridge > 0.0 && modulus > problem.ridge && self.extra_ridge.is_none() {
            warnings.push(format!(
                "the ridge is raised from {:.3e} to {modulus:.3e}, where the expected error is least",
                problem.ridge
            ));
        }
        warnings
    }

    /// The plan of one run: on the whole table, or on a block of it.
    fn plan_one(
        &self,
        problem: &Problem,
        budget: Budget,
        in_block: bool,
    ) -> Result<ObjectivePlan, PlanError> {
        Self::INFO.admit(problem, budget)?;
        problem.check()?;
        let k = constants(problem)?;
        check(self, problem, budget)?;
        let wanted_curvature =
            if in_block { None } else { self.wanted(problem, &k, budget.adjacency)? };
        let case = noise::Case::of(problem, &k, budget.adjacency).releasing(wanted_curvature);
        let size = ridge::Size::of(problem, self.distance);
        let epsilon = match budget.epsilon.get() {
            infinite if infinite.is_infinite() => infinite,
            _ => noise::promised(budget, problem.dimension()).0,
        };
        // The length on which weights live, and how close to the minimiser is wanted.
        let lengths = |modulus: f64| {
            let scale = size.distance.min(k.lipschitz / modulus);
            (scale, self.tolerance.unwrap_or(1e-8 * scale))
        };
        let shape_of = |modulus: f64| {
            let shape = CertificateInputs::of(problem, &k, modulus);
            let shape = if in_block { shape.of_a_list(problem, &k) } else { shape };
            if self.intervals.is_some() { shape.knowing_value(&k) } else { shape }
        };
        let output = |modulus: f64, sigma: f64| {
            let (scale, wanted) = lengths(modulus);
            noise::output_sigma(&case, &shape_of(modulus), wanted, scale, sigma)
        };
        let delta = budget.delta.get();
        let extra_ridge = if let Some(extra) = self.extra_ridge {
            extra
        } else if in_block {
            self.ridge_of_blocks(&case, problem, (epsilon, delta), output)?
        } else if wanted_curvature.is_some() && epsilon.is_finite() {
            let least = 2.0 * case.least_extra(problem.ridge, curvature::CHANGE_SHARE * epsilon);
            curvature::quiet_ridge(&case, problem, least, (epsilon, delta), output)?
        } else {
            ridge::choose(&case, &size, problem.ridge, epsilon, delta, self.calibration, output)?
        };
        let modulus = problem.ridge + extra_ridge;
        let epsilon_det = case.epsilon_det(modulus);
        if modulus <= 0.0 || epsilon_det >= epsilon {
            let needed = 2.0 * case.least_extra(problem.ridge, 0.5 * epsilon);
            return Err(PlanError::NotApplicable {
                algorithm: NAME,
                why: format!(
                    "needs more ridge: the curvature term alone costs epsilon_det = {epsilon_det:.4} of epsilon = {epsilon}; give `extra_ridge` of at least {needed:.3e}"
                ),
            });
        }
        let mut warnings = self.warnings(problem, budget, in_block, modulus);
        let shape = shape_of(modulus);
        let (scale, mut wanted) = lengths(modulus);
        let noisy = |tolerance: f64| {
            noise::plan(&case, &shape, modulus, tolerance, scale, budget, self.calibration)
        };
        if self.calibration == Calibration::Paper && self.tolerance.is_none() && epsilon.is_finite()
        {
            let gap = noise::paper_gap(
                k.lipschitz,
                size.distance,
                size.width,
                epsilon,
                budget.delta.get(),
                problem.rows as f64,
            );
            wanted = (2.0 * gap / modulus).sqrt();
        }
        let planned = noisy(wanted)?;
        let excess = ridge::bound(&case, &size, problem, extra_ridge, &planned);
        let n = problem.rows as f64;
        if size.excess(planned.sigma, n * modulus, 0.0, planned.output()) > n * k.value_at_zero {
            warnings.push("noise dominates: the trained model is not expected to beat w = 0; increase n or epsilon".to_owned());
        }
        let outline = Outline {
            problem: problem.clone(),
            budget,
            event: planned.event,
            steps: 1,
            noise_deviation: planned.sigma / n,
            predicted_excess: Some(excess),
            warnings,
        };
        Ok(ObjectivePlan {
            outline,
            settings: *self,
            regularity: k,
            class: case.class,
            extra_ridge,
            epsilon_det,
            sigma: planned.sigma,
            tolerance: planned.tolerance,
            sensitivity: planned.sensitivity,
            noise: planned.noise,
            curvature: planned.curvature,
            blocks: None,
        })
    }
}

impl Planned for ObjectivePlan {
    fn outline(&self) -> &Outline {
        &self.outline
    }

    fn calibration(&self) -> Calibration {
        self.settings.calibration
    }

    fn again(&self) -> Result<Self, PlanError> {
        self.settings.plan(&self.outline.problem, self.outline.budget)
    }

    fn ridge(&self) -> f64 {
        self.modulus()
    }

    fn assumptions(&self) -> Vec<Assumption> {
        let theorem = "profile of objective perturbation (docs/algorithms/objective.md)";
        let neighbours = match self.outline.budget.adjacency.relation() {
            Relation::Replace => REPLACED,
            Relation::AddRemove | Relation::ZeroOut => {
                "tables differ by one row that counts or does not; n is public"
            }
        };
        let mut list = Assumption::of_bounded_rows(neighbours, theorem);
        list.extend([
            Assumption::new(
                "the loss is convex with Lipschitz gradient and sees the weights through the row alone, with the constants of the plan",
                "plan",
                theorem,
            ),
            Assumption::new(
                "the ridge acts on every weight, the intercept too, and was fixed in advance",
                "plan",
                theorem,
            ),
            Assumption::new(
                "the released point is within the planned distance of the minimiser; without that certificate nothing is released",
                "run",
                theorem,
            ),
        ]);
        if self.curvature.is_some() {
            list.push(Assumption::new(
                "a record adds positive semi-definite matrices of bounded norm to the curvature release",
                "run",
                "sensitivity of the curvature release (docs/intervals.md)",
            ));
        }
        if self.blocks.is_some() {
            list.push(Assumption::new(
                "a secret and uniformly random partition puts each record into at most one block",
                "run",
                "disjoint blocks (docs/intervals.md)",
            ));
        }
        if self.outline.problem.domain.is_bounded() {
            list.push(Assumption::new(
                "the minimiser is that over the set, and the release is projected onto it",
                "plan",
                theorem,
            ));
        }
        list
    }
}

/// The constants, or why this problem cannot be served.
fn constants(problem: &Problem) -> Result<Regularity, PlanError> {
    let refuse = |why: &str| Err(PlanError::NotApplicable { algorithm: NAME, why: why.to_owned() });
    if problem.hidden.is_some() {
        return refuse(
            "needs a generalised linear loss, and a network has none; leave `hidden` out or use noisy gradient methods",
        );
    }
    if problem.rows < 2 {
        return refuse("needs at least 2 rows; got 1");
    }
    let k = problem.regularity();
    if k.smoothness.is_none() {
        return Err(PlanError::NotSmooth {
            algorithm: NAME,
            loss: problem.loss.name().to_owned(),
            instead: "a smooth loss (logistic, softmax, huber, hinge or power with q = 2)",
        });
    }
    if !k.lipschitz.is_finite() {
        return Err(PlanError::Unbounded { loss: problem.loss.name() });
    }
    Ok(k)
}

fn check(
    settings: &ObjectivePerturbation,
    problem: &Problem,
    budget: Budget,
) -> Result<(), PlanError> {
    let refuse = |why: String| Err(PlanError::NotApplicable { algorithm: NAME, why });
    if !budget.adjacency.records_are_public() {
        return refuse(
            "has the number of rows in its objective, so it cannot hide it: use zero-out or replace-one adjacency"
                .to_owned(),
        );
    }
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    if epsilon.is_finite() && delta == 0.0 {
        return refuse(
            "has Gaussian noise, which is never pure: give `delta` > 0, or use output-gd"
                .to_owned(),
        );
    }
    for (name, value, least) in [
        ("distance", settings.distance, f64::MIN_POSITIVE),
        ("tolerance", settings.tolerance, f64::MIN_POSITIVE),
        ("extra_ridge", settings.extra_ridge, 0.0),
    ] {
        if let Some(got) = value
            && !(got.is_finite() && got >= least)
        {
            let expected = if least > 0.0 { "a finite number > 0" } else { "a finite number >= 0" };
            return Err(PlanError::OutOfRange { name, expected: expected.to_owned(), got });
        }
    }
    let paper = settings.calibration == Calibration::Paper && epsilon.is_finite();
    if paper && (problem.loss.outputs() > 1 || epsilon > 10.0 || delta > 0.5) {
        return refuse(
            "has a paper calibration for losses with one weight vector, epsilon <= 10 and delta <= 0.5 only: use `tight`"
                .to_owned(),
        );
    }
    Ok(())
}
