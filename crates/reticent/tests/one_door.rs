//! Sensitive values leave through the functions that add noise, and nowhere else.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// Every mechanism that makes a sensitive value public, by its file: where noise is added that an
/// event pays for.
const MECHANISMS: &[(&str, usize)] = &[
    ("reticent-optim/src/step/choose.rs", 1),
    ("reticent-optim/src/step/noisy_sum.rs", 2),
    ("reticent-optim/src/step/perturb.rs", 2),
];

/// The only computation that sees sensitive values in the clear and seals its result.
const WITHIN: &[(&str, usize)] = &[("reticent-optim/src/objective/solver.rs", 1)];

/// The oracles: they alone read and write sensitive values with functions that could write
/// elsewhere too. `sent.rs` carries a question to those who hold the rows.
const ORACLES: &[&str] = &[
    "reticent-data/src/blocks.rs",
    "reticent-data/src/cluster/mod.rs",
    "reticent-data/src/local.rs",
    "reticent-data/src/question.rs",
    "reticent-data/src/repeated.rs",
    "reticent-data/src/sent.rs",
];

/// The files that may count what becomes of cells: of tables that are public, for the owner of a private one, or with noise.
const COUNTERS: &[&str] = &[
    "reticent-cli/src/command/data.rs",
    "reticent-cli/src/command/demo.rs",
    "reticent-cli/src/command/evaluate.rs",
    "reticent-reproduce/src/clipped/data.rs",
    "reticent-table/src/table/mod.rs",
    "reticent/src/model.rs",
];

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

/// Files with one of these calls, and how many they have.
fn calls(of: &[&str]) -> Vec<(String, usize)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path().join("src");
        if folder.is_dir() {
            sources(&folder, &mut found);
        }
    }
    assert!(found.len() > 50, "the sources are where this test looks");
    let count = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let calls = of.iter().map(|call| text.matches(call).count()).sum();
        let name = path.strip_prefix(crates).unwrap().to_string_lossy().replace('\\', "/");
        (name, calls)
    };
    let mut calls: Vec<_> = found.iter().map(count).filter(|(_, calls)| *calls > 0).collect();
    calls.sort();
    calls
}

/// The only file that can take a sensitive value apart.
const SEAL: &str = "reticent-data/src/sensitive.rs";

fn outside_of_the_seal(of: &[&str]) -> Vec<(String, usize)> {
    calls(of).into_iter().filter(|(name, _)| name != SEAL).collect()
}

fn listed(known: &[(&str, usize)]) -> Vec<(String, usize)> {
    known.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect()
}

#[test]
fn every_mechanism_is_known() {
    let with = |call: &str| outside_of_the_seal(&[call]);
    let unpaid = "a new mechanism needs an event that pays for what goes through it";
    assert_eq!(with("Mechanism<Vec<f64>> for "), listed(MECHANISMS), "{unpaid}");
    assert_eq!(with("Mechanism<"), listed(MECHANISMS), "{unpaid}");
    assert_eq!(with("Sensitive::within("), listed(WITHIN), "it must not write elsewhere");
    assert_eq!(with("::within(|"), listed(WITHIN), "it must not write elsewhere");
}

/// A value leaves by [`reticent::data::Sensitive::release`], or not at all: these are all the
/// functions of the type.
#[test]
fn the_seal_has_one_exit() {
    let text = sealed();
    let functions: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim_start().split_once("fn "))
        .map(|(before, rest)| {
            let name: String =
                rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            (before.trim().to_owned(), name)
        })
        .collect();
    let public: Vec<_> = functions.iter().filter(|f| f.0 == "pub").map(|f| f.1.as_str()).collect();
    // `open` needs a key, which exists inside `within` only, whose result is sealed.
    assert_eq!(public, ["open", "new", "map", "update", "update_with", "within", "release"]);
    let own: Vec<_> =
        functions.iter().filter(|f| f.0 == "pub(crate)").map(|f| f.1.as_str()).collect();
    assert_eq!(own, ["compute", "point"]);
}

fn sealed() -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(crates.join(SEAL)).unwrap()
}

#[test]
fn only_oracles_see_what_they_compute() {
    let found: Vec<_> = outside_of_the_seal(&[".compute(", ".point()"]);
    let found: Vec<_> = found.into_iter().map(|c| c.0).collect();
    assert_eq!(found, ORACLES);
}

/// Fits and tuning read rows with [`reticent::data::table::read`], `read_blocks` and `from_batches`, whose writer holds nothing that
/// counts: its type is `RowWriter<Silent>`. These are the ways to a writer that does.
#[test]
fn nothing_on_the_way_of_a_fit_counts_cells() {
    let found = calls(&["inspect(", "count_cells(", "Counter::new("]);
    let files: Vec<_> = found
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name != "reticent-table/src/encode/observe.rs")
        .collect();
    assert_eq!(
        files, COUNTERS,
        "a count of bad cells is an output: it needs a public table, or noise"
    );
}
