//! The direction that rows have in common, shortened.
//!
//! Encoded rows point much the same way: an intercept, numbers that keep away from zero, frequent categories. Most of a gradient
//! `s x` is then of that direction, most of the clip norm is spent on it, and what tells rows apart drowns in noise. With a unit vector `u`
//! along it,
//!
//! ```text
//! P = I − (1 − k) u uᵀ,      0 < k ≤ 1,
//! ```
//!
//! keeps a part `k` of it. Gradients `P s x`, those of the same model with the rows `P x`, are shorter by as much, and so is the noise
//! that they need.
//!
//! Rows are not changed, nor are the sums' kernels: what a row adds is `s x` scaled by `min(1, τ/(‖s‖‖Px‖))`, and `P` is applied to the sum.
//! All that is new is the size `‖Px‖` of a row,
//!
//! ```text
//! ‖Px‖² = ‖x‖² − (1 − k²)⟨x, u⟩².
//! ```
//!
//! # Rounding
//!
//! With unit roundoff `ε = 2⁻⁵³` and `d` features, `‖x‖²` is off by `(d + 1)ε‖x‖²`, the square of the product by `2.02 dε‖x‖²`, and `u` is a
//! unit vector up to `‖u‖² = 1 ± 2(d + 6)ε`, which moves `‖Px‖²` by as much times `‖x‖²`. Together with the last operations that is less than
//! `(6d + 24)ε‖x‖² ≤ (6d + 24)ε‖Px‖²/k²`. So a size is computed, and then lengthened by the factor `1 + 4(d + 16)ε/k²`: it is never too short.
//! Longer than `‖x‖` it may be by that factor; where a row is clipped by `‖x‖` itself all is well too, because `‖P‖ ≤ 1`.

use serde::{Deserialize, Serialize};

use crate::kernel::dense::Element;

/// Longer rows are left to the way of summation that bears any number.
const LONGEST: f64 = 1e14;

/// `P`: a direction, and how much of it is kept. Whoever makes one has paid for the direction, or it is public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Common {
    direction: Vec<f64>,
    keep: f64,
}

impl Common {
    /// The least part that may be kept: rounding in sums counts for up to `1/k` times as much.
    pub const LEAST: f64 = 0.05;

    /// Keeps `keep` of the direction of a vector; all of it, if that is zero or not finite.
    pub fn new(mut towards: Vec<f64>, keep: f64) -> Self {
        let peak = towards.iter().fold(0.0, |peak: f64, x| peak.max(x.abs()));
        let finite = towards.iter().all(|x| x.is_finite());
        if !finite || !peak.is_normal() {
            towards.fill(0.0);
            return Self { direction: towards, keep };
        }
        for x in &mut towards {
            *x /= peak;
        }
        let length = towards.iter().map(|x| x * x).sum::<f64>().sqrt();
        for x in &mut towards {
            *x /= length;
        }
        Self { direction: towards, keep }
    }

    /// What [`Self::direction`] and [`Self::keep`] gave.
    pub(crate) fn of_parts(direction: Vec<f64>, keep: f64) -> Self {
        Self { direction, keep }
    }

    /// Whether it may have been made for rows of so many features, to keep so much.
    pub fn belongs_to(&self, features: usize, keep: f64) -> bool {
        let square = self.direction.iter().map(|x| x * x).sum::<f64>();
        self.keep == keep
            && self.direction.len() == features
            && (square == 0.0 || (square - 1.0).abs() < 1e-9)
    }

    /// `u`.
    pub fn direction(&self) -> &[f64] {
        &self.direction
    }

    /// `k`.
    pub fn keep(&self) -> f64 {
        self.keep
    }

    /// `v ← P v`, for each output's part of a vector of weights or of a sum.
    pub fn shorten(&self, vector: &mut [f64]) {
        let u = &self.direction;
        for part in vector.chunks_exact_mut(u.len().max(1)) {
            let along = u.iter().zip(&*part).fold(0.0, |sum, (u, v)| u.mul_add(*v, sum));
            let less = (self.keep - 1.0) * along;
            part.iter_mut().zip(u).for_each(|(v, u)| *v = u.mul_add(less, *v));
        }
    }

    /// `‖Px‖`, never too short, from `‖x‖²` and `⟨x, u⟩`; not finite for a row that is too long.
    pub(crate) fn size(&self, square: f64, along: f64) -> f64 {
        if square.is_nan() || square > LONGEST * LONGEST {
            return f64::INFINITY;
        }
        let k2 = self.keep * self.keep;
        let slack = 2.0 * (self.direction.len() as f64 + 16.0) * f64::EPSILON / k2;
        (square - (1.0 - k2) * along * along).max(0.0).sqrt() * (1.0 + slack)
    }

    /// `⟨x, u⟩`.
    pub(crate) fn along<T: Element>(&self, row: &[T]) -> f64 {
        let (rows, rest) = row.as_chunks::<8>();
        let (parts, last) = self.direction.as_chunks::<8>();
        let mut lanes = [0.0; 8];
        for (x, u) in rows.iter().zip(parts) {
            for l in 0..8 {
                lanes[l] = x[l].wide().mul_add(u[l], lanes[l]);
            }
        }
        let rest = rest.iter().zip(last).fold(0.0, |sum, (x, u)| x.wide().mul_add(*u, sum));
        lanes.iter().sum::<f64>() + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seed: u32, len: u32) -> Vec<f64> {
        (0..len).map(|i| (f64::from(i * 7 + 3 * seed + 1)).sin()).collect()
    }

    fn square(x: &[f64]) -> f64 {
        x.iter().map(|x| x * x).sum()
    }

    #[test]
    fn a_size_is_that_of_the_shortened_row_and_never_too_short() {
        for len in [1, 2, 7, 8, 20, 133] {
            for keep in [Common::LEAST, 0.3, 0.9, 1.0] {
                let common = Common::new(row(0, len), keep);
                assert!(common.belongs_to(len as usize, keep));
                let aligned: Vec<f64> = common.direction().iter().map(|u| 3.0 * u).collect();
                for x in [row(1, len), row(2, len), aligned, vec![0.0; len as usize]] {
                    let mut short = x.clone();
                    common.shorten(&mut short);
                    let (size, want) =
                        (common.size(square(&x), common.along(&x)), square(&short).sqrt());
                    assert!(size >= want * (1.0 - 1e-15), "{len}, {keep}: {size} and {want}");
                    assert!(
                        size <= want * (1.0 + 1e-10) + 1e-300,
                        "{len}, {keep}: {size} and {want}"
                    );
                }
            }
        }
    }

    #[test]
    fn shortening_keeps_a_part_of_one_direction_and_all_of_the_others() {
        let common = Common::new(vec![0.0, 3.0, 4.0], 0.25);
        // Two outputs: each part on its own.
        let mut v = vec![5.0, 0.6, 0.8, 1.0, -0.8, 0.6];
        common.shorten(&mut v);
        for (got, want) in v.iter().zip([5.0, 0.15, 0.2, 1.0, -0.8, 0.6]) {
            assert!((got - want).abs() < 1e-15, "{v:?}");
        }
    }

    #[test]
    fn no_direction_changes_nothing_and_long_rows_are_left_to_others() {
        for towards in [vec![0.0; 3], vec![f64::NAN, 1.0, 2.0], vec![f64::INFINITY, 0.0, 0.0]] {
            let common = Common::new(towards, 0.1);
            let mut v = vec![1.0, 2.0, 3.0];
            common.shorten(&mut v);
            assert_eq!(v, [1.0, 2.0, 3.0]);
            assert!((common.size(14.0, common.along(&v)) - 14.0_f64.sqrt()).abs() < 1e-11);
        }
        let common = Common::new(vec![1e200, 1e200], 0.5);
        assert!((square(common.direction()) - 1.0).abs() < 1e-15, "squares would overflow");
        for square in [f64::NAN, f64::INFINITY, 1e30] {
            assert_eq!(common.size(square, 0.0), f64::INFINITY);
        }
    }
}
