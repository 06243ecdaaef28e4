//! Sixteen ChaCha20 blocks side by side: row `i` holds word `i` of the state of each (RFC 8439, section 2.3, with a 64-bit counter).
//!
//! A row is one register of AVX-512 or two of AVX2. The latter has too few for all rows, yet both halves of a group together are a tenth
//! faster than one after the other: a quarter round is a long chain, and there are two to work on wherever one has to wait for memory.

#![allow(
    clippy::inline_always,
    reason = "only inlined code is compiled for the vector unit at hand"
)]

use core::arch::x86_64::{__m256i, __m512i};

use pulp::x86::{V3, V4};
use zeroize::Zeroize as _;

use super::{GROUP, Words};
use crate::source::FAST_NONCE;

/// The blocks of a group.
const BLOCKS: usize = 16;

/// The registers of a machine.
pub(in super::super) trait Lanes: Copy {
    /// One word of each block.
    type Row: Copy;
    /// Whether there are registers for the whole state.
    const ROOMY: bool;

    /// The numbers of `words`.
    fn load(self, words: &[u32; BLOCKS]) -> Self::Row;
    /// The lower or the upper half of the numbers of the blocks from `first` on.
    fn numbers(self, first: u64, upper: bool) -> Self::Row;
    /// `a + b`.
    fn add(self, a: Self::Row, b: Self::Row) -> Self::Row;
    /// `a ^ b`, its words rotated to the left by 16.
    fn mix_16(self, a: Self::Row, b: Self::Row) -> Self::Row;
    /// The same by 12.
    fn mix_12(self, a: Self::Row, b: Self::Row) -> Self::Row;
    /// The same by 8.
    fn mix_8(self, a: Self::Row, b: Self::Row) -> Self::Row;
    /// The same by 7.
    fn mix_7(self, a: Self::Row, b: Self::Row) -> Self::Row;
    /// Put the 64-bit words `j` of the blocks where they stand.
    fn put(self, j: usize, low: Self::Row, high: Self::Row, out: &mut [u64; GROUP]);
}

/// The words, a group at a time.
pub(in super::super) struct Wide<L> {
    lanes: L,
    /// Every word of the state, once for each block.
    state: [[u32; BLOCKS]; 16],
    block: u64,
}

impl<L: Lanes> Wide<L> {
    /// Start at the given group.
    pub(super) fn new(lanes: L, key: &[u8; 32], group: u64) -> Self {
        let mut state = [0; 16];
        state[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]); // "expand 32-byte k"
        for (place, word) in state[4..12].iter_mut().zip(key.as_chunks::<4>().0) {
            *place = u32::from_le_bytes(*word);
        }
        state[14] = FAST_NONCE as u32;
        state[15] = (FAST_NONCE >> 32) as u32;
        let block = group.wrapping_mul(BLOCKS as u64);
        let wide = Self { lanes, state: state.map(|word| [word; BLOCKS]), block };
        state.zeroize();
        wide
    }
}

impl<L: Lanes> Words for Wide<L> {
    #[inline(always)]
    fn next(&mut self, out: &mut [u64; GROUP]) {
        let lanes = self.lanes;
        let mut start: [L::Row; 16] = core::array::from_fn(
            #[inline(always)]
            |i| lanes.load(&self.state[i]),
        );
        start[12] = lanes.numbers(self.block, false);
        start[13] = lanes.numbers(self.block, true);
        self.block = self.block.wrapping_add(BLOCKS as u64);
        let mut x = start;
        for _ in 0..10 {
            double_round(lanes, &mut x);
        }
        for j in 0..8 {
            let low = lanes.add(x[2 * j], start[2 * j]);
            let high = lanes.add(x[2 * j + 1], start[2 * j + 1]);
            lanes.put(j, low, high, out);
        }
    }
}

impl<L> Drop for Wide<L> {
    fn drop(&mut self) {
        self.state.zeroize();
    }
}

/// Four quarter rounds, step by step side by side.
#[inline(always)]
fn quarter_rounds<L: Lanes>(lanes: L, x: &mut [L::Row; 16], quarters: [[usize; 4]; 4]) {
    for [a, b, _, d] in quarters {
        x[a] = lanes.add(x[a], x[b]);
        x[d] = lanes.mix_16(x[d], x[a]);
    }
    for [_, b, c, d] in quarters {
        x[c] = lanes.add(x[c], x[d]);
        x[b] = lanes.mix_12(x[b], x[c]);
    }
    for [a, b, _, d] in quarters {
        x[a] = lanes.add(x[a], x[b]);
        x[d] = lanes.mix_8(x[d], x[a]);
    }
    for [_, b, c, d] in quarters {
        x[c] = lanes.add(x[c], x[d]);
        x[b] = lanes.mix_7(x[b], x[c]);
    }
}

/// A quarter round. The places are constants: a loop over them would not be unrolled, and the rows would go by way of memory.
#[inline(always)]
fn quarter<L: Lanes, const A: usize, const B: usize, const C: usize, const D: usize>(
    lanes: L,
    x: &mut [L::Row; 16],
) {
    let [mut a, mut b, mut c, mut d] = [x[A], x[B], x[C], x[D]];
    a = lanes.add(a, b);
    d = lanes.mix_16(d, a);
    c = lanes.add(c, d);
    b = lanes.mix_12(b, c);
    a = lanes.add(a, b);
    d = lanes.mix_8(d, a);
    c = lanes.add(c, d);
    b = lanes.mix_7(b, c);
    [x[A], x[B], x[C], x[D]] = [a, b, c, d];
}

/// A column round and a diagonal round.
#[inline(always)]
fn double_round<L: Lanes>(lanes: L, x: &mut [L::Row; 16]) {
    if L::ROOMY {
        quarter_rounds(lanes, x, [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]]);
        quarter_rounds(lanes, x, [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]]);
        return;
    }
    // One after the other, in the order in which they wait least for the last of the round before.
    quarter::<L, 0, 4, 8, 12>(lanes, x);
    quarter::<L, 1, 5, 9, 13>(lanes, x);
    quarter::<L, 2, 6, 10, 14>(lanes, x);
    quarter::<L, 3, 7, 11, 15>(lanes, x);
    quarter::<L, 1, 6, 11, 12>(lanes, x);
    quarter::<L, 0, 5, 10, 15>(lanes, x);
    quarter::<L, 3, 4, 9, 14>(lanes, x);
    quarter::<L, 2, 7, 8, 13>(lanes, x);
}

/// The lower or the upper half of the numbers of the blocks from `first` on.
#[inline(always)]
fn numbers(first: u64, upper: bool) -> [u32; BLOCKS] {
    core::array::from_fn(
        #[inline(always)]
        |lane| {
            let number = first.wrapping_add(lane as u64);
            (if upper { number >> 32 } else { number }) as u32
        },
    )
}

/// Eight blocks in each of two registers of AVX2.
#[derive(Clone, Copy)]
pub(in super::super) struct Avx2 {
    simd: V3,
    /// Byte shuffles that rotate every 32-bit word left by 16 and by 8. Hidden from the optimiser: knowing them, it replaces
    /// each shuffle by two or three instructions.
    by_16: __m256i,
    by_8: __m256i,
}

impl Avx2 {
    pub(super) fn new(simd: V3) -> Self {
        let hidden = core::hint::black_box([rotation(2), rotation(3)]);
        Self { simd, by_16: pulp::cast(hidden[0]), by_8: pulp::cast(hidden[1]) }
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self, x: __m256i) -> __m256i {
        let avx2 = self.simd.avx2;
        avx2._mm256_or_si256(avx2._mm256_slli_epi32::<LEFT>(x), avx2._mm256_srli_epi32::<RIGHT>(x))
    }

    #[inline(always)]
    fn xor(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        let avx2 = self.simd.avx2;
        [avx2._mm256_xor_si256(a[0], b[0]), avx2._mm256_xor_si256(a[1], b[1])]
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

impl Lanes for Avx2 {
    type Row = [__m256i; 2];
    const ROOMY: bool = false;

    #[inline(always)]
    fn load(self, words: &[u32; BLOCKS]) -> [__m256i; 2] {
        pulp::cast(*words)
    }

    #[inline(always)]
    fn numbers(self, first: u64, upper: bool) -> [__m256i; 2] {
        pulp::cast(numbers(first, upper))
    }

    #[inline(always)]
    fn add(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        let avx2 = self.simd.avx2;
        [avx2._mm256_add_epi32(a[0], b[0]), avx2._mm256_add_epi32(a[1], b[1])]
    }

    #[inline(always)]
    fn mix_16(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        let ([x, y], avx2) = (self.xor(a, b), self.simd.avx2);
        [avx2._mm256_shuffle_epi8(x, self.by_16), avx2._mm256_shuffle_epi8(y, self.by_16)]
    }

    #[inline(always)]
    fn mix_12(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        let [x, y] = self.xor(a, b);
        [self.rotate::<12, 20>(x), self.rotate::<12, 20>(y)]
    }

    #[inline(always)]
    fn mix_8(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        let ([x, y], avx2) = (self.xor(a, b), self.simd.avx2);
        [avx2._mm256_shuffle_epi8(x, self.by_8), avx2._mm256_shuffle_epi8(y, self.by_8)]
    }

    #[inline(always)]
    fn mix_7(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        let [x, y] = self.xor(a, b);
        [self.rotate::<7, 25>(x), self.rotate::<7, 25>(y)]
    }

    #[inline(always)]
    fn put(self, j: usize, low: [__m256i; 2], high: [__m256i; 2], out: &mut [u64; GROUP]) {
        let avx2 = self.simd.avx2;
        let out = out.as_chunks_mut::<8>().0;
        for h in 0..2 {
            out[8 * h + j] = pulp::cast([
                avx2._mm256_unpacklo_epi32(low[h], high[h]),
                avx2._mm256_unpackhi_epi32(low[h], high[h]),
            ]);
        }
    }
}

/// Sixteen blocks in the registers of AVX-512.
#[derive(Clone, Copy)]
pub(in super::super) struct Avx512(pub(super) V4);

impl Avx512 {
    #[inline(always)]
    fn mix<const LEFT: i32>(self, a: __m512i, b: __m512i) -> __m512i {
        let avx512 = self.0.avx512f;
        avx512._mm512_rol_epi32::<LEFT>(avx512._mm512_xor_si512(a, b))
    }
}

impl Lanes for Avx512 {
    type Row = __m512i;
    const ROOMY: bool = true;

    #[inline(always)]
    fn load(self, words: &[u32; BLOCKS]) -> __m512i {
        pulp::cast(*words)
    }

    #[inline(always)]
    fn numbers(self, first: u64, upper: bool) -> __m512i {
        pulp::cast(numbers(first, upper))
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        self.0.avx512f._mm512_add_epi32(a, b)
    }

    #[inline(always)]
    fn mix_16(self, a: __m512i, b: __m512i) -> __m512i {
        self.mix::<16>(a, b)
    }

    #[inline(always)]
    fn mix_12(self, a: __m512i, b: __m512i) -> __m512i {
        self.mix::<12>(a, b)
    }

    #[inline(always)]
    fn mix_8(self, a: __m512i, b: __m512i) -> __m512i {
        self.mix::<8>(a, b)
    }

    #[inline(always)]
    fn mix_7(self, a: __m512i, b: __m512i) -> __m512i {
        self.mix::<7>(a, b)
    }

    #[inline(always)]
    fn put(self, j: usize, low: __m512i, high: __m512i, out: &mut [u64; GROUP]) {
        let avx512 = self.0.avx512f;
        let even = avx512._mm512_unpacklo_epi32(low, high);
        let odd = avx512._mm512_unpackhi_epi32(low, high);
        let out = out.as_chunks_mut::<8>().0;
        out[j] = pulp::cast(avx512._mm512_shuffle_i64x2::<0x44>(even, odd)); // the lower halves
        out[8 + j] = pulp::cast(avx512._mm512_shuffle_i64x2::<0xee>(even, odd)); // the upper halves
    }
}
