//! What a plan costs in time and memory: counted from its shape, with constants measured once.

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

/// Numbers that a run touches on a table of so many rows.
pub(super) fn work(plan: &Plan, rows: f64) -> f64 {
    let outline = plan.outline();
    let (steps, width) = (outline.steps as f64, outline.problem.dimension() as f64);
    steps * (width * (rows_per_step(plan, rows) + NUMBERS_PER_WEIGHT) + NUMBERS_PER_STEP)
}

impl Plan {
    /// Times that a run reads a table which has to be read whole for every sum, about: a stream, or rows on a cluster.
    pub fn passes(&self) -> f64 {
        match self {
            Self::Objective(_) => SOLVER_PASSES,
            _ => self.outline().steps as f64,
        }
    }

    /// Seconds that a run takes on one thread with dense rows, about: it tells minutes from hours.
    pub fn seconds(&self) -> f64 {
        let rows = self.outline().problem.rows as f64;
        SECONDS_PER_NUMBER * work(self, rows)
    }

    /// Bytes that dense rows in double precision and the weights of a run take in memory, about.
    pub fn bytes(&self) -> f64 {
        let problem = &self.outline().problem;
        8.0 * (problem.rows as f64 * (problem.features + 1) as f64
            + 8.0 * problem.dimension() as f64)
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
        }
    }
}
