//! From the margins of rows to the derivative of their loss by them, in the precision of a batch.

use reticent_problem::{Loss, Problem};

use super::real::{BLOCK, Real};
use crate::kernel::Derivative;

/// The end of a model: the loss as a function of its margins.
#[derive(Clone, Copy)]
pub(super) struct LossHead {
    loss: Loss,
    linear: Derivative,
}

impl LossHead {
    /// The problem's loss.
    pub(super) fn new(problem: &Problem) -> Self {
        Self { loss: problem.loss, linear: Derivative::of(problem) }
    }

    /// Turns the margins of up to a block of rows into the derivatives, in place; those of a row
    /// lie together. NaN where there is none; a class that does not exist counts as the last one.
    #[inline(always)]
    pub(super) fn residuals<T: Real>(self, margins: &mut [T], labels: &[f64]) {
        let outputs = self.loss.outputs();
        if let Loss::Softmax { .. } = self.loss {
            T::softmax_rows(margins, outputs);
            for (margins, label) in margins.chunks_exact_mut(outputs).zip(labels) {
                let class = (*label as usize).min(margins.len() - 1);
                margins[class] = margins[class].plus(T::narrow(-1.0));
            }
        } else if outputs == 1 {
            let mut slopes = [0.0; BLOCK];
            for (slope, margin) in slopes.iter_mut().zip(&*margins) {
                *slope = margin.wide();
            }
            let count = margins.len().min(BLOCK);
            self.linear.of_block(&mut slopes[..count], labels);
            for (margin, slope) in margins.iter_mut().zip(slopes) {
                *margin = T::narrow(slope);
            }
        } else {
            // Softmax alone is served of those with several outputs: a row of another adds zero.
            margins.fill(T::narrow(f64::NAN));
        }
    }
}
