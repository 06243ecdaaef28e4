//! A budget across releases: charged before a row is read, never overspent, true after a kill at
//! any moment.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails
#![allow(clippy::print_stdout)] // what the kills hit, for anyone who runs with --nocapture

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::common::{CLINIC, FIT, Folder, clinic};
use serde_json::Value;

const INIT: &str = "ledger init c.ledger --epsilon 1 --delta 1e-6";

/// A fit of a third of the budget, with Gaussian noise.
const THIRD: &str = "fit --data clinic.csv --schema clinic.json --epsilon 0.3 --delta 1e-7 --algorithm output-sgd --ledger c.ledger --out model.json --force";

fn with_ledger() -> Folder {
    let folder = Folder::new();
    folder.run(INIT).succeeds();
    folder
}

fn show(folder: &Folder) -> Value {
    folder.run("ledger show c.ledger --json").succeeds().json()
}

fn states(standing: &Value) -> Vec<&str> {
    standing["charges"].as_array().unwrap().iter().map(|c| c["state"].as_str().unwrap()).collect()
}

#[test]
fn a_fit_is_charged_and_its_model_is_known_to_the_ledger() {
    let folder = with_ledger();
    folder.run(THIRD).succeeds();
    let standing = show(&folder);
    assert_eq!(states(&standing), ["released"]);
    let model = folder.json("model.json");
    assert_eq!(standing["charges"][0]["model"], model["digest"]);
    assert_eq!(model["certificate"]["payment"]["charge"], 1);
    assert_eq!(model["certificate"]["payment"]["ledger"], standing["ledger"]);
    folder.run("verify model.json").succeeds();
    let tight = standing["tight"].as_f64().unwrap();
    // at the ledger's larger delta it is less than was asked for
    assert!(tight > 0.1 && tight < 0.3, "{tight}");
    assert_eq!(standing["basic_epsilon"], 0.3);
    let history = folder.run("ledger history c.ledger --json").succeeds().json();
    let kinds: Vec<_> = history["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["record"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["opened", "accepted", "charged", "closed", "begun", "released"]);
}

#[test]
fn many_small_releases_cost_less_than_their_sum_and_the_budget_ends() {
    let folder = with_ledger();
    let mut fits = 0;
    while folder.run(THIRD).code == Some(0) {
        fits += 1;
        assert!(fits < 100);
    }
    assert!(fits > 4, "{fits}");
    let standing = show(&folder);
    assert!(standing["tight"].as_f64().unwrap() <= 1.0);
    assert!(standing["basic_epsilon"].as_f64().unwrap() > 1.3);
    assert_eq!(standing["refusals"], 1);
    fs::remove_file(folder.path("model.json")).unwrap();
    folder.run(THIRD).refuses("does not fit");
    assert!(!folder.path("model.json").exists());
}

#[test]
fn what_the_refusal_says_is_left_fits() {
    let folder = with_ledger();
    folder.run(THIRD).succeeds();
    let large = THIRD.replace("0.3", "1.4");
    let sentence = folder.run(&large).refuses("is left").stderr;
    let left = sentence.split("about epsilon = ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(left.parse::<f64>().unwrap() > 0.4, "{sentence}");
    folder.run(&THIRD.replace("0.3", left)).succeeds();
}

#[test]
fn the_whole_budget_may_be_spent_at_once() {
    for fit in [
        FIT.to_owned() + " --delta 1e-6 --algorithm objective",
        FIT.to_owned() + " --delta 0 --algorithm output-gd",
    ] {
        let folder = with_ledger();
        folder.run(&format!("{fit} --ledger c.ledger")).succeeds();
        folder.run(&format!("{fit} --ledger c.ledger")).refuses("nothing is left");
    }
}

#[test]
fn an_overrun_is_refused_before_a_row_is_read() {
    let folder = with_ledger();
    // Rows can be counted here, but not read: a declared column is absent.
    folder.write("clinic.csv", clinic(60).replace("visit", "other"));
    folder.run(&THIRD.replace("0.3", "1.5")).refuses("does not fit");
    // A fit within the budget gets as far as the rows, and is refunded: no noise was drawn.
    folder.run(THIRD).refuses("visit");
    let standing = show(&folder);
    assert_eq!(states(&standing), ["refunded"]);
    assert_eq!(standing["basic_epsilon"], 0.0);
    assert!(!folder.path("model.json").exists());
}

#[test]
fn only_what_never_began_can_be_taken_back() {
    let folder = with_ledger();
    folder.run(&format!("{THIRD} --reserve")).succeeds();
    folder.run(&format!("{THIRD} --reserve")).succeeds();
    folder.run("ledger refund c.ledger --charge 2").succeeds();
    folder.run(THIRD).succeeds();
    folder.run("ledger refund c.ledger --charge 1").refuses("has begun");
    folder.run("ledger refund c.ledger --charge 7").refuses("no charge 7");
    assert_eq!(states(&show(&folder)), ["released", "refunded"]);
}

#[test]
fn a_plan_that_cannot_be_paid_for_is_refused_with_a_way_out() {
    let folder = with_ledger();
    folder.run(INIT).refuses("exists");
    folder.run(&format!("{THIRD} --insecure-seed 1")).refuses("--insecure-seed");
    folder.run(&THIRD.replace("0.3", "inf")).refuses("finite");
    folder.run(&format!("{THIRD} --adjacency zero-out")).refuses("replace-one");
    folder.run(&THIRD.replace("c.ledger", "absent.ledger")).refuses("ledger init");
    folder.write("no.ledger", "some text");
    folder.run(&THIRD.replace("c.ledger", "no.ledger")).refuses("not a ledger");
    folder.run(&THIRD.replace("model.json", "absent/model.json")).refuses("absent");
    folder.run("ledger init n.ledger --epsilon 0").refuses("epsilon");
    folder.run("ledger init n.ledger --epsilon inf").refuses("finite");
    folder.run("ledger init n.ledger --epsilon 1 --delta 0 --filter gaussian").refuses("basic");
    assert!(states(&show(&folder)).is_empty());
}

#[test]
fn the_data_set_is_known_by_its_columns_and_nothing_of_it_is_told() {
    let folder = with_ledger();
    folder.run(THIRD).succeeds();
    // The same columns in another order, other bounds, more rows: the same data set.
    folder.write("clinic.json", CLINIC.replace("\"max\": 100", "\"max\": 120"));
    folder.write("clinic.csv", clinic(90));
    folder.run(THIRD).succeeds();
    folder.write("clinic.json", CLINIC.replace("\"ward\"", "\"unit\""));
    folder.write("clinic.csv", clinic(60).replace("ward", "unit"));
    folder.run(THIRD).refuses("ledger accept");
    folder.run("ledger accept c.ledger --schema clinic.json").succeeds();
    folder.run(THIRD).succeeds();
    let export = folder.run("ledger export c.ledger").succeeds().stdout;
    for word in ["ward", "unit", "visit", "surgery", "clinic", "key"] {
        assert!(!export.contains(word), "{word}");
    }
    folder.run("ledger export c.ledger --out out.json").succeeds();
    assert_eq!(folder.json("out.json")["format"], "reticent-ledger/1");
}

#[test]
fn what_is_done_elsewhere_is_charged_too() {
    let folder = with_ledger();
    folder.run("ledger charge c.ledger --epsilon 0.4 --delta 1e-8 --label survey").succeeds();
    folder.write(
        "event.json",
        r#"{"kind": "gaussian", "noise_multiplier": 30, "adjacency": "replace-one"}"#,
    );
    folder.run("ledger charge c.ledger --event event.json --delta 1e-7").succeeds();
    folder.run("ledger charge c.ledger --epsilon 0.7").refuses("does not fit");
    for (bad, word) in [
        ("--epsilon -1", "epsilon"),
        ("--epsilon inf", "epsilon"),
        ("--epsilon nan", "epsilon"),
        ("--epsilon 0", "leave it out"),
        ("--epsilon 0.1 --delta inf", "delta"),
        ("--epsilon 0.1 --delta nan", "delta"),
    ] {
        folder.run(&format!("ledger charge c.ledger {bad}")).refuses(word);
    }
    let lines = ["--label", "first\nsecond"];
    folder.run_with("ledger charge c.ledger --epsilon 0.1", &lines).refuses("label");
    folder.write(
        "event.json",
        r#"{"kind": "gaussian", "noise_multiplier": 30, "adjacency": "zero-out"}"#,
    );
    folder.run("ledger charge c.ledger --event event.json --delta 1e-7").refuses("adjacency");
    let standing = show(&folder);
    assert_eq!(states(&standing), ["begun", "begun"]);
    assert!(standing["tight"].as_f64().unwrap() < 0.7);
}

#[test]
fn eight_processes_racing_for_the_last_of_the_budget_never_overspend() {
    let alone = with_ledger();
    let mut fits = 0;
    while alone.run(THIRD).code == Some(0) {
        fits += 1;
    }
    let folder = with_ledger();
    for _ in 0..fits - 3 {
        folder.run(THIRD).succeeds();
    }
    let racers: Vec<_> = (0..8)
        .map(|i| {
            let line = THIRD.replace("model.json", &format!("racer{i}.json"));
            Command::new(env!("CARGO_BIN_EXE_reticent"))
                .args(line.split_whitespace())
                .current_dir(folder.folder())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    let codes: Vec<_> =
        racers.into_iter().map(|mut racer| racer.wait().unwrap().code().unwrap()).collect();
    assert_eq!(codes.iter().filter(|c| **c == 0).count(), 3, "{codes:?}");
    assert_eq!(codes.iter().filter(|c| **c == 2).count(), 5, "{codes:?}");
    let models = (0..8).filter(|i| folder.path(&format!("racer{i}.json")).exists()).count();
    assert_eq!(models, 3);
    let standing = show(&folder);
    assert_eq!(states(&standing), vec!["released"; fits]);
    assert_eq!(standing["refusals"], 5);
    assert!(standing["tight"].as_f64().unwrap() <= 1.0);
}

/// Kills at random moments.
const KILLS: usize = 220;

#[test]
fn after_a_kill_at_any_moment_every_model_that_exists_is_charged_for() {
    let folder = Folder::new();
    folder.run("ledger init c.ledger --epsilon 60 --delta 1e-6").succeeds();
    let fit = THIRD.replace("0.3", "0.1");
    folder.run(&fit).succeeds();
    let start = Instant::now();
    folder.run(&fit).succeeds();
    let whole = start.elapsed();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= KILLS {
                        return;
                    }
                    let mut run = Command::new(env!("CARGO_BIN_EXE_reticent"))
                        .args(
                            fit.replace("model.json", &format!("killed{i}.json"))
                                .split_whitespace(),
                        )
                        .current_dir(folder.folder())
                        .stdout(Stdio::null())
                        .stderr(Stdio::null())
                        .spawn()
                        .unwrap();
                    // Moments spread over the whole run and a little beyond, in an order without
                    // pattern; every tenth run has time to end, however busy the machine has
                    // become.
                    let share = ((i * 7919) % KILLS) as f64 / KILLS as f64;
                    let moment = if i.is_multiple_of(10) { 50.0 } else { 1.3 * share };
                    let end = Instant::now() + whole.mul_f64(moment);
                    while Instant::now() < end && run.try_wait().unwrap().is_none() {
                        std::thread::sleep(whole.mul_f64(0.002));
                    }
                    run.kill().unwrap();
                    run.wait().unwrap();
                }
            });
        }
    });
    let standing = show(&folder);
    let charges = standing["charges"].as_array().unwrap();
    let (mut models, mut parts) = (0, 0);
    for name in folder.names() {
        if !name.starts_with("killed") {
            parts += usize::from(name.starts_with(".reticent-"));
            continue;
        }
        models += 1;
        let check = reticent::verify::verify(&folder.path(&name)).unwrap();
        assert!(check.pass, "{name}: {:?}", check.failures().collect::<Vec<_>>());
        let model = folder.json(&name);
        let number = model["certificate"]["payment"]["charge"].as_u64().unwrap();
        let charge = &charges[number as usize - 1];
        assert_eq!(charge["state"], "released", "{name}");
        assert_eq!(charge["model"], model["digest"], "{name}");
    }
    let count = |state| states(&standing).iter().filter(|s| **s == state).count();
    println!(
        "{KILLS} kills: {models} models, {parts} temporary files; charges: {} charged, {} begun, {} released",
        count("charged"),
        count("begun"),
        count("released"),
    );
    // Kills came before, between and after.
    assert!(models > 0 && count("begun") + count("charged") > 0 && charges.len() < KILLS + 2);
    // And the next fit works.
    folder.run(&fit).succeeds();
}

/// A run of many steps on a larger table.
const LONG: &str = "fit --data clinic.csv --schema clinic.json --epsilon 0.5 --delta 1e-7 --algorithm clipped-sgd --steps 4000 --batch 200 --ledger c.ledger --checkpoint run.ck --checkpoint-every 50 --out model.json";

fn interrupted() -> Folder {
    let folder = with_ledger();
    folder.write("clinic.csv", clinic(4000));
    let mut run = folder.begin(LONG, "run.ck");
    run.kill().unwrap();
    run.wait().unwrap();
    folder
}

#[test]
fn a_resumed_run_is_neither_charged_twice_nor_free() {
    let folder = interrupted();
    assert_eq!(states(&show(&folder)), ["begun"]);
    fs::copy(folder.path("run.ck"), folder.path("copy.ck")).unwrap();
    let without = LONG.replace("--ledger c.ledger", "");
    folder.run(&format!("{without} --resume")).refuses("--ledger");
    folder.run("ledger init other.ledger --epsilon 1").succeeds();
    folder
        .run(&format!("{} --resume", LONG.replace("c.ledger", "other.ledger")))
        .refuses("charged elsewhere");
    folder.run(&format!("{LONG} --resume")).succeeds();
    let standing = show(&folder);
    assert_eq!(states(&standing), ["released"]);
    assert_eq!(standing["charges"][0]["model"], folder.json("model.json")["digest"]);
    // A copy of the checkpoint would give a second model for the one charge.
    let again = LONG.replace("run.ck", "copy.ck").replace("model.json", "second.json");
    let kept = folder.read("copy.ck");
    folder.run(&format!("{again} --resume")).refuses("a run went on from this checkpoint before");
    assert!(!folder.path("second.json").exists());
    assert_eq!(folder.read("copy.ck"), kept, "no step was taken from it");
}

#[test]
fn a_checkpoint_that_nobody_paid_for_is_paid_for_when_resumed() {
    let folder = with_ledger();
    folder.write("clinic.csv", clinic(4000));
    let mut run = folder.begin(&LONG.replace("--ledger c.ledger", ""), "run.ck");
    run.kill().unwrap();
    run.wait().unwrap();
    folder.run(&format!("{LONG} --resume")).succeeds();
    assert_eq!(states(&show(&folder)), ["released"]);
    let left: Vec<String> =
        folder.names().into_iter().filter(|name| name.starts_with("run.ck")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_altered_checkpoint_is_refused_with_a_ledger_and_without() {
    for ledger in ["--ledger c.ledger", ""] {
        let folder = with_ledger();
        folder.write("clinic.csv", clinic(4000));
        let fit = LONG.replace("--ledger c.ledger", ledger);
        let mut run = folder.begin(&fit, "run.ck");
        run.kill().unwrap();
        run.wait().unwrap();
        let kept = folder.read("run.ck");
        let step = folder.json("run.ck")["state"]["step"].to_string();
        let payment = kept.split("\"payment\":").nth(1).and_then(|rest| rest.split('}').next());
        let alterations = [
            (format!("\"step\":{step}"), "\"step\":0".to_owned()),
            ("\"runs\":1".to_owned(), "\"runs\":5".to_owned()),
            ("\"runs\":1".to_owned(), "\"runs\":18446744073709551615".to_owned()),
            ("\"seal\":\"".to_owned(), "\"seal\":\"00".to_owned()),
            (format!("\"payment\":{}}},", payment.unwrap_or("")), String::new()),
        ];
        for (from, to) in alterations.iter().take(if ledger.is_empty() { 4 } else { 5 }) {
            let altered = kept.replace(from, to);
            assert_ne!(altered, kept, "{from}");
            folder.write("run.ck", &altered);
            let word = if to.is_empty() { ".key" } else { "not as the run wrote it" };
            folder.run(&format!("{fit} --resume")).refuses(word);
            assert_eq!(folder.read("run.ck"), altered, "{from}: no step was taken from it");
        }
        folder.write("run.ck", &kept);
        folder.run(&format!("{fit} --resume")).succeeds();
    }
}

#[test]
fn a_copy_is_refused_however_often_it_is_tried() {
    let folder = interrupted();
    fs::copy(folder.path("run.ck"), folder.path("copy.ck")).unwrap();
    let mut run = folder.begin(&format!("{LONG} --resume"), "run.ck");
    // Until it has gone on, and kept a step that the copy does not have.
    let step = |name: &str| folder.json(name)["state"]["step"].as_u64();
    while step("run.ck") == step("copy.ck") {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let copy = format!("{} --resume", LONG.replace("run.ck", "copy.ck"));
    for _ in 0..3 {
        folder.run(&copy).refuses("a run went on from this checkpoint before");
    }
    folder.run(&format!("{LONG} --resume")).succeeds();
    let history = folder.run("ledger history c.ledger").succeeds().stdout;
    assert!(history.contains("resumed   1       after 1 run and "), "{history}");
}

#[test]
fn a_run_that_dies_before_it_keeps_a_step_goes_on_under_its_charge() {
    let folder = with_ledger();
    folder.write("clinic.csv", clinic(4000));
    let slow = LONG.replace("--steps 4000", "--steps 40000").replace("every 50", "every 39000");
    let mut run = Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(slow.split_whitespace())
        .current_dir(folder.folder())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while states(&show(&folder)) != ["begun"] {
        assert!(run.try_wait().unwrap().is_none());
    }
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(folder.json("run.ck")["state"], Value::Null, "killed before a step was kept");
    folder.run(&slow).refuses("--resume");
    folder.run(&format!("{slow} --resume")).succeeds();
    assert_eq!(states(&show(&folder)), ["released"]);
}
