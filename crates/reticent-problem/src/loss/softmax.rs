//! The softmax loss.

use std::f64::consts::SQRT_2;

use super::about::{About, Describe, LabelKind, Predicts, check_classes};
use super::{Loss, LossVisitor, MultiLoss, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "softmax",
    aliases: &[],
    help: "Cross-entropy, three classes or more",
    convex: true,
    monotone: false,
    slope_limit: false,
    predicts: Predicts::Probabilities { of: probabilities, onnx: "Softmax" },
    make: |given| Loss::Softmax { classes: given.classes },
    samples: &[Loss::Softmax { classes: 2 }, Loss::Softmax { classes: 4 }],
};

/// Cross-entropy of `K` classes, `ln Σ_k e^{⟨w_k,x⟩} − ⟨w_y,x⟩`, one weight vector for each class.
///
/// The gradient is `(p − e_y) ⊗ x` with the class probabilities `p`.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B`, for every `w`:
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `√2 B` | `‖p − e_y‖ < √2` |
/// | difference `G` | `2√2 B` | two rows may pull opposite ways |
/// | smoothness `β` | `B²/2` | `λ_max(diag p − p pᵀ) ≤ 1/2` |
/// | trace `τ` | `(K−1)B²/2` | rank `K − 1`, each eigenvalue at most `1/2` |
/// | at zero | value `ln K`, gradient `B sqrt(1 − 1/K)` | `p` is uniform there |
/// | a row | `√2‖x‖` | approached as its class gets probability 0 |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Softmax {
    /// `K`.
    pub classes: usize,
}

impl MultiLoss for Softmax {
    fn classes(self) -> usize {
        self.classes
    }

    /// # Numerics
    ///
    /// The largest margin is subtracted first, so no exponent is positive.
    fn value(self, margins: &[f64], class: usize) -> f64 {
        let top = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        margins.iter().map(|m| (m - top).exp()).sum::<f64>().ln() + top - margins[class]
    }

    /// `p − e_y`.
    #[inline(always)]
    fn residual(self, margins: &mut [f64], class: usize) {
        let class = class.min(margins.len() - 1);
        probabilities(margins);
        margins[class] -= 1.0;
    }
}

impl Describe for Softmax {
    fn labels(&self) -> LabelKind {
        LabelKind::Classes { count: self.classes, least: 3 }
    }

    fn check(&self) -> Result<(), ProblemError> {
        check_classes(self.classes)
    }

    fn regularity(&self, bounds: RowBounds, _domain: &Domain) -> Regularity {
        let b = bounds.norm();
        let k = self.classes as f64;
        Regularity {
            lipschitz: SQRT_2 * b,
            gradient_difference: 2.0 * SQRT_2 * b,
            smoothness: Some(b * b / 2.0),
            hessian_trace: Some((k - 1.0) * b * b / 2.0),
            hessian_rank: self.classes.saturating_sub(1),
            holder_order: 1.0,
            holder_constant: b * b / 2.0,
            gradient_at_zero: b * (1.0 - 1.0 / k).sqrt(),
            value_at_zero: k.ln(),
            strong_convexity: 0.0,
        }
    }

    fn row_slope(&self, _reach: f64, _label: f64) -> f64 {
        SQRT_2
    }

    fn at_zero(&self) -> Option<(Loss, f64)> {
        None
    }

    fn simulated(&self, signal: &Signal, _bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        signal.class(self.classes, truth, noise)
    }

    /// The residual has `l_q` norm at most `2^{1/q}`, and its Jacobian the norm `2^{−2/p}` from
    /// `l_p` to `l_q`.
    fn dual_constants(&self, norm: f64, p: f64) -> (f64, Option<f64>) {
        ((1.0 - 1.0 / p).exp2() * norm, Some((-2.0 / p).exp2() * norm * norm))
    }

    #[inline(always)]
    fn accept<V: LossVisitor>(self, _: f64, visitor: V) -> V::Output {
        visitor.visit_multi(self)
    }
}

/// The probabilities of the classes.
#[inline(always)]
fn probabilities(margins: &mut [f64]) {
    let top = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for m in margins.iter_mut() {
        *m = (*m - top).exp();
        sum += *m;
    }
    for m in margins.iter_mut() {
        *m /= sum;
    }
}
