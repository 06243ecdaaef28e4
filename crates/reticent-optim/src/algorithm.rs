//! The interface of all algorithms: plan in public, run once on the rows, return a paid release.

use std::ops::ControlFlow;

use reticent_data::{Oracle, OracleError, Withheld};
use reticent_noise::{NoiseError, Source};
use reticent_privacy::{Budget, Event, PrivacyError, explain};
use reticent_problem::{Problem, ProblemError, Unit};
use serde::{Deserialize, Serialize};

use crate::Release;
use crate::setting::{CALIBRATION, Checked, Setting, Settings};

/// How the noise is calibrated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calibration {
    /// As proven in the paper, errata corrected.
    Paper,
    /// The least noise that we can prove.
    #[default]
    Tight,
}

/// A private learning algorithm: its settings are the value, its plans and runs the methods.
pub trait Algorithm: Sized {
    /// Its description, independent of a problem.
    const INFO: AlgorithmInfo;

    /// Every choice made before the data is opened: public, comparable, serialisable.
    type Plan: Planned;

    /// Takes over settings that were checked against [`AlgorithmInfo::settings`].
    ///
    /// # Errors
    ///
    /// [`PlanError::NotApplicable`] for settings that exclude each other.
    fn read(settings: Checked<'_>) -> Result<Self, PlanError>;

    /// The settings that a user gave.
    ///
    /// # Errors
    ///
    /// The errors of [`Settings::check`] and [`Self::read`].
    fn from_settings(settings: &Settings) -> Result<Self, PlanError> {
        Self::read(settings.check(&Self::INFO)?)
    }

    /// Turns a declared problem and a budget into a plan, or says why none exists. Reads no row.
    ///
    /// # Errors
    ///
    /// [`PlanError`], raised before any row is read.
    fn plan(&self, problem: &Problem, budget: Budget) -> Result<Self::Plan, PlanError>;

    /// The plan with the ridge that the algorithm likes best; none unless it says otherwise. Reads
    /// no row.
    ///
    /// # Errors
    ///
    /// As [`Self::plan`].
    fn plan_with_ridge(&self, problem: &Problem, budget: Budget) -> Result<Self::Plan, PlanError> {
        self.plan(problem, budget)
    }

    /// Spends the budget. The only method that sees rows, and the only one that draws noise.
    ///
    /// # Errors
    ///
    /// [`RunError`]; none of its variants depends on a row's value.
    fn run(
        plan: &Self::Plan,
        oracle: &dyn Oracle,
        source: &Source,
        progress: &dyn Progress,
    ) -> Result<Release, RunError>;
}

/// The interface of all plans.
pub trait Planned: Sized {
    /// The fields shared by all plans.
    fn outline(&self) -> &Outline;

    /// Paper or tight.
    fn calibration(&self) -> Calibration;

    /// The whole ridge of what is minimised: the problem's, and what the plan adds to it.
    fn ridge(&self) -> f64 {
        self.outline().problem.ridge
    }

    /// Whether the run fetches rows in any order, as a table in memory can and a stream cannot.
    fn any_order(&self) -> bool {
        false
    }

    /// Whether the one noise draw is on the weights themselves, so that
    /// [`Outline::noise_deviation`] is what each carries.
    fn noise_on_weights(&self) -> bool {
        false
    }

    /// The assumptions of the guarantee, each with the theorem that needs it.
    fn assumptions(&self) -> Vec<Assumption>;

    /// The same plan, recomputed from problem, budget and settings. A plan that differs from it was
    /// altered.
    ///
    /// # Errors
    ///
    /// [`PlanError`], if they admit no plan.
    fn again(&self) -> Result<Self, PlanError>;
}

/// The fields shared by all plans.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outline {
    /// The declared problem.
    pub problem: Problem,
    /// The privacy budget.
    pub budget: Budget,
    /// The event charged to the budget.
    pub event: Event,
    /// Noisy updates, or steps before the one noise draw.
    pub steps: u64,
    /// Standard deviation of the noise in a coordinate of what is made noisy: the weights of a
    /// one-shot release, the averaged gradient of an iterative one.
    pub noise_deviation: f64,
    /// Bounds the expected excess of the objective; none where no theorem does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_excess: Option<f64>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// The description of an algorithm, independent of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AlgorithmInfo {
    /// Its word.
    pub name: &'static str,
    /// Its method, in one phrase.
    pub summary: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// Its assumptions.
    pub assumptions: &'static str,
    /// Its privacy guarantee.
    pub guarantee: &'static str,
    /// The settings that it has, and no others.
    pub settings: &'static [Setting],
    /// Whether a record may be all rows of one unit.
    pub units: UnitSupport,
    /// Whether rows may have weights.
    pub weights: WeightSupport,
}

/// Whether an algorithm's proof reads "unit" where it says "row". Anyone who adds an algorithm has
/// to say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitSupport {
    /// It asks for sums over records alone, or for records drawn at random, and its proof needs
    /// properties of a record's loss that a mean of such losses has ([`reticent_problem::Unit`]).
    Carried,
    /// It does for units of which one row is used, and not for others, for this reason, as the rest
    /// of a sentence. Its draws of records are uniform, so the law of its release does not depend
    /// on the order of the records: two tables of units that are neighbours can be put into an
    /// order in which they differ in one place, where the theorem for rows holds, although a unit
    /// that is replaced may move others to another place.
    OneRow(&'static str),
    /// It does not, for this reason, as the rest of a sentence.
    Refused(&'static str),
}

/// Whether an algorithm's proof reads "weighted row" where it says "row". Anyone who adds an
/// algorithm has to say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightSupport {
    /// Its proof needs properties of a row's loss `ℓ` alone that `c ℓ` has for every `0 ≤ c ≤ 1`:
    /// convexity, the constants of `ℓ` as upper bounds, the sign of a slope, the rank of a Hessian;
    /// or it bounds what a row adds by clipping, and needs nothing of `ℓ`.
    Carried,
    /// It does not, for this reason, as the rest of a sentence.
    Refused(&'static str),
}

impl AlgorithmInfo {
    /// Whether the problem's records are those of the budget, and the algorithm's proof is for
    /// such.
    pub(crate) fn admit(&self, problem: &Problem, budget: Budget) -> Result<(), PlanError> {
        let units = budget.adjacency.protects_units();
        if problem.unit.is_some() != units {
            let got = budget.adjacency.to_string();
            return Err(PlanError::OtherRecords { units: problem.unit.is_some(), got });
        }
        if let (true, WeightSupport::Refused(why)) = (problem.weighted, self.weights) {
            let carried = crate::ALGORITHMS.iter().filter(|a| a.weights == WeightSupport::Carried);
            let names: Vec<_> = carried.map(|info| info.name).collect();
            let why = format!("{why}; with weights, use one of {}", names.join(", "));
            return Err(PlanError::NotApplicable { algorithm: self.name, why });
        }
        let several = problem.unit.as_ref().is_some_and(Unit::has_several_rows);
        let (why, way) = match self.units {
            UnitSupport::Refused(why) if units => (why, ""),
            UnitSupport::OneRow(why) if several => (why, "declare `max_rows` 1, or "),
            _ => return Ok(()),
        };
        let carried = crate::ALGORITHMS.iter().filter(|a| a.units == UnitSupport::Carried);
        let names: Vec<_> = carried.map(|info| info.name).collect();
        let why = format!("{why}; with `unit`, {way}use one of {}", names.join(", "));
        Err(PlanError::NotApplicable { algorithm: self.name, why })
    }
}

impl Settings {
    /// Paper or tight; tight if not given.
    pub fn calibration(&self) -> Calibration {
        self.choice(&CALIBRATION).unwrap_or_default()
    }
}

/// A condition under which the guarantee or the predicted risk holds, and where it is proven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assumption {
    /// The assumed condition.
    pub statement: String,
    /// One of [`Assumption::ENFORCERS`].
    #[serde(alias = "held_by")]
    pub enforced_by: String,
    /// The theorem that needs it.
    pub theorem: String,
}

impl Assumption {
    /// Who can enforce an assumption: the owner of the data alone, the encoder that holds rows to
    /// their bounds, the plan (which `verify` recomputes), or the program while it runs.
    pub const ENFORCERS: [&'static str; 4] = ["owner", "encoder", "plan", "run"];

    pub(crate) fn new(statement: &str, enforced_by: &str, theorem: &str) -> Self {
        debug_assert!(Self::ENFORCERS.contains(&enforced_by), "{enforced_by}");
        Self {
            statement: statement.to_owned(),
            enforced_by: enforced_by.to_owned(),
            theorem: theorem.to_owned(),
        }
    }

    /// The assumptions of every method on bounded rows: the neighbouring relation, and bounds that
    /// hold and were not read off the data.
    pub(crate) fn of_bounded_rows(neighbours: &str, theorem: &str) -> Vec<Self> {
        let bounds = "every row's norm and label lie within the declared bounds";
        vec![
            Self::new(neighbours, "owner", theorem),
            Self::new(bounds, "encoder", theorem),
            Self::new("the declared bounds were not read off the data", "owner", theorem),
        ]
    }
}

impl Assumption {
    /// The assumption about the accountant's numerics where they are measured and not proven.
    pub(crate) fn of_numerics(event: &Event) -> Option<Self> {
        let statement = "the accountant's profiles of sampled Gaussians are off by at most 1e-11 + 1e-14 mu, relatively, and its Fourier transforms by 2e-15 (steps + 50) of the tilted mass; both are added to delta";
        let theorem = "measured in higher precision, not proven (SECURITY.md)";
        explain::is_measured(event).then(|| Self::new(statement, "plan", theorem))
    }

    /// Assumptions about rows as they read where a record is a unit.
    pub(crate) fn of_records(mut list: Vec<Self>, problem: &Problem) -> Vec<Self> {
        if problem.weighted {
            let theorem = "weighted rows (docs/weights.md)";
            list.push(Self::new(
                "every row's loss is multiplied by a weight between 0 and 1 that depends on that row alone",
                "encoder",
                theorem,
            ));
            let declared =
                "the declared largest weight and the weights of classes were not read off the data";
            list.push(Self::new(declared, "owner", theorem));
        }
        let Some(unit) = &problem.unit else { return list };
        let whose = unit.protected();
        let of_units = |statement: &str| {
            statement
                .replace("each row joins", "each unit joins")
                .replace("number of rows", "number of units")
                .replace("the declared rows", "the declared units")
                .replace("replacement of one row", &format!("replacement of {whose}"))
                .replace("by one row that counts", &format!("in {whose} that count"))
                .replace("or does not; n is public", "or do not; n is public")
                .replace("one row belongs to one person", "all rows of one person are of one unit")
                .replace("n is public", "the number of units is public, that of rows is not")
        };
        let mut all: Vec<_> =
            list.into_iter().map(|a| Self { statement: of_units(&a.statement), ..a }).collect();
        let theorem = "bounded contributions (docs/units.md)";
        all.push(Self::new(&format!("a record is {whose}"), "owner", theorem));
        all.push(Self::new(
            "which rows of a unit are used depends on that unit's rows alone, and its gradient is taken as one",
            "encoder",
            theorem,
        ));
        all.push(Self::new("the declared `max_rows` was not read off the data", "owner", theorem));
        all
    }
}

/// Tables that are neighbours where a row takes another's place.
pub(crate) const REPLACED: &str = "tables differ by the replacement of one row; n is public";

/// Tables that are neighbours where a row, or a null row, takes another's place.
pub(crate) const REPLACED_OR_NULL: &str =
    "tables differ by the replacement of one row (or a null row in its place); n is public";

/// Hears how far a run has come, and may stop it. It is told counts and never a value.
pub trait Progress: Sync {
    /// `done` of `total` steps are done.
    fn step(&self, done: u64, total: u64) -> ControlFlow<()>;
}

/// Hears nothing and never stops a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn step(&self, _: u64, _: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Why a plan could not be made. Every variant is raised before any row is read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The problem itself is not well declared.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The accountant refused.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// No lattice honours these settings.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A setting lies outside the range the theorem allows.
    #[error("`{name}` must be {expected}, got {got}")]
    OutOfRange {
        /// The setting.
        name: &'static str,
        /// Its range.
        expected: String,
        /// The given value.
        got: f64,
    },
    /// A setting is not one of the words that the algorithm knows, or not with the other settings.
    #[error("`{name}` must be {expected}, got {got}")]
    BadChoice {
        /// The setting.
        name: &'static str,
        /// The words that it may be, and where.
        expected: String,
        /// The word that was given.
        got: String,
    },
    /// The algorithm's proof needs a smooth loss.
    #[error(
        "{algorithm} needs a smooth loss; got {loss}, whose curvature is unbounded; try {instead}"
    )]
    NotSmooth {
        /// The algorithm.
        algorithm: &'static str,
        /// The loss.
        loss: String,
        /// The alternative to try.
        instead: &'static str,
    },
    /// The gradient is unbounded on `R^d`.
    #[error("gradient unbounded on R^d for the {loss} loss: give `radius` or `slope_limit`")]
    Unbounded {
        /// The loss.
        loss: &'static str,
    },
    /// The step is longer than the sensitivity theorem allows.
    #[error(
        "the step size {eta} exceeds 2/(beta + ridge) = {limit}; the sensitivity bound does not hold: give a smaller `step_size`"
    )]
    StepTooLong {
        /// The requested step size.
        eta: f64,
        /// The largest that is proven.
        limit: f64,
    },
    /// The proof is for another adjacency.
    #[error(
        "{algorithm} is proven for replace-one adjacency only: every formula divides by a public n; got {got}"
    )]
    Adjacency {
        /// The algorithm.
        algorithm: &'static str,
        /// The requested adjacency.
        got: String,
    },
    /// The problem speaks of units and the budget of rows, or the other way round.
    #[error(
        "`adjacency` must be one of {} and so end {}, got {got}", if *units { "units, because a `unit` is declared," } else { "rows, because no `unit` is declared," }, if *units { "in -unit" } else { "without -unit" }
    )]
    OtherRecords {
        /// Whether the problem declares a unit.
        units: bool,
        /// The budget's adjacency.
        got: String,
    },
    /// The algorithm needs a chance to fail.
    #[error("`delta` must be > 0: {algorithm} needs delta > 0; use output-gd for pure DP")]
    NeedsDelta {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// The paper's noise is not enough here.
    #[error("calibration gives delta={got:e} > {allowed:e}; use calibration=tight")]
    NotCertified {
        /// The accountant's delta for the paper's noise.
        got: f64,
        /// The budget's delta.
        allowed: f64,
    },
    /// A setting was given that the algorithm does not have.
    #[error("`{name}` is not a setting of {algorithm}; leave it out or name another algorithm")]
    NotASetting {
        /// The algorithm.
        algorithm: &'static str,
        /// The setting.
        name: &'static str,
    },
    /// The algorithm cannot serve this problem.
    #[error("{algorithm} {why}")]
    NotApplicable {
        /// The algorithm.
        algorithm: &'static str,
        /// The reason and a way out, as the rest of a sentence.
        why: String,
    },
    /// Nothing of this name.
    #[error("unknown algorithm `{got}`; expected one of {known}")]
    UnknownAlgorithm {
        /// The requested name.
        got: String,
        /// The known names.
        known: String,
    },
}

/// Why a run ended without a release. No variant depends on a row's value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The table has another shape than the plan.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// No noise could be drawn.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A solver did not reach its certificate; nothing was released. Proven not to happen, whatever
    /// the rows.
    #[error("the solver found no certificate; nothing was released")]
    NotCertified,
    /// Anyone who hears the progress stopped it; nothing was released.
    #[error("stopped after {done} of {total} steps; nothing was released")]
    Stopped {
        /// Steps done.
        done: u64,
        /// Steps planned.
        total: u64,
    },
    /// Where the run stands could not be kept.
    #[error("cannot write checkpoint: {why}")]
    NotKept {
        /// The reason for the failure.
        why: String,
    },
}

impl From<Withheld> for RunError {
    fn from(withheld: Withheld) -> Self {
        match withheld {
            Withheld::Oracle(error) => Self::Oracle(error),
            Withheld::NotCertified => Self::NotCertified,
        }
    }
}
