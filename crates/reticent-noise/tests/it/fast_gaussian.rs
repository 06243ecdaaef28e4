//! The fast Gaussian against the normal law: shape, moments, tails, independence, streams.

use crate::common::{chi_square, kolmogorov_smirnov, mean_check, normal_cdf, stream};
use reticent_noise::{Purpose, Source, fast};

fn draw(n: usize, seed: u64) -> Vec<f64> {
    let mut out = vec![0.0; n];
    fast::fill_standard_gaussian(&mut out, &mut stream(seed));
    out
}

#[test]
fn the_shape_is_normal_and_the_test_sees_two_percent() {
    let sample = draw(1_000_000, 1);
    assert!(kolmogorov_smirnov(sample.clone(), normal_cdf) < 1.0);
    let wide = sample.iter().map(|x| x * 1.02).collect();
    assert!(kolmogorov_smirnov(wide, normal_cdf) > 1.0, "a deviation 2% too large must show");
    let shifted = sample.iter().map(|x| x + 0.01).collect();
    assert!(kolmogorov_smirnov(shifted, normal_cdf) > 1.0, "a shift of 0.01 must show");
}

#[test]
fn moments_up_to_the_eighth() {
    // E x^k for k = 1..16 gives mean and variance of each power.
    let moment = |k: i32| {
        if k % 2 == 1 { 0.0 } else { (1..k).step_by(2).map(f64::from).product::<f64>() }
    };
    let check = |sample: &[f64], k: i32| {
        let sum: f64 = sample.iter().map(|x| x.powi(k)).sum();
        mean_check(sum, sample.len(), moment(k), moment(2 * k) - moment(k).powi(2))
    };
    let sample = draw(8_000_000, 2);
    for k in 1..=8 {
        assert!(check(&sample, k) < 1.0, "moment {k}");
    }
    let wide: Vec<f64> = sample.iter().map(|x| x * 1.02).collect();
    assert!(check(&wide, 2) > 1.0 && check(&wide, 4) > 1.0);
}

#[test]
fn tail_counts_are_those_of_the_normal_law() {
    let n = 40_000_000;
    let mut stream = stream(3);
    let mut counts = [0_u64; 8]; // |x| in [1, 2), [2, 3), …, [5, ∞) and by sign of the last two
    let mut block = vec![0.0; 1 << 16];
    for _ in 0..n / block.len() {
        fast::fill_standard_gaussian(&mut block, &mut stream);
        for &x in &block {
            let cell = match x.abs() as u32 {
                0 => 0,
                1 => 1,
                2 => 2,
                3 => 3,
                4 if x < 0.0 => 4,
                4 => 5,
                _ if x < 0.0 => 6,
                _ => 7,
            };
            counts[cell] += 1;
        }
    }
    let beyond = |x: f64| 2.0 * normal_cdf(-x);
    let between = |x: f64| beyond(x) - beyond(x + 1.0);
    let wanted = [
        between(0.0),
        between(1.0),
        between(2.0),
        between(3.0),
        between(4.0) / 2.0,
        between(4.0) / 2.0,
        beyond(5.0) / 2.0,
        beyond(5.0) / 2.0,
    ];
    assert!(chi_square(&counts, &wanted) < 1.0, "{counts:?}");
    // The same counts against a law 2% wider.
    let wide = |x: f64| 2.0 * normal_cdf(-x / 1.02);
    let mut off = [0.0; 8];
    for (i, p) in off.iter_mut().enumerate() {
        let cell = [0.0, 1.0, 2.0, 3.0, 4.0, 4.0, 5.0, 5.0][i];
        let mass = if i < 6 { wide(cell) - wide(cell + 1.0) } else { wide(cell) };
        *p = if i < 4 { mass } else { mass / 2.0 };
    }
    assert!(chi_square(&counts, &off) > 1.0);
}

/// Correlations of `x_i` and `x_(i+lag)`, of their squares, and of a square with a number.
fn dependence(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let sum = |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(&x, &y)| f(x, y)).sum::<f64>();
    mean_check(sum(&|x, y| x * y), n, 0.0, 1.0)
        .max(mean_check(sum(&|x, y| (x * x - 1.0) * (y * y - 1.0)), n, 0.0, 4.0))
        .max(mean_check(sum(&|x, y| (x * x - 1.0) * y), n, 0.0, 2.0))
        .max(mean_check(sum(&|x, y| x * (y * y - 1.0)), n, 0.0, 2.0))
}

#[test]
fn coordinates_are_independent_at_every_lag_that_shares_a_group() {
    let sample = draw(1_000_000, 4);
    for lag in (1..140).chain([192, 256, 1000]) {
        assert!(dependence(&sample, &sample[lag..]) < 1.0, "lag {lag}");
    }
    // The check sees a faint dependence: a hundredth of the neighbour mixed in.
    let mixed: Vec<f64> = sample.windows(2).map(|w| w[0] + 0.01 * w[1]).collect();
    assert!(dependence(&mixed, &mixed[1..]) > 1.0);
}

#[test]
fn partners_in_a_pair_are_uniform_in_angle_whatever_the_radius() {
    // Numbers i and i + 64 of a group come from one radius: 32 sectors × 8 equally likely rings.
    let sample = draw(2_000_000 / 128 * 128, 5);
    let mut counts = [0_u64; 256];
    for group in sample.as_chunks::<128>().0 {
        for i in 0..64 {
            let (x, y) = (group[i], group[64 + i]);
            let turn = y.atan2(x) / core::f64::consts::TAU + 0.5;
            let ring = -(-(x * x + y * y) / 2.0).exp_m1();
            let cell = (turn * 32.0) as usize % 32 + 32 * ((ring * 8.0) as usize).min(7);
            counts[cell] += 1;
        }
    }
    assert!(chi_square(&counts, &[1.0 / 256.0; 256]) < 1.0);
}

#[test]
fn streams_and_purposes_are_independent() {
    let source = Source::seeded_not_private(6);
    let samples: Vec<Vec<f64>> =
        [Purpose::Noise, Purpose::Noise, Purpose::Sampling, Purpose::Shuffling, Purpose::Initial]
            .into_iter()
            .map(|purpose| {
                let mut out = vec![0.0; 300_000];
                fast::fill_standard_gaussian(&mut out, &mut source.stream(purpose));
                out
            })
            .collect();
    for (i, a) in samples.iter().enumerate() {
        for b in &samples[..i] {
            assert!(dependence(a, b) < 1.0);
        }
        assert!(kolmogorov_smirnov(a.clone(), normal_cdf) < 1.0);
    }
    let other = draw(300_000, 7);
    assert!(dependence(&other, &draw(300_000, 8)) < 1.0, "neighbouring seeds");
    assert!(dependence(&other, &other) > 1.0, "a stream is not independent of itself");
}

#[test]
fn every_number_is_a_multiple_of_the_grid_and_low_bits_are_even() {
    let sample = draw(1 << 20, 9);
    let mut low = [0_u64; 256];
    for x in sample {
        let cells = x * fast::CELLS;
        assert_eq!(cells.fract(), 0.0);
        low[(cells as i64 & 255) as usize] += 1;
    }
    assert!(chi_square(&low, &[1.0 / 256.0; 256]) < 1.0);
}
