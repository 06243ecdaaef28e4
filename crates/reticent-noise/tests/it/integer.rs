//! The integer samplers against exact probabilities.

use crate::common::{chi_square, kolmogorov_smirnov, mean_check, normal_cdf, stream};
use reticent_noise::integer::{
    DiscreteGaussian, DiscreteLaplace, bernoulli, bernoulli_exp, uniform_below,
};

/// Counts of `draws` in `-half..=half`, the ends taking all beyond.
fn count(draws: usize, half: i64, mut sample: impl FnMut() -> i64) -> Vec<u64> {
    let mut counts = vec![0; 2 * half as usize + 1];
    for _ in 0..draws {
        counts[(sample().clamp(-half, half) + half) as usize] += 1;
    }
    counts
}

/// Probabilities of a symmetric law on the same cells, from its weights.
fn cells(half: i64, weight: impl Fn(f64) -> f64) -> Vec<f64> {
    let far = half + 400;
    let total: f64 = (-far..=far).map(|k| weight(k as f64)).sum();
    let end: f64 = (half..=far).map(|k| weight(k as f64)).sum::<f64>() / total;
    (-half..=half).map(|k| if k.abs() == half { end } else { weight(k as f64) / total }).collect()
}

#[test]
fn the_discrete_gaussian_has_its_probabilities() {
    for (seed, s) in [(1, 1_u64), (2, 2), (3, 3), (4, 7), (5, 20)] {
        let law = DiscreteGaussian::new(s).unwrap();
        let mut stream = stream(seed);
        let half = 6 * s as i64;
        let counts = count(1_000_000, half, || law.sample(&mut stream));
        let exact = |s: f64| cells(half, move |k| (-k * k / (2.0 * s * s)).exp());
        assert!(chi_square(&counts, &exact(s as f64)) < 1.0, "s = {s}");
        assert!(chi_square(&counts, &exact(s as f64 * 1.02)) > 1.0, "s = {s}: 2% must show");
    }
}

#[test]
fn the_discrete_gaussian_at_working_size_is_normal() {
    for s in [(1_u64 << 30) + 7, 1 << 31, (1 << 50) - 1] {
        let law = DiscreteGaussian::new(s).unwrap();
        let mut stream = stream(6);
        let sample: Vec<f64> =
            (0..300_000).map(|_| law.sample(&mut stream) as f64 / s as f64).collect();
        let n = sample.len();
        assert!(mean_check(sample.iter().sum(), n, 0.0, 1.0) < 1.0);
        assert!(mean_check(sample.iter().map(|x| x * x).sum(), n, 1.0, 2.0) < 1.0);
        assert!(mean_check(sample.iter().map(|x| x.powi(4)).sum(), n, 3.0, 96.0) < 1.0);
        assert!(kolmogorov_smirnov(sample, normal_cdf) < 1.0);
    }
}

#[test]
fn low_bits_of_the_discrete_gaussian_are_even() {
    let law = DiscreteGaussian::new((1 << 30) + 1).unwrap();
    let mut stream = stream(7);
    let mut counts = [0_u64; 64];
    for _ in 0..500_000 {
        counts[(law.sample(&mut stream) & 63) as usize] += 1;
    }
    assert!(chi_square(&counts, &[1.0 / 64.0; 64]) < 1.0);
}

#[test]
fn the_discrete_laplace_has_its_probabilities() {
    for (seed, t) in [(11, 1_u64), (12, 2), (13, 3), (14, 10)] {
        let law = DiscreteLaplace::new(t).unwrap();
        let mut stream = stream(seed);
        let half = 12 * t as i64;
        let counts = count(1_000_000, half, || law.sample(&mut stream));
        let exact = |t: f64| cells(half, move |k| (-k.abs() / t).exp());
        assert!(chi_square(&counts, &exact(t as f64)) < 1.0, "t = {t}");
        assert!(chi_square(&counts, &exact(t as f64 * 1.02)) > 1.0, "t = {t}: 2% must show");
    }
}

#[test]
fn the_discrete_laplace_at_working_size_is_exponential_on_both_sides() {
    let t = (1_u64 << 40) + 3;
    let law = DiscreteLaplace::new(t).unwrap();
    let mut stream = stream(15);
    let sample = (0..300_000).map(|_| law.sample(&mut stream) as f64 / t as f64).collect();
    let cdf = |x: f64| if x < 0.0 { x.exp() / 2.0 } else { 1.0 - (-x).exp() / 2.0 };
    assert!(kolmogorov_smirnov(sample, cdf) < 1.0);
}

#[test]
fn coins_have_their_odds() {
    let n = 1_000_000;
    let mut stream = stream(21);
    let mut heads = |p: f64, coin: &mut dyn FnMut(&mut reticent_noise::Stream) -> bool| {
        let sum = (0..n).filter(|_| coin(&mut stream)).count() as f64;
        mean_check(sum, n, p, p * (1.0 - p))
    };
    for (a, b) in [(1, 2), (1, 3), (2, 3), (1, u64::MAX), (u64::MAX - 1, u64::MAX), (5, 7)] {
        let p = a as f64 / b as f64;
        assert!(heads(p.clamp(1e-12, 1.0 - 1e-12), &mut |s| bernoulli(a, b, s)) < 1.0, "{a}/{b}");
    }
    for (a, b) in [(0_u64, 1_u64), (1, 2), (1, 1), (7, 3), (1, 1000), (u64::MAX / 2, u64::MAX)] {
        let p = (-(a as f64) / b as f64).exp().min(1.0 - 1e-12);
        assert!(heads(p, &mut |s| bernoulli_exp(a, b, s)) < 1.0, "e^-{a}/{b}");
    }
    assert!(heads(0.5 * 1.02, &mut |s| bernoulli(1, 2, s)) > 1.0, "2% must show");
}

#[test]
fn bounded_integers_are_even() {
    let mut stream = stream(22);
    for bound in [2, 3, 7, 100] {
        let mut counts = vec![0_u64; bound as usize];
        for _ in 0..200_000 {
            counts[uniform_below(bound, &mut stream) as usize] += 1;
        }
        assert!(chi_square(&counts, &vec![1.0 / bound as f64; bound as usize]) < 1.0);
    }
    // A bound that is no divisor of 2^64 and close to it: the halves below and above must balance.
    let bound = 3 << 62;
    let low = (0..200_000).filter(|_| uniform_below(bound, &mut stream) < bound / 2).count();
    assert!(mean_check(low as f64, 200_000, 0.5, 0.25) < 1.0);
}

#[test]
fn parameters_out_of_range_are_refused() {
    assert!(DiscreteGaussian::new(0).is_err());
    assert!(DiscreteGaussian::new(DiscreteGaussian::LARGEST + 1).is_err());
    assert!(DiscreteLaplace::new(0).is_err());
    assert!(DiscreteLaplace::new(u64::MAX).is_err());
}
