//! Random features of rows, block by block.
//!
//! A [`FeatureMap`] holds the frequencies of a [`MapLaw`] and writes the features of as many rows
//! as fit a caller's buffer, so memory never grows with the number of rows. Features of a row
//! depend on the row and the law alone: neither the block nor the number of threads changes a bit.
//!
//! # Precision and norm
//!
//! Inputs, frequencies, angles and features are single precision numbers. An angle is off by the
//! rounding of its terms, at most `d·2^-24·Σ|ω_j x_j|` and about `2^-24·‖ω‖‖x‖` as a rule; a
//! feature by `2·10⁻⁷·√(2/M)` more (`trig`), where drawing the frequencies costs `1/√M`. Rows far
//! from zero in bandwidths lose digits: at `‖x‖ = 10⁵` bandwidths an angle is off by a hundredth.
//! The guarantee does not depend on any of it: whatever the angles are, a row of features is made
//! of points of the unit circle, and it is shrunk by `2^-20`, which is more than rounding can add.
//! Its norm is at most `κ` and no entry exceeds `√(2/M)`.
//!
//! # As a table
//!
//! [`Mapped`] is a table of features that are computed when they are looked at: every sum that an
//! oracle can give for dense rows it can give for these, with memory for a few rows of features in
//! each thread.

#![allow(
    clippy::inline_always,
    reason = "only inlined code is compiled for the vector unit at hand"
)]

mod draw;
mod frequencies;
mod hadamard;
mod mapped;
mod matrix;
mod trig;

use std::f64::consts::TAU;
use std::ops::Range;

use rayon::prelude::*;
use reticent_problem::ProblemError;
use reticent_problem::feature_map::{Construction, Form, MapLaw};

use crate::kernel::dense;
use crate::threads::shared;
use crate::{Dense, Features};

pub use draw::{laplace_kernel_frequency, matern_stretch};
pub use hadamard::walsh_hadamard;
pub use mapped::Mapped;

use draw::Draws;
use hadamard::Block;
use matrix::Matrix;

/// Tiles of rows whose features are computed together.
const TILES: usize = 8;
/// Rows whose features are computed together.
const ROWS: usize = TILES * matrix::ROWS;
/// The factor of a feature vector, so that no rounding makes it longer than it may be.
const SHRINK: f64 = 1.0 - 1.0 / 1_048_576.0;

enum Frequencies {
    Matrix(Matrix),
    Blocks(Vec<Block>),
}

/// Frequencies drawn from a law, ready to turn rows into features.
pub struct FeatureMap {
    law: MapLaw,
    inputs: usize,
    /// The length of a row of inputs in scratch: padded for the transforms.
    width: usize,
    frequencies: Frequencies,
    head: MapHead,
}

/// Memory that a map works in; its size does not depend on the number of rows.
pub struct MapScratch {
    /// A row of inputs; for the transforms, as many rows as are taken together.
    rows: Vec<f32>,
    tiles: Vec<[f32; matrix::ROWS]>,
    sums: Vec<[[f32; matrix::TILE]; matrix::ROWS]>,
    angles: Vec<f32>,
    spare: Vec<f32>,
}

/// A few rows' features, to be compiled for the vector unit at hand. (A closure that could be
/// called twice would reach it through a shim that is not.)
struct MapPass<'a> {
    map: &'a FeatureMap,
    out: &'a mut [f32],
    scratch: &'a mut MapScratch,
}

impl pulp::NullaryFnOnce for MapPass<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { map, out, scratch } = self;
        let features = map.law.features;
        match &map.frequencies {
            Frequencies::Matrix(matrix) => {
                let count = (out.len() / features).div_ceil(matrix::ROWS);
                matrix.angles(
                    &scratch.tiles[..count * map.width],
                    &mut scratch.sums[..count],
                    #[inline(always)]
                    |panel, tiles| {
                        let rows =
                            tiles.as_flattened_mut().iter_mut().zip(out.chunks_exact_mut(features));
                        for (angles, out) in rows {
                            map.head.write(angles, panel * matrix::TILE, out);
                        }
                    },
                );
            }
            Frequencies::Blocks(blocks) => {
                for (b, block) in blocks.iter().enumerate() {
                    let rows = scratch.rows.chunks_exact(map.width);
                    for (x, out) in rows.zip(out.chunks_exact_mut(features)) {
                        block.angles(x, &mut scratch.angles, &mut scratch.spare);
                        map.head.write(&mut scratch.angles, b * map.width, out);
                    }
                }
            }
        }
    }
}

impl FeatureMap {
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
        let (width, frequencies) = if structured {
            let size = inputs.max(1).next_power_of_two();
            let blocks = (0..count.div_ceil(size)).map(|block| {
                let mut draws = Draws::new(law.seed, block as u64);
                Block::draw(law.construction, law.kernel, law.bandwidth, size, &mut draws)
            });
            (size, Frequencies::Blocks(blocks.collect()))
        } else {
            (inputs.max(1), Frequencies::Matrix(Matrix::draw(&law, inputs)))
        };
        Ok(Self { law, inputs, width, frequencies, head: MapHead::new(&law) })
    }

    /// The law.
    pub fn law(&self) -> &MapLaw {
        &self.law
    }

    /// Memory for [`Self::write`].
    pub fn scratch(&self) -> MapScratch {
        let (rows, tiles, sums, angles) = match self.frequencies {
            Frequencies::Matrix(_) => (1, TILES, TILES, 0),
            Frequencies::Blocks(_) => (ROWS, 0, 0, self.width),
        };
        MapScratch {
            rows: vec![0.0; rows * self.width],
            tiles: vec![[0.0; matrix::ROWS]; tiles * self.width],
            sums: vec![[[0.0; matrix::TILE]; matrix::ROWS]; sums],
            angles: vec![0.0; angles],
            spare: vec![0.0; angles],
        }
    }

    /// Writes the features of the given rows, row after row, in the calling thread.
    ///
    /// # Panics
    ///
    /// If `x` has another number of columns than the map has inputs, or `out` another length than
    /// the rows' features: the caller made the shapes, so this is a bug there.
    pub fn write(
        &self,
        x: &Features,
        rows: impl ExactSizeIterator<Item = usize>,
        out: &mut [f32],
        scratch: &mut MapScratch,
    ) {
        assert_eq!(x.columns(), self.inputs, "inputs of the map");
        assert_eq!(out.len(), rows.len() * self.law.features, "features of the rows");
        let mut rows = rows;
        for out in out.chunks_mut(ROWS * self.law.features) {
            let count = out.len() / self.law.features;
            for (i, row) in rows.by_ref().take(count).enumerate() {
                if let Frequencies::Blocks(_) = self.frequencies {
                    load(x, row, &mut scratch.rows[i * self.width..][..self.width]);
                    continue;
                }
                load(x, row, &mut scratch.rows);
                let tile = &mut scratch.tiles[i / matrix::ROWS * self.width..];
                for (values, x) in tile.iter_mut().zip(&scratch.rows) {
                    values[i % matrix::ROWS] = *x;
                }
            }
            pulp::Arch::new().dispatch(MapPass { map: self, out, scratch });
        }
    }

    /// Writes the features of the given rows, row after row, with all threads of the pool at hand.
    pub fn write_parallel(&self, x: &Features, rows: Range<usize>, out: &mut [f32]) {
        shared(|| {
            out.par_chunks_mut(ROWS * self.law.features).enumerate().for_each_init(
                || self.scratch(),
                |scratch, (i, out)| {
                    let first = rows.start + i * ROWS;
                    self.write(x, first..first + out.len() / self.law.features, out, scratch);
                },
            );
        });
    }

    /// The margins of the features of the rows from `first` on, as many as `out` has room for,
    /// `outputs` for each row.
    pub(crate) fn margins(
        &self,
        x: &Features,
        w: &[f64],
        first: usize,
        outputs: usize,
        out: &mut [f64],
    ) {
        let width = self.law.features;
        let mut features = Dense::new(ROWS, width, vec![0.0; ROWS * width]);
        let mut scratch = self.scratch();
        for (i, out) in out.chunks_mut(ROWS * outputs).enumerate() {
            let (start, count) = (first + i * ROWS, out.len() / outputs);
            let to = &mut features.values_mut()[..count * width];
            self.write(x, start..start + count, to, &mut scratch);
            dense::margins(&features, w, 0, outputs, out);
        }
    }
}

/// The head of the map: it turns angles into features.
struct MapHead {
    form: Form,
    scale: f32,
    /// Offsets of the angles of the cosine form.
    phases: Vec<f32>,
}

impl MapHead {
    fn new(law: &MapLaw) -> Self {
        let phases = match law.form {
            Form::Paired => Vec::new(),
            Form::Cosine => {
                let mut draws = Draws::new(law.seed, u64::MAX);
                (0..law.frequencies()).map(|_| (TAU * (1.0 - draws.uniform())) as f32).collect()
            }
        };
        let scale = ((2.0 / law.features as f64).sqrt() * SHRINK) as f32;
        Self { form: law.form, scale, phases }
    }

    /// Writes the features of the frequencies from `first` on into a row, as far as it goes; the
    /// angles are used up.
    #[inline(always)]
    fn write(&self, angles: &mut [f32], first: usize, row: &mut [f32]) {
        let row = row.get_mut(first * self.form.width()..).unwrap_or_default();
        match self.form {
            Form::Paired => {
                trig::reduce(angles);
                let (pairs, _) = row.as_chunks_mut::<2>();
                for (pair, angle) in pairs.iter_mut().zip(&*angles) {
                    let (sine, cosine) = trig::sin_cos(*angle);
                    *pair = [self.scale * cosine, self.scale * sine];
                }
            }
            Form::Cosine => {
                for (angle, phase) in angles.iter_mut().zip(&self.phases[first..]) {
                    *angle += phase;
                }
                trig::reduce(angles);
                for (out, angle) in row.iter_mut().zip(&*angles) {
                    *out = self.scale * trig::sin_cos(*angle).1;
                }
            }
        }
    }
}

/// Reads row `i` into `into`, zeros after it; an entry that is not a finite number of single
/// precision counts as zero.
fn load(x: &Features, i: usize, into: &mut [f32]) {
    let finite = |x: f32| if x.is_finite() { x } else { 0.0 };
    into[x.columns()..].fill(0.0);
    match x {
        Features::F32(x) => {
            into.iter_mut().zip(x.row(i)).for_each(|(into, x)| *into = finite(*x));
        }
        Features::F64(x) => {
            into.iter_mut().zip(x.row(i)).for_each(|(into, x)| *into = finite(*x as f32));
        }
        Features::Sparse(x) => {
            into.fill(0.0);
            let (indices, values) = x.row(i);
            for (j, v) in indices.iter().zip(values) {
                into[*j as usize] = finite(*v as f32);
            }
        }
        Features::Mapped(x) => {
            into.iter_mut().zip(x.row(i)).for_each(|(into, x)| *into = x as f32);
        }
    }
}

/// The features of one row for given frequencies, one after the other in double precision: what
/// [`FeatureMap::write`] approximates, in the open.
pub fn features_of(x: &[f64], frequencies: &[Vec<f64>], phases: Option<&[f64]>) -> Vec<f64> {
    let form = if phases.is_some() { Form::Cosine } else { Form::Paired };
    let scale = (2.0 / (frequencies.len() * form.width()) as f64).sqrt();
    let mut out = Vec::with_capacity(frequencies.len() * form.width());
    for (j, frequency) in frequencies.iter().enumerate() {
        let angle: f64 = frequency.iter().zip(x).map(|(w, x)| w * x).sum();
        let (sine, cosine) = libm::sincos(angle + phases.map_or(0.0, |phases| phases[j]));
        out.push(scale * cosine);
        if form == Form::Paired {
            out.push(scale * sine);
        }
    }
    out
}
