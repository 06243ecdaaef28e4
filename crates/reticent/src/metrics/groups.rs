//! Metrics by group, for reviews of fairness.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Measure, Metrics, Scores};
use crate::Error;

/// The metrics of one group of rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupMetrics {
    /// The value that the rows have in common.
    pub group: String,
    /// The metrics of its rows.
    pub metrics: Metrics,
}

/// How far groups are apart in one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gap {
    /// The metric.
    pub metric: &'static str,
    /// Its least value over groups, and the group.
    pub least: (String, f64),
    /// Its largest.
    pub largest: (String, f64),
}

/// A metric's name and how to read it.
type Named = (&'static str, fn(&Metrics) -> Option<f64>);

/// The metrics in which groups are compared. A gap in the selection rate is that of demographic
/// parity; gaps in recall and in the false-positive rate are those of equalized odds.
const COMPARED: [Named; 7] = [
    ("selection_rate", |m| m.selection_rate),
    ("recall", |m| m.recall),
    ("false_positive_rate", |m| m.false_positive_rate),
    ("accuracy", |m| m.accuracy),
    ("log_loss", |m| m.log_loss),
    ("mae", |m| m.mae),
    ("rmse", |m| m.rmse),
];

impl Scores {
    /// The metrics of each group, in the order of their names. `groups` has a value for each row.
    ///
    /// # Errors
    ///
    /// As [`Scores::metrics`], and [`Error::Arguments`] if there is not a group for each row.
    pub fn by(&self, groups: &[String], measure: &Measure) -> Result<Vec<GroupMetrics>, Error> {
        super::check(measure, self.loss, &self.labels)?;
        if groups.len() != self.truth.len() {
            return Err(Error::Arguments(
                "`by` must have one group for each row of the table; give a column of it",
            ));
        }
        let mut rows: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (row, group) in groups.iter().enumerate() {
            rows.entry(group).or_default().push(row);
        }
        let one = |(group, rows): (&str, Vec<usize>)| GroupMetrics {
            group: group.to_owned(),
            metrics: self.of_rows(rows.iter().copied(), measure),
        };
        Ok(rows.into_iter().map(one).collect())
    }
}

impl Gap {
    /// The gaps between groups, of the metrics that at least two groups have.
    pub fn between(groups: &[GroupMetrics]) -> Vec<Self> {
        let gap = |(metric, of): &Named| {
            let values: Vec<(&String, f64)> =
                groups.iter().filter_map(|g| Some((&g.group, of(&g.metrics)?))).collect();
            let least = values.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
            let largest = values.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
            let owned = |(group, value): &(&String, f64)| ((*group).clone(), *value);
            (values.len() > 1).then(|| Self {
                metric,
                least: owned(least),
                largest: owned(largest),
            })
        };
        COMPARED.iter().filter_map(gap).collect()
    }
}
