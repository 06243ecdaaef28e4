//! The binomial law without lost digits (Loader 2000).

use std::f64::consts::PI;

use crate::ln_gamma;

/// `ln n! − ln(√(2πn)(n/e)^n)`.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        return ln_gamma(n + 1.0) - (n + 0.5) * n.ln() + n - 0.5 * (2.0 * PI).ln();
    }
    let i = 1.0 / (n * n);
    (1.0 / 12.0 - i * (1.0 / 360.0 - i * (1.0 / 1260.0 - i * (1.0 / 1680.0 - i / 1188.0)))) / n
}

/// `x ln(x/m) + m − x`, without cancellation near `x = m`.
fn deviance(x: f64, m: f64) -> f64 {
    if (x - m).abs() < 0.1 * (x + m) {
        let v = (x - m) / (x + m);
        let mut sum = (x - m) * v;
        let mut term = 2.0 * x * v;
        let square = v * v;
        for j in 1..200 {
            term *= square;
            let next = sum + term / f64::from(2 * j + 1);
            if next == sum {
                break;
            }
            sum = next;
        }
        return sum;
    }
    x * (x / m).ln() + m - x
}

/// `ln P(Bin(n, p) = k)` for whole `0 <= k <= n`; `−∞` outside.
pub fn ln_binomial_pmf(k: f64, n: f64, p: f64) -> f64 {
    if k < 0.0 || k > n || p.is_nan() {
        return f64::NEG_INFINITY;
    }
    if p <= 0.0 {
        return if k == 0.0 { 0.0 } else { f64::NEG_INFINITY };
    }
    if p >= 1.0 {
        return if k == n { 0.0 } else { f64::NEG_INFINITY };
    }
    if k == 0.0 {
        return n * (-p).ln_1p();
    }
    if k == n {
        return n * p.ln();
    }
    let rest = n - k;
    let exponent = stirling_error(n)
        - stirling_error(k)
        - stirling_error(rest)
        - deviance(k, n * p)
        - deviance(rest, n * (1.0 - p));
    exponent + 0.5 * (n / (2.0 * PI * k * rest)).ln()
}

/// `P(Bin(n, p) >= k)`, relatively accurate in the upper tail.
pub fn binomial_tail(k: f64, n: f64, p: f64) -> f64 {
    if k <= 0.0 {
        return 1.0;
    }
    if k > n || p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    let upward = k > n * p;
    // Sum away from the mode, so that terms fall.
    let (mut term, mut sum, mut j) = if upward {
        (ln_binomial_pmf(k, n, p).exp(), 0.0, k)
    } else {
        (ln_binomial_pmf(k - 1.0, n, p).exp(), 0.0, k - 1.0)
    };
    let odds = p / (1.0 - p);
    while term > 0.0 && (0.0..=n).contains(&j) {
        sum += term;
        if term < 1e-18 * sum {
            break;
        }
        if upward {
            term *= odds * (n - j) / (j + 1.0);
            j += 1.0;
        } else {
            term *= j / (odds * (n - j + 1.0));
            j -= 1.0;
        }
    }
    if upward { sum.min(1.0) } else { (1.0 - sum).clamp(0.0, 1.0) }
}

/// The smallest `k` with `P(Bin(n, p) > k) <= tail`.
pub fn binomial_quantile_upper(n: f64, p: f64, tail: f64) -> f64 {
    let exceeds = |k: f64| binomial_tail(k + 1.0, n, p) > tail;
    let (mut low, mut high) = (-1.0, n);
    while high - low > 1.0 {
        let middle = ((low + high) * 0.5).floor();
        if exceeds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masses_sum_to_one_and_tails_to_their_parts() {
        for (n, p) in [(1.0, 0.3), (10.0, 0.5), (1000.0, 0.001), (300.0, 0.97)] {
            let masses: Vec<f64> =
                (0..=n as u32).map(|k| ln_binomial_pmf(f64::from(k), n, p).exp()).collect();
            let total: f64 = masses.iter().sum();
            assert!((total - 1.0).abs() < 1e-13, "{n} {p} {total}");
            for k in 0..=n as usize {
                let tail: f64 = masses[k..].iter().rev().sum();
                let got = binomial_tail(k as f64, n, p);
                assert!((got - tail).abs() <= 1e-12 * tail + 1e-15, "{n} {p} {k} {got} {tail}");
            }
        }
    }

    #[test]
    fn large_counts_keep_their_digits() {
        // C(10^6, 500000)/2^(10^6), 40-digit value
        let log = ln_binomial_pmf(5e5, 1e6, 0.5);
        assert!((log.exp() / 7.978_843_613_317_501e-4 - 1.0).abs() < 1e-12, "{:e}", log.exp());
    }
}
