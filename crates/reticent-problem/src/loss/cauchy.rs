//! The Cauchy loss.

use super::{LinearLoss, redescending};
use crate::{Domain, Regularity, RowBounds};

/// The Cauchy loss with threshold `k`: `(k²/2) ln(1 + r²/k²)`, `r = ⟨w,x⟩ − y`. A row far off pulls less and less. Not
/// convex.
///
/// # Constants
///
/// On rows with `‖x‖ ≤ B`, `|y| ≤ Y` and weights with `‖w‖ ≤ R` (possibly infinite), the slope is `r/(1 + r²/k²)`:
///
/// | constant | value | because |
/// | --- | --- | --- |
/// | Lipschitz `L` | `B` times the slope at `min(Y + BR, k)`, at most `kB/2` | the slope is largest at `r = k` |
/// | difference `G` | `2 L` | two rows may pull opposite ways |
/// | smoothness `β`, trace `τ` | `B²` | `(1 − r²/k²)/(1 + r²/k²)²` lies in `[−1/8, 1]` |
/// | at zero | value at `Y`, `B` times the slope at `min(Y, k)` | |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cauchy {
    /// `k > 0`.
    pub threshold: f64,
}

impl LinearLoss for Cauchy {
    #[inline(always)]
    fn value(self, margin: f64, label: f64) -> f64 {
        let (r, k) = (margin - label, self.threshold);
        0.5 * k * k * ((r / k) * (r / k)).ln_1p()
    }

    #[inline(always)]
    fn slope(self, margin: f64, label: f64) -> f64 {
        let (r, k) = (margin - label, self.threshold);
        r / (1.0 + (r / k) * (r / k))
    }
}

pub(super) fn regularity(threshold: f64, bounds: RowBounds, domain: &Domain) -> Regularity {
    redescending(Cauchy { threshold }, threshold, bounds, domain)
}
