//! The same table through every format gives the same rows.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::fmt::Write;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::common::{dense, gzip, idx, layout, layout_with, npy, write};
use arrow_array::RecordBatch;
use arrow_array::types::{Float64Type, Int8Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, Float32Array, Float64Array,
    Int64Array, ListArray, StringArray, UInt8Array,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use reticent_data::Rows;
use reticent_problem::declaration::{Encoding, Layout, NumericRange, Precision};
use reticent_table::encode::{CsrView, Encoder, Targets};
use reticent_table::table::{TableError, count_rows, from_batches, read};

const SCHEMA: &str = r#"{"target": "y", "columns": [
    {"name": "age", "type": "integer", "bounds": {"min": 0, "max": 100}},
    {"name": "score", "type": "real", "bounds": {"min": -1, "max": 3}, "missing": {"marks": ["NaN", -999], "indicator": true}},
    {"name": "job", "type": "categorical", "categories": ["1", "2", "7"]},
    {"name": "note", "role": "raw", "type": "text"},
    {"name": "y", "type": "categorical", "categories": [0, 1, 2]}
]}"#;

const CSV: &str = "y,job,extra,score,age\n\
    0,1,x,0.5,10\n1,2,\"a, b\",NaN,20\n2,7,,-999,30\n0,9,z,3,40\n1,1,z,inf,50\n5,2,z,-5,1000\n";

const AGE: [i64; 6] = [10, 20, 30, 40, 50, 1000];
const SCORE: [f64; 6] = [0.5, f64::NAN, -999.0, 3.0, f64::INFINITY, -5.0];
const JOB: [i64; 6] = [1, 2, 7, 9, 1, 2];
const Y: [i64; 6] = [0, 1, 2, 0, 1, 5];

fn encodings() -> Vec<Encoding> {
    let mut encodings = Vec::new();
    for precision in [Precision::F32, Precision::F64, Precision::Sparse] {
        for numeric_range in [NumericRange::Unit, NumericRange::Symmetric] {
            let feature_norm = (precision == Precision::F32).then_some(0.7);
            for knots in [None, Some(5)] {
                let interactions = knots.map(|_| vec![vec!["age".into(), "job".into()]]);
                encodings.push(Encoding {
                    precision,
                    numeric_range,
                    feature_norm,
                    knots,
                    interactions,
                    ..Encoding::default()
                });
            }
        }
    }
    encodings
}

fn rows(path: &Path, labels: Option<&Path>, layout: &Layout) -> Rows {
    assert_eq!(count_rows(path).unwrap(), 6, "{}", path.display());
    read(path, labels, layout, true).unwrap()
}

fn batch() -> RecordBatch {
    let column = |name: &str, array: ArrayRef| (name.to_owned(), array);
    let score: Vec<Option<f64>> = SCORE.iter().map(|&s| (!s.is_nan()).then_some(s)).collect();
    RecordBatch::try_from_iter([
        column("job", Arc::new(Int64Array::from(JOB.to_vec()))),
        column("y", Arc::new(UInt8Array::from(Y.map(|y| y as u8).to_vec()))),
        column("extra", Arc::new(StringArray::from(vec!["x"; 6]))),
        column("score", Arc::new(Float64Array::from(score))),
        column("age", Arc::new(Float32Array::from(AGE.map(|a| a as f32).to_vec()))),
    ])
    .unwrap()
}

#[test]
fn every_format_gives_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for encoding in encodings() {
        let layout = layout_with(SCHEMA, &encoding);
        let expected = rows(&write(folder, "t.csv", CSV.as_bytes()), None, &layout);
        let same = |path: &Path, labels: Option<&Path>| {
            assert!(rows(path, labels, &layout) == expected, "{}", path.display());
        };

        same(&write(folder, "t.csv.gz", &gzip(CSV.as_bytes())), None);
        let dos = format!("\u{feff}{}\r\n\r\n", CSV.replace('\n', "\r\n"));
        same(&write(folder, "dos.csv", dos.as_bytes()), None);
        let blanks = CSV.replacen("y,job", " y , job", 1).replace(",20", ", 20 ");
        same(&write(folder, "blanks.csv", blanks.as_bytes()), None);
        let tabs = CSV.replace("\"a, b\"", "a").replace(',', "\t");
        same(&write(folder, "t.tsv", tabs.as_bytes()), None);

        let parquet = folder.join("t.parquet");
        let mut writer =
            ArrowWriter::try_new(File::create(&parquet).unwrap(), batch().schema(), None).unwrap();
        writer.write(&batch()).unwrap();
        writer.close().unwrap();
        same(&parquet, None);

        let arrow = folder.join("t.arrow");
        let mut writer =
            FileWriter::try_new(File::create(&arrow).unwrap(), &batch().schema()).unwrap();
        writer.write(&batch().slice(0, 2)).unwrap();
        writer.write(&batch().slice(2, 4)).unwrap();
        writer.finish().unwrap();
        same(&arrow, None);
        same(&write(folder, "t.arrow.gz", &gzip(&std::fs::read(&arrow).unwrap())), None);

        let stream = folder.join("t.arrows");
        let mut writer =
            StreamWriter::try_new(File::create(&stream).unwrap(), &batch().schema()).unwrap();
        writer.write(&batch()).unwrap();
        writer.finish().unwrap();
        same(&stream, None);

        let matrix: Vec<f64> =
            (0..6).flat_map(|i| [AGE[i] as f64, SCORE[i], JOB[i] as f64]).collect();
        let by_column: Vec<f64> = (0..3)
            .flat_map(|j| (0..6).map(move |i| (i, j)))
            .map(|(i, j)| matrix[3 * i + j])
            .collect();
        let le = |v: &[f64]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let be = |v: &[f64]| v.iter().flat_map(|x| x.to_be_bytes()).collect::<Vec<u8>>();
        let labels: Vec<u8> = Y.iter().flat_map(|y| y.to_le_bytes()).collect();
        let labels = write(folder, "y.npy", &npy("<i8", "(6,)", "False", &labels));
        let text = write(folder, "y.txt", b"y\n0\n1\n2\n0\n1\n5\n");
        let small = write(folder, "y.idx", &idx(8, &[6], &Y.map(|y| y as u8)));
        let plain = write(folder, "x.npy", &npy("<f8", "(6, 3)", "False", &le(&matrix)));
        same(&plain, Some(&labels));
        same(&plain, Some(&text));
        let fortran = npy("<f8", "(6, 3)", "True", &le(&by_column));
        same(&write(folder, "f.npy", &fortran), Some(&small));
        let big = npy(">f8", "(6, 3, 1)", "False", &be(&matrix));
        same(&write(folder, "b.npy.gz", &gzip(&big)), Some(&labels));
        let images = idx(0x0e, &[6, 3], &be(&matrix));
        same(&write(folder, "x-idx2-double.gz", &gzip(&images)), Some(&labels));

        let mut svm = String::new();
        for i in 0..6 {
            writeln!(svm, "{} qid:4 3:{} 1:{} 2:{} 17:4 # {i}", Y[i], JOB[i], AGE[i], SCORE[i])
                .unwrap();
        }
        same(&write(folder, "t.libsvm", svm.as_bytes()), None);
        same(&write(folder, "t.svm.gz", &gzip(svm.as_bytes())), Some(&labels));

        let encoder = Encoder::new(&layout);
        let numbers = Y.map(|y| y as f64);
        assert!(encoder.matrix(3, &matrix, Targets::Numbers(&numbers)).unwrap() == expected);
        let texts = ["0", "1", "2", "0", "1", "5"];
        assert!(encoder.matrix(3, &matrix, Targets::Texts(&texts)).unwrap() == expected);
        let offsets: Vec<usize> = (0..=6).map(|i| 3 * i).collect();
        let indices: Vec<usize> = (0..18).map(|k| k % 3).collect();
        let csr = CsrView { columns: 3, offsets: &offsets, indices: &indices, values: &matrix };
        assert!(encoder.sparse(csr, Targets::Numbers(&numbers)).unwrap() == expected);
        assert!(from_batches(&encoder, &[batch()], None).unwrap() == expected);
    }
}

#[test]
fn absent_sparse_entries_are_the_number_zero() {
    let folder = tempfile::tempdir().unwrap();
    let schema = r#"{"target": "y", "columns": [
        {"name": "a", "type": "real", "bounds": {"min": -1, "max": 1}},
        {"name": "b", "type": "categorical", "categories": [0, 1]},
        {"name": "y", "type": "categorical", "categories": [-1, 1]}]}"#;
    let svm = write(folder.path(), "t.svm", b"+1\n-1 1:1\n+1 2:1\n+1 1:0 2:0\n");
    let csv = write(folder.path(), "t.csv", b"a,b,y\n0,0,1\n1,0,-1\n0,1,1\n0,0,1\n");
    for precision in [Precision::F64, Precision::Sparse] {
        let layout = layout_with(schema, &Encoding { precision, ..Encoding::default() });
        let sparse = read(&svm, None, &layout, true).unwrap();
        assert!(sparse == read(&csv, None, &layout, true).unwrap());
        assert_eq!(dense(&sparse, 0), [0.5, 1.0, 0.0, 1.0]);
        assert_eq!(sparse.labels(), [1.0, -1.0, 1.0, 1.0]);
    }
}

const VECTOR: &str = r#"{"target": "y", "columns": [
    {"name": "v", "type": "embedding", "shape": [2], "bounds": {"l2_norm_max": 5.5}},
    {"name": "f", "type": "categorical", "categories": ["false", "true"]},
    {"name": "y", "type": "real", "bounds": {"min": 0, "max": 10}}]}"#;

#[test]
fn vectors_flags_and_dictionaries_are_read_from_arrow() {
    let encoder = Encoder::new(&layout(VECTOR));
    let values = Arc::new(Float32Array::from(vec![3.0, 4.0, 30.0, 40.0, 0.0, 0.0]));
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let fixed: ArrayRef = Arc::new(FixedSizeListArray::new(item, 2, values, None));
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>([
        Some(vec![Some(3.0), Some(4.0)]),
        Some(vec![Some(30.0), Some(40.0)]),
        None,
    ]));
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]));
    let words: DictionaryArray<Int8Type> =
        vec![Some("true"), Some("false"), None].into_iter().collect();
    let words: ArrayRef = Arc::new(words);
    let y: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.0), Some(12.0), None]));
    let mut seen = None;
    for (v, f) in [(&fixed, &flags), (&lists, &words), (&fixed, &words)] {
        let columns = [("v", v.clone()), ("f", f.clone()), ("y", y.clone())];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let rows = from_batches(&encoder, &[batch], None).unwrap();
        assert_eq!(dense(&rows, 0), [3.0, 4.0, 0.0, 1.0, 1.0]);
        assert!((dense(&rows, 1)[0] - 3.3).abs() < 1e-12);
        assert_eq!(dense(&rows, 2), [0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(rows.labels(), [-1.0, 1.0, 0.0]);
        assert!(*seen.get_or_insert(rows.clone()) == rows);
    }

    let folder = tempfile::tempdir().unwrap();
    let csv = "v[1],v[0],f,y\n4,3,true,0\n40,30,false,12\n0,0,,\n";
    let path = write(folder.path(), "t.csv", csv.as_bytes());
    assert!(read(&path, None, encoder.layout(), true).unwrap() == seen.unwrap());

    let three: ArrayRef =
        Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>([Some(vec![
            Some(3.0),
            Some(4.0),
            Some(5.0),
        ])]));
    let columns = [("v", three), ("f", flags.slice(0, 1)), ("y", y.slice(0, 1))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let rows = from_batches(&encoder, &[batch], None).unwrap();
    assert_eq!((dense(&rows, 0), rows.labels()), (vec![0.0; 5], &[0.0][..]));
}

#[test]
fn prediction_needs_no_target() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(SCHEMA);
    let path = write(folder.path(), "t.csv", b"age,score,job\n1,2,7\n");
    let rows = read(&path, None, &layout, false).unwrap();
    assert_eq!((rows.len(), rows.labels()), (1, &[0.0][..]));
    assert!(matches!(
        read(&path, None, &layout, true),
        Err(TableError::MissingColumn { column, .. }) if column == "y"
    ));
    let path = write(folder.path(), "t.npy", &npy("|u1", "(1, 3)", "False", &[1, 2, 7]));
    assert!(read(&path, None, &layout, false).unwrap() == rows);
    assert!(matches!(read(&path, None, &layout, true), Err(TableError::NeedsLabels { .. })));
}

#[test]
fn dropped_columns_keep_their_place_in_files_without_names() {
    let folder = tempfile::tempdir().unwrap();
    let encoding = Encoding { drop: vec!["score".to_owned()], ..Encoding::default() };
    let layout = layout_with(SCHEMA, &encoding);
    let matrix = write(folder.path(), "t.npy", &npy("|u1", "(1, 3)", "False", &[50, 2, 7]));
    let rows = read(&matrix, None, &layout, false).unwrap();
    assert_eq!(dense(&rows, 0), [0.5, 0.0, 0.0, 1.0, 1.0]);
    let svm = write(folder.path(), "t.svm", b"0 1:50 2:2 3:7\n");
    assert!(read(&svm, None, &layout, false).unwrap() == rows);
}
