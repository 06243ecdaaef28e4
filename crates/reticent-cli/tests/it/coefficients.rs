//! `fit --intervals` and `reticent coefficients`: a table that follows from the file, checked by
//! `verify`, and no number where the noise hides it.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::common::{FIT, Folder, redigest};

/// So large an epsilon that the rows of [`trial`] determine every coefficient.
const LOUD: &str = "--epsilon 20 --delta 1e-4 --intervals 95";

/// A clinic where nothing separates the classes.
fn trial() -> String {
    let mut text = "age,ward,visit,back\n".to_owned();
    for i in 0..4000_u32 {
        let (age, ward) = ((i * 37) % 101, ["surgery", "internal", "other"][(i % 3) as usize]);
        let back = if (i * 7919) % 103 < 20 + age / 2 { "yes" } else { "no" };
        writeln!(text, "{age},{ward},{},{back}", (i / 7) % 10).unwrap();
    }
    text
}

fn table(folder: &Folder, more: &str) -> Vec<Value> {
    let found = folder.run(&format!("coefficients model.json --json {more}")).succeeds().json();
    found["rows"].as_array().unwrap().clone()
}

#[test]
fn the_table_has_every_coefficient_with_its_errors_at_any_level() {
    let folder = Folder::new();
    folder.write("clinic.csv", trial());
    let fit = FIT.replace("--epsilon 1", LOUD);
    let said = folder.run(&fit).succeeds();
    assert!(said.stdout.contains("reticent coefficients model.json"), "{}", said.stdout);
    let model = folder.json("model.json");
    assert_eq!(model["task"]["encoding"]["numeric_range"], "symmetric");
    assert_eq!(model["certificate"]["event"]["kind"], "composed");
    let rows = table(&folder, "");
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["age", "ward=internal", "ward=other", "visit", "(intercept)"]);
    assert_eq!(rows[1]["reference"], "ward=surgery");
    let wide = table(&folder, "--level 99");
    for (row, wide) in rows.iter().zip(&wide) {
        let (at, of) = (&row["interval"], |name: &str| row["interval"][name].as_f64().unwrap());
        assert!(at.is_object(), "{row}");
        let estimate = row["estimate"].as_f64().unwrap();
        assert!(of("low") < estimate && estimate < of("high"));
        assert!(wide["interval"]["low"].as_f64().unwrap() < of("low"));
        let parts = of("sampling_error").hypot(of("privacy_error"));
        assert!((parts - of("standard_error")).abs() <= 1e-9 * parts);
    }
    // Per unit of the column: twice the weight over the width of its bounds, but for the ridge.
    let weight = model["weights"][0][0].as_f64().unwrap();
    let age = rows[0]["estimate"].as_f64().unwrap();
    assert!((age - 0.02 * weight).abs() <= 0.1 * age.abs(), "{age} {weight}");
    let text = folder.run("coefficients model.json").succeeds().stdout;
    assert!(text.contains("ward=other (against ward=surgery)"), "{text}");
    let csv = folder.run("coefficients model.json --csv").succeeds().stdout;
    assert_eq!(csv.lines().count(), 6);
    folder.run("report model.json --out report.html").succeeds();
    assert!(folder.read("report.html").contains("id=\"intervals-figure\""));
}

#[test]
fn what_the_noise_hides_is_not_determined_and_an_altered_release_does_not_verify() {
    let folder = Folder::new();
    folder.run(&format!("{FIT} --intervals 95")).succeeds();
    folder.run("verify model.json").succeeds();
    assert!(table(&folder, "").iter().all(|row| row["interval"].is_null()));
    let text = folder.run("coefficients model.json").succeeds().stdout;
    assert!(text.contains("5 of 5 coefficients are not determined at this budget"), "{text}");
    assert!(text.contains("is lost in the noise") && text.contains("fit again"), "{text}");
    for altered in [json!(0.1), Value::Null] {
        let mut model = folder.json("model.json");
        if altered.is_null() {
            model.as_object_mut().unwrap().remove("curvature");
        } else {
            model["curvature"][0] = altered;
        }
        redigest(&mut model);
        folder.write("other.json", model.to_string());
        let verdict = folder.run("verify other.json");
        assert_eq!(verdict.code, Some(1), "{}", verdict.stdout);
        assert!(verdict.stdout.contains("curvature release is the plan's"), "{}", verdict.stdout);
    }
}

#[test]
fn a_plan_with_intervals_lists_what_gives_them_and_says_how_wide_they_will_be() {
    let folder = Folder::new();
    let plan = "plan --schema clinic.json --n 100000 --epsilon 1 --delta 1e-6 --intervals 95";
    let said = folder.run(plan).succeeds().stdout;
    for word in [
        "objective",
        "intervals: from the curvature, all 5 coefficients determined",
        "with curvature",
        "with blocks",
        "ward=other",
        "± ",
    ] {
        assert!(said.contains(word), "no {word}: {said}");
    }
    for word in ["is not a setting of", "--normalize"] {
        assert!(!said.contains(word), "{word}: {said}");
    }
    let found = folder.run(&format!("{plan} --json")).succeeds().json();
    assert_eq!(found["intervals"]["outcome"], "all");
    assert_eq!(found["intervals"]["method"], "curvature");
    assert_eq!(found["other_intervals"]["method"], "blocks");
    let blocks = folder.run(&format!("{plan} --interval-method blocks --json")).succeeds().json();
    assert_eq!(blocks["intervals"], found["other_intervals"]);
    let said = folder.run(&format!("{FIT} --intervals 95")).succeeds().stdout;
    assert!(said.contains("none of 5 coefficients determined"), "{said}");
}

#[test]
fn blocks_are_charged_once_and_an_altered_block_does_not_verify() {
    let folder = Folder::new();
    folder.write("clinic.csv", trial());
    let fit = FIT.replace("--epsilon 1", &format!("{LOUD} --interval-method blocks"));
    folder.run("ledger init clinic.ledger --epsilon 21 --delta 2e-4").succeeds();
    let said = folder.run(&format!("{fit} --ledger clinic.ledger")).succeeds().stdout;
    assert!(said.contains("from blocks") && said.contains("reticent coefficients"), "{said}");
    let model = folder.json("model.json");
    assert_eq!(model["certificate"]["event"]["kind"], "disjoint");
    assert_eq!(model["certificate"]["event"]["fixed_partition"], true);
    let weights = model["weights"][0].as_array().unwrap().len();
    assert_eq!(model["blocks"].as_array().unwrap().len(), 10 * weights);
    folder.run("verify model.json").succeeds();
    let rows = table(&folder, "");
    for row in &rows {
        assert!(row["interval"]["low"].as_f64() < row["estimate"].as_f64(), "{row}");
        assert!(row["interval"]["sampling_error"].is_null(), "{row}");
    }
    let csv = folder.run("coefficients model.json --csv").succeeds().stdout;
    assert!(csv.lines().all(|line| line.matches(',').count() == 9), "{csv}");
    folder.run("coefficients model.json").succeeds();
    folder.run("report model.json --out report.html").succeeds();
    assert!(folder.read("report.html").contains("id=\"intervals-figure\""));
    for change in ["a weight", "a block", "none"] {
        let mut model = folder.json("model.json");
        match change {
            "a weight" => model["weights"][0][0] = json!(0.125),
            "a block" => model["blocks"][0] = json!(0.1),
            _ => _ = model.as_object_mut().unwrap().remove("blocks"),
        }
        redigest(&mut model);
        folder.write("other.json", model.to_string());
        let verdict = folder.run("verify other.json");
        assert_eq!(verdict.code, Some(1), "{change}: {}", verdict.stdout);
        assert!(verdict.stdout.contains("mean of the plan's blocks"), "{}", verdict.stdout);
    }
}

#[test]
fn curves_have_intervals_at_each_place_relative_to_their_mean() {
    let folder = Folder::new();
    folder.write("clinic.csv", trial());
    let fit = FIT.replace("--epsilon 1", LOUD);
    folder.run(&fit).succeeds();
    let found = folder.run("curves model.json --json").succeeds().json();
    assert_eq!(found["level"], 95.0);
    let ward = found["columns"].as_array().unwrap().iter().find(|c| c["column"] == "ward").unwrap();
    let estimates =
        ward["band"].as_array().unwrap().iter().map(|p| p["estimate"].as_f64().unwrap());
    assert!(estimates.sum::<f64>().abs() < 1e-9);
    assert!(ward["band"][2]["interval"]["low"].is_number(), "{ward}");
    let text = folder.run("curves model.json").succeeds().stdout;
    assert!(text.contains("relative to the column's mean"), "{text}");
    let csv = folder.run("curves model.json --csv").succeeds().stdout;
    assert!(
        csv.starts_with("column,at,second_column,second_at,output,value,noise,relative,low,high")
    );
    folder.run("report model.json --out report.html").succeeds();
    let report = folder.read("report.html");
    assert!(
        report.contains("relative to the mean of the curve") && report.contains("class=\"band\"")
    );
}

#[test]
fn what_has_no_intervals_is_refused_before_anything_is_read() {
    let folder = Folder::new();
    for (more, words) in [
        ("--intervals 20", "`--intervals` must be a number from 50 to 99.9"),
        ("--intervals 95 --algorithm clipped-sgd", "`--intervals` is not a setting of clipped-sgd"),
        ("--intervals 95 --normalize rows", "`--intervals` need rows as long as they are"),
        ("--intervals 95 --pairs age:ward", "coefficients of columns and not of pairs"),
        ("--intervals 95 --radius 2 --algorithm objective", "weights without a set"),
        ("--interval-method blocks --algorithm objective", "together with `--intervals`"),
        ("--intervals 95 --interval-method blocks --curvature-share 0.3", "left out with blocks"),
        (
            "--curvature-share 0.3 --algorithm objective",
            "`--curvature-share` must be given together",
        ),
    ] {
        let refused = folder.run(&format!("{FIT} {more}"));
        assert_eq!(refused.code, Some(2), "{more}: {refused:?}");
        assert!(refused.stderr.contains(words), "{more}: {}", refused.stderr);
    }
    folder.run(FIT).succeeds();
    let refused = folder.run("coefficients model.json");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--intervals 95"), "{}", refused.stderr);
}
