//! Kernel models from the command line: plan, fit, verify, predict, evaluate, report, audit, and
//! what bad input gets.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::fmt::Write as _;

use crate::common::{FIT, Folder, weights};

/// Rents that no straight line fits: high in the middle of the town, low at both ends.
fn rents(folder: &Folder) {
    folder.write(
        "rents.json",
        r#"{"name": "rents", "target": "rent", "columns": [
        {"name": "place", "type": "real", "bounds": {"min": 0, "max": 10}},
        {"name": "rent", "type": "real", "bounds": {"min": 0, "max": 100}}]}"#,
    );
    let mut text = "place,rent\n".to_owned();
    for i in 0..3000 {
        let place = f64::from(i * 37 % 1000) / 100.0;
        let rent = 50.0 - 45.0 * (0.2 * std::f64::consts::PI * place).cos();
        writeln!(text, "{place},{rent}").unwrap();
    }
    folder.write("rents.csv", text);
}

/// Three classes in the plane; the middle one lies between the others.
fn rings(folder: &Folder) {
    folder.write(
        "rings.json",
        r#"{"name": "rings", "target": "ring", "columns": [
        {"name": "x", "type": "real", "bounds": {"min": -3, "max": 3}},
        {"name": "y", "type": "real", "bounds": {"min": -3, "max": 3}},
        {"name": "ring", "type": "categorical", "categories": ["in", "middle", "out"]}]}"#,
    );
    let mut text = "x,y,ring\n".to_owned();
    for i in 0..4000 {
        let (k, angle) = (i % 3, f64::from(i) * 0.731);
        let radius = 0.5 + f64::from(k) + 0.3 * (f64::from(i) * 0.17).sin();
        let name = ["in", "middle", "out"][k as usize];
        writeln!(text, "{},{},{name}", radius * angle.cos(), radius * angle.sin()).unwrap();
    }
    folder.write("rings.csv", text);
}

const RENTS: &str = "fit --data rents.csv --schema rents.json --out model.json --force --epsilon 4";

fn r2(folder: &Folder, data: &str) -> f64 {
    let run = folder.run(&format!("--json evaluate --model model.json --data {data}")).succeeds();
    run.json()["metrics"]["r2"].as_f64().unwrap()
}

#[test]
fn a_kernel_fits_what_a_line_cannot_and_everything_works_on_it() {
    let folder = Folder::new();
    rents(&folder);
    folder.run(&format!("{RENTS} --linear")).succeeds();
    assert!(r2(&folder, "rents.csv") < 0.3);
    for flags in [
        "--kernel gaussian --bandwidth 0.2 --features 64",
        "--kernel gaussian --bandwidth 0.2 --features 64 --loss squared --algorithm least-squares",
        "--kernel gaussian --bandwidth 0.2 --features 64 --loss squared --algorithm least-squares --order full --mu 0.001",
        "--kernel matern --nu 2.5 --bandwidth 0.3 --features 64 --map fastfood --form cosine",
        "--kernel rational-quadratic --bandwidth 0.3 --features 64 --map orthogonal --algorithm output-gd",
        "--kernel laplace --bandwidth 0.5 --features 128 --algorithm clipped-sgd",
        "--kernel cauchy --bandwidth 0.3 --features 64 --map plain --loss squared --algorithm clipped-sgd",
    ] {
        let run = folder.run(&format!("{RENTS} {flags} --verbose")).succeeds();
        assert!(run.stdout.contains("public seed"), "{run:#?}");
        let found = r2(&folder, "rents.csv");
        assert!(found > 0.6, "{flags}: {found}");
        let run = folder.run("verify model.json").succeeds();
        assert!(run.stdout.contains("PASS"), "{flags}: {run:#?}");
        folder.run("report model.json --out report.html").succeeds();
        assert!(folder.read("report.html").contains("random features of the"));
        let run = folder.run("predict --model model.json --data rents.csv").succeeds();
        assert_eq!(run.stdout.lines().count(), 3001, "{flags}");
    }
}

#[test]
fn classes_on_features() {
    let folder = Folder::new();
    rings(&folder);
    let fit = "fit --data rings.csv --schema rings.json --out model.json --force --epsilon 4";
    let accuracy = || {
        let run = folder.run("--json evaluate --model model.json --data rings.csv").succeeds();
        run.json()["metrics"]["accuracy"].as_f64().unwrap()
    };
    folder.run(&format!("{fit} --linear")).succeeds();
    let linear = accuracy();
    folder.run(&format!("{fit} --kernel gaussian --bandwidth 0.2 --features 128")).succeeds();
    assert!(accuracy() > linear + 0.2, "{linear} and {}", accuracy());
    folder.run("verify model.json").succeeds();
    // Squared distances to the classes: one release, no probabilities.
    let one_hot = "--loss one-hot --algorithm least-squares";
    folder
        .run(&format!("{fit} --kernel gaussian --bandwidth 0.2 --features 128 {one_hot}"))
        .succeeds();
    assert!(accuracy() > linear + 0.2, "{linear} and {}", accuracy());
    folder.run("verify model.json").succeeds();
    folder.run("report model.json --out report.html").succeeds();
    let run = folder.run("--json predict --model model.json --data rings.csv").succeeds();
    let first = &run.json()["predictions"][0];
    assert!(first["value"].is_string() && first["probabilities"].is_null(), "{first}");
    folder
        .run(&format!("{fit} --loss one-hot --algorithm objective"))
        .refuses("least-squares alone");
    folder.run(&format!("{FIT} --kernel gaussian --features 32 {one_hot}")).succeeds();
    assert_eq!(folder.json("model.json")["weights"].as_array().unwrap().len(), 1);
    folder.run("verify model.json").succeeds();
    // Binary classification: logistic by default.
    folder.run(&format!("{FIT} --kernel gaussian --features 32")).succeeds();
    assert_eq!(folder.json("model.json")["task"]["loss"]["name"], "logistic");
    folder.run("verify model.json").succeeds();
}

#[test]
fn a_model_of_ten_thousand_features_is_a_small_file_with_a_seed() {
    let folder = Folder::new();
    let flags =
        "--kernel gaussian --features 10000 --loss logistic --algorithm clipped-sgd --steps 3";
    folder.run(&format!("{FIT} {flags}")).succeeds();
    let model = folder.json("model.json");
    assert_eq!(weights(&model).len(), 10_000);
    assert!(folder.read("model.json").len() < 500_000);
    let map = &model["task"]["map"];
    assert_eq!(map["features"], 10_000);
    assert_eq!(map["kernel"], "gaussian");
    let first = map["seed"].as_u64().unwrap();
    assert_eq!(model["certificate"]["void"], serde_json::Value::Null, "a public map is no secret");
    // Another run draws another map; a given seed gives the same one, and the noise differs all the
    // same.
    folder.run(&format!("{FIT} {flags} --map-seed {first}")).succeeds();
    let again = folder.json("model.json");
    assert_eq!(again["task"]["map"]["seed"].as_u64(), Some(first));
    assert_eq!(again["certificate"]["void"], serde_json::Value::Null);
    assert_ne!(weights(&again), weights(&model));
    folder.run(&format!("{FIT} {flags}")).succeeds();
    assert_ne!(folder.json("model.json")["task"]["map"]["seed"].as_u64(), Some(first));
}

#[test]
fn threads_change_nothing_and_a_changed_map_is_noticed() {
    let folder = Folder::new();
    let fit =
        format!("{FIT} --kernel gaussian --features 64 --insecure-seed 5 --algorithm objective");
    folder.run(&format!("{fit} --threads 1")).succeeds();
    let one = folder.read("model.json");
    folder.run(&format!("{fit} --threads 2")).succeeds();
    assert_eq!(one, folder.read("model.json"));
    // A form with longer rows under the same plan would be under-noised: verify says so.
    folder.run(&format!("{FIT} --kernel gaussian --features 64")).succeeds();
    let altered = folder.read("model.json").replace("\"paired\"", "\"cosine\"");
    folder.write("altered.json", altered);
    let run = folder.run("verify altered.json");
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(run.stdout.contains("FAILS  bounds follow from the declaration"), "{run:#?}");
}

#[test]
fn plans_and_audits_need_no_data() {
    let folder = Folder::new();
    let plan = folder
        .run("--json plan --n 10000 --d 5 --kernel gaussian --loss squared --epsilon 1 --algorithm least-squares")
        .succeeds();
    assert_eq!(plan.json()["problem"]["features"], 3068);
    let run = folder
        .run("audit --n 20 --d 3 --kernel gaussian --features 8 --loss squared --algorithm least-squares --steps 20 --step-size 0.2 --epsilon 1 --delta 1e-3 --runs 400 --seed 3")
        .succeeds();
    assert!(run.says("at the origin"), "{run:#?}");
}

#[test]
fn bad_input_is_refused_in_one_sentence() {
    let folder = Folder::new();
    for (flags, word) in [
        ("--kernel gaussian --bandwidth 0", "bandwidth"),
        ("--kernel gaussian --bandwidth nan", "bandwidth"),
        ("--kernel gaussian --features 63", "even"),
        ("--kernel gaussian --features 0", "features"),
        ("--kernel laplace --map structured", "isotropic"),
        ("--kernel matern --nu -1", "nu"),
        ("--kernel rational-quadratic --shape 0", "shape"),
        ("--kernel gaussian --feature-norm none", "bandwidth"),
        ("--bandwidth 1", "kernel"),
        ("--kernel polynomial", "kernel"),
    ] {
        folder.run(&format!("{FIT} {flags}")).refuses(word);
    }
    folder.run(&format!("{FIT} --kernel gaussian --feature-norm none --bandwidth 1")).succeeds();
}

/// A run that is killed goes on with the random features that it began with, and with no other
/// task.
#[test]
fn a_resumed_run_has_the_map_it_began_with() {
    let folder = Folder::new();
    rents(&folder);
    let renamed =
        folder.read("rents.json").replacen("\"name\": \"place\"", "\"name\": \"spot\"", 1);
    folder.write("other.json", renamed);
    folder.write("other.csv", folder.read("rents.csv").replace("place", "spot"));
    folder.run("ledger init l --epsilon 4 --delta 1e-3").succeeds();
    let fit = format!(
        "{RENTS} --algorithm clipped-sgd --kernel gaussian --bandwidth 0.2 --features 64 --steps 40000 --batch 300 --ledger l --checkpoint k --checkpoint-every 10000"
    );
    let mut first = folder.begin(&fit, "k");
    first.kill().unwrap();
    first.wait().unwrap();
    let kept = folder.json("k");
    let seed = &kept["map_seed"];
    assert!(kept["state"]["step"].as_u64().unwrap() < 40_000, "killed on its way");
    let other = fit.replace("rents.csv", "other.csv").replace("rents.json", "other.json");
    folder.run(&format!("{other} --resume")).refuses("another task");
    folder.run(&format!("{fit} --map-seed 7 --resume")).refuses("another task");
    folder.run(&format!("{fit} --numeric-range symmetric --resume")).refuses("another");
    folder.run(&format!("{fit} --resume")).succeeds();
    assert_eq!(&folder.json("model.json")["task"]["map"]["seed"], seed);
    assert!(r2(&folder, "rents.csv") > 0.98);
    folder.run("verify model.json").succeeds();
}
