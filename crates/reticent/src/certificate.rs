//! The certificate: what was done, what it costs, and what it rests on.

use reticent_noise::Randomness;
use reticent_optim::{Assumption, Calibration, Plan, Release, Selection};
use reticent_privacy::{Budget, Event, delta_upper, epsilon_upper};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::ledger::Payment;

/// Where the noise came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RandomnessUsed {
    /// The operating system.
    Secure,
    /// A given seed: whoever knows it can take the noise off again.
    Seeded,
}

/// What a model's privacy statement says and rests on. It can be re-checked without the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The guarantee in words.
    pub statement: String,
    /// Why the guarantee does not hold, if it does not.
    pub void: Option<String>,
    /// What was promised, and for which neighbours.
    pub budget: Budget,
    /// What the event costs at the budget's delta; none if it is unbounded.
    pub epsilon_upper: Option<f64>,
    /// What was done to the data.
    pub event: Event,
    /// Paper or tight.
    pub calibration: Calibration,
    /// Where the noise came from.
    pub randomness: RandomnessUsed,
    /// Every choice, made before the data was opened.
    pub plan: Plan,
    /// What the plan was chosen among on the private rows, if it was; then budget and event are those of the whole choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// What the guarantee rests on.
    pub assumptions: Vec<Assumption>,
    /// The program and its version.
    pub software: String,
    /// Which ledger paid, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment: Option<Payment>,
}

impl Certificate {
    /// The certificate of a release made by `plan`.
    ///
    /// # Errors
    ///
    /// If the accountant cannot analyse the event.
    pub fn new(plan: Plan, release: &Release, randomness: Randomness) -> Result<Self, Error> {
        Self::of(plan, None, release, randomness)
    }

    /// The certificate of a release made by `plan`, the best of a selection's runs.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn of_selected(
        plan: Plan,
        selection: Selection,
        release: &Release,
        randomness: Randomness,
    ) -> Result<Self, Error> {
        Self::of(plan, Some(selection), release, randomness)
    }

    fn of(
        plan: Plan,
        selection: Option<Selection>,
        release: &Release,
        randomness: Randomness,
    ) -> Result<Self, Error> {
        let randomness = match randomness {
            Randomness::Secure => RandomnessUsed::Secure,
            Randomness::Seeded => RandomnessUsed::Seeded,
        };
        let budget = selection.as_ref().map_or(plan.outline().budget, |s| s.budget);
        let epsilon = epsilon_upper(&release.event, budget.delta.get())?;
        Ok(Self {
            statement: statement(budget, &release.event, randomness),
            void: why_void(budget, randomness),
            budget,
            epsilon_upper: epsilon.is_finite().then_some(epsilon),
            event: release.event.clone(),
            calibration: plan.calibration(),
            randomness,
            assumptions: assumptions(&plan, selection.as_ref()),
            plan,
            selection,
            software: concat!("reticent ", env!("CARGO_PKG_VERSION")).to_owned(),
            payment: None,
        })
    }
}

/// What the guarantee rests on: the plan's own, and those of the choice, if there was one.
pub(crate) fn assumptions(plan: &Plan, selection: Option<&Selection>) -> Vec<Assumption> {
    let mut list = plan.assumptions();
    list.extend(selection.into_iter().flat_map(Selection::assumptions));
    list
}

/// The guarantee in words. An event that needs no delta is stated without one, even if the budget allowed it.
/// Nothing is promised where the certificate is void.
pub(crate) fn statement(budget: Budget, event: &Event, randomness: RandomnessUsed) -> String {
    match why_void(budget, randomness) {
        Some(void) => format!("No privacy is promised: {void}."),
        None => format!("This model is {}.", guarantee(budget, event)),
    }
}

/// What a file says whose checks fail.
pub(crate) fn claim(budget: Budget, event: &Event) -> String {
    format!("The file claims to be {}; this is not shown.", guarantee(budget, event))
}

fn guarantee(budget: Budget, event: &Event) -> String {
    let (epsilon, delta, adjacency) = (budget.epsilon, budget.delta.get(), budget.adjacency);
    if delta_upper(event, epsilon.get()).is_ok_and(|delta| delta == 0.0) {
        format!(
            "epsilon-differentially private with epsilon = {epsilon} under {adjacency} adjacency of rows"
        )
    } else {
        format!(
            "(epsilon, delta)-differentially private with epsilon = {epsilon} and delta = {delta:e} under {adjacency} adjacency of rows"
        )
    }
}

/// Why the statement does not hold, if it does not.
pub(crate) fn why_void(budget: Budget, randomness: RandomnessUsed) -> Option<String> {
    if budget.epsilon.is_infinite() {
        Some("epsilon is infinite: no noise was added".to_owned())
    } else if randomness == RandomnessUsed::Seeded {
        Some("the noise came from a given seed: whoever knows the seed can remove it".to_owned())
    } else {
        None
    }
}
