//! From margins to the derivative of the loss by them: the one place where kernels meet a loss.
//!
//! A kernel is compiled for each layout of rows, a loss for no layout: losses and layouts add up
//! instead of multiplying. Kernels compute the margins of a few rows, or of a block of them, and
//! hand them over together, so that the branch on the loss is taken once for all of them.

use reticent_problem::loss::{LinearLoss, LinearVisitor, LossVisitor, MultiLoss};
use reticent_problem::{Loss, Problem};

/// The derivative of a loss by its margins. The slope of a linear loss is clamped to `±limit`, the
/// residual of one-hot is held to that length.
#[derive(Clone, Copy)]
pub(crate) struct Derivative {
    loss: Loss,
    limit: f64,
}

impl Derivative {
    pub(crate) fn new(loss: Loss, limit: f64) -> Self {
        Self { loss, limit }
    }

    /// That of a problem's loss.
    pub(crate) fn of(problem: &Problem) -> Self {
        Self::new(problem.loss, problem.slope_limit.unwrap_or(f64::INFINITY))
    }

    /// Margins of a row.
    #[inline(always)]
    pub(crate) fn outputs(self) -> usize {
        self.loss.outputs()
    }

    /// Turns the margins of rows into the derivatives, in place: those of a row lie together, and
    /// each row has a label.
    #[inline(never)]
    pub(crate) fn of_block(self, margins: &mut [f64], labels: &[f64]) {
        self.loss.visit(self.limit, Block { limit: self.limit, margins, labels });
    }

    /// [`Self::of_block`] for one row, where the next thing to do waits for it: without a call for
    /// a linear loss.
    #[inline(always)]
    pub(crate) fn of_row(self, margins: &mut [f64], label: f64) {
        match margins {
            [margin] => *margin = self.slope(*margin, label),
            _ => self.of_block(margins, &[label]),
        }
    }

    /// Hands a linear loss to `visitor`, without the limit: for work that a branch on the loss, or
    /// a number more to hand over, would slow down.
    #[inline(always)]
    pub(crate) fn visit_linear<V: LinearVisitor>(self, visitor: V) -> Option<V::Output> {
        self.loss.visit_linear(visitor)
    }

    /// [`Self::of_row`] for one margin.
    #[inline(always)]
    pub(crate) fn slope(self, margin: f64, label: f64) -> f64 {
        let [slope] = self.slopes([margin], [label]);
        slope
    }

    /// [`Self::of_row`] for a few rows with one margin each.
    #[inline(always)]
    pub(crate) fn slopes<const N: usize>(self, margins: [f64; N], labels: [f64; N]) -> [f64; N] {
        let slopes = Slopes { limit: self.limit, margins, labels };
        self.visit_linear(slopes).unwrap_or_else(|| {
            let mut margins = margins;
            self.of_block(&mut margins, &labels);
            margins
        })
    }
}

struct Block<'a> {
    limit: f64,
    margins: &'a mut [f64],
    labels: &'a [f64],
}

impl LinearVisitor for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn visit<L: LinearLoss>(self, loss: L) {
        for (margin, &label) in self.margins.iter_mut().zip(self.labels) {
            *margin = loss.slope(*margin, label).clamp(-self.limit, self.limit);
        }
    }
}

impl LossVisitor for Block<'_> {
    #[inline(always)]
    fn visit_multi<L: MultiLoss>(self, loss: L) {
        let rows = self.margins.chunks_exact_mut(loss.classes().max(1));
        for (margins, &label) in rows.zip(self.labels) {
            loss.residual(margins, label as usize);
        }
    }
}

struct Slopes<const N: usize> {
    limit: f64,
    margins: [f64; N],
    labels: [f64; N],
}

impl<const N: usize> LinearVisitor for Slopes<N> {
    type Output = [f64; N];

    #[inline(always)]
    fn visit<L: LinearLoss>(self, loss: L) -> [f64; N] {
        let mut slopes = self.margins;
        for (slope, label) in slopes.iter_mut().zip(self.labels) {
            *slope = loss.slope(*slope, label).clamp(-self.limit, self.limit);
        }
        slopes
    }
}
