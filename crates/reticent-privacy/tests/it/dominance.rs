//! The pairs against real data: small data sets whose output laws can be written down.
//!
//! Three rows with gradients in the unit disc, every batch enumerated, so that both output laws are
//! explicit mixtures of Gaussians in the plane. No divergence between neighbours may exceed the
//! pair's profile.

use reticent_privacy::pair;

/// A small generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A point of the unit disc, on its border as often as not.
    fn gradient(&mut self) -> [f64; 2] {
        let radius = if self.unit() < 0.6 { 1.0 } else { self.unit().sqrt() };
        let angle =
            if self.unit() < 0.5 { (self.unit() * 4.0).floor() * 0.5 } else { 2.0 * self.unit() };
        let (sin, cos) = (std::f64::consts::PI * angle).sin_cos();
        [radius * cos, radius * sin]
    }
}

/// Batches with their probabilities.
fn poisson(rate: f64) -> Vec<(u32, f64)> {
    let chance =
        |s: u32| rate.powi(s.count_ones() as i32) * (1.0 - rate).powi(3 - s.count_ones() as i32);
    (0..8).map(|s| (s, chance(s))).collect()
}

fn fixed(size: u32) -> Vec<(u32, f64)> {
    (0..8u32).filter(|s| s.count_ones() == size).map(|s| (s, 1.0 / 3.0)).collect()
}

const CELLS: i32 = 260;

/// `H_{e^ε}` of the two mixtures at several `ε`, by the midpoint rule.
fn divergences(
    batches: &[(u32, f64)],
    rows: &[[f64; 2]; 3],
    other: &[[f64; 2]; 3],
    sigma: f64,
    epsilons: &[f64],
) -> Vec<f64> {
    let centres = |rows: &[[f64; 2]; 3]| -> Vec<([f64; 2], f64)> {
        let sum = |s: u32| {
            let chosen = (0..3).filter(|i| s >> i & 1 == 1);
            chosen.fold([0.0, 0.0], |a, i| [a[0] + rows[i][0], a[1] + rows[i][1]])
        };
        batches.iter().map(|(s, p)| (sum(*s), *p)).collect()
    };
    let (p, q) = (centres(rows), centres(other));
    let reach = 3.0 + 6.0 * sigma;
    let width = 2.0 * reach / f64::from(CELLS);
    let density = |mixture: &[([f64; 2], f64)], x: f64, y: f64| {
        let one = |c: &[f64; 2]| {
            (-((x - c[0]).powi(2) + (y - c[1]).powi(2)) / (2.0 * sigma * sigma)).exp()
        };
        let total: f64 = mixture.iter().map(|(c, w)| w * one(c)).sum();
        total / (2.0 * std::f64::consts::PI * sigma * sigma)
    };
    let mut sums = vec![0.0; epsilons.len()];
    for i in 0..CELLS {
        for j in 0..CELLS {
            let x = -reach + width * (f64::from(i) + 0.5);
            let y = -reach + width * (f64::from(j) + 0.5);
            let (a, b) = (density(&p, x, y), density(&q, x, y));
            for (sum, e) in sums.iter_mut().zip(epsilons) {
                *sum += (a - e.exp() * b).max(0.0) * width * width;
            }
        }
    }
    sums
}

#[test]
fn no_small_data_set_exceeds_a_pair() {
    let mut random = Random(7);
    let epsilons = [-0.7, -0.2, 0.0, 0.1, 0.5, 1.0];
    let mut closest = [0.0f64; 3];
    let mut above_poisson = 0.0f64;
    for _ in 0..60 {
        let rows = [random.gradient(), random.gradient(), random.gradient()];
        let mut changed = rows;
        changed[0] = random.gradient();
        if random.unit() < 0.4 {
            // The worst case: the row turns around, and everyone else sides with the replacement.
            changed[0] = [-rows[0][0], -rows[0][1]];
        }
        let rows = if random.unit() < 0.4 { [rows[0], changed[0], changed[0]] } else { rows };
        let changed = [changed[0], rows[1], rows[2]];
        let zeroed = [[0.0, 0.0], rows[1], rows[2]];
        let sigma = [0.6, 1.0, 2.0][(3.0 * random.unit()) as usize];
        let rate = [0.1, 0.4, 0.7][(3.0 * random.unit()) as usize];
        let mut compare = |which: usize, got: &[f64], bound: &dyn Fn(f64) -> f64| {
            for (d, e) in got.iter().zip(epsilons) {
                let limit = bound(e);
                assert!(*d <= limit + 2e-4, "pair {which}, ε = {e}: {d} above {limit}");
                closest[which] = closest[which].max(d / limit.max(1e-3));
            }
        };
        let replaced = divergences(&poisson(rate), &rows, &changed, sigma, &epsilons);
        compare(0, &replaced, &|e| pair::poisson_replace_delta(e, rate, 1.0 / sigma));
        let removed = divergences(&poisson(rate), &rows, &zeroed, sigma, &epsilons);
        compare(1, &removed, &|e| pair::poisson_remove_delta(e, rate, 1.0 / sigma));
        let added = divergences(&poisson(rate), &zeroed, &rows, sigma, &epsilons);
        compare(1, &added, &|e| pair::poisson_add_delta(e, rate, 1.0 / sigma));
        for size in [1, 2] {
            let share = f64::from(size) / 3.0;
            let got = divergences(&fixed(size), &rows, &changed, sigma, &epsilons);
            compare(2, &got, &|e| pair::fixed_size_replace_delta(e, share, 2.0 / sigma));
            for (d, e) in got.iter().zip(epsilons) {
                above_poisson =
                    above_poisson.max(d - pair::poisson_replace_delta(e, share, 1.0 / sigma));
            }
        }
    }
    // The bounds are attained, and mixing up the samplers would be caught.
    assert!(closest.iter().all(|c| *c > 0.97), "{closest:?}");
    assert!(above_poisson > 0.1, "{above_poisson}");
}
