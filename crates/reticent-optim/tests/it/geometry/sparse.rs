//! Few of many features matter: the l1 ball beats the Euclidean one.

use reticent_data::{Dense, Features, LocalOracle, Rows, Speed};
use reticent_noise::Source;
use reticent_optim::{Algorithm, OutputGd, Quiet};
use reticent_problem::{Domain, Loss, Problem, RowBounds};

use crate::geometry::support::{Uniform, budget};

/// A thousand features of size one, ten of which matter: logistic regression on 12,000 rows at
/// epsilon 1, by output-perturbed gradient descent with the same steps and the same noise. Each set
/// is the smallest of its shape that holds the best weights. The test compares the loss on fresh
/// rows, over that of the truth; a model that knows nothing loses `ln 2`.
#[test]
fn the_l1_ball_beats_the_euclidean_ball_on_a_sparse_problem() {
    let (n, d, active, size) = (12_000, 1000, 10, 1.0);
    let mut uniform = Uniform(17);
    let mut draw = |rows: usize| {
        let mut x = Vec::with_capacity(rows * d);
        let mut y = Vec::with_capacity(rows);
        for _ in 0..rows {
            let start = x.len();
            x.extend((0..d).map(|_| if uniform.next() < 0.5 { -1.0_f32 } else { 1.0 }));
            let margin: f64 = x[start..start + active].iter().map(|v| size * f64::from(*v)).sum();
            y.push(if uniform.next() < 1.0 / (1.0 + (-margin).exp()) { 1.0 } else { -1.0 });
        }
        (x, y)
    };
    let (x, y) = draw(n);
    let (fresh, labels) = draw(4000);
    let loss = |w: &[f64]| {
        let one = |(x, y): (&[f32], &f64)| {
            let m = y * x.iter().zip(w).map(|(x, w)| f64::from(*x) * w).sum::<f64>();
            (-m).max(0.0) + (-m.abs()).exp().ln_1p()
        };
        fresh.chunks_exact(d).zip(&labels).map(one).sum::<f64>() / labels.len() as f64
    };
    let mut truth = vec![0.0; d];
    truth[..active].fill(size);
    let best = loss(&truth);
    let bounds =
        RowBounds::features((d as f64).sqrt() * (1.0 + 1e-12)).unwrap().with_entries(1.0).unwrap();
    let rows = Rows::new(Features::F32(Dense::new(n, d, x)), y, bounds);
    let oracle = LocalOracle::new(rows, Speed::default()).unwrap();
    let excess = |domain: Domain| {
        let problem = Problem { domain, ..Problem::new(Loss::Logistic, bounds, n, d) };
        let settings = OutputGd { steps: Some(600), ..OutputGd::default() };
        let plan = settings.plan(&problem, budget(1.0, 1e-6)).unwrap();
        let source = Source::seeded_not_private(1);
        let w = OutputGd::run(&plan, &oracle, &source, &Quiet).unwrap().weights;
        loss(&w) - best
    };
    let l1 = excess(Domain::L1 { radius: active as f64 * size });
    let l2 = excess(Domain::Ball { radius: (active as f64).sqrt() * size });
    let nothing = std::f64::consts::LN_2 - best;
    println!("excess: l1 ball {l1:.3}, Euclidean ball {l2:.3}, zero weights {nothing:.3}");
    assert!(l1 < 0.9 * l2 && l1 < 0.9 * nothing, "{l1} {l2} {nothing}");
}
