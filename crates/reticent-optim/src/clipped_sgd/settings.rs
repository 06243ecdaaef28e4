//! The settings that a user may fix, and their ranges.

use serde::{Deserialize, Serialize};

use super::selection::{ClipSelection, MAX_CELLS, at_zero};
use super::tails::Moment;
use super::{ClippedSgd, NAME};
use crate::PlanError;
use crate::setting::{
    BATCH, CALIBRATION, CLIP, CLIP_LENGTHS, Checked, DISTANCE, End, Kind, OWN_RIDGE, Range,
    SMOOTHNESS, STEP_SIZE, STEPS, Setting, Words as _, up_to, words,
};
use crate::tuning::{SELECTION_CELLS, SELECTION_SPAN};
use reticent_data::Preconditioner;
use reticent_problem::loss::About;
use reticent_problem::{Loss, Problem};

/// Which iterate is released. All of them are functions of the same noisy sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Output {
    /// The mean of `w_0` to `w_{T−1}`: the convex theorems hold for it.
    Average,
    /// The mean of the later half of those.
    TailAverage,
    /// `w_T`.
    Last,
    /// One of `w_0` to `w_{T−1}`, drawn uniformly: the nonconvex theorem holds for it.
    Random,
}

impl Output {
    /// How many noisy sums the output can depend on: the last iterate uses `T`, the others never
    /// use the last step.
    pub fn noisy_steps(self, steps: u64) -> u64 {
        if self == Self::Last { steps } else { steps - 1 }
    }
}

words! { Output:
    Average = "average", "The mean of all iterates";
    TailAverage = "tail-average", "The mean of the later half";
    Last = "last", "The last one";
    Random = "random", "A random one";
}

/// Whether the step size is adaptive.
pub const ADAPTIVE_STEP: Setting = Setting::flag(
    "adaptive_step",
    "Adapt the step size to the noisy gradients (hypergradient), beginning at `step_size`; costs no privacy",
)
.by_default("off; with `auto` on where `step_size` is not given");

/// `k`, what is kept of the rows' mean direction.
pub const PRECONDITION: Setting = Setting::number(
    "precondition",
    Range::closed(Preconditioner::LEAST, 1.0),
    "Precondition with the private mean direction, of which this part is kept, and private feature scales; in regression start at the private label mean",
)
.by_default("none; with `auto` 0.3 where it is served")
.limited("for linear models on bounded rows, without ridge and set");

/// `κ`, how strongly preconditioned weights are pulled towards zero.
pub const SHRINKAGE: Setting = Setting::number(
    "shrinkage",
    Range::new(End::Closed(0.0), End::Open(f64::INFINITY)),
    "Pull preconditioned weights towards zero, by this multiple of what suits their noise; costs no privacy",
)
.by_default("0; with `auto` 2.5 where it is served")
.limited("for classification, with `precondition`");

/// `κ` of curves, how strongly they are drawn towards lines.
pub const STRAIGHTENING: Setting = Setting::number(
    "straightening",
    Range::new(End::Closed(0.0), End::Open(f64::INFINITY)),
    "Draw released curves towards lines where noise explains their bends, for this multiple of the noise that is reckoned; costs no privacy",
)
.by_default("0; with `auto` 0.3 where it is served")
.limited("for curves with even knots and smooth losses with one output, with `precondition`");

/// The clipping norm over the 70th-percentile gradient norm.
pub const CLIP_QUANTILE_MULTIPLE: Setting = Setting::number(
    "clip_quantile_multiple",
    Range::closed(1e-6, 1e6),
    "Clip at this multiple of the 70th-percentile gradient norm, which is estimated privately; for regression",
)
.by_default("none");

/// The epsilon spent on a private choice of the clipping norm.
pub const CLIP_SELECTION: Setting = Setting::number(
    "clip_selection",
    Range::POSITIVE,
    "Choose the clipping norm privately, near the smallest per-row Lipschitz constant, spending this much of epsilon; with `clip_quantile_multiple`, what its estimate spends",
)
.by_default("none; with `clip_quantile_multiple` a tenth of epsilon, less where rows are many");

/// Where the grid of that choice begins.
pub const CLIP_LOW: Setting =
    Setting::number("clip_low", Range::POSITIVE, "The least clipping norm of that choice")
        .by_default("the Lipschitz constant of a row of norm 1")
        .limited("with `clip_selection` alone");

/// Where it ends.
pub const CLIP_HIGH: Setting =
    Setting::number("clip_high", Range::POSITIVE, "The largest clipping norm of that choice")
        .by_default("1000 times `clip_low`")
        .limited("with `clip_selection` alone");

const WITH_MOMENT: &str = "with `gradient_moment` alone";

/// A declared bound on a moment of the gradients' lengths.
pub const GRADIENT_MOMENT: Setting = Setting::number(
    "gradient_moment",
    Range::POSITIVE,
    "Clip for heavy tails: a bound on E[G^k]^(1/k) of the gradients' lengths G, known without the data",
)
.by_default("none");

/// The order of that moment.
pub const MOMENT_ORDER: Setting = Setting::number(
    "moment_order",
    Range::new(End::Open(1.0), End::Closed(f64::INFINITY)),
    "The order k of that moment; inf for a bound on all of them",
)
.by_default("2")
.limited(WITH_MOMENT);

/// How often the bound may fail over the draw of the table.
pub const MOMENT_FAILURE: Setting = Setting::number(
    "moment_failure",
    Range::new(End::Open(0.0), End::Open(1.0)),
    "How often the risk bound may fail over the draw of the table",
)
.by_default("0.1")
.limited(WITH_MOMENT);

/// Beyond this distance from the best weights the loss is declared to grow.
pub const GROWTH_RADIUS: Setting = Setting::number(
    "growth_radius",
    Range::POSITIVE,
    "Beyond this distance from the best weights the loss grows",
)
.by_default("none")
.limited(WITH_MOMENT);

/// Which iterate is released.
pub const OUTPUT: Setting = Setting::choice(
    "output",
    Output::WORDS,
    "average; last for a network",
    "Which iterate of noisy steps is released; all cost the same",
);

pub(super) const SETTINGS: &[Setting] = &[
    CALIBRATION.limited("paper: full batches"),
    OWN_RIDGE,
    STEPS
        .within(up_to(1, reticent_privacy::MAX_STEPS))
        .by_default("as many as the noise allows, at most 50 n/b"),
    STEP_SIZE.by_default("D/(tau sqrt(T V)), or the theorem's; with `adaptive_step` by the noise"),
    ADAPTIVE_STEP,
    PRECONDITION,
    SHRINKAGE,
    STRAIGHTENING,
    DISTANCE.by_default("the set's radius, or 10"),
    BATCH.by_default("n, or the smallest that costs no accuracy"),
    CLIP.within(Kind::Number(CLIP_LENGTHS)).by_default("1"),
    CLIP_QUANTILE_MULTIPLE,
    CLIP_SELECTION,
    CLIP_LOW,
    CLIP_HIGH,
    GRADIENT_MOMENT,
    MOMENT_ORDER,
    MOMENT_FAILURE,
    GROWTH_RADIUS,
    SMOOTHNESS.by_default("none").limited(WITH_MOMENT),
    OUTPUT,
];

/// How the clip norm is found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Clip {
    /// A constant fixed without looking at the data.
    Public {
        /// `τ`.
        norm: f64,
    },
    /// Near the smallest per-row Lipschitz constant, by the exponential mechanism.
    Selected {
        /// The epsilon spent on the choice.
        epsilon: f64,
        /// Where the grid begins; the constant of a row of norm 1 if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        low: Option<f64>,
        /// Where it ends; a thousand times its beginning if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        high: Option<f64>,
    },
    /// A multiple of the 70th-percentile gradient norm at the first weights, which is found by the
    /// exponential mechanism.
    #[serde(alias = "usual")]
    Quantile {
        /// The clip norm over that length.
        #[serde(alias = "part")]
        multiple: f64,
        /// The epsilon spent on finding it; if not given, a tenth of the whole epsilon and no more
        /// than `2 ln(K/β)/(0.03 n)`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epsilon: Option<f64>,
    },
    /// By the theorem for declared moments that fits the problem.
    Moments {
        /// The declared moment of the gradient norms.
        moment: Moment,
        /// Beyond this distance from the best weights the loss grows (Theorem K.1).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        growth_radius: Option<f64>,
        /// `L` of the averaged loss, for a network (Theorem N.1).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        smoothness: Option<f64>,
    },
}

impl Default for Clip {
    fn default() -> Self {
        Self::Public { norm: 1.0 }
    }
}

fn range(ok: bool, name: &'static str, expected: &str, got: f64) -> Result<(), PlanError> {
    if ok {
        Ok(())
    } else {
        Err(PlanError::OutOfRange { name, expected: expected.to_owned(), got })
    }
}

fn positive(name: &'static str, value: Option<f64>) -> Result<(), PlanError> {
    match value {
        Some(x) => range(x.is_finite() && x > 0.0, name, "a finite number > 0", x),
        None => Ok(()),
    }
}

impl Clip {
    /// The rule that was asked for.
    pub(super) fn read(settings: Checked<'_>) -> Result<Self, PlanError> {
        let [norm, part, selection, bound] =
            [&CLIP, &CLIP_QUANTILE_MULTIPLE, &CLIP_SELECTION, &GRADIENT_MOMENT]
                .map(|s| settings.number(s));
        let rules = [
            (CLIP.name, norm.is_some()),
            (CLIP_QUANTILE_MULTIPLE.name, part.is_some()),
            (CLIP_SELECTION.name, selection.is_some() && part.is_none()),
            (GRADIENT_MOMENT.name, bound.is_some()),
        ];
        let mut given = rules.iter().filter(|(_, given)| *given).map(|(name, _)| *name);
        if let (Some(one), Some(other)) = (given.next(), given.next()) {
            return Err(PlanError::NotApplicable {
                algorithm: NAME,
                why: format!(
                    "takes one rule for the clip norm; got `{one}` and `{other}`: leave one out"
                ),
            });
        }
        let needs = |setting: &Setting, rule: &Setting| {
            if settings.has(setting) {
                let (name, what) = (setting.name, rule.name);
                return Err(PlanError::NotApplicable {
                    algorithm: NAME,
                    why: format!(
                        "uses `{name}` with `{what}` alone: give `{what}` or leave it out"
                    ),
                });
            }
            Ok(())
        };
        if selection.is_none() || part.is_some() {
            needs(&CLIP_LOW, &CLIP_SELECTION)?;
            needs(&CLIP_HIGH, &CLIP_SELECTION)?;
        }
        if bound.is_none() {
            for setting in [&MOMENT_ORDER, &MOMENT_FAILURE, &GROWTH_RADIUS, &SMOOTHNESS] {
                needs(setting, &GRADIENT_MOMENT)?;
            }
        }
        Ok(if let Some(part) = part {
            Self::Quantile { multiple: part, epsilon: selection }
        } else if let Some(epsilon) = selection {
            let [low, high] = [&CLIP_LOW, &CLIP_HIGH].map(|s| settings.number(s));
            Self::Selected { epsilon, low, high }
        } else if let Some(bound) = bound {
            let moment = Moment {
                bound,
                order: settings.number(&MOMENT_ORDER).unwrap_or(2.0),
                failure: settings.number(&MOMENT_FAILURE).unwrap_or(0.1),
            };
            let [growth_radius, smoothness] =
                [&GROWTH_RADIUS, &SMOOTHNESS].map(|s| settings.number(s));
            Self::Moments { moment, growth_radius, smoothness }
        } else {
            norm.map_or_else(Self::default, |norm| Self::Public { norm })
        })
    }

    fn check(&self) -> Result<(), PlanError> {
        match *self {
            Self::Public { norm } => range(
                CLIP_LENGTHS.contains(norm),
                "clip",
                "positive, between 1e-100 and 1e100",
                norm,
            ),
            Self::Selected { epsilon, low, high } => {
                positive("clip_selection", Some(epsilon))?;
                positive("clip_low", low)?;
                positive("clip_high", high)
            }
            Self::Quantile { multiple: part, epsilon } => {
                range(
                    (1e-6..=1e6).contains(&part),
                    "clip_quantile_multiple",
                    "between 1e-6 and 1e6",
                    part,
                )?;
                positive("clip_selection", epsilon)
            }
            Self::Moments { moment, growth_radius, smoothness } => {
                positive("gradient_moment", Some(moment.bound))?;
                range(moment.order > 1.0, "moment_order", "above 1", moment.order)?;
                let gamma = moment.failure;
                range(gamma > 0.0 && gamma < 1.0, "moment_failure", "between 0 and 1", gamma)?;
                positive("growth_radius", growth_radius)?;
                positive("smoothness", smoothness)
            }
        }
    }

    /// The grid of a private choice, if that is the rule.
    pub(super) fn selection(
        &self,
        problem: &Problem,
        budget: f64,
    ) -> Result<Option<ClipSelection>, PlanError> {
        let (epsilon, low, high) = match *self {
            Self::Selected { epsilon, low, high } => (epsilon, low, high),
            Self::Quantile { multiple: part, epsilon } => {
                let largest = largest_at_zero(problem)?;
                let found =
                    ClipSelection::of_quantile(part, epsilon, budget, largest, problem.rows);
                return checked(found).map(Some);
            }
            _ => return Ok(None),
        };
        let least = row_constant(problem)?;
        let low = low.unwrap_or(least);
        let high = high.unwrap_or(SELECTION_SPAN * low);
        range(high > low, "clip_high", "above `clip_low`", high)?;
        debug_assert!((2..=MAX_CELLS).contains(&SELECTION_CELLS), "a grid has cells");
        checked(ClipSelection { epsilon, low, high, cells: SELECTION_CELLS, quantile: None })
            .map(Some)
    }
}

/// Refuses a choice that could end outside the range of clip norms: a run must not fail for what it
/// found.
fn checked(selection: ClipSelection) -> Result<ClipSelection, PlanError> {
    for (name, end) in [("clip_low", selection.low), ("clip_high", selection.high)] {
        let (clip, most) = (selection.clip(end), "a clip norm between 1e-100 and 1e100");
        range(
            CLIP_LENGTHS.contains(clip),
            if selection.quantile.is_some() { "clip_quantile_multiple" } else { name },
            most,
            clip,
        )?;
    }
    Ok(selection)
}

/// The longest gradient at zero weights, where they tell how long gradients are.
fn largest_at_zero(problem: &Problem) -> Result<f64, PlanError> {
    let (norm, label) = (problem.bounds.norm(), problem.bounds.label());
    let largest = at_zero(problem).filter(|_| problem.hidden.is_none()).map(|zero| {
        let free = zero.loss.row_lipschitz(norm, label, 0.0);
        zero.slope_limit.map_or(free, |limit| free.min(limit * norm))
    });
    largest.filter(|largest| largest.is_normal()).ok_or_else(|| PlanError::NotApplicable {
        algorithm: NAME,
        why: format!(
            "finds the 70th-percentile gradient norm of bounded rows with bounded numbers as labels, for the losses {}, without a hidden layer; give `clip` instead of `clip_quantile_multiple`",
            following_labels().join(", ")
        ),
    })
}

/// The losses whose gradients at zero tell how long gradients are.
fn following_labels() -> Vec<&'static str> {
    let follows = |about: &&&About| about.samples.iter().any(|loss| loss.at_zero().is_some());
    Loss::ALL.iter().filter(follows).map(|about| about.name).collect()
}

/// `G_i` of a row of norm 1 and label 0: every row with an intercept has at least this one.
fn row_constant(problem: &Problem) -> Result<f64, PlanError> {
    let constant = if problem.hidden.is_some() {
        f64::INFINITY
    } else {
        problem.loss.row_lipschitz(1.0, 0.0, problem.domain.radius())
    };
    if constant.is_finite() {
        return Ok(constant);
    }
    Err(PlanError::NotApplicable {
        algorithm: NAME,
        why: if problem.hidden.is_some() {
            "cannot choose a clip norm for a network privately: its per-sample Lipschitz constants are infinite; give `clip`".to_owned()
        } else {
            "cannot choose a clip norm privately: per-sample Lipschitz constants are infinite on R^d; give a radius".to_owned()
        },
    })
}

impl ClippedSgd {
    /// Checks what does not depend on the budget.
    pub(super) fn check(&self, problem: &Problem) -> Result<(), PlanError> {
        self.clip.check()?;
        positive("step_size", self.eta)?;
        positive("distance", self.distance)?;
        if let Some(steps) = self.steps {
            let most = reticent_privacy::MAX_STEPS;
            range(
                (1..=most).contains(&steps),
                "steps",
                "a whole number from 1 to 1000000000",
                steps as f64,
            )?;
        }
        if let Some(batch) = self.batch {
            let rows = problem.rows;
            range(
                (1..=rows as u64).contains(&batch),
                "batch",
                &format!("a whole number from 1 to the number of rows, {rows}"),
                batch as f64,
            )?;
        }
        Ok(())
    }
}
