//! Distribution tests with stated false-alarm rates. Seeds are fixed, so a test either always
//! passes or always fails.

#![allow(dead_code, reason = "each test program uses a part")]

use reticent_noise::{Purpose, Source, Stream};

/// The chance that a correct sampler with a random seed fails one check.
pub(crate) const FALSE_ALARM: f64 = 1e-9;

pub(crate) fn stream(seed: u64) -> Stream {
    Source::seeded_not_private(seed).stream(Purpose::Noise)
}

/// Kolmogorov-Smirnov distance over its critical value, for [`FALSE_ALARM`]: at most 1 for a
/// correct sampler.
///
/// Massart's inequality, `P(distance > x) <= 2·e^(-2nx²)`, holds for every sample size and every
/// law.
pub(crate) fn kolmogorov_smirnov(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let distance = sample.iter().enumerate().fold(0.0_f64, |worst, (i, &x)| {
        let wanted = cdf(x);
        worst.max((i as f64 + 1.0) / n - wanted).max(wanted - i as f64 / n)
    });
    distance / ((2.0 / FALSE_ALARM).ln() / (2.0 * n)).sqrt()
}

/// Chi-square of counts against probabilities, over its critical value for [`FALSE_ALARM`].
///
/// Cells are pooled from the right until each expects 20 or more. The critical value is that of
/// Laurent and Massart (2000), `k + 2√(kx) + 2x` with `e^(-x)` the false-alarm rate, for a
/// chi-square law.
pub(crate) fn chi_square(counts: &[u64], probabilities: &[f64]) -> f64 {
    assert_eq!(counts.len(), probabilities.len());
    let total: u64 = counts.iter().sum();
    let mut cells = Vec::new();
    let (mut count, mut wanted) = (0.0, 0.0);
    for (&c, &p) in counts.iter().zip(probabilities) {
        count += c as f64;
        wanted += p * total as f64;
        if wanted >= 20.0 {
            cells.push((count, wanted));
            (count, wanted) = (0.0, 0.0);
        }
    }
    if let Some(last) = cells.last_mut() {
        last.0 += count;
        last.1 += wanted;
    }
    let mass: f64 = probabilities.iter().sum();
    assert!((mass - 1.0).abs() < 1e-9, "probabilities sum to {mass}");
    let statistic: f64 = cells.iter().map(|(c, w)| (c - w).powi(2) / w).sum();
    let (k, x) = (cells.len() as f64 - 1.0, -FALSE_ALARM.ln());
    statistic / (k + 2.0 * (k * x).sqrt() + 2.0 * x)
}

/// Distance of a mean from its expectation in standard errors, over 6.2 (two-sided odds 6e-10): at
/// most 1.
pub(crate) fn mean_check(sum: f64, n: usize, mean: f64, variance: f64) -> f64 {
    ((sum / n as f64 - mean) / (variance / n as f64).sqrt()).abs() / 6.2
}

/// The standard normal distribution function.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / core::f64::consts::SQRT_2)
}

/// The distribution function of Gamma(shape, 1) for a whole shape: `1 - e^(-x)·Σ_{i<shape} x^i/i!`.
pub(crate) fn gamma_cdf(shape: u32, x: f64) -> f64 {
    let (mut term, mut sum) = ((-x).exp(), 0.0);
    for i in 0..shape {
        sum += term;
        term *= x / f64::from(i + 1);
    }
    1.0 - sum
}
