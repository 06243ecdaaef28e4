//! Losses by name, end to end. A loss that has something of its own to test has it here.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails
#![allow(clippy::print_stdout)] // says what was skipped

use std::fmt::Write as _;

use crate::common::Folder;
use reticent::problem::Loss;

#[test]
fn every_loss_has_a_name_in_the_help_and_a_plan() {
    let folder = Folder::new();
    let help = folder.run("plan --help-all").succeeds().stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for about in Loss::ALL {
        let line = format!("- {}: {}", about.name, about.help);
        assert!(help.contains(&line), "{line}");
        // A ball bounds the slope of those that have no bound of their own; least squares takes
        // none.
        let set = match about.name {
            "one-hot" => "",
            "ordinal" => "--radius 2 --shares 0.2,0.5,0.3",
            _ => "--radius 2",
        };
        let line = format!("plan --n 500 --d 3 --loss {} --epsilon 2 {set} --json", about.name);
        let json = folder.run(&line).succeeds().json();
        let loss = &json["ranking"][0]["plan"]["problem"]["loss"]["name"];
        assert_eq!(loss, about.name, "{json}");
    }
    folder.run("plan --n 500 --d 3 --loss log --epsilon 2").refuses("logistic, softmax");
}

/// Counts of a mean between about 1 and 6, of at most 20.
fn counts(rows: u32) -> String {
    let mut table = "x,z,visits\n".to_owned();
    for i in 0..rows {
        let (x, z) = (f64::from(i * 37 % 101) / 100.0, i % 3);
        let mean = (0.2 + 1.6 * x).exp();
        // Around the mean by a square root of it, one way and the other.
        let off = [-1.0, 0.0, 1.0][(i / 3 % 3) as usize] * mean.sqrt();
        let visits = (mean + off).max(0.0).round();
        _ = writeln!(table, "{x},{z},{visits}");
    }
    table
}

fn visits(min: i32) -> String {
    format!(
        r#"{{"name": "visits", "target": "visits", "task": "regression", "columns": [
            {{"name": "x", "type": "real", "bounds": {{"min": 0, "max": 1}}}},
            {{"name": "z", "type": "real", "bounds": {{"min": 0, "max": 2}}}},
            {{"name": "visits", "type": "integer", "bounds": {{"min": {min}, "max": 20}}}}]}}"#
    )
}

#[test]
fn poisson_predicts_means_on_the_scale_of_the_target() {
    let folder = Folder::new();
    folder.write("visits.csv", counts(3000));
    folder.write("visits.json", visits(0));
    folder.write("signed.json", visits(-20));
    let fit = "fit --data visits.csv --loss poisson --out model.json --force --schema";
    folder.run(&format!("{fit} visits.json --epsilon inf --delta 0 --linear")).succeeds();
    let predict =
        |name: &str| folder.run(&format!("predict --model {name} --data visits.csv --json"));
    let json = predict("model.json").succeeds().json();
    let predictions = json["predictions"].as_array().unwrap();
    for (i, found) in predictions.iter().enumerate().take(101) {
        let want = (0.2 + 1.6 * (i as f64 * 37.0 % 101.0) / 100.0).exp();
        let found = found["value"].as_f64().unwrap();
        assert!((found / want - 1.0).abs() < 0.06, "{i}: {found} for {want}");
    }
    let evaluate = "evaluate --model model.json --data visits.csv --json";
    let best = folder.run(evaluate).succeeds().json()["metrics"]["deviance_explained"].clone();
    let best = best.as_f64().unwrap();
    assert!((0.3..0.9).contains(&best), "{best}");

    folder.run(&format!("{fit} visits.json --epsilon 2 --insecure-seed 3")).succeeds();
    let private = folder.run(evaluate).succeeds().json()["metrics"]["deviance_explained"].clone();
    assert!(private.as_f64().unwrap() > 0.9 * best, "{private} of {best}");

    folder.run(&format!("{fit} signed.json --epsilon 2")).refuses("numbers from -20 to 20");
    folder.run(&format!("{fit} visits.json --epsilon 2 --threshold 0")).refuses("`--threshold`");
}

/// Where the public data sets lie, if they do.
fn shared() -> Option<std::path::PathBuf> {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: the shared data sets are not here");
    None
}

#[test]
fn poisson_explains_visits_to_the_doctor() {
    let Some(data) = shared() else { return };
    let folder = Folder::new();
    let [table, schema] = ["doctor_visits.csv.gz", "doctor_visits.schema.json"].map(|name| {
        let path = data.join(name);
        path.display().to_string()
    });
    let line = "fit --loss poisson --epsilon 1 --delta 1e-6 --out m.json --insecure-seed 5";
    folder.run_with(line, &["--data", &table, "--schema", &schema]).succeeds();
    let found = folder.run_with("evaluate --model m.json --json", &["--data", &table]).succeeds();
    let metrics = &found.json()["metrics"];
    // Without privacy 0.139 is reached on all rows.
    assert!(metrics["deviance_explained"].as_f64().unwrap() > 0.08, "{metrics}");
}

#[test]
fn log_cosh_learns_about_as_huber_does() {
    let folder = Folder::new();
    folder.write("visits.csv", counts(3000));
    folder.write("visits.json", visits(0));
    let r2 = |loss: &str| {
        let fit = "fit --data visits.csv --schema visits.json --epsilon inf --delta 0 --force";
        folder.run(&format!("{fit} --out m.json --loss {loss}")).succeeds();
        let found = folder.run("evaluate --model m.json --data visits.csv --json").succeeds();
        found.json()["metrics"]["r2"].as_f64().unwrap()
    };
    let (huber, log_cosh) = (r2("huber"), r2("log-cosh"));
    assert!(huber > 0.3 && (log_cosh - huber).abs() < 0.02, "{log_cosh} and {huber}");
}

/// Amounts with the mean `exp(0.2 + 1.6 x)`, of at most 60: of every five, one is zero.
fn amounts(rows: u32) -> String {
    let mut table = "x,z,cost\n".to_owned();
    for i in 0..rows {
        let (x, z) = (f64::from(i * 37 % 101) / 100.0, i % 3);
        let around = [0.0, 0.4, 0.8, 1.3, 2.5][(i / 3 % 5) as usize];
        _ = writeln!(table, "{x},{z},{}", around * (0.2 + 1.6 * x).exp());
    }
    table
}

#[test]
fn losses_with_a_logarithmic_link_predict_means_of_amounts_and_counts() {
    let folder = Folder::new();
    folder.write("costs.csv", amounts(3000));
    let schema = visits(0).replace("visits", "cost").replace("integer", "real");
    folder.write("costs.json", schema.replace("\"max\": 20", "\"max\": 60"));
    for loss in ["tweedie", "tweedie --q 1.2", "gamma --threshold 20", "negative-binomial"] {
        let fit = "fit --data costs.csv --schema costs.json --out m.json --force --linear";
        folder.run(&format!("{fit} --loss {loss} --epsilon inf --delta 0")).succeeds();
        let json = folder.run("predict --model m.json --data costs.csv --json").succeeds().json();
        let predictions = json["predictions"].as_array().unwrap();
        for (i, found) in predictions.iter().enumerate().take(101) {
            let want = (0.2 + 1.6 * (i as f64 * 37.0 % 101.0) / 100.0).exp();
            let found = found["value"].as_f64().unwrap();
            assert!((found / want - 1.0).abs() < 0.06, "{loss} {i}: {found} for {want}");
        }
        let evaluate = "evaluate --model m.json --data costs.csv --json";
        let metrics = folder.run(evaluate).succeeds().json()["metrics"].clone();
        assert!(metrics["deviance_explained"].as_f64().unwrap() > 0.03, "{loss}: {metrics}");
    }
    let fit = "fit --data costs.csv --schema costs.json --out m.json --force --epsilon 1 --loss";
    folder.run(&format!("{fit} gamma --threshold 0.5")).refuses("`--threshold`");
    folder.run(&format!("{fit} negative-binomial --dispersion 0")).refuses("`--dispersion`");
    folder.run(&format!("{fit} tweedie --q 3")).refuses("`--q`");
    folder.run(&format!("{fit} pinball --quantile 1")).refuses("`--quantile`");
}

#[test]
fn pinball_covers_the_share_that_was_asked_for() {
    let folder = Folder::new();
    let mut table = "x,z,visits\n".to_owned();
    for i in 0_u32..3000 {
        let (x, z) = (f64::from(i * 37 % 101) / 100.0, i % 3);
        _ = writeln!(table, "{x},{z},{}", 6.0 + 4.0 * x + f64::from(i * 53 % 97) / 20.0);
    }
    folder.write("visits.csv", table);
    folder.write("visits.json", visits(0).replace("integer", "real"));
    for quantile in [0.2, 0.9] {
        let fit = "fit --data visits.csv --schema visits.json --force --out m.json --loss pinball";
        let line = format!("{fit} --quantile {quantile} --epsilon 4 --insecure-seed 1");
        folder.run(&line).succeeds();
        let found = folder.run("evaluate --model m.json --data visits.csv --json").succeeds();
        let covered = found.json()["metrics"]["quantile_coverage"].as_f64().unwrap();
        assert!((covered - quantile).abs() < 0.1, "{covered} for {quantile}");
    }
}

/// Grades from 1 to 5: a margin of `4x − 2` with the spread of a logistic number, cut at -3, -1, 0
/// and 2.
fn grades(rows: u32) -> String {
    let mut table = "x,z,grade\n".to_owned();
    for i in 0..rows {
        let (x, z) = (f64::from(i * 37 % 101) / 100.0, i % 3);
        let u = (f64::from(i * 7919 % 10_007) + 0.5) / 10_007.0;
        let latent = 4.0 * x - 2.0 + (u / (1.0 - u)).ln();
        let grade = 1 + [-3.0, -1.0, 0.0, 2.0].iter().filter(|t| latent > **t).count();
        _ = writeln!(table, "{x},{z},{grade}");
    }
    table
}

#[test]
fn ordinal_predicts_the_levels_with_their_probabilities() {
    let folder = Folder::new();
    folder.write("grades.csv", grades(8000));
    let schema = visits(1).replace("visits", "grade").replace("\"max\": 20", "\"max\": 5");
    folder.write("grades.json", &schema);
    folder.write("six.json", schema.replace("\"max\": 5", "\"max\": 6"));
    let shares = "--shares 0.08,0.24,0.18,0.33,0.17";
    let fit = "fit --data grades.csv --loss ordinal --out model.json --force --schema";
    let exact = "grades.json --epsilon inf --delta 0 --linear";
    folder.run(&format!("{fit} {exact} {shares}")).succeeds();
    let predict = "predict --model model.json --data grades.csv";
    let head = folder.run(predict).succeeds().stdout;
    assert!(head.starts_with("prediction,probability 1,probability 2,"), "{head:.80}");
    let json = folder.run(&format!("{predict} --json")).succeeds().json();
    assert_eq!(json["classes"], serde_json::json!(["1", "2", "3", "4", "5"]));
    let below = |threshold: f64, margin: f64| 1.0 / (1.0 + (margin - threshold).exp());
    for (i, found) in json["predictions"].as_array().unwrap().iter().enumerate().take(101) {
        let margin = 4.0 * (i as f64 * 37.0 % 101.0) / 100.0 - 2.0;
        let cut = [-3.0, -1.0, 0.0, 2.0].map(|threshold| below(threshold, margin));
        let want = [cut[0], cut[1] - cut[0], cut[2] - cut[1], cut[3] - cut[2], 1.0 - cut[3]];
        let p: Vec<f64> = serde_json::from_value(found["probabilities"].clone()).unwrap();
        // Thresholds come from the shares, and are about right.
        for (p, want) in p.iter().zip(want) {
            assert!((p - want).abs() < 0.05, "{i}: {p} for {want}");
        }
        let mean: f64 = p.iter().enumerate().map(|(k, p)| (k + 1) as f64 * p).sum();
        assert!((found["value"].as_f64().unwrap() - mean).abs() < 1e-9, "{i}: {found}");
    }
    let evaluate = || {
        let line = "evaluate --model model.json --data grades.csv --json";
        folder.run(line).succeeds().json()["metrics"].clone()
    };
    let number = |metrics: &serde_json::Value, name: &str| metrics[name].as_f64().unwrap();
    let best = evaluate();
    let gain = |metrics| number(metrics, "baseline_log_loss") - number(metrics, "log_loss");
    assert!(gain(&best) > 0.1 && number(&best, "accuracy") > 0.38, "{best}");
    assert!(number(&best, "mae") < 1.0 && number(&best, "r2") > 0.25, "{best}");

    folder.run(&format!("{fit} grades.json --epsilon 2 --insecure-seed 3 {shares}")).succeeds();
    let private = evaluate();
    assert!(gain(&private) > 0.9 * gain(&best), "{private} of {best}");

    folder.run(&format!("{fit} grades.json --epsilon 2")).refuses("shares");
    folder.run(&format!("{fit} six.json --epsilon 2 {shares}")).refuses("numbers from 1 to 6");
    folder.run(&format!("{fit} grades.json --epsilon 2 --shares 1,2")).refuses("3 to 16 numbers");
    let line = format!("{fit} grades.json --epsilon 2 {shares} --stretch 0.5");
    folder.run(&line).refuses("`--stretch`");
}
