//! Every algorithm of the SGD family, from a table to a verified model.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use crate::common::{FIT, Folder, weights};

/// The arguments of each algorithm's fit, and the kind of the event that pays for it.
const FITS: [(&str, &str); 12] = [
    ("output-sgd", "hit-mixture"),
    ("output-sgd --radius 2", "hit-mixture"),
    ("output-sgd --calibration paper --radius 1", "hit-mixture"),
    ("output-sgd --loss hinge --max-steps 500 --radius 2", "hit-mixture"),
    ("output-sgd --loss hinge --q 1.5 --mu 0.1 --steps 200", "hit-mixture"),
    ("output-sgd --target age --loss squared", "hit-mixture"),
    ("output-sgd --target ward --precision sparse", "hit-mixture"),
    ("permuted-sgd --passes 3", "hit-mixture"),
    ("permuted-sgd --target age --loss power --q 1 --radius 1", "hit-mixture"),
    ("gradient-sgd --batch 5", "fixed-size-gaussian"),
    ("gradient-sgd --loss hinge --radius 1 --max-steps 300", "fixed-size-gaussian"),
    ("gradient-sgd --target ward --precision sparse --step-size 0.1", "fixed-size-gaussian"),
];

#[test]
fn fit_verify_predict_and_evaluate_with_each() {
    let folder = Folder::new();
    for (flags, kind) in FITS {
        let run = folder.run(&format!("{FIT} --delta 1e-3 --algorithm {flags}")).succeeds();
        assert!(!run.says("VOID"), "{run:#?}");
        let model = folder.json("model.json");
        let certificate = &model["certificate"];
        let event = &certificate["event"];
        let event = if event["kind"] == "approximated" { &event["inner"] } else { event };
        assert_eq!(event["kind"], kind, "{flags}: {event}");
        assert!(
            certificate["statement"].as_str().unwrap().contains("epsilon = 1 and delta = 1e-3")
        );
        assert_eq!(certificate["plan"]["algorithm"], flags.split(' ').next().unwrap());
        assert!(weights(&model).iter().all(|w| w.is_finite()));
        folder.run("verify model.json").succeeds();
        folder.run("predict --model model.json --data clinic.csv").succeeds();
        folder.run("evaluate --model model.json --data clinic.csv").succeeds();
        folder.run("report model.json --out page.html").succeeds();
    }
}

#[test]
fn a_step_longer_than_privacy_allows_is_refused_with_the_limit() {
    let folder = Folder::new();
    let before = folder.names();
    for (flags, words) in [
        ("output-sgd --step-size 100", "`--step-size` must be at most"),
        ("permuted-sgd --step-size 100", "privacy needs it"),
        ("output-sgd --calibration paper --radius 1 --step-size 1", "below"),
        ("output-sgd --delta 0", "`--delta`"),
        ("output-sgd --steps 1", "`--steps`"),
        ("output-sgd --rows 60 --adjacency add-remove-one", "replace-one"),
        ("permuted-sgd --calibration paper", "not in the paper"),
        ("permuted-sgd --steps 100", "`--steps` is not a setting"),
        ("gradient-sgd --batch 61", "`--batch`"),
        ("gradient-sgd --target age --loss squared", "unbounded on R^d"),
        ("gradient-sgd --calibration paper --radius 1", "C1 and C2"),
    ] {
        folder.run(&format!("{FIT} --algorithm {flags}")).refuses(words);
    }
    assert_eq!(folder.names(), before, "nothing was written");
}
