//! The walk under output-perturbed SGD: how far its average moves when a row is replaced, and the
//! run.
//!
//! # Theorem
//!
//! Two walks on tables that differ in one row draw the same rows. A *hit* at step `s` draws the row
//! that differs. With `A = Σ_hits (T − s)/T`, the averages of the `T` iterates are equal, bit for
//! bit, if `A = 0`, and otherwise
//!
//! ```text
//! ‖average − average'‖ ≤ D(A) = min(ω a_T + h A, 2R) + what rounding adds.
//! ```
//!
//! *Proof.* With a ridge `μ` a step is `w⁺ = κ(w − η'g)`, `κ = 1 − ημ`, `η' = η/κ`. On a common row
//! `‖w⁺ − w'⁺‖² ≤ κ²(‖w − w'‖² + ω(η')²)` ([`crate::holder`]), so with `ω = κω(η')` a distance `x`
//! becomes at most `√(x² + ω²)`; the projection does not expand. A hit moves `x` to at most
//! `x + h`, `h = 2ηG`; where common steps do not expand (`α = 1`), also to at most `x + ηG'` with
//! `G'` the largest distance between two rows' gradients *at the same weights*, and the smaller is
//! taken. By induction `x_t ≤ ω√(common steps) + h·(hits)`, and the average over `t` is the claim.
//! Before the first hit the walks are one. ∎
//!
//! # Rounding
//!
//! A computed step is off by at most `e` ([`reticent_data::walk`]), two of them by `2e`, and
//! `√((X + Y)² + ω²) ≤ √(X² + ω²) + Y`, so distances grow by at most `2e(t − 1)` and their average
//! by `eT`; the averages themselves are off by `e'` each. A slope is taken at a margin that is off
//! by `m`:
//!
//! - it is off by at most `L·m^α` (times the row's norm), which is one more part of `e`; or
//! - for a loss of one margin, the slopes at the computed margins are monotone in those, so
//!   `(a − b)(m₁ − m₂)` is at least what the proof needs less `2m|a − b| ≤ 4mG`, and `ω²` grows by
//!   at most `8ηGm`. This serves where slopes jump.
//!
//! The smaller is charged. All of it goes to the drift, the part of `D` that every hit pattern has.

use reticent_data::walk::{Walk, WalkOrder, WalkState, rounding, stretch};
use reticent_data::{Oracle, Sensitive};
use reticent_noise::Source;
use reticent_privacy::Budget;
use reticent_problem::{Domain, Loss, Problem, Regularity};
use serde::{Deserialize, Serialize};

use super::perturb::{self, Moves, Noise};
use crate::executor;
use crate::holder::{self, LossForm, Run};
use crate::{PlanError, Progress, RunError};

/// More steps than this are never planned unless asked for: about a minute of single-row steps.
pub(crate) const MAX_STEPS: u64 = 100_000_000;

/// The effect of a step of a given length on an iterate. Lengths, not multiples of the noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conduct {
    /// `G`: the largest gradient where iterates can be.
    pub lipschitz: f64,
    /// `h`: how far a hit moves an iterate.
    pub hit: f64,
    /// `ω`: by how much, squared, a common step can add to a squared distance.
    pub omega: f64,
    /// A bound on the iterates' norms.
    pub reach: f64,
}

/// The conduct of `steps` steps of length `eta`; infinite numbers where nothing is proven.
pub(crate) fn conduct(problem: &Problem, eta: f64, steps: u64) -> Conduct {
    let k = problem.regularity();
    let (order, constant) = (k.holder_order, k.holder_constant);
    let keep = 1.0 - eta * problem.ridge;
    let longer = eta / keep;
    let kind = if problem.loss.outputs() == 1 { LossForm::Glm } else { LossForm::General };
    let omega = keep * holder::omega(order, constant, longer, kind);
    let radius = problem.domain.radius();
    let (reach, k) = if radius.is_finite() {
        (radius, k)
    } else {
        let t = steps as f64 - 1.0;
        let gain = keep * keep * holder::radius_gain(order, constant, longer, k.value_at_zero);
        let mut reach = (t * gain).sqrt().min(eta * t * k.lipschitz);
        if problem.ridge > 0.0 {
            let still = (gain / (1.0 - keep * keep)).sqrt();
            reach = reach.min(still).min(k.lipschitz / problem.ridge);
        }
        let reach = reach * swell(problem, steps);
        (reach, within(problem, reach).unwrap_or(k))
    };
    let apart = if order >= 1.0 { k.gradient_difference } else { 2.0 * k.lipschitz };
    Conduct { lipschitz: k.lipschitz, hit: eta * apart.min(2.0 * k.lipschitz), omega, reach }
}

/// The constants where iterates can be.
pub(crate) fn within_reach(problem: &Problem, conduct: &Conduct) -> Regularity {
    within(problem, conduct.reach).unwrap_or_else(|| problem.regularity())
}

/// By what computed iterates may be longer than exact ones can be: each step rounds by a few units
/// of each coordinate.
pub(crate) fn swell(problem: &Problem, steps: u64) -> f64 {
    1.0 + f64::EPSILON * (problem.dimension() as f64 + 64.0) * steps as f64
}

/// The constants on the ball that the iterates cannot leave.
fn within(problem: &Problem, reach: f64) -> Option<Regularity> {
    let domain = Domain::Ball { radius: reach };
    (reach.is_finite() && reach > 0.0).then(|| Problem { domain, ..problem.clone() }.regularity())
}

/// The longest step for which the theorem holds.
pub(crate) fn eta_limit(problem: &Problem) -> f64 {
    let k = problem.regularity();
    let (constant, ridge) = (k.holder_constant, problem.ridge);
    if k.holder_order < 1.0 {
        // A step that forgets more than half of the iterate has no use.
        return if ridge > 0.0 { 0.5 / ridge } else { f64::INFINITY };
    }
    if problem.domain.radius().is_finite() {
        2.0 / (constant + 2.0 * ridge)
    } else {
        1.0 / (constant + ridge)
    }
}

/// How far the average moves, rounding included.
pub(crate) fn moves(problem: &Problem, walk: &Walk, conduct: &Conduct, root: f64) -> Moves {
    let Conduct { lipschitz, hit, omega, reach } = *conduct;
    let k = problem.regularity();
    let r = rounding(problem, walk, lipschitz, reach);
    let t = walk.steps as f64;
    let outputs = problem.loss.outputs() as f64;
    let by_size =
        t * walk.eta * k.holder_constant * (outputs.sqrt() * r.margin).powf(k.holder_order);
    let by_sign = if outputs == 1.0 {
        ((omega * omega + 8.0 * walk.eta * lipschitz * r.margin).sqrt() - omega) * root
    } else {
        f64::INFINITY
    };
    let drift = omega * root + by_size.min(by_sign) + t * r.step + 2.0 * r.average;
    let radius = problem.domain.radius();
    let cap = radius.is_finite().then_some(2.0 * (radius + r.step + r.average));
    Moves { shift: hit, drift, cap }
}

/// A bound on the expected cost of noise `N(0, σ²I)` on the weights.
pub(crate) fn noise_cost(problem: &Problem, sigma: f64) -> f64 {
    let k = problem.regularity();
    let everywhere =
        Problem { domain: Domain::Unbounded, ..problem.clone() }.regularity().lipschitz;
    let data = if let Loss::Softmax { classes } = problem.loss {
        let b = problem.bounds.norm();
        0.5 * sigma * sigma * b * b * (1.0 - 1.0 / classes as f64)
    } else {
        let slope = everywhere * sigma * (2.0 / std::f64::consts::PI).sqrt();
        holder::noise_penalty(k.holder_order, k.holder_constant, sigma)
            .min(if everywhere.is_finite() { slope } else { f64::INFINITY })
    };
    data + 0.5 * problem.ridge * problem.dimension() as f64 * sigma * sigma
}

/// The parameters of the risk bound.
pub(crate) fn risk(
    problem: &Problem,
    conduct: &Conduct,
    distance: f64,
    steps: u64,
    eta: f64,
) -> Run {
    Run {
        lipschitz: conduct.lipschitz + problem.ridge * conduct.reach.min(f64::MAX),
        omega: conduct.omega,
        distance,
        rows: problem.rows as f64,
        steps,
        eta,
    }
}

/// The bracket in which a step is sought: `[10⁻⁶, 10]·‖w*‖/(G√T)`, up to the limit.
pub(crate) fn eta_bracket(problem: &Problem, distance: f64, steps: u64) -> (f64, f64) {
    let k = problem.regularity();
    let slope = if k.lipschitz.is_finite() { k.lipschitz } else { k.gradient_at_zero };
    let scale = distance / (slope * (steps as f64).sqrt());
    let high = (10.0 * scale).min(eta_limit(problem));
    ((1e-6 * scale).min(high), high)
}

/// A setting that the user may have fixed, or its range.
pub(crate) fn range(
    ok: bool,
    name: &'static str,
    expected: &str,
    got: f64,
) -> Result<(), PlanError> {
    if ok {
        Ok(())
    } else {
        Err(PlanError::OutOfRange { name, expected: expected.to_owned(), got })
    }
}

/// Checks this family's requirements on problem and budget. Warns of a delta that protects nobody.
pub(crate) fn check(
    name: &'static str,
    problem: &Problem,
    budget: Budget,
    warnings: &mut Vec<String>,
) -> Result<(), PlanError> {
    problem.check()?;
    if problem.hidden.is_some() {
        let why = "needs a linear model; leave `hidden` out".to_owned();
        return Err(PlanError::NotApplicable { algorithm: name, why });
    }
    if !budget.adjacency.replaces() {
        return Err(PlanError::Adjacency { algorithm: name, got: budget.adjacency.to_string() });
    }
    let rows = problem.rows as f64;
    range(problem.rows >= 2, "n", "a whole number >= 2", rows)?;
    range(problem.rows < 1 << 32, "n", "below 2^32", rows)?;
    let delta = budget.delta.get();
    let needed = budget.epsilon.get().is_finite();
    range(!needed || delta > 0.0, "delta", "above 0 and below 1: the noise is Gaussian", delta)?;
    if delta >= 1.0 / rows {
        warnings.push(
            "delta of 1/n or more protects no single record: choose it well below".to_owned(),
        );
    }
    Ok(())
}

/// Refuses a step that is not positive, or longer than the theorem allows.
pub(crate) fn check_eta(eta: f64, limit: f64, below: bool) -> Result<(), PlanError> {
    range(eta.is_finite() && eta > 0.0, "step_size", "a finite number > 0", eta)?;
    let word = if below { "below" } else { "at most" };
    let why = format!(
        "{word} {limit}: privacy needs it, because beyond it steps on the same row can drive two runs apart"
    );
    range(if below { eta < limit } else { eta <= limit }, "step_size", &why, eta)
}

/// Walks only on all of `R^d` or a ball.
pub(crate) fn check_domain(name: &'static str, problem: &Problem) -> Result<(), PlanError> {
    if matches!(problem.domain, Domain::Unbounded | Domain::Ball { .. }) {
        return Ok(());
    }
    let why = "walks on all of R^d or on a Euclidean ball; give `radius` for a ball".to_owned();
    Err(PlanError::NotApplicable { algorithm: name, why })
}

/// `T`: as asked for, or `automatic` but at most `most`; warns if that is less.
pub(crate) fn steps(
    asked: Option<u64>,
    most: Option<u64>,
    default_most: u64,
    automatic: f64,
    warnings: &mut Vec<String>,
) -> Result<u64, PlanError> {
    if let Some(most) = most {
        range(most >= 2, "max_steps", "a whole number >= 2", most as f64)?;
    }
    if let Some(steps) = asked {
        let fits = (2..=reticent_privacy::MAX_STEPS).contains(&steps);
        range(fits, "steps", "a whole number from 2 to 1e9", steps as f64)?;
        return Ok(steps);
    }
    let most = most.unwrap_or(default_most).min(reticent_privacy::MAX_STEPS);
    if automatic > most as f64 {
        warnings.push(format!(
            "{most} steps instead of the {automatic:.0} that the theory asks for; give `max_steps` for more"
        ));
    }
    Ok((automatic.min(most as f64) as u64).max(2))
}

/// Says if the model is not expected to be of use.
pub(crate) fn warn_of_noise(excess: f64, k: &Regularity, warnings: &mut Vec<String>) {
    if excess > k.value_at_zero {
        warnings.push(
            "noise dominates: the trained model is not expected to beat w = 0; increase n or epsilon"
                .to_owned(),
        );
    }
}

/// The loss with its exponent, as a sentence names it.
pub(crate) fn unbounded(problem: &Problem) -> PlanError {
    PlanError::Unbounded { loss: problem.loss.name() }
}

/// Walks, and releases the average with its noise.
pub(crate) fn run(
    problem: &Problem,
    walk: &Walk,
    moves: &Moves,
    noise: Noise,
    oracle: &dyn Oracle,
    source: &Source,
    progress: &dyn Progress,
) -> Result<Vec<f64>, RunError> {
    let rows = oracle.check_walk(problem)?;
    let mut state = Sensitive::new(WalkState::new(problem, source));
    let mut done = 0;
    executor::repeat(oracle, progress, 1, 0, walk.steps, || {
        rows.walk(problem, walk, &mut state)?;
        done += stretch(problem.dimension()).min(walk.steps - done);
        Ok(done)
    })?;
    let average = state.map_inside(WalkState::into_average);
    Ok(perturb::release(average, noise, moves.nominal(), f64::INFINITY, source)?)
}

/// The walk of a plan.
pub(crate) fn of(order: WalkOrder, steps: u64, eta: f64) -> Walk {
    Walk { order, steps, eta }
}
