//! Tables, neighbours and the audit.

use reticent_data::{Dense, Features, LocalOracle, Rows, Speed};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent_problem::RowBounds;

pub(crate) type Table = (Vec<Vec<f64>>, Vec<f64>);

pub(crate) fn budget(epsilon: f64, delta: f64) -> Budget {
    Budget {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(delta).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    }
}

pub(crate) fn oracle((x, y): &Table, bounds: RowBounds) -> LocalOracle {
    let features = Features::F64(Dense::new(x.len(), x[0].len(), x.concat()));
    LocalOracle::new(Rows::new(features, y.clone(), bounds), Speed { threads: Some(1) }).unwrap()
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(crate) fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Uniform numbers by a linear congruence.
pub(crate) struct Uniform(pub(crate) u64);

impl Uniform {
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let (a, b) = (self.next(), self.next());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

/// A lower bound on `δ(ε)` from two samples of one number each, at confidence 99.9 %.
///
/// The threshold is the best one on the first half of each sample. The second half gives counts, and Hoeffding's inequality
/// bounds both probabilities: each by `√(ln(2000)/(2m))`, so that the two together are wrong with probability at most
/// 0.001. The mechanism is `(ε, δ)`-DP only if the result is at most `δ`.
pub(crate) fn audit(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
    let half = p.len() / 2;
    let above = |sample: &[f64], t: f64| sample.iter().filter(|x| **x > t).count() as f64;
    let gap =
        |p: &[f64], q: &[f64], t: f64| (above(p, t) - epsilon.exp() * above(q, t)) / p.len() as f64;
    let mut thresholds: Vec<f64> = p[..half].iter().step_by(half / 200 + 1).copied().collect();
    thresholds.extend(q[..half].iter().step_by(half / 200 + 1));
    let best = thresholds
        .iter()
        .copied()
        .max_by(|a, b| gap(&p[..half], &q[..half], *a).total_cmp(&gap(&p[..half], &q[..half], *b)))
        .unwrap();
    let m = (p.len() - half) as f64;
    let error = (2000_f64.ln() / (2.0 * m)).sqrt();
    gap(&p[half..], &q[half..], best) - (1.0 + epsilon.exp()) * error
}

/// Logistic data on the sphere: `y` depends on the first feature.
pub(crate) fn logistic(n: usize, d: usize, seed: u64) -> Table {
    let mut uniform = Uniform(seed);
    (0..n)
        .map(|_| {
            let x: Vec<f64> = (0..d).map(|_| uniform.normal()).collect();
            let length = dot(&x, &x).sqrt();
            let x: Vec<f64> = x.iter().map(|v| v / length).collect();
            let y = if uniform.next() < 1.0 / (1.0 + (-6.0 * x[0]).exp()) { 1.0 } else { -1.0 };
            (x, y)
        })
        .unzip()
}

pub(crate) fn logistic_loss((x, y): &Table, w: &[f64]) -> f64 {
    let loss = |m: f64| (-m).max(0.0) + (-m.abs()).exp().ln_1p();
    x.iter().zip(y).map(|(x, y)| loss(y * dot(x, w))).sum::<f64>() / x.len() as f64
}
