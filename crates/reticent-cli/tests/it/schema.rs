//! Making a schema: from a header, from a file's own types, from a data dictionary.

use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int32Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;

use crate::common::Folder;

#[test]
fn a_skeleton_holds_the_header_and_no_cell_and_check_lists_its_blanks() {
    let folder = Folder::new();
    // A second line that no reader of rows takes: nobody looks at it.
    folder.write("odd.csv", "age,ward,back\nSECRET,\"SECRET");
    let run = folder.run("schema init --data odd.csv --target back --out odd.schema.json");
    run.succeeds();
    let text = folder.read("odd.schema.json");
    assert!(!text.contains("SECRET"), "{text}");
    let blank = folder.run("schema check odd.schema.json");
    assert_eq!((blank.code, blank.stdout.as_str()), (Some(2), ""));
    for (line, name) in blank.stderr.lines().zip(["age", "ward", "back"]) {
        let at = text.lines().position(|l| l.contains(&format!("\"name\": \"{name}\""))).unwrap();
        let start = format!("error: odd.schema.json:{}:3: column `{name}` is blank", at + 1);
        assert!(line.starts_with(&start), "{line}");
    }
    assert_eq!(blank.stderr.lines().count(), 3);
    let json = folder.run("schema check odd.schema.json --json").json();
    assert_eq!(json["error"]["problems"].as_array().unwrap().len(), 3);
    assert_eq!(json["error"]["problems"][0]["column"], 3);
    // Filled in, it is a schema like any other.
    let filled = text
        .replacen("{\"min\": null, \"max\": null}", "{\"min\": 0, \"max\": 110}", 1)
        .replacen("\"categories\": null", "\"ignored\": 0", 1)
        .replace("\"categories\": null", "\"categories\": [\"no\", \"yes\"]");
    folder.write("odd.schema.json", filled);
    let told = folder.run("schema check odd.schema.json").succeeds();
    assert!(told.stdout.contains("`yes` is +1") && !told.stdout.contains("_help"), "{told:#?}");
    // A file that may be filled in is not replaced, and no output replaces an input.
    let again = "schema init --data odd.csv --out odd.schema.json";
    folder.run(again).refuses("--force");
    folder.run(&format!("{again} --force")).succeeds();
    folder.run("schema init --data odd.csv --out odd.csv --force").refuses("--out");
    folder.run("schema init --data odd.csv --target absent").refuses("`absent`");
    folder.run("schema init --target back").refuses("--data");
}

#[test]
fn types_come_from_a_file_that_states_them() {
    let folder = Folder::new();
    let columns: [(&str, ArrayRef); 3] = [
        ("age", Arc::new(Int32Array::from(vec![1]))),
        ("smoker", Arc::new(BooleanArray::from(vec![true]))),
        ("back", Arc::new(StringArray::from(vec!["SECRET"]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = File::create(folder.path("t.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let text = folder.run("schema init --data t.parquet --target back").succeeds().stdout;
    for line in [
        r#"{"name": "age", "role": "feature", "type": "integer", "bounds": {"min": null, "max": null}}"#,
        r#"{"name": "smoker", "role": "feature", "type": "boolean"}"#,
        r#"{"name": "back", "role": "target", "type": "categorical", "categories": null}"#,
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(!text.contains("SECRET"));
}

#[test]
fn a_data_dictionary_fills_a_schema_in() {
    let folder = Folder::new();
    folder.write(
        "words.csv",
        "Name,Type,Min,Max,Categories,Role\nage,real,0,100,,\nward,,,,surgery | internal|other,\n\
         visit,integer,0,9.5,,\nback,factor,,,no|yes,\nnurse,text,,,,ignore\n",
    );
    folder.run("schema init --dictionary words.csv --target back --out w.json").succeeds();
    let told = folder.run("schema check w.json").succeeds().stdout;
    assert!(told.contains("clamped to [0, 100]") && told.contains("[0, 9.5]"), "{told}");
    assert!(told.contains("one-hot, 3 categories"), "{told}");
    assert_eq!(folder.json("w.json")["columns"][0]["bounds"]["basis"], "data-dictionary");
    // With a table, its columns in its order; of others nothing is known.
    folder.write("t.csv", "back,pulse,age\n");
    let text = folder.run("schema init --data t.csv --dictionary words.csv").succeeds().stdout;
    let at = |name: &str| text.find(name).unwrap();
    assert!(at("\"back\"") < at("\"pulse\"") && at("\"pulse\"") < at("\"age\""), "{text}");
    assert!(!text.contains("ward"), "{text}");
    folder.write("no.csv", "column,type\n");
    folder.run("schema init --dictionary no.csv").refuses("`name`");
}

#[test]
fn a_data_dictionary_that_cannot_be_read_is_refused_with_its_place() {
    let folder = Folder::new();
    let refuses = |text: &str, why: &str| {
        folder.write("words.csv", format!("name,type,min,max,role\nage,real,0,110,\n{text}\n"));
        folder.run("schema init --dictionary words.csv").refuses(why);
    };
    refuses("wage,real,0,\"1,000\",", "line 3, field `max`, `1,000` is not a number");
    refuses("wage,wibble,0,1000,", "line 3, field `type`, `wibble` is not a type");
    folder.write("words.csv", "name,type,min,max,role\nwage,wibble,NA,,ignore\n");
    folder.run("schema init --dictionary words.csv").succeeds();
}
