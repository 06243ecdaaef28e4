//! The cost of a plan in time and memory: counted from its shape, with constants measured once.

use super::Plan;
use crate::least_squares::Order;
use crate::tuning::{NUMBERS_PER_STEP, NUMBERS_PER_WEIGHT, SECONDS_PER_NUMBER, SOLVER_PASSES};

/// Rows that each step reads, of a table of so many.
fn rows_per_step(plan: &Plan, rows: f64) -> f64 {
    let batch = |batch: u64| (batch as f64).min(rows);
    match plan {
        Plan::Objective(_) => SOLVER_PASSES * rows,
        Plan::OutputGd(_) | Plan::Mirror(_) | Plan::CoordinateMean(_) => rows,
        Plan::ClippedSgd(plan) => batch(plan.batch),
        Plan::RandomRound(plan) => batch(plan.batches.batch),
        Plan::NoisySgd(plan) => batch(plan.batches.batch),
        Plan::GradientSgd(plan) => batch(plan.batches.batch),
        Plan::TruncatedMirror(plan) => {
            (plan.outline.problem.rows as f64 / plan.outline.steps as f64).min(rows)
        }
        Plan::ShuffledMirror(plan) => batch(plan.batch),
        Plan::LeastSquares(plan) => match plan.settings.order {
            Order::Full => rows,
            Order::WithReplacement | Order::Passes => 1.0,
        },
        Plan::OutputSgd(_) | Plan::PermutedSgd(_) | Plan::Phased(_) => 1.0,
    }
}

/// The cost of a row as it is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowCost {
    /// Numbers that a sum over rows touches of it, for each output of the model.
    pub touched: f64,
    /// Bytes that it takes in memory, its label left out.
    pub bytes: f64,
}

impl RowCost {
    /// A row of so many features in double precision.
    pub fn dense(features: usize) -> Self {
        Self { touched: features as f64, bytes: 8.0 * features as f64 }
    }

    /// A row of which so many features differ from zero, each with its index.
    pub fn sparse(filled: usize) -> Self {
        Self { touched: filled as f64, bytes: 12.0 * filled as f64 }
    }
}

/// Numbers that a run touches on a table of so many dense rows.
pub(super) fn work(plan: &Plan, rows: f64) -> f64 {
    work_of(plan, rows, RowCost::dense(plan.outline().problem.features))
}

fn work_of(plan: &Plan, rows: f64, row: RowCost) -> f64 {
    let outline = plan.outline();
    let (steps, weights) = (outline.steps as f64, outline.problem.dimension() as f64);
    let outputs = weights / outline.problem.features.max(1) as f64;
    let read = row.touched * outputs * rows_per_step(plan, rows);
    steps * (read + weights * NUMBERS_PER_WEIGHT + NUMBERS_PER_STEP)
}

impl Plan {
    /// Times that a run reads a table which has to be read whole for every sum, about: a stream, or
    /// rows on a cluster.
    pub fn passes(&self) -> f64 {
        match self {
            Self::Objective(_) => SOLVER_PASSES,
            _ => self.outline().steps as f64,
        }
    }

    /// Seconds that a run takes on one thread, about: it tells minutes from hours.
    pub fn seconds(&self, row: RowCost) -> f64 {
        let rows = self.outline().problem.rows as f64;
        SECONDS_PER_NUMBER * work_of(self, rows, row)
    }

    /// Bytes that the rows, their labels and the weights of a run take in memory, about.
    pub fn bytes(&self, row: RowCost) -> f64 {
        let problem = &self.outline().problem;
        problem.rows as f64 * (row.bytes + 8.0) + 64.0 * problem.dimension() as f64
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::plan_named;
    use crate::setting::{BATCH, Settings};
    use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};
    use reticent_problem::{Domain, Loss, Problem, RowBounds};

    #[test]
    fn steps_cost_the_rows_that_they_read() {
        let (rows, domain) = (20_000, Domain::Ball { radius: 1.0 });
        let bounds = RowBounds::new(1.0, 1.0).unwrap();
        let problem = Problem { domain, ..Problem::new(Loss::Logistic, bounds, rows, 3) };
        let budget = Budget {
            epsilon: Epsilon::new(1.0).unwrap(),
            delta: Delta::new(1e-6).unwrap(),
            adjacency: Adjacency::ReplaceOne,
        };
        let batch = Settings::default().with(&BATCH, 3_u64);
        for (algorithm, request, want) in [
            ("objective", Settings::default(), SOLVER_PASSES * rows as f64),
            ("output-gd", Settings::default(), rows as f64),
            ("mirror", Settings::default(), rows as f64),
            ("clipped-sgd", batch.clone(), 3.0),
            ("shuffled-mirror", batch, 3.0),
            ("output-sgd", Settings::default(), 1.0),
            ("phased", Settings::default(), 1.0),
        ] {
            let plan = plan_named(&problem, budget, &request, algorithm).unwrap();
            assert_eq!(rows_per_step(&plan, rows as f64), want, "{algorithm}");
            // Rows that are mostly zeros cost less, and neither estimate falls below what is left.
            let (dense, sparse) = (RowCost::dense(3), RowCost::sparse(1));
            assert_eq!(plan.seconds(dense), SECONDS_PER_NUMBER * work(&plan, rows as f64));
            assert!(plan.seconds(sparse) < plan.seconds(dense), "{algorithm}");
            assert_eq!(plan.bytes(dense) - plan.bytes(sparse), 12.0 * rows as f64);
            assert!(plan.bytes(sparse) > 20.0 * rows as f64);
        }
    }
}
