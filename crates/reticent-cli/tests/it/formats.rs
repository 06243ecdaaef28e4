//! One table in every format gives one model for one seed.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::fmt::Write as _;
use std::fs::File;
use std::sync::Arc;

use crate::common::{Folder, gzip, weights};
use arrow_array::RecordBatch;
use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray, Float64Array, Int32Array, StringArray};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use serde_json::Value;

const SCHEMA: &str = r#"{"target": "y", "columns": [
    {"name": "a", "type": "real", "bounds": {"min": 0, "max": 8}},
    {"name": "b", "type": "integer", "bounds": {"min": 0, "max": 4}},
    {"name": "c", "type": "categorical", "categories": [1, 2, 3]},
    {"name": "y", "type": "categorical", "categories": [0, 1]}]}"#;

/// The logical table: numbers that every format holds exactly. The last column is the target.
fn rows() -> Vec<[f64; 4]> {
    let row = |i: u32| {
        let (a, b, c) = (f64::from(i % 17) * 0.5, i * 3 % 5, 1 + i % 3);
        [a, f64::from(b), f64::from(c), f64::from(u32::from(a + f64::from(b) > 5.0))]
    };
    (0..200).map(row).collect()
}

fn text(separator: &str) -> String {
    let mut text = ["a", "b", "c", "y"].join(separator) + "\n";
    for row in rows() {
        writeln!(text, "{}", row.map(|v| v.to_string()).join(separator)).unwrap();
    }
    text
}

fn libsvm() -> String {
    let mut text = String::new();
    for [a, b, c, y] in rows() {
        write!(text, "{y}").unwrap();
        for (index, value) in [(1, a), (2, b), (3, c)] {
            if value != 0.0 {
                write!(text, " {index}:{value}").unwrap();
            }
        }
        text.push('\n');
    }
    text
}

/// A `.npy` file of version 1 with doubles.
fn npy(shape: &str, numbers: &[f64]) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(numbers.iter().flat_map(|v| v.to_le_bytes()));
    bytes
}

/// The table as Arrow columns, in another order and with types that differ from column to column.
fn batch() -> RecordBatch {
    let column = |j: usize| rows().into_iter().map(move |row| row[j]);
    let word = |v: f64| v.to_string();
    let a: ArrayRef = Arc::new(Float64Array::from_iter_values(column(0)));
    let b: ArrayRef = Arc::new(Int32Array::from_iter_values(column(1).map(|v| v as i32)));
    let words: Vec<String> = column(2).map(word).collect();
    let c: DictionaryArray<Int8Type> = words.iter().map(String::as_str).collect();
    let y: ArrayRef = Arc::new(StringArray::from_iter_values(column(3).map(word)));
    RecordBatch::try_from_iter([("y", y), ("c", Arc::new(c) as ArrayRef), ("b", b), ("a", a)])
        .unwrap()
}

/// Writes the table in every format; gives the flags that read each.
fn write_all(folder: &Folder) -> Vec<String> {
    folder.write("s.json", SCHEMA);
    folder.write("t.csv", text(","));
    folder.write("crlf.csv", text(",").replace('\n', "\r\n"));
    folder.write("t.tsv", text("\t"));
    folder.write("t.csv.gz", gzip(text(",").as_bytes()));
    folder.write("t.libsvm", libsvm());
    folder.write("t.svm.gz", gzip(libsvm().as_bytes()));
    let features: Vec<f64> = rows().iter().flat_map(|row| row[..3].to_vec()).collect();
    let labels: Vec<f64> = rows().iter().map(|row| row[3]).collect();
    folder.write("x.npy", npy("(200, 3)", &features));
    folder.write("y.npy", npy("(200,)", &labels));
    let lines: Vec<String> = labels.iter().map(f64::to_string).collect();
    folder.write("y.txt", lines.join("\n"));
    let batch = batch();
    let create = |name: &str| File::create(folder.path(name)).unwrap();
    let mut parquet = ArrowWriter::try_new(create("t.parquet"), batch.schema(), None).unwrap();
    parquet.write(&batch).unwrap();
    parquet.close().unwrap();
    let mut file = FileWriter::try_new(create("t.arrow"), &batch.schema()).unwrap();
    file.write(&batch.slice(0, 150)).unwrap();
    file.write(&batch.slice(150, 50)).unwrap();
    file.finish().unwrap();
    let mut stream = StreamWriter::try_new(create("t.arrows"), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    stream.finish().unwrap();
    let one = |name: &str| format!("--data {name}");
    let mut list: Vec<String> = [
        "t.csv",
        "crlf.csv",
        "t.tsv",
        "t.csv.gz",
        "t.libsvm",
        "t.svm.gz",
        "t.parquet",
        "t.arrow",
        "t.arrows",
    ]
    .map(one)
    .to_vec();
    list.push("--data x.npy --labels y.npy".to_owned());
    list.push("--data x.npy --labels y.txt".to_owned());
    list
}

/// The value with every number to twelve digits.
fn rounded(value: Value) -> Value {
    match value {
        Value::Number(number) => format!("{:.11e}", number.as_f64().unwrap()).into(),
        Value::Array(list) => list.into_iter().map(rounded).collect(),
        Value::Object(map) => map.into_iter().map(|(k, v)| (k, rounded(v))).collect(),
        other => other,
    }
}

#[test]
fn every_format_gives_the_same_model() {
    let folder = Folder::new();
    let sources = write_all(&folder);
    let mut first: Option<(Vec<f64>, Value)> = None;
    for source in &sources {
        let fit = "fit --schema s.json --epsilon 1 --insecure-seed 7 --force --out m.json";
        folder.run(&format!("{fit} {source}")).succeeds();
        let model = weights(&folder.json("m.json"));
        let mut metrics =
            folder.run(&format!("evaluate --model m.json {source} --json")).succeeds().json();
        // How rows are stored is a part of the model.
        metrics.as_object_mut().unwrap().remove("model_digest");
        // So is the order in which a margin is summed, up to its last digit.
        let metrics = rounded(metrics);
        let (weights, measured) = first.get_or_insert((model.clone(), metrics.clone()));
        assert_eq!((&model, &metrics), (&*weights, &*measured), "{source}");
    }
    assert_eq!(sources.len(), 11);
}

#[test]
fn every_format_gives_the_same_predictions() {
    let folder = Folder::new();
    let sources = write_all(&folder);
    folder.run("fit --schema s.json --epsilon 1 --data t.csv --force --out m.json").succeeds();
    let expected = folder.run("predict --model m.json --data t.csv").succeeds().stdout;
    assert_eq!(expected.lines().count(), 201);
    for source in sources {
        let data = source.split(" --labels").next().unwrap();
        let run = folder.run(&format!("predict --model m.json {data}")).succeeds();
        assert_eq!(run.stdout, expected, "{data}");
    }
}

#[test]
fn a_changed_cell_changes_the_model() {
    let folder = Folder::new();
    write_all(&folder);
    let fit = "fit --schema s.json --epsilon 1 --insecure-seed 7 --force --out m.json --data";
    folder.run(&format!("{fit} t.csv")).succeeds();
    let before = weights(&folder.json("m.json"));
    folder.write("t.csv", text(",").replacen("0.5,3,2,0", "7.5,3,2,1", 1));
    folder.run(&format!("{fit} t.csv")).succeeds();
    assert_ne!(weights(&folder.json("m.json")), before);
}

#[test]
fn an_empty_cell_in_a_table_of_one_column_keeps_its_row_and_its_label() {
    let folder = Folder::new();
    folder.write(
        "s.json",
        r#"{"target": "y", "columns": [
        {"name": "age", "type": "real", "bounds": {"min": 0, "max": 100}},
        {"name": "y", "type": "categorical", "categories": [0, 1]}]}"#,
    );
    let ages: Vec<String> = (0..200).map(|i| (i % 100).to_string()).collect();
    let labels: String = (0..200).map(|i| if i % 100 > 50 { "1\n" } else { "0\n" }).collect();
    folder.write("y.txt", labels);
    let fit = "fit --data a.csv --labels y.txt --schema s.json --epsilon 1 --algorithm output-gd --mu 0.1 --insecure-seed 1 --force";
    let fitted = |cell: &str| {
        let mut ages = ages.clone();
        cell.clone_into(&mut ages[150]);
        folder.write("a.csv", format!("age\n{}\n", ages.join("\n")));
        folder.run(fit).succeeds();
        let model = folder.json("model.json");
        assert_eq!(model["certificate"]["plan"]["problem"]["rows"], 200, "{cell:?}");
        weights(&model)
    };
    assert_eq!(fitted(""), fitted("\"\""));
    // The middle of the bounds, and not their minimum.
    assert_eq!(fitted(""), fitted("50"));
    assert_ne!(fitted(""), fitted("0"));
}
