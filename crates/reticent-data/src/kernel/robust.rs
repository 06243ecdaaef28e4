//! Sums of gradients of rows that nothing bounds: long ones are left out, or each entry is clipped.
//!
//! A row's gradient is `c ⊗ x` with one coefficient for each output (the slope of a linear loss,
//! the residual of softmax), so its `l_q` norm is `‖c‖_q ‖x‖_q` and no row's gradient is written to
//! memory.
//!
//! # Bound on a row's contribution
//!
//! - [`RobustRule::Truncate`]: a gradient counts if its computed norm, enlarged by more than what
//!   rounding can take from it, is at most the threshold; so its exact norm is, too.
//!   One that is not finite does not count, nor does one too small for its norm to be rounded
//!   relatively ([`LEAST`]). With a grid, each entry is rounded to it before it is added, so that
//!   sums of grid points are exact in any order.
//! - [`RobustRule::ClipEntries`]: each entry is clipped; NaN counts as zero.

use std::ops::Range;

use reticent_problem::Problem;
use serde::{Deserialize, Serialize};

use super::dense::Element;
use super::layout::by_layout;
use super::{Derivative, Sums, dense, sparse, sum_chunks};
use crate::feature_map::Mapped;
use crate::{Csr, Dense, Rows};

/// Which rows are summed.
#[derive(Clone, Debug)]
pub enum Chosen<'a> {
    /// Consecutive ones.
    Block(Range<usize>),
    /// Those with these numbers.
    Listed(&'a [usize]),
}

impl Chosen<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::Block(range) => range.len(),
            Self::Listed(list) => list.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline(always)]
    pub(super) fn row(&self, i: usize) -> usize {
        match self {
            Self::Block(range) => range.start + i,
            Self::Listed(list) => list[i],
        }
    }
}

/// The rule for a row's gradient before it is added.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum RobustRule {
    /// It counts only if its `l_q` norm is at most `threshold`.
    Truncate {
        /// `2 ≤ q ≤ ∞`.
        q: f64,
        /// The largest norm that counts.
        threshold: f64,
        /// A power of two that each entry is rounded to a multiple of.
        grid: Option<f64>,
    },
    /// Each entry is clipped to `±bound`.
    ClipEntries {
        /// The largest entry.
        bound: f64,
    },
}

/// A row's features, whatever holds them.
pub(super) trait RobustRow: Copy {
    fn dot(self, w: &[f64]) -> f64;
    /// `‖x‖_q`, without overflow.
    fn norm(self, q: f64) -> f64;
    fn add_scaled(self, c: f64, sum: &mut [f64]);
    /// `sum_j += f(c x_j)` for the stored entries; `f(0)` must be zero.
    fn add_mapped(self, c: f64, f: impl Fn(f64) -> f64, sum: &mut [f64]);
}

impl<T: Element> RobustRow for &[T] {
    #[inline(always)]
    fn dot(self, w: &[f64]) -> f64 {
        let [m] = dense::dots([self], w);
        m
    }

    #[inline(always)]
    fn norm(self, q: f64) -> f64 {
        norm(self.iter().map(|x| x.wide()), q)
    }

    #[inline(always)]
    fn add_scaled(self, c: f64, sum: &mut [f64]) {
        dense::add_scaled([self], [c], sum);
    }

    #[inline(always)]
    fn add_mapped(self, c: f64, f: impl Fn(f64) -> f64, sum: &mut [f64]) {
        for (s, x) in sum.iter_mut().zip(self) {
            *s += f(c * x.wide());
        }
    }
}

impl RobustRow for (&[u32], &[f64]) {
    #[inline(always)]
    fn dot(self, w: &[f64]) -> f64 {
        sparse::dot(self.0, self.1, w)
    }

    #[inline(always)]
    fn norm(self, q: f64) -> f64 {
        norm(self.1.iter().copied(), q)
    }

    #[inline(always)]
    fn add_scaled(self, c: f64, sum: &mut [f64]) {
        sparse::add_scaled(self.0, self.1, c, sum);
    }

    #[inline(always)]
    fn add_mapped(self, c: f64, f: impl Fn(f64) -> f64, sum: &mut [f64]) {
        for (&j, &x) in self.0.iter().zip(self.1) {
            sum[j as usize] += f(c * x);
        }
    }
}

/// Entries that are all smaller than this, though not all zero, make a row that does not count.
/// Among subnormal numbers (below 2.3e-308) rounding is absolute, and a norm of a few units of
/// 5e-324 may come out a third too short; a large factor beside it would then carry the row past
/// the threshold. From here on the largest entry, its product with a root between 1 and `√d`, and
/// the quotients that matter to the sum are normal, so that [`slack`] covers every rounding. A row
/// that does not count adds zero, as a row may.
const LEAST: f64 = 1e-290;

/// `‖x‖_q`; infinite, so that nothing counts, where it is not finite or cannot be told.
#[inline(always)]
pub(super) fn norm(values: impl Iterator<Item = f64> + Clone, q: f64) -> f64 {
    let (mut largest, mut finite) = (0.0_f64, true);
    for x in values.clone() {
        largest = largest.max(x.abs());
        finite &= x.is_finite();
    }
    if !finite {
        return f64::INFINITY;
    }
    if largest == 0.0 || q == f64::INFINITY {
        return largest;
    }
    if largest < LEAST {
        return f64::INFINITY;
    }
    let mut sum = 0.0;
    if q == 2.0 {
        for x in values {
            sum += (x / largest) * (x / largest);
        }
        return largest * sum.sqrt();
    }
    for x in values {
        sum += (x.abs() / largest).powf(q);
    }
    largest * sum.powf(1.0 / q)
}

/// Rows by number, whatever holds them.
pub(super) trait RobustTable: Sync {
    type Row<'a>: RobustRow;
    /// Runs `to` on the rows with these numbers, in order.
    fn each(
        &self,
        rows: impl ExactSizeIterator<Item = usize>,
        to: impl FnMut(usize, Self::Row<'_>),
    );
    /// [`Self::each`] for one thread that has all others to help it.
    #[inline(always)]
    fn each_with_help(
        &self,
        rows: impl ExactSizeIterator<Item = usize>,
        to: impl FnMut(usize, Self::Row<'_>),
    ) {
        self.each(rows, to);
    }
}

impl<T: Element + 'static> RobustTable for Dense<T> {
    type Row<'a> = &'a [T];

    #[inline(always)]
    fn each(&self, rows: impl ExactSizeIterator<Item = usize>, mut to: impl FnMut(usize, &[T])) {
        for i in rows {
            to(i, self.row(i));
        }
    }
}

impl RobustTable for Csr {
    type Row<'a> = (&'a [u32], &'a [f64]);

    #[inline(always)]
    fn each(
        &self,
        rows: impl ExactSizeIterator<Item = usize>,
        mut to: impl for<'r> FnMut(usize, (&'r [u32], &'r [f64])),
    ) {
        for i in rows {
            to(i, self.row(i));
        }
    }
}

impl RobustTable for Mapped {
    type Row<'a> = &'a [f32];

    #[inline(always)]
    fn each(&self, rows: impl ExactSizeIterator<Item = usize>, mut to: impl FnMut(usize, &[f32])) {
        self.blocks(
            rows,
            #[inline(always)]
            |numbers, x| {
                for (r, &i) in numbers.iter().enumerate() {
                    to(i, x.row(r));
                }
            },
        );
    }

    #[inline(always)]
    fn each_with_help(
        &self,
        rows: impl ExactSizeIterator<Item = usize>,
        mut to: impl FnMut(usize, &[f32]),
    ) {
        self.blocks_together(
            rows,
            #[inline(always)]
            |numbers, x| {
                for (r, &i) in numbers.iter().enumerate() {
                    to(i, x.row(r));
                }
            },
        );
    }
}

/// The coefficients of a row's gradient, one for each output.
#[inline(always)]
pub(super) fn coefficients(
    row: impl RobustRow,
    label: f64,
    derivative: Derivative,
    w: &[f64],
    into: &mut [f64],
) {
    let d = w.len() / into.len();
    for (m, w) in into.iter_mut().zip(w.chunks_exact(d)) {
        *m = row.dot(w);
    }
    derivative.of_row(into, label);
}

/// Adds one row's gradient by the rule.
#[inline(always)]
fn add(row: impl RobustRow, coefficients: &[f64], rule: RobustRule, slack: f64, sum: &mut [f64]) {
    let d = sum.len() / coefficients.len();
    let blocks = coefficients.iter().zip(sum.chunks_exact_mut(d));
    match rule {
        RobustRule::Truncate { q, threshold, grid } => {
            let length = norm(coefficients.iter().copied(), q) * row.norm(q) * slack;
            // A norm that is no number fails the comparison too.
            if length <= threshold {
                for (&c, sum) in blocks {
                    match grid {
                        None => row.add_scaled(c, sum),
                        Some(grid) => {
                            row.add_mapped(c, |g| (g / grid).round_ties_even() * grid, sum);
                        }
                    }
                }
            }
        }
        RobustRule::ClipEntries { bound } => {
            let clip = |g: f64| if g.is_nan() { 0.0 } else { g.clamp(-bound, bound) };
            for (&c, sum) in blocks {
                row.add_mapped(c, clip, sum);
            }
        }
    }
}

/// More than a computed norm of `d` features and `K` coefficients can fall short of the exact one,
/// as a factor: each of the powers and sums rounds relatively, and a power of a rounded number by
/// at most as much again.
pub(super) fn slack(features: usize, outputs: usize) -> f64 {
    1.0 + (4 * (features + outputs) + 64) as f64 * f64::EPSILON
}

/// `into` = the sum over the chosen rows of their gradients at `w`, each changed by the rule.
pub(crate) fn sum(
    rows: &Rows,
    problem: &Problem,
    chosen: &Chosen<'_>,
    rule: RobustRule,
    w: &[f64],
    into: &mut [f64],
    scratch: &mut [f64],
) {
    let derivative = Derivative::of(problem);
    let pass = RobustPass { labels: rows.labels(), chosen, derivative, rule, w };
    by_layout!(rows.features(), x => sum_chunks(
        chosen.len(),
        into,
        scratch,
        #[inline(always)]
        |range, sums| pass.add(x, range, sums),
    ));
}

/// One sum.
struct RobustPass<'a> {
    labels: &'a [f64],
    chosen: &'a Chosen<'a>,
    derivative: Derivative,
    rule: RobustRule,
    w: &'a [f64],
}

impl RobustPass<'_> {
    /// Adds the chosen rows in `range`.
    #[inline(always)]
    fn add(&self, table: &impl RobustTable, range: Range<usize>, sums: &mut Sums<'_>) {
        let &Self { labels, chosen, derivative, rule, w } = self;
        let outputs = derivative.outputs();
        let slack = slack(w.len() / outputs, outputs);
        let mut c = vec![0.0; outputs];
        table.each(
            range.map(|i| chosen.row(i)),
            #[inline(always)]
            |i, row| {
                coefficients(row, labels[i], derivative, w, &mut c);
                add(row, &c, rule, slack, sums.block());
                sums.hold(1);
            },
        );
    }
}

/// One pass of single-row steps over `range`, in order: `w ← Proj(w − eta ∇ℓ(w; x))`, each new `w`
/// added to `sum`. `ℓ` is the row's loss times its weight, where rows have such.
pub(crate) fn pass(
    rows: &Rows,
    problem: &Problem,
    range: Range<usize>,
    eta: f64,
    w: &mut [f64],
    sum: &mut [f64],
) {
    let (labels, weights) = (rows.labels(), rows.weights());
    let steps = Steps { labels, weights, problem, range, eta, w, sum };
    by_layout!(rows.features(), x => steps.take(x));
}

/// Single-row steps.
struct Steps<'a> {
    labels: &'a [f64],
    weights: Option<&'a [f64]>,
    problem: &'a Problem,
    range: Range<usize>,
    eta: f64,
    w: &'a mut [f64],
    sum: &'a mut [f64],
}

impl Steps<'_> {
    fn take(self, table: &impl RobustTable) {
        let Self { labels, weights, problem, range, eta, w, sum } = self;
        let derivative = Derivative::of(problem);
        let mut c = vec![0.0; derivative.outputs()];
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                table.each_with_help(
                    range,
                    #[inline(always)]
                    |i, row| {
                        coefficients(row, labels[i], derivative, w, &mut c);
                        if let Some(weights) = weights {
                            for c in &mut c {
                                *c *= weights[i];
                            }
                        }
                        for (&c, w) in c.iter().zip(w.chunks_exact_mut(problem.features)) {
                            row.add_scaled(-eta * c, w);
                        }
                        problem.domain.project(w);
                        for (s, w) in sum.iter_mut().zip(w.iter()) {
                            *s += *w;
                        }
                    },
                );
            },
        );
    }
}
