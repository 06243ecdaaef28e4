//! Weights of rows and of classes, from the command line.

use std::fmt::Write as _;

use crate::common::{CLINIC, FIT, Folder, redigest, weights};

const WEIGHT: &str =
    r#""columns": [{"name": "times", "role": "weight", "bounds": {"min": 0, "max": 2}},"#;

/// A named algorithm, so that no table is simulated.
const SGD: &str = "--algorithm clipped-sgd";

/// The clinic in which every other row counts twice: by a weight, or as two rows.
fn clinic(rows: usize, copies: bool) -> String {
    let mut text = if copies { "" } else { "times," }.to_owned() + "age,ward,visit,back\n";
    for i in 0..rows {
        let ward = ["surgery", "internal", "other"][i % 3];
        let back = if (i * 37) % 101 + (i * 13) % 20 > 55 { "yes" } else { "no" };
        let row = format!("{},{ward},{},{back}\n", (i * 37) % 101, i % 10);
        let times = 1 + i % 2;
        if copies {
            text += &row.repeat(times);
        } else {
            _ = write!(text, "{times},{row}");
        }
    }
    text
}

fn weighted() -> Folder {
    let folder = Folder::new();
    folder.write("clinic.json", CLINIC.replace(r#""columns": ["#, WEIGHT));
    folder.write("clinic.csv", clinic(400, false));
    folder
}

#[test]
fn a_column_of_weights_is_declared_used_and_told() {
    let folder = weighted();
    folder.run(&format!("{FIT} {SGD} --insecure-seed 7")).succeeds();
    let model = folder.json("model.json");
    assert_eq!(model["certificate"]["plan"]["problem"]["weighted"], true);
    let columns = model["task"]["declaration"]["columns"].as_array().unwrap();
    let column = columns.iter().find(|c| c["name"] == "times").unwrap();
    assert_eq!((&column["role"], &column["bounds"]["max"]), (&"weight".into(), &2.0.into()));
    let told = model["certificate"]["assumptions"].to_string();
    assert!(told.contains("largest weight"), "{told}");
    let told = folder.run("schema check clinic.json").succeeds();
    assert!(told.stdout.contains("multiplied by its share of 2, clamped to [0, 2]"), "{told:#?}");
    folder.run("report model.json").succeeds();
    assert!(folder.read("report.html").contains("its share of 2"));
    // Read in blocks the release is the same to the last bit.
    let streamed = FIT.replace("model.json", "streamed.json");
    folder.run(&format!("{streamed} {SGD} --insecure-seed 7 --memory 128MB")).succeeds();
    assert_eq!(weights(&folder.json("streamed.json")), weights(&model));
    let mut forged = model.clone();
    forged["certificate"]["plan"]["problem"]["weighted"] = false.into();
    redigest(&mut forged);
    folder.write("forged.json", forged.to_string());
    let forged = folder.run("verify forged.json");
    assert!(forged.says("FAILS  weights of rows follow from the declaration"), "{forged:#?}");
    // Where nothing is trained no weight is read.
    folder.write("new.csv", "age,ward,visit,back\n30,other,2,no\n70,surgery,4,yes\n");
    folder.run("predict --model model.json --data new.csv --out p.csv").succeeds();
    folder.run("evaluate --model model.json --data new.csv").succeeds();
    let unit = folder.run(&format!("{FIT} {SGD} --unit age --max-rows 3"));
    unit.refuses("never learnt from");
    for algorithm in ["objective", "output-gd", "output-sgd --steps 500", "permuted-sgd"] {
        folder.run(&format!("{FIT} --algorithm {algorithm} --ridge 0.01")).succeeds();
        let verified = folder.run("verify model.json").succeeds();
        assert!(verified.says("each row counts its share of the largest"), "{verified:#?}");
    }
    let tune = "tune --data clinic.csv --schema clinic.json --out tuned.json --epsilon 1";
    let tries = ["--try", "objective ridge=0.1", "--try", "objective ridge=0.01"];
    folder.run_with(tune, &tries).succeeds();
    folder.run("verify tuned.json").succeeds();
    folder
        .run(&format!("{FIT} --algorithm least-squares --loss one-hot"))
        .refuses("with weights, use one of");
}

/// Without noise a row of weight 2 is two rows of weight 1: the objectives are proportional.
#[test]
fn a_weight_counts_like_copies() {
    let folder = weighted();
    let fit = |ridge: f64| {
        let exact = "--epsilon inf --algorithm output-gd --steps 20000 --ridge";
        folder.run(&format!("{} {exact} {ridge}", FIT.replace(" --epsilon 1", ""))).succeeds();
        weights(&folder.json("model.json"))
    };
    let with = fit(0.003);
    folder.write("clinic.json", CLINIC);
    let without = {
        folder.write("clinic.csv", clinic(400, true));
        // Twice the rows over the copies: 800/600.
        fit(0.003 * 800.0 / 600.0)
    };
    let size = without.iter().fold(0.0_f64, |size, w| size.max(w.abs()));
    assert!(size > 0.3, "{without:?}");
    for (a, b) in with.iter().zip(&without) {
        assert!((a - b).abs() < 1e-4 * size, "{with:?}\n{without:?}");
    }
    folder.write("clinic.csv", clinic(400, false));
    let plain = fit(0.003 * 800.0 / 600.0);
    assert!(plain.iter().zip(&without).any(|(a, b)| (a - b).abs() > 1e-3 * size));
}

#[test]
fn an_exposure_makes_a_model_of_rates() {
    let folder = Folder::new();
    let schema = |exposure: &str, target: &str| {
        format!(
            r#"{{"target": "claims", "columns": [
                {{"name": "age", "type": "real", "bounds": {{"min": 0, "max": 1}}}},
                {{"name": "years", "role": "exposure", {exposure}}},
                {{"name": "claims", {target}}}]}}"#
        )
    };
    let numbers = r#""type": "real", "bounds": {"min": 0, "max": 10}"#;
    let years = r#""bounds": {"min": 0.1, "max": 1}"#;
    folder.write("clinic.json", schema(years, numbers));
    let mut text = "age,years,claims\n".to_owned();
    for i in 0..900 {
        // Two a year, whatever the exposure.
        let years = [0.5, 1.0, 0.25][i % 3];
        _ = writeln!(text, "{},{years},{}", i % 2, [1.0, 2.0, 0.5][i % 3]);
    }
    folder.write("clinic.csv", text);
    folder
        .run(&format!(
            "{} --epsilon inf --loss poisson --ridge 1e-6",
            FIT.replace(" --epsilon 1", "")
        ))
        .succeeds();
    folder.write("new.csv", "age\n0\n1\n");
    folder.run("predict --model model.json --data new.csv --out p.csv").succeeds();
    let rates: Vec<f64> = folder
        .read("p.csv")
        .lines()
        .skip(1)
        .map(|l| l.split(',').next().unwrap().parse().unwrap())
        .collect();
    assert!(rates.iter().all(|rate| (rate - 2.0).abs() < 0.02), "{rates:?}");
    let metrics =
        folder.run("evaluate --model model.json --data clinic.csv --json").succeeds().json();
    assert!(metrics["metrics"]["rmse"].as_f64().unwrap() < 0.02, "{metrics}");
    let told = folder.run("schema check clinic.json").succeeds();
    assert!(
        told.stdout.contains("bounds of `claims` are rates: for one unit of `years`"),
        "{told:#?}"
    );
    let sgd = format!("{FIT} {SGD} --loss poisson");
    folder.run(&sgd).succeeds();
    folder.run("verify model.json").succeeds();
    folder.write("clinic.json", schema(r#""bounds": {"min": 0, "max": 1}"#, numbers));
    folder.run(&sgd).refuses("0 < min for an exposure");
    folder.write("clinic.json", schema(years, r#""type": "categorical", "categories": [0, 1]"#));
    folder.run(&format!("{FIT} {SGD}")).refuses("by which a numeric target is divided");
}

#[test]
fn weights_without_bounds_and_second_ones_are_refused() {
    let folder = weighted();
    for (column, says) in [
        (r#"{"name": "times", "role": "weight"},"#, "needs bounds"),
        (r#"{"name": "times", "role": "weight", "bounds": {"min": -1, "max": 2}},"#, "0 <= min"),
        (r#"{"name": "times", "role": "weight", "bounds": {"unbounded": true}},"#, "needs bounds"),
        (r#"{"name": "times", "role": "weight", "categories": ["a"]},"#, "needs bounds"),
        (
            r#"{"name": "times", "role": "weight", "bounds": {"min": 0, "max": 2}, "missing": {"fill": 1}},"#,
            "needs bounds",
        ),
        (
            r#"{"name": "times", "role": "weight", "bounds": {"min": 0, "max": 2}}, {"name": "b", "role": "weight", "bounds": {"min": 0, "max": 2}},"#,
            "`b` is a second source",
        ),
    ] {
        let whole = format!(r#""columns": [{column}"#);
        folder.write("clinic.json", CLINIC.replace(r#""columns": ["#, &whole));
        folder.run(&format!("{FIT} {SGD}")).refuses(says);
    }
}

#[test]
fn classes_have_public_weights_or_none() {
    let folder = Folder::new();
    let sgd = format!("{FIT} {SGD} --insecure-seed 7");
    folder.run(&sgd).succeeds();
    let plain = folder.json("model.json");
    assert!(plain["certificate"]["plan"]["problem"].get("weighted").is_none());
    folder.run(&format!("{sgd} --class-weight yes=9")).succeeds();
    let model = folder.json("model.json");
    assert_eq!(model["task"]["encoding"]["class_weights"]["yes"], 9.0);
    assert_ne!(weights(&model), weights(&plain));
    let told = model["certificate"]["assumptions"].to_string();
    assert!(told.contains("weights of classes"), "{told}");
    // The ratio decides.
    folder
        .run(&format!("{sgd} --class-weight yes=3 --class-weight no=0.33333333333333331"))
        .succeeds();
    let other = weights(&folder.json("model.json"));
    for (a, b) in weights(&model).iter().zip(other) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
    folder.run(&format!("{sgd} --class-weight yes=9 --memory 128MB")).succeeds();
    assert_eq!(weights(&folder.json("model.json")), weights(&model));
    for (flag, says) in [
        ("balanced", "counts of the classes, which are private"),
        ("maybe=2", "expected one of `no`, `yes`"),
        ("yes=-1", "must be a finite number >= 0"),
        ("yes=nan", "must be a finite number >= 0"),
        ("yes=0 --class-weight no=0", "at least one class a positive weight"),
        ("yes", "as `yes=9`"),
        ("=2", "as `yes=9`"),
    ] {
        folder.run(&format!("{FIT} {SGD} --class-weight {flag}")).refuses(says);
    }
    let schema = CLINIC.replace(r#"["no", "yes"]"#, r#"["<=2", ">2"]"#);
    folder.write(
        "clinic.json",
        schema.replace(r#""positive_class": "yes""#, r#""positive_class": ">2""#),
    );
    folder.run(&format!("{FIT} {SGD} --class-weight <=2=0.5")).succeeds();
    assert_eq!(folder.json("model.json")["task"]["encoding"]["class_weights"]["<=2"], 0.5);
    let numbers = CLINIC
        .replace(
            r#""type": "categorical", "categories": ["no", "yes"]"#,
            r#""type": "real", "bounds": {"min": 0, "max": 1}"#,
        )
        .replace(r#""positive_class": "yes", "#, "");
    folder.write("clinic.json", numbers);
    folder.run(&format!("{FIT} {SGD} --class-weight yes=2")).refuses("class weights need classes");
}
