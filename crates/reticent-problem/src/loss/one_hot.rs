//! The squared loss on classes.

use super::MultiLoss;
use crate::{Domain, Regularity, RowBounds};

/// The squared loss on `K > 2` classes, `‖(⟨w_1,x⟩, …, ⟨w_K,x⟩) − e_y‖²/2`, one weight vector for each class.
///
/// The gradient is `r ⊗ x` with the residual `r = margins − e_y`, or with `r` shortened to a norm `h`: the gradient of a convex loss too,
/// since shortening is a projection and so the gradient of a convex function with Lipschitz constant one.
///
/// # Constants
///
/// Those of [`Squared`](super::Squared) with `Y = ‖e_y‖ = 1`, norms of weights being those of all weight vectors together; the
/// Hessian is `I_K ⊗ x xᵀ`, of trace `K B²` and rank `K`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneHot {
    /// `K`.
    pub classes: usize,
    /// `h`, infinite if residuals stay as they are.
    pub limit: f64,
}

impl MultiLoss for OneHot {
    fn classes(self) -> usize {
        self.classes
    }

    /// # Numerics
    ///
    /// Residuals are shortened to a little less than `h`, by more than the rounding of the norm and of the products can add.
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

pub(super) fn regularity(classes: usize, bounds: RowBounds, domain: &Domain) -> Regularity {
    let one = super::squared::regularity(
        RowBounds::of_layout(bounds.norm(), 1.0, bounds.entry()),
        domain,
    );
    let trace = one.hessian_trace.map(|trace| classes as f64 * trace);
    Regularity { hessian_trace: trace, hessian_rank: classes, ..one }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residuals_are_the_distance_to_the_class_and_never_longer_than_the_limit() {
        let mut r = [0.25, 0.5, -1.0];
        OneHot { classes: 3, limit: f64::INFINITY }.residual(&mut r, 1);
        assert_eq!(r, [0.25, -0.5, -1.0]);
        for scale in [1e-3, 1.0, 7.0, 1e9, 1e150] {
            for class in 0..5 {
                let mut r = [0.3, -0.7, 0.11, 0.9, -0.2].map(|m| scale * m);
                let mut free = r;
                let loss = OneHot { classes: 5, limit: 0.8 };
                loss.residual(&mut r, class);
                OneHot { limit: f64::INFINITY, ..loss }.residual(&mut free, class);
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
