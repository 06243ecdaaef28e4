//! Fast Gaussian vectors: the default inside iterative methods.
//!
//! # Distribution
//!
//! Each number is **exactly** `round(c·Z)`, a whole number of cells, where `Z` is the ideal
//! standard normal number that the stream's endless digits stand for (the map is the header of
//! `normal.rs`) and `c` is the standard deviation in cells. Vector code evaluates `c·Z` in `f64`
//! with a proven error bound; the rounding is accepted when no value within the bound rounds to
//! another cell, and otherwise (about once in 500,000 numbers) it is found with as many digits as
//! it takes, from the same stream. So nothing is lost to finite precision:
//!
//! - every number carries 64 random bits, and further ones whenever a decision needs them;
//! - the tail is that of the normal law without end: beyond 8 standard deviations the radius comes
//!   from the exact branch, with all the digits it asks for;
//! - a number depends on the stream and its position alone, not on the machine's instruction set,
//!   the chunking or the number of threads.
//!
//! # Guarantee
//!
//! Let `v ∈ R^d` have l2 sensitivity `D`. [`FastGaussian`] rounds each coordinate of `v` to a
//! multiple of the cell width `g` (a power of two) and adds `g·round(c·Z_j)`. Rounding moves a
//! vector by at most `g√d/2`, so the rounded vector has sensitivity `D + g√d`; and because it lies
//! on the grid,
//!
//! ```text
//! round(v/g) + round(c·Z) = round(round(v/g) + c·Z):
//! ```
//!
//! the output is a function of the ideal Gaussian mechanism's output, with standard deviation
//! `g·c >= noise_multiplier·(D + g√d)`. Its privacy profile is that of the ideal mechanism, and
//! [`TOTAL_VARIATION_PER_DRAW`], the amount to add to delta for finite precision, is 0. The cells
//! are summed in `f64`, which is harmless: a rounded sum is a function of the exact one.
//!
//! Assumptions: ChaCha20 is a pseudo-random function, and `f64` arithmetic follows IEEE 754. Time
//! is not hidden: an open rounding takes some microseconds longer.

#![allow(
    clippy::inline_always,
    reason = "only inlined code is compiled for the vector unit at hand"
)]

mod kernel;
mod words;

use zeroize::{Zeroize as _, Zeroizing};

use self::kernel::{Arithmetic, Between, GROUP, Group, PAIRS, ROUND};
use self::words::{Words, WordsTask, with_words};
use crate::error::positive;
use crate::lattice::{ordinary_range, power_of_two_below, power_of_two_inverse, to_cells};
use crate::normal::{approximate, exact};
use crate::source::Uniform;
use crate::uniform::{settle, working_digits};
use crate::{NoiseError, Stream, ball::Ball};

/// The contribution of finite precision to delta for each number drawn: zero (see the module's
/// guarantee).
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

/// Fill `out` with independent uniform words, the digits that normal numbers are made of, at the
/// full speed of the source.
///
/// The words are taken from the same lane as the normal numbers, from positions of their own.
pub fn fill_words(out: &mut [u64], stream: &mut Stream) {
    // Whole groups, so that words and normal numbers never share a pair.
    let group = GROUP as u64;
    let used = stream.reserve_fast(0);
    let start = used.div_ceil(group);
    let end = start + (out.len() as u64).div_ceil(group);
    stream.reserve_fast(end * group - used);
    with_words(stream.key(), start, Copy { out });
}

/// Hands the words out as they are.
struct Copy<'a> {
    out: &'a mut [u64],
}

impl WordsTask for Copy<'_> {
    #[inline(always)]
    fn run(self, _: impl Arithmetic, mut words: Words) {
        let mut group = Zeroizing::new([0; GROUP]);
        for chunk in self.out.chunks_mut(GROUP) {
            words.next(&mut group);
            chunk.copy_from_slice(&group[..chunk.len()]);
        }
    }
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

    /// Fill `out` with the standard normal numbers from `offset` on, as [`fill_standard_gaussian`]
    /// would.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] if the stretch ends before `offset + out.len()`; nothing is
    /// written.
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
/// standard deviation [`FastGaussian::sigma`]
/// `>= noise_multiplier·(sensitivity + grid·√dimension)`.
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
        ordinary_range("sensitivity", sensitivity)?;
        ordinary_range("sensitivity * noise_multiplier", ideal)?;
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

    /// The contribution of finite precision to delta for one vector: zero.
    pub fn total_variation(&self) -> f64 {
        self.dimension as f64 * TOTAL_VARIATION_PER_DRAW
    }

    /// Round `values` to the grid and add noise, in place. Values that are not finite count as 0.
    pub fn release_in_place(&self, values: &mut [f64], stream: &mut Stream) {
        let reserved = Reserved::new(values.len(), stream);
        self.release_chunk(0, values, &reserved);
    }

    /// [`FastGaussian::release_in_place`] for the coordinates from `offset` on, so that threads may
    /// share a vector: any cutting gives the same result.
    ///
    /// Coordinates beyond the reserved stretch are set to 0: no value leaves without noise.
    pub fn release_chunk(&self, offset: usize, values: &mut [f64], reserved: &Reserved) {
        let within = reserved.len.saturating_sub(offset).min(values.len());
        let (values, beyond) = values.split_at_mut(within);
        beyond.fill(0.0);
        let start = reserved.start.wrapping_add(offset as u64);
        let (scale, step) = (self.sigma, self.grid);
        let task = Release { key: &reserved.key, start, scale, step, values };
        with_words(&reserved.key, start / GROUP as u64, task);
    }
}

/// [`FastGaussian`] for many short vectors: noise is drawn ahead in whole groups, so that a vector
/// that ends inside a group does not cost the whole of it.
///
/// The release is, bit for bit, that of [`FastGaussian::release_in_place`] from the same stream.
///
/// # Example
///
/// ```
/// use reticent_noise::{Purpose, Source, fast::{Ahead, FastGaussian}};
///
/// let law = FastGaussian::new(1.0, 2.0, 3)?;
/// let mut ahead = Ahead::new(law, Source::seeded_not_private(7).stream(Purpose::Noise));
/// let mut stream = Source::seeded_not_private(7).stream(Purpose::Noise);
/// for _ in 0..100 {
///     let (mut a, mut b) = ([0.1, -0.2, 0.3], [0.1, -0.2, 0.3]);
///     ahead.release_in_place(&mut a);
///     law.release_in_place(&mut b, &mut stream);
///     assert_eq!(a, b);
/// }
/// # Ok::<(), reticent_noise::NoiseError>(())
/// ```
pub struct Ahead {
    law: FastGaussian,
    stream: Stream,
    /// Numbers that are drawn, behind room for as many that were left over.
    noise: Zeroizing<Vec<f64>>,
    used: usize,
}

/// An operation on a noisy vector at once, while its numbers are in registers.
///
/// `lanes` are sixteen sums that begin at zero. They are handed over because they too must stay in
/// registers.
pub trait Follow {
    /// The result.
    type Output;
    /// Takes the next sixteen numbers. Must be inlined.
    fn chunk(&mut self, noisy: &[f64; 16], lanes: &mut [f64; 16]);
    /// Takes the numbers, fewer than sixteen, behind the last whole chunk. Must be inlined.
    fn rest(self, noisy: &[f64], lanes: [f64; 16]) -> Self::Output;
}

/// Nothing is done.
impl Follow for () {
    type Output = ();
    #[inline(always)]
    fn chunk(&mut self, _: &[f64; 16], _: &mut [f64; 16]) {}
    #[inline(always)]
    fn rest(self, _: &[f64], _: [f64; 16]) {}
}

/// The most numbers that [`Ahead::release_to`] takes, and how many are drawn ahead: few enough for
/// the nearest cache.
pub const AHEAD: usize = 32 * GROUP;

impl Ahead {
    /// Releases under `law` with noise from `stream`.
    pub fn new(law: FastGaussian, stream: Stream) -> Self {
        Self { law, stream, noise: Zeroizing::new(vec![0.0; 2 * AHEAD]), used: 2 * AHEAD }
    }

    /// As [`FastGaussian::release_in_place`].
    pub fn release_in_place(&mut self, values: &mut [f64]) {
        let (most, rest) = values.split_at_mut(values.len() - values.len() % AHEAD);
        for part in most.chunks_exact_mut(AHEAD) {
            self.release_to(part, ());
        }
        self.release_to(rest, ());
    }

    /// [`Ahead::release_in_place`] for up to [`AHEAD`] numbers, and what follows with them.
    ///
    /// # Panics
    ///
    /// For more numbers.
    #[inline]
    pub fn release_to<F: Follow>(&mut self, values: &mut [f64], follow: F) -> F::Output {
        let grid = self.law.grid;
        round_and_add(values, self.take(values.len()), grid, follow)
    }

    /// The next numbers of the noise, in one piece.
    #[inline]
    fn take(&mut self, len: usize) -> &[f64] {
        assert!(len <= AHEAD, "more noise than is drawn ahead");
        let left = self.noise.len() - self.used;
        if left < len {
            self.draw(left);
        }
        let first = self.used;
        self.used += len;
        &self.noise[first..self.used]
    }

    /// Draws ahead. The last `left` numbers go in front of the new ones.
    #[cold]
    fn draw(&mut self, left: usize) {
        self.noise.copy_within(self.used.., AHEAD - left);
        let start = self.stream.reserve_fast(AHEAD as u64);
        let Self { law, stream, noise, .. } = self;
        fill(stream.key(), start, law.sigma, law.grid, &mut noise[AHEAD..]);
        self.used = AHEAD - left;
    }
}

impl core::fmt::Debug for Ahead {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ahead").field("law", &self.law).finish_non_exhaustive()
    }
}

/// Round `values` to the grid and add `noise`, of which there is as much; `follow` sees each chunk.
#[inline]
fn round_and_add<F: Follow>(values: &mut [f64], noise: &[f64], grid: f64, follow: F) -> F::Output {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        move || round_and_add_inlined(values, noise, grid, follow),
    )
}

/// [`round_and_add`], to be compiled for the vector unit at hand.
#[inline(always)]
fn round_and_add_inlined<F: Follow>(
    values: &mut [f64],
    noise: &[f64],
    grid: f64,
    mut follow: F,
) -> F::Output {
    let per_cell = power_of_two_inverse(grid);
    let mut lanes = [0.0; 16];
    let (chunks, rest) = values.as_chunks_mut::<16>();
    let (noises, noise) = noise.as_chunks::<16>();
    for (values, noise) in chunks.iter_mut().zip(noises) {
        let mut cells = *values;
        // Adding ROUND rounds a number of cells below 2^51 and leaves the exponent alone; any other
        // shows there.
        let mut odd = false;
        for cells in &mut cells {
            *cells = cells.mul_add(per_cell, ROUND);
            odd |= (cells.to_bits() ^ ROUND.to_bits()) >> 52 != 0;
        }
        if odd {
            for l in 0..16 {
                cells[l] = to_cells(values[l], grid) * grid + noise[l];
            }
        } else {
            for l in 0..16 {
                cells[l] = (cells[l] - ROUND).mul_add(grid, noise[l]);
            }
        }
        follow.chunk(&cells, &mut lanes);
        *values = cells;
    }
    for (v, n) in rest.iter_mut().zip(noise) {
        let cells = *v * per_cell + ROUND;
        let odd = cells.to_bits() ^ ROUND.to_bits();
        let cells = if odd >> 52 == 0 { cells - ROUND } else { to_cells(*v, grid) };
        *v = cells * grid + *n;
    }
    follow.rest(rest, lanes)
}

/// Fill `out` with the normal numbers at the positions from `start` on, times `scale`, rounded to
/// multiples of `step`.
fn fill(key: &[u8; 32], start: u64, scale: f64, step: f64, out: &mut [f64]) {
    with_words(key, start / GROUP as u64, Fill { key, start, scale, step, out });
}

struct Fill<'a> {
    key: &'a [u8; 32],
    start: u64,
    scale: f64,
    step: f64,
    out: &'a mut [f64],
}

impl WordsTask for Fill<'_> {
    #[inline(always)]
    fn run(self, arithmetic: impl Arithmetic, words: Words) {
        let Self { key, start, scale, step, out } = self;
        let (mut reader, skip) = Reader::new(key, words, arithmetic, start, scale, step);
        let mut scratch = [0.0; GROUP];
        let (mut out, mut skip) = (out, skip);
        while !out.is_empty() {
            // One place computes groups, in place or (at the ends) by way of the scratch.
            let whole = skip == 0 && out.len() >= GROUP;
            let take = out.len().min(GROUP - skip);
            reader.group(match out.first_chunk_mut() {
                Some(chunk) if whole => chunk,
                _ => &mut scratch,
            });
            let (part, rest) = out.split_at_mut(take);
            if !whole {
                part.copy_from_slice(&scratch[skip..skip + take]);
            }
            (out, skip) = (rest, 0);
        }
        scratch.zeroize();
    }
}

/// Adds noise to rounded values, group by group: it is used while it is near, and leaves little
/// behind to be cleared.
struct Release<'a> {
    key: &'a [u8; 32],
    start: u64,
    scale: f64,
    step: f64,
    values: &'a mut [f64],
}

impl WordsTask for Release<'_> {
    #[inline(always)]
    fn run(self, arithmetic: impl Arithmetic, words: Words) {
        let Self { key, start, scale, step, mut values } = self;
        let (mut reader, mut skip) = Reader::new(key, words, arithmetic, start, scale, step);
        let mut noise = [0.0; GROUP];
        while !values.is_empty() {
            reader.group(&mut noise);
            let (part, rest) = values.split_at_mut(values.len().min(GROUP - skip));
            round_and_add_inlined(part, &noise[skip..skip + part.len()], step, ());
            (values, skip) = (rest, 0);
        }
        noise.zeroize();
    }
}

/// Reads the fast lane group by group.
struct Reader<'a, A> {
    key: &'a [u8; 32],
    words: Words,
    arithmetic: A,
    position: u64,
    group: Group,
    between: Between,
    scale: f64,
    step: f64,
}

impl<'a, A: Arithmetic> Reader<'a, A> {
    /// Reads from the group of position `start` on, and says how far into it that is. The words
    /// begin there too.
    #[inline(always)]
    fn new(
        key: &'a [u8; 32],
        words: Words,
        arithmetic: A,
        start: u64,
        scale: f64,
        step: f64,
    ) -> (Self, usize) {
        let skip = start % GROUP as u64;
        let (group, between) = (Group([0; GROUP]), Between::new());
        let position = start - skip;
        (Self { key, words, arithmetic, position, group, between, scale, step }, skip as usize)
    }

    /// The next group of numbers. Always inlined, to be compiled for the vector unit at hand.
    #[inline(always)]
    fn group(&mut self, out: &mut [f64; GROUP]) {
        self.words.next(&mut self.group.0);
        let Self { key, arithmetic, position, group, between, scale, step, .. } = self;
        if !kernel::group::<_, true>(*arithmetic, &group.0, *scale, *step, between, out) {
            settle_group(key, *position, &group.0, *scale, *step, out);
        }
        self.position = self.position.wrapping_add(GROUP as u64);
    }
}

/// Find every number of a group again, with exact digits where its rounding is open.
///
/// All of them: the kernel's values in `out` need not agree with the result here for an open one.
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
mod tests;
