//! A block of rows: from features to clipped residuals.
//!
//! The gradient of a linear model is `r ⊗ x` with the residual `r = ∂ℓ/∂margins`, so its norm is
//! `‖r‖·‖x‖`. With a layer of tanh units `h` in between it consists of `r ⊗ (h, 1)` and `q ⊗ x`
//! with `q = (Vᵀr)(1 − h²)`, so its squared norm is `‖r‖²(‖h‖² + 1) + ‖q‖²‖x‖²`. No gradient is
//! written out: a row is clipped by scaling its residuals.

use std::hint::black_box;

use reticent_problem::Problem;

use super::outer::Groups;
use super::product::Packed;
use super::real::{BLOCK, Real};
use super::stages::{Stages, Watch};
use super::tiles::{ROWS, Tiles};
use super::vectors::Vectors;
use super::wide::Wide;
use super::{LossHead, ORDINARY};
use crate::feature_map::Mapped;
use crate::kernel::dense::Element;
use crate::{Csr, Dense};

/// The sizes of a model.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct ModelSize {
    /// Features of a row.
    pub(super) features: usize,
    /// Margins of a row.
    pub(super) outputs: usize,
    /// Units between them.
    pub(super) hidden: Option<usize>,
}

impl ModelSize {
    pub(super) fn new(problem: &Problem) -> Self {
        let outputs = problem.loss.outputs();
        Self { features: problem.features, outputs, hidden: problem.hidden }
    }

    /// Residuals that are multiplied with the features.
    pub(super) fn on_features(self) -> usize {
        self.hidden.unwrap_or(self.outputs)
    }
}

/// The weights of a step, as the products want them.
#[derive(Default)]
pub(super) struct Weights<T> {
    /// A vector of features for each margin or unit.
    pub(super) first: Packed<T>,
    /// A vector of units, and a constant, for each margin.
    second: Packed<T>,
    /// The same without the constants, transposed: a vector of margins for each unit.
    back: Packed<T>,
}

impl<T: Real> Weights<T> {
    /// Takes the weights of a step over. `dense` says whether the features are.
    pub(super) fn set(&mut self, shape: ModelSize, w: &[f64], dense: bool) {
        let ModelSize { features, outputs, .. } = shape;
        let (first, second) = w.split_at(shape.on_features() * features);
        if dense {
            self.first.set(shape.on_features(), features, Vectors::Rows(first, features));
        }
        let Some(width) = shape.hidden else { return };
        self.second.set(outputs, width + 1, Vectors::Rows(second, width + 1));
        self.back.set(width, outputs, Vectors::Columns(second, width + 1));
    }
}

/// Where the features of a row are.
pub(super) trait BlockTable<T>: Sync {
    /// The margins of a block's rows by the first layer; rows that are not `usable` count as zero.
    #[allow(clippy::too_many_arguments, reason = "each is another thing")]
    fn margins(
        &self,
        wide: impl Wide,
        rows: &[usize],
        usable: &[bool; BLOCK],
        pass: &ClippedPass<'_, T>,
        x: &mut Tiles<T>,
        out: &mut [T],
        watch: &mut Watch<'_>,
    );
}

impl<T: Real> BlockTable<T> for Dense<T> {
    #[inline(always)]
    fn margins(
        &self,
        wide: impl Wide,
        rows: &[usize],
        usable: &[bool; BLOCK],
        pass: &ClippedPass<'_, T>,
        x: &mut Tiles<T>,
        out: &mut [T],
        watch: &mut Watch<'_>,
    ) {
        touch(self, rows);
        for first in (0..x.height()).step_by(ROWS) {
            if let Some(&[a, b, c, d]) = rows.get(first..first + ROWS)
                && usable[first..first + ROWS] == [true; ROWS]
            {
                x.pack_four([self.row(a), self.row(b), self.row(c), self.row(d)], first);
                continue;
            }
            for (i, &usable) in (first..).zip(&usable[first..first + ROWS]) {
                match rows.get(i) {
                    Some(&row) if usable => x.pack(self.row(row), i),
                    _ => x.clear(i),
                }
            }
        }
        watch.lap(|s| &s.gather);
        pass.weights.first.product(wide, x, out);
        watch.lap(|s| &s.products);
    }
}

/// Asks for a few numbers of every row before any is copied: pages far apart are found at the same
/// time, not one after the other.
#[inline(always)]
fn touch<T: Real>(table: &Dense<T>, rows: &[usize]) {
    let mut sum = T::ZERO;
    for &row in rows {
        let row = table.row(row);
        if let [first, .., last] = row {
            sum = sum.plus(*first).plus(row[row.len() / 2]).plus(*last);
        }
    }
    black_box(sum);
}

impl BlockTable<f32> for Mapped {
    #[inline(always)]
    fn margins(
        &self,
        wide: impl Wide,
        rows: &[usize],
        usable: &[bool; BLOCK],
        pass: &ClippedPass<'_, f32>,
        x: &mut Tiles<f32>,
        out: &mut [f32],
        watch: &mut Watch<'_>,
    ) {
        let mut i = 0;
        self.blocks(rows.iter().copied(), |numbers, features| {
            for r in 0..numbers.len() {
                if usable[i] {
                    x.pack(features.row(r), i);
                } else {
                    x.clear(i);
                }
                i += 1;
            }
        });
        (i..x.height()).for_each(|i| x.clear(i));
        watch.lap(|s| &s.gather);
        pass.weights.first.product(wide, x, out);
        watch.lap(|s| &s.products);
    }
}

impl BlockTable<f64> for Csr {
    #[inline(always)]
    fn margins(
        &self,
        _: impl Wide,
        rows: &[usize],
        usable: &[bool; BLOCK],
        pass: &ClippedPass<'_, f64>,
        _: &mut Tiles<f64>,
        out: &mut [f64],
        watch: &mut Watch<'_>,
    ) {
        let first = pass.shape.on_features();
        out.fill(0.0);
        for (i, (&row, out)) in rows.iter().zip(out.chunks_exact_mut(first)).enumerate() {
            if usable[i] {
                let (indices, values) = self.row(row);
                for (w, out) in pass.w.chunks_exact(self.columns()).zip(out) {
                    *out = crate::kernel::sparse::dot(indices, values, w);
                }
            }
        }
        watch.lap(|s| &s.products);
    }
}

/// The settings that all blocks of a step share.
pub(super) struct ClippedPass<'a, T> {
    pub(super) shape: ModelSize,
    pub(super) head: LossHead,
    /// Whether sums are begun in single precision.
    pub(super) single: bool,
    /// Rows with a longer norm are added one by one. Public: were it to follow the batch's own
    /// length, one row more could change how every other is computed.
    pub(super) largest: f64,
    /// The clip norm, less the margin.
    pub(super) limit: f64,
    pub(super) labels: &'a [f64],
    /// The size of every row of the table: `‖x‖`, or `‖Px‖` where they are shortened.
    pub(super) norms: &'a [f64],
    pub(super) w: &'a [f64],
    pub(super) weights: &'a Weights<T>,
    pub(super) stages: Option<&'a Stages>,
}

/// Facts about the rows of a block, fetched together: far apart in memory, none has to wait for
/// another.
#[derive(Default)]
pub(super) struct Facts {
    usable: [bool; BLOCK],
    norms: [f64; BLOCK],
    labels: [f64; BLOCK],
}

/// The clipped residuals of a block, in the precision of the step.
pub(super) struct Residuals {
    pub(super) double: Vec<f64>,
    pub(super) single: Vec<f32>,
}

/// The least factor that is applied in single precision: far above what is subnormal there.
const LEAST_SINGLE: f64 = 1e-30;

impl Residuals {
    fn new(groups: Groups) -> Self {
        let len = groups.block_len();
        Self { double: vec![0.0; len], single: vec![0.0; len] }
    }

    /// Writes a row's residuals times `factor`, zeros for an odd row.
    #[inline(always)]
    fn set<T: Element>(
        &mut self,
        residual: &[T],
        factor: f64,
        i: usize,
        groups: Groups,
        single: bool,
    ) {
        let live = factor > 0.0;
        if single && factor >= LEAST_SINGLE {
            let factor = factor as f32;
            groups.spread(residual, i, &mut self.single, |r| r.wide() as f32 * factor);
        } else if single {
            let scaled = |r: T| if live { (r.wide() * factor) as f32 } else { 0.0 };
            groups.spread(residual, i, &mut self.single, scaled);
        } else {
            let scaled = |r: T| if live { r.wide() * factor } else { 0.0 };
            groups.spread(residual, i, &mut self.double, scaled);
        }
    }
}

/// The factors of a block's products. A value and not a closure, so that the products are compiled
/// once for all tables.
#[derive(Clone, Copy)]
pub(super) enum Factors {
    /// Rows of features with their residuals.
    Features,
    /// Rows of hidden units with theirs.
    Units,
}

impl Factors {
    #[inline(always)]
    pub(super) fn of<T>(self, block: &Block<T>) -> (&Tiles<T>, &Residuals) {
        match self {
            Self::Features => (&block.x, &block.on_x),
            Self::Units => (&block.units, &block.on_units),
        }
    }
}

/// The intermediate results of a block of rows, for the sums.
pub(super) struct Block<T> {
    /// The features.
    pub(super) x: Tiles<T>,
    /// The units and the constant.
    pub(super) units: Tiles<T>,
    /// Clipped residuals, to be multiplied with the features.
    pub(super) on_x: Residuals,
    /// Clipped residuals, to be multiplied with the units.
    pub(super) on_units: Residuals,
    /// Rows to be done in another way.
    pub(super) odd: [bool; BLOCK],
    groups: [Groups; 2],
    margins: Vec<T>,
    activations: Vec<T>,
    residuals: Tiles<T>,
}

impl<T: Real> Block<T> {
    /// Room for a block. Only the last columns of what is not written by every pass must be zero,
    /// and they are.
    pub(super) fn new(shape: ModelSize, dense: bool) -> Self {
        let width = shape.hidden.unwrap_or(0);
        let groups = [Groups::new(shape.on_features()), Groups::new(shape.outputs)];
        let net = |size: usize| if width > 0 { size } else { 0 };
        Self {
            x: Tiles::new(if dense { shape.features } else { 0 }),
            units: Tiles::new(net(width + 1)),
            on_x: Residuals::new(groups[0]),
            on_units: Residuals::new(groups[1]),
            odd: [false; BLOCK],
            groups,
            margins: vec![T::ZERO; BLOCK * shape.outputs],
            activations: vec![T::ZERO; BLOCK * width],
            residuals: Tiles::new(net(shape.outputs)),
        }
    }

    /// Makes room for `rows` and gives what is known of them.
    pub(super) fn begin(&mut self, rows: &[usize], pass: &ClippedPass<'_, T>) -> Facts {
        let mut facts = Facts::default();
        self.odd = [false; BLOCK];
        for tiles in [&mut self.x, &mut self.units, &mut self.residuals] {
            tiles.hold(rows.len());
        }
        for (i, &row) in rows.iter().enumerate() {
            facts.norms[i] = pass.norms[row];
            facts.labels[i] = pass.labels[row];
            facts.usable[i] = facts.norms[i] <= pass.largest;
            self.odd[i] = !facts.usable[i];
        }
        facts
    }

    /// Computes the margins by the first layer: all that depends on where the features are.
    #[inline(always)]
    pub(super) fn margins(
        &mut self,
        wide: impl Wide,
        rows: &[usize],
        facts: &Facts,
        table: &impl BlockTable<T>,
        pass: &ClippedPass<'_, T>,
        watch: &mut Watch<'_>,
    ) {
        let out =
            if pass.shape.hidden.is_none() { &mut self.margins } else { &mut self.activations };
        table.margins(wide, rows, &facts.usable, pass, &mut self.x, out, watch);
    }

    /// Turns the margins by the first layer into clipped residuals.
    #[inline(always)]
    pub(super) fn clip(
        &mut self,
        wide: impl Wide,
        rows: &[usize],
        facts: &Facts,
        pass: &ClippedPass<'_, T>,
        watch: &mut Watch<'_>,
    ) {
        match pass.shape.hidden {
            None => self.linear(facts, pass),
            Some(width) => self.network(wide, width, rows, facts, pass, watch),
        }
        watch.lap(|s| &s.clip);
    }

    #[inline(always)]
    fn linear(&mut self, facts: &Facts, pass: &ClippedPass<'_, T>) {
        let Facts { usable, norms, labels } = facts;
        let outputs = pass.shape.outputs;
        let margins = &mut self.margins[..self.x.height() * outputs];
        pass.head.residuals(margins, labels);
        // All sizes first: none of the steps that follow has to wait for a sum and its root.
        let mut sizes = [0.0; BLOCK];
        for (size, residual) in sizes.iter_mut().zip(margins.chunks_exact(outputs)) {
            *size = norm(residual);
        }
        for (i, residual) in margins.chunks_exact(outputs).enumerate() {
            let mut factor = 0.0;
            if usable[i] {
                factor = pass.factor(sizes[i], sizes[i] * norms[i]);
                self.odd[i] = factor.is_nan();
            }
            self.on_x.set(residual, factor, i, self.groups[0], pass.single);
        }
    }

    #[inline(always)]
    fn network(
        &mut self,
        wide: impl Wide,
        width: usize,
        rows: &[usize],
        facts: &Facts,
        pass: &ClippedPass<'_, T>,
        watch: &mut Watch<'_>,
    ) {
        let Facts { usable, norms, labels } = facts;
        let ModelSize { outputs, .. } = pass.shape;
        let height = self.x.height();
        let activations = &mut self.activations[..height * width];
        for (i, units) in activations.chunks_exact_mut(width).enumerate() {
            for (u, unit) in units.iter_mut().enumerate() {
                *unit = unit.tanh();
                *self.units.at(i, u) = *unit;
            }
            *self.units.at(i, width) = T::narrow(1.0);
        }
        watch.lap(|s| &s.clip);
        pass.weights.second.product(wide, &self.units, &mut self.margins);
        watch.lap(|s| &s.products);
        let margins = &mut self.margins[..height * outputs];
        pass.head.residuals(margins, labels);
        for (i, residual) in margins.chunks_exact(outputs).enumerate() {
            for (k, r) in residual.iter().enumerate() {
                *self.residuals.at(i, k) = *r;
            }
        }
        let mut sizes = [0.0; BLOCK];
        for (units, size) in activations.chunks_exact(width).zip(&mut sizes) {
            *size = (square(units) + 1.0).sqrt();
        }
        let mut deltas = std::mem::take(&mut self.activations);
        let units = &mut self.units;
        watch.lap(|s| &s.clip);
        pass.weights.back.product(wide, &self.residuals, &mut deltas);
        watch.lap(|s| &s.products);
        for (i, deltas) in deltas[..height * width].chunks_exact_mut(width).enumerate() {
            for (u, delta) in deltas.iter_mut().enumerate() {
                let unit = units.at(i, u).wide();
                *delta = T::narrow(delta.wide() * (1.0 - unit * unit));
            }
            let residual = &self.margins[i * outputs..(i + 1) * outputs];
            let mut factor = 0.0;
            if usable[i] {
                let (above, below) = (norm(residual), norm(deltas));
                let whole = (above * sizes[i]).hypot(below * norms[i]);
                factor = pass.factor(above.max(below), whole);
                self.odd[i] = factor.is_nan();
            }
            self.on_x.set(deltas, factor, i, self.groups[0], pass.single);
            self.on_units.set(residual, factor, i, self.groups[1], pass.single);
        }
        self.activations = deltas;
        for i in 0..height {
            if self.odd[i] || i >= rows.len() {
                self.units.clear(i); // zero times what is not finite is not zero
            }
        }
    }
}

impl<T> ClippedPass<'_, T> {
    /// By what a row's residuals are scaled, given their size and the norm of the gradient; NaN for
    /// an odd row.
    #[inline(always)]
    fn factor(&self, size: f64, norm: f64) -> f64 {
        if size.is_nan() || size > ORDINARY {
            f64::NAN
        } else if norm <= self.limit {
            1.0
        } else {
            self.limit / norm
        }
    }
}

#[inline(always)]
pub(super) fn square<T: Element>(values: &[T]) -> f64 {
    let (chunks, rest) = values.as_chunks::<16>();
    if chunks.is_empty() {
        return square_of_few(rest);
    }
    let mut lanes = [0.0; 16];
    for chunk in chunks {
        for l in 0..16 {
            lanes[l] = chunk[l].wide().mul_add(chunk[l].wide(), lanes[l]);
        }
    }
    for half in [8, 4, 2, 1] {
        for l in 0..half {
            lanes[l] += lanes[l + half];
        }
    }
    // Added to the total and not to some lanes: these would have to go by way of memory.
    lanes[0] + square_of_few(rest)
}

#[inline(always)]
fn square_of_few<T: Element>(values: &[T]) -> f64 {
    let (chunks, rest) = values.as_chunks::<4>();
    let (mut lanes, mut last) = ([0.0; 4], 0.0);
    for chunk in chunks {
        for l in 0..4 {
            lanes[l] = chunk[l].wide().mul_add(chunk[l].wide(), lanes[l]);
        }
    }
    for v in rest {
        last = v.wide().mul_add(v.wide(), last);
    }
    ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + last
}

/// The l2 norm, if the squares stay within range; infinite or NaN otherwise.
#[inline(always)]
pub(super) fn norm<T: Element>(values: &[T]) -> f64 {
    square(values).sqrt()
}
