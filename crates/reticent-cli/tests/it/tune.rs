//! Choosing settings on the private rows: charged as a whole, verified as a whole, and silent about
//! its runs.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use crate::common::{Folder, clinic};
use serde_json::json;

const TUNE: &str =
    "tune --data clinic.csv --schema clinic.json --out model.json --force --epsilon 2 --delta 1e-6";
const TRIES: [&str; 4] = ["--try", "objective", "--try", "clipped-sgd clip=0.5 steps=20 batch=20"];

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("clinic.csv", clinic(400));
    folder
}

#[test]
fn delta_is_asked_for_and_no_more_rows_are_right_than_there_are() {
    let folder = folder();
    let pure = "tune --data clinic.csv --schema clinic.json --epsilon 2 --delta 0";
    folder.run(pure).refuses("`--delta` must be > 0");
    let told = folder.run_with(TUNE, &TRIES).succeeds();
    assert!(told.says(" of 400 rows are predicted right"), "{told:?}");
}

#[test]
fn the_best_run_is_published_with_a_certificate_of_the_whole_choice() {
    let folder = folder();
    let told = folder.run_with(TUNE, &TRIES).succeeds();
    assert!(told.stdout.contains("epsilon = 2"), "{told:?}");
    folder.run("verify model.json").succeeds();
    let certificate = &folder.json("model.json")["certificate"];
    assert_eq!(certificate["budget"]["epsilon"], 2.0);
    assert_eq!(certificate["event"]["kind"], "approximated");
    assert_eq!(certificate["event"]["inner"]["kind"], "tuned");
    assert_eq!(certificate["event"]["inner"]["base"]["kind"], "one-of");
    let spent = certificate["epsilon_upper"].as_f64().unwrap();
    assert!(spent <= 2.0 && spent > 1.98, "the budget is used: {spent}");
    let one = certificate["plan"]["budget"]["epsilon"].as_f64().unwrap();
    assert!(one > 1.0 && one < 1.6, "a run gets well above half: {one}");
    let candidates = certificate["selection"]["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 2);
    assert!(candidates.contains(&certificate["plan"]));
    folder.run("report model.json --out report.html").succeeds();
    assert!(folder.read("report.html").contains("only the best run is published"));
    folder.run("predict --model model.json --data clinic.csv --out p.csv").succeeds();
}

#[test]
fn what_is_not_named_is_chosen_by_the_planner() {
    let folder = folder();
    let told = folder.run(&format!("{TUNE} --trials 3 --json")).succeeds().json();
    let candidates = &told["certificate"]["selection"]["candidates"];
    let names: Vec<_> =
        candidates.as_array().unwrap().iter().map(|c| c["algorithm"].as_str().unwrap()).collect();
    assert!(names.len() >= 4 && names.contains(&"objective"), "{names:?}");
    folder.run("verify model.json").succeeds();
}

#[test]
fn a_choice_that_was_altered_is_found_out() {
    let folder = folder();
    folder.run_with(TUNE, &TRIES).succeeds();
    let honest = folder.json("model.json");
    let alter = |path: &[&str], value: serde_json::Value| {
        let mut model = honest.clone();
        let mut place = &mut model["certificate"];
        for name in path {
            place = match name.parse::<usize>() {
                Ok(number) => &mut place[number],
                Err(_) => &mut place[*name],
            };
        }
        assert_ne!(*place, value);
        *place = value;
        folder.write("altered.json", model.to_string());
        let run = folder.run("verify altered.json");
        assert_eq!(run.code, Some(1), "{path:?}: {run:?}");
        assert!(run.stdout.lines().filter(|l| l.contains("FAIL")).count() > 1, "{run:?}");
    };
    // Each breaks more than the digest of the file.
    alter(&["selection", "trials", "gamma"], json!(0.5));
    alter(&["selection", "score_noise"], json!(1000.0));
    alter(&["selection", "budget", "epsilon"], json!(1.0));
    alter(&["selection"], json!(null));
    let mut fewer = honest["certificate"]["selection"]["candidates"].clone();
    let other = fewer.as_array().unwrap().iter().find(|c| **c != honest["certificate"]["plan"]);
    fewer = json!([other.unwrap()]);
    alter(&["selection", "candidates"], fewer);
}

#[test]
fn a_tuned_model_cannot_pass_for_one_run() {
    let folder = folder();
    folder.run("ledger init c.ledger --epsilon 3 --delta 1e-5").succeeds();
    folder.run_with(&format!("{TUNE} --ledger c.ledger"), &TRIES).succeeds();
    folder.run("verify model.json --ledger c.ledger").succeeds();
    // The plan of the best run is written as if it had been charged by itself.
    let mut model = folder.json("model.json");
    let plan = model["certificate"]["plan"].clone();
    let certificate = model["certificate"].as_object_mut().unwrap();
    certificate.remove("selection");
    for field in ["budget", "event"] {
        certificate.insert(field.to_owned(), plan[field].clone());
    }
    folder.write("forged.json", model.to_string());
    let run = folder.run("verify forged.json");
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stdout.contains(
            "FAILS  a candidate of a selection comes with the selection: the plan is one of 2"
        ),
        "{run:?}"
    );
    // With the mark taken off as well the file alone shows nothing, and the ledger does.
    model["certificate"]["plan"]["problem"].as_object_mut().unwrap().remove("candidates");
    folder.write("forged.json", model.to_string());
    let run = folder.run("verify forged.json --ledger c.ledger");
    assert_eq!(run.code, Some(1), "{run:?}");
    for line in [
        "what was charged is what the file states: tune",
        "the ledger has the digest of this model",
    ] {
        assert!(run.stdout.contains(&format!("FAILS  {line}")), "{line}: {run:?}");
    }
    let alone = folder.run("verify forged.json").stdout;
    assert!(alone.contains("also a choice among runs that the file does not mention"), "{alone}");
}

#[test]
fn the_ledger_pays_for_the_whole_choice_before_a_row_is_read() {
    let folder = folder();
    folder.run("ledger init c.ledger --epsilon 3 --delta 1e-5").succeeds();
    let paid = format!("{TUNE} --ledger c.ledger");
    folder.run_with(&paid, &TRIES).succeeds();
    let standing = folder.run("ledger show c.ledger --json").succeeds().json();
    assert_eq!(standing["charges"][0]["state"], "released");
    assert_eq!(standing["charges"][0]["model"], folder.json("model.json")["digest"]);
    // How long the choice took would tell how many runs there were.
    let history = folder.run("ledger history c.ledger --json").succeeds().json();
    let times: Vec<_> = history["records"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| r["record"] == "begun" || r["record"] == "released")
        .map(|r| r["time"].clone())
        .collect();
    assert_eq!(times.len(), 2, "{history}");
    assert_eq!(times[0], times[1]);
    folder.write("clinic.csv", "no table at all");
    folder.run_with(&paid, &TRIES).refuses("clinic.csv");
    folder.write("clinic.csv", clinic(400));
    folder.run_with(&paid, &TRIES).refuses("does not fit");
}

#[test]
fn nothing_is_said_of_the_number_of_runs() {
    let folder = folder();
    // The same table and settings: the output differs in the score and the chosen settings alone.
    let shape = |seed: u32| {
        let run = folder.run_with(&format!("{TUNE} --insecure-seed {seed}"), &TRIES).succeeds();
        let digits = |c: char| c.is_ascii_digit() || ".,-e".contains(c);
        let text: String = (run.stdout + &run.stderr).chars().filter(|c| !digits(*c)).collect();
        let first = TRIES[1].chars().filter(|c| !digits(*c)).collect::<String>();
        text.replace(&first, "X").replace("clippdsgd", "X")
    };
    let first = shape(1);
    for seed in 2..8 {
        assert_eq!(shape(seed), first, "seed {seed}");
    }
}

#[test]
fn bad_settings_are_refused_with_a_sentence() {
    let folder = folder();
    let cases: [(&[&str], &str); 8] = [
        (&["--try", "clip=0.5"], "names no algorithm"),
        (&["--try", "clipped-sgd clop=0.5"], "clop"),
        (&["--try", "nonesuch"], "unknown algorithm `nonesuch`"),
        (&["--try", "objective clip=0.5"], "`--clip` is not a setting of objective"),
        (
            &["--try", "output-gd adaptive_step=true"],
            "`--adaptive-step` is not a setting of output-gd",
        ),
        (&["--try", "output-gd adaptive_step=maybe"], "invalid value 'maybe'"),
        (&["--try", "objective", "--trials", "0.5"], "`--trials` must be"),
        (&["--try", "objective", "--epsilon", "inf"], "takes one number"),
    ];
    for (further, word) in cases {
        folder.run_with(TUNE, further).refuses(word);
    }
    folder.run_with(&TUNE.replace("--epsilon 2", "--epsilon inf"), &TRIES).refuses("`--epsilon`");
}
