//! The one door to the rows.
//!
//! An optimiser sees the data only through an [`Oracle`]: it asks for sums and gets them sealed in a [`Sensitive`].
//! A matrix in memory is one oracle; a stream of row groups or a cluster is another, under the same optimiser.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use reticent_noise::batch::Draw;
use reticent_problem::{Problem, RowBounds};

use crate::kernel::clipped::Clip;
pub use crate::kernel::robust::{Chosen, Rule};
use crate::walk::{Walk, WalkState};
use crate::{Common, Features, Rows, Sensitive, kernel, threads};

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
    /// Single-row steps on rows that come in order only.
    #[error(
        "a streamed table is read in order, and this algorithm steps from row to row at random; use objective, output-gd, clipped-sgd or phased, or leave out `memory` so that the table is read whole"
    )]
    InOrder,
    /// An algorithm whose guarantee rests on the order of the rows, where they have none.
    #[error(
        "`algorithm` must be one that does not depend on the order of the rows, because rows on a cluster have none, got {got}; use objective, output-gd, clipped-sgd, mirror or coordinate-mean, or fit on one machine"
    )]
    Scattered {
        /// The algorithm.
        got: &'static str,
    },
    /// A table could not be read again to its end.
    #[error("nothing is released, because rows were missing from a sum: {why}")]
    Unread {
        /// What happened to the file.
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

/// The only way in which an optimiser reaches rows.
pub trait Oracle: Sync {
    /// `n`. Public under replace-one adjacency.
    fn rows(&self) -> usize;

    /// Features of a row, the intercept among them.
    fn features(&self) -> usize;

    /// The bounds that every row keeps.
    fn bounds(&self) -> RowBounds;

    /// The same rows in any order, where they can be fetched so; none otherwise.
    fn random_access(&self) -> Option<&dyn RandomAccess> {
        None
    }

    /// Whether every sum so far was over all the rows it was asked for. If not, nothing must be released.
    ///
    /// # Errors
    ///
    /// [`OracleError::Unread`].
    fn whole(&self) -> Result<(), OracleError> {
        Ok(())
    }

    /// `into = Σ_i ∇ℓ(at; xᵢ, yᵢ)` of the problem's data loss, without ridge, summed in a fixed order.
    fn gradient_sum(
        &self,
        problem: &Problem,
        at: &Sensitive<Vec<f64>>,
        into: &mut Sensitive<Vec<f64>>,
    );

    /// `into = Σ_{i in batch} g_i·min(1, clip/‖g_i‖)` with `g_i = ∇ℓ(at; xᵢ, yᵢ)` of the problem's data loss, without
    /// ridge, at public weights. No row adds more than `clip`, up to rounding ([`batch_depth`]), whatever the weights are.
    fn batch_sum(
        &self,
        problem: &Problem,
        batch: &[usize],
        at: &[f64],
        clip: f64,
        into: &mut Sensitive<Vec<f64>>,
    );

    /// `into = Σ_i clip(∇ℓ(at; xᵢ, yᵢ))` over the rows of `draw`: each row's gradient of the problem's data loss, without
    /// ridge, scaled to l2 norm at most `clip`. A gradient with an entry that is not finite counts as zero.
    ///
    /// When a row joins or leaves the batch the sum moves by at most `clip ·` [`clip_rounding`](crate::clip_rounding).
    ///
    /// With a `P` in `common`, a row is scaled such that `P` times its gradient has norm at most `clip`. It is then `P` times
    /// the sum ([`Common::shorten`]) that moves by at most `clip ·` [`shortened_rounding`](crate::shortened_rounding). For linear models.
    fn clipped_sum(
        &self,
        problem: &Problem,
        draw: &Draw<'_>,
        clip: f64,
        common: Option<&Common>,
        at: &[f64],
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

    /// `into[j]` = the number of rows whose largest possible gradient is shorter than `grid[j]`, for an increasing grid. One
    /// row moves each count by at most 1. With a `P` in `common`, gradients count as long as `P` times them are. Labels that are numbers count from
    /// what the weights `from` predict; with none, from zero.
    fn count_below(
        &self,
        problem: &Problem,
        common: Option<&Common>,
        from: &[f64],
        grid: &[f64],
        into: &mut Sensitive<Vec<f64>>,
    );

    /// `into = (Σ_i xᵢ, Σ_i xᵢ∘xᵢ, Σ_i yᵢ)`: the rows, their entries' squares and their labels, summed in a fixed order. For rows of norm at most `B` with entries
    /// up to `E` and labels up to `Y`, when a row joins or leaves the parts move by at most `B`, `BE` and `Y`, each times [`moments_rounding`].
    fn row_moments(&self, into: &mut Sensitive<Vec<f64>>);

    /// `into[0]` = how well weights predict the rows: each counts between 0 and 1, a class that is right 1, a number the more the
    /// nearer. Whatever the weights are, one row moves it by at most 1.
    fn score(&self, problem: &Problem, at: &[f64], into: &mut Sensitive<Vec<f64>>);

    /// Runs `work` on this oracle's threads: what happens in parallel in there keeps to their number. An iterative method
    /// runs its whole loop in one call, so that no step has to wake a thread.
    fn on_threads(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }

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

    /// Checks that the problem has this table's shape and bounds, the number of rows included: for replace-one
    /// adjacency, where that number is public.
    ///
    /// # Errors
    ///
    /// [`OracleError::Shape`] or [`OracleError::Bounds`].
    fn check(&self, problem: &Problem) -> Result<(), OracleError> {
        same("rows", problem.rows, self.rows())?;
        self.check_columns(problem)
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

    /// Checks what is public under add-or-remove adjacency too: features and bounds. The number of rows is then private, and
    /// `problem.rows` a declared number that the table's need not equal.
    ///
    /// # Errors
    ///
    /// [`OracleError::Shape`] or [`OracleError::Bounds`].
    fn check_columns(&self, problem: &Problem) -> Result<(), OracleError> {
        same("features", problem.features, self.features())?;
        if !self.bounds().within(problem.bounds) {
            return Err(OracleError::Bounds);
        }
        Ok(())
    }
}

/// Rows that can be fetched in any order: a table in memory has them, a stream and a cluster do not.
pub trait RandomAccess: Sync {
    /// The next [`stretch`](crate::walk::stretch) of single-row steps of `walk`, on all of `R^d` or a ball; nothing once it
    /// has ended. See [`crate::walk`].
    fn walk(&self, problem: &Problem, walk: &Walk, state: &mut Sensitive<WalkState>);
}

fn same(what: &'static str, planned: usize, got: usize) -> Result<(), OracleError> {
    if planned == got { Ok(()) } else { Err(OracleError::Shape { what, planned, got }) }
}

/// The threads asked for; none, if all cores serve.
pub(crate) fn pool(speed: Speed) -> Result<Option<rayon::ThreadPool>, OracleError> {
    let Some(threads) = speed.threads else { return Ok(None) };
    if threads == 0 {
        return Err(OracleError::Threads { threads });
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map(Some).map_err(|_| OracleError::Threads { threads })
}

/// Rows in memory.
pub struct LocalOracle {
    rows: Rows,
    pool: Option<rayon::ThreadPool>,
    scratch: Mutex<Vec<f64>>,
    clipped: Mutex<kernel::clipped::Scratch>,
    sizes: kernel::clipped::Sizes,
}

impl LocalOracle {
    /// Serves `rows` with the given number of threads.
    ///
    /// # Errors
    ///
    /// [`OracleError::Threads`].
    pub fn new(rows: Rows, speed: Speed) -> Result<Self, OracleError> {
        Ok(Self {
            rows,
            pool: pool(speed)?,
            scratch: Mutex::default(),
            clipped: Mutex::default(),
            sizes: kernel::clipped::Sizes::default(),
        })
    }

    /// Measures where the time of clipped sums goes from now on. For benchmarks: time tells of rows.
    #[doc(hidden)]
    pub fn watch_clipped(&self) -> Arc<kernel::Stages> {
        let mut scratch = self.clipped.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(scratch.stages.get_or_insert_default())
    }

    /// Runs what one thread does row by row; only features that are yet to be computed keep the others busy.
    fn with_features(&self, work: impl FnOnce() + Send) {
        match (&self.pool, self.rows.features()) {
            (Some(pool), Features::Mapped(_)) => pool.install(work),
            _ => work(),
        }
    }

    /// A pass over all rows with room for its sums.
    fn pass(&self, into: &mut [f64], work: impl FnOnce(&Rows, &mut [f64], &mut [f64]) + Send) {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch: &mut Vec<f64> = &mut scratch;
        let needed = kernel::scratch_len(self.rows.len(), into.len());
        if scratch.len() < needed {
            scratch.resize(needed, 0.0);
        }
        let pass = || work(&self.rows, into, scratch);
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

    fn random_access(&self) -> Option<&dyn RandomAccess> {
        Some(self)
    }

    fn gradient_sum(
        &self,
        problem: &Problem,
        at: &Sensitive<Vec<f64>>,
        into: &mut Sensitive<Vec<f64>>,
    ) {
        let limit = problem.slope_limit.unwrap_or(f64::INFINITY);
        into.compute_at(at, |into, at| {
            self.pass(into, |rows, into, scratch| {
                kernel::gradient_sum(rows, problem.loss, limit, at, into, scratch);
            });
        });
    }

    fn batch_sum(
        &self,
        problem: &Problem,
        batch: &[usize],
        at: &[f64],
        clip: f64,
        into: &mut Sensitive<Vec<f64>>,
    ) {
        let limit = problem.slope_limit.unwrap_or(f64::INFINITY);
        let (rows, loss) = (&self.rows, problem.loss);
        let needed = kernel::batch::scratch_len(rows, loss, batch.len(), at.len());
        if needed == 0 {
            // Small steps by the million: no lock, no thread. The bounds are put together inside: handed over in memory, they would
            // be waited for.
            into.compute(|into| {
                let bounds = kernel::batch::Bounds { limit, clip };
                kernel::batch::sum(rows, loss, bounds, batch, at, into, &mut []);
            });
            return;
        }
        let bounds = kernel::batch::Bounds { limit, clip };
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        if scratch.len() < needed {
            scratch.resize(needed, 0.0);
        }
        let scratch = &mut scratch[..needed];
        into.compute(|into| {
            self.with_features(|| {
                kernel::batch::sum_called(rows, loss, bounds, batch, at, into, scratch);
            });
        });
    }

    fn count_below(
        &self,
        problem: &Problem,
        common: Option<&Common>,
        from: &[f64],
        grid: &[f64],
        into: &mut Sensitive<Vec<f64>>,
    ) {
        into.compute(|into| {
            self.on_threads(&mut || {
                let sizes = self.sizes.of(self.rows.features(), common);
                kernel::below::count_below(&self.rows, problem, &sizes, from, grid, into);
            });
        });
    }

    fn row_moments(&self, into: &mut Sensitive<Vec<f64>>) {
        into.compute(|into| self.pass(into, kernel::row_moments));
    }

    fn score(&self, problem: &Problem, at: &[f64], into: &mut Sensitive<Vec<f64>>) {
        into.compute(|into| {
            self.on_threads(&mut || into[0] = kernel::score::score(&self.rows, problem, at));
        });
    }

    fn on_threads(&self, work: &mut (dyn FnMut() + Send)) {
        threads::run(self.pool.as_ref(), work);
    }

    fn clipped_sum(
        &self,
        problem: &Problem,
        draw: &Draw<'_>,
        clip: f64,
        common: Option<&Common>,
        at: &[f64],
        into: &mut Sensitive<Vec<f64>>,
    ) {
        // Another run's step may hold it, perhaps beneath this one on the stack of a thread that waits for a part of that step.
        let (mut kept, mut fresh) =
            (self.clipped.try_lock().ok(), kernel::clipped::Scratch::default());
        let scratch: &mut kernel::clipped::Scratch = kept.as_deref_mut().unwrap_or(&mut fresh);
        into.compute(|into| {
            self.on_threads(&mut || {
                scratch.draw(draw, self.rows.len());
                let rows = &self.rows;
                let sizes = self.sizes.of(rows.features(), common);
                let (rate, total) = (draw.rate.value(), scratch.batch.len());
                let clip = Clip::new(clip, common);
                kernel::clipped::sum(rows, &sizes, problem, rate, total, clip, at, into, scratch);
            });
        });
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
        into.compute(|into| {
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
        w.compute(|w| {
            sum.compute(|sum| {
                self.with_features(|| {
                    kernel::robust::pass(&self.rows, problem, range, eta, w, sum);
                });
            });
        });
    }
}

impl RandomAccess for LocalOracle {
    fn walk(&self, problem: &Problem, walk: &Walk, state: &mut Sensitive<WalkState>) {
        state.compute(|state| {
            self.with_features(|| kernel::walk::walk(&self.rows, problem, walk, state));
        });
    }
}

/// The longest chain of rounded additions through which a row's contribution to [`Oracle::gradient_sum`] passes.
/// Public: a function of the shape. Every oracle keeps to it.
pub fn summation_depth(rows: usize, weights: usize) -> usize {
    kernel::summation_depth(rows, weights)
}

/// How much more than the bounds say [`Oracle::row_moments`] may move when a row joins or leaves, as a factor: rounding of tables
/// with up to ten times the declared rows, in the sums of both. Every oracle keeps to it.
pub fn moments_rounding(problem: &Problem) -> f64 {
    let rows = 10.0 * problem.rows as f64 + 1000.0;
    let depth = summation_depth(rows as usize, 2 * problem.features + 1) as f64;
    1.0 + 1e-7_f64.max(1.01 * depth * rows * f64::EPSILON)
}

/// The longest chain of rounded additions through which a row's contribution to [`Oracle::batch_sum`] passes, for batches
/// of up to `rows` rows.
pub fn batch_depth(rows: usize) -> usize {
    kernel::batch::depth(rows)
}
