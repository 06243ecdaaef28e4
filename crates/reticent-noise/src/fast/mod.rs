//! Fast Gaussian vectors: the default inside iterative methods.
//!
//! # What is drawn
//!
//! Each number is **exactly** `round(c·Z)`, a whole number of cells, where `Z` is the ideal standard normal
//! number that the stream's endless digits stand for (see [`crate::normal`] for the map) and `c`
//! is the standard deviation in cells. Vector code evaluates `c·Z` in `f64` with a proven error
//! bound; the rounding is accepted when no value within the bound rounds to another cell, and
//! otherwise (about once in 500,000 numbers) it is found with as many digits as it takes, from the same stream.
//! So nothing is lost to finite precision:
//!
//! - every number carries 64 random bits, and further ones whenever a decision needs them;
//! - the tail is that of the normal law without end: beyond 8 standard deviations the radius comes
//!   from the exact branch, with all the digits it asks for;
//! - a number depends on the stream and its position alone, not on the machine's instruction set,
//!   the chunking or the number of threads.
//!
//! # Guarantee
//!
//! Let `v ∈ R^d` have l2 sensitivity `D`. [`FastGaussian`] rounds each coordinate of `v` to a multiple of
//! the cell width `g` (a power of two) and adds `g·round(c·Z_j)`. Rounding moves a vector by at
//! most `g√d/2`, so the rounded vector has sensitivity `D + g√d`; and because it lies on the grid,
//!
//! ```text
//! round(v/g) + round(c·Z) = round(round(v/g) + c·Z):
//! ```
//!
//! the output is a function of the ideal Gaussian mechanism's output, with standard deviation
//! `g·c >= noise_multiplier·(D + g√d)`. Its privacy profile is that of the ideal mechanism, and
//! [`TOTAL_VARIATION_PER_DRAW`], the amount to add to delta for finite precision, is 0. The cells are summed in `f64`,
//! which is harmless: a rounded sum is a function of the exact one.
//!
//! What is assumed: ChaCha20 is a pseudo-random function, and `f64` arithmetic follows IEEE 754.
//! Time is not hidden: an open rounding takes some microseconds longer.

#![allow(
    clippy::inline_always,
    reason = "only inlined code is compiled for the vector unit at hand"
)]

mod kernel;
mod words;

use zeroize::{Zeroize as _, Zeroizing};

use self::kernel::{GROUP, PAIRS};
#[cfg(target_arch = "x86_64")]
use self::words::Wide;
use self::words::{Portable, Words};
use crate::error::positive;
use crate::lattice::{power_of_two_below, to_cells, usual_range};
use crate::normal::{approximate, exact};
use crate::source::Uniform;
use crate::uniform::{settle, working_digits};
use crate::{NoiseError, Stream, ball::Ball};

/// What finite precision adds to delta for each number drawn: nothing (see the module's guarantee).
pub const TOTAL_VARIATION_PER_DRAW: f64 = 0.0;

/// Cells per standard deviation in [`fill_standard_gaussian`].
pub const CELLS: f64 = (1_u64 << 28) as f64;

/// Fill `out` with independent standard normal numbers, each rounded to a multiple of `2^-28`.
///
/// Filling in one call or in several gives the same numbers.
///
/// # Example
///
/// ```
/// use reticent_noise::{Purpose, Source, fast};
///
/// let mut stream = Source::seeded_not_private(7).stream(Purpose::Noise);
/// let mut whole = [0.0; 1000];
/// fast::fill_standard_gaussian(&mut whole, &mut stream);
///
/// let mut stream = Source::seeded_not_private(7).stream(Purpose::Noise);
/// let mut parts = [0.0; 1000];
/// fast::fill_standard_gaussian(&mut parts[..77], &mut stream);
/// fast::fill_standard_gaussian(&mut parts[77..], &mut stream);
/// assert_eq!(whole, parts);
/// ```
pub fn fill_standard_gaussian(out: &mut [f64], stream: &mut Stream) {
    let start = stream.reserve_fast(out.len() as u64);
    fill(stream.key(), start, 1.0, 1.0 / CELLS, out);
}

/// A stretch of a stream's normal numbers, set aside so that threads may fill parts of it.
///
/// The number at an offset is always the same: fill each offset once.
pub struct Reserved {
    key: Zeroizing<[u8; 32]>,
    start: u64,
    len: usize,
}

impl Reserved {
    /// Set the next `len` normal numbers of `stream` aside.
    pub fn new(len: usize, stream: &mut Stream) -> Self {
        Self { start: stream.reserve_fast(len as u64), key: stream.key().clone(), len }
    }

    /// How many numbers were set aside.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none were.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Fill `out` with the standard normal numbers from `offset` on, as [`fill_standard_gaussian`] would.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] if the stretch ends before `offset + out.len()`; nothing is written.
    pub fn fill(&self, offset: usize, out: &mut [f64]) -> Result<(), NoiseError> {
        self.fill_scaled(offset, 1.0, 1.0 / CELLS, out)
    }

    fn fill_scaled(
        &self,
        offset: usize,
        scale: f64,
        step: f64,
        out: &mut [f64],
    ) -> Result<(), NoiseError> {
        let end = offset.checked_add(out.len()).filter(|&end| end <= self.len);
        if end.is_none() {
            return Err(NoiseError::out_of_range(
                "offset",
                "such that offset + out.len() <= len()",
                offset as f64,
            ));
        }
        fill(&self.key, self.start.wrapping_add(offset as u64), scale, step, out);
        Ok(())
    }
}

impl core::fmt::Debug for Reserved {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reserved").field("len", &self.len).finish_non_exhaustive()
    }
}

/// The Gaussian mechanism for iterative methods: values rounded to a grid, fast exact noise added.
///
/// # Guarantee
///
/// See the [module](self): the release is a function of the ideal Gaussian mechanism's, with
/// standard deviation [`FastGaussian::sigma`] `>= noise_multiplier·(sensitivity + grid·√dimension)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FastGaussian {
    grid: f64,
    sigma: f64,
    dimension: usize,
}

impl FastGaussian {
    /// Choose grid and noise from public numbers: l2 sensitivity, noise multiplier, dimension.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] for a setting that is not positive and finite, or so extreme that
    /// the grid would add a quarter to the sensitivity (`noise_multiplier·√dimension >= 2^25`).
    pub fn new(
        sensitivity: f64,
        noise_multiplier: f64,
        dimension: usize,
    ) -> Result<Self, NoiseError> {
        positive("sensitivity", sensitivity)?;
        positive("noise_multiplier", noise_multiplier)?;
        positive("dimension", dimension as f64)?;
        let ideal = sensitivity * noise_multiplier;
        usual_range("sensitivity", sensitivity)?;
        usual_range("sensitivity * noise_multiplier", ideal)?;
        let root = (dimension as f64).sqrt();
        if noise_multiplier * root >= (1_u64 << 25) as f64 {
            return Err(NoiseError::out_of_range(
                "noise_multiplier * sqrt(dimension)",
                "below 2^25",
                noise_multiplier * root,
            ));
        }
        // c = sigma/g lies in [2^27, 2^28 + 2^25].
        let grid = power_of_two_below(ideal / (1_u64 << 27) as f64);
        let sigma = noise_multiplier * (sensitivity + grid * root) * (1.0 + 1e-15);
        Ok(Self { grid, sigma, dimension })
    }

    /// The width of a cell, a power of two.
    pub fn grid(&self) -> f64 {
        self.grid
    }

    /// The standard deviation of the ideal noise, rounding included in the sensitivity it covers.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// What finite precision adds to delta for one vector: nothing.
    pub fn total_variation(&self) -> f64 {
        self.dimension as f64 * TOTAL_VARIATION_PER_DRAW
    }

    /// Round `values` to the grid and add noise, in place. Values that are not finite count as 0.
    pub fn release_in_place(&self, values: &mut [f64], stream: &mut Stream) {
        let reserved = Reserved::new(values.len(), stream);
        self.release_chunk(0, values, &reserved);
    }

    /// [`FastGaussian::release_in_place`] for the coordinates from `offset` on, so that threads may share a vector:
    /// any cutting gives the same result.
    ///
    /// Coordinates beyond the reserved stretch are set to 0: no value leaves without noise.
    pub fn release_chunk(&self, offset: usize, values: &mut [f64], reserved: &Reserved) {
        let mut noise = Zeroizing::new([0.0; GROUP]);
        let mut position = offset;
        while position < offset + values.len() {
            // Cut at group borders, so that no group is computed twice.
            let to_border =
                GROUP - (reserved.start.wrapping_add(position as u64) % GROUP as u64) as usize;
            let done = position - offset;
            let take = to_border.min(values.len() - done);
            let part = &mut values[done..done + take];
            let noise = &mut noise[..take];
            if reserved.fill_scaled(position, self.sigma, self.grid, noise).is_ok() {
                for (v, n) in part.iter_mut().zip(noise) {
                    *v = to_cells(*v, self.grid) * self.grid + *n;
                }
            } else {
                part.fill(0.0);
            }
            position += take;
        }
    }
}

/// Fill `out` with the normal numbers at the positions from `start` on, times `scale`, rounded to multiples of `step`.
fn fill(key: &[u8; 32], start: u64, scale: f64, step: f64, out: &mut [f64]) {
    let task = Fill { key, start, scale, step, out };
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        let words = Wide::new(simd, key, start / GROUP as u64);
        return simd.vectorize(Fused(task, words));
    }
    let words = Portable::new(key, start / GROUP as u64);
    if cfg!(target_arch = "aarch64") {
        task.run::<true, _>(words); // fused and vectorised without being asked
    } else {
        task.run::<false, _>(words);
    }
}

struct Fill<'a> {
    key: &'a [u8; 32],
    start: u64,
    scale: f64,
    step: f64,
    out: &'a mut [f64],
}

/// A [`Fill`] to be compiled for AVX2 and fused multiplication.
#[cfg(target_arch = "x86_64")]
struct Fused<'a>(Fill<'a>, Wide);

#[cfg(target_arch = "x86_64")]
impl pulp::NullaryFnOnce for Fused<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.run::<true, _>(self.1);
    }
}

impl Fill<'_> {
    #[inline(always)]
    fn run<const FUSED: bool, W: Words>(self, words: W) {
        let Self { key, start, scale, step, out } = self;
        let skip = (start % GROUP as u64) as usize;
        let mut reader =
            Reader { key, words, position: start - skip as u64, group: [0; GROUP], scale, step };
        let mut scratch = [0.0; GROUP];
        let (mut out, mut skip) = (out, skip);
        while !out.is_empty() {
            // One place computes groups, in place or (at the ends) by way of the scratch.
            let whole = skip == 0 && out.len() >= GROUP;
            let take = out.len().min(GROUP - skip);
            reader.group::<FUSED>(match out.first_chunk_mut() {
                Some(chunk) if whole => chunk,
                _ => &mut scratch,
            });
            let (part, rest) = out.split_at_mut(take);
            if !whole {
                part.copy_from_slice(&scratch[skip..skip + take]);
            }
            (out, skip) = (rest, 0);
        }
        reader.group.zeroize();
        scratch.zeroize();
    }
}

/// Reads the fast lane group by group.
struct Reader<'a, W> {
    key: &'a [u8; 32],
    words: W,
    position: u64,
    group: [u64; GROUP],
    scale: f64,
    step: f64,
}

impl<W: Words> Reader<'_, W> {
    /// The next group of numbers. Always inlined, to be compiled for the vector unit at hand.
    #[inline(always)]
    fn group<const FUSED: bool>(&mut self, out: &mut [f64; GROUP]) {
        self.words.next(&mut self.group);
        if !kernel::group::<FUSED, true>(&self.group, self.scale, self.step, out) {
            settle_group(self.key, self.position, &self.group, self.scale, self.step, out);
        }
        self.position = self.position.wrapping_add(GROUP as u64);
    }
}

/// Find every number of a group again, with exact digits where its rounding is open.
///
/// All of them: what the kernel left in `out` need not agree with what is found here about an open one.
#[cold]
#[inline(never)]
fn settle_group(
    key: &[u8; 32],
    position: u64,
    words: &[u64; GROUP],
    scale: f64,
    step: f64,
    out: &mut [f64; GROUP],
) {
    let cells = scale / step;
    for i in 0..PAIRS {
        let index = position.wrapping_add(i as u64);
        let u = Uniform::fast(words[i], index);
        let w = Uniform::fast(words[PAIRS + i], index.wrapping_add(PAIRS as u64));
        let ((a, b), error) = approximate(&u, &w);
        // The last term covers the rounding of this very test (numbers below 2^40).
        let reach = cells * error + 1e-3;
        let rounded = |z: f64| {
            let (low, high) = (cells * z - reach, cells * z + reach);
            (low.round_ties_even() == high.round_ties_even()).then(|| low.round_ties_even())
        };
        let (a, b) = rounded(a).zip(rounded(b)).unwrap_or_else(|| {
            let (a, b) = exact_cells(key, &u, &w, cells);
            (a as f64, b as f64)
        });
        out[i] = (a + 0.0) * step; // no negative zero
        out[PAIRS + i] = (b + 0.0) * step;
    }
}

/// `round(cells·Z)` for both numbers of a pair.
fn exact_cells(key: &[u8; 32], u: &Uniform, w: &Uniform, cells: f64) -> (i64, i64) {
    settle(|further| {
        let (a, b) = exact(key, u, w, further)?;
        let cells = Ball::float(cells, working_digits(further));
        Some((a.mul(&cells).round()?, b.mul(&cells).round()?))
    })
}

#[cfg(test)]
mod tests {
    use rand_core::Rng as _;

    use super::*;
    use crate::{Purpose, Source};

    fn stream(seed: u64) -> Stream {
        Source::seeded_not_private(seed).stream(Purpose::Noise)
    }

    /// Groups whose radius words visit both ends of the range and every power of two.
    fn groups(seed: u64, count: usize) -> Vec<[u64; GROUP]> {
        let mut rng = stream(seed);
        (0..count)
            .map(|_| {
                let mut words = core::array::from_fn(|_| rng.next_u64());
                for (i, word) in words[..PAIRS / 2].iter_mut().enumerate() {
                    *word >>= i % 17;
                    if i % 2 == 1 {
                        *word = !(*word >> 7);
                    }
                }
                words
            })
            .collect()
    }

    fn kernel_error<const FUSED: bool>() -> f64 {
        let key = [9; 32];
        let mut worst: f64 = 0.0;
        for words in groups(3, 40) {
            let mut out = [0.0; GROUP];
            kernel::group::<FUSED, false>(&words, 1.0, 1.0, &mut out);
            for i in 0..PAIRS {
                if !(kernel::LEAST..=kernel::LARGEST).contains(&words[i]) {
                    continue;
                }
                let u = Uniform::fast(words[i], i as u64);
                let w = Uniform::fast(words[PAIRS + i], (PAIRS + i) as u64);
                let (a, b) = settle(|further| exact(&key, &u, &w, further));
                let distance = |ball: &Ball, near: f64| {
                    let near = Ball::float(near, 256);
                    ball.rescale(256).sub(&near).to_f64().0.abs()
                };
                let radius = out[i].hypot(out[PAIRS + i]);
                let bound = kernel::ERROR_PER_RADIUS * radius + kernel::ERROR_FIXED;
                worst = worst.max(distance(&a, out[i]) / bound);
                worst = worst.max(distance(&b, out[PAIRS + i]) / bound);
            }
        }
        worst
    }

    #[test]
    fn the_kernel_errs_by_less_than_its_bound() {
        for worst in [kernel_error::<false>(), kernel_error::<true>()] {
            assert!(worst <= 1.0, "error {worst} times the bound");
            assert!(worst > 0.1, "the bound is idle: {worst}");
        }
    }

    #[test]
    fn every_number_is_the_ideal_one_rounded() {
        let key = [5; 32];
        let (first, scale, step) = (3, 0.7, 2_f64.powi(-28));
        let mut out = vec![0.0; 40 * GROUP];
        fill(&key, first * GROUP as u64, scale, step, &mut out);
        let mut source = Portable::new(&key, first);
        for (g, group) in (first..).zip(out.as_chunks::<GROUP>().0) {
            let mut words = [0; GROUP];
            source.next(&mut words);
            for i in 0..PAIRS {
                let index = g * GROUP as u64 + i as u64;
                let u = Uniform::fast(words[i], index);
                let w = Uniform::fast(words[PAIRS + i], index + PAIRS as u64);
                let (a, b) = exact_cells(&key, &u, &w, scale / step);
                assert_eq!((group[i], group[PAIRS + i]), (a as f64 * step, b as f64 * step));
            }
        }
    }

    #[test]
    fn a_machine_without_vectors_gives_the_same_numbers() {
        let key = [6; 32];
        // A grid fine enough that many roundings are open and settled.
        let step = 2_f64.powi(-36);
        let (mut here, mut there) = (vec![0.0; 1 << 18], vec![0.0; 1 << 18]);
        fill(&key, 5, 1.0, step, &mut here);
        let plain = Fill { key: &key, start: 5, scale: 1.0, step, out: &mut there };
        plain.run::<false, _>(Portable::new(&key, 0));
        assert_eq!(here, there);
    }

    #[test]
    fn open_roundings_and_words_at_the_ends_are_settled_exactly() {
        // Every pair of a group with impossible luck: radius words at and beyond both ends.
        let key = [7; 32];
        let mut words = groups(8, 1)[0];
        for (i, word) in words[..PAIRS].iter_mut().enumerate() {
            *word = if i % 2 == 0 { (1 << (i % 48)) - 1 } else { !((1 << (i % 39)) - 1) };
        }
        let mut out = [0.0; GROUP];
        let step = 1.0 / CELLS;
        assert!(!kernel::group::<false, true>(&words, 1.0, step, &mut out));
        settle_group(&key, 0, &words, 1.0, step, &mut out);
        for i in 0..PAIRS {
            let u = Uniform::fast(words[i], i as u64);
            let w = Uniform::fast(words[PAIRS + i], (PAIRS + i) as u64);
            let (a, b) = exact_cells(&key, &u, &w, CELLS);
            assert_eq!((out[i], out[PAIRS + i]), (a as f64 * step, b as f64 * step));
            let radius = out[i].hypot(out[PAIRS + i]);
            if words[i] == 0 {
                // 64 zero digits: the radius must lie beyond √(128 ln 2) = 9.419 and go on.
                assert!(radius > 9.419, "{radius}");
            } else if i % 2 == 0 {
                let wanted = (-2.0 * ((words[i] as f64 + 0.5).ln() - 64.0 * 2_f64.ln())).sqrt();
                let room = 0.3 / words[i] as f64 + 1e-8;
                assert!((radius - wanted).abs() < room, "{radius} {wanted}");
            }
        }
    }

    #[test]
    fn one_word_at_an_end_is_enough_for_doubt() {
        for end in [0, kernel::LEAST - 1, kernel::LARGEST + 1, u64::MAX] {
            for place in 0..PAIRS {
                let mut words = [1 << 63; GROUP];
                words[..PAIRS].fill(0x9e37_79b9_7f4a_7c15);
                let mut out = [0.0; GROUP];
                assert!(kernel::group::<false, true>(&words, 1.0, 1.0 / CELLS, &mut out));
                words[place] = end;
                assert!(!kernel::group::<false, true>(&words, 1.0, 1.0 / CELLS, &mut out));
            }
        }
    }

    #[test]
    fn beyond_eight_deviations_the_law_is_still_normal() {
        // Importance sampling: force the first 46 digits of u to 0, an event of odds 2^-46 that puts R beyond
        // √(2·46·ln 2) = 7.986. Then R²/2 - 46 ln 2 is a standard exponential number, and the share of |Z| > 8.2, times
        // 2^-46, estimates P(|Z| > 8.2) = erfc(8.2/√2).
        let key = [4; 32];
        let mut rng = stream(10);
        let pairs = 8000;
        let (mut surplus, mut beyond) = (Vec::new(), 0);
        for i in 0..pairs {
            let u = Uniform::fast(rng.next_u64() >> 46, 2 * i);
            let w = Uniform::fast(rng.next_u64(), 2 * i + 1);
            let (a, b) = exact_cells(&key, &u, &w, CELLS);
            let (a, b) = (a as f64 / CELLS, b as f64 / CELLS);
            surplus.push(f64::midpoint(a * a, b * b) - 46.0 * core::f64::consts::LN_2);
            beyond += u32::from(a.abs() > 8.2) + u32::from(b.abs() > 8.2);
        }
        surplus.sort_by(f64::total_cmp);
        let n = pairs as f64;
        let distance = surplus.iter().enumerate().fold(0.0_f64, |worst, (i, x)| {
            let cdf = -(-x).exp_m1();
            worst.max((cdf - i as f64 / n).abs()).max((cdf - (i + 1) as f64 / n).abs())
        });
        assert!(distance < (2e9_f64.ln() / (2.0 * n)).sqrt(), "{distance}"); // false alarm 1e-9
        let wanted = libm::erfc(8.2 / core::f64::consts::SQRT_2) * 2_f64.powi(46) * 2.0 * n;
        let off = (f64::from(beyond) - wanted) / wanted.sqrt();
        assert!(wanted > 200.0 && off.abs() < 6.0, "{beyond} beyond, {wanted} expected");
    }

    #[test]
    fn threads_and_chunks_do_not_change_a_number() {
        let mut whole = vec![0.0; 5000];
        fill_standard_gaussian(&mut [0.0; 13], &mut stream(1));
        let mut s = stream(1);
        fill_standard_gaussian(&mut [0.0; 13], &mut s);
        fill_standard_gaussian(&mut whole, &mut s);

        let mut s = stream(1);
        fill_standard_gaussian(&mut [0.0; 13], &mut s);
        let reserved = Reserved::new(5000, &mut s);
        let mut parts = vec![0.0; 5000];
        std::thread::scope(|scope| {
            let mut rest = parts.as_mut_slice();
            let mut offset = 0;
            for size in [1, 700, 127, 128, 129, 2000, 1915] {
                let (part, tail) = rest.split_at_mut(size);
                rest = tail;
                let reserved = &reserved;
                scope.spawn(move || reserved.fill(offset, part).unwrap());
                offset += size;
            }
        });
        assert_eq!(whole, parts);
        assert!(reserved.fill(4999, &mut [0.0; 2]).is_err());
    }

    #[test]
    fn a_release_does_not_depend_on_its_cutting_and_lies_on_the_grid() {
        let mechanism = FastGaussian::new(0.3, 1.7, 999).unwrap();
        let values: Vec<f64> = (0..999).map(|i| (f64::from(i) * 0.37).sin() * 1e3).collect();
        let mut whole = values.clone();
        mechanism.release_in_place(&mut whole, &mut stream(4));
        let mut parts = values;
        let reserved = Reserved::new(999, &mut stream(4));
        let mut offset = 0;
        for chunk in parts.chunks_mut(100) {
            mechanism.release_chunk(offset, chunk, &reserved);
            offset += 100;
        }
        assert_eq!(whole, parts);
        assert!(whole.iter().all(|v| (v / mechanism.grid()).fract() == 0.0));
        assert!(mechanism.sigma() >= 1.7 * (0.3 + mechanism.grid() * 999_f64.sqrt()));
        assert!(mechanism.sigma() < 1.7 * 0.3 * 1.0001);
    }

    #[test]
    fn values_that_are_not_numbers_become_noise_and_nothing_else() {
        let mechanism = FastGaussian::new(1.0, 1.0, 4).unwrap();
        let mut odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX];
        mechanism.release_in_place(&mut odd, &mut stream(4));
        let mut zeros = [0.0; 4];
        mechanism.release_in_place(&mut zeros, &mut stream(4));
        assert_eq!(odd[..3], zeros[..3]);
        assert!(odd[3].is_finite());
    }
}
