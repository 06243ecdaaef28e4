//! Uniform subsets again and again, without allocation.

use crate::integer::uniform_below;
use crate::{NoiseError, Stream};

use super::countable;

/// Draws uniform subsets of `size` of the rows `0..n`: all `C(n, size)` subsets have equal odds,
/// each draw independent.
///
/// Floyd's algorithm, as in [`uniform_subset`](super::uniform_subset), with a bit for each row that
/// is set while its row is taken. The order of the rows in a draw is not uniform.
///
/// # Example
///
/// ```
/// use reticent_noise::{Purpose, Source, batch::Subsets};
///
/// let mut stream = Source::from_os()?.stream(Purpose::Sampling);
/// let mut subsets = Subsets::new(1_000_000, 32)?;
/// assert_eq!(subsets.draw(&mut stream).len(), 32);
/// # Ok::<(), reticent_noise::NoiseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Subsets {
    n: usize,
    rows: Vec<usize>,
    taken: Vec<u64>,
}

impl Subsets {
    /// Subsets of `size` of `n` rows.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] unless `size <= n <= 2^50`.
    pub fn new(n: usize, size: usize) -> Result<Self, NoiseError> {
        countable("n", n as u64)?;
        if size > n {
            return Err(NoiseError::out_of_range("size", "at most n", size as f64));
        }
        // One row needs no record of the others.
        let bits = if size > 1 { n.div_ceil(64) } else { 0 };
        Ok(Self { n, rows: vec![0; size], taken: vec![0; bits] })
    }

    /// The next subset.
    pub fn draw(&mut self, stream: &mut Stream) -> &[usize] {
        let Self { n, rows, taken } = self;
        if let [row] = &mut rows[..] {
            *row = uniform_below(*n as u64, stream) as usize;
            return rows;
        }
        for &row in rows.iter() {
            taken[row / 64] &= !(1 << (row % 64));
        }
        let first = *n - rows.len();
        for (row, j) in rows.iter_mut().zip(first..) {
            let t = uniform_below(j as u64 + 1, stream) as usize;
            *row = if taken[t / 64] >> (t % 64) & 1 == 1 { j } else { t };
            taken[*row / 64] |= 1 << (*row % 64);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Source};

    #[test]
    fn every_subset_has_equal_odds_in_every_draw() {
        let mut stream = Source::seeded_not_private(64).stream(Purpose::Sampling);
        for (size, ways) in [(1, 5), (2, 10), (3, 10), (5, 1)] {
            let mut subsets = Subsets::new(5, size).unwrap();
            let mut counts = std::collections::HashMap::new();
            for _ in 0..50_000 {
                let mut rows = subsets.draw(&mut stream).to_vec();
                rows.sort_unstable();
                assert!(rows.len() == size && rows.windows(2).all(|w| w[0] < w[1]));
                *counts.entry(rows).or_insert(0_u32) += 1;
            }
            assert_eq!(counts.len(), ways);
            let wanted = 50_000.0 / ways as f64;
            let off: f64 = counts.values().map(|c| (f64::from(*c) - wanted).powi(2) / wanted).sum();
            assert!(off < 60.0, "{off}"); // at most 9 degrees of freedom: odds 1.3e-9
        }
        assert!(Subsets::new(3, 4).is_err());
        assert!(Subsets::new(3, 0).unwrap().draw(&mut stream).is_empty());
    }

    #[test]
    fn draws_are_independent_of_the_one_before() {
        // Whether row 0 is in two neighbouring draws of 3 of 9: chance 1/9; 20,000 pairs, five
        // deviations of as many independent ones. Pairs that overlap make that 4.1 deviations:
        // false alarm 5e-5.
        let mut stream = Source::seeded_not_private(65).stream(Purpose::Sampling);
        let mut subsets = Subsets::new(9, 3).unwrap();
        let joins: Vec<bool> =
            (0..20_001).map(|_| subsets.draw(&mut stream).contains(&0)).collect();
        let both = joins.windows(2).filter(|w| w[0] && w[1]).count() as f64;
        assert!((both - 20_000.0 / 9.0).abs() < 5.0 * (20_000.0_f64 * 8.0 / 81.0).sqrt(), "{both}");
    }
}
