//! The words of the fast lane, a group at a time.
//!
//! Group `g` is made of the sixteen ChaCha20 blocks `16g, …, 16g + 15` of the lane, each of eight
//! 64-bit words. The radius words are the first eight blocks, the angle words the last eight;
//! within each half, word `j` of block `b` stands at `8j + σ(b)`, where `σ` lists the blocks in the
//! order 0, 1, 4, 5, 2, 3, 6, 7. Any fixed order gives independent words; this one is kept so that
//! a seed gives the same noise in every version.
//!
//! The blocks come from the cipher of the `chacha20` crate, which makes up to sixteen side by side.

#![allow(
    clippy::inline_always,
    reason = "only inlined code is compiled for the vector unit at hand"
)]

use chacha20::ChaCha20LegacyCore;
use chacha20::cipher::{Block, KeyIvInit as _, StreamCipherCore as _};
use zeroize::Zeroize as _;

use super::kernel::{Arithmetic, GROUP, PAIRS, Plain};
use crate::source::FAST_NONCE;

/// The blocks of a group.
const BLOCKS: usize = 16;

/// Where the words of each of eight blocks stand.
const ORDER: [usize; 8] = [0, 1, 4, 5, 2, 3, 6, 7];

/// Delivers groups of words, one after the other. The key is overwritten when it is dropped.
pub(super) struct Words {
    cipher: ChaCha20LegacyCore,
    blocks: [Block<ChaCha20LegacyCore>; BLOCKS],
}

impl Words {
    /// Start at the given group.
    pub(super) fn new(key: &[u8; 32], group: u64) -> Self {
        let nonce = FAST_NONCE.to_le_bytes();
        let mut cipher = ChaCha20LegacyCore::new(key.into(), &nonce.into());
        cipher.set_block_pos(group.wrapping_mul(BLOCKS as u64));
        Self { cipher, blocks: Default::default() }
    }

    /// The next group.
    #[inline(always)]
    pub(super) fn next(&mut self, out: &mut [u64; GROUP]) {
        self.cipher.write_keystream_blocks(&mut self.blocks);
        let halves = out.as_chunks_mut::<PAIRS>().0;
        for (half, blocks) in halves.iter_mut().zip(self.blocks.as_chunks::<8>().0) {
            for (block, place) in blocks.iter().zip(ORDER) {
                for (j, word) in block.as_chunks::<8>().0.iter().enumerate() {
                    half[8 * j + place] = u64::from_le_bytes(*word);
                }
            }
        }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        for block in &mut self.blocks {
            block.as_mut_slice().zeroize();
        }
    }
}

/// An operation on the words, compiled for the vector unit at hand.
pub(super) trait WordsTask {
    /// Runs on the words of a lane. Must be inlined.
    fn run(self, arithmetic: impl Arithmetic, words: Words);
}

/// Do `task` with the words from `group` on, in the widest registers at hand.
pub(super) fn with_words(key: &[u8; 32], group: u64, task: impl WordsTask) {
    let words = Words::new(key, group);
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(simd) = pulp::x86::V4::try_new() {
            return simd.vectorize(Vectorised(task, simd, words));
        }
        if let Some(simd) = pulp::x86::V3::try_new() {
            return simd.vectorize(Vectorised(task, Plain::<true>, words));
        }
    }
    if cfg!(target_arch = "aarch64") {
        task.run(Plain::<true>, words); // fused and vectorised without being asked
    } else {
        task.run(Plain::<false>, words);
    }
}

/// A structure and not a closure: the call of a closure is inlined only if the compiler pleases.
#[cfg(target_arch = "x86_64")]
struct Vectorised<T, A>(T, A, Words);

#[cfg(target_arch = "x86_64")]
impl<T: WordsTask, A: Arithmetic> pulp::NullaryFnOnce for Vectorised<T, A> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.run(self.1, self.2);
    }
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng as _, SeedableRng as _};

    use super::*;

    /// The crate's generator is other code than its cipher, and reads one word after the other.
    /// Also across the place where the block counter leaves 32 bits.
    #[test]
    fn words_are_those_of_the_lane_in_their_order() {
        let key = core::array::from_fn(|i| (i * 37 + 5) as u8);
        for start in [0, 1, 1000, (1 << 28) - 3, u64::MAX / 256] {
            let mut words = Words::new(&key, start);
            let mut lane = chacha20::ChaCha20Rng::from_seed(key);
            lane.set_stream(FAST_NONCE);
            lane.set_word_pos(u128::from(start) * 2 * GROUP as u128);
            for _ in 0..8 {
                let (mut got, mut want) = ([0; GROUP], [0; GROUP]);
                words.next(&mut got);
                for half in want.as_chunks_mut::<PAIRS>().0 {
                    for place in ORDER {
                        (0..8).for_each(|j| half[8 * j + place] = lane.next_u64());
                    }
                }
                assert_eq!(got, want);
            }
        }
    }

    /// Seeded noise stays what it is, whatever a later version of the crate does.
    #[test]
    fn the_first_words_stay_what_they_were() {
        let (mut words, mut out) = (Words::new(&[7; 32], 3), [0; GROUP]);
        words.next(&mut out);
        let kept = [out[0], out[1], out[2], out[63], out[64], out[127]];
        let want = [
            0xafe3_2a1f_4652_4ad2,
            0xd778_866d_2b5e_7b88,
            0xfdbb_367e_60a4_c1eb,
            0x38bc_a88d_d26f_3146,
            0x00dd_e01f_bd2a_a1b7,
            0x7fe0_5252_08fc_d635,
        ];
        assert_eq!(kept, want);
    }
}
