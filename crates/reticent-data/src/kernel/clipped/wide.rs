//! Vector registers by hand: of AVX-512, of AVX2, or what the compiler makes of plain code.
//!
//! The compiler cannot be relied on to keep a tile of sums in registers. Every sum has the same
//! bits on every machine: most are made number by number, however many lie side by side, and scalar
//! products are always added up in sixteen parts (eight in double precision), in one register or in
//! two ([`Wide::totals_single`]). Were it otherwise, a row of a cluster that moves to another kind
//! of machine, because one row joined before it, could have another margin.

/// Vectors of the width at hand.
pub(super) trait Wide: Copy + Send + Sync {
    /// Some numbers of single precision.
    type Single: Copy;
    /// Half as many of double precision.
    type Double: Copy;
    /// How many of single precision.
    const SINGLES: usize;
    /// Whether there are registers for twice as many sums as AVX2 has.
    const ROOMY: bool;
    /// All lanes the same.
    fn single(self, value: f32) -> Self::Single;
    /// From memory: the first numbers of `from`, which has them.
    fn load_single(self, from: &[f32]) -> Self::Single;
    /// To memory: the first numbers of `into`, which has them.
    fn store_single(self, from: Self::Single, into: &mut [f32]);
    /// `a · b + c`, rounded once.
    fn fuse_single(self, a: Self::Single, b: Self::Single, c: Self::Single) -> Self::Single;
    /// `a · b`.
    fn multiply_single(self, a: Self::Single, b: Self::Single) -> Self::Single;
    /// `a + b`.
    fn add_single(self, a: Self::Single, b: Self::Single) -> Self::Single;

    /// All lanes the same.
    fn double(self, value: f64) -> Self::Double;
    /// From memory, as above.
    fn load_double(self, from: &[f64]) -> Self::Double;
    /// From memory, widened.
    fn widen(self, from: &[f32]) -> Self::Double;
    /// `a · b + c`, rounded once.
    fn fuse_double(self, a: Self::Double, b: Self::Double, c: Self::Double) -> Self::Double;
    /// The lower and the upper half of the numbers, widened.
    fn halves(self, of: Self::Single) -> [Self::Double; 2];
    /// `a + b`.
    fn add_double(self, a: Self::Double, b: Self::Double) -> Self::Double;
    /// To memory, as above.
    fn store_double(self, from: Self::Double, into: &mut [f64]);

    /// Four times the total of sixteen numbers, which lie in `H` vectors:
    /// `((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7))` of the sums of each and the eighth after it.
    fn totals_single<const H: usize>(self, of: [[Self::Single; H]; 4]) -> [f32; 4];
    /// The total of eight numbers, which lie in `H` vectors: `(0 + 1) + (2 + 3)` of the sums of
    /// each and the fourth after it.
    fn total_double<const H: usize>(self, of: [Self::Double; H]) -> f64;
}

/// Plain code.
#[derive(Clone, Copy)]
pub(super) struct Plain;

/// The first numbers of a slice that has as many.
#[inline(always)]
fn first<T: Copy + Default, const N: usize>(from: &[T]) -> [T; N] {
    from.first_chunk().copied().unwrap_or([T::default(); N])
}

/// Writes the first numbers of a slice that has as many.
#[inline(always)]
fn put<T: Copy, const N: usize>(from: [T; N], into: &mut [T]) {
    if let Some(into) = into.first_chunk_mut() {
        *into = from;
    }
}

impl Wide for Plain {
    type Single = [f32; 8];
    type Double = [f64; 4];
    const SINGLES: usize = 8;
    const ROOMY: bool = false;

    #[inline(always)]
    fn single(self, value: f32) -> [f32; 8] {
        [value; 8]
    }

    #[inline(always)]
    fn load_single(self, from: &[f32]) -> [f32; 8] {
        first(from)
    }

    #[inline(always)]
    fn store_single(self, from: [f32; 8], into: &mut [f32]) {
        put(from, into);
    }

    #[inline(always)]
    fn fuse_single(self, a: [f32; 8], b: [f32; 8], mut c: [f32; 8]) -> [f32; 8] {
        for l in 0..8 {
            c[l] = a[l].mul_add(b[l], c[l]);
        }
        c
    }

    #[inline(always)]
    fn multiply_single(self, mut a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        for l in 0..8 {
            a[l] *= b[l];
        }
        a
    }

    #[inline(always)]
    fn add_single(self, mut a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        for l in 0..8 {
            a[l] += b[l];
        }
        a
    }

    #[inline(always)]
    fn double(self, value: f64) -> [f64; 4] {
        [value; 4]
    }

    #[inline(always)]
    fn load_double(self, from: &[f64]) -> [f64; 4] {
        first(from)
    }

    #[inline(always)]
    fn widen(self, from: &[f32]) -> [f64; 4] {
        first::<_, 4>(from).map(f64::from)
    }

    #[inline(always)]
    fn fuse_double(self, a: [f64; 4], b: [f64; 4], mut c: [f64; 4]) -> [f64; 4] {
        for l in 0..4 {
            c[l] = a[l].mul_add(b[l], c[l]);
        }
        c
    }

    #[inline(always)]
    fn halves(self, of: [f32; 8]) -> [[f64; 4]; 2] {
        let [a, b, c, d, e, f, g, h] = of.map(f64::from);
        [[a, b, c, d], [e, f, g, h]]
    }

    #[inline(always)]
    fn add_double(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
    }

    #[inline(always)]
    fn store_double(self, from: [f64; 4], into: &mut [f64]) {
        put(from, into);
    }

    #[inline(always)]
    fn totals_single<const H: usize>(self, of: [[[f32; 8]; H]; 4]) -> [f32; 4] {
        of.map(
            #[inline(always)]
            |halves| {
                let v = self.add_single(halves[0], halves[H - 1]);
                ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]))
            },
        )
    }

    #[inline(always)]
    fn total_double<const H: usize>(self, halves: [[f64; 4]; H]) -> f64 {
        let [a, b, c, d] = self.add_double(halves[0], halves[H - 1]);
        (a + b) + (c + d)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::{__m128, __m256, __m256d, __m512, __m512d};

    use pulp::x86::{V3, V4};

    use super::{Plain, Wide, first, put};

    impl Wide for V3 {
        type Single = __m256;
        type Double = __m256d;
        const SINGLES: usize = 8;
        const ROOMY: bool = false;

        #[inline(always)]
        fn single(self, value: f32) -> __m256 {
            self.avx._mm256_set1_ps(value)
        }

        #[inline(always)]
        fn load_single(self, from: &[f32]) -> __m256 {
            pulp::cast(first::<_, 8>(from))
        }

        #[inline(always)]
        fn store_single(self, from: __m256, into: &mut [f32]) {
            put::<_, 8>(pulp::cast(from), into);
        }

        #[inline(always)]
        fn fuse_single(self, a: __m256, b: __m256, c: __m256) -> __m256 {
            self.fma._mm256_fmadd_ps(a, b, c)
        }

        #[inline(always)]
        fn multiply_single(self, a: __m256, b: __m256) -> __m256 {
            self.avx._mm256_mul_ps(a, b)
        }

        #[inline(always)]
        fn add_single(self, a: __m256, b: __m256) -> __m256 {
            self.avx._mm256_add_ps(a, b)
        }

        #[inline(always)]
        fn double(self, value: f64) -> __m256d {
            self.avx._mm256_set1_pd(value)
        }

        #[inline(always)]
        fn load_double(self, from: &[f64]) -> __m256d {
            pulp::cast(first::<_, 4>(from))
        }

        #[inline(always)]
        fn widen(self, from: &[f32]) -> __m256d {
            self.avx._mm256_cvtps_pd(pulp::cast(first::<_, 4>(from)))
        }

        #[inline(always)]
        fn fuse_double(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
            self.fma._mm256_fmadd_pd(a, b, c)
        }

        #[inline(always)]
        fn halves(self, of: __m256) -> [__m256d; 2] {
            let [low, high]: [__m128; 2] = pulp::cast(of);
            [self.avx._mm256_cvtps_pd(low), self.avx._mm256_cvtps_pd(high)]
        }

        #[inline(always)]
        fn add_double(self, a: __m256d, b: __m256d) -> __m256d {
            self.avx._mm256_add_pd(a, b)
        }

        #[inline(always)]
        fn store_double(self, from: __m256d, into: &mut [f64]) {
            put::<_, 4>(pulp::cast(from), into);
        }

        #[inline(always)]
        fn totals_single<const H: usize>(self, of: [[__m256; H]; 4]) -> [f32; 4] {
            let folded = of.map(
                #[inline(always)]
                |halves| self.add_single(halves[0], halves[H - 1]),
            );
            totals(self, folded)
        }

        #[inline(always)]
        fn total_double<const H: usize>(self, halves: [__m256d; H]) -> f64 {
            let halves: [[f64; 4]; 2] = [pulp::cast(halves[0]), pulp::cast(halves[H - 1])];
            Plain.total_double(halves)
        }
    }

    /// Four times the total of eight numbers.
    #[inline(always)]
    fn totals(wide: V3, of: [__m256; 4]) -> [f32; 4] {
        let avx = wide.avx;
        let [a, b, c, d] = of;
        let pairs = avx._mm256_hadd_ps(avx._mm256_hadd_ps(a, b), avx._mm256_hadd_ps(c, d));
        let [low, high]: [[f32; 4]; 2] = pulp::cast(pairs);
        [low[0] + high[0], low[1] + high[1], low[2] + high[2], low[3] + high[3]]
    }

    impl Wide for V4 {
        type Single = __m512;
        type Double = __m512d;
        const SINGLES: usize = 16;
        const ROOMY: bool = true;

        #[inline(always)]
        fn single(self, value: f32) -> __m512 {
            self.avx512f._mm512_set1_ps(value)
        }

        #[inline(always)]
        fn load_single(self, from: &[f32]) -> __m512 {
            pulp::cast(first::<_, 16>(from))
        }

        #[inline(always)]
        fn store_single(self, from: __m512, into: &mut [f32]) {
            put::<_, 16>(pulp::cast(from), into);
        }

        #[inline(always)]
        fn fuse_single(self, a: __m512, b: __m512, c: __m512) -> __m512 {
            self.avx512f._mm512_fmadd_ps(a, b, c)
        }

        #[inline(always)]
        fn multiply_single(self, a: __m512, b: __m512) -> __m512 {
            self.avx512f._mm512_mul_ps(a, b)
        }

        #[inline(always)]
        fn add_single(self, a: __m512, b: __m512) -> __m512 {
            self.avx512f._mm512_add_ps(a, b)
        }

        #[inline(always)]
        fn double(self, value: f64) -> __m512d {
            self.avx512f._mm512_set1_pd(value)
        }

        #[inline(always)]
        fn load_double(self, from: &[f64]) -> __m512d {
            pulp::cast(first::<_, 8>(from))
        }

        #[inline(always)]
        fn widen(self, from: &[f32]) -> __m512d {
            self.avx512f._mm512_cvtps_pd(pulp::cast(first::<_, 8>(from)))
        }

        #[inline(always)]
        fn fuse_double(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
            self.avx512f._mm512_fmadd_pd(a, b, c)
        }

        #[inline(always)]
        fn halves(self, of: __m512) -> [__m512d; 2] {
            let [low, high]: [__m256; 2] = pulp::cast(of);
            [self.avx512f._mm512_cvtps_pd(low), self.avx512f._mm512_cvtps_pd(high)]
        }

        #[inline(always)]
        fn add_double(self, a: __m512d, b: __m512d) -> __m512d {
            self.avx512f._mm512_add_pd(a, b)
        }

        #[inline(always)]
        fn store_double(self, from: __m512d, into: &mut [f64]) {
            put::<_, 8>(pulp::cast(from), into);
        }

        #[inline(always)]
        fn totals_single<const H: usize>(self, of: [[__m512; H]; 4]) -> [f32; 4] {
            let folded = of.map(
                #[inline(always)]
                |whole| {
                    let [low, high]: [__m256; 2] = pulp::cast(whole[0]);
                    self.avx._mm256_add_ps(low, high)
                },
            );
            totals(*self, folded)
        }

        #[inline(always)]
        fn total_double<const H: usize>(self, whole: [__m512d; H]) -> f64 {
            Plain.total_double::<2>(pulp::cast(whole[0]))
        }
    }
}

/// Something to be done with the widest registers at hand. A structure and not a closure: the call
/// of a closure is inlined, and so compiled for those registers, only if the compiler pleases.
pub(super) trait WideTask {
    /// Must be inlined, to be compiled for these registers.
    fn run(self, wide: impl Wide);
}

/// Runs the task.
pub(super) fn run(task: impl WideTask) {
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(simd) = pulp::x86::V4::try_new() {
            return simd.vectorize(On(simd, task));
        }
        if let Some(simd) = pulp::x86::V3::try_new() {
            return simd.vectorize(On(simd, task));
        }
    }
    // Elsewhere the compiler has fused multiplication without being asked, or it is slow but right.
    task.run(Plain);
}

#[cfg(target_arch = "x86_64")]
struct On<W, T>(W, T);

#[cfg(target_arch = "x86_64")]
impl<W: Wide, T: WideTask> pulp::NullaryFnOnce for On<W, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.1.run(self.0);
    }
}
