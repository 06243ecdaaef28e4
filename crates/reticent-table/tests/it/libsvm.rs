//! libsvm text: every line is a row, and none decides how another is read.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::ops::ControlFlow;
use std::path::Path;

use crate::common::{dense, gzip, layout, write};
use reticent_data::Rows;
use reticent_table::encode::Encoder;
use reticent_table::table::{count_rows, read, read_blocks};

const SCHEMA: &str = r#"{"target": "y", "columns": [
    {"name": "a", "type": "real", "bounds": {"min": 0, "max": 1}},
    {"name": "b", "type": "real", "bounds": {"min": 0, "max": 1}},
    {"name": "y", "type": "categorical", "categories": ["no", "yes"]}]}"#;

/// Each row's features and label.
type Table = Vec<(Vec<f64>, f64)>;

fn table(rows: &Rows) -> Table {
    (0..rows.len()).map(|i| (dense(rows, i), rows.labels()[i])).collect()
}

/// The rows of a file, which are the same at once and block by block, and as many as are counted.
fn rows(path: &Path) -> Table {
    let layout = layout(SCHEMA);
    let whole = table(&read(path, None, &layout, true).unwrap());
    let mut blocks = Table::new();
    read_blocks(path, &Encoder::new(&layout), 2, false, &mut |part| {
        blocks.extend(table(&part));
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(blocks, whole);
    assert_eq!(count_rows(path).unwrap(), whole.len());
    whole
}

#[test]
fn a_row_changes_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let plain = ["yes 1:0.5 2:0.25", "no 2:1", "yes", "no 1:1 # said twice", "yes 2:0.5"];
    let usual: Table = vec![
        (vec![0.5, 0.25, 1.0], 1.0),
        (vec![0.0, 1.0, 1.0], -1.0),
        (vec![0.0, 0.0, 1.0], 1.0),
        (vec![1.0, 0.0, 1.0], -1.0),
        (vec![0.0, 0.5, 1.0], 1.0),
    ];
    let nothing = ([0.0, 0.0, 1.0], -1.0);
    let unreadable = ([0.0; 3], -1.0);
    let odd = [
        ("", nothing),
        ("  \t", nothing),
        ("#", nothing),
        ("# yes 1:1", nothing),
        (" # yes 1:1", nothing),
        ("1:0.5", ([0.5, 0.0, 1.0], -1.0)),
        ("yes 0:7 1:0.5", ([0.5, 0.0, 1.0], 1.0)),
        ("yes 0:7 0:8", ([0.0, 0.0, 1.0], 1.0)),
        ("yes 3:7 1:0.5", ([0.5, 0.0, 1.0], 1.0)),
        ("yes -1:7 1:0.5", unreadable),
        ("yes 1:1 1:0.5", unreadable),
        ("yes 0:x", unreadable),
        ("PAR1 1:0.5", ([0.5, 0.0, 1.0], -1.0)),
        ("ARROW1 1:0.5", ([0.5, 0.0, 1.0], -1.0)),
    ];
    for end in ["\n", "\r\n"] {
        for (line, (features, label)) in &odd {
            for place in 0..plain.len() {
                let (mut lines, mut expected) = (plain, usual.clone());
                lines[place] = line;
                expected[place] = (features.to_vec(), *label);
                let text = lines.join(end) + end;
                let path = write(folder.path(), "t.libsvm", text.as_bytes());
                assert_eq!(rows(&path), expected, "{line:?} in {place}");
            }
        }
    }
}

#[test]
fn the_last_newline_makes_no_row() {
    let folder = tempfile::tempdir().unwrap();
    for (text, count) in [("yes 1:1", 1), ("yes 1:1\n", 1), ("yes 1:1\n\n", 2), ("\n", 1), ("#", 1)]
    {
        let path = write(folder.path(), "t.svm", text.as_bytes());
        assert_eq!(rows(&path).len(), count, "{text:?}");
        let path = write(folder.path(), "t.svm.gz", &gzip(text.as_bytes()));
        assert_eq!(rows(&path).len(), count, "{text:?}");
    }
}
