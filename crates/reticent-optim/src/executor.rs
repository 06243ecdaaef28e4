//! The loop of every iterative algorithm: steps, progress, interruption, and where a run stands.
//!
//! Where each step gets noise of its own, an algorithm gives its state and one step
//! ([`Iterative`]), and the executor does the rest. Such a state is paid for as soon as it exists,
//! so it may be kept in a file and gone on from ([`Resumable`]). A state that gets its noise at the
//! end stays sealed and must never leave memory: such algorithms hand their step to [`repeat`].

use reticent_data::{Oracle, OracleError};
use reticent_noise::Source;
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;

use crate::{Algorithm, Planned, Progress, Release, RunError};

/// An algorithm that takes one step after another.
pub(crate) trait Iterative: Algorithm {
    /// The state that a step changes.
    type State: Send;

    /// The resources for taking steps: noise, sampler and buffers.
    type Tools<'a>: Send;

    /// Steps between two words of progress: more than one where a step takes less than a
    /// microsecond.
    const AT_A_TIME: u64 = 1;

    /// Whether the rows are those of the plan.
    fn check(plan: &Self::Plan, oracle: &dyn Oracle) -> Result<(), OracleError> {
        oracle.check(&plan.outline().problem)
    }

    /// The state before the first step.
    fn start(
        plan: &Self::Plan,
        oracle: &dyn Oracle,
        source: &Source,
    ) -> Result<Self::State, RunError>;

    /// The resources for going on from `state`.
    fn tools<'a>(
        plan: &'a Self::Plan,
        state: &Self::State,
        oracle: &'a dyn Oracle,
        source: &Source,
    ) -> Result<Self::Tools<'a>, RunError>;

    /// Steps that are done, and steps that a run from here has in all.
    fn progress(plan: &Self::Plan, state: &Self::State) -> (u64, u64);

    /// Takes one step.
    fn step(
        plan: &Self::Plan,
        tools: &mut Self::Tools<'_>,
        state: &mut Self::State,
    ) -> Result<(), RunError>;

    /// The release after the last step.
    fn release(plan: &Self::Plan, state: Self::State, source: &Source)
    -> Result<Release, RunError>;
}

/// An algorithm whose every state is paid for, because each step gets its own noise.
pub(crate) trait Resumable: Iterative<State: Serialize + DeserializeOwned> {
    /// Streams of noise that a run draws at most, on which a seeded run that goes on must not start
    /// again.
    fn noise_streams(_: &Self::Plan) -> usize {
        1
    }

    /// Whether a run of this plan can stand here.
    fn belongs(plan: &Self::Plan, state: &Self::State) -> bool;
}

/// Where a run stands after a step, for anyone who keeps it.
pub struct Standing<'a> {
    /// Steps that are done.
    pub step: u64,
    /// Whether that was the last.
    pub ended: bool,
    state: &'a dyn Fn() -> Result<Value, RunError>,
}

impl Standing<'_> {
    /// The state, which the event has paid for.
    ///
    /// # Errors
    ///
    /// [`RunError::NotKept`], if it cannot be written so that a run can go on from it.
    pub fn state(&self) -> Result<Value, RunError> {
        (self.state)()
    }
}

/// Keeps where a run stands, or says why it cannot.
pub type Keep<'a> = dyn FnMut(&Standing<'_>) -> Result<(), RunError> + Send + 'a;

/// Runs a plan from its start to its release.
pub(crate) fn run<A: Iterative>(
    plan: &A::Plan,
    oracle: &dyn Oracle,
    source: &Source,
    progress: &dyn Progress,
) -> Result<Release, RunError>
where
    A::Plan: Sync,
{
    A::check(plan, oracle)?;
    let state = A::start(plan, oracle, source)?;
    steps::<A>(plan, state, oracle, source, progress, |_| Ok(()))
}

/// Runs a plan from its start, or from a state that was kept, and lets `keep` see each step.
pub(crate) fn go_on<A: Resumable>(
    plan: &A::Plan,
    from: Option<&Value>,
    oracle: &dyn Oracle,
    source: &Source,
    progress: &dyn Progress,
    keep: &mut Keep<'_>,
) -> Result<Release, RunError>
where
    A::Plan: Sync,
{
    A::check(plan, oracle)?;
    let state = match from {
        None => A::start(plan, oracle, source)?,
        Some(kept) => read::<A>(plan, kept).ok_or(RunError::NotKept {
            why: "the state belongs to another plan; give the settings it began with".to_owned(),
        })?,
    };
    steps::<A>(plan, state, oracle, source, progress, |state| {
        let (step, total) = A::progress(plan, state);
        let value = || {
            let value = serde_json::to_value(state).ok();
            let whole = value.filter(|value| read::<A>(plan, value).is_some());
            let why =
                "its numbers have left the range that can be written; give a smaller `step_size`";
            whole.ok_or_else(|| RunError::NotKept { why: why.to_owned() })
        };
        keep(&Standing { step, ended: step >= total, state: &value })
    })
}

/// A state that was kept, if a run of this plan can stand there.
pub(crate) fn read<A: Resumable>(plan: &A::Plan, kept: &Value) -> Option<A::State> {
    let state = A::State::deserialize(kept).ok()?;
    A::belongs(plan, &state).then_some(state)
}

/// Steps that were done when the state was kept, and whether it was the last; none if it is another
/// plan's.
pub(crate) fn standing<A: Resumable>(plan: &A::Plan, kept: &Value) -> Option<(u64, bool)> {
    let (done, total) = A::progress(plan, &read::<A>(plan, kept)?);
    Some((done, done >= total))
}

fn steps<A: Iterative>(
    plan: &A::Plan,
    mut state: A::State,
    oracle: &dyn Oracle,
    source: &Source,
    progress: &dyn Progress,
    mut keep: impl FnMut(&A::State) -> Result<(), RunError> + Send,
) -> Result<Release, RunError>
where
    A::Plan: Sync,
{
    let mut tools = A::tools(plan, &state, oracle, source)?;
    let (done, total) = A::progress(plan, &state);
    repeat(oracle, progress, A::AT_A_TIME, done, total, || {
        A::step(plan, &mut tools, &mut state)?;
        keep(&state)?;
        Ok(A::progress(plan, &state).0)
    })?;
    drop(tools);
    A::release(plan, state, source)
}

/// Calls `step`, which gives how many steps are done then, until `total` are: on the oracle's
/// threads, with a word of progress every `at_a_time` calls.
pub(crate) fn repeat(
    oracle: &dyn Oracle,
    progress: &dyn Progress,
    at_a_time: u64,
    done: u64,
    total: u64,
    mut step: impl FnMut() -> Result<u64, RunError> + Send,
) -> Result<(), RunError> {
    let mut all = || {
        let mut done = done;
        while done < total {
            if progress.step(done, total).is_break() {
                return Err(RunError::Stopped { done, total });
            }
            for _ in 0..at_a_time {
                done = step()?;
                if done >= total {
                    break;
                }
            }
        }
        let _ = progress.step(total, total);
        Ok(())
    };
    let mut result = Ok(());
    // One call for the whole loop, so that no step has to wake threads.
    oracle.on_threads(&mut || result = all());
    result
}
