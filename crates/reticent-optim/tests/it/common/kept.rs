//! Runs of clipped-sgd whose states a test sees.

use reticent_data::Oracle;
use reticent_noise::Source;
use reticent_optim::clipped_sgd::{ClippedSgdPlan, State};
use reticent_optim::{Plan, Quiet, Release, RunError};

/// Runs the plan from its start or from `from`, and shows each state.
#[allow(unreachable_pub, dead_code, missing_docs, reason = "shared by path")]
pub fn run_from(
    plan: &ClippedSgdPlan,
    from: Option<&State>,
    oracle: &dyn Oracle,
    source: &Source,
    mut keep: impl FnMut(&State) -> Result<(), RunError> + Send,
) -> Result<Release, RunError> {
    let from = from.map(|state| serde_json::to_value(state).unwrap());
    let plan = Plan::ClippedSgd(plan.clone());
    plan.go_on(from.as_ref(), oracle, source, &Quiet, &mut |at| {
        let state: State = serde_json::from_value(at.state()?).unwrap();
        assert_eq!(state.step, at.step);
        keep(&state)
    })
}
