//! From a row's margins to the derivative of its loss by them.

use reticent_problem::loss::{LinearLoss, LinearVisitor};
use reticent_problem::{Loss, Problem};

use super::real::{BLOCK, Real};

/// The end of a model: the loss as a function of its margins.
#[derive(Clone, Copy)]
pub(super) struct Head {
    loss: Loss,
    limit: f64,
}

impl Head {
    /// The problem's loss.
    pub(super) fn new(problem: &Problem) -> Self {
        Self { loss: problem.loss, limit: problem.slope_limit.unwrap_or(f64::INFINITY) }
    }

    /// [`Head::residual`] for the rows of a block that are computed with, one after the other in `margins`.
    #[inline(always)]
    pub(super) fn residuals<T: Real>(self, margins: &mut [T], labels: &[f64; BLOCK]) {
        let outputs = self.loss.outputs();
        if let Loss::Softmax { .. } = self.loss {
            T::softmax_rows(margins, outputs);
            for (margins, label) in margins.chunks_exact_mut(outputs).zip(labels) {
                less_one_at(margins, *label);
            }
        } else {
            for (margins, label) in margins.chunks_exact_mut(outputs).zip(labels) {
                self.residual(margins, *label);
            }
        }
    }

    /// Turns a row's margins into the derivative of its loss by them, in place. NaN where there is none; a class that does not
    /// exist counts as the last one.
    #[inline(always)]
    pub(super) fn residual<T: Real>(self, margins: &mut [T], label: f64) {
        if let Loss::Softmax { .. } = self.loss {
            T::softmax(margins);
            less_one_at(margins, label);
        } else {
            match self.loss.visit_linear(Slope { margin: margins[0].wide(), label }) {
                Some(slope) => margins[0] = T::narrow(slope.clamp(-self.limit, self.limit)),
                // Softmax alone is served of those with several outputs: a row of another adds zero.
                None => margins.fill(T::narrow(f64::NAN)),
            }
        }
    }
}

#[inline(always)]
fn less_one_at<T: Real>(margins: &mut [T], label: f64) {
    let class = (label as usize).min(margins.len() - 1);
    margins[class] = margins[class].plus(T::narrow(-1.0));
}

struct Slope {
    margin: f64,
    label: f64,
}

impl LinearVisitor for Slope {
    type Output = f64;

    #[inline(always)]
    fn visit<L: LinearLoss>(self, loss: L) -> f64 {
        loss.slope(self.margin, self.label)
    }
}
