//! Laws on a grid: positive terms only, and what is cut off is counted.

use reticent_math::ln_binomial_pmf;

/// The masses of `Bin(n, p)` from zero, and an upper bound on what lies above them.
pub(super) fn binomial_masses(n: f64, p: f64, tail: f64) -> (Vec<f64>, f64) {
    let mut masses = Vec::new();
    let mut k = 0.0;
    loop {
        if k > n {
            return (masses, 0.0);
        }
        let mass = ln_binomial_pmf(k, n, p).exp();
        // Above the mode the ratio of neighbours falls, so the rest is below a geometric series.
        let ratio = (n - k) / (k + 1.0) * p / (1.0 - p).max(1e-300);
        if k > n * p && ratio < 0.9 && mass * ratio / (1.0 - ratio) <= tail {
            masses.push(mass);
            return (masses, mass * ratio / (1.0 - ratio));
        }
        masses.push(mass);
        k += 1.0;
    }
}

/// The law of `X + stride·K`.
pub(super) fn add_multiples(law: &[f64], kernel: &[f64], stride: usize) -> Vec<f64> {
    let mut sum = vec![0.0; law.len() + (kernel.len() - 1) * stride];
    for (k, share) in kernel.iter().enumerate() {
        let to = &mut sum[k * stride..k * stride + law.len()];
        to.iter_mut().zip(law).for_each(|(s, p)| *s += share * p);
    }
    sum
}

/// The law of `X + offset + K`.
pub(super) fn convolve_shifted(law: &[f64], kernel: &[f64], offset: usize) -> Vec<f64> {
    let mut sum = vec![0.0; law.len() + offset + kernel.len() - 1];
    for (k, share) in kernel.iter().enumerate() {
        let to = &mut sum[offset + k..offset + k + law.len()];
        to.iter_mut().zip(law).for_each(|(s, p)| *s += share * p);
    }
    sum
}

/// Cut at most `tail` off the top; return what was cut.
pub(super) fn trim(law: &mut Vec<f64>, tail: f64) -> f64 {
    let mut cut = 0.0;
    while law.len() > 1 {
        let last = law[law.len() - 1];
        if cut + last > tail {
            break;
        }
        cut += last;
        law.pop();
    }
    cut
}
