//! A file that is not what it should be is exit code 2 and one sentence that names it.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::fs;

use crate::common::{CLINIC, FIT, Folder, clinic, gzip};

#[test]
fn tables_that_cannot_be_read_are_refused_by_name() {
    let folder = Folder::new();
    let good = clinic(60);
    let body = good.split_once('\n').unwrap().1;
    let packed = gzip(good.repeat(50).as_bytes());
    let tables: &[(&str, &[u8], &str)] = &[
        ("empty.csv", b"", "no rows"),
        ("blank.csv", b"\n\n\n", "no rows"),
        ("header.csv", b"age,ward,visit,back\n", "no rows"),
        ("wrong.csv", &[b"a,b,c,d\n", body.as_bytes()].concat(), "`age`"),
        ("headless.csv", body.as_bytes(), "`age`"),
        ("lacks.csv", b"age,ward,visit\n1,other,2\n", "`back`"),
        ("twice.csv", b"age,age,ward,visit,back\n1,1,other,2,no\n", "`age`"),
        ("ragged.csv", &[good.as_bytes(), b"1,other\n"].concat(), "number of fields"),
        ("cut.csv.gz", &packed[..packed.len() / 2], "gzip"),
        ("short.csv.gz", &packed[..packed.len() - 4], "gzip"),
        ("open.csv", b"age,ward,visit,back\n1,other,2,\"no\n1,other,2,no\n", "quotes"),
        ("book.csv", b"PK\x03\x04\x14\x00", "workbook"),
        ("utf16.csv", b"\xff\xfea\0g\0e\0", "UTF-8"),
        ("table.dat", good.as_bytes(), "format"),
        ("bad.parquet", b"PAR1 and nothing else", "Parquet"),
        ("bad.arrow", b"ARROW1\0\0 and nothing else", "Arrow"),
        ("bad.npy", b"\x93NUMPY\x01\x00v\x00", "NumPy"),
    ];
    for (name, bytes, word) in tables {
        folder.write(name, bytes);
        let arguments = FIT.replace("clinic.csv", name);
        let run = folder.run(&arguments).refuses(name);
        assert!(run.stderr.contains(word), "`{word}` is not in {run:#?}");
        assert!(!folder.path("model.json").exists(), "{name}");
    }
    folder.run(&FIT.replace("clinic.csv", "absent.csv")).refuses("absent.csv");
    fs::create_dir(folder.path("folder.csv")).unwrap();
    folder.run(&FIT.replace("clinic.csv", "folder.csv")).refuses("folder.csv");
    folder.run(&format!("{FIT} --labels absent.npy")).refuses("absent.npy");
}

#[test]
fn predict_and_evaluate_refuse_the_same_tables() {
    let folder = Folder::new();
    folder.run(FIT).succeeds();
    folder.write("empty.csv", "");
    folder.write("wrong.csv", "a,b\n1,2\n");
    for table in ["empty.csv", "wrong.csv", "absent.csv"] {
        for command in ["predict", "evaluate"] {
            folder.run(&format!("{command} --model model.json --data {table}")).refuses(table);
        }
    }
    // Evaluation needs the labels that prediction does not.
    folder.write("unlabelled.csv", "age,ward,visit\n1,other,2\n");
    folder.run("predict --model model.json --data unlabelled.csv").succeeds();
    folder.run("evaluate --model model.json --data unlabelled.csv").refuses("`back`");
}

#[test]
fn schemas_that_do_not_hold_together_are_refused() {
    let folder = Folder::new();
    let without = |what: &str| CLINIC.replace(what, "");
    let schemas = [
        ("not JSON at all".to_owned(), "JSON"),
        (String::new(), "JSON"),
        (CLINIC[..CLINIC.len() - 2].to_owned(), "JSON"),
        ("[]".to_owned(), "JSON"),
        ("{}".to_owned(), "columns"),
        (CLINIC.replace('"', "'"), "double quotes"),
        (format!("// a comment\n{CLINIC}"), "comments"),
        (CLINIC.replace(r#"{"min": 0, "max": 100}"#, "[0, 100]"), r#"{"min": 0, "max": 1}"#),
        (r#"{"target": "back", "columns": {"age": 1}}"#.to_owned(), "write a list in brackets"),
        (r#"{"columns": []}"#.to_owned(), "column"),
        (without(r#", "bounds": {"min": 0, "max": 100}"#), "`age`"),
        (CLINIC.replace(r#""max": 100"#, r#""max": 0"#), "`age`"),
        (CLINIC.replace(r#""max": 100"#, r#""max": 1e999"#), ""),
        (without(r#", "categories": ["surgery", "internal", "other"]"#), "`ward`"),
        (CLINIC.replace(r#""target": "back""#, r#""target": "front""#), "`front`"),
        (CLINIC.replace(r#""categories": ["no", "yes"]"#, r#""categories": ["no"]"#), "`back`"),
        (CLINIC.replace(r#""positive_class": "yes""#, r#""positive_class": "maybe""#), "maybe"),
        (CLINIC.replace("\"visit\"", "\"age\""), "`age`"),
    ];
    for (schema, word) in schemas {
        assert_ne!(schema, CLINIC);
        folder.write("bad.json", &schema);
        folder.run(&FIT.replace("clinic.json", "bad.json")).refuses(word);
        folder.run("schema check bad.json").refuses(word);
        folder.run("plan --n 60 --epsilon 1 --schema bad.json").refuses(word);
    }
    folder.run(&FIT.replace("clinic.json", "absent.json")).refuses("absent.json");
    folder.run("schema check absent.json").refuses("absent.json");
}

#[test]
fn files_that_are_no_models_are_refused() {
    let folder = Folder::new();
    folder.run(&format!("{FIT} --algorithm objective")).succeeds();
    let good = folder.read("model.json");
    let damaged = [
        "not JSON".to_owned(),
        String::new(),
        "null".to_owned(),
        "[1, 2]".to_owned(),
        "{}".to_owned(),
        CLINIC.to_owned(),
        good[..good.len() / 2].to_owned(),
        good.replace("reticent-model/1", "reticent-model/99"),
        good.replace("\"weights\": [", "\"weights\": [[], "),
        good.replace("\"weights\"", "\"heights\""),
        good.replace("\"kind\": \"objective-perturbation\"", "\"kind\": \"magic\""),
        good.replace(
            "\"loss\": {\n      \"name\": \"logistic\"",
            "\"loss\": {\n      \"name\": \"x\"",
        ),
    ];
    for text in damaged {
        assert_ne!(text, good);
        folder.write("bad.json", &text);
        for command in [
            "verify bad.json",
            "report bad.json",
            "predict --data clinic.csv --model bad.json",
            "evaluate --data clinic.csv --model bad.json",
        ] {
            folder.run(command).refuses("bad.json");
        }
    }
    folder.run("verify absent.json").refuses("absent.json");
    folder.write("latin1.json", b"{\"format\": \"\xe9\"}");
    folder.run("verify latin1.json").refuses("latin1.json");
}

/// Some plans make a vector of the weights: an invented number of features must not be
/// the size of one.
#[test]
fn a_model_of_more_features_than_memory_holds_fails_and_does_not_abort() {
    let folder = Folder::new();
    folder.run(&format!("{FIT} --algorithm objective")).succeeds();
    let good = folder.read("model.json");
    for features in ["9007199254740992", "18446744073709551615"] {
        let bad = good.replace("\"features\": 6", &format!("\"features\": {features}"));
        assert_ne!(bad, good);
        folder.write("bad.json", &bad);
        let run = folder.run("verify bad.json");
        assert!(run.code == Some(1) && run.says("at most 10^9 weights"), "{run:#?}");
        folder.run("report bad.json").succeeds();
    }
}

#[test]
fn odd_cells_train_and_say_nothing() {
    let folder = Folder::new();
    let clean = folder.run(FIT).succeeds();
    let base = clinic(60);
    let with = |row: &str| {
        let cut = base.trim_end().rfind('\n').unwrap();
        format!("{}\n{row}\n", &base[..cut])
    };
    for row in [
        "NaN,surgery,1,yes",
        "inf,surgery,1,yes",
        "-inf,surgery,1,yes",
        "1e999,surgery,1,yes",
        "unreadable,surgery,1,yes",
        "-5,surgery,100,yes",
        "1,elsewhere,1,yes",
        ",,,",
        "1,surgery,1,perhaps",
        "\"1\",\"sur,gery\",1,\"\"\"\"",
    ] {
        folder.write("clinic.csv", with(row));
        let run = folder.run(FIT).succeeds();
        assert_eq!((&run.stdout, &run.stderr), (&clean.stdout, &clean.stderr), "{row}");
        folder.run("predict --model model.json --data clinic.csv").succeeds();
    }
    // A name in another encoding, and a cell that is too long to be one.
    let (long, cut) = ("x".repeat(2 << 20), base.trim_end().rfind('\n').unwrap());
    let long = format!("1,{long},1,no");
    let rows = [b"1,caf\xe9,1,yes", &b"\xe9,other,1,yes"[..], b"1,other,1,\xff", long.as_bytes()];
    for row in rows {
        folder.write("clinic.csv", [&base.as_bytes()[..=cut], row, b"\n"].concat());
        let run = folder.run(FIT).succeeds();
        assert_eq!((&run.stdout, &run.stderr), (&clean.stdout, &clean.stderr));
    }
}

#[test]
fn odd_labels_train_and_say_nothing() {
    let folder = Folder::new();
    let table = clinic(60);
    let words: Vec<&str> =
        table.lines().skip(1).map(|line| line.rsplit(',').next().unwrap()).collect();
    let write = |words: &[&str]| folder.write("y.txt", words.join("\n") + "\n");
    write(&words);
    let fit = format!("{FIT} --labels y.txt");
    let clean = folder.run(&fit).succeeds();
    for odd in ["", "back", "a,b", "\"a", "PAR1", "caf\u{e9}"] {
        for place in [0, 59] {
            let mut words = words.clone();
            words[place] = odd;
            write(&words);
            let run = folder.run(&fit).succeeds();
            assert_eq!((&run.stdout, &run.stderr), (&clean.stdout, &clean.stderr), "{odd} {place}");
        }
    }
    folder.write("y.txt", format!("back\n{}\n", words.join("\n")));
    folder.run(&fit).succeeds();
}

#[test]
fn a_wrong_number_of_labels_tells_no_number() {
    let folder = Folder::new();
    let private = "--algorithm clipped-sgd --delta 1e-3 --adjacency add-remove-one --rows 73";
    for labels in [0, 59, 62] {
        folder.write("y.txt", "yes\n".repeat(labels));
        for flags in ["", private] {
            let run =
                folder.run(&format!("{FIT} {flags} --labels y.txt")).refuses("labels differs");
            let sentence = run.stderr.lines().last().unwrap();
            for number in ["59", "60", "61", "62"] {
                assert!(!sentence.contains(number), "{run:#?}");
            }
        }
    }
}

#[test]
fn odd_libsvm_rows_train_and_say_nothing() {
    let folder = Folder::new();
    let fit = FIT.replace("clinic.csv", "t.libsvm");
    let rows = |odd: &str| format!("{}{odd}\n{}", "yes 1:70\n".repeat(30), "no 1:20\n".repeat(29));
    folder.write("t.libsvm", rows("yes 1:71"));
    let clean = folder.run(&fit).succeeds();
    for odd in ["", "# gone", "yes 0:7", "yes -1:7", "yes 99:7", "yes 1:7 1:8", "PAR1"] {
        folder.write("t.libsvm", rows(odd));
        let run = folder.run(&fit).succeeds();
        assert_eq!((&run.stdout, &run.stderr), (&clean.stdout, &clean.stderr), "{odd}");
    }
}

#[test]
fn one_row_trains() {
    let folder = Folder::new();
    for table in [clinic(1), "age,ward,visit,back\nNaN,,,\n".to_owned()] {
        folder.write("clinic.csv", table);
        let run = folder.run(&format!("{FIT} --delta 0")).succeeds();
        assert!(run.stderr.lines().all(|line| line.starts_with("note: ")), "{run:#?}");
        folder.run("verify model.json").succeeds();
        folder.run("predict --model model.json --data clinic.csv").succeeds();
    }
}

/// Files that people have, and what they are told.
#[test]
fn tables_and_schemas_as_people_write_them_are_refused_with_the_way_out() {
    let folder = Folder::new();
    let table = folder.read("clinic.csv");
    folder.write("semi.csv", table.replace(',', ";"));
    folder.write("book.xlsx", &table);
    folder.write("parquet.csv", "PAR1....");
    folder.write("zip.csv", "PK\u{3}\u{4}....");
    for (name, sentence) in [
        (
            "semi.csv",
            "a single field with `;` in it: if that separates the fields, add `--separator ';'`",
        ),
        ("book.xlsx", "not a readable workbook file"),
        ("parquet.csv", "looks like a Parquet file: name it .parquet"),
        ("zip.csv", "a workbook or a zip archive: name a workbook .xlsx"),
    ] {
        folder.run(&FIT.replace("clinic.csv", name)).refuses(sentence);
    }
    let number = "\"bounds\": {\"min\": 0, \"max\": 100}";
    assert!(CLINIC.contains(number), "{CLINIC}");
    for (from, to, sentence) in [
        (number, "\"bounds\": [0, 100]", "column `age` has bounds of another form: write"),
        (number, "\"min\": 0, \"max\": 100", "column `age` has no bounds but a field `max`"),
        (number, "\"bound\": {\"min\": 0}", "no bounds but a field `bound`"),
        ("{", "{ // the clinic\n", "JSON has no comments: remove the one at line 1 column 3"),
        ("\"", "'", "names and texts need double quotes"),
        ("{", "# the clinic\n{", "JSON has no comments and begins with {"),
        ("\"real\", \"bounds\"", "\"date\", \"bounds\"", "needs two of them as bounds"),
    ] {
        let times = if from == "\"" { usize::MAX } else { 1 };
        folder.write("bad.json", CLINIC.replacen(from, to, times));
        folder.run("schema check bad.json").refuses(sentence);
    }
    // Every gap at once.
    folder.write(
        "bad.json",
        CLINIC.replace(number, "\"x\": 0").replace("\"categories\"", "\"kinds\""),
    );
    let run = folder.run(&FIT.replace("clinic.json", "bad.json")).refuses("problems: (1) column `");
    assert!(run.stderr.contains("has no bounds") && run.stderr.contains("has no categories"));
    folder.run(FIT).succeeds();
    folder.write(
        "m.json",
        folder.read("model.json").replace("reticent-model/1", "reticent-model/99"),
    );
    folder
        .run("verify m.json")
        .refuses("another version (`reticent-model/99`), and this one reads");
}

#[test]
fn separators_decimal_marks_and_standard_input_give_the_same_model() {
    let folder = Folder::new();
    let table = folder.read("clinic.csv");
    folder.write("semi.csv", table.replace(',', ";"));
    folder.write("comma.csv", table.replace(',', ";").replace('.', ","));
    folder.write("tab.data", table.replace(',', "\t"));
    let fit = format!("{FIT} --algorithm objective --insecure-seed 7");
    folder.run(&fit).succeeds();
    let expected = folder.json("model.json")["weights"].clone();
    for data in [
        "semi.csv --separator ;",
        "comma.csv --separator ; --decimal ,",
        "tab.data --separator tab",
        "tab.data --format tsv",
    ] {
        folder.run(&fit.replace("clinic.csv", data)).succeeds();
        assert_eq!(folder.json("model.json")["weights"], expected, "{data}");
    }
    let piped = fit.replace("clinic.csv", "- --format csv --separator ';'");
    folder.shell(&format!("cat semi.csv | $RETICENT {piped}")).succeeds();
    assert_eq!(folder.json("model.json")["weights"], expected);
    let read = "--format csv --separator ';' --data -";
    let counts = format!("cat semi.csv | $RETICENT data check --schema clinic.json {read}");
    let counts = folder.shell(&counts).succeeds().stdout;
    assert!(counts.contains("; 0 (0.0 %) become zero"), "{counts}");
    let predict = format!("cat semi.csv | $RETICENT predict --model model.json {read}");
    let lines = folder.shell(&predict).succeeds().stdout.lines().count();
    assert_eq!(lines, table.lines().count());
    // A message names what was typed.
    folder.shell(&format!("printf 'a;b\n' | $RETICENT {piped}")).refuses("standard input");
}

#[test]
fn a_point_under_a_decimal_comma_is_unreadable_and_not_a_thousand() {
    let folder = Folder::new();
    let names = folder.read("clinic.csv").lines().next().unwrap().replace(',', ";");
    assert!(names.split(';').count() >= 3, "{names}");
    let header: Vec<&str> = names.split(';').collect();
    let row = |age: &str| {
        let cell = |name: &&str| match *name {
            "age" => age.to_owned(),
            _ => String::new(),
        };
        header.iter().map(cell).collect::<Vec<_>>().join(";")
    };
    let rows = ["1.234", "12,5", ".", "40"].map(row).join("\n");
    folder.write("t.csv", format!("{names}\n{rows}\n"));
    let check = "data check --data t.csv --schema clinic.json --separator ; --decimal , --json";
    let counts = folder.run(check).succeeds().json();
    assert_eq!(counts["zero_rows"], 1, "{counts}");
}
