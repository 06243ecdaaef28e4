//! The certificate: the event, its privacy cost, and its assumptions.

use reticent_noise::Randomness;
use reticent_optim::{Assumption, Calibration, Plan, Release, Selection};
use reticent_privacy::risk::Risk;
use reticent_privacy::{Budget, Event, delta_upper, epsilon_upper};
use reticent_problem::Unit;
use serde::{Deserialize, Serialize};

use crate::ledger::Payment;
use crate::{Error, units};

/// Where the noise came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RandomnessUsed {
    /// The operating system.
    Secure,
    /// A given seed: anyone who knows it can remove the noise.
    Seeded,
}

/// A model's privacy statement and its assumptions. It can be re-checked without the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The guarantee in words.
    pub statement: String,
    /// Why the guarantee does not hold, if it does not.
    pub void: Option<String>,
    /// The promised budget, with the neighbouring relation.
    pub budget: Budget,
    /// The event's epsilon at the budget's delta; none if it is unbounded.
    pub epsilon_upper: Option<f64>,
    /// The risk that epsilon was chosen to keep, if one was given in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// The event on the data.
    pub event: Event,
    /// Paper or tight.
    pub calibration: Calibration,
    /// Where the noise came from.
    pub randomness: RandomnessUsed,
    /// Every choice, made before the data was opened.
    pub plan: Plan,
    /// The candidates among which the plan was selected on the private rows, if it was; budget and
    /// event are then those of the whole selection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// The assumptions of the guarantee.
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
            statement: statement(budget, None, &release.event, randomness, unit_of(&plan)),
            void: why_void(budget, randomness),
            budget,
            epsilon_upper: epsilon.is_finite().then_some(epsilon),
            risk: None,
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

    /// The same with the risk that its epsilon was chosen to keep.
    #[must_use]
    pub(crate) fn keeping(mut self, risk: Risk) -> Self {
        self.risk = Some(risk);
        self.statement = self.statement_that_follows();
        self
    }

    /// The statement that follows from the rest.
    pub(crate) fn statement_that_follows(&self) -> String {
        statement(self.budget, self.risk, &self.event, self.randomness, unit_of(&self.plan))
    }
}

/// The assumptions of the guarantee: the plan's own, and those of the selection, if there was one.
pub(crate) fn assumptions(plan: &Plan, selection: Option<&Selection>) -> Vec<Assumption> {
    let mut list = plan.assumptions();
    list.extend(selection.into_iter().flat_map(Selection::assumptions));
    list
}

/// The guarantee in words. An event that needs no delta is stated without one, even if the budget
/// allowed it. Nothing is promised where the certificate is void.
fn statement(
    budget: Budget,
    risk: Option<Risk>,
    event: &Event,
    randomness: RandomnessUsed,
    unit: Option<&Unit>,
) -> String {
    match why_void(budget, randomness) {
        Some(void) => format!("No privacy is promised: {void}."),
        None => format!("This model is {}.", guarantee(budget, risk, event, unit)),
    }
}

/// The statement for a file whose checks fail.
pub(crate) fn claim(certificate: &Certificate) -> String {
    let Certificate { budget, risk, event, plan, .. } = certificate;
    let guarantee = guarantee(*budget, *risk, event, unit_of(plan));
    format!("The file claims to be {guarantee}; this is not shown.")
}

/// Whose rows count as one record of a plan.
pub(crate) fn unit_of(plan: &Plan) -> Option<&Unit> {
    plan.outline().problem.unit.as_ref()
}

fn guarantee(budget: Budget, risk: Option<Risk>, event: &Event, unit: Option<&Unit>) -> String {
    let (epsilon, delta) = (budget.epsilon, budget.delta.get());
    let change = units::change(budget.adjacency, unit);
    let risk = risk.map_or_else(String::new, |risk| format!(", and {risk}"));
    if delta_upper(event, epsilon.get()).is_ok_and(|delta| delta == 0.0) {
        format!("epsilon-differentially private with epsilon = {epsilon} under {change}{risk}")
    } else {
        format!(
            "(epsilon, delta)-differentially private with epsilon = {epsilon} and delta = {delta:e} under {change}{risk}"
        )
    }
}

/// Whether fields whose text nothing else fixes hold what a program writes there.
pub(crate) fn is_well_formed(software: &str, payment: Option<&Payment>) -> bool {
    let version = software.strip_prefix("reticent ").unwrap_or_default();
    let of_version = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    let is_version = (1..=40).contains(&version.len())
        && version.starts_with(|c: char| c.is_ascii_digit())
        && version.chars().all(of_version);
    let is_ledger = |name: &str| name.len() == 32 && name.chars().all(|c| c.is_ascii_hexdigit());
    is_version && payment.is_none_or(|payment| is_ledger(&payment.ledger))
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
