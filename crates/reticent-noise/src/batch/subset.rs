//! Uniform subsets and permutations, by integer decisions alone.

use std::collections::HashSet;

use crate::integer::uniform_below;
use crate::{NoiseError, Stream};

use super::countable;

/// A uniform subset of `size` of the rows `0..n`, ascending: all `C(n, size)` subsets have equal
/// odds.
///
/// Floyd's algorithm (Bentley, Floyd 1987): for `j = n - size, …, n - 1` draw `t` uniformly in
/// `0..=j` and take `t`, or `j` if `t` is taken already. A subset of more than half the rows is
/// drawn by its complement.
///
/// # Errors
///
/// [`NoiseError::OutOfRange`] unless `size <= n <= 2^50`.
///
/// # Example
///
/// ```
/// use reticent_noise::{Purpose, Source, batch};
///
/// let mut stream = Source::from_os()?.stream(Purpose::Sampling);
/// let rows = batch::uniform_subset(1_000_000, 256, &mut stream)?;
/// assert_eq!(rows.len(), 256);
/// # Ok::<(), reticent_noise::NoiseError>(())
/// ```
pub fn uniform_subset(
    n: usize,
    size: usize,
    stream: &mut Stream,
) -> Result<Vec<usize>, NoiseError> {
    countable("n", n as u64)?;
    if size > n {
        return Err(NoiseError::out_of_range("size", "at most n", size as f64));
    }
    if size > n / 2 {
        let mut out = few(n, n - size, stream).into_iter().peekable();
        return Ok((0..n).filter(|row| out.next_if_eq(row).is_none()).collect());
    }
    Ok(few(n, size, stream))
}

/// Floyd's algorithm, with a bit per row when that is small and a hash set otherwise.
fn few(n: usize, size: usize, stream: &mut Stream) -> Vec<usize> {
    let mut draw = |j: usize| uniform_below(j as u64 + 1, stream) as usize;
    if size >= n / 64 {
        let mut taken = vec![0_u64; n.div_ceil(64)];
        for j in n - size..n {
            let t = draw(j);
            let row = if taken[t / 64] >> (t % 64) & 1 == 1 { j } else { t };
            taken[row / 64] |= 1 << (row % 64);
        }
        let mut rows = Vec::with_capacity(size);
        for (block, mut bits) in taken.into_iter().enumerate() {
            while bits != 0 {
                rows.push(64 * block + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
        return rows;
    }
    let mut taken = HashSet::with_capacity(size);
    for j in n - size..n {
        if !taken.insert(draw(j)) {
            taken.insert(j);
        }
    }
    let mut rows: Vec<usize> = taken.into_iter().collect();
    rows.sort_unstable();
    rows
}

/// Put `items` into a uniformly random order (Fisher, Yates; Durstenfeld 1964).
pub fn shuffle<T>(items: &mut [T], stream: &mut Stream) {
    for i in (1..items.len()).rev() {
        let j = uniform_below(i as u64 + 1, stream) as usize;
        items.swap(i, j);
    }
}

/// A uniformly random order of `0..n`.
pub fn permutation(n: usize, stream: &mut Stream) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    shuffle(&mut order, stream);
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Source};

    /// Chi-square statistic of counts that should be equal.
    fn unevenness(counts: impl Iterator<Item = u32>, wanted: f64) -> f64 {
        counts.map(|c| (f64::from(c) - wanted).powi(2) / wanted).sum()
    }

    #[test]
    fn every_subset_has_equal_odds() {
        let mut stream = Source::seeded_not_private(61).stream(Purpose::Sampling);
        // 10 subsets of 2 of 5, 10 of 3 of 5 (by complement): 9 degrees of freedom, 60 has odds
        // 1.3e-9.
        for size in [2, 3] {
            let mut counts = std::collections::HashMap::new();
            for _ in 0..50_000 {
                let rows = uniform_subset(5, size, &mut stream).unwrap();
                assert!(rows.len() == size && rows.windows(2).all(|w| w[0] < w[1]));
                *counts.entry(rows).or_insert(0_u32) += 1;
            }
            assert_eq!(counts.len(), 10);
            assert!(unevenness(counts.into_values(), 5000.0) < 60.0);
        }
        assert_eq!(uniform_subset(4, 4, &mut stream).unwrap(), [0, 1, 2, 3]);
        assert!(uniform_subset(0, 0, &mut stream).unwrap().is_empty());
        assert!(uniform_subset(3, 4, &mut stream).is_err());
    }

    #[test]
    fn sparse_subsets_are_even_too() {
        // The hash-set branch: 20 of 20,000, counted in 20 bins; 19 degrees of freedom, 85 has odds
        // 2e-10.
        let mut stream = Source::seeded_not_private(62).stream(Purpose::Sampling);
        let mut bins = [0_u32; 20];
        for _ in 0..5000 {
            for row in uniform_subset(20_000, 20, &mut stream).unwrap() {
                bins[row / 1000] += 1;
            }
        }
        assert!(unevenness(bins.into_iter(), 5000.0) < 85.0);
    }

    #[test]
    fn every_order_has_equal_odds() {
        let mut stream = Source::seeded_not_private(63).stream(Purpose::Shuffling);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..48_000 {
            *counts.entry(permutation(4, &mut stream)).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        assert!(unevenness(counts.into_values(), 2000.0) < 90.0); // 23 degrees of freedom: 6e-10
        assert!(permutation(0, &mut stream).is_empty());
    }
}
