//! A table of features that are computed when they are looked at.

use std::sync::{Arc, Mutex, PoisonError};

use super::{FeatureMap, MapScratch, ROWS};
use crate::threads::{in_parts, shared};
use crate::{Dense, Features};

/// Rows whose features are there at once where one thread computes them and uses them.
const ALONE: usize = ROWS;
/// Rows whose features are there at once where all threads compute them for one that uses them.
const TOGETHER: usize = 2 * ROWS;

/// The inputs of rows and the map that turns them into features. Cloning shares both.
#[derive(Clone)]
pub struct Mapped(Arc<Parts>);

struct Parts {
    inputs: Features,
    map: Arc<FeatureMap>,
    /// Memory that is not in use: as much of it as threads have asked for at one time.
    spare: Mutex<Vec<Buffer>>,
}

/// The features of a few rows and what computing them takes.
struct Buffer {
    features: Dense<f32>,
    scratch: MapScratch,
}

impl PartialEq for Mapped {
    fn eq(&self, other: &Self) -> bool {
        self.0.map.law == other.0.map.law && self.0.inputs == other.0.inputs
    }
}

impl Mapped {
    /// The features that `map` makes of `inputs`.
    pub fn new(inputs: Features, map: impl Into<Arc<FeatureMap>>) -> Self {
        let map = map.into();
        Self(Arc::new(Parts { inputs, map, spare: Mutex::default() }))
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.0.inputs.rows()
    }

    /// How many features.
    pub fn columns(&self) -> usize {
        self.0.map.law.features
    }

    /// The features of row `i`.
    pub fn row(&self, i: usize) -> Vec<f64> {
        let mut row = vec![0.0; self.columns()];
        self.write(&[i], self.columns(), &mut row);
        row
    }

    /// Hands the features of the rows over in order, a few rows at a time: their numbers and a
    /// matrix that begins with them.
    #[inline(always)]
    pub(crate) fn blocks(
        &self,
        rows: impl ExactSizeIterator<Item = usize>,
        mut to: impl FnMut(&[usize], &Dense<f32>),
    ) {
        let Parts { inputs, map, .. } = &*self.0;
        let mut buffer = self.take();
        Self::cut::<ALONE>(rows, |numbers| {
            let Buffer { features, scratch } = &mut buffer;
            let out = &mut features.values_mut()[..numbers.len() * map.law.features];
            map.write(inputs, numbers.iter().copied(), out, scratch);
            to(numbers, features);
        });
        self.give_back(buffer);
    }

    /// As [`Self::blocks`], with all threads at work on the features. Not for use in one of many
    /// parallel tasks.
    #[inline(always)]
    pub(crate) fn blocks_together(
        &self,
        rows: impl ExactSizeIterator<Item = usize>,
        mut to: impl FnMut(&[usize], &Dense<f32>),
    ) {
        let width = self.columns();
        let mut features = Dense::new(TOGETHER, width, vec![0.0; TOGETHER * width]);
        Self::cut::<TOGETHER>(rows, |numbers| {
            self.write_together(numbers, features.values_mut());
            to(numbers, &features);
        });
    }

    /// Writes the features of the rows, row after row, with all threads.
    fn write_together(&self, rows: &[usize], out: &mut [f32]) {
        let width = self.columns();
        shared(|| {
            let share = share(rows.len());
            in_parts(&mut out[..rows.len() * width], share * width, &|i, out| {
                let rows = &rows[i * share..rows.len().min((i + 1) * share)];
                let mut buffer = self.take();
                self.0.map.write(&self.0.inputs, rows.iter().copied(), out, &mut buffer.scratch);
                self.give_back(buffer);
            });
        });
    }

    /// Writes the features of the rows in double precision with all threads, a row every `stride`
    /// numbers.
    pub(crate) fn write(&self, rows: &[usize], stride: usize, out: &mut [f64]) {
        shared(|| {
            let share = share(rows.len());
            in_parts(&mut out[..rows.len() * stride], share * stride, &|i, out| {
                let mut out = out.chunks_mut(stride);
                let rows = &rows[i * share..rows.len().min((i + 1) * share)];
                self.blocks(rows.iter().copied(), |numbers, features| {
                    for (r, out) in (0..numbers.len()).zip(&mut out) {
                        out.iter_mut().zip(features.row(r)).for_each(|(o, f)| *o = f64::from(*f));
                    }
                });
            });
        });
    }

    /// The margins of the rows from `first` on, as many as `out` has room for, `outputs` for each
    /// row.
    pub(crate) fn margins(&self, w: &[f64], first: usize, outputs: usize, out: &mut [f64]) {
        self.0.map.margins(&self.0.inputs, w, first, outputs, out);
    }

    /// Runs `to` on the numbers of `COUNT` rows at a time.
    #[inline(always)]
    fn cut<const COUNT: usize>(
        rows: impl ExactSizeIterator<Item = usize>,
        mut to: impl FnMut(&[usize]),
    ) {
        let mut rows = rows;
        let mut numbers = [0; COUNT];
        loop {
            let mut count = 0;
            for (number, row) in numbers.iter_mut().zip(&mut rows) {
                *number = row;
                count += 1;
            }
            if count == 0 {
                return;
            }
            to(&numbers[..count]);
        }
    }

    fn take(&self) -> Buffer {
        let spare = self.0.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| {
            let width = self.columns();
            Buffer {
                features: Dense::new(ALONE, width, vec![0.0; ALONE * width]),
                scratch: self.0.map.scratch(),
            }
        })
    }

    fn give_back(&self, buffer: Buffer) {
        self.0.spare.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }
}

/// Rows that one of the threads of the pool at hand takes at a time, of this many.
fn share(rows: usize) -> usize {
    rows.div_ceil(rayon::current_num_threads()).clamp(1, ROWS)
}
