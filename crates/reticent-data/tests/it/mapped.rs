//! Features that are computed when they are looked at give what a table of them would, through
//! every door of the oracle.

use crate::common::clear::{answer, in_the_clear};
use reticent_data::feature_map::FeatureMap;
use reticent_data::walk::{Walk, WalkOrder, WalkState};
use reticent_data::{
    Chosen, Csr, Dense, Features, LocalOracle, Oracle, Preconditioner, Question, RobustRule, Rows,
    Sensitive, Speed, mapped_margins, margins,
};
use reticent_noise::Source;
use reticent_noise::batch::{Draw, SampleKey, SampleRate};
use reticent_problem::feature_map::{Construction, Form, Kernel, MapLaw};
use reticent_problem::{Domain, Loss, Problem, RowBounds};

const INPUTS: usize = 5;
/// More than a block of a sum, and no multiple of anything.
const ROWS: usize = 611;
/// Not a whole number of lanes.
const FEATURES: usize = 42;

fn laws() -> Vec<MapLaw> {
    let law = |kernel, construction, form| MapLaw {
        kernel,
        bandwidth: 0.7,
        construction,
        form,
        features: FEATURES,
        seed: 11,
    };
    vec![
        law(Kernel::Gaussian, Construction::Structured, Form::Paired),
        law(Kernel::Gaussian, Construction::Orthogonal, Form::Cosine),
        law(Kernel::Laplace, Construction::Independent, Form::Paired),
        law(Kernel::Matern { nu: 1.5 }, Construction::Fastfood, Form::Cosine),
    ]
}

fn inputs() -> Dense<f64> {
    let mut state = 0.37_f64;
    let mut next = || {
        state = (state * 997.0 + 0.123).fract();
        if state < 0.2 { 0.0 } else { 2.0 * state - 1.0 }
    };
    Dense::new(ROWS, INPUTS, (0..ROWS * INPUTS).map(|_| next()).collect())
}

/// The inputs in every layout.
fn layouts() -> [Features; 2] {
    let x = inputs();
    let (mut offsets, mut indices, mut values) = (vec![0], vec![], vec![]);
    for i in 0..ROWS {
        for (j, v) in x.row(i).iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(*v);
        }
        offsets.push(values.len());
    }
    [Features::F64(x), Features::Sparse(Csr::new(INPUTS, offsets, indices, values))]
}

fn label(loss: Loss, i: usize) -> f64 {
    match loss {
        Loss::Softmax { classes } => (i * 7 % classes) as f64,
        loss if loss.is_classification() => {
            if i.is_multiple_of(3) {
                1.0
            } else {
                -1.0
            }
        }
        _ => (i as f64 * 0.37).sin(),
    }
}

struct Tables {
    problem: Problem,
    /// Features written to memory.
    stored: LocalOracle,
    /// Features computed by one, two, three and shared threads from dense and sparse inputs.
    mapped: Vec<LocalOracle>,
    at: Vec<f64>,
}

fn tables(law: MapLaw, loss: Loss) -> Tables {
    let labels: Vec<f64> = (0..ROWS).map(|i| label(loss, i)).collect();
    let rows =
        |inputs: Features| Rows::new(inputs, labels.clone(), RowBounds::new(9.0, 1.0).unwrap());
    let bounds = law.bounds(1.0).unwrap();
    let map = FeatureMap::new(law, INPUTS).unwrap();
    let mut values = vec![0.0; ROWS * FEATURES];
    map.write(&layouts()[0], 0..ROWS, &mut values, &mut map.scratch());
    let stored =
        Rows::new(Features::F32(Dense::new(ROWS, FEATURES, values)), labels.clone(), bounds);
    let problem = Problem::new(loss, bounds, ROWS, FEATURES);
    let at = (0..problem.dimension()).map(|j| (j as f64 * 0.77).cos()).collect();
    let mut mapped = Vec::new();
    for layout in layouts() {
        for threads in [Some(1), Some(2), Some(3), None] {
            let map = FeatureMap::new(law, INPUTS).unwrap();
            let rows = rows(layout.clone()).mapped(map).unwrap();
            mapped.push(LocalOracle::new(rows, Speed { threads }).unwrap());
        }
    }
    let stored = LocalOracle::new(stored, Speed { threads: Some(1) }).unwrap();
    Tables { problem, stored, mapped, at }
}

const LOSSES: [Loss; 4] =
    [Loss::Logistic, Loss::Softmax { classes: 3 }, Loss::Squared, Loss::Huber { threshold: 0.3 }];

/// The check of every oracle: the stored features and the computed ones agree, and nothing about
/// how they are computed changes a bit.
fn agree(what: &str, ask: impl Fn(&Tables, &dyn Oracle) -> Vec<f64>) {
    for law in laws() {
        for loss in LOSSES {
            let tables = tables(law, loss);
            let want = ask(&tables, &tables.stored);
            let got = ask(&tables, &tables.mapped[0]);
            let size = want.iter().map(|x| x.abs()).fold(0.0, f64::max);
            assert!(size > 0.0, "{what}: nothing to compare");
            for (a, b) in want.iter().zip(&got) {
                assert!((a - b).abs() <= 1e-12 * size, "{what}, {loss:?}, {law:?}: {a} and {b}");
            }
            for other in &tables.mapped[1..] {
                assert_eq!(got, ask(&tables, other), "{what}, {loss:?}, {law:?}");
            }
        }
    }
}

fn sum(dimension: usize, of: impl FnOnce(&mut Sensitive<Vec<f64>>)) -> Vec<f64> {
    let mut into = Sensitive::new(vec![7.0; dimension]);
    of(&mut into);
    in_the_clear(into)
}

#[test]
fn gradient_sums_agree() {
    agree("gradient_sum", |t, oracle| {
        answer(oracle, &t.problem, &Question::Gradient { at: &Sensitive::new(t.at.clone()) })
    });
}

#[test]
fn batch_sums_agree() {
    let batch: Vec<usize> = (0..700).map(|i| i * 37 % ROWS).collect();
    for size in [1, 17, 700] {
        agree("batch_sum", |t, oracle| {
            answer(
                oracle,
                &t.problem,
                &Question::Batch { batch: &batch[..size], at: &t.at, clip: 0.4 },
            )
        });
    }
}

#[test]
fn clipped_sums_agree() {
    for clip in [0.4, 1e-60] {
        agree("clipped_sum", |t, oracle| {
            let key = SampleKey::new(&Source::seeded_not_private(3));
            let draw = Draw { key: &key, step: 2, rate: SampleRate::new(0.4).unwrap() };
            answer(
                oracle,
                &t.problem,
                &Question::Clipped { draw, clip, preconditioner: None, at: &t.at },
            )
        });
        agree("clipped_sum, shortened", |t, oracle| {
            if t.problem.hidden.is_some() {
                return Vec::new();
            }
            let key = SampleKey::new(&Source::seeded_not_private(3));
            let draw = Draw { key: &key, step: 2, rate: SampleRate::new(0.4).unwrap() };
            let rows = answer(oracle, &t.problem, &Question::Moments);
            // Both oracles are asked with the same direction and scales: rounded, so that the last
            // bits of the sums do not matter.
            let (first, second) = rows.split_at(t.problem.features);
            let towards = first.iter().map(|x| x.round()).collect();
            let scales =
                second[..first.len()].iter().map(|x| 40.0 / (1.0 + x.round()).sqrt()).collect();
            let preconditioner = Preconditioner::new(towards, 0.3).with_scales(scales);
            let preconditioner = Some(&preconditioner);
            let all = answer(
                oracle,
                &t.problem,
                &Question::Clipped { draw, clip, preconditioner, at: &t.at },
            );
            [rows, all].concat()
        });
    }
}

#[test]
fn robust_sums_agree() {
    let list: Vec<usize> = (0..400).map(|i| i * 37 % ROWS).collect();
    for rule in [
        RobustRule::Truncate { q: 2.0, threshold: 0.5, grid: None },
        RobustRule::Truncate { q: f64::INFINITY, threshold: 10.0, grid: Some(2_f64.powi(-30)) },
        RobustRule::ClipEntries { bound: 0.01 },
    ] {
        for chosen in [Chosen::Block(13..ROWS), Chosen::Listed(&list)] {
            agree("robust_sum", |t, oracle| {
                answer(
                    oracle,
                    &t.problem,
                    &Question::Robust { chosen: chosen.clone(), rule, at: &t.at },
                )
            });
        }
    }
}

#[test]
fn passes_agree() {
    agree("one_pass", |t, oracle| {
        let problem = Problem { domain: Domain::Ball { radius: 0.5 }, ..t.problem.clone() };
        let mut w = Sensitive::new(vec![0.0; t.at.len()]);
        let total = sum(t.at.len(), |into| {
            oracle.in_order().unwrap().one_pass(&problem, 5..500, 0.1, &mut w, into).unwrap();
        });
        [total, in_the_clear(w)].concat()
    });
}

#[test]
fn counts_agree() {
    agree("count_below", |t, oracle| {
        let problem = Problem { domain: Domain::Ball { radius: 0.5 }, ..t.problem.clone() };
        let grid: Vec<f64> = (0..40).map(|j| 0.05 * f64::from(j)).collect();
        // Labels count from what is predicted, if anything is.
        let from = if t.problem.loss.outputs() == 1 { &t.at[..] } else { &[] };
        let from = if t.problem.hidden.is_some() { &[] } else { from };
        let [plain, from] = [&[], from].map(|from| {
            answer(oracle, &problem, &Question::Below { preconditioner: None, from, grid: &grid })
        });
        [plain, from].concat()
    });
}

#[test]
fn walks_agree() {
    for (order, radius) in [
        (WalkOrder::WithReplacement, f64::INFINITY),
        (WalkOrder::Permuted, 0.4),
        (WalkOrder::Permuted, f64::INFINITY),
    ] {
        agree("walk", |t, oracle| {
            let domain =
                if radius.is_finite() { Domain::Ball { radius } } else { Domain::Unbounded };
            let problem = Problem { domain, ..t.problem.clone() };
            let walk = Walk { order, steps: 1234, eta: 0.05 };
            let mut state =
                Sensitive::new(WalkState::new(&problem, &Source::seeded_not_private(5)));
            oracle.random_access().unwrap().walk(&problem, &walk, &mut state).unwrap();
            in_the_clear(state.map_inside(WalkState::into_average))
        });
    }
}

#[test]
fn margins_agree() {
    for law in laws() {
        let map = FeatureMap::new(law, INPUTS).unwrap();
        let w: Vec<f64> = (0..3 * FEATURES).map(|j| (j as f64).sin()).collect();
        for inputs in layouts() {
            let got = mapped_margins(&map, &inputs, &w, 3);
            let mut values = vec![0.0; ROWS * FEATURES];
            map.write(&inputs, 0..ROWS, &mut values, &mut map.scratch());
            let stored = Features::F32(Dense::new(ROWS, FEATURES, values));
            let want = margins(&stored, &w, 3);
            assert!(want.iter().zip(&got).all(|(a, b)| (a - b).abs() < 1e-13), "{law:?}");
            let rows = Rows::new(inputs, vec![0.0; ROWS], RowBounds::new(9.0, 1.0).unwrap());
            let rows = rows.mapped(FeatureMap::new(law, INPUTS).unwrap()).unwrap();
            assert_eq!(margins(rows.features(), &w, 3), got);
        }
    }
}

/// Threads of a pool that belongs to no process in particular would be waited for in vain after a
/// fork. A pool that rayon has started by itself cannot be recomputed, and nothing else in these
/// tests asks for one.
#[test]
fn the_pool_that_rayon_starts_by_itself_is_never_used() {
    let t = tables(laws()[0], Loss::Logistic);
    let key = SampleKey::new(&Source::seeded_not_private(3));
    let draw = Draw { key: &key, step: 2, rate: SampleRate::new(0.4).unwrap() };
    let batch: Vec<usize> = (0..700).map(|i| i * 37 % ROWS).collect();
    let rule = RobustRule::Truncate { q: 2.0, threshold: 0.5, grid: None };
    let walk = Walk { order: WalkOrder::Permuted, steps: 300, eta: 0.05 };
    let shared = |rows: Rows| LocalOracle::new(rows, Speed::default()).unwrap();
    for features in layouts() {
        let plain = Rows::new(features, vec![1.0; ROWS], RowBounds::new(9.0, 1.0).unwrap());
        let map = || FeatureMap::new(laws()[0], INPUTS).unwrap();
        mapped_margins(&map(), plain.features(), &t.at, 1);
        map().write_parallel(plain.features(), 0..9, &mut vec![0.0; 9 * FEATURES]);
        for oracle in [shared(plain.clone()), shared(plain.mapped(map()).unwrap())] {
            let problem = &Problem::new(Loss::Logistic, oracle.bounds(), ROWS, oracle.features());
            let at = &t.at[..oracle.features()];
            let mut into = Sensitive::new(vec![0.0; at.len()]);
            oracle
                .ask(problem, &Question::Gradient { at: &Sensitive::new(at.to_vec()) }, &mut into)
                .unwrap();
            oracle
                .ask(problem, &Question::Batch { batch: &batch, at, clip: 0.4 }, &mut into)
                .unwrap();
            oracle
                .ask(
                    problem,
                    &Question::Clipped { draw, clip: 0.4, preconditioner: None, at },
                    &mut into,
                )
                .unwrap();
            oracle
                .ask(
                    problem,
                    &Question::Robust { chosen: Chosen::Block(0..ROWS), rule, at },
                    &mut into,
                )
                .unwrap();
            oracle.ask(problem, &Question::Score { at }, &mut into).unwrap();
            oracle
                .in_order()
                .unwrap()
                .one_pass(problem, 0..50, 0.1, &mut Sensitive::new(at.to_vec()), &mut into)
                .unwrap();
            oracle
                .ask(problem, &Question::Moments, &mut Sensitive::new(vec![0.0; 2 * at.len() + 1]))
                .unwrap();
            oracle
                .ask(
                    problem,
                    &Question::Below { preconditioner: None, from: at, grid: &[1.0] },
                    &mut Sensitive::new(vec![0.0]),
                )
                .unwrap();
            let source = Source::seeded_not_private(5);
            let mut state = Sensitive::new(WalkState::new(problem, &source));
            oracle.random_access().unwrap().walk(problem, &walk, &mut state).unwrap();
        }
    }
    assert!(rayon::ThreadPoolBuilder::new().num_threads(1).build_global().is_ok());
}

#[test]
fn the_bounds_are_the_maps_and_hold_for_every_row() {
    for law in laws() {
        let bounds = law.bounds(1.0).unwrap();
        let map = FeatureMap::new(law, INPUTS).unwrap();
        let wild = vec![1e300, f64::NAN, -f64::INFINITY, 5e-324, -1e18, 0.0, 1.0, 1e6, -3.0, 0.5];
        let x = Features::F64(Dense::new(2, INPUTS, wild));
        let mut out = vec![0.0; 2 * FEATURES];
        map.write(&x, 0..2, &mut out, &mut map.scratch());
        for row in out.chunks(FEATURES) {
            let norm = row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
            assert!(norm <= bounds.norm(), "{law:?}: {norm}");
            assert!(row.iter().all(|x| f64::from(x.abs()) <= bounds.entry()), "{law:?}");
        }
        let rows = Rows::new(x, vec![0.0; 2], RowBounds::unbounded(1.0).unwrap());
        assert_eq!(rows.mapped(map).unwrap().bounds(), bounds);
    }
}
