//! The words of the fast lane, a group at a time.
//!
//! Group `g` is made of the sixteen ChaCha20 blocks `16g, …, 16g + 15` of the lane, each of eight 64-bit words. The radius words are the
//! first eight blocks, the angle words the last eight; within each half, word `j` of block `b` stands at `8j + σ(b)`, where `σ`
//! lists the blocks in the order 0, 1, 4, 5, 2, 3, 6, 7. This is the order in which eight blocks computed side by side leave an AVX2
//! register, so nothing has to be moved; any fixed order gives independent words.
//!
//! [`Portable`] reads the words from the `chacha20` crate. [`Wide`] computes sixteen blocks side by side, in registers of AVX2
//! or of AVX-512; the tests hold both against the first.

#![allow(
    clippy::inline_always,
    reason = "only inlined code is compiled for the vector unit at hand"
)]

#[cfg(target_arch = "x86_64")]
mod wide;

use chacha20::ChaCha20Rng;
use rand_core::Rng as _;
use zeroize::Zeroize as _;

#[cfg(target_arch = "x86_64")]
use self::wide::{Avx2, Avx512, Wide};
use super::kernel::{Arithmetic, GROUP, PAIRS, Plain};
use crate::source::fast_words;

/// Delivers groups of words, one after the other.
pub(super) trait Words {
    /// The next group.
    fn next(&mut self, out: &mut [u64; GROUP]);
}

/// The words by way of the `chacha20` crate.
pub(super) struct Portable {
    rng: ChaCha20Rng,
}

impl Portable {
    /// Start at the given group.
    pub(super) fn new(key: &[u8; 32], group: u64) -> Self {
        Self { rng: fast_words(key, group * GROUP as u64) }
    }
}

impl Words for Portable {
    fn next(&mut self, out: &mut [u64; GROUP]) {
        const ORDER: [usize; 8] = [0, 1, 4, 5, 2, 3, 6, 7];
        let mut bytes = [0; 64];
        for half in out.as_chunks_mut::<PAIRS>().0 {
            for place in ORDER {
                self.rng.fill_bytes(&mut bytes);
                for (j, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
                    half[8 * j + place] = u64::from_le_bytes(*word);
                }
            }
        }
        bytes.zeroize();
    }
}

/// What is done with the words, compiled for the vector unit at hand.
pub(super) trait Task {
    /// Does it. Must be inlined.
    fn run(self, arithmetic: impl Arithmetic, words: impl Words);
}

/// Do `task` with the words from `group` on, in the widest registers at hand.
pub(super) fn with_words(key: &[u8; 32], group: u64, task: impl Task) {
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(simd) = pulp::x86::V4::try_new() {
            return simd.vectorize(Vectorised(task, simd, Wide::new(Avx512(simd), key, group)));
        }
        if let Some(simd) = pulp::x86::V3::try_new() {
            return simd.vectorize(Vectorised(
                task,
                Plain::<true>,
                Wide::new(Avx2::new(simd), key, group),
            ));
        }
    }
    let words = Portable::new(key, group);
    if cfg!(target_arch = "aarch64") {
        task.run(Plain::<true>, words); // fused and vectorised without being asked
    } else {
        task.run(Plain::<false>, words);
    }
}

/// A structure and not a closure: the call of a closure is inlined only if the compiler pleases.
#[cfg(target_arch = "x86_64")]
struct Vectorised<T, A, W>(T, A, W);

#[cfg(target_arch = "x86_64")]
impl<T: Task, A: Arithmetic, W: Words> pulp::NullaryFnOnce for Vectorised<T, A, W> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.run(self.1, self.2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also across the place where the block counter leaves 32 bits.
    #[cfg(target_arch = "x86_64")]
    fn are_the_same_words(lanes: impl wide::Lanes) {
        let key = core::array::from_fn(|i| (i * 37 + 5) as u8);
        for start in [0, 1, 1000, (1 << 28) - 3, u64::MAX / 256] {
            let mut wide = Wide::new(lanes, &key, start);
            let mut portable = Portable::new(&key, start);
            for _ in 0..8 {
                let (mut a, mut b) = ([0; GROUP], [0; GROUP]);
                wide.next(&mut a);
                portable.next(&mut b);
                assert_eq!(a, b);
                assert!(a.iter().all(|&w| w != 0));
            }
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn sixteen_blocks_side_by_side_are_the_same_words() {
        if let Some(simd) = pulp::x86::V3::try_new() {
            are_the_same_words(Avx2::new(simd));
        }
        if let Some(simd) = pulp::x86::V4::try_new() {
            are_the_same_words(Avx512(simd));
        }
    }
}
