//! Full disks, dead processes and interruptions: nothing that was paid for is lost.
#![cfg(unix)] // signals
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, clinic};
use serde_json::Value;

const FIT: &str = "fit --data clinic.csv --schema clinic.json --epsilon 0.3 --delta 1e-7 --algorithm clipped-sgd --batch 200 --ledger c.ledger";

fn with_ledger() -> Folder {
    let folder = Folder::new();
    folder.write("clinic.csv", clinic(2000));
    folder.run("ledger init c.ledger --epsilon 20 --delta 1e-6").succeeds();
    folder
}

fn start(folder: &Folder, line: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
    command.args(line.split_whitespace()).current_dir(folder.folder());
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn show(folder: &Folder) -> Value {
    folder.run("ledger show c.ledger --json").succeeds().json()
}

fn wait_for(folder: &Folder, state: &str) {
    let started = Instant::now();
    while show(folder)["charges"][0]["state"] != state {
        assert!(started.elapsed() < Duration::from_secs(60), "{:#}", show(folder));
    }
}

fn interrupt(run: Child, signal: &str) -> String {
    let kill = Command::new("kill").args([signal, &run.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), None, "it ends by the signal");
    String::from_utf8(ended.stderr).unwrap()
}

#[test]
fn a_model_that_found_no_place_is_kept_by_the_ledger() {
    let folder = with_ledger();
    fs::create_dir(folder.path("gone")).unwrap();
    let mut run = start(&folder, &format!("{FIT} --steps 200000 --out gone/model.json"));
    wait_for(&folder, "begun");
    fs::remove_dir(folder.path("gone")).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(2));
    let standing = show(&folder);
    assert_eq!(standing["charges"][0]["state"], "released");
    assert_eq!(standing["kept_models"], serde_json::json!([1]));
    folder.run("ledger recover c.ledger --charge 2 --out model.json").refuses("no such model");
    folder.run("ledger recover c.ledger --out model.json").succeeds();
    let model = folder.json("model.json");
    assert_eq!(model["digest"], standing["charges"][0]["model"]);
    folder.run("verify model.json").succeeds();
    // Saved once, it need not be kept.
    assert_eq!(show(&folder)["kept_models"], serde_json::json!([]));
    folder.run("ledger recover c.ledger --out other.json").refuses("no such model");
}

#[test]
fn a_model_that_the_ledger_does_not_know_yet_is_found_beside_its_place() {
    let folder = with_ledger();
    let mut run = start(&folder, &format!("{FIT} --steps 200000 --out model.json"));
    wait_for(&folder, "begun");
    // The ledger is away at the moment of the release.
    fs::rename(folder.path("c.ledger"), folder.path("away")).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(2));
    fs::rename(folder.path("away"), folder.path("c.ledger")).unwrap();
    assert!(!folder.path("model.json").exists());
    assert_eq!(show(&folder)["charges"][0]["state"], "begun");
    folder.run("ledger recover c.ledger --out model.json").succeeds();
    folder.run("verify model.json").succeeds();
    let standing = show(&folder);
    assert_eq!(standing["charges"][0]["state"], "released");
    assert_eq!(standing["charges"][0]["model"], folder.json("model.json")["digest"]);
    let hidden: Vec<_> =
        folder.names().into_iter().filter(|name| name.starts_with(".reticent")).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

#[test]
fn an_interruption_before_noise_gives_the_charge_back() {
    for signal in ["-INT", "-TERM"] {
        let folder = Folder::new();
        folder.run("ledger init c.ledger --epsilon 20 --adjacency add-remove-one").succeeds();
        // Nobody writes into the pipe: the run has paid and waits for its rows.
        folder.shell("mkfifo rows.csv").succeeds();
        let fit = FIT.replace("clinic.csv", "rows.csv").replace("--batch 200", "--batch 20")
            + " --adjacency add-remove-one --rows 60 --steps 5";
        let run = start(&folder, &fit);
        wait_for(&folder, "charged");
        let said = interrupt(run, signal);
        assert!(said.contains("charge 1 of c.ledger was given back"), "{said}");
        let standing = show(&folder);
        assert_eq!(standing["charges"][0]["state"], "refunded");
        assert_eq!(standing["left"], 20.0);
    }
}

#[test]
fn an_interruption_after_noise_says_that_the_charge_stays() {
    let folder = with_ledger();
    let run = start(&folder, &format!("{FIT} --steps 400000"));
    wait_for(&folder, "begun");
    let said = interrupt(run, "-INT");
    assert!(said.contains("charge 1 of c.ledger stays paid"), "{said}");
    assert_eq!(show(&folder)["charges"][0]["state"], "begun");
}

#[test]
fn a_signal_that_was_ignored_before_is_ignored() {
    let folder = with_ledger();
    let fit = format!("{FIT} --steps 200000 --out model.json");
    let run = Command::new("sh")
        .args(["-c", "trap '' INT; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_reticent")])
        .args(fit.split_whitespace())
        .current_dir(folder.folder())
        .stdout(Stdio::null())
        .spawn();
    let mut run = run.unwrap();
    wait_for(&folder, "begun");
    let kill = Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(run.wait().unwrap().code(), Some(0));
    folder.run("verify model.json --ledger c.ledger").succeeds();
}

#[test]
fn a_reserved_charge_waits_again_if_its_rows_cannot_be_read() {
    let folder = Folder::new();
    folder.run("ledger init c.ledger --epsilon 20 --adjacency add-remove-one").succeeds();
    let fit =
        format!("{FIT} --batch 20 --adjacency add-remove-one --rows 60 --steps 5 --out model.json")
            .replacen("--batch 200 ", "", 1);
    folder.write("clinic.csv", clinic(60));
    folder.run(&format!("{fit} --reserve")).succeeds();
    folder.write("clinic.csv", "age,sex\n\"1,2\n");
    folder.run(&fit).refuses("clinic.csv");
    assert_eq!(show(&folder)["charges"][0]["state"], "reserved");
    folder.write("clinic.csv", clinic(60));
    folder.run(&fit).succeeds();
    let standing = show(&folder);
    assert_eq!(standing["charges"].as_array().unwrap().len(), 1, "{standing:#}");
    assert_eq!(standing["charges"][0]["state"], "released");
}

#[test]
fn an_older_copy_of_a_checkpoint_is_refused() {
    let folder = with_ledger();
    let fit =
        format!("{FIT} --steps 400000 --checkpoint run.ck --checkpoint-every 50 --out model.json");
    let step = |file: &str| folder.json(file)["state"]["step"].as_u64().unwrap();
    let mut run = folder.begin(&fit, "run.ck");
    fs::copy(folder.path("run.ck"), folder.path("copy.ck")).unwrap();
    let started = Instant::now();
    while step("run.ck") < step("copy.ck") + 200 {
        assert!(started.elapsed() < Duration::from_secs(60));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    fs::rename(folder.path("run.ck"), folder.path("latest.ck")).unwrap();
    fs::rename(folder.path("copy.ck"), folder.path("run.ck")).unwrap();
    folder.run(&format!("{fit} --resume")).refuses("older copy");
    fs::rename(folder.path("latest.ck"), folder.path("run.ck")).unwrap();
    // The latest goes on.
    let mut run = start(&folder, &format!("{fit} --resume"));
    let latest = step("run.ck");
    while step("run.ck") <= latest {
        assert!(run.try_wait().unwrap().is_none() && started.elapsed() < Duration::from_secs(90));
    }
    run.kill().unwrap();
    run.wait().unwrap();
}

#[test]
fn a_charge_pays_for_what_it_was_made_for_and_nothing_else() {
    let folder = with_ledger();
    let mut run = start(&folder, &format!("{FIT} --steps 400000 --out model.json"));
    wait_for(&folder, "begun");
    run.kill().unwrap();
    run.wait().unwrap();
    let unpaid = "fit --data clinic.csv --schema clinic.json --epsilon 9 --algorithm output-gd --steps 5 --out other.json";
    folder.run(unpaid).succeeds();
    let mut forged = folder.json("other.json");
    let ledger = show(&folder)["ledger"].as_str().unwrap().to_owned();
    forged["certificate"]["payment"] = serde_json::json!({ "ledger": ledger, "charge": 1 });
    crate::common::redigest(&mut forged);
    let name = format!(".reticent-paid-{}-1.json", &ledger[..16]);
    folder.write(&name, format!("{forged:#}\n"));
    folder.run("ledger recover c.ledger --out model.json").refuses("something else");
    assert_eq!(show(&folder)["charges"][0]["state"], "begun");
}

/// A slice of `bench/faults`: kills at moments without pattern, and each run goes on until its
/// model is there.
#[test]
fn a_run_that_is_killed_again_and_again_ends_with_one_model_for_one_charge() {
    let folder = with_ledger();
    let fit =
        format!("{FIT} --steps 3000 --checkpoint run.ck --checkpoint-every 20 --out model.json");
    let mut kills = 0;
    for i in 0..200_u64 {
        let resume = if folder.path("run.ck").exists() { " --resume" } else { "" };
        let mut run = start(&folder, &format!("{fit}{resume}"));
        // Longer and longer, so that it comes to an end on a busy machine, too.
        std::thread::sleep(Duration::from_millis(20 + i * 7919 % 230 + 12 * i));
        if let Some(ended) = run.try_wait().unwrap() {
            assert_eq!(ended.code(), Some(0), "{:?}", run.wait_with_output());
            break;
        }
        run.kill().unwrap();
        run.wait().unwrap();
        kills += 1;
    }
    folder.run("verify model.json").succeeds();
    let standing = show(&folder);
    let charges = standing["charges"].as_array().unwrap();
    let released: Vec<&Value> = charges.iter().filter(|c| c["state"] == "released").collect();
    assert_eq!(released.len(), 1, "{standing:#}");
    assert_eq!(released[0]["model"], folder.json("model.json")["digest"]);
    // The charge of a run that was killed before its checkpoint was written can be refunded.
    assert!(charges.iter().all(|c| c["state"] == "released" || c["state"] == "charged"));
    assert!(kills > 2, "{kills}");
    folder.run("ledger check c.ledger").succeeds();
}
