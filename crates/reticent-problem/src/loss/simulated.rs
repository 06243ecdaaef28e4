//! Labels of simulated rows: the planner tries its plans on tables that have them. No data enters.

use super::Thresholds;

/// How the labels of a simulated table follow from true margins of mean 0 and variance 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// Standard deviation of the true margin; class labels are drawn by it.
    pub margin: f64,
    /// How much the most frequent class is ahead, as a margin.
    pub offset: f64,
    /// Standard deviation of a regression target over the bound on labels.
    pub spread: f64,
    /// How far the mean of regression targets is below the middle of their range, in standard
    /// deviations.
    pub away: f64,
    /// The part of a regression target's variance that a linear model explains.
    pub explained: f64,
    /// Whether the rest of it has a long tail to one side, as counts and prices have.
    pub skewed: bool,
}

/// The declared largest count of simulated tables.
pub(super) const LARGEST: f64 = 50.0;

impl Signal {
    /// One of two classes, as -1 or +1.
    pub(super) fn two_classes(&self, truth: &[f64], noise: &[f64]) -> f64 {
        let margin = self.margin * truth[0] - self.offset + 1.8 * noise[0];
        if margin > 0.0 { 1.0 } else { -1.0 }
    }

    /// One of several classes. The first ones are the more frequent; noise of a logistic size
    /// decides.
    pub(super) fn class(&self, classes: usize, truth: &[f64], noise: &[f64]) -> f64 {
        let score = |k: usize| {
            let offset = self.offset * (1.0 - k as f64 / classes as f64);
            self.margin * truth[k] + offset + 1.3 * noise[k]
        };
        let best = (0..classes).max_by(|a, b| score(*a).total_cmp(&score(*b)));
        best.unwrap_or(0) as f64
    }

    /// One of several ordered levels as a label from -1 to 1: how many thresholds lie below the
    /// margin with noise of a logistic size.
    pub(super) fn level(&self, thresholds: &Thresholds, truth: &[f64], noise: &[f64]) -> f64 {
        let margin = self.margin * truth[0] + 1.8 * noise[0];
        let above = thresholds.iter().filter(|threshold| margin > *threshold).count();
        2.0 * above as f64 / (thresholds.levels() - 1).max(1) as f64 - 1.0
    }

    /// A number in `[-bound, bound]`.
    pub(super) fn number(&self, bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        let own = self.explained.sqrt() * truth[0];
        // A logarithmically normal number, brought to mean 0 and variance 1.
        let tail = |z: f64| ((0.8 * z).exp() - 1.3771) / 1.3041;
        let rest = if self.skewed { tail(noise[0]) } else { noise[0] };
        let rest = (1.0 - self.explained).sqrt() * rest;
        (bound * self.spread * (own + rest - self.away)).clamp(-bound, bound)
    }

    /// The mean of a count or an amount, a few percent of the largest, which the true margin
    /// multiplies.
    fn mean(&self, truth: &[f64]) -> f64 {
        self.spread * (0.25 * self.margin * truth[0] - 1.0).exp()
    }

    /// A count in `[0, bound]` whose variance is that of a Poisson count, and more where rows vary
    /// in their means by the factor `exp(further · z)`, `z` normal; with a long tail it varies more
    /// still, as counts of visits or claims do.
    pub(super) fn count(&self, bound: f64, further: f64, truth: &[f64], noise: &[f64]) -> f64 {
        let mean = LARGEST * self.mean(truth) * (further * noise[0]).exp();
        // The square root of a Poisson count varies by a half, whatever its mean.
        let deviation = if self.skewed { 1.0 } else { 0.5 };
        let count = (mean.sqrt() + deviation * noise[0]).max(0.0).powi(2).round();
        bound * (count / LARGEST).min(1.0)
    }

    /// An amount in `[0, bound]`, zero in a share of the rows of about `none` (0 or a half), else
    /// with the logarithmically normal law.
    pub(super) fn amount(&self, bound: f64, none: f64, truth: &[f64], noise: &[f64]) -> f64 {
        let deviation = if self.skewed { 1.0 } else { 0.6 };
        let mean = self.mean(truth) / (1.0 - none);
        let amount = if none > 0.0 && noise[0] < 0.0 {
            0.0
        } else {
            mean * (deviation * (noise[0] - none) - 0.5 * deviation * deviation).exp()
        };
        bound * amount.min(1.0)
    }
}
