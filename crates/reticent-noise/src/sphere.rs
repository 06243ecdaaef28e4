//! A uniform direction on the unit sphere.
//!
//! A standard normal vector `N` is invariant under rotation, so `N/‖N‖₂` is uniform. Each
//! coordinate is **exactly** the ideal one rounded to the nearest multiple of `2^-40`: evaluated in
//! `f64` with an error bound, and with more digits where the bound leaves the rounding open (see
//! [`crate::fast`] for the idea).

use crate::Stream;
use crate::ball::Ball;
use crate::normal::{Norm, approximate, exact};
use crate::source::Uniform;
use crate::uniform::settle;

/// Cells in a unit.
const CELLS: f64 = (1_u64 << 40) as f64;

/// Fill `out` with a uniform direction in `out.len()` dimensions, rounded to multiples of `2^-40`.
///
/// # Example
///
/// ```
/// use reticent_noise::{Purpose, Source, sphere};
///
/// let mut direction = [0.0; 3];
/// sphere::fill_direction(&mut direction, &mut Source::from_os()?.stream(Purpose::Initial));
/// let norm: f64 = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
/// assert!((norm - 1.0).abs() < 1e-11);
/// # Ok::<(), reticent_noise::NoiseError>(())
/// ```
pub fn fill_direction(out: &mut [f64], stream: &mut Stream) {
    let pairs: Vec<(Uniform, Uniform)> =
        (0..out.len().div_ceil(2)).map(|_| (stream.uniform(), stream.uniform())).collect();
    // The norm reuses the numbers of the coordinates: a pair has length √(-2 ln u).
    let (whole, last) = pairs.split_at(out.len() / 2);
    let norm = Norm { radii: whole.iter().map(|(u, _)| *u).collect(), last: last.first().copied() };
    let (length, length_error) = norm.approximate();
    let mut digits: Option<(usize, Ball)> = None;
    for (both, (u, w)) in out.chunks_mut(2).zip(&pairs) {
        let ((a, b), error) = approximate(u, w);
        let quick = |n: f64| {
            let x = n / length * CELLS;
            // Twice the bound, for the rounding of these lines.
            let reach = 2.0 * (error + x.abs() / CELLS * length_error) / length * CELLS + 1e-3;
            let (low, high) = ((x - reach).round_ties_even(), (x + reach).round_ties_even());
            (low == high).then_some(low as i64)
        };
        let cells = quick(a).zip(quick(b)).unwrap_or_else(|| {
            settle(|further| {
                if digits.as_ref().is_none_or(|(known, _)| *known != further) {
                    digits = Some((further, norm.exact(stream.key(), further)?));
                }
                let (_, length) = digits.as_ref()?;
                let (a, b) = exact(stream.key(), u, w, further)?;
                let round = |n: &Ball| n.div(length)?.shift(40).round();
                Some((round(&a)?, round(&b)?))
            })
        });
        for (x, cells) in both.iter_mut().zip([cells.0, cells.1]) {
            *x = cells as f64 / CELLS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Source};

    #[test]
    fn directions_have_unit_length_and_equal_weight_everywhere() {
        let mut stream = Source::seeded_not_private(21).stream(Purpose::Initial);
        for d in [1, 2, 3, 10, 101] {
            let mut second = vec![0.0; d];
            let runs = 2000;
            for _ in 0..runs {
                let mut x = vec![0.0; d];
                fill_direction(&mut x, &mut stream);
                let norm: f64 = x.iter().map(|v| v * v).sum();
                assert!((norm - 1.0).abs() < 1e-11 * (d as f64).sqrt());
                second.iter_mut().zip(&x).for_each(|(s, v)| *s += v * v / f64::from(runs));
            }
            // x_j² has mean 1/d and variance 2(d-1)/(d²(d+2)); six deviations: false alarm below
            // 1e-6.
            let n = d as f64;
            let sd = (2.0 * (n - 1.0) / (n * n * (n + 2.0)) / f64::from(runs)).sqrt();
            assert!(second.iter().all(|s| (s - 1.0 / n).abs() <= 6.0 * sd + 1e-11), "d = {d}");
        }
    }
}
