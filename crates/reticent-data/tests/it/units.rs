//! Sums over units of several rows: right for every question, layout and loss; no unit adds more
//! than it may; one row each is a row.

use crate::common::clear::answer;
use crate::common::layouts::{dense, single, sparse};
use reticent_data::{
    Chosen, Features, LocalOracle, Oracle, OracleError, Preconditioner, Question, RobustRule, Rows,
    Sensitive, Speed,
};
use reticent_noise::Source;
use reticent_noise::batch::{Draw, SampleKey, SampleRate};
use reticent_problem::{Loss, Problem, RowBounds, Unit, Weighting};

const D: usize = 11;

struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }
}

/// Rows whose numbers single precision holds, a label and a key each; some have none.
fn table(rows: usize, classes: usize) -> (Vec<Vec<f64>>, Vec<f64>, Vec<Option<u32>>) {
    let mut numbers = Numbers(3);
    let x = (0..rows).map(|i| {
        let row = (0..D).map(|j| if (i + j) % 3 == 0 { 0.0 } else { numbers.next() as f32 });
        row.map(f64::from).collect()
    });
    let x = x.collect();
    let y = (0..rows).map(|i| match classes {
        0 | 2 => {
            if i % 3 == 0 {
                1.0
            } else {
                -1.0
            }
        }
        _ => (i % classes) as f64,
    });
    let y = y.collect();
    let keys = (0..rows).map(|i| (i % 7 != 3).then_some((i * i % 13) as u32)).collect();
    (x, y, keys)
}

fn unit(max_rows: usize, weighting: Weighting) -> Unit {
    Unit { weighting, ..Unit::new("patient", max_rows).unwrap() }
}

/// The kept rows of each unit with what each counts, by the rule as it is written in words.
fn by_hand(keys: &[Option<u32>], unit: &Unit) -> Vec<(Vec<usize>, f64)> {
    let mut units: Vec<(Option<u32>, Vec<usize>)> = Vec::new();
    for (i, key) in keys.iter().enumerate() {
        match units.iter_mut().find(|(known, _)| key.is_some() && known == key) {
            Some((_, rows)) => rows.push(i),
            None => units.push((*key, vec![i])),
        }
    }
    let kept = |rows: Vec<usize>| {
        let (k, m) = (rows.len(), unit.max_rows);
        let rows: Vec<_> = if k <= m { rows } else { (0..m).map(|j| rows[j * k / m]).collect() };
        let share = match unit.weighting {
            Weighting::Equal => 1.0 / rows.len() as f64,
            Weighting::Rows => 1.0 / m as f64,
        };
        (rows, share)
    };
    units.into_iter().map(|(_, rows)| kept(rows)).collect()
}

fn oracle(features: Features, y: &[f64], problem: &Problem, keys: &[Option<u32>]) -> LocalOracle {
    let rows = Rows::new(features, y.to_vec(), problem.bounds);
    let rows = match &problem.unit {
        Some(unit) => rows.grouped(keys.iter().copied(), unit).unwrap(),
        None => rows,
    };
    LocalOracle::new(rows, Speed { threads: Some(2) }).unwrap()
}

/// The answer for one row as a record of its own.
fn of_row(x: &[f64], y: f64, problem: &Problem, question: &Question<'_>) -> Vec<f64> {
    let alone = Problem { unit: None, rows: 1, ..problem.clone() };
    answer(&oracle(dense(&[x.to_vec()], D), &[y], &alone, &[]), &alone, question)
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn close(got: &[f64], want: &[f64], scale: f64) {
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= 1e-9 * scale, "{got:?}\n{want:?}");
    }
}

fn problems() -> Vec<Problem> {
    let bounds = RowBounds::new(4.0, 1.0).unwrap();
    let of = |loss| Problem::new(loss, bounds, 1, D);
    vec![
        of(Loss::Logistic),
        of(Loss::Squared),
        of(Loss::Huber { threshold: 0.3 }),
        of(Loss::Softmax { classes: 3 }),
        Problem { hidden: Some(4), ..of(Loss::Logistic) },
        Problem { hidden: Some(3), ..of(Loss::Softmax { classes: 3 }) },
    ]
}

/// The sums of the units' mean rows, of the means of their squares, and of the means of their
/// labels.
fn moments(units: &[(Vec<usize>, f64)], x: &[Vec<f64>], y: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; 2 * D + 1];
    for (rows, share) in units {
        for &i in rows {
            for (j, x) in x[i].iter().enumerate() {
                sums[j] += share * x;
                sums[D + j] += share * x * x;
            }
            sums[2 * D] += share * y[i];
        }
    }
    sums
}

#[test]
fn every_sum_is_that_of_the_units_mean_gradients() {
    for weighting in [Weighting::Equal, Weighting::Rows] {
        for base in problems() {
            let classes = if let Loss::Softmax { classes } = base.loss { classes } else { 2 };
            let (x, y, keys) = table(120, classes);
            let unit = unit(3, weighting);
            let units = by_hand(&keys, &unit);
            let problem = Problem { unit: Some(unit), rows: units.len(), ..base };
            let mut numbers = Numbers(9);
            let w: Vec<f64> = (0..problem.dimension()).map(|_| numbers.next()).collect();
            let wide = Question::Clipped {
                draw: Draw {
                    key: &SampleKey::new(&Source::seeded_not_private(1)),
                    step: 0,
                    rate: SampleRate::new(1.0).unwrap(),
                },
                clip: 1e6,
                preconditioner: None,
                at: &w,
            };
            let gradients: Vec<Vec<f64>> = units
                .iter()
                .map(|(rows, share)| {
                    let mut sum = vec![0.0; w.len()];
                    for &i in rows {
                        let g = of_row(&x[i], y[i], &problem, &wide);
                        sum.iter_mut().zip(g).for_each(|(s, g)| *s += share * g);
                    }
                    sum
                })
                .collect();
            let clipped = |clip: f64| {
                let mut sum = vec![0.0; w.len()];
                for g in &gradients {
                    let factor = (clip / norm(g)).min(1.0);
                    sum.iter_mut().zip(g).for_each(|(s, g)| *s += factor * g);
                }
                sum
            };
            let longest = gradients.iter().map(|g| norm(g)).fold(0.0, f64::max);
            for features in [dense(&x, D), single(&x, D), sparse(&x, D)] {
                let oracle = oracle(features, &y, &problem, &keys);
                assert_eq!(oracle.rows(), units.len());
                oracle.check(&problem).unwrap();
                close(&answer(&oracle, &problem, &wide), &clipped(1e6), 40.0);
                for clip in [0.9 * longest, 0.3 * longest, 1e-3] {
                    let Question::Clipped { draw, preconditioner, at, .. } = wide else {
                        unreachable!()
                    };
                    let question = Question::Clipped { draw, clip, preconditioner, at };
                    close(&answer(&oracle, &problem, &question), &clipped(clip), 40.0);
                }
                if problem.hidden.is_some() {
                    continue;
                }
                let at = Sensitive::new(w.clone());
                close(
                    &answer(&oracle, &problem, &Question::Gradient { at: &at }),
                    &clipped(1e6),
                    40.0,
                );
                let batch = [0, 2, 5];
                let clip = 0.5 * longest;
                let question = Question::Batch { batch: &batch, clip, at: &w };
                let mut want = vec![0.0; w.len()];
                for &u in &batch {
                    let factor = (clip / norm(&gradients[u])).min(1.0);
                    want.iter_mut().zip(&gradients[u]).for_each(|(s, g)| *s += factor * g);
                }
                close(&answer(&oracle, &problem, &question), &want, 10.0);
                let bound = 0.05;
                let (chosen, rule) =
                    (Chosen::Block(0..units.len()), RobustRule::ClipEntries { bound });
                let mut want = vec![0.0; w.len()];
                for g in &gradients {
                    want.iter_mut().zip(g).for_each(|(s, g)| *s += g.clamp(-bound, bound));
                }
                let question = Question::Robust { chosen, rule, at: &w };
                close(&answer(&oracle, &problem, &question), &want, 10.0);
                let chosen = Chosen::Listed(&batch);
                let rule = RobustRule::Truncate { q: 2.0, threshold: 0.7 * longest, grid: None };
                let mut want = vec![0.0; w.len()];
                for g in batch.map(|u| &gradients[u]).iter().filter(|g| norm(g) <= 0.7 * longest) {
                    want.iter_mut().zip(g.iter()).for_each(|(s, g)| *s += g);
                }
                let question = Question::Robust { chosen, rule, at: &w };
                close(&answer(&oracle, &problem, &question), &want, 10.0);
                let want = moments(&units, &x, &y);
                close(&answer(&oracle, &problem, &Question::Moments), &want, 100.0);
            }
        }
    }
}

#[test]
fn no_unit_adds_more_than_the_clip_norm_whatever_its_rows_and_the_weights_are() {
    let bounds = RowBounds::new(1e200, 1.0).unwrap();
    let base = Problem::new(Loss::Squared, bounds, 1, D);
    let problem = Problem { unit: Some(unit(4, Weighting::Equal)), ..base };
    let key = SampleKey::new(&Source::seeded_not_private(1));
    let draw = Draw { key: &key, step: 0, rate: SampleRate::new(1.0).unwrap() };
    let preconditioner = Preconditioner::new(vec![1.0; D], 0.2)
        .with_scales((0..D).map(|j| 0.3 + j as f64).collect());
    let sizes = [0.0, 1e-300, 1e-160, 1e-8, 1.0, 1e9, 1e160, f64::INFINITY, f64::NAN];
    for row_size in sizes {
        for weight in sizes {
            // Rows that nearly cancel, and rows that agree.
            for other in [-1.0 + 1e-12, 1.0] {
                let x: Vec<Vec<f64>> = [1.0, other, 1.0, other]
                    .iter()
                    .map(|sign| (0..D).map(|j| sign * row_size * (1.0 + j as f64)).collect())
                    .collect();
                let oracle = oracle(dense(&x, D), &[1.0, 1.0, -1.0, 0.5], &problem, &[Some(1); 4]);
                let w = vec![weight; D];
                for clip in [1e-40, 1.0, 1e30] {
                    for preconditioner in [None, Some(&preconditioner)] {
                        let question = Question::Clipped { draw, clip, preconditioner, at: &w };
                        let mut sum = answer(&oracle, &problem, &question);
                        if let Some(preconditioner) = preconditioner {
                            preconditioner.apply(&mut sum);
                        }
                        assert!(sum.iter().all(|s| s.is_finite()));
                        let peak = sum.iter().fold(0.0, |p: f64, s| p.max(s.abs()));
                        let length = if peak > 0.0 {
                            peak * norm(&sum.iter().map(|s| s / peak).collect::<Vec<_>>())
                        } else {
                            0.0
                        };
                        assert!(
                            length <= clip * (1.0 + 1e-12),
                            "{row_size} {weight} {clip}: {length}"
                        );
                    }
                    let question = Question::Batch { batch: &[0], clip, at: &w };
                    assert!(norm(&answer(&oracle, &problem, &question)) <= clip * (1.0 + 1e-12));
                }
            }
        }
    }
}

#[test]
fn one_row_each_is_a_row_to_the_last_bit() {
    let bounds = RowBounds::new(4.0, 1.0).unwrap();
    for loss in [Loss::Logistic, Loss::Softmax { classes: 9 }] {
        let classes = if loss == Loss::Logistic { 2 } else { 9 };
        let (x, y, _) = table(300, classes);
        let keys: Vec<_> = (0..300).map(|i| (i % 5 != 0).then_some(1000 - i)).collect();
        let rows = Problem::new(loss, bounds, 300, D);
        let units = Problem { unit: Some(unit(1, Weighting::Equal)), ..rows.clone() };
        let key = SampleKey::new(&Source::seeded_not_private(4));
        let draw = Draw { key: &key, step: 2, rate: SampleRate::new(0.4).unwrap() };
        let w: Vec<f64> = (0..rows.dimension()).map(|i| (i as f64).sin()).collect();
        let at = Sensitive::new(w.clone());
        let listed: Vec<usize> = (0..300).step_by(3).collect();
        for features in [dense(&x, D), single(&x, D), sparse(&x, D)] {
            let a = oracle(features.clone(), &y, &rows, &[]);
            let b = oracle(features, &y, &units, &keys);
            for question in [
                Question::Clipped { draw, clip: 0.2, preconditioner: None, at: &w },
                Question::Gradient { at: &at },
                Question::Batch { batch: &listed, clip: 0.3, at: &w },
                Question::Moments,
                Question::Score { at: &w },
            ] {
                assert_eq!(answer(&a, &rows, &question), answer(&b, &units, &question));
            }
        }
    }
}

#[test]
fn plans_for_other_records_are_refused() {
    let (x, y, keys) = table(20, 2);
    let bounds = RowBounds::new(4.0, 1.0).unwrap();
    let rows = Problem::new(Loss::Logistic, bounds, 20, D);
    let grouped = Problem { unit: Some(unit(3, Weighting::Equal)), ..rows.clone() };
    let by_rows = oracle(dense(&x, D), &y, &rows, &[]);
    let by_units = oracle(dense(&x, D), &y, &grouped, &keys);
    assert_eq!(by_rows.check(&grouped), Err(OracleError::Units));
    assert_eq!(by_units.check_columns(&rows), Err(OracleError::Units));
    let other = Problem { unit: Some(unit(4, Weighting::Equal)), ..rows.clone() };
    assert_eq!(by_units.check_columns(&other), Err(OracleError::Units));
    assert!(by_units.random_access().is_none() && by_units.in_order().is_none());
    let single = Problem { unit: Some(unit(1, Weighting::Equal)), ..rows };
    let by_one = oracle(dense(&x, D), &y, &single, &keys);
    assert!(by_one.random_access().is_some() && by_one.in_order().is_none());
    let table = Rows::new(dense(&x, D), y, bounds);
    let few = table.grouped([Some(1)].into_iter(), &unit(2, Weighting::Equal));
    let message = few.unwrap_err().to_string();
    assert!(!message.contains("20"), "a number of rows is told: {message}");
}
