//! The squared loss on classes.

use super::about::{About, Describe, LabelKind, Predicts, check_classes};
use super::{Loss, LossVisitor, MultiLoss, Signal, Squared};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "one-hot",
    aliases: &[],
    help: "The squared loss on classes, for least-squares",
    convex: true,
    monotone: false,
    slope_limit: true,
    predicts: Predicts::Class,
    make: |given| Loss::OneHot { classes: given.classes },
    samples: &[Loss::OneHot { classes: 2 }, Loss::OneHot { classes: 4 }],
};

/// The squared loss on `K > 2` classes, `‖(⟨w_1,x⟩, …, ⟨w_K,x⟩) − e_y‖²/2`, one weight vector for
/// each class.
///
/// The gradient is `r ⊗ x` with the residual `r = margins − e_y`, or with `r` shortened to a norm
/// `h`: the gradient of a convex loss too, since shortening is a projection and so the gradient of
/// a convex function with Lipschitz constant one.
///
/// # Constants
///
/// Those of [`Squared`](super::Squared) with `Y = ‖e_y‖ = 1`, norms of weights being those of all
/// weight vectors together; the Hessian is `I_K ⊗ x xᵀ`, of trace `K B²` and rank `K`. Two classes
/// are -1 and +1, and the loss is the squared one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneHot {
    /// `K`.
    pub classes: usize,
}

/// The loss on more than two classes with residuals of a bounded norm.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Limited {
    /// `K`.
    classes: usize,
    /// `h`, infinite if residuals stay as they are.
    limit: f64,
}

impl MultiLoss for Limited {
    fn classes(self) -> usize {
        self.classes
    }

    /// Of residuals that stay as they are.
    fn value(self, margins: &[f64], class: usize) -> f64 {
        let off = |(k, m): (usize, &f64)| if k == class { m - 1.0 } else { *m };
        0.5 * margins.iter().enumerate().map(off).map(|r| r * r).sum::<f64>()
    }

    /// # Numerics
    ///
    /// Residuals are shortened to a little less than `h`, by more than the rounding of the norm and
    /// of the products can add.
    #[inline(always)]
    fn residual(self, margins: &mut [f64], class: usize) {
        let class = class.min(margins.len() - 1);
        margins[class] -= 1.0;
        if self.limit.is_finite() {
            let norm = margins.iter().map(|m| m * m).sum::<f64>().sqrt();
            let limit = self.limit * (1.0 - 4.0 * (margins.len() + 8) as f64 * f64::EPSILON);
            if norm > limit {
                let factor = limit / norm;
                for m in margins {
                    *m *= factor;
                }
            }
        }
    }
}

impl Describe for OneHot {
    fn labels(&self) -> LabelKind {
        LabelKind::Classes { count: self.classes, least: 2 }
    }

    fn check(&self) -> Result<(), ProblemError> {
        check_classes(self.classes)
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
        if self.classes <= 2 {
            return Squared.regularity(bounds, domain);
        }
        let one = RowBounds::of_layout(bounds.norm(), 1.0, bounds.entry());
        let one = Squared.regularity(one, domain);
        let trace = one.hessian_trace.map(|trace| self.classes as f64 * trace);
        Regularity { hessian_trace: trace, hessian_rank: self.classes, ..one }
    }

    fn row_slope(&self, reach: f64, label: f64) -> f64 {
        if self.classes <= 2 { reach + label } else { reach + 1.0 }
    }

    fn at_zero(&self) -> Option<(Loss, f64)> {
        None
    }

    fn simulated(&self, signal: &Signal, _bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        if self.classes <= 2 {
            signal.two_classes(truth, noise)
        } else {
            signal.class(self.classes, truth, noise)
        }
    }

    #[inline(always)]
    fn accept<V: LossVisitor>(self, limit: f64, visitor: V) -> V::Output {
        match self.classes {
            0..=2 => visitor.visit(Squared),
            classes => visitor.visit_multi(Limited { classes, limit }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residuals_are_the_distance_to_the_class_and_never_longer_than_the_limit() {
        let mut r = [0.25, 0.5, -1.0];
        Limited { classes: 3, limit: f64::INFINITY }.residual(&mut r, 1);
        assert_eq!(r, [0.25, -0.5, -1.0]);
        for scale in [1e-3, 1.0, 7.0, 1e9, 1e150] {
            for class in 0..5 {
                let mut r = [0.3, -0.7, 0.11, 0.9, -0.2].map(|m| scale * m);
                let mut free = r;
                let loss = Limited { classes: 5, limit: 0.8 };
                loss.residual(&mut r, class);
                Limited { limit: f64::INFINITY, ..loss }.residual(&mut free, class);
                let norm = |r: &[f64]| r.iter().fold(0.0_f64, |n, m| n.hypot(*m));
                assert!(norm(&r) <= 0.8, "{scale}: {}", norm(&r));
                let factor = (0.8 / norm(&free)).min(1.0);
                for (r, free) in r.iter().zip(free) {
                    assert!((r - factor * free).abs() < 1e-13, "{r} and {}", factor * free);
                }
            }
        }
    }
}
