//! Where the random bits come from.
//!
//! A [`Source`] holds one 256-bit master key, taken from the operating system. It never gives out
//! bits itself: every use asks for a [`Stream`], whose own 256-bit key is a block of ChaCha20 under
//! the master key, at an address `(purpose, number of the stream)` that is used once. Two streams
//! are therefore independent as long as ChaCha20 (RFC 8439, 20 rounds, 64-bit counter and nonce) is
//! a pseudo-random function, whatever their purposes. Nothing in this module takes a value computed
//! from data, so a source cannot be reseeded from data.
//!
//! Inside a stream, ChaCha20's 64-bit nonce separates *lanes* that never touch:
//!
//! | nonce | holds |
//! | --- | --- |
//! | 0 | the words [`rand_core::Rng`] hands out, in order |
//! | 1 | the words of [`crate::fast`], each at the position of the number it makes |
//! | 2^32 + level | further binary digits of a uniform number begun on lane 0 |
//! | 2^33 + level | further binary digits of a uniform number begun on lane 1 |
//!
//! Keys and buffered words are overwritten with zeros when a source or stream is dropped.
//!
//! # Example
//!
//! ```
//! use reticent_noise::{Purpose, Randomness, Source};
//! use rand_core::Rng as _;
//!
//! let source = Source::from_os()?;
//! assert_eq!(source.randomness(), Randomness::Secure);
//! let mut noise = source.stream(Purpose::Noise);
//! let mut sampling = source.stream(Purpose::Sampling);
//! assert_ne!(noise.next_u64(), sampling.next_u64());
//! # Ok::<(), reticent_noise::NoiseError>(())
//! ```

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use std::convert::Infallible;

use chacha20::ChaCha20Rng;
use dashu_int::UBig;
use rand_core::{Rng as _, SeedableRng as _, TryCryptoRng, TryRng};
use zeroize::{Zeroize as _, ZeroizeOnDrop, Zeroizing};

use crate::NoiseError;

/// Whether a statement that relies on a source may be called private.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Randomness {
    /// Seeded by the operating system: nobody can repeat the draws.
    Secure,
    /// Seeded by a number somebody knows: every certificate it touches is void.
    Seeded,
}

/// The purpose of a stream. Streams of different purposes share no bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Noise added to a release.
    Noise,
    /// Which rows join a batch.
    Sampling,
    /// The order in which rows are read.
    Shuffling,
    /// Starting points, random features and other public choices.
    Initial,
}

impl Purpose {
    const COUNT: usize = 4;

    fn index(self) -> usize {
        match self {
            Self::Noise => 0,
            Self::Sampling => 1,
            Self::Shuffling => 2,
            Self::Initial => 3,
        }
    }
}

/// The root of all randomness of a run.
///
/// # Guarantee
///
/// Every call to [`Source::stream`] gives a stream no earlier call has given. For a seeded source
/// the `k`-th stream of a purpose is the same in every run, whatever the other purposes did.
///
/// A forked child holds a copy of its parent's sources. Their keys are not used there: every stream
/// that a child asks a secure source of its parent's for has a key of its own from the operating
/// system, so that no two processes add the same noise.
pub struct Source {
    master: Zeroizing<[u8; 32]>,
    handed_out: [AtomicU64; Purpose::COUNT],
    randomness: Randomness,
    /// The process that made it.
    process: u32,
}

impl Source {
    /// A source keyed by 256 bits from the operating system.
    ///
    /// # Errors
    ///
    /// [`NoiseError::NoRandomness`] if the operating system refuses.
    pub fn from_os() -> Result<Self, NoiseError> {
        let mut master = Zeroizing::new([0; 32]);
        getrandom::fill(master.as_mut_slice())
            .map_err(|e| NoiseError::NoRandomness { reason: e.to_string() })?;
        Ok(Self::with_master(master, Randomness::Secure))
    }

    /// A repeatable source for tests, teaching and reproduction. **Nothing drawn from it is
    /// private**: anyone who knows the seed can subtract the noise.
    pub fn seeded_not_private(seed: u64) -> Self {
        let mut master = Zeroizing::new(*b"reticent seeded, not private.8 b");
        master[24..].copy_from_slice(&seed.to_le_bytes());
        Self::with_master(master, Randomness::Seeded)
    }

    fn with_master(master: Zeroizing<[u8; 32]>, randomness: Randomness) -> Self {
        let process = std::process::id();
        Self { master, handed_out: Default::default(), randomness, process }
    }

    /// Whether what is drawn from here may be called private.
    pub fn randomness(&self) -> Randomness {
        self.randomness
    }

    /// A fresh stream, independent of every other.
    pub fn stream(&self, purpose: Purpose) -> Stream {
        Stream::with_key(self.fresh_key(purpose), self.randomness)
    }

    /// The key of a fresh stream.
    pub(crate) fn fresh_key(&self, purpose: Purpose) -> Zeroizing<[u8; 32]> {
        if self.randomness == Randomness::Secure && self.process != std::process::id() {
            let mut key = Zeroizing::new([0; 32]);
            if getrandom::fill(key.as_mut_slice()).is_err() {
                // The system gave random bits when the source was made. Without them the only
                // noise at hand is the parent's.
                std::process::abort();
            }
            return key;
        }
        let number = self.handed_out[purpose.index()].fetch_add(1, Ordering::Relaxed);
        let mut parent = ChaCha20Rng::from_seed(*self.master);
        parent.set_stream(purpose.index() as u64);
        parent.set_block_pos(number);
        let mut key = Zeroizing::new([0; 32]);
        parent.fill_bytes(key.as_mut_slice());
        key
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("randomness", &self.randomness).finish_non_exhaustive()
    }
}

/// Lane of the words handed out in order.
const LANE_WORDS: u64 = 0;
/// Lane of the words that become fast Gaussians.
pub(crate) const FAST_NONCE: u64 = 1;
/// Base of the lanes that extend numbers begun on [`LANE_WORDS`].
const LANE_MORE_WORDS: u64 = 1 << 32;
/// Base of the lanes that extend numbers begun on [`FAST_NONCE`].
const LANE_MORE_FAST: u64 = 1 << 33;

/// An endless sequence of independent uniform bits, wiped on drop.
///
/// Not `Clone`: two copies of one stream would add the same noise twice. A fork makes such copies:
/// open streams after it, from the source.
pub struct Stream {
    key: Zeroizing<[u8; 32]>,
    words: ChaCha20Rng,
    next_uniform: u64,
    next_fast: u64,
    randomness: Randomness,
}

impl Stream {
    pub(crate) fn with_key(key: Zeroizing<[u8; 32]>, randomness: Randomness) -> Self {
        let words = lane(&key, LANE_WORDS);
        Self { key, words, next_uniform: 0, next_fast: 0, randomness }
    }

    /// Whether what is drawn from here may be called private.
    pub fn randomness(&self) -> Randomness {
        self.randomness
    }

    /// A fresh uniform real number, of which 64 binary digits are known so far.
    pub(crate) fn uniform(&mut self) -> Uniform {
        let index = self.next_uniform;
        self.next_uniform += 1;
        Uniform { first: self.words.next_u64(), lane: LANE_MORE_WORDS, index }
    }

    /// Fresh uniform numbers.
    pub(crate) fn uniforms(&mut self, count: usize) -> Vec<Uniform> {
        (0..count).map(|_| self.uniform()).collect()
    }

    /// Set `count` positions of the fast lane aside, and give the first.
    pub(crate) fn reserve_fast(&mut self, count: u64) -> u64 {
        let start = self.next_fast;
        self.next_fast += count;
        start
    }

    /// The key, for the fast lane's own reader.
    pub(crate) fn key(&self) -> &Zeroizing<[u8; 32]> {
        &self.key
    }
}

/// A uniform real number in `[0, 1)`: 64 digits and the address of all the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uniform {
    /// The first 64 binary digits.
    pub(crate) first: u64,
    lane: u64,
    index: u64,
}

impl Uniform {
    /// The number whose first digits are the word at `index` of the fast lane.
    pub(crate) fn fast(first: u64, index: u64) -> Self {
        Self { first, lane: LANE_MORE_FAST, index }
    }
}

/// The binary digits of `uniform` as one number: the 64 known ones, then `further` words more.
/// The same digits come back every time.
pub(crate) fn digits(key: &[u8; 32], uniform: &Uniform, further: usize) -> UBig {
    let mut all = UBig::from(uniform.first);
    for level in 0..further as u64 {
        let mut rng = lane(key, uniform.lane + level);
        rng.set_word_pos(u128::from(uniform.index) * 2); // positions count 32-bit words
        all = (all << 64) | UBig::from(rng.next_u64());
    }
    all
}

/// ChaCha20 under `key` at the start of the lane `nonce`.
fn lane(key: &[u8; 32], nonce: u64) -> ChaCha20Rng {
    let mut rng = ChaCha20Rng::from_seed(*key);
    rng.set_stream(nonce);
    rng
}

impl TryRng for Stream {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.words.next_u32())
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.words.next_u64())
    }

    #[inline]
    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        self.words.fill_bytes(dst);
        Ok(())
    }
}

impl TryCryptoRng for Stream {}

impl ZeroizeOnDrop for Stream {}

impl Drop for Stream {
    fn drop(&mut self) {
        self.key.zeroize(); // `words` wipes its own state and buffer
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("randomness", &self.randomness).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(stream: &mut Stream) -> [u64; 4] {
        core::array::from_fn(|_| stream.next_u64())
    }

    #[test]
    fn lanes_are_chacha20_as_another_implementation_has_it() {
        let key = [42; 32];
        for (nonce, position) in [(0, 0), (1, 5), (LANE_MORE_FAST + 3, 1 << 40)] {
            let mut ours = lane(&key, nonce);
            ours.set_word_pos(position);
            let mut theirs = rand_chacha::ChaCha20Rng::from_seed(key);
            theirs.set_stream(nonce);
            theirs.set_word_pos(position);
            for _ in 0..200 {
                assert_eq!(ours.next_u64(), theirs.next_u64());
            }
        }
    }

    #[test]
    fn a_seed_repeats_and_purposes_do_not_disturb_each_other() {
        let a = Source::seeded_not_private(1);
        let b = Source::seeded_not_private(1);
        let _ = b.stream(Purpose::Sampling); // extra streams of one purpose leave the others alone
        let (first, second) =
            (words(&mut a.stream(Purpose::Noise)), words(&mut a.stream(Purpose::Noise)));
        assert_eq!(first, words(&mut b.stream(Purpose::Noise)));
        assert_eq!(second, words(&mut b.stream(Purpose::Noise)));
        assert_ne!(first, second);
    }

    #[test]
    fn a_source_of_the_parent_gives_a_child_keys_of_its_own() {
        let copy = |of: &Source, process: u32| Source {
            master: of.master.clone(),
            handed_out: Default::default(),
            randomness: of.randomness,
            process,
        };
        let here = std::process::id();
        let os = Source::from_os().unwrap();
        let children = [copy(&os, here.wrapping_add(1)), copy(&os, here.wrapping_add(1))];
        for purpose in [Purpose::Noise, Purpose::Sampling, Purpose::Shuffling, Purpose::Initial] {
            let parent = words(&mut copy(&os, here).stream(purpose));
            assert_eq!(parent, words(&mut os.stream(purpose)), "the same process, the same key");
            let [a, b] = [0, 1].map(|i: usize| words(&mut children[i].stream(purpose)));
            let again = words(&mut children[0].stream(purpose));
            assert!(parent != a && parent != b && a != b && a != again);
        }
        // Anyone who gives a seed asks for the same numbers everywhere.
        let seeded = Source::seeded_not_private(3);
        let child = copy(&seeded, here.wrapping_add(1));
        assert_eq!(
            words(&mut child.stream(Purpose::Noise)),
            words(&mut seeded.stream(Purpose::Noise))
        );
    }

    #[test]
    fn all_streams_differ() {
        let mut seen = std::collections::HashSet::new();
        for source in [
            Source::seeded_not_private(0),
            Source::seeded_not_private(1),
            Source::from_os().unwrap(),
            Source::from_os().unwrap(),
        ] {
            for purpose in [Purpose::Noise, Purpose::Sampling, Purpose::Shuffling, Purpose::Initial]
            {
                for _ in 0..10 {
                    assert!(seen.insert(source.stream(purpose).next_u64()));
                }
            }
        }
    }

    #[test]
    fn only_the_operating_system_makes_a_secure_source() {
        let os = Source::from_os().unwrap();
        assert_eq!(os.randomness(), Randomness::Secure);
        assert_eq!(os.stream(Purpose::Noise).randomness(), Randomness::Secure);
        let seeded = Source::seeded_not_private(5);
        assert_eq!(seeded.randomness(), Randomness::Seeded);
        assert_eq!(seeded.stream(Purpose::Noise).randomness(), Randomness::Seeded);
    }

    #[test]
    fn keys_do_not_show_and_are_wiped() {
        fn wiped<T: ZeroizeOnDrop>() {}
        wiped::<Stream>();
        wiped::<Zeroizing<[u8; 32]>>();
        wiped::<ChaCha20Rng>();
        let source = Source::seeded_not_private(5);
        assert_eq!(format!("{source:?}"), "Source { randomness: Seeded, .. }");
        let shown = format!("{:?}", source.stream(Purpose::Noise));
        assert_eq!(shown, "Stream { randomness: Seeded, .. }");
    }

    #[test]
    fn sources_and_streams_travel_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Source>();
        shared::<Stream>();
    }
}
