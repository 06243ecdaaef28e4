//! The words of the fast lane, a group at a time.
//!
//! Group `g` is made of the sixteen ChaCha20 blocks `16g, …, 16g + 15` of the lane, each of eight 64-bit words. The radius words are the
//! first eight blocks, the angle words the last eight; within each half, word `j` of block `b` stands at `8j + σ(b)`, where `σ`
//! lists the blocks in the order 0, 1, 4, 5, 2, 3, 6, 7. This is the order in which eight blocks computed side by side leave an AVX2
//! register, so nothing has to be moved; any fixed order gives independent words.
//!
//! [`Portable`] reads the words from the `chacha20` crate. [`Wide`] computes eight blocks side by side with AVX2 (about 1.5 times as
//! fast); the tests hold it against the other.

use chacha20::ChaCha20Rng;
use rand_core::Rng as _;
use zeroize::Zeroize as _;

use super::kernel::{GROUP, PAIRS};
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

#[cfg(target_arch = "x86_64")]
pub(super) use self::wide::Wide;

#[cfg(target_arch = "x86_64")]
mod wide {
    #![allow(
        clippy::inline_always,
        reason = "only inlined code is compiled for the vector unit at hand"
    )]

    use core::arch::x86_64::__m256i;

    use pulp::x86::V3;
    use zeroize::Zeroize as _;

    use super::{GROUP, PAIRS, Words};
    use crate::source::FAST_NONCE;

    /// The words by eight ChaCha20 blocks side by side: register `i` holds word `i` of the state of each.
    pub(in super::super) struct Wide {
        simd: V3,
        state: [[u32; 8]; 16],
        block: u64,
        rotations: Rotations,
    }

    impl Wide {
        /// Start at the given group. The token shows that the machine has AVX2.
        pub(in super::super) fn new(simd: V3, key: &[u8; 32], group: u64) -> Self {
            let mut state = [[0; 8]; 16];
            let constants = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]; // "expand 32-byte k"
            for (row, word) in state[..4].iter_mut().zip(constants) {
                *row = [word; 8];
            }
            for (row, word) in state[4..12].iter_mut().zip(key.as_chunks::<4>().0) {
                *row = [u32::from_le_bytes(*word); 8];
            }
            state[14] = [FAST_NONCE as u32; 8];
            state[15] = [(FAST_NONCE >> 32) as u32; 8];
            Self { simd, state, block: group.wrapping_mul(16), rotations: Rotations::new() }
        }

        /// The next eight blocks.
        #[inline(always)]
        fn half(&mut self, out: &mut [u64; PAIRS]) {
            let avx2 = self.simd.avx2;
            let blocks: [u64; 8] =
                core::array::from_fn(|lane| self.block.wrapping_add(lane as u64));
            self.block = self.block.wrapping_add(8);
            let mut start: [__m256i; 16] = pulp::cast(self.state);
            start[12] = pulp::cast(blocks.map(|block| block as u32));
            start[13] = pulp::cast(blocks.map(|block| (block >> 32) as u32));
            let mut x = start;
            for _ in 0..10 {
                double_round(self.simd, &mut x, self.rotations);
            }
            for (j, words) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let low = avx2._mm256_add_epi32(x[2 * j], start[2 * j]);
                let high = avx2._mm256_add_epi32(x[2 * j + 1], start[2 * j + 1]);
                *words = pulp::cast([
                    avx2._mm256_unpacklo_epi32(low, high),
                    avx2._mm256_unpackhi_epi32(low, high),
                ]);
            }
        }
    }

    impl Words for Wide {
        #[inline(always)]
        fn next(&mut self, out: &mut [u64; GROUP]) {
            for half in out.as_chunks_mut::<PAIRS>().0 {
                self.half(half);
            }
        }
    }

    impl Drop for Wide {
        fn drop(&mut self) {
            self.state.zeroize();
        }
    }

    /// Byte shuffles that rotate every 32-bit word left by 16 and by 8.
    ///
    /// Hidden from the optimiser: knowing them, it replaces each shuffle by two or three instructions.
    #[derive(Clone, Copy)]
    struct Rotations {
        by_16: __m256i,
        by_8: __m256i,
    }

    impl Rotations {
        fn new() -> Self {
            let hidden = core::hint::black_box([rotation(2), rotation(3)]);
            Self { by_16: pulp::cast(hidden[0]), by_8: pulp::cast(hidden[1]) }
        }
    }

    const fn rotation(first: u8) -> [u8; 32] {
        let mut bytes = [0; 32];
        let mut i = 0;
        while i < 32 {
            bytes[i as usize] = (i % 16) / 4 * 4 + (i + first) % 4;
            i += 1;
        }
        bytes
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(simd: V3, x: __m256i) -> __m256i {
        let avx2 = simd.avx2;
        avx2._mm256_or_si256(avx2._mm256_slli_epi32::<LEFT>(x), avx2._mm256_srli_epi32::<RIGHT>(x))
    }

    /// Four quarter rounds, step by step side by side.
    #[inline(always)]
    fn quarter_rounds(
        simd: V3,
        x: &mut [__m256i; 16],
        rotations: Rotations,
        quarters: [[usize; 4]; 4],
    ) {
        let avx2 = simd.avx2;
        let Rotations { by_16, by_8 } = rotations;
        for [a, b, _, d] in quarters {
            x[a] = avx2._mm256_add_epi32(x[a], x[b]);
            x[d] = avx2._mm256_shuffle_epi8(avx2._mm256_xor_si256(x[d], x[a]), by_16);
        }
        for [_, b, c, d] in quarters {
            x[c] = avx2._mm256_add_epi32(x[c], x[d]);
            x[b] = rotate::<12, 20>(simd, avx2._mm256_xor_si256(x[b], x[c]));
        }
        for [a, b, _, d] in quarters {
            x[a] = avx2._mm256_add_epi32(x[a], x[b]);
            x[d] = avx2._mm256_shuffle_epi8(avx2._mm256_xor_si256(x[d], x[a]), by_8);
        }
        for [_, b, c, d] in quarters {
            x[c] = avx2._mm256_add_epi32(x[c], x[d]);
            x[b] = rotate::<7, 25>(simd, avx2._mm256_xor_si256(x[b], x[c]));
        }
    }

    /// A column round and a diagonal round (RFC 8439, section 2.3).
    #[inline(always)]
    fn double_round(simd: V3, x: &mut [__m256i; 16], rotations: Rotations) {
        quarter_rounds(
            simd,
            x,
            rotations,
            [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]],
        );
        quarter_rounds(
            simd,
            x,
            rotations,
            [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]],
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn eight_blocks_side_by_side_are_the_same_words() {
        let Some(simd) = pulp::x86::V3::try_new() else { return };
        let key = core::array::from_fn(|i| (i * 37 + 5) as u8);
        // Also across the place where the block counter leaves 32 bits.
        for start in [0, 1, 1000, (1 << 28) - 3, u64::MAX / 256] {
            let mut wide = Wide::new(simd, &key, start);
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
}
