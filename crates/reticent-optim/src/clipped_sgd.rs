//! DP-SGD: noisy steps on sampled rows whose gradients are clipped.
//!
//! Das, Kale, Xu, Zhang and Sanghavi, "Beyond uniform Lipschitz condition in differentially private
//! optimization" (ICML 2023), Algorithm 1, with its errata corrected.
//!
//! # Algorithm
//!
//! From a public `w_0`, or one that was paid for (`clipped_sgd/start.rs`), for `t = 0, 1, …`: each
//! row joins the batch on its own with probability `q = b/n`; its gradient is cut to the clip norm
//! `τ`; the sum gets Gaussian noise of standard deviation `τσ` in each coordinate and is divided by
//! the public `b`, never by the batch's own size, which is private;
//!
//! ```text
//! g_t = (Σ clip_τ(∇ℓ_i(w_t)) + τσ z_t)/b,      w_{t+1} = Proj_W(w_t − η(g_t + μ w_t)).
//! ```
//!
//! An empty batch takes a step of noise. `η` is fixed, or adaptive
//! ([`AdaptiveStep`]). Rows may be taken with their features standardized and their mean direction
//! shortened (`preconditioner.rs`). The ridge depends on no row and stays outside clip and noise.
//! Out comes the average, the later half's average, the last or a random iterate ([`Output`]):
//! functions of the same noisy sums.
//!
//! # Theorem (privacy)
//!
//! For any loss, rows and model, `T'` steps are the event `PoissonGaussian(q, σ, T')`.
//!
//! *Proof.* Given the past, a step is a function of one noisy sum. A clipped gradient has norm at
//! most `τ`, also if it is not finite (it counts as zero), so a row that joins moves the sum by at
//! most `τ`, and a replaced one by at most `2τ`: the Poisson-sampled Gaussian mechanism in clip
//! units. `b` and `q` come from the declared `n` alone. ∎
//!
//! Rounding is paid for by `τ(1 + 1e-7)` in place of `τ` ([`clip_rounding`]); the noise is exact.
//!
//! # Clip norm
//!
//! 1 unless another public constant is given; near the smallest per-row Lipschitz constant by the
//! exponential mechanism ([`selection`], its event comes first); a multiple of the 70th-percentile
//! gradient norm, found by the same mechanism; or by the theorem for declared moments ([`tails`]).
//!
//! # Noise
//!
//! *Tight*: the least `σ` for which the accountant's bound keeps the budget. *Paper*: Theorem 3.4
//! prints `σ = q sqrt(ν T ln(1/δ))/ε` with "an absolute constant `ν`", and no constant fits
//! sampled batches: 1.8 is needed for 6000 steps at `q = 1/120`, `ε = 2`, and 21.5 for 120. For
//! full batches `ν = 2 + ε/ln(1/δ)` is proven (add/remove; four times as much to replace a row):
//! `ρ = ε²/(2ν ln(1/δ))` gives `ρ + 2 sqrt(ρ ln(1/δ)) ≤ ε`. That is the only paper calibration
//! here.
//!
//! # Risk
//!
//! For convex losses `E f(w̄) − min f ≤ G_max D₀ sqrt(V/T)/α + (G_max/(τα) − 1)Δ` ([`rates`]),
//! where `Δ = 0` if one model fits every row. The second term vanishes for `τ ≥ G_max`; below, it
//! is not known without data, and no excess is predicted.

pub(crate) mod adaptive_step;
pub mod auto;
pub(crate) mod preconditioner;
pub mod rates;
mod rule;
mod run;
pub mod selection;
mod settings;
mod shrinkage;
mod start;
pub(crate) mod straightening;
pub mod tails;

use reticent_data::{Oracle, clip_rounding, shortened_rounding};
use reticent_noise::Source;
use reticent_noise::fast::FastGaussian;
use reticent_privacy::calibrate::noise_multiplier_for;
use reticent_privacy::{Budget, Event};
use reticent_problem::Problem;
use serde::{Deserialize, Serialize};

use crate::executor;
use crate::setting::{BATCH, Checked, DISTANCE, STEP_SIZE, STEPS, Words as _};
use crate::tuning;
use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Release, RunError, UnitSupport, WeightSupport,
};
pub use adaptive_step::AdaptiveStep;
use auto::Charge;
use rates::{Gap, RunSize};
pub use run::State;
use selection::ClipSelection;
pub use settings::{
    ADAPTIVE_STEP, CLIP_HIGH, CLIP_LOW, CLIP_QUANTILE_MULTIPLE, CLIP_SELECTION, Clip,
    GRADIENT_MOMENT, GROWTH_RADIUS, MOMENT_FAILURE, MOMENT_ORDER, OUTPUT, Output, PRECONDITION,
    SHRINKAGE, STRAIGHTENING,
};
pub use straightening::Trace;

/// The name in flags, files and messages.
pub const NAME: &str = "clipped-sgd";

/// Settings. Omitted ones are chosen without looking at data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClippedSgd {
    /// Paper or tight.
    pub calibration: Calibration,
    /// How `τ` is found.
    pub clip: Clip,
    /// `b`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// `T`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// `η`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// Whether the step size is adaptive.
    #[serde(alias = "adapt_eta", skip_serializing_if = "std::ops::Not::not")]
    pub adaptive_step: bool,
    /// `k`.
    #[serde(alias = "keep_common", skip_serializing_if = "Option::is_none")]
    pub precondition: Option<f64>,
    /// `κ`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrinkage: Option<f64>,
    /// `κ` of curves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub straightening: Option<f64>,
    /// `D₀`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<f64>,
    /// Which iterate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
}

/// Everything that will happen, before anything is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClippedSgdPlan {
    /// The fields shared by all plans. Where the clip norm is chosen privately, `noise_deviation`
    /// is for the smallest one.
    #[serde(flatten)]
    pub outline: Outline,
    /// The requested settings.
    pub settings: ClippedSgd,
    /// `b`: what noisy sums are divided by.
    pub batch: u64,
    /// `q = b/n`.
    pub sample_rate: f64,
    /// `σ`; 0 if nothing is promised.
    pub noise_multiplier: f64,
    /// The `ν` of the paper's Theorem 3.4 that this noise stands for; none if nothing is promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nu_effective: Option<f64>,
    /// `τ`; none if it is chosen privately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// The grid of the private choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<ClipSelection>,
    /// `η`, or where it begins; none if it is `stride/τ` for a `τ` chosen privately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// `ητ`: how far a row's gradient can move the weights, times `b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<f64>,
    /// Which iterate.
    pub output: Output,
    /// Where clip norm and step length come from.
    pub theorem: String,
    /// Bounds the expected excess if one model fits every row; none without a bound on the
    /// gradients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excess_if_fitted: Option<f64>,
    /// Bounds `E‖∇f‖²` of a network under Theorem N.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub squared_gradient: Option<f64>,
}

impl ClippedSgd {
    /// By how much more than the clip norm a row may move what noise is added to.
    fn rounding(&self, problem: &Problem, rate: f64) -> f64 {
        self.precondition.map_or_else(
            || clip_rounding(problem, rate),
            |keep| shortened_rounding(problem, rate, keep),
        )
    }

    /// `D₀`.
    fn distance_in(&self, problem: &Problem) -> f64 {
        let radius = problem.domain.radius();
        self.distance.unwrap_or(if radius.is_finite() { radius } else { tuning::DISTANCE })
    }

    /// `κ`: the noise energy that the theorem behind the rule asks for.
    fn kappa(&self, problem: &Problem) -> f64 {
        match self.clip {
            _ if problem.hidden.is_some() => 1.0,
            Clip::Moments { .. } => 1.0,
            _ => 1.0 / 3.0,
        }
    }

    /// Where an adaptive step size begins, for noise of this deviation in an averaged gradient at
    /// the clip norm `unit`, and rows whose features are standardized or not.
    fn begun_eta(
        &self,
        problem: &Problem,
        deviation: f64,
        unit: f64,
        steps: u64,
        standardized: bool,
    ) -> Option<f64> {
        let size = preconditioner::typical_norm(problem, self.precondition);
        let (typical, deviation) = match self.clip {
            _ if !self.adaptive_step => return None,
            Clip::Selected { .. } => return None,
            Clip::Quantile { multiple, .. } => {
                (adaptive_step::typical_per_clip(multiple, size, standardized), deviation / unit)
            }
            _ => (adaptive_step::typical_weights_norm(problem, size), deviation),
        };
        adaptive_step::first_eta(problem, size, typical, deviation, steps)
    }

    fn choose_batch(&self, charge: &Charge, kappa: f64) -> Result<u64, PlanError> {
        Ok(match self.batch {
            Some(batch) => batch,
            None if self.calibration == Calibration::Paper => charge.rows,
            None if charge.budget.epsilon.is_infinite() => charge.rows.min(256),
            None => charge.batch(kappa)?,
        })
    }

    fn choose_steps(
        &self,
        charge: &Charge,
        batch: u64,
        kappa: f64,
        output: Output,
    ) -> Result<u64, PlanError> {
        let (epsilon, delta) = (charge.budget.epsilon.get(), charge.budget.delta.get());
        let most = charge.most_steps(batch);
        if let Some(steps) = self.steps {
            return Ok(steps);
        }
        if epsilon.is_infinite() {
            return Ok(most);
        }
        if self.calibration == Calibration::Paper {
            let nu = paper_nu(charge.budget);
            let phi = rates::phi(nu, charge.dimension, delta, charge.rows as f64, epsilon);
            return Ok((rates::thm54_steps(phi) as u64).clamp(1, most));
        }
        let steps = charge.steps_in_time(batch, kappa)?;
        if steps == 0 {
            let one = noise_multiplier_for(epsilon, delta, |s| charge.event(batch, s, 1))?;
            let needed = (charge.dimension / kappa).sqrt() * one;
            return Err(PlanError::NotApplicable {
                algorithm: NAME,
                why: format!(
                    "cannot take a step: batch {batch} is too small for {} parameters: one step already exceeds epsilon; need roughly batch >= {needed:.0}, or fewer parameters, or fix `steps`",
                    charge.dimension
                ),
            });
        }
        // K.1 asks for a noise energy of at least 1: one noisy step more than the budget allows
        // with energy 1 has that.
        let sharp = matches!(self.clip, Clip::Moments { growth_radius: Some(_), .. });
        Ok(if sharp && steps < most {
            steps + 1 + steps - output.noisy_steps(steps)
        } else {
            steps
        })
    }

    /// The noise multiplier of the moments over that of all steps, if they are released.
    fn moments_ratio(&self, problem: &Problem, budget: Budget) -> Option<f64> {
        self.precondition.map(|_| preconditioner::ratio(problem, budget.adjacency))
    }

    /// `σ`, with a hair more than the accountant's least.
    fn choose_noise(&self, charge: &Charge, batch: u64, noisy: u64) -> Result<f64, PlanError> {
        let (epsilon, delta) = (charge.budget.epsilon.get(), charge.budget.delta.get());
        if self.calibration == Calibration::Tight {
            return Ok(charge.noise_multiplier(batch, noisy)?);
        }
        let why = if delta == 0.0 {
            "needs delta > 0: Gaussian noise cannot give delta = 0"
        } else if batch != charge.rows {
            "has a proven paper calibration for full batches only: leave `batch` out, or take the tight calibration"
        } else if charge.selection.is_some() {
            "calibrates a private choice of the clip norm tightly only: give `clip`, or take the tight calibration"
        } else {
            let nu = paper_nu(charge.budget);
            return Ok(rates::paper_multiplier(nu, 1.0, noisy as f64, epsilon, delta));
        };
        Err(PlanError::NotApplicable { algorithm: NAME, why: why.to_owned() })
    }
}

/// `ν` of full batches: four times as much where a row moves the sum twice as far.
fn paper_nu(budget: Budget) -> f64 {
    let factor = budget.adjacency.sum_sensitivity().powi(2);
    factor * rates::nu_full_batch(budget.epsilon.get(), budget.delta.get())
}

/// Warnings about the budget and the clip selection, before anything is chosen.
fn warnings(problem: &Problem, budget: Budget, selection: Option<&ClipSelection>) -> Vec<String> {
    let (epsilon, rows) = (budget.epsilon.get(), problem.rows as f64);
    let mut list = Vec::new();
    if epsilon.is_finite() && budget.delta.get() >= 1.0 / rows {
        list.push("delta of 1/n or more protects no single record".to_owned());
    }
    if epsilon.is_finite() && epsilon > 10.0 {
        list.push(format!(
            "epsilon = {epsilon} lets an attacker's odds grow by a factor of e^epsilon"
        ));
    }
    if let Some(selection) = selection.filter(|selection| selection.is_blind(rows)) {
        let what = if selection.quantile.is_some() {
            "70th-percentile gradient norm"
        } else {
            "private minimum"
        };
        list.push(format!("too few records for a {what} at this epsilon; use a public clip norm"));
    }
    list
}

/// `η` from `ητ`. A step longer than `1/μ` would overshoot zero by the ridge alone.
fn chosen_eta(stride: f64, clip: f64, ridge: f64) -> f64 {
    let longest = if ridge > 0.0 { 1.0 / ridge } else { f64::INFINITY };
    (stride / clip).min(longest)
}

impl Algorithm for ClippedSgd {
    const INFO: AlgorithmInfo = AlgorithmInfo {
        name: NAME,
        summary: "noisy gradient steps on sampled rows with clipped gradients (DP-SGD)",
        paper: "Das, Kale, Xu, Zhang, Sanghavi: Beyond uniform Lipschitz condition in differentially private optimization, ICML 2023, Algorithm 1",
        assumptions: "none for privacy, but for bounded rows and labels where rows are preconditioned; a convex loss or declared moments for the risk bounds; networks too",
        guarantee: "(epsilon, delta)-DP under add-remove, replace-one or zero-out adjacency",
        settings: settings::SETTINGS,
        units: UnitSupport::Carried,
        weights: WeightSupport::Carried,
    };

    type Plan = ClippedSgdPlan;

    fn read(settings: Checked<'_>) -> Result<Self, PlanError> {
        Ok(Self {
            calibration: settings.calibration(),
            clip: Clip::read(settings)?,
            batch: settings.whole(&BATCH),
            steps: settings.whole(&STEPS),
            eta: settings.number(&STEP_SIZE),
            adaptive_step: settings.flag(&ADAPTIVE_STEP).unwrap_or(false),
            precondition: settings.number(&PRECONDITION),
            shrinkage: settings.number(&SHRINKAGE),
            straightening: settings.number(&STRAIGHTENING),
            distance: settings.number(&DISTANCE),
            output: settings.choice(&OUTPUT),
        })
    }

    fn plan(&self, problem: &Problem, budget: Budget) -> Result<ClippedSgdPlan, PlanError> {
        Self::INFO.admit(problem, budget)?;
        problem.check()?;
        self.check(problem)?;
        self.check_common(problem)?;
        self.check_shrinkage(problem)?;
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        let private = !budget.epsilon.is_infinite();
        let selection = self.clip.selection(problem, epsilon)?;
        let mut warnings = warnings(problem, budget, selection.as_ref());
        let charge = Charge {
            budget,
            selection: selection.map(|s| s.epsilon),
            preconditioner: self.moments_ratio(problem, budget),
            dimension: problem.dimension() as f64,
            rows: problem.rows as u64,
        };
        let kappa = self.kappa(problem);
        let batch = self.choose_batch(&charge, kappa)?;
        let output = self.output.unwrap_or(if problem.hidden.is_some() {
            Output::Last
        } else {
            Output::Average
        });
        let steps = self.choose_steps(&charge, batch, kappa, output)?;
        self.check_straightening(problem, output, steps)?;
        if steps == 1 && output != Output::Last {
            warnings
                .push(format!("the {} output of one step is the starting point", output.name()));
        }
        // With one step an average needs no gradient; it is charged for one all the same.
        let noisy = output.noisy_steps(steps).max(1);
        let (noise_multiplier, event) = if private {
            let noise_multiplier = self.choose_noise(&charge, batch, noisy)?;
            if self.precondition.is_some() {
                charge.check_moments(problem, batch, noise_multiplier, noisy)?;
            }
            (noise_multiplier, charge.event(batch, noise_multiplier, noisy))
        } else {
            (0.0, Event::NotPrivate)
        };
        let shape = RunSize {
            dimension: charge.dimension,
            batch: batch as f64,
            rows: charge.rows as f64,
            steps: steps as f64,
            noise_multiplier,
        };
        let rule = self.apply_rule(problem, &shape, &mut warnings)?;
        let (clip, stride) = (rule.clip, rule.stride);
        let unit = clip.unwrap_or_else(|| selection.map_or(1.0, |s| s.clip(s.low)));
        let noise_deviation = if private {
            let rounding = self.rounding(problem, charge.rate(batch));
            let law = FastGaussian::new(rounding * unit, noise_multiplier, problem.dimension())?;
            law.sigma() / batch as f64
        } else {
            0.0
        };
        let chosen = || clip.map(|clip| chosen_eta(stride, clip, problem.ridge));
        let standardized = charge.standardizes(problem, batch, noise_multiplier, noisy);
        let begun = || self.begun_eta(problem, noise_deviation, unit, steps, standardized);
        let eta = self.eta.or_else(begun).or_else(chosen);
        let largest = problem.regularity().lipschitz;
        let gap = Gap { largest, clip: unit, alpha: 1.0, interpolation: 0.0 };
        let fitted = shape.bound_tight(self.distance_in(problem), &gap);
        let typical = matches!(self.clip, Clip::Quantile { .. }); // may be longer than any gradient
        let moved = self.adaptive_step || self.precondition.is_some();
        let bounded = problem.hidden.is_none() && !moved && !typical;
        let outline = Outline {
            problem: problem.clone(),
            budget,
            event,
            steps,
            noise_deviation,
            predicted_excess: rule.excess,
            warnings,
        };
        Ok(ClippedSgdPlan {
            outline,
            settings: *self,
            batch,
            sample_rate: charge.rate(batch),
            noise_multiplier,
            nu_effective: private.then(|| {
                rates::nu_effective(
                    noise_multiplier,
                    charge.rate(batch),
                    noisy as f64,
                    epsilon,
                    delta,
                )
            }),
            clip,
            selection,
            eta,
            stride: eta.map_or(Some(stride), |eta| clip.map(|clip| eta * clip)),
            output,
            theorem: rule.theorem,
            excess_if_fitted: (bounded && fitted.is_finite()).then_some(fitted),
            squared_gradient: rule.squared_gradient,
        })
    }

    fn run(
        plan: &ClippedSgdPlan,
        oracle: &dyn Oracle,
        source: &Source,
        progress: &dyn Progress,
    ) -> Result<Release, RunError> {
        executor::run::<Self>(plan, oracle, source, progress)
    }
}

impl ClippedSgdPlan {
    /// `η` for this clip norm.
    fn eta_for(&self, clip: f64) -> f64 {
        let stride = self.stride.unwrap_or(0.0);
        self.eta.unwrap_or_else(|| chosen_eta(stride, clip, self.outline.problem.ridge))
    }
}

impl Planned for ClippedSgdPlan {
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
        let privacy = "clipped DP-SGD: privacy theorem";
        let mut list = vec![
            Assumption::new(
                "each row joins each batch on its own with the planned probability, and batches stay secret",
                "run",
                privacy,
            ),
            Assumption::new(
                "the number of rows that the plan divides by is public: declared under add-remove, the table's own count under replace-one and zero-out",
                "owner",
                privacy,
            ),
            Assumption::new(
                "the table has at most ten times the declared rows, twice if batches are larger than a fifth: rounding in larger sums is not covered",
                "owner",
                "rounding of clipped sums",
            ),
            Assumption::new("one row belongs to one person", "owner", privacy),
        ];
        match self.settings.clip {
            Clip::Public { .. } => list.push(Assumption::new(
                "the clip norm was fixed without looking at the data",
                "owner",
                privacy,
            )),
            Clip::Selected { .. } | Clip::Quantile { .. } => {}
            Clip::Moments { .. } => list.push(Assumption::new(
                "the declared moments of the gradients are public knowledge, not measured on the table",
                "owner",
                &self.theorem,
            )),
        }
        if self.settings.precondition.is_some() {
            list.push(Assumption::new(
                "every row's norm, entries and label lie within the declared bounds",
                "encoder",
                privacy,
            ));
            list.push(Assumption::new(
                "the declared bounds were not read off the data",
                "owner",
                privacy,
            ));
        }
        if self.outline.predicted_excess.is_some() {
            list.push(Assumption::new(
                "the best weights are within the planned distance of the start (risk only)",
                "owner",
                &self.theorem,
            ));
        }
        list
    }
}
