//! Shared parts of the end-to-end tests: a folder with a small table, and the command to run in it.
#![allow(dead_code, missing_docs, unreachable_pub)] // each test binary uses a part of it

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// Binary classification by numeric columns and one category; `visit` may be missing.
pub const CLINIC: &str = r#"{"name": "clinic", "target": "back", "positive_class": "yes", "columns": [
    {"name": "age", "type": "real", "bounds": {"min": 0, "max": 100}},
    {"name": "ward", "type": "categorical", "categories": ["surgery", "internal", "other"]},
    {"name": "visit", "type": "integer", "missing": "?", "bounds": {"min": 0, "max": 9}},
    {"name": "back", "type": "categorical", "categories": ["no", "yes"]}]}"#;

/// The arguments that every fit of the tests starts with; the plan for these arguments has no
/// warnings.
pub const FIT: &str =
    "fit --data clinic.csv --schema clinic.json --out model.json --force --epsilon 1";

/// The digest that an honest writer, or a forger who knows the format, would state.
pub fn redigest(model: &mut Value) {
    let members = model.as_object_mut().unwrap();
    members.remove("digest");
    // Keys of a `serde_json` object are sorted, and this is the text without white space.
    let bytes = Sha256::digest(serde_json::to_string(&members).unwrap().as_bytes());
    let digest = bytes.iter().fold("sha256:".to_owned(), |t, byte| format!("{t}{byte:02x}"));
    members.insert("digest".to_owned(), Value::String(digest));
}

/// A folder of its own for a test, with `clinic.csv` and `clinic.json` in it.
pub struct Folder(TempDir);

/// The result of a run of the command.
#[derive(Debug)]
pub struct Run {
    pub arguments: String,
    /// The exit code; none if a signal ended the run.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Folder {
    pub fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("clinic.json", CLINIC);
        folder.write("clinic.csv", clinic(60));
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.path(name), contents).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// The names of all files and folders in it, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs `reticent` in the folder; blanks separate arguments.
    pub fn run(&self, arguments: &str) -> Run {
        self.run_with(arguments, &[])
    }

    /// As [`Self::run`], with further arguments that may hold blanks.
    pub fn run_with(&self, arguments: &str, further: &[&str]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
        command.args(arguments.split_whitespace()).args(further);
        Run::of(arguments, &command.current_dir(self.0.path()).output().unwrap())
    }

    /// Starts `reticent` in the folder, and waits until it has kept a step in a checkpoint.
    pub fn begin(&self, arguments: &str, file: &str) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
        command.args(arguments.split_whitespace()).current_dir(self.0.path());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let started = Instant::now();
        let kept = || fs::read_to_string(self.path(file)).is_ok_and(|t| t.contains("\"state\":{"));
        while !kept() {
            assert!(started.elapsed() < Duration::from_secs(120), "{file} was not written");
            sleep(Duration::from_millis(1));
        }
        child
    }

    /// Runs a line of shell in the folder, with `$RETICENT` in its environment.
    pub fn shell(&self, line: &str) -> Run {
        let mut command = Command::new("sh");
        command.args(["-c", line]).env("RETICENT", env!("CARGO_BIN_EXE_reticent"));
        Run::of(line, &command.current_dir(self.0.path()).output().unwrap())
    }

    pub fn folder(&self) -> &Path {
        self.0.path()
    }
}

impl Run {
    fn of(arguments: &str, output: &Output) -> Self {
        Self {
            arguments: arguments.to_owned(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout.clone()).unwrap(),
            stderr: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    /// Asserts success.
    #[track_caller]
    pub fn succeeds(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// Asserts exit code 2, nothing but a JSON error with `--json` on standard output, and one
    /// sentence on standard error, after notes at most, that holds `word`.
    #[track_caller]
    pub fn refuses(self, word: &str) -> Self {
        assert_eq!(self.code, Some(2), "{self:#?}");
        if self.arguments.split_whitespace().any(|word| word == "--json") {
            let error = &self.json()["error"];
            let sentence = format!("error: {}", error["message"].as_str().unwrap());
            assert_eq!(self.stderr.lines().last(), Some(&*sentence), "{self:#?}");
            assert_eq!(error["exit_code"], 2, "{self:#?}");
        } else {
            assert_eq!(self.stdout, "", "{self:#?}");
        }
        let mut rest = self.stderr.lines().skip_while(|line| line.starts_with("note: "));
        let sentence = rest.next().unwrap_or_default();
        assert!(sentence.starts_with("error: ") && rest.next().is_none(), "{self:#?}");
        assert!(sentence.contains(word), "`{word}` is not in {self:#?}");
        for noise in ["panicked", "For more information", "os error 0", "RUST_BACKTRACE"] {
            assert!(!self.stderr.contains(noise), "{self:#?}");
        }
        self
    }

    /// Standard output, which must be one line of JSON and nothing else.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:#?}");
        assert!(self.stdout.ends_with('\n'), "{self:#?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e} in {self:#?}"))
    }

    /// Whether either stream holds `text`.
    pub fn says(&self, text: &str) -> bool {
        self.stdout.contains(text) || self.stderr.contains(text)
    }
}

/// A table for [`CLINIC`] in which older people come back more often.
pub fn clinic(rows: u32) -> String {
    let mut text = "age,ward,visit,back\n".to_owned();
    for i in 0..rows {
        let age = (i * 37) % 101;
        let ward = ["surgery", "internal", "other"][(i % 3) as usize];
        let visit = if i % 11 == 5 { "?".to_owned() } else { (i % 10).to_string() };
        let back = if age + (i * 13) % 20 > 55 { "yes" } else { "no" };
        writeln!(text, "{age},{ward},{visit},{back}").unwrap();
    }
    text
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The weights of a model file.
pub fn weights(model: &Value) -> Vec<f64> {
    let outputs = model["weights"].as_array().unwrap();
    outputs.iter().flat_map(|w| w.as_array().unwrap()).map(|w| w.as_f64().unwrap()).collect()
}
