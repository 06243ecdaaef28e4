//! Helpers that the tests of this crate share.
#![allow(dead_code, missing_docs, unreachable_pub)] // each test binary uses a part of it

#[path = "../../../../reticent-data/tests/it/common/clear.rs"]
pub mod clear;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use reticent_data::{Features, Rows};
use reticent_problem::declaration::{Declaration, Encoding, Layout};

pub fn layout_with(schema: &str, encoding: &Encoding) -> Layout {
    Declaration::from_json(schema).unwrap().layout(encoding).unwrap()
}

pub fn layout(schema: &str) -> Layout {
    layout_with(schema, &Encoding::default())
}

pub fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A `.npy` file of version 1.
pub fn npy(descr: &str, shape: &str, fortran: &str, data: &[u8]) -> Vec<u8> {
    let header =
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// An IDX file.
pub fn idx(kind: u8, shape: &[u32], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, kind, shape.len() as u8];
    bytes.extend(shape.iter().flat_map(|n| n.to_be_bytes()));
    bytes.extend(data);
    bytes
}

/// Row `i` as dense numbers.
pub fn dense(rows: &Rows, i: usize) -> Vec<f64> {
    match rows.features() {
        Features::F32(x) => x.row(i).iter().map(|&v| f64::from(v)).collect(),
        Features::F64(x) => x.row(i).to_vec(),
        Features::Sparse(x) => {
            let mut row = vec![0.0; x.columns()];
            let (indices, values) = x.row(i);
            for (&j, &v) in indices.iter().zip(values) {
                row[j as usize] = v;
            }
            row
        }
        Features::Mapped(_) => unreachable!("no reader maps"),
    }
}

pub fn norm(row: &[f64]) -> f64 {
    row.iter().map(|v| v * v).sum::<f64>().sqrt()
}
