//! The inner loops: sums of gradients over rows, and margins.
//!
//! # Order of summation
//!
//! The rows are cut into chunks whose number depends on the shape alone ([`chunks`]), each chunk
//! into blocks of [`BLOCK`] rows. A block sums its rows in a fixed order, a chunk its blocks in
//! order, and the chunks are added as a balanced tree. Threads only decide who computes a chunk, so
//! the sum has the same bits for any number of them.
//!
//! # Precision
//!
//! Features may be stored in single precision; every product and sum is in double precision, but
//! for clipped sums, whose noise pays for what they lose (`clipped`). The stability proofs compare
//! runs whose gradients differ by `1/n` of a row's, and single precision would drown that for large
//! `n`.

pub(crate) mod batch;
pub(crate) mod below;
pub(crate) mod clipped;
pub(crate) mod curvature;
pub(crate) mod dense;
mod derivative;
mod layout;
pub(crate) mod robust;
pub(crate) mod score;
mod sparse;
#[cfg(test)]
mod tests;
pub(crate) mod units;
pub(crate) mod walk;

use reticent_problem::Loss;

pub use clipped::{Stages, clip_rounding, shortened_rounding};
pub use score::second_layer;

use self::derivative::Derivative;
use self::layout::{Layout, by_layout};
use crate::feature_map::FeatureMap;
use crate::threads::in_parts;
use crate::{Features, Rows};

/// Rows summed into one accumulator before it is added to the chunk's.
pub(crate) const BLOCK: usize = 256;

/// How many chunks a table of `rows` rows with `weights` weights is cut into: at most 64, at most 4
/// Mi numbers of scratch.
pub(crate) fn chunks(rows: usize, weights: usize) -> usize {
    let by_memory = (1 << 22) / weights.max(1);
    rows.div_ceil(BLOCK).min(by_memory.clamp(2, 64)).max(1)
}

/// Additions through which the sum of a block of rows may still pass where the rows come in blocks:
/// two for each of up to 32 doublings.
pub(crate) const MERGES: usize = 64;

/// The longest chain of additions that a row's contribution passes through.
pub(crate) fn summation_depth(rows: usize, weights: usize) -> usize {
    let chunks = chunks(rows, weights);
    BLOCK + rows.div_ceil(chunks).div_ceil(BLOCK) + chunks.ilog2() as usize + 1 + MERGES
}

/// Scratch of a pass: for each chunk its sum and its block's sum.
pub(crate) fn scratch_len(rows: usize, weights: usize) -> usize {
    2 * weights * chunks(rows, weights)
}

/// `into = Σ_i ∇ℓ(w; xᵢ, yᵢ)`, the slope of a linear loss clamped to `±limit` and the residual of
/// one-hot to that length.
pub(crate) fn gradient_sum(
    rows: &Rows,
    loss: Loss,
    limit: f64,
    w: &[f64],
    into: &mut [f64],
    scratch: &mut [f64],
) {
    let (labels, derivative) = (rows.labels(), Derivative::new(loss, limit));
    by_layout!(rows.features(), x => sum_chunks(
        rows.len(),
        into,
        scratch,
        #[inline(always)]
        |range, sums| Layout::gradients(x, labels, w, range, derivative, sums),
    ));
}

/// `into = (Σ_i xᵢ, Σ_i xᵢ∘xᵢ, Σ_i yᵢ)`, with the scratch and in the order of [`gradient_sum`].
pub(crate) fn row_moments(rows: &Rows, into: &mut [f64], scratch: &mut [f64]) {
    let labels = rows.labels();
    by_layout!(rows.features(), x => sum_chunks(
        rows.len(),
        into,
        scratch,
        #[inline(always)]
        |range, sums| Layout::moments(x, labels, range, sums),
    ));
}

/// The two accumulators of a chunk.
pub(crate) struct Sums<'a> {
    chunk: &'a mut [f64],
    block: &'a mut [f64],
    /// Rows in the block.
    held: usize,
}

impl Sums<'_> {
    /// Counts rows that were added to the block, and closes it when it is full.
    #[inline(always)]
    pub(crate) fn hold(&mut self, rows: usize) {
        self.held += rows;
        if self.held >= BLOCK {
            self.close_block();
            self.held = 0;
        }
    }

    /// Adds the block's sum to the chunk's and clears it.
    #[inline(always)]
    fn close_block(&mut self) {
        for (c, b) in self.chunk.iter_mut().zip(self.block.iter_mut()) {
            *c += *b;
            *b = 0.0;
        }
    }

    /// The block's sum.
    #[inline(always)]
    pub(crate) fn block(&mut self) -> &mut [f64] {
        self.block
    }
}

/// Runs `chunk(range, sums)` for every chunk of rows, in parallel, and adds the chunks' sums in a
/// fixed order.
fn sum_chunks(
    rows: usize,
    into: &mut [f64],
    scratch: &mut [f64],
    chunk: impl Fn(std::ops::Range<usize>, &mut Sums<'_>) + Sync,
) {
    sum_chunks_with(rows, into, scratch, &|range, sums| {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || chunk(range, sums),
        );
    });
}

/// As [`sum_chunks`], compiled once: threads and the order of addition are the same for all
/// kernels, and one virtual call a chunk costs nothing beside the chunk.
fn sum_chunks_with(
    rows: usize,
    into: &mut [f64],
    scratch: &mut [f64],
    chunk: &(dyn Fn(std::ops::Range<usize>, &mut Sums<'_>) + Sync),
) {
    let weights = into.len();
    let count = chunks(rows, weights);
    let scratch = &mut scratch[..2 * weights * count];
    in_parts(scratch, 2 * weights, &|i, both| {
        both.fill(0.0);
        let (sum, block) = both.split_at_mut(weights);
        let mut sums = Sums { chunk: sum, block, held: 0 };
        let range = i * rows / count..(i + 1) * rows / count;
        chunk(range, &mut sums);
        sums.close_block();
    });
    let mut stride = 1;
    while stride < count {
        for i in (0..count - stride).step_by(2 * stride) {
            let (left, right) = scratch.split_at_mut(2 * weights * (i + stride));
            let left = &mut left[2 * weights * i..][..weights];
            for (l, r) in left.iter_mut().zip(&right[..weights]) {
                *l += *r;
            }
        }
        stride *= 2;
    }
    into.copy_from_slice(&scratch[..weights]);
}

/// The margins `⟨w_k, xᵢ⟩`, row after row, `outputs` for each row.
pub fn margins(features: &Features, w: &[f64], outputs: usize) -> Vec<f64> {
    let mut out = vec![0.0; features.rows() * outputs];
    let part = |i: usize, out: &mut [f64]| {
        let first = i * BLOCK;
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                let out = out; // moved in: only a closure that runs once is inlined here
                by_layout!(features, x => Layout::margins(x, w, first, outputs, out));
            },
        );
    };
    in_parts(&mut out, outputs * BLOCK, &part);
    out
}

/// The margins of the features that `map` makes of `inputs`, as [`margins`] gives them.
pub fn mapped_margins(map: &FeatureMap, inputs: &Features, w: &[f64], outputs: usize) -> Vec<f64> {
    let mut out = vec![0.0; inputs.rows() * outputs];
    let part = |i, out: &mut [f64]| map.margins(inputs, w, i * BLOCK, outputs, out);
    in_parts(&mut out, outputs * BLOCK, &part);
    out
}
