//! The planner: it asks each algorithm for its plan and ranks them. It reads no data.

mod request;

use reticent_data::Oracle;
use reticent_noise::Source;
use reticent_privacy::Budget;
use reticent_problem::Problem;
use serde::{Deserialize, Serialize};

pub use request::Request;

use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, ClippedSgd, CoordinateMean, GradientSgd,
    LeastSquares, Mirror, NoisySgd, ObjectivePerturbation, Outline, OutputGd, OutputSgd,
    PermutedSgd, Phased, PlanError, Planned, Progress, RandomRound, Release, RunError,
    ShuffledMirror, TruncatedMirror, objective,
};

/// One line for each algorithm makes it known everywhere: to the planner, the certificate, the command, Python.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $variant:ident($algorithm:ty)),+ $(,)?) => {
        /// A plan of any algorithm.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "algorithm", rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum Plan {
            $($(#[$doc])* $variant(<$algorithm as Algorithm>::Plan),)+
        }

        /// All algorithms.
        pub const ALGORITHMS: &[AlgorithmInfo] = &[$(<$algorithm as Algorithm>::INFO),+];

        impl Plan {
            /// What is known of the algorithm without a problem.
            pub fn info(&self) -> AlgorithmInfo {
                match self {
                    $(Self::$variant(_) => <$algorithm as Algorithm>::INFO,)+
                }
            }

            /// What all plans have.
            pub fn outline(&self) -> &Outline {
                match self {
                    $(Self::$variant(plan) => plan.outline(),)+
                }
            }

            /// Paper or tight.
            pub fn calibration(&self) -> Calibration {
                match self {
                    $(Self::$variant(plan) => plan.calibration(),)+
                }
            }

            /// The whole ridge of what is minimised.
            pub fn ridge(&self) -> f64 {
                match self {
                    $(Self::$variant(plan) => plan.ridge(),)+
                }
            }

            /// Whether the run fetches rows in any order, as a table in memory can and a stream cannot.
            pub fn any_order(&self) -> bool {
                match self {
                    $(Self::$variant(plan) => plan.any_order(),)+
                }
            }

            /// Whether the one noise draw is on the weights themselves.
            pub fn noise_on_weights(&self) -> bool {
                match self {
                    $(Self::$variant(plan) => plan.noise_on_weights(),)+
                }
            }

            /// What the guarantee rests on.
            pub fn assumptions(&self) -> Vec<Assumption> {
                match self {
                    $(Self::$variant(plan) => plan.assumptions(),)+
                }
            }

            /// The same plan, made anew from what was asked for. A plan that differs from it was altered.
            ///
            /// # Errors
            ///
            /// [`PlanError`], if what was asked for admits no plan.
            pub fn again(&self) -> Result<Self, PlanError> {
                match self {
                    $(Self::$variant(plan) => plan.again().map(Self::$variant),)+
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
                    $(Self::$variant(plan) => <$algorithm>::run(plan, oracle, source, progress),)+
                }
            }
        }

        /// The plan of one algorithm.
        pub(crate) fn named(
            problem: &Problem,
            budget: Budget,
            request: &Request,
            wanted: &str,
        ) -> Result<Plan, PlanError> {
            $(if wanted == <$algorithm as Algorithm>::INFO.name {
                return plan_of::<$algorithm>(problem, budget, request).map(Plan::$variant);
            })+
            let known: Vec<_> = ALGORITHMS.iter().map(|info| info.name).collect();
            Err(PlanError::UnknownAlgorithm { got: wanted.to_owned(), known: known.join(", ") })
        }

        /// Every algorithm's answer, in the order of [`ALGORITHMS`].
        fn ask(problem: &Problem, budget: Budget, request: &Request) -> Vec<Candidate> {
            vec![$(Candidate {
                algorithm: <$algorithm as Algorithm>::INFO.name,
                plan: plan_of::<$algorithm>(problem, budget, request).map(Plan::$variant),
                preferred: preference(<$algorithm as Algorithm>::INFO.name),
            }),+]
        }
    };
}

algorithms! {
    /// Objective perturbation.
    Objective(ObjectivePerturbation),
    /// Output-perturbed gradient descent.
    OutputGd(OutputGd),
    /// Output-perturbed SGD.
    OutputSgd(OutputSgd),
    /// Output-perturbed SGD in random passes.
    PermutedSgd(PermutedSgd),
    /// Gradient-perturbed SGD.
    GradientSgd(GradientSgd),
    /// Random-round private SGD.
    RandomRound(RandomRound),
    /// Noisy SGD on a ball.
    NoisySgd(NoisySgd),
    /// Clipped DP-SGD.
    ClippedSgd(ClippedSgd),
    /// Noisy regularised mirror descent.
    Mirror(Mirror),
    /// Phased SGD.
    Phased(Phased),
    /// Truncated batched mirror descent.
    TruncatedMirror(TruncatedMirror),
    /// Coordinate-wise clipped gradient descent.
    CoordinateMean(CoordinateMean),
    /// Shuffled mirror descent.
    ShuffledMirror(ShuffledMirror),
    /// Least squares from zero, the last iterate.
    LeastSquares(LeastSquares),
}

impl Plan {
    /// The algorithm's word.
    pub fn algorithm(&self) -> &'static str {
        self.info().name
    }
}

fn plan_of<A: Algorithm>(
    problem: &Problem,
    budget: Budget,
    request: &Request,
) -> Result<A::Plan, PlanError> {
    let settings = A::from_request(request)?;
    match request.ridge {
        Some(ridge) => settings.plan(&Problem { ridge, ..problem.clone() }, budget),
        None => settings.plan_with_ridge(problem, budget),
    }
}

/// One algorithm's answer.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Which.
    pub algorithm: &'static str,
    /// Its plan, or why there is none.
    pub plan: Result<Plan, PlanError>,
    /// Why it comes before a plan with a smaller predicted risk; none if nothing speaks for it.
    pub preferred: Option<&'static str>,
}

/// Algorithms that come first wherever they have a plan, and why. Predicted risks are worst cases and rank poorly across
/// kinds of algorithm; this order is public, too.
const PREFERRED: &[(&str, &str)] = &[(
    objective::NAME,
    "preferred for linear models with a smooth loss: nothing to tune, one noise draw",
)];

fn preference(algorithm: &str) -> Option<&'static str> {
    PREFERRED.iter().find(|(name, _)| *name == algorithm).map(|(_, reason)| *reason)
}

/// Asks every algorithm for its plan. Preferred ones come first, then the best predicted risk, plans without a prediction
/// after those with one, algorithms without a plan last.
pub fn candidates(problem: &Problem, budget: Budget, request: &Request) -> Vec<Candidate> {
    let mut list = ask(problem, budget, request);
    let rank = |candidate: &Candidate| match &candidate.plan {
        Ok(_) if candidate.preferred.is_some() => (0, 0.0),
        Ok(plan) => (1, plan.outline().predicted_excess.unwrap_or(f64::INFINITY)),
        // Where nothing serves, the reason of an algorithm that has all the settings says most.
        Err(PlanError::NotASetting { .. }) => (3, 0.0),
        Err(_) => (2, 0.0),
    };
    list.sort_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    list
}

/// The plan of the named algorithm, or with `auto` of the first that has one.
///
/// # Errors
///
/// Why the named algorithm, or the best placed one, has no plan; [`PlanError::UnknownAlgorithm`].
pub fn choose(
    problem: &Problem,
    budget: Budget,
    request: &Request,
    wanted: &str,
) -> Result<Plan, PlanError> {
    let list = candidates(problem, budget, request);
    let known: Vec<_> = list.iter().map(|c| c.algorithm).collect();
    let unknown = PlanError::UnknownAlgorithm {
        got: wanted.to_owned(),
        known: format!("auto, {}", known.join(", ")),
    };
    let found = list.into_iter().find(|c| wanted == "auto" || c.algorithm == wanted);
    found.ok_or(unknown)?.plan
}
