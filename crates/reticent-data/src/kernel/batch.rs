//! The clipped gradient sum over a batch of rows: the inner loop of methods that add noise in every
//! step.
//!
//! # Contribution of one row
//!
//! A row's gradient `g` enters as `g·min(1, clip/‖g‖)`. For a linear loss `‖g‖ = |slope|·‖x‖`, so a
//! row's gradient is never written to memory. For any weights, NaN among them, a row adds a vector
//! of norm at most `clip`, up to the rounding that [`depth`] and the header of its callers speak
//! of.
//!
//! # Order of summation
//!
//! Rows are added in the order of the batch, in blocks of [`BLOCK`]: a row passes through at most
//! `BLOCK + ⌈rows/BLOCK⌉` additions, and where rows are streamed through some more ([`depth`]). One
//! thread does it; a batch is small.

mod four;

use reticent_problem::Loss;

use super::layout::by_layout;
use super::{BLOCK, Derivative, MERGES, dense, sparse};
use crate::feature_map::Mapped;
use crate::{Csr, Dense, Features, Rows};

/// The longest chain of additions that a row's contribution passes through in a batch of up to
/// `rows` rows, streamed or not.
pub(crate) fn depth(rows: usize) -> usize {
    rows.min(BLOCK) + rows.div_ceil(BLOCK) + MERGES
}

/// Numbers of scratch that [`sum`] needs for a batch of this size: one block's sum, and the
/// residual of one row. None for a linear loss on up to a block of rows that are there to be read.
pub(crate) fn scratch_len(rows: &Rows, loss: Loss, batch: usize, weights: usize) -> usize {
    match (loss.outputs(), rows.features()) {
        (1, Features::F32(_) | Features::F64(_) | Features::Sparse(_)) if batch <= BLOCK => 0,
        (1, _) => weights,
        (classes, _) => weights + classes,
    }
}

/// The most that a sum of squares may have lost to underflow, at most `2^-1074` for each of up to
/// `2^40` entries.
const LOST: f64 = f64::from_bits(1 << 40);
/// A sum of squares above this has lost nothing that counts.
const WHOLE: f64 = 1e-290;

/// A loss's settings beside the loss: the slope of a linear loss is clamped to `±limit`, then
/// gradients to `clip`.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) limit: f64,
    pub(crate) clip: f64,
}

impl Bounds {
    /// A slope held to `±limit` and so that the gradient `c x` of a row with `‖x‖² = square > 0` is
    /// at most `clip` long.
    #[inline(always)]
    fn within(self, c: f64, square: f64) -> f64 {
        if self.short(c, square) { c } else { self.clipped(c, square) }
    }

    /// Whether `c` is within both bounds beyond doubt, so that [`Self::clipped`] would give `c`:
    /// seen without a root or a quotient.
    ///
    /// Squares are compared, with room for their rounding; one that may have lost digits to
    /// underflow decides nothing.
    #[allow(clippy::needless_bitwise_bool, reason = "one branch, which is guessed right")]
    #[inline(always)]
    fn short(self, c: f64, square: f64) -> bool {
        let most = self.clip * self.clip * (1.0 - 1e-12);
        let known = (c * c >= f64::MIN_POSITIVE) | (c == 0.0);
        let known = known & (square > WHOLE) & (most >= f64::MIN_POSITIVE);
        (c.abs() <= self.limit) & (c * c * square < most) & known
    }

    /// `c` held to `±limit` and `±clip/‖x‖`; NaN becomes zero, so that nothing ever adds more. A
    /// quotient that has lost digits to underflow may be twice too large, and counts as zero.
    #[inline(always)]
    fn clipped(self, c: f64, square: f64) -> f64 {
        let most = self.clip / (square + LOST).sqrt();
        let most = if most >= f64::MIN_POSITIVE { most.min(self.limit) } else { 0.0 };
        if c.is_nan() { 0.0 } else { c.max(-most).min(most) }
    }
}

/// `into = Σ_{i in batch} clip(∇ℓ(w; xᵢ, yᵢ))`, with as much scratch as [`scratch_len`] says.
///
/// Inlined down to the kernels: for one short row, what calls hand to each other in memory costs as
/// much as the row.
#[inline(always)]
pub(crate) fn sum(
    rows: &Rows,
    loss: Loss,
    bounds: Bounds,
    batch: &[usize],
    w: &[f64],
    into: &mut [f64],
    scratch: &mut [f64],
) {
    let derivative = Derivative::new(loss, bounds.limit);
    let pass = BatchPass { labels: rows.labels(), derivative, bounds, batch, w, into, scratch };
    by_layout!(rows.features(), x => if derivative.outputs() == 1 {
        Layout::linear(x, pass);
    } else {
        Layout::multi(x, pass);
    });
}

/// [`sum`] for those to whom a call is nothing: each place that it is inlined into holds all its
/// kernels once more.
#[inline(never)]
pub(crate) fn sum_called(
    rows: &Rows,
    loss: Loss,
    bounds: Bounds,
    batch: &[usize],
    w: &[f64],
    into: &mut [f64],
    scratch: &mut [f64],
) {
    sum(rows, loss, bounds, batch, w, into, scratch);
}

/// One sum over a batch.
struct BatchPass<'a> {
    labels: &'a [f64],
    derivative: Derivative,
    bounds: Bounds,
    batch: &'a [usize],
    w: &'a [f64],
    into: &'a mut [f64],
    scratch: &'a mut [f64],
}

/// A row that can be multiplied with weights and added to a sum.
trait BatchRow {
    /// `⟨w, x⟩`.
    fn dot(&self, w: &[f64]) -> f64;
    /// `‖x‖²`.
    fn square(&self) -> f64;
    /// Both at once: the sums do not wait for each other.
    fn dot_and_square(&self, w: &[f64]) -> (f64, f64);
    /// `sum += c x`.
    fn add_scaled(&self, c: f64, sum: &mut [f64]);
}

impl<T: dense::Element> BatchRow for &[T] {
    #[inline(always)]
    fn dot(&self, w: &[f64]) -> f64 {
        let [m] = dense::dots([*self], w);
        m
    }

    #[inline(always)]
    fn square(&self) -> f64 {
        dense::square(self)
    }

    #[inline(always)]
    fn dot_and_square(&self, w: &[f64]) -> (f64, f64) {
        dense::dot_and_square(self, w)
    }

    #[inline(always)]
    fn add_scaled(&self, c: f64, sum: &mut [f64]) {
        dense::add_scaled([*self], [c], sum);
    }
}

impl BatchRow for (&[u32], &[f64]) {
    #[inline(always)]
    fn dot(&self, w: &[f64]) -> f64 {
        sparse::dot(self.0, self.1, w)
    }

    #[inline(always)]
    fn square(&self) -> f64 {
        self.1.iter().fold(0.0, |sum, v| v.mul_add(*v, sum))
    }

    #[inline(always)]
    fn dot_and_square(&self, w: &[f64]) -> (f64, f64) {
        let (mut dot, mut square) = (0.0, 0.0);
        for (&j, &v) in self.0.iter().zip(self.1) {
            dot = v.mul_add(w[j as usize], dot);
            square = v.mul_add(v, square);
        }
        (dot, square)
    }

    #[inline(always)]
    fn add_scaled(&self, c: f64, sum: &mut [f64]) {
        sparse::add_scaled(self.0, self.1, c, sum);
    }
}

/// Sums over a batch of rows in each layout.
trait Layout {
    /// For a loss with one margin.
    fn linear(&self, pass: BatchPass<'_>);
    /// For a loss with several.
    fn multi(&self, pass: BatchPass<'_>);
}

impl<T: dense::Element> Layout for Dense<T> {
    #[inline(always)]
    fn linear(&self, pass: BatchPass<'_>) {
        four::sum(self, pass);
    }

    fn multi(&self, pass: BatchPass<'_>) {
        multi(|i| self.row(i), pass);
    }
}

impl Layout for Csr {
    fn linear(&self, pass: BatchPass<'_>) {
        let BatchPass { labels, derivative, bounds, batch, w, into, scratch } = pass;
        blocks(
            batch,
            into,
            scratch,
            #[inline(always)]
            |i, sum| add_linear(&self.row(i), labels[i], derivative, bounds, w, sum),
        );
    }

    fn multi(&self, pass: BatchPass<'_>) {
        multi(|i| self.row(i), pass);
    }
}

impl Layout for Mapped {
    fn linear(&self, pass: BatchPass<'_>) {
        let BatchPass { labels, derivative, bounds, batch, w, into, scratch } = pass;
        mapped(
            self,
            batch,
            into,
            scratch,
            #[inline(always)]
            |i, x, sum| add_linear(&x, labels[i], derivative, bounds, w, sum),
        );
    }

    fn multi(&self, pass: BatchPass<'_>) {
        let BatchPass { labels, derivative, bounds, batch, w, into, scratch } = pass;
        let (block, residual) = scratch.split_at_mut(into.len());
        mapped(
            self,
            batch,
            into,
            block,
            #[inline(always)]
            |i, x, sum| add_multi(&x, labels[i], derivative, bounds, w, sum, residual),
        );
    }
}

/// Adds one row's clipped gradient.
#[inline(always)]
fn add_linear(
    x: &impl BatchRow,
    label: f64,
    derivative: Derivative,
    bounds: Bounds,
    w: &[f64],
    sum: &mut [f64],
) {
    let (margin, square) = x.dot_and_square(w);
    if square > 0.0 {
        let c = bounds.within(derivative.slope(margin, label), square);
        x.add_scaled(c, sum);
    }
}

fn multi<R: BatchRow>(row: impl Fn(usize) -> R, pass: BatchPass<'_>) {
    let BatchPass { labels, derivative, bounds, batch, w, into, scratch } = pass;
    let (block, residual) = scratch.split_at_mut(into.len());
    blocks(
        batch,
        into,
        block,
        #[inline(always)]
        |i, sum| add_multi(&row(i), labels[i], derivative, bounds, w, sum, residual),
    );
}

/// Adds one row's clipped gradient.
#[inline(always)]
fn add_multi(
    x: &impl BatchRow,
    label: f64,
    derivative: Derivative,
    bounds: Bounds,
    w: &[f64],
    sum: &mut [f64],
    residual: &mut [f64],
) {
    let residual = &mut residual[..derivative.outputs()];
    let d = w.len() / residual.len();
    for (m, w) in residual.iter_mut().zip(w.chunks_exact(d)) {
        *m = x.dot(w);
    }
    derivative.of_block(residual, &[label]);
    let (of_residual, of_row) = (residual.iter().fold(0.0, |s, r| r.mul_add(*r, s)), x.square());
    let square = (of_residual + LOST) * (of_row + LOST);
    // Nothing to add, or weights that are no numbers: such a row adds nothing.
    if of_residual > 0.0 && of_row > 0.0 && square.is_finite() {
        let scale = (bounds.clip / square.sqrt()).min(1.0);
        for (r, sum) in residual.iter().zip(sum.chunks_exact_mut(d)) {
            x.add_scaled(scale * r, sum);
        }
    }
}

/// Runs `add(row, sum)` over the batch, a block's sum at a time.
fn blocks(
    batch: &[usize],
    into: &mut [f64],
    block: &mut [f64],
    mut add: impl FnMut(usize, &mut [f64]),
) {
    into.fill(0.0);
    pulp::Arch::new().dispatch(
        #[inline(always)]
        move || {
            // Moved out of the closure, which makes it one that is called once: any other kind is
            // called through a function of its own, compiled without the wide registers.
            let (into, block) = (into, block);
            if batch.len() <= BLOCK {
                for &i in batch {
                    add(i, into);
                }
                return;
            }
            for part in batch.chunks(BLOCK) {
                block.fill(0.0);
                for &i in part {
                    add(i, block);
                }
                for (total, b) in into.iter_mut().zip(block.iter()) {
                    *total += *b;
                }
            }
        },
    );
}

/// Runs `add(row's number, features, sum)` over the batch, a block's sum at a time, with features
/// as they are computed.
fn mapped(
    x: &Mapped,
    batch: &[usize],
    into: &mut [f64],
    block: &mut [f64],
    mut add: impl FnMut(usize, &[f32], &mut [f64]),
) {
    into.fill(0.0);
    for part in batch.chunks(BLOCK) {
        block.fill(0.0);
        x.blocks_together(part.iter().copied(), |rows, x| {
            let (add, block) = (&mut add, &mut *block);
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || {
                    let (add, block) = (add, block); // moved in, as above
                    for (r, &i) in rows.iter().enumerate() {
                        add(i, x.row(r), block);
                    }
                },
            );
        });
        for (total, b) in into.iter_mut().zip(block.iter()) {
            *total += *b;
        }
    }
}
