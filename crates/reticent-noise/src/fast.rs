//! Fast Gaussian vectors.

use rand_core::Rng as _;

use crate::Stream;

/// Bound on the total-variation error of one draw.
pub const TOTAL_VARIATION_PER_DRAW: f64 = 1.0 / (1_u64 << 53) as f64;

/// Fill `out` with independent standard normal numbers.
pub fn fill_standard_gaussian(out: &mut [f64], stream: &mut Stream) {
    for x in out {
        let u = (stream.next_u64() as f64 + 0.5) / 2_f64.powi(64);
        let v = (stream.next_u64() as f64 + 0.5) / 2_f64.powi(64);
        *x = (-2.0 * u.ln()).sqrt() * (core::f64::consts::TAU * v).cos();
    }
}
