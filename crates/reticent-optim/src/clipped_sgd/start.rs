//! Weights that predict the mean of the labels for every row, as well as can be told.
//!
//! Numbers are declared within a range, and most lie in a small part of it: wages, prices, times. From zero, where the middle of the range is predicted, gradients
//! are as long as that part is far from the middle. The clip norm follows them, and the noise follows the clip norm, though all that the steps learn from it
//! is one number.
//!
//! # Rule
//!
//! With the noisy means `ȳ` of the labels and `x̄` of the rows, and the noisy mean squares `v` of their entries, let
//!
//! ```text
//! C = diag(max(v_j − x̄_j², 0) + λ),      w_0 = ȳ C⁻¹x̄/(1 + x̄ᵀC⁻¹x̄).
//! ```
//!
//! Among all weights `w_0` has the least `(x̄ᵀw − ȳ)² + wᵀCw`: the mean square of `⟨w, x⟩ − ȳ` for rows with the mean `x̄` whose features vary on their own, and
//! `λ`, the deviation of the noise in `v`, against features that are small by chance. An intercept varies least and takes nearly all. Without `v` all
//! features count as if they varied alike, `C = 0.01 ‖x̄‖² I`.
//!
//! Where `ȳ` is less than twice the deviation of its noise the steps begin at zero. Clip norms that follow the labels are found at `w_0`.
//!
//! # Privacy
//!
//! A function of what [`common`](super::common) has released.

/// The noisy mean of the labels.
pub(super) struct Labels {
    /// `ȳ`.
    pub(super) mean: f64,
    /// The standard deviation of its noise.
    pub(super) deviation: f64,
}

/// How much features vary, over the square of the mean row, where nothing is known of it.
const VARIES: f64 = 0.01;

/// `w_0`; none where the mean is hidden by noise, or there is nothing to predict it by.
pub(super) fn start(
    labels: &Labels,
    means: &[f64],
    squares: &[f64],
    level: f64,
) -> Option<Vec<f64>> {
    if labels.mean.abs() < 2.0 * labels.deviation {
        return None;
    }
    let length: f64 = means.iter().map(|x| x * x).sum();
    let varies = |j: usize| match squares.get(j) {
        Some(v) => (v - means[j] * means[j]).max(0.0) + level,
        None => VARIES * length,
    };
    let towards: Vec<f64> = means.iter().enumerate().map(|(j, x)| x / varies(j)).collect();
    let reach: f64 = towards.iter().zip(means).map(|(w, x)| w * x).sum();
    let factor = labels.mean / (1.0 + reach);
    let start: Vec<f64> = towards.iter().map(|w| factor * w).collect();
    start.iter().all(|w| w.is_finite()).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: Labels = Labels { mean: -0.6, deviation: 0.01 };

    #[test]
    fn what_hardly_varies_predicts_the_mean() {
        // An intercept, a feature around zero, a feature that is off zero and varies.
        let (means, squares) = ([0.5, 0.0, 0.2], [0.25, 0.3, 0.1]);
        let w = start(&MEAN, &means, &squares, 1e-3).unwrap();
        let predicted: f64 = w.iter().zip(means).map(|(w, x)| w * x).sum();
        assert!((predicted + 0.6).abs() < 0.01, "{predicted}");
        assert!(w[0] < -1.1 && w[1] == 0.0 && w[2].abs() < 0.02, "{w:?}");
        // Least among its neighbours.
        let cost = |w: &[f64]| {
            let predicted: f64 = w.iter().zip(means).map(|(w, x)| w * x).sum();
            let vary = |j: usize| squares[j] - means[j] * means[j] + 1e-3;
            (predicted + 0.6).powi(2) + (0..3).map(|j| vary(j) * w[j] * w[j]).sum::<f64>()
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
    fn without_squares_the_mean_row_predicts_it() {
        let w = start(&MEAN, &[0.3, -0.4], &[], 1e-3).unwrap();
        let predicted = 0.3 * w[0] - 0.4 * w[1];
        assert!((predicted + 0.6).abs() < 0.01, "{predicted}");
        assert!((w[0] / w[1] + 0.75).abs() < 1e-12);
    }

    #[test]
    fn what_noise_hides_begins_at_zero() {
        assert!(start(&Labels { mean: 0.6, deviation: 0.31 }, &[0.5], &[0.25], 1e-3).is_none());
        assert!(start(&MEAN, &[0.0, 0.0], &[], 1e-3).is_none(), "nothing to predict it by");
        assert!(start(&MEAN, &[f64::NAN], &[1.0], 1e-3).is_none());
    }
}
