//! The logistic loss.

use super::about::{About, Describe, LabelKind, Predicts};
use super::{LinearLoss, Loss, LossVisitor, Signal};
use crate::{Domain, ProblemError, Regularity, RowBounds};

pub(super) static ABOUT: About = About {
    name: "logistic",
    aliases: &[],
    help: "Log loss, two classes",
    convex: true,
    monotone: true,
    slope_limit: true,
    predicts: Predicts::Probabilities { of: probabilities, onnx: "Sigmoid" },
    make: |_| Loss::Logistic,
    samples: &[Loss::Logistic],
};

/// The logistic loss, `ln(1 + e^{−y⟨w,x⟩})` with labels `y ∈ {−1, +1}`.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B` and weights with `‖w‖ ≤ R` (possibly infinite):
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `B/(1 + e^{−BR})` | the slope is a sigmoid of a margin that stays within `BR` |
/// | difference `G` | `B max_c 2σ(BRc)√(1 − c²)`, `2 B` on `R^d` | see below |
/// | smoothness `β`, trace `τ` | `B²/4` | `s(1 − s) ≤ 1/4` for the sigmoid `s`; the Hessian has rank one |
/// | at zero | value `ln 2`, gradient `B/2` | the sigmoid is one half there |
/// | a row | `‖x‖` | one weight vector, so no `√2` as for softmax |
///
/// # Theorem (difference)
///
/// For rows `z = yx`, `z' = y'x'` in the ball of radius `B` and `‖w‖ ≤ R`, with `P = BR`,
///
/// ```text
/// ‖σ(−⟨w,z⟩)z − σ(−⟨w,z'⟩)z'‖ ≤ B·M(P),    M(P) = max_{0≤c≤1} 2σ(Pc)√(1 − c²),
/// ```
///
/// attained in two and more dimensions by two rows on either side of `−w`, at an angle of cosine
/// `c` to it: no two rows can both have the steepest slope and pull opposite ways. `M(0) = 1`.
///
/// *Proof.* Let `B = 1` and `‖w‖ = P` (`M` grows with `P`). Split rows along `w` and across it:
/// along it the slopes do not change when the part across is made longer, and the distance is at
/// most what it is if the parts across are opposite, and as long as they can be. So let
/// `‖z‖ = ‖z'‖ = 1`, at angles `ψ, ψ'` from `−w` on either side, and write `s = σ(P cos ψ)`, `s'`,
/// `m = (ψ + ψ')/2`, `d = (ψ − ψ')/2`. The squared distance is
///
/// ```text
/// V = s² + s'² − 2ss' cos(ψ + ψ') = (s + s')² sin²m + (s − s')² cos²m.
/// ```
///
/// If `cos ψ + cos ψ' < 0`, then `s + s' < 1` and `V < 1 ≤ M²`. Else put `c̄ = (cos ψ + cos ψ')/2
/// = cos m cos d ≥ 0`, so `0 ≤ m ≤ π/2`, `|d| ≤ m` and `c̄ ≥ cos²m =: k`. Put `A = Pc̄`,
/// `D = P sin m sin d`, `T = tanh(A/2)`, `κ = (cosh D − 1)/(cosh A + cosh D)`. By the sums of
/// hyperbolic functions `s + s' = 1 + T(1 − κ)` and `(s − s')² = κ(1 − T²(1 − κ))`, while
/// `M² ≥ 4σ(Pc̄)²(1 − c̄²) = (1 + T)²(sin²m + k sin²d)`. Since `κ ≤ tanh²(D/2) ≤ P² sin²m sin²d/4`,
/// `V ≤ M²` follows from
///
/// ```text
/// k ≤ (1 − k)·T(2 + T) + 4k/(P²(1 − k)).                                             (*)
/// ```
///
/// For `P ≤ 2` the last term is enough. Let `P > 2` and `k ≤ 1/2`: `T ≥ τ = tanh x`, `x = Pk/2`, so
/// the first term is at least `τ + τ²/2`. If `x ≤ 1` that is at least `x ≥ k`, because
/// `(atanh τ − τ)/τ²` increases and is below 0.42 at `x = 1`; if `x > 1` it exceeds 1. If
/// `k > 1/2`, then `m < π/4` and both cosines are positive: `V ≤ 4σ(P cos m)² sin²m + (σ(P) − ½)²`,
/// the first term grows with `m` up to `π/4` (its logarithm's derivative is twice
/// `cot m − tan m·v(1 − σ(v))` with `v = P cos m`, and `v(1 − σ(v)) < 0.28`), and
/// `2σ(P/√2)² + (σ(P) − ½)² ≤ 3σ(P/2)² ≤ M²` for `P ≥ 2`, which the tests check on intervals up to
/// 20; beyond, the left is below 2.25 and the right above 2.99. ∎
///
/// Slopes that are made smaller (a slope limit, weights of rows below one) stay within it: `V` is
/// convex in `(s, s')` and at most `max(s, s')² < 1` where one of them is zero.
///
/// # Numerics
///
/// Every exponent is non-positive, so no finite margin overflows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Logistic;

impl LinearLoss for Logistic {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        let z = label * margin;
        (-z).max(0.0) + (-z.abs()).exp().ln_1p()
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        let z = label * margin;
        let e = (-z.abs()).exp();
        let sigmoid_of_minus_z = if z >= 0.0 { e } else { 1.0 } / (1.0 + e);
        -label * sigmoid_of_minus_z
    }
}

impl Describe for Logistic {
    fn labels(&self) -> LabelKind {
        LabelKind::TwoClasses
    }

    fn check(&self) -> Result<(), ProblemError> {
        Ok(())
    }

    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity {
        let b = bounds.norm();
        let reach = b * domain.radius();
        let lipschitz = b / (1.0 + (-reach).exp());
        Regularity {
            lipschitz,
            gradient_difference: b * apart(reach),
            smoothness: Some(b * b / 4.0),
            hessian_trace: Some(b * b / 4.0),
            hessian_rank: 1,
            holder_order: 1.0,
            holder_constant: b * b / 4.0,
            gradient_at_zero: b / 2.0,
            value_at_zero: std::f64::consts::LN_2,
            strong_convexity: 0.0,
        }
    }

    fn row_slope(&self, _reach: f64, _label: f64) -> f64 {
        1.0
    }

    fn at_zero(&self) -> Option<(Loss, f64)> {
        None
    }

    fn simulated(&self, signal: &Signal, _bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        signal.two_classes(truth, noise)
    }

    #[inline(always)]
    fn accept<V: LossVisitor>(self, _: f64, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}

/// `M(P)`, rounded up.
///
/// The logarithm of `σ(Pc)√(1 − c²)` is concave, so its derivative changes sign once; where it
/// does the function is flat, and what the root is off by does not count.
fn apart(reach: f64) -> f64 {
    if reach.is_nan() || reach > 1e6 {
        return 2.0;
    }
    let sigmoid = |u: f64| 1.0 / (1.0 + (-u).exp());
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let c = 0.5 * (low + high);
        let rises = reach * sigmoid(-reach * c) * (1.0 - c * c) > c;
        if rises { low = c } else { high = c }
    }
    (2.0 * sigmoid(reach * low) * (1.0 - low * low).sqrt() * (1.0 + 1e-12)).min(2.0)
}

/// The probability of the class +1.
fn probabilities(margins: &mut [f64]) {
    for m in margins {
        *m = 1.0 / (1.0 + (-*m).exp());
    }
}

#[cfg(test)]
mod tests {
    use super::apart;

    fn sigmoid(u: f64) -> f64 {
        1.0 / (1.0 + (-u).exp())
    }

    /// All pairs of directions, on a grid of angles: never above, and where a pair comes near.
    #[test]
    fn no_pair_of_rows_is_farther_apart_and_some_are_that_far() {
        for reach in [0.0, 1e-3, 0.5, 1.0, 1.9, 2.0, 2.1, 3.0, 5.0, 8.0, 20.0, 100.0, 1e4] {
            let bound = apart(reach);
            let angles = || (0..=600).map(|i| std::f64::consts::PI * f64::from(i) / 600.0);
            let mut most = 0.0_f64;
            for one in angles() {
                let s = sigmoid(reach * one.cos());
                for other in angles() {
                    let t = sigmoid(reach * other.cos());
                    most = most.max(s * s + t * t - 2.0 * s * t * (one + other).cos());
                }
            }
            let most = most.sqrt();
            assert!(most <= bound && most > 0.98 * bound, "{reach}: {most} of {bound}");
        }
        assert_eq!(apart(f64::INFINITY), 2.0);
    }

    /// `2σ(P/√2)² + (σ(P) − ½)² ≤ 3σ(P/2)²` for `2 ≤ P ≤ 20`: all three increase, so on each
    /// interval the left is taken at its upper end and the right at its lower.
    #[test]
    fn the_last_inequality_of_the_proof_holds() {
        let mut low = 2.0;
        while low < 20.0 {
            let high: f64 = low + 0.01;
            let left = 2.0 * sigmoid(high / 2.0_f64.sqrt()).powi(2) + (sigmoid(high) - 0.5).powi(2);
            assert!(left <= 3.0 * sigmoid(0.5 * low).powi(2), "{low}");
            low = high;
        }
    }
}
