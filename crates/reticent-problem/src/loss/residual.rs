//! Constants that several losses of the residual share.

use super::LinearLoss;
use crate::{Domain, Regularity, RowBounds};

/// The constants of a loss of the residual whose slope rises up to the residual `steepest` and
/// falls beyond, with curvature at most one.
pub(super) fn redescending(
    loss: impl LinearLoss,
    steepest: f64,
    bounds: RowBounds,
    domain: &Domain,
) -> Regularity {
    let (b, y) = (bounds.norm(), bounds.label());
    let lipschitz = b * loss.slope(steepest.min(y + b * domain.radius()), 0.0);
    Regularity {
        lipschitz,
        gradient_difference: 2.0 * lipschitz,
        smoothness: Some(b * b),
        hessian_trace: Some(b * b),
        hessian_rank: 1,
        holder_order: 1.0,
        holder_constant: b * b,
        gradient_at_zero: b * loss.slope(steepest.min(y), 0.0),
        value_at_zero: loss.value(y, 0.0),
        strong_convexity: 0.0,
    }
}

/// The slope of `base^q`; one for `q = 1`, at zero too.
pub(super) fn slope_of_power(base: f64, q: f64) -> f64 {
    if q == 1.0 { 1.0 } else { q * base.powf(q - 1.0) }
}
