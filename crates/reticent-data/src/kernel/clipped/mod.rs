//! Sums of clipped gradients over a drawn batch.
//!
//! The rows of a batch are taken in blocks of 32, several blocks make a slab. A block copies its
//! rows together (`tiles`), multiplies them with the weights (`product`), turns margins into
//! residuals, clips by scaling residuals (`block`); a slab multiplies residuals with rows into the
//! sum (`outer`). Where the sum is small, the batch is cut into several units with a sum each, and
//! a thread takes a unit from its rows to its sum (`unit`): hardly a row goes from one core to
//! another. Where it is not, threads share the blocks of a slab, then the columns of the sum. A
//! slab is as long as fits the caches, but units are cut by the length of the batch alone and a
//! running sum goes over [`SPAN`] blocks whatever the slab, so the bits do not depend on the number
//! of threads.
//!
//! # Guarantee
//!
//! When a row joins or leaves the batch, the computed sum moves by at most `clip ·`
//! [`clip_rounding`], whatever the rows hold.
//!
//! *Contribution of a row.* A row adds the exact product of its residuals `s`, as they are stored,
//! with its features, as they are stored: a fused multiplication does not round a product. How `s`
//! came about is of no concern, so margins may be computed in single precision. The bound needs
//! `‖s‖·‖x‖ <= clip`, and `s` is `r · (limit / norm)` with `limit = clip (1 − 1e-12)` and `norm`
//! computed from the same stored `r` and `x`. Sums of squares of `k` numbers err by less than
//! `k 2^-53` relatively, which [`clip_rounding`] charges; the few other roundings are below the
//! margin `1e-12`. All this holds while no square overflows and no factor is subnormal. Other rows,
//! and clip norms outside `1e±50`, take the way of `careful`; a row with an entry that is not
//! finite adds zero.
//!
//! *What the additions add.* Let a row pass through at most `L` additions. A partial sum of `k`
//! rows has norm at most `k clip`, and rounding errs by at most `2^-53` of it, so a sum over `m`
//! rows errs by less than `L m 2^-53 clip`. A row more may shift all later rows to other places, so
//! both sums count: `2 L m 2^-53 clip` in all. `m` is taken as `min(10 b, 2 n) + 1000` for `b`
//! expected and `n` declared rows; a larger batch has probability below `1e-300` unless the table
//! has ten times (for rates above 1/5, twice) the rows that were declared.
//!
//! *Single precision.* Where eight or more residuals meet the features (classes, or hidden units),
//! products and sums of `C =` [`outer::CHAIN`] rows are in single precision, up to `k =`
//! [`outer::CHAINS`] such sums are added up one by one, and the result is added in double
//! precision. In units of `2^-24 clip`, `j − 1` whole chains and one of `r` rows err by
//! `(j − 1) C (C + 1)/2 + r (r + 1)/2`, and adding them up by `2C + … + (j − 1) C + (j − 1) C + r`:
//! for all `j <= k` and `r <= C` at most `(C + k + 2)/2` for each of their rows (a test goes
//! through all). A batch of `m` rows so errs by `2^-24 m (C + k + 2)/2 clip`, twice as before; the
//! factor of `s` and its product, each rounded to single precision, add `2^-23`. This is charged,
//! as `1.5e-3` for 500 expected rows, and it nearly halves the time of these products. It is done
//! only for batches of up to `b + 6 sqrt(b) + 16` rows: a larger one is summed in double precision,
//! which errs less, so that here no probability enters.

mod block;
pub(super) mod careful;
mod head;
mod outer;
mod product;
mod real;
mod stages;
#[cfg(test)]
mod tests;
mod tiles;
mod unit;
mod vectors;
mod wide;

use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use reticent_noise::batch::Draw;
use reticent_problem::Problem;

use self::block::{ClippedPass, ModelSize, Weights};
use self::head::LossHead;
use self::outer::Groups;
use self::real::{BLOCK, Real};
pub use self::stages::Stages;
use self::unit::{Fills, InUse, MOST_BLOCKS, MOST_UNITS, SPAN, Work};
use super::dense::Element;
use super::{MERGES, sparse};
use crate::threads::{in_parts, shared};
use crate::{Csr, Features, Preconditioner, Rows};

/// How far the clip norm is undercut, so that rounding of a row's scale cannot exceed it.
const MARGIN: f64 = 1e-12;

/// Norms of features and residuals up to here are handled by the fast way: their products and
/// squares stay within range.
const ORDINARY: f64 = 1e75;

/// Clip norms that the fast way handles: within, no factor and no scaled gradient is subnormal.
const ORDINARY_CLIPS: std::ops::RangeInclusive<f64> = 1e-50..=1e50;

/// Clip norms and the largest norm of features with which sums may be begun in single precision:
/// within, a residual or product that is subnormal there is far below what is charged.
const SINGLE: (std::ops::RangeInclusive<f64>, f64) = (1e-15..=1e15, 1e15);

/// Residuals of a row from which on sums are begun in single precision: with fewer, reading the
/// rows takes most of the time.
const SINGLE_FROM: usize = 8;

/// The largest expected batch for which they are: what they add to the noise grows with it.
const SINGLE_BATCH: f64 = 1024.0;

/// The largest batch whose sums are begun in single precision, if any is.
fn single_batch(problem: &Problem, rate: f64) -> Option<f64> {
    let expected = rate * problem.rows as f64;
    (ModelSize::new(problem).on_features() >= SINGLE_FROM && expected <= SINGLE_BATCH)
        .then(|| expected + 6.0 * expected.sqrt() + 16.0)
}

/// Whether the way of summation depends on how many rows the whole batch has.
pub(crate) fn asks_for_total(problem: &Problem, rate: f64) -> bool {
    single_batch(problem, rate).is_some()
}

/// How much more than the clip norm the computed clipped sum of a batch may move when a row joins
/// or leaves, as a factor: at least `1 + 1e-7` (see the guarantee above). Public: a function of the
/// problem and the sampling rate. Every oracle keeps to it.
pub fn clip_rounding(problem: &Problem, rate: f64) -> f64 {
    let (unit, batch) = (0.5 * f64::EPSILON, largest_batch(problem, rate));
    // A running sum over a span, the spans' sums, those of the units, and the sums of the odd rows;
    // or the sparse way.
    let rows = (SPAN * BLOCK) as f64;
    let dense = rows + batch / rows + MOST_UNITS as f64;
    let sparse = (sparse_span(batch as usize) + (MOST_BLOCKS + SPAN) * BLOCK) as f64 + 17.0;
    let careful = careful::BLOCK as f64 + batch / careful::BLOCK as f64;
    let sizes = 4.0 * (problem.features + problem.dimension() / problem.features) as f64;
    let depth = dense.max(sparse) + careful + MERGES as f64;
    let single = single_batch(problem, rate).map_or(0.0, |most| {
        let unit = 0.5 * f64::from(f32::EPSILON);
        let (chain, chains) = (outer::CHAIN as f64, outer::CHAINS as f64);
        1.001 * unit * (most * (chain + chains + 2.0) + 4.0)
    });
    1.0 + 1e-7_f64.max(2.0 * depth * batch * unit + sizes * unit) + single
}

/// `m`: rows of a batch up to which rounding is covered.
fn largest_batch(problem: &Problem, rate: f64) -> f64 {
    (10.0 * rate * problem.rows as f64).min(2.0 * problem.rows as f64) + 1000.0
}

/// [`clip_rounding`] where the part `keep` of a [`Preconditioner`] direction is kept: by how much
/// more than the clip norm the computed sum may move once it has been
/// [shortened](Preconditioner::apply), for rows that are clipped by their shortened size.
///
/// The sums round each coordinate by its own size, and `D` is diagonal: a partial sum `s` is off by
/// `e` with `|e_j| ≤ u |s_j|`, so `‖Pe‖ ≤ ‖De‖ ≤ u ‖Ds‖`, whatever the scales. `‖Dg‖ ≤ ‖Pg‖/keep`
/// for each row's gradient, so `‖Ds‖` is at most `k clip/keep` for `k` rows, where it was `k clip`:
/// rounding counts for `1/keep` as much. A product with `P` is off by less than
/// `(d + 10) 2^-53 ‖Ds‖`; both sums count.
pub fn shortened_rounding(problem: &Problem, rate: f64, keep: f64) -> f64 {
    let products = (problem.features as f64 + 10.0) * f64::EPSILON * largest_batch(problem, rate);
    1.0 + (clip_rounding(problem, rate) - 1.0 + products) / keep
}

/// The longest that a row's gradient may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clip {
    /// `‖Pg‖`, by the row's size.
    size: f64,
    /// `‖g‖`, for a row whose size is out of range: short enough for any `P g`.
    own: f64,
}

impl Clip {
    pub(crate) fn new(clip: f64, preconditioner: Option<&Preconditioner>) -> Self {
        Self {
            size: clip,
            own: preconditioner.map_or(clip, |preconditioner| clip / preconditioner.longest()),
        }
    }
}

/// `‖x‖` of every row, or `‖Px‖`; infinite or NaN for a row that the fast way cannot handle.
pub(crate) fn norms(features: &Features, preconditioner: Option<&Preconditioner>) -> Vec<f64> {
    fn dense<T: Element>(row: &[T], preconditioner: Option<&Preconditioner>) -> f64 {
        match preconditioner {
            None => block::norm(row),
            Some(preconditioner) => preconditioner.size(row),
        }
    }
    let all = |norm: &(dyn Fn(usize) -> f64 + Sync)| {
        shared(|| (0..features.rows()).into_par_iter().map(norm).collect())
    };
    match features {
        Features::F32(x) => all(&|i| dense(x.row(i), preconditioner)),
        Features::F64(x) => all(&|i| dense(x.row(i), preconditioner)),
        Features::Sparse(x) => all(&|i| {
            let (indices, values) = x.row(i);
            preconditioner.map_or_else(
                || block::norm(values),
                |preconditioner| preconditioner.sparse_size(indices, values),
            )
        }),
        Features::Mapped(x) => {
            let mut norms = Vec::with_capacity(x.rows());
            x.blocks_together(0..x.rows(), |rows, x| {
                norms.extend((0..rows.len()).map(|r| dense(x.row(r), preconditioner)));
            });
            norms
        }
    }
}

/// The sizes of a table's rows, kept from step to step.
#[derive(Default)]
pub(crate) struct Sizes(Mutex<Option<Known>>);

/// Sizes, and what was shortened for them.
struct Known {
    preconditioner: Option<Preconditioner>,
    sizes: Arc<[f64]>,
}

impl Sizes {
    /// [`norms`], recomputed where another direction was asked for last.
    pub(crate) fn of(
        &self,
        features: &Features,
        preconditioner: Option<&Preconditioner>,
    ) -> Arc<[f64]> {
        let last = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*last()
            && known.preconditioner.as_ref() == preconditioner
        {
            return Arc::clone(&known.sizes);
        }
        // Not under the lock: a thread that waits for a part of this may come by here.
        let sizes: Arc<[f64]> = norms(features, preconditioner).into();
        *last() =
            Some(Known { preconditioner: preconditioner.cloned(), sizes: Arc::clone(&sizes) });
        sizes
    }
}

/// Room for the sums of a run, kept from step to step.
#[derive(Default)]
pub(crate) struct ClippedScratch {
    /// The rows of the batch.
    pub(crate) batch: Vec<usize>,
    /// Anyone who wants to know where the time goes.
    pub(crate) stages: Option<Arc<Stages>>,
    /// The second half of a batch while it is drawn.
    second: Vec<usize>,
    single: Work<f32>,
    double: Work<f64>,
}

impl ClippedScratch {
    /// Draws a batch from a table of `rows` rows, two threads half of it each.
    pub(crate) fn draw(&mut self, draw: &Draw<'_>, rows: usize) {
        let Self { batch, second, .. } = self;
        batch.clear();
        second.clear();
        let half = (rows / 2).next_multiple_of(Draw::CUT).min(rows);
        let first = || draw.rows(0..half, batch);
        shared(|| rayon::join(first, || draw.rows(half..rows, second)));
        batch.append(second);
    }
}

/// `into = Σ clip(∇ℓ(w; xᵢ, yᵢ))` over the rows of `scratch.batch`, a part of a batch of `total`
/// rows or all of it.
#[allow(clippy::too_many_arguments, reason = "each is another thing")]
pub(crate) fn sum(
    rows: &Rows,
    norms: &[f64],
    problem: &Problem,
    rate: f64,
    total: usize,
    clip: Clip,
    w: &[f64],
    into: &mut [f64],
    scratch: &mut ClippedScratch,
) {
    let ClippedScratch { batch, stages, single, double, .. } = scratch;
    if !ORDINARY_CLIPS.contains(&clip.size) {
        into.fill(0.0);
        return careful::add(rows, problem, batch.iter().copied(), clip.own, w, into);
    }
    let stages = stages.as_deref();
    let step = Step { rows, norms, problem, rate, total, clip, w, batch, stages };
    shared(|| match rows.features() {
        Features::F32(x) => step.run(x, single, into),
        Features::F64(x) => step.run(x, double, into),
        Features::Sparse(x) => step.run_sparse(x, double, into),
        Features::Mapped(x) => step.run(x, single, into),
    });
}

/// One clipped sum.
struct Step<'a> {
    rows: &'a Rows,
    norms: &'a [f64],
    problem: &'a Problem,
    rate: f64,
    /// Rows of the whole batch; looked at only where [`asks_for_total`] says so.
    total: usize,
    clip: Clip,
    w: &'a [f64],
    batch: &'a [usize],
    stages: Option<&'a Stages>,
}

impl Step<'_> {
    fn run<T: Real>(&self, table: &dyn Fills<T>, work: &mut Work<T>, into: &mut [f64]) {
        let shape = ModelSize::new(self.problem);
        work.prepare(shape, self.w, true, self.batch.len());
        let (first, second) = into.split_at_mut(shape.on_features() * shape.features);
        let InUse { weights, slabs, sums, .. } = work.in_use();
        self.pass(weights, T::SINGLE && self.single()).units(table, self.batch, slabs, sums);
        let groups = Groups::new(shape.on_features());
        let d = shape.features;
        let sums = work.sums();
        in_parts(first, groups.size() * d, &|g, into| {
            groups.unpack(sums.iter().map(|sums| &sums.on_x[..]), g, d, into);
        });
        work.finish(second);
        self.odd_rows(work.odd(), into);
    }

    fn run_sparse(&self, table: &Csr, work: &mut Work<f64>, into: &mut [f64]) {
        let shape = ModelSize::new(self.problem);
        let groups = Groups::new(shape.on_features());
        let d = shape.features;
        work.prepare(shape, self.w, false, self.batch.len());
        let (first, second) = into.split_at_mut(shape.on_features() * d);
        first.fill(0.0);
        let span = sparse_span(self.batch.len());
        let mut since = 0;
        let InUse { weights, slabs, sums, on_sparse } = work.in_use();
        on_sparse.clear();
        on_sparse.resize(shape.on_features() * d, 0.0);
        let pass = self.pass(weights, false);
        let (slab, on_units) = (&mut slabs[0], &mut sums[0].on_units);
        pass.slabs(table, self.batch, slab, on_units, &mut |slab, blocks, _| {
            in_parts(on_sparse, d, &|k, sum| {
                for (i, &row) in slab.iter().enumerate() {
                    let c = blocks[i / BLOCK].on_x.double[groups.place(i % BLOCK, k)];
                    if c != 0.0 {
                        let (indices, values) = table.row(row);
                        sparse::add_scaled(indices, values, c, sum);
                    }
                }
            });
            since += slab.len();
            if since >= span {
                add_and_clear(first, on_sparse);
                since = 0;
            }
        });
        add_and_clear(first, on_sparse);
        work.finish(second);
        self.odd_rows(work.odd(), into);
    }

    /// Whether this step's sums are begun in single precision.
    fn single(&self) -> bool {
        let most = single_batch(self.problem, self.rate);
        most.is_some_and(|most| self.total as f64 <= most) && SINGLE.0.contains(&self.clip.size)
    }

    /// The largest norm of a row that needs no special care, from public facts alone.
    fn largest(&self) -> f64 {
        let may_be_single = single_batch(self.problem, self.rate).is_some();
        if may_be_single && SINGLE.0.contains(&self.clip.size) { SINGLE.1 } else { ORDINARY }
    }

    /// The settings that all blocks share.
    fn pass<'a, T>(&'a self, weights: &'a Weights<T>, single: bool) -> ClippedPass<'a, T> {
        ClippedPass {
            shape: ModelSize::new(self.problem),
            single,
            largest: self.largest(),
            head: LossHead::new(self.problem),
            limit: self.clip.size * (1.0 - MARGIN),
            labels: self.rows.labels(),
            norms: self.norms,
            w: self.w,
            weights,
            stages: self.stages,
        }
    }

    /// Adds the rows that the fast way left out.
    fn odd_rows(&self, odd: impl Iterator<Item = usize> + Clone, into: &mut [f64]) {
        if odd.clone().next().is_some() {
            careful::add(self.rows, self.problem, odd, self.clip.own, self.w, into);
        }
    }
}

/// Sparse rows that are added up before their sum is added to the total: at most sixteen such
/// additions, because each costs as much as there are weights.
fn sparse_span(batch: usize) -> usize {
    batch.div_ceil(16).max(4096)
}

fn add_and_clear(into: &mut [f64], sums: &mut [f64]) {
    const PART: usize = 1 << 14;
    in_parts(into, PART, &|i, into| {
        for (into, sum) in into.iter_mut().zip(&sums[i * PART..]) {
            *into += *sum;
        }
    });
    in_parts(sums, PART, &|_, sums| sums.fill(0.0));
}
