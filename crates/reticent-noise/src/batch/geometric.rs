//! Poisson batches by geometric skips.
//!
//! In a Poisson batch every row joins on its own with probability `q`. The number of rows passed
//! over before the next one that joins is geometric, `P(G >= k) = (1 - q)^k`, and
//! `G = ⌊ln u/ln(1 - q)⌋` for a uniform `u`. So a batch costs one logarithm per row that joins (for
//! `q > 1/2`, per row left out), and the floor is certified: the inclusion odds are exactly the
//! `f64` number `q`.

use crate::ball::Ball;
use crate::uniform::{minus_log, minus_log_exact, settle, working_digits};
use crate::{NoiseError, Stream};

use super::{chance, countable};

/// Failures before the first success, for a success probability `q` in `(0, 1]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometric {
    q: f64,
    /// `-ln(1 - q)`, within a relative `4·2^-53`.
    rate: f64,
}

impl Geometric {
    /// Larger results are cut here: no table has as many rows.
    const CUT: f64 = (1_u64 << 60) as f64;

    /// Success probability `q`, exactly as the `f64` says.
    ///
    /// # Errors
    ///
    /// [`NoiseError::OutOfRange`] unless `0 < q <= 1`.
    pub fn new(q: f64) -> Result<Self, NoiseError> {
        if q > 0.0 && q <= 1.0 {
            Ok(Self { q, rate: -libm::log1p(-q) })
        } else {
            Err(NoiseError::out_of_range("q", "above 0 and at most 1", q))
        }
    }

    /// One draw; values of `2^60` and more come back as `2^60`.
    #[inline]
    pub fn sample(&self, stream: &mut Stream) -> u64 {
        if self.q >= 1.0 {
            return 0;
        }
        let u = stream.uniform();
        let (log, relative) = minus_log(&u);
        let ratio = log / self.rate;
        let reach = 2.0 * ratio * (relative + 1e-15);
        let (low, high) = ((ratio - reach).floor(), (ratio + reach).floor());
        if low == high && low < Self::CUT {
            return low as u64;
        }
        if low >= Self::CUT {
            return Self::CUT as u64;
        }
        settle(|further| {
            let digits = working_digits(further);
            let rest = Ball::integer(1, digits).sub(&Ball::float(self.q, digits));
            minus_log_exact(stream.key(), &u, further)?.div(&rest.ln()?.neg())?.floor()
        }) as u64
    }
}

/// The rows of a Poisson batch: each of `0..n` with probability `sample_rate`, independently;
/// ascending.
///
/// # Guarantee
///
/// The odds are exact (see the header of this file's module); the size is binomial and **secret**,
/// like the rows.
///
/// # Errors
///
/// [`NoiseError::OutOfRange`] unless `0 <= sample_rate <= 1` and `n <= 2^50`.
///
/// # Cost
///
/// Some 20 nanoseconds per row that joins, never `n` coin flips.
///
/// # Example
///
/// ```
/// use reticent_noise::{Purpose, Source, batch};
///
/// let mut stream = Source::from_os()?.stream(Purpose::Sampling);
/// let rows = batch::poisson_batch(1_000_000, 0.001, &mut stream)?;
/// assert!(rows.len() > 700 && rows.len() < 1300);
/// assert!(rows.is_sorted());
/// # Ok::<(), reticent_noise::NoiseError>(())
/// ```
pub fn poisson_batch(
    n: usize,
    sample_rate: f64,
    stream: &mut Stream,
) -> Result<Vec<usize>, NoiseError> {
    countable("n", n as u64)?;
    let q = chance("sample_rate", sample_rate)?;
    if q == 0.0 {
        return Ok(Vec::new());
    }
    if q == 1.0 {
        return Ok((0..n).collect());
    }
    if q <= 0.5 {
        return Ok(skip_through(n, &Geometric::new(q)?, stream));
    }
    // 1 - q is exact for q in [1/2, 1]: draw who stays out.
    let out = skip_through(n, &Geometric::new(1.0 - q)?, stream);
    let mut out = out.into_iter().peekable();
    Ok((0..n).filter(|row| out.next_if_eq(row).is_none()).collect())
}

fn skip_through(n: usize, gaps: &Geometric, stream: &mut Stream) -> Vec<usize> {
    let expected = n as f64 * gaps.q;
    let mut rows = Vec::with_capacity((expected + 4.0 * expected.sqrt()) as usize + 4);
    let mut row = gaps.sample(stream);
    while row < n as u64 {
        rows.push(row as usize);
        row += 1 + gaps.sample(stream);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Source};

    #[test]
    fn skips_are_the_floor_of_the_exact_quotient() {
        let mut stream = Source::seeded_not_private(51).stream(Purpose::Sampling);
        // At q = 1/2 the quotient is -log2 u: boundaries are powers of two, hit often near the
        // ends.
        for q in [0.5, 0.3, 1e-3, 1e-9, 0.999] {
            let law = Geometric::new(q).unwrap();
            let mut sum = 0.0;
            let runs = 20_000;
            for _ in 0..runs {
                sum += law.sample(&mut stream) as f64;
            }
            let (mean, sd) = ((1.0 - q) / q, (1.0 - q).sqrt() / q / f64::from(runs).sqrt());
            assert!((sum / f64::from(runs) - mean).abs() < 5.5 * sd, "q = {q}"); // 4e-8 each
        }
    }

    #[test]
    fn certain_and_impossible_rates() {
        let mut stream = Source::seeded_not_private(52).stream(Purpose::Sampling);
        assert_eq!(poisson_batch(5, 1.0, &mut stream).unwrap(), [0, 1, 2, 3, 4]);
        assert!(poisson_batch(5, 0.0, &mut stream).unwrap().is_empty());
        assert!(poisson_batch(0, 0.5, &mut stream).unwrap().is_empty());
        assert!(poisson_batch(1000, 1e-300, &mut stream).unwrap().is_empty());
        assert!(poisson_batch(5, f64::NAN, &mut stream).is_err());
        assert!(poisson_batch(5, 1.1, &mut stream).is_err());
    }
}
