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

#[test]
fn only_the_functions_that_add_noise_disclose() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path().join("src");
        if folder.is_dir() {
            sources(&folder, &mut found);
        }
    }
    assert!(found.len() > 50, "the sources are where this test looks");
    let mut calls: Vec<String> = found
        .iter()
        .filter(|path| fs::read_to_string(path).unwrap().contains(".disclose("))
        .map(|path| path.strip_prefix(crates).unwrap().to_string_lossy().replace('\\', "/"))
        .collect();
    calls.sort();
    assert_eq!(calls, DOORS, "a new door needs an event that pays for what goes through it");
}
