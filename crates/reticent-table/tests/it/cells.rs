//! The outcomes of cells are counted where that is allowed, and no cell decides whether a table can
//! be read, or how much memory that takes.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::{dense, gzip, layout, npy, write};
use arrow_array::{ArrayRef, BinaryArray, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use reticent_table::encode::CellCounts;
use reticent_table::table::{
    TableError as E, column_texts, count_cells, count_rows, inspect, read,
};

const SCHEMA: &str = r#"{"target": "y", "columns": [
    {"name": "a", "type": "real", "bounds": {"min": 0, "max": 10}, "missing": -1},
    {"name": "c", "type": "categorical", "categories": ["x", "z"]},
    {"name": "y", "type": "categorical", "categories": ["no", "yes"]}]}"#;

/// Missing, clamped, undeclared and unreadable cells of each column, the target last.
fn kinds(counts: &CellCounts) -> Vec<[Option<u64>; 4]> {
    let columns = counts.columns.iter().chain(&counts.target);
    columns.map(|c| [Some(c.missing), c.clamped, c.undeclared, c.unreadable]).collect()
}

#[test]
fn cells_are_counted_by_what_becomes_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "a,c,y\n1,x,yes\n,,\n-1,NA,null\n11,w,maybe\n-0.5,x,no\nabc,z,yes\n1e999,caf\u{e9},no\n";
    let path = write(folder.path(), "t.csv", text.as_bytes());
    let layout = layout(SCHEMA);
    let table = inspect(&path, None, &layout, true).unwrap();
    let expected = vec![
        [Some(2), Some(2), None, Some(2)],
        [Some(2), None, Some(2), None],
        [Some(2), None, Some(1), None],
    ];
    assert_eq!((table.counts.rows, table.counts.zero_rows), (7, 2));
    assert_eq!(kinds(&table.counts), expected);
    assert_eq!(table.counts.unknown_labels(), 3);
    // A row that cannot be read keeps its true label, and a target that names none has none.
    let labels = [Some(1.0), None, None, None, Some(-1.0), Some(1.0), Some(-1.0)];
    assert_eq!(table.labels, labels);
    // The rows are those that training gets.
    assert!(table.rows == read(&path, None, &layout, true).unwrap());
    assert_eq!(count_cells(&path, None, &layout).unwrap(), table.counts);
    let again = table.counts.with_vector(7, &table.counts.to_vector());
    assert_eq!(again, table.counts);
    // For prediction there is no target.
    let table = inspect(&path, None, &layout, false).unwrap();
    assert!(table.counts.target.is_none() && table.labels.is_empty());
    assert_eq!(kinds(&table.counts), expected[..2]);
}

#[test]
fn targets_outside_their_bounds_keep_their_true_value() {
    let schema = r#"{"target": "y", "columns": [
        {"name": "a", "type": "vector", "dimension": 2, "bounds": {"l2_norm_max": 5}},
        {"name": "y", "type": "real", "bounds": {"min": 0, "max": 10}}]}"#;
    let folder = tempfile::tempdir().unwrap();
    let text = "a[0],a[1],y\n3,4,5\n3,5,15\n,1,NA\nx,,inf\n";
    let path = write(folder.path(), "t.csv", text.as_bytes());
    let table = inspect(&path, None, &layout(schema), true).unwrap();
    // A vector is one cell: beyond its norm, with an entry missing, with an entry that cannot be
    // read.
    assert_eq!(
        kinds(&table.counts),
        [[Some(1), Some(1), None, Some(1)], [Some(1), Some(1), None, Some(1)]]
    );
    assert_eq!(table.labels, [Some(0.0), Some(2.0), None, None]);
    assert_eq!(table.rows.labels(), [0.0, 1.0, 0.0, 0.0]);
}

#[test]
fn labels_of_their_own_and_matrices_are_counted_too() {
    let schema = r#"{"target": "y", "columns": [
        {"name": "a", "type": "vector", "dimension": 2, "bounds": {"min": 0, "max": 1}},
        {"name": "y", "type": "categorical", "categories": ["no", "yes"]}]}"#;
    let folder = tempfile::tempdir().unwrap();
    let x = write(folder.path(), "x.npy", &npy("|u1", "(3, 2)", "False", &[0, 1, 1, 2, 0, 0]));
    let y = write(folder.path(), "y.txt", b"yes\nperhaps\n\n");
    let counts = count_cells(&x, Some(&y), &layout(schema)).unwrap();
    assert_eq!(kinds(&counts), [[Some(0), Some(1), None, Some(0)], [Some(1), None, Some(1), None]]);
    // An absent entry of a sparse row is the number 0, and not missing.
    let svm = write(folder.path(), "t.svm", b"yes 1:1\nno 2:x\nwhat 1:nan 2:7\n");
    let counts = count_cells(&svm, None, &layout(schema)).unwrap();
    assert_eq!((counts.rows, counts.zero_rows), (3, 2));
    assert_eq!(kinds(&counts), [[Some(0), Some(0), None, Some(2)], [Some(0), None, Some(1), None]]);
}

#[test]
fn bytes_that_are_no_text_are_a_cell_like_another() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(SCHEMA);
    let plain = read(
        &write(folder.path(), "plain.csv", b"a,c,y\n1,x,yes\n2,nowhere,no\nabc,x,no\n3,z,maybe\n"),
        None,
        &layout,
        true,
    );
    let plain = plain.unwrap();
    let odd = b"a,c,y\n1,x,yes\n2,caf\xe9,no\n\xff\xfe,x,no\n3,z,\xe9\n";
    let path = write(folder.path(), "odd.csv", odd);
    assert!(read(&path, None, &layout, true).unwrap() == plain);
    assert_eq!(count_rows(&path).unwrap(), 4);
    let tabs: Vec<u8> = odd.iter().map(|&b| if b == b',' { b'\t' } else { b }).collect();
    let path = write(folder.path(), "odd.tsv.gz", &gzip(&tabs));
    assert!(read(&path, None, &layout, true).unwrap() == plain);
    // A name of the header that nobody asks for may be anything.
    let path = write(folder.path(), "names.csv", b"a,c,y,caf\xe9\n1,x,yes,\xff\n");
    assert_eq!(dense(&read(&path, None, &layout, true).unwrap(), 0), dense(&plain, 0));

    let svm = |second: &[u8]| {
        let text = [b"yes 1:1\n", second, b"\nno 1:0.5\n"].concat();
        let path = write(folder.path(), "t.svm", &text);
        let rows = read(&path, None, &layout, true).unwrap();
        assert_eq!((rows.len(), count_rows(&path).unwrap()), (3, 3));
        (0..3).map(|i| (dense(&rows, i), rows.labels()[i])).collect::<Vec<_>>()
    };
    assert_eq!(svm(b"yes 1:\xff"), svm(b"yes 1:x"));
    assert_eq!(svm(b"yes \xff:1"), svm(b"yes x:1"));
    assert_eq!(svm(b"\xff 1:1"), svm(b"perhaps 1:1"));
}

#[test]
fn columns_of_bytes_are_read_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let bytes =
        |cells: [&'static [u8]; 3]| Arc::new(BinaryArray::from_iter_values(cells)) as ArrayRef;
    let texts = |cells: [&str; 3]| Arc::new(StringArray::from_iter_values(cells)) as ArrayRef;
    let file = |name: &str, columns: [ArrayRef; 3]| {
        let batch = RecordBatch::try_from_iter(["a", "c", "y"].into_iter().zip(columns)).unwrap();
        let path = folder.path().join(name);
        let mut writer =
            ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        path
    };
    let odd = file(
        "odd.parquet",
        [
            bytes([b"1", b"\xff", b"NA"]),
            bytes([b"x", b"z", b"\xe9"]),
            bytes([b"yes", b"no", b"\xff"]),
        ],
    );
    let plain = file(
        "plain.parquet",
        [texts(["1", "abc", ""]), texts(["x", "z", "nowhere"]), texts(["yes", "no", "what"])],
    );
    let layout = layout(SCHEMA);
    let odd_table = inspect(&odd, None, &layout, true).unwrap();
    let plain_table = inspect(&plain, None, &layout, true).unwrap();
    assert!(odd_table.rows == plain_table.rows);
    assert_eq!(odd_table.counts, plain_table.counts);
    let kept = column_texts(&odd, &["c".to_owned(), "a".to_owned()]).unwrap();
    assert_eq!(kept, [["x", "z", "\u{fffd}"], ["1", "\u{fffd}", "NA"]]);
}

#[test]
fn named_columns_are_carried_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "t.csv", b"id,a,c,y\n\"7,8\",1,x,yes\n, 2 ,caf\xe9,no\n");
    let names = |list: &[&str]| list.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
    let kept = column_texts(&path, &names(&["c", "id"])).unwrap();
    assert_eq!(kept, [["x", "caf\u{fffd}"], ["7,8", ""]]);
    let unknown = column_texts(&path, &names(&["id", "patient"])).unwrap_err();
    assert!(matches!(unknown, E::UnknownColumn { column, .. } if column == "patient"));
    let svm = write(folder.path(), "t.svm", b"1 1:1\n");
    assert!(matches!(column_texts(&svm, &names(&["a"])), Err(E::NoNames { .. })));
}

/// A gzip file of a head, `mebibytes` of one piece repeated, and a tail. Members are packed once.
fn bomb(folder: &Path, name: &str, parts: [&[u8]; 3], mebibytes: usize) -> PathBuf {
    let [head, piece, tail] = parts;
    let member = gzip(&piece.repeat((8 << 20) / piece.len()));
    let middle = member.repeat(mebibytes / 8);
    write(folder, name, &[gzip(head), middle, gzip(tail)].concat())
}

/// The most memory that this process has held, in mebibytes, where the system says so.
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<usize>().ok()? >> 10)
}

#[test]
fn no_cell_is_held_whole_however_long() {
    const SIZE: usize = 160;
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(SCHEMA);
    let read = |name: &str, parts| {
        let path = bomb(folder.path(), name, parts, SIZE);
        let counted = count_rows(&path).unwrap();
        let table = inspect(&path, None, &layout, true).unwrap();
        assert_eq!(counted, table.rows.len(), "{name}");
        table
    };
    // Between quotes separators and newlines are letters like others.
    let quoted = read("cell.csv.gz", [b"a,c,y\n1,x,yes\n\"", b"1234,\n67", b"\",x,no\n2,z,no\n"]);
    assert_eq!((quoted.counts.rows, quoted.counts.zero_rows), (3, 1));
    // All cells of a row together may be too long as well.
    let columns = 512;
    let names = (0..columns).map(|i| format!(",n{i}")).collect::<Vec<_>>().concat();
    let field = gzip(&[&b","[..], &vec![b'7'; (SIZE << 20) / 512]].concat());
    let head = gzip(format!("a,c,y{names}\n1,x,yes").as_bytes());
    let tail = gzip(format!("\n2,z,no{}\n", ",8".repeat(columns)).as_bytes());
    let wide = [head, field.repeat(columns), tail].concat();
    let wide = write(folder.path(), "wide.csv.gz", &wide);
    let kept = column_texts(&wide, &["n0".to_owned(), "n511".to_owned()]).unwrap();
    assert_eq!(kept[0][0].len(), (SIZE << 20) / 512);
    assert!(kept[1][0].starts_with('\u{fffd}') && kept[1][0].len() < 1 << 20);
    assert_eq!((kept[0][1].as_str(), kept[1][1].as_str()), ("8", "8"));
    let cell = read("cell.csv.gz", [b"a,c,y\n1,x,yes\n", b"12345678", b",x,no\n2,z,no\n"]);
    assert_eq!((cell.counts.rows, cell.counts.zero_rows), (3, 1));
    assert_eq!(cell.labels, [Some(1.0), Some(-1.0), Some(-1.0)]);
    let pairs = read("pairs.svm.gz", [b"yes 1:1\nno", b" 1:2 2:3", b"\nno 1:1\n"]);
    assert_eq!((pairs.counts.rows, pairs.counts.zero_rows), (3, 1));
    let long = read("field.svm.gz", [b"yes 1:1\nno 1:", b"12345678", b"\nno 1:1\n"]);
    assert_eq!((long.counts.rows, long.counts.zero_rows), (3, 1));

    let table = write(folder.path(), "t.csv", b"a,c\n1,x\n1,x\n1,x\n");
    let labels = bomb(folder.path(), "y.txt.gz", [b"yes\n", b"12345678", b"\nno\n"], SIZE);
    let given = inspect(&table, Some(&labels), &layout, true).unwrap();
    assert_eq!(given.labels, [Some(1.0), None, Some(-1.0)]);
    let lines = bomb(folder.path(), "z.txt.gz", [b"yes\n", b"no\nno\nn\n", b"no\n"], SIZE);
    let wrong = inspect(&table, Some(&lines), &layout, true);
    assert!(matches!(wrong, Err(E::LabelCount { .. })));
    if let Some(peak) = peak() {
        assert!(peak < 100, "{peak} MB were held at a time");
    }
}
