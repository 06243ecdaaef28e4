//! The one door to the rows.
//!
//! An optimiser sees the data only through an [`Oracle`]: it asks for a sum ([`Question`]) and gets
//! it sealed in a [`Sensitive`]. A matrix in memory is one oracle; a stream of row groups or a
//! cluster is another, under the same optimiser.

use std::ops::Range;

use reticent_problem::{Problem, RowBounds, Unit};

use crate::walk::{Walk, WalkState};
use crate::{Question, Sensitive, kernel};

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
        /// The plan's number.
        planned: usize,
        /// The table's number.
        got: usize,
    },
    /// The rows were encoded for wider bounds than the plan's.
    #[error(
        "the plan's `feature_norm` and `label_bound` are below those that the rows were encoded with; plan and encode with the same task"
    )]
    Bounds,
    /// Single-row steps on rows that come in order only.
    #[error(
        "a streamed table is read in order, and this algorithm steps from row to row at random; use objective, output-gd, clipped-sgd or phased, or leave out `memory` so that the table is read whole"
    )]
    InOrder,
    /// Rows in order, where they have none.
    #[error(
        "rows on a cluster have no order of their own; use objective, output-gd, clipped-sgd, mirror or coordinate-mean, or fit on one machine"
    )]
    NoOrder,
    /// An algorithm whose guarantee assumes the order of the rows, where they have none.
    #[error(
        "`algorithm` must be one that does not depend on the order of the rows, because rows on a cluster have none, got {got}; use objective, output-gd, clipped-sgd, mirror or coordinate-mean, or fit on one machine"
    )]
    Scattered {
        /// The algorithm.
        got: &'static str,
    },
    /// Units that are not those of the plan.
    #[error(
        "the plan and the rows do not have the same `unit`; plan and read the table with the same `unit` column and `max_rows`"
    )]
    Units,
    /// Weights that the plan does not know of, or lacks.
    #[error(
        "the plan and the rows do not agree on whether rows have weights; plan and read the table with the same declared weights"
    )]
    Weights,
    /// Keys of units that do not belong to the rows.
    #[error(
        "there must be one `unit` for each row of the table, and there is not: if the file was changed while it was read, run again"
    )]
    UnitKeys,
    /// Another sum than one of gradients, over a part of a table.
    #[error("a part of a table answers with sums of gradients only; ask the whole table")]
    Part,
    /// A table could not be read again to its end.
    #[error("nothing is released, because rows were missing from a sum: {why}")]
    Unread {
        /// Why the file could not be read.
        why: String,
    },
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

impl Speed {
    /// The threads asked for; none, if all cores serve.
    ///
    /// # Errors
    ///
    /// [`OracleError::Threads`] if they cannot be started.
    pub fn pool(self) -> Result<Option<rayon::ThreadPool>, OracleError> {
        let Some(threads) = self.threads else { return Ok(None) };
        if threads == 0 {
            return Err(OracleError::Threads { threads });
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map(Some).map_err(|_| OracleError::Threads { threads })
    }
}

/// The only way in which an optimiser reaches rows.
pub trait Oracle: Sync {
    /// `n`: how many rows, or units where rows come in such. Public under replace-one adjacency.
    fn rows(&self) -> usize;

    /// Whose rows count as one record; none where each row is one.
    fn unit(&self) -> Option<&Unit> {
        None
    }

    /// Whether rows have weights ([`Rows::weighted`](crate::Rows::weighted)).
    fn weighted(&self) -> bool;

    /// Features of a row, the intercept among them.
    fn features(&self) -> usize;

    /// The bounds that every row keeps.
    fn bounds(&self) -> RowBounds;

    /// `into =` the sum that is asked for, over all rows that it is about. `into` has
    /// [`Question::width`] numbers.
    ///
    /// # Errors
    ///
    /// [`OracleError::Unread`] if rows were missing: what `into` holds then must not be used.
    fn ask(
        &self,
        problem: &Problem,
        question: &Question<'_>,
        into: &mut Sensitive<Vec<f64>>,
    ) -> Result<(), OracleError>;

    /// The same rows in any order, where they can be fetched so; none otherwise.
    fn random_access(&self) -> Option<&dyn RandomAccess> {
        None
    }

    /// The same rows one after another, where they have an order; none otherwise.
    fn in_order(&self) -> Option<&dyn InOrder> {
        None
    }

    /// Runs `work` on this oracle's threads: parallel work in there keeps to their number. An
    /// iterative method runs its whole loop in one call, so that no step has to wake a thread.
    fn on_threads(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }

    /// Checks that the problem has this table's shape and bounds, the number of rows included: for
    /// replace-one adjacency, where that number is public.
    ///
    /// # Errors
    ///
    /// [`OracleError::Shape`] or [`OracleError::Bounds`].
    fn check(&self, problem: &Problem) -> Result<(), OracleError> {
        let what = if problem.unit.is_some() { "units" } else { "rows" };
        self.check_columns(problem)?;
        same(what, problem.rows, self.rows())
    }

    /// Checks what is public under add-or-remove adjacency too: features and bounds. The number of
    /// rows is then private, and `problem.rows` a declared number that the table's need not equal.
    ///
    /// # Errors
    ///
    /// [`OracleError::Shape`] or [`OracleError::Bounds`].
    fn check_columns(&self, problem: &Problem) -> Result<(), OracleError> {
        same("features", problem.features, self.features())?;
        if problem.unit.as_ref() != self.unit() {
            return Err(OracleError::Units);
        }
        if problem.weighted != self.weighted() {
            return Err(OracleError::Weights);
        }
        if !self.bounds().within(problem.bounds) {
            return Err(OracleError::Bounds);
        }
        Ok(())
    }

    /// [`Self::check`], and that rows can be fetched in any order.
    ///
    /// # Errors
    ///
    /// As there, or [`OracleError::InOrder`].
    fn check_walk(&self, problem: &Problem) -> Result<&dyn RandomAccess, OracleError> {
        self.check(problem)?;
        self.random_access().ok_or(OracleError::InOrder)
    }

    /// [`Self::check`], and that rows have an order.
    ///
    /// # Errors
    ///
    /// As there, or [`OracleError::NoOrder`].
    fn check_order(&self, problem: &Problem) -> Result<&dyn InOrder, OracleError> {
        self.check(problem)?;
        self.in_order().ok_or(OracleError::NoOrder)
    }
}

/// Rows that can be fetched in any order: a table in memory has them, a stream and a cluster do
/// not.
pub trait RandomAccess: Sync {
    /// The next [`stretch`](crate::walk::stretch) of single-row steps of `walk`, on all of `R^d` or
    /// a ball; nothing once it has ended. See [`crate::walk`].
    ///
    /// # Errors
    ///
    /// [`OracleError::Unread`] if rows were missing: what `state` holds then must not be used.
    fn walk(
        &self,
        problem: &Problem,
        walk: &Walk,
        state: &mut Sensitive<WalkState>,
    ) -> Result<(), OracleError>;
}

/// Rows that come one after another: a table in memory and a stream have them, a cluster does not.
pub trait InOrder: Sync {
    /// One pass of single-row steps `w ← Proj(w − eta ∇ℓ(w; xᵢ, yᵢ))` over the rows of `range` in
    /// order, each new `w` added to `sum`. Rows are read once, so a stream can serve it with memory
    /// for `w` and `sum`.
    ///
    /// # Errors
    ///
    /// [`OracleError::Unread`] if rows were missing: what `w` and `sum` hold then must not be used.
    fn one_pass(
        &self,
        problem: &Problem,
        range: Range<usize>,
        eta: f64,
        w: &mut Sensitive<Vec<f64>>,
        sum: &mut Sensitive<Vec<f64>>,
    ) -> Result<(), OracleError>;
}

fn same(what: &'static str, planned: usize, got: usize) -> Result<(), OracleError> {
    if planned == got { Ok(()) } else { Err(OracleError::Shape { what, planned, got }) }
}

/// The longest chain of rounded additions through which a row's contribution to a
/// [`Question::Gradient`] over so many of the problem's records passes. Public: a function of the
/// shape. Every oracle keeps to it. Of a unit the rows are added up first, each rounded once as it
/// is multiplied by its share, and so is a row by its weight, which may be rounded before.
pub fn summation_depth(problem: &Problem, records: usize, weights: usize) -> usize {
    let rows = problem.rows_of_a_record();
    let of_unit = if rows > 1 { rows + 1 } else { 0 };
    kernel::summation_depth(records, weights) + of_unit + if problem.weighted { 2 } else { 0 }
}

/// How much more than the bounds say [`Question::Moments`] may move when a row joins or leaves, as
/// a factor: rounding of tables with up to ten times the declared rows, in the sums of both. Every
/// oracle keeps to it.
pub fn moments_rounding(problem: &Problem) -> f64 {
    rounding(problem, 2 * problem.features + 1)
}

/// The same for each of the two sums of [`Question::Curvature`].
pub fn curvature_rounding(problem: &Problem) -> f64 {
    rounding(problem, problem.features.saturating_mul(problem.features.saturating_add(1)))
}

/// A sum of so many numbers is off by at most `depth · u` times the sum of the sizes of what is
/// added, which is at most the number of records times what one may add.
fn rounding(problem: &Problem, numbers: usize) -> f64 {
    let rows = 10.0 * problem.rows as f64 + 1000.0;
    let depth = summation_depth(problem, rows as usize, numbers) as f64;
    1.0 + 1e-7_f64.max(1.01 * depth * rows * f64::EPSILON)
}

/// The longest chain of rounded additions through which a row's contribution to a
/// [`Question::Batch`] passes, for batches of up to `rows` rows.
pub fn batch_depth(rows: usize) -> usize {
    kernel::batch::depth(rows)
}
