//! Two classes: true class × bin of the score.

use reticent_problem::Loss;
use reticent_problem::loss::Predicts;
use serde_json::{Map, Value, json};

use super::super::{Known, Measure, calibration};
use super::{bin, ends, entropy, middle, ratio, whole};

/// Bins of the score for each true class, the positive class first.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    positive_class: String,
    positive_is_second: bool,
    /// Turns a margin into the probability of the positive class, where the loss gives one.
    probability: Option<fn(&mut [f64])>,
    /// The ends of the bins of the score: a probability, or a margin squashed into `[0, 1]`.
    ends: Vec<f64>,
    /// The first bin that is predicted to be positive.
    first: usize,
}

impl Cells {
    pub(super) fn new(loss: Loss, classes: &[String], positive: usize, measure: &Measure) -> Self {
        let probability: Option<fn(&mut [f64])> = match loss.about().predicts {
            Predicts::Probabilities { of, .. } => Some(of),
            Predicts::Class | Predicts::Number => None,
        };
        let threshold = measure.threshold.unwrap_or(0.5);
        let mut ends = ends();
        if !ends.contains(&threshold) {
            ends.push(threshold);
            ends.sort_by(f64::total_cmp);
        }
        let first = ends.iter().position(|end| *end >= threshold).unwrap_or(0);
        Self {
            positive_class: classes.get(positive).cloned().unwrap_or_default(),
            positive_is_second: positive == 1,
            probability,
            ends,
            first,
        }
    }

    fn bins(&self) -> usize {
        self.ends.len() - 1
    }

    pub(super) fn len(&self) -> usize {
        2 * self.bins()
    }

    pub(super) fn of(&self, (margins, label): Known<'_>) -> usize {
        let mut score = [margins[0]];
        match self.probability {
            Some(of) => of(&mut score),
            // The order of margins is all that is used of them.
            None => score[0] = 1.0 / (1.0 + (-score[0]).exp()),
        }
        let bin = bin(&self.ends, score[0]);
        if label > 0.0 { bin } else { self.bins() + bin }
    }

    /// True positives, false negatives, false positives, true negatives.
    fn confusion(&self, counts: &[f64]) -> [f64; 4] {
        let (positive, negative) = counts.split_at(self.bins());
        let sum = |counts: &[f64]| counts.iter().sum::<f64>();
        let first = self.first.min(self.bins());
        [
            sum(&positive[first..]),
            sum(&positive[..first]),
            sum(&negative[first..]),
            sum(&negative[..first]),
        ]
    }

    pub(super) fn scalars(&self, counts: &[f64]) -> Vec<(&'static str, Option<f64>)> {
        let [hits, misses, alarms, rejections] = self.confusion(counts);
        let (positives, negatives) = (hits + misses, alarms + rejections);
        let n = positives + negatives;
        let mut found = vec![
            ("accuracy", ratio(hits + rejections, n)),
            ("baseline_accuracy", ratio(positives.max(negatives), n)),
            ("auc", self.auc(counts)),
            ("positive_share", ratio(positives, n)),
            ("selection_rate", ratio(hits + alarms, n)),
            ("precision", ratio(hits, hits + alarms)),
            ("recall", ratio(hits, positives)),
            ("false_positive_rate", ratio(alarms, negatives)),
            ("f1", ratio(2.0 * hits, 2.0 * hits + alarms + misses)),
        ];
        if self.probability.is_some() {
            let line = calibration::slope(&self.odds(counts));
            found.extend([
                ("log_loss", self.mean(counts, n, |p| -p.ln())),
                ("baseline_log_loss", entropy(&[positives, negatives])),
                ("brier", self.mean(counts, n, |p| (1.0 - p) * (1.0 - p))),
                ("calibration_slope", line.map(|(_, slope)| slope)),
                ("calibration_offset", line.map(|(offset, _)| offset)),
            ]);
        }
        found
    }

    /// The middle of a bin.
    fn score(&self, bin: usize) -> f64 {
        middle(self.ends[bin], self.ends[bin + 1])
    }

    /// The mean of `cost` of the true class's probability.
    fn mean(&self, counts: &[f64], n: f64, cost: impl Fn(f64) -> f64) -> Option<f64> {
        let (positive, negative) = counts.split_at(self.bins());
        let sum = (0..self.bins()).map(|bin| {
            let p = self.score(bin);
            positive[bin] * cost(p) + negative[bin] * cost(1.0 - p)
        });
        (n > 0.0).then(|| (sum.sum::<f64>() / n).max(0.0))
    }

    /// The share of pairs of a positive and a negative row that are in order; rows of one bin count
    /// one half.
    fn auc(&self, counts: &[f64]) -> Option<f64> {
        let (positive, negative) = counts.split_at(self.bins());
        let (mut below, mut pairs) = (0.0, 0.0);
        for (p, n) in positive.iter().zip(negative) {
            pairs += p * (below + 0.5 * n);
            below += n;
        }
        let all = positive.iter().sum::<f64>() * below;
        (below > 0.0).then(|| ratio(pairs, all)).flatten()
    }

    /// Log-odds and counts of each bin, for the slope; a count below zero is taken for zero.
    fn odds(&self, counts: &[f64]) -> Vec<(f64, f64, f64)> {
        let (positive, negative) = counts.split_at(self.bins());
        (0..self.bins())
            .map(|bin| {
                let odds = calibration::log_odds(self.score(bin));
                (odds, positive[bin].max(0.0), negative[bin].max(0.0))
            })
            .collect()
    }

    /// Confusion matrix and calibration table. A bin whose count is not three deviations above zero
    /// is left out.
    pub(super) fn tables(&self, counts: &[f64], deviation: f64) -> Map<String, Value> {
        let [hits, misses, alarms, rejections] = self.confusion(counts).map(whole);
        let confusion = if self.positive_is_second {
            json!([[rejections, alarms], [misses, hits]])
        } else {
            json!([[hits, misses], [alarms, rejections]])
        };
        let mut tables = Map::new();
        tables.insert("rows".to_owned(), json!(whole(counts.iter().sum())));
        tables.insert("positive_class".to_owned(), json!(self.positive_class));
        tables.insert("confusion".to_owned(), confusion);
        if self.probability.is_none() {
            return tables;
        }
        let (positive, negative) = counts.split_at(self.bins());
        let bins = (0..self.bins()).filter_map(|bin| {
            let rows = positive[bin] + negative[bin];
            (rows > 3.0 * std::f64::consts::SQRT_2 * deviation).then(|| {
                json!({
                    "from": self.ends[bin], "to": self.ends[bin + 1], "rows": whole(rows),
                    "predicted": self.score(bin), "observed": ratio(positive[bin], rows),
                })
            })
        });
        tables.insert("calibration".to_owned(), bins.collect());
        let threshold = self.ends[self.first.min(self.bins())];
        tables.insert("threshold".to_owned(), json!(threshold));
        tables
    }
}
