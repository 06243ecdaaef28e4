//! How well weights predict: a whole number, so that it is the same in any order and no rounding
//! moves it.

use reticent_problem::loss::LabelKind;
use reticent_problem::{Problem, Weighting};

use super::margins;
use crate::Rows;

/// The largest score of a row: the number that stands for 1.
const RIGHT: u64 = 1 << 20;

/// The sum over `rows` of each row's score, between 0 and 1, at `weights`: a multiple of `2^-20`,
/// exact for up to `2^33` rows.
///
/// A row scores 1 if the predicted class is its label, else 0; a regression target `y` in an
/// interval of width `D` and prediction `p`, held within the interval, scores `1 − (p − y)²/D²`,
/// rounded down, and a prediction that is NaN scores 0.
pub(crate) fn score(rows: &Rows, problem: &Problem, weights: &[f64]) -> f64 {
    sum(rows, problem, weights) as f64 / RIGHT as f64
}

fn sum(rows: &Rows, problem: &Problem, weights: &[f64]) -> u64 {
    let each = counts(rows, problem, weights);
    let Some(units) = rows.several() else { return each.iter().sum() };
    // The score of a unit is the average of its rows' scores, rounded down: between 0 and 1 like a
    // row.
    let unit = units.unit();
    let of_unit = |u: usize| {
        let rows = units.rows(u);
        let among = match unit.weighting {
            Weighting::Equal => rows.len(),
            Weighting::Rows => unit.max_rows,
        };
        each[rows].iter().sum::<u64>() / among as u64
    };
    (0..units.len()).map(of_unit).sum()
}

/// The score of each row.
fn counts(rows: &Rows, problem: &Problem, weights: &[f64]) -> Vec<u64> {
    let outputs = problem.loss.outputs();
    let margins = match problem.hidden {
        None => margins(rows.features(), weights, outputs),
        Some(units) => {
            let (first, last) = weights.split_at(units * rows.features().columns());
            second_layer(margins(rows.features(), first, units), last, units)
        }
    };
    let bound = problem.bounds.label();
    let (kind, link) = (problem.loss.labels(), problem.loss.link());
    let low = if kind == LabelKind::NonNegative { 0.0 } else { -bound };
    let count = |(m, y): (&[f64], &f64)| match kind {
        LabelKind::TwoClasses | LabelKind::Classes { .. } if outputs == 1 => {
            if (m[0] > 0.0) == (*y > 0.0) { RIGHT } else { 0 }
        }
        LabelKind::TwoClasses | LabelKind::Classes { .. } => {
            let top = m.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let class = m.iter().position(|v| *v == top);
            if class == Some(*y as usize) { RIGHT } else { 0 }
        }
        LabelKind::Numbers | LabelKind::NonNegative | LabelKind::Levels { .. } => {
            let off = (link.prediction(m[0]).clamp(low, bound) - y) / (bound - low);
            ((1.0 - off * off) * RIGHT as f64).clamp(0.0, RIGHT as f64) as u64
        }
    };
    margins.chunks(outputs).zip(rows.labels()).map(count).collect()
}

/// The margins of a network: `first` holds those of its `units` hidden units, row after row, and
/// `last` for each output a weight for each unit and a constant.
pub fn second_layer(first: Vec<f64>, last: &[f64], units: usize) -> Vec<f64> {
    let mut hidden = first;
    for h in &mut hidden {
        *h = h.tanh();
    }
    let mut all = Vec::with_capacity(hidden.len() / units * (last.len() / (units + 1)));
    for row in hidden.chunks(units) {
        all.extend(last.chunks(units + 1).map(|w| {
            let (constant, weights) = (w[units], &w[..units]);
            weights.iter().zip(row).map(|(w, h)| w * h).sum::<f64>() + constant
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dense, Features};
    use reticent_problem::{Loss, RowBounds};

    fn table(x: &[f64], labels: &[f64], bounds: RowBounds) -> Rows {
        let features = Features::F64(Dense::new(labels.len(), x.len() / labels.len(), x.to_vec()));
        Rows::new(features, labels.to_vec(), bounds)
    }

    #[test]
    fn classes_count_whole_and_numbers_by_their_distance() {
        let bounds = RowBounds::new(2.0, 1.0).unwrap();
        let x = [1.0, -1.0, 0.5, f64::NAN];
        let rows = table(&x, &[1.0, 1.0, -1.0, 1.0], bounds);
        let problem = Problem::new(Loss::Logistic, bounds, 4, 1);
        assert_eq!(sum(&rows, &problem, &[1.0]), RIGHT, "the first only");
        assert_eq!(sum(&rows, &problem, &[-1.0]), 2 * RIGHT, "the second and the third");

        let squared = Problem { loss: Loss::Squared, ..problem };
        // Off by 0, 2, 1.5, and not a number.
        let want = 1.0 + 0.0 + (1.0 - 0.75_f64.powi(2));
        assert_eq!(sum(&rows, &squared, &[1.0]), (want * RIGHT as f64) as u64);

        let loss = Loss::Softmax { classes: 3 };
        let rows = table(&[1.0, 2.0], &[2.0, 0.0], bounds);
        let softmax = Problem::new(loss, bounds, 2, 1);
        assert_eq!(sum(&rows, &softmax, &[0.0, 0.1, 0.3]), RIGHT);
    }

    #[test]
    fn one_row_moves_the_sum_by_at_most_one_whole_row_whatever_the_weights() {
        let bounds = RowBounds::new(1e6, 1.0).unwrap();
        for &loss in Loss::ALL.iter().flat_map(|about| about.samples) {
            for weight in [0.0, 1e-300, -3.0, 1e300, f64::INFINITY, f64::NAN] {
                let problem = Problem::new(loss, bounds, 3, 1);
                let all = table(&[0.3, -1.0, 1e6], &[1.0, -1.0, 1.0], bounds);
                let less = table(&[0.3, -1.0], &[1.0, -1.0], bounds);
                let weights = vec![weight; loss.outputs()];
                let more = sum(&all, &problem, &weights) - sum(&less, &problem, &weights);
                assert!(more <= RIGHT, "{loss:?} {weight}");
            }
        }
    }
}
