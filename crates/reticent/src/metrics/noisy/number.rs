//! Regression: bins of the signed error, and bins of the target.
//!
//! Bins of the error grow by √2 from a thousandth of the target's declared range on, so that large
//! noise meets small weights where errors are small. Beyond the last cell whose count stands out of
//! the noise, counts are noise times large squares: those cells are taken for empty.

use reticent_problem::Loss;
use reticent_problem::declaration::Labels;
use reticent_problem::loss::Link;

use super::super::Known;
use crate::Error;

/// Bins of the size of an error, for each sign.
const SIZES: usize = 21;

/// Bins of the target.
const TARGETS: usize = 20;

/// Cells in all.
pub(super) const CELLS: usize = 2 * SIZES + TARGETS;

/// Errors below zero, errors from zero on (labels at most the prediction), the target.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    link: Link,
    /// Whether the loss predicts a quantile, which a share of the labels is at most.
    is_quantile: bool,
    /// The labels of the target's bounds.
    low: f64,
    high: f64,
    /// A label in units of the target.
    scale: f64,
}

/// The sizes in units of the range that bin `j` holds, from and to.
fn sizes(j: usize) -> (f64, f64) {
    let end = |j: usize| 2.0_f64.powf(0.5 * j as f64 - 0.5 * (SIZES - 1) as f64);
    if j == 0 { (0.0, end(0)) } else { (end(j - 1), end(j)) }
}

impl Cells {
    pub(super) fn new(loss: Loss, labels: &Labels) -> Result<Self, Error> {
        let (low, high) = labels.range();
        if !(high - low).is_finite() {
            return Err(Error::Arguments(
                "metrics of private rows need a target with declared bounds: its errors have no largest size",
            ));
        }
        Ok(Self {
            link: loss.link(),
            is_quantile: loss.quantile().is_some(),
            low,
            high,
            scale: labels.scale(),
        })
    }

    pub(super) fn of(&self, (margins, label): Known<'_>) -> [usize; 2] {
        let range = self.high - self.low;
        let label = label.clamp(self.low, self.high);
        let predicted = self.link.prediction(margins[0]).clamp(self.low, self.high);
        let error = (predicted - label) / range;
        let size = (0..SIZES - 1).find(|j| error.abs() < sizes(*j).1).unwrap_or(SIZES - 1);
        let sign = if error < 0.0 { 0 } else { SIZES };
        let target = ((label - self.low) / range * TARGETS as f64) as usize;
        [sign + size, 2 * SIZES + target.min(TARGETS - 1)]
    }

    /// The counts with cells beyond the last one that stands three deviations out of the noise
    /// taken for empty: on each side of the error, and at both ends of the target.
    pub(super) fn without_tails(counts: &[f64], deviation: f64) -> Vec<f64> {
        let mut kept = counts.to_vec();
        let (errors, targets) = kept.split_at_mut(2 * SIZES);
        let (below, above) = errors.split_at_mut(SIZES);
        let far = |count: &&mut f64| **count <= 3.0 * deviation;
        for counts in [below, above] {
            counts.iter_mut().rev().take_while(far).for_each(|count| *count = 0.0);
        }
        targets.iter_mut().take_while(far).for_each(|count| *count = 0.0);
        targets.iter_mut().rev().take_while(far).for_each(|count| *count = 0.0);
        kept
    }

    pub(super) fn scalars(&self, counts: &[f64]) -> Vec<(&'static str, Option<f64>)> {
        let unit = (self.high - self.low) * self.scale;
        let (errors, targets) = counts.split_at(2 * SIZES);
        let n: f64 = errors.iter().sum();
        // Means over a bin of the size and of its square, as if sizes were spread evenly in it.
        let mean = |of: fn(f64, f64) -> f64| {
            let sum: f64 = errors
                .iter()
                .enumerate()
                .map(|(cell, count)| {
                    let (from, to) = sizes(cell % SIZES);
                    count * of(from, to)
                })
                .sum();
            (n > 0.0).then(|| (sum / n).max(0.0))
        };
        let absolute = mean(|from, to| 0.5 * (from + to));
        let square = mean(|from, to| (from * from + from * to + to * to) / 3.0);
        let variance = variance(targets);
        let covered = errors[SIZES..].iter().sum::<f64>();
        let coverage = super::ratio(covered, n).filter(|_| self.is_quantile);
        let explained = square.zip(variance).filter(|(_, variance)| *variance > 0.0);
        vec![
            ("quantile_coverage", coverage),
            ("mae", absolute.map(|mean| unit * mean)),
            ("rmse", square.map(|mean| unit * mean.sqrt())),
            ("r2", explained.map(|(square, variance)| 1.0 - square / variance)),
        ]
    }
}

/// About how many rows were counted.
pub(super) fn rows(counts: &[f64]) -> u64 {
    super::whole(counts[..2 * SIZES].iter().sum())
}

/// The variance of the target in units of its range; grouping into bins of width `w` adds `w²/12`
/// (Sheppard), which is taken off.
fn variance(targets: &[f64]) -> Option<f64> {
    let width = 1.0 / TARGETS as f64;
    let n: f64 = targets.iter().sum();
    let moment = |power: i32| {
        let at =
            targets.iter().enumerate().map(|(i, c)| c * ((i as f64 + 0.5) * width).powi(power));
        at.sum::<f64>() / n
    };
    (n > 0.0).then(|| moment(2) - moment(1).powi(2) - width * width / 12.0)
}
