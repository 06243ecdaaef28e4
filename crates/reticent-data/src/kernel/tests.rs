//! Sums keep their bits: every door to the kernels, in every layout, gives what it always gave.
//!
//! A seeded run is reproducible only if the order of additions never changes. The losses here need
//! no function of the system's library, so the bits are the same on every machine.

use reticent_noise::Source;
use reticent_problem::feature_map::{Construction, Form, Kernel, MapLaw};
use reticent_problem::{Domain, Loss, Problem, RowBounds};

use super::robust::{Chosen, RobustRule};
use super::{batch, below, clipped, robust, score, walk};
use crate::feature_map::FeatureMap;
use crate::walk::{Walk, WalkOrder, WalkState};
use crate::{Csr, Dense, Features, Preconditioner, Rows};

const LOSSES: [Loss; 9] = [
    Loss::Hinge { q: 1.0 },
    Loss::Hinge { q: 2.0 },
    Loss::Power { q: 1.0 },
    Loss::Power { q: 2.0 },
    Loss::Squared,
    Loss::Huber { threshold: 0.4 },
    Loss::Cauchy { threshold: 0.7 },
    Loss::OneHot { classes: 2 },
    Loss::OneHot { classes: 4 },
];

/// Rows and columns: fewer than a group of rows, several blocks, whole lanes and odd ones.
const SHAPES: [(usize, usize); 7] =
    [(0, 3), (3, 1), (5, 8), (41, 13), (270, 50), (1037, 17), (67, 131)];

/// Numbers without a pattern, made by whole-number arithmetic.
struct Dice(u64);

impl Dice {
    /// Between -1 and 1.
    fn roll(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// The same rows in every layout, and a map of them: a third of the entries are zero, and so are
/// some rows.
fn layouts(n: usize, d: usize) -> [(&'static str, Features); 4] {
    let mut dice = Dice(7 + (n * 1000 + d) as u64);
    let mut x: Vec<f64> = (0..n * d).map(|_| f64::from(dice.roll() as f32)).collect();
    for (k, v) in x.iter_mut().enumerate() {
        let row = k / d;
        *v *= if row % 11 == 7 || k % 3 == 1 { 0.0 } else { [1.0, 0.25, 8.0][row % 3] };
    }
    let (mut offsets, mut indices, mut values) = (vec![0], vec![], vec![]);
    for row in x.chunks(d) {
        for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(*v);
        }
        offsets.push(values.len());
    }
    let single = Dense::new(n, d, x.iter().map(|v| *v as f32).collect());
    let law = MapLaw {
        kernel: Kernel::Gaussian,
        bandwidth: 0.8,
        construction: Construction::Structured,
        form: Form::Paired,
        features: 2 * d.div_ceil(2),
        seed: 5,
    };
    let rows =
        Rows::new(Features::F32(single.clone()), vec![0.0; n], RowBounds::new(1.0, 1.0).unwrap());
    let mapped = rows.mapped(FeatureMap::new(law, d).unwrap()).unwrap().features().clone();
    [
        ("f32", Features::F32(single)),
        ("f64", Features::F64(Dense::new(n, d, x))),
        ("sparse", Features::Sparse(Csr::new(d, offsets, indices, values))),
        ("mapped", mapped),
    ]
}

/// Everything that a kernel is asked with.
struct Case {
    rows: Rows,
    problem: Problem,
    w: Vec<f64>,
    batches: Vec<Vec<usize>>,
}

impl Case {
    fn new(features: Features, loss: Loss, limit: Option<f64>) -> Self {
        let (n, d) = (features.rows(), features.columns());
        let mut dice = Dice(31 + n as u64);
        let label = |roll: f64| match loss {
            Loss::OneHot { classes } if classes > 2 => (roll.abs() * classes as f64).floor(),
            _ if loss.is_classification() => roll.signum(),
            _ => roll,
        };
        let labels = (0..n).map(|_| label(dice.roll())).collect();
        let bounds = RowBounds::new(1e3, 1.0).unwrap();
        let domain = if limit.is_some() { Domain::Ball { radius: 1.5 } } else { Domain::Unbounded };
        let problem = Problem { slope_limit: limit, domain, ..Problem::new(loss, bounds, n, d) };
        let w = (0..problem.dimension()).map(|_| 0.5 * dice.roll()).collect();
        let pick = |size: usize| {
            if n == 0 { vec![] } else { (0..size).map(|k| (k * 7 + size) % n).collect() }
        };
        let batches = [0, 1, 2, 4, 7, 16, 37, 300].map(pick).into();
        Self { rows: Rows::new(features, labels, bounds), problem, w, batches }
    }

    fn limit(&self) -> f64 {
        self.problem.slope_limit.unwrap_or(f64::INFINITY)
    }

    /// Room for sums over this many rows.
    fn scratch(&self, rows: usize) -> Vec<f64> {
        vec![f64::NAN; super::scratch_len(rows, self.w.len().max(2 * self.problem.features + 1))]
    }

    /// A kernel's output buffer, all NaN.
    fn into(&self) -> Vec<f64> {
        vec![f64::NAN; self.w.len()]
    }

    fn gradients(&self) -> Vec<f64> {
        let (mut into, mut scratch) = (self.into(), self.scratch(self.rows.len()));
        super::gradient_sum(
            &self.rows,
            self.problem.loss,
            self.limit(),
            &self.w,
            &mut into,
            &mut scratch,
        );
        into
    }

    fn margins(&self) -> Vec<f64> {
        super::margins(self.rows.features(), &self.w, self.problem.loss.outputs())
    }

    fn moments(&self) -> Vec<f64> {
        let mut into = vec![f64::NAN; 2 * self.problem.features + 1];
        super::row_moments(&self.rows, &mut into, &mut self.scratch(self.rows.len()));
        into
    }

    fn batches(&self) -> Vec<f64> {
        let mut all = vec![];
        for (batch, clip) in self.batches.iter().flat_map(|batch| [(batch, 0.3), (batch, 1e6)]) {
            let bounds = batch::Bounds { limit: self.limit(), clip };
            let room = batch::scratch_len(&self.rows, self.problem.loss, batch.len(), self.w.len());
            let mut into = self.into();
            let loss = self.problem.loss;
            batch::sum(
                &self.rows,
                loss,
                bounds,
                batch,
                &self.w,
                &mut into,
                &mut vec![f64::NAN; room],
            );
            all.extend(into);
        }
        all
    }

    fn robust(&self) -> Vec<f64> {
        let rules = [
            RobustRule::Truncate { q: 2.0, threshold: 2.0, grid: None },
            RobustRule::Truncate { q: f64::INFINITY, threshold: 1.0, grid: Some(1.0 / 1024.0) },
            RobustRule::ClipEntries { bound: 0.25 },
        ];
        let mut all = vec![];
        for rule in rules {
            let block = Chosen::Block(self.rows.len() / 5..self.rows.len());
            for chosen in
                std::iter::once(block).chain(self.batches.iter().map(|b| Chosen::Listed(b)))
            {
                let (mut into, mut scratch) = (self.into(), self.scratch(chosen.len()));
                robust::sum(
                    &self.rows,
                    &self.problem,
                    &chosen,
                    rule,
                    &self.w,
                    &mut into,
                    &mut scratch,
                );
                all.extend(into);
            }
        }
        all
    }

    fn pass(&self) -> Vec<f64> {
        let (mut w, mut sum) = (self.w.clone(), vec![0.0; self.w.len()]);
        let range = self.rows.len() / 4..self.rows.len();
        robust::pass(&self.rows, &self.problem, range, 0.05, &mut w, &mut sum);
        w.into_iter().chain(sum).collect()
    }

    fn walks(&self) -> Vec<f64> {
        let mut all = vec![];
        for (order, ridge) in [(WalkOrder::WithReplacement, 0.0), (WalkOrder::Permuted, 0.6)] {
            let problem = Problem { ridge, ..self.problem.clone() };
            let [steps, more] = if self.rows.is_empty() { [0, 0] } else { [150, 159] };
            let mut state = WalkState::new(&problem, &Source::seeded_not_private(3));
            walk::walk(&self.rows, &problem, &Walk { order, steps, eta: 0.1 }, &mut state);
            let mut again = WalkState::new(&problem, &Source::seeded_not_private(3));
            walk::walk(&self.rows, &problem, &Walk { order, steps: more, eta: 0.1 }, &mut again);
            all.extend(state.into_average());
            all.extend(again.into_last());
        }
        all
    }

    fn clipped(&self, hidden: Option<usize>, preconditioner: Option<&Preconditioner>) -> Vec<f64> {
        let problem = Problem { hidden, ..self.problem.clone() };
        let mut dice = Dice(11);
        let w: Vec<f64> = (0..problem.dimension()).map(|_| 0.5 * dice.roll()).collect();
        let norms = clipped::norms(self.rows.features(), preconditioner);
        let mut scratch = clipped::ClippedScratch::default();
        let mut all = vec![];
        for batch in &self.batches {
            let mut into = vec![f64::NAN; w.len()];
            let clip = clipped::Clip::new(0.8, preconditioner);
            scratch.batch.clone_from(batch);
            let total = batch.len();
            clipped::sum(
                &self.rows,
                &norms,
                &problem,
                0.5,
                total,
                clip,
                &w,
                &mut into,
                &mut scratch,
            );
            all.extend(into);
        }
        all
    }

    fn counts(&self) -> Vec<f64> {
        let mut into = vec![f64::NAN; 5];
        let sizes = clipped::norms(self.rows.features(), None);
        below::count_below(
            &self.rows,
            &self.problem,
            &sizes,
            &[],
            &[0.1, 0.5, 1.0, 2.0, 9.0],
            &mut into,
        );
        into.push(score::score(&self.rows, &self.problem, &self.w));
        into
    }

    /// Every kernel by name, with what it gives.
    fn kernels(&self) -> Vec<(&'static str, Vec<f64>)> {
        let d = self.problem.features;
        let preconditioner = Preconditioner::new((0..d).map(|j| (j + 1) as f64).collect(), 0.3);
        vec![
            ("gradients", self.gradients()),
            ("margins", self.margins()),
            ("moments", self.moments()),
            ("batches", self.batches()),
            ("robust", self.robust()),
            ("pass", self.pass()),
            ("walks", self.walks()),
            ("clipped", self.clipped(None, None)),
            ("network", self.clipped(Some(9), None)),
            ("shortened", self.clipped(None, Some(&preconditioner))),
            ("counts", self.counts()),
        ]
    }
}

/// Takes the bits of a number into a hash. Every NaN has the same bits here.
fn hash(seed: u64, v: f64) -> u64 {
    let bits = if v.is_nan() { u64::MAX } else { v.to_bits() };
    (seed.rotate_left(5) ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The hash of each kernel in each layout, over all losses, shapes and limits.
fn hashes(losses: &[Loss]) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = vec![];
    for (n, d) in SHAPES {
        for (layout, features) in layouts(n, d) {
            for (&loss, limit) in losses.iter().flat_map(|loss| [(loss, None), (loss, Some(0.3))]) {
                for (kernel, values) in Case::new(features.clone(), loss, limit).kernels() {
                    let name = format!("{kernel} {layout}");
                    let place = all.iter().position(|(known, _)| *known == name);
                    let place = place.unwrap_or_else(|| {
                        all.push((name, 0));
                        all.len() - 1
                    });
                    all[place].1 = values.into_iter().fold(all[place].1, hash);
                }
            }
        }
    }
    all
}

#[test]
fn every_kernel_keeps_its_bits_in_every_layout() {
    let found: Vec<String> =
        hashes(&LOSSES).into_iter().map(|(name, hash)| format!("{name} {hash:016x}")).collect();
    let want: Vec<&str> = include_str!("bits.txt").lines().collect();
    assert_eq!(found, want);
}
