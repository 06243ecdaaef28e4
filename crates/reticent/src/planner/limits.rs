//! Numbers that no run can use: refused before any work, with the limit.

use reticent_optim::PlanError;
use reticent_privacy::Budget;
use reticent_problem::Problem;

/// Below it noise hides everything, whatever the table; searching for the noise takes long and
/// serves nobody.
const LEAST_EPSILON: f64 = 1e-6;

/// Above it one run in ten may publish a row as it is.
const MOST_DELTA: f64 = 0.1;

/// More rows than any table has.
const MOST_ROWS: usize = 1_000_000_000_000;

/// Above this epsilon between two values of one record, the guarantee allows an attacker who was 1
/// % sure of something about them to be 99 % sure.
const WEAK_EPSILON: f64 = 10.0;

/// Refuses what no run can use.
pub(super) fn check(problem: &Problem, budget: Budget) -> Result<(), PlanError> {
    let refuse = |name, expected: &str, got| {
        Err(PlanError::OutOfRange { name, expected: expected.to_owned(), got })
    };
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    if epsilon < LEAST_EPSILON {
        let expected =
            "at least 1e-6, since with less the noise hides everything: give a larger one";
        return refuse("epsilon", expected, epsilon);
    }
    if delta > MOST_DELTA {
        let expected = "at most 0.1, and should be below 1/n, since that share of runs may publish a row as it is: give a smaller one";
        return refuse("delta", expected, delta);
    }
    if problem.rows > MOST_ROWS {
        return refuse("n", "at most 10^12: give the number of rows", problem.rows as f64);
    }
    Ok(())
}

/// A remark on what a large epsilon permits; none for a smaller one, and for an infinite one, whose
/// certificate is void. Two values of a record are two steps apart unless a neighbour has the one
/// in place of the other.
pub fn weak(budget: Budget) -> Option<String> {
    let Budget { epsilon, adjacency, .. } = budget;
    let steps = if adjacency.replaces() { 1.0 } else { 2.0 };
    let (others, values) = if adjacency.protects_units() {
        ("the rows of all other units", "the rows of a unit")
    } else {
        ("all other rows", "the values of a row")
    };
    (steps * epsilon.get() > WEAK_EPSILON && !epsilon.is_infinite()).then(|| {
        format!(
            "at epsilon = {epsilon} under {adjacency}, an attacker who knows {others} and was 1 % sure of something about {values} may become more than 99 % sure"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_privacy::{Adjacency, Delta, Epsilon};
    use reticent_problem::{Loss, RowBounds};

    fn budget(epsilon: f64, delta: f64) -> Budget {
        Budget {
            epsilon: Epsilon::new(epsilon).unwrap(),
            delta: Delta::new(delta).unwrap(),
            adjacency: Adjacency::ReplaceOne,
        }
    }

    fn problem(rows: usize) -> Problem {
        let bounds = RowBounds::features(1.0).unwrap();
        Problem::new(Loss::Softmax { classes: 3 }, bounds, rows, 5)
    }

    #[test]
    fn senseless_numbers_are_refused_by_name() {
        for (epsilon, delta, rows, name) in [
            (5e-324, 1e-6, 1000, "`epsilon`"),
            (1.0, 0.999_999, 1000, "`delta`"),
            (1.0, 1e-6, 10_000_000_000_000, "`n`"),
        ] {
            let refused = check(&problem(rows), budget(epsilon, delta));
            let text = refused.unwrap_err().to_string();
            assert!(text.starts_with(name) && text.contains("must be"), "{text}");
        }
        for (epsilon, delta) in [(1e-6, 0.1), (f64::INFINITY, 0.0)] {
            check(&problem(1_000_000_000_000), budget(epsilon, delta)).unwrap();
        }
    }

    #[test]
    fn a_large_epsilon_gets_a_remark() {
        assert!(weak(budget(1e6, 1e-6)).is_some_and(|text| text.contains("epsilon = 1000000")));
        assert!(weak(budget(10.0, 1e-6)).is_none() && weak(budget(f64::INFINITY, 0.0)).is_none());
        // From one value to another it is two steps.
        let removed =
            |epsilon| Budget { adjacency: Adjacency::AddRemoveOne, ..budget(epsilon, 1e-6) };
        assert!(weak(removed(5.0)).is_none());
        assert!(weak(removed(5.1)).is_some_and(|text| text.contains("under add-remove-one")));
        // The belief that the remark names.
        let odds = 0.01 / 0.99 * WEAK_EPSILON.exp();
        assert!(odds / (1.0 + odds) > 0.99);
    }
}
