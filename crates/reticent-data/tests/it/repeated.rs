//! A small table that stands for a large one answers as the large one would.

use crate::common::clear::in_the_clear;
use reticent_data::{
    Chosen, Dense, Features, LocalOracle, Oracle, Preconditioner, Question, RepeatedOracle,
    RobustRule, Rows, Sensitive, Speed,
};
use reticent_noise::Source;
use reticent_noise::batch::{Draw, SampleKey, SampleRate};
use reticent_problem::{Loss, Problem, RowBounds};

const HELD: usize = 40;
const TIMES: usize = 5;
const FEATURES: usize = 3;

fn rows(times: usize) -> Rows {
    let entry = |i: usize, j: usize| ((7 * i + 3 * j + 1) % 11) as f64 / 20.0 - 0.25;
    let row = |i: usize| (0..FEATURES).map(move |j| entry(i, j));
    let values: Vec<f64> = (0..times * HELD).flat_map(|i| row(i % HELD)).collect();
    let labels =
        (0..times * HELD).map(|i| if (i % HELD).is_multiple_of(3) { 1.0 } else { -1.0 }).collect();
    let features = Features::F64(Dense::new(times * HELD, FEATURES, values));
    Rows::new(features, labels, RowBounds::features(1.0).unwrap())
}

fn both() -> (RepeatedOracle, LocalOracle, Problem) {
    let bounds = RowBounds::features(1.0).unwrap();
    let problem = Problem::new(Loss::Logistic, bounds, TIMES * HELD, FEATURES);
    let large = LocalOracle::new(rows(TIMES), Speed::default()).unwrap();
    (RepeatedOracle::new(rows(1), TIMES * HELD), large, problem)
}

fn close(a: Sensitive<Vec<f64>>, b: Sensitive<Vec<f64>>) {
    for (a, b) in in_the_clear(a).iter().zip(in_the_clear(b)) {
        assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{a} {b}");
    }
}

fn zeros() -> Sensitive<Vec<f64>> {
    Sensitive::new(vec![0.0; FEATURES])
}

const AT: [f64; FEATURES] = [0.3, -0.7, 1.1];

#[test]
fn sums_over_all_rows_are_those_of_the_large_table() {
    let (small, large, problem) = both();
    small.check(&problem).unwrap();
    let at = Sensitive::new(AT.to_vec());
    let (mut a, mut b) = (zeros(), zeros());
    small.ask(&problem, &Question::Gradient { at: &at }, &mut a).unwrap();
    large.ask(&problem, &Question::Gradient { at: &at }, &mut b).unwrap();
    close(a, b);
    let rule = RobustRule::Truncate { q: 2.0, threshold: 0.2, grid: None };
    let (mut a, mut b) = (zeros(), zeros());
    small
        .ask(
            &problem,
            &Question::Robust { chosen: Chosen::Block(0..TIMES * HELD), rule, at: &AT },
            &mut a,
        )
        .unwrap();
    large
        .ask(
            &problem,
            &Question::Robust { chosen: Chosen::Block(0..TIMES * HELD), rule, at: &AT },
            &mut b,
        )
        .unwrap();
    close(a, b);
}

#[test]
fn small_batches_are_those_of_the_large_table_and_large_ones_are_scaled() {
    let (small, large, problem) = both();
    let key = SampleKey::new(&Source::seeded_not_private(3));
    for rate in [0.05, 0.15, 1.0] {
        let draw = Draw { key: &key, step: 4, rate: SampleRate::new(rate).unwrap() };
        let (mut a, mut b) = (zeros(), zeros());
        small
            .ask(
                &problem,
                &Question::Clipped { draw, clip: 0.1, preconditioner: None, at: &AT },
                &mut a,
            )
            .unwrap();
        large
            .ask(
                &problem,
                &Question::Clipped { draw, clip: 0.1, preconditioner: None, at: &AT },
                &mut b,
            )
            .unwrap();
        close(a, b);
        let preconditioner = Preconditioner::new(vec![1.0, 2.0, 0.5], 0.3);
        let (mut a, mut b) = (zeros(), zeros());
        small
            .ask(
                &problem,
                &Question::Clipped {
                    draw,
                    clip: 0.1,
                    preconditioner: Some(&preconditioner),
                    at: &AT,
                },
                &mut a,
            )
            .unwrap();
        large
            .ask(
                &problem,
                &Question::Clipped {
                    draw,
                    clip: 0.1,
                    preconditioner: Some(&preconditioner),
                    at: &AT,
                },
                &mut b,
            )
            .unwrap();
        close(a, b);
    }
    let [mut a, mut b] = [(); 2].map(|()| Sensitive::new(vec![0.0; 7]));
    small.ask(&problem, &Question::Moments, &mut a).unwrap();
    large.ask(&problem, &Question::Moments, &mut b).unwrap();
    close(a, b);
    let batch = [0, 41, 77, 199, 3];
    let (mut a, mut b) = (zeros(), zeros());
    small.ask(&problem, &Question::Batch { batch: &batch, at: &AT, clip: 0.1 }, &mut a).unwrap();
    large.ask(&problem, &Question::Batch { batch: &batch, at: &AT, clip: 0.1 }, &mut b).unwrap();
    close(a, b);
}

#[test]
fn one_pass_goes_round_and_round() {
    let (small, large, problem) = both();
    let run = |oracle: &dyn Oracle| {
        let (mut w, mut sum) = (zeros(), zeros());
        oracle
            .in_order()
            .unwrap()
            .one_pass(&problem, 17..TIMES * HELD - 5, 0.1, &mut w, &mut sum)
            .unwrap();
        Sensitive::new([in_the_clear(w), in_the_clear(sum)].concat())
    };
    close(run(&small), run(&large));
}
