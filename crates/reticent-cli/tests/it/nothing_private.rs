//! No cell of a table reaches a stream or a file, whether the run succeeds or fails.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use crate::common::{FIT, Folder, Run, clinic, gzip};

const NUMBER: &str = "987654.321";
const WORD: &str = "zzcanaryzz";

/// Asserts that neither canary is to be seen, however it is written. Shorter pieces occur in noise
/// by chance.
fn assert_quiet(folder: &Folder, run: &Run) {
    for canary in [NUMBER, "9.87654321", "987654321", WORD, "canary"] {
        assert!(!run.says(canary), "{run:#?}");
        for name in ["model.json", "report.html", "p.csv"] {
            if folder.path(name).exists() {
                assert!(!folder.read(name).contains(canary), "{canary} in {name} of {run:#?}");
            }
        }
    }
}

/// The clinic table with these lines instead of its first row.
fn with(lines: &str) -> String {
    let table = clinic(60);
    let mut parts = table.splitn(3, '\n');
    let (header, rest) = (parts.next().unwrap(), parts.nth(1).unwrap());
    format!("{header}\n{lines}\n{rest}")
}

#[test]
fn a_successful_run_shows_no_cell() {
    let folder = Folder::new();
    for row in [
        format!("{NUMBER},surgery,1,yes"),
        format!("{WORD},surgery,1,yes"),
        format!("1,{WORD},1,yes"),
        format!("1,{NUMBER},1,yes"),
        format!("1,surgery,{NUMBER},no"),
        format!("1,surgery,1,{WORD}"),
        format!("1,surgery,1,{NUMBER}"),
    ] {
        folder.write("clinic.csv", with(&row));
        for flags in ["", "--json", "--target ward", "--target age", "--insecure-seed 1"] {
            let run = folder.run(&format!("{FIT} {flags}")).succeeds();
            assert_quiet(&folder, &run);
        }
        folder.run(FIT).succeeds();
        for command in [
            "report model.json",
            "verify model.json",
            "predict --model model.json --data clinic.csv --out p.csv",
            "predict --model model.json --data clinic.csv --json",
            "evaluate --model model.json --data clinic.csv",
        ] {
            assert_quiet(&folder, &folder.run(command));
        }
    }
}

#[test]
fn an_undeclared_column_leaves_no_trace() {
    let folder = Folder::new();
    let table = clinic(60).replace("no\n", &format!("no,{WORD}\n"));
    let table =
        table.replace("yes\n", &format!("yes,{NUMBER}\n")).replace("back\n", "back,diary\n");
    folder.write("clinic.csv", table);
    let run = folder.run(FIT).succeeds();
    assert_quiet(&folder, &run);
    assert!(!folder.read("model.json").contains("diary"));
}

#[test]
fn a_failing_run_shows_no_cell() {
    let folder = Folder::new();
    let row = format!("{NUMBER},{WORD},1,{WORD}\n");
    let packed = gzip(with(&row.repeat(5000)).as_bytes());
    let cut = &packed[..packed.len() / 2];
    let tables: Vec<(&str, Vec<u8>)> = vec![
        ("headless.csv", row.repeat(3).into_bytes()),
        ("number.csv", format!("{NUMBER}\n{NUMBER}\n").into_bytes()),
        ("quoted.csv", format!("\"{WORD}\"\n\"{WORD}\"\n").into_bytes()),
        ("list.csv", format!("[{NUMBER}, \"{WORD}\"]\n").into_bytes()),
        ("ragged.csv", with(&format!("{row}{NUMBER},{WORD}")).into_bytes()),
        ("open.csv", with(&format!("{row}\"{WORD},1,1,yes")).into_bytes()),
        ("long.csv", with(&format!("1,{},1,yes", WORD.repeat(200_000))).into_bytes()),
        ("latin1.csv", [with(&row).as_bytes(), b"1,\xe9,1,yes\n"].concat()),
        ("twice.csv", format!("age,age,ward,visit,back\n{NUMBER},1,{WORD},1,no\n").into_bytes()),
        ("cut.csv.gz", cut.to_vec()),
        ("latin1.libsvm", [row.as_bytes(), b"1 1:\xe9\n"].concat()),
        ("table.dat", row.clone().into_bytes()),
    ];
    folder.run(FIT).succeeds();
    for (name, bytes) in tables {
        folder.write(name, bytes);
        // Mixed up with the schema, the model or a batch, a table is read by someone else.
        for arguments in [
            FIT.replace("clinic.csv", name),
            FIT.replace("clinic.json", name),
            format!("{} --json", FIT.replace("clinic.csv", name)),
            format!("schema check {name}"),
            format!("plan --n 60 --epsilon 1 --schema {name}"),
            format!("predict --model {name} --data clinic.csv"),
            format!("verify {name}"),
            format!("report {name}"),
            format!("calc --namespace output-gd --batch {name}"),
        ] {
            let run = folder.run(&arguments);
            // A JSON list is a batch of formulas without names: nothing is wrong with it as a file.
            let batch = arguments.starts_with("calc") && name == "list.csv";
            // Cells of any length and in any encoding are read.
            let table = ["long.csv", "latin1.csv", "latin1.libsvm"].contains(&name)
                && arguments.contains(&format!("--data {name}"));
            if !batch {
                assert_eq!(run.code, Some(if table { 0 } else { 2 }), "{run:#?}");
            }
            assert_quiet(&folder, &run);
        }
    }
}

#[test]
fn a_refused_argument_shows_no_cell() {
    let folder = Folder::new();
    folder.write("clinic.csv", with(&format!("{NUMBER},{WORD},1,{WORD}")));
    for flags in [
        "--algorithm output-gd --step-size 1000",
        "--steps 0",
        "--mu -1",
        "--adjacency add-remove-one",
        "--algorithm guess",
        "--algorithm output-gd --loss hinge",
        "--delta 2",
        "--drop age,ward,visit",
    ] {
        let run = folder.run(&format!("{FIT} {flags}")).refuses("");
        assert_quiet(&folder, &run);
    }
    let fit = format!("{} --algorithm objective", FIT.replace("model.json", "absent/model.json"));
    let run = folder.run(&fit).refuses("absent");
    assert_quiet(&folder, &run);
}

/// Every file below a folder.
fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn what_a_schema_says_besides_is_in_no_output() {
    let folder = Folder::new();
    folder.write("clinic.csv", clinic(400));
    let marked = crate::common::CLINIC
        .replacen(
            "{\"name\"",
            &format!("{{\"rows\": 400, \"class_counts\": {{\"{WORD}\": [\"{WORD}\", 300]}}, \"name\""),
            1,
        )
        .replace("\"max\": 100}", &format!("\"max\": 100, \"basis\": \"{WORD}\", \"note\": \"{WORD}\"}}, \"seen\": \"{WORD}\""))
        .replace(
            "\"columns\": [",
            &format!("\"columns\": [{{\"name\": \"{WORD}\", \"role\": \"id\", \"type\": \"{WORD}\", \"missing\": \"{WORD}\"}},"),
        );
    folder.write("marked.json", &marked);
    let run =
        |arguments: &str| folder.shell(&format!("RETICENT_CACHE=cache $RETICENT {arguments}"));
    let fit = "fit --data clinic.csv --schema marked.json";
    for ledger in ["l.ledger", "t.ledger"] {
        run(&format!("ledger init {ledger} --epsilon 9 --delta 1e-5")).succeeds();
    }
    let mut runs = vec![
        run(&format!("{fit} --epsilon 0.3 --delta 1e-7 --ledger l.ledger --out model.json")).succeeds(),
        run("tune --data clinic.csv --schema marked.json --epsilon 1 --delta 1e-7 --trials 2 --try objective --try \"objective mu=0.01\" --ledger t.ledger --out tuned.json").succeeds(),
        run("ledger export l.ledger --out export.json").succeeds(),
        run("ledger history l.ledger --json").succeeds(),
        run("report model.json --ledger l.ledger --out report.html").succeeds(),
        run("verify model.json --ledger l.ledger").succeeds(),
        run("predict --model model.json --data clinic.csv --out p.csv").succeeds(),
    ];
    // A run that dies leaves its checkpoint.
    let long = "--algorithm clipped-sgd --clip 1 --batch 10 --steps 20000 --epsilon 1 --checkpoint c --checkpoint-every 1";
    let mut child = folder.begin(&format!("{fit} {long} --out never.json"), "c");
    child.kill().unwrap();
    child.wait().unwrap();
    let told = run(&format!(
        "{fit} --epsilon 1 --algorithm output-gd --insecure-seed 1 --out seeded.json --json"
    ))
    .succeeds();
    for path in [
        "`rows`",
        "`class_counts`",
        "`columns[1].bounds.note`",
        "`columns[1].seen`",
        "`columns[1].bounds.basis`",
    ] {
        assert!(told.stderr.contains(path), "{path} is named: {told:#?}");
    }
    runs.push(told);
    for run in &runs {
        assert!(!run.says(WORD), "{run:#?}");
    }
    let written = files(folder.folder());
    for name in [
        "model.json",
        "tuned.json",
        "l.ledger",
        "export.json",
        "report.html",
        "p.csv",
        "c",
        "plans.json",
    ] {
        assert!(written.iter().any(|path| path.ends_with(name)), "{name} in {written:?}");
    }
    let is_input = |path: &&std::path::PathBuf| path.ends_with("marked.json");
    for path in written.iter().filter(|path| !is_input(path)) {
        let bytes = std::fs::read(path).unwrap();
        assert!(!bytes.windows(WORD.len()).any(|w| w == WORD.as_bytes()), "{}", path.display());
    }
    // The owner's own terminal shows what is left out, and a target can be any declared column.
    assert!(folder.run("schema check marked.json").succeeds().stdout.contains("`class_counts`"));
    run(&format!("{fit} --epsilon 1 --algorithm output-gd --target age --out other.json"))
        .succeeds();
    assert!(!folder.read("other.json").contains("\"back\""), "the former target is left out");
}
