//! The Walsh–Hadamard transform, and the maps that use it in place of a matrix of frequencies.
//!
//! `H` is symmetric with entries `±1/√D` in Sylvester's order, and `H² = I`. A structured block
//! multiplies by random signs and `H` three times; the rows of the product are orthogonal and look
//! like uniform directions, and row `i` is given the length of a normal vector. (The customary
//! constant length `√D` is biased for small `D`.) A fastfood block is `S·H·G·Π·H·B` with signs `B`,
//! a permutation `Π`, a Gaussian diagonal `G` and lengths `S`.

use std::ops::{Add, Sub};

use reticent_problem::feature_map::{Construction, Kernel};

use super::draw::Draws;

/// Numbers of a vector.
const LANES: usize = 8;
/// Numbers whose first levels are done in registers: eight vectors.
const BASE: usize = 64;

/// `x ← √D·H·x` in place. The length must be a power of two.
#[inline(always)]
pub(super) fn transform<T: Copy + Add<Output = T> + Sub<Output = T>>(x: &mut [T]) {
    let mut half = 1;
    if x.len() >= BASE {
        let (bases, _) = x.as_chunks_mut::<BASE>();
        for part in bases {
            base(part);
        }
        half = BASE;
    }
    while 2 * half < x.len() {
        four_way(x, half);
        half *= 4;
    }
    if half < x.len() {
        butterflies(x, half);
    }
}

/// The first six levels.
#[inline(always)]
fn base<T: Copy + Add<Output = T> + Sub<Output = T>>(x: &mut [T; BASE]) {
    let (rows, _) = x.as_chunks_mut::<LANES>();
    let mut v = [rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7]];
    for v in &mut v {
        let a = *v;
        for (i, v) in v.iter_mut().enumerate() {
            *v = if i & 1 == 0 { a[i] + a[i + 1] } else { a[i - 1] - a[i] };
        }
        let a = *v;
        for (i, v) in v.iter_mut().enumerate() {
            *v = if i & 2 == 0 { a[i] + a[i + 2] } else { a[i - 2] - a[i] };
        }
        let a = *v;
        for (i, v) in v.iter_mut().enumerate() {
            *v = if i & 4 == 0 { a[i] + a[i + 4] } else { a[i - 4] - a[i] };
        }
    }
    for half in [1, 2, 4] {
        for i in 0..LANES {
            if i & half == 0 {
                let (a, b) = (v[i], v[i + half]);
                for (l, (a, b)) in a.into_iter().zip(b).enumerate() {
                    v[i][l] = a + b;
                    v[i + half][l] = a - b;
                }
            }
        }
    }
    for (row, v) in rows.iter_mut().zip(v) {
        *row = v;
    }
}

#[inline(always)]
fn butterflies<T: Copy + Add<Output = T> + Sub<Output = T>>(x: &mut [T], half: usize) {
    for pair in x.chunks_exact_mut(2 * half) {
        let (left, right) = pair.split_at_mut(half);
        for (a, b) in left.iter_mut().zip(right) {
            let (u, v) = (*a, *b);
            *a = u + v;
            *b = u - v;
        }
    }
}

/// Two levels in one pass over the memory.
#[inline(always)]
fn four_way<T: Copy + Add<Output = T> + Sub<Output = T>>(x: &mut [T], half: usize) {
    for four in x.chunks_exact_mut(4 * half) {
        let (left, right) = four.split_at_mut(2 * half);
        let (a, b) = left.split_at_mut(half);
        let (c, d) = right.split_at_mut(half);
        for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
            let (p, q, r, s) = (*a + *b, *a - *b, *c + *d, *c - *d);
            *a = p + r;
            *b = q + s;
            *c = p - r;
            *d = q - s;
        }
    }
}

/// `H·x`.
///
/// # Panics
///
/// If the length is not a power of two.
pub fn walsh_hadamard(x: &[f64]) -> Vec<f64> {
    assert!(x.len().is_power_of_two(), "the length is a power of two");
    let mut out = x.to_vec();
    transform(&mut out);
    let scale = (x.len() as f64).sqrt().recip();
    for v in &mut out {
        *v *= scale;
    }
    out
}

/// One block of `D` frequencies as a product of diagonals and transforms.
pub(super) enum Block {
    /// `signs[2]`, `H`, `signs[1]`, `H`, `signs[0]`, `H`, `lengths`, read from right to left.
    Structured { signs: [Vec<f32>; 3], lengths: Vec<f32> },
    /// `signs`, `H`, the permutation, `gauss`, `H`, `lengths`.
    Fastfood { signs: Vec<f32>, order: Vec<u32>, gauss: Vec<f32>, lengths: Vec<f32> },
}

impl Block {
    /// The block's diagonals, with the bandwidth and every power of `√D` inside `lengths`.
    pub(super) fn draw(
        construction: Construction,
        kernel: Kernel,
        bandwidth: f64,
        size: usize,
        draws: &mut Draws,
    ) -> Self {
        let d = size as f64;
        let mut signs = || -> Vec<f32> { (0..size).map(|_| draws.sign() as f32).collect() };
        if construction == Construction::Fastfood {
            let signs = signs();
            let mut order: Vec<u32> = (0..size as u32).collect();
            for i in (1..size).rev() {
                order.swap(i, draws.below(i + 1));
            }
            let gauss: Vec<f64> = (0..size).map(|_| draws.normal()).collect();
            // Row i of H'·G·Π·H'·B has the norm √D·‖G‖ with unnormalised transforms.
            let norm = gauss.iter().map(|g| g * g).sum::<f64>().sqrt() * d.sqrt();
            let lengths =
                (0..size).map(|_| (draws.radius(kernel, size) / (norm * bandwidth)) as f32);
            let lengths = lengths.collect();
            let gauss = gauss.into_iter().map(|g| g as f32).collect();
            return Self::Fastfood { signs, order, gauss, lengths };
        }
        let signs = [signs(), signs(), signs()];
        let norm = d * d.sqrt();
        let lengths = (0..size).map(|_| (draws.radius(kernel, size) / (norm * bandwidth)) as f32);
        let lengths = lengths.collect();
        Self::Structured { signs, lengths }
    }

    /// The angles `ω_i·x` of the block's frequencies; `spare` is scratch of the same length.
    #[inline(always)]
    pub(super) fn angles(&self, x: &[f32], out: &mut [f32], spare: &mut [f32]) {
        match self {
            Self::Structured { signs: [first, second, third], lengths } => {
                for ((o, x), s) in out.iter_mut().zip(x).zip(third) {
                    *o = *x * *s;
                }
                for next in [second, first, lengths] {
                    transform(out);
                    for (o, s) in out.iter_mut().zip(next) {
                        *o *= *s;
                    }
                }
            }
            Self::Fastfood { signs, order, gauss, lengths } => {
                for ((o, x), s) in spare.iter_mut().zip(x).zip(signs) {
                    *o = *x * *s;
                }
                transform(spare);
                for ((o, i), g) in out.iter_mut().zip(order).zip(gauss) {
                    *o = spare[*i as usize] * *g;
                }
                transform(out);
                for (o, l) in out.iter_mut().zip(lengths) {
                    *o *= *l;
                }
            }
        }
    }
}
