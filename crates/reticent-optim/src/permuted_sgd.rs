//! Output-perturbed SGD in random passes: each pass takes every row once, in a fresh secret order.
//!
//! The walk of [`crate::output_sgd`] with another way of drawing rows. It is not in the source,
//! whose Algorithm 1 draws with replacement; where few passes are made it needs about half the
//! noise.
//!
//! # Theorem (privacy)
//!
//! Replace-one, `E` passes, `T = En`, each pass a fresh uniform order that stays secret; the
//! conditions on `η` are those of [`crate::output_sgd`]. The row that differs is hit exactly once
//! in a pass, at a uniform place, so that `A = Σ_e (T − s_e)/T` with `s_e` uniform on
//! `{(e−1)n + 1, …, en}`, independent. With `D(A)` of `step::walk`,
//!
//! ```text
//! δ(ε) ≤ Σ_{A>0} Pr[A]·G(D(A)/σ; ε).
//! ```
//!
//! *Proof.* Couple two tables by the same orders. Given those, the outputs are Gaussian with
//! centres within `D(A)`; the profile of a mixture is at most the mixture of profiles. There is no
//! common component, since every pass hits, hence no `ε'`. ∎
//!
//! # Risk
//!
//! On the training rows,
//!
//! ```text
//! U = ‖w*‖²/(2ηT) + ηG²/2 + G(ω a_n + ηG(n−1)/n) + N(σ).
//! ```
//!
//! *Proof.* Regret gives the first two terms for `(1/T) Σ ℓ_{i_t}(w_t)`. At place `p` of a pass,
//! `i_t` is uniform among the rows that the pass has not met, so the risk `F(w_t)` and
//! `E ℓ_{i_t}(w_t)` differ only through the `p − 1` rows that it has met. Such a row `j`, met at
//! place `r`, trades places with `i_t`: the walk up to place `p` then has one step replaced, and by
//! the theorem of `step::walk` its iterate is within `ω√p + 2ηG` of `w_t`. So the difference is at
//! most `((p−1)/n)·G(ω√(p−1) + 2ηG)`, of which the average over a pass is at most the third term. ∎

use reticent_data::Oracle;
use reticent_data::walk::WalkOrder;
use reticent_noise::Source;
use reticent_privacy::{Budget, Hits};
use reticent_problem::{Problem, Regularity};
use serde::{Deserialize, Serialize};

use crate::holder::{self, Run, average_root};
use crate::output_sgd::{SearchedNoise, assumptions, distance};
use crate::setting::{
    CALIBRATION, Checked, DISTANCE, Kind, OWN_RIDGE, STEP_CAP, STEP_SIZE, Setting, Words as _,
};
use crate::step::perturb::{self, Moves, Noise};
use crate::step::walk::{self, Conduct, MAX_STEPS};
use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Release, RunError, UnitSupport, WeightSupport,
};

/// The name in flags, files and messages.
pub const NAME: &str = "permuted-sgd";

/// More passes are never chosen: their law takes too long to find.
const MOST_PASSES: u64 = 256;

/// `E`.
pub const PASSES: Setting = Setting::whole("passes", 1, "Passes over the rows")
    .by_default("the fewest, a power of two, with the bound on the risk near its least")
    .limited("at most 1e9 steps in all");

/// There is no paper to calibrate by.
const ONLY_TIGHT: Kind = Kind::Choice(&[Calibration::WORDS[0]]);

const SETTINGS: &[Setting] = &[
    CALIBRATION.within(ONLY_TIGHT).limited("as it is not in the paper"),
    OWN_RIDGE,
    PASSES,
    STEP_CAP.by_default("100000000"),
    STEP_SIZE.by_default("where the bound on the risk is least").limited("at most the theorem's"),
    DISTANCE.by_default("the set's radius, or 5/B, or 2Y/B"),
];

/// Settings. Omitted ones are chosen without looking at data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PermutedSgd {
    /// `E`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<u64>,
    /// Caps the automatic `E`.
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
pub struct PermutedSgdPlan {
    /// The fields shared by all plans.
    #[serde(flatten)]
    pub outline: Outline,
    /// The requested settings.
    pub settings: PermutedSgd,
    /// The constants where iterates can be.
    pub regularity: Regularity,
    /// `E`.
    pub passes: u64,
    /// `η`.
    pub eta: f64,
    /// The effect of a single step.
    pub conduct: Conduct,
    /// How far the average moves, rounding included.
    pub moves: Moves,
    /// The noise, added once.
    pub noise: Noise,
}

/// `U` without its noise: that of one pass's length in the last term.
fn excess(run: &Run, pass_root: f64) -> f64 {
    let one_pass = Run { steps: run.rows as u64, ..*run };
    let early = run.distance * run.distance / (2.0 * run.eta);
    one_pass.excess(pass_root) - early / run.rows + early / run.steps as f64
}

impl PermutedSgd {
    /// The best step for this many passes, and `U` there.
    fn best_eta(
        &self,
        problem: &Problem,
        budget: Budget,
        passes: u64,
    ) -> Result<(f64, f64), PlanError> {
        let rows = problem.rows as u64;
        let steps = passes * rows;
        let distance = distance(self.distance, problem);
        let (root, pass_root) = (average_root(steps), average_root(rows));
        let noise = SearchedNoise::new(Hits::AveragePermuted { rows, passes }, budget)?;
        let bound = |eta: f64| {
            let conduct = walk::conduct(problem, eta, steps);
            let run = walk::risk(problem, &conduct, distance, steps, eta);
            excess(&run, pass_root)
                + walk::noise_cost(problem, noise.sigma(problem, &conduct, root))
        };
        let eta = self.eta.unwrap_or_else(|| {
            let (low, high) = walk::eta_bracket(problem, distance, steps);
            holder::least(low, high, bound)
        });
        Ok((eta, bound(eta)))
    }

    /// `E` and `η`: as asked for, or the fewest passes, a power of two, whose `U` is within a tenth
    /// of the least.
    fn choose(&self, problem: &Problem, budget: Budget) -> Result<(u64, f64), PlanError> {
        if let Some(passes) = self.passes {
            return Ok((passes, self.best_eta(problem, budget, passes)?.0));
        }
        let rows = problem.rows as u64;
        let most = (self.max_steps.unwrap_or(MAX_STEPS) / rows).clamp(1, MOST_PASSES);
        let (mut passes, mut least) = (1, f64::INFINITY);
        let mut tried = Vec::new();
        while passes <= most {
            let (eta, bound) = self.best_eta(problem, budget, passes)?;
            tried.push((passes, eta, bound));
            // Twice in a row no better: more passes only add noise.
            if tried.iter().rev().take(2).all(|(.., bound)| *bound > least) && tried.len() > 2 {
                break;
            }
            least = least.min(bound);
            passes *= 2;
        }
        let found = tried.iter().find(|(.., bound)| *bound <= 1.1 * least).or(tried.first());
        Ok(found.map_or((1, walk::eta_limit(problem).min(1.0)), |(passes, eta, _)| (*passes, *eta)))
    }
}

impl Algorithm for PermutedSgd {
    const INFO: AlgorithmInfo = AlgorithmInfo {
        name: NAME,
        summary: "SGD in passes over the rows, each in a fresh secret order, one noise draw on the averaged iterate",
        paper: "an extension of Wang, Lei, Ying, Zhang: Differentially private SGD with non-smooth losses, ACHA 2022, Algorithm 1",
        assumptions: "convex loss with a Hoelder-continuous gradient of any order in [0, 1], bounded rows, replace-one adjacency, delta > 0",
        guarantee: "(epsilon, delta)-DP for every epsilon > 0",
        settings: SETTINGS,
        units: UnitSupport::OneRow(
            "takes a step for each row, and a unit of several rows would take several",
        ),
        weights: WeightSupport::Carried,
    };

    type Plan = PermutedSgdPlan;

    fn read(settings: Checked<'_>) -> Result<Self, PlanError> {
        Ok(Self {
            passes: settings.whole(&PASSES),
            max_steps: settings.whole(&STEP_CAP),
            eta: settings.number(&STEP_SIZE),
            distance: settings.number(&DISTANCE),
        })
    }

    fn plan(&self, problem: &Problem, budget: Budget) -> Result<PermutedSgdPlan, PlanError> {
        Self::INFO.admit(problem, budget)?;
        let mut warnings = Vec::new();
        walk::check(NAME, problem, budget, &mut warnings)?;
        walk::check_domain(NAME, problem)?;
        if let Some(d) = self.distance {
            walk::range(d.is_finite() && d > 0.0, "distance", "a finite number > 0", d)?;
        }
        if let Some(eta) = self.eta {
            walk::check_eta(eta, walk::eta_limit(problem), false)?;
        }
        if let Some(most) = self.max_steps {
            walk::range(most >= 2, "max_steps", "a whole number >= 2", most as f64)?;
        }
        let rows = problem.rows as u64;
        if let Some(passes) = self.passes {
            let most = reticent_privacy::MAX_STEPS / rows;
            let expected =
                format!("a whole number from 1 to {most}, so that there are at most 1e9 steps");
            walk::range((1..=most).contains(&passes), "passes", &expected, passes as f64)?;
        }
        let (passes, eta) = self.choose(problem, budget)?;
        let steps = passes * rows;
        let (root, pass_root) = (average_root(steps), average_root(rows));
        let k = problem.regularity();
        let conduct = walk::conduct(problem, eta, steps);
        let moves =
            walk::moves(problem, &walk::of(WalkOrder::Permuted, steps, eta), &conduct, root);
        if !(moves.shift.is_finite() && moves.drift.is_finite()) {
            return Err(walk::unbounded(problem));
        }
        let dimension = problem.dimension();
        let hits = Hits::AveragePermuted { rows, passes };
        let (noise, event) = perturb::plan_mixture(budget, hits, moves, dimension, 0.0)?;
        let sigma = noise.deviation(dimension);
        let run = walk::risk(problem, &conduct, distance(self.distance, problem), steps, eta);
        let excess = excess(&run, pass_root) + walk::noise_cost(problem, sigma);
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
        Ok(PermutedSgdPlan { outline, settings, regularity, passes, eta, conduct, moves, noise })
    }

    fn run(
        plan: &PermutedSgdPlan,
        oracle: &dyn Oracle,
        source: &Source,
        progress: &dyn Progress,
    ) -> Result<Release, RunError> {
        let Outline { problem, steps, event, .. } = &plan.outline;
        let walk = walk::of(WalkOrder::Permuted, *steps, plan.eta);
        let weights = walk::run(problem, &walk, &plan.moves, plan.noise, oracle, source, progress)?;
        Ok(Release::new(weights, event))
    }
}

impl Planned for PermutedSgdPlan {
    fn outline(&self) -> &Outline {
        &self.outline
    }

    fn calibration(&self) -> Calibration {
        Calibration::Tight
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
        let theorem = "one hit in each secret pass (docs/algorithms/permuted-sgd.md)";
        let mut list = assumptions(&self.outline.problem, theorem);
        list.push(Assumption::new(
            "each pass takes the rows in a fresh uniform order, and nobody learns which",
            "run",
            theorem,
        ));
        list
    }
}
