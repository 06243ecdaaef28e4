//! Units of several rows, from the command line: declaration, guarantee, certificate, ledger, and
//! what stays private.

use std::fmt::Write as _;

use crate::common::{CLINIC, FIT, Folder, redigest, weights};
use serde_json::Value;

const UNIT: &str = "--unit patient --max-rows 4 --delta 1e-3";

/// A named algorithm, so that no table is simulated.
const SGD: &str = "--algorithm clipped-sgd";

/// The clinic with a patient for each row: `rows(p)` visits of patient `p`, in turns.
fn visits(patients: usize, rows: impl Fn(usize) -> usize) -> String {
    let mut text = "patient,age,ward,visit,back\n".to_owned();
    let most = (0..patients).map(&rows).max().unwrap_or(0);
    for visit in 0..most {
        for p in (0..patients).filter(|p| visit < rows(*p)) {
            let ward = ["surgery", "internal", "other"][(p + visit) % 3];
            let back = if (p * 7 + visit) % 3 == 0 { "yes" } else { "no" };
            _ = writeln!(text, "p{p},{},{ward},{},{back}", (p * 13) % 100, visit % 9);
        }
    }
    text
}

fn clinic(rows: impl Fn(usize) -> usize) -> Folder {
    let folder = Folder::new();
    folder.write("clinic.csv", visits(50, rows));
    folder
}

#[test]
fn a_unit_is_declared_in_the_schema_or_by_flags() {
    let folder = clinic(|p| 1 + p % 7);
    let run = folder.run(&format!("{FIT} {UNIT} {SGD}")).succeeds();
    assert!(run.stdout.contains("replacement of all rows of one `patient` (at most 4 are used)"));
    assert!(run.stdout.contains("from 50 units"), "{run:#?}");
    let model = folder.json("model.json");
    let plan = &model["certificate"]["plan"];
    assert_eq!(plan["problem"]["rows"], 50);
    assert_eq!(plan["problem"]["unit"]["max_rows"], 4);
    assert_eq!(plan["budget"]["adjacency"], "replace-one-unit");
    assert_eq!(model["task"]["declaration"]["unit"]["column"], "patient");
    let verified = folder.run("verify model.json").succeeds();
    assert!(verified.stdout.contains("all rows of one `patient`"), "{verified:#?}");
    assert!(verified.stdout.contains("\n  units: 50\n"), "{verified:#?}");
    assert!(verified.stdout.contains("all rows of one person have the same `patient`"));
    assert!(!verified.stdout.contains("one person has one row"), "{verified:#?}");
    folder.run("report model.json").succeeds();
    let report = folder.read("report.html");
    assert!(report.contains("all rows of one `patient` (at most 4 are used)"));
    assert!(!report.contains("a person with k rows"));

    let whole = r#""unit": {"column": "patient", "max_rows": 4}, "target""#;
    folder.write("units.json", CLINIC.replace(r#""target""#, whole));
    let flags =
        "fit --data clinic.csv --schema units.json --out other.json --epsilon 1 --delta 1e-3";
    folder.run(&format!("{flags} {SGD}")).succeeds();
    assert_eq!(folder.json("other.json")["certificate"]["plan"], *plan);
    let told = folder.run("schema check units.json").succeeds();
    assert!(told.stdout.contains("the guarantee protects all rows of one `patient`"), "{told:#?}");
    let told = folder.run("schema check clinic.json").succeeds();
    assert!(told.stdout.contains("the guarantee protects one row"), "{told:#?}");
    for adjacency in ["add-remove-one --rows 50", "zero-out", "replace-one-unit"] {
        folder.run(&format!("{FIT} {UNIT} {SGD} --adjacency {adjacency}")).succeeds();
        let word = folder.json("model.json")["certificate"]["budget"]["adjacency"].clone();
        assert!(word.as_str().unwrap().ends_with("-unit"), "{word}");
        folder.run("verify model.json").succeeds();
    }
}

#[test]
fn half_a_declaration_and_the_role_of_a_group_are_refused() {
    let folder = clinic(|_| 2);
    folder.run(&format!("{FIT} --unit patient")).refuses("without `max_rows`");
    folder.run(&format!("{FIT} --max-rows 3")).refuses("`unit.column` is absent");
    folder.run(&format!("{FIT} --unit patient --max-rows 0")).refuses("from 1 to 1000000");
    folder.run(&format!("{FIT} --unit age --max-rows 2")).refuses("never learnt from");
    folder.run(&format!("{FIT} --unit doctor --max-rows 2")).refuses("doctor");
    folder.run(&format!("{FIT} --adjacency replace-one-unit")).refuses("needs a `--unit`");
    folder.run(&format!("{FIT} {UNIT} --algorithm phased")).refuses("use one of objective");
    folder
        .run("data check --data clinic.csv --schema clinic.json --epsilon 1 --adjacency zero-out-unit")
        .refuses("needs a `unit`");
    let group = r#""columns": [{"name": "patient", "role": "group", "type": "text"},"#;
    folder.write("clinic.json", CLINIC.replace(r#""columns": ["#, group));
    folder.run(FIT).refuses("--unit patient --max-rows 8");
    // Anyone who names the column says what it is for.
    folder.run(&format!("{FIT} {UNIT} {SGD}")).succeeds();
    folder.write("clinic.json", CLINIC.replace(r#""target""#, r#""unit": "patient", "target""#));
    folder.run(FIT).refuses("`unit` names `patient` without `max_rows`");
    folder.run(&format!("{FIT} {SGD} --unit none")).succeeds();
    folder.run(&format!("{FIT} {SGD} --max-rows 4 --delta 1e-3")).succeeds();
}

/// Two tables that differ in one patient's rows and in their number: all output and files are the
/// same but for the weights, for every command.
#[test]
fn the_number_of_rows_is_told_nowhere() {
    let mut seen: Vec<Vec<String>> = Vec::new();
    for rows in [1_usize, 2, 90] {
        let folder = clinic(|p| if p == 17 { rows } else { 3 });
        let mut texts = Vec::new();
        for flags in ["", "--json", "--verbose", "--algorithm clipped-sgd", "--algorithm output-gd"]
        {
            let run = folder.run(&format!("{FIT} {UNIT} --insecure-seed 5 {flags}")).succeeds();
            let mut model = folder.json("model.json");
            assert!(!weights(&model).is_empty());
            model["weights"] = Value::Null;
            redigest(&mut model);
            texts.extend([run.stdout, run.stderr, model.to_string()]);
        }
        for flags in [
            "--algorithm phased",
            "--algorithm least-squares",
            "--algorithm clipped-sgd --memory 8MB",
        ] {
            texts.push(folder.run(&format!("{FIT} {UNIT} {flags}")).stderr);
        }
        // Under every adjacency, also where the number of units is declared.
        let fit = format!("{FIT} {UNIT} {SGD}");
        for adjacency in ["zero-out-unit", "add-remove-one-unit --rows 50"] {
            let run = format!("{fit} --insecure-seed 5 --adjacency {adjacency} --verbose");
            let run = folder.run(&run).succeeds();
            let mut model = folder.json("model.json");
            model["weights"] = Value::Null;
            redigest(&mut model);
            texts.extend([run.stdout, run.stderr, model.to_string()]);
        }
        // Commands that show a model, or pay for it. Times, names and keys that are drawn are left
        // out.
        let constant = |text: String| {
            let words = text.split_inclusive([' ', '\n', '"', '<', '>', ',']);
            let drawn = |word: &&str| {
                let plain = word.trim_end_matches([' ', '\n', '"', '<', '>', ',']);
                let digits = plain.chars().filter(char::is_ascii_hexdigit).count();
                !(plain.contains('T') && plain.ends_with('Z') || digits >= 16)
            };
            words.filter(drawn).collect::<String>()
        };
        folder.run("ledger init all.ledger --epsilon 9 --delta 1e-2 --unit patient").succeeds();
        let run = folder.run(&format!("{fit} --ledger all.ledger")).succeeds();
        texts.push(constant(run.stdout));
        for told in
            ["ledger show all.ledger", "ledger history all.ledger", "ledger check all.ledger"]
        {
            texts.push(constant(folder.run(told).succeeds().stdout));
        }
        for command in ["verify model.json --json", "verify model.json"] {
            texts.push(constant(folder.run(command).succeeds().stdout));
        }
        let tune = "tune --data clinic.csv --schema clinic.json --out tuned.json --epsilon 2 --insecure-seed 5";
        let tries = ["--try", "clipped-sgd steps=5", "--try", "clipped-sgd steps=9"];
        let run = folder.run_with(&format!("{tune} {UNIT}"), &tries).succeeds();
        let selection = folder.json("tuned.json")["certificate"]["selection"].clone();
        texts.extend([run.stderr, selection["candidates"].to_string()]);
        let streamed = format!("{FIT} {UNIT} {SGD} --insecure-seed 5 --memory 512MB --verbose");
        let run = folder.run(&streamed).succeeds();
        texts.extend([run.stdout, run.stderr]);
        seen.push(texts);
    }
    for (at, first) in seen[0].iter().enumerate() {
        assert_eq!(*first, seen[1][at]);
        assert_eq!(*first, seen[2][at]);
    }
}

/// Streamed, units are those in memory: batches are the same, and sums differ by rounding alone,
/// which may move a weight by a cell of the grid.
#[test]
fn a_streamed_table_gives_the_model_of_the_whole_one() {
    let folder = clinic(|p| if p == 17 { 400 } else { 1 + p % 7 });
    for algorithm in ["clipped-sgd", "output-gd", "objective"] {
        let fit = format!("{FIT} {UNIT} --insecure-seed 3 --algorithm {algorithm}");
        folder.run(&fit).succeeds();
        let whole = folder.json("model.json");
        folder.run(&format!("{fit} --memory 512MB")).succeeds();
        let streamed = folder.json("model.json");
        assert_eq!(whole["certificate"]["plan"], streamed["certificate"]["plan"], "{algorithm}");
        for (a, b) in weights(&whole).into_iter().zip(weights(&streamed)) {
            assert!((a - b).abs() <= 1e-6 * (1.0 + a.abs()), "{algorithm}: {a} {b}");
        }
    }
    folder.run(&format!("{FIT} {UNIT} {SGD} --memory 512MB")).succeeds();
    folder.run("verify model.json").succeeds();
    let nowhere = format!("TMPDIR=none $RETICENT {FIT} {UNIT} {SGD} --memory 512MB");
    folder.shell(&nowhere).refuses("in the variable TMPDIR");
}

/// The temporary files of a streamed table are for the owner alone, have no name, and are gone with
/// the process, however it ends.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_run_leaves_no_temporary_file() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::{Duration, Instant};

    let folder = clinic(|p| 1 + p % 7);
    let place = folder.path("temporary");
    std::fs::create_dir(&place).unwrap();
    let long = format!("{FIT} {UNIT} --memory 512MB {SGD} --batch 10 --steps 4000");
    let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(long.split(' '))
        .current_dir(folder.folder())
        .env("TMPDIR", &place)
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let open = std::path::PathBuf::from(format!("/proc/{}/fd", run.id()));
    let is_there = || {
        let files = std::fs::read_dir(&open).into_iter().flatten().flatten();
        files
            .map(|file| file.path())
            .find(|file| std::fs::read_link(file).is_ok_and(|to| to.starts_with(&place)))
    };
    let since = Instant::now();
    let mode = loop {
        // The number may be another file's by the time its mode is known.
        if let Some(file) = is_there()
            && let Ok(found) = std::fs::metadata(&file)
            && std::fs::read_link(&file).is_ok_and(|to| to.starts_with(&place))
        {
            break found.permissions().mode();
        }
        assert!(since.elapsed() < Duration::from_secs(60), "no temporary file was made");
        std::thread::sleep(Duration::from_millis(2));
    };
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0, "a file with a name");
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
}

#[test]
fn one_row_each_gives_the_weights_of_rows() {
    let folder = clinic(|_| 1);
    for algorithm in
        ["clipped-sgd", "output-gd", "gradient-sgd", "objective", "output-sgd", "permuted-sgd"]
    {
        let fit = format!("{FIT} --delta 1e-3 --insecure-seed 3 --algorithm {algorithm}");
        folder.run(&fit).succeeds();
        let rows = weights(&folder.json("model.json"));
        folder.run(&format!("{fit} --unit patient --max-rows 1")).succeeds();
        assert_eq!(weights(&folder.json("model.json")), rows, "{algorithm}");
    }
}

#[test]
fn rows_without_a_patient_are_units_of_their_own() {
    let folder = clinic(|_| 2);
    let mut table = visits(50, |_| 2);
    table.push_str(",40,surgery,1,yes\n  ,41,surgery,1,yes\n,40,surgery,1,yes\n");
    table.push_str("NA,40,surgery,1,yes\nNA,41,surgery,1,yes\nnull,40,surgery,1,yes\n");
    folder.write("clinic.csv", table);
    let run = folder.run(&format!("{FIT} {UNIT} {SGD}")).succeeds();
    assert!(run.stdout.contains("from 56 units"), "{run:#?}");
}

#[test]
fn a_plan_says_what_another_cap_would_bring() {
    let folder = clinic(|_| 2);
    let run = folder
        .run("plan --n 5000 --d 6 --epsilon 1 --unit patient --max-rows 8 --algorithm clipped-sgd")
        .succeeds();
    assert!(run.stdout.contains("protects all rows of one `patient` (at most 8 are used)"));
    assert!(run.stdout.contains("with 16 by clipped-sgd: the same noise"), "{run:#?}");
    folder.run("plan --n 5000 --d 6 --epsilon 1 --unit patient").refuses("go together");
    // The one whose noise the cap decides is compared too, wherever it stands in the list.
    let run = folder.run("plan --n 5000 --d 6 --epsilon 1 --unit patient --max-rows 8").succeeds();
    assert!(run.stdout.contains("with 16 by objective: "), "{run:#?}");
}

#[test]
fn a_changed_unit_does_not_verify() {
    let folder = clinic(|p| 1 + p % 3);
    folder.run(&format!("{FIT} {UNIT} {SGD}")).succeeds();
    let model = folder.json("model.json");
    for (pointer, value) in [
        ("/certificate/plan/problem/unit/max_rows", Value::from(400)),
        ("/certificate/plan/problem/unit/column", Value::from("hospital")),
        ("/task/declaration/unit/max_rows", Value::from(5)),
        ("/certificate/budget/adjacency", Value::from("replace-one")),
    ] {
        let mut forged = model.clone();
        *forged.pointer_mut(pointer).unwrap() = value;
        redigest(&mut forged);
        folder.write("forged.json", forged.to_string());
        let run = folder.run("verify forged.json");
        assert_ne!(run.code, Some(0), "{pointer}: {run:#?}");
    }
}

#[test]
fn a_ledger_belongs_to_a_unit() {
    let folder = clinic(|p| 1 + p % 3);
    folder.run("ledger init a.ledger --epsilon 3 --delta 1e-2 --unit patient").succeeds();
    folder.run("ledger init b.ledger --epsilon 3 --delta 1e-2").succeeds();
    folder.run("ledger init c.ledger --epsilon 3 --delta 1e-2 --unit hospital").succeeds();
    folder
        .run("ledger init d.ledger --epsilon 3 --adjacency replace-one-unit")
        .refuses("goes with a `--unit`");
    let by_unit = format!("{FIT} {UNIT} {SGD}");
    let by_row = format!("{FIT} {SGD} --delta 1e-3");
    folder.run(&format!("{by_unit} --ledger a.ledger")).succeeds();
    folder.run(&format!("{by_row} --ledger b.ledger")).succeeds();
    folder.run(&format!("{by_row} --ledger a.ledger")).refuses("got a guarantee for single rows");
    folder.run(&format!("{by_unit} --ledger b.ledger")).refuses("ledger init --unit patient");
    folder.run(&format!("{by_unit} --ledger c.ledger")).refuses("must be `hospital`");
    folder.run("verify model.json --ledger b.ledger");
    let shown = folder.run("ledger show a.ledger").succeeds();
    assert!(shown.stdout.contains("for all rows of one `patient`"), "{shown:#?}");
    // The charge of a release made elsewhere must say whom it protects.
    let elsewhere = "ledger charge a.ledger --epsilon 0.05 --label survey";
    folder.run(elsewhere).refuses("does not say whom it protects");
    folder.run(&format!("{elsewhere} --unit hospital")).refuses("must be `patient`");
    folder
        .write("event.json", r#"{"kind": "pure-dp", "epsilon": 0.05, "adjacency": "replace-one"}"#);
    folder.run("ledger charge a.ledger --event event.json --unit patient").refuses("adjacency");
    folder.run("ledger charge a.ledger --event event.json").refuses("does not say");
    let before = folder.run("ledger show a.ledger --json").succeeds().json();
    assert_eq!(before["unit"], "patient");
    folder.run(&format!("{elsewhere} --unit patient")).succeeds();
    let after = folder.run("ledger show a.ledger --json").succeeds().json();
    let charges = |shown: &Value| shown["charges"].as_array().unwrap().len();
    assert_eq!(charges(&after), charges(&before) + 1);
    let item = &after["charges"][charges(&before)]["item"];
    assert_eq!(
        (&item["unit"], &item["budget"]["adjacency"]),
        (&"patient".into(), &"replace-one-unit".into())
    );
    let rows = "ledger charge b.ledger --epsilon 0.05";
    folder.run(&format!("{rows} --unit patient")).refuses("ledger init --unit patient");
    folder.run(rows).succeeds();
    // Noisy metrics of hold-out rows protect the unit of the model's declaration.
    folder.run(&by_unit).succeeds();
    let metrics = "evaluate --model model.json --data clinic.csv --epsilon 0.5 --delta 1e-4";
    folder.run(&format!("{metrics} --ledger c.ledger")).refuses("must be `hospital`");
    folder.run(&format!("{metrics} --ledger b.ledger")).refuses("ledger init --unit patient");
    let run = folder.run(&format!("{metrics} --ledger a.ledger --json")).succeeds();
    let whose = "replacement of all rows of one `patient` (at most 4 are used) of the test table";
    assert!(run.stdout.contains(whose), "{run:#?}");
    folder.write("metrics.json", &run.stdout);
    folder.run("report model.json --evaluation metrics.json").succeeds();
    assert!(folder.read("report.html").contains("(at most 4 are used) of the test table"));
}

#[test]
fn an_audit_attacks_units() {
    let folder = Folder::new();
    let audit = "audit --n 4 --d 1 --epsilon 1 --delta 1e-2 --unit patient --max-rows 3 --runs 400 --seed 1";
    let run = folder.run(&format!("{audit} --algorithm output-gd --loss huber")).succeeds();
    assert!(run.stdout.contains("replace-one-unit") && run.stdout.contains("of "), "{run:#?}");
}
