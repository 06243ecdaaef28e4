//! Generalised Gaussian release on a grid: noise of density `∝ e^(-‖z‖_r²/(2σ²))` in `R^d`,
//! `r >= 2`.
//!
//! # The ideal noise
//!
//! With independent `v_j` of density `∝ e^(-|v|^r)` and an independent chi-square number `V` of `d`
//! degrees of freedom, `z = σ·√V·v/‖v‖_r` has that density: a law that depends on `‖z‖_r` alone is
//! a radius times the cone measure `v/‖v‖_r`, and `‖z‖_r²/σ²` is chi-square. `E‖z‖_r² = dσ²`;
//! `r = 2` is `N(0, σ²I)`.
//!
//! `v_j` is drawn by rejection from a normal number `N`: `v = s·N` is kept with probability
//! `exp(N²/2 - |s·N|^r - m)`, where `s² = 1.02·(1 - 1/r)` and `m` is at least the supremum of what
//! comes before it. Between 2 of 3 and all proposals are kept.
//!
//! # Guarantee
//!
//! A query of `l_r` sensitivity `D` plus the ideal noise is `mu`-GDP with `mu = √(r-1)·D/σ`.
//! Rounding the query to multiples of the cell width `g` raises its `l_r` sensitivity to at most
//! `D + g·d^(1/r)`. Released is `round(v/g) + round(z/g) = round(round(v/g) + z/g)`, a function of
//! the ideal release; both the rejections and the roundings are certified (in `f64` with an error
//! bound, with more digits of the same numbers where the bound leaves them open), so nothing is
//! added to delta.

use super::{ordinary_range, power_of_two_below, release_cells};
use crate::ball::Ball;
use crate::error::positive;
use crate::normal::{Norm, approximate, exact};
use crate::source::Uniform;
use crate::uniform::{minus_log, minus_log_exact, settle, working_digits};
use crate::{NoiseError, Stream};

/// The generalised Gaussian mechanism on a public grid.
///
/// # Example
///
/// ```
/// use reticent_noise::{Purpose, Source, lattice::GeneralizedGaussianLattice};
///
/// let mechanism = GeneralizedGaussianLattice::new(0.1, 2.0, 3.5, 4)?;
/// let source = Source::from_os()?;
/// let released = mechanism.release(&[0.0, 1.0, 2.0, 3.0], &mut source.stream(Purpose::Noise));
/// assert!(released.iter().all(|v| (v / mechanism.grid()).fract() == 0.0));
/// # Ok::<(), reticent_noise::NoiseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeneralizedGaussianLattice {
    grid: f64,
    sigma: f64,
    dimension: usize,
    coordinate: Coordinate,
}

impl GeneralizedGaussianLattice {
    /// Choose grid and noise from public numbers: `l_r` sensitivity, `sigma` per unit of it, `r`,
    /// dimension.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] unless `2 <= r <= 10^4` and the others are positive and not
    /// extreme.
    pub fn new(
        sensitivity: f64,
        noise_multiplier: f64,
        r: f64,
        dimension: usize,
    ) -> Result<Self, NoiseError> {
        positive("sensitivity", sensitivity)?;
        positive("noise_multiplier", noise_multiplier)?;
        positive("dimension", dimension as f64)?;
        if !(2.0..=1e4).contains(&r) {
            return Err(NoiseError::out_of_range("r", "between 2 and 10^4", r));
        }
        let ideal = sensitivity * noise_multiplier;
        ordinary_range("sensitivity * noise_multiplier", ideal)?;
        ordinary_range("sensitivity", sensitivity)?;
        let d = dimension as f64;
        let reach = d.powf(1.0 / r) * (1.0 + 1e-12); // the l_r norm of (1, …, 1), rounded up
        // A coordinate is of size σ·√d/d^(1/r); see the l2-Laplace for the three terms.
        let size = ideal * d.sqrt() / reach;
        let cheap = (sensitivity / reach / 16384.0).max(size / (1_u64 << 40) as f64);
        let grid = power_of_two_below(cheap.min(size / (1_u64 << 24) as f64));
        let sigma = noise_multiplier * (sensitivity + grid * reach) * (1.0 + 1e-15);
        Ok(Self { grid, sigma, dimension, coordinate: Coordinate::new(r) })
    }

    /// The width of a cell, a power of two.
    pub fn grid(&self) -> f64 {
        self.grid
    }

    /// The `σ` of the density; at least `noise_multiplier·(sensitivity + grid·dimension^(1/r))`.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// The contribution of finite precision to delta: zero.
    pub fn total_variation(&self) -> f64 {
        0.0
    }

    /// Round `values` to the grid and add noise.
    ///
    /// A value that is not finite counts as 0. Coordinates beyond the declared dimension were not
    /// paid for and come back as 0.
    pub fn release(&self, values: &[f64], stream: &mut Stream) -> Vec<f64> {
        let noise = self.cells(stream, true);
        let paid = values.iter().zip(noise).map(|(&v, n)| release_cells(v, n, self.grid));
        paid.chain(core::iter::repeat(0.0)).take(values.len()).collect()
    }

    /// `round(z/g)` for each coordinate; with `f64` where it suffices, if `quickly`.
    fn cells(&self, stream: &mut Stream, quickly: bool) -> Vec<i64> {
        let law = &self.coordinate;
        let length = Norm::draw(self.dimension, stream);
        let kept: Vec<Proposal> = law.draw(self.dimension, stream, quickly);
        // ‖v‖_r^r = Σ|v|^r, and its relative error; the norm has 1/r of it.
        // Summed with a running compensation (Kahan, Babuska), so that long vectors lose no digits.
        let (mut sum, mut lost, mut sum_error) = (0.0_f64, 0.0, 0.0);
        for proposal in &kept {
            let (power, error) = law.power(proposal.approximate());
            let next = sum + power;
            lost += if sum >= power { (sum - next) + power } else { (power - next) + sum };
            sum = next;
            sum_error += error;
        }
        let sum = sum + lost;
        let sum_error = 2.0 * sum_error + 1e-15 * sum;
        let (root, root_error) = length.approximate();
        let factor = self.sigma / self.grid * root * law.s * libm::exp(-libm::log(sum) / law.r);
        let relative =
            root_error / root + sum_error / sum / law.r + (sum.ln().abs() + 16.0) * 1e-15;
        let mut digits: Option<(usize, Ball)> = None; // the last factor asked for, kept
        let mut cells = Vec::with_capacity(kept.len());
        for proposal in &kept {
            let (n, error) = proposal.approximate();
            let z = factor * n;
            // Twice the bound, for the rounding of this line and the next.
            let reach = 2.0 * (factor * error + z.abs() * relative);
            let (low, high) = ((z - reach).round_ties_even(), (z + reach).round_ties_even());
            cells.push(if quickly && low == high && high.abs() < 2_f64.powi(62) {
                low as i64
            } else {
                settle(|further| {
                    if digits.as_ref().is_none_or(|(known, _)| *known != further) {
                        let exact = self.factor_exact(&length, &kept, stream.key(), further)?;
                        digits = Some((further, exact));
                    }
                    let (_, factor) = digits.as_ref()?;
                    factor.mul(&proposal.exact(stream.key(), further)?).round()
                })
            });
        }
        cells
    }

    /// `(σ/g)·√V·s/‖v‖_r`, which turns the normal number of a coordinate into its cells.
    fn factor_exact(
        &self,
        length: &Norm,
        kept: &[Proposal],
        key: &[u8; 32],
        further: usize,
    ) -> Option<Ball> {
        let digits = working_digits(further);
        let law = &self.coordinate;
        let mut sum = Ball::integer(0, digits);
        for proposal in kept {
            sum = sum.add(&law.power_exact(&proposal.exact(key, further)?)?);
        }
        let inverse_norm = sum.ln()?.div(&Ball::float(law.r, digits))?.neg().exp()?;
        let scale = Ball::float(self.sigma / self.grid, digits).mul(&Ball::float(law.s, digits));
        Some(scale.mul(&length.exact(key, further)?).mul(&inverse_norm))
    }
}

/// A normal number by its random numbers: one member of a pair.
#[derive(Clone, Copy)]
struct Proposal {
    u: Uniform,
    w: Uniform,
    second: bool,
}

impl Proposal {
    fn approximate(&self) -> (f64, f64) {
        let ((a, b), error) = approximate(&self.u, &self.w);
        (if self.second { b } else { a }, error)
    }

    fn exact(&self, key: &[u8; 32], further: usize) -> Option<Ball> {
        let (a, b) = exact(key, &self.u, &self.w, further)?;
        Some(if self.second { b } else { a })
    }
}

/// The law `∝ e^(-|v|^r)` on the line, by rejection from `v = s·N`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Coordinate {
    r: f64,
    s: f64,
    /// At least `sup N²/2 - |s·N|^r`.
    ceiling: f64,
}

impl Coordinate {
    fn new(r: f64) -> Self {
        let s = (1.02 * (1.0 - 1.0 / r)).sqrt();
        // The supremum of a·v² - v^r (a = 1/(2s²), r > 2) is a·v²·(1 - 2/r) at v^(r-2) = 2a/r. At
        // r = 2 it is 0, because s² > 1/2.
        let a = 0.5 / (s * s);
        let square = if r > 2.0 { (2.0 / (r - 2.0) * (2.0 * a / r).ln()).exp() } else { 0.0 };
        Self { r, s, ceiling: a * square * (1.0 - 2.0 / r) + 1e-9 }
    }

    fn draw(&self, count: usize, stream: &mut Stream, quickly: bool) -> Vec<Proposal> {
        let mut kept = Vec::with_capacity(count + 1);
        while kept.len() < count {
            let (u, w) = (stream.uniform(), stream.uniform());
            for second in [false, true] {
                let proposal = Proposal { u, w, second };
                let coin = stream.uniform();
                if self.keeps(&proposal, &coin, stream.key(), quickly) {
                    kept.push(proposal);
                }
            }
        }
        kept.truncate(count);
        kept
    }

    /// Whether `ln coin <= N²/2 - |s·N|^r - ceiling`.
    fn keeps(&self, proposal: &Proposal, coin: &Uniform, key: &[u8; 32], quickly: bool) -> bool {
        let (n, error) = proposal.approximate();
        let (power, power_error) = self.power((n, error));
        let (log, relative) = minus_log(coin);
        let margin = log + n * n / 2.0 - power - self.ceiling;
        let reach = log * relative
            + (n.abs() + error) * error
            + power_error
            + (log + n * n + power + 1.0) * 1e-15;
        if quickly && margin.abs() > reach {
            return margin > 0.0;
        }
        settle(|further| {
            let n = proposal.exact(key, further)?;
            let ceiling = Ball::float(self.ceiling, working_digits(further));
            let margin = minus_log_exact(key, coin, further)?
                .add(&n.mul(&n).shift(-1))
                .sub(&self.power_exact(&n)?)
                .sub(&ceiling);
            margin.is_negative().map(|negative| !negative)
        })
    }

    /// `|s·N|^r` and a bound on its error, from `N` and a bound on its own.
    fn power(&self, (n, error): (f64, f64)) -> (f64, f64) {
        const EPSILON: f64 = 1.0 / (1_u64 << 53) as f64;
        let value = libm::pow(self.s * n.abs(), self.r);
        // Mean value: r·x^(r-1) at the far end of the interval; then the rounding of s·N and of
        // `pow`.
        let slope = self.r * self.s * libm::pow(self.s * (n.abs() + error), self.r - 1.0);
        (value, 2.0 * (slope * error + value * EPSILON * (self.r + 4.0)))
    }

    fn power_exact(&self, n: &Ball) -> Option<Ball> {
        let n = if n.is_negative()? { n.neg() } else { n.clone() };
        let digits = n.digits();
        n.mul(&Ball::float(self.s, digits)).ln()?.mul(&Ball::float(self.r, digits)).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Source};

    #[test]
    fn powers_in_both_precisions_agree_within_the_bound() {
        let mut stream = Source::seeded_not_private(31).stream(Purpose::Noise);
        for r in [2.0, 2.5, 3.0, 7.3, 40.0, 1000.0] {
            let law = Coordinate::new(r);
            for _ in 0..50 {
                let proposal = Proposal { u: stream.uniform(), w: stream.uniform(), second: false };
                let (power, error) = law.power(proposal.approximate());
                if power > 1e30 {
                    continue;
                }
                let exact = settle(|f| law.power_exact(&proposal.exact(stream.key(), f.max(1))?));
                let (exact, radius) = exact.to_f64();
                assert!((power - exact).abs() <= error + radius, "r = {r}");
            }
        }
    }

    #[test]
    fn every_cell_is_the_ideal_one_rounded() {
        for (r, d) in [(2.0, 3), (2.7, 1), (5.0, 20), (30.0, 40)] {
            let mechanism = GeneralizedGaussianLattice::new(1.0, 1.5, r, d).unwrap();
            for seed in 0..10 {
                let stream = || Source::seeded_not_private(seed).stream(Purpose::Noise);
                let quick = mechanism.cells(&mut stream(), true);
                assert_eq!(quick, mechanism.cells(&mut stream(), false), "{r} {d}");
            }
        }
    }

    #[test]
    fn the_ceiling_is_above_every_exponent() {
        for r in [2.0, 2.0001, 2.1, 3.0, 10.0, 1e4] {
            let law = Coordinate::new(r);
            let top = (0..60_000)
                .map(|i| f64::from(i) * 1e-4)
                .map(|n| n * n / 2.0 - (law.s * n).powf(r) - law.ceiling)
                .fold(f64::MIN, f64::max);
            assert!(top <= 0.0, "r = {r}: {top}");
            assert!(top > -1e-3, "r = {r}: the ceiling is wasteful, {top}");
        }
    }
}
