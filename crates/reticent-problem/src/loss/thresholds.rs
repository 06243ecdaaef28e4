//! The thresholds between ordered levels: public numbers, fixed before the fit.

use serde::{Deserialize, Serialize};

use super::about::range;
use crate::ProblemError;

/// The most levels.
const MOST: usize = 16;

/// Thresholds are whole multiples of one over this.
const UNIT: f64 = 1024.0;

/// The farthest threshold of shares, in units: what lies beyond has no effect.
const END: f64 = 30.0 * UNIT;

/// The least share of a level: a smaller one counts as this.
const LEAST: f64 = 1e-4;

/// Within which thresholds may be stretched.
const STRETCHES: std::ops::RangeInclusive<f64> = 1.0..=5.0;

/// `θ_1 < … < θ_{K−1}` between `K` ordered levels, `3 ≤ K ≤ 16`, on the scale of log-odds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub struct Thresholds {
    /// In units of `1/1024`; zero behind the last one.
    at: [i16; MOST - 1],
    /// How many: one less than the levels.
    count: u8,
}

impl Thresholds {
    /// No threshold, which no fit accepts: shares were not given.
    pub(super) const NONE: Self = Self { at: [0; MOST - 1], count: 0 };

    /// Such as tests look at: with a common width, with narrow and wide levels, with wide ones.
    pub(super) const SAMPLES: [Self; 3] =
        [Self::of([-1024, 1024]), Self::of([-2048, 512, 614, 3072]), Self::of([-3072, 3072])];

    /// Of units in order.
    const fn of<const N: usize>(units: [i16; N]) -> Self {
        let mut at = [0; MOST - 1];
        let mut k = 0;
        while k < N {
            at[k] = units[k];
            k += 1;
        }
        Self { at, count: N as u8 }
    }

    /// How much farther apart thresholds lie than the log-odds of the shares, where nothing is
    /// said.
    ///
    /// Shares are those of all rows together. At given features the level is known better, so that
    /// the thresholds of a row lie farther apart than those of all: about `√(1 + s²/3)` times for
    /// margins of standard deviation `s`. 1.2 suits one of 1.2, where features explain about a
    /// third of the variance of a continuous level.
    pub const STRETCH: f64 = 1.2;

    /// The thresholds for levels that have about these shares of the rows, from the lowest level to
    /// the highest, up to a factor: their log-odds, `stretch` times as far apart. Shares below one
    /// in ten thousand count as that.
    ///
    /// The shares must be known without the rows, or paid for.
    ///
    /// # Errors
    ///
    /// [`ProblemError::Shares`], or [`ProblemError::OutOfRange`] for a stretch that is not between
    /// 1 and 5.
    pub fn of_shares(shares: &[f64], stretch: f64) -> Result<Self, ProblemError> {
        range(STRETCHES.contains(&stretch), "stretch", "between 1 and 5", stretch)?;
        let total: f64 = shares.iter().sum();
        let each = shares.iter().all(|share| share.is_finite() && *share >= 0.0);
        if !each || !total.is_finite() || total <= 0.0 {
            return Err(ProblemError::Shares);
        }
        let held: Vec<f64> = shares.iter().map(|share| (share / total).max(LEAST)).collect();
        let total: f64 = held.iter().sum();
        let (mut below, mut last) = (0.0, f64::NEG_INFINITY);
        let log_odds = held.iter().take(held.len().saturating_sub(1)).map(|share| {
            below += share / total;
            let threshold = stretch * UNIT * (below.ln() - (1.0 - below).ln());
            last = threshold.round().clamp(-END, END).max(last + 1.0);
            last / UNIT
        });
        Self::try_from(log_odds.collect::<Vec<f64>>())
    }

    /// `K`; 1 where there is no threshold.
    pub fn levels(self) -> usize {
        usize::from(self.count) + 1
    }

    /// The thresholds, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = f64> + '_ {
        self.at[..usize::from(self.count)].iter().map(|at| f64::from(*at) / UNIT)
    }

    /// Threshold `k`, minus infinity before the first and infinity after the last.
    fn threshold(&self, k: usize) -> f64 {
        match k {
            0 => f64::NEG_INFINITY,
            k if k <= usize::from(self.count) => f64::from(self.at[k - 1]) / UNIT,
            _ => f64::INFINITY,
        }
    }

    /// The thresholds below and above a level.
    pub(super) fn around(&self, level: usize) -> (f64, f64) {
        (self.threshold(level), self.threshold(level + 1))
    }

    /// The level of a label: labels of levels are evenly spread from -1 to 1, and any other number
    /// counts as the nearest.
    #[inline(always)]
    pub fn level(&self, label: f64) -> usize {
        let last = f64::from(self.count);
        // A cast holds to the range, and takes a NaN for zero.
        (0.5 * (label + 1.0) * last).round().clamp(0.0, last) as usize
    }

    /// The mean of the labels at a margin, and its derivative: `P(y > k) = σ(m − θ_k)` for each
    /// threshold.
    pub(super) fn mean(&self, margin: f64) -> (f64, f64) {
        let (mut sum, mut slope) = (0.0, 0.0);
        for threshold in self.iter() {
            let above = sigmoid(margin - threshold);
            sum += above;
            slope += above * (1.0 - above);
        }
        let part = 2.0 / f64::from(self.count.max(1));
        (part * sum - 1.0, part * slope)
    }

    /// The margin at which this is the mean of the labels; infinite where none is.
    pub(super) fn margin(&self, mean: f64) -> f64 {
        if mean.is_nan() || mean <= -1.0 || mean >= 1.0 || self.count == 0 {
            return if mean >= 1.0 { f64::INFINITY } else { f64::NEG_INFINITY };
        }
        let (mut low, mut high) = (-100.0, 100.0);
        for _ in 0..80 {
            let middle = f64::midpoint(low, high);
            if self.mean(middle).0 < mean { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    }

    /// The probability of each level at a margin, from the lowest to the highest.
    pub fn probabilities(&self, margin: f64) -> Vec<f64> {
        let level = |k: usize| {
            let (below, above) = self.around(k);
            // σ(u) − σ(v) = σ(u) σ(−v) (1 − e^{v−u}), which loses no digits.
            sigmoid(above - margin) * sigmoid(margin - below) * -(below - above).exp_m1()
        };
        (0..self.levels()).map(level).collect()
    }
}

/// `1/(1 + e^{−u})`.
#[inline(always)]
pub(super) fn sigmoid(u: f64) -> f64 {
    let e = (-u.abs()).exp();
    if u >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

impl TryFrom<Vec<f64>> for Thresholds {
    type Error = ProblemError;

    /// Thresholds in order, whole multiples of `1/1024` between -31 and 31.
    fn try_from(thresholds: Vec<f64>) -> Result<Self, ProblemError> {
        if !(2..MOST).contains(&thresholds.len()) {
            return Err(ProblemError::Shares);
        }
        let mut made = Self { count: thresholds.len() as u8, ..Self::NONE };
        for (at, threshold) in made.at.iter_mut().zip(&thresholds) {
            let units = threshold * UNIT;
            if units.fract() != 0.0 || units.abs() > 31.0 * UNIT {
                return Err(ProblemError::Shares);
            }
            *at = units as i16;
        }
        let count = thresholds.len();
        if made.at[..count].windows(2).all(|pair| pair[0] < pair[1]) {
            Ok(made)
        } else {
            Err(ProblemError::Shares)
        }
    }
}

impl From<Thresholds> for Vec<f64> {
    fn from(thresholds: Thresholds) -> Self {
        thresholds.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_make_thresholds_in_order_and_bad_ones_make_none() {
        let even = Thresholds::of_shares(&[1.0; 4], 1.2).unwrap();
        let want = [-1.2 * 3.0_f64.ln(), 0.0, 1.2 * 3.0_f64.ln()];
        for (got, want) in even.iter().zip(want) {
            assert!((got - want).abs() < 1e-3, "{got} {want}");
        }
        let tight = Thresholds::of_shares(&[0.0, 0.0, 1.0, 0.0, 0.0, 0.0], 1.0).unwrap();
        let all: Vec<f64> = tight.into();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
        assert_eq!(Thresholds::try_from(all).unwrap(), tight);
        assert!(Thresholds::of_shares(&[1.0, 0.0, 0.0, 1.0], 1.0).is_ok(), "levels without rows");
        let long = [0.1; 17];
        for bad in [&[][..], &[1.0, 1.0], &[1.0, -0.1, 1.0], &[0.0; 3], &[f64::NAN; 3], &long] {
            assert!(Thresholds::of_shares(bad, 1.2).is_err(), "{bad:?}");
        }
        for bad in [0.9, 5.1, f64::NAN] {
            let error = Thresholds::of_shares(&[1.0; 3], bad).unwrap_err().to_string();
            assert!(error.contains("`stretch`"), "{error}");
        }
        for bad in [vec![0.0, 0.0], vec![0.1, 0.5], vec![0.0, 40.0], vec![0.0, f64::NAN]] {
            assert!(Thresholds::try_from(bad.clone()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn probabilities_add_up_to_one_and_have_the_mean_of_the_link() {
        let at = Thresholds::of_shares(&[0.02, 0.3, 0.0, 0.5, 0.18], 1.5).unwrap();
        for margin in [-60.0, -3.0, 0.0, 0.7, 12.0] {
            let p = at.probabilities(margin);
            assert!(p.iter().all(|p| *p >= 0.0) && (p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let mean: f64 = p.iter().enumerate().map(|(k, p)| p * (0.5 * k as f64 - 1.0)).sum();
            assert!((mean - at.mean(margin).0).abs() < 1e-12, "{margin}");
            let back = at.margin(at.mean(margin).0);
            assert!(margin.abs() > 20.0 || (back - margin).abs() < 1e-6, "{margin}: {back}");
        }
        let levels: Vec<usize> =
            [-7.0, -1.0, -0.6, 0.0, 0.3, 1.0, 9.0, f64::NAN].iter().map(|y| at.level(*y)).collect();
        assert_eq!(levels, [0, 0, 1, 2, 3, 4, 4, 0]);
    }
}
