//! A mistake in the arguments is exit code 2 and one sentence that names it, before anything is
//! written.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use crate::common::{FIT, Folder};

/// Flags of `fit`, and what the sentence must name.
const REFUSED: &[(&str, &str)] = &[
    ("--epsilon 0", "`--epsilon`"),
    ("--epsilon -1", "`--epsilon`"),
    ("--epsilon nan", "`--epsilon`"),
    ("--epsilon one", "--epsilon"),
    ("--epsilon 5e-324", "`--epsilon` must be at least 1e-6"),
    ("--delta 1", "`--delta`"),
    ("--delta 0.999999", "`--delta` must be at most 0.1"),
    ("--delta 1.5", "`--delta`"),
    ("--delta -1e-9", "`--delta`"),
    ("--delta nan", "`--delta`"),
    ("--delta 0 --noise gaussian", "`--delta`"),
    ("--adjacency neighbours", "`--adjacency`"),
    ("--adjacency add-remove-one", "adjacency"),
    ("--adjacency add-remove", "adjacency"),
    ("--adjacency zero-out", "replace-one adjacency"),
    ("--target nothing", "`nothing`"),
    ("--algorithm guess", "`guess`"),
    ("--loss huber", "`--loss`"),
    ("--loss squared --radius 1", "`--loss`"),
    ("--loss softmax", "`--loss`"),
    ("--loss guess", "--loss"),
    ("--target age --loss logistic", "`--loss`"),
    ("--target age --loss softmax", "`--loss`"),
    ("--target ward --loss logistic", "`--loss`"),
    ("--loss hinge", "smooth"),
    ("--algorithm output-gd --loss hinge --q 1.5 --radius 1", "smooth"),
    ("--loss hinge --q 3 --radius 1", "`--q`"),
    ("--loss hinge --q -1 --radius 1", "`--q`"),
    ("--algorithm output-gd --target age --loss power --q 1 --radius 1", "smooth"),
    ("--loss hinge --q 2", "`--radius`"),
    ("--target age --loss squared", "`--radius`"),
    ("--target age --loss power", "`--radius`"),
    ("--target age --threshold 0", "`--threshold`"),
    ("--target age --loss huber --threshold 0", "`--threshold`"),
    ("--target age --loss huber --threshold -1", "`--threshold`"),
    ("--step-size 1000", "`--step-size`"),
    ("--step-size 0", "`--step-size`"),
    ("--step-size -1", "`--step-size`"),
    ("--step-size nan", "`--step-size`"),
    ("--steps 0", "`--steps`"),
    ("--algorithm output-gd --steps 1000001", "`--steps`"),
    ("--steps -1", "--steps"),
    ("--steps 1.5", "--steps"),
    ("--mu -1", "`--ridge`"),
    ("--ridge nan", "`--ridge`"),
    ("--ridge inf", "`--ridge`"),
    ("--radius 0", "`--radius`"),
    ("--radius -2", "`--radius`"),
    ("--radius nan", "`--radius`"),
    ("--radius inf", "`--radius`"),
    ("--set l1", "`--radius`"),
    ("--set lp --radius 1", "`--p`"),
    ("--set lp --radius 1 --p 0.5", "`--p`"),
    ("--set box --low 1 --high 2", "`--low`"),
    ("--set box --radius 1 --low -1 --high 1", "`--radius`"),
    ("--set box --low -1,-1 --high 1", "`--low`"),
    ("--low -1 --radius 1", "`--low`"),
    ("--set group --radius 1 --groups 1,1", "`--groups`"),
    ("--set group --radius 1 --groups 1,5 --group-weights 0,1", "`--group-weights`"),
    ("--groups 1,5 --radius 1", "`--groups`"),
    ("--set triangle --radius 1", "--set"),
    ("--feature-norm none", "`--feature-norm`"),
    ("--noise generalized-gaussian", "`--noise`"),
    ("--p 1.5", "`--p`"),
    ("--algorithm mirror --p 3", "`--p`"),
    ("--algorithm mirror --delta 0", "`--delta`"),
    ("--algorithm mirror --ridge 0.1", "`--ridge`"),
    ("--algorithm phased --step-size 100", "`--step-size`"),
    ("--algorithm phased --steps 10", "`--steps`"),
    ("--algorithm phased --adjacency add-remove", "adjacency"),
    ("--algorithm truncated-mirror", "`--radius`"),
    ("--algorithm truncated-mirror --radius 1 --clip 0", "`--clip`"),
    ("--algorithm coordinate-mean", "`--radius`"),
    ("--algorithm coordinate-mean --radius 1 --deviation -1", "`--deviation`"),
    ("--algorithm shuffled-mirror --radius 1 --batch 50", "batches below"),
    ("--slope-limit 0", "`--slope-limit`"),
    ("--slope-limit -1", "`--slope-limit`"),
    ("--target ward --slope-limit 1", "`--slope-limit`"),
    ("--distance 0", "`--distance`"),
    ("--distance inf", "`--distance`"),
    ("--adaptive-step", "`--adaptive-step`"),
    ("--algorithm clipped-sgd --precondition 0.01", "`--precondition`"),
    ("--algorithm clipped-sgd --precondition 0.3 --radius 1", "`--precondition`"),
    ("--algorithm output-gd --precondition 0.3", "`--precondition`"),
    ("--algorithm clipped-sgd --clip-quantile-multiple 0.5", "`--clip-quantile-multiple`"),
    ("--algorithm clipped-sgd --clip-quantile-multiple 0.5 --clip 1", "`--clip-quantile-multiple`"),
    ("--algorithm output-gd --clip-quantile-multiple 0.5", "`--clip-quantile-multiple`"),
    ("--algorithm noisy-sgd --radius 1 --adaptive-step", "`--adaptive-step`"),
    ("--feature-norm 0", "`--feature-norm`"),
    ("--feature-norm -1", "`--feature-norm`"),
    ("--feature-norm nan", "`--feature-norm`"),
    ("--drop age,ward,visit", "feature"),
    ("--drop nothing", "`nothing`"),
    ("--normalize columns", "--normalize"),
    ("--precision f16", "--precision"),
    ("--calibration loose", "--calibration"),
    ("--threads many", "--threads"),
    ("--insecure-seed -1", "--insecure-seed"),
    ("--privacy high", "--privacy"),
    ("leftover", "leftover"),
];

/// The algorithm that refuses, unless the flags name one: another may serve what it cannot.
fn algorithm(flags: &str) -> &'static str {
    if flags.contains("--algorithm") { "" } else { "--algorithm output-gd" }
}

#[test]
fn fit_names_the_argument_that_is_wrong_and_writes_nothing() {
    let folder = Folder::new();
    let before = folder.names();
    for (flags, word) in REFUSED {
        // A flag that is given here is not given twice.
        let base = if flags.contains("--epsilon") {
            FIT.replace(" --epsilon 1", "")
        } else {
            FIT.to_owned()
        };
        let algorithm = algorithm(flags);
        folder.run(&format!("{base} {algorithm} {flags}")).refuses(word);
        folder.run(&format!("{base} {algorithm} {flags} --json")).refuses(word);
        assert_eq!(folder.names(), before, "{flags}");
    }
}

#[test]
fn plan_refuses_what_fit_refuses_without_data() {
    let folder = Folder::new();
    let needs_a_table = ["--target", "--threads", "--insecure-seed", "leftover"];
    for (flags, word) in REFUSED {
        if needs_a_table.iter().any(|f| flags.contains(f)) {
            continue;
        }
        let epsilon = if flags.contains("--epsilon") { "" } else { "--epsilon 1" };
        let algorithm = algorithm(flags);
        let arguments = format!("plan --n 60 --schema clinic.json {epsilon} {algorithm} {flags}");
        folder.run(&arguments).refuses(word);
    }
    for (arguments, word) in [
        ("plan --n 0 --d 3 --epsilon 1", "`--n`"),
        ("plan --n -5 --d 3 --epsilon 1", "--n"),
        ("plan --n 10 --d 0 --epsilon 1", "`--d`"),
        ("plan --n 10 --epsilon 1", "--d"),
        ("plan --d 10 --epsilon 1", "--n"),
        ("plan --n 10 --d 3", "--epsilon"),
        ("plan --n 10 --d 3 --epsilon 1 --feature-norm 0", "`--feature-norm`"),
        ("plan --n 10 --d 3 --epsilon 1 --loss softmax --classes 1", "`--classes`"),
        ("plan --n 10 --d 3 --epsilon 1 --loss huber --label-bound 0", "`--label-bound`"),
        ("plan --n 10 --d 3 --epsilon 1 --loss huber --label-bound -1", "`--label-bound`"),
    ] {
        folder.run(arguments).refuses(word);
    }
}

#[test]
fn words_that_are_no_command_are_refused() {
    let folder = Folder::new();
    for (arguments, word) in [
        ("fit --data clinic.csv --schema clinic.json --epsilon 0,5", "write 0.5"),
        ("calc nope", "`reticent calc --list`"),
        ("fit --data - --schema clinic.json --epsilon 1", "need `--format`"),
        (
            "fit --data clinic.csv --schema clinic.json --epsilon 1 --out no/m.json",
            "the folder `no` does not exist",
        ),
        ("data check --data x.parquet --schema clinic.json --separator ;", "are for CSV files"),
        ("predict --model m.json --data x.csv --separator ab", "one character, such as ';'"),
        ("predict --model m.json --data x.csv --format ods5", "[possible values: csv, tsv"),
        ("train", "did you mean `reticent fit`"),
        ("fit --dta clinic.csv", "; tip: "),
        ("fit --dta clinic.csv", "`reticent fit --help`"),
        ("account --sigma 0 --delta 1e-6", "`--sigma`"),
        ("account --sigma 1 --q 2 --delta 1e-6", "`--q`"),
        ("schema check absent.json", "no such file or folder"),
        ("plan --n 5e4 --d 3 --epsilon 1", "write digits only, such as 70000"),
        ("plan --n 5 --d 3 --epsilon 1e", "write it as 0.5"),
        ("completions tcsh", "tcsh"),
        ("schema draw clinic.json", "draw"),
        ("plan --n 60 --schema clinic.json --epsilon 1 --d 3", "--schema"),
        ("plan --n 60 --schema clinic.json --epsilon 1 --classes 3", "--schema"),
        ("plan --n 60 --schema clinic.json --epsilon 1 --label-bound 3", "--schema"),
        ("plan --n 60 --d 3 --epsilon 1 --delta 0 --adjacency add-remove-one", "clipped-sgd"),
        ("verify", "<FILE>"),
        ("predict --data clinic.csv", "--model"),
        ("fit --epsilon 1", "--data"),
        ("fit --data clinic.csv --schema clinic.json", "--epsilon"),
        ("verify a.json b.json", "b.json"),
    ] {
        folder.run(arguments).refuses(word);
    }
    // No arguments at all: the help page, on standard error, and still no success.
    let bare = folder.run("");
    assert_eq!(bare.code, Some(2));
    assert!(bare.stdout.is_empty() && bare.stderr.contains("Usage: reticent"), "{bare:#?}");
}

#[test]
fn a_sentence_stays_one_line_whatever_was_typed() {
    let folder = Folder::new();
    folder.run_with(FIT, &["--target", "two\nlines"]).refuses("two");
    folder.run_with(FIT, &["--algorithm", "two\r\nlines"]).refuses("two");
    folder.run_with("verify", &["no\nsuch.json"]).refuses("such.json");
    folder.run_with("schema check", &["no\nsuch.json"]).refuses("such.json");
}

#[test]
fn a_mistake_points_to_the_help_of_the_command_that_was_typed() {
    let folder = Folder::new();
    folder.run("ledger init c.ledger --data x.csv").refuses("see `reticent ledger init --help`");
    folder.run("fit --nonsense").refuses("see `reticent fit --help`");
    folder.run("ledger nonsense").refuses("see `reticent ledger --help`");
    folder.run("nonsense").refuses("see `reticent --help`");
}

#[test]
fn demo_refuses_before_it_writes() {
    let folder = Folder::new();
    let before = folder.names();
    folder.run("demo --out new --epsilon 0").refuses("`--epsilon`");
    folder.run("demo --out new --epsilon -1").refuses("`--epsilon`");
    folder.run("demo --out clinic.json").refuses("clinic.json");
    assert_eq!(folder.names(), before);
}

#[test]
fn a_plan_that_no_machine_could_run_is_refused_at_once() {
    let folder = Folder::new();
    for (flags, sentence) in [
        ("--n 10000000000000 --d 5 --epsilon 1", "`--n` must be at most 10^12"),
        ("--n 50000 --d 18446744073709551615 --epsilon 1", "at most 10^9 weights"),
        (
            "--n 50000 --d 9223372036854775807 --loss softmax --classes 4 --epsilon 1",
            "10^9 weights",
        ),
        ("--n 1000 --d 5 --epsilon 5e-324", "`--epsilon` must be at least 1e-6"),
        ("--n 1000 --d 5 --epsilon 1 --delta 0.999999", "`--delta` must be at most 0.1"),
    ] {
        folder.run(&format!("plan {flags}")).refuses(sentence);
    }
    let weak = folder.run("plan --n 100 --d 2 --epsilon 1000000 --algorithm output-gd").succeeds();
    let note = "note: at epsilon = 1000000 under replace-one, an attacker who knows all other rows";
    assert!(weak.says(note), "{weak:#?}");
    let weak =
        folder.run(&FIT.replace("--epsilon 1", "--epsilon 20 --algorithm output-gd")).succeeds();
    assert!(weak.says("may become more than 99 % sure"), "{weak:#?}");
}
