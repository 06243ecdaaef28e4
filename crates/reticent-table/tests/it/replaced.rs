//! How far apart two encoded rows can be with the squares of their entries: the layout's bound is
//! never exceeded, and nearly reached.

use std::fmt::Write as _;

use crate::common::{dense, layout_with, write};
use reticent_problem::declaration::{Encoding, NumericRange, Precision};
use reticent_table::table::read;

const SCHEMA: &str = r#"{"target": "y", "interactions": [["a", "c"]], "columns": [
    {"name": "a", "type": "real", "bounds": {"min": 0, "max": 1}},
    {"name": "b", "type": "real", "bounds": {"min": 0, "max": 1}, "missing": "indicator"},
    {"name": "c", "type": "categorical", "categories": ["p", "q", "r"]},
    {"name": "y", "type": "categorical", "categories": ["no", "yes"]}]}"#;

/// Rows at the ends, between them, missing and unreadable, in every combination.
fn table() -> String {
    let numbers = ["0", "0.3222", "0.5", "1", "", "abc"];
    let mut text = "a,b,c,y\n".to_owned();
    for a in numbers {
        for b in numbers {
            for c in ["p", "q", "r", "", "s"] {
                writeln!(text, "{a},{b},{c},no").unwrap();
            }
        }
    }
    text
}

#[test]
fn no_two_rows_are_farther_apart_than_stated() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "t.csv", table().as_bytes());
    for precision in [Precision::F64, Precision::F32, Precision::Sparse] {
        for numeric_range in [NumericRange::Unit, NumericRange::Symmetric] {
            for (knots, intercept, feature_norm, normalize_rows, nearly) in [
                (None, true, None, false, 0.85),
                (None, false, None, false, 0.85),
                (Some(4), true, None, false, 0.99),
                (None, true, Some(1.1), false, 0.3),
                (None, true, None, true, 0.3),
            ] {
                let encoding = Encoding {
                    precision,
                    numeric_range,
                    knots,
                    intercept,
                    feature_norm,
                    normalize_rows,
                    ..Encoding::default()
                };
                let layout = layout_with(SCHEMA, &encoding);
                let rows = read(&path, None, &layout, true).unwrap();
                let rows: Vec<Vec<f64>> = (0..rows.len()).map(|i| dense(&rows, i)).collect();
                let (bounds, mut most) = (layout.bounds(), 0.0_f64);
                for x in &rows {
                    for z in &rows {
                        let apart = x.iter().zip(z).map(|(x, z)| {
                            (x - z).powi(2) + ((x * x - z * z) / bounds.entry()).powi(2)
                        });
                        most = most.max(apart.sum());
                    }
                }
                let share = most / bounds.replaced();
                assert!((nearly..=1.0 + 1e-6).contains(&share), "{encoding:?}: {share}");
            }
        }
    }
}
