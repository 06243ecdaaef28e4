//! `verify` recomputes everything that it can: it detects any alteration of a model file.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::collections::BTreeSet;

use crate::common::{CLINIC, FIT, Folder, Run, redigest};
use serde_json::{Value, json};

/// Every leaf of a JSON value as a pointer.
fn leaves(value: &Value, at: &str, into: &mut Vec<String>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, value) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                leaves(value, &format!("{at}/{key}"), into);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for (i, value) in list.iter().enumerate() {
                leaves(value, &format!("{at}/{i}"), into);
            }
        }
        _ => into.push(at.to_owned()),
    }
}

/// Words that mean something in a model file: a forger would use one of these.
const WORDS: &[&str] = &[
    "paper",
    "seeded",
    "secure",
    "add-remove-one",
    "gaussian",
    "f32",
    "symmetric",
    "no",
    "integer",
];

/// Other values of about the same kind: a number moved by a hundredth, another word, the opposite.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![json!(1.5), json!("because")],
        Value::Bool(b) => vec![json!(!b)],
        Value::Number(n) if n.is_f64() => {
            let x = n.as_f64().unwrap();
            vec![json!(x * 1.01 + f64::from(x == 0.0) * 0.01), json!(x * 0.99)]
        }
        Value::Number(n) => {
            let n = n.as_i64().unwrap();
            vec![json!(n + 1 + n / 100)]
        }
        Value::String(text) => {
            let words = WORDS.iter().map(|word| json!(word));
            std::iter::once(json!(format!("{text}x"))).chain(words).collect()
        }
        Value::Array(_) => vec![json!(["x"])],
        Value::Object(_) => vec![json!({"x": 1})],
    }
}

fn verify(folder: &Folder, model: &Value) -> Run {
    folder.write("altered.json", model.to_string());
    folder.run("verify altered.json")
}

/// Whether verification fails, or the file is not even a model.
fn is_caught(run: &Run) -> bool {
    match run.code {
        Some(1) => {
            assert!(run.stdout.starts_with("FAIL\n") && run.stdout.contains("FAILS"), "{run:#?}");
            true
        }
        Some(2) => {
            assert!(run.stderr.starts_with("error: `altered.json` is not a reticent model"));
            true
        }
        _ => {
            assert_eq!(run.code, Some(0), "{run:#?}");
            false
        }
    }
}

/// All alterations of all leaves of `model`, with the pointer of each.
fn alterations(model: &Value) -> Vec<(String, Value)> {
    let mut pointers = Vec::new();
    leaves(model, "", &mut pointers);
    let mut list = Vec::new();
    for pointer in pointers {
        for other in others(model.pointer(&pointer).unwrap()) {
            let mut altered = model.clone();
            let leaf = altered.pointer_mut(&pointer).unwrap();
            if *leaf != other {
                *leaf = other;
                list.push((pointer.clone(), altered));
            }
        }
    }
    list
}

fn honest(folder: &Folder, flags: &str) -> Value {
    folder.run(&format!("{FIT} {flags}")).succeeds();
    folder.json("model.json")
}

#[test]
fn no_leaf_can_be_altered_under_the_digest() {
    let folder = Folder::new();
    let model = honest(&folder, "--delta 0");
    assert!(!is_caught(&verify(&folder, &model)), "white space does not matter");
    let all = alterations(&model);
    assert!(all.len() > 80, "{}", all.len());
    for (pointer, altered) in all {
        let run = verify(&folder, &altered);
        assert!(is_caught(&run), "{pointer}");
        if run.code == Some(1) {
            assert!(
                run.stdout.contains("FAILS  digest matches the contents"),
                "{pointer}: {run:#?}"
            );
        }
    }
    let mut added = model.clone();
    added["remark"] = json!("trust me");
    assert!(is_caught(&verify(&folder, &added)));
    let mut removed = model.clone();
    removed.as_object_mut().unwrap().remove("digest");
    assert!(is_caught(&verify(&folder, &removed)));
}

#[test]
fn a_key_that_occurs_twice_is_refused() {
    let folder = Folder::new();
    honest(&folder, "--delta 0");
    let text = folder.read("model.json");
    for (key, lie) in [
        ("statement", r#""This model is 0.001-differentially private.""#),
        ("epsilon", "0.001"),
        ("digest", r#""sha256:00""#),
        ("weights", "[[]]"),
    ] {
        let before = format!("\"{key}\":");
        assert!(text.contains(&before), "{key}");
        folder
            .write("altered.json", text.replacen(&before, &format!("{before} {lie}, {before}"), 1));
        let run = folder.run("verify altered.json").refuses("twice");
        assert!(is_caught(&run) && run.stderr.contains(key), "{run:#?}");
        folder.run("predict --model altered.json --data clinic.csv").refuses("twice");
    }
}

/// All that may be altered by someone who states a new digest, because no part of the guarantee
/// depends on it: the weights are the noisy release itself, and any post-processing of them is as
/// private as they are; bounds and marks of columns, and names of classes, say how cells become
/// numbers of the same size, as does whether a numeric column holds integers; the rest are words,
/// and how rows are held in memory.
const FREE: &[&str] = &[
    "/certificate/software",
    "/task/declaration/columns/0/bounds/max",
    "/task/declaration/columns/0/bounds/min",
    "/task/declaration/columns/0/type",
    "/task/declaration/columns/2/bounds/max",
    "/task/declaration/columns/2/bounds/min",
    "/task/declaration/columns/2/missing/0",
    "/task/declaration/columns/3/categories/0",
    "/task/declaration/name",
    "/task/declaration/positive_class",
    "/task/encoding/numeric_range",
    "/task/encoding/precision",
];

#[test]
fn a_new_digest_does_not_help_a_forger() {
    let folder = Folder::new();
    let mut missed = BTreeSet::new();
    for flags in
        ["--delta 0", "--noise gaussian", "--delta 0 --mu 0.1 --radius 3 --feature-norm 1.5"]
    {
        let mut model = honest(&folder, flags);
        redigest(&mut model);
        let run = verify(&folder, &model);
        assert!(!is_caught(&run), "the digest of this test is the library's: {run:#?}");
        for (pointer, mut altered) in alterations(&model) {
            redigest(&mut altered);
            if pointer != "/digest" && !is_caught(&verify(&folder, &altered)) {
                missed.insert(pointer);
            }
        }
    }
    let weights = missed.iter().filter(|p| p.starts_with("/weights/0/")).count();
    assert_eq!(weights, 6, "the weights are free");
    missed.retain(|pointer| !pointer.starts_with("/weights/0/"));
    assert_eq!(missed.iter().map(String::as_str).collect::<Vec<_>>(), FREE);
}

#[test]
fn a_field_that_no_model_has_is_caught_wherever_it_stands() {
    let folder = Folder::new();
    for flags in ["--delta 0", "--algorithm clipped-sgd --steps 50 --clip 1"] {
        let model = honest(&folder, flags);
        for place in [
            "",
            "/certificate",
            "/certificate/plan",
            "/certificate/event",
            "/task",
            "/certificate/assumptions/0",
            "/task/declaration",
            "/task/declaration/columns/0",
            "/task/declaration/columns/0/bounds",
        ] {
            let mut added = model.clone();
            added.pointer_mut(place).unwrap()["guarantee"] = json!({"epsilon": 0.001});
            redigest(&mut added);
            let run = verify(&folder, &added);
            assert_eq!(run.code, Some(1), "{place}: {run:#?}");
            assert!(run.stdout.contains("FAILS  no unknown fields"), "{place}: {run:#?}");
        }
        // A column that is left out has no place in a model, nor has an entry more in any list.
        let id = json!({"name": "patient", "role": "id", "note": "row 300 is Ann"});
        for (place, entry) in [
            ("/task/declaration/columns", id),
            ("/task/declaration/columns/2/missing", json!(null)),
            ("/task/encoding/drop", json!("x")),
        ] {
            let mut longer = model.clone();
            longer.pointer_mut(place).unwrap().as_array_mut().unwrap().push(entry);
            redigest(&mut longer);
            assert!(is_caught(&verify(&folder, &longer)), "{place}");
        }
    }
}

#[test]
fn what_a_file_claims_is_not_stated_as_a_fact_where_a_check_fails() {
    let folder = Folder::new();
    let mut model = honest(&folder, "--delta 0");
    let run = verify(&folder, &model);
    assert!(
        run.stdout.starts_with("PASS\nThis model is epsilon-differentially private"),
        "{run:#?}"
    );
    for part in ["recomputed from the file:", "stated in the file, not checkable:", "not covered:"]
    {
        assert!(run.stdout.contains(&format!("\n{part}\n")), "{part}: {run:#?}");
    }
    assert!(run.stdout.contains("\n  noise: drawn from the operating system\n"), "{run:#?}");
    let json = folder.run("verify altered.json --json").json();
    for list in ["recomputed", "stated", "not_covered"] {
        assert!(json[list].as_array().is_some_and(|list| list.len() > 2), "{json}");
    }
    model["certificate"]["budget"]["epsilon"] = json!(0.1);
    folder.write("altered.json", model.to_string());
    let told = folder.run("verify altered.json");
    folder.run("report altered.json --out report.html").succeeds();
    for text in [told.stdout, folder.read("report.html")] {
        assert!(!text.contains("This model is"), "{text}");
        assert!(
            text.contains("The file claims to be (epsilon, delta)-differentially private"),
            "{text}"
        );
    }
    // A void file promises nothing, and says so itself.
    let void = folder.run(&format!("{FIT} --delta 0 --insecure-seed 1")).succeeds().stdout;
    folder.run("report model.json --out report.html").succeeds();
    let told = folder.run("verify model.json").stdout;
    for text in [void, told, folder.read("report.html"), folder.read("model.json")] {
        assert!(
            text.contains("No privacy is promised: the noise came from a given seed"),
            "{text}"
        );
        assert!(!text.contains("This model is"), "{text}");
    }
}

#[test]
fn weights_that_no_run_of_the_plan_gives_are_caught() {
    let folder = Folder::new();
    let fit = |flags: &str| {
        folder
            .run(&format!(
                "fit --data clinic.csv --schema clinic.json --out model.json --force {flags}"
            ))
            .succeeds();
        folder.json("model.json")
    };
    // One-shot noise lies on a grid: weights from elsewhere do not.
    let gd = "--algorithm output-gd --delta 1e-6 --mu 0.1 --noise gaussian";
    let open = fit(&format!("{gd} --epsilon inf"));
    let mut private = fit(&format!("{gd} --epsilon 1"));
    assert_eq!(verify(&folder, &private).code, Some(0));
    private["weights"] = open["weights"].clone();
    redigest(&mut private);
    let run = verify(&folder, &private);
    assert!(run.stdout.contains("FAILS  weights lie on the noise grid"), "{run:#?}");
    assert_eq!(run.stdout.matches("FAILS").count(), 1, "{run:#?}");
    // Weights far outside of the set that they were held to.
    for set in ["--radius 3", "--set l1 --radius 2", "--set box --low -1 --high 2"] {
        let mut held =
            fit(&format!("--algorithm clipped-sgd --steps 20 --clip 1 --epsilon 1 {set}"));
        assert_eq!(verify(&folder, &held).code, Some(0), "{set}");
        held["weights"][0][0] = json!(500.0);
        redigest(&mut held);
        let run = verify(&folder, &held);
        assert!(run.stdout.contains("FAILS  weights lie in the declared set"), "{set}: {run:#?}");
    }
}

/// Alters all of `changes` and states the new digest.
fn forged(model: &Value, changes: &[(&str, Value)]) -> Value {
    let mut altered = model.clone();
    for (pointer, value) in changes {
        let leaf = altered.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}"));
        assert_ne!(leaf, value, "{pointer}");
        *leaf = value.clone();
    }
    redigest(&mut altered);
    altered
}

#[test]
fn a_forger_who_alters_all_copies_of_a_number_is_caught() {
    let folder = Folder::new();
    let model = honest(&folder, "--noise gaussian");
    assert_eq!(verify(&folder, &model).code, Some(0), "the honest model passes");
    let number = |pointer: &str| model.pointer(pointer).and_then(Value::as_f64).unwrap();
    let half = |pointer: &str| json!(0.5 * number(pointer));
    let (plan, event) = ("/certificate/plan", "/certificate/event/inner/noise_multiplier");
    let at = |name: &str| format!("{plan}{name}");
    let forgeries: Vec<Vec<(String, Value)>> = vec![
        vec![
            ("/certificate/budget/epsilon".into(), json!(0.5)),
            (at("/budget/epsilon"), json!(0.5)),
        ],
        vec![("/certificate/budget/delta".into(), json!(1e-9)), (at("/budget/delta"), json!(1e-9))],
        vec![(at("/sensitivity"), half(&at("/sensitivity")))],
        vec![(at("/noise/sigma"), half(&at("/noise/sigma")))],
        vec![
            (at("/sensitivity"), half(&at("/sensitivity"))),
            (at("/noise/sigma"), half(&at("/noise/sigma"))),
        ],
        vec![
            (event.into(), half(event)),
            (at("/event/inner/noise_multiplier"), half(event)),
            (at("/noise/noise_multiplier"), half(event)),
        ],
        vec![("/certificate/epsilon_upper".into(), json!(0.5))],
        vec![("/certificate/void".into(), json!("it is not"))],
        vec![("/certificate/randomness".into(), json!("seeded"))],
        vec![(at("/problem/bounds/norm"), json!(1.0))],
        vec![(at("/problem/bounds/replaced"), half(&at("/problem/bounds/replaced")))],
        vec![(at("/problem/rows"), json!(6000))],
        vec![(at("/steps"), json!(7)), (at("/settings/calibration"), json!("paper"))],
        vec![(at("/warnings"), json!(["all is well"]))],
        vec![("/certificate/assumptions".into(), json!([]))],
    ];
    for forgery in &forgeries {
        let changes: Vec<(&str, Value)> =
            forgery.iter().map(|(p, v)| (p.as_str(), v.clone())).collect();
        assert!(is_caught(&verify(&folder, &forged(&model, &changes))), "{forgery:?}");
    }
}

#[test]
fn a_plan_for_smaller_rows_than_declared_is_caught() {
    let folder = Folder::new();
    // An honest plan and certificate for rows of norm 1, under a task that clips nothing.
    let clipped = honest(&folder, "--delta 0 --feature-norm 1");
    assert_eq!(verify(&folder, &clipped).code, Some(0));
    let run = verify(&folder, &forged(&clipped, &[("/task/encoding/feature_norm", Value::Null)]));
    assert!(run.stdout.contains("FAILS  bounds follow from the declaration"), "{run:#?}");
    // The same with a declared norm of a vector.
    let vector = r#"{"target": "y", "columns": [
        {"name": "v", "type": "vector", "dimension": 2, "bounds": {"l2_norm_max": 1}},
        {"name": "y", "type": "categorical", "categories": ["no", "yes"]}]}"#;
    folder.write("vector.json", vector);
    folder.write("vector.csv", "v[0],v[1],y\n0.1,0.2,no\n0.5,0.3,yes\n0.4,0.4,no\n");
    let fit = FIT.replace("clinic", "vector");
    folder.run(&format!("{fit} --delta 0")).succeeds();
    let model = folder.json("model.json");
    assert_eq!(verify(&folder, &model).code, Some(0));
    let longer = [("/task/declaration/columns/0/bounds/l2_norm_max", json!(2))];
    let run = verify(&folder, &forged(&model, &longer));
    assert!(run.stdout.contains("FAILS  bounds follow from the declaration"), "{run:#?}");
}

#[test]
fn a_declared_column_can_not_be_added_or_left_out_afterwards() {
    let folder = Folder::new();
    let model = honest(&folder, "--delta 0");
    for schema in [
        CLINIC.replace(r#""name": "visit", "type""#, r#""name": "visit", "role": "id", "type""#),
        CLINIC.replace(r#""other"]"#, r#""other", "fourth"]"#),
    ] {
        let other: Value = serde_json::from_str(&schema).unwrap();
        let run = verify(&folder, &forged(&model, &[("/task/declaration", other)]));
        assert_eq!(run.code, Some(1), "{run:#?}");
    }
}

#[test]
fn a_seeded_model_is_void_and_still_predicts() {
    let folder = Folder::new();
    for flags in ["--delta 0 --insecure-seed 1", "--insecure-seed 1 --noise gaussian"] {
        let fit = folder.run(&format!("{FIT} {flags}")).succeeds();
        assert!(fit.stdout.contains("VOID: the noise came from a given seed"), "{fit:#?}");
        let run = folder.run("verify model.json");
        assert_eq!(run.code, Some(1));
        assert!(run.stdout.contains("FAILS  not marked void: the noise came from a given seed"));
        assert_eq!(run.stdout.matches("FAILS").count(), 1, "nothing else is wrong: {run:#?}");
        let json = folder.run("verify model.json --json");
        assert_eq!((json.code, &json.json()["pass"]), (Some(1), &json!(false)));
        let predict = folder.run("predict --model model.json --data clinic.csv").succeeds();
        assert_eq!(predict.stdout.lines().count(), 61);
        assert!(predict.stderr.contains("void"), "{predict:#?}");
    }
    // Calling the seeded noise secure takes a forged digest, and then no one can tell: a signature
    // would.
    let model = folder.json("model.json");
    let claims = [("/certificate/void", Value::Null)];
    assert!(is_caught(&verify(&folder, &forged(&model, &claims))));
}

#[test]
fn a_model_without_noise_promises_nothing() {
    let folder = Folder::new();
    let fit = folder.run(&FIT.replace("--epsilon 1", "--epsilon inf")).succeeds();
    assert!(fit.stdout.contains("No privacy is promised"), "{fit:#?}");
    assert!(fit.stdout.contains("VOID"), "{fit:#?}");
    let run = folder.run("verify model.json");
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(run.stdout.contains("no noise was added"), "{run:#?}");
    folder.run("predict --model model.json --data clinic.csv").succeeds();
}
