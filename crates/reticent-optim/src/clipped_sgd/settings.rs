//! What a user may fix, and its ranges.

use serde::{Deserialize, Serialize};

use super::selection::{CELLS, MAX_CELLS, SPAN, Selection, at_zero};
use super::tails::Moment;
use super::{ClippedSgd, NAME};
use crate::{PlanError, Request};
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
    /// How many noisy sums the output can depend on: the last iterate uses `T`, the others never use the last step.
    pub fn noisy_steps(self, steps: u64) -> u64 {
        if self == Self::Last { steps } else { steps - 1 }
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Average => "average",
            Self::TailAverage => "tail-average",
            Self::Last => "last",
            Self::Random => "random",
        }
    }
}

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
        /// What the choice spends.
        epsilon: f64,
        /// Where the grid begins; the constant of a row of norm 1 if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        low: Option<f64>,
        /// Where it ends; a thousand times its beginning if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        high: Option<f64>,
    },
    /// A part of the usual gradient at the first weights, which is found by the exponential mechanism.
    Usual {
        /// Which part.
        part: f64,
        /// What finding it spends; a tenth of the whole epsilon if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epsilon: Option<f64>,
    },
    /// By the theorem for declared moments that fits the problem.
    Moments {
        /// What is declared of the gradients' lengths.
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

/// Clip norms for which nothing overflows on the way, whatever the rows are.
const LENGTHS: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

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
    pub(super) fn from_request(request: &Request) -> Result<Self, PlanError> {
        let rules = [
            ("clip", request.clip.is_some()),
            ("clip_part", request.clip_part.is_some()),
            ("clip_selection", request.clip_selection.is_some() && request.clip_part.is_none()),
            ("gradient_moment", request.gradient_moment.is_some()),
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
        let needs = |name: &'static str, given: bool, what: &str| {
            if given {
                return Err(PlanError::NotApplicable {
                    algorithm: NAME,
                    why: format!(
                        "uses `{name}` with `{what}` alone: give `{what}` or leave it out"
                    ),
                });
            }
            Ok(())
        };
        if request.clip_selection.is_none() || request.clip_part.is_some() {
            needs("clip_low", request.clip_low.is_some(), "clip_selection")?;
            needs("clip_high", request.clip_high.is_some(), "clip_selection")?;
        }
        if request.gradient_moment.is_none() {
            needs("moment_order", request.moment_order.is_some(), "gradient_moment")?;
            needs("moment_failure", request.moment_failure.is_some(), "gradient_moment")?;
            needs("growth_radius", request.growth_radius.is_some(), "gradient_moment")?;
            needs("smoothness", request.smoothness.is_some(), "gradient_moment")?;
        }
        Ok(if let Some(part) = request.clip_part {
            Self::Usual { part, epsilon: request.clip_selection }
        } else if let Some(epsilon) = request.clip_selection {
            Self::Selected { epsilon, low: request.clip_low, high: request.clip_high }
        } else if let Some(bound) = request.gradient_moment {
            let moment = Moment {
                bound,
                order: request.moment_order.unwrap_or(2.0),
                failure: request.moment_failure.unwrap_or(0.1),
            };
            let (growth_radius, smoothness) = (request.growth_radius, request.smoothness);
            Self::Moments { moment, growth_radius, smoothness }
        } else {
            request.clip.map_or_else(Self::default, |norm| Self::Public { norm })
        })
    }

    fn check(&self) -> Result<(), PlanError> {
        match *self {
            Self::Public { norm } => {
                range(LENGTHS.contains(&norm), "clip", "positive, between 1e-100 and 1e100", norm)
            }
            Self::Selected { epsilon, low, high } => {
                positive("clip_selection", Some(epsilon))?;
                positive("clip_low", low)?;
                positive("clip_high", high)
            }
            Self::Usual { part, epsilon } => {
                range((1e-6..=1e6).contains(&part), "clip_part", "between 1e-6 and 1e6", part)?;
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
    ) -> Result<Option<Selection>, PlanError> {
        let (epsilon, low, high) = match *self {
            Self::Selected { epsilon, low, high } => (epsilon, low, high),
            Self::Usual { part, epsilon } => {
                let largest = largest_at_zero(problem)?;
                let found = Selection::of_usual(part, epsilon, budget, largest, problem.rows);
                return checked(found).map(Some);
            }
            _ => return Ok(None),
        };
        let least = row_constant(problem)?;
        let low = low.unwrap_or(least);
        let high = high.unwrap_or(SPAN * low);
        range(high > low, "clip_high", "above `clip_low`", high)?;
        debug_assert!((2..=MAX_CELLS).contains(&CELLS), "a grid has cells");
        checked(Selection { epsilon, low, high, cells: CELLS, usual: None }).map(Some)
    }
}

/// Refuses a choice that could end outside the range of clip norms: a run must not fail for what it found.
fn checked(selection: Selection) -> Result<Selection, PlanError> {
    for (name, end) in [("clip_low", selection.low), ("clip_high", selection.high)] {
        let (clip, most) = (selection.clip(end), "a clip norm between 1e-100 and 1e100");
        range(
            LENGTHS.contains(&clip),
            if selection.usual.is_some() { "clip_part" } else { name },
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
            "finds the usual gradient of bounded rows with bounded numbers as labels, for the losses {}, without a hidden layer; give `clip` instead of `clip_part`",
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
        positive("eta", self.eta)?;
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
