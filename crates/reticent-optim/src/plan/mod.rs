//! The planner: it asks each algorithm for its plan and ranks them. It reads no data.

mod cost;
mod simulate;
mod vary;
mod weights;
mod world;

use reticent_data::Oracle;
use reticent_noise::Source;
use reticent_privacy::Budget;
use reticent_problem::Problem;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use cost::RowCost;
pub use simulate::{
    LevelGain, Prediction, Simulated, level_names, simulate, simulate_named, simulate_only,
};
pub use weights::WeightsForm;
pub(crate) use world::Level;

use simulate::why_left_out;

use crate::executor::{self, Keep, Resumable};
use crate::setting::{RIDGE, Settings};
use crate::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, ClippedSgd, CoordinateMean, GradientSgd,
    LeastSquares, Mirror, NoisySgd, ObjectivePerturbation, Outline, OutputGd, OutputSgd,
    PermutedSgd, Phased, PlanError, Planned, Progress, RandomRound, Release, RunError,
    ShuffledMirror, TruncatedMirror, objective, output_gd,
};

/// The part of a run that may be kept: all of it where each step gets noise of its own.
macro_rules! kept {
    (each_step: $plan:ident, $algorithm:ty, $then:expr, $why:ident) => {
        $then
    };
    ($other:ident: $plan:ident, $algorithm:ty, $then:expr, $why:ident) => {{
        let _ = $plan;
        $why(stringify!($other))
    }};
}

/// Why nothing may be kept of a run.
fn why_not(noise: &str) -> &'static str {
    match noise {
        "at_the_end" => {
            "gets its noise at the end, and until then nothing of it may be kept; leave `checkpoint` out"
        }
        "each_row_once" => {
            "uses each row once, and a table that is read again may have its rows in another order; leave `checkpoint` out"
        }
        _ => "reads rows in a secret order, which must not be kept; leave `checkpoint` out",
    }
}

/// One line for each algorithm makes it known everywhere: to the planner, the certificate, the
/// command, Python. It says when its noise is drawn: in `each_step`, in `each_step` that uses its
/// own rows (`each_row_once`), in each step of a `secret_order`, or `at_the_end`.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $variant:ident($algorithm:ty): $noise:ident),+ $(,)?) => {
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
            /// The algorithm's description, independent of a problem.
            pub fn info(&self) -> AlgorithmInfo {
                match self {
                    $(Self::$variant(_) => <$algorithm as Algorithm>::INFO,)+
                }
            }

            /// The fields shared by all plans.
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

            /// Whether the run fetches rows in any order, as a table in memory can and a stream
            /// cannot.
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

            /// The assumptions of the guarantee.
            pub fn assumptions(&self) -> Vec<Assumption> {
                let list = match self {
                    $(Self::$variant(plan) => plan.assumptions(),)+
                };
                let Outline { problem, event, .. } = self.outline();
                let mut list = Assumption::of_records(list, problem);
                list.extend(Assumption::of_numerics(event));
                list
            }

            /// The same plan, recomputed from problem, budget and settings. A plan that differs
            /// from it was altered.
            ///
            /// # Errors
            ///
            /// [`PlanError`], if they admit no plan.
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

            /// [`Self::run`], from the start or from a state that was kept; `keep` may keep each
            /// state, for which the event has paid. The caller makes sure that no state is used
            /// twice.
            ///
            /// # Errors
            ///
            /// [`RunError`], and what `keep` returns.
            pub fn go_on(
                &self,
                from: Option<&Value>,
                oracle: &dyn Oracle,
                source: &Source,
                progress: &dyn Progress,
                keep: &mut Keep<'_>,
            ) -> Result<Release, RunError> {
                let no = |noise| Err(RunError::NotKept { why: why_not(noise).to_owned() });
                match self {
                    $(Self::$variant(plan) => kept!(
                        $noise: plan, $algorithm,
                        executor::go_on::<$algorithm>(plan, from, oracle, source, progress, keep),
                        no
                    ),)+
                }
            }

            /// Streams of noise that a run draws at most, if its states may be kept.
            ///
            /// # Errors
            ///
            /// Why they may not, as the rest of a sentence that begins with the algorithm.
            pub fn noise_streams(&self) -> Result<usize, &'static str> {
                let no = |noise| Err(why_not(noise));
                match self {
                    $(Self::$variant(plan) => kept!(
                        $noise: plan, $algorithm,
                        Ok(<$algorithm as Resumable>::noise_streams(plan)),
                        no
                    ),)+
                }
            }

            /// How many steps were done when a state was kept, and whether that was the last; none
            /// if it is no state of this plan.
            pub fn standing(&self, kept: &Value) -> Option<(u64, bool)> {
                let no = |_| None;
                match self {
                    $(Self::$variant(plan) => kept!(
                        $noise: plan, $algorithm, executor::standing::<$algorithm>(plan, kept), no
                    ),)+
                }
            }
        }

        /// The answer of the algorithm with this name; none if there is no such algorithm.
        fn plan_by(
            name: &str,
            problem: &Problem,
            budget: Budget,
            request: &Settings,
        ) -> Option<Result<Plan, PlanError>> {
            $(if name == <$algorithm as Algorithm>::INFO.name {
                return Some(plan_of::<$algorithm>(problem, budget, request).map(Plan::$variant));
            })+
            None
        }

        /// Each algorithm, as the tests of the settings ask it.
        #[cfg(test)]
        pub(crate) const TRIED: &[crate::setting::tests::Tried] =
            &[$(crate::setting::tests::Tried::of::<$algorithm>()),+];
    };
}

algorithms! {
    /// Objective perturbation.
    Objective(ObjectivePerturbation): at_the_end,
    /// Output-perturbed gradient descent.
    OutputGd(OutputGd): at_the_end,
    /// Output-perturbed SGD.
    OutputSgd(OutputSgd): at_the_end,
    /// Output-perturbed SGD in random passes.
    PermutedSgd(PermutedSgd): at_the_end,
    /// Gradient-perturbed SGD.
    GradientSgd(GradientSgd): each_step,
    /// Random-round private SGD.
    RandomRound(RandomRound): each_step,
    /// Noisy SGD on a ball.
    NoisySgd(NoisySgd): each_step,
    /// Clipped DP-SGD.
    ClippedSgd(ClippedSgd): each_step,
    /// Noisy regularised mirror descent.
    Mirror(Mirror): each_step,
    /// Phased SGD.
    Phased(Phased): each_row_once,
    /// Truncated batched mirror descent.
    TruncatedMirror(TruncatedMirror): each_row_once,
    /// Coordinate-wise clipped gradient descent.
    CoordinateMean(CoordinateMean): each_step,
    /// Shuffled mirror descent.
    ShuffledMirror(ShuffledMirror): secret_order,
    /// Least squares from zero, the last iterate.
    LeastSquares(LeastSquares): at_the_end,
}

impl Plan {
    /// The plan of the same algorithm, budget and settings for another problem.
    ///
    /// # Errors
    ///
    /// [`PlanError`], if that admits no plan.
    pub fn for_problem(&self, problem: &Problem) -> Result<Self, PlanError> {
        // The requested settings are read from the plan itself, as a certificate's are.
        let other = || {
            let mut value = serde_json::to_value(self).ok()?;
            *value.get_mut("problem")? = serde_json::to_value(problem).ok()?;
            serde_json::from_value::<Self>(value).ok()
        };
        if let Some(other) = other() {
            return other.again();
        }
        let why = "has settings that cannot be written down".to_owned();
        Err(PlanError::NotApplicable { algorithm: self.algorithm(), why })
    }

    /// The algorithm's word.
    pub fn algorithm(&self) -> &'static str {
        self.info().name
    }

    /// In which numbers [`Outline::noise_deviation`] is the noise, as the rest of a phrase.
    pub fn noise_place(&self) -> &'static str {
        match self {
            _ if self.noise_on_weights() => "in each weight",
            Self::Objective(_) => "in each coordinate of the objective's gradient",
            Self::Phased(_) => "in each weight after the last phase",
            Self::OutputGd(_) => "in each weight in each step",
            Self::ClippedSgd(plan) if plan.clip.is_none() => {
                "in each coordinate of a step's gradient at the least clip norm, in proportion at the one that is found"
            }
            _ => "in each coordinate of a step's gradient",
        }
    }
}

fn plan_of<A: Algorithm>(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
) -> Result<A::Plan, PlanError> {
    let settings = A::from_settings(request)?;
    match request.number(&RIDGE) {
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
    /// How it did on simulated tables; none where it was not tried on any.
    pub prediction: Option<Prediction>,
}

/// Asks every algorithm for its plan, with its own settings where the request leaves them open. The
/// best bound comes first, plans without a bound after those with one, algorithms without a plan
/// last.
pub fn candidates(problem: &Problem, budget: Budget, request: &Settings) -> Vec<Candidate> {
    ranked(problem, budget, request, &[])
}

/// The algorithms that come first, with their settings. Without noise the exact minimum is best,
/// otherwise those that the simulation found.
fn order(
    budget: Budget,
    request: &Settings,
    simulated: &[Simulated],
) -> Vec<(&'static str, Settings)> {
    let exact: &[&'static str] =
        if budget.epsilon.is_infinite() { &[objective::NAME, output_gd::NAME] } else { &[] };
    let exact = exact.iter().map(|name| (*name, request.clone()));
    exact.chain(simulated.iter().map(|s| (s.algorithm, s.settings.clone()))).collect()
}

/// [`candidates`] ranked by the simulation, whose settings they take over; those that it did not
/// try follow by their bounds, but for those that are never better than one it tried: they are not
/// planned.
pub fn ranked(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    simulated: &[Simulated],
) -> Vec<Candidate> {
    let order = order(budget, request, simulated);
    let answer = |info: &AlgorithmInfo| {
        let algorithm = info.name;
        let own = order.iter().find(|(name, _)| *name == algorithm).map(|(_, own)| own);
        let plan = match why_left_out(algorithm, problem) {
            Some(why) if own.is_none() && !simulated.is_empty() => {
                Err(PlanError::NotApplicable { algorithm, why: why.to_owned() })
            }
            _ => plan_named(problem, budget, own.unwrap_or(request), algorithm),
        };
        let same = simulated.iter().find(|s| s.algorithm == algorithm && Some(&s.settings) == own);
        Candidate { algorithm, plan, prediction: same.map(|s| s.prediction.clone()) }
    };
    let mut list = sorted(ALGORITHMS.iter().map(answer).collect());
    // Stable: what the simulation did not try keeps its order, behind what it did.
    let place = |c: &Candidate| order.iter().position(|(algorithm, _)| *algorithm == c.algorithm);
    list.sort_by_key(|c| (c.plan.is_err(), place(c).unwrap_or(usize::MAX)));
    list
}

fn sorted(mut list: Vec<Candidate>) -> Vec<Candidate> {
    let rank = |candidate: &Candidate| match &candidate.plan {
        Ok(plan) => (0, plan.outline().predicted_excess.unwrap_or(f64::INFINITY)),
        // Where nothing serves, the reason of an algorithm that has all the settings says most.
        Err(PlanError::NotASetting { .. }) => (2, 0.0),
        Err(_) => (1, 0.0),
    };
    list.sort_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    list
}

/// Why none of these has a plan: the reason that they share, or each with those who give it. Who
/// lacks a setting that was given is heard only if all do.
pub fn why_none(list: &[Candidate]) -> PlanError {
    let all = || list.iter().filter_map(|c| Some((c.algorithm, c.plan.as_ref().err()?)));
    let lacks = |error: &PlanError| matches!(error, PlanError::NotASetting { .. });
    let serious = all().any(|(_, error)| !lacks(error));
    let mut reasons: Vec<(String, &PlanError, Vec<&str>)> = Vec::new();
    for (name, error) in all().filter(|(_, error)| !serious || !lacks(error)) {
        let text = error.to_string();
        match reasons.iter_mut().find(|(known, ..)| *known == text) {
            Some((_, _, names)) => names.push(name),
            None => reasons.push((text, error, vec![name])),
        }
    }
    if let [(_, error, _)] = &reasons[..] {
        return (*error).clone();
    }
    let listed = reasons.iter().map(|(text, _, names)| format!("{}: {text}", names.join(", ")));
    let why = format!("finds no algorithm for this; {}", listed.collect::<Vec<_>>().join("; "));
    PlanError::NotApplicable { algorithm: "auto", why }
}

/// The plan of the named algorithm, with its own settings where the request leaves them open.
///
/// # Errors
///
/// Why it has no plan; [`PlanError::UnknownAlgorithm`].
pub fn plan_named(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    name: &str,
) -> Result<Plan, PlanError> {
    plan_by(name, problem, budget, request).unwrap_or_else(|| Err(unknown(name, &["auto"])))
}

/// The description of the algorithm with this name.
///
/// # Errors
///
/// [`PlanError::UnknownAlgorithm`].
pub fn info_of(name: &str) -> Result<&'static AlgorithmInfo, PlanError> {
    let found = ALGORITHMS.iter().find(|info| info.name == name);
    found.ok_or_else(|| unknown(name, &[]))
}

fn unknown(name: &str, besides: &[&str]) -> PlanError {
    let names = ALGORITHMS.iter().map(|info| info.name);
    let known: Vec<_> = besides.iter().copied().chain(names).collect();
    PlanError::UnknownAlgorithm { got: name.to_owned(), known: known.join(", ") }
}

/// The first plan of [`ranked`], without the others.
///
/// # Errors
///
/// [`why_none`] has a plan.
pub fn plan_first(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    simulated: &[Simulated],
) -> Result<Plan, PlanError> {
    for (algorithm, request) in order(budget, request, simulated) {
        if let Some(Ok(plan)) = plan_by(algorithm, problem, budget, &request) {
            return Ok(plan);
        }
    }
    let mut list = candidates(problem, budget, request);
    if list[0].plan.is_err() {
        return Err(why_none(&list));
    }
    list.swap_remove(0).plan
}

/// The plan of the named algorithm, or with `auto` the one that the simulation puts first.
///
/// # Errors
///
/// As [`plan_named`] and [`plan_first`].
pub fn choose(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    wanted: &str,
) -> Result<Plan, PlanError> {
    if wanted == "auto" {
        return plan_first(problem, budget, request, &simulate(problem, budget, request));
    }
    plan_named(problem, budget, request, wanted)
}
