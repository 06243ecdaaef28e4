//! The planner: it asks each algorithm for its plan and ranks them. It reads no data.

use reticent_data::Oracle;
use reticent_noise::Source;
use reticent_privacy::{Budget, Event};
use reticent_problem::Problem;
use serde::{Deserialize, Serialize};

use crate::output_gd::{self, OutputGd, OutputGdPlan};
use crate::{Algorithm, Assumption, Calibration, PlanError, Progress, Release, RunError};

/// A plan of any algorithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "algorithm", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Plan {
    /// Output-perturbed gradient descent.
    OutputGd(OutputGdPlan),
}

impl Plan {
    /// The algorithm's word.
    pub fn algorithm(&self) -> &'static str {
        match self {
            Self::OutputGd(_) => output_gd::NAME,
        }
    }

    /// What is minimised.
    pub fn problem(&self) -> &Problem {
        match self {
            Self::OutputGd(plan) => &plan.problem,
        }
    }

    /// What may be spent.
    pub fn budget(&self) -> Budget {
        match self {
            Self::OutputGd(plan) => plan.budget,
        }
    }

    /// Paper or tight.
    pub fn calibration(&self) -> Calibration {
        match self {
            Self::OutputGd(plan) => plan.settings.calibration,
        }
    }

    /// What will be charged.
    pub fn event(&self) -> &Event {
        match self {
            Self::OutputGd(plan) => &plan.event,
        }
    }

    /// Noisy updates, or steps before the one noise draw.
    pub fn steps(&self) -> u64 {
        match self {
            Self::OutputGd(plan) => plan.steps,
        }
    }

    /// The standard deviation of the noise in each released weight.
    pub fn noise_deviation(&self) -> f64 {
        match self {
            Self::OutputGd(plan) => plan.noise.deviation(plan.problem.dimension()),
        }
    }

    /// A bound on the expected excess of the objective.
    pub fn predicted_excess(&self) -> f64 {
        match self {
            Self::OutputGd(plan) => plan.predicted_excess,
        }
    }

    /// What may surprise.
    pub fn warnings(&self) -> &[String] {
        match self {
            Self::OutputGd(plan) => &plan.warnings,
        }
    }

    /// What the guarantee rests on.
    pub fn assumptions(&self) -> Vec<Assumption> {
        match self {
            Self::OutputGd(plan) => plan.assumptions(),
        }
    }

    /// The same plan, made anew from what was asked for. A plan that differs from it was altered.
    ///
    /// # Errors
    ///
    /// [`PlanError`], if what was asked for admits no plan.
    pub fn again(&self) -> Result<Self, PlanError> {
        match self {
            Self::OutputGd(plan) => {
                plan.settings.plan(&plan.problem, plan.budget).map(Self::OutputGd)
            }
        }
    }

    /// Spends the budget.
    ///
    /// # Errors
    ///
    /// [`RunError`].
    pub fn run(
        &self,
        oracle: &dyn Oracle,
        source: &Source,
        progress: &dyn Progress,
    ) -> Result<Release, RunError> {
        match self {
            Self::OutputGd(plan) => OutputGd::run(plan, oracle, source, progress),
        }
    }
}

/// What is known of an algorithm without a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AlgorithmInfo {
    /// Its word.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// What it needs.
    pub assumptions: &'static str,
    /// What it promises.
    pub guarantee: &'static str,
}

/// All algorithms.
pub const ALGORITHMS: &[AlgorithmInfo] = &[AlgorithmInfo {
    name: output_gd::NAME,
    summary: "gradient descent on the full table, one noise draw on the result",
    paper: "Zhang, Zheng, Mou, Wang: Efficient private ERM for smooth objectives, IJCAI 2017, Algorithm 1",
    assumptions: "convex and smooth loss, bounded rows, replace-one adjacency; a ridge helps",
    guarantee: "epsilon-DP for delta = 0, (epsilon, delta)-DP otherwise",
}];

/// What a user may fix; the rest is chosen without looking at data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Request {
    /// Settings of output-perturbed gradient descent.
    pub output_gd: OutputGd,
    /// `μ`; none lets each algorithm choose.
    pub ridge: Option<f64>,
}

/// One algorithm's answer.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Which.
    pub algorithm: &'static str,
    /// Its plan, or why there is none.
    pub plan: Result<Plan, PlanError>,
}

/// Asks every algorithm for its plan. The best predicted risk comes first, those without a plan last.
pub fn candidates(problem: &Problem, budget: Budget, request: &Request) -> Vec<Candidate> {
    let settings = request.output_gd;
    let output_gd = match request.ridge {
        Some(ridge) => settings.plan(&Problem { ridge, ..*problem }, budget),
        None => settings.plan_with_ridge(problem, budget),
    };
    let mut list =
        vec![Candidate { algorithm: output_gd::NAME, plan: output_gd.map(Plan::OutputGd) }];
    let risk = |c: &Candidate| c.plan.as_ref().map_or(f64::INFINITY, Plan::predicted_excess);
    list.sort_by(|a, b| risk(a).total_cmp(&risk(b)));
    list
}
