//! Clipped DP-SGD from the command line: adjacencies, networks, clip norms, interruption, the
//! published tables.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::fmt::Write as _;

use crate::common::{FIT, Folder, gzip, weights};
use serde_json::Value;

const SGD: &str = "--algorithm clipped-sgd --delta 1e-3";

/// The same with a budget for more weights than rows.
const NETWORK: &str = "fit --data clinic.csv --schema clinic.json --out model.json --force --epsilon 9 --algorithm clipped-sgd --delta 1e-3";

#[test]
fn the_number_of_rows_is_declared_where_it_is_private() {
    let folder = Folder::new();
    folder
        .run(&format!("{FIT} {SGD} --adjacency add-remove-one"))
        .refuses("declare `--rows`: under add-remove adjacency");
    folder.run(&format!("{FIT} {SGD} --rows 60")).refuses("`--rows` is for add-remove adjacency");
    folder
        .run(&format!("{FIT} {SGD} --adjacency add-remove-one --rows 0"))
        .refuses("must be a whole number >= 1");
    // The declared number is used, and the table's own appears nowhere.
    let run = folder.run(&format!("{FIT} {SGD} --adjacency add-remove-one --rows 73")).succeeds();
    assert!(run.stdout.contains("73 rows") && !run.says("60"), "{run:#?}");
    assert_eq!(folder.json("model.json")["certificate"]["plan"]["problem"]["rows"], 73);
    folder.run("verify model.json").succeeds();
    // One row and none are neighbours, so a table without rows is no error.
    folder.write("clinic.csv", "age,ward,visit,back\n");
    folder.run(&format!("{FIT} {SGD} --adjacency add-remove-one --rows 73")).succeeds();
    folder.write("clinic.csv", crate::common::clinic(60));
    for adjacency in ["replace-one", "zero-out"] {
        folder.run(&format!("{FIT} {SGD} --adjacency {adjacency}")).succeeds();
        let event = &folder.json("model.json")["certificate"]["event"];
        assert_eq!(event["kind"], "poisson-gaussian");
        assert_eq!(event["adjacency"], adjacency);
        folder.run("verify model.json").succeeds();
    }
}

#[test]
fn a_network_is_fitted_stored_and_used() {
    let folder = Folder::new();
    for (target, outputs) in [("back", 1), ("ward", 3)] {
        let flags = format!("{NETWORK} --target {target} --hidden 5");
        folder.run(&flags).succeeds();
        let model = folder.json("model.json");
        assert_eq!(model["task"]["hidden"], 5);
        let features = model["features"].as_array().unwrap().len();
        assert_eq!(model["weights"].as_array().unwrap().len(), 5 + outputs);
        assert_eq!(weights(&model).len(), 5 * features + outputs * 6);
        assert_eq!(model["certificate"]["plan"]["output"], "last");
        folder.run("verify model.json").succeeds();
        folder.run("predict --model model.json --data clinic.csv").succeeds();
        folder.run("evaluate --model model.json --data clinic.csv").succeeds();
        folder.run("report model.json").succeeds();
        // A width that is not the plan's does not verify.
        let text = folder.read("model.json").replace("\"hidden\": 5", "\"hidden\": 4");
        folder.write("other.json", text);
        let run = folder.run("verify other.json");
        assert_ne!(run.code, Some(0), "{run:#?}");
    }
    // The default width, and algorithms that cannot serve a network.
    folder.run(&format!("{NETWORK} --steps 3 --hidden")).succeeds();
    assert_eq!(folder.json("model.json")["task"]["hidden"], 256);
    folder.run(&format!("{FIT} --algorithm output-gd --hidden 5")).refuses("a network has none");
}

#[test]
fn a_network_learns_what_no_line_separates() {
    let folder = Folder::new();
    folder.write(
        "xor.json",
        r#"{"target": "y", "columns": [
        {"name": "a", "type": "real", "bounds": {"min": -1, "max": 1}},
        {"name": "b", "type": "real", "bounds": {"min": -1, "max": 1}},
        {"name": "y", "type": "categorical", "categories": ["n", "p"]}]}"#,
    );
    let mut text = "a,b,y\n".to_owned();
    for i in 0..2000_u32 {
        let (a, b) = (f64::from(i * 37 % 199) / 99.0 - 1.0, f64::from(i * 71 % 197) / 98.0 - 1.0);
        writeln!(text, "{a},{b},{}", if a * b > 0.0 { "p" } else { "n" }).unwrap();
    }
    folder.write("xor.csv", text);
    let fit = "fit --data xor.csv --schema xor.json --numeric-range symmetric --epsilon 8 --algorithm clipped-sgd \
               --batch 200 --steps 1500 --step-size 2 --force";
    let accuracy = |flags: &str| {
        folder.run(&format!("{fit} {flags}")).succeeds();
        let run = folder.run("evaluate --model model.json --data xor.csv --json").succeeds();
        run.json()["metrics"]["accuracy"].as_f64().unwrap()
    };
    let (line, network) = (accuracy(""), accuracy("--hidden 16"));
    assert!(line < 0.65 && network > 0.9, "{line} and {network}");
}

#[test]
fn clip_norms_by_every_rule() {
    let folder = Folder::new();
    for (flags, key) in [
        ("--clip 0.5", "public"),
        ("--clip-selection 0.2", "selected"),
        ("--clip-selection 0.2 --clip-low 0.1 --clip-high 10", "selected"),
        ("--target age --clip-quantile-multiple 0.8", "quantile"),
        (
            "--target age --clip-quantile-multiple 0.8 --clip-selection 0.2 --adaptive-step",
            "quantile",
        ),
        ("--target age --loss squared --radius 2 --clip-quantile-multiple 0.8", "quantile"),
        ("--gradient-moment 2", "moments"),
        ("--gradient-moment 2 --moment-order inf --radius 3", "moments"),
        ("--gradient-moment 2 --moment-order 3 --moment-failure 0.2 --growth-radius 2", "moments"),
        ("--gradient-moment 2 --hidden 4 --smoothness 5", "moments"),
    ] {
        folder.run(&format!("{FIT} {SGD} {flags}")).succeeds();
        let plan = &folder.json("model.json")["certificate"]["plan"];
        assert_eq!(plan["settings"]["clip"]["rule"], key, "{flags}");
        folder.run("verify model.json").succeeds();
    }
    for output in ["average", "tail-average", "last", "random"] {
        folder.run(&format!("{FIT} {SGD} --output {output}")).succeeds();
        folder.run("verify model.json").succeeds();
    }
    folder.run(&format!("{FIT} {SGD} --clip 0")).refuses("`--clip` must be a number from 1e-100");
    folder.run(&format!("{FIT} {SGD} --clip 1 --clip-selection 1")).refuses("one rule");
    folder.run(&format!("{FIT} {SGD} --batch 61")).refuses("`--batch` must be");
    folder
        .run(&format!("{FIT} {SGD} --clip-selection 1.5"))
        .refuses("the other parts alone use epsilon");
    folder
        .run(&format!("{FIT} --algorithm clipped-sgd --delta 0"))
        .refuses("Gaussian noise cannot give delta = 0");
    folder.run(&NETWORK.replace("--epsilon 9", "--epsilon inf")).succeeds();
}

#[test]
fn steps_that_follow_the_noisy_gradients() {
    let folder = Folder::new();
    for flags in
        ["", "--step-size 0.01 --output last", "--clip-selection 0.2", "--mu 0.1 --radius 3"]
    {
        folder.run(&format!("{FIT} {SGD} --adaptive-step {flags}")).succeeds();
        let plan = &folder.json("model.json")["certificate"]["plan"];
        assert_eq!(plan["settings"]["adaptive_step"], true, "{flags}");
        folder.run("verify model.json").succeeds();
    }
    // Without it the certificate is of another plan.
    let text =
        folder.read("model.json").replace("\"adaptive_step\": true", "\"adaptive_step\": false");
    assert_ne!(text, folder.read("model.json"));
    folder.write("other.json", text);
    let run = folder.run("verify other.json");
    assert_ne!(run.code, Some(0), "{run:#?}");
    // A run that ends, kept in a checkpoint on its way.
    folder
        .run(&format!("{FIT} {SGD} --adaptive-step --checkpoint x --checkpoint-every 1"))
        .succeeds();
    folder
        .run(&format!("{FIT} --algorithm output-gd --adaptive-step"))
        .refuses("`--adaptive-step`");
}

#[test]
fn an_interrupted_run_goes_on_and_is_charged_once() {
    let folder = Folder::new();
    let fit = format!(
        "{FIT} {SGD} --batch 6 --steps 600000 --checkpoint run.ckpt --checkpoint-every 2000"
    );
    let mut first = folder.begin(&fit, "run.ckpt");
    // While it runs nobody else may go on from its checkpoint.
    folder.run(&format!("{fit} --resume")).refuses("another process holds it");
    first.kill().unwrap();
    first.wait().unwrap();
    let kept = folder.json("run.ckpt");
    let step = kept["state"]["step"].as_u64().unwrap();
    assert!((2000..600_000).contains(&step), "{step}");
    // Neither a key nor noise lies in the file: only weights and counts.
    let mut names: Vec<&String> = kept.as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["format", "plan", "randomness", "runs", "seal", "state", "task"]);
    // To start over would spend again; other settings are another plan.
    folder.run(&fit).refuses("what is in it is spent");
    folder.run(&format!("{fit} --resume --clip 2")).refuses("belongs to another plan");
    folder.run(&format!("{fit} --resume")).succeeds();
    let model = folder.json("model.json");
    let event = &model["certificate"]["event"];
    assert_eq!((&event["kind"], &event["steps"]), (&"poisson-gaussian".into(), &599_999.into()));
    assert_eq!(model["certificate"]["void"], Value::Null);
    folder.run("verify model.json").succeeds();
    assert!(
        !folder.names().iter().any(|name| name.starts_with("run.ckpt")),
        "{:?}",
        folder.names()
    );
    folder.run(&format!("{fit} --resume")).refuses("cannot read");
    folder
        .run(&format!("{FIT} --algorithm output-gd --checkpoint x"))
        .refuses("gets its noise at the end");
}

/// Each of them draws noise in every step, so what is kept has been paid for.
#[test]
fn other_algorithms_go_on_too() {
    let runs = [
        "noisy-sgd --steps 40000 --batch 6 --radius 2",
        "gradient-sgd --steps 40000 --batch 6 --radius 2",
        "coordinate-mean --steps 40000 --radius 2",
    ];
    for run in runs {
        let folder = Folder::new();
        let fit = format!("{FIT} --algorithm {run} --checkpoint run.ckpt --checkpoint-every 100");
        let mut first = folder.begin(&fit, "run.ckpt");
        first.kill().unwrap();
        first.wait().unwrap();
        let step = folder.json("run.ckpt")["state"]["step"].as_u64().unwrap();
        assert!((100..39_999).contains(&step), "{run}: {step}");
        folder.run(&fit).refuses("what is in it is spent");
        let rarely = fit.replace("--checkpoint-every 100", "--checkpoint-every 100000");
        folder.run(&format!("{rarely} --resume")).succeeds();
        assert_eq!(folder.json("model.json")["certificate"]["void"], Value::Null);
        folder.run("verify model.json").succeeds();
    }
    let folder = Folder::new();
    for (algorithm, why) in [
        ("objective", "gets its noise at the end"),
        ("output-sgd", "gets its noise at the end"),
        ("phased", "uses each row once"),
        ("truncated-mirror --radius 2", "uses each row once"),
    ] {
        folder.run(&format!("{FIT} --algorithm {algorithm} --checkpoint x")).refuses(why);
        assert!(!folder.names().contains(&"x".to_owned()));
    }
}

/// A data set of the published one's form: 28 by 28 pixels, ten classes, a class lights its own
/// rows of pixels.
fn pictures(folder: &Folder) {
    std::fs::create_dir(folder.path("fashion_mnist")).unwrap();
    folder.write(
        "fashion_mnist.schema.json",
        r#"{"name": "fashion_mnist", "task": "multiclass_classification", "target": "label", "columns": [
        {"name": "image", "type": "uint8", "role": "feature", "shape": [28, 28], "bounds": {"min": 0, "max": 255}},
        {"name": "label", "type": "categorical", "role": "target", "categories": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}]}"#,
    );
    for (name, rows) in [("train", 600_u32), ("t10k", 200)] {
        let mut images = vec![0, 0, 8, 3];
        for size in [rows, 28, 28] {
            images.extend(size.to_be_bytes());
        }
        let mut labels = vec![0, 0, 8, 1];
        labels.extend(rows.to_be_bytes());
        for i in 0..rows {
            let class = i * 7 % 10;
            labels.push(class as u8);
            for pixel in 0..784_u32 {
                let lit = pixel / 28 / 2 == class || (i * 31 + pixel * 17) % 23 == 0;
                images.push(if lit { 200 } else { 0 });
            }
        }
        folder.write(&format!("fashion_mnist/{name}-images-idx3-ubyte.gz"), gzip(&images));
        folder.write(&format!("fashion_mnist/{name}-labels-idx1-ubyte.gz"), gzip(&labels));
    }
}

#[test]
fn a_published_table_is_made_anew() {
    let folder = Folder::new();
    folder.run("reproduce fashion-mnist --data nowhere").refuses("nowhere");
    pictures(&folder);
    let command = "reproduce fashion-mnist --data . --out out --seeds 2 --epochs 3 --batch 60 --clips 1,32.4 \
                   --epsilons 2,6 --strides 0.3,1";
    let run = folder.run(command).succeeds();
    let page = folder.read("out/fashion-mnist.md");
    assert!(run.stdout.contains(&page));
    assert!(page.contains("Per-run epsilon; tuning not counted"), "{page}");
    assert!(page.contains("## Nothing tuned") && page.contains("82.99 ± 0.13"), "{page}");
    assert!(folder.read("out/fashion-mnist.svg").starts_with("<svg"));
    // Four cells and one without privacy with two step lengths and one more seed each, and two runs
    // of two that are not tuned.
    let lines = |folder: &Folder| folder.read("out/fashion-mnist.runs.jsonl").lines().count();
    assert_eq!(lines(&folder), 5 * 3 + 4);
    // Recorded runs are not repeated.
    let again = folder.run(&format!("{command} --json")).succeeds().json();
    assert_eq!(lines(&folder), 19);
    let cells = again["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    for cell in cells {
        assert!(cell["mean"].as_f64().unwrap() > 20.0, "{cell}");
    }
    folder.run("reproduce fashion-mnist --data . --hidden").refuses("`--hidden` is for emnist");
    folder.run("reproduce fashion-mnist --data . --seeds 0").refuses("at least 1");
}
