//! Weights that predict the mean of the labels for every row, as well as can be told.
//!
//! Regression targets are declared within a range, and most lie in a small part of it: wages,
//! prices, times. From zero, where the middle of the range is predicted, gradients are as long as
//! that part is far from the middle. The clip norm follows them, and the noise follows the clip
//! norm, though all that the steps learn from it is one number.
//!
//! # Rule
//!
//! With the noisy means `ȳ` of the labels and `x̄` of the rows, and the noisy mean squares `v` of
//! their entries, let
//!
//! ```text
//! C = diag(max(v_j − x̄_j², 0) + λ),      w_0 = ȳ C⁻¹x̄/(1 + x̄ᵀC⁻¹x̄).
//! ```
//!
//! Among all weights `w_0` has the least `(x̄ᵀw − ȳ)² + wᵀCw`: the mean square of `⟨w, x⟩ − ȳ` for
//! rows with the mean `x̄` whose features vary on their own, and `λ`, the deviation of the noise in
//! `v`, against features that are small by chance. An intercept varies least and takes nearly all.
//! Without `v` what rows of norm `B` have besides their mean is shared by all features,
//! `C = max((B² − ‖x̄‖²)/d, 0.01 ‖x̄‖²) I`. Features that vary together are taken for more reliable
//! than they are; where there is an intercept that does not matter. With a logarithmic link `ȳ`
//! stands for the margin that predicts the mean of the labels.
//!
//! For `ȳ` stands the noisy mean `y` times `max(1 − 2s²/y², 0)`, `s` the deviation of its noise: a
//! mean that noise hides is taken for none, one that is hardly told for a part of it. Where more
//! than half of `‖x̄‖²` is likely noise, the steps begin at zero. Clip norms that follow the labels
//! are found at `w_0`.
//!
//! # Privacy
//!
//! A function of what [`preconditioner`](super::preconditioner) has released.

use crate::tuning::{LEAST_VARIANCE, SIGNIFICANT};

/// The released moments, as means.
pub(super) struct Known {
    /// `y`.
    pub(super) label: f64,
    /// `s`.
    pub(super) label_deviation: f64,
    /// `x̄`.
    pub(super) means: Vec<f64>,
    /// The standard deviation of the noise in each entry.
    pub(super) deviation: f64,
    /// `v`; empty if it was not released.
    pub(super) squares: Vec<f64>,
    /// `λ`.
    pub(super) level: f64,
    /// `B`.
    pub(super) norm: f64,
}

impl Known {
    /// `w_0`; none where a mean is hidden by noise.
    pub(super) fn start(&self) -> Option<Vec<f64>> {
        let length: f64 = self.means.iter().map(|x| x * x).sum();
        let features = self.means.len() as f64;
        let hidden = features * self.deviation * self.deviation;
        let significant = 1.0 - SIGNIFICANT * (self.label_deviation / self.label).powi(2);
        if significant.is_nan() || significant <= 0.0 || length < SIGNIFICANT * hidden {
            return None;
        }
        let rest = ((self.norm * self.norm - length) / features).max(LEAST_VARIANCE * length);
        let varies = |j: usize| match self.squares.get(j) {
            Some(v) => (v - self.means[j] * self.means[j]).max(0.0) + self.level,
            None => rest,
        };
        let towards: Vec<f64> = self.means.iter().enumerate().map(|(j, x)| x / varies(j)).collect();
        let reach: f64 = towards.iter().zip(&self.means).map(|(w, x)| w * x).sum();
        let factor = significant * self.label / (1.0 + reach);
        let start: Vec<f64> = towards.iter().map(|w| factor * w).collect();
        start.iter().all(|w| w.is_finite()).then_some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(means: &[f64], squares: &[f64]) -> Known {
        Known {
            label: -0.6,
            label_deviation: 0.0,
            means: means.to_vec(),
            deviation: 0.01,
            squares: squares.to_vec(),
            level: 1e-3,
            norm: 1.0,
        }
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn what_hardly_varies_predicts_the_mean() {
        // An intercept, a feature around zero, a feature that is off zero and varies.
        let (means, squares) = ([0.5, 0.0, 0.2], [0.25, 0.3, 0.1]);
        let w = known(&means, &squares).start().unwrap();
        assert!((dot(&w, &means) + 0.6).abs() < 0.01, "{w:?}");
        assert!(w[0] < -1.1 && w[1] == 0.0 && w[2].abs() < 0.02, "{w:?}");
        // Least among its neighbours.
        let cost = |w: &[f64]| {
            let vary = |j: usize| squares[j] - means[j] * means[j] + 1e-3;
            (dot(w, &means) + 0.6).powi(2) + (0..3).map(|j| vary(j) * w[j] * w[j]).sum::<f64>()
        };
        for j in 0..3 {
            for by in [-1e-3, 1e-3] {
                let mut other = w.clone();
                other[j] += by;
                assert!(cost(&other) > cost(&w), "{j}");
            }
        }
    }

    #[test]
    fn without_squares_the_mean_row_predicts_it_as_far_as_it_is_long() {
        // Nearly all of the rows' energy is in the mean row, and nearly none.
        for (means, least, most) in [([0.6, -0.79], 0.98, 1.0), ([0.03, -0.04], 0.0, 0.02)] {
            let w = known(&means, &[]).start().unwrap();
            let part = dot(&w, &means) / -0.6;
            assert!((least..=most).contains(&part), "{part}");
        }
    }

    #[test]
    fn what_noise_hides_begins_at_zero() {
        let fine = || known(&[0.5], &[0.25]);
        assert!(fine().start().is_some());
        assert!(Known { label_deviation: 0.45, ..fine() }.start().is_none());
        assert!(Known { label: 0.0, label_deviation: 0.0, ..fine() }.start().is_none());
        let [sure, unsure] = [0.0, 0.3].map(|s| Known { label_deviation: s, ..fine() }.start());
        assert!((unsure.unwrap()[0] / sure.unwrap()[0] - 0.5).abs() < 1e-12);
        assert!(Known { deviation: 0.4, ..fine() }.start().is_none());
        let flat = Known { deviation: 0.0, ..known(&[0.0, 0.0], &[]) };
        assert_eq!(flat.start().unwrap(), [0.0, 0.0], "nothing to predict it by");
        assert!(known(&[f64::NAN], &[1.0]).start().is_none());
    }
}
