//! Tables whose structure is wrong are refused by name, and no message quotes a cell.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::fs::File;
use std::sync::Arc;

use crate::common::{gzip, idx, layout, npy, write};
use arrow_array::RecordBatch;
use arrow_array::{ArrayRef, Date32Array, Float64Array, Int64Array};
use parquet::arrow::ArrowWriter;
use reticent_table::encode::{CsrView, Encoder, Targets};
use reticent_table::table::{TableError as E, count_rows, from_batches, read};

const SCHEMA: &str = r#"{"target": "y", "columns": [
    {"name": "a", "type": "real", "bounds": {"min": 0, "max": 1}},
    {"name": "b", "type": "real", "bounds": {"min": 0, "max": 1}},
    {"name": "y", "type": "categorical", "categories": [0, 1]}]}"#;

/// A value that no message may repeat.
const SECRET: &str = "31415926";

/// The error of reading a file with this name and content.
fn refusal(name: &str, bytes: &[u8]) -> E {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), name, bytes);
    let error = read(&path, None, &layout(SCHEMA), true).unwrap_err();
    let message = error.to_string();
    assert!(message.contains(name), "{message}");
    assert!(!message.contains(SECRET) && !format!("{error:?}").contains(SECRET), "{message}");
    error
}

#[test]
fn a_file_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(SCHEMA);
    let missing = folder.path().join("no.csv");
    assert!(matches!(read(&missing, None, &layout, true), Err(E::Read { .. })));
    assert!(matches!(count_rows(&missing), Err(E::Read { .. })));
    assert!(matches!(read(folder.path(), None, &layout, true), Err(E::Read { .. })));
    let table = write(folder.path(), "t.csv", b"a,b,y\n1,1,1\n");
    assert!(matches!(read(&table, Some(&missing), &layout, true), Err(E::Read { .. })));
}

#[test]
fn headers_that_do_not_fit() {
    let lacks = refusal("t.csv", format!("a,y\n{SECRET},1\n").as_bytes());
    assert_eq!(
        lacks.to_string().split(" of ").next(),
        Some("the header"),
        "the message starts with what is wrong"
    );
    assert!(matches!(lacks, E::MissingColumn { column, .. } if column == "b"));
    // Without a header the first row must not be quoted.
    let headless = refusal("t.csv", format!("{SECRET},1,1\n{SECRET},1,1\n").as_bytes());
    assert!(matches!(headless, E::MissingColumn { column, .. } if column == "a"));
    let twice = refusal("t.csv", format!("a,b,y,a\n1,1,1,{SECRET}\n").as_bytes());
    assert!(matches!(twice, E::DuplicateColumn { column, .. } if column == "a"));
    let folder = tempfile::tempdir().unwrap();
    let extra = write(folder.path(), "t.csv", b"a,b,y,z,z\n1,1,1,2,2\n");
    assert!(read(&extra, None, &layout(SCHEMA), true).is_ok());
}

#[test]
fn tables_without_rows() {
    assert!(matches!(refusal("t.csv", b""), E::Empty { .. }));
    assert!(matches!(refusal("t.csv", b"\n\n"), E::Empty { .. }));
    assert!(matches!(refusal("t.csv", b"a,b,y\n"), E::Empty { .. }));
    assert!(matches!(refusal("t.csv.gz", &gzip(b"a,b,y\n\n\n")), E::Empty { .. }));
    assert!(matches!(refusal("t.svm", b""), E::Empty { .. }));
    assert!(matches!(refusal("t", b""), E::Empty { .. }));
}

#[test]
fn text_of_the_wrong_structure() {
    let short = format!("a,b,y\n1,1,1\n{SECRET},1\n");
    assert!(matches!(refusal("t.csv", short.as_bytes()), E::Ragged { .. }));
    let long = format!("a,b,y\n1,1,1\n{SECRET},1,1,1\n");
    assert!(matches!(refusal("t.csv", long.as_bytes()), E::Ragged { .. }));
    for open in ["\"{},1,1\n1,1,1\n", "1,1,\"{}\n1,1,1\n", "1,1,\"{}", "1,1,\"{}\"\"\n"] {
        let open = format!("a,b,y\n1,1,1\n{}", open.replace("{}", SECRET));
        assert!(matches!(refusal("t.csv", open.as_bytes()), E::OpenQuote { .. }), "{open:?}");
    }
    for other in [&b"PAR1\x15\x04"[..], b"PK\x03\x04\x14", b"\xff\xfea\0,\0b\0", b"ARROW1\0\0"] {
        assert!(matches!(refusal("t.csv", other), E::OtherFormat { .. }), "{other:?}");
    }
    assert!(matches!(refusal("t.dat", b"a,b,y\n1,1,1\n"), E::UnknownFormat { .. }));
}

#[test]
fn damaged_gzip() {
    let table = format!("a,b,y\n{}", format!("{SECRET},1,1\n").repeat(5000));
    let packed = gzip(table.as_bytes());
    assert!(matches!(refusal("t.csv.gz", &packed[..packed.len() - 9]), E::Compressed { .. }));
    assert!(matches!(refusal("t.csv.gz", &packed[..packed.len() / 2]), E::Compressed { .. }));
    assert!(matches!(refusal("t.csv.gz", &packed[..3]), E::Compressed { .. }));
    let mut bent = packed.clone();
    let end = bent.len() - 6;
    bent[end] ^= 1; // the checksum
    assert!(matches!(refusal("t.csv.gz", &bent), E::Compressed { .. }));
}

#[test]
fn binary_files_that_do_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let labels = write(folder.path(), "y.npy", &npy("|u1", "(2,)", "False", &[0, 1]));
    let layout = layout(SCHEMA);
    let refusal = |name: &str, bytes: &[u8]| {
        let path = write(folder.path(), name, bytes);
        let error = read(&path, Some(&labels), &layout, true).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        error
    };
    let good = npy("|u1", "(2, 2)", "False", &[1, 0, 0, 1]);
    let path = write(folder.path(), "x.npy", &good);
    assert!(read(&path, Some(&labels), &layout, true).is_ok());
    let corrupt = [
        npy("|u1", "(2, 2)", "False", &[1, 0, 0]),
        npy("|u1", "(2, 2)", "False", &[1, 0, 0, 1, 1]),
        npy("|u1", "(99999999999999999, 99999999999999999)", "False", &[1]),
        npy("|u1", "(2, -2)", "False", &[1, 0, 0, 1]),
        npy("|u1", "()", "False", &[1]),
        npy("|u1", "(1, 2, 2)", "True", &[1, 0, 0, 1]),
        npy("|O", "(2, 2)", "False", &[1, 0, 0, 1]),
        npy("<U3", "(2, 2)", "False", &[1; 48]),
        npy("", "(2, 2)", "False", &[1; 4]),
        npy("é4", "(2, 2)", "False", &[1; 4]),
        npy("|u1", "(2, 2)", "Maybe", &[1; 4]),
        good[..9].to_vec(),
        good[..40].to_vec(),
        b"\x93NUMPY\x09\x00".to_vec(),
    ];
    for bytes in corrupt {
        assert!(matches!(refusal("x.npy", &bytes), E::Corrupt { .. }));
    }
    assert!(matches!(
        refusal("x.npy", &npy("|u1", "(2, 3)", "False", &[1; 6])),
        E::Width { expected: 2, got: 3, .. }
    ));
    assert!(matches!(
        refusal("x.npy", &npy("|u1", "(3, 2)", "False", &[1; 6])),
        E::LabelCount { .. }
    ));
    assert!(matches!(refusal("x.npy", &npy("|u1", "(0, 2)", "False", &[])), E::Empty { .. }));
    // No rows, of more columns than can be counted.
    refusal("x.idx", &idx(8, &[0, u32::MAX, u32::MAX, u32::MAX], &[]));
    for bytes in [idx(8, &[2, 2], &[1; 3]), idx(8, &[u32::MAX; 8], &[1; 3]), vec![0, 0, 8, 2, 1]] {
        assert!(matches!(refusal("x.idx", &bytes), E::Corrupt { .. }));
    }
    for (name, bytes) in [
        ("x.parquet", &b"PAR1 and nothing else"[..]),
        ("x.parquet", b"PAR1"),
        ("x.arrow", b"ARROW1\0\0 and nothing else"),
        ("x.arrows", b"\xff\xff\xff\xff\xff\xff\xff\x7f"),
    ] {
        assert!(matches!(refusal(name, bytes), E::Corrupt { .. }));
    }
    let gz = gzip(b"PAR1 within gzip");
    assert!(matches!(refusal("x.parquet.gz", &gz), E::Corrupt { .. }));
    let square = write(folder.path(), "y2.npy", &npy("|u1", "(2, 2)", "False", &[1; 4]));
    assert!(matches!(read(&path, Some(&square), &layout, true), Err(E::Corrupt { .. })));
    let svm = write(folder.path(), "y.svm", b"0\n");
    assert!(matches!(read(&path, Some(&svm), &layout, true), Err(E::Corrupt { .. })));
}

#[test]
fn columns_of_the_wrong_type() {
    let dates: ArrayRef = Arc::new(Date32Array::from(vec![1, 2]));
    let numbers: ArrayRef = Arc::new(Float64Array::from(vec![0.0, 1.0]));
    let classes: ArrayRef = Arc::new(Int64Array::from(vec![0, 1]));
    let encoder = Encoder::new(&layout(SCHEMA));
    let columns = [("a", numbers.clone()), ("b", dates), ("y", classes.clone())];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let error = from_batches(&encoder, std::slice::from_ref(&batch), None).unwrap_err();
    assert!(matches!(&error, E::ColumnType { column, .. } if column == "b"));
    assert!(error.to_string().contains("Date32"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let error = read(&path, None, encoder.layout(), true).unwrap_err();
    assert!(matches!(error, E::ColumnType { .. }));
    let columns = [("a", numbers), ("y", classes)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    assert!(matches!(
        from_batches(&encoder, std::slice::from_ref(&batch), None),
        Err(E::MissingColumn { column, .. }) if column == "b"
    ));
    assert!(matches!(from_batches(&encoder, &[], None), Err(E::Empty { .. })));
}

#[test]
fn matrices_in_memory_that_do_not_fit() {
    let encoder = Encoder::new(&layout(SCHEMA));
    let values = [0.0_f32; 6];
    assert!(matches!(encoder.matrix(3, &values, Targets::Absent), Err(E::Width { .. })));
    assert!(matches!(encoder.matrix(2, &values[..5], Targets::Absent), Err(E::Ragged { .. })));
    assert!(matches!(encoder.matrix(0, &values, Targets::Absent), Err(E::Ragged { .. })));
    assert!(matches!(encoder.matrix(2, &values[..0], Targets::Absent), Err(E::Empty { .. })));
    let labels = Targets::Numbers(&[0.0]);
    assert!(matches!(encoder.matrix(2, &values, labels), Err(E::LabelCount { .. })));
    let csr = |offsets: &'static [usize], indices: &'static [usize]| CsrView {
        columns: 2,
        offsets,
        indices,
        values: &[0.5, 0.5],
    };
    assert!(encoder.sparse(csr(&[0, 1, 2], &[0, 1]), Targets::Absent).is_ok());
    for bad in [
        csr(&[], &[0, 1]),
        csr(&[0, 1], &[0, 1]),
        csr(&[0, 2, 1], &[0, 1]),
        csr(&[0, 1, 2], &[0, 2]),
        csr(&[0, 1], &[0]),
    ] {
        assert!(matches!(encoder.sparse(bad, Targets::Absent), Err(E::Corrupt { .. })));
    }
}
