//! Lattice releases: the charge for rounding, the total-variation bound, the privacy profile on
//! small lattices, and the laws of the vector noises.

use crate::common::{chi_square, gamma_cdf, kolmogorov_smirnov, mean_check, normal_cdf, stream};
use proptest::prelude::*;
use reticent_noise::lattice::{
    GaussianLattice, GeneralizedGaussianLattice, L2LaplaceLattice, LaplaceLattice,
};

fn norm(v: &[f64], r: f64) -> f64 {
    v.iter().map(|x| x.abs().powf(r)).sum::<f64>().powf(1.0 / r)
}

/// Rounding to the grid as the mechanisms do it, seen from outside.
fn rounded(v: &[f64], grid: f64) -> Vec<f64> {
    v.iter().map(|x| (x / grid).round_ties_even() * grid).collect()
}

proptest! {
    #[test]
    fn rounding_adds_at_most_one_cell_per_coordinate_to_the_sensitivity(
        pair in proptest::collection::vec((-4.0..4.0_f64, -4.0..4.0_f64), 1..40),
        power in -3..3_i32,
    ) {
        let grid = 2_f64.powi(power);
        let (v, w): (Vec<f64>, Vec<f64>) = pair.into_iter().unzip();
        let minus = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(x, y)| x - y).collect() };
        let after = minus(&rounded(&v, grid), &rounded(&w, grid));
        let before = minus(&v, &w);
        for r in [1.0, 2.0, 3.5] {
            let ones = norm(&vec![1.0; v.len()], r);
            prop_assert!(norm(&after, r) <= norm(&before, r) + grid * ones + 1e-9);
        }
    }

    #[test]
    fn the_noise_covers_sensitivity_and_rounding(
        sensitivity in 1e-6..1e6_f64,
        noise_multiplier in 1e-3..1e4_f64,
        dimension in 1..1_000_000_usize,
        r in 2.0..50.0_f64,
    ) {
        let d = dimension as f64;
        let g = GaussianLattice::new(sensitivity, noise_multiplier, dimension).unwrap();
        let due = noise_multiplier * (sensitivity + g.grid() * d.sqrt());
        prop_assert!(g.sigma() >= due && g.sigma() <= due * 1.000001);
        prop_assert!(g.sigma() <= noise_multiplier * sensitivity * 1.002);
        prop_assert!(g.total_variation() <= d * 5.5e-20);
        let epsilon = noise_multiplier.min(50.0);
        let l = L2LaplaceLattice::new(sensitivity, epsilon, dimension).unwrap();
        let due = (sensitivity + l.grid() * d.sqrt()) / epsilon;
        prop_assert!(l.scale() >= due && l.scale() <= sensitivity / epsilon * 1.0001);
        let p = LaplaceLattice::new(sensitivity, epsilon, dimension).unwrap();
        let due = (sensitivity + p.grid() * d) / epsilon;
        prop_assert!(p.scale() >= due && p.scale() <= sensitivity / epsilon * 1.002);
        let z = GeneralizedGaussianLattice::new(sensitivity, noise_multiplier, r, dimension).unwrap();
        let due = noise_multiplier * (sensitivity + z.grid() * d.powf(1.0 / r));
        prop_assert!(z.sigma() >= due && z.sigma() <= due * 1.000001);
        for grid in [g.grid(), l.grid(), p.grid(), z.grid()] {
            prop_assert_eq!(grid.to_bits() << 12, 0, "a grid is a power of two");
        }
    }
}

#[test]
fn the_charge_for_rounding_is_attained() {
    // Values a hair either side of a boundary, in 9 dimensions: they move by g·√9.
    let (low, high) = (vec![0.5 - 1e-12; 9], vec![0.5 + 1e-12; 9]);
    let gap: Vec<f64> =
        rounded(&low, 1.0).iter().zip(rounded(&high, 1.0)).map(|(a, b)| a - b).collect();
    assert_eq!(norm(&gap, 2.0), 3.0);
}

/// The discrete Gaussian `P` and the rounded continuous one `Q` on `-far..=far`.
fn both_laws(s: f64, far: i64) -> (Vec<f64>, Vec<f64>) {
    let weight = |k: i64| (-((k * k) as f64) / (2.0 * s * s)).exp();
    let total: f64 = (-far..=far).map(weight).sum();
    let mass = |k: i64| {
        // By the tail on the side away from 0, which keeps the digits.
        let (a, b) = ((k.abs() as f64 - 0.5) / s, (k.abs() as f64 + 0.5) / s);
        normal_cdf(-a) - normal_cdf(-b)
    };
    ((-far..=far).map(|k| weight(k) / total).collect(), (-far..=far).map(mass).collect())
}

#[test]
fn total_variation_to_the_rounded_gaussian_is_below_the_bound_and_near_the_leading_term() {
    for s in [1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0] {
        let (p, q) = both_laws(s, (12.0 * s) as i64);
        let distance: f64 = p.iter().zip(&q).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0;
        assert!(distance <= 1.0 / (16.0 * s * s), "s = {s}: {distance}");
        let leading = 0.968 / 48.0 / (s * s);
        assert!((distance / leading - 1.0).abs() < 0.4 / s + 0.02, "s = {s}: {distance} {leading}");
    }
}

/// `sup P(S) - e^epsilon·Q(S)` for laws on the same cells.
fn hockey_stick(p: impl Iterator<Item = f64>, q: impl Iterator<Item = f64>, epsilon: f64) -> f64 {
    p.zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
}

/// The continuous Gaussian mechanism's delta at `mu = shift/sigma` (Balle, Wang 2018).
fn gaussian_delta(epsilon: f64, mu: f64) -> f64 {
    normal_cdf(mu / 2.0 - epsilon / mu) - epsilon.exp() * normal_cdf(-mu / 2.0 - epsilon / mu)
}

#[test]
fn the_profile_on_a_small_lattice_is_the_gaussian_one_plus_the_stated_term() {
    // One coordinate, s cells, every shift up to 2s, every epsilon: exact sums.
    let mut tightest = f64::MAX;
    for s in [2_i64, 5, 16] {
        let far = 14 * s;
        let (p, _) = both_laws(s as f64, far);
        let at = |k: i64| p.get((k + far) as usize).copied().unwrap_or(0.0);
        for shift in 1..=2 * s {
            for epsilon in [0.0, 0.1, 0.5, 1.0, 2.0, 4.0] {
                let range = || -far..=far + shift;
                let delta = hockey_stick(range().map(|k| at(k - shift)), range().map(at), epsilon);
                let ideal = gaussian_delta(epsilon, shift as f64 / s as f64);
                let extra = (1.0 + epsilon.exp()) / (16.0 * (s * s) as f64);
                assert!(delta <= ideal + extra + 1e-15, "s {s}, shift {shift}, epsilon {epsilon}");
                tightest = tightest.min((ideal + extra - delta) / extra);
            }
        }
    }
    assert!(tightest < 0.9, "the term is never needed: {tightest}");
}

#[test]
fn the_profile_in_two_dimensions_too() {
    let s = 4_i64;
    let far = 10 * s;
    let (p, _) = both_laws(s as f64, far);
    let at = |k: i64| p.get((k + far) as usize).copied().unwrap_or(0.0);
    for (a, b) in [(1, 1), (3, 4), (0, 5), (6, 2)] {
        for epsilon in [0.2, 1.0, 2.5] {
            let mut delta = 0.0;
            for x in -far..=far + a {
                for y in -far..=far + b {
                    delta += (at(x - a) * at(y - b) - f64::exp(epsilon) * at(x) * at(y)).max(0.0);
                }
            }
            let mu = ((a * a + b * b) as f64).sqrt() / s as f64;
            let extra = (1.0 + epsilon.exp()) * 2.0 / (16.0 * (s * s) as f64);
            assert!(delta <= gaussian_delta(epsilon, mu) + extra, "({a}, {b}), {epsilon}");
        }
    }
}

#[test]
fn a_gaussian_release_is_the_value_plus_noise_of_its_sigma() {
    let mechanism = GaussianLattice::new(0.37, 2.5, 3).unwrap();
    let mut stream = stream(1);
    let values = [100.0, -3.25, 0.0];
    let mut sample = Vec::new();
    for _ in 0..100_000 {
        let released = mechanism.release(&values, &mut stream);
        for (r, v) in released.iter().zip(values) {
            assert_eq!((r / mechanism.grid()).fract(), 0.0);
            sample.push((r - v) / mechanism.sigma());
        }
    }
    assert!(kolmogorov_smirnov(sample.clone(), normal_cdf) < 1.0);
    let wrong = sample.iter().map(|x| x / 1.02).collect();
    assert!(kolmogorov_smirnov(wrong, normal_cdf) > 0.8, "2% is at the edge of what 300,000 show");
    assert!(mean_check(sample.iter().map(|x| x * x / 1.04).sum(), sample.len(), 1.0, 2.0) > 1.0);
}

#[test]
fn the_l2_laplace_has_a_gamma_radius_and_a_uniform_direction() {
    for (seed, d, runs) in
        [(2, 1_usize, 400_000), (3, 2, 200_000), (4, 3, 150_000), (5, 10, 60_000), (6, 51, 20_000)]
    {
        let mechanism = L2LaplaceLattice::new(1.0, 0.5, d).unwrap();
        let mut stream = stream(seed);
        let zero = vec![0.0; d];
        let (mut radii, mut first, mut cross) = (Vec::new(), 0.0, 0.0);
        for _ in 0..runs {
            let z = mechanism.release(&zero, &mut stream);
            radii.push(norm(&z, 2.0) / mechanism.scale());
            first += (z[0] / mechanism.scale()).powi(2);
            cross += z[0] * z[d - 1] / mechanism.scale().powi(2);
        }
        let cdf = |x: f64| gamma_cdf(d as u32, x);
        assert!(kolmogorov_smirnov(radii.clone(), cdf) < 1.0, "d = {d}");
        let wrong = radii.iter().map(|r| r * 1.02).collect();
        assert!(kolmogorov_smirnov(wrong, cdf) > 1.0, "d = {d}: 2% must show");
        // E z_j² = d + 1, E z_j⁴ = 3(d+1)(d+3), E z_i² z_j² = (d+1)(d+3).
        let n = d as f64;
        let fourth = 3.0 * (n + 1.0) * (n + 3.0);
        assert!(mean_check(first, runs, n + 1.0, fourth - (n + 1.0).powi(2)) < 1.0, "d = {d}");
        if d > 1 {
            assert!(mean_check(cross, runs, 0.0, fourth / 3.0) < 1.0, "d = {d}");
        }
    }
}

#[test]
fn the_l2_laplace_in_the_plane_is_even_in_every_sector() {
    let mechanism = L2LaplaceLattice::new(1.0, 1.0, 2).unwrap();
    let mut stream = stream(7);
    let mut counts = [0_u64; 36];
    for _ in 0..200_000 {
        let z = mechanism.release(&[0.0, 0.0], &mut stream);
        let turn = z[1].atan2(z[0]) / core::f64::consts::TAU + 0.5;
        counts[(turn * 36.0) as usize % 36] += 1;
    }
    assert!(chi_square(&counts, &[1.0 / 36.0; 36]) < 1.0);
}

#[test]
fn a_laplace_release_has_its_scale() {
    let mechanism = LaplaceLattice::new(2.0, 0.1, 2).unwrap();
    let mut stream = stream(8);
    let mut sample = Vec::new();
    for _ in 0..150_000 {
        let released = mechanism.release(&[7.0, -7.0], &mut stream);
        sample.push((released[0] - 7.0) / mechanism.scale());
        sample.push((released[1] + 7.0) / mechanism.scale());
    }
    let cdf = |x: f64| if x < 0.0 { x.exp() / 2.0 } else { 1.0 - (-x).exp() / 2.0 };
    assert!(kolmogorov_smirnov(sample, cdf) < 1.0);
}

#[test]
fn the_generalised_gaussian_has_its_radius_and_its_cone_measure() {
    for (seed, r, d) in [(11, 2.0, 4_usize), (12, 3.0, 4), (13, 8.5, 6), (14, 100.0, 2)] {
        let runs = 60_000;
        let mechanism = GeneralizedGaussianLattice::new(1.0, 3.0, r, d).unwrap();
        let mut stream = stream(seed);
        let zero = vec![0.0; d];
        let (mut radii, mut share) = (Vec::new(), 0.0);
        for _ in 0..runs {
            let z = mechanism.release(&zero, &mut stream);
            let length = norm(&z, r);
            radii.push((length / mechanism.sigma()).powi(2) / 2.0); // Gamma(d/2)
            share += (z[0].abs() / length).powf(r).powi(2);
        }
        let cdf = |x: f64| gamma_cdf(d as u32 / 2, x);
        assert!(kolmogorov_smirnov(radii.clone(), cdf) < 1.0, "r = {r}");
        let wrong = radii.iter().map(|x| x * 1.04).collect();
        assert!(kolmogorov_smirnov(wrong, cdf) > 1.0, "r = {r}: 2% must show");
        // (|z_1|/‖z‖)^r is Beta(1/r, (d-1)/r): its second moment tells r apart.
        let moment = |r: f64, k: u32| -> f64 {
            (0..k).map(|i| (1.0 / r + f64::from(i)) / (d as f64 / r + f64::from(i))).product()
        };
        let variance = moment(r, 4) - moment(r, 2).powi(2);
        assert!(mean_check(share, runs, moment(r, 2), variance) < 1.0, "r = {r}");
        assert!(
            mean_check(share, runs, moment(r * 1.3, 2), variance) > 1.0 || r > 20.0,
            "r = {r}: wrong r"
        );
    }
}

#[test]
fn at_r_2_every_coordinate_is_gaussian() {
    let mechanism = GeneralizedGaussianLattice::new(1.0, 1.0, 2.0, 3).unwrap();
    let mut stream = stream(15);
    let sample: Vec<f64> = (0..100_000)
        .flat_map(|_| mechanism.release(&[0.0; 3], &mut stream))
        .map(|z| z / mechanism.sigma())
        .collect();
    assert!(kolmogorov_smirnov(sample, normal_cdf) < 1.0);
}

#[test]
fn odd_values_and_lengths_leak_nothing() {
    let gaussian = GaussianLattice::new(1.0, 1.0, 2).unwrap();
    let ball = L2LaplaceLattice::new(1.0, 1.0, 2).unwrap();
    let odd = [f64::NAN, f64::INFINITY, 5.0];
    assert_eq!(
        gaussian.release(&odd, &mut stream(1))[..2],
        gaussian.release(&[0.0; 2], &mut stream(1))
    );
    assert_eq!(ball.release(&odd, &mut stream(1))[..2], ball.release(&[0.0; 2], &mut stream(1)));
    assert_eq!(gaussian.release(&odd, &mut stream(1))[2], 0.0, "not paid for");
    assert_eq!(ball.release(&odd, &mut stream(1))[2], 0.0, "not paid for");
    assert_eq!(ball.release(&[1.0], &mut stream(1)).len(), 1);
    assert!(gaussian.release(&[f64::MAX, f64::MIN], &mut stream(1)).iter().all(|v| v.is_finite()));
}

#[test]
fn settings_out_of_range_are_refused() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300] {
        assert!(GaussianLattice::new(bad, 1.0, 1).is_err());
        assert!(GaussianLattice::new(1.0, bad, 1).is_err());
        assert!(L2LaplaceLattice::new(bad, 1.0, 1).is_err());
        assert!(LaplaceLattice::new(bad, 1.0, 1).is_err());
        assert!(GeneralizedGaussianLattice::new(bad, 1.0, 2.0, 1).is_err());
    }
    assert!(GaussianLattice::new(1.0, 1.0, 0).is_err());
    assert!(GaussianLattice::new(1.0, 1e12, 100).is_err());
    assert!(L2LaplaceLattice::new(1.0, 0.0, 1).is_err());
    assert!(GeneralizedGaussianLattice::new(1.0, 1.0, 1.9, 1).is_err());
}

#[test]
fn extreme_but_legal_settings_still_release() {
    for (epsilon, d) in [(1e-9, 1000), (1e9, 1000), (1e-12, 2), (50.0, 1)] {
        let ball = L2LaplaceLattice::new(1.0, epsilon, d).unwrap();
        let z = ball.release(&vec![0.0; d], &mut stream(3));
        let radius = norm(&z, 2.0) / ball.scale() / d as f64;
        assert!(radius > 0.01 && radius < 20.0, "{epsilon} {d}: {radius}");
    }
}
