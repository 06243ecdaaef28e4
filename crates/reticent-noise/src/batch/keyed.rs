//! Poisson batches that anybody who holds the key can draw again, from any place in the table.
//!
//! Whether a row joins the batch of a step is a function of `(key, step, row)` alone. The rows are
//! cut into blocks of [`BLOCK`] consecutive ones; a block of a step has a ChaCha20 stream of its
//! own, and geometric gaps walk through it ([`Geometric`], exact odds). So a table in memory, a
//! stream of row groups and a cluster that repeats a lost task all draw the same batch, each part
//! by itself, for `q n` logarithms and `n / 4096` keys.
//!
//! # Independence
//!
//! The key of a block's stream is the ChaCha20 block under the sampling key at the nonce `step` and
//! the counter `row / 4096`, 256 bits of it. Each address is used for one key, so as long as
//! ChaCha20 is a pseudo-random function the streams are independent, hence so are the rows of
//! different blocks and of different steps; within a block the gaps make the rows independent. A
//! step's batch is that of the event "each row on its own with probability `q`".

use core::fmt;
use core::ops::Range;

use chacha20::ChaCha20Rng;
use rand_core::{Rng as _, SeedableRng as _};
use zeroize::Zeroizing;

use super::{Geometric, chance};
use crate::{NoiseError, Purpose, Randomness, Source, Stream};

/// Rows that share a stream.
const BLOCK: usize = 4096;

/// The secret from which the batches of a run are drawn. Wiped on drop; never shown.
pub struct SampleKey {
    key: Zeroizing<[u8; 32]>,
    randomness: Randomness,
}

impl SampleKey {
    /// A fresh key, independent of every stream of the source.
    pub fn new(source: &Source) -> Self {
        Self { key: source.fresh_key(Purpose::Sampling), randomness: source.randomness() }
    }

    /// Whether a batch drawn with this key may be called secret.
    pub fn randomness(&self) -> Randomness {
        self.randomness
    }

    /// The key itself, **for those who hold the rows, and nobody else**: anyone who has it knows
    /// every batch, and amplification by sampling is gone. Keep it as secretly as the rows.
    pub fn secret_for_workers(&self) -> Zeroizing<[u8; 32]> {
        self.key.clone()
    }

    /// The key that those who hold the rows were sent.
    pub fn for_workers(secret: Zeroizing<[u8; 32]>, randomness: Randomness) -> Self {
        Self { key: secret, randomness }
    }

    fn stream(&self, step: u64, block: u64) -> Stream {
        let mut parent = ChaCha20Rng::from_seed(*self.key);
        parent.set_stream(step);
        parent.set_block_pos(block);
        let mut key = Zeroizing::new([0; 32]);
        parent.fill_bytes(key.as_mut_slice());
        Stream::with_key(key, self.randomness)
    }
}

impl fmt::Debug for SampleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SampleKey").field("randomness", &self.randomness).finish_non_exhaustive()
    }
}

/// The chance with which each row joins, checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleRate {
    rate: f64,
    /// Gaps between the rows that join, or for rates above 1/2 between those that stay out; none
    /// for 0 and 1.
    gaps: Option<Geometric>,
}

impl SampleRate {
    /// The chance `rate`, exactly as the `f64` says.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] unless it is a probability.
    pub fn new(rate: f64) -> Result<Self, NoiseError> {
        let rate = chance("sample_rate", rate)?;
        // 1 - rate is exact for rates in [1/2, 1].
        let rarer = if rate <= 0.5 { rate } else { 1.0 - rate };
        let gaps = if rarer > 0.0 { Some(Geometric::new(rarer)?) } else { None };
        Ok(Self { rate, gaps })
    }

    /// The chance.
    pub fn value(self) -> f64 {
        self.rate
    }
}

/// The batch of one step.
#[derive(Clone, Copy, Debug)]
pub struct Draw<'a> {
    /// The run's key.
    pub key: &'a SampleKey,
    /// Which step. A step's batch is drawn once; to draw it again is to repeat it.
    pub step: u64,
    /// The chance with which each row joins.
    pub rate: SampleRate,
}

impl Draw<'_> {
    /// Anyone who cuts the table at multiples of this walks through no block of it twice. Any other
    /// cut gives the same rows.
    pub const CUT: usize = BLOCK;

    /// Appends those of `rows` (numbered in the whole table) that join, ascending.
    ///
    /// # Guarantee
    ///
    /// Cutting the table into other ranges gives the same batch. Its size is binomial and
    /// **secret**, like its rows.
    ///
    /// # Cost
    ///
    /// Some 40 nanoseconds per row that joins and a microsecond for each block of 4096 rows that
    /// the range touches.
    ///
    /// # Example
    ///
    /// ```
    /// use reticent_noise::Source;
    /// use reticent_noise::batch::{Draw, SampleKey, SampleRate};
    ///
    /// let key = SampleKey::new(&Source::from_os()?);
    /// let draw = Draw { key: &key, step: 0, rate: SampleRate::new(0.01)? };
    /// let (mut whole, mut parts) = (Vec::new(), Vec::new());
    /// draw.rows(0..100_000, &mut whole);
    /// draw.rows(0..77_777, &mut parts);
    /// draw.rows(77_777..100_000, &mut parts);
    /// assert_eq!(whole, parts);
    /// # Ok::<(), reticent_noise::NoiseError>(())
    /// ```
    pub fn rows(&self, rows: Range<usize>, into: &mut Vec<usize>) {
        if rows.is_empty() {
            return;
        }
        let Some(gaps) = self.rate.gaps else {
            if self.rate.rate > 0.0 {
                into.extend(rows);
            }
            return;
        };
        let mut first = rows.start / BLOCK * BLOCK;
        while first < rows.end {
            let block = rows.start.max(first)..rows.end.min(first + BLOCK);
            let mut stream = self.key.stream(self.step, (first / BLOCK) as u64);
            let walk = KeyedWalk { row: first as u64, gaps, stream: &mut stream };
            let walk = walk.skip_while(|&row| row < block.start).take_while(|&row| row < block.end);
            if self.rate.rate <= 0.5 {
                into.extend(walk);
            } else {
                let mut out = walk.peekable();
                into.extend(block.clone().filter(|row| out.next_if_eq(row).is_none()));
            }
            first += BLOCK;
        }
    }
}

/// Rows at geometric gaps, without end.
struct KeyedWalk<'a> {
    row: u64,
    gaps: Geometric,
    stream: &'a mut Stream,
}

impl Iterator for KeyedWalk<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let row = self.row.saturating_add(self.gaps.sample(self.stream));
        self.row = row.saturating_add(1);
        Some(usize::try_from(row).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(key: &SampleKey, step: u64, rate: f64, rows: Range<usize>) -> Vec<usize> {
        let mut into = Vec::new();
        Draw { key, step, rate: SampleRate::new(rate).unwrap() }.rows(rows, &mut into);
        into
    }

    fn key(seed: u64) -> SampleKey {
        SampleKey::new(&Source::seeded_not_private(seed))
    }

    #[test]
    fn any_part_of_the_table_is_drawn_alone() {
        let key = key(1);
        for rate in [1e-4, 0.01, 0.3, 0.5, 0.7, 0.999, 1.0] {
            for step in [0, 1, u64::MAX] {
                let whole = batch(&key, step, rate, 0..20_000);
                assert!(whole.is_sorted_by(|a, b| a < b));
                for cut in [1, 4095, 4096, 4097, 12_345, 19_999] {
                    let mut parts = batch(&key, step, rate, 0..cut);
                    parts.extend(batch(&key, step, rate, cut..20_000));
                    assert_eq!(whole, parts);
                }
            }
        }
    }

    #[test]
    fn batch_sizes_are_binomial_and_rows_independent() {
        // Two rows of one block, one of the next; 200,000 steps. Limits are 5.5 deviations or more,
        // 4e-8 each.
        let (key, n, runs) = (key(2), 5000, 200_000_u32);
        let q = 0.002;
        let watched = [17, 18, 4096];
        let (mut sum, mut squares, mut joint, mut alone) = (0.0, 0.0, [0_u32; 3], [0_u32; 3]);
        let mut repeats = 0_u32;
        let mut before = [false; 3];
        for step in 0..runs {
            let rows = batch(&key, u64::from(step), q, 0..n);
            let size = rows.len() as f64;
            (sum, squares) = (sum + size, squares + size * size);
            let now = watched.map(|row| rows.binary_search(&row).is_ok());
            for (i, (a, b)) in [(0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
                joint[i] += u32::from(now[a] && now[b]);
                alone[i] += u32::from(now[i]);
                repeats += u32::from(now[i] && before[i]);
            }
            before = now;
        }
        let runs = f64::from(runs);
        let (mean, variance) = (n as f64 * q, n as f64 * q * (1.0 - q));
        assert!((sum / runs - mean).abs() < 5.5 * (variance / runs).sqrt());
        let measured = squares / runs - (sum / runs).powi(2);
        assert!((measured / variance - 1.0).abs() < 0.02, "{measured} against {variance}");
        for alone in alone {
            assert!((f64::from(alone) - runs * q).abs() < 5.5 * (runs * q).sqrt());
        }
        // Expected 0.8 each and 2.4 in all: 12 and 17 have probability below 1e-9.
        assert!(joint.iter().all(|&both| both < 12), "{joint:?}");
        assert!(repeats < 17, "{repeats}");
    }

    #[test]
    fn every_row_has_its_chance_wherever_it_stands() {
        // A chi-square of 8200 rows over 3000 steps, beyond 6 deviations with probability below
        // 1e-8.
        for q in [0.05, 0.6] {
            let (n, runs) = (8200, 3000_u32);
            let key = key(3);
            let mut count = vec![0_u32; n];
            for step in 0..runs {
                for row in batch(&key, u64::from(step), q, 0..n) {
                    count[row] += 1;
                }
            }
            let (mean, variance) = (f64::from(runs) * q, f64::from(runs) * q * (1.0 - q));
            let chi: f64 = count.iter().map(|&c| (f64::from(c) - mean).powi(2) / variance).sum();
            assert!((chi - n as f64).abs() < 6.0 * (2.0 * n as f64).sqrt(), "{chi}");
        }
    }

    #[test]
    fn certain_impossible_and_tiny_rates() {
        let key = key(4);
        assert_eq!(batch(&key, 0, 1.0, 4090..5000), (4090..5000).collect::<Vec<_>>());
        assert!(batch(&key, 0, 0.0, 0..10_000).is_empty());
        assert!(batch(&key, 0, 1e-300, 0..100_000).is_empty());
        assert!(batch(&key, 0, 0.5, 7..7).is_empty());
        assert!(SampleRate::new(f64::NAN).is_err() && SampleRate::new(1.5).is_err());
    }

    #[test]
    fn keys_steps_and_sources_give_other_batches_and_a_worker_the_same() {
        let source = Source::from_os().unwrap();
        let (a, b) = (SampleKey::new(&source), SampleKey::new(&source));
        let first = batch(&a, 5, 0.1, 0..5000);
        assert_ne!(first, batch(&b, 5, 0.1, 0..5000));
        assert_ne!(first, batch(&a, 6, 0.1, 0..5000));
        let kept = SampleKey::for_workers(a.secret_for_workers(), a.randomness());
        assert_eq!(first, batch(&kept, 5, 0.1, 0..5000));
        assert_eq!(kept.randomness(), Randomness::Secure);
        assert_eq!(key(9).randomness(), Randomness::Seeded);
        assert_eq!(format!("{kept:?}"), "SampleKey { randomness: Secure, .. }");
    }
}
