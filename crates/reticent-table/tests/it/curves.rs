//! Curves, interactions and indicators of missing values as the encoder writes them.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use crate::common::{dense, layout_with};
use proptest::collection::vec;
use proptest::prelude::*;
use reticent_problem::declaration::{Declaration, Encoding, Layout, Precision};
use reticent_table::encode::{CsrView, Encoder, Targets};

const SCHEMA: &str = r#"{"target": "y", "interactions": [["hour", "day"], ["temp", "hour"], ["plain", "temp"]], "columns": [
    {"name": "hour", "type": "integer", "bounds": {"min": 0, "max": 23}},
    {"name": "day", "type": "categorical", "categories": [1, 2, 3], "missing": "indicator"},
    {"name": "temp", "type": "real", "bounds": {"min": -10, "max": 40}, "missing": {"marks": [-999], "indicator": true}},
    {"name": "price", "type": "real", "bounds": {"min": 1, "max": 1000}, "basis": {"kind": "bins", "knots": 3, "scale": "log"}},
    {"name": "age", "type": "real", "bounds": {"min": 0, "max": 110}, "basis": {"knots": [0, 18, 65, 110]}},
    {"name": "plain", "type": "real", "bounds": {"min": 0, "max": 2}, "basis": "linear"},
    {"name": "y", "type": "real", "bounds": {"min": 0, "max": 1}}
]}"#;

const COLUMNS: usize = 6;

fn layout(knots: usize, precision: Precision) -> Layout {
    layout_with(SCHEMA, &Encoding { knots: Some(knots), precision, ..Encoding::default() })
}

fn encoded(layout: &Layout, columns: usize, row: &[f64]) -> Vec<f64> {
    dense(&Encoder::new(layout).matrix(columns, row, Targets::Absent).unwrap(), 0)
}

/// The features that differ from zero, by name.
fn named(layout: &Layout, row: &[f64]) -> Vec<(String, f64)> {
    let names = layout.feature_names().iter().cloned();
    names.zip(encoded(layout, COLUMNS, row)).filter(|(_, value)| *value != 0.0).collect()
}

fn norm(row: &[f64]) -> f64 {
    row.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[test]
fn a_row_is_what_the_names_say() {
    let layout = layout(3, Precision::F64);
    // Hour 11.5 is the middle knot of three; temp 27.5 is half way between 15 and 40.
    let row = named(&layout, &[11.5, 2.0, 27.5, 10.0, 30.0, 0.5]);
    let expected = [
        ("hour@11.5", 1.0),
        ("day=2", 1.0),
        ("temp@15", 0.5),
        ("temp@40", 0.5),
        ("price@10..100", 1.0),
        ("age@18", 1.0 - 12.0 / 47.0),
        ("age@65", 12.0 / 47.0),
        ("plain", 0.25),
        ("hour@11.5*day=2", 1.0),
        ("temp@15*hour@11.5", 0.5),
        ("temp@40*hour@11.5", 0.5),
        ("plain@0*temp@15", 0.375),
        ("plain@0*temp@40", 0.375),
        ("plain@2*temp@15", 0.125),
        ("plain@2*temp@40", 0.125),
        ("(intercept)", 1.0),
    ];
    assert_eq!(row.len(), expected.len(), "{row:?}");
    for ((name, value), (wanted, number)) in row.iter().zip(expected) {
        assert!(
            name == wanted && (value - number).abs() < 1e-12,
            "{name} {value}, not {wanted} {number}"
        );
    }
    // Three numbers and categories with curves and three interactions add 1 each, besides the
    // intercept.
    assert!((layout.norm_bound() - 10_f64.sqrt()).abs() < 1e-9);
}

#[test]
fn what_is_missing_has_zeros_an_indicator_or_the_middle_of_a_line() {
    let layout = layout(4, Precision::F64);
    let row = named(&layout, &[0.0, f64::NAN, -999.0, 1.0, 0.0, f64::NAN]);
    let names: Vec<&str> = row.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "hour@0",
            "day is missing",
            "temp is missing",
            "price@1..10",
            "age@0",
            "plain",
            "(intercept)"
        ]
    );
    let plain = row.iter().find(|(name, _)| name == "plain").unwrap();
    assert_eq!(plain.1, 0.5, "a line counts as the middle");
    let unreadable = encoded(&layout, COLUMNS, &[0.0, 1.0, f64::INFINITY, 1.0, 0.0, 0.0]);
    assert!(unreadable.iter().all(|x| *x == 0.0), "an infinity makes the row zero");
}

#[test]
fn the_bound_is_attained_at_knots_and_bounds() {
    for knots in [2, 5, 8] {
        let layout = layout(knots, Precision::F64);
        for row in [[0.0, 1.0, -10.0, 1.0, 0.0, 2.0], [23.0, 3.0, 40.0, 1000.0, 110.0, 2.0]] {
            let got = norm(&encoded(&layout, COLUMNS, &row));
            assert!(
                got <= layout.norm_bound() && got > layout.norm_bound() * (1.0 - 1e-9),
                "{got}"
            );
        }
    }
}

#[test]
fn two_tents_span_the_line() {
    let schema = r#"{"target": "y", "columns": [
        {"name": "x", "type": "real", "bounds": {"min": -3, "max": 5}},
        {"name": "y", "type": "real", "bounds": {"min": 0, "max": 1}}]}"#;
    let line = layout_with(schema, &Encoding::default());
    let tents = layout_with(schema, &Encoding { knots: Some(2), ..Encoding::default() });
    for x in [-7.0, -3.0, -1.1, 0.0, 2.5, 5.0, 9.0] {
        let rows = [&line, &tents].map(|layout| {
            dense(&Encoder::new(layout).matrix(1, &[x], Targets::Absent).unwrap(), 0)
        });
        assert!((rows[0][0] - rows[1][1]).abs() < 1e-15, "{rows:?}");
        assert!((rows[1][0] + rows[1][1] - 1.0).abs() < 1e-15, "{rows:?}");
    }
}

fn cell() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -20.0..60.0_f64,
        2 => (0..24).prop_map(f64::from),
        1 => Just(0.0),
        1 => Just(-0.0),
        1 => Just(f64::NAN),
        1 => Just(-999.0),
        1 => Just(1e300),
        1 => any::<f64>().prop_filter("finite", |x| x.is_finite()),
    ]
}

proptest! {
    #[test]
    fn rows_keep_their_bound_and_are_the_same_however_they_come(
        row in vec(cell(), COLUMNS),
        knots in 2_usize..20,
    ) {
        let kinds = [Precision::F64, Precision::F32, Precision::Sparse].map(|p| layout(knots, p));
        let rows = kinds.each_ref().map(|layout| encoded(layout, COLUMNS, &row));
        for (got, layout) in rows.iter().zip(&kinds) {
            prop_assert!(norm(got) <= layout.norm_bound());
            prop_assert!(got.iter().all(|x| (0.0..=1.0).contains(x)));
        }
        prop_assert_eq!(&rows[0], &rows[2], "sparse rows hold the same");
        prop_assert!(rows[0].iter().zip(&rows[1]).all(|(a, b)| (a - b).abs() < 1e-7));
        // A sparse table in which zeros are absent.
        let filled: Vec<usize> = (0..COLUMNS).filter(|j| row[*j] != 0.0).collect();
        let values: Vec<f64> = filled.iter().map(|j| row[*j]).collect();
        let view = CsrView { columns: COLUMNS, offsets: &[0, filled.len()], indices: &filled, values: &values };
        let sparse = Encoder::new(&kinds[2]).sparse(view, Targets::Absent).unwrap();
        prop_assert_eq!(&rows[0], &dense(&sparse, 0), "absent is the number zero");
    }
}

#[test]
fn a_missing_number_is_filled_in_and_an_undeclared_category_is_caught() {
    let schema = r#"{"target": "y", "interactions": [["temp", "day"]], "columns": [
        {"name": "day", "type": "categorical", "categories": [1, 2, 9], "other": 9, "missing": -1},
        {"name": "temp", "type": "real", "bounds": {"min": -10, "max": 40}, "missing": {"marks": [-999, 15], "fill": "middle"}},
        {"name": "age", "type": "real", "bounds": {"min": 0, "max": 100}, "basis": "linear", "missing": {"fill": 25}},
        {"name": "y", "type": "real", "bounds": {"min": 0, "max": 1}}]}"#;
    for precision in [Precision::F64, Precision::F32, Precision::Sparse] {
        let encoding = Encoding { knots: Some(3), precision, ..Encoding::default() };
        let layout = layout_with(schema, &encoding);
        let of =
            |row: &[f64]| dense(&Encoder::new(&layout).matrix(3, row, Targets::Absent).unwrap(), 0);
        // A missing row is the row of what stands for it, interactions included; that the middle
        // is itself a missing mark changes nothing.
        let filled = of(&[5.0, f64::NAN, f64::NAN]);
        let shown = of(&[9.0, 15.0 + 1e-13, 25.0]);
        assert!(filled.iter().zip(&shown).all(|(x, y)| (x - y).abs() < 1e-7), "{filled:?}");
        assert!(filled.iter().filter(|x| **x != 0.0).count() == 5, "{filled:?}");
        assert_eq!(filled, of(&[9.0, -999.0, 25.0]));
        assert_eq!(of(&[7.5, -999.0, 25.0]), of(&[9.0, 15.0, 25.0]));
        // Which category is missing is not caught: it is not undeclared.
        assert_eq!(of(&[-1.0, 20.0, 30.0])[..3], [0.0; 3]);
        assert_eq!(of(&[5.0, 20.0, 30.0])[..3], [0.0, 0.0, 1.0]);
        // Neither adds to the norm: three columns, an interaction, the intercept.
        assert!((layout.norm_bound() - 5_f64.sqrt()).abs() < 1e-9);
        assert!(norm(&filled) <= layout.norm_bound());
    }
}

/// Ends and knots of any size, many of them next to each other.
fn wild() -> impl Strategy<Value = f64> {
    let bits = any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |x| x.is_finite());
    let near = (any::<bool>(), 0_u64..6).prop_map(|(large, step)| {
        let from: f64 = if large { 1e15 } else { 1.0 };
        f64::from_bits(from.to_bits() + step)
    });
    prop_oneof![
        3 => near,
        2 => (-300..300_i32).prop_map(|e| 10_f64.powi(e)),
        2 => (-300..300_i32).prop_map(|e| -(10_f64.powi(e))),
        1 => -2.0..2.0_f64,
        1 => Just(0.0),
        1 => bits,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_row_on_wild_knots_is_finite_and_keeps_the_norm_bound(
        mut knots in vec(wild(), 2..6),
        scale in prop::sample::select(vec!["linear", "log", "sqrt", "symlog"]),
        kind in prop::sample::select(vec!["tent", "bins"]),
        even in any::<bool>(),
        cells in vec(wild(), 1..4),
        share in 0.0..1.0_f64,
    ) {
        knots.sort_by(f64::total_cmp);
        knots.dedup();
        let (min, max) = (knots[0], knots[knots.len() - 1]);
        let given = if even { format!("{}", knots.len()) } else { format!("{knots:?}") };
        let schema = format!(
            r#"{{"target": "y", "interactions": [["a", "b"]], "columns": [
            {{"name": "a", "type": "real", "bounds": {{"min": {min:?}, "max": {max:?}}},
              "basis": {{"kind": "{kind}", "knots": {given}, "scale": "{scale}"}}}},
            {{"name": "b", "type": "real", "bounds": {{"min": 0, "max": 1}}}},
            {{"name": "y", "type": "real", "bounds": {{"min": 0, "max": 1}}}}]}}"#
        );
        // A refused declaration holds no row.
        let Ok(declaration) = Declaration::from_json(&schema) else { return Ok(()) };
        let Ok(layout) = declaration.layout(&Encoding::default()) else { return Ok(()) };
        for cell in cells.into_iter().chain(knots).chain([min + share * (max - min)]) {
            let row = encoded(&layout, 2, &[cell, 0.25]);
            prop_assert!(row.iter().all(|x| x.is_finite()), "{cell}: {row:?}");
            prop_assert!(norm(&row) <= layout.norm_bound(), "{cell}: {row:?}");
            // The constant, the column and its surface: nothing was dropped.
            prop_assert_eq!(*row.last().unwrap(), 1.0);
        }
    }
}
