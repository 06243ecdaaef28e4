//! Random features of rows, block by block.
//!
//! A [`FeatureMap`] holds the frequencies of a [`MapLaw`] and writes the features of as many rows as fit a caller's buffer, so
//! memory never grows with the number of rows. Features of a row depend on the row and the law alone: neither the block nor
//! the number of threads changes a bit.
//!
//! # Norm
//!
//! Angles may be rounded as they like: a feature vector is made of points of the unit circle whatever the angle
//! (`trig`). Its norm is at most `κ(1 + 10⁻⁶)` in single and `κ(1 + 10⁻¹²)` in double precision, which
//! [`FeatureMap::norm`] states.
//!
//! # As a table
//!
//! [`Mapped`] is a table of features that are computed when they are looked at: every sum that an oracle can give for dense
//! rows it can give for these, with memory for a few rows of features in each thread.

#![allow(
    clippy::inline_always,
    reason = "only inlined code is compiled for the vector unit at hand"
)]

mod draw;
mod hadamard;
mod mapped;
mod matrix;
mod trig;

use std::f64::consts::TAU;
use std::ops::{Add, Mul, Range, Sub};

use rayon::prelude::*;
use reticent_problem::ProblemError;
use reticent_problem::feature_map::{Construction, Form, MapLaw};

use crate::kernel::dense::{self, Element};
use crate::{Dense, Features};

pub use draw::{laplace_kernel_frequency, matern_stretch};
pub use hadamard::walsh_hadamard;
pub use mapped::Mapped;

use draw::Draws;
use hadamard::Block;
use matrix::Matrix;
use trig::LANES;

/// Rows whose angles are computed together.
const ROWS: usize = 16;

/// A number that features are computed in.
pub trait Real:
    Copy + Send + Sync + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// How much longer than `κ` a row of features may come out.
    const NORM_SLACK: f64;
    /// The nearest number of this kind.
    fn narrow(x: f64) -> Self;
    /// The same number in double precision.
    fn wide(self) -> f64;
    /// `self·a + b`, rounded once.
    #[must_use]
    fn fused(self, a: Self, b: Self) -> Self;
}

impl Real for f32 {
    const NORM_SLACK: f64 = 1e-6;
    #[inline(always)]
    fn narrow(x: f64) -> Self {
        x as Self
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn fused(self, a: Self, b: Self) -> Self {
        self.mul_add(a, b)
    }
}

impl Real for f64 {
    const NORM_SLACK: f64 = 1e-12;
    #[inline(always)]
    fn narrow(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn fused(self, a: Self, b: Self) -> Self {
        self.mul_add(a, b)
    }
}

enum Frequencies<T> {
    Matrix(Matrix<T>),
    Blocks(Vec<Block<T>>),
}

/// Frequencies drawn from a law, ready to turn rows into features of type `T`.
pub struct FeatureMap<T> {
    law: MapLaw,
    inputs: usize,
    /// The length of a row of inputs in scratch: padded for the transforms.
    width: usize,
    /// The length of a row of angles in scratch.
    stride: usize,
    phases: Vec<f64>,
    frequencies: Frequencies<T>,
}

/// Memory that a map works in; its size does not depend on the number of rows.
pub struct MapScratch<T> {
    inputs: Vec<T>,
    angles: Vec<T>,
    spare: Vec<T>,
}

/// A few rows' features, to be compiled for the vector unit at hand. (A closure that could be called twice would reach
/// it through a shim that is not.)
struct Pass<'a, T> {
    map: &'a FeatureMap<T>,
    count: usize,
    out: &'a mut [T],
    scratch: &'a mut MapScratch<T>,
}

impl<T: Real> pulp::NullaryFnOnce for Pass<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { map, count, out, scratch } = self;
        map.angles(count, scratch);
        for (r, out) in out.chunks_exact_mut(map.law.features).enumerate() {
            map.finish(&scratch.angles[r * map.stride..][..map.stride], out);
        }
    }
}

impl<T: Real> FeatureMap<T> {
    /// Draws the frequencies of `law` for rows of this many inputs.
    ///
    /// # Errors
    ///
    /// [`ProblemError`], if a number of the law is out of range.
    pub fn new(law: MapLaw, inputs: usize) -> Result<Self, ProblemError> {
        law.check()?;
        let count = law.frequencies();
        let structured =
            matches!(law.construction, Construction::Structured | Construction::Fastfood);
        let (width, stride, frequencies) = if structured {
            let size = inputs.max(1).next_power_of_two();
            let blocks = (0..count.div_ceil(size)).map(|block| {
                let mut draws = Draws::new(law.seed, block as u64);
                Block::draw(law.construction, law.kernel, law.bandwidth, size, &mut draws)
            });
            let blocks: Vec<_> = blocks.collect();
            (size, blocks.len() * size, Frequencies::Blocks(blocks))
        } else {
            let matrix = Matrix::draw(&law, inputs);
            (inputs, matrix::padded(count), Frequencies::Matrix(matrix))
        };
        let phases = match law.form {
            Form::Paired => Vec::new(),
            Form::Cosine => {
                let mut draws = Draws::new(law.seed, u64::MAX);
                (0..count).map(|_| TAU * (1.0 - draws.uniform())).collect()
            }
        };
        Ok(Self { law, inputs, width, stride, phases, frequencies })
    }

    /// The law.
    pub fn law(&self) -> &MapLaw {
        &self.law
    }

    /// Bounds the norm of the features of every row whatsoever, rounding included.
    pub fn norm(&self) -> f64 {
        self.law.form.norm() * (1.0 + T::NORM_SLACK)
    }

    /// Memory for [`Self::write`].
    pub fn scratch(&self) -> MapScratch<T> {
        let zero = T::narrow(0.0);
        let spare = if matches!(self.frequencies, Frequencies::Blocks(_)) { self.width } else { 0 };
        MapScratch {
            inputs: vec![zero; ROWS * self.width],
            angles: vec![zero; ROWS * self.stride],
            spare: vec![zero; spare],
        }
    }

    /// Writes the features of the given rows, row after row, in the calling thread.
    ///
    /// # Panics
    ///
    /// If `x` has another number of columns than the map has inputs, or `out` another length than the rows' features: the
    /// caller made the shapes, so this is a bug there.
    pub fn write(
        &self,
        x: &Features,
        rows: impl ExactSizeIterator<Item = usize>,
        out: &mut [T],
        scratch: &mut MapScratch<T>,
    ) {
        assert_eq!(x.columns(), self.inputs, "inputs of the map");
        assert_eq!(out.len(), rows.len() * self.law.features, "features of the rows");
        let mut rows = rows;
        for out in out.chunks_mut(ROWS * self.law.features) {
            let count = out.len() / self.law.features;
            let inputs = scratch.inputs.chunks_exact_mut(self.width.max(1)).take(count);
            for (inputs, row) in inputs.zip(&mut rows) {
                load(x, row, inputs);
            }
            pulp::Arch::new().dispatch(Pass { map: self, count, out, scratch });
        }
    }

    /// Writes the features of the given rows, row after row, with all threads of the pool at hand.
    pub fn write_parallel(&self, x: &Features, rows: Range<usize>, out: &mut [T]) {
        out.par_chunks_mut(ROWS * self.law.features).enumerate().for_each_init(
            || self.scratch(),
            |scratch, (i, out)| {
                let first = rows.start + i * ROWS;
                self.write(x, first..first + out.len() / self.law.features, out, scratch);
            },
        );
    }

    /// The margins of the features of the rows from `first` on, as many as `out` has room for, `outputs` for each row.
    pub(crate) fn margins(
        &self,
        x: &Features,
        w: &[f64],
        first: usize,
        outputs: usize,
        out: &mut [f64],
    ) where
        T: Element,
    {
        let width = self.law.features;
        let mut features = Dense::new(ROWS, width, vec![T::narrow(0.0); ROWS * width]);
        let mut scratch = self.scratch();
        for (i, out) in out.chunks_mut(ROWS * outputs).enumerate() {
            let (start, count) = (first + i * ROWS, out.len() / outputs);
            let to = &mut features.values_mut()[..count * width];
            self.write(x, start..start + count, to, &mut scratch);
            dense::margins(&features, w, 0, outputs, out);
        }
    }

    #[inline(always)]
    fn angles(&self, count: usize, scratch: &mut MapScratch<T>) {
        match &self.frequencies {
            Frequencies::Matrix(matrix) => {
                matrix.angles(&scratch.inputs, count, &mut scratch.angles, self.stride);
            }
            Frequencies::Blocks(blocks) => {
                for (b, block) in blocks.iter().enumerate() {
                    for r in 0..count {
                        let inputs = &scratch.inputs[r * self.width..][..self.width];
                        let angles =
                            &mut scratch.angles[r * self.stride + b * self.width..][..self.width];
                        block.angles(inputs, angles, &mut scratch.spare);
                    }
                }
            }
        }
    }

    /// Turns a row's angles into its features.
    #[inline(always)]
    fn finish(&self, angles: &[T], out: &mut [T]) {
        let scale = (2.0 / self.law.features as f64).sqrt();
        let width = self.law.form.width();
        for (g, out) in out.chunks_mut(LANES * width).enumerate() {
            let count = out.len() / width;
            let mut lanes = [0.0; LANES];
            for (lane, angle) in lanes.iter_mut().zip(&angles[g * LANES..][..count]) {
                *lane = angle.wide();
            }
            if self.law.form == Form::Cosine {
                for (lane, phase) in lanes.iter_mut().zip(&self.phases[g * LANES..]) {
                    *lane += phase;
                }
            }
            let (sines, cosines) = trig::sin_cos(lanes);
            match self.law.form {
                Form::Paired => {
                    for (l, pair) in out.chunks_exact_mut(2).enumerate() {
                        pair[0] = T::narrow(scale * cosines[l]);
                        pair[1] = T::narrow(scale * sines[l]);
                    }
                }
                Form::Cosine => {
                    for (out, c) in out.iter_mut().zip(cosines) {
                        *out = T::narrow(scale * c);
                    }
                }
            }
        }
    }
}

/// Reads row `i` into `into`, zeros after it; an entry that is not finite counts as zero.
fn load<T: Real>(x: &Features, i: usize, into: &mut [T]) {
    let narrow = |x: f64| T::narrow(if x.is_finite() { x } else { 0.0 });
    let columns = x.columns();
    into[columns..].fill(T::narrow(0.0));
    match x {
        Features::F32(x) => {
            for (into, x) in into.iter_mut().zip(x.row(i)) {
                *into = narrow(f64::from(*x));
            }
        }
        Features::F64(x) => {
            for (into, x) in into.iter_mut().zip(x.row(i)) {
                *into = narrow(*x);
            }
        }
        Features::Sparse(x) => {
            into[..columns].fill(T::narrow(0.0));
            let (indices, values) = x.row(i);
            for (j, v) in indices.iter().zip(values) {
                into[*j as usize] = narrow(*v);
            }
        }
        Features::Mapped(x) => {
            for (into, x) in into.iter_mut().zip(x.row(i)) {
                *into = narrow(x);
            }
        }
    }
}

/// The features of one row for given frequencies, one after the other: what [`FeatureMap::write`] computes, in the open.
pub fn features_of(x: &[f64], frequencies: &[Vec<f64>], phases: Option<&[f64]>) -> Vec<f64> {
    let form = if phases.is_some() { Form::Cosine } else { Form::Paired };
    let scale = (2.0 / (frequencies.len() * form.width()) as f64).sqrt();
    let mut out = Vec::with_capacity(frequencies.len() * form.width());
    for (j, frequency) in frequencies.iter().enumerate() {
        let angle: f64 = frequency.iter().zip(x).map(|(w, x)| w * x).sum();
        let shift = phases.map_or(0.0, |phases| phases[j]);
        let (sines, cosines) = trig::sin_cos([angle + shift; LANES]);
        out.push(scale * cosines[0]);
        if form == Form::Paired {
            out.push(scale * sines[0]);
        }
    }
    out
}
