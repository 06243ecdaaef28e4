//! `reticent curves`: the contribution of each column, and monotone edits that the file records.

use serde_json::{Value, json};

use crate::common::{CLINIC, FIT, Folder, redigest};

const CURVED: &str = "--knots 4 --pairs age:ward --algorithm output-gd --noise gaussian";

fn fitted(more: &str) -> Folder {
    let folder = Folder::new();
    folder.run(&format!("{FIT} {CURVED} {more}")).succeeds();
    folder
}

fn values(curves: &Value, column: &str) -> Vec<f64> {
    let columns = curves["columns"].as_array().unwrap();
    let found = columns.iter().find(|effect| effect["column"] == column).unwrap();
    found["values"][0].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

#[test]
fn every_weight_is_printed_once() {
    let folder = fitted("");
    let model = folder.json("model.json");
    let weights: Vec<f64> =
        model["weights"][0].as_array().unwrap().iter().map(|w| w.as_f64().unwrap()).collect();
    let curves = folder.run("curves model.json --json").succeeds().json();
    assert_eq!(curves["unit"], "log-odds of `back` = `yes`");
    let mut found = values(&curves, "age");
    assert_eq!(
        curves["columns"][0]["knots"],
        json!([0.0, 33.333_333_333_333_33, 66.666_666_666_666_66, 100.0])
    );
    found.extend(values(&curves, "ward"));
    found.extend(values(&curves, "visit"));
    let pair = curves["pairs"][0]["values"][0].as_array().unwrap();
    found.extend(pair.iter().map(|v| v.as_f64().unwrap()));
    found.push(curves["constants"][0].as_f64().unwrap());
    assert_eq!(found, weights, "a logistic model's weights are its values");
    let noise = model["certificate"]["plan"]["noise_deviation"].as_f64().unwrap();
    assert_eq!(curves["columns"][0]["noise"], json!([noise, noise, noise, noise]));
    // The same numbers as CSV, one in each line.
    let csv = folder.run("curves model.json --csv").succeeds().stdout;
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "column,at,second_column,second_at,output,value,noise");
    assert_eq!(lines.len(), 1 + weights.len());
    let last = weights[weights.len() - 2];
    assert!(lines.contains(&&*format!("age,100,ward,other,yes,{last},{noise}")), "{csv}");
    // And for people.
    let text = folder.run("curves model.json").succeeds().stdout;
    for word in
        ["log-odds of `back` = `yes`", "ward=internal", "age x ward: 4 x 3 values", "█", "▁"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    folder.run("curves model.json --csv --json").refuses("exclude each other");
}

#[test]
fn a_model_that_is_no_sum_has_no_curves() {
    let folder = Folder::new();
    folder.run(&format!("{FIT} --hidden 2 --algorithm clipped-sgd --steps 3")).succeeds();
    folder.run("curves model.json").refuses("no curves");
    folder.run("report model.json --out report.html").succeeds();
    assert!(folder.read("report.html").contains("not a sum over its columns"));
}

#[test]
fn a_monotone_edit_is_recorded_and_the_guarantee_holds() {
    let folder = Folder::new();
    folder.run("ledger init c.ledger --epsilon 2 --delta 1e-5").succeeds();
    folder.run(&format!("{FIT} {CURVED} --ledger c.ledger")).succeeds();
    let statement = folder.json("model.json")["certificate"]["statement"].clone();
    for direction in ["increasing", "decreasing"] {
        let line =
            format!("curves model.json --monotone age:{direction} --out {direction}.json --json");
        let run = folder.run(&line).succeeds();
        assert!(run.stderr.contains("is also in a pair"), "{}", run.stderr);
        let age = values(&run.json(), "age");
        let sign = if direction == "increasing" { 1.0 } else { -1.0 };
        assert!(age.windows(2).all(|pair| sign * pair[1] >= sign * pair[0]), "{age:?}");
        assert_eq!(run.json()["columns"][0]["noise"], Value::Null);
        let edited = folder.json(&format!("{direction}.json"));
        assert_eq!(edited["edited"]["released"], folder.json("model.json")["weights"]);
        // The ledger knows the release; the edit follows from it.
        let verified = folder
            .run(&format!("verify {direction}.json --ledger c.ledger --json"))
            .succeeds()
            .json();
        assert_eq!(verified["statement"], statement);
        let text = verified.to_string();
        assert!(text.contains(&format!("`age` {direction}: post-processing")), "{text}");
        assert!(text.contains("edited after the plan released others"), "{text}");
        folder.run(&format!("report {direction}.json --out report.html")).succeeds();
        assert!(
            folder.read("report.html").contains(&format!("was made {direction} after the release"))
        );
        folder.run(&format!("predict --model {direction}.json --data clinic.csv")).succeeds();
    }
    // A second edit goes on from the first, and what is monotone stays so.
    let twice =
        "curves increasing.json --monotone age:increasing,visit:decreasing --out twice.json --json";
    let twice = folder.run(twice).succeeds().json();
    let first = folder.run("curves increasing.json --json").succeeds().json();
    assert_eq!(values(&twice, "age"), values(&first, "age"));
    folder.run("verify twice.json").succeeds();
    assert_eq!(folder.json("twice.json")["edited"]["monotone"].as_array().unwrap().len(), 3);
}

#[test]
fn weights_that_no_recorded_edit_gives_fail() {
    let folder = fitted("");
    folder.run("curves model.json --monotone age:increasing --out edited.json").succeeds();
    let honest = folder.json("edited.json");
    let forge = |change: &dyn Fn(&mut Value)| {
        let mut model = honest.clone();
        change(&mut model);
        redigest(&mut model);
        folder.write("forged.json", model.to_string());
        let run = folder.run("verify forged.json");
        assert_eq!(run.code, Some(1), "{run:?}");
        run.stdout
    };
    let other = forge(&|model| model["weights"][0][1] = json!(7.5));
    assert!(other.contains("FAILS  weights follow from the released ones"), "{other}");
    let other = forge(&|model| model["edited"]["monotone"][0]["direction"] = json!("decreasing"));
    assert!(other.contains("FAILS  weights follow from the released ones"), "{other}");
    // Released weights off the noise grid, or not of the model's shape, are no release.
    let other = forge(&|model| {
        model["edited"]["monotone"] = json!([]);
        model["edited"]["released"][0][1] = json!(0.1);
        model["weights"] = model["edited"]["released"].clone();
    });
    assert!(other.contains("FAILS  weights lie on the noise grid"), "{other}");
    let mut short = honest.clone();
    short["edited"]["released"] = json!([[0.0]]);
    redigest(&mut short);
    folder.write("forged.json", short.to_string());
    folder.run("verify forged.json").refuses("released weights");
}

#[test]
fn bad_edits_are_refused() {
    let folder = fitted("");
    for (edit, word) in [
        ("--monotone ward:increasing --out e.json", "`ward` cannot be made monotone"),
        ("--monotone height:increasing --out e.json", "`height` cannot be made monotone"),
        ("--monotone age --out e.json", "age:increasing"),
        ("--monotone age:up --out e.json", "age:increasing"),
        ("--monotone age:increasing", "--out"),
        ("--monotone age:increasing --out model.json", "--out"),
        ("--out e.json", "--monotone"),
    ] {
        folder.run(&format!("curves model.json {edit}")).refuses(word);
    }
    assert!(!folder.names().contains(&"e.json".to_owned()));
}

#[test]
fn knots_that_coincide_are_refused_whatever_the_rows_hold() {
    // The places of 0 and 1 between -9.99e20 and 1 are the same number, so that a cell between them
    // had the share 0/0: a row of NaN went unclipped into every sum, and the fit failed or not.
    let declared = [
        ("-9.99e20, \"max\": 1}", r#"{"knots": [-9.99e20, 0, 1]}"#, "0.3"),
        ("1e15, \"max\": 1000000000000000.125}", r#"{"knots": 3, "scale": "log"}"#, "1e15"),
    ];
    for (bounds, basis, cell) in declared {
        let folder = Folder::new();
        folder.write(
            "clinic.json",
            format!(
                r#"{{"target": "y", "columns": [{{"name": "a", "bounds": {{"min": 0, "max": 1}}}},
                {{"name": "b", "type": "real", "bounds": {{"min": {bounds}, "basis": {basis}}},
                {{"name": "y", "type": "categorical", "categories": ["no", "yes"]}}]}}"#
            ),
        );
        let row = |i: usize| format!("0.{i},,{}", ["no", "yes"][i % 2]);
        let rows = (0..50).map(row).collect::<Vec<_>>().join("\n") + "\n";
        let outcomes = ["", cell].map(|cell| {
            folder.write("clinic.csv", format!("a,b,y\n0.5,{cell},yes\n{rows}"));
            let run = folder.run(FIT).refuses("does not tell apart");
            assert!(!folder.path("model.json").exists());
            (run.stdout, run.stderr)
        });
        assert_eq!(outcomes[0], outcomes[1]);
        folder.run("schema check clinic.json").refuses("clinic.json:2:");
    }
    // Where nothing is declared, such a column enters as a line.
    let folder = Folder::new();
    let narrow =
        CLINIC.replace("\"min\": 0, \"max\": 100", "\"min\": 1e15, \"max\": 1000000000000000.5");
    folder.write("clinic.json", narrow);
    let checked = folder.run("schema check clinic.json --knots 16").succeeds();
    assert!(checked.stdout.contains("scaled to [0, 1]"), "{checked:#?}");
}
