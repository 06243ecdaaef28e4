//! Sensitive values leave through the functions that add noise, and nowhere else.

use std::fs;
use std::path::{Path, PathBuf};

/// Every file that speaks of mechanisms, and how often: those that define one, where noise is added
/// that an event pays for, once in their imports and once for each.
const MECHANISMS: &[(&str, usize)] = &[
    ("reticent-data/src/lib.rs", 1),
    ("reticent-optim/src/draft.rs", 2),
    ("reticent-optim/src/step/choose.rs", 2),
    ("reticent-optim/src/step/noisy_sum.rs", 3),
    ("reticent-optim/src/step/perturb.rs", 4),
];

/// The only computation that sees sensitive values in the clear and seals its result.
const WITHIN: &str = "reticent-optim/src/objective/solver.rs";

/// Names that could carry a value out of that computation, or of a function that is given to
/// `map_inside` and its like. Errors are passed on there and never made.
const CARRIERS: &[&str] = &[
    "Cell",
    "Mutex",
    "RwLock",
    "Atomic",
    "static ",
    "print",
    "format!",
    "channel",
    "panic!",
    "unreachable!",
    "assert",
    "unwrap",
    "expect(",
    "write!",
    "OracleError::",
    ".store(",
    ".fetch_",
    ".lock(",
    ".write(",
    ".set(",
    ".send(",
];

/// Arithmetic on sensitive values: the calls, and in which files they stand how often.
const ARITHMETIC: [&str; 3] = [".map_inside(", ".update_inside(", ".update_inside_with("];
const ARITHMETICIANS: &[(&str, usize)] = &[
    ("reticent-optim/src/clipped_sgd/preconditioner.rs", 1),
    ("reticent-optim/src/clipped_sgd/run.rs", 2),
    ("reticent-optim/src/draft.rs", 2),
    ("reticent-optim/src/least_squares.rs", 1),
    ("reticent-optim/src/objective/curvature.rs", 1),
    ("reticent-optim/src/one_shot.rs", 1),
    ("reticent-optim/src/output_gd.rs", 1),
    ("reticent-optim/src/output_gd/each_step.rs", 2),
    ("reticent-optim/src/phased.rs", 1),
    ("reticent-optim/src/step/walk.rs", 1),
    ("reticent/src/draft/fine.rs", 2),
];

/// The oracles: they alone read and write sensitive values with functions that could write
/// elsewhere too. `sent.rs` carries a question to those who hold the rows.
const ORACLES: &[&str] = &[
    "reticent-data/src/blocks.rs",
    "reticent-data/src/cluster/mod.rs",
    "reticent-data/src/local.rs",
    "reticent-data/src/part.rs",
    "reticent-data/src/question.rs",
    "reticent-data/src/repeated.rs",
    "reticent-data/src/sent.rs",
];

/// The only file that can take a sensitive value apart.
const SEAL: &str = "reticent-data/src/sensitive.rs";

/// All that the seal has: a new line here may be a new exit.
const SEALED: &[&str] = &[
    "#[derive(Clone)]",
    "pub struct Sensitive<T>(T);",
    "pub trait Mechanism<T> {",
    "fn release(self, value: &mut T) -> Self::Output;",
    "pub struct Key(());",
    "impl Key {",
    "pub fn open<'a, T>(&'a self, value: &'a mut Sensitive<T>) -> &'a mut T {",
    "#[derive(Clone, Debug, PartialEq)]",
    "pub enum Withheld {",
    "impl From<OracleError> for Withheld {",
    "fn from(error: OracleError) -> Self {",
    "impl<T> Sensitive<T> {",
    "pub fn new(value: T) -> Self {",
    "pub fn map_inside<U>(self, f: impl Fn(T) -> U + Sync) -> Sensitive<U> {",
    "pub fn update_inside(&mut self, f: impl Fn(&mut T) + Sync) {",
    "pub fn update_inside_with<U>(&mut self, other: &Sensitive<U>, f: impl Fn(&mut T, &U) + Sync) {",
    "pub fn within(f: impl Fn(&Key) -> Result<T, Withheld> + Sync) -> Result<Self, Withheld> {",
    "pub fn release<M: Mechanism<T>>(&mut self, mechanism: M) -> M::Output {",
    "pub(crate) fn compute<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> R {",
    "pub(crate) fn point(&self) -> &T {",
];

/// The files that may count what becomes of cells: of tables that are public, for the owner of a
/// private one, or with noise.
const COUNTERS: &[&str] = &[
    "reticent-cli/src/command/data.rs",
    "reticent-cli/src/command/demo.rs",
    "reticent-cli/src/command/evaluate/mod.rs",
    // It reveals no count of cells: only noisy metrics leave it.
    "reticent-cli/src/command/evaluate/private.rs",
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

/// Files other than the seal that have one of these words, and how often.
fn outside_of_the_seal(of: &[&str]) -> Vec<(String, usize)> {
    calls(of).into_iter().filter(|(name, _)| name != SEAL).collect()
}

fn text_of(file: &str) -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(crates.join(file)).unwrap()
}

#[test]
fn every_mechanism_is_known() {
    let known: Vec<_> = MECHANISMS.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    // The accountant knows nothing of rows, and speaks of mechanisms in papers.
    let mut found = outside_of_the_seal(&["Mechanism"]);
    found.retain(|(name, _)| !name.starts_with("reticent-privacy/"));
    assert_eq!(found, known, "a new mechanism needs an event that pays for what goes through it");
}

#[test]
fn one_computation_sees_plain_values_and_none_can_leave_it() {
    // Settings and clips have a `within` of their own, which takes no function.
    let with = outside_of_the_seal(&[
        "::within(|",
        "::within(&",
        "::within(move",
        "::within)",
        "{Key, ",
        "data::Key",
    ]);
    let with: Vec<_> = with.into_iter().map(|(name, _)| name).collect();
    assert_eq!(with, ["reticent-data/src/lib.rs", WITHIN]);
    assert_eq!(carrier_in(&code_of(&text_of(WITHIN))), None);
}

/// The first word of a text that could carry a value out.
fn carrier_in(text: &str) -> Option<&'static str> {
    CARRIERS.iter().copied().find(|carrier| text.contains(carrier))
}

/// A file's code: without its tests and comments.
fn code_of(text: &str) -> String {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The arguments of each call of these names: the text up to the parenthesis that closes the call.
fn arguments<'a>(text: &'a str, names: &[&str]) -> Vec<&'a str> {
    let begins =
        names.iter().flat_map(|name| text.match_indices(name).map(|(at, _)| at + name.len()));
    let until_closed = |at: usize| {
        let mut open = 1;
        let end = text[at..].find(|c| {
            open += match c {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            open == 0
        });
        &text[at..at + end.expect("a call that is closed")]
    };
    begins.map(until_closed).collect()
}

#[test]
fn arithmetic_on_sensitive_values_carries_nothing_out() {
    let known: Vec<_> = ARITHMETICIANS.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    let mut found = outside_of_the_seal(&ARITHMETIC);
    found.retain(|(name, _)| !name.ends_with("/tests.rs"));
    assert_eq!(found, known, "read what the new call computes");
    for (file, n) in ARITHMETICIANS {
        let text = code_of(&text_of(file));
        let given = arguments(&text, &ARITHMETIC);
        assert_eq!(given.len(), *n, "{file}");
        for function in given {
            assert_eq!(carrier_in(function), None, "{file}: {function}");
        }
    }
    // The search finds what it is for.
    for leak in
        ["println!(\"{w}\")", "assert!(w[0] < 1.0)", "SEEN.store(f(w))", "seen.lock().push(w)"]
    {
        let text = format!("sums.map_inside(|w| ({leak}, (w)));");
        assert!(carrier_in(arguments(&text, &ARITHMETIC)[0]).is_some(), "{leak}");
    }
}

/// A value leaves by [`reticent::data::Sensitive::release`], or not at all.
#[test]
fn the_seal_has_one_exit() {
    let text = text_of(SEAL);
    let code = text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let is_item = |line: &&str| {
        ["fn ", "impl", "struct ", "enum ", "trait ", "derive", "macro", "mod ", "static ", "type "]
            .iter()
            .any(|word| line.contains(word))
            && *line != "type Output;"
    };
    let items: Vec<&str> = code.filter(is_item).collect();
    assert_eq!(items, SEALED, "a new function of the seal may be a new exit");
}

#[test]
fn only_oracles_see_what_they_compute() {
    let words = [".compute(", ".point()", "Sensitive::compute", "Sensitive::point", "::point("];
    let found: Vec<_> = outside_of_the_seal(&words).into_iter().map(|c| c.0).collect();
    assert_eq!(found, ORACLES);
}

/// Fits and tuning read rows with [`reticent::data::table::read`], `read_blocks` and
/// `from_batches`, whose writer holds nothing that counts: its type is `RowWriter<Silent>`. These
/// are the ways to a writer that does.
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
