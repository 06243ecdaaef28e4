//! The softmax loss.

use std::f64::consts::SQRT_2;

use super::MultiLoss;
use crate::{Regularity, RowBounds};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Softmax {
    /// `K`.
    pub classes: usize,
}

impl Softmax {
    /// The loss of a row with these margins and this class.
    ///
    /// # Numerics
    ///
    /// The largest margin is subtracted first, so no exponent is positive.
    pub fn value(self, margins: &[f64], class: usize) -> f64 {
        let top = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        margins.iter().map(|m| (m - top).exp()).sum::<f64>().ln() + top - margins[class]
    }
}

impl MultiLoss for Softmax {
    fn classes(self) -> usize {
        self.classes
    }

    /// `p − e_y`.
    #[inline(always)]
    fn residual(self, margins: &mut [f64], class: usize) {
        let class = class.min(margins.len() - 1);
        let top = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        for m in margins.iter_mut() {
            *m = (*m - top).exp();
            sum += *m;
        }
        for m in margins.iter_mut() {
            *m /= sum;
        }
        margins[class] -= 1.0;
    }
}

/// Lipschitz and smoothness for weights in `l_p`, rows (of norm at most `b`) and gradients in the dual norm.
pub(super) fn dual_constants(b: f64, p: f64) -> (f64, Option<f64>) {
    ((1.0 - 1.0 / p).exp2() * b, Some((-2.0 / p).exp2() * b * b))
}

pub(super) fn regularity(classes: usize, bounds: RowBounds) -> Regularity {
    let b = bounds.norm();
    let k = classes as f64;
    Regularity {
        lipschitz: SQRT_2 * b,
        gradient_difference: 2.0 * SQRT_2 * b,
        smoothness: Some(b * b / 2.0),
        hessian_trace: Some((k - 1.0) * b * b / 2.0),
        hessian_rank: classes - 1,
        holder_order: 1.0,
        holder_constant: b * b / 2.0,
        gradient_at_zero: b * (1.0 - 1.0 / k).sqrt(),
        value_at_zero: k.ln(),
        strong_convexity: 0.0,
    }
}
