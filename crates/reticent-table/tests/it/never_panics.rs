//! No bytes make a reader panic: not random ones, and not a good file with some bytes changed.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::io::Cursor;
use std::sync::Arc;

use crate::common::{dense, gzip, idx, layout, norm, npy, write};
use arrow_array::RecordBatch;
use arrow_array::{ArrayRef, Float64Array, StringArray};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use proptest::collection::vec;
use proptest::prelude::*;
use reticent_table::table::{count_rows, read};

const SCHEMA: &str = r#"{"target": "y", "columns": [
    {"name": "a", "type": "real", "bounds": {"min": 0, "max": 1}},
    {"name": "b", "type": "categorical", "categories": ["u", "v", "1"], "missing": "?"},
    {"name": "y", "type": "categorical", "categories": [0, 1]}]}"#;

/// Read bytes under a name, with and without labels; whatever comes out keeps the norm bound.
fn survive(name: &str, bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), name, bytes);
    let layout = layout(SCHEMA);
    let _ = count_rows(&path);
    let outcomes = [
        read(&path, None, &layout, true),
        read(&path, None, &layout, false),
        read(&path, Some(&path), &layout, true),
    ];
    for rows in outcomes.into_iter().flatten() {
        for i in 0..rows.len() {
            assert!(norm(&dense(&rows, i)) <= layout.norm_bound());
        }
    }
}

fn batch() -> RecordBatch {
    let a: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.5), None, Some(2.0)]));
    let b: ArrayRef = Arc::new(StringArray::from(vec!["u", "v", "?"]));
    let y: ArrayRef = Arc::new(Float64Array::from(vec![0.0, 1.0, 1.0]));
    RecordBatch::try_from_iter([("a", a), ("b", b), ("y", y)]).unwrap()
}

/// A good file of every format.
fn good_files() -> Vec<(&'static str, Vec<u8>)> {
    let csv = b"a,b,y\n0.5,u,0\n,v,1\n2,\"?\",1\n".to_vec();
    let batch = batch();
    let mut parquet = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut parquet, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let mut file = Cursor::new(Vec::new());
    let mut writer = FileWriter::try_new(&mut file, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    let mut stream = Vec::new();
    let mut writer = StreamWriter::try_new(&mut stream, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    vec![
        ("t.csv.gz", gzip(&csv)),
        ("t.csv", csv),
        ("t.svm", b"0 1:0.5 2:1\n1 qid:3 2:1 # x\n1 1:2\n".to_vec()),
        ("t.npy", npy("|u1", "(3, 2)", "False", &[0, 1, 1, 1, 1, 0])),
        ("t.idx", idx(8, &[3, 2], &[0, 1, 1, 1, 1, 0])),
        ("t.parquet", parquet),
        ("t.arrow", file.into_inner()),
        ("t.arrows", stream),
    ]
}

#[test]
fn good_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(SCHEMA);
    for (name, bytes) in good_files() {
        let path = write(folder.path(), name, &bytes);
        assert_eq!(count_rows(&path).unwrap(), 3, "{name}");
        assert_eq!(read(&path, None, &layout, false).unwrap().len(), 3, "{name}");
    }
}

#[test]
fn every_truncation_is_survived() {
    for (name, bytes) in good_files() {
        for end in 0..bytes.len() {
            survive(name, &bytes[..end]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_bytes_are_survived(
        bytes in vec(any::<u8>(), 0..300),
        magic in prop::sample::select(vec![
            &b""[..], b"a,b,y\n", b"\x1f\x8b\x08\x00", b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff",
            b"\x93NUMPY\x01\x00", b"\x93NUMPY\x02\x00", b"\0\0\x08\x02", b"\0\0\x0e\x01",
        ]),
        name in prop::sample::select(vec![
            "t.csv", "t.tsv", "t.svm", "t.npy", "t.idx", "t.parquet", "t.arrow", "t.arrows", "t.gz",
        ]),
    ) {
        let mut whole = magic.to_vec();
        whole.extend(&bytes);
        survive(name, &whole);
        survive(name, &gzip(&whole));
    }

    #[test]
    fn random_text_is_survived(text in "[a-c0-9,:\"\n\r\t .eE+#?-]{0,200}") {
        survive("t.csv", format!("a,b,y\n{text}").as_bytes());
        survive("t.svm", text.as_bytes());
        survive("t.csv", text.as_bytes());
    }

    #[test]
    fn changed_bytes_are_survived(
        which in 0_usize..8,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (name, mut bytes) = good_files().swap_remove(which);
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        survive(name, &bytes);
    }
}
