//! Rows in memory: one block, which is the whole table.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use reticent_problem::{Problem, RowBounds, Unit};

use crate::oracle::{InOrder, Oracle, OracleError, RandomAccess, Speed};
use crate::question::{Block, Question, Scratch};
use crate::walk::{Walk, WalkState};
use crate::{Features, Rows, Sensitive, Units, kernel, threads};

/// Rows in memory.
pub struct LocalOracle {
    rows: Rows,
    pool: Option<rayon::ThreadPool>,
    scratch: Mutex<Scratch>,
    sizes: kernel::clipped::Sizes,
}

impl LocalOracle {
    /// Serves `rows` with the given number of threads.
    ///
    /// # Errors
    ///
    /// [`OracleError::Threads`].
    pub fn new(rows: Rows, speed: Speed) -> Result<Self, OracleError> {
        let sizes = kernel::clipped::Sizes::default();
        Ok(Self { rows, pool: speed.pool()?, scratch: Mutex::default(), sizes })
    }

    /// Measures where the time of clipped sums goes from now on. For benchmarks: time tells of
    /// rows.
    #[doc(hidden)]
    pub fn watch_clipped(&self) -> Arc<kernel::Stages> {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(scratch.clipped.stages.get_or_insert_default())
    }

    /// Runs what one thread does row by row; only features that are yet to be computed keep the
    /// others busy.
    fn with_features(&self, work: impl FnOnce() + Send) {
        match (&self.pool, self.rows.features()) {
            (Some(pool), Features::Mapped(_)) => pool.install(work),
            _ => work(),
        }
    }

    /// Runs the work of a question on the threads that it has use for.
    fn run(&self, question: &Question<'_>, work: &mut (dyn FnMut() + Send)) {
        match (question, &self.pool) {
            (Question::Batch { .. }, _) => self.with_features(work),
            (
                Question::Gradient { .. }
                | Question::Moments
                | Question::Curvature { .. }
                | Question::Robust { .. },
                Some(pool),
            ) => {
                pool.install(work);
            }
            _ => self.on_threads(work),
        }
    }

    fn answer(&self, problem: &Problem, question: &Question<'_>, into: &mut [f64]) {
        // Another run's question may hold it, perhaps beneath this one on the stack of a thread
        // that waits for a part of that question.
        let (mut kept, mut fresh) = (self.scratch.try_lock().ok(), Scratch::default());
        let scratch: &mut Scratch = kept.as_deref_mut().unwrap_or(&mut fresh);
        let block = Block::whole(&self.rows, &self.sizes);
        self.run(question, &mut || question.answer(problem, block, scratch, into));
    }
}

impl Oracle for LocalOracle {
    fn rows(&self) -> usize {
        self.rows.records()
    }

    fn unit(&self) -> Option<&Unit> {
        self.rows.units().map(Units::unit)
    }

    fn weighted(&self) -> bool {
        self.rows.weights().is_some()
    }

    fn features(&self) -> usize {
        self.rows.features().columns()
    }

    fn bounds(&self) -> RowBounds {
        self.rows.bounds()
    }

    fn ask(
        &self,
        problem: &Problem,
        question: &Question<'_>,
        into: &mut Sensitive<Vec<f64>>,
    ) -> Result<(), OracleError> {
        let (rows, loss) = (&self.rows, problem.loss);
        match *question {
            // Small steps by the million: no lock, no thread. The bounds are put together inside:
            // handed over in memory, they would be waited for.
            Question::Batch { batch, clip, at }
                if rows.shares().is_none()
                    && kernel::batch::scratch_len(rows, loss, batch.len(), at.len()) == 0 =>
            {
                into.compute(|into| {
                    let limit = problem.slope_limit.unwrap_or(f64::INFINITY);
                    let bounds = kernel::batch::Bounds { limit, clip };
                    kernel::batch::sum(rows, loss, bounds, batch, at, into, &mut []);
                });
            }
            _ => into.compute(|into| self.answer(problem, question, into)),
        }
        Ok(())
    }

    /// Steps from row to row are no steps from unit to unit, unless a unit has one row.
    fn random_access(&self) -> Option<&dyn RandomAccess> {
        self.rows.several().is_none().then_some(self)
    }

    /// A unit has no place in an order, however few rows: see [`Units`].
    fn in_order(&self) -> Option<&dyn InOrder> {
        self.rows.units().is_none().then_some(self)
    }

    fn on_threads(&self, work: &mut (dyn FnMut() + Send)) {
        threads::run(self.pool.as_ref(), work);
    }
}

impl RandomAccess for LocalOracle {
    fn walk(
        &self,
        problem: &Problem,
        walk: &Walk,
        state: &mut Sensitive<WalkState>,
    ) -> Result<(), OracleError> {
        state.compute(|state| {
            self.with_features(|| kernel::walk::walk(&self.rows, problem, walk, state));
        });
        Ok(())
    }
}

impl InOrder for LocalOracle {
    fn one_pass(
        &self,
        problem: &Problem,
        range: Range<usize>,
        eta: f64,
        w: &mut Sensitive<Vec<f64>>,
        sum: &mut Sensitive<Vec<f64>>,
    ) -> Result<(), OracleError> {
        w.compute(|w| {
            sum.compute(|sum| {
                self.with_features(|| {
                    kernel::robust::pass(&self.rows, problem, range, eta, w, sum);
                });
            });
        });
        Ok(())
    }
}
