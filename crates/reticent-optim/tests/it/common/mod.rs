//! Helpers shared by the tests of the SGD family: tables, a plain walk, divergences.
#![allow(dead_code, missing_docs, unreachable_pub)] // each test binary uses a part of it
pub mod kept;

use reticent_data::walk::WalkOrder;
use reticent_data::{Dense, Features, LocalOracle, Rows, Speed};
use reticent_noise::batch::shuffle;
use reticent_noise::integer::uniform_below;
use reticent_noise::{Purpose, Source, Stream};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent_problem::loss::{LinearLoss, LinearVisitor};
use reticent_problem::{Domain, Loss, Problem, RowBounds};

pub const LOSSES: [Loss; 9] = [
    Loss::Logistic,
    Loss::Hinge { q: 1.0 },
    Loss::Hinge { q: 1.5 },
    Loss::Hinge { q: 2.0 },
    Loss::Power { q: 1.0 },
    Loss::Power { q: 1.3 },
    Loss::Power { q: 2.0 },
    Loss::Squared,
    Loss::Huber { threshold: 0.3 },
];

pub fn budget(epsilon: f64, delta: f64) -> Budget {
    Budget {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(delta).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    }
}

pub fn problem(loss: Loss, rows: usize, features: usize, radius: Option<f64>) -> Problem {
    Problem {
        domain: radius.map_or(Domain::Unbounded, |radius| Domain::Ball { radius }),
        ..Problem::new(loss, RowBounds::new(1.0, 1.0).unwrap(), rows, features)
    }
}

/// Uniform numbers in `[0, 1)`.
pub struct Uniform(Stream);

impl Uniform {
    pub fn new(seed: u64) -> Self {
        Self(Source::seeded_not_private(seed).stream(Purpose::Initial))
    }

    pub fn next(&mut self) -> f64 {
        uniform_below(1 << 53, &mut self.0) as f64 / (1_u64 << 53) as f64
    }

    pub fn below(&mut self, bound: usize) -> usize {
        uniform_below(bound as u64, &mut self.0) as usize
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A vector of norm one.
    pub fn direction(&mut self, d: usize) -> Vec<f64> {
        let x: Vec<f64> = (0..d).map(|_| 2.0 * self.next() - 1.0).collect();
        let norm = norm(&x);
        x.iter().map(|x| x / norm).collect()
    }
}

/// Rows and labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub x: Vec<Vec<f64>>,
    pub y: Vec<f64>,
}

impl Table {
    pub fn oracle(&self) -> LocalOracle {
        let (n, d) = (self.x.len(), self.x[0].len());
        let features = Features::F64(Dense::new(n, d, self.x.concat()));
        let bounds = RowBounds::new(1.0, 1.0).unwrap();
        LocalOracle::new(Rows::new(features, self.y.clone(), bounds), Speed { threads: Some(1) })
            .unwrap()
    }
}

pub fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

struct Slope(f64, f64);

impl LinearVisitor for Slope {
    type Output = f64;
    fn visit<L: LinearLoss>(self, loss: L) -> f64 {
        loss.slope(self.0, self.1)
    }
}

struct Value(f64, f64);

impl LinearVisitor for Value {
    type Output = f64;
    fn visit<L: LinearLoss>(self, loss: L) -> f64 {
        loss.value(self.0, self.1)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub fn risk(problem: &Problem, table: &Table, w: &[f64]) -> f64 {
    let each = table
        .x
        .iter()
        .zip(&table.y)
        .map(|(x, y)| problem.loss.visit_linear(Value(dot(x, w), *y)).unwrap());
    each.sum::<f64>() / table.y.len() as f64
}

/// The gradient of row `i` at `w`.
pub fn gradient(problem: &Problem, table: &Table, i: usize, w: &[f64]) -> Vec<f64> {
    let slope = problem.loss.visit_linear(Slope(dot(&table.x[i], w), table.y[i])).unwrap();
    table.x[i].iter().map(|x| slope * x).collect()
}

/// All iterates of plain SGD on these rows: `picks.len() + 1` of them.
pub fn iterates(problem: &Problem, table: &Table, eta: f64, picks: &[usize]) -> Vec<Vec<f64>> {
    let mut all = vec![vec![0.0; problem.features]];
    for &i in picks {
        let mut w = all.last().unwrap().clone();
        let step = gradient(problem, table, i, &w);
        for (w, g) in w.iter_mut().zip(&step) {
            *w = (1.0 - eta * problem.ridge) * *w - eta * g;
        }
        problem.domain.project(&mut w);
        all.push(w);
    }
    all
}

pub fn average(iterates: &[Vec<f64>]) -> Vec<f64> {
    let d = iterates[0].len();
    (0..d).map(|j| iterates.iter().map(|w| w[j]).sum::<f64>() / iterates.len() as f64).collect()
}

/// The rows that the walk of a run with this source draws in its `steps - 1` updates.
pub fn picks(order: WalkOrder, n: usize, steps: u64, source: &Source) -> Vec<usize> {
    let mut stream = source.stream(Purpose::Sampling);
    let count = steps as usize - 1;
    match order {
        WalkOrder::WithReplacement => {
            (0..count).map(|_| uniform_below(n as u64, &mut stream) as usize).collect()
        }
        WalkOrder::Permuted => {
            let mut order: Vec<usize> = (0..n).collect();
            let mut all = Vec::new();
            while all.len() < count {
                shuffle(&mut order, &mut stream);
                all.extend(&order);
            }
            all.truncate(count);
            all
        }
    }
}

/// `A`: the weight of the hits of row 0.
pub fn hit_weight(picks: &[usize], steps: u64) -> f64 {
    let t = steps as f64;
    picks.iter().enumerate().filter(|(_, i)| **i == 0).map(|(s, _)| (t - 1.0 - s as f64) / t).sum()
}

/// A table and a neighbour in row 0: the label flipped or the features negated; sometimes all rows
/// alike.
pub fn neighbours(problem: &Problem, uniform: &mut Uniform) -> (Table, Table) {
    let (n, d) = (problem.rows, problem.features);
    let alike = uniform.below(4) == 0;
    let same = uniform.direction(d);
    let x: Vec<Vec<f64>> =
        (0..n).map(|_| if alike { same.clone() } else { uniform.direction(d) }).collect();
    let class = problem.loss.is_classification();
    let side = if uniform.next() < 0.5 { -1.0 } else { 1.0 };
    let y = (0..n)
        .map(|_| match (class, alike) {
            (_, true) => side,
            (true, false) => (2.0 * uniform.next() - 1.0).signum(),
            (false, false) => 2.0 * uniform.next() - 1.0,
        })
        .collect();
    let table = Table { x, y };
    let mut other = table.clone();
    if uniform.next() < 0.5 {
        other.y[0] = if other.y[0].abs() < 0.5 { 1.0 } else { -other.y[0] };
    } else {
        other.x[0].iter_mut().for_each(|x| *x = -*x);
    }
    (table, other)
}

/// `max(H_{e^ε}(P‖Q), H_{e^ε}(Q‖P))` of two mixtures of Gaussians of equal weights, at each `ε`:
/// Simpson's rule.
pub fn divergence(p: &[f64], q: &[f64], sigma: f64, epsilons: &[f64]) -> Vec<f64> {
    let all = || p.iter().chain(q);
    let low = all().copied().fold(f64::INFINITY, f64::min) - 9.0 * sigma;
    let high = all().copied().fold(f64::NEG_INFINITY, f64::max) + 9.0 * sigma;
    let cells = 2 * ((high - low) / (sigma / 20.0)).ceil() as usize;
    let step = (high - low) / cells as f64;
    let density = |centres: &[f64], x: f64| {
        let sum: f64 = centres.iter().map(|c| (-0.5 * ((x - c) / sigma).powi(2)).exp()).sum();
        sum / (centres.len() as f64 * sigma * (2.0 * std::f64::consts::PI).sqrt())
    };
    let mut sums = vec![(0.0, 0.0); epsilons.len()];
    for i in 0..=cells {
        let x = low + step * i as f64;
        let (a, b) = (density(p, x), density(q, x));
        let weight = match i {
            0 => 1.0,
            i if i == cells => 1.0,
            i if i % 2 == 1 => 4.0,
            _ => 2.0,
        } * step
            / 3.0;
        for (sum, epsilon) in sums.iter_mut().zip(epsilons) {
            sum.0 += weight * (a - epsilon.exp() * b).max(0.0);
            sum.1 += weight * (b - epsilon.exp() * a).max(0.0);
        }
    }
    sums.iter().map(|(there, back)| there.max(*back)).collect()
}
