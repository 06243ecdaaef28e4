//! Vector registers by hand: eight single or four double precision numbers.
//!
//! The compiler cannot be relied on to keep a tile of sums in registers. On machines without AVX2 and fused multiplication the
//! same operations are written out in plain code, in the same order, with the same results.

/// Vectors of a fixed width, whatever the machine.
pub(super) trait Wide: Copy + Send + Sync {
    /// Eight numbers of single precision.
    type Single: Copy;
    /// Four numbers of double precision.
    type Double: Copy;

    /// All lanes the same.
    fn single(self, value: f32) -> Self::Single;
    /// From memory.
    fn load_single(self, from: &[f32; 8]) -> Self::Single;
    /// To memory.
    fn store_single(self, from: Self::Single) -> [f32; 8];
    /// `a · b + c`, rounded once.
    fn fuse_single(self, a: Self::Single, b: Self::Single, c: Self::Single) -> Self::Single;
    /// The total of each of four vectors, `((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7))`.
    fn totals_single(self, of: [Self::Single; 4]) -> [f32; 4];

    /// All lanes the same.
    fn double(self, value: f64) -> Self::Double;
    /// From memory.
    fn load_double(self, from: &[f64; 4]) -> Self::Double;
    /// From memory, widened.
    fn widen(self, from: &[f32; 4]) -> Self::Double;
    /// `a · b + c`, rounded once.
    fn fuse_double(self, a: Self::Double, b: Self::Double, c: Self::Double) -> Self::Double;
    /// The lower and the upper four numbers, widened.
    fn halves(self, of: Self::Single) -> [Self::Double; 2];
    /// `a + b`.
    fn add_double(self, a: Self::Double, b: Self::Double) -> Self::Double;
    /// To memory.
    fn store_double(self, from: Self::Double) -> [f64; 4];
}

/// Plain code.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Wide for Plain {
    type Single = [f32; 8];
    type Double = [f64; 4];

    #[inline(always)]
    fn single(self, value: f32) -> [f32; 8] {
        [value; 8]
    }

    #[inline(always)]
    fn load_single(self, from: &[f32; 8]) -> [f32; 8] {
        *from
    }

    #[inline(always)]
    fn store_single(self, from: [f32; 8]) -> [f32; 8] {
        from
    }

    #[inline(always)]
    fn fuse_single(self, a: [f32; 8], b: [f32; 8], mut c: [f32; 8]) -> [f32; 8] {
        for l in 0..8 {
            c[l] = a[l].mul_add(b[l], c[l]);
        }
        c
    }

    #[inline(always)]
    fn totals_single(self, of: [[f32; 8]; 4]) -> [f32; 4] {
        of.map(|v| ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7])))
    }

    #[inline(always)]
    fn double(self, value: f64) -> [f64; 4] {
        [value; 4]
    }

    #[inline(always)]
    fn load_double(self, from: &[f64; 4]) -> [f64; 4] {
        *from
    }

    #[inline(always)]
    fn widen(self, from: &[f32; 4]) -> [f64; 4] {
        from.map(f64::from)
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
    fn store_double(self, from: [f64; 4]) -> [f64; 4] {
        from
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::{__m128, __m256, __m256d};

    use pulp::x86::V3;

    use super::Wide;

    impl Wide for V3 {
        type Single = __m256;
        type Double = __m256d;

        #[inline(always)]
        fn single(self, value: f32) -> __m256 {
            self.avx._mm256_set1_ps(value)
        }

        #[inline(always)]
        fn load_single(self, from: &[f32; 8]) -> __m256 {
            pulp::cast(*from)
        }

        #[inline(always)]
        fn store_single(self, from: __m256) -> [f32; 8] {
            pulp::cast(from)
        }

        #[inline(always)]
        fn fuse_single(self, a: __m256, b: __m256, c: __m256) -> __m256 {
            self.fma._mm256_fmadd_ps(a, b, c)
        }

        #[inline(always)]
        fn totals_single(self, of: [__m256; 4]) -> [f32; 4] {
            let avx = self.avx;
            let [a, b, c, d] = of;
            let pairs = avx._mm256_hadd_ps(avx._mm256_hadd_ps(a, b), avx._mm256_hadd_ps(c, d));
            let [low, high]: [[f32; 4]; 2] = pulp::cast(pairs);
            [low[0] + high[0], low[1] + high[1], low[2] + high[2], low[3] + high[3]]
        }

        #[inline(always)]
        fn double(self, value: f64) -> __m256d {
            self.avx._mm256_set1_pd(value)
        }

        #[inline(always)]
        fn load_double(self, from: &[f64; 4]) -> __m256d {
            pulp::cast(*from)
        }

        #[inline(always)]
        fn widen(self, from: &[f32; 4]) -> __m256d {
            self.avx._mm256_cvtps_pd(pulp::cast(*from))
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
        fn store_double(self, from: __m256d) -> [f64; 4] {
            pulp::cast(from)
        }
    }
}

/// Something to be done with the widest registers at hand. A structure and not a closure: the call of a closure is inlined, and
/// so compiled for those registers, only if the compiler pleases.
pub(super) trait Task {
    /// Does it. Must be inlined.
    fn run(self, wide: impl Wide);
}

/// Runs the task.
pub(super) fn run(task: impl Task) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(OnV3(simd, task));
    }
    // Elsewhere the compiler has fused multiplication without being asked, or it is slow but right.
    task.run(Plain);
}

#[cfg(target_arch = "x86_64")]
struct OnV3<T>(pulp::x86::V3, T);

#[cfg(target_arch = "x86_64")]
impl<T: Task> pulp::NullaryFnOnce for OnV3<T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.1.run(self.0);
    }
}
