//! The preconditioner: the mean direction of the rows, shrunk, and standardized features.
//!
//! Encoded rows point much the same way: an intercept, numbers that keep away from zero, frequent
//! categories. Most of a gradient `s x` then lies in that direction, most of the clip norm is spent
//! on it, and the differences between rows drown in noise. Frequent categories do the same to rare
//! ones: the noise has the scale of the former, and hides the latter. With a unit vector `u` along
//! the mean row, and a scale for each feature, `D = diag(s_1, …, s_d)`,
//!
//! ```text
//! P = (I − (1 − k) u uᵀ) D,      0 < k ≤ 1.
//! ```
//!
//! Gradients `P s x`, those of the same model with the rows `P x`, are of a like length in all
//! features.
//!
//! Rows are not changed, nor are the sums' kernels: a row adds `s x` scaled by
//! `min(1, τ/(‖s‖‖Px‖))`, and `P` is applied to the sum. All that is new is the size `‖Px‖` of a
//! row,
//!
//! ```text
//! ‖Px‖² = ‖Dx‖² − (1 − k²)⟨Dx, u⟩².
//! ```
//!
//! # Rounding
//!
//! With unit roundoff `ε = 2⁻⁵³` and `d` features, a product `s_j x_j` is off by `ε`, so `‖Dx‖²` by
//! `(d + 3)ε‖Dx‖²`, the square of the scalar product by `2.02 (d + 2)ε‖Dx‖²`, and `u` is a unit
//! vector up to `‖u‖² = 1 ± 2(d + 6)ε`, which moves `‖Px‖²` by as much times `‖Dx‖²`. Together with
//! the last operations that is less than `(6d + 32)ε‖Dx‖² ≤ (6d + 32)ε‖Px‖²/k²`. So a size is
//! computed, and then lengthened by the factor `1 + 4(d + 16)ε/k²`: it is never too short. Where a
//! row is clipped by `‖x‖` itself, because its size is out of range, it is clipped to
//! `τ/`[`longest`](Preconditioner::longest), which is no less than `‖P‖`.

use serde::{Deserialize, Serialize};

use crate::kernel::dense::Element;

/// Longer rows are left to the way of summation that bears any number.
const LONGEST: f64 = 1e14;

/// The valid scales: a row that is not too long once scaled is not too long before either.
const SCALES: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// `P`: scales, a direction, and how much of it is kept. Anyone who makes one has paid for these,
/// or they are public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preconditioner {
    scales: Vec<f64>,
    direction: Vec<f64>,
    keep: f64,
}

impl Preconditioner {
    /// The least part that may be kept: rounding in sums counts for up to `1/k` times as much.
    pub const LEAST: f64 = 0.05;

    /// Keeps `keep` of the direction of a vector; all of it, if that is zero or not finite. All
    /// scales are 1.
    pub fn new(mut towards: Vec<f64>, keep: f64) -> Self {
        let scales = vec![1.0; towards.len()];
        let peak = largest(&towards);
        let finite = towards.iter().all(|x| x.is_finite());
        if !finite || !peak.is_normal() {
            towards.fill(0.0);
            return Self { scales, direction: towards, keep };
        }
        for x in &mut towards {
            *x /= peak;
        }
        let length = towards.iter().map(|x| x * x).sum::<f64>().sqrt();
        for x in &mut towards {
            *x /= length;
        }
        Self { scales, direction: towards, keep }
    }

    /// The same with these scales. The direction is one of scaled rows. Where a scale is no
    /// ordinary number, all stay as they are.
    #[must_use]
    pub fn with_scales(mut self, scales: Vec<f64>) -> Self {
        if scales.len() == self.direction.len() && scales.iter().all(|s| SCALES.contains(s)) {
            self.scales = scales;
        }
        self
    }

    /// Whether it may have been made for rows of so many features, to keep so much.
    pub fn belongs_to(&self, features: usize, keep: f64) -> bool {
        let square = self.direction.iter().map(|x| x * x).sum::<f64>();
        self.keep == keep
            && self.direction.len() == features
            && (square == 0.0 || (square - 1.0).abs() < 1e-9)
            && self.scales.len() == features
            && self.scales.iter().all(|s| SCALES.contains(s))
    }

    /// `s`.
    pub fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// `u`.
    pub fn direction(&self) -> &[f64] {
        &self.direction
    }

    /// `k`.
    pub fn keep(&self) -> f64 {
        self.keep
    }

    /// No less than `‖P‖`: by how much a vector is longer for it at most.
    pub(crate) fn longest(&self) -> f64 {
        largest(&self.scales) * (1.0 + 1e-9)
    }

    /// `v ← P v`, for each output's part of a sum.
    pub fn apply(&self, vector: &mut [f64]) {
        for part in vector.chunks_exact_mut(self.direction.len().max(1)) {
            part.iter_mut().zip(&self.scales).for_each(|(v, s)| *v *= s);
            self.project(part);
        }
    }

    /// `v ← Pᵀ v`, for each output's part of a step: from weights of the rows `P x` to those of the
    /// rows as they are.
    pub fn apply_transpose(&self, vector: &mut [f64]) {
        for part in vector.chunks_exact_mut(self.direction.len().max(1)) {
            self.project(part);
            part.iter_mut().zip(&self.scales).for_each(|(v, s)| *v *= s);
        }
    }

    /// `g ← g + c (I − uuᵀ)D⁻¹w`, for each output's part: pulls the weights of scaled rows towards
    /// zero, but for their share in the mean direction of the rows.
    pub fn pull(&self, gradient: &mut [f64], weights: &[f64], factor: f64) {
        let features = self.direction.len().max(1);
        let parts = gradient.chunks_exact_mut(features).zip(weights.chunks_exact(features));
        for (gradient, weights) in parts {
            let scaled = || weights.iter().zip(&self.scales).map(|(w, s)| w / s);
            let along: f64 = scaled().zip(&self.direction).map(|(w, u)| w * u).sum();
            let rest = scaled().zip(&self.direction).map(|(w, u)| w - along * u);
            gradient.iter_mut().zip(rest).for_each(|(g, w)| *g += factor * w);
        }
    }

    /// `v ← (I − (1 − k)uuᵀ) v`.
    fn project(&self, part: &mut [f64]) {
        let u = &self.direction;
        let along = u.iter().zip(&*part).fold(0.0, |sum, (u, v)| u.mul_add(*v, sum));
        let less = (self.keep - 1.0) * along;
        part.iter_mut().zip(u).for_each(|(v, u)| *v = u.mul_add(less, *v));
    }

    /// `‖Px‖`, never too short; not finite for a row that is too long.
    pub(crate) fn size<T: Element>(&self, row: &[T]) -> f64 {
        let (rows, rest) = row.as_chunks::<8>();
        let (scales, scale) = self.scales.as_chunks::<8>();
        let (parts, part) = self.direction.as_chunks::<8>();
        let (mut squares, mut alongs) = ([0.0; 8], [0.0; 8]);
        for ((x, s), u) in rows.iter().zip(scales).zip(parts) {
            for l in 0..8 {
                let scaled = x[l].wide() * s[l];
                squares[l] = scaled.mul_add(scaled, squares[l]);
                alongs[l] = scaled.mul_add(u[l], alongs[l]);
            }
        }
        for (l, x) in rest.iter().enumerate() {
            let scaled = x.wide() * scale[l];
            squares[l] = scaled.mul_add(scaled, squares[l]);
            alongs[l] = scaled.mul_add(part[l], alongs[l]);
        }
        self.of_sums(squares.iter().sum(), alongs.iter().sum())
    }

    /// [`Self::size`] of a row with these entries.
    pub(crate) fn sparse_size(&self, indices: &[u32], values: &[f64]) -> f64 {
        let (mut square, mut along) = (0.0, 0.0);
        for (&j, x) in indices.iter().zip(values) {
            let scaled = x * self.scales[j as usize];
            square = scaled.mul_add(scaled, square);
            along = scaled.mul_add(self.direction[j as usize], along);
        }
        self.of_sums(square, along)
    }

    /// `‖Px‖` from `‖Dx‖²` and `⟨Dx, u⟩`.
    fn of_sums(&self, square: f64, along: f64) -> f64 {
        if square.is_nan() || square > LONGEST * LONGEST {
            return f64::INFINITY;
        }
        let k2 = self.keep * self.keep;
        let slack = 2.0 * (self.direction.len() as f64 + 16.0) * f64::EPSILON / k2;
        (square - (1.0 - k2) * along * along).max(0.0).sqrt() * (1.0 + slack)
    }
}

/// The largest size of an entry.
fn largest(of: &[f64]) -> f64 {
    of.iter().fold(0.0, |peak: f64, x| peak.max(x.abs()))
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

    /// Scales from 0.7 to 3.5.
    fn scales(len: u32) -> Vec<f64> {
        (0..len).map(|i| 2.1 + 1.4 * (f64::from(i * i)).cos()).collect()
    }

    #[test]
    fn a_size_is_that_of_the_shortened_row_and_never_too_short() {
        for len in [1, 2, 7, 8, 20, 133] {
            for keep in [Preconditioner::LEAST, 0.3, 0.9, 1.0] {
                let plain = Preconditioner::new(row(0, len), keep);
                for preconditioner in [plain.clone(), plain.with_scales(scales(len))] {
                    assert!(preconditioner.belongs_to(len as usize, keep));
                    let back = preconditioner.direction().iter().zip(preconditioner.scales());
                    let aligned: Vec<f64> = back.map(|(u, s)| 3.0 * u / s).collect();
                    for x in [row(1, len), row(2, len), aligned, vec![0.0; len as usize]] {
                        let mut short = x.clone();
                        preconditioner.apply(&mut short);
                        let (size, want) = (preconditioner.size(&x), square(&short).sqrt());
                        assert!(size >= want * (1.0 - 1e-15), "{len}, {keep}: {size} and {want}");
                        let most = want * (1.0 + 1e-10) + 1e-300;
                        assert!(size <= most, "{len}, {keep}: {size} and {want}");
                        assert!(want <= preconditioner.longest() * square(&x).sqrt());
                        let indices: Vec<u32> = (0..len).collect();
                        let sparse = preconditioner.sparse_size(&indices, &x);
                        assert!((sparse - size).abs() <= 1e-10 * size);
                    }
                }
            }
        }
    }

    #[test]
    fn shortening_keeps_a_part_of_one_direction_and_all_of_the_others() {
        let preconditioner = Preconditioner::new(vec![0.0, 3.0, 4.0], 0.25);
        // Two outputs: each part on its own.
        let mut v = vec![5.0, 0.6, 0.8, 1.0, -0.8, 0.6];
        preconditioner.apply(&mut v);
        for (got, want) in v.iter().zip([5.0, 0.15, 0.2, 1.0, -0.8, 0.6]) {
            assert!((got - want).abs() < 1e-15, "{v:?}");
        }
    }

    #[test]
    fn margins_are_the_same_with_shortened_rows_and_with_weights_turned_back() {
        let preconditioner = Preconditioner::new(row(0, 9), 0.3).with_scales(scales(9));
        let (x, v) = (row(1, 9), row(2, 9));
        let (mut short, mut back) = (x.clone(), v.clone());
        preconditioner.apply(&mut short);
        preconditioner.apply_transpose(&mut back);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        assert!((dot(&short, &v) - dot(&x, &back)).abs() < 1e-13);
    }

    #[test]
    fn a_pull_is_towards_zero_but_along_the_common_direction() {
        let common = Preconditioner::new(row(0, 9), 0.3).with_scales(scales(9));
        // Two outputs: weights along the direction, which nothing pulls, and weights across it.
        let along: Vec<f64> =
            common.direction().iter().zip(common.scales()).map(|(u, s)| 2.0 * u * s).collect();
        let weights = [along, row(3, 9)].concat();
        let mut gradient = vec![0.0; 18];
        common.pull(&mut gradient, &weights, 0.5);
        assert!(square(&gradient[..9]) < 1e-24, "{gradient:?}");
        let across: f64 = gradient[9..].iter().zip(common.direction()).map(|(g, u)| g * u).sum();
        assert!(across.abs() < 1e-12, "{across}");
        let scaled: Vec<f64> =
            weights[9..].iter().zip(common.scales()).map(|(w, s)| w / s).collect();
        let share: f64 = scaled.iter().zip(common.direction()).map(|(w, u)| w * u).sum();
        let rest = square(&scaled) - share * share;
        assert!((square(&gradient[9..]) - 0.25 * rest).abs() < 1e-9 * rest);
    }

    #[test]
    fn scales_are_ordinary_numbers() {
        let preconditioner =
            Preconditioner::new(vec![1.0; 3], 0.5).with_scales(vec![1e-3, 2.0, 0.5]);
        assert_eq!(preconditioner.scales(), [1e-3, 2.0, 0.5]);
        for odd in [f64::NAN, f64::INFINITY, 0.0, -1.0, 1e7] {
            let preconditioner = Preconditioner::new(vec![1.0; 2], 0.5).with_scales(vec![1.0, odd]);
            assert_eq!(preconditioner.scales(), [1.0, 1.0]);
        }
        for odd in [vec![1.0, 1e-7], vec![1.0, f64::NAN], vec![1.0; 3]] {
            let odd = Preconditioner { scales: odd, direction: vec![0.6, 0.8], keep: 0.5 };
            assert!(!odd.belongs_to(2, 0.5));
        }
    }

    #[test]
    fn no_direction_changes_nothing_and_long_rows_are_left_to_others() {
        for towards in [vec![0.0; 3], vec![f64::NAN, 1.0, 2.0], vec![f64::INFINITY, 0.0, 0.0]] {
            let preconditioner = Preconditioner::new(towards, 0.1);
            let mut v = vec![1.0, 2.0, 3.0];
            preconditioner.apply(&mut v);
            assert_eq!(v, [1.0, 2.0, 3.0]);
            assert!((preconditioner.size(&v) - 14.0_f64.sqrt()).abs() < 1e-11);
        }
        let preconditioner = Preconditioner::new(vec![1e200, 1e200], 0.5);
        assert!((square(preconditioner.direction()) - 1.0).abs() < 1e-15, "squares would overflow");
        for long in [f64::NAN, f64::INFINITY, 1e15] {
            assert_eq!(preconditioner.size(&[long, 0.0]), f64::INFINITY);
        }
    }
}
