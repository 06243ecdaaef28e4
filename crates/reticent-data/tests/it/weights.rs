//! Rows with weights: every sum is the weighted one, for every layout and loss; no row adds more
//! than one without a weight may; weights are held to [0, 1] whatever they are.

use crate::common::clear::{answer, in_the_clear};
use crate::common::layouts::{dense, single, sparse};
use reticent_data::walk::{Walk, WalkOrder, WalkState};
use reticent_data::{
    Chosen, Features, LocalOracle, Oracle as _, OracleError, Preconditioner, Question, RobustRule,
    Rows, Sensitive, Speed,
};
use reticent_noise::Source;
use reticent_noise::batch::{Draw, SampleKey, SampleRate};
use reticent_problem::{Loss, Problem, RowBounds, Unit};

const D: usize = 7;
const ROWS: usize = 61;

struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }
}

fn table(classes: usize) -> (Vec<Vec<f64>>, Vec<f64>, Vec<f64>) {
    let mut numbers = Numbers(5);
    let x: Vec<Vec<f64>> = (0..ROWS)
        .map(|i| {
            let row = (0..D).map(|j| if (i + j) % 3 == 0 { 0.0 } else { numbers.next() as f32 });
            row.map(f64::from).collect()
        })
        .collect();
    let y = (0..ROWS).map(|i| match classes {
        0 | 2 if i % 3 == 0 => 1.0,
        0 | 2 => -1.0,
        _ => (i % classes) as f64,
    });
    // Both ends are among them.
    let c = (0..ROWS).map(|i| [0.0, 1.0, 0.25, 0.7, 1e-3][i % 5]);
    (x, y.collect(), c.collect())
}

fn problems() -> Vec<Problem> {
    let bounds = RowBounds::new(4.0, 1.0).unwrap();
    let of = |loss| Problem { weighted: true, ..Problem::new(loss, bounds, ROWS, D) };
    vec![
        of(Loss::Logistic),
        of(Loss::Squared),
        of(Loss::Huber { threshold: 0.3 }),
        of(Loss::Softmax { classes: 3 }),
        Problem { slope_limit: Some(0.2), ..of(Loss::Logistic) },
        Problem { hidden: Some(4), ..of(Loss::Logistic) },
        Problem { hidden: Some(3), ..of(Loss::Softmax { classes: 3 }) },
    ]
}

fn classes(problem: &Problem) -> usize {
    if let Loss::Softmax { classes } = problem.loss { classes } else { 2 }
}

fn oracle(features: Features, y: &[f64], c: Option<&[f64]>, problem: &Problem) -> LocalOracle {
    let rows = Rows::new(features, y.to_vec(), problem.bounds);
    let rows = match c {
        Some(c) => rows.weighted(c.iter().copied()),
        None => rows,
    };
    LocalOracle::new(rows, Speed { threads: Some(2) }).unwrap()
}

/// The answer for one row that has no weight.
fn of_row(x: &[f64], y: f64, problem: &Problem, question: &Question<'_>) -> Vec<f64> {
    let alone = Problem { weighted: false, rows: 1, ..problem.clone() };
    answer(&oracle(dense(&[x.to_vec()], D), &[y], None, &alone), &alone, question)
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn close(got: &[f64], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len());
    let scale = 1.0 + norm(want);
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= 1e-9 * scale, "{what}: {got:?}\n{want:?}");
    }
}

fn key() -> SampleKey {
    SampleKey::new(&Source::seeded_not_private(1))
}

fn all(key: &SampleKey) -> Draw<'_> {
    Draw { key, step: 0, rate: SampleRate::new(1.0).unwrap() }
}

fn clipped(mut g: Vec<f64>, clip: f64) -> Vec<f64> {
    let factor = (clip / norm(&g)).min(1.0);
    for g in &mut g {
        *g *= factor;
    }
    g
}

#[test]
fn every_sum_is_the_weighted_one_in_every_layout() {
    for problem in problems() {
        let (x, y, c) = table(classes(&problem));
        let mut numbers = Numbers(9);
        let w: Vec<f64> = (0..problem.dimension()).map(|_| numbers.next()).collect();
        let key = key();
        let wide = Question::Clipped { draw: all(&key), clip: 1e6, preconditioner: None, at: &w };
        let gradients: Vec<Vec<f64>> = (0..ROWS)
            .map(|i| {
                let of_row = of_row(&x[i], y[i], &problem, &wide);
                of_row.into_iter().map(|g| c[i] * g).collect()
            })
            .collect();
        let sum = |each: &dyn Fn(&Vec<f64>) -> Vec<f64>| {
            let mut sum = vec![0.0; w.len()];
            for g in &gradients {
                sum.iter_mut().zip(each(g)).for_each(|(s, g)| *s += g);
            }
            sum
        };
        let lengths: Vec<f64> = gradients.iter().map(|g| norm(g)).collect();
        let middle = lengths.iter().sum::<f64>() / ROWS as f64;
        let batch: Vec<usize> = (0..ROWS).collect();
        for features in [dense(&x, D), single(&x, D), sparse(&x, D)] {
            let oracle = oracle(features, &y, Some(&c), &problem);
            oracle.check(&problem).unwrap();
            let ask = |question: &Question<'_>| answer(&oracle, &problem, question);
            close(&ask(&wide), &sum(&Clone::clone), "wide");
            let tight =
                Question::Clipped { draw: all(&key), clip: middle, preconditioner: None, at: &w };
            close(&ask(&tight), &sum(&|g| clipped(g.clone(), middle)), "clipped");
            let rule = RobustRule::ClipEntries { bound: 0.1 };
            let entries = Question::Robust { chosen: Chosen::Block(0..ROWS), rule, at: &w };
            if problem.hidden.is_some() {
                continue;
            }
            let held = |g: &Vec<f64>| g.iter().map(|g| g.clamp(-0.1, 0.1)).collect();
            close(&ask(&entries), &sum(&held), "entries");
            let at = Sensitive::new(w.clone());
            close(&ask(&Question::Gradient { at: &at }), &sum(&Clone::clone), "gradient");
            let listed = Question::Batch { batch: &batch, clip: middle, at: &w };
            close(&ask(&listed), &sum(&|g| clipped(g.clone(), middle)), "batch");
            if problem.loss.outputs() == 1 {
                let identity = Preconditioner::new(vec![0.0; D], 0.5);
                let whole = Question::Clipped {
                    draw: all(&key),
                    clip: 1e6,
                    preconditioner: Some(&identity),
                    at: &w,
                };
                close(&ask(&whole), &sum(&Clone::clone), "preconditioned");
            }
        }
    }
}

#[test]
fn curvatures_and_gradient_lengths_are_weighted_and_moments_are_not() {
    let problem = problems().swap_remove(0);
    let (x, y, c) = table(2);
    let w = vec![0.3; D];
    let weighted = oracle(dense(&x, D), &y, Some(&c), &problem);
    let ask = |question: &Question<'_>| answer(&weighted, &problem, question);
    let triangle = D * (D + 1) / 2;
    let mut want = vec![0.0; 2 * triangle];
    for i in 0..ROWS {
        let one = of_row(&x[i], y[i], &problem, &Question::Curvature { at: &w });
        for (k, (sum, one)) in want.iter_mut().zip(one).enumerate() {
            *sum += if k < triangle { c[i] } else { c[i] * c[i] } * one;
        }
    }
    close(&ask(&Question::Curvature { at: &w }), &want, "curvature");
    let plain = Problem { weighted: false, ..problem.clone() };
    let without = oracle(dense(&x, D), &y, None, &plain);
    assert_eq!(ask(&Question::Moments), answer(&without, &plain, &Question::Moments));
    let grid = [0.01, 0.1, 0.2, 0.4, 0.8];
    let below = Question::Below { preconditioner: None, from: &[], grid: &grid };
    let count = |length: f64| {
        let below = |i: &usize| c[*i] * norm(&x[*i]) < length;
        (0..ROWS).filter(below).count() as f64
    };
    assert_eq!(ask(&below), grid.map(count).to_vec());
}

/// Two rows of weight 1/2 are one of weight 1, and a row of weight 0 is none.
#[test]
fn weights_count_like_copies_of_rows() {
    for problem in problems() {
        let (x, y, _) = table(classes(&problem));
        let w = vec![0.2; problem.dimension()];
        let at = Sensitive::new(w);
        let question = Question::Gradient { at: &at };
        if problem.hidden.is_some() {
            continue;
        }
        let twice: Vec<Vec<f64>> = x.iter().chain(&x).chain(&x).cloned().collect();
        let labels: Vec<f64> = y.iter().chain(&y).chain(&y).copied().collect();
        let halves = [[0.5; ROWS], [0.5; ROWS], [0.0; ROWS]].concat();
        let several = Problem { rows: 3 * ROWS, ..problem.clone() };
        let got = answer(
            &oracle(dense(&twice, D), &labels, Some(&halves), &several),
            &several,
            &question,
        );
        let plain = Problem { weighted: false, ..problem.clone() };
        let want = answer(&oracle(dense(&x, D), &y, None, &plain), &plain, &question);
        close(&got, &want, "copies");
    }
}

#[test]
fn weights_out_of_range_are_held_and_multiply() {
    let (x, y, _) = table(2);
    let bounds = RowBounds::new(4.0, 1.0).unwrap();
    let given = [2.0, f64::INFINITY, -1.0, f64::NAN, 0.5, f64::NEG_INFINITY];
    let rows = Rows::new(dense(&x[..6], D), y[..6].to_vec(), bounds).weighted(given);
    assert_eq!(rows.weights().unwrap(), [1.0, 1.0, 0.0, 0.0, 0.5, 0.0]);
    let rows = rows.weighted([0.5, 9.0, 1.0, 1.0, 0.5, 1.0]);
    assert_eq!(rows.weights().unwrap(), [0.5, 1.0, 0.0, 0.0, 0.25, 0.0]);
    let unit = Unit::new("patient", 2).unwrap();
    let keys = [0, 1, 0, 0, 1, 2].map(Some);
    let rows = rows.grouped(keys.into_iter(), &unit).unwrap();
    // Of the first unit's three rows the first two, then the second unit's, then the last.
    assert_eq!(rows.weights().unwrap(), [0.5, 0.0, 1.0, 0.25, 0.0]);
}

/// The worst neighbours: whatever one row's weights are, no sum moves by more than without them.
#[test]
fn no_weight_moves_a_sum_by_more_than_a_row_without_one() {
    let mut attained = 0.0_f64;
    for loss in Loss::ALL.iter().flat_map(|about| about.samples) {
        let bounds = RowBounds::new(1.0, 1.0).unwrap();
        let domain = reticent_problem::Domain::Ball { radius: 2.0 };
        let problem = Problem { weighted: true, domain, ..Problem::new(*loss, bounds, 1, 2) };
        if matches!(loss, Loss::OneHot { .. }) {
            continue; // for least squares alone, which refuses weights
        }
        let k = problem.regularity();
        let at = Sensitive::new(vec![0.7; problem.dimension()]);
        let gradient = |x: [f64; 2], y: f64, c: f64| {
            let oracle = oracle(dense(&[x.to_vec()], 2), &[y], Some(&[c]), &problem);
            answer(&oracle, &problem, &Question::Gradient { at: &at })
        };
        let mut all = Vec::new();
        for x in [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [0.6, 0.8], [0.0, 0.0]] {
            for y in [-1.0_f64, 0.0, 1.0] {
                let y = if loss.outputs() > 1 { y.max(0.0) } else { y };
                for c in [0.0, 0.3, 1.0, 2.0, f64::INFINITY] {
                    all.push(gradient(x, y, c));
                }
            }
        }
        for a in &all {
            assert!(norm(a) <= k.lipschitz * (1.0 + 1e-12), "{loss:?}: {a:?}");
            for b in &all {
                let apart: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
                let share = norm(&apart) / k.gradient_difference;
                assert!(share <= 1.0 + 1e-12, "{loss:?}: {share}");
                attained = attained.max(share);
            }
        }
    }
    assert!(attained > 0.9, "{attained}");
}

#[test]
fn single_steps_follow_the_weights() {
    for problem in problems() {
        if problem.hidden.is_some() {
            continue;
        }
        let (x, y, c) = table(classes(&problem));
        let plain = Problem { weighted: false, ..problem.clone() };
        let ones = vec![1.0; ROWS];
        let eta = 0.3;
        for features in [dense(&x, D), single(&x, D), sparse(&x, D)] {
            let of = |c: Option<&[f64]>| oracle(features.clone(), &y, c, &problem);
            let pass = |oracle: &LocalOracle, problem: &Problem| {
                let mut w = Sensitive::new(vec![0.0; problem.dimension()]);
                let mut sum = Sensitive::new(vec![0.0; problem.dimension()]);
                let rows = oracle.in_order().unwrap();
                rows.one_pass(problem, 0..ROWS, eta, &mut w, &mut sum).unwrap();
                in_the_clear(w)
            };
            let walk = |oracle: &LocalOracle, problem: &Problem| {
                let order = WalkOrder::Permuted;
                let walk = Walk { eta, steps: ROWS as u64, order };
                let mut state =
                    Sensitive::new(WalkState::new(problem, &Source::seeded_not_private(4)));
                let rows = oracle.random_access().unwrap();
                for _ in 0..ROWS {
                    rows.walk(problem, &walk, &mut state).unwrap();
                }
                in_the_clear(state.map_inside(WalkState::into_last))
            };
            assert_eq!(pass(&of(Some(&ones)), &problem), pass(&of(None), &plain));
            assert_eq!(walk(&of(Some(&ones)), &problem), walk(&of(None), &plain));
            // By hand: each step is that of the row alone, times its weight.
            let mut w = vec![0.0; problem.dimension()];
            for i in 0..ROWS {
                let at = Sensitive::new(w.clone());
                let step = of_row(&x[i], y[i], &problem, &Question::Gradient { at: &at });
                w.iter_mut().zip(step).for_each(|(w, g)| *w -= eta * c[i] * g);
            }
            close(&pass(&of(Some(&c)), &problem), &w, "pass");
            let still = walk(&of(Some(&[0.0; ROWS])), &problem);
            assert!(still.iter().all(|w| *w == 0.0), "{still:?}");
        }
    }
}

#[test]
fn a_plan_and_rows_that_disagree_on_weights_do_not_meet() {
    let (x, y, c) = table(2);
    let problem = problems().swap_remove(0);
    let plain = Problem { weighted: false, ..problem.clone() };
    let (with, without) =
        (oracle(dense(&x, D), &y, Some(&c), &problem), oracle(dense(&x, D), &y, None, &problem));
    assert_eq!(with.check(&plain), Err(OracleError::Weights));
    assert_eq!(without.check(&problem), Err(OracleError::Weights));
    assert_eq!((with.check(&problem), without.check(&plain)), (Ok(()), Ok(())));
}
