//! Coins with rational and exponential odds, exact to the last bit.
//!
//! A coin of odds `a/b` compares a uniform real number `u` with `a/b`. The digits of `u` are drawn
//! 64 at a time and only until the comparison is settled, so no digit is ever guessed: after one
//! word it is open with probability at most `b/2^64`. A coin of odds `e^(-a/b)` is a race of such
//! coins (Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, 2020,
//! Algorithm 1; the idea is von Neumann's, 1951).

use rand_core::Rng;

/// `true` with probability exactly `min(1, numerator / denominator)`; a denominator of 0 counts
/// as 1.
#[inline]
pub fn bernoulli<R: Rng + ?Sized>(numerator: u64, denominator: u64, rng: &mut R) -> bool {
    let denominator = denominator.max(1);
    if numerator >= denominator {
        return true;
    }
    let mut numerator = numerator;
    loop {
        // u = (word + rest)/2^64 with rest in [0, 1); the coin asks u·denominator < numerator.
        let known = u128::from(rng.next_u64()) * u128::from(denominator);
        let wanted = u128::from(numerator) << 64;
        if known >= wanted {
            return false;
        }
        if known + u128::from(denominator) <= wanted {
            return true;
        }
        // below the denominator: now it asks rest·denominator < numerator
        numerator = (wanted - known) as u64;
    }
}

/// `true` with probability exactly `e^(-numerator/denominator)`; a denominator of 0 counts as 1.
#[inline]
pub fn bernoulli_exp<R: Rng + ?Sized>(numerator: u64, denominator: u64, rng: &mut R) -> bool {
    let denominator = denominator.max(1);
    for _ in 0..numerator / denominator {
        if !bernoulli_exp_unit(1, 1, rng) {
            return false;
        }
    }
    bernoulli_exp_unit(numerator % denominator, denominator, rng)
}

/// As [`bernoulli_exp`], for `numerator <= denominator`.
///
/// The first failure of coins with odds `x/1, x/2, x/3, …` comes at an odd place with probability
/// `Σ (-x)^k/k! = e^(-x)`.
#[inline]
pub(crate) fn bernoulli_exp_unit<R: Rng + ?Sized>(
    numerator: u64,
    denominator: u64,
    rng: &mut R,
) -> bool {
    let mut place = 1;
    loop {
        let heads = match denominator.checked_mul(place) {
            Some(product) => bernoulli(numerator, product, rng),
            None => bernoulli(numerator, denominator, rng) && bernoulli(1, place, rng),
        };
        if !heads {
            return place % 2 == 1;
        }
        place += 1;
    }
}

/// A uniform integer in `0..bound`; 0 if the bound is 0 or 1.
///
/// Lemire's multiply-and-reject (*Fast Random Integer Generation in an Interval*, 2019): a word is
/// refused exactly when it would give some values one word more than others.
#[inline]
pub fn uniform_below<R: Rng + ?Sized>(bound: u64, rng: &mut R) -> u64 {
    if bound <= 1 {
        return 0;
    }
    let mut product = u128::from(rng.next_u64()) * u128::from(bound);
    if (product as u64) < bound {
        let surplus = bound.wrapping_neg() % bound;
        while (product as u64) < surplus {
            product = u128::from(rng.next_u64()) * u128::from(bound);
        }
    }
    (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out the given words, then panics.
    struct Script(Vec<u64>);

    impl rand_core::TryRng for Script {
        type Error = core::convert::Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            Ok(self.0.remove(0) as u32)
        }
        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            Ok(self.0.remove(0))
        }
        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
            unreachable!()
        }
    }

    #[test]
    fn a_coin_reads_as_many_digits_as_it_needs() {
        // 1/3 = 0.0101…: the first word of its expansion settles nothing, nor does the second.
        let third = u64::MAX / 3;
        let coin = |words: &[u64]| {
            let mut rng = Script(words.to_vec());
            let heads = bernoulli(1, 3, &mut rng);
            assert!(rng.0.is_empty(), "{} words left", rng.0.len());
            heads
        };
        assert!(coin(&[third - 1]));
        assert!(!coin(&[third + 1]));
        assert!(coin(&[third, third - 1]));
        assert!(!coin(&[third, third + 1]));
        assert!(coin(&[third, third, 0]));
        assert!(!coin(&[third, third, u64::MAX]));
        // Dyadic odds never need a second word, and odds of 1 or more need none.
        assert!(bernoulli(1, 2, &mut Script(vec![(1 << 63) - 1])));
        assert!(!bernoulli(1, 2, &mut Script(vec![1 << 63])));
        assert!(bernoulli(7, 7, &mut Script(vec![])));
        assert!(!bernoulli(0, 7, &mut Script(vec![0])));
    }

    #[test]
    fn bounded_integers_refuse_the_surplus_words_only() {
        // 2^64 = 3·k + 1: exactly one word, 0, is surplus.
        assert_eq!(uniform_below(3, &mut Script(vec![0, u64::MAX])), 2);
        assert_eq!(uniform_below(3, &mut Script(vec![1])), 0);
        // No surplus for a power of two.
        assert_eq!(uniform_below(8, &mut Script(vec![0])), 0);
        assert_eq!(uniform_below(1, &mut Script(vec![])), 0);
        assert_eq!(uniform_below(0, &mut Script(vec![])), 0);
    }
}
