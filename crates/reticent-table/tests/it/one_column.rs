//! Tables of one column: no cell decides how many rows there are, nor what another row says.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::path::Path;

use crate::common::{dense, gzip, layout, write};
use reticent_table::encode::Encoder;
use reticent_table::table::{TableError as E, count_rows, read, read_blocks};

const SCHEMA: &str = r#"{"target": "y", "columns": [
    {"name": "a", "type": "categorical", "categories": ["no", "yes", "1,2"], "missing": "?"},
    {"name": "y", "type": "categorical", "categories": [0, 1]}]}"#;

const CELLS: [&str; 5] = ["yes", "no", "yes", "yes", "no"];

/// Each row as numbers.
fn rows(path: &Path, labels: Option<&Path>) -> Result<Vec<Vec<f64>>, E> {
    let rows = read(path, labels, &layout(SCHEMA), labels.is_some())?;
    assert_eq!(count_rows(path)?, rows.len());
    Ok((0..rows.len()).map(|i| dense(&rows, i)).collect())
}

/// A header and each cell, all with the end of a line.
fn table(header: &str, cells: &[&str], end: &str) -> Vec<u8> {
    [&[header], cells].concat().iter().flat_map(|cell| [cell, end].concat().into_bytes()).collect()
}

#[test]
fn an_empty_cell_changes_no_other_row() {
    let folder = tempfile::tempdir().unwrap();
    let usual = rows(&write(folder.path(), "t.csv", &table("a", &CELLS, "\n")), None).unwrap();
    let missing =
        rows(&write(folder.path(), "t.csv", &table("a", &["\"\""], "\n")), None).unwrap().remove(0);
    let odd = [
        "",
        "\"\"",
        " ",
        "\"a\nb\"",
        "\"\n\n\"",
        "\"\"\"\n\"",
        "?",
        "\"\"\"\"",
        "a\"\"",
        "\"a\"\"\"",
    ];
    for (name, header) in
        [("t.csv", "a"), ("t.tsv", "a"), ("t.csv", "\u{feff}\"a\""), ("t.tsv", "\r\n\n\"a\"")]
    {
        for end in ["\n", "\r\n", "\r"] {
            for cell in odd {
                for place in 0..CELLS.len() {
                    let (mut cells, mut expected) = (CELLS, usual.clone());
                    cells[place] = cell;
                    expected[place].clone_from(&missing);
                    let text = table(header, &cells, end);
                    let path = write(folder.path(), name, &text);
                    assert_eq!(rows(&path, None).unwrap(), expected, "{cell:?} in {place}");
                    let path = write(folder.path(), &format!("{name}.gz"), &gzip(&text));
                    assert_eq!(rows(&path, None).unwrap(), expected, "{cell:?} in {place}");
                }
            }
        }
    }
}

#[test]
fn an_empty_cell_shifts_no_label() {
    let folder = tempfile::tempdir().unwrap();
    let labels = write(folder.path(), "y.txt", b"1\n0\n1\n1\n0\n");
    for place in 0..CELLS.len() {
        let mut cells = CELLS;
        cells[place] = "";
        let path = write(folder.path(), "t.csv", &table("a", &cells, "\n"));
        assert_eq!(rows(&path, Some(&labels)).unwrap().len(), CELLS.len());
        let read = read(&path, Some(&labels), &layout(SCHEMA), true).unwrap();
        assert_eq!(read.labels(), [1.0, -1.0, 1.0, 1.0, -1.0]);
    }
}

#[test]
fn a_last_line_without_a_newline_is_refused_whatever_it_says() {
    let folder = tempfile::tempdir().unwrap();
    for last in ["yes", " ", "\"\"", "\"yes", "\"yes\"", "no\ryes"] {
        let mut text = table("a", &CELLS, "\n");
        text.extend(last.as_bytes());
        let path = write(folder.path(), "t.csv", &text);
        assert!(matches!(rows(&path, None), Err(E::LacksNewline { .. })), "{last:?}");
        assert!(matches!(count_rows(&path), Err(E::LacksNewline { .. })), "{last:?}");
    }
    for (blank, count) in [("a\n\n", 1), ("a\n\n\n", 2), ("a\nyes\n\r\n", 2), ("a\ryes\r\r", 2)] {
        let path = write(folder.path(), "t.csv", blank.as_bytes());
        assert_eq!(rows(&path, None).unwrap().len(), count, "{blank:?}");
    }
    for none in ["a", "a\n", "\n\na\r\n"] {
        let path = write(folder.path(), "t.csv", none.as_bytes());
        assert!(matches!(rows(&path, None), Err(E::Empty { .. })), "{none:?}");
    }
}

#[test]
fn a_header_of_several_fields_leaves_blank_lines_out() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, count) in [
        ("t.csv", "a,y\n\nyes,1\n\r\n\nno,0", 2),
        ("t.csv", "\"a\",y\nyes,1\n\n", 1),
        ("t.csv", "a,\n\nyes,1\n\n", 1),
        ("t.csv", ",a\n\n1,yes\n\n", 1),
        ("t.tsv", "a\ty\n\nyes\t1\n\n", 1),
        // Between quotes a separator is a letter like another.
        ("t.csv", "\"x,\"\"y\"\n\nyes\n", 2),
        ("t.tsv", "a,y\n\nyes\n", 2),
    ] {
        let path = write(folder.path(), name, text.as_bytes());
        assert_eq!(count_rows(&path).unwrap(), count, "{text:?}");
    }
}

#[test]
fn a_long_table_is_read_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("a\n{}", "yes\n\n\"\n\"\n\r\n".repeat(50_000));
    let path = write(folder.path(), "t.csv", text.as_bytes());
    let found = rows(&path, None).unwrap();
    assert_eq!(found.len(), 200_000);
    assert!(found.chunks(4).all(|four| four == &found[..4]));
    // In blocks, labels are the table's own: there are two columns then.
    let text = format!("a,y\n{}", "yes,1\n\n".repeat(1000));
    let path = write(folder.path(), "t.csv", text.as_bytes());
    let (layout, mut count) = (layout(SCHEMA), 0);
    read_blocks(&path, &Encoder::new(&layout), 64, false, &mut |rows| {
        count += rows.len();
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(count, 1000);
}
