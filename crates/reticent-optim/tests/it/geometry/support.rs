//! Tables and neighbours.

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
