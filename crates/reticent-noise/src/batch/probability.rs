//! Logarithms of binomial and Poisson probabilities in `f64`, with error bounds that stay small for
//! large tables.
//!
//! Loader's saddle-point form (*Fast and Accurate Computation of Binomial Probabilities*, 2000)
//! avoids the cancellation of large factorials:
//!
//! ```text
//! ln P(k) = r(n) - r(k) - r(n-k) - D(k, nq) - D(n-k, n(1-q)) + ½·ln(n/(2πk(n-k))),
//! D(x, y) = x·ln(x/y) + y - x,      r(n) = ln n! - ln(√(2πn)·(n/e)^n).
//! ```

/// `2^-53`.
const EPSILON: f64 = 1.0 / (1_u64 << 53) as f64;

/// A value and a bound on its error.
pub(super) type Bounded = (f64, f64);

/// `ln C(n, k)·q^k·(1-q)^(n-k)`, for `k <= n` and `0 < q < 1`.
pub(super) fn log_binomial(k: u64, n: u64, q: f64) -> Bounded {
    let size = n as f64;
    if k == 0 || k == n {
        let value = size * if k == 0 { libm::log1p(-q) } else { libm::log(q) };
        return (value, 8.0 * EPSILON * value.abs());
    }
    let (a, b) = (k as f64, (n - k) as f64);
    let (win, lose) = (deviance(a, size * q), deviance(b, size * (1.0 - q)));
    let (whole, left, right) = (remainder(n), remainder(k), remainder(n - k));
    let log = 0.5 * (libm::log(size / a / b) - LN_TAU);
    let value = whole.0 - left.0 - right.0 - win.0 - lose.0 + log;
    let error = whole.1 + left.1 + right.1 + win.1 + lose.1;
    (value, error + 16.0 * EPSILON * (1.0 + log.abs() + win.0 + lose.0))
}

/// `ln e^(-mean)·mean^k/k!`.
pub(super) fn log_poisson(k: u64, mean: f64) -> Bounded {
    if k == 0 {
        return (-mean, 0.0);
    }
    let (gap, rest) = (deviance(k as f64, mean), remainder(k));
    let log = 0.5 * (libm::log(k as f64) + LN_TAU);
    (-gap.0 - rest.0 - log, gap.1 + rest.1 + 16.0 * EPSILON * (1.0 + log.abs() + gap.0))
}

/// `ln 2π`.
const LN_TAU: f64 = 1.837_877_066_409_345_5;

/// `D(x, y)` for a whole `x > 0` and a `y > 0` that is itself good to a relative `4·2^-53`.
///
/// # Numerics
///
/// An error `δ` of `y` moves `D` by `(1 - x/y)·δ`, at most `4e·|x - y|`. Near `x = y`, with
/// `v = (x - y)/(x + y)`, the series `D = (x - y)·v + 2x·Σ v^(2j+1)/(2j+1)` has terms of one sign
/// up to the first and errs by less than `32e·D`. Elsewhere (`|v| >= 0.1`) the terms `x·ln(x/y)`,
/// `x` and `y` are at most 200 times `D`.
fn deviance(x: f64, y: f64) -> Bounded {
    let v = (x - y) / (x + y);
    let value = if v.abs() < 0.1 {
        let (mut term, mut sum, mut odd) = (2.0 * x * v, (x - y) * v, 3.0);
        loop {
            term *= v * v;
            let next = sum + term / odd;
            if next == sum {
                break sum;
            }
            (sum, odd) = (next, odd + 2.0);
        }
    } else {
        x * libm::log(x / y) + y - x
    };
    (value, EPSILON * (4.0 * (x - y).abs() + 2000.0 * value.abs()))
}

/// `r(n)`, the remainder of Stirling's formula.
///
/// From 16 on by the series to the term in `n^-7`, which errs by less than the next term,
/// `1/(1188·n^9)`; below, from the factorial itself (the largest term is below 48).
fn remainder(n: u64) -> Bounded {
    let x = n as f64;
    if n < 16 {
        let log = libm::log((1..=n).product::<u64>() as f64);
        let stirling = if n == 0 { 0.0 } else { (x + 0.5) * libm::log(x) - x + 0.5 * LN_TAU };
        return (log - stirling, 256.0 * EPSILON);
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = 1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0));
    (inverse * series, 1e-14)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ball::Ball;

    #[test]
    fn binomial_probabilities_lie_within_their_bounds() {
        let digits = 320;
        for (n, q) in [(1_u64, 0.5), (20, 0.3), (60, 0.97), (1500, 0.01), (3000, 0.5)] {
            let one = Ball::integer(1, digits);
            let ball = Ball::float(q, digits);
            let (win, lose) = (ball.ln().unwrap(), one.sub(&ball).ln().unwrap());
            let mut choose = Ball::integer(0, digits);
            for k in 0..=n {
                let exact = choose.add(&win.times(k as i64)).add(&lose.times((n - k) as i64));
                let (value, error) = log_binomial(k, n, q);
                let gap = exact.sub(&Ball::float(value, digits)).to_f64().0.abs();
                assert!(gap <= error, "n = {n}, k = {k}: {gap:e} > {error:e}");
                if k < n {
                    let step = Ball::integer((n - k) as i64, digits).over(k + 1);
                    choose = choose.add(&step.ln().unwrap());
                }
            }
        }
    }

    #[test]
    fn poisson_probabilities_lie_within_their_bounds() {
        let digits = 256;
        for mean in [0.1, 1.0, 17.5, 900.25] {
            let log_mean = Ball::float(mean, digits).ln().unwrap();
            let mut exact = Ball::float(-mean, digits);
            for k in 0..2000_u64 {
                let (value, error) = log_poisson(k, mean);
                let gap = exact.sub(&Ball::float(value, digits)).to_f64().0.abs();
                assert!(gap <= error, "mean = {mean}, k = {k}: {gap:e} > {error:e}");
                let step = Ball::integer(k as i64 + 1, digits).ln().unwrap();
                exact = exact.add(&log_mean).sub(&step);
            }
        }
    }

    #[test]
    fn bounds_stay_small_near_the_mode_of_a_large_table() {
        let (n, q) = (1_u64 << 40, 0.25);
        let k = (n / 4) + 3_000_000; // six deviations
        assert!(log_binomial(k, n, q).1 < 1e-8);
    }
}
