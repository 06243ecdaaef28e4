//! `calc` gives the values of the test vectors, in order, through the library's own functions.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use crate::common::Folder;
use reticent_testkit::vectors;
use serde_json::{Value, json};

/// The formulas of output-perturbed gradient descent and of its accountant. The rest of the file is
/// about other algorithms.
const FORMULAS: &[&str] = &[
    "gd_sensitivity_tight",
    "gd_sensitivity_paper_convex",
    "gd_sensitivity_paper_sc",
    "iterate_radius",
    "lipschitz_paper_regularised",
    "logistic_trajectory_sensitivity",
    "sigma_paper_gaussian",
    "sigma_tight_gaussian",
    "gaussian_profile_delta",
    "pure_radius_mean",
    "pure_second_moment",
    "pure_radius_cdf",
    "noise_auto_choice",
    "T_paper_convex",
    "T_paper_sc",
    "T_tight_convex",
    "T_tight_sc",
    "excess_tight_convex",
    "excess_tight_sc",
    "subsampled_one_step_delta",
    "subsampled_rdp_M_minus_1",
    "subsampled_rdp_N",
    "subsampled_pld_delta",
    "rdp_to_eps",
];

#[test]
fn a_batch_answers_every_vector_in_order() {
    let folder = Folder::new();
    folder.write("vectors.json", vectors::text("output-gd"));
    let run = folder.run("calc --namespace output-gd --batch vectors.json").succeeds();
    let with_flag = folder.run("calc --namespace output-gd --batch vectors.json --json").succeeds();
    assert_eq!(run.stdout, with_flag.stdout);
    let answers = run.json();
    let answers = answers.as_array().unwrap();
    let expected = vectors::load("output-gd");
    assert_eq!(answers.len(), expected.len());
    let mut seen = std::collections::BTreeSet::new();
    for (vector, answer) in expected.iter().zip(answers) {
        assert_eq!(answer["formula"], vector.formula.as_str());
        if FORMULAS.contains(&vector.formula.as_str()) {
            seen.insert(vector.formula.as_str());
            let value = &answer["value"];
            let right = value.as_f64().map_or(*value == vector.expected, |v| vector.accepts(v));
            assert!(right, "{vector:?}: {answer}");
        } else {
            let members = answer.as_object().unwrap();
            assert!(members.contains_key("value") ^ members.contains_key("error"), "{answer}");
        }
    }
    assert_eq!(seen.len(), FORMULAS.len(), "every formula has a vector: {seen:?}");
}

#[test]
fn a_batch_goes_on_after_an_entry_without_value() {
    let folder = Folder::new();
    let good = json!({"formula": "iterate_radius", "inputs": {"L": 1, "mu": 1, "l0": 8}});
    let batch = json!([
        good,
        {"formula": "nothing", "inputs": {}},
        {"formula": "iterate_radius", "inputs": {"L": 1}},
        {"formula": "sigma_tight_gaussian", "inputs": {"eps": 1, "delta": -1, "Delta": 1}},
        {"inputs": {}},
        42,
        good
    ]);
    folder.write("batch.json", batch.to_string());
    let answers = folder.run("calc --namespace output-gd --batch batch.json").succeeds().json();
    assert_eq!(answers[0], json!({"formula": "iterate_radius", "value": 1.0}));
    assert_eq!(answers[6], answers[0]);
    for (index, word) in [(1, "nothing"), (2, "`mu`"), (3, "delta"), (4, ""), (5, "")] {
        let entry = answers[index].as_object().unwrap();
        assert_eq!(entry.keys().collect::<Vec<_>>(), ["error", "formula"], "{entry:?}");
        assert!(entry["error"].as_str().unwrap().contains(word), "{entry:?}");
    }
    assert_eq!(answers.as_array().unwrap().len(), 7);
}

#[test]
fn a_single_formula_prints_its_value() {
    let folder = Folder::new();
    let tight = "calc output-gd.gd_sensitivity_tight G=2 mu=0 eta=4 T=10 n=1000";
    assert_eq!(folder.run(tight).succeeds().stdout, "0.08\n");
    let json = folder.run(&format!("{tight} --json")).succeeds().json();
    assert_eq!(json, json!({"formula": "output-gd.gd_sensitivity_tight", "value": 0.08}));
    let choice = folder.run("calc output-gd.noise_auto_choice d=16 eps=1 delta=1e-6").succeeds();
    assert_eq!(choice.stdout, "\"ball\"\n");
}

#[test]
fn a_list_names_every_formula() {
    let folder = Folder::new();
    let text = folder.run("calc --namespace output-gd --list").succeeds().stdout;
    let json = folder.run("calc --namespace output-gd --list --json").succeeds().json();
    let names: Vec<&str> =
        json["formulas"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), names);
    assert!(FORMULAS.iter().all(|f| names.contains(f)), "{names:?}");
}

#[test]
fn what_has_no_value_is_refused_by_name() {
    let folder = Folder::new();
    folder.write("object.json", "{}");
    for (arguments, word) in [
        ("calc nowhere.nothing", "`nowhere`"),
        ("calc output-gd.nothing", "`nothing`"),
        ("calc nothing", "NAMESPACE.FORMULA"),
        ("calc output-gd.iterate_radius L=1 mu=1", "`l0`"),
        ("calc output-gd.iterate_radius L=one mu=1 l0=1", "`L`"),
        ("calc output-gd.iterate_radius L", "key=value"),
        ("calc output-gd.noise_auto_choice d=1.5 eps=1 delta=0.1", "`d`"),
        ("calc output-gd.sigma_tight_gaussian eps=1 delta=2 Delta=1", "delta"),
        ("calc output-gd.sigma_tight_gaussian eps=-1 delta=1e-6 Delta=1", "epsilon"),
        ("calc output-gd.logistic_trajectory_sensitivity B=1 mu=0 eta=1 T=1e15 n=9", "`T`"),
        ("calc", "FORMULA"),
        ("calc --namespace output-gd", "--batch"),
        ("calc --namespace nowhere --list", "`nowhere`"),
        ("calc --namespace nowhere --batch object.json", "`nowhere`"),
        ("calc --batch object.json", "--namespace"),
        ("calc --namespace output-gd --batch absent.json", "absent.json"),
        ("calc --namespace output-gd --batch object.json", "--batch"),
        ("calc --namespace output-gd --batch clinic.csv", "--batch"),
    ] {
        folder.run(arguments).refuses(word);
    }
}

#[test]
fn infinity_is_a_word() {
    let folder = Folder::new();
    let run = folder.run("calc output-gd.gd_sensitivity_tight G=1 mu=0 eta=1 T=inf n=1").succeeds();
    assert_eq!(serde_json::from_str::<Value>(&run.stdout).unwrap(), "infinity");
}
