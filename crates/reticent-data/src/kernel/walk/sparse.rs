//! Sparse rows: work proportional to the stored entries, the sum of the iterates included.
//!
//! With scales `a_t` and directions `u_t`, `u_{t+1} = u_t + δ_t`, and `A_s = a_1 + … + a_s`,
//!
//! ```text
//! Σ_{t≤m} a_t u_t = A_m u_{m+1} − Σ_{s≤m} A_s δ_s,
//! ```
//!
//! so a step adds `A_s δ_s`, which is as sparse as its row, and the sum is found once in a stretch.
//! The right-hand side cancels by no more than `A_m/a_m`, and scales are kept above a sixteenth, so
//! that this is at most `16m`. `‖u‖²` is followed by `Σ (new − old)(new + old)` over the changed
//! entries, added up with the rounding error kept.

use super::{Layout, Track};
use crate::Csr;
use crate::walk::AHEAD;

/// Rows read in place, and the norm of the direction.
pub(super) struct Followed<'a> {
    x: &'a Csr,
    width: usize,
    rows: [u32; AHEAD],
    square: f64,
    /// The rounding error of `square`.
    rest: f64,
}

impl<'a> Followed<'a> {
    pub(super) fn new(x: &'a Csr, width: usize) -> Self {
        Self { x, width, rows: [0; AHEAD], square: 0.0, rest: 0.0 }
    }
}

impl Layout for Followed<'_> {
    #[inline(always)]
    fn ahead(&self) -> usize {
        AHEAD
    }

    #[inline(always)]
    fn fetch(&mut self, rows: &[u32]) {
        self.rows[..rows.len()].copy_from_slice(rows);
    }

    #[inline(always)]
    fn visit(&self, slot: usize, output: usize, track: &mut Track<'_>) -> f64 {
        let (indices, values) = self.x.row(self.rows[slot] as usize);
        let w = &track.direction[output * self.width..(output + 1) * self.width];
        indices.iter().zip(values).fold(0.0, |sum, (&j, &v)| v.mul_add(w[j as usize], sum))
    }

    #[inline(always)]
    fn advance(&self, slot: usize, output: usize, factor: f64, track: &mut Track<'_>) -> f64 {
        let (indices, values) = self.x.row(self.rows[slot] as usize);
        let block = output * self.width..(output + 1) * self.width;
        let w = &mut track.direction[block.clone()];
        let later = &mut track.sum[block];
        let mut change = 0.0;
        for (&j, &v) in indices.iter().zip(values) {
            let j = j as usize;
            let (old, moved) = (w[j], v.mul_add(factor, w[j]));
            w[j] = moved;
            let by = moved - old;
            later[j] = by.mul_add(track.weight, later[j]);
            change = by.mul_add(moved + old, change);
        }
        change
    }

    #[inline(always)]
    fn follow(&mut self, found: f64) -> f64 {
        // Knuth's exact addition: `sum` and `lost` together are the sum of the two.
        let sum = self.square + found;
        let seen = sum - self.square;
        let lost = (self.square - (sum - seen)) + (found - seen);
        self.square = sum;
        self.rest += lost;
        self.square + self.rest
    }

    #[inline(always)]
    fn measure(&mut self, direction: &[f64]) {
        let mut lanes = [0.0; 8];
        for part in direction.as_chunks::<8>().0 {
            for l in 0..8 {
                lanes[l] = part[l].mul_add(part[l], lanes[l]);
            }
        }
        self.square = lanes.iter().sum();
        self.rest = 0.0;
    }

    #[inline(always)]
    fn settle(&self, track: &mut Track<'_>, total: &mut [f64]) {
        for ((total, later), w) in
            total.iter_mut().zip(track.sum.iter_mut()).zip(track.direction.iter_mut())
        {
            *total += track.weight.mul_add(*w, -*later);
            *later = 0.0;
            *w *= track.scale;
        }
        track.scale = 1.0;
        track.weight = 0.0;
    }
}
