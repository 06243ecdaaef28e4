//! IDX files, the format of MNIST: a big-endian header, then numbers.

use super::numbers::{Numbers, Scalar};
use crate::error::TableError;

/// Read the header; the numbers stay as they are.
pub(super) fn parse(file: &str, bytes: Vec<u8>) -> Result<Numbers, TableError> {
    let corrupt = |why| TableError::Corrupt { file: file.to_owned(), format: "IDX", why };
    let damaged = || corrupt("its header is damaged; copy it again");
    let (&[_, _, kind, axes], _) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
    let scalar = match kind {
        0x08 => Scalar::U8,
        0x09 => Scalar::I8,
        0x0b => Scalar::I16,
        0x0c => Scalar::I32,
        0x0d => Scalar::F32,
        0x0e => Scalar::F64,
        _ => return Err(damaged()),
    };
    let start = 4 + 4 * usize::from(axes);
    let header = bytes.get(4..start).filter(|h| !h.is_empty()).ok_or_else(damaged)?;
    let shape = header
        .chunks_exact(4)
        .map(|axis| axis.iter().fold(0_usize, |n, &byte| n << 8 | usize::from(byte)))
        .collect();
    let numbers = Numbers { bytes, start, scalar, big_endian: true, shape, by_column: false };
    if numbers.is_whole() {
        Ok(numbers)
    } else {
        Err(corrupt("its size does not fit its header; it is truncated or damaged"))
    }
}
