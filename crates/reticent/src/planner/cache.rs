//! A cache of simulations: in memory, and in a small file of the user's.
//!
//! An entry is a problem, a budget and settings, all public, and what the simulation found for
//! them; nothing that was read from a table can get here. The file is `plans.json` in the folder
//! that `RETICENT_CACHE` names, else in `reticent` in the user's cache folder; `RETICENT_CACHE=off`
//! does without. It is replaced as a whole, and a file that cannot be read or written is as good as
//! none: no run fails because of it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use reticent_data::threads::lock_briefly;
use reticent_optim::{ALGORITHMS, Prediction, Settings, Simulated};
use reticent_privacy::Budget;
use reticent_problem::Problem;
use serde::{Deserialize, Serialize};

use crate::write_atomically;

/// Changes whenever the simulation does: results of another version are not used.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/20");

/// Entries kept in memory and in the file.
const KEPT: usize = 256;

/// Bytes of the largest file that is read.
const LARGEST: u64 = 16 << 20;

/// The variable that names the folder.
pub const VARIABLE: &str = "RETICENT_CACHE";

static MEMORY: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    facts: String,
    found: Vec<Found>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Found {
    algorithm: String,
    settings: Settings,
    prediction: Prediction,
}

impl From<&Simulated> for Found {
    fn from(simulated: &Simulated) -> Self {
        let Simulated { algorithm, settings, prediction } = simulated.clone();
        Self { algorithm: algorithm.to_owned(), settings, prediction }
    }
}

impl Found {
    /// None for an algorithm that is not known.
    fn simulated(&self) -> Option<Simulated> {
        let info = ALGORITHMS.iter().find(|info| info.name == self.algorithm)?;
        let (settings, prediction) = (self.settings.clone(), self.prediction.clone());
        Some(Simulated { algorithm: info.name, settings, prediction })
    }
}

/// The cached result for these facts, or else that of `find`.
pub(super) fn recall(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    find: impl FnOnce() -> Vec<Simulated>,
) -> Vec<Simulated> {
    let facts = format!("{VERSION} {problem:?} {budget:?} {request:?}");
    if let Some(known) = lock_briefly(&MEMORY).and_then(|memory| lookup(&memory, &facts)) {
        return known;
    }
    let keep = |found: &[Simulated]| {
        if let Some(mut memory) = lock_briefly(&MEMORY) {
            remember(&mut memory, &facts, found);
        }
    };
    let file = folder(env::var_os(VARIABLE)).map(|folder| folder.join("plans.json"));
    let stored = file.as_deref().map(load).unwrap_or_default();
    let own = |known: &Vec<Simulated>| known.iter().all(|s| s.belongs_to(problem, request));
    if let Some(known) = lookup(&stored, &facts).filter(own) {
        keep(&known);
        return known;
    }
    let found = find();
    keep(&found);
    if let Some(file) = file {
        let mut stored = load(&file); // another process may have written meanwhile
        remember(&mut stored, &facts, &found);
        store(&file, &stored);
    }
    found
}

fn lookup(list: &[Entry], facts: &str) -> Option<Vec<Simulated>> {
    let entry = list.iter().find(|entry| entry.facts == facts)?;
    entry.found.iter().map(Found::simulated).collect()
}

fn remember(list: &mut Vec<Entry>, facts: &str, found: &[Simulated]) {
    list.retain(|entry| entry.facts != facts);
    if list.len() >= KEPT {
        list.drain(..=list.len() - KEPT);
    }
    list.push(Entry { facts: facts.to_owned(), found: found.iter().map(Found::from).collect() });
}

/// The folder of the file; none if it is switched off, or if nobody knows where.
fn folder(given: Option<OsString>) -> Option<PathBuf> {
    match given {
        Some(word) if word == "off" || word.is_empty() => None,
        Some(folder) => Some(folder.into()),
        None => {
            let known = |name: &str| env::var_os(name).filter(|x| !x.is_empty()).map(PathBuf::from);
            let caches = known("XDG_CACHE_HOME")
                .or_else(|| known("LOCALAPPDATA"))
                .or_else(|| known("HOME").map(|home| home.join(".cache")))?;
            Some(caches.join("reticent"))
        }
    }
}

fn load(file: &Path) -> Vec<Entry> {
    // Entries take a few kilobytes each; anything larger, or not a file, was not written here.
    if !std::fs::metadata(file).is_ok_and(|facts| facts.is_file() && facts.len() < LARGEST) {
        return Vec::new();
    }
    let text = std::fs::read_to_string(file).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Nobody hears of a failure: the next run simulates again.
fn store(file: &Path, list: &[Entry]) {
    let Ok(text) = serde_json::to_string(list) else { return };
    if let Some(folder) = file.parent() {
        let _ = std::fs::create_dir_all(folder);
    }
    let _ = write_atomically(file, text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_optim::LevelGain;
    use reticent_optim::clipped_sgd::GRADIENT_MOMENT;
    use reticent_optim::setting::{CALIBRATION, STEPS};

    fn simulated(gain: f64) -> Vec<Simulated> {
        let levels = vec![LevelGain { level: "easy".to_owned(), gain }];
        let prediction = Prediction { gain, levels, runs: 1 };
        let settings = Settings::default().with(&STEPS, 7_u64);
        vec![Simulated { algorithm: "clipped-sgd", settings, prediction }]
    }

    #[test]
    fn what_is_stored_is_found_again_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deeper").join("plans.json");
        let mut list = Vec::new();
        for i in 0..KEPT + 10 {
            remember(&mut list, &format!("facts {i}"), &simulated(i as f64));
        }
        store(&file, &list);
        let again = load(&file);
        assert_eq!(again.len(), KEPT);
        assert!(lookup(&again, "facts 3").is_none(), "the oldest are gone");
        assert_eq!(lookup(&again, "facts 200"), Some(simulated(200.0)));
    }

    #[test]
    fn a_broken_file_is_none_and_off_is_off() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("plans.json");
        std::fs::write(&file, "{ not json").unwrap();
        assert!(load(&file).is_empty());
        store(folder.path(), &[]); // a folder cannot be written as a file, and nothing happens
        assert!(super::folder(Some("off".into())).is_none());
        assert_eq!(super::folder(Some("/somewhere".into())), Some(PathBuf::from("/somewhere")));
    }

    #[test]
    fn an_entry_of_an_unknown_algorithm_is_not_used() {
        let mut list = Vec::new();
        remember(&mut list, "facts", &simulated(0.5));
        list[0].found[0].algorithm = "of-another-version".to_owned();
        assert!(lookup(&list, "facts").is_none());
    }

    #[test]
    fn settings_that_the_simulation_never_tries_are_not_used() {
        use reticent_privacy::{Adjacency, Delta, Epsilon};
        use reticent_problem::{Loss, RowBounds};
        let bounds = RowBounds::features(1.0).unwrap();
        let problem = Problem::new(Loss::Logistic, bounds, 500, 3);
        let budget = Budget {
            epsilon: Epsilon::new(1.0).unwrap(),
            delta: Delta::new(1e-6).unwrap(),
            adjacency: Adjacency::ReplaceOne,
        };
        let request = Settings::default();
        let found = reticent_optim::simulate(&problem, budget, &request);
        assert!(!found.is_empty() && found.iter().all(|s| s.belongs_to(&problem, &request)));
        for own in [
            request.clone().with(&STEPS, 1_u64 << 40),
            request.clone().with(&GRADIENT_MOMENT, 1.0),
            request.clone().with(&CALIBRATION, reticent_optim::Calibration::Paper),
        ] {
            let altered = Simulated { settings: own, ..found[0].clone() };
            assert!(!altered.belongs_to(&problem, &request), "{altered:?}");
        }
    }
}
