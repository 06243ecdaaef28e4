//! A file that the command writes is whole or not there at all, and what was there before stays
//! until then.
#![cfg(unix)] // the shell sets the limits
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::fs;

use crate::common::{FIT, Folder};

/// Each command that writes, as it is written and with the file that it writes.
const WRITERS: &[(&str, &str)] = &[
    (
        "fit --data clinic.csv --schema clinic.json --epsilon 1 --algorithm objective --out OUT",
        "new.json",
    ),
    ("report model.json --out OUT", "page.html"),
    ("predict --model model.json --data clinic.csv --out OUT", "p.csv"),
];

fn with_model() -> Folder {
    let folder = Folder::new();
    folder.run(FIT).succeeds();
    folder
}

#[test]
fn a_path_that_cannot_be_written_is_refused_and_leaves_nothing() {
    let folder = with_model();
    fs::create_dir(folder.path("taken")).unwrap();
    fs::write(folder.path("taken").join("inside"), "").unwrap();
    let before = folder.names();
    for (command, _) in WRITERS {
        for path in ["absent/file", "taken", "clinic.csv/file", ".", ".."] {
            folder.run(&command.replace("OUT", path)).refuses(path);
            assert_eq!(folder.names(), before, "{command} {path}");
        }
    }
    assert_eq!(fs::read_dir(folder.path("taken")).unwrap().count(), 1);
}

#[test]
fn a_full_disk_leaves_the_old_file_and_no_part_of_the_new_one() {
    let folder = with_model();
    for (command, name) in WRITERS {
        for old in [None, Some("the old file")] {
            if let Some(old) = old {
                folder.write(name, old);
            }
            let before = folder.names();
            // A file may grow to one block, and the signal that would end the process there is no
            // death but a sentence.
            let line = format!("ulimit -f 1; exec \"$RETICENT\" {}", command.replace("OUT", name));
            folder.shell(&line).refuses(name);
            assert_eq!(folder.names(), before, "{command}");
            if let Some(old) = old {
                assert_eq!(folder.read(name), old);
            }
        }
    }
}

#[test]
fn a_reader_that_hangs_up_is_no_error() {
    let folder = with_model();
    let predict = "\"$RETICENT\" predict --model model.json --data clinic.csv";
    let run = folder.shell(&format!("({predict}; echo $? >&2) | head -n 1 > first"));
    assert_eq!(run.stderr, "note: `visit`: of 60 cells 5 missing\n0\n");
    assert_eq!(folder.read("first"), "prediction,probability no,probability yes\n");
}

#[test]
fn a_pipe_is_not_replaced_by_a_file() {
    let folder = with_model();
    folder.run("ledger init c.ledger --epsilon 1").succeeds();
    folder
        .shell("mkfifo pipe && ln -s pipe link && ln -s round circle && ln -s circle round")
        .succeeds();
    let before = folder.names();
    for (command, _) in WRITERS {
        for (path, why) in
            [("pipe", "not a regular file"), ("link", "not a regular file"), ("circle", "circle")]
        {
            folder.run(&command.replace("OUT", path)).refuses(why);
            assert_eq!(folder.names(), before, "{command} {path}");
            assert!(
                !fs::symlink_metadata(folder.path(path)).unwrap().is_file(),
                "{command} {path}"
            );
        }
    }
    // Where something would be spent, nothing is.
    let (fit, _) = WRITERS[0];
    let paid = fit.replace("OUT", "pipe") + " --ledger c.ledger";
    folder.run(&paid).refuses("not a regular file");
    let standing = folder.run("ledger show c.ledger --json").succeeds().json();
    assert_eq!(standing["charges"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_written() {
    let folder = with_model();
    fs::create_dir(folder.path("store")).unwrap();
    folder
        .shell("ln -s store/there there && ln -s store/absent absent && ln -s there twice")
        .succeeds();
    for (command, _) in WRITERS {
        for (link, file) in [("there", "there"), ("absent", "absent"), ("twice", "there")] {
            let file = folder.path("store").join(file);
            if link == "absent" {
                _ = fs::remove_file(&file);
            } else {
                fs::write(&file, "the old file").unwrap();
            }
            folder.run(&command.replace("OUT", link)).succeeds();
            assert!(fs::symlink_metadata(folder.path(link)).unwrap().is_symlink(), "{command}");
            assert!(fs::symlink_metadata(&file).unwrap().is_file(), "{command}");
            assert!(fs::read(&file).unwrap().len() > 100, "{command}");
        }
    }
    assert_eq!(fs::read_dir(folder.path("store")).unwrap().count(), 2, "no part is left");
}

/// Every command that writes, with each of its own inputs as what it would write.
#[test]
fn no_file_that_a_command_reads_is_one_that_it_writes() {
    let folder = with_model();
    folder.run("ledger init c.ledger --epsilon 9").succeeds();
    folder.write("y.txt", "yes\n".repeat(60));
    folder.write("audit.json", "{}");
    fs::create_dir(folder.path("inner")).unwrap();
    folder.shell("ln -s c.ledger link && ln clinic.csv hard && ln -s later ahead").succeeds();
    let fit = "fit --data clinic.csv --schema clinic.json --labels y.txt --epsilon 1 --ledger c.ledger --checkpoint run.ck --algorithm clipped-sgd --steps 5 --force --out";
    let tune = "tune --data clinic.csv --schema clinic.json --labels y.txt --epsilon 1 --ledger c.ledger --force --out";
    let report = "report model.json --ledger c.ledger --audit audit.json --out";
    let before: Vec<(String, Option<Vec<u8>>)> =
        folder.names().into_iter().map(|n| (n.clone(), fs::read(folder.path(&n)).ok())).collect();
    for (command, files) in [
        (
            fit,
            "clinic.csv clinic.json y.txt c.ledger link hard inner/../c.ledger c.ledger-journal run.ck run.ck.lock run.ck.key",
        ),
        (tune, "clinic.csv clinic.json y.txt c.ledger link hard"),
        (report, "model.json c.ledger link audit.json"),
        ("predict --model model.json --data clinic.csv --out", "model.json clinic.csv hard"),
        ("ledger export c.ledger --out", "c.ledger link"),
        ("ledger recover c.ledger --out", "c.ledger link"),
    ] {
        for file in files.split(' ') {
            folder.run(&format!("{command} {file}")).refuses("would replace the file of");
        }
    }
    // A ledger is replaced by nobody, and a model only by a model.
    for command in [
        &fit.replace("--ledger c.ledger", ""),
        "predict --model model.json --data clinic.csv --out",
    ] {
        folder.run(&format!("{command} c.ledger")).refuses("it is a ledger");
    }
    folder.run("ledger export c.ledger --out model.json").refuses("a model is there");
    folder.run("report model.json --out ./other/../model.json").refuses("cannot write");
    for (name, contents) in before {
        assert_eq!(fs::read(folder.path(&name)).ok(), contents, "{name}");
    }
    let standing = folder.run("ledger show c.ledger --json").succeeds().json();
    assert_eq!(standing["charges"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_model_is_replaced_only_by_force() {
    let folder = with_model();
    folder.run("ledger init c.ledger --epsilon 9").succeeds();
    let old = folder.read("model.json");
    let (fit, _) = WRITERS[0];
    let tune = fit.replace("fit ", "tune ").replace("--algorithm objective", "--try objective");
    for command in [fit, &tune] {
        let command = command.replace("OUT", "model.json") + " --ledger c.ledger";
        folder.run(&command).refuses("--force");
        assert_eq!(folder.read("model.json"), old);
    }
    let standing = folder.run("ledger show c.ledger --json").succeeds().json();
    assert_eq!(standing["charges"].as_array().map(Vec::len), Some(0), "refused before it is paid");
    folder.run(&(fit.replace("OUT", "model.json") + " --force")).succeeds();
    assert_ne!(folder.read("model.json"), old);
}

#[test]
fn files_beside_a_checkpoint_that_are_not_its_own_are_left_alone() {
    let folder = with_model();
    let fit = format!("{FIT} --algorithm clipped-sgd --steps 5 --checkpoint run");
    for (name, text) in [("run.lock", "somebody's"), ("run.key", "my house key\n")] {
        folder.write(name, text);
        folder.run(&fit).refuses("name another checkpoint");
        assert_eq!(folder.read(name), text);
        fs::remove_file(folder.path(name)).unwrap();
    }
    folder.run(&fit).succeeds();
    assert!(!folder.names().iter().any(|name| name.starts_with("run")), "{:?}", folder.names());
}

#[test]
fn a_demo_does_not_replace_what_is_not_its_own() {
    let folder = Folder::new();
    fs::create_dir(folder.path("mine")).unwrap();
    fs::write(folder.path("mine").join("census.csv"), "age\n3\n").unwrap();
    folder.run("demo --out mine").refuses("name another folder");
    assert_eq!(fs::read_to_string(folder.path("mine").join("census.csv")).unwrap(), "age\n3\n");
}

#[test]
fn the_table_of_the_guide_is_written_with_its_schema() {
    let folder = Folder::new();
    folder.run("demo --table clinic --out guide --epsilon 1").refuses("--epsilon");
    assert!(!folder.path("guide").exists());
    let said = folder.run("demo --table clinic --out guide").succeeds().stdout;
    assert!(said.contains("4000 rows"), "{said}");
    // The page of the documents shows the same schema.
    let shown = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schemas/clinic.schema.json");
    let (data, schema) = ("guide/clinic.csv", "guide/clinic.schema.json");
    assert_eq!(folder.read(schema), fs::read_to_string(shown).unwrap());
    let check = format!("data check --data {data} --schema {schema} --json");
    assert_eq!(folder.run(&check).succeeds().json()["rows"], 4000);
    // The second time is the same, and what somebody changed stays.
    folder.run("demo --table clinic --out guide").succeeds();
    fs::write(folder.path(data), "age\n3\n").unwrap();
    folder.run("demo --table clinic --out guide").refuses("name another folder");
    assert_eq!(folder.read(data), "age\n3\n");
}
