//! One target for each reader and parser.

use std::fs;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use reticent::data::table;
use reticent::ledger::Ledger;
use reticent::optim::Plan;
use reticent::privacy::{Event, epsilon_upper};
use reticent::problem::declaration::{BareTarget, Declaration, Encoding, Layout, VectorBounds};
use reticent::{KeptRun, Model, verify};
use sha2::Sha256;

use crate::corpus::SCHEMA;

/// A reader or parser under attack.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its word.
    pub name: &'static str,
    /// Feeds it bytes; the folder is for files. Whether they were accepted.
    pub run: fn(&[u8], &Path) -> bool,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "schema", run: schema },
    Target { name: "csv", run: csv },
    Target { name: "libsvm", run: libsvm },
    Target { name: "npy", run: npy },
    Target { name: "idx", run: idx },
    Target { name: "parquet", run: parquet },
    Target { name: "arrow", run: arrow },
    Target { name: "model", run: model },
    Target { name: "checkpoint", run: checkpoint },
    Target { name: "event", run: event },
    Target { name: "ledger", run: ledger },
];

fn schema(bytes: &[u8], _: &Path) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(declaration) = Declaration::from_json(text) else { return false };
    let encoding = Encoding::default();
    // A schema may declare more features than fit into memory; that is the owner's to decide.
    if declaration.columns().len() < 1000
        && let Ok(layout) = declaration.layout(&encoding)
    {
        _ = layout.norm_bound();
        _ = declaration.explain(&encoding);
    }
    true
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

/// Writes the bytes and reads them as a table, with labels, without, and as labels.
fn read(bytes: &[u8], folder: &Path, name: &str, layout: Option<Layout>) -> bool {
    let path = folder.join(name);
    let Some(layout) = layout else { return false };
    if fs::write(&path, bytes).is_err() {
        return false;
    }
    _ = table::read(&path, None, &layout, true);
    _ = table::read(&path, Some(&path), &layout, true);
    table::count_rows(&path).is_ok() && table::read(&path, None, &layout, false).is_ok()
}

fn csv(bytes: &[u8], folder: &Path) -> bool {
    read(bytes, folder, "t.tsv", layout());
    read(bytes, folder, "t.csv", layout())
}

fn libsvm(bytes: &[u8], folder: &Path) -> bool {
    read(bytes, folder, "t.libsvm", bare())
}

fn npy(bytes: &[u8], folder: &Path) -> bool {
    read(bytes, folder, "t.npy", bare())
}

fn idx(bytes: &[u8], folder: &Path) -> bool {
    read(bytes, folder, "t.idx", bare())
}

fn parquet(bytes: &[u8], folder: &Path) -> bool {
    read(bytes, folder, "t.parquet", layout())
}

fn arrow(bytes: &[u8], folder: &Path) -> bool {
    read(bytes, folder, "t.arrow", layout())
}

fn model(bytes: &[u8], _: &Path) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    verify::verify_text(text, "model.json").is_ok()
}

fn checkpoint(bytes: &[u8], folder: &Path) -> bool {
    let path = folder.join("run.ck");
    let plan: Result<Plan, _> = serde_json::from_str(include_str!("../corpus/plan.json"));
    let model = Model::from_json(include_str!("../corpus/model.json"), "model.json");
    let (Ok(plan), Ok((Model { task, .. }, _))) = (plan, model) else { return false };
    // Sealed under a key that is known here, so that what comes after the seal is reached.
    let key = "0".repeat(64);
    let header = format!("reticent-checkpoint-key/1 {key}\n");
    let written = fs::write(&path, sealed(bytes, key.as_bytes()))
        .and_then(|()| fs::write(folder.join("run.ck.key"), header));
    written.is_ok() && KeptRun::open(&path, 50, true, &plan, &task, None).is_ok()
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

fn event(bytes: &[u8], _: &Path) -> bool {
    let Ok(event) = serde_json::from_slice::<Event>(bytes) else { return false };
    epsilon_upper(&event, 1e-6).is_ok()
}

fn ledger(bytes: &[u8], folder: &Path) -> bool {
    let path = folder.join("c.ledger");
    _ = fs::remove_file(folder.join("c.ledger-journal"));
    if fs::write(&path, bytes).is_err() {
        return false;
    }
    _ = Model::load(&path);
    let Ok(ledger) = Ledger::open(&path) else { return false };
    _ = ledger.refund(1);
    ledger.standing().is_ok() && ledger.export().is_ok()
}
