//! How long the gradient of one given row can be.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use super::Loss;

impl Loss {
    /// `G_i`: the supremum over `‖w‖ ≤ radius` of the gradient's norm for one row, `norm = ‖x‖` with the constant
    /// feature among its entries and `label = |y|`.
    ///
    /// | loss | `G_i` |
    /// | --- | --- |
    /// | softmax | `√2‖x‖`, approached as the row's class gets probability 0 |
    /// | logistic | `‖x‖`: one weight vector, so no `√2` |
    /// | hinge | `q(1 + R‖x‖)^{q−1}‖x‖` |
    /// | power | `q(R‖x‖ + \|y\|)^{q−1}‖x‖` |
    /// | squared, one-hot | `(R‖x‖ + \|y\|)‖x‖`, a class having the length 1 |
    /// | Huber | `h‖x‖` |
    /// | sigmoid | `‖x‖/4` |
    /// | Welsch, Cauchy | `h e^{−1/2}‖x‖/√2`, `h‖x‖/2`: their steepest slopes |
    ///
    /// Where a positive power of `R` occurs, it is infinite on `R^d`, and zero for a row that is zero.
    pub fn row_lipschitz(self, norm: f64, label: f64, radius: f64) -> f64 {
        // A zero row has no gradient, whatever the radius.
        let reach = if norm == 0.0 { 0.0 } else { radius * norm };
        let power = |base: f64, q: f64| if q == 1.0 { 1.0 } else { q * base.powf(q - 1.0) };
        let slope = match self {
            Self::Softmax { .. } => SQRT_2,
            Self::Logistic => 1.0,
            Self::Hinge { q } => power(1.0 + reach, q),
            Self::Power { q } => power(reach + label, q),
            Self::Squared | Self::OneHot { classes: 0..=2 } => reach + label,
            Self::OneHot { .. } => reach + 1.0,
            Self::Huber { threshold } => threshold,
            Self::Sigmoid => 0.25,
            Self::Welsch { threshold } => threshold * (-0.5_f64).exp() * FRAC_1_SQRT_2,
            Self::Cauchy { threshold } => 0.5 * threshold,
        };
        if norm == 0.0 { 0.0 } else { slope * norm }
    }
}

/// `‖(x, 1)‖` for a row with a constant feature, `‖x‖` for one without.
pub fn extended_norm(norm: f64, intercept: bool) -> f64 {
    if intercept { norm.hypot(1.0) } else { norm }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domain, RowBounds};

    #[test]
    fn the_longest_admissible_row_has_the_constant_of_the_problem() {
        let bounds = RowBounds::new(3.0, 0.7).unwrap();
        for (loss, radius) in [
            (Loss::Softmax { classes: 4 }, f64::INFINITY),
            (Loss::Hinge { q: 1.0 }, f64::INFINITY),
            (Loss::Huber { threshold: 0.3 }, f64::INFINITY),
            (Loss::Power { q: 1.0 }, f64::INFINITY),
            (Loss::Hinge { q: 1.7 }, 2.0),
            (Loss::Power { q: 1.5 }, 2.0),
            (Loss::Squared, 2.0),
        ] {
            let domain =
                if radius.is_finite() { Domain::Ball { radius } } else { Domain::Unbounded };
            let all = loss.regularity(bounds, &domain).lipschitz;
            let one = loss.row_lipschitz(bounds.norm(), bounds.label(), radius);
            assert!(one >= all * (1.0 - 1e-12), "{loss:?}: {one} < {all}");
            assert!(one <= all * (1.0 + 1e-12), "{loss:?}: {one} > {all}");
            assert_eq!(loss.row_lipschitz(0.0, 0.7, radius), 0.0, "{loss:?}");
        }
        assert_eq!(Loss::Squared.row_lipschitz(1.0, 1.0, f64::INFINITY), f64::INFINITY);
    }
}
