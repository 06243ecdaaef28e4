//! A row that is too long never counts as one that is short enough, down to the smallest numbers.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use crate::common::clear::in_the_clear;
use reticent_data::{
    Chosen, Dense, Features, LocalOracle, Oracle, Question, RobustRule, Rows, Sensitive, Speed,
};
use reticent_problem::{Loss, Problem, RowBounds};

/// The gradient at zero of the squared loss on one row with this label, if it counts under the
/// rule.
fn counted(row: &[f64], label: f64, q: f64, threshold: f64) -> Vec<f64> {
    let bounds = RowBounds::unbounded(f64::INFINITY).unwrap();
    let features = Features::F64(Dense::new(1, row.len(), row.to_vec()));
    let rows = Rows::new(features, vec![label], bounds);
    let problem = Problem::new(Loss::Squared, bounds, 1, row.len());
    let oracle = LocalOracle::new(rows, Speed::default()).unwrap();
    let mut sum = Sensitive::new(vec![0.0; row.len()]);
    let rule = RobustRule::Truncate { q, threshold, grid: None };
    oracle
        .ask(
            &problem,
            &Question::Robust { chosen: Chosen::Block(0..1), rule, at: &vec![0.0; row.len()] },
            &mut sum,
        )
        .unwrap();
    in_the_clear(sum)
}

#[test]
fn what_counts_is_no_longer_than_the_threshold() {
    let least = f64::from_bits(1);
    for d in [2, 3, 5, 30] {
        for entry in [least, 3.0 * least, 1e-310, f64::MIN_POSITIVE, 1e-291, 1e-289, 1e-200, 1.0] {
            for q in [2.0, 3.0, f64::INFINITY] {
                for threshold in [1e-15, 1e-3, 1.0] {
                    // Labels such that the gradient is just above and just below what counts.
                    let size = if q == f64::INFINITY { 1.0 } else { f64::from(d).powf(1.0 / q) };
                    for part in [0.4, 0.7, 0.99, 1.01, 1.2, 1.4, 2.0] {
                        let label = part * threshold / size / entry;
                        let sum = counted(&vec![entry; d as usize], label, q, threshold);
                        let length = sum.iter().fold(0.0_f64, |m, x| m.max(x.abs())) * size;
                        let case = format!("{d} entries of {entry:e}, q = {q}, part {part}");
                        assert!(length <= threshold * (1.0 + 1e-12), "{case}: {length:e}");
                        if (0.0..1.0).contains(&part) && entry > 1e-290 && label.is_finite() {
                            assert!(length > 0.0, "{case}: it is short enough");
                        }
                    }
                }
            }
        }
    }
}
