//! Batch samplers against exact probabilities.

use crate::common::{chi_square, kolmogorov_smirnov, mean_check, normal_cdf, stream};
use reticent_noise::batch::{
    Binomial, Geometric, Hypergeometric, Poisson, poisson_batch, uniform_subset,
};

fn choose(n: u64, k: u64) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}

fn binomial(n: u64, q: f64) -> Vec<f64> {
    (0..=n).map(|k| choose(n, k) * q.powi(k as i32) * (1.0 - q).powi((n - k) as i32)).collect()
}

fn count(cells: usize, draws: usize, mut sample: impl FnMut() -> u64) -> Vec<u64> {
    let mut counts = vec![0; cells];
    for _ in 0..draws {
        counts[(sample() as usize).min(cells - 1)] += 1;
    }
    counts
}

#[test]
fn binomial_counts_have_their_probabilities() {
    for (seed, n, q) in [(1, 1, 0.3), (2, 10, 0.3), (3, 40, 0.5), (4, 60, 0.97), (5, 30, 0.01)] {
        let law = Binomial::new(n, q).unwrap();
        let mut stream = stream(seed);
        let counts = count(n as usize + 1, 300_000, || law.sample(&mut stream));
        assert!(chi_square(&counts, &binomial(n, q)) < 1.0, "n = {n}, q = {q}");
        let wrong = if q < 0.5 { q * 1.05 } else { 1.0 - (1.0 - q) * 1.05 };
        assert!(chi_square(&counts, &binomial(n, wrong)) > 1.0 || q < 0.1, "n = {n}: 5% must show");
    }
}

#[test]
fn binomial_counts_of_large_tables_are_normal() {
    for (n, q) in [(1_000_000_000_u64, 0.37), (1 << 40, 1e-6)] {
        let law = Binomial::new(n, q).unwrap();
        let mut stream = stream(6);
        let sd = (n as f64 * q * (1.0 - q)).sqrt();
        let sample: Vec<f64> =
            (0..50_000).map(|_| (law.sample(&mut stream) as f64 - n as f64 * q) / sd).collect();
        assert!(mean_check(sample.iter().sum(), sample.len(), 0.0, 1.0) < 1.0);
        assert!(mean_check(sample.iter().map(|x| x * x).sum(), sample.len(), 1.0, 2.0) < 1.0);
        assert!(kolmogorov_smirnov(sample, |x| normal_cdf(x + 0.5 / sd)) < 1.05);
    }
}

#[test]
fn certain_binomials() {
    let mut stream = stream(7);
    assert_eq!(Binomial::new(9, 0.0).unwrap().sample(&mut stream), 0);
    assert_eq!(Binomial::new(9, 1.0).unwrap().sample(&mut stream), 9);
    assert_eq!(Binomial::new(0, 0.4).unwrap().sample(&mut stream), 0);
    assert!(Binomial::new(9, 1.5).is_err() && Binomial::new(9, f64::NAN).is_err());
    assert!(Binomial::new(u64::MAX, 0.5).is_err());
}

#[test]
fn hypergeometric_counts_have_their_probabilities() {
    for (seed, n, marked, size) in
        [(8, 20, 8, 6), (9, 10, 9, 9), (10, 50, 3, 40), (11, 100, 50, 50)]
    {
        let law = Hypergeometric::new(n, marked, size).unwrap();
        let mut stream = stream(seed);
        let counts = count(size as usize + 1, 200_000, || law.sample(&mut stream));
        let exact: Vec<f64> = (0..=size)
            .map(|k| {
                if k > marked || size - k > n - marked {
                    0.0
                } else {
                    choose(marked, k) * choose(n - marked, size - k) / choose(n, size)
                }
            })
            .collect();
        assert!(chi_square(&counts, &exact) < 1.0, "{n} {marked} {size}");
    }
    let mut stream = stream(12);
    assert_eq!(Hypergeometric::new(5, 5, 3).unwrap().sample(&mut stream), 3);
    assert_eq!(Hypergeometric::new(5, 0, 3).unwrap().sample(&mut stream), 0);
    assert!(Hypergeometric::new(5, 6, 3).is_err() && Hypergeometric::new(5, 3, 6).is_err());
    // A large one: mean size·marked/n, variance with the finite-population factor.
    let law = Hypergeometric::new(1_000_000, 300_000, 10_000).unwrap();
    let sum: f64 = (0..20_000).map(|_| law.sample(&mut stream) as f64).sum();
    assert!(mean_check(sum, 20_000, 3000.0, 2100.0 * 0.99) < 1.0);
}

#[test]
fn poisson_counts_have_their_probabilities() {
    for (seed, mean) in [(13, 0.1), (14, 2.5), (15, 30.0)] {
        let law = Poisson::new(mean).unwrap();
        let mut stream = stream(seed);
        let cells = (mean + 12.0 * f64::sqrt(mean) + 12.0) as usize;
        let counts = count(cells, 300_000, || law.sample(&mut stream));
        let exact = |mean: f64| {
            let mut term = f64::exp(-mean);
            let mut all: Vec<f64> = (1..cells)
                .map(|k| {
                    let now = term;
                    term *= mean / k as f64;
                    now
                })
                .collect();
            all.push((1.0 - all.iter().sum::<f64>()).max(0.0));
            all
        };
        assert!(chi_square(&counts, &exact(mean)) < 1.0, "mean = {mean}");
        assert!(chi_square(&counts, &exact(mean * 1.06)) > 1.0, "mean = {mean}: 6% must show");
    }
    assert!(Poisson::new(0.0).is_err() && Poisson::new(1e13).is_err());
}

#[test]
fn skips_have_geometric_probabilities() {
    for (seed, q) in [(16, 0.5), (17, 0.1), (18, 0.9)] {
        let law = Geometric::new(q).unwrap();
        let mut stream = stream(seed);
        let cells = 200;
        let counts = count(cells, 300_000, || law.sample(&mut stream));
        let mut exact: Vec<f64> = (0..cells).map(|k| q * f64::powi(1.0 - q, k as i32)).collect();
        exact[cells - 1] = f64::powi(1.0 - q, cells as i32 - 1);
        assert!(chi_square(&counts, &exact) < 1.0, "q = {q}");
    }
    assert!(Geometric::new(0.0).is_err() && Geometric::new(f64::NAN).is_err());
}

#[test]
fn rows_join_a_poisson_batch_independently_and_with_the_stated_rate() {
    for (seed, q) in [(21, 0.3), (22, 0.75)] {
        // All 2^6 outcomes of 6 rows.
        let mut stream = stream(seed);
        let mut counts = vec![0_u64; 64];
        for _ in 0..400_000 {
            let rows = poisson_batch(6, q, &mut stream).unwrap();
            assert!(rows.windows(2).all(|w| w[0] < w[1]));
            counts[rows.iter().map(|r| 1 << r).sum::<usize>()] += 1;
        }
        let exact = |q: f64| -> Vec<f64> {
            (0..64_u32)
                .map(|set| {
                    let k = set.count_ones() as i32;
                    q.powi(k) * (1.0 - q).powi(6 - k)
                })
                .collect()
        };
        assert!(chi_square(&counts, &exact(q)) < 1.0, "q = {q}");
        assert!(chi_square(&counts, &exact(q * 1.02)) > 1.0, "q = {q}: 2% must show");
    }
}

#[test]
fn batches_of_a_large_table_have_binomial_size_and_even_spread() {
    let mut stream = stream(23);
    let (n, q, runs) = (1_000_000, 0.002, 400);
    let (mut size, mut bins) = (0, vec![0_u64; 50]);
    for _ in 0..runs {
        let rows = poisson_batch(n, q, &mut stream).unwrap();
        size += rows.len();
        for row in rows {
            bins[row / 20_000] += 1;
        }
    }
    let mean = n as f64 * q;
    assert!(mean_check(size as f64, runs, mean, mean * (1.0 - q)) < 1.0);
    assert!(chi_square(&bins, &[1.0 / 50.0; 50]) < 1.0);
}

#[test]
fn a_count_and_a_subset_make_a_poisson_batch() {
    // The other way to the same law: binomial size, uniform subset.
    let law = Binomial::new(5, 0.4).unwrap();
    let mut stream = stream(24);
    let mut counts = vec![0_u64; 32];
    for _ in 0..300_000 {
        let size = law.sample(&mut stream) as usize;
        let rows = uniform_subset(5, size, &mut stream).unwrap();
        counts[rows.iter().map(|r| 1 << r).sum::<usize>()] += 1;
    }
    let exact: Vec<f64> = (0..32_u32)
        .map(|set| {
            0.4_f64.powi(set.count_ones() as i32) * 0.6_f64.powi(5 - set.count_ones() as i32)
        })
        .collect();
    assert!(chi_square(&counts, &exact) < 1.0);
}
