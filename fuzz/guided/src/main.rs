//! libFuzzer on the target that `RETICENT_TARGET` names.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use reticent_fuzz::{TARGETS, Target, repaired};

static TARGET: LazyLock<&'static Target> = LazyLock::new(|| {
    let wanted = std::env::var("RETICENT_TARGET").unwrap_or_default();
    TARGETS.iter().find(|target| target.name == wanted).unwrap_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        panic!("set RETICENT_TARGET to one of {}", names.join(", "))
    })
});

static FOLDER: LazyLock<PathBuf> =
    LazyLock::new(|| tempfile::tempdir().expect("a temporary folder").keep());

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let input = repaired(TARGET.kind, bytes);
    let outcome = (TARGET.run)(&input, &FOLDER);
    assert!(!outcome.said().contains("SECRET7391"), "a message quotes a cell: {}", outcome.said());
});
