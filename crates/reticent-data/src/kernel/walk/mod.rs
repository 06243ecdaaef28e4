//! A stretch of single-row steps: one row, one slope, one update.
//!
//! The iterate is `scale · direction`. A step reads its row twice, once for the margin and once for
//! the update; the rows of the next steps are known in advance and, where rows are dense, fetched
//! together, so that the memory answers many requests at once and the steps themselves find their
//! rows in the nearest cache.

mod dense;
mod sparse;

use reticent_problem::Problem;

use super::Derivative;
use crate::walk::{Walk, WalkOrder, WalkState, stretch};
use crate::{Features, Rows};

/// When the scale falls below this it is multiplied into the direction. It bounds how much of the
/// sum of a stretch may cancel: see [`sparse`].
const SMALLEST_SCALE: f64 = 1.0 / 16.0;

/// Makes the next stretch of the walk.
pub(crate) fn walk(rows: &Rows, problem: &Problem, walk: &Walk, state: &mut WalkState) {
    let motion = Motion {
        eta: walk.eta,
        keep: 1.0 - walk.eta * problem.ridge,
        radius: problem.domain.radius(),
        order: walk.order,
    };
    let left = walk.steps.saturating_sub(state.done);
    let steps = left.min(stretch(problem.dimension()));
    if steps == 0 {
        return;
    }
    // The last iterate is averaged and not moved.
    let moves = if steps == left { steps - 1 } else { steps };
    let derivative = Derivative::of(problem);
    let ends = moves < steps;
    let (labels, weights) = (rows.labels(), rows.weights());
    let pass = WalkPass { labels, weights, derivative, motion, state, moves, ends };
    if derivative.outputs() == 1 {
        pass.by_layout::<1>(rows.features());
    } else {
        pass.by_layout::<0>(rows.features());
    }
    state.done += steps;
}

/// How an iterate moves.
#[derive(Clone, Copy)]
struct Motion {
    eta: f64,
    /// The factor by which the ridge shrinks the iterate.
    keep: f64,
    radius: f64,
    order: WalkOrder,
}

/// The iterate and the sum of the stretch, while rows pass by.
struct Track<'a> {
    direction: &'a mut [f64],
    sum: &'a mut [f64],
    scale: f64,
    /// The scales of the stretch so far, added up.
    weight: f64,
    width: usize,
}

/// How rows are held.
trait Layout {
    /// Rows that may be fetched at once.
    fn ahead(&self) -> usize;

    /// Makes these rows ready.
    fn fetch(&mut self, rows: &[u32]);

    /// `⟨direction, x⟩` of the fetched row in `slot` for one output. The iterate is seen here once
    /// in each step.
    fn visit(&self, slot: usize, output: usize, track: &mut Track<'_>) -> f64;

    /// `direction += factor · x`; gives what [`Self::follow`] needs.
    fn advance(&self, slot: usize, output: usize, factor: f64, track: &mut Track<'_>) -> f64;

    /// Follows `‖direction‖²` through a step, from what [`Self::advance`] gave for all outputs.
    fn follow(&mut self, found: f64) -> f64;

    /// Sets `‖direction‖²` again.
    fn measure(&mut self, direction: &[f64]);

    /// Adds the iterates visited since the last call to `total`.
    fn settle(&self, track: &mut Track<'_>, total: &mut [f64]);
}

/// One stretch.
struct WalkPass<'a> {
    labels: &'a [f64],
    weights: Option<&'a [f64]>,
    derivative: Derivative,
    motion: Motion,
    state: &'a mut WalkState,
    moves: u64,
    ends: bool,
}

impl<'a> WalkPass<'a> {
    fn by_layout<const OUTPUTS: usize>(self, features: &Features) {
        let width = self.state.width();
        let x: &dyn dense::Origin = match features {
            Features::F32(x) => x,
            Features::F64(x) => x,
            Features::Mapped(x) => x,
            Features::Sparse(x) => {
                self.by_domain::<OUTPUTS, _>(sparse::Followed::new(x, width));
                return;
            }
        };
        let mut fetched = std::mem::take(&mut self.state.fetched);
        let layout = dense::Fetched::new(x, width, &mut fetched);
        let state = self.by_domain::<OUTPUTS, _>(layout);
        state.fetched = fetched;
    }

    fn by_domain<const OUTPUTS: usize, X: Layout>(self, layout: X) -> &'a mut WalkState {
        if self.motion.radius.is_infinite() {
            self.run::<OUTPUTS, false, _>(layout)
        } else {
            self.run::<OUTPUTS, true, _>(layout)
        }
    }

    /// The loop, for `OUTPUTS` weight vectors (0: as many as the state has) and with a projection
    /// or without.
    fn run<const OUTPUTS: usize, const BALL: bool, X: Layout>(
        self,
        layout: X,
    ) -> &'a mut WalkState {
        let Self { labels, weights, derivative, motion, state, moves, ends } = self;
        let width = state.width();
        let WalkState { direction, stretch: sum, total, margins, picks, scale, .. } = &mut *state;
        let track = Track { direction, sum, scale: *scale, weight: 0.0, width };
        *scale = pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                // Moved in, so that the closure can run only once: any other kind is called through
                // a function that is not inlined, and then nothing here is compiled for the wide
                // registers.
                let (mut layout, mut track) = (layout, track);
                let mut one = [0.0; OUTPUTS];
                let margins = if OUTPUTS == 0 { &mut margins[..] } else { &mut one[..] };
                if BALL {
                    layout.measure(track.direction);
                }
                let mut left = moves;
                while left > 0 {
                    let count = left.min(layout.ahead() as u64) as usize;
                    picks.draw(motion.order, labels.len(), count);
                    layout.fetch(&picks.rows[..count]);
                    for slot in 0..count {
                        let label = labels[picks.rows[slot] as usize];
                        track.weight += track.scale;
                        for (o, margin) in margins.iter_mut().enumerate() {
                            *margin = track.scale * layout.visit(slot, o, &mut track);
                        }
                        derivative.of_row(margins, label);
                        if let Some(weights) = weights {
                            let weight = weights[picks.rows[slot] as usize];
                            for slope in margins.iter_mut() {
                                *slope *= weight;
                            }
                        }
                        track.scale *= motion.keep;
                        if track.scale < SMALLEST_SCALE {
                            layout.settle(&mut track, total);
                            layout.measure(track.direction);
                        }
                        let factor = -motion.eta / track.scale;
                        let mut found = 0.0;
                        for (o, slope) in margins.iter().enumerate() {
                            found += layout.advance(slot, o, factor * slope, &mut track);
                        }
                        if BALL {
                            let square = layout.follow(found);
                            let limit = motion.radius / track.scale;
                            if square > limit * limit {
                                track.scale = motion.radius / square.sqrt();
                            }
                        }
                    }
                    left -= count as u64;
                }
                layout.settle(&mut track, total);
                if ends {
                    for (total, w) in total.iter_mut().zip(track.direction.iter()) {
                        *total += *w;
                    }
                }
                track.scale
            },
        );
        state
    }
}
