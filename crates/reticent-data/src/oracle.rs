//! The one door to the rows.
//!
//! An optimiser sees the data only through an [`Oracle`]: it asks for sums and gets them sealed in a [`Sensitive`].
//! A matrix in memory is one oracle; a stream of row groups or a cluster is another, under the same optimiser.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use reticent_problem::{Loss, Problem, RowBounds};

pub use crate::kernel::robust::{Chosen, Rule};
use crate::{Rows, Sensitive, kernel};

/// Why an oracle cannot serve a problem. Depends on shapes and settings, never on a row's value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OracleError {
    /// The plan was made for another shape.
    #[error(
        "the plan is for {planned} {what}, the table has {got}; plan again with the table's {what}"
    )]
    Shape {
        /// Rows or features.
        what: &'static str,
        /// What the plan says.
        planned: usize,
        /// What the table has.
        got: usize,
    },
    /// The rows were encoded for wider bounds than the plan's.
    #[error(
        "the plan's `feature_norm` and `label_bound` are below those that the rows were encoded with; plan and encode with the same task"
    )]
    Bounds,
    /// The threads asked for could not be started.
    #[error("`threads` must be a number that can be started, at least 1, got {threads}")]
    Threads {
        /// How many.
        threads: usize,
    },
}

/// Settings that change speed and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Speed {
    /// Threads to use; all cores if none is given. The released model is the same for any number.
    pub threads: Option<usize>,
}

/// The only way in which an optimiser reaches rows.
pub trait Oracle: Sync {
    /// `n`. Public under replace-one adjacency.
    fn rows(&self) -> usize;

    /// Features of a row, the intercept among them.
    fn features(&self) -> usize;

    /// The bounds that every row keeps.
    fn bounds(&self) -> RowBounds;

    /// `into = Σ_i ∇ℓ(at; xᵢ, yᵢ)` of the problem's data loss, without ridge, summed in a fixed order.
    fn gradient_sum(
        &self,
        problem: &Problem,
        at: &Sensitive<Vec<f64>>,
        into: &mut Sensitive<Vec<f64>>,
    );

    /// `into` = the sum over the chosen rows of their gradients of the data loss at public weights, each left out or
    /// clipped by the rule, summed in a fixed order: for rows that nothing bounds.
    fn robust_sum(
        &self,
        problem: &Problem,
        chosen: &Chosen<'_>,
        rule: Rule,
        at: &[f64],
        into: &mut Sensitive<Vec<f64>>,
    );

    /// One pass of single-row steps `w ← Proj(w − eta ∇ℓ(w; xᵢ, yᵢ))` over the rows of `range` in order, each new `w` added
    /// to `sum`. Rows are read once and in order, so a stream can serve it with memory for `w` and `sum`.
    fn one_pass(
        &self,
        problem: &Problem,
        range: Range<usize>,
        eta: f64,
        w: &mut Sensitive<Vec<f64>>,
        sum: &mut Sensitive<Vec<f64>>,
    );

    /// Checks that the problem has this table's shape and bounds.
    ///
    /// # Errors
    ///
    /// [`OracleError::Shape`] or [`OracleError::Bounds`].
    fn check(&self, problem: &Problem) -> Result<(), OracleError> {
        for (what, planned, got) in
            [("rows", problem.rows, self.rows()), ("features", problem.features, self.features())]
        {
            if planned != got {
                return Err(OracleError::Shape { what, planned, got });
            }
        }
        if !self.bounds().within(problem.bounds) {
            return Err(OracleError::Bounds);
        }
        Ok(())
    }
}

/// Rows in memory.
pub struct LocalOracle {
    rows: Rows,
    pool: Option<rayon::ThreadPool>,
    scratch: Mutex<Vec<f64>>,
}

impl LocalOracle {
    /// Serves `rows` with the given number of threads.
    ///
    /// # Errors
    ///
    /// [`OracleError::Threads`].
    pub fn new(rows: Rows, speed: Speed) -> Result<Self, OracleError> {
        let pool = match speed.threads {
            None => None,
            Some(0) => return Err(OracleError::Threads { threads: 0 }),
            Some(threads) => Some(
                rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .map_err(|_| OracleError::Threads { threads })?,
            ),
        };
        Ok(Self { rows, pool, scratch: Mutex::new(Vec::new()) })
    }

    fn sum(&self, loss: Loss, limit: f64, w: &[f64], into: &mut [f64]) {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch: &mut Vec<f64> = &mut scratch;
        let needed = kernel::scratch_len(self.rows.len(), into.len());
        if scratch.len() < needed {
            scratch.resize(needed, 0.0);
        }
        let mut pass = || kernel::gradient_sum(&self.rows, loss, limit, w, into, scratch);
        match &self.pool {
            Some(pool) => pool.install(pass),
            None => pass(),
        }
    }
}

impl Oracle for LocalOracle {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn features(&self) -> usize {
        self.rows.features().columns()
    }

    fn bounds(&self) -> RowBounds {
        self.rows.bounds()
    }

    fn gradient_sum(
        &self,
        problem: &Problem,
        at: &Sensitive<Vec<f64>>,
        into: &mut Sensitive<Vec<f64>>,
    ) {
        let limit = problem.slope_limit.unwrap_or(f64::INFINITY);
        into.update_with(at, |into, at| self.sum(problem.loss, limit, at, into));
    }

    fn robust_sum(
        &self,
        problem: &Problem,
        chosen: &Chosen<'_>,
        rule: Rule,
        at: &[f64],
        into: &mut Sensitive<Vec<f64>>,
    ) {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let needed = kernel::scratch_len(chosen.len(), at.len());
        if scratch.len() < needed {
            scratch.resize(needed, 0.0);
        }
        let scratch: &mut [f64] = &mut scratch;
        into.update(|into| {
            let mut pass =
                || kernel::robust::sum(&self.rows, problem, chosen, rule, at, into, scratch);
            match &self.pool {
                Some(pool) => pool.install(pass),
                None => pass(),
            }
        });
    }

    fn one_pass(
        &self,
        problem: &Problem,
        range: Range<usize>,
        eta: f64,
        w: &mut Sensitive<Vec<f64>>,
        sum: &mut Sensitive<Vec<f64>>,
    ) {
        w.update(|w| {
            sum.update(|sum| kernel::robust::pass(&self.rows, problem, range, eta, w, sum));
        });
    }
}

/// The longest chain of rounded additions through which a row's contribution to [`Oracle::gradient_sum`] passes.
/// Public: a function of the shape. Every oracle keeps to it.
pub fn summation_depth(rows: usize, weights: usize) -> usize {
    kernel::summation_depth(rows, weights)
}
