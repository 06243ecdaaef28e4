//! Bounds, types and categories found privately, paid for and counted with the model.

#![allow(clippy::print_stdout)] // says what was skipped

use std::fmt::Write;

use crate::common::Folder;

/// A table of 6000 rows that nobody has declared: names, numbers, categories, a rare one, truth
/// values, and an identifier.
fn unknown() -> String {
    let mut text = "id,age,dose,ward,smoker,back\n".to_owned();
    for i in 0..6000_u32 {
        let age = 18 + (i * 37) % 70;
        let dose = f64::from((i * 13) % 1000) / 8.0;
        let ward = if i % 600 == 7 { "rare" } else { ["surgery", "internal"][(i % 2) as usize] };
        let back = if age + (i * 13) % 20 > 60 { "yes" } else { "no" };
        writeln!(text, "p{i},{age},{dose},{ward},{},{back}", i % 3 == 0).unwrap();
    }
    text
}

/// At this epsilon each of the asserted answers fails with a chance below 1e-6: noise of a count is
/// a few rows, and ranks are off by less than a hundred.
#[test]
fn a_draft_is_found_paid_for_certified_and_counted_with_the_model() {
    let folder = Folder::new();
    folder.write("t.csv", unknown());
    folder.run("ledger init l --epsilon 30 --delta 1e-5 --filter basic").succeeds();
    let draft =
        "schema draft --data t.csv --target back --ignore id --epsilon 8 --ledger l --out d.json";
    let names = folder.names();
    let plan = folder.run(&format!("{draft} --plan")).succeeds();
    assert!(plan.stderr.contains("a bound lies off its rank by at most"), "{plan:#?}");
    assert_eq!(folder.names(), names, "a plan writes nothing");
    folder.run(draft).succeeds();
    folder.run(draft).refuses("--force");
    let schema = folder.json("d.json");
    let column = |i: usize| &schema["columns"][i];
    assert_eq!(column(0)["role"], "ignore");
    let age = &column(1)["bounds"];
    assert_eq!((&column(1)["type"], &age["basis"]), (&"integer".into(), &"released".into()));
    let end = |bounds: &serde_json::Value, end: &str| bounds[end].as_f64().unwrap();
    assert!((10.0..=18.0).contains(&end(age, "min")), "{age}");
    assert!((87.0..=180.0).contains(&end(age, "max")), "{age}");
    assert_eq!(column(2)["type"], "real");
    assert!((95.0..=240.0).contains(&end(&column(2)["bounds"], "max")));
    assert_eq!(column(3)["categories"], serde_json::json!(["internal", "surgery", "other"]));
    assert_eq!(column(3)["other"], "other");
    assert!(!folder.read("d.json").contains("rare"));
    folder.run("schema check d.json").succeeds();
    let verified = folder.run("verify d.json --ledger l").succeeds();
    assert!(verified.stdout.starts_with("PASS\n"), "{verified:#?}");
    // Half the noise of a certificate, or a cheaper event, is caught.
    for (field, factor) in [("rank_epsilon", 2.0), ("name_multiplier", 0.5)] {
        let mut forged = schema.clone();
        let value = &mut forged["draft"]["plan"][field];
        *value = (value.as_f64().unwrap() * factor).into();
        folder.write("forged.json", forged.to_string());
        let run = folder.run("verify forged.json");
        assert_eq!(run.code, Some(1), "{run:#?}");
        assert!(run.stdout.contains("FAILS  draft's plan reproduces"), "{run:#?}");
    }
    // The model states what both cost.
    let fit = "fit --data t.csv --schema d.json --algorithm objective --epsilon 1 --out m.json";
    folder.run(&format!("{fit} --adjacency zero-out")).refuses("zero-out");
    let told = folder.run(&format!("{fit} --ledger l --linear --json")).succeeds().json();
    let together = told["with_draft"]["epsilon"].as_f64().unwrap();
    assert!((8.0..=9.0).contains(&together), "{together}");
    let verified = folder.run("verify m.json --ledger l").succeeds();
    assert!(verified.stdout.contains("cost of schema and model together"), "{verified:#?}");
    // The schema's ignored column is no reason for another ledger.
    let metrics = "evaluate --model m.json --data t.csv --epsilon 0.5 --delta 1e-7 --ledger l";
    folder.run(metrics).succeeds();
    // A report speaks of all that the file holds: an attacker sees the bounds too.
    let card = folder.run("report m.json --format card --out card.md").succeeds();
    let card = format!("{}{}", card.stdout, folder.read("card.md"));
    assert!(card.contains("With the draft of its schema, which this file holds too"), "{card}");
    let promised = card.split("Promise").nth(1).unwrap();
    let promised = promised.split("epsilon = ").nth(1).unwrap().split(',').next().unwrap();
    assert!(promised.parse::<f64>().unwrap() >= together, "{card}");
    assert!(
        !card.contains("which were public before a row was read; that")
            || card.contains("did not release")
    );
    // A mark of its own makes no bound a released one.
    let mut marked = schema.clone();
    marked["columns"][1]["bounds"]["min"] = 17.3.into();
    folder.write("marked.json", marked.to_string());
    folder
        .run(&fit.replace("d.json", "marked.json").replace("m.json", "n.json"))
        .refuses("no draft gives such numbers");
    assert_eq!(folder.run("verify marked.json").code, Some(1));
    let refuses = |changed: serde_json::Value, why: &str| {
        folder.write("changed.json", changed.to_string());
        let fit = fit.replace("d.json", "changed.json").replace("m.json", "n.json");
        folder.run(&fit).refuses(why);
    };
    let mut fewer = schema.clone();
    fewer["draft"]["columns"].as_array_mut().unwrap().remove(0);
    refuses(fewer, "the draft did not ask for them");
    let mut more = schema.clone();
    more["draft"]["columns"].as_array_mut().unwrap().push("more".into());
    refuses(more, "were paid for");
    // Without its certificate the schema is refused, also where only categories tell.
    let mut bare = schema.clone();
    bare.as_object_mut().unwrap().remove("draft");
    refuses(bare.clone(), "the bounds of `age` are marked as released");
    for place in [1, 2] {
        bare["columns"][place]["bounds"].as_object_mut().unwrap().remove("basis");
    }
    refuses(bare, "the categories of `ward` are marked as released");
    // The payment of another release is invalid.
    let mut model = folder.json("m.json");
    model["draft"]["payment"]["charge"] = 2.into();
    folder.write("other.json", model.to_string());
    let other = folder.run("verify other.json --ledger l");
    assert_eq!(other.code, Some(1));
    assert!(other.stdout.contains("FAILS  the ledger charged this draft"), "{other:#?}");
    assert!(verified.stdout.contains("holds  the ledger charged this draft"), "{verified:#?}");
    let free = draft.replace("--ledger l --out d.json", "--out e.json");
    folder.run(&format!("{free} --delta 0")).refuses("--delta");
    folder.run(&free.replace("epsilon 8", "epsilon inf")).refuses("--epsilon");
}

/// A draft that a ledger did not pay for cannot enter a model that the ledger pays for: the model's
/// file tells what the draft found, and the ledger's budget is for all that is told.
#[test]
fn a_ledger_pays_for_no_model_whose_draft_it_did_not_pay_for() {
    let folder = Folder::new();
    folder.write("t.csv", unknown());
    folder.run("ledger init small --epsilon 1 --delta 1e-5").succeeds();
    folder.run("schema draft --data t.csv --target back --epsilon 8 --out d.json").succeeds();
    // The identifier is left out, and its name stays in the schema.
    assert_eq!(folder.json("d.json")["columns"][0]["role"], "ignore");
    let fit = "fit --data t.csv --schema d.json --algorithm objective --linear --epsilon 0.9";
    let ledger = "--out m.json --ledger small";
    let why = "was not charged for the draft of the schema (epsilon = 8)";
    folder.run(&format!("{fit} {ledger}")).refuses(why);
    folder.run(&format!("{fit} {ledger} --reserve")).refuses(why);
    let tune = "tune --data t.csv --schema d.json --linear --epsilon 0.9 --try objective";
    folder.run(&format!("{tune} {ledger}")).refuses(why);
    let book = folder.run("ledger show small --json").succeeds().json();
    assert_eq!(book["charges"].as_array().unwrap().len(), 0, "{book}");
    // Without a ledger both say what both cost.
    let fitted = folder.run(&format!("{fit} --out m.json")).succeeds();
    assert!(fitted.stdout.contains("its draft cost epsilon = 8; schema and model together"));
    assert!(!folder.read("m.json").contains("\"id\""), "a name of a column that is left out");
    let tuned = folder.run(&format!("{tune} --out n.json")).succeeds();
    assert!(tuned.stdout.contains("its draft cost epsilon = 8; schema and model together"));
    let together = folder.run(&format!("{tune} --out n.json --force --json")).succeeds().json();
    let epsilon = together["with_draft"]["epsilon"].as_f64().unwrap();
    assert!((8.0..=8.9).contains(&epsilon), "{epsilon}");
    assert_eq!(folder.run("verify m.json").succeeds().stdout.lines().next(), Some("PASS"));
}

/// Types are named, a bound is public, cells have decimal commas and truth values are spelled in
/// several ways. As above, the chance of another answer is below 1e-6.
#[test]
fn a_draft_keeps_what_is_public_and_spells_each_value_once() {
    let folder = Folder::new();
    let mut text = "dose;grade;flag;back\n".to_owned();
    for i in 0..6000 {
        let flag = ["True", "true", "FALSE", "0", "1"][i % 5];
        let dose = format!("{},{}", i % 50, i % 10);
        writeln!(text, "{dose};{};{flag};{}", ["1,5", "2"][i % 2], ["no", "yes"][i % 2]).unwrap();
    }
    folder.write("t.csv", text);
    folder.write("words.csv", "name,type,min,max\ndose,real,0,\n");
    let draft = "schema draft --data t.csv --separator ; --decimal , --dictionary words.csv --target back \
                 --categorical grade,flag,back --knots 2 --epsilon 8 --out d.json";
    folder.run(draft).succeeds();
    let schema = folder.json("d.json");
    let column = |i: usize| &schema["columns"][i];
    assert_eq!(schema["draft"]["plan"]["shape"]["ends"], 1);
    assert_eq!(column(0)["bounds"]["min"], 0);
    assert!((49.0..=100.0).contains(&column(0)["bounds"]["max"].as_f64().unwrap()));
    assert_eq!(column(0)["knots_basis"], "released");
    assert_eq!(column(1)["categories"], serde_json::json!(["1,5", "2", "other"]));
    assert_eq!(column(1)["categories_basis"], "released");
    assert_eq!(column(2)["categories"], serde_json::json!(["0", "1", "other"]));
    let told = folder.run("schema check d.json").succeeds();
    assert!(told.stdout.contains("categories released with noise"), "{told:#?}");
    assert!(!told.stderr.contains("no effect"), "{told:#?}");
    // Every cell is found again: `other` holds nobody.
    let fit = "fit --data t.csv --separator ; --decimal , --schema d.json --algorithm objective --epsilon inf \
               --delta 0 --linear --out m.json";
    folder.run(fit).succeeds();
    let model = folder.json("m.json");
    let place = |name: &str| {
        let names = model["features"].as_array().unwrap();
        names.iter().position(|known| known == name).unwrap()
    };
    let weight = |name: &str| model["weights"][0][place(name)].as_f64().unwrap();
    assert_eq!(
        (weight("grade=other").abs() < 1e-9, weight("flag=other").abs() < 1e-9),
        (true, true)
    );
    assert!(weight("grade=1,5") < -0.1 && weight("grade=2") > 0.1);
    // The epsilon of a risk would follow from what the draft found.
    let risk = fit.replace("m.json", "n.json").replace("--epsilon inf", "--max-advantage 0.2");
    let risk = risk.replace("--delta 0 ", "");
    folder.run(&risk).refuses("no draft filled in");
    // Knots that no draft gives are refused while they are marked.
    let mut moved = schema.clone();
    moved["columns"][0]["basis"]["knots"][1] = 3.25.into();
    folder.write("moved.json", moved.to_string());
    folder
        .run(&fit.replace("d.json", "moved.json").replace("m.json", "n.json"))
        .refuses("no draft gives such numbers");
    // Half the noise for the name of the plan: refused by the number of ends.
    let mut ends = schema.clone();
    ends["columns"][0]["bounds"]["min"] = 0.5.into();
    ends["columns"][0]["basis"]["knots"][0] = 0.5.into();
    ends["draft"]["plan"]["shape"]["ends"] = 0.into();
    folder.write("ends.json", ends.to_string());
    folder
        .run(&fit.replace("d.json", "ends.json").replace("m.json", "n.json"))
        .refuses("no draft gives such numbers");
}

#[test]
fn a_draft_without_epsilon_says_which_is_precise_and_spends_nothing() {
    let folder = Folder::new();
    folder.write("t.csv", unknown());
    let draft = "schema draft --data t.csv --target back --ignore id";
    let names = folder.names();
    let told = folder.run(draft).succeeds().stderr;
    assert!(told.contains("every bound lies off its rank by at most 2 % of the rows"), "{told}");
    let advised = folder.run(&format!("{draft} --json")).succeeds().json();
    assert_eq!(folder.names(), names, "advice writes nothing");
    let epsilon = advised["advised_epsilon"].as_f64().unwrap();
    assert!(told.contains(&format!("from `--epsilon {epsilon}` on")), "{told}");
    let plan = folder.run(&format!("{draft} --epsilon {epsilon} --plan --json")).succeeds().json();
    let share = plan["rank_share"].as_f64().unwrap();
    assert!(share <= 0.02 && share > 0.019, "{share}");
    assert_eq!(plan["advised_epsilon"], advised["advised_epsilon"]);
}

/// Where the public data sets lie, if they do.
fn shared() -> Option<std::path::PathBuf> {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: the shared data sets are not here");
    None
}

/// From a header to a verified model on real tables, at epsilon 1 in all.
#[test]
fn six_tables_go_from_a_header_to_a_verified_model() {
    let Some(data) = shared() else { return };
    for (name, target, ignored) in [
        ("adult_train", "income", ""),
        ("bank_full", "y", ""),
        ("credit_default", "default_payment_next_month", ""),
        ("bike_hour", "cnt", "instant,dteday,casual,registered"),
        ("california_housing", "median_house_value", ""),
        ("hotel_rates", "avg_price_per_room", ""),
    ] {
        let folder = Folder::new();
        let table = data.join(format!("{name}.csv.gz")).display().to_string();
        let data = ["--data", table.as_str(), "--target", target];
        folder.run_with("schema init --out s.json", &data).succeeds();
        let blank = folder.run("schema check s.json");
        assert_eq!(blank.code, Some(2), "{name}: {blank:#?}");
        let ignore = ["--ignore", ignored];
        let given = if ignored.is_empty() { &data[..] } else { &[&data[..], &ignore[..]].concat() };
        folder.run_with("schema draft --epsilon 0.2 --out d.json", given).succeeds();
        folder.run("schema check d.json").succeeds();
        folder.run("verify d.json").succeeds();
        let fit = "fit --schema d.json --epsilon 0.8 --linear --algorithm output-gd --out m.json";
        let told = folder.run_with(&format!("{fit} --json"), &data[..2]).succeeds().json();
        let together = told["with_draft"]["epsilon"].as_f64().unwrap();
        assert!((0.8..=1.0).contains(&together), "{name}: {together}");
        folder.run("verify m.json").succeeds();
    }
}
