//! A seed decides the model, threads do not; without a seed the noise is new in every run.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use crate::common::{FIT, Folder, clinic, weights};

fn fitted(folder: &Folder, flags: &str) -> Vec<f64> {
    folder.run(&format!("{FIT} {flags}")).succeeds();
    weights(&folder.json("model.json"))
}

#[test]
fn threads_do_not_change_the_model() {
    let folder = Folder::new();
    // Enough rows for several blocks of the summation.
    folder.write("clinic.csv", clinic(20_000));
    for precision in ["f64", "f32", "sparse"] {
        let flags = format!("--precision {precision} --insecure-seed 1");
        let one = fitted(&folder, &format!("{flags} --threads 1"));
        for threads in ["--threads 2", "--threads 3", ""] {
            assert_eq!(fitted(&folder, &format!("{flags} {threads}")), one, "{flags} {threads}");
        }
    }
}

#[test]
fn the_seed_decides_the_noise() {
    let folder = Folder::new();
    for noise in ["--noise gaussian", "--noise ball"] {
        let first = fitted(&folder, &format!("{noise} --insecure-seed 1"));
        assert_eq!(fitted(&folder, &format!("{noise} --insecure-seed 1")), first);
        let second = fitted(&folder, &format!("{noise} --insecure-seed 2"));
        assert!(first.iter().zip(&second).all(|(a, b)| a != b), "{first:?} {second:?}");
    }
}

#[test]
fn secure_runs_differ_in_every_weight() {
    let folder = Folder::new();
    for noise in ["--noise gaussian", "--noise ball"] {
        let (first, second) = (fitted(&folder, noise), fitted(&folder, noise));
        assert!(first.iter().zip(&second).all(|(a, b)| a != b), "{first:?} {second:?}");
    }
}

#[test]
fn the_noise_is_of_the_stated_size() {
    let folder = Folder::new();
    // The same steps without noise: a large but finite epsilon would still add some.
    let bare = FIT.replace("--epsilon 1", "--epsilon inf");
    for noise in ["gaussian", "ball"] {
        let flags = format!("--steps 3 --mu 0.1 --noise {noise}");
        folder.run(&format!("{bare} {flags}")).succeeds();
        let exact = weights(&folder.json("model.json"));
        folder.run(&format!("{FIT} {flags} --json")).succeeds();
        let model = folder.json("model.json");
        let plan = &model["certificate"]["plan"]["noise"];
        assert_eq!(plan["law"], noise);
        let scale = plan["sigma"].as_f64().or(plan["scale"].as_f64()).unwrap();
        let moved: Vec<f64> = weights(&model).iter().zip(&exact).map(|(a, b)| a - b).collect();
        let norm = moved.iter().map(|m| m * m).sum::<f64>().sqrt();
        // Six coordinates: the norm of both laws stays in this range but for one run in a million.
        assert!(norm > 0.02 * scale && norm < 25.0 * scale, "{norm} at {scale}");
    }
}

/// The same words without a cache, with an empty one that is filled, with one that others filled,
/// and with the filled one; that the last is read shows when its file is altered.
#[test]
fn what_the_planner_remembers_never_changes_a_result() {
    let folder = Folder::new();
    let plan = |cache: &str, arguments: &str| {
        let line = format!("RETICENT_CACHE={cache} $RETICENT plan --delta 1e-6 {arguments} --json");
        folder.shell(&line).succeeds().stdout
    };
    for (i, arguments) in [
        "--n 3000 --d 6 --epsilon 0.5",
        "--n 3000 --d 6 --epsilon 0.5 --loss huber",
        "--n 80 --d 9 --epsilon 0.02",
    ]
    .into_iter()
    .enumerate()
    {
        let without = plan("off", arguments);
        let cache = format!("cache{i}");
        plan(&cache, "--n 3000 --d 6 --epsilon 0.6");
        assert_eq!(plan(&cache, arguments), without, "{arguments}: filling");
        assert_eq!(plan(&cache, arguments), without, "{arguments}: filled");
        let file = format!("{cache}/plans.json");
        let mut kept = folder.json(&file);
        for entry in kept.as_array_mut().unwrap() {
            entry["found"][0]["prediction"]["gain"] = 0.123.into();
        }
        folder.write(&file, kept.to_string());
        assert_ne!(plan(&cache, arguments), without, "{arguments}: the file is not read");
    }
}
