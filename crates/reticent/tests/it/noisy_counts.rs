//! Counts of cells with noise: how far a row moves them, and what is added.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::path::Path;

use reticent::data::encode::CellCounts;
use reticent::data::table::count_cells;
use reticent::noise::Source;
use reticent::privacy::gaussian::noise_multiplier_upper;
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon, epsilon_upper};
use reticent::problem::declaration::{Declaration, Encoding, Layout};
use reticent::{CellQuery, cell_sensitivity};

const SCHEMA: &str = r#"{"target": "y", "columns": [
    {"name": "a", "type": "real", "bounds": {"min": 0, "max": 1}},
    {"name": "c", "type": "categorical", "categories": ["x"]},
    {"name": "y", "type": "real", "bounds": {"min": 0, "max": 1}}]}"#;

fn layout() -> Layout {
    Declaration::from_json(SCHEMA).unwrap().layout(&Encoding::default()).unwrap()
}

fn budget(epsilon: f64, delta: f64, adjacency: Adjacency) -> Budget {
    Budget { epsilon: Epsilon::new(epsilon).unwrap(), delta: Delta::new(delta).unwrap(), adjacency }
}

fn counts(folder: &Path, rows: &[&str]) -> Vec<f64> {
    let path = folder.join("t.csv");
    std::fs::write(&path, format!("a,c,y\n{}\n", rows.join("\n"))).unwrap();
    count_cells(&path, None, &layout()).unwrap().to_vector()
}

#[test]
fn no_row_moves_the_counts_further_than_the_sensitivity() {
    let folder = tempfile::tempdir().unwrap();
    let (numbers, words) = (["0.5", "", "7", "u"], ["x", "NA", "w"]);
    let mut rows = Vec::new();
    for a in numbers {
        for c in words {
            rows.extend(numbers.map(|y| format!("{a},{c},{y}")));
        }
    }
    // The other rows are fixed: a row's contribution does not depend on them.
    let with = |row: &str| counts(folder.path(), &["0.5,x,7", row, "u,w,"]);
    let without = counts(folder.path(), &["0.5,x,7", "u,w,"]);
    let all: Vec<Vec<f64>> = rows.iter().map(|row| with(row)).collect();
    let distance =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
    let joined = all.iter().map(|v| distance(v, &without)).fold(0.0, f64::max);
    let replaced = all.iter().flat_map(|a| all.iter().map(|b| distance(a, b))).fold(0.0, f64::max);
    for (adjacency, found) in [(Adjacency::AddRemoveOne, joined), (Adjacency::ReplaceOne, replaced)]
    {
        let bound = cell_sensitivity(3, adjacency);
        assert!(found <= bound && found > bound * (1.0 - 1e-12), "{found} of {bound}");
    }
    assert_eq!(
        cell_sensitivity(3, Adjacency::ZeroOut),
        cell_sensitivity(3, Adjacency::AddRemoveOne)
    );
}

#[test]
fn the_noise_is_that_of_the_event_and_the_event_keeps_the_budget() {
    for (delta, adjacency) in [
        (1e-6, Adjacency::ReplaceOne),
        (1e-6, Adjacency::AddRemoveOne),
        (0.0, Adjacency::ReplaceOne),
    ] {
        let budget = budget(0.5, delta, adjacency);
        let query = CellQuery::plan(&layout(), budget).unwrap();
        assert!(epsilon_upper(query.event(), delta).unwrap() <= 0.5);
        // Three columns, the target among them.
        let sensitivity = if adjacency == Adjacency::ReplaceOne { 7.0_f64 } else { 4.0 }.sqrt();
        if delta > 0.0 {
            let sigma = sensitivity * noise_multiplier_upper(0.5, delta).unwrap();
            let found =
                query.clone().release(&CellCounts::none(&layout()), 9, &Source::from_os().unwrap());
            let found = found.unwrap().noise_deviation;
            assert!((found / sigma - 1.0).abs() < 1e-3, "{found} for {sigma}");
        }
        // Counts in the middle of their range, so that rounding and holding do not show.
        let shape = CellCounts::none(&layout());
        let rows = 1_000_000;
        let exact = shape.with_vector(rows, &vec![5e5; shape.to_vector().len()]);
        let source = Source::seeded_not_private(7);
        let (mut sum, mut squares, mut draws) = (0.0, 0.0, 0.0);
        for _ in 0..400 {
            let release = query.clone().release(&exact, rows, &source).unwrap();
            for value in release.counts.to_vector() {
                let noise = (value - 5e5) / release.noise_deviation;
                (sum, squares, draws) = (sum + noise, squares + noise * noise, draws + 1.0);
            }
        }
        // At least 400 independent vectors: five standard deviations of the mean and of the mean
        // square, below 1e-5.
        let (mean, square) = (sum / draws, squares / draws);
        assert!(mean.abs() < 5.0 / draws.sqrt(), "{mean} at {delta}");
        assert!((square - 1.0).abs() < 5.0 * (2.5_f64 / 400.0).sqrt(), "{square} at {delta}");
    }
}

#[test]
fn a_seed_makes_the_statement_void_and_an_infinite_budget_is_refused() {
    let query = CellQuery::plan(&layout(), budget(1.0, 1e-6, Adjacency::ReplaceOne)).unwrap();
    let counts = CellCounts::none(&layout());
    let seeded = Source::seeded_not_private(1);
    assert!(query.clone().release(&counts, 10, &seeded).unwrap().void.is_some());
    let release = query.release(&counts, 10, &Source::from_os().unwrap()).unwrap();
    assert!(release.void.is_none() && release.statement.starts_with("These counts are (epsilon"));
    let infinite = budget(f64::INFINITY, 1e-6, Adjacency::ReplaceOne);
    assert!(CellQuery::plan(&layout(), infinite).is_err());
}
