//! The gamma function, the incomplete gamma function and binomial coefficients, in logarithms.

use std::f64::consts::PI;

/// `ln Γ(x)` for `x > 0`.
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// `ln n!`.
fn ln_factorial(n: f64) -> f64 {
    ln_gamma(n + 1.0)
}

/// `ln C(n, k)` for `0 <= k <= n`, without cancellation for large `n` and small `k`.
pub fn ln_binomial(n: f64, k: f64) -> f64 {
    if k < 0.0 || k > n {
        return f64::NEG_INFINITY;
    }
    let k = k.min(n - k);
    if k < 32.0 && k.fract() == 0.0 {
        let mut sum = 0.0;
        for i in 0..k as u32 {
            sum += ((n - f64::from(i)) / (f64::from(i) + 1.0)).ln();
        }
        return sum;
    }
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

/// The regularised lower incomplete gamma function `P(a, x)`, the distribution function of
/// `Gamma(a, 1)`.
pub fn gamma_p(a: f64, x: f64) -> f64 {
    incomplete(a, x).0
}

/// The regularised upper incomplete gamma function `Q(a, x) = 1 − P(a, x)`, accurate in its own
/// tail.
pub fn gamma_q(a: f64, x: f64) -> f64 {
    incomplete(a, x).1
}

/// `(P, Q)`, each from the side on which it is small.
fn incomplete(a: f64, x: f64) -> (f64, f64) {
    if x.is_nan() || a.is_nan() || a <= 0.0 {
        return (f64::NAN, f64::NAN);
    }
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    if x.is_infinite() {
        return (1.0, 0.0);
    }
    let front = log_density(a, x).exp();
    if x < a + 1.0 {
        // x^a e^-x / Γ(a+1) · Σ x^k / ((a+1)...(a+k))
        let mut term = 1.0;
        let mut sum = 1.0;
        let mut k = a;
        for _ in 0..100_000 {
            k += 1.0;
            term *= x / k;
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        let p = (front * sum).min(1.0);
        (p, 1.0 - p)
    } else {
        // Lentz's continued fraction for Q.
        let mut b = x + 1.0 - a;
        let mut c = f64::MAX;
        let mut d = 1.0 / b;
        let mut h = d;
        for i in 1..100_000 {
            let i = f64::from(i);
            let an = -i * (i - a);
            b += 2.0;
            d = 1.0 / an.mul_add(d, b);
            c = b + an / c;
            let factor = d * c;
            h *= factor;
            if (factor - 1.0).abs() < 1e-16 {
                break;
            }
        }
        let q = (front * a * h).min(1.0);
        (1.0 - q, q)
    }
}

/// `ln(x^a e^{−x}/Γ(a + 1))`, by the saddle-point form for large `a` so that no large terms cancel.
fn log_density(a: f64, x: f64) -> f64 {
    if a < 20.0 {
        return a * x.ln() - x - ln_gamma(a + 1.0);
    }
    // Γ(a+1) = √(2πa) (a/e)^a e^{s(a)}, s(a) = 1/(12a) − 1/(360a³) + ...
    let u = (x - a) / a;
    let deviance = if u.abs() < 0.1 { log1p_minus(u) } else { u.ln_1p() - u };
    let i = 1.0 / (a * a);
    let stirling = (1.0 / 12.0 + i * (-1.0 / 360.0 + i * (1.0 / 1260.0 - i / 1680.0))) / a;
    a * deviance - 0.5 * (2.0 * PI * a).ln() - stirling
}

/// `ln(1 + u) − u` for `|u| < 0.1`, by its series.
fn log1p_minus(u: f64) -> f64 {
    let mut power = u * u;
    let mut sum = 0.0;
    for k in 2..24 {
        let k = f64::from(k);
        sum += if k % 2.0 == 0.0 { -power / k } else { power / k };
        power *= u;
    }
    sum
}

/// The `x` with `P(a, x) = p`.
pub fn gamma_quantile(a: f64, p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) || a.is_nan() || a <= 0.0 {
        return f64::NAN;
    }
    if p == 0.0 {
        return 0.0;
    }
    if p == 1.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, a.max(1.0));
    while gamma_p(a, high) < p {
        low = high;
        high *= 2.0;
    }
    // Newton, kept inside the bracket.
    let mut x = 0.5 * (low + high);
    for _ in 0..200 {
        let f = gamma_p(a, x) - p;
        if f > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let slope = (log_density(a, x) + (a / x).ln()).exp();
        let newton = x - f / slope;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - x).abs() <= 1e-15 * x {
            return next;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_orders_have_closed_forms() {
        for x in [1e-3, 0.1, 0.9, 2.0, 7.5, 40.0] {
            assert!((gamma_p(1.0, x) / -(-x).exp_m1() - 1.0).abs() < 2e-15);
            assert!((gamma_q(1.0, x) / (-x).exp() - 1.0).abs() < 5e-15);
            let three = (-x).exp() * (1.0 + x + x * x / 2.0);
            assert!((gamma_q(3.0, x) / three - 1.0).abs() < 5e-15, "{x}");
        }
        // P(1/2, x) = erf(√x)
        for x in [0.01, 0.5, 1.4, 4.0] {
            assert!((gamma_p(0.5, x) / libm::erf(f64::sqrt(x)) - 1.0).abs() < 3e-15);
        }
    }

    #[test]
    fn the_median_is_near_a_minus_a_third() {
        for a in [5.0, 50.0, 500.0, 7850.0, 1e6] {
            let median = gamma_quantile(a, 0.5);
            assert!(
                (median - (a - 1.0 / 3.0 + 8.0 / (405.0 * a))).abs() < 0.01 / a,
                "{a} {median}"
            );
        }
    }

    #[test]
    fn binomials_of_large_numbers() {
        assert!((ln_binomial(1e9, 2.0) - (1e9f64 * (1e9 - 1.0) / 2.0).ln()).abs() < 1e-13);
        assert!((ln_binomial(50.0, 25.0) - 126_410_606_437_752f64.ln()).abs() < 1e-12);
        assert_eq!(ln_binomial(3.0, 5.0), f64::NEG_INFINITY);
    }
}
