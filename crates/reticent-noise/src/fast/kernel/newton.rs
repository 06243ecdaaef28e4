//! Quotients and roots by Newton's iteration, for AVX-512: its instructions for them take about as
//! long as all the rest of a group.
//!
//! # Error bound
//!
//! With `e = 2^-53` and first values that err by a relative `ε`, `|ε| < 2^-14` (as the instructions
//! `VRCP14PD` and `VRSQRT14PD` are defined), in exact arithmetic:
//!
//! - quotient: `y` errs by `-ε²` after one iteration, and so does `q = ny`; `q + (n - qd)y` errs by
//!   `ε⁴ < 2^-56 = e/8`;
//! - root: `g = √t(1 + ε)` and `h = (1 + ε)/(2√t)` err by `δ = -3ε²/2 - ε³/2` after one iteration,
//!   and `g + (t - g²)h` by `-3δ²/2 - δ³/2`, below `2^-54.2 < 0.45e`.
//!
//! The residuals `n - qd` and `t - g²` are rounded once, relatively to themselves (fused), and are
//! below `2^-26` of what they correct; so is what rounding adds to `y`, `q`, `g` and `h`, a few
//! `e`, once they have been corrected. The last addition rounds once: `1.2e` and `1.5e` in all.

use core::arch::x86_64::__m512d;

use pulp::x86::V4;

use super::{Arithmetic, PAIRS, UNIT64, square};

impl Arithmetic for V4 {
    const FUSED: bool = true;

    /// `f = x` rounded and `r = x - f` by conversion; exponent and mantissa around `√½` as in
    /// [`super::reduce`].
    #[inline(always)]
    fn reduce(self, words: &[u64; PAIRS], z: &mut [f64; PAIRS], rest: &mut [f64; PAIRS]) {
        let (i, f) = (self.avx512dq, self.avx512f);
        let base = core::f64::consts::FRAC_1_SQRT_2.to_bits().cast_signed();
        let origin = f._mm512_set1_epi64(base + (64 << 52));
        let base = f._mm512_set1_epi64(base);
        let mantissa = f._mm512_set1_epi64((1 << 52) - 1);
        let (one, minus_one) = (f._mm512_set1_pd(1.0), f._mm512_set1_pd(-1.0));
        let ln_2 = f._mm512_set1_pd(-2.0 * core::f64::consts::LN_2);
        let unit = f._mm512_set1_pd(-2.0 * UNIT64);
        let places = z.as_chunks_mut::<8>().0.iter_mut().zip(rest.as_chunks_mut::<8>().0);
        for ((z, rest), x) in places.zip(words.as_chunks::<8>().0) {
            let x = pulp::cast(*x);
            let near = i._mm512_cvtepu64_pd(x);
            let r = i._mm512_cvtepi64_pd(f._mm512_sub_epi64(x, i._mm512_cvttpd_epu64(near)));
            let offset = f._mm512_sub_epi64(pulp::cast(near), origin);
            let k = i._mm512_cvtepi64_pd(f._mm512_srai_epi64::<52>(offset));
            let m = f._mm512_add_epi64(f._mm512_and_si512(offset, mantissa), base);
            let m: __m512d = pulp::cast(m);
            *rest = pulp::cast(f._mm512_fmadd_pd(ln_2, k, f._mm512_mul_pd(unit, r)));
            let (n, d) = (f._mm512_add_pd(m, minus_one), f._mm512_add_pd(m, one));
            *z = pulp::cast(quotient(self, n, d));
        }
    }

    #[inline(always)]
    fn radii(self, z: &[f64; PAIRS], rest: &[f64; PAIRS], radii: &mut [f64; PAIRS]) {
        for i in 0..PAIRS {
            radii[i] = square::<Self>(z[i], rest[i]);
        }
        for radii in radii.as_chunks_mut::<8>().0 {
            *radii = pulp::cast(root(self, pulp::cast(*radii)));
        }
    }
}

/// `n/d`, for numbers far from the ends of the range.
#[inline(always)]
fn quotient(simd: V4, n: __m512d, d: __m512d) -> __m512d {
    let f = simd.avx512f;
    let one = f._mm512_set1_pd(1.0);
    let y = f._mm512_rcp14_pd(d);
    let y = f._mm512_fmadd_pd(y, f._mm512_fnmadd_pd(d, y, one), y);
    let q = f._mm512_mul_pd(n, y);
    f._mm512_fmadd_pd(f._mm512_fnmadd_pd(q, d, n), y, q)
}

/// `√t`, for a positive number far from the ends of the range.
#[inline(always)]
fn root(simd: V4, t: __m512d) -> __m512d {
    let f = simd.avx512f;
    let half = f._mm512_set1_pd(0.5);
    let y = f._mm512_rsqrt14_pd(t);
    let (g, h) = (f._mm512_mul_pd(t, y), f._mm512_mul_pd(half, y));
    let r = f._mm512_fnmadd_pd(g, h, half);
    let (g, h) = (f._mm512_fmadd_pd(g, r, g), f._mm512_fmadd_pd(h, r, h));
    f._mm512_fmadd_pd(f._mm512_fnmadd_pd(g, g, t), h, g)
}
