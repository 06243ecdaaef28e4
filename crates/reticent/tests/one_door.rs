//! Sensitive values leave through the functions that add noise, and nowhere else.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// The files that may call `disclose`: each adds the noise that an event pays for.
const DOORS: &[&str] = &[
    "reticent-optim/src/step/choose.rs",
    "reticent-optim/src/step/noisy_sum.rs",
    "reticent-optim/src/step/perturb.rs",
];

/// The files that may count what becomes of cells: of tables that are public, for the owner of a private one, or with noise.
const COUNTERS: &[&str] = &[
    "reticent-cli/src/command/data.rs",
    "reticent-cli/src/command/demo.rs",
    "reticent-cli/src/command/evaluate.rs",
    "reticent-cli/src/command/reproduce/clipped/data.rs",
    "reticent-data/src/table/mod.rs",
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

/// The source files that hold one of the texts, by their path below `crates`.
fn files_with(texts: &[&str]) -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path().join("src");
        if folder.is_dir() {
            sources(&folder, &mut found);
        }
    }
    assert!(found.len() > 50, "the sources are where this test looks");
    let holds = |path: &&PathBuf| {
        let source = fs::read_to_string(path).unwrap();
        texts.iter().any(|text| source.contains(text))
    };
    let mut files: Vec<String> = found
        .iter()
        .filter(holds)
        .map(|path| path.strip_prefix(crates).unwrap().to_string_lossy().replace('\\', "/"))
        .collect();
    files.sort();
    files
}

#[test]
fn only_the_functions_that_add_noise_disclose() {
    let calls = files_with(&[".disclose("]);
    assert_eq!(calls, DOORS, "a new door needs an event that pays for what goes through it");
}

/// Fits and tuning read rows with [`reticent::data::table::read`], `read_blocks` and `from_batches`, whose writer holds nothing that
/// counts: its type is `RowWriter<Silent>`. These are the ways to a writer that does.
#[test]
fn nothing_on_the_way_of_a_fit_counts_cells() {
    let files = files_with(&["inspect(", "count_cells(", "Counter::new("]);
    let files: Vec<_> =
        files.iter().filter(|f| *f != "reticent-data/src/encode/observe.rs").collect();
    assert_eq!(
        files, COUNTERS,
        "a count of bad cells is an output: it needs a public table, or noise"
    );
}
