//! Special functions to about fifteen digits, also far in the tails, [`quadrature`] and
//! [`symmetric`] matrices.
//!
//! A privacy profile is a small difference of large terms, evaluated where the normal tail is
//! 1e-300. So the functions here keep their *relative* accuracy there: [`erfcx`] and [`log_ndtr`]
//! rather than [`erfc`]. The accountants and the Gaussian widths of the constraint sets both use
//! this crate; it depends on neither.

mod binomial;
mod erfcx;
mod gamma;
mod normal;
pub mod quadrature;
pub mod symmetric;

pub use binomial::{binomial_quantile_upper, binomial_tail, ln_binomial_pmf};
pub use erfcx::erfcx;
pub use gamma::{gamma_p, gamma_q, gamma_quantile, ln_binomial, ln_gamma};
pub use normal::{log_ndtr, ndtr, normal_pdf, normal_quantile};

/// The error function.
#[inline]
pub fn erf(x: f64) -> f64 {
    libm::erf(x)
}

/// The complementary error function, `1 − erf(x)`; underflows near `x = 27`.
#[inline]
pub fn erfc(x: f64) -> f64 {
    libm::erfc(x)
}

/// `ln(e^a + e^b)` without overflow; either may be `−∞`.
#[inline]
pub fn log_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if high == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// `ln Σ e^{x_i}` without overflow; `−∞` for no terms.
pub fn log_sum_exp(terms: &[f64]) -> f64 {
    let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if terms.iter().any(|x| x.is_nan()) {
        return f64::NAN;
    }
    if !top.is_finite() {
        return top;
    }
    top + terms.iter().map(|x| (x - top).exp()).sum::<f64>().ln()
}
