//! The run: from a starting point, or from where an interrupted run was kept.
//!
//! # Interrupted runs
//!
//! [`State`] is all that a run needs to go on, and every number in it has been paid for: the
//! weights and the step length are functions of the noisy sums so far, the last of which may be
//! kept too; the preconditioner and the clip norm came out of their own mechanisms, the rest is
//! public. The sampling key and the noise stream are not in it. A resumed run draws fresh ones, and
//! that changes nothing: given the state, the steps that are left are independent of the randomness
//! of those before, so an interrupted and a straight run release the same law, and the event is
//! charged once. No noise is drawn twice. Two runs that go on from the same state must not both be
//! seen; anyone who keeps states must prevent that.

use rand_core::Rng as _;
use rayon::prelude::*;
use reticent_data::threads::shared;
use reticent_data::{Oracle, OracleError, Preconditioner, Question, Sensitive};
use reticent_noise::batch::{Draw, SampleKey, SampleRate};
use reticent_noise::{Purpose, Source};
use reticent_privacy::Event;
use reticent_problem::Problem;
use reticent_problem::loss::Link;
use serde::{Deserialize, Serialize};

use super::adaptive_step::{AdaptiveStep, Context};
use super::straightening::Trace;
use super::{ClippedSgd, ClippedSgdPlan, Output, preconditioner, selection};
use crate::executor::{Iterative, Resumable};
use crate::step::choose::choose;
use crate::step::descend::{CHUNK, Step};
use crate::step::noisy_sum::NoisySum;
use crate::{Outline, Release, RunError};

/// Where a run stands after a number of noisy steps. Private by what its event has paid so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Noisy steps that are done.
    pub step: u64,
    /// `τ`.
    pub clip: f64,
    /// Which iterate is released, if it is a random one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pick: Option<u64>,
    /// `w_t`.
    pub weights: Vec<f64>,
    /// The mean of the iterates before `w_t` that count; empty unless an average is released.
    pub average: Vec<f64>,
    /// How rows are shortened, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preconditioner: Option<Preconditioner>,
    /// The features that no row was seen to have, released with the weights.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<usize>,
    /// What is kept for straight curves, if they are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// Where the step length stands, if it is adaptive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptive_step: Option<AdaptiveStep>,
}

impl State {
    /// Whether a run of this plan can stand here.
    pub fn belongs_to(&self, plan: &ClippedSgdPlan) -> bool {
        let dimension = plan.outline.problem.dimension();
        let averaged = matches!(plan.output, Output::Average | Output::TailAverage);
        self.step <= plan.output.noisy_steps(plan.outline.steps)
            && self.clip.is_finite()
            && self.clip > 0.0
            && plan.clip.is_none_or(|clip| clip == self.clip)
            && plan.selection.is_none_or(|selection| selection.may_find(self.clip))
            && self.weights.len() == dimension
            && self.average.len() == if averaged { dimension } else { 0 }
            && self.pick.is_some() == (plan.output == Output::Random)
            && self.pick.is_none_or(|pick| (self.step..plan.outline.steps).contains(&pick))
            && self.preconditioner.is_some() == plan.settings.precondition.is_some()
            && self.preconditioner.as_ref().zip(plan.settings.precondition).is_none_or(
                |(preconditioner, keep)| {
                    preconditioner.belongs_to(plan.outline.problem.features, keep)
                },
            )
            && (self.unseen.is_empty() || self.preconditioner.is_some())
            && self.unseen.windows(2).all(|pair| pair[0] < pair[1])
            && self.unseen.last().is_none_or(|last| *last < plan.outline.problem.features)
            && self.trace.is_some() == plan.settings.straightening.is_some()
            && self
                .trace
                .as_ref()
                .is_none_or(|trace| trace.belongs_to(plan.outline.problem.features, self.step))
            && self.adaptive_step.is_some() == plan.settings.adaptive_step
            && self.adaptive_step.as_ref().is_none_or(|adaptive_step| {
                adaptive_step.belongs_to(plan.eta_for(self.clip), self.step, dimension)
            })
    }

    /// Lets the weights count in the average, if one is released and they are late enough.
    fn count(&mut self, plan: &ClippedSgdPlan) {
        let steps = plan.outline.steps;
        let first = if plan.output == Output::TailAverage { steps / 2 } else { 0 };
        if !self.average.is_empty() && self.step >= first {
            let share = 1.0 / (self.step - first + 1) as f64;
            average(&mut self.average, &self.weights, share);
        }
    }

    /// The state before the first step. The clip norm may be chosen privately here.
    fn start(
        plan: &ClippedSgdPlan,
        oracle: &dyn Oracle,
        source: &Source,
    ) -> Result<Self, RunError> {
        let problem = &plan.outline.problem;
        let mut initial = source.stream(Purpose::Initial);
        let mut weights = vec![0.0; problem.dimension()];
        if let Some(width) = problem.hidden {
            // A uniform first layer and a last layer of zeros: a public law, and every row starts
            // at the loss of zero margins.
            let scale = 1.0 / (problem.features as f64).sqrt();
            for w in &mut weights[..width * problem.features] {
                let unit = (initial.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
                *w = scale * (2.0 * unit - 1.0);
            }
            problem.domain.project(&mut weights);
        }
        let pick = (plan.output == Output::Random).then(|| {
            let wide = u128::from(initial.next_u64()) * u128::from(plan.outline.steps);
            (wide >> 64) as u64
        });
        let averaged = matches!(plan.output, Output::Average | Output::TailAverage);
        let average = vec![0.0; if averaged { problem.dimension() } else { 0 }];
        let (preconditioner, start, unseen, trace) =
            match preconditioner::find(plan, oracle, source)? {
                Some(f) => (Some(f.preconditioner), f.start, f.unseen, Some(f.trace)),
                None => (None, None, Vec::new(), None),
            };
        let trace = trace.filter(|_| plan.settings.straightening.is_some());
        let from = start.as_deref().unwrap_or(&[]);
        weights[..from.len()].copy_from_slice(from);
        let clip = match (plan.clip, &plan.selection) {
            (None, Some(selection)) => {
                select(problem, preconditioner.as_ref(), from, selection, oracle, source)?
            }
            (clip, _) => clip.unwrap_or(1.0),
        };
        let adaptive_step =
            plan.settings.adaptive_step.then(|| AdaptiveStep::new(plan.eta_for(clip)));
        Ok(Self {
            step: 0,
            clip,
            pick,
            weights,
            average,
            preconditioner,
            unseen,
            trace,
            adaptive_step,
        })
    }
}

/// The clip norm by the exponential mechanism.
fn select(
    problem: &Problem,
    preconditioner: Option<&Preconditioner>,
    from: &[f64],
    selection: &selection::ClipSelection,
    oracle: &dyn Oracle,
    source: &Source,
) -> Result<f64, RunError> {
    let grid = selection.grid();
    let mut below = Sensitive::new(vec![0.0; grid.len()]);
    // Gradients at the first weights, or the longest that there may be.
    let zero = selection.quantile.and_then(|_| selection::at_zero(problem));
    // Labels count from what the first weights predict, where margins are on their scale; with a
    // logarithmic link the gradient at these weights counts.
    let is_log = zero.is_some() && problem.loss.link() == Link::Log;
    let counts = zero.is_some() && problem.loss.is_on_label_scale();
    let from = if counts || is_log { from } else { &[] };
    let zero = zero.filter(|_| !is_log || from.is_empty());
    let question = Question::Below { preconditioner, from, grid: &grid };
    oracle.ask(zero.as_ref().unwrap_or(problem), &question, &mut below)?;
    let scores = below.map_inside(|below| selection::scores(&below, selection.rank()));
    Ok(selection.clip(grid[choose(scores, selection.epsilon, source)?]))
}

/// The resources of a run's steps; not part of its state.
pub(crate) struct Tools<'a> {
    oracle: &'a dyn Oracle,
    noise: NoisySum,
    key: SampleKey,
    rate: SampleRate,
    eta: f64,
    step: Step,
    context: Context,
    /// `bμ` of the shrinkage.
    pull: f64,
    sum: Sensitive<Vec<f64>>,
}

impl Iterative for ClippedSgd {
    type State = State;
    type Tools<'a> = Tools<'a>;

    fn check(plan: &ClippedSgdPlan, oracle: &dyn Oracle) -> Result<(), OracleError> {
        let Outline { problem, budget, .. } = &plan.outline;
        if budget.adjacency.records_are_public() {
            oracle.check(problem)
        } else {
            oracle.check_columns(problem)
        }
    }

    fn start(
        plan: &ClippedSgdPlan,
        oracle: &dyn Oracle,
        source: &Source,
    ) -> Result<State, RunError> {
        State::start(plan, oracle, source)
    }

    fn tools<'a>(
        plan: &'a ClippedSgdPlan,
        state: &State,
        oracle: &'a dyn Oracle,
        source: &Source,
    ) -> Result<Tools<'a>, RunError> {
        let problem = &plan.outline.problem;
        let rounding = plan.settings.rounding(problem, plan.sample_rate);
        let dimension = problem.dimension();
        let noise = if plan.outline.event == Event::NotPrivate {
            NoisySum::without_noise()
        } else {
            NoisySum::new(rounding * state.clip, plan.noise_multiplier, dimension, source)?
        };
        let eta = plan.eta_for(state.clip);
        let context =
            Context { eta, pull: plan.batch as f64 * problem.ridge, sigma: noise.sigma() };
        Ok(Tools {
            oracle,
            noise,
            key: SampleKey::new(source),
            rate: SampleRate::new(plan.sample_rate)?,
            eta,
            step: Step::new(eta, 1.0 / plan.batch as f64, problem.ridge),
            context,
            pull: plan.pull(state.clip),
            sum: Sensitive::new(vec![0.0; dimension]),
        })
    }

    fn progress(plan: &ClippedSgdPlan, state: &State) -> (u64, u64) {
        (state.step, state.pick.unwrap_or(plan.output.noisy_steps(plan.outline.steps)))
    }

    fn step(
        plan: &ClippedSgdPlan,
        tools: &mut Tools<'_>,
        state: &mut State,
    ) -> Result<(), RunError> {
        let problem = &plan.outline.problem;
        state.count(plan);
        let Tools { key, rate, sum, noise, .. } = tools;
        let draw = Draw { key, step: state.step, rate: *rate };
        let preconditioner = state.preconditioner.as_ref();
        let question =
            Question::Clipped { draw, clip: state.clip, preconditioner, at: &state.weights };
        tools.oracle.ask(problem, &question, sum)?;
        if state.adaptive_step.is_some() || preconditioner.is_some() {
            if let Some(preconditioner) = preconditioner {
                // what the clip norm bounds is the shortened sum
                sum.update_inside(|sum| preconditioner.apply(sum));
            }
            let mut noisy = sum.release(noise);
            if let Some(preconditioner) = preconditioner.filter(|_| tools.pull > 0.0) {
                preconditioner.pull(&mut noisy, &state.weights, tools.pull);
            }
            let adaptive_step = state.adaptive_step.as_mut();
            let eta = adaptive_step.map_or(tools.eta, |adaptive_step| {
                adaptive_step.next(&noisy, &state.weights, &tools.context)
            });
            if let Some(trace) = &mut state.trace {
                trace.etas.push(eta);
            }
            if let Some(preconditioner) = preconditioner {
                preconditioner.apply_transpose(&mut noisy);
            }
            let step = Step::new(eta, 1.0 / plan.batch as f64, problem.ridge);
            step.take(&mut state.weights, &mut noisy, &mut [], |_, _| {});
            *sum = Sensitive::new(noisy);
        } else {
            noise.descend(sum, tools.step, &mut state.weights, &mut []);
        }
        problem.domain.project(&mut state.weights);
        state.step += 1;
        Ok(())
    }

    fn release(plan: &ClippedSgdPlan, mut state: State, _: &Source) -> Result<Release, RunError> {
        state.count(plan);
        let mut weights = match plan.output {
            Output::Average | Output::TailAverage => state.average,
            Output::Last | Output::Random => state.weights,
        };
        if let Some((trace, preconditioner)) = state.trace.as_ref().zip(state.preconditioner) {
            plan.straighten(state.clip, preconditioner.scales(), trace, &mut weights);
        }
        Ok(Release { unseen: state.unseen, ..Release::new(weights, &plan.outline.event) })
    }
}

impl Resumable for ClippedSgd {
    /// For the preconditioner, for the clip norm, for the steps.
    fn noise_streams(_: &ClippedSgdPlan) -> usize {
        3
    }

    fn belongs(plan: &ClippedSgdPlan, state: &State) -> bool {
        state.belongs_to(plan)
    }
}

/// Moves an average towards `w` by its share.
fn average(average: &mut [f64], w: &[f64], share: f64) {
    let part = |(average, w): (&mut [f64], &[f64])| {
        for (a, w) in average.iter_mut().zip(w) {
            *a += (w - *a) * share;
        }
    };
    if w.len() <= CHUNK {
        return part((average, w));
    }
    shared(|| average.par_chunks_mut(CHUNK).zip(w.par_chunks(CHUNK)).for_each(part));
}
