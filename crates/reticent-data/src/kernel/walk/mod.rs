//! A stretch of single-row steps: one row, one slope, one update, and no branch on the loss inside.
//!
//! The iterate is `scale · direction`. A step reads its row twice, once for the margin and once for the update; the rows of
//! the next steps are known in advance and, where rows are dense, fetched together, so that the memory answers many requests
//! at once and the steps themselves find their rows in the nearest cache.

mod dense;
mod sparse;

use reticent_problem::Problem;
use reticent_problem::loss::{LinearLoss, LinearVisitor, LossVisitor, MultiLoss};

use super::{Multi, Slope};
use crate::walk::{Order, Walk, WalkState, stretch};
use crate::{Features, Rows};

/// When the scale falls below this it is multiplied into the direction. It bounds how much of the sum of a stretch may
/// cancel: see [`sparse`].
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
    let pass = Pass { rows, problem, motion, state, moves, ends: moves < steps };
    problem.loss.visit(problem.slope_limit.unwrap_or(f64::INFINITY), pass);
    state.done += steps;
}

/// How an iterate moves.
#[derive(Clone, Copy)]
struct Motion {
    eta: f64,
    /// What the ridge leaves of the iterate.
    keep: f64,
    radius: f64,
    order: Order,
}

/// From margins to the factors of the row, for one row.
trait Head: Copy {
    /// Turns the margins into slopes.
    fn slopes(self, margins: &mut [f64], label: f64);
}

impl<L: LinearLoss> Head for Slope<L> {
    #[inline(always)]
    fn slopes(self, margins: &mut [f64], label: f64) {
        margins[0] = self.at(margins[0], label);
    }
}

impl<L: MultiLoss> Head for Multi<L> {
    #[inline(always)]
    fn slopes(self, margins: &mut [f64], label: f64) {
        self.0.residual(margins, label as usize);
    }
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

    /// `⟨direction, x⟩` of the fetched row in `slot` for one output. The iterate is seen here once in each step.
    fn visit(&self, slot: usize, output: usize, track: &mut Track<'_>) -> f64;

    /// `direction += factor · x`; gives what [`Self::follow`] needs.
    fn advance(&self, slot: usize, output: usize, factor: f64, track: &mut Track<'_>) -> f64;

    /// Follows `‖direction‖²` through a step, from what [`Self::advance`] gave for all outputs.
    fn follow(&mut self, found: f64) -> f64;

    /// Sets `‖direction‖²` anew.
    fn measure(&mut self, direction: &[f64]);

    /// Adds the iterates visited since the last call to `total`.
    fn settle(&self, track: &mut Track<'_>, total: &mut [f64]);
}

struct Pass<'a> {
    rows: &'a Rows,
    problem: &'a Problem,
    motion: Motion,
    state: &'a mut WalkState,
    moves: u64,
    ends: bool,
}

impl LinearVisitor for Pass<'_> {
    type Output = ();

    fn visit<L: LinearLoss>(self, loss: L) {
        let limit = self.problem.slope_limit.unwrap_or(f64::INFINITY);
        self.by_layout::<1, _>(Slope { loss, limit });
    }
}

impl LossVisitor for Pass<'_> {
    fn visit_multi<L: MultiLoss>(self, loss: L) {
        self.by_layout::<0, _>(Multi(loss));
    }
}

impl<'a> Pass<'a> {
    fn by_layout<const OUTPUTS: usize, H: Head>(self, head: H) {
        let width = self.state.width();
        let mut fetched = std::mem::take(&mut self.state.fetched);
        let state = match self.rows.features() {
            Features::F32(x) => {
                let layout = dense::Fetched::new(x, width, &mut fetched);
                self.by_domain::<OUTPUTS, _, _>(head, layout)
            }
            Features::F64(x) => {
                let layout = dense::Fetched::new(x, width, &mut fetched);
                self.by_domain::<OUTPUTS, _, _>(head, layout)
            }
            Features::Mapped(x) => {
                let layout = dense::Fetched::new(x, width, &mut fetched);
                self.by_domain::<OUTPUTS, _, _>(head, layout)
            }
            Features::Sparse(x) => {
                self.by_domain::<OUTPUTS, _, _>(head, sparse::Followed::new(x, width))
            }
        };
        state.fetched = fetched;
    }

    fn by_domain<const OUTPUTS: usize, H: Head, X: Layout>(
        self,
        head: H,
        layout: X,
    ) -> &'a mut WalkState {
        if self.motion.radius.is_infinite() {
            self.run::<OUTPUTS, false, _, _>(head, layout)
        } else {
            self.run::<OUTPUTS, true, _, _>(head, layout)
        }
    }

    /// The loop, for `OUTPUTS` weight vectors (0: as many as the state has) and with a projection or without.
    fn run<const OUTPUTS: usize, const BALL: bool, H: Head, X: Layout>(
        self,
        head: H,
        layout: X,
    ) -> &'a mut WalkState {
        let Self { rows, motion, state, moves, ends, .. } = self;
        let labels = rows.labels();
        let width = state.width();
        let WalkState { direction, stretch: sum, total, margins, picks, scale, .. } = &mut *state;
        let track = Track { direction, sum, scale: *scale, weight: 0.0, width };
        *scale = pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                // Moved in, so that the closure can run only once: any other kind is called through a function that is not
                // inlined, and then nothing here is compiled for the wide registers.
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
                        head.slopes(margins, label);
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
