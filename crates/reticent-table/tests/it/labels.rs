//! Labels in a text file of their own: no label decides how another is read, or whether there is an
//! error.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use crate::common::{gzip, layout, npy, write};
use reticent_table::table::{TableError as E, read};

const SCHEMA: &str = r#"{"target": "y", "columns": [
    {"name": "a", "type": "real", "bounds": {"min": 0, "max": 1}},
    {"name": "y", "type": "categorical", "categories": ["no", "say \"yes\""]}]}"#;

const WORDS: [&[u8]; 5] = [b"say \"yes\"", b"no", b"say \"yes\"", b"say \"yes\"", b"no"];
const LABELS: [f64; 5] = [1.0, -1.0, 1.0, 1.0, -1.0];

/// The labels of five rows, from a file with this name and content.
fn labels(name: &str, bytes: &[u8]) -> Result<Vec<f64>, E> {
    let folder = tempfile::tempdir().unwrap();
    let table = write(folder.path(), "t.csv", b"a\n0\n1\n0\n1\n0\n");
    let labels = write(folder.path(), name, bytes);
    Ok(read(&table, Some(&labels), &layout(SCHEMA), true)?.labels().to_vec())
}

/// Each label and the end of its line.
fn lines(words: &[&[u8]], end: &str) -> Vec<u8> {
    words.iter().flat_map(|word| [*word, end.as_bytes()].concat()).collect()
}

#[test]
fn a_label_changes_no_other() {
    let odd: [&[u8]; 18] = [
        b"",
        b" ",
        b"y",
        b"a,b",
        b"a\tb",
        b"\"a",
        b"a\"",
        b"\"",
        b"\"\"",
        b"\"no\"",
        b"#",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\0\0\x08\x01",
        b"PAR1",
        b"ARROW1\0\0",
        b"\xff\xff\xff\xff",
        b"\x93NUMPY\x01\x00",
    ];
    for name in ["y.txt", "y.csv", "y.tsv"] {
        for end in ["\n", "\r\n"] {
            for word in odd {
                for place in 0..WORDS.len() {
                    let (mut words, mut expected) = (WORDS, LABELS);
                    words[place] = word;
                    expected[place] = -1.0;
                    let found = labels(name, &lines(&words, end)).unwrap();
                    assert_eq!(found, expected, "{word:?} in {place} of {name}");
                }
            }
        }
    }
}

#[test]
fn quotes_around_a_line_are_taken_off() {
    for quoted in [&b"\"say \"\"yes\"\"\""[..], b" \"say \"\"yes\"\"\" ", b"say \"yes\""] {
        let mut words = WORDS;
        words[0] = quoted;
        assert_eq!(labels("y.csv", &lines(&words, "\n")).unwrap(), LABELS);
    }
}

#[test]
fn a_header_is_told_by_the_number_of_lines() {
    let plain = lines(&WORDS, "\n");
    for header in ["y\n", "\n", "outcome,of\r\n", "\u{feff}\"y\n"] {
        let whole = [header.as_bytes(), plain.as_slice()].concat();
        assert_eq!(labels("y.csv", &whole).unwrap(), LABELS, "{header:?}");
        assert_eq!(labels("y.txt.gz", &gzip(&whole)).unwrap(), LABELS, "{header:?}");
    }
    // The last newline may be left out, but not after a header: an empty last label would then be
    // none.
    assert_eq!(labels("y.txt", &plain[..plain.len() - 1]).unwrap(), LABELS);
    let open = [&b"y\n"[..], &plain[..plain.len() - 1]].concat();
    assert!(matches!(labels("y.txt", &open), Err(E::LabelCount { .. })));
}

#[test]
fn numbers_that_differ_are_refused_without_telling_them() {
    let folder = tempfile::tempdir().unwrap();
    let table = write(folder.path(), "t.csv", b"a\n0\n1\n0\n1\n0\n");
    let mut messages = Vec::new();
    for count in [0, 1, 4, 7, 50] {
        let text = write(folder.path(), "y.txt", "no\n".repeat(count).as_bytes());
        let bytes = npy("|u1", &format!("({count},)"), "False", &vec![0; count]);
        let array = write(folder.path(), "y.npy", &bytes);
        for path in [text, array] {
            let error = read(&table, Some(&path), &layout(SCHEMA), true).unwrap_err();
            assert!(matches!(error, E::LabelCount { .. }), "{count}");
            messages.push(format!("{error} {error:?}"));
        }
    }
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:?}");
}
