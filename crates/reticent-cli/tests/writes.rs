//! A file that the command writes is whole or not there at all, and what was there before stays until then.
#![cfg(unix)] // the shell sets the limits
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

mod common;

use std::fs;

use common::{FIT, Folder};

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
            // A file may grow to one block; the signal that says so is ignored, so that writing fails.
            let line = format!(
                "trap '' XFSZ; ulimit -f 1; exec \"$RETICENT\" {}",
                command.replace("OUT", name)
            );
            folder.shell(&line).refuses(name);
            assert_eq!(folder.names(), before, "{command}");
            if let Some(old) = old {
                assert_eq!(folder.read(name), old);
            }
        }
    }
}

#[test]
fn a_run_killed_while_it_writes_leaves_the_old_file() {
    let folder = with_model();
    for (command, name) in WRITERS {
        folder.write(name, "the old file");
        // The same limit with the signal's usual effect: the process dies inside the write.
        let line = format!("ulimit -f 1; exec \"$RETICENT\" {}", command.replace("OUT", name));
        let run = folder.shell(&line);
        assert_eq!(run.code, None, "{run:#?}");
        assert_eq!(folder.read(name), "the old file", "{command}");
    }
}

#[test]
fn a_reader_that_hangs_up_is_no_error() {
    let folder = with_model();
    let predict = "\"$RETICENT\" predict --model model.json --data clinic.csv";
    let run = folder.shell(&format!("({predict}; echo $? >&2) | head -n 1 > first"));
    assert_eq!(run.stderr, "0\n");
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
