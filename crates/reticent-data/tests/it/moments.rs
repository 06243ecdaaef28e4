//! Sums of rows, of their squares and of their labels: right for every layout, and no row moves
//! them by more than is charged.

use crate::common::clear::in_the_clear;
use crate::common::layouts::{dense, single, sparse};
use proptest::prelude::*;
use reticent_data::{
    Features, LocalOracle, Oracle as _, Question, Rows, Sensitive, Speed, moments_rounding,
};
use reticent_problem::{Loss, Problem, RowBounds};

fn moments(features: Features, labels: &[f64], bounds: RowBounds, threads: usize) -> Vec<f64> {
    let d = features.columns();
    let problem = Problem::new(Loss::Squared, bounds, labels.len(), d);
    let rows = Rows::new(features, labels.to_vec(), bounds);
    let oracle = LocalOracle::new(rows, Speed { threads: Some(threads) }).unwrap();
    let mut into = Sensitive::new(vec![f64::NAN; 2 * d + 1]);
    oracle.ask(&problem, &Question::Moments, &mut into).unwrap();
    in_the_clear(into)
}

/// How far apart two such sums are: those of the squares in units of the largest entry, those of
/// the labels of theirs, which the norm stands for.
fn apart(a: &[f64], b: &[f64], bounds: RowBounds) -> f64 {
    let d = a.len() / 2;
    let unit = |i: usize| match i {
        _ if i < d => 1.0,
        _ if i < 2 * d => bounds.entry(),
        _ => bounds.label() / bounds.norm(),
    };
    let gaps = a.iter().zip(b).enumerate().map(|(i, (a, b))| (a - b) / unit(i));
    gaps.map(|gap| gap * gap).sum::<f64>().sqrt()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_layout_gives_the_sums_by_hand_and_a_row_moves_them_by_no_more_than_the_bounds_say(
        n in prop_oneof![1..70_usize, Just(1100), Just(2100)],
        d in 1..40_usize,
        entry in prop_oneof![Just(0.25), Just(1.0)],
        seed in 0..1000_usize,
    ) {
        // Entries with few bits, zeros among them; the last row is as long as may be, in one entry
        // or in all.
        let number = |i: usize| [0.0, 0.5, -1.0, 0.75, 0.0, -0.125, 1.0][(i * i + seed) % 7] * entry;
        let mut x: Vec<Vec<f64>> = (0..n).map(|i| (0..d).map(|j| number(i * d + 3 * j)).collect()).collect();
        x[n - 1] = (0..d).map(|j| if j == 0 || seed % 2 == 0 { -entry } else { 0.0 }).collect();
        let norm = entry * (d as f64).sqrt();
        let bounds = RowBounds::new(norm, 3.0).unwrap().with_entries(entry).unwrap();
        let y: Vec<f64> = (0..n).map(|i| [3.0, -0.5, 2.25, -3.0][(i + seed) % 4]).collect();
        let mut want = vec![0.0; 2 * d + 1];
        want[2 * d] = y.iter().sum();
        for (j, v) in x.iter().flat_map(|row| row.iter().enumerate()) {
            want[j] += v;
            want[d + j] += v * v;
        }
        let problem = Problem::new(Loss::Squared, bounds, n, d);
        let most = 3_f64.sqrt() * norm * moments_rounding(&problem);
        for layout in [dense, single, sparse] {
            let all = moments(layout(&x, d), &y, bounds, 1);
            prop_assert_eq!(&all, &want, "such sums are exact");
            prop_assert_eq!(&all, &moments(layout(&x, d), &y, bounds, 3));
            let fewer = moments(layout(&x[..n - 1], d), &y[..n - 1], bounds, 1);
            prop_assert!(apart(&all, &fewer, bounds) <= most);
        }
    }
}

#[test]
fn rounding_moves_sums_by_more_than_the_bounds_say_and_is_charged() {
    // A third, over and over: sums round, and a row more moves them by a third and a little.
    let third = 1.0 / 3.0;
    let bounds = RowBounds::new(third, third).unwrap();
    let mut beyond = 0.0_f64;
    for n in [1000, 5000, 20_011, 60_000] {
        let problem = Problem::new(Loss::Squared, bounds, n, 1);
        let moved = |layout: fn(&[Vec<f64>], usize) -> Features| {
            let (x, y) = (vec![vec![third]; n], vec![third; n]);
            let all = moments(layout(&x, 1), &y, bounds, 1);
            let fewer = moments(layout(&x[1..], 1), &y[1..], bounds, 1);
            apart(&all, &fewer, bounds) / (3_f64.sqrt() * third)
        };
        for moved in [moved(dense), moved(sparse)] {
            assert!(moved <= moments_rounding(&problem), "{n}: {moved}");
            beyond = beyond.max(moved);
        }
    }
    assert!(beyond > 1.0, "it is needed: {beyond}");
}
