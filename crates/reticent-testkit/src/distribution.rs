//! Tests of samplers against their distribution functions, with stated false-alarm rates.

/// The Kolmogorov-Smirnov statistic of `sample` (sorted in place) against the continuous `cdf`.
pub fn kolmogorov_smirnov(sample: &mut [f64], cdf: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    sample
        .iter()
        .enumerate()
        .map(|(i, &x)| {
            let f = cdf(x);
            (f - i as f64 / n).max((i + 1) as f64 / n - f)
        })
        .fold(0.0, f64::max)
}

/// The value that [`kolmogorov_smirnov`] exceeds with probability at most `alarm` for a correct
/// sampler: the Dvoretzky-Kiefer-Wolfowitz bound with Massart's constant, valid for every `n`.
pub fn kolmogorov_smirnov_limit(n: usize, alarm: f64) -> f64 {
    ((2.0 / alarm).ln() / (2.0 * n as f64)).sqrt()
}
