//! The threshold that costs least, where the two kinds of errors have a price.

use serde::Serialize;

use super::ranking::Step;
use crate::Error;

/// The cost of each kind of error, in one unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// Of predicting the positive class where it is not the true one.
    pub false_positive: f64,
    /// Of not predicting the positive class where it is the true one.
    pub false_negative: f64,
}

impl Costs {
    pub(super) fn check(self) -> Result<(), Error> {
        let costs = [self.false_positive, self.false_negative];
        if costs.iter().all(|cost| cost.is_finite() && *cost >= 0.0) && costs != [0.0, 0.0] {
            return Ok(());
        }
        Err(Error::Arguments(
            "costs must be numbers >= 0, not both zero: what a false positive costs, and what a false negative costs, in one unit",
        ))
    }

    /// The cost of so many errors for each row.
    fn per_row(self, false_positives: usize, false_negatives: usize, rows: usize) -> f64 {
        let cost = self.false_positive * false_positives as f64
            + self.false_negative * false_negatives as f64;
        cost / rows.max(1) as f64
    }
}

/// The threshold of the least cost, and the costs of others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BestThreshold {
    /// The costs of the errors.
    pub costs: Costs,
    /// The positive class is predicted from this probability on. Above one: never.
    pub threshold: f64,
    /// The mean cost of a row there. It is the least on these rows, so it flatters a little.
    pub cost: f64,
    /// The mean cost of a row at the threshold in use.
    pub cost_at_threshold: f64,
    /// The best threshold for probabilities that are right: cost of a false positive over the sum
    /// of both.
    pub if_calibrated: f64,
}

/// No probability reaches it.
const NEVER: f64 = 1.5;

/// The best of all thresholds that tell rows apart. `in_use` are the false positives and false
/// negatives at the threshold in use.
pub(super) fn best(costs: Costs, steps: &[Step], in_use: (usize, usize)) -> Option<BestThreshold> {
    let last = steps.last()?;
    let rows = last.positives + last.negatives;
    let never = (NEVER, costs.per_row(0, last.positives, rows));
    let each = steps.iter().map(|step| {
        (step.score, costs.per_row(step.negatives, last.positives - step.positives, rows))
    });
    let (threshold, cost) = each.fold(never, |least, at| if at.1 < least.1 { at } else { least });
    Some(BestThreshold {
        costs,
        threshold,
        cost,
        cost_at_threshold: costs.per_row(in_use.0, in_use.1, rows),
        if_calibrated: costs.false_positive / (costs.false_positive + costs.false_negative),
    })
}

#[cfg(test)]
mod tests {
    use super::super::ranking::steps;
    use super::*;

    #[test]
    fn the_best_threshold_is_the_best_of_all() {
        let scored =
            [(0.9, true), (0.8, false), (0.7, true), (0.4, false), (0.3, true), (0.1, false)];
        let cost_at = |costs: Costs, threshold: f64| {
            let at = scored.iter().map(|(p, y)| match (*p >= threshold, *y) {
                (true, false) => costs.false_positive,
                (false, true) => costs.false_negative,
                _ => 0.0,
            });
            at.sum::<f64>() / 6.0
        };
        for (false_positive, false_negative) in [(1.0, 1.0), (1.0, 5.0), (5.0, 1.0), (1.0, 0.0)] {
            let costs = Costs { false_positive, false_negative };
            let found = best(costs, &steps(&scored), (1, 1)).unwrap();
            let least = (0..=1000).map(|i| cost_at(costs, f64::from(i) / 900.0));
            let least = least.fold(f64::INFINITY, f64::min);
            assert!((found.cost - least).abs() < 1e-15, "{costs:?}: {found:?} {least}");
            assert!((cost_at(costs, found.threshold) - least).abs() < 1e-15, "{found:?}");
        }
        let nothing = Costs { false_positive: 0.0, false_negative: 0.0 };
        assert!(nothing.check().is_err());
        assert!(Costs { false_positive: -1.0, false_negative: 2.0 }.check().is_err());
    }
}
