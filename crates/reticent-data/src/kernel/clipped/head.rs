//! From a row's margins to the derivative of its loss by them.

use reticent_problem::loss::{LinearLoss, LinearVisitor, Softmax};
use reticent_problem::{Loss, Problem};

/// The end of a model: the loss as a function of its margins.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    loss: Loss,
    limit: f64,
}

impl Head {
    /// The problem's loss.
    pub(crate) fn new(problem: &Problem) -> Self {
        Self { loss: problem.loss, limit: problem.slope_limit.unwrap_or(f64::INFINITY) }
    }

    /// Turns a row's margins into the derivative of its loss by them, in place.
    #[inline(always)]
    pub(crate) fn residual(self, margins: &mut [f64], label: f64) {
        if let Loss::Softmax { classes } = self.loss {
            Softmax { classes }.residual(margins, label as usize);
        } else {
            let slope = self.loss.visit_linear(Slope { margin: margins[0], label });
            let slope = slope.unwrap_or(f64::NAN); // there is no other loss; a gradient that is not finite counts as 0
            margins[0] = slope.clamp(-self.limit, self.limit);
        }
    }
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
