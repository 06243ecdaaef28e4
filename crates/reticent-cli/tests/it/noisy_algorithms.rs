//! Random-round SGD, noisy SGD and the reproduction of a published table, through the command.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails
#![allow(clippy::print_stdout)] // says what was skipped

use std::path::PathBuf;

use crate::common::{FIT, Folder, weights};

#[test]
fn both_algorithms_fit_verify_and_predict() {
    let folder = Folder::new();
    for (flags, name, kind) in [
        ("--algorithm random-round --loss sigmoid", "random-round", "random-stop"),
        ("--algorithm random-round --mu 0.1", "random-round", "random-stop"),
        ("--algorithm random-round --target age --loss welsch", "random-round", "random-stop"),
        (
            "--algorithm random-round --target age --loss cauchy --threshold 0.2",
            "random-round",
            "random-stop",
        ),
        (
            "--algorithm random-round --loss sigmoid --calibration paper",
            "random-round",
            "random-stop",
        ),
        ("--algorithm noisy-sgd --radius 2", "noisy-sgd", "poisson-gaussian"),
        ("--algorithm noisy-sgd --mu 0.5 --batch 10", "noisy-sgd", "poisson-gaussian"),
        ("--algorithm noisy-sgd --loss hinge --radius 1", "noisy-sgd", "poisson-gaussian"),
        (
            "--algorithm noisy-sgd --target ward --radius 2 --steps 40",
            "noisy-sgd",
            "poisson-gaussian",
        ),
        (
            "--algorithm noisy-sgd --radius 2 --calibration paper",
            "noisy-sgd",
            "fixed-size-gaussian",
        ),
    ] {
        let run = folder.run(&format!("{FIT} {flags}")).succeeds();
        assert!(run.stdout.contains("epsilon = 1 and delta = 1e-6"), "{run:#?}");
        let model = folder.json("model.json");
        let certificate = &model["certificate"];
        assert_eq!(certificate["plan"]["algorithm"], name, "{flags}");
        assert_eq!(certificate["event"]["kind"], kind, "{flags}");
        assert!(weights(&model).iter().all(|w| w.is_finite()));
        folder.run("verify model.json").succeeds();
        folder.run("predict --model model.json --data clinic.csv").succeeds();
    }
}

#[test]
fn a_certificate_with_less_noise_or_another_sampler_fails() {
    let folder = Folder::new();
    folder.run(&format!("{FIT} --algorithm noisy-sgd --radius 2")).succeeds();
    let text = folder.read("model.json");
    let model = folder.json("model.json");
    let honest = model["certificate"]["plan"]["batches"]["noise_multiplier"].as_f64().unwrap();
    let tampered = text.replace(&honest.to_string(), &(honest / 2.0).to_string());
    assert_ne!(text, tampered);
    folder.write("model.json", tampered);
    let run = folder.run("verify model.json");
    assert_eq!(run.code, Some(1), "{run:#?}");
}

#[test]
fn what_cannot_be_is_refused_before_a_row_is_read() {
    let folder = Folder::new();
    for (flags, word) in [
        ("--algorithm random-round --delta 0", "needs delta > 0; use output-gd for pure DP"),
        ("--algorithm noisy-sgd --delta 0 --radius 1", "needs delta > 0"),
        ("--algorithm noisy-sgd", "declare `--radius`"),
        ("--algorithm noisy-sgd --radius 1 --loss sigmoid", "not convex"),
        ("--algorithm output-gd --loss sigmoid", "not convex"),
        ("--algorithm random-round --radius 1", "leave `--radius` out"),
        ("--algorithm random-round --batch 61", "`--batch` must be between 1 and n = 60, got 61"),
        ("--algorithm random-round --step-size 100", "`--step-size` must be < 2/beta"),
        ("--algorithm random-round --noise ball", "`--noise` is not a setting of random-round"),
        (
            "--algorithm noisy-sgd --radius 1 --step-size 1",
            "`--step-size` is not a setting of noisy-sgd",
        ),
        ("--algorithm noisy-sgd --radius 1 --rows 60 --adjacency add-remove-one", "replace-one"),
        ("--loss welsch --target age --threshold 0", "`--threshold`"),
        ("--algorithm random-round --calibration paper --epsilon 50", "use calibration=tight"),
    ] {
        let flags = flags.replace("--epsilon 50", "");
        let epsilon = if word.contains("calibration") { "50" } else { "1" };
        let fit = FIT.replace("--epsilon 1", &format!("--epsilon {epsilon}"));
        folder.run(&format!("{fit} {flags}")).refuses(word);
    }
}

#[test]
fn a_loss_that_is_not_convex_finds_its_algorithm() {
    let folder = Folder::new();
    let json =
        folder.run("plan --n 5000 --d 5 --loss sigmoid --epsilon 1 --json").succeeds().json();
    assert_eq!(json["ranking"][0]["algorithm"], "random-round");
    assert!(json["ranking"][0]["plan"]["predicted_gradient"].as_f64().unwrap() > 0.0);
}

/// Where the public data sets lie, if they do.
fn shared() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: the shared data sets are not here");
    None
}

#[test]
fn table_three_is_made_anew() {
    let Some(data) = shared() else { return };
    let folder = Folder::new();
    let data = data.display().to_string();
    let arguments = ["--data", data.as_str()];
    let line = "reproduce table3 --rounds 20 --baseline-rounds 1 --only wine --out made --json";
    let json = folder.run_with(line, &arguments).succeeds().json();
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    for row in rows {
        let error = |key: &str| row[key]["error"].as_f64().unwrap();
        assert_eq!((row["rows"].as_u64(), row["features"].as_u64()), (Some(6497), Some(12)));
        assert!(row["minimum"]["gradient"].as_f64().unwrap() < 1e-8, "{row}");
        assert!(error("ours_tight") > 0.0 && error("ours_tight") < error("ours_paper"), "{row}");
        assert!(error("baseline_tight") < error("baseline_printed"), "{row}");
    }
    // The printed errors of the method on WINE with ridge, and without.
    let printed = [0.6061, 0.2487, 0.1713, 0.1110, 1.0842, 0.0364, 0.0101, 0.0024];
    for (row, printed) in rows.iter().zip(printed) {
        assert!(row["ours_tight"]["error"].as_f64().unwrap() < printed, "{row}");
    }
    assert!(json["checks"].as_array().unwrap().len() >= 6);
    let made = folder.path("made");
    let page = std::fs::read_to_string(made.join("table3.md")).unwrap();
    assert!(page.contains("| WINE | 0.5 | 2 | 0.0024 |") && !page.contains(&data), "{page}");
    let figure = std::fs::read_to_string(made.join("table3.svg")).unwrap();
    assert!(figure.starts_with("<svg") && figure.matches("<polyline").count() == 10);
    // A second run with the same settings takes what is there.
    let again = folder.run_with(line, &arguments).succeeds();
    assert!(again.stderr.contains("is taken as it is") && again.json()["rows"] == json["rows"]);
}

#[test]
fn table_three_without_its_data_is_refused() {
    let folder = Folder::new();
    folder.run("reproduce table3 --data nowhere --only wine").refuses("wine_quality.schema.json");
    folder.run("reproduce table3 --data nowhere --only whine").refuses("whine");
    folder.run("reproduce table3 --data nowhere --rounds 0").refuses("rounds");
}
