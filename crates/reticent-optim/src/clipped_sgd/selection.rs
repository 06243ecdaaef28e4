//! A clip norm near the smallest per-row Lipschitz constant, privately.
//!
//! # The mechanism
//!
//! The candidates are the cells `[g_j, g_{j+1})` of a public geometric grid. With `c_j = #{i : G_i < g_j}`, `c_0 = 0`,
//! `c_K = ∞`, the score of cell `j` is `u_j = −max(0, c_j − (r − 1), r − c_{j+1})`: zero exactly for the cell that holds the
//! `r`-th smallest constant. A cell is drawn with probability proportional to `exp(ε u_j/2)`, and its lower end is the
//! clip norm.
//!
//! *Privacy.* Adding, removing or replacing a row moves every `c_j` by at most 1, so every score by at most 1: the
//! exponential mechanism is `ε`-DP and `ε`-bounded-range, whatever the constants are; values outside the grid count at
//! its ends. The rank `r` does not depend on the number of rows, which is private under add/remove. It runs before the
//! first gradient, where its event composes best. ∎
//!
//! *Utility.* With probability `1 − β` no more than `2r` constants lie below the clip norm.
//!
//! The paper instead reports the noisy minimum over rows, i.e. one row's own constant: no finite epsilon covers that.

use serde::{Deserialize, Serialize};

/// The grid and what is spent on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// What the choice spends.
    pub epsilon: f64,
    /// `g_0`.
    pub low: f64,
    /// `g_{K−1}`.
    pub high: f64,
    /// `K`.
    pub cells: usize,
}

/// `β`: how often the choice may be worse than stated.
pub const FAILURE: f64 = 0.05;

/// `K` if none is given.
pub const CELLS: usize = 200;

/// The most cells.
pub const MAX_CELLS: usize = 100_000;

/// `g_{K−1}/g_0` if none is given.
pub const SPAN: f64 = 1e3;

impl Selection {
    /// `g_j = g_0 (g_{K−1}/g_0)^{j/(K−1)}`.
    pub fn grid(&self) -> Vec<f64> {
        let ratio = (self.high / self.low).ln();
        let last = (self.cells - 1) as f64;
        (0..self.cells).map(|j| self.low * (ratio * j as f64 / last).exp()).collect()
    }

    /// `r`.
    pub fn rank(&self) -> f64 {
        target_rank(self.epsilon, self.cells as f64, FAILURE)
    }
}

/// `r = 1 + ⌈(2/ε) ln(K/β)⌉`.
pub fn target_rank(epsilon: f64, cells: f64, failure: f64) -> f64 {
    1.0 + (2.0 / epsilon * (cells / failure).ln()).ceil()
}

/// The scores `u_j` from the counts `c_j`; the first count is taken as 0.
pub fn scores(below: &[f64], rank: f64) -> Vec<f64> {
    let at = |j: usize| match j {
        0 => 0.0,
        j if j == below.len() => f64::INFINITY,
        j => below[j],
    };
    (0..below.len()).map(|j| -(at(j) - (rank - 1.0)).max(rank - at(j + 1)).max(0.0)).collect()
}

/// The odds of each cell.
pub fn probabilities(below: &[f64], rank: f64, epsilon: f64) -> Vec<f64> {
    let scores = scores(below, rank);
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|u| (0.5 * epsilon * (u - top)).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}

/// How far the paper's query, the smallest Lipschitz constant of softmax, moves when a row with `‖x‖ ≤ B` is replaced.
pub fn noisy_max_sensitivity(norm: f64, intercept: bool) -> f64 {
    let longest = reticent_problem::loss::extended_norm(norm, intercept);
    std::f64::consts::SQRT_2 * (longest - if intercept { 1.0 } else { 0.0 })
}
