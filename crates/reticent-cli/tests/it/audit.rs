//! The auditor from the command line.

use crate::common::Folder;

const AUDIT: &str = "audit --algorithm output-gd --n 20 --d 2 --loss huber --threshold 0.1 --mu 0 --steps 5 --noise gaussian --epsilon 4 --delta 1e-3 --seed 3";

#[test]
fn an_audit_finds_much_of_the_loss_and_no_more_than_is_claimed() {
    let folder = Folder::new();
    let answer = folder.run(&format!("{AUDIT} --runs 4000 --json")).succeeds().json();
    let number = |name: &str| answer["audit"][name].as_f64().unwrap();
    assert!(number("epsilon_lower") > 1.0, "{answer}");
    assert!(number("epsilon_lower") < number("epsilon_claimed"), "{answer}");
    assert_eq!(answer["audit"]["violated"], false);
    assert_eq!(answer["plan"]["algorithm"], "output-gd");
    let text = folder.run(&format!("{AUDIT} --runs 400")).succeeds().stdout;
    assert!(text.contains("claims epsilon = 4 at") && text.contains("the claim stands"), "{text}");
}

#[test]
fn two_normal_laws_are_for_gaussian_noise() {
    let folder = Folder::new();
    let audit = "audit --n 50 --d 3 --epsilon 2 --delta 1e-3 --runs 400 --seed 1 --algorithm least-squares --loss squared";
    for (noise, printed) in [("ball", false), ("gaussian", true)] {
        let text = folder.run(&format!("{audit} --noise {noise}")).succeeds().stdout;
        assert_eq!(text.contains("two normal laws"), printed, "{noise}: {text}");
        let json = folder.run(&format!("{audit} --noise {noise} --json")).succeeds().json();
        assert_eq!(json["audit"].get("epsilon_lower_gdp").is_some(), printed, "{noise}: {json}");
    }
}

#[test]
fn too_few_runs_or_no_such_confidence_are_bad_input() {
    let folder = Folder::new();
    let large = "audit --algorithm output-gd --n 1000000000 --d 1 --epsilon 1 --delta 1e-12";
    folder.run(large).refuses("more than 4 GB");
    folder.run(&format!("{AUDIT} --runs 5")).refuses("`--runs` must be at least 20");
    let sure = format!("{AUDIT} --runs 100 --confidence 1");
    folder.run(&sure).refuses("`--confidence` must lie between 0 and 1");
}

const ONCE: &str = "audit --algorithm output-gd --n 200 --d 200 --loss huber --threshold 0.1 --mu 0 --steps 5 --epsilon 4 --delta 1e-6 --seed 3 --single-run";

#[test]
fn one_run_with_many_canaries_is_below_the_claim() {
    let folder = Folder::new();
    let answer = folder.run(&format!("{ONCE} --canaries 150 --json")).succeeds().json();
    let number = |name: &str| answer["audit"][name].as_f64().unwrap();
    assert!(number("epsilon_lower") < number("epsilon_claimed"), "{answer}");
    assert!(number("correct") > 0.5 * number("guesses"), "{answer}");
    assert_eq!(answer["audit"]["canaries"], 150);
    assert_eq!(answer["audit"]["violated"], false);
    let text = folder.run(ONCE).succeeds().stdout;
    assert!(text.contains("one run with 200 canaries") && text.contains("guesses right"), "{text}");
}

#[test]
fn what_one_run_cannot_do_is_bad_input() {
    let folder = Folder::new();
    folder
        .run(&format!("{ONCE} --canaries 1"))
        .refuses("`--canaries` must be between 2 and n = 200");
    folder.run(&format!("{ONCE} --canaries 201")).refuses("`--canaries`");
    folder.run(&format!("{ONCE} --confidence 0")).refuses("`--confidence`");
    folder.run(&format!("{AUDIT} --canaries 5")).refuses("--single-run");
}

#[test]
fn where_no_row_adds_nothing_zero_out_is_not_audited() {
    let folder = Folder::new();
    let audit = "audit --n 5 --d 2 --epsilon 1 --delta 1e-3 --runs 200 --adjacency zero-out";
    let network = format!("{audit} --algorithm clipped-sgd --hidden 3 --steps 2 --batch 5");
    folder.run(&network).refuses("`--adjacency` must be replace-one or add-remove-one");
    let kernel =
        format!("{audit} --kernel gaussian --features 8 --algorithm clipped-sgd --steps 2");
    folder.run(&kernel).refuses("`--adjacency` must be replace-one or add-remove-one");
}
