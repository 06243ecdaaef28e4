//! Good files, small, one or more for each target.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use flate2::{Compression, write::GzEncoder};
use reticent::ledger::{Filter, Ledger};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon, Event};

/// Two classes, one number and one category.
pub(crate) const SCHEMA: &str = r#"{"name": "clinic", "target": "back", "positive_class": "yes", "columns": [
    {"name": "age", "type": "real", "bounds": {"min": 0, "max": 100}},
    {"name": "ward", "type": "categorical", "categories": ["surgery", "internal", "other"]},
    {"name": "visit", "type": "integer", "missing": "?", "bounds": {"min": 0, "max": 9}},
    {"name": "back", "type": "categorical", "categories": ["no", "yes"]}]}"#;

const CSV: &str =
    "age,ward,visit,back\n31,surgery,3,yes\n\"4,4\",internal,?,no\n77.5,other,9,yes\n";

const MODEL: &str = include_str!("../corpus/model.json");
const CHECKPOINT: &str = include_str!("../corpus/checkpoint.json");

/// The good files of a target.
pub(crate) fn of(target: &str) -> Vec<Vec<u8>> {
    let text = |s: &str| s.as_bytes().to_vec();
    match target {
        "schema" => vec![
            text(SCHEMA),
            text(
                r#"{"target":"y","task":"regression","columns":[{"name":"x","type":"vector","dimension":3,"bounds":{"l2_norm_max":1}},{"name":"y","type":"real","bounds":{"min":-1,"max":1}}]}"#,
            ),
        ],
        "csv" => vec![text(CSV), text(&CSV.replace('\n', "\r\n")), gzip(CSV.as_bytes())],
        "libsvm" => vec![text("+1 1:0.5 2:-0.25 3:1\n-1 2:0.125 # a comment\n"), gzip(b"1 1:1\n")],
        "npy" => vec![
            npy("<f8", &0.5f64.to_le_bytes().repeat(6), "(2, 3)"),
            npy("<f4", &[0; 24], "(2, 3)"),
            npy("|u1", &[1, 2, 3, 4, 5, 6], "(2, 3)"),
        ],
        "idx" => vec![
            idx(8, &[2, 3], &[1, 2, 3, 4, 5, 6]),
            idx(13, &[1, 3], &[0; 12]),
            gzip(&idx(8, &[2, 3], &[0; 6])),
        ],
        "parquet" => vec![parquet()],
        "arrow" => vec![arrow(true), arrow(false)],
        "model" => vec![text(MODEL)],
        "checkpoint" => vec![text(CHECKPOINT)],
        "event" => vec![
            text(
                r#"{"kind":"composed","events":[{"kind":"gaussian","noise_multiplier":4,"adjacency":"replace-one"},{"kind":"pure-dp","epsilon":0.5,"adjacency":"replace-one"}]}"#,
            ),
            text(
                r#"{"kind":"repeated","times":20,"event":{"kind":"poisson-gaussian","sample_rate":0.01,"noise_multiplier":1,"steps":10,"adjacency":"add-remove-one"}}"#,
            ),
        ],
        "ledger" => vec![ledger()],
        _ => vec![Vec::new()],
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn npy(kind: &str, data: &[u8], shape: &str) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn idx(kind: u8, shape: &[u32], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, kind, shape.len() as u8];
    bytes.extend(shape.iter().flat_map(|n| n.to_be_bytes()));
    bytes.extend(data);
    bytes
}

fn batch() -> Option<RecordBatch> {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("age", Arc::new(Float64Array::from(vec![Some(31.0), None, Some(77.5)]))),
        ("ward", Arc::new(StringArray::from(vec!["surgery", "internal", "other"]))),
        ("visit", Arc::new(Float64Array::from(vec![3.0, 0.0, 9.0]))),
        ("back", Arc::new(StringArray::from(vec!["yes", "no", "yes"]))),
    ];
    RecordBatch::try_from_iter(columns).ok()
}

fn parquet() -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(batch) = batch()
        && let Ok(mut writer) =
            parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None)
    {
        _ = writer.write(&batch);
        _ = writer.close();
    }
    bytes
}

fn arrow(file: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Some(batch) = batch() else { return bytes };
    if file {
        if let Ok(mut writer) = arrow_ipc::writer::FileWriter::try_new(&mut bytes, &batch.schema())
        {
            _ = writer.write(&batch);
            _ = writer.finish();
        }
    } else if let Ok(mut writer) =
        arrow_ipc::writer::StreamWriter::try_new(&mut bytes, &batch.schema())
    {
        _ = writer.write(&batch);
        _ = writer.finish();
    }
    bytes
}

fn ledger() -> Vec<u8> {
    let made = || -> Option<Vec<u8>> {
        let folder = tempfile::tempdir().ok()?;
        let path = folder.path().join("c.ledger");
        let adjacency = Adjacency::ReplaceOne;
        let (epsilon, delta) = (Epsilon::new(1.0).ok()?, Delta::new(1e-6).ok()?);
        let ledger =
            Ledger::create(&path, Budget { epsilon, delta, adjacency }, Filter::Auto).ok()?;
        let event = Event::Gaussian { noise_multiplier: 50.0, adjacency };
        ledger.charge_event("one", &event, 1e-8).ok()?;
        std::fs::read(&path).ok()
    };
    made().unwrap_or_default()
}
