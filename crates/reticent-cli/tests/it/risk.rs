//! A risk in place of epsilon, end to end.

use crate::common::{Folder, clinic, redigest};

const TABLE: &str = "--data clinic.csv --schema clinic.json --force";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("clinic.csv", clinic(3000));
    folder
}

#[test]
fn a_fit_for_a_risk_has_the_settings_of_the_epsilon_that_it_finds() {
    let folder = folder();
    let fit = |how: &str| {
        folder.run(&format!("fit {TABLE} {how} --out model.json")).succeeds();
        folder.json("model.json")["certificate"].clone()
    };
    for memory in ["", "--memory 128MB"] {
        let kept = fit(&format!("--max-advantage 0.15 {memory}"));
        let plan = &kept["plan"];
        let epsilon = kept["budget"]["epsilon"].as_f64().unwrap();
        let given = fit(&format!("--epsilon {epsilon} {memory}"));
        assert!(given.get("risk").is_none());
        // Another algorithm may be the choice at that epsilon, where it keeps a larger risk.
        if plan["algorithm"] == given["plan"]["algorithm"] {
            assert_eq!(*plan, given["plan"], "{memory}");
        }
        let name = plan["algorithm"].as_str().unwrap();
        let own = fit(&format!("--epsilon {epsilon} --algorithm {name} {memory}"));
        let tuned = plan["settings"] != own["plan"]["settings"];
        assert!(name != "clipped-sgd" || tuned, "the settings of the simulation: {plan}");
    }
}

#[test]
fn the_risk_is_in_the_certificate_the_statement_the_checks_and_the_report() {
    let folder = folder();
    folder.run(&format!("fit {TABLE} --max-tpr 0.06 --at-fpr 0.01 --out model.json")).succeeds();
    let mut model = folder.json("model.json");
    let certificate = &model["certificate"];
    assert_eq!(certificate["risk"]["most"], 0.06);
    let statement = certificate["statement"].as_str().unwrap().to_owned();
    let risk =
        "any attack that accuses wrongly at a rate of 0.01 detects at a rate of at most 0.06";
    assert!(statement.ends_with(&format!(", and {risk}.")), "{statement}");
    let verified = folder.run("verify model.json --json").succeeds().json();
    let check = verified["recomputed"].as_array().unwrap().iter();
    let check = check.clone().find(|check| check["name"] == "event keeps the risk").unwrap();
    assert_eq!(check["holds"], true, "{check}");
    folder.run("report model.json --out report.html").succeeds();
    assert!(folder.read("report.html").contains(&format!("chosen so that {risk}")));
    folder.run("report model.json --format card --out card.md").succeeds();
    assert!(folder.read("card.md").contains(&format!("chosen so that {risk}")));
    // A smaller risk than the event keeps, with the sentence that goes with it, does not verify.
    model["certificate"]["risk"]["most"] = 0.05.into();
    let forged = statement.replace("at most 0.06", "at most 0.05");
    model["certificate"]["statement"] = forged.into();
    redigest(&mut model);
    folder.write("forged.json", model.to_string());
    let forged = folder.run("verify forged.json");
    assert_eq!(forged.code, Some(1), "{forged:?}");
    assert!(forged.says("FAIL") && forged.says("event keeps the risk"), "{forged:?}");
    // A risk above 1 is invalid.
    model["certificate"]["risk"]["most"] = 2.0.into();
    redigest(&mut model);
    folder.write("forged.json", model.to_string());
    assert_eq!(folder.run("verify forged.json").code, Some(1));
}

#[test]
fn mu_is_rounded_up() {
    let folder = folder();
    let scheme = "calibrate --max-advantage 0.1 --steps 1";
    let exact = folder.run(&format!("{scheme} --json")).succeeds().json();
    let exact = exact["risk_bounds"]["mu_upper"].as_f64().unwrap();
    let text = folder.run(scheme).succeeds().stdout;
    let shown = text.split("GDP with mu <= ").nth(1).unwrap().split(',').next().unwrap();
    let shown: f64 = shown.parse().unwrap();
    assert!(shown >= exact && shown < exact + 1e-4, "{shown} {exact}");
}

#[test]
fn private_metrics_whose_noise_does_not_follow_are_not_shown_as_private() {
    let folder = folder();
    folder.run(&format!("fit {TABLE} --epsilon 1 --out model.json")).succeeds();
    let evaluate = "evaluate --model model.json --data clinic.csv --epsilon 1 --by ward --json";
    let mut found = folder.run(evaluate).succeeds().json();
    let shown = |folder: &Folder| {
        folder.run("report model.json --evaluation e.json --out r.html").succeeds();
        folder.read("r.html").contains("These metrics are (epsilon, delta)-differentially private")
    };
    folder.write("e.json", found.to_string());
    assert!(shown(&folder), "{found}");
    for (field, value) in
        [("noise_deviation", 0.1.into()), ("max_rows", 2.into()), ("sensitivity", 0.5.into())]
    {
        let whole = found[field].clone();
        found[field] = value;
        folder.write("e.json", found.to_string());
        assert!(!shown(&folder), "{field}");
        found[field] = whole;
    }
}
