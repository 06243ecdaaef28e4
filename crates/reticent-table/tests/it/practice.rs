//! Dates, hashed categories, words and thousands: each means the same through every reader, and no
//! cell of theirs lets a row exceed its bound.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::sync::Arc;

use crate::common::{dense, layout, layout_with, norm, write};
use arrow_array::{
    ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray, TimestampNanosecondArray,
};
use proptest::collection::vec;
use proptest::prelude::*;
use reticent_data::Rows;
use reticent_problem::declaration::{Declaration, Encoding, NumericRange, Precision};
use reticent_table::encode::{Cell, Encoder, Targets};
use reticent_table::table::{TableFile, count_cells, from_batches, read};

const DATES: &str = r#"{"target": "y", "columns": [
    {"name": "in", "type": "date", "bounds": {"min": "2024-01-01", "max": "2024-12-31"},
     "parts": {"month": "categorical", "weekday": "periodic", "hour": "periodic"}},
    {"name": "y", "type": "categorical", "categories": [0, 1]}]}"#;

fn csv_rows(schema: &str, encoding: &Encoding, text: &str) -> Rows {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "t.csv", text.as_bytes());
    read(&path, None, &layout_with(schema, encoding), true).unwrap()
}

#[test]
fn a_date_is_a_number_with_parts() {
    let plain = Encoding::default();
    let layout = layout(DATES);
    let names = layout.feature_names();
    assert_eq!((names[0].as_str(), names[1].as_str()), ("in", "in.month=Jan"));
    assert_eq!(
        names[13..],
        ["in.weekday:cos", "in.weekday:sin", "in.hour:cos", "in.hour:sin", "(intercept)"]
    );
    assert!((layout.structural_bound() - 5_f64.sqrt()).abs() < 1e-9, "1 for each part");
    // A Thursday in summer time, at six.
    let row = dense(&csv_rows(DATES, &plain, "in,y\n2024-07-04T06:00,1\n"), 0);
    assert!((row[0] - 185.25 / 365.0).abs() < 1e-12, "{row:?}");
    assert_eq!(row[1..13].iter().position(|x| *x == 1.0), Some(6));
    let thursday = std::f64::consts::TAU * 3.0 / 7.0;
    for (got, expected) in row[13..].iter().zip([thursday.cos(), thursday.sin(), 0.0, 1.0, 1.0]) {
        assert!((got - expected).abs() < 1e-12, "{row:?}");
    }
    // A cell that is no date is missing, silently: the middle, no parts, and the row stays.
    for cell in ["", "NA", "soon", "2024-02-30", "12", "\u{fffd}", "31.12.2024"] {
        let row = dense(&csv_rows(DATES, &plain, &format!("in,y\n{cell},1\n")), 0);
        assert_eq!(row, [vec![0.5], vec![0.0; 16], vec![1.0]].concat(), "{cell}");
    }
    // A date outside the bounds is clamped, and its parts are its own.
    let late = dense(&csv_rows(DATES, &plain, "in,y\n2031-07-04 06:00,1\n"), 0);
    assert_eq!((late[0], late[7]), (1.0, 1.0));
}

#[test]
fn a_date_means_the_same_whatever_holds_it() {
    let text = "in,y\n2024-07-04T00:00:00Z,1\n2024-02-29,0\n,1\n1969-12-31,0\n";
    let days = [Some(19_908), Some(19_782), None, Some(-1)];
    let y: ArrayRef = Arc::new(Int64Array::from(vec![1, 0, 1, 0]));
    let scaled = |by: i64| days.map(|day| day.map(|day| i64::from(day) * by)).to_vec();
    let arrays: [ArrayRef; 5] = [
        Arc::new(Date32Array::from(days.to_vec())),
        Arc::new(TimestampMillisecondArray::from(scaled(86_400_000))),
        Arc::new(TimestampNanosecondArray::from(scaled(86_400_000_000_000))),
        Arc::new(
            TimestampNanosecondArray::from(scaled(86_400_000_000_000)).with_timezone("+05:00"),
        ),
        Arc::new(StringArray::from(vec![
            Some("2024-07-04"),
            Some("2024-02-29 00:00"),
            Some("no date"),
            Some("1969-12-31T02:00:00+02:00"),
        ])),
    ];
    for knots in [None, Some(6)] {
        let encoding = Encoding { knots, ..Encoding::default() };
        let expected = csv_rows(DATES, &encoding, text);
        let encoder = Encoder::new(&layout_with(DATES, &encoding));
        for array in &arrays {
            let columns = [("in", array.clone()), ("y", y.clone())];
            let batch = RecordBatch::try_from_iter(columns).unwrap();
            let rows = from_batches(&encoder, &[batch], None).unwrap();
            assert!(rows == expected, "{}", array.data_type());
        }
        let cells = ["2024-07-04", "2024-02-29", "", "1969-12-31"].map(|t| Cell::Text(t.into()));
        let rows = encoder.cells(1, &cells, Targets::Numbers(&[1.0, 0.0, 1.0, 0.0])).unwrap();
        assert!(rows == expected, "a date takes one place, its parts none");
    }
    // Numbers are the dates that their digits spell.
    let compact = DATES.replace("\"parts\"", "\"format\": \"%Y%m%d\", \"parts\"");
    let expected = csv_rows(&compact, &Encoding::default(), "in,y\n20240704,1\n");
    let number: ArrayRef = Arc::new(Float64Array::from(vec![20_240_704.0]));
    let batch = RecordBatch::try_from_iter([("in", number), ("y", y.slice(0, 1))]).unwrap();
    let encoder = Encoder::new(&layout(&compact));
    assert!(from_batches(&encoder, &[batch], None).unwrap() == expected);
    assert!(dense(&expected, 0)[0] > 0.5);
}

#[test]
fn a_missing_date_has_its_fill_or_its_indicator() {
    let filled = DATES.replace("\"parts\"", "\"missing\": {\"fill\": \"2024-07-01\"}, \"parts\"");
    let row = dense(&csv_rows(&filled, &Encoding::default(), "in,y\n?,1\n"), 0);
    assert!((row[0] - 182.0 / 365.0).abs() < 1e-12, "{row:?}");
    let row = dense(&csv_rows(DATES, &Encoding::default(), "in,y\n?,1\n"), 0);
    assert!((row[0] - 0.5).abs() < 1e-12, "the middle of the bounds: {row:?}");
    let told = DATES.replace("\"parts\"", "\"missing\": \"indicator\", \"parts\"");
    let row = dense(&csv_rows(&told, &Encoding::default(), "in,y\n?,1\n"), 0);
    assert_eq!((row[0], row[1]), (0.0, 1.0));
    assert_eq!(layout(&told).feature_names()[1], "in is missing");
}

#[test]
fn the_published_form_reads_the_same() {
    let schema = r#"{"target": "y", "columns": [
        {"name": "d", "type": "datetime", "format": "%d.%m.%Y %H:%M", "parts": ["hour", "month"],
         "bounds": {"min": "2020-01-01T06:30", "max": "2024-12-31"}, "missing": {"fill": "middle"}},
        {"name": "c", "type": "categorical", "hash": {"buckets": 7, "seed": 3}},
        {"name": "t", "type": "text", "hash": {"buckets": 9}, "missing": "indicator"},
        {"name": "n", "type": "integer", "thousands": ",", "bounds": {"min": 0, "max": 10000}},
        {"name": "y", "type": "real", "thousands": "'", "bounds": {"min": 0, "max": 10}}]}"#;
    let declaration = Declaration::from_json(schema).unwrap();
    assert!(declaration.unpublished().is_empty(), "{:?}", declaration.unpublished());
    let published = declaration.published();
    let again = Declaration::from_json(&serde_json::to_string(&published).unwrap()).unwrap();
    for encoding in [Encoding::default(), Encoding { knots: Some(4), ..Encoding::default() }] {
        let expected = declaration.layout(&encoding).unwrap();
        assert!(published.layout(&encoding).unwrap() == expected);
        assert!(again.layout(&encoding).unwrap() == expected);
    }
}

const HASHED: &str = r#"{"target": "y", "columns": [
    {"name": "c", "type": "categorical", "hash": {"buckets": 16}},
    {"name": "t", "type": "text", "hash": {"buckets": 8}, "missing": {"marks": "?", "indicator": true}},
    {"name": "y", "type": "categorical", "categories": [0, 1]}]}"#;

#[test]
fn hashed_cells_have_norm_one_and_missing_ones_none() {
    let text =
        "c,t,y\n7,Pain in the chest,0\nsome,\"pain, CHEST the in\",1\n,?,1\nNA,!?,0\n7.0,,1\n";
    let rows = csv_rows(HASHED, &Encoding::default(), text);
    let parts = |i: usize| {
        let row = dense(&rows, i);
        (row[..16].to_vec(), row[16..24].to_vec(), row[24])
    };
    for i in [0, 1] {
        let (category, words, missing) = parts(i);
        assert_eq!((norm(&category), missing), (1.0, 0.0));
        assert!(norm(&words) <= 1.0 && norm(&words) > 1.0 - 1e-9, "{words:?}");
    }
    assert_eq!(parts(0).1, parts(1).1, "case, order and marks between words do not count");
    assert_eq!(parts(2), (vec![0.0; 16], vec![0.0; 8], 1.0));
    assert_eq!(parts(3), (vec![0.0; 16], vec![0.0; 8], 0.0), "a text without words");
    assert_eq!(parts(4).0, parts(0).0, "7 and 7.0 are one category");
    let encoder = Encoder::new(&layout(HASHED));
    let cells = [Cell::Number(7.0), Cell::Text("the chest: in pain".to_owned())];
    let memory = encoder.cells(2, &cells, Targets::Absent).unwrap();
    assert_eq!(dense(&memory, 0), dense(&rows, 0));
}

#[test]
fn thousands_are_read_where_they_are_declared() {
    let schema = |mark: &str| {
        format!(
            r#"{{"target": "y", "columns": [
            {{"name": "a", "type": "real", "thousands": "{mark}", "bounds": {{"min": 0, "max": 10000}}}},
            {{"name": "b", "type": "real", "bounds": {{"min": 0, "max": 10000}}}},
            {{"name": "y", "type": "real", "thousands": "{mark}", "bounds": {{"min": -10000, "max": 10000}}}}]}}"#
        )
    };
    let rows = |mark: &str, row: &str, comma: bool| {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), "t.csv", format!("a;b;y\n{row}\n").as_bytes());
        let file = TableFile::new(path).separated_by(b';');
        let file = if comma { file.with_decimal_comma() } else { file };
        let rows = read(file, None, &layout(&schema(mark)), true).unwrap();
        (dense(&rows, 0), rows.labels()[0])
    };
    let read = (vec![0.12345, 0.5, 1.0], 0.25);
    assert_eq!(rows(",", "1,234.5;5000;2,500", false), read);
    assert_eq!(rows("'", "1'234.5;5000;2'500", false), read);
    assert_eq!(rows(" ", " 1 234.5;5000;2 500", false), read);
    assert_eq!(rows(".", "1.234,5;5000;2.500", true), read);
    assert_eq!(rows("'", "1'234,5;5000;2'500", true), read);
    // Undeclared, or not in groups of three digits: the row is zero.
    for row in ["1,234.5;5,000;2,500", "1,23;5000;2,500", "1234,567;5000;0"] {
        assert_eq!(rows(",", row, false), (vec![0.0; 3], 0.0), "{row}");
    }
    assert_eq!(rows(",", "1,000;1;25,00", false).1, 0.0, "a label that cannot be read");
}

#[test]
fn counts_of_cells_name_each_column_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "t.csv", b"in,y\nsoon,1\n2030-01-01,0\n2024-05-05,1\n");
    let counts = count_cells(&path, None, &layout(DATES)).unwrap();
    let column = &counts.columns[0];
    assert_eq!((counts.columns.len(), column.name.as_str()), (1, "in"));
    assert_eq!((column.missing, column.clamped), (1, Some(1)));
    assert_eq!((column.undeclared, column.unreadable, counts.zero_rows), (None, None, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// For any content of the cells, each row keeps its bound, in every form in which rows are
    /// held.
    #[test]
    fn no_cell_exceeds_the_bound(
        cells in vec(("\\PC{0,12}|20[0-9]{2}-[01][0-9]-[0-3][0-9]([T ][0-2][0-9]:[0-5][0-9])?",
                      "\\PC{0,8}|[0-9]{1,5}", "(\\PC{0,4}[ ,]){0,20}", "[0-9,.]{0,9}"), 1..5),
        symmetric in any::<bool>(),
        knots in prop::option::of(2_usize..9),
        precision in prop::sample::select(vec![Precision::F32, Precision::F64, Precision::Sparse]),
    ) {
        let schema = r#"{"target": "y", "columns": [
            {"name": "d", "type": "date", "parts": {"month": "periodic", "weekday": "categorical",
             "hour": "periodic"}, "bounds": {"min": "2019-01-01", "max": "2030-01-01"}},
            {"name": "c", "type": "categorical", "hash": {"buckets": 5}},
            {"name": "t", "type": "text", "hash": {"buckets": 6}},
            {"name": "n", "type": "real", "thousands": ",", "bounds": {"min": 0, "max": 999}},
            {"name": "y", "type": "categorical", "categories": [0, 1]}]}"#;
        let numeric_range = if symmetric { NumericRange::Symmetric } else { NumericRange::Unit };
        let encoding = Encoding { numeric_range, knots, precision, ..Encoding::default() };
        let layout = layout_with(schema, &encoding);
        let cells: Vec<Cell> = cells
            .into_iter()
            .flat_map(|(d, c, t, n)| [d, c, t, n].map(Cell::Text))
            .collect();
        let rows = Encoder::new(&layout).cells(4, &cells, Targets::Absent).unwrap();
        for i in 0..rows.len() {
            let row = dense(&rows, i);
            prop_assert!(norm(&row) <= layout.norm_bound());
            prop_assert!(row.iter().all(|x| x.abs() <= layout.bounds().entry()));
        }
    }
}
