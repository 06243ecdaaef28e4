//! How many rows have a gradient that stays below a length, for every length of a grid.

use reticent_problem::Problem;
use reticent_problem::loss::Link;

use super::Derivative;
use crate::Rows;

/// `into[j]` = the number of rows whose Lipschitz constant
/// ([`Loss::row_lipschitz`](reticent_problem::Loss::row_lipschitz)) at their size lies below
/// `grid[j]`, times its weight where rows have such; the grid increases. A constant that is no
/// number lies below nothing. Entries whose squares leave the range of `f64` make a size infinite
/// or zero, which counts at an end of the grid. Given weights `from`, the gradient at them counts:
/// with a logarithmic link as the loss has it, else labels count from what they predict, for
/// numbers whose loss depends on the difference alone.
pub(crate) fn count_below(
    rows: &Rows,
    problem: &Problem,
    sizes: &[f64],
    from: &[f64],
    grid: &[f64],
    into: &mut [f64],
) {
    into.fill(0.0);
    let (radius, limit) = (problem.domain.radius(), problem.slope_limit);
    let predicted = if from.is_empty() { vec![] } else { super::margins(rows.features(), from, 1) };
    let at_from =
        (problem.loss.link() == Link::Log && !from.is_empty()).then(|| Derivative::of(problem));
    let constant = |i: usize, norm: f64| {
        if let Some(derivative) = at_from {
            return derivative.slope(predicted[i], rows.labels()[i]).abs() * norm;
        }
        let label = rows.labels()[i] - predicted.get(i).unwrap_or(&0.0);
        let constant = problem.loss.row_lipschitz(norm, label.abs(), radius);
        limit.map_or(constant, |limit| constant.min(limit * norm))
    };
    let mut count = |constant: f64| {
        if constant.is_nan() {
            return;
        }
        // The first length above the constant: from there on the row is counted.
        let first = grid.partition_point(|&g| g <= constant);
        if let Some(count) = into.get_mut(first) {
            *count += 1.0;
        }
    };
    match rows.shares() {
        None => sizes.iter().enumerate().for_each(|(i, &size)| count(constant(i, size))),
        // The mean of gradients is no longer than the mean of their lengths.
        Some(shares) => (0..shares.len()).for_each(|u| {
            let of_row = |i: usize| shares.weight(i) * constant(i, sizes[i]);
            count(shares.share(u) * shares.rows(u).map(of_row).sum::<f64>());
        }),
    }
    let mut sum = 0.0;
    for count in into {
        sum += *count;
        *count = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::clipped::norms;
    use crate::{Dense, Features};
    use reticent_problem::{Loss, RowBounds};

    #[test]
    fn a_row_is_counted_above_its_constant_and_one_row_moves_every_count_by_at_most_one() {
        let bounds = RowBounds::features(100.0).unwrap();
        let x = vec![3.0, 4.0, 0.0, 1.0, 0.0, 0.0, f64::NAN, 1.0, 1e300, 1e300];
        let table = |rows: usize| {
            let features = Features::F64(Dense::new(rows, 2, x[..2 * rows].to_vec()));
            Rows::new(features, vec![1.0; rows], bounds)
        };
        let grid = [0.5, 1.0, 1.5, 5.0, 6.0];
        let problem = Problem::new(Loss::Logistic, bounds, 5, 2);
        let count = |rows: usize| {
            let mut into = vec![7.0; 5];
            let table = table(rows);
            let sizes = norms(table.features(), None);
            count_below(&table, &problem, &sizes, &[], &grid, &mut into);
            into
        };
        assert_eq!(count(1), [0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(count(2), [0.0, 0.0, 1.0, 1.0, 2.0]);
        assert_eq!(count(3), [1.0, 1.0, 2.0, 2.0, 3.0]);
        assert_eq!(count(4), count(3), "a row that is not a number lies below nothing");
        assert_eq!(count(5), count(3), "nor does one beyond the grid");
    }

    #[test]
    fn labels_count_from_what_is_predicted() {
        let bounds = RowBounds::new(10.0, 10.0).unwrap();
        let features = Features::F64(Dense::new(3, 2, vec![1.0, 0.0, 0.0, 1.0, 0.6, 0.8]));
        let rows = Rows::new(features, vec![4.0, -2.0, 1.0], bounds);
        let domain = reticent_problem::Domain::Ball { radius: 0.0 };
        let problem = Problem { domain, ..Problem::new(Loss::Squared, bounds, 3, 2) };
        let sizes = norms(rows.features(), None);
        let count = |from: &[f64]| {
            let mut into = vec![7.0; 4];
            count_below(&rows, &problem, &sizes, from, &[0.75, 1.5, 3.0, 5.0], &mut into);
            into
        };
        // Residuals 4, 2, 1; then 0, 3, 2.2.
        assert_eq!(count(&[]), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(count(&[4.0, 1.0]), [1.0, 1.0, 2.0, 3.0]);
    }
}
