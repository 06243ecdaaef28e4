//! One target for each reader and parser, and for what follows it.

use std::fs;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use reticent::data::stream::FileBlocks;
use reticent::data::{LocalOracle, Speed, table};
use reticent::ledger::Ledger;
use reticent::noise::Source;
use reticent::optim::Quiet;
use reticent::privacy::{Event, delta_upper, epsilon_upper};
use reticent::problem::declaration::{BareTarget, Declaration, Encoding, Layout, VectorBounds};
use reticent::report::{Beside, html, html_of_file};
use reticent::{KeptRun, Model, verify};
use serde_json::Value;
use sha2::Sha256;

use crate::corpus::{SCHEMA, begin, made};
use crate::mutate::Kind;

/// How an input fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was parsed; whatever came after may have refused it.
    Parsed {
        /// The messages of what came after.
        said: String,
    },
    /// It was refused by the parser.
    Refused {
        /// With this message.
        said: String,
    },
}

impl Outcome {
    fn of<T, E: ToString>(parsed: Result<T, E>) -> Self {
        match parsed {
            Ok(_) => Self::Parsed { said: String::new() },
            Err(error) => Self::Refused { said: error.to_string() },
        }
    }

    /// The messages of the outcome.
    pub fn said(&self) -> &str {
        match self {
            Self::Parsed { said } | Self::Refused { said } => said,
        }
    }
}

/// A reader or parser under attack.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// The format of its inputs.
    pub kind: Kind,
    /// How many of a million inputs it gets: fewer where one takes long.
    pub share: u64,
    /// Feeds it bytes; the folder is for files.
    pub run: fn(&[u8], &Path) -> Outcome,
}

const fn target(
    name: &'static str,
    kind: Kind,
    share: u64,
    run: fn(&[u8], &Path) -> Outcome,
) -> Target {
    Target { name, kind, share, run }
}

/// All of them.
pub const TARGETS: &[Target] = &[
    target("schema", Kind::Json, 150_000, schema),
    target("csv", Kind::Bytes, 50_000, csv),
    target("tsv", Kind::Bytes, 40_000, tsv),
    target("gz", Kind::Gzip, 40_000, gz),
    target("libsvm", Kind::Bytes, 190_000, libsvm),
    target("labels", Kind::Bytes, 60_000, labels),
    target("npy", Kind::Bytes, 140_000, npy),
    target("idx", Kind::Bytes, 140_000, idx),
    target("parquet", Kind::Bytes, 90_000, parquet),
    target("arrow", Kind::Bytes, 30_000, arrow),
    target("stream", Kind::Bytes, 20_000, stream),
    target("model", Kind::Model, 12_000, model),
    target("report", Kind::Model, 2_000, report),
    target("beside", Kind::Json, 10_000, beside),
    target("checkpoint", Kind::Json, 6_000, checkpoint),
    target("event", Kind::Json, 10_000, event),
    target("ledger", Kind::Bytes, 10_000, ledger),
];

fn text_of(bytes: &[u8]) -> Result<&str, Outcome> {
    std::str::from_utf8(bytes).map_err(|e| Outcome::Refused { said: e.to_string() })
}

fn schema(bytes: &[u8], _: &Path) -> Outcome {
    let text = match text_of(bytes) {
        Ok(text) => text,
        Err(refused) => return refused,
    };
    let declaration = Declaration::from_json(text);
    let encoding = Encoding::default();
    // A schema may declare more features than fit into memory; that is the owner's to decide.
    if let Ok(declaration) = &declaration
        && declaration.columns().len() < 1000
        && let Ok(layout) = declaration.layout(&encoding)
    {
        _ = layout.norm_bound();
        _ = declaration.explain(&encoding).map(|explained| explained.to_string());
    }
    Outcome::of(declaration)
}

fn layout() -> Option<Layout> {
    Declaration::from_json(SCHEMA).ok()?.layout(&Encoding::default()).ok()
}

/// Three numbers and a class, for formats without names.
fn bare() -> Option<Layout> {
    let classes = BareTarget::Classes(vec!["-1".to_owned(), "1".to_owned()]);
    let bounds = VectorBounds::Each { min: -1.0, max: 1.0 };
    Declaration::bare(3, bounds, &classes).ok()?.layout(&Encoding::default()).ok()
}

/// Writes the bytes and reads them as a table: with labels, and without.
fn read(bytes: &[u8], folder: &Path, name: &str, layout: Option<Layout>) -> Outcome {
    let path = folder.join(name);
    let Some(layout) = layout else { return Outcome::Refused { said: String::new() } };
    if let Err(error) = fs::write(&path, bytes) {
        return Outcome::Refused { said: error.to_string() };
    }
    let labelled = table::read(&path, None, &layout, true);
    let counted = table::count_rows(&path);
    let bare = table::read(&path, None, &layout, false);
    let mut said = String::new();
    for error in [labelled.err(), counted.err()].into_iter().flatten() {
        said += &error.to_string();
    }
    match bare {
        Ok(_) => Outcome::Parsed { said },
        Err(error) => Outcome::Refused { said: said + &error.to_string() },
    }
}

fn csv(bytes: &[u8], folder: &Path) -> Outcome {
    read(bytes, folder, "t.csv", layout())
}

fn tsv(bytes: &[u8], folder: &Path) -> Outcome {
    read(bytes, folder, "t.tsv", layout())
}

fn gz(bytes: &[u8], folder: &Path) -> Outcome {
    read(bytes, folder, "t.csv.gz", layout())
}

fn libsvm(bytes: &[u8], folder: &Path) -> Outcome {
    read(bytes, folder, "t.libsvm", bare())
}

fn npy(bytes: &[u8], folder: &Path) -> Outcome {
    read(bytes, folder, "t.npy", bare())
}

fn idx(bytes: &[u8], folder: &Path) -> Outcome {
    read(bytes, folder, "t.idx", bare())
}

fn parquet(bytes: &[u8], folder: &Path) -> Outcome {
    read(bytes, folder, "t.parquet", layout())
}

fn arrow(bytes: &[u8], folder: &Path) -> Outcome {
    read(bytes, folder, "t.arrow", layout())
}

/// Labels in a file of their own, beside two good rows.
fn labels(bytes: &[u8], folder: &Path) -> Outcome {
    let rows = folder.join("rows.npy");
    let binary = bytes.starts_with(b"\x93NUMPY");
    let path = folder.join(if binary { "y.npy" } else { "y.txt" });
    let good = &crate::corpus::of("npy")[0];
    if fs::write(&rows, good).is_err() || fs::write(&path, bytes).is_err() {
        return Outcome::Refused { said: String::new() };
    }
    match bare() {
        Some(layout) => Outcome::of(table::read(&rows, Some(&path), &layout, true)),
        None => Outcome::Refused { said: String::new() },
    }
}

/// The reader for tables that are larger than memory; the first byte chooses the format.
fn stream(bytes: &[u8], folder: &Path) -> Outcome {
    let name = match bytes.first() {
        Some(b'P') => "s.parquet",
        Some(b'A') => "s.arrow",
        _ => "s.csv",
    };
    let path = folder.join(name);
    let Some(layout) = layout() else { return Outcome::Refused { said: String::new() } };
    if fs::write(&path, bytes).is_err() {
        return Outcome::Refused { said: String::new() };
    }
    let speed = Speed { threads: Some(1) };
    Outcome::of(FileBlocks::open(&path, &layout, None, 128 << 20, speed))
}

fn model(bytes: &[u8], _: &Path) -> Outcome {
    match text_of(bytes) {
        Ok(text) => Outcome::of(verify::verify_text(text, "model.json")),
        Err(refused) => refused,
    }
}

fn report(bytes: &[u8], folder: &Path) -> Outcome {
    let path = folder.join("model.json");
    if fs::write(&path, bytes).is_err() {
        return Outcome::Refused { said: String::new() };
    }
    let page = html_of_file(&path, &Beside::default());
    match (Model::load(&path), page) {
        (Ok(_), Ok(page)) => {
            // Text of the file may not become a part of the page.
            let said = if page.contains("<script") { "SCRIPT in the page" } else { "" };
            Outcome::Parsed { said: said.to_owned() }
        }
        (Ok(_), Err(error)) => Outcome::Parsed { said: error.to_string() },
        (Err(error), _) => Outcome::Refused { said: error.to_string() },
    }
}

/// An audit or an evaluation to show beside a model. One that does not verify has the quicker page.
fn beside(bytes: &[u8], _: &Path) -> Outcome {
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => return Outcome::Refused { said: error.to_string() },
    };
    let part = |name: &str| value.get(name).cloned();
    let beside = Beside {
        ledger: None,
        audit: part("audit"),
        evaluation: part("evaluation"),
        signers: None,
        owner: None,
    };
    Outcome::of(html(&made().void, &beside))
}

fn checkpoint(bytes: &[u8], folder: &Path) -> Outcome {
    let path = folder.join("run.ck");
    // Sealed under a key that is known here, so that what comes after the seal is reached.
    let key = "0".repeat(64);
    let header = format!("reticent-checkpoint-key/1 {key}\n");
    let written = fs::write(&path, sealed(bytes, key.as_bytes()))
        .and_then(|()| fs::write(folder.join("run.ck.key"), header));
    if written.is_err() {
        return Outcome::Refused { said: String::new() };
    }
    let made = made();
    let mut run = match KeptRun::open(&path, 50, true, &made.plan, &made.task, None) {
        Ok(run) => run,
        Err(error) => return Outcome::Refused { said: error.to_string() },
    };
    // On with it, to the model and its certificate.
    let mut resumed = || {
        let oracle = LocalOracle::new(made.rows.clone(), Speed { threads: Some(1) })?;
        let source = Source::from_os()?;
        begin(&mut run, &made.plan, &made.task, &source)?;
        run.fit(&oracle, &source, &Quiet)
    };
    Outcome::Parsed { said: resumed().err().map_or(String::new(), |e| e.to_string()) }
}

/// A checkpoint with the seal that it would have.
fn sealed(bytes: &[u8], key: &[u8]) -> Vec<u8> {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(bytes);
    let seal = mac.finalize().into_bytes();
    let body = bytes.strip_suffix(b"}").unwrap_or(bytes);
    let mut sealed = [body, b",\"seal\":\""].concat();
    for byte in seal {
        sealed.extend(format!("{byte:02x}").bytes());
    }
    sealed.extend(b"\"}");
    sealed
}

fn event(bytes: &[u8], _: &Path) -> Outcome {
    let event = serde_json::from_slice::<Event>(bytes);
    if let Ok(event) = &event {
        _ = epsilon_upper(event, 1e-6);
        _ = delta_upper(event, 1.0);
    }
    Outcome::of(event)
}

fn ledger(bytes: &[u8], folder: &Path) -> Outcome {
    let path = folder.join("c.ledger");
    _ = fs::remove_file(folder.join("c.ledger-journal"));
    if fs::write(&path, bytes).is_err() {
        return Outcome::Refused { said: String::new() };
    }
    let ledger = match Ledger::open(&path) {
        Ok(ledger) => ledger,
        Err(error) => return Outcome::Refused { said: error.to_string() },
    };
    _ = ledger.refund(1);
    let shown = ledger.standing().map(drop).and_then(|()| ledger.export().map(drop));
    Outcome::of(shown)
}
