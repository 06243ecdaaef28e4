//! The auditor: it attacks an algorithm as implemented and reports lower bounds on its privacy
//! loss.
//!
//! Nothing of the proof is used. The algorithm is run many times on two neighbouring tables that
//! differ in a canary row at the declared bounds; a score of the released weights is learned on one
//! half of the runs, and the other half gives lower bounds with stated confidence
//! ([`reticent_privacy::audit`]): on epsilon, and on the profile `δ(ε)`. A bound above the claim is
//! a fault. A bound close to it says that no noise is wasted.
//!
//! [`one_run`] uses many canaries in one run; this module uses one canary in many runs.

mod campaign;
mod neighbours;
pub mod one_run;
mod score;

use reticent_data::{LocalOracle, Oracle, Rows, Speed};
use reticent_noise::Source;
use reticent_optim::{Plan, Progress, Quiet};
use reticent_privacy::audit::{Audit, check_settings};
use reticent_privacy::{Adjacency, Event, delta_upper, epsilon_upper};
use reticent_problem::feature_map::MapLaw;
use reticent_problem::{Problem, Unit};
use serde::Serialize;

use crate::Error;
use campaign::Campaign;
use neighbours::pairs;

/// A mechanism under audit: rows and randomness in, a vector of weights out. A [`Plan`] is one; a
/// copy that was broken on purpose is another.
pub trait Audited: Sync {
    /// The rows of units, where records are units: those with the same key belong together.
    ///
    /// # Errors
    ///
    /// If there is not one key for each row.
    fn group(&self, rows: Rows, keys: &[usize], unit: &Unit) -> Result<Rows, Error> {
        Ok(rows.grouped(keys.iter().copied().map(Some), unit)?)
    }

    /// The door to a table.
    ///
    /// # Errors
    ///
    /// If the table cannot be served.
    fn oracle(&self, rows: Rows) -> Result<Box<dyn Oracle>, Error> {
        Ok(Box::new(LocalOracle::new(rows, Speed::default())?))
    }

    /// The output of one run.
    ///
    /// # Errors
    ///
    /// If the run fails.
    fn release(&self, oracle: &dyn Oracle, source: &Source) -> Result<Vec<f64>, Error>;
}

impl Audited for Plan {
    fn release(&self, oracle: &dyn Oracle, source: &Source) -> Result<Vec<f64>, Error> {
        let release = self.run(oracle, source, &Quiet)?;
        let mut all = release.weights;
        all.extend(release.curvature.unwrap_or_default());
        all.extend(release.blocks.unwrap_or_default());
        Ok(all)
    }
}

/// The claimed guarantee of a mechanism.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// The bounds that rows keep.
    pub problem: Problem,
    /// Which tables are neighbours.
    pub adjacency: Adjacency,
    /// The claimed event on the data; its whole privacy profile is claimed.
    pub event: Event,
    /// The delta at which epsilon is stated.
    pub delta: f64,
    /// The event's epsilon at that delta.
    pub epsilon: f64,
}

impl Claim {
    /// The claim of a plan.
    ///
    /// # Errors
    ///
    /// The accountant's.
    pub fn of(plan: &Plan) -> Result<Self, Error> {
        let outline = plan.outline();
        let delta = outline.budget.delta.get();
        Ok(Self {
            algorithm: plan.algorithm(),
            problem: outline.problem.clone(),
            adjacency: outline.budget.adjacency,
            event: outline.event.clone(),
            delta,
            epsilon: epsilon_upper(&outline.event, delta)?,
        })
    }

    /// Points of the claimed profile, each beside the attack's lower bound.
    fn profile(&self, audit: &Audit) -> Result<Vec<ProfilePoint>, Error> {
        if !self.epsilon.is_finite() {
            return Ok(Vec::new());
        }
        [0.0, 0.125, 0.25, 0.5, 0.75, 1.0]
            .into_iter()
            .map(|share| {
                let epsilon = share * self.epsilon;
                let delta_claimed = delta_upper(&self.event, epsilon)?;
                Ok(ProfilePoint { epsilon, delta_claimed, delta_lower: audit.delta_lower(epsilon) })
            })
            .collect()
    }
}

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attack {
    /// Runs on each of the two tables; half fix the test, half are judged.
    pub runs: usize,
    /// The chance that the bounds hold.
    pub confidence: f64,
    /// Repeatable noise. The tables are simulated, so nobody is exposed.
    pub seed: Option<u64>,
    /// The map of a kernel model: rows are then inputs, and runs read their features through the
    /// map.
    pub map: Option<MapLaw>,
}

impl Default for Attack {
    fn default() -> Self {
        Self { runs: 10_000, confidence: 0.95, seed: None, map: None }
    }
}

/// One point of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ProfilePoint {
    /// `ε`.
    pub epsilon: f64,
    /// `δ(ε)`, as claimed.
    pub delta_claimed: f64,
    /// No smaller `δ(ε)` holds, with the stated confidence.
    pub delta_lower: f64,
}

impl ProfilePoint {
    /// Whether the attack contradicts the claim here.
    pub fn exceeded(&self) -> bool {
        self.delta_lower > self.delta_claimed
    }
}

/// The result of an attack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The claimed event's epsilon at its delta.
    pub epsilon_claimed: f64,
    /// The delta.
    pub delta: f64,
    /// No smaller epsilon holds, with the stated confidence.
    pub epsilon_lower: f64,
    /// The same, if the trade-off curve is that of two normal laws; none where the claimed noise is
    /// not Gaussian.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon_lower_gdp: Option<f64>,
    /// Points of the claimed profile.
    pub profile: Vec<ProfilePoint>,
    /// The chance that the bounds hold.
    pub confidence: f64,
    /// Runs that were judged, on each table.
    pub runs: u64,
    /// The tables.
    pub neighbours: String,
    /// Whether a bound exceeds the claim, or a point of the profile is exceeded: the algorithm, or
    /// its accounting, is broken.
    pub violated: bool,
}

/// Attacks `audited` on the neighbouring tables of `claim` on which it is easiest to tell apart.
///
/// # Errors
///
/// If a run fails or a setting is out of range.
pub fn attack(
    audited: &dyn Audited,
    claim: &Claim,
    settings: Attack,
    progress: &dyn Progress,
) -> Result<Finding, Error> {
    check_settings(settings.runs, claim.delta, settings.confidence)?;
    let candidates = pairs(audited, &claim.problem, claim.adjacency, settings.map.as_ref())?;
    if candidates.is_empty() {
        return Err(Error::Arguments(
            "`adjacency` must be replace-one or add-remove-one to audit a network or a kernel model, got zero-out: no row of a table adds nothing there; audit under one of those",
        ));
    }
    let campaign = Campaign::new(audited, settings, claim.delta, candidates.len(), progress);
    let pair = campaign.most_telling(&candidates)?;
    let (with, without) = campaign.outputs(pair, settings.runs)?;
    let audit = score::judge(&with, &without, claim.delta, settings.confidence)?;
    let profile = claim.profile(&audit)?;
    let gdp = is_gaussian(&claim.event).then_some(audit.epsilon_lower_gdp);
    let above = |lower: f64| lower > claim.epsilon;
    Ok(Finding {
        algorithm: claim.algorithm,
        epsilon_claimed: claim.epsilon,
        delta: claim.delta,
        epsilon_lower: audit.epsilon_lower,
        epsilon_lower_gdp: gdp,
        violated: above(audit.epsilon_lower)
            || gdp.is_some_and(above)
            || profile.iter().any(ProfilePoint::exceeded),
        profile,
        confidence: audit.confidence,
        runs: audit.runs,
        neighbours: pair.name.clone(),
    })
}

/// Whether a claim is that of Gaussian noise on sums over all rows: then no trade-off curve may lie
/// above that of two normal laws, and a measured point above it refutes the claim. Secret batches
/// and any other noise have another curve.
fn is_gaussian(event: &Event) -> bool {
    match event {
        Event::Gaussian { .. } | Event::EpochPartitionGaussian { .. } => true,
        Event::PoissonGaussian { sample_rate, .. } => *sample_rate == 1.0,
        Event::FixedSizeGaussian { batch, rows, .. } => batch == rows,
        Event::Approximated { inner, .. } => is_gaussian(inner),
        Event::Repeated { event, .. } => is_gaussian(event),
        Event::Composed(parts) | Event::Disjoint { parts, .. } => {
            !parts.is_empty() && parts.iter().all(is_gaussian)
        }
        // Other noise, and secret batches.
        _ => false,
    }
}
