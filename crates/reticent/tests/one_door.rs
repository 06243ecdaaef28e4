//! Sensitive values leave through the functions that add noise, and nowhere else.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// Every file that lets a sensitive value out, and in how many places: where noise is added that an
/// event pays for, and the solver, which computes on plain numbers and seals its result again.
const EXITS: &[(&str, usize)] = &[
    ("reticent-optim/src/objective/solver.rs", 1),
    ("reticent-optim/src/step/choose.rs", 1),
    ("reticent-optim/src/step/noisy_sum.rs", 3),
    ("reticent-optim/src/step/perturb.rs", 4),
];

/// The oracles: they alone write to a sensitive value with functions that could write elsewhere too.
const ORACLES: &[&str] = &[
    "reticent-data/src/cluster/mod.rs",
    "reticent-data/src/oracle.rs",
    "reticent-data/src/repeated.rs",
    "reticent-data/src/stream.rs",
];

/// The files that may count what becomes of cells: of tables that are public, for the owner of a private one, or with noise.
const COUNTERS: &[&str] = &[
    "reticent-cli/src/command/data.rs",
    "reticent-cli/src/command/demo.rs",
    "reticent-cli/src/command/evaluate.rs",
    "reticent-data/src/table/mod.rs",
    "reticent-reproduce/src/clipped/data.rs",
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

#[test]
fn every_exit_is_known() {
    let found = calls(&["disclose(", "expose(", "::disclose", "::expose"]);
    // Where they are made, and spoken of.
    let found: Vec<_> =
        found.into_iter().filter(|(name, _)| name != "reticent-data/src/sensitive.rs").collect();
    let known: Vec<_> = EXITS.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect();
    assert_eq!(found, known, "a new exit needs an event that pays for what goes through it");
}

#[test]
fn only_oracles_write_what_they_compute() {
    let found: Vec<_> = calls(&[".compute(", ".compute_at("]).into_iter().map(|c| c.0).collect();
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
        .filter(|name| name != "reticent-data/src/encode/observe.rs")
        .collect();
    assert_eq!(
        files, COUNTERS,
        "a count of bad cells is an output: it needs a public table, or noise"
    );
}
