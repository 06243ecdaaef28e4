//! `reticent report --format registry` and `--format card`, end to end. That the entry keeps to the
//! registry's schema is tested in Python, with a reader of YAML that is not ours.

use crate::common::{FIT, Folder};

/// The statements of the clinic's curator.
const RELEASE: &str = r#"
name = "Readmissions: a \"first\" model"
curators = ["General Hospital"]
intended_use = "Planning of beds."
region = "Utopia"
sector = "Healthcare"
publication_date = 2026-11-18
row = "one stay"
releases = "one"
source = "static"
justification = "The board chose epsilon."
authors = ["A. Clerk"]
"#;

fn with_model(flags: &str) -> Folder {
    let folder = Folder::new();
    folder.run(&format!("{FIT} {flags}")).succeeds();
    folder.write("release.toml", RELEASE);
    folder
}

/// The value of a field of the entry, as it is written.
fn field<'a>(entry: &'a str, name: &str) -> &'a str {
    let mut lines =
        entry.lines().filter_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": "));
    let value = lines.next().unwrap_or_else(|| panic!("no `{name}` in {entry}"));
    assert_eq!(lines.next(), None, "{name}");
    value
}

#[test]
fn the_entry_says_what_the_certificate_says() {
    let folder = with_model("--algorithm output-gd --noise gaussian --delta 1e-4");
    let run = folder.run("report model.json --format registry").succeeds();
    assert!(run.says("registry.yaml"));
    let entry = folder.read("registry.yaml");
    for (name, value) in [
        ("url_slug", "\"readmissions-a-first-model\""),
        ("name", r#""Readmissions: a \"first\" model""#),
        ("publication_date", "\"2026-11-18\""),
        ("data_product_sector", "\"Healthcare\""),
        ("variant_name", "\"Approximate DP\""),
        ("epsilon", "1.0"),
        ("delta", "1.0e-4"),
        ("model_name", "\"Central\""),
        ("justification", "\"The board chose epsilon.\""),
        ("privacy_unit", "\"one row; a row is one stay\""),
    ] {
        assert_eq!(field(&entry, name), value, "{name}");
    }
    assert!(field(&entry, "unprotected_quantities").contains("number of rows (60), which is pub"));
    assert!(field(&entry, "composition").contains("No ledger was charged"));
    assert!(field(&entry, "privacy_parameters_details").contains("delta at most"));

    // Without delta it is pure, and under add-remove the number of rows is nobody's business.
    folder.run(&format!("{FIT} --algorithm output-gd --delta 0")).succeeds();
    folder.run("report model.json --format registry").succeeds();
    let entry = folder.read("registry.yaml");
    assert_eq!(field(&entry, "variant_name"), "\"Pure DP\"");
    assert!(!entry.contains(" delta:"));
    let flags = "--algorithm clipped-sgd --adjacency add-remove-one --rows 70";
    folder.run(&format!("{FIT} {flags}")).succeeds();
    folder.run("report model.json --format registry").succeeds();
    let entry = folder.read("registry.yaml");
    assert!(!field(&entry, "unprotected_quantities").contains("number of rows"));
    assert!(field(&entry, "data_domain").contains("70 rows (declared"), "{entry}");
    assert!(!entry.contains("60 rows"));
}

#[test]
fn a_gaussian_release_states_its_mu_rounded_up() {
    let folder = with_model("--algorithm output-gd --noise gaussian --delta 1e-4");
    folder.run("report model.json --format registry").succeeds();
    let text = folder.read("registry.yaml");
    let details = field(&text, "privacy_parameters_details");
    let stated = details.split("mu = ").nth(1).unwrap().split([',', ' ']).next().unwrap();
    let event = &folder.json("model.json")["certificate"]["event"];
    let exact = 1.0 / event["inner"]["noise_multiplier"].as_f64().unwrap();
    let stated: f64 = stated.parse().unwrap();
    assert!((exact..exact * 1.001).contains(&stated), "{stated} {exact}");
}

#[test]
fn a_curvature_release_is_among_what_is_published() {
    let folder = with_model("--algorithm objective --intervals 95");
    folder.run("report model.json").succeeds();
    folder.run("report model.json --format card").succeeds();
    for name in ["report.html", "card.md"] {
        assert!(folder.read(name).contains("the noisy curvature of the loss"), "{name}");
    }
    folder.run(&format!("{FIT} --algorithm objective")).succeeds();
    folder.run("report model.json --format card").succeeds();
    assert!(!folder.read("card.md").contains("curvature of the loss at"));
}

#[test]
fn all_that_the_curator_left_out_is_named_at_once() {
    let folder = with_model("--algorithm output-gd");
    let registry = "report model.json --format registry";
    for (text, words) in [
        ("", &["lacks `name`, `curators`", "`justification`, `authors`"][..]),
        (&*RELEASE.replace("[\"A. Clerk\"]", "[\" \"]"), &["lacks `authors`;"]),
        (&RELEASE.replace("2026-11-18", "\"in November\""), &["no day", "2026-11-18"]),
        (&RELEASE.replace("2026-11-18", "2026-02-30"), &["release.toml"]),
        (&RELEASE.replace("Healthcare", "Health"), &["`Healthcare`, `Education`"]),
        (&RELEASE.replace("\"one\"", "\"some\""), &["line 9", "one", "many"]),
        (&RELEASE.replace("region", "regoin"), &["line 5", "regoin"]),
        (&format!("slug = \"A b\"\n{RELEASE}"), &["`slug`"]),
    ] {
        folder.write("release.toml", text);
        for word in words {
            folder.run(registry).refuses(word);
        }
        assert!(!folder.path("registry.yaml").exists());
    }
    std::fs::remove_file(folder.path("release.toml")).unwrap();
    folder.run(registry).refuses("write it with `name`, `curators`");
    folder.run("report model.json --release release.toml").refuses("`--release` goes with");
    folder.write("r.toml", RELEASE);
    folder.run(&format!("{registry} --release r.toml --out r.toml")).refuses("would replace");
    folder.run(&format!("{registry} --release r.toml --out entry.yaml")).succeeds();
}

#[test]
fn a_file_that_does_not_verify_has_no_entry_and_no_card() {
    let folder = with_model("--algorithm output-gd --insecure-seed 4");
    let seeded = folder.read("model.json");
    folder.run(&format!("{FIT} --algorithm output-gd")).succeeds();
    let altered = folder.read("model.json").replace("\"steps\": ", "\"steps\": 1");
    for text in [seeded, altered] {
        folder.write("model.json", text);
        folder.run("report model.json --format registry").refuses("does not verify");
        folder.run("report model.json --format card").refuses("does not verify");
    }
    assert!(!folder.path("registry.yaml").exists() && !folder.path("card.md").exists());
}

#[test]
fn a_card_needs_no_curator_and_says_what_is_missing() {
    let folder = with_model("--algorithm output-gd --knots 4");
    let evaluation = "evaluate --model model.json --data clinic.csv --json > e.json";
    folder.shell(&format!("$RETICENT {evaluation}")).succeeds();
    folder.run("report model.json --format card --evaluation e.json").succeeds();
    let card = folder.read("card.md");
    for text in [
        "# Readmissions",
        "Planning of beds.",
        "epsilon-differentially private",
        "| `ward` | feature |",
        "| log loss |",
        "- **Time and memory**",
        "reticent verify model.json",
    ] {
        assert!(card.contains(text), "{text} is not in {card}");
    }
    std::fs::remove_file(folder.path("release.toml")).unwrap();
    folder.run("report model.json --format card").succeeds();
    let card = folder.read("card.md");
    assert!(card.contains("# Model of `clinic`") && card.contains("Not stated."), "{card}");
    assert!(!card.contains("Planning of beds"));
}
