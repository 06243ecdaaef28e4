//! The rules of encoding: the features of each cell, and the bound that every row keeps.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use crate::common::{dense, layout, layout_with, norm, npy, write};
use proptest::collection::vec;
use proptest::prelude::*;
use reticent_problem::declaration::{
    BareTarget, Declaration, Encoding, NumericRange, Precision, VectorBounds,
};
use reticent_table::encode::{Cell, Encoder, Targets};
use reticent_table::table::read;

const SCHEMA: &str = r#"{"target": "y", "positive_class": "no", "columns": [
    {"name": "a", "type": "real", "bounds": {"min": -10, "max": 10}, "missing": "?"},
    {"name": "c", "type": "categorical", "categories": ["x", "y z"], "missing": "?"},
    {"name": "y", "type": "categorical", "categories": ["no", "yes"]}]}"#;

/// The features and the label of a single row of text.
fn encode(schema: &str, encoding: &Encoding, row: &str) -> (Vec<f64>, f64) {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "t.csv", format!("a,c,y\n{row}\n").as_bytes());
    let rows = read(&path, None, &layout_with(schema, encoding), true).unwrap();
    assert_eq!(rows.len(), 1);
    (dense(&rows, 0), rows.labels()[0])
}

#[test]
fn each_cell_follows_its_rule() {
    let unit = Encoding::default();
    let cases: &[(&str, [f64; 4], f64)] = &[
        ("0,x,yes", [0.5, 1.0, 0.0, 1.0], -1.0),
        ("1e1,y z,no", [1.0, 0.0, 1.0, 1.0], 1.0),
        (" -5 , \"x\" ,yes", [0.25, 0.0, 0.0, 1.0], -1.0), // a quote after a blank is a character
        ("99,\"y z\",yes", [1.0, 0.0, 1.0, 1.0], -1.0),
        ("-99,nowhere,yes", [0.0, 0.0, 0.0, 1.0], -1.0), // an undeclared category is all zeros
        (",x,yes", [0.5, 1.0, 0.0, 1.0], -1.0),          // missing: the middle of its bounds
        ("?,?,yes", [0.5, 0.0, 0.0, 1.0], -1.0),
        ("5,x,maybe", [0.75, 1.0, 0.0, 1.0], 1.0), // an undeclared class is the first one
        ("5,x,", [0.75, 1.0, 0.0, 1.0], 1.0),
        ("5,inf,yes", [0.75, 0.0, 0.0, 1.0], -1.0), // a category may be called anything
    ];
    for (row, features, label) in cases {
        assert_eq!(encode(SCHEMA, &unit, row), (features.to_vec(), *label), "{row}");
    }
    let symmetric = Encoding { numeric_range: NumericRange::Symmetric, ..Encoding::default() };
    assert_eq!(encode(SCHEMA, &symmetric, "-10,x,no").0, [-1.0, 1.0, 0.0, 1.0]);
    assert_eq!(encode(SCHEMA, &symmetric, ",x,no").0, [0.0, 1.0, 0.0, 1.0]);
}

#[test]
fn a_missing_number_is_never_the_minimum() {
    let with = |missing: &str| SCHEMA.replacen("\"missing\": \"?\"", missing, 1);
    let declared = [
        ("\"missing\": \"?\"", "0"),
        ("\"missing\": {\"marks\": [\"?\"], \"fill\": \"middle\"}", "0"),
        ("\"missing\": {\"marks\": [\"?\"], \"fill\": -5}", "-5"),
    ];
    for range in [NumericRange::Unit, NumericRange::Symmetric] {
        for (missing, number) in declared {
            for precision in [Precision::F64, Precision::F32, Precision::Sparse] {
                let lines = Encoding { numeric_range: range, precision, ..Encoding::default() };
                let of = |cell: &str| encode(&with(missing), &lines, &format!("{cell},x,yes"));
                for cell in ["", "?", "NaN"] {
                    assert_eq!(of(cell), of(number), "{missing}");
                    assert_ne!(of(cell), of("-10"), "{missing}");
                }
            }
        }
        // On a curve it is no number: zeros in the block, which is none of its places.
        let curves = Encoding { numeric_range: range, knots: Some(4), ..Encoding::default() };
        let of = |cell: &str| encode(SCHEMA, &curves, &format!("{cell},x,yes")).0;
        assert!(of("")[..4].iter().all(|x| *x == 0.0) && of("-10")[0] == 1.0);
        // An indicator takes the place of the line, and the norm bound stays.
        let lines = Encoding { numeric_range: range, ..Encoding::default() };
        let indicator = with("\"missing\": \"indicator\"");
        let (row, _) = encode(&indicator, &lines, ",x,yes");
        assert_eq!(row, [0.0, 1.0, 1.0, 0.0, 1.0]);
        let bound = |schema: &str| layout_with(schema, &lines).norm_bound();
        assert_eq!(bound(&indicator), bound(SCHEMA));
        assert!(norm(&row) <= bound(SCHEMA));
    }
}

#[test]
fn a_number_that_is_none_takes_the_whole_row_with_it() {
    for cell in ["inf", "-inf", "infinity", "1e999", "-1e999", "abc", "1 2", "0x10", "--1"] {
        let row = format!("{cell},x,yes");
        assert_eq!(encode(SCHEMA, &Encoding::default(), &row), (vec![0.0; 4], 1.0), "{cell}");
        let normalized = Encoding { normalize_rows: true, ..Encoding::default() };
        assert_eq!(encode(SCHEMA, &normalized, &row), (vec![0.0; 4], 1.0), "{cell}");
    }
}

#[test]
fn usual_spellings_of_a_missing_value_need_no_declaration() {
    let unit = Encoding::default();
    let missing = encode(SCHEMA, &unit, ",x,yes");
    for cell in [
        "NA", "na", "N/A", "n/a", "NaN", "nan", "-nan", "NaT", "<NA>", "null", "NULL", "None", ".",
        " NA ",
    ] {
        assert_eq!(encode(SCHEMA, &unit, &format!("{cell},x,yes")), missing, "{cell}");
        let category = encode(SCHEMA, &unit, &format!("0,{cell},yes"));
        assert_eq!(category, (vec![0.5, 0.0, 0.0, 1.0], -1.0), "{cell}");
    }
    for cell in ["..", "NAN1", "nil", "-"] {
        assert_eq!(encode(SCHEMA, &unit, &format!("{cell},x,yes")).0, [0.0; 4], "{cell}");
    }
    // A declared category or class of that name comes first.
    let schema = SCHEMA.replace("\"x\"", "\"NA\"").replace("\"yes\"", "\"None\"");
    assert_eq!(encode(&schema, &unit, "0,NA,None"), (vec![0.5, 1.0, 0.0, 1.0], -1.0));
    assert_eq!(encode(&schema, &unit, "0,na,none"), (vec![0.5, 0.0, 0.0, 1.0], 1.0));
    // The number NaN is the same, in a file and in memory.
    let folder = tempfile::tempdir().unwrap();
    let nan = [f64::NAN.to_le_bytes(), 0.0_f64.to_le_bytes()].concat();
    let path = write(folder.path(), "x.npy", &npy("<f8", "(1, 2)", "False", &nan));
    let rows = read(&path, None, &layout(SCHEMA), false).unwrap();
    assert_eq!(dense(&rows, 0), [0.5, 0.0, 0.0, 1.0]);
    let encoder = Encoder::new(&layout(SCHEMA));
    let rows = encoder.matrix(2, &[f64::NAN, 0.0], Targets::Absent).unwrap();
    assert_eq!(dense(&rows, 0), [0.5, 0.0, 0.0, 1.0]);
    // Entries of a vector are not missing: such spellings cannot be read there, in any format.
    let vector = r#"{"target": "y", "columns": [
        {"name": "v", "type": "vector", "dimension": 2, "bounds": {"min": 0, "max": 1}},
        {"name": "y", "type": "categorical", "categories": ["no", "yes"]}]}"#;
    let encoder = Encoder::new(&layout(vector));
    let texts = [Cell::Number(1.0), Cell::Text("nan".to_owned())];
    for rows in [
        encoder.matrix(2, &[1.0, f64::NAN], Targets::Absent),
        encoder.cells(2, &texts, Targets::Absent),
    ] {
        assert_eq!(dense(&rows.unwrap(), 0), [0.0; 3]);
    }
}

#[test]
fn regression_targets_are_scaled_and_default_to_zero() {
    let schema = r#"{"target": "y", "columns": [
        {"name": "a", "type": "real", "bounds": {"min": 0, "max": 1}},
        {"name": "c", "role": "ignore"},
        {"name": "y", "type": "real", "bounds": {"min": 100, "max": 300}, "missing": "-1"}]}"#;
    let label = |row: &str| encode(schema, &Encoding::default(), row).1;
    let cases = [
        ("1,,100", -1.0),
        ("1,,250", 0.5),
        ("1,,1e300", 1.0),
        ("1,,-7", -1.0),
        ("1,,-1", 0.0),
        ("1,,-1.0", 0.0),
        ("1,,", 0.0),
        ("1,,NaN", 0.0),
        ("1,,inf", 0.0),
        ("1,,much", 0.0),
        ("x,,250", 0.0),
    ];
    for (row, expected) in cases {
        assert_eq!(label(row), expected, "{row}");
    }
}

#[test]
fn rows_print_their_shape_and_nothing_else() {
    let encoder = Encoder::new(&layout(SCHEMA));
    let rows = encoder.matrix(2, &[7.25, 1.0], Targets::Absent).unwrap();
    assert_eq!(format!("{rows:?}"), "Rows(1 x 4)");
}

/// Whether the norm is at most the bound, with squares summed to about 106 bits.
fn keeps(row: &[f64], bound: f64) -> bool {
    let (mut high, mut low) = (0.0_f64, 0.0_f64);
    let minus_square = -(bound * bound);
    let terms = row.iter().map(|v| (v * v, v.mul_add(*v, -(v * v))));
    for (square, rest) in terms.chain([(minus_square, -bound.mul_add(bound, minus_square))]) {
        let sum = high + square;
        let back = sum - high;
        low += (high - (sum - back)) + (square - back) + rest;
        high = sum;
    }
    high + low <= 0.0
}

#[test]
fn the_sharp_check_of_norms_is_sharp() {
    assert!(keeps(&[3.0, 4.0], 5.0));
    assert!(!keeps(&[3.0, 4.0, 1e-12], 5.0));
    let third = 1.0 / 3.0_f64;
    assert!(keeps(&[third], third) && !keeps(&[third], third.next_down()));
}

/// Numbers that provoke rounding, overflow and underflow.
fn nasty() -> impl Strategy<Value = f64> {
    prop_oneof![
        10 => Just(0.0),
        10 => Just(f64::MAX),
        10 => Just(f64::MIN_POSITIVE),
        10 => Just(f64::from_bits(1)),
        10 => Just(1.0 + f64::EPSILON),
        10 => Just(1.0 - f64::EPSILON / 2.0),
        20 => -1.0..1.0_f64,
        20 => -1e6..1e6_f64,
        20 => any::<f64>(),
        20 => any::<f32>().prop_map(f64::from),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(f64::NEG_INFINITY),
    ]
}

fn precision() -> impl Strategy<Value = Precision> {
    prop_oneof![Just(Precision::F32), Just(Precision::F64), Just(Precision::Sparse)]
}

fn encoding() -> impl Strategy<Value = Encoding> {
    let range = prop_oneof![Just(NumericRange::Unit), Just(NumericRange::Symmetric)];
    let feature_norm = proptest::option::of(prop_oneof![
        Just(1.0),
        1e-3..1e3_f64,
        Just(1e-30),
        Just(1e30),
        Just(0.1),
    ]);
    (range, any::<bool>(), feature_norm, any::<bool>(), precision()).prop_map(
        |(numeric_range, intercept, feature_norm, normalize_rows, precision)| Encoding {
            numeric_range,
            intercept,
            feature_norm,
            normalize_rows,
            precision,
            ..Encoding::default()
        },
    )
}

fn bounds() -> impl Strategy<Value = VectorBounds> {
    prop_oneof![
        (1e-3..1e3_f64).prop_map(VectorBounds::Norm),
        Just(VectorBounds::Norm(1e30)),
        (-1e3..1e3_f64, 1e-6..1e3_f64)
            .prop_map(|(min, width)| VectorBounds::Each { min, max: min + width }),
        Just(VectorBounds::Each { min: -8e307, max: 8e307 }),
        Just(VectorBounds::Each { min: 0.0, max: f64::from_bits(1) }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_row_keeps_the_norm_bound(
        values in (1_usize..40).prop_flat_map(|d| vec(nasty(), d)),
        bounds in bounds(),
        encoding in encoding(),
    ) {
        let target = BareTarget::Range { min: 0.0, max: 1.0 };
        let layout =
            Declaration::bare(values.len(), bounds, &target).unwrap().layout(&encoding).unwrap();
        let rows = Encoder::new(&layout)
            .matrix(values.len(), &values, Targets::Numbers(&[0.25]))
            .unwrap();
        let row = dense(&rows, 0);
        prop_assert!(row.iter().all(|v| v.is_finite()));
        let reversed: Vec<f64> = row.iter().rev().copied().collect();
        prop_assert!(norm(&row) <= layout.norm_bound());
        prop_assert!(norm(&reversed) <= layout.norm_bound());
        prop_assert!(keeps(&row, layout.norm_bound()));
        prop_assert!(rows.labels()[0].abs() <= 1.0);
        let readable = values.iter().all(|v| v.is_finite());
        if !readable {
            prop_assert!(row.iter().all(|&v| v == 0.0));
            prop_assert_eq!(rows.labels()[0], 0.0);
        }
        if readable && encoding.normalize_rows && encoding.intercept {
            prop_assert!(norm(&row) >= layout.norm_bound() * (1.0 - 1e-5));
        }
    }

    #[test]
    fn clipping_keeps_the_direction(
        values in vec(-1e3..1e3_f64, 2..20),
        feature_norm in 1e-2..10.0_f64,
    ) {
        let target = BareTarget::Range { min: 0.0, max: 1.0 };
        let encoding =
            Encoding { feature_norm: Some(feature_norm), intercept: false, ..Encoding::default() };
        let bounds = VectorBounds::Norm(1e9);
        let layout =
            Declaration::bare(values.len(), bounds, &target).unwrap().layout(&encoding).unwrap();
        let rows =
            Encoder::new(&layout).matrix(values.len(), &values, Targets::Absent).unwrap();
        let scale = (feature_norm / norm(&values)).min(1.0);
        for (x, v) in dense(&rows, 0).iter().zip(&values) {
            prop_assert!((x - v * scale).abs() <= 1e-12 * feature_norm);
        }
    }

    #[test]
    fn replacing_a_row_changes_that_row_only(
        values in vec(nasty(), 12), other in vec(nasty(), 3), at in 0_usize..4,
        encoding in encoding(),
    ) {
        let target = BareTarget::Classes(vec!["0".to_owned(), "1".to_owned()]);
        let bounds = VectorBounds::Each { min: -1.0, max: 1.0 };
        let layout = Declaration::bare(3, bounds, &target).unwrap().layout(&encoding).unwrap();
        let encoder = Encoder::new(&layout);
        let mut neighbour = values.clone();
        neighbour[3 * at..3 * at + 3].copy_from_slice(&other);
        let labels = [0.0, 1.0, 1.0, 0.0];
        let rows = encoder.matrix(3, &values, Targets::Numbers(&labels)).unwrap();
        let changed = encoder.matrix(3, &neighbour, Targets::Numbers(&labels)).unwrap();
        for i in (0..4).filter(|&i| i != at) {
            prop_assert_eq!(dense(&rows, i), dense(&changed, i));
            prop_assert_eq!(rows.labels()[i], changed.labels()[i]);
        }
    }

    #[test]
    fn numbers_are_scaled_to_their_range(
        value in -2e3..2e3_f64, min in -1e3..1e3_f64, width in 1e-3..1e3_f64,
    ) {
        let schema = format!(r#"{{"target": "y", "columns": [
            {{"name": "a", "type": "real", "bounds": {{"min": {min}, "max": {}}}}},
            {{"name": "y", "categories": [0, 1]}}]}}"#, min + width);
        let unit = layout(&schema);
        let x = Encoder::new(&unit).matrix(1, &[value], Targets::Absent).unwrap();
        let expected = ((value - min) / width).clamp(0.0, 1.0);
        prop_assert!((dense(&x, 0)[0] - expected).abs() < 1e-9);
    }
}
