//! Dense rows: fetched ahead into whole lanes, so that a step has no leftovers and does not wait
//! for the memory.

use super::super::dense::Element;
use super::{Layout, Track};
use crate::Dense;
use crate::feature_map::Mapped;
use crate::walk::{AHEAD, LANES};

/// Numbers that are fetched ahead at most, so that they stay in the nearest cache.
const NEAR: usize = 2048;

/// Where rows are fetched from. Many are fetched at a time, so a virtual call costs nothing.
pub(super) trait Origin {
    /// Rows of this width that are fetched ahead.
    fn ahead(&self, width: usize) -> usize;
    /// Writes the rows with these numbers, one every `width` numbers.
    fn fetch(&self, rows: &[u32], width: usize, into: &mut [f64]);
}

impl<T: Element> Origin for Dense<T> {
    fn ahead(&self, width: usize) -> usize {
        (NEAR / width).clamp(1, AHEAD)
    }

    fn fetch(&self, rows: &[u32], width: usize, into: &mut [f64]) {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                // moved in: only a closure that runs once is compiled for wide registers
                let into = into;
                for (&i, into) in rows.iter().zip(into.chunks_exact_mut(width)) {
                    for (into, x) in into.iter_mut().zip(self.row(i as usize)) {
                        *into = x.wide();
                    }
                }
            },
        );
    }
}

impl Origin for Mapped {
    /// As many as there may be: computing a row takes longer than reading it from memory, and
    /// threads share the work.
    fn ahead(&self, _: usize) -> usize {
        AHEAD
    }

    fn fetch(&self, rows: &[u32], width: usize, into: &mut [f64]) {
        let mut numbers = [0; AHEAD];
        for (number, &row) in numbers.iter_mut().zip(rows) {
            *number = row as usize;
        }
        self.write(&numbers[..rows.len()], width, into);
    }
}

/// Rows copied into whole lanes, in double precision.
pub(super) struct Fetched<'a> {
    x: &'a dyn Origin,
    width: usize,
    ahead: usize,
    rows: &'a mut Vec<f64>,
}

impl<'a> Fetched<'a> {
    pub(super) fn new(x: &'a dyn Origin, width: usize, rows: &'a mut Vec<f64>) -> Self {
        let ahead = x.ahead(width);
        // The padding of a row is zero and stays zero.
        rows.resize(ahead * width, 0.0);
        Self { x, width, ahead, rows }
    }

    #[inline(always)]
    fn row(&self, slot: usize) -> &[[f64; LANES]] {
        self.rows[slot * self.width..(slot + 1) * self.width].as_chunks().0
    }
}

#[inline(always)]
fn block(weights: &mut [f64], output: usize, width: usize) -> &mut [[f64; LANES]] {
    weights[output * width..(output + 1) * width].as_chunks_mut().0
}

impl Layout for Fetched<'_> {
    #[inline(always)]
    fn ahead(&self) -> usize {
        self.ahead
    }

    #[inline(always)]
    fn fetch(&mut self, rows: &[u32]) {
        self.x.fetch(rows, self.width, self.rows);
    }

    #[inline(always)]
    fn visit(&self, slot: usize, output: usize, track: &mut Track<'_>) -> f64 {
        let x = self.row(slot);
        let w = block(track.direction, output, track.width);
        let sum = block(track.sum, output, track.width);
        let scale = track.scale;
        let mut lanes = [0.0; LANES];
        for j in 0..x.len().min(w.len()).min(sum.len()) {
            for l in 0..LANES {
                lanes[l] = x[j][l].mul_add(w[j][l], lanes[l]);
                sum[j][l] = w[j][l].mul_add(scale, sum[j][l]);
            }
        }
        total(lanes)
    }

    #[inline(always)]
    fn advance(&self, slot: usize, output: usize, factor: f64, track: &mut Track<'_>) -> f64 {
        let x = self.row(slot);
        let w = block(track.direction, output, track.width);
        let mut lanes = [0.0; LANES];
        for j in 0..x.len().min(w.len()) {
            for l in 0..LANES {
                let moved = x[j][l].mul_add(factor, w[j][l]);
                w[j][l] = moved;
                lanes[l] = moved.mul_add(moved, lanes[l]);
            }
        }
        total(lanes)
    }

    #[inline(always)]
    fn follow(&mut self, found: f64) -> f64 {
        found
    }

    #[inline(always)]
    fn measure(&mut self, _: &[f64]) {}

    #[inline(always)]
    fn settle(&self, track: &mut Track<'_>, total: &mut [f64]) {
        for ((total, sum), w) in
            total.iter_mut().zip(track.sum.iter_mut()).zip(track.direction.iter_mut())
        {
            *total += *sum;
            *sum = 0.0;
            *w *= track.scale;
        }
        track.scale = 1.0;
        track.weight = 0.0;
    }
}

/// The lanes of a sum added up.
#[inline(always)]
fn total(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}
