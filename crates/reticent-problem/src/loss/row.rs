//! How long the gradient of one given row can be.

use super::Loss;

impl Loss {
    /// `G_i`: the supremum over `‖w‖ ≤ radius` of the gradient's norm for one row, `norm = ‖x‖`
    /// with the constant feature among its entries and `label = |y|`.
    ///
    /// Each loss states the largest slope in its file, the line "a row" of its constants. Where a
    /// positive power of `R` occurs in it, it is infinite on `R^d`, and zero for a row that is
    /// zero.
    pub fn row_lipschitz(self, norm: f64, label: f64, radius: f64) -> f64 {
        // A zero row has no gradient, whatever the radius.
        if norm == 0.0 {
            return 0.0;
        }
        self.described(|loss| loss.row_slope(radius * norm, label)) * norm
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
