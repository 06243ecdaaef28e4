//! Sets, other norms and rows without a bound, from the command line: fit, verify, predict.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::fmt::Write as _;

use crate::common::Folder;

/// Each algorithm fits over each set that it serves, and the certificate verifies.
#[test]
fn every_algorithm_fits_and_verifies() {
    let folder = Folder::new();
    let fit = "fit --data clinic.csv --schema clinic.json --out model.json --force --epsilon 1 --delta 1e-4";
    for flags in [
        "--algorithm mirror",
        "--algorithm mirror --set l1 --radius 2",
        "--algorithm mirror --p 1.5 --noise generalized-gaussian",
        "--algorithm mirror --set simplex --radius 1 --calibration paper",
        "--algorithm mirror --adjacency zero-out",
        "--algorithm phased",
        "--algorithm phased --set group --radius 1 --groups 1,5",
        "--algorithm phased --set box --low -1 --high 1 --calibration paper",
        "--algorithm truncated-mirror --radius 1",
        "--algorithm truncated-mirror --set l1 --radius 1 --feature-norm none",
        "--algorithm truncated-mirror --set lp --p 1.3 --radius 1 --noise generalized-gaussian",
        "--algorithm coordinate-mean --radius 1 --feature-norm none",
        "--algorithm coordinate-mean --set product --groups 2,4 --radius 1 --loss hinge",
        "--algorithm output-gd --set lp --p 3 --radius 1 --delta 0",
        "--algorithm output-gd --set group --radius 1 --groups 1,5 --group-weights 1,2",
    ] {
        let fit = if flags.contains("--delta") {
            fit.replace(" --delta 1e-4", "")
        } else {
            fit.to_owned()
        };
        folder.run(&format!("{fit} {flags}")).succeeds();
        let run = folder.run("verify model.json").succeeds();
        assert!(run.stdout.contains("PASS"), "{flags}: {run:#?}");
    }
}

/// A shuffle helps where the budget is small and the table large; the plan says so and the fit
/// runs.
#[test]
fn a_shuffle_is_offered_where_it_helps() {
    let folder = Folder::new();
    let mut table = String::from("age,ward,visit,back\n");
    for i in 0..3000 {
        let back = if i % 3 == 0 { "yes" } else { "no" };
        writeln!(table, "{},surgery,{},{back}", i % 90, i % 9).unwrap();
    }
    folder.write("large.csv", table);
    let fit = "fit --data large.csv --schema clinic.json --out model.json --force --epsilon 0.5 --algorithm shuffled-mirror --radius 1 --batch 2";
    folder.run(fit).succeeds();
    assert!(folder.run("verify model.json").succeeds().stdout.contains("PASS"));
}

/// A table whose columns have no bounds at all: the schema says so, and so does the command.
#[test]
fn a_table_without_bounds_is_learned_from() {
    let folder = Folder::new();
    folder.write(
        "wild.json",
        r#"{"target": "y", "columns": [
            {"name": "a", "type": "real", "bounds": {"unbounded": true}},
            {"name": "b", "type": "real", "bounds": {"unbounded": true}},
            {"name": "y", "type": "real", "bounds": {"unbounded": true}}]}"#,
    );
    let mut table = String::from("a,b,y\n");
    for i in 0..12_000_i32 {
        let (a, b) = (f64::from(i % 7) - 3.0, f64::from(i % 11) - 5.0);
        if i % 500 == 0 {
            writeln!(table, "1e300,-1e300,1e308").unwrap();
        } else {
            writeln!(table, "{a},{b},{}", 0.5 * a - 0.25 * b).unwrap();
        }
    }
    folder.write("wild.csv", table);
    let fit = "fit --data wild.csv --schema wild.json --out model.json --force --epsilon 20 --loss squared --radius 1 --no-intercept";
    folder.run(fit).refuses("`--feature-norm`");
    folder.run(&format!("{fit} --feature-norm none --normalize rows")).refuses("`--feature-norm`");
    folder.run(&format!("{fit} --feature-norm none --algorithm output-gd")).refuses("bounded rows");
    for algorithm in [
        "truncated-mirror --smoothness 12 --deviation 10",
        "coordinate-mean --smoothness 12 --deviation 8",
    ] {
        let flags = format!("--feature-norm none --algorithm {algorithm}");
        let run = folder.run(&format!("{fit} {flags}")).succeeds();
        let notes: Vec<&str> = run.stderr.lines().collect();
        assert!(notes[0].contains("`reticent data check`") && notes.len() == 2, "{run:#?}");
        assert!(notes[1].contains("may become more than 99 % sure"), "{run:#?}");
        assert!(folder.run("verify model.json").succeeds().stdout.contains("PASS"));
        let model = folder.json("model.json");
        let plan = &model["certificate"]["plan"];
        assert!(plan["problem"]["bounds"]["norm"].is_null(), "{plan:#}");
        let weights: Vec<f64> =
            model["weights"][0].as_array().unwrap().iter().map(|w| w.as_f64().unwrap()).collect();
        // Towards (1/2, -1/4), which half of the way already shows.
        assert!(weights[0] > 0.1 && weights[1] < -0.05, "{algorithm}: {weights:?}");
        folder.run("predict --model model.json --data wild.csv --out p.csv").succeeds();
        assert!(folder.read("p.csv").lines().count() > 12_000);
    }
    let run = folder.run("schema check wild.json --feature-norm none").succeeds();
    assert!(
        run.stdout.contains("taken as it is") && run.stdout.contains("no norm bound"),
        "{run:#?}"
    );
}

/// `plan` ranks what applies and says why the rest does not.
#[test]
fn the_plan_says_who_needs_bounded_rows() {
    let folder = Folder::new();
    let run =
        folder.run("plan --n 5000 --d 20 --epsilon 1 --feature-norm none --radius 1").succeeds();
    for (algorithm, word) in [
        ("truncated-mirror", "assumed"),
        ("coordinate-mean", "assumed"),
        ("output-gd", "needs bounded rows"),
        ("mirror", "needs bounded rows"),
        ("phased", "needs bounded rows"),
    ] {
        let line = run.stdout.lines().find(|l| l.trim_start().starts_with(algorithm)).unwrap();
        assert!(line.contains(word), "{line}");
    }
}
