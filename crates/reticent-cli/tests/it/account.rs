//! The accountant on its own: `account`, `calibrate` and `explain`.

use crate::common::{FIT, Folder};
use serde_json::Value;

/// A setting whose epsilon is known: 2.0770 under add/remove, 3.6953 under replace-one.
const KNOWN: &str = "--q 0.008333333333333333 --steps 3600 --sampling poisson --delta 1e-5";

fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("no number `{name}` in {value}"))
}

#[test]
fn account_brackets_the_known_epsilon_and_names_the_adjacency() {
    let folder = Folder::new();
    for (adjacency, known) in [("add-remove", 2.0770), ("replace", 3.6953)] {
        let arguments = format!("account --sigma 1.2 {KNOWN} --adjacency {adjacency} --json");
        let answer = folder.run(&arguments).succeeds().json();
        let (low, high) = (number(&answer, "epsilon_lower"), number(&answer, "epsilon_upper"));
        assert!(low <= high && high <= low * 1.01, "{answer}");
        assert!((high / known - 1.0).abs() < 1e-3, "{answer}");
        assert!(answer["adjacency"].as_str().unwrap().starts_with(adjacency), "{answer}");
    }
    let rdp = format!("account --sigma 1.2 {KNOWN} --adjacency add-remove --accountant rdp --json");
    assert!(number(&folder.run(&rdp).succeeds().json(), "epsilon_upper") > 2.0770);
    let text = folder.run(&format!("account --sigma 1.2 {KNOWN}")).succeeds().stdout;
    assert!(text.contains("epsilon <= 3.69") && text.contains("delta = 1e-5"), "{text}");
}

#[test]
fn a_sample_rate_alone_means_poisson_batches_and_none_means_every_row() {
    let folder = Folder::new();
    let upper = |arguments: &str| {
        number(
            &folder.run(&format!("account {arguments} --json")).succeeds().json(),
            "epsilon_upper",
        )
    };
    let rest = "--sigma 2 --steps 50 --delta 1e-6";
    assert_eq!(
        upper(&format!("{rest} --q 0.05")),
        upper(&format!("{rest} --q 0.05 --sampling poisson"))
    );
    assert!(upper(rest) > upper(&format!("{rest} --q 0.05")));
    let fixed = upper(&format!("{rest} --q 0.05 --sampling without-replacement"));
    assert!(
        fixed > upper(&format!("{rest} --q 0.05")),
        "fixed-size batches cost more than Poisson ones"
    );
}

#[test]
fn what_calibrate_gives_account_accepts_and_a_little_less_it_does_not() {
    let folder = Folder::new();
    for scheme in [
        "--steps 7",
        "--q 0.01 --steps 1000",
        "--q 0.02 --steps 300 --sampling without-replacement",
    ] {
        let arguments = format!("calibrate --epsilon 1 --delta 1e-6 {scheme} --json");
        let sigma = number(&folder.run(&arguments).succeeds().json(), "sigma");
        let spent = |sigma: f64| {
            let arguments = format!("account --sigma {sigma} --delta 1e-6 {scheme} --json");
            number(&folder.run(&arguments).succeeds().json(), "epsilon_upper")
        };
        assert!(spent(sigma) <= 1.0, "{scheme}");
        assert!(spent(0.999 * sigma) > 1.0, "{scheme}");
    }
}

#[test]
fn explain_tells_every_bound_for_flags_events_and_models() {
    let folder = Folder::new();
    let flags = format!("explain --sigma 1.2 {KNOWN}");
    let explanation = folder.run(&format!("{flags} --json")).succeeds().json();
    let bounds = explanation["bounds"].as_array().unwrap();
    assert!(bounds.len() >= 2 && !explanation["citations"].as_array().unwrap().is_empty());
    let best = number(&explanation, "epsilon_upper");
    for bound in bounds {
        if let Some(upper) = bound["epsilon_upper"].as_f64() {
            assert!(upper >= best, "{bound}");
        }
    }
    let text = folder.run(&flags).succeeds().stdout;
    assert!(text.contains("PLD") && text.contains("RDP") && text.contains("replace-one"), "{text}");

    folder.write(
        "event.json",
        br#"{"kind":"gaussian","noise_multiplier":4,"adjacency":"replace-one"}"#,
    );
    let event = folder.run("explain --event event.json --delta 1e-6 --json").succeeds().json();
    assert!((number(&event, "epsilon_upper") - 1.0607).abs() < 1e-4, "{event}");

    folder.run(&format!("{FIT} --noise gaussian")).succeeds();
    let model = folder.run("explain --model model.json --json").succeeds().json();
    assert!(number(&model, "epsilon_upper") <= 1.0, "{model}");
}

#[test]
fn numbers_that_make_no_sense_are_refused_by_name() {
    let folder = Folder::new();
    folder.write("bad.json", b"{\"kind\": 3}");
    for (arguments, word) in [
        ("account --sigma 0 --delta 1e-6", "`--sigma`"),
        ("account --sigma -1 --delta 1e-6", "`--sigma`"),
        ("account --sigma NaN --delta 1e-6", "`--sigma`"),
        ("account --sigma 1 --delta 1", "delta"),
        ("account --sigma 1 --delta 1e-6 --q 1.5", "`--q`"),
        ("account --sigma 1 --delta 1e-6 --adjacency friends", "adjacency"),
        ("calibrate --epsilon 0 --delta 1e-6", "epsilon"),
        ("calibrate --epsilon 1 --delta 0", "delta"),
        ("explain --event absent.json", "absent.json"),
        ("explain --event bad.json", "bad.json"),
        ("explain", "--sigma"),
    ] {
        folder.run(arguments).refuses(word);
    }
}
