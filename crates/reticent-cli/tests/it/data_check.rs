//! The owner's look at a private table, memory that is counted before anything is paid for, and
//! sparse rows.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::fmt::Write;

use crate::common::{FIT, Folder, clinic};

const CHECK: &str = "data check --data clinic.csv --schema clinic.json";

/// A table of which an export has spoiled cells: 10 numbers with commas, 5 unknown wards, 8 unknown
/// labels; 5 of 60 visits are missing.
fn spoiled() -> String {
    let mut text = String::new();
    for (i, line) in clinic(60).lines().enumerate() {
        let mut cells: Vec<&str> = line.split(',').collect();
        if (1..=10).contains(&i) {
            cells[0] = "\"5,7\"";
        }
        if (11..=15).contains(&i) {
            cells[1] = "cellar";
        }
        if (21..=28).contains(&i) {
            cells[3] = "dead";
        }
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    text
}

#[test]
fn exact_counts_are_marked_private_and_written_nowhere() {
    let folder = Folder::new();
    folder.write("clinic.csv", spoiled());
    let names = folder.names();
    let run = folder.run(CHECK).succeeds();
    assert!(run.stdout.starts_with("PRIVATE: "), "{run:#?}");
    for word in ["10 (16.7 %) become zero", "8 (13.3 %) labels", "undeclared"] {
        assert!(run.stdout.contains(word), "{word}: {run:#?}");
    }
    let json = folder.run(&format!("{CHECK} --json")).succeeds().json();
    assert_eq!((&json["private"], &json["zero_rows"]), (&true.into(), &10.into()));
    assert_eq!(json["columns"][0]["unreadable"], 10);
    assert_eq!(json["columns"][1]["undeclared"], 5);
    assert_eq!(json["columns"][2]["missing"], 5);
    assert_eq!(json["target"]["undeclared"], 8);
    assert_eq!(folder.names(), names, "a check writes no file");
    // A fit of the same table says nothing of the kind, but that there is a way to look.
    let fit = folder.run(FIT).succeeds();
    assert!(fit.stderr.contains("`reticent data check`"), "{fit:#?}");
    folder.write("clinic.csv", clinic(60));
    let clean = folder.run(FIT).succeeds();
    assert_eq!((fit.stdout, fit.stderr), (clean.stdout, clean.stderr));
    folder.run(&CHECK.replace("clinic.csv", "absent.csv")).refuses("absent.csv");
    folder.run(&format!("{CHECK} --ledger c.ledger")).refuses("--epsilon");
}

#[test]
fn shared_counts_are_noisy_and_paid_for() {
    let folder = Folder::new();
    folder.write("clinic.csv", clinic(4000));
    folder.run("ledger init c.ledger --epsilon 1 --delta 1e-6").succeeds();
    let shared = format!("{CHECK} --epsilon 0.5 --delta 1e-7 --ledger c.ledger --json");
    let json = folder.run(&shared).succeeds().json();
    assert_eq!(
        (&json["private"], &json["rows"], &json["charge"]),
        (&false.into(), &4000.into(), &1.into())
    );
    let statement = json["statement"].as_str().unwrap();
    assert!(statement.contains("epsilon = 0.5") && statement.contains("1e-7"), "{statement}");
    // The Gaussian of sensitivity sqrt(2 * 4 + 1) = 3.
    let deviation = json["noise_deviation"].as_f64().unwrap();
    assert!((20.0..60.0).contains(&deviation), "{deviation}");
    let missing = json["columns"][2]["missing"].as_f64().unwrap();
    assert!((missing - 363.0).abs() < 8.0 * deviation, "{missing}");
    let standing = folder.run("ledger show c.ledger --json").succeeds().json();
    let charge = &standing["charges"][0];
    assert!(
        charge["state"] == "begun"
            && charge["label"].as_str().or(charge["item"]["label"].as_str()) == Some("data check"),
        "{charge:#}"
    );
    // A charge that does not fit is refused, and nothing is revealed.
    let large = shared.replace("0.5", "5");
    folder.run(&large).refuses("is left");
    // Nor is anything paid for a table that cannot be read, or for another data set.
    folder.write("bad.csv", "age,ward\n1\n");
    folder.run(&shared.replace("clinic.csv", "bad.csv")).refuses("bad.csv");
    folder.write("other.json", crate::common::CLINIC.replace("\"visit\"", "\"stay\""));
    folder.write("clinic.csv", clinic(60).replace("visit", "stay"));
    let other = shared.replace("clinic.json", "other.json").replace("0.5", "0.1");
    folder.run(&other).refuses("schema's columns");
    let standing = folder.run("ledger show c.ledger --json").succeeds().json();
    assert_eq!(standing["charges"].as_array().unwrap().len(), 1);
}

#[test]
fn a_private_number_of_rows_is_not_told() {
    let folder = Folder::new();
    folder.run(&format!("{CHECK} --epsilon 1 --adjacency add-remove-one")).refuses("`--rows`");
    let check = format!("{CHECK} --epsilon 1 --adjacency add-remove-one --rows 73");
    let run = folder.run(&check).succeeds();
    assert!(run.says("73 rows") && !run.says("60"), "{run:#?}");
    folder.write("clinic.csv", "age,ward,visit,back\n");
    folder.run(&check).succeeds();
}

/// A schema of one vector, for libsvm files.
fn wide(columns: usize) -> String {
    format!(
        r#"{{"target": "y", "columns": [
            {{"name": "x", "type": "vector", "dimension": {columns}, "bounds": {{"min": 0, "max": 1}}}},
            {{"name": "y", "type": "categorical", "categories": ["no", "yes"]}}]}}"#
    )
}

#[test]
fn libsvm_files_stay_sparse_unless_absent_entries_are_encoded() {
    let folder = Folder::new();
    let row = |i: usize| format!("{} {}:1\n", ["no", "yes"][i % 2], i + 1);
    folder.write("t.svm", (0..60).map(row).collect::<Vec<_>>().concat());
    folder.write("wide.json", wide(200));
    let fit = "fit --data t.svm --schema wide.json --out model.json --force --epsilon 1 --algorithm output-gd --steps 5";
    let precision = |flags: &str| {
        folder.run(&format!("{fit} {flags}")).succeeds();
        folder.json("model.json")["task"]["encoding"]["precision"].as_str().unwrap().to_owned()
    };
    assert_eq!(precision(""), "sparse");
    assert_eq!(precision("--precision f64"), "f64");
    // The number 0 then is the middle of the bounds, and no feature is zero.
    assert_eq!(precision("--numeric-range symmetric"), "f64");
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_counted_before_anything_is_paid_for() {
    let folder = Folder::new();
    folder.write("t.svm", "yes 1:1\nno 2:1\n".repeat(1500));
    folder.write("wide.json", wide(20_000));
    folder.run("ledger init c.ledger --epsilon 9 --delta 1e-6").succeeds();
    let limited = |flags: &str| {
        folder.shell(&format!("ulimit -v 400000; $RETICENT fit --data t.svm --schema wide.json --out model.json --epsilon 1 --delta 1e-7 --ledger c.ledger --precision f64 {flags}"))
    };
    let run = limited("--algorithm output-gd --steps 5").refuses("--precision sparse");
    assert!(run.stderr.contains("3000 rows of 20001 encoded columns"), "{run:#?}");
    let show = || folder.run("ledger show c.ledger --json").succeeds().json()["charges"].clone();
    assert_eq!(show().as_array().unwrap().len(), 0);
    // Where the number of rows is private, the declared one is counted. The reader meets the end of
    // memory itself, tells no number, and the charge is taken back.
    let private =
        "--algorithm clipped-sgd --steps 5 --batch 5 --clip 1 --adjacency add-remove-one --rows 10";
    folder
        .run("ledger init d.ledger --epsilon 9 --delta 1e-6 --adjacency add-remove-one")
        .succeeds();
    let run = folder.shell(&format!("ulimit -v 400000; $RETICENT fit --data t.svm --schema wide.json --out model.json --epsilon 1 --delta 1e-7 --ledger d.ledger --precision f64 {private}"));
    let run = run.refuses("do not fit into memory");
    assert!(!run.says("3000"), "{run:#?}");
    let show = folder.run("ledger show d.ledger --json").succeeds().json();
    assert_eq!(show["charges"][0]["state"], "refunded", "{show:#}");
}
