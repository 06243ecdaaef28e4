//! The Welsch loss.

use super::{LinearLoss, redescending};
use crate::{Domain, Regularity, RowBounds};

/// The Welsch loss with threshold `k`: `(k²/2)(1 − e^{−r²/k²})`, `r = ⟨w,x⟩ − y`. A row far off costs `k²/2` and pulls
/// no more. Not convex.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B`, `|y| ≤ Y` and weights with `‖w‖ ≤ R` (possibly infinite), the slope is `r e^{−r²/k²}`:
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `B` times the slope at `min(Y + BR, k/√2)`, at most `kB e^{−1/2}/√2` | the slope is largest at `r = k/√2` |
/// | difference `G` | `2 L` | two rows may pull opposite ways |
/// | smoothness `β`, trace `τ` | `B²` | `(1 − 2r²/k²)e^{−r²/k²}` lies in `[−2e^{−3/2}, 1]` |
/// | at zero | value at `Y`, `B` times the slope at `min(Y, k/√2)` | |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welsch {
    /// `k > 0`.
    pub threshold: f64,
}

impl LinearLoss for Welsch {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        let (r, k) = (margin - label, self.threshold);
        -0.5 * k * k * (-(r / k) * (r / k)).exp_m1()
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        let (r, k) = (margin - label, self.threshold);
        r * (-(r / k) * (r / k)).exp()
    }
}

pub(super) fn regularity(threshold: f64, bounds: RowBounds, domain: &Domain) -> Regularity {
    let steepest = threshold * std::f64::consts::FRAC_1_SQRT_2;
    redescending(Welsch { threshold }, steepest, bounds, domain)
}
